/* openblas.h: OpenBLAS, opened at run time, and the part of its API that assay calls.
 *
 * Declared here so that assay builds without its headers. The library's enums are passed as int:
 * they have its size. Its sizes are int too, as in every build but those named …64_, whose
 * functions have other names. */
#ifndef ASSAY_KERNEL_OPENBLAS_H
#define ASSAY_KERNEL_OPENBLAS_H

#include "base/error.h"
#include <stdint.h>

enum { ASSAY_BLAS_ROW_MAJOR = 101, ASSAY_BLAS_NO_TRANS = 111, ASSAY_BLAS_TRANS = 112 };

enum { /* what get_parallel says */
       ASSAY_OPENBLAS_SEQUENTIAL = 0,
       ASSAY_OPENBLAS_THREADS = 1,
       ASSAY_OPENBLAS_OPENMP = 2,
};

struct assay_openblas_api {
    char *(*get_config)(void);   /* "OpenBLAS 0.3.21 … SkylakeX MAX_THREADS=64" */
    char *(*get_corename)(void); /* "SkylakeX": whose kernels it uses */
    int (*get_parallel)(void);
    int (*get_num_threads)(void);
    void (*set_num_threads)(int n);
    void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*sgemv)(int order, int trans, int m, int n, float alpha, const float *a, int lda,
                  const float *x, int incx, float beta, float *y, int incy);
    /* bf16 times bf16 in f32; NULL in builds without it, Debian's among them. */
    void (*sbgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                   const uint16_t *a, int lda, const uint16_t *b, int ldb, float beta, float *c,
                   int ldc);
};

/* The library, opened at the first call; ASSAY_UNSUPPORTED with the reason when it is not there. */
enum assay_status assay_openblas_api(const struct assay_openblas_api **out,
                                     struct assay_error *why);

/* Gives the library so many threads, in setup: making them takes time. It may have been built for
 * fewer. */
void assay_openblas_set_threads(const struct assay_openblas_api *blas, int threads);

/* "OpenBLAS 0.3.21, core SkylakeX (OPENBLAS_CORETYPE=SKYLAKEX set before loading)"; empty when it
 * is not there. */
const char *assay_openblas_text(void);

#endif
