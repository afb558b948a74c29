/* html_columns.h: the members of a record as columns of a page's data, each with the value that it
 * is expected to have.
 *
 * Parts are laid flat: "hot.ratio.ci". A part that may be missing has a column of its own, "hot",
 * which says whether it is there; where it is not, the columns of its members are left out. A
 * figure that is near another one is written as how far it is from that, in millionths of it. */
#ifndef ASSAY_REPORT_HTML_COLUMNS_H
#define ASSAY_REPORT_HTML_COLUMNS_H

#include "record/record.h"
#include "record/record_fields.h"
#include "report/html/html_put.h"

/* What a figure is expected to be. */
enum assay_html_expected {
    ASSAY_HTML_ANYTHING,
    ASSAY_HTML_NEAR,  /* the column `near` */
    ASSAY_HTML_WIDTH, /* of the quartiles: q3 - q1 */
    ASSAY_HTML_HALF,  /* half the width of an interval over what it is of */
    ASSAY_HTML_BYTES, /* a rate: that of bytes_read and bytes_written */
    ASSAY_HTML_FLOPS  /* a rate: that of flops */
};

struct assay_html_column {
    char key[48];
    const struct assay_field *field;
    enum assay_field_kind kind;
    size_t offset; /* in the record */
    int part;      /* the column that says whether its part is there; -1: it always is */
    int digits;    /* of a number that is not whole */
    enum assay_html_expected expected;
    int near, range; /* columns that the expected value is of */
};

struct assay_html_columns {
    struct assay_html_column at[ASSAY_HTML_COLUMNS];
    int n;
};

/* The same for every book. NULL without memory; release with assay_free. */
struct assay_html_columns *assay_html_columns_create(void);
/* -1: there is none of this name. */
int assay_html_columns_named(const struct assay_html_columns *columns, const char *key,
                             size_t length);
/* Are all parts there that the column is in? */
bool assay_html_columns_has(const struct assay_html_columns *columns, int column,
                            const struct assay_record *record);
/* From the columns before it; NaN where nothing is expected. */
double assay_html_columns_expected(const struct assay_html_columns *columns, int column,
                                   const struct assay_record *record);
/* In millionths of what was expected, and back. False where that cannot be said so. */
bool assay_html_millionths(double value, double expected, int64_t *out);
double assay_html_from_millionths(int64_t millionths, double expected);

#endif
