/* run_shapes.c: matrix_shapes of a configuration: sets by name, and lists of [m, k, n]. */
#include "config/run_reading.h"

#include <stdio.h>
#include <string.h>

enum { MOST_CUSTOM = 4096, LARGEST_SIZE = 1 << 30 };

enum assay_status assay_read_node(struct assay_reading *r, const struct assay_key *key,
                                  const struct assay_yaml *node, void *target)
{
    (void)r;
    *ASSAY_KEY_FIELD(const struct assay_yaml *) = node;
    return ASSAY_OK;
}

enum assay_status assay_read_power(struct assay_reading *r, const struct assay_key *key,
                                   const struct assay_yaml *node, void *target)
{
    struct assay_set_draft *set = target;
    if (key->offset == offsetof(struct assay_set_draft, min_power))
        set->min_node = node;
    else
        set->max_node = node;
    return assay_read_int(r, key, node, target);
}

/* [m, k, n] */
static enum assay_status read_sizes(struct assay_reading *r, const struct assay_yaml *node,
                                    int64_t sizes[3])
{
    static const char *const names[] = {"m", "k", "n"};
    if (node->kind != ASSAY_YAML_LIST || assay_yaml_count(node) != 3)
        return assay_reading_fail(
            r, assay_place_of(node), "a shape is [m, k, n], three sizes%s",
            node->kind == ASSAY_YAML_LIST && assay_yaml_count(node) == 2 ? "; here are two" : "");
    const struct assay_yaml *at = node->first;
    for (int i = 0; i < 3; i++, at = at->next) {
        if (!assay_yaml_int(at, &sizes[i]))
            return assay_reading_wrong_type(r, names[i], at, "a whole number");
        if (sizes[i] < 1 || sizes[i] > LARGEST_SIZE)
            return assay_reading_fail(r, assay_place_of(at),
                                      "%s must lie between 1 and %d, not %lld", names[i],
                                      LARGEST_SIZE, (long long)sizes[i]);
    }
    return ASSAY_OK;
}

static enum assay_status add_custom(struct assay_reading *r, const struct assay_yaml *set,
                                    const struct assay_yaml *list, struct assay_shapes *shapes)
{
    if (!list)
        return assay_reading_fail(r, assay_place_of(set),
                                  "custom needs shapes: a list of [m, k, n]");
    if (list->kind != ASSAY_YAML_LIST)
        return assay_reading_wrong_type(r, "shapes", list, "a list of [m, k, n]");
    if (!list->first)
        return assay_reading_fail(r, assay_place_of(list),
                                  "shapes is an empty list; write [[m, k, n], ...]");
    if (list->first->kind == ASSAY_YAML_SCALAR)
        return assay_reading_fail(r, assay_place_of(list),
                                  "shapes is a list of shapes: write [[m, k, n]]");
    if (assay_yaml_count(list) > MOST_CUSTOM)
        return assay_reading_fail(r, assay_place_of(list), "more than %d shapes in one list",
                                  MOST_CUSTOM);
    for (const struct assay_yaml *at = list->first; at; at = at->next) {
        int64_t sizes[3], before = shapes->n;
        enum assay_status status = read_sizes(r, at, sizes);
        if (status == ASSAY_OK && assay_shapes_add_mkn(shapes, sizes, "custom", r->err) != ASSAY_OK)
            status = assay_reading_no_memory(r);
        if (status != ASSAY_OK)
            return status;
        if (shapes->n > before) {
            shapes->items[before].line = at->line;
            shapes->items[before].column = at->column;
        }
    }
    return ASSAY_OK;
}

static enum assay_status unknown_set(struct assay_reading *r, const struct assay_yaml *name)
{
    const char *known[32] = {"custom"};
    int64_t n = assay_shape_set_count();
    for (int64_t i = 0; i < n && i < 30; i++)
        known[i + 1] = assay_shape_set_at(i)->name;
    return assay_reading_unknown(r, name, "shapes", known);
}

static enum assay_status add_generated(struct assay_reading *r, const struct assay_set_draft *d,
                                       struct assay_shapes *shapes)
{
    struct assay_error why = {0};
    int64_t min, max, before = shapes->n;
    const struct assay_shape_set *set = assay_shape_set_find(d->name->text);
    if (!set)
        return unknown_set(r, d->name);
    const char *name = set->name;
    if (d->shapes)
        return assay_reading_fail(r, assay_place_of_key(d->shapes),
                                  "%s has its own shapes; those of a list are named custom", name);
    const struct assay_yaml *power = d->min_node ? d->min_node : d->max_node;
    if (!assay_shape_set_powers(set, &min, &max) && power)
        return assay_reading_fail(r, assay_place_of_key(power),
                                  "%s has no range of powers; leave out %s", name, power->key);
    min = d->min_node ? d->min_power : min;
    max = d->max_node ? d->max_power : max;
    enum assay_status status = assay_shapes_add_range(shapes, set, min, max, &why);
    if (status != ASSAY_OK)
        return assay_reading_pass_on(r, power ? power : d->name, status, &why, NULL);
    for (int64_t i = before; i < shapes->n; i++) {
        shapes->items[i].line = d->name->line;
        shapes->items[i].column = d->name->column;
    }
    return ASSAY_OK;
}

static enum assay_status add_set(struct assay_reading *r, const struct assay_yaml *node,
                                 struct assay_shapes *shapes)
{
    struct assay_set_draft draft = {0};
    if (node->kind != ASSAY_YAML_MAP)
        return assay_reading_fail(r, assay_place_of(node),
                                  "matrix_shapes takes mappings; write `name: %.60s`",
                                  node->kind == ASSAY_YAML_SCALAR ? node->text : "custom");
    enum assay_status status = assay_reading_members(r, node, 1u << ASSAY_KEY_SHAPES, &draft);
    if (status != ASSAY_OK)
        return status;
    if (!draft.name)
        return assay_reading_fail(r, assay_place_of(node),
                                  "these shapes have no name; write `name: custom`, or that "
                                  "of a set (`assay list shapes`)");
    if (draft.name->kind != ASSAY_YAML_SCALAR)
        return assay_reading_wrong_type(r, "name", draft.name, "the name of a set");
    if (!assay_text_same(draft.name->text, "custom"))
        status = add_generated(r, &draft, shapes);
    else if (draft.min_node || draft.max_node)
        status =
            assay_reading_fail(r, assay_place_of(draft.min_node ? draft.min_node : draft.max_node),
                               "custom has no range of powers; pow2 and sweep have");
    else
        status = add_custom(r, node, draft.shapes, shapes);
    if (status == ASSAY_OK && shapes->n > ASSAY_RUN_SHAPES)
        return assay_reading_fail(r, assay_place_of(node), "more than %d shapes", ASSAY_RUN_SHAPES);
    return status;
}

enum assay_status assay_read_shapes(struct assay_reading *r, const struct assay_key *key,
                                    const struct assay_yaml *node, void *target)
{
    struct assay_run_draft *draft = target;
    enum assay_status status = ASSAY_OK;
    draft->shapes = node;
    assay_shapes_fini(&draft->entry.shapes);
    if (node->kind == ASSAY_YAML_MAP)
        return add_set(r, node, &draft->entry.shapes);
    if (node->kind != ASSAY_YAML_LIST)
        return assay_reading_wrong_type(r, key->name, node, "a list of shapes");
    if (!node->first)
        return assay_reading_fail(r, assay_place_of(node),
                                  "matrix_shapes is an empty list; leave it out or name some");
    if (node->first->kind == ASSAY_YAML_LIST) /* [[m, k, n], …], as a draft of the format had it */
        return add_custom(r, node, node, &draft->entry.shapes);
    for (const struct assay_yaml *at = node->first; at && status == ASSAY_OK; at = at->next)
        status = add_set(r, at, &draft->entry.shapes);
    return status;
}
