/* csv.h: CSV as RFC 4180 has it, read line by line. Lines may end in \r\n; a line without a field
 * is passed over. */
#ifndef ASSAY_COMPARE_CSV_H
#define ASSAY_COMPARE_CSV_H

#include "base/text.h"

enum { ASSAY_CSV_MOST_FIELDS = 512 };

struct assay_csv {
    const char *at, *end, *where; /* where: for errors */
    int64_t line, next_line;      /* of the row that was read last; and behind it */
    /* The header's names and the row's values; both end with a zero each. */
    struct assay_text names, values;
    size_t name_at[ASSAY_CSV_MOST_FIELDS], value_at[ASSAY_CSV_MOST_FIELDS];
    int n;
};

/* Reads the header. `bytes` and `where` are borrowed until assay_csv_fini, which is called whatever
 * this returns. */
enum assay_status assay_csv_init(struct assay_csv *csv, const char *bytes, size_t length,
                                 const char *where, struct assay_error *err);
void assay_csv_fini(struct assay_csv *csv);

/* The next row; *more is false at the end. ASSAY_ERR_CORRUPT where it has not as many fields as the
 * header, or a quote is not closed; ASSAY_ERR_NOMEM. */
enum assay_status assay_csv_next(struct assay_csv *csv, bool *more, struct assay_error *err);

/* The row's value in this column; NULL where there is no such column. */
const char *assay_csv_value(const struct assay_csv *csv, const char *name);
/* NaN, -1, false where it is empty or no such thing. */
double assay_csv_real(const struct assay_csv *csv, const char *name);
int64_t assay_csv_int(const struct assay_csv *csv, const char *name);
bool assay_csv_flag(const struct assay_csv *csv, const char *name);

#endif
