/* test_chart_sweep.c: which axis a sweep is drawn over, where its points stand, what stands beside
 * them, and when there is none. ASSAY_UPDATE_GOLDEN=1 rewrites the golden files; look at the diff
 * and at the picture. */
#include "chart_case.h"

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

/* The numbers of an attribute of all discs of 7 pixels, in their order. */
static int discs(const struct assay_text *svg, const char *attribute, double *values, int most)
{
    int n = 0;
    for (const char *s = svg->data; (s = strstr(s, "<circle ")) && n < most; s++)
        if (svg_number(s, " r=\"") == 3.5)
            values[n++] = svg_number(s, attribute);
    return n;
}

/* Squares of a matrix product: m = k = n. */
static void add_squares(struct assay_book *book, const int64_t *sizes, int n)
{
    struct book_case c = {.sizes = n, .variants = 2};
    assay_book_begin(book, &a_run);
    for (int i = 0; i < n; i++) {
        struct assay_record records[2];
        for (int v = 0; v < 2; v++) {
            records[v] = book_case_record(&c, i, i, 0, v);
            for (int a = 0; a < 3; a++) {
                snprintf(records[v].axis_names[a], 16, "%c", "mkn"[a]);
                records[v].axes[a] = sizes[i];
            }
        }
        assay_book_add(book, records, 2);
    }
}

static void test_golden(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 7, .variants = 5, .bad = true};
    check_golden("chart_sweep", drawn_case("sweep", &c, &no_wish));
}

/* Both scales are logarithmic, so that equal factors are equal distances. */
static void test_positions(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 4, .variants = 1, .decades = 3};
    struct assay_text svg = drawn_case("sweep", &c, &hot_alone);
    double x[8], y[8];
    assert_int_equal(discs(&svg, " cx=\"", x, 8), 4);
    discs(&svg, " cy=\"", y, 8);
    for (int i = 2; i < 4; i++) {
        assert_near(x[i] - x[i - 1], x[1] - x[0], 0.03);
        assert_near(y[i - 1] - y[i], y[0] - y[1], 0.03);
    }
    assert_true(x[1] > x[0] && y[1] < y[0]);
    assert_has(&svg, "layernorm f32: time against seq, hot");
    assert_has(&svg, "batch 32, dim 768");
    assert_has(&svg, "measured ceiling");
    assert_has(&svg, ">memory</text>"); /* what binds */
    assert_has(&svg, "<g data-row=\"4\"><title>onednn · layernorm f32 32x128x768 · hot\n1.00 ms");
    assay_text_fini(&svg);
}

static void test_marks(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 5, .variants = 3};
    struct assay_text svg = drawn_case("sweep", &c, &no_wish);
    assert_int_equal(count_of(&svg, "data-row="), 5 * 3 * 2);
    assert_has(&svg, ">hot</text>");
    assert_has(&svg, ">cold</text>");
    assert_has(&svg, "no significant difference");
    assert_lacks(&svg, "no time:");
    assay_text_fini(&svg);

    c.bad = true;
    svg = drawn_case("sweep", &c, &no_wish);
    assert_has(&svg, "no time: 3 mismatch");
    assert_int_equal(count_of(&svg, "data-row="), 5 * 3 * 2); /* crosses at the axis */
    assert_has(&svg, "mismatch: 3 of 8192 elements: got NaN</title>");
    assay_text_fini(&svg);
}

static void test_figures(void **state)
{
    (void)state;
    static const char *const figures[] = {"time", "bandwidth", "speedup", "ceiling"};
    static const char *const says[] = {"1 us", "GB/s", "the baseline", "100%"};
    struct book_case c = {.sizes = 5, .variants = 3};
    for (int i = 0; i < 4; i++) {
        struct assay_chart_request request = {.figure = figures[i]};
        struct assay_text svg = drawn_case("sweep", &c, &request);
        assert_has(&svg, says[i]);
        assay_text_fini(&svg);
    }
}

/* Each dtype has panels; of a single panel the lines are named at their ends. */
static void test_panels(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 4, .variants = 2, .dtypes = 3};
    struct assay_text svg = drawn_case("sweep", &c, &no_wish);
    assert_has(&svg, ">f32 · hot</text>");
    assert_has(&svg, ">bf16 · cold</text>");
    assert_int_equal(count_of(&svg, ">seq</text>"), 6);
    assay_text_fini(&svg);

    c.dtypes = 1;
    svg = drawn_case("sweep", &c, &hot_alone);
    assert_has(&svg, ">native</text>");
    assert_int_equal(count_of(&svg, ">native</text>"), 1);
    assay_text_fini(&svg);
}

static void test_axes_in_proportion(void **state)
{
    (void)state;
    struct assay_book book = {0};
    char why[ASSAY_CHART_WHY] = "";
    add_squares(&book, (int64_t[]){128, 256, 512, 1024}, 4);
    assert_int_equal(chart_named("sweep")->fits(&book, &no_wish, why, sizeof why),
                     ASSAY_CHART_BEST);
    struct assay_text svg = drawn("sweep", &book, &no_wish);
    assert_has(&svg, "time against m");
    assert_has(&svg, "k and n change with m");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

/* Shapes that have nothing to do with each other are no sweep: bytes order them. */
static void test_unrelated_shapes(void **state)
{
    (void)state;
    struct assay_book book = {0};
    char why[ASSAY_CHART_WHY] = "";
    struct book_case c = {.sizes = 3, .variants = 2};
    static const int64_t shapes[3][2] = {{4, 4096}, {8, 1024}, {32, 768}};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 3; i++) {
        struct assay_record records[2];
        for (int v = 0; v < 2; v++) {
            records[v] = book_case_record(&c, i, i, 0, v);
            records[v].axes[0] = shapes[i][0];
            records[v].axes[2] = shapes[i][1];
            records[v].memory_bytes = 1e6 * (i + 1);
        }
        assay_book_add(&book, records, 2);
    }
    assert_int_equal(chart_named("sweep")->fits(&book, &no_wish, why, sizeof why),
                     ASSAY_CHART_POSSIBLE);
    struct assay_text svg = drawn("sweep", &book, &no_wish);
    assert_has(&svg, "operands of one call");
    assay_text_fini(&svg);
    struct assay_chart_request request = {.x = "seq"};
    svg = drawn("sweep", &book, &request);
    assert_has(&svg, "batch and dim change with seq");
    assay_text_fini(&svg);
    assert_string_equal(assay_chart_choose(&book, &no_wish)->name, "speedup");
    assay_book_fini(&book);
}

/* Variants that do not move the same bytes have ceilings of their own. */
static void test_own_ceilings(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 4, .variants = 2, .recipes = true};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 4; i++) {
        struct assay_record records[2];
        for (int v = 0; v < 2; v++)
            records[v] = book_case_record(&c, i, i, 0, v);
        records[1].states[HOT].ceiling_ns /= 4;
        assay_book_add(&book, records, 2);
    }
    struct assay_text svg = drawn("sweep", &book, &hot_alone);
    assert_has(&svg, "measured ceiling, of each variant");
    assert_has(&svg, ">int8wo</text>");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void test_unfit(void **state)
{
    (void)state;
    struct book_case one = {0}, some = {.sizes = 3, .variants = 2, .dtypes = 2};
    assert_unfit("sweep", NULL, &no_wish, "no row has a time");
    assert_unfit("sweep", &one, &no_wish, "no numeric axis varies");
    assert_unfit("sweep", &some, &(struct assay_chart_request){.row = 2},
                 "it shows all rows: it takes no row");
    struct assay_chart_request request = {.x = "nix"};
    assert_unfit("sweep", &some, &request, "there is no axis \"nix\"; numeric ones that vary: seq");
    request.x = "dtype";
    assert_unfit("sweep", &some, &request, "dtype is not a number; numeric axes that vary: seq");
    request.x = "dim";
    assert_unfit("sweep", &some, &request, "dim has a single value; numeric axes that vary: seq");
    request = (struct assay_chart_request){.figure = "colour"};
    assert_unfit("sweep", &some, &request,
                 "it has no figure \"colour\": time, bandwidth, speedup or ceiling");
    request.figure = "winner";
    assert_unfit("sweep", &some, &request,
                 "it has no figure \"winner\": time, bandwidth, speedup or ceiling");
    request = (struct assay_chart_request){.y = "seq"};
    assert_unfit("sweep", &some, &request, "it has no second axis: its y is a figure");
    some.variants = 1;
    request = (struct assay_chart_request){.figure = "speedup"};
    assert_unfit("sweep", &some, &request, "no row has a speedup");
    some = (struct book_case){.variants = 3, .dtypes = 2};
    assert_unfit("sweep", &some, &no_wish, "no numeric axis varies, only dtype, implementation");
}

static void test_all_failed(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 2};
    char why[ASSAY_CHART_WHY] = "";
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 2; i++) {
        struct assay_record r =
            failing(book_case_record(&c, i, i, 0, 0), ASSAY_OUTCOME_CRASHED, "signal 11");
        assay_book_add(&book, &r, 1);
    }
    assert_int_equal(chart_named("sweep")->fits(&book, &no_wish, why, sizeof why),
                     ASSAY_CHART_UNFIT);
    assert_string_equal(why, "no row has a time");
    assay_book_fini(&book);
}

/* Texts stand apart, and nothing is NaN, whatever there is to draw. */
static void test_extremes(void **state)
{
    (void)state;
    static const struct book_case cases[] = {
        {.sizes = 12, .variants = 40, .decades = 9, .name_length = 31},
        {.sizes = 2, .variants = 2},
        {.sizes = 30, .variants = 9, .dtypes = 3, .bad = true},
        {.sizes = 5, .variants = 16, .name_length = 31},
        {.sizes = 4, .variants = 8, .recipes = true, .dtypes = 2},
        {.sizes = 5, .variants = 2, .models = true},
        {.sizes = 40, .variants = 60},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int s = 0; s < 2; s++) {
            struct assay_text svg = drawn_case("sweep", &cases[i], s ? &hot_alone : &no_wish);
            assert_lacks(&svg, "=\"nan");
            assay_text_fini(&svg);
        }
}

/* Figures that are not numbers have no point; their neighbours have. */
static void test_not_numbers(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 4};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 4; i++) {
        struct assay_record r = book_case_record(&c, i, i, 0, 0);
        if (i == 1)
            r.states[HOT].time.median = (double)NAN;
        r.states[HOT] = no_ceiling(r.states[HOT]);
        r.states[HOT].time.median_ci.hi = i == 2 ? (double)INFINITY : r.states[HOT].time.median;
        assay_book_add(&book, &r, 1);
    }
    struct assay_text svg = drawn("sweep", &book, &hot_alone);
    assert_int_equal(count_of(&svg, "data-row="), 3);
    assert_lacks(&svg, "measured ceiling");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static const char *const mine[] = {"sweep", "heat", "roofline"};

/* Two machines, one of them with a name that XML does not like. */
static void test_hostile_names(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 4, .variants = 3};
    struct assay_run_info other = a_run;
    snprintf(other.device_name, sizeof other.device_name, "</svg><script>\"'&\x01\n");
    snprintf(other.id, sizeof other.id, "20261116-034711-a1b2");
    book_case_add(&c, &book);
    assay_book_begin(&book, &other);
    for (int i = 0; i < 4; i++) {
        struct assay_record records[3];
        for (int v = 0; v < 3; v++) {
            records[v] = book_case_record(&c, i, i, 0, v);
            if (v == 1)
                snprintf(records[v].implementation, sizeof records[v].implementation,
                         "<b>&\"'\x1b[0m</title>");
            snprintf(records[v].reason, sizeof records[v].reason, "]]> <!-- \xff");
        }
        records[2].outcome = ASSAY_OUTCOME_CRASHED;
        assay_book_add(&book, records, 3);
    }
    for (int i = 0; i < 3; i++) {
        struct assay_text svg = drawn(mine[i], &book, &no_wish);
        assert_lacks(&svg, "<b>");
        assert_lacks(&svg, "<script");
        assert_has(&svg, "2 runs on 2 machines");
        assay_text_fini(&svg);
    }
    assay_book_fini(&book);
}

/* The same for dark pages, and for pages that bring their colours. */
static void test_looks(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 4, .variants = 3, .bad = true};
    book_case_add(&c, &book);
    for (int i = 0; i < 3; i++) {
        struct assay_text light = draw_look(mine[i], &book, &no_wish, ASSAY_DRAW_LIGHT);
        struct assay_text dark = draw_look(mine[i], &book, &no_wish, ASSAY_DRAW_DARK);
        struct assay_text page = draw_look(mine[i], &book, &no_wish, ASSAY_DRAW_PAGE);
        assert_int_equal(check_xml(&light), check_xml(&dark));
        check_xml(&page);
        assert_lacks(&page, "fill=\"#");
        assay_text_fini(&light);
        assay_text_fini(&dark);
        assay_text_fini(&page);
    }
    assay_book_fini(&book);
}

static void test_choice(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 5, .variants = 3, .dtypes = 2};
    book_case_add(&c, &book);
    assert_string_equal(assay_chart_choose(&book, &no_wish)->name, "sweep");
    assay_book_fini(&book);
}

static void test_memory(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 3, .variants = 2, .bad = true};
    check_without_memory("sweep", &c, &no_wish);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_panels),
        cmocka_unit_test(test_axes_in_proportion),
        cmocka_unit_test(test_unrelated_shapes),
        cmocka_unit_test(test_own_ceilings),
        cmocka_unit_test(test_unfit),
        cmocka_unit_test(test_all_failed),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_not_numbers),
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
