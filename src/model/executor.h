/* executor.h: a model that is run, node by node: what its files share. */
#ifndef ASSAY_MODEL_EXECUTOR_H
#define ASSAY_MODEL_EXECUTOR_H

#include "model/memory.h"
#include "model/steps.h"

/* In training all inputs but the kept tensors' change from call to call, so what a kernel prepares
 * it prepares within the timed call. */
struct executor {
    struct assay_graph *graph;
    struct assay_step *steps; /* one for each node */
    const char *device;       /* "cpu", "cuda" */
    const struct assay_host *host;
    bool trains;
    bool tune; /* the fastest kernels have yet to be found */

    struct assay_memory_plan plan;
    unsigned char *block;
    unsigned char **kept; /* for each set: what the forward pass left to the timed pass */
    int64_t n_kept;
    unsigned char *constants[ASSAY_GRAPH_VALUES]; /* ones and zeros */

    /* The operands of every step for every set: args[step * n_sets + set]. */
    struct assay_args *args;
    void **pointers;
    const struct assay_args *sets; /* made from these */
    int64_t n_sets;
};

/* The operands of a step for one set. */
struct assay_step_operands {
    void *pointers[ASSAY_MAX_INPUTS + ASSAY_OP_OUTPUTS];
    struct assay_args args;
};
void assay_executor_point(const struct executor *x, const struct assay_step *step, int64_t set,
                          const struct assay_args *model, struct assay_step_operands *out);

enum assay_status assay_step_set_up(struct assay_step *step, struct assay_error *err);
void assay_step_take_down(struct assay_step *step);
/* What its kernel prepares once for a set; nothing in training. */
enum assay_status assay_step_prepare(const struct executor *x, struct assay_step *step, int64_t set,
                                     const struct assay_args *model, struct assay_error *err);
/* `run` of a step in training: on each set prepares, then runs. */
enum assay_status assay_step_run_packing(struct assay_step *step, const struct assay_work *work);

/* Tries every kernel on every step, in order, and keeps the fastest; a kernel from an earlier
 * timing is taken without another one. */
enum assay_status assay_executor_tune(struct executor *x, const struct assay_args *model,
                                      struct assay_error *err);

/* The functions of the kernels `eager`, `compiled` and `recomputed`. */
enum assay_status assay_executor_setup(const struct assay_problem *problem, const char *device,
                                       enum assay_execution how, void **state,
                                       struct assay_error *err);
enum assay_status assay_executor_run(void *state, const struct assay_work *work);
enum assay_status assay_executor_prepare(void *state, int64_t set, const struct assay_args *args,
                                         struct assay_error *err);
size_t assay_executor_prepared_bytes(void *state);
void assay_executor_teardown(void *state);

#endif
