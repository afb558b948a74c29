/* run_reading.h: reading a configuration: what its parts (run_reading.c, run_shapes.c, run_keys.c,
 * run_config.c) share. A preset's file and a kernel repository's have their errors from here
 * (preset_file.c, kernel_file.c). */
#ifndef ASSAY_CONFIG_RUN_READING_H
#define ASSAY_CONFIG_RUN_READING_H

#include "config/run_config.h"
#include "config/yaml_tree.h"

/* Remembers the file's name, cut at the front where it is long. */
void assay_run_config_name(struct assay_run_config *config, const char *file);

enum { ASSAY_READING_SPARSITIES = 2 };

/* A configuration on its way in. */
struct assay_reading {
    struct assay_run_config *config;
    struct assay_error *err;
    int64_t shapes;                        /* of all entries so far */
    const struct assay_yaml *model_params; /* read when all defaults are known */
    const struct assay_yaml *sparsity;     /* the first that is named */
    int64_t granularity; /* of training: what float8dq, without a suffix, stands for */
    const char *sparsities[ASSAY_READING_SPARSITIES]; /* as quant.h names them, up to a NULL */
};

/* An entry on its way in: it starts as a copy of the defaults. */
struct assay_run_draft {
    struct assay_run_entry entry;
    const struct assay_yaml *shapes, *mode, *model; /* what this mapping itself says */
};

/* One of the list matrix_shapes. */
struct assay_set_draft {
    const struct assay_yaml *name, *shapes, *min_node, *max_node;
    int64_t min_power, max_power;
};

/* Keys: rows of one table in run_keys.c. */

struct assay_key;
typedef enum assay_status assay_key_reader(struct assay_reading *r, const struct assay_key *key,
                                           const struct assay_yaml *node, void *target);

enum assay_key_scope {
    ASSAY_KEY_RUN,
    ASSAY_KEY_MODEL,
    ASSAY_KEY_TRAINING,
    ASSAY_KEY_SHAPES,
    ASSAY_KEY_SCOPES
};

struct assay_key {
    const char *name;
    enum assay_key_scope scope;
    assay_key_reader *read;
    size_t offset; /* of the field in the run's configuration, or in a draft */
    const char *type, *fallback, *meaning; /* for the reference; choices are a type of their own */
    const char *const *choices;
    int64_t min, max;
};

/* The field a reader writes. */
#define ASSAY_KEY_FIELD(type) ((type *)(void *)((char *)target + key->offset))

/* A mapping's members, each read by its key's row: keys of the run into the configuration, others
 * into `target`. `scopes` has a bit for each scope whose keys may stand here. */
enum assay_status assay_reading_members(struct assay_reading *r, const struct assay_yaml *map,
                                        unsigned scopes, void *target);

assay_key_reader assay_read_bool, assay_read_int, assay_read_choice;   /* run_reading.c */
assay_key_reader assay_read_shapes, assay_read_node, assay_read_power; /* run_shapes.c */

/* Calls `add` for a name, or for each of a list of names. */
enum assay_status assay_reading_names(
    struct assay_reading *r, const char *key, const struct assay_yaml *node, void *target,
    enum assay_status (*add)(struct assay_reading *r, const struct assay_yaml *node, void *target));

/* Errors, each with its line and column. */

struct assay_place assay_place_of(const struct assay_yaml *node);
struct assay_place assay_place_of_key(const struct assay_yaml *member);
enum assay_status assay_reading_fail(struct assay_reading *r, struct assay_place at,
                                     const char *fmt, ...) ASSAY_PRINTF(3, 4);
enum assay_status assay_reading_no_memory(struct assay_reading *r);
/* Not an error, but to be told where there is none. */
enum assay_status assay_reading_warn(struct assay_reading *r, struct assay_place at,
                                     const char *fmt, ...) ASSAY_PRINTF(3, 4);
/* Passed over with a warning where the reading is lenient, else an error that names --lenient. */
enum assay_status assay_reading_doubt(struct assay_reading *r, struct assay_place at,
                                      const char *fmt, ...) ASSAY_PRINTF(3, 4);
/* What a user wrote that nobody knows, and what they may have meant. */
enum assay_status assay_reading_unknown(struct assay_reading *r, const struct assay_yaml *node,
                                        const char *what, const char *const *known);
/* Has this mapping only keys that `what` has, each with a value? */
enum assay_status assay_reading_keys(struct assay_reading *r, const struct assay_yaml *map,
                                     const char *what, const char *const *known);
enum assay_status assay_reading_wrong_type(struct assay_reading *r, const char *name,
                                           const struct assay_yaml *node, const char *wanted);
/* An error of another room; where it suggests no near name, all names there are. */
enum assay_status assay_reading_pass_on(struct assay_reading *r, const struct assay_yaml *node,
                                        enum assay_status status, const struct assay_error *why,
                                        const char *known);

/* "x, y or z" */
void assay_reading_words(const char *const *words, char *buf, size_t size);

#endif
