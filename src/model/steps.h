/* steps.h: which kernel runs each node of a graph. */
#ifndef ASSAY_MODEL_STEPS_H
#define ASSAY_MODEL_STEPS_H

#include "model/model_op.h"

/* A node on its way to being run. */
struct assay_step {
    const struct assay_kernel *kernel;
    struct assay_problem problem; /* the node's, with the recipe where it takes one */
    const struct assay_node *node;
    void *state;
    bool set_up;
    bool trains; /* what its kernel prepares it prepares in every call */
};

/* How a model is run: node by node; fused, in memory that values share; and in training so that
 * less is saved, too (recompute.h). */
enum assay_execution { ASSAY_EAGER, ASSAY_COMPILED, ASSAY_RECOMPUTED, ASSAY_EXECUTIONS };

/* The graph of a problem as the executor runs it. For assay_free also where it fails. */
enum assay_status assay_steps_graph(const struct assay_problem *problem, const char *device,
                                    enum assay_execution how, struct assay_graph **out,
                                    struct assay_error *err);

/* The best kernel for every node, as far as that is known without timing. ASSAY_UNSUPPORTED with
 * the reason where a node has none. *steps are for assay_free also where it fails. */
enum assay_status assay_steps_choose(const struct assay_problem *problem,
                                     const struct assay_graph *graph, const char *device,
                                     struct assay_step **steps, struct assay_error *why);

/* Every kernel that can run the step, but the reference; of large steps on a CPU the best of each
 * implementation. Returns how many; up to `max`. */
int64_t assay_steps_candidates(const struct assay_step *step, const char *device,
                               const struct assay_kernel **out, int64_t max);

/* The kernel remembered for this step from an earlier timing; NULL where there is none. */
const struct assay_kernel *assay_steps_remembered(const struct assay_step *step);
void assay_steps_remember(const struct assay_step *step);

#endif
