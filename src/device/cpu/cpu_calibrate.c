/* cpu_calibrate.c: bandwidth of every level, peak arithmetic, clock, timer.
 *
 * What is measured is a list of blocks, one for each level and direction (L1 read, L1 write, …,
 * memory copy) and one for arithmetic. A block has candidates: each loop of its kind over each size
 * that fits the level. A round samples every candidate that is still in once; a slice of a block is
 * rounds for some tens of milliseconds; a pass is one slice of every block. There are several
 * passes, so that a neighbour who is busy for half a second does not own a level, and after each
 * pass the candidates that are clearly slower leave, so that most samples go to the loops that
 * matter. A block's ceiling is its best candidate's 95th percentile: the quiet machine, without
 * believing the one freak in a hundred.
 *
 * A matrix unit of a shared host is slow for seconds at a time, and seldom are those of all threads
 * fast together. Each is its core's own, so its ceiling is the sum of what each thread did at best
 * while the others ran too; one that stayed slow all the time counts as the fastest.
 *
 * Caches are warmed by an untimed run of the same loop before each sample. Memory is never warm:
 * every sample takes the next piece of a pool of twice the last-level cache, which is how the cold
 * measurements that are held against this ceiling treat their operands. */
#include "device/cpu/cpu_calibrate.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/cpu_info.h"
#include "device/cpu/cpu_loops.h"
#include "stats/stats.h"

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    PASSES = 4,
    MAX_SIZES = 3,
    MAX_CANDIDATES = 64, /* 20 loops of a kind, at most, over three sizes */
    MAX_SAMPLES = 256,
    MAX_BLOCKS = ASSAY_MAX_LEVELS * 3 + ASSAY_CEILING_MATHS,
    CLOCK_READINGS = PASSES * MAX_BLOCKS,
};

/* The whole calibration, faulting the pool in included. */
static const double budget_ns = 2.5e9;
static const int64_t touch_budget_ns = 1200000000;
/* More of it where the machine is busy, until each block has so many samples that ran. */
static const double patience_ns = 3.4e9;
static const int64_t enough_samples = 8;
/* And more for a matrix unit that was faster the last time it was measured. */
static const double second_look_ns = 6e9;
/* A sample this long hides the clock's 20 ns and the threads' ways to the barrier, some 200 ns. */
static const double sample_ns = 100e3;
/* What one thread takes of the pool in a sample of memory: 0.2 to 1 ms on machines of today. */
static const size_t memory_piece = (size_t)4 << 20;
static const size_t huge_page = (size_t)2 << 20;
/* A copy's source lies two lines further on in its page than its target: at the same place, or a
 * little before it, every load would seem to hit a store just issued. */
static const size_t copy_shift = 128;
/* Samples of one loop scatter by some 5 % on a shared machine; one whose best is 10 % slower is
 * slower. */
static const double keep_frac = 0.9;

/* The caches of a core; the last level, which may be shared; memory, which is cold. */
enum place { NEAR, FAR, COLD };

struct candidate {
    const struct assay_cpu_loop *loop;
    size_t amount; /* what one thread's turn moves or computes */
    int64_t turns; /* in one sample; 0 before it is known */
    double alone;  /* the rate of one thread by itself */
    bool out;
    int64_t n;
    double best, rates[MAX_SAMPLES];
};

struct block {
    enum assay_cpu_loop_kind kind;
    enum place place;
    double *result; /* where in the ceilings the answer goes */
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
    char *pool;
    size_t pool_bytes, pool_used; /* first what is used hot, then what is only ever cold */
    size_t hot_bytes, cursor;     /* where the cold part begins; the next cold piece in it */
    int32_t n_blocks, n_clocks;
    struct block blocks[MAX_BLOCKS];
    double *own; /* of all blocks, for each thread */
    double clocks[CLOCK_READINGS];
};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t most(size_t a, size_t b) { return a > b ? a : b; }

/* ---- the pool -------------------------------------------------------------------------------- */

/* Bytes of one thread's share; a share is a bit larger than its amount, for a copy's shift. */
static size_t share_of(const struct candidate *candidate)
{
    size_t bytes = candidate->loop->kind >= ASSAY_CPU_LOOP_FMA ? 0 : candidate->amount;
    return (bytes + copy_shift + 4095) / 4096 * 4096;
}

/* What the samples of caches need, and one piece of cold memory. */
static void pool_size(struct calibration *c, size_t *hot, size_t *piece)
{
    *hot = *piece = 0;
    for (int32_t b = 0; b < c->n_blocks; b++)
        for (int32_t i = 0; i < c->blocks[b].n_candidates; i++) {
            size_t bytes = share_of(&c->blocks[b].candidates[i]) * (size_t)c->threads;
            size_t *part = c->blocks[b].place == COLD ? piece : hot;
            *part = most(*part, bytes);
        }
}

/* Faults the pool in, all threads at once, and cuts off what is not there in time: a fresh guest
 * may take seconds for half a gigabyte. Each piece is as large as a huge page. */
static void pool_touch(struct calibration *c, size_t needed)
{
    int64_t until = assay_clock_ns() + touch_budget_ns;
    size_t step = huge_page * 16, touched = 0;
    while (touched < c->pool_bytes && (touched < needed || assay_clock_ns() < until)) {
        size_t end = least(touched + step, c->pool_bytes);
#pragma omp parallel for num_threads(c->threads)
        for (size_t i = touched; i < end; i += huge_page)
            memset(c->pool + i, 1, least(huge_page, end - i));
        touched = end;
    }
    c->pool_used = touched;
}

/* The cold part is twice the last-level cache and a bit, so that what comes round again is gone
 * from it; but the whole is no more than a third of what is free, and then as much as can be had.
 */
static enum assay_status pool_open(struct calibration *c, struct assay_error *err)
{
    size_t hot, piece, available = assay_cpu_memory_available();
    pool_size(c, &hot, &piece);
    size_t llc = assay_cpu_llc_bytes(c->threads), wanted = hot + 2 * llc + llc / 16;
    size_t needed = hot + 2 * piece + huge_page;
    wanted = least(wanted, available ? available / 3 : (size_t)256 << 20);
    for (size_t bytes = most(wanted, needed); bytes >= needed; bytes = bytes * 3 / 4) {
        void *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pool == MAP_FAILED)
            continue;
#if defined(MADV_HUGEPAGE)
        madvise(pool, bytes, MADV_HUGEPAGE);
#endif
        c->pool = pool;
        c->pool_bytes = bytes;
        c->hot_bytes = c->cursor = hot;
        pool_touch(c, needed);
        return ASSAY_OK;
    }
    return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu",
                           "no memory to measure the ceilings in; they need %zu MiB", needed >> 20);
}

static void pool_close(struct calibration *c)
{
    if (c->pool)
        munmap(c->pool, c->pool_bytes);
}

/* ---- one sample ------------------------------------------------------------------------------ */

/* One turn over `mem`. A copy goes from the upper half to the lower. */
static void turn(const struct candidate *candidate, char *mem)
{
    size_t amount = candidate->amount;
    if (candidate->loop->kind == ASSAY_CPU_LOOP_COPY)
        candidate->loop->run(mem, mem + amount / 2 + copy_shift, amount / 2);
    else
        candidate->loop->run(mem, mem, amount);
}

/* Where a sample happens: the same place again, or the next piece of the cold part, which goes
 * round. */
static char *piece_of(struct calibration *c, const struct block *block,
                      const struct candidate *candidate)
{
    if (block->place != COLD)
        return c->pool;
    size_t bytes = share_of(candidate) * (size_t)c->threads;
    c->cursor += bytes;
    if (c->cursor + bytes > c->pool_used)
        c->cursor = c->hot_bytes;
    return c->pool + c->cursor;
}

/* The time from the first thread's start to the last one's end, in ns. */
static double run_once(struct calibration *c, struct block *block,
                       const struct candidate *candidate, int32_t *threads)
{
    char *piece = piece_of(c, block, candidate);
    size_t share = share_of(candidate);
    int64_t first = INT64_MAX, last = 0;
    int32_t team = 1;
#pragma omp parallel num_threads(c->threads) reduction(min : first) reduction(max : last, team)
    {
        char *mem = piece + share * (size_t)omp_get_thread_num();
        team = omp_get_num_threads();
        if (block->place != COLD)
            turn(candidate, mem);
#pragma omp barrier
        first = assay_clock_ns();
        for (int64_t i = 0; i < candidate->turns; i++)
            turn(candidate, mem);
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
 * to be waited for. The first warms up, and one that is long enough by itself need not be repeated.
 * Cold memory takes one turn. */
static void choose_turns(struct calibration *c, const struct block *block,
                         struct candidate *candidate)
{
    double quickest = HUGE_VAL;
    for (int i = 0; i < 4 && (i < 2 || quickest < sample_ns); i++) {
        char *mem = piece_of(c, block, candidate);
        int64_t start = assay_clock_ns();
        turn(candidate, mem);
        quickest = fmin(quickest, (double)(assay_clock_ns() - start));
    }
    quickest = fmax(quickest, 1);
    candidate->turns = block->place == COLD ? 1 : (int64_t)(sample_ns / quickest) + 1;
    candidate->alone = (double)candidate->amount / quickest * 1e9;
}

static void sample(struct calibration *c, struct block *block, struct candidate *candidate)
{
    if (candidate->turns == 0)
        choose_turns(c, block, candidate);
    int32_t threads = 0;
    double ns = run_once(c, block, candidate, &threads);
    double work = (double)candidate->amount * (double)candidate->turns * threads;
    double rate = work / fmax(ns, 1) * 1e9;
    candidate->rates[candidate->n++] = rate;
    candidate->best = fmax(candidate->best, rate);
}

/* ---- slices and passes ----------------------------------------------------------------------- */

/* Rounds until `until_ns` or the slice's share of samples is taken, but one at the least; each
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
 * waited for a core. Where threads do not share what they use, each must also be about as quick as
 * one alone (two on one core, at half of that, may pass); where they do, all of them together. */
static double least_rate(const struct calibration *c, const struct block *block,
                         const struct candidate *candidate)
{
    double together = candidate->alone * (block->place == NEAR ? 0.4 * c->threads : 0.5);
    return fmax(candidate->best / 2, together);
}

static int64_t samples_that_ran(const struct calibration *c, const struct block *block)
{
    int64_t n = 0;
    for (int32_t i = 0; i < block->n_candidates; i++) {
        const struct candidate *candidate = &block->candidates[i];
        double least = least_rate(c, block, candidate);
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
 * longer than a calibration lasts: what was seen of it has to do. */
static bool is_optional(const struct block *block) { return block->kind > ASSAY_CPU_LOOP_FMA; }

/* One unit multiplies both, s8 twice as fast as bf16, and all threads have the same. Where a
 * thread's best say otherwise, its unit was slow whenever it had its turn. */
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

/* Both again, as long as there is patience. */
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
                           "this machine is too busy to measure what it can do at most; try again "
                           "when nothing else runs");
}

/* The 95th percentile of the samples that ran. */
static double percentile_of(const struct calibration *c, const struct block *block,
                            struct candidate *candidate)
{
    int64_t first = 0;
    assay_stats_sort(candidate->rates, candidate->n);
    while (first < candidate->n && candidate->rates[first] < least_rate(c, block, candidate))
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
            best = fmax(best, percentile_of(c, block, &block->candidates[i]));
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
        if (loop->kind == block->kind && (block->place != NEAR || !loop->far) &&
            (loop->isa & ~isa) == 0 && block->n_candidates < MAX_CANDIDATES)
            block->candidates[block->n_candidates++] =
                (struct candidate){.loop = loop, .amount = amount};
}

static void add_block(struct calibration *c, enum assay_cpu_loop_kind kind, enum place place,
                      const size_t *sizes, double *result)
{
    struct block *block = &c->blocks[c->n_blocks++];
    block->kind = kind;
    block->place = place;
    block->result = result;
    for (int i = 0; i < MAX_SIZES && sizes[i]; i++) {
        /* Both halves of a copy are whole grains. */
        const size_t grain = (size_t)2 * ASSAY_CPU_LOOP_GRAIN;
        size_t amount = most(sizes[i] / grain, 1) * grain;
        add_candidates(block, c->loops.wide, c->cpu->isa, amount);
        add_candidates(block, c->loops.any, c->cpu->isa, amount);
        add_candidates(block, c->loops.math, c->cpu->isa, amount);
    }
}

/* `bytes` are of all threads, `sizes` of one; they end with 0 where there are fewer. */
static void add_level(struct calibration *c, struct assay_ceilings *out, const char *name,
                      enum place place, size_t bytes, const size_t *sizes)
{
    struct assay_ceiling_level *level = &out->levels[out->n_levels++];
    snprintf(level->name, sizeof level->name, "%s", name);
    level->bytes = bytes;
    add_block(c, ASSAY_CPU_LOOP_READ, place, sizes, &level->read);
    add_block(c, ASSAY_CPU_LOOP_WRITE, place, sizes, &level->write);
    add_block(c, ASSAY_CPU_LOOP_COPY, place, sizes, &level->copy);
}

/* From twice what the second level holds, so that little is found there, to at most a quarter of
 * the last level, which neighbours share, and 64 MiB, which takes long enough. Where even twice the
 * second level is more than that, three quarters of the last. */
static void add_last_level(struct calibration *c, struct assay_ceilings *out, size_t l2_total)
{
    size_t llc = assay_cpu_llc_bytes(c->threads), threads = (size_t)c->threads;
    size_t lo = 2 * l2_total, hi = least(c->cpu->llc_bytes / 4, (size_t)64 << 20);
    size_t sizes[MAX_SIZES] = {llc * 3 / 4 / threads};
    if (lo <= hi) {
        sizes[0] = lo / threads;
        sizes[1] = least(lo * 3 / 2, hi) / threads;
        sizes[2] = least(lo * 3, hi) / threads;
    }
    add_level(c, out, "L3", FAR, most(llc, lo), sizes);
}

static void plan(struct calibration *c, struct assay_ceilings *out)
{
    const struct assay_cpu_info *cpu = c->cpu;
    size_t l1 = cpu->l1d_bytes, l2 = cpu->l2_bytes, cores = (size_t)c->threads;
    add_level(c, out, "L1", NEAR, l1 * cores, (const size_t[MAX_SIZES]){l1 / 2, l1 * 3 / 4});
    if (l2 > l1)
        add_level(c, out, "L2", NEAR, l2 * cores, (const size_t[MAX_SIZES]){l2 / 4, l2 / 2});
    if (cpu->llc_bytes > l2)
        add_last_level(c, out, most(l2, l1) * cores);
    add_level(c, out, "memory", COLD, SIZE_MAX, (const size_t[MAX_SIZES]){memory_piece - 4096});
    for (int math = 0; math < ASSAY_CEILING_F8; math++) { /* which comes from bf16's */
        static const size_t amount[ASSAY_CEILING_F8] = {1 << 20, 1 << 21, 1 << 24, 1 << 25};
        enum assay_cpu_loop_kind kind = (enum assay_cpu_loop_kind)((int)ASSAY_CPU_LOOP_FMA + math);
        add_block(c, kind, NEAR, (const size_t[MAX_SIZES]){amount[math]}, &out->flops[math]);
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

/* Without room for it the percentiles have to do. */
static void give_own_rates(struct calibration *c)
{
    size_t threads = (size_t)c->threads;
    c->own = assay_calloc((size_t)c->n_blocks * threads, sizeof *c->own);
    for (int32_t b = 0; b < c->n_blocks && c->own; b++)
        if (is_optional(&c->blocks[b]))
            c->blocks[b].own = c->own + (size_t)b * threads;
}

enum assay_status assay_cpu_calibrate(assay_device *device, struct assay_ceilings *out,
                                      struct assay_error *err)
{
    *out = (struct assay_ceilings){0};
    double start_ns = (double)assay_clock_ns();
    struct calibration *c = assay_calloc(1, sizeof *c);
    if (!c)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "no memory to measure the ceilings");
    c->give_up_ns = start_ns + patience_ns;
    c->cpu = assay_cpu_info();
    c->loops = assay_cpu_loops(c->cpu->isa);
    c->threads = useful_threads(device->threads);
    name_device(device, c->cpu, out);
    out->threads = device->threads;
    struct assay_ceilings before;
    if (assay_ceilings_load(out->device, out->threads, &before, NULL) == ASSAY_OK)
        c->known_bf16 = before.flops[ASSAY_CEILING_BF16];
    plan(c, out);
    give_own_rates(c);
    enum assay_status status = pool_open(c, err);
    if (status == ASSAY_OK) {
        run_passes(c, start_ns + budget_ns);
        status = run_more(c, err);
        wait_for_matrix_units(c);
    }
    if (status == ASSAY_OK)
        conclude(c, out);
    pool_close(c);
    assay_free(c->own);
    assay_free(c);
    return status;
}
