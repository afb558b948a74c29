/* quant_registry.c: the registry of recipes, their names, and the functions that serve any of them.
 */
#include "quant/quant_recipe.h"

#include "base/suggest.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define ASSAY_QUANT(n) extern const struct assay_quant assay_quant_##n;
#include "quant/quant_list.h"
#undef ASSAY_QUANT

static const struct assay_quant *const recipes[] = {
#define ASSAY_QUANT(n) &assay_quant_##n,
#include "quant/quant_list.h"
#undef ASSAY_QUANT
};

int64_t assay_quant_count(void) { return (int64_t)(sizeof recipes / sizeof recipes[0]); }

const struct assay_quant *assay_quant_at(int64_t index) { return recipes[index]; }

/* ---- names ---------------------------------------------------------------------------------- */

static const int32_t group_choices[] = {32, 64, 128, 256};
static const int32_t bit_choices[] = {4, 8};
enum {
    GROUPS = sizeof group_choices / sizeof group_choices[0],
    BITS = sizeof bit_choices / sizeof bit_choices[0],
    NAME_MAX_LENGTH = ASSAY_RECIPE_NAME - 1
};

/* Which of the choices does the text start with? Past it on success. */
static const char *match_number(const char *text, const int32_t *choices, int n, int32_t *out)
{
    for (int i = 0; i < n; i++) {
        char number[16];
        int length = snprintf(number, sizeof number, "%d", choices[i]);
        if (strncmp(text, number, (size_t)length) == 0 && !isdigit((unsigned char)text[length])) {
            if (out)
                *out = choices[i];
            return text + length;
        }
    }
    return NULL;
}

bool assay_recipe_match(const char *pattern, const char *name, int32_t *bits, int32_t *group)
{
    for (; *pattern; pattern++) {
        if (*pattern == 'G')
            name = match_number(name, group_choices, GROUPS, group);
        else if (*pattern == 'B')
            name = match_number(name, bit_choices, BITS, bits);
        else
            name = *name == *pattern ? name + 1 : NULL;
        if (!name)
            return false;
    }
    return *name == '\0';
}

static bool read_name(const char *name, struct assay_recipe *out)
{
    for (int64_t i = 0; i < assay_quant_count(); i++) {
        *out = (struct assay_recipe){0};
        if (recipes[i]->parse(name, out)) {
            out->quant = recipes[i];
            snprintf(out->name, sizeof out->name, "%s", name);
            return true;
        }
    }
    *out = (struct assay_recipe){0};
    return false;
}

typedef char recipe_name[NAME_MAX_LENGTH + 1];

/* The pattern with numbers for its letters; without numbers where they are 0: "int4wo-G-hqq" to
 * "int4wo-hqq". */
static void fill_pattern(const char *pattern, int32_t bits, int32_t group, recipe_name out)
{
    size_t used = 0;
    for (; *pattern && used < NAME_MAX_LENGTH; pattern++) {
        int32_t number = *pattern == 'G' ? group : *pattern == 'B' ? bits : -1;
        if (number > 0)
            used += (size_t)snprintf(out + used, NAME_MAX_LENGTH + 1 - used, "%d", number);
        else if (number < 0)
            out[used++] = *pattern;
        else if (used)
            used--; /* the hyphen before it */
    }
    out[used < NAME_MAX_LENGTH ? used : NAME_MAX_LENGTH] = '\0';
}

/* Every name there is, by filling in the patterns; as many as fit. */
static int64_t all_names(recipe_name *names, int64_t max)
{
    int64_t n = 0;
    for (int64_t i = 0; i < assay_quant_count(); i++) {
        const char *pattern = recipes[i]->pattern;
        int bits = strchr(pattern, 'B') ? BITS : 1, groups = strchr(pattern, 'G') ? GROUPS : 1;
        for (int b = 0; b < bits; b++)
            for (int g = 0; g < groups && n < max; g++)
                fill_pattern(pattern, bit_choices[b], group_choices[g], names[n++]);
    }
    return n;
}

/* The name with the number at `at` (of `length` digits) replaced by a group, if that is a recipe.
 */
static bool with_group(const char *name, const char *at, size_t length, int32_t group,
                       struct assay_recipe *out)
{
    char text[2 * NAME_MAX_LENGTH];
    snprintf(text, sizeof text, "%.*s%d%s", (int)(at - name), name, group, at + length);
    return strlen(text) <= NAME_MAX_LENGTH && read_name(text, out);
}

/* A recipe but for its group: the one with the nearest group there is, of two the larger. */
static bool nearest_group(const char *name, struct assay_recipe *out)
{
    bool found = false;
    for (const char *at = strchr(name, '-'); at; at = strchr(at + 1, '-')) {
        size_t length = strspn(at + 1, "0123456789");
        long long asked = strtoll(at + 1, NULL, 10),
                  best = INT64_MAX; /* the largest, if too large */
        for (int i = 0; i < GROUPS && length; i++) {
            struct assay_recipe recipe;
            long long distance = llabs(group_choices[i] - asked);
            if (distance <= best && with_group(name, at + 1, length, group_choices[i], &recipe)) {
                best = distance;
                *out = recipe;
                found = true;
            }
        }
    }
    return found;
}

/* "int4wo" and "int4wo-hqq": names that only lack their numbers. */
static const struct assay_quant *lacks_numbers(const char *name)
{
    for (int64_t i = 0; i < assay_quant_count(); i++) {
        recipe_name bare;
        fill_pattern(recipes[i]->pattern, 0, 0, bare);
        if (strcmp(bare, name) == 0)
            return recipes[i];
    }
    return NULL;
}

static enum assay_status unknown_recipe(const char *name, const char *lower,
                                        struct assay_error *err)
{
    struct assay_recipe near;
    if (nearest_group(lower, &near))
        return assay_error_set(
            err, ASSAY_ERR_INVALID, NULL,
            "unknown recipe \"%s\": groups are 32, 64, 128 or 256; did you mean \"%s\"?", name,
            near.name);
    const struct assay_quant *quant = lacks_numbers(lower);
    if (quant)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "unknown recipe \"%s\": it is written %s; did you mean \"%s\"?",
                               name, quant->pattern, quant->usual);
    recipe_name names[128];
    const char *candidates[128];
    int64_t n = all_names(names, 128);
    for (int64_t i = 0; i < n; i++)
        candidates[i] = names[i];
    char rest[160];
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown recipe \"%s\"; %s", name,
                           assay_suggest_text(ASSAY_TOPIC_RECIPE, lower, candidates, n,
                                              "`assay list recipes` shows them all", rest,
                                              sizeof rest));
}

/* TorchAO's users know the recipes of training by the words behind "float8-". */
bool assay_recipe_alias(int64_t index, const char **alias, const char **name)
{
    static const char *const names[][2] = {{"float8dq", "float8dq-tensor"},
                                           {"float8-tensorwise", "float8dq-tensor"},
                                           {"float8-rowwise", "float8dq-row"},
                                           {"float8-rowwise-gw-hp", "float8dq-row-gw-hp"}};
    if (index >= (int64_t)(sizeof names / sizeof names[0]))
        return false;
    *alias = names[index][0];
    *name = names[index][1];
    return true;
}

/* The name in lower case, with the usual word for what has two. False where it is too long for any.
 */
static bool tidy_name(const char *name, recipe_name out)
{
    size_t length = strlen(name);
    if (length > NAME_MAX_LENGTH)
        return false;
    for (size_t i = 0; i <= length; i++)
        out[i] = (char)tolower((unsigned char)name[i]);
    const char *alias, *stands_for;
    for (int64_t i = 0; assay_recipe_alias(i, &alias, &stands_for); i++)
        if (strcmp(out, alias) == 0)
            snprintf(out, sizeof(recipe_name), "%s", stands_for);
    return true;
}

/* "int8dq+semi-sparse": known by its parts. */
static enum assay_status parse_sparse(const char *name, size_t plus, struct assay_recipe *out,
                                      struct assay_error *err)
{
    recipe_name dense;
    struct assay_error why = {0};
    const char *sparsity = assay_sparsity_name(name + plus + 1);
    snprintf(dense, sizeof dense, "%.*s", (int)plus, name);
    enum assay_status status = assay_recipe_parse(dense, out, &why);
    if (status == ASSAY_ERR_INVALID || !sparsity)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "%s",
                               sparsity ? why.message : "sparsity is semi-sparse or block");
    snprintf(dense, sizeof dense, "%.40s", out->name);
    *out = (struct assay_recipe){0};
    snprintf(out->name, sizeof out->name, "%.40s+%.20s", dense, sparsity);
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "assay has no sparse weights (%s) yet",
                           sparsity);
}

enum assay_status assay_recipe_parse(const char *name, struct assay_recipe *out,
                                     struct assay_error *err)
{
    recipe_name lower;
    name = name ? name : "baseline";
    const char *plus = strchr(name, '+'), *sparsity = assay_sparsity_name(name);
    *out = (struct assay_recipe){0};
    if (sparsity)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "sparsity \"%s\" is not supported yet",
                               sparsity);
    if (!tidy_name(name, lower))
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "unknown recipe \"%.60s...\"", name);
    if (plus)
        return parse_sparse(lower, (size_t)(plus - name), out, err);
    if (read_name(lower, out))
        return ASSAY_OK;
    const char *what = assay_recipe_elsewhere(lower);
    if (!what)
        return unknown_recipe(name, lower, err);
    snprintf(out->name, sizeof out->name, "%s", lower);
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "assay does not have %s yet: %s", lower,
                           what);
}

/* ---- what fits, and how large it is --------------------------------------------------------- */

/* The recipe with the nearest smaller group that divides k, or else the smallest larger. */
static bool fitting_group(const struct assay_recipe *recipe, int64_t k, struct assay_recipe *out)
{
    char number[16];
    snprintf(number, sizeof number, "-%d", recipe->group);
    const char *at = strstr(recipe->name, number);
    for (int pass = 0; at && pass < 2; pass++)
        for (int i = 0; i < GROUPS; i++) {
            int32_t group = group_choices[pass ? i : GROUPS - 1 - i];
            if (k % group == 0 && (pass ? group > recipe->group : group < recipe->group) &&
                with_group(recipe->name, at + 1, strlen(number) - 1, group, out))
                return true;
        }
    return false;
}

enum assay_status assay_recipe_fits(const struct assay_recipe *recipe, enum assay_dtype dtype,
                                    int64_t k, struct assay_error *why)
{
    bool plain = recipe->code == ASSAY_DTYPE_NONE;
    if (recipe->quant && recipe->quant->only_trains)
        return assay_error_set(why, ASSAY_UNSUPPORTED, recipe->name,
                               "it is for training: linear_training and linear_backward, which "
                               "--pass both measures");
    if (dtype == ASSAY_DTYPE_S8 && !plain)
        return assay_error_set(why, ASSAY_UNSUPPORTED, recipe->name,
                               "s8 weights are integers already; baseline takes them as they are");
    if (dtype != ASSAY_DTYPE_F32 && dtype != ASSAY_DTYPE_F16 && dtype != ASSAY_DTYPE_BF16 &&
        dtype != ASSAY_DTYPE_S8)
        return assay_error_set(why, ASSAY_UNSUPPORTED, recipe->name,
                               "weights are f32, f16, bf16 or s8, not %s", assay_dtype_name(dtype));
    if (recipe->group == 0 || k % recipe->group == 0)
        return ASSAY_OK;
    struct assay_recipe other;
    if (fitting_group(recipe, k, &other))
        return assay_error_set(why, ASSAY_UNSUPPORTED, recipe->name,
                               "group %d does not divide k = %lld; %s does", recipe->group,
                               (long long)k, other.name);
    return assay_error_set(why, ASSAY_UNSUPPORTED, recipe->name,
                           "group %d does not divide k = %lld, and no other does; int8wo has no "
                           "groups",
                           recipe->group, (long long)k);
}

double assay_recipe_bytes(const struct assay_recipe *recipe, enum assay_dtype dtype, int64_t n,
                          int64_t k)
{
    const struct assay_dtype_info *info = assay_dtype_info(recipe->code ? recipe->code : dtype);
    double rows = (double)n, length = (double)k;
    double bytes = rows * length * (double)(info ? info->bits : 0) / 8;
    switch (recipe->scope) {
    case ASSAY_SCOPE_TENSOR:
        return bytes + sizeof(float);
    case ASSAY_SCOPE_ROW:
        return bytes + rows * sizeof(float);
    case ASSAY_SCOPE_GROUP: /* a scale and a zero */
        return bytes + rows * (length / recipe->group) * 2 * (double)assay_dtype_bytes(dtype);
    case ASSAY_SCOPE_NONE:
    case ASSAY_SCOPE_COLUMN: /* of no stored weights */
        break;
    }
    return bytes;
}
