/* The kernel for x and W of 8-bit integers; the body is that of linear_vnni_avx512.c. */
#include "kernel/native/linear/linear_bodies.h"

static const struct linear_takes takes = {
    .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
    .codes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE),
    .activations = ASSAY_DTYPE_BIT(ASSAY_DTYPE_NONE),
};
LINEAR_KERNEL(linear_s8_vnni_avx512, ASSAY_CPU_AVX512 | ASSAY_CPU_AVX512_VNNI, 40,
              assay_linear_vnni_avx512, takes);
