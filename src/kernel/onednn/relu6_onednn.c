/* relu6_onednn.c: relu bounded by alpha. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(relu6, ASSAY_DNNL_ELTWISE_BOUNDED_RELU, 6, 0);
