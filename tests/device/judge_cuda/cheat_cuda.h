/* cheat_cuda.h: what cheats.cu and innocents.cu share in their host parts. A kernel is a function
 * of one call, as in tests/kernels/cheat.h; what of the driver it needs beyond launching, it takes
 * from the library that assay has open. */
#ifndef CHEAT_CUDA_H
#define CHEAT_CUDA_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assay/assay_kernel.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long long device_address;

struct cheat {
    int64_t count, columns, calls;
    const char *file; /* whose device part is compiled */
    void *gelu;       /* the honest one */
    void *other;      /* a cheat's own, found when it is first asked for */
    void *seen[64][2];
    int64_t n_seen;
    void *stream, *event;  /* its own */
    device_address memory; /* its own, on the device */
    void *host;
    pthread_t thread;
    bool has_thread;
    _Atomic bool stop;
    _Atomic int64_t asked;
    void *context;
};

struct call {
    struct cheat *own;
    const float *in;
    float *out;
    int64_t n, index;
    void *stream;
    const struct assay_work *work;
};

/* ---- the driver ---- */

static inline void *driver_function(const char *name)
{
    static void *driver;
    const char *named = getenv("ASSAY_CUDA_DRIVER");
    if (!driver)
        driver = dlopen(named && named[0] ? named : "libcuda.so.1", RTLD_NOW);
    return driver ? dlsym(driver, name) : NULL;
}

/* DRIVER(cuEventRecord, void *, void *)(event, stream): 1, where there is no such function. */
static inline int no_function(void) { return 1; }
#define DRIVER(name, ...) (*(int (**)(__VA_ARGS__))driver_slot(#name))
static inline void *driver_slot(const char *name)
{
    static struct {
        const char *name;
        void *function;
    } slots[64];
    int i = 0;
    while (slots[i].name && strcmp(slots[i].name, name) != 0 && i < 63)
        i++;
    if (!slots[i].name) {
        int (*none)(void) = no_function;
        slots[i].name = name;
        slots[i].function = driver_function(name);
        if (!slots[i].function)
            memcpy(&slots[i].function, &none, sizeof none);
    }
    return &slots[i].function;
}

/* Allocating is not allowed while a stream is being captured, unless one says that one knows. */
static inline void relax(void)
{
    int mode = 2; /* CU_STREAM_CAPTURE_MODE_RELAXED */
    DRIVER(cuThreadExchangeStreamCaptureMode, int *)(&mode);
}

static inline void *own_stream(struct cheat *own)
{
    relax();
    if (!own->stream)
        DRIVER(cuStreamCreate, void **, unsigned)(&own->stream, 1 /* non-blocking */);
    return own->stream;
}

static inline void *own_event(struct cheat *own)
{
    if (!own->event)
        DRIVER(cuEventCreate, void **, unsigned)(&own->event, 2 /* no timing */);
    return own->event;
}

static inline device_address own_memory(struct cheat *own)
{
    relax();
    if (!own->memory) {
        DRIVER(cuMemAlloc_v2, device_address *, size_t)
        (&own->memory, (size_t)own->count * 4 + 4096);
        DRIVER(cuMemsetD8_v2, device_address, unsigned char, size_t)
        (own->memory, 0, (size_t)own->count * 4 + 4096);
    }
    return own->memory;
}

/* ---- launching ---- */

static inline uint32_t blocks_for(int64_t n) { return (uint32_t)((n + 255) / 256); }

/* The honest kernel on elements [0, n). */
static inline int launch_gelu(const struct call *c, int64_t n, void *stream)
{
    void *args[] = {(void *)&c->out, (void *)&c->in, &n};
    return assay_cuda_launch(c->own->gelu, blocks_for(n), 256, 0, stream, args);
}

static inline int compute(const struct call *c) { return launch_gelu(c, c->n, c->stream); }

/* A kernel of the same file. */
static inline void *function_of(struct cheat *own, const char *name)
{
    struct assay_error err = {0};
    relax();
    if (!own->other && assay_cuda_kernel(own->file, name, &own->other, &err) != ASSAY_OK)
        fprintf(stderr, "%s: %s\n", name, err.message);
    return own->other;
}

/* A kernel of (out, x, n, own memory), the cheats' usual arguments. */
static inline int launch_own(const struct call *c, const char *name)
{
    device_address memory = own_memory(c->own);
    int64_t n = c->n;
    void *args[] = {(void *)&c->out, (void *)&c->in, &n, &memory};
    void *function = function_of(c->own, name);
    return assay_cuda_launch(function, blocks_for(n), 256, 0, c->stream, args);
}

/* Was it called with these before? */
static inline bool is_known(struct cheat *own, const void *in, const void *out)
{
    for (int64_t i = 0; i < own->n_seen && i < 64; i++)
        if (own->seen[i][0] == in && own->seen[i][1] == out)
            return true;
    own->seen[own->n_seen % 64][0] = (void *)(uintptr_t)in;
    own->seen[own->n_seen++ % 64][1] = (void *)(uintptr_t)out;
    return false;
}

/* ---- kernels ---- */

static inline enum assay_status cuda_setup(const struct assay_problem *problem, const char *file,
                                           void **state, struct assay_error *err)
{
    struct cheat *own = calloc(1, sizeof *own);
    if (!own)
        return ASSAY_ERR_NOMEM;
    own->count = 1;
    own->file = file;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        own->count *= problem->inputs[0].dims[i];
    own->columns = problem->inputs[0].dims[problem->inputs[0].rank - 1];
    DRIVER(cuCtxGetCurrent, void **)(&own->context);
    enum assay_status status = assay_cuda_kernel(file, "gelu", &own->gelu, err);
    if (status != ASSAY_OK)
        free(own);
    else
        *state = own;
    return status;
}

static inline void cuda_teardown(void *state)
{
    struct cheat *own = state;
    own->stop = true;
    if (own->has_thread)
        pthread_join(own->thread, NULL);
    if (own->host)
        ((volatile int *)own->host)[0] = -1; /* whoever waits there ends */
    if (own->stream)
        DRIVER(cuStreamDestroy_v2, void *)(own->stream);
    if (own->event)
        DRIVER(cuEventDestroy_v2, void *)(own->event);
    if (own->memory)
        DRIVER(cuMemFree_v2, device_address)(own->memory);
    free(own);
}

static inline enum assay_status cuda_run(void *state, const struct assay_work *work,
                                         int (*body)(struct call *))
{
    struct cheat *own = state;
    int failed = 0;
    for (int64_t i = 0; i < work->iters && !failed; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        struct call call = {
            own, (const float *)args->in[0], (float *)args->out[0], own->count, i, work->stream,
            work};
        own->calls++;
        failed = body(&call);
    }
    return failed ? ASSAY_ERR_DEVICE : ASSAY_OK;
}

#define CUDA_KERNEL_WITH(ident, setup_, flags_)                                                    \
    static enum assay_status run_##ident(void *state, const struct assay_work *work)               \
    {                                                                                              \
        return cuda_run(state, work, ident);                                                       \
    }                                                                                              \
    static const struct assay_kernel kernel_##ident = {                                            \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "gelu",                                                                              \
        .implementation = #ident,                                                                  \
        .device = "cuda",                                                                          \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),                                                \
        .setup = setup_,                                                                           \
        .run = run_##ident,                                                                        \
        .teardown = cuda_teardown,                                                                 \
        .flags = flags_,                                                                           \
    };

static enum assay_status setup_here(const struct assay_problem *problem, void **state,
                                    struct assay_error *err);
#define CUDA_KERNEL(ident) CUDA_KERNEL_WITH(ident, setup_here, 0)
/* At the end of a file: its own name is what is compiled. */
#define CUDA_FILE                                                                                  \
    static enum assay_status setup_here(const struct assay_problem *problem, void **state,         \
                                        struct assay_error *err)                                   \
    {                                                                                              \
        return cuda_setup(problem, __FILE__, state, err);                                          \
    }

#endif
