/* onednn_matmul.h: `linear` as oneDNN's matmul, with its weights in the layout the library chose.
 * Two kernels use it: linear_onednn and linear_onednn_avx512, which leaves AMX out. */
#ifndef ASSAY_KERNEL_CPU_ONEDNN_MATMUL_H
#define ASSAY_KERNEL_CPU_ONEDNN_MATMUL_H

#include <assay/assay_kernel.h>

enum assay_status assay_onednn_matmul_can_run(const struct assay_problem *problem,
                                              struct assay_error *why);
enum assay_status assay_onednn_matmul_setup(const struct assay_problem *problem, void **state,
                                            struct assay_error *err);
void assay_onednn_matmul_note(const struct assay_problem *problem, char *text, size_t size);

/* The same without AMX. */
enum assay_status assay_onednn_matmul_can_run_avx512(const struct assay_problem *problem,
                                                     struct assay_error *why);
enum assay_status assay_onednn_matmul_setup_avx512(const struct assay_problem *problem,
                                                   void **state, struct assay_error *err);
void assay_onednn_matmul_note_avx512(const struct assay_problem *problem, char *text, size_t size);

enum assay_status assay_onednn_matmul_prepare(void *state, int64_t set,
                                              const struct assay_args *args,
                                              struct assay_error *err);
size_t assay_onednn_matmul_prepared_bytes(void *state);
enum assay_status assay_onednn_matmul_run(void *state, const struct assay_work *work);
void assay_onednn_matmul_teardown(void *state);

/* 2.x computes in f16 on no CPU, so f16 is not among the dtypes. */
#define ASSAY_ONEDNN_MATMUL_KERNEL(ident, suffix, dtypes_, preference_)                            \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {                                             \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "linear",                                                                            \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = preference_,                                                                 \
        .can_run = assay_onednn_matmul_can_run##suffix,                                            \
        .setup = assay_onednn_matmul_setup##suffix,                                                \
        .run = assay_onednn_matmul_run,                                                            \
        .teardown = assay_onednn_matmul_teardown,                                                  \
        .prepare = assay_onednn_matmul_prepare,                                                    \
        .prepared_bytes = assay_onednn_matmul_prepared_bytes,                                      \
        .note = assay_onednn_matmul_note##suffix,                                                  \
    }

#endif
