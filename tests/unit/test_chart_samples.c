/* test_chart_samples.c: the charts of samples: distribution and series. */
#include "chart_case.h"

static void images_are_as_before(void **state)
{
    (void)state;
    struct book_case two = {.sizes = 2, .variants = 4, .samples = 60};
    struct assay_chart_request none = {0}, row = {.row = 6};
    struct assay_chart_request cold = {.has_state = true, .state = ASSAY_CACHE_COLD, .row = 2};
    check_golden("chart_distribution_group", drawn_case("distribution", &two, &none));
    check_golden("chart_distribution_row", drawn_case("distribution", &two, &row));
    check_golden("chart_series_row", drawn_case("series", &two, &row));
    two.samples = 300;
    check_golden("chart_series_cold", drawn_case("series", &two, &cold));
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 1, .variants = 5, .samples = 30, .bad = true};
    struct assay_chart_request far = {.row = 6}, failed = {.row = 5}, none = {0};
    assert_unfit("distribution", &c, &far, "there is no row 6: there are 5");
    assert_unfit("series", &c, &failed, "row 5 has no samples: mismatch");
    c.samples = 0; /* of an older version */
    assert_unfit("distribution", &c, &none, "no row has samples");
    assert_unfit("series", &c, &(struct assay_chart_request){.row = 1}, "row 1 has no samples");
    assert_unfit("series", &c, &(struct assay_chart_request){.x = "seq"},
                 "it takes no x, y or figure");
    assert_unfit("distribution", &c, &(struct assay_chart_request){.figure = "time"},
                 "it takes no x, y or figure");
    assert_unfit("series", NULL, &none, "no row has samples");
}

/* Of one row: its samples, as nothing can be compared; else they are asked for. */
static void how_well_it_fits(void **state)
{
    (void)state;
    struct book_case one = {.samples = 30}, more = {.variants = 3, .samples = 30};
    struct assay_chart_request none = {0}, row = {.row = 2};
    char why[ASSAY_CHART_WHY];
    assert_int_equal(fit_of("distribution", &one, &none, why), ASSAY_CHART_GOOD);
    assert_int_equal(fit_of("distribution", &more, &none, why), ASSAY_CHART_POSSIBLE);
    assert_int_equal(fit_of("distribution", &more, &row, why), ASSAY_CHART_BEST);
    assert_int_equal(fit_of("series", &more, &none, why), ASSAY_CHART_POSSIBLE);
}

/* The row that was disturbed, or else the fastest. */
static void the_interesting_row_is_drawn(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_chart_request none = {0};
    struct group g = {.n = 3};
    for (int i = 0; i < 3; i++) {
        g.records[i] = plain_record(0, i, "gelu", "gelu", i == 2 ? "third" : "other");
        g.records[i].states[HOT] = sampled(around(1e6, 0.01), 20);
    }
    g.records[1].states[HOT].fastest = true;
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, g.records, g.n);
    struct assay_text svg = drawn("series", &book, &none);
    assert_non_null(strstr(svg.data, "data-row=\"2\""));
    assay_text_fini(&svg);
    g.records[2].states[HOT].disturbed = 10;
    assay_book_add(&book, g.records, g.n);
    svg = drawn("series", &book, &none);
    assert_non_null(strstr(svg.data, "data-row=\"6\""));
    assert_non_null(strstr(svg.data, "third"));
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void odd_rows_are_drawn(void **state)
{
    (void)state;
    static const struct book_case cases[] = {
        {.samples = 1},
        {.samples = 2, .variants = 60, .name_length = 31},
        {.samples = 128, .variants = 40, .bad = true},
        {.sizes = 30, .samples = 9, .variants = 2, .decades = 12, .bad = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int row = 0; row < 3; row++) {
            struct assay_chart_request request = {.row = row};
            char why[ASSAY_CHART_WHY];
            if (fit_of("series", &cases[i], &request, why) == ASSAY_CHART_UNFIT)
                continue;
            struct assay_text svg = drawn_case("distribution", &cases[i], &request);
            assay_text_fini(&svg);
            svg = drawn_case("series", &cases[i], &request);
            assay_text_fini(&svg);
        }
}

static void hostile_rows_are_drawn(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct group g = {.n = 2};
    for (int i = 0; i < 2; i++) {
        g.records[i] = plain_record(0, i, "gelu", "gelu", "</script>\"'&\x01");
        snprintf(g.records[i].label, sizeof g.records[i].label, "<b>]]>\xff");
        g.records[i].states[HOT] = sampled(around(1e6, 0.01), 20);
    }
    g.records[1].states[HOT].time.median = (double)NAN;
    g.records[1].states[HOT].time.median_ci = (struct assay_interval){0, (double)INFINITY};
    g.records[1].states[HOT].samples.ns[3] = 0;
    g.records[1].states[HOT].samples.ns[4] = 3e38F;
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, g.records, g.n);
    for (int row = 0; row < 3; row++) {
        struct assay_chart_request request = {.row = row};
        struct assay_text svg = drawn("distribution", &book, &request);
        assert_null(strstr(svg.data, "</script"));
        assay_text_fini(&svg);
        svg = drawn("series", &book, &request);
        assert_null(strstr(svg.data, "nan"));
        assay_text_fini(&svg);
    }
    assay_book_fini(&book);
}

static void no_memory_is_told(void **state)
{
    (void)state;
    struct book_case c = {.variants = 3, .samples = 20};
    check_without_memory("distribution", &c, &(struct assay_chart_request){0});
    check_without_memory("distribution", &c, &(struct assay_chart_request){.row = 1});
    check_without_memory("series", &c, &(struct assay_chart_request){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_as_before), cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(how_well_it_fits),     cmocka_unit_test(the_interesting_row_is_drawn),
        cmocka_unit_test(odd_rows_are_drawn),   cmocka_unit_test(hostile_rows_are_drawn),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
