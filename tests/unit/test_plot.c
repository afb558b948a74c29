/* test_plot.c: pictures for terminals: bars, lines over a swept axis, and that no line is too wide
 * whatever the rows hold. */
#include "book_case.h"

#include "base/alloc.h"

#include <locale.h>

static struct assay_text picture(const struct book_case *c, struct assay_report_style style)
{
    struct assay_text out = {0};
    struct assay_sink sink = {&out, write_text, NULL};
    struct assay_book book = {0};
    struct assay_book_view view = {0};
    assay_report *report = assay_report_create(format_named("plot"), &sink, &style);
    assert_non_null(report);
    book_case_add(c, &book);
    assay_report_begin(report, &a_run);
    for (int64_t g = 0; g < book.n_groups; g++) {
        assert_true(assay_book_open(&book, g, &view));
        assay_report_group(report, view.records, view.n);
    }
    assay_report_end(report);
    assay_report_destroy(report);
    assay_book_view_fini(&view);
    assay_book_fini(&book);
    assert_false(out.failed);
    return out;
}

static struct assay_text picture_of(const struct group *groups, int n,
                                    struct assay_report_style style)
{
    struct assay_text out = {0};
    report_groups("plot", &style, &a_run, groups, n, &out);
    return out;
}

/* Faster, slower, the same, unclear, wrong, not there. */
static struct group all_kinds(void)
{
    struct group g = {.n = 7};
    static const char *const names[] = {"onednn", "native", "ref",  "twin",
                                        "noisy",  "wrong",  "cudnn"};
    for (int i = 0; i < g.n; i++) {
        struct assay_record *r = &g.records[i];
        *r = plain_record(0, i, "layernorm", "layernorm", names[i]);
        r->states[HOT] = around(2.31e6, 0.004);
        r->states[COLD] = around(2.71e6, 0.004);
    }
    g.records[0].is_baseline = true;
    g.records[1].states[HOT] = fastest(against(g.records[1].states[HOT], 2.41, 0.2, true));
    g.records[1].states[COLD] = fastest(against(g.records[1].states[COLD], 1.62, 0.012, true));
    g.records[2].states[HOT] = against(g.records[2].states[HOT], 0.104, 0.03, true);
    g.records[2].states[COLD] = against(g.records[2].states[COLD], 0.3, 0.03, true);
    g.records[3].states[HOT] = against(g.records[3].states[HOT], 1.004, 0.007, false);
    g.records[3].states[COLD] = against(g.records[3].states[COLD], 0.96, 0.05, false);
    g.records[4].states[HOT] = against(g.records[4].states[HOT], 1.3, 0.5, false);
    g.records[4].states[COLD] = against(g.records[4].states[COLD], 0.8, 0.4, false);
    g.records[5] = failing(g.records[5], ASSAY_OUTCOME_MISMATCH, "3 of 8192 elements: got NaN");
    g.records[6] = failing(g.records[6], ASSAY_OUTCOME_UNSUPPORTED, "this machine has no GPU");
    return g;
}

static const struct assay_report_style at_80 = {.width = 80};
static const struct assay_report_style at_100 = {.width = 100, .plot = true};
static const struct assay_report_style at_140 = {.width = 140};
static const struct assay_report_style ascii = {.width = 80, .ascii = true};
static const struct assay_report_style colour = {.width = 100, .colour = true};

static void bars_are_as_before(void **state)
{
    (void)state;
    struct group g = all_kinds();
    check_golden("plot_bars_80", picture_of(&g, 1, at_80));
    check_golden("plot_bars_100", picture_of(&g, 1, at_100));
    check_golden("plot_bars_140", picture_of(&g, 1, at_140));
    check_golden("plot_bars_ascii", picture_of(&g, 1, ascii));
    check_golden("plot_bars_colour", picture_of(&g, 1, colour));
}

static void sweeps_are_as_before(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 6, .variants = 4, .dtypes = 2};
    check_golden("plot_sweep_80", picture(&c, at_80));
    check_golden("plot_sweep_140", picture(&c, at_140));
    check_golden("plot_sweep_ascii", picture(&c, ascii));
    c.dtypes = 1;
    check_golden("plot_sweep_colour", picture(&c, colour));
}

/* A single row has nothing to be compared with; its samples are drawn where it has some. */
static void one_row_is_drawn(void **state)
{
    (void)state;
    check_golden("plot_row_80", picture(&(struct book_case){.sizes = 1}, at_80));
    check_golden("plot_row_samples_80",
                 picture(&(struct book_case){.sizes = 1, .samples = 100}, at_80));
}

/* Of two sizes, no axis was swept; more groups than can be looked at are summed up. */
static void many_groups_are_summed_up(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 2, .variants = 2};
    struct assay_text text = picture(&c, at_80);
    assert_non_null(strstr(text.data, "layernorm f32 32x16x768\n"));
    assert_non_null(strstr(text.data, "layernorm f32 32x32x768\n"));
    assay_text_fini(&text);
    struct group groups[20];
    for (int i = 0; i < 20; i++) {
        groups[i] = all_kinds();
        for (int64_t k = 0; k < groups[i].n; k++)
            snprintf(groups[i].records[k].label, sizeof groups[i].records[k].label, "case %d", i);
    }
    check_golden("plot_bars_means_80", picture_of(groups, 20, at_80));
}

/* ---- whatever the rows hold ------------------------------------------------------------------ */

static void check_widths(const struct book_case *c)
{
    for (int width = 60; width <= 240; width += 30)
        for (int kind = 0; kind < 3; kind++) {
            struct assay_text text = picture(
                c, (struct assay_report_style){
                       .width = width, .ascii = kind == 1, .colour = kind == 2, .plot = kind == 0});
            assert_no_wider(&text, width);
            assert_true(text.length > 0);
            for (size_t i = 0; i < text.length && kind == 1; i++)
                assert_true(text.data[i] == '\n' || (text.data[i] >= ' ' && text.data[i] <= '~'));
            assay_text_fini(&text);
        }
}

static void no_line_is_too_wide(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C.UTF-8");
    static const struct book_case cases[] = {
        {0},
        {.sizes = 1, .variants = 40, .name_length = 31},
        {.sizes = 8, .variants = 60, .decades = 9, .bad = true},
        {.sizes = 12, .variants = 3, .dtypes = 3, .samples = 4, .decades = 12},
        {.sizes = 40, .variants = 2, .name_length = 30, .bad = true},
        {.sizes = 5, .variants = 7, .recipes = true},
        {.sizes = 1, .variants = 4, .models = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_widths(&cases[i]);
}

/* Names and reasons that would break a terminal, figures that are not numbers. */
static void odd_rows_are_drawn(void **state)
{
    (void)state;
    setlocale(LC_ALL, "C.UTF-8");
    for (int width = 60; width <= 100; width += 5) {
        struct group g = all_kinds();
        snprintf(g.records[1].implementation, sizeof g.records[1].implementation,
                 "\033[31m</script>\n\"&\xff");
        snprintf(g.records[2].recipe, sizeof g.records[2].recipe, "%s",
                 "日本語日本語日本語日本語日本語");
        snprintf(g.records[5].reason, sizeof g.records[5].reason, "\r\n\033[2J\t%0200d", 1);
        g.records[3].states[HOT].ratio.ratio = (double)NAN;
        g.records[3].states[COLD].ratio.ci = (struct assay_interval){(double)NAN, (double)INFINITY};
        g.records[4].states[HOT].ratio.ratio = (double)INFINITY;
        g.records[4].states[COLD].ratio.ratio = 1e-300;
        g.records[4].states[COLD].ratio.ci = (struct assay_interval){0, 1e300};
        g.records[2].states[COLD] = against(g.records[2].states[COLD], 220, 0.09, true);
        struct assay_report_style style = {.width = width};
        struct assay_text text = picture_of(&g, 1, style);
        assert_no_wider(&text, width);
        assert_null(strchr(text.data, '\033'));
        assert_null(strchr(text.data, '\r'));
        assay_text_fini(&text);
    }
}

static void nothing_is_drawn_of_nothing(void **state)
{
    (void)state;
    struct group all_failed = {.n = 2};
    struct assay_text text = picture_of(NULL, 0, at_80);
    assert_string_equal(text.data, "no rows: there is nothing to draw\n");
    assay_text_fini(&text);
    for (int i = 0; i < 2; i++)
        all_failed.records[i] = failing(plain_record(0, i, "gelu", "gelu", "native"),
                                        ASSAY_OUTCOME_CRASHED, "SIGSEGV at 0x0");
    text = picture_of(&all_failed, 1, at_80);
    assert_non_null(strstr(text.data, "✗ crashed: SIGSEGV at 0x0\n"));
    assert_null(strstr(text.data, "speedup"));
    assay_text_fini(&text);
}

static void no_memory_is_told(void **state)
{
    (void)state;
    bool whole = false;
    for (int64_t n = 1; !whole; n++) {
        struct assay_text out = {0};
        bool incomplete = false;
        struct assay_sink sink = {&out, write_text, &incomplete};
        struct group g = all_kinds();
        assay_alloc_fail_after(n);
        assay_report *report = assay_report_create(format_named("plot"), &sink, &at_80);
        if (report) {
            assay_report_begin(report, &a_run);
            for (int i = 0; i < 4; i++) {
                for (int64_t k = 0; k < g.n; k++)
                    g.records[k].axes[1] = 1 << i;
                assay_report_group(report, g.records, g.n);
            }
            assay_report_end(report);
        }
        assay_report_destroy(report);
        assay_alloc_fail_after(0);
        whole = report && !incomplete && !out.failed && strstr(out.data, "several at once");
        assert_true(whole || !report || incomplete || out.failed);
        assay_text_fini(&out);
        assert_true(n < 2000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_as_before),
        cmocka_unit_test(sweeps_are_as_before),
        cmocka_unit_test(one_row_is_drawn),
        cmocka_unit_test(many_groups_are_summed_up),
        cmocka_unit_test(no_line_is_too_wide),
        cmocka_unit_test(odd_rows_are_drawn),
        cmocka_unit_test(nothing_is_drawn_of_nothing),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
