/* kernel_config.h: the options of `assay kernel`, and the plan they make of what a repository's
 * files hold. */
#ifndef ASSAY_CONFIG_KERNEL_CONFIG_H
#define ASSAY_CONFIG_KERNEL_CONFIG_H

#include "config/kernel_file.h"
#include "config/measure_config.h"
#include "workload/contents.h"

struct assay_kernel_options {
    struct assay_measure_config measure;
    struct assay_strings words; /* the repository: one */
    const char *version, *branch, *hub;
    const char *visual;
    const char *new_name, *op, *language; /* of --new */
    struct assay_strings workloads;       /* patterns */
    struct assay_strings shapes, dtypes, modes, recipes;
    bool offline, list, build, json, rasterized;
};

extern const struct assay_option_table assay_kernel_options_table;

void assay_kernel_options_init(struct assay_kernel_options *options);
void assay_kernel_options_fini(struct assay_kernel_options *options);

/* A compiled file of the repository, opened. */
struct assay_kernel_object {
    const char *shown; /* "benchmarks/benchmark_silu.c" */
    const char *path;  /* of the shared object */
    const struct assay_contents *contents;
};

/* Is this one asked for? Patterns with * and ? match the workload's name or BENCHMARK.WORKLOAD; no
 * pattern matches all. */
bool assay_kernel_wants(const struct assay_kernel_options *options, const char *benchmark,
                        const char *workload);

/* The device something for "cpu" or "cuda" is measured on: that of --device where it is of the
 * same kind; ASSAY_UNSUPPORTED with the reason where it is not here or not asked for. */
enum assay_status assay_kernel_device(const struct assay_kernel_options *options, const char *kind,
                                      char *out, size_t size, struct assay_error *err);

/* The plan: one group for each workload; for each kernel of a known op the groups of its shapes and
 * dtypes, against all there is. `warn` hears of what is left out because its device is not here. An
 * empty plan is an error that says why. */
enum assay_status assay_kernel_plan(const struct assay_kernel_options *options,
                                    const struct assay_kernel_file *file,
                                    const struct assay_kernel_object *objects, int64_t n,
                                    struct assay_plan *out, void (*warn)(const char *text),
                                    struct assay_error *err);

#endif
