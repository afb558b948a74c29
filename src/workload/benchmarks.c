#include "workload/benchmarks.h"

#include "kernel/kernel.h"

#include <dlfcn.h>
#include <string.h>

/* "workload:BENCHMARK.WORKLOAD" has to fit where a record keeps an op's name. */
enum {
    MOST_NAME = 54,
    MOST_BENCHMARKS = 1024,
    LEAST_WORKLOAD = offsetof(struct assay_workload, setup)
};

void assay_benchmarks_workload(const struct assay_benchmark *benchmark, int32_t index,
                               struct assay_workload *out)
{
    size_t size = benchmark->workload_size;
    const char *at = (const char *)benchmark->workloads + (size_t)index * size;
    *out = (struct assay_workload){0};
    memcpy(out, at, size < sizeof *out ? size : sizeof *out);
}

static bool is_word(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name <= ' ' || *name == '/' || *name == ',' || *name == 0x7f)
            return false;
    return true;
}

static enum assay_status check_workload(const struct assay_benchmark *benchmark, int32_t index,
                                        const char *path, struct assay_error *err)
{
    struct assay_workload w;
    assay_benchmarks_workload(benchmark, index, &w);
    if (!w.name || !w.name[0] || !w.run)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "workload %d of benchmark %s has no name or no run function", index,
                               benchmark->name);
    if (!w.setup && !benchmark->setup)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "workload %s.%s has no setup, and neither has its benchmark",
                               benchmark->name, w.name);
    if (!is_word(w.name))
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "the name of workload \"%.60s\" has a blank, a comma or a slash",
                               w.name);
    if (strlen(benchmark->name) + strlen(w.name) + 1 > MOST_NAME)
        return assay_error_set(
            err, ASSAY_ERR_INVALID, path,
            "%.60s.%.60s: the names are too long: at most %d characters together", benchmark->name,
            w.name, MOST_NAME - 1);
    return ASSAY_OK;
}

static enum assay_status check_benchmark(const struct assay_benchmark *b, const char *path,
                                         struct assay_error *err)
{
    if (b->abi != ASSAY_KERNEL_ABI || b->struct_size < sizeof *b)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "has a benchmark built for another version of assay (abi %u, this "
                               "is %u); rebuild it with this version's assay_kernel.h",
                               b->abi, ASSAY_KERNEL_ABI);
    if (!b->name || !b->name[0] || !b->device || !b->workloads || b->n_workloads < 1 ||
        b->workload_size < LEAST_WORKLOAD)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "has a benchmark without name, device or workloads");
    if (strcmp(b->device, "cpu") != 0 && strcmp(b->device, "cuda") != 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, path,
                               "benchmark %s is for device \"%.20s\"; there are cpu and cuda",
                               b->name, b->device);
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < b->n_workloads && status == ASSAY_OK; i++)
        status = check_workload(b, i, path, err);
    return status;
}

enum assay_status assay_benchmarks_open(const char *path, struct assay_benchmarks *out,
                                        struct assay_error *err)
{
    *out = (struct assay_benchmarks){0};
    void *object = assay_kernel_open_object(path, err);
    if (!object)
        return ASSAY_ERR_INVALID;
    const struct assay_services **services = dlsym(object, ASSAY_SERVICES_SYMBOL);
    if (services)
        *services = &assay_workload_services;
    void *plugin = dlsym(object, ASSAY_PLUGIN_SYMBOL);
    memcpy(&out->plugin, &plugin, sizeof out->plugin);
    struct assay_benchmark *const *list = dlsym(object, ASSAY_BENCHMARK_SYMBOL);
    out->first = list ? *list : NULL;
    enum assay_status status = ASSAY_OK;
    int64_t n = 0;
    for (const struct assay_benchmark *b = out->first; b && status == ASSAY_OK; b = b->next)
        status = ++n > MOST_BENCHMARKS
                     ? assay_error_set(err, ASSAY_ERR_INVALID, path, "has more than %d benchmarks",
                                       MOST_BENCHMARKS)
                     : check_benchmark(b, path, err);
    return status;
}
