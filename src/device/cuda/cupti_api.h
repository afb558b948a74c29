/* cupti_api.h: what assay uses of CUPTI, libcupti.so; a part of cuda_api.h. */
#ifndef ASSAY_DEVICE_CUDA_CUPTI_API_H
#define ASSAY_DEVICE_CUDA_CUPTI_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct CUctx_st *cupti_context; /* the driver's */

/* ---- what the GPU did: records ----------------------------------------------------------------
 */

typedef int cupti_result; /* CUptiResult */
typedef struct CUpti_Subscriber_st *cupti_subscriber;

/* CUpti_Activity: what all records begin with. They lie packed in 8 bytes, and only grow at their
 * end: these are what versions 12 and 13 have in common. */
typedef struct {
    uint32_t kind;
} cupti_record;

/* CUpti_ActivityKernel4 and later ones, up to the shared memory. */
typedef struct {
    uint32_t kind;
    uint8_t cache, shared_banks;
    uint16_t registers; /* of a thread */
    int32_t global_requested, global_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z;
    int32_t static_shared, dynamic_shared;
    uint32_t local_thread, local_total, correlation;
    int64_t grid_id;
    const char *name; /* mangled */
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node; /* from Kernel5 on; 0: no graph's */
} cupti_kernel;

/* CUpti_ActivityMemcpy4 and later ones, up to the runtime's correlation. */
typedef struct {
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
} cupti_copy;

/* CUpti_ActivityMemset3 and later ones, likewise. */
typedef struct {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t pad;
} cupti_set;

/* CUpti_ActivityExternalCorrelation: the identifier that was pushed when a call was made. */
typedef struct {
    uint32_t kind;
    int32_t external_kind;
    uint64_t id;
    uint32_t correlation, reserved;
} cupti_external;

typedef void (*cupti_buffer_wanted)(uint8_t **buffer, size_t *bytes, size_t *most_records);
typedef void (*cupti_buffer_done)(cupti_context context, uint32_t stream, uint8_t *buffer,
                                  size_t bytes, size_t valid_bytes);
typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);

enum {
    CUPTI_OK = 0,
    CUPTI_MAX_LIMIT = 12, /* no more records; or, of a subscriber, there is one already */
    CUPTI_OTHER_SUBSCRIBER = 39,
    CUPTI_KIND_COPY = 1,
    CUPTI_KIND_SET = 2,
    CUPTI_KIND_DRIVER = 4,
    CUPTI_KIND_RUNTIME = 5,
    CUPTI_KIND_KERNEL = 10, /* CONCURRENT_KERNEL: it leaves kernels side by side */
    CUPTI_KIND_EXTERNAL = 39,
    CUPTI_EXTERNAL_CUSTOM = 3,
    CUPTI_FLUSH_FORCED = 1,
};

#define CUDA_CUPTI_REQUIRED(F)                                                                     \
    F(cupti_result, cuptiGetVersion, (uint32_t * version))                                         \
    F(cupti_result, cuptiGetResultString, (cupti_result result, const char **text))                \
    F(cupti_result, cuptiGetTimestamp, (uint64_t * ns))                                            \
    F(cupti_result, cuptiSubscribe,                                                                \
      (cupti_subscriber * subscriber, cupti_callback callback, void *user))                        \
    F(cupti_result, cuptiUnsubscribe, (cupti_subscriber subscriber))                               \
    F(cupti_result, cuptiActivityRegisterCallbacks,                                                \
      (cupti_buffer_wanted wanted, cupti_buffer_done done))                                        \
    F(cupti_result, cuptiActivityEnable, (int kind))                                               \
    F(cupti_result, cuptiActivityDisable, (int kind))                                              \
    F(cupti_result, cuptiActivityFlushAll, (uint32_t flag))                                        \
    F(cupti_result, cuptiActivityGetNextRecord,                                                    \
      (uint8_t * buffer, size_t valid_bytes, cupti_record * *record))                              \
    F(cupti_result, cuptiActivityGetNumDroppedRecords,                                             \
      (cupti_context context, uint32_t stream, size_t * dropped))                                  \
    F(cupti_result, cuptiActivityPushExternalCorrelationId, (int kind, uint64_t id))               \
    F(cupti_result, cuptiActivityPopExternalCorrelationId, (int kind, uint64_t *last))             \
    F(cupti_result, cuptiFinalize, (void))

/* ---- what it counted: the range profiler, and the host's part of it ---------------------------
 */

/* Parameters are structs, whose first member says how long they are: up to the end of their last
 * member, as NVIDIA's own macros have it, without padding. */
#define CUPTI_PARAMS(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

struct CUpti_Profiler_Host_Object;
struct CUpti_RangeProfiler_Object;

struct cupti_plain { /* CUpti_Profiler_Initialize_Params and DeInitialize's */
    size_t size;
    void *priv;
};
struct cupti_chip { /* CUpti_Device_GetChipName_Params */
    size_t size;
    void *priv;
    size_t device;
    const char *name; /* out: "GH100" */
};
struct cupti_availability { /* CUpti_Profiler_GetCounterAvailability_Params */
    size_t size;
    void *priv;
    cupti_context context;
    size_t bytes;   /* out where `image` is NULL */
    uint8_t *image; /* which counters the process may read */
};
struct cupti_host { /* CUpti_Profiler_Host_Initialize_Params */
    size_t size;
    void *priv;
    int32_t type;
    const char *chip;
    const uint8_t *availability;
    struct CUpti_Profiler_Host_Object *object; /* out */
};
struct cupti_host_end { /* CUpti_Profiler_Host_Deinitialize_Params */
    size_t size;
    void *priv;
    struct CUpti_Profiler_Host_Object *object;
};
struct cupti_host_metrics { /* CUpti_Profiler_Host_ConfigAddMetrics_Params */
    size_t size;
    void *priv;
    struct CUpti_Profiler_Host_Object *object;
    const char **names;
    size_t n;
};
struct cupti_host_size { /* CUpti_Profiler_Host_GetConfigImageSize_Params */
    size_t size;
    void *priv;
    struct CUpti_Profiler_Host_Object *object;
    size_t bytes; /* out */
};
struct cupti_host_config { /* CUpti_Profiler_Host_GetConfigImage_Params */
    size_t size;
    void *priv;
    struct CUpti_Profiler_Host_Object *object;
    size_t bytes;
    uint8_t *image;
};
struct cupti_host_values { /* CUpti_Profiler_Host_EvaluateToGpuValues_Params */
    size_t size;
    void *priv;
    struct CUpti_Profiler_Host_Object *object;
    const uint8_t *image;
    size_t bytes, range;
    const char **names;
    size_t n;
    double *values; /* out */
};
struct cupti_range_enable { /* CUpti_RangeProfiler_Enable_Params */
    size_t size;
    void *priv;
    cupti_context context;
    struct CUpti_RangeProfiler_Object *object; /* out */
};
struct cupti_range { /* CUpti_RangeProfiler_Disable_Params, Start's and PopRange's */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
};
struct cupti_range_size { /* CUpti_RangeProfiler_GetCounterDataSize_Params */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
    const char **names;
    size_t n, ranges;
    uint32_t nodes;
    size_t bytes; /* out */
};
struct cupti_range_image { /* CUpti_RangeProfiler_CounterDataImage_Initialize_Params */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
    size_t bytes;
    uint8_t *image;
};
struct cupti_range_config { /* CUpti_RangeProfiler_SetConfig_Params */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
    size_t config_bytes;
    const uint8_t *config;
    size_t image_bytes;
    uint8_t *image;
    int32_t range, replay;
    size_t ranges;
    uint16_t levels, least_level;
    size_t pass;
    uint16_t target_level;
};
struct cupti_range_push { /* CUpti_RangeProfiler_PushRange_Params */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
    const char *name;
};
struct cupti_range_stop { /* CUpti_RangeProfiler_Stop_Params */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
    size_t pass, level; /* out, as is */
    uint8_t all_done;   /* every pass over the range was made */
};
struct cupti_range_decode { /* CUpti_RangeProfiler_DecodeData_Params */
    size_t size;
    void *priv;
    struct CUpti_RangeProfiler_Object *object;
    size_t dropped; /* out */
};
struct cupti_range_info { /* CUpti_RangeProfiler_GetCounterDataInfo_Params */
    size_t size;
    void *priv;
    const uint8_t *image;
    size_t bytes, ranges; /* the latter out */
};

enum {
    CUPTI_PRIVILEGES = 35,
    CUPTI_PRIVILEGES_OF_GUESTS = 40, /* a virtual GPU */
    CUPTI_TYPE_RANGE = 0,            /* CUPTI_PROFILER_TYPE_RANGE_PROFILER */
    CUPTI_USER_RANGE = 2,
    CUPTI_USER_REPLAY = 3,
};

/* From 12.6 on; all of them or none. */
#define CUDA_CUPTI_COUNTING(F)                                                                     \
    F(cupti_result, cuptiProfilerInitialize, (struct cupti_plain * params))                        \
    F(cupti_result, cuptiProfilerDeInitialize, (struct cupti_plain * params))                      \
    F(cupti_result, cuptiDeviceGetChipName, (struct cupti_chip * params))                          \
    F(cupti_result, cuptiProfilerGetCounterAvailability, (struct cupti_availability * params))     \
    F(cupti_result, cuptiProfilerHostInitialize, (struct cupti_host * params))                     \
    F(cupti_result, cuptiProfilerHostDeinitialize, (struct cupti_host_end * params))               \
    F(cupti_result, cuptiProfilerHostConfigAddMetrics, (struct cupti_host_metrics * params))       \
    F(cupti_result, cuptiProfilerHostGetConfigImageSize, (struct cupti_host_size * params))        \
    F(cupti_result, cuptiProfilerHostGetConfigImage, (struct cupti_host_config * params))          \
    F(cupti_result, cuptiProfilerHostEvaluateToGpuValues, (struct cupti_host_values * params))     \
    F(cupti_result, cuptiRangeProfilerEnable, (struct cupti_range_enable * params))                \
    F(cupti_result, cuptiRangeProfilerDisable, (struct cupti_range * params))                      \
    F(cupti_result, cuptiRangeProfilerGetCounterDataSize, (struct cupti_range_size * params))      \
    F(cupti_result, cuptiRangeProfilerCounterDataImageInitialize,                                  \
      (struct cupti_range_image * params))                                                         \
    F(cupti_result, cuptiRangeProfilerSetConfig, (struct cupti_range_config * params))             \
    F(cupti_result, cuptiRangeProfilerStart, (struct cupti_range * params))                        \
    F(cupti_result, cuptiRangeProfilerPushRange, (struct cupti_range_push * params))               \
    F(cupti_result, cuptiRangeProfilerPopRange, (struct cupti_range * params))                     \
    F(cupti_result, cuptiRangeProfilerStop, (struct cupti_range_stop * params))                    \
    F(cupti_result, cuptiRangeProfilerDecodeData, (struct cupti_range_decode * params))            \
    F(cupti_result, cuptiRangeProfilerGetCounterDataInfo, (struct cupti_range_info * params))

#endif
