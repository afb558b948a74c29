#include "report/report_image.h"

#include "report/report_sink.h"

void assay_image_begin(void *state, const struct assay_sink *sink,
                       const struct assay_report_style *style, const struct assay_run_info *run)
{
    struct assay_image *image = state;
    image->sink = *sink;
    image->style = *style;
    assay_book_begin(&image->book, run);
}

void assay_image_group(void *state, const struct assay_record *records, int64_t n)
{
    assay_book_add(&((struct assay_image *)state)->book, records, n);
}

const char *assay_image_remark(const void *state)
{
    return ((const struct assay_image *)state)->why.data;
}

void assay_image_fini(void *state)
{
    struct assay_image *image = state;
    assay_book_fini(&image->book);
    assay_text_fini(&image->why);
}

/* What there is no memory for is missing; where that is all, it says so and is still an image. */
void assay_image_write(struct assay_image *image, const struct assay_chart_spec *spec,
                       enum assay_draw_look look)
{
    const struct assay_sink *sink = &image->sink;
    struct assay_drawing drawing;
    struct assay_text svg = {0};
    assay_draw_begin(&drawing, look, ASSAY_CHART_WIDTH);
    if (!assay_chart_spec_draw(spec, &image->book, &drawing))
        assay_chart_spec_fitting(spec, &image->book, &image->why);
    assay_draw_svg(&drawing, "", &svg);
    if (svg.failed || image->book.failed)
        assay_sink_fail(sink);
    if (svg.failed)
        assay_sink_put(sink, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" "
                             "height=\"50\">\n<text x=\"20\" y=\"30\">no memory for the chart"
                             "</text>\n</svg>\n");
    else
        sink->write(sink->user, svg.data, svg.length);
    assay_text_fini(&svg);
    assay_draw_fini(&drawing);
}
