/* fuse.h: neighbours in a graph made one node. */
#ifndef ASSAY_MODEL_FUSE_H
#define ASSAY_MODEL_FUSE_H

#include "model/graph.h"

/* Can this be run as one node here? */
typedef bool (*assay_fuse_can)(void *user, const struct assay_problem *problem);

/* Fuses into each node the neighbours that its op can do too (struct assay_absorbed), as far as
 * `can` allows: into a linear layer an activation or a residual behind it and a norm before it,
 * into a convolution a residual, into groupnorm silu. A value that another node also needs is left
 * alone.
 */
void assay_graph_fuse(struct assay_graph *graph, assay_fuse_can can, void *user);

#endif
