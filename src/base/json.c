#include "base/json.h"

#include "base/alloc.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Values are never shared here, so each has one reference. A container that lost something for lack
 * of memory is marked by a second reference: setting it takes no memory, and the mark moves with
 * the container. */
static bool is_container(const json_t *value)
{
    return json_is_object(value) || json_is_array(value);
}

static void mark_incomplete(json_t *container)
{
    if (is_container(container) && container->refcount == 1)
        json_incref(container);
}

/* Is nothing in it marked? Clears the marks on request. */
static bool is_complete(json_t *value, bool unmark)
{
    if (!is_container(value))
        return value != NULL;
    bool complete = value->refcount == 1;
    if (!complete && unmark)
        json_decref(value);
    for (size_t i = 0; i < json_array_size(value); i++)
        complete = is_complete(json_array_get(value, i), unmark) && complete;
    for (void *at = json_object_iter(value); at; at = json_object_iter_next(value, at))
        complete = is_complete(json_object_iter_value(at), unmark) && complete;
    return complete;
}

bool assay_json_is_complete(const assay_json *value)
{
    return is_complete((json_t *)(uintptr_t)value, false); /* looking at it changes nothing */
}

void assay_json_free(assay_json *value)
{
    is_complete(value, true); /* a marked one would stay */
    json_decref(value);
}

void assay_json_count_memory(void) { json_set_alloc_funcs(assay_malloc, assay_free); }

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

/* A copy with '?' for whatever is not ASCII; NULL without memory. */
static char *ascii_copy(const char *text)
{
    char *copy = assay_strdup(text);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    return copy;
}

assay_json *assay_json_from_string(const char *text)
{
    if (assay_text_is_utf8(text))
        return json_string(text);
    char *clean = ascii_copy(text);
    json_t *value = clean ? json_string(clean) : NULL;
    assay_free(clean);
    return value;
}

/* The value keeps its own reference until it is known to be in, so that one with a mark is freed
 * here like any other. */
void assay_json_put(assay_json *object, const char *key, assay_json *value)
{
    char *clean = assay_text_is_utf8(key) ? NULL : ascii_copy(key);
    if (json_object_set(object, clean ? clean : key, value) == 0) {
        json_decref(value);
    } else {
        mark_incomplete(object);
        assay_json_free(value);
    }
    assay_free(clean);
}

void assay_json_append(assay_json *array, assay_json *value)
{
    if (json_array_append(array, value) == 0) {
        json_decref(value);
    } else {
        mark_incomplete(array);
        assay_json_free(value);
    }
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
