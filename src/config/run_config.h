/* run_config.h: a configuration of `assay run`: TorchAO's YAML, read and checked.
 *
 * Every key is one row of a table in run_keys.c, which drives reading, the names in errors and
 * the reference that assay_run_config_reference prints. A key of a model may also stand at the top:
 * it is then what every entry starts from. */
#ifndef ASSAY_CONFIG_RUN_CONFIG_H
#define ASSAY_CONFIG_RUN_CONFIG_H

#include "config/recipe_list.h"
#include "config/shapes.h"
#include "record/plan.h"

enum { ASSAY_RUN_ENTRIES = 256, ASSAY_RUN_DTYPES = 3, ASSAY_RUN_SHAPES = 100000 };

/* Where a file says something; 0: nowhere. */
struct assay_place {
    int32_t line, column;
};

enum assay_run_mode { ASSAY_RUN_INFERENCE, ASSAY_RUN_TRAINING };
extern const char *const assay_run_modes[];         /* by enum assay_run_mode, then NULL */
extern const char *const assay_run_compiles[];      /* "default", … "false", NULL */
extern const char *const assay_run_scalings[];      /* "dynamic", "disabled", NULL */
extern const char *const assay_run_granularities[]; /* "tensorwise", three words for rows, NULL */
enum { ASSAY_SCALING_DYNAMIC, ASSAY_SCALING_DISABLED };
enum { ASSAY_GRANULARITY_TENSOR };

/* One model with its shapes. */
struct assay_run_entry {
    char name[64];
    struct assay_shapes shapes; /* [m, k, n] */
    enum assay_dtype dtypes[ASSAY_RUN_DTYPES];
    int64_t n_dtypes;
    char device[32]; /* as written */
    struct assay_place device_at;
    char model[48];         /* known to the models, without their prefix */
    int64_t compile;        /* of assay_run_compiles */
    bool use_torch_compile; /* false wins over `compile` */
    bool enable_profiler, enable_memory_profiler;
    /* Of training (training_recipes.h). Where the last of them is said; 0: nowhere. */
    int64_t scaling_input, scaling_weight, scaling_grad_output, scaling_granularity, repeat_n;
    bool use_fast_accum;
    struct assay_place training_at, granularity_at, repeat_at;
};

struct assay_run_config {
    char file[96]; /* its name in errors, cut at the front */
    bool lenient;
    int64_t mode;
    struct assay_place mode_at;
    struct assay_recipe_list recipes; /* baseline first */
    char *output_dir;
    struct assay_place output_dir_at;
    struct assay_run_entry *entries;
    int64_t n_entries;
    struct assay_strings models;   /* described in the file, as JSON; the models know them */
    struct assay_strings warnings; /* of what is accepted and does nothing, or was filled in */
};

/* Reads a configuration; `file` is its name in errors, which are FILE:LINE:COLUMN. Release with
 * fini also after a failure. `lenient`: keys, recipes and devices that nobody knows, and keys
 * without a value, are warnings and passed over, as TorchAO does it. */
enum assay_status assay_run_config_parse(const char *bytes, size_t length, const char *file,
                                         bool lenient, struct assay_run_config *out,
                                         struct assay_error *err);
enum assay_status assay_run_config_read(const char *path, bool lenient,
                                        struct assay_run_config *out, struct assay_error *err);
void assay_run_config_fini(struct assay_run_config *config);

/* "FILE:LINE:COLUMN", or FILE where the line is not known. */
void assay_run_config_place(const struct assay_run_config *config, struct assay_place at, char *buf,
                            size_t size);

/* Every key, as Markdown. */
void assay_run_config_reference(struct assay_text *out);

#endif
