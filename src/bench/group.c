#include "bench/group.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/energy.h"
#include "bench/engine.h"
#include "bench/operands.h"
#include "bench/pareto.h"
#include "bench/verdict.h"
#include "bench/verify.h"
#include "model/model.h"
#include "quant/quant.h"

#include <stdio.h>
#include <string.h>

/* One contender on its way through the group. */
struct variant {
    const struct assay_kernel *kernel;
    struct assay_problem problem; /* the group's, with this variant's recipe */
    int64_t recipe;               /* which of the group's */
    void *state;
    bool set_up;             /* and so to be taken down */
    bool ready;              /* set up and, so far, right */
    int64_t n_sets;          /* in a cold measurement */
    struct assay_args *sets; /* those, where they are not the operands' own */
    struct assay_record record;
};

/* What the variants of one recipe are held against. */
struct recipe_answers {
    const char *name; /* NULL for ops without recipes */
    assay_reference *outputs[ASSAY_MAX_OUTPUTS];
};

enum { MAX_RECIPES = 32 };

struct group {
    struct assay_bench *bench;
    const struct assay_job *job;
    const struct assay_group_hooks *hooks;
    const struct assay_op *op;
    struct assay_problem problem;
    struct variant *variants;
    int64_t n_variants;
    struct recipe_answers recipes[MAX_RECIPES]; /* the first is what accuracy refers to */
    int64_t n_recipes;
    assay_operands *operands;
    struct assay_error mistrust; /* why the check cannot be trusted; code 0 where it can */
    bool interrupted;
};

void assay_group_record(const struct assay_job *job, int64_t variant, const char *kernel,
                        const char *implementation, const char *recipe, struct assay_record *out)
{
    const struct assay_op *op = assay_model_op(job->group.op);
    *out = (struct assay_record){
        .group = job->group_index,
        .variant = variant,
        .dtype = job->group.dtype,
        .n_axes = job->group.n_axes,
        .threads = job->settings.threads,
        .seed = job->settings.seed,
        .accuracy_db = (double)NAN,
        .energy_j = (double)NAN,
        .activation_share = (double)NAN,
    };
    snprintf(out->mode, sizeof out->mode, "%s", job->group.mode);
    snprintf(out->label, sizeof out->label, "%s", job->group.label);
    snprintf(out->entry, sizeof out->entry, "%s", job->group.entry);
    snprintf(out->compile, sizeof out->compile, "%s", job->group.compile);
    snprintf(out->recipe, sizeof out->recipe, "%s", recipe);
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
    assay_group_record(g->job, 0, "", "", g->op->takes_recipes ? "baseline" : "", &v.record);
    give_up(&v, outcome, reason);
    g->hooks->record(g->hooks->user, &v.record);
}

static bool is_model(const struct group *g) { return g->job->group.compile[0] != '\0'; }

/* A library that has nothing but the plain product would fill the table with refusals: it is shown
 * where it can run, and with the recipe everyone has. */
static bool worth_a_row(const struct assay_contender *found, int64_t recipe, const struct group *g)
{
    bool asked = g->job->settings.implementations.n || g->job->settings.kernels.n || is_model(g);
    return found->status == ASSAY_OK || recipe == 0 || asked ||
           assay_text_same(found->kernel->implementation, "native") ||
           assay_text_same(found->kernel->implementation, "cuda");
}

/* The recipes asked for, the baseline first; one without a name for ops that take none. */
static void choose_recipes(struct group *g)
{
    const struct assay_strings *asked = &g->job->settings.recipes;
    g->recipes[g->n_recipes++].name = g->op->takes_recipes ? "baseline" : NULL;
    for (int64_t i = 0; i < asked->n && g->op->takes_recipes && g->n_recipes < MAX_RECIPES; i++)
        if (!assay_text_same(asked->items[i], "baseline"))
            g->recipes[g->n_recipes++].name = asked->items[i];
}

static void add_variant(struct group *g, int64_t recipe, const struct assay_contender *found)
{
    struct variant *v = &g->variants[g->n_variants];
    const char *name = g->recipes[recipe].name;
    v->kernel = found->kernel;
    v->problem = g->problem;
    v->problem.recipe = name;
    v->recipe = recipe;
    v->ready = found->status == ASSAY_OK;
    assay_group_record(g->job, g->n_variants, v->kernel->name, v->kernel->implementation,
                       name ? name : "", &v->record);
    if (v->ready && v->kernel->note)
        v->kernel->note(&v->problem, v->record.note, sizeof v->record.note);
    if (!v->ready)
        give_up(v, ASSAY_OUTCOME_UNSUPPORTED, found->why.message);
    g->n_variants++;
}

/* Those of a model are its executors. */
static int64_t contenders(const struct group *g, const struct assay_problem *problem,
                          const struct assay_kernel_choice *choice, struct assay_contender *out)
{
    int64_t room = ASSAY_MAX_VARIANTS - g->n_variants;
    bool compiled = strcmp(g->job->group.compile, "false") != 0;
    return is_model(g) ? assay_model_choose(problem, compiled, choice, out, room)
                       : assay_kernel_choose(g->bench->registry, problem, choice, out, room);
}

static enum assay_status choose_variants(struct group *g, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    char device[32]; /* "cuda" of "cuda:1" */
    snprintf(device, sizeof device, "%.*s", (int)strcspn(s->device, ":"), s->device);
    struct assay_kernel_choice choice = {
        .device = device,
        .implementations = (const char *const *)s->implementations.items,
        .n_implementations = s->implementations.n,
        .kernels = (const char *const *)s->kernels.items,
        .n_kernels = s->kernels.n,
        .excluded = (const char *const *)g->job->exclude.items,
        .n_excluded = g->job->exclude.n,
    };
    struct assay_contender *found = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *found);
    g->variants = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *g->variants);
    if (!found || !g->variants) {
        assay_free(found);
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    }
    choose_recipes(g);
    for (int64_t r = 0; r < g->n_recipes; r++) {
        struct assay_problem problem = g->problem;
        problem.recipe = g->recipes[r].name;
        int64_t n = contenders(g, &problem, &choice, found + g->n_variants);
        for (int64_t i = 0, first = g->n_variants; i < n; i++)
            if (worth_a_row(&found[first + i], r, g)) {
                found[g->n_variants] = found[first + i];
                add_variant(g, r, &found[g->n_variants]);
            }
    }
    if (g->hooks->contenders)
        g->hooks->contenders(g->hooks->user, found, g->n_variants);
    assay_free(found);
    return ASSAY_OK;
}

/* Bytes a variant that prepares its weights takes in a cold measurement: it rotates through so many
 * copies that they outgrow the last-level cache twice. */
static double prepared_estimate(const struct group *g, const struct assay_device_info *info)
{
    double bytes = 0;
    for (int64_t i = 0; i < g->n_variants; i++) {
        const struct variant *v = &g->variants[i];
        if (!v->ready || !v->kernel->prepare)
            continue;
        double weights = g->op->cost(&v->problem).weight_bytes;
        bytes += g->job->settings.cold ? 2.0 * (double)info->llc_bytes + 2 * weights : weights;
        if (is_model(g))
            bytes += assay_model_scratch_bytes(&g->problem);
    }
    return bytes;
}

/* Would the operands fit, with a tenth of the memory left for everything else? */
static bool fits(const struct group *g, int64_t n_sets, char *reason, size_t size)
{
    struct assay_device_info info;
    g->bench->device->driver->describe(g->bench->device, &info);
    size_t room = info.memory_available / 10 * 9;
    if (g->job->settings.memory_limit > 0 && (size_t)g->job->settings.memory_limit < room)
        room = (size_t)g->job->settings.memory_limit;
    double need = (double)assay_operands_bytes(&g->problem, n_sets) + prepared_estimate(g, &info);
    char need_text[32], room_text[32];
    assay_text_bytes(need, need_text, sizeof need_text);
    assay_text_bytes((double)room, room_text, sizeof room_text);
    snprintf(reason, size, "needs %s of memory, %s can be had", need_text, room_text);
    return need <= (double)room;
}

static int64_t sets_needed(const struct group *g)
{
    struct assay_device_info info;
    g->bench->device->driver->describe(g->bench->device, &info);
    return g->job->settings.cold ? assay_operands_cold_sets(&g->problem, info.llc_bytes) : 1;
}

/* The references of a recipe's outputs, from what set 0 holds now. */
static enum assay_status make_references(struct group *g, int64_t recipe, bool integers,
                                         assay_reference **out, struct assay_error *err)
{
    struct assay_problem problem = g->problem;
    problem.recipe = g->recipes[recipe].name;
    struct assay_reference_how how = {
        .seed = g->job->settings.seed + (integers ? 1 : 0), /* another part each time */
        .most = assay_reference_most(g->op, &problem),
        .integers = integers,
        .exact = integers && g->op->can_be_exact(&problem),
    };
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < problem.n_outputs && status == ASSAY_OK; i++) {
        how.output = i;
        status = assay_reference_create(g->op, &problem, assay_operands_inputs(g->operands), &how,
                                        &out[i], err);
        step(g, -1);
    }
    return status;
}

static bool has_variants(const struct group *g, int64_t recipe)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].recipe == recipe)
            return true;
    return false;
}

/* A recipe that cannot store these weights has no answers, whatever its kernels thought of it. */
static enum assay_status answers_of(struct group *g, int64_t recipe, struct assay_error *err)
{
    struct assay_error why = {0};
    enum assay_status status = make_references(g, recipe, false, g->recipes[recipe].outputs, &why);
    if (status != ASSAY_UNSUPPORTED)
        return status == ASSAY_OK ? status : assay_error_set(err, status, NULL, "%s", why.message);
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].recipe == recipe)
            give_up(&g->variants[i], ASSAY_OUTCOME_UNSUPPORTED, why.message);
    return ASSAY_OK;
}

static enum assay_status build(struct group *g, int64_t n_sets, struct assay_error *err)
{
    enum assay_status status = assay_operands_create(
        g->bench->device, g->op, &g->problem, g->job->settings.seed, n_sets, &g->operands, err);
    step(g, -1);
    for (int64_t r = 0; r < g->n_recipes && status == ASSAY_OK; r++)
        if (r == 0 || has_variants(g, r))
            status = answers_of(g, r, err);
    for (int32_t i = 0; i < g->problem.n_outputs && status == ASSAY_OK; i++)
        assay_reference_controls(g->recipes[0].outputs[i], &g->mistrust);
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

/* How far a recipe's answer is from the unquantised product. */
static void note_accuracy(struct group *g, struct variant *v, const void *got)
{
    struct assay_comparison c;
    if (!g->recipes[v->recipe].name)
        return;
    assay_reference_compare(g->recipes[0].outputs[0], got, &c);
    v->record.accuracy_db = assay_comparison_sqnr_db(&c);
}

/* Judges what a variant left in `set` against `answers`; `when` is "" or " after timing". */
static void judge(struct group *g, struct variant *v, int64_t set, assay_reference *const *answers,
                  const char *when)
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
    for (int32_t i = g->problem.n_outputs - 1; i >= 0; i--) { /* output 0 last: it is the figure */
        assay_reference_compare(answers[i], assay_operands_output(g->operands, set, i), &c);
        note_comparison(v, answers[i], &c);
        if (c.mismatches == 0)
            continue;
        snprintf(reason, sizeof reason,
                 "%lld of %lld wrong%s%s, first at %lld: got %.6g, expected %.6g",
                 (long long)c.mismatches, (long long)c.compared, i ? " in output 1" : "", when,
                 (long long)c.first_mismatch, c.first_got, c.first_ref);
        give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        return;
    }
}

static void failed_run(struct variant *v, enum assay_status status, const char *what)
{
    char reason[128];
    snprintf(reason, sizeof reason, "%s said: %s", what, assay_status_name(status));
    give_up(v, status == ASSAY_ERR_NOMEM ? ASSAY_OUTCOME_OUT_OF_MEMORY : ASSAY_OUTCOME_FAILED,
            reason);
}

static void failed_early(struct variant *v, enum assay_status status, const char *what,
                         const struct assay_error *err)
{
    failed_run(v, status, what);
    if (err->message[0])
        snprintf(v->record.reason, sizeof v->record.reason, "%.255s", err->message);
    if (status == ASSAY_UNSUPPORTED)
        v->record.outcome = ASSAY_OUTCOME_UNSUPPORTED;
}

static void set_up(struct group *g, struct variant *v)
{
    struct assay_error err = {0};
    int64_t start = assay_clock_ns();
    step(g, v - g->variants);
    enum assay_status status =
        v->kernel->setup ? v->kernel->setup(&v->problem, &v->state, &err) : ASSAY_OK;
    v->record.setup_ns = (double)(assay_clock_ns() - start);
    v->set_up = status == ASSAY_OK;
    if (!v->set_up)
        failed_early(v, status, "setup", &err);
}

/* What the device keeps of a variant is void once its state changes. */
static void forget(const struct group *g, const struct variant *v)
{
    assay_device *device = g->bench->device;
    if (device->driver->forget)
        device->driver->forget(device, v->state);
}

/* Has the variant store set `set`'s weights its own way. */
static void prepare(struct group *g, struct variant *v, int64_t set)
{
    struct assay_error err = {0};
    if (!v->kernel->prepare || !v->ready)
        return;
    const struct assay_args *args =
        &assay_operands_sets(g->operands)[set % assay_operands_n_sets(g->operands)];
    int64_t start = assay_clock_ns();
    step(g, v - g->variants);
    forget(g, v);
    enum assay_status status = v->kernel->prepare(v->state, set, args, &err);
    if (set == 0)
        v->record.prepare_ns = (double)(assay_clock_ns() - start);
    step(g, -1);
    if (status != ASSAY_OK)
        failed_early(v, status, "prepare", &err);
}

/* Runs `iters` calls that end in set `last` of `sets`, with that set's output poisoned before, and
 * judges it. */
static void run_and_judge(struct group *g, struct variant *v, int64_t iters,
                          const struct assay_args *sets, int64_t n_sets, int64_t last,
                          assay_reference *const *answers, const char *when)
{
    int64_t first = ((last - iters + 1) % n_sets + n_sets) % n_sets;
    int64_t operand_set = last % assay_operands_n_sets(g->operands);
    struct assay_work work = {.iters = iters, .first = first, .n_sets = n_sets, .sets = sets};
    struct assay_timing timing;
    assay_operands_poison(g->operands, operand_set);
    step(g, v - g->variants);
    enum assay_status status =
        g->bench->device->driver->time(g->bench->device, v->kernel, v->state, &work, &timing);
    step(g, -1);
    if (status != ASSAY_OK)
        failed_run(v, status, "run");
    else
        judge(g, v, operand_set, answers, when);
}

static void verify_once(struct group *g, struct variant *v, assay_reference *const *answers,
                        const char *when)
{
    prepare(g, v, 0);
    if (v->ready)
        run_and_judge(g, v, 1, assay_operands_sets(g->operands), 1, 0, answers, when);
}

/* On integer-valued inputs, made for each recipe: bit for bit where all of it is exact, else within
 * the tolerance, which still catches answers kept from other inputs. */
static enum assay_status verify_on_integers(struct group *g, int64_t recipe,
                                            struct assay_error *err)
{
    assay_reference *answers[ASSAY_MAX_OUTPUTS] = {0};
    struct assay_problem problem = g->problem;
    problem.recipe = g->recipes[recipe].name;
    assay_operands_refill(g->operands, &problem, true);
    enum assay_status status = make_references(g, recipe, true, answers, err);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready || v->recipe != recipe)
            continue;
        verify_once(g, v, answers, " on integers");
        if (v->ready) /* the errors that are shown are those on the usual inputs */
            v->record.verification.max_abs = v->record.verification.max_rel = 0;
        v->record.verification.exact = v->ready && g->op->can_be_exact(&problem);
    }
    for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++)
        assay_reference_destroy(answers[i]);
    return status;
}

static enum assay_status set_up_and_verify(struct group *g, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < g->n_variants && !stopped(g); i++)
        if (g->variants[i].ready)
            set_up(g, &g->variants[i]);
    for (int64_t r = 0; r < g->n_recipes && status == ASSAY_OK && !stopped(g); r++)
        if (g->op->fill_exact && has_variants(g, r))
            status = verify_on_integers(g, r, err);
    if (g->op->fill_exact)
        assay_operands_refill(g->operands, &g->problem, false);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        verify_once(g, v, g->recipes[v->recipe].outputs, "");
        if (v->ready)
            note_accuracy(g, v, assay_operands_output(g->operands, 0, 0));
    }
    return status;
}

/* What a variant touches again and again: its own form of the weights in place of the original. */
static double working_set(const struct group *g, const struct variant *v)
{
    double bytes = (double)assay_op_bytes(&g->problem);
    if (v->kernel->prepare)
        bytes += (double)v->kernel->prepared_bytes(v->state);
    for (int32_t i = 0; i < g->problem.n_inputs && v->kernel->prepare && g->op->is_weight; i++)
        if (g->op->is_weight(&g->problem, i))
            bytes -= (double)assay_tensor_bytes(&g->problem.inputs[i]);
    return bytes;
}

/* For a cold measurement: so many prepared copies that they, with x and y, outgrow the cache. */
static enum assay_status prepare_cold(struct group *g, struct variant *v, struct assay_error *err)
{
    struct assay_device_info info;
    int64_t own = assay_operands_n_sets(g->operands);
    v->n_sets = own;
    if (!v->kernel->prepare)
        return ASSAY_OK;
    g->bench->device->driver->describe(g->bench->device, &info);
    double wanted = 2.0 * (double)info.llc_bytes / fmax(working_set(g, v), 4096) + 2;
    v->n_sets = wanted > 1e6 ? 1000000 : (int64_t)wanted;
    v->sets = assay_calloc((size_t)v->n_sets, sizeof *v->sets);
    if (!v->sets)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    for (int64_t i = 0; i < v->n_sets && v->ready && !stopped(g); i++) {
        v->sets[i] = assay_operands_sets(g->operands)[i % own];
        if (i > 0)
            prepare(g, v, i);
    }
    return ASSAY_OK;
}

/* The variant the ratios refer to: the implementation asked for, else the strongest contender that
 * is not ours, else the reference, else the first. Where recipes are compared it is ours, with the
 * weights as they are. -1 where none is ready. */
static int64_t choose_baseline(const struct group *g)
{
    const char *ours = g->n_recipes > 1 ? "native" : "onednn";
    const char *preferred[] = {g->job->settings.baseline, "eager", ours, "cublaslt", "ref"};
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
                         const struct assay_lane *lanes, int64_t n_lanes)
{
    struct assay_error why = {0};
    char reason[256];
    enum assay_status damage = assay_operands_check_all(g->operands, &why);
    for (int64_t i = 0; i < n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        const struct assay_lane *lane = &lanes[i];
        if (lane->status != ASSAY_OK) {
            failed_run(v, lane->status, "run");
        } else if (damage != ASSAY_OK) {
            snprintf(
                reason, sizeof reason,
                "while timing, one of this group %.120s; measure them one at a time to see which",
                why.message);
            give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        } else if (lane->iters > 0) { /* 0: the run was stopped before its turn came */
            run_and_judge(g, v, lane->iters, lane->sets, lane->n_sets, lane->next_set,
                          g->recipes[v->recipe].outputs, " after timing");
        }
    }
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

static void take_down_results(struct group *g, const struct lane_map *map, assay_engine *engine,
                              const struct assay_lane *lanes, int64_t n_lanes, int64_t baseline,
                              enum assay_cache_state state)
{
    struct assay_cost costs[ASSAY_MAX_VARIANTS];
    double working_sets[ASSAY_MAX_VARIANTS];
    int64_t baselines[ASSAY_MAX_VARIANTS], eager[ASSAY_MAX_VARIANTS];
    for (int64_t i = 0; i < n_lanes; i++) {
        const struct variant *v = &g->variants[map->variant[i]];
        baselines[i] =
            is_model(g) ? lane_of(g, map, n_lanes, v->kernel->implementation, 0) : baseline;
        eager[i] = strcmp(v->kernel->implementation, "compiled") == 0
                       ? lane_of(g, map, n_lanes, "eager", v->recipe)
                       : -1;
        costs[i] = g->op->cost(&v->problem);
        working_sets[i] = working_set(g, v);
    }
    struct assay_verdict_input input = {
        .lanes = lanes,
        .n_lanes = n_lanes,
        .rounds = assay_engine_rounds(engine),
        .clocks = assay_engine_clocks(engine),
        .baselines = baselines,
        .eager = is_model(g) ? eager : NULL,
        .costs = costs,
        .working_sets = working_sets,
        .cold = state == ASSAY_CACHE_COLD,
        .bench = g->bench,
    };
    for (int64_t i = 0; i < n_lanes; i++) {
        struct variant *v = &g->variants[map->variant[i]];
        struct assay_record *r = &v->record;
        assay_verdict_measurement(&input, i, &r->states[state]);
        char reason[256];
        if (v->ready &&
            !assay_verdict_possible(&input, i, &r->states[state], reason, sizeof reason))
            give_up(v, ASSAY_OUTCOME_IMPOSSIBLE, reason);
    }
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

static void note_shares(struct group *g, const struct lane_map *map, assay_engine *engine,
                        const struct assay_lane *lanes, int64_t n_lanes,
                        const struct shadows *shadows)
{
    int64_t rounds = assay_engine_rounds(engine);
    double *scratch = assay_calloc((size_t)rounds + 1, sizeof *scratch);
    for (int64_t i = 0; i < shadows->n && scratch; i++) {
        struct assay_ratio ratio;
        const struct assay_lane *part = &lanes[n_lanes + i], *whole = &lanes[shadows->of[i]];
        if (!part->samples || !whole->samples)
            continue;
        assay_stats_ratio(part->samples, whole->samples, rounds, scratch, &ratio);
        if (ratio.n > 0)
            g->variants[map->variant[shadows->of[i]]].record.activation_share = ratio.ratio;
    }
    assay_free(scratch);
}

static enum assay_status measure_state(struct group *g, enum assay_cache_state state,
                                       struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    struct assay_lane lanes[ASSAY_MAX_VARIANTS] = {0};
    struct shadows shadows = {0};
    struct lane_map map = {.group = g};
    bool cold = state == ASSAY_CACHE_COLD;
    for (int64_t i = 0; i < g->n_variants && cold && !stopped(g); i++)
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
    assay_engine *engine = NULL;
    enum assay_status status = assay_engine_create(g->bench->device, &options, &hooks, lanes,
                                                   n_lanes + shadows.n, &engine, err);
    if (status == ASSAY_OK)
        status = assay_engine_run(engine, err);
    if (status == ASSAY_OK || status == ASSAY_ERR_INTERRUPTED) {
        step(g, -1);
        verify_again(g, &map, lanes, n_lanes);
        take_down_results(g, &map, engine, lanes, n_lanes, baseline_lane, state);
        note_shares(g, &map, engine, lanes, n_lanes, &shadows);
    }
    if (baseline_variant >= 0)
        for (int64_t i = 0; i < g->n_variants; i++) {
            struct assay_record *r = &g->variants[i].record;
            const char *implementation = g->variants[baseline_variant].kernel->implementation;
            r->is_baseline = i == baseline_variant;
            if (is_model(g)) { /* each executor has its own */
                implementation = r->implementation;
                r->is_baseline = g->variants[i].recipe == 0;
            }
            snprintf(r->baseline, sizeof r->baseline, "%s", implementation);
        }
    assay_engine_destroy(engine);
    return status;
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
            give_up(v, ASSAY_OUTCOME_MISTRUSTED, g->mistrust.message);
        r->weight_bytes = cost.weight_bytes;
        r->bytes_read = cost.bytes_read;
        r->bytes_written = cost.bytes_written;
        r->flops = cost.flops;
        r->memory_bytes = (double)assay_op_bytes(&g->problem);
        r->floor_ns = g->bench->ceilings.floor_ns;
        r->interrupted = g->interrupted;
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
        step(g, i);
        forget(g, v);
        if (v->set_up && v->kernel->teardown)
            v->kernel->teardown(v->state);
        assay_free(v->sets);
    }
    step(g, -1);
    for (int64_t r = 0; r < g->n_recipes; r++)
        for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++)
            assay_reference_destroy(g->recipes[r].outputs[i]);
    assay_operands_destroy(g->operands);
    assay_free(g->variants);
}

/* Whose turn it is, for the supervisor. */
struct energy_beat {
    struct group *group;
    int64_t variant;
};

static bool energy_beat(void *user)
{
    const struct energy_beat *beat = user;
    step(beat->group, beat->variant);
    return stopped(beat->group);
}

static void measure_energy(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants && !stopped(g); i++) {
        struct variant *v = &g->variants[i];
        const struct assay_measurement *hot = &v->record.states[ASSAY_CACHE_HOT];
        struct energy_beat beat = {g, i};
        if (v->ready && hot->measured)
            v->record.energy_j = assay_energy_of_call(g->bench->device, v->kernel, v->state,
                                                      assay_operands_sets(g->operands),
                                                      hot->time.median, energy_beat, &beat);
    }
}

static enum assay_status measure(struct group *g, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    enum assay_status status = set_up_and_verify(g, err);
    if (s->hot && status == ASSAY_OK && !stopped(g))
        status = measure_state(g, ASSAY_CACHE_HOT, err);
    if (s->energy && s->hot && status == ASSAY_OK)
        measure_energy(g);
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
    g.op = assay_model_op(job->group.op);
    if (!g.op)
        return assay_error_set(err, ASSAY_ERR_INVALID, job->group.op, "no such op");
    step(&g, -1);
    enum assay_status status =
        assay_op_problem(g.op, job->group.dtype, job->group.mode, job->group.axes,
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
        struct assay_error why = {0};
        status = build(&g, n_sets, &why);
        if (status == ASSAY_OK)
            status = measure(&g, err);
        else if (status == ASSAY_ERR_NOMEM) { /* costs this group, not the run */
            record_whole_group(&g, ASSAY_OUTCOME_OUT_OF_MEMORY, why.message);
            status = ASSAY_OK;
        } else {
            assay_error_set(err, status, why.where[0] ? why.where : NULL, "%s", why.message);
        }
    }
cleanup:
    tear_down(&g);
    return status;
}
