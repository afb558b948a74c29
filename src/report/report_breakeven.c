#include "report/report_breakeven.h"

#include "base/alloc.h"
#include "op/op.h"
#include "report/report_pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

/* One more; what is there stays. NULL without memory. */
static struct assay_breakeven_point *more_points(struct assay_breakevens *all)
{
    if (all->n_points == all->capacity) {
        int64_t capacity = all->capacity ? 2 * all->capacity : 64;
        void *moved = assay_realloc(all->points, (size_t)capacity, sizeof *all->points);
        all->failed |= !moved;
        if (!moved)
            return NULL;
        all->points = moved;
        all->capacity = capacity;
    }
    struct assay_breakeven_point *point = &all->points[all->n_points++];
    memset(point, 0, sizeof *point);
    return point;
}

void assay_breakevens_fini(struct assay_breakevens *all)
{
    assay_free(all->points);
    assay_free(all->items);
    *all = (struct assay_breakevens){0};
}

/* ---- points --------------------------------------------------------------------------------- */

/* The reference is there to be right. */
static bool takes_part(const struct assay_record *record)
{
    return record->recipe[0] && !is(record->recipe, "baseline") &&
           !is(record->implementation, "ref") && !assay_cell_is_workload(record);
}

static void set_times(struct assay_breakeven_point *point, const struct assay_record *record,
                      const struct assay_record *base)
{
    const struct assay_measurement *m = &record->states[point->state];
    bool figures = record->outcome == ASSAY_OUTCOME_OK && m->measured && m->has_ratio &&
                   m->ratio.ratio > 0 && isfinite(m->ratio.ratio) && base &&
                   base->states[point->state].measured;
    point->open = !figures;
    if (!figures)
        return;
    const struct assay_measurement *of_base = &base->states[point->state];
    point->ratio = m->ratio.ratio;
    point->ci = m->ratio.ci;
    point->base_ns = of_base->time.median;
    point->own_ns = m->time.median;
    point->base = of_base->time.median_ci;
    point->own = m->time.median_ci;
    enum assay_verdict verdict = assay_cell_verdict(&m->ratio);
    point->open = verdict != ASSAY_VERDICT_FASTER && verdict != ASSAY_VERDICT_SLOWER;
    point->same = verdict == ASSAY_VERDICT_SAME;
}

/* The number of its op, in the order in which they came. `point` is the last one. */
static int64_t order_of(const struct assay_breakevens *all,
                        const struct assay_breakeven_point *point)
{
    int64_t next = 0;
    for (const struct assay_breakeven_point *p = point - 1; p >= all->points; p--) {
        if (is(p->op.text, point->op.text))
            return p->order;
        next = p->order >= next ? p->order + 1 : next;
    }
    return next;
}

static void add_point(struct assay_breakevens *all, const struct assay_record *records, int64_t n,
                      const struct assay_record *record, enum assay_cache_state state)
{
    struct assay_breakeven_point *point = more_points(all);
    if (!point)
        return;
    assay_cell_add(&point->op, "%s%s%s", assay_cell_subject(record), record->mode[0] ? " " : "",
                   record->mode);
    point->variant = assay_cell_name(record, records, n);
    snprintf(point->recipe, sizeof point->recipe, "%s", record->recipe);
    point->order = order_of(all, point);
    point->run = all->run;
    point->threads = record->threads;
    point->dtype = record->dtype;
    point->state = state;
    point->n_axes = record->n_axes;
    memcpy(point->axes, record->axes, sizeof point->axes);
    memcpy(point->axis_names, record->axis_names, sizeof point->axis_names);
    set_times(point, record, assay_pair_baseline(records, n, record));
}

void assay_breakevens_add(struct assay_breakevens *all, const struct assay_record *records,
                          int64_t n)
{
    bool measured[ASSAY_CACHE_STATES] = {false};
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < ASSAY_CACHE_STATES; s++)
            measured[s] |= records[i].states[s].measured;
    for (int64_t i = 0; i < n; i++)
        for (int s = 0; s < ASSAY_CACHE_STATES && takes_part(&records[i]); s++)
            if (measured[s])
                add_point(all, records, n, &records[i], (enum assay_cache_state)s);
}

int assay_breakeven_direction(const struct assay_breakeven_point *point)
{
    if (point->open)
        return 0;
    return point->ci.lo > 1 ? 1 : point->ci.hi < 1 ? -1 : 0;
}

/* ---- whole steps ---------------------------------------------------------------------------- */

static bool same_problem(const struct assay_breakeven_point *a,
                         const struct assay_breakeven_point *b)
{
    return a->run == b->run && a->threads == b->threads && a->dtype == b->dtype &&
           a->state == b->state && a->n_axes == b->n_axes &&
           memcmp(a->axes, b->axes, sizeof a->axes) == 0 && is(a->recipe, b->recipe) &&
           is(a->variant.text, b->variant.text);
}

static void add_times(struct assay_breakeven_point *sum, const struct assay_breakeven_point *part)
{
    sum->base_ns += part->base_ns;
    sum->own_ns += part->own_ns;
    sum->base.lo += part->base.lo;
    sum->base.hi += part->base.hi;
    sum->own.lo += part->own.lo;
    sum->own.hi += part->own.hi;
}

/* Adds the part of a step in this mode; false where it was not measured. */
static bool add_part(const struct assay_breakevens *all, int64_t points, const char *op,
                     const char *mode, struct assay_breakeven_point *sum)
{
    struct assay_cell name = {""};
    assay_cell_add(&name, "%s %s", op, mode);
    for (int64_t i = 0; i < points; i++) {
        const struct assay_breakeven_point *part = &all->points[i];
        if (is(part->op.text, name.text) && same_problem(part, sum) && part->own_ns > 0) {
            add_times(sum, part);
            return true;
        }
    }
    return false;
}

/* The forward op whose output this op computes in training, where its gradient's products are
 * measured one by one; NULL: it is none. */
static const struct assay_op *forward_of(const char *step_op)
{
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (op->step_op && is(op->step_op, step_op))
            return op;
    }
    return NULL;
}

/* A point of the whole step of each point of its forward product. */
static void add_steps(struct assay_breakevens *all)
{
    int64_t points = all->n_points;
    for (int64_t i = 0; i < points; i++) {
        struct assay_breakeven_point sum = all->points[i];
        const struct assay_op *forward = forward_of(sum.op.text);
        const struct assay_op *backward =
            forward ? assay_op_of_pass(forward, ASSAY_PASS_BACKWARD) : NULL;
        bool whole = backward && backward->step_modes && sum.own_ns > 0;
        for (const char *const *mode = whole ? backward->step_modes : NULL; whole && *mode; mode++)
            whole = add_part(all, points, backward->name, *mode, &sum);
        if (!whole)
            continue;
        sum.op = (struct assay_cell){""};
        assay_cell_add(&sum.op, "%s, a whole step", forward->name);
        sum.ratio = sum.base_ns / sum.own_ns;
        sum.ci = (struct assay_interval){sum.base.lo / sum.own.hi, sum.base.hi / sum.own.lo};
        sum.open = sum.same = false;
        sum.order = points; /* behind all others */
        struct assay_breakeven_point *point = more_points(all);
        if (point)
            *point = sum;
    }
}

/* ---- sweeps --------------------------------------------------------------------------------- */

static int compare_axes(const struct assay_breakeven_point *p,
                        const struct assay_breakeven_point *q)
{
    for (int32_t i = 0; i < p->n_axes; i++)
        if (p->axes[i] != q->axes[i])
            return p->axes[i] < q->axes[i] ? -1 : 1;
    return 0;
}

/* Points of one series side by side, their shapes in order. */
static int by_series(const void *a, const void *b)
{
    const struct assay_breakeven_point *p = a, *q = b;
    int order = p->order < q->order ? -1 : p->order > q->order;
    if (order == 0)
        order = p->run < q->run ? -1 : p->run > q->run;
    if (order == 0)
        order = p->threads - q->threads;
    if (order == 0)
        order = (int)p->dtype - (int)q->dtype;
    if (order == 0)
        order = (int)p->state - (int)q->state;
    if (order == 0)
        order = strcmp(p->variant.text, q->variant.text);
    if (order == 0)
        order = p->n_axes - q->n_axes;
    return order ? order : compare_axes(p, q);
}

static bool same_series(const struct assay_breakeven_point *p,
                        const struct assay_breakeven_point *q)
{
    return is(p->op.text, q->op.text) && p->run == q->run && p->threads == q->threads &&
           p->dtype == q->dtype && p->state == q->state && is(p->variant.text, q->variant.text) &&
           p->n_axes == q->n_axes;
}

static bool varies(const struct assay_breakeven_point *points, int64_t n, int32_t axis)
{
    for (int64_t i = 1; i < n; i++)
        if (points[i].axes[axis] != points[0].axes[axis])
            return true;
    return false;
}

/* Do all sizes that differ grow together? */
static bool is_chain(const struct assay_breakeven_point *points, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        for (int32_t a = 0; a < points[0].n_axes; a++)
            if (points[i].axes[a] < points[i - 1].axes[a])
                return false;
    return true;
}

static bool all_sizes_equal(const struct assay_breakeven_point *points, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int32_t a = 1; a < points[i].n_axes; a++)
            if (points[i].axes[a] != points[i].axes[0])
                return false;
    return points[0].n_axes > 1;
}

/* What grows, and what stands still. */
static void name_axes(struct assay_breakeven *item, const struct assay_breakeven_point *points)
{
    int32_t growing = 0, last = 0;
    for (int32_t a = 0; a < points[0].n_axes; a++)
        if (varies(points, item->n, a)) {
            growing++;
            last = a;
        }
    if (growing > 1 && all_sizes_equal(points, item->n)) {
        for (int32_t a = 0; a < points[0].n_axes; a++)
            assay_cell_add(&item->axis, "%s%s", a ? " = " : "", points[0].axis_names[a]);
        return;
    }
    assay_cell_add(&item->axis, "%s", growing == 1 ? points[0].axis_names[last] : "shape");
    for (int32_t a = 0; a < points[0].n_axes && growing == 1; a++)
        if (a != last)
            assay_cell_add(&item->fixed, "%s%s=%lld", item->fixed.text[0] ? " " : "",
                           points[0].axis_names[a], (long long)points[0].axes[a]);
}

struct assay_cell assay_breakeven_size(const struct assay_breakevens *all,
                                       const struct assay_breakeven *item, int64_t point)
{
    const struct assay_breakeven_point *p = &all->points[item->point + point];
    struct assay_cell cell = {""};
    if (is(item->axis.text, "shape")) {
        for (int32_t a = 0; a < p->n_axes; a++)
            assay_cell_add(&cell, "%s%lld", a ? "x" : "", (long long)p->axes[a]);
        return cell;
    }
    for (int32_t a = 0; a < p->n_axes; a++) /* the one that grows; of "m = k = n" the first */
        if (strchr(item->axis.text, '=') || is(item->axis.text, p->axis_names[a])) {
            assay_cell_add(&cell, "%lld", (long long)p->axes[a]);
            break;
        }
    return cell;
}

/* ---- verdicts ------------------------------------------------------------------------------- */

const char *assay_breakeven_word(enum assay_breakeven_verdict verdict)
{
    static const char *const words[ASSAY_PAYS_VERDICTS] = {"everywhere", "between", "from",
                                                           "nowhere", "unclear"};
    return words[verdict];
}

static void judge(const struct assay_breakevens *all, struct assay_breakeven *item)
{
    const struct assay_breakeven_point *points = &all->points[item->point];
    int64_t from = item->n, below = -1, not_paying = 0;
    while (from > 0 && assay_breakeven_direction(&points[from - 1]) > 0)
        from--;
    for (int64_t i = 0; i < item->n; i++) {
        bool loses = assay_breakeven_direction(&points[i]) < 0;
        not_paying += loses || points[i].same;
        below = loses && i < from ? i : below;
    }
    item->first = assay_breakeven_size(all, item, 0);
    item->last = assay_breakeven_size(all, item, item->n - 1);
    if (from < item->n)
        item->from = assay_breakeven_size(all, item, from);
    if (from < item->n && below >= 0)
        item->below = assay_breakeven_size(all, item, below);
    item->verdict = from == 0 ? ASSAY_PAYS_EVERYWHERE
                    : from == item->n
                        ? (not_paying == item->n ? ASSAY_PAYS_NOWHERE : ASSAY_PAYS_UNCLEAR)
                    : below >= 0 ? ASSAY_PAYS_BETWEEN
                                 : ASSAY_PAYS_FROM;
}

/* Shapes are in order: with the first like the last there is no sweep. */
static void add_item(struct assay_breakevens *all, int64_t first, int64_t n)
{
    if (all->failed || compare_axes(&all->points[first], &all->points[first + n - 1]) == 0)
        return;
    if (all->n == all->items_capacity) {
        int64_t capacity = all->items_capacity ? 2 * all->items_capacity : 16;
        void *moved = assay_realloc(all->items, (size_t)capacity, sizeof *all->items);
        all->failed |= !moved;
        if (!moved)
            return;
        all->items = moved;
        all->items_capacity = capacity;
    }
    const struct assay_breakeven_point *point = &all->points[first];
    struct assay_breakeven *item = &all->items[all->n++];
    *item = (struct assay_breakeven){.op = point->op,
                                     .variant = point->variant,
                                     .dtype = point->dtype,
                                     .state = point->state,
                                     .point = first,
                                     .n = n};
    snprintf(item->recipe, sizeof item->recipe, "%s", point->recipe);
    name_axes(item, point);
    judge(all, item);
}

/* The size that has the most values: along it the sweep is cut. */
static int32_t longest_axis(const struct assay_breakeven_point *points, int64_t n)
{
    int32_t longest = 0;
    int64_t most = 0;
    for (int32_t a = 0; a < points[0].n_axes; a++) {
        int64_t values = 0;
        for (int64_t i = 0; i < n; i++) {
            bool seen = false;
            for (int64_t j = 0; j < i && !seen; j++)
                seen = points[j].axes[a] == points[i].axes[a];
            values += !seen;
        }
        if (values > most) {
            most = values;
            longest = a;
        }
    }
    return longest;
}

static bool same_but(const struct assay_breakeven_point *p, const struct assay_breakeven_point *q,
                     int32_t axis)
{
    for (int32_t a = 0; a < p->n_axes; a++)
        if (a != axis && p->axes[a] != q->axes[a])
            return false;
    return true;
}

/* Points that differ in one size alone move side by side, and stay in order. */
static void add_pieces(struct assay_breakevens *all, int64_t first, int64_t n)
{
    struct assay_breakeven_point *points = &all->points[first];
    int32_t axis = longest_axis(points, n);
    for (int64_t begin = 0, end; begin < n; begin = end) {
        end = begin + 1;
        for (int64_t i = end; i < n; i++) {
            if (!same_but(&points[begin], &points[i], axis))
                continue;
            struct assay_breakeven_point moved = points[i];
            memmove(&points[end + 1], &points[end], (size_t)(i - end) * sizeof *points);
            points[end++] = moved;
        }
        add_item(all, first + begin, end - begin);
    }
}

void assay_breakevens_find(struct assay_breakevens *all)
{
    all->n = 0;
    add_steps(all);
    if (all->n_points > 1)
        qsort(all->points, (size_t)all->n_points, sizeof *all->points, by_series);
    for (int64_t first = 0, end; first < all->n_points; first = end) {
        for (end = first + 1; end < all->n_points; end++)
            if (!same_series(&all->points[first], &all->points[end]))
                break;
        if (is_chain(&all->points[first], end - first))
            add_item(all, first, end - first);
        else
            add_pieces(all, first, end - first);
    }
}

/* ---- what is said --------------------------------------------------------------------------- */

struct assay_cell assay_breakeven_text(const struct assay_breakeven *item)
{
    struct assay_cell cell = {""};
    switch (item->verdict) {
    case ASSAY_PAYS_EVERYWHERE:
        assay_cell_add(&cell, "pays everywhere in %s…%s", item->first.text, item->last.text);
        break;
    case ASSAY_PAYS_BETWEEN:
        assay_cell_add(&cell, "pays from %s on: break-even between %s and %s", item->from.text,
                       item->below.text, item->from.text);
        break;
    case ASSAY_PAYS_FROM:
        assay_cell_add(&cell, "pays from %s on, unclear below", item->from.text);
        break;
    case ASSAY_PAYS_NOWHERE:
        assay_cell_add(&cell, "pays nowhere in %s…%s", item->first.text, item->last.text);
        break;
    default:
        assay_cell_add(&cell, "unclear in %s…%s", item->first.text, item->last.text);
    }
    return cell;
}

struct assay_cell assay_breakeven_heading(const struct assay_breakeven *item)
{
    struct assay_cell cell = {""};
    assay_cell_add(&cell, "%s %s %s, along %s", item->op.text, assay_dtype_name(item->dtype),
                   assay_cache_state_name(item->state), item->axis.text);
    if (item->fixed.text[0])
        assay_cell_add(&cell, " at %s", item->fixed.text);
    return cell;
}

static assay_json *point_to_json(const struct assay_breakevens *all,
                                 const struct assay_breakeven *item, int64_t i)
{
    const struct assay_breakeven_point *point = &all->points[item->point + i];
    assay_json *out = assay_json_object();
    assay_json_put_string(out, "size", assay_breakeven_size(all, item, i).text);
    assay_json_put(out, "speedup",
                   assay_json_from_double(point->ratio > 0 ? point->ratio : (double)NAN));
    assay_json_put(out, "speedup_lo",
                   assay_json_from_double(point->ratio > 0 ? point->ci.lo : (double)NAN));
    assay_json_put(out, "speedup_hi",
                   assay_json_from_double(point->ratio > 0 ? point->ci.hi : (double)NAN));
    assay_json_put(out, "open", assay_json_from_bool(assay_breakeven_direction(point) == 0));
    return out;
}

static assay_json *item_to_json(const struct assay_breakevens *all,
                                const struct assay_breakeven *item)
{
    assay_json *out = assay_json_object(), *points = assay_json_array();
    assay_json_put_string(out, "op", item->op.text);
    assay_json_put_string(out, "recipe", item->recipe);
    assay_json_put_string(out, "variant", item->variant.text);
    assay_json_put_string(out, "dtype", assay_dtype_name(item->dtype));
    assay_json_put_string(out, "cache", assay_cache_state_name(item->state));
    assay_json_put_string(out, "axis", item->axis.text);
    assay_json_put_string(out, "fixed", item->fixed.text);
    assay_json_put_string(out, "verdict", assay_breakeven_word(item->verdict));
    assay_json_put_string(out, "below", item->below.text);
    assay_json_put_string(out, "from", item->from.text);
    for (int64_t i = 0; i < item->n; i++)
        assay_json_append(points, point_to_json(all, item, i));
    assay_json_put(out, "points", points);
    return out;
}

assay_json *assay_breakevens_to_json(const struct assay_breakevens *all)
{
    assay_json *out = assay_json_array();
    for (int64_t i = 0; i < all->n; i++)
        assay_json_append(out, item_to_json(all, &all->items[i]));
    return out;
}
