/* cublaslt_product.h: one product by NVIDIA's cuBLASLt, y [m, n] = x [m, k] W [n, k]^T, or another
 * of two matrices: how it is described to the library, and which algorithms its heuristic finds.
 *
 * The library's matrices are stored by columns. Seen so, W [n, k] is k x n and x [m, k] is k x m,
 * and y [m, n] is n x m: D = A^T B with A = W, B = x. That form, "TN", is also the only one it has
 * for 8-bit types. In the words of its documentation then M = n, N = m, K = k. */
#ifndef ASSAY_KERNEL_CUDA_CUBLASLT_PRODUCT_H
#define ASSAY_KERNEL_CUDA_CUBLASLT_PRODUCT_H

#include "device/cuda/cuda.h"
#include "kernel/cuda/autotune.h"
#include "tensor/dtype.h"

enum { CUBLASLT_MOST_ALGOS = CUDA_CANDIDATES };

/* Alignment in bytes: of a set's operands, and of what kernels allocate themselves. */
enum { CUBLASLT_OPERAND_ALIGN = 64, CUBLASLT_OWN_ALIGN = 256 };

/* The library, its handle and the workspace are the caller's to find and to free; the rest starts
 * as NULL. */
struct cublaslt_product {
    const struct cuda_cublaslt_api *lt;
    cublaslt_handle handle;
    void *workspace;
    size_t workspace_bytes;
    cublaslt_matmul_desc desc;
    cublaslt_matrix_layout a, b, d;
};

struct cublaslt_shape {
    int type, d_type; /* of x and W, and of what the library writes: CUDA_R_… */
    int64_t m, k, n;
    int64_t x_pitch; /* elements from one row of x to the next */
};

/* D = A B, in the library's own order: d_rows x depth times depth x d_columns, each stored by
 * columns, without gaps; or A or B as the transposed matrix of what is stored. */
struct cublaslt_matrices {
    int64_t d_rows, d_columns, depth;
    bool a_transposed, b_transposed;
    int64_t b_pitch; /* elements from one stored column of B to the next; 0: no gaps */
};

/* CUDA_R_… of a dtype. */
int assay_cublaslt_type(enum assay_dtype dtype);

/* Begins a description; assay_cublaslt_forget ends it, also after a failure. */
cublas_status assay_cublaslt_describe(struct cublaslt_product *p,
                                      const struct cublaslt_shape *shape);
cublas_status assay_cublaslt_describe_matrices(struct cublaslt_product *p, int type, int d_type,
                                               const struct cublaslt_matrices *matrices);
void assay_cublaslt_forget(struct cublaslt_product *p);

/* The workspace that decides nothing: twice NVIDIA's advice and more, which is 32 MiB from Hopper
 * on and 4 MiB before. */
size_t assay_cublaslt_workspace_bytes(void);
/* "cuBLASLt 13.0.1"; returns the length, 0 where there is no library. */
int assay_cublaslt_version(char *text, size_t size);

cublas_status assay_cublaslt_set(const struct cublaslt_product *p, int attribute, const void *value,
                                 size_t bytes);
cublas_status assay_cublaslt_set_int(const struct cublaslt_product *p, int attribute,
                                     int32_t value);
cublas_status assay_cublaslt_set_pointer(const struct cublaslt_product *p, int attribute,
                                         const void *value);

/* What the algorithms must fit: `exact` refuses those that add the parts of a sum cut along k in
 * the type of D; alignments in bytes, W's CUBLASLT_OWN_ALIGN where it is 0. */
struct cublaslt_needs {
    bool exact;
    uint32_t w_align, x_align, d_align;
};

/* The algorithms that can run, at most CUBLASLT_MOST_ALGOS, the library's favourite first. */
cublas_status assay_cublaslt_ask(const struct cublaslt_product *p,
                                 const struct cublaslt_needs *needs, cublaslt_heuristic *out,
                                 int *n);

#endif
