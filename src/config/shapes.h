/* shapes.h: shapes as people name them: "1024x4096x4096", or a set of them by its name: "llama",
 * "pow2:10:12". SPEC section 3 has the sets, which are those of TorchAO's microbenchmarks. */
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

/* A set of shapes [m, k, n]. */
struct assay_shape_set;
int64_t assay_shape_set_count(void);
const struct assay_shape_set *assay_shape_set_at(int64_t index);
const char *assay_shape_set_name(const struct assay_shape_set *set);
const char *assay_shape_set_summary(const struct assay_shape_set *set);
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
