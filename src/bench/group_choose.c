/* group_choose.c: which kernels take part in a group, and whether it fits into memory. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/math.h"
#include "kernel/implementation.h"
#include "model/model.h"
#include "quant/quant.h"
#include "runner/python.h"

#include <math.h>
#include <string.h>

/* A library that has nothing but the plain product would fill the table with refusals: it is shown
 * where it can run, and with the recipe everyone has. */
static bool worth_a_row(const struct assay_contender *found, int64_t recipe, const struct group *g)
{
    bool asked =
        g->job->settings.implementations.n || g->job->settings.kernels.n || group_is_model(g);
    return found->status == ASSAY_OK || recipe == 0 || asked ||
           assay_implementation_is_own(found->kernel->implementation);
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

/* Of a stranger's function that failed: did its process live on? */
static enum assay_outcome outcome_of_asking(const struct group *g, const struct variant *v)
{
    enum assay_runner_end end = assay_strangers_end_of(g->bench->strangers, v->kernel);
    return end == ASSAY_RUNNER_ALIVE ? ASSAY_OUTCOME_FAILED : assay_group_outcome_of(end);
}

static void take_note(struct group *g, struct variant *v)
{
    struct assay_error err = {0};
    char *text = v->record.note;
    if (!assay_kernel_is_elsewhere(v->kernel)) {
        if (v->kernel->note)
            v->kernel->note(&v->problem, text, sizeof v->record.note);
        return;
    }
    if (assay_strangers_note(g->bench->strangers, v->kernel, &v->problem, text,
                             sizeof v->record.note, &err) != ASSAY_OK)
        group_give_up(v, outcome_of_asking(g, v), err.message);
}

static bool comes_with_assay(const struct group *g, const struct assay_kernel *kernel)
{
    const char *path =
        g->bench->strangers ? assay_strangers_path(g->bench->strangers, kernel) : NULL;
    return path && strncmp(path, ASSAY_PYTHON_PREFIX, strlen(ASSAY_PYTHON_PREFIX)) == 0;
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
    v->ours = comes_with_assay(g, v->kernel);
    assay_group_record(g->job, g->op, g->n_variants, v->kernel->name, v->kernel->implementation,
                       name ? name : "", &v->record);
    v->record.dtype = g->problem.dtype; /* a workload's is known only here */
    if (found->status == ASSAY_ERR_FAILED && g->bench->strangers)
        group_give_up(v, outcome_of_asking(g, v), found->why.message);
    else if (!v->ready)
        group_give_up(v, ASSAY_OUTCOME_UNSUPPORTED, found->why.message);
    else
        take_note(g, v);
    g->n_variants++;
}

/* A plug-in that could not even be opened has a row of its own. */
static void add_broken(struct group *g, struct assay_contender *found)
{
    static const struct assay_kernel nothing = {.name = "", .op = "", .implementation = ""};
    const assay_strangers *strangers = g->bench->strangers;
    int64_t n = strangers ? assay_strangers_n_broken(strangers) : 0;
    for (int64_t i = 0; i < n && g->n_variants < ASSAY_MAX_VARIANTS; i++) {
        struct assay_stranger_broken broken = assay_strangers_broken(strangers, i);
        struct variant *v = &g->variants[g->n_variants];
        v->kernel = &nothing;
        v->problem = g->problem;
        assay_group_record(g->job, g->op, g->n_variants, broken.name, broken.name,
                           g->op->takes_recipes ? "baseline" : "", &v->record);
        group_give_up(v, assay_group_outcome_of(broken.end), broken.reason);
        found[g->n_variants++] = (struct assay_contender){.kernel = &nothing};
    }
}

/* A recipe that assay knows of and does not have runs nowhere, and its rows say why. */
static void refuse_missing(const char *recipe, struct assay_contender *found, int64_t n)
{
    struct assay_recipe parsed;
    struct assay_error why = {0};
    if (!recipe || assay_recipe_parse(recipe, &parsed, &why) != ASSAY_UNSUPPORTED)
        return;
    for (int64_t i = 0; i < n; i++) {
        found[i].status = ASSAY_UNSUPPORTED;
        found[i].why = why;
    }
}

/* An implementation that was named and has nothing of the model, as it has nothing of one that a
 * configuration describes, says so. */
static int64_t add_absent(const struct assay_problem *problem, const char *name,
                          struct assay_contender *out)
{
    static const struct assay_kernel torch[] = {
        {.name = "", .op = "", .implementation = "torch"},
        {.name = "", .op = "", .implementation = "torch-compile"}};
    for (size_t i = 0; i < sizeof torch / sizeof torch[0]; i++)
        if (assay_text_same(torch[i].implementation, name)) {
            *out = (struct assay_contender){.kernel = &torch[i], .recipe = problem->recipe};
            out->status = assay_error_set(&out->why, ASSAY_UNSUPPORTED, NULL,
                                          "assay has the model %s not in PyTorch",
                                          assay_op_shown(problem->op));
            return 1;
        }
    return 0;
}

static int64_t add_named(const struct group *g, const struct assay_problem *problem,
                         const struct assay_kernel_choice *choice, const char *name,
                         struct assay_contender *out, int64_t most)
{
    const assay_strangers *strangers = g->bench->strangers;
    struct assay_kernel_choice one = *choice;
    one.implementations = &name;
    one.n_implementations = 1;
    int64_t n = assay_kernel_choose(g->bench->host.registry, problem, &one, out, most);
    bool broken = strangers && assay_strangers_n_broken(strangers) > 0; /* has a row of its own */
    return n > 0 || broken || most == 0 ? n : add_absent(problem, name, out);
}

/* A model's executors, and beside them the implementations that are named, PyTorch's; of one that
 * has a compiled form, that too where the model is to be compiled. */
static int64_t choose_for_model(const struct group *g, const struct assay_problem *problem,
                                const struct assay_kernel_choice *choice,
                                struct assay_contender *out, int64_t most)
{
    const struct assay_strings *named = &g->job->settings.implementations;
    bool compiles = strcmp(g->job->group.compile, "false") != 0;
    int64_t n = assay_model_choose(problem, compiles, choice, out, most);
    if (named->n == 0)
        n += assay_kernel_choose(g->bench->host.registry, problem, choice, out + n, most - n);
    for (int64_t i = 0; i < named->n; i++) {
        const char *name = named->items[i], *compiled = assay_implementation_compiled(name);
        n += add_named(g, problem, choice, name, out + n, most - n);
        if (compiles && compiled && !assay_strings_have(named, compiled))
            n += add_named(g, problem, choice, compiled, out + n, most - n);
    }
    return n;
}

static int64_t choose_kernels(const struct group *g, const struct assay_problem *problem,
                              const struct assay_kernel_choice *choice, struct assay_contender *out)
{
    int64_t most = ASSAY_MAX_VARIANTS - g->n_variants;
    return group_is_model(g)
               ? choose_for_model(g, problem, choice, out, most)
               : assay_kernel_choose(g->bench->host.registry, problem, choice, out, most);
}

enum assay_status assay_group_choose(struct group *g, struct assay_error *err)
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
        .baseline = s->baseline,
        .excluded = (const char *const *)g->job->exclude.items,
        .n_excluded = g->job->exclude.n,
    };
    struct assay_contender *found = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *found);
    g->variants = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *g->variants);
    if (!found || !g->variants) {
        assay_free(found);
        return assay_error_nomem(err);
    }
    enum assay_status status = ASSAY_OK;
    choose_recipes(g);
    for (int64_t r = 0; r < g->n_recipes; r++) {
        struct assay_problem problem = g->problem;
        problem.recipe = g->recipes[r].name;
        int64_t n = choose_kernels(g, &problem, &choice, found + g->n_variants);
        refuse_missing(problem.recipe, found + g->n_variants, n);
        for (int64_t i = 0, first = g->n_variants; i < n; i++)
            if (found[first + i].status == ASSAY_ERR_NOMEM)
                status = assay_error_set(err, ASSAY_ERR_NOMEM, found[first + i].kernel->name, "%s",
                                         found[first + i].why.message);
            else if (worth_a_row(&found[first + i], r, g)) {
                found[g->n_variants] = found[first + i];
                add_variant(g, r, &found[g->n_variants]);
            }
    }
    if (status == ASSAY_OK)
        add_broken(g, found);
    if (g->hooks->contenders && status == ASSAY_OK)
        g->hooks->contenders(g->hooks->user, found, g->n_variants);
    assay_free(found);
    return status;
}

/* The same of what the forward pass of a backward pass saves: one for each set of operands. */
static double kept_estimate(const struct group *g, const struct assay_device_info *info)
{
    double kept = assay_model_kept_bytes(&g->problem);
    double sets = 1;
    if (g->job->settings.cold && kept > 0)
        sets =
            2.0 * (double)info->llc_bytes / fmax(kept + (double)assay_op_bytes(&g->problem), 4096) +
            2;
    return sets * kept;
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
        if (group_is_model(g))
            bytes += assay_model_scratch_bytes(&g->problem);
        if (g->op->in_training)
            bytes += kept_estimate(g, info);
    }
    return bytes;
}

/* Bytes that a group takes, and those it may take. */
static void memory_of(const struct group *g, int64_t n_sets, double *need, double *limit)
{
    struct assay_device_info info;
    g->bench->host.device->driver->describe(g->bench->host.device, &info);
    *limit = info.memory_available ? 0.9 * (double)info.memory_available : (double)INFINITY;
    if (g->job->settings.memory_limit > 0 && (double)g->job->settings.memory_limit < *limit)
        *limit = (double)g->job->settings.memory_limit;
    *need = (double)assay_operands_bytes(&g->problem, n_sets) + prepared_estimate(g, &info);
    for (int64_t i = 0; i < g->n_variants; i++) /* in a runner of its own, with an image here */
        if (g->variants[i].ready && assay_kernel_is_elsewhere(g->variants[i].kernel))
            *need += (double)assay_operands_bytes(&g->problem, n_sets + 1);
}

bool assay_group_fits(const struct group *g, int64_t n_sets, char *reason, size_t size)
{
    char need_text[32], limit_text[32];
    double need, limit;
    memory_of(g, n_sets, &need, &limit);
    assay_text_bytes(need, need_text, sizeof need_text);
    assay_text_bytes(limit, limit_text, sizeof limit_text);
    snprintf(reason, size, "needs %s of memory, %s can be had", need_text, limit_text);
    return need <= limit;
}

/* What checks take besides stays far from the limit: a group is not to fail for them. */
static bool fits_easily(const struct group *g, int64_t n_sets, double more)
{
    double need, limit;
    memory_of(g, n_sets, &need, &limit);
    return need + more <= limit / 2;
}

bool assay_group_fits_others(const struct group *g, int64_t n_sets)
{
    double snapshots = (double)assay_op_bytes(&g->problem); /* of the outputs, and so less */
    double bytes = (double)assay_operands_others_bytes(g->op, &g->problem) + snapshots;
    return fits_easily(g, n_sets, bytes);
}

int64_t assay_group_sets_needed(const struct group *g)
{
    struct assay_device_info info;
    g->bench->host.device->driver->describe(g->bench->host.device, &info);
    return g->job->settings.cold ? assay_operands_cold_sets(&g->problem, info.llc_bytes) : 1;
}

bool assay_group_has_users(const struct group *g)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && group_is_users(g, &g->variants[i]))
            return true;
    return false;
}

static bool has_elsewhere(const struct group *g)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && assay_kernel_is_elsewhere(g->variants[i].kernel))
            return true;
    return false;
}

/* Below some KB no line is in another's way in the first cache either. Ten places are the fewest
 * that can show a difference, and all of them must be filled before anything is timed: no more of
 * them than there are rounds. */
int64_t assay_group_places_liked(const struct group *g)
{
    enum { MOST = 40 };
    static const double MOST_BYTES = 640e6;
    int64_t rounds = g->job->settings.rounds > 0 ? g->job->settings.rounds : MOST;
    int64_t most = assay_min(MOST, assay_max(rounds, ASSAY_STATS_FEWEST_ROUNDS));
    struct assay_device_info info;
    g->bench->host.device->driver->describe(g->bench->host.device, &info);
    double bytes = (double)assay_operands_bytes(&g->problem, 1);
    double share = (double)assay_op_bytes(&g->problem) / g->problem.threads;
    bool queued = !assay_device_shares_memory(g->bench->host.device); /* a GPU: see measuring.md */
    bool lucky = queued || (info.own_cache_bytes > 0 && share > (double)info.own_cache_bytes / 64);
    int64_t places = (int64_t)fmin((double)most, MOST_BYTES / bytes);
    return lucky && places >= ASSAY_STATS_FEWEST_ROUNDS && g->job->settings.hot && has_elsewhere(g)
               ? places
               : 1;
}

int64_t assay_group_sets_liked(const struct group *g)
{
    int64_t needed = assay_group_sets_needed(g);
    int64_t liked = assay_group_has_users(g) ? CHECK_SETS : 1, places = assay_group_places_liked(g);
    if (places > needed && fits_easily(g, places, 0))
        return places;
    return liked > needed && fits_easily(g, liked, 0) ? liked : needed;
}
