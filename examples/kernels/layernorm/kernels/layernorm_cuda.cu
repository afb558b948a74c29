/* layernorm_cuda.cu: the op layernorm in f32 on an NVIDIA GPU, for nvcc: a block has one row. */
#include <assay/assay_kernel.h>

#include <cuda_runtime.h>

enum { THREADS = 256, WARPS = THREADS / 32 };

/* The sum over a block, for each of its threads. */
static __device__ float block_sum(float value)
{
    __shared__ float parts[WARPS];
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(~0u, value, step);
    __syncthreads(); /* the parts of the sum before have been read */
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < WARPS; i++)
        sum += parts[i];
    return sum;
}

static __global__ void layernorm(float *y, const float *x, const float *gamma, const float *beta,
                                 int dim, float eps)
{
    x += blockIdx.x * (int64_t)dim;
    y += blockIdx.x * (int64_t)dim;
    float sum = 0, square = 0;
    for (int i = threadIdx.x; i < dim; i += THREADS)
        sum += x[i];
    float mean = block_sum(sum) / dim;
    for (int i = threadIdx.x; i < dim; i += THREADS)
        square += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / sqrtf(block_sum(square) / dim + eps);
    for (int i = threadIdx.x; i < dim; i += THREADS)
        y[i] = (x[i] - mean) * scale * gamma[i] + beta[i];
}

struct sizes {
    unsigned rows;
    int dim;
    float eps;
};

static enum assay_status setup(const struct assay_problem *problem, void **state, assay_error *)
{
    *state = new sizes{(unsigned)(problem->axes[0] * problem->axes[1]), (int)problem->axes[2],
                       (float)problem->params[0]};
    return ASSAY_OK;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const sizes *s = (const sizes *)state;
    for (int64_t call = 0; call < work->iters; call++) {
        const struct assay_args *args = assay_work_args(work, call);
        layernorm<<<s->rows, THREADS, 0, (cudaStream_t)work->stream>>>(
            (float *)args->out[0], (const float *)args->in[0], (const float *)args->in[1],
            (const float *)args->in[2], s->dim, s->eps);
    }
    return cudaPeekAtLastError() == cudaSuccess ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

static void teardown(void *state) { delete (sizes *)state; }

static assay_kernel describe()
{
    assay_kernel kernel = {};
    kernel.struct_size = sizeof kernel;
    kernel.abi = ASSAY_KERNEL_ABI;
    kernel.name = "layernorm_example_cuda";
    kernel.op = "layernorm";
    kernel.implementation = "example";
    kernel.device = "cuda";
    kernel.dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32);
    kernel.setup = setup;
    kernel.run = run;
    kernel.teardown = teardown;
    return kernel;
}

static const assay_kernel layernorm_cuda = describe();
ASSAY_KERNELS(&layernorm_cuda)
