/* linear_backward_pack.h: what is packed for linear_backward, and the sums of columns: struct
 * linear_product_body in linear_product.h. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_PACK_H
#define ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_PACK_H

#include "kernel/native/linear/linear_product.h"
#include "kernel/native/linear/linear_columns.h"

static void pack_panels(const struct linear_matrix *from, const struct assay_packed *to,
                        int64_t panel, int64_t panel_end)
{
    bool halves = from->dtype != ASSAY_DTYPE_F32;
    for (int64_t l = 0; l < to->lines; l += 16)
        for (int64_t p = panel; p < panel_end; p++) {
            size_t at = (size_t)p * assay_packed_panel_bytes(to) + (size_t)l * ASSAY_LINE_BYTES;
            uint32_t *lines = (uint32_t *)(void *)(to->codes + at);
            if (halves)
                columns_lines(from, true, 2 * l, p * COLUMNS, lines);
            else
                columns_lines(from, false, l, p * COLUMNS, lines);
        }
}

/* Rows are read in long pieces. Sums start anew after SUM_ROWS of them, to be added up later:
 * rounding errors grow with the length of a sum. */
enum { SUM_COLUMNS = 512, SUM_ROWS = 128 };

/* Adds `rows` rows of n columns to sums. */
VEC_INLINE void sum_rows(enum native_kind kind, const struct linear_matrix *from, int64_t row,
                         int64_t rows, int64_t column, int64_t n, float *sums)
{
    int64_t whole = n / VEC_LANES * VEC_LANES;
    for (int64_t end = row + rows; row < end; row++) {
        int64_t at = row * from->columns + column;
        for (int64_t i = 0; i < whole; i += VEC_LANES)
            vec_store(NATIVE_F32, sums, i,
                      vec_add(vec_load(NATIVE_F32, sums, i), vec_load(kind, from->data, at + i)));
        if (whole < n)
            vec_store(NATIVE_F32, sums, whole,
                      vec_add(vec_load(NATIVE_F32, sums, whole),
                              vec_load_part(kind, from->data, at + whole, n - whole)));
    }
}

VEC_INLINE void sum_columns(enum native_kind kind, const struct linear_matrix *from, void *to,
                            int64_t column, int64_t n)
{
    float all[SUM_COLUMNS] = {0}, part[SUM_COLUMNS];
    for (int64_t row = 0; row < from->rows; row += SUM_ROWS) {
        memset(part, 0, sizeof part);
        sum_rows(kind, from, row, from->rows - row < SUM_ROWS ? from->rows - row : SUM_ROWS, column,
                 n, part);
        for (int64_t i = 0; i < n; i += VEC_LANES)
            vec_store(NATIVE_F32, all, i,
                      vec_add(vec_load(NATIVE_F32, all, i), vec_load(NATIVE_F32, part, i)));
    }
    for (int64_t i = 0; i < n; i += VEC_LANES)
        vec_store_part(kind, to, column + i, vec_load(NATIVE_F32, all, i),
                       n - i < VEC_LANES ? n - i : VEC_LANES);
}

static void sum_panels(const struct linear_matrix *from, void *to, int64_t panel, int64_t panel_end)
{
    enum native_kind kind = linear_kind_of(from->dtype);
    int64_t end = panel_end * COLUMNS < from->columns ? panel_end * COLUMNS : from->columns;
    for (int64_t column = panel * COLUMNS; column < end; column += SUM_COLUMNS) {
        int64_t n = end - column < SUM_COLUMNS ? end - column : SUM_COLUMNS;
        if (kind == NATIVE_BF16)
            sum_columns(NATIVE_BF16, from, to, column, n);
        else if (kind == NATIVE_F16)
            sum_columns(NATIVE_F16, from, to, column, n);
        else
            sum_columns(NATIVE_F32, from, to, column, n);
    }
}

#endif
