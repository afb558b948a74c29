/* linear_vec.c: everything through FMA in f32, for x and weights of any type.
 *
 * f16 too: AVX512-FP16 has an FMA of twice the rate, but it sums in f16 as well, and sums have to
 * be f32. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/linear/linear_bodies.h"
#if VEC_BITS == 512
#include "kernel/native/linear/linear_line_avx512.h"
#elif VEC_BITS == 256
#include "kernel/native/linear/linear_line_avx2.h"
#else
#include "kernel/native/linear/linear_line_portable.h"
#endif
#define LINEAR_STREAM
#include "kernel/native/linear/linear_body.h"

#include <stdio.h>

#define NATIVE_OP linear
#define BODY NATIVE_PASTE(assay_linear, VEC_NAME)
LINEAR_BODY(BODY);

static const struct linear_takes takes = {
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8) |
             ASSAY_DTYPE_BIT(ASSAY_DTYPE_E4M3) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_U4) |
             ASSAY_DTYPE_BIT(ASSAY_DTYPE_U8),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8) |
                   ASSAY_DTYPE_BIT(ASSAY_DTYPE_E4M3),
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    return assay_linear_can_run(problem, VEC_NEED, &takes, why);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_linear_setup(problem, &BODY, state, err);
}

#if VEC_BITS == 512
static void note(const struct assay_problem *problem, char *text, size_t size)
{
    if (problem->dtype == ASSAY_DTYPE_F16)
        snprintf(text, size, "f16: products and sums in f32 (the FMA of AVX512-FP16 sums in f16)");
}
#endif

extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);
const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {
    LINEAR_FIELDS(NATIVE_TEXT(NATIVE_NAME), VEC_PREFERENCE),
#if VEC_BITS == 512
    .note = note,
#endif
};
