/* fuse.h: neighbours in a graph made one node, and memory planned for what lies between nodes. */
#ifndef ASSAY_MODEL_FUSE_H
#define ASSAY_MODEL_FUSE_H

#include "model/graph.h"

/* Can this be run as one node here? */
typedef bool (*assay_fuse_can)(void *user, const struct assay_problem *problem);

/* Fuses into linear layers what comes before and behind them, as far as `can` allows: an
 * activation behind, a norm before (layernorm, rmsnorm), the addition of a residual behind; into
 * convolutions a residual, into norms of groups silu. A value that someone else also needs is left
 * alone. */
void assay_graph_fuse(struct assay_graph *graph, assay_fuse_can can, void *user);

/* Where each inner value but the answer lies in one block of memory: offsets[value], -1 for values
 * that need none. With `reuse` values that do not live at the same time share places. Returns the
 * bytes of the block. */
int64_t assay_graph_place(const struct assay_graph *graph, bool reuse, int64_t *offsets);

#endif
