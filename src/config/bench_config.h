/* bench_config.h: the options of `assay bench`, and the plan they make. */
#ifndef ASSAY_CONFIG_BENCH_CONFIG_H
#define ASSAY_CONFIG_BENCH_CONFIG_H

#include "config/measure_config.h"

struct assay_bench_config {
    struct assay_measure_config measure;
    struct assay_strings ops;
    const char *batch, *seq, *dim, *baseline, *pass;
    struct assay_strings shapes, shape_sets, modes, recipes;
    struct assay_strings dtypes, implementations, kernels;
    int64_t max_elements;
    bool sweep, dry_run;
};

extern const struct assay_option_table assay_bench_options;

/* The defaults, before any option is read. */
void assay_bench_config_init(struct assay_bench_config *config);
void assay_bench_config_fini(struct assay_bench_config *config);

/* Checks everything that can be checked without a device and makes the plan. `warn` hears of a
 * device that is not here and falls back to the CPU. With no op named it is a tour of half a
 * minute, with ops and no sizes a minute for each. */
enum assay_status assay_bench_plan(const struct assay_bench_config *config, struct assay_plan *out,
                                   void (*warn)(const char *text), struct assay_error *err);

#endif
