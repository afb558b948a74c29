/* services.c: a user's device code, compiled at run time. */
#include "device/cuda/cuda.h"
#include "workload/benchmarks.h"

static enum assay_status kernel(const char *file, const char *name, void **function,
                                struct assay_error *err)
{
    cu_function found = NULL;
    enum assay_status status = assay_cuda_function_of_file(file, name, &found, err);
    *function = (void *)found;
    return status;
}

static enum assay_status launch(void *function, const uint32_t grid[3], const uint32_t block[3],
                                uint32_t shared_bytes, void *stream, void **args)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    if (!api || !function)
        return ASSAY_UNSUPPORTED;
    return assay_cuda_check(api->cuLaunchKernel((cu_function)function, grid[0], grid[1], grid[2],
                                                block[0], block[1], block[2], shared_bytes,
                                                (cu_stream)stream, args, NULL),
                            "cuLaunchKernel", NULL);
}

const struct assay_services assay_workload_services = {
    .struct_size = sizeof assay_workload_services,
    .cuda_kernel = kernel,
    .cuda_launch = launch,
};
