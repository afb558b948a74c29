/* attention_onednn.c: with all that the library has for this CPU, AMX included. */
#include "kernel/onednn/onednn_attention.h"

ASSAY_ONEDNN_ATTENTION_KERNEL(attention_onednn, ,
                              ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
                              1);
