/* linear_onednn.c: with all that the library has for this CPU, AMX included. */
#include "kernel/onednn/onednn_matmul.h"

ASSAY_ONEDNN_WEIGHTS_KERNEL(linear_onednn, "linear", ,
                            ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) |
                                ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
                            1, assay_onednn_matmul_accepts, assay_onednn_matmul_describe);
