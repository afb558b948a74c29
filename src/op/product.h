/* product.h: sums of products in double over many rows at once, for references that would be too
 * slow element by element. */
#ifndef ASSAY_OP_PRODUCT_H
#define ASSAY_OP_PRODUCT_H

#include <stdint.h>

/* out[i, j] = sum over l of a[i, l] b[j, l], in double; a [m, k], b [n, k], out [m, n]. Threads
 * share the columns. */
void assay_product(const float *a, const float *b, int64_t m, int64_t n, int64_t k, double *out);

/* The same for ASSAY_PRODUCT_COLUMNS columns, whose b lies as b[l][column] in double: the inner
 * part, compiled for several instruction sets. */
enum { ASSAY_PRODUCT_COLUMNS = 8 };
typedef void (*assay_product_part)(const float *a, int64_t m, int64_t lda, const double *b,
                                   int64_t k, double *out, int64_t ldo);
void assay_product_part_plain(const float *a, int64_t m, int64_t lda, const double *b, int64_t k,
                              double *out, int64_t ldo);
void assay_product_part_avx2(const float *a, int64_t m, int64_t lda, const double *b, int64_t k,
                             double *out, int64_t ldo);
void assay_product_part_avx512(const float *a, int64_t m, int64_t lda, const double *b, int64_t k,
                               double *out, int64_t ldo);

#endif
