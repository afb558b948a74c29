/* optimizer.h: the parameters and operands of the ops `adamw` and `sgd`, for their kernels. */
#ifndef ASSAY_OP_OPTIMIZER_H
#define ASSAY_OP_OPTIMIZER_H

/* Params. The step is counted from 1: the one that this is. */
enum {
    ASSAY_ADAMW_LR,
    ASSAY_ADAMW_BETA1,
    ASSAY_ADAMW_BETA2,
    ASSAY_ADAMW_EPS,
    ASSAY_ADAMW_WEIGHT_DECAY,
    ASSAY_ADAMW_STEP
};
enum { ASSAY_SGD_LR, ASSAY_SGD_WEIGHT_DECAY, ASSAY_SGD_MOMENTUM }; /* the last one 0 without it */

/* Inputs w, g, m, v; outputs w', m', v'. sgd: w, g and, with momentum, its buffer b; w', b'. */
enum { ASSAY_ADAMW_W, ASSAY_ADAMW_G, ASSAY_ADAMW_M, ASSAY_ADAMW_V };
enum { ASSAY_SGD_W, ASSAY_SGD_G, ASSAY_SGD_B };

#endif
