/* linear_cast.h: operands of a training step's products on their way to them: struct
 * linear_product_body in linear_product.h. Include a vec_*.h and a linear_line_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_CAST_H
#define ASSAY_KERNEL_NATIVE_LINEAR_CAST_H

#include "kernel/native/linear/linear_amax.h"
#include "kernel/native/linear/linear_backward_pack.h"
#include "kernel/native/linear/linear_product.h"

static void cast_row_amax(const struct linear_matrix *from, int64_t row, int64_t row_end,
                          float *amax)
{
    for (; row < row_end; row++)
        amax[row] = pack_amax(from->dtype, from->data, row * from->columns, from->columns);
}

/* ---- codes ------------------------------------------------------------------------------------
 */

/* n elements from `from` on as the values of their codes, `each` with a scale of its own. */
VEC_INLINE void cast_run(enum native_kind kind, enum native_kind to_kind, enum assay_dtype code,
                         const void *from, int64_t n, const float *inverses, bool each, void *to)
{
    vec inverse = vec_set(inverses[0]);
    int64_t i = 0;
    for (; i + VEC_LANES <= n; i += VEC_LANES) {
        if (each)
            inverse = vec_load(NATIVE_F32, inverses, i);
        vec_store(to_kind, to, i, pack_code(code, vec_load(kind, from, i), inverse));
    }
    if (i < n) {
        if (each)
            inverse = vec_load(NATIVE_F32, inverses, i);
        vec_store_part(to_kind, to, i,
                       pack_code(code, vec_load_part(kind, from, i, n - i), inverse), n - i);
    }
}

typedef void cast_fn(const void *from, int64_t n, const float *inverses, bool each, void *to);

#define CAST(name, kind, to_kind, code)                                                            \
    static void name(const void *from, int64_t n, const float *inverses, bool each, void *to)      \
    {                                                                                              \
        cast_run(NATIVE_##kind, NATIVE_##to_kind, ASSAY_DTYPE_##code, from, n, inverses, each,     \
                 to);                                                                              \
    }
#define CASTS(kind, to_kind)                                                                       \
    CAST(cast_##kind##_##to_kind##_e4m3, kind, to_kind, E4M3)                                      \
    CAST(cast_##kind##_##to_kind##_e5m2, kind, to_kind, E5M2)
CASTS(F32, F32)
CASTS(F32, BF16)
CASTS(F16, F16)
CASTS(F16, BF16)
CASTS(BF16, BF16)

#define CAST_OF(kind, to_kind)                                                                     \
    (code == ASSAY_DTYPE_E4M3 ? cast_##kind##_##to_kind##_e4m3 : cast_##kind##_##to_kind##_e5m2)

/* For codes in the operand's own type or in bf16. */
static cast_fn *cast_of(enum assay_dtype from, enum assay_dtype to, enum assay_dtype code)
{
    if (from == ASSAY_DTYPE_BF16)
        return CAST_OF(BF16, BF16);
    if (from == ASSAY_DTYPE_F16)
        return to == ASSAY_DTYPE_BF16 ? CAST_OF(F16, BF16) : CAST_OF(F16, F16);
    return to == ASSAY_DTYPE_BF16 ? CAST_OF(F32, BF16) : CAST_OF(F32, F32);
}

static const char *cast_at(const struct linear_matrix *from, int64_t row, int64_t column)
{
    return (const char *)from->data +
           (size_t)(row * from->columns + column) * assay_dtype_bytes(from->dtype);
}

static void cast_rows(const struct linear_matrix *from, const struct linear_cast *cast, int64_t row,
                      int64_t row_end, void *to)
{
    cast_fn *fn = cast_of(from->dtype, cast->to, cast->code);
    size_t bytes = assay_dtype_bytes(cast->to);
    for (; row < row_end; row++)
        fn(cast_at(from, row, 0), from->columns, cast->inverses + (cast->columns ? 0 : row),
           cast->columns, (char *)to + (size_t)(row * from->columns) * bytes);
}

/* ---- panels -----------------------------------------------------------------------------------
 */

/* 16 elements of a row from `column` on, cast; zeros where there are none. */
VEC_INLINE void cast_piece(cast_fn *fn, const struct linear_matrix *from,
                           const struct linear_cast *cast, int64_t row, int64_t column, void *to)
{
    uint32_t buffer[COLUMNS];
    fn(columns_piece(from, assay_dtype_bytes(from->dtype), row, column, buffer), COLUMNS,
       cast->inverses + column, true, to);
}

static void cast_lines(cast_fn *fn, const struct linear_matrix *from,
                       const struct linear_cast *cast, int64_t row, int64_t column,
                       uint32_t *restrict to)
{
    uint16_t one[COLUMNS], other[COLUMNS];
    bool halves = cast->to != ASSAY_DTYPE_F32;
    for (int l = 0; l < 16; l++, to += COLUMNS) {
        if (!halves) {
            cast_piece(fn, from, cast, row + l, column, to);
            continue;
        }
        cast_piece(fn, from, cast, row + 2 * l, column, one);
        cast_piece(fn, from, cast, row + 2 * l + 1, column, other);
        columns_pairs(one, other, to);
    }
}

static uint32_t *panel_lines(const struct assay_packed *to, int64_t panel, int64_t first)
{
    size_t at = (size_t)panel * assay_packed_panel_bytes(to) + (size_t)first * ASSAY_LINE_BYTES;
    return (uint32_t *)(void *)(to->codes + at);
}

static void pack_columns(const struct linear_matrix *from, const struct linear_cast *cast,
                         const struct assay_packed *to, int64_t panel, int64_t panel_end)
{
    if (cast->code == ASSAY_DTYPE_NONE) {
        pack_panels(from, to, panel, panel_end);
        return;
    }
    cast_fn *fn = cast_of(from->dtype, cast->to, cast->code);
    for (int64_t l = 0; l < to->lines; l += 16)
        for (int64_t p = panel; p < panel_end; p++)
            cast_lines(fn, from, cast, l * to->codes_in_dword, p * COLUMNS, panel_lines(to, p, l));
}

/* 64 bytes of a row from `column` on, cast where it is; zeros where there are no elements. */
static void row_piece(cast_fn *fn, const struct linear_matrix *from, const struct linear_cast *cast,
                      int64_t row, int64_t column, void *to)
{
    size_t bytes = assay_dtype_bytes(cast->to);
    int64_t n = row < from->rows ? from->columns - column : 0, all = (int64_t)(64 / bytes);
    n = n < all ? n : all;
    if (n < all)
        memset(to, 0, 64);
    if (n > 0 && fn)
        fn(cast_at(from, row, column), n, cast->inverses + row, false, to);
    else if (n > 0)
        memcpy(to, cast_at(from, row, column), (size_t)n * bytes);
}

/* A dword of a line is what lies side by side in a row: 16 rows are turned. */
static void pack_rows(const struct linear_matrix *from, const struct linear_cast *cast,
                      const struct assay_packed *to, int64_t panel, int64_t panel_end)
{
    bool casts = cast->code != ASSAY_DTYPE_NONE;
    cast_fn *fn = casts ? cast_of(from->dtype, cast->to, cast->code) : NULL;
    for (int64_t p = panel; p < panel_end; p++)
        for (int64_t l = 0; l < to->lines; l += 16) {
            float rows[16 * 16];
            for (int r = 0; r < 16; r++)
                row_piece(fn, from, cast, p * 16 + r, l * to->codes_in_dword, rows + r * 16);
            columns_turn(rows, (float *)(void *)panel_lines(to, p, l));
        }
}

/* The body's struct, by a name of its own. */
#define LINEAR_PRODUCT_BODY(ident, bf16_, f16_, f32_)                                              \
    static const struct linear_product_body ident = {                                              \
        .bf16 = bf16_,                                                                             \
        .f16 = f16_,                                                                               \
        .f32 = f32_,                                                                               \
        .row_amax = cast_row_amax,                                                                 \
        .column_amax = amax_of_columns,                                                            \
        .cast = cast_rows,                                                                         \
        .pack_columns = pack_columns,                                                              \
        .pack_rows = pack_rows,                                                                    \
        .sums = sum_panels,                                                                        \
    }

#endif
