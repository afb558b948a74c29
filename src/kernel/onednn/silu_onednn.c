/* silu_onednn.c: x * sigmoid(alpha * x), with alpha 1. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(silu, ASSAY_DNNL_ELTWISE_SWISH, 1, 0);
