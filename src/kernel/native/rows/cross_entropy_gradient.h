/* cross_entropy_gradient.h: (exp(x - logsum) - onehot(class)) scale over a row, for the gradient of
 * cross_entropy with and without its loss. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_CROSS_ENTROPY_GRADIENT_H
#define ASSAY_KERNEL_NATIVE_CROSS_ENTROPY_GRADIENT_H

#include "kernel/native/vec/vec_math.h"

/* Beyond 89 it is infinity: x is then greater than what is said to be the logarithm of a sum over
 * it. */
VEC_INLINE vec centropy_of(vec x, vec logsum, vec scale)
{
    x = vec_min(vec_set(89.0f), vec_max(vec_set(-105.0f), vec_sub(x, logsum)));
    return vec_mul(vec_exp_core(x, 1), scale);
}

/* A 1 among zeros, in any kind: loaded from so many elements before the 1, it is a unit vector. */
struct centropy_unit {
    float values[4 * VEC_LANES];
};

VEC_INLINE void centropy_unit(enum native_kind kind, struct centropy_unit *unit)
{
    for (int i = 0; i < 4 * VEC_LANES; i++)
        vec_store_part(kind, unit, i, vec_set(i == 2 * VEC_LANES ? 1.0f : 0.0f), 1);
}

struct centropy_row {
    vec logsum, scale;
    int64_t target;
    const struct centropy_unit *unit;
};

VEC_INLINE vec centropy_part(enum native_kind kind, const struct centropy_row *row, const void *x,
                             int64_t at, int64_t i, int64_t n)
{
    vec y = centropy_of(vec_load_part(kind, x, at + i, n), row->logsum, row->scale);
    int64_t lane = row->target - i;
    if (lane >= 0 && lane < n)
        y = vec_fnma(vec_load_part(kind, row->unit, 2 * VEC_LANES - lane, n), row->scale, y);
    return y;
}

/* Elements [from, to) of the row at `at`, in parts of a vector. */
VEC_INLINE void centropy_parts(enum native_kind kind, const struct centropy_row *row, const void *x,
                               void *out, int64_t at, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i += VEC_LANES) {
        int64_t n = to - i < VEC_LANES ? to - i : VEC_LANES;
        vec_store_part(kind, out, at + i, centropy_part(kind, row, x, at, i, n), n);
    }
}

/* Prefetches `ahead` bytes on. */
VEC_INLINE void centropy_row(enum native_kind kind, bool stream, const struct centropy_row *row,
                             const void *x, void *out, int64_t at, int64_t dim, int64_t ahead)
{
    int64_t i = stream ? native_head(kind, at, dim) : 0;
    centropy_parts(kind, row, x, out, at, 0, i);
    for (; i + 2 * VEC_LANES <= dim; i += 2 * VEC_LANES) {
        vec_prefetch_far(kind, x, at + i, ahead);
        vec_prefetch_near(kind, x, at + i);
        struct vec_pair p = vec_load_pair(kind, x, at + i);
        p.a = centropy_of(p.a, row->logsum, row->scale);
        p.b = centropy_of(p.b, row->logsum, row->scale);
        int64_t lane = row->target - i;
        if (lane >= 0 && lane < 2 * VEC_LANES) {
            struct vec_pair unit = vec_load_pair(kind, row->unit, 2 * VEC_LANES - lane);
            p.a = vec_fnma(unit.a, row->scale, p.a);
            p.b = vec_fnma(unit.b, row->scale, p.b);
        }
        vec_store_pair(kind, stream, out, at + i, p);
    }
    centropy_parts(kind, row, x, out, at, i, dim);
}

#endif
