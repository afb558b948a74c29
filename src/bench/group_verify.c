/* group_verify.c: whether variants compute what they should. */
#include "bench/group_internal.h"

#include "bench/parts.h"

#include <math.h>
#include <string.h>

static void note_comparison(struct variant *v, const assay_reference *reference,
                            const struct assay_comparison *c)
{
    struct assay_verification *out = &v->record.verification;
    out->done = true;
    out->author_reference = assay_workload_is(v->problem.op);
    out->author_tolerance = assay_workload_has_tolerance(&v->problem);
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

/* How far a recipe's outputs are from the unquantised products. */
static void note_accuracy(struct group *g, struct variant *v)
{
    enum { MORE = sizeof v->record.more_accuracy_db / sizeof v->record.more_accuracy_db[0] };
    if (!g->recipes[v->recipe].name)
        return;
    for (int32_t i = 0; i < g->problem.n_outputs && i <= MORE; i++) {
        struct assay_comparison c;
        assay_reference_compare(g->recipes[0].outputs[i], assay_operands_output(v->operands, 0, i),
                                &c);
        *(i ? &v->record.more_accuracy_db[i - 1] : &v->record.accuracy_db) =
            assay_comparison_sqnr_db(&c);
    }
}

/* Judges what a variant left in `set` against `references`; `when` is "" or " after timing". True
 * where the output is not there, or not the right one. */
static bool judge_now(struct group *g, struct variant *v, int64_t set,
                      assay_reference *const *references, const char *when)
{
    struct assay_error why = {0};
    struct assay_comparison c;
    char reason[256];
    if (assay_operands_check(v->operands, set, &why) != ASSAY_OK) {
        if (assay_group_blame_runner(g, v, when))
            return false;
        bool unwritten = assay_operands_check_harm(v->operands, set, NULL) == ASSAY_OK;
        snprintf(reason, sizeof reason, "%.200s%s", why.message, when);
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        assay_operands_repair(v->operands, set);
        return unwritten;
    }
    if (g->op->unverified)
        return false;
    for (int32_t i = g->problem.n_outputs - 1; i >= 0; i--) { /* output 0 last: it is the figure */
        assay_reference_compare(references[i], assay_operands_output(v->operands, set, i), &c);
        note_comparison(v, references[i], &c);
        if (c.mismatches == 0)
            continue;
        assay_reference_describe(references[i], &c, when, reason, sizeof reason);
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
        return true;
    }
    return false;
}

static void judge(struct group *g, struct variant *v, int64_t set,
                  assay_reference *const *references, const char *when)
{
    if (!judge_now(g, v, set, references, when) || !group_is_users(g, v) ||
        !assay_group_comes_late(g, v, set, references))
        return;
    char reason[64];
    snprintf(reason, sizeof reason, "had not finished when it returned%s", when);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

void assay_group_failed_run(struct variant *v, enum assay_status status, const char *what)
{
    char reason[128];
    const char *said = assay_workload_failure(&v->problem);
    if (v->runner)
        said = assay_remote_device_last(v->device)->err.message;
    bool tampered = v->runner && status == ASSAY_ERR_CORRUPT && said[0];
    if (tampered || (status == ASSAY_ERR_FAILED && said[0]))
        snprintf(reason, sizeof reason, "%.120s", said);
    else
        snprintf(reason, sizeof reason, "%s said: %s", what, assay_status_name(status));
    group_give_up(v,
                  tampered                    ? ASSAY_OUTCOME_MISMATCH
                  : status == ASSAY_ERR_NOMEM ? ASSAY_OUTCOME_OUT_OF_MEMORY
                                              : ASSAY_OUTCOME_FAILED,
                  reason);
}

enum assay_status assay_group_call(struct group *g, struct variant *v,
                                   const struct assay_work *work, struct assay_timing *timing)
{
    assay_device *device = v->device;
    if (!v->runner)
        assay_traces_undo(&g->home, NULL); /* what was left in a sample nobody looked at */
    group_step(g, v->runner ? -1 : v - g->variants);
    enum assay_status status = device->driver->time(device, v->kernel, v->state, work, timing);
    group_step(g, -1);
    if (status == ASSAY_OK || !v->runner)
        assay_group_check_traces(g, v);
    return status;
}

void assay_group_run_and_judge(struct group *g, struct variant *v, int64_t iters,
                               const struct assay_args *sets, int64_t n_sets, int64_t last,
                               assay_reference *const *references, const char *when)
{
    int64_t first = ((last - iters + 1) % n_sets + n_sets) % n_sets;
    int64_t operand_set = last % assay_operands_n_sets(v->operands);
    bool first_alone = iters == 1 && n_sets == 1;
    struct assay_work work = {.iters = iters, .first = first, .n_sets = n_sets, .sets = sets};
    struct assay_timing timing;
    assay_operands_poison(v->operands, operand_set);
    struct assay_memory_mark mark = {0};
    if (v->runner && first_alone)
        assay_remote_device_count_memory(v->device);
    else if (!v->runner)
        mark = assay_memory_begin(v->device);
    enum assay_status status = assay_group_call(g, v, &work, &timing);
    if (status == ASSAY_OK && first_alone && v->runner)
        v->memory = assay_remote_device_last(v->device)->memory;
    else if (status == ASSAY_OK && first_alone)
        assay_memory_end(v->device, &mark, ASSAY_MEMORY_RUN, &v->memory);
    if (assay_group_blame_runner(g, v, when))
        return;
    if (status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
    else if (v->ready)
        judge(g, v, operand_set, references, when);
}

static void verify_once(struct group *g, struct variant *v, assay_reference *const *references,
                        const char *when)
{
    assay_group_prepare(g, v, 0);
    if (v->ready)
        assay_group_run_and_judge(g, v, 1, assay_operands_sets(v->operands), 1, 0, references,
                                  when);
    if (v->ready && group_is_users(g, v))
        assay_group_check_idle(g, v);
}

/* On integer-valued inputs, made for each recipe: bit for bit where all of it is exact, else within
 * the tolerance, which still catches outputs kept from other inputs. */
static enum assay_status verify_on_integers(struct group *g, int64_t recipe,
                                            struct assay_error *err)
{
    assay_reference *references[ASSAY_MAX_OUTPUTS] = {0};
    struct assay_problem problem = g->problem;
    problem.recipe = g->recipes[recipe].name;
    assay_operands_refill(g->operands, &problem, true);
    assay_group_refill_there(g, &problem, true);
    enum assay_status status =
        assay_group_make_references(g, recipe, INPUTS_INTEGERS, references, err);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready || v->recipe != recipe)
            continue;
        verify_once(g, v, references, " on integers");
        if (v->ready) /* the errors that are shown are those on the usual inputs */
            v->record.verification.max_abs = v->record.verification.max_rel = 0;
        v->record.verification.exact = v->ready && g->op->can_be_exact(&problem);
    }
    assay_group_drop_references(references);
    return status;
}

/* On the usual inputs with spikes, which show that only a part of the terms was summed. */
static enum assay_status verify_with_spikes(struct group *g, int pass, struct assay_error *err)
{
    assay_reference *references[ASSAY_MAX_OUTPUTS] = {0};
    const assay_reference *usual = g->recipes[0].outputs[0];
    const void *const *in = assay_operands_inputs(g->operands);
    struct assay_spikes spikes;
    assay_spikes_choose(g->op, &g->problem, in, assay_rng_next(&g->secret), pass, &spikes,
                        &g->mistrust);
    enum assay_status status =
        assay_reference_moved(usual, spikes.mean_change, spikes.allowed, &references[0], err);
    assay_operands_change(g->operands, spikes.changes, spikes.n);
    assay_group_change_there(g, spikes.changes, spikes.n);
    for (int32_t i = 1; i < g->problem.n_outputs && status == ASSAY_OK; i++)
        status = assay_group_make_reference(g, 0, INPUTS_USUAL, i, &references[i], err);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready || (pass > 0 && !group_is_users(g, v)))
            continue;
        verify_once(g, v, references, " with spikes");
        if (v->ready) /* the errors that are shown are those on the usual inputs */
            v->record.verification.max_abs = v->record.verification.max_rel = 0;
    }
    assay_operands_change(g->operands, NULL, 0);
    assay_group_change_there(g, NULL, 0);
    assay_group_drop_references(references);
    return status;
}

/* Code that is not assay's own is checked twice. */
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
            assay_group_set_up(g, &g->variants[i]);
    for (int64_t r = 0; r < g->n_recipes && status == ASSAY_OK && !group_stopped(g); r++)
        if (g->op->fill_exact && assay_group_has_recipe(g, r))
            status = verify_on_integers(g, r, err);
    if (g->op->fill_exact) {
        assay_operands_refill(g->operands, &g->problem, false);
        assay_group_refill_there(g, &g->problem, false);
    }
    if (status == ASSAY_OK)
        status = verify_parts(g, err);
    for (int64_t i = 0; i < g->n_variants && status == ASSAY_OK && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready)
            continue;
        verify_once(g, v, g->recipes[v->recipe].outputs, "");
        if (v->ready)
            note_accuracy(g, v);
        if (v->ready && group_is_users(g, v))
            assay_group_check_user(g, v);
    }
    return status;
}
