/* onednn_weights.h: oneDNN's primitives of ops with weights: `linear` as its matmul, conv2d as its
 * convolution. The library chooses the layout of the weights.
 *
 * An op's file (linear_onednn.c, conv2d_onednn.c) describes the operation; each op has two
 * kernels: OP_onednn, with all that the library has for this CPU, and OP_onednn_avx512 without AMX,
 * for machines where the library dies of it. */
#ifndef ASSAY_KERNEL_ONEDNN_WEIGHTS_H
#define ASSAY_KERNEL_ONEDNN_WEIGHTS_H

#include "kernel/onednn/onednn_isa.h"

/* The operation. x is input 0, W input 1. */
struct assay_onednn_layout {
    struct assay_dnnl_memory_desc x, stored, bias_desc, y; /* stored: W as the op has it */
    struct assay_dnnl_op_desc operation;
    int32_t bias, residual; /* inputs; -1 (as it comes): there is none */
    int eltwise; /* ASSAY_DNNL_ELTWISE_…, with its alpha; 0: none. Not with a residual */
    float alpha;
};
/* Fills *out; returns the library's status. */
typedef int assay_onednn_describe_fn(const struct assay_dnnl_api *dnnl,
                                     const struct assay_problem *problem,
                                     struct assay_onednn_layout *out);

enum assay_status assay_onednn_weights_setup(const struct assay_problem *problem,
                                             assay_onednn_describe_fn *describe, void **state,
                                             struct assay_error *err);
/* The same without AMX. */
enum assay_status assay_onednn_weights_setup_avx512(const struct assay_problem *problem,
                                                    assay_onednn_describe_fn *describe,
                                                    void **state, struct assay_error *err);

enum assay_status assay_onednn_weights_prepare(void *state, int64_t set,
                                               const struct assay_args *args,
                                               struct assay_error *err);
size_t assay_onednn_weights_prepared_bytes(void *state);
enum assay_status assay_onednn_weights_run(void *state, const struct assay_work *work);
void assay_onednn_weights_teardown(void *state);

/* Defines the kernel assay_kernel_IDENT of op `op_`; `suffix` is _avx512 or nothing. `accepts` is
 * asked after the library (NULL-safe, as can_run). 2.x computes in f16 on no CPU, so f16 is never
 * among the dtypes. */
#define ASSAY_ONEDNN_WEIGHTS_KERNEL(ident, op_, suffix, dtypes_, preference_, accepts, describe)   \
    static enum assay_status can_run##suffix(const struct assay_problem *problem,                  \
                                             struct assay_error *why)                              \
    {                                                                                              \
        enum assay_status status = accepts(problem, why);                                          \
        return status == ASSAY_OK ? assay_onednn_isa_can_run##suffix(problem, why) : status;       \
    }                                                                                              \
    static enum assay_status setup##suffix(const struct assay_problem *problem, void **state,      \
                                           struct assay_error *err)                                \
    {                                                                                              \
        return assay_onednn_weights_setup##suffix(problem, describe, state, err);                  \
    }                                                                                              \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {                                             \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = op_,                                                                                 \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = preference_,                                                                 \
        .can_run = can_run##suffix,                                                                \
        .setup = setup##suffix,                                                                    \
        .run = assay_onednn_weights_run,                                                           \
        .teardown = assay_onednn_weights_teardown,                                                 \
        .prepare = assay_onednn_weights_prepare,                                                   \
        .prepared_bytes = assay_onednn_weights_prepared_bytes,                                     \
        .note = assay_onednn_isa_note##suffix,                                                     \
    }

#endif
