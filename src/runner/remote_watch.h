/* remote_watch.h: what a GPU did for a stranger in a profiled pass: its process watches itself, and
 * the judge reads what it noted. */
#ifndef ASSAY_RUNNER_REMOTE_WATCH_H
#define ASSAY_RUNNER_REMOTE_WATCH_H

#include "runner/runner.h"
#include "trace/activity.h"

/* As `watch`, `watched` and `unwatch` of a device (device/device.h). */
enum assay_status assay_remote_watch(assay_runner *runner, char *how, size_t size,
                                     struct assay_error *err);
enum assay_status assay_remote_watched(assay_runner *runner, struct assay_activities *out,
                                       struct assay_error *err);
void assay_remote_unwatch(assay_runner *runner);

/* The runner's side: all of them in one piece, for whoever reads its memory. NULL: no memory. */
void *assay_remote_watch_pack(const struct assay_activities *activities, size_t *bytes);
/* As one that came from a stranger: false where it makes no sense. Its name can be shown then. */
bool assay_remote_watch_sane(struct assay_activity *one);

#endif
