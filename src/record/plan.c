#include "record/plan.h"

#include "base/alloc.h"

#include <string.h>

enum assay_status assay_strings_add(struct assay_strings *strings, const char *text)
{
    char **items = assay_realloc(strings->items, (size_t)strings->n + 2, sizeof *items);
    if (!items)
        return ASSAY_ERR_NOMEM;
    strings->items = items;
    items[strings->n + 1] = NULL;
    items[strings->n] = assay_strdup(text);
    if (!items[strings->n])
        return ASSAY_ERR_NOMEM;
    strings->n++;
    return ASSAY_OK;
}

enum assay_status assay_strings_split(struct assay_strings *strings, const char *list)
{
    for (;;) {
        char item[256];
        size_t length = strcspn(list, ",");
        if (length == 0 || length >= sizeof item)
            return ASSAY_ERR_INVALID;
        memcpy(item, list, length);
        item[length] = '\0';
        enum assay_status status = assay_strings_add(strings, item);
        if (status != ASSAY_OK || !list[length])
            return status;
        list += length + 1;
    }
}

enum assay_status assay_strings_copy(const struct assay_strings *from, struct assay_strings *to)
{
    *to = (struct assay_strings){0};
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < from->n && status == ASSAY_OK; i++)
        status = assay_strings_add(to, from->items[i]);
    return status;
}

bool assay_strings_have(const struct assay_strings *strings, const char *text)
{
    for (int64_t i = 0; i < strings->n; i++)
        if (assay_text_same(strings->items[i], text))
            return true;
    return false;
}

void assay_strings_fini(struct assay_strings *strings)
{
    for (int64_t i = 0; i < strings->n; i++)
        assay_free(strings->items[i]);
    assay_free(strings->items);
    *strings = (struct assay_strings){0};
}

enum assay_status assay_settings_copy(const struct assay_settings *from, struct assay_settings *to)
{
    *to = *from;
    to->implementations = to->kernels = to->plugins = to->recipes = to->models =
        (struct assay_strings){0};
    enum assay_status status = assay_strings_copy(&from->implementations, &to->implementations);
    if (status == ASSAY_OK)
        status = assay_strings_copy(&from->kernels, &to->kernels);
    if (status == ASSAY_OK)
        status = assay_strings_copy(&from->plugins, &to->plugins);
    if (status == ASSAY_OK)
        status = assay_strings_copy(&from->recipes, &to->recipes);
    if (status == ASSAY_OK)
        status = assay_strings_copy(&from->models, &to->models);
    return status;
}

void assay_settings_fini(struct assay_settings *settings)
{
    assay_strings_fini(&settings->implementations);
    assay_strings_fini(&settings->kernels);
    assay_strings_fini(&settings->plugins);
    assay_strings_fini(&settings->recipes);
    assay_strings_fini(&settings->models);
}

enum assay_status assay_plan_add(struct assay_plan *plan, const struct assay_group *group)
{
    if (plan->n_groups == plan->capacity) {
        int64_t capacity = plan->capacity ? plan->capacity * 2 : 16;
        struct assay_group *groups = assay_realloc(plan->groups, (size_t)capacity, sizeof *groups);
        if (!groups)
            return ASSAY_ERR_NOMEM;
        plan->groups = groups;
        plan->capacity = capacity;
    }
    plan->groups[plan->n_groups++] = *group;
    return ASSAY_OK;
}

void assay_plan_fini(struct assay_plan *plan)
{
    assay_settings_fini(&plan->settings);
    assay_free(plan->groups);
    *plan = (struct assay_plan){0};
}

void assay_job_fini(struct assay_job *job)
{
    assay_settings_fini(&job->settings);
    assay_strings_fini(&job->exclude);
}
