/* cpu_device.h: what the files of the CPU's driver share of an open device. */
#ifndef ASSAY_DEVICE_CPU_DEVICE_H
#define ASSAY_DEVICE_CPU_DEVICE_H

#include "device/cpu/cpu_stream.h"
#include "device/device.h"

enum {
    ASSAY_CPU_MAX_WATCHED = 64, /* threads whose wait times are read; more would take too long */
    ASSAY_CPU_MAX_BLOCKS = 8,   /* of memory that probes keep */
    ASSAY_CPU_MAX_TUNED = 32,
};

/* Which loop was the fastest for a stream lately. */
struct cpu_tuned {
    struct assay_cpu_stream stream; /* its loop is NULL if the slot is empty */
    bool cold;
    int64_t at_ns;
};

struct cpu_block {
    char *memory;
    size_t bytes;
    bool busy;
};

struct cpu_device {
    struct assay_device base;
    int32_t n_watched;
    int cores[ASSAY_CPU_MAX_WATCHED];     /* that the threads are pinned to; -1: not pinned */
    int schedstat[ASSAY_CPU_MAX_WATCHED]; /* files that tell how long each thread waited, or -1 */
    int stat;                             /* the file that tells of stolen time, or -1 */
    struct cpu_block blocks[ASSAY_CPU_MAX_BLOCKS];
    struct cpu_tuned tuned[ASSAY_CPU_MAX_TUNED]; /* the oldest is replaced */
};

/* cpu_waits.c: run-queue waits and stolen time, from files of /proc that stay open. Where there is
 * none, nothing is told. */
void assay_cpu_watch(struct cpu_device *device); /* from now on, after the threads were pinned */
void assay_cpu_unwatch(struct cpu_device *device);
int64_t assay_cpu_waited_ns(const struct cpu_device *device);
int64_t assay_cpu_stolen_ns(assay_device *device);

#endif
