/* cross_entropy_backward_vec.c: from the logarithm of each row's sum of exponentials, in one pass.
 */
#include "kernel/native/vec/vec.h"

#include "kernel/native/rows/cross_entropy_gradient.h"

enum { CENTROPY_AHEAD = 2048 };

VEC_INLINE double cross_entropy_backward(enum native_kind kind, bool stream,
                                         const struct native_job *job,
                                         const struct assay_args *args, int64_t begin, int64_t end)
{
    const float *g = args->in[0], *logsums = args->in[3];
    const int32_t *classes = args->in[2];
    struct centropy_unit unit;
    centropy_unit(kind, &unit);
    struct centropy_row row = {.scale = vec_set((float)((double)g[0] / (double)job->rows)),
                               .unit = &unit};
    for (int64_t r = begin; r < end; r++) {
        row.logsum = vec_set(logsums[r]);
        row.target = classes[r];
        centropy_row(kind, stream, &row, args->in[1], args->out[0], r * job->dim, job->dim,
                     CENTROPY_AHEAD);
    }
    if (stream)
        vec_stream_end();
    return 0;
}

#define NATIVE_OP cross_entropy_backward
NATIVE_KERNEL(cross_entropy_backward, NATIVE_ROWS, false);
