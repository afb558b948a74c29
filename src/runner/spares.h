/* spares.h: runners that wait for another variant. An interpreter with its framework takes seconds
 * to start, so those of kernels that come with assay ("python:torch") serve one variant after the
 * other; what strangers bring never shares a process. */
#ifndef ASSAY_RUNNER_SPARES_H
#define ASSAY_RUNNER_SPARES_H

#include "runner/runner.h"

enum { ASSAY_SPARES_MOST = 4 };

struct assay_spare {
    assay_runner *runner;
    char path[64], device[32];
    int32_t threads;
};

/* Start from {0}. */
struct assay_spares {
    struct assay_spare items[ASSAY_SPARES_MOST];
    int n;
};

/* One that has this object and device open; NULL: there is none. */
assay_runner *assay_spares_take(struct assay_spares *spares, const char *path, const char *device,
                                int32_t threads);
/* Keeps one whose kernel is torn down, and takes its memory. False: it is not worth keeping, or
 * there are enough; it stays the caller's. */
bool assay_spares_keep(struct assay_spares *spares, assay_runner *runner, const char *path,
                       const char *device, int32_t threads);
void assay_spares_end(struct assay_spares *spares);

#endif
