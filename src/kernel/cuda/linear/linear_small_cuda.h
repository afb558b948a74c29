/* linear_small_cuda.h: `linear` of up to 64 tokens in f16 and bf16, on the matrix units, with
 * weights that are dequantised in registers (linear_small.cu). Rows of codes are whole vectors of
 * 16 bytes. Used by linear_wo_cuda.c. */
#ifndef ASSAY_KERNEL_CUDA_LINEAR_SMALL_CUDA_H
#define ASSAY_KERNEL_CUDA_LINEAR_SMALL_CUDA_H

#include "kernel/cuda/linear/linear_cuda.h"

/* How the work is cut; linear_small.cu explains the words. */
struct cuda_small_cut {
    int64_t tokens, warps, split, stages, warp_steps, chunk, depth, folds;
    int64_t held_bands, held_steps; /* BANDS and STEPS there: one of them stays in registers */
    bool even;
    int64_t bands, steps, record;                 /* record in bytes; bands are whole held_bands */
    int64_t clusters, cluster_bands, round_bands; /* clusters for each block of tokens */
    int64_t shared;                               /* bytes */
    double us;
};

struct cuda_small {
    struct cuda_small_cut cut;
    cu_function function, pack;
    struct assay_cuda_launch launch;
};

/* The cut that is likely the fastest; false where none fits this GPU's shared memory. */
bool assay_cuda_small_cut(const struct cuda_linear *p, struct cuda_small_cut *best);
/* Compiles and plans the launch for s->cut. */
enum assay_status assay_cuda_small_plan(const struct cuda_linear *p, struct cuda_small *s,
                                        struct assay_error *err);
/* From rows of codes to the records the kernel reads, followed by the rows' scales. */
enum assay_status assay_cuda_small_pack(const struct cuda_small *s, const struct cuda_linear *p,
                                        struct cuda_weights *w, struct assay_error *err);
enum assay_status assay_cuda_small_call(const struct cuda_small *s, const struct cuda_linear *p,
                                        const struct cuda_weights *w, const struct assay_args *args,
                                        void *stream);

#endif
