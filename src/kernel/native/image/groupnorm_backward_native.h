/* groupnorm_backward_native.h: what the native kernels of groupnorm_backward share.
 *
 * How it fits together. A unit is an image, or a part of its pixels where there are too few images
 * for the threads. The first pass over a unit gives, for each channel, the sums of dz and of
 * dz (x - mean) over its pixels. With gamma these make the means of the image's groups, so that the
 * second pass is, for each channel, dx = dz scale + (x - mean) slope + offset; and over all units,
 * in their order, dbeta and dgamma. So the same number of threads gives the same bits. A body
 * (groupnorm_backward_vec.c) does the passes; the driver (groupnorm_backward_driver.c), compiled
 * once, the rest. */
#ifndef ASSAY_KERNEL_NATIVE_GROUPNORM_BACKWARD_NATIVE_H
#define ASSAY_KERNEL_NATIVE_GROUPNORM_BACKWARD_NATIVE_H

#include "kernel/native/native.h"
#include "op/groupnorm.h"

/* Of each channel, for one image. dz is dy, or with silu dy silu'((x - mean) scale + beta). */
struct groupgrad_channels {
    const float *mean, *scale, *beta; /* scale: gamma rstd */
    const float *slope, *offset;      /* for the second pass */
};

struct groupgrad_unit {
    int64_t begin, end; /* pixels of all images */
};

struct groupgrad_body {
    /* Adds the sums of dz and of dz (x - mean) to out[c] and out[channels + c]. `scratch`: 2 floats
     * for each channel. */
    void (*sums[NATIVE_KINDS][2])(const struct assay_args *args, int64_t channels,
                                  struct groupgrad_unit unit, const struct groupgrad_channels *from,
                                  float *scratch, double *out);
    void (*apply[NATIVE_KINDS][2])(const struct assay_args *args, int64_t channels,
                                   struct groupgrad_unit unit,
                                   const struct groupgrad_channels *from);
    void (*load[NATIVE_KINDS])(const void *from, int64_t n, float *to);
    void (*store[NATIVE_KINDS])(const float *from, int64_t n, void *to);
}; /* [1] of the passes: with silu */

enum assay_status assay_groupgrad_setup(const struct assay_problem *problem,
                                        const struct groupgrad_body *body, void **state,
                                        struct assay_error *err);
enum assay_status assay_groupgrad_run(void *state, const struct assay_work *work);
void assay_groupgrad_teardown(void *state);

#endif
