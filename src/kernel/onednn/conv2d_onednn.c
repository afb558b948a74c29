/* conv2d_onednn.c: with all that the library has for this CPU, AMX included. */
#include "kernel/onednn/onednn_convolution.h"

ASSAY_ONEDNN_WEIGHTS_KERNEL(conv2d_onednn, "conv2d", ,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 1,
                            assay_onednn_can_run, assay_onednn_convolution_describe);
