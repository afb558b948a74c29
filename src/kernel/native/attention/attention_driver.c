/* attention_driver.c: the driver of the native attention kernels: scratch memory, and the split
 * over threads. */
#include "base/math.h"
#include "kernel/native/attention/attention_native.h"

#include "base/alloc.h"
#include "kernel/host.h"

#include <math.h>
#include <omp.h>

/* Waking the team costs a few microseconds; a share of so many operations takes about as long. */
static const double SHARE_FLOPS = 5e5;

enum { LINE = 64 };

/* From MANY_HEADS a thread on, heads are dealt out as threads become free: a core that is slower
 * for a while does fewer. Each thread comes for some about DEALS times. */
enum { MANY_HEADS = 8, DEALS = 32 };

struct state {
    struct attention_job job;
    const struct attention_body *body;
    int64_t blocks; /* of rows, of one head */
    int32_t threads;
    unsigned char *scratch; /* of each thread, whole cache lines apart */
    void *allocated;
    size_t scratch_bytes;
    const struct assay_host *host; /* of the problem, for what a profile notes */
};

static struct attention_job job_of(const struct assay_problem *p)
{
    int64_t heads = p->axes[ASSAY_ATTENTION_HEADS], dim = p->axes[ASSAY_ATTENTION_DIM];
    bool packed = p->params[ASSAY_ATTENTION_PACKED] != 0;
    return (struct attention_job){
        .batch = p->axes[ASSAY_ATTENTION_BATCH],
        .seq = p->axes[ASSAY_ATTENTION_SEQ],
        .heads = heads,
        .dim = dim,
        .packed = packed,
        .causal = p->params[ASSAY_ATTENTION_CAUSAL] != 0,
        .saves = p->n_outputs > 1,
        .step = (packed ? 3 : 1) * heads * dim,
        .kind = p->dtype == ASSAY_DTYPE_F32            ? NATIVE_F32
                : p->dtype == ASSAY_DTYPE_F16          ? NATIVE_F16
                : assay_cpu_has(ASSAY_CPU_AVX512_BF16) ? NATIVE_BF16_INSN
                                                       : NATIVE_BF16,
        .scale = (float)(1 / sqrt((double)dim)),
    };
}

static int32_t threads_of(const struct assay_problem *p, const struct attention_job *job,
                          int64_t blocks)
{
    double flops = 4.0 * (double)job->batch * (double)job->heads * (double)job->seq *
                   (double)job->seq * (double)job->dim;
    int64_t busy = flops < SHARE_FLOPS          ? 1
                   : flops / SHARE_FLOPS > 4096 ? 4096
                                                : (int64_t)(flops / SHARE_FLOPS);
    busy = assay_min(busy, blocks * job->batch * job->heads);
    return (int32_t)assay_min(p->threads, busy);
}

static bool wants_stream(const struct attention_job *job, int32_t threads)
{
    int64_t row = job->dim * (job->kind == NATIVE_F32 ? 4 : 2);
    int64_t all = job->batch * job->seq * job->heads * row;
    return row % LINE == 0 && assay_native_wants_stream((size_t)(all / threads));
}

enum assay_status attention_setup(const struct assay_problem *problem,
                                  const struct attention_body *body, void **state,
                                  struct assay_error *err)
{
    struct attention_job job = job_of(problem);
    int64_t blocks = (job.seq + body->block_rows - 1) / body->block_rows;
    int32_t threads = threads_of(problem, &job, blocks);
    job.stream = body->can_stream && wants_stream(&job, threads);
    size_t bytes = (body->scratch_bytes(&job) + LINE - 1) / LINE * LINE;
    struct state *s = assay_calloc(1, sizeof *s);
    void *allocated = assay_calloc((size_t)threads * (bytes / LINE) + 1, LINE);
    if (!s || !allocated) {
        assay_free(s);
        assay_free(allocated);
        return assay_error_nomem(err);
    }
    *s = (struct state){
        .job = job,
        .body = body,
        .blocks = blocks,
        .threads = threads,
        .scratch = (unsigned char *)allocated + (-(uintptr_t)allocated & (LINE - 1)),
        .allocated = allocated,
        .scratch_bytes = bytes,
        .host = problem->host,
    };
    *state = s;
    return ASSAY_OK;
}

void attention_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->allocated);
    assay_free(s);
}

static struct attention_head head_of(const struct attention_job *job, const struct assay_args *args,
                                     int64_t head)
{
    int64_t width = job->heads * job->dim, batch = head / job->heads;
    int64_t in_head = head % job->heads * job->dim;
    int64_t at = batch * job->seq * job->step + in_head;
    bool packed = job->packed;
    return (struct attention_head){
        .q = args->in[0],
        .k = args->in[packed ? 0 : 1],
        .v = args->in[packed ? 0 : 2],
        .out = args->out[0],
        .lse = job->saves ? (float *)args->out[1] + head * job->seq : NULL,
        .q_at = at,
        .k_at = at + (packed ? width : 0),
        .v_at = at + (packed ? 2 * width : 0),
        .out_at = batch * job->seq * width + in_head,
    };
}

/* The work of the first n blocks of a head: where it is causal, each has one more key block. */
static int64_t work_of(const struct state *s, int64_t n)
{
    return s->job.causal ? n * (n + 1) / 2 : n;
}

/* The block with which thread `index` begins; the last one ends at index == threads. */
static int64_t share_begin(const struct state *s, int32_t index)
{
    int64_t heads = s->job.batch * s->job.heads, whole = work_of(s, s->blocks);
    if (index >= s->threads)
        return heads * s->blocks;
    double target = (double)heads * (double)whole * index / s->threads;
    int64_t head = (int64_t)(target / (double)whole), block = 0;
    while (block < s->blocks && (double)(head * whole + work_of(s, block)) < target)
        block++;
    return head * s->blocks + block;
}

/* Blocks [begin, end), of which the first may be in the middle of a head. Head `then` is likely to
 * follow, if there is one. */
static void run_blocks(const struct state *s, const struct assay_args *args, int64_t begin,
                       int64_t end, int64_t then, void *scratch)
{
    const struct attention_body *body = s->body;
    for (int64_t b = begin; b < end;) {
        int64_t number = b / s->blocks, stop = assay_min(end, (number + 1) * s->blocks);
        int64_t behind = stop < end ? number + 1 : then;
        struct attention_head head = head_of(&s->job, args, number), next;
        if (behind < s->job.batch * s->job.heads) {
            next = head_of(&s->job, args, behind);
            head.next = &next;
        }
        int64_t row = (b - number * s->blocks) * body->block_rows;
        int64_t row_end = assay_min((stop - number * s->blocks) * body->block_rows, s->job.seq);
        body->pack(&s->job, &head, row, row_end, scratch);
        body->rows(&s->job, &head, row, row_end, scratch);
        b = stop;
    }
}

static void run_share(const struct state *s, const struct assay_args *args, int32_t index,
                      struct assay_recorder *recorder)
{
    int64_t began = assay_recorder_now(recorder);
    int64_t begin = share_begin(s, index), end = share_begin(s, index + 1);
    if (begin >= end)
        return;
    if (s->body->open)
        s->body->open();
    run_blocks(s, args, begin, end, INT64_MAX, s->scratch + (size_t)index * s->scratch_bytes);
    if (s->body->close)
        s->body->close();
    assay_recorder_share(recorder, index, began, end - begin);
}

/* What one thread takes of all heads. Each time a head begins its keys and values are packed, so
 * none is cut. */
static void run_dealt(const struct state *s, const struct assay_args *args, int64_t *taken,
                      struct assay_recorder *recorder)
{
    int64_t began = assay_recorder_now(recorder), blocks = 0;
    int64_t heads = s->job.batch * s->job.heads, some = heads / s->threads / DEALS;
    void *scratch = s->scratch + (size_t)omp_get_thread_num() * s->scratch_bytes;
    some = some > 0 ? some : 1;
    if (s->body->open)
        s->body->open();
    for (;;) {
        int64_t head;
#pragma omp atomic capture
        {
            head = *taken;
            *taken += some;
        }
        if (head >= heads)
            break;
        int64_t end = assay_min(head + some, heads), then = head + some * s->threads;
        run_blocks(s, args, head * s->blocks, end * s->blocks, then, scratch);
        blocks += (end - head) * s->blocks;
    }
    if (s->body->close)
        s->body->close();
    assay_recorder_share(recorder, omp_get_thread_num(), began, blocks);
}

static bool deals(const struct state *s)
{
    return s->threads > 1 && s->job.batch * s->job.heads >= (int64_t)MANY_HEADS * s->threads;
}

enum assay_status attention_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    struct assay_recorder *recorder = assay_host_recorder(s->host);
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        if (s->threads == 1) {
            run_share(s, args, 0, recorder);
            continue;
        }
        if (deals(s)) {
            int64_t taken = 0;
#pragma omp parallel num_threads(s->threads)
            run_dealt(s, args, &taken, recorder);
            continue;
        }
        /* The whole team, whatever the number of shares: a smaller one would cost the others their
         * core (native.h). */
#pragma omp parallel for schedule(static, 1)
        for (int32_t t = 0; t < s->threads; t++)
            run_share(s, args, t, recorder);
    }
    return ASSAY_OK;
}
