/* memory.h: where the values between a graph's nodes lie. */
#ifndef ASSAY_MODEL_MEMORY_H
#define ASSAY_MODEL_MEMORY_H

#include "model/graph.h"

struct assay_memory_plan {
    int64_t offsets[ASSAY_GRAPH_VALUES]; /* of inner values in their block; -1: it needs none */
    int64_t bytes;                       /* of the block */
    int64_t kept_bytes; /* of another block, which has the kept values; 0: they are in the first */
};

/* Where each inner value but the outputs lies. With `reuse`, values that do not live at the same
 * time share memory; kept ones live to the end of the forward pass and until their last use. With
 * `apart`, kept values have a block of their own. */
void assay_graph_plan_memory(const struct assay_graph *graph, bool reuse, bool apart,
                             struct assay_memory_plan *out);

/* From the node that makes a value to the last that uses it, or to the end of the forward pass; and
 * the bytes that it takes, padding included. */
struct assay_memory_life {
    int32_t first, last;
    int64_t bytes;
};
struct assay_memory_life assay_graph_life(const struct assay_graph *graph, int32_t value);

/* Bytes of the values that the forward pass leaves to the backward pass. */
int64_t assay_graph_kept_bytes(const struct assay_graph *graph);

#endif
