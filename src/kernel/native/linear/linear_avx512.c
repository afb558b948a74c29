/* linear_avx512.c: everything through FMA in f32.
 *
 * f16 too: AVX512-FP16 has an FMA of twice the rate, but it sums in f16 as well, and sums have to
 * be f32. */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/linear_bodies.h"
#include "kernel/native/linear/linear_line_avx512.h"
#define LINEAR_STREAM
#include "kernel/native/linear/linear_body.h"

#include <stdio.h>

LINEAR_BODY(assay_linear_avx512);

static const struct linear_takes takes = LINEAR_TAKES_ALL;

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    return assay_linear_can_run(problem, VEC_NEED, &takes, why);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_linear_setup(problem, &assay_linear_avx512, state, err);
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    if (problem->dtype == ASSAY_DTYPE_F16)
        snprintf(text, size, "f16: products and sums in f32 (the FMA of AVX512-FP16 sums in f16)");
}

extern const struct assay_kernel assay_kernel_linear_avx512;
const struct assay_kernel assay_kernel_linear_avx512 = {
    LINEAR_FIELDS("linear_avx512", VEC_PREFERENCE),
    .note = note,
};
