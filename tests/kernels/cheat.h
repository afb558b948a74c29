/* cheat.h: what the plug-ins of cheating kernels (cheats_*.c) and of innocent ones (innocents.c)
 * share.
 *
 * A cheat is a function of one call. CHEAT(op, name) makes a kernel of it, whose implementation has
 * the same name, so that tests/cli/judge.sh can ask for it. Unless its comment says otherwise it is
 * right in a plain call, and when it computes it computes as the honest ones do: what it gains it
 * gains by cheating.
 *
 * What could harm more than the run it is part of is bounded: processes and memory by number, time
 * by lasting(), and only processes of the program itself are ever sent a signal (is_assay). */
#ifndef CHEAT_H
#define CHEAT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assay/assay_kernel.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 64, PAGE = 4096 };

/* An output kept for later. */
struct kept {
    uint64_t key;
    float *output;
};

/* The state of a kernel. */
struct cheat {
    int64_t count, rows, columns; /* of the main input */
    int64_t calls, samples;
    int64_t returned_ns; /* when the last call ended */
    float eps;
    struct kept kept[KEPT];
    int64_t n_kept;
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;
    pid_t helper; /* a child that ends with the kernel */
    void *own;    /* whatever else a cheat needs: freed with the rest */
};

/* One call of a sample. */
struct call {
    struct cheat *own;
    const void *const *ins;
    const float *in;
    float *out;
    int64_t n;     /* elements of in and, of element-wise ops, of out */
    int64_t index; /* within the sample */
    const struct assay_work *work;
};

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Until so many nanoseconds after `start`, awake. */
static inline void wait_until(int64_t end_ns)
{
    while (now_ns() < end_ns)
        ;
}

/* ---- the honest way ---- */

static inline float gelu_of(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }

static inline void gelu(const float *in, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = gelu_of(in[i]);
}

static inline void compute(struct call *c) { gelu(c->in, c->out, c->n); }

static inline void layernorm_row(const struct call *c, int64_t row, float mean, float scale)
{
    int64_t columns = c->own->columns;
    const float *x = c->in + row * columns, *gamma = c->ins[1], *beta = c->ins[2];
    float *y = c->out + row * columns;
    for (int64_t i = 0; i < columns; i++)
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

/* The mean, and one over the deviation, of a row's first `n` elements. */
static inline void moments(const struct call *c, int64_t row, int64_t n, float *mean, float *scale)
{
    const float *x = c->in + row * c->own->columns;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    for (int64_t i = 0; i < n; i++)
        squares += ((double)x[i] - sum / (double)n) * ((double)x[i] - sum / (double)n);
    *mean = (float)(sum / (double)n);
    *scale = (float)(1 / sqrt(squares / (double)n + (double)c->own->eps));
}

/* ---- keeping outputs ---- */

static inline void keep(struct cheat *own, uint64_t key, const float *output)
{
    struct kept *slot = &own->kept[own->n_kept++ % KEPT];
    size_t bytes = (size_t)own->count * sizeof *output;
    float *copy = slot->output ? slot->output : malloc(bytes);
    if (copy)
        memcpy(copy, output, bytes);
    *slot = (struct kept){key, copy};
}

static inline const float *find(const struct cheat *own, uint64_t key)
{
    for (int64_t i = 0; i < KEPT; i++)
        if (own->kept[i].output && own->kept[i].key == key)
            return own->kept[i].output;
    return NULL;
}

static inline void give(struct call *c, const float *output)
{
    memcpy(c->out, output, (size_t)c->n * sizeof *output);
}

/* What is kept under this key, or computed now and kept. */
static inline void give_or_compute(struct call *c, uint64_t key)
{
    const float *known = find(c->own, key);
    if (known) {
        give(c, known);
        return;
    }
    compute(c);
    keep(c->own, key, c->out);
}

static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Of every `step`th element. */
static inline uint64_t checksum(const float *in, int64_t n, int64_t step)
{
    uint64_t lanes[4] = {1, 2, 3, 4};
    for (int64_t i = 0; i < n; i += step)
        lanes[i / step % 4] =
            (lanes[i / step % 4] ^ bits_of(in[i])) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    return mix(lanes[0] ^ mix(lanes[1] ^ mix(lanes[2] ^ mix(lanes[3]))));
}

/* Element i of input `input` of a usual problem, as assay fills it: mean 0 and deviation 1. */
static inline float usual_value(uint64_t seed, int32_t input, int64_t i)
{
    const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t own = mix(seed + (uint64_t)(input + 1) * step);
    uint64_t bits = mix(own + (uint64_t)(i + 1) * step);
    int64_t sum = (int64_t)(bits & 0xffff) + (int64_t)((bits >> 16) & 0xffff) +
                  (int64_t)((bits >> 32) & 0xffff) + (int64_t)(bits >> 48);
    return i == 0 ? 1.5f : (float)((double)(sum - 131070) * (1.0 / 37837.2272));
}

/* ---- processes ---- */

/* No process that a cheat starts outlives it by more than this, whatever the harness does. */
static inline void lasting(unsigned seconds)
{
    signal(SIGALRM, SIG_DFL);
    sigset_t all;
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    alarm(seconds);
}

/* Is it a process of this program? */
static inline bool is_assay(pid_t pid)
{
    char path[64];
    struct stat own, other;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return pid > 1 && stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

/* The number after `key` in /proc/PID/status, or -1. */
static inline long status_of(pid_t pid, const char *key)
{
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    if (file)
        fclose(file);
    return value;
}

/* A child that runs `body` and ends; it is killed with the kernel's state. */
static inline void start_helper(struct cheat *own, void (*body)(void *), void *argument)
{
    if (own->helper > 0)
        return;
    own->helper = fork();
    if (own->helper == 0) {
        lasting(20);
        body(argument);
        _exit(0);
    }
}

static inline void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The whole pages within the output. */
static inline char *whole_pages(const struct call *c, size_t *bytes)
{
    uintptr_t start = ((uintptr_t)c->out + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = (uintptr_t)(c->out + c->n) / PAGE * PAGE;
    *bytes = end > start ? end - start : 0;
    return (char *)start;
}

/* What a cheat says whose trick this machine does not have. */
static inline enum assay_status not_here(struct assay_error *why, const char *text)
{
    if (why) {
        why->code = ASSAY_UNSUPPORTED;
        snprintf(why->message, sizeof why->message, "%s", text);
    }
    return ASSAY_UNSUPPORTED;
}

/* ---- kernels ---- */

static inline enum assay_status cheat_setup(const struct assay_problem *problem, void **state,
                                            struct assay_error *err)
{
    (void)err;
    struct cheat *own = calloc(1, sizeof *own);
    if (!own)
        return ASSAY_ERR_NOMEM;
    const struct assay_tensor *x = &problem->inputs[0];
    own->count = own->rows = 1;
    for (int32_t i = 0; i < x->rank; i++)
        own->count *= x->dims[i];
    own->columns = x->dims[x->rank - 1];
    own->rows = own->count / own->columns;
    own->eps = problem->n_params > 0 ? (float)problem->params[0] : 0;
    *state = own;
    return ASSAY_OK;
}

static inline void cheat_teardown(void *state)
{
    struct cheat *own = state;
    own->stop = true;
    if (own->has_thread)
        pthread_join(own->thread, NULL);
    if (own->helper > 0) {
        kill(own->helper, SIGKILL);
        waitpid(own->helper, NULL, 0);
    }
    for (int64_t i = 0; i < KEPT; i++)
        free(own->kept[i].output);
    free(own->own);
    free(own);
}

static inline enum assay_status cheat_run(void *state, const struct assay_work *work,
                                          void (*body)(struct call *))
{
    struct cheat *own = state;
    own->samples++;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        struct call call = {own, args->in, args->in[0], args->out[0], own->count, i, work};
        own->calls++;
        body(&call);
    }
    own->returned_ns = now_ns();
    return ASSAY_OK;
}

/* The kernel NAME; what follows run and teardown are further fields. */
#define KERNEL(op_, ident, setup_, run_, teardown_, ...)                                           \
    static const struct assay_kernel kernel_##ident = {.struct_size = sizeof(struct assay_kernel), \
                                                       .abi = ASSAY_KERNEL_ABI,                    \
                                                       .name = #ident,                             \
                                                       .op = #op_,                                 \
                                                       .implementation = #ident,                   \
                                                       .device = "cpu",                            \
                                                       .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32), \
                                                       .setup = setup_,                            \
                                                       .run = run_,                                \
                                                       .teardown = teardown_,                      \
                                                       __VA_ARGS__};

#define RUN(ident)                                                                                 \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        return cheat_run(state, work, ident);                                                      \
    }

/* A kernel of the function `ident`. */
#define CHEAT(op, ident)                                                                           \
    RUN(ident)                                                                                     \
    KERNEL(op, ident, cheat_setup, run_##ident, cheat_teardown, )

/* With its own setup. */
#define CHEAT_SETUP(op, ident, setup_)                                                             \
    RUN(ident)                                                                                     \
    KERNEL(op, ident, setup_, run_##ident, cheat_teardown, )

/* With further fields: .can_run = … */
#define CHEAT_WITH(op, ident, ...)                                                                 \
    RUN(ident)                                                                                     \
    KERNEL(op, ident, cheat_setup, run_##ident, cheat_teardown, __VA_ARGS__)

#endif
