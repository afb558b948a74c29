/* cuda_op.h: what the kernels on the GPU share: compile options, how rows are given to threads, the
 * struct of a kernel. */
#ifndef ASSAY_KERNEL_CUDA_CUDA_OP_H
#define ASSAY_KERNEL_CUDA_CUDA_OP_H

#include "base/alloc.h"
#include "device/cuda/cuda.h"
#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

#include <limits.h>
#include <stdio.h>

/* types.cuh: ELEMENT, and the elements of 16 bytes. */
static inline int cuda_op_element(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 32 : dtype == ASSAY_DTYPE_F16 ? 16 : 17;
}

static inline int64_t cuda_op_vec(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 4 : 8;
}

static inline int64_t cuda_op_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

static inline int64_t cuda_op_min(int64_t a, int64_t b) { return a < b ? a : b; }

/* The threads of a block for so many pieces of work: whole warps, at most `most`. */
static inline unsigned cuda_op_threads(int64_t pieces, int64_t most)
{
    int64_t threads = cuda_op_ceil(pieces < 1 ? 1 : pieces, 32) * 32;
    return (unsigned)cuda_op_min(threads, most);
}

/* As many blocks as the GPU holds at once, and not more than there is work for. */
static inline unsigned cuda_op_grid(cu_function function, unsigned threads, int64_t pieces)
{
    int64_t held = assay_cuda_blocks_per_sm(function, threads, 0) * assay_cuda_properties()->sms;
    return (unsigned)cuda_op_min(pieces < 1 ? 1 : pieces, held);
}

/* ---- rows, see row.cuh ----------------------------------------------------------------------- */

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

static inline uint32_t cuda_rows_power(int64_t n)
{
    uint32_t power = 1;
    while (power < 32 && power < n)
        power *= 2;
    return power;
}

/* `warps` are those of a block whose teams are lanes. */
static inline struct cuda_rows cuda_rows_of(enum assay_dtype dtype, int64_t rows, int64_t dim,
                                            int64_t warps)
{
    struct cuda_rows r = {.rows = rows, .dim = dim, .lanes = 32, .at_once = 1};
    r.vector = dim % cuda_op_vec(dtype) == 0;
    int64_t items = r.vector ? dim / cuda_op_vec(dtype) : dim;
    if (dim > CUDA_ROW_MANY_MOST) {
        bool fits = dim <= CUDA_ROW_BLOCK_MOST;
        r.form = fits ? FORM_BLOCK : FORM_LONG;
        r.threads = fits ? cuda_op_threads(cuda_op_ceil(dim, CUDA_ROW_MANY), 1024) : 1024;
        return r;
    }
    bool few = dim <= CUDA_ROW_FEW_MOST;
    r.form = few ? FORM_FEW : FORM_MANY;
    r.lanes = cuda_rows_power(cuda_op_ceil(dim, few ? CUDA_ROW_FEW : CUDA_ROW_MANY));
    /* Neighbours should read at least 64 bytes side by side, where a row has them. */
    uint32_t beside = cuda_rows_power(cuda_op_min(items, r.vector ? 4 : 32));
    r.lanes = r.lanes > beside ? r.lanes : beside;
    int64_t of_warp = 32 / r.lanes;
    warps = cuda_op_min(warps, cuda_op_ceil(rows, of_warp));
    r.at_once = warps * of_warp;
    r.threads = (unsigned)warps * 32;
    return r;
}

/* The same, but a block has a row where rows are so few that a warp for each would leave most of
 * the GPU idle; where elements are loaded one by one, four times as many. What was faster on an
 * H200: layernorm of 132 rows of 1001 2.7 times, of 1024 1.0, softmax 1.5 and 1.1. */
static inline struct cuda_rows cuda_few_rows_of(enum assay_dtype dtype, int64_t rows, int64_t dim,
                                                int64_t warps)
{
    struct cuda_rows r = cuda_rows_of(dtype, rows, dim, warps);
    int64_t sms = assay_cuda_properties()->sms;
    bool few = rows <= sms || (!r.vector && rows <= 4 * sms && dim <= CUDA_ROW_MANY_MOST);
    if (few && dim > CUDA_ROW_FEW_MOST && dim <= CUDA_ROW_SPREAD_MOST) {
        r.form = FORM_SPREAD;
        r.lanes = 32;
        r.at_once = 1;
        r.threads = cuda_op_threads(cuda_op_ceil(dim, CUDA_ROW_FEW), 1024);
    }
    return r;
}

/* The lanes of a row where each holds as much as it can; else 0. */
static inline uint32_t cuda_rows_full(const struct cuda_rows *rows)
{
    int64_t held = rows->form == FORM_FEW ? CUDA_ROW_FEW : CUDA_ROW_MANY;
    bool lanes = rows->form == FORM_FEW || rows->form == FORM_MANY;
    return lanes && rows->lanes * held == rows->dim ? rows->lanes : 0;
}

/* Function `name` of a text that includes row.cuh; `more` are further options, "" for none. */
static inline enum assay_status cuda_rows_named(const struct cuda_rows *rows, const char *text,
                                                const char *name, enum assay_dtype dtype,
                                                const char *more, cu_function *out,
                                                struct assay_error *err)
{
    char options[96];
    snprintf(options, sizeof options, "-DELEMENT=%d -DVECTOR=%d -DFORM=%d%s%s",
             cuda_op_element(dtype), rows->vector, rows->form, more[0] ? " " : "", more);
    return assay_cuda_function(text, options, name, 0, out, err);
}

/* The one for these rows, "OP_FORM". */
static inline enum assay_status cuda_rows_function(const struct cuda_rows *rows, const char *text,
                                                   const char *op, enum assay_dtype dtype,
                                                   const char *more, cu_function *out,
                                                   struct assay_error *err)
{
    static const char *const forms[] = {[FORM_FEW] = "few",
                                        [FORM_MANY] = "many",
                                        [FORM_BLOCK] = "block",
                                        [FORM_SPREAD] = "block",
                                        [FORM_LONG] = "long"};
    char name[64];
    snprintf(name, sizeof name, "%s_%s", op, forms[rows->form]);
    return cuda_rows_named(rows, text, name, dtype, more, out, err);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static inline enum assay_status cuda_op_can_run(const struct assay_problem *problem,
                                                struct assay_error *why)
{
    (void)problem; /* any shape */
    return assay_cuda_can_compile(why);
}

/* `name` is the op's, without quotes. */
#define CUDA_OP_KERNEL(name_, setup_, run_, teardown_)                                             \
    CUDA_OP_KERNEL_WHERE(name_, cuda_op_can_run, setup_, run_, teardown_)
#define CUDA_OP_KERNEL_WHERE(name_, can_run_, setup_, run_, teardown_)                             \
    extern const struct assay_kernel assay_kernel_##name_##_cuda;                                  \
    const struct assay_kernel assay_kernel_##name_##_cuda = {                                      \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #name_ "_cuda",                                                                    \
        .op = #name_,                                                                              \
        .implementation = "cuda",                                                                  \
        .device = "cuda",                                                                          \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |            \
                  ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),                                               \
        .preference = 1,                                                                           \
        .can_run = can_run_,                                                                       \
        .setup = setup_,                                                                           \
        .run = run_,                                                                               \
        .teardown = teardown_,                                                                     \
    }

#endif
