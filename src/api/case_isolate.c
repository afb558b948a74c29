/* case_isolate.c: each case in a runner of its own, which may hang, scribble over its memory or
 * end. It is a copy of this process, so that the caller's functions and data are there; what a case
 * does to its data stays there too. This process keeps the clock, tells whose turn it is, and reads
 * what a case left in its copy of the figures. */
#include "api/case.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* What a copy knows of itself. */
struct life {
    struct assay_open_session *session;
    struct assay_case_timer *timer;
    struct assay_case_lane *lane;
};

/* ---- in the runner --------------------------------------------------------------------------- */

static enum assay_status run(struct life *life, const struct assay_runner_command *c,
                             struct assay_runner_reply *r)
{
    struct assay_device *device = &life->timer->device;
    struct assay_disturbance before, after;
    struct assay_timing primed = {0};
    enum assay_status status =
        c->run.prime > 0 ? assay_case_timer_call(life->timer, life->lane, c->run.prime, &primed)
                         : ASSAY_OK;
    r->prime_ns = primed.host_ns;
    device->driver->disturbance(device, &before);
    if (status == ASSAY_OK)
        status = assay_case_timer_call(life->timer, life->lane, c->run.iters, &r->timing);
    device->driver->disturbance(device, &after);
    r->timing.before = before;
    r->timing.after = after;
    return status;
}

static enum assay_status obey(struct life *life, const struct assay_runner_command *c,
                              struct assay_runner_reply *r)
{
    switch (c->verb) {
    case ASSAY_RUNNER_SETUP:
        assay_case_set_up(life->lane);
        break;
    case ASSAY_RUNNER_PREPARE:
        assay_case_look_at_memory(life->session, life->timer, life->lane);
        break;
    case ASSAY_RUNNER_RUN:
        return run(life, c, r);
    case ASSAY_RUNNER_TEARDOWN:
        assay_case_tear_down(life->lane);
        break;
    default:
        break;
    }
    return ASSAY_OK;
}

static void live(void *user, int line)
{
    struct life *life = user;
    struct assay_runner_command command;
    bool go_on = true;
    while (go_on && assay_runner_hear(line, &command)) {
        struct assay_runner_reply reply = {.version = ASSAY_RUNNER_VERSION,
                                           .number = command.number};
        reply.status = (int32_t)obey(life, &command, &reply);
        go_on = assay_runner_answer(line, &reply);
    }
}

/* ---- in this process ------------------------------------------------------------------------- */

static void start(struct assay_open_session *session, struct assay_case_timer *timer,
                  struct assay_case_lane *lane, assay_runner *const *others, int64_t n,
                  enum assay_status *status, struct assay_error *err)
{
    struct life life = {session, timer, lane};
    struct assay_runner_options options = {.timeout_s = session->how.timeout_s};
    lane->timeout_s = options.timeout_s;
    *status = assay_runner_fork(&options, live, &life, others, n, &lane->runner, err);
    if (*status == ASSAY_OK)
        *status = assay_remote_device_create(lane->runner, &timer->device, &lane->device, err);
}

enum assay_status assay_cases_hire(struct assay_open_session *session,
                                   struct assay_case_timer *timer, struct assay_case_lane *lanes,
                                   int64_t n, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    assay_runner **started = assay_calloc((size_t)n, sizeof *started);
    if (!started)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++) {
        if (assay_case_is_well(&lanes[i]))
            start(session, timer, &lanes[i], started, i, &status, err);
        started[i] = lanes[i].runner;
    }
    assay_free(started);
    return status;
}

static void tell_end(struct assay_case_lane *lane)
{
    struct assay_case_figures *figures = lane->figures;
    const char *reason = assay_runner_reason(lane->runner);
    bool by_signal = strncmp(reason, "SIG", 3) == 0;
    char late[64];
    switch (assay_runner_end_of(lane->runner)) {
    case ASSAY_RUNNER_TIMEOUT:
        figures->outcome = ASSAY_OUTCOME_TIMEOUT;
        snprintf(late, sizeof late, "a call did not end within %g s", lane->timeout_s);
        reason = late;
        break;
    case ASSAY_RUNNER_NO_MEMORY:
        figures->outcome = ASSAY_OUTCOME_OUT_OF_MEMORY;
        break;
    case ASSAY_RUNNER_CHEATED:
        figures->outcome = ASSAY_OUTCOME_MISMATCH;
        break;
    case ASSAY_RUNNER_KILLED:
        figures->outcome = ASSAY_OUTCOME_CRASHED;
        reason = "SIGKILL";
        by_signal = true;
        break;
    case ASSAY_RUNNER_ALIVE:
    case ASSAY_RUNNER_CRASHED:
        figures->outcome = ASSAY_OUTCOME_CRASHED;
        break;
    }
    snprintf(figures->reason, sizeof figures->reason, "%s%s", reason,
             by_signal ? " ended its process" : "");
}

/* The copy has them at the same addresses. Times are not among them: those are known here. */
static bool read_copy(struct assay_case_lane *lane)
{
    struct assay_case_lane there;
    struct assay_case_figures figures;
    if (assay_runner_end_of(lane->runner) != ASSAY_RUNNER_ALIVE ||
        assay_runner_read(lane->runner, &there, (uintptr_t)lane, sizeof there, NULL) != ASSAY_OK ||
        assay_runner_read(lane->runner, &figures, (uintptr_t)lane->figures, sizeof figures, NULL) !=
            ASSAY_OK)
        return false;
    lane->calls = there.calls;
    lane->most = there.most;
    lane->figures->outcome = figures.outcome;
    snprintf(lane->figures->reason, sizeof lane->figures->reason, "%.*s",
             (int)sizeof figures.reason - 1, figures.reason);
    lane->figures->idle_bytes = figures.idle_bytes;
    lane->figures->workspace_bytes = figures.workspace_bytes;
    lane->figures->macs = figures.macs;
    lane->figures->flops = figures.flops;
    return true;
}

void assay_case_fetch(struct assay_case_lane *lane)
{
    if (assay_case_is_well(lane) && !read_copy(lane))
        tell_end(lane);
}

void assay_case_ask(struct assay_case_lane *lane, enum assay_runner_verb verb)
{
    struct assay_runner_command command = {.verb = verb};
    struct assay_runner_reply reply;
    if (assay_runner_end_of(lane->runner) != ASSAY_RUNNER_ALIVE)
        return;
    assay_runner_ask(lane->runner, &command, &reply, NULL);
    assay_case_fetch(lane);
}

void assay_cases_dismiss(struct assay_case_lane *lanes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        assay_remote_device_destroy(lanes[i].device);
        assay_runner_stop(lanes[i].runner);
        lanes[i].device = NULL;
        lanes[i].runner = NULL;
    }
}
