/* report_totals.h: what a run says as a whole: who is fastest in how many groups, and for each op
 * and variant the geometric mean of its speedups.
 *
 * Nothing is judged here a second time: "fastest" is the mark ▸ of the tables, and faster, slower,
 * same and unclear are what they say of a ratio (assay_cell_verdict()). What has no ratio is
 * counted with the reason. Groups are taken one after the other and not kept. */
#ifndef ASSAY_REPORT_TOTALS_H
#define ASSAY_REPORT_TOTALS_H

#include "report/report_book.h"
#include "report/report_cells.h"
#include "stats/ratio_mean.h"

/* A variant of an op, over the op's groups, in one cache state. In each group it is counted once:
 * with a verdict, as the baseline, or with the reason why it was not compared. */
struct assay_total {
    struct assay_cell variant; /* "native", "int8wo compiled" */
    enum assay_cache_state state;
    bool versus;     /* of a compiled model: against the eager one, and no more */
    int64_t groups;  /* in which it was to be measured */
    int64_t fastest; /* … it has the mark ▸ */
    int64_t verdicts[ASSAY_VERDICTS];
    int64_t baseline;
    int64_t untimed, uncompared;             /* not timed in this state; without a baseline */
    int64_t outcomes[ASSAY_OUTCOME_COUNT];   /* not ok */
    int64_t too_few;                         /* compared, but not in the mean: few rounds */
    struct assay_ratio_sum sum;              /* of the others that were compared */
    struct assay_ratio best;                 /* the greatest; its ratio is 0 where there is none */
    struct assay_cell best_problem, best_op; /* where: "f32 4x512x1024" of "layernorm" */
};

struct assay_total_op {
    struct assay_cell name; /* "layernorm", "linear bias+gelu"; of all ops together "" */
    uint64_t hash;
    int64_t groups;
    int64_t compared;           /* … with two variants or more that have figures */
    struct assay_total *totals; /* in the order in which they appeared, hot before cold */
    int64_t n, capacity;
};

/* How groups ended, in one cache state. Each counts once; `won` are the wins of all together. */
struct assay_total_groups {
    int64_t won;     /* one variant alone has the mark ▸ */
    int64_t tied;    /* several have it */
    int64_t unclear; /* none has it, or one that has it, or is compared with one, is "unclear" */
    int64_t alone;   /* a single variant has figures: there was nothing to be faster than */
    int64_t empty;   /* none has */
};

struct assay_total_winner {
    struct assay_cell variant;
    int64_t wins[ASSAY_CACHE_STATES]; /* groups where it alone has the mark ▸ */
};

struct assay_totals {
    struct assay_total_op all, *ops;
    int64_t n_ops, op_capacity;
    int64_t groups;
    struct assay_total_groups states[ASSAY_CACHE_STATES];
    bool measured[ASSAY_CACHE_STATES]; /* something was, in this state */
    struct assay_total_winner *winners;
    int64_t n_winners, winner_capacity;
    int64_t outcomes[ASSAY_OUTCOME_COUNT]; /* of rows */
    bool failed;                           /* there was no memory for a part of it */
};

/* Start from zeroes. */
void assay_totals_add(struct assay_totals *totals, const struct assay_record *records, int64_t n);
/* All groups of a run of the book; of all runs where `run` is -1. */
void assay_totals_add_book(struct assay_totals *totals, const struct assay_book *book, int64_t run);
void assay_totals_fini(struct assay_totals *totals);

/* Are there two groups or more in which variants can be compared? Else there is nothing to sum up.
 */
bool assay_totals_worth(const struct assay_totals *totals);
bool assay_totals_op_worth(const struct assay_total_op *op);

/* "native is fastest in 14 of 20 groups, cublaslt in 4; 1 tied; 1 unclear; 1 row wrong". Where both
 * cache states were measured "Hot: … Cold: …". Without a final full stop; never empty. */
void assay_totals_verdict(const struct assay_totals *totals, struct assay_text *out);
/* The same without the rows that are not right, for where their number stands anyway. */
void assay_totals_fastest(const struct assay_totals *totals, struct assay_text *out);

/* The geometric mean of its ratios; n is 0 where there is none. */
struct assay_ratio assay_total_mean(const struct assay_total *total);
/* Does it have figures in some group? */
bool assay_total_shown(const struct assay_total *total);
/* Of how many groups the mean is, or it is the baseline: "12", "10/12". */
struct assay_cell assay_total_groups(const struct assay_total *total);
/* "int8wo compiled", "int8wo compiled vs eager". */
struct assay_cell assay_total_name(const struct assay_total *total);
/* "baseline", or the mean as speedups are written, "1.62x [1.58 1.66]". */
struct assay_cell assay_total_speedup(const struct assay_total *total, int width, bool ascii);
/* The greatest speedup, "2.41x"; below 1 "1.31x slower". */
struct assay_cell assay_total_best(const struct assay_total *total);
/* Of all ops together with the op: "layernorm f32 4x512x1024". */
struct assay_cell assay_total_best_group(const struct assay_total_op *op,
                                         const struct assay_total *total);
/* "layernorm, 12 groups", "all 5 ops, 20 groups". */
struct assay_cell assay_total_heading(const struct assay_totals *totals,
                                      const struct assay_total_op *op);
/* The ops, and all of them together, that are worth summing up: with a number from 0; NULL after
 * the last. Where that would take more than `most` rows, all together and no op by itself. */
const struct assay_total_op *assay_totals_section(const struct assay_totals *totals, int64_t number,
                                                  int64_t most);
/* Why groups of this variant are not in its mean, in both states: "native: 1 mismatch, 2 with fewer
 * than 10 rounds"; "" where all are, and of all but one of the variant's totals. The baseline's own
 * groups are not missing. */
struct assay_cell assay_total_missing(const struct assay_totals *totals,
                                      const struct assay_total_op *op, int64_t index);

#endif
