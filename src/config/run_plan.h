/* run_plan.h: the options of `assay run` and `assay ci`, and the plan that they and a configuration
 * make. */
#ifndef ASSAY_CONFIG_RUN_PLAN_H
#define ASSAY_CONFIG_RUN_PLAN_H

#include "config/measure_config.h"
#include "config/model_choice.h"
#include "config/run_config.h"
#include "config/training_choice.h"

struct assay_run_options {
    struct assay_measure_config measure;
    struct assay_strings files; /* CONFIG.yml as a word */
    const char *config;         /* or as an option */
    /* What replaces what the file says, in all entries: */
    struct assay_strings dtypes, recipes, shapes;
    const char *model, *compile, *output_dir;
    struct assay_model_choice choice;
    struct assay_training_choice training;
    int64_t limit;
    bool dry_run, help_config, lenient;
    /* Of ci: */
    int64_t repeat;
    const char *github_summary; /* "": the file the environment names; NULL: none */
};

extern const struct assay_option_table assay_run_options_table, assay_ci_options_table;

void assay_run_options_init(struct assay_run_options *options);
void assay_run_options_fini(struct assay_run_options *options); /* of both tables */

/* Reads the configuration the options name. Release `config` also after a failure. */
enum assay_status assay_run_options_read(const struct assay_run_options *options,
                                         struct assay_run_config *config, struct assay_error *err);

/* The file they name; NULL: none. */
const char *assay_run_options_file(const struct assay_run_options *options);

/* Replaces what the options replace, checks everything, and makes the plan: one group for each
 * entry, shape and dtype. `warn` hears the configuration's warnings, and of devices that are not
 * here. */
enum assay_status assay_run_plan(const struct assay_run_options *options,
                                 struct assay_run_config *config, struct assay_plan *out,
                                 void (*warn)(const char *text), struct assay_error *err);

#endif
