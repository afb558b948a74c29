/* model_op.h: what the files of this room share: a model's op and its graph. */
#ifndef ASSAY_MODEL_MODEL_OP_H
#define ASSAY_MODEL_MODEL_OP_H

#include "model/gradient.h"
#include "model/model.h"
#include "quant/quant.h"

/* What an op of a model runs: inference, or a pass of its training. */
struct assay_model_pass {
    const struct assay_model *model;
    bool trains;
    enum assay_pass pass;
};

/* From the op's name: "model:NAME", or "model:NAME_backward" (assay_pass_name). */
enum assay_status assay_model_find_pass(const char *op, struct assay_model_pass *out,
                                        struct assay_error *err);

/* The op of a model's pass, under this name (which must outlive it). */
void assay_model_op_fill(const struct assay_model_pass *of, const char *name, struct assay_op *out);

/* Adds a model whose memory lives as long as the process, unless there is one of that name: then
 * that is in *known, which is NULL otherwise. */
enum assay_status assay_model_add_built(const struct assay_model *model,
                                        const struct assay_model **known, struct assay_error *err);

/* The graph of a problem of a model, for assay_free also where it fails: of its forward pass, and
 * what a training pass makes of that, saving less with `recompute`; and both together. */
enum assay_status assay_model_forward_graph(const struct assay_problem *problem,
                                            struct assay_graph **out, struct assay_error *err);
enum assay_status assay_model_train(const struct assay_problem *problem, bool recompute,
                                    struct assay_graph **graph, struct assay_error *err);
enum assay_status assay_model_graph(const struct assay_problem *problem, struct assay_graph **out,
                                    struct assay_error *err);

/* The problem's recipe; the baseline where it names none. */
struct assay_recipe assay_model_recipe(const struct assay_problem *problem);

/* See `reference_blocks` of struct assay_op. */
enum assay_status assay_model_reference(const struct assay_problem *problem, const void *const *in,
                                        const int64_t *blocks, int64_t n, double *out,
                                        double *sizes, struct assay_error *err);

/* See `reference_all`: of a pass in training. */
enum assay_status assay_model_training_reference(const struct assay_problem *problem,
                                                 const void *const *in,
                                                 struct assay_expected *outputs,
                                                 struct assay_error *err);

#endif
