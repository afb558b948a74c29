/* chart_spec.h: which chart is wanted, as --chart takes it: NAME, or NAME:KEY=VALUE,KEY=VALUE.
 *
 * The keys are those of a request: x, y, figure, state, row. "heat:x=seq,y=dtype,figure=ceiling".
 */
#ifndef ASSAY_REPORT_CHART_SPEC_H
#define ASSAY_REPORT_CHART_SPEC_H

#include "report/chart/chart.h"

struct assay_chart_spec {
    const struct assay_chart *chart; /* NULL: the one that fits best */
    struct assay_chart_request request;
    char x[20], y[20], figure[20]; /* what the request points at: it must not be copied */
};

/* NULL, or a name left empty (":row=3"), leaves the choice. The error names the word that is wrong
 * and what there is. */
enum assay_status assay_chart_spec_parse(const char *text, struct assay_chart_spec *out,
                                         struct assay_error *err);

/* The chart that the wish comes to. NULL where it does not fit the book, or none does: `why` gets a
 * clause that says so, for those who asked ("the chart sweep does not fit: no axis is swept"); it
 * has failed where there was no memory to find out. */
const struct assay_chart *assay_chart_spec_fitting(const struct assay_chart_spec *spec,
                                                   const struct assay_book *book,
                                                   struct assay_text *why);

/* Draws it on `drawing`, which was begun. Where the chart does not fit, or none does, the drawing
 * says why: it is never empty, and never misleads. False where the wish could not be fulfilled. */
bool assay_chart_spec_draw(const struct assay_chart_spec *spec, const struct assay_book *book,
                           struct assay_drawing *drawing);

#endif
