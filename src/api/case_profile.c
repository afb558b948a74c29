/* case_profile.c: cases called once more for a trace, when their figures are taken. */
#include "api/case.h"

#include "base/math.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double PASS_NS = 100e6;
enum { CALLS_LEAST = 3, CALLS_MOST = 20, SPANS = 2 * CALLS_MOST };

struct case_pass {
    struct assay_open_session *session;
    struct assay_case_timer *timer;
    struct assay_case_lane *lane;
    struct assay_profile profile;
    struct assay_profile_node node;
    struct assay_span spans[SPANS];
};

static void describe(struct case_pass *p, int64_t index)
{
    const struct assay_case_lane *c = p->lane;
    const struct assay_case_figures *figures = c->figures;
    struct assay_profile *out = &p->profile;
    out->variant = index;
    out->threads = 1;
    out->median_ns = figures->time.median;
    out->nodes = &p->node;
    out->spans = p->spans;
    out->n_nodes = 1;
    snprintf(out->title, sizeof out->title, "%s", c->self.name);
    snprintf(out->kernel, sizeof out->kernel, "%.63s", c->self.name);
    snprintf(out->state, sizeof out->state, "%s", c->self.flags & ASSAY_CASE_COLD ? "cold" : "hot");
    snprintf(p->node.op, sizeof p->node.op, "%.63s", c->self.name);
    snprintf(p->node.kernel, sizeof p->node.kernel, "%.63s", c->self.name);
    p->node.flops = figures->flops >= 0 ? figures->flops : 0;
    struct assay_profile_samples *samples = &out->samples[0];
    samples->every = 1;
    for (int64_t i = 0; i < figures->rounds && samples->n < ASSAY_PROFILE_SAMPLES; i++)
        if (!isnan(figures->sample_ns[i]))
            samples->ns[samples->n++] = (float)figures->sample_ns[i];
}

static int64_t count_calls(double median_ns)
{
    double calls = median_ns > 0 ? PASS_NS / median_ns : CALLS_LEAST;
    return (int64_t)fmin(fmax(calls, CALLS_LEAST), CALLS_MOST);
}

/* Ranges that a call which failed or crashed left open are closed with it. */
static enum assay_status call(struct case_pass *p)
{
    struct assay_profile *out = &p->profile;
    int32_t open = p->session->n_ranges;
    int64_t from = assay_clock_ns();
    enum assay_status status = assay_case_timer_call(p->timer, p->lane, 1, NULL);
    int64_t to = assay_clock_ns();
    p->session->n_ranges = open;
    if (status != ASSAY_OK)
        return status;
    out->spans[out->n_spans++] = (struct assay_span){from, to, ASSAY_SPAN_CALL, 0, 0};
    out->spans[out->n_spans++] = (struct assay_span){from, to, ASSAY_SPAN_NODE, 0, 0};
    return ASSAY_OK;
}

/* The figures are as they were, whatever it does now. */
static void profile_case(struct case_pass *p)
{
    struct assay_case_figures before = *p->lane->figures;
    int64_t calls = count_calls(before.time.median);
    enum assay_status status = ASSAY_OK;
    p->session->profiling = true;
    for (int64_t i = 0; i < calls && status == ASSAY_OK; i++)
        status = call(p);
    p->session->profiling = false;
    if (status != ASSAY_OK)
        snprintf(p->profile.missing, sizeof p->profile.missing, "%.200s while it was profiled",
                 p->lane->figures->reason);
    else if (p->timer->gpu)
        snprintf(p->profile.missing, sizeof p->profile.missing,
                 "what is inside the calls: it runs on a GPU");
    *p->lane->figures = before;
}

void assay_cases_profile(struct assay_open_session *session, struct assay_case_timer *timer,
                         struct assay_case_lane *cases, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        struct case_pass p = {.session = session, .timer = timer, .lane = &cases[i]};
        if (!assay_case_is_well(&cases[i]) || cases[i].figures->samples == 0)
            continue;
        describe(&p, i);
        if (cases[i].runner)
            snprintf(p.profile.missing, sizeof p.profile.missing,
                     "its calls: it runs in a process of its own (isolate)");
        else
            profile_case(&p);
        assay_timeline_add(session->timeline, &p.profile);
    }
}
