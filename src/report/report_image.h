/* report_image.h: formats that are one image of a whole run: a book is kept, and drawn at the end.
 */
#ifndef ASSAY_REPORT_IMAGE_H
#define ASSAY_REPORT_IMAGE_H

#include "report/chart/chart_spec.h"
#include "report/report.h"

struct assay_image {
    struct assay_sink sink;
    struct assay_report_style style;
    struct assay_book book;
    struct assay_text why; /* it is not the chart that was wanted */
};

/* Functions of a format; `state` is a struct assay_image. */
void assay_image_begin(void *state, const struct assay_sink *sink,
                       const struct assay_report_style *style, const struct assay_run_info *run);
void assay_image_group(void *state, const struct assay_record *records, int64_t n);
const char *assay_image_remark(const void *state);
void assay_image_fini(void *state);

/* Writes the SVG of the chart. */
void assay_image_write(struct assay_image *image, const struct assay_chart_spec *spec,
                       enum assay_draw_look look);

#endif
