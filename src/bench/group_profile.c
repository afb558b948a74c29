/* group_profile.c: a pass of its own, once everything is timed, in which each variant is called a
 * few times more and what it does is noted. No figure comes from it, and none can be touched by it.
 *
 * On a CPU, assay's own kernels note nodes and threads' shares through the problem's host. A GPU's
 * device is watched for as long as the pass goes on; its nodes are where its kernels ran. Of
 * strangers only the calls can be seen from here. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "model/model.h"

#include <math.h>

/* Calls: as many as take this long, within these. */
static const double PASS_NS = 100e6;
enum { CALLS_LEAST = 3, CALLS_MOST = 20 };
/* Of spans; a node may have several shares of each thread. */
enum { SHARES_OF_NODE = 4, MOST_SPANS = 1 << 18 };

struct pass {
    struct group *g;
    struct variant *v;
    enum assay_cache_state state;
    const struct assay_args *sets;
    int64_t n_sets, calls;
    bool inside;  /* the kernel itself can note what it does */
    bool watched; /* the device notes what it does */
    struct assay_recorder recorder;
    struct assay_profile profile;
    int64_t ended_ns[CALLS_MOST]; /* of calls, by the host's clock */
    int64_t n_called;
};

/* ---- what is called ---- */

static const struct assay_measurement *timed(const struct pass *p)
{
    return &p->v->record.states[p->state];
}

static void choose_operands(struct pass *p)
{
    const struct variant *v = p->v;
    bool hot = v->record.states[ASSAY_CACHE_HOT].measured;
    p->state = hot ? ASSAY_CACHE_HOT : ASSAY_CACHE_COLD;
    p->sets = !hot && v->sets ? v->sets : assay_operands_sets(v->operands);
    p->n_sets = hot ? 1 : v->n_sets;
}

static int64_t count_calls(const struct pass *p)
{
    double each = timed(p)->time.median;
    double calls = each > 0 ? PASS_NS / each : CALLS_LEAST;
    return (int64_t)fmin(fmax(calls, CALLS_LEAST), CALLS_MOST);
}

/* ---- what the nodes are ---- */

/* Weights come from where the whole model lies, what a node before has just made from where the
 * node's own operands fit. */
static void find_ceiling(const struct pass *p, const struct assay_cost *cost, bool whole,
                         struct assay_profile_node *out)
{
    const struct assay_ceilings *ceilings = &p->g->bench->ceilings;
    double all = assay_group_working_set(p->g, p->v),
           bytes = cost->bytes_read + cost->bytes_written;
    double own = whole ? all : bytes;
    bool cold = p->state == ASSAY_CACHE_COLD;
    double weights = whole ? 0 : fmin(cost->weight_bytes, cost->bytes_read);
    struct assay_ceiling_time rest =
        assay_ceiling_time(ceilings, cost->bytes_read - weights, cost->bytes_written, cost->flops,
                           (int)cost->math, own, cold && whole);
    struct assay_ceiling_time kept =
        assay_ceiling_time(ceilings, weights, 0, 0, (int)cost->math, all, cold);
    double transfer = rest.transfer_ns + kept.transfer_ns;
    if (isnan(transfer) || isnan(rest.compute_ns) || p->g->job->settings.no_ceiling)
        return;
    bool computes = rest.compute_ns > transfer, from_all = kept.transfer_ns > rest.transfer_ns;
    out->ceiling_ns = fmax(transfer, rest.compute_ns);
    snprintf(out->bound, sizeof out->bound, "%s",
             computes ? "compute"
                      : assay_ceiling_level(ceilings, from_all ? all : own,
                                            cold && (whole || from_all)));
}

static void describe_node(const struct pass *p, const struct assay_op *op,
                          const struct assay_kernel *kernel, const struct assay_problem *problem,
                          bool whole, struct assay_profile_node *out)
{
    struct assay_cost cost = op->cost(problem);
    snprintf(out->op, sizeof out->op, "%.63s", assay_op_shown(op->name));
    snprintf(out->kernel, sizeof out->kernel, "%.63s", kernel->name);
    assay_tensor_shape_text(problem->axes, problem->n_axes, out->shape, sizeof out->shape);
    out->bytes = cost.bytes_read + cost.bytes_written;
    out->flops = cost.flops;
    find_ceiling(p, &cost, whole, out);
}

static bool has_steps(const struct pass *p)
{
    return group_is_model(p->g) && !assay_kernel_is_elsewhere(p->v->kernel) &&
           (p->inside || p->watched);
}

static enum assay_status describe_nodes(struct pass *p)
{
    struct assay_profile *out = &p->profile;
    bool steps = has_steps(p);
    out->n_nodes = steps ? assay_model_steps(p->v->state) : 1;
    out->nodes = assay_calloc((size_t)out->n_nodes, sizeof *out->nodes);
    if (!out->nodes) {
        out->n_nodes = 0;
        return ASSAY_ERR_NOMEM;
    }
    for (int64_t i = 0; i < out->n_nodes && steps; i++) {
        struct assay_model_step step;
        assay_model_step(p->v->state, i, &step);
        describe_node(p, step.op, step.kernel, step.problem, false, &out->nodes[i]);
        snprintf(out->nodes[i].phase, sizeof out->nodes[i].phase, "%s", step.phase);
    }
    if (!steps)
        describe_node(p, p->g->op, p->v->kernel, &p->v->problem, true, &out->nodes[0]);
    return ASSAY_OK;
}

static void add_samples(const struct assay_samples *from, struct assay_profile_samples *out)
{
    out->n = from->n;
    out->every = from->every;
    for (int32_t i = 0; i < from->n; i++) {
        out->ns[i] = from->ns[i];
        out->disturbed[i] = assay_samples_is_disturbed(from, i);
    }
}

static void add_fact(struct assay_profile *out, const char *key, double value)
{
    if (!(value >= 0) || out->n_facts == ASSAY_PROFILE_FACTS) /* NaN: not counted */
        return;
    struct assay_profile_fact *fact = &out->facts[out->n_facts++];
    snprintf(fact->key, sizeof fact->key, "%s", key);
    fact->value = value;
}

/* What the processor's counters said of a call, where they were asked. */
static void add_counts(struct pass *p)
{
    const struct assay_measurement *m = timed(p);
    const struct assay_counts *c = &m->counts;
    struct assay_profile *out = &p->profile;
    if (!m->has_counts)
        return;
    add_fact(out, "instructions_per_cycle", c->instructions / c->cycles);
    add_fact(out, "cycles", c->cycles);
    add_fact(out, "instructions", c->instructions);
    add_fact(out, "branch_misses", c->branch_misses);
    add_fact(out, "cache_references", c->cache_references);
    add_fact(out, "cache_misses", c->cache_misses);
    add_fact(out, "memory_bytes", c->memory_bytes);
    add_fact(out, "memory_over_least_bytes", c->memory_bytes >= 0 ? m->memory_frac : (double)NAN);
    add_fact(out, "cpu_time_us", c->task_clock_ns / 1e3);
    add_fact(out, "l2_bytes", c->l2_bytes);
    add_fact(out, "occupancy", c->occupancy_frac);
    add_fact(out, "matrix_units_busy", c->tensor_frac);
    add_fact(out, "page_faults", c->page_faults);
    add_fact(out, "context_switches", c->context_switches);
}

static void describe(struct pass *p)
{
    const struct assay_record *r = &p->v->record;
    struct assay_profile *out = &p->profile;
    char shape[64];
    assay_tensor_shape_text(r->axes, r->n_axes, shape, sizeof shape);
    out->group = p->g->job->group_index;
    out->variant = p->v - p->g->variants;
    out->threads = p->inside ? p->g->job->settings.threads : 0;
    out->median_ns = timed(p)->time.median;
    snprintf(out->title, sizeof out->title, "%s %s %s %s%s%s", assay_op_shown(r->op), shape,
             assay_dtype_name(r->dtype), r->implementation, r->recipe[0] ? " " : "", r->recipe);
    snprintf(out->op, sizeof out->op, "%.63s", assay_op_shown(r->op));
    snprintf(out->implementation, sizeof out->implementation, "%s", r->implementation);
    snprintf(out->kernel, sizeof out->kernel, "%s", r->kernel);
    snprintf(out->recipe, sizeof out->recipe, "%s", r->recipe);
    snprintf(out->device, sizeof out->device, "%s", r->device);
    snprintf(out->state, sizeof out->state, "%s", assay_cache_state_name(p->state));
    add_counts(p);
    for (int i = 0; i < ASSAY_PROFILE_STATES; i++)
        add_samples(&r->states[i].samples, &out->samples[i]);
}

/* ---- the calls ---- */

static void read_state(struct pass *p)
{
    const struct variant *v = p->v;
    assay_device *device = p->g->bench->host.device;
    if (p->profile.n_readings == ASSAY_PROFILE_READINGS)
        return;
    p->profile.readings[p->profile.n_readings++] = (struct assay_profile_reading){
        .at_ns = assay_clock_ns(),
        .clock_hz = device->driver->clock_hz ? device->driver->clock_hz(device) : 0,
        .bytes_held = (double)v->device->bytes_held};
}

/* A call whose inside nobody noted is its own only node. Where it runs elsewhere its length is
 * known, and not when in the call it began: it lies at the end. */
static void note_call(struct pass *p, int64_t from, int64_t to, const struct assay_timing *timing)
{
    int64_t own = (int64_t)timing->device_ns, length = to - from;
    if (p->watched) {
        p->ended_ns[p->n_called++] = to;
        assay_recorder_add(&p->recorder, (struct assay_span){from, to, ASSAY_SPAN_HOST, 0, -1});
        return;
    }
    assay_recorder_add(&p->recorder, (struct assay_span){from, to, ASSAY_SPAN_CALL, 0, 0});
    if (!has_steps(p) || !p->inside) {
        int64_t start = p->inside || own <= 0 || own > length ? from : to - own;
        assay_recorder_add(&p->recorder, (struct assay_span){start, to, ASSAY_SPAN_NODE, 0, 0});
    }
}

static enum assay_status call(struct pass *p, int64_t index, bool noted)
{
    struct variant *v = p->v;
    struct assay_work work = {
        .iters = 1, .first = index % p->n_sets, .n_sets = p->n_sets, .sets = p->sets};
    struct assay_timing timing = {0};
    if (p->watched) /* one set: with several, others' launches would lead in */
        work = (struct assay_work){.iters = 1, .n_sets = 1, .sets = p->sets + index % p->n_sets};
    group_step(p->g, v->runner ? -1 : v - p->g->variants);
    p->g->bench->host.recorder = noted && (p->inside || p->watched) ? &p->recorder : NULL;
    int64_t from = assay_clock_ns();
    enum assay_status status =
        v->device->driver->time(v->device, v->kernel, v->state, &work, &timing);
    int64_t to = assay_clock_ns();
    p->g->bench->host.recorder = NULL;
    if (status == ASSAY_OK && noted)
        note_call(p, from, to, &timing);
    return status;
}

/* What the device noted since it was last asked. */
static enum assay_status ask_device(struct pass *p, struct assay_activities *out)
{
    assay_device *device = p->v->device;
    return p->watched ? device->driver->watched(device, out, NULL) : ASSAY_OK;
}

/* The first call only warms up. */
static enum assay_status call_all(struct pass *p)
{
    struct assay_activities warm = {0};
    read_state(p);
    enum assay_status status = call(p, 0, false);
    if (status == ASSAY_OK)
        status = ask_device(p, &warm);
    assay_activities_fini(&warm);
    read_state(p);
    for (int64_t i = 0; i < p->calls && status == ASSAY_OK && !group_stopped(p->g); i++)
        status = call(p, i + 1, true);
    if (status == ASSAY_OK)
        status = ask_device(p, &p->profile.activities);
    read_state(p);
    group_step(p->g, -1);
    return status;
}

/* ---- where a GPU's calls and nodes were ---- */

/* From the first thing that the call, or a node of it, did to the last; false: it did nothing. */
static bool find_span(const struct assay_activities *all, int64_t call, int64_t node,
                      struct assay_span *out)
{
    bool any = false;
    for (int64_t i = 0; i < all->n; i++) {
        const struct assay_activity *a = &all->items[i];
        if (a->call != call || (node >= 0 && a->node != node))
            continue;
        out->start_ns = any && out->start_ns < a->start_ns ? out->start_ns : a->start_ns;
        out->end_ns = any && out->end_ns > a->end_ns ? out->end_ns : a->end_ns;
        any = true;
    }
    return any;
}

/* Times that count from a call's first event: it ended when the host had waited for it. */
static void place_between_events(struct pass *p)
{
    struct assay_activities *all = &p->profile.activities;
    for (int64_t call = 0; call < p->n_called; call++) {
        struct assay_span whole = {0};
        if (!find_span(all, call, -1, &whole))
            continue;
        for (int64_t i = 0; i < all->n; i++)
            if (all->items[i].call == call) {
                all->items[i].start_ns += p->ended_ns[call] - whole.end_ns;
                all->items[i].end_ns += p->ended_ns[call] - whole.end_ns;
            }
    }
}

/* Spans of calls and nodes; a kernel of an op is its call's only node. */
static void note_spans(struct pass *p)
{
    struct assay_activities *all = &p->profile.activities;
    bool by_events = all->n > 0 && all->items[0].kind == ASSAY_ACTIVITY_NODE;
    if (by_events)
        place_between_events(p);
    for (int64_t i = 0; i < all->n && !has_steps(p); i++)
        all->items[i].node = 0;
    for (int64_t call = 0; call < p->n_called; call++) {
        struct assay_span span = {.kind = ASSAY_SPAN_CALL};
        if (!find_span(all, call, -1, &span))
            continue;
        assay_recorder_add(&p->recorder, span);
        for (int64_t node = 0; node < p->profile.n_nodes; node++) {
            struct assay_span one = {.kind = ASSAY_SPAN_NODE, .what = node};
            if (find_span(all, call, node, &one))
                assay_recorder_add(&p->recorder, one);
        }
    }
    if (by_events) /* they are spans now */
        all->n = 0;
}

/* ---- what came of it ---- */

/* Of a GPU: whether any call was seen, and kernel by kernel. */
static bool has_gpu_spans(const struct pass *p)
{
    for (int64_t i = 0; i < assay_recorder_kept(&p->recorder); i++)
        if (p->recorder.spans[i].kind == ASSAY_SPAN_CALL)
            return true;
    return false;
}

static void note_missing(struct pass *p, enum assay_status status)
{
    struct assay_profile *out = &p->profile;
    const struct variant *v = p->v;
    int64_t lost = assay_recorder_lost(&p->recorder);
    if (v->runner && assay_runner_end_of(v->runner) != ASSAY_RUNNER_ALIVE)
        snprintf(out->missing, sizeof out->missing, "%.*s while it was profiled",
                 (int)strcspn(assay_runner_reason(v->runner), ";"), assay_runner_reason(v->runner));
    else if (status != ASSAY_OK)
        snprintf(out->missing, sizeof out->missing, "its run failed (%s) while it was profiled",
                 assay_status_name(status));
    else if (lost > 0)
        snprintf(out->missing, sizeof out->missing, "%lld spans did not fit", (long long)lost);
    else if (p->watched && out->activities.lost > 0)
        snprintf(out->missing, sizeof out->missing, "%lld of what the GPU did was not recorded",
                 (long long)out->activities.lost);
    else if (p->watched && p->recorder.capacity > 0 && !has_gpu_spans(p))
        snprintf(out->missing, sizeof out->missing, "what the GPU did: nothing was recorded");
    else if (p->watched && out->activities.n == 0)
        snprintf(out->missing, sizeof out->missing, "%s", out->gpu_source);
    else if (!p->inside && !p->watched)
        snprintf(out->missing, sizeof out->missing, "what is inside the calls: %s",
                 v->runner ? "it runs in a process of its own" : "it runs on a GPU");
}

static void hand_over(struct pass *p, enum assay_status status)
{
    struct assay_profile *out = &p->profile;
    note_missing(p, status);
    if (p->watched && out->activities.n == 0) /* `missing` says why */
        snprintf(out->gpu_source, sizeof out->gpu_source, "events around nodes");
    out->spans = p->recorder.spans;
    out->n_spans = assay_recorder_kept(&p->recorder);
    assay_profile_sort(out);
    p->g->hooks->profile(p->g->hooks->user, out);
    out->spans = NULL; /* the recorder's */
}

static void mark(void *device, int32_t node)
{
    ((assay_device *)device)->driver->mark(device, node);
}

static enum assay_status make_recorder(struct pass *p)
{
    enum assay_status status;
    int64_t shares = (int64_t)SHARES_OF_NODE * p->g->job->settings.threads;
    int64_t spans = p->calls * (1 + p->profile.n_nodes * (1 + shares));
    if (p->watched) /* of the host, and of the GPU */
        spans = 2 * p->calls * (1 + p->profile.n_nodes);
    status = assay_recorder_init(&p->recorder, spans < MOST_SPANS ? spans : MOST_SPANS);
    if (p->watched) {
        p->recorder.mark = mark;
        p->recorder.mark_user = p->v->device;
    }
    return status;
}

/* `how`: who watches the device; NULL: nobody does. */
static void profile_variant(struct group *g, struct variant *v, const char *how)
{
    struct pass p = {.g = g, .v = v, .watched = how != NULL};
    if (how)
        snprintf(p.profile.gpu_source, sizeof p.profile.gpu_source, "%s", how);
    p.inside = !v->runner && assay_device_shares_memory(g->bench->host.device);
    choose_operands(&p);
    p.calls = count_calls(&p);
    describe(&p);
    enum assay_status status = describe_nodes(&p);
    if (status == ASSAY_OK)
        status = make_recorder(&p);
    if (status == ASSAY_OK)
        status = call_all(&p);
    if (p.watched)
        note_spans(&p);
    hand_over(&p, status);
    if (v->runner && assay_runner_end_of(v->runner) != ASSAY_RUNNER_ALIVE)
        v->set_up = false; /* its figures stay: nobody asks it for more */
    assay_recorder_fini(&p.recorder);
    assay_profile_fini(&p.profile);
}

static bool is_profiled(const struct variant *v, enum group_whose whose)
{
    const struct assay_measurement *states = v->record.states;
    bool measured = states[ASSAY_CACHE_HOT].measured || states[ASSAY_CACHE_COLD].measured;
    return v->ready && v->set_up && measured && (v->runner != NULL) == (whose == GROUP_STRANGERS);
}

/* A stranger's process watches itself, as long as it is its turn. */
static void profile_stranger(struct group *g, struct variant *v)
{
    const struct assay_device_driver *driver = v->device->driver;
    char how[160] = "";
    bool watched = driver->watch && driver->watch(v->device, how, sizeof how, NULL) == ASSAY_OK;
    profile_variant(g, v, watched ? how : NULL);
    if (watched)
        driver->unwatch(v->device);
}

/* Attaching to this process may take a second: once, for all that run here. */
static void profile_own(struct group *g)
{
    assay_device *device = g->bench->host.device;
    bool watched = false, tried = device->driver->watch == NULL;
    char how[160] = "";
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        if (!is_profiled(&g->variants[i], GROUP_OWN))
            continue;
        group_step(g, -1);
        if (!tried)
            watched = device->driver->watch(device, how, sizeof how, NULL) == ASSAY_OK;
        tried = true;
        profile_variant(g, &g->variants[i], watched ? how : NULL);
    }
    if (watched)
        device->driver->unwatch(device);
}

void assay_group_profile(struct group *g, enum group_whose whose)
{
    if (!g->job->profile || !g->hooks->profile)
        return;
    if (whose == GROUP_OWN)
        profile_own(g);
    for (int64_t i = 0; i < g->n_variants && whose == GROUP_STRANGERS && !group_stopped(g); i++)
        if (is_profiled(&g->variants[i], whose))
            profile_stranger(g, &g->variants[i]);
}
