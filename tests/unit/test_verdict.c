/* test_verdict.c: from samples that are given to the measurement that is reported, and the
 * accusation of being faster than the machine can be. */
#include "unit.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "bench/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 20 };

/* What the fake driver's calibration finds. */
static struct assay_ceilings found;
static enum assay_status found_status;
static int calibrations;

static enum assay_status calibrate(assay_device *device, struct assay_ceilings *out,
                                   struct assay_error *err)
{
    (void)device, (void)err;
    calibrations++;
    *out = found;
    return found_status;
}

static const struct assay_device_driver driver = {.name = "fake", .calibrate = calibrate};
static const struct assay_device_driver driver_without = {.name = "fake"};

/* Caches of 1 MB at 100 GB/s, memory at 10 GB/s, 1 TFLOP/s. */
static struct assay_ceilings known_ceilings(void)
{
    return (struct assay_ceilings){
        .device = "fake",
        .threads = 1,
        .n_levels = 2,
        .levels = {{"L2", 1000000, 100e9, 100e9, 100e9}, {"memory", SIZE_MAX, 10e9, 10e9, 10e9}},
        .flops = {1e12, 1e12, 1e12, 1e12},
    };
}

struct bed {
    double samples[3][ROUNDS], clocks[ROUNDS];
    struct assay_lane lanes[3];
    struct assay_device device;
    struct assay_bench bench;
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

/* 1 MB in, 1 MB out, from memory: 200 us at the least. */
static void make_bed(struct bed *bed)
{
    *bed = (struct bed){.device = {.driver = &driver}};
    for (int i = 0; i < 3; i++) {
        fill(bed->samples[i], 400e3);
        bed->lanes[i] = (struct assay_lane){
            .samples = bed->samples[i], .taken = ROUNDS, .iters = 3, .precise = true};
        bed->costs[i] = (struct assay_cost){.bytes_read = 1e6, .bytes_written = 1e6, .flops = 1e6};
        bed->working_sets[i] = 8e6;
    }
    fill(bed->clocks, 3e9);
    bed->bench = (struct assay_bench){.device = &bed->device, .ceilings = known_ceilings()};
    bed->input = (struct assay_verdict_input){
        .lanes = bed->lanes,
        .n_lanes = 3,
        .rounds = ROUNDS,
        .clocks = bed->clocks,
        .baselines = bed->baselines,
        .costs = bed->costs,
        .working_sets = bed->working_sets,
        .bench = &bed->bench,
    };
    calibrations = 0;
    found = known_ceilings();
    found_status = ASSAY_OK;
}

static struct assay_measurement measure(struct bed *bed, int64_t lane)
{
    struct assay_measurement m;
    memset(&m, 0xee, sizeof m);
    assert_int_equal(assay_verdict_measurement(&bed->input, lane, &m), ASSAY_OK);
    return m;
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
    assert_string_equal(m.bound, "memory");
    bed.working_sets[0] = 1e6;
    m = measure(&bed, 0);
    assert_near(m.efficiency, 0.05, 1e-12);
    assert_string_equal(m.bound, "L2");
    bed.input.cold = true;
    assert_string_equal(measure(&bed, 0).bound, "memory");
    bed.costs[0].flops = 1e9;
    m = measure(&bed, 0);
    assert_string_equal(m.bound, "compute");
    assert_near(m.ceiling_ns, 1e6, 1e-6);
}

/* Recipes differ in their bytes and in the arithmetic they need, so lanes have costs of their own.
 */
static void test_every_lane_has_its_own_cost(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    bed.bench.ceilings.flops[ASSAY_MATH_S8] = 4e12;
    bed.costs[1].bytes_read = 0.5e6;
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
    for (int i = 0; i < 3; i++) {
        fill(bed.samples[i], 110e3); /* too fast for 2 MB from memory, not for 1.5 */
        all[i] = measure(&bed, i);
    }
    assert_false(assay_verdict_possible(&bed.input, 0, &all[0], reason, sizeof reason));
    assert_true(assay_verdict_possible(&bed.input, 1, &all[1], reason, sizeof reason));
    assert_false(assay_verdict_possible(&bed.input, 2, &all[2], reason, sizeof reason));
    assert_non_null(strstr(reason, "bound by compute"));
}

static void test_without_ceilings_there_is_no_percentage(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    bed.bench.ceilings = (struct assay_ceilings){0};
    fill(bed.samples[0], 1e-3);
    struct assay_measurement m = measure(&bed, 0);
    assert_true(m.measured);
    assert_near(m.ceiling_ns, 0, 0);
    assert_near(m.efficiency, 0, 0);
    assert_string_equal(m.bound, "");
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_int_equal(calibrations, 0);
}

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

/* Seven samples cannot show a difference, so they cannot show that there is none either. */
static void test_too_few_rounds_share_no_first_place(void **state)
{
    (void)state;
    struct bed bed;
    make_bed(&bed);
    bed.input.rounds = 7;
    fill(bed.samples[1], 399e3);
    assert_true(measure(&bed, 1).fastest);
    assert_false(measure(&bed, 0).fastest);
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
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    bed.lanes[1].samples = NULL; /* stopped before the first round */
    bed.input.rounds = 0;
    bed.input.clocks = NULL;
    assert_false(measure(&bed, 1).measured);
}

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

/* The ceiling is that of the fast unit, so the efficiency is that of the samples that met it. */
static void test_efficiency_is_of_samples_beside_a_fast_unit(void **state)
{
    (void)state;
    struct bed bed;
    double fast[ROUNDS];
    make_bed(&bed);
    fill(fast, (double)NAN);
    bed.lanes[0].fast = fast;
    for (int i = 0; i < 7; i++)
        fast[i] = 250e3;
    struct assay_measurement m = measure(&bed, 0);
    assert_near(m.fast_unit_ns, 0, 0); /* too few to tell */
    assert_near(m.efficiency, 0.5, 1e-12);
    fast[7] = 250e3;
    m = measure(&bed, 0);
    assert_near(m.fast_unit_ns, 250e3, 0);
    assert_near(m.efficiency, 0.8, 1e-12);
    assert_near(m.time.median, 400e3, 0);
}

/* ---- impossible ------------------------------------------------------------------------------ */

static void test_a_little_over_the_ceiling_is_its_uncertainty(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    fill(bed.samples[0], 180e3); /* 1.11 times the ceiling */
    struct assay_measurement m = measure(&bed, 0);
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_int_equal(calibrations, 0);
    assert_near(m.efficiency, 200.0 / 180, 1e-9);
}

static void test_faster_than_the_ceiling_is_impossible(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    fill(bed.samples[0], 20e3);
    struct assay_measurement m = measure(&bed, 0);
    assert_false(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_non_null(strstr(reason, "20.0 us is faster than this machine can be ("));
    assert_non_null(strstr(reason, "at the least, bound by memory)"));
    assert_int_equal(calibrations, 1);
    assert_false(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_int_equal(calibrations, 1); /* once is enough */
}

/* Only the slow end of the interval accuses. */
static void test_an_interval_that_reaches_the_possible_is_possible(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    for (int i = 0; i < ROUNDS; i++)
        bed.samples[0][i] = i % 2 ? 20e3 : 190e3;
    struct assay_measurement m = measure(&bed, 0);
    assert_true(m.time.median < 110e3);
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
}

/* Work of a few times the cache still finds part of itself there. */
static void test_part_of_the_work_may_be_in_the_cache(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    fill(bed.samples[0], 20e3); /* too fast for memory, not for the cache */
    bed.working_sets[0] = 3.9e6;
    struct assay_measurement m = measure(&bed, 0);
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_string_equal(m.bound, "memory");
    bed.input.cold = true;
    assert_false(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
}

static void test_a_ceiling_taken_on_a_busy_machine_is_raised(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    fill(bed.samples[0], 40e3);
    found.levels[1].copy = 60e9; /* 33 us */
    found.levels[1].read = 5e9;  /* lower than before: not believed */
    found.flops[0] = 2e12;
    struct assay_measurement m = measure(&bed, 0);
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_int_equal(calibrations, 1);
    assert_near(m.ceiling_ns, 2e6 / 60e9 * 1e9, 1e-6);
    assert_near(m.efficiency, 2e6 / 60e9 * 1e9 / 40e3, 1e-9);
    assert_near(bed.bench.ceilings.levels[1].copy, 60e9, 0);
    assert_near(bed.bench.ceilings.levels[1].read, 10e9, 0);
    assert_near(bed.bench.ceilings.flops[0], 2e12, 0);
    struct assay_ceilings remembered;
    assert_int_equal(assay_ceilings_load("fake", 1, &remembered, NULL), ASSAY_OK);
    assert_near(remembered.levels[1].copy, 60e9, 0);
}

/* What is above the ceiling of arithmetic, though not by enough to be accused, has it measured
 * again: a matrix unit may have been slow the first time. */
static void test_arithmetic_beyond_its_ceiling_is_measured_again(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    bed.costs[0].flops = 400e6; /* 400 us */
    fill(bed.samples[0], 360e3);
    found.flops[0] = 2e12;
    struct assay_measurement m = measure(&bed, 0);
    assert_string_equal(m.bound, "compute");
    assert_near(m.efficiency, 400.0 / 360, 1e-9);
    assert_true(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_int_equal(calibrations, 1);
    assert_near(m.efficiency, 200.0 / 360, 1e-9);
}

static void test_a_calibration_that_fails_changes_nothing(void **state)
{
    (void)state;
    struct bed bed;
    char reason[128];
    make_bed(&bed);
    fill(bed.samples[0], 20e3);
    found.levels[1].copy = 1e15;
    found_status = ASSAY_ERR_DEVICE;
    struct assay_measurement m = measure(&bed, 0);
    assert_false(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_near(bed.bench.ceilings.levels[1].copy, 10e9, 0);
    make_bed(&bed);
    fill(bed.samples[0], 20e3);
    bed.device.driver = &driver_without;
    assert_false(assay_verdict_possible(&bed.input, 0, &m, reason, sizeof reason));
    assert_int_equal(calibrations, 0);
}

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
}

int main(void)
{
    char folder[] = "/tmp/assay-verdict-XXXXXX";
    if (!mkdtemp(folder))
        return 1;
    setenv("XDG_CACHE_HOME", folder, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_and_efficiency),
        cmocka_unit_test(test_every_lane_has_its_own_cost),
        cmocka_unit_test(test_without_ceilings_there_is_no_percentage),
        cmocka_unit_test(test_ratio_to_the_baseline),
        cmocka_unit_test(test_no_common_round_no_ratio),
        cmocka_unit_test(test_the_fastest_and_its_equals),
        cmocka_unit_test(test_too_few_rounds_share_no_first_place),
        cmocka_unit_test(test_a_lane_without_samples_is_not_measured),
        cmocka_unit_test(test_clock_changes_are_counted),
        cmocka_unit_test(test_disturbances_are_passed_on),
        cmocka_unit_test(test_efficiency_is_of_samples_beside_a_fast_unit),
        cmocka_unit_test(test_a_little_over_the_ceiling_is_its_uncertainty),
        cmocka_unit_test(test_faster_than_the_ceiling_is_impossible),
        cmocka_unit_test(test_an_interval_that_reaches_the_possible_is_possible),
        cmocka_unit_test(test_part_of_the_work_may_be_in_the_cache),
        cmocka_unit_test(test_a_ceiling_taken_on_a_busy_machine_is_raised),
        cmocka_unit_test(test_arithmetic_beyond_its_ceiling_is_measured_again),
        cmocka_unit_test(test_a_calibration_that_fails_changes_nothing),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char path[256];
    snprintf(path, sizeof path, "%s/assay/ceilings-fake-1t.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/assay", folder);
    rmdir(path);
    rmdir(folder);
    return failed;
}
