#include "config/shapes.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* 2^30 is more than any machine holds of anything squared, and 31 powers are quickly counted. */
enum { MOST_POWER = 30 };

#define ASSAY_SHAPES(n) extern const struct assay_shape_set assay_shapes_##n;
#include "config/shapes/shape_list.h"
#undef ASSAY_SHAPES

static const struct assay_shape_set *const sets[] = {
#define ASSAY_SHAPES(n) &assay_shapes_##n,
#include "config/shapes/shape_list.h"
#undef ASSAY_SHAPES
};

enum { SETS = sizeof sets / sizeof sets[0] };

int64_t assay_shape_set_count(void) { return SETS; }
const struct assay_shape_set *assay_shape_set_at(int64_t index) { return sets[index]; }

void assay_shapes_fini(struct assay_shapes *shapes)
{
    assay_free(shapes->items);
    *shapes = (struct assay_shapes){0};
}

static enum assay_status add(struct assay_shapes *shapes, const struct assay_shape *shape,
                             struct assay_error *err)
{
    if (shapes->n == shapes->capacity) {
        int64_t capacity = shapes->capacity ? shapes->capacity * 2 : 16;
        struct assay_shape *items = assay_realloc(shapes->items, (size_t)capacity, sizeof *items);
        if (!items)
            return assay_error_nomem(err);
        shapes->items = items;
        shapes->capacity = capacity;
    }
    shapes->items[shapes->n++] = *shape;
    return ASSAY_OK;
}

/* ---- as sizes ----------------------------------------------------------------------------- */

static bool is_there(const struct assay_shapes *shapes, const struct assay_shape *shape)
{
    for (int64_t i = 0; i < shapes->n; i++) {
        const struct assay_shape *other = &shapes->items[i];
        if (other->n == shape->n && strcmp(other->label, shape->label) == 0 &&
            memcmp(other->sizes, shape->sizes, (size_t)shape->n * sizeof *shape->sizes) == 0)
            return true;
    }
    return false;
}

enum assay_status assay_shapes_add_text(struct assay_shapes *shapes, const char *text,
                                        struct assay_error *err)
{
    struct assay_shape shape = {0};
    for (const char *at = text;;) {
        char number[32];
        size_t length = strcspn(at, "xX");
        int64_t size = 0;
        snprintf(number, sizeof number, "%.*s", (int)(length < 31 ? length : 31), at);
        if (length == 0 || length > 30 || assay_text_int64(number, &size) != ASSAY_OK)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "--shape \"%.100s\" is not a shape; write 1024x4096x4096", text);
        if (size < 1)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "--shape \"%.100s\": sizes must be at least 1", text);
        if (shape.n == ASSAY_MAX_AXES)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "--shape \"%.100s\" has more than %d sizes", text,
                                   ASSAY_MAX_AXES);
        shape.sizes[shape.n++] = size;
        if (!at[length])
            break;
        at += length + 1;
    }
    return is_there(shapes, &shape) ? ASSAY_OK : add(shapes, &shape, err);
}

/* ---- as a set ----------------------------------------------------------------------------- */

enum assay_status assay_shapes_add_mkn(struct assay_shapes *shapes, const int64_t sizes[3],
                                       const char *label, struct assay_error *err)
{
    struct assay_shape shape = {.n = 3, .sizes = {sizes[0], sizes[1], sizes[2]}};
    snprintf(shape.label, sizeof shape.label, "%s", label);
    return is_there(shapes, &shape) ? ASSAY_OK : add(shapes, &shape, err);
}

static enum assay_status add_mkn(struct assay_shapes *shapes, int64_t m, int64_t k, int64_t n,
                                 const char *set, const char *name, struct assay_error *err)
{
    struct assay_shape shape = {.n = 3, .sizes = {m, k, n}};
    snprintf(shape.label, sizeof shape.label, "%s_%s", set, name);
    return add(shapes, &shape, err);
}

/* Numbered from 0 within its set. */
static enum assay_status add_next(struct assay_shapes *shapes, int64_t m, int64_t k, int64_t n,
                                  const char *set, int64_t *number, struct assay_error *err)
{
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)(*number)++);
    return add_mkn(shapes, m, k, n, set, name, err);
}

static enum assay_status add_model(struct assay_shapes *shapes, const struct assay_shape_set *set,
                                   struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (size_t i = 0; i < sizeof set->m / sizeof set->m[0] && set->m[i]; i++)
        for (const struct assay_weight_shape *w = set->weights; w->name && status == ASSAY_OK; w++)
            status = add_mkn(shapes, set->m[i], w->k, w->n, set->name, w->name, err);
    return status;
}

static enum assay_status add_cubes(struct assay_shapes *shapes, const struct assay_shape_set *set,
                                   struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    int64_t number = 0;
    for (int64_t p = set->min_power; p <= set->max_power && status == ASSAY_OK; p++) {
        int64_t whole = (int64_t)1 << p, larger = whole + whole / 2;
        status = add_next(shapes, whole, whole, whole, set->name, &number, err);
        if (status == ASSAY_OK && set->pattern == ASSAY_SHAPES_CUBES_AND_HALVES)
            status = add_next(shapes, larger, larger, larger, set->name, &number, err);
    }
    return status;
}

static enum assay_status add_combinations(struct assay_shapes *shapes,
                                          const struct assay_shape_set *set,
                                          struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    int64_t number = 0, lo = set->min_power, hi = set->max_power;
    bool ascending = set->pattern == ASSAY_SHAPES_ASCENDING;
    for (int64_t m = lo; m <= hi; m++)
        for (int64_t k = ascending ? m : lo; k <= hi; k++)
            for (int64_t n = ascending ? k : lo; n <= hi && status == ASSAY_OK; n++)
                status = add_next(shapes, (int64_t)1 << m, (int64_t)1 << k, (int64_t)1 << n,
                                  set->name, &number, err);
    return status;
}

const struct assay_shape_set *assay_shape_set_find(const char *name)
{
    for (int i = 0; i < SETS; i++)
        if (assay_text_same(sets[i]->name, name))
            return sets[i];
    return NULL;
}

bool assay_shape_set_powers(const struct assay_shape_set *set, int64_t *min, int64_t *max)
{
    *min = set->min_power;
    *max = set->max_power;
    return set->pattern != ASSAY_SHAPES_OF_WEIGHTS;
}

static enum assay_status check_range(const struct assay_shape_set *set, struct assay_error *err)
{
    int64_t least = set->pattern == ASSAY_SHAPES_CUBES_AND_HALVES ? 1 : 0; /* 2^0 has no half */
    if (set->min_power > set->max_power)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "the range of powers from %lld to %lld runs backwards",
                               (long long)set->min_power, (long long)set->max_power);
    if (set->min_power < least || set->max_power > MOST_POWER)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "powers of %s lie between %lld and %d",
                               set->name, (long long)least, MOST_POWER);
    return ASSAY_OK;
}

enum assay_status assay_shapes_add_range(struct assay_shapes *shapes,
                                         const struct assay_shape_set *of, int64_t min, int64_t max,
                                         struct assay_error *err)
{
    struct assay_shape_set set = *of;
    if (set.pattern == ASSAY_SHAPES_OF_WEIGHTS)
        return add_model(shapes, &set, err);
    set.min_power = min;
    set.max_power = max;
    enum assay_status status = check_range(&set, err);
    if (status != ASSAY_OK)
        return status;
    return set.pattern == ASSAY_SHAPES_CUBES || set.pattern == ASSAY_SHAPES_CUBES_AND_HALVES
               ? add_cubes(shapes, &set, err)
               : add_combinations(shapes, &set, err);
}

static enum assay_status unknown_set(const char *name, struct assay_error *err)
{
    const char *names[SETS];
    for (int i = 0; i < SETS; i++)
        names[i] = sets[i]->name;
    const char *nearest = assay_text_nearest(name, names, SETS);
    if (nearest)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--shapes: unknown set \"%s\"; did you mean \"%s\"?", name, nearest);
    return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                           "--shapes: unknown set \"%s\"; `assay list shapes` shows them all%s",
                           name, strchr(name, 'x') ? ", and sizes are written --shape MxKxN" : "");
}

/* ":10:12" */
static enum assay_status read_range(const char *text, const char *range,
                                    const struct assay_shape_set *set, int64_t *min, int64_t *max,
                                    struct assay_error *err)
{
    char from[16], to[16], rest;
    if (set->pattern == ASSAY_SHAPES_OF_WEIGHTS)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--shapes \"%s\": %s has no range; write only its name", text,
                               set->name);
    if (sscanf(range, ":%15[^:]:%15[^:]%c", from, to, &rest) != 2 ||
        assay_text_int64(from, min) != ASSAY_OK || assay_text_int64(to, max) != ASSAY_OK)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "--shapes \"%s\" is not a range of powers; write %s:%lld:%lld", text,
                               set->name, (long long)set->min_power, (long long)set->max_power);
    return ASSAY_OK;
}

enum assay_status assay_shapes_add_set(struct assay_shapes *shapes, const char *text,
                                       struct assay_error *err)
{
    char name[64];
    struct assay_error why = {0};
    size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < 63 ? length : 63), text);
    const struct assay_shape_set *set = assay_shape_set_find(name);
    if (!set)
        return unknown_set(name, err);
    int64_t min = set->min_power, max = set->max_power;
    enum assay_status status =
        text[length] ? read_range(text, text + length, set, &min, &max, err) : ASSAY_OK;
    if (status != ASSAY_OK)
        return status;
    status = assay_shapes_add_range(shapes, set, min, max, &why);
    if (status != ASSAY_OK)
        assay_error_set(err, status, NULL, "--shapes \"%.100s\": %.300s", text, why.message);
    return status;
}
