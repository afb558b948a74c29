/* test_chart_pareto.c: recipes: time against accuracy and against the size of the weights. */
#include "chart_case.h"

static const struct assay_chart_request none;

static void images_are_as_before(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 1, .variants = 6, .recipes = true};
    check_golden("chart_pareto", drawn_case("pareto", &c, &none));
    c = (struct book_case){.sizes = 2, .variants = 30, .recipes = true, .bad = true};
    check_golden("chart_pareto_numbers",
                 drawn_case("pareto", &c, &(struct assay_chart_request){.row = 40}));
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 2, .variants = 4};
    struct assay_chart_request row = {.row = 3}, far = {.row = 9};
    assert_unfit("pareto", &c, &none, "no group has two recipes with times");
    assert_unfit("pareto", &c, &row, "the group of row 3 has not two recipes with times");
    assert_unfit("pareto", &c, &far, "there is no row 9: there are 8");
    assert_unfit("pareto", &c, &(struct assay_chart_request){.x = "seq"},
                 "it takes no x, y or figure");
    assert_unfit("pareto", NULL, &none, "no group has two recipes with times");
    c = (struct book_case){.sizes = 1, .variants = 1, .recipes = true};
    assert_unfit("pareto", &c, &none, "no group has two recipes with times");
}

/* One group of recipes was measured for this chart; several may be a sweep of sizes. */
static void how_well_it_fits(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 1, .variants = 4, .recipes = true};
    struct assay_chart_request row = {.row = 1};
    char why[ASSAY_CHART_WHY];
    assert_int_equal(fit_of("pareto", &c, &none, why), ASSAY_CHART_BEST);
    assert_int_equal(fit_of("pareto", &c, &row, why), ASSAY_CHART_GOOD);
    c.sizes = 3;
    assert_int_equal(fit_of("pareto", &c, &none, why), ASSAY_CHART_GOOD);
}

static struct assay_record recipe(int64_t variant, const char *name, double ns, double db,
                                  double bytes, bool pareto)
{
    struct assay_record r = plain_record(0, variant, "linear", "linear", "native");
    snprintf(r.recipe, sizeof r.recipe, "%s", name);
    r.accuracy_db = db;
    r.weight_bytes = bytes;
    r.pareto = pareto;
    r.states[HOT] = around(ns, 0.01);
    return r;
}

/* Exact rows have a lane above the axis; a row is its row of the book, and filled on the frontier.
 */
static void rows_are_marked(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_record records[] = {recipe(0, "baseline", 4e6, (double)INFINITY, 33e6, true),
                                     recipe(1, "int8wo", 2e6, 42.8, 16e6, true),
                                     recipe(2, "float8wo", 3e6, 31.7, 16e6, false),
                                     recipe(3, "unknown", 1e6, (double)NAN, 0, false)};
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, records, 4);
    struct assay_text svg = drawn("pareto", &book, &none);
    assert_non_null(strstr(svg.data, ">exact<"));
    assert_int_equal(count_of(&svg, "data-row=\"1\""), 2); /* both panels */
    assert_int_equal(count_of(&svg, "data-row=\"4\""), 0); /* neither figure is known */
    assert_int_equal(count_of(&svg, ">int8wo<"), 2);
    assert_non_null(strstr(svg.data, "no other is better in all three"));
    assert_non_null(strstr(svg.data, "on the frontier: int8wo, baseline."));
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void many_groups_are_limited(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 9, .variants = 3, .recipes = true};
    struct assay_text svg = drawn_case("pareto", &c, &none);
    assert_int_equal(count_of(&svg, ">time of a call, cold<"), 12);
    assert_non_null(strstr(svg.data, "The first 6 of 9 groups"));
    assay_text_fini(&svg);
    svg = drawn_case("pareto", &c, &(struct assay_chart_request){.row = 25});
    assert_int_equal(count_of(&svg, ">time of a call, cold<"), 2);
    assert_non_null(strstr(svg.data, "data-row=\"25\""));
    assay_text_fini(&svg);
}

/* Any number of points, on top of each other, with long names. */
static void labels_stand_apart(void **state)
{
    (void)state;
    for (int64_t n = 2; n <= 60; n += n < 12 ? 1 : 16) {
        struct assay_record records[60];
        struct assay_book book = {0};
        for (int64_t i = 0; i < n; i++) {
            char name[64];
            snprintf(name, sizeof name, "%.*s%lld", (int)(i % 60), /* of 1 to 60 characters */
                     "a_recipe_with_a_name_that_is_as_long_as_names_of_recipes_can_be",
                     (long long)i);
            records[i] = recipe(i, name, n % 2 ? 1e6 : 1e3 * pow(10, (double)(i % 10)),
                                i % 3 ? 30 : 30.01, i % 3 ? 8e6 : 4e9, i % 2);
        }
        assay_book_begin(&book, &a_run);
        assay_book_add(&book, records, n);
        struct assay_text svg = drawn("pareto", &book, &none);
        assay_text_fini(&svg);
        assay_book_fini(&book);
    }
}

static void hostile_rows_are_drawn(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_record records[] = {
        recipe(0, "</script>\"'&\x01\xff", 4e6, -(double)INFINITY, 33e6, true),
        recipe(1, "<b>", 1e-300, 1e300, 1e300, true),
        recipe(2, "", 3e6, 31.7, 16e6, true), /* no recipe: not shown */
        recipe(3, "nan", (double)NAN, 3, 16e6, true),
        recipe(4, "wide", 2e6, 3, (double)INFINITY, true)};
    records[4].states[HOT].time.median_ci = (struct assay_interval){0, (double)INFINITY};
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, records, 5);
    struct assay_text svg = drawn("pareto", &book, &none);
    assert_null(strstr(svg.data, "</script"));
    assert_null(strstr(svg.data, "data-row=\"3\""));
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void no_memory_is_told(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 1, .variants = 5, .recipes = true};
    check_without_memory("pareto", &c, &none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_as_before),    cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(how_well_it_fits),        cmocka_unit_test(rows_are_marked),
        cmocka_unit_test(many_groups_are_limited), cmocka_unit_test(labels_stand_apart),
        cmocka_unit_test(hostile_rows_are_drawn),  cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
