/* recompute.h: in training, less is saved where it can be computed again at little cost. */
#ifndef ASSAY_MODEL_RECOMPUTE_H
#define ASSAY_MODEL_RECOMPUTE_H

#include "model/graph.h"

/* Of a training graph whose kept values are marked: outputs of the forward pass that a few
 * operations each make of what is at hand in the backward pass anyway, inputs of the model among
 * it, are no longer kept. A copy of their node stands before the first node that reads them there.
 * Forward nodes need no statistics then: they are as in `forward` again. */
enum assay_status assay_graph_recompute(struct assay_graph *graph,
                                        const struct assay_graph *forward, struct assay_error *err);

#endif
