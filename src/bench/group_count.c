/* group_count.c: what each variant's calls cost by the processor's counters, in a pass of its own
 * once a group is timed: nothing counts while anything is timed. It says why a figure is what it
 * is: operands that never came from memory, pipelines that stood still. */
#include "bench/group_internal.h"

#include <math.h>

/* As many calls as take this long, so that groups of events that share the processor's few
 * counters each have their turn, which is some milliseconds. */
static const double PASS_NS = 100e6;
static const double CALLS_MOST = 1 << 20, LAUNCHES_MOST = 1000;
/* Of its least bytes: what is below was not in memory, whatever an estimate misses. */
static const double CACHED = 0.25;

static double least_bytes(const struct group *g, const struct variant *v)
{
    struct assay_cost cost = g->op->cost(&v->problem);
    return cost.bytes_read + cost.bytes_written;
}

static struct assay_work work_of(const struct variant *v, enum assay_cache_state state,
                                 const struct assay_measurement *timed)
{
    bool hot = state == ASSAY_CACHE_HOT;
    double calls = timed->time.median > 0 ? PASS_NS / timed->time.median : 1;
    double most = assay_device_shares_memory(v->device) ? CALLS_MOST : LAUNCHES_MOST;
    return (struct assay_work){
        .iters = (int64_t)fmin(fmax(calls, 1), most),
        .n_sets = hot ? 1 : v->n_sets,
        .sets = !hot && v->sets ? v->sets : assay_operands_sets(v->operands),
    };
}

/* The first call only warms up: it may start threads, which are to be there when counting begins.
 */
static enum assay_status count(struct variant *v, const struct assay_work *work,
                               struct assay_counts *out)
{
    struct assay_work once = *work;
    struct assay_timing timing = {0};
    once.iters = 1;
    enum assay_status status =
        v->device->driver->time(v->device, v->kernel, v->state, &once, &timing);
    if (status == ASSAY_OK)
        status = v->device->driver->counters(v->device, v->kernel, v->state, work, out);
    if (status == ASSAY_OK)
        assay_counts_divide(out, work->iters);
    return status;
}

static bool runner_ended(const struct variant *v)
{
    return v->runner && assay_runner_end_of(v->runner) != ASSAY_RUNNER_ALIVE;
}

static void tell_failed(const struct variant *v, enum assay_status status, struct assay_counts *out)
{
    assay_counts_clear(out);
    if (runner_ended(v))
        snprintf(out->missing, sizeof out->missing, "%.*s while it was counted",
                 (int)strcspn(assay_runner_reason(v->runner), ";"), assay_runner_reason(v->runner));
    else
        snprintf(out->missing, sizeof out->missing, "its run failed (%s) while it was counted",
                 assay_status_name(status));
}

/* For the supervisor: what ends the process now is no kernel's fault. */
static void tell_counting(const struct group *g, bool on)
{
    if (g->bench->watch)
        atomic_store_explicit(&g->bench->watch->counting, on, memory_order_relaxed);
}

static void count_state(struct group *g, struct variant *v, enum assay_cache_state state)
{
    struct assay_measurement *m = &v->record.states[state];
    struct assay_counts *out = &m->counts;
    m->has_counts = true;
    m->memory_frac = (double)NAN;
    assay_counts_clear(out);
    if (!v->device->driver->counters) {
        snprintf(out->missing, sizeof out->missing,
                 "not counted: it runs on a GPU, in a process of its own");
        return;
    }
    struct assay_work work = work_of(v, state, m);
    group_step(g, v->runner ? -1 : v - g->variants);
    tell_counting(g, true);
    enum assay_status status = count(v, &work, out);
    tell_counting(g, false);
    group_step(g, -1);
    if (status != ASSAY_OK)
        tell_failed(v, status, out);
    double least = least_bytes(g, v);
    if (least > 0)
        m->memory_frac = out->memory_bytes / least;
}

/* A row that is faster than memory allows may not have needed it. */
static void explain_impossible(struct variant *v)
{
    struct assay_record *r = &v->record;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &r->states[s];
        size_t used = strlen(r->reason);
        if (m->has_counts && m->memory_frac < CACHED)
            snprintf(
                r->reason + used, sizeof r->reason - used,
                "; %s it moved about %.1g of its least bytes from memory: they were in a cache",
                assay_cache_state_name((enum assay_cache_state)s), m->memory_frac);
    }
}

void assay_group_count(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        bool impossible = v->record.outcome == ASSAY_OUTCOME_IMPOSSIBLE;
        for (int s = 0; s < ASSAY_CACHE_STATES; s++)
            if ((v->ready || impossible) && v->set_up && v->record.states[s].measured)
                count_state(g, v, (enum assay_cache_state)s);
        if (impossible)
            explain_impossible(v);
        if (runner_ended(v))
            v->set_up = false; /* its figures stay: nobody asks it for more */
    }
}
