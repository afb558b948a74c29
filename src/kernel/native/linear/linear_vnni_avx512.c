/* Recipes that make x 8-bit integers; linear_s8_vnni_avx512.c is for x that comes as such. */
#include "kernel/native/linear/linear_vnni_body.h"

#include "kernel/native/linear/linear_bodies.h"

LINEAR_BODY(assay_linear_vnni_avx512);

static const struct linear_takes takes = {
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
              ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
};
LINEAR_KERNEL(linear_vnni_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_VNNI, 40,
              assay_linear_vnni_avx512, takes);
