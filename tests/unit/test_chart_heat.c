/* test_chart_heat.c: which axes a heat map has, what its cells say, their colours and stripes, and
 * when there is none. ASSAY_UPDATE_GOLDEN=1 rewrites the golden files; look at the diff and at the
 * picture. */
#include "chart_case.h"

static const struct assay_chart_request no_wish = {0};

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

/* seq and dim are swept; one variant has the mark ▸ in each group but every seventh, which two
 * have, and every eleventh, which none has. */
static void add_grid(struct assay_book *book, int64_t sizes, int64_t dims, int64_t variants)
{
    struct book_case c = {.sizes = sizes, .variants = variants};
    int64_t g = 0;
    assay_book_begin(book, &a_run);
    for (int64_t dim = 0; dim < dims; dim++)
        for (int64_t size = 0; size < sizes; size++, g++) {
            struct assay_record records[8];
            for (int64_t v = 0; v < variants; v++) {
                records[v] = book_case_record(&c, g, size, 0, v);
                records[v].axes[2] = 64 + 64 * dim;
                for (int s = HOT; s <= COLD; s++)
                    records[v].states[s].fastest =
                        g % 11 != 10 && (v == g % variants || (g % 7 == 6 && v < 2));
            }
            assay_book_add(book, records, variants);
        }
}

static struct assay_text draw_grid(int64_t sizes, int64_t dims, int64_t variants,
                                   const struct assay_chart_request *request)
{
    struct assay_book book = {0};
    add_grid(&book, sizes, dims, variants);
    struct assay_text svg = drawn("heat", &book, request);
    assay_book_fini(&book);
    return svg;
}

static void test_golden(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 6, .variants = 4, .bad = true};
    check_golden("chart_heat", drawn_case("heat", &c, &no_wish));
    check_golden("chart_heat_winner", draw_grid(6, 4, 3, &no_wish));
}

/* Two swept axes and several variants: who wins. */
static void test_winner(void **state)
{
    (void)state;
    struct assay_book book = {0};
    char why[ASSAY_CHART_WHY] = "";
    add_grid(&book, 6, 4, 3);
    assert_int_equal(chart_named("heat")->fits(&book, &no_wish, why, sizeof why), ASSAY_CHART_BEST);
    assert_string_equal(assay_chart_choose(&book, &no_wish)->name, "heat");
    struct assay_text svg = drawn("heat", &book, &no_wish);
    assert_has(&svg, "layernorm f32: the fastest by seq and dim");
    assert_int_equal(count_of(&svg, "data-row="), 6 * 4 * 2);
    assert_int_equal(count_of(&svg, "<title>the fastest: "), (24 - 3 - 2) * 2);
    assert_int_equal(count_of(&svg, ">tied</text>"), 3 * 2);
    assert_int_equal(count_of(&svg, "<title>unclear\n"), 2 * 2);
    assert_has(&svg, ">native</text>"); /* in the legend */
    assert_has(&svg, ": 1.00 us, fastest\n");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

/* Of two variants by how much; the baseline needs no panel. */
static void test_speedup(void **state)
{
    (void)state;
    struct assay_text svg = draw_grid(4, 3, 2, &no_wish);
    assert_has(&svg, "layernorm f32: speedup by seq and dim");
    assert_has(&svg, ">native · hot</text>");
    assert_lacks(&svg, ">onednn · hot</text>");
    assert_int_equal(count_of(&svg, "data-row="), 4 * 3 * 2);
    assert_has(&svg, "x</text>");
    assay_text_fini(&svg);
}

/* The text of a cell, its colour, and stripes over what is not significant. */
static void test_cells(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 2, .variants = 2};
    static const double ratios[] = {4, 0.25, 1.02, 1};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 4; i++) {
        struct assay_record records[2];
        for (int v = 0; v < 2; v++) {
            records[v] = book_case_record(&c, i, i % 2, i / 2, v);
            records[v].states[COLD].measured = false;
        }
        records[1].states[HOT] = against(around(1e3, 0.01), ratios[i], 0.02, i < 2);
        if (i == 3)
            records[1] = failing(records[1], ASSAY_OUTCOME_OUT_OF_MEMORY, "no memory");
        assay_book_add(&book, records, 2);
    }
    struct assay_chart_request request = {
        .x = "seq", .y = "dtype", .figure = "speedup", .has_state = true, .state = ASSAY_CACHE_HOT};
    struct assay_text svg = drawn("heat", &book, &request);
    assert_has(&svg, ">4.00x</text>");
    assert_has(&svg, ">0.25x</text>");
    assert_has(&svg, ">1.02x</text>");
    assert_has(&svg, ">out of memory</text>");
    assert_has(&svg, "no significant difference");
    assert_has(&svg, "no result");
    assert_has(&svg, "Without a result: 1 out of memory.");
    assert_int_equal(count_of(&svg, "url(#stripes-failed-)"), 2); /* the cell, and the legend */
    assert_int_equal(count_of(&svg, "url(#stripes-even-)"), 2);
    assert_has(&svg, "speedup by seq and dtype, hot");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void test_figures(void **state)
{
    (void)state;
    static const char *const figures[] = {"time", "bandwidth", "ceiling", "speedup", "winner"};
    static const char *const says[] = {"us</text>", "GB/s</text>", ">100%</text>", ">1x</text>",
                                       "the fastest by"};
    for (int i = 0; i < 5; i++) {
        struct assay_chart_request request = {.figure = figures[i]};
        struct assay_text svg = draw_grid(5, 3, 3, &request);
        assert_has(&svg, says[i]);
        assay_text_fini(&svg);
    }
}

/* Any two axes that vary; numbers go along x. */
static void test_axes(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 3, .variants = 4, .dtypes = 3};
    struct assay_chart_request request = {.x = "dtype", .y = "implementation"};
    struct assay_text svg = drawn_case("heat", &c, &request);
    assert_has(&svg, "by dtype and implementation");
    assert_has(&svg, ">seq 16 · hot</text>"); /* panels */
    assay_text_fini(&svg);
    request = (struct assay_chart_request){.y = "seq"};
    svg = drawn_case("heat", &c, &request);
    assert_has(&svg, "by implementation and seq");
    assay_text_fini(&svg);
    svg = drawn_case("heat", &c, &no_wish);
    assert_has(&svg, "speedup by seq and implementation");
    assay_text_fini(&svg);
    c = (struct book_case){.sizes = 4, .variants = 4, .recipes = true};
    request = (struct assay_chart_request){.x = "seq", .y = "recipe", .figure = "ceiling"};
    svg = drawn_case("heat", &c, &request);
    assert_has(&svg, ">int4wo-128</text>");
    assay_text_fini(&svg);
}

static void test_unfit(void **state)
{
    (void)state;
    struct book_case one = {0}, c = {.sizes = 3, .variants = 2, .dtypes = 2};
    assert_unfit("heat", NULL, &no_wish, "no row has figures");
    assert_unfit("heat", &one, &no_wish, "it takes two axes that vary; there is: none");
    struct assay_chart_request request = {.x = "nix"};
    assert_unfit("heat", &c, &request,
                 "there is no axis \"nix\"; those that vary: shape, dtype, implementation, seq");
    request = (struct assay_chart_request){.x = "seq", .y = "seq"};
    assert_unfit("heat", &c, &request,
                 "x and y are the same axis; those that vary: shape, dtype, implementation, seq");
    request = (struct assay_chart_request){.figure = "colour"};
    assert_unfit("heat", &c, &request,
                 "it has no figure \"colour\": speedup, ceiling, time, bandwidth or winner");
    request = (struct assay_chart_request){.x = "implementation", .figure = "winner"};
    assert_unfit("heat", &c, &request, "no row is the fastest of its group");
    c.variants = 1;
    request = (struct assay_chart_request){.figure = "speedup"};
    assert_unfit("heat", &c, &request, "no row has a speedup");
    struct assay_book book = {0};
    char why[ASSAY_CHART_WHY] = "";
    add_grid(&book, 2, 2, 2);
    request = (struct assay_chart_request){.x = "implementation", .figure = "winner"};
    assert_int_equal(chart_named("heat")->fits(&book, &request, why, sizeof why), 0);
    assert_string_equal(why, "a winner is a group's: implementation and recipe cannot be its axes");
    assay_book_fini(&book);
}

/* Outcomes can be seen even where no figure can. */
static void test_all_failed(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 3, .variants = 2};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 3; i++) {
        struct assay_record records[2];
        for (int v = 0; v < 2; v++) {
            records[v] = failing(book_case_record(&c, i, i, 0, v),
                                 v ? ASSAY_OUTCOME_CRASHED : ASSAY_OUTCOME_UNSUPPORTED, "why");
            memset(records[v].states, 0, sizeof records[v].states);
        }
        assay_book_add(&book, records, 2);
    }
    struct assay_text svg = drawn("heat", &book, &no_wish);
    assert_int_equal(count_of(&svg, ">crashed</text>"), 3 * 2);
    assert_has(&svg, "Without a result: 3 unsupported, 3 crashed.");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

/* Of too many values every second is drawn. */
static void test_huge(void **state)
{
    (void)state;
    struct assay_chart_request request = {.has_state = true, .state = ASSAY_CACHE_COLD};
    struct assay_text svg = draw_grid(39, 80, 2, &request);
    assert_has(&svg, "40 of 80 values of dim are drawn, evenly chosen.");
    assert_int_equal(count_of(&svg, "data-row="), 39 * 40);
    assert_has(&svg, ">192</text>");
    assay_text_fini(&svg);
}

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
    };
    static const char *const figures[] = {NULL, "time", "bandwidth", "ceiling"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int f = 0; f < 4; f++) {
            struct assay_chart_request request = {.figure = figures[f]};
            struct assay_text svg = drawn_case("heat", &cases[i], &request);
            assert_lacks(&svg, "=\"nan");
            assay_text_fini(&svg);
        }
}

static void test_not_numbers(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct book_case c = {.sizes = 3, .variants = 2};
    assay_book_begin(&book, &a_run);
    for (int i = 0; i < 3; i++) {
        struct assay_record records[2];
        for (int v = 0; v < 2; v++) {
            records[v] = book_case_record(&c, i, i, 0, v);
            if (i != 1)
                records[v].states[HOT] = no_ceiling(records[v].states[HOT]);
        }
        records[0].states[HOT].efficiency = (double)NAN;
        records[1].states[HOT].time.median = (double)NAN;
        assay_book_add(&book, records, 2);
    }
    struct assay_chart_request request = {.figure = "ceiling"};
    struct assay_text svg = drawn("heat", &book, &request);
    assert_has(&svg, "timed, but without this figure");
    assay_text_fini(&svg);
    assay_book_fini(&book);
}

static void test_memory(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 3, .variants = 2, .bad = true};
    struct assay_chart_request request = {.figure = "speedup"};
    check_without_memory("heat", &c, &request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),      cmocka_unit_test(test_winner),
        cmocka_unit_test(test_speedup),     cmocka_unit_test(test_cells),
        cmocka_unit_test(test_figures),     cmocka_unit_test(test_axes),
        cmocka_unit_test(test_unfit),       cmocka_unit_test(test_all_failed),
        cmocka_unit_test(test_huge),        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_not_numbers), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
