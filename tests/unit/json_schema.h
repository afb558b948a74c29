/* json_schema.h: checks a JSON value against a schema, as far as ours go: type, enum, required,
 * properties, additionalProperties, items, minItems, maxItems, minLength, pattern, minimum,
 * exclusiveMinimum, anyOf, and $ref into the same file or one beside it. A keyword that is not
 * checked here is a mistake in the schema, so that none is only believed to be. */
#ifndef ASSAY_TESTS_JSON_SCHEMA_H
#define ASSAY_TESTS_JSON_SCHEMA_H

#include <jansson.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Schemas by file name, each read once. */
struct schema_files {
    const char *folder;
    int n;
    struct {
        char name[80];
        json_t *schema;
    } files[8];
};

struct schema_check {
    char path[512], problem[768]; /* the problem is empty where all is well */
    int problems;                 /* how many there were */
    bool is_other_type;           /* one is the type of the value at `top` of the path */
    size_t top;
    struct schema_files *files; /* for schemas that name others */
    json_t *root;               /* the file that $ref without a name looks into */
    bool strict;                /* a member that `properties` does not name is a problem */
};

static inline bool schema_complain(struct schema_check *c, const char *what, const char *detail)
{
    if (!c->problem[0])
        snprintf(c->problem, sizeof c->problem, "$%s: %s %s", c->path, what, detail);
    c->problems++;
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
           : strcmp(type, "null") == 0    ? json_is_null(value)
                                          : false;
}

/* One type or a list of them. */
static inline bool schema_check_type(struct schema_check *c, json_t *schema, json_t *value)
{
    json_t *types = json_object_get(schema, "type"), *type;
    char names[128] = "";
    size_t i;
    if (!types || (json_is_string(types) && schema_type_is(value, json_string_value(types))))
        return true;
    json_array_foreach(types, i, type)
    {
        if (schema_type_is(value, json_string_value(type)))
            return true;
        size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", i ? " or " : "",
                 json_string_value(type));
    }
    c->is_other_type |= strlen(c->path) == c->top;
    return schema_complain(c, "is not of type",
                           json_is_string(types) ? json_string_value(types) : names);
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
        else if (c->strict && properties)
            fine = schema_complain(c, "has a member that the schema does not name:", key);
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
    json_t *most = json_object_get(schema, "maxItems");
    bool fine =
        (json_int_t)json_array_size(value) >= least || schema_complain(c, "has too few", "items");
    if (most && (json_int_t)json_array_size(value) > json_integer_value(most))
        fine = schema_complain(c, "has too many", "items");
    for (size_t i = 0; items && i < json_array_size(value); i++) {
        char step[32];
        snprintf(step, sizeof step, "[%zu]", i);
        fine &= schema_check_below(c, items, json_array_get(value, i), step);
    }
    return fine;
}

static inline bool schema_check_pattern(struct schema_check *c, const char *pattern, json_t *value)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return schema_complain(c, "the schema has a pattern nobody reads:", pattern);
    bool fine = regexec(&regex, json_string_value(value), 0, NULL, 0) == 0;
    regfree(&regex);
    return fine || schema_complain(c, "does not match", pattern);
}

static inline bool schema_check_scalar(struct schema_check *c, json_t *schema, json_t *value)
{
    json_t *least = json_object_get(schema, "minimum");
    json_t *above = json_object_get(schema, "exclusiveMinimum");
    json_t *letters = json_object_get(schema, "minLength");
    json_t *pattern = json_object_get(schema, "pattern");
    bool fine = true;
    if (least && json_is_number(value) && !(json_number_value(value) >= json_number_value(least)))
        fine = schema_complain(c, "is below", "its minimum");
    if (above && json_is_number(value) && !(json_number_value(value) > json_number_value(above)))
        fine = schema_complain(c, "is not above", "its minimum");
    if (letters && json_is_string(value) &&
        (json_int_t)json_string_length(value) < json_integer_value(letters))
        fine = schema_complain(c, "is too short", "");
    if (pattern && json_is_string(value))
        fine &= schema_check_pattern(c, json_string_value(pattern), value);
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
        "$schema",    "title",    "description",          "type",    "enum",     "$defs",
        "properties", "required", "additionalProperties", "items",   "minItems", "maxItems",
        "minLength",  "minimum",  "exclusiveMinimum",     "pattern", "anyOf",    "$ref"};
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

/* The schema in a file; NULL where that is not one. */
static inline json_t *schema_in_file(struct schema_files *files, const char *name, size_t length)
{
    char path[600];
    for (int i = 0; files && i < files->n; i++)
        if (strlen(files->files[i].name) == length &&
            memcmp(files->files[i].name, name, length) == 0)
            return files->files[i].schema;
    if (!files || files->n == sizeof files->files / sizeof files->files[0])
        return NULL;
    snprintf(files->files[files->n].name, sizeof files->files[0].name, "%.*s", (int)length, name);
    snprintf(path, sizeof path, "%s/%s", files->folder, files->files[files->n].name);
    json_t *schema = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (schema)
        files->files[files->n++].schema = schema;
    return schema;
}

static inline void schema_files_fini(struct schema_files *files)
{
    for (int i = 0; i < files->n; i++)
        json_decref(files->files[i].schema);
    files->n = 0;
}

/* "FILE", "FILE#/$defs/run" or "#/$defs/run". */
static inline bool schema_check_ref(struct schema_check *c, const char *ref, json_t *value)
{
    json_t *before = c->root, *target = c->root;
    size_t length = strcspn(ref, "#");
    if (length)
        target = c->root = schema_in_file(c->files, ref, length);
    for (const char *step = ref + length; target && *step;) {
        char key[80];
        step += strspn(step, "#/");
        snprintf(key, sizeof key, "%.*s", (int)strcspn(step, "/"), step);
        target = json_object_get(target, key);
        step += strcspn(step, "/");
    }
    bool fine = target ? schema_check_value(c, target, value)
                       : schema_complain(c, "the schema refers to nothing:", ref);
    c->root = before;
    return fine;
}

/* Of alternatives that do not fit, the one that comes nearest is told. */
static inline bool schema_check_any(struct schema_check *c, json_t *alternatives, json_t *value)
{
    struct schema_check best = {0};
    size_t i;
    json_t *schema;
    json_array_foreach(alternatives, i, schema)
    {
        struct schema_check one = *c;
        one.problem[0] = '\0';
        one.problems = 0;
        one.is_other_type = false;
        one.top = strlen(c->path);
        if (schema_check_value(&one, schema, value))
            return true;
        if (i == 0 || one.is_other_type < best.is_other_type ||
            (one.is_other_type == best.is_other_type && one.problems < best.problems))
            best = one;
    }
    if (!c->problem[0])
        memcpy(c->problem, best.problem, sizeof c->problem);
    c->problems += best.problems;
    c->is_other_type |= best.is_other_type && strlen(c->path) == c->top;
    return false;
}

static inline bool schema_check_value(struct schema_check *c, json_t *schema, json_t *value)
{
    const char *ref = json_string_value(json_object_get(schema, "$ref"));
    json_t *alternatives = json_object_get(schema, "anyOf");
    if (!schema_check_keywords(c, schema) || !schema_check_type(c, schema, value))
        return false;
    bool fine = schema_check_enum(c, schema, value) && schema_check_scalar(c, schema, value);
    if (ref)
        fine &= schema_check_ref(c, ref, value);
    if (alternatives)
        fine &= schema_check_any(c, alternatives, value);
    if (json_is_object(value))
        fine &= schema_check_members(c, schema, value);
    if (json_is_array(value))
        fine &= schema_check_items(c, schema, value);
    return fine;
}

/* Does the value fit the schema in this file? */
static inline bool schema_check_file(struct schema_check *c, const char *name, json_t *value)
{
    return schema_check_ref(c, name, value);
}

#endif
