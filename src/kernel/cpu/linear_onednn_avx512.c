/* linear_onednn_avx512.c: without AMX, for machines where the library dies of it. f32 does not use
 * AMX, so it is not among the dtypes. */
#include "kernel/cpu/onednn_matmul.h"

ASSAY_ONEDNN_MATMUL_KERNEL(linear_onednn_avx512, _avx512,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8), 0);
