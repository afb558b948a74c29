#include "bench/group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/engine.h"
#include "bench/operands.h"
#include "bench/verdict.h"
#include "bench/verify.h"

#include <stdio.h>

/* One contender on its way through the group. */
struct variant {
    const struct assay_kernel *kernel;
    void *state;
    bool set_up; /* and so to be taken down */
    bool ready;  /* set up and, so far, right */
    struct assay_record record;
};

struct group {
    struct assay_bench *bench;
    const struct assay_job *job;
    const struct assay_group_hooks *hooks;
    const struct assay_op *op;
    struct assay_problem problem;
    struct variant *variants;
    int64_t n_variants;
    assay_operands *operands;
    assay_reference *reference;
    struct assay_error mistrust; /* why the check cannot be trusted; code 0 where it can */
    bool interrupted;
};

void assay_group_record(const struct assay_job *job, int64_t variant, const char *kernel,
                        const char *implementation, struct assay_record *out)
{
    const struct assay_op *op = assay_op_find(job->group.op);
    *out = (struct assay_record){
        .group = job->group_index,
        .variant = variant,
        .dtype = job->group.dtype,
        .n_axes = job->group.n_axes,
        .threads = job->settings.threads,
        .seed = job->settings.seed,
    };
    snprintf(out->op, sizeof out->op, "%s", job->group.op);
    snprintf(out->title, sizeof out->title, "%s", op ? op->title : job->group.op);
    snprintf(out->kernel, sizeof out->kernel, "%s", kernel);
    snprintf(out->implementation, sizeof out->implementation, "%s", implementation);
    snprintf(out->device, sizeof out->device, "%s", job->settings.device);
    for (int32_t i = 0; i < out->n_axes; i++) {
        out->axes[i] = job->group.axes[i];
        snprintf(out->axis_names[i], sizeof out->axis_names[i], "%s",
                 op && op->axis_names[i] ? op->axis_names[i] : "axis");
    }
}

static void step(const struct group *g, int64_t variant)
{
    if (g->hooks->step)
        g->hooks->step(g->hooks->user, variant);
}

static bool stopped(const struct group *g)
{
    return g->hooks->stop && g->hooks->stop(g->hooks->user);
}

static void give_up(struct variant *v, enum assay_outcome outcome, const char *reason)
{
    v->ready = false;
    v->record.outcome = outcome;
    snprintf(v->record.reason, sizeof v->record.reason, "%.255s", reason);
}

/* One record for a group that has none of its own: too large, or nobody to measure. */
static void record_whole_group(struct group *g, enum assay_outcome outcome, const char *reason)
{
    struct variant v = {0};
    assay_group_record(g->job, 0, "", "", &v.record);
    give_up(&v, outcome, reason);
    g->hooks->record(g->hooks->user, &v.record);
}

static enum assay_status choose_variants(struct group *g, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    struct assay_kernel_choice choice = {
        .device = s->device,
        .implementations = (const char *const *)s->implementations.items,
        .n_implementations = s->implementations.n,
        .kernels = (const char *const *)s->kernels.items,
        .n_kernels = s->kernels.n,
    };
    struct assay_contender *found = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *found);
    g->variants = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *g->variants);
    if (!found || !g->variants) {
        assay_free(found);
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    }
    int64_t n =
        assay_kernel_choose(g->bench->registry, &g->problem, &choice, found, ASSAY_MAX_VARIANTS);
    for (int64_t i = 0; i < n; i++) {
        if (assay_strings_have(&g->job->exclude, found[i].kernel->name))
            continue;
        struct variant *v = &g->variants[g->n_variants];
        found[g->n_variants] = found[i];
        v->kernel = found[i].kernel;
        v->ready = found[i].status == ASSAY_OK;
        assay_group_record(g->job, g->n_variants, v->kernel->name, v->kernel->implementation,
                           &v->record);
        if (!v->ready)
            give_up(v, ASSAY_OUTCOME_UNSUPPORTED, found[i].why.message);
        g->n_variants++;
    }
    if (g->hooks->contenders)
        g->hooks->contenders(g->hooks->user, found, g->n_variants);
    assay_free(found);
    return ASSAY_OK;
}

/* Would the operands fit, with a tenth of the memory left for everything else? */
static bool fits(const struct group *g, int64_t n_sets, char *reason, size_t size)
{
    struct assay_device_info info;
    g->bench->device->driver->describe(g->bench->device, &info);
    size_t room = info.memory_available / 10 * 9;
    if (g->job->settings.memory_limit > 0 && (size_t)g->job->settings.memory_limit < room)
        room = (size_t)g->job->settings.memory_limit;
    size_t need = assay_operands_bytes(&g->problem, n_sets);
    char need_text[32], room_text[32];
    assay_text_bytes((double)need, need_text, sizeof need_text);
    assay_text_bytes((double)room, room_text, sizeof room_text);
    snprintf(reason, size, "needs %s of memory, %s can be had", need_text, room_text);
    return need <= room;
}

static int64_t sets_needed(const struct group *g)
{
    struct assay_device_info info;
    g->bench->device->driver->describe(g->bench->device, &info);
    return g->job->settings.cold ? assay_operands_cold_sets(&g->problem, info.llc_bytes) : 1;
}

static enum assay_status build(struct group *g, int64_t n_sets, struct assay_error *err)
{
    uint64_t seed = g->job->settings.seed;
    enum assay_status status = assay_operands_create(g->bench->device, g->op, &g->problem, seed,
                                                     n_sets, &g->operands, err);
    step(g, -1);
    if (status == ASSAY_OK)
        status = assay_reference_create(g->op, &g->problem, assay_operands_sets(g->operands)[0].in,
                                        seed, ASSAY_VERIFY_MOST, &g->reference, err);
    step(g, -1);
    if (status == ASSAY_OK)
        assay_reference_controls(g->reference, &g->mistrust);
    return status;
}

static void note_comparison(struct variant *v, const assay_reference *reference,
                            const struct assay_comparison *c)
{
    struct assay_verification *out = &v->record.verification;
    out->done = true;
    out->times++;
    out->compared = c->compared;
    out->of = assay_reference_of(reference);
    out->mismatches = c->mismatches;
    out->max_abs = fmax(out->max_abs, c->max_abs);
    out->max_rel = fmax(out->max_rel, c->max_rel);
    out->rms = assay_comparison_rms(c);
    out->sqnr_db = assay_comparison_sqnr_db(c);
    out->tolerance_relative = c->tolerance.relative;
    out->tolerance_absolute = c->tolerance.absolute;
}

/* Judges what a variant left in `set`; `when` is "" or " after timing". */
static void judge(struct group *g, struct variant *v, int64_t set, const char *when)
{
    struct assay_error why = {0};
    struct assay_comparison c;
    char reason[256];
    if (assay_operands_check(g->operands, set, &why) != ASSAY_OK) {
        snprintf(reason, sizeof reason, "%.200s%s", why.message, when);
        give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        assay_operands_repair(g->operands, set);
        return;
    }
    assay_reference_compare(g->reference, assay_operands_sets(g->operands)[set].out[0], &c);
    note_comparison(v, g->reference, &c);
    if (c.mismatches == 0)
        return;
    snprintf(reason, sizeof reason, "%lld of %lld wrong%s, first at %lld: got %.6g, expected %.6g",
             (long long)c.mismatches, (long long)c.compared, when, (long long)c.first_mismatch,
             c.first_got, c.first_ref);
    give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

static void failed_run(struct variant *v, enum assay_status status, const char *what)
{
    char reason[128];
    snprintf(reason, sizeof reason, "%s said: %s", what, assay_status_name(status));
    give_up(v, status == ASSAY_ERR_NOMEM ? ASSAY_OUTCOME_OUT_OF_MEMORY : ASSAY_OUTCOME_FAILED,
            reason);
}

static void set_up(struct group *g, struct variant *v)
{
    struct assay_error err = {0};
    int64_t start = assay_clock_ns();
    step(g, v - g->variants);
    enum assay_status status =
        v->kernel->setup ? v->kernel->setup(&g->problem, &v->state, &err) : ASSAY_OK;
    v->record.setup_ns = (double)(assay_clock_ns() - start);
    v->set_up = status == ASSAY_OK;
    if (v->set_up)
        return;
    failed_run(v, status, "setup");
    if (err.message[0])
        snprintf(v->record.reason, sizeof v->record.reason, "%.255s", err.message);
    if (status == ASSAY_UNSUPPORTED)
        v->record.outcome = ASSAY_OUTCOME_UNSUPPORTED;
}

/* Runs `iters` calls that end in `set`, with that set's output poisoned before, and judges it. */
static void run_and_judge(struct group *g, struct variant *v, int64_t iters, int64_t n_sets,
                          int64_t set, const char *when)
{
    int64_t first = ((set - iters + 1) % n_sets + n_sets) % n_sets;
    struct assay_work work = {
        .iters = iters, .first = first, .n_sets = n_sets, .sets = assay_operands_sets(g->operands)};
    struct assay_timing timing;
    assay_operands_poison(g->operands, set);
    step(g, v - g->variants);
    enum assay_status status =
        g->bench->device->driver->time(g->bench->device, v->kernel, v->state, &work, &timing);
    step(g, -1);
    if (status != ASSAY_OK)
        failed_run(v, status, "run");
    else
        judge(g, v, set, when);
}

static void set_up_and_verify(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants && !stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        set_up(g, v);
        if (v->ready)
            run_and_judge(g, v, 1, 1, 0, "");
    }
}

/* The variant the ratios refer to: the implementation asked for, else the strongest contender that
 * is not ours, else the reference, else the first. -1 where none is ready. */
static int64_t choose_baseline(const struct group *g)
{
    const char *preferred[] = {g->job->settings.baseline, "onednn", "ref"};
    for (size_t p = 0; p < sizeof preferred / sizeof preferred[0]; p++)
        for (int64_t i = 0; i < g->n_variants && preferred[p][0]; i++)
            if (g->variants[i].ready &&
                assay_text_same(g->variants[i].kernel->implementation, preferred[p]))
                return i;
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready)
            return i;
    return -1;
}

/* The engine speaks of lanes; the supervisor wants to hear of variants. */
struct lane_map {
    struct group *group;
    int64_t variant[ASSAY_MAX_VARIANTS];
};

static void lane_step(void *user, int64_t lane)
{
    struct lane_map *map = user;
    step(map->group, map->variant[lane]);
}

static bool lane_stop(void *user) { return stopped(((struct lane_map *)user)->group); }

static void verify_again(struct group *g, const struct lane_map *map,
                         const struct assay_lane *lanes, int64_t n_lanes, int64_t n_sets,
                         int64_t last_set)
{
    struct assay_error why = {0};
    char reason[256];
    enum assay_status damage = assay_operands_check_all(g->operands, &why);
    for (int64_t i = 0; i < n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        if (lanes[i].status != ASSAY_OK) {
            failed_run(v, lanes[i].status, "run");
        } else if (damage != ASSAY_OK) {
            snprintf(
                reason, sizeof reason,
                "while timing, one of this group %.120s; measure them one at a time to see which",
                why.message);
            give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        } else if (lanes[i].iters > 0) { /* 0: the run was stopped before its turn came */
            run_and_judge(g, v, lanes[i].iters, n_sets, last_set, " after timing");
        }
    }
}

static void take_down_results(struct group *g, const struct lane_map *map, assay_engine *engine,
                              const struct assay_lane *lanes, int64_t n_lanes, int64_t baseline,
                              enum assay_cache_state state)
{
    struct assay_cost cost = g->op->cost(&g->problem);
    struct assay_verdict_input input = {
        .lanes = lanes,
        .n_lanes = n_lanes,
        .rounds = assay_engine_rounds(engine),
        .clocks = assay_engine_clocks(engine),
        .baseline = baseline,
        .bytes_read = cost.bytes_read,
        .bytes_written = cost.bytes_written,
        .flops = cost.flops,
        .working_set = (double)assay_op_bytes(&g->problem),
        .cold = state == ASSAY_CACHE_COLD,
        .bench = g->bench,
    };
    for (int64_t i = 0; i < n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        struct assay_record *r = &v->record;
        assay_verdict_measurement(&input, i, &r->states[state]);
        char reason[256];
        if (v->ready && !assay_verdict_possible(&input, &r->states[state], reason, sizeof reason))
            give_up(v, ASSAY_OUTCOME_IMPOSSIBLE, reason);
    }
}

static enum assay_status measure_state(struct group *g, enum assay_cache_state state,
                                       struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    struct assay_lane lanes[ASSAY_MAX_VARIANTS] = {0};
    struct lane_map map = {.group = g};
    int64_t n_lanes = 0, baseline_variant = choose_baseline(g), baseline_lane = -1;
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        if (i == baseline_variant)
            baseline_lane = n_lanes;
        map.variant[n_lanes] = i;
        lanes[n_lanes++] = (struct assay_lane){.kernel = v->kernel, .state = v->state};
    }
    if (n_lanes == 0)
        return ASSAY_OK;
    struct assay_engine_options options = {
        .precision = s->precision,
        .budget_ns = s->budget_s * 1e9,
        .warmup = s->warmup,
        .rounds = s->rounds,
        .seed = s->seed ^ (uint64_t)state,
        .timer_ns = g->bench->ceilings.timer_ns,
        .floor_ns = g->bench->ceilings.floor_ns,
        .baseline = baseline_lane,
    };
    struct assay_engine_hooks hooks = {.user = &map, .step = lane_step, .stop = lane_stop};
    int64_t n_sets = state == ASSAY_CACHE_COLD ? assay_operands_n_sets(g->operands) : 1;
    assay_engine *engine = NULL;
    enum assay_status status =
        assay_engine_create(g->bench->device, &options, &hooks, lanes, n_lanes,
                            assay_operands_sets(g->operands), n_sets, &engine, err);
    if (status == ASSAY_OK)
        status = assay_engine_run(engine, err);
    if (status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED) {
        step(g, -1);
        verify_again(g, &map, lanes, n_lanes, n_sets, assay_engine_next_set(engine));
        take_down_results(g, &map, engine, lanes, n_lanes, baseline_lane, state);
    }
    if (baseline_variant >= 0)
        for (int64_t i = 0; i < g->n_variants; i++) {
            struct assay_record *r = &g->variants[i].record;
            r->is_baseline = i == baseline_variant;
            snprintf(r->baseline, sizeof r->baseline, "%s",
                     g->variants[baseline_variant].kernel->implementation);
        }
    assay_engine_destroy(engine);
    return status;
}

/* What was measured of a group that was not measured to its end is still worth telling; a variant
 * without a single figure is not. */
static void emit_records(struct group *g)
{
    struct assay_cost cost = g->op->cost(&g->problem);
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        struct assay_record *r = &v->record;
        r->bytes_read = cost.bytes_read;
        r->bytes_written = cost.bytes_written;
        r->flops = cost.flops;
        r->memory_bytes = (double)assay_op_bytes(&g->problem);
        r->floor_ns = g->bench->ceilings.floor_ns;
        r->interrupted = g->interrupted;
        if (v->ready && g->mistrust.code != ASSAY_OK)
            give_up(v, ASSAY_OUTCOME_MISTRUSTED, g->mistrust.message);
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
        step(g, i);
        if (v->set_up && v->kernel->teardown)
            v->kernel->teardown(v->state);
    }
    step(g, -1);
    assay_reference_destroy(g->reference);
    assay_operands_destroy(g->operands);
    assay_free(g->variants);
}

static enum assay_status measure(struct group *g, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    enum assay_status status = ASSAY_OK;
    set_up_and_verify(g);
    if (s->hot && !stopped(g))
        status = measure_state(g, ASSAY_CACHE_HOT, err);
    if (s->cold && status == ASSAY_OK && !stopped(g))
        status = measure_state(g, ASSAY_CACHE_COLD, err);
    if (status == ASSAY_OK && stopped(g))
        status = assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    g->interrupted = status == ASSAY_ERR_INTERRUPTED;
    if (status == ASSAY_OK || g->interrupted)
        emit_records(g);
    return status;
}

enum assay_status assay_group_run(struct assay_bench *bench, const struct assay_job *job,
                                  const struct assay_group_hooks *hooks, struct assay_error *err)
{
    struct group g = {.bench = bench, .job = job, .hooks = hooks};
    char reason[128];
    g.op = assay_op_find(job->group.op);
    if (!g.op)
        return assay_error_set(err, ASSAY_ERR_INVALID, job->group.op, "no such op");
    step(&g, -1);
    enum assay_status status = assay_op_problem(g.op, job->group.dtype, job->group.axes,
                                                job->settings.threads, &g.problem, err);
    if (status == ASSAY_OK)
        status = choose_variants(&g, err);
    if (status != ASSAY_OK)
        goto cleanup;
    int64_t n_sets = sets_needed(&g);
    if (g.n_variants == 0 && job->exclude.n == 0) {
        record_whole_group(&g, ASSAY_OUTCOME_UNSUPPORTED,
                           "no kernel was asked for that has this op");
    } else if (!fits(&g, n_sets, reason, sizeof reason)) {
        record_whole_group(&g, ASSAY_OUTCOME_SKIPPED, reason);
    } else {
        status = build(&g, n_sets, err);
        if (status == ASSAY_OK)
            status = measure(&g, err);
    }
cleanup:
    tear_down(&g);
    return status;
}
