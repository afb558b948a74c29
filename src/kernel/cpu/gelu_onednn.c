/* gelu_onednn.c: the erf form. */
#include "kernel/cpu/onednn.h"

ASSAY_ONEDNN_ELTWISE(gelu, ASSAY_DNNL_ELTWISE_GELU_ERF, 0, 0);
