/* linear_weights_cuda.c: weights of `linear` on the GPU; linear_weights_cuda.h has the layout. */
#include "kernel/cuda/linear/linear_weights_cuda.h"

#include "base/alloc.h"
#include "base/math.h"

#include <math.h>
#include <string.h>

enum { PART_ALIGNMENT = 256 };

/* ---- the block ------------------------------------------------------------------------------- */

/* Where each part begins, in bytes from the start of the block. */
struct layout {
    size_t row_scales, scales, zeros, bytes;
};

static size_t add_part(struct layout *layout, size_t bytes)
{
    size_t start = layout->bytes;
    layout->bytes = assay_round_up_bytes(start + bytes, PART_ALIGNMENT);
    return start;
}

static struct layout lay_out(const struct cuda_weights *w, bool rows)
{
    struct layout layout = {0};
    size_t n = (size_t)w->n;
    add_part(&layout, n * w->row_bytes);
    if (rows)
        layout.row_scales = add_part(&layout, n * sizeof(float));
    if (w->group) {
        size_t bytes = n * (size_t)(w->k / w->group) * assay_dtype_bytes(w->dtype);
        layout.scales = add_part(&layout, bytes);
        layout.zeros = add_part(&layout, bytes);
    }
    return layout;
}

static enum assay_status take_block(struct cuda_weights *w, const struct layout *layout,
                                    struct assay_error *err)
{
    enum assay_status status = assay_cuda_alloc(layout->bytes, &w->block, err);
    if (status != ASSAY_OK)
        return status;
    unsigned char *block = w->block;
    w->bytes = layout->bytes;
    w->row_scales = layout->row_scales ? (float *)(void *)(block + layout->row_scales) : NULL;
    w->scales = layout->scales ? block + layout->scales : NULL;
    w->zeros = layout->zeros ? block + layout->zeros : NULL;
    return ASSAY_OK;
}

/* ---- from panels to rows --------------------------------------------------------------------- */

/* Row `row` of the codes: a dword of each of the panel's lines. */
static void take_row(const struct assay_packed *packed, int64_t row, size_t row_bytes,
                     unsigned char *out)
{
    size_t panel = (size_t)(row / ASSAY_PANEL_ROWS) * assay_packed_panel_bytes(packed);
    const unsigned char *from = packed->codes + panel + row % ASSAY_PANEL_ROWS * 4;
    for (size_t done = 0; done < row_bytes; done += 4, from += ASSAY_LINE_BYTES)
        memcpy(out + done, from, row_bytes - done < 4 ? row_bytes - done : 4);
}

/* Row `row` of the scales or zeros of groups, which are [panel][groups][16]. */
static void take_groups(const struct assay_packed *packed, const void *array, int64_t row,
                        unsigned char *out)
{
    int64_t groups = packed->k / packed->group;
    size_t size = assay_dtype_bytes(packed->dtype);
    int64_t at = row / ASSAY_PANEL_ROWS * groups * ASSAY_PANEL_ROWS + row % ASSAY_PANEL_ROWS;
    const unsigned char *from = (const unsigned char *)array + (size_t)at * size;
    for (int64_t g = 0; g < groups; g++, from += ASSAY_PANEL_ROWS * size, out += size)
        memcpy(out, from, size);
}

/* A NaN among e4m3 codes makes every output of its row NaN. A scale of NaN does so too, and kernels
 * then need not look for it. */
static bool has_e4m3_nan(const unsigned char *codes, size_t n)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found |= (codes[i] & 0x7f) == 0x7f;
    return found;
}

static void take_rows(const struct assay_packed *packed, const struct cuda_weights *w,
                      const struct layout *layout, int32_t threads, unsigned char *block)
{
    float *row_scales = (float *)(void *)(block + layout->row_scales);
    size_t groups_bytes = w->group ? (size_t)(w->k / w->group) * assay_dtype_bytes(w->dtype) : 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < w->n; row++) {
        unsigned char *codes = block + (size_t)row * w->row_bytes;
        take_row(packed, row, w->row_bytes, codes);
        if (packed->row_scales)
            row_scales[row] = w->code == ASSAY_DTYPE_E4M3 && has_e4m3_nan(codes, w->row_bytes)
                                  ? NAN
                                  : packed->row_scales[row];
        if (packed->scales) {
            size_t at = (size_t)row * groups_bytes;
            take_groups(packed, packed->scales, row, block + layout->scales + at);
            take_groups(packed, packed->zeros, row, block + layout->zeros + at);
        }
    }
}

/* ---- making them ----------------------------------------------------------------------------- */

static enum assay_status no_memory(const struct cuda_weights *w, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for weights of %lld x %lld",
                           (long long)w->n, (long long)w->k);
}

/* To the host, encoded there, and back to the GPU. */
static enum assay_status encode(const struct assay_recipe *recipe, const void *weights,
                                int32_t threads, struct cuda_weights *w, struct assay_error *err)
{
    size_t count = (size_t)w->n * (size_t)w->k, size = assay_dtype_bytes(w->dtype);
    struct assay_packed packed = {0};
    unsigned char *block = NULL, *host = assay_calloc(count, size);
    enum assay_status status = host ? ASSAY_OK : no_memory(w, err);
    if (status == ASSAY_OK)
        status = assay_cuda_download(host, weights, count * size, err);
    if (status == ASSAY_OK)
        status = assay_packed_create(recipe, w->dtype, host, w->n, w->k, threads, &packed, err);
    assay_free(host);
    if (status != ASSAY_OK)
        return status;
    struct layout layout = lay_out(w, packed.row_scales != NULL);
    block = assay_calloc(layout.bytes, 1);
    status = block ? take_block(w, &layout, err) : no_memory(w, err);
    if (status == ASSAY_OK) {
        take_rows(&packed, w, &layout, threads, block);
        status = assay_cuda_upload(w->block, block, w->bytes, err);
    }
    assay_packed_fini(&packed);
    assay_free(block);
    return status;
}

static enum assay_status keep(const void *weights, struct cuda_weights *w, struct assay_error *err)
{
    struct layout layout = lay_out(w, false);
    enum assay_status status = take_block(w, &layout, err);
    if (status == ASSAY_OK)
        status = assay_cuda_copy(w->block, weights, (size_t)w->n * w->row_bytes, err);
    return status;
}

enum assay_status assay_cuda_weights_create(const struct assay_recipe *recipe,
                                            enum assay_dtype dtype, const void *weights, int64_t n,
                                            int64_t k, int32_t threads, struct cuda_weights *out,
                                            struct assay_error *err)
{
    *out = (struct cuda_weights){0};
    enum assay_status status = assay_recipe_fits(recipe, dtype, k, err);
    if (status != ASSAY_OK)
        return status;
    size_t bits = (size_t)assay_dtype_info(recipe->code ? recipe->code : dtype)->bits;
    struct cuda_weights w = {
        .dtype = dtype,
        .code = recipe->code,
        .n = n,
        .k = k,
        .group = recipe->group,
        .row_bytes = ((size_t)k * bits + 7) / 8,
    };
    status = recipe->code ? encode(recipe, weights, threads < 1 ? 1 : threads, &w, err)
                          : keep(weights, &w, err);
    if (status == ASSAY_OK)
        *out = w;
    else
        assay_cuda_weights_fini(&w);
    return status;
}

/* Where `part` of one block is in another of the same layout. */
static void *moved(const struct cuda_weights *from, const void *part, void *block)
{
    if (!part)
        return NULL;
    return (unsigned char *)block + ((const unsigned char *)part - (unsigned char *)from->block);
}

enum assay_status assay_cuda_weights_copy(const struct cuda_weights *from, struct cuda_weights *out,
                                          struct assay_error *err)
{
    struct cuda_weights w = *from;
    w.block = NULL;
    *out = (struct cuda_weights){0};
    enum assay_status status = assay_cuda_alloc(from->bytes, &w.block, err);
    if (status != ASSAY_OK)
        return status;
    w.row_scales = moved(from, from->row_scales, w.block);
    w.scales = moved(from, from->scales, w.block);
    w.zeros = moved(from, from->zeros, w.block);
    status = assay_cuda_copy(w.block, from->block, from->bytes, err);
    if (status == ASSAY_OK)
        *out = w;
    else
        assay_cuda_weights_fini(&w);
    return status;
}

void assay_cuda_weights_fini(struct cuda_weights *weights)
{
    assay_cuda_free(weights->block, weights->bytes);
    *weights = (struct cuda_weights){0};
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void forget(struct cuda_weight_sets *sets)
{
    for (int64_t i = 0; i < sets->n; i++)
        assay_cuda_weights_fini(&sets->sets[i]);
    sets->n = 0;
}

enum assay_status assay_cuda_weights_prepare(struct cuda_weight_sets *sets, int64_t set,
                                             const struct assay_recipe *recipe,
                                             enum assay_dtype dtype, const void *weights, int64_t n,
                                             int64_t k, int32_t threads, struct assay_error *err)
{
    if (set == 0)
        forget(sets);
    if (set < sets->n)
        return ASSAY_OK; /* all sets hold the same */
    if (set > sets->n)
        return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "weights of set %lld of only %lld",
                               (long long)set, (long long)sets->n);
    if (set >= sets->capacity) {
        int64_t capacity = set + 1 > 2 * sets->capacity ? set + 1 : 2 * sets->capacity;
        struct cuda_weights *grown = assay_realloc(sets->sets, (size_t)capacity, sizeof *grown);
        if (!grown)
            return assay_error_nomem(err);
        sets->sets = grown;
        sets->capacity = capacity;
    }
    enum assay_status status =
        set == 0
            ? assay_cuda_weights_create(recipe, dtype, weights, n, k, threads, &sets->sets[0], err)
            : assay_cuda_weights_copy(&sets->sets[0], &sets->sets[set], err);
    if (status == ASSAY_OK)
        sets->n = set + 1;
    return status;
}

void assay_cuda_weight_sets_fini(struct cuda_weight_sets *sets)
{
    forget(sets);
    assay_free(sets->sets);
    *sets = (struct cuda_weight_sets){0};
}
