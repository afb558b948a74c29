/* kernel_svg.c: the chart speedup for a README that has an image for light pages and one for dark
 * ones: `assay kernel --visual`. */
#include "report/report_image.h"

static void write_speedups(void *state, enum assay_draw_look look)
{
    struct assay_chart_spec spec = {0};
    assay_chart_find("speedup", &spec.chart, NULL);
    assay_image_write(state, &spec, look);
}

static void light_end(void *state) { write_speedups(state, ASSAY_DRAW_LIGHT); }
static void dark_end(void *state) { write_speedups(state, ASSAY_DRAW_DARK); }

const struct assay_report_format assay_report_kernel_svg_light = {
    .name = "kernel-svg-light",
    .extension = NULL, /* .svg means the format of that name */
    .summary = "a bar chart of speedups, for light pages",
    .state_bytes = sizeof(struct assay_image),
    .svg = true,
    .begin = assay_image_begin,
    .group = assay_image_group,
    .end = light_end,
    .remark = assay_image_remark,
    .fini = assay_image_fini,
};

const struct assay_report_format assay_report_kernel_svg_dark = {
    .name = "kernel-svg-dark",
    .extension = NULL,
    .summary = "the same for dark pages",
    .state_bytes = sizeof(struct assay_image),
    .svg = true,
    .begin = assay_image_begin,
    .group = assay_image_group,
    .end = dark_end,
    .remark = assay_image_remark,
    .fini = assay_image_fini,
};
