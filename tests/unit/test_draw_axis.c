/* test_draw_axis.c: around any plot the labels of axes, legends, heads and notes stand apart and
 * within the drawing, and take the height and width that they said they would. */
#include "svg_check.h"

#include "report/draw/draw_axis.h"

static const char word[] = "native.avx512.tiled/bf16-with-a-name-that-goes-on-and-on-and-on";

struct names {
    int length;
};

/* "12-native…", of `length` characters; 0: the number alone. */
static void name_of(const void *user, double value, char *text, size_t size)
{
    const struct names *names = user;
    char whole[80];
    snprintf(whole, sizeof whole, "%lld-%s", (long long)value, word);
    snprintf(text, size, "%.*s", names->length, whole);
}

static void no_label(const void *user, double value, char *text, size_t size)
{
    (void)user;
    (void)value;
    snprintf(text, size, "%s", "");
}

static struct assay_scale from_to(enum assay_scale_kind kind, double a, double b)
{
    struct assay_scale scale;
    assay_scale_init(&scale, kind);
    assay_scale_see(&scale, a);
    assay_scale_see(&scale, b);
    assay_scale_round(&scale);
    return scale;
}

static struct assay_text finish(struct assay_drawing *d)
{
    struct assay_text svg = {0};
    assay_draw_svg(d, "", &svg);
    assert_false(svg.failed);
    check_xml(&svg);
    assay_draw_fini(d);
    return svg;
}

/* Gives the number of texts, names included. */
static int finish_apart(struct assay_drawing *d)
{
    struct assay_text svg = finish(d);
    int n = check_texts(&svg);
    assay_text_fini(&svg);
    return n;
}

/* ---- axes ----------------------------------------------------------------------------------- */

/* An axis below and one at the left, with just the place they ask for. */
static struct assay_text draw_axes(struct assay_scale x, struct assay_scale y,
                                   struct assay_axis below, struct assay_axis left, double width,
                                   double height)
{
    struct assay_drawing d;
    below.scale = &x;
    left.scale = &y;
    struct assay_plot plot = {.left = assay_axis_width(&left) + 2, .top = 10, .right = width - 20};
    double length = plot.right - plot.left;
    plot.bottom = plot.top + height;
    x.from = plot.left;
    x.to = plot.right;
    y.from = plot.bottom;
    y.to = plot.top;
    assay_draw_begin(&d, ASSAY_DRAW_LIGHT, width);
    d.height = plot.bottom + assay_axis_height(&below, length) + 1;
    assay_axis_draw_below(&d, &below, &plot);
    assay_axis_draw_left(&d, &left, &plot);
    return finish(&d);
}

static void check_axes(struct assay_scale x, struct assay_scale y, struct assay_axis below,
                       struct assay_axis left)
{
    for (double width = 300; width <= 1000; width += 140)
        for (double height = 40; height <= 400; height += 90) {
            struct assay_text svg = draw_axes(x, y, below, left, width, height);
            assert_true(check_texts(&svg) >= 2);
            assay_text_fini(&svg);
        }
}

static void labels_of_values_stand_apart(void **state)
{
    (void)state;
    static const double ranges[][2] = {
        {1, 1},          {0, 100},    {-3, 12},           {1, 1e9},  {64, 8192},
        {1e-300, 1e300}, {-1e9, 1e9}, {1e9, 1.0000001e9}, {97, 103}, {0x1p-30, 0x1p40}};
    for (int kind = ASSAY_SCALE_LINEAR; kind <= ASSAY_SCALE_LOG; kind++)
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
            struct assay_scale s = from_to((enum assay_scale_kind)kind, ranges[i][0], ranges[i][1]);
            check_axes(s, s, (struct assay_axis){.name = "seq", .label = assay_axis_number},
                       (struct assay_axis){.name = "time", .label = assay_axis_time});
            check_axes(s, s, (struct assay_axis){.label = assay_axis_rate, .grid = true},
                       (struct assay_axis){.label = assay_axis_bandwidth});
        }
}

static void names_of_bands_stand_apart(void **state)
{
    (void)state;
    for (int n = 1; n <= 60; n += n < 8 ? 1 : 13)
        for (int length = 1; length <= 60; length += 12) {
            struct names names = {length};
            struct assay_axis axis = {.label = name_of, .user = &names, .name = "kernel"};
            struct assay_scale bands = assay_scale_bands(n, 0, 1);
            check_axes(bands, bands, axis, axis);
        }
}

/* Labels of four digits cannot tell 1.00001 GB from 1.00002 GB: one of them is enough. */
static void no_label_stands_twice(void **state)
{
    (void)state;
    struct assay_scale s = from_to(ASSAY_SCALE_LINEAR, 1.00001e9, 1.00002e9);
    struct assay_axis axis = {.label = assay_axis_memory};
    struct assay_text svg = draw_axes(s, s, axis, axis, 600, 300);
    assert_int_equal(count_of(&svg, "<text "), 2);
    assert_int_equal(count_of(&svg, ">1 GB</text>"), 2); /* one for each axis */
    assay_text_fini(&svg);
}

static void axes_without_labels_keep_their_grid(void **state)
{
    (void)state;
    struct assay_scale s = from_to(ASSAY_SCALE_LINEAR, 0, 10);
    struct assay_axis axis = {.label = no_label, .grid = true};
    struct assay_text svg = draw_axes(s, s, axis, axis, 600, 300);
    assert_int_equal(count_of(&svg, "<text "), 0);
    assert_true(count_of(&svg, assay_draw_colour(ASSAY_DRAW_LIGHT, ASSAY_DRAW_GRID)) >= 8);
    assay_text_fini(&svg);
}

/* ---- legends -------------------------------------------------------------------------------- */

static void legends_wrap(void **state)
{
    (void)state;
    enum { MOST = 40 };
    char texts[MOST][80];
    struct assay_legend_entry entries[MOST];
    for (int length = 1; length <= 60; length += 5)
        for (int n = 0; n <= MOST; n += 8) {
            for (int i = 0; i < n; i++) {
                struct names names = {1 + (length + 13 * i) % 60};
                name_of(&names, i, texts[i], sizeof texts[i]);
                entries[i] = (struct assay_legend_entry){
                    .shape = (enum assay_legend_shape)(i % (ASSAY_LEGEND_STROKE + 1)),
                    .ink = assay_draw_series_ink(i),
                    .dash = assay_draw_series_dash(i),
                    .marker = assay_draw_series_marker(i),
                    .text = texts[i]};
            }
            struct assay_drawing d;
            assay_draw_begin(&d, ASSAY_DRAW_DARK, 220);
            double said = assay_legend_draw(NULL, 20, 10, 200, entries, n);
            d.height = 10 + said;
            assert_near(assay_legend_draw(&d, 20, 10, 200, entries, n), said, 0);
            assert_true(n > 0 ? said > 0 : said == 0);
            assert_int_equal(finish_apart(&d), n);
        }
}

/* ---- heads and notes ------------------------------------------------------------------------ */

static void heads_and_notes_break(void **state)
{
    (void)state;
    char text[600];
    for (int words = 0; words < 9; words++) {
        struct assay_drawing d;
        text[0] = '\0';
        for (int i = 0; i < words; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     i == 0   ? ""
                     : i == 4 ? "\n"
                              : " ",
                     i % 2 ? "and more" : word);
        for (double width = 120; width < 900; width += 97) {
            assay_draw_begin(&d, ASSAY_DRAW_LIGHT, width);
            double top = assay_draw_head(&d, text, text), end = assay_draw_note(&d, top, text);
            assert_true(words ? end > top : end == top);
            assert_string_equal(d.title.length ? d.title.data : "", text);
            d.height = end + 4;
            finish_apart(&d);
        }
    }
}

static void notes_lose_nothing(void **state)
{
    (void)state;
    struct assay_drawing d;
    assay_draw_begin(&d, ASSAY_DRAW_LIGHT, 140);
    double end = assay_draw_note(&d, 0, "one two three four five six seven\neight\n\nnine");
    d.height = end + 10;
    struct assay_text svg = finish(&d);
    char got[256] = "", line[64];
    for (const char *s = svg.data; (s = strstr(s, "<text ")); s++) {
        read_text(strchr(s, '>') + 1, line, sizeof line);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", got[0] ? "|" : "", line);
    }
    assert_string_equal(got, "one two three|four five six|seven|eight|nine");
    assay_text_fini(&svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_values_stand_apart),
        cmocka_unit_test(names_of_bands_stand_apart),
        cmocka_unit_test(no_label_stands_twice),
        cmocka_unit_test(axes_without_labels_keep_their_grid),
        cmocka_unit_test(legends_wrap),
        cmocka_unit_test(heads_and_notes_break),
        cmocka_unit_test(notes_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
