/* fma.h: the constants of the op fma, for its kernels. */
#ifndef ASSAY_OP_FMA_H
#define ASSAY_OP_FMA_H

enum { ASSAY_FMA_STEPS = 256 };
/* Exact in every type. Each step takes 1/512 of the way to 1, so that after all of them 0.6 of x is
 * left, and one step more or less is 0.2 % of what lies between x and 1. */
#define ASSAY_FMA_SCALE (1 - 0x1p-9)
#define ASSAY_FMA_SHIFT 0x1p-9

#endif
