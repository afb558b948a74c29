#include "bench/verdict.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A clock this far off the median of the run counts as a change. */
static const double CLOCK_CHANGE = 0.02;
/* A figure must beat the probe of its own rounds by this before it is called impossible. */
static const double IMPOSSIBLE = 1.5;
/* Cold calls shorter than this are not compared with a curve of whole passes: their start-up
 * counts.
 */
static const double PASS_NS = 50e3;

static int64_t gather(const double *samples, int64_t rounds, double *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < rounds; i++)
        if (!isnan(samples[i]))
            out[n++] = samples[i];
    return n;
}

static bool clock_is_off(const struct assay_verdict_input *in, int64_t round, double usual_hz)
{
    return usual_hz > 0 && fabs(in->clocks[round] - usual_hz) > CLOCK_CHANGE * usual_hz;
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
        out->clock_changes += clock_is_off(in, i, out->clock_hz);
}

/* Did something from outside take part in the sample? A clock that is held down is the same for
 * all of them, and has a count of its own. */
static bool is_disturbed(const struct assay_verdict_input *in, const struct assay_lane *lane,
                         int64_t round, double usual_hz)
{
    return lane->marks &&
           ((lane->marks[round] & ~ASSAY_MARK_THROTTLED) || clock_is_off(in, round, usual_hz));
}

/* Each disturbed sample counts once. */
static void note_marks(const struct assay_verdict_input *in, const struct assay_lane *lane,
                       struct assay_measurement *out)
{
    for (int64_t i = 0; i < in->rounds && lane->marks; i++) {
        uint8_t marks = lane->marks[i];
        if (isnan(lane->samples[i]))
            continue;
        out->waited += (marks & ASSAY_MARK_WAITED) != 0;
        out->stolen += (marks & ASSAY_MARK_STOLEN) != 0;
        out->disturbed += is_disturbed(in, lane, i, out->clock_hz);
    }
}

static void keep_samples(const struct assay_verdict_input *in, const struct assay_lane *lane,
                         struct assay_measurement *out)
{
    int64_t taken = 0;
    for (int64_t i = 0; i < in->rounds; i++)
        if (!isnan(lane->samples[i]))
            assay_samples_offer(&out->samples, out->time.n, taken++, lane->samples[i],
                                is_disturbed(in, lane, i, out->clock_hz));
}

static double median_of(const double *series, int64_t rounds, double *scratch)
{
    int64_t n = gather(series, rounds, scratch);
    assay_stats_sort(scratch, n);
    return n ? assay_stats_quantile(scratch, n, 0.5) : 0;
}

/* The lane with the least median; -1 where none has samples. */
static int64_t find_best(const struct assay_verdict_input *in, double *scratch)
{
    double best_ns = (double)INFINITY;
    int64_t best = -1;
    for (int64_t i = 0; i < in->n_lanes; i++) {
        double median =
            in->lanes[i].samples ? median_of(in->lanes[i].samples, in->rounds, scratch) : 0;
        if (median > 0 && median < best_ns) {
            best_ns = median;
            best = i;
        }
    }
    return best;
}

/* Is the other lane shown to be faster? With few rounds hardly anything is: against the best lane
 * a ratio must also be known, and near 1. */
static bool is_beaten(const struct assay_verdict_input *in, int64_t lane, int64_t other, bool best,
                      double *scratch)
{
    static const double ABOUT_AS_FAST = 1.1;
    struct assay_ratio ratio;
    if (other == lane || !in->lanes[other].samples)
        return false;
    assay_engine_compare(&in->lanes[lane], &in->lanes[other], in->rounds, scratch, &ratio);
    if (best && (ratio.n < ASSAY_STATS_FEWEST_ROUNDS || !(ratio.ratio <= ABOUT_AS_FAST)))
        return true;
    return ratio.significant && ratio.ratio > 1;
}

/* No lane is significantly faster, and there were enough rounds to say so. */
static bool is_fastest(const struct assay_verdict_input *in, int64_t lane, double *scratch)
{
    int64_t best = find_best(in, scratch);
    if (gather(in->lanes[lane].samples, in->rounds, scratch) < ASSAY_STATS_FEWEST_ROUNDS)
        return false;
    for (int64_t i = 0; i < in->n_lanes; i++)
        if (is_beaten(in, lane, i, i == best, scratch))
            return false;
    return true;
}

/* The samples that met a matrix unit at full speed, where there are enough of them. */
static void note_fast_unit(const struct assay_verdict_input *in, const struct assay_lane *lane,
                           double *scratch, struct assay_measurement *out)
{
    int64_t n = lane->fast ? gather(lane->fast, in->rounds, scratch) : 0;
    if (n < ASSAY_STATS_FEWEST_ROUNDS)
        return;
    assay_stats_sort(scratch, n);
    out->fast_unit_ns = assay_stats_quantile(scratch, n, 0.5);
}

/* What binds a lane, round by round: the larger of what its bytes and its operations take. */
struct bound {
    bool compute, known;
    double ns; /* the median of the rounds */
    double *series;
};

/* `buffer` holds three times the rounds. None where a fast unit is wanted and the probe
 * never met one: the time of its operations is not known then. */
static struct bound find_bound(const struct assay_verdict_input *in, int64_t lane, bool fast,
                               double *buffer)
{
    const struct assay_cost *cost = &in->costs[lane];
    double *transfer = buffer, *compute = buffer + in->rounds, *scratch = buffer + 2 * in->rounds;
    struct bound none = {0}, bytes = {.series = transfer}, operations = {true, .series = compute};
    bytes.known = assay_probes_transfer(in->probes, in->probe_lanes, in->rounds, cost,
                                        in->working_sets[lane], transfer);
    operations.known =
        assay_probes_compute(in->probes, in->probe_lanes, in->rounds, cost, fast, compute);
    bytes.ns = bytes.known ? median_of(transfer, in->rounds, scratch) : 0;
    operations.ns = operations.known ? median_of(compute, in->rounds, scratch) : 0;
    struct bound binding = operations.ns > bytes.ns ? operations : bytes;
    bool known = binding.ns > 0 && (!fast || operations.ns > 0);
    return known ? binding : none;
}

/* How much of the best it was ever seen to do the machine did in these rounds; 0: not known. */
static double machine_frac(const struct assay_verdict_input *in, int64_t lane,
                           const struct bound *bound)
{
    const struct assay_cost *cost = &in->costs[lane];
    struct assay_ceiling_time best =
        assay_ceiling_time(in->best, cost->bytes_read, cost->bytes_written, cost->flops,
                           (int)cost->math, in->working_sets[lane], in->cold);
    bool too_short = in->cold ? bound->ns < PASS_NS
                              : in->best->n_points == 0 ||
                                    in->working_sets[lane] < (double)in->best->points[0].bytes;
    double ns = bound->compute ? best.compute_ns : too_short ? 0 : best.transfer_ns;
    return ns > 0 ? ns / bound->ns : 0;
}

static void note_ceiling(const struct assay_verdict_input *in, int64_t lane, bool fast,
                         double *buffer, struct assay_measurement *out)
{
    const struct assay_lane *l = &in->lanes[lane];
    struct bound bound = find_bound(in, lane, fast, buffer);
    const double *samples = fast ? l->fast : l->samples;
    struct assay_ratio ratio;
    if (!bound.known || !samples)
        return;
    assay_stats_ratio(bound.series, samples, in->rounds, buffer + 2 * in->rounds, &ratio);
    if (ratio.n == 0 || (fast && ratio.n < ASSAY_STATS_FEWEST_ROUNDS))
        return;
    out->ceiling_ns = bound.ns;
    out->efficiency = ratio.ratio;
    out->efficiency_ci = ratio.ci;
    out->ceiling_rounds = ratio.n;
    out->machine_frac = machine_frac(in, lane, &bound);
    snprintf(out->bound, sizeof out->bound, "%s",
             bound.compute ? "compute"
                           : assay_ceiling_level(in->best, in->working_sets[lane], in->cold));
}

/* A shared matrix unit has two speeds: where a kernel and the probe both met the fast one often
 * enough, they are compared there. */
static enum assay_status hold_against_ceiling(const struct assay_verdict_input *in, int64_t lane,
                                              struct assay_measurement *out)
{
    if (!in->probes)
        return ASSAY_OK;
    double *buffer = assay_calloc((size_t)in->rounds * 3, sizeof *buffer);
    if (!buffer)
        return ASSAY_ERR_NOMEM;
    note_ceiling(in, lane, false, buffer, out);
    if (strcmp(out->bound, "compute") == 0 && in->lanes[lane].fast)
        note_ceiling(in, lane, true, buffer, out);
    assay_free(buffer);
    return ASSAY_OK;
}

/* The ratio of `lane` to another; false where there is none. `scratch` holds twice the rounds. */
static bool compare(const struct assay_verdict_input *in, int64_t other, int64_t lane,
                    double *scratch, struct assay_ratio *out)
{
    if (other < 0 || other == lane || !in->lanes[other].samples)
        return false;
    assay_engine_compare(&in->lanes[other], &in->lanes[lane], in->rounds, scratch, out);
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
    enum assay_status status = ASSAY_OK;
    if (n > 0) {
        out->measured = true;
        out->iters = lane->iters;
        out->precise = lane->precise;
        out->context_switches = lane->context_switches;
        out->near_floor = lane->near_floor;
        out->slow_unit = lane->slow_unit;
        out->throttled = lane->throttled;
        out->host_ns = lane->host_ns;
        assay_stats_summarise(samples, n, scratch, &out->time); /* and `samples` is free again */
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
        note_marks(in, lane, out);
        keep_samples(in, lane, out);
        note_fast_unit(in, lane, scratch, out);
        status = hold_against_ceiling(in, lane_index, out);
    }
    assay_free(scratch);
    return status;
}

/* On a machine that is slower than at its best, a figure is compared with that best before it is
 * called impossible: the probe's threads may wait for cores where a kernel needs only one. */
static double least_excess(const struct assay_measurement *m)
{
    double best = m->machine_frac > 0 ? fmin(m->machine_frac, 1) : 1;
    return m->efficiency_ci.lo * best;
}

/* Rounds with probes of which none was disturbed. */
static int64_t count_calm(const struct assay_verdict_input *in)
{
    int64_t calm = 0;
    for (int64_t r = 0; r < in->rounds; r++) {
        bool sampled = false, disturbed = false;
        for (int64_t i = 0; i < in->probes->n; i++) {
            const struct assay_lane *probe = &in->probe_lanes[i];
            sampled |= probe->samples && !isnan(probe->samples[r]);
            disturbed |= probe->marks && probe->marks[r];
        }
        calm += sampled && !disturbed;
    }
    return calm;
}

bool assay_verdict_possible(const struct assay_verdict_input *in,
                            const struct assay_measurement *measurement, char *reason, size_t size)
{
    /* Probes that waited for a core accuse nobody in a short run; ten rounds have an interval. */
    enum { CALM_FEWEST = 3 };
    if (!measurement->measured || measurement->ceiling_rounds < CALM_FEWEST ||
        least_excess(measurement) <= IMPOSSIBLE)
        return true;
    if (measurement->ceiling_rounds < ASSAY_STATS_FEWEST_ROUNDS && count_calm(in) < CALM_FEWEST)
        return true;
    char got[32], bound[32];
    assay_text_time(measurement->time.median, got, sizeof got);
    assay_text_time(measurement->ceiling_ns, bound, sizeof bound);
    snprintf(reason, size,
             "%s is faster than this machine can be (%s at the least, bound by %s, measured in the "
             "same rounds)",
             got, bound, measurement->bound);
    return false;
}
