/* linear_backward_native.h: what assay's own kernels of `linear_backward` and `linear_training`
 * share.
 *
 * Both gradients are products as `linear` has them, of rows with packed panels of weights, so the
 * bodies are those of linear_native.h. For dX = dY W the rows are dY's and the weights are the
 * columns of W; for dW = dY^T x the rows are dY's columns and the weights are the columns of x.
 * Columns of 16 make a panel almost as they lie (linear_columns.h), and the body packs columns of
 * dY instead of rows.
 *
 * All of that happens within the timed call, since W, x and dY change with every training step. It
 * is one pass over W and one over x, shared by the threads, against as many products of each
 * element as the other operand has rows: at 1024 x 1024 x 1024 some 3 % of the time, at 4096 rows
 * less. A recipe casts them on the way (linear_product.h). */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_NATIVE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_NATIVE_H

#include "kernel/native/linear/linear_product.h"

/* The products of the two ops. `problem` may be NULL; least_rows: of each product, from which on
 * the kernel is worth while. */
enum assay_status assay_linear_backward_can_run(const struct assay_problem *problem, uint32_t isa,
                                                const struct linear_product_body *body,
                                                int64_t least_rows, struct assay_error *why);
enum assay_status assay_linear_backward_setup(const struct assay_problem *problem,
                                              const struct linear_product_body *body, void **state,
                                              struct assay_error *err);
enum assay_status assay_linear_backward_run(void *state, const struct assay_work *work);
/* Its casts, and the packing they are fused with, without the products. */
enum assay_status assay_linear_backward_casts(void *state, const struct assay_work *work);
void assay_linear_backward_teardown(void *state);

enum assay_status assay_linear_training_can_run(const struct assay_problem *problem, uint32_t isa,
                                                const struct linear_product_body *body,
                                                int64_t least_rows, struct assay_error *why);
enum assay_status assay_linear_training_setup(const struct assay_problem *problem,
                                              const struct linear_product_body *body, void **state,
                                              struct assay_error *err);
enum assay_status assay_linear_training_run(void *state, const struct assay_work *work);
enum assay_status assay_linear_training_casts(void *state, const struct assay_work *work);
void assay_linear_training_teardown(void *state);

/* The fields of a kernel of OP, linear_backward or linear_training. */
#define LINEAR_TRAINING_FIELDS(op_, name_, preference_, dtypes_)                                   \
    .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = name_,            \
    .op = #op_, .implementation = "native", .device = "cpu", .dtypes = dtypes_,                    \
    .preference = preference_, .can_run = can_run, .setup = setup, .run = assay_##op_##_run,       \
    .teardown = assay_##op_##_teardown, .run_activations = assay_##op_##_casts

/* Defines can_run and setup of OP from a body of products and the instruction sets it needs. */
#define LINEAR_TRAINING_FUNCTIONS(op_, isa_, least_rows_, body_)                                   \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        return assay_##op_##_can_run(problem, isa_, &(body_), least_rows_, why);                   \
    }                                                                                              \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return assay_##op_##_setup(problem, &(body_), state, err);                                 \
    }

#endif
