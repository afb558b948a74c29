/* record_json.c: records and run infos as JSON objects, and back.
 *
 * The tables of record_fields.c say which member goes under which key; one pair of loops writes and
 * reads them, so the two directions cannot drift apart.
 *
 * What is not there is null: a cache state that was not measured, a ratio that was not taken. Their
 * members then read back as zeros. NaN and infinities are null too and read back as NaN, except
 * where infinite is a value (LEVEL). Keys that no row names are passed over, so that an older
 * program can read a newer record; keys that older programs did not write are optional. */
#include "record/record.h"

#include "record/record_fields.h"
#include "tensor/dtype.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ------------------------------------------------------------------------------ */

static assay_json *fields_to_json(const struct assay_field *fields, const void *base);

static assay_json *range_to_json(const struct assay_interval *range)
{
    assay_json *pair = assay_json_array();
    assay_json_append(pair, assay_json_from_double(range->lo));
    assay_json_append(pair, assay_json_from_double(range->hi));
    return pair;
}

static assay_json *seed_to_json(uint64_t seed)
{
    if (seed <= INT64_MAX)
        return assay_json_from_int((int64_t)seed);
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)seed);
    return assay_json_from_string(digits);
}

static assay_json *level_to_json(double level)
{
    return isinf(level) && level > 0 ? assay_json_from_string("inf")
                                     : assay_json_from_double(level);
}

static assay_json *part_to_json(const struct assay_field *field, const char *base)
{
    if (field->flag != ASSAY_FIELD_ALWAYS && !*(const bool *)(base + field->flag))
        return assay_json_from_double((double)NAN); /* null */
    return fields_to_json(field->part, base + field->offset);
}

static assay_json *value_to_json(const struct assay_field *field, const char *base)
{
    const void *value = base + field->offset;
    switch (field->kind) {
    case ASSAY_FIELD_TEXT:
        return assay_json_from_string(value);
    case ASSAY_FIELD_INT32:
        return assay_json_from_int(*(const int32_t *)value);
    case ASSAY_FIELD_INT64:
        return assay_json_from_int(*(const int64_t *)value);
    case ASSAY_FIELD_SEED:
        return seed_to_json(*(const uint64_t *)value);
    case ASSAY_FIELD_REAL:
        return assay_json_from_double(*(const double *)value);
    case ASSAY_FIELD_LEVEL:
        return level_to_json(*(const double *)value);
    case ASSAY_FIELD_FLAG:
        return assay_json_from_bool(*(const bool *)value);
    case ASSAY_FIELD_DTYPE:
        return assay_json_from_string(assay_dtype_name(*(const enum assay_dtype *)value));
    case ASSAY_FIELD_OUTCOME:
        return assay_json_from_string(assay_outcome_name(*(const enum assay_outcome *)value));
    case ASSAY_FIELD_RANGE:
        return range_to_json(value);
    case ASSAY_FIELD_PART:
        return part_to_json(field, base);
    case ASSAY_FIELD_SAMPLES:
        return assay_samples_to_json(value);
    case ASSAY_FIELD_AXES:
    case ASSAY_FIELD_NAMES:
        break;
    }
    return NULL;
}

/* JSON objects have no order that all tools keep, and axes do: hence the second key. */
static void axes_to_json(const struct assay_record *record, assay_json *object)
{
    assay_json *axes = assay_json_object(), *order = assay_json_array();
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++) {
        assay_json_put_int(axes, record->axis_names[i], record->axes[i]);
        assay_json_append(order, assay_json_from_string(record->axis_names[i]));
    }
    assay_json_put(object, "axes", axes);
    assay_json_put(object, "axis_order", order);
}

static void names_to_json(const struct assay_graph_audit *graph, assay_json *object)
{
    assay_json *names = assay_json_array();
    for (int32_t i = 0; i < graph->n_names && i < ASSAY_GRAPH_NAMES; i++)
        assay_json_append(names, assay_json_from_string(graph->names[i]));
    assay_json_put(object, "names", names);
}

static bool is_empty(const struct assay_field *field, const char *base)
{
    if (field->kind == ASSAY_FIELD_PART)
        return !*(const bool *)(base + field->flag);
    if (field->kind == ASSAY_FIELD_SAMPLES)
        return ((const struct assay_samples *)(const void *)(base + field->offset))->n == 0;
    if (field->kind == ASSAY_FIELD_REAL || field->kind == ASSAY_FIELD_LEVEL)
        return isnan(*(const double *)(const void *)(base + field->offset));
    return base[field->offset] == '\0';
}

static assay_json *fields_to_json(const struct assay_field *fields, const void *base)
{
    assay_json *object = assay_json_object();
    for (const struct assay_field *field = fields; field->key; field++) {
        if (field->kind == ASSAY_FIELD_AXES)
            axes_to_json(base, object);
        else if (field->kind == ASSAY_FIELD_NAMES)
            names_to_json(base, object);
        else if (field->need != ASSAY_FIELD_SPARE || !is_empty(field, base))
            assay_json_put(object, field->key, value_to_json(field, base));
    }
    return object;
}

assay_json *assay_record_to_json(const struct assay_record *record)
{
    return fields_to_json(assay_record_fields, record);
}

assay_json *assay_run_info_to_json(const struct assay_run_info *info)
{
    return fields_to_json(assay_run_info_fields, info);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Where the reader stands: "hot.ratio." before the key. */
struct place {
    const char *path;
    struct assay_error *err;
};

static enum assay_status fields_from_json(const struct assay_field *fields,
                                          const assay_json *object, void *base,
                                          const struct place *at);

static enum assay_status wrong(const struct place *at, const char *key, const char *what)
{
    return assay_error_set(at->err, ASSAY_ERR_CORRUPT, "record", "field \"%s%s\" %s", at->path, key,
                           what);
}

/* The getters give a default for a wrong type; two different defaults tell it from a value. */
static bool get_int(const assay_json *value, int64_t *out)
{
    *out = assay_json_int(value, 0);
    return *out == assay_json_int(value, 1);
}

static bool get_real(const assay_json *value, double *out)
{
    *out = assay_json_double(value, 0);
    double other = assay_json_double(value, 1);
    return *out == other || (isnan(*out) && isnan(other));
}

static bool get_flag(const assay_json *value, bool *out)
{
    *out = assay_json_bool(value, false);
    return *out == assay_json_bool(value, true);
}

static bool is_null(const assay_json *value) { return isnan(assay_json_double(value, 0)); }

static const char *text_from_json(const assay_json *value, char *out, size_t size)
{
    const char *text = assay_json_string(value, NULL);
    if (!text)
        return "is not a string";
    size_t length = strlen(text);
    if (length >= size)
        return "is longer than assay can hold";
    memcpy(out, text, length + 1);
    return NULL;
}

static const char *int32_from_json(const assay_json *value, int32_t *out)
{
    int64_t wide;
    if (!get_int(value, &wide) || wide < INT32_MIN || wide > INT32_MAX)
        return "is not a 32-bit integer";
    *out = (int32_t)wide;
    return NULL;
}

static const char *seed_from_json(const assay_json *value, uint64_t *out)
{
    int64_t small;
    if (get_int(value, &small) && small >= 0) {
        *out = (uint64_t)small;
        return NULL;
    }
    const char *digits = assay_json_string(value, "");
    char *end = NULL;
    errno = 0;
    *out = strtoull(digits, &end, 10);
    if (!isdigit((unsigned char)digits[0]) || *end || errno)
        return "is not an unsigned 64-bit integer";
    return NULL;
}

static const char *level_from_json(const assay_json *value, double *out)
{
    if (strcmp(assay_json_string(value, ""), "inf") == 0)
        *out = (double)INFINITY;
    else if (!get_real(value, out))
        return "is not a number or \"inf\"";
    return NULL;
}

static const char *dtype_from_json(const assay_json *value, enum assay_dtype *out)
{
    const char *name = assay_json_string(value, "");
    for (int i = ASSAY_DTYPE_NONE; i < ASSAY_DTYPE_COUNT; i++)
        if (strcmp(assay_dtype_name((enum assay_dtype)i), name) == 0) {
            *out = (enum assay_dtype)i;
            return NULL;
        }
    return "is not a dtype";
}

static const char *outcome_from_json(const assay_json *value, enum assay_outcome *out)
{
    enum assay_outcome outcome = assay_outcome_parse(assay_json_string(value, ""));
    if (outcome == ASSAY_OUTCOME_COUNT)
        return "is not a status";
    *out = outcome;
    return NULL;
}

static const char *range_from_json(const assay_json *value, struct assay_interval *out)
{
    if (!assay_json_is_array(value) || assay_json_count(value) != 2 ||
        !get_real(assay_json_at(value, 0), &out->lo) ||
        !get_real(assay_json_at(value, 1), &out->hi))
        return "is not a pair of numbers";
    return NULL;
}

/* Reads one plain value; what is wrong with it, or NULL. */
static const char *value_from_json(const struct assay_field *field, const assay_json *json,
                                   void *value)
{
    switch (field->kind) {
    case ASSAY_FIELD_TEXT:
        return text_from_json(json, value, field->size);
    case ASSAY_FIELD_INT32:
        return int32_from_json(json, value);
    case ASSAY_FIELD_INT64:
        return get_int(json, value) ? NULL : "is not an integer";
    case ASSAY_FIELD_SEED:
        return seed_from_json(json, value);
    case ASSAY_FIELD_REAL:
        return get_real(json, value) ? NULL : "is not a number";
    case ASSAY_FIELD_LEVEL:
        return level_from_json(json, value);
    case ASSAY_FIELD_FLAG:
        return get_flag(json, value) ? NULL : "is not true or false";
    case ASSAY_FIELD_DTYPE:
        return dtype_from_json(json, value);
    case ASSAY_FIELD_OUTCOME:
        return outcome_from_json(json, value);
    case ASSAY_FIELD_RANGE:
        return range_from_json(json, value);
    case ASSAY_FIELD_PART:
    case ASSAY_FIELD_AXES:
    case ASSAY_FIELD_NAMES:
    case ASSAY_FIELD_SAMPLES:
        break;
    }
    return "is of no known kind";
}

static enum assay_status part_from_json(const struct assay_field *field, const assay_json *json,
                                        char *base, const struct place *at)
{
    if (field->flag != ASSAY_FIELD_ALWAYS && is_null(json))
        return ASSAY_OK;
    if (!assay_json_is_object(json))
        return wrong(at, field->key, "is not an object");
    char path[64];
    snprintf(path, sizeof path, "%s%s.", at->path, field->key);
    if (field->flag != ASSAY_FIELD_ALWAYS)
        *(bool *)(base + field->flag) = true;
    return fields_from_json(field->part, json, base + field->offset,
                            &(struct place){.path = path, .err = at->err});
}

static enum assay_status axes_from_json(const assay_json *object, struct assay_record *out,
                                        const struct place *at)
{
    const assay_json *axes = assay_json_get(object, "axes");
    const assay_json *order = assay_json_get(object, "axis_order");
    if (!assay_json_is_object(axes))
        return wrong(at, "axes", "is not an object");
    if (!assay_json_is_array(order) || assay_json_count(order) > ASSAY_MAX_AXES)
        return wrong(at, "axis_order", "is not a short array of names");
    out->n_axes = (int32_t)assay_json_count(order);
    for (int32_t i = 0; i < out->n_axes; i++) {
        char *name = out->axis_names[i];
        if (text_from_json(assay_json_at(order, i), name, sizeof out->axis_names[i]))
            return wrong(at, "axis_order", "holds something that is not a short name");
        if (!get_int(assay_json_get(axes, name), &out->axes[i]))
            return wrong(at, "axes", "lacks an axis of axis_order, or it is not an integer");
    }
    return ASSAY_OK;
}

static enum assay_status names_from_json(const assay_json *names, struct assay_graph_audit *out,
                                         const struct place *at)
{
    if (!assay_json_is_array(names) || assay_json_count(names) > ASSAY_GRAPH_NAMES)
        return wrong(at, "names", "is not a short array of names");
    out->n_names = (int32_t)assay_json_count(names);
    for (int32_t i = 0; i < out->n_names; i++)
        if (text_from_json(assay_json_at(names, i), out->names[i], ASSAY_GRAPH_NAME))
            return wrong(at, "names", "holds something that is not a short name");
    return ASSAY_OK;
}

static enum assay_status samples_from_json(const char *key, const assay_json *json, void *out,
                                           const struct place *at)
{
    char place[64], whole[96];
    const char *problem = assay_samples_from_json(json, out, place, sizeof place);
    snprintf(whole, sizeof whole, "%s%s", key, place);
    return problem ? wrong(at, whole, problem) : ASSAY_OK;
}

static enum assay_status field_from_json(const struct assay_field *field, const assay_json *object,
                                         char *base, const struct place *at)
{
    const assay_json *json = assay_json_get(object, field->key);
    if (!json)
        return field->need != ASSAY_FIELD_ESSENTIAL ? ASSAY_OK
                                                    : wrong(at, field->key, "is missing");
    if (field->kind == ASSAY_FIELD_PART)
        return part_from_json(field, json, base, at);
    if (field->kind == ASSAY_FIELD_AXES)
        return axes_from_json(object, (struct assay_record *)(void *)base, at);
    if (field->kind == ASSAY_FIELD_NAMES)
        return names_from_json(json, (struct assay_graph_audit *)(void *)base, at);
    if (field->kind == ASSAY_FIELD_SAMPLES)
        return samples_from_json(field->key, json, base + field->offset, at);
    const char *problem = value_from_json(field, json, base + field->offset);
    return problem ? wrong(at, field->key, problem) : ASSAY_OK;
}

static enum assay_status fields_from_json(const struct assay_field *fields,
                                          const assay_json *object, void *base,
                                          const struct place *at)
{
    enum assay_status status = ASSAY_OK;
    for (const struct assay_field *field = fields; field->key && status == ASSAY_OK; field++)
        status = field_from_json(field, object, base, at);
    return status;
}

void assay_record_clear(struct assay_record *record)
{
    memset(record, 0, sizeof *record);
    record->accuracy_db = record->activation_share = record->energy_j = (double)NAN;
    record->macs = record->counted_flops = (double)NAN;
    record->idle_bytes = record->peak_bytes = record->workspace_bytes = (double)NAN;
    record->system_peak_bytes = record->saved_bytes = record->planned_bytes = (double)NAN;
    record->more_accuracy_db[0] = record->more_accuracy_db[1] = (double)NAN;
}

enum assay_status assay_record_from_json(const assay_json *json, struct assay_record *out,
                                         struct assay_error *err)
{
    assay_record_clear(out);
    if (!assay_json_is_object(json))
        return assay_error_set(err, ASSAY_ERR_CORRUPT, "record", "not a JSON object");
    return fields_from_json(assay_record_fields, json, out,
                            &(struct place){.path = "", .err = err});
}

/* A run's description is for people: what cannot be read is left empty. */
void assay_run_info_from_json(const assay_json *json, struct assay_run_info *out)
{
    memset(out, 0, sizeof *out);
    struct place at = {.path = "", .err = NULL};
    for (const struct assay_field *field = assay_run_info_fields; field->key; field++)
        field_from_json(field, json, (char *)out, &at);
}
