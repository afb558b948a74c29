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

static int by_roof(const void *a, const void *b)
{
    const struct reading *p = a, *q = b;
    int bound = strcmp(p->bound, q->bound);
    if (p->compute != q->compute)
        return p->compute ? 1 : -1;
    if (p->site != q->site)
        return p->site < q->site ? -1 : 1;
    if (p->compute && p->dtype != q->dtype)
        return p->dtype < q->dtype ? -1 : 1;
    if (bound)
        return bound;
    if (p->rate != q->rate)
        return p->rate < q->rate ? -1 : 1;
    return (p->record > q->record) - (p->record < q->record);
}

/* Recipes of one type may multiply in others, at rates of their own: a gap in the rates tells. */
static bool is_same_roof(const struct reading *a, const struct reading *b)
{
    const double gap = 1.25;
    return a->compute == b->compute && a->site == b->site && strcmp(a->bound, b->bound) == 0 &&
           (!a->compute || (a->dtype == b->dtype && b->rate <= gap * a->rate));
}

static int64_t read_all(const struct assay_chart_axes *axes,
                        const struct assay_chart_points *points,
                        const struct assay_chart_classes *sites, struct reading *readings)
{
    int64_t n = 0;
    for (int64_t i = 0; i < points->n; i++) {
        const struct assay_chart_point *p = &points->points[i];
        if (!(p->ceiling_ns > 0) || !p->bound[0] || isnan(assay_chart_intensity(p)))
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
                      int64_t record)
{
    int64_t at = assay_chart_axes_at(axes, axis, record);
    if (at >= 0)
        assay_cell_add(name, " %.24s", axes->axes[axis].values[at].text);
}

static struct assay_cell name_of(const struct assay_chart_axes *axes,
                                 const struct assay_chart_classes *sites,
                                 const struct reading *readings, int64_t n, double rate)
{
    const struct reading *r = &readings[0];
    struct assay_cell name = {""}, site = assay_chart_class_name(axes, sites, r->site);
    char text[48];
    bool one_recipe = assay_chart_axis_varies(&axes->axes[ASSAY_CHART_AXIS_RECIPE]);
    for (int64_t i = 0; i < n; i++)
        one_recipe = one_recipe && readings[i].recipe == r->recipe;
    assay_cell_add(&name, "%s", r->bound);
    if (r->compute)
        add_value(&name, axes, ASSAY_CHART_AXIS_DTYPE, r->record);
    if (r->compute && one_recipe)
        add_value(&name, axes, ASSAY_CHART_AXIS_RECIPE, r->record);
    double unit = pow(10, floor(log10(rate)) - 2); /* three digits */
    (r->compute ? assay_axis_rate : assay_axis_bandwidth)(NULL, round(rate / unit) * unit, text,
                                                          sizeof text);
    assay_cell_add(&name, " %s%s%s", text, site.text[0] ? " · " : "", site.text);
    return name;
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
    int64_t n = whole ? read_all(axes, points, &sites, readings) : 0;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_same_roof(&readings[end - 1], &readings[end]); end++)
            ;
        double rate = readings[(i + end - 1) / 2].rate;
        roofs->roofs[roofs->n++] =
            (struct assay_roof){.compute = readings[i].compute,
                                .rate = rate,
                                .lo = readings[i].rate,
                                .hi = readings[end - 1].rate,
                                .n = end - i,
                                .site = readings[i].site,
                                .name = name_of(axes, &sites, &readings[i], end - i, rate)};
    }
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
