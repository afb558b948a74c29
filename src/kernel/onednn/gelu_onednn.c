/* gelu_onednn.c: the erf form. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(gelu, ASSAY_DNNL_ELTWISE_GELU_ERF, 0, 0);
