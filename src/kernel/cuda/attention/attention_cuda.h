/* attention_cuda.h: what the host's side of the kernels of attention shares. */
#ifndef ASSAY_KERNEL_CUDA_ATTENTION_CUDA_H
#define ASSAY_KERNEL_CUDA_ATTENTION_CUDA_H

#include "kernel/cuda/cuda_op.h"
#include "op/attention.h"

#include <math.h>

enum {
    CUDA_ATTENTION_MOST_SEQ = 1 << 30,
    CUDA_ATTENTION_SHORT_SEQ = 32, /* the longest sequence that a warp has in its registers */
    CUDA_ATTENTION_BAND = 16,      /* the fewest queries that are done together */
};

/* attention.cuh: struct attention_args. */
struct cuda_attention_args {
    const void *q, *k, *v;
    void *out;
    int64_t pitch, out_pitch;
    int32_t seq, heads, dim, causal, batch_heads, blocks;
    float scale;
    void *lse;
};

/* The one that saves it for the gradient. */
static inline bool cuda_attention_saves(const struct assay_problem *p) { return p->n_outputs == 2; }

static inline int64_t cuda_attention_heads(const struct assay_problem *p)
{
    return p->axes[ASSAY_ATTENTION_BATCH] * p->axes[ASSAY_ATTENTION_HEADS];
}

/* Do positions and blocks fit into the kernels' integers? */
static inline enum assay_status cuda_attention_fits(const struct assay_problem *p,
                                                    struct assay_error *why)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ];
    if (seq > CUDA_ATTENTION_MOST_SEQ)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "a sequence beyond 2^30");
    if (cuda_attention_heads(p) > INT32_MAX / assay_ceil_div(seq, CUDA_ATTENTION_BAND))
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "more queries than one launch takes: 2^31 times %d",
                               CUDA_ATTENTION_BAND);
    return ASSAY_OK;
}

/* All but the operands; a block has `queries` queries of a head. */
static inline struct cuda_attention_args cuda_attention_args_of(const struct assay_problem *p,
                                                                int64_t queries)
{
    int64_t seq = p->axes[ASSAY_ATTENTION_SEQ], dim = p->axes[ASSAY_ATTENTION_DIM];
    int64_t heads = p->axes[ASSAY_ATTENTION_HEADS];
    return (struct cuda_attention_args){
        .pitch = (p->params[ASSAY_ATTENTION_PACKED] ? 3 : 1) * heads * dim,
        .out_pitch = heads * dim,
        .seq = (int32_t)seq,
        .heads = (int32_t)heads,
        .dim = (int32_t)dim,
        .causal = p->params[ASSAY_ATTENTION_CAUSAL] != 0,
        .batch_heads = (int32_t)cuda_attention_heads(p),
        .blocks = (int32_t)assay_ceil_div(seq, queries),
        .scale = (float)(1.4426950408889634 / sqrt((double)dim)),
    };
}

/* One input has, for each position, q of all heads, then k, then v. `element` is in bytes. */
static inline void cuda_attention_take(struct cuda_attention_args *args, size_t element, bool saves,
                                       const struct assay_args *operands)
{
    const char *first = operands->in[0];
    size_t row = (size_t)args->out_pitch * element;
    bool packed = args->pitch != args->out_pitch;
    args->q = first;
    args->k = packed ? first + row : operands->in[1];
    args->v = packed ? first + 2 * row : operands->in[2];
    args->out = operands->out[0];
    args->lse = saves ? operands->out[1] : NULL;
}

#endif
