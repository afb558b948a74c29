/* progress.h: where a run is, on a terminal's last line. Does nothing where standard error is not a
 * terminal. */
#ifndef ASSAY_CLI_PROGRESS_H
#define ASSAY_CLI_PROGRESS_H

#include "record/plan.h"

struct assay_progress {
    bool shown;          /* on a terminal, and not quiet */
    bool visible;        /* something is on the line now */
    int64_t done, total; /* groups that need measuring */
    int64_t started_ns, drawn_ns;
    char label[160];
};

void assay_progress_init(struct assay_progress *progress, int64_t total, bool quiet);
void assay_progress_start(struct assay_progress *progress, const struct assay_group *group);
void assay_progress_tick(struct assay_progress *progress);
void assay_progress_done(struct assay_progress *progress);
/* Clears the line, before anything else is printed. */
void assay_progress_clear(struct assay_progress *progress);

#endif
