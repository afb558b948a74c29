/* traces.h: what code that was called leaves behind in this process, and must not: the state of the
 * floating-point unit, where the thread may run, how many threads OpenMP uses, threads that go on
 * computing. */
#ifndef ASSAY_RUNNER_TRACES_H
#define ASSAY_RUNNER_TRACES_H

#include "base/error.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct assay_traces {
    uint64_t floating; /* rounding, flush to zero, exceptions: not the flags of what happened */
    cpu_set_t cores;
    bool has_cores;
    int threads; /* of OpenMP */
};

struct assay_traces assay_traces_now(void);

/* The state that other variants are measured in. */
enum assay_trace { ASSAY_TRACE_NONE, ASSAY_TRACE_CORES, ASSAY_TRACE_FLOATING };

/* Puts everything back as it was `before`, and says in a sentence what was changed. */
enum assay_trace assay_traces_undo(const struct assay_traces *before, struct assay_error *why);

/* Threads of this process besides the caller's; 0 where the system does not tell. */
int64_t assay_traces_threads(void);

/* Those of them that are computing or want to, once those that
 * only wait for work have had time to fall asleep. Some 15 ms where there are none, up to a second
 * else. 0 where the system does not tell. */
double assay_traces_busy_threads(void);
/* The same of another process, its first thread included. */
double assay_traces_busy_threads_of(pid_t process);
#define ASSAY_BUSY_THREADS 0.5 /* from here on somebody is */

#endif
