/* json_schema.h: checks a JSON value against a schema, as far as ours go: type, enum, required,
 * properties, additionalProperties, items, minItems, minLength, minimum, exclusiveMinimum. A
 * keyword that is not checked here is a mistake in the schema, so that none is only believed to be.
 */
#ifndef ASSAY_TESTS_JSON_SCHEMA_H
#define ASSAY_TESTS_JSON_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct schema_check {
    char path[512], problem[768]; /* the problem is empty where all is well */
};

static inline bool schema_complain(struct schema_check *c, const char *what, const char *detail)
{
    if (!c->problem[0])
        snprintf(c->problem, sizeof c->problem, "$%s: %s %s", c->path, what, detail);
    return false;
}

static inline bool schema_type_is(json_t *value, const char *type)
{
    return strcmp(type, "object") == 0    ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
           : strcmp(type, "string") == 0  ? json_is_string(value)
           : strcmp(type, "number") == 0  ? json_is_number(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
                                          : false;
}

static inline bool schema_check_value(struct schema_check *c, json_t *schema, json_t *value);

/* The value at `step` below this one: ".metric", "[3]". */
static inline bool schema_check_below(struct schema_check *c, json_t *schema, json_t *value,
                                      const char *step)
{
    size_t length = strlen(c->path);
    snprintf(c->path + length, sizeof c->path - length, "%s", step);
    bool fine = schema_check_value(c, schema, value);
    c->path[length] = '\0';
    return fine;
}

static inline bool schema_check_members(struct schema_check *c, json_t *schema, json_t *value)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *others = json_object_get(schema, "additionalProperties");
    bool fine = true;
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        char step[128];
        snprintf(step, sizeof step, ".%s", key);
        json_t *known = json_object_get(properties, key);
        if (known)
            fine &= schema_check_below(c, known, member, step);
        else if (json_is_false(others))
            fine = schema_complain(c, "must not have", key);
        else if (json_is_object(others))
            fine &= schema_check_below(c, others, member, step);
    }
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(schema, "required"), i,
                       name) if (!json_object_get(value, json_string_value(name))) fine =
        schema_complain(c, "lacks", json_string_value(name));
    return fine;
}

static inline bool schema_check_items(struct schema_check *c, json_t *schema, json_t *value)
{
    json_t *items = json_object_get(schema, "items");
    json_int_t least = json_integer_value(json_object_get(schema, "minItems"));
    bool fine =
        (json_int_t)json_array_size(value) >= least || schema_complain(c, "has too few", "items");
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        char step[32];
        snprintf(step, sizeof step, "[%zu]", i);
        fine &= schema_check_below(c, items, json_array_get(value, i), step);
    }
    return fine;
}

static inline bool schema_check_scalar(struct schema_check *c, json_t *schema, json_t *value)
{
    json_t *least = json_object_get(schema, "minimum");
    json_t *above = json_object_get(schema, "exclusiveMinimum");
    json_t *letters = json_object_get(schema, "minLength");
    bool fine = true;
    if (least && json_is_number(value) && !(json_number_value(value) >= json_number_value(least)))
        fine = schema_complain(c, "is below", "its minimum");
    if (above && json_is_number(value) && !(json_number_value(value) > json_number_value(above)))
        fine = schema_complain(c, "is not above", "its minimum");
    if (letters && json_is_string(value) &&
        (json_int_t)json_string_length(value) < json_integer_value(letters))
        fine = schema_complain(c, "is too short", "");
    return fine;
}

static inline bool schema_check_enum(struct schema_check *c, json_t *schema, json_t *value)
{
    json_t *allowed = json_object_get(schema, "enum");
    bool found = !allowed;
    for (size_t i = 0; !found && i < json_array_size(allowed); i++)
        found = json_equal(json_array_get(allowed, i), value);
    return found || schema_complain(c, "is none of the", "allowed values");
}

static inline bool schema_check_keywords(struct schema_check *c, json_t *schema)
{
    static const char *const known[] = {
        "$schema",    "title",    "description",          "type",  "enum",
        "properties", "required", "additionalProperties", "items", "minItems",
        "minLength",  "minimum",  "exclusiveMinimum"};
    const char *key;
    json_t *member;
    json_object_foreach(schema, key, member)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found |= strcmp(known[i], key) == 0;
        if (!found)
            return schema_complain(c, "the schema has a keyword nobody checks:", key);
    }
    return true;
}

static inline bool schema_check_value(struct schema_check *c, json_t *schema, json_t *value)
{
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (!schema_check_keywords(c, schema))
        return false;
    if (type && !schema_type_is(value, type))
        return schema_complain(c, "is not of type", type);
    bool fine = schema_check_enum(c, schema, value) && schema_check_scalar(c, schema, value);
    if (json_is_object(value))
        fine &= schema_check_members(c, schema, value);
    if (json_is_array(value))
        fine &= schema_check_items(c, schema, value);
    return fine;
}

#endif
