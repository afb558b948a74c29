/* linear_epilogue.h: from a tile's sums to y: scales, bias, activation, residual, rounding.
 *
 * A tile is [rows][panels][16] sums, f32 or s32. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_EPILOGUE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_EPILOGUE_H

#include "kernel/native/linear/linear_activation.h"
#include "kernel/native/linear/linear_code.h"

struct epilogue_tile {
    int64_t row, rows, panel, panels;
    const void *sums;
    bool integers;
    const float *x_scales; /* of its rows; NULL without */
};

/* `n` columns, at most VEC_LANES, of all rows: from lane `lane` of panel p on. */
VEC_INLINE void epilogue_columns(enum native_kind kind, const struct linear_call *call,
                                 const struct epilogue_tile *t, int64_t p, int lane, int64_t n)
{
    const struct linear_job *job = call->job;
    const float *scales = call->w->row_scales; /* whole panels of them */
    int64_t column = (t->panel + p) * 16 + lane, at = p * 16 + lane;
    vec scale = vec_set(1), bias = vec_set(0);
    if (scales)
        scale = vec_load(NATIVE_F32, scales, column);
    if (call->bias)
        bias = vec_load_part(kind, call->bias, column, n);
    for (int64_t r = 0; r < t->rows; r++, at += t->panels * 16) {
        int64_t to = (t->row + r) * job->n + column;
        vec a = t->integers ? vec_load_s32((const int32_t *)t->sums + at)
                            : vec_load(NATIVE_F32, t->sums, at);
        if (t->x_scales)
            a = vec_mul(a, vec_set(t->x_scales[r]));
        if (scales)
            a = vec_mul(a, scale);
        if (call->bias)
            a = vec_add(a, bias);
        if (job->activation != ASSAY_LINEAR_NONE)
            a = linear_activate(job->activation, a);
        if (call->residual)
            a = vec_add(a, n == VEC_LANES ? vec_load(kind, call->residual, to)
                                          : vec_load_part(kind, call->residual, to, n));
        if (n == VEC_LANES)
            vec_store(kind, call->y, to, a);
        else
            vec_store_part(kind, call->y, to, a, n);
    }
}

/* All columns of a tile, row by row, where nothing comes behind the sums but perhaps a bias and a
 * residual: short sums are not to wait for long code. */
VEC_INLINE void epilogue_sums(enum native_kind kind, const struct linear_call *call,
                              const struct epilogue_tile *t)
{
    const float *sums = t->sums;
    int64_t column = t->panel * 16, width = t->panels * 16;
    for (int64_t r = 0; r < t->rows; r++, sums += width) {
        int64_t to = (t->row + r) * call->job->n + column;
        for (int64_t i = 0; i < width; i += VEC_LANES) {
            vec a = vec_load(NATIVE_F32, sums, i);
            if (call->bias)
                a = vec_add(a, vec_load(kind, call->bias, column + i));
            if (call->residual)
                a = vec_add(a, vec_load(kind, call->residual, to + i));
            vec_store(kind, call->y, to + i, a);
        }
    }
}

VEC_INLINE bool epilogue_is_plain(const struct linear_call *call, const struct epilogue_tile *t)
{
    return !t->integers && !t->x_scales && !call->w->row_scales &&
           call->job->activation == ASSAY_LINEAR_NONE &&
           (t->panel + t->panels) * 16 <= call->job->n;
}

VEC_INLINE void epilogue_kind(enum native_kind kind, const struct linear_call *call,
                              const struct epilogue_tile *t)
{
    if (epilogue_is_plain(call, t)) {
        epilogue_sums(kind, call, t);
        return;
    }
    for (int64_t p = 0; p < t->panels; p++) {
        int64_t left = call->job->n - (t->panel + p) * 16, width = left < 16 ? left : 16;
        for (int lane = 0; lane < width; lane += VEC_LANES)
            epilogue_columns(kind, call, t, p, lane,
                             width - lane < VEC_LANES ? width - lane : VEC_LANES);
    }
}

/* Sums of integers are the output. */
static void epilogue_s32(const struct linear_call *call, const struct epilogue_tile *t)
{
    const int32_t *sums = t->sums;
    int64_t n = call->job->n, column = t->panel * 16;
    int64_t width = n - column < t->panels * 16 ? n - column : t->panels * 16;
    int32_t *to = (int32_t *)call->y + t->row * n + column;
    for (int64_t r = 0; r < t->rows; r++, to += n, sums += t->panels * 16) {
        if (width == 32)
            memcpy(to, sums, 32 * sizeof *to);
        else
            memcpy(to, sums, (size_t)width * sizeof *to);
    }
}

static void linear_epilogue(const struct linear_call *call, const struct epilogue_tile *tile)
{
    enum native_kind kind = linear_kind_of(linear_y_dtype(call->job));
    if (call->job->dtype == ASSAY_DTYPE_S8)
        epilogue_s32(call, tile);
    else if (kind == NATIVE_BF16)
        epilogue_kind(NATIVE_BF16, call, tile);
    else if (kind == NATIVE_F16)
        epilogue_kind(NATIVE_F16, call, tile);
    else
        epilogue_kind(NATIVE_F32, call, tile);
}

#endif
