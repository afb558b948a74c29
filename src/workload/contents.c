#include "workload/contents.h"

#include <stdio.h>
#include <string.h>

static enum assay_status too_many(const char *what, int most, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "has more than %d %s", most, what);
}

static void note_kernel(const struct assay_kernel *kernel, struct assay_kernel_found *to)
{
    snprintf(to->name, sizeof to->name, "%s", kernel->name);
    snprintf(to->op, sizeof to->op, "%s", kernel->op);
    snprintf(to->implementation, sizeof to->implementation, "%s", kernel->implementation);
    snprintf(to->device, sizeof to->device, "%.7s", kernel->device);
    to->dtypes = kernel->dtypes;
    to->preference = kernel->preference;
    to->units = kernel->units;
    to->flags = kernel->flags;
    to->prepares = kernel->prepare;
    to->has_activations = kernel->run_activations;
    to->has_note = kernel->note;
}

enum assay_status assay_contents_list(const assay_workloads *workloads,
                                      const assay_kernel_registry *registry, int64_t first,
                                      struct assay_contents *out, struct assay_error *err)
{
    *out = (struct assay_contents){0};
    if (assay_workload_count(workloads) > ASSAY_CONTENTS_WORKLOADS)
        return too_many("workloads", ASSAY_CONTENTS_WORKLOADS, err);
    for (int64_t i = 0; i < assay_workload_count(workloads); i++)
        out->workloads[out->n_workloads++] = *assay_workload_at(workloads, i);
    for (int64_t i = first; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (assay_workload_is(kernel->op))
            continue;
        if (out->n_kernels == ASSAY_CONTENTS_KERNELS)
            return too_many("kernels", ASSAY_CONTENTS_KERNELS, err);
        note_kernel(kernel, &out->kernels[out->n_kernels++]);
    }
    return ASSAY_OK;
}
