/* report.h: records in, bytes out. Maths never formats and formatters never compute.
 *
 * To add a format: src/report/format/NAME.c defines `const struct assay_report_format
 * assay_report_NAME`, and the line ASSAY_REPORT(NAME) goes into report_list.h. A hyphen in the
 * format's name is an underscore in both. What formats share is in src/report. */
#ifndef ASSAY_REPORT_REPORT_H
#define ASSAY_REPORT_REPORT_H

#include "record/record.h"

/* Where bytes go. A failed write is remembered by the sink's owner, not by the format. What a
 * format has no memory for cannot be seen there, so it says so. */
struct assay_sink {
    void *user;
    void (*write)(void *user, const char *bytes, size_t length);
    bool *incomplete; /* set where something is missing for lack of memory; NULL: nobody asks */
};

/* How a report for people looks. */
struct assay_report_style {
    bool colour;
    bool ascii;   /* no characters beyond ASCII */
    bool verbose; /* more lines under each row: kernel, samples, disturbances, memory, accuracy */
    bool plot;    /* draw with characters what the format can draw */
    bool dark;    /* of images: for dark pages */
    const char *chart; /* which one, as --chart has it ("heat:x=seq"); NULL: the one that fits */
    int width;         /* columns; 100 unless told */
    int most; /* columns that rows with more figures than fit may take; less than width: width */
};

typedef struct assay_report assay_report; /* a format at work on one sink */

struct assay_report_format {
    const char *name;      /* "json" */
    const char *extension; /* "json", without the dot; NULL if no file extension means it */
    const char *summary;
    size_t state_bytes; /* what the functions below may keep in `state` (zeroed) */
    bool merges;        /* repeats of a group come as one: see record/merge.h */
    bool pictured;      /* a table for people: --plot draws a picture below it */
    int most;           /* columns its rows take where they have them, for style.most; 0: usual */
    bool svg;           /* its bytes are an image, of which a PNG can be made */
    bool charts;        /* heeds style.chart */
    /* What it is of a configuration's training, instead; NULL: the same. */
    const struct assay_report_format *in_training;

    /* Called once, then once for each group in order with all its records, then once at the end. */
    void (*begin)(void *state, const struct assay_sink *sink,
                  const struct assay_report_style *style, const struct assay_run_info *run);
    void (*group)(void *state, const struct assay_record *records, int64_t n);
    void (*end)(void *state);
    /* Optional, after the end: what its reader is to know, in a clause ("the chart sweep does not
     * fit: …"); NULL: nothing. */
    const char *(*remark)(const void *state);
    /* Optional: frees what the state owns, also where the end never came. */
    void (*fini)(void *state);
};

int64_t assay_report_count(void);
const struct assay_report_format *assay_report_at(int64_t index);
/* By name; the error names the nearest. */
enum assay_status assay_report_find(const char *name, const struct assay_report_format **out,
                                    struct assay_error *err);
/* By a file's extension; NULL where no format claims it. */
const struct assay_report_format *assay_report_for_file(const char *path);

/* A format bound to a sink. `style` and `sink` are copied. NULL when there is no memory. */
assay_report *assay_report_create(const struct assay_report_format *format,
                                  const struct assay_sink *sink,
                                  const struct assay_report_style *style);
void assay_report_begin(assay_report *report, const struct assay_run_info *run);
void assay_report_group(assay_report *report, const struct assay_record *records, int64_t n);
void assay_report_end(assay_report *report);
/* After the end; NULL: there is nothing to remark. */
const char *assay_report_remark(const assay_report *report);
void assay_report_destroy(assay_report *report);

#endif
