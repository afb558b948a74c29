#include "base/json.h"

#include "base/alloc.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

assay_json *assay_json_parse(const char *text, size_t length, const char *where,
                             struct assay_error *err)
{
    json_error_t problem;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &problem);
    if (!value) {
        char place[160];
        snprintf(place, sizeof place, "%s:%d:%d", where, problem.line, problem.column);
        assay_error_set(err, ASSAY_ERR_CORRUPT, place, "not valid JSON: %s", problem.text);
    }
    return value;
}

void assay_json_free(assay_json *value) { json_decref(value); }

static int append_to_text(const char *bytes, size_t length, void *out)
{
    assay_text_append(out, bytes, length);
    return 0;
}

void assay_json_write(const assay_json *value, int indent, struct assay_text *out)
{
    size_t flags = indent > 0 ? (size_t)JSON_INDENT(indent) : JSON_COMPACT;
    if (!value || json_dump_callback(value, append_to_text, out, flags | JSON_ENCODE_ANY) != 0)
        out->failed = true;
}

assay_json *assay_json_object(void) { return json_object(); }
assay_json *assay_json_array(void) { return json_array(); }
assay_json *assay_json_from_int(int64_t value) { return json_integer(value); }
assay_json *assay_json_from_number(double value)
{
    bool whole = fabs(value) < 0x1p53 && value == floor(value);
    return whole ? assay_json_from_int((int64_t)value) : assay_json_from_double(value);
}

assay_json *assay_json_from_bool(bool value) { return json_boolean(value); }

assay_json *assay_json_from_double(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

assay_json *assay_json_from_string(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *clean = assay_strdup(text); /* not UTF-8: keep what is ASCII */
    for (char *c = clean; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    value = clean ? json_string(clean) : NULL;
    assay_free(clean);
    return value;
}

void assay_json_put(assay_json *object, const char *key, assay_json *value)
{
    json_object_set_new(object, key, value);
}

void assay_json_append(assay_json *array, assay_json *value)
{
    json_array_append_new(array, value);
}

const assay_json *assay_json_get(const assay_json *object, const char *key)
{
    return json_object_get(object, key);
}

int64_t assay_json_count_keys(const assay_json *object)
{
    return (int64_t)json_object_size(object);
}

const char *assay_json_key_at(const assay_json *object, int64_t index)
{
    json_t *any = (json_t *)(uintptr_t)object; /* iterating changes nothing */
    void *at = json_object_iter(any);
    for (int64_t i = 0; i < index && at; i++)
        at = json_object_iter_next(any, at);
    return at ? json_object_iter_key(at) : NULL;
}

int64_t assay_json_count(const assay_json *array) { return (int64_t)json_array_size(array); }

const assay_json *assay_json_at(const assay_json *array, int64_t index)
{
    return json_array_get(array, (size_t)index);
}

bool assay_json_is_object(const assay_json *value) { return json_is_object(value); }
bool assay_json_is_array(const assay_json *value) { return json_is_array(value); }

const char *assay_json_string(const assay_json *value, const char *otherwise)
{
    return json_is_string(value) ? json_string_value(value) : otherwise;
}

int64_t assay_json_int(const assay_json *value, int64_t otherwise)
{
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

double assay_json_double(const assay_json *value, double otherwise)
{
    if (json_is_null(value))
        return (double)NAN;
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

bool assay_json_bool(const assay_json *value, bool otherwise)
{
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}
