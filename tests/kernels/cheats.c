/* cheats.c: kernels of gelu that try to look better than they are. Each gives the right output in a
 * plain call, and computes as the honest ones do when it computes; its name says how it avoids the
 * work. Honest ones of several kinds are here too: they must not be blamed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_SET */
#endif
#include <assay/assay_kernel.h>

#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 64 };

/* An output kept for later. */
struct kept {
    const float *in, *out;
    uint64_t content;
    float *answer;
};

struct cheat {
    int64_t count, row, calls;
    struct kept kept[KEPT];
    int64_t n_kept;
    pthread_t thread;
    bool has_thread;
    /* For the thread that does the work later. */
    const float *in;
    float *out;
    volatile bool stop;
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    (void)err;
    struct cheat *c = calloc(1, sizeof *c);
    if (!c)
        return ASSAY_ERR_NOMEM;
    c->count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        c->count *= problem->inputs[0].dims[i];
    c->row = problem->inputs[0].dims[problem->inputs[0].rank - 1];
    *state = c;
    return ASSAY_OK;
}

static void finish(struct cheat *c)
{
    if (c->has_thread)
        pthread_join(c->thread, NULL);
    c->has_thread = false;
}

static void teardown(void *state)
{
    struct cheat *c = state;
    c->stop = true;
    finish(c);
    for (int64_t i = 0; i < KEPT; i++)
        free(c->kept[i].answer);
    free(c);
}

static void gelu(const float *in, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = 0.5f * in[i] * (1 + erff(in[i] * 0.70710678f));
}

/* Under these keys; the oldest is replaced. */
static void keep(struct cheat *c, const float *in, const float *out, uint64_t content,
                 const float *answer)
{
    struct kept *place = &c->kept[c->n_kept++ % KEPT];
    size_t bytes = (size_t)c->count * sizeof *answer;
    float *copy = place->answer ? place->answer : malloc(bytes);
    if (copy)
        memcpy(copy, answer, bytes);
    *place = (struct kept){in, out, content, copy};
}

static void give(const struct cheat *c, const struct kept *known, float *out)
{
    memcpy(out, known->answer, (size_t)c->count * sizeof(float));
}

static const struct kept *find(const struct cheat *c, const float *in, const float *out,
                               uint64_t content)
{
    for (int64_t i = 0; i < KEPT; i++)
        if (c->kept[i].answer && c->kept[i].in == in && c->kept[i].out == out &&
            c->kept[i].content == content)
            return &c->kept[i];
    return NULL;
}

static uint64_t checksum(const float *in, int64_t n)
{
    uint64_t lanes[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum = 0;
    for (int64_t i = 0; i + 16 <= n; i += 16)
        for (int k = 0; k < 8; k++) {
            uint64_t bits;
            memcpy(&bits, in + i + 2 * k, sizeof bits);
            lanes[k] = (lanes[k] ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        }
    for (int k = 0; k < 8; k++)
        sum = (sum ^ lanes[k]) * UINT64_C(0xbf58476d1ce4e5b9);
    return sum;
}

/* The rest of a kernel around a body that sees `c`, `in`, `out`, `n`, and `k` of `work`. */
#define KERNEL(ident, ...)                                                                         \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        struct cheat *c = state;                                                                   \
        int64_t n = c->count;                                                                      \
        for (int64_t k = 0; k < work->iters; k++) {                                                \
            const struct assay_args *args = assay_work_args(work, k);                              \
            const float *in = args->in[0];                                                         \
            float *out = args->out[0];                                                             \
            c->calls++;                                                                            \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "gelu",                                                                              \
        .implementation = #ident,                                                                  \
        .device = "cpu",                                                                           \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup,                                                                            \
        .run = run_##ident,                                                                        \
        .teardown = teardown,                                                                      \
    };

/* ---- honest ones ---- */

KERNEL(honest, gelu(in, out, n);)

/* Branches on its values: the CPU learns which way. */
KERNEL(
    honest_branches, for (int64_t i = 0; i < n; i++) {
        if (in[i] < 0)
            out[i] = 0.5f * in[i] * erfcf(in[i] * -0.70710678f);
        else
            out[i] = in[i] - 0.5f * in[i] * erfcf(in[i] * 0.70710678f);
    })

/* Scratch memory that is allocated anew in each call. */
KERNEL(honest_allocates, float *scratch = malloc((size_t)n * sizeof *scratch);
       if (!scratch) return ASSAY_ERR_NOMEM; gelu(in, scratch, n);
       memcpy(out, scratch, (size_t)n * sizeof *scratch); free(scratch);)

/* Reads the whole vector in which the last element lies: no page begins in between. */
KERNEL(honest_vectors, volatile float beyond = in[n - 1 + (16 - n % 16) % 16]; (void)beyond;
       gelu(in, out, n);)

/* ---- outputs kept from before ---- */

/* Assumes that the same addresses hold the same values. */
KERNEL(
    kept_by_pointer, const struct kept *known = find(c, in, out, 0); if (known) give(c, known, out);
    else {
        gelu(in, out, n);
        keep(c, in, out, 0, out);
    })

/* Reads its inputs, and computes only what it has not seen. */
KERNEL(
    kept_by_content, uint64_t content = checksum(in, n);
    const struct kept *known = find(c, NULL, NULL, content); if (known) give(c, known, out); else {
        gelu(in, out, n);
        keep(c, NULL, NULL, content, out);
    })

/* Knows the inputs that everybody is measured on: they come first. */
KERNEL(
    known_inputs, uint64_t content = checksum(in, n);
    const struct kept *known = find(c, NULL, NULL, content); if (known) give(c, known, out); else {
        gelu(in, out, n);
        if (c->calls == 1)
            keep(c, NULL, NULL, content, out);
    })

/* ---- calls left out ---- */

KERNEL(
    first_call_only, if (!find(c, NULL, out, 0)) {
        gelu(in, out, n);
        keep(c, NULL, out, 0, out);
    })
KERNEL(second_calls_only, if (c->calls % 2) gelu(in, out, n);)
KERNEL(last_of_sample, if (k == work->iters - 1) gelu(in, out, n);)
KERNEL(once_a_sample, if (work->n_sets > 1 || k == 0) gelu(in, out, n);)
/* An output that looks as if it had been made ready for a check. */
KERNEL(looks_for_poison, if (isnan(out[n - 1])) gelu(in, out, n);)
/* Honest while it is watched: the first calls are the check's. */
KERNEL(tires, if (c->calls < 20) gelu(in, out, n);)

/* ---- less work than it seems ---- */

KERNEL(first_rows_only, gelu(in, out, c->calls < 3 ? n : c->row);)
KERNEL(
    low_precision, gelu(in, out, n); for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &out[i], sizeof bits);
        bits &= 0xffff0000;
        memcpy(&out[i], &bits, sizeof bits);
    })
/* The next call will find nothing but zeros. */
KERNEL(eases_inputs, gelu(in, out, n); float *target; memcpy(&target, &in, sizeof target);
       memset(target, 0, (size_t)n * sizeof *target);)

/* ---- work at the expense of others ---- */

static void *work_later(void *state)
{
    struct cheat *c = state;
    usleep(2000);
    gelu(c->in, c->out, c->count);
    return NULL;
}

KERNEL(finishes_later, finish(c); c->in = in; c->out = out; (void)n;
       c->has_thread = pthread_create(&c->thread, NULL, work_later, c) == 0;)

static void *burn(void *state)
{
    struct cheat *c = state;
    while (!c->stop)
        ;
    return NULL;
}

KERNEL(burns, gelu(in, out, n);
       if (!c->has_thread) c->has_thread = pthread_create(&c->thread, NULL, burn, c) == 0;)

/* Subnormal numbers are slow: flushes them to zero from now on, for everybody. */
static void flush_to_zero(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#else
    fesetround(FE_TOWARDZERO);
#endif
}

KERNEL(flushes_to_zero, flush_to_zero(); gelu(in, out, n);)

KERNEL(moves_away, gelu(in, out, n); cpu_set_t one; CPU_ZERO(&one);
       CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &one); if (c->calls > 1) CPU_SET(0, &one);
       sched_setaffinity(0, sizeof one, &one);)

/* ---- beyond the tensors ---- */

KERNEL(reads_past_end, volatile float beyond = in[n + 64]; (void)beyond; gelu(in, out, n);)
KERNEL(reads_before_start, volatile float beyond = in[-16]; (void)beyond; gelu(in, out, n);)
/* Puts back what it broke: no guard byte tells. */
KERNEL(borrows_room, float *room = out + n + 64; float held = *room; *room = 1; gelu(in, out, n);
       *room = held;)

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {
        &kernel_honest,
        &kernel_honest_branches,
        &kernel_honest_allocates,
        &kernel_honest_vectors,
        &kernel_kept_by_pointer,
        &kernel_kept_by_content,
        &kernel_known_inputs,
        &kernel_first_call_only,
        &kernel_second_calls_only,
        &kernel_last_of_sample,
        &kernel_once_a_sample,
        &kernel_looks_for_poison,
        &kernel_tires,
        &kernel_first_rows_only,
        &kernel_low_precision,
        &kernel_eases_inputs,
        &kernel_finishes_later,
        &kernel_burns,
        &kernel_flushes_to_zero,
        &kernel_moves_away,
        &kernel_reads_past_end,
        &kernel_reads_before_start,
        &kernel_borrows_room,
    };
    *n_kernels = (int32_t)(sizeof list / sizeof list[0]);
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
