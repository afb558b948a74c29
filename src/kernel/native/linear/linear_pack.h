/* linear_pack.h: rows of x made ready for the tiles of `linear`: quantised where the recipe says
 * so, then laid out so that a tile reads them front to back.
 *
 * R rows that a tile takes at once lie as [k / 16][R][16] floats, filled up with zeros: going along
 * k, the elements a tile needs next to each other in time are next to each other in memory, at
 * distances that are constants. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_PACK_H
#define ASSAY_KERNEL_NATIVE_LINEAR_PACK_H

#include "kernel/native/linear/linear_quantise.h"
#include "kernel/native/linear/linear_rows.h"

/* struct linear_body.amax */
static float linear_amax(const struct linear_call *call, int64_t row, int64_t row_end,
                         void *scratch)
{
    enum assay_dtype dtype = call->job->dtype;
    int64_t k = call->job->k;
    if (call->job->norm == ASSAY_LINEAR_NO_NORM)
        return pack_amax(dtype, call->x, row * k, (row_end - row) * k);
    float greatest = 0;
    for (; row < row_end && !isnan(greatest); row++) {
        const void *x = linear_x_row(linear_kind_of(dtype), call, row, scratch);
        float own = pack_amax(dtype, x, 0, k);
        greatest = own <= greatest ? greatest : own;
    }
    return greatest;
}

/* The scale of a row of x; 1 where activations stay as they are. */
static float pack_scale(const struct linear_call *call, const void *x)
{
    const struct linear_job *job = call->job;
    if (job->recipe.activation == ASSAY_DTYPE_NONE)
        return 1;
    if (job->recipe.activation_scope == ASSAY_SCOPE_TENSOR)
        return call->x_scale;
    return assay_quant_scale(job->recipe.activation, pack_amax(job->dtype, x, 0, job->k));
}

VEC_INLINE vec pack_load(bool s8, enum native_kind kind, const void *x, int64_t at, int64_t n)
{
    if (s8)
        return n > 0 ? vec_load_s8((const int8_t *)x + at, n) : vec_set(0);
    return n >= VEC_LANES ? vec_load(kind, x, at)
           : n > 0        ? vec_load_part(kind, x, at, n)
                          : vec_set(0);
}

/* One row: 16 elements from every 16 * rows of `to`. */
VEC_INLINE void pack_row(bool s8, enum native_kind kind, enum assay_dtype code, const void *x,
                         int64_t k, float scale, int64_t rows, float *to)
{
    vec inverse = vec_set(1.0f / scale);
    int64_t i = 0;
    for (; i + 16 <= k; i += 16, to += 16 * rows)
        for (int j = 0; j < 16; j += VEC_LANES) {
            vec a = pack_load(s8, kind, x, i + j, VEC_LANES);
            vec_store(NATIVE_F32, to, j, pack_code(code, a, inverse));
        }
    for (int j = 0; i < k && j < 16; j += VEC_LANES) {
        vec a = pack_load(s8, kind, x, i + j, k - i - j);
        vec_store(NATIVE_F32, to, j, pack_code(code, a, inverse));
    }
}

/* One row in f32. */
#ifdef LINEAR_STREAM
#define PACK_CODES(s8, kind)                                                                       \
    (code == ASSAY_DTYPE_S8     ? pack_row(s8, kind, ASSAY_DTYPE_S8, x, k, scale, rows, to)        \
     : code == ASSAY_DTYPE_E4M3 ? pack_row(s8, kind, ASSAY_DTYPE_E4M3, x, k, scale, rows, to)      \
                                : pack_row(s8, kind, ASSAY_DTYPE_NONE, x, k, scale, rows, to))

static void pack_f32_row(const struct linear_job *job, const void *x, float scale, int64_t rows,
                         float *to)
{
    enum assay_dtype code = job->recipe.activation;
    enum native_kind kind = linear_kind_of(job->dtype);
    int64_t k = job->k;
    if (job->dtype == ASSAY_DTYPE_S8)
        pack_row(true, NATIVE_F32, ASSAY_DTYPE_NONE, x, k, scale, rows, to);
    else if (kind == NATIVE_BF16)
        PACK_CODES(false, NATIVE_BF16);
    else if (kind == NATIVE_F16)
        PACK_CODES(false, NATIVE_F16);
    else
        PACK_CODES(false, NATIVE_F32);
}

#endif

#endif
