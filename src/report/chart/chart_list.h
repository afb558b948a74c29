/* chart_list.h: every chart, one line each; expand with ASSAY_CHART(name). The file
 * src/report/chart/NAME.c defines assay_chart_NAME; a hyphen in the chart's name is an underscore
 * in both. Of charts that fit equally well the first is drawn. */
ASSAY_CHART(speedup)
ASSAY_CHART(compiled)
ASSAY_CHART(outcome)
ASSAY_CHART(memory)
ASSAY_CHART(sweep)
ASSAY_CHART(breakeven)
ASSAY_CHART(heat)
ASSAY_CHART(roofline)
ASSAY_CHART(pareto)
ASSAY_CHART(distribution)
ASSAY_CHART(series)
