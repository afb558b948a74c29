/* relu_onednn.c: alpha is the slope below zero. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(relu, ASSAY_DNNL_ELTWISE_RELU, 0, 0);
