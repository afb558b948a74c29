/* benchmark_activation.cu: silu_and_mul and gelu in f16 on an NVIDIA GPU, without nvcc: assay has the
 * GPU's part compiled when it runs, for the GPU that is there; the rest is C. */
#ifdef __CUDACC_RTC__ /* the GPU's part */

/* Without cuda_fp16.h, which need not be installed where only the driver and NVRTC are. */
typedef unsigned short half_t;

static __device__ float from_half(half_t h)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}

static __device__ half_t to_half(float f)
{
    half_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}

struct eight { /* as many as one load brings */
    uint4 bits;
    __device__ float get(int i) const { return from_half(((const half_t *)&bits)[i]); }
    __device__ void set(int i, float f) { ((half_t *)&bits)[i] = to_half(f); }
};

/* Each thread has 8 neighbours of the answer; d, a row of it, is a multiple of 8. */
extern "C" __global__ void silu_and_mul(uint4 *out, const uint4 *x, int count, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, each = d / 8;
    if (i >= count / 8)
        return;
    const uint4 *place = x + i + i / each * each; /* rows of x are two of out */
    eight gate = {place[0]}, value = {place[each]}, y;
    for (int j = 0; j < 8; j++) {
        float g = gate.get(j);
        y.set(j, __fdividef(g, 1 + __expf(-g)) * value.get(j));
    }
    out[i] = y.bits;
}

extern "C" __global__ void gelu(uint4 *out, const uint4 *x, int count, int)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count / 8)
        return;
    eight a = {x[i]}, y;
    for (int j = 0; j < 8; j++) {
        float v = a.get(j);
        y.set(j, 0.5f * v * (1 + erff(0.70710678f * v)));
    }
    out[i] = y.bits;
}

/* The same, the plain way: one element a thread. */
extern "C" __global__ void silu_and_mul_plain(half_t *out, const half_t *x, int count, int d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float gate = from_half(x[i / d * 2 * d + i % d]);
    out[i] = to_half(gate / (1 + expf(-gate)) * from_half(x[i / d * 2 * d + d + i % d]));
}

extern "C" __global__ void gelu_plain(half_t *out, const half_t *x, int count, int)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float v = from_half(x[i]);
    out[i] = to_half(0.5f * v * erfcf(-0.70710678f * v));
}

#else /* the host's part, in C */

#include <assay/assay_kernel.h>

#include <stdlib.h>

struct state {
    void *kernel, *plain;
};

static void find(assay_setup *s, const char *kernel, const char *plain)
{
    struct assay_error err = {0};
    struct state *state = malloc(sizeof *state);
    s->state = state;
    if (!state)
        assay_setup_fails(s, "out of memory");
    else if (assay_cuda_kernel(__FILE__, kernel, &state->kernel, &err) != ASSAY_OK ||
             assay_cuda_kernel(__FILE__, plain, &state->plain, &err) != ASSAY_OK)
        assay_setup_fails(s, err.message[0] ? err.message : "CUDA kernels cannot be compiled here");
}

static void forget(void *state) { free(state); }

static void gated(assay_setup *s, int64_t rows, int64_t d)
{
    assay_input(s, "x", ASSAY_DTYPE_F16, rows, 2 * d);
    assay_output(s, "out", ASSAY_DTYPE_F16, rows, d);
    find(s, "silu_and_mul", "silu_and_mul_plain");
}

static void plain(assay_setup *s, int64_t rows, int64_t columns)
{
    assay_input(s, "x", ASSAY_DTYPE_F16, rows, columns);
    assay_output(s, "out", ASSAY_DTYPE_F16, rows, columns);
    find(s, "gelu", "gelu_plain");
}

static void gated_small(assay_setup *s) { gated(s, 128, 512); }
static void gated_large(assay_setup *s) { gated(s, 8192, 4096); }
static void plain_small(assay_setup *s) { plain(s, 128, 1024); }
static void plain_large(assay_setup *s) { plain(s, 8192, 4096); }

/* `each`: elements of the answer a thread computes. */
static int launch(const assay_call *call, void *function, int64_t each)
{
    enum { THREADS = 128 };
    void *out = call->out[0];
    const void *x = call->in[0];
    int count = (int)assay_elements(&call->outputs[0]);
    int d = (int)call->outputs[0].tensor.dims[1];
    void *args[] = {&out, &x, &count, &d};
    int64_t blocks = (count / each + THREADS - 1) / THREADS;
    return (int)assay_cuda_launch(function, (uint32_t)blocks, THREADS, 0, call->stream, args);
}

static int run(const assay_call *call)
{
    return launch(call, ((const struct state *)call->state)->kernel, 8);
}

static int verify(const assay_call *call)
{
    return launch(call, ((const struct state *)call->state)->plain, 1);
}

ASSAY_BENCHMARK(ActivationCuda, 0, gated_small,
                {"silu_and_mul", run, verify, NULL, forget},
                {"silu_and_mul_large", run, verify, gated_large, forget},
                {"gelu", run, verify, plain_small, forget},
                {"gelu_large", run, verify, plain_large, forget})

#endif
