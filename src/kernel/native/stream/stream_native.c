/* stream_native.c: read, copy and triad by the loops that probe the machine's bandwidth
 * (device/cpu/cpu_stream.h); which of them is the fastest is found out in setup, for operands that
 * stay in the caches and for ones that do not. */
#include "base/alloc.h"
#include "device/cpu/cpu_stream.h"
#include "kernel/kernel.h"
#include "tensor/tensor.h"

#include <string.h>
#include <sys/mman.h>

/* More is not needed to tell which loop is the fastest. */
static const size_t SCRATCH_MOST = (size_t)1100 << 20;
/* These ops are asked what the machine can do: the right loop is worth a second of setup. */
static const double TUNE_MOST_NS = 1e9;

struct state {
    struct assay_cpu_stream hot, cold;
};

/* On memory of its own, which is given back: setup has no operands. Without any there is no telling
 * which loop is the fastest, and another one's time would pass for its. */
static enum assay_status tune(struct assay_cpu_stream *stream, int32_t threads, bool cold)
{
    enum { SETS = 4096 };
    size_t set = assay_cpu_stream_set_bytes(stream->kind, stream->bytes);
    size_t wanted = cold ? 2 * assay_cpu_llc_bytes(threads) / set + 2 : 1;
    size_t n = wanted < SETS ? wanted : SETS;
    enum assay_status status = ASSAY_ERR_NOMEM;
    char *pool = mmap(NULL, n * set, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct assay_args *sets = assay_calloc(n, sizeof *sets);
    void *(*pointers)[3] = assay_calloc(n, sizeof *pointers);
    if (pool != MAP_FAILED && sets && pointers) {
#if defined(MADV_HUGEPAGE)
        madvise(pool, n * set, MADV_HUGEPAGE);
#endif
        memset(pool, 0x3f, n * set);
        for (size_t i = 0; i < n; i++)
            assay_cpu_stream_bind(stream->kind, stream->bytes, pool + i * set, pointers[i],
                                  &sets[i]);
        assay_cpu_stream_tune(stream, threads, sets, (int64_t)n, TUNE_MOST_NS);
        status = ASSAY_OK;
    }
    if (pool != MAP_FAILED)
        munmap(pool, n * set);
    assay_free(sets);
    assay_free(pointers);
    return status;
}

static enum assay_status choose(struct assay_cpu_stream *stream, enum assay_cpu_loop_kind kind,
                                size_t bytes, int32_t threads, bool cold)
{
    /* Halves: a loop with several streams is slow where they lie a power of two apart, and must
     * meet that here if it meets it there. */
    size_t tried = bytes;
    while (assay_cpu_stream_set_bytes(kind, tried) > SCRATCH_MOST)
        tried /= 2;
    *stream = (struct assay_cpu_stream){.kind = kind, .bytes = tried};
    enum assay_status status = tune(stream, threads, cold);
    stream->bytes = bytes;
    return status;
}

static enum assay_status set_up(const struct assay_problem *problem, enum assay_cpu_loop_kind kind,
                                void **state, struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    size_t bytes = assay_tensor_bytes(&problem->inputs[0]);
    enum assay_status status = choose(&s->hot, kind, bytes, problem->threads, false);
    bool outgrows = bytes >= 4 * assay_cpu_llc_bytes(problem->threads);
    if (outgrows) /* no cache keeps it: it is cold every time */
        s->cold = s->hot;
    else if (status == ASSAY_OK)
        status = choose(&s->cold, kind, bytes, problem->threads, true);
    if (status != ASSAY_OK) {
        assay_free(s);
        return assay_error_set(err, status, NULL, "out of memory");
    }
    *state = s;
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    const struct assay_cpu_stream *stream = work->n_sets > 1 ? &s->cold : &s->hot;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        bool two = stream->kind == ASSAY_CPU_LOOP_TRIAD;
        uint32_t word =
            assay_cpu_stream_run(stream, args->out[0], args->in[0], two ? args->in[1] : NULL);
        if (stream->kind == ASSAY_CPU_LOOP_READ)
            memcpy(args->out[0], &word, sizeof word);
    }
    return ASSAY_OK;
}

#define STREAM_KERNEL(op_, kind, dtypes_)                                                          \
    static enum assay_status setup_##op_(const struct assay_problem *problem, void **state,        \
                                         struct assay_error *err)                                  \
    {                                                                                              \
        return set_up(problem, kind, state, err);                                                  \
    }                                                                                              \
    extern const struct assay_kernel assay_kernel_##op_##_native;                                  \
    const struct assay_kernel assay_kernel_##op_##_native = {                                      \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #op_ "_native",                                                                    \
        .op = #op_,                                                                                \
        .implementation = "native",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = 40,                                                                          \
        .setup = setup_##op_,                                                                      \
        .run = run,                                                                                \
        .teardown = assay_free,                                                                    \
    };

/* Bits are moved whatever they mean; what a triad adds are floats. */
enum {
    F32 = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
    ANY = F32 | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)
};
STREAM_KERNEL(read, ASSAY_CPU_LOOP_READ, ANY)
STREAM_KERNEL(copy, ASSAY_CPU_LOOP_COPY, ANY)
STREAM_KERNEL(triad, ASSAY_CPU_LOOP_TRIAD, F32)
