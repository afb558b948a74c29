/* kernel_svg_light.c: report_chart.h on a white page. */
#include "report/report_chart.h"

static const struct assay_chart_theme theme = {
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

static void svg_begin(void *state, const struct assay_sink *sink,
                      const struct assay_report_style *style, const struct assay_run_info *run)
{
    (void)style;
    assay_chart_begin(state, sink, run);
}

static void svg_end(void *state) { assay_chart_end(state, &theme); }

const struct assay_report_format assay_report_kernel_svg_light = {
    .name = "kernel-svg-light",
    .extension = "svg",
    .summary = "a bar chart of a kernel's speedups, for light pages",
    .state_bytes = sizeof(struct assay_chart),
    .begin = svg_begin,
    .group = assay_chart_group,
    .end = svg_end,
    .fini = assay_chart_fini,
};
