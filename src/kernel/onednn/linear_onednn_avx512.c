/* linear_onednn_avx512.c: without AMX, for machines where the library dies of it. f32 does not use
 * AMX, so it is not among the dtypes. */
#include "kernel/onednn/onednn_matmul.h"

ASSAY_ONEDNN_WEIGHTS_KERNEL(linear_onednn_avx512, "linear", _avx512,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8), 0,
                            assay_onednn_matmul_accepts, assay_onednn_matmul_describe);
