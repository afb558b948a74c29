/* attention_native.h: what the native kernels of attention share.
 *
 * How it fits together. A body (attention_body.h for vectors, attention_amx.c for tiles) computes
 * blocks of rows: some neighbouring positions of the sequence of one head. It first brings the
 * head's keys and values into the order it multiplies them in, into scratch memory that stays in
 * the L2 cache; then, for each block of rows, it goes over the keys once, a block of them at a
 * time, with the greatest score so far (online softmax). The matrix of scores exists only as that
 * block. The driver (attention_driver.c) is compiled once, for any CPU: it deals the blocks of all
 * heads out to the threads. While a body works on one head it may prefetch rows of the next. */
#ifndef ASSAY_KERNEL_NATIVE_ATTENTION_NATIVE_H
#define ASSAY_KERNEL_NATIVE_ATTENTION_NATIVE_H

#include "base/math.h"
#include "kernel/native/native.h"
#include "op/attention.h"

struct attention_job {
    int64_t batch, seq, heads, dim;
    bool packed, causal;
    bool saves;   /* attention_training: lse, too; a body that cannot has no kernel of it */
    int64_t step; /* elements of an input from one position of the sequence to the next */
    enum native_kind kind;
    float scale; /* of scores: 1 / sqrt(dim) */
    bool stream; /* outputs, whole cache lines, by streaming stores */
};

/* One head of one batch: where its first rows are. */
struct attention_head {
    const void *q, *k, *v;
    void *out;
    float *lse; /* of its first row: where to save the log of each sum of exponentials; or NULL */
    int64_t q_at, k_at, v_at, out_at;  /* elements */
    const struct attention_head *next; /* the one that comes next; NULL: none */
};

/* Blocks of rows are counted through all heads of all batches. The scratch memory is one thread's,
 * aligned to 64 bytes, and all zeros before its first use. */
struct attention_body {
    int64_t block_rows;
    size_t (*scratch_bytes)(const struct attention_job *job);
    /* Brings the keys and values of a head into order, of which rows [row, end) come next. */
    void (*pack)(const struct attention_job *job, const struct attention_head *head, int64_t row,
                 int64_t end, void *scratch);
    /* Computes rows [row, end), whole blocks but for what is left at the end of the head;
     * meanwhile it may prefetch what comes next (attention_prefetch). */
    void (*rows)(const struct attention_job *job, const struct attention_head *head, int64_t row,
                 int64_t end, void *scratch);
    void (*open)(void), (*close)(void); /* optional: around all that a thread does in a call */
    bool can_stream;                    /* knows what to do with attention_job's `stream` */
};

/* The next `bytes` of scratch memory, whole cache lines. With from == NULL only *at counts. */
static inline void *attention_take(void *from, size_t *at, int64_t bytes)
{
    uintptr_t taken = (uintptr_t)from + *at;
    *at += (size_t)assay_round_up(bytes, 64);
    return (void *)taken;
}

/* Prefetches rows [row, end) that are `step` elements apart. The empty instruction is an effect:
 * gcc leaves out calls of functions that have none, and does not take a prefetch for one. */
static inline void attention_prefetch_rows(const struct attention_job *job, const void *data,
                                           int64_t at, int64_t step, int64_t row, int64_t end)
{
    int64_t bytes = job->kind == NATIVE_F32 ? 4 : 2;
    uintptr_t from = (uintptr_t)data + (uintptr_t)(at * bytes);
    __asm__ volatile("");
    for (int64_t r = row; r < end; r++)
        for (int64_t i = 0; i < job->dim * bytes; i += 64)
            __builtin_prefetch((const void *)(from + (uintptr_t)(r * step * bytes + i)), 0, 2);
}

/* Prefetches `n` rows of an input from `row` on, as far as there are any. */
static inline void attention_prefetch_input(const struct attention_job *job, const void *data,
                                            int64_t at, int64_t row, int64_t n)
{
    attention_prefetch_rows(job, data, at, job->step, row, assay_min(row + n, job->seq));
}

/* Prefetches what is needed soon, while rows [row, end) are computed: their outputs, and the rows
 * of q of the block behind this one, `ahead` rows further. Rows are short and lie far apart, often
 * in pages of their own, so the hardware prefetcher does not find them. Being a power of two apart
 * they also compete for the same sets of the L2 cache, where few keys and values of the next head
 * would stay: only those of a short sequence are prefetched here. */
static inline void attention_prefetch(const struct attention_job *job,
                                      const struct attention_head *head, int64_t row, int64_t end,
                                      int64_t ahead)
{
    enum { SHORT = 128 };
    const struct attention_head *next = head->next;
    if (!job->stream)
        attention_prefetch_rows(job, head->out, head->out_at, job->heads * job->dim, row, end);
    if (row + ahead < job->seq)
        attention_prefetch_rows(job, head->q, head->q_at, job->step, row + ahead,
                                assay_min(end + ahead, job->seq));
    else if (next)
        attention_prefetch_rows(job, next->q, next->q_at, job->step, row % ahead,
                                row % ahead + end - row);
    if (next && job->seq <= SHORT) {
        attention_prefetch_rows(job, next->k, next->k_at, job->step, row, end);
        attention_prefetch_rows(job, next->v, next->v_at, job->step, row, end);
    }
}

/* How many keys the rows before `row_end` see. */
static inline int64_t attention_keys(const struct attention_job *job, int64_t row_end)
{
    return job->causal ? row_end : job->seq;
}

enum assay_status attention_setup(const struct assay_problem *problem,
                                  const struct attention_body *body, void **state,
                                  struct assay_error *err);
enum assay_status attention_run(void *state, const struct assay_work *work);
void attention_teardown(void *state);

/* The fields of a kernel that are the same for all. */
#define ATTENTION_FIELDS_OF(op_)                                                                   \
    .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .op = op_,                \
    .implementation = "native", .device = "cpu", .run = attention_run,                             \
    .teardown = attention_teardown
#define ATTENTION_FIELDS ATTENTION_FIELDS_OF("attention")

#endif
