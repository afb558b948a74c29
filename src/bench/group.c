#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/energy.h"
#include "bench/pareto.h"
#include "model/model.h"

#include <sys/random.h>

/* A model's, a workload's, or one of the list. */
static const struct assay_op *find_op(const struct assay_bench *bench, const char *name)
{
    if (!assay_workload_is(name))
        return assay_model_op(name);
    return bench->workloads ? assay_workload_op(bench->workloads, name) : NULL;
}

void assay_group_record(const struct assay_job *job, const struct assay_op *op, int64_t variant,
                        const char *kernel, const char *implementation, const char *recipe,
                        struct assay_record *out)
{
    *out = (struct assay_record){
        .group = job->group_index,
        .variant = variant,
        .dtype = job->group.dtype,
        .n_axes = job->group.n_axes,
        .threads = job->settings.threads,
        .seed = job->settings.seed,
        .accuracy_db = (double)NAN,
        .more_accuracy_db = {(double)NAN, (double)NAN},
        .saved_bytes = (double)NAN,
        .planned_bytes = (double)NAN,
        .energy_j = (double)NAN,
        .activation_share = (double)NAN,
        .macs = job->group.macs > 0 ? job->group.macs : (double)NAN,
        .counted_flops = job->group.counted_flops > 0 ? job->group.counted_flops : (double)NAN,
        .idle_bytes = (double)NAN,
        .peak_bytes = (double)NAN,
        .workspace_bytes = (double)NAN,
        .system_peak_bytes = (double)NAN,
    };
    snprintf(out->mode, sizeof out->mode, "%s", job->group.mode);
    snprintf(out->label, sizeof out->label, "%s", job->group.label);
    snprintf(out->entry, sizeof out->entry, "%s", job->group.entry);
    snprintf(out->compile, sizeof out->compile, "%s", job->group.compile);
    snprintf(out->profilers, sizeof out->profilers, "%s", job->group.profilers);
    snprintf(out->recipe, sizeof out->recipe, "%s", recipe);
    if (op && (op->in_training || assay_op_pass(op) != ASSAY_PASS_FORWARD))
        snprintf(out->pass, sizeof out->pass, "%s", assay_pass_name(assay_op_pass(op)));
    snprintf(out->op, sizeof out->op, "%s", job->group.op);
    snprintf(out->title, sizeof out->title, "%s", op ? op->title : assay_op_shown(job->group.op));
    snprintf(out->kernel, sizeof out->kernel, "%s", kernel);
    snprintf(out->implementation, sizeof out->implementation, "%s", implementation);
    snprintf(out->device, sizeof out->device, "%s", job->settings.device);
    snprintf(out->baseline, sizeof out->baseline, "%s", job->group.baseline);
    out->is_baseline = out->baseline[0] && assay_text_same(out->baseline, implementation);
    for (int32_t i = 0; i < out->n_axes; i++) {
        out->axes[i] = job->group.axes[i];
        snprintf(out->axis_names[i], sizeof out->axis_names[i], "%s",
                 op && op->axis_names[i] ? op->axis_names[i] : "axis");
    }
}

/* One record for a group that has none of its own: too large, or nobody to measure. */
static void record_whole_group(struct group *g, enum assay_outcome outcome, const char *reason)
{
    struct variant v = {0};
    assay_group_record(g->job, g->op, 0, "", "", g->op->takes_recipes ? "baseline" : "", &v.record);
    group_give_up(&v, outcome, reason);
    g->hooks->record(g->hooks->user, &v.record);
}

/* A model that does not fit costs the rows of all its recipes: each says so. */
static void skip_group(struct group *g, const char *reason)
{
    if (!group_is_model(g) || g->n_variants < 2) {
        record_whole_group(g, ASSAY_OUTCOME_SKIPPED, reason);
        return;
    }
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        if (v->ready)
            group_give_up(v, ASSAY_OUTCOME_SKIPPED, reason);
        g->hooks->record(g->hooks->user, &v->record);
    }
}

/* What was measured of a group that was not measured to its end is still worth telling; a variant
 * without a single figure is not. */
static void emit_records(struct group *g)
{
    struct assay_record *records[ASSAY_MAX_VARIANTS];
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        struct assay_record *r = records[i] = &v->record;
        struct assay_cost cost = g->op->cost(&v->problem);
        if (v->ready && g->mistrust.code != ASSAY_OK)
            group_give_up(v, ASSAY_OUTCOME_MISTRUSTED, g->mistrust.message);
        r->weight_bytes = cost.weight_bytes;
        if (cost.saved_bytes > 0) /* an executor of a model has told its own */
            r->saved_bytes = cost.saved_bytes;
        r->bytes_read = cost.bytes_read;
        r->bytes_written = cost.bytes_written;
        r->flops = cost.flops;
        r->memory_bytes = (double)assay_op_bytes(&g->problem);
        assay_group_note_memory(g, v);
        r->floor_ns = g->bench->ceilings.floor_ns;
        r->interrupted = g->interrupted;
        if (group_is_users(g, v) && !r->confined[0] && !g->bench->strangers)
            snprintf(r->confined, sizeof r->confined, ASSAY_NOT_ISOLATED);
    }
    assay_pareto_mark(records, g->n_variants);
    for (int64_t i = 0; i < g->n_variants; i++) {
        const struct assay_record *r = records[i];
        bool measured = r->states[ASSAY_CACHE_HOT].measured || r->states[ASSAY_CACHE_COLD].measured;
        if (g->interrupted && r->outcome == ASSAY_OUTCOME_OK && !measured)
            continue;
        g->hooks->record(g->hooks->user, r);
    }
}

static void tear_down(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        group_step(g, v->set_up ? i : -1);
        assay_group_forget(g, v);
        if (v->set_up && v->kernel->teardown)
            v->kernel->teardown(v->state);
        assay_free(v->sets);
        if (v->operands != g->operands)
            assay_operands_destroy(v->operands);
        if (v->device != g->bench->host.device)
            assay_remote_device_destroy(v->device);
    }
    group_step(g, -1);
    for (int64_t r = 0; r < g->n_recipes; r++)
        for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++) {
            assay_reference_destroy(g->recipes[r].outputs[i]);
            assay_reference_destroy(g->recipes[r].others[i]);
        }
    for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++)
        assay_free(g->snapshots[i]);
    assay_operands_destroy(g->operands);
    assay_free(g->variants);
}

/* Which variant runs, for the supervisor. */
struct energy_beat {
    struct group *group;
    int64_t variant;
};

static bool energy_beat(void *user)
{
    const struct energy_beat *beat = user;
    group_step(beat->group, beat->variant);
    return group_stopped(beat->group);
}

static void measure_energy(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        const struct assay_measurement *hot = &v->record.states[ASSAY_CACHE_HOT];
        struct energy_beat beat = {g, i};
        if (v->ready && hot->measured)
            v->record.energy_j = assay_energy_of_call(v->device, v->kernel, v->state,
                                                      assay_operands_sets(v->operands),
                                                      hot->time.median, energy_beat, &beat);
    }
}

static void note_timed(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        assay_group_note_timed(g, &g->variants[i]);
}

static enum assay_status measure_group(struct group *g, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    enum assay_status status = assay_group_verify(g, err);
    for (int64_t i = 0; i < g->n_variants; i++)
        assay_group_note_first_call(&g->variants[i]);
    note_timed(g);
    if (s->hot && status == ASSAY_OK && !group_stopped(g))
        status = assay_group_measure_state(g, ASSAY_CACHE_HOT, err);
    note_timed(g);
    if (s->energy && s->hot && status == ASSAY_OK)
        measure_energy(g);
    if (s->cold && status == ASSAY_OK && !group_stopped(g))
        status = assay_group_measure_state(g, ASSAY_CACHE_COLD, err);
    note_timed(g);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++)
        if (g->variants[i].ready && group_is_users(g, &g->variants[i]))
            assay_group_check_user_again(g, &g->variants[i]);
    if (s->counters && status == ASSAY_OK)
        assay_group_count(g);
    if (status == ASSAY_OK)
        assay_group_profile(g, GROUP_STRANGERS);
    if (status == ASSAY_OK)
        assay_group_profile_memory(g, GROUP_STRANGERS);
    for (int64_t i = 0; i < g->n_variants; i++)
        assay_group_tear_down_there(g, &g->variants[i]);
    assay_group_dismiss(g);
    if (status == ASSAY_OK && group_stopped(g))
        status = assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    g->interrupted = status == ASSAY_ERR_INTERRUPTED;
    if (status == ASSAY_OK || g->interrupted)
        emit_records(g);
    if (status == ASSAY_OK && g->hooks->measured)
        g->hooks->measured(g->hooks->user);
    if (status == ASSAY_OK)
        assay_group_profile(g, GROUP_OWN);
    if (status == ASSAY_OK)
        assay_group_profile_memory(g, GROUP_OWN);
    return status;
}

/* A seed that kernels cannot predict: they know the job's, or can find it out. */
static uint64_t make_secret(void)
{
    uint64_t secret = 0;
    if (getrandom(&secret, sizeof secret, GRND_NONBLOCK) != sizeof secret)
        secret = (uint64_t)assay_clock_ns();
    return secret;
}

/* What became of a workload whose author's functions failed, or took their process with them. */
static enum assay_outcome outcome_of_author(const struct group *g, enum assay_status status)
{
    const assay_strangers *strangers = g->bench->strangers;
    enum assay_runner_end end =
        strangers ? assay_strangers_last_end(strangers) : ASSAY_RUNNER_ALIVE;
    if (status == ASSAY_UNSUPPORTED)
        return ASSAY_OUTCOME_UNSUPPORTED;
    return status == ASSAY_ERR_FAILED && end != ASSAY_RUNNER_ALIVE ? assay_group_outcome_of(end)
                                                                   : ASSAY_OUTCOME_FAILED;
}

/* Why there is no kernel: there may be one, but for another device. */
static void tell_nobody(const struct group *g, char *out, size_t size)
{
    const assay_kernel_registry *registry = g->bench->host.registry;
    const struct assay_strings *wanted = &g->job->settings.implementations;
    snprintf(out, size, "none of the requested kernels implements this op");
    for (int64_t i = 0; i < assay_kernel_count(registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(registry, i);
        if (strcmp(kernel->op, g->op->name) == 0 &&
            assay_strings_have(wanted, kernel->implementation)) {
            snprintf(out, size, "%s's kernels of this op are for %s: --device %s",
                     kernel->implementation, kernel->device, kernel->device);
            return;
        }
    }
}

enum assay_status assay_group_run(struct assay_bench *bench, const struct assay_job *job,
                                  const struct assay_group_hooks *hooks, struct assay_error *err)
{
    struct group g = {.bench = bench, .job = job, .hooks = hooks, .secret = {make_secret()}};
    char reason[128];
    g.op = find_op(bench, job->group.op);
    if (!g.op)
        return assay_error_set(err, ASSAY_ERR_INVALID, assay_op_shown(job->group.op), "no such op");
    group_step(&g, -1);
    enum assay_status status =
        assay_op_problem(g.op, job->group.dtype, job->group.mode, job->group.axes,
                         job->settings.threads, &g.problem, err);
    g.problem.host = &bench->host;
    if (status != ASSAY_OK && assay_workload_is(job->group.op)) { /* costs this workload alone */
        record_whole_group(&g, outcome_of_author(&g, status), err->message);
        *err = (struct assay_error){0};
        return ASSAY_OK;
    }
    if (status == ASSAY_OK)
        status = assay_group_choose(&g, err);
    if (status != ASSAY_OK)
        goto cleanup;
    int64_t n_sets = assay_group_sets_liked(&g);
    if (g.n_variants == 0 && job->exclude.n == 0) {
        tell_nobody(&g, reason, sizeof reason);
        record_whole_group(&g, ASSAY_OUTCOME_UNSUPPORTED, reason);
    } else if (!assay_group_fits(&g, n_sets, reason, sizeof reason)) {
        skip_group(&g, reason);
    } else {
        struct assay_error why = {0};
        status = assay_group_build(&g, n_sets, &why);
        if (status == ASSAY_OK)
            status = measure_group(&g, err);
        else if (status == ASSAY_ERR_NOMEM) { /* costs this group, not the run */
            record_whole_group(&g, ASSAY_OUTCOME_OUT_OF_MEMORY, why.message);
            status = ASSAY_OK;
        } else if (assay_workload_is(job->group.op)) {
            record_whole_group(&g, outcome_of_author(&g, status), why.message);
            status = ASSAY_OK;
        } else {
            assay_error_set(err, status, why.where[0] ? why.where : NULL, "%s", why.message);
        }
    }
cleanup:
    assay_group_dismiss(&g);
    tear_down(&g);
    return status;
}
