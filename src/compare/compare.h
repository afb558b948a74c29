/* compare.h: the results of two runs side by side: which rows are the same thing, and which of them
 * became faster or slower. docs/compare.md says what the verdicts mean, docs/measuring.md why. */
#ifndef ASSAY_COMPARE_COMPARE_H
#define ASSAY_COMPARE_COMPARE_H

#include "compare/results.h"

enum assay_compare_verdict {
    ASSAY_COMPARE_FASTER,
    ASSAY_COMPARE_SLOWER,
    ASSAY_COMPARE_SAME,
    ASSAY_COMPARE_UNCLEAR, /* the two runs cannot tell */
    ASSAY_COMPARE_BROKEN,  /* it was right, or was not measured, and is wrong now */
    ASSAY_COMPARE_MENDED,  /* the other way round */
    ASSAY_COMPARE_BAD,     /* wrong in both */
    ASSAY_COMPARE_GONE,    /* only in the old run */
    ASSAY_COMPARE_ADDED,   /* only in the new one */
    ASSAY_COMPARE_VERDICTS
};
/* "faster", …, "now wrong", "mended", "wrong in both", "only in old", "only in new" */
const char *assay_compare_verdict_name(enum assay_compare_verdict verdict);

/* One figure of a row. */
struct assay_compare_row {
    const struct assay_result *old_row, *new_row; /* one may be NULL */
    int time;                                     /* which; ASSAY_RESULT_EITHER: not known */
    enum assay_compare_verdict verdict;
    bool has_ratio, has_interval;
    struct assay_ratio ratio; /* old time / new time: > 1 is faster */
    double drift;             /* the same of the machine's ceilings beside them; 0: not known */
    bool fails;               /* at the gate */
    char note[160];           /* why, or what else changed; may be empty */
};

struct assay_comparison {
    const struct assay_results *old_run, *new_run;
    double allowed; /* a row may be slower by this fraction; < 0: there is no gate */
    struct assay_compare_row *rows;
    int64_t n, capacity;
    int64_t counts[ASSAY_COMPARE_VERDICTS];
    int64_t matched;    /* rows of both runs, measured or not */
    int64_t unmeasured; /* rows without a figure in either run: unsupported, skipped */
    int64_t ambiguous_old, ambiguous_new; /* rows that are left out: see struct assay_result */
    int64_t failing, without_interval, n_ratios;
    double typical; /* the median of all ratios; 0 where there are none */
};

/* Both runs are borrowed, and read as the same format. */
enum assay_status assay_compare(const struct assay_results *old_run,
                                const struct assay_results *new_run, double allowed,
                                struct assay_comparison *out, struct assay_error *err);
void assay_comparison_fini(struct assay_comparison *comparison);

/* What the two runs do not have in common: another machine, GPU, number of threads, version or
 * method. One sentence each. */
enum assay_status assay_compare_runs(const struct assay_results *old_run,
                                     const struct assay_results *new_run, struct assay_strings *out,
                                     struct assay_error *err);

/* Two samples of the same kernel, measured by one run each, may differ by so much for no reason
 * that an interval shows: docs/measuring.md. */
#define ASSAY_COMPARE_LUCK ASSAY_STATS_APART

/* What is known of the two runs that figures come from. */
struct assay_compare_relation {
    bool same_machine; /* what its ceilings did in between is the machine's doing */
    bool may_be_one;   /* nothing says that they are two: equal figures are one figure */
    bool is_one;       /* they are: nothing happened in between */
};

/* The verdict on two times that are there. Fills in verdict, ratio, drift and note. */
void assay_compare_times(const struct assay_result_time *old_time,
                         const struct assay_result_time *new_time,
                         struct assay_compare_relation relation, struct assay_compare_row *out);

/* ---- writing -------------------------------------------------------------------------------- */

/* "table", "json", "csv", "md" */
bool assay_compare_knows_format(const char *format);
/* False: it has no memory for all of it. */
bool assay_compare_write(const struct assay_comparison *comparison,
                         const struct assay_strings *differences, const char *format,
                         const struct assay_report_style *style, struct assay_text *out);

/* For the writers. */
void assay_compare_write_table(const struct assay_comparison *comparison,
                               const struct assay_strings *differences,
                               const struct assay_sink *sink,
                               const struct assay_report_style *style);
void assay_compare_write_md(const struct assay_comparison *comparison,
                            const struct assay_strings *differences, const struct assay_sink *sink,
                            const struct assay_report_style *style);
void assay_compare_write_json(const struct assay_comparison *comparison,
                              const struct assay_strings *differences,
                              const struct assay_sink *sink);
void assay_compare_write_csv(const struct assay_comparison *comparison,
                             const struct assay_sink *sink);

/* "layernorm [32, 512, 768] f32, 2 threads": what stands above a problem's rows. */
void assay_compare_problem(const struct assay_compare_row *row, char *out, size_t size);
/* "native int8wo", "kernel" */
void assay_compare_variant(const struct assay_compare_row *row, char *out, size_t size);
/* "1.62x [1.58 1.66]", "1.20x slower [1.18 1.22]"; without an interval the ratio alone. */
void assay_compare_change(const struct assay_compare_row *row, char *out, size_t size);
/* "24 rows: 2 faster, 1 slower, 20 same, 1 unclear" */
void assay_compare_summary(const struct assay_comparison *comparison, struct assay_text *out);

#endif
