#include "record/merge.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool assay_record_is_repeat(const struct assay_record *a, const struct assay_record *b)
{
    return strcmp(a->kernel, b->kernel) == 0 && strcmp(a->implementation, b->implementation) == 0 &&
           strcmp(a->recipe, b->recipe) == 0;
}

/* ---- what went wrong ---- */

static bool is_worse(enum assay_outcome a, enum assay_outcome b)
{
    bool a_bad = !assay_outcome_is_fine(a), b_bad = !assay_outcome_is_fine(b);
    return a_bad != b_bad ? a_bad : a != ASSAY_OUTCOME_OK && b == ASSAY_OUTCOME_OK;
}

static const struct assay_record *worst_of(const struct assay_record *const *repeats, int64_t n)
{
    const struct assay_record *worst = repeats[0];
    for (int64_t i = 1; i < n; i++)
        if (is_worse(repeats[i]->outcome, worst->outcome))
            worst = repeats[i];
    return worst;
}

static void take_failure(const struct assay_record *const *repeats, int64_t n,
                         const struct assay_record *worst, struct assay_record *out)
{
    int64_t same = 0;
    for (int64_t i = 0; i < n; i++)
        same += repeats[i]->outcome == worst->outcome;
    *out = *worst;
    if (same < n)
        snprintf(out->reason, sizeof out->reason, "%.200s%sin %d of %d repeats", worst->reason,
                 worst->reason[0] ? ", " : "", (int)same, (int)n);
}

/* ---- figures ---- */

typedef double (*figure_of)(const struct assay_measurement *m);

static double time_of(const struct assay_measurement *m) { return m->time.median; }
static double ratio_of(const struct assay_measurement *m) { return m->ratio.ratio; }
static double eager_ratio_of(const struct assay_measurement *m) { return m->eager_ratio.ratio; }

/* Which repeat has the median figure; of an even number the lower of the two. */
static int64_t middle_of(const struct assay_measurement *const *m, int64_t n, figure_of figure)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t below = 0;
        for (int64_t k = 0; k < n; k++)
            below += figure(m[k]) < figure(m[i]) || (figure(m[k]) == figure(m[i]) && k < i);
        if (below == (n - 1) / 2)
            return i;
    }
    return 0; /* some are NaN */
}

static void widen(struct assay_ratio *ratio, const struct assay_ratio *other)
{
    bool same_side = (ratio->ratio > 1) == (other->ratio > 1);
    ratio->ci.lo = fmin(ratio->ci.lo, other->ci.lo);
    ratio->ci.hi = fmax(ratio->ci.hi, other->ci.hi);
    ratio->significant = ratio->significant && other->significant && same_side;
    ratio->clear = ratio->clear && other->clear && same_side;
    ratio->likely = ratio->likely && other->likely && same_side;
    ratio->smallest_visible = fmax(ratio->smallest_visible, other->smallest_visible);
}

/* `offset` is the ratio's within a measurement. */
static struct assay_ratio merge_ratios(const struct assay_measurement *const *m, int64_t n,
                                       figure_of figure, size_t offset)
{
    const char *middle = (const char *)m[middle_of(m, n, figure)];
    struct assay_ratio ratio = *(const struct assay_ratio *)(const void *)(middle + offset);
    for (int64_t i = 0; i < n; i++)
        widen(&ratio, (const struct assay_ratio *)(const void *)((const char *)m[i] + offset));
    ratio.ci_frac = ratio.ratio > 0 ? (ratio.ci.hi - ratio.ci.lo) / 2 / ratio.ratio : 0;
    return ratio;
}

static void merge_state(const struct assay_measurement *const *m, int64_t n,
                        struct assay_measurement *out)
{
    double least = (double)INFINITY, most = 0;
    int64_t fastest = 0, ratios = 0, eager_ratios = 0;
    *out = *m[middle_of(m, n, time_of)];
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, m[i]->time.median);
        most = fmax(most, m[i]->time.median);
        fastest += m[i]->fastest;
        ratios += m[i]->has_ratio;
        eager_ratios += m[i]->has_eager_ratio;
        out->precise = out->precise && m[i]->precise;
    }
    out->repeats = n;
    out->repeats_frac = out->time.median > 0 ? (most - least) / 2 / out->time.median : 0;
    out->fastest = 2 * fastest > n;
    if (ratios == n)
        out->ratio = merge_ratios(m, n, ratio_of, offsetof(struct assay_measurement, ratio));
    if (eager_ratios == n)
        out->eager_ratio =
            merge_ratios(m, n, eager_ratio_of, offsetof(struct assay_measurement, eager_ratio));
}

void assay_record_merge(const struct assay_record *const *repeats, int64_t n,
                        struct assay_record *out)
{
    const struct assay_measurement *m[ASSAY_MERGE_MOST];
    const struct assay_record *worst = worst_of(repeats, n);
    int64_t pareto = 0;
    assert(n >= 1 && n <= ASSAY_MERGE_MOST);
    if (worst->outcome != ASSAY_OUTCOME_OK) {
        take_failure(repeats, n, worst, out);
        return;
    }
    *out = *repeats[0];
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        int64_t measured = 0;
        for (int64_t i = 0; i < n; i++)
            if (repeats[i]->states[s].measured)
                m[measured++] = &repeats[i]->states[s];
        if (measured > 1)
            merge_state(m, measured, &out->states[s]);
        else if (measured == 1)
            out->states[s] = *m[0];
    }
    for (int64_t i = 0; i < n; i++) {
        pareto += repeats[i]->pareto;
        out->interrupted = out->interrupted || repeats[i]->interrupted;
    }
    out->pareto = 2 * pareto > n;
}
