/* chart_samples.h: which row a chart of samples is of, and what such charts say alike. */
#ifndef ASSAY_REPORT_CHART_SAMPLES_H
#define ASSAY_REPORT_CHART_SAMPLES_H

#include "report/chart/chart.h"
#include "report/draw/draw_scale.h"
#include "report/report_cells.h"
#include "report/report_samples.h"

/* A row with the group around it. Start from zeroes. */
struct assay_chart_row {
    struct assay_book_view view;
    int64_t group, index; /* in the book; in the group */
    int64_t number;       /* in the book, from 1 */
};

/* The row that is asked for; else of those with samples the first that was disturbed, or that is
 * the fastest, or any. False where it has no samples: then `why` says so. */
bool assay_chart_row_find(const struct assay_book *book, const struct assay_chart_request *request,
                          struct assay_chart_row *row, char *why, size_t size);
void assay_chart_row_fini(struct assay_chart_row *row);

/* Its figures in this state where it has samples there, and the state is asked for; else NULL. */
const struct assay_measurement *assay_chart_row_samples(const struct assay_chart_request *request,
                                                        const struct assay_record *record,
                                                        enum assay_cache_state state);

/* Title and subtitle; of a row with its name. Gives the y below. */
double assay_chart_row_head(struct assay_drawing *d, const struct assay_book *book,
                            const struct assay_chart_row *row, bool with_name);

/* "median 2.31 ms [2.29 ms … 2.33 ms] · 100 samples · 1 of each 3 · 4 disturbed". What lies beyond
 * the span is counted: " · 3 slower, up to 4.1 ms". */
void assay_chart_samples_words(const struct assay_measurement *m,
                               const struct assay_samples_span *span, struct assay_text *out);

enum { ASSAY_CHART_SAMPLES = ASSAY_DRAW_SERIES, ASSAY_CHART_DISTURBED }; /* inks */
/* A sample, or a disturbed one. */
void assay_chart_sample_mark(struct assay_drawing *d, double x, double y, double size,
                             bool disturbed);
/* "hot" in bold, then words; gives the y below. */
double assay_chart_state_heading(struct assay_drawing *d, double y, const char *state,
                                 const char *words);

#endif
