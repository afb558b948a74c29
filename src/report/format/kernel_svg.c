/* kernel_svg.c: report_chart.h on a white page and on a dark one. */
#include "report/report_chart.h"

static const struct assay_chart_theme light = {
    .background = "#ffffff",
    .border = "#d1d9e0",
    .grid = "#e6eaef",
    .text = "#1f2328",
    .muted = "#59636e",
    .faster = "#1a7f37",
    .slower = "#bc4c00",
    .failed = "#cf222e",
    .even = "#818b98",
};

static const struct assay_chart_theme dark = {
    .background = "#0d1117",
    .border = "#3d444d",
    .grid = "#212830",
    .text = "#f0f6fc",
    .muted = "#9198a1",
    .faster = "#3fb950",
    .slower = "#f0883e",
    .failed = "#f85149",
    .even = "#7d8590",
};

static void svg_begin(void *state, const struct assay_sink *sink,
                      const struct assay_report_style *style, const struct assay_run_info *run)
{
    (void)style;
    assay_chart_begin(state, sink, run);
}

static void light_end(void *state) { assay_chart_end(state, &light); }
static void dark_end(void *state) { assay_chart_end(state, &dark); }

const struct assay_report_format assay_report_kernel_svg_light = {
    .name = "kernel-svg-light",
    .extension = "svg",
    .summary = "a bar chart of speedups, for light pages",
    .state_bytes = sizeof(struct assay_chart),
    .begin = svg_begin,
    .group = assay_chart_group,
    .end = light_end,
    .fini = assay_chart_fini,
};

const struct assay_report_format assay_report_kernel_svg_dark = {
    .name = "kernel-svg-dark",
    .extension = NULL,
    .summary = "the same for dark pages",
    .state_bytes = sizeof(struct assay_chart),
    .begin = svg_begin,
    .group = assay_chart_group,
    .end = dark_end,
    .fini = assay_chart_fini,
};
