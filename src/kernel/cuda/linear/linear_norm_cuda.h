/* linear_norm_cuda.h: the norm of x of `linear` on the GPU, where it is not part of what quantises
 * x, and how rows that are kept in registers are given to threads. */
#ifndef ASSAY_KERNEL_CUDA_LINEAR_NORM_CUDA_H
#define ASSAY_KERNEL_CUDA_LINEAR_NORM_CUDA_H

#include "device/cuda/cuda.h"
#include "op/linear.h"

/* Options of linear_norm.cuh. `norm` is an enum assay_linear_norm. */
struct cuda_held_rows {
    enum assay_dtype dtype;
    int64_t rows, k;
    int norm;
    bool aligned;
    int64_t group, held;
    bool rest;
    struct assay_cuda_launch launch;
};

/* For `rows` of k elements; `aligned`: do other things each row touches begin at multiples of 16
 * bytes of x? */
struct cuda_held_rows assay_cuda_held_rows(enum assay_dtype dtype, int64_t rows, int64_t k,
                                           bool aligned, int norm);
/* Function `name` of `text`; `more` are further options, "" for none. */
enum assay_status assay_cuda_held_function(const struct cuda_held_rows *rows, const char *text,
                                           const char *name, const char *more, cu_function *out,
                                           struct assay_error *err);

/* Two ways to a product of normalised rows, see linear_norm.cu. */
enum cuda_norm_way {
    CUDA_NORM_ROWS,  /* normalised rows, written to memory */
    CUDA_NORM_FOLDED /* W has the weight in it, the product's epilogue applies scales and means */
};

struct cuda_linear_norm {
    enum cuda_norm_way way;
    struct cuda_held_rows held;
    cu_function function;
    void *block; /* device: all of the following */
    size_t block_bytes;
    void *normalised;             /* ROWS: [m][k] */
    float *scales, *means, *sums; /* FOLDED: [m], [m] (LN) and [n] (LN) */
};

enum assay_status assay_cuda_linear_norm_create(enum cuda_norm_way way, int norm,
                                                enum assay_dtype dtype, int64_t m, int64_t k,
                                                int64_t n, struct cuda_linear_norm *out,
                                                struct assay_error *err);
/* Enqueues the work on x [m, k]; `weight` [k] of RMS. */
enum assay_status assay_cuda_linear_norm_run(const struct cuda_linear_norm *norm, const void *x,
                                             const void *weight, void *stream);
/* FOLDED: what a product's weights need, from W [n, k] to `folded`, which starts as a copy of it.
 * Waits for it. */
enum assay_status assay_cuda_linear_norm_fold(const struct cuda_linear_norm *norm, const void *w,
                                              const void *weight, int64_t n, void *folded,
                                              struct assay_error *err);
void assay_cuda_linear_norm_fini(struct cuda_linear_norm *norm);

#endif
