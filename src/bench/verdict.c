#include "bench/verdict.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A clock this far off the median of the run counts as a change. */
static const double CLOCK_CHANGE = 0.02;
/* The ceiling's own uncertainty: a figure must beat it by this before it is called impossible. In
 * the caches the mix of loads and stores matters too (two loads and a store a cycle in L1 beat the
 * copy loop by a third), so there it is more. */
static const double MEMORY_MARGIN = 1.25, CACHE_MARGIN = 1.6;
/* Work a few times larger than a cache still finds part of itself there: for the question of what
 * is possible (not for the efficiency) it is treated as so many times smaller. */
static const double CACHE_OVERLAP = 4;

static int64_t gather(const double *samples, int64_t rounds, double *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!isnan(samples[i]))
            out[n++] = samples[i];
    return n;
}

static void note_clock(const struct assay_verdict_input *in, double *scratch,
                       struct assay_measurement *out)
{
    int64_t n = gather(in->clocks, in->rounds, scratch);
    if (n == 0)
        return;
    assay_stats_sort(scratch, n);
    out->clock_hz = assay_stats_quantile(scratch, n, 0.5);
    for (int64_t i = 0; i < in->rounds; i++)
        out->clock_changes += fabs(in->clocks[i] - out->clock_hz) > CLOCK_CHANGE * out->clock_hz;
}

/* The lane with the least median; it and all that are not significantly slower are `fastest`. */
static bool is_fastest(const struct assay_verdict_input *in, int64_t lane, double *scratch)
{
    double best_ns = (double)INFINITY;
    int64_t best = -1;
    for (int64_t i = 0; i < in->n_lanes; i++) {
        int64_t n = gather(in->lanes[i].samples, in->rounds, scratch);
        if (n == 0)
            continue;
        assay_stats_sort(scratch, n);
        double median = assay_stats_quantile(scratch, n, 0.5);
        if (median < best_ns) {
            best_ns = median;
            best = i;
        }
    }
    if (best == lane || best < 0)
        return best == lane;
    struct assay_ratio ratio;
    assay_stats_ratio(in->lanes[best].samples, in->lanes[lane].samples, in->rounds, scratch,
                      &ratio);
    return ratio.n >= 8 && !ratio.significant;
}

static struct assay_ceiling_time ceiling_of(const struct assay_verdict_input *in,
                                            const struct assay_ceilings *ceilings, int64_t lane,
                                            double working_set)
{
    const struct assay_cost *cost = &in->costs[lane];
    return assay_ceiling_time(ceilings, cost->bytes_read, cost->bytes_written, cost->flops,
                              (int)cost->math, working_set, in->cold);
}

/* The ceilings at the clock this was measured at; false where that is not known or does not count.
 */
static bool at_the_clock(const struct assay_verdict_input *in, const struct assay_measurement *m,
                         struct assay_ceilings *out)
{
    const struct assay_ceilings *c = &in->bench->ceilings;
    if (!in->bench->device || !in->bench->device->driver->clock_counts || !(c->clock_hz > 0) ||
        !(m->clock_hz > 0))
        return false;
    *out = *c;
    for (int i = 0; i < ASSAY_CEILING_MATHS; i++)
        out->flops[i] *= m->clock_hz / c->clock_hz;
    return true;
}

/* The ceiling of the matrix unit is that of its fast state: what it is held against are the samples
 * that met that state, where there are enough of them. */
static void note_fast_unit(const struct assay_verdict_input *in, int64_t lane, double *scratch,
                           struct assay_measurement *out)
{
    enum { FEWEST = 8 };
    const struct assay_lane *l = &in->lanes[lane];
    int64_t n = l->fast ? gather(l->fast, in->rounds, scratch) : 0;
    if (n < FEWEST)
        return;
    assay_stats_sort(scratch, n);
    out->fast_unit_ns = assay_stats_quantile(scratch, n, 0.5);
}

void assay_verdict_ceiling(const struct assay_verdict_input *in, int64_t lane,
                           struct assay_measurement *out)
{
    double ns = out->fast_unit_ns > 0 ? out->fast_unit_ns : out->time.median;
    if (in->bench->ceilings.n_levels == 0)
        return;
    struct assay_ceiling_time ceiling =
        ceiling_of(in, &in->bench->ceilings, lane, in->working_sets[lane]);
    struct assay_ceilings scaled;
    if (strcmp(ceiling.bound, "compute") == 0 && at_the_clock(in, out, &scaled))
        ceiling = ceiling_of(in, &scaled, lane, in->working_sets[lane]);
    out->ceiling_ns = ceiling.ns;
    out->efficiency = ns > 0 ? ceiling.ns / ns : 0;
    snprintf(out->bound, sizeof out->bound, "%s", ceiling.bound);
}

/* The ratio of `lane` to another; false where there is none. */
static bool compare(const struct assay_verdict_input *in, int64_t other, int64_t lane,
                    double *scratch, struct assay_ratio *out)
{
    if (other < 0 || other == lane || !in->lanes[other].samples)
        return false;
    assay_stats_ratio(in->lanes[other].samples, in->lanes[lane].samples, in->rounds, scratch, out);
    return out->n > 0;
}

enum assay_status assay_verdict_measurement(const struct assay_verdict_input *in,
                                            int64_t lane_index, struct assay_measurement *out)
{
    const struct assay_lane *lane = &in->lanes[lane_index];
    *out = (struct assay_measurement){0};
    double *scratch = assay_calloc((size_t)in->rounds * 2, sizeof *scratch);
    if (!scratch)
        return ASSAY_ERR_NOMEM;
    double *samples = scratch + in->rounds;
    int64_t n = lane->samples ? gather(lane->samples, in->rounds, samples) : 0;
    if (n > 0) {
        out->measured = true;
        out->iters = lane->iters;
        out->precise = lane->precise;
        out->context_switches = lane->context_switches;
        out->near_floor = lane->near_floor;
        out->slow_unit = lane->slow_unit;
        out->throttled = lane->throttled;
        out->host_ns = lane->host_ns;
        assay_stats_summarise(samples, n, scratch, &out->time);
        if (out->time.median > 0) {
            const struct assay_cost *cost = &in->costs[lane_index];
            double seconds = out->time.median * 1e-9;
            out->bytes_per_s = (cost->bytes_read + cost->bytes_written) / seconds;
            out->flops_per_s = cost->flops / seconds;
        }
        out->has_ratio = compare(in, in->baselines[lane_index], lane_index, scratch, &out->ratio);
        out->has_eager_ratio =
            in->eager && compare(in, in->eager[lane_index], lane_index, scratch, &out->eager_ratio);
        out->fastest = is_fastest(in, lane_index, scratch);
        note_clock(in, scratch, out);
        note_fast_unit(in, lane_index, scratch, out);
        assay_verdict_ceiling(in, lane_index, out);
    }
    assay_free(scratch);
    return ASSAY_OK;
}

/* The least time this work can take, on the generous side. */
static double least_possible_ns(const struct assay_verdict_input *in, int64_t lane)
{
    if (in->bench->ceilings.n_levels == 0)
        return 0;
    struct assay_ceiling_time ceiling =
        ceiling_of(in, &in->bench->ceilings, lane, in->working_sets[lane] / CACHE_OVERLAP);
    return ceiling.ns / (in->cold ? MEMORY_MARGIN : CACHE_MARGIN);
}

static void raise_to(double *held, double other)
{
    if (other > *held)
        *held = other;
}

/* Measures the ceilings once more and keeps the higher of each; once per process. */
static void recalibrate(struct assay_bench *bench)
{
    struct assay_ceilings again;
    if (bench->recalibrated || !bench->device->driver->calibrate)
        return;
    bench->recalibrated = true;
    if (bench->device->driver->calibrate(bench->device, &again, NULL) != ASSAY_OK)
        return;
    struct assay_ceilings *held = &bench->ceilings;
    for (int32_t i = 0; i < held->n_levels && i < again.n_levels; i++) {
        raise_to(&held->levels[i].read, again.levels[i].read);
        raise_to(&held->levels[i].write, again.levels[i].write);
        raise_to(&held->levels[i].copy, again.levels[i].copy);
    }
    for (int i = 0; i < ASSAY_CEILING_MATHS; i++)
        raise_to(&held->flops[i], again.flops[i]);
    assay_ceilings_save(held, NULL); /* not remembering it costs time later, nothing else */
}

/* Faster than arithmetic can be: its ceiling was measured when the unit was slow. */
static bool beats_arithmetic(const struct assay_measurement *m)
{
    static const double beaten = 1.02;
    return m->efficiency > beaten && strcmp(m->bound, "compute") == 0;
}

bool assay_verdict_possible(const struct assay_verdict_input *in, int64_t lane,
                            struct assay_measurement *measurement, char *reason, size_t size)
{
    double slow_end = measurement->time.median_ci.hi;
    bool plausible = slow_end >= least_possible_ns(in, lane) && !beats_arithmetic(measurement);
    if (!measurement->measured || plausible)
        return true;
    recalibrate(in->bench);
    assay_verdict_ceiling(in, lane, measurement);
    double least = least_possible_ns(in, lane);
    if (slow_end >= least)
        return true;
    char got[32], bound[32];
    assay_text_time(measurement->time.median, got, sizeof got);
    assay_text_time(least, bound, sizeof bound);
    snprintf(reason, size, "%s is faster than this machine can be (%s at the least, bound by %s)",
             got, bound, measurement->bound);
    return false;
}
