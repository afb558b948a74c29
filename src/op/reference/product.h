/* product.h: a fast GEMM in double, for references that would take too long element by element: the
 * linear layers and convolutions of models. It is not a kernel to be measured; unlike the other
 * references it uses the CPU's vectors. */
#ifndef ASSAY_OP_REFERENCE_PRODUCT_H
#define ASSAY_OP_REFERENCE_PRODUCT_H

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
