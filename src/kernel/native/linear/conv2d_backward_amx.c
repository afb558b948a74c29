/* conv2d_backward_amx.c: on the matrix unit (linear_amx.c): bf16, and f16 as the sum of two bf16.
 */
#include "kernel/native/vec/vec_avx512.h"

#include "kernel/native/linear/conv2d_backward_pack.h"

#include <stdio.h>

/* From how many rows of a product on it is worth while: as `linear` has it. */
CONV2D_BACKWARD_FUNCTIONS(ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_BF16 | ASSAY_CPU_AMX_TILE |
                              ASSAY_CPU_AMX_BF16,
                          problem && problem->dtype == ASSAY_DTYPE_F16 ? 32 : 4, assay_linear_amx)

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    if (problem->dtype == ASSAY_DTYPE_F16)
        snprintf(text, size, "f16 as the sum of two bf16, 4 products, sums in f32");
}

extern const struct assay_kernel assay_kernel_conv2d_backward_amx;
const struct assay_kernel assay_kernel_conv2d_backward_amx = {
    CONV2D_BACKWARD_FIELDS("conv2d_backward_amx", 50,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)),
    .note = note,
    .units = ASSAY_UNIT_MATRIX,
};
