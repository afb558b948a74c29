/* attention_onednn_avx512.c: without AMX, for machines where the library dies of it. f32 does not
 * use AMX, so it is not among the dtypes. */
#include "kernel/onednn/onednn_attention.h"

ASSAY_ONEDNN_ATTENTION_KERNEL(attention_onednn_avx512, _avx512, ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
                              0);
