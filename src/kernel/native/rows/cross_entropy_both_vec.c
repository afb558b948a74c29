/* cross_entropy_both_vec.c: the loss and its gradient: the row's maximum and sum, then its outputs,
 * which find it in the cache. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/rows/cross_entropy_gradient.h"
#include "kernel/native/rows/rowexp.h"

#include <math.h>

VEC_INLINE double cross_entropy_both(enum native_kind kind, bool stream,
                                     const struct native_job *job, const struct assay_args *args,
                                     int64_t begin, int64_t end)
{
    const void *x = args->in[0];
    const int32_t *classes = args->in[1];
    int64_t dim = job->dim, ahead = dim * (kind == NATIVE_F32 ? 4 : 2);
    double loss = 0;
    struct centropy_unit unit;
    centropy_unit(kind, &unit);
    struct centropy_row row = {.scale = vec_set((float)(1 / (double)job->rows)), .unit = &unit};
    for (int64_t r = begin; r < end; r++) {
        struct rowexp_total total = rowexp_total(kind, x, r * dim, dim);
        double logsum = log(total.sum) + (double)total.max;
        vec chosen = vec_load_part(kind, x, r * dim + classes[r], 1);
        loss += logsum - (double)vec_sum(chosen);
        row.logsum = vec_set((float)logsum);
        row.target = classes[r];
        centropy_row(kind, stream, &row, x, args->out[1], r * dim, dim, ahead);
    }
    if (stream)
        vec_stream_end();
    return loss;
}

#define NATIVE_OP cross_entropy_both
NATIVE_KERNEL(cross_entropy_both, NATIVE_ROWS, true);
