#include "tensor/dtype.h"

#include "base/suggest.h"
#include "base/text.h"

#include <float.h>
#include <limits.h>

static const char *const f64_aliases[] = {"f64", "float64", "fp64", "double", NULL};
static const char *const f32_aliases[] = {"f32", "float32", "fp32", "float", NULL};
static const char *const f16_aliases[] = {"f16", "float16", "fp16", "half", NULL};
static const char *const bf16_aliases[] = {"bf16", "bfloat16", NULL};
static const char *const s32_aliases[] = {"s32", "int32", "i32", NULL};
static const char *const s8_aliases[] = {"s8", "int8", "i8", NULL};
static const char *const u8_aliases[] = {"u8", "uint8", NULL};
static const char *const u4_aliases[] = {"u4", "uint4", NULL};
static const char *const e4m3_aliases[] = {"e4m3", "float8_e4m3fn", "f8e4m3", "float8_e4m3", NULL};
static const char *const e5m2_aliases[] = {"e5m2", "float8_e5m2", "f8e5m2", NULL};

static const struct assay_dtype_info dtype_table[] = {
    {ASSAY_DTYPE_F64, "f64", f64_aliases, 8, 64, true, 0x1p-53, DBL_MAX, DBL_MIN,
     "IEEE double; references"},
    {ASSAY_DTYPE_F32, "f32", f32_aliases, 4, 32, true, 0x1p-24, (double)FLT_MAX, 0x1p-126,
     "IEEE single"},
    {ASSAY_DTYPE_F16, "f16", f16_aliases, 2, 16, true, 0x1p-11, 65504, 0x1p-24, "IEEE half"},
    {ASSAY_DTYPE_BF16, "bf16", bf16_aliases, 2, 16, true, 0x1p-8, 0x1.fep127, 0x1p-126,
     "f32 cut to 16 bits"},
    {ASSAY_DTYPE_S32, "s32", s32_aliases, 4, 32, false, 0, INT32_MAX, 0,
     "32-bit integer; class indices"},
    {ASSAY_DTYPE_S8, "s8", s8_aliases, 1, 8, false, 0, INT8_MAX, 0, "8-bit integer"},
    {ASSAY_DTYPE_U8, "u8", u8_aliases, 1, 8, false, 0, UINT8_MAX, 0, "8-bit integer from 0"},
    {ASSAY_DTYPE_U4, "u4", u4_aliases, 1, 4, false, 0, 15, 0, "4-bit integer from 0"},
    {ASSAY_DTYPE_E4M3, "e4m3", e4m3_aliases, 1, 8, true, 0x1p-4, 448, 0x1p-9,
     "8-bit float, no infinities"},
    {ASSAY_DTYPE_E5M2, "e5m2", e5m2_aliases, 1, 8, true, 0x1p-3, 57344, 0x1p-16,
     "8-bit float, wide range"},
};

enum { DTYPE_ROWS = sizeof dtype_table / sizeof dtype_table[0] };

const struct assay_dtype_info *assay_dtype_info(enum assay_dtype dtype)
{
    for (int i = 0; i < DTYPE_ROWS; i++)
        if (dtype_table[i].dtype == dtype)
            return &dtype_table[i];
    return NULL;
}

const char *assay_dtype_name(enum assay_dtype dtype)
{
    const struct assay_dtype_info *info = assay_dtype_info(dtype);
    return info ? info->name : "none";
}

size_t assay_dtype_bytes(enum assay_dtype dtype)
{
    const struct assay_dtype_info *info = assay_dtype_info(dtype);
    return info ? info->bytes : 0;
}

static bool has_prefix_torch(const char *name)
{
    static const char prefix[] = "torch.";
    for (size_t i = 0; i < sizeof prefix - 1; i++)
        if ((name[i] | 0x20) != (prefix[i] | 0x20))
            return false;
    return true;
}

enum assay_status assay_dtype_parse(const char *name, enum assay_dtype *out,
                                    struct assay_error *err)
{
    const char *candidates[64];
    int64_t n = 0;
    const char *bare = has_prefix_torch(name) ? name + 6 : name;
    for (int i = 0; i < DTYPE_ROWS; i++)
        for (const char *const *alias = dtype_table[i].aliases; *alias; alias++) {
            if (assay_text_same(bare, *alias)) {
                *out = dtype_table[i].dtype;
                return ASSAY_OK;
            }
            candidates[n++] = *alias;
        }
    char rest[160];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown dtype \"%s\"; %s", name,
                           assay_suggest_text(ASSAY_TOPIC_DTYPE, bare, candidates, n,
                                              "did you mean \"f32\"?", rest, sizeof rest));
}

void assay_dtype_load(enum assay_dtype dtype, const void *src, int64_t first, int64_t n,
                      double *dst)
{
    switch (dtype) {
    case ASSAY_DTYPE_F64: {
        const double *p = (const double *)src + first;
        memcpy(dst, p, (size_t)n * sizeof *p);
        return;
    }
    case ASSAY_DTYPE_F32: {
        const float *p = (const float *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)p[i];
        return;
    }
    case ASSAY_DTYPE_F16: {
        const uint16_t *p = (const uint16_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)assay_f16_to_f32(p[i]);
        return;
    }
    case ASSAY_DTYPE_BF16: {
        const uint16_t *p = (const uint16_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)assay_bf16_to_f32(p[i]);
        return;
    }
    case ASSAY_DTYPE_S32: {
        const int32_t *p = (const int32_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = p[i];
        return;
    }
    case ASSAY_DTYPE_S8: {
        const int8_t *p = (const int8_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = p[i];
        return;
    }
    case ASSAY_DTYPE_U8: {
        const uint8_t *p = (const uint8_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = p[i];
        return;
    }
    case ASSAY_DTYPE_U4: {
        const uint8_t *p = src;
        for (int64_t i = 0; i < n; i++)
            dst[i] = p[(first + i) / 2] >> (first + i) % 2 * 4 & 15;
        return;
    }
    case ASSAY_DTYPE_E4M3: {
        const uint8_t *p = (const uint8_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)assay_e4m3_to_f32(p[i]);
        return;
    }
    case ASSAY_DTYPE_E5M2: {
        const uint8_t *p = (const uint8_t *)src + first;
        for (int64_t i = 0; i < n; i++)
            dst[i] = (double)assay_e5m2_to_f32(p[i]);
        return;
    }
    default:
        return;
    }
}

/* double -> 16 or 8 bits by way of f32 would round twice. Rounding to odd in the first step (keep
 * the inexact bit sticky) makes the second step exact. */
static float f32_round_to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value || !isfinite(nearest) || isnan(value))
        return nearest;
    uint32_t bits = assay_f32_bits(nearest);
    bool away = fabs((double)nearest) > fabs(value);
    if (away)
        bits -= 1; /* towards zero: the neighbour of smaller magnitude */
    return assay_f32_from_bits(bits | 1u);
}

/* Beyond the ends of the range the nearest integer is the end; NaN has none and becomes 0. */
static int32_t nearest_integer(double value, int32_t least, int32_t most)
{
    if (isnan(value))
        return 0;
    return value <= least ? least : value >= most ? most : (int32_t)rint(value);
}

static void u4_store(const double *src, uint8_t *dst, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int shift = (int)((first + i) % 2 * 4);
        uint8_t *p = dst + (first + i) / 2;
        *p = (uint8_t)((*p & ~(15 << shift)) | nearest_integer(src[i], 0, 15) << shift);
    }
}

void assay_dtype_store(enum assay_dtype dtype, const double *src, void *dst, int64_t first,
                       int64_t n)
{
    switch (dtype) {
    case ASSAY_DTYPE_F64: {
        double *p = (double *)dst + first;
        memcpy(p, src, (size_t)n * sizeof *p);
        return;
    }
    case ASSAY_DTYPE_F32: {
        float *p = (float *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = (float)src[i];
        return;
    }
    case ASSAY_DTYPE_F16: {
        uint16_t *p = (uint16_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = assay_f16_from_f32(f32_round_to_odd(src[i]));
        return;
    }
    case ASSAY_DTYPE_BF16: {
        uint16_t *p = (uint16_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = assay_bf16_from_f32(f32_round_to_odd(src[i]));
        return;
    }
    case ASSAY_DTYPE_S32: {
        int32_t *p = (int32_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = nearest_integer(src[i], INT32_MIN, INT32_MAX);
        return;
    }
    case ASSAY_DTYPE_S8: {
        int8_t *p = (int8_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = (int8_t)nearest_integer(src[i], INT8_MIN, INT8_MAX);
        return;
    }
    case ASSAY_DTYPE_U8: {
        uint8_t *p = (uint8_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = (uint8_t)nearest_integer(src[i], 0, UINT8_MAX);
        return;
    }
    case ASSAY_DTYPE_U4:
        u4_store(src, dst, first, n);
        return;
    case ASSAY_DTYPE_E4M3: {
        uint8_t *p = (uint8_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = assay_e4m3_from_f32(f32_round_to_odd(src[i]));
        return;
    }
    case ASSAY_DTYPE_E5M2: {
        uint8_t *p = (uint8_t *)dst + first;
        for (int64_t i = 0; i < n; i++)
            p[i] = assay_e5m2_from_f32(f32_round_to_odd(src[i]));
        return;
    }
    default:
        return;
    }
}
