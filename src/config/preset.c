#include "config/preset.h"

#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASSAY_PRESET(n) extern const struct assay_preset assay_preset_##n;
#include "config/presets/preset_list.h"
#undef ASSAY_PRESET

static const struct assay_preset *const presets[] = {
#define ASSAY_PRESET(n) &assay_preset_##n,
#include "config/presets/preset_list.h"
#undef ASSAY_PRESET
};

enum { PRESETS = sizeof presets / sizeof presets[0] };

int64_t assay_preset_count(void) { return PRESETS; }
const struct assay_preset *assay_preset_at(int64_t index) { return presets[index]; }

enum assay_status assay_preset_find(const char *name, const struct assay_preset **out,
                                    struct assay_error *err)
{
    const char *names[PRESETS];
    char known[256] = "";
    for (int i = 0; i < PRESETS; i++) {
        names[i] = presets[i]->name;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
        if (assay_text_same(names[i], name)) {
            *out = presets[i];
            return ASSAY_OK;
        }
    }
    const char *nearest = assay_text_nearest(name, names, PRESETS);
    if (nearest)
        return assay_error_set(
            err, ASSAY_ERR_INVALID, NULL,
            "unknown preset \"%.60s\"; did you mean \"%s\"? There are %s and all", name, nearest,
            known);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "unknown preset \"%.60s\"; there are %s and all; a file's name ends in "
                           ".yml or .yaml",
                           name, known);
}

int64_t assay_preset_case_parameters(const struct assay_preset_case *c)
{
    int64_t n = 0;
    while (n < ASSAY_PRESET_PARAMETERS && c->parameters[n].name)
        n++;
    return n;
}

int64_t assay_preset_case_parameter(const struct assay_preset_case *c, const char *name)
{
    for (int64_t i = 0; i < assay_preset_case_parameters(c); i++)
        if (strcmp(c->parameters[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- values that are words ------------------------------------------------------------------ */

/* Which word the case's choice has; 0 without one. */
static int64_t chosen(const struct assay_preset_case *c, const int64_t *values)
{
    return c->choice ? values[assay_preset_case_parameter(c, c->choice)] : 0;
}

static const char *model_of(const struct assay_preset_case *c, const int64_t *values)
{
    return c->models ? c->models[chosen(c, values)] : c->model;
}

const char *assay_preset_case_name(const struct assay_preset_case *c, const int64_t *values)
{
    return c->names ? c->names[chosen(c, values)] : c->name;
}

/* "1e-05" is 1e-5. */
static bool same_number(const char *a, const char *b)
{
    char *end_a, *end_b;
    double x = strtod(a, &end_a), y = strtod(b, &end_b);
    return end_a != a && !*end_a && end_b != b && !*end_b && fabs(x - y) <= 1e-9 * fabs(y);
}

int64_t assay_preset_case_word(const struct assay_preset_case *c, int64_t parameter,
                               const char *word)
{
    const char *const *words = c->words[parameter];
    bool truth = strcmp(words[0], "false") == 0;
    if (truth && (strcmp(word, "0") == 0 || strcmp(word, "1") == 0))
        return word[0] - '0';
    for (int64_t i = 0; words[i]; i++)
        if (assay_text_same(words[i], word) || same_number(word, words[i]))
            return i;
    return -1;
}

void assay_preset_case_value(const struct assay_preset_case *c, int64_t parameter, int64_t value,
                             char *buf, size_t size)
{
    if (c->words[parameter])
        snprintf(buf, size, "%s", c->words[parameter][value]);
    else
        snprintf(buf, size, "%lld", (long long)value);
}

enum assay_status assay_preset_case_default(const struct assay_preset_case *c, int64_t parameter,
                                            int64_t *values, struct assay_error *err)
{
    struct assay_variable variables[ASSAY_PRESET_PARAMETERS];
    values[parameter] = c->parameters[parameter].value;
    if (!c->follows[parameter])
        return ASSAY_OK;
    for (int64_t i = 0; i < parameter; i++)
        variables[i] = (struct assay_variable){c->parameters[i].name, (double)values[i]};
    return assay_expression_size(c->follows[parameter], variables, parameter, 0, &values[parameter],
                                 err);
}

int64_t assay_preset_case_least(const struct assay_preset_case *c, int64_t parameter)
{
    return c->zeros >> parameter & 1 ? 0 : 1;
}

/* ---- a case for given values ---------------------------------------------------------------- */

static enum assay_status check_values(const struct assay_preset_case *c, const int64_t *values,
                                      struct assay_error *err)
{
    for (int64_t i = 0; i < assay_preset_case_parameters(c); i++) {
        int64_t least = assay_preset_case_least(c, i);
        if (values[i] < least)
            return assay_error_set(err, ASSAY_ERR_INVALID, c->name,
                                   "%s must be at least %lld, not %lld", c->parameters[i].name,
                                   (long long)least, (long long)values[i]);
        for (int64_t k = 0; c->words[i] && k <= values[i]; k++)
            if (!c->words[i][k])
                return assay_error_set(err, ASSAY_ERR_INVALID, c->name, "%s has no value %lld",
                                       c->parameters[i].name, (long long)values[i]);
    }
    for (int i = 0; i < ASSAY_PRESET_MULTIPLES && c->multiples[i].parameter; i++) {
        int64_t one = assay_preset_case_parameter(c, c->multiples[i].parameter);
        int64_t of = assay_preset_case_parameter(c, c->multiples[i].of);
        if (values[one] % values[of] != 0)
            return assay_error_set(err, ASSAY_ERR_INVALID, c->name,
                                   "%s = %lld is not a multiple of %s = %lld",
                                   c->parameters[one].name, (long long)values[one],
                                   c->parameters[of].name, (long long)values[of]);
    }
    return ASSAY_OK;
}

/* A counter's value; a count below zero is of sizes that the model refuses. */
static enum assay_status count(const char *expression, const struct assay_variable *variables,
                               int64_t n, const char *place, double *out, struct assay_error *err)
{
    struct assay_error why = {0};
    *out = (double)NAN;
    if (!expression)
        return ASSAY_OK;
    if (assay_expression_value(expression, variables, n, out, &why) != ASSAY_OK)
        return assay_error_set(err, ASSAY_ERR_INVALID, place, "%s", why.message);
    return ASSAY_OK;
}

/* What one of the model's axes is. */
static enum assay_status size_axis(const struct assay_preset_case *c, const struct assay_op *op,
                                   int32_t axis, const struct assay_variable *variables, int64_t n,
                                   int64_t *out, struct assay_error *err)
{
    struct assay_error why = {0};
    const char *text = c->sizes[axis] ? c->sizes[axis] : op->axis_names[axis];
    if (assay_expression_size(text, variables, n, 0, out, &why) == ASSAY_OK)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, c->name, "size %s of model %s: %s",
                           op->axis_names[axis], c->model, why.message);
}

enum assay_status assay_preset_case_problem(const struct assay_preset_case *c,
                                            const int64_t *values, enum assay_dtype dtype,
                                            struct assay_preset_problem *out,
                                            struct assay_error *err)
{
    struct assay_variable variables[ASSAY_PRESET_PARAMETERS];
    struct assay_problem problem;
    struct assay_error why = {0};
    int64_t n = assay_preset_case_parameters(c);
    *out = (struct assay_preset_problem){0};
    for (int64_t i = 0; i < n; i++)
        variables[i] = (struct assay_variable){c->parameters[i].name, (double)values[i]};
    enum assay_status status = check_values(c, values, err);
    if (status != ASSAY_OK)
        return status;
    snprintf(out->op, sizeof out->op, ASSAY_MODEL_PREFIX "%s", model_of(c, values));
    const struct assay_op *op = assay_model_op(out->op);
    if (!op)
        return assay_error_set(err, ASSAY_ERR_INVALID, c->name, "there is no model \"%s\"",
                               c->model);
    out->n_axes = assay_op_axes(op);
    for (int32_t i = 0; i < out->n_axes && status == ASSAY_OK; i++)
        status = size_axis(c, op, i, variables, n, &out->axes[i], err);
    if (status == ASSAY_OK && assay_op_problem(op, dtype, "", out->axes, 1, &problem, &why))
        status = assay_error_set(err, why.code, c->name, "%s", why.message);
    if (status == ASSAY_OK)
        status = count(c->macs, variables, n, c->name, &out->macs, err);
    if (status == ASSAY_OK)
        status = count(c->flops, variables, n, c->name, &out->flops, err);
    return status;
}

/* ---- for people ----------------------------------------------------------------------------- */

static void describe_count(const char *expression, const char *unit, const char *before,
                           const struct assay_variable *variables, int64_t n,
                           struct assay_text *out)
{
    double value;
    char text[32];
    if (!expression || assay_expression_value(expression, variables, n, &value, NULL) != ASSAY_OK)
        return;
    assay_text_count(value, text, sizeof text);
    assay_text_format(out, "%s%s%s", before, text, unit);
}

static void describe_case(const struct assay_preset_case *c, struct assay_text *out)
{
    struct assay_variable variables[ASSAY_PRESET_PARAMETERS];
    int64_t n = assay_preset_case_parameters(c);
    assay_text_format(out, "  %-21s", c->name);
    for (int64_t i = 0; i < n; i++) {
        variables[i] =
            (struct assay_variable){c->parameters[i].name, (double)c->parameters[i].value};
        char value[32];
        assay_preset_case_value(c, i, c->parameters[i].value, value, sizeof value);
        assay_text_format(out, " %s=%s", c->parameters[i].name, value);
    }
    if (c->macs || c->flops) {
        assay_text_format(out, "\n  %-21s ", "");
        describe_count(c->macs, "MACs", "", variables, n, out);
        describe_count(c->flops, "FLOPs", c->macs ? ", " : "", variables, n, out);
    }
    assay_text_add(out, "\n");
}

void assay_preset_describe(const struct assay_preset *preset, struct assay_text *out)
{
    assay_text_format(out, "%-12s %s\n", preset->name, preset->summary ? preset->summary : "");
    for (const struct assay_preset_case *c = preset->cases; c->name; c++)
        describe_case(c, out);
}
