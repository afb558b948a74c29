// check_headers.cc: does src/device/cuda/cuda_api.h say what NVIDIA's headers say? Compiling it is the
// test; tests/device/headers.sh does, where the headers are.
//
// Functions are compared parameter by parameter. Two types are alike when they are the same; when both
// are integers or enumerations of one size; or when both are pointers to alike things, or one to void.
// Opaque structs have the same tag; those that cannot (the real ones have none) are listed.
#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <type_traits>
#if __has_include(<nvrtc.h>)
#include <nvrtc.h>
#define WITH_NVRTC
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define WITH_CUBLASLT
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define WITH_CUDNN
#endif
#if __has_include(<nvml.h>)
#include <nvml.h>
#define WITH_NVML
#endif
#if __has_include(<cupti.h>)
#include <cupti.h>
#define WITH_CUPTI
#if __has_include(<cupti_range_profiler.h>) // from 12.6 on
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define WITH_CUPTI_COUNTING
#endif
#endif

// From 13 on cuda.h has only the second version of this one, under both names; before 12.8 only the first.
#undef cuEventElapsedTime
namespace ours
{
#include "device/cuda/cuda_api.h"
}
#if CUDA_VERSION >= 13000
#define cuEventElapsedTime cuEventElapsedTime_v2
#elif CUDA_VERSION < 12080
#define cuEventElapsedTime_v2 cuEventElapsedTime
#endif
#if CUDA_VERSION < 12030 // these two are newer
extern "C" CUresult cuFuncGetName(const char **name, CUfunction function);
extern "C" CUresult cuKernelGetName(const char **name, CUkernel kernel);
#endif
using namespace ours; // the lists are expanded below, in terms of its types

template <class A, class B> struct stand_for : std::false_type {
};
#ifdef WITH_CUBLASLT
template <> struct stand_for<ours::cublaslt_description, cublasLtMatmulDescOpaque_t> : std::true_type {
};
template <> struct stand_for<ours::cublaslt_layout, cublasLtMatrixLayoutOpaque_t> : std::true_type {
};
template <> struct stand_for<ours::cublaslt_wish, cublasLtMatmulPreferenceOpaque_t> : std::true_type {
};
template <> struct stand_for<ours::cublaslt_algo, cublasLtMatmulAlgo_t> : std::true_type {
    static_assert(sizeof(ours::cublaslt_algo) == sizeof(cublasLtMatmulAlgo_t), "");
};
template <>
struct stand_for<ours::cublaslt_heuristic, cublasLtMatmulHeuristicResult_t> : std::true_type {
    typedef ours::cublaslt_heuristic mine;
    typedef cublasLtMatmulHeuristicResult_t real;
    static_assert(sizeof(mine) == sizeof(real), "");
    static_assert(offsetof(mine, algo) == offsetof(real, algo), "");
    static_assert(offsetof(mine, workspace) == offsetof(real, workspaceSize), "");
    static_assert(offsetof(mine, state) == offsetof(real, state), "");
    static_assert(offsetof(mine, waves) == offsetof(real, wavesCount), "");
};
#endif

template <> struct stand_for<ours::cu_launch_config, CUlaunchConfig> : std::true_type {
    typedef ours::cu_launch_config mine;
    typedef CUlaunchConfig real;
    static_assert(sizeof(mine) == sizeof(real), "");
    static_assert(offsetof(mine, grid_x) == offsetof(real, gridDimX), "");
    static_assert(offsetof(mine, block_x) == offsetof(real, blockDimX), "");
    static_assert(offsetof(mine, shared_bytes) == offsetof(real, sharedMemBytes), "");
    static_assert(offsetof(mine, stream) == offsetof(real, hStream), "");
    static_assert(offsetof(mine, attributes) == offsetof(real, attrs), "");
    static_assert(offsetof(mine, n_attributes) == offsetof(real, numAttrs), "");
    static_assert(sizeof(ours::cu_launch_attribute) == sizeof(CUlaunchAttribute), "");
    static_assert(offsetof(ours::cu_launch_attribute, value) == offsetof(CUlaunchAttribute, value), "");
};

template <> struct stand_for<ours::cu_kernel_node, CUDA_KERNEL_NODE_PARAMS_v2> : std::true_type {
    typedef ours::cu_kernel_node mine;
    typedef CUDA_KERNEL_NODE_PARAMS_v2 real;
    static_assert(sizeof(mine) == sizeof(real), "");
    static_assert(offsetof(mine, function) == offsetof(real, func), "");
    static_assert(offsetof(mine, grid_x) == offsetof(real, gridDimX), "");
    static_assert(offsetof(mine, parameters) == offsetof(real, kernelParams), "");
    static_assert(offsetof(mine, kernel) == offsetof(real, kern), "");
    static_assert(offsetof(mine, context) == offsetof(real, ctx), "");
};

template <> struct stand_for<ours::cu_ipc_handle, CUipcMemHandle> : std::true_type {
    static_assert(sizeof(ours::cu_ipc_handle) == sizeof(CUipcMemHandle), "");
    static_assert(alignof(ours::cu_ipc_handle) == alignof(CUipcMemHandle), "");
};

#ifdef WITH_CUPTI
#define AT(mine, real) static_assert(offsetof(ours::MINE, mine) == offsetof(REAL, real), #mine);
template <> struct stand_for<ours::cupti_record, CUpti_Activity> : std::true_type {
    static_assert(offsetof(ours::cupti_record, kind) == offsetof(CUpti_Activity, kind), "");
};
// Newer headers have newer records, which only grow; where one of them is the newest is not asked.
#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 real_kernel;
typedef CUpti_ActivityMemcpy6 real_copy;
typedef CUpti_ActivityMemset4 real_set;
#else
typedef CUpti_ActivityKernel9 real_kernel;
typedef CUpti_ActivityMemcpy5 real_copy;
typedef CUpti_ActivityMemset4 real_set;
#endif
#define MINE cupti_kernel
#define REAL real_kernel
AT(kind, kind)
AT(registers, registersPerThread)
AT(start, start)
AT(end, end)
AT(completed, completed)
AT(device, deviceId)
AT(context, contextId)
AT(stream, streamId)
AT(grid_x, gridX)
AT(grid_z, gridZ)
AT(block_x, blockX)
AT(block_z, blockZ)
AT(static_shared, staticSharedMemory)
AT(dynamic_shared, dynamicSharedMemory)
AT(correlation, correlationId)
AT(grid_id, gridId)
AT(name, name)
AT(shared_executed, sharedMemoryExecuted)
AT(graph_node, graphNodeId)
static_assert(sizeof(ours::cupti_kernel) <= sizeof(real_kernel), "");
#undef MINE
#undef REAL
#define MINE cupti_copy
#define REAL real_copy
AT(kind, kind)
AT(copy, copyKind)
AT(bytes, bytes)
AT(start, start)
AT(end, end)
AT(stream, streamId)
AT(correlation, correlationId)
static_assert(sizeof(ours::cupti_copy) <= sizeof(real_copy), "");
#undef MINE
#undef REAL
#define MINE cupti_set
#define REAL real_set
AT(kind, kind)
AT(value, value)
AT(bytes, bytes)
AT(start, start)
AT(end, end)
AT(stream, streamId)
AT(correlation, correlationId)
static_assert(sizeof(ours::cupti_set) <= sizeof(real_set), "");
#undef MINE
#undef REAL
#define MINE cupti_external
#define REAL CUpti_ActivityExternalCorrelation
AT(kind, kind)
AT(external_kind, externalKind)
AT(id, externalId)
AT(correlation, correlationId)
static_assert(sizeof(ours::cupti_external) == sizeof(REAL), "");
#undef MINE
#undef REAL
#endif

#ifdef WITH_CUPTI_COUNTING
// The same members in the same places, and as long as their own macro says.
#define PARAMS(ours_type, theirs, last)                                                            \
    template <> struct stand_for<ours::ours_type, theirs> : std::true_type {                       \
        static_assert(CUPTI_PARAMS(ours::ours_type, last) == theirs##_STRUCT_SIZE, #theirs);       \
    };
#define MEMBER(ours_type, theirs, mine, real)                                                      \
    static_assert(offsetof(ours::ours_type, mine) == offsetof(theirs, real), #theirs);             \
    static_assert(sizeof(ours::ours_type::mine) == sizeof(theirs::real), #theirs);
PARAMS(cupti_plain, CUpti_Profiler_Initialize_Params, priv)
MEMBER(cupti_plain, CUpti_Profiler_Initialize_Params, priv, pPriv)
PARAMS(cupti_plain, CUpti_Profiler_DeInitialize_Params, priv)
MEMBER(cupti_plain, CUpti_Profiler_DeInitialize_Params, priv, pPriv)
PARAMS(cupti_chip, CUpti_Device_GetChipName_Params, name)
MEMBER(cupti_chip, CUpti_Device_GetChipName_Params, device, deviceIndex)
MEMBER(cupti_chip, CUpti_Device_GetChipName_Params, name, pChipName)
PARAMS(cupti_availability, CUpti_Profiler_GetCounterAvailability_Params, image)
MEMBER(cupti_availability, CUpti_Profiler_GetCounterAvailability_Params, context, ctx)
MEMBER(cupti_availability, CUpti_Profiler_GetCounterAvailability_Params, bytes, counterAvailabilityImageSize)
MEMBER(cupti_availability, CUpti_Profiler_GetCounterAvailability_Params, image, pCounterAvailabilityImage)
PARAMS(cupti_host, CUpti_Profiler_Host_Initialize_Params, object)
MEMBER(cupti_host, CUpti_Profiler_Host_Initialize_Params, type, profilerType)
MEMBER(cupti_host, CUpti_Profiler_Host_Initialize_Params, chip, pChipName)
MEMBER(cupti_host, CUpti_Profiler_Host_Initialize_Params, availability, pCounterAvailabilityImage)
MEMBER(cupti_host, CUpti_Profiler_Host_Initialize_Params, object, pHostObject)
PARAMS(cupti_host_end, CUpti_Profiler_Host_Deinitialize_Params, object)
MEMBER(cupti_host_end, CUpti_Profiler_Host_Deinitialize_Params, object, pHostObject)
PARAMS(cupti_host_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, n)
MEMBER(cupti_host_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, object, pHostObject)
MEMBER(cupti_host_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, names, ppMetricNames)
MEMBER(cupti_host_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, n, numMetrics)
PARAMS(cupti_host_size, CUpti_Profiler_Host_GetConfigImageSize_Params, bytes)
MEMBER(cupti_host_size, CUpti_Profiler_Host_GetConfigImageSize_Params, object, pHostObject)
MEMBER(cupti_host_size, CUpti_Profiler_Host_GetConfigImageSize_Params, bytes, configImageSize)
PARAMS(cupti_host_config, CUpti_Profiler_Host_GetConfigImage_Params, image)
MEMBER(cupti_host_config, CUpti_Profiler_Host_GetConfigImage_Params, object, pHostObject)
MEMBER(cupti_host_config, CUpti_Profiler_Host_GetConfigImage_Params, bytes, configImageSize)
MEMBER(cupti_host_config, CUpti_Profiler_Host_GetConfigImage_Params, image, pConfigImage)
PARAMS(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, values)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, object, pHostObject)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, image, pCounterDataImage)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, bytes, counterDataImageSize)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, range, rangeIndex)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, names, ppMetricNames)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, n, numMetrics)
MEMBER(cupti_host_values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, values, pMetricValues)
PARAMS(cupti_range_enable, CUpti_RangeProfiler_Enable_Params, object)
MEMBER(cupti_range_enable, CUpti_RangeProfiler_Enable_Params, context, ctx)
MEMBER(cupti_range_enable, CUpti_RangeProfiler_Enable_Params, object, pRangeProfilerObject)
PARAMS(cupti_range, CUpti_RangeProfiler_Disable_Params, object)
MEMBER(cupti_range, CUpti_RangeProfiler_Disable_Params, object, pRangeProfilerObject)
PARAMS(cupti_range, CUpti_RangeProfiler_Start_Params, object)
MEMBER(cupti_range, CUpti_RangeProfiler_Start_Params, object, pRangeProfilerObject)
PARAMS(cupti_range, CUpti_RangeProfiler_PopRange_Params, object)
MEMBER(cupti_range, CUpti_RangeProfiler_PopRange_Params, object, pRangeProfilerObject)
PARAMS(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, bytes)
MEMBER(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, object, pRangeProfilerObject)
MEMBER(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, names, pMetricNames)
MEMBER(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, n, numMetrics)
MEMBER(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, ranges, maxNumOfRanges)
MEMBER(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, nodes, maxNumRangeTreeNodes)
MEMBER(cupti_range_size, CUpti_RangeProfiler_GetCounterDataSize_Params, bytes, counterDataSize)
PARAMS(cupti_range_image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image)
MEMBER(cupti_range_image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, object, pRangeProfilerObject)
MEMBER(cupti_range_image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, bytes, counterDataSize)
MEMBER(cupti_range_image, CUpti_RangeProfiler_CounterDataImage_Initialize_Params, image, pCounterData)
PARAMS(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, target_level)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, object, pRangeProfilerObject)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, config_bytes, configSize)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, config, pConfig)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, image_bytes, counterDataImageSize)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, image, pCounterDataImage)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, range, range)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, replay, replayMode)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, ranges, maxRangesPerPass)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, levels, numNestingLevels)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, least_level, minNestingLevel)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, pass, passIndex)
MEMBER(cupti_range_config, CUpti_RangeProfiler_SetConfig_Params, target_level, targetNestingLevel)
PARAMS(cupti_range_push, CUpti_RangeProfiler_PushRange_Params, name)
MEMBER(cupti_range_push, CUpti_RangeProfiler_PushRange_Params, object, pRangeProfilerObject)
MEMBER(cupti_range_push, CUpti_RangeProfiler_PushRange_Params, name, pRangeName)
PARAMS(cupti_range_stop, CUpti_RangeProfiler_Stop_Params, all_done)
MEMBER(cupti_range_stop, CUpti_RangeProfiler_Stop_Params, object, pRangeProfilerObject)
MEMBER(cupti_range_stop, CUpti_RangeProfiler_Stop_Params, pass, passIndex)
MEMBER(cupti_range_stop, CUpti_RangeProfiler_Stop_Params, level, targetNestingLevel)
MEMBER(cupti_range_stop, CUpti_RangeProfiler_Stop_Params, all_done, isAllPassSubmitted)
PARAMS(cupti_range_decode, CUpti_RangeProfiler_DecodeData_Params, dropped)
MEMBER(cupti_range_decode, CUpti_RangeProfiler_DecodeData_Params, object, pRangeProfilerObject)
MEMBER(cupti_range_decode, CUpti_RangeProfiler_DecodeData_Params, dropped, numOfRangeDropped)
PARAMS(cupti_range_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, ranges)
MEMBER(cupti_range_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, image, pCounterDataImage)
MEMBER(cupti_range_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, bytes, counterDataImageSize)
MEMBER(cupti_range_info, CUpti_RangeProfiler_GetCounterDataInfo_Params, ranges, numTotalRanges)
#endif

template <class T> constexpr bool is_number = std::is_integral<T>::value || std::is_enum<T>::value;

template <class A, class B> constexpr bool alike();
template <class A, class B> struct compare;
template <class A> constexpr bool is_callback =
    std::is_pointer<A>::value && std::is_function<std::remove_pointer_t<A>>::value;

template <class A, class B> constexpr bool alike()
{
    if constexpr (std::is_same<A, B>::value || stand_for<A, B>::value) {
        return true;
    } else if constexpr (is_callback<A> && is_callback<B>) {
        return compare<A, B>::value;
    } else if constexpr (std::is_pointer<A>::value && std::is_pointer<B>::value) {
        typedef std::remove_pointer_t<A> a;
        typedef std::remove_pointer_t<B> b;
        if constexpr (std::is_const<a>::value != std::is_const<b>::value)
            return false;
        else if constexpr (std::is_void<a>::value || std::is_void<b>::value)
            return true;
        else
            return alike<std::remove_const_t<a>, std::remove_const_t<b>>();
    } else if constexpr (is_number<A> && is_number<B>) {
        return sizeof(A) == sizeof(B);
    } else {
        return false;
    }
}

template <class A, class B> struct compare : std::false_type { // another number of parameters
};
template <class RA, class RB> struct compare<RA (*)(), RB (*)()> {
    static constexpr bool value = alike<RA, RB>();
};
template <class RA, class FA, class... A, class RB, class FB, class... B>
struct compare<RA (*)(FA, A...), RB (*)(FB, B...)> {
    static constexpr bool value =
        alike<FA, FB>() && compare<RA (*)(A...), RB (*)(B...)>::value;
};

#define SAME_FUNCTION(result, name, arguments)                                                     \
    static_assert(compare<result(*) arguments, decltype(&::name)>::value, #name);
#define SAME(mine, real) static_assert((long long)ours::mine == (long long)(real), #mine);

// It can tell.
static_assert(!compare<int (*)(int), int (*)(long)>::value, "");
static_assert(!compare<int (*)(int), int (*)(int, int)>::value, "");
static_assert(!compare<int (*)(const int *), int (*)(int *)>::value, "");
static_assert(!compare<int (*)(CUstream), int (*)(CUevent)>::value, "");
static_assert(!compare<int (*)(float), int (*)(int)>::value, "");
static_assert(!compare<int (*)(void (*)(int)), int (*)(void (*)(int, int))>::value, "");
static_assert(compare<int (*)(void (*)(int)), int (*)(void (*)(unsigned))>::value, "");
static_assert(compare<int (*)(int), CUresult (*)(CUresult)>::value, "");

CUDA_DRIVER_REQUIRED(SAME_FUNCTION)
CUDA_DRIVER_OPTIONAL(SAME_FUNCTION)
SAME(CU_SUCCESS, CUDA_SUCCESS)
SAME(CU_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)
SAME(CU_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE)
SAME(CU_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE)
SAME(CU_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU)
SAME(CU_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE)
SAME(CU_ERROR_NOT_FOUND, CUDA_ERROR_NOT_FOUND)
SAME(CU_ERROR_NOT_READY, CUDA_ERROR_NOT_READY)
SAME(CU_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS)
SAME(CU_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
SAME(CU_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT)
SAME(CU_ERROR_ASSERT, CUDA_ERROR_ASSERT)
SAME(CU_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR)
SAME(CU_ERROR_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION)
SAME(CU_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS)
SAME(CU_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE)
SAME(CU_ERROR_INVALID_PC, CUDA_ERROR_INVALID_PC)
SAME(CU_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED)
SAME(CU_ERROR_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
SAME(CU_ERROR_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
SAME(CU_ERROR_CAPTURE_MERGE, CUDA_ERROR_STREAM_CAPTURE_MERGE)
SAME(CU_ERROR_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED)
SAME(CU_ERROR_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
SAME(CU_ERROR_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
SAME(CU_ERROR_CAPTURE_IMPLICIT, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
SAME(CU_ERROR_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT)
SAME(CU_ERROR_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
SAME(CU_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL)
SAME(CU_NODE_COPY, CU_GRAPH_NODE_TYPE_MEMCPY)
SAME(CU_NODE_MEMSET, CU_GRAPH_NODE_TYPE_MEMSET)
SAME(CU_NODE_HOST, CU_GRAPH_NODE_TYPE_HOST)
SAME(CU_NODE_GRAPH, CU_GRAPH_NODE_TYPE_GRAPH)
SAME(CU_NODE_EMPTY, CU_GRAPH_NODE_TYPE_EMPTY)
SAME(CU_NODE_WAIT_EVENT, CU_GRAPH_NODE_TYPE_WAIT_EVENT)
SAME(CU_NODE_RECORD_EVENT, CU_GRAPH_NODE_TYPE_EVENT_RECORD)
SAME(CU_ATTRIBUTE_SHARED_MEMORY, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
SAME(CU_ATTRIBUTE_WARP_SIZE, CU_DEVICE_ATTRIBUTE_WARP_SIZE)
SAME(CU_ATTRIBUTE_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
SAME(CU_ATTRIBUTE_SMS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SAME(CU_ATTRIBUTE_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
SAME(CU_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME(CU_ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME(CU_ATTRIBUTE_SHARED_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SAME(CU_ATTRIBUTE_MAX_PERSISTING_L2, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE)
SAME(CU_STREAM_FLAG_NON_BLOCKING, CU_STREAM_NON_BLOCKING)
SAME(CU_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED)
SAME(CU_RECORD_EXTERNAL, CU_EVENT_RECORD_EXTERNAL)
SAME(CU_LIMIT_PERSISTING_L2, CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
SAME(CU_LAUNCH_PROGRAMMATIC, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
SAME(CU_IPC_LAZY_PEER_ACCESS, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
SAME(CU_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE)
SAME(CU_HOST_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP)
SAME(CU_FUNCTION_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAME(CU_FUNCTION_CARVEOUT, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)

#ifdef WITH_NVRTC
CUDA_NVRTC_REQUIRED(SAME_FUNCTION)
CUDA_NVRTC_OPTIONAL(SAME_FUNCTION)
#endif

#ifdef WITH_NVML
CUDA_NVML_REQUIRED(SAME_FUNCTION)
CUDA_NVML_OPTIONAL(SAME_FUNCTION)
SAME(NVML_CLOCK_SM, ::NVML_CLOCK_SM)
SAME(NVML_CLOCK_MEMORY, ::NVML_CLOCK_MEM)
SAME(NVML_TEMPERATURE_GPU, ::NVML_TEMPERATURE_GPU)
SAME(NVML_THROTTLE_POWER_CAP, nvmlClocksThrottleReasonSwPowerCap)
SAME(NVML_THROTTLE_HARDWARE, nvmlClocksThrottleReasonHwSlowdown)
SAME(NVML_THROTTLE_THERMAL_SOFTWARE, nvmlClocksThrottleReasonSwThermalSlowdown)
SAME(NVML_THROTTLE_THERMAL_HARDWARE, nvmlClocksThrottleReasonHwThermalSlowdown)
SAME(NVML_THROTTLE_POWER_BRAKE, nvmlClocksThrottleReasonHwPowerBrakeSlowdown)
#endif

#ifdef WITH_CUPTI
CUDA_CUPTI_REQUIRED(SAME_FUNCTION)
SAME(CUPTI_OK, CUPTI_SUCCESS)
SAME(CUPTI_MAX_LIMIT, CUPTI_ERROR_MAX_LIMIT_REACHED)
SAME(CUPTI_OTHER_SUBSCRIBER, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
SAME(CUPTI_KIND_COPY, CUPTI_ACTIVITY_KIND_MEMCPY)
SAME(CUPTI_KIND_SET, CUPTI_ACTIVITY_KIND_MEMSET)
SAME(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER)
SAME(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME)
SAME(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
SAME(CUPTI_KIND_EXTERNAL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
SAME(CUPTI_EXTERNAL_CUSTOM, CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)
SAME(CUPTI_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
SAME(CUPTI_PRIVILEGES_OF_GUESTS, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
#endif
#ifdef WITH_CUPTI_COUNTING
CUDA_CUPTI_COUNTING(SAME_FUNCTION)
SAME(CUPTI_TYPE_RANGE, CUPTI_PROFILER_TYPE_RANGE_PROFILER)
SAME(CUPTI_USER_RANGE, CUPTI_UserRange)
SAME(CUPTI_USER_REPLAY, CUPTI_UserReplay)
#endif

#ifdef WITH_CUDNN
CUDA_CUDNN_REQUIRED(SAME_FUNCTION)
#if CUDNN_MAJOR >= 9
CUDA_CUDNN_OPTIONAL(SAME_FUNCTION)
#endif
#define SAME_NUMBER(mine, real, value) SAME(mine, ::real)
CUDA_CUDNN_NUMBERS(SAME_NUMBER)
#endif

#ifdef WITH_CUBLASLT
CUDA_CUBLASLT_REQUIRED(SAME_FUNCTION)
CUDA_CUBLASLT_OPTIONAL(SAME_FUNCTION)
SAME(CUDA_R_32F_, CUDA_R_32F)
SAME(CUDA_R_16F_, CUDA_R_16F)
SAME(CUDA_R_8I_, CUDA_R_8I)
SAME(CUDA_R_32I_, CUDA_R_32I)
SAME(CUDA_R_16BF_, CUDA_R_16BF)
SAME(CUDA_R_8F_E4M3_, CUDA_R_8F_E4M3)
SAME(CUDA_R_8F_E5M2_, CUDA_R_8F_E5M2)
SAME(CUBLAS_COMPUTE_F32, CUBLAS_COMPUTE_32F)
SAME(CUBLAS_COMPUTE_S32, CUBLAS_COMPUTE_32I)
SAME(CUBLAS_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32)
SAME(CUBLAS_OP_N_, CUBLAS_OP_N)
SAME(CUBLAS_OP_T_, CUBLAS_OP_T)
SAME(CUBLASLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA)
SAME(CUBLASLT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB)
SAME(CUBLASLT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE)
SAME(CUBLASLT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER)
SAME(CUBLASLT_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER)
SAME(CUBLASLT_DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
SAME(CUBLASLT_DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM)
SAME(CUBLASLT_DESC_BIAS_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE)
SAME(CUBLASLT_PREFERENCE_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
SAME(CUBLASLT_EPILOGUE_DEFAULT_, CUBLASLT_EPILOGUE_DEFAULT)
SAME(CUBLASLT_EPILOGUE_RELU_, CUBLASLT_EPILOGUE_RELU)
SAME(CUBLASLT_EPILOGUE_BIAS_, CUBLASLT_EPILOGUE_BIAS)
#if CUBLAS_VER_MAJOR * 100 + CUBLAS_VER_MINOR >= 1209 // scales by modes came with 12.8 and 12.9
SAME(CUBLASLT_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_A_SCALE_MODE)
SAME(CUBLASLT_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE)
SAME(CUBLASLT_SCALE_TENSOR, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F)
SAME(CUBLASLT_SCALE_OUTER_VECTOR, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F)
#endif
#endif
