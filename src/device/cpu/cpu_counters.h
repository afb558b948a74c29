/* cpu_counters.h: the processor's counters around calls, by perf_event_open: of each thread that
 * the process has, in groups, so that ratios within one are of the same moments.
 *
 * A group that shares its counters with others is on for a part of the time only; what it saw is
 * scaled by that. Counted is what runs outside the operating system (context switches are the
 * system's own): that needs no rights where perf_event_paranoid is 2 or less.
 *
 * Bytes from memory are the lines that Intel's last level missed: demanded ones, and those that
 * the first two levels prefetched; not what the last level prefetched itself, and not streaming
 * stores. Other processors count something else under the name, so that nothing is derived there.
 */
#ifndef ASSAY_DEVICE_CPU_CPU_COUNTERS_H
#define ASSAY_DEVICE_CPU_CPU_COUNTERS_H

#include "device/counts.h"

#include <stdbool.h>
#include <stddef.h>

struct perf_event_attr;

/* Where counters come from: Linux, or a test's script. Functions return what the system call does,
 * or minus its errno. */
struct assay_counter_source {
    void *user;
    /* The process's threads, at most `capacity`; how many there are. 0: this process. */
    int64_t (*threads)(void *user, int64_t process, int32_t *out, int64_t capacity);
    int (*open)(void *user, struct perf_event_attr *what, int32_t thread, int leader);
    int (*control)(void *user, int fd, unsigned long request); /* of its whole group */
    int64_t (*read)(void *user, int fd, uint64_t *out, size_t bytes);
    void (*close)(void *user, int fd);
    int paranoid;           /* perf_event_paranoid; 99: it cannot be read */
    bool virtual_;          /* a virtual machine, which may have no counters */
    bool misses_are_memory; /* a miss of the last level is a line from memory: Intel's are */
};

/* Linux's. */
void assay_counter_source_linux(struct assay_counter_source *out);

typedef struct assay_counters assay_counters;

/* Opens what can be had of all threads that the process has now. NULL: no memory. */
assay_counters *assay_counters_open(const struct assay_counter_source *source, int64_t process);
void assay_counters_start(assay_counters *counters);
void assay_counters_stop(assay_counters *counters);
/* What was counted between start and stop, with `calls` 0, and what is missing. */
void assay_counters_read(assay_counters *counters, struct assay_counts *out);
void assay_counters_close(assay_counters *counters); /* NULL is fine */

#endif
