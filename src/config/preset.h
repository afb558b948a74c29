/* preset.h: presets: named sets of cases, each a model with parameters and counters of its work.
 *
 * A preset is data: a file src/config/presets/NAME.c that defines `const struct assay_preset
 * assay_preset_NAME` and the line ASSAY_PRESET(NAME) in src/config/presets/preset_list.h; or a YAML
 * file of the same content (preset_file.h). */
#ifndef ASSAY_CONFIG_PRESET_H
#define ASSAY_CONFIG_PRESET_H

#include "base/expression.h"
#include "base/text.h"
#include <assay/assay_kernel.h>

enum { ASSAY_PRESET_PARAMETERS = 12, ASSAY_PRESET_MULTIPLES = 2 };

struct assay_preset_parameter {
    const char *name;
    int64_t value; /* where nobody says otherwise */
};

struct assay_preset_case {
    const char *name;  /* as it is printed */
    const char *model; /* of the models, without their prefix */
    struct assay_preset_parameter parameters[ASSAY_PRESET_PARAMETERS]; /* up to the first unnamed */
    uint32_t zeros; /* bit i: parameter i may be 0; else it is at least 1 */
    /* Of a parameter that is no size: what its values 0, 1, … are called, up to a NULL. */
    const char *const *words[ASSAY_PRESET_PARAMETERS];
    /* What a parameter is where nobody says, of those before it; NULL: its default. */
    const char *follows[ASSAY_PRESET_PARAMETERS];
    /* A parameter with words that chooses the model, one for each word and all with the same axes,
     * and the case's name; NULL: `model`, `name`. */
    const char *choice;
    const char *const *models, *const *names;
    /* What the model's axes are, each an expression of the parameters; NULL: the parameter that has
     * the axis's name. */
    const char *sizes[ASSAY_MAX_AXES];
    struct {
        const char *parameter, *of; /* the one must be a multiple of the other */
    } multiples[ASSAY_PRESET_MULTIPLES];
    /* Counters, expressions of the parameters: multiply-adds, and other operations. NULL: not
     * counted. */
    const char *macs, *flops;
};

struct assay_preset {
    const char *name, *summary;
    const struct assay_preset_case *cases; /* up to the first unnamed */
};

/* Those that are built in. */
int64_t assay_preset_count(void);
const struct assay_preset *assay_preset_at(int64_t index);
/* By name, any case. The error names the nearest, or all. */
enum assay_status assay_preset_find(const char *name, const struct assay_preset **out,
                                    struct assay_error *err);

int64_t assay_preset_case_parameters(const struct assay_preset_case *c);
/* Which of its parameters has this name; -1: none. */
int64_t assay_preset_case_parameter(const struct assay_preset_case *c, const char *name);
/* What the case is called with these values of its parameters. */
const char *assay_preset_case_name(const struct assay_preset_case *c, const int64_t *values);
/* Which value of a parameter a word stands for: "relu", "True", "1e-05"; -1: none. */
int64_t assay_preset_case_word(const struct assay_preset_case *c, int64_t parameter,
                               const char *word);
/* A parameter's value for people: "4", "relu". */
void assay_preset_case_value(const struct assay_preset_case *c, int64_t parameter, int64_t value,
                             char *buf, size_t size);
/* Sets it to what it follows, or else to its default; those before it are set. */
enum assay_status assay_preset_case_default(const struct assay_preset_case *c, int64_t parameter,
                                            int64_t *values, struct assay_error *err);
/* The least value it may have, 0 or 1. */
int64_t assay_preset_case_least(const struct assay_preset_case *c, int64_t parameter);

/* What a case is for given values of its parameters. */
struct assay_preset_problem {
    char op[64]; /* of the model, as plans name it */
    int32_t n_axes;
    int64_t axes[ASSAY_MAX_AXES];
    double macs, flops; /* NaN: no counter */
};

/* Checks the values, one for each parameter, and works the problem out; whether the model can have
 * such sizes is checked too. The error names the parameter that is wrong. */
enum assay_status assay_preset_case_problem(const struct assay_preset_case *c,
                                            const int64_t *values, enum assay_dtype dtype,
                                            struct assay_preset_problem *out,
                                            struct assay_error *err);

/* A preset, its cases, their parameters and counts, for people. */
void assay_preset_describe(const struct assay_preset *preset, struct assay_text *out);

#endif
