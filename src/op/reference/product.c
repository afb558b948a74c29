/* product.c: a GEMM in double, one panel of columns at a time, and the choice of the inner loop for
 * this CPU. */
#define PRODUCT_PART assay_product_part_plain
#include "op/reference/product_body.h"

static assay_product_part part_here(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        return assay_product_part_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return assay_product_part_avx2;
#endif
    return assay_product_part_plain;
}

enum { DEPTH = 512 };

/* Columns [first, first + n) of the output, n at most COLUMNS, one slice of k after the other. */
static void columns_of(assay_product_part part, const float *a, const float *b, int64_t m,
                       int64_t columns, int64_t k, int64_t first, int n, double *out)
{
    enum { ROWS_AT_ONCE = 64 };
    double panel[DEPTH * COLUMNS], sums[ROWS_AT_ONCE * COLUMNS];
    for (int64_t at = 0; at < k; at += DEPTH) {
        int64_t depth = k - at < DEPTH ? k - at : DEPTH;
        for (int64_t l = 0; l < depth; l++)
            for (int c = 0; c < COLUMNS; c++)
                panel[l * COLUMNS + c] = c < n ? (double)b[(first + c) * k + at + l] : 0;
        for (int64_t i = 0; i < m; i += ROWS_AT_ONCE) {
            int64_t rows = m - i < ROWS_AT_ONCE ? m - i : ROWS_AT_ONCE;
            for (int64_t j = 0; j < rows * COLUMNS; j++)
                sums[j] = 0;
            part(a + i * k + at, rows, k, panel, depth, sums, COLUMNS);
            for (int64_t r = 0; r < rows; r++)
                for (int c = 0; c < n; c++) {
                    double *to = &out[(i + r) * columns + first + c];
                    *to = sums[r * COLUMNS + c] + (at ? *to : 0);
                }
        }
    }
}

void assay_product(const float *a, const float *b, int64_t m, int64_t n, int64_t k, double *out)
{
    assay_product_part part = part_here();
#pragma omp parallel for schedule(dynamic, 1)
    for (int64_t first = 0; first < n; first += COLUMNS)
        columns_of(part, a, b, m, n, k, first, n - first < COLUMNS ? (int)(n - first) : COLUMNS,
                   out);
}
