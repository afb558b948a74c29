/* test_verdict.c: from given samples to the measurement that is reported, the ceilings it is
 * compared with, and the finding "impossible": faster than the machine can be. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/verdict.h"
#include "op/op.h"

#include <string.h>

enum { ROUNDS = 20, COPY = 0, MATH = 1, PROBES = 2 };

/* The best that was seen: caches of 1 MB at 100 GB/s, memory at 10 GB/s, 1 TFLOP/s. */
static const struct assay_ceilings best_seen = {
    .device = "fake",
    .threads = 1,
    .n_levels = 2,
    .levels = {{"L2", 1000000}, {"memory", SIZE_MAX}},
    .n_points = 2,
    .points = {{1000000, {100e9, 100e9, 100e9, 100e9}}, {100000000, {10e9, 10e9, 10e9, 10e9}}},
    .flops = {1e12, 1e12, 1e12, 1e12},
};

struct bed {
    double samples[3][ROUNDS], clocks[ROUNDS], probed[PROBES][ROUNDS];
    uint8_t marks[3][ROUNDS];
    struct assay_lane lanes[3], probe_lanes[PROBES];
    struct assay_ceilings best;
    struct assay_probes probes;
    struct assay_cost costs[3];
    double working_sets[3];
    struct assay_verdict_input input;
    int64_t baselines[3]; /* the first lane */
};

static void fill(double *samples, double value)
{
    for (int i = 0; i < ROUNDS; i++)
        samples[i] = value;
}

/* Of a kernel that moves 1 MB in and 1 MB out: 200 us at 10 GB/s, and 1 us for its operations. The
 * probes do what was seen of the machine: 8 MB in 800 us, 1 G operations in 1 ms. */
static void make_bed(struct bed *bed)
{
    *bed = (struct bed){.best = best_seen};
    for (int i = 0; i < 3; i++) {
        fill(bed->samples[i], 400e3);
        bed->lanes[i] = (struct assay_lane){.samples = bed->samples[i],
                                            .marks = bed->marks[i],
                                            .taken = ROUNDS,
                                            .iters = 3,
                                            .precise = true};
        bed->costs[i] = (struct assay_cost){.bytes_read = 1e6, .bytes_written = 1e6, .flops = 1e6};
        bed->working_sets[i] = 8e6;
    }
    bed->probes.n = PROBES;
    bed->probes.specs[COPY] = (struct assay_probe_spec){.kind = ASSAY_PROBE_COPY, .bytes = 8e6};
    bed->probes.specs[MATH] = (struct assay_probe_spec){.kind = ASSAY_PROBE_MATH};
    bed->probes.probes[COPY].amount = 8e6;
    bed->probes.probes[MATH].amount = 1e9;
    for (int i = 0; i < PROBES; i++)
        bed->probe_lanes[i] = (struct assay_lane){.samples = bed->probed[i], .probe = true};
    fill(bed->probed[COPY], 800e3);
    fill(bed->probed[MATH], 1e6);
    fill(bed->clocks, 3e9);
    bed->input = (struct assay_verdict_input){
        .lanes = bed->lanes,
        .n_lanes = 3,
        .rounds = ROUNDS,
        .clocks = bed->clocks,
        .baselines = bed->baselines,
        .costs = bed->costs,
        .working_sets = bed->working_sets,
        .probes = &bed->probes,
        .probe_lanes = bed->probe_lanes,
        .best = &bed->best,
    };
}

static struct assay_measurement measure(struct bed *bed, int64_t lane)
{
    struct assay_measurement m;
    memset(&m, 0xee, sizeof m);
    assert_int_equal(assay_verdict_measurement(&bed->input, lane, &m), ASSAY_OK);
    return m;
}

static bool is_possible(struct bed *bed, int64_t lane, char reason[256])
{
    struct assay_measurement m = measure(bed, lane);
    return assay_verdict_possible(&bed->input, &m, reason, 256);
}

/* ---- which rows may be called the fastest ---------------------------------------------------- */

static void alternate(double *samples, double low, double high)
{
    for (int i = 0; i < ROUNDS; i++)
        samples[i] = i % 2 ? high : low;
}

static void test_equals_are_all_the_fastest(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    fill(bed.samples[1], 401e3);
    fill(bed.samples[2], 440e3);
    assert_true(measure(&bed, 0).fastest);
    assert_true(measure(&bed, 1).fastest); /* 0.25 % is nothing */
    assert_false(measure(&bed, 2).fastest);
}

/* A hundred times slower in the median, but too disturbed to be significantly slower. */
static void test_noise_does_not_make_a_row_the_fastest(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    fill(bed.samples[2], 44e6);
    bed.samples[2][3] = bed.samples[2][4] = bed.samples[2][5] = bed.samples[2][6] = 100e3;
    struct assay_measurement m = measure(&bed, 2);
    assert_false(m.ratio.significant);
    assert_false(m.fastest);
    assert_true(measure(&bed, 0).fastest);
    alternate(bed.samples[2], 380e3, 460e3); /* 5 % slower at the most, and nobody knows */
    assert_true(measure(&bed, 2).fastest);
}

/* With fewer than ten rounds nobody is called the fastest, not even the only one. */
static void test_few_rounds_make_nobody_the_fastest(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int lane = 0; lane < 3; lane++)
        for (int i = 9; i < ROUNDS; i++)
            bed.samples[lane][i] = (double)NAN;
    fill(bed.samples[2], 300e3);
    bed.samples[2][0] = 301e3;
    for (int i = 9; i < ROUNDS; i++)
        bed.samples[2][i] = (double)NAN;
    for (int lane = 0; lane < 3; lane++)
        assert_false(measure(&bed, lane).fastest);
    bed.samples[2][9] = 300e3; /* ten of its own; nine together with the others */
    assert_true(measure(&bed, 2).fastest);
    assert_false(measure(&bed, 0).fastest);
}

static void test_rates_and_efficiency(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    struct assay_measurement m = measure(&bed, 0);
    assert_true(m.measured && m.precise);
    assert_int_equal(m.iters, 3);
    assert_int_equal(m.time.n, ROUNDS);
    assert_near(m.time.median, 400e3, 0);
    assert_near(m.bytes_per_s, 5e9, 1);
    assert_near(m.flops_per_s, 2.5e9, 1);
    assert_near(m.ceiling_ns, 200e3, 1e-6);
    assert_near(m.efficiency, 0.5, 1e-12);
    assert_near(m.efficiency_ci.lo, 0.5, 1e-12);
    assert_near(m.efficiency_ci.hi, 0.5, 1e-12);
    assert_int_equal(m.ceiling_rounds, ROUNDS);
    assert_near(m.machine_frac, 1, 1e-12);
    assert_string_equal(m.bound, "memory");
}

/* ---- against probes of the same rounds ------------------------------------------------------- */

/* Half of the run at half speed, kernel and probe alike: 50 % in each round, though the median of
 * the one over that of the other may be anything. */
static void test_efficiency_is_the_ratio_within_the_rounds(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++) {
        double slow = 1 + i; /* the machine becomes slower all the time */
        bed.samples[0][i] = 400e3 * slow;
        bed.probed[COPY][i] = 800e3 * slow;
    }
    struct assay_measurement m = measure(&bed, 0);
    assert_near(m.efficiency, 0.5, 1e-12);
    assert_near(m.efficiency_ci.hi - m.efficiency_ci.lo, 0, 1e-12);
    assert_near(m.ceiling_ns, 200e3 * 10.5, 1);
    assert_near(m.machine_frac, 1 / 10.5, 1e-6);
}

static void test_efficiency_has_an_interval(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++)
        bed.samples[0][i] = 400e3 * (1 + 0.01 * (i - 10));
    struct assay_measurement m = measure(&bed, 0);
    assert_true(m.efficiency_ci.lo < m.efficiency && m.efficiency < m.efficiency_ci.hi);
    assert_true(m.efficiency_ci.lo > 0.45 && m.efficiency_ci.hi < 0.56);
}

/* A probe sits out of most rounds; what it says counts for those it was in. */
static void test_only_rounds_with_a_probe_count(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++)
        if (i % 5) {
            bed.probed[COPY][i] = (double)NAN;
            bed.samples[0][i] = 100e3;
        }
    struct assay_measurement m = measure(&bed, 0);
    assert_int_equal(m.ceiling_rounds, 4);
    assert_near(m.efficiency, 0.5, 1e-12);
    assert_near(m.time.median, 100e3, 0);
}

static void test_the_larger_of_two_bounds_binds(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    bed.costs[0].flops = 199e6;
    assert_string_equal(measure(&bed, 0).bound, "memory");
    bed.costs[0].flops = 201e6;
    struct assay_measurement m = measure(&bed, 0);
    assert_string_equal(m.bound, "compute");
    assert_near(m.ceiling_ns, 201e3, 1e-6);
    assert_near(m.efficiency, 201.0 / 400, 1e-12);
    fill(bed.probed[COPY], 850e3); /* memory is slower than usual: now that is what binds */
    m = measure(&bed, 0);
    assert_string_equal(m.bound, "memory");
    assert_near(m.machine_frac, 800.0 / 850, 1e-12);
}

/* Where a level is named, it is the one that holds the working set. */
static void test_the_level_is_that_of_the_working_set(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    bed.working_sets[0] = bed.probes.specs[COPY].bytes = 1e6;
    assert_string_equal(measure(&bed, 0).bound, "L2");
    bed.input.cold = bed.probes.cold = true;
    bed.probes.specs[COPY].bytes = 2e6; /* cold, what is touched are the bytes that are moved */
    assert_string_equal(measure(&bed, 0).bound, "memory");
}

static void test_a_probe_of_another_size_or_kind_says_nothing(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    bed.probes.n = 1; /* none of arithmetic */
    bed.working_sets[0] = 9e6;
    assert_near(measure(&bed, 0).efficiency, 0, 0);
    bed.working_sets[0] = 8e6;
    bed.costs[0].bytes_written = 0;
    assert_near(measure(&bed, 0).efficiency, 0, 0);
    make_bed(&bed);
    bed.working_sets[0] = 9e6; /* what is known still binds */
    bed.costs[0].flops = 100e6;
    struct assay_measurement m = measure(&bed, 0);
    assert_string_equal(m.bound, "compute");
    assert_near(m.efficiency, 0.25, 1e-12);
    bed.costs[0].math = ASSAY_MATH_S8;
    assert_string_equal(measure(&bed, 0).bound, "");
}

static void test_a_probe_that_was_never_sampled_says_nothing(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    fill(bed.samples[0], 1);
    fill(bed.probed[COPY], (double)NAN);
    fill(bed.probed[MATH], (double)NAN);
    struct assay_measurement m = measure(&bed, 0);
    assert_near(m.ceiling_ns, 0, 0);
    assert_near(m.efficiency, 0, 0);
    assert_int_equal(m.ceiling_rounds, 0);
    bed.probe_lanes[COPY].samples = bed.probe_lanes[MATH].samples = NULL;
    m = measure(&bed, 0);
    assert_near(m.ceiling_ns, 0, 0);
    assert_true(is_possible(&bed, 0, reason));
}

/* How the machine is doing, by the best that was seen of what binds. */
static void test_the_machine_is_held_against_its_best(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    fill(bed.probed[COPY], 1600e3);
    struct assay_measurement m = measure(&bed, 0);
    assert_near(m.machine_frac, 0.5, 1e-12);
    assert_near(m.efficiency, 1, 1e-12); /* as good as it can be just now */
    bed.costs[0].flops = 1e9;
    fill(bed.probed[MATH], 1.25e6);
    assert_near(measure(&bed, 0).machine_frac, 0.8, 1e-12);
    bed.best.flops[ASSAY_MATH_F32] = 0;
    assert_near(measure(&bed, 0).machine_frac, 0, 0); /* not known */
    make_bed(&bed);
    bed.best = (struct assay_ceilings){0};
    m = measure(&bed, 0);
    assert_near(m.efficiency, 0.5, 1e-12);
    assert_near(m.machine_frac, 0, 0);
    assert_string_equal(m.bound, "");
}

/* Cold calls on little are too short for the curve, which is of whole passes. */
static void test_short_cold_calls_say_nothing_of_the_machine(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    bed.input.cold = bed.probes.cold = true;
    bed.probes.specs[COPY].bytes = 2e6;
    assert_near(measure(&bed, 0).machine_frac, 1, 1e-12); /* 200 us */
    bed.costs[0].bytes_read = bed.costs[0].bytes_written = 0.2e6;
    bed.probes.specs[COPY].bytes = 0.4e6;
    struct assay_measurement m = measure(&bed, 0); /* 40 us */
    assert_near(m.efficiency, 0.1, 1e-12);
    assert_near(m.machine_frac, 0, 0);
    bed.costs[0].flops = 1e9;
    assert_near(measure(&bed, 0).machine_frac, 1, 1e-12); /* of arithmetic they do */
}

/* Recipes differ in their bytes and in the arithmetic they need, so each lane has its own costs.
 */
static void test_every_lane_has_its_own_cost(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    bed.probes.specs[MATH].math = ASSAY_MATH_S8;
    fill(bed.probed[MATH], 250e3);
    bed.costs[1].bytes_read = bed.costs[1].bytes_written = 0.75e6;
    bed.costs[2] = (struct assay_cost){.flops = 1e9, .math = ASSAY_MATH_S8, .bytes_read = 1e6};
    bed.working_sets[2] = 1e5;
    struct assay_measurement all[3];
    for (int i = 0; i < 3; i++)
        all[i] = measure(&bed, i);
    assert_near(all[0].bytes_per_s, 5e9, 1);
    assert_near(all[1].bytes_per_s, 3.75e9, 1);
    assert_near(all[1].ceiling_ns, 150e3, 1e-6);
    assert_near(all[2].flops_per_s, 2.5e12, 1);
    assert_near(all[2].ceiling_ns, 250e3, 1e-6);
    assert_string_equal(all[0].bound, "memory");
    assert_string_equal(all[2].bound, "compute");
    for (int i = 0; i < 3; i++)
        fill(bed.samples[i], 110e3); /* too fast for 2 MB from memory, not for 1.5 */
    assert_false(is_possible(&bed, 0, reason));
    assert_non_null(strstr(reason, "bound by memory"));
    assert_true(is_possible(&bed, 1, reason));
    assert_false(is_possible(&bed, 2, reason));
    assert_non_null(strstr(reason, "bound by compute"));
}

static void test_without_probes_there_is_no_percentage(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    fill(bed.samples[0], 1e-3);
    assert_false(is_possible(&bed, 0, reason));
    bed.probes.n = 0; /* none could be opened */
    struct assay_measurement m = measure(&bed, 0);
    assert_true(m.measured);
    assert_near(m.ceiling_ns, 0, 0);
    assert_near(m.efficiency, 0, 0);
    assert_near(m.machine_frac, 0, 0);
    assert_string_equal(m.bound, "");
    assert_true(is_possible(&bed, 0, reason));
    bed.input.probes = NULL; /* none were requested */
    bed.input.probe_lanes = NULL;
    m = measure(&bed, 0);
    assert_true(m.measured);
    assert_near(m.efficiency, 0, 0);
    assert_true(is_possible(&bed, 0, reason));
}

/* ---- against each other ---------------------------------------------------------------------- */

static void test_ratio_to_the_baseline(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++) { /* drift hits both, so the ratio does not move */
        bed.samples[0][i] = 400e3 * (1 + i);
        bed.samples[1][i] = 200e3 * (1 + i);
    }
    struct assay_measurement m = measure(&bed, 1);
    assert_true(m.has_ratio && m.ratio.significant);
    assert_near(m.ratio.ratio, 2, 1e-12);
    assert_false(measure(&bed, 0).has_ratio);
    bed.baselines[1] = -1;
    assert_false(measure(&bed, 1).has_ratio);
}

static void test_no_common_round_no_ratio(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++)
        bed.samples[i % 2][i] = (double)NAN;
    struct assay_measurement m = measure(&bed, 1);
    assert_true(m.measured);
    assert_int_equal(m.time.n, ROUNDS / 2);
    assert_false(m.has_ratio);
}

static void test_the_fastest_and_its_equals(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++) {
        bed.samples[0][i] = 300e3 + (i % 2 ? 10e3 : -10e3);
        bed.samples[1][i] = 300.5e3 + (i % 2 ? -10e3 : 10e3); /* now one is faster, now the other */
    }
    assert_true(measure(&bed, 0).fastest);
    assert_true(measure(&bed, 1).fastest);
    assert_false(measure(&bed, 2).fastest);
    fill(bed.samples[2], 100e3);
    assert_false(measure(&bed, 0).fastest);
    assert_false(measure(&bed, 1).fastest);
    assert_true(measure(&bed, 2).fastest);
}

static void test_a_lane_without_samples_is_not_measured(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    fill(bed.samples[1], (double)NAN);
    struct assay_measurement m = measure(&bed, 1), zero = {0};
    char reason[128];
    assert_memory_equal(&m, &zero, sizeof m);
    assert_true(assay_verdict_possible(&bed.input, &m, reason, sizeof reason));
    bed.lanes[1].samples = NULL; /* stopped before the first round */
    bed.input.rounds = 0;
    bed.input.clocks = NULL;
    assert_false(measure(&bed, 1).measured);
}

/* ---- disturbances ---------------------------------------------------------------------------- */

static void test_clock_changes_are_counted(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    assert_int_equal(measure(&bed, 0).clock_changes, 0);
    bed.clocks[3] = 2.9e9;
    bed.clocks[4] = 3.07e9;
    bed.clocks[5] = 3.05e9; /* within 2 % */
    bed.clocks[6] = 2.95e9;
    struct assay_measurement m = measure(&bed, 0);
    assert_int_equal(m.clock_changes, 2);
    assert_near(m.clock_hz, 3e9, 0);
    fill(bed.clocks, 0); /* cannot be read here */
    m = measure(&bed, 0);
    assert_int_equal(m.clock_changes, 0);
    assert_near(m.clock_hz, 0, 0);
}

static void test_disturbances_are_passed_on(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    bed.lanes[2].context_switches = 5;
    bed.lanes[2].near_floor = 7;
    bed.lanes[2].slow_unit = 9;
    bed.lanes[2].precise = false;
    struct assay_measurement m = measure(&bed, 2);
    assert_int_equal(m.context_switches, 5);
    assert_int_equal(m.near_floor, 7);
    assert_int_equal(m.slow_unit, 9);
    assert_false(m.precise);
}

/* A sample that several things disturbed is one disturbed sample; one that was not taken is none.
 */
static void test_marks_are_counted_once(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    struct assay_measurement m = measure(&bed, 0);
    assert_int_equal(m.disturbed + m.waited + m.stolen, 0);
    bed.marks[0][0] = ASSAY_MARK_WAITED;
    bed.marks[0][1] = ASSAY_MARK_WAITED | ASSAY_MARK_STOLEN | ASSAY_MARK_SWITCHED;
    bed.marks[0][2] = ASSAY_MARK_STOLEN;
    bed.marks[0][3] = ASSAY_MARK_SWITCHED;
    bed.marks[0][4] = ASSAY_MARK_THROTTLED;
    bed.marks[0][5] = ASSAY_MARK_STOLEN; /* of a round it sat out */
    bed.samples[0][5] = (double)NAN;
    bed.clocks[6] = 2.5e9;
    bed.clocks[5] = 2.5e9; /* as is this */
    bed.clocks[0] = 2.5e9; /* and this one is disturbed already */
    bed.marks[1][9] = ASSAY_MARK_WAITED;
    m = measure(&bed, 0);
    assert_int_equal(m.waited, 2);
    assert_int_equal(m.stolen, 2);
    assert_int_equal(m.disturbed, 5); /* throttling is counted apart */
    assert_int_equal(m.clock_changes, 3);
    assert_int_equal(m.samples.n, ROUNDS - 1);
    for (int i = 0; i < ROUNDS - 1; i++) /* the first four, and what stands for round 6 */
        assert_int_equal(assay_samples_is_disturbed(&m.samples, i), i < 4 || i == 5);
    m = measure(&bed, 1);
    assert_int_equal(m.waited, 1);
    assert_int_equal(m.disturbed, 1 + 3);
    bed.lanes[2].marks = NULL; /* as of a lane that is made by hand */
    m = measure(&bed, 2);
    assert_int_equal(m.disturbed + assay_samples_count_disturbed(&m.samples), 0);
}

static void test_samples_are_kept_in_their_order(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++)
        bed.samples[0][i] = i == 7 ? (double)NAN : 400e3 + i;
    struct assay_measurement m = measure(&bed, 0);
    assert_int_equal(m.samples.n, m.time.n);
    assert_int_equal(m.samples.every, 1);
    for (int i = 0; i < ROUNDS - 1; i++)
        assert_near(m.samples.ns[i], 400e3 + i + (i >= 7), 0);
    fill(bed.samples[0], (double)NAN);
    assert_int_equal(measure(&bed, 0).samples.n, 0);
}

/* ---- the matrix unit ------------------------------------------------------------------------- */

/* Kernel and probe met the fast speed, though not always: there they are compared. */
static void test_a_fast_unit_is_compared_with_a_fast_one(void **state)
{
    (void)state;
    struct bed bed;
    double fast[ROUNDS], probed_fast[ROUNDS];
    const int last = ASSAY_STATS_FEWEST_ROUNDS - 1;
    make_bed(&bed);
    bed.costs[0].flops = 1e9;
    fill(bed.probed[MATH], 4e6); /* slow in most rounds */
    fill(bed.samples[0], 5e6);
    fill(fast, (double)NAN);
    fill(probed_fast, (double)NAN);
    bed.lanes[0].fast = fast;
    bed.probe_lanes[MATH].fast = probed_fast;
    for (int i = 0; i < last; i++) {
        fast[i] = 2e6;
        probed_fast[i] = 1e6;
    }
    struct assay_measurement m = measure(&bed, 0);
    assert_near(m.fast_unit_ns, 0, 0); /* too few to tell */
    assert_near(m.efficiency, 0.8, 1e-12);
    fast[last] = 2e6;
    m = measure(&bed, 0);
    assert_near(m.fast_unit_ns, 2e6, 0);
    assert_near(m.efficiency, 0.8, 1e-12); /* still too few rounds in which both were fast */
    assert_near(m.machine_frac, 0.25, 1e-12);
    probed_fast[last] = 1e6;
    m = measure(&bed, 0);
    assert_near(m.efficiency, 0.5, 1e-12);
    assert_int_equal(m.ceiling_rounds, ASSAY_STATS_FEWEST_ROUNDS);
    assert_near(m.machine_frac, 1, 1e-12);
    assert_near(m.time.median, 5e6, 0);
    assert_string_equal(m.bound, "compute");
}

/* The probe never met the fast speed, or does not use the unit: then all rounds count, and memory,
 * of which there is a probe, does not bind instead. */
static void test_a_fast_unit_is_not_held_against_memory(void **state)
{
    (void)state;
    struct bed bed;
    double fast[ROUNDS], never[ROUNDS];
    make_bed(&bed);
    bed.costs[0].flops = 1e9;
    fill(bed.probed[MATH], 4e6);
    fill(bed.samples[0], 5e6);
    fill(fast, 2e6);
    fill(never, (double)NAN);
    bed.lanes[0].fast = fast;
    for (int i = 0; i < 2; i++) {
        bed.probe_lanes[MATH].fast = i ? never : NULL;
        struct assay_measurement m = measure(&bed, 0);
        assert_near(m.efficiency, 0.8, 1e-12);
        assert_string_equal(m.bound, "compute");
        assert_near(m.fast_unit_ns, 2e6, 0);
    }
}

/* ---- impossible ------------------------------------------------------------------------------ */

static void test_faster_than_the_machine_is_impossible(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    fill(bed.samples[0], 20e3);
    assert_false(is_possible(&bed, 0, reason));
    assert_string_equal(reason, "20.0 us is faster than this machine can be (200 us at the least, "
                                "bound by memory, measured in the same rounds)");
}

/* In a short run, three probes that nothing disturbed; in a long one the interval is enough. */
static void test_disturbed_probes_accuse_nobody_in_a_short_run(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    uint8_t marks[ROUNDS] = {0};
    make_bed(&bed);
    bed.probe_lanes[COPY].marks = marks;
    fill(bed.samples[0], 20e3);
    for (int rounds = 3; rounds <= 10; rounds++) {
        for (int disturbed = 0; disturbed <= rounds; disturbed++) {
            memset(marks, 0, sizeof marks);
            for (int i = 0; i < disturbed; i++)
                marks[i] = ASSAY_MARK_WAITED;
            bed.input.rounds = rounds;
            assert_true(is_possible(&bed, 0, reason) == (rounds < 10 && rounds - disturbed < 3));
        }
    }
}

/* One margin for all: what a probe may be off. */
static void test_half_as_much_again_is_the_margin(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    for (int bound = 0; bound < 2; bound++) {
        make_bed(&bed);
        bed.costs[0].flops = bound ? 400e6 : 0;
        double least_ns = bound ? 400e3 : 200e3;
        fill(bed.samples[0], least_ns / 1.49);
        assert_true(is_possible(&bed, 0, reason));
        fill(bed.samples[0], least_ns / 1.51);
        assert_false(is_possible(&bed, 0, reason));
    }
}

/* Only the slow end of the interval accuses. */
static void test_an_interval_that_reaches_the_possible_is_possible(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++)
        bed.samples[0][i] = i % 2 ? 20e3 : 190e3;
    struct assay_measurement m = measure(&bed, 0);
    assert_true(m.efficiency > 1.5 && m.efficiency_ci.lo < 1.5);
    assert_true(assay_verdict_possible(&bed.input, &m, reason, sizeof reason));
}

/* A probe that is slower than the machine was seen to be accuses nobody of what it does at its
 * best, and one that is faster than ever spares nobody. */
static void test_the_best_that_was_seen_is_possible(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    fill(bed.probed[COPY], 8 * 800e3); /* 1600 us at the least */
    fill(bed.samples[0], 200e3 / 1.49);
    assert_true(measure(&bed, 0).efficiency > 10);
    assert_true(is_possible(&bed, 0, reason));
    fill(bed.samples[0], 200e3 / 1.51);
    assert_false(is_possible(&bed, 0, reason));
    fill(bed.probed[COPY], 80e3); /* ten times as fast as ever: so may the kernel be */
    fill(bed.samples[0], 20e3 / 1.49);
    assert_true(is_possible(&bed, 0, reason));
    fill(bed.samples[0], 20e3 / 1.51);
    assert_false(is_possible(&bed, 0, reason));
    bed.best = (struct assay_ceilings){0}; /* where nothing is known of it, the rounds decide */
    assert_false(is_possible(&bed, 0, reason));
}

static void test_two_rounds_accuse_nobody(void **state)
{
    (void)state;
    struct bed bed;
    char reason[256];
    make_bed(&bed);
    fill(bed.samples[0], 1e3);
    for (int i = 2; i < ROUNDS; i++)
        bed.probed[COPY][i] = bed.probed[MATH][i] = (double)NAN;
    assert_near(measure(&bed, 0).efficiency, 200, 1e-9);
    assert_true(is_possible(&bed, 0, reason));
    bed.probed[COPY][2] = 800e3;
    assert_int_equal(measure(&bed, 0).ceiling_rounds, 3);
    assert_false(is_possible(&bed, 0, reason));
}

/* The second allocation holds the probes' figures: without it there is no percentage. */
static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    struct assay_measurement m;
    assay_alloc_fail_after(1);
    assert_int_equal(assay_verdict_measurement(&bed.input, 0, &m), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
    assert_false(m.measured);
    assay_alloc_fail_after(2);
    assert_int_equal(assay_verdict_measurement(&bed.input, 0, &m), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_and_efficiency),
        cmocka_unit_test(test_equals_are_all_the_fastest),
        cmocka_unit_test(test_noise_does_not_make_a_row_the_fastest),
        cmocka_unit_test(test_few_rounds_make_nobody_the_fastest),
        cmocka_unit_test(test_efficiency_is_the_ratio_within_the_rounds),
        cmocka_unit_test(test_efficiency_has_an_interval),
        cmocka_unit_test(test_only_rounds_with_a_probe_count),
        cmocka_unit_test(test_the_larger_of_two_bounds_binds),
        cmocka_unit_test(test_the_level_is_that_of_the_working_set),
        cmocka_unit_test(test_a_probe_of_another_size_or_kind_says_nothing),
        cmocka_unit_test(test_a_probe_that_was_never_sampled_says_nothing),
        cmocka_unit_test(test_the_machine_is_held_against_its_best),
        cmocka_unit_test(test_short_cold_calls_say_nothing_of_the_machine),
        cmocka_unit_test(test_every_lane_has_its_own_cost),
        cmocka_unit_test(test_without_probes_there_is_no_percentage),
        cmocka_unit_test(test_ratio_to_the_baseline),
        cmocka_unit_test(test_no_common_round_no_ratio),
        cmocka_unit_test(test_the_fastest_and_its_equals),
        cmocka_unit_test(test_a_lane_without_samples_is_not_measured),
        cmocka_unit_test(test_clock_changes_are_counted),
        cmocka_unit_test(test_disturbances_are_passed_on),
        cmocka_unit_test(test_marks_are_counted_once),
        cmocka_unit_test(test_samples_are_kept_in_their_order),
        cmocka_unit_test(test_a_fast_unit_is_compared_with_a_fast_one),
        cmocka_unit_test(test_a_fast_unit_is_not_held_against_memory),
        cmocka_unit_test(test_faster_than_the_machine_is_impossible),
        cmocka_unit_test(test_disturbed_probes_accuse_nobody_in_a_short_run),
        cmocka_unit_test(test_half_as_much_again_is_the_margin),
        cmocka_unit_test(test_an_interval_that_reaches_the_possible_is_possible),
        cmocka_unit_test(test_the_best_that_was_seen_is_possible),
        cmocka_unit_test(test_two_rounds_accuse_nobody),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
