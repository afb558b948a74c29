/* native.c: the driver of assay's own CPU kernels: choice of variant, split over threads, loop. */
#include "kernel/native/native.h"

#include "base/alloc.h"
#include "kernel/host.h"

#include <omp.h>
#include <string.h>

/* Waking the team costs a few microseconds; a share of this many elements takes about as long. */
enum { SHARE_MIN = 16384 };

/* Shares of a flat array begin at multiples of this many elements: whole cache lines for every
 * dtype, because tensors begin on one. */
enum { ELEMENT_QUANTUM = 64 };

struct state {
    struct native_job job;
    native_share *share, *finish;
    bool mean, total;
    int64_t units, quantum; /* shares begin at multiples of `quantum` units */
    int32_t threads;
    double *partial; /* of each thread, a cache line apart */
    float *columns;  /* what the job's columns lie in */
};

enum { LINE = 64, PARTIAL_STRIDE = LINE / sizeof(double) };

enum native_kind assay_native_kind(enum assay_dtype dtype, bool has_insn)
{
    if (dtype == ASSAY_DTYPE_F32)
        return NATIVE_F32;
    if (dtype == ASSAY_DTYPE_F16)
        return NATIVE_F16;
    return has_insn && assay_cpu_has(ASSAY_CPU_AVX512_BF16) ? NATIVE_BF16_INSN : NATIVE_BF16;
}

/* Rows in a share are a multiple of this where there are enough of them, so that two threads do not
 * write into the same cache line. */
static int64_t row_quantum(int64_t rows, size_t row_bytes, int32_t threads)
{
    int64_t quantum = 64;
    while (quantum > 1 && row_bytes % 2 == 0) {
        row_bytes /= 2;
        quantum /= 2;
    }
    return rows / threads >= 8 * quantum ? quantum : 1;
}

bool assay_native_wants_stream(size_t share_bytes)
{
    size_t l2 = assay_cpu_info()->l2_bytes;
    return share_bytes > (l2 ? l2 : (size_t)1 << 20);
}

static size_t output_bytes(const struct assay_problem *problem)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < problem->n_outputs; i++)
        bytes += assay_tensor_bytes(&problem->outputs[i]);
    return bytes;
}

/* The vectors of all threads. Each begins a cache line, and those of different threads are an odd
 * number of lines apart. */
static bool allocate_columns(struct state *s, int vectors)
{
    struct native_columns *c = &s->job.columns;
    enum { FLOATS = LINE / sizeof(float) };
    if (vectors == 0)
        return true;
    c->threads = s->threads;
    c->width = (s->job.dim + ELEMENT_QUANTUM - 1) / ELEMENT_QUANTUM * ELEMENT_QUANTUM;
    c->stride = vectors * c->width + FLOATS;
    s->columns = assay_calloc((size_t)s->threads * (size_t)c->stride + FLOATS, sizeof(float));
    if (!s->columns)
        return false;
    c->first = s->columns + (-(uintptr_t)s->columns & (LINE - 1)) / sizeof(float);
    return true;
}

enum assay_status assay_native_setup(const struct assay_problem *problem,
                                     const struct native_body *body, void **state,
                                     struct assay_error *err)
{
    /* swiglu has two elements of x for one of the output, a mean many. */
    const struct assay_tensor *counted =
        body->mean || body->of_input ? &problem->inputs[0] : &problem->outputs[0];
    int64_t count = assay_tensor_count(counted), dim = counted->dims[counted->rank - 1];
    int64_t busy = count / SHARE_MIN < 1 ? 1 : count / SHARE_MIN;
    int32_t threads = problem->threads < busy ? problem->threads : (int32_t)busy;
    struct state *s = assay_calloc(1, sizeof *s);
    double *partial = assay_calloc((size_t)threads * PARTIAL_STRIDE, sizeof *partial);
    if (!s || !partial) {
        assay_free(s);
        assay_free(partial);
        return assay_error_nomem(err);
    }
    enum native_kind kind =
        assay_native_kind(problem->dtype, body->share[NATIVE_BF16_INSN][0] != NULL);
    bool stream = assay_native_wants_stream(output_bytes(problem) / (size_t)threads);
    *s = (struct state){
        .job = {.problem = problem, .rows = count / dim, .dim = dim, .param = problem->params[0]},
        .share = body->share[kind][stream],
        .finish = body->finish[kind],
        .mean = body->mean,
        .total = body->total,
        .units = body->split == NATIVE_ROWS ? count / dim : count,
        .quantum = ELEMENT_QUANTUM,
        .threads = threads,
        .partial = partial,
    };
    if (body->split == NATIVE_ROWS)
        s->quantum =
            row_quantum(s->job.rows, (size_t)dim * assay_dtype_bytes(problem->dtype), threads);
    if (!allocate_columns(s, body->columns)) {
        assay_native_teardown(s);
        return assay_error_nomem(err);
    }
    *state = s;
    return ASSAY_OK;
}

void assay_native_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->partial);
    assay_free(s->columns);
    assay_free(s);
}

/* Where thread `index` of `threads` begins; the last one ends at index == threads. */
static int64_t share_begin(const struct state *s, int64_t units, int64_t quantum, int32_t index)
{
    if (index >= s->threads)
        return units;
    int64_t groups = (units + quantum - 1) / quantum;
    int64_t even = groups / s->threads, odd = groups % s->threads;
    int64_t begin = (even * index + (index < odd ? index : odd)) * quantum;
    return begin < units ? begin : units;
}

static void run_share(const struct state *s, const struct assay_args *args, int32_t index,
                      struct assay_recorder *recorder)
{
    int64_t began = assay_recorder_now(recorder);
    int64_t begin = share_begin(s, s->units, s->quantum, index);
    int64_t end = share_begin(s, s->units, s->quantum, index + 1);
    struct native_job job = s->job;
    if (s->finish) {
        job.columns.own = job.columns.first + index * job.columns.stride;
        memset(job.columns.own, 0, (size_t)job.columns.stride * sizeof *job.columns.own);
    }
    s->partial[index * PARTIAL_STRIDE] = begin < end ? s->share(&job, args, begin, end) : 0;
    if (begin < end)
        assay_recorder_share(recorder, index, began, end - begin);
}

static void finish_share(const struct state *s, const struct assay_args *args, int32_t index,
                         struct assay_recorder *recorder)
{
    int64_t began = assay_recorder_now(recorder);
    int64_t begin = share_begin(s, s->job.dim, ELEMENT_QUANTUM, index);
    int64_t end = share_begin(s, s->job.dim, ELEMENT_QUANTUM, index + 1);
    if (begin >= end)
        return;
    s->finish(&s->job, args, begin, end);
    assay_recorder_share(recorder, index, began, end - begin);
}

/* Columns of a few kilobytes are stored before a team has woken. */
static void finish(const struct state *s, const struct assay_args *args,
                   struct assay_recorder *recorder)
{
    int64_t began = assay_recorder_now(recorder);
    if (s->job.dim * s->threads < SHARE_MIN) {
        s->finish(&s->job, args, 0, s->job.dim);
        assay_recorder_share(recorder, 0, began, s->job.dim);
        return;
    }
#pragma omp parallel for schedule(static, 1)
    for (int32_t i = 0; i < s->threads; i++)
        finish_share(s, args, i, recorder);
}

static void compute(const struct state *s, const struct assay_args *args,
                    struct assay_recorder *recorder)
{
    if (s->threads == 1) {
        run_share(s, args, 0, recorder);
    } else {
        /* The whole team, whatever the number of shares: a smaller one would cost the others their
         * core (native.h). */
#pragma omp parallel for schedule(static, 1)
        for (int32_t i = 0; i < s->threads; i++)
            run_share(s, args, i, recorder);
    }
    if (s->finish)
        finish(s, args, recorder);
    if (!s->mean)
        return;
    double sum = 0;
    for (int32_t i = 0; i < s->threads; i++)
        sum += s->partial[i * PARTIAL_STRIDE];
    *(float *)args->out[0] = (float)(s->total ? sum : sum / (double)s->units);
}

enum assay_status assay_native_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    struct assay_recorder *recorder = assay_host_recorder(s->job.problem->host);
    for (int64_t i = 0; i < work->iters; i++)
        compute(s, assay_work_args(work, i), recorder);
    return ASSAY_OK;
}
