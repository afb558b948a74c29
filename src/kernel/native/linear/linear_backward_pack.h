/* linear_backward_pack.h: columns of a row-major matrix as panels (quant.h) and as rows, and their
 * sums: struct linear_backward_body in linear_backward_native.h. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_PACK_H
#define ASSAY_KERNEL_NATIVE_LINEAR_BACKWARD_PACK_H

#include "kernel/native/linear/linear_backward_native.h"
#include "kernel/native/linear/linear_code.h"

#include <string.h>

/* Of one row: 16 elements from a column on. Those that are not there are 0. */
VEC_INLINE const void *pack_piece(const struct linear_matrix *from, size_t size, int64_t row,
                                  int64_t column, void *buffer)
{
    const char *at = (const char *)from->data + (size_t)(row * from->columns + column) * size;
    int64_t left = row < from->rows ? from->columns - column : 0;
    if (left >= 16)
        return at;
    memset(buffer, 0, 16 * size);
    if (left > 0)
        memcpy(buffer, at, (size_t)left * size);
    return buffer;
}

/* Pairs of elements that follow each other down a column. */
VEC_INLINE void pack_pairs(const uint16_t *upper, const uint16_t *lower, uint32_t *restrict to)
{
    for (int c = 0; c < 16; c++)
        to[c] = (uint32_t)upper[c] | (uint32_t)lower[c] << 16;
}

/* 16 lines of a panel: 16 rows, or 32 in 16 bits. */
VEC_INLINE void pack_block(const struct linear_matrix *from, bool halves, int64_t row,
                           int64_t column, uint32_t *restrict to)
{
    uint32_t one[16], other[16];
    for (int l = 0; l < 16; l++, to += 16)
        if (halves)
            pack_pairs(pack_piece(from, 2, row + 2 * l, column, one),
                       pack_piece(from, 2, row + 2 * l + 1, column, other), to);
        else
            memcpy(to, pack_piece(from, 4, row + l, column, one), 64);
}

static void pack_panels(const struct linear_matrix *from, const struct assay_packed *to,
                        int64_t panel, int64_t panel_end)
{
    bool halves = from->dtype != ASSAY_DTYPE_F32;
    for (int64_t line = 0; line < to->lines; line += 16)
        for (int64_t p = panel; p < panel_end; p++) {
            uint32_t *at =
                (uint32_t *)(void *)(to->codes + (size_t)p * assay_packed_panel_bytes(to) +
                                     (size_t)line * ASSAY_LINE_BYTES);
            if (halves)
                pack_block(from, true, 2 * line, p * 16, at);
            else
                pack_block(from, false, line, p * 16, at);
        }
}

/* 16 lines of 16 dwords: dword i of line j becomes dword j of line i. */
VEC_INLINE void pack_turn(const float *block, float *turned)
{
    for (int i = 0; i < 16; i += VEC_LANES)
        for (int j = 0; j < 16; j += VEC_LANES) {
            vec rows[VEC_LANES];
            LINEAR_UNROLL for (int r = 0; r < VEC_LANES; r++) rows[r] =
                vec_load(NATIVE_F32, block, (i + r) * 16 + j);
            vec_transpose(rows);
            LINEAR_UNROLL for (int r = 0; r < VEC_LANES; r++)
                vec_store(NATIVE_F32, turned, (j + r) * 16 + i, rows[r]);
        }
}

/* Pairs down a column are what lies side by side in a row of the transposed matrix, so a block of
 * 16 lines has only its dwords to turn, in 16 bits, too. Whole lines are written. */
static void transpose_panels(const struct linear_matrix *from, void *to, int64_t panel,
                             int64_t panel_end)
{
    bool halves = from->dtype != ASSAY_DTYPE_F32;
    size_t size = halves ? 2 : 4;
    union {
        uint32_t dwords[256];
        float floats[256];
    } block, turned;
    for (int64_t row = 0, step = halves ? 32 : 16; row < from->rows; row += step)
        for (int64_t p = panel; p < panel_end; p++) {
            int64_t columns = from->columns - p * 16, rows = from->rows - row;
            if (halves)
                pack_block(from, true, row, p * 16, block.dwords);
            else
                pack_block(from, false, row, p * 16, block.dwords);
            pack_turn(block.floats, turned.floats);
            char *line = (char *)to + (size_t)(p * 16 * from->rows + row) * size;
            size_t bytes = (size_t)(rows < step ? rows : step) * size;
            for (int64_t c = 0; c < 16 && c < columns; c++, line += (size_t)from->rows * size)
                if (bytes == 64)
                    memcpy(line, turned.dwords + c * 16, 64);
                else
                    memcpy(line, turned.dwords + c * 16, bytes);
        }
}

/* Sums start anew after SUM_ROWS rows, to be added up later: rounding errors grow with the length
 * of a sum. */
enum { SUM_VECTORS = 64 / VEC_LANES, SUM_ROWS = 128 };

/* Up to 64 columns. */
VEC_INLINE void sum_columns(enum native_kind kind, const struct linear_matrix *from, void *to,
                            int64_t column, int64_t n)
{
    float all[64] = {0};
    for (int64_t row = 0; row < from->rows;) {
        vec sum[SUM_VECTORS];
        for (int v = 0; v < SUM_VECTORS; v++)
            sum[v] = vec_set(0);
        int64_t end = from->rows - row < SUM_ROWS ? from->rows : row + SUM_ROWS;
        for (; row < end; row++) {
            int64_t at = row * from->columns + column;
            if (n == 64)
                LINEAR_UNROLL for (int v = 0; v < SUM_VECTORS; v++) sum[v] =
                    vec_add(sum[v], vec_load(kind, from->data, at + v * VEC_LANES));
            else
                for (int v = 0; v * VEC_LANES < n; v++) {
                    int64_t left = n - v * VEC_LANES;
                    sum[v] = vec_add(sum[v], vec_load_part(kind, from->data, at + v * VEC_LANES,
                                                           left < VEC_LANES ? left : VEC_LANES));
                }
        }
        for (int v = 0; v < SUM_VECTORS; v++)
            vec_store(NATIVE_F32, all, v * VEC_LANES,
                      vec_add(vec_load(NATIVE_F32, all, v * VEC_LANES), sum[v]));
    }
    for (int64_t i = 0; i < n; i += VEC_LANES)
        vec_store_part(kind, to, column + i, vec_load(NATIVE_F32, all, i),
                       n - i < VEC_LANES ? n - i : VEC_LANES);
}

static void sum_panels(const struct linear_matrix *from, void *to, int64_t panel, int64_t panel_end)
{
    enum native_kind kind = linear_kind_of(from->dtype);
    int64_t end = panel_end * 16 < from->columns ? panel_end * 16 : from->columns;
    for (int64_t column = panel * 16; column < end; column += 64) {
        int64_t n = end - column < 64 ? end - column : 64;
        if (kind == NATIVE_BF16)
            sum_columns(NATIVE_BF16, from, to, column, n);
        else if (kind == NATIVE_F16)
            sum_columns(NATIVE_F16, from, to, column, n);
        else
            sum_columns(NATIVE_F32, from, to, column, n);
    }
}

#endif
