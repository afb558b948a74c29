/* linear_finish.h: from a tile's sums to y: scales, bias, activation, rounding.
 *
 * A tile is [rows][panels][16] sums, f32 or s32. */
#ifndef ASSAY_KERNEL_CPU_LINEAR_FINISH_H
#define ASSAY_KERNEL_CPU_LINEAR_FINISH_H

#include "kernel/cpu/linear_code.h"
#include "kernel/cpu/vec_math.h"

struct finish_tile {
    int64_t row, rows, panel, panels;
    const void *sums;
    bool integers;
    const float *x_scales; /* of its rows; NULL without */
};

VEC_INLINE vec finish_activation(enum assay_linear_activation activation, vec a)
{
    switch (activation) {
    case ASSAY_LINEAR_SIGMOID:
        return elt_sigmoid(a, a, a);
    case ASSAY_LINEAR_RELU:
        return elt_relu(a, a, a);
    case ASSAY_LINEAR_LEAKYRELU:
        return elt_leakyrelu(a, a, vec_set(0.01f));
    case ASSAY_LINEAR_RELU6:
        return elt_relu6(a, a, a);
    case ASSAY_LINEAR_GELU:
        return elt_gelu(a, a, a);
    case ASSAY_LINEAR_SILU:
        return elt_silu(a, a, a);
    case ASSAY_LINEAR_HARDSWISH:
        return elt_hardswish(a, a, a);
    default:
        return a;
    }
}

/* `width` sums, at most 16, of row `row` from column `column` on. */
VEC_INLINE void finish_piece(enum native_kind kind, const struct linear_call *call, bool integers,
                             const void *sums, float x_scale, int64_t row, int64_t column,
                             int64_t width)
{
    const struct linear_job *job = call->job;
    for (int64_t j = 0; j < width; j += VEC_LANES) {
        int64_t n = width - j < VEC_LANES ? width - j : VEC_LANES, at = row * job->n + column + j;
        vec a = integers ? vec_load_s32((const int32_t *)sums + j) : vec_load(NATIVE_F32, sums, j);
        if (x_scale != 1) /* NaN too */
            a = vec_mul(a, vec_set(x_scale));
        if (call->w->row_scales) /* whole panels of them */
            a = vec_mul(a, vec_load(NATIVE_F32, call->w->row_scales, column + j));
        if (call->bias)
            a = vec_add(a, vec_load_part(kind, call->bias, column + j, n));
        a = finish_activation(job->activation, a);
        if (n == VEC_LANES)
            vec_store(kind, call->y, at, a);
        else
            vec_store_part(kind, call->y, at, a, n);
    }
}

VEC_INLINE void finish_kind(enum native_kind kind, const struct linear_call *call,
                            const struct finish_tile *t)
{
    const struct linear_job *job = call->job;
    const float *sums = t->sums; /* or as many s32 */
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t p = 0; p < t->panels; p++, sums += 16) {
            int64_t column = (t->panel + p) * 16;
            int64_t width = job->n - column < 16 ? job->n - column : 16;
            if (job->dtype == ASSAY_DTYPE_S8)
                memcpy((int32_t *)call->y + (t->row + r) * job->n + column, sums,
                       (size_t)width * sizeof(int32_t));
            else
                finish_piece(kind, call, t->integers, sums, t->x_scales ? t->x_scales[r] : 1,
                             t->row + r, column, width);
        }
}

static void linear_finish(const struct linear_call *call, const struct finish_tile *tile)
{
    enum native_kind kind = linear_kind_of(call->job->dtype);
    if (kind == NATIVE_BF16)
        finish_kind(NATIVE_BF16, call, tile);
    else if (kind == NATIVE_F16)
        finish_kind(NATIVE_F16, call, tile);
    else
        finish_kind(NATIVE_F32, call, tile);
}

#endif
