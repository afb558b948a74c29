/* test_engine.c: the measuring engine on the null device. A script says how long every call takes,
 * so what comes out is known exactly. */
#include "unit.h"

#include "base/alloc.h"
#include "bench/engine.h"
#include "device/null/null.h"
#include "stats/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 8, MAX_RUNS = 200000 };

static const double US = 1e3, MS = 1e6;

/* What one lane does. `durations` are used first, one a run, then `call_ns` for each call. */
struct actor {
    double call_ns, noise; /* noise: every other call takes this much more or less */
    int64_t lucky_every;   /* one of this many takes 4 % less */
    const double *durations;
    int64_t n_durations, runs;
    int64_t fails_at_run; /* 0: never */
};

struct run {
    int64_t lane, iters, first, place;
};

struct stage {
    struct actor actors[MAX_LANES];
    struct assay_kernel kernels[MAX_LANES];
    struct assay_lane lanes[MAX_LANES];
    struct assay_engine_options options;
    struct run *log;
    int64_t n_log, stop_after, switches, steps;
    int64_t switch_in_run; /* the process loses its core in runs whose number is a multiple */
    int64_t wait_in_run, wait_ns, waited_ns;     /* a thread waits for a core in such runs */
    int64_t steal_in_run, stolen_ns, steal_asks; /* the host takes a core away in the run so long */
    int64_t throttle_in_run;
    double clock_hz, clock_step;
    bool probing[MAX_LANES]; /* lanes that are probes */
    assay_device *device;
    assay_engine *engine;
    struct assay_args sets[MAX_LANES][32];
    int64_t n_sets[MAX_LANES], places[MAX_LANES];
    double place_costs[32]; /* of lane 1, as a share of a call */
    const double *probes;   /* of the matrix unit, one after the other, again from the start */
    int64_t n_probes, probed;
};

static double duration(void *user, const struct assay_kernel *kernel, void *state,
                       const struct assay_work *work)
{
    struct stage *s = user;
    struct actor *actor = state;
    assert_true(kernel == &s->kernels[actor - s->actors]);
    assert_true(work->iters >= 1);
    assert_true(work->first >= 0 && work->first < work->n_sets);
    int64_t lane = actor - s->actors, place = work->sets - s->sets[lane];
    assert_true(place == 0 || (place > 0 && place < s->places[lane]));
    assert_int_equal(work->n_sets, s->n_sets[lane]);
    assert_true(s->n_log < MAX_RUNS);
    s->log[s->n_log++] = (struct run){lane, work->iters, work->first, place};
    if (s->switch_in_run && s->n_log % s->switch_in_run == 0)
        s->switches++;
    if (s->wait_in_run && s->n_log % s->wait_in_run == 0)
        s->waited_ns += s->wait_ns;
    if (s->n_log == s->steal_in_run)
        s->stolen_ns += 10000000;
    int64_t run = actor->runs++;
    if (actor->fails_at_run && run + 1 >= actor->fails_at_run)
        return -1;
    if (run < actor->n_durations)
        return actor->durations[run];
    bool lucky = actor->lucky_every && run / 2 % actor->lucky_every == 0;
    return (double)work->iters * actor->call_ns * (lucky ? 0.96 : 1) *
           (1 + (lane == 1 ? s->place_costs[place] : 0)) *
           (1 + (run / 2 % 2 ? 1 : -1) * actor->noise);
}

static double clock_hz(void *user)
{
    struct stage *s = user;
    s->clock_hz += s->clock_step;
    return s->clock_hz;
}

static double probe(void *user)
{
    struct stage *s = user;
    return s->n_probes ? s->probes[s->probed++ % s->n_probes] : 0;
}

static int64_t switches(void *user) { return ((struct stage *)user)->switches; }

static int64_t waited(void *user) { return ((struct stage *)user)->waited_ns; }
static int64_t stolen(void *user)
{
    struct stage *s = user;
    s->steal_asks++;
    return s->stolen_ns;
}
static uint64_t throttle(void *user)
{
    struct stage *s = user;
    return s->throttle_in_run && s->n_log % s->throttle_in_run == 0 ? 4 : 0;
}

static void on_step(void *user, int64_t lane)
{
    struct stage *s = user;
    assert_true(lane >= 0 && lane < MAX_LANES);
    s->steps++;
}

static bool on_stop(void *user)
{
    struct stage *s = user;
    return s->stop_after >= 0 && s->n_log >= s->stop_after;
}

/* A stage with defaults that never stop by themselves. */
static int set_stage(void **state)
{
    struct stage *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->log = calloc(MAX_RUNS, sizeof *s->log);
    assert_non_null(s->log);
    s->stop_after = -1;
    s->options =
        (struct assay_engine_options){.precision = 0.01, .budget_ns = 1e15, .baseline = -1};
    for (int i = 0; i < MAX_LANES; i++) {
        s->kernels[i] = (struct assay_kernel){.struct_size = sizeof s->kernels[i], .name = "k"};
        s->n_sets[i] = 1;
    }
    struct assay_null_script script = {.user = s,
                                       .duration = duration,
                                       .clock_hz = clock_hz,
                                       .context_switches = switches,
                                       .waited_ns = waited,
                                       .stolen_ns = stolen,
                                       .throttle = throttle,
                                       .matrix_probe = probe};
    assert_int_equal(assay_null_open(&script, &s->device, NULL), ASSAY_OK);
    *state = s;
    return 0;
}

static int strike_stage(void **state)
{
    struct stage *s = *state;
    assay_engine_destroy(s->engine);
    assay_device_close(s->device);
    free(s->log);
    free(s);
    return 0;
}

static enum assay_status play(struct stage *s, int64_t n_lanes, struct assay_error *err)
{
    struct assay_engine_hooks hooks = {.user = s, .step = on_step, .stop = on_stop};
    for (int64_t i = 0; i < n_lanes; i++)
        s->lanes[i] = (struct assay_lane){.kernel = &s->kernels[i],
                                          .state = &s->actors[i],
                                          .sets = s->sets[i],
                                          .n_sets = s->n_sets[i],
                                          .places = s->places[i],
                                          .probe = s->probing[i]};
    enum assay_status status =
        assay_engine_create(s->device, &s->options, &hooks, s->lanes, n_lanes, &s->engine, err);
    return status == ASSAY_OK ? assay_engine_run(s->engine, err) : status;
}

static void play_well(struct stage *s, int64_t n_lanes)
{
    struct assay_error err = {0};
    assert_int_equal(play(s, n_lanes, &err), ASSAY_OK);
    assert_int_equal(err.code, ASSAY_OK);
    assert_int_equal(s->steps, s->n_log);
}

/* ---- known samples --------------------------------------------------------------------------- */

static void test_long_calls_are_reported_as_they_are(void **state)
{
    struct stage *s = *state;
    /* One run to choose iters, one to warm up, then the samples: calls this long are not primed. */
    static const double durations[] = {30e6, 31e6, 21e6, 55e6, 33e6, 44e6, 22e6};
    s->actors[0] = (struct actor){.durations = durations, .n_durations = 7};
    s->options.warmup = 1;
    s->options.rounds = 5;
    play_well(s, 1);
    const struct assay_lane *lane = &s->lanes[0];
    assert_int_equal(s->n_log, 7);
    assert_int_equal(assay_engine_rounds(s->engine), 5);
    assert_int_equal(lane->taken, 5);
    assert_int_equal(lane->iters, 1);
    for (int i = 0; i < 5; i++)
        assert_near(lane->samples[i], durations[2 + i], 0);
    struct assay_summary summary;
    double scratch[5];
    assay_stats_summarise(lane->samples, 5, scratch, &summary);
    assert_near(summary.median, 33e6, 0);
    assert_near(summary.min, 21e6, 0);
    assert_near(summary.max, 55e6, 0);
}

static void test_short_calls_are_bundled(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 50 * US;
    s->options.warmup = 1;
    s->options.rounds = 3;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].iters, 4); /* 200 us */
    for (int i = 0; i < 3; i++)
        assert_near(s->lanes[0].samples[i], 50 * US, 1e-9);
}

static void test_a_slow_clock_makes_samples_longer(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 50 * US;
    s->options.warmup = 1;
    s->options.rounds = 3;
    s->options.timer_ns = 1000; /* 2000 of it: 2 ms */
    play_well(s, 1);
    assert_int_equal(s->lanes[0].iters, 40);
}

static void test_iters_of_every_length(void **state)
{
    static const double calls[] = {0, 0.1, 1, 17, 333, 1e4, 1e5, 2e5, 3e5, 1.9e7, 2e7, 1e9};
    struct stage *s = *state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        s->actors[0] = (struct actor){.call_ns = calls[i]};
        s->options.warmup = s->options.rounds = 2;
        s->n_log = s->steps = 0;
        play_well(s, 1);
        double sample = (double)s->lanes[0].iters * calls[i];
        assert_true(s->lanes[0].iters >= 1 && s->lanes[0].iters <= INT64_C(1000000000));
        if (calls[i] >= 0.1)
            assert_true(sample >= 199.9 * US && sample < 200 * US + calls[i] + 1);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void test_fixed_counts_are_exact(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = s->actors[1].call_ns = 300 * US;
    s->actors[1].noise = 0.4; /* precision must not end it */
    s->options.warmup = 11;
    s->options.rounds = 29;
    play_well(s, 2);
    for (int i = 0; i < 2; i++) {
        /* 2 runs to learn the length, 11 to warm up; then prime and sample in each round. */
        assert_int_equal(s->actors[i].runs, 2 + 11 + 2 * 29);
        assert_int_equal(s->lanes[i].taken, 29);
    }
    assert_int_equal(assay_engine_rounds(s->engine), 29);
}

/* Where the caller counts calls, there is no other: none to learn the length, none to prime. */
static void test_counted_calls_are_all_there_are(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 1;
    s->actors[1].call_ns = 300 * US;
    s->options.rounds = 300; /* more than are reserved at first otherwise */
    s->options.calls = 3;
    play_well(s, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(s->actors[i].runs, 300);
        assert_int_equal(s->lanes[i].iters, 3);
        assert_int_equal(s->lanes[i].taken, 300);
    }
    assert_near(s->lanes[1].samples[299], 300 * US, 1e-6);
    assay_engine_destroy(s->engine);
    s->actors[0].runs = 0;
    s->options.rounds = 5;
    s->options.warmup = 4;
    s->options.calls = 1;
    s->steps = s->n_log;
    play_well(s, 1);
    assert_int_equal(s->actors[0].runs, 9);
}

static void test_fixed_rounds_ignore_the_budget(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 100 * MS;
    s->options.rounds = 50;
    s->options.budget_ns = 1;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].taken, 50);
}

static void test_constant_durations_stop_at_the_least_rounds(void **state)
{
    struct stage *s = *state;
    for (int i = 0; i < 3; i++)
        s->actors[i].call_ns = (10 + i) * US;
    s->options.baseline = 0;
    play_well(s, 3);
    assert_int_equal(assay_engine_rounds(s->engine), 40);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(s->lanes[i].taken, 40);
        assert_true(s->lanes[i].precise);
    }
}

/* Both medians are known to 0.7 %, but which is the smaller is open, and stays so: the budget ends
 * it. Where the two cannot differ by more than half of the requested precision, it is decided. */
static void test_it_goes_on_until_the_ratio_is_decided(void **state)
{
    struct stage *s = *state;
    s->options.baseline = 0;
    s->options.budget_ns = 100 * MS;
    s->actors[0] = (struct actor){.call_ns = 300 * US, .noise = 0.007};
    s->actors[1] = (struct actor){.call_ns = 300 * US};
    play_well(s, 2);
    assert_true(s->lanes[0].precise && s->lanes[1].precise);
    assert_true(s->lanes[1].spent_ns >= 50 * MS);
    assay_engine_destroy(s->engine);
    s->n_log = s->steps = 0;
    s->actors[0] = (struct actor){.call_ns = 300 * US, .noise = 0.004};
    s->actors[1] = (struct actor){.call_ns = 300 * US};
    play_well(s, 2);
    assert_int_equal(assay_engine_rounds(s->engine), 40);
}

/* 1 % slower in three rounds of four and faster in the fourth: likely with the rounds of the
 * budget, more certain with those of twice as long. Without the leave the budget ends it. */
static void test_a_likely_difference_goes_on(void **state)
{
    static const struct {
        double call_us;
        bool overtime;
        double least_ms, most_ms;
    } cases[] = {{303, true, 25, 81}, {303, false, 20, 21}};
    struct stage *s = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assay_engine_destroy(s->engine);
        s->engine = NULL;
        s->n_log = s->steps = 0;
        s->options.baseline = 0;
        s->options.budget_ns = 40 * MS;
        s->options.overtime = cases[i].overtime;
        s->actors[0] = (struct actor){.call_ns = 300 * US};
        s->actors[1] = (struct actor){.call_ns = cases[i].call_us * US, .lucky_every = 4};
        play_well(s, 2);
        assert_true(s->lanes[0].spent_ns >= cases[i].least_ms * MS);
        assert_true(s->lanes[0].spent_ns < cases[i].most_ms * MS);
    }
}

/* A difference that counts as none does not extend the run, whatever the requested precision. */
static void test_equals_stop_whatever_was_asked_for(void **state)
{
    struct stage *s = *state;
    s->options.baseline = 0;
    s->options.precision = 0.001;
    s->actors[0].call_ns = s->actors[1].call_ns = 300 * US;
    play_well(s, 2);
    assert_int_equal(assay_engine_rounds(s->engine), 40);
}

static void test_the_budget_ends_what_never_settles(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 50 * US, .noise = 0.4};
    s->options.budget_ns = 30 * MS;
    play_well(s, 1);
    const struct assay_lane *lane = &s->lanes[0];
    assert_false(lane->precise);
    assert_true(lane->spent_ns >= 30 * MS && lane->spent_ns < 31 * MS);
    assert_int_equal(lane->taken, assay_engine_rounds(s->engine));
}

static void test_a_thousandfold_slower_lane_rests(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 50 * US, .noise = 0.4};
    s->actors[1] = (struct actor){.call_ns = 50 * MS};
    s->options.budget_ns = 200 * MS;
    play_well(s, 2);
    const struct assay_lane *fast = &s->lanes[0], *slow = &s->lanes[1];
    assert_int_equal(slow->taken, 10); /* twice its share, because fewer show no difference */
    assert_true(fast->taken > 100);
    assert_int_equal(fast->taken, assay_engine_rounds(s->engine));
    for (int64_t i = 0; i < assay_engine_rounds(s->engine); i++)
        assert_int_equal(isnan(slow->samples[i]), i >= 10);
}

/* The third is known after the first check: from then on it is sampled in every fourth round, to
 * the last, and what it leaves goes to the one that is not known. */
static void test_a_lane_that_is_known_leaves_time_to_the_others(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 1 * MS};
    s->actors[1] = (struct actor){.call_ns = 1 * MS, .noise = 0.4};
    s->actors[2] = (struct actor){.call_ns = 2 * MS};
    s->options.budget_ns = 3000 * MS;
    s->options.baseline = 0;
    play_well(s, 3);
    int64_t rounds = assay_engine_rounds(s->engine), last = 0;
    const struct assay_lane *noisy = &s->lanes[1], *known = &s->lanes[2];
    assert_true(known->precise && known->satisfied && !noisy->satisfied);
    assert_true(noisy->spent_ns > 1100 * MS);
    assert_in_range(known->taken, 40 + (rounds - 40) / 4, 40 + (rounds - 40) / 4 + 1);
    for (int64_t i = 0; i < rounds; i++)
        last = isnan(known->samples[i]) ? last : i;
    assert_in_range(last, rounds - 4, rounds - 1);
    assert_true(s->lanes[0].taken * 10 > rounds * 9); /* every ratio needs the baseline */
}

/* Ten times slower than the baseline, with calls of 10 ms: of 600 ms it takes ten samples, half of
 * an even share, which are enough to say so; the others take the rest. */
static void test_a_slow_lane_leaves_time_to_the_others(void **state)
{
    struct stage *s = *state;
    struct assay_ratio ratio;
    double scratch[4096];
    s->actors[0] = s->actors[1] = (struct actor){.call_ns = 1 * MS, .noise = 0.4};
    s->actors[2] = (struct actor){.call_ns = 10 * MS};
    s->options.budget_ns = 600 * MS;
    s->options.baseline = 0;
    play_well(s, 3);
    const struct assay_lane *slow = &s->lanes[2];
    assert_true(slow->slow && slow->reviewed);
    assert_int_equal(slow->taken, 10);
    for (int i = 0; i < 2; i++)
        assert_true(s->lanes[i].spent_ns >= 250 * MS && s->lanes[i].spent_ns < 255 * MS);
    int64_t rounds = assay_engine_rounds(s->engine);
    assert_true(2 * rounds <= 4096);
    assay_engine_compare(&s->lanes[0], slow, rounds, scratch, &ratio);
    assert_true(ratio.significant && ratio.n == 10);
}

/* The same, but for one sample that beats the baseline's: ten samples are no certainty then, and it
 * has an even share after all. */
static void test_a_slow_lane_that_is_undecided_has_its_share(void **state)
{
    struct stage *s = *state;
    double durations[64];
    for (int i = 0; i < 64; i++)
        durations[i] = 10 * MS;
    durations[5] = 0.1 * MS; /* two runs find a sample's length, one warms up */
    s->actors[0] = s->actors[1] = (struct actor){.call_ns = 1 * MS, .noise = 0.4};
    s->actors[2] = (struct actor){.call_ns = 10 * MS, .durations = durations, .n_durations = 64};
    s->options.budget_ns = 600 * MS;
    s->options.baseline = 0;
    s->options.warmup = 1;
    play_well(s, 3);
    const struct assay_lane *slow = &s->lanes[2];
    assert_true(!slow->slow && slow->reviewed);
    assert_true(slow->spent_ns >= 200 * MS && slow->spent_ns < 211 * MS);
    assert_true(s->lanes[0].spent_ns >= 200 * MS && s->lanes[0].spent_ns < 205 * MS);
}

/* Fixed numbers that the budget ends: 100 rounds of calls of 10 ms do not fit into 300 ms. What
 * does is spread over places, or a difference between two processes could never be seen. */
static void test_places_of_rounds_that_the_budget_ends(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 10 * MS;
    s->actors[1].call_ns = 100 * US;
    s->options.warmup = 1;
    s->options.rounds = 100;
    s->options.within_budget = true;
    s->options.budget_ns = 300 * MS;
    s->options.baseline = 0;
    s->places[0] = s->places[1] = 20;
    play_well(s, 2);
    assert_int_equal(s->lanes[0].taken, 15);
    assert_int_equal(s->lanes[0].place_rounds, 1);
}

static void test_a_hopeless_lane_takes_three_samples(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 2000 * MS};
    s->options.budget_ns = 200 * MS;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].taken, 3);
    assert_int_equal(assay_engine_rounds(s->engine), 3);
}

/* A baseline that rests gives no more ratios, and must not keep the others running. */
static void test_a_resting_baseline_holds_nobody_up(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 50 * MS, .noise = 0.4};
    s->actors[1] = (struct actor){.call_ns = 50 * US};
    s->options.budget_ns = 800 * MS;
    s->options.baseline = 0;
    play_well(s, 2);
    assert_true(s->lanes[1].precise);
    assert_true(assay_engine_rounds(s->engine) <= 50);
}

/* ---- interleaving ---------------------------------------------------------------------------- */

static void play_three(struct stage *s, uint64_t seed)
{
    assay_engine_destroy(s->engine);
    s->engine = NULL;
    s->n_log = s->steps = 0;
    for (int i = 0; i < 3; i++)
        s->actors[i] = (struct actor){.call_ns = 25 * MS};
    s->options.seed = seed;
    s->options.warmup = 1;
    s->options.rounds = 300;
    play_well(s, 3);
    assert_int_equal(s->n_log, 3 * 2 + 3 * 300);
}

static void test_every_round_has_every_lane_once_in_any_order(void **state)
{
    struct stage *s = *state;
    int seen[3][3] = {{0}};
    play_three(s, 7);
    for (int64_t round = 0; round < 300; round++) {
        const struct run *runs = s->log + 6 + 3 * round;
        assert_int_equal((1 << runs[0].lane) | (1 << runs[1].lane) | (1 << runs[2].lane), 7);
        seen[runs[0].lane][runs[1].lane]++;
    }
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            if (a != b) /* 50 expected; 20 is more than four deviations away */
                assert_in_range(seen[a][b], 20, 80);
}

static void test_the_order_follows_the_seed(void **state)
{
    struct stage *s = *state;
    static struct run first[906];
    play_three(s, 1);
    memcpy(first, s->log, sizeof first);
    play_three(s, 1);
    assert_memory_equal(first, s->log, sizeof first);
    play_three(s, 2);
    assert_memory_not_equal(first, s->log, sizeof first);
}

/* ---- failures and interruptions -------------------------------------------------------------- */

static void test_a_lane_that_fails_is_left_out(void **state)
{
    struct stage *s = *state;
    for (int i = 0; i < 3; i++)
        s->actors[i].call_ns = 25 * MS;
    s->actors[1].fails_at_run = 2 + 5; /* after two runs of warming up, in the fifth round */
    s->options.warmup = 1;
    s->options.rounds = 20;
    play_well(s, 3);
    assert_int_equal(s->lanes[1].status, ASSAY_ERR_DEVICE);
    assert_int_equal(s->lanes[1].taken, 4);
    assert_int_equal(s->actors[1].runs, 7);
    for (int i = 0; i < 20; i++)
        assert_int_equal(isnan(s->lanes[1].samples[i]), i >= 4);
    assert_int_equal(s->lanes[0].taken, 20);
    assert_int_equal(s->lanes[2].taken, 20);
}

static void test_failing_anywhere_ends_nothing_else(void **state)
{
    struct stage *s = *state;
    for (int64_t at = 1; at < 120; at++) {
        s->actors[0] = (struct actor){.call_ns = 30 * US, .fails_at_run = at};
        s->actors[1] = (struct actor){.call_ns = 40 * US};
        s->options.baseline = at % 2;
        s->n_log = s->steps = 0;
        play_well(s, 2);
        assert_int_equal(s->lanes[1].status, ASSAY_OK);
        assert_true(s->lanes[1].taken >= 40);
        if (s->lanes[0].status != ASSAY_OK)
            assert_int_equal(s->actors[0].runs, at);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

static enum assay_status run_without_memory(void *state, const struct assay_work *work)
{
    (void)state, (void)work;
    return ASSAY_ERR_NOMEM;
}

static void test_when_all_fail_it_ends(void **state)
{
    struct stage *s = *state;
    s->kernels[0].run = s->kernels[1].run = run_without_memory;
    s->actors[0].call_ns = s->actors[1].call_ns = 30 * US;
    play_well(s, 2);
    assert_int_equal(s->lanes[0].status, ASSAY_ERR_NOMEM);
    assert_int_equal(s->lanes[0].taken + s->lanes[1].taken, 0);
    assert_int_equal(s->n_log, 2);
}

static void test_stop_ends_within_the_sample(void **state)
{
    struct stage *s = *state;
    for (int64_t after = 0; after < 200; after++) {
        struct assay_error err = {0};
        for (int i = 0; i < 3; i++)
            s->actors[i] = (struct actor){.call_ns = 70 * US, .noise = 0.4};
        s->n_log = 0;
        s->stop_after = after;
        assert_int_equal(play(s, 3, &err), ASSAY_ERR_INTERRUPTED);
        assert_int_equal(err.code, ASSAY_ERR_INTERRUPTED);
        /* Between priming and its sample nobody asks. */
        assert_true(s->n_log >= after && s->n_log <= after + 1);
        int64_t numbers = 0, taken = 0;
        for (int i = 0; i < 3; i++) {
            taken += s->lanes[i].taken;
            for (int64_t r = 0; r < assay_engine_rounds(s->engine); r++)
                numbers += !isnan(s->lanes[i].samples[r]);
        }
        assert_int_equal(numbers, taken);
        if (after > 150)
            assert_true(taken > 0);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

/* Lanes that are about as fast take as many calls in a sample; one that is much slower does not. */
static void test_lanes_about_as_fast_take_as_many_calls(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 11 * US;
    s->actors[1].call_ns = 10 * US;
    s->actors[2].call_ns = 40 * US;
    s->options.rounds = 20;
    play_well(s, 3);
    assert_int_equal(s->lanes[1].iters, 20);
    assert_int_equal(s->lanes[0].iters, 20);
    assert_int_equal(s->lanes[2].iters, 5);
}

/* ---- cold ------------------------------------------------------------------------------------ */

/* All lanes go round together: each continues where the one before stopped, so that none finds sets
 * that another has just loaded into the cache. */
static void test_all_lanes_share_one_rotation(void **state)
{
    static const int64_t n_sets[] = {13, 13, 26};
    struct stage *s = *state;
    int64_t calls = 0, ended[3] = {0};
    bool seen[3][26] = {{0}};
    s->actors[0].call_ns = 50 * US;
    s->actors[1].call_ns = 90 * US;
    s->actors[2].call_ns = 70 * US;
    s->options.rounds = 30;
    memcpy(s->n_sets, n_sets, sizeof n_sets);
    play_well(s, 3);
    for (int64_t i = 0; i < s->n_log; i++) {
        const struct run *run = &s->log[i];
        assert_int_equal(run->first, calls % n_sets[run->lane]);
        for (int64_t k = 0; k < run->iters; k++)
            seen[run->lane][(run->first + k) % n_sets[run->lane]] = true;
        calls += run->iters;
        ended[run->lane] = calls % n_sets[run->lane];
    }
    for (int lane = 0; lane < 3; lane++) {
        assert_int_equal(s->lanes[lane].next_set, ended[lane]);
        for (int64_t k = 0; k < n_sets[lane]; k++)
            assert_true(seen[lane][k]);
    }
}

/* Hot, a lane with several places has four rounds at each, and all lanes are at the same one. Of
 * few rounds each is at another place. */
static void check_places(struct stage *s, int64_t rounds, int64_t each)
{
    s->actors[0].call_ns = 50 * US;
    s->actors[1].call_ns = 90 * US;
    s->options.warmup = 1;
    s->options.rounds = rounds;
    s->places[0] = s->places[1] = 3;
    play_well(s, 2);
    int64_t from = s->n_log - rounds * 4; /* in each round each lane is primed and sampled */
    assert_true(from > 0);
    for (int64_t i = from; i < s->n_log; i++)
        assert_int_equal(s->log[i].place, (i - from) / 4 / each % 3);
}

static void test_hot_lanes_change_places_together(void **state) { check_places(*state, 40, 4); }
static void test_each_of_few_rounds_has_its_place(void **state) { check_places(*state, 12, 1); }

/* Calls so long that the budget has room for so many rounds: half of it reaches all 20 places. */
static void test_slow_calls_change_places_sooner(void **state)
{
    static const struct {
        int64_t rounds, each;
    } cases[] = {{25, 1}, {79, 1}, {85, 2}, {200, 4}};
    struct stage *s = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assay_engine_destroy(s->engine);
        s->engine = NULL;
        s->n_log = s->steps = 0;
        s->actors[0].call_ns = s->actors[1].call_ns = 30 * MS;
        s->options.budget_ns = 2 * (double)cases[i].rounds * 30 * MS;
        s->places[0] = s->places[1] = 20;
        play_well(s, 2);
        assert_int_equal(s->lanes[0].place_rounds, cases[i].each);
        assert_int_equal(s->lanes[1].place_rounds, cases[i].each);
    }
}

/* Three places cost one of two equals 5 %, the others nothing. Within a process both lanes would
 * have met them; in two processes it is luck, and no difference between the kernels. */
static void test_luck_with_places_is_no_difference(void **state)
{
    struct stage *s = *state;
    struct assay_ratio ratio;
    s->actors[0].call_ns = s->actors[1].call_ns = 50 * US;
    s->options.rounds = 400;
    s->options.baseline = 0;
    s->places[0] = s->places[1] = 5;
    for (int i = 0; i < 3; i++)
        s->place_costs[i] = 0.05;
    play_well(s, 2);
    double *scratch = calloc(800, sizeof *scratch);
    assay_engine_compare(&s->lanes[0], &s->lanes[1], 400, scratch, &ratio);
    assert_int_equal(ratio.n, 400);
    assert_true(ratio.significant);
    struct assay_lane there = s->lanes[1];
    there.device = NULL;
    assay_engine_compare(&s->lanes[0], &there, 400, scratch, &ratio);
    assert_int_equal(ratio.n, 5);
    assert_false(ratio.significant);
    free(scratch);
}

/* What the caller left in a lane but for its kernel, state and sets is not believed. */
static void test_a_lane_starts_afresh(void **state)
{
    struct stage *s = *state;
    struct assay_engine_hooks hooks = {.user = s};
    s->lanes[0] = (struct assay_lane){.kernel = &s->kernels[0],
                                      .state = &s->actors[0],
                                      .sets = s->sets[0],
                                      .n_sets = 3,
                                      .next_set = 2,
                                      .status = ASSAY_ERR_DEVICE,
                                      .taken = 5,
                                      .slow_unit = 4,
                                      .precise = true};
    assert_int_equal(
        assay_engine_create(s->device, &s->options, &hooks, s->lanes, 1, &s->engine, NULL),
        ASSAY_OK);
    const struct assay_lane *lane = &s->lanes[0];
    assert_ptr_equal(lane->sets, s->sets[0]);
    assert_int_equal(lane->n_sets, 3);
    assert_int_equal(lane->next_set + lane->status + lane->taken + lane->slow_unit, 0);
    assert_false(lane->precise);
}

/* ---- samples that are looked at -------------------------------------------------------------- */

/* Every third sample of lane 0 is; the work told before and after is the one that was run. */
struct looker {
    struct stage *stage;
    enum assay_look how;
    int64_t asked, before, after, wrong_at;
    double ns; /* of the last one */
    struct assay_work work;
    int64_t log_before;
};

static enum assay_look look(void *user, int64_t lane)
{
    struct looker *l = user;
    bool third = lane == 0 && l->asked++ % 3 == 0;
    return third ? l->how : ASSAY_LOOK_AWAY;
}

static void look_before(void *user, int64_t lane, const struct assay_work *work)
{
    struct looker *l = user;
    assert_int_equal(lane, 0);
    assert_int_equal(l->before++, l->after);
    l->work = *work;
    l->log_before = l->stage->n_log;
}

static bool look_after(void *user, int64_t lane, const struct assay_work *work, double ns)
{
    struct looker *l = user;
    assert_int_equal(lane, 0);
    assert_memory_equal(work, &l->work, sizeof *work);
    assert_int_equal(l->stage->n_log, l->log_before + 1); /* that sample and nothing else */
    const struct run *run = &l->stage->log[l->log_before];
    assert_int_equal(run->iters, work->iters);
    assert_int_equal(run->first, work->first);
    assert_int_equal(work->iters, l->stage->lanes[0].iters);
    l->ns = ns;
    return ++l->after != l->wrong_at;
}

static void play_looked_at(struct looker *l, int64_t n_lanes)
{
    struct stage *s = l->stage;
    struct assay_engine_hooks hooks = {
        .user = l, .look = look, .before = look_before, .after = look_after};
    for (int64_t i = 0; i < n_lanes; i++) {
        s->actors[i].call_ns = 50 * US;
        s->lanes[i] = (struct assay_lane){.kernel = &s->kernels[i],
                                          .state = &s->actors[i],
                                          .sets = s->sets[i],
                                          .n_sets = s->n_sets[i]};
    }
    s->options.warmup = 1;
    s->options.rounds = 9;
    assert_int_equal(
        assay_engine_create(s->device, &s->options, &hooks, s->lanes, n_lanes, &s->engine, NULL),
        ASSAY_OK);
    assert_int_equal(assay_engine_run(s->engine, NULL), ASSAY_OK);
}

static void test_samples_that_are_looked_at_do_not_count(void **state)
{
    struct looker l = {.stage = *state, .how = ASSAY_LOOK_ASIDE};
    l.stage->n_sets[0] = 3;
    play_looked_at(&l, 2);
    assert_int_equal(l.asked, 9);
    assert_int_equal(l.before, 3);
    assert_int_equal(l.after, 3);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(l.stage->lanes[i].taken, 9);
        assert_int_equal(l.stage->lanes[i].status, ASSAY_OK);
    }
}

static void test_a_sample_that_counts_can_be_looked_at(void **state)
{
    struct looker l = {.stage = *state, .how = ASSAY_LOOK_COUNTED};
    play_looked_at(&l, 1);
    assert_int_equal(l.after, 3);
    assert_int_equal(l.stage->lanes[0].taken, 9);
    int64_t runs = 0; /* the samples alone, without priming and warming up */
    for (int64_t i = l.log_before; i < l.stage->n_log; i++)
        runs += l.stage->log[i].iters == l.stage->lanes[0].iters;
    assert_true(runs >= 3); /* the looked-at one, and the two behind it */
    double last = l.stage->lanes[0].samples[6] * (double)l.stage->lanes[0].iters;
    assert_true(l.ns > 0.99 * last && l.ns < 1.01 * last);
}

static void test_a_lane_found_out_is_left_out(void **state)
{
    struct looker l = {.stage = *state, .wrong_at = 2, .how = ASSAY_LOOK_ASIDE};
    play_looked_at(&l, 2);
    assert_int_equal(l.after, 2);
    assert_int_equal(l.stage->lanes[0].status, ASSAY_ERR_CORRUPT);
    assert_int_equal(l.stage->lanes[0].taken, 3);
    assert_int_equal(l.stage->lanes[1].taken, 9);
}

/* ---- the matrix unit ------------------------------------------------------------------------- */

/* One lane of long calls, `rounds` samples of it, and the probes there are. */
static void play_probed(struct stage *s, const double *probes, int64_t n, int64_t rounds)
{
    s->actors[0].call_ns = 25 * MS;
    s->kernels[0].units = ASSAY_UNIT_MATRIX;
    s->options.warmup = 1;
    s->options.rounds = rounds;
    s->probes = probes;
    s->n_probes = n;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].taken, rounds);
}

static void test_at_full_speed_a_sample_stands_between_two_probes(void **state)
{
    struct stage *s = *state;
    static const double probes[] = {20e3, 21e3, 26e3}; /* up to 1.3 times the best is full speed */
    play_probed(s, probes, 3, 9);
    assert_int_equal(s->probed, 18);
    assert_int_equal(s->n_log, 2 + 9);
    assert_int_equal(s->lanes[0].slow_unit, 0);
}

/* The first sample meets full speed, all others the slow one: each is taken three times, counted
 * each time, and then kept. */
static void test_a_sample_at_the_slow_speed_is_taken_again_and_then_kept(void **state)
{
    struct stage *s = *state;
    enum { ROUNDS = 6, PROBES = 2 + 6 * (ROUNDS - 1) };
    double probes[PROBES];
    double durations[2 + 1 + 3 * (ROUNDS - 1)];
    for (int i = 0; i < PROBES; i++)
        probes[i] = i < 2 ? 20e3 : 70e3;
    for (int i = 0; i < (int)(sizeof durations / sizeof durations[0]); i++)
        durations[i] = (30 + i) * MS;
    s->actors[0].durations = durations;
    s->actors[0].n_durations = sizeof durations / sizeof durations[0];
    play_probed(s, probes, PROBES, ROUNDS);
    assert_int_equal(s->probed, PROBES);
    assert_int_equal(s->lanes[0].slow_unit, 3 * (ROUNDS - 1));
    assert_int_equal(s->n_log, 2 + 1 + 3 * (ROUNDS - 1));
    assert_near(s->lanes[0].samples[0], 32 * MS, 0);
    assert_near(s->lanes[0].fast[0], 32 * MS, 0);
    for (int i = 1; i < ROUNDS; i++) { /* the last of its three, and none of the fast ones */
        assert_near(s->lanes[0].samples[i], (32 + 3 * i) * MS, 0);
        assert_true(isnan(s->lanes[0].fast[i]));
    }
}

/* Slow before, slow behind, or slow at both ends: once more, and the sample is the second one. */
static void test_one_slow_probe_is_enough_to_take_a_sample_again(void **state)
{
    static const double before[] = {20e3, 20e3, 70e3, 20e3, 20e3, 20e3};
    static const double behind[] = {20e3, 20e3, 20e3, 70e3, 20e3, 20e3};
    static const double both[] = {20e3, 20e3, 70e3, 70e3, 20e3, 20e3};
    const double *probes[] = {before, behind, both};
    static const double durations[] = {30e6, 30e6, 31e6, 90e6, 33e6};
    struct stage *s = *state;
    for (int i = 0; i < 3; i++) {
        s->actors[0] = (struct actor){.durations = durations, .n_durations = 5};
        s->n_log = s->steps = s->probed = 0;
        play_probed(s, probes[i], 6, 2);
        assert_int_equal(s->lanes[0].slow_unit, 1);
        assert_near(s->lanes[0].samples[0], 31e6, 0);
        assert_near(s->lanes[0].samples[1], 33e6, 0);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

/* Slow from the first probe to the last: that it is slow is known from elsewhere. */
static void test_a_unit_that_is_always_slow_is_noticed(void **state)
{
    static const double probes[] = {70e3, 70e3};
    struct stage *s = *state;
    s->options.unit_full_ns = 20e3;
    play_probed(s, probes, 2, 4);
    assert_int_equal(s->lanes[0].slow_unit, 3 * 4);
    for (int i = 0; i < 4; i++)
        assert_true(isnan(s->lanes[0].fast[i]));
}

/* Where it is not, a run that begins at the slow speed cannot know it until it has met the other.
 */
static void test_the_best_probe_is_what_slow_means(void **state)
{
    static const double probes[] = {70e3, 70e3, 20e3, 20e3, 70e3, 20e3, 20e3, 20e3};
    struct stage *s = *state;
    play_probed(s, probes, 8, 3);
    assert_int_equal(s->lanes[0].slow_unit, 1);
    assert_int_equal(s->probed, 8);
}

static void test_a_retry_spends_the_budget(void **state)
{
    static const double probes[] = {20e3, 20e3, 70e3, 70e3, 70e3, 70e3, 70e3, 70e3};
    struct stage *s = *state;
    play_probed(s, probes, 8, 2);
    assert_near(s->lanes[0].spent_ns, 4 * 25 * MS, 1);
}

static void test_a_failure_between_probes_ends_the_lane(void **state)
{
    static const double probes[] = {20e3, 20e3, 70e3};
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 25 * MS, .fails_at_run = 2 + 3};
    s->kernels[0].units = ASSAY_UNIT_MATRIX;
    s->options.warmup = 1;
    s->options.rounds = 9;
    s->probes = probes;
    s->n_probes = 3;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].status, ASSAY_ERR_DEVICE);
    assert_int_equal(s->actors[0].runs, 5);
    assert_int_equal(s->lanes[0].taken, 1);
}

static void test_only_who_uses_the_unit_is_probed(void **state)
{
    static const double probes[] = {20e3, 70e3};
    struct stage *s = *state;
    s->actors[1].call_ns = 25 * MS;
    s->probes = probes;
    s->n_probes = 2;
    s->actors[0].call_ns = 25 * MS;
    s->kernels[1].units = ASSAY_UNIT_MATRIX;
    s->options.rounds = 4;
    s->options.warmup = 1;
    play_well(s, 2);
    assert_int_equal(s->lanes[0].slow_unit, 0);
    assert_true(s->lanes[1].slow_unit > 0);
    assert_int_equal(s->actors[0].runs, 2 + 4);
    assert_true(s->actors[1].runs > 2 + 4);
}

/* No unit to probe, or a device that cannot: a sample like any other. */
static void test_without_a_probe_a_sample_is_taken_once(void **state)
{
    static const double none[] = {0};
    struct stage *s = *state;
    play_probed(s, none, 1, 5);
    assert_int_equal(s->lanes[0].slow_unit, 0);
    assert_int_equal(s->n_log, 2 + 5);
    assay_engine_destroy(s->engine);
    s->engine = NULL;
    struct assay_device_driver unable = *s->device->driver;
    const struct assay_device_driver *held = s->device->driver;
    unable.matrix_probe = NULL;
    s->device->driver = &unable;
    s->n_log = s->steps = 0;
    s->actors[0].runs = 0;
    play_probed(s, NULL, 0, 5);
    assert_int_equal(s->n_log, 2 + 5);
    s->device->driver = held;
}

/* ---- probes of the machine ------------------------------------------------------------------- */

static double spent(const struct stage *s, int64_t from, int64_t to)
{
    double ns = 0;
    for (int64_t i = from; i < to; i++)
        ns += s->lanes[i].spent_ns;
    return ns;
}

/* At most a fifth of all time, so a quarter of the variants', and less than that by no more than a
 * round of them; in every round all of them or none, from the first to the last quarter. */
static void test_probes_take_a_fifth_of_the_time(void **state)
{
    struct stage *s = *state;
    static const double probe_calls[] = {20e3, 150e3, 3e6};
    for (size_t i = 0; i < sizeof probe_calls / sizeof probe_calls[0]; i++) {
        for (int lane = 0; lane < 4; lane++)
            s->actors[lane] = (struct actor){.call_ns = lane < 2 ? 60 * US : probe_calls[i]};
        s->probing[2] = s->probing[3] = true;
        s->options.rounds = 1000;
        s->n_log = s->steps = 0;
        play_well(s, 4);
        const double *a = s->lanes[2].samples, *b = s->lanes[3].samples;
        int64_t last = 0;
        for (int64_t r = 0; r < 1000; r++) {
            assert_int_equal(isnan(a[r]), isnan(b[r]));
            last = isnan(a[r]) ? last : r;
        }
        assert_false(isnan(a[0]));
        assert_true(last > 750);
        double share = 0.25 * spent(s, 0, 2);
        double round = spent(s, 2, 4) / (double)s->lanes[2].taken;
        assert_true(spent(s, 2, 4) <= share + round);
        assert_true(spent(s, 2, 4) >= share - round);
        assert_int_equal(s->lanes[0].taken, 1000);
        assert_near(a[last], probe_calls[i], 1e-6);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

static void test_a_probe_that_fails_holds_nobody_up(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = s->actors[1].call_ns = 50 * US;
    s->actors[2] = (struct actor){.call_ns = 50 * US, .fails_at_run = 8};
    s->probing[1] = s->probing[2] = true;
    s->options.budget_ns = 1e12;
    play_well(s, 3);
    assert_int_equal(assay_engine_rounds(s->engine), 60); /* by then ten of the other are there */
    assert_true(s->lanes[0].precise);
    assert_int_equal(s->lanes[0].taken, 60);
    assert_int_equal(s->lanes[2].status, ASSAY_ERR_DEVICE);
    assert_true(s->lanes[1].taken >= ASSAY_STATS_FEWEST_ROUNDS && s->lanes[1].taken < 20);
}

/* The variant is precise after 40 rounds. Where its share of the ceiling is not known to twice
 * the precision asked for, the run goes on until the budget is spent. */
static void test_a_run_goes_on_until_the_share_of_the_ceiling_is_known(void **state)
{
    static const struct {
        double noise;
        bool known;
    } cases[] = {{0.019, true}, {0.021, false}, {0.4, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct stage *s = *state;
        s->actors[0] = (struct actor){.call_ns = 50 * US};
        s->actors[1] = (struct actor){.call_ns = 50 * US, .noise = cases[i].noise};
        s->probing[1] = true;
        s->options.budget_ns = 90 * MS;
        s->steps = s->n_log = 0;
        play_well(s, 2);
        assert_true(s->lanes[0].precise);
        assert_true((s->lanes[0].taken <= 50) == cases[i].known);
        assert_true((s->lanes[0].spent_ns >= 90 * MS) == !cases[i].known);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

/* Hot, a probe and whoever comes after it are primed with four calls; others, and cold ones, as
 * ever: by what fills 100 us. */
static void test_probes_and_who_follows_them_are_primed_longer(void **state)
{
    struct stage *s = *state;
    s->options.rounds = 60;
    s->options.warmup = 1;
    for (int cold = 0; cold < 2; cold++) {
        for (int i = 0; i < 2; i++) {
            s->actors[i] = (struct actor){.call_ns = 300 * US};
            s->n_sets[i] = cold ? 4 : 1;
        }
        s->probing[1] = true;
        s->steps = s->n_log = 0;
        play_well(s, 2);
        int64_t of_four = 0, probes = s->lanes[1].taken;
        for (int64_t i = 0; i < s->n_log; i++)
            of_four += s->log[i].iters == 4;
        assert_true(probes > 4);
        /* The probe itself and the variant behind it, but where the run ends or begins. */
        assert_true(cold ? of_four == 0 : of_four >= 2 * probes - 1 && of_four <= 2 * probes);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

/* Without a probe the variant would spend all of its budget, and with one it does as well. */
static void test_probes_have_no_share_of_the_budget(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 50 * US, .noise = 0.4};
    s->actors[1] = s->actors[2] = (struct actor){.call_ns = 50 * US};
    s->probing[1] = s->probing[2] = true;
    s->options.budget_ns = 90 * MS;
    play_well(s, 3);
    assert_false(s->lanes[0].precise);
    assert_true(s->lanes[0].spent_ns >= 90 * MS && s->lanes[0].spent_ns < 91 * MS);
    assert_int_equal(s->lanes[0].taken, assay_engine_rounds(s->engine));
}

/* The variant is precise after 40 rounds, in which two probes fit. */
static void test_a_run_waits_for_its_probes(void **state)
{
    struct stage *s = *state;
    s->actors[0] = (struct actor){.call_ns = 300 * US};
    s->actors[1] = (struct actor){.call_ns = 4 * MS};
    s->probing[1] = true;
    play_well(s, 2);
    assert_int_equal(s->lanes[1].taken, ASSAY_STATS_FEWEST_ROUNDS);
    assert_true(s->lanes[1].spent_ns <= 0.3 * s->lanes[0].spent_ns);
}

/* Opening them has warmed them up: two runs find out how long a call is, and that is all. */
static void test_probes_are_not_warmed_up(void **state)
{
    struct stage *s = *state;
    for (int64_t warmup = 0; warmup < 12; warmup += 11) {
        s->actors[0] = s->actors[1] = (struct actor){.call_ns = 300 * US};
        s->probing[1] = true;
        s->options.warmup = warmup;
        s->options.rounds = 20;
        s->n_log = s->steps = 0;
        play_well(s, 2);
        assert_true(s->actors[0].runs > 2 + 2 * s->lanes[0].taken);
        assert_int_equal(s->actors[1].runs, 2 + 2 * s->lanes[1].taken);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
    }
}

/* A probe has a length of its own, and gives none to others. */
static void test_probes_set_nobodys_pace(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 11 * US;
    s->actors[1].call_ns = 10 * US;
    s->actors[2].call_ns = 12 * US;
    s->probing[1] = s->probing[2] = true;
    s->options.rounds = 20;
    play_well(s, 3);
    assert_int_equal(s->lanes[0].iters, 19);
    assert_int_equal(s->lanes[1].iters, 20);
    assert_int_equal(s->lanes[2].iters, 17);
}

/* ---- disturbances ---------------------------------------------------------------------------- */

static void test_context_switches_count_samples_not_switches(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 25 * MS;
    s->options.warmup = 1;
    s->options.rounds = 30;
    s->switch_in_run = 4; /* runs 4, 8, …, 32, two of 32 runs being warm-up: 8 samples */
    play_well(s, 1);
    assert_int_equal(s->lanes[0].context_switches, 8);
}

/* Marks of lane 0 in each of its rounds, where everything but the first two runs is a sample. */
static void play_marked(struct stage *s, int64_t rounds)
{
    assay_engine_destroy(s->engine);
    s->engine = NULL;
    s->actors[0] = (struct actor){.call_ns = 25 * MS};
    s->options.warmup = 1;
    s->options.rounds = rounds;
    s->n_log = s->steps = s->waited_ns = s->stolen_ns = 0;
    play_well(s, 1);
    assert_int_equal(s->n_log, 2 + rounds);
}

static void expect_marks(const struct stage *s, int64_t every, uint8_t mark)
{
    for (int64_t r = 0; r < assay_engine_rounds(s->engine); r++)
        assert_int_equal(s->lanes[0].marks[r], (r + 3) % every == 0 ? mark : 0);
}

static void test_samples_that_lost_their_core_are_marked(void **state)
{
    struct stage *s = *state;
    s->switch_in_run = 4;
    play_marked(s, 30);
    expect_marks(s, 4, ASSAY_MARK_SWITCHED);
}

/* 25 ms: a wait of 0.25 ms is 1 % of it. */
static void test_samples_that_waited_are_marked(void **state)
{
    struct stage *s = *state;
    s->wait_in_run = 5;
    s->wait_ns = 249000;
    play_marked(s, 30);
    expect_marks(s, 5, 0);
    s->wait_ns = 251000;
    play_marked(s, 30);
    expect_marks(s, 5, ASSAY_MARK_WAITED);
    s->switch_in_run = 5;
    play_marked(s, 30);
    expect_marks(s, 5, ASSAY_MARK_WAITED | ASSAY_MARK_SWITCHED);
}

static void test_throttled_samples_are_marked(void **state)
{
    struct stage *s = *state;
    s->throttle_in_run = 3;
    play_marked(s, 30);
    expect_marks(s, 3, ASSAY_MARK_THROTTLED);
    assert_int_equal(s->lanes[0].throttled, 10);
}

/* Rounds of 25 ms, and a reading in each: the one it happened in is known, be it the last. */
static void test_stolen_time_marks_its_round(void **state)
{
    struct stage *s = *state;
    for (int64_t round = 0; round < 10; round++) {
        s->steal_in_run = 3 + round;
        play_marked(s, 10);
        for (int64_t r = 0; r < 10; r++)
            assert_int_equal(s->lanes[0].marks[r], r == round ? ASSAY_MARK_STOLEN : 0);
    }
    s->steal_in_run = 2; /* before the first sample */
    play_marked(s, 10);
    for (int64_t r = 0; r < 10; r++)
        assert_int_equal(s->lanes[0].marks[r], 0);
}

/* Rounds of 0.6 ms: the system tells every 10 ms at the most, and all since then are suspect, of
 * all lanes. */
static void test_stolen_time_marks_all_since_the_last_reading(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = s->actors[1].call_ns = 50 * US;
    s->options.warmup = 1;
    s->options.rounds = 200;
    s->steal_in_run = 400; /* about the middle */
    play_well(s, 2);
    int64_t marked = 0, changes = 0;
    for (int64_t r = 0; r < 200; r++) {
        uint8_t mark = s->lanes[0].marks[r];
        assert_int_equal(mark, s->lanes[1].marks[r]);
        assert_true(mark == 0 || mark == ASSAY_MARK_STOLEN);
        marked += mark != 0;
        changes += r > 0 && mark != s->lanes[0].marks[r - 1];
    }
    assert_in_range(marked, 15, 20);
    assert_int_equal(changes, 2); /* one stretch */
    assert_int_equal(s->lanes[0].marks[0] | s->lanes[0].marks[199], 0);
    assert_in_range(s->steal_asks, 200 * 0.6 / 11, 200 * 0.6 / 10 + 2);
}

static void test_samples_near_the_floor_are_counted(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 50 * US; /* samples of 200 us */
    s->options.warmup = 1;
    s->options.rounds = 12;
    s->options.floor_ns = 66 * US;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].near_floor, 0);
    assay_engine_destroy(s->engine);
    s->options.floor_ns = 67 * US;
    s->n_log = s->steps = 0;
    play_well(s, 1);
    assert_int_equal(s->lanes[0].near_floor, 12);
}

static void test_the_clock_is_read_each_round_but_not_more_than_needed(void **state)
{
    struct stage *s = *state;
    s->actors[0].call_ns = 25 * MS;
    s->options.rounds = 10;
    s->clock_hz = 1e9;
    s->clock_step = 1e6;
    play_well(s, 1);
    for (int i = 0; i < 10; i++)
        assert_near(assay_engine_clocks(s->engine)[i], 1e9 + (i + 1) * 1e6, 0);
    assay_engine_destroy(s->engine);
    s->actors[0] = (struct actor){.call_ns = 50 * US}; /* rounds of 0.3 ms: a reading each 2 ms */
    s->options.rounds = 70;
    s->clock_hz = 1e9;
    s->n_log = s->steps = 0;
    play_well(s, 1);
    assert_near(s->clock_hz, 1e9 + 10e6, 1e6);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void test_no_allocation_is_taken_for_granted(void **state)
{
    struct stage *s = *state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    int64_t nth = 0;
    while (status != ASSAY_OK) {
        struct assay_error err = {0};
        for (int i = 0; i < 3; i++)
            s->actors[i] = (struct actor){.call_ns = 30 * US};
        s->options.rounds = 300; /* more than the first reservation */
        s->n_log = 0;
        assay_alloc_fail_after(++nth);
        status = play(s, 3, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        if (status != ASSAY_OK)
            assert_int_equal(status, ASSAY_ERR_NOMEM);
        assay_engine_destroy(s->engine);
        s->engine = NULL;
        assert_true(nth < 100);
    }
    /* engine, order; samples and marks of three lanes, clocks, scratch, twice */
    assert_int_equal(nth, 2 + 2 * (3 * 2 + 2) + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_stage, strike_stage)
    const struct CMUnitTest tests[] = {
        TEST(test_long_calls_are_reported_as_they_are),
        TEST(test_short_calls_are_bundled),
        TEST(test_a_slow_clock_makes_samples_longer),
        TEST(test_iters_of_every_length),
        TEST(test_fixed_counts_are_exact),
        TEST(test_counted_calls_are_all_there_are),
        TEST(test_fixed_rounds_ignore_the_budget),
        TEST(test_constant_durations_stop_at_the_least_rounds),
        TEST(test_it_goes_on_until_the_ratio_is_decided),
        TEST(test_a_likely_difference_goes_on),
        TEST(test_equals_stop_whatever_was_asked_for),
        TEST(test_the_budget_ends_what_never_settles),
        TEST(test_a_thousandfold_slower_lane_rests),
        TEST(test_a_lane_that_is_known_leaves_time_to_the_others),
        TEST(test_a_slow_lane_leaves_time_to_the_others),
        TEST(test_a_slow_lane_that_is_undecided_has_its_share),
        TEST(test_places_of_rounds_that_the_budget_ends),
        TEST(test_a_hopeless_lane_takes_three_samples),
        TEST(test_a_resting_baseline_holds_nobody_up),
        TEST(test_every_round_has_every_lane_once_in_any_order),
        TEST(test_the_order_follows_the_seed),
        TEST(test_a_lane_that_fails_is_left_out),
        TEST(test_failing_anywhere_ends_nothing_else),
        TEST(test_when_all_fail_it_ends),
        TEST(test_stop_ends_within_the_sample),
        TEST(test_lanes_about_as_fast_take_as_many_calls),
        TEST(test_all_lanes_share_one_rotation),
        TEST(test_hot_lanes_change_places_together),
        TEST(test_each_of_few_rounds_has_its_place),
        TEST(test_slow_calls_change_places_sooner),
        TEST(test_luck_with_places_is_no_difference),
        TEST(test_a_lane_starts_afresh),
        TEST(test_samples_that_are_looked_at_do_not_count),
        TEST(test_a_sample_that_counts_can_be_looked_at),
        TEST(test_a_lane_found_out_is_left_out),
        TEST(test_at_full_speed_a_sample_stands_between_two_probes),
        TEST(test_a_sample_at_the_slow_speed_is_taken_again_and_then_kept),
        TEST(test_one_slow_probe_is_enough_to_take_a_sample_again),
        TEST(test_a_unit_that_is_always_slow_is_noticed),
        TEST(test_the_best_probe_is_what_slow_means),
        TEST(test_a_retry_spends_the_budget),
        TEST(test_a_failure_between_probes_ends_the_lane),
        TEST(test_only_who_uses_the_unit_is_probed),
        TEST(test_without_a_probe_a_sample_is_taken_once),
        TEST(test_probes_take_a_fifth_of_the_time),
        TEST(test_a_probe_that_fails_holds_nobody_up),
        TEST(test_a_run_goes_on_until_the_share_of_the_ceiling_is_known),
        TEST(test_probes_and_who_follows_them_are_primed_longer),
        TEST(test_probes_have_no_share_of_the_budget),
        TEST(test_a_run_waits_for_its_probes),
        TEST(test_probes_are_not_warmed_up),
        TEST(test_probes_set_nobodys_pace),
        TEST(test_context_switches_count_samples_not_switches),
        TEST(test_samples_that_lost_their_core_are_marked),
        TEST(test_samples_that_waited_are_marked),
        TEST(test_throttled_samples_are_marked),
        TEST(test_stolen_time_marks_its_round),
        TEST(test_stolen_time_marks_all_since_the_last_reading),
        TEST(test_samples_near_the_floor_are_counted),
        TEST(test_the_clock_is_read_each_round_but_not_more_than_needed),
        TEST(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
