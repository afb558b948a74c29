#include "bench/worker.h"

#include "base/alloc.h"
#include "base/last_words.h"
#include "bench/wire.h"
#include "model/model.h"
#include "runner/python.h"
#include "runner/tvm_names.h"
#include "workload/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct assay_worker {
    struct assay_bench bench;
    struct assay_strings plugins; /* loaded so far */
    char device[32];              /* open now, for so many threads */
    int32_t threads;
};

assay_worker *assay_worker_create(struct assay_watch *watch, bool isolate)
{
    assay_worker *worker = assay_calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    worker->bench.watch = watch;
    worker->bench.host.registry = assay_kernel_registry_create();
    worker->bench.workloads = assay_workloads_create();
    if (isolate && worker->bench.workloads)
        worker->bench.strangers =
            assay_strangers_create(&worker->bench.host, worker->bench.workloads);
    if (!worker->bench.host.registry || !worker->bench.workloads ||
        (isolate && !worker->bench.strangers)) {
        assay_worker_destroy(worker);
        return NULL;
    }
    return worker;
}

void assay_worker_destroy(assay_worker *worker)
{
    if (!worker)
        return;
    assay_strangers_destroy(worker->bench.strangers);
    assay_device_close(worker->bench.host.device);
    assay_kernel_registry_destroy(worker->bench.host.registry);
    assay_workloads_destroy(worker->bench.workloads);
    assay_strings_fini(&worker->plugins);
    assay_free(worker);
}

/* Runners show by this that the judge waits for them, and does not hang. */
static bool beat(void *user)
{
    const assay_worker *worker = user;
    struct assay_watch *watch = worker->bench.watch;
    atomic_fetch_add_explicit(&watch->beat, 1, memory_order_relaxed);
    return atomic_load_explicit(&watch->stop, memory_order_relaxed) != 0;
}

/* A stranger's code is opened in a process of its own, or here where there is none for it. */
static void set_opening(const assay_worker *worker, int64_t plugin)
{
    if (worker->bench.watch)
        atomic_store_explicit(&worker->bench.watch->opening, (int32_t)(plugin + 1),
                              memory_order_relaxed);
}

static enum assay_status load_plugins(assay_worker *worker, const struct assay_settings *s,
                                      struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    struct assay_bench *bench = &worker->bench;
    struct assay_runner_options options = {.timeout_s = s->timeout_s,
                                           .memory_bytes = s->memory_limit,
                                           .sandbox = s->sandbox,
                                           .python = s->python,
                                           .beat = beat,
                                           .user = worker};
    if (bench->strangers)
        assay_strangers_use(bench->strangers, &options, s->device, s->threads);
    for (int64_t i = 0; i < s->plugins.n && status == ASSAY_OK; i++) {
        const char *path = s->plugins.items[i];
        if (assay_strings_have(&worker->plugins, path))
            continue;
        set_opening(worker, i);
        if (bench->strangers)
            status = assay_strangers_add(bench->strangers, path, err);
        else if (assay_python_is(path))
            status = assay_error_set(err, ASSAY_ERR_INVALID, path,
                                     "Python has a process of its own, so not with --in-process");
        else if (assay_tvm_is(path))
            status = assay_error_set(err, ASSAY_ERR_INVALID, path,
                                     "functions of TVM-FFI have a process of their own, so not "
                                     "with --in-process");
        else
            status = assay_workload_load(bench->workloads, bench->host.registry, path, err);
        if (status == ASSAY_OK && assay_strings_add(&worker->plugins, path) != ASSAY_OK)
            status = assay_error_nomem(err);
    }
    set_opening(worker, -1);
    return status;
}

/* With the plug-ins loaded, every name that was asked for must be known: executors always are. */
static enum assay_status check_names(assay_worker *worker, const struct assay_settings *s,
                                     struct assay_error *err)
{
    enum { MOST = 64 };
    const char *names[MOST];
    int64_t n = 0;
    for (int64_t i = 0; i < s->implementations.n && n < MOST; i++)
        if (!assay_model_is_executor(s->implementations.items[i]))
            names[n++] = s->implementations.items[i];
    struct assay_kernel_choice choice = {
        .implementations = names,
        .n_implementations = n,
        .kernels = (const char *const *)s->kernels.items,
        .n_kernels = s->kernels.n,
        .baseline = assay_model_is_executor(s->baseline) ? NULL : s->baseline,
    };
    if (worker->bench.strangers && assay_strangers_n_broken(worker->bench.strangers) > 0)
        return ASSAY_OK; /* they may be the names of what could not be opened */
    return assay_kernel_check_choice(worker->bench.host.registry, &choice, err);
}

static void tell(const struct assay_group_hooks *hooks, const char *text)
{
    if (hooks->note)
        hooks->note(hooks->user, text);
}

/* Measured now, and remembered for the next run where that can be done. */
static enum assay_status measure_ceilings(assay_worker *worker,
                                          const struct assay_group_hooks *hooks,
                                          struct assay_error *err)
{
    assay_device *device = worker->bench.host.device;
    struct assay_ceilings *ceilings = &worker->bench.ceilings;
    struct assay_error why = {0};
    tell(hooks, "measuring this machine's ceilings, once (a few seconds)");
    enum assay_status status = device->driver->calibrate(device, ceilings, &why);
    if (status == ASSAY_OK) {
        status = assay_ceilings_save(ceilings, &why);
        if (status != ASSAY_OK && status != ASSAY_ERR_NOMEM)
            tell(hooks, "the ceilings cannot be remembered: the cache folder is not writable");
    } else {
        *ceilings = (struct assay_ceilings){0};
    }
    assay_watch_step(worker->bench.watch, -1);
    return status == ASSAY_ERR_NOMEM ? assay_error_set(err, status, why.where, "%s", why.message)
                                     : ASSAY_OK;
}

/* Ceilings from the cache folder, or measured now. Without them there are no percentages, but
 * everything else works. That the system cannot read them now, for lack of memory or descriptors,
 * is an error, not a reason to spend seconds on measuring what is known. */
static enum assay_status load_ceilings(assay_worker *worker, const struct assay_group_hooks *hooks,
                                       struct assay_error *err)
{
    assay_device *device = worker->bench.host.device;
    struct assay_device_info info;
    struct assay_error why = {0};
    device->driver->describe(device, &info);
    enum assay_status status =
        assay_ceilings_load(info.name, device->threads, &worker->bench.ceilings, &why);
    if (status == ASSAY_OK)
        return status;
    worker->bench.ceilings = (struct assay_ceilings){0};
    if (status != ASSAY_UNSUPPORTED)
        return assay_error_set(err, status, why.where, "%s", why.message);
    return device->driver->calibrate ? measure_ceilings(worker, hooks, err) : ASSAY_OK;
}

static enum assay_status open_device(assay_worker *worker, const struct assay_settings *settings,
                                     const struct assay_group_hooks *hooks, struct assay_error *err)
{
    assay_device *device = worker->bench.host.device;
    if (device && worker->threads == settings->threads &&
        strcmp(worker->device, settings->device) == 0)
        return ASSAY_OK;
    assay_device_close(device);
    worker->bench.host.device = NULL;
    const struct assay_device_driver *driver;
    int32_t index;
    enum assay_status status = assay_device_parse(settings->device, &driver, &index, err);
    if (status == ASSAY_OK)
        status =
            assay_device_open(driver, index, settings->threads, &worker->bench.host.device, err);
    if (status != ASSAY_OK)
        return status;
    snprintf(worker->device, sizeof worker->device, "%s", settings->device);
    worker->threads = settings->threads;
    if (!settings->no_ceiling)
        status = load_ceilings(worker, hooks, err);
    if (status != ASSAY_OK) { /* the next job begins with it again */
        assay_device_close(worker->bench.host.device);
        worker->bench.host.device = NULL;
    }
    return status;
}

/* Models described in a configuration come with every job; those known already stay. */
static enum assay_status add_models(const struct assay_settings *s, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < s->models.n && status == ASSAY_OK; i++)
        status = assay_model_add(s->models.items[i], err);
    return status;
}

enum assay_status assay_worker_run(assay_worker *worker, const struct assay_job *job,
                                   const struct assay_group_hooks *hooks, struct assay_error *err)
{
    assay_watch_step(worker->bench.watch, -1);
    worker->bench.host.autotune = job->settings.autotune;
    enum assay_status status = load_plugins(worker, &job->settings, err);
    if (status == ASSAY_OK)
        status = check_names(worker, &job->settings, err);
    if (status == ASSAY_OK)
        status = open_device(worker, &job->settings, hooks, err);
    if (status == ASSAY_OK)
        status = add_models(&job->settings, err);
    if (status == ASSAY_OK)
        status = assay_group_run(&worker->bench, job, hooks, err);
    return status;
}

/* Events as messages on a descriptor. */

struct line {
    struct assay_wire events;
    struct assay_watch *watch;
    pid_t process;            /* a copy that a kernel made with fork must not speak for us */
    int64_t group, n_records; /* of this job */
};

static void end_without_memory(struct assay_watch *watch)
{
    atomic_store(&watch->no_memory, 1);
    _exit(1);
}

/* A message that cannot be sent is not left out: the supervisor would wait for it. */
static void send_event(struct line *line, assay_json *event)
{
    int problem = 0;
    if (getpid() != line->process)
        _exit(1);
    enum assay_status status = assay_wire_send(&line->events, event, &problem);
    if (status == ASSAY_ERR_NOMEM)
        end_without_memory(line->watch);
    if (status != ASSAY_OK && problem == EPIPE)
        _exit(1); /* the supervisor is gone */
    if (status != ASSAY_OK) {
        char words[160];
        snprintf(words, sizeof words, "the pipe to the supervisor failed: %s", strerror(problem));
        assay_last_words(words);
    }
}

static void send_note(void *user, const char *text) { send_event(user, assay_event_note(text)); }

static void send_contenders(void *user, const struct assay_contender *contenders, int64_t n)
{
    send_event(user, assay_event_contenders(contenders, n));
}

static void send_record(void *user, const struct assay_record *record)
{
    send_event(user, assay_event_of_record(record));
    ((struct line *)user)->n_records++;
}

static void send_measured(void *user)
{
    struct line *line = user;
    send_event(line, assay_event_measured(line->group, line->n_records));
}

static void send_profile(void *user, const struct assay_profile *profile)
{
    send_event(user, assay_event_of_profile(profile));
}

static void send_memory(void *user, const struct assay_memory_profile *profile)
{
    send_event(user, assay_event_of_memory(profile));
}

static void send_end(struct line *line, int64_t group, enum assay_status status,
                     const struct assay_error *err)
{
    bool fine = status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED;
    send_event(line,
               fine ? assay_event_done(group, line->n_records) : assay_event_error(status, err));
}

/* Without a few descriptors nothing can be asked of the system, and wrong things would be believed:
 * no memory, no caches. */
static int spare_descriptors(void)
{
    enum { FEW = 8 };
    int fds[FEW], n = 0, problem = 0;
    while (n < FEW && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    if (n < FEW)
        problem = errno;
    while (n > 0)
        close(fds[--n]);
    return problem == EMFILE || problem == ENFILE ? problem : 0;
}

/* One job. False: this worker should be replaced. */
static bool handle_job(assay_worker *worker, const assay_json *json, bool first, struct line *line)
{
    struct assay_error err = {0};
    struct assay_job job = {0};
    struct assay_group_hooks hooks = {.user = line,
                                      .note = send_note,
                                      .contenders = send_contenders,
                                      .record = send_record,
                                      .measured = send_measured,
                                      .profile = send_profile,
                                      .memory = send_memory};
    enum assay_status status = assay_job_from_json(json, &job, &err);
    int problem = spare_descriptors();
    line->group = job.group_index;
    line->n_records = 0;
    if (problem && !first) { /* a kernel leaves files open: a new process has none of them */
        assay_job_fini(&job);
        send_event(line, assay_event_worn());
        return false;
    }
    if (problem && status == ASSAY_OK)
        status = assay_error_set(&err, ASSAY_ERR_IO, NULL,
                                 "the worker has no file descriptors left: %s; allow more (ulimit "
                                 "-n)",
                                 strerror(problem));
    if (status == ASSAY_OK)
        status = assay_worker_run(worker, &job, &hooks, &err);
    send_end(line, job.group_index, status, &err);
    assay_job_fini(&job);
    return true;
}

/* The next job; false once there are no more. One that cannot be read ends the process: the
 * supervisor waits for an answer to it. */
static bool next_job(struct assay_wire *jobs, struct assay_watch *watch, assay_json **out)
{
    char why[400], words[160];
    size_t length;
    const char *text;
    while (!(text = assay_wire_line(jobs, &length)))
        if (!assay_wire_fill(jobs)) {
            if (jobs->problem == ENOMEM)
                end_without_memory(watch);
            snprintf(words, sizeof words, "the job cannot be read: %s", strerror(jobs->problem));
            if (jobs->problem)
                assay_last_words(words);
            return false;
        }
    enum assay_wire_kind kind = assay_wire_read(jobs, text, length, out, why, sizeof why);
    if (kind == ASSAY_WIRE_NO_MEMORY)
        end_without_memory(watch);
    if (kind != ASSAY_WIRE_MESSAGE)
        assay_last_words("a job came damaged");
    return true;
}

int assay_worker_main(int job_fd, int event_fd, int watch_fd)
{
    struct assay_watch *watch =
        mmap(NULL, sizeof *watch, PROT_READ | PROT_WRITE, MAP_SHARED, watch_fd, 0);
    if (watch == MAP_FAILED && errno == ENOMEM) {
        fputs("assay: out of memory: the worker cannot map its page\n", stderr);
        return ASSAY_WORKER_NO_PAGE;
    }
    if (watch == MAP_FAILED || watch->version != ASSAY_WATCH_VERSION) {
        fputs("assay: a worker is started by assay itself, not by hand\n", stderr);
        return 2;
    }
    assay_last_words_to(watch->last_words, sizeof watch->last_words);
    struct assay_wire jobs = {.fd = job_fd};
    struct line line = {.events = {.fd = event_fd}, .watch = watch, .process = getpid()};
    assay_worker *worker = assay_worker_create(watch, true);
    if (!worker)
        atomic_store(&watch->no_memory, 1);
    bool go_on = worker != NULL;
    assay_json *json;
    for (bool first = true; go_on && next_job(&jobs, watch, &json); first = false) {
        go_on = handle_job(worker, json, first, &line);
        assay_json_free(json);
    }
    assay_text_fini(&jobs.pending);
    assay_worker_destroy(worker);
    close(job_fd);
    return worker ? 0 : 1;
}
