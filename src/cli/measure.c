/* measure.c: what all commands that measure share. */
#include "cli/measure.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/version.h"
#include "bench/journal.h"
#include "bench/supervisor.h"
#include "cli/command.h"
#include "cli/machine_lock.h"
#include "cli/progress.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

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

struct run {
    const struct assay_measuring *measuring;
    const struct assay_measure_config *config;
    struct assay_plan plan;
    struct assay_run_info info;
    assay_journal *journal;
    assay_outputs *outputs;
    struct assay_progress progress;
    bool begun;                    /* the outputs have their heads */
    struct assay_error head_error; /* why they cannot have them; its code is ASSAY_OK: they can */
    bool *done;                    /* groups that an earlier part of the run finished */
    struct assay_machine_lock lock;
    bool something_wrong;
    int64_t damaged;   /* lines of the journal that were passed over */
    bool lost_by_that; /* groups are missing where they should be done, and are measured again */
};

/* The CPU's own name, or the GPU's. */
static void name_device(struct assay_run_info *info)
{
    const struct assay_device_driver *driver;
    int32_t index;
    snprintf(info->device_name, sizeof info->device_name, "%s", assay_cpu_info()->model);
    assay_cpu_isa_text(assay_cpu_info()->isa, info->isa, sizeof info->isa);
    if (assay_device_parse(info->device, &driver, &index, NULL) == ASSAY_OK && driver->name_of)
        driver->name_of(index, info->device_name, sizeof info->device_name);
}

/* The CPU always, GPUs only where the run uses one: asking for them starts the driver. */
static void describe_machine(const struct run *run, struct assay_run_info *info)
{
    const struct assay_device_driver *driver;
    int32_t index;
    const char *device = run->plan.settings.device;
    snprintf(info->cpu_name, sizeof info->cpu_name, "%s", assay_cpu_info()->model);
    for (int64_t i = 0; i < run->plan.n_groups && strcmp(device, "cpu") == 0; i++)
        if (run->plan.groups[i].device[0])
            device = run->plan.groups[i].device;
    if (strcmp(device, "cpu") == 0 ||
        assay_device_parse(device, &driver, &index, NULL) != ASSAY_OK || !driver->count)
        return;
    info->gpu_count = driver->count();
    driver->name_of(0, info->gpu_name, sizeof info->gpu_name);
    info->gpu_cores = driver->cores_of ? driver->cores_of(0) : 0;
    info->gpu_memory_bytes = driver->memory_of ? (double)driver->memory_of(0) : 0;
}

static void copy_environment(const char *name, char *out, size_t size)
{
    const char *value = getenv(name);
    snprintf(out, size, "%s", value ? value : "");
}

/* Of which source this program was built, and of which project's checks it is part. */
static void describe_origin(const struct run *run, struct assay_run_info *info)
{
#ifdef ASSAY_COMMIT
    snprintf(info->commit, sizeof info->commit, "%s", ASSAY_COMMIT);
#endif
    copy_environment("GITHUB_REPOSITORY", info->project, sizeof info->project);
    copy_environment("GITHUB_REF_NAME", info->project_branch, sizeof info->project_branch);
    copy_environment("GITHUB_SHA", info->project_sha, sizeof info->project_sha);
    const struct assay_measuring_origin *origin = &run->measuring->origin;
    if (origin->repository) {
        snprintf(info->repository, sizeof info->repository, "%s", origin->repository);
        snprintf(info->kernel_commit, sizeof info->kernel_commit, "%s", origin->commit);
        snprintf(info->benchmark_path, sizeof info->benchmark_path, "%s", origin->files);
        snprintf(info->benchmark_sha, sizeof info->benchmark_sha, "%s", origin->sha256);
        snprintf(info->implementations, sizeof info->implementations, "%s",
                 origin->implementations);
    }
    if (run->measuring->output_dir)
        snprintf(info->output_dir, sizeof info->output_dir, "%s", run->measuring->output_dir);
}

static void make_run_info(struct run *run)
{
    int argc = run->measuring->argc;
    char **argv = run->measuring->argv;
    struct assay_run_info *info = &run->info;
    const struct assay_settings *s = &run->plan.settings;
    struct utsname os;
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    char stamp[20];
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &utc);
    uint64_t salt = assay_rng_at((uint64_t)assay_clock_ns(), (uint64_t)getpid());
    snprintf(info->id, sizeof info->id, "%s-%04x", stamp, (unsigned)(salt & 0xffff));
    strftime(info->started, sizeof info->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    snprintf(info->version, sizeof info->version, "%s", ASSAY_VERSION);
    size_t used = (size_t)snprintf(info->command, sizeof info->command, "assay");
    for (int i = 0; i < argc && used < sizeof info->command; i++)
        used += (size_t)snprintf(info->command + used, sizeof info->command - used, " %s", argv[i]);
    uname(&os);
    snprintf(info->host_os, sizeof info->host_os, "%.40s %.80s", os.sysname, os.release);
    snprintf(info->device, sizeof info->device, "%s", s->device);
    name_device(info);
    info->threads = s->threads;
    info->hot = s->hot;
    info->cold = s->cold;
    info->precision = s->precision;
    info->warmup = s->warmup;
    info->rounds = s->rounds;
    info->groups = run->plan.n_groups;
    describe_machine(run, info);
    describe_origin(run, info);
}

/* A figure that nobody has measured is left out; one that cannot be read is an error. */
static void load_copy_ceiling(struct run *run)
{
    struct assay_ceilings ceilings;
    struct assay_error why = {0};
    struct assay_run_info *info = &run->info;
    bool cpu = strcmp(info->device, "cpu") == 0; /* a GPU has its ceilings whatever the host does */
    enum assay_status status =
        assay_ceilings_load(info->device_name, cpu ? info->threads : 1, &ceilings, &why);
    if (status == ASSAY_OK && ceilings.n_levels > 0)
        info->copy_bytes_per_s = assay_ceiling_rate(&ceilings, ASSAY_PROBE_COPY, 0, true);
    if (status != ASSAY_OK && status != ASSAY_UNSUPPORTED)
        run->head_error = why;
}

/* The supervisor's questions and answers. */

static bool is_done(void *user, int64_t group) { return ((struct run *)user)->done[group]; }

static void started(void *user, int64_t group)
{
    struct run *run = user;
    assay_progress_start(&run->progress, &run->plan.groups[group]);
}

static void noted(void *user, const char *text)
{
    struct run *run = user;
    assay_progress_clear(&run->progress);
    if (!run->config->quiet)
        assay_warn(text);
}

static void idle(void *user) { assay_progress_tick(&((struct run *)user)->progress); }

static int stop(void *user)
{
    (void)user;
    return interrupts > 2 ? 2 : (int)interrupts;
}

/* The heads of the reports, as late as possible: the first worker may have to measure the ceiling
 * they tell of. */
static enum assay_status begin_outputs(struct run *run)
{
    if (run->begun || !run->outputs || run->head_error.code != ASSAY_OK)
        return run->head_error.code;
    load_copy_ceiling(run);
    run->begun = run->head_error.code == ASSAY_OK;
    if (run->begun)
        assay_outputs_begin(run->outputs, &run->info);
    return run->head_error.code;
}

static enum assay_status pass_on(const struct assay_error *from, struct assay_error *to)
{
    return assay_error_set(to, from->code, from->where, "%s", from->message);
}

static void report_group(struct run *run, const struct assay_record *records, int64_t n)
{
    if (begin_outputs(run) != ASSAY_OK)
        return;
    for (int64_t i = 0; i < n; i++)
        run->something_wrong = run->something_wrong || !assay_outcome_is_fine(records[i].outcome);
    assay_progress_clear(&run->progress);
    if (run->measuring->group)
        run->measuring->group(records, n);
    assay_outputs_group(run->outputs, records, n);
}

static enum assay_status measured(void *user, int64_t group, const struct assay_record *records,
                                  int64_t n, struct assay_error *err)
{
    struct run *run = user;
    enum assay_status status = ASSAY_OK;
    if (run->journal)
        status = assay_journal_append(run->journal, group, records, n, err);
    report_group(run, records, n);
    if (status == ASSAY_OK && run->head_error.code != ASSAY_OK)
        status = pass_on(&run->head_error, err);
    run->done[group] = true;
    for (int64_t i = 0; i < n; i++)
        run->done[group] = run->done[group] && assay_journal_is_final(&records[i]);
    assay_progress_done(&run->progress);
    return status;
}

/* Resuming: the journal's head replaces the options' plan, its groups go to the outputs first. */

static enum assay_status on_head(void *user, const struct assay_run_info *info,
                                 struct assay_plan *plan, struct assay_error *err)
{
    struct run *run = user;
    run->info = *info;
    run->plan = *plan;
    *plan = (struct assay_plan){0};
    if (run->measuring->models && run->plan.n_groups && !run->plan.groups[0].entry[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, info->id,
                               "is a run of `assay bench`; go on with it there");
    run->done = assay_calloc((size_t)run->plan.n_groups, sizeof *run->done);
    if (!run->done)
        return assay_error_nomem(err);
    return assay_outputs_open(run->config, &run->measuring->outputs, &run->outputs, err);
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct run *run = user;
    run->done[group] = true;
    report_group(run, records, n);
}

static void on_damage(void *user, const char *where, const char *what)
{
    enum { SHOWN = 5 };
    struct run *run = user;
    if (++run->damaged <= SHOWN)
        fprintf(stderr, "assay: %s: %s\n", where, what);
}

/* The lock comes before reading: nobody else may go on with the run meanwhile. */
static enum assay_status resume(struct run *run, struct assay_error *err)
{
    struct assay_text path = {0};
    struct assay_journal_end end;
    struct assay_journal_visitor visitor = {
        .user = run, .head = on_head, .group = on_group, .damaged = on_damage};
    enum assay_status status = assay_journal_find(run->config->resume, &path, err);
    if (status == ASSAY_OK)
        status = assay_journal_open(path.data, &run->journal, err);
    if (status == ASSAY_OK)
        status = assay_journal_read(path.data, &visitor, &end, err);
    if (status == ASSAY_OK && run->head_error.code != ASSAY_OK)
        status = pass_on(&run->head_error, err);
    if (status == ASSAY_OK)
        status = assay_journal_go_on(run->journal, &end, err);
    if (status != ASSAY_OK) { /* reports of half a journal would replace whole ones */
        assay_outputs_cancel(run->outputs);
        run->outputs = NULL;
    }
    assay_text_fini(&path);
    return status;
}

static enum assay_status start(struct run *run, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    make_run_info(run);
    run->done = assay_calloc((size_t)run->plan.n_groups, sizeof *run->done);
    if (!run->done)
        return assay_error_nomem(err);
    status = assay_outputs_open(run->config, &run->measuring->outputs, &run->outputs, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_error why = {0};
    if (assay_journal_create(&run->info, &run->plan, &run->journal, &why) != ASSAY_OK) {
        char text[700];
        assay_error_format(&why, text, sizeof text);
        fprintf(stderr, "assay: no journal, so this run cannot be resumed: %s\n", text);
    }
    return ASSAY_OK;
}

static int64_t groups_left(const struct run *run)
{
    int64_t left = 0;
    for (int64_t i = 0; i < run->plan.n_groups; i++)
        left += !run->done[i];
    return left;
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

static enum assay_status supervise(struct run *run, struct assay_error *err)
{
    struct assay_supervisor_options options = {
        .program = run->config->in_process ? NULL : "/proc/self/exe",
        .user = run,
        .skip = is_done,
        .start = started,
        .note = noted,
        .group = measured,
        .stop = stop,
        .idle = idle,
    };
    struct sigaction before;
    take_signals(&before);
    assay_progress_init(&run->progress, groups_left(run), run->config->quiet);
    enum assay_status status = assay_supervise(&run->plan, &options, err);
    assay_progress_clear(&run->progress);
    sigaction(SIGINT, &before, NULL);
    return status;
}

static void say_how_to_resume(const struct run *run)
{
    if (run->journal && groups_left(run) > 0)
        fprintf(stderr, "assay: %lld of %lld groups are done; go on with: %s --resume %s\n",
                (long long)(run->plan.n_groups - groups_left(run)), (long long)run->plan.n_groups,
                run->measuring->again, run->info.id);
}

/* A run that failed before it had anything to tell leaves no files; any other tells what it has. */
static enum assay_status close_outputs(struct run *run, enum assay_status status,
                                       struct assay_error *err)
{
    if (!run->begun && status != ASSAY_OK && status != ASSAY_ERR_INTERRUPTED) {
        assay_outputs_cancel(run->outputs);
        return ASSAY_OK;
    }
    if (begin_outputs(run) != ASSAY_OK) {
        assay_outputs_cancel(run->outputs);
        return pass_on(&run->head_error, err);
    }
    if (status != ASSAY_OK && run->config->resume)
        assay_outputs_keep_longer(run->outputs);
    return assay_outputs_close(run->outputs, err);
}

/* Damage that cost groups is told by the exit code of the run that measures them again. */
static void say_what_was_damaged(struct run *run)
{
    if (run->damaged == 0)
        return;
    run->lost_by_that = groups_left(run) > 0;
    fprintf(stderr, "assay: of the journal %lld line%s %s passed over; %lld of %lld groups %s\n",
            (long long)run->damaged, run->damaged == 1 ? "" : "s",
            run->damaged == 1 ? "was" : "were", (long long)groups_left(run),
            (long long)run->plan.n_groups,
            run->lost_by_that ? "are left to measure" : "are left: nothing is missing");
}

static int measure(struct run *run)
{
    struct assay_error err = {0}, output_err = {0};
    enum assay_status status = assay_machine_lock_take(&run->lock, run->config->wait, &err);
    if (status == ASSAY_OK)
        status = run->config->resume ? resume(run, &err) : start(run, &err);
    if (status == ASSAY_OK) {
        say_what_was_damaged(run);
        status = supervise(run, &err);
    }
    enum assay_status written = close_outputs(run, status, &output_err);
    bool fine = !run->something_wrong && !run->lost_by_that;
    int code = fine ? ASSAY_EXIT_FINE : ASSAY_EXIT_WRONG;
    if (status != ASSAY_OK)
        code = assay_complain(&err);
    if (written != ASSAY_OK) {
        code = assay_complain(&output_err);
        if (run->journal)
            fprintf(stderr,
                    "assay: nothing is lost; write the results again with: %s --resume %s --output "
                    "FILE\n",
                    run->measuring->again, run->info.id);
    }
    if (run->done && (status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED ||
                      status == ASSAY_ERR_IO || status == ASSAY_ERR_NOMEM))
        say_how_to_resume(run);
    return code;
}

int assay_measure(const struct assay_measuring *measuring, struct assay_plan *plan)
{
    struct run run = {.measuring = measuring, .config = measuring->config, .lock = {-1, -1}};
    run.plan = *plan;
    *plan = (struct assay_plan){0};
    int code = measure(&run);
    assay_journal_close(run.journal);
    assay_plan_fini(&run.plan);
    assay_free(run.done);
    assay_machine_lock_release(&run.lock);
    return code;
}
