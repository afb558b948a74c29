/* attention.h: the parameters of the op `attention`, for its kernels and for models.
 *
 * out[b, i, h, :] = sum over j of softmax_j(q[b, i, h, :] . k[b, j, h, :] / sqrt(dim)) v[b, j, h,
 * :] with j <= i where it is causal. out is [batch, seq, heads, dim].
 *
 * Modes: none: inputs q, k, v, each [batch, seq, heads, dim]. "qkv": one input [batch, seq, 3,
 * heads, dim], as one linear writes it for all three. "causal", "qkv+causal". */
#ifndef ASSAY_OP_ATTENTION_H
#define ASSAY_OP_ATTENTION_H

#include "base/error.h"
#include "tensor/tensor.h"
#include <assay/assay_kernel.h>

enum { ASSAY_ATTENTION_BATCH, ASSAY_ATTENTION_SEQ, ASSAY_ATTENTION_HEADS, ASSAY_ATTENTION_DIM };
enum { ASSAY_ATTENTION_PACKED, ASSAY_ATTENTION_CAUSAL }; /* params, 0 or 1 */

/* Reads a mode of attention, attention_training or attention_backward into the params. */
enum assay_status assay_attention_set_mode(struct assay_problem *problem, const char *mode,
                                           struct assay_error *err);

#endif
