/* timed.h: how a GPU's samples were taken, and what the graph holds that was replayed. Plain data:
 * it crosses processes and ends in records. */
#ifndef ASSAY_DEVICE_TIMED_H
#define ASSAY_DEVICE_TIMED_H

#include <stdbool.h>
#include <stdint.h>

enum { ASSAY_GRAPH_NAMES = 8, ASSAY_GRAPH_NAME = 96 };

/* Nodes, without the events of the timer. */
struct assay_graph_audit {
    int64_t calls;   /* of the kernel, those that lead in included */
    int64_t kernels; /* nodes that launch one, those of graphs within the graph included */
    int64_t copies, memsets;
    int64_t others; /* functions of the host, allocations */
    int32_t n_names;
    char names[ASSAY_GRAPH_NAMES][ASSAY_GRAPH_NAME]; /* of the kernels, the first few */
};

/* What a kernel did that makes its time worthless. */
enum assay_timed_fault {
    ASSAY_TIMED_FINE,
    ASSAY_TIMED_NOTHING, /* launched nothing on the stream that it was given */
    ASSAY_TIMED_PARTLY,  /* nothing in some of its calls */
    ASSAY_TIMED_UNJOINED /* work on another stream, which the given one does not wait for */
};

#define ASSAY_TIMED_GRAPH "graph"            /* replayed */
#define ASSAY_TIMED_BLOCKED "blocked stream" /* enqueued behind a wait that the host ends */
#define ASSAY_TIMED_EAGER "eager"            /* enqueued while the GPU works */

struct assay_timed {
    char way[16];  /* one of the above; empty: no GPU, or not known */
    char why[224]; /* it was not a graph */
    int32_t fault; /* enum assay_timed_fault */
    bool has_graph;
    struct assay_graph_audit graph;
};

#endif
