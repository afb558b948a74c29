/* activity.h: what a GPU did while a kernel was profiled: each kernel, copy and fill, when, on
 * which stream, and for which call and node of the variant. */
#ifndef ASSAY_TRACE_ACTIVITY_H
#define ASSAY_TRACE_ACTIVITY_H

#include "base/error.h"

#include <stdint.h>

enum assay_activity_kind {
    ASSAY_ACTIVITY_KERNEL,
    ASSAY_ACTIVITY_COPY,
    ASSAY_ACTIVITY_SET,  /* a fill */
    ASSAY_ACTIVITY_NODE, /* all that lies between two events around a node: what is seen without
                            CUPTI; its times count from the call's first event */
    ASSAY_ACTIVITY_KINDS
};

struct assay_activity {
    int64_t start_ns, end_ns; /* of the host's monotonic clock */
    enum assay_activity_kind kind;
    int32_t call, node; /* of the pass, from 0; the node's number, -1: in none */
    int32_t stream;
    int32_t grid[3], block[3], registers; /* of a kernel */
    double shared_bytes;                  /* of a block of it */
    double bytes;                         /* of a copy or a fill */
    char name[96];                        /* of a kernel, as its source has it */
};

/* Those that do not fit are counted, and lost. */
struct assay_activities {
    struct assay_activity *items;
    int64_t n, capacity, lost;
};

enum { ASSAY_ACTIVITIES_MOST = 1 << 18 };

void assay_activities_add(struct assay_activities *activities, const struct assay_activity *one);
/* By their start. */
void assay_activities_sort(struct assay_activities *activities);
void assay_activities_fini(struct assay_activities *activities);

#endif
