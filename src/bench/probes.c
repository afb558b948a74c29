#include "bench/probes.h"

#include "stats/stats.h"

#include <math.h>

/* A bound this many times lower than the other one does not bind, whatever state the machine is
 * in. */
static const double FAR_BELOW = 4;
/* Working sets within this of each other have one probe; in memory, where the size does not matter
 * beyond some 1 MB, within twice. */
static const double SAME_SIZE = 1.1, SAME_COLD = 2, LARGE_BYTES = 1e6, LASTING_BYTES = 64e6;

static double bytes_touched(const struct assay_probes *p, const struct assay_cost *cost,
                            double working_set)
{
    return p->cold ? cost->bytes_read + cost->bytes_written : working_set;
}

static bool same_size(bool cold, double a, double b)
{
    double least = fmin(a, b), most = fmax(a, b);
    return most <= (cold && least >= LARGE_BYTES ? SAME_COLD : SAME_SIZE) * least;
}

static bool serves(const struct assay_probe_spec *have, const struct assay_probe_spec *want)
{
    if (have->kind != want->kind)
        return false;
    return have->kind == ASSAY_PROBE_MATH ? have->math == want->math
                                          : same_size(want->cold, have->bytes, want->bytes);
}

static int64_t find(const struct assay_probes *p, const struct assay_probe_spec *want)
{
    for (int64_t i = 0; i < p->n; i++)
        if (serves(&p->specs[i], want))
            return i;
    return -1;
}

static enum assay_status add(struct assay_probes *p, struct assay_probe_spec spec)
{
    const struct assay_device_driver *driver = p->device->driver;
    if (!driver->probe_open || p->n == ASSAY_MAX_PROBES || find(p, &spec) >= 0)
        return ASSAY_OK;
    enum assay_status status = driver->probe_open(p->device, &spec, &p->probes[p->n], NULL);
    if (status == ASSAY_OK)
        p->specs[p->n++] = spec;
    return status == ASSAY_ERR_NOMEM ? status : ASSAY_OK;
}

enum assay_status assay_probes_add(struct assay_probes *p, const struct assay_ceilings *ceilings,
                                   const struct assay_cost *cost, double working_set)
{
    struct assay_ceiling_time seen =
        assay_ceiling_time(ceilings, cost->bytes_read, cost->bytes_written, cost->flops,
                           (int)cost->math, working_set, p->cold);
    struct assay_ceiling_mix mix = assay_ceiling_mix(cost->bytes_read, cost->bytes_written);
    /* Comparisons with NaN are false: what is not known may bind. */
    bool transfer = !(seen.transfer_ns < seen.compute_ns / FAR_BELOW);
    bool compute = cost->flops > 0 && !(seen.compute_ns < seen.transfer_ns / FAR_BELOW);
    enum assay_status status = ASSAY_OK;
    for (int kind = 0; kind < ASSAY_PROBE_STREAMS && status == ASSAY_OK; kind++)
        if (transfer && mix.bytes[kind] > 0)
            status = add(p, (struct assay_probe_spec){.kind = (enum assay_probe_kind)kind,
                                                      .bytes = bytes_touched(p, cost, working_set),
                                                      .cold = p->cold});
    if (compute && status == ASSAY_OK)
        status = add(p, (struct assay_probe_spec){
                            .kind = ASSAY_PROBE_MATH, .math = (int)cost->math, .cold = p->cold});
    return status;
}

void assay_probes_close(struct assay_probes *p)
{
    for (int64_t i = 0; i < p->n; i++)
        p->device->driver->probe_close(p->device, &p->probes[i]);
    p->n = 0;
}

void assay_probes_lanes(const struct assay_probes *p, struct assay_lane *lanes)
{
    for (int64_t i = 0; i < p->n; i++)
        lanes[i] = (struct assay_lane){.kernel = &p->probes[i].kernel,
                                       .state = p->probes[i].state,
                                       .sets = p->probes[i].sets,
                                       .n_sets = p->probes[i].n_sets,
                                       .probe = true};
}

bool assay_probes_transfer(const struct assay_probes *p, const struct assay_lane *lanes,
                           int64_t rounds, const struct assay_cost *cost, double working_set,
                           double *out)
{
    struct assay_ceiling_mix mix = assay_ceiling_mix(cost->bytes_read, cost->bytes_written);
    bool any = false;
    for (int64_t r = 0; r < rounds; r++)
        out[r] = 0;
    for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++) {
        struct assay_probe_spec want = {.kind = (enum assay_probe_kind)kind,
                                        .bytes = bytes_touched(p, cost, working_set),
                                        .cold = p->cold};
        int64_t at = find(p, &want);
        if (!(mix.bytes[kind] > 0))
            continue;
        if (at < 0 || !lanes[at].samples)
            return false;
        any = true;
        for (int64_t r = 0; r < rounds; r++)
            out[r] += mix.bytes[kind] * lanes[at].samples[r] / p->probes[at].amount;
    }
    return any;
}

bool assay_probes_compute(const struct assay_probes *p, const struct assay_lane *lanes,
                          int64_t rounds, const struct assay_cost *cost, bool fast, double *out)
{
    int64_t at =
        find(p, &(struct assay_probe_spec){.kind = ASSAY_PROBE_MATH, .math = (int)cost->math});
    const double *samples = at < 0 ? NULL : fast ? lanes[at].fast : lanes[at].samples;
    for (int64_t r = 0; r < rounds && samples; r++)
        out[r] = cost->flops * samples[r] / p->probes[at].amount;
    return samples;
}

/* Cold probes of little memory say nothing of the curve's last point: their calls are short, and
 * caches may be larger than the system tells. */
static bool is_of_the_curve(const struct assay_probe_spec *spec)
{
    return spec->kind == ASSAY_PROBE_MATH || !spec->cold || spec->bytes >= LASTING_BYTES;
}

bool assay_probes_raise(const struct assay_probes *p, const struct assay_lane *lanes,
                        int64_t rounds, double *scratch, struct assay_ceilings *ceilings)
{
    bool raised = false;
    for (int64_t i = 0; i < p->n; i++) {
        const struct assay_probe_spec *spec = &p->specs[i];
        struct assay_summary time;
        if (!lanes[i].samples || !is_of_the_curve(spec))
            continue;
        assay_stats_summarise(lanes[i].samples, rounds, scratch, &time);
        if (time.n >= ASSAY_STATS_FEWEST_ROUNDS && time.median > 0)
            raised |= assay_ceilings_raise(ceilings, spec->kind, spec->math, spec->bytes,
                                           spec->cold, p->probes[i].amount / time.median * 1e9);
    }
    return raised;
}
