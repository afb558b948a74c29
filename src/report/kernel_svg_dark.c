/* kernel_svg_dark.c: report_chart.h on a dark page. */
#include "report/report_chart.h"

static const struct assay_chart_theme theme = {
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

static void svg_end(void *state) { assay_chart_end(state, &theme); }

const struct assay_report_format assay_report_kernel_svg_dark = {
    .name = "kernel-svg-dark",
    .extension = NULL,
    .summary = "the same for dark pages",
    .state_bytes = sizeof(struct assay_chart),
    .begin = svg_begin,
    .group = assay_chart_group,
    .end = svg_end,
    .fini = assay_chart_fini,
};
