/* linear_norm_cuda.c: which functions of linear_norm.cu, with how many threads; linear_norm_cuda.h
 * says what for. */
#include "kernel/cuda/linear/linear_norm_cuda.h"

#include "kernel/cuda/cuda_op.h"

enum { MOST_HELD = 8, PART_ALIGN = 256 };

/* Short rows are a warp's. Others are a block's: with four vectors for each thread where there are
 * rows enough to fill the GPU, with as many threads as can be where there are few. */
struct cuda_held_rows assay_cuda_held_rows(enum assay_dtype dtype, int64_t rows, int64_t k,
                                           bool aligned, int norm)
{
    enum { WARP = 32, WARP_THREADS = 128 };
    struct cuda_held_rows r = {.dtype = dtype, .rows = rows, .k = k, .norm = norm};
    int64_t vectors = assay_ceil_div(k, cuda_op_vec(dtype));
    bool crowded = rows >= 2 * (int64_t)assay_cuda_properties()->sms;
    int64_t threads = WARP_THREADS, wanted = crowded ? 4 : 1;
    r.aligned = aligned && k % cuda_op_vec(dtype) == 0;
    r.group = WARP;
    if (vectors > WARP * wanted) {
        int64_t most = crowded ? 512 : 1024;
        while (threads < most && vectors > threads * wanted)
            threads *= 2;
        r.group = threads;
    }
    r.held = assay_min(assay_ceil_div(vectors, r.group), threads == 1024 ? 4 : MOST_HELD);
    r.rest = r.held * r.group < vectors;
    r.launch.threads = (unsigned)threads;
    r.launch.grid_x = (unsigned)assay_ceil_div(rows, threads / r.group);
    return r;
}

enum assay_status assay_cuda_held_function(const struct cuda_held_rows *rows, const char *text,
                                           const char *name, const char *more, cu_function *out,
                                           struct assay_error *err)
{
    char options[192];
    int length =
        snprintf(options, sizeof options,
                 "-DELEMENT=%d -DALIGNED=%d -DTHREADS=%u -DGROUP=%d -DHELD=%d -DREST=%d -DNORM=%d",
                 cuda_op_element(rows->dtype), rows->aligned, rows->launch.threads,
                 (int)rows->group, (int)rows->held, rows->rest, rows->norm);
    if (rows->norm)
        length += snprintf(options + length, sizeof options - (size_t)length, " -DEPS=%g",
                           ASSAY_LINEAR_EPS);
    if (more[0])
        snprintf(options + length, sizeof options - (size_t)length, " %s", more);
    return assay_cuda_function(text, options, name, 0, out, err);
}

/* ---- the norm by itself ---------------------------------------------------------------------- */

static enum assay_status allocate(struct cuda_linear_norm *norm, int64_t n, struct assay_error *err)
{
    const struct cuda_held_rows *held = &norm->held;
    bool rows = norm->way == CUDA_NORM_ROWS, centred = held->norm == ASSAY_LINEAR_LN;
    int64_t floats = (int64_t)sizeof(float), size = (int64_t)assay_dtype_bytes(held->dtype);
    int64_t normalised = rows ? held->rows * held->k * size : 0;
    int64_t scales = rows ? 0 : assay_round_up(held->rows * floats, PART_ALIGN);
    int64_t means = centred ? scales : 0;
    int64_t sums = rows || !centred ? 0 : assay_round_up(n * floats, PART_ALIGN);
    norm->block_bytes = (size_t)(normalised + scales + means + sums);
    enum assay_status status = assay_cuda_alloc(norm->block_bytes, &norm->block, err);
    if (status != ASSAY_OK)
        return status;
    unsigned char *block = norm->block;
    norm->normalised = rows ? norm->block : NULL;
    norm->scales = rows ? NULL : (float *)(void *)block;
    norm->means = means ? (float *)(void *)(block + scales) : NULL;
    norm->sums = sums ? (float *)(void *)(block + scales + means) : NULL;
    return ASSAY_OK;
}

enum assay_status assay_cuda_linear_norm_create(enum cuda_norm_way way, int norm,
                                                enum assay_dtype dtype, int64_t m, int64_t k,
                                                int64_t n, struct cuda_linear_norm *out,
                                                struct assay_error *err)
{
    *out = (struct cuda_linear_norm){.way = way};
    if (m > INT32_MAX || k > INT32_MAX - 65536)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "x is too large to be normalised");
    out->held = assay_cuda_held_rows(dtype, m, k, true, norm);
    enum assay_status status = assay_cuda_held_function(
        &out->held, "linear_norm.cu", way == CUDA_NORM_ROWS ? "normalise_rows" : "row_scales", "",
        &out->function, err);
    return status == ASSAY_OK ? allocate(out, n, err) : status;
}

enum assay_status assay_cuda_linear_norm_run(const struct cuda_linear_norm *norm, const void *x,
                                             const void *weight, void *stream)
{
    int32_t m = (int32_t)norm->held.rows, k = (int32_t)norm->held.k;
    void *normalised = norm->normalised;
    float *scales = norm->scales, *means = norm->means;
    void *of_rows[] = {&x, &weight, &normalised, &m, &k};
    void *folded[] = {&x, &scales, &means, &m, &k};
    return assay_cuda_launch(norm->function, &norm->held.launch, stream,
                             norm->way == CUDA_NORM_ROWS ? of_rows : folded);
}

enum assay_status assay_cuda_linear_norm_fold(const struct cuda_linear_norm *norm, const void *w,
                                              const void *weight, int64_t n, void *folded,
                                              struct assay_error *err)
{
    const struct cuda_held_rows *x = &norm->held;
    struct cuda_held_rows held = assay_cuda_held_rows(x->dtype, n, x->k, true, x->norm);
    cu_function function;
    int32_t rows = (int32_t)n, k = (int32_t)x->k;
    float *sums = norm->sums;
    void *parameters[] = {&w, &weight, &folded, &sums, &rows, &k};
    enum assay_status status =
        assay_cuda_held_function(&held, "linear_norm.cu", "fold_weights", "", &function, err);
    if (status == ASSAY_OK)
        status = assay_cuda_launch(function, &held.launch, NULL, parameters);
    if (status == ASSAY_OK)
        status = assay_cuda_check(assay_cuda_driver()->cuCtxSynchronize(), "cuCtxSynchronize", err);
    return status;
}

void assay_cuda_linear_norm_fini(struct cuda_linear_norm *norm)
{
    assay_cuda_free(norm->block, norm->block_bytes);
    *norm = (struct cuda_linear_norm){0};
}
