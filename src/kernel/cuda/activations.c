/* activations.c: x quantised on the GPU: which kernel of activations.cu, with how many threads.
 *
 * A scale for each row is one launch; a row stays in the registers of a warp or a block until its
 * scale is known.
 *
 * A scale for the whole tensor is one launch as well, of no more blocks than are resident at once:
 * they meet in the middle (a counter in memory that only grows) and go on with the greatest
 * magnitude of all. What a block has read stays in its registers meanwhile, up to 17 MB on an H200,
 * so x is read once where two launches would read it twice; beyond that the second reading goes
 * backwards, through what the second-level cache still has. Blocks wait for each other, so nothing
 * else may keep them from the GPU for good: other kernels that end are no danger, and two of these
 * never run at once, because their launches are in one stream. */
#include "kernel/cuda/activations.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { VEC_BYTES = 16, ALIGN = 256, MOST_HELD = 8, TENSOR_THREADS = 512, TENSOR_BLOCKS = 2 };

/* What stays the same from call to call. */
struct plan {
    struct assay_cuda_launch launch;
    void *meeting; /* device: see activations.cu */
    int32_t m, k, k_padded;
    uint32_t vectors, per_row;
};

static int64_t up_to(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- which kernel ---------------------------------------------------------------------------- */

static int element_of(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F32 ? 32 : dtype == ASSAY_DTYPE_F16 ? 16 : 17;
}

static int64_t vec_elements(const struct cuda_activations *a)
{
    return VEC_BYTES / (int64_t)assay_dtype_bytes(a->dtype);
}

static int common_options(const struct cuda_activations *a, char *text, size_t size)
{
    int64_t vec = vec_elements(a);
    bool aligned = a->k % vec == 0 && a->k_padded % vec == 0;
    return snprintf(text, size, "-DELEMENT=%d -DE4M3=%d -DALIGNED=%d", element_of(a->dtype),
                    a->code == ASSAY_DTYPE_E4M3, aligned);
}

/* Short rows are a warp's. Others are a block's: with four vectors for each thread where there are
 * rows enough to fill the GPU, with as many threads as can be where there are few. */
static enum assay_status choose_rows(struct cuda_activations *a, struct plan *p,
                                     struct assay_error *err)
{
    enum { WARP = 32, WARP_THREADS = 128 };
    int64_t vectors = up_to(a->k, vec_elements(a)) / vec_elements(a);
    bool crowded = a->m >= 2 * (int64_t)assay_cuda_properties()->sms;
    int64_t threads = WARP_THREADS, group = WARP, wanted = crowded ? 4 : 1;
    if (vectors > WARP * wanted) {
        int64_t most = crowded ? 512 : 1024;
        while (threads < most && vectors > threads * wanted)
            threads *= 2;
        group = threads;
    }
    int64_t held = least(up_to(vectors, group) / group, threads == 1024 ? 4 : MOST_HELD);
    char options[192];
    int length = common_options(a, options, sizeof options);
    snprintf(options + length, sizeof options - (size_t)length,
             " -DTHREADS=%d -DGROUP=%d -DHELD=%d -DREST=%d", (int)threads, (int)group, (int)held,
             held * group < vectors);
    int64_t rows = threads / group;
    p->launch.threads = (unsigned)threads;
    p->launch.grid_x = (unsigned)(up_to(a->m, rows) / rows);
    return assay_cuda_function("activations.cu", options, "quantise_rows", 0, &a->functions[0],
                               err);
}

static enum assay_status compile_tensor(struct cuda_activations *a, int64_t held, bool flat,
                                        bool rest, struct assay_error *err)
{
    char options[192];
    int length = common_options(a, options, sizeof options);
    snprintf(options + length, sizeof options - (size_t)length,
             " -DTHREADS=%d -DHELD=%d -DFLAT=%d -DREST=%d", TENSOR_THREADS, (int)held, flat, rest);
    return assay_cuda_function("activations.cu", options, "quantise_tensor", 0, &a->functions[0],
                               err);
}

/* As many blocks as there is work for, and no more than are resident at once. The kernel's bound of
 * registers is for two on an SM; where fewer fit all the same, each holds or rereads more. */
static enum assay_status choose_tensor(struct cuda_activations *a, struct plan *p,
                                       struct assay_error *err)
{
    int64_t vec = vec_elements(a), per_row = up_to(a->k, vec) / vec, vectors = a->m * per_row;
    bool flat = (a->k == a->k_padded || a->m == 1) && a->m * a->k % vec == 0;
    if (flat)
        vectors = a->m * a->k / vec;
    int64_t sms = assay_cuda_properties()->sms, wanted = up_to(vectors, TENSOR_THREADS);
    wanted /= TENSOR_THREADS;
    int64_t grid = least(wanted, sms * TENSOR_BLOCKS);
    int64_t held = least(up_to(wanted, grid) / grid, MOST_HELD);
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

/* Codes, scales, the meeting. All of it starts as 0; run never writes where codes are padded. */
static enum assay_status make_room(struct cuda_activations *a, struct plan *p,
                                   struct assay_error *err)
{
    bool rows = a->scope == ASSAY_SCOPE_ROW;
    int64_t n_scales = rows ? a->m_padded : 1;
    int64_t codes = up_to(a->m_padded * a->k_padded, ALIGN);
    int64_t scales = up_to(n_scales * (int64_t)sizeof(float), ALIGN);
    a->block_bytes = (size_t)(codes + scales + ALIGN);
    enum assay_status status = assay_cuda_alloc(a->block_bytes, &a->block, err);
    if (status != ASSAY_OK)
        return status;
    a->codes = a->block;
    a->scales = (float *)(a->codes + codes);
    p->meeting = a->codes + codes + scales;
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
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
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
                                                enum assay_dtype dtype, int64_t m, int64_t k,
                                                int64_t m_multiple, int64_t k_multiple,
                                                struct cuda_activations *out,
                                                struct assay_error *err)
{
    *out = (struct cuda_activations){
        .dtype = dtype,
        .code = recipe->activation,
        .scope = recipe->activation_scope,
        .m = m,
        .k = k,
        .m_padded = up_to(m, m_multiple),
        .k_padded = up_to(k, k_multiple),
    };
    enum assay_status status = check(out, err);
    if (status != ASSAY_OK)
        return status;
    struct plan *p = out->own = assay_calloc(1, sizeof *p);
    if (!p)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    p->m = (int32_t)m;
    p->k = (int32_t)k;
    p->k_padded = (int32_t)out->k_padded;
    status = make_room(out, p, err);
    if (status == ASSAY_OK)
        status = out->scope == ASSAY_SCOPE_TENSOR ? choose_tensor(out, p, err)
                                                  : choose_rows(out, p, err);
    if (status != ASSAY_OK)
        assay_cuda_activations_fini(out);
    return status;
}

enum assay_status assay_cuda_activations_run(const struct cuda_activations *a, const void *x,
                                             void *stream)
{
    struct plan p = *(const struct plan *)a->own;
    unsigned char *codes = a->codes;
    float *scales = a->scales;
    if (a->scope == ASSAY_SCOPE_TENSOR) {
        void *parameters[] = {&x,         &codes,     &scales, &p.meeting,
                              &p.vectors, &p.per_row, &p.k,    &p.k_padded};
        return assay_cuda_launch(a->functions[0], &p.launch, stream, parameters);
    }
    void *parameters[] = {&x, &codes, &scales, &p.m, &p.k, &p.k_padded};
    return assay_cuda_launch(a->functions[0], &p.launch, stream, parameters);
}

void assay_cuda_activations_fini(struct cuda_activations *a)
{
    assay_cuda_free(a->block, a->block_bytes);
    assay_free(a->own);
    *a = (struct cuda_activations){0};
}
