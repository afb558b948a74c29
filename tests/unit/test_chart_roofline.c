/* test_chart_roofline.c: which ceilings a roofline has, where its points stand, and when there is
 * none. ASSAY_UPDATE_GOLDEN=1 rewrites the golden files; look at the diff and at the picture. */
#include "chart_case.h"

#include "report/chart/chart_roofs.h"

static const struct assay_chart_request no_wish = {0};
static const struct assay_chart_request hot_alone = {.has_state = true, .state = ASSAY_CACHE_HOT};

static void assert_has(const struct assay_text *svg, const char *part)
{
    if (!strstr(svg->data, part))
        fail_msg("no %s in\n%s", part, svg->data);
}

static void assert_lacks(const struct assay_text *svg, const char *part)
{
    if (strstr(svg->data, part))
        fail_msg("%s in\n%s", part, svg->data);
}

/* A variant of a product that does `intensity` operations for each byte, at `share` of what 40 GB/s
 * of memory, 200 GB/s of L2 and 600 GFLOP/s allow. Cold it is in memory. */
static struct assay_record work(int64_t group, int64_t variant, double intensity, double share)
{
    struct book_case c = {.sizes = 40, .variants = 2};
    struct assay_record r = book_case_record(&c, group, group, 0, variant);
    double bytes = 1e6;
    r.bytes_read = r.bytes_written = bytes / 2;
    r.flops = intensity * bytes;
    for (int s = HOT; s <= COLD; s++) {
        double transfer_ns = bytes / (s == HOT ? 200 : 40), compute_ns = r.flops / 600;
        bool compute = compute_ns > transfer_ns;
        double ceiling_ns = compute ? compute_ns : transfer_ns;
        r.states[s] = around(ceiling_ns / share, 0.01);
        r.states[s].ceiling_ns = ceiling_ns;
        r.states[s].efficiency = share;
        snprintf(r.states[s].bound, sizeof r.states[s].bound, "%s",
                 compute    ? "compute"
                 : s == HOT ? "L2"
                            : "memory");
    }
    return r;
}

/* Each of these intensities by two variants. */
static void add_work(struct assay_book *book, const double *intensities, int n)
{
    assay_book_begin(book, &a_run);
    for (int i = 0; i < n; i++) {
        struct assay_record records[] = {work(i, 0, intensities[i], 0.5),
                                         work(i, 1, intensities[i], 0.8)};
        assay_book_add(book, records, 2);
    }
}

static const double spread[] = {0.25, 1, 4, 16, 64};
enum { SPREAD = 5 };

static void test_golden(void **state)
{
    (void)state;
    struct assay_book book = {0};
    add_work(&book, spread, SPREAD);
    check_golden("chart_roofline", drawn("roofline", &book, &no_wish));
    assay_book_fini(&book);
}

static struct assay_roofs roofs_of(const struct assay_book *book)
{
    struct assay_chart_axes axes = {0};
    struct assay_chart_points points = {0};
    struct assay_roofs roofs = {0};
    assay_chart_axes_find(book, &axes);
    assay_chart_points_find(book, &no_wish, &points);
    assert_true(assay_roofs_find(&axes, &points, &roofs));
    assay_chart_points_fini(&points);
    assay_chart_axes_fini(&axes);
    return roofs;
}

static void test_roofs(void **state)
{
    (void)state;
    struct assay_book book = {0};
    add_work(&book, spread, SPREAD);
    struct assay_roofs roofs = roofs_of(&book);
    assert_int_equal(roofs.n, 3);
    assert_string_equal(roofs.roofs[0].name.text, "L2 200 GB/s");
    assert_string_equal(roofs.roofs[1].name.text, "memory 40 GB/s");
    assert_string_equal(roofs.roofs[2].name.text, "compute f32 600 GFLOP/s");
    assert_false(roofs.roofs[0].compute);
    assert_near(roofs.roofs[0].rate, 200e9, 1e3);
    assert_near(roofs.roofs[2].rate, 600e9, 1e3);
    assert_int_equal(roofs.roofs[0].n, 2 * 2); /* both variants, hot, of 0.25 and 1 */
    struct assay_scale x = {.kind = ASSAY_SCALE_LOG, .lo = 0.1, .hi = 100};
    assert_near(assay_roof_span(&roofs, 0, &x).hi, 3, 1e-6); /* 600 / 200 */
    assert_near(assay_roof_span(&roofs, 1, &x).hi, 15, 1e-6);
    assert_near(assay_roof_span(&roofs, 2, &x).lo, 3, 1e-6);
    assay_roofs_fini(&roofs);
    assay_book_fini(&book);
}

/* Footprints and rounds differ: the median is the line. Another dtype, and another recipe where
 * its rate is far from the others', has its own. */
static void test_ranges(void **state)
{
    (void)state;
    struct assay_book book = {0};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 5; i++) {
        struct assay_record r[2] = {work(i, 0, 0.5, 0.5), work(i, 1, 100, 0.5)};
        r[0].states[HOT].ceiling_ns *= 1 + 0.05 * i;
        r[1].states[HOT].ceiling_ns *= i == 4 ? 0.25 : 1;
        snprintf(r[1].recipe, sizeof r[1].recipe, "%s", i == 4 ? "int8wo" : "baseline");
        r[1].dtype = i == 0 ? ASSAY_DTYPE_BF16 : ASSAY_DTYPE_F32;
        r[1].states[COLD].measured = false;
        assay_book_add(&book, r, 2);
    }
    struct assay_roofs roofs = roofs_of(&book);
    assert_int_equal(roofs.n, 5);
    assert_near(roofs.roofs[0].rate, 200e9 / 1.1, 1e3);
    assert_near(roofs.roofs[0].lo, 200e9 / 1.2, 1e3);
    assert_near(roofs.roofs[0].hi, 200e9, 1e3);
    assert_string_equal(roofs.roofs[2].name.text, "compute f32 baseline 600 GFLOP/s");
    assert_string_equal(roofs.roofs[3].name.text, "compute f32 int8wo 2.4 TFLOP/s");
    assert_string_equal(roofs.roofs[4].name.text, "compute bf16 600 GFLOP/s");
    assay_roofs_fini(&roofs);
    struct assay_text svg = drawn("roofline", &book, &no_wish);
    assert_has(&svg, "fill-opacity"); /* the range */
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

/* Equal factors of intensity are equal distances, and points on the slope rise with it. */
static void test_positions(void **state)
{
    (void)state;
    struct assay_book book = {0};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 3; i++) {
        struct assay_record r = work(i, 0, 0.01 * pow(10, i), 0.5);
        assay_book_add(&book, &r, 1);
    }
    struct assay_text svg = drawn("roofline", &book, &hot_alone);
    double x[8], y[8];
    int n = 0;
    for (const char *s = svg.data; (s = strstr(s, "<circle ")) && n < 8; s++)
        if (svg_number(s, " r=\"") == 4) {
            x[n] = svg_number(s, " cx=\"");
            y[n++] = svg_number(s, " cy=\"");
        }
    assert_int_equal(n, 4); /* the legend's comes first */
    assert_near(x[3] - x[2], x[2] - x[1], 0.03);
    assert_near(y[2] - y[3], y[1] - y[2], 0.03);
    assert_true(y[3] < y[1]);
    assert_has(&svg, "L2 200 GB/s");
    assert_lacks(&svg, "memory 40 GB/s"); /* cold ones are not asked for */
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

/* Hot and cold are joined, what is impossible stands above its roof, copies are left out. */
static void test_points(void **state)
{
    (void)state;
    struct assay_book book = {0};
    add_work(&book, spread, SPREAD);
    struct assay_record r[] = {work(7, 0, 2, 3), work(7, 1, 0, 0.5)};
    r[0].outcome = ASSAY_OUTCOME_IMPOSSIBLE;
    snprintf(r[0].reason, sizeof r[0].reason, "faster than this machine can be");
    r[1].flops = 0;
    assay_book_add(&book, r, 2);
    struct assay_text svg = drawn("roofline", &book, &no_wish);
    assert_int_equal(count_of(&svg, "data-row="), SPREAD * 2 * 2 + 2);
    assert_has(&svg, "impossible: above its ceiling");
    assert_has(&svg, "impossible: faster than this machine can be");
    assert_has(&svg, "1 row without arithmetic (copies) is left out.");
    assert_has(&svg, "Not right, or without a result: 1 impossible.");
    assert_has(&svg, ">cold</text>");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

/* Each machine has its own roofs. */
static void test_machines(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_run_info other = a_run;
    snprintf(other.device_name, sizeof other.device_name, "another");
    snprintf(other.id, sizeof other.id, "20261116-034711-a1b2");
    add_work(&book, spread, SPREAD);
    assay_book_begin(&book, &other);
    struct assay_record r = work(0, 0, 0.5, 0.5);
    assay_book_add(&book, &r, 1);
    struct assay_roofs roofs = roofs_of(&book);
    assert_int_equal(roofs.n, 5);
    assert_string_equal(roofs.roofs[2].name.text, "L2 200 GB/s · another");
    assay_roofs_fini(&roofs);
    struct assay_text svg = drawn("roofline", &book, &no_wish);
    assert_has(&svg, "compute f32 600 GFLOP/s");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void test_unfit(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 2};
    char why[ASSAY_CHART_WHY] = "";
    const struct assay_chart *chart = chart_named("roofline");
    struct assay_chart_request request = {.x = "seq"};
    assert_unfit("roofline", NULL, &no_wish, "no row has figures");
    assert_unfit("roofline", &c, &request,
                 "its axes are operations per byte and per second: it takes no x, y or figure");
    assert_unfit("roofline", &c, &(struct assay_chart_request){.row = 1},
                 "it shows all rows: it takes no row");
    assay_book_begin(&book, &a_run);
    struct assay_record r = work(0, 0, 0, 0.5);
    assay_book_add(&book, &r, 1);
    assert_int_equal(chart->fits(&book, &no_wish, why, sizeof why), ASSAY_CHART_UNFIT);
    assert_string_equal(why, "no row does arithmetic: copies have no operations per byte");
    assay_book_fini(&book);
    assay_book_begin(&book, &a_run);
    r = work(0, 0, 1, 0.5);
    for (int s = HOT; s <= COLD; s++)
        r.states[s] = no_ceiling(r.states[s]);
    assay_book_add(&book, &r, 1);
    assert_int_equal(chart->fits(&book, &no_wish, why, sizeof why), ASSAY_CHART_UNFIT);
    assert_string_equal(why, "no row has a measured ceiling");
    assay_book_fini(&book);
    r = failing(r, ASSAY_OUTCOME_MISMATCH, "wrong");
    assay_book_begin(&book, &a_run);
    assay_book_add(&book, &r, 1);
    assert_int_equal(chart->fits(&book, &no_wish, why, sizeof why), ASSAY_CHART_UNFIT);
    assert_string_equal(why, "no row has figures");
    assay_book_fini(&book);
}

static void test_extremes(void **state)
{
    (void)state;
    static const struct book_case cases[] = {
        {0},
        {.sizes = 12, .variants = 40, .decades = 9, .name_length = 31},
        {.sizes = 30, .variants = 9, .dtypes = 3, .bad = true},
        {.sizes = 40, .variants = 60, .dtypes = 2},
        {.sizes = 4, .variants = 8, .recipes = true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct assay_text svg = drawn_case("roofline", &cases[i], &no_wish);
        assert_lacks(&svg, "=\"nan");
        assay_text_fini(&svg);
    }
}

/* Many roofs, many points: names stand apart, below the plot where there is no place. */
static void test_crowd(void **state)
{
    (void)state;
    struct assay_book book = {0};
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 120; i++) {
        struct assay_record r[2];
        for (int v = 0; v < 2; v++) {
            r[v] = work(i, v, 0.1 * pow(2, i % 13), 0.1 + (i * 7 + v) % 9 * 0.1);
            r[v].dtype = dtypes[i % 3];
            r[v].threads = 1 + i % 4;
            for (int s = HOT; s <= COLD; s++)
                r[v].states[s].ceiling_ns *= 1 + i % 12;
        }
        r[0].states[COLD].time.median = i % 5 ? 1e5 : (double)NAN;
        assay_book_add(&book, r, 2);
    }
    struct assay_text svg = drawn("roofline", &book, &no_wish);
    assert_has(&svg, "threads 4");
    assert_has(&svg, "ceilings are drawn.");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void test_choice(void **state)
{
    (void)state;
    struct book_case c = {.variants = 3};
    char why[ASSAY_CHART_WHY];
    assert_int_equal(fit_of("roofline", &c, &no_wish, why), ASSAY_CHART_GOOD - 10);
    struct assay_book book = {0};
    book_case_add(&c, &book);
    assert_string_equal(assay_chart_choose(&book, &no_wish)->name, "speedup");
    assay_book_fini(&book);
}

static void test_memory(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 2, .variants = 2};
    check_without_memory("roofline", &c, &no_wish);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden), cmocka_unit_test(test_roofs),
        cmocka_unit_test(test_ranges), cmocka_unit_test(test_positions),
        cmocka_unit_test(test_points), cmocka_unit_test(test_machines),
        cmocka_unit_test(test_unfit),  cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_crowd),  cmocka_unit_test(test_choice),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
