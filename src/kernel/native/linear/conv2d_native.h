/* conv2d_native.h: what the native kernels of conv2d share.
 *
 * A convolution is y = windows W^T: a row of windows, kernel * kernel * in elements, is what one
 * pixel of the output meets, and W [out, kernel, kernel, in] is already the matrix. So the kernels
 * are those of `linear` (linear_native.h: weights packed once, tiles, bias and residual behind the
 * sums), whose packing of x gathers windows (linear_window.h) just before they are multiplied: the
 * matrix of windows exists only as the few rows that are in the cache. A window of 1 x 1 with
 * stride 1 is a row of x as it lies. */
#ifndef ASSAY_KERNEL_NATIVE_CONV2D_NATIVE_H
#define ASSAY_KERNEL_NATIVE_CONV2D_NATIVE_H

#include "kernel/native/linear/linear_bodies.h"

/* `problem` may be NULL; least_rows: windows from which on the kernel is worth while. */
enum assay_status assay_conv2d_can_run(const struct assay_problem *problem, uint32_t isa,
                                       int64_t least_rows, struct assay_error *why);
/* The product that this convolution is, without bias and residual, which come at run time. */
struct linear_job assay_conv2d_job(const struct assay_conv *conv, enum assay_dtype dtype);
enum assay_status assay_conv2d_setup(const struct assay_problem *problem,
                                     const struct linear_body *body, void **state,
                                     struct assay_error *err);

#define CONV2D_FIELDS(name_, preference_, dtypes_)                                                 \
    .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = name_,            \
    .op = "conv2d", .implementation = "native", .device = "cpu", .dtypes = dtypes_,                \
    .preference = preference_, .can_run = can_run, .setup = setup, .run = assay_linear_run,        \
    .teardown = assay_linear_teardown, .prepare = assay_linear_prepare,                            \
    .prepared_bytes = assay_linear_prepared_bytes

/* Defines can_run and setup from a body of `linear` and the instruction sets it needs. */
#define CONV2D_FUNCTIONS(isa_, least_rows_, body_)                                                 \
    static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why) \
    {                                                                                              \
        return assay_conv2d_can_run(problem, isa_, least_rows_, why);                              \
    }                                                                                              \
    static enum assay_status setup(const struct assay_problem *problem, void **state,              \
                                   struct assay_error *err)                                        \
    {                                                                                              \
        return assay_conv2d_setup(problem, &(body_), state, err);                                  \
    }

#endif
