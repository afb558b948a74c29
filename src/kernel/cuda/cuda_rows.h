/* cuda_rows.h: how the rows of a tensor are given to threads; row.cuh has the device's side. */
#ifndef ASSAY_KERNEL_CUDA_CUDA_ROWS_H
#define ASSAY_KERNEL_CUDA_CUDA_ROWS_H

#include "kernel/cuda/cuda_op.h"

/* How many elements of a row a thread holds in each form, and the longest row of it. */
enum {
    CUDA_ROW_FEW = 8,
    CUDA_ROW_MANY = 32,
    CUDA_ROW_FEW_MOST = 32 * CUDA_ROW_FEW,
    CUDA_ROW_MANY_MOST = 32 * CUDA_ROW_MANY,
    CUDA_ROW_BLOCK_MOST = 1024 * CUDA_ROW_MANY,
    CUDA_ROW_SPREAD_MOST = 512 * CUDA_ROW_FEW,
};

/* row.cuh: FORM. FEW, MANY: lanes of a warp have a row; BLOCK, SPREAD: a block has one; WHOLE and
 * DECODE are quantize.cu's. */
enum cuda_form {
    FORM_FEW = 1,
    FORM_MANY,
    FORM_BLOCK,
    FORM_LONG,
    FORM_WHOLE,
    FORM_DECODE,
    FORM_SPREAD
};

struct cuda_rows {
    int64_t rows, dim;
    enum cuda_form form;
    bool vector; /* rows are a multiple of 16 bytes */
    uint32_t lanes;
    int64_t at_once; /* rows of a block */
    unsigned threads;
};

/* `warps` are those of a block whose teams are lanes. */
struct cuda_rows assay_cuda_rows(enum assay_dtype dtype, int64_t rows, int64_t dim, int64_t warps);
/* The same, but a block has a row where a warp for each row would leave most of the GPU idle. */
struct cuda_rows assay_cuda_few_rows(enum assay_dtype dtype, int64_t rows, int64_t dim,
                                     int64_t warps);

/* The same for kernels that hold two rows at a time; *held is how many elements of each a thread of
 * a block has then, fewer where registers would not do: the rest is of FORM_LONG. */
struct cuda_rows assay_cuda_rows_of_two(enum assay_dtype dtype, int64_t rows, int64_t dim,
                                        int64_t warps, int *held);

/* One launch over all rows. */
struct assay_cuda_launch assay_cuda_rows_launch(const struct cuda_rows *rows);
/* The lanes of a row where each holds as much as it can; else 0. */
uint32_t assay_cuda_rows_full(const struct cuda_rows *rows);

/* Function `name` of a text that includes row.cuh; `more` are further options, "" for none. */
enum assay_status assay_cuda_rows_named(const struct cuda_rows *rows, const char *text,
                                        const char *name, enum assay_dtype dtype, const char *more,
                                        cu_function *out, struct assay_error *err);
/* The one for these rows, "OP_FORM". */
enum assay_status assay_cuda_rows_function(const struct cuda_rows *rows, const char *text,
                                           const char *op, enum assay_dtype dtype, const char *more,
                                           cu_function *out, struct assay_error *err);

#endif
