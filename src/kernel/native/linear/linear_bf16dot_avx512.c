/* linear_bf16dot_avx512.c: pairs of bf16 by vdpbf16ps (AVX512_BF16).
 *
 * The instruction takes subnormals for zeros and rounds each product's sum its own way. Integer
 * codes are decoded between the products for few rows; else weights are decoded to bf16 first,
 * a slice at a time, which pays off from so many rows on that the products are what takes the time.
 * x that is rounded to e4m3 is exact in bf16, whatever it was. */
#include "kernel/native/linear/linear_pairs_avx512.h"

#include "kernel/native/linear/linear_bodies.h"
#include "kernel/native/linear/linear_line_avx512.h"
#include "kernel/native/linear/linear_pack.h"

#define LINEAR_OWN LINEAR_BF16
#define LINEAR_PER 2
#define LINEAR_INTEGERS 0
#define LINEAR_DOT(x, w, sum)                                                                      \
    _mm512_dpbf16_ps(sum, (__m512bh)_mm512_castps_si512(x), (__m512bh)_mm512_castps_si512(w))
#define LINEAR_ADD(a, b) line_add(a, b)
#define linear_correct(call, tile, sums) ((void)0)

VEC_INLINE void pack_e4m3_row(enum native_kind kind, const void *x, int64_t k, float scale,
                              int64_t rows, float *dwords)
{
    vec inverse = vec_set(1.0f / scale);
    for (int64_t i = 0; i < k; i += 32, dwords += 16 * rows) {
        vec a = pack_code(ASSAY_DTYPE_E4M3, pack_load(false, kind, x, i, k - i), inverse);
        vec b = pack_code(ASSAY_DTYPE_E4M3, pack_load(false, kind, x, i + 16, k - i - 16), inverse);
        _mm512_storeu_si512(dwords, (__m512i)_mm512_cvtne2ps_pbh(b, a));
    }
}

static void linear_pack_row(const struct linear_job *job, const void *x, float scale, int64_t rows,
                            float *dwords)
{
    int64_t k = job->k;
    if (job->recipe.activation == ASSAY_DTYPE_E4M3) {
        if (job->dtype == ASSAY_DTYPE_BF16)
            pack_e4m3_row(NATIVE_BF16, x, k, scale, rows, dwords);
        else if (job->dtype == ASSAY_DTYPE_F16)
            pack_e4m3_row(NATIVE_F16, x, k, scale, rows, dwords);
        else
            pack_e4m3_row(NATIVE_F32, x, k, scale, rows, dwords);
        return;
    }
    const uint16_t *from = x;
    for (int64_t i = 0; i < k; i += 32, dwords += 16 * rows) {
        __mmask32 mask = k - i < 32 ? (1u << (k - i)) - 1 : ~0u;
        _mm512_storeu_si512(dwords, _mm512_maskz_loadu_epi16(mask, from + i));
    }
}

static void linear_decode_panel(const struct assay_packed *w, enum linear_code code, int64_t panel,
                                int64_t b, int64_t count, float *to)
{
    (void)code; /* w knows */
    for (int64_t i = 0; i < count; i++, to += 256)
        tile_decode(w, panel, b + i, (struct tile_way){0}, (unsigned char *)to);
}

#include "kernel/native/linear/linear_pairs_stream.h"

#include "kernel/native/linear/linear_body.h"

LINEAR_BODY(assay_linear_bf16dot_avx512);

static const struct linear_takes takes = {
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8) |
             ASSAY_DTYPE_BIT(ASSAY_DTYPE_U4) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_U8) |
             ASSAY_DTYPE_BIT(ASSAY_DTYPE_E4M3),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_E4M3),
};

/* For fewer rows decoding weights takes longer than products in f32 do. */
enum { LEAST_DECODED_ROWS = 9 };

static bool worth_while(const struct assay_recipe *recipe, int64_t m)
{
    bool eight_bits = recipe->code == ASSAY_DTYPE_S8 || recipe->code == ASSAY_DTYPE_U8;
    return recipe->code == ASSAY_DTYPE_NONE || recipe->code == ASSAY_DTYPE_U4 ||
           m >= LEAST_DECODED_ROWS || (eight_bits && m <= PAIRS_ROWS_8);
}

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status =
        assay_linear_can_run(problem, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16, &takes, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_recipe recipe;
    assay_recipe_parse(problem->recipe, &recipe, NULL);
    if (problem->dtype != ASSAY_DTYPE_BF16 && recipe.activation == ASSAY_DTYPE_NONE)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "x in %s has too many bits for bf16",
                               assay_dtype_name(problem->dtype));
    if (!worth_while(&recipe, problem->axes[ASSAY_LINEAR_M]))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "%s of %lld rows is faster in f32",
                               recipe.name, (long long)problem->axes[ASSAY_LINEAR_M]);
    return ASSAY_OK;
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_linear_setup(problem, &assay_linear_bf16dot_avx512, state, err);
}

extern const struct assay_kernel assay_kernel_linear_bf16dot_avx512;
const struct assay_kernel assay_kernel_linear_bf16dot_avx512 = {
    LINEAR_FIELDS("linear_bf16dot_avx512", 25),
    .flags = ASSAY_KERNEL_BF16_DOT,
};
