/* test_draw_text.c: any bytes become text that XML can hold, cut where it does not fit, and no text
 * is wider than it was said to be. */
#include "svg_check.h"

static struct assay_text cut(const char *text, double most)
{
    struct assay_text out = {0};
    assay_draw_cut(text, 10, false, most, &out);
    assert_false(out.failed);
    return out;
}

static void assert_cut(const char *text, double most, const char *want)
{
    struct assay_text out = cut(text, most);
    assert_string_equal(out.length ? out.data : "", want);
    assay_text_fini(&out);
}

static void assert_escaped(const char *text, const char *want)
{
    struct assay_text out = {0};
    assay_draw_escape(&out, text);
    assert_string_equal(out.length ? out.data : "", want);
    assay_text_fini(&out);
}

static double width(const char *text) { return assay_draw_text_width(text, 10, false); }

static void markup_is_escaped(void **state)
{
    (void)state;
    assert_escaped("", "");
    assert_escaped("</script><b a=\"1\" c='2'>&amp;",
                   "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
    assert_escaped("one\n\ttwo\r", "one\n\ttwo\\x0d");
    assert_escaped("µ é 漢 😀", "µ é 漢 😀");
}

/* A byte 1 would stand for the image's id, a turn of direction for other text. */
static void what_has_no_place_is_spelt_out(void **state)
{
    (void)state;
    assert_escaped("\x01\x1b\x7f", "\\x01\\x1b\\x7f");
    assert_escaped("a\xff z\xc3", "a\\xff z\\xc3");    /* not UTF-8; cut short */
    assert_escaped("\xc0\xaf", "\\xc0\\xaf");          /* overlong */
    assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* a surrogate */
    assert_escaped("\xef\xbf\xbf", "\\xef\\xbf\\xbf"); /* U+FFFF */
    assert_escaped("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right to left from here */
    assert_escaped("\xd8\x9c", "\\xd8\\x9c");          /* a mark for Arabic, which turns it, too */
    assert_escaped("\xc2\x85", "\\xc2\\x85");          /* a control of Latin-1 */
    assert_cut("a\nb\tc", 0, "a\\nb\\tc");
    assert_near(width("\n"), width("\\n"), 0);
    assert_near(width("\xff"), width("\\xff"), 0);
}

static void any_bytes_are_xml(void **state)
{
    (void)state;
    char bytes[256];
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i + 1 < sizeof bytes; i++) {
            seed = seed * 1664525 + 1013904223;
            bytes[i] = (char)(seed >> 24 ? seed >> 24 : 1);
        }
        bytes[sizeof bytes - 1] = '\0';
        struct assay_drawing d;
        struct assay_text svg = {0};
        assay_draw_begin(&d, ASSAY_DRAW_LIGHT, 300);
        d.height = 100;
        assay_text_add(&d.title, bytes);
        assay_draw_group(&d, 1, bytes);
        double used = assay_draw_text(&d, 5, 50, 280, (struct assay_draw_font){.size = 11}, bytes);
        assay_draw_group_end(&d);
        assert_true(used > 250 && used <= 280);
        assay_draw_svg(&d, "", &svg);
        check_xml(&svg);
        assert_true(assay_text_is_utf8(svg.data));
        check_texts(&svg);
        assay_text_fini(&svg);
        assay_draw_fini(&d);
    }
}

/* ---- widths --------------------------------------------------------------------------------- */

static void widths_grow(void **state)
{
    (void)state;
    char text[64] = "";
    double before = 0;
    assert_near(width(""), 0, 0);
    for (int i = 0; i < 60; i++) {
        text[i] = (char)('!' + i);
        assert_true(width(text) > before);
        assert_true(assay_draw_text_width(text, 10, true) >= width(text));
        assert_near(assay_draw_text_width(text, 20, false), 2 * width(text), 1e-9);
        before = width(text);
    }
    assert_true(width("漢") > width("W"));          /* wide: a square */
    assert_near(width("e\xcc\x81"), width("e"), 0); /* an accent of its own */
    assert_near(width("a\xe2\x80\x8b"
                      "b"),
                width("ab"), 0); /* no width */
    assert_true(width("😀") >= 10);
    assert_true(width("é") >= width("e"));
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    const char *text = "native.avx512.tiled";
    struct assay_text shorter, before = {0};
    assert_cut(text, 0, text);
    assert_cut(text, width(text) + 0.01, text);
    assert_cut(text, 1, ""); /* not even an ellipsis */
    assert_cut(text, -5, "");
    assert_cut("", 5, "");
    for (double most = 11; most < width(text) - 0.01; most++) {
        shorter = cut(text, most);
        assert_string_equal(shorter.data + shorter.length - 3, "…");
        assert_memory_equal(shorter.data, text, shorter.length - 3);
        assert_true(width(shorter.data) <= most);
        assert_true(shorter.length >= before.length);
        assay_text_fini(&before);
        before = shorter;
    }
    assay_text_fini(&before);
    struct assay_text han = cut("漢漢漢漢漢漢", 40); /* never within a character */
    assert_true(assay_text_is_utf8(han.data));
    assay_text_fini(&han);
}

/* ---- as drawn ------------------------------------------------------------------------------- */

static void assert_text(struct assay_draw_font font, double most, const char *text,
                        const char *want)
{
    struct assay_drawing d;
    assay_draw_begin(&d, ASSAY_DRAW_PAGE, 200);
    double used = assay_draw_text(&d, 10, 20, most, font, text);
    struct assay_text shown = {0};
    assay_draw_cut(text, font.size, font.bold, most, &shown);
    assert_string_equal(d.body.length ? d.body.data : "", want);
    assert_near(used, assay_draw_text_width(shown.length ? shown.data : "", font.size, font.bold),
                1e-9);
    assay_text_fini(&shown);
    assay_draw_fini(&d);
}

static void fonts(void **state)
{
    (void)state;
    struct assay_draw_font font = {.size = 11, .ink = ASSAY_DRAW_MUTED};
    assert_text(font, 0, "a<b",
                "<text x=\"10\" y=\"20\" font-size=\"11\" "
                "fill=\"var(--ink-muted)\">a&lt;b</text>\n");
    assert_text(font, 0, "", "");
    assert_text(font, 3, "nothing fits", "");
    font.bold = true;
    font.anchor = ASSAY_DRAW_MIDDLE;
    assert_text(font, 0, "a",
                "<text x=\"10\" y=\"20\" font-size=\"11\" font-weight=\"600\" "
                "text-anchor=\"middle\" fill=\"var(--ink-muted)\">a</text>\n");
    font = (struct assay_draw_font){
        .size = 11, .ink = ASSAY_DRAW_TEXT, .anchor = ASSAY_DRAW_RIGHT, .upwards = true};
    assert_text(font, 0, "a",
                "<text x=\"10\" y=\"20\" font-size=\"11\" text-anchor=\"end\" "
                "fill=\"var(--ink-text)\" transform=\"rotate(-90 10 20)\">a</text>\n");
    font = (struct assay_draw_font){.size = 11, .ink = ASSAY_DRAW_TEXT, .halo = true};
    assert_text(font, 0, "a",
                "<text x=\"10\" y=\"20\" font-size=\"11\" fill=\"var(--ink-text)\" "
                "stroke=\"var(--ink-background)\" stroke-width=\"3\" stroke-linejoin=\"round\" "
                "paint-order=\"stroke\">a</text>\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(markup_is_escaped),  cmocka_unit_test(what_has_no_place_is_spelt_out),
        cmocka_unit_test(any_bytes_are_xml),  cmocka_unit_test(widths_grow),
        cmocka_unit_test(long_texts_are_cut), cmocka_unit_test(fonts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
