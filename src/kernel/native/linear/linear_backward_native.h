/* linear_backward_native.h: what assay's own kernels of `linear_backward` share.
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
 * less. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_NATIVE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_NATIVE_H

#include "base/math.h"
#include "kernel/native/linear/linear_bodies.h"

/* The layout of `n` columns of `k` rows as panels; codes are the caller's. */
static inline struct assay_packed linear_packed_columns(enum assay_dtype dtype, int64_t n,
                                                        int64_t k)
{
    int64_t per = dtype == ASSAY_DTYPE_F32 ? 1 : 2;
    return (struct assay_packed){
        .dtype = dtype,
        .code = ASSAY_DTYPE_NONE,
        .n = n,
        .k = k,
        .panels = assay_ceil_div(n, ASSAY_PANEL_ROWS),
        .lines = assay_round_up(assay_ceil_div(k, per), ASSAY_PANEL_LINES),
        .codes_in_dword = per,
    };
}

/* One instruction set's way. Panels are 16 columns, the last one perhaps fewer. */
struct linear_backward_body {
    const struct linear_body *products;
    /* Columns [16 panel, 16 panel_end) as panels, along the rows, of to->codes. */
    void (*pack)(const struct linear_matrix *from, const struct assay_packed *to, int64_t panel,
                 int64_t panel_end);
    /* The same columns' sums, `to` [columns], in an order that depends on nothing but the rows. */
    void (*sums)(const struct linear_matrix *from, void *to, int64_t panel, int64_t panel_end);
};

/* `problem` may be NULL; least_rows: of each product, from which on the kernel is worth while. */
enum assay_status assay_linear_backward_can_run(const struct assay_problem *problem, uint32_t isa,
                                                int64_t least_rows, struct assay_error *why);
enum assay_status assay_linear_backward_setup(const struct assay_problem *problem,
                                              const struct linear_backward_body *body, void **state,
                                              struct assay_error *err);
enum assay_status assay_linear_backward_run(void *state, const struct assay_work *work);
void assay_linear_backward_teardown(void *state);

#define LINEAR_BACKWARD_FIELDS(name_, preference_, dtypes_)                                        \
    .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = name_,            \
    .op = "linear_backward", .implementation = "native", .device = "cpu", .dtypes = dtypes_,       \
    .preference = preference_, .can_run = can_run, .setup = setup,                                 \
    .run = assay_linear_backward_run, .teardown = assay_linear_backward_teardown

/* Defines can_run and setup from a body of `linear` and the instruction sets it needs. Include
 * linear_backward_pack.h first. */
#define LINEAR_BACKWARD_FUNCTIONS(isa_, least_rows_, products_)                                    \
    static const struct linear_backward_body body = {&(products_), pack_panels, sum_panels};       \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        return assay_linear_backward_can_run(problem, isa_, least_rows_, why);                     \
    }                                                                                              \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return assay_linear_backward_setup(problem, &body, state, err);                            \
    }

#endif
