/* serve.c: a runner's life: it takes a command, does it, and answers, until the line is closed.
 * Whatever is called here may be a stranger's. */
#include "runner/runner.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "base/last_words.h"
#include "base/math.h"
#include "base/text.h"
#include "kernel/host.h"
#include "model/model.h"
#include "op/op.h"
#include "op/op_name.h"
#include "runner/fence.h"
#include "runner/guest.h"
#include "runner/remote_watch.h"
#include "runner/sandbox.h"
#include "runner/traces.h"
#include "runner/tvm_ffi.h"
#include "runner/tvm_names.h"
#include "workload/contents.h"
#include "workload/workload.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCKS = 8 };

struct block {
    void *memory;
    size_t bytes;
};

struct server {
    pid_t process;                   /* a copy that a stranger makes must not answer for us */
    const struct assay_guest *guest; /* NULL: kernels are C */
    struct assay_host host;
    assay_workloads *workloads;
    int64_t first; /* of the object's kernels in the registry */
    struct assay_contents contents;

    const struct assay_kernel *kernel; /* that is set up */
    struct assay_problem problem;
    char op[64], recipe[32];
    void *state;
    bool set_up;
    struct assay_memory memory;
    struct assay_traces home; /* this process before the kernel was called */

    struct block blocks[BLOCKS]; /* of the device's memory, for operands */
    int32_t n_blocks;
    void **pointers;                 /* of all sets, one behind the other */
    struct assay_args *sets, *turns; /* as they were bound; and so often that a rotation fits */
    int64_t n_sets, n_turns;

    struct assay_setup declared; /* by a workload */
    void *bulk;                  /* what the judge reads or writes next */
    struct assay_timed timed;
};

static enum assay_status need_bulk(struct server *s, size_t bytes, struct assay_runner_reply *r)
{
    assay_free(s->bulk);
    s->bulk = assay_calloc(1, bytes ? bytes : 1);
    r->address = (uintptr_t)s->bulk;
    r->bytes = bytes;
    return s->bulk ? ASSAY_OK : assay_error_nomem(&r->err);
}

/* ---- beginning ---- */

static enum assay_status open_device(struct server *s, const struct assay_runner_command *c,
                                     struct assay_runner_reply *r)
{
    const struct assay_device_driver *driver;
    int32_t index;
    enum assay_status status = assay_device_parse(c->device.name, &driver, &index, &r->err);
    if (status == ASSAY_OK)
        status = assay_device_open(driver, index, c->device.threads, &s->host.device, &r->err);
    if (status != ASSAY_OK)
        return status;
    s->host.device->strangers = true;
    s->host.device->capturer = s->guest ? s->guest->capturer : NULL;
    return ASSAY_OK;
}

static void folder_of(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, size, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

enum { MOST_READABLE = 96 };

/* What may be read. Some of the paths are made up here. */
struct readable {
    const char *paths[MOST_READABLE + 1]; /* NULL-terminated */
    char made[MOST_READABLE][1024];
    int n;
};

static void may_read(struct readable *r, const char *path)
{
    if (path && path[0] && r->n < MOST_READABLE)
        r->paths[r->n++] = path;
}

static void may_read_beside(struct readable *r, const char *file)
{
    if (!file || !file[0] || r->n == MOST_READABLE)
        return;
    folder_of(file, r->made[r->n], sizeof r->made[r->n]);
    may_read(r, r->made[r->n]);
}

/* Where libraries are that variables or Python environments lead to (cuda_library.c and others look
 * there). */
static void may_read_libraries(struct readable *r)
{
    static const char *const files[] = {"ASSAY_CUDA_DRIVER", "ASSAY_NVRTC",   "ASSAY_NVML",
                                        "ASSAY_CUBLASLT",    "ASSAY_CUDNN",   "ASSAY_DNNL",
                                        "ASSAY_OPENBLAS",    "ASSAY_TVM_FFI", "ASSAY_CUPTI"};
    static const char *const folders[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH"};
    const char *home = getenv("HOME");
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        may_read_beside(r, getenv(files[i]));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        may_read(r, getenv(folders[i]));
    if (home && home[0] && r->n < MOST_READABLE) {
        snprintf(r->made[r->n], sizeof r->made[r->n], "%.900s/.local/lib", home);
        may_read(r, r->made[r->n]);
    }
}

/* It may read what it lies beside, what assay keeps, and where the user is. */
static enum assay_status confine(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    struct readable readable = {0};
    struct assay_text cache = {0};
    for (const char *const *path = s->guest ? s->guest->readable : NULL; path && *path; path++)
        may_read(&readable, *path);
    may_read(&readable, c->load.path);
    may_read_beside(&readable, c->load.path);
    if (s->guest && readable.n > 0) /* of a script in benchmarks/: the repository it is in */
        may_read_beside(&readable, readable.paths[readable.n - 1]);
    may_read(&readable, ".");
    if (assay_folder_cache(&cache, NULL) == ASSAY_OK)
        may_read(&readable, cache.data);
    may_read_libraries(&readable);
    struct assay_confinement confinement = {.sandbox = c->load.sandbox,
                                            .mute = c->load.mute,
                                            .gpu = c->load.gpu,
                                            .memory_bytes = c->load.memory_bytes,
                                            .readable = readable.paths};
    struct assay_confined got = {0};
    enum assay_status status = assay_confine_before_load(&confinement, &got, &r->err);
    snprintf(r->text, sizeof r->text, "%s", got.text);
    assay_text_fini(&cache);
    return status;
}

static enum assay_status load(struct server *s, const struct assay_runner_command *c,
                              struct assay_runner_reply *r)
{
    s->first = assay_kernel_count(s->host.registry);
    if (!s->guest && assay_tvm_is(c->load.path)) {
        s->guest = assay_tvm_guest_create();
        if (!s->guest)
            return assay_error_nomem(&r->err);
    }
    const struct assay_guest *guest = s->guest;
    return guest ? guest->load(guest->user, &s->host, c->load.path, s->workloads, s->host.registry,
                               &r->err)
                 : assay_workload_load(s->workloads, s->host.registry, c->load.path, &r->err);
}

static enum assay_status tell_contents(struct server *s, const struct assay_runner_command *c,
                                       struct assay_runner_reply *r)
{
    (void)c;
    r->address = (uintptr_t)&s->contents;
    r->bytes = sizeof s->contents;
    return assay_contents_list(s->workloads, s->host.registry, s->first, &s->contents, &r->err);
}

/* ---- one kernel ---- */

/* The problem as it came, with pointers of this process. */
static enum assay_status take_problem(struct server *s, const struct assay_runner_command *c,
                                      struct assay_problem *out, struct assay_error *err)
{
    snprintf(s->op, sizeof s->op, "%s", c->problem.op);
    snprintf(s->recipe, sizeof s->recipe, "%s", c->problem.recipe);
    const struct assay_op *op =
        assay_workload_is(s->op) ? assay_workload_op(s->workloads, s->op) : assay_model_op(s->op);
    *out = c->problem.problem;
    out->op = op ? op->name : s->op;
    out->recipe = c->problem.has_recipe ? s->recipe : NULL;
    out->host = &s->host;
    s->host.autotune = c->problem.autotune;
    return op ? ASSAY_OK
              : assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(s->op), "no such op");
}

static const struct assay_kernel *find_kernel(const struct server *s, const char *name,
                                              struct assay_error *err)
{
    const struct assay_kernel *kernel = assay_kernel_find(s->host.registry, name);
    if (!kernel)
        assay_error_set(err, ASSAY_ERR_INVALID, name, "no such kernel");
    return kernel;
}

static enum assay_status ask_can_run(struct server *s, const struct assay_runner_command *c,
                                     struct assay_runner_reply *r)
{
    struct assay_problem problem;
    const struct assay_kernel *kernel = find_kernel(s, c->kernel, &r->err);
    if (!kernel)
        return ASSAY_ERR_INVALID;
    if (c->problem.has_problem && take_problem(s, c, &problem, &r->err) != ASSAY_OK)
        return ASSAY_ERR_INVALID;
    const struct assay_problem *asked = c->problem.has_problem ? &problem : NULL;
    enum assay_status status = assay_kernel_can_run(kernel, asked, &r->err);
    return status == ASSAY_OK && s->guest
               ? s->guest->can_run(s->guest->user, kernel, asked, &r->err)
               : status;
}

static enum assay_status ask_note(struct server *s, const struct assay_runner_command *c,
                                  struct assay_runner_reply *r)
{
    struct assay_problem problem;
    const struct assay_kernel *kernel = find_kernel(s, c->kernel, &r->err);
    if (!kernel || take_problem(s, c, &problem, &r->err) != ASSAY_OK)
        return ASSAY_ERR_INVALID;
    if (s->guest)
        s->guest->note(s->guest->user, kernel, &problem, r->text, sizeof r->text);
    else if (kernel->note)
        kernel->note(&problem, r->text, sizeof r->text);
    return ASSAY_OK;
}

/* Only what the last call left changed is told; the next one finds everything as it was. */
static void note_traces(struct server *s, struct assay_runner_reply *r)
{
    struct assay_error why = {0};
    r->trace = (int32_t)assay_traces_undo(&s->home, &why);
    if (r->trace != ASSAY_TRACE_NONE)
        snprintf(r->text, sizeof r->text, "%.159s", why.message);
    r->threads = (int32_t)assay_traces_threads();
}

/* Everything that a run does around the kernel's own calls. */
static enum assay_status ping(struct server *s, const struct assay_runner_command *c,
                              struct assay_runner_reply *r)
{
    (void)c;
    assay_device *device = s->host.device;
    s->home = assay_traces_now();
    if (device) {
        device->driver->disturbance(device, &r->timing.before);
        device->driver->disturbance(device, &r->timing.after);
    }
    note_traces(s, r);
    return ASSAY_OK;
}

static void note_failure(const struct server *s, enum assay_status status,
                         struct assay_runner_reply *r)
{
    const char *said =
        s->guest ? s->guest->failure(s->guest->user) : assay_workload_failure(&s->problem);
    if (status == ASSAY_ERR_FAILED && said[0])
        assay_error_set(&r->err, status, NULL, "%s", said);
}

/* What a GPU's timer keeps of launches is of this state and these sets. */
static void forget(const struct server *s)
{
    assay_device *device = s->host.device;
    if (device->driver->forget)
        device->driver->forget(device, s->state);
}

static enum assay_status call_setup(struct server *s, struct assay_error *err)
{
    const struct assay_guest *guest = s->guest;
    if (guest)
        return guest->setup(guest->user, s->kernel, &s->problem, &s->state, err);
    return s->kernel->setup ? s->kernel->setup(&s->problem, &s->state, err) : ASSAY_OK;
}

static enum assay_status set_up(struct server *s, const struct assay_runner_command *c,
                                struct assay_runner_reply *r)
{
    s->kernel = find_kernel(s, c->kernel, &r->err);
    if (!s->kernel || take_problem(s, c, &s->problem, &r->err) != ASSAY_OK)
        return ASSAY_ERR_INVALID;
    s->home = assay_traces_now();
    struct assay_memory_mark mark = assay_memory_begin(s->host.device);
    enum assay_status status = call_setup(s, &r->err);
    assay_memory_end(s->host.device, &mark, ASSAY_MEMORY_SETUP, &s->memory);
    s->set_up = status == ASSAY_OK;
    note_traces(s, r);
    r->memory = s->memory;
    return status;
}

static enum assay_status prepare(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    assay_device *device = s->host.device;
    struct assay_memory_mark mark = {0};
    if (!s->set_up || !s->kernel->prepare || s->n_sets == 0)
        return assay_error_set(&r->err, ASSAY_ERR_INTERNAL, NULL, "nothing to prepare");
    forget(s);
    if (c->set == 0)
        mark = assay_memory_begin(device);
    enum assay_status status =
        s->kernel->prepare(s->state, c->set, &s->sets[c->set % s->n_sets], &r->err);
    if (c->set == 0)
        assay_memory_end(device, &mark, ASSAY_MEMORY_PREPARE, &s->memory);
    if (status == ASSAY_OK && s->kernel->prepared_bytes)
        r->bytes = s->kernel->prepared_bytes(s->state);
    r->memory = s->memory;
    return status;
}

static enum assay_status tear_down(struct server *s, const struct assay_runner_command *c,
                                   struct assay_runner_reply *r)
{
    (void)c, (void)r;
    if (s->set_up)
        forget(s);
    if (s->set_up && s->kernel->teardown)
        s->kernel->teardown(s->state);
    s->set_up = false;
    return ASSAY_OK;
}

/* ---- operands ---- */

/* Touched by the threads that will use it, so that its pages are there and near them. */
static void touch(char *base, size_t bytes)
{
    enum { PAGE = 4096 };
#pragma omp parallel for schedule(static)
    for (size_t at = 0; at < bytes; at += PAGE)
        base[at] = 0;
}

static enum assay_status alloc_block(struct server *s, size_t bytes, void **out,
                                     struct assay_error *err)
{
    if (s->n_blocks == BLOCKS)
        return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "too many blocks in one runner");
    enum assay_status status = assay_device_alloc(s->host.device, bytes, out, err);
    if (status == ASSAY_OK)
        s->blocks[s->n_blocks++] = (struct block){*out, bytes};
    return status;
}

/* A device's own, which the judge opens by the handle. */
static enum assay_status reserve_shared(struct server *s, size_t bytes,
                                        struct assay_runner_reply *r)
{
    assay_device *device = s->host.device;
    void *memory = NULL;
    if (!device->driver->share)
        return assay_error_set(&r->err, ASSAY_UNSUPPORTED, NULL,
                               "needs --in-process: this device cannot share its memory with "
                               "another process");
    bytes = assay_round_up_bytes(bytes ? bytes : 1, device->driver->share_unit);
    enum assay_status status = alloc_block(s, bytes, &memory, &r->err);
    if (status == ASSAY_OK)
        status = device->driver->share(device, memory, r->handle, &r->err);
    r->address = (uintptr_t)memory;
    return status;
}

static enum assay_status reserve(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    void *memory = NULL;
    r->bytes = c->bytes;
    if (!assay_device_shares_memory(s->host.device))
        return reserve_shared(s, c->bytes, r);
    enum assay_status status = alloc_block(s, c->bytes, &memory, &r->err);
    if (status == ASSAY_OK)
        touch(memory, c->bytes);
    r->address = (uintptr_t)memory;
    return status;
}

/* As it was before the variant came; its kernel is torn down. */
static enum assay_status release(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    (void)c, (void)r;
    while (s->n_blocks > 0) {
        struct block *block = &s->blocks[--s->n_blocks];
        assay_device_free(s->host.device, block->memory, block->bytes);
    }
    s->n_sets = 0;
    s->memory = (struct assay_memory){0};
    return s->set_up ? assay_error_set(&r->err, ASSAY_ERR_INTERNAL, NULL, "a kernel is set up")
                     : ASSAY_OK;
}

static enum assay_status bind_sets(struct server *s, const struct assay_runner_command *c,
                                   struct assay_runner_reply *r)
{
    size_t n = (size_t)(c->bind.n_inputs + c->bind.n_outputs), sets = (size_t)c->bind.n_sets;
    if (s->set_up)
        forget(s);
    assay_free(s->pointers);
    assay_free(s->sets);
    assay_free(s->turns);
    s->pointers = assay_calloc(sets * n, sizeof *s->pointers);
    s->sets = assay_calloc(sets, sizeof *s->sets);
    s->turns = NULL;
    s->n_turns = 0;
    s->n_sets = s->pointers && s->sets ? c->bind.n_sets : 0;
    if (s->n_sets == 0)
        return assay_error_nomem(&r->err);
    for (size_t i = 0; i < sets; i++) {
        void **own = s->pointers + i * n;
        s->sets[i] = (struct assay_args){(const void *const *)own, own + c->bind.n_inputs};
    }
    r->address = (uintptr_t)s->pointers;
    r->bytes = sets * n * sizeof *s->pointers;
    return ASSAY_OK;
}

/* Where a kernel keeps more prepared copies than there are sets, these come again. */
static const struct assay_args *sets_for(struct server *s, int64_t n, int64_t offset)
{
    if (offset + n <= s->n_sets)
        return s->sets + offset;
    if (s->n_turns < n) {
        struct assay_args *turns = assay_realloc(s->turns, (size_t)n, sizeof *turns);
        if (!turns)
            return NULL;
        s->turns = turns;
        s->n_turns = n;
        for (int64_t i = 0; i < n; i++)
            turns[i] = s->sets[i % s->n_sets];
    }
    return s->turns;
}

/* ---- runs ---- */

static enum assay_status run_timed(struct server *s, const struct assay_kernel *kernel,
                                   const struct assay_work *work, struct assay_timing *out)
{
    assay_device *device = s->host.device;
    struct assay_disturbance before, after;
    device->driver->disturbance(device, &before);
    enum assay_status status = device->driver->time(device, kernel, s->state, work, out);
    device->driver->disturbance(device, &after);
    out->before = before;
    out->after = after;
    return status;
}

/* On the sets before those of `work`. */
static enum assay_status run_prime(struct server *s, const struct assay_kernel *kernel,
                                   const struct assay_work *work, int64_t calls, double *ns)
{
    assay_device *device = s->host.device;
    struct assay_work prime = *work;
    struct assay_timing timing = {0};
    if (calls <= 0)
        return ASSAY_OK;
    prime.iters = calls;
    prime.first = ((work->first - calls) % work->n_sets + work->n_sets) % work->n_sets;
    enum assay_status status = device->driver->time(device, kernel, s->state, &prime, &timing);
    *ns = timing.host_ns;
    return status;
}

static enum assay_status take_work(struct server *s, const struct assay_runner_command *c,
                                   struct assay_work *out, struct assay_error *err)
{
    if (!s->set_up || c->run.offset < 0 || c->run.offset >= s->n_sets || c->run.n_sets < 1)
        return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "nothing to run");
    *out =
        (struct assay_work){.iters = c->run.iters, .first = c->run.first, .n_sets = c->run.n_sets};
    out->sets = sets_for(s, c->run.n_sets, c->run.offset);
    return out->sets ? ASSAY_OK : assay_error_nomem(err);
}

static enum assay_status make_ready(struct server *s, const struct assay_work *work,
                                    struct assay_error *err)
{
    const struct assay_guest *guest = s->guest;
    struct assay_guest_sets sets = {s->pointers, s->n_sets};
    return guest ? guest->ready(guest->user, s->state, &sets, work, err) : ASSAY_OK;
}

static enum assay_status make_finished(struct server *s, const struct assay_work *work,
                                       struct assay_error *err)
{
    const struct assay_guest *guest = s->guest;
    return guest ? guest->finish(guest->user, s->state, work, err) : ASSAY_OK;
}

/* How many calls come before those that are timed. A captured call is one of its operands: of calls
 * that change their inputs the timed ones would find what those before left. */
static int64_t primes(const struct server *s, const struct assay_runner_command *c)
{
    const struct assay_guest *guest = s->guest;
    bool captures = !assay_device_shares_memory(s->host.device);
    bool changes = guest && guest->changes_inputs && guest->changes_inputs(guest->user, s->state);
    return captures && changes ? 0 : c->run.prime;
}

static enum assay_status ready(struct server *s, const struct assay_runner_command *c,
                               struct assay_runner_reply *r)
{
    struct assay_work work;
    enum assay_status status = take_work(s, c, &work, &r->err);
    if (status != ASSAY_OK)
        return status;
    work.iters += primes(s, c); /* the calls before are told of too */
    return make_ready(s, &work, &r->err);
}

static enum assay_status finish(struct server *s, const struct assay_runner_command *c,
                                struct assay_runner_reply *r)
{
    struct assay_work work;
    enum assay_status status = take_work(s, c, &work, &r->err);
    if (status == ASSAY_OK)
        status = make_finished(s, &work, &r->err);
    note_traces(s, r);
    return status;
}

static enum assay_status run(struct server *s, const struct assay_runner_command *c,
                             struct assay_runner_reply *r)
{
    struct assay_work work;
    enum assay_status status = take_work(s, c, &work, &r->err);
    if (status != ASSAY_OK)
        return status;
    struct assay_kernel part = *s->kernel;
    part.run = part.run_activations;
    struct assay_memory_mark mark = {0};
    if (c->run.memory)
        mark = assay_memory_begin(s->host.device);
    const struct assay_kernel *kernel = c->run.activations ? &part : s->kernel;
    status = run_prime(s, kernel, &work, primes(s, c), &r->prime_ns);
    if (status == ASSAY_OK)
        status = run_timed(s, kernel, &work, &r->timing);
    if (c->run.memory && status == ASSAY_OK)
        assay_memory_end(s->host.device, &mark, ASSAY_MEMORY_RUN, &s->memory);
    note_traces(s, r);
    note_failure(s, status, r);
    r->memory = s->memory;
    return status;
}

static enum assay_status tell_timed(struct server *s, const struct assay_runner_command *c,
                                    struct assay_runner_reply *r)
{
    assay_device *device = s->host.device;
    (void)c;
    s->timed = (struct assay_timed){0};
    if (s->set_up && device->driver->timed)
        device->driver->timed(device, s->kernel, s->state, &s->timed);
    r->address = (uintptr_t)&s->timed;
    r->bytes = sizeof s->timed;
    return ASSAY_OK;
}

static enum assay_status run_at_fence(struct server *s, const struct assay_runner_command *c,
                                      struct assay_runner_reply *r)
{
    assay_fence *fence = NULL;
    struct assay_timing timing;
    if (!s->set_up || s->n_sets == 0)
        return assay_error_set(&r->err, ASSAY_ERR_INTERNAL, NULL, "nothing to run");
    if (assay_fence_create(&s->problem, s->sets[0].in, (enum assay_fence_side)c->side, &fence,
                           NULL) != ASSAY_OK)
        return ASSAY_OK; /* no memory for it: it is left out */
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = assay_fence_args(fence)};
    enum assay_status status = make_ready(s, &work, &r->err);
    assay_fence_arm(fence);
    if (status == ASSAY_OK)
        status = s->host.device->driver->time(s->host.device, s->kernel, s->state, &work, &timing);
    if (status == ASSAY_OK)
        status = make_finished(s, &work, &r->err);
    forget(s); /* operands that end now */
    assay_fence_disarm(fence);
    assay_fence_destroy(fence);
    note_traces(s, r);
    note_failure(s, status, r);
    return status;
}

/* ---- a workload's author ---- */

static enum assay_status declare(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    r->address = (uintptr_t)&s->declared;
    r->bytes = sizeof s->declared;
    return assay_workload_declare(s->workloads, c->workload.op, c->workload.threads, &s->declared,
                                  &r->err);
}

static enum assay_status fill(struct server *s, const struct assay_runner_command *c,
                              struct assay_runner_reply *r)
{
    int32_t i = c->workload.index;
    if (i < 0 || i >= s->declared.n_inputs)
        return assay_error_set(&r->err, ASSAY_ERR_INTERNAL, NULL, "no such input");
    enum assay_status status = need_bulk(s, assay_tensor_bytes(&s->declared.inputs[i].tensor), r);
    if (status == ASSAY_OK)
        assay_workload_fill(s->workloads, c->workload.op, i, s->bulk, c->workload.seed);
    return status;
}

static enum assay_status take_inputs(struct server *s, const struct assay_runner_command *c,
                                     struct assay_runner_reply *r)
{
    size_t bytes = 0;
    (void)c;
    for (int32_t i = 0; i < s->declared.n_inputs; i++)
        bytes += assay_round_up_bytes(assay_tensor_bytes(&s->declared.inputs[i].tensor), 64);
    return need_bulk(s, bytes, r);
}

static enum assay_status verify(struct server *s, const struct assay_runner_command *c,
                                struct assay_runner_reply *r)
{
    const void *in[ASSAY_MAX_INPUTS];
    const char *at = s->bulk;
    int32_t output = c->workload.index;
    if (!at || output < 0 || output >= s->declared.n_outputs)
        return assay_error_set(&r->err, ASSAY_ERR_INTERNAL, NULL, "nothing to verify");
    for (int32_t i = 0; i < s->declared.n_inputs; i++) {
        in[i] = at;
        at += assay_round_up_bytes(assay_tensor_bytes(&s->declared.inputs[i].tensor), 64);
    }
    int64_t n = assay_tensor_count(&s->declared.outputs[output].tensor);
    double *out = assay_calloc((size_t)n, sizeof *out);
    if (!out)
        return assay_error_nomem(&r->err);
    enum assay_status status = assay_workload_verify(s->workloads, &s->host, c->workload.op, in,
                                                     output, c->workload.threads, out, &r->err);
    assay_free(s->bulk);
    s->bulk = out;
    r->address = (uintptr_t)out;
    r->bytes = (size_t)n * sizeof *out;
    return status;
}

/* ---- a profiled pass ---- */

static enum assay_status watch(struct server *s, const struct assay_runner_command *c,
                               struct assay_runner_reply *r)
{
    assay_device *device = s->host.device;
    (void)c;
    return device && device->driver->watch
               ? device->driver->watch(device, r->text, sizeof r->text, &r->err)
               : assay_error_set(&r->err, ASSAY_UNSUPPORTED, NULL, "nothing to watch");
}

static enum assay_status watched(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    struct assay_activities seen = {0};
    assay_device *device = s->host.device;
    size_t bytes = 0;
    (void)c;
    if (!device || !device->driver->watched)
        return assay_error_set(&r->err, ASSAY_UNSUPPORTED, NULL, "nothing to watch");
    enum assay_status status = device->driver->watched(device, &seen, &r->err);
    assay_free(s->bulk);
    s->bulk = assay_remote_watch_pack(&seen, &bytes);
    assay_activities_fini(&seen);
    r->address = (uintptr_t)s->bulk;
    r->bytes = bytes;
    return status == ASSAY_OK && !s->bulk ? assay_error_nomem(&r->err) : status;
}

static enum assay_status unwatch(struct server *s, const struct assay_runner_command *c,
                                 struct assay_runner_reply *r)
{
    assay_device *device = s->host.device;
    (void)c, (void)r;
    if (device && device->driver->unwatch)
        device->driver->unwatch(device);
    return ASSAY_OK;
}

/* ---- the line ---- */

typedef enum assay_status (*verb_fn)(struct server *, const struct assay_runner_command *,
                                     struct assay_runner_reply *);

static const verb_fn verbs[ASSAY_RUNNER_VERBS] = {
    [ASSAY_RUNNER_CONFINE] = confine,
    [ASSAY_RUNNER_DEVICE] = open_device,
    [ASSAY_RUNNER_PING] = ping,
    [ASSAY_RUNNER_LOAD] = load,
    [ASSAY_RUNNER_CONTENTS] = tell_contents,
    [ASSAY_RUNNER_CAN_RUN] = ask_can_run,
    [ASSAY_RUNNER_NOTE] = ask_note,
    [ASSAY_RUNNER_SETUP] = set_up,
    [ASSAY_RUNNER_PREPARE] = prepare,
    [ASSAY_RUNNER_TEARDOWN] = tear_down,
    [ASSAY_RUNNER_RESERVE] = reserve,
    [ASSAY_RUNNER_RELEASE] = release,
    [ASSAY_RUNNER_BIND] = bind_sets,
    [ASSAY_RUNNER_READY] = ready,
    [ASSAY_RUNNER_RUN] = run,
    [ASSAY_RUNNER_FINISH] = finish,
    [ASSAY_RUNNER_TIMED] = tell_timed,
    [ASSAY_RUNNER_WATCH] = watch,
    [ASSAY_RUNNER_WATCHED] = watched,
    [ASSAY_RUNNER_UNWATCH] = unwatch,
    [ASSAY_RUNNER_FENCE] = run_at_fence,
    [ASSAY_RUNNER_DECLARE] = declare,
    [ASSAY_RUNNER_FILL] = fill,
    [ASSAY_RUNNER_INPUTS] = take_inputs,
    [ASSAY_RUNNER_VERIFY] = verify,
};

bool assay_runner_hear(int line, struct assay_runner_command *c)
{
    ssize_t n;
    do
        n = recv(line, c, sizeof *c, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *c && c->version == ASSAY_RUNNER_VERSION &&
           c->verb < ASSAY_RUNNER_VERBS;
}

bool assay_runner_answer(int line, const struct assay_runner_reply *r)
{
    ssize_t n;
    do
        n = send(line, r, sizeof *r, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *r;
}

static bool hear_last_words(void)
{
    enum { WORDS = 160 };
    char *page = mmap(NULL, WORDS, PROT_READ | PROT_WRITE, MAP_SHARED, ASSAY_RUNNER_WORDS_FD, 0);
    if (page == MAP_FAILED)
        return false;
    close(ASSAY_RUNNER_WORDS_FD);
    assay_last_words_to(page, WORDS);
    return true;
}

static bool hear(const struct server *s, struct assay_runner_command *command)
{
    const struct assay_guest *guest = s->guest;
    if (guest)
        guest->rest(guest->user);
    bool heard = assay_runner_hear(ASSAY_RUNNER_FD, command);
    if (guest)
        guest->wake(guest->user);
    return heard;
}

int assay_runner_main(void) { return assay_runner_serve(NULL); }

int assay_runner_serve(const struct assay_guest *guest)
{
    struct assay_runner_command command;
    struct server *s = hear_last_words() ? assay_calloc(1, sizeof *s) : NULL;
    if (!s) {
        fputs("assay: a runner is started by assay itself, not by hand\n", stderr);
        return 2;
    }
    s->process = getpid();
    s->guest = guest;
    s->host.registry = assay_kernel_registry_create();
    s->workloads = assay_workloads_create();
    bool go_on = s->host.registry && s->workloads;
    while (go_on && hear(s, &command)) {
        struct assay_runner_reply reply = {.version = ASSAY_RUNNER_VERSION,
                                           .number = command.number};
        reply.status = (int32_t)verbs[command.verb](s, &command, &reply);
        if (getpid() != s->process)
            _exit(0);
        go_on = assay_runner_answer(ASSAY_RUNNER_FD, &reply);
    }
    _exit(go_on ? 0 : 1); /* a stranger's exit handlers are not ours to run */
}
