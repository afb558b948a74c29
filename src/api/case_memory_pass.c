/* case_memory_pass.c: cases called once more, when their figures are taken, while what they
 * allocate through assay is noted. They are not set up again: that is the caller's. */
#include "api/case.h"

#include <stdio.h>

enum { CALLS = 2, MOST_EVENTS = 1 << 13 };

static void describe(const struct assay_open_session *session, const struct assay_case_lane *lane,
                     int64_t index, struct assay_memory_profile *out)
{
    *out = (struct assay_memory_profile){.variant = index};
    out->on_host = !session->driver->upload;
    snprintf(out->title, sizeof out->title, "%s", lane->self.name);
    snprintf(out->kernel, sizeof out->kernel, "%.63s", lane->self.name);
    snprintf(out->device, sizeof out->device, "%s", session->driver->name);
}

/* The figures are as they were, whatever it does now. */
static void call(struct assay_case_timer *timer, struct assay_case_lane *lane,
                 struct assay_memory_log *log, struct assay_memory_profile *out)
{
    struct assay_case_figures before = *lane->figures;
    enum assay_status status = ASSAY_OK;
    assay_memory_log_begin(log, ASSAY_STAGE_CALL);
    for (int i = 0; i < CALLS && status == ASSAY_OK; i++) {
        status = assay_case_timer_call(timer, lane, 1, NULL);
        out->calls += status == ASSAY_OK;
    }
    assay_memory_log_end(log);
    if (status != ASSAY_OK)
        snprintf(out->missing, sizeof out->missing, "%.180s while its memory was profiled",
                 lane->figures->reason);
    else if (log->lost > 0)
        snprintf(out->missing, sizeof out->missing, "%lld events did not fit",
                 (long long)log->lost);
    else
        snprintf(out->missing, sizeof out->missing,
                 "what it had before the call, and what it takes by itself, not through assay");
    *lane->figures = before;
}

static void profile_case(struct assay_open_session *session, struct assay_case_timer *timer,
                         struct assay_case_lane *lane, int64_t index)
{
    struct assay_memory_profile profile;
    struct assay_memory_log log = {0};
    describe(session, lane, index, &profile);
    if (lane->runner)
        snprintf(profile.missing, sizeof profile.missing,
                 "its allocations: it runs in a process of its own (isolate)");
    else if (assay_memory_log_init(&log, MOST_EVENTS) == ASSAY_OK)
        call(timer, lane, &log, &profile);
    else
        snprintf(profile.missing, sizeof profile.missing, "its allocations: out of memory");
    profile.events = log.events;
    profile.n_events = log.n;
    assay_memory_file_add(session->memory_file, &profile);
    assay_memory_log_fini(&log);
}

void assay_cases_profile_memory(struct assay_open_session *session, struct assay_case_timer *timer,
                                struct assay_case_lane *cases, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (assay_case_is_well(&cases[i]) && cases[i].figures->samples > 0)
            profile_case(session, timer, &cases[i], i);
}
