/* fake_cublaslt.c: a stand-in for cuBLASLt that computes nothing: products leave their output as it
 * was, which verification finds. It has one algorithm for every product, and counts what it made.
 *   FAKE_CUBLASLT_NONE=1   it has no algorithm
 *   FAKE_CUBLASLT_LOG=FILE a line at the end: what was not given back
 *   FAKE_CUDA_LAUNCHES=FILE a line for each product: W, x, "added" where beta is not 0, C and D */
#include "device/cuda/cuda_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_CUBLASLT_REQUIRED(DECLARE)
#undef DECLARE

struct cublasLtContext {
    int unused;
};
struct cublaslt_description {
    int unused;
};
struct cublaslt_layout {
    int unused;
};
struct cublaslt_wish {
    int unused;
};

static long handles, descriptions, layouts, wishes;

size_t cublasLtGetVersion(void) { return 130001; }

cublas_status cublasLtCreate(cublaslt_handle *handle)
{
    handles++;
    *handle = calloc(1, sizeof **handle);
    return *handle ? 0 : 3;
}

cublas_status cublasLtDestroy(cublaslt_handle handle)
{
    const char *name = getenv("FAKE_CUBLASLT_LOG");
    FILE *file = name ? fopen(name, "a") : NULL;
    handles--;
    free(handle);
    if (!file)
        return 0;
    fprintf(file, "closed: %ld handles, %ld descriptions, %ld layouts, %ld preferences left\n",
            handles, descriptions, layouts, wishes);
    fclose(file);
    return 0;
}

cublas_status cublasLtMatmulDescCreate(cublaslt_matmul_desc *desc, int compute_type, int scale_type)
{
    (void)compute_type, (void)scale_type;
    descriptions++;
    *desc = calloc(1, sizeof **desc);
    return *desc ? 0 : 3;
}

cublas_status cublasLtMatmulDescDestroy(cublaslt_matmul_desc desc)
{
    descriptions--;
    free(desc);
    return 0;
}

cublas_status cublasLtMatmulDescSetAttribute(cublaslt_matmul_desc desc, int attribute,
                                             const void *value, size_t bytes)
{
    (void)desc, (void)attribute, (void)value, (void)bytes;
    return 0;
}

cublas_status cublasLtMatrixLayoutCreate(cublaslt_matrix_layout *layout, int type, uint64_t rows,
                                         uint64_t columns, int64_t ld)
{
    (void)type, (void)columns;
    if (ld < (int64_t)rows)
        return 7;
    layouts++;
    *layout = calloc(1, sizeof **layout);
    return *layout ? 0 : 3;
}

cublas_status cublasLtMatrixLayoutDestroy(cublaslt_matrix_layout layout)
{
    layouts--;
    free(layout);
    return 0;
}

cublas_status cublasLtMatmulPreferenceCreate(cublaslt_preference *preference)
{
    wishes++;
    *preference = calloc(1, sizeof **preference);
    return *preference ? 0 : 3;
}

cublas_status cublasLtMatmulPreferenceDestroy(cublaslt_preference preference)
{
    wishes--;
    free(preference);
    return 0;
}

cublas_status cublasLtMatmulPreferenceSetAttribute(cublaslt_preference preference, int attribute,
                                                   const void *value, size_t bytes)
{
    (void)preference, (void)attribute, (void)value, (void)bytes;
    return 0;
}

cublas_status cublasLtMatmulAlgoGetHeuristic(cublaslt_handle handle, cublaslt_matmul_desc desc,
                                             cublaslt_matrix_layout a, cublaslt_matrix_layout b,
                                             cublaslt_matrix_layout c, cublaslt_matrix_layout d,
                                             cublaslt_preference preference, int wanted,
                                             cublaslt_heuristic *results, int *found)
{
    (void)handle, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *found = wanted > 0 && !getenv("FAKE_CUBLASLT_NONE") ? 1 : 0;
    if (!*found)
        return 15; /* not supported */
    memset(results, 0, sizeof *results);
    results->waves = 1;
    return 0;
}

cublas_status cublasLtMatmul(cublaslt_handle handle, cublaslt_matmul_desc desc, const void *alpha,
                             const void *a, cublaslt_matrix_layout a_layout, const void *b,
                             cublaslt_matrix_layout b_layout, const void *beta, const void *c,
                             cublaslt_matrix_layout c_layout, void *d,
                             cublaslt_matrix_layout d_layout, const cublaslt_algo *algo,
                             void *workspace, size_t workspace_bytes, cu_stream stream)
{
    const char *name = getenv("FAKE_CUDA_LAUNCHES");
    FILE *file = name ? fopen(name, "a") : NULL;
    uint32_t bits; /* of a float or an integer */
    memcpy(&bits, beta, sizeof bits);
    if (file) {
        fprintf(file, "| cublasLtMatmul %p %p %s %p %p\n", a, b, bits ? "added" : "alone", c, d);
        fclose(file);
    }
    (void)handle, (void)desc, (void)alpha, (void)a_layout, (void)b_layout, (void)c_layout;
    (void)d_layout, (void)algo, (void)workspace, (void)workspace_bytes, (void)stream;
    return 0;
}
