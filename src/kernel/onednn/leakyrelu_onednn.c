/* leakyrelu_onednn.c: relu with a slope below zero. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(leakyrelu, ASSAY_DNNL_ELTWISE_RELU, (float)problem->params[0], 0);
