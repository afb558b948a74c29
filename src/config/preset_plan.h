/* preset_plan.h: the options of `assay preset`, and the plan they make. */
#ifndef ASSAY_CONFIG_PRESET_PLAN_H
#define ASSAY_CONFIG_PRESET_PLAN_H

#include "config/measure_config.h"
#include "config/model_choice.h"
#include "config/preset_file.h"
#include "config/training_choice.h"

enum { ASSAY_PRESETS_AT_ONCE = 32, ASSAY_PRESET_FILES = 8 };

/* KoBench's own numbers, where --warmup or --iters asks for fixed ones. */
enum { ASSAY_PRESET_WARMUP = 8, ASSAY_PRESET_ITERS = 32 };

struct assay_preset_options {
    struct assay_measure_config measure;
    struct assay_strings words;   /* presets as words */
    struct assay_strings presets; /* or as --preset has them */
    struct assay_strings sets, dtypes;
    struct assay_model_choice choice;
    struct assay_training_choice training;
    bool list, compile;
};

extern const struct assay_option_table assay_preset_options_table;

void assay_preset_options_init(struct assay_preset_options *options);
void assay_preset_options_fini(struct assay_preset_options *options);

/* The presets the options name, each once; `all` is all that are built in. */
struct assay_preset_choice {
    const struct assay_preset *items[ASSAY_PRESETS_AT_ONCE];
    int64_t n;
    struct assay_preset_file files[ASSAY_PRESET_FILES]; /* those of them that are files */
    int64_t n_files;
};
/* Release also after a failure. No name at all is an empty choice. */
enum assay_status assay_preset_choose(const struct assay_preset_options *options,
                                      struct assay_preset_choice *out, struct assay_error *err);
void assay_preset_choice_fini(struct assay_preset_choice *choice);

/* Checks everything and makes the plan: one group for each dtype, case and combination of swept
 * parameters. `warn` hears of a device that is not here. */
enum assay_status assay_preset_plan(const struct assay_preset_options *options,
                                    const struct assay_preset_choice *choice,
                                    struct assay_plan *out, void (*warn)(const char *text),
                                    struct assay_error *err);

#endif
