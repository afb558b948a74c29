/* memory_profile.h: what a variant held while it was set up, prepared, called and taken down, as it
 * was noted in its memory pass. Plain data: it crosses from the worker to whoever writes pages
 * (report/memory) and snapshots (trace/memory_snapshot.h). */
#ifndef ASSAY_TRACE_MEMORY_PROFILE_H
#define ASSAY_TRACE_MEMORY_PROFILE_H

#include "base/json.h"
#include "trace/memory_log.h"

struct assay_memory_node {
    char op[64], shape[64], kernel[64];
    char phase[16]; /* of a model in training; else empty */
};

/* A planned buffer: a value between nodes, in the block that is for such. */
struct assay_memory_buffer {
    int32_t node, output; /* that makes it, and as which of its outputs */
    int32_t last;         /* the last node that it is kept for */
    enum assay_held held; /* INNER, KEPT or GRADIENT */
    bool apart;           /* it lies in the block of saved tensors */
    int64_t offset, bytes;
};

struct assay_memory_profile {
    int64_t group, variant; /* as in the variant's record */
    char title[200];
    char op[64], implementation[32], kernel[64], recipe[64], device[32];
    char missing[256]; /* what is not here, and why; empty: nothing is missing */
    int32_t calls;     /* that were noted */
    bool on_host;      /* the device's memory is the host's: all of it counts */
    bool sums;         /* of a process that is not ours: sums, at addresses that are made up */
    int64_t planned_bytes, apart_bytes; /* of the blocks; 0: there are none */
    int64_t n_nodes, n_buffers, n_events;
    struct assay_memory_node *nodes;
    struct assay_memory_buffer *buffers;
    struct assay_memory_event *events; /* in the order of time */
};

void assay_memory_profile_fini(struct assay_memory_profile *profile);

assay_json *assay_memory_profile_to_json(const struct assay_memory_profile *profile);
/* ASSAY_ERR_CORRUPT, or ASSAY_ERR_NOMEM; `out` then needs no fini. */
enum assay_status assay_memory_profile_from_json(const assay_json *json,
                                                 struct assay_memory_profile *out,
                                                 struct assay_error *err);

#endif
