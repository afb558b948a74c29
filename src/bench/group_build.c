/* group_build.c: everything between the choice of a group's variants and the first check of one:
 * operands, references, and kernels that are set up. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

/* Of the others' outputs one element in eight is enough: they are compared often. */
enum { OTHERS_SHARE = 8 };
/* What their references may take; the usual ones tell how long that is. And how large they may be:
 * filling them is most of the cost, and worth it where the code is not assay's own. */
static const double OTHERS_MOST_NS = 3e8, OTHERS_MOST_BYTES = 32e6, USERS_MOST_BYTES = 1e9;

enum assay_status assay_group_make_reference(struct group *g, int64_t recipe,
                                             enum group_inputs inputs, int32_t output,
                                             assay_reference **out, struct assay_error *err)
{
    bool integers = inputs == INPUTS_INTEGERS;
    const void *const *in = inputs == INPUTS_OTHERS ? assay_operands_other_inputs(g->operands)
                                                    : assay_operands_inputs(g->operands);
    struct assay_problem problem = g->problem;
    problem.recipe = g->recipes[recipe].name;
    struct assay_reference_how how = {
        .seed = g->job->settings.seed + (integers ? 1 : 0), /* another part each time */
        .most = assay_reference_most(g->op, &problem, output),
        .integers = integers,
        .exact = integers && g->op->can_be_exact(&problem),
        .output = output,
        .share = inputs == INPUTS_OTHERS ? OTHERS_SHARE : 1,
        .allowed = inputs == INPUTS_OTHERS ? assay_operands_others_allowed(g->operands) : 0,
    };
    if (inputs == INPUTS_OTHERS) /* and nobody knows which part */
        how.seed = assay_rng_next(&g->secret);
    enum assay_status status = assay_reference_create(g->op, &problem, in, &how, out, err);
    group_step(g, -1);
    return status;
}

/* Other inputs have other parts compared, which nobody knows beforehand. */
static enum assay_status make_all_references(struct group *g, int64_t recipe,
                                             enum group_inputs inputs, assay_reference **out,
                                             struct assay_error *err)
{
    struct assay_problem problem = g->problem;
    const void *const *in = inputs == INPUTS_OTHERS ? assay_operands_other_inputs(g->operands)
                                                    : assay_operands_inputs(g->operands);
    uint64_t seed = inputs == INPUTS_OTHERS ? assay_rng_next(&g->secret) : g->job->settings.seed;
    problem.recipe = g->recipes[recipe].name;
    group_step(g, -1);
    enum assay_status status = assay_reference_create_all(g->op, &problem, in, seed, out, err);
    group_step(g, -1);
    return status;
}

enum assay_status assay_group_make_references(struct group *g, int64_t recipe,
                                              enum group_inputs inputs, assay_reference **out,
                                              struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (g->op->reference_all)
        return make_all_references(g, recipe, inputs, out, err);
    for (int32_t i = 0; i < g->problem.n_outputs && status == ASSAY_OK && !g->op->unverified; i++)
        status = assay_group_make_reference(g, recipe, inputs, i, &out[i], err);
    return status;
}

bool assay_group_has_recipe(const struct group *g, int64_t recipe)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].recipe == recipe)
            return true;
    return false;
}

/* A recipe that cannot store these weights has no reference, whatever its kernels think of it. */
static enum assay_status make_usual_references(struct group *g, int64_t recipe,
                                               struct assay_error *err)
{
    struct assay_error why = {0};
    int64_t start = assay_clock_ns();
    enum assay_status status =
        assay_group_make_references(g, recipe, INPUTS_USUAL, g->recipes[recipe].outputs, &why);
    g->recipes[recipe].took_ns = (double)(assay_clock_ns() - start);
    if (status != ASSAY_UNSUPPORTED)
        return status == ASSAY_OK ? status : assay_error_set(err, status, NULL, "%s", why.message);
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].recipe == recipe)
            group_give_up(&g->variants[i], ASSAY_OUTCOME_UNSUPPORTED, why.message);
    return ASSAY_OK;
}

void assay_group_drop_references(assay_reference **references)
{
    for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++) {
        assay_reference_destroy(references[i]);
        references[i] = NULL;
    }
}

static enum assay_status make_snapshots(struct group *g)
{
    bool on_host = assay_device_shares_memory(g->bench->host.device);
    for (int32_t i = 0; i < g->problem.n_outputs && on_host; i++) {
        g->snapshots[i] = assay_calloc(1, assay_tensor_bytes(&g->problem.outputs[i]));
        if (!g->snapshots[i])
            return ASSAY_ERR_NOMEM;
    }
    return ASSAY_OK;
}

/* Other input values, their references, and buffers for snapshots: for samples that are looked at.
 * A group for which they take too much memory or time is measured without. */
static void make_others(struct group *g)
{
    double most = assay_group_has_users(g) ? USERS_MOST_BYTES : OTHERS_MOST_BYTES;
    bool wanted = assay_group_may_look(g) &&
                  (double)assay_operands_others_bytes(g->op, &g->problem) <= most &&
                  assay_group_fits_others(g, assay_operands_n_sets(g->operands));
    if (!wanted || make_snapshots(g) != ASSAY_OK ||
        assay_operands_make_others(g->operands, NULL) != ASSAY_OK)
        return;
    g->others_seed = assay_rng_next(&g->secret);
    assay_operands_fill_others(g->operands, g->others_seed);
    group_step(g, -1);
    for (int64_t r = 0; r < g->n_recipes; r++) {
        struct recipe_references *references = &g->recipes[r];
        bool made =
            assay_group_has_recipe(g, r) && references->took_ns <= OTHERS_MOST_NS &&
            assay_group_make_references(g, r, INPUTS_OTHERS, references->others, NULL) == ASSAY_OK;
        if (!made)
            assay_group_drop_references(references->others);
    }
}

/* Is one of the inputs the answer? Then a kernel has only to copy it. */
static const char *input_that_is(const struct group *g, const double *answer)
{
    enum { BLOCK = 1024 };
    const struct assay_problem *p = &g->problem;
    int64_t n = assay_tensor_count(&p->outputs[0]);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        double values[BLOCK];
        bool same =
            p->inputs[i].dtype == p->outputs[0].dtype && assay_tensor_count(&p->inputs[i]) == n;
        for (int64_t at = 0; at < n && same; at += BLOCK) {
            int64_t part = n - at < BLOCK ? n - at : BLOCK;
            assay_dtype_load(p->inputs[i].dtype, assay_operands_inputs(g->operands)[i], at, part,
                             values);
            same = memcmp(values, answer + at, (size_t)part * sizeof *values) == 0;
        }
        if (same)
            return assay_workload_input_name(p, i);
    }
    return NULL;
}

/* Would the reference say the same whatever the inputs are, or does it say what one of them is? */
static void check_answers(struct group *g)
{
    int64_t n = assay_tensor_count(&g->problem.outputs[0]);
    if (!g->recipes[0].others[0])
        return;
    double *usual = assay_calloc((size_t)n, sizeof *usual);
    double *others = assay_calloc((size_t)n, sizeof *others);
    bool made = usual && others &&
                g->op->reference_whole(&g->problem, assay_operands_inputs(g->operands), 0, usual,
                                       NULL) == ASSAY_OK &&
                g->op->reference_whole(&g->problem, assay_operands_other_inputs(g->operands), 0,
                                       others, NULL) == ASSAY_OK;
    const char *input = made && g->op->fills_together ? input_that_is(g, usual) : NULL;
    if (made && memcmp(usual, others, (size_t)n * sizeof *usual) == 0)
        assay_error_set(&g->mistrust, ASSAY_UNSUPPORTED, NULL,
                        "the author's verify gives the same answers whatever the inputs are");
    else if (input)
        assay_error_set(&g->mistrust, ASSAY_UNSUPPORTED, NULL,
                        "what verify returns is in self.%s before the call: a kernel could copy it",
                        input);
    assay_free(usual);
    assay_free(others);
}

/* An author is not trusted more than a kernel. What the functions did wrong was found on the way.
 */
static enum assay_status check_author(struct group *g, struct assay_error *err)
{
    if (!assay_workload_is(g->op->name))
        return ASSAY_OK;
    bool from_elsewhere = assay_workload_has_tolerance(&g->problem) || g->op->fills_together;
    if (from_elsewhere && g->recipes[0].outputs[0])
        assay_reference_control_author(g->recipes[0].outputs[0], &g->mistrust);
    check_answers(g);
    if (!g->bench->strangers)
        return ASSAY_OK;
    enum assay_status status = assay_strangers_failure(g->bench->strangers, err);
    if (status == ASSAY_OK && assay_strangers_ignore_seed(g->bench->strangers, &g->problem))
        assay_error_set(&g->mistrust, ASSAY_UNSUPPORTED, NULL,
                        "the inputs are the same for every seed: its answers could be known "
                        "beforehand");
    return status;
}

/* Processes of strangers get ready while operands and references are made. */
static void launch(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        struct assay_error err = {0};
        if (v->ready && assay_kernel_is_elsewhere(v->kernel) &&
            assay_group_launch(g, v, &err) != ASSAY_OK)
            group_give_up(v, ASSAY_OUTCOME_FAILED, err.message);
    }
}

/* The group's own operands serve the kernels that run in this process; each of the others has its
 * own, in a process of its own. */
static void hire(struct group *g)
{
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        v->device = g->bench->host.device;
        v->operands = g->operands;
        if (v->ready && assay_kernel_is_elsewhere(v->kernel))
            assay_group_hire(g, v);
    }
}

static bool all_elsewhere(const struct group *g)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && !assay_kernel_is_elsewhere(g->variants[i].kernel))
            return false;
    return true;
}

/* Are known-wrong outputs told from this one? The loss of a model in training is a sum of terms of
 * both signs and may come out as good as 0: then 0 is right, too. The gradients beside it are
 * controlled. */
static void control(struct group *g, int32_t output)
{
    enum assay_pass pass = g->op->pass;
    bool loss =
        g->op->in_training && output == 0 && (pass == ASSAY_PASS_BOTH || pass == ASSAY_PASS_STEP);
    if (g->recipes[0].outputs[output] && !loss) /* not where it is too large */
        assay_reference_controls(g->recipes[0].outputs[output], &g->mistrust);
}

enum assay_status assay_group_build(struct group *g, int64_t n_sets, struct assay_error *err)
{
    g->sets_there = n_sets;
    launch(g);
    enum assay_status status =
        assay_operands_create(g->bench->host.device, g->op, &g->problem, g->job->settings.seed,
                              all_elsewhere(g) ? 1 : n_sets, &g->operands, err);
    group_step(g, -1);
    for (int64_t r = 0; r < g->n_recipes && status == ASSAY_OK; r++)
        if (r == 0 || assay_group_has_recipe(g, r))
            status = make_usual_references(g, r, err);
    for (int32_t i = 0; i < g->problem.n_outputs && status == ASSAY_OK && !g->op->unverified; i++)
        control(g, i);
    if (status == ASSAY_OK)
        make_others(g);
    if (status == ASSAY_OK)
        status = check_author(g, err);
    if (status == ASSAY_OK)
        hire(g);
    return status;
}

static void failed_early(struct variant *v, enum assay_status status, const char *what,
                         const struct assay_error *err)
{
    assay_group_failed_run(v, status, what);
    if (err->message[0])
        snprintf(v->record.reason, sizeof v->record.reason, "%.255s", err->message);
    if (status == ASSAY_UNSUPPORTED)
        v->record.outcome = ASSAY_OUTCOME_UNSUPPORTED;
    if (status == ASSAY_ERR_CORRUPT && v->runner)
        v->record.outcome = ASSAY_OUTCOME_MISMATCH;
}

static enum assay_status set_up_here(struct group *g, struct variant *v, struct assay_error *err)
{
    v->others_threads = assay_traces_threads();
    group_step(g, v - g->variants);
    struct assay_memory_mark mark = assay_memory_begin(v->device);
    int64_t start = assay_clock_ns();
    enum assay_status status =
        v->kernel->setup ? v->kernel->setup(&v->problem, &v->state, err) : ASSAY_OK;
    v->record.setup_ns = (double)(assay_clock_ns() - start);
    assay_memory_end(v->device, &mark, ASSAY_MEMORY_SETUP, &v->memory);
    return status;
}

void assay_group_set_up(struct group *g, struct variant *v)
{
    struct assay_error err = {0};
    enum assay_status status =
        v->runner ? assay_group_set_up_there(g, v, &err) : set_up_here(g, v, &err);
    group_step(g, -1);
    bool calls = v->runner && assay_runner_has_guest(v->runner) && assay_workload_is(g->op->name);
    if (assay_group_blame_runner(g, v, calls ? " in setup or the first call" : " in setup"))
        return;
    if (!v->runner)
        assay_group_check_traces(g, v);
    v->set_up = status == ASSAY_OK;
    if (!v->set_up)
        failed_early(v, status, "setup", &err);
}

void assay_group_forget(const struct group *g, const struct variant *v)
{
    (void)g;
    if (v->device && v->device->driver->forget)
        v->device->driver->forget(v->device, v->state);
}

static enum assay_status prepare_here(struct group *g, struct variant *v, int64_t set,
                                      struct assay_error *err)
{
    struct assay_memory_mark mark = {0};
    const struct assay_args *args =
        &assay_operands_sets(v->operands)[set % assay_operands_n_sets(v->operands)];
    group_step(g, v - g->variants);
    assay_group_forget(g, v);
    if (set == 0) /* what is told is of one set */
        mark = assay_memory_begin(v->device);
    enum assay_status status = v->kernel->prepare(v->state, set, args, err);
    if (set == 0)
        assay_memory_end(v->device, &mark, ASSAY_MEMORY_PREPARE, &v->memory);
    return status;
}

void assay_group_prepare(struct group *g, struct variant *v, int64_t set)
{
    struct assay_error err = {0};
    if (!v->kernel->prepare || !v->ready)
        return;
    int64_t start = assay_clock_ns();
    enum assay_status status =
        v->runner ? assay_group_prepare_there(g, v, set, &err) : prepare_here(g, v, set, &err);
    if (set == 0)
        v->record.prepare_ns = (double)(assay_clock_ns() - start);
    group_step(g, -1);
    if (!assay_group_blame_runner(g, v, " in prepare") && status != ASSAY_OK)
        failed_early(v, status, "prepare", &err);
}
