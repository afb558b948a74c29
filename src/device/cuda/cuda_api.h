/* cuda_api.h: what assay uses of NVIDIA's libraries, declared by itself: nothing of CUDA is needed
 * to build it. Types carry the tags and functions the names of the real headers, and
 * tests/device checks both against those where a toolkit is installed.
 *
 * The lists name every function once: REQUIRED ones must be there or the library is not used,
 * OPTIONAL ones are NULL where a version lacks them. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_API_H
#define ASSAY_DEVICE_CUDA_CUDA_API_H

#include "device/cuda/cupti_api.h"

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
typedef struct CUgraphNode_st *cu_graph_node;
typedef struct CUkern_st *cu_kernel;
typedef struct CUgraphExec_st *cu_graph_exec;

/* CUlaunchAttribute; of its values assay uses one. */
typedef struct {
    int32_t id;
    char pad[4];
    union {
        char all[64];
        int32_t programmatic; /* of CU_LAUNCH_PROGRAMMATIC: 1 */
    } value;
} cu_launch_attribute;

/* CUlaunchConfig */
typedef struct {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    cu_stream stream;
    cu_launch_attribute *attributes;
    unsigned n_attributes;
} cu_launch_config;

/* CUDA_KERNEL_NODE_PARAMS_v2: a function, or a kernel where that is NULL. */
typedef struct {
    cu_function function;
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
    void **parameters, **extra;
    cu_kernel kernel;
    cu_context context;
} cu_kernel_node;

/* CUipcMemHandle: names memory of this process to others. */
typedef struct {
    char bytes[64];
} cu_ipc_handle;

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
    CU_ERROR_CAPTURE_UNSUPPORTED = 900,
    CU_ERROR_CAPTURE_INVALIDATED = 901,
    CU_ERROR_CAPTURE_MERGE = 902,
    CU_ERROR_CAPTURE_UNMATCHED = 903,
    CU_ERROR_CAPTURE_UNJOINED = 904,
    CU_ERROR_CAPTURE_ISOLATION = 905,
    CU_ERROR_CAPTURE_IMPLICIT = 906,
    CU_ERROR_CAPTURED_EVENT = 907,
    CU_ERROR_CAPTURE_WRONG_THREAD = 908,
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
    CU_LIMIT_PERSISTING_L2 = 6, /* bytes of it that are set aside for lines that persist */
    CU_IPC_LAZY_PEER_ACCESS = 1,
    CU_LAUNCH_PROGRAMMATIC = 6, /* a launch attribute: begins before what comes before has ended */
};

/* CUgraphNodeType */
enum {
    CU_NODE_KERNEL = 0,
    CU_NODE_COPY = 1,
    CU_NODE_MEMSET = 2,
    CU_NODE_HOST = 3,
    CU_NODE_GRAPH = 4,
    CU_NODE_EMPTY = 5,
    CU_NODE_WAIT_EVENT = 6,
    CU_NODE_RECORD_EVENT = 7,
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
    F(cu_result, cuLaunchKernelEx,                                                                 \
      (const cu_launch_config *config, cu_function function, void **parameters, void **extra))     \
    F(cu_result, cuGraphGetNodes, (cu_graph graph, cu_graph_node * nodes, size_t * n))             \
    F(cu_result, cuGraphNodeGetType, (cu_graph_node node, int *type))                              \
    F(cu_result, cuGraphKernelNodeGetParams_v2, (cu_graph_node node, cu_kernel_node * params))     \
    F(cu_result, cuGraphChildGraphNodeGetGraph, (cu_graph_node node, cu_graph * graph))            \
    F(cu_result, cuFuncGetName, (const char **name, cu_function function))                         \
    F(cu_result, cuKernelGetName, (const char **name, cu_kernel kernel))                           \
    F(cu_result, cuDeviceGetPCIBusId, (char *text, int size, cu_device device))                    \
    F(cu_result, cuMemGetAddressRange_v2,                                                          \
      (cu_deviceptr * base, size_t * bytes, cu_deviceptr pointer))                                 \
    F(cu_result, cuIpcGetMemHandle, (cu_ipc_handle * handle, cu_deviceptr pointer))                \
    F(cu_result, cuIpcOpenMemHandle_v2,                                                            \
      (cu_deviceptr * pointer, cu_ipc_handle handle, unsigned flags))                              \
    F(cu_result, cuIpcCloseMemHandle, (cu_deviceptr pointer))                                      \
    F(cu_result, cuCtxGetLimit, (size_t * value, int limit))                                       \
    F(cu_result, cuCtxSetLimit, (int limit, size_t value))                                         \
    F(cu_result, cuCtxResetPersistingL2Cache, (void))                                              \
    F(cu_result, cuTensorMapEncodeTiled,                                                           \
      (void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,                   \
       const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,              \
       int interleave, int swizzle, int promotion, int fill))                                      \
    F(cu_result, cuTensorMapEncodeIm2col,                                                          \
      (void *map, int type, uint32_t rank, void *address, const uint64_t *sizes,                   \
       const uint64_t *strides, const int *lowest, const int *highest, uint32_t channels,          \
       uint32_t pixels, const uint32_t *element_strides, int interleave, int swizzle,              \
       int promotion, int fill))

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

/* Why clocks are held down; the other bits (idle, application clocks, display) do not disturb.
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

/* ---- cuDNN: libcudnn.so ---------------------------------------------------------------------- */

typedef int cudnn_status;
typedef struct cudnnContext *cudnn_handle;
typedef void *cudnn_descriptor; /* cudnnBackendDescriptor_t: of a tensor, an operation, a plan, … */

/* N(ours, theirs, value): data types, types of attributes, kinds of descriptors,
 * attributes, and what some of these can be. */
/* clang-format off */
#define CUDA_CUDNN_NUMBERS(N) \
    N(DNN_FLOAT, CUDNN_DATA_FLOAT, 0) \
    N(DNN_HALF, CUDNN_DATA_HALF, 2) \
    N(DNN_INT32, CUDNN_DATA_INT32, 4) \
    N(DNN_BFLOAT16, CUDNN_DATA_BFLOAT16, 9) \
    N(DNN_BOOLEAN, CUDNN_DATA_BOOLEAN, 11) \
    N(DNN_TYPE_HANDLE, CUDNN_TYPE_HANDLE, 0) \
    N(DNN_TYPE_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1) \
    N(DNN_TYPE_BOOLEAN, CUDNN_TYPE_BOOLEAN, 2) \
    N(DNN_TYPE_INT64, CUDNN_TYPE_INT64, 3) \
    N(DNN_TYPE_FLOAT, CUDNN_TYPE_FLOAT, 4) \
    N(DNN_TYPE_VOID_PTR, CUDNN_TYPE_VOID_PTR, 6) \
    N(DNN_TYPE_CONVOLUTION_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 7) \
    N(DNN_TYPE_HEUR_MODE, CUDNN_TYPE_HEUR_MODE, 8) \
    N(DNN_TYPE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 11) \
    N(DNN_TYPE_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 14) \
    N(DNN_TYPE_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 15) \
    N(DNN_TYPE_REDUCTION, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 18) \
    N(DNN_POINTWISE, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0) \
    N(DNN_CONVOLUTION, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, 1) \
    N(DNN_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 2) \
    N(DNN_ENGINECFG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3) \
    N(DNN_ENGINEHEUR, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4) \
    N(DNN_PLAN, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5) \
    N(DNN_OP_CONVOLUTION, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, 10) \
    N(DNN_OP_POINTWISE, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13) \
    N(DNN_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15) \
    N(DNN_PACK, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16) \
    N(DNN_TENSOR, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17) \
    N(DNN_MATMUL, CUDNN_BACKEND_MATMUL_DESCRIPTOR, 18) \
    N(DNN_OP_MATMUL, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19) \
    N(DNN_REDUCTION, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 21) \
    N(DNN_OP_REDUCTION, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22) \
    N(DNN_POINTWISE_MODE, CUDNN_ATTR_POINTWISE_MODE, 0) \
    N(DNN_POINTWISE_MATH, CUDNN_ATTR_POINTWISE_MATH_PREC, 1) \
    N(DNN_POINTWISE_AXIS, CUDNN_ATTR_POINTWISE_AXIS, 9) \
    N(DNN_CONVOLUTION_MATH, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, 100) \
    N(DNN_CONVOLUTION_MODE, CUDNN_ATTR_CONVOLUTION_CONV_MODE, 101) \
    N(DNN_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_DILATIONS, 102) \
    N(DNN_CONVOLUTION_STRIDES, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 103) \
    N(DNN_CONVOLUTION_PAD_AFTER, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 104) \
    N(DNN_CONVOLUTION_PAD_BEFORE, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 105) \
    N(DNN_CONVOLUTION_RANK, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 106) \
    N(DNN_HEUR_MODE, CUDNN_ATTR_ENGINEHEUR_MODE, 200) \
    N(DNN_HEUR_GRAPH, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201) \
    N(DNN_HEUR_RESULTS, CUDNN_ATTR_ENGINEHEUR_RESULTS, 202) \
    N(DNN_CFG_ENGINE, CUDNN_ATTR_ENGINECFG_ENGINE, 300) \
    N(DNN_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 400) \
    N(DNN_PLAN_CFG, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401) \
    N(DNN_PLAN_WORKSPACE, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402) \
    N(DNN_OP_CONVOLUTION_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 700) \
    N(DNN_OP_CONVOLUTION_BETA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 701) \
    N(DNN_OP_CONVOLUTION_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, 702) \
    N(DNN_OP_CONVOLUTION_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, 703) \
    N(DNN_OP_CONVOLUTION_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, 704) \
    N(DNN_OP_CONVOLUTION_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, 705) \
    N(DNN_OP_POINTWISE_DESC, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750) \
    N(DNN_OP_POINTWISE_X, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 751) \
    N(DNN_OP_POINTWISE_B, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 752) \
    N(DNN_OP_POINTWISE_Y, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 753) \
    N(DNN_OP_POINTWISE_T, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, 758) \
    N(DNN_GRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 800) \
    N(DNN_GRAPH_OPS, CUDNN_ATTR_OPERATIONGRAPH_OPS, 801) \
    N(DNN_TENSOR_ALIGNMENT, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 900) \
    N(DNN_TENSOR_TYPE, CUDNN_ATTR_TENSOR_DATA_TYPE, 901) \
    N(DNN_TENSOR_SIZES, CUDNN_ATTR_TENSOR_DIMENSIONS, 902) \
    N(DNN_TENSOR_STRIDES, CUDNN_ATTR_TENSOR_STRIDES, 903) \
    N(DNN_TENSOR_ID, CUDNN_ATTR_TENSOR_UNIQUE_ID, 906) \
    N(DNN_TENSOR_VIRTUAL, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 907) \
    N(DNN_TENSOR_BY_VALUE, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 908) \
    N(DNN_PACK_IDS, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000) \
    N(DNN_PACK_POINTERS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001) \
    N(DNN_PACK_WORKSPACE, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 1003) \
    N(DNN_ENGINE_NOTES, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, 1303) \
    N(DNN_MATMUL_MATH, CUDNN_ATTR_MATMUL_COMP_TYPE, 1500) \
    N(DNN_OP_MATMUL_A, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 1520) \
    N(DNN_OP_MATMUL_B, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 1521) \
    N(DNN_OP_MATMUL_C, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 1522) \
    N(DNN_OP_MATMUL_DESC, CUDNN_ATTR_OPERATION_MATMUL_DESC, 1523) \
    N(DNN_REDUCTION_OPERATOR, CUDNN_ATTR_REDUCTION_OPERATOR, 1600) \
    N(DNN_REDUCTION_MATH, CUDNN_ATTR_REDUCTION_COMP_TYPE, 1601) \
    N(DNN_OP_REDUCTION_X, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 1610) \
    N(DNN_OP_REDUCTION_Y, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 1611) \
    N(DNN_OP_REDUCTION_DESC, CUDNN_ATTR_OPERATION_REDUCTION_DESC, 1612) \
    N(DNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION, 1) \
    N(DNN_ADD, CUDNN_POINTWISE_ADD, 0) \
    N(DNN_MUL, CUDNN_POINTWISE_MUL, 1) \
    N(DNN_DIV, CUDNN_POINTWISE_DIV, 6) \
    N(DNN_SUB, CUDNN_POINTWISE_SUB, 9) \
    N(DNN_EXP, CUDNN_POINTWISE_EXP, 13) \
    N(DNN_LOG, CUDNN_POINTWISE_LOG, 15) \
    N(DNN_CMP_GE, CUDNN_POINTWISE_CMP_GE, 303) \
    N(DNN_GEN_INDEX, CUDNN_POINTWISE_GEN_INDEX, 501) \
    N(DNN_BINARY_SELECT, CUDNN_POINTWISE_BINARY_SELECT, 601) \
    N(DNN_REDUCE_ADD, CUDNN_REDUCE_TENSOR_ADD, 0) \
    N(DNN_REDUCE_MAX, CUDNN_REDUCE_TENSOR_MAX, 3) \
    N(DNN_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 0) \
    N(DNN_NOTE_DOWN_CONVERT, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1) \
    N(DNN_NOTE_REDUCED_SUMS, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2) \
    N(DNN_NOTE_FFT, CUDNN_NUMERICAL_NOTE_FFT, 3) \
    N(DNN_NOTE_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD, 5) \
    N(DNN_NOTE_WINOGRAD_4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4, 6) \
    N(DNN_NOTE_WINOGRAD_6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6, 7) \
    N(DNN_NOTE_WINOGRAD_13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, 8) \
    N(DNN_HEUR_FALLBACK, CUDNN_HEUR_MODE_FALLBACK, 2) \
    N(DNN_HEUR_A, CUDNN_HEUR_MODE_A, 3)
/* clang-format on */

#define CUDA_CUDNN_NUMBER(ours, theirs, value) ours = value,
enum { CUDA_CUDNN_NUMBERS(CUDA_CUDNN_NUMBER) };

#define CUDA_CUDNN_REQUIRED(F)                                                                     \
    F(size_t, cudnnGetVersion, (void))                                                             \
    F(const char *, cudnnGetErrorString, (cudnn_status status))                                    \
    F(cudnn_status, cudnnCreate, (cudnn_handle * handle))                                          \
    F(cudnn_status, cudnnDestroy, (cudnn_handle handle))                                           \
    F(cudnn_status, cudnnSetStream, (cudnn_handle handle, cu_stream stream))                       \
    F(cudnn_status, cudnnBackendCreateDescriptor, (int kind, cudnn_descriptor *descriptor))        \
    F(cudnn_status, cudnnBackendDestroyDescriptor, (cudnn_descriptor descriptor))                  \
    F(cudnn_status, cudnnBackendFinalize, (cudnn_descriptor descriptor))                           \
    F(cudnn_status, cudnnBackendSetAttribute,                                                      \
      (cudnn_descriptor descriptor, int attribute, int type, int64_t count, const void *values))   \
    F(cudnn_status, cudnnBackendGetAttribute,                                                      \
      (cudnn_descriptor descriptor, int attribute, int type, int64_t capacity, int64_t *count,     \
       void *values))                                                                              \
    F(cudnn_status, cudnnBackendExecute,                                                           \
      (cudnn_handle handle, cudnn_descriptor plan, cudnn_descriptor pack))

/* From version 9 on: what went wrong last, in words. */
#define CUDA_CUDNN_OPTIONAL(F) F(void, cudnnGetLastErrorString, (char *text, size_t size))

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

struct cuda_cupti_api {
    CUDA_CUPTI_REQUIRED(CUDA_API_FIELD)
    CUDA_CUPTI_COUNTING(CUDA_API_FIELD)
};

struct cuda_cudnn_api {
    CUDA_CUDNN_REQUIRED(CUDA_API_FIELD)
    CUDA_CUDNN_OPTIONAL(CUDA_API_FIELD)
};

#endif
