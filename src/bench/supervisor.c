#include "bench/supervisor.h"
#include "model/model.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/child.h"
#include "bench/worker.h"
#include "runner/python.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* How long a worker may take to finish its sample after it was asked to stop: whoever presses
 * Ctrl-C waits for a second, the reports included. What it prepares or verifies is not worth more,
 * and a group that was not measured to its end is measured again. */
static const double STOP_GRACE_S = 0.5;
/* How long the harness itself may go without a sign of life. */
static const double HARNESS_TIMEOUT_S = 120;

/* How often one group is begun again for what no kernel of it is to blame for: its worker was
 * killed while it prepared the group, or its messages did not fit. */
enum { TRIES = 3 };

/* The group being measured, gathered from the worker's events. */
struct attempt {
    struct assay_record *records;
    int64_t n_records;
    struct assay_event_name *names; /* of its variants */
    int64_t n_names;
    bool measured; /* all records are there, and profiles come */
    bool done, failed;
    bool worn;        /* the worker asks to be replaced */
    char misfit[400]; /* what is wrong with the worker's messages; empty: nothing */
    struct assay_profile_files *profiles; /* by variant: files that were made of them */
    char failure[512];
    enum assay_status failure_status;
};

struct supervisor {
    const struct assay_plan *plan;
    const struct assay_supervisor_options *options;
    struct assay_child child;
    struct attempt attempt;
    struct assay_record lost[ASSAY_MAX_VARIANTS]; /* of variants that took a worker with them */
    int64_t n_lost;
    int64_t group;  /* being measured */
    int tries;      /* of it */
    bool has_stray; /* something that is no message was told of, in this group */
};

static void take_failure(struct attempt *a, enum assay_status status, const char *text)
{
    a->failed = true;
    a->failure_status = status == ASSAY_OK ? ASSAY_ERR_CORRUPT : status;
    snprintf(a->failure, sizeof a->failure, "%s", text);
}

static void take_record(struct supervisor *s, const struct assay_event *event)
{
    struct attempt *a = &s->attempt;
    struct assay_error err = {0};
    struct assay_record *record = &a->records[a->n_records];
    if (a->n_records == ASSAY_MAX_VARIANTS)
        snprintf(a->misfit, sizeof a->misfit, "more records than a group can have");
    else if (assay_event_record(event, record, &err) != ASSAY_OK)
        snprintf(a->misfit, sizeof a->misfit, "a record is not one: %.300s", err.message);
    else if (record->group != s->group)
        snprintf(a->misfit, sizeof a->misfit, "a record of group %lld, not %lld",
                 (long long)record->group, (long long)s->group);
    else
        a->n_records++;
}

/* Is there a record for each variant, or one for the group? An interrupted one may have fewer. */
static bool is_complete(const struct supervisor *s)
{
    const struct attempt *a = &s->attempt;
    if (s->options->stop && s->options->stop(s->options->user))
        return true;
    if (a->n_records == 0)
        return a->n_names == 0 && s->n_lost > 0; /* nobody is left */
    return a->n_records == a->n_names || (a->n_records == 1 && !a->records[0].kernel[0]);
}

/* The group is measured, or done; false: its records are not all there. */
static bool take_end(struct supervisor *s, const struct assay_event *event)
{
    struct attempt *a = &s->attempt;
    bool fits = event->group == s->group && event->n_records == a->n_records && is_complete(s);
    if (!fits)
        snprintf(a->misfit, sizeof a->misfit,
                 "group %lld ends with %lld records; %lld came for %lld contenders of group %lld",
                 (long long)event->group, (long long)event->n_records, (long long)a->n_records,
                 (long long)a->n_names, (long long)s->group);
    return fits;
}

/* A stranger's profile comes before its record: paths are kept until the group is delivered. */
static void give_profile(struct supervisor *s, const struct assay_profile *profile)
{
    const struct assay_supervisor_options *options = s->options;
    if (options->profile)
        options->profile(options->user, &s->plan->groups[s->group], profile,
                         &s->attempt.profiles[profile->variant]);
}

static void give_memory(struct supervisor *s, const struct assay_memory_profile *profile)
{
    const struct assay_supervisor_options *options = s->options;
    if (options->memory)
        options->memory(options->user, &s->plan->groups[s->group], profile,
                        &s->attempt.profiles[profile->variant]);
}

/* False: it is not of this group. */
static bool is_of_group(struct supervisor *s, int64_t group, int64_t variant)
{
    if (group == s->group && variant < ASSAY_MAX_VARIANTS)
        return true;
    snprintf(s->attempt.misfit, sizeof s->attempt.misfit,
             "a profile of variant %lld of group %lld, not %lld", (long long)variant,
             (long long)group, (long long)s->group);
    return false;
}

static void take_profile(struct supervisor *s, const struct assay_event *event)
{
    struct assay_profile profile;
    struct assay_error err = {0};
    if (assay_event_profile(event, &profile, &err) != ASSAY_OK) {
        snprintf(s->attempt.misfit, sizeof s->attempt.misfit, "%.300s", err.message);
        return;
    }
    if (is_of_group(s, profile.group, profile.variant))
        give_profile(s, &profile);
    assay_profile_fini(&profile);
}

static void take_memory(struct supervisor *s, const struct assay_event *event)
{
    struct assay_memory_profile profile;
    struct assay_error err = {0};
    if (assay_event_memory(event, &profile, &err) != ASSAY_OK) {
        snprintf(s->attempt.misfit, sizeof s->attempt.misfit, "%.300s", err.message);
        return;
    }
    if (is_of_group(s, profile.group, profile.variant))
        give_memory(s, &profile);
    assay_memory_profile_fini(&profile);
}

static void take_event(struct supervisor *s, const assay_json *message)
{
    struct attempt *a = &s->attempt;
    struct assay_event event;
    if (!assay_event_read(message, &event, a->misfit, sizeof a->misfit))
        return;
    switch (event.kind) {
    case ASSAY_EVENT_NOTE:
        s->options->note(s->options->user, event.text);
        break;
    case ASSAY_EVENT_CONTENDERS:
        a->n_names = assay_event_names(&event, a->names, ASSAY_MAX_VARIANTS);
        break;
    case ASSAY_EVENT_RECORD:
        take_record(s, &event);
        break;
    case ASSAY_EVENT_MEASURED:
        a->measured = take_end(s, &event);
        break;
    case ASSAY_EVENT_PROFILE:
        take_profile(s, &event);
        break;
    case ASSAY_EVENT_MEMORY:
        take_memory(s, &event);
        break;
    case ASSAY_EVENT_DONE:
        a->done = take_end(s, &event);
        break;
    case ASSAY_EVENT_WORN:
        a->worn = true;
        break;
    case ASSAY_EVENT_ERROR:
        take_failure(a, event.status, event.text);
        break;
    case ASSAY_EVENT_COUNT:
        break;
    }
}

/* One line from the worker. What somebody else wrote between two messages is told of once and does
 * no harm. */
static void on_line(void *user, const char *line, size_t length)
{
    struct supervisor *s = user;
    char why[400], text[500];
    assay_json *json;
    if (s->attempt.done || s->attempt.failed || s->attempt.misfit[0])
        return;
    switch (assay_wire_read(&s->child.events, line, length, &json, why, sizeof why)) {
    case ASSAY_WIRE_MESSAGE:
        take_event(s, json);
        break;
    case ASSAY_WIRE_MISFIT:
        snprintf(s->attempt.misfit, sizeof s->attempt.misfit, "%s", why);
        break;
    case ASSAY_WIRE_NO_MEMORY:
        take_failure(&s->attempt, ASSAY_ERR_NOMEM, "out of memory");
        break;
    case ASSAY_WIRE_STRAY:
        snprintf(text, sizeof text, "a kernel wrote into the worker's pipe: %s; ignored", why);
        if (!s->has_stray)
            s->options->note(s->options->user, text);
        s->has_stray = true;
    }
    assay_json_free(json);
}

/* How a worker's end is told: outcome and reason. */
static enum assay_outcome outcome_of_end(const struct assay_child_end *end, bool timed_out,
                                         double timeout_s, char *reason, size_t size)
{
    if (timed_out) {
        snprintf(reason, size, "no answer within %g s (--timeout)", timeout_s);
        return ASSAY_OUTCOME_TIMEOUT;
    }
    if (end->last_words[0]) {
        snprintf(reason, size, "%s", end->last_words);
        return ASSAY_OUTCOME_CRASHED;
    }
    if (end->out_of_memory) {
        char held[32];
        assay_text_bytes((double)end->peak_bytes, held, sizeof held);
        snprintf(reason, size, "the worker ended holding %s", held);
        return ASSAY_OUTCOME_OUT_OF_MEMORY;
    }
    if (end->killed) {
        snprintf(reason, size, "SIGKILL from outside; --resume measures it again");
        return ASSAY_OUTCOME_KILLED;
    }
    if (end->signal)
        snprintf(reason, size, "SIG%s",
                 sigabbrev_np(end->signal) ? sigabbrev_np(end->signal) : "?");
    else
        snprintf(reason, size, "it ended the process with exit code %d", end->exit_code);
    return ASSAY_OUTCOME_CRASHED;
}

/* The worker is gone. Whose fault was it? `go_on` is false where it was no kernel's: the group ends
 * with it. */
static enum assay_status blame(struct supervisor *s, struct assay_job *job,
                               const struct assay_child_end *end, bool timed_out, bool *go_on)
{
    char reason[192], label[160];
    enum assay_outcome outcome =
        outcome_of_end(end, timed_out, job->settings.timeout_s, reason, sizeof reason);
    int64_t variant = end->variant;
    bool known = variant >= 0 && variant < s->attempt.n_names && s->n_lost < ASSAY_MAX_VARIANTS;
    struct assay_record *record = &s->lost[s->n_lost < ASSAY_MAX_VARIANTS ? s->n_lost : 0];
    struct assay_event_name name = {"", "", ""};
    if (known)
        name = s->attempt.names[variant];
    assay_group_record(job, assay_model_op(job->group.op), s->n_lost, name.kernel,
                       name.implementation, name.recipe, record);
    record->outcome = outcome;
    snprintf(record->reason, sizeof record->reason, "%s%s", reason,
             known ? "" : ", while preparing the group");
    s->n_lost++;
    *go_on = known;
    if (!known)
        return ASSAY_OK;
    assay_kernel_label(name.kernel, name.recipe, label, sizeof label);
    return assay_strings_add(&job->exclude, label);
}

/* The records were all there when the worker ended: they stay, and what it did not come to is
 * missing from the profile. */
static void note_unprofiled(struct supervisor *s, const struct assay_job *job,
                            const struct assay_child_end *end, bool timed_out)
{
    const struct attempt *a = &s->attempt;
    char reason[192], text[500];
    bool known = end->variant >= 0 && end->variant < a->n_records;
    const struct assay_record *record = &a->records[known ? end->variant : 0];
    outcome_of_end(end, timed_out, job->settings.timeout_s, reason, sizeof reason);
    if (a->misfit[0])
        snprintf(reason, sizeof reason, "%.190s", a->misfit);
    snprintf(text, sizeof text,
             "%s%s%.160s while it was profiled: its profile%s is missing, its figures stay",
             known ? record->kernel : "the worker ended: ", known ? ": " : "", reason,
             known ? ", with that of the variants behind it," : "");
    s->options->note(s->options->user, text);
}

/* Counters, or the library that reads them, ended the worker when everything was timed, and the
 * figures with it: once more, without them. No kernel is to blame. */
static void go_without_counters(struct supervisor *s, struct assay_job *job,
                                const struct assay_child_end *end, bool timed_out)
{
    char reason[192], text[400];
    outcome_of_end(end, timed_out, job->settings.timeout_s, reason, sizeof reason);
    snprintf(text, sizeof text,
             "%.180s while it was counted (--counters): this group is measured again without",
             reason);
    s->options->note(s->options->user, text);
    job->settings.counters = false;
}

/* The time limit is for kernels; the harness's own work (filling, calibrating) gets more. */
static double patience_s(const struct supervisor *s, const struct assay_job *job)
{
    double limit = job->settings.timeout_s;
    bool own_work = assay_child_variant(&s->child) < 0;
    return own_work && limit < HARNESS_TIMEOUT_S ? HARNESS_TIMEOUT_S : limit;
}

static void show_life(const struct supervisor *s, const struct assay_job *job)
{
    const struct assay_strings *plugins = &job->settings.plugins;
    int64_t opening = assay_child_opening(&s->child);
    char doing[128];
    if (!s->options->idle)
        return;
    bool importing =
        opening >= 0 && opening < plugins->n && assay_python_is(plugins->items[opening]);
    if (importing) {
        const char *path = plugins->items[opening], *slash = strrchr(path, '/');
        snprintf(doing, sizeof doing, "importing %s", slash ? slash + 1 : path);
    }
    s->options->idle(s->options->user, importing ? doing : NULL);
}

/* Reads events until the group is done, the worker dies, hangs, or the user loses patience. */
static bool await(struct supervisor *s, const struct assay_job *job, bool *timed_out)
{
    int64_t seen = -1, since = assay_clock_ns(), stop_asked = 0;
    while (!s->attempt.done && !s->attempt.failed && !s->attempt.worn && !s->attempt.misfit[0]) {
        if (!assay_child_read(&s->child, stop_asked ? 50 : 200, on_line, s))
            return false;
        int64_t now = assay_clock_ns(), beat = assay_child_beat(&s->child);
        show_life(s, job);
        int stop = s->options->stop ? s->options->stop(s->options->user) : 0;
        if (stop && !stop_asked) {
            assay_child_ask_stop(&s->child);
            stop_asked = now;
        }
        if (stop >= 2 || (stop_asked && (double)(now - stop_asked) > STOP_GRACE_S * 1e9))
            return false;
        if (beat != seen) {
            seen = beat;
            since = now;
        } else if ((double)(now - since) > patience_s(s, job) * 1e9) {
            *timed_out = true;
            return false;
        }
    }
    return true;
}

/* Nobody is to blame: the group begins again in a new worker, a few times. False: it has a record
 * that says what happened, and that is all. */
static bool begin_again(struct supervisor *s, const struct assay_job *job,
                        enum assay_outcome outcome, const char *what)
{
    char text[500];
    s->attempt.n_records = 0;
    if (++s->tries < TRIES) {
        snprintf(text, sizeof text, "%s; the group is begun again", what);
        s->options->note(s->options->user, text);
        return true;
    }
    struct assay_record *record = &s->attempt.records[s->attempt.n_records++];
    assay_group_record(job, assay_model_op(job->group.op), 0, "", "", "", record);
    record->outcome = outcome;
    snprintf(record->reason, sizeof record->reason, "%.200s, %d times", what, TRIES);
    return false;
}

/* The worker has ended, or was ended, before the group was done. `go_on` is false where the group
 * ends with it. */
static enum assay_status look_back(struct supervisor *s, struct assay_job *job,
                                   const struct assay_child_end *end, bool timed_out, bool *go_on)
{
    char text[450];
    const struct attempt *a = &s->attempt;
    bool known = end->variant >= 0 && end->variant < a->n_names;
    if (end->problem == ENOMEM)
        return ASSAY_ERR_NOMEM;
    if (a->misfit[0] || end->problem) {
        snprintf(text, sizeof text, "the worker's messages %s: %s",
                 a->misfit[0] ? "do not fit" : "cannot be read",
                 a->misfit[0] ? a->misfit : strerror(end->problem));
        *go_on = begin_again(s, job, ASSAY_OUTCOME_FAILED, text);
    } else if (a->worn) {
        *go_on = begin_again(s, job, ASSAY_OUTCOME_FAILED,
                             "kernels left no file descriptors to the worker");
    } else if (end->killed && !timed_out && !known) {
        *go_on = begin_again(s, job, ASSAY_OUTCOME_KILLED,
                             "SIGKILL from outside ended the worker while it prepared the group");
    } else {
        return blame(s, job, end, timed_out, go_on);
    }
    return ASSAY_OK;
}

static void reset(struct attempt *a)
{
    a->n_records = a->n_names = 0;
    a->done = a->failed = a->worn = a->measured = false;
    a->misfit[0] = '\0';
}

/* A job that could not be sent is treated as a damaged message. */
static enum assay_status send_job(struct supervisor *s, const struct assay_job *job,
                                  struct assay_error *err)
{
    struct assay_error why = {0};
    enum assay_status status = assay_child_send(&s->child, job, &why);
    if (status != ASSAY_ERR_IO)
        return status == ASSAY_OK ? status : assay_error_set(err, status, NULL, "%s", why.message);
    snprintf(s->attempt.misfit, sizeof s->attempt.misfit, "%.300s", why.message);
    return ASSAY_OK;
}

static enum assay_status run_in_child(struct supervisor *s, struct assay_job *job,
                                      struct assay_error *err)
{
    for (bool go_on = true; go_on;) {
        bool timed_out = false;
        struct assay_child_end end;
        enum assay_status status = ASSAY_OK;
        reset(&s->attempt);
        if (!assay_child_alive(&s->child))
            status =
                assay_child_start(&s->child, s->options->program, job->settings.memory_limit, err);
        if (status == ASSAY_OK)
            status = send_job(s, job, err);
        if (status != ASSAY_OK)
            return status;
        if (await(s, job, &timed_out) && (s->attempt.done || s->attempt.failed))
            return ASSAY_OK;
        assay_child_kill(&s->child, &end);
        bool stopped = s->options->stop && s->options->stop(s->options->user);
        if (s->attempt.measured) {
            if (!stopped)
                note_unprofiled(s, job, &end, timed_out);
            return ASSAY_OK;
        }
        if (stopped)
            return assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
        if (end.counting && job->settings.counters) {
            go_without_counters(s, job, &end, timed_out);
            continue;
        }
        status = look_back(s, job, &end, timed_out, &go_on);
        if (status != ASSAY_OK)
            return assay_error_set(err, status, NULL, "out of memory");
    }
    return ASSAY_OK;
}

/* The same without a child: for debuggers, and for programs that use the library. */

static void local_note(void *user, const char *text)
{
    struct supervisor *s = user;
    s->options->note(s->options->user, text);
}

static void local_record(void *user, const struct assay_record *record)
{
    struct attempt *a = &((struct supervisor *)user)->attempt;
    if (a->n_records < ASSAY_MAX_VARIANTS)
        a->records[a->n_records++] = *record;
}

static void local_profile(void *user, const struct assay_profile *profile)
{
    struct supervisor *s = user;
    if (profile->variant < ASSAY_MAX_VARIANTS)
        give_profile(s, profile);
}

static void local_memory(void *user, const struct assay_memory_profile *profile)
{
    struct supervisor *s = user;
    if (profile->variant < ASSAY_MAX_VARIANTS)
        give_memory(s, profile);
}

static bool local_stop(void *user)
{
    const struct assay_supervisor_options *options = ((struct supervisor *)user)->options;
    return options->stop && options->stop(options->user);
}

static enum assay_status run_here(struct supervisor *s, const struct assay_job *job,
                                  assay_worker *worker, struct assay_error *err)
{
    struct assay_group_hooks hooks = {.user = s,
                                      .note = local_note,
                                      .record = local_record,
                                      .stop = local_stop,
                                      .profile = local_profile,
                                      .memory = local_memory};
    s->attempt.n_records = 0;
    enum assay_status status = assay_worker_run(worker, job, &hooks, err);
    return status == ASSAY_ERR_INTERRUPTED ? ASSAY_OK : status;
}

/* Was the group left before its end because the user asked to stop? */
static bool cut_short(const struct supervisor *s)
{
    const struct attempt *a = &s->attempt;
    if (!s->options->stop || !s->options->stop(s->options->user))
        return false;
    return a->n_records == 0 || a->records[0].interrupted;
}

/* Every group has a row in every report, also one that gave no record. */
static void record_nothing(struct supervisor *s, const struct assay_job *job)
{
    struct assay_record *record = &s->attempt.records[s->attempt.n_records++];
    assay_group_record(job, assay_model_op(job->group.op), 0, "", "", "", record);
    record->outcome = ASSAY_OUTCOME_FAILED;
    snprintf(record->reason, sizeof record->reason, "the worker sent no row of this group");
}

static enum assay_status deliver(struct supervisor *s, const struct assay_job *job,
                                 struct assay_error *err)
{
    struct attempt *a = &s->attempt;
    bool cut = cut_short(s);
    for (int64_t i = 0; i < a->n_records; i++)
        a->records[i].files = a->profiles[i];
    for (int64_t i = 0; i < s->n_lost && a->n_records < ASSAY_MAX_VARIANTS; i++) {
        s->lost[i].interrupted = cut; /* or the group would count as done with these alone */
        a->records[a->n_records++] = s->lost[i];
    }
    for (int64_t i = 0; i < a->n_records; i++)
        a->records[i].variant = i;
    s->n_lost = 0;
    if (a->n_records == 0 && cut)
        return ASSAY_OK;
    if (a->n_records == 0)
        record_nothing(s, job);
    return s->options->group(s->options->user, job->group_index, a->records, a->n_records, err);
}

static void skip_over_limit(struct supervisor *s, const struct assay_job *job)
{
    struct assay_record *record = &s->attempt.records[0];
    assay_group_record(job, assay_model_op(job->group.op), 0, "", "", "", record);
    record->outcome = ASSAY_OUTCOME_SKIPPED;
    snprintf(record->reason, sizeof record->reason,
             "over the limit of %lld elements (--max-elements)", (long long)s->plan->max_elements);
    s->attempt.n_records = 1;
}

/* By enable_profiler or enable_memory_profiler of a configuration. */
static bool asks_for(const struct assay_group *group, const char *profiler)
{
    return strcmp(group->profilers, profiler) == 0 || strcmp(group->profilers, "both") == 0;
}

static enum assay_status run_group(struct supervisor *s, int64_t index, assay_worker *worker,
                                   struct assay_error *err)
{
    struct assay_job job = {.group_index = index, .group = s->plan->groups[index]};
    job.profile =
        s->options->profile && (s->options->profile_all || asks_for(&job.group, "profiler"));
    job.profile_memory =
        s->options->memory && (s->options->memory_all || asks_for(&job.group, "memory"));
    memset(s->attempt.profiles, 0, ASSAY_MAX_VARIANTS * sizeof *s->attempt.profiles);
    enum assay_status status = assay_settings_copy(&s->plan->settings, &job.settings);
    s->group = index;
    s->tries = 0;
    s->has_stray = false;
    if (job.group.device[0])
        snprintf(job.settings.device, sizeof job.settings.device, "%s", job.group.device);
    if (strncmp(job.group.compile, "max-autotune", strlen("max-autotune")) == 0)
        job.settings.autotune = true;
    if (s->options->start)
        s->options->start(s->options->user, index);
    if (status != ASSAY_OK)
        assay_error_set(err, status, NULL, "out of memory");
    else if (job.group.over_limit)
        skip_over_limit(s, &job);
    else if (worker)
        status = run_here(s, &job, worker, err);
    else
        status = run_in_child(s, &job, err);
    if (status == ASSAY_OK && s->attempt.failed)
        status = assay_error_set(err, s->attempt.failure_status, NULL, "%s", s->attempt.failure);
    if (status == ASSAY_OK)
        status = deliver(s, &job, err);
    assay_job_fini(&job);
    if (status == ASSAY_OK && cut_short(s))
        status = assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    return status;
}

enum assay_status assay_supervise(const struct assay_plan *plan,
                                  const struct assay_supervisor_options *options,
                                  struct assay_error *err)
{
    enum assay_status status = ASSAY_ERR_NOMEM;
    struct assay_watch watch = {.version = ASSAY_WATCH_VERSION};
    assay_worker *worker = NULL;
    struct supervisor *s = assay_calloc(1, sizeof *s);
    if (!s)
        goto cleanup;
    s->plan = plan;
    s->options = options;
    s->attempt.records = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *s->attempt.records);
    s->attempt.names = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *s->attempt.names);
    s->attempt.profiles = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *s->attempt.profiles);
    if (!options->program)
        worker = assay_worker_create(&watch, false);
    if (!s->attempt.records || !s->attempt.names || !s->attempt.profiles ||
        (!options->program && !worker))
        goto cleanup;
    status = ASSAY_OK;
    for (int64_t i = 0; i < plan->n_groups && status == ASSAY_OK; i++) {
        if (options->skip && options->skip(options->user, i))
            continue;
        if (options->stop && options->stop(options->user))
            status = assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
        else
            status = run_group(s, i, worker, err);
    }
cleanup:
    if (status == ASSAY_ERR_NOMEM)
        assay_error_set(err, status, NULL, "out of memory");
    if (s) {
        assay_child_stop(&s->child);
        assay_free(s->attempt.records);
        assay_free(s->attempt.names);
        assay_free(s->attempt.profiles);
    }
    assay_worker_destroy(worker);
    assay_free(s);
    return status;
}
