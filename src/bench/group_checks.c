/* group_checks.c: what users' kernels are checked for beyond a right output: does every call
 * compute, is nothing touched beyond the tensors, is nothing left behind? */
#include "bench/group_internal.h"

#include "base/clock.h"
#include "base/last_words.h"
#include "runner/fence.h"

#include <math.h>
#include <string.h>

enum { PASSES = 3, PASSES_MOST = 24 };
/* Those beyond the first few come after the timing, which need not wait for them, and take no
 * longer than this: a call in ten that is left out shows. */
static const int64_t PASSES_NS = 100000000;

/* What a call left in its set. */
enum output { RIGHT, SKIPPED /* nothing, or what was there before */, WRONG };

struct pass {
    int number;      /* the first one finds poison, the others the outputs of the one before */
    bool can_change; /* there are references for other values; else all find poison */
    bool singly;     /* each call in a run of its own */
    bool others[CHECK_SETS], changed[CHECK_SETS];
    enum output outputs[CHECK_SETS];
    struct assay_error why; /* what is wrong with the operands, if anything */
    bool harmed;            /* it is not that something was left unwritten */
};

/* Behind a device's queue runs are captured and replayed, with launches around them that write the
 * same outputs, so that a call that is left out is made up for; a single one has nothing around it.
 * Then all sets change, and one call in eight that is left out shows in the first two such passes.
 */
static bool is_singly(struct group *g, const struct variant *v, int number)
{
    bool queued = !assay_device_shares_memory(g->bench->host.device);
    return v->kernel->prepare ||
           (queued && number > 0 && (number < PASSES || assay_rng_below(&g->secret, 2) == 0));
}

/* Each set gets the usual or the other values, at random; half of the sets change at the least. */
static void set_pass(struct group *g, struct variant *v, struct pass *p)
{
    p->singly = is_singly(g, v, p->number);
    int64_t surely = assay_rng_below(&g->secret, CHECK_SETS);
    for (int64_t set = 0; set < CHECK_SETS; set++) {
        bool sure = (set - surely + CHECK_SETS) % CHECK_SETS < CHECK_SETS / 2;
        p->changed[set] = p->can_change && p->number > 0 &&
                          (sure || p->singly || assay_rng_below(&g->secret, 2) == 0);
        if (p->changed[set]) {
            p->others[set] = !p->others[set];
            assay_operands_put(v->operands, set, p->others[set]);
        }
        if (p->number == 0 || !p->can_change)
            assay_operands_poison(v->operands, set);
    }
}

/* All sets once: in one run, and in the later passes in runs that are split at random. What was
 * prepared is of set 0 alone: a kernel that prepares is given each of them as that. */
static enum assay_status run_pass(struct group *g, struct variant *v, const struct pass *p)
{
    const struct assay_args *sets = assay_operands_sets(v->operands);
    int64_t start = assay_rng_below(&g->secret, CHECK_SETS), done = 0;
    enum assay_status status = ASSAY_OK;
    while (done < CHECK_SETS && status == ASSAY_OK) {
        int64_t first = (start + done) % CHECK_SETS;
        struct assay_work work = {.iters = 1, .n_sets = 1, .sets = sets + first};
        struct assay_timing timing;
        int64_t left = CHECK_SETS - done;
        int64_t iters = p->number == 0 ? left : 1 + assay_rng_below(&g->secret, left);
        if (!p->singly)
            work = (struct assay_work){
                .iters = iters, .first = first, .n_sets = CHECK_SETS, .sets = sets};
        status = assay_group_call(g, v, &work, &timing);
        done += work.iters;
    }
    return status;
}

static bool is_answer(const struct group *g, const struct variant *v, int64_t set,
                      assay_reference *const *expected, struct assay_comparison *c)
{
    for (int32_t i = 0; i < g->problem.n_outputs && !g->op->unverified; i++) {
        assay_reference_compare(expected[i], assay_operands_output(v->operands, set, i), c);
        if (c->mismatches)
            return false;
    }
    return true;
}

static enum output judge_set(struct group *g, const struct variant *v, int64_t set, struct pass *p)
{
    const struct recipe_references *r = &g->recipes[v->recipe];
    struct assay_comparison c;
    bool others = p->others[set];
    bool first = p->why.code == ASSAY_OK; /* which is what is told */
    if (assay_operands_check_harm(v->operands, set, &p->why) != ASSAY_OK) {
        p->harmed |= first;
        return WRONG;
    }
    struct assay_unwritten left = assay_operands_unwritten(v->operands, set, &p->why);
    if (left.elements > 0)
        return left.elements == left.of ? SKIPPED : WRONG;
    if (is_answer(g, v, set, others ? r->others : r->outputs, &c))
        return RIGHT;
    bool stale = p->changed[set] && is_answer(g, v, set, others ? r->outputs : r->others, &c);
    return stale ? SKIPPED : WRONG;
}

/* A wrong output is told as such. Where all that had to change stayed as it was, the kernel answers
 * from memory, or not at all; where only some did, it leaves calls out. */
static void blame(struct group *g, struct variant *v, const struct pass *p)
{
    int64_t count[3] = {0}, first[3] = {-1, -1, -1}, had_to = 0;
    char reason[256];
    for (int64_t set = CHECK_SETS - 1; set >= 0; set--) {
        count[p->outputs[set]]++;
        first[p->outputs[set]] = set;
        had_to += p->changed[set] || p->number == 0 || !p->can_change;
    }
    int64_t set = first[WRONG] >= 0 ? first[WRONG] : first[SKIPPED];
    struct assay_comparison c = {0};
    const struct recipe_references *r = &g->recipes[v->recipe];
    assay_operands_fetch(v->operands, set, NULL);
    is_answer(g, v, set, p->others[set] ? r->others : r->outputs, &c);
    bool late = assay_group_name_mistake(g, v, set, p->others[set], &c, "");
    bool unwritten = p->why.code != ASSAY_OK;
    if (late || (count[WRONG] && !unwritten))
        return;
    if (!count[WRONG] && count[SKIPPED] < had_to)
        snprintf(reason, sizeof reason, "did not compute every call: %lld of %d answers are right",
                 (long long)count[RIGHT], CHECK_SETS);
    else if (unwritten)
        snprintf(reason, sizeof reason, "%.200s", p->why.message);
    else
        return;
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

static void check_pass(struct group *g, struct variant *v, struct pass *p)
{
    bool all = true;
    set_pass(g, v, p);
    enum assay_status status = run_pass(g, v, p);
    if (assay_group_blame_runner(g, v, ""))
        return;
    if (status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
    if (!v->ready)
        return;
    for (int64_t set = 0; set < CHECK_SETS; set++) {
        p->outputs[set] = judge_set(g, v, set, p);
        all = all && p->outputs[set] == RIGHT;
    }
    if (p->harmed)
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, p->why.message);
    else if (!all)
        blame(g, v, p);
}

/* Every call has an output of its own, so that one that is left out shows. The passes before the
 * timing are made whatever they take. */
static void check_every_call(struct group *g, struct variant *v, int from, int to)
{
    struct pass pass = {.number = from, .can_change = g->recipes[v->recipe].others[0]};
    if (assay_operands_n_sets(v->operands) < CHECK_SETS)
        return;
    /* Where other values have no references, samples were taken on them all the same. */
    bool has_others = assay_operands_have_others(v->operands);
    for (int64_t set = 0; set < CHECK_SETS && has_others && from > 0; set++)
        assay_operands_put(v->operands, set, false);
    int64_t end = assay_clock_ns() + PASSES_NS;
    for (; pass.number < to && v->ready && !group_stopped(g); pass.number++) {
        if (from > 0 && assay_clock_ns() > end)
            break;
        check_pass(g, v, &pass);
    }
    for (int64_t set = 0; set < CHECK_SETS; set++)
        if (!v->ready)
            assay_operands_repair(v->operands, set);
        else if (pass.can_change)
            assay_operands_put(v->operands, set, false);
}

static void run_at_fence(struct group *g, struct variant *v, enum assay_fence_side side)
{
    assay_fence *fence = NULL;
    struct assay_timing timing;
    if (assay_fence_create(&g->problem, assay_operands_inputs(g->operands), side, &fence, NULL) !=
        ASSAY_OK)
        return;
    struct assay_work work = {.iters = 1, .n_sets = 1, .sets = assay_fence_args(fence)};
    assay_fence_arm(fence);
    enum assay_status status = assay_group_call(g, v, &work, &timing);
    assay_fence_disarm(fence);
    if (status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
    assay_fence_destroy(fence);
}

static void run_at_fence_there(struct group *g, struct variant *v, enum assay_fence_side side)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_FENCE, .side = (int32_t)side};
    struct assay_runner_reply reply;
    enum assay_status status = assay_runner_ask(v->runner, &c, &reply, NULL);
    group_step(g, -1);
    if (!assay_group_blame_runner(g, v, "") && status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
}

/* A fence that is touched ends the process: only where another one goes on. */
static void check_fences(struct group *g, struct variant *v)
{
    bool there = v->runner;
    if (!assay_device_shares_memory(g->bench->host.device) ||
        (!there && !assay_last_words_are_heard()))
        return;
    for (int side = ASSAY_FENCE_END; side <= ASSAY_FENCE_START && v->ready; side++)
        (there ? run_at_fence_there : run_at_fence)(g, v, (enum assay_fence_side)side);
}

static enum assay_trace traces_of(struct group *g, struct variant *v, struct assay_error *why)
{
    if (!v->runner)
        return assay_traces_undo(&g->home, why);
    const struct assay_runner_reply *last = assay_remote_device_last(v->device);
    if (last->trace != ASSAY_TRACE_NONE)
        assay_error_set(why, ASSAY_ERR_CORRUPT, NULL, "%s", last->text);
    return (enum assay_trace)last->trace;
}

/* A library that starts may pin the thread it starts in, once: that is forgiven. */
void assay_group_check_traces(struct group *g, struct variant *v)
{
    struct assay_error why = {0};
    enum assay_trace left = traces_of(g, v, &why);
    if (left == ASSAY_TRACE_NONE || !group_is_users(g, v))
        return;
    bool forgiven = left == ASSAY_TRACE_CORES && !v->moved;
    v->moved = true;
    if (!forgiven)
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, why.message);
}

static void tell_busy(struct variant *v, double busy, char *words, size_t size)
{
    snprintf(words, size, "left threads computing after it had returned: %.0f of them",
             ceil(busy - 0.1));
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, words);
}

void assay_group_check_idle(struct group *g, struct variant *v)
{
    char words[128];
    double busy = v->runner ? assay_runner_busy_cores(v->runner)
                            : assay_traces_busy_threads() - g->busy_threads;
    if (assay_group_blame_runner(g, v, "") || busy < ASSAY_BUSY_THREADS)
        return;
    tell_busy(v, busy, words, sizeof words);
    if (v->runner)
        return;
    if (assay_last_words_are_heard()) { /* nobody can be measured beside them: a new worker can */
        group_step(g, v - g->variants);
        assay_last_words(words);
    }
    g->busy_threads += busy;
}

void assay_group_check_pages(struct variant *v)
{
    struct assay_error why = {0};
    if (v->runner && !assay_remote_device_intact(v->device, &why))
        group_give_up(v, ASSAY_OUTCOME_MISMATCH, why.message);
}

void assay_group_check_user(struct group *g, struct variant *v)
{
    assay_group_check_pages(v);
    if (v->ready)
        check_every_call(g, v, 0, PASSES);
    if (v->ready)
        check_fences(g, v);
    if (v->ready)
        assay_group_check_idle(g, v);
}

void assay_group_check_user_again(struct group *g, struct variant *v)
{
    check_every_call(g, v, PASSES, PASSES_MOST);
}
