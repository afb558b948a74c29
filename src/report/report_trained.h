/* report_trained.h: training's rows. A configuration's training measures each model in three
 * groups, forward, backward and both at once; here they are put side by side, one row for each
 * recipe and executor. Nothing is computed from another pass's time: what was not measured has no
 * figure. */
#ifndef ASSAY_REPORT_REPORT_TRAINED_H
#define ASSAY_REPORT_REPORT_TRAINED_H

#include "report/report_cells.h"

enum assay_trained_pass {
    ASSAY_TRAINED_FORWARD,
    ASSAY_TRAINED_BACKWARD,
    ASSAY_TRAINED_TOTAL,
    ASSAY_TRAINED_PASSES
};

/* The groups of one model so far. Start from {0}. */
struct assay_trained {
    struct assay_record *records[ASSAY_TRAINED_PASSES]; /* copies; NULL: not there */
    int64_t n[ASSAY_TRAINED_PASSES];
};

/* Adds a group; where it is of another model, or the same pass again, `told` hears of those that
 * are there before, and then of this one's when all passes are there. False without memory. */
bool assay_trained_add(struct assay_trained *all, const struct assay_record *records, int64_t n,
                       void (*told)(void *user, const struct assay_trained *all), void *user);
/* At the end: `told` hears of what is there. */
void assay_trained_end(struct assay_trained *all,
                       void (*told)(void *user, const struct assay_trained *all), void *user);
void assay_trained_fini(struct assay_trained *all);

/* Some record of it, for what all have in common. */
const struct assay_record *assay_trained_any(const struct assay_trained *all);

/* One recipe in one executor. */
struct assay_trained_row {
    const struct assay_trained *all;
    const struct assay_record *passes[ASSAY_TRAINED_PASSES];     /* NULL: not there */
    const struct assay_record *references[ASSAY_TRAINED_PASSES]; /* what their ratios refer to */
};

enum assay_trained_order {
    ASSAY_TRAINED_AS_LISTED,
    ASSAY_TRAINED_BY_TIME, /* of the total; those without one last */
};

/* Walks through the rows, start from {0}; false after the last. */
bool assay_trained_next(const struct assay_trained *all, enum assay_trained_order order,
                        struct assay_trained_row *row);

/* A record that says which recipe and executor it is; and of those that are not ok the worst, NULL
 * where all are. */
const struct assay_record *assay_trained_row_any(const struct assay_trained_row *row);
const struct assay_record *assay_trained_trouble(const struct assay_trained_row *row);
const char *assay_trained_pass_name(enum assay_trained_pass pass); /* "forward" */

/* "linear": the model without its pass. */
struct assay_cell assay_trained_subject(const struct assay_record *record);

/* Operations of the whole step in a second: of linear layers 3 * 2 * m * k * n, as TorchAO counts
 * them, of other models what the ops say. NaN where there is no time. */
double assay_trained_ops_per_s(const struct assay_record *total);

/* How a recipe casts, as TorchAO writes it: "i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2"; "dis"
 * where an operand is not cast, ",gw:dis" behind it where dW is not. Empty: nothing is. */
struct assay_cell assay_trained_scaling(const char *recipe);
/* For tables: "ten e4m3 e4m3 e5m2", of the input, the weight and the output's gradient. */
struct assay_cell assay_trained_scaling_short(const char *recipe);

#endif
