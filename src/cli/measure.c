#include "cli/measure.h"

#include "cli/command.h"
#include "cli/dry_run.h"
#include "cli/memory_profiles.h"
#include "cli/profiles.h"
#include "cli/progress.h"
#include "cli/repeats.h"

#include <signal.h>
#include <stdio.h>

/* Ctrl-C: once to finish the current sample, twice to stop at once. Once more, and nothing is
 * waited for: not even a reader that does not read. */
static volatile sig_atomic_t interrupts;

static void on_interrupt(int signal_number)
{
    enum { PATIENCE = 3 };
    interrupts = interrupts + 1;
    if (interrupts <= PATIENCE)
        return;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Ctrl-C, a service's or batch system's wish, and a terminal that was closed, unless nohup had it
 * ignored. Calls that a signal interrupts go on; waiting for the worker does not. */
static void take_signals(struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART}, hangup;
    sigaction(SIGINT, &action, before);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

/* A run as the command line sees it. */
struct shown_run {
    const struct assay_measuring *measuring;
    const struct assay_measure_config *config;
    struct assay_run run;
    assay_outputs *outputs;
    struct assay_profiles profiles;
    struct assay_memory_profiles memory;
    int64_t n_earlier; /* groups that an earlier part of the run had measured */
    struct assay_progress progress;
    bool lost; /* groups are missing that the journal should have, and are measured again */
};

/* ---- the run's hooks ---- */

static enum assay_status open_outputs(void *user, struct assay_error *err)
{
    struct shown_run *shown = user;
    enum assay_status status =
        assay_outputs_open(shown->config, &shown->measuring->outputs, &shown->outputs, err);
    if (status == ASSAY_OK && shown->measuring->repeats)
        status = assay_outputs_expect(shown->outputs, shown->run.plan, err);
    if (status == ASSAY_OK)
        status = assay_profiles_open(&shown->profiles, shown->config, &shown->run.info, err);
    if (status == ASSAY_OK)
        status = assay_memory_profiles_open(&shown->memory, shown->config, &shown->run.info, err);
    return status;
}

static void begin_outputs(void *user, const struct assay_run_info *info)
{
    struct shown_run *shown = user;
    assay_progress_clear(&shown->progress);
    assay_outputs_begin(shown->outputs, info);
}

static enum assay_status write_group(void *user, const struct assay_record *records, int64_t n,
                                     struct assay_error *err)
{
    (void)err; /* what cannot be written is told when the outputs are closed */
    struct shown_run *shown = user;
    assay_progress_clear(&shown->progress);
    if (shown->measuring->group)
        shown->measuring->group(records, n);
    assay_outputs_group(shown->outputs, records, n);
    assay_progress_done(&shown->progress);
    return ASSAY_OK;
}

static void write_profile(void *user, const struct assay_group *group,
                          const struct assay_profile *profile, struct assay_profile_files *files)
{
    assay_profiles_add(&((struct shown_run *)user)->profiles, group, profile, files);
}

static void write_memory(void *user, const struct assay_group *group,
                         const struct assay_memory_profile *profile,
                         struct assay_profile_files *files)
{
    assay_memory_profiles_add(&((struct shown_run *)user)->memory, group, profile, files);
}

static void show_start(void *user, const struct assay_group *group)
{
    assay_progress_start(&((struct shown_run *)user)->progress, group);
}

static void show_note(void *user, const char *text)
{
    struct shown_run *shown = user;
    assay_progress_clear(&shown->progress);
    if (!shown->config->quiet)
        assay_warn(text);
}

static void show_warning(void *user, const char *text)
{
    assay_progress_clear(&((struct shown_run *)user)->progress);
    assay_warn(text);
}

static int ask_stop(void *user)
{
    (void)user;
    return interrupts > 2 ? 2 : (int)interrupts;
}

static void show_life(void *user, const char *doing)
{
    assay_progress_tick(&((struct shown_run *)user)->progress, doing);
}

/* ---- what is said ---- */

static void say_how_to_resume(const struct shown_run *shown)
{
    const struct assay_run *run = &shown->run;
    int64_t left = assay_run_left(run);
    if (run->journal && left > 0)
        fprintf(stderr, "assay: %lld of %lld groups are done; continue with: %s --resume %s\n",
                (long long)(run->plan->n_groups - left), (long long)run->plan->n_groups,
                shown->measuring->again, run->info.id);
}

/* Damage that cost groups is told by the exit code of the run that measures them again. */
static void say_what_was_damaged(struct shown_run *shown)
{
    const struct assay_run *run = &shown->run;
    int64_t left = assay_run_left(run);
    if (run->damaged == 0)
        return;
    shown->lost = left > 0;
    fprintf(stderr, "assay: %lld line%s of the journal %s skipped; %lld of %lld groups %s\n",
            (long long)run->damaged, run->damaged == 1 ? "" : "s",
            run->damaged == 1 ? "was" : "were", (long long)left, (long long)run->plan->n_groups,
            left > 0 ? "are left to measure" : "are left: nothing is missing");
}

/* How long a new run takes, where that is worth a line. */
static void announce(const struct shown_run *shown)
{
    const struct assay_measuring *measuring = shown->measuring;
    const struct assay_plan *plan = shown->run.plan;
    if (shown->config->resume || !measuring->fewer)
        return;
    if (measuring->fell_back)
        assay_dry_run_warn(plan, assay_repeats_count(plan));
    else if (!shown->config->quiet)
        assay_dry_run_announce(plan, assay_repeats_count(plan), measuring->fewer);
}

/* ---- from plan to exit code ---- */

static enum assay_status measure_shown(struct shown_run *shown, struct assay_error *err)
{
    struct sigaction before;
    take_signals(&before);
    assay_progress_init(&shown->progress, shown->run.plan, shown->run.done, shown->config->quiet,
                        shown->config->ascii);
    enum assay_status status = assay_run_measure(&shown->run, err);
    assay_progress_clear(&shown->progress);
    assay_progress_fini(&shown->progress);
    sigaction(SIGINT, &before, NULL);
    return status;
}

/* A run that failed, or was interrupted, before it had anything to tell writes nothing; any other
 * tells what it has. */
static enum assay_status close_outputs(struct shown_run *shown, enum assay_status status,
                                       struct assay_error *err)
{
    bool failed = status != ASSAY_OK;
    enum assay_status begun = ASSAY_OK;
    if (!shown->outputs)
        return ASSAY_OK;
    if (shown->run.begun || !failed)
        begun = assay_run_begin(&shown->run, err);
    if (begun != ASSAY_OK || (failed && !shown->run.begun)) {
        assay_outputs_cancel(shown->outputs);
        return begun;
    }
    if (status != ASSAY_OK && shown->config->resume)
        assay_outputs_keep_longer(shown->outputs);
    return assay_outputs_close(shown->outputs, err);
}

/* A run that did not begin has no profile either. */
static enum assay_status close_profiles(struct shown_run *shown, struct assay_error *err)
{
    if (!shown->run.begun) {
        assay_profiles_cancel(&shown->profiles);
        assay_memory_profiles_cancel(&shown->memory);
        return ASSAY_OK;
    }
    struct assay_error memory_err = {0};
    bool quiet = shown->config->quiet;
    enum assay_status status = assay_profiles_close(&shown->profiles, shown->n_earlier, quiet, err);
    enum assay_status memory =
        assay_memory_profiles_close(&shown->memory, shown->n_earlier, quiet, &memory_err);
    if (memory == ASSAY_OK)
        return status;
    if (status != ASSAY_OK)
        assay_complain(err);
    *err = memory_err;
    return memory;
}

/* Everything that was asked for was left out: no row is wrong, and none is of use. */
static int judge_left_out(const struct assay_run *run)
{
    char text[400];
    if (run->n_left_out < run->n_rows || run->n_rows == 0)
        return ASSAY_EXIT_FINE;
    snprintf(text, sizeof text, "nothing was measured: every row is skipped or unsupported%s%s",
             run->why_left_out[0] ? ": " : "", run->why_left_out);
    assay_warn(text);
    return ASSAY_EXIT_MACHINE;
}

static int run_shown(struct shown_run *shown)
{
    struct assay_error err = {0}, output_err = {0}, profile_err = {0};
    enum assay_status status = assay_run_open(&shown->run, &err);
    if (status == ASSAY_OK) {
        shown->n_earlier = shown->run.plan->n_groups - assay_run_left(&shown->run);
        say_what_was_damaged(shown);
        announce(shown);
        status = measure_shown(shown, &err);
    } else { /* reports of half a journal would replace whole ones */
        assay_outputs_cancel(shown->outputs);
        shown->outputs = NULL;
    }
    enum assay_status written = close_outputs(shown, status, &output_err);
    bool fine = !shown->run.something_wrong && !shown->lost;
    int code = fine ? ASSAY_EXIT_FINE : ASSAY_EXIT_WRONG;
    if (status == ASSAY_OK && fine)
        code = judge_left_out(&shown->run);
    if (status != ASSAY_OK)
        code = assay_complain(&err);
    if (written != ASSAY_OK) {
        code = assay_complain(&output_err);
        if (shown->run.journal)
            fprintf(stderr,
                    "assay: nothing is lost; write the results again with: %s --resume %s --output "
                    "FILE\n",
                    shown->measuring->again, shown->run.info.id);
    }
    if (close_profiles(shown, &profile_err) != ASSAY_OK) {
        code = assay_complain(&profile_err);
        fputs("assay: only the profile is missing; all figures are there\n", stderr);
    }
    if (shown->run.done && (status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED ||
                            status == ASSAY_ERR_IO || status == ASSAY_ERR_NOMEM))
        say_how_to_resume(shown);
    return code;
}

/* "assay bench gelu", as typed; what does not fit is cut. */
static void join_command(const struct assay_measuring *measuring, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "assay");
    for (int i = 0; i < measuring->argc && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, " %s", measuring->argv[i]);
}

int assay_measure(const struct assay_measuring *measuring, struct assay_plan *plan)
{
    const struct assay_measure_config *config = measuring->config;
    char command[sizeof((struct assay_run_info *)0)->command];
    join_command(measuring, command, sizeof command);
    struct assay_run_request request = {
        .program = config->in_process ? NULL : "/proc/self/exe",
        .resume = config->resume,
        .models = measuring->models,
        .lock = true,
        .wait = config->wait,
        .profile = config->profile != NULL,
        .profile_memory = config->profile_memory != NULL,
        .journal = true,
        .origin = measuring->origin,
    };
    request.origin.command = command;
    struct shown_run shown = {.measuring = measuring, .config = config};
    struct assay_run_hooks hooks = {
        .user = &shown,
        .open = open_outputs,
        .begin = begin_outputs,
        .group = write_group,
        .profile = write_profile,
        .memory = write_memory,
        .start = show_start,
        .note = show_note,
        .warn = show_warning,
        .stop = ask_stop,
        .idle = show_life,
    };
    shown.run = (struct assay_run){.request = &request, .hooks = &hooks, .plan = plan};
    int code = run_shown(&shown);
    assay_run_close(&shown.run);
    assay_plan_fini(plan);
    return code;
}
