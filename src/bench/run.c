#include "bench/run.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/version.h"
#include "bench/supervisor.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- describing a run ---- */

static void copy_text(const char *text, char *out, size_t size)
{
    snprintf(out, size, "%s", text ? text : "");
}

/* The CPU's own name, or the GPU's. */
static void name_device(struct assay_run_info *info)
{
    const struct assay_device_driver *driver;
    int32_t index;
    copy_text(assay_cpu_info()->model, info->device_name, sizeof info->device_name);
    assay_cpu_isa_text(assay_cpu_info()->isa, info->isa, sizeof info->isa);
    if (assay_device_parse(info->device, &driver, &index, NULL) == ASSAY_OK && driver->name_of)
        driver->name_of(index, info->device_name, sizeof info->device_name);
}

/* The CPU always, GPUs only where the run uses one: asking for them starts the driver. */
static void describe_machine(const struct assay_plan *plan, struct assay_run_info *info)
{
    const struct assay_device_driver *driver;
    int32_t index;
    const char *device = plan->settings.device;
    copy_text(assay_cpu_info()->model, info->cpu_name, sizeof info->cpu_name);
    for (int64_t i = 0; i < plan->n_groups && assay_device_is_host(device); i++)
        if (plan->groups[i].device[0])
            device = plan->groups[i].device;
    if (assay_device_is_host(device) ||
        assay_device_parse(device, &driver, &index, NULL) != ASSAY_OK || !driver->count)
        return;
    info->gpu_count = driver->count();
    driver->name_of(0, info->gpu_name, sizeof info->gpu_name);
    info->gpu_cores = driver->cores_of ? driver->cores_of(0) : 0;
    info->gpu_memory_bytes = driver->memory_of ? (double)driver->memory_of(0) : 0;
}

/* Of which source this program was built, and of which project's checks it is part. */
static void describe_origin(const struct assay_run_origin *origin, struct assay_run_info *info)
{
#ifdef ASSAY_COMMIT
    copy_text(ASSAY_COMMIT, info->commit, sizeof info->commit);
#endif
    copy_text(getenv("GITHUB_REPOSITORY"), info->project, sizeof info->project);
    copy_text(getenv("GITHUB_REF_NAME"), info->project_branch, sizeof info->project_branch);
    copy_text(getenv("GITHUB_SHA"), info->project_sha, sizeof info->project_sha);
    copy_text(origin->command, info->command, sizeof info->command);
    copy_text(origin->output_dir, info->output_dir, sizeof info->output_dir);
    copy_text(origin->trains ? "training" : NULL, info->benchmark_mode,
              sizeof info->benchmark_mode);
    info->use_fast_accum = origin->trains && origin->use_fast_accum;
    copy_text(origin->repository, info->repository, sizeof info->repository);
    copy_text(origin->commit, info->kernel_commit, sizeof info->kernel_commit);
    copy_text(origin->files, info->benchmark_path, sizeof info->benchmark_path);
    copy_text(origin->sha256, info->benchmark_sha, sizeof info->benchmark_sha);
    copy_text(origin->implementations, info->implementations, sizeof info->implementations);
    copy_text(origin->pytorch, info->pytorch, sizeof info->pytorch);
    copy_text(origin->pytorch_cuda, info->pytorch_cuda, sizeof info->pytorch_cuda);
}

/* "20261115-034711-a1b2": two runs of one second differ in the end. */
static void stamp(struct assay_run_info *info)
{
    time_t now = time(NULL);
    struct tm utc;
    char second[20];
    gmtime_r(&now, &utc);
    strftime(second, sizeof second, "%Y%m%d-%H%M%S", &utc);
    uint64_t salt = assay_rng_at((uint64_t)assay_clock_ns(), (uint64_t)getpid());
    snprintf(info->id, sizeof info->id, "%s-%04x", second, (unsigned)(salt & 0xffff));
    strftime(info->started, sizeof info->started, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void assay_run_describe(const struct assay_plan *plan, const struct assay_run_origin *origin,
                        struct assay_run_info *out)
{
    const struct assay_settings *s = &plan->settings;
    struct utsname os;
    *out = (struct assay_run_info){
        .threads = s->threads,
        .hot = s->hot,
        .cold = s->cold,
        .precision = s->precision,
        .warmup = s->warmup,
        .rounds = s->rounds,
        .groups = plan->n_groups,
    };
    stamp(out);
    copy_text(ASSAY_VERSION, out->version, sizeof out->version);
    uname(&os);
    snprintf(out->host_os, sizeof out->host_os, "%.40s %.80s", os.sysname, os.release);
    copy_text(s->device, out->device, sizeof out->device);
    name_device(out);
    describe_machine(plan, out);
    describe_origin(origin, out);
}

enum assay_status assay_run_load_ceiling(struct assay_run_info *info, struct assay_error *err)
{
    struct assay_ceilings ceilings;
    struct assay_error why = {0};
    /* a GPU has its ceilings whatever the host does */
    int32_t threads = assay_run_on_host(info) ? info->threads : 1;
    enum assay_status status = assay_ceilings_load(info->device_name, threads, &ceilings, &why);
    if (status == ASSAY_UNSUPPORTED)
        return ASSAY_OK;
    if (status != ASSAY_OK)
        return assay_error_set(err, status, why.where, "%s", why.message);
    if (ceilings.n_levels > 0)
        info->copy_bytes_per_s = assay_ceiling_rate(&ceilings, ASSAY_PROBE_COPY, 0, true);
    return ASSAY_OK;
}

/* ---- handing groups over ---- */

static void warn(void *user, const char *text)
{
    const struct assay_run_hooks *hooks = ((struct assay_run *)user)->hooks;
    if (hooks->warn)
        hooks->warn(hooks->user, text);
}

static enum assay_status pass_trouble(const struct assay_run *run, struct assay_error *err)
{
    const struct assay_error *trouble = &run->trouble;
    return trouble->code == ASSAY_OK
               ? ASSAY_OK
               : assay_error_set(err, trouble->code, trouble->where, "%s", trouble->message);
}

enum assay_status assay_run_begin(struct assay_run *run, struct assay_error *err)
{
    if (!run->begun && run->trouble.code == ASSAY_OK) {
        if (run->hooks->begin)
            assay_run_load_ceiling(&run->info, &run->trouble);
        run->begun = run->trouble.code == ASSAY_OK;
        if (run->begun && run->hooks->begin)
            run->hooks->begin(run->hooks->user, &run->info);
    }
    return pass_trouble(run, err);
}

static void count_row(struct assay_run *run, const struct assay_record *record)
{
    bool left_out =
        record->outcome == ASSAY_OUTCOME_SKIPPED || record->outcome == ASSAY_OUTCOME_UNSUPPORTED;
    run->something_wrong = run->something_wrong || !assay_outcome_is_fine(record->outcome);
    run->n_rows++;
    run->n_left_out += left_out;
    if (left_out && !run->why_left_out[0])
        copy_text(record->reason, run->why_left_out, sizeof run->why_left_out);
}

static void hand_over(struct assay_run *run, const struct assay_record *records, int64_t n)
{
    if (assay_run_begin(run, NULL) != ASSAY_OK)
        return;
    for (int64_t i = 0; i < n; i++)
        count_row(run, &records[i]);
    enum assay_status status = run->hooks->group(run->hooks->user, records, n, &run->trouble);
    if (status != ASSAY_OK && run->trouble.code == ASSAY_OK)
        run->trouble.code = status;
}

int64_t assay_run_left(const struct assay_run *run)
{
    int64_t left = 0;
    for (int64_t i = 0; i < run->plan->n_groups; i++)
        left += !run->done || !run->done[i];
    return left;
}

/* ---- a new run ---- */

static enum assay_status settle_plan(struct assay_run *run, struct assay_error *err)
{
    run->done = assay_calloc((size_t)run->plan->n_groups, sizeof *run->done);
    if (!run->done)
        return assay_error_nomem(err);
    return run->hooks->open ? run->hooks->open(run->hooks->user, err) : ASSAY_OK;
}

/* Without a journal a run cannot be resumed, and is still worth measuring. */
static enum assay_status start_run(struct assay_run *run, struct assay_error *err)
{
    struct assay_error why = {0};
    assay_run_describe(run->plan, &run->request->origin, &run->info);
    enum assay_status status = settle_plan(run, err);
    if (status != ASSAY_OK || !run->request->journal)
        return status;
    if (assay_journal_create(&run->info, run->plan, &run->journal, &why) != ASSAY_OK) {
        char text[700], whole[800];
        assay_error_format(&why, text, sizeof text);
        snprintf(whole, sizeof whole, "no journal, so this run cannot be resumed: %s", text);
        warn(run, whole);
    }
    return ASSAY_OK;
}

/* ---- an earlier run: the journal's plan, and its groups first ---- */

static enum assay_status on_head(void *user, const struct assay_run_info *info,
                                 struct assay_plan *plan, struct assay_error *err)
{
    struct assay_run *run = user;
    run->info = *info;
    run->resumed = *plan;
    *plan = (struct assay_plan){0};
    run->plan = &run->resumed;
    if (run->request->models && run->plan->n_groups && !run->plan->groups[0].entry[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, info->id,
                               "is a run of `assay bench`; continue it there");
    return settle_plan(run, err);
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct assay_run *run = user;
    run->done[group] = true;
    hand_over(run, records, n);
}

static void on_damage(void *user, const char *where, const char *what)
{
    enum { SHOWN = 5 };
    struct assay_run *run = user;
    struct assay_text text = {0};
    if (++run->damaged > SHOWN)
        return;
    assay_text_format(&text, "%s: %s", where, what);
    warn(run, text.failed ? what : text.data);
    assay_text_fini(&text);
}

static enum assay_status read_journal(struct assay_run *run, const char *path,
                                      struct assay_journal_end *end, struct assay_error *err)
{
    struct assay_journal_visitor visitor = {
        .user = run, .head = on_head, .group = on_group, .damaged = on_damage};
    enum assay_status status = assay_journal_read(path, &visitor, end, err);
    return status == ASSAY_OK ? pass_trouble(run, err) : status;
}

enum assay_status assay_run_read(struct assay_run *run, struct assay_error *err)
{
    struct assay_text path = {0};
    enum assay_status status = assay_journal_find(run->request->resume, &path, err);
    if (status == ASSAY_OK)
        status = read_journal(run, path.data, NULL, err);
    assay_text_fini(&path);
    return status;
}

/* The lock comes before reading: nobody else may go on with the run meanwhile. */
static enum assay_status resume_run(struct assay_run *run, struct assay_error *err)
{
    struct assay_text path = {0};
    struct assay_journal_end end;
    enum assay_status status = assay_journal_find(run->request->resume, &path, err);
    if (status == ASSAY_OK)
        status = assay_journal_open(path.data, &run->journal, err);
    if (status == ASSAY_OK)
        status = read_journal(run, path.data, &end, err);
    if (status == ASSAY_OK)
        status = assay_journal_go_on(run->journal, &end, err);
    assay_text_fini(&path);
    return status;
}

enum assay_status assay_run_open(struct assay_run *run, struct assay_error *err)
{
    const struct assay_run_request *request = run->request;
    enum assay_status status = ASSAY_OK;
    if (request->lock)
        status = assay_machine_lock_take(&run->lock, request->wait, warn, run, err);
    run->locked = request->lock && status == ASSAY_OK;
    if (status == ASSAY_OK)
        status = request->resume ? resume_run(run, err) : start_run(run, err);
    return status;
}

void assay_run_close(struct assay_run *run)
{
    assay_journal_close(run->journal);
    assay_plan_fini(&run->resumed);
    assay_free(run->done);
    if (run->locked)
        assay_machine_lock_release(&run->lock);
    run->journal = NULL;
    run->done = NULL;
    run->locked = false;
}

/* ---- measuring: the supervisor's questions and answers ---- */

static bool is_done(void *user, int64_t group) { return ((struct assay_run *)user)->done[group]; }

static void on_start(void *user, int64_t group)
{
    const struct assay_run *run = user;
    if (run->hooks->start)
        run->hooks->start(run->hooks->user, &run->plan->groups[group]);
}

static void on_note(void *user, const char *text)
{
    const struct assay_run_hooks *hooks = ((struct assay_run *)user)->hooks;
    if (hooks->note)
        hooks->note(hooks->user, text);
}

static void on_profile(void *user, const struct assay_group *group,
                       const struct assay_profile *profile, struct assay_profile_files *files)
{
    const struct assay_run_hooks *hooks = ((struct assay_run *)user)->hooks;
    hooks->profile(hooks->user, group, profile, files);
}

static void on_memory(void *user, const struct assay_group *group,
                      const struct assay_memory_profile *profile, struct assay_profile_files *files)
{
    const struct assay_run_hooks *hooks = ((struct assay_run *)user)->hooks;
    hooks->memory(hooks->user, group, profile, files);
}

static int on_stop(void *user)
{
    const struct assay_run_hooks *hooks = ((struct assay_run *)user)->hooks;
    return hooks->stop ? hooks->stop(hooks->user) : 0;
}

static void on_idle(void *user, const char *doing)
{
    const struct assay_run_hooks *hooks = ((struct assay_run *)user)->hooks;
    if (hooks->idle)
        hooks->idle(hooks->user, doing);
}

/* On disk before anybody else sees it. */
static enum assay_status on_measured(void *user, int64_t group, const struct assay_record *records,
                                     int64_t n, struct assay_error *err)
{
    struct assay_run *run = user;
    enum assay_status status = ASSAY_OK;
    if (run->journal)
        status = assay_journal_append(run->journal, group, records, n, err);
    hand_over(run, records, n);
    if (status == ASSAY_OK)
        status = pass_trouble(run, err);
    run->done[group] = true;
    for (int64_t i = 0; i < n; i++)
        run->done[group] = run->done[group] && assay_journal_is_final(&records[i]);
    return status;
}

enum assay_status assay_run_measure(struct assay_run *run, struct assay_error *err)
{
    struct assay_supervisor_options options = {
        .program = run->request->program,
        .user = run,
        .skip = is_done,
        .start = on_start,
        .note = on_note,
        .group = on_measured,
        .profile = run->hooks->profile ? on_profile : NULL,
        .profile_all = run->request->profile,
        .memory = run->hooks->memory ? on_memory : NULL,
        .memory_all = run->request->profile_memory,
        .stop = on_stop,
        .idle = on_idle,
    };
    return assay_supervise(run->plan, &options, err);
}
