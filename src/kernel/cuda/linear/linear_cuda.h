/* linear_cuda.h: what the kernels of `linear` on the GPU share: the problem as they read it, and
 * what x needs before it is multiplied. */
#ifndef ASSAY_KERNEL_CUDA_LINEAR_CUDA_H
#define ASSAY_KERNEL_CUDA_LINEAR_CUDA_H

#include "kernel/cuda/cuda_op.h"
#include "kernel/cuda/linear/activations_cuda.h"
#include "kernel/cuda/linear/linear_norm_cuda.h"
#include "kernel/cuda/linear/linear_weights_cuda.h"
#include "op/linear.h"

struct cuda_linear {
    int64_t m, k, n;
    enum assay_dtype dtype;
    struct assay_recipe recipe;
    int32_t bits;        /* of a stored weight */
    int32_t group_shift; /* log2 of the recipe's group; 0 without groups */
    bool quantises;      /* x, at run time */
    enum assay_linear_activation activation;
    int norm;                                       /* enum assay_linear_norm */
    int32_t bias_input, norm_input, residual_input; /* -1: none */
    int32_t threads;
};

enum assay_status assay_cuda_linear_read(const struct assay_problem *problem,
                                         struct cuda_linear *out, struct assay_error *err);
/* For can_run: the problem's recipe, if it can store weights with rows of k elements. */
enum assay_status assay_cuda_linear_recipe(const struct assay_problem *problem,
                                           struct assay_recipe *out, struct assay_error *why);

/* Enqueues what comes before the product: x is quantised, or else its norm is done. */
enum assay_status assay_cuda_linear_ready(const struct cuda_linear *p,
                                          const struct cuda_activations *activations,
                                          const struct cuda_linear_norm *norm,
                                          const struct assay_args *args, void *stream);

/* Stores W of a set as the recipe says. */
enum assay_status assay_cuda_linear_store(const struct cuda_linear *p,
                                          struct cuda_weight_sets *sets, int64_t set,
                                          const struct assay_args *args, struct assay_error *err);

#endif
