/* columns_cuda.h: sums of columns that blocks leave in parts, and the kernel that adds these up;
 * columns.cuh has the device's side. */
#ifndef ASSAY_KERNEL_CUDA_COLUMNS_CUDA_H
#define ASSAY_KERNEL_CUDA_COLUMNS_CUDA_H

#include "kernel/cuda/cuda_op.h"

struct cuda_columns {
    cu_function finish; /* the caller's to compile: (parts, n, dim, first output, second output) */
    struct assay_cuda_launch launch;
    int64_t n, dim;
    void *parts; /* f32 [n, sums, dim] */
    size_t bytes;
};

/* Allocates n parts of `sums` sums for each column. */
enum assay_status assay_cuda_columns_init(struct cuda_columns *columns, int64_t n, int sums,
                                          int64_t dim, struct assay_error *err);
void assay_cuda_columns_fini(struct cuda_columns *columns);

/* Enqueues the kernel that adds up; `second` may be NULL where there is one sum. */
enum assay_status assay_cuda_columns_finish(const struct cuda_columns *columns, void *first,
                                            void *second, void *stream);

#endif
