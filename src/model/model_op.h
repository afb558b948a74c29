/* model_op.h: what the files of this room share: a model's op and its graph. */
#ifndef ASSAY_MODEL_MODEL_OP_H
#define ASSAY_MODEL_MODEL_OP_H

#include "model/model.h"
#include "quant/quant.h"

/* The op that `model` is, under this name (which must outlive it). */
void assay_model_op_fill(const struct assay_model *model, const char *name, struct assay_op *out);

/* Adds a model whose memory lives as long as the process, unless there is one of that name: then
 * that is in *known, which is NULL otherwise. */
enum assay_status assay_model_add_built(const struct assay_model *model,
                                        const struct assay_model **known, struct assay_error *err);

/* The graph of a problem of a model. */
enum assay_status assay_model_graph(const struct assay_problem *problem, struct assay_graph *out,
                                    struct assay_error *err);

/* The problem's recipe; the baseline where it names none. */
struct assay_recipe assay_model_recipe(const struct assay_problem *problem);

/* See `reference_blocks` of struct assay_op. */
enum assay_status assay_model_reference(const struct assay_problem *problem, const void *const *in,
                                        const int64_t *blocks, int64_t n, double *out,
                                        double *sizes, struct assay_error *err);

#endif
