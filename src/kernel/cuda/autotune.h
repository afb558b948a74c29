/* autotune.h: kernels with several ways to do the same, timed before anything is measured. */
#ifndef ASSAY_KERNEL_CUDA_AUTOTUNE_H
#define ASSAY_KERNEL_CUDA_AUTOTUNE_H

#include "device/cuda/cuda.h"
#include <assay/assay_kernel.h>

enum { CUDA_CANDIDATES = 8 };

/* Did the user ask for it (--autotune)? */
bool assay_cuda_wants_tuning(void);

struct cuda_tuning {
    int n; /* candidates, at most CUDA_CANDIDATES */
    /* Has `run` use candidate i from now on. */
    enum assay_status (*choose)(void *state, int i, struct assay_error *err);
    /* Enqueues what is timed. A candidate whose first run fails is passed over. */
    enum assay_status (*run)(void *state, const struct assay_args *args, void *stream);
};

/* Times the candidates on these operands, in a stream of its own, and chooses the fastest. */
enum assay_status assay_cuda_tune(const struct cuda_tuning *tuning, void *state,
                                  const struct assay_args *args, struct assay_error *err);

#endif
