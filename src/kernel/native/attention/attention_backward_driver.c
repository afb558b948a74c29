/* attention_backward_driver.c: scratch memory of the native kernels of attention's gradients, and
 * the split over threads. */
#include "base/math.h"
#include "kernel/native/attention/attention_backward_native.h"

#include "base/alloc.h"

#include <math.h>
#include <omp.h>

enum { LINE = 64 };

struct state {
    struct attention_backward_job job;
    const struct attention_backward_body *body;
    int64_t parts, part_rows; /* of each head */
    int32_t threads;
    unsigned char *scratch, *sums; /* of each thread; of each part, or of each thread */
    void *allocated;
    size_t scratch_bytes, sums_bytes;
};

static struct attention_backward_job job_of(const struct assay_problem *p)
{
    int64_t width = p->axes[ASSAY_ATTENTION_HEADS] * p->axes[ASSAY_ATTENTION_DIM];
    bool packed = p->params[ASSAY_ATTENTION_PACKED] != 0;
    return (struct attention_backward_job){
        .packed = packed,
        .step = width,
        .in_step = packed ? 3 * width : width,
        .batch = p->axes[ASSAY_ATTENTION_BATCH],
        .seq = p->axes[ASSAY_ATTENTION_SEQ],
        .heads = p->axes[ASSAY_ATTENTION_HEADS],
        .dim = p->axes[ASSAY_ATTENTION_DIM],
        .causal = p->params[ASSAY_ATTENTION_CAUSAL] != 0,
        .kind = assay_native_kind(p->dtype, assay_cpu_has(ASSAY_CPU_AVX512_BF16)),
        .scale = (float)(1 / sqrt((double)p->axes[ASSAY_ATTENTION_DIM])),
    };
}

/* As many parts as keep all threads busy, of whole blocks. */
static void split(struct state *s)
{
    int64_t heads = s->job.batch * s->job.heads, block = s->body->block_rows;
    int64_t blocks = (s->job.seq + block - 1) / block;
    int64_t wanted = heads >= s->threads ? 1 : (s->threads + heads - 1) / heads;
    int64_t each = (blocks + assay_min(wanted, blocks) - 1) / assay_min(wanted, blocks);
    s->part_rows = each * block;
    s->parts = (s->job.seq + s->part_rows - 1) / s->part_rows;
}

enum assay_status attention_backward_setup(const struct assay_problem *problem,
                                           const struct attention_backward_body *body, void **state,
                                           struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    *s = (struct state){.job = job_of(problem), .body = body, .threads = problem->threads};
    split(s);
    s->scratch_bytes = (size_t)assay_round_up((int64_t)body->scratch_bytes(&s->job), LINE);
    s->sums_bytes = (size_t)assay_round_up((int64_t)body->sums_bytes(&s->job), LINE);
    size_t slots =
        s->parts > 1 ? (size_t)(s->job.batch * s->job.heads * s->parts) : (size_t)s->threads;
    size_t scratch = (size_t)s->threads * s->scratch_bytes;
    s->allocated = assay_calloc((scratch + slots * s->sums_bytes) / LINE + 1, LINE);
    if (!s->allocated) {
        assay_free(s);
        return assay_error_nomem(err);
    }
    s->scratch = (unsigned char *)s->allocated + (-(uintptr_t)s->allocated & (LINE - 1));
    s->sums = s->scratch + scratch;
    *state = s;
    return ASSAY_OK;
}

void attention_backward_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->allocated);
    assay_free(s);
}

static struct attention_backward_head head_of(const struct attention_backward_job *job,
                                              const struct assay_args *args, int64_t head)
{
    int64_t in_head = head % job->heads * job->dim, row = head / job->heads * job->seq;
    int64_t in_at = row * job->in_step + in_head, apart = job->packed ? job->step : 0;
    bool packed = job->packed;
    return (struct attention_backward_head){
        .dout = args->in[0],
        .q = args->in[1],
        .k = args->in[packed ? 1 : 2],
        .v = args->in[packed ? 1 : 3],
        .out = args->in[packed ? 2 : 4],
        .lse = (const float *)args->in[packed ? 3 : 5] + head * job->seq,
        .dq = args->out[0],
        .dk = args->out[packed ? 0 : 1],
        .dv = args->out[packed ? 0 : 2],
        .at = row * job->step + in_head,
        .q_at = in_at,
        .k_at = in_at + apart,
        .v_at = in_at + 2 * apart,
    };
}

static float *sums_of(const struct state *s, int64_t slot)
{
    return (float *)(void *)(s->sums + (size_t)slot * s->sums_bytes);
}

static void run_part(const struct state *s, const struct assay_args *args, int64_t item)
{
    int32_t thread = omp_get_thread_num();
    int64_t row = item % s->parts * s->part_rows;
    struct attention_backward_head head = head_of(&s->job, args, item / s->parts);
    float *sums = sums_of(s, s->parts > 1 ? item : thread);
    s->body->rows(&s->job, &head, row, assay_min(row + s->part_rows, s->job.seq),
                  s->scratch + (size_t)thread * s->scratch_bytes, sums);
    if (s->parts == 1)
        s->body->finish(&s->job, &head, sums, 1);
}

static void finish_head(const struct state *s, const struct assay_args *args, int64_t number)
{
    struct attention_backward_head head = head_of(&s->job, args, number);
    s->body->finish(&s->job, &head, sums_of(s, number * s->parts), s->parts);
}

enum assay_status attention_backward_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    int64_t heads = s->job.batch * s->job.heads;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
#pragma omp parallel num_threads(s->threads)
        {
#pragma omp for schedule(dynamic)
            for (int64_t item = 0; item < heads * s->parts; item++)
                run_part(s, args, item);
#pragma omp for schedule(dynamic)
            for (int64_t head = 0; head < (s->parts > 1 ? heads : 0); head++)
                finish_head(s, args, head);
        }
    }
    return ASSAY_OK;
}
