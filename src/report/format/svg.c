/* svg.c: a chart of the run: the one that fits best, or the one that --chart names. */
#include "report/report_image.h"

/* The command line reads the wish before anything is measured; one that it did not read, and that
 * is wrong, is none. */
static void svg_end(void *state)
{
    struct assay_image *image = state;
    struct assay_chart_spec spec;
    if (assay_chart_spec_parse(image->style.chart, &spec, NULL) != ASSAY_OK)
        spec = (struct assay_chart_spec){0};
    assay_image_write(image, &spec, image->style.dark ? ASSAY_DRAW_DARK : ASSAY_DRAW_LIGHT);
}

const struct assay_report_format assay_report_svg = {
    .name = "svg",
    .extension = "svg",
    .summary = "a chart of the run: the one that fits, or --chart NAME",
    .state_bytes = sizeof(struct assay_image),
    .svg = true,
    .charts = true,
    .begin = assay_image_begin,
    .group = assay_image_group,
    .end = svg_end,
    .remark = assay_image_remark,
    .fini = assay_image_fini,
};
