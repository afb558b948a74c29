/* case_measure.c: cases from setup to figures, in this process or, isolated, from here. */
#include "api/case.h"

#include "api/case_memory.h"
#include "base/alloc.h"
#include "base/math.h"
#include "device/cpu/cpu_info.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two readings of the clock, for the length of a sample where precision decides. */
static const double TIMER_NS = 25;
/* Cold calls are samples each: so many at the most, where the budget allows. */
enum { COLD_ROUNDS = 200 };
/* Twice what the last level holds, within these. */
static const size_t SWEEP_LEAST = (size_t)32 << 20, SWEEP_MOST = (size_t)512 << 20;

struct measuring {
    struct assay_open_session *session;
    struct assay_guard guard;
    struct assay_case_timer timer;
    assay_device *memory;
    struct assay_case_lane *cases;
    int64_t n;
    struct assay_lane *lanes; /* the engine's: one for each case that is still well */
    int64_t *case_of;
    int64_t n_lanes;
};

static void fail(struct assay_case_lane *c, const char *who, double returned)
{
    if (!assay_case_is_well(c))
        return;
    c->figures->outcome = ASSAY_OUTCOME_FAILED;
    snprintf(c->figures->reason, sizeof c->figures->reason, "%s answered %g", who, returned);
}

/* ---- before and after ------------------------------------------------------------------------ */

static void set_up(void *user)
{
    struct assay_case_lane *c = user;
    int returned = c->self.setup ? c->self.setup(c->self.argument) : 0;
    c->is_set_up = returned == 0;
    if (returned != 0)
        fail(c, "setup", returned);
}

static void count_operations(void *user)
{
    struct assay_case_lane *c = user;
    struct assay_case_figures *a = c->figures;
    a->macs = c->self.macs ? c->self.macs(&c->self) : (double)NAN;
    a->flops = c->self.flops ? c->self.flops(&c->self) : (double)NAN;
    if (c->self.macs && !(a->macs >= 0 && isfinite(a->macs)))
        fail(c, "the MAC counter", a->macs);
    else if (c->self.flops && !(a->flops >= 0 && isfinite(a->flops)))
        fail(c, "the FLOP counter", a->flops);
}

static void tear_down(void *user)
{
    struct assay_case_lane *c = user;
    c->self.teardown(c->self.argument);
}

static void guarded(struct assay_case_lane *c, void (*f)(void *), const char *what)
{
    if (!assay_guard_call(c->guard, f, c))
        assay_case_crashed(c, what);
}

void assay_case_set_up(struct assay_case_lane *c)
{
    guarded(c, set_up, "setup");
    if (assay_case_is_well(c))
        guarded(c, count_operations, "a counter");
}

void assay_case_tear_down(struct assay_case_lane *c)
{
    if (c->is_set_up && c->self.teardown)
        guarded(c, tear_down, "teardown");
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* How many calls of warming up that takes. */
static int64_t calls_looked_at(int64_t warmup) { return warmup > 1 ? 2 : 1; }

/* The first calls of warming up. The last of them is the one whose memory is looked at: pages of
 * the case's own data, touched for the first time by the one before, are not that call's. */
void assay_case_look_at_memory(struct assay_open_session *session, struct assay_case_timer *timer,
                               struct assay_case_lane *c)
{
    struct assay_case_memory memory;
    int64_t calls = calls_looked_at(session->how.warmup);
    c->figures->idle_bytes = assay_case_memory_idle(session, c->memory);
    for (int64_t i = 1; i < calls && assay_case_is_well(c); i++)
        assay_case_timer_call(timer, c, 1, NULL);
    if (!assay_case_is_well(c))
        return;
    assay_case_memory_begin(&memory, session, c->memory);
    assay_case_timer_call(timer, c, 1, NULL);
    c->figures->workspace_bytes = assay_case_memory_end(&memory);
}

/* ---- here, or in their runners --------------------------------------------------------------- */

static void prepare_all(struct measuring *m)
{
    for (int64_t i = 0; i < m->n; i++) {
        struct assay_case_lane *c = &m->cases[i];
        if (assay_case_is_well(c) && c->runner)
            assay_case_ask(c, ASSAY_RUNNER_SETUP);
        else if (assay_case_is_well(c))
            assay_case_set_up(c);
    }
    for (int64_t i = 0; i < m->n; i++) {
        struct assay_case_lane *c = &m->cases[i];
        if (assay_case_is_well(c) && c->runner)
            assay_case_ask(c, ASSAY_RUNNER_PREPARE);
        else if (assay_case_is_well(c))
            assay_case_look_at_memory(m->session, &m->timer, c);
    }
}

static void finish_all(struct measuring *m)
{
    for (int64_t i = 0; i < m->n; i++) {
        struct assay_case_lane *c = &m->cases[i];
        if (m->timer.gpu && m->timer.gpu->driver->forget)
            m->timer.gpu->driver->forget(m->timer.gpu, c);
        if (c->runner)
            assay_case_ask(c, ASSAY_RUNNER_TEARDOWN);
        else
            assay_case_tear_down(c);
    }
}

/* ---- sampling -------------------------------------------------------------------------------- */

static enum assay_status make_lanes(struct measuring *m, struct assay_error *err)
{
    static const struct assay_args no_operands;
    m->lanes = assay_calloc((size_t)m->n, sizeof *m->lanes);
    m->case_of = assay_calloc((size_t)m->n, sizeof *m->case_of);
    if (!m->lanes || !m->case_of)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < m->n; i++)
        if (assay_case_is_well(&m->cases[i])) {
            m->case_of[m->n_lanes] = i;
            m->lanes[m->n_lanes++] = (struct assay_lane){.kernel = &m->cases[i].kernel,
                                                         .state = &m->cases[i],
                                                         .device = m->cases[i].device,
                                                         .sets = &no_operands,
                                                         .n_sets = 1};
        }
    return ASSAY_OK;
}

static enum assay_status keep_samples(struct assay_case_figures *a, const double *samples,
                                      int64_t rounds, struct assay_error *err)
{
    a->sample_ns = assay_calloc((size_t)rounds + 1, sizeof *a->sample_ns);
    if (!a->sample_ns)
        return assay_error_nomem(err);
    memcpy(a->sample_ns, samples, (size_t)rounds * sizeof *samples);
    a->rounds = rounds;
    return ASSAY_OK;
}

static enum assay_status take_down(const struct measuring *m, const struct assay_lane *lane,
                                   struct assay_case_lane *c, int64_t rounds, double *scratch,
                                   struct assay_error *err)
{
    struct assay_case_figures *a = c->figures;
    assay_stats_summarise(lane->samples, rounds, scratch, &a->time);
    a->samples = a->time.n;
    a->calls = lane->iters;
    a->warmup = c->calls - a->samples * a->calls;
    if (c->most > a->workspace_bytes)
        a->workspace_bytes = c->most;
    const struct assay_lane *first = &m->lanes[0];
    a->has_ratio =
        lane != first && assay_case_is_well(&m->cases[0]); /* then it is the first lane */
    if (a->has_ratio)
        assay_stats_ratio(first->samples, lane->samples, rounds, scratch, &a->ratio);
    return keep_samples(a, lane->samples, rounds, err);
}

static bool stop(void *user)
{
    const struct assay_case_settings *how = user;
    return how->between(how->user) != 0;
}

static enum assay_status sample(struct measuring *m, int64_t warmup, struct assay_error *err)
{
    const struct assay_case_settings *how = &m->session->how;
    int64_t rounds = how->iters ? how->iters : m->timer.sweep ? COLD_ROUNDS : 0;
    struct assay_engine_options options = {
        .precision = how->precision,
        .budget_ns = how->budget_ns,
        .warmup = rounds ? warmup : 0,
        .rounds = rounds,
        .calls = rounds ? 1 : 0,
        .within_budget = rounds && how->iters == 0,
        .seed = how->seed,
        .timer_ns = TIMER_NS,
        .baseline = m->n_lanes > 1 ? 0 : -1,
    };
    struct assay_engine_hooks hooks = {.user = &m->session->how,
                                       .stop = how->between ? stop : NULL};
    assay_engine *engine = NULL;
    enum assay_status status =
        assay_engine_create(&m->timer.device, &options, &hooks, m->lanes, m->n_lanes, &engine, err);
    if (status == ASSAY_OK)
        status = assay_engine_run(engine, err);
    rounds = status == ASSAY_OK ? assay_engine_rounds(engine) : 0;
    double *scratch = assay_calloc((size_t)rounds + 1, sizeof *scratch);
    if (status == ASSAY_OK && !scratch)
        status = assay_error_nomem(err);
    for (int64_t i = 0; i < m->n_lanes; i++)
        if (m->cases[m->case_of[i]].runner)
            assay_case_fetch(&m->cases[m->case_of[i]]);
    for (int64_t i = 0; i < m->n_lanes && status == ASSAY_OK; i++)
        if (assay_case_is_well(&m->cases[m->case_of[i]]))
            status = take_down(m, &m->lanes[i], &m->cases[m->case_of[i]], rounds, scratch, err);
    assay_free(scratch);
    assay_engine_destroy(engine);
    return status;
}

/* Memory to sweep the caches with, where a case is to be cold. */
static enum assay_status prepare_sweep(struct measuring *m, struct assay_error *err)
{
    bool cold = false;
    for (int64_t i = 0; i < m->n; i++)
        cold = cold || m->cases[i].self.flags & ASSAY_CASE_COLD;
    if (!cold)
        return ASSAY_OK;
    if (m->timer.gpu)
        return assay_error_set(err, ASSAY_ERR_INVALID, m->session->device_name,
                               "cold cases are for the cpu");
    size_t wanted = assay_max_bytes(2 * assay_cpu_llc_bytes(1), SWEEP_LEAST);
    m->timer.sweep_bytes = wanted < SWEEP_MOST ? wanted : SWEEP_MOST;
    m->timer.sweep = assay_malloc(m->timer.sweep_bytes);
    return m->timer.sweep ? ASSAY_OK : assay_error_nomem(err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum assay_status measure_all(struct measuring *m, struct assay_error *err)
{
    int64_t warmup = m->session->how.warmup;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < m->n; i++) {
        m->cases[i].guard = &m->guard;
        m->cases[i].memory = m->memory;
        m->cases[i].gpu = m->timer.gpu;
        assay_case_lane_init(&m->cases[i]);
    }
    if (m->session->how.isolate)
        status = assay_cases_hire(m->session, &m->timer, m->cases, m->n, err);
    if (status == ASSAY_OK) {
        prepare_all(m);
        status = make_lanes(m, err);
        if (status == ASSAY_OK && m->n_lanes > 0)
            status = sample(m, warmup - calls_looked_at(warmup), err);
        if (status == ASSAY_OK && m->session->timeline)
            assay_cases_profile(m->session, &m->timer, m->cases, m->n);
        if (status == ASSAY_OK && m->session->memory_file)
            assay_cases_profile_memory(m->session, &m->timer, m->cases, m->n);
        finish_all(m);
    }
    assay_cases_dismiss(m->cases, m->n);
    return status;
}

enum assay_status assay_cases_measure(struct assay_open_session *session,
                                      const struct assay_case *cases, int64_t n,
                                      struct assay_case_figures *figures, struct assay_error *err)
{
    struct measuring m = {.session = session, .n = n};
    m.cases = assay_calloc((size_t)n, sizeof *m.cases);
    if (!m.cases)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < n; i++)
        m.cases[i] = (struct assay_case_lane){.self = cases[i], .figures = &figures[i]};
    enum assay_status status = assay_session_device(session, &m.memory, err);
    if (status == ASSAY_OK)
        status = assay_guard_begin(&m.guard, err);
    if (status == ASSAY_OK) {
        assay_case_timer_init(&m.timer, session->gpu, session->how.iters == 0,
                              session->how.isolate);
        status = prepare_sweep(&m, err);
        if (status == ASSAY_OK)
            status = measure_all(&m, err);
        assay_guard_end(&m.guard);
    }
    assay_free(m.timer.sweep);
    assay_free(m.lanes);
    assay_free(m.case_of);
    assay_free(m.cases);
    return status;
}
