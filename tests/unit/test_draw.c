/* test_draw.c: marks, texts and groups become the SVG that was meant, nothing that is not a number
 * or far outside gets in, and without memory the image says so. */
#include "svg_check.h"

#include "base/alloc.h"

static struct assay_drawing drawing_of(double width, double height)
{
    struct assay_drawing d;
    assay_draw_begin(&d, ASSAY_DRAW_PAGE, width);
    d.height = height;
    return d;
}

static void assert_body(struct assay_drawing *d, const char *want)
{
    assert_false(d->body.failed);
    assert_string_equal(d->body.length ? d->body.data : "", want);
    assay_text_clear(&d->body);
}

static struct assay_text image(const struct assay_drawing *d, const char *id)
{
    struct assay_text svg = {0};
    assay_draw_svg(d, id, &svg);
    assert_false(svg.failed);
    check_xml(&svg);
    return svg;
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void boxes(void **state)
{
    (void)state;
    struct assay_drawing d = drawing_of(200, 100);
    assay_draw_rect(&d, 1, 2.5, 30, 40.125, ASSAY_DRAW_FASTER);
    assert_body(&d, "<rect x=\"1\" y=\"2.5\" width=\"30\" height=\"40.13\" "
                    "fill=\"var(--ink-faster)\"/>\n");
    assay_draw_rect(&d, 31, 42, -30, -40, ASSAY_DRAW_FASTER); /* to the left, upwards */
    assert_body(&d, "<rect x=\"1\" y=\"2\" width=\"30\" height=\"40\" "
                    "fill=\"var(--ink-faster)\"/>\n");
    assay_draw_frame(&d, 1, 2, 3, 4, ASSAY_DRAW_TEXT, 1.5);
    assert_body(&d, "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"none\" "
                    "stroke=\"var(--ink-text)\" stroke-width=\"1.5\"/>\n");
    assay_draw_rect(&d, 1, 2, 0, 4, ASSAY_DRAW_TEXT);
    assay_draw_rect(&d, 1, 2, 3, 0.001, ASSAY_DRAW_TEXT);
    assert_body(&d, "");
    d.look = ASSAY_DRAW_LIGHT;
    assay_draw_rect(&d, -0.001, 2, 3, 4, ASSAY_DRAW_BACKGROUND);
    assert_body(&d, "<rect x=\"0\" y=\"2\" width=\"3\" height=\"4\" fill=\"#ffffff\"/>\n");
    assay_draw_fini(&d);
}

static void lines(void **state)
{
    (void)state;
    struct assay_drawing d = drawing_of(200, 100);
    const double nan = (double)NAN;
    assay_draw_line(&d, 1, 2, 3, 4, ASSAY_DRAW_GRID, 1, ASSAY_DRAW_SOLID);
    assert_body(&d, "<line x1=\"1\" y1=\"2\" x2=\"3\" y2=\"4\" stroke=\"var(--ink-grid)\" "
                    "stroke-width=\"1\"/>\n");
    assay_draw_path(&d, (double[]){1, 2, 3, 4, 5}, (double[]){9, 8, nan, 6, nan}, 5,
                    ASSAY_DRAW_SERIES, 2, ASSAY_DRAW_DASHED);
    assert_body(&d, "<path d=\"M1 9L2 8M4 6h0\" fill=\"none\" stroke-linejoin=\"round\" "
                    "stroke-linecap=\"round\" stroke=\"var(--ink-series-1)\" stroke-width=\"2\" "
                    "stroke-dasharray=\"8 6\"/>\n");
    assay_draw_path(&d, (double[]){1, 2}, (double[]){nan, nan}, 2, ASSAY_DRAW_SERIES, 2,
                    ASSAY_DRAW_SOLID);
    assay_draw_path(&d, NULL, NULL, 0, ASSAY_DRAW_SERIES, 2, ASSAY_DRAW_SOLID);
    assert_body(&d, "");
    assay_draw_band(&d, (double[]){1, 2, 3, 4, 5, 6}, (double[]){5, 6, nan, 6, 7, 8},
                    (double[]){4, 3, 2, 1, 2, nan}, 6, ASSAY_DRAW_EVEN);
    assert_body(&d, "<path d=\"M1 5L2 6L2 3L1 4ZM4 6L5 7L5 2L4 1Z\" fill=\"var(--ink-even)\" "
                    "fill-opacity=\"0.18\"/>\n");
    assay_draw_band(&d, (double[]){1}, (double[]){5}, (double[]){4}, 1, ASSAY_DRAW_EVEN);
    assert_body(&d, "");
    assay_draw_whisker_x(&d, 10, 20, 50, ASSAY_DRAW_TEXT);
    assert_body(&d, "<path d=\"M10 50L20 50M10 46L10 54M20 46L20 54\" fill=\"none\" "
                    "stroke=\"var(--ink-text)\" stroke-width=\"1.5\"/>\n");
    assay_draw_whisker_y(&d, 50, 10, 20, ASSAY_DRAW_TEXT);
    assert_body(&d, "<path d=\"M50 10L50 20M46 10L54 10M46 20L54 20\" fill=\"none\" "
                    "stroke=\"var(--ink-text)\" stroke-width=\"1.5\"/>\n");
    assay_draw_fini(&d);
}

static void markers(void **state)
{
    (void)state;
    struct assay_drawing d = drawing_of(200, 100);
    assay_draw_marker(&d, 10, 20, 8, ASSAY_DRAW_DISC, ASSAY_DRAW_FAILED, false);
    assert_body(&d, "<circle cx=\"10\" cy=\"20\" r=\"4\" fill=\"var(--ink-failed)\"/>\n");
    assay_draw_marker(&d, 10, 20, 8, ASSAY_DRAW_DIAMOND, ASSAY_DRAW_FAILED, true);
    assert_body(&d, "<path d=\"M10 15L15 20L10 25L5 20Z\" fill=\"var(--ink-background)\" "
                    "stroke=\"var(--ink-failed)\" stroke-width=\"1.5\"/>\n");
    assay_draw_marker(&d, 10, 20, 10, ASSAY_DRAW_CROSS, ASSAY_DRAW_FAILED, false);
    assert_body(&d, "<path d=\"M6 16L14 24M6 24L14 16\" fill=\"none\" "
                    "stroke=\"var(--ink-failed)\" stroke-width=\"2\"/>\n");
    assay_draw_fini(&d);
}

/* Each mark with one coordinate replaced, which leaves nothing of it. */
static void draw_all_with(struct assay_drawing *d, double bad)
{
    enum assay_ink ink = ASSAY_DRAW_TEXT;
    struct assay_draw_font font = {.size = 13, .ink = ink};
    for (int i = 0; i < 4; i++) {
        double at[4] = {10, 10, 10, 10};
        at[i] = bad;
        assay_draw_rect(d, at[0], at[1], at[2], at[3], ink);
        assay_draw_frame(d, at[0], at[1], at[2], at[3], ink, 1);
        assay_draw_hatched(d, at[0], at[1], at[2], at[3], ink);
        assay_draw_heat(d, at[0], at[1], at[2], at[3], 1);
        assay_draw_ramp(d, at[0], at[1], at[2], at[3], 1);
        assay_draw_line(d, at[0], at[1], at[2], at[3], ink, 1, ASSAY_DRAW_SOLID);
        if (i == 3)
            break;
        assay_draw_band(d, at, at + 1, at + 2, 1, ink);
        assay_draw_whisker_x(d, at[0], at[1], at[2], ink);
        assay_draw_whisker_y(d, at[0], at[1], at[2], ink);
        if (i == 2)
            continue;
        assay_draw_path(d, &at[0], &at[1], 1, ink, 1, ASSAY_DRAW_SOLID);
        assay_draw_text(d, at[0], at[1], 0, font, "text");
        for (int marker = 0; marker < ASSAY_DRAW_MARKERS; marker++)
            assay_draw_marker(d, at[0], at[1], 8, (enum assay_marker)marker, ink, marker % 2);
    }
}

static void far_marks_are_left_out(void **state)
{
    (void)state;
    static const double bad[] = {
        (double)NAN, (double)INFINITY, -(double)INFINITY, 1e300, -1e300, 1e4, -1e4};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct assay_drawing d = drawing_of(200, 100);
        draw_all_with(&d, bad[i]);
        assert_body(&d, "");
        assert_int_equal(d.hatched, 0);
        assay_draw_fini(&d);
    }
}

/* ---- stripes and ids ------------------------------------------------------------------------ */

static void stripes_are_defined_where_used(void **state)
{
    (void)state;
    struct assay_drawing d = drawing_of(200, 100);
    struct assay_text svg = image(&d, "");
    assert_int_equal(count_of(&svg, "<pattern"), 0);
    assert_int_equal(count_of(&svg, "<defs"), 0);
    assay_text_fini(&svg);
    assay_draw_hatched(&d, 10, 10, 20, 20, ASSAY_DRAW_EVEN);
    assay_draw_striped(&d, 40, 10, 20, 20, ASSAY_DRAW_EVEN);
    assay_draw_striped(&d, 70, 10, 20, 20, ASSAY_DRAW_SERIES + 7);
    assert_int_equal(count_of(&d.body, "fill=\"var(--ink-background)\""), 1); /* hatched alone */
    svg = image(&d, "c1");
    assert_int_equal(count_of(&svg, "<pattern"), 2);
    assert_int_equal(count_of(&svg, "<pattern id=\"stripes-even-c1\""), 1);
    assert_int_equal(count_of(&svg, "<pattern id=\"stripes-series-8-c1\""), 1);
    assert_int_equal(count_of(&svg, "url(#stripes-even-c1)"), 2);
    assert_int_equal(count_of(&svg, "url(#"), 3);
    assay_text_fini(&svg);
    assay_draw_fini(&d);
}

static void ids_are_the_image_s_own(void **state)
{
    (void)state;
    struct assay_drawing d = drawing_of(200, 100);
    assay_text_add(&d.title, "fast & <slow>");
    assay_text_add(&d.summary, "two \"rows\"");
    assay_draw_hatched(&d, 10, 10, 20, 20, ASSAY_DRAW_EVEN);
    struct assay_text one = image(&d, "a"), same = image(&d, "a"), other = image(&d, "b");
    assert_string_equal(one.data, same.data);
    assert_string_not_equal(one.data, other.data);
    assert_int_equal(count_of(&one, " id=\""), 3);
    assert_int_equal(count_of(&one, "-a\""), 5); /* three ids, and what names title and summary */
    assert_int_equal(count_of(&one, "<title id=\"title-a\">fast &amp; &lt;slow&gt;</title>"), 1);
    assert_int_equal(count_of(&one, "<desc id=\"desc-a\">two &quot;rows&quot;</desc>"), 1);
    assert_int_equal(count_of(&one, "viewBox=\"0 0 200 100\" width=\"200\" height=\"100\""), 1);
    assert_int_equal(count_of(&one, "#"), 1); /* a page brings the colours */
    assay_text_fini(&one);
    assay_text_fini(&same);
    assay_text_fini(&other);
    assay_draw_fini(&d);
}

static void groups_have_row_and_tip(void **state)
{
    (void)state;
    struct assay_drawing d = drawing_of(200, 100);
    assay_draw_group(&d, 12, "2 < 3\n\x1b[1m");
    assay_draw_group_end(&d);
    assert_body(&d, "<g data-row=\"12\"><title>2 &lt; 3\n\\x1b[1m</title>\n</g>\n");
    assay_draw_group(&d, 0, "");
    assay_draw_group(&d, 0, NULL);
    assay_draw_group_end(&d);
    assay_draw_group_end(&d);
    assert_body(&d, "<g>\n<g>\n</g>\n</g>\n");
    assay_draw_fini(&d);
}

/* ---- memory --------------------------------------------------------------------------------- */

static struct assay_text draw_a_bit(enum assay_draw_look look)
{
    struct assay_text svg = {0};
    struct assay_drawing d;
    assay_draw_begin(&d, look, 200);
    d.height = 100;
    assay_text_add(&d.title, "title");
    assay_text_add(&d.summary, "summary");
    assay_draw_group(&d, 1, "tip");
    for (int i = 0; i < 40; i++)
        assay_draw_hatched(&d, 4 * i, 10, 3, 20, ASSAY_DRAW_EVEN);
    assay_draw_text(&d, 10, 60, 0, (struct assay_draw_font){.size = 13}, "a text");
    assay_draw_group_end(&d);
    assay_draw_svg(&d, "id", &svg);
    assay_draw_fini(&d);
    return svg;
}

/* Every one of them fails in turn; what is whole is the same as ever. */
static void lack_of_memory_is_told(void **state)
{
    (void)state;
    struct assay_text want = draw_a_bit(ASSAY_DRAW_LIGHT);
    for (int once = 0; once < 2; once++) {
        bool done = false;
        for (int64_t nth = 1; !done; nth++) {
            assert_true(nth < 100);
            (once ? assay_alloc_fail_once : assay_alloc_fail_after)(nth);
            struct assay_text svg = draw_a_bit(ASSAY_DRAW_LIGHT);
            done = !assay_alloc_has_failed();
            assay_alloc_fail_after(0);
            assert_int_equal(svg.failed, !done);
            if (done)
                assert_string_equal(svg.data, want.data);
            assay_text_fini(&svg);
        }
    }
    assay_text_fini(&want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes),
        cmocka_unit_test(lines),
        cmocka_unit_test(markers),
        cmocka_unit_test(far_marks_are_left_out),
        cmocka_unit_test(stripes_are_defined_where_used),
        cmocka_unit_test(ids_are_the_image_s_own),
        cmocka_unit_test(groups_have_row_and_tip),
        cmocka_unit_test(lack_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
