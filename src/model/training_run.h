/* training_run.h: a training graph computed in double: every node over all rows, what one hands to
 * the next rounded to its type, as an executor does.
 *
 * It can be computed with noise: every element of every node is then off by what its op's tolerance
 * allows a kernel, at random (Monte Carlo arithmetic, Parker 1997). What comes out shows how far
 * right answers lie apart. */
#ifndef ASSAY_MODEL_TRAINING_RUN_H
#define ASSAY_MODEL_TRAINING_RUN_H

#include "model/graph.h"

struct assay_training_run {
    const struct assay_graph *graph;
    const struct assay_problem *problem;
    const void *const *in;
    uint64_t noise; /* a seed; 0: none */
    /* What kinked gradients (struct assay_op) see of their other input is moved by this; NULL: as
     * it is. One for each node. */
    const double *shifts;
    uint64_t mixed; /* a seed: each element is moved to a side of its own; 0: all to the same */
    bool (*watched)(const struct assay_node *node); /* its last input is to be seen */

    double *outputs[ASSAY_MAX_OUTPUTS]; /* not rounded */
    double *seen[ASSAY_GRAPH_NODES];    /* the last inputs of watched nodes */

    void *values[ASSAY_GRAPH_VALUES];
    enum assay_dtype types[ASSAY_GRAPH_VALUES];
};

/* Fills `outputs` and `seen`. To be finished also where it fails. */
enum assay_status assay_training_run(struct assay_training_run *run, struct assay_error *err);
void assay_training_run_fini(struct assay_training_run *run);

/* Seconds that it takes on so many threads, roughly. */
double assay_training_run_seconds(const struct assay_graph *graph, int32_t threads);

#endif
