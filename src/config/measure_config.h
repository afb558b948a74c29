/* measure_config.h: the options that every command that measures has: how, and where results go. */
#ifndef ASSAY_CONFIG_MEASURE_CONFIG_H
#define ASSAY_CONFIG_MEASURE_CONFIG_H

#include "config/options.h"

struct assay_measure_config {
    /* Rows of the commands' own, because they mean or default to something else in each: */
    const char *cache, *device, *format;
    struct assay_strings outputs;
    /* Rows below: */
    const char *resume, *python, *chart;
    const char *profile;        /* a file; empty: one that is named after the run; NULL: none */
    const char *profile_memory; /* likewise */
    struct assay_strings plugins;
    int64_t threads, warmup, rounds, seed, memory_limit;
    double precision, budget_s, timeout_s;
    bool in_process, quiet, verbose, plot, ascii, strict_device, autotune, sandbox, no_sandbox,
        energy, counters, no_ceiling, wait, dark, help;
};

extern const struct assay_option assay_measure_rows[];

/* The settings that follow from them: all but device, recipes, models and what to compare.
 * `budget_s` is the default. */
enum assay_status assay_measure_settings(const struct assay_measure_config *config, double budget_s,
                                         struct assay_settings *out, struct assay_error *err);

/* Once the settings say what is to be compared: adds the objects of implementations and kernels
 * that are Python's, and finds the interpreter where there is anything for it. `wanted` is
 * --python. */
enum assay_status assay_measure_python(const char *wanted, struct assay_settings *settings,
                                       struct assay_error *err);

/* The canonical name of the device a user means, "cuda" or "cuda:1"; where it is not here the cpu,
 * of which `warn` hears, or, if `strict`, ASSAY_UNSUPPORTED. */
enum assay_status assay_measure_device(const char *name, bool strict, char *out, size_t size,
                                       void (*warn)(const char *text), struct assay_error *err);

#endif
