/* yaml_tree.c: libyaml's events, put together. The only file that knows which library reads YAML.
 */
#include "config/yaml_tree.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

/* Anchors of a document and keys of a mapping: more than a configuration needs, and few enough to
 * look through. */
enum { MOST_ANCHORS = 64, MOST_KEYS = 1000 };

struct reader {
    yaml_parser_t parser;
    const char *name;
    struct assay_error *err;
    int64_t nodes;
    struct {
        char *name;
        const struct assay_yaml *node;
    } anchors[MOST_ANCHORS];
    int n_anchors;
    struct assay_yaml *merged; /* what merge keys named: an anchor may still point there */
};

static void free_members(struct assay_yaml *node)
{
    for (struct assay_yaml *at = node->first, *next; at; at = next) {
        next = at->next;
        assay_yaml_destroy(at);
    }
    node->first = NULL;
}

void assay_yaml_destroy(struct assay_yaml *node)
{
    if (!node)
        return;
    free_members(node);
    assay_free(node->text);
    assay_free(node->key);
    assay_free(node);
}

static enum assay_status fail_at(const struct reader *r, const yaml_mark_t *mark, const char *what)
{
    char where[128];
    snprintf(where, sizeof where, "%s:%zu:%zu", r->name, mark->line + 1, mark->column + 1);
    assay_error_set(r->err, ASSAY_ERR_INVALID, where, "%s", what);
    return ASSAY_ERR_INVALID;
}

static enum assay_status no_memory(const struct reader *r) { return assay_error_nomem(r->err); }

/* What libyaml says, in the words of a sentence. */
static enum assay_status syntax_error(const struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    char text[300];
    if (p->error == YAML_MEMORY_ERROR)
        return no_memory(r);
    snprintf(text, sizeof text, "not YAML: %s%s%s", p->problem ? p->problem : "cannot be read",
             p->context ? ", " : "", p->context ? p->context : "");
    yaml_mark_t mark = p->error == YAML_READER_ERROR ? p->mark : p->problem_mark;
    return fail_at(r, &mark, text);
}

static enum assay_status next_event(struct reader *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->parser, event) ? ASSAY_OK : syntax_error(r);
}

/* ---- nodes -------------------------------------------------------------------------------- */

static enum assay_status new_node(struct reader *r, enum assay_yaml_kind kind,
                                  const yaml_mark_t *mark, struct assay_yaml **out)
{
    if (++r->nodes > ASSAY_YAML_NODES)
        return fail_at(r, mark, "this is far more than a configuration needs (100000 values)");
    struct assay_yaml *node = assay_calloc(1, sizeof *node);
    if (!node)
        return no_memory(r);
    node->kind = kind;
    node->line = (int32_t)mark->line + 1;
    node->column = (int32_t)mark->column + 1;
    *out = node;
    return ASSAY_OK;
}

static struct assay_yaml **end_of(struct assay_yaml *parent)
{
    struct assay_yaml **end = &parent->first;
    while (*end)
        end = &(*end)->next;
    return end;
}

static enum assay_status copy_key(const struct reader *r, const struct assay_yaml *from,
                                  struct assay_yaml *to)
{
    to->key_line = from->key_line;
    to->key_column = from->key_column;
    if (from->key && !(to->key = assay_strdup(from->key)))
        return no_memory(r);
    return ASSAY_OK;
}

/* A copy of everything but the key, for an alias, which counts like what it stands for. */
static enum assay_status copy_node(struct reader *r, const struct assay_yaml *from,
                                   const yaml_mark_t *mark, int depth, struct assay_yaml **out)
{
    if (depth > ASSAY_YAML_DEPTH)
        return fail_at(r, mark, "nested too deeply");
    struct assay_yaml *node = NULL;
    enum assay_status status = new_node(r, from->kind, mark, &node);
    *out = node;
    if (status != ASSAY_OK)
        return status;
    node->line = from->line;
    node->column = from->column;
    node->quoted = from->quoted;
    if (from->text && !(node->text = assay_strdup(from->text)))
        return no_memory(r);
    struct assay_yaml **end = &node->first;
    for (const struct assay_yaml *at = from->first; at && status == ASSAY_OK; at = at->next) {
        status = copy_node(r, at, mark, depth + 1, end);
        if (status == ASSAY_OK)
            status = copy_key(r, at, *end);
        if (status == ASSAY_OK)
            end = &(*end)->next;
    }
    return status;
}

static enum assay_status keep_anchor(struct reader *r, const yaml_char_t *anchor,
                                     const struct assay_yaml *node, const yaml_mark_t *mark)
{
    if (!anchor)
        return ASSAY_OK;
    if (r->n_anchors == MOST_ANCHORS)
        return fail_at(r, mark, "more than 64 anchors");
    r->anchors[r->n_anchors].name = assay_strdup((const char *)anchor);
    if (!r->anchors[r->n_anchors].name)
        return no_memory(r);
    r->anchors[r->n_anchors++].node = node;
    return ASSAY_OK;
}

/* An anchor counts from the end of its node on, so nothing can hold itself. */
static enum assay_status read_alias(struct reader *r, const yaml_event_t *event, int depth,
                                    struct assay_yaml **out)
{
    const char *name = (const char *)event->data.alias.anchor;
    for (int i = r->n_anchors - 1; i >= 0; i--)
        if (strcmp(r->anchors[i].name, name) == 0)
            return copy_node(r, r->anchors[i].node, &event->start_mark, depth, out);
    char text[160];
    snprintf(text, sizeof text, "there is no anchor \"&%.60s\" before this alias", name);
    return fail_at(r, &event->start_mark, text);
}

static enum assay_status read_scalar(struct reader *r, const yaml_event_t *event,
                                     struct assay_yaml **out)
{
    const char *value = (const char *)event->data.scalar.value;
    enum assay_status status = new_node(r, ASSAY_YAML_SCALAR, &event->start_mark, out);
    if (status != ASSAY_OK)
        return status;
    if (strlen(value) != event->data.scalar.length)
        return fail_at(r, &event->start_mark, "text must not hold a zero byte");
    (*out)->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    (*out)->text = assay_strdup(value);
    return (*out)->text ? ASSAY_OK : no_memory(r);
}

static enum assay_status read_node(struct reader *r, yaml_event_t *event, int depth,
                                   struct assay_yaml **out);

static enum assay_status read_list(struct reader *r, struct assay_yaml *list, int depth)
{
    struct assay_yaml **end = &list->first;
    for (;;) {
        yaml_event_t event;
        enum assay_status status = next_event(r, &event);
        if (status != ASSAY_OK)
            return status;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return ASSAY_OK;
        }
        status = read_node(r, &event, depth + 1, end);
        if (status != ASSAY_OK || !*end)
            return status;
        end = &(*end)->next;
    }
}

static enum assay_status check_key(struct reader *r, const struct assay_yaml *map, const char *key,
                                   const yaml_mark_t *mark)
{
    char text[200];
    const struct assay_yaml *other = assay_yaml_get(map, key);
    if (!other)
        return ASSAY_OK;
    snprintf(text, sizeof text, "\"%.80s\" is given twice, first in line %d", key, other->key_line);
    return fail_at(r, mark, text);
}

/* One `key: value`, whose key's event has come. */
static enum assay_status read_member(struct reader *r, struct assay_yaml *map,
                                     yaml_event_t *key_event, struct assay_yaml **out, int depth)
{
    yaml_mark_t mark = key_event->start_mark;
    yaml_event_t event;
    char *key = NULL;
    enum assay_status status = ASSAY_OK;
    if (key_event->type != YAML_SCALAR_EVENT)
        status = fail_at(r, &mark, "a key must be a word");
    else
        status = check_key(r, map, (const char *)key_event->data.scalar.value, &mark);
    if (status == ASSAY_OK && !(key = assay_strdup((const char *)key_event->data.scalar.value)))
        status = no_memory(r);
    yaml_event_delete(key_event);
    if (status == ASSAY_OK)
        status = next_event(r, &event);
    if (status == ASSAY_OK)
        status = read_node(r, &event, depth + 1, out);
    if (!*out) {
        assay_free(key);
        return status;
    }
    (*out)->key = key;
    (*out)->key_line = (int32_t)mark.line + 1;
    (*out)->key_column = (int32_t)mark.column + 1;
    return status;
}

/* Copies the members of `from` that the mapping lacks to its end. */
static enum assay_status take_missing(struct reader *r, struct assay_yaml *map,
                                      const struct assay_yaml *from, const yaml_mark_t *mark,
                                      int depth)
{
    enum assay_status status = ASSAY_OK;
    if (from->kind != ASSAY_YAML_MAP)
        return fail_at(r, mark, "<< takes a mapping or a list of them");
    for (const struct assay_yaml *at = from->first; at && status == ASSAY_OK; at = at->next) {
        if (assay_yaml_get(map, at->key))
            continue;
        struct assay_yaml **end = end_of(map);
        status = copy_node(r, at, mark, depth + 1, end);
        if (status == ASSAY_OK)
            status = copy_key(r, at, *end);
    }
    if (status == ASSAY_OK && assay_yaml_count(map) > MOST_KEYS)
        return fail_at(r, mark, "a mapping with more than 1000 keys");
    return status;
}

/* `<<: *defaults` or `<<: [*a, *b]`: what the mapping lacks comes from there. */
static enum assay_status merge(struct reader *r, struct assay_yaml *map, const yaml_mark_t *mark,
                               int depth)
{
    struct assay_yaml **at = &map->first;
    while (*at && strcmp((*at)->key, "<<") != 0)
        at = &(*at)->next;
    struct assay_yaml *member = *at;
    if (!member)
        return ASSAY_OK;
    *at = member->next;
    member->next = r->merged;
    r->merged = member;
    if (member->kind != ASSAY_YAML_LIST)
        return take_missing(r, map, member, mark, depth);
    enum assay_status status = ASSAY_OK;
    for (const struct assay_yaml *one = member->first; one && status == ASSAY_OK; one = one->next)
        status = take_missing(r, map, one, mark, depth);
    return status;
}

static enum assay_status read_map(struct reader *r, struct assay_yaml *map, const yaml_mark_t *mark,
                                  int depth)
{
    struct assay_yaml **end = &map->first;
    for (int n = 0;; n++) {
        struct assay_yaml *member = NULL;
        yaml_event_t event;
        enum assay_status status = next_event(r, &event);
        if (status != ASSAY_OK)
            return status;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return merge(r, map, mark, depth);
        }
        if (n == MOST_KEYS) {
            yaml_event_delete(&event);
            return fail_at(r, mark, "a mapping with more than 1000 keys");
        }
        status = read_member(r, map, &event, &member, depth);
        *end = member;
        if (status != ASSAY_OK || !member)
            return status;
        end = &member->next;
    }
}

/* The node an event begins. Releases the event. What was read so far is in *out also on failure. */
static enum assay_status read_node(struct reader *r, yaml_event_t *event, int depth,
                                   struct assay_yaml **out)
{
    enum assay_status status = ASSAY_OK;
    const yaml_char_t *anchor = NULL;
    *out = NULL;
    if (depth > ASSAY_YAML_DEPTH) {
        status = fail_at(r, &event->start_mark, "nested too deeply");
        goto cleanup;
    }
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        status = read_alias(r, event, depth, out);
        break;
    case YAML_SCALAR_EVENT:
        status = read_scalar(r, event, out);
        anchor = event->data.scalar.anchor;
        break;
    case YAML_SEQUENCE_START_EVENT:
        status = new_node(r, ASSAY_YAML_LIST, &event->start_mark, out);
        if (status == ASSAY_OK)
            status = read_list(r, *out, depth);
        anchor = event->data.sequence_start.anchor;
        break;
    case YAML_MAPPING_START_EVENT:
        status = new_node(r, ASSAY_YAML_MAP, &event->start_mark, out);
        if (status == ASSAY_OK)
            status = read_map(r, *out, &event->start_mark, depth);
        anchor = event->data.mapping_start.anchor;
        break;
    default:
        status = fail_at(r, &event->start_mark, "not YAML");
    }
    if (status == ASSAY_OK)
        status = keep_anchor(r, anchor, *out, &event->start_mark);
cleanup:
    yaml_event_delete(event);
    return status;
}

/* ---- the document ------------------------------------------------------------------------- */

static enum assay_status read_document(struct reader *r, struct assay_yaml **out)
{
    yaml_event_t event;
    enum assay_status status;
    bool begun = false;
    for (;;) {
        status = next_event(r, &event);
        if (status != ASSAY_OK)
            return status;
        yaml_event_type_t type = event.type;
        yaml_mark_t mark = event.start_mark;
        if (type == YAML_STREAM_END_EVENT || type == YAML_NO_EVENT) {
            yaml_event_delete(&event);
            return ASSAY_OK;
        }
        if (type == YAML_STREAM_START_EVENT || type == YAML_DOCUMENT_END_EVENT) {
            yaml_event_delete(&event);
        } else if (type == YAML_DOCUMENT_START_EVENT) {
            yaml_event_delete(&event);
            if (begun)
                return fail_at(r, &mark, "a second document begins here; a configuration is one");
            begun = true;
        } else {
            status = read_node(r, &event, 1, out);
        }
        if (status != ASSAY_OK)
            return status;
    }
}

enum assay_status assay_yaml_parse(const char *bytes, size_t length, const char *name,
                                   struct assay_yaml **out, struct assay_error *err)
{
    struct reader r = {.name = name, .err = err};
    *out = NULL;
    if (length > ASSAY_YAML_BYTES)
        return assay_error_set(err, ASSAY_ERR_INVALID, name,
                               "larger than a configuration can be (1 MiB)");
    if (!yaml_parser_initialize(&r.parser))
        return no_memory(&r);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, length);
    enum assay_status status = read_document(&r, out);
    yaml_parser_delete(&r.parser);
    for (int i = 0; i < r.n_anchors; i++)
        assay_free(r.anchors[i].name);
    for (struct assay_yaml *at = r.merged, *next; at; at = next) {
        next = at->next;
        assay_yaml_destroy(at);
    }
    if (status != ASSAY_OK) {
        assay_yaml_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* ---- asking ------------------------------------------------------------------------------- */

const struct assay_yaml *assay_yaml_get(const struct assay_yaml *map, const char *key)
{
    if (!map || map->kind != ASSAY_YAML_MAP)
        return NULL;
    for (const struct assay_yaml *at = map->first; at; at = at->next)
        if (at->key && strcmp(at->key, key) == 0)
            return at;
    return NULL;
}

int64_t assay_yaml_count(const struct assay_yaml *node)
{
    int64_t n = 0;
    for (const struct assay_yaml *at = node ? node->first : NULL; at; at = at->next)
        n++;
    return n;
}

static bool is_word_of(const struct assay_yaml *node, const char *const *words)
{
    if (node->kind != ASSAY_YAML_SCALAR || node->quoted)
        return false;
    for (; *words; words++)
        if (assay_text_same(node->text, *words))
            return true;
    return false;
}

bool assay_yaml_is_null(const struct assay_yaml *node)
{
    static const char *const words[] = {"", "~", "null", NULL};
    return is_word_of(node, words);
}

bool assay_yaml_bool(const struct assay_yaml *node, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on", NULL};
    static const char *const no[] = {"false", "no", "off", NULL};
    *out = is_word_of(node, yes);
    return *out || is_word_of(node, no);
}

bool assay_yaml_int(const struct assay_yaml *node, int64_t *out)
{
    return node->kind == ASSAY_YAML_SCALAR && !node->quoted &&
           assay_text_int64(node->text, out) == ASSAY_OK;
}

static assay_json *scalar_to_json(const struct assay_yaml *node)
{
    bool truth;
    int64_t whole;
    double number;
    if (assay_yaml_bool(node, &truth))
        return assay_json_from_bool(truth);
    if (assay_yaml_int(node, &whole))
        return assay_json_from_int(whole);
    if (!node->quoted && assay_text_double(node->text, &number) == ASSAY_OK)
        return assay_json_from_double(number);
    return assay_json_from_string(node->text);
}

assay_json *assay_yaml_to_json(const struct assay_yaml *node)
{
    if (node->kind == ASSAY_YAML_SCALAR)
        return scalar_to_json(node);
    assay_json *out = node->kind == ASSAY_YAML_LIST ? assay_json_array() : assay_json_object();
    for (const struct assay_yaml *at = node->first; at; at = at->next) {
        if (node->kind == ASSAY_YAML_LIST)
            assay_json_append(out, assay_yaml_to_json(at));
        else
            assay_json_put(out, at->key, assay_yaml_to_json(at));
    }
    return out;
}

/* One step of a path: "[3]", ".features" or "features". */
static const struct assay_yaml *step(const struct assay_yaml *node, const char **path)
{
    char key[64];
    if (**path == '[') {
        int64_t index = strtoll(*path + 1, NULL, 10);
        const struct assay_yaml *at = node->kind == ASSAY_YAML_LIST ? node->first : NULL;
        while (at && index-- > 0)
            at = at->next;
        *path += strcspn(*path, "]");
        *path += **path == ']';
        return at;
    }
    *path += **path == '.';
    size_t length = strcspn(*path, ".[");
    snprintf(key, sizeof key, "%.*s", (int)(length < 63 ? length : 63), *path);
    *path += length;
    return assay_yaml_get(node, key);
}

const struct assay_yaml *assay_yaml_at(const struct assay_yaml *node, const char *path)
{
    while (*path) {
        const struct assay_yaml *next = step(node, &path);
        if (!next)
            break;
        node = next;
    }
    return node;
}

enum assay_status assay_yaml_read_file(const char *path, const char *what, char **bytes,
                                       size_t *length, struct assay_error *err)
{
    struct stat info;
    FILE *file = fopen(path, "re");
    *bytes = NULL;
    if (!file)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "this %s cannot be read: %s", what,
                               strerror(errno));
    enum assay_status status = ASSAY_OK;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode))
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "this is a folder; name a %s in it",
                                 what);
    else if (!(*bytes = assay_calloc(ASSAY_YAML_BYTES + 1, 1)))
        status = assay_error_nomem(err);
    else
        *length = fread(*bytes, 1, ASSAY_YAML_BYTES + 1, file);
    if (status == ASSAY_OK && ferror(file))
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "this %s cannot be read: %s", what,
                                 strerror(errno));
    fclose(file);
    return status;
}
