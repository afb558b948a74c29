#include "report/chart/chart_split.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* ---- classes -------------------------------------------------------------------------------- */

/* Pairs of a class and a value, each with a number of its own: open addressing, at most half full.
 */
struct pairs {
    int64_t *keys; /* -1: free */
    int32_t *numbers;
    uint64_t n;
};

static int32_t *number_of(struct pairs *pairs, int64_t key)
{
    uint64_t at = (uint64_t)key * 0x9e3779b97f4a7c15u >> 20;
    while (pairs->keys[at % pairs->n] != -1 && pairs->keys[at % pairs->n] != key)
        at++;
    pairs->keys[at % pairs->n] = key;
    return &pairs->numbers[at % pairs->n];
}

/* Splits the classes by another axis; gives how many there are then. */
static int64_t split(const struct assay_chart_axes *axes, int64_t axis, struct pairs *pairs,
                     int32_t *of)
{
    int64_t n = 0, values = axes->axes[axis].n + 1;
    for (uint64_t i = 0; i < pairs->n; i++) {
        pairs->keys[i] = -1;
        pairs->numbers[i] = -1;
    }
    for (int64_t r = 0; r < axes->n_records; r++) {
        int64_t value = assay_chart_axes_at(axes, axis, r) + 1;
        int32_t *number = number_of(pairs, of[r] * values + value);
        if (*number < 0)
            *number = (int32_t)n++;
        of[r] = *number;
    }
    return n;
}

static void count_classes(const struct assay_chart_axes *axes, struct assay_chart_classes *c)
{
    for (int64_t r = 0; r < axes->n_records; r++) {
        struct assay_chart_class *its = &c->classes[c->of[r]];
        its->first = its->n++ ? its->first : r;
        its->shown = true;
    }
    c->n_shown = c->n;
}

bool assay_chart_classes_find(const struct assay_chart_axes *axes, const int64_t *which, int64_t n,
                              struct assay_chart_classes *classes)
{
    struct pairs pairs = {.n = 2 * (uint64_t)axes->n_records + 1};
    *classes = (struct assay_chart_classes){.n_axes = n, .n = axes->n_records > 0};
    pairs.keys = assay_malloc(pairs.n * sizeof *pairs.keys);
    pairs.numbers = assay_malloc(pairs.n * sizeof *pairs.numbers);
    classes->of = assay_calloc((size_t)axes->n_records + 1, sizeof *classes->of);
    bool whole = pairs.keys && pairs.numbers && classes->of;
    for (int64_t i = 0; i < n && whole; i++) {
        classes->axes[i] = which[i];
        classes->n = split(axes, which[i], &pairs, classes->of);
    }
    assay_free(pairs.keys);
    assay_free(pairs.numbers);
    classes->classes = assay_calloc((size_t)classes->n + 1, sizeof *classes->classes);
    if (!whole || !classes->classes) {
        assay_chart_classes_fini(classes);
        return false;
    }
    count_classes(axes, classes);
    return true;
}

void assay_chart_classes_fini(struct assay_chart_classes *classes)
{
    assay_free(classes->of);
    assay_free(classes->classes);
    *classes = (struct assay_chart_classes){0};
}

void assay_chart_classes_limit(struct assay_chart_classes *classes, int64_t most)
{
    while (classes->n_shown > most) {
        struct assay_chart_class *least = NULL;
        for (int64_t i = 0; i < classes->n; i++) {
            struct assay_chart_class *c = &classes->classes[i];
            if (c->shown && (!least || c->n <= least->n))
                least = c;
        }
        least->shown = false;
        classes->n_shown--;
    }
}

struct assay_cell assay_chart_class_name(const struct assay_chart_axes *axes,
                                         const struct assay_chart_classes *classes, int64_t index)
{
    struct assay_cell cell = {""};
    bool variant = false; /* what stands before is a variant's: "int8wo native" */
    for (int64_t i = 0; i < classes->n_axes; i++) {
        const struct assay_chart_axis *axis = &axes->axes[classes->axes[i]];
        int64_t at = assay_chart_axes_at(axes, classes->axes[i], classes->classes[index].first);
        const char *apart = !cell.text[0] ? "" : variant && axis->of_variants ? " " : " · ";
        if (at < 0 && axis->of_variants)
            continue; /* "native" needs no "no recipe" */
        variant = axis->of_variants;
        if (at < 0)
            assay_cell_add(&cell, "%sno %s", apart, axis->name);
        else
            assay_cell_add(&cell, "%s%s%s%s", apart, axis->numeric ? axis->name : "",
                           axis->numeric ? " " : "", axis->values[at].text);
    }
    if (!cell.text[0] && classes->n_axes > 0) /* a group of which nobody was measured */
        assay_cell_add(&cell, "not run");
    return cell;
}

bool assay_chart_series_find(const struct assay_chart_axes *axes,
                             struct assay_chart_classes *series)
{
    int64_t which[2], n = 0;
    bool recipes = assay_chart_axis_varies(&axes->axes[ASSAY_CHART_AXIS_RECIPE]);
    if (recipes)
        which[n++] = ASSAY_CHART_AXIS_RECIPE;
    if (assay_chart_axis_varies(&axes->axes[ASSAY_CHART_AXIS_IMPLEMENTATION]) || !recipes)
        which[n++] = ASSAY_CHART_AXIS_IMPLEMENTATION;
    return assay_chart_classes_find(axes, which, n, series);
}

/* ---- the axes beside those of a chart ------------------------------------------------------- */

static bool is_size(const struct assay_chart_axis *axis)
{
    return axis->kind >= ASSAY_CHART_AXIS_SIZE;
}

static double number_at(const struct assay_chart_axes *axes, int64_t axis, int64_t record)
{
    int64_t at = assay_chart_axes_at(axes, axis, record);
    return at < 0 ? (double)NAN : axes->axes[axis].values[at].number;
}

/* Is it the same multiple of the leader in all records? */
static bool is_proportional(const struct assay_chart_axes *axes, int64_t axis, int64_t leader)
{
    double factor = (double)NAN;
    for (int64_t r = 0; r < axes->n_records; r++) {
        double ratio = number_at(axes, axis, r) / number_at(axes, leader, r);
        if (r > 0 && !(fabs(ratio - factor) <= 1e-9 * factor))
            return false;
        factor = ratio;
    }
    return isfinite(factor);
}

/* Does the value of `axis` come with that of the chart's axis `leader`? */
static bool comes_with(const struct assay_chart_axes *axes, int64_t axis, int64_t leader,
                       enum assay_chart_rest rest)
{
    const struct assay_chart_axis *a = &axes->axes[axis], *l = &axes->axes[leader];
    if (is_size(a) && (l->kind == ASSAY_CHART_AXIS_MEMORY || l->kind == ASSAY_CHART_AXIS_SHAPE))
        return true;
    if (rest == ASSAY_CHART_REST_STRICT)
        return is_size(a) && is_size(l) && is_proportional(axes, axis, leader);
    return assay_chart_axes_follows(axes, axis, leader);
}

/* A name of the sizes tells nothing that they do not. */
static bool names_sizes(const struct assay_chart_axes *axes, int64_t axis)
{
    enum assay_chart_axis_kind kind = axes->axes[axis].kind;
    return kind == ASSAY_CHART_AXIS_SHAPE || kind == ASSAY_CHART_AXIS_MEMORY ||
           ((kind == ASSAY_CHART_AXIS_LABEL || kind == ASSAY_CHART_AXIS_ENTRY) &&
            assay_chart_axes_follows(axes, axis, ASSAY_CHART_AXIS_SHAPE));
}

static bool is_any(const int64_t *list, int64_t n, int64_t axis)
{
    for (int64_t i = 0; i < n; i++)
        if (list[i] == axis)
            return true;
    return false;
}

/* Sizes stay: a panel of one batch is named with the seq that comes with it. */
static bool splits_further(const struct assay_chart_axes *axes, const int64_t *kept, int64_t n,
                           int64_t axis)
{
    for (int64_t i = 0; i < n; i++)
        if (!is_size(&axes->axes[axis]) && assay_chart_axes_follows(axes, axis, kept[i]))
            return false;
    return true;
}

static bool is_rest(const struct assay_chart_axes *axes, const int64_t *used, int64_t n_used,
                    enum assay_chart_rest rest, int64_t axis)
{
    if (!assay_chart_axis_varies(&axes->axes[axis]) || is_any(used, n_used, axis) ||
        names_sizes(axes, axis))
        return false;
    for (int64_t i = 0; i < n_used; i++)
        if (comes_with(axes, axis, used[i], rest))
            return false;
    return true;
}

int64_t assay_chart_rest_find(const struct assay_chart_axes *axes, const int64_t *used,
                              int64_t n_used, enum assay_chart_rest rest, bool variants,
                              int64_t out[ASSAY_CHART_AXES_MOST])
{
    int64_t n = 0;
    for (int64_t i = 0; i < axes->n; i++) {
        /* Runs come last: where another axis tells them apart, that one says more. */
        int64_t a = i + 1 < axes->n ? i + 1 : ASSAY_CHART_AXIS_RUN;
        if ((variants || !axes->axes[a].of_variants) && is_rest(axes, used, n_used, rest, a) &&
            splits_further(axes, out, n, a))
            out[n++] = a;
    }
    return n;
}

struct assay_cell assay_chart_changing(const struct assay_chart_axes *axes, int64_t leader,
                                       enum assay_chart_rest rest)
{
    struct assay_cell cell = {""};
    const struct assay_chart_axis *list[ASSAY_CHART_AXES_MOST];
    int64_t n = 0;
    for (int64_t a = 0; a < axes->n; a++) {
        const struct assay_chart_axis *axis = &axes->axes[a];
        if (a != leader && assay_chart_axis_varies(axis) && !axis->of_variants &&
            !names_sizes(axes, a) && comes_with(axes, a, leader, rest))
            list[n++] = axis;
    }
    for (int64_t i = 0; i < n; i++)
        assay_cell_add(&cell, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ", list[i]->name);
    if (n > 0)
        assay_cell_add(&cell, " %s with %s", n > 1 ? "change" : "changes", axes->axes[leader].name);
    return cell;
}

struct assay_cell assay_chart_fixed(const struct assay_chart_axes *axes)
{
    struct assay_cell cell = {""};
    for (int64_t a = ASSAY_CHART_AXIS_SIZE; a < axes->n; a++) {
        const struct assay_chart_axis *axis = &axes->axes[a];
        if (axis->n == 1 && !axis->partial)
            assay_cell_add(&cell, "%s%s %s", cell.text[0] ? ", " : "", axis->name,
                           axis->values[0].text);
    }
    return cell;
}

/* ---- swept axes ----------------------------------------------------------------------------- */

static bool can_be_swept(const struct assay_chart_axis *axis)
{
    return axis->numeric && axis->n > 1 &&
           (is_size(axis) || axis->kind == ASSAY_CHART_AXIS_THREADS);
}

/* How many values the chart's axes together have where all others are the same, at the most; -1
 * without memory. */
static int64_t values_in_one(const struct assay_chart_axes *axes, const int64_t *used, int64_t n)
{
    int64_t which[ASSAY_CHART_AXES_MOST], most = -1;
    int64_t n_rest = assay_chart_rest_find(axes, used, n, ASSAY_CHART_REST_STRICT, false, which);
    struct assay_chart_classes rest = {0}, all = {0};
    int64_t *counts = NULL;
    if (!assay_chart_classes_find(axes, which, n_rest, &rest))
        return -1;
    for (int64_t i = 0; i < n; i++)
        which[n_rest + i] = used[i];
    counts = assay_calloc((size_t)rest.n + 1, sizeof *counts);
    if (counts && assay_chart_classes_find(axes, which, n_rest + n, &all)) {
        most = 0;
        for (int64_t i = 0; i < all.n; i++) {
            int64_t count = ++counts[rest.of[all.classes[i].first]];
            most = count > most ? count : most;
        }
    }
    assay_free(counts);
    assay_chart_classes_fini(&rest);
    assay_chart_classes_fini(&all);
    return most;
}

/* The longest sweep of any but `other`; with it, at least half of a grid must be there. */
static void find_longest(const struct assay_chart_axes *axes, struct assay_chart_sweeps *s,
                         int64_t other, int64_t *axis, int64_t *values)
{
    for (int64_t a = 0; a < axes->n; a++) {
        if (!can_be_swept(&axes->axes[a]) || a == other ||
            (other >= 0 && is_proportional(axes, a, other)))
            continue;
        int64_t n = values_in_one(axes, &a, 1);
        s->failed |= n < 0;
        if (n < 2 || n <= *values)
            continue;
        if (other >= 0) {
            int64_t in_grid = values_in_one(axes, (int64_t[]){other, a}, 2);
            s->failed |= in_grid < 0;
            if (2 * in_grid < n * s->nx)
                continue;
        }
        *axis = a;
        *values = n;
    }
}

struct assay_chart_sweeps assay_chart_sweeps_find(const struct assay_chart_axes *axes)
{
    struct assay_chart_sweeps s = {.x = -1, .y = -1};
    find_longest(axes, &s, -1, &s.x, &s.nx);
    if (s.x >= 0)
        find_longest(axes, &s, s.x, &s.y, &s.ny);
    return s;
}
