/* session_profile.c: a session's trace, and the caller's ranges in it. */
#include "api/session.h"

#include <assay/assay.h>

#include <stdio.h>
#include <string.h>

enum assay_status assay_session_profile(assay_session *handle, const char *path,
                                        struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!path || !path[0] || session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               session->running ? "the session is measuring a case"
                                                : "no file for the trace");
    if (session->timeline)
        return assay_error_set(err, ASSAY_ERR_INVALID, assay_timeline_path(session->timeline),
                               "the session records into this already");
    return assay_timeline_open(path, &session->timeline, err);
}

enum assay_status assay_session_end_trace(struct assay_open_session *session,
                                          struct assay_error *err)
{
    const struct assay_run_info *run = &session->info;
    const struct assay_trace_arg about[] = {
        {"assay", run->version, 0},      {"run", run->id, 0},
        {"started", run->started, 0},    {"device", run->device_name, 0},
        {"threads", NULL, run->threads},
    };
    assay_timeline *timeline = session->timeline;
    session->timeline = NULL;
    return assay_timeline_close(timeline, about, (int32_t)(sizeof about / sizeof about[0]), err);
}

enum assay_status assay_session_profile_end(assay_session *handle, struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!session->timeline || session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               session->running ? "the session is measuring a case"
                                                : "the session records no trace");
    return assay_session_end_trace(session, err);
}

/* ---- memory ---- */

enum assay_status assay_session_profile_memory(assay_session *handle, const char *path,
                                               struct assay_error *err)
{
    char about[256];
    struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!path || !path[0] || session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               session->running ? "the session is measuring a case"
                                                : "no file for the memory profile");
    if (session->memory_file)
        return assay_error_set(err, ASSAY_ERR_INVALID, assay_memory_file_path(session->memory_file),
                               "the session records into this already");
    const struct assay_run_info *run = &session->info;
    snprintf(about, sizeof about, "assay %s, run %s on %.60s", run->version, run->id,
             run->device_name);
    return assay_memory_file_open(path, assay_memory_form_of(path), about, session->index,
                                  &session->memory_file, err);
}

enum assay_status assay_session_end_memory(struct assay_open_session *session,
                                           struct assay_error *err)
{
    assay_memory_file *file = session->memory_file;
    session->memory_file = NULL;
    return assay_memory_file_close(file, err);
}

enum assay_status assay_session_profile_memory_end(assay_session *handle, struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!session->memory_file || session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               session->running ? "the session is measuring a case"
                                                : "the session records no memory");
    return assay_session_end_memory(session, err);
}

/* ---- ranges ---- */

/* Not while something is timed. */
static bool is_recording(const struct assay_open_session *session)
{
    return session->timeline && (session->profiling || !session->running);
}

void assay_range_push(assay_session *handle, const char *name)
{
    struct assay_open_session *session = assay_handle_find(handle);
    if (!session)
        return;
    if (session->n_ranges < ASSAY_RANGES) {
        struct assay_range *range = &session->ranges[session->n_ranges];
        bool recorded = is_recording(session);
        range->began_ns = recorded ? assay_clock_ns() : 0;
        if (recorded)
            snprintf(range->name, sizeof range->name, "%s", name ? name : "");
    }
    session->n_ranges++;
}

/* A pop without a push does nothing. */
void assay_range_pop(assay_session *handle)
{
    struct assay_open_session *session = assay_handle_find(handle);
    if (!session || session->n_ranges == 0 || --session->n_ranges >= ASSAY_RANGES)
        return;
    const struct assay_range *range = &session->ranges[session->n_ranges];
    if (range->began_ns > 0 && is_recording(session))
        assay_timeline_range(session->timeline, range->name, session->n_ranges, range->began_ns,
                             assay_clock_ns());
}
