/* onednn_matmul.h: `linear` as oneDNN's matmul, for linear_onednn and linear_onednn_avx512. */
#ifndef ASSAY_KERNEL_ONEDNN_MATMUL_H
#define ASSAY_KERNEL_ONEDNN_MATMUL_H

#include "kernel/onednn/onednn_weights.h"

/* Is the library there, and is this a problem it has a primitive for? `problem` may be NULL. */
enum assay_status assay_onednn_matmul_accepts(const struct assay_problem *problem,
                                              struct assay_error *why);
assay_onednn_describe_fn assay_onednn_matmul_describe;

#endif
