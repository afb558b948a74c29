#include "report/report_samples.h"

#include <math.h>

/* Outliers by Tukey's rule are beyond 1.5 interquartile ranges. They are to be seen: that is what a
 * drawing is for. Beyond four times that they would squeeze the rest. */
static const double REACH = 6;

/* The quartiles; `sorted` is for at least as many samples. */
static struct assay_interval quartiles(const struct assay_samples *samples, double *sorted)
{
    for (int32_t i = 0; i < samples->n; i++)
        sorted[i] = (double)samples->ns[i];
    assay_stats_sort(sorted, samples->n);
    return (struct assay_interval){assay_stats_quantile(sorted, samples->n, 0.25),
                                   assay_stats_quantile(sorted, samples->n, 0.75)};
}

/* Equal times are in the middle of something. */
static void part(struct assay_samples_span *span)
{
    double around = span->lo > 0 ? span->lo / 100 : 1;
    if (span->lo < span->hi)
        return;
    span->lo -= around;
    span->hi += around;
}

struct assay_samples_span assay_samples_span(const struct assay_samples *samples)
{
    struct assay_samples_span span = {0};
    double sorted[ASSAY_SAMPLES_KEPT];
    if (samples->n == 0)
        return span;
    struct assay_interval q = quartiles(samples, sorted);
    double reach = REACH * (q.hi - q.lo);
    span.least = sorted[0];
    span.most = sorted[samples->n - 1];
    while (reach > 0 && sorted[span.below] < q.lo - reach)
        span.below++;
    while (reach > 0 && sorted[samples->n - 1 - span.above] > q.hi + reach)
        span.above++;
    span.lo = sorted[span.below];
    span.hi = sorted[samples->n - 1 - span.above];
    part(&span);
    return span;
}

void assay_samples_span_add(struct assay_samples_span *span, const struct assay_samples_span *other)
{
    if (!(span->lo < span->hi)) {
        *span = *other;
        return;
    }
    span->lo = fmin(span->lo, other->lo);
    span->hi = fmax(span->hi, other->hi);
    span->least = fmin(span->least, other->least);
    span->most = fmax(span->most, other->most);
    span->below += other->below;
    span->above += other->above;
}

int assay_samples_bars(const struct assay_samples *samples, double lo, double hi, int most)
{
    enum { FEWEST = 8 };
    double sorted[ASSAY_SAMPLES_KEPT];
    if (samples->n == 0)
        return FEWEST;
    struct assay_interval q = quartiles(samples, sorted);
    double width = 2 * (q.hi - q.lo) / cbrt(samples->n);
    double bars = width > 0 ? ceil((hi - lo) / width) : FEWEST;
    return bars < FEWEST ? FEWEST : bars > most ? most : (int)bars;
}
