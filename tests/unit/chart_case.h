/* chart_case.h: what the tests of charts ask of each: an image that is XML and whose texts stand
 * apart, a reason where it does not fit, and that a lack of memory is told. */
#ifndef ASSAY_TESTS_CHART_CASE_H
#define ASSAY_TESTS_CHART_CASE_H

#include "book_case.h"
#include "svg_check.h"

#include "base/alloc.h"
#include "report/chart/chart.h"

static inline const struct assay_chart *chart_named(const char *name)
{
    const struct assay_chart *chart = NULL;
    assert_int_equal(assay_chart_find(name, &chart, NULL), ASSAY_OK);
    return chart;
}

static inline struct assay_text draw_look(const char *name, const struct assay_book *book,
                                          const struct assay_chart_request *request,
                                          enum assay_draw_look look)
{
    struct assay_text svg = {0};
    struct assay_drawing drawing;
    assay_draw_begin(&drawing, look, ASSAY_CHART_WIDTH);
    chart_named(name)->draw(book, request, &drawing);
    assay_draw_svg(&drawing, "", &svg);
    assay_draw_fini(&drawing);
    return svg;
}

static inline struct assay_text drawn(const char *name, const struct assay_book *book,
                                      const struct assay_chart_request *request)
{
    char why[ASSAY_CHART_WHY] = "";
    if (chart_named(name)->fits(book, request, why, sizeof why) == ASSAY_CHART_UNFIT)
        fail_msg("%s does not fit: %s", name, why);
    struct assay_text svg = draw_look(name, book, request, ASSAY_DRAW_LIGHT);
    assert_false(svg.failed);
    check_xml(&svg);
    check_texts(&svg);
    return svg;
}

/* The case's book, drawn; freed by the caller. */
static inline struct assay_text drawn_case(const char *name, const struct book_case *c,
                                           const struct assay_chart_request *request)
{
    struct assay_book book = {0};
    book_case_add(c, &book);
    struct assay_text svg = drawn(name, &book, request);
    assay_book_fini(&book);
    return svg;
}

/* Gives how well it fits; `why` has the reason where it does not. */
static inline int fit_of(const char *name, const struct book_case *c,
                         const struct assay_chart_request *request, char *why)
{
    struct assay_book book = {0};
    if (c)
        book_case_add(c, &book);
    why[0] = '\0';
    int fit = chart_named(name)->fits(&book, request, why, ASSAY_CHART_WHY);
    assay_book_fini(&book);
    return fit;
}

static inline void assert_unfit(const char *name, const struct book_case *c,
                                const struct assay_chart_request *request, const char *reason)
{
    char why[ASSAY_CHART_WHY];
    assert_int_equal(fit_of(name, c, request, why), ASSAY_CHART_UNFIT);
    assert_string_equal(why, reason);
}

/* Whatever is missing, the image says that it is not whole. */
static inline void check_without_memory(const char *name, const struct book_case *c,
                                        const struct assay_chart_request *request)
{
    struct assay_book book = {0};
    bool whole = false;
    book_case_add(c, &book);
    struct assay_text want = drawn(name, &book, request);
    for (int64_t n = 1; !whole; n++) {
        assay_alloc_fail_after(n);
        struct assay_text svg = draw_look(name, &book, request, ASSAY_DRAW_LIGHT);
        assay_alloc_fail_after(0);
        whole = !svg.failed;
        if (whole)
            assert_string_equal(svg.data, want.data);
        assay_text_fini(&svg);
        assert_true(n < 3000);
    }
    assay_text_fini(&want);
    assay_book_fini(&book);
}

#endif
