/* gelu_tanh_onednn.c: the approximation with tanh. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(gelu_tanh, ASSAY_DNNL_ELTWISE_GELU_TANH, 0, 0);
