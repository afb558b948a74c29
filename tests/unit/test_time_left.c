/* test_time_left.c: the time left of scripted runs: it falls, it learns, and a surprise is said. */
#include "unit.h"

#include "bench/time_left.h"

enum { MOST = 64 };

/* What happens: groups thought to take so long, and how long they take. */
struct script {
    struct assay_time_left_group groups[MOST];
    double took_s[MOST];
    int64_t n;
};

static struct script even(int64_t n, double timing_s, double setup_s, double took_s)
{
    struct script s = {.n = n};
    for (int64_t i = 0; i < n; i++) {
        s.groups[i] = (struct assay_time_left_group){.timing_s = timing_s, .setup_s = setup_s};
        s.took_s[i] = took_s;
    }
    return s;
}

/* Plays it, asking twice a second: how often the time left grew, and how far off it was, as a share
 * of what was really left, after `settled` groups were done. */
struct heard {
    int64_t grew;
    double first_s, last_s, worst;
};

static struct heard play(struct script *s, int64_t settled)
{
    struct assay_time_left f;
    struct heard heard = {.first_s = NAN};
    double now = 0, before = INFINITY, whole = 0;
    for (int64_t i = 0; i < s->n; i++)
        whole += s->took_s[i];
    assay_time_left_init(&f, s->groups, s->n);
    for (int64_t i = 0; i < s->n; i++) {
        double end = now + s->took_s[i];
        assay_time_left_start(&f, i, now);
        for (; now < end; now = fmin(now + 0.5, end)) {
            double left = assay_time_left_now(&f, now), truth = whole - now;
            heard.grew += left > before + 1e-9;
            before = left;
            heard.last_s = left;
            if (isnan(heard.first_s))
                heard.first_s = left;
            if (i >= settled)
                heard.worst = fmax(heard.worst, fabs(left - truth) / whole);
        }
        assay_time_left_done(&f, now);
    }
    return heard;
}

static void what_was_expected_happens(void **state)
{
    (void)state;
    struct script s = even(12, 0.8, 0.2, 1);
    struct heard heard = play(&s, 0);
    assert_int_equal(heard.grew, 0);
    assert_true(fabs(heard.first_s - 12) < 1e-9);
    assert_true(heard.last_s < 0.6);
    assert_true(heard.worst < 0.02);
}

static void groups_that_reach_their_precision_early(void **state)
{
    (void)state;
    struct script s = even(20, 2, 0.1, 0.7);
    struct heard heard = play(&s, 3);
    assert_int_equal(heard.grew, 0);
    assert_true(heard.worst < 0.1);
}

/* The budget bounds the samples: what takes longer is everything else, and of larger groups it
 * takes longer still. */
static void checks_that_take_longer_than_thought(void **state)
{
    (void)state;
    struct script s = even(9, 0.5, 0, 0);
    for (int64_t i = 0; i < s.n; i++) {
        s.groups[i].setup_s = 0.1 * (double)(i + 1);
        s.took_s[i] = 0.5 + 10 * s.groups[i].setup_s;
    }
    struct heard heard = play(&s, 3);
    assert_true(heard.grew > 0 && heard.grew <= 3);
    assert_true(heard.worst < 0.2);
}

/* Nothing surprising: some groups take a third more, some less. */
static void uneven_groups_do_not_make_it_grow(void **state)
{
    (void)state;
    struct script s = even(30, 1, 0.5, 0);
    for (int64_t i = 0; i < s.n; i++)
        s.took_s[i] = 1.5 * (i % 3 == 0 ? 1.3 : i % 3 == 1 ? 0.8 : 0.9);
    struct heard heard = play(&s, 5);
    assert_int_equal(heard.grew, 0);
    assert_true(heard.worst < 0.15);
}

/* One group that takes for ever says nothing, until it is done. */
static void a_group_beyond_expectation(void **state)
{
    (void)state;
    struct assay_time_left f;
    struct script s = even(3, 1, 0.1, 0);
    assay_time_left_init(&f, s.groups, s.n);
    assay_time_left_start(&f, 0, 0);
    double before = INFINITY;
    for (double now = 0; now < 6; now += 0.25) {
        double left = assay_time_left_now(&f, now);
        assert_true(left <= before && left > 2);
        before = left;
    }
    assert_true(isnan(assay_time_left_now(&f, 7)));
    assay_time_left_done(&f, 8);
    double left = assay_time_left_now(&f, 8);
    assert_true(left > 4);
    assert_true(assay_time_left_now(&f, 9) <= left);
}

/* Calibrating comes once, before the first group. */
static void what_only_one_group_pays_is_not_expected_of_others(void **state)
{
    (void)state;
    struct script s = even(10, 1, 0.1, 1.1);
    s.groups[0].extra_s = 8;
    s.groups[0].unlike = true;
    s.took_s[0] = 14;
    struct heard heard = play(&s, 1);
    assert_int_equal(heard.grew, 0);
    assert_true(fabs(heard.first_s - 19) < 1e-9);
    assert_true(heard.worst < 0.02);
}

/* Groups of an earlier part of the run, and those that are only passed over, take nothing. */
static void groups_that_are_done_do_not_count(void **state)
{
    (void)state;
    struct assay_time_left f;
    struct script s = even(4, 1, 0, 0);
    s.groups[1].done = true;
    s.groups[3] = (struct assay_time_left_group){0};
    assay_time_left_init(&f, s.groups, s.n);
    assert_true(fabs(assay_time_left_now(&f, 0) - 2) < 1e-9);
    assay_time_left_done(&f, 1); /* none was begun */
    assay_time_left_start(&f, 3, 1);
    assay_time_left_done(&f, 1);
    assert_true(fabs(f.timing_factor - 1) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_expected_happens),
        cmocka_unit_test(groups_that_reach_their_precision_early),
        cmocka_unit_test(checks_that_take_longer_than_thought),
        cmocka_unit_test(uneven_groups_do_not_make_it_grow),
        cmocka_unit_test(a_group_beyond_expectation),
        cmocka_unit_test(what_only_one_group_pays_is_not_expected_of_others),
        cmocka_unit_test(groups_that_are_done_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
