#include "device/cpu/cpu_stream.h"

#include "base/clock.h"
#include "device/cpu/cpu_turns.h"

#include <math.h>
#include <omp.h>
#include <string.h>

enum { PAGE = 4096, LINE = 64, TURNS_LEAST = 3 };
/* A measurement of a way is so long at the least. */
static const double WAY_NS = 30e3;
/* Below this, one thread may be faster than all: waking them up takes as long as the work. */
static const size_t ONE_THREAD_BYTES = (size_t)4 << 20;

static int tensors(enum assay_cpu_loop_kind kind)
{
    return kind == ASSAY_CPU_LOOP_TRIAD ? 3 : kind == ASSAY_CPU_LOOP_COPY ? 2 : 1;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Tensors start at different offsets within a page, as operands do (bench/operands.c says why). */
static size_t tensor_stride(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE + 3072; }

size_t assay_cpu_stream_set_bytes(enum assay_cpu_loop_kind kind, size_t bytes)
{
    return ((size_t)tensors(kind) * tensor_stride(bytes) + PAGE - 1) / PAGE * PAGE;
}

void assay_cpu_stream_bind(enum assay_cpu_loop_kind kind, size_t bytes, char *set,
                           void *pointers[3], struct assay_args *out)
{
    int first = kind == ASSAY_CPU_LOOP_READ ? 1 : 0; /* which writes nothing */
    pointers[0] = pointers[1] = pointers[2] = NULL;
    for (int i = 0; i < tensors(kind); i++)
        pointers[first + i] = set + (size_t)i * tensor_stride(bytes);
    out->out = pointers;
    out->in = (const void *const *)(pointers + 1);
}

/* ---- one pass -------------------------------------------------------------------------------- */

static uint32_t xor_of(const void *data, size_t bytes)
{
    uint32_t word, all = 0;
    size_t done = 0;
    for (; done + sizeof word <= bytes; done += sizeof word) {
        memcpy(&word, (const char *)data + done, sizeof word);
        all ^= word;
    }
    word = 0;
    memcpy(&word, (const char *)data + done, bytes - done);
    return all ^ word;
}

/* The remainder below a whole grain. */
static uint32_t run_rest(const struct assay_cpu_stream *s, char *out, const char *a, const char *b)
{
    size_t done = s->bytes / ASSAY_CPU_LOOP_GRAIN * ASSAY_CPU_LOOP_GRAIN, rest = s->bytes - done;
    if (s->kind == ASSAY_CPU_LOOP_READ)
        return xor_of(a + done, rest);
    if (s->kind == ASSAY_CPU_LOOP_COPY)
        memcpy(out + done, a + done, rest);
    else if (s->kind == ASSAY_CPU_LOOP_WRITE)
        memset(out + done, 1, rest);
    for (size_t i = done; s->kind == ASSAY_CPU_LOOP_TRIAD && i + sizeof(float) <= s->bytes;
         i += sizeof(float)) {
        float x, y, sum;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sum = fmaf(y, 3.0f, x);
        memcpy(out + i, &sum, sizeof sum);
    }
    return 0;
}

static uint32_t run_share(const struct assay_cpu_stream *s, int32_t thread, int32_t threads,
                          char *out, const char *a, const char *b)
{
    _Alignas(LINE) char line[LINE] = {0}; /* what a read stores */
    bool read = s->kind == ASSAY_CPU_LOOP_READ;
    size_t grains = s->bytes / ASSAY_CPU_LOOP_GRAIN;
    size_t from = grains * (size_t)thread / (size_t)threads * ASSAY_CPU_LOOP_GRAIN;
    size_t to = grains * (size_t)(thread + 1) / (size_t)threads * ASSAY_CPU_LOOP_GRAIN;
    uint32_t word = 0;
    if (to > from)
        s->loop->run(read ? line : out + from, a ? a + from : NULL, b ? b + from : NULL, to - from);
    if (thread == threads - 1 && s->bytes % ASSAY_CPU_LOOP_GRAIN)
        word = run_rest(s, out, a, b);
    return read ? word ^ xor_of(line, LINE) : 0;
}

uint32_t assay_cpu_stream_run(const struct assay_cpu_stream *s, void *out, const void *a,
                              const void *b)
{
    uint32_t all = 0;
    if (s->threads == 1)
        return run_share(s, 0, 1, out, a, b);
#pragma omp parallel num_threads(s->threads) reduction(^ : all)
    all ^= run_share(s, omp_get_thread_num(), omp_get_num_threads(), out, a, b);
    return all;
}

static void run_shares(const struct assay_cpu_stream *s, const struct assay_args *sets,
                       int64_t n_sets, int64_t first, int64_t passes, int32_t thread,
                       int32_t threads)
{
    for (int64_t i = 0; i < passes; i++) {
        const struct assay_args *args = &sets[(first + i) % n_sets];
        run_share(s, thread, threads, args->out[0], args->in[0], args->in[1]);
    }
}

void assay_cpu_stream_run_sets(const struct assay_cpu_stream *s, const struct assay_args *sets,
                               int64_t n_sets, int64_t first, int64_t passes)
{
    if (s->threads == 1) {
        run_shares(s, sets, n_sets, first, passes, 0, 1);
        return;
    }
#pragma omp parallel num_threads(s->threads)
    run_shares(s, sets, n_sets, first, passes, omp_get_thread_num(), omp_get_num_threads());
}

/* ---- which way is the fastest ---------------------------------------------------------------- */

struct way {
    const struct assay_cpu_loop *loop;
    int32_t threads;
};

struct tuning {
    struct assay_cpu_stream stream;
    int32_t threads; /* at the most */
    const struct assay_args *sets;
    int64_t n_sets, next;
    struct way ways[ASSAY_CPU_MAX_WAYS];
    struct assay_cpu_turns turns;
};

static void add_ways(struct tuning *t, const struct assay_cpu_loop *loops, bool near,
                     int32_t threads)
{
    for (const struct assay_cpu_loop *loop = loops; loop && loop->name; loop++)
        if (loop->kind == t->stream.kind && !(near && loop->far) && t->turns.n < ASSAY_CPU_MAX_WAYS)
            t->ways[t->turns.n++] = (struct way){.loop = loop, .threads = threads};
}

/* All threads or one, which needs no team. No number in between: OpenMP ends the threads that a
 * smaller team does not need, and those it starts for the next larger one are not pinned. */
static void add_all_ways(struct tuning *t, int32_t threads)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    struct assay_cpu_loops loops = assay_cpu_loops(cpu->isa);
    size_t all = t->stream.bytes * (size_t)tensors(t->stream.kind);
    bool near = t->n_sets == 1 && all <= cpu->l2_bytes;
    add_ways(t, loops.wide, near, threads);
    add_ways(t, loops.any, near, threads);
    if (threads > 1 && all < ONE_THREAD_BYTES) {
        add_ways(t, loops.wide, near, 1);
        add_ways(t, loops.any, near, 1);
    }
}

static void run_next(struct tuning *t)
{
    const struct assay_args *args = &t->sets[t->next];
    t->next = (t->next + 1) % t->n_sets;
    assay_cpu_stream_run(&t->stream, args->out[0], args->in[0], args->in[1]);
}

/* What a large cache keeps of memory that is used again shows after some passes only; 192 MB in a
 * cache of 300 MB were read at their final speed from the fifth on. */
static int64_t passes_to_settle(const struct tuning *t)
{
    size_t all = t->stream.bytes * (size_t)tensors(t->stream.kind);
    const struct assay_cpu_info *cpu = assay_cpu_info();
    if (t->n_sets > 1)
        return 0;
    return all > cpu->l2_bytes && all <= 2 * assay_cpu_llc_bytes(t->threads) ? 4 : 1;
}

/* Time of one pass; a short one is taken several times. Those before, which fill the caches, are
 * not timed. */
static double time_way(struct tuning *t, const struct way *way)
{
    int64_t passes = 0, start;
    double ns = 0;
    t->stream.loop = way->loop;
    t->stream.threads = way->threads;
    for (int64_t i = passes_to_settle(t); i > 0; i--)
        run_next(t);
    start = assay_clock_ns();
    do {
        run_next(t);
        ns = (double)(assay_clock_ns() - start);
    } while (++passes, ns < WAY_NS);
    return ns / (double)passes;
}

static void take_turn(struct tuning *t)
{
    double ns[ASSAY_CPU_MAX_WAYS] = {0};
    for (int32_t i = 0; i < t->turns.n; i++)
        if (!t->turns.ways[i].out)
            ns[i] = time_way(t, &t->ways[i]);
    assay_cpu_turns_take(&t->turns, ns);
}

void assay_cpu_stream_tune(struct assay_cpu_stream *stream, int32_t threads,
                           const struct assay_args *sets, int64_t n_sets, double most_ns)
{
    struct tuning t = {.stream = *stream, .threads = threads, .sets = sets, .n_sets = n_sets};
    int64_t start = assay_clock_ns();
    add_all_ways(&t, threads);
    time_way(&t, &t.ways[0]); /* wakes up what sleeps */
    while (!assay_cpu_turns_decided(&t.turns) &&
           (t.turns.taken < TURNS_LEAST || (double)(assay_clock_ns() - start) < most_ns))
        take_turn(&t);
    const struct way *fastest = &t.ways[assay_cpu_turns_fastest(&t.turns)];
    stream->loop = fastest->loop;
    stream->threads = fastest->threads;
}
