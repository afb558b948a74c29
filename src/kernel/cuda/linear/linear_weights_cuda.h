/* linear_weights_cuda.h: weights of `linear` on the GPU, stored as a recipe says.
 *
 * They are encoded on the CPU by src/quant, the one definition of every recipe, and laid out in
 * plain row order here: codes [n][k] (4-bit codes two to a byte, the even k in the low half), then
 * scales and zeros. One block of device memory holds all of it, so that a copy of a set is one
 * copy; each part starts at a multiple of 256 bytes. */
#ifndef ASSAY_KERNEL_CUDA_LINEAR_WEIGHTS_CUDA_H
#define ASSAY_KERNEL_CUDA_LINEAR_WEIGHTS_CUDA_H

#include "device/cuda/cuda.h"
#include "quant/quant.h"

struct cuda_weights {
    enum assay_dtype dtype, code; /* as in struct assay_packed; code NONE: W itself in dtype */
    int64_t n, k, group;
    size_t row_bytes;  /* of the codes of one row */
    size_t bytes;      /* of the block */
    void *block;       /* device memory: the codes come first */
    float *row_scales; /* device, [n]; NULL without */
    void *scales;      /* device, [n][k / group], in dtype; NULL without */
    void *zeros;       /* the same */
};

/* Encodes W [n, k] of type dtype, which lies in device memory. */
enum assay_status assay_cuda_weights_create(const struct assay_recipe *recipe,
                                            enum assay_dtype dtype, const void *weights, int64_t n,
                                            int64_t k, int32_t threads, struct cuda_weights *out,
                                            struct assay_error *err);
/* Whatever the block holds: row_scales, scales and zeros are where they are in `from`'s. */
enum assay_status assay_cuda_weights_copy(const struct cuda_weights *from, struct cuda_weights *out,
                                          struct assay_error *err);
void assay_cuda_weights_fini(struct cuda_weights *weights);

/* The sets a kernel's `prepare` keeps: start from {0}. */
struct cuda_weight_sets {
    struct cuda_weights *sets;
    int64_t n, capacity;
};

/* What a kernel's prepare does: set 0 is encoded (and voids the others), the rest are copies. */
enum assay_status assay_cuda_weights_prepare(struct cuda_weight_sets *sets, int64_t set,
                                             const struct assay_recipe *recipe,
                                             enum assay_dtype dtype, const void *weights, int64_t n,
                                             int64_t k, int32_t threads, struct assay_error *err);
void assay_cuda_weight_sets_fini(struct cuda_weight_sets *sets);

#endif
