/* product_body.h: the inner loop of product.c, for the instruction set that PRODUCT_PART names. */
#include "op/reference/product.h"

enum { COLUMNS = ASSAY_PRODUCT_COLUMNS, ROWS = 4 };

static void rows_of(const float *a, int64_t lda, int rows, const double *b, int64_t k, double *out,
                    int64_t ldo)
{
    double sums[ROWS][COLUMNS] = {{0}};
    const float *row[ROWS];
    for (int r = 0; r < ROWS; r++)
        row[r] = a + (r < rows ? r : 0) * lda;
    for (int64_t l = 0; l < k; l++)
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLUMNS; c++)
                sums[r][c] += (double)row[r][l] * b[l * COLUMNS + c];
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLUMNS; c++)
            out[r * ldo + c] += sums[r][c];
}

void PRODUCT_PART(const float *a, int64_t m, int64_t lda, const double *b, int64_t k, double *out,
                  int64_t ldo)
{
    for (int64_t i = 0; i < m; i += ROWS)
        rows_of(a + i * lda, lda, m - i < ROWS ? (int)(m - i) : ROWS, b, k, out + i * ldo, ldo);
}
