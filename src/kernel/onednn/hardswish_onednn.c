/* hardswish_onednn.c: in 2.x always x * min(max(x + 3, 0), 6) / 6, without parameters. */
#include "kernel/onednn/onednn.h"

ASSAY_ONEDNN_ELTWISE(hardswish, ASSAY_DNNL_ELTWISE_HARDSWISH, 0, 0);
