/* activations_cuda.c: x quantised on the GPU: which kernel of activations.cu, with how many
 * threads.
 *
 * A scale for each row is one launch; a row stays in the registers of a warp or a block until its
 * scale is known.
 *
 * A scale for the whole tensor is one launch as well, of no more blocks than are resident at once:
 * they meet in the middle (a counter in memory that only grows) and go on with the greatest
 * magnitude of all. What a block has read stays in its registers meanwhile, up to 17 MB on an H200,
 * so x is read once where two launches would read it twice; beyond that the second reading goes
 * backwards, through what L2 still has. Blocks wait for each other (a grid barrier), so all must
 * become resident: other kernels end sooner or later, and two of these never run at once, because
 * their launches are in one stream. With a norm it takes two launches by rows: a row's statistics
 * must be known before its values. They are kept, so that the second read of x, mostly from L2, is
 * all it costs. */
#include "kernel/cuda/linear/activations_cuda.h"

#include "kernel/cuda/cuda_op.h"
#include "kernel/cuda/linear/linear_norm_cuda.h"

#include <string.h>

enum { ALIGN = 256, MOST_HELD = 8, TENSOR_THREADS = 512, TENSOR_BLOCKS = 2 };

/* What stays the same from call to call. */
struct plan {
    struct assay_cuda_launch launch;
    void *meeting; /* device: see activations.cu; the tally where there is a norm */
    void *norms;   /* device: [m], statistics of rows, where a norm and one scale need them */
    int32_t m, k, k_padded;
    uint32_t vectors, per_row;
};

/* ---- which kernel ---------------------------------------------------------------------------- */

static bool rows_are_aligned(const struct cuda_activations *a)
{
    return a->k % cuda_op_vec(a->dtype) == 0 && a->k_padded % cuda_op_vec(a->dtype) == 0;
}

static const char *code_option(const struct cuda_activations *a)
{
    return a->code == ASSAY_DTYPE_E4M3 ? "-DE4M3=1" : "-DE4M3=0";
}

/* By rows: one function, or two where the rows share a scale. */
static enum assay_status choose_rows(struct cuda_activations *a, struct plan *p,
                                     struct assay_error *err)
{
    static const char *const own[] = {"quantise_rows", NULL};
    static const char *const shared[] = {"measure_rows", "encode_rows"};
    const char *const *names = a->scope == ASSAY_SCOPE_TENSOR ? shared : own;
    struct cuda_held_rows rows =
        assay_cuda_held_rows(a->dtype, a->m, a->k, rows_are_aligned(a), a->norm);
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < 2 && names[i] && status == ASSAY_OK; i++)
        status = assay_cuda_held_function(&rows, "activations.cu", names[i], code_option(a),
                                          &a->functions[i], err);
    p->launch = rows.launch;
    return status;
}

static enum assay_status compile_tensor(struct cuda_activations *a, int64_t held, bool flat,
                                        bool rest, struct assay_error *err)
{
    return assay_cuda_op_compile(
        &a->functions[0], err, "activations.cu", "quantise_tensor", 0,
        "-DELEMENT=%d -DALIGNED=%d -DTHREADS=%d -DHELD=%d -DREST=%d -DFLAT=%d %s",
        cuda_op_element(a->dtype), rows_are_aligned(a), TENSOR_THREADS, (int)held, rest, flat,
        code_option(a));
}

/* As many blocks as there is work for, and no more than are resident at once. The kernel's bound of
 * registers is for two on an SM; where fewer fit all the same, each holds or rereads more. */
static enum assay_status choose_tensor(struct cuda_activations *a, struct plan *p,
                                       struct assay_error *err)
{
    int64_t vec = cuda_op_vec(a->dtype), per_row = assay_ceil_div(a->k, vec),
            vectors = a->m * per_row;
    bool flat = (a->k == a->k_padded || a->m == 1) && a->m * a->k % vec == 0;
    if (flat)
        vectors = a->m * a->k / vec;
    int64_t sms = assay_cuda_properties()->sms, wanted = assay_ceil_div(vectors, TENSOR_THREADS);
    int64_t grid = assay_min(wanted, sms * TENSOR_BLOCKS);
    int64_t held = assay_min(assay_ceil_div(wanted, grid), MOST_HELD);
    enum assay_status status = compile_tensor(a, held, flat, held * grid < wanted, err);
    if (status != ASSAY_OK)
        return status;
    if (grid > sms * assay_cuda_blocks_per_sm(a->functions[0], TENSOR_THREADS, 0)) {
        status = compile_tensor(a, held, flat, true, err);
        if (status != ASSAY_OK)
            return status;
        grid = sms * assay_cuda_blocks_per_sm(a->functions[0], TENSOR_THREADS, 0);
    }
    p->launch.threads = TENSOR_THREADS;
    p->launch.grid_x = (unsigned)grid;
    p->vectors = (uint32_t)vectors;
    p->per_row = (uint32_t)per_row;
    return status;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool measures_first(const struct cuda_activations *a)
{
    return a->norm && a->scope == ASSAY_SCOPE_TENSOR;
}

/* Codes, scales, the meeting, statistics of rows. All of it starts as 0; run never writes where
 * codes are padded. */
static enum assay_status allocate(struct cuda_activations *a, struct plan *p,
                                  struct assay_error *err)
{
    bool rows = a->scope == ASSAY_SCOPE_ROW;
    int64_t n_scales = rows ? a->m_padded : 1;
    int64_t codes = assay_round_up(a->m_padded * a->k_padded, ALIGN);
    int64_t scales = assay_round_up(n_scales * (int64_t)sizeof(float), ALIGN);
    int64_t norms = measures_first(a) ? a->m * 2 * (int64_t)sizeof(double) : 0; /* or floats */
    a->block_bytes = (size_t)(codes + scales + ALIGN + norms);
    enum assay_status status = assay_cuda_alloc(a->block_bytes, &a->block, err);
    if (status != ASSAY_OK)
        return status;
    a->codes = a->block;
    a->scales = (float *)(a->codes + codes);
    p->meeting = a->codes + codes + scales;
    p->norms = a->codes + codes + scales + ALIGN;
    const struct cuda_driver_api *cu = assay_cuda_driver();
    status = assay_cuda_check(
        cu->cuMemsetD8Async((cu_deviceptr)(uintptr_t)a->block, 0, a->block_bytes, NULL),
        "cuMemsetD8Async", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(cu->cuCtxSynchronize(), "cuCtxSynchronize", err);
    if (status != ASSAY_OK || !rows || a->m_padded == a->m)
        return status;
    size_t padded = (size_t)(a->m_padded - a->m);
    float *ones = assay_calloc(padded, sizeof *ones);
    if (!ones)
        return assay_error_nomem(err);
    for (size_t i = 0; i < padded; i++)
        ones[i] = 1;
    status = assay_cuda_upload(a->scales + a->m, ones, padded * sizeof *ones, err);
    assay_free(ones);
    return status;
}

/* ---- the interface --------------------------------------------------------------------------- */

static enum assay_status check(const struct cuda_activations *a, struct assay_error *err)
{
    bool known = a->code == ASSAY_DTYPE_S8 || a->code == ASSAY_DTYPE_E4M3;
    bool high =
        a->dtype == ASSAY_DTYPE_F32 || a->dtype == ASSAY_DTYPE_F16 || a->dtype == ASSAY_DTYPE_BF16;
    if (!known || !high)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "activations of type %s as %s",
                               assay_dtype_name(a->dtype), assay_dtype_name(a->code));
    if (a->m > INT32_MAX || a->k_padded > INT32_MAX - 65536 || a->m * a->k / 4 > INT32_MAX)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "x is too large to be quantised");
    return ASSAY_OK;
}

enum assay_status assay_cuda_activations_create(const struct assay_recipe *recipe,
                                                enum assay_dtype dtype, int norm, int64_t m,
                                                int64_t k, int64_t m_multiple, int64_t k_multiple,
                                                struct cuda_activations *out,
                                                struct assay_error *err)
{
    *out = (struct cuda_activations){
        .dtype = dtype,
        .code = recipe->activation,
        .scope = recipe->activation_scope,
        .norm = norm,
        .m = m,
        .k = k,
        .m_padded = assay_round_up(m, m_multiple),
        .k_padded = assay_round_up(k, k_multiple),
    };
    enum assay_status status = check(out, err);
    if (status != ASSAY_OK)
        return status;
    struct plan *p = out->own = assay_calloc(1, sizeof *p);
    if (!p)
        return assay_error_nomem(err);
    p->m = (int32_t)m;
    p->k = (int32_t)k;
    p->k_padded = (int32_t)out->k_padded;
    status = allocate(out, p, err);
    if (status == ASSAY_OK)
        status = out->scope == ASSAY_SCOPE_TENSOR && !norm ? choose_tensor(out, p, err)
                                                           : choose_rows(out, p, err);
    if (status != ASSAY_OK)
        assay_cuda_activations_fini(out);
    return status;
}

static enum assay_status run_measured(const struct cuda_activations *a, struct plan *p,
                                      const void *x, const void *weight, void *stream)
{
    unsigned char *codes = a->codes;
    float *scales = a->scales;
    void *measure[] = {&x, &weight, &p->norms, &scales, &p->meeting, &p->m, &p->k};
    void *encode[] = {&x, &weight, &codes, &p->norms, &p->meeting, &p->m, &p->k, &p->k_padded};
    enum assay_status status = assay_cuda_launch(a->functions[0], &p->launch, stream, measure);
    return status == ASSAY_OK ? assay_cuda_launch(a->functions[1], &p->launch, stream, encode)
                              : status;
}

enum assay_status assay_cuda_activations_run(const struct cuda_activations *a, const void *x,
                                             const void *weight, void *stream)
{
    struct plan p = *(const struct plan *)a->own;
    unsigned char *codes = a->codes;
    float *scales = a->scales;
    if (measures_first(a))
        return run_measured(a, &p, x, weight, stream);
    void *tensor[] = {&x, &codes, &scales, &p.meeting, &p.vectors, &p.per_row, &p.k, &p.k_padded};
    void *rows[] = {&x, &weight, &codes, &scales, &p.m, &p.k, &p.k_padded};
    return assay_cuda_launch(a->functions[0], &p.launch, stream,
                             a->scope == ASSAY_SCOPE_TENSOR ? tensor : rows);
}

void assay_cuda_activations_fini(struct cuda_activations *a)
{
    assay_cuda_free(a->block, a->block_bytes);
    assay_free(a->own);
    *a = (struct cuda_activations){0};
}
