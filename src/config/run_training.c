#include "config/run_training.h"

#include "base/text.h"
#include "config/run_reading.h"

#include <stdio.h>
#include <string.h>

const char *assay_training_recipe(const char *word, int64_t granularity)
{
    bool rows = granularity != ASSAY_GRANULARITY_TENSOR;
    return rows && assay_text_same(word, "float8dq") ? "float8dq-row" : word;
}

/* An error at a place of the file. */
static enum assay_status fail_at(const struct assay_run_config *config, struct assay_place at,
                                 const char *message, struct assay_error *err)
{
    char where[128];
    assay_run_config_place(config, at, where, sizeof where);
    return assay_error_set(err, ASSAY_ERR_INVALID, where, "%s", message);
}

/* ---- one scaling for all entries ------------------------------------------------------------- */

static bool is_alike(const struct assay_run_entry *a, const struct assay_run_entry *b)
{
    return a->scaling_input == b->scaling_input && a->scaling_weight == b->scaling_weight &&
           a->scaling_grad_output == b->scaling_grad_output &&
           (a->scaling_granularity == ASSAY_GRANULARITY_TENSOR) ==
               (b->scaling_granularity == ASSAY_GRANULARITY_TENSOR) &&
           a->use_fast_accum == b->use_fast_accum && a->repeat_n == b->repeat_n;
}

static enum assay_status check_entries(const struct assay_run_config *config,
                                       struct assay_error *err)
{
    const struct assay_run_entry *first = &config->entries[0];
    for (int64_t i = 1; i < config->n_entries; i++) {
        const struct assay_run_entry *entry = &config->entries[i];
        bool repeats = entry->repeat_n != first->repeat_n;
        struct assay_place at = repeats && entry->repeat_at.line ? entry->repeat_at
                                : entry->training_at.line        ? entry->training_at
                                : repeats                        ? first->repeat_at
                                                                 : first->training_at;
        if (!is_alike(entry, first))
            return fail_at(config, at,
                           "the keys of training are those of the whole run, and here two entries "
                           "differ; write them at the top, or make two files",
                           err);
    }
    return ASSAY_OK;
}

/* ---- recipes --------------------------------------------------------------------------------- */

static uint32_t disabled_operands(const struct assay_run_entry *entry)
{
    const int64_t scalings[ASSAY_OPERANDS] = {[ASSAY_OPERAND_INPUT] = entry->scaling_input,
                                              [ASSAY_OPERAND_WEIGHT] = entry->scaling_weight,
                                              [ASSAY_OPERAND_GRADIENT] =
                                                  entry->scaling_grad_output};
    uint32_t operands = 0;
    for (int i = 0; i < ASSAY_OPERANDS; i++)
        operands |= (uint32_t)(scalings[i] == ASSAY_SCALING_DISABLED) << i;
    return operands;
}

/* "float8dq-row-go-gw-hp" (quant/float8dq_hp.c). */
static void name_of(const struct assay_recipe *recipe, uint32_t disabled, char *name, size_t size)
{
    static const char *const words[ASSAY_OPERANDS] = {"-i", "-w", "-go"};
    uint32_t precise = recipe->precise_operands | disabled;
    bool gw = recipe->precise_products >> ASSAY_PRODUCT_WEIGHT_GRADIENT & 1;
    snprintf(name, size, "float8dq-%s", recipe->scope == ASSAY_SCOPE_TENSOR ? "tensor" : "row");
    for (int i = 0; i < ASSAY_OPERANDS; i++)
        if (precise >> i & 1)
            snprintf(name + strlen(name), size - strlen(name), "%s", words[i]);
    snprintf(name + strlen(name), size - strlen(name), "%s", gw ? "-gw-hp" : "-hp");
}

/* Every recipe that casts, without what is disabled. */
static enum assay_status disable(struct assay_recipe_list *list, uint32_t disabled,
                                 struct assay_error *err)
{
    struct assay_recipe_list all = *list;
    enum assay_status status = ASSAY_OK;
    list->n = 0;
    for (int64_t i = 0; i < all.n && status == ASSAY_OK; i++) {
        char name[ASSAY_RECIPE_NAME];
        const struct assay_recipe *recipe = &all.items[i];
        if (recipe->trains)
            name_of(recipe, disabled, name, sizeof name);
        else
            snprintf(name, sizeof name, "%s", recipe->name);
        status = assay_recipe_list_add_known(list, name, err);
    }
    return status;
}

static bool casts_anything(const struct assay_recipe_list *list)
{
    for (int64_t i = 0; i < list->n; i++)
        if (list->items[i].trains)
            return true;
    return false;
}

/* A granularity that was written, and that no recipe has, does nothing. */
static void check_granularity(const struct assay_run_config *config, void (*warn)(const char *text))
{
    const struct assay_run_entry *entry = &config->entries[0];
    bool tensor = entry->scaling_granularity == ASSAY_GRANULARITY_TENSOR;
    bool agrees = !casts_anything(&config->recipes);
    char where[128], text[320];
    for (int64_t i = 0; i < config->recipes.n; i++) {
        const struct assay_recipe *recipe = &config->recipes.items[i];
        agrees |= recipe->trains && (recipe->scope == ASSAY_SCOPE_TENSOR) == tensor;
    }
    if (agrees || !entry->granularity_at.line)
        return;
    assay_run_config_place(config, entry->granularity_at, where, sizeof where);
    snprintf(text, sizeof text,
             "%s: scaling_granularity is %s, and every recipe's name says otherwise; it is for "
             "float8dq",
             where, assay_run_granularities[entry->scaling_granularity]);
    warn(text);
}

enum assay_status assay_training_settle(struct assay_run_config *config,
                                        void (*warn)(const char *text), struct assay_error *err)
{
    const uint32_t every = (1u << ASSAY_OPERANDS) - 1;
    uint32_t disabled = disabled_operands(&config->entries[0]);
    enum assay_status status = check_entries(config, err);
    if (status != ASSAY_OK)
        return status;
    check_granularity(config, warn);
    if (!disabled || !casts_anything(&config->recipes))
        return ASSAY_OK;
    if (disabled == every)
        return fail_at(
            config, config->entries[0].training_at,
            "with the scaling of input, weight and grad_output disabled nothing is cast: "
            "that is the baseline, which is measured anyway",
            err);
    return disable(&config->recipes, disabled, err);
}

/* ---- passes and repeats ---------------------------------------------------------------------- */

enum assay_status assay_training_passes(const struct assay_training_choice *asked,
                                        struct assay_training_choice *out, struct assay_error *err)
{
    *out = (struct assay_training_choice){0};
    if (asked->passes.n || asked->optimizer)
        return assay_error_set(err, ASSAY_ERR_INVALID, asked->passes.n ? "--pass" : "--optimizer",
                               "benchmark_mode: training measures forward, backward and both; this "
                               "option is for configurations of inference");
    return assay_strings_split(&out->passes, "forward,backward,both") == ASSAY_OK
               ? ASSAY_OK
               : assay_error_nomem(err);
}

void assay_training_repeats(const struct assay_run_config *config, struct assay_settings *settings)
{
    if (!config->entries[0].repeat_at.line || settings->rounds)
        return;
    settings->rounds = config->entries[0].repeat_n;
    settings->within_budget = true;
}
