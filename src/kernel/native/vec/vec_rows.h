/* vec_rows.h: as many rows as a vector has lanes, summed all at once. Include a vec_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_ROWS_H
#define ASSAY_KERNEL_NATIVE_VEC_ROWS_H

/* The sum of each row's lanes, in the lane of its number. Transposed, so that nothing is added
 * across lanes; the rows are used up. */
VEC_INLINE vec vec_sum_rows(vec rows[VEC_LANES])
{
    vec_transpose(rows);
    for (int n = VEC_LANES / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            rows[i] = vec_add(rows[i], rows[i + n]);
    return rows[0];
}

#endif
