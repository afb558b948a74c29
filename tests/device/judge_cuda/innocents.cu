/* innocents.cu: gelu kernels for a GPU that compute every call, in ways that a suspicious harness
 * may take for something else. None of them may be blamed. */
#ifdef __CUDACC_RTC__ /* the GPU's part */

static __device__ float gelu_of(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }

/* As many blocks as there are, each with its share. */
extern "C" __global__ void gelu(float *out, const float *x, long long n)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
         i += (long long)gridDim.x * blockDim.x)
        out[i] = gelu_of(x[i]);
}

/* Counts its calls on the device, for its own statistics. */
extern "C" __global__ void counts(float *out, const float *x, long long n, unsigned long long *memory)
{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i == 0)
        atomicAdd(memory, 1ull);
    if (i < n)
        out[i] = gelu_of(x[i]);
}

#else /* the host's part, in C */

#include "cheat_cuda.h"

static int plain_cuda(struct call *c) { return compute(c); }
CUDA_KERNEL(plain_cuda)

/* One launch for each half. */
static int two_launches(struct call *c)
{
    struct call second = *c;
    int64_t half = c->n / 2;
    second.in += half;
    second.out += half;
    return launch_gelu(c, half, c->stream) || launch_gelu(&second, c->n - half, c->stream);
}
CUDA_KERNEL(two_launches)

/* A second stream, that branches off and comes back. */
static int joined_stream(struct call *c)
{
    void *side = own_stream(c->own), *event = own_event(c->own);
    struct call second = *c;
    int64_t half = c->n / 2;
    second.in += half;
    second.out += half;
    DRIVER(cuEventRecord, void *, void *)(event, c->stream);
    DRIVER(cuStreamWaitEvent, void *, void *, unsigned)(side, event, 0);
    int failed = launch_gelu(c, half, c->stream) || launch_gelu(&second, c->n - half, side);
    DRIVER(cuEventRecord, void *, void *)(event, side);
    DRIVER(cuStreamWaitEvent, void *, void *, unsigned)(c->stream, event, 0);
    return failed;
}
CUDA_KERNEL(joined_stream)

/* Through scratch memory of its own. */
static int through_scratch(struct call *c)
{
    struct call there = *c;
    device_address memory = own_memory(c->own);
    there.out = (float *)(uintptr_t)memory;
    return compute(&there) ||
           DRIVER(cuMemcpyDtoDAsync_v2, device_address, device_address, size_t, void *)(
               (device_address)(uintptr_t)c->out, memory, (size_t)c->n * 4, c->stream);
}
CUDA_KERNEL(through_scratch)

/* Waits for its work, as programs do that know no better. */
static int waits(struct call *c)
{
    int failed = compute(c);
    DRIVER(cuStreamSynchronize, void *)(c->stream);
    return failed;
}
CUDA_KERNEL_WITH(waits, setup_here, ASSAY_KERNEL_DIRECT)

static int counts_calls(struct call *c) { return launch_own(c, "counts"); }
CUDA_KERNEL(counts_calls)

CUDA_FILE

ASSAY_KERNELS(&kernel_plain_cuda, &kernel_two_launches, &kernel_joined_stream,
              &kernel_through_scratch, &kernel_waits, &kernel_counts_calls)

#endif
