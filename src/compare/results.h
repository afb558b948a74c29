/* results.h: the results of a run read back, from its journal or from a file that assay wrote, as
 * rows that two runs can be matched by.
 *
 * Records (journals, JSON, JSON lines) hold everything. Other formats hold less: less of what a row
 * is, a mean instead of a median, no interval. What is compared with such a file is written in its
 * format, in memory, and read back: then both sides say the same of each row. */
#ifndef ASSAY_COMPARE_RESULTS_H
#define ASSAY_COMPARE_RESULTS_H

#include "record/plan.h"
#include "record/record.h"
#include "report/report.h"
#include "stats/two_runs.h"

/* What a row is. A format that does not know one of them leaves it empty in all rows. */
enum assay_result_field {
    ASSAY_RESULT_OP, /* or the name that the format has instead */
    ASSAY_RESULT_SIZES,
    ASSAY_RESULT_DTYPE,
    ASSAY_RESULT_MODE,
    ASSAY_RESULT_RECIPE,
    ASSAY_RESULT_IMPLEMENTATION, /* of a model: the executor */
    ASSAY_RESULT_COMPILE,
    ASSAY_RESULT_DEVICE,
    ASSAY_RESULT_THREADS, /* of work on the host */
    ASSAY_RESULT_KERNEL,
    ASSAY_RESULT_LABEL,
    ASSAY_RESULT_ENTRY,
    ASSAY_RESULT_FIELDS
};
/* "op", "sizes", … */
const char *assay_result_field_name(enum assay_result_field field);

/* Formats that have one figure do not all say in which cache state. */
enum { ASSAY_RESULT_EITHER = ASSAY_CACHE_STATES, ASSAY_RESULT_TIMES };
/* "hot", "cold", "" */
const char *assay_result_time_name(int time);

struct assay_result_time {
    bool there;        /* a time above 0 */
    bool has_interval; /* `time` is sound: of 6 samples or more */
    struct assay_median time;
    /* What the machine's probes beside it would have taken, with an interval; n 0: not known. */
    struct assay_median ceiling;
    char bound[16];
    bool disturbed; /* more than one sample in twenty: the mark ~ of tables */
};

struct assay_result {
    char *fields[ASSAY_RESULT_FIELDS]; /* never NULL */
    enum assay_outcome outcome;
    char *reason; /* of an outcome that is not ok */
    bool interrupted;
    int64_t repeats; /* rows of the same that this one stands for */
    bool ambiguous;  /* so many rows look like it, and the format does not tell them apart */
    struct assay_result_time times[ASSAY_RESULT_TIMES];
};

struct assay_results {
    char source[256];   /* as a reader may name it: an id, a path */
    const char *format; /* as of `assay list formats`; "journal" */
    struct assay_run_info run;
    double budget_s;                         /* of a journal; 0: not known */
    bool means;                              /* times are means, not medians */
    bool no_intervals;                       /* the format holds none */
    int64_t groups, groups_missing, damaged; /* of a journal */
    struct assay_result *rows;
    int64_t n, capacity;
};

/* Where results are. */
struct assay_results_source {
    struct assay_text path;
    const char *format; /* "journal", "json", "jsonl", "csv", "torchao-csv", … */
    bool has_records;
};

/* A file, or a run: its id, the beginning of one, "last", "last~1". The beginning of the file tells
 * the format. ASSAY_ERR_INVALID where it is none that can be read back. */
enum assay_status assay_results_find(const char *name, struct assay_results_source *out,
                                     struct assay_error *err);
/* The same where nothing less than whole records is of use. */
enum assay_status assay_results_find_records(const char *name, struct assay_results_source *out,
                                             struct assay_error *err);
void assay_results_source_fini(struct assay_results_source *source);

/* As the format `as` would hold it; NULL, or the source's own format: as it is. Another one needs a
 * source that has records. `warn` hears of damaged lines. */
enum assay_status assay_results_read(const struct assay_results_source *source, const char *as,
                                     void (*warn)(const char *text), struct assay_results *out,
                                     struct assay_error *err);
void assay_results_fini(struct assay_results *results);

/* ---- for the readers of formats ------------------------------------------------------------- */

/* Which format bytes are of, by how they begin; NULL: none that can be read back. */
const char *assay_results_format_of(const char *bytes, size_t length);

/* Reads a whole file of this format, not a journal. `where` names it in errors. */
enum assay_status assay_results_parse(const char *format, const char *bytes, size_t length,
                                      const char *where, struct assay_results *out,
                                      struct assay_error *err);
/* Makes one row of equal ones where they are repeats, and marks them where they may be different
 * things. Once, after all rows were read. */
enum assay_status assay_results_join(struct assay_results *results, struct assay_error *err);

/* A new row with empty fields; NULL without memory. It moves when another one is added. */
struct assay_result *assay_results_add(struct assay_results *results);
/* NULL stands for "". False without memory. */
bool assay_result_set(struct assay_result *row, enum assay_result_field field, const char *text);
bool assay_result_set_reason(struct assay_result *row, const char *text);
/* A figure; `lo` and `hi` may be NaN, n 0 where it is not known. */
void assay_result_set_time(struct assay_result *row, int time, double ns, double lo, double hi,
                           int64_t n);
/* The ceiling beside it: in efficiency, the share of the ceiling, lies how well that is known. */
void assay_result_set_ceiling(struct assay_result_time *time, double ns, double efficiency,
                              struct assay_interval efficiency_ci, int64_t n, const char *bound);
enum assay_status assay_results_add_record(struct assay_results *results,
                                           const struct assay_record *record);

/* Of one format each. */
enum assay_status assay_results_read_csv(const char *bytes, size_t length, const char *where,
                                         struct assay_results *out, struct assay_error *err);
enum assay_status assay_results_read_torchao_csv(const char *bytes, size_t length,
                                                 const char *where, struct assay_results *out,
                                                 struct assay_error *err);
enum assay_status assay_results_read_array(const char *format, const assay_json *json,
                                           const char *where, struct assay_results *out,
                                           struct assay_error *err);
enum assay_status assay_results_read_kernel_json(const assay_json *json, const char *where,
                                                 struct assay_results *out,
                                                 struct assay_error *err);

#endif
