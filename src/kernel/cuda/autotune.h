/* autotune.h: the fastest of a kernel's candidates (tiles, algorithms), found before anything is
 * measured, where the user wants it (assay_host_autotunes). */
#ifndef ASSAY_KERNEL_CUDA_AUTOTUNE_H
#define ASSAY_KERNEL_CUDA_AUTOTUNE_H

#include "kernel/cuda/cuda_op.h"
#include "kernel/host.h"

enum { CUDA_CANDIDATES = 8 };

struct cuda_tuning {
    int n; /* candidates, at most CUDA_CANDIDATES */
    /* Has `call` use candidate i from now on. */
    enum assay_status (*choose)(void *state, int i, struct assay_error *err);
    cuda_call_fn *call; /* what is timed; a candidate whose first call fails is skipped */
};

/* Times the candidates on the operands of set 0, whose output they write, in its own stream, and
 * chooses the fastest. */
enum assay_status assay_cuda_tune(const struct cuda_tuning *tuning, void *state,
                                  const struct assay_args *args, struct assay_error *err);

#endif
