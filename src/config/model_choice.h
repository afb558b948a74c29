/* model_choice.h: the options --impl and --baseline of the commands that measure models: `assay
 * run`, `assay ci` and `assay preset`. */
#ifndef ASSAY_CONFIG_MODEL_CHOICE_H
#define ASSAY_CONFIG_MODEL_CHOICE_H

#include "config/measure_config.h"

struct assay_model_choice {
    struct assay_strings implementations;
    const char *baseline;
};

/* Rows for an option table whose config has a struct assay_model_choice at `offset`. */
/* clang-format off */
#define ASSAY_MODEL_CHOICE_ROWS(offset) \
    {"impl", 0, ASSAY_OPTION_LIST, (offset) + offsetof(struct assay_model_choice, implementations), "IMPLS", "measure each model in these too: torch (compiled as well where models are), torch-compile, in training recomputed; of eager and compiled only those that are named, if any is", 0, 0}, \
    {"baseline", 0, ASSAY_OPTION_TEXT, (offset) + offsetof(struct assay_model_choice, baseline), "IMPL", "what speedups refer to (default: torch where it takes part, else eager; a compiled model's to the compiled one)", 0, 0}
/* clang-format on */

/* Checks the names, and writes them, the baseline and what Python needs into `settings`. `python`
 * is --python. */
enum assay_status assay_model_choice_apply(const struct assay_model_choice *choice,
                                           const char *python, struct assay_settings *settings,
                                           struct assay_error *err);

#endif
