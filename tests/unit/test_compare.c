/* test_compare.c: which rows of two runs are the same thing, what is said of each, what the runs
 * have not in common, and how it is written. */
#include "compare/compare.h"
#include "report_case.h"

#include "base/json.h"

#include <locale.h>

/* ---- rows ------------------------------------------------------------------------------------ */

static struct assay_results empty_run(void)
{
    return (struct assay_results){.format = "journal", .run = a_run, .source = "x"};
}

static struct assay_result *add(struct assay_results *run, const char *op, const char *kernel)
{
    struct assay_result *row = assay_results_add(run);
    assert_non_null(row);
    assert_true(assay_result_set(row, ASSAY_RESULT_OP, op));
    assert_true(assay_result_set(row, ASSAY_RESULT_SIZES, "batch=1 dim=2"));
    assert_true(assay_result_set(row, ASSAY_RESULT_DTYPE, "f32"));
    assert_true(assay_result_set(row, ASSAY_RESULT_IMPLEMENTATION, "native"));
    assert_true(assay_result_set(row, ASSAY_RESULT_DEVICE, "cpu"));
    assert_true(assay_result_set(row, ASSAY_RESULT_THREADS, "2"));
    assert_true(assay_result_set(row, ASSAY_RESULT_KERNEL, kernel));
    return row;
}

static void set_time(struct assay_result *row, int time, double us, double percent, int64_t n)
{
    double ns = 1000 * us;
    assay_result_set_time(row, time, ns, ns * (1 - percent / 100), ns * (1 + percent / 100), n);
}

static void add_timed(struct assay_results *run, const char *op, double us, double percent)
{
    set_time(add(run, op, "k"), HOT, us, percent, 100);
}

static void compare(struct assay_results *was, struct assay_results *is, double allowed,
                    struct assay_comparison *out)
{
    snprintf(is->run.id, sizeof is->run.id, "20261116-000000-0000");
    assert_int_equal(assay_results_join(was, NULL), ASSAY_OK);
    assert_int_equal(assay_results_join(is, NULL), ASSAY_OK);
    assert_int_equal(assay_compare(was, is, allowed, out, NULL), ASSAY_OK);
}

static void drop(struct assay_results *was, struct assay_results *is, struct assay_comparison *c)
{
    assay_comparison_fini(c);
    assay_results_fini(was);
    assay_results_fini(is);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static const struct assay_compare_relation apart = {.same_machine = true};

static struct assay_compare_row judge(double old_us, double old_percent, double new_us,
                                      double new_percent, int64_t n)
{
    struct assay_result was = {0}, is = {0};
    struct assay_compare_row row = {0};
    set_time(&was, HOT, old_us, old_percent, n);
    set_time(&is, HOT, new_us, new_percent, n);
    assay_compare_times(&was.times[HOT], &is.times[HOT], apart, &row);
    return row;
}

/* At 99.8 % two medians known to 0.5 % make a ratio that is known to
 * 1.577 sqrt(2) 0.5 % = 1.115 %. */
static void what_is_said_of_two_times(void **state)
{
    (void)state;
    const struct {
        double old_us, old_percent, new_us, new_percent;
        int64_t n;
        enum assay_compare_verdict verdict;
    } cases[] = {
        {100, 0.5, 50, 0.5, 100, ASSAY_COMPARE_FASTER},
        {100, 0.5, 120, 0.5, 100, ASSAY_COMPARE_SLOWER},
        {100, 0.5, 97.3, 0.5, 100, ASSAY_COMPARE_FASTER},  /* 2.8 % > 1.5 % + 1.115 % */
        {100, 0.5, 97.6, 0.5, 100, ASSAY_COMPARE_UNCLEAR}, /* 2.5 % is not; its 95 % is */
        {100, 0.5, 98.3, 0.5, 100, ASSAY_COMPARE_UNCLEAR}, /* 1.7 % [1.0 2.4]: neither */
        {100, 0.5, 98.6, 0.5, 100, ASSAY_COMPARE_SAME},    /* 1.4 % is luck */
        {100, 1.5, 97.5, 1.5, 100, ASSAY_COMPARE_UNCLEAR}, /* [0.4 4.7] */
        {100, 1.5, 98, 1.5, 100, ASSAY_COMPARE_SAME},      /* [-0.1 4.2] holds 0 */
        {100, 0.5, 100, 0.5, 100, ASSAY_COMPARE_SAME},
        {100, 0.1, 101.4, 0.1, 100, ASSAY_COMPARE_SAME}, /* known well, and within luck */
        {100, 4, 100, 4, 100, ASSAY_COMPARE_UNCLEAR},    /* 10 % could have been overlooked */
        {100, 20, 120, 20, 100, ASSAY_COMPARE_UNCLEAR},
        {100, 0.5, 200, 0.5, 9, ASSAY_COMPARE_UNCLEAR}, /* too few */
        {100, 0.5, 200, 0.5, 10, ASSAY_COMPARE_SLOWER},
        {100, 0.5, 200, 0.5, 5, ASSAY_COMPARE_UNCLEAR}, /* no interval at all */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_compare_row row = judge(cases[i].old_us, cases[i].old_percent, cases[i].new_us,
                                             cases[i].new_percent, cases[i].n);
        if (row.verdict != cases[i].verdict)
            fail_msg("case %d is %s", (int)i, assay_compare_verdict_name(row.verdict));
        assert_near(row.ratio.ratio, cases[i].old_us / cases[i].new_us, 1e-9);
        assert_true(row.has_ratio);
        assert_int_equal(row.has_interval, cases[i].n >= 6);
        assert_int_equal(row.note[0] != '\0', cases[i].n < 10);
    }
}

static void set_ceiling(struct assay_result_time *t, double us, double percent, const char *bound)
{
    struct assay_interval efficiency = {0.5 * (1 - percent / 100), 0.5 * (1 + percent / 100)};
    assay_result_set_ceiling(t, 1000 * us, 0.5, efficiency, 30, bound);
}

/* 20 % slower, while the probes beside it were 18 % slower: the machine. */
static void what_the_machine_did_is_no_verdict(void **state)
{
    (void)state;
    struct assay_result was = {0}, is = {0};
    struct assay_result_time *a = &was.times[HOT], *b = &is.times[HOT];
    struct assay_compare_row row = {0};
    set_time(&was, HOT, 100, 0.5, 100);
    set_time(&is, HOT, 120, 0.5, 100);
    set_ceiling(a, 82, 1, "memory");
    set_ceiling(b, 100, 1, "memory");
    assay_compare_times(a, b, apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_UNCLEAR);
    assert_near(row.drift, 0.82, 1e-12);
    assert_string_equal(row.note, "the machine's ceiling went along: 0.82x");
    set_ceiling(b, 90, 1, "memory"); /* 9 % do not explain 20 % */
    assay_compare_times(a, b, apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SLOWER);
    set_ceiling(b, 60, 1, "memory"); /* it was faster: all the more */
    assay_compare_times(a, b, apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SLOWER);
    set_ceiling(b, 100, 20, "memory"); /* hardly known: it explains nothing */
    assay_compare_times(a, b, apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SLOWER);
    assert_near(row.drift, 0, 0);
    set_ceiling(b, 100, 1, "compute"); /* another limit tells nothing */
    assay_compare_times(a, b, apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SLOWER);
    set_ceiling(b, 100, 1, "memory"); /* another machine is what is compared */
    assay_compare_times(a, b, (struct assay_compare_relation){0}, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SLOWER);
    assert_near(row.drift, 0, 0);
}

static void disturbed_figures_prove_nothing(void **state)
{
    (void)state;
    struct assay_result was = {0}, is = {0};
    struct assay_compare_row row = {0};
    set_time(&was, HOT, 100, 0.5, 100);
    set_time(&is, HOT, 120, 0.5, 100);
    is.times[HOT].disturbed = true;
    assay_compare_times(&was.times[HOT], &is.times[HOT], apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_UNCLEAR);
    assert_string_equal(row.note, "disturbed in the new run");
    was.times[HOT].disturbed = true;
    assay_compare_times(&was.times[HOT], &is.times[HOT], apart, &row);
    assert_string_equal(row.note, "disturbed in the old and the new run");
    struct assay_compare_relation one = {.same_machine = true, .may_be_one = true, .is_one = true};
    row = (struct assay_compare_row){0}; /* one run, changed by hand: not by the moment */
    assay_compare_times(&was.times[HOT], &is.times[HOT], one, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SLOWER);
    assert_string_equal(row.note, "");
}

/* The very same figure of the very same run is not two samples. */
static void one_figure_is_the_same(void **state)
{
    (void)state;
    struct assay_result was = {0};
    struct assay_compare_row row = {0};
    const struct assay_compare_relation one = {.same_machine = true, .may_be_one = true};
    set_time(&was, HOT, 100, 30, 100);
    assay_compare_times(&was.times[HOT], &was.times[HOT], one, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_SAME);
    assay_compare_times(&was.times[HOT], &was.times[HOT], apart, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_UNCLEAR);
    struct assay_result is = was;
    is.times[HOT].time.median *= 1.001;
    assay_compare_times(&was.times[HOT], &is.times[HOT], one, &row);
    assert_int_equal(row.verdict, ASSAY_COMPARE_UNCLEAR);
}

/* ---- matching -------------------------------------------------------------------------------- */

static void rows_in_any_order_and_rows_of_one_run(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    struct assay_comparison c;
    add_timed(&was, "add", 100, 0.5);
    add_timed(&was, "gelu", 100, 0.5);
    add_timed(&was, "silu", 100, 0.5);
    add_timed(&is, "silu", 50, 0.5);
    add_timed(&is, "relu", 1, 0.5);
    add_timed(&is, "add", 100, 0.5);
    compare(&was, &is, 0.05, &c);
    assert_int_equal(c.n, 4);
    assert_int_equal(c.matched, 2);
    assert_int_equal(c.rows[0].verdict, ASSAY_COMPARE_SAME);
    assert_int_equal(c.rows[1].verdict, ASSAY_COMPARE_GONE);
    assert_string_equal(c.rows[1].old_row->fields[ASSAY_RESULT_OP], "gelu");
    assert_int_equal(c.rows[2].verdict, ASSAY_COMPARE_FASTER);
    assert_int_equal(c.rows[3].verdict, ASSAY_COMPARE_ADDED);
    assert_int_equal(c.failing, 1); /* the one that is gone */
    assert_true(c.rows[1].fails);
    assert_near(c.typical, 1.5, 1e-12);
    drop(&was, &is, &c);
}

static void another_kernel_and_another_number_of_threads(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    struct assay_comparison c;
    set_time(add(&was, "gelu", "gelu_avx2"), HOT, 100, 0.5, 100);
    set_time(add(&is, "gelu", "gelu_avx512"), HOT, 50, 0.5, 100);
    add_timed(&was, "add", 100, 0.5);
    add_timed(&is, "add", 100, 0.5);
    assert_true(assay_result_set(&is.rows[1], ASSAY_RESULT_THREADS, "4"));
    compare(&was, &is, -1, &c);
    assert_int_equal(c.matched, 2);
    assert_int_equal(c.rows[0].verdict, ASSAY_COMPARE_FASTER);
    assert_string_equal(c.rows[0].note, "was gelu_avx2, is gelu_avx512");
    assert_int_equal(c.rows[1].verdict, ASSAY_COMPARE_SAME);
    drop(&was, &is, &c);
}

/* Two kernels before, two others now: nobody can tell which became which. */
static void what_could_be_either_is_neither(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    struct assay_comparison c;
    set_time(add(&was, "gelu", "a"), HOT, 100, 0.5, 100);
    set_time(add(&was, "gelu", "b"), HOT, 100, 0.5, 100);
    set_time(add(&is, "gelu", "c"), HOT, 100, 0.5, 100);
    set_time(add(&is, "gelu", "d"), HOT, 100, 0.5, 100);
    compare(&was, &is, -1, &c);
    assert_int_equal(c.matched, 0);
    assert_int_equal(c.counts[ASSAY_COMPARE_GONE], 2);
    assert_int_equal(c.counts[ASSAY_COMPARE_ADDED], 2);
    drop(&was, &is, &c);
}

static void an_interrupted_run_is_told(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    struct assay_comparison c;
    add_timed(&was, "gelu", 100, 0.5);
    add_timed(&is, "gelu", 50, 0.5);
    is.rows[0].interrupted = true;
    compare(&was, &is, -1, &c);
    assert_int_equal(c.rows[0].verdict, ASSAY_COMPARE_FASTER);
    assert_string_equal(c.rows[0].note, "interrupted in the new run");
    drop(&was, &is, &c);
}

static void other_problems_are_never_matched(void **state)
{
    (void)state;
    static const enum assay_result_field fields[] = {
        ASSAY_RESULT_OP,     ASSAY_RESULT_SIZES,          ASSAY_RESULT_DTYPE,  ASSAY_RESULT_MODE,
        ASSAY_RESULT_RECIPE, ASSAY_RESULT_IMPLEMENTATION, ASSAY_RESULT_COMPILE};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        struct assay_results was = empty_run(), is = empty_run();
        struct assay_comparison c;
        add_timed(&was, "gelu", 100, 0.5);
        add_timed(&is, "gelu", 100, 0.5);
        assert_true(assay_result_set(&is.rows[0], fields[i], "other"));
        compare(&was, &is, -1, &c);
        assert_int_equal(c.matched, 0);
        drop(&was, &is, &c);
    }
}

static void outcomes(void **state)
{
    (void)state;
    enum { OK = ASSAY_OUTCOME_OK, BAD = ASSAY_OUTCOME_MISMATCH, NOT = ASSAY_OUTCOME_UNSUPPORTED };
    const struct {
        int was, is, verdict; /* -1: no row */
        bool fails;
    } cases[] = {
        {OK, BAD, ASSAY_COMPARE_BROKEN, true},  {BAD, OK, ASSAY_COMPARE_MENDED, false},
        {BAD, BAD, ASSAY_COMPARE_BAD, false},   {OK, NOT, ASSAY_COMPARE_GONE, true},
        {NOT, OK, ASSAY_COMPARE_ADDED, false},  {NOT, NOT, -1, false},
        {NOT, BAD, ASSAY_COMPARE_BROKEN, true}, {BAD, NOT, -1, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_results was = empty_run(), is = empty_run();
        struct assay_comparison c;
        add_timed(&was, "gelu", 100, 0.5);
        add_timed(&is, "gelu", 100, 0.5);
        was.rows[0].outcome = (enum assay_outcome)cases[i].was;
        is.rows[0].outcome = (enum assay_outcome)cases[i].is;
        assert_true(assay_result_set_reason(&is.rows[0], "why"));
        compare(&was, &is, 0.05, &c);
        assert_int_equal(c.n, cases[i].verdict >= 0);
        assert_int_equal(c.unmeasured, cases[i].verdict < 0);
        if (c.n)
            assert_int_equal(c.rows[0].verdict, cases[i].verdict);
        assert_int_equal(c.failing, cases[i].fails);
        if (i == 0)
            assert_string_equal(c.rows[0].note, "mismatch: why");
        drop(&was, &is, &c);
    }
}

/* Slower by 6 % [4.9 7.1], 4 % and 60 % with an interval down to 4 %; the last is unclear. */
static void the_gate(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    struct assay_comparison c;
    static const double times[] = {106, 104, 112}, percents[] = {0.2, 0.2, 5};
    static const char *const ops[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        add_timed(&was, ops[i], 100, percents[i]);
        add_timed(&is, ops[i], times[i], percents[i]);
    }
    compare(&was, &is, 0.05, &c);
    assert_int_equal(c.failing, 1);
    assert_true(c.rows[0].fails);
    assert_int_equal(c.rows[1].verdict, ASSAY_COMPARE_SLOWER);
    assert_false(c.rows[1].fails);
    assert_int_equal(c.rows[2].verdict, ASSAY_COMPARE_UNCLEAR);
    assay_comparison_fini(&c);
    compare(&was, &is, 0, &c);
    assert_int_equal(c.failing, 2);
    assay_comparison_fini(&c);
    compare(&was, &is, -1, &c);
    assert_int_equal(c.failing, 0);
    drop(&was, &is, &c);
}

/* A cache state that only one run measured is not the row's end. */
static void hot_and_cold_are_two_figures(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    struct assay_comparison c;
    add_timed(&was, "gelu", 100, 0.5);
    set_time(&was.rows[0], COLD, 300, 0.5, 100);
    add_timed(&is, "gelu", 100, 0.5);
    compare(&was, &is, -1, &c);
    assert_int_equal(c.n, 2);
    assert_int_equal(c.rows[0].verdict, ASSAY_COMPARE_SAME);
    assert_int_equal(c.rows[1].verdict, ASSAY_COMPARE_GONE);
    assert_int_equal(c.rows[1].time, COLD);
    drop(&was, &is, &c);
}

/* ---- the runs -------------------------------------------------------------------------------- */

static void assert_says(const struct assay_results *was, const struct assay_results *is,
                        const char *want)
{
    struct assay_strings said = {0};
    struct assay_text text = {0};
    assert_int_equal(assay_compare_runs(was, is, &said, NULL), ASSAY_OK);
    for (int64_t i = 0; i < said.n; i++)
        assay_text_format(&text, "%s%s", i ? "; " : "", said.items[i]);
    assert_string_equal(text.data ? text.data : "", want);
    assay_strings_fini(&said);
    assay_text_fini(&text);
}

static void what_the_runs_do_not_share(void **state)
{
    (void)state;
    struct assay_results was = empty_run(), is = empty_run();
    assert_says(&was, &is, "both are the same run");
    snprintf(is.run.id, sizeof is.run.id, "other");
    assert_says(&was, &is, "");
    is.run.threads = 4;
    snprintf(is.run.device_name, sizeof is.run.device_name, "AMD EPYC");
    snprintf(is.run.version, sizeof is.run.version, "0.2.0");
    is.run.cold = false;
    is.run.precision = 0.05;
    is.run.rounds = 30;
    assert_says(&was, &is,
                "another machine: Intel(R) Xeon(R) Processor, then AMD EPYC; another number of "
                "threads: 2, then 4; another version of assay: 0.1.0, then 0.2.0; other caches: "
                "hot and cold, then hot; another precision: 1%, then 5%; another number of "
                "samples: not fixed, then 30");
    is = empty_run();
    snprintf(is.run.id, sizeof is.run.id, "other");
    snprintf(is.run.device, sizeof is.run.device, "cuda");
    snprintf(is.run.device_name, sizeof is.run.device_name, "NVIDIA H200");
    is.groups = 10;
    is.groups_missing = 3;
    assert_says(&was, &is,
                "another device: cpu, then cuda; the new run is not finished: 3 of 10 groups are "
                "missing");
    snprintf(was.run.device, sizeof was.run.device, "cuda");
    snprintf(was.run.device_name, sizeof was.run.device_name, "NVIDIA A100");
    is.groups_missing = 0;
    was.budget_s = 2;
    is.budget_s = 0.5;
    assert_says(&was, &is,
                "another GPU: NVIDIA A100, then NVIDIA H200; another budget: 2 s, then 0.5 s");
    is.run = (struct assay_run_info){0}; /* a table without a head */
    assert_says(&was, &is, "");
}

/* ---- writing --------------------------------------------------------------------------------- */

/* One of each verdict, long names, and markup in them. */
static void make_one_of_each(struct assay_results *was, struct assay_results *is,
                             struct assay_comparison *c)
{
    static const double times[] = {50, 150, 100, 97.6};
    static const char *const ops[] = {"faster", "slower", "model:same", "un|clear `code` <b>"};
    *was = empty_run();
    *is = empty_run();
    for (int i = 0; i < 4; i++) {
        add_timed(was, ops[i], 100, 0.5);
        add_timed(is, ops[i], times[i], 0.5);
    }
    add_timed(was, "gone", 100, 1);
    add_timed(is, "added", 100, 1);
    add_timed(was, "broken", 100, 1);
    add(is, "broken", "a_kernel_with_a_rather_long_name_that_says_a_lot_of_it")->outcome =
        ASSAY_OUTCOME_CRASHED;
    assert_true(assay_result_set_reason(
        &is->rows[is->n - 1], "signal 11 in its function run, and much more that is said of it"));
    compare(was, is, 0.05, c);
}

static void tables_fit(void **state)
{
    (void)state;
    struct assay_results was, is;
    struct assay_comparison c;
    struct assay_strings said = {0};
    make_one_of_each(&was, &is, &c);
    is.run.threads = 4;
    assert_int_equal(assay_compare_runs(&was, &is, &said, NULL), ASSAY_OK);
    for (int width = 60; width <= 140; width += 10)
        for (int ascii = 0; ascii < 2; ascii++) {
            struct assay_report_style style = {.width = width, .ascii = ascii};
            struct assay_text text = {0};
            assert_true(assay_compare_write(&c, &said, "table", &style, &text));
            assert_no_wider(&text, width);
            assert_non_null(strstr(text.data, "1.50x slower [1.48 1.52]"));
            assert_non_null(strstr(text.data, "2.00x [1.98 2.02]"));
            assert_non_null(strstr(text.data, "slower, fails"));
            assert_null(strstr(text.data, "model:"));
            assert_non_null(strstr(text.data, "crashed: signal 11"));
            assert_non_null(strstr(text.data, "another number of threads: 2, then 4"));
            assert_non_null(strstr(text.data, "7 rows: 1 faster, 1 slower, 1 same, 1 unclear, "));
            for (const char *b = text.data; ascii && *b; b++)
                assert_true((unsigned char)*b < 0x80);
            assay_text_fini(&text);
        }
    assay_strings_fini(&said);
    drop(&was, &is, &c);
}

static void markdown_is_a_table(void **state)
{
    (void)state;
    struct assay_results was, is;
    struct assay_comparison c;
    struct assay_strings said = {0};
    struct assay_text text = {0};
    int rows = 0;
    make_one_of_each(&was, &is, &c);
    assert_true(assay_compare_write(&c, &said, "md", &usual_style, &text));
    for (const char *line = strstr(text.data, "\n| "); line; line = strstr(line + 1, "\n| ")) {
        int bars = 0;
        for (const char *at = line + 1; *at && *at != '\n'; at++)
            bars += *at == '|' && at[-1] != '\\';
        assert_int_equal(bars, 9);
        rows++;
    }
    assert_int_equal(rows, 2 + 7);
    assert_non_null(strstr(text.data, "un\\|clear \\`code\\` \\<b\\>"));
    assert_true(strstr(text.data, "| slower ") < strstr(text.data, "| same "));
    assay_text_fini(&text);
    drop(&was, &is, &c);
}

static void data_formats(void **state)
{
    (void)state;
    struct assay_results was, is;
    struct assay_comparison c;
    struct assay_strings said = {0};
    struct assay_text text = {0};
    make_one_of_each(&was, &is, &c);
    assert_true(assay_compare_write(&c, &said, "json", &usual_style, &text));
    assay_json *json = assay_json_parse(text.data, text.length, "json", NULL);
    const assay_json *rows = assay_json_get(json, "rows");
    assert_int_equal(assay_json_count(rows), 7);
    const assay_json *slower = assay_json_at(rows, 1);
    assert_string_equal(assay_json_string(assay_json_get(slower, "verdict"), ""), "slower");
    assert_true(assay_json_bool(assay_json_get(slower, "fails"), false));
    const assay_json *change = assay_json_get(slower, "change");
    assert_near(assay_json_double(assay_json_get(change, "ratio"), 0), 1 / 1.5, 1e-9);
    const assay_json *summary = assay_json_get(json, "summary");
    assert_int_equal(assay_json_int(assay_json_get(summary, "failing"), 0), 3);
    assert_int_equal(assay_json_int(assay_json_get(summary, "now wrong"), 0), 1);
    assay_json_free(json);
    assay_text_clear(&text);

    assert_true(assay_compare_write(&c, &said, "csv", &usual_style, &text));
    const char *at = text.data;
    int fields = csv_fields(&at), lines = 0;
    for (; *at; lines++)
        assert_int_equal(csv_fields(&at), fields);
    assert_int_equal(lines, 7);
    assay_text_fini(&text);
    drop(&was, &is, &c);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_two_times),
        cmocka_unit_test(what_the_machine_did_is_no_verdict),
        cmocka_unit_test(disturbed_figures_prove_nothing),
        cmocka_unit_test(one_figure_is_the_same),
        cmocka_unit_test(rows_in_any_order_and_rows_of_one_run),
        cmocka_unit_test(another_kernel_and_another_number_of_threads),
        cmocka_unit_test(what_could_be_either_is_neither),
        cmocka_unit_test(an_interrupted_run_is_told),
        cmocka_unit_test(other_problems_are_never_matched),
        cmocka_unit_test(outcomes),
        cmocka_unit_test(the_gate),
        cmocka_unit_test(hot_and_cold_are_two_figures),
        cmocka_unit_test(what_the_runs_do_not_share),
        cmocka_unit_test(tables_fit),
        cmocka_unit_test(markdown_is_a_table),
        cmocka_unit_test(data_formats),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
