/* linear_training_amx.c: on the matrix unit (linear_amx.c): bf16, codes, which are exact in it, and
 * f16 as the sum of two bf16. A product that a recipe leaves in f32 is one of linear_vec.c. */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/linear_line_avx512.h"

#include "kernel/native/linear/linear_backward_native.h"
#include "kernel/native/linear/linear_cast.h"

#include <stdio.h>
#include <string.h>

LINEAR_PRODUCT_BODY(body, &assay_linear_amx, &assay_linear_amx, &assay_linear_avx512);

/* From how many rows of a product on it is worth while: as `linear` has it. */
LINEAR_TRAINING_FUNCTIONS(linear_training,
                          ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AMX_TILE |
                              ASSAY_CPU_AMX_BF16,
                          problem && problem->dtype == ASSAY_DTYPE_F16 ? 32 : 4, body)

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    bool casts = problem->recipe && strcmp(problem->recipe, "baseline") != 0;
    if (problem->dtype == ASSAY_DTYPE_F16 && !casts)
        snprintf(text, size, "f16 as the sum of two bf16, 4 products, sums in f32");
}

extern const struct assay_kernel assay_kernel_linear_training_amx;
const struct assay_kernel assay_kernel_linear_training_amx = {
    LINEAR_TRAINING_FIELDS(linear_training, "linear_training_amx", 50,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
                               ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)),
    .note = note,
    .units = ASSAY_UNIT_MATRIX,
};
