/* group_verify.c: a group's operands and references, and whether variants answer what they should.
 */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/parts.h"

#include <math.h>
#include <string.h>

/* On which inputs: those that set 0 holds now, usual or integers, or the operands' others. */
enum inputs { USUAL, INTEGERS, OTHERS };

/* Of the others a part is enough: they are looked at often. */
enum { OTHERS_SHARE = 8 };
/* What their references may take; the usual ones tell how long that is. And how large they may be:
 * filling them is most of the cost, and worth it where the code is not assay's own. */
static const double OTHERS_MOST_NS = 3e8, OTHERS_MOST_BYTES = 32e6, USERS_MOST_BYTES = 1e9;

/* The references of a recipe's outputs. */
static enum assay_status make_references(struct group *g, int64_t recipe, enum inputs inputs,
                                         assay_reference **out, struct assay_error *err)
{
    bool integers = inputs == INTEGERS;
    const void *const *in = inputs == OTHERS ? assay_operands_other_inputs(g->operands)
                                             : assay_operands_inputs(g->operands);
    struct assay_problem problem = g->problem;
    problem.recipe = g->recipes[recipe].name;
    struct assay_reference_how how = {
        .seed = g->job->settings.seed + (integers ? 1 : 0), /* another part each time */
        .most = assay_reference_most(g->op, &problem),
        .integers = integers,
        .exact = integers && g->op->can_be_exact(&problem),
        .share = inputs == OTHERS ? OTHERS_SHARE : 1,
        .allowed = inputs == OTHERS ? assay_operands_others_allowed(g->operands) : 0,
    };
    if (inputs == OTHERS) /* and nobody knows which part */
        how.seed = assay_rng_next(&g->secret);
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < problem.n_outputs && status == ASSAY_OK && !g->op->unverified; i++) {
        how.output = i;
        status = assay_reference_create(g->op, &problem, in, &how, &out[i], err);
        group_step(g, -1);
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
    int64_t start = assay_clock_ns();
    enum assay_status status = make_references(g, recipe, USUAL, g->recipes[recipe].outputs, &why);
    g->recipes[recipe].took_ns = (double)(assay_clock_ns() - start);
    if (status != ASSAY_UNSUPPORTED)
        return status == ASSAY_OK ? status : assay_error_set(err, status, NULL, "%s", why.message);
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].recipe == recipe)
            group_give_up(&g->variants[i], ASSAY_OUTCOME_UNSUPPORTED, why.message);
    return ASSAY_OK;
}

static void drop_references(assay_reference **references)
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

/* Other values, the answers to them, and room for snapshots: for samples that are looked at. A
 * group that has no room or no time for them is measured without. */
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
        struct recipe_answers *answers = &g->recipes[r];
        bool made = has_variants(g, r) && answers->took_ns <= OTHERS_MOST_NS &&
                    make_references(g, r, OTHERS, answers->others, NULL) == ASSAY_OK;
        if (!made)
            drop_references(answers->others);
    }
}

enum assay_status assay_group_build(struct group *g, int64_t n_sets, struct assay_error *err)
{
    enum assay_status status =
        assay_operands_create(g->bench->host.device, g->op, &g->problem, g->job->settings.seed,
                              n_sets, &g->operands, err);
    group_step(g, -1);
    for (int64_t r = 0; r < g->n_recipes && status == ASSAY_OK; r++)
        if (r == 0 || has_variants(g, r))
            status = answers_of(g, r, err);
    for (int32_t i = 0; i < g->problem.n_outputs && status == ASSAY_OK && !g->op->unverified; i++)
        assay_reference_controls(g->recipes[0].outputs[i], &g->mistrust);
    if (status == ASSAY_OK)
        make_others(g);
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
    out->tolerance_absolute = c->worst_absolute;
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

/* Judges what a variant left in `set` against `answers`; `when` is "" or " after timing". True
 * where the answer is not there, or not the right one. */
static bool judge_now(struct group *g, struct variant *v, int64_t set,
                      assay_reference *const *answers, const char *when)
{
    struct assay_error why = {0};
    struct assay_comparison c;
    char reason[256];
    if (assay_operands_check(g->operands, set, &why) != ASSAY_OK) {
        bool unwritten = assay_operands_check_harm(g->operands, set, NULL) == ASSAY_OK;
        snprintf(reason, sizeof reason, "%.200s%s", why.message, when);
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        assay_operands_repair(g->operands, set);
        return unwritten;
    }
    if (g->op->unverified)
        return false;
    for (int32_t i = g->problem.n_outputs - 1; i >= 0; i--) { /* output 0 last: it is the figure */
        assay_reference_compare(answers[i], assay_operands_output(g->operands, set, i), &c);
        note_comparison(v, answers[i], &c);
        if (c.mismatches == 0)
            continue;
        snprintf(reason, sizeof reason,
                 "%lld of %lld wrong%s%s, first at %lld: got %.6g, expected %.6g",
                 (long long)c.mismatches, (long long)c.compared, i ? " in output 1" : "", when,
                 (long long)c.first_mismatch, c.first_got, c.first_ref);
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        return true;
    }
    return false;
}

static void judge(struct group *g, struct variant *v, int64_t set, assay_reference *const *answers,
                  const char *when)
{
    if (!judge_now(g, v, set, answers, when) || !group_is_users(g, v) ||
        !assay_group_comes_late(g, v, set, answers))
        return;
    char reason[64];
    snprintf(reason, sizeof reason, "had not finished when it returned%s", when);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

void assay_group_failed_run(struct variant *v, enum assay_status status, const char *what)
{
    char reason[128];
    if (status == ASSAY_ERR_FAILED && assay_workload_failure(&v->problem)[0])
        snprintf(reason, sizeof reason, "%s", assay_workload_failure(&v->problem));
    else
        snprintf(reason, sizeof reason, "%s said: %s", what, assay_status_name(status));
    group_give_up(v, status == ASSAY_ERR_NOMEM ? ASSAY_OUTCOME_OUT_OF_MEMORY : ASSAY_OUTCOME_FAILED,
                  reason);
}

static void failed_early(struct variant *v, enum assay_status status, const char *what,
                         const struct assay_error *err)
{
    assay_group_failed_run(v, status, what);
    if (err->message[0])
        snprintf(v->record.reason, sizeof v->record.reason, "%.255s", err->message);
    if (status == ASSAY_UNSUPPORTED)
        v->record.outcome = ASSAY_OUTCOME_UNSUPPORTED;
}

/* Undoes what a call changed in this process; of a user's kernel it is told. A library that starts
 * may pin the thread it starts in, once: that is forgiven. */
static void check_traces(struct group *g, struct variant *v)
{
    struct assay_error why = {0};
    enum assay_trace left = assay_traces_undo(&g->home, &why);
    if (left == ASSAY_TRACE_NONE || !group_is_users(g, v))
        return;
    bool forgiven = left == ASSAY_TRACE_CORES && !v->moved;
    v->moved = true;
    if (!forgiven)
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, why.message);
}

enum assay_status assay_group_call(struct group *g, struct variant *v,
                                   const struct assay_work *work, struct assay_timing *timing)
{
    assay_device *device = g->bench->host.device;
    assay_traces_undo(&g->home, NULL); /* what was left in a sample nobody looked at */
    group_step(g, v - g->variants);
    enum assay_status status = device->driver->time(device, v->kernel, v->state, work, timing);
    group_step(g, -1);
    check_traces(g, v);
    return status;
}

static void set_up(struct group *g, struct variant *v)
{
    struct assay_error err = {0};
    v->others_threads = assay_traces_threads();
    group_step(g, v - g->variants);
    struct assay_memory_mark mark = assay_memory_begin(g->bench->host.device);
    int64_t start = assay_clock_ns();
    enum assay_status status =
        v->kernel->setup ? v->kernel->setup(&v->problem, &v->state, &err) : ASSAY_OK;
    v->record.setup_ns = (double)(assay_clock_ns() - start);
    assay_memory_end(g->bench->host.device, &mark, ASSAY_MEMORY_SETUP, &v->memory);
    check_traces(g, v);
    v->set_up = status == ASSAY_OK;
    if (!v->set_up)
        failed_early(v, status, "setup", &err);
    else if (v->kernel->setup && group_is_users(g, v))
        assay_group_check_idle(g, v);
}

void assay_group_forget(const struct group *g, const struct variant *v)
{
    assay_device *device = g->bench->host.device;
    if (device->driver->forget)
        device->driver->forget(device, v->state);
}

void assay_group_prepare(struct group *g, struct variant *v, int64_t set)
{
    struct assay_error err = {0};
    struct assay_memory_mark mark = {0};
    if (!v->kernel->prepare || !v->ready)
        return;
    const struct assay_args *args =
        &assay_operands_sets(g->operands)[set % assay_operands_n_sets(g->operands)];
    group_step(g, v - g->variants);
    assay_group_forget(g, v);
    if (set == 0) /* what is told is of one set */
        mark = assay_memory_begin(g->bench->host.device);
    int64_t start = assay_clock_ns();
    enum assay_status status = v->kernel->prepare(v->state, set, args, &err);
    if (set == 0) {
        v->record.prepare_ns = (double)(assay_clock_ns() - start);
        assay_memory_end(g->bench->host.device, &mark, ASSAY_MEMORY_PREPARE, &v->memory);
    }
    group_step(g, -1);
    if (status != ASSAY_OK)
        failed_early(v, status, "prepare", &err);
}

void assay_group_run_and_judge(struct group *g, struct variant *v, int64_t iters,
                               const struct assay_args *sets, int64_t n_sets, int64_t last,
                               assay_reference *const *answers, const char *when)
{
    int64_t first = ((last - iters + 1) % n_sets + n_sets) % n_sets;
    int64_t operand_set = last % assay_operands_n_sets(g->operands);
    struct assay_work work = {.iters = iters, .first = first, .n_sets = n_sets, .sets = sets};
    struct assay_timing timing;
    assay_operands_poison(g->operands, operand_set);
    struct assay_memory_mark mark = assay_memory_begin(g->bench->host.device);
    enum assay_status status = assay_group_call(g, v, &work, &timing);
    if (status == ASSAY_OK && iters == 1 && n_sets == 1)
        assay_memory_end(g->bench->host.device, &mark, ASSAY_MEMORY_RUN, &v->memory);
    if (status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
    else if (v->ready)
        judge(g, v, operand_set, answers, when);
}

static void verify_once(struct group *g, struct variant *v, assay_reference *const *answers,
                        const char *when)
{
    assay_group_prepare(g, v, 0);
    if (v->ready)
        assay_group_run_and_judge(g, v, 1, assay_operands_sets(g->operands), 1, 0, answers, when);
    if (v->ready && group_is_users(g, v))
        assay_group_check_idle(g, v);
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
    enum assay_status status = make_references(g, recipe, INTEGERS, answers, err);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready || v->recipe != recipe)
            continue;
        verify_once(g, v, answers, " on integers");
        if (v->ready) /* the errors that are shown are those on the usual inputs */
            v->record.verification.max_abs = v->record.verification.max_rel = 0;
        v->record.verification.exact = v->ready && g->op->can_be_exact(&problem);
    }
    drop_references(answers);
    return status;
}

/* On the usual inputs with spikes, where an answer from a part of the terms shows. */
static enum assay_status verify_with_spikes(struct group *g, int pass, struct assay_error *err)
{
    assay_reference *answers[ASSAY_MAX_OUTPUTS] = {0};
    const assay_reference *usual = g->recipes[0].outputs[0];
    const void *const *in = assay_operands_inputs(g->operands);
    struct assay_spikes spikes;
    assay_spikes_choose(g->op, &g->problem, in, assay_rng_next(&g->secret), pass, &spikes,
                        &g->mistrust);
    enum assay_status status =
        assay_reference_moved(usual, spikes.mean_change, spikes.allowed, &answers[0], err);
    assay_operands_change(g->operands, spikes.changes, spikes.n);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready || (pass > 0 && !group_is_users(g, v)))
            continue;
        verify_once(g, v, answers, " with spikes");
        if (v->ready) /* the errors that are shown are those on the usual inputs */
            v->record.verification.max_abs = v->record.verification.max_rel = 0;
    }
    assay_operands_change(g->operands, NULL, 0);
    drop_references(answers);
    return status;
}

/* Code that is not assay's own is asked twice. */
static enum assay_status verify_parts(struct group *g, struct assay_error *err)
{
    int passes = !g->op->mean ? 0 : assay_group_has_users(g) ? 2 : 1;
    enum assay_status status = ASSAY_OK;
    struct assay_error why = {0};
    if (g->op->normalised_axes > 0)
        status =
            assay_parts_control_norm(g->op, &g->problem, assay_operands_inputs(g->operands), &why);
    if (status == ASSAY_UNSUPPORTED) { /* the rows tell */
        assay_error_set(&g->mistrust, status, NULL, "%s", why.message);
        status = ASSAY_OK;
    }
    if (status != ASSAY_OK)
        return assay_error_set(err, status, NULL, "%s", why.message);
    for (int pass = 0; pass < passes && status == ASSAY_OK; pass++)
        status = verify_with_spikes(g, pass, err);
    return status;
}

enum assay_status assay_group_verify(struct group *g, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    g->home = assay_traces_now();
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++)
        if (g->variants[i].ready)
            set_up(g, &g->variants[i]);
    for (int64_t r = 0; r < g->n_recipes && status == ASSAY_OK && !group_stopped(g); r++)
        if (g->op->fill_exact && has_variants(g, r))
            status = verify_on_integers(g, r, err);
    if (g->op->fill_exact)
        assay_operands_refill(g->operands, &g->problem, false);
    if (status == ASSAY_OK)
        status = verify_parts(g, err);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        verify_once(g, v, g->recipes[v->recipe].outputs, "");
        if (v->ready)
            note_accuracy(g, v, assay_operands_output(g->operands, 0, 0));
        if (v->ready && group_is_users(g, v))
            assay_group_check_user(g, v);
    }
    return status;
}
