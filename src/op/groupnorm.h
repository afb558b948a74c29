/* groupnorm.h: the axes and parameters of the op `groupnorm`, for its kernels and for models. */
#ifndef ASSAY_OP_GROUPNORM_H
#define ASSAY_OP_GROUPNORM_H

#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

/* x [batch, height, width, channels]; inputs x, gamma [channels], beta [channels]. Each group is
 * channels / groups neighbouring channels of a whole image. */
enum {
    ASSAY_GROUPNORM_BATCH,
    ASSAY_GROUPNORM_HEIGHT,
    ASSAY_GROUPNORM_WIDTH,
    ASSAY_GROUPNORM_CHANNELS,
    ASSAY_GROUPNORM_GROUPS
};
enum { ASSAY_GROUPNORM_EPS, ASSAY_GROUPNORM_SILU }; /* params; the second 0 or 1 */

/* The inputs of groupnorm_backward; the last one only with silu. */
enum {
    ASSAY_GROUPNORM_DY,
    ASSAY_GROUPNORM_OF_X,
    ASSAY_GROUPNORM_OF_GAMMA,
    ASSAY_GROUPNORM_MEAN, /* [batch * groups] */
    ASSAY_GROUPNORM_RSTD,
    ASSAY_GROUPNORM_OF_BETA
};

#endif
