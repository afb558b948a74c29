/* fake_cublaslt.c: a stand-in for cuBLASLt that computes nothing: products leave their output as it
 * was, which verification finds. It has one algorithm for every product, and counts what it made.
 * Where kernels are emulated (FAKE_CUDA_EMULATE), products of f32 and bf16 without an epilogue
 * compute, slowly.
 *   FAKE_CUBLASLT_NONE=1   it has no algorithm
 *   FAKE_CUBLASLT_LOG=FILE a line at the end: what was not given back
 *   FAKE_CUDA_LAUNCHES=FILE a line for each product: W, x, "added" where beta is not 0, C and D */
#include "device/cuda/cuda_api.h"

#include <stdbool.h>
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
    int32_t transposed[2]; /* A, B */
};
struct cublaslt_layout {
    int type;
    uint64_t rows, columns;
    int64_t ld;
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
    if (attribute == CUBLASLT_DESC_TRANSA || attribute == CUBLASLT_DESC_TRANSB)
        memcpy(&desc->transposed[attribute == CUBLASLT_DESC_TRANSB], value, bytes);
    return 0;
}

cublas_status cublasLtMatrixLayoutCreate(cublaslt_matrix_layout *layout, int type, uint64_t rows,
                                         uint64_t columns, int64_t ld)
{
    if (ld < (int64_t)rows)
        return 7;
    layouts++;
    *layout = calloc(1, sizeof **layout);
    if (!*layout)
        return 3;
    **layout = (struct cublaslt_layout){type, rows, columns, ld};
    return 0;
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

/* Element (row, column) of a matrix stored by columns; of the transposed one, where it is that. */
static double load(const void *data, const struct cublaslt_layout *l, bool transposed, uint64_t row,
                   uint64_t column)
{
    float value;
    size_t at = transposed ? row * (size_t)l->ld + column : column * (size_t)l->ld + row;
    if (l->type == CUDA_R_32F_)
        return (double)((const float *)data)[at];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[at] << 16;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void store(void *data, const struct cublaslt_layout *l, uint64_t row, uint64_t column,
                  double sum)
{
    float value = (float)sum;
    uint32_t bits;
    size_t at = column * (size_t)l->ld + row;
    memcpy(&bits, &value, sizeof bits);
    if (l->type == CUDA_R_32F_)
        ((float *)data)[at] = value;
    else
        ((uint16_t *)data)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static bool computes(const struct cublaslt_layout *l)
{
    return l->type == CUDA_R_32F_ || l->type == CUDA_R_16BF_;
}

static cublas_status multiply(const struct cublaslt_description *desc, const void *a,
                              const struct cublaslt_layout *al, const void *b,
                              const struct cublaslt_layout *bl, void *d,
                              const struct cublaslt_layout *dl)
{
    bool at = desc->transposed[0] == CUBLAS_OP_T_, bt = desc->transposed[1] == CUBLAS_OP_T_;
    uint64_t depth = at ? al->rows : al->columns;
    if (!computes(al) || !computes(bl) || !computes(dl))
        return 0;
    if (depth != (bt ? bl->columns : bl->rows) || dl->rows != (at ? al->columns : al->rows) ||
        dl->columns != (bt ? bl->rows : bl->columns))
        return 7;
    for (uint64_t column = 0; column < dl->columns; column++)
        for (uint64_t row = 0; row < dl->rows; row++) {
            double sum = 0;
            for (uint64_t i = 0; i < depth; i++)
                sum += load(a, al, at, row, i) * load(b, bl, bt, i, column);
            store(d, dl, row, column, sum);
        }
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
    (void)handle, (void)alpha, (void)c_layout, (void)algo, (void)workspace, (void)workspace_bytes;
    (void)stream;
    return getenv("FAKE_CUDA_EMULATE") && !bits
               ? multiply(desc, a, a_layout, b, b_layout, d, d_layout)
               : 0;
}
