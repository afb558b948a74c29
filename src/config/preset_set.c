#include "config/preset_set.h"

#include "base/alloc.h"

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
    const struct assay_preset_case *c; /* the first that has it, and which it is there */
    int64_t parameter;
};

static void count_wanted(const struct assay_preset_case *c, int64_t parameter, void *user)
{
    struct wanted *wanted = user;
    if (strcmp(c->parameters[parameter].name, wanted->name) == 0) {
        if (!wanted->found++) {
            wanted->c = c;
            wanted->parameter = parameter;
        }
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

/* What KoBench calls them. */
static const struct {
    const char *name, *ours[2];
} aliases[] = {
    {"batch_size", {"batch", NULL}},
    {"kernel_size", {"kernel", NULL}},
    {"image_size", {"height", "width"}},
};

/* "SCOPE.NAME=": the parts, and where the values begin. NULL: it is not of this form. */
static const char *split(const char *text, struct assay_preset_set *set)
{
    size_t key = strcspn(text, "="), scope = 0;
    for (size_t i = 0; i < key; i++)
        scope = text[i] == '.' ? i : scope; /* the last dot */
    size_t start = scope ? scope + 1 : 0;
    if (!text[key] || key == start || scope >= sizeof set->scope || key - start >= sizeof set->name)
        return NULL;
    snprintf(set->scope, sizeof set->scope, "%.*s", (int)scope, text);
    snprintf(set->name, sizeof set->name, "%.*s", (int)(key - start), text + start);
    memcpy(set->written, set->name, sizeof set->written);
    return text + key + 1;
}

/* One of the words that stand for a parameter's values, added. */
static enum assay_status add_word(const struct wanted *wanted, const char *word,
                                  struct assay_axis *out, struct assay_error *err)
{
    char known[128] = "";
    int64_t value = assay_preset_case_word(wanted->c, wanted->parameter, word);
    const char *const *words = wanted->c->words[wanted->parameter];
    for (int64_t i = 0; i < out->n; i++)
        if (out->values[i] == value)
            return ASSAY_OK;
    if (value >= 0) {
        out->values[out->n++] = value;
        return ASSAY_OK;
    }
    for (int i = 0; words[i]; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", words[i]);
    }
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "--set %s is one of %s, not \"%.60s\"",
                           wanted->name, known, word);
}

static enum assay_status read_words(const struct wanted *wanted, const char *text,
                                    struct assay_axis *out, struct assay_error *err)
{
    enum { MOST_WORDS = 16 };
    struct assay_strings words = {0};
    enum assay_status status = assay_strings_split(&words, text);
    if (status == ASSAY_ERR_INVALID)
        return assay_error_set(err, status, NULL, "--set %s has no value", wanted->name);
    *out = (struct assay_axis){.values = assay_calloc(MOST_WORDS, sizeof *out->values)};
    if (status != ASSAY_OK || !out->values)
        status = assay_error_nomem(err);
    for (int64_t i = 0; i < words.n && status == ASSAY_OK; i++)
        status = add_word(wanted, words.items[i], out, err);
    assay_strings_fini(&words);
    return status;
}

/* The values of one parameter, `set->name`. */
static enum assay_status read_values(const struct names *names, const char *text,
                                     struct assay_preset_set *set, struct assay_error *err)
{
    char option[64];
    struct wanted wanted = {.name = set->name};
    each_parameter(names, count_wanted, &wanted);
    if (!wanted.found) {
        struct list known = {0};
        each_parameter(names, list_parameter, &known);
        return unknown("parameter", set->written, &known, err);
    }
    if (wanted.c->words[wanted.parameter])
        return read_words(&wanted, text, &set->values, err);
    snprintf(option, sizeof option, "set %s", set->written);
    return assay_axis_parse_from(option, text, wanted.least, &set->values, err);
}

static bool is_parameter(const struct names *names, const char *name)
{
    struct wanted wanted = {.name = name};
    each_parameter(names, count_wanted, &wanted);
    return wanted.found > 0;
}

/* KoBench's name as one or two of ours, where no parameter has it. */
static const char *const *ours_of(const struct names *names, const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(aliases[i].name, name) == 0 && !is_parameter(names, name) &&
            is_parameter(names, aliases[i].ours[0]))
            return aliases[i].ours;
    return NULL;
}

static enum assay_status read_one(const struct assay_strings *texts, int64_t index,
                                  struct names *names, struct assay_preset_sets *out,
                                  struct assay_error *err)
{
    struct assay_preset_set *set = &out->items[out->n++], *second;
    const char *values = split(texts->items[index], set);
    if (!values)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--set takes PARAMETER=VALUES such as seq_len=4096, "
                               "seq_len=1024:8192:x2 or attn.num_heads=8,16, not \"%.100s\"",
                               texts->items[index]);
    set->text = index;
    names->scope = set->scope;
    enum assay_status status = check_scope(names, err);
    if (status != ASSAY_OK)
        return status;
    const char *const *ours = ours_of(names, set->name);
    if (ours)
        snprintf(set->name, sizeof set->name, "%s", ours[0]);
    status = read_values(names, values, set, err);
    if (status != ASSAY_OK || !ours || !ours[1])
        return status;
    second = &out->items[out->n++];
    *second = *set;
    second->values = (struct assay_axis){0};
    snprintf(second->name, sizeof second->name, "%s", ours[1]);
    return read_values(names, values, second, err);
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
        status = read_one(texts, i, &names, out, err);
    return status;
}

void assay_preset_sets_fini(struct assay_preset_sets *sets)
{
    for (int64_t i = 0; i < sets->n; i++)
        assay_axis_fini(&sets->items[i].values);
    sets->n = 0;
}

const struct assay_preset_set *assay_preset_sets_find(const struct assay_preset_sets *sets,
                                                      const struct assay_preset *preset,
                                                      const struct assay_preset_case *c,
                                                      const char *parameter)
{
    for (int64_t i = sets->n - 1; i >= 0; i--)
        if (strcmp(sets->items[i].name, parameter) == 0 &&
            in_scope(sets->items[i].scope, preset, c))
            return &sets->items[i];
    return NULL;
}
