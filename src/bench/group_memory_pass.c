/* group_memory_pass.c: a pass of its own, once everything is timed, in which each variant is set
 * up, prepared, called and taken down once more, and what it allocates is noted. No figure comes
 * from it.
 *
 * Of a stranger, in its own process, there are sums: what its functions held when they returned,
 * and the most they held meanwhile, as its runner has told them while it was measured. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "model/model.h"

#include <math.h>

enum { CALLS = 2, MOST_EVENTS = 1 << 15 };

struct memory_pass {
    struct group *g;
    struct variant *v;
    struct assay_memory_log log;
    struct assay_memory libraries; /* what others than assay take of malloc meanwhile */
    double told;                   /* of that */
    uint64_t made_up;              /* the next address of what has none */
    struct assay_memory_profile profile;
};

/* No memory of a process lies there, and a double, as PyTorch's viewer has it, still holds it. */
static const uint64_t MADE_UP = UINT64_C(1) << 51;

/* ---- what the variant is ---- */

static void describe(struct memory_pass *p)
{
    const struct assay_record *r = &p->v->record;
    struct assay_memory_profile *out = &p->profile;
    char shape[64];
    assay_tensor_shape_text(r->axes, r->n_axes, shape, sizeof shape);
    out->group = p->g->job->group_index;
    out->variant = p->v - p->g->variants;
    out->on_host = assay_device_shares_memory(p->g->bench->host.device);
    out->sums = p->v->runner != NULL;
    snprintf(out->title, sizeof out->title, "%s %s %s %s%s%s", assay_op_shown(r->op), shape,
             assay_dtype_name(r->dtype), r->implementation, r->recipe[0] ? " " : "", r->recipe);
    snprintf(out->op, sizeof out->op, "%.63s", assay_op_shown(r->op));
    snprintf(out->implementation, sizeof out->implementation, "%s", r->implementation);
    snprintf(out->kernel, sizeof out->kernel, "%s", r->kernel);
    snprintf(out->recipe, sizeof out->recipe, "%s", r->recipe);
    snprintf(out->device, sizeof out->device, "%s", r->device);
}

static void describe_buffers(struct memory_pass *p, int64_t most)
{
    struct assay_memory_profile *out = &p->profile;
    for (int64_t i = 0; i < most; i++) {
        struct assay_model_buffer b;
        if (!assay_model_buffer(p->v->state, i, &b))
            continue;
        out->buffers[out->n_buffers++] =
            (struct assay_memory_buffer){.node = b.node,
                                         .output = b.output,
                                         .last = b.last,
                                         .held = b.saved      ? ASSAY_HELD_KEPT
                                                 : b.gradient ? ASSAY_HELD_GRADIENT
                                                              : ASSAY_HELD_INNER,
                                         .apart = b.apart,
                                         .offset = b.offset,
                                         .bytes = b.bytes};
    }
}

/* Once it is set up: its nodes, and the plan of what lies between them. */
static enum assay_status describe_model(struct memory_pass *p)
{
    struct assay_memory_profile *out = &p->profile;
    if (!group_is_model(p->g) || p->v->runner)
        return ASSAY_OK;
    int64_t nodes = assay_model_steps(p->v->state), buffers = assay_model_buffers(p->v->state);
    out->nodes = assay_calloc((size_t)nodes + 1, sizeof *out->nodes);
    out->buffers = assay_calloc((size_t)buffers + 1, sizeof *out->buffers);
    if (!out->nodes || !out->buffers)
        return ASSAY_ERR_NOMEM;
    out->n_nodes = nodes;
    for (int64_t i = 0; i < nodes; i++) {
        struct assay_model_step step;
        struct assay_memory_node *node = &out->nodes[i];
        assay_model_step(p->v->state, i, &step);
        snprintf(node->op, sizeof node->op, "%.63s", assay_op_shown(step.op->name));
        snprintf(node->kernel, sizeof node->kernel, "%.63s", step.kernel->name);
        snprintf(node->phase, sizeof node->phase, "%s", step.phase);
        assay_tensor_shape_text(step.problem->axes, step.problem->n_axes, node->shape,
                                sizeof node->shape);
    }
    assay_model_blocks(p->v->state, &out->planned_bytes, &out->apart_bytes);
    describe_buffers(p, buffers);
    return ASSAY_OK;
}

/* ---- what it holds ---- */

static void add(struct memory_pass *p, enum assay_memory_what what, enum assay_stage stage,
                enum assay_held held, int32_t node, uint64_t address, double bytes)
{
    assay_memory_log_add(&p->log, (struct assay_memory_event){.address = address,
                                                              .bytes = (int64_t)bytes,
                                                              .node = node,
                                                              .what = what,
                                                              .stage = stage,
                                                              .held = held,
                                                              .on_device = true});
}

/* A sum, at an address of its own, which it gives. */
static uint64_t add_sum(struct memory_pass *p, enum assay_stage stage, enum assay_held held,
                        double bytes)
{
    uint64_t address = MADE_UP + p->made_up;
    if (!(bytes >= 1))
        return 0;
    p->made_up += (uint64_t)bytes + 4096;
    add(p, ASSAY_MEMORY_TOOK, stage, held, -1, address, bytes);
    return address;
}

static void give_sum(struct memory_pass *p, enum assay_stage stage, uint64_t address)
{
    if (address)
        add(p, ASSAY_MEMORY_GAVE, stage, ASSAY_HELD_STATE, -1, address, 0);
}

/* As for the results, weights that the variant has in a form of its own are counted in that alone.
 */
static bool is_counted(const struct memory_pass *p, int32_t input)
{
    const struct variant *v = p->v;
    if (!v->kernel->prepare || !p->g->op->is_weight || !p->g->op->is_weight(&p->g->problem, input))
        return true;
    return group_is_model(p->g) && !assay_kernel_is_elsewhere(v->kernel) &&
           assay_model_reads_plain(v->state, input);
}

/* One set: those that a cold measurement adds are the harness's. */
static void add_operands(struct memory_pass *p)
{
    const struct group *g = p->g;
    const struct assay_args *args = &assay_operands_sets(p->v->operands)[0];
    for (int32_t i = 0; i < g->problem.n_inputs; i++) {
        bool weight = g->op->is_weight && g->op->is_weight(&g->problem, i);
        if (!is_counted(p, i))
            continue;
        add(p, ASSAY_MEMORY_TOOK, ASSAY_STAGE_BEFORE, weight ? ASSAY_HELD_WEIGHT : ASSAY_HELD_INPUT,
            i, (uint64_t)(uintptr_t)args->in[i], (double)assay_tensor_bytes(&g->problem.inputs[i]));
    }
    for (int32_t i = 0; i < g->problem.n_outputs; i++)
        add(p, ASSAY_MEMORY_TOOK, ASSAY_STAGE_BEFORE, ASSAY_HELD_OUTPUT, i,
            (uint64_t)(uintptr_t)args->out[i], (double)assay_tensor_bytes(&g->problem.outputs[i]));
}

/* ---- assay's own: every allocation ---- */

/* What its libraries take of malloc is a sum. What they took when it was set up first, and keep for
 * the next time, is known from there. */
static void add_libraries(struct memory_pass *p, enum assay_stage stage)
{
    double all = fmax(p->libraries.elsewhere, p->v->memory.elsewhere);
    add_sum(p, stage, ASSAY_HELD_ELSEWHERE, all - p->told);
    p->told = fmax(all, p->told);
}

/* One of its functions. */
static enum assay_status run_stage(struct memory_pass *p, enum assay_stage stage,
                                   enum assay_status (*function)(struct memory_pass *p))
{
    static const enum assay_memory_call calls[ASSAY_STAGES] = {
        [ASSAY_STAGE_SETUP] = ASSAY_MEMORY_SETUP,
        [ASSAY_STAGE_PREPARE] = ASSAY_MEMORY_PREPARE,
        [ASSAY_STAGE_CALL] = ASSAY_MEMORY_RUN};
    struct variant *v = p->v;
    group_step(p->g, v - p->g->variants);
    struct assay_memory_mark mark = assay_memory_begin(v->device);
    p->g->bench->host.memory = &p->log;
    assay_memory_log_begin(&p->log, stage);
    enum assay_status status = function(p);
    assay_memory_log_end(&p->log);
    p->g->bench->host.memory = NULL;
    assay_memory_end(v->device, &mark, calls[stage], &p->libraries);
    group_step(p->g, -1);
    if (stage != ASSAY_STAGE_TEARDOWN)
        add_libraries(p, stage);
    return status;
}

static enum assay_status set_up(struct memory_pass *p)
{
    struct variant *v = p->v;
    enum assay_status status =
        v->kernel->setup ? v->kernel->setup(&v->problem, &v->state, NULL) : ASSAY_OK;
    v->set_up = status == ASSAY_OK;
    return status;
}

static enum assay_status prepare(struct memory_pass *p)
{
    const struct variant *v = p->v;
    assay_memory_log_owner(&p->log, ASSAY_HELD_PREPARED, -1);
    return v->kernel->prepare
               ? v->kernel->prepare(v->state, 0, assay_operands_sets(v->operands), NULL)
               : ASSAY_OK;
}

static enum assay_status call(struct memory_pass *p)
{
    const struct variant *v = p->v;
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = assay_operands_sets(v->operands)};
    struct assay_timing timing = {0};
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < CALLS && status == ASSAY_OK; i++) {
        status = v->device->driver->time(v->device, v->kernel, v->state, &work, &timing);
        p->profile.calls += status == ASSAY_OK;
    }
    return status;
}

static enum assay_status take_down(struct memory_pass *p)
{
    struct variant *v = p->v;
    assay_group_forget(p->g, v);
    if (v->set_up && v->kernel->teardown)
        v->kernel->teardown(v->state);
    v->set_up = false;
    v->state = NULL;
    return ASSAY_OK;
}

/* It is taken down first, without a word of that, so that all of it is seen. */
static enum assay_status note_own(struct memory_pass *p)
{
    struct variant *v = p->v;
    group_step(p->g, v - p->g->variants);
    add_operands(p);
    take_down(p);
    enum assay_status status = run_stage(p, ASSAY_STAGE_SETUP, set_up);
    if (status == ASSAY_OK)
        status = describe_model(p);
    if (status == ASSAY_OK)
        status = run_stage(p, ASSAY_STAGE_PREPARE, prepare);
    if (status == ASSAY_OK)
        status = run_stage(p, ASSAY_STAGE_CALL, call);
    if (v->set_up)
        run_stage(p, ASSAY_STAGE_TEARDOWN, take_down);
    return status;
}

/* ---- strangers: sums ---- */

static void note_stranger(struct memory_pass *p)
{
    const struct assay_memory *m = &p->v->memory;
    double held = m->counted + m->elsewhere, weights = fmin(m->weights, held);
    double running = fmax(m->running, held), told = fmax(p->v->prepared_bytes - m->weights, 0);
    add_operands(p);
    add_sum(p, ASSAY_STAGE_SETUP, ASSAY_HELD_STATE, held - weights);
    uint64_t setting_up = add_sum(p, ASSAY_STAGE_SETUP, ASSAY_HELD_STATE, m->peak - running);
    give_sum(p, ASSAY_STAGE_SETUP, setting_up);
    add_sum(p, ASSAY_STAGE_PREPARE, ASSAY_HELD_PREPARED, weights + told);
    uint64_t calling = add_sum(p, ASSAY_STAGE_CALL, ASSAY_HELD_STATE, running - held);
    give_sum(p, ASSAY_STAGE_CALL, calling);
}

/* ---- what came of it ---- */

static void note_missing(struct memory_pass *p, enum assay_status status)
{
    struct assay_memory_profile *out = &p->profile;
    if (status != ASSAY_OK)
        snprintf(out->missing, sizeof out->missing, "it failed (%s) while its memory was profiled",
                 assay_status_name(status));
    else if (p->log.lost > 0)
        snprintf(out->missing, sizeof out->missing, "%lld events did not fit",
                 (long long)p->log.lost);
    else if (p->v->runner)
        snprintf(out->missing, sizeof out->missing,
                 "single allocations: it runs in a process of its own, of which there are sums");
}

static void profile_variant(struct group *g, struct variant *v)
{
    struct memory_pass p = {.g = g, .v = v};
    describe(&p);
    enum assay_status status = assay_memory_log_init(&p.log, MOST_EVENTS);
    if (status == ASSAY_OK && v->runner)
        note_stranger(&p);
    else if (status == ASSAY_OK)
        status = note_own(&p);
    note_missing(&p, status);
    p.profile.events = p.log.events;
    p.profile.n_events = p.log.n;
    g->hooks->memory(g->hooks->user, &p.profile);
    p.profile.events = NULL; /* the log's */
    assay_memory_profile_fini(&p.profile);
    assay_memory_log_fini(&p.log);
}

void assay_group_profile_memory(struct group *g, enum group_whose whose)
{
    if (!g->job->profile_memory || !g->hooks->memory)
        return;
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        const struct assay_measurement *states = v->record.states;
        bool measured = states[ASSAY_CACHE_HOT].measured || states[ASSAY_CACHE_COLD].measured;
        bool there = v->runner ? v->memory.ran : v->set_up;
        if (v->ready && measured && there && (v->runner != NULL) == (whose == GROUP_STRANGERS))
            profile_variant(g, v);
    }
}
