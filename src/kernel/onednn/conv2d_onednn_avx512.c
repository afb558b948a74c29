/* conv2d_onednn_avx512.c: without AMX, for machines where the library dies of it. f32 does not use
 * AMX, so it is not among the dtypes. */
#include "kernel/onednn/onednn_convolution.h"

ASSAY_ONEDNN_WEIGHTS_KERNEL(conv2d_onednn_avx512, "conv2d", _avx512,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 0, assay_onednn_can_run,
                            assay_onednn_convolution_describe);
