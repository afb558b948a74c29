/* group_recall.c: is a call much faster on values the kernel knows than on new ones? Do many calls
 * take no longer than one?
 *
 * A kernel that recognises its inputs, by a checksum of what it has seen or by one that somebody
 * wrote into it, gives right outputs always. Only the time tells: the same values are written to
 * the same address three times, and then the usual ones, each time in the same way and followed by
 * one call. All that is different between the first call and the later ones is what the kernel
 * remembers.
 *
 * One thing an honest kernel remembers is in the CPU: how the branches went. Random
 * branches before each call clear that history, and inputs so small that it could matter are not
 * checked. */
#include "bench/group_internal.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 11, TRIALS = 3, SHOWINGS = 4, USUAL = 3, WASH = 100000 };
enum { MANY = 32 };

static const size_t LEAST_BYTES = 32768;
/* The median call on known values is so much faster, and nearly the fastest call on new values so
 * much slower than that. Disturbances only ever lengthen a call, and meet both kinds. */
static const double MUCH = 1.5, SOME = 1.25;
static const double LEAST_GAIN_NS = 1000;
/* Many calls that take no longer than this many single ones. Calls shorter than this are left alone
 * (what is paid once a run may be all of them), and longer ones too: a sample has one of those. */
static const double NO_LONGER = 1.5, LEAST_CALL_NS = 2e3, MOST_CALL_NS = 3e5;
/* What the check may take of the time that a variant is measured: of the processor's, so that
 * neighbours do not switch it off. */
static const double SHARE = 0.25;

/* Branches that go either way, on every thread. */
static void wash_predictors(uint64_t seed)
{
    uint64_t taken = 0;
#pragma omp parallel reduction(+ : taken)
    {
        struct assay_rng rng = {seed};
        for (int i = 0; i < WASH; i++) {
            if (assay_rng_next(&rng) & 1)
                __asm__ volatile("" : "+r"(taken)); /* a jump, not arithmetic */
            else
                taken++;
        }
    }
    __asm__ volatile("" : : "r"(taken));
}

/* A run of so many calls on what set 0 holds, as in a hot sample. */
static double run_ns(struct group *g, struct variant *v, int64_t iters)
{
    struct assay_work work = {
        .iters = iters, .n_sets = 1, .sets = assay_operands_sets(g->operands)};
    struct assay_timing timing = {0};
    enum assay_status status = assay_group_call(g, v, &work, &timing);
    if (status != ASSAY_OK)
        assay_group_failed_run(v, status, "run");
    return timing.device_ns;
}

/* One call on these values: those of `seed`, or the usual ones, after the same preparations. */
static double call_ns(struct group *g, struct variant *v, uint64_t seed, bool usual)
{
    assay_operands_fill_others(g->operands, seed);
    wash_predictors(seed);
    assay_operands_put(g->operands, 0, !usual);
    return run_ns(g, v, 1);
}

struct recall {
    double fresh[PAIRS], known[PAIRS];
};

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The one of this rank; 0 is the smallest. */
static double ranked(const double *values, int64_t rank)
{
    double sorted[PAIRS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, PAIRS, sizeof *sorted, by_size);
    return sorted[rank];
}

static double median(const double *values) { return ranked(values, PAIRS / 2); }

static bool is_suspicious(const struct recall *r)
{
    double fresh = median(r->fresh), known = median(r->known);
    return ranked(r->fresh, 1) > SOME * known && fresh > MUCH * known &&
           fresh - known > LEAST_GAIN_NS;
}

/* Two experiments in one: values seen before, and the usual ones. */
static bool recalls(struct group *g, struct variant *v, struct recall *seen, struct recall *usual)
{
    for (int64_t i = 0; i < PAIRS; i++) {
        uint64_t seed = assay_rng_next(&g->secret);
        double ns[SHOWINGS];
        for (int k = 0; k < SHOWINGS && v->ready; k++)
            ns[k] = call_ns(g, v, seed, k == USUAL);
        if (!v->ready || group_stopped(g))
            return false;
        seen->fresh[i] = usual->fresh[i] = ns[0];
        seen->known[i] = ns[USUAL - 1];
        usual->known[i] = ns[USUAL];
    }
    return is_suspicious(seen) || is_suspicious(usual);
}

static double cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Is it worth the time? One round of it, which also warms up, tells how long all would take. */
static bool affordable(struct group *g, struct variant *v)
{
    double start = cpu_ns();
    call_ns(g, v, assay_rng_next(&g->secret), false);
    double all_ns = (cpu_ns() - start) * PAIRS * SHOWINGS;
    return v->ready && all_ns < SHARE * g->job->settings.budget_s * 1e9;
}

static void check_values(struct group *g, struct variant *v)
{
    struct recall seen, usual;
    char reason[160], fresh[32], known[32];
    bool guilty = affordable(g, v);
    for (int trial = 0; trial < TRIALS && guilty; trial++) /* noise does not come three times */
        guilty = recalls(g, v, &seen, &usual);
    if (!guilty)
        return;
    const struct recall *r = is_suspicious(&usual) ? &usual : &seen;
    assay_text_time(median(r->fresh), fresh, sizeof fresh);
    assay_text_time(median(r->known), known, sizeof known);
    snprintf(reason, sizeof reason,
             "answers known inputs from memory: %s on new values, %s on ones it has seen", fresh,
             known);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

/* In a hot sample all calls have the same output: one alone would leave the same values there. */
static void check_repeats(struct group *g, struct variant *v)
{
    double one[PAIRS], many[PAIRS];
    char reason[160], one_text[32], many_text[32];
    bool guilty = run_ns(g, v, 1) < MOST_CALL_NS || run_ns(g, v, 1) < MOST_CALL_NS;
    for (int trial = 0; trial < TRIALS && guilty; trial++) {
        for (int64_t i = 0; i < PAIRS; i++) {
            one[i] = run_ns(g, v, 1);
            many[i] = v->ready ? run_ns(g, v, MANY) : 0;
            if (!v->ready || group_stopped(g))
                return;
        }
        guilty = median(one) > LEAST_CALL_NS && median(many) < NO_LONGER * median(one);
    }
    if (!guilty)
        return;
    assay_text_time(median(one), one_text, sizeof one_text);
    assay_text_time(median(many), many_text, sizeof many_text);
    snprintf(reason, sizeof reason,
             "computes once for all calls of a sample: 1 takes %s, %d take %s", one_text, MANY,
             many_text);
    group_give_up(v, ASSAY_OUTCOME_MISMATCH, reason);
}

void assay_group_check_recall(struct group *g)
{
    bool has_others = assay_operands_have_others(g->operands) &&
                      assay_operands_others_bytes(g->op, &g->problem) / 2 >= LEAST_BYTES;
    bool used = false;
    for (int64_t i = 0; i < g->n_variants && !group_stopped(g); i++) {
        struct variant *v = &g->variants[i];
        if (!v->ready || !group_is_users(g, v) ||
            !assay_device_shares_memory(g->bench->host.device))
            continue;
        check_repeats(g, v);
        if (v->ready && has_others)
            check_values(g, v);
        used = used || has_others;
    }
    if (used) { /* as everybody else expects them */
        assay_operands_fill_others(g->operands, g->others_seed);
        assay_operands_put(g->operands, 0, false);
    }
}
