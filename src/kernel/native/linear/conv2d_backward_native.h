/* conv2d_backward_native.h: what the native kernels of conv2d_backward share.
 *
 * Both gradients are products as `linear` has them, by the bodies and the packing of
 * linear_product.h.
 *
 * dX with stride 1 is a convolution of dY with the turned filters, padded by kernel - 1 - pad: its
 * windows are gathered by the body, as conv2d's are. With a longer stride the pixels of x fall into
 * phases, those of the same row and column modulo the stride; a phase meets every stride-th row and
 * column of the filters only, and is a convolution of its own with these. So no product with a zero
 * between two pixels of dY is ever computed. The windows of some pixels of a phase are gathered at
 * a time, and the rows of the product go where these pixels lie.
 *
 * dW = dY^T windows(x): the rows are dY's columns, which the body packs as they lie, and the
 * weights are the columns of the matrix of windows, of which each thread packs a part at a time
 * (`unfold`).
 *
 * W is turned and packed and x unfolded within the timed call: both change with every training
 * step. An infinite dY or W times a zero of the padding is NaN, which the op's reference, for which
 * padding is nothing at all, does not have. */
#ifndef ASSAY_KERNEL_NATIVE_CONV2D_BACKWARD_NATIVE_H
#define ASSAY_KERNEL_NATIVE_CONV2D_BACKWARD_NATIVE_H

#include "base/math.h"
#include "kernel/native/linear/conv2d_native.h"
#include "kernel/native/linear/linear_product.h"

/* The matrix of windows of x: a row of kernel * kernel * in elements for each pixel of y. */
struct conv2d_windows {
    const struct assay_conv *conv;
    const void *x;
    enum assay_dtype dtype;
    int64_t pixel, pixel_end; /* of the rows that are meant */
};

/* Columns as they lie. Panels are 16 columns, the last one perhaps fewer. */
struct conv2d_backward_columns {
    const struct linear_body *products;
    /* Columns [16 panel, 16 panel_end) as panels, along the rows, of to->codes. */
    void (*pack)(const struct linear_matrix *from, const struct assay_packed *to, int64_t panel,
                 int64_t panel_end);
    /* The same columns' sums, `to` [columns], in an order that depends on nothing but the rows. */
    void (*sums)(const struct linear_matrix *from, void *to, int64_t panel, int64_t panel_end);
};

/* One instruction set's way. */
struct conv2d_backward_body {
    struct conv2d_backward_columns columns;
    /* Columns [16 panel, 16 panel_end) of the windows as panels, along the pixels; the first goes
     * to to->codes. */
    void (*unfold)(const struct conv2d_windows *from, const struct assay_packed *to, int64_t panel,
                   int64_t panel_end);
};

/* What both gradients need to know. */
struct conv2d_backward_job {
    const struct conv2d_backward_body *body;
    struct assay_conv conv;
    enum assay_dtype dtype;
    int32_t threads;
};

/* dX; conv2d_backward_data.c. destroy takes NULL, too. */
struct conv2d_data;
enum assay_status conv2d_data_create(const struct conv2d_backward_job *job,
                                     struct conv2d_data **out, struct assay_error *err);
void conv2d_data_run(const struct conv2d_data *data, const struct assay_args *args);
void conv2d_data_destroy(struct conv2d_data *data);

/* dW, and dbias where there is one; conv2d_backward_weights.c. */
struct conv2d_weights;
enum assay_status conv2d_weights_create(const struct conv2d_backward_job *job,
                                        struct conv2d_weights **out, struct assay_error *err);
void conv2d_weights_run(const struct conv2d_weights *weights, const struct assay_args *args,
                        bool bias);
void conv2d_weights_destroy(struct conv2d_weights *weights);

/* `problem` may be NULL; least_rows: of each product, from which on the kernel is worth while. */
enum assay_status assay_conv2d_backward_can_run(const struct assay_problem *problem, uint32_t isa,
                                                int64_t least_rows, struct assay_error *why);
enum assay_status assay_conv2d_backward_setup(const struct assay_problem *problem,
                                              const struct conv2d_backward_body *body, void **state,
                                              struct assay_error *err);
enum assay_status assay_conv2d_backward_run(void *state, const struct assay_work *work);
void assay_conv2d_backward_teardown(void *state);

#define CONV2D_BACKWARD_FIELDS(name_, preference_, dtypes_)                                        \
    .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = name_,            \
    .op = "conv2d_backward", .implementation = "native", .device = "cpu", .dtypes = dtypes_,       \
    .preference = preference_, .can_run = can_run, .setup = setup,                                 \
    .run = assay_conv2d_backward_run, .teardown = assay_conv2d_backward_teardown

/* Defines can_run and setup from a body of `linear` and the instruction sets it needs. Include
 * conv2d_backward_pack.h first. */
#define CONV2D_BACKWARD_FUNCTIONS(isa_, least_rows_, products_)                                    \
    static const struct conv2d_backward_body body = {{&(products_), pack_panels, sum_panels},      \
                                                     unfold_panels};                               \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        return assay_conv2d_backward_can_run(problem, isa_, least_rows_, why);                     \
    }                                                                                              \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return assay_conv2d_backward_setup(problem, &body, state, err);                            \
    }

#endif
