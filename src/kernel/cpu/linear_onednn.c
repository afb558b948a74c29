/* linear_onednn.c: with all that the library has for this CPU, AMX included. */
#include "kernel/cpu/onednn_matmul.h"

ASSAY_ONEDNN_MATMUL_KERNEL(linear_onednn, ,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16) |
                               ASSAY_DTYPE_BIT(ASSAY_DTYPE_S8),
                           1);
