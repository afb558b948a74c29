/* training_choice.h: the options --pass and --optimizer of the commands that measure models. */
#ifndef ASSAY_CONFIG_TRAINING_CHOICE_H
#define ASSAY_CONFIG_TRAINING_CHOICE_H

#include "config/options.h"
#include "record/plan.h"

struct assay_training_choice {
    struct assay_strings passes;
    const char *optimizer;
};

/* Rows for an option table whose config has a struct assay_training_choice at `offset`. */
/* clang-format off */
#define ASSAY_TRAINING_CHOICE_ROWS(offset) \
    {"pass", 0, ASSAY_OPTION_LIST, (offset) + offsetof(struct assay_training_choice, passes), "PASSES", "measure models in training: forward, backward, both, or step, which is both and the optimizer (docs/training.md)", 0, 0}, \
    {"optimizer", 0, ASSAY_OPTION_TEXT, (offset) + offsetof(struct assay_training_choice, optimizer), "OPTIMIZER", "the optimizer of --pass step: adamw (default) or sgd", 0, 0}
/* clang-format on */

/* Adds a model's group to the plan: as it is, or once for each pass. */
enum assay_status assay_training_add(const struct assay_training_choice *choice,
                                     const struct assay_group *group, struct assay_plan *plan,
                                     struct assay_error *err);

/* How many groups that makes of each, and whether the options are right. */
enum assay_status assay_training_check(const struct assay_training_choice *choice, int64_t *passes,
                                       struct assay_error *err);

#endif
