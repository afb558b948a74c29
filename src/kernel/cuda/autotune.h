/* autotune.h: kernels with several ways to do the same, timed before anything is measured,
 * where the user asked for it (assay_host_autotunes). */
#ifndef ASSAY_KERNEL_CUDA_AUTOTUNE_H
#define ASSAY_KERNEL_CUDA_AUTOTUNE_H

#include "device/cuda/cuda.h"
#include "kernel/host.h"

enum { CUDA_CANDIDATES = 8 };

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
