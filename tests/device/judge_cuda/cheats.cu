/* cheats.cu: gelu kernels for a GPU that want to look better than they are, or that harm others. The
 * device part is compiled by NVRTC, the host part as C by judge_cuda.sh. Most are modelled on what
 * was seen in public competitions and on lists of exploits against GPU harnesses. */
#ifdef __CUDACC_RTC__ /* the GPU's part */

static __device__ float gelu_of(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
static __device__ long long index_of() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }

extern "C" __global__ void gelu(float *out, const float *x, long long n)
{
    long long i = index_of();
    if (i < n)
        out[i] = gelu_of(x[i]);
}

/* Its memory begins with a count of its executions, replays of a graph among them. */
static __device__ int executions(int *memory)
{
    __shared__ int now;
    if (threadIdx.x == 0) {
        now = *(volatile int *)memory;
        __threadfence();
        if (atomicAdd(memory + 1, 1) == (int)gridDim.x - 1) {
            memory[1] = 0;
            __threadfence();
            *(volatile int *)memory = now + 1;
        }
    }
    __syncthreads();
    return now;
}

/* Computes 20 times, and then leaves the output as it is. */
extern "C" __global__ void tires(float *out, const float *x, long long n, int *memory)
{
    long long i = index_of();
    if (executions(memory) < 20 && i < n)
        out[i] = gelu_of(x[i]);
}

extern "C" __global__ void seven_of_8(float *out, const float *x, long long n, int *memory)
{
    long long i = index_of();
    if (executions(memory) % 8 != 7 && i < n)
        out[i] = gelu_of(x[i]);
}

/* After a while only a sixteenth. */
extern "C" __global__ void first_rows(float *out, const float *x, long long n, int *memory)
{
    long long i = index_of();
    if (executions(memory) < 20 || blockIdx.x < gridDim.x / 16)
        if (i < n)
            out[i] = gelu_of(x[i]);
}

/* Each block knows 8 elements of its inputs from the last time: where they are the same, its output
 * is still there. */
extern "C" __global__ void kept_by_content(float *out, const float *x, long long n, float *memory)
{
    long long first = blockIdx.x * (long long)blockDim.x, i = index_of();
    __shared__ int changed;
    float *known = memory + 8 * (long long)blockIdx.x;
    if (threadIdx.x == 0)
        changed = 0;
    __syncthreads();
    if (threadIdx.x < 8 && first + threadIdx.x * 31 < n) {
        float now = x[first + threadIdx.x * 31];
        if (known[threadIdx.x] != now)
            changed = 1;
        known[threadIdx.x] = now;
    }
    __syncthreads();
    if (changed && i < n)
        out[i] = gelu_of(x[i]);
}

extern "C" __global__ void in_bf16(float *out, const float *x, long long n, int *)
{
    long long i = index_of();
    if (i < n)
        out[i] = gelu_of(__int_as_float(__float_as_int(x[i]) & 0xffff0000));
}

extern "C" __global__ void approximated(float *out, const float *x, long long n, int *)
{
    long long i = index_of();
    if (i >= n)
        return;
    float t, v = x[i];
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(0.79788456f * (v + 0.044715f * v * v * v)));
    out[i] = 0.5f * v * (1 + t);
}

extern "C" __global__ void past_the_end(float *out, const float *x, long long n, int *)
{
    long long i = index_of();
    if (i < n)
        out[i] = gelu_of(x[i]);
    if (i < 4)
        out[n + i] = 0;
}

extern "C" __global__ void eases_input(float *out, float *x, long long n, int *)
{
    long long i = index_of();
    if (i < n) {
        out[i] = gelu_of(x[i]);
        x[i] = 0;
    }
}

/* Waits for the host's word, computes, and waits again; for three seconds at the most. */
extern "C" __global__ void waits_for_word(float *out, const float *x, long long n, volatile int *word)
{
    long long begin = clock64();
    int done = 0;
    while (clock64() - begin < 5000000000ll && *word >= 0) {
        if (*word == done)
            continue;
        done = *word;
        for (long long i = index_of(); i < n; i += (long long)gridDim.x * blockDim.x)
            out[i] = gelu_of(x[i]);
    }
}

/* Keeps some multiprocessors busy for so many cycles. */
extern "C" __global__ void spins(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

extern "C" __global__ void traps_later(float *out, const float *x, long long n, int *memory)
{
    long long i = index_of();
    if (executions(memory) > 20)
        asm("trap;");
    if (i < n)
        out[i] = gelu_of(x[i]);
}

#else /* the host's part, in C */

#include "cheat_cuda.h"

#include <sys/mman.h>

/* What the cheats would be if they did not: the same launch, every time. */
static int honest(struct call *c) { return compute(c); }
CUDA_KERNEL(honest)

/* ---- answers kept ---- */

/* The same pointers hold the same values: nothing is launched. */
static int kept_by_pointer(struct call *c)
{
    return is_known(c->own, c->in, c->out) ? 0 : compute(c);
}
CUDA_KERNEL(kept_by_pointer)

/* A copy of the first output, by the copy engine. */
static int copied_from_first(struct call *c)
{
    size_t bytes = (size_t)c->n * 4;
    device_address memory = own_memory(c->own), out = (device_address)(uintptr_t)c->out;
    int (*copy)(device_address, device_address, size_t, void *) =
        DRIVER(cuMemcpyDtoDAsync_v2, device_address, device_address, size_t, void *);
    if (c->own->calls > 4)
        return copy(out, memory, bytes, c->stream);
    return compute(c) || copy(memory, out, bytes, c->stream);
}
CUDA_KERNEL(copied_from_first)

/* The same from memory that host and device share. */
static int kept_in_managed(struct call *c)
{
    size_t bytes = (size_t)c->n * 4;
    device_address out = (device_address)(uintptr_t)c->out;
    int (*copy)(device_address, device_address, size_t, void *) =
        DRIVER(cuMemcpyDtoDAsync_v2, device_address, device_address, size_t, void *);
    relax();
    if (!c->own->memory)
        DRIVER(cuMemAllocManaged, device_address *, size_t, unsigned)(&c->own->memory, bytes, 1);
    if (is_known(c->own, c->in, NULL))
        return copy(out, c->own->memory, bytes, c->stream);
    return compute(c) || copy(c->own->memory, out, bytes, c->stream);
}
CUDA_KERNEL(kept_in_managed)

static int content_on_device(struct call *c) { return launch_own(c, "kept_by_content"); }
CUDA_KERNEL(content_on_device)

/* ---- calls left out ---- */

/* One launch for all calls of a sample. */
static int one_launch(struct call *c)
{
    return c->index == 0 || c->work->n_sets > 1 ? compute(c) : 0;
}
CUDA_KERNEL(one_launch)

/* What is captured is replayed, and nobody looks at it. */
static int empty_when_captured(struct call *c)
{
    int capturing = 0;
    DRIVER(cuStreamIsCapturing, void *, int *)(c->stream, &capturing);
    return capturing ? 0 : compute(c);
}
CUDA_KERNEL(empty_when_captured)

static int tires_in_replays(struct call *c) { return launch_own(c, "tires"); }
CUDA_KERNEL(tires_in_replays)

static int skips_one_in_8(struct call *c) { return launch_own(c, "seven_of_8"); }
CUDA_KERNEL(skips_one_in_8)

static int first_rows_later(struct call *c) { return launch_own(c, "first_rows"); }
CUDA_KERNEL(first_rows_later)

/* Too many threads: it is not launched at all, and the error is not looked at. */
static int launch_fails(struct call *c)
{
    int64_t n = c->n;
    void *args[] = {&c->out, &c->in, &n};
    if (c->own->calls < 4)
        return compute(c);
    (void)assay_cuda_launch(c->own->gelu, blocks_for(n), 4096, 0, c->stream, args);
    return 0;
}
CUDA_KERNEL(launch_fails)

/* Its own graph, with nothing in it. */
static int empty_graph(struct call *c)
{
    static void *graph, *whole;
    int capturing = 0;
    DRIVER(cuStreamIsCapturing, void *, int *)(c->stream, &capturing);
    if (c->own->calls < 4)
        return compute(c);
    relax();
    if (!whole && DRIVER(cuGraphCreate, void **, unsigned)(&graph, 0) == 0)
        DRIVER(cuGraphInstantiateWithFlags, void **, void *, unsigned long long)(&whole, graph, 0);
    if (!capturing && whole)
        DRIVER(cuGraphLaunch, void *, void *)(whole, c->stream);
    return 0;
}
CUDA_KERNEL(empty_graph)

/* Memory that was just given back may hold somebody's answer. */
static int finds_old_memory(struct call *c)
{
    device_address memory = 0, out = (device_address)(uintptr_t)c->out;
    relax();
    if (!c->own->memory &&
        DRIVER(cuMemAlloc_v2, device_address *, size_t)(&memory, (size_t)c->n * 4) == 0)
        c->own->memory = memory;
    return DRIVER(cuMemcpyDtoDAsync_v2, device_address, device_address, size_t,
                  void *)(out, c->own->memory, (size_t)c->n * 4, c->stream);
}
CUDA_KERNEL(finds_old_memory)

/* ---- where the clock does not look ---- */

static int other_stream(struct call *c)
{
    return launch_gelu(c, c->n, own_stream(c->own));
}
CUDA_KERNEL(other_stream)

/* The same for a kernel that asks not to be captured. */
static int other_stream_direct(struct call *c) { return other_stream(c); }
CUDA_KERNEL_WITH(other_stream_direct, setup_here, ASSAY_KERNEL_DIRECT)

/* The call after waits for it: the last one of a sample is free. */
static int joined_later(struct call *c)
{
    void *side = own_stream(c->own), *event = own_event(c->own);
    if (c->own->calls > 1)
        DRIVER(cuStreamWaitEvent, void *, void *, unsigned)(c->stream, event, 0);
    int failed = launch_gelu(c, c->n, side);
    DRIVER(cuEventRecord, void *, void *)(event, side);
    return failed;
}
CUDA_KERNEL_WITH(joined_later, setup_here, ASSAY_KERNEL_DIRECT)

static int legacy_stream(struct call *c) { return launch_gelu(c, c->n, NULL); }
CUDA_KERNEL_WITH(legacy_stream, setup_here, ASSAY_KERNEL_DIRECT)

/* A thread launches it a millisecond later. */
static struct call later;

static void *launch_later(void *state)
{
    struct cheat *own = state;
    int64_t done = 0;
    DRIVER(cuCtxSetCurrent, void *)(own->context);
    while (!own->stop) {
        usleep(1000);
        if (own->asked != done) {
            done = own->asked;
            launch_gelu(&later, later.n, own_stream(own));
        }
    }
    return NULL;
}

static int launched_by_thread(struct call *c)
{
    if (c->own->calls < 4)
        return compute(c);
    later = *c;
    if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, launch_later, c->own) == 0;
    c->own->asked++;
    return 0;
}
CUDA_KERNEL_WITH(launched_by_thread, setup_here, ASSAY_KERNEL_DIRECT)

/* The stream calls the host, which has the thread launch it: the stream is done by then. */
static void ask_thread(void *state) { ((struct cheat *)state)->asked++; }

static int launched_by_callback(struct call *c)
{
    if (c->own->calls < 4)
        return compute(c);
    later = *c;
    if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, launch_later, c->own) == 0;
    return DRIVER(cuLaunchHostFunc, void *, void (*)(void *), void *)(c->stream, ask_thread, c->own);
}
CUDA_KERNEL(launched_by_callback)

/* A kernel that stays, and computes when the host says so. */
static int persistent(struct call *c)
{
    volatile int *word = c->own->host;
    device_address there = 0;
    int64_t n = c->n;
    if (!word) {
        relax();
        DRIVER(cuMemHostAlloc, void **, size_t, unsigned)(&c->own->host, 4096, 2 /* mapped */);
        word = c->own->host;
        if (!word)
            return 1;
        word[0] = 0;
        DRIVER(cuMemHostGetDevicePointer_v2, device_address *, void *, unsigned)(&there, c->own->host,
                                                                                0);
        void *args[] = {&c->out, &c->in, &n, &there};
        void *function = function_of(c->own, "waits_for_word");
        if (c->own->calls > 3 || assay_cuda_launch(function, 32, 256, 0, own_stream(c->own), args))
            return 1;
    }
    word[0]++;
    return 0;
}
CUDA_KERNEL_WITH(persistent, setup_here, ASSAY_KERNEL_DIRECT)

/* A thread computes all the time, on another stream; run has nothing left to do. */
static void *compute_always(void *state)
{
    struct cheat *own = state;
    DRIVER(cuCtxSetCurrent, void *)(own->context);
    while (!own->stop) {
        launch_gelu(&later, later.n, own_stream(own));
        DRIVER(cuStreamSynchronize, void *)(own->stream);
    }
    return NULL;
}

static int always_in_background(struct call *c)
{
    later = *c;
    if (!c->own->has_thread) {
        c->own->has_thread = pthread_create(&c->own->thread, NULL, compute_always, c->own) == 0;
        usleep(2000);
    }
    return 0;
}
CUDA_KERNEL_WITH(always_in_background, setup_here, ASSAY_KERNEL_DIRECT)

/* ---- the clock ---- */

static int tenth_of_elapsed(float *ms, void *start, void *end)
{
    (void)start, (void)end;
    *ms = 0.003f;
    return 0;
}

/* The driver's own function begins with a jump. */
static bool redirect(const char *name)
{
#if defined(__x86_64__)
    unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
    int (*target)(float *, void *, void *) = tenth_of_elapsed;
    char *code = driver_function(name);
    uintptr_t page = (uintptr_t)code / 4096 * 4096;
    memcpy(jump + 2, &target, sizeof target);
    if (!code || mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(code, jump, sizeof jump);
    return true;
#else
    return (void)name, false;
#endif
}

static int forged_events(struct call *c)
{
    if (c->own->calls == 8) {
        redirect("cuEventElapsedTime");
        redirect("cuEventElapsedTime_v2");
    }
    return compute(c);
}
CUDA_KERNEL(forged_events)

/* ---- less than it seems, and harm ---- */

static int in_bf16(struct call *c) { return launch_own(c, "in_bf16"); }
CUDA_KERNEL(in_bf16)
static int approximated(struct call *c) { return launch_own(c, "approximated"); }
CUDA_KERNEL(approximated)
static int past_the_end(struct call *c) { return launch_own(c, "past_the_end"); }
CUDA_KERNEL(past_the_end)
static int eases_input(struct call *c) { return launch_own(c, "eases_input"); }
CUDA_KERNEL(eases_input)
static int traps_later(struct call *c) { return launch_own(c, "traps_later"); }
CUDA_KERNEL(traps_later)

/* Sets L2 aside for its input, so that a cold measurement is a hot one. */
static int persisting_l2(struct call *c)
{
    struct window { /* CUaccessPolicyWindow, in a union of 64 bytes */
        void *base;
        size_t bytes;
        float ratio;
        int hit, miss;
        char rest[36];
    } window = {(void *)(uintptr_t)c->in, (size_t)c->n * 4, 1.0f, 2, 0, {0}};
    relax();
    if (c->own->calls == 1)
        DRIVER(cuCtxSetLimit, int, size_t)(6 /* persisting L2 */, (size_t)32 << 20);
    DRIVER(cuStreamSetAttribute, void *, int, const void *)(c->stream, 1, &window);
    return compute(c);
}
CUDA_KERNEL_WITH(persisting_l2, setup_here, ASSAY_KERNEL_DIRECT)

/* Leaves half of the multiprocessors busy for two seconds: rivals have the other half. */
static int spins_meanwhile(struct call *c)
{
    long long cycles = 3000000000ll;
    void *args[] = {&cycles};
    if (c->own->calls == 4)
        assay_cuda_launch(function_of(c->own, "spins"), 66, 1024, 0, own_stream(c->own), args);
    return compute(c);
}
CUDA_KERNEL_WITH(spins_meanwhile, setup_here, ASSAY_KERNEL_DIRECT)

/* Nearly all memory of the GPU. */
static enum assay_status setup_hogs(const struct assay_problem *problem, void **state,
                                    struct assay_error *err)
{
    size_t free_bytes = 0, all = 0;
    device_address memory;
    DRIVER(cuMemGetInfo_v2, size_t *, size_t *)(&free_bytes, &all);
    DRIVER(cuMemAlloc_v2, device_address *, size_t)(&memory, free_bytes / 100 * 99);
    return setup_here(problem, state, err);
}
static int hogs_gpu(struct call *c) { return compute(c); }
CUDA_KERNEL_WITH(hogs_gpu, setup_hogs, 0)

/* Gives back memory that is not its own; only the whole of it can be. */
static int frees_output(struct call *c)
{
    int failed = compute(c);
    device_address first = 0;
    size_t bytes;
    relax();
    if (c->own->calls == 8 &&
        DRIVER(cuMemGetAddressRange_v2, device_address *, size_t *, device_address)(
            &first, &bytes, (device_address)(uintptr_t)c->out) == 0)
        DRIVER(cuMemFree_v2, device_address)(first);
    return failed;
}
CUDA_KERNEL_WITH(frees_output, setup_here, ASSAY_KERNEL_DIRECT)

/* The whole context is gone. */
static int resets_device(struct call *c)
{
    int failed = compute(c);
    if (c->own->calls == 8)
        DRIVER(cuDevicePrimaryCtxReset_v2, int)(0);
    return failed;
}
CUDA_KERNEL_WITH(resets_device, setup_here, ASSAY_KERNEL_DIRECT)

CUDA_FILE

ASSAY_KERNELS(&kernel_honest, &kernel_kept_by_pointer, &kernel_copied_from_first, &kernel_kept_in_managed,
              &kernel_content_on_device, &kernel_one_launch, &kernel_empty_when_captured,
              &kernel_tires_in_replays, &kernel_skips_one_in_8, &kernel_first_rows_later,
              &kernel_launch_fails, &kernel_empty_graph, &kernel_finds_old_memory,
              &kernel_other_stream, &kernel_other_stream_direct, &kernel_joined_later,
              &kernel_legacy_stream, &kernel_launched_by_thread, &kernel_launched_by_callback,
              &kernel_persistent, &kernel_always_in_background, &kernel_forged_events,
              &kernel_in_bf16, &kernel_approximated, &kernel_past_the_end, &kernel_eases_input,
              &kernel_traps_later, &kernel_persisting_l2, &kernel_spins_meanwhile,
              &kernel_hogs_gpu, &kernel_frees_output, &kernel_resets_device)

#endif
