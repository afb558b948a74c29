/* linear_columns.h: columns of a row-major matrix, 16 at a time, as lines of a panel (quant.h) and
 * as rows. Include a vec_*.h first.
 *
 * A line of a panel has 4 bytes of each of 16 columns: a piece of one row in f32, of two rows in 16
 * bits. Those 4 bytes are also what lies side by side in a column that is stored as a row, so a
 * block of 16 lines becomes 16 rows by turning its dwords, whatever they hold. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_COLUMNS_H
#define ASSAY_KERNEL_NATIVE_LINEAR_COLUMNS_H

#include "kernel/native/linear/linear_code.h"

#include <string.h>

enum { COLUMNS = 16, COLUMNS_AHEAD = 256 /* bytes */ };

/* Of one row: the 16 elements from a column on. Those that are not there are 0. The pieces of 16
 * rows and more lie too far apart for the hardware prefetcher to follow them all. */
VEC_INLINE const void *columns_piece(const struct linear_matrix *from, size_t size, int64_t row,
                                     int64_t column, void *buffer)
{
    const char *at = (const char *)from->data + (size_t)(row * from->columns + column) * size;
    int64_t left = row < from->rows ? from->columns - column : 0;
    if (left >= COLUMNS) {
        __builtin_prefetch((const void *)((uintptr_t)at + COLUMNS_AHEAD));
        return at;
    }
    memset(buffer, 0, COLUMNS * size);
    if (left > 0)
        memcpy(buffer, at, (size_t)left * size);
    return buffer;
}

VEC_INLINE void columns_pairs(const uint16_t *first, const uint16_t *second, uint32_t *restrict to)
{
    for (int c = 0; c < COLUMNS; c++)
        to[c] = (uint32_t)first[c] | (uint32_t)second[c] << 16;
}

/* 16 lines as they are stored: of 16 rows, or of 32 in 16 bits. */
VEC_INLINE void columns_lines(const struct linear_matrix *from, bool halves, int64_t row,
                              int64_t column, uint32_t *restrict to)
{
    uint32_t one[COLUMNS], other[COLUMNS];
    for (int l = 0; l < 16; l++, to += COLUMNS)
        if (halves)
            columns_pairs(columns_piece(from, 2, row + 2 * l, column, one),
                          columns_piece(from, 2, row + 2 * l + 1, column, other), to);
        else
            memcpy(to, columns_piece(from, 4, row + l, column, one), 64);
}

/* 16 lines in f32, of 16 rows of any type. */
VEC_INLINE void columns_floats(enum native_kind kind, const struct linear_matrix *from, int64_t row,
                               int64_t column, float *to)
{
    uint32_t buffer[COLUMNS];
    for (int l = 0; l < 16; l++, to += COLUMNS) {
        const void *piece =
            columns_piece(from, kind == NATIVE_F32 ? 4 : 2, row + l, column, buffer);
        for (int j = 0; j < COLUMNS; j += VEC_LANES)
            vec_store(NATIVE_F32, to, j, vec_load(kind, piece, j));
    }
}

/* Dword i of line j becomes dword j of row i. */
VEC_INLINE void columns_turn(const float *lines, float *rows)
{
    for (int i = 0; i < 16; i += VEC_LANES)
        for (int j = 0; j < 16; j += VEC_LANES) {
            vec part[VEC_LANES];
            LINEAR_UNROLL for (int r = 0; r < VEC_LANES; r++) part[r] =
                vec_load(NATIVE_F32, lines, (i + r) * 16 + j);
            vec_transpose(part);
            LINEAR_UNROLL for (int r = 0; r < VEC_LANES; r++)
                vec_store(NATIVE_F32, rows, (j + r) * 16 + i, part[r]);
        }
}

#endif
