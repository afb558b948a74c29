/* run_reading.c: values as the keys' rows describe them, and errors with their lines. */
#include "config/run_reading.h"

#include <stdio.h>
#include <string.h>

/* ---- errors ------------------------------------------------------------------------------- */

void assay_run_config_place(const struct assay_run_config *config, struct assay_place at, char *buf,
                            size_t size)
{
    if (at.line)
        snprintf(buf, size, "%s:%d:%d", config->file, at.line, at.column);
    else
        snprintf(buf, size, "%s", config->file);
}

struct assay_place assay_place_of(const struct assay_yaml *node)
{
    return (struct assay_place){node->line, node->column};
}

struct assay_place assay_place_of_key(const struct assay_yaml *member)
{
    return (struct assay_place){member->key_line, member->key_column};
}

enum assay_status assay_reading_fail(struct assay_reading *r, struct assay_place at,
                                     const char *fmt, ...)
{
    char where[128], text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assay_run_config_place(r->config, at, where, sizeof where);
    return assay_error_set(r->err, ASSAY_ERR_INVALID, where, "%s", text);
}

enum assay_status assay_reading_no_memory(struct assay_reading *r)
{
    return assay_error_nomem(r->err);
}

enum assay_status assay_reading_warn(struct assay_reading *r, struct assay_place at,
                                     const char *fmt, ...)
{
    char where[128], text[440];
    struct assay_text line = {0};
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assay_run_config_place(r->config, at, where, sizeof where);
    assay_text_format(&line, "%s: %s", where, text);
    bool kept = !line.failed && assay_strings_add(&r->config->warnings, line.data) == ASSAY_OK;
    assay_text_fini(&line);
    return kept ? ASSAY_OK : assay_reading_no_memory(r);
}

enum assay_status assay_reading_doubt(struct assay_reading *r, struct assay_place at,
                                      const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (r->config->lenient)
        return assay_reading_warn(r, at, "%s (passed over)", text);
    return assay_reading_fail(r, at, "%s (--lenient passes it over)", text);
}

void assay_reading_words(const char *const *words, char *buf, size_t size)
{
    size_t used = 0;
    buf[0] = '\0';
    for (int i = 0; words[i] && used < size; i++) {
        const char *before = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        used += (size_t)snprintf(buf + used, size - used, "%s%s", before, words[i]);
    }
}

static int64_t count_words(const char *const *words)
{
    int64_t n = 0;
    while (words[n])
        n++;
    return n;
}

enum assay_status assay_reading_unknown(struct assay_reading *r, const struct assay_yaml *node,
                                        const char *what, const char *const *known)
{
    char words[200];
    const char *nearest = assay_text_nearest(node->text, known, count_words(known));
    if (nearest)
        return assay_reading_fail(r, assay_place_of(node),
                                  "unknown %s \"%.80s\"; did you mean \"%s\"?", what, node->text,
                                  nearest);
    assay_reading_words(known, words, sizeof words);
    return assay_reading_fail(r, assay_place_of(node), "unknown %s \"%.80s\"; it takes %s", what,
                              node->text, words);
}

enum assay_status assay_reading_keys(struct assay_reading *r, const struct assay_yaml *map,
                                     const char *what, const char *const *known)
{
    char words[200];
    int64_t n = count_words(known);
    assay_reading_words(known, words, sizeof words);
    for (const struct assay_yaml *at = map->first; at; at = at->next) {
        bool found = false;
        for (int64_t i = 0; i < n; i++)
            found = found || strcmp(at->key, known[i]) == 0;
        const char *nearest = found ? NULL : assay_text_nearest(at->key, known, n);
        if (nearest)
            return assay_reading_fail(r, assay_place_of_key(at),
                                      "unknown key \"%.60s\"; did you mean \"%s\"?", at->key,
                                      nearest);
        if (!found)
            return assay_reading_fail(r, assay_place_of_key(at), "unknown key \"%.60s\"; %s has %s",
                                      at->key, what, words);
        if (assay_yaml_is_null(at))
            return assay_reading_fail(r, assay_place_of(at), "%s has no value", at->key);
    }
    return ASSAY_OK;
}

enum assay_status assay_reading_pass_on(struct assay_reading *r, const struct assay_yaml *node,
                                        enum assay_status status, const struct assay_error *why,
                                        const char *known)
{
    bool helped = !known || strstr(why->message, "did you mean");
    if (status == ASSAY_ERR_NOMEM)
        return assay_reading_no_memory(r);
    if (helped)
        return assay_reading_fail(r, assay_place_of(node), "%.400s", why->message);
    return assay_reading_fail(r, assay_place_of(node), "%.*s; known are %.300s",
                              (int)strcspn(why->message, ";"), why->message, known);
}

static const char *kind_name(const struct assay_yaml *node)
{
    return node->kind == ASSAY_YAML_LIST  ? "a list"
           : node->kind == ASSAY_YAML_MAP ? "a mapping"
           : node->quoted                 ? "text"
                                          : "this";
}

enum assay_status assay_reading_wrong_type(struct assay_reading *r, const char *name,
                                           const struct assay_yaml *node, const char *wanted)
{
    if (node->kind == ASSAY_YAML_SCALAR)
        return assay_reading_fail(r, assay_place_of(node), "%s takes %s, not \"%.80s\"", name,
                                  wanted, node->text);
    return assay_reading_fail(r, assay_place_of(node), "%s takes %s, not %s", name, wanted,
                              kind_name(node));
}

/* ---- values ------------------------------------------------------------------------------- */

enum assay_status assay_read_bool(struct assay_reading *r, const struct assay_key *key,
                                  const struct assay_yaml *node, void *target)
{
    struct assay_yaml plain = *node; /* "true" in quotes is what people also write */
    plain.quoted = false;
    if (!assay_yaml_bool(&plain, ASSAY_KEY_FIELD(bool)))
        return assay_reading_wrong_type(r, key->name, node, "true or false");
    return ASSAY_OK;
}

enum assay_status assay_read_int(struct assay_reading *r, const struct assay_key *key,
                                 const struct assay_yaml *node, void *target)
{
    int64_t value;
    if (!assay_yaml_int(node, &value))
        return assay_reading_wrong_type(r, key->name, node, "a whole number");
    if (value < key->min || value > key->max)
        return assay_reading_fail(r, assay_place_of(node),
                                  "%s must lie between %lld and %lld, not %lld", key->name,
                                  (long long)key->min, (long long)key->max, (long long)value);
    *ASSAY_KEY_FIELD(int64_t) = value;
    return ASSAY_OK;
}

enum assay_status assay_read_choice(struct assay_reading *r, const struct assay_key *key,
                                    const struct assay_yaml *node, void *target)
{
    if (node->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, key->name, node, "a word");
    for (int64_t i = 0; key->choices[i]; i++)
        if (assay_text_same(node->text, key->choices[i])) {
            *ASSAY_KEY_FIELD(int64_t) = i;
            return ASSAY_OK;
        }
    return assay_reading_unknown(r, node, key->name, key->choices);
}

enum assay_status assay_reading_names(
    struct assay_reading *r, const char *key, const struct assay_yaml *node, void *target,
    enum assay_status (*add)(struct assay_reading *r, const struct assay_yaml *node, void *target))
{
    enum assay_status status = ASSAY_OK;
    if (node->kind == ASSAY_YAML_SCALAR)
        return add(r, node, target);
    if (node->kind == ASSAY_YAML_MAP)
        return assay_reading_wrong_type(r, key, node, "a list of names");
    if (!node->first)
        return assay_reading_fail(r, assay_place_of(node),
                                  "%s is an empty list; leave it out or name something", key);
    for (const struct assay_yaml *at = node->first; at && status == ASSAY_OK; at = at->next)
        status = at->kind == ASSAY_YAML_SCALAR ? add(r, at, target)
                                               : assay_reading_wrong_type(r, key, at, "names");
    return status;
}
