/* attention_backward_native.h: what the native kernels of attention's gradients share.
 *
 * How it fits together. A body (attention_backward_vec.c) goes through one head: over its queries a
 * block at a time, and for each block over the keys it sees, a block at a time. Each pair of blocks
 * gives the transposed P and dS, [key][query], from which the block's share of dv, dk and dq
 * follows: five products, and the matrices exist only as those blocks. dk and dv are sums over all
 * queries, which lie in f32 beside the head until it is done.
 *
 * The driver (attention_backward_driver.c) deals the heads out to the threads. Where there are
 * fewer heads than threads, each head's queries are split into parts with sums of their own, which
 * are added up in the order of the parts: the same number of threads gives the same bits. */
#ifndef ASSAY_KERNEL_NATIVE_ATTENTION_BACKWARD_NATIVE_H
#define ASSAY_KERNEL_NATIVE_ATTENTION_BACKWARD_NATIVE_H

#include "kernel/native/native.h"
#include "op/attention.h"

struct attention_backward_job {
    int64_t batch, seq, heads, dim;
    bool packed, causal;
    int64_t step, in_step; /* elements from one row to the next: of dout and out; of q, k, v and
                              their gradients */
    enum native_kind kind;
    float scale; /* of scores: 1 / sqrt(dim) */
};

/* One head of one batch. The gradients lie as q, k and v do. */
struct attention_backward_head {
    const void *dout, *q, *k, *v, *out;
    const float *lse; /* of its first query */
    void *dq, *dk, *dv;
    int64_t at, q_at, k_at, v_at; /* the element where its first row begins: of dout and out; … */
};

/* The scratch memory is one thread's, `sums` are of one part of a head: both aligned to 64 bytes.
 */
struct attention_backward_body {
    int64_t block_rows; /* queries; parts begin at multiples */
    size_t (*scratch_bytes)(const struct attention_backward_job *job);
    size_t (*sums_bytes)(const struct attention_backward_job *job);
    /* Queries [row, end): writes their dq, and sums up their shares of dk and dv. */
    void (*rows)(const struct attention_backward_job *job,
                 const struct attention_backward_head *head, int64_t row, int64_t end,
                 void *scratch, float *sums);
    /* Writes dk and dv: the sums of the parts, which lie sums_bytes() apart. */
    void (*finish)(const struct attention_backward_job *job,
                   const struct attention_backward_head *head, const float *sums, int64_t parts);
};

enum assay_status attention_backward_setup(const struct assay_problem *problem,
                                           const struct attention_backward_body *body, void **state,
                                           struct assay_error *err);
enum assay_status attention_backward_run(void *state, const struct assay_work *work);
void attention_backward_teardown(void *state);

#endif
