/* progress.h: where a run is and how long it still takes, on a terminal's last line. On a terminal
 * that cannot clear a line it is a line now and then. Does nothing where standard error is not a
 * terminal. */
#ifndef ASSAY_CLI_PROGRESS_H
#define ASSAY_CLI_PROGRESS_H

#include "bench/time_left.h"
#include "record/plan.h"

/* Start from zeroes. */
struct assay_progress {
    bool shown; /* on a terminal, and not quiet */
    bool plain; /* no escape codes there: a line now and then */
    bool ascii;
    bool visible;        /* something is on the line now */
    bool long_run;       /* long enough for a bar */
    int64_t done, total; /* groups that need measuring */
    int64_t started_ns, drawn_ns;
    double share;                /* of the run, as the bar shows it */
    char label[160], doing[160]; /* what is measured; what is done instead, empty: nothing */
    const struct assay_plan *plan;
    struct assay_time_left time_left;
    struct assay_time_left_group *groups; /* of the plan; NULL: no time can be told */
};

/* What is to be measured: the plan's groups but those that are done. */
void assay_progress_init(struct assay_progress *progress, const struct assay_plan *plan,
                         const bool *done, bool quiet, bool ascii);
void assay_progress_fini(struct assay_progress *progress);
/* `group` is one of the plan's. */
void assay_progress_start(struct assay_progress *progress, const struct assay_group *group);
void assay_progress_tick(struct assay_progress *progress, const char *doing);
void assay_progress_done(struct assay_progress *progress);
/* Clears the line, before anything else is printed. */
void assay_progress_clear(struct assay_progress *progress);

#endif
