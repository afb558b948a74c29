/* test_chart_spec.c: the word that names a chart, and what is drawn where it cannot be had. */
#include "book_case.h"

#include "base/alloc.h"
#include "report/chart/chart_spec.h"

#include <string.h>

static void refuse(const char *text, const char *message)
{
    struct assay_chart_spec spec;
    struct assay_error err = {0};
    assert_int_equal(assay_chart_spec_parse(text, &spec, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, message))
        fail_msg("%s: \"%s\" lacks \"%s\"", text, err.message, message);
}

static void test_keys(void **state)
{
    (void)state;
    struct assay_chart_spec spec;
    struct assay_error err = {0};
    assert_int_equal(
        assay_chart_spec_parse(":x=seq,Y=dtype,figure=Ceiling,state=cold,row=12", &spec, &err),
        ASSAY_OK);
    assert_null(spec.chart);
    assert_string_equal(spec.request.x, "seq");
    assert_string_equal(spec.request.y, "dtype");
    assert_string_equal(spec.request.figure, "ceiling");
    assert_true(spec.request.has_state);
    assert_int_equal(spec.request.state, ASSAY_CACHE_COLD);
    assert_int_equal(spec.request.row, 12);

    assert_int_equal(assay_chart_spec_parse(":state=both", &spec, &err), ASSAY_OK);
    assert_false(spec.request.has_state);
    assert_null(spec.request.x);
}

static void test_no_choice(void **state)
{
    (void)state;
    static const char *const words[] = {NULL, "", ":", ":,"};
    struct assay_error err = {0};
    for (size_t i = 0; i < 3; i++) {
        struct assay_chart_spec spec;
        assert_int_equal(assay_chart_spec_parse(words[i], &spec, &err), ASSAY_OK);
        assert_null(spec.chart);
        assert_null(spec.request.figure);
    }
    refuse(words[3], "\"\" is no KEY=VALUE");
}

static void test_every_name(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_chart_count(); i++) {
        struct assay_chart_spec spec;
        struct assay_error err = {0};
        char text[80];
        snprintf(text, sizeof text, "%s:row=1", assay_chart_at(i)->name);
        assert_int_equal(assay_chart_spec_parse(text, &spec, &err), ASSAY_OK);
        assert_ptr_equal(spec.chart, assay_chart_at(i));
        assert_int_equal(spec.request.row, 1);
    }
}

static void test_wrong_words(void **state)
{
    (void)state;
    refuse("no-such-chart", "unknown chart \"no-such-chart\"");
    refuse(":z=1", "unknown key \"z\"; there are x, y, figure, state and row");
    refuse(":x", "\"x\" is no KEY=VALUE");
    refuse(":x=", "not \"\"");
    refuse(":x=a_name_that_no_axis_could_have", "not \"a_name_that_no_axis_could_have\"");
    refuse(":figure=speed", "\"speed\"; there are time, bandwidth, speedup, ceiling and winner");
    refuse(":state=warm", "unknown state \"warm\"; there are hot, cold and both");
    refuse(":row=0", "not \"0\"");
    refuse(":row=3x", "not \"3x\"");
    char endless[500] = ":x=";
    memset(endless + 3, 'a', sizeof endless - 4);
    refuse(endless, "is no KEY=VALUE");
    memset(endless, 'a', sizeof endless - 1);
    refuse(endless, "unknown chart \"aaa");
}

static void svg_of(const struct assay_chart_spec *spec, const struct assay_book *book, bool drawn,
                   struct assay_text *out)
{
    struct assay_drawing drawing = {0};
    assay_text_clear(out);
    assay_draw_begin(&drawing, ASSAY_DRAW_LIGHT, ASSAY_CHART_WIDTH);
    assert_int_equal(assay_chart_spec_draw(spec, book, &drawing), drawn);
    assert_true(drawing.height > 0);
    assay_draw_svg(&drawing, "", out);
    assert_false(out->failed);
    assay_draw_fini(&drawing);
}

static int fit_never(const struct assay_book *book, const struct assay_chart_request *request,
                     char *why, size_t size)
{
    (void)book, (void)request;
    snprintf(why, size, "no row has samples");
    return ASSAY_CHART_UNFIT;
}

static int fit_always(const struct assay_book *book, const struct assay_chart_request *request,
                      char *why, size_t size)
{
    (void)book, (void)request, (void)why, (void)size;
    return ASSAY_CHART_GOOD;
}

static void draw_row(const struct assay_book *book, const struct assay_chart_request *request,
                     struct assay_drawing *drawing)
{
    char title[40];
    (void)book;
    snprintf(title, sizeof title, "row %lld", (long long)request->row);
    drawing->height =
        assay_draw_text(drawing, 10, 20, 0, (struct assay_draw_font){.size = 13}, title);
}

static void test_what_is_drawn(void **state)
{
    (void)state;
    static const struct assay_chart never = {"never", "", fit_never, draw_row};
    static const struct assay_chart always = {"always", "", fit_always, draw_row};
    struct assay_book book = {0};
    struct assay_text out = {0};
    book_case_add(&(struct book_case){.variants = 2}, &book);

    svg_of(&(struct assay_chart_spec){.chart = &always, .request.row = 7}, &book, true, &out);
    assert_non_null(strstr(out.data, ">row 7<"));
    svg_of(&(struct assay_chart_spec){.chart = &never}, &book, false, &out);
    assert_non_null(strstr(out.data, ">The chart never does not fit: no row has samples"));
    assert_non_null(strstr(out.data, "layernorm"));
    assay_text_fini(&out);
    assay_book_fini(&book);
}

/* Nothing to draw is said, whatever is asked for. */
static void test_empty_books(void **state)
{
    (void)state;
    static const struct assay_chart always = {"always", "", fit_always, draw_row};
    struct assay_book book = {0};
    struct assay_text out = {0};
    svg_of(&(struct assay_chart_spec){0}, &book, false, &out);
    assert_non_null(strstr(out.data, ">There are no results<"));
    assay_book_begin(&book, &a_run);
    svg_of(&(struct assay_chart_spec){.chart = &always}, &book, false, &out);
    assert_non_null(strstr(out.data, ">There are no results<"));
    book.failed = true;
    svg_of(&(struct assay_chart_spec){.chart = &always}, &book, false, &out);
    assert_non_null(strstr(out.data, ">There was no memory for all results<"));
    assay_text_fini(&out);
    assay_book_fini(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),          cmocka_unit_test(test_no_choice),
        cmocka_unit_test(test_every_name),    cmocka_unit_test(test_wrong_words),
        cmocka_unit_test(test_what_is_drawn), cmocka_unit_test(test_empty_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
