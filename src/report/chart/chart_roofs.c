#include "report/chart/chart_roofs.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double assay_chart_intensity(const struct assay_chart_point *point)
{
    return point->flops > 0 && point->bytes > 0 ? point->flops / point->bytes : (double)NAN;
}

/* ---- one for each row ----------------------------------------------------------------------- */

struct reading {
    int64_t site, dtype, recipe;
    const char *bound;
    bool compute;
    double rate;
    int64_t record;
};

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int by_roof(const void *a, const void *b)
{
    const struct reading *p = a, *q = b;
    int by = order(p->compute, q->compute);
    by = by ? by : order(p->site, q->site);
    by = by ? by : strcmp(p->bound, q->bound);
    by = by || !p->compute ? by : order(p->dtype, q->dtype);
    by = by || !p->compute ? by : order(p->recipe, q->recipe);
    by = by ? by : (p->rate > q->rate) - (p->rate < q->rate);
    return by ? by : order(p->record, q->record);
}

static bool is_same_roof(const struct reading *a, const struct reading *b)
{
    return a->compute == b->compute && a->site == b->site && strcmp(a->bound, b->bound) == 0 &&
           (!a->compute || (a->dtype == b->dtype && a->recipe == b->recipe));
}

static int64_t read_all(const struct assay_chart_axes *axes,
                        const struct assay_chart_points *points,
                        const struct assay_chart_classes *sites, struct reading *readings)
{
    int64_t n = 0;
    for (int64_t i = 0; i < points->n; i++) {
        const struct assay_chart_point *p = &points->points[i];
        if (!(p->ceiling_ns > 0) || p->slow_probes || !p->bound[0] ||
            isnan(assay_chart_intensity(p)))
            continue;
        bool compute = strcmp(p->bound, "compute") == 0;
        readings[n++] = (struct reading){
            .site = sites->of[p->record],
            .dtype = assay_chart_axes_at(axes, ASSAY_CHART_AXIS_DTYPE, p->record),
            .recipe = assay_chart_axes_at(axes, ASSAY_CHART_AXIS_RECIPE, p->record),
            .bound = p->bound,
            .compute = compute,
            .rate = (compute ? p->flops : p->bytes) * 1e9 / p->ceiling_ns,
            .record = p->record};
    }
    if (n > 0)
        qsort(readings, (size_t)n, sizeof *readings, by_roof);
    return n;
}

/* ---- roofs ---------------------------------------------------------------------------------- */

static void add_value(struct assay_cell *name, const struct assay_chart_axes *axes, int64_t axis,
                      int64_t value)
{
    if (value >= 0)
        assay_cell_add(name, " %.24s", axes->axes[axis].values[value].text);
}

static struct assay_cell name_of(const struct assay_chart_axes *axes,
                                 const struct assay_chart_classes *sites,
                                 const struct assay_roof *roof, const struct reading *r)
{
    struct assay_cell name = {""}, site = assay_chart_class_name(axes, sites, r->site);
    char text[48];
    assay_cell_add(&name, "%s", r->bound);
    if (roof->compute)
        add_value(&name, axes, ASSAY_CHART_AXIS_DTYPE, roof->dtype);
    if (roof->compute)
        add_value(&name, axes, ASSAY_CHART_AXIS_RECIPE, roof->recipe);
    double unit = pow(10, floor(log10(roof->rate)) - 2); /* three digits */
    (roof->compute ? assay_axis_rate : assay_axis_bandwidth)(NULL, round(roof->rate / unit) * unit,
                                                             text, sizeof text);
    assay_cell_add(&name, " %s%s%s", text, site.text[0] ? " · " : "", site.text);
    return name;
}

static struct assay_roof roof_of(const struct reading *readings, int64_t n)
{
    const struct reading *r = &readings[0];
    return (struct assay_roof){.compute = r->compute,
                               .rate = readings[(n - 1) / 2].rate,
                               .lo = readings[(n - 1) / 20].rate,
                               .hi = readings[n - 1 - (n - 1) / 20].rate,
                               .n = n,
                               .site = r->site,
                               .dtype = r->dtype,
                               .recipe = r->recipe};
}

/* Recipes multiply in types of their own, at other rates, or in the same: where their rates are not
 * far apart, one roof stands for all of a dtype. Gives how many of the `n` are left. */
static int64_t join_recipes(struct assay_roof *roofs, int64_t n)
{
    const double far = 1.25;
    double lo = roofs[0].rate, hi = lo;
    for (int64_t i = 1; i < n; i++) {
        lo = fmin(lo, roofs[i].rate);
        hi = fmax(hi, roofs[i].rate);
    }
    if (n > 1 && hi > far * lo)
        return n;
    roofs[0].recipe = -1;
    for (int64_t i = 1; i < n; i++) {
        roofs[0].rate = roofs[i].n > roofs[0].n ? roofs[i].rate : roofs[0].rate;
        roofs[0].lo = fmin(roofs[0].lo, roofs[i].lo);
        roofs[0].hi = fmax(roofs[0].hi, roofs[i].hi);
        roofs[0].n += roofs[i].n;
    }
    return 1;
}

/* From readings that are sorted. */
static void add_roofs(const struct assay_chart_axes *axes, const struct assay_chart_classes *sites,
                      const struct reading *readings, int64_t n, struct assay_roofs *roofs)
{
    int64_t first = 0; /* of the dtype's */
    for (int64_t i = 0, end; i < n; i = end) {
        const struct reading *r = &readings[i];
        for (end = i + 1; end < n && is_same_roof(r, &readings[end]); end++)
            ;
        roofs->roofs[roofs->n++] = roof_of(r, end - i);
        const struct reading *next = end < n ? &readings[end] : NULL;
        if (r->compute && next && next->site == r->site && next->dtype == r->dtype)
            continue;
        roofs->n = first + (r->compute ? join_recipes(&roofs->roofs[first], roofs->n - first)
                                       : roofs->n - first);
        for (; first < roofs->n; first++)
            roofs->roofs[first].name = name_of(axes, sites, &roofs->roofs[first], r);
    }
}

bool assay_roofs_find(const struct assay_chart_axes *axes, const struct assay_chart_points *points,
                      struct assay_roofs *roofs)
{
    const int64_t all[] = {ASSAY_CHART_AXIS_MACHINE, ASSAY_CHART_AXIS_DEVICE,
                           ASSAY_CHART_AXIS_THREADS};
    int64_t which[3], n_which = 0;
    struct assay_chart_classes sites = {0};
    for (int i = 0; i < 3; i++)
        if (assay_chart_axis_varies(&axes->axes[all[i]]))
            which[n_which++] = all[i];
    struct reading *readings = assay_malloc((size_t)(points->n + 1) * sizeof *readings);
    roofs->roofs = assay_calloc((size_t)points->n + 1, sizeof *roofs->roofs);
    bool whole = readings && roofs->roofs && assay_chart_classes_find(axes, which, n_which, &sites);
    if (whole)
        add_roofs(axes, &sites, readings, read_all(axes, points, &sites, readings), roofs);
    assay_free(readings);
    assay_chart_classes_fini(&sites);
    return whole;
}

void assay_roofs_fini(struct assay_roofs *roofs)
{
    assay_free(roofs->roofs);
    *roofs = (struct assay_roofs){0};
}

double assay_roof_at(const struct assay_roof *roof, double rate, double intensity)
{
    return roof->compute ? rate : rate * intensity;
}

/* The highest of the other kind on the same site; 0: none. */
static double highest(const struct assay_roofs *roofs, const struct assay_roof *of)
{
    double most = 0;
    for (int64_t i = 0; i < roofs->n; i++) {
        const struct assay_roof *roof = &roofs->roofs[i];
        if (roof->compute != of->compute && roof->site == of->site)
            most = fmax(most, roof->rate);
    }
    return most;
}

struct assay_interval assay_roof_span(const struct assay_roofs *roofs, int64_t index,
                                      const struct assay_scale *x)
{
    const struct assay_roof *roof = &roofs->roofs[index];
    double other = highest(roofs, roof);
    if (!(other > 0))
        return (struct assay_interval){x->lo, x->hi};
    if (roof->compute)
        return (struct assay_interval){fmin(fmax(x->lo, roof->rate / other), x->hi), x->hi};
    return (struct assay_interval){x->lo, fmax(x->lo, fmin(x->hi, other / roof->rate))};
}
