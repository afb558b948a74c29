#include "config/preset_set.h"

#include <stdio.h>
#include <string.h>

/* The presets that take part, to look names up in. */
struct names {
    const struct assay_preset *const *presets;
    int64_t n;
    const char *scope; /* only what belongs to it; empty: all */
};

static bool in_scope(const char *scope, const struct assay_preset *preset,
                     const struct assay_preset_case *c)
{
    return !scope[0] || assay_text_same(scope, preset->name) || assay_text_same(scope, c->name);
}

/* Calls for each parameter in scope. */
static void each_parameter(const struct names *names,
                           void (*visit)(const struct assay_preset_case *c, int64_t parameter,
                                         void *user),
                           void *user)
{
    for (int64_t i = 0; i < names->n; i++)
        for (const struct assay_preset_case *c = names->presets[i]->cases; c->name; c++)
            for (int64_t k = 0; k < assay_preset_case_parameters(c); k++)
                if (in_scope(names->scope, names->presets[i], c))
                    visit(c, k, user);
}

/* Parameters that have a name, and the least value that all of them may have. */
struct wanted {
    const char *name;
    int64_t found, least;
};

static void count_wanted(const struct assay_preset_case *c, int64_t parameter, void *user)
{
    struct wanted *wanted = user;
    if (strcmp(c->parameters[parameter].name, wanted->name) == 0) {
        wanted->found++;
        wanted->least |= assay_preset_case_least(c, parameter);
    }
}

/* Names, each once. */
struct list {
    const char *items[64];
    int64_t n;
};

static void add_name(struct list *list, const char *name)
{
    for (int64_t i = 0; i < list->n; i++)
        if (strcmp(list->items[i], name) == 0)
            return;
    if (list->n < 64)
        list->items[list->n++] = name;
}

static void list_parameter(const struct assay_preset_case *c, int64_t parameter, void *user)
{
    add_name(user, c->parameters[parameter].name);
}

static enum assay_status unknown(const char *what, const char *word, const struct list *known,
                                 struct assay_error *err)
{
    char all[320] = "";
    for (int64_t i = 0; i < known->n; i++) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", known->items[i]);
    }
    const char *nearest = assay_text_nearest(word, known->items, known->n);
    return assay_error_set(
        err, ASSAY_ERR_INVALID, NULL, "--set: unknown %s \"%.60s\"%s%s%s there are %s", what, word,
        nearest ? "; did you mean \"" : ";", nearest ? nearest : "", nearest ? "\"?" : "", all);
}

static enum assay_status check_scope(const struct names *names, struct assay_error *err)
{
    struct list known = {0};
    if (!names->scope[0])
        return ASSAY_OK;
    for (int64_t i = 0; i < names->n; i++) {
        add_name(&known, names->presets[i]->name);
        for (const struct assay_preset_case *c = names->presets[i]->cases; c->name; c++)
            if (in_scope(names->scope, names->presets[i], c))
                return ASSAY_OK;
            else
                add_name(&known, c->name);
    }
    return unknown("preset or case", names->scope, &known, err);
}

static enum assay_status read_one(const char *text, struct names *names,
                                  struct assay_preset_set *set, struct assay_error *err)
{
    size_t key = strcspn(text, "="), scope = 0;
    for (size_t i = 0; i < key; i++)
        scope = text[i] == '.' ? i : scope; /* the last dot */
    size_t start = scope ? scope + 1 : 0;
    if (!text[key] || key == start || scope >= sizeof set->scope || key - start >= sizeof set->name)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--set takes PARAMETER=VALUES such as seq_len=4096, "
                               "seq_len=1024:8192:x2 or attn.num_heads=8,16, not \"%.100s\"",
                               text);
    snprintf(set->scope, sizeof set->scope, "%.*s", (int)scope, text);
    snprintf(set->name, sizeof set->name, "%.*s", (int)(key - start), text + start);
    names->scope = set->scope;
    enum assay_status status = check_scope(names, err);
    if (status != ASSAY_OK)
        return status;
    struct wanted wanted = {.name = set->name};
    each_parameter(names, count_wanted, &wanted);
    if (!wanted.found) {
        struct list known = {0};
        each_parameter(names, list_parameter, &known);
        return unknown("parameter", set->name, &known, err);
    }
    char option[64];
    snprintf(option, sizeof option, "set %s", set->name);
    return assay_axis_parse_from(option, text + key + 1, wanted.least, &set->values, err);
}

enum assay_status assay_preset_sets_read(const struct assay_strings *texts,
                                         const struct assay_preset *const *presets,
                                         int64_t n_presets, struct assay_preset_sets *out,
                                         struct assay_error *err)
{
    struct names names = {.presets = presets, .n = n_presets};
    enum assay_status status = ASSAY_OK;
    *out = (struct assay_preset_sets){0};
    if (texts->n > ASSAY_PRESET_SETS)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--set: %d at the most",
                               ASSAY_PRESET_SETS);
    for (int64_t i = 0; i < texts->n && status == ASSAY_OK; i++)
        status = read_one(texts->items[i], &names, &out->items[out->n++], err);
    return status;
}

void assay_preset_sets_fini(struct assay_preset_sets *sets)
{
    for (int64_t i = 0; i < sets->n; i++)
        assay_axis_fini(&sets->items[i].values);
    sets->n = 0;
}

const struct assay_axis *assay_preset_sets_find(const struct assay_preset_sets *sets,
                                                const struct assay_preset *preset,
                                                const struct assay_preset_case *c,
                                                const char *parameter)
{
    for (int64_t i = sets->n - 1; i >= 0; i--)
        if (strcmp(sets->items[i].name, parameter) == 0 &&
            in_scope(sets->items[i].scope, preset, c))
            return &sets->items[i].values;
    return NULL;
}
