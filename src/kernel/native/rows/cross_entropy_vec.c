/* cross_entropy_vec.c: of each row log(sum(exp(x - max))) + max minus the target's x. Rows are
 * summed in float lanes, everything after that in double. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/rows/rowexp.h"

VEC_INLINE double cross_entropy(enum native_kind kind, bool stream, const struct native_job *job,
                                const struct assay_args *args, int64_t begin, int64_t end)
{
    (void)stream; /* nothing is written but one number */
    const void *x = args->in[0];
    const int32_t *target = args->in[1];
    double loss = 0;
    for (int64_t r = begin; r < end; r++) {
        struct rowexp_total total = rowexp_total(kind, x, r * job->dim, job->dim);
        vec chosen = vec_load_part(kind, x, r * job->dim + target[r], 1);
        loss += log(total.sum) + (double)total.max - (double)vec_sum(chosen);
    }
    return loss;
}

#define NATIVE_OP cross_entropy
NATIVE_KERNEL(cross_entropy, NATIVE_ROWS, true);
