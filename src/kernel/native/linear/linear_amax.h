/* linear_amax.h: the greatest magnitude of each column. Include a vec_*.h and a linear_line_*.h
 * first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_AMAX_H
#define ASSAY_KERNEL_NATIVE_LINEAR_AMAX_H

#include "kernel/native/linear/linear_quantise.h"

#include <string.h>

enum { AMAX_COLUMNS = 512 };

VEC_INLINE void amax_columns(enum native_kind kind, const struct linear_matrix *from,
                             int64_t column, int64_t n, float *amax)
{
    float most[AMAX_COLUMNS] = {0};
    for (int64_t row = 0; row < from->rows; row++) {
        int64_t at = row * from->columns + column, i = 0;
        for (; i + VEC_LANES <= n; i += VEC_LANES)
            vec_store(NATIVE_F32, most, i,
                      vec_most(vec_load(NATIVE_F32, most, i), vec_load(kind, from->data, at + i)));
        if (i < n)
            vec_store(NATIVE_F32, most, i,
                      vec_most(vec_load(NATIVE_F32, most, i),
                               vec_load_part(kind, from->data, at + i, n - i)));
    }
    memcpy(amax + column, most, (size_t)n * sizeof *amax);
}

static void amax_of_columns(const struct linear_matrix *from, int64_t column, int64_t column_end,
                            float *amax)
{
    enum native_kind kind = linear_kind_of(from->dtype);
    for (int64_t n; column < column_end; column += n) {
        n = column_end - column < AMAX_COLUMNS ? column_end - column : AMAX_COLUMNS;
        if (kind == NATIVE_BF16)
            amax_columns(NATIVE_BF16, from, column, n, amax);
        else if (kind == NATIVE_F16)
            amax_columns(NATIVE_F16, from, column, n, amax);
        else
            amax_columns(NATIVE_F32, from, column, n, amax);
    }
}

#endif
