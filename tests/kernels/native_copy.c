/* native_copy.c: assay's own kernels once more, as a stranger brings them: the same code in a
 * plug-in, which runs in a process of its own. tests/perf/copies compares the two. */
#include "device/device.h"
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 32 };
static const char *const ops[] = {"relu", "add", "softmax", "mse", "layernorm", "gelu"};

static const struct assay_kernel *originals[MOST];
static struct assay_kernel copies[MOST];
static char names[MOST][64];
static const struct assay_kernel *all[MOST];
static int32_t n_copies;

static bool is_wanted(const struct assay_kernel *kernel)
{
    bool ours = strcmp(kernel->implementation, "native") == 0 ||
                strcmp(kernel->implementation, "cuda") == 0;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(kernel->op, ops[i]) == 0)
            return ours && assay_kernel_can_run(kernel, NULL, NULL) == ASSAY_OK;
    return false;
}

/* The plug-in has its own copy of what the kernel stands on: there, too, the GPU is to be opened.
 */
static enum assay_status setup_on_gpu(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    static assay_device *gpu;
    const struct assay_device_driver *driver;
    int32_t index;
    enum assay_status status = ASSAY_OK;
    if (!gpu)
        status = assay_device_parse("cuda", &driver, &index, err);
    if (!gpu && status == ASSAY_OK)
        status = assay_device_open(driver, index, 1, &gpu, err);
    for (int32_t i = 0; i < n_copies && status == ASSAY_OK; i++)
        if (copies[i].setup == setup_on_gpu && strcmp(copies[i].op, problem->op) == 0)
            return originals[i]->setup(problem, state, err);
    return status == ASSAY_OK ? ASSAY_UNSUPPORTED : status;
}

static void add_copy(const struct assay_kernel *kernel)
{
    int32_t n = n_copies++;
    snprintf(names[n], sizeof names[n], "%s_copy", kernel->name);
    originals[n] = kernel;
    copies[n] = *kernel;
    copies[n].name = names[n];
    copies[n].implementation = "copy";
    if (strcmp(kernel->implementation, "cuda") == 0)
        copies[n].setup = setup_on_gpu;
    all[n] = &copies[n];
}

ASSAY_API const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels);
const struct assay_kernel *const *assay_plugin(uint32_t abi, int32_t *n_kernels)
{
    assay_kernel_registry *registry = n_copies ? NULL : assay_kernel_registry_create();
    (void)abi;
    for (int64_t i = 0; registry && i < assay_kernel_count(registry) && n_copies < MOST; i++)
        if (is_wanted(assay_kernel_at(registry, i)))
            add_copy(assay_kernel_at(registry, i));
    assay_kernel_registry_destroy(registry);
    *n_kernels = n_copies;
    return all;
}
