/* group_measure.c: all variants of a group timed together in one cache state, and verified again.
 */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "bench/verdict.h"
#include "kernel/implementation.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How many prepared copies a cold measurement needs so that they, with x and y, outgrow the cache.
 * A multiple of the operands' sets, so that x and y stay in step with the other lanes' rotation; a
 * tenth of a set too few is not worth another round of copies. */
static int64_t cold_copies(const struct group *g, const struct variant *v)
{
    struct assay_device_info info;
    int64_t own = assay_operands_n_sets(v->operands);
    g->bench->host.device->driver->describe(g->bench->host.device, &info);
    double wanted = 2.0 * (double)info.llc_bytes / fmax(assay_group_working_set(g, v), 4096) + 2;
    double turns = fmax(1, ceil(fmin(wanted, 1e6) / (double)own - 0.1));
    return (int64_t)turns * own;
}

static enum assay_status prepare_cold(struct group *g, struct variant *v, struct assay_error *err)
{
    int64_t own = assay_operands_n_sets(v->operands);
    v->n_sets = own;
    if (!v->kernel->prepare)
        return ASSAY_OK;
    v->n_sets = cold_copies(g, v);
    v->sets = assay_calloc((size_t)v->n_sets, sizeof *v->sets);
    if (!v->sets)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < v->n_sets && v->ready && !group_stopped(g); i++) {
        v->sets[i] = assay_operands_sets(v->operands)[i % own];
        if (i > 0)
            assay_group_prepare(g, v, i);
    }
    return ASSAY_OK;
}

/* The ready variant of an implementation that was asked for by name; -1: there is none. */
static int64_t find_named(const struct group *g, const char *name, bool any_recipe)
{
    for (int64_t i = 0; i < g->n_variants && name[0]; i++) {
        const struct variant *v = &g->variants[i];
        if (v->ready && (any_recipe || v->recipe == 0) &&
            assay_text_same(v->kernel->implementation, name))
            return i;
    }
    return -1;
}

/* The variant the ratios refer to: the implementation asked for, else the one of the highest
 * baseline rank with the weights as they are, else the first. -1 where none is ready, or not the
 * one that was asked for: another in its place would be mistaken for it. A model's variants take
 * the form of it that is theirs (model_baseline_lane). */
static int64_t choose_baseline(const struct group *g)
{
    const char *named = g->job->group.baseline, *asked = g->job->settings.baseline;
    if (named[0])
        return find_named(g, named, true);
    int64_t best = find_named(g, asked, false);
    if (best >= 0 || (asked[0] && !group_is_model(g)))
        return best;
    int32_t best_rank = 0;
    for (int64_t i = 0; i < g->n_variants; i++) {
        const struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        int32_t rank =
            v->recipe == 0
                ? assay_implementation_baseline_rank(v->kernel->implementation, g->n_recipes > 1)
                : 0;
        if (best < 0 || rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* Why the baseline that was asked for is not there; empty: nobody knows. */
static const char *why_absent(const struct group *g)
{
    for (int64_t i = 0; i < g->n_variants; i++) {
        const struct assay_record *r = &g->variants[i].record;
        if (g->variants[i].recipe == 0 && r->reason[0] &&
            assay_text_same(r->implementation, g->job->settings.baseline))
            return r->reason;
    }
    return "";
}

/* Said once for each group. */
static void tell_absent_baseline(const struct group *g, enum assay_cache_state state)
{
    char text[400], shape[64];
    const struct assay_settings *s = &g->job->settings;
    bool first = state == ASSAY_CACHE_HOT || !s->hot;
    if (!first || !s->baseline[0] || g->job->group.baseline[0] || group_is_model(g) ||
        !g->hooks->note)
        return;
    const char *why = why_absent(g);
    assay_tensor_shape_text(g->problem.axes, g->problem.n_axes, shape, sizeof shape);
    snprintf(text, sizeof text,
             "%s %s: the baseline %s was not measured%s%.150s; no speedups are shown", g->op->name,
             shape, s->baseline, why[0] ? ": " : "", why);
    g->hooks->note(g->hooks->user, text);
}

/* What a reading of the clock costs, which says how long samples must be. A GPU's events take 1 us
 * each; samples 2000 times as long would meet its power limit and a lower clock. So it counts as
 * 150 ns, which makes samples of 300 us, of which the events are 0.7 %. */
static double timer_ns(const struct group *g)
{
    double ns = g->bench->ceilings.timer_ns;
    return g->bench->host.device->driver->upload ? fmin(ns, 150) : ns;
}

/* How long the matrix probe takes on a unit at full speed: by the ceiling, because a unit that is
 * slow throughout would look fast. 3 % more for the clock, and because ceilings are the best that
 * was ever seen. */
static double unit_full_ns(const struct group *g)
{
    const struct assay_device *device = g->bench->host.device;
    double rate = g->bench->ceilings.flops[ASSAY_CEILING_BF16];
    return rate > 0 ? 1.03 * device->driver->probe_flops * device->threads / rate * 1e9 : 0;
}

static void lane_step(void *user, int64_t lane)
{
    struct lane_map *map = user;
    int64_t variant = map->variant[lane];
    bool there = variant >= 0 && map->group->variants[variant].runner;
    group_step(map->group, there ? -1 : variant);
}

static bool lane_stop(void *user) { return group_stopped(((struct lane_map *)user)->group); }

/* What was done to a stranger's operands is its own doing; to the group's, anybody's. */
static void verify_lane(struct group *g, struct lane_map *map, int64_t i, enum assay_status damage,
                        const char *what)
{
    struct assay_error why = {0};
    char reason[256];
    struct variant *v = &g->variants[map->variant[i]];
    const struct assay_lane *lane = &map->lanes[i];
    if (!v->ready || assay_group_blame_runner(g, v, " in a timed sample")) {
        return; /* given up in a sample that was looked at */
    } else if (lane->status != ASSAY_OK) {
        assay_group_failed_run(v, lane->status, "run");
    } else if (v->runner && assay_operands_check_all(v->operands, &why) != ASSAY_OK) {
        snprintf(reason, sizeof reason, "%.200s while it was timed", why.message);
        if (!assay_group_blame_runner(g, v, " while it was timed"))
            group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
    } else if (!v->runner && damage != ASSAY_OK) {
        snprintf(reason, sizeof reason,
                 "while timing, one of this group %.120s; measure them one at a time to see which",
                 what);
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
    } else if (lane->iters > 0) { /* 0: the run was stopped before its turn came */
        int64_t set = lane->next_set % assay_operands_n_sets(v->operands);
        if (assay_operands_values(v->operands, set) != ASSAY_VALUES_USUAL)
            assay_operands_put(v->operands, set, false);
        assay_group_run_and_judge(g, v, lane->iters, lane->sets, lane->n_sets, lane->next_set,
                                  g->recipes[v->recipe].outputs, " after timing");
        if (v->ready)
            assay_group_check_pages(v);
    }
}

static void verify_again(struct group *g, struct lane_map *map)
{
    struct assay_error why = {0};
    enum assay_status damage = assay_operands_check_all(g->operands, &why);
    for (int64_t i = 0; i < map->n_lanes; i++)
        verify_lane(g, map, i, damage, why.message);
}

/* Threads that a user's kernel started while it was timed. */
static void check_idle_again(struct group *g, const struct lane_map *map)
{
    struct variant *users[ASSAY_MAX_VARIANTS];
    int64_t n = 0;
    for (int64_t i = 0; i < map->n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        if (v->ready && v->runner)
            assay_group_check_idle(g, v);
        else if (v->ready && group_is_users(g, v))
            users[n++] = v;
    }
    if (n == 1)
        assay_group_check_idle(g, users[0]);
    else if (n > 1 && assay_traces_busy_threads() - g->busy_threads > ASSAY_BUSY_THREADS)
        for (int64_t i = 0; i < n; i++)
            group_give_up(users[i], ASSAY_OUTCOME_MISMATCH,
                          "while timing, one of this group left threads computing; measure them "
                          "one at a time to see which");
}

/* The lanes behind the variants' own that time only the quantising of activations. */
struct shadows {
    struct assay_kernel kernels[ASSAY_MAX_VARIANTS];
    int64_t of[ASSAY_MAX_VARIANTS]; /* the lane each belongs to */
    int64_t n;
};

/* One cache state of a group while it is timed. The lanes are those of the variants, then the
 * shadows, then the probes. */
struct timing {
    enum assay_cache_state state;
    struct lane_map map;
    struct assay_lane lanes[ASSAY_MAX_VARIANTS + ASSAY_MAX_PROBES];
    struct shadows shadows;
    struct assay_probes probes;
    struct assay_lane *probe_lanes;
    int64_t baseline, baseline_lane; /* the variant and its lane; -1: there is none */
    assay_engine *engine;
};

static bool quantises_activations(const struct variant *v)
{
    struct assay_recipe recipe;
    return v->problem.recipe && v->kernel->run_activations &&
           assay_recipe_parse(v->problem.recipe, &recipe, NULL) == ASSAY_OK &&
           recipe.activation != ASSAY_DTYPE_NONE;
}

static void add_shadows(struct timing *t)
{
    const struct group *g = t->map.group;
    struct shadows *shadows = &t->shadows;
    int64_t n_lanes = t->map.n_lanes;
    for (int64_t i = 0; i < n_lanes && n_lanes + shadows->n < ASSAY_MAX_VARIANTS; i++) {
        const struct variant *v = &g->variants[t->map.variant[i]];
        if (!quantises_activations(v))
            continue;
        struct assay_kernel *kernel = &shadows->kernels[shadows->n];
        *kernel = *v->kernel;
        kernel->run = v->kernel->run_activations;
        kernel->units = 0;
        t->map.variant[n_lanes + shadows->n] = t->map.variant[i];
        t->lanes[n_lanes + shadows->n] = t->lanes[i];
        t->lanes[n_lanes + shadows->n].kernel = kernel;
        shadows->of[shadows->n++] = i;
    }
}

/* The lane of an implementation with a recipe; -1: there is none. */
static int64_t lane_of(const struct group *g, const struct lane_map *map,
                       const char *implementation, int64_t recipe)
{
    for (int64_t i = 0; i < map->n_lanes; i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        if (v->recipe == recipe && strcmp(v->kernel->implementation, implementation) == 0)
            return i;
    }
    return -1;
}

/* Are both eager, compiled or not, or both torch? */
static bool same_family(const char *a, const char *b)
{
    const char *eager_a = assay_implementation_uncompiled(a);
    const char *eager_b = assay_implementation_uncompiled(b);
    return strcmp(eager_a ? eager_a : a, eager_b ? eager_b : b) == 0;
}

/* Of the group's baseline, the form that an implementation of a model is compared with: an eager
 * one with the eager form, a compiled one with the compiled form. */
static const char *form_for(const char *implementation, const char *baseline)
{
    const char *eager = assay_implementation_uncompiled(baseline);
    const char *compiled = assay_implementation_compiled(baseline);
    if (assay_implementation_uncompiled(implementation))
        return compiled ? compiled : baseline;
    return eager ? eager : baseline;
}

/* The lane that a variant of a model is compared with: that of the baseline in the variant's own
 * form; else, of another family, the baseline itself; else what the variant is with its weights as
 * they are. -1: there is none. */
static int64_t model_baseline_lane(const struct timing *t, const struct variant *v)
{
    const struct group *g = t->map.group;
    const char *own = v->kernel->implementation, *baseline = own;
    if (t->baseline >= 0)
        baseline = g->variants[t->baseline].kernel->implementation;
    int64_t lane = lane_of(g, &t->map, form_for(own, baseline), 0);
    if (lane < 0 && !same_family(own, baseline))
        lane = lane_of(g, &t->map, baseline, 0);
    return lane >= 0 ? lane : lane_of(g, &t->map, own, 0);
}

static enum assay_status take_down_results(const struct timing *t)
{
    struct group *g = t->map.group;
    const struct lane_map *map = &t->map;
    int64_t n_lanes = map->n_lanes;
    struct assay_cost costs[ASSAY_MAX_VARIANTS];
    double working_sets[ASSAY_MAX_VARIANTS];
    int64_t baselines[ASSAY_MAX_VARIANTS], eager[ASSAY_MAX_VARIANTS];
    for (int64_t i = 0; i < n_lanes; i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        baselines[i] = group_is_model(g) ? model_baseline_lane(t, v) : t->baseline_lane;
        const char *uncompiled = assay_implementation_uncompiled(v->kernel->implementation);
        eager[i] = uncompiled ? lane_of(g, map, uncompiled, v->recipe) : -1;
        costs[i] = g->op->cost(&v->problem);
        working_sets[i] = assay_group_working_set(g, v);
    }
    struct assay_verdict_input input = {
        .lanes = t->lanes,
        .n_lanes = n_lanes,
        .rounds = assay_engine_rounds(t->engine),
        .clocks = assay_engine_clocks(t->engine),
        .baselines = baselines,
        .eager = group_is_model(g) ? eager : NULL,
        .costs = costs,
        .working_sets = working_sets,
        .cold = t->state == ASSAY_CACHE_COLD,
        .probes = &t->probes,
        .probe_lanes = t->probe_lanes,
        .best = &g->bench->ceilings,
    };
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < n_lanes && status == ASSAY_OK; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        struct assay_record *r = &v->record;
        status = assay_verdict_measurement(&input, i, &r->states[t->state]);
        if (t->lanes[i].elsewhere && !r->note[0])
            snprintf(r->note, sizeof r->note,
                     "works on streams of its own: timed until the whole device was at rest");
        char reason[256];
        if (v->ready && status == ASSAY_OK &&
            !assay_verdict_possible(&input, &r->states[t->state], reason, sizeof reason))
            group_give_up(v, ASSAY_OUTCOME_IMPOSSIBLE, reason);
    }
    return status;
}

/* Probes that beat the remembered ceilings raise them; a file that cannot be written is no error.
 */
static void remember_best(const struct timing *t)
{
    int64_t rounds = assay_engine_rounds(t->engine);
    double *scratch = assay_calloc((size_t)rounds + 1, sizeof *scratch);
    struct assay_ceilings *best = &t->map.group->bench->ceilings;
    if (scratch && best->n_points > 0 &&
        assay_probes_raise(&t->probes, t->probe_lanes, rounds, scratch, best))
        assay_ceilings_save(best, NULL);
    assay_free(scratch);
}

static enum assay_status note_shares(const struct timing *t)
{
    const struct lane_map *map = &t->map;
    int64_t rounds = assay_engine_rounds(t->engine);
    double *scratch = assay_calloc((size_t)rounds + 1, sizeof *scratch);
    if (!scratch)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < t->shadows.n; i++) {
        struct assay_ratio ratio;
        int64_t of = t->shadows.of[i];
        const struct assay_lane *part = &t->lanes[map->n_lanes + i], *whole = &t->lanes[of];
        if (!part->samples || !whole->samples)
            continue;
        assay_stats_ratio(part->samples, whole->samples, rounds, scratch, &ratio);
        if (ratio.n > 0)
            map->group->variants[map->variant[of]].record.activation_share = ratio.ratio;
    }
    assay_free(scratch);
    return ASSAY_OK;
}

/* As many in every process, so that rounds at one place are the same for all. */
static int64_t count_places(const struct group *g)
{
    int64_t places = assay_group_places_liked(g);
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && assay_operands_n_sets(g->variants[i].operands) < places)
            places = 1;
    return places;
}

/* Lanes for the variants that are ready, and shadows of those that quantise activations. */
static enum assay_status add_lanes(struct timing *t, struct assay_error *err)
{
    struct group *g = t->map.group;
    bool cold = t->state == ASSAY_CACHE_COLD;
    for (int64_t i = 0; i < g->n_variants && cold && !group_stopped(g); i++)
        if (g->variants[i].ready && prepare_cold(g, &g->variants[i], err) != ASSAY_OK)
            return ASSAY_ERR_NOMEM;
    int64_t places = cold ? 0 : count_places(g);
    t->baseline = choose_baseline(g);
    t->baseline_lane = -1;
    if (t->baseline < 0)
        tell_absent_baseline(g, t->state);
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        if (i == t->baseline)
            t->baseline_lane = t->map.n_lanes;
        t->map.variant[t->map.n_lanes] = i;
        t->lanes[t->map.n_lanes++] = (struct assay_lane){
            .kernel = v->kernel,
            .state = v->state,
            .device = v->device,
            .sets = cold && v->sets ? v->sets : assay_operands_sets(v->operands),
            .n_sets = cold ? v->n_sets : 1,
            .places = places,
        };
    }
    if (!cold)
        add_shadows(t);
    return ASSAY_OK;
}

/* One probe for each thing the variants need of the machine. */
static enum assay_status choose_probes(struct timing *t)
{
    struct group *g = t->map.group;
    enum assay_status status = ASSAY_OK;
    if (g->job->settings.no_ceiling)
        return ASSAY_OK;
    group_step(g, -1);
    for (int64_t i = 0; i < t->map.n_lanes && status == ASSAY_OK && !group_stopped(g); i++) {
        const struct variant *v = &g->variants[t->map.variant[i]];
        struct assay_cost cost = g->op->cost(&v->problem);
        status =
            assay_probes_add(&t->probes, &g->bench->ceilings, &cost, assay_group_working_set(g, v));
    }
    return status;
}

/* Their lanes, behind all others. */
static enum assay_status add_probes(struct timing *t, struct assay_error *err)
{
    int64_t first = t->map.n_lanes + t->shadows.n;
    t->probes = (struct assay_probes){.device = t->map.group->bench->host.device,
                                      .cold = t->state == ASSAY_CACHE_COLD};
    t->probe_lanes = &t->lanes[first];
    enum assay_status status = choose_probes(t);
    assay_probes_lanes(&t->probes, t->probe_lanes);
    for (int64_t i = 0; i < t->probes.n; i++)
        t->map.variant[first + i] = -1;
    return status == ASSAY_OK ? ASSAY_OK : assay_error_set(err, status, NULL, "out of memory");
}

static enum assay_status run_engine(struct timing *t, struct assay_error *err)
{
    struct group *g = t->map.group;
    const struct assay_settings *s = &g->job->settings;
    struct assay_engine_options options = {
        .precision = s->precision,
        .budget_ns = s->budget_s * 1e9,
        .overtime = s->overtime,
        .warmup = s->warmup,
        .rounds = s->rounds,
        .within_budget = s->within_budget,
        .seed = s->seed ^ (uint64_t)t->state,
        .timer_ns = timer_ns(g),
        .floor_ns = g->bench->ceilings.floor_ns,
        .unit_full_ns = unit_full_ns(g),
        .baseline = t->baseline_lane,
    };
    struct assay_engine_hooks hooks = {.user = &t->map,
                                       .step = lane_step,
                                       .stop = lane_stop,
                                       .look = assay_group_look,
                                       .before = assay_group_before_sample,
                                       .after = assay_group_after_sample};
    enum assay_status status =
        assay_engine_create(g->bench->host.device, &options, &hooks, t->lanes,
                            t->map.n_lanes + t->shadows.n + t->probes.n, &t->engine, err);
    return status == ASSAY_OK ? assay_engine_run(t->engine, err) : status;
}

/* Of a variant of a model: without a lane to compare it with, its own. */
static const char *model_baseline(const struct timing *t, const struct variant *v)
{
    int64_t lane = model_baseline_lane(t, v);
    return lane < 0 ? v->kernel->implementation
                    : t->map.group->variants[t->map.variant[lane]].kernel->implementation;
}

/* Which implementation the ratios refer to. */
static void note_baseline(const struct timing *t)
{
    struct group *g = t->map.group;
    for (int64_t i = 0; i < g->n_variants && t->baseline >= 0; i++) {
        const struct variant *v = &g->variants[i];
        struct assay_record *r = &g->variants[i].record;
        const char *implementation = g->variants[t->baseline].kernel->implementation;
        r->is_baseline = i == t->baseline;
        if (group_is_model(g)) {
            implementation = model_baseline(t, v);
            r->is_baseline = v->recipe == 0 && strcmp(implementation, r->implementation) == 0;
        }
        snprintf(r->baseline, sizeof r->baseline, "%s", implementation);
    }
}

/* Samples, checks, results. */
static enum assay_status time_lanes(struct timing *t, struct assay_error *err)
{
    struct group *g = t->map.group;
    enum assay_status status = add_probes(t, err);
    if (status == ASSAY_OK)
        status = run_engine(t, err);
    if (status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED) {
        group_step(g, -1);
        for (int64_t i = 0; i < t->map.n_lanes && status == ASSAY_OK; i++)
            assay_group_judge_times(&t->map, i);
        verify_again(g, &t->map);
        check_idle_again(g, &t->map);
        if (take_down_results(t) != ASSAY_OK || note_shares(t) != ASSAY_OK)
            status = assay_error_nomem(err);
        remember_best(t);
    }
    note_baseline(t);
    assay_engine_destroy(t->engine);
    assay_probes_close(&t->probes);
    return status;
}

enum assay_status assay_group_measure_state(struct group *g, enum assay_cache_state state,
                                            struct assay_error *err)
{
    struct timing t = {.state = state, .map = {.group = g}};
    t.map.lanes = t.lanes;
    enum assay_status status = add_lanes(&t, err);
    if (status == ASSAY_OK && t.map.n_lanes > 0)
        status = time_lanes(&t, err);
    return status;
}
