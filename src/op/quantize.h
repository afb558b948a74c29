/* quantize.h: what the ops quantize and dequantize share: modes, scales and codes.
 *
 * A mode is FORMAT-SCOPE. The format is that of the codes: s8, e4m3, e5m2 or u4. The scope is what
 * shares a scale: a row, the whole tensor, or a group of 32, 64, 128 or 256 neighbours along k. In
 * memory a scope is always a run of neighbours, so kernels see runs and need not tell scopes apart.
 *
 * Scales are f32, one for each run in the order of the runs; u4 has a scale and a zero, side by
 * side: [runs, 2]. The functions below are the one definition of scales and codes. Each is a few
 * single operations in f32 that no fused multiply-add changes, so kernels agree with them to the
 * bit. The formulas are in docs/recipes.md. */
#ifndef ASSAY_OP_QUANTIZE_H
#define ASSAY_OP_QUANTIZE_H

#include "quant/quant.h"
#include <assay/assay_kernel.h>

enum { ASSAY_QUANTIZE_M, ASSAY_QUANTIZE_K }; /* axes */
/* params: the codes' enum assay_dtype, and the elements of a group or one of the two below */
enum { ASSAY_QUANTIZE_FORMAT, ASSAY_QUANTIZE_GROUP };
enum { ASSAY_QUANTIZE_TENSOR = -1, ASSAY_QUANTIZE_ROW = 0 };

#define ASSAY_QUANTIZE_MODES                                                                       \
    "FORMAT-SCOPE: s8, e4m3, e5m2 or u4; row, tensor or a group of 32, 64, 128 or 256 along k"

/* For both ops. The empty mode is s8-row. */
enum assay_status assay_quantize_set_mode(struct assay_problem *problem, const char *mode,
                                          struct assay_error *err);

static inline enum assay_dtype assay_quantize_format(const struct assay_problem *problem)
{
    return (enum assay_dtype)problem->params[ASSAY_QUANTIZE_FORMAT];
}

/* Elements that share a scale, and how many such runs there are. */
int64_t assay_quantize_run(const struct assay_problem *problem);
int64_t assay_quantize_runs(const struct assay_problem *problem);

/* [m, k] of a type; and the scales. */
struct assay_tensor assay_quantize_matrix(const struct assay_problem *problem,
                                          enum assay_dtype dtype);
struct assay_tensor assay_quantize_scales(const struct assay_problem *problem);

/* ---- the definition -------------------------------------------------------------------------- */

struct assay_quantize_step {
    float scale, zero; /* zero is 0 in symmetric formats */
};

/* Symmetric formats: from the greatest magnitude. */
static inline struct assay_quantize_step assay_quantize_symmetric(enum assay_dtype format,
                                                                  float amax)
{
    return (struct assay_quantize_step){.scale = assay_quant_scale(format, amax)};
}

/* u4: from the least and the greatest value, as assay_solve_asymmetric of src/quant does for f32.
 * What is all the same gets the scale 1 and the code 8. */
static inline struct assay_quantize_step assay_quantize_range(float least, float most)
{
    const float least_scale = 1e-6f;
    float step = (most - least) / 15.0f;
    float scale = step >= least_scale ? step : least_scale; /* NaN too becomes the least */
    bool same = least == most;
    return (struct assay_quantize_step){.scale = same ? 1.0f : scale,
                                        .zero = least + (same ? 0.0f : 8.0f * scale)};
}

/* The scale (and zero) of n elements of type `dtype` from element `first` of x on. A NaN or an
 * infinity among them gives scales that are of no use, but always the same ones. */
struct assay_quantize_step assay_quantize_step_of(enum assay_dtype format, enum assay_dtype dtype,
                                                  const void *x, int64_t first, int64_t n);

/* What the code 0 of u4 stands for. */
static inline float assay_quantize_low(struct assay_quantize_step step)
{
    return step.zero - 8.0f * step.scale;
}

/* The nearest integer, ties to even, of a value between `least` and `most`, which are small: above
 * 2^23 floats are whole, so adding 1.5 * 2^23 rounds and leaves the integer in the low bits. NaN
 * becomes 0. */
static inline uint8_t assay_quantize_nearest(float value, float least, float most)
{
    value = value == value ? value : 0.0f;
    value = value < least ? least : value;
    value = value > most ? most : value;
    return (uint8_t)(assay_f32_bits(value + 0x1.8p23f) & 0xffu);
}

/* A symmetric format's code; inverse is 1.0f / scale. */
static inline uint8_t assay_quantize_code(enum assay_dtype format, float x, float inverse)
{
    if (format == ASSAY_DTYPE_S8)
        return assay_quantize_nearest(x * inverse, -128.0f, 127.0f);
    return format == ASSAY_DTYPE_E4M3 ? assay_e4m3_from_f32(x * inverse)
                                      : assay_e5m2_from_f32(x * inverse);
}

static inline uint8_t assay_quantize_code_u4(float x, float low, float scale)
{
    return assay_quantize_nearest((x - low) / scale, 0.0f, 15.0f);
}

/* n codes of elements from `first` on, as bytes, one for each element. */
void assay_quantize_codes(enum assay_dtype format, struct assay_quantize_step step,
                          enum assay_dtype dtype, const void *x, int64_t first, int64_t n,
                          uint8_t *codes);

#endif
