/* group_measure.c: all variants of a group timed together in one cache state, and verified again. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "bench/verdict.h"
#include "quant/quant.h"

#include <math.h>
#include <string.h>

/* How many prepared copies a cold measurement needs so that they, with x and y, outgrow the cache.
 * A multiple of the operands' sets, so that x and y stay in step with the other lanes' rotation; a
 * tenth of a set too few is not worth another round of copies. */
static int64_t cold_copies(const struct group *g, const struct variant *v)
{
    struct assay_device_info info;
    int64_t own = assay_operands_n_sets(g->operands);
    g->bench->host.device->driver->describe(g->bench->host.device, &info);
    double wanted = 2.0 * (double)info.llc_bytes / fmax(assay_group_working_set(g, v), 4096) + 2;
    double turns = fmax(1, ceil(fmin(wanted, 1e6) / (double)own - 0.1));
    return (int64_t)turns * own;
}

static enum assay_status prepare_cold(struct group *g, struct variant *v, struct assay_error *err)
{
    int64_t own = assay_operands_n_sets(g->operands);
    v->n_sets = own;
    if (!v->kernel->prepare)
        return ASSAY_OK;
    v->n_sets = cold_copies(g, v);
    v->sets = assay_calloc((size_t)v->n_sets, sizeof *v->sets);
    if (!v->sets)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < v->n_sets && v->ready && !group_stopped(g); i++) {
        v->sets[i] = assay_operands_sets(g->operands)[i % own];
        if (i > 0)
            assay_group_prepare(g, v, i);
    }
    return ASSAY_OK;
}

/* The variant the ratios refer to: the implementation asked for, else the strongest contender that
 * is not ours, else the reference, else the first. Where recipes are compared it is ours, with the
 * weights as they are. -1 where none is ready. */
static int64_t choose_baseline(const struct group *g)
{
    const char *ours = g->n_recipes > 1 ? "native" : "onednn";
    const char *named = g->job->group.baseline; /* without it there is nothing to compare with */
    for (int64_t i = 0; i < g->n_variants && named[0]; i++)
        if (g->variants[i].ready && assay_text_same(g->variants[i].kernel->implementation, named))
            return i;
    if (named[0])
        return -1;
    const char *preferred[] = {
        g->job->settings.baseline, "reference", "eager", ours, "cublaslt", "cudnn", "ref"};
    for (size_t p = 0; p < sizeof preferred / sizeof preferred[0]; p++)
        for (int64_t i = 0; i < g->n_variants && preferred[p][0]; i++)
            if (g->variants[i].ready && g->variants[i].recipe == 0 &&
                assay_text_same(g->variants[i].kernel->implementation, preferred[p]))
                return i;
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready)
            return i;
    return -1;
}

/* What a reading of the clock costs, which says how long samples must be. A GPU's events take 1 us
 * each; in samples 2000 times as long power holds its clock down, so that of it only a part counts:
 * 300 us, of which they are 0.7 %. */
static double timer_ns(const struct group *g)
{
    double ns = g->bench->ceilings.timer_ns;
    return g->bench->host.device->driver->upload ? fmin(ns, 150) : ns;
}

/* By the ceiling: a unit that is slow all the while would seem to be at its best. 3 % for the
 * clock, and for ceilings being the best that was ever seen. */
static double unit_full_ns(const struct group *g)
{
    const struct assay_device *device = g->bench->host.device;
    double rate = g->bench->ceilings.flops[ASSAY_CEILING_BF16];
    return rate > 0 ? 1.03 * device->driver->probe_flops * device->threads / rate * 1e9 : 0;
}

static void lane_step(void *user, int64_t lane)
{
    struct lane_map *map = user;
    group_step(map->group, map->variant[lane]);
}

static bool lane_stop(void *user) { return group_stopped(((struct lane_map *)user)->group); }

static void verify_again(struct group *g, const struct lane_map *map,
                         const struct assay_lane *lanes, int64_t n_lanes)
{
    struct assay_error why = {0};
    char reason[256];
    enum assay_status damage = assay_operands_check_all(g->operands, &why);
    for (int64_t i = 0; i < n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        const struct assay_lane *lane = &lanes[i];
        if (!v->ready) {
            continue; /* found out in a sample that was looked at */
        } else if (lane->status != ASSAY_OK) {
            assay_group_failed_run(v, lane->status, "run");
        } else if (damage != ASSAY_OK) {
            snprintf(
                reason, sizeof reason,
                "while timing, one of this group %.120s; measure them one at a time to see which",
                why.message);
            group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        } else if (lane->iters > 0) { /* 0: the run was stopped before its turn came */
            assay_group_run_and_judge(g, v, lane->iters, lane->sets, lane->n_sets, lane->next_set,
                                      g->recipes[v->recipe].outputs, " after timing");
        }
    }
}

/* Threads that a user's kernel started while it was timed. */
static void check_idle_again(struct group *g, const struct lane_map *map)
{
    struct variant *users[ASSAY_MAX_VARIANTS];
    int64_t n = 0;
    for (int64_t i = 0; i < map->n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        if (v->ready && group_is_users(g, v))
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

/* The lane of an implementation with a recipe; -1: there is none. */
static int64_t lane_of(const struct group *g, const struct lane_map *map, int64_t n_lanes,
                       const char *implementation, int64_t recipe)
{
    for (int64_t i = 0; i < n_lanes; i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        if (v->recipe == recipe && strcmp(v->kernel->implementation, implementation) == 0)
            return i;
    }
    return -1;
}

static enum assay_status take_down_results(struct group *g, const struct lane_map *map,
                                           assay_engine *engine, const struct assay_lane *lanes,
                                           int64_t n_lanes, const struct assay_probes *probes,
                                           const struct assay_lane *probe_lanes, int64_t baseline,
                                           enum assay_cache_state state)
{
    struct assay_cost costs[ASSAY_MAX_VARIANTS];
    double working_sets[ASSAY_MAX_VARIANTS];
    int64_t baselines[ASSAY_MAX_VARIANTS], eager[ASSAY_MAX_VARIANTS];
    for (int64_t i = 0; i < n_lanes; i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        baselines[i] =
            group_is_model(g) ? lane_of(g, map, n_lanes, v->kernel->implementation, 0) : baseline;
        eager[i] = strcmp(v->kernel->implementation, "compiled") == 0
                       ? lane_of(g, map, n_lanes, "eager", v->recipe)
                       : -1;
        costs[i] = g->op->cost(&v->problem);
        working_sets[i] = assay_group_working_set(g, v);
    }
    struct assay_verdict_input input = {
        .lanes = lanes,
        .n_lanes = n_lanes,
        .rounds = assay_engine_rounds(engine),
        .clocks = assay_engine_clocks(engine),
        .baselines = baselines,
        .eager = group_is_model(g) ? eager : NULL,
        .costs = costs,
        .working_sets = working_sets,
        .cold = state == ASSAY_CACHE_COLD,
        .probes = probes,
        .probe_lanes = probe_lanes,
        .best = &g->bench->ceilings,
    };
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < n_lanes && status == ASSAY_OK; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        struct assay_record *r = &v->record;
        status = assay_verdict_measurement(&input, i, &r->states[state]);
        if (lanes[i].elsewhere && !r->note[0])
            snprintf(r->note, sizeof r->note,
                     "works on streams of its own: timed until the whole device was at rest");
        char reason[256];
        if (v->ready && status == ASSAY_OK &&
            !assay_verdict_possible(&r->states[state], reason, sizeof reason))
            group_give_up(v, ASSAY_OUTCOME_IMPOSSIBLE, reason);
    }
    return status;
}

/* What the machine did better than ever is remembered; not being able to costs nothing else. */
static void remember_best(struct group *g, const struct assay_probes *probes,
                          const struct assay_lane *lanes, int64_t rounds)
{
    double *scratch = assay_calloc((size_t)rounds + 1, sizeof *scratch);
    struct assay_ceilings *best = &g->bench->ceilings;
    if (scratch && best->n_points > 0 && assay_probes_raise(probes, lanes, rounds, scratch, best))
        assay_ceilings_save(best, NULL);
    assay_free(scratch);
}

/* The lanes behind the variants' own that time only the quantising of activations. */
struct shadows {
    struct assay_kernel kernels[ASSAY_MAX_VARIANTS];
    int64_t of[ASSAY_MAX_VARIANTS]; /* the lane each belongs to */
    int64_t n;
};

static bool quantises_activations(const struct variant *v)
{
    struct assay_recipe recipe;
    return v->problem.recipe && v->kernel->run_activations &&
           assay_recipe_parse(v->problem.recipe, &recipe, NULL) == ASSAY_OK &&
           recipe.activation != ASSAY_DTYPE_NONE;
}

static void add_shadows(const struct group *g, struct lane_map *map, struct assay_lane *lanes,
                        int64_t n_lanes, struct shadows *shadows)
{
    for (int64_t i = 0; i < n_lanes && n_lanes + shadows->n < ASSAY_MAX_VARIANTS; i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        if (!quantises_activations(v))
            continue;
        struct assay_kernel *kernel = &shadows->kernels[shadows->n];
        *kernel = *v->kernel;
        kernel->run = v->kernel->run_activations;
        kernel->units = 0;
        map->variant[n_lanes + shadows->n] = map->variant[i];
        lanes[n_lanes + shadows->n] = lanes[i];
        lanes[n_lanes + shadows->n].kernel = kernel;
        shadows->of[shadows->n++] = i;
    }
}

static enum assay_status note_shares(struct group *g, const struct lane_map *map,
                                     assay_engine *engine, const struct assay_lane *lanes,
                                     int64_t n_lanes, const struct shadows *shadows)
{
    int64_t rounds = assay_engine_rounds(engine);
    double *scratch = assay_calloc((size_t)rounds + 1, sizeof *scratch);
    if (!scratch)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < shadows->n; i++) {
        struct assay_ratio ratio;
        const struct assay_lane *part = &lanes[n_lanes + i], *whole = &lanes[shadows->of[i]];
        if (!part->samples || !whole->samples)
            continue;
        assay_stats_ratio(part->samples, whole->samples, rounds, scratch, &ratio);
        if (ratio.n > 0)
            g->variants[map->variant[shadows->of[i]]].record.activation_share = ratio.ratio;
    }
    assay_free(scratch);
    return ASSAY_OK;
}

static enum assay_status open_probes(struct group *g, const struct lane_map *map, int64_t n_lanes,
                                     struct assay_probes *probes, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (g->job->settings.no_ceiling)
        return ASSAY_OK;
    group_step(g, -1);
    for (int64_t i = 0; i < n_lanes && status == ASSAY_OK && !group_stopped(g); i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        struct assay_cost cost = g->op->cost(&v->problem);
        status =
            assay_probes_add(probes, &g->bench->ceilings, &cost, assay_group_working_set(g, v));
    }
    return status == ASSAY_OK ? ASSAY_OK : assay_error_set(err, status, NULL, "out of memory");
}

enum assay_status assay_group_measure_state(struct group *g, enum assay_cache_state state,
                                            struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    struct assay_lane lanes[ASSAY_MAX_VARIANTS + ASSAY_MAX_PROBES] = {0};
    struct shadows shadows = {0};
    struct lane_map map = {.group = g, .lanes = lanes};
    bool cold = state == ASSAY_CACHE_COLD;
    for (int64_t i = 0; i < g->n_variants && cold && !group_stopped(g); i++)
        if (g->variants[i].ready && prepare_cold(g, &g->variants[i], err) != ASSAY_OK)
            return ASSAY_ERR_NOMEM;
    int64_t n_lanes = 0, baseline_variant = choose_baseline(g), baseline_lane = -1;
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        if (i == baseline_variant)
            baseline_lane = n_lanes;
        map.variant[n_lanes] = i;
        lanes[n_lanes++] = (struct assay_lane){
            .kernel = v->kernel,
            .state = v->state,
            .sets = cold && v->sets ? v->sets : assay_operands_sets(g->operands),
            .n_sets = cold ? v->n_sets : 1,
        };
    }
    if (!cold)
        add_shadows(g, &map, lanes, n_lanes, &shadows);
    map.n_lanes = n_lanes;
    if (n_lanes == 0)
        return ASSAY_OK;
    struct assay_probes probes = {.device = g->bench->host.device, .cold = cold};
    struct assay_lane *probe_lanes = &lanes[n_lanes + shadows.n];
    enum assay_status status = open_probes(g, &map, n_lanes, &probes, err);
    assay_probes_lanes(&probes, probe_lanes);
    for (int64_t i = 0; i < probes.n; i++)
        map.variant[n_lanes + shadows.n + i] = -1;
    struct assay_engine_options options = {
        .precision = s->precision,
        .budget_ns = s->budget_s * 1e9,
        .overtime = s->overtime,
        .warmup = s->warmup,
        .rounds = s->rounds,
        .within_budget = s->within_budget,
        .seed = s->seed ^ (uint64_t)state,
        .timer_ns = timer_ns(g),
        .floor_ns = g->bench->ceilings.floor_ns,
        .unit_full_ns = unit_full_ns(g),
        .baseline = baseline_lane,
    };
    struct assay_engine_hooks hooks = {.user = &map,
                                       .step = lane_step,
                                       .stop = lane_stop,
                                       .look = assay_group_look,
                                       .before = assay_group_before_sample,
                                       .after = assay_group_after_sample};
    assay_engine *engine = NULL;
    if (status == ASSAY_OK)
        status = assay_engine_create(g->bench->host.device, &options, &hooks, lanes,
                                     n_lanes + shadows.n + probes.n, &engine, err);
    if (status == ASSAY_OK)
        status = assay_engine_run(engine, err);
    if (status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED) {
        group_step(g, -1);
        verify_again(g, &map, lanes, n_lanes);
        check_idle_again(g, &map);
        if (take_down_results(g, &map, engine, lanes, n_lanes, &probes, probe_lanes, baseline_lane,
                              state) != ASSAY_OK ||
            note_shares(g, &map, engine, lanes, n_lanes, &shadows) != ASSAY_OK)
            status = assay_error_nomem(err);
        remember_best(g, &probes, probe_lanes, assay_engine_rounds(engine));
    }
    if (baseline_variant >= 0)
        for (int64_t i = 0; i < g->n_variants; i++) {
            struct assay_record *r = &g->variants[i].record;
            const char *implementation = g->variants[baseline_variant].kernel->implementation;
            r->is_baseline = i == baseline_variant;
            if (group_is_model(g)) { /* each executor has its own */
                implementation = r->implementation;
                r->is_baseline = g->variants[i].recipe == 0;
            }
            snprintf(r->baseline, sizeof r->baseline, "%s", implementation);
        }
    assay_engine_destroy(engine);
    assay_probes_close(&probes);
    return status;
}
