/* cuda_rows.c: a row for some lanes of a warp, for a block, or in pieces; cuda_rows.h. */
#include "kernel/cuda/cuda_rows.h"

static uint32_t power_of(int64_t n)
{
    uint32_t power = 1;
    while (power < 32 && power < n)
        power *= 2;
    return power;
}

struct cuda_rows assay_cuda_rows(enum assay_dtype dtype, int64_t rows, int64_t dim, int64_t warps)
{
    struct cuda_rows r = {.rows = rows, .dim = dim, .lanes = 32, .at_once = 1};
    r.vector = dim % cuda_op_vec(dtype) == 0;
    int64_t items = r.vector ? dim / cuda_op_vec(dtype) : dim;
    if (dim > CUDA_ROW_MANY_MOST) {
        bool fits = dim <= CUDA_ROW_BLOCK_MOST;
        r.form = fits ? FORM_BLOCK : FORM_LONG;
        r.threads = fits ? cuda_op_threads(assay_ceil_div(dim, CUDA_ROW_MANY), 1024) : 1024;
        return r;
    }
    bool few = dim <= CUDA_ROW_FEW_MOST;
    r.form = few ? FORM_FEW : FORM_MANY;
    r.lanes = power_of(assay_ceil_div(dim, few ? CUDA_ROW_FEW : CUDA_ROW_MANY));
    /* Neighbours should read at least 64 bytes side by side, where a row has them. */
    uint32_t beside = power_of(assay_min(items, r.vector ? 4 : 32));
    r.lanes = r.lanes > beside ? r.lanes : beside;
    int64_t of_warp = 32 / r.lanes;
    warps = assay_min(warps, assay_ceil_div(rows, of_warp));
    r.at_once = warps * of_warp;
    r.threads = (unsigned)warps * 32;
    return r;
}

/* Where elements are loaded one by one, four times as many rows are few. Faster on an H200:
 * layernorm of 132 rows of 1001 2.7 times, of 1024 1.0, softmax 1.5 and 1.1. */
struct cuda_rows assay_cuda_few_rows(enum assay_dtype dtype, int64_t rows, int64_t dim,
                                     int64_t warps)
{
    struct cuda_rows r = assay_cuda_rows(dtype, rows, dim, warps);
    int64_t sms = assay_cuda_properties()->sms;
    bool few = rows <= sms || (!r.vector && rows <= 4 * sms && dim <= CUDA_ROW_MANY_MOST);
    if (few && dim > CUDA_ROW_FEW_MOST && dim <= CUDA_ROW_SPREAD_MOST) {
        r.form = FORM_SPREAD;
        r.lanes = 32;
        r.at_once = 1;
        r.threads = cuda_op_threads(assay_ceil_div(dim, CUDA_ROW_FEW), 1024);
    }
    return r;
}

/* A thread of 1024 has 64 registers. Elements of 16 bits that are loaded one by one take as many as
 * those of 32. */
struct cuda_rows assay_cuda_rows_of_two(enum assay_dtype dtype, int64_t rows, int64_t dim,
                                        int64_t warps, int *held)
{
    struct cuda_rows r = assay_cuda_few_rows(dtype, rows, dim, warps);
    bool narrow = r.vector && dtype != ASSAY_DTYPE_F32;
    *held = r.form == FORM_SPREAD ? CUDA_ROW_FEW : narrow ? CUDA_ROW_MANY : CUDA_ROW_MANY / 2;
    if (r.form == FORM_BLOCK && dim > 1024 * (int64_t)*held)
        r.form = FORM_LONG;
    if (r.form == FORM_BLOCK || r.form == FORM_LONG)
        r.threads = cuda_op_threads(assay_ceil_div(dim, *held), 1024);
    return r;
}

struct assay_cuda_launch assay_cuda_rows_launch(const struct cuda_rows *rows)
{
    return (struct assay_cuda_launch){
        .grid_x = (unsigned)assay_ceil_div(rows->rows, rows->at_once),
        .threads = rows->threads,
    };
}

uint32_t assay_cuda_rows_full(const struct cuda_rows *rows)
{
    int64_t held = rows->form == FORM_FEW ? CUDA_ROW_FEW : CUDA_ROW_MANY;
    bool lanes = rows->form == FORM_FEW || rows->form == FORM_MANY;
    return lanes && rows->lanes * held == rows->dim ? rows->lanes : 0;
}

enum assay_status assay_cuda_rows_named(const struct cuda_rows *rows, const char *text,
                                        const char *name, enum assay_dtype dtype, const char *more,
                                        cu_function *out, struct assay_error *err)
{
    return assay_cuda_op_compile(out, err, text, name, 0, "-DELEMENT=%d -DVECTOR=%d -DFORM=%d%s%s",
                                 cuda_op_element(dtype), rows->vector, rows->form,
                                 more[0] ? " " : "", more);
}

enum assay_status assay_cuda_rows_function(const struct cuda_rows *rows, const char *text,
                                           const char *op, enum assay_dtype dtype, const char *more,
                                           cu_function *out, struct assay_error *err)
{
    static const char *const forms[] = {[FORM_FEW] = "few",
                                        [FORM_MANY] = "many",
                                        [FORM_BLOCK] = "block",
                                        [FORM_SPREAD] = "block",
                                        [FORM_LONG] = "long"};
    char name[64];
    snprintf(name, sizeof name, "%s_%s", op, forms[rows->form]);
    return assay_cuda_rows_named(rows, text, name, dtype, more, out, err);
}
