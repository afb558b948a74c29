/* oom.h: has the system killed processes for lack of memory? */
#ifndef ASSAY_RUNNER_OOM_H
#define ASSAY_RUNNER_OOM_H

#include <stdint.h>

/* How many so far, of this process's control group, or of the whole machine where no group counts
 * them; -1: nobody tells. `root` is "" but for tests, which have /proc and /sys elsewhere. A number
 * that has grown while a worker or runner lived, and its end by SIGKILL, are evidence together. */
int64_t assay_oom_kills(const char *root);

#endif
