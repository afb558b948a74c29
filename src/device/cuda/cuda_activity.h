/* cuda_activity.h: records of CUPTI's, as plain activities; for cuda_watch.c and tests. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_ACTIVITY_H
#define ASSAY_DEVICE_CUDA_CUDA_ACTIVITY_H

#include "device/cuda/cuda_library.h"
#include "trace/activity.h"

#include <stdbool.h>

/* An identifier that was pushed around launches: which call, and which node of it. */
uint64_t assay_cuda_activity_id(int32_t call, int32_t node);

/* What came in buffers, until somebody asks. */
struct cuda_activities {
    struct assay_activities items; /* whose `call` is still the correlation */
    struct cuda_correlation {
        uint32_t correlation;
        uint64_t id;
    } * pushed;
    int64_t n_pushed, capacity;
    int64_t lost;
};

/* All records of a buffer. False: it cannot be read on. */
bool assay_cuda_activities_read(const struct cuda_cupti_api *api, uint8_t *buffer, size_t bytes,
                                struct cuda_activities *out);
/* Finds call and node of each, puts `offset_ns` on their times, and moves those that belong to a
 * call to `out`. What was launched outside of calls goes. */
void assay_cuda_activities_settle(struct cuda_activities *from, int64_t offset_ns,
                                  struct assay_activities *out);
void assay_cuda_activities_fini(struct cuda_activities *activities);

#endif
