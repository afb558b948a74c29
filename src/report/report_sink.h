/* report_sink.h: writing to a sink without layout. */
#ifndef ASSAY_REPORT_SINK_H
#define ASSAY_REPORT_SINK_H

#include "report/report.h"

void assay_sink_put(const struct assay_sink *sink, const char *text);

/* Something is missing for lack of memory. */
void assay_sink_fail(const struct assay_sink *sink);

/* Short pieces: at most 1023 bytes. */
void assay_sink_format(const struct assay_sink *sink, const char *fmt, ...) ASSAY_PRINTF(2, 3);

/* Takes `value` over. On one line when `indent` is 0; otherwise indented by 2, every line after the
 * first `indent` blanks further. Without memory it writes null, so that the rest is still JSON, and
 * the sink is told. */
void assay_sink_json(const struct assay_sink *sink, assay_json *value, int indent);

/* One field of a CSV file, quoted where RFC 4180 asks for it. Text that a spreadsheet would take
 * for a formula, because it begins with = + - @ and is not a number, has an apostrophe before it;
 * control characters but newlines and tabs are written as \x1b. */
void assay_sink_csv(const struct assay_sink *sink, const char *text);
/* A number that reads back as it is, see assay_text_real(); nothing where it is not finite. */
void assay_sink_csv_real(const struct assay_sink *sink, double value);
/* The same where infinite is a value: "inf". */
void assay_sink_csv_level(const struct assay_sink *sink, double db);

#endif
