#include "runner/remote_device.h"

#include "base/alloc.h"
#include "base/text.h"
#include "device/cpu/cpu_counters.h"
#include "kernel/kernel.h"
#include "runner/remote_watch.h"
#include "runner/traces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS = 4, RECENT = 64, RECENT_LEAST = 8 };
static const double LONG_ENOUGH_NS = 150e3; /* to tell a lie from the way there and back */
static const double PRIME_EACH_NS = 2000;   /* a first call may take so much longer */
/* Calls that stream through the caches make what follows them slow, too: of 24 MB, five times, the
 * answer and its way took 0.15 ms more. A share of all calls. */
static const double WAY_BACK = 0.05;
static const double WAITED = 0.25; /* the share of a run, by the judge's clock */
/* Around its runs a guest looks at its results and copies them: a call of Python's each, and memory
 * at 4 GB/s, both with room to spare. What it does beyond that matters where it is this much, and
 * this share of a call. A script's object gives its tensors one by one, and before a run inputs are
 * restored that a call changes. */
static const double LOOK_NS = 30e3, LOOK_SCRIPT_NS = 300e3, BYTE_NS = 0.25, OUTSIDE_NS = 75e3,
                    OUTSIDE_SHARE = 0.25;

/* Memory that was reserved in the runner. */
struct region {
    uint64_t there;
    char *here; /* a GPU's, mapped in this process; NULL: the runner's is read from outside */
    size_t bytes;
};

/* The last ones. */
struct recent {
    double values[RECENT];
    int64_t n;
};

struct remote {
    struct assay_device device;
    assay_runner *runner;
    assay_device *here;
    struct region regions[REGIONS];
    int32_t n_regions;
    const struct assay_args *sets; /* as they were bound */
    int64_t n_sets;
    bool count_memory;
    int64_t prime; /* calls that the next run begins with */
    struct recent excess, outside, outside_ns;
    double guest_ns; /* in commands around a run */
    size_t output_bytes;
    bool script;
    struct assay_runner_reply last;
    double first_ns; /* what a guest took to get ready for its first run; 0: there was none */
};

static struct remote *remote_of(assay_device *device) { return (struct remote *)device; }

static const struct remote *remote_of_const(const assay_device *device)
{
    return (const struct remote *)device;
}

static void describe(assay_device *device, struct assay_device_info *out)
{
    assay_device *here = remote_of(device)->here;
    here->driver->describe(here, out);
}

/* ---- memory ---- */

/* A GPU's memory is opened while the runner is awake: its driver answers for the other process. */
static enum assay_status open_here(struct remote *r, const unsigned char *handle, size_t bytes,
                                   void **out, struct assay_error *err)
{
    const struct assay_device_driver *driver = r->here->driver;
    if (!driver->shared)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                               "needs --in-process: this device cannot share its memory with "
                               "another process");
    assay_runner_wake(r->runner);
    enum assay_status status = driver->shared(r->here, handle, bytes, out, err);
    assay_runner_rest(r->runner);
    return status;
}

static enum assay_status alloc_there(assay_device *device, size_t bytes, void **out,
                                     struct assay_error *err)
{
    struct remote *r = remote_of(device);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_RESERVE, .bytes = bytes};
    struct assay_runner_reply reply;
    if (r->n_regions == REGIONS)
        return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "too many blocks in one runner");
    enum assay_status status = assay_runner_ask(r->runner, &c, &reply, err);
    if (status != ASSAY_OK)
        return status;
    struct region *region = &r->regions[r->n_regions];
    void *mapped = NULL;
    if (!assay_device_shares_memory(r->here))
        status = open_here(r, reply.handle, bytes, &mapped, err);
    *region = (struct region){.there = reply.address, .here = mapped, .bytes = bytes};
    if (status != ASSAY_OK)
        return status;
    r->n_regions++;
    *out = (void *)(uintptr_t)reply.address;
    return ASSAY_OK;
}

/* It ends with the process. */
static void free_there(assay_device *device, void *memory, size_t bytes)
{
    (void)device, (void)memory, (void)bytes;
}

/* Where this process sees a GPU's memory; NULL: nowhere, or it is not a GPU's. */
static void *seen_here(const struct remote *r, uint64_t there, size_t bytes)
{
    for (int32_t i = 0; i < r->n_regions; i++) {
        const struct region *region = &r->regions[i];
        if (region->here && there >= region->there && bytes <= region->bytes &&
            there - region->there <= region->bytes - bytes)
            return region->here + (there - region->there);
    }
    return NULL;
}

/* The memory of one that has ended is nobody's. */
static enum assay_status lives(const struct remote *r, struct assay_error *err)
{
    if (assay_runner_end_of(r->runner) == ASSAY_RUNNER_ALIVE)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "%s", assay_runner_reason(r->runner));
}

static enum assay_status upload(assay_device *device, void *to, const void *from, size_t bytes,
                                struct assay_error *err)
{
    struct remote *r = remote_of(device);
    uint64_t there = (uintptr_t)to;
    void *here = seen_here(r, there, bytes);
    if (!here)
        return assay_runner_write(r->runner, there, from, bytes, err);
    enum assay_status status = lives(r, err);
    return status == ASSAY_OK ? r->here->driver->upload(r->here, here, from, bytes, err) : status;
}

static enum assay_status download(assay_device *device, void *to, const void *from, size_t bytes,
                                  struct assay_error *err)
{
    struct remote *r = remote_of(device);
    uint64_t there = (uintptr_t)from;
    const void *here = seen_here(r, there, bytes);
    if (!here)
        return assay_runner_read(r->runner, to, there, bytes, err);
    enum assay_status status = lives(r, err);
    return status == ASSAY_OK ? r->here->driver->download(r->here, to, here, bytes, err) : status;
}

/* Within a GPU's memory. */
static enum assay_status copy(assay_device *device, void *to, const void *from, size_t bytes,
                              struct assay_error *err)
{
    struct remote *r = remote_of(device);
    void *to_here = seen_here(r, (uintptr_t)to, bytes);
    const void *from_here = seen_here(r, (uintptr_t)from, bytes);
    if (!to_here || !from_here)
        return assay_error_set(err, ASSAY_ERR_INTERNAL, NULL, "no such memory in the runner");
    enum assay_status status = lives(r, err);
    return status == ASSAY_OK ? r->here->driver->copy(r->here, to_here, from_here, bytes, err)
                              : status;
}

bool assay_remote_device_intact(assay_device *device, struct assay_error *why)
{
    struct remote *r = remote_of(device);
    bool intact = true;
    for (int32_t i = 0; i < r->n_regions && intact; i++)
        if (!r->regions[i].here)
            intact = assay_runner_intact(r->runner, r->regions[i].there, r->regions[i].bytes, why);
    return intact;
}

/* The table of pointers goes into the runner's memory, like operands. */
enum assay_status assay_remote_device_bind(assay_device *device, const struct assay_args *sets,
                                           int64_t n_sets, int32_t n_inputs, int32_t n_outputs,
                                           struct assay_error *err)
{
    struct remote *r = remote_of(device);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_BIND};
    struct assay_runner_reply reply;
    c.bind.n_sets = n_sets;
    c.bind.n_inputs = n_inputs;
    c.bind.n_outputs = n_outputs;
    size_t each = (size_t)(n_inputs + n_outputs), bytes = (size_t)n_sets * each * sizeof(void *);
    uint64_t *table = assay_malloc(bytes);
    if (!table)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < n_sets; i++) {
        for (int32_t k = 0; k < n_inputs; k++)
            table[(size_t)i * each + (size_t)k] = (uintptr_t)sets[i].in[k];
        for (int32_t k = 0; k < n_outputs; k++)
            table[(size_t)i * each + (size_t)(n_inputs + k)] = (uintptr_t)sets[i].out[k];
    }
    enum assay_status status = assay_runner_ask(r->runner, &c, &reply, err);
    if (status == ASSAY_OK && reply.bytes != bytes)
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, NULL, "the runner's table does not fit");
    if (status == ASSAY_OK)
        status = assay_runner_write(r->runner, reply.address, table, bytes, err);
    assay_free(table);
    r->sets = sets;
    r->n_sets = n_sets;
    return status;
}

/* ---- runs ---- */

static bool is_number(double ns) { return ns >= 0 && ns < 1e18; }

static void add_recent(struct recent *r, double value) { r->values[r->n++ % RECENT] = value; }

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* 0 where there are too few. */
static double median(const struct recent *r)
{
    int64_t n = r->n < RECENT ? r->n : RECENT;
    double sorted[RECENT];
    memcpy(sorted, r->values, sizeof sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return n < RECENT_LEAST ? 0 : sorted[n / 2];
}

/* What the calls before the timed ones claim counts as far as it could be true. Where threads
 * waited for a core their caches were emptied meanwhile, which no clock takes off: such runs tell
 * nothing.
 */
static void note_excess(struct remote *r, const struct assay_runner_command *c)
{
    double claimed = r->last.timing.device_ns;
    double most = (4 * claimed / (double)c->run.iters + PRIME_EACH_NS) * (double)c->run.prime;
    double primed = r->last.prime_ns < most ? r->last.prime_ns : most;
    double wall = assay_runner_wall_ns(r->runner),
           waited = wall - assay_runner_worked_ns(r->runner);
    if (claimed < LONG_ENOUGH_NS || waited > WAITED * wall)
        return;
    double allowed = assay_runner_idle_ns(r->runner) + (1 + WAY_BACK) * (claimed + primed);
    add_recent(&r->excess, (assay_runner_worked_ns(r->runner) - allowed) / claimed);
}

double assay_remote_device_excess(const assay_device *device)
{
    return median(&remote_of_const(device)->excess);
}

/* Results of so many calls were looked at. */
static void note_outside(struct remote *r, const struct assay_runner_command *c)
{
    double results = (double)(c->run.iters < c->run.n_sets ? c->run.iters : c->run.n_sets);
    double look_ns = r->script ? LOOK_SCRIPT_NS : LOOK_NS;
    double copied_ns = results * (look_ns + BYTE_NS * (double)r->output_bytes);
    double call_ns = r->last.timing.device_ns / (double)c->run.iters;
    double ns = r->guest_ns - copied_ns;
    add_recent(&r->outside_ns, ns);
    add_recent(&r->outside, ns / fmax(OUTSIDE_NS, OUTSIDE_SHARE * call_ns));
}

struct assay_remote_outside assay_remote_device_outside(const assay_device *device)
{
    const struct remote *r = remote_of_const(device);
    return (struct assay_remote_outside){median(&r->outside_ns), median(&r->outside)};
}

void assay_remote_device_expect(assay_device *device, size_t output_bytes, bool script)
{
    remote_of(device)->output_bytes = output_bytes;
    remote_of(device)->script = script;
}

/* Both clocks are the same machine's. What is claimed has to fit into what went by here; but what a
 * GPU's launches cost the host is measured once, and those of a sample are replayed for less. */
static enum assay_status check_claim(struct remote *r, const struct assay_runner_command *c)
{
    double wall = assay_runner_wall_ns(r->runner);
    const struct assay_timing *t = &r->last.timing;
    bool host_fits = !assay_device_shares_memory(r->here) || t->host_ns <= wall;
    if (is_number(t->device_ns) && is_number(t->host_ns) && is_number(r->last.prime_ns) &&
        t->device_ns <= wall && host_fits) {
        note_excess(r, c);
        return ASSAY_OK;
    }
    assay_runner_condemn(r->runner, "it claims more time than went by");
    return ASSAY_ERR_FAILED;
}

/* What a guest does around a run, outside the clocks. Its failure is the run's. */
static enum assay_status ask_guest(struct remote *r, const struct assay_runner_command *run,
                                   enum assay_runner_verb verb)
{
    struct assay_runner_command c = *run;
    struct assay_runner_reply reply;
    if (!assay_runner_has_guest(r->runner))
        return ASSAY_OK;
    c.verb = verb;
    enum assay_status status = assay_runner_ask(r->runner, &c, &reply, NULL);
    if (!r->script || verb == ASSAY_RUNNER_FINISH)
        r->guest_ns += assay_runner_worked_ns(r->runner) - assay_runner_idle_ns(r->runner);
    if (status != ASSAY_OK || reply.trace != ASSAY_TRACE_NONE)
        r->last = reply;
    return status;
}

double assay_remote_device_first_ns(const assay_device *device)
{
    return remote_of_const(device)->first_ns;
}

static enum assay_status time_there(assay_device *device, const struct assay_kernel *kernel,
                                    void *state, const struct assay_work *work,
                                    struct assay_timing *out)
{
    struct remote *r = remote_of(device);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_RUN};
    (void)state;
    bool bound = work->sets >= r->sets && work->sets < r->sets + r->n_sets;
    c.run.prime = r->prime;
    r->prime = 0;
    c.run.iters = work->iters;
    c.run.n_sets = work->n_sets;
    c.run.first = work->first;
    c.run.offset = bound ? work->sets - r->sets : 0;
    c.run.activations = kernel->run == assay_kernel_activations_elsewhere;
    c.run.memory = r->count_memory;
    r->count_memory = false;
    r->guest_ns = 0;
    enum assay_status status = ask_guest(r, &c, ASSAY_RUNNER_READY);
    if (r->first_ns == 0 && assay_runner_has_guest(r->runner))
        r->first_ns = assay_runner_wall_ns(r->runner);
    if (status == ASSAY_OK)
        status = assay_runner_ask(r->runner, &c, &r->last, NULL);
    if (status == ASSAY_OK)
        status = check_claim(r, &c);
    *out = r->last.timing;
    if (status == ASSAY_OK)
        status = ask_guest(r, &c, ASSAY_RUNNER_FINISH);
    if (status == ASSAY_OK)
        note_outside(r, &c);
    out->watched = true;
    return status;
}

/* From outside, of the runner's process: its way of reading commands is part of it. */
static enum assay_status count_there(assay_device *device, const struct assay_kernel *kernel,
                                     void *state, const struct assay_work *work,
                                     struct assay_counts *out)
{
    struct assay_timing timing;
    struct assay_counter_source source;
    pid_t process = assay_runner_pid(remote_of(device)->runner);
    assay_counter_source_linux(&source);
    assay_counters *counters = process > 0 ? assay_counters_open(&source, process) : NULL;
    if (!counters)
        return process > 0 ? ASSAY_ERR_NOMEM : ASSAY_ERR_FAILED;
    assay_counters_start(counters);
    enum assay_status status = time_there(device, kernel, state, work, &timing);
    assay_counters_stop(counters);
    assay_counters_read(counters, out);
    assay_counters_close(counters);
    return status;
}

static void prime(assay_device *device, int64_t calls) { remote_of(device)->prime = calls; }

const struct assay_runner_reply *assay_remote_device_last(const assay_device *device)
{
    return &remote_of_const(device)->last;
}

void assay_remote_device_count_memory(assay_device *device)
{
    remote_of(device)->count_memory = true;
}

/* Its words as a terminal may show them. */
static void show(const char *said, char *out, size_t size)
{
    struct assay_text shown = {0};
    assay_text_add_shown(&shown, said);
    snprintf(out, size, "%s", shown.data ? shown.data : "");
    assay_text_fini(&shown);
}

/* Words and counts of somebody else's process: whole, and no more of them than there can be. */
static void make_sane(struct assay_timed *t)
{
    static const char *const ways[] = {"", ASSAY_TIMED_GRAPH, ASSAY_TIMED_BLOCKED,
                                       ASSAY_TIMED_EAGER};
    struct assay_timed said = *t;
    *t = (struct assay_timed){.fault = said.fault, .has_graph = said.has_graph != 0};
    said.way[sizeof said.way - 1] = said.why[sizeof said.why - 1] = '\0';
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(said.way, ways[i]) == 0)
            memcpy(t->way, said.way, sizeof t->way);
    show(said.why, t->why, sizeof t->why);
    t->graph = said.graph;
    t->graph.n_names = 0;
    for (int32_t i = 0; i < said.graph.n_names && i < ASSAY_GRAPH_NAMES; i++) {
        char *name = said.graph.names[i];
        name[ASSAY_GRAPH_NAME - 1] = '\0';
        show(name, t->graph.names[t->graph.n_names++], ASSAY_GRAPH_NAME);
    }
}

static void timed(assay_device *device, const struct assay_kernel *kernel, void *state,
                  struct assay_timed *out)
{
    struct remote *r = remote_of(device);
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_TIMED};
    struct assay_runner_reply reply;
    (void)kernel, (void)state;
    *out = (struct assay_timed){0};
    if (assay_runner_ask(r->runner, &c, &reply, NULL) == ASSAY_OK && reply.bytes == sizeof *out &&
        assay_runner_read(r->runner, out, reply.address, sizeof *out, NULL) == ASSAY_OK)
        make_sane(out);
    else
        *out = (struct assay_timed){0};
}

static enum assay_status watch(assay_device *device, char *how, size_t size,
                               struct assay_error *err)
{
    return assay_remote_watch(remote_of(device)->runner, how, size, err);
}

static enum assay_status watched(assay_device *device, struct assay_activities *out,
                                 struct assay_error *err)
{
    return assay_remote_watched(remote_of(device)->runner, out, err);
}

static void unwatch(assay_device *device) { assay_remote_unwatch(remote_of(device)->runner); }

/* ---- what is the machine's, and not the runner's ---- */

static int64_t now_ns(assay_device *device)
{
    assay_device *here = remote_of(device)->here;
    return here->driver->now_ns(here);
}

static double clock_hz(assay_device *device)
{
    assay_device *here = remote_of(device)->here;
    return here->driver->clock_hz(here);
}

static void disturbance(assay_device *device, struct assay_disturbance *out)
{
    *out = remote_of(device)->last.timing.after;
}

static double energy_j(assay_device *device)
{
    assay_device *here = remote_of(device)->here;
    return here->driver->energy_j ? here->driver->energy_j(here) : (double)NAN;
}

static const struct assay_device_driver driver_of_host = {
    .name = "runner",
    .summary = "another process",
    .describe = describe,
    .alloc = alloc_there,
    .free = free_there,
    .upload = upload,
    .download = download,
    .time = time_there,
    .counters = count_there,
    .prime = prime,
    .now_ns = now_ns,
    .clock_hz = clock_hz,
    .disturbance = disturbance,
};

static const struct assay_device_driver driver_of_gpu = {
    .name = "runner",
    .summary = "a GPU in another process",
    .describe = describe,
    .alloc = alloc_there,
    .free = free_there,
    .upload = upload,
    .download = download,
    .copy = copy,
    .time = time_there,
    .timed = timed,
    .watch = watch,
    .watched = watched,
    .unwatch = unwatch,
    .prime = prime,
    .now_ns = now_ns,
    .clock_hz = clock_hz,
    .disturbance = disturbance,
    .energy_j = energy_j,
};

enum assay_status assay_remote_device_create(assay_runner *runner, assay_device *here,
                                             assay_device **out, struct assay_error *err)
{
    struct remote *r = assay_calloc(1, sizeof *r);
    if (!r)
        return assay_error_nomem(err);
    bool gpu = !assay_device_shares_memory(here);
    r->device = (struct assay_device){.driver = gpu ? &driver_of_gpu : &driver_of_host,
                                      .index = here->index,
                                      .threads = here->threads};
    r->runner = runner;
    r->here = here;
    *out = &r->device;
    return ASSAY_OK;
}

void assay_remote_device_let_go(assay_device *device)
{
    struct remote *r = remote_of(device);
    for (int32_t i = 0; i < r->n_regions; i++)
        if (r->regions[i].here)
            r->here->driver->unshare(r->here, r->regions[i].here);
    r->n_regions = 0;
}

void assay_remote_device_destroy(assay_device *device)
{
    if (!device)
        return;
    assay_remote_device_let_go(device);
    assay_free(device);
}
