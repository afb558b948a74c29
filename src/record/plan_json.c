/* plan_json.c: plans and jobs as JSON. Reading is strict: these lines come from other processes and
 * from files that people may have touched. */
#include "record/plan.h"

#include "tensor/dtype.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static assay_json *strings_to_json(const struct assay_strings *strings)
{
    assay_json *array = assay_json_array();
    for (int64_t i = 0; i < strings->n; i++)
        assay_json_append(array, assay_json_from_string(strings->items[i]));
    return array;
}

static enum assay_status strings_from_json(const assay_json *json, const char *field,
                                           struct assay_strings *out, struct assay_error *err)
{
    *out = (struct assay_strings){0};
    if (!assay_json_is_array(json))
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"%s\" is not a list", field);
    for (int64_t i = 0; i < assay_json_count(json); i++) {
        const char *text = assay_json_string(assay_json_at(json, i), NULL);
        if (!text)
            return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL,
                                   "\"%s\" holds something that is not text", field);
        if (assay_strings_add(out, text) != ASSAY_OK)
            return assay_error_nomem(err);
    }
    return ASSAY_OK;
}

/* The same for a list that plans made by older programs lack: then it is empty. */
static enum assay_status new_strings_from_json(const assay_json *json, const char *field,
                                               struct assay_strings *out, struct assay_error *err)
{
    *out = (struct assay_strings){0};
    return json ? strings_from_json(json, field, out, err) : ASSAY_OK;
}

static enum assay_status text_from_json(const assay_json *object, const char *field, char *out,
                                        size_t size, struct assay_error *err)
{
    const char *text = assay_json_string(assay_json_get(object, field), NULL);
    if (!text)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"%s\" is missing or not text",
                               field);
    if ((size_t)snprintf(out, size, "%s", text) >= size)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"%s\" is too long", field);
    return ASSAY_OK;
}

/* Text that is written only if it is not empty. */
static enum assay_status spare_text_from_json(const assay_json *object, const char *field,
                                              char *out, size_t size, struct assay_error *err)
{
    return assay_json_get(object, field) ? text_from_json(object, field, out, size, err) : ASSAY_OK;
}

assay_json *assay_settings_to_json(const struct assay_settings *s)
{
    assay_json *o = assay_json_object();
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->seed);
    assay_json_put_string(o, "device", s->device);
    assay_json_put_int(o, "threads", s->threads);
    assay_json_put_bool(o, "hot", s->hot);
    assay_json_put_bool(o, "cold", s->cold);
    assay_json_put_double(o, "precision", s->precision);
    assay_json_put_double(o, "budget_s", s->budget_s);
    if (s->overtime)
        assay_json_put_bool(o, "overtime", true);
    assay_json_put_double(o, "timeout_s", s->timeout_s);
    assay_json_put_int(o, "warmup", s->warmup);
    assay_json_put_int(o, "rounds", s->rounds);
    if (s->within_budget)
        assay_json_put_bool(o, "within_budget", true);
    assay_json_put_string(o, "seed", seed); /* text: 64 bits do not fit every reader's numbers */
    assay_json_put_int(o, "memory_limit", s->memory_limit);
    assay_json_put_bool(o, "energy", s->energy);
    if (s->counters)
        assay_json_put_bool(o, "counters", true);
    assay_json_put_bool(o, "no_ceiling", s->no_ceiling);
    assay_json_put_bool(o, "autotune", s->autotune);
    assay_json_put_bool(o, "sandbox", s->sandbox);
    assay_json_put_string(o, "baseline", s->baseline);
    if (s->python[0])
        assay_json_put_string(o, "python", s->python);
    assay_json_put(o, "implementations", strings_to_json(&s->implementations));
    assay_json_put(o, "kernels", strings_to_json(&s->kernels));
    assay_json_put(o, "plugins", strings_to_json(&s->plugins));
    assay_json_put(o, "recipes", strings_to_json(&s->recipes));
    assay_json_put(o, "models", strings_to_json(&s->models));
    return o;
}

static enum assay_status seed_from_json(const assay_json *json, uint64_t *out,
                                        struct assay_error *err)
{
    const char *text = assay_json_string(json, "");
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"seed\" is not a number in text");
    *out = value;
    return ASSAY_OK;
}

enum { MOST_THREADS = 4096 };

static enum assay_status check_settings(const struct assay_settings *s, struct assay_error *err)
{
    bool sane = s->threads >= 1 && (s->hot || s->cold) && s->precision > 0 && s->precision <= 1 &&
                s->budget_s > 0 && s->timeout_s > 0 && s->warmup >= 0 && s->rounds >= 0 &&
                s->memory_limit >= 0;
    return sane ? ASSAY_OK
                : assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "the settings are out of range");
}

enum assay_status assay_settings_from_json(const assay_json *json, struct assay_settings *out,
                                           struct assay_error *err)
{
    int64_t threads = assay_json_int(assay_json_get(json, "threads"), 0);
    *out = (struct assay_settings){
        .threads = threads >= 1 && threads <= MOST_THREADS ? (int32_t)threads : 0,
        .hot = assay_json_bool(assay_json_get(json, "hot"), false),
        .cold = assay_json_bool(assay_json_get(json, "cold"), false),
        .precision = assay_json_double(assay_json_get(json, "precision"), 0),
        .budget_s = assay_json_double(assay_json_get(json, "budget_s"), 0),
        .overtime = assay_json_bool(assay_json_get(json, "overtime"), false),
        .timeout_s = assay_json_double(assay_json_get(json, "timeout_s"), 0),
        .warmup = assay_json_int(assay_json_get(json, "warmup"), 0),
        .rounds = assay_json_int(assay_json_get(json, "rounds"), 0),
        .within_budget = assay_json_bool(assay_json_get(json, "within_budget"), false),
        .memory_limit = assay_json_int(assay_json_get(json, "memory_limit"), 0),
        .energy = assay_json_bool(assay_json_get(json, "energy"), false),
        .counters = assay_json_bool(assay_json_get(json, "counters"), false),
        .no_ceiling = assay_json_bool(assay_json_get(json, "no_ceiling"), false),
        .autotune = assay_json_bool(assay_json_get(json, "autotune"), false),
        .sandbox = assay_json_bool(assay_json_get(json, "sandbox"), false),
    };
    enum assay_status status = check_settings(out, err);
    if (status == ASSAY_OK)
        status = seed_from_json(assay_json_get(json, "seed"), &out->seed, err);
    if (status == ASSAY_OK)
        status = text_from_json(json, "device", out->device, sizeof out->device, err);
    if (status == ASSAY_OK)
        status = text_from_json(json, "baseline", out->baseline, sizeof out->baseline, err);
    if (status == ASSAY_OK)
        status = spare_text_from_json(json, "python", out->python, sizeof out->python, err);
    if (status == ASSAY_OK)
        status = strings_from_json(assay_json_get(json, "implementations"), "implementations",
                                   &out->implementations, err);
    if (status == ASSAY_OK)
        status = strings_from_json(assay_json_get(json, "kernels"), "kernels", &out->kernels, err);
    if (status == ASSAY_OK)
        status = strings_from_json(assay_json_get(json, "plugins"), "plugins", &out->plugins, err);
    if (status == ASSAY_OK)
        status =
            new_strings_from_json(assay_json_get(json, "recipes"), "recipes", &out->recipes, err);
    if (status == ASSAY_OK)
        status = new_strings_from_json(assay_json_get(json, "models"), "models", &out->models, err);
    return status;
}

/* The texts of a group that may be empty, and are then left out. */
#define GROUP_TEXT(member)                                                                         \
    {                                                                                              \
#member, offsetof(struct assay_group, member), sizeof(((struct assay_group *)0)->member)   \
    }
static const struct {
    const char *key;
    size_t offset, size;
} group_texts[] = {
    GROUP_TEXT(mode),    GROUP_TEXT(label),    GROUP_TEXT(device),    GROUP_TEXT(entry),
    GROUP_TEXT(compile), GROUP_TEXT(baseline), GROUP_TEXT(profilers),
};

assay_json *assay_group_to_json(const struct assay_group *group)
{
    assay_json *o = assay_json_object(), *axes = assay_json_array();
    for (int32_t i = 0; i < group->n_axes; i++)
        assay_json_append(axes, assay_json_from_int(group->axes[i]));
    assay_json_put_string(o, "op", group->op);
    assay_json_put_string(o, "dtype", assay_dtype_name(group->dtype));
    assay_json_put(o, "axes", axes);
    for (size_t i = 0; i < sizeof group_texts / sizeof group_texts[0]; i++) {
        const char *text = (const char *)group + group_texts[i].offset;
        if (text[0])
            assay_json_put_string(o, group_texts[i].key, text);
    }
    if (group->over_limit)
        assay_json_put_bool(o, "over_limit", true);
    if (group->macs > 0)
        assay_json_put_double(o, "macs", group->macs);
    if (group->counted_flops > 0)
        assay_json_put_double(o, "counted_flops", group->counted_flops);
    return o;
}

enum assay_status assay_group_from_json(const assay_json *json, struct assay_group *out,
                                        struct assay_error *err)
{
    *out = (struct assay_group){0};
    enum assay_status status = text_from_json(json, "op", out->op, sizeof out->op, err);
    for (size_t i = 0; i < sizeof group_texts / sizeof group_texts[0] && status == ASSAY_OK; i++)
        status = spare_text_from_json(json, group_texts[i].key, (char *)out + group_texts[i].offset,
                                      group_texts[i].size, err);
    if (status != ASSAY_OK)
        return status;
    const assay_json *axes = assay_json_get(json, "axes");
    int64_t n = assay_json_count(axes);
    const char *dtype = assay_json_string(assay_json_get(json, "dtype"), "");
    bool own = strcmp(dtype, assay_dtype_name(ASSAY_DTYPE_NONE)) == 0; /* a workload's */
    if (n < (own ? 0 : 1) || n > ASSAY_MAX_AXES)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"axes\" is not a list of sizes");
    for (int64_t i = 0; i < n; i++) {
        out->axes[i] = assay_json_int(assay_json_at(axes, i), -1);
        if (out->axes[i] < 0) /* which may be 0 is for the op to say */
            return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"axes\" holds a size below 0");
    }
    out->n_axes = (int32_t)n;
    out->over_limit = assay_json_bool(assay_json_get(json, "over_limit"), false);
    out->macs = assay_json_double(assay_json_get(json, "macs"), 0);
    out->counted_flops = assay_json_double(assay_json_get(json, "counted_flops"), 0);
    return own ? ASSAY_OK : assay_dtype_parse(dtype, &out->dtype, err);
}

assay_json *assay_plan_to_json(const struct assay_plan *plan)
{
    assay_json *o = assay_json_object(), *groups = assay_json_array();
    for (int64_t i = 0; i < plan->n_groups; i++)
        assay_json_append(groups, assay_group_to_json(&plan->groups[i]));
    assay_json_put(o, "settings", assay_settings_to_json(&plan->settings));
    assay_json_put_int(o, "max_elements", plan->max_elements);
    assay_json_put(o, "groups", groups);
    return o;
}

enum assay_status assay_plan_from_json(const assay_json *json, struct assay_plan *out,
                                       struct assay_error *err)
{
    *out = (struct assay_plan){0};
    enum assay_status status =
        assay_settings_from_json(assay_json_get(json, "settings"), &out->settings, err);
    out->max_elements = assay_json_int(assay_json_get(json, "max_elements"), 0);
    const assay_json *groups = assay_json_get(json, "groups");
    if (status == ASSAY_OK && !assay_json_is_array(groups))
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "\"groups\" is not a list");
    for (int64_t i = 0; i < assay_json_count(groups) && status == ASSAY_OK; i++) {
        struct assay_group group;
        status = assay_group_from_json(assay_json_at(groups, i), &group, err);
        if (status == ASSAY_OK && assay_plan_add(out, &group) != ASSAY_OK)
            status = assay_error_nomem(err);
    }
    if (status != ASSAY_OK)
        assay_plan_fini(out);
    return status;
}

assay_json *assay_job_to_json(const struct assay_job *job)
{
    assay_json *o = assay_json_object();
    assay_json_put_int(o, "assay_job", ASSAY_JOB_VERSION);
    assay_json_put_int(o, "index", job->group_index);
    assay_json_put(o, "group", assay_group_to_json(&job->group));
    assay_json_put(o, "settings", assay_settings_to_json(&job->settings));
    assay_json_put(o, "exclude", strings_to_json(&job->exclude));
    if (job->profile)
        assay_json_put_bool(o, "profile", true);
    if (job->profile_memory)
        assay_json_put_bool(o, "profile_memory", true);
    return o;
}

enum assay_status assay_job_from_json(const assay_json *json, struct assay_job *out,
                                      struct assay_error *err)
{
    *out = (struct assay_job){0};
    int64_t version = assay_json_int(assay_json_get(json, "assay_job"), 0);
    if (version != ASSAY_JOB_VERSION)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL,
                               "not a job of version %d (it says %lld)", ASSAY_JOB_VERSION,
                               (long long)version);
    out->group_index = assay_json_int(assay_json_get(json, "index"), 0);
    out->profile = assay_json_bool(assay_json_get(json, "profile"), false);
    out->profile_memory = assay_json_bool(assay_json_get(json, "profile_memory"), false);
    enum assay_status status =
        assay_group_from_json(assay_json_get(json, "group"), &out->group, err);
    if (status == ASSAY_OK)
        status = assay_settings_from_json(assay_json_get(json, "settings"), &out->settings, err);
    if (status == ASSAY_OK)
        status = strings_from_json(assay_json_get(json, "exclude"), "exclude", &out->exclude, err);
    if (status != ASSAY_OK)
        assay_job_fini(out);
    return status;
}
