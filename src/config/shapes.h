/* shapes.h: shapes as people name them: "1024x4096x4096", or a set of them by its name: "llama",
 * "pow2:10:12". The sets are those of TorchAO's microbenchmarks. A new one is a file
 * src/config/shapes/NAME.c that defines `const struct assay_shape_set assay_shapes_NAME`, and the
 * line ASSAY_SHAPES(NAME) in src/config/shapes/shape_list.h. */
#ifndef ASSAY_CONFIG_SHAPES_H
#define ASSAY_CONFIG_SHAPES_H

#include "base/error.h"
#include <assay/assay_kernel.h>

struct assay_shape {
    int32_t n; /* how many sizes */
    int64_t sizes[ASSAY_MAX_AXES];
    char label[32];       /* the name in its set: "llama_attn.wqkv"; empty where it has none */
    int32_t line, column; /* where a file names it; 0: nowhere */
};

/* A list that owns its items. Start from {0}. */
struct assay_shapes {
    struct assay_shape *items;
    int64_t n, capacity;
};
void assay_shapes_fini(struct assay_shapes *shapes);

/* Adds "1024x4096x4096", sizes >= 1, unless it is there already. */
enum assay_status assay_shapes_add_text(struct assay_shapes *shapes, const char *text,
                                        struct assay_error *err);

/* Adds [m, k, n] unless it is there already under the same label. */
enum assay_status assay_shapes_add_mkn(struct assay_shapes *shapes, const int64_t sizes[3],
                                       const char *label, struct assay_error *err);

/* How powers of two are combined. */
enum assay_shape_pattern {
    ASSAY_SHAPES_OF_WEIGHTS, /* not at all: the set names its weights */
    ASSAY_SHAPES_CUBES,
    ASSAY_SHAPES_CUBES_AND_HALVES, /* each, then half as large again */
    ASSAY_SHAPES_ASCENDING,        /* m <= k <= n */
    ASSAY_SHAPES_EVERY_COMBINATION
};

/* A weight [n, k]. */
struct assay_weight_shape {
    const char *name;
    int64_t k, n;
};

/* A set of shapes [m, k, n]: the weights of some model and the m they are multiplied with, or
 * powers of two from a range. */
struct assay_shape_set {
    const char *name, *summary;
    enum assay_shape_pattern pattern;
    const struct assay_weight_shape *weights; /* ends with a row without a name */
    int64_t m[4];                             /* with each of them, up to the first 0 */
    int64_t min_power, max_power;             /* of powers of two: the usual range */
};
int64_t assay_shape_set_count(void);
const struct assay_shape_set *assay_shape_set_at(int64_t index);
const struct assay_shape_set *assay_shape_set_find(const char *name); /* any case; NULL: none */
/* The usual range of a set made of powers of two; false where it is not. */
bool assay_shape_set_powers(const struct assay_shape_set *set, int64_t *min, int64_t *max);
/* The set's shapes, of those powers where it has any. */
enum assay_status assay_shapes_add_range(struct assay_shapes *shapes,
                                         const struct assay_shape_set *set, int64_t min,
                                         int64_t max, struct assay_error *err);

/* Adds all shapes of a set: "llama", "pow2", or, of a set made of powers of two, those from 2^10 to
 * 2^12: "pow2:10:12". The error names the nearest set. */
enum assay_status assay_shapes_add_set(struct assay_shapes *shapes, const char *text,
                                       struct assay_error *err);

#endif
