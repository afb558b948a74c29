/* gpu.c: kernels for the GPU that need no compiler, for tests of runners there.
 *   gpu_right    relu on the host, which only the stand-in's memory allows
 *   gpu_direct   the same and a copy of each output onto itself, without a graph
 * (tests/device/fake_cuda.c) gpu_copies   copies its input: the right bytes from the right place,
 * not relu gpu_illegal  stores to address 0 on a GPU; on the stand-in what that leaves */
#include <assay/assay_kernel.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The few functions of the driver that are used, under its names. */
static struct {
    int (*copy)(unsigned long long to, unsigned long long from, size_t bytes, void *stream);
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  void *stream, void **parameters, void **extra);
    void (*fake_break)(int error); /* only of the stand-in */
} driver;

static int64_t count;
static void *store;

static const char text[] = ".version 6.0\n"
                           ".target sm_50\n"
                           ".address_size 64\n"
                           ".visible .entry store_nowhere()\n"
                           "{\n"
                           "    .reg .b64 %rd<2>;\n"
                           "    .reg .b32 %r<2>;\n"
                           "    mov.u64 %rd1, 0;\n"
                           "    mov.u32 %r1, 7;\n"
                           "    st.global.u32 [%rd1], %r1;\n"
                           "    ret;\n"
                           "}\n";

static void find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const char *named = getenv("ASSAY_CUDA_DRIVER");
    void *library = dlopen(named && named[0] ? named : "libcuda.so.1", RTLD_NOW);
    (void)state, (void)err;
    if (!library)
        return ASSAY_ERR_DEVICE;
    find(library, "cuMemcpyDtoDAsync_v2", &driver.copy);
    find(library, "cuModuleLoadData", &driver.load);
    find(library, "cuModuleGetFunction", &driver.find);
    find(library, "cuLaunchKernel", &driver.launch);
    find(library, "fake_cuda_break", &driver.fake_break);
    count = 1;
    for (int32_t i = 0; i < problem->inputs[0].rank; i++)
        count *= problem->inputs[0].dims[i];
    return driver.copy && driver.launch ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

static enum assay_status setup_illegal(const struct assay_problem *problem, void **state,
                                       struct assay_error *err)
{
    void *module = NULL;
    enum assay_status status = setup(problem, state, err);
    if (status != ASSAY_OK || driver.fake_break)
        return status;
    return driver.load(&module, text) == 0 && driver.find(&store, module, "store_nowhere") == 0
               ? ASSAY_OK
               : ASSAY_ERR_DEVICE;
}

static enum assay_status run_right(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        const float *in = args->in[0];
        float *out = args->out[0];
        for (int64_t i = 0; i < count; i++)
            out[i] = in[i] < 0 ? 0 : in[i];
    }
    return ASSAY_OK;
}

static enum assay_status run_direct(void *state, const struct assay_work *work)
{
    enum assay_status status = run_right(state, work);
    for (int64_t k = 0; k < work->iters && status == ASSAY_OK; k++) {
        uintptr_t out = (uintptr_t)assay_work_args(work, k)->out[0];
        if (driver.copy(out, out, (size_t)count * 4, work->stream) != 0)
            status = ASSAY_ERR_DEVICE;
    }
    return status;
}

static enum assay_status run_copies(void *state, const struct assay_work *work)
{
    (void)state;
    for (int64_t k = 0; k < work->iters; k++) {
        const struct assay_args *args = assay_work_args(work, k);
        if (driver.copy((uintptr_t)args->out[0], (uintptr_t)args->in[0], (size_t)count * 4,
                        work->stream) != 0)
            return ASSAY_ERR_DEVICE;
    }
    return ASSAY_OK;
}

static enum assay_status run_illegal(void *state, const struct assay_work *work)
{
    (void)state;
    if (driver.fake_break)
        driver.fake_break(700);
    else if (driver.launch(store, 1, 1, 1, 1, 1, 1, 0, work->stream, NULL, NULL) != 0)
        return ASSAY_ERR_DEVICE;
    return ASSAY_OK;
}

static enum assay_status only_on_the_stand_in(const struct assay_problem *problem,
                                              struct assay_error *why)
{
    const char *named = getenv("ASSAY_CUDA_DRIVER");
    (void)problem, (void)why;
    return named && strstr(named, "fake_cuda") ? ASSAY_OK : ASSAY_UNSUPPORTED;
}

#define GPU_KERNEL(kernel_name, how, set_up, can)                                                  \
    {                                                                                              \
        .struct_size = sizeof(struct assay_kernel), .abi = ASSAY_KERNEL_ABI, .name = kernel_name,  \
        .op = "relu", .implementation = kernel_name, .device = "cuda",                             \
        .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32), .can_run = can, .setup = set_up, .run = how    \
    }

static const struct assay_kernel right =
    GPU_KERNEL("gpu_right", run_right, setup, only_on_the_stand_in);
static const struct assay_kernel direct = {.struct_size = sizeof(struct assay_kernel),
                                           .abi = ASSAY_KERNEL_ABI,
                                           .name = "gpu_direct",
                                           .op = "relu",
                                           .implementation = "gpu_direct",
                                           .device = "cuda",
                                           .dtypes = ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32),
                                           .flags = ASSAY_KERNEL_DIRECT,
                                           .can_run = only_on_the_stand_in,
                                           .setup = setup,
                                           .run = run_direct};
static const struct assay_kernel copies = GPU_KERNEL("gpu_copies", run_copies, setup, NULL);
static const struct assay_kernel illegal =
    GPU_KERNEL("gpu_illegal", run_illegal, setup_illegal, NULL);

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    static const struct assay_kernel *const list[] = {&right, &copies, &illegal, &direct};
    *n_kernels = 4;
    return abi == ASSAY_KERNEL_ABI ? list : NULL;
}
