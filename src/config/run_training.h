/* run_training.h: `benchmark_mode: training`: what its keys make of recipes, passes and settings.
 *
 * A recipe's name says what shares a scale: float8dq-tensor, float8dq-row. `scaling_granularity`
 * says it of float8dq. A scaling that is disabled is part of the recipe that is measured: with
 * `scaling_type_grad_output: disabled` float8dq-row is float8dq-row-go-hp. Recipes belong to a run,
 * so all its entries have to say the same. */
#ifndef ASSAY_CONFIG_RUN_TRAINING_H
#define ASSAY_CONFIG_RUN_TRAINING_H

#include "config/run_config.h"
#include "config/training_choice.h"

/* The recipe that this word stands for with this granularity: float8dq is "float8dq-row" where rows
 * share a scale. */
const char *assay_training_recipe(const char *word, int64_t granularity);

/* Puts what is disabled into the configuration's recipes, and checks that its entries agree.
 * `warn` hears of a granularity that no recipe has. */
enum assay_status assay_training_settle(struct assay_run_config *config,
                                        void (*warn)(const char *text), struct assay_error *err);

enum { ASSAY_RUN_PASSES = 3 };
/* The passes of such a run, as --pass would name them; those that are named are an error. */
enum assay_status assay_training_passes(const struct assay_training_choice *asked,
                                        struct assay_training_choice *out, struct assay_error *err);

/* repeat_n, where the file has it and no option says otherwise. */
void assay_training_repeats(const struct assay_run_config *config, struct assay_settings *settings);

#endif
