/* chart.h: charts of a book, each from its records alone.
 *
 * To add one: src/report/chart/NAME.c defines `const struct assay_chart assay_chart_NAME`, and the
 * line ASSAY_CHART(NAME) goes into chart_list.h. */
#ifndef ASSAY_REPORT_CHART_CHART_H
#define ASSAY_REPORT_CHART_CHART_H

#include "report/draw/draw.h"
#include "report/report_book.h"

enum { ASSAY_CHART_WIDTH = 830 }; /* in pixels, of a file */

/* How well a chart fits. Of those that fit equally well the first of the list is drawn. */
enum {
    ASSAY_CHART_UNFIT = 0,
    ASSAY_CHART_POSSIBLE = 10, /* shows something: outcomes, a single row */
    ASSAY_CHART_GOOD = 50,     /* any run of this kind */
    ASSAY_CHART_BEST = 90      /* the run was made for it: an axis is swept */
};
enum { ASSAY_CHART_WHY = 160 }; /* bytes that a reason takes */
/* The reason where it could not be found out: the chart is missing, and may fit. */
#define ASSAY_CHART_NO_MEMORY "there is not enough memory"

/* What a chart is to show; what is left at zero or NULL the chart chooses. */
struct assay_chart_request {
    const char *x, *y;  /* axes by name: "seq", "dtype", "recipe", "implementation" */
    const char *figure; /* "speedup", "ceiling", "time", "bandwidth", "winner" */
    bool has_state;     /* only this cache state; else both where that makes sense */
    enum assay_cache_state state;
    int64_t row; /* of a chart of one row: which of the book's records, from 1; 0: the chart's
                    choice */
};

struct assay_chart {
    const char *name;    /* "roofline": as --chart takes it */
    const char *summary; /* for `assay list charts` */
    /* How well it fits: where not at all, `why` says in a clause what is missing ("no row has
     * samples"); the chart with the greatest number is drawn where none is named. */
    int (*fits)(const struct assay_book *book, const struct assay_chart_request *request, char *why,
                size_t size);
    /* Only where it fits. */
    void (*draw)(const struct assay_book *book, const struct assay_chart_request *request,
                 struct assay_drawing *drawing);
};

int64_t assay_chart_count(void);
const struct assay_chart *assay_chart_at(int64_t index);
/* By name; the error names the nearest. */
enum assay_status assay_chart_find(const char *name, const struct assay_chart **out,
                                   struct assay_error *err);
/* The one that fits best; NULL where none does, which then is all that can be said. */
const struct assay_chart *assay_chart_choose(const struct assay_book *book,
                                             const struct assay_chart_request *request);
/* The same; where it is NULL `why` says why, or has failed: there was no memory to find out. */
const struct assay_chart *assay_chart_choose_or_say(const struct assay_book *book,
                                                    const struct assay_chart_request *request,
                                                    struct assay_text *why);

#endif
