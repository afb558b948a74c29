/* test_report_detail.c: one row in full, its samples as numbers and drawn with characters. */
#include "report_case.h"

#include "report/plot/plot_distribution.h"
#include "report/report_samples.h"

#include <locale.h>

static struct group one_row(void)
{
    struct group g = {.n = 1};
    struct assay_record *r = &g.records[0];
    *r = plain_record(0, 0, "linear", "Linear", "native");
    snprintf(r->recipe, sizeof r->recipe, "int8wo");
    snprintf(r->mode, sizeof r->mode, "bias+gelu");
    snprintf(r->note, sizeof r->note, "weights packed for AMX");
    r->states[HOT] = sampled(fastest(against(around(2.31e6, 0.004), 1.62, 0.012, true)), 40);
    r->states[COLD] = sampled(against(around(2.71e6, 0.005), 0.7, 0.009, true), 300);
    return g;
}

/* Crashed, without kernel or figures, as of an older version. */
static struct group old_row(void)
{
    struct group g = {.n = 1};
    g.records[0] = (struct assay_record){.op = "relu",
                                         .device = "cpu",
                                         .outcome = ASSAY_OUTCOME_CRASHED,
                                         .reason = "SIGSEGV at 0x0"};
    return g;
}

static struct assay_text detail_of(struct group group, struct assay_report_style style)
{
    struct assay_text out = {0};
    report_groups("detail", &style, &a_run, &group, 1, &out);
    return out;
}

static void a_row_is_as_before(void **state)
{
    (void)state;
    struct assay_report_style plot = {.width = 100, .plot = true};
    struct assay_report_style ascii = {.width = 72, .plot = true, .ascii = true};
    check_golden("detail_row", detail_of(one_row(), usual_style));
    check_golden("detail_row_plot", detail_of(one_row(), plot));
    check_golden("detail_row_plot_ascii", detail_of(one_row(), ascii));
    check_golden("detail_row_old", detail_of(old_row(), plot));
}

/* Under a row of the usual table, which nobody asked to be verbose. */
static struct assay_text counts_of(struct assay_counts counts, double frac)
{
    struct group g = one_row();
    struct assay_text out = {0};
    struct assay_measurement *m = &g.records[0].states[HOT];
    g.records[0].recipe[0] = '\0';
    m->has_counts = true;
    m->counts = counts;
    m->memory_frac = frac;
    report_groups("table", &usual_style, &a_run, &g, 1, &out);
    return out;
}

static void expect_words(struct assay_text *text, const char *const *words)
{
    for (; *words; words++)
        if (!strstr(text->data, *words))
            fail_msg("no \"%s\" in:\n%s", *words, text->data);
    assay_text_fini(text);
}

static void counters_stand_under_their_row(void **state)
{
    (void)state;
    static const char *const all[] = {
        "counts  hot · 2.00 instructions a cycle",
        "2.00 M instructions a call",
        "0.5 branch misses in 1000",
        "25% of cache references missed",
        "about 640 B from memory, 0.1 of the least: it was in a cache",
        "CPU time 12.0 us",
        "0.50 page faults",
        "1.20 k context switches",
        "scaled: on for 60% of the time",
        NULL};
    static const char *const none[] = {"counts  hot · n/a (this machine has no hardware counters)",
                                       NULL};
    struct assay_counts c = {.calls = 7,
                             .cycles = 1e6,
                             .instructions = 2e6,
                             .branch_misses = 1000,
                             .cache_references = 40,
                             .cache_misses = 10,
                             .memory_bytes = 640,
                             .task_clock_ns = 12e3,
                             .page_faults = 0.5,
                             .context_switches = 1200,
                             .counted_frac = 0.6};
    struct assay_text text = counts_of(c, 0.1);
    expect_words(&text, all);
    text = counts_of(c, 0.9); /* it came from memory */
    assert_null(strstr(text.data, "in a cache"));
    assay_text_fini(&text);
    assay_counts_clear(&c);
    snprintf(c.missing, sizeof c.missing, "this machine has no hardware counters");
    text = counts_of(c, (double)NAN);
    expect_words(&text, none);
}

static void no_line_is_too_wide(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C.UTF-8");
    for (int width = 60; width <= 150; width += 7)
        for (int kind = 0; kind < 4; kind++) {
            struct assay_report_style style = {
                .width = width, .plot = kind % 2, .ascii = kind / 2, .colour = !(kind / 2)};
            struct assay_text text = detail_of(one_row(), style);
            assert_no_wider(&text, width);
            assay_text_fini(&text);
        }
}

/* ---- histograms ----------------------------------------------------------------------------- */

static struct assay_text plot_of(const double *ns, int n, int width)
{
    struct assay_text out = {0};
    struct assay_sink sink = {&out, write_text, NULL};
    struct assay_report_style style = {.ascii = true};
    struct assay_measurement m = {.measured = true, .time = {.n = n, .median = ns[0]}};
    static struct assay_line line;
    assay_line_init(&line, &style);
    for (int i = 0; i < n; i++)
        assay_samples_offer(&m.samples, n, i, ns[i], false);
    assay_plot_distribution("hot", &m, &line, &sink, 0, width);
    assert_false(out.failed);
    return out;
}

static void odd_samples_are_drawn(void **state)
{
    (void)state;
    static const double same[] = {5, 5, 5, 5}, zero[] = {0, 0, 0}, one[] = {1e9};
    static const double wide[] = {1, 1.1, 1.2, 1.3, 1.2, 1.1, 1e12, 1e-6};
    struct assay_text text = plot_of(same, 4, 60);
    assert_non_null(strstr(text.data, "hot | 4 samples\n"));
    assert_non_null(strstr(text.data, "####"));
    assay_text_fini(&text);
    text = plot_of(zero, 3, 60);
    assert_non_null(strstr(text.data, "####"));
    assay_text_fini(&text);
    text = plot_of(one, 1, 60);
    assert_non_null(strstr(text.data, "hot | 1 sample\n"));
    assay_text_fini(&text);
    text = plot_of(wide, 8, 60);
    assert_non_null(strstr(text.data, "1 slower, up to 1000 s"));
    assay_text_fini(&text);
}

static void spans_leave_out_what_is_far_away(void **state)
{
    (void)state;
    struct assay_samples s = {0};
    for (int i = 0; i < 101; i++)
        assay_samples_offer(&s, 101, i, i == 50 ? 1e6 : 1000 + i, false);
    struct assay_samples_span span = assay_samples_span(&s), none = {0};
    assert_near(span.lo, 1000, 0);
    assert_near(span.hi, 1100, 0);
    assert_near(span.most, 1e6, 0);
    assert_int_equal(span.above, 1);
    assert_int_equal(span.below, 0);
    assay_samples_span_add(&none, &span);
    assert_near(none.hi, span.hi, 0);
    struct assay_samples_span other = {.lo = 1, .hi = 2, .least = 0.5, .most = 2, .below = 3};
    assay_samples_span_add(&span, &other);
    assert_near(span.lo, 1, 0);
    assert_near(span.least, 0.5, 0);
    assert_int_equal(span.below, 3);
    assert_in_range(assay_samples_bars(&s, 1000, 1100, 80), 8, 12);
    assert_int_equal(assay_samples_bars(&s, 1000, 1e9, 80), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_as_before),
        cmocka_unit_test(counters_stand_under_their_row),
        cmocka_unit_test(no_line_is_too_wide),
        cmocka_unit_test(odd_samples_are_drawn),
        cmocka_unit_test(spans_leave_out_what_is_far_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
