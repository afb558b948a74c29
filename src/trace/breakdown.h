/* breakdown.h: where the time of a profiled variant went: by node and by kernel, against the least
 * the machine allows, and the whole in one sentence. Made from a trace that was written as JSON
 * (trace/timeline.h), so that it needs neither the device nor the run. */
#ifndef ASSAY_TRACE_BREAKDOWN_H
#define ASSAY_TRACE_BREAKDOWN_H

#include "base/json.h"

/* What the time of a node goes to. */
enum assay_binds {
    ASSAY_BINDS_UNKNOWN, /* there is no ceiling */
    ASSAY_BINDS_MEMORY,  /* moving its bytes takes longest, of a cache or of memory */
    ASSAY_BINDS_ARITHMETIC,
    ASSAY_BINDS_OVERHEAD, /* it is short, and far from its ceiling: waking threads, calling */
};
const char *assay_binds_name(enum assay_binds binds); /* "memory", …; "" for the first */

/* A node over all calls of its variant, or all nodes with one kernel or of one phase: then what is
 * said of a call is the sum over its nodes. */
struct assay_part {
    char op[64], shape[64], kernel[64], bound[16]; /* of a kernel: those of its first node */
    char phase[16];                                /* of a model in training, but of a kernel */
    int64_t node;                                  /* its number; -1: it stands for several */
    int64_t nodes;                                 /* how many it stands for */
    int64_t calls;
    double total_ns;     /* of all calls, disturbed ones too */
    double call_ns;      /* the median of the calls */
    double share;        /* of a call: of the sum of all nodes' medians */
    double waits_ns;     /* of call_ns, on the average of the threads; NaN: not recorded */
    double bytes, flops; /* of a call, and by its median: */
    double bytes_per_s, flops_per_s;
    double ceiling_ns;    /* of a call; 0: not known */
    double ceiling_share; /* of call_ns: 1 is at the ceiling; NaN: not known */
    enum assay_binds binds;
};

/* What the GPU did under one name: a kernel of anybody's, copies, fills. */
struct assay_gpu_part {
    char name[96], grid[40], block[40]; /* of a kernel: those of its first launch */
    int64_t launches;
    double total_ns, registers, shared_bytes;
    double share; /* of all that the GPU did */
};

/* A variant. */
struct assay_breakdown {
    char title[200], implementation[32], kernel[64], recipe[64], missing[256];
    int64_t calls, threads;
    double wall_ns;     /* from the first call's begin to the last one's end; of a GPU, which
                           waits for the host between them, all calls */
    double total_ns;    /* of all calls */
    double named_share; /* of the wall time, in nodes */
    double call_ns;     /* the median of the calls */
    double nodes_ns;    /* the sum of the nodes' medians */
    double timed_ns;    /* of the timed pass: its median; 0: not known */
    double ceiling_ns;  /* of one call, all nodes one behind the other; 0: not known of all */
    int64_t n_nodes, n_kernels, n_phases;
    struct assay_part *nodes;   /* in their order */
    struct assay_part *kernels; /* the longest first */
    struct assay_part *phases;  /* of training, in their order; they have no kernel */
    char gpu_source[160];       /* who saw what a GPU did; empty: it is none */
    int64_t n_gpu;
    struct assay_gpu_part *gpu; /* the longest first; none without CUPTI */
};

struct assay_breakdowns {
    char run[64], version[32], device[96];
    int64_t n;
    struct assay_breakdown *items;
};

/* Reads a trace. The error says what is wrong with it, and where: a file of others' events, or of
 * Perfetto's own form, is ASSAY_ERR_INVALID; damage ASSAY_ERR_CORRUPT. */
enum assay_status assay_breakdowns_read(const char *path, struct assay_breakdowns *out,
                                        struct assay_error *err);
/* The same of text that is there. */
enum assay_status assay_breakdowns_parse(const char *text, size_t length, const char *where,
                                         struct assay_breakdowns *out, struct assay_error *err);
void assay_breakdowns_fini(struct assay_breakdowns *breakdowns);

/* "62 % of a call is in attention (attention_avx512); the whole is 1.9x from its ceiling; the
 * largest gain, up to 41 %, is in linear (linear_avx512), which arithmetic binds." */
void assay_breakdown_sentence(const struct assay_breakdown *b, struct assay_text *out);

#endif
