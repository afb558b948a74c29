/* onednn_attention.h: attention as oneDNN's users write it, for attention_onednn and
 * attention_onednn_avx512. */
#ifndef ASSAY_KERNEL_ONEDNN_ATTENTION_H
#define ASSAY_KERNEL_ONEDNN_ATTENTION_H

#include "kernel/onednn/onednn_isa.h"

/* Without a problem: is there the library at all? */
enum assay_status assay_onednn_attention_can_run(const struct assay_problem *problem,
                                                 struct assay_error *why);
enum assay_status assay_onednn_attention_can_run_avx512(const struct assay_problem *problem,
                                                        struct assay_error *why);
enum assay_status assay_onednn_attention_setup(const struct assay_problem *problem, void **state,
                                               struct assay_error *err);
enum assay_status assay_onednn_attention_setup_avx512(const struct assay_problem *problem,
                                                      void **state, struct assay_error *err);
enum assay_status assay_onednn_attention_run(void *state, const struct assay_work *work);
void assay_onednn_attention_teardown(void *state);

/* Defines the kernel assay_kernel_IDENT; `suffix` is _avx512 or nothing. */
#define ASSAY_ONEDNN_ATTENTION_KERNEL(ident, suffix, dtypes_, preference_)                         \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {                                             \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "attention",                                                                         \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = preference_,                                                                 \
        .can_run = assay_onednn_attention_can_run##suffix,                                         \
        .setup = assay_onednn_attention_setup##suffix,                                             \
        .run = assay_onednn_attention_run,                                                         \
        .teardown = assay_onednn_attention_teardown,                                               \
        .note = assay_onednn_isa_note##suffix,                                                     \
    }

#endif
