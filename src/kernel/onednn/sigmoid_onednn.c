/* sigmoid_onednn.c: the library calls it logistic. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(sigmoid, ASSAY_DNNL_ELTWISE_LOGISTIC, 0, 0);
