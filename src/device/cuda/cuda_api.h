/* cuda_api.h: what assay uses of NVIDIA's libraries, declared by itself: nothing of CUDA is needed
 * to build it. Types carry the tags and functions the names of the real headers, and
 * tests/device checks both against those where a toolkit is installed.
 *
 * The lists name every function once: REQUIRED ones must be there or the library is not used,
 * OPTIONAL ones are NULL where a version lacks them. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_API_H
#define ASSAY_DEVICE_CUDA_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* ---- the driver: libcuda.so.1 ---------------------------------------------------------------- */

typedef int cu_result; /* CUresult */
typedef int cu_device;
typedef unsigned long long cu_deviceptr;
typedef struct CUctx_st *cu_context;
typedef struct CUmod_st *cu_module;
typedef struct CUfunc_st *cu_function;
typedef struct CUstream_st *cu_stream;
typedef struct CUevent_st *cu_event;
typedef struct CUgraph_st *cu_graph;
typedef struct CUgraphExec_st *cu_graph_exec;

enum {
    CU_SUCCESS = 0,
    CU_ERROR_OUT_OF_MEMORY = 2,
    CU_ERROR_NO_DEVICE = 100,
    CU_ERROR_INVALID_DEVICE = 101,
    CU_ERROR_NO_BINARY_FOR_GPU = 209,
    CU_ERROR_ECC_UNCORRECTABLE = 214,
    CU_ERROR_NOT_FOUND = 500,
    CU_ERROR_NOT_READY = 600,
    CU_ERROR_ILLEGAL_ADDRESS = 700,
    CU_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_ERROR_LAUNCH_TIMEOUT = 702,
    CU_ERROR_ASSERT = 710,
    CU_ERROR_HARDWARE_STACK_ERROR = 714,
    CU_ERROR_ILLEGAL_INSTRUCTION = 715,
    CU_ERROR_MISALIGNED_ADDRESS = 716,
    CU_ERROR_INVALID_ADDRESS_SPACE = 717,
    CU_ERROR_INVALID_PC = 718,
    CU_ERROR_LAUNCH_FAILED = 719,
};

enum {
    CU_ATTRIBUTE_SHARED_MEMORY = 8,
    CU_ATTRIBUTE_WARP_SIZE = 10,
    CU_ATTRIBUTE_CLOCK_KHZ = 13,
    CU_ATTRIBUTE_SMS = 16,
    CU_ATTRIBUTE_L2_BYTES = 38,
    CU_ATTRIBUTE_MAJOR = 75,
    CU_ATTRIBUTE_MINOR = 76,
    CU_ATTRIBUTE_SHARED_OPTIN = 97,
    CU_ATTRIBUTE_MAX_PERSISTING_L2 = 108,
};

enum {
    CU_STREAM_FLAG_NON_BLOCKING = 1,
    CU_STREAM_LEGACY_ = 1, /* a handle: the default stream by name */
    CU_CAPTURE_RELAXED = 2,
    CU_RECORD_EXTERNAL = 1,
    CU_HOST_PORTABLE = 1,
    CU_HOST_DEVICEMAP = 2,
    CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    CU_FUNCTION_CARVEOUT = 9,
};

/* F(result, name, arguments) */
#define CUDA_DRIVER_REQUIRED(F)                                                                    \
    F(cu_result, cuInit, (unsigned flags))                                                         \
    F(cu_result, cuDriverGetVersion, (int *version))                                               \
    F(cu_result, cuGetErrorString, (cu_result error, const char **text))                           \
    F(cu_result, cuDeviceGetCount, (int *count))                                                   \
    F(cu_result, cuDeviceGet, (cu_device * device, int ordinal))                                   \
    F(cu_result, cuDeviceGetName, (char *name, int size, cu_device device))                        \
    F(cu_result, cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                          \
    F(cu_result, cuDeviceGetAttribute, (int *value, int attribute, cu_device device))              \
    F(cu_result, cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))               \
    F(cu_result, cuDevicePrimaryCtxRelease_v2, (cu_device device))                                 \
    F(cu_result, cuCtxSetCurrent, (cu_context context))                                            \
    F(cu_result, cuCtxSynchronize, (void))                                                         \
    F(cu_result, cuMemGetInfo_v2, (size_t * available, size_t * total))                            \
    F(cu_result, cuMemAlloc_v2, (cu_deviceptr * pointer, size_t bytes))                            \
    F(cu_result, cuMemFree_v2, (cu_deviceptr pointer))                                             \
    F(cu_result, cuMemHostAlloc, (void **pointer, size_t bytes, unsigned flags))                   \
    F(cu_result, cuMemHostGetDevicePointer_v2,                                                     \
      (cu_deviceptr * pointer, void *host, unsigned flags))                                        \
    F(cu_result, cuMemFreeHost, (void *pointer))                                                   \
    F(cu_result, cuMemcpyHtoD_v2, (cu_deviceptr to, const void *from, size_t bytes))               \
    F(cu_result, cuMemcpyDtoH_v2, (void *to, cu_deviceptr from, size_t bytes))                     \
    F(cu_result, cuMemcpyDtoD_v2, (cu_deviceptr to, cu_deviceptr from, size_t bytes))              \
    F(cu_result, cuMemcpyDtoDAsync_v2,                                                             \
      (cu_deviceptr to, cu_deviceptr from, size_t bytes, cu_stream stream))                        \
    F(cu_result, cuMemsetD8Async,                                                                  \
      (cu_deviceptr pointer, unsigned char value, size_t bytes, cu_stream stream))                 \
    F(cu_result, cuModuleLoadData, (cu_module * module, const void *image))                        \
    F(cu_result, cuModuleUnload, (cu_module module))                                               \
    F(cu_result, cuModuleGetFunction,                                                              \
      (cu_function * function, cu_module module, const char *name))                                \
    F(cu_result, cuFuncSetAttribute, (cu_function function, int attribute, int value))             \
    F(cu_result, cuLaunchKernel,                                                                   \
      (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream,                \
       void **parameters, void **extra))                                                           \
    F(cu_result, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                      \
      (int *blocks, cu_function function, int threads, size_t shared_bytes))                       \
    F(cu_result, cuStreamCreate, (cu_stream * stream, unsigned flags))                             \
    F(cu_result, cuStreamDestroy_v2, (cu_stream stream))                                           \
    F(cu_result, cuStreamSynchronize, (cu_stream stream))                                          \
    F(cu_result, cuEventCreate, (cu_event * event, unsigned flags))                                \
    F(cu_result, cuEventDestroy_v2, (cu_event event))                                              \
    F(cu_result, cuEventRecord, (cu_event event, cu_stream stream))                                \
    F(cu_result, cuStreamBeginCapture_v2, (cu_stream stream, int mode))                            \
    F(cu_result, cuStreamEndCapture, (cu_stream stream, cu_graph * graph))                         \
    F(cu_result, cuGraphInstantiateWithFlags,                                                      \
      (cu_graph_exec * exec, cu_graph graph, unsigned long long flags))                            \
    F(cu_result, cuGraphLaunch, (cu_graph_exec exec, cu_stream stream))                            \
    F(cu_result, cuGraphExecDestroy, (cu_graph_exec exec))                                         \
    F(cu_result, cuGraphDestroy, (cu_graph graph))

#define CUDA_DRIVER_OPTIONAL(F)                                                                    \
    F(cu_result, cuCtxGetCurrent, (cu_context * context))                                          \
    F(cu_result, cuCtxGetDevice, (cu_device * device))                                             \
    F(cu_result, cuDevicePrimaryCtxGetState, (cu_device device, unsigned *flags, int *active))     \
    F(cu_result, cuEventRecordWithFlags, (cu_event event, cu_stream stream, unsigned flags))       \
    F(cu_result, cuEventElapsedTime, (float *ms, cu_event start, cu_event end))                    \
    F(cu_result, cuEventElapsedTime_v2, (float *ms, cu_event start, cu_event end))                 \
    F(cu_result, cuGraphUpload, (cu_graph_exec exec, cu_stream stream))                            \
    F(cu_result, cuDeviceGetPCIBusId, (char *text, int size, cu_device device))                    \
    F(cu_result, cuCtxResetPersistingL2Cache, (void))                                              \
    F(cu_result, cuTensorMapEncodeTiled,                                                           \
      (void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,                   \
       const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,              \
       int interleave, int swizzle, int promotion, int fill))

/* ---- NVRTC: libnvrtc.so ---------------------------------------------------------------------- */

typedef int nvrtc_result;
typedef struct _nvrtcProgram *nvrtc_program;

#define CUDA_NVRTC_REQUIRED(F)                                                                     \
    F(nvrtc_result, nvrtcVersion, (int *major, int *minor))                                        \
    F(const char *, nvrtcGetErrorString, (nvrtc_result result))                                    \
    F(nvrtc_result, nvrtcCreateProgram,                                                            \
      (nvrtc_program * program, const char *text, const char *name, int n_headers,                 \
       const char *const *headers, const char *const *header_names))                               \
    F(nvrtc_result, nvrtcDestroyProgram, (nvrtc_program * program))                                \
    F(nvrtc_result, nvrtcCompileProgram,                                                           \
      (nvrtc_program program, int n_options, const char *const *options))                          \
    F(nvrtc_result, nvrtcGetProgramLogSize, (nvrtc_program program, size_t * bytes))               \
    F(nvrtc_result, nvrtcGetProgramLog, (nvrtc_program program, char *text))                       \
    F(nvrtc_result, nvrtcGetCUBINSize, (nvrtc_program program, size_t * bytes))                    \
    F(nvrtc_result, nvrtcGetCUBIN, (nvrtc_program program, char *cubin))

#define CUDA_NVRTC_OPTIONAL(F)

/* ---- NVML: libnvidia-ml.so.1 ----------------------------------------------------------------- */

typedef int nvml_result;
typedef struct nvmlDevice_st *nvml_device;

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

/* Why clocks are held down; the other bits (idle, application clocks, display) are no disturbance.
 */
enum {
    NVML_THROTTLE_POWER_CAP = 0x4,
    NVML_THROTTLE_HARDWARE = 0x8,
    NVML_THROTTLE_THERMAL_SOFTWARE = 0x20,
    NVML_THROTTLE_THERMAL_HARDWARE = 0x40,
    NVML_THROTTLE_POWER_BRAKE = 0x80,
};

#define CUDA_NVML_REQUIRED(F)                                                                      \
    F(nvml_result, nvmlInit_v2, (void))                                                            \
    F(nvml_result, nvmlDeviceGetHandleByPciBusId_v2, (const char *text, nvml_device *device))

#define CUDA_NVML_OPTIONAL(F)                                                                      \
    F(nvml_result, nvmlSystemGetDriverVersion, (char *text, unsigned size))                        \
    F(nvml_result, nvmlDeviceGetClockInfo, (nvml_device device, int clock, unsigned *mhz))         \
    F(nvml_result, nvmlDeviceGetMaxClockInfo, (nvml_device device, int clock, unsigned *mhz))      \
    F(nvml_result, nvmlDeviceGetTemperature, (nvml_device device, int sensor, unsigned *celsius))  \
    F(nvml_result, nvmlDeviceGetPowerUsage, (nvml_device device, unsigned *milliwatts))            \
    F(nvml_result, nvmlDeviceGetEnforcedPowerLimit, (nvml_device device, unsigned *milliwatts))    \
    F(nvml_result, nvmlDeviceGetTotalEnergyConsumption,                                            \
      (nvml_device device, unsigned long long *millijoules))                                       \
    F(nvml_result, nvmlDeviceGetCurrentClocksThrottleReasons,                                      \
      (nvml_device device, unsigned long long *reasons))

/* ---- cuBLASLt: libcublasLt.so ---------------------------------------------------------------- */

typedef int cublas_status;
typedef struct cublasLtContext *cublaslt_handle;
/* Opaque, created and destroyed by the library. */
typedef struct cublaslt_description *cublaslt_matmul_desc; /* cublasLtMatmulDesc_t */
typedef struct cublaslt_layout *cublaslt_matrix_layout;    /* cublasLtMatrixLayout_t */
typedef struct cublaslt_wish *cublaslt_preference;         /* cublasLtMatmulPreference_t */

typedef struct {
    uint64_t data[8];
} cublaslt_algo; /* cublasLtMatmulAlgo_t */

typedef struct {
    cublaslt_algo algo;
    size_t workspace;
    cublas_status state;
    float waves;
    int reserved[4];
} cublaslt_heuristic; /* cublasLtMatmulHeuristicResult_t */

/* cudaDataType */
enum {
    CUDA_R_32F_ = 0,
    CUDA_R_16F_ = 2,
    CUDA_R_8I_ = 3,
    CUDA_R_32I_ = 10,
    CUDA_R_16BF_ = 14,
    CUDA_R_8F_E4M3_ = 28,
    CUDA_R_8F_E5M2_ = 29,
};

/* cublasComputeType_t */
enum { CUBLAS_COMPUTE_F32 = 68, CUBLAS_COMPUTE_S32 = 72, CUBLAS_COMPUTE_TF32 = 77 };

enum { CUBLAS_OP_N_ = 0, CUBLAS_OP_T_ = 1 };

/* cublasLtMatmulDescAttributes_t */
enum {
    CUBLASLT_DESC_TRANSA = 3,
    CUBLASLT_DESC_TRANSB = 4,
    CUBLASLT_DESC_EPILOGUE = 7,
    CUBLASLT_DESC_BIAS_POINTER = 8,
    CUBLASLT_DESC_A_SCALE_POINTER = 17,
    CUBLASLT_DESC_B_SCALE_POINTER = 18,
    CUBLASLT_DESC_FAST_ACCUM = 25,
    CUBLASLT_DESC_BIAS_TYPE = 26,
    CUBLASLT_DESC_A_SCALE_MODE = 31,
    CUBLASLT_DESC_B_SCALE_MODE = 32,
};

enum { CUBLASLT_PREFERENCE_WORKSPACE = 1 };
enum { CUBLASLT_EPILOGUE_DEFAULT_ = 1, CUBLASLT_EPILOGUE_RELU_ = 2, CUBLASLT_EPILOGUE_BIAS_ = 4 };
enum { CUBLASLT_SCALE_TENSOR = 0, CUBLASLT_SCALE_OUTER_VECTOR = 3 };

#define CUDA_CUBLASLT_REQUIRED(F)                                                                  \
    F(size_t, cublasLtGetVersion, (void))                                                          \
    F(cublas_status, cublasLtCreate, (cublaslt_handle * handle))                                   \
    F(cublas_status, cublasLtDestroy, (cublaslt_handle handle))                                    \
    F(cublas_status, cublasLtMatmulDescCreate,                                                     \
      (cublaslt_matmul_desc * desc, int compute_type, int scale_type))                             \
    F(cublas_status, cublasLtMatmulDescDestroy, (cublaslt_matmul_desc desc))                       \
    F(cublas_status, cublasLtMatmulDescSetAttribute,                                               \
      (cublaslt_matmul_desc desc, int attribute, const void *value, size_t bytes))                 \
    F(cublas_status, cublasLtMatrixLayoutCreate,                                                   \
      (cublaslt_matrix_layout * layout, int type, uint64_t rows, uint64_t columns, int64_t ld))    \
    F(cublas_status, cublasLtMatrixLayoutDestroy, (cublaslt_matrix_layout layout))                 \
    F(cublas_status, cublasLtMatmulPreferenceCreate, (cublaslt_preference * preference))           \
    F(cublas_status, cublasLtMatmulPreferenceDestroy, (cublaslt_preference preference))            \
    F(cublas_status, cublasLtMatmulPreferenceSetAttribute,                                         \
      (cublaslt_preference preference, int attribute, const void *value, size_t bytes))            \
    F(cublas_status, cublasLtMatmulAlgoGetHeuristic,                                               \
      (cublaslt_handle handle, cublaslt_matmul_desc desc, cublaslt_matrix_layout a,                \
       cublaslt_matrix_layout b, cublaslt_matrix_layout c, cublaslt_matrix_layout d,               \
       cublaslt_preference preference, int wanted, cublaslt_heuristic *results, int *found))       \
    F(cublas_status, cublasLtMatmul,                                                               \
      (cublaslt_handle handle, cublaslt_matmul_desc desc, const void *alpha, const void *a,        \
       cublaslt_matrix_layout a_layout, const void *b, cublaslt_matrix_layout b_layout,            \
       const void *beta, const void *c, cublaslt_matrix_layout c_layout, void *d,                  \
       cublaslt_matrix_layout d_layout, const cublaslt_algo *algo, void *workspace,                \
       size_t workspace_bytes, cu_stream stream))

#define CUDA_CUBLASLT_OPTIONAL(F)

/* ---- the tables ------------------------------------------------------------------------------ */

#define CUDA_API_FIELD(result, name, arguments) result(*name) arguments;

struct cuda_driver_api {
    CUDA_DRIVER_REQUIRED(CUDA_API_FIELD)
    CUDA_DRIVER_OPTIONAL(CUDA_API_FIELD)
};

struct cuda_nvrtc_api {
    CUDA_NVRTC_REQUIRED(CUDA_API_FIELD)
};

struct cuda_nvml_api {
    CUDA_NVML_REQUIRED(CUDA_API_FIELD)
    CUDA_NVML_OPTIONAL(CUDA_API_FIELD)
};

struct cuda_cublaslt_api {
    CUDA_CUBLASLT_REQUIRED(CUDA_API_FIELD)
};

#endif
