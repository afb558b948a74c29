/* yaml_tree.h: a YAML document as a tree whose nodes know where they stand.
 *
 * One document, as much of YAML 1.1 as configurations use: mappings, lists, scalars, anchors,
 * aliases and the merge key `<<`. Scalars stay text; whoever wants a number or a truth value asks.
 * Depth, bytes and nodes are limited, and an alias is copied and counted, so that a hostile file
 * ends in an error. */
#ifndef ASSAY_CONFIG_YAML_TREE_H
#define ASSAY_CONFIG_YAML_TREE_H

#include "base/json.h"

enum {
    ASSAY_YAML_DEPTH = 32,
    ASSAY_YAML_NODES = 100000,
    ASSAY_YAML_BYTES = 1 << 20,
};

enum assay_yaml_kind { ASSAY_YAML_SCALAR, ASSAY_YAML_LIST, ASSAY_YAML_MAP };

struct assay_yaml {
    enum assay_yaml_kind kind;
    int32_t line, column; /* counted from 1 */
    char *text;           /* of a scalar */
    bool quoted;          /* it is text whatever it looks like */
    /* Of a member of a mapping; NULL and 0 elsewhere. */
    char *key;
    int32_t key_line, key_column;
    /* A list's items, or a mapping's values in the order of the file, without the merge key. */
    struct assay_yaml *first, *next;
};

/* Reads a document. An error is located by NAME:LINE:COLUMN. *out is NULL for an empty document. */
enum assay_status assay_yaml_parse(const char *bytes, size_t length, const char *name,
                                   struct assay_yaml **out, struct assay_error *err);
/* A file's bytes, the caller's to free; of one that is too large one more than may be. `what` it
 * is, for the errors. */
enum assay_status assay_yaml_read_file(const char *path, const char *what, char **bytes,
                                       size_t *length, struct assay_error *err);
void assay_yaml_destroy(struct assay_yaml *node);

/* The value of a mapping's key; NULL where there is none, and where `map` is no mapping. */
const struct assay_yaml *assay_yaml_get(const struct assay_yaml *map, const char *key);
int64_t assay_yaml_count(const struct assay_yaml *node); /* of its items or members */

/* What a scalar that is not quoted means, as YAML 1.1 has it. */
bool assay_yaml_is_null(const struct assay_yaml *node);         /* nothing, ~ or null */
bool assay_yaml_bool(const struct assay_yaml *node, bool *out); /* true, yes, on and so on */
bool assay_yaml_int(const struct assay_yaml *node, int64_t *out);

/* The same as JSON. NULL without memory. */
assay_json *assay_yaml_to_json(const struct assay_yaml *node);

/* The node at a path such as "nodes[3].features", or the last node on the way that is there. */
const struct assay_yaml *assay_yaml_at(const struct assay_yaml *node, const char *path);

#endif
