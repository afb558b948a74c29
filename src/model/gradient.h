/* gradient.h: from a model's graph to a graph that trains it.
 *
 * Behind the nodes of the forward pass come, in reverse order, the ops `NAME_backward` of each
 * (struct assay_gradient). A value with several users has the sum of what each gives. Ops whose
 * gradient wants saved statistics are replaced by their forms for training. Nodes that nobody needs
 * are left out. */
#ifndef ASSAY_MODEL_GRADIENT_H
#define ASSAY_MODEL_GRADIENT_H

#include "model/graph.h"

enum assay_optimizer { ASSAY_OPTIMIZER_ADAMW, ASSAY_OPTIMIZER_SGD, ASSAY_OPTIMIZERS };
const char *assay_optimizer_name(enum assay_optimizer optimizer); /* "adamw" */

struct assay_training {
    enum assay_pass pass;
    enum assay_optimizer optimizer; /* of a step */
    bool recompute;                 /* see recompute.h */
    bool casts;                     /* layers take a recipe of training (src/quant) */
};

/* The training graph of a forward graph; `out` may hold anything before. Its inputs and outputs:
 *   forward:  the model's inputs; the model's output. `kept` tells what backward needs.
 *   backward: the gradient of the output, then the model's inputs; their gradients, in their order.
 *             The first n_forward nodes make what is kept.
 *   both:     the model's inputs; the sum of the output, then the gradients of it.
 *   step:     the same inputs; the sum, then the new parameters, in their order.
 * The error names an op that has no gradient. */
enum assay_status assay_graph_train(const struct assay_graph *forward,
                                    const struct assay_training *how, struct assay_graph *out,
                                    struct assay_error *err);

/* Marks what nodes behind the forward pass read of it. */
void assay_graph_mark_kept(struct assay_graph *graph);

/* Does the op's gradient know this mode of it? */
bool assay_gradient_covers(const struct assay_problem *forward);

#endif
