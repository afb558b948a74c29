/* quant_packed.c: encodes weights and lays them out in panels; quant.h has the layout. */
#include "quant/quant_loops.h"
#include "quant/quant_recipe.h"

#include "base/alloc.h"

#include <assert.h>
#include <omp.h>
#include <sys/mman.h>

/* ---- the block of memory -------------------------------------------------------------------- */

enum { ALIGNMENT = 64 };
static const size_t huge_page = (size_t)2 << 20;

/* Zeroed, aligned to 64 bytes, on huge pages where it is large enough for them to matter. The
 * address to free lies in front of it. */
static unsigned char *block_create(size_t bytes)
{
    size_t align = bytes >= 2 * huge_page ? huge_page : ALIGNMENT;
    if (bytes > SIZE_MAX - align - ALIGNMENT)
        return NULL;
    unsigned char *raw = assay_calloc(bytes + align + ALIGNMENT, 1);
    if (!raw)
        return NULL;
    uintptr_t start = ((uintptr_t)raw + ALIGNMENT + align - 1) & ~(uintptr_t)(align - 1);
    unsigned char *block = raw + (start - (uintptr_t)raw);
    if (align == huge_page)
        madvise(block, bytes & ~(huge_page - 1), MADV_HUGEPAGE); /* slower without, nothing else */
    memcpy(block - sizeof raw, &raw, sizeof raw);
    return block;
}

static void block_free(unsigned char *block)
{
    void *raw = NULL;
    if (block)
        memcpy(&raw, block - sizeof raw, sizeof raw);
    assay_free(raw);
}

/* Where each part begins, in bytes from the start of the block; 0 for parts that are not there. */
struct layout {
    size_t row_scales, scales, zeros, row_sums, bytes;
};

/* Adds a part of a * b * c bytes, rounded up. False on overflow. */
static bool add_part(struct layout *layout, size_t *part, size_t a, size_t b, size_t c)
{
    size_t size;
    *part = layout->bytes;
    if (__builtin_mul_overflow(a, b, &size) || __builtin_mul_overflow(size, c, &size) ||
        __builtin_add_overflow(layout->bytes, size, &size) || size > SIZE_MAX / 4)
        return false;
    layout->bytes = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return true;
}

static bool integers(const struct assay_packed *p)
{
    return p->code == ASSAY_DTYPE_S8 || (p->code == ASSAY_DTYPE_NONE && p->dtype == ASSAY_DTYPE_S8);
}

static bool lay_out(const struct assay_packed *p, struct layout *out)
{
    *out = (struct layout){0};
    size_t panels = (size_t)p->panels, start;
    bool fits = add_part(out, &start, panels, (size_t)p->lines, ASSAY_LINE_BYTES);
    if (p->scope == ASSAY_SCOPE_ROW || p->scope == ASSAY_SCOPE_TENSOR)
        fits = fits && add_part(out, &out->row_scales, panels, ASSAY_PANEL_ROWS, sizeof(float));
    if (p->scope == ASSAY_SCOPE_GROUP) {
        size_t groups = (size_t)(p->k / p->group), size = assay_dtype_bytes(p->dtype);
        fits = fits && add_part(out, &out->scales, panels, groups, ASSAY_PANEL_ROWS * size);
        fits = fits && add_part(out, &out->zeros, panels, groups, ASSAY_PANEL_ROWS * size);
    }
    if (integers(p))
        fits = fits && add_part(out, &out->row_sums, panels, ASSAY_PANEL_ROWS, sizeof(int32_t));
    return fits;
}

static void set_pointers(struct assay_packed *p, unsigned char *block, const struct layout *layout)
{
    p->codes = block;
    p->bytes = layout->bytes;
    p->row_scales = layout->row_scales ? (float *)(void *)(block + layout->row_scales) : NULL;
    p->scales = layout->scales ? block + layout->scales : NULL;
    p->zeros = layout->zeros ? block + layout->zeros : NULL;
    p->row_sums = layout->row_sums ? (int32_t *)(void *)(block + layout->row_sums) : NULL;
}

static enum assay_status no_memory(const struct assay_packed *p, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL,
                           "no memory for packed weights of %lld x %lld", (long long)p->n,
                           (long long)p->k);
}

static enum assay_status take_block(struct assay_packed *p, struct assay_error *err)
{
    struct layout layout;
    unsigned char *block = lay_out(p, &layout) ? block_create(layout.bytes) : NULL;
    if (!block)
        return no_memory(p, err);
    set_pointers(p, block, &layout);
    return ASSAY_OK;
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* What all threads share, and one thread's memory: a row in f32, its codes in whole bytes, and 16
 * rows of codes as they lie along k. The rows of codes are 64 bytes apart from a power of two, or
 * all 16 would share one set of the cache. */
struct job {
    const struct assay_recipe *recipe;
    const struct assay_quant_loops *loops;
    const unsigned char *weights;
    struct assay_packed *packed;
    float tensor_scale;
    int64_t stride; /* of a row of codes, in dwords */
};

struct scratch {
    float *row;
    uint8_t *bytes;
    uint32_t *codes;
};

static const void *source_row(const struct job *job, int64_t row)
{
    const struct assay_packed *p = job->packed;
    return job->weights + (size_t)row * (size_t)p->k * assay_dtype_bytes(p->dtype);
}

static void encode_row(const struct job *job, int64_t row, const float *w, void *codes)
{
    struct assay_packed *p = job->packed;
    float scale = job->tensor_scale, zero = 0;
    assert(p->row_scales);
    if (p->scope == ASSAY_SCOPE_ROW)
        job->recipe->quant->solve(job->recipe, p->dtype, w, p->k, &scale, &zero);
    p->row_scales[row] = scale;
    if (p->row_sums)
        p->row_sums[row] = job->loops->to_s8(w, p->k, 1.0f / scale, codes);
    else
        job->loops->to_e4m3(w, p->k, 1.0f / scale, codes);
}

/* Returns the value as it was stored. */
static float store_rounded(enum assay_dtype dtype, void *array, int64_t index, float value)
{
    if (dtype == ASSAY_DTYPE_F32)
        return ((float *)array)[index] = value;
    uint16_t *halves = array;
    if (dtype == ASSAY_DTYPE_F16)
        return assay_f16_to_f32(halves[index] = assay_f16_from_f32(value));
    return assay_bf16_to_f32(halves[index] = assay_bf16_from_f32(value));
}

static void encode_groups(const struct job *job, int64_t row, struct scratch scratch, void *codes)
{
    struct assay_packed *p = job->packed;
    bool four = p->code == ASSAY_DTYPE_U4;
    uint8_t *bytes = four ? scratch.bytes : codes;
    int64_t groups = p->k / p->group, half = assay_recipe_half(p->code);
    int64_t at = row / ASSAY_PANEL_ROWS * groups * ASSAY_PANEL_ROWS + row % ASSAY_PANEL_ROWS;
    for (int64_t first = 0; first < p->k; first += p->group, at += ASSAY_PANEL_ROWS) {
        const float *w = scratch.row + first;
        float scale, zero;
        job->recipe->quant->solve(job->recipe, p->dtype, w, p->group, &scale, &zero);
        scale = store_rounded(p->dtype, p->scales, at, scale);
        zero = store_rounded(p->dtype, p->zeros, at, zero);
        job->loops->to_u8(w, p->group, zero - (float)half * scale, scale, four ? 15 : 255,
                          bytes + first);
    }
    if (four)
        job->loops->pair(bytes, p->k, codes);
}

static int32_t sum_of_s8(const int8_t *codes, int64_t n)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += codes[i];
    return sum;
}

static void encode_panel(const struct job *job, int64_t panel, struct scratch scratch)
{
    struct assay_packed *p = job->packed;
    for (int64_t r = 0; r < ASSAY_PANEL_ROWS; r++) {
        int64_t row = panel * ASSAY_PANEL_ROWS + r;
        void *codes = scratch.codes + r * job->stride;
        if (row >= p->n) {
            memset(codes, 0, (size_t)p->lines * sizeof *scratch.codes);
        } else if (p->code == ASSAY_DTYPE_NONE) {
            memcpy(codes, source_row(job, row), (size_t)p->k * assay_dtype_bytes(p->dtype));
            if (p->row_sums)
                p->row_sums[row] = sum_of_s8(codes, p->k);
        } else {
            job->loops->widen(p->dtype, source_row(job, row), p->k, scratch.row);
            if (p->scales)
                encode_groups(job, row, scratch, codes);
            else
                encode_row(job, row, scratch.row, codes);
        }
    }
    void *out = p->codes + (size_t)panel * assay_packed_panel_bytes(p);
    job->loops->interleave(scratch.codes, job->stride, p->lines, out);
}

/* The scale of all weights: solved from the greatest magnitude of all rows. */
static float tensor_scale(const struct job *job, const struct scratch *scratch, int threads)
{
    const struct assay_packed *p = job->packed;
    float most = 0, scale = 1, zero = 0;
#pragma omp parallel num_threads(threads)
    {
        float *row = scratch[omp_get_thread_num()].row, own = 0;
#pragma omp for schedule(static)
        for (int64_t i = 0; i < p->n; i++) {
            job->loops->widen(p->dtype, source_row(job, i), p->k, row);
            float amax = job->loops->amax(row, p->k);
            own = own >= amax ? own : amax; /* NaN stays, once there */
        }
#pragma omp critical(assay_quant_amax)
        most = most >= own ? most : own;
    }
    job->recipe->quant->solve(job->recipe, p->dtype, &most, 1, &scale, &zero);
    return scale;
}

static enum assay_status encode(struct job *job, int32_t threads, struct assay_error *err)
{
    struct assay_packed *p = job->packed;
    int count = (int)(threads < 1 ? 1 : threads > p->panels ? p->panels : threads);
    job->stride = p->lines + ALIGNMENT / (int64_t)sizeof(uint32_t);
    size_t elements = ((size_t)p->k + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t codes_bytes = (size_t)job->stride * ASSAY_PANEL_ROWS * sizeof(uint32_t);
    size_t own_bytes = elements * (sizeof(float) + 1) + codes_bytes;
    struct scratch *scratch = assay_calloc((size_t)count, sizeof *scratch);
    unsigned char *memory = scratch ? block_create((size_t)count * own_bytes) : NULL;
    if (!memory) {
        assay_free(scratch);
        return no_memory(p, err);
    }
    for (int i = 0; i < count; i++) {
        unsigned char *own = memory + (size_t)i * own_bytes;
        scratch[i].row = (float *)(void *)own;
        scratch[i].bytes = own + elements * sizeof(float);
        scratch[i].codes = (uint32_t *)(void *)(scratch[i].bytes + elements);
    }
    if (p->scope == ASSAY_SCOPE_TENSOR)
        job->tensor_scale = tensor_scale(job, scratch, count);
#pragma omp parallel for schedule(static) num_threads(count)
    for (int64_t panel = 0; panel < p->panels; panel++)
        encode_panel(job, panel, scratch[omp_get_thread_num()]);
    block_free(memory);
    assay_free(scratch);
    return ASSAY_OK;
}

/* Each kind of code has its kind of scale; a recipe that mixes them is a bug in its file. */
static bool consistent(const struct assay_recipe *recipe)
{
    bool rows = recipe->scope == ASSAY_SCOPE_ROW || recipe->scope == ASSAY_SCOPE_TENSOR;
    bool groups = recipe->scope == ASSAY_SCOPE_GROUP && recipe->group > 0 && recipe->group % 8 == 0;
    switch (recipe->code) {
    case ASSAY_DTYPE_NONE:
        return recipe->scope == ASSAY_SCOPE_NONE;
    case ASSAY_DTYPE_S8:
    case ASSAY_DTYPE_E4M3:
        return rows && recipe->quant->solve;
    case ASSAY_DTYPE_U4:
    case ASSAY_DTYPE_U8:
        return groups && recipe->quant->solve;
    default:
        return false;
    }
}

enum assay_status assay_packed_create(const struct assay_recipe *recipe, enum assay_dtype dtype,
                                      const void *weights, int64_t n, int64_t k, int32_t threads,
                                      struct assay_packed *out, struct assay_error *err)
{
    *out = (struct assay_packed){0};
    if (n < 1 || k < 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, recipe->name,
                               "weights cannot be %lld x %lld", (long long)n, (long long)k);
    if (!consistent(recipe))
        return assay_error_set(err, ASSAY_ERR_INTERNAL, recipe->name,
                               "the recipe's codes and scales do not go together");
    enum assay_status status = assay_recipe_fits(recipe, dtype, k, err);
    if (status != ASSAY_OK)
        return status;
    int32_t bits = assay_dtype_info(recipe->code ? recipe->code : dtype)->bits;
    struct assay_packed p = {
        .dtype = dtype,
        .code = recipe->code,
        .scope = recipe->scope,
        .n = n,
        .k = k,
        .group = recipe->group,
        .codes_in_dword = 32 / bits,
        .panels = (n - 1) / ASSAY_PANEL_ROWS + 1,
    };
    p.lines = ((k - 1) / p.codes_in_dword / ASSAY_PANEL_LINES + 1) * ASSAY_PANEL_LINES;
    status = take_block(&p, err);
    if (status != ASSAY_OK)
        return status;
    struct job job = {
        .recipe = recipe, .loops = assay_quant_loops(), .weights = weights, .packed = &p};
    status = encode(&job, threads, err);
    if (status == ASSAY_OK)
        *out = p;
    else
        assay_packed_fini(&p);
    return status;
}

enum assay_status assay_packed_renew(const struct assay_recipe *recipe, const void *weights,
                                     int32_t threads, struct assay_packed *packed,
                                     struct assay_error *err)
{
    struct job job = {
        .recipe = recipe, .loops = assay_quant_loops(), .weights = weights, .packed = packed};
    return encode(&job, threads, err);
}

enum assay_status assay_packed_copy(const struct assay_packed *from, struct assay_packed *out,
                                    struct assay_error *err)
{
    struct assay_packed p = *from;
    *out = (struct assay_packed){0};
    enum assay_status status = take_block(&p, err);
    if (status != ASSAY_OK)
        return status;
    memcpy(p.codes, from->codes, p.bytes);
    *out = p;
    return ASSAY_OK;
}

void assay_packed_fini(struct assay_packed *packed)
{
    block_free(packed->codes);
    *packed = (struct assay_packed){0};
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* The bits of element i of a row whose first dword is at `dwords`. */
static inline uint32_t code_at(const uint32_t *dwords, int64_t i, int64_t in_dword)
{
    uint32_t bits = (uint32_t)(32 / in_dword);
    uint32_t dword = dwords[i / in_dword * ASSAY_PANEL_ROWS];
    uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1;
    return dword >> (uint32_t)(i % in_dword) * bits % 32 & mask;
}

static float value_of(enum assay_dtype type, uint32_t bits)
{
    switch (type) {
    case ASSAY_DTYPE_F32:
        return assay_f32_from_bits(bits);
    case ASSAY_DTYPE_F16:
        return assay_f16_to_f32((uint16_t)bits);
    case ASSAY_DTYPE_BF16:
        return assay_bf16_to_f32((uint16_t)bits);
    case ASSAY_DTYPE_S8:
        return (float)(int8_t)bits;
    case ASSAY_DTYPE_E4M3:
        return assay_e4m3_to_f32((uint8_t)bits);
    default:
        return (float)(int32_t)bits;
    }
}

static float stored(enum assay_dtype dtype, const void *array, int64_t index)
{
    double value;
    assay_dtype_load(dtype, array, index, 1, &value);
    return (float)value;
}

static void decode_groups(const struct assay_packed *p, const uint32_t *dwords, int64_t row,
                          int64_t first, int64_t count, float *out)
{
    int64_t groups = p->k / p->group, done = 0;
    float half = (float)assay_recipe_half(p->code);
    while (done < count) {
        int64_t g = (first + done) / p->group;
        int64_t end = (g + 1) * p->group - first;
        int64_t at =
            (row / ASSAY_PANEL_ROWS * groups + g) * ASSAY_PANEL_ROWS + row % ASSAY_PANEL_ROWS;
        float scale = stored(p->dtype, p->scales, at), zero = stored(p->dtype, p->zeros, at);
        for (; done < end && done < count; done++) {
            uint32_t code = code_at(dwords, first + done, p->codes_in_dword);
            float product = ((float)(int32_t)code - half) * scale; /* rounded before it is added */
            out[done] = product + zero;
        }
    }
}

void assay_packed_decode(const struct assay_packed *packed, int64_t row, int64_t first,
                         int64_t count, float *out)
{
    size_t panel = (size_t)(row / ASSAY_PANEL_ROWS) * assay_packed_panel_bytes(packed);
    const uint32_t *dwords =
        (const uint32_t *)(const void *)(packed->codes + panel) + row % ASSAY_PANEL_ROWS;
    if (packed->scope == ASSAY_SCOPE_GROUP) {
        decode_groups(packed, dwords, row, first, count, out);
        return;
    }
    enum assay_dtype type = packed->code ? packed->code : packed->dtype;
    for (int64_t i = 0; i < count; i++) {
        float value = value_of(type, code_at(dwords, first + i, packed->codes_in_dword));
        out[i] = packed->row_scales ? value * packed->row_scales[row] : value;
    }
}
