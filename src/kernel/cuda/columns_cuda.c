/* columns_cuda.c: sums of columns in parts; columns_cuda.h. */
#include "kernel/cuda/columns_cuda.h"

/* columns.cuh: FINISH_COLUMNS, FINISH_ROWS. */
enum { FINISH_COLUMNS = 32, FINISH_THREADS = 32 * FINISH_COLUMNS };

enum assay_status assay_cuda_columns_init(struct cuda_columns *columns, int64_t n, int sums,
                                          int64_t dim, struct assay_error *err)
{
    columns->n = n;
    columns->dim = dim;
    columns->launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_ceil_div(dim, FINISH_COLUMNS),
        .grid_y = (unsigned)sums,
        .threads = FINISH_THREADS,
    };
    size_t bytes = (size_t)n * (size_t)sums * (size_t)dim * sizeof(float);
    enum assay_status status = assay_cuda_alloc(bytes, &columns->parts, err);
    if (status == ASSAY_OK)
        columns->bytes = bytes;
    return status;
}

void assay_cuda_columns_fini(struct cuda_columns *columns)
{
    assay_cuda_free(columns->parts, columns->bytes);
}

enum assay_status assay_cuda_columns_finish(const struct cuda_columns *columns, void *first,
                                            void *second, void *stream)
{
    const void *parts = columns->parts;
    int64_t n = columns->n, dim = columns->dim;
    void *parameters[] = {&parts, &n, &dim, &first, &second};
    return assay_cuda_launch(columns->finish, &columns->launch, stream, parameters);
}
