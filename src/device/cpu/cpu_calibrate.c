/* cpu_calibrate.c: peak arithmetic, clock, timer, floor; bandwidths are cpu_curve.c's.
 *
 * What is measured is a list of blocks, one for each kind of arithmetic. A block has candidates:
 * each loop of its kind. A round samples every candidate that is still in once; a slice of a block
 * is rounds for some tens of milliseconds; a pass is one slice of every block. There are several
 * passes, so that a neighbour who is busy for half a second does not own a kind, and after each
 * pass the candidates that are clearly slower leave, so that most samples go to the loops that
 * matter. A block's ceiling is its best candidate's 95th percentile: the quiet machine, without its
 * rare outliers.
 *
 * A matrix unit of a shared host is slow for seconds at a time, and seldom are those of all threads
 * fast together. Each core has its own, so the ceiling is the sum of each thread's best while the
 * others ran too; a unit that stayed slow all the time counts as the fastest one. */
#include "device/cpu/cpu_calibrate.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/cpu_curve.h"
#include "device/cpu/cpu_info.h"
#include "device/cpu/cpu_loops.h"
#include "stats/stats.h"

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    PASSES = 4,
    MAX_CANDIDATES = 16,
    MAX_SAMPLES = 256,
    MAX_BLOCKS = ASSAY_CEILING_MATHS,
    CLOCK_READINGS = PASSES * MAX_BLOCKS,
};

/* The budget of all arithmetic. */
static const double budget_ns = 0.6e9;
/* Extended on a busy machine, until each block has this many samples that ran. */
static const double patience_ns = 1.5e9;
static const int64_t enough_samples = 8;
/* And more for a matrix unit that was faster the last time it was measured. */
static const double second_look_ns = 6e9;
/* A sample this long hides the clock's 20 ns and the threads' ways to the barrier, some 200 ns. */
static const double sample_ns = 100e3;
/* Samples of one loop scatter by some 5 % on a shared machine; one whose best is 10 % slower is
 * slower. */
static const double keep_frac = 0.9;

struct candidate {
    const struct assay_cpu_loop *loop;
    size_t amount; /* what one thread's turn computes */
    int64_t turns; /* in one sample; 0 before it is known */
    double alone;  /* the rate of one thread by itself */
    bool out;
    int64_t n;
    double best, rates[MAX_SAMPLES];
};

struct block {
    enum assay_cpu_loop_kind kind;
    double *result; /* where in the ceilings the result goes */
    double *own;    /* of the narrow types' units: the best of each thread */
    int32_t n_candidates;
    struct candidate candidates[MAX_CANDIDATES];
};

struct calibration {
    const struct assay_cpu_info *cpu;
    struct assay_cpu_loops loops;
    int32_t threads;
    double give_up_ns; /* when, on assay_clock_ns */
    double known_bf16; /* what the ceiling was the last time; 0: not known */
    int32_t n_blocks, n_clocks;
    struct block blocks[MAX_BLOCKS];
    double *own; /* of all blocks, for each thread */
    double clocks[CLOCK_READINGS];
};

/* ---- one sample ------------------------------------------------------------------------------ */

static void turn(const struct candidate *candidate)
{
    candidate->loop->run(NULL, NULL, NULL, candidate->amount);
}

/* The time from the first thread's start to the last one's end, in ns. */
static double run_once(const struct calibration *c, const struct block *block,
                       const struct candidate *candidate, int32_t *threads)
{
    int64_t first = INT64_MAX, last = 0;
    int32_t team = 1;
#pragma omp parallel num_threads(c->threads) reduction(min : first) reduction(max : last, team)
    {
        team = omp_get_num_threads();
        turn(candidate);
#pragma omp barrier
        first = assay_clock_ns();
        for (int64_t i = 0; i < candidate->turns; i++)
            turn(candidate);
        last = assay_clock_ns();
        if (block->own && last > first) {
            double *own = &block->own[omp_get_thread_num()];
            double work = (double)candidate->amount * (double)candidate->turns;
            *own = fmax(*own, work / (double)(last - first) * 1e9);
        }
    }
    *threads = team;
    return (double)(last - first);
}

/* How many turns fill a sample: from the quickest of a few on this thread alone, where nobody has
 * to be waited for. The first warms up. */
static void choose_turns(struct candidate *candidate)
{
    double quickest = HUGE_VAL;
    for (int i = 0; i < 4; i++) {
        int64_t start = assay_clock_ns();
        turn(candidate);
        quickest = fmin(quickest, (double)(assay_clock_ns() - start));
    }
    quickest = fmax(quickest, 1);
    candidate->turns = (int64_t)(sample_ns / quickest) + 1;
    candidate->alone = (double)candidate->amount / quickest * 1e9;
}

static void sample(struct calibration *c, struct block *block, struct candidate *candidate)
{
    if (candidate->turns == 0)
        choose_turns(candidate);
    int32_t threads = 0;
    double ns = run_once(c, block, candidate, &threads);
    double work = (double)candidate->amount * (double)candidate->turns * threads;
    double rate = work / fmax(ns, 1) * 1e9;
    candidate->rates[candidate->n++] = rate;
    candidate->best = fmax(candidate->best, rate);
}

/* ---- slices and passes ----------------------------------------------------------------------- */

/* Rounds until `until_ns` or until the slice's share of samples is taken, but at least one; each
 * starts with another candidate, so that none always follows the same one. */
static void slice(struct calibration *c, struct block *block, double until_ns)
{
    int32_t round = 0;
    do {
        for (int32_t i = 0; i < block->n_candidates; i++) {
            struct candidate *candidate = &block->candidates[(i + round) % block->n_candidates];
            if (!candidate->out && candidate->n < MAX_SAMPLES)
                sample(c, block, candidate);
            if ((double)assay_clock_ns() > c->give_up_ns)
                return;
        }
    } while (++round < MAX_SAMPLES / PASSES && (double)assay_clock_ns() < until_ns);
}

static double best_of(const struct block *block)
{
    double best = 0;
    for (int32_t i = 0; i < block->n_candidates; i++)
        best = fmax(best, block->candidates[i].best);
    return best;
}

static void drop_slow(struct block *block)
{
    double enough = keep_frac * best_of(block);
    for (int32_t i = 0; i < block->n_candidates; i++)
        if (block->candidates[i].n > 1 && block->candidates[i].best < enough)
            block->candidates[i].out = true;
}

/* The least rate of a sample that ran: one that took twice as long as the quickest did not, it
 * waited for a core. Each thread must also be about as quick as one alone (two on one core, at half
 * of that, may pass). */
static double least_rate(const struct calibration *c, const struct candidate *candidate)
{
    return fmax(candidate->best / 2, candidate->alone * 0.4 * c->threads);
}

static int64_t samples_that_ran(const struct calibration *c, const struct block *block)
{
    int64_t n = 0;
    for (int32_t i = 0; i < block->n_candidates; i++) {
        const struct candidate *candidate = &block->candidates[i];
        double least = least_rate(c, candidate);
        for (int64_t k = 0; k < candidate->n && !candidate->out; k++)
            n += candidate->rates[k] >= least;
    }
    return n;
}

static void run_passes(struct calibration *c, double deadline_ns)
{
    int32_t slices = PASSES * c->n_blocks;
    for (int32_t pass = 0; pass < PASSES; pass++)
        for (int32_t b = 0; b < c->n_blocks; b++, slices--) {
            double now = (double)assay_clock_ns();
            if (now >= deadline_ns && pass > 0)
                return;
            slice(c, &c->blocks[b], now + (deadline_ns - now) / slices);
            drop_slow(&c->blocks[b]);
            if (c->n_clocks < CLOCK_READINGS)
                c->clocks[c->n_clocks++] = assay_cpu_clock_hz();
        }
}

/* Not every CPU has units for narrow types, and the matrix unit of a shared host may be slow for
 * longer than a calibration lasts: then the best seen so far has to do. */
static bool is_optional(const struct block *block) { return block->kind > ASSAY_CPU_LOOP_FMA; }

/* One unit multiplies both, s8 twice as fast as bf16, and all threads have equal units. Where a
 * thread's best rates differ, its unit was slow whenever it was sampled. */
static const double slow_frac = 0.8;

/* In products of bf16; 0: there is none. */
static double fastest_unit(const struct calibration *c, const struct block *bf16,
                           const struct block *s8)
{
    double best = 0;
    if (!c->own || !(c->cpu->isa & ASSAY_CPU_AMX_BF16) || !(c->cpu->isa & ASSAY_CPU_AMX_INT8))
        return 0;
    for (int32_t t = 0; t < c->threads; t++)
        best = fmax(best, fmax(bf16->own[t], s8->own[t] / 2));
    return best;
}

static bool matrix_unit_was_slow(const struct calibration *c, const struct block *bf16,
                                 const struct block *s8)
{
    double slow = slow_frac * fastest_unit(c, bf16, s8);
    for (int32_t t = 0; t < c->threads && slow > 0; t++)
        if (bf16->own[t] < slow || s8->own[t] < 2 * slow)
            return true;
    return false;
}

/* The ceiling is that of fast units: one that stayed slow counts as the fastest that was seen. */
static void count_as_fast(const struct calibration *c, struct block *bf16, struct block *s8)
{
    double best = fastest_unit(c, bf16, s8);
    for (int32_t t = 0; t < c->threads && best > 0; t++) {
        if (bf16->own[t] < slow_frac * best)
            bf16->own[t] = best;
        if (s8->own[t] < slow_frac * 2 * best)
            s8->own[t] = 2 * best;
    }
}

/* All threads may be slow, for longer than a calibration lasts. */
static bool matrix_unit_was_faster(const struct calibration *c, const struct block *bf16)
{
    double sum = 0;
    for (int32_t t = 0; t < c->threads && bf16->own; t++)
        sum += bf16->own[t];
    return c->own && (c->cpu->isa & ASSAY_CPU_AMX_BF16) && sum < 0.95 * c->known_bf16;
}

static void run_all_once(struct calibration *c, struct block *block)
{
    int32_t threads;
    for (int32_t i = 0; i < block->n_candidates; i++)
        if (!block->candidates[i].out && block->candidates[i].turns > 0)
            run_once(c, block, &block->candidates[i], &threads);
}

/* Both again, until the patience is used up. */
static void wait_for_matrix_units(struct calibration *c)
{
    struct block *bf16 = NULL, *s8 = NULL;
    for (int32_t b = 0; b < c->n_blocks; b++) {
        bf16 = c->blocks[b].kind == ASSAY_CPU_LOOP_BF16 ? &c->blocks[b] : bf16;
        s8 = c->blocks[b].kind == ASSAY_CPU_LOOP_S8 ? &c->blocks[b] : s8;
    }
    while (bf16 && s8) {
        double late_ns = (double)assay_clock_ns() - c->give_up_ns;
        bool more = matrix_unit_was_faster(c, bf16) && late_ns < second_look_ns;
        if (!more && !(matrix_unit_was_slow(c, bf16, s8) && late_ns < 0))
            break;
        run_all_once(c, bf16);
        run_all_once(c, s8);
    }
    if (bf16 && s8)
        count_as_fast(c, bf16, s8);
}

/* On a busy machine most samples wait for a core: blocks with too few that ran go on. */
static enum assay_status run_more(struct calibration *c, struct assay_error *err)
{
    int32_t short_of = 0;
    do {
        short_of = 0;
        for (int32_t b = 0; b < c->n_blocks; b++)
            if (!is_optional(&c->blocks[b]) &&
                samples_that_ran(c, &c->blocks[b]) < enough_samples) {
                short_of++;
                slice(c, &c->blocks[b], 0);
            }
    } while (short_of > 0 && (double)assay_clock_ns() < c->give_up_ns);
    if (short_of == 0)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_UNSUPPORTED, "cpu",
                           "this machine is too busy to measure its ceilings; try again "
                           "when nothing else runs");
}

/* The 95th percentile of the samples that ran. */
static double percentile_of(const struct calibration *c, struct candidate *candidate)
{
    int64_t first = 0;
    assay_stats_sort(candidate->rates, candidate->n);
    while (first < candidate->n && candidate->rates[first] < least_rate(c, candidate))
        first++;
    if (first == candidate->n)
        return 0;
    return assay_stats_quantile(candidate->rates + first, candidate->n - first, 0.95);
}

static double ceiling_of(const struct calibration *c, struct block *block)
{
    double best = 0;
    for (int32_t i = 0; i < block->n_candidates; i++)
        if (!block->candidates[i].out)
            best = fmax(best, percentile_of(c, &block->candidates[i]));
    double together = 0;
    for (int32_t t = 0; block->own && t < c->threads; t++)
        together += block->own[t];
    return fmax(best, together);
}

/* ---- what there is to measure ---------------------------------------------------------------- */

static void add_candidates(struct block *block, const struct assay_cpu_loop *loops, uint32_t isa,
                           size_t amount)
{
    for (const struct assay_cpu_loop *loop = loops; loop && loop->name; loop++)
        if (loop->kind == block->kind && (loop->isa & ~isa) == 0 &&
            block->n_candidates < MAX_CANDIDATES)
            block->candidates[block->n_candidates++] =
                (struct candidate){.loop = loop, .amount = amount};
}

static void plan(struct calibration *c, struct assay_ceilings *out)
{
    for (int math = 0; math < ASSAY_CEILING_F8; math++) { /* which comes from bf16's */
        static const size_t amount[ASSAY_CEILING_F8] = {1 << 20, 1 << 21, 1 << 24, 1 << 25};
        struct block *block = &c->blocks[c->n_blocks++];
        block->kind = (enum assay_cpu_loop_kind)((int)ASSAY_CPU_LOOP_FMA + math);
        block->result = &out->flops[math];
        add_candidates(block, c->loops.wide, c->cpu->isa, amount[math]);
        add_candidates(block, c->loops.any, c->cpu->isa, amount[math]);
        add_candidates(block, c->loops.math, c->cpu->isa, amount[math]);
    }
}

/* ---- clock and timer ------------------------------------------------------------------------- */

enum { TIMER_BATCHES = 201, TIMER_READS = 64, FLOOR_SAMPLES = 2001 };

#if defined(__x86_64__)
enum { CHAIN_TURNS = 250, CHAIN_MULTIPLIES = 16 };

/* A 32-bit multiplication that waits for the one before it takes 3 cycles on Intel's cores since
 * Nehalem and AMD's since Zen; additions would not do, as some are done while renaming. 250 * 16 of
 * them are 4 us at 3 GHz. */
static int64_t chain_ns(void)
{
    uint32_t x = 3;
    int64_t start = assay_clock_ns();
    for (int i = 0; i < CHAIN_TURNS; i++) {
#define TIMES4 "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
        __asm__ volatile(TIMES4 TIMES4 TIMES4 TIMES4 : "+r"(x));
#undef TIMES4
    }
    return assay_clock_ns() - start;
}

double assay_cpu_clock_hz(void)
{
    /* The quickest of five chains, and of five readings of the clock alone, which each chain's time
     * contains once. */
    int64_t chain = INT64_MAX, reading = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t ns = chain_ns();
        chain = ns < chain ? ns : chain;
        int64_t start = assay_clock_ns();
        ns = assay_clock_ns() - start;
        reading = ns < reading ? ns : reading;
    }
    double cycles = 3.0 * CHAIN_TURNS * CHAIN_MULTIPLIES;
    return chain > reading ? cycles / (double)(chain - reading) * 1e9 : 0;
}
#else
double assay_cpu_clock_hz(void) { return 0; }
#endif

static double timer_ns(double *scratch)
{
    for (int i = 0; i < TIMER_BATCHES; i++) {
        int64_t start = assay_clock_ns(), end = start;
        for (int k = 0; k < TIMER_READS; k++)
            end = assay_clock_ns();
        scratch[i] = (double)(end - start) / TIMER_READS;
    }
    assay_stats_sort(scratch, TIMER_BATCHES);
    return assay_stats_quantile(scratch, TIMER_BATCHES, 0.5);
}

static enum assay_status empty_run(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_OK;
}

/* The 5th percentile: what a sample that nothing disturbed shows for no work at all. */
static double floor_ns(double *scratch)
{
    enum assay_status (*volatile run)(void *, const struct assay_work *) = empty_run;
    struct assay_work work = {.iters = 1};
    for (int i = 0; i < FLOOR_SAMPLES; i++) {
        int64_t start = assay_clock_ns();
        run(NULL, &work);
        scratch[i] = (double)(assay_clock_ns() - start);
    }
    assay_stats_sort(scratch, FLOOR_SAMPLES);
    return assay_stats_quantile(scratch, FLOOR_SAMPLES, 0.05);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void name_device(assay_device *device, const struct assay_cpu_info *cpu,
                        struct assay_ceilings *out)
{
    struct assay_device_info info = {0};
    if (device->driver && device->driver->describe)
        device->driver->describe(device, &info);
    snprintf(out->device, sizeof out->device, "%s", info.name[0] ? info.name : cpu->model);
}

/* More threads than cores do no more than the cores. What one thread may use does not tell: the
 * driver has pinned them, each to its own. */
static int32_t useful_threads(int32_t threads)
{
    cpu_set_t all;
    CPU_ZERO(&all);
#pragma omp parallel num_threads(threads > 0 ? threads : 1)
    {
        cpu_set_t mine;
        if (sched_getaffinity(0, sizeof mine, &mine) == 0) {
#pragma omp critical
            CPU_OR(&all, &all, &mine);
        }
    }
    int32_t cores = CPU_COUNT(&all);
    return cores > 0 && cores < threads ? cores : threads > 0 ? threads : 1;
}

static void conclude(struct calibration *c, struct assay_ceilings *out)
{
    for (int32_t b = 0; b < c->n_blocks; b++)
        *c->blocks[b].result = ceiling_of(c, &c->blocks[b]);
    out->flops[ASSAY_CEILING_F8] = out->flops[ASSAY_CEILING_BF16]; /* they are exact in it */
    for (int math = 0; math < ASSAY_CEILING_MATHS; math++) /* whatever f32 can do, others can */
        out->flops[math] = fmax(out->flops[math], out->flops[ASSAY_CEILING_F32]);
    /* An f16 is the sum of two bf16: four products of theirs are one of its. */
    out->flops[ASSAY_CEILING_F16] =
        fmax(out->flops[ASSAY_CEILING_F16], out->flops[ASSAY_CEILING_BF16] / 4);
    assay_stats_sort(c->clocks, c->n_clocks);
    out->clock_hz = assay_stats_quantile(c->clocks, c->n_clocks, 0.5);
    double scratch[FLOOR_SAMPLES];
    out->timer_ns = timer_ns(scratch);
    out->floor_ns = floor_ns(scratch);
    out->measured_at = (int64_t)time(NULL);
}

static bool give_own_rates(struct calibration *c)
{
    size_t threads = (size_t)c->threads;
    c->own = assay_calloc((size_t)c->n_blocks * threads, sizeof *c->own);
    for (int32_t b = 0; b < c->n_blocks && c->own; b++)
        if (is_optional(&c->blocks[b]))
            c->blocks[b].own = c->own + (size_t)b * threads;
    return c->own;
}

enum assay_status assay_cpu_calibrate(assay_device *device, struct assay_ceilings *out,
                                      struct assay_error *err)
{
    *out = (struct assay_ceilings){0};
    struct calibration *c = assay_calloc(1, sizeof *c);
    if (!c)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "no memory to measure the ceilings");
    c->cpu = assay_cpu_info();
    c->loops = assay_cpu_loops(c->cpu->isa);
    c->threads = useful_threads(device->threads);
    name_device(device, c->cpu, out);
    out->threads = device->threads;
    struct assay_ceilings before;
    if (assay_ceilings_load(out->device, out->threads, &before, NULL) == ASSAY_OK)
        c->known_bf16 = before.flops[ASSAY_CEILING_BF16];
    plan(c, out);
    enum assay_status status = give_own_rates(c)
                                   ? assay_cpu_curve(c->threads, out, err)
                                   : assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "out of memory");
    if (status == ASSAY_OK) {
        double start_ns = (double)assay_clock_ns();
        c->give_up_ns = start_ns + patience_ns;
        run_passes(c, start_ns + budget_ns);
        status = run_more(c, err);
        wait_for_matrix_units(c);
    }
    if (status == ASSAY_OK)
        conclude(c, out);
    assay_free(c->own);
    assay_free(c);
    return status;
}
