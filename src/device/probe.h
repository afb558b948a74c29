/* probe.h: loops that do nothing but move bytes or multiply, ready to be sampled beside kernels.
 *
 * What a machine can do changes from minute to minute: a guest's cores migrate, a neighbour streams
 * through memory, a power limit lowers the clock. So the ceiling a kernel is compared with is
 * measured in the same rounds as the kernel: a probe has the form of a kernel, runs with the same
 * threads on memory of the same kind, and is sampled in turns with it. */
#ifndef ASSAY_DEVICE_PROBE_H
#define ASSAY_DEVICE_PROBE_H

#include "base/error.h"
#include <assay/assay_kernel.h>

enum assay_probe_kind {
    ASSAY_PROBE_READ,
    ASSAY_PROBE_WRITE,
    ASSAY_PROBE_COPY,
    ASSAY_PROBE_TRIAD, /* two reads and a write */
    ASSAY_PROBE_STREAMS,
    ASSAY_PROBE_MATH = ASSAY_PROBE_STREAMS
};

/* "read", "write", "copy", "triad" */
const char *assay_probe_name(enum assay_probe_kind kind);
/* How many tensors it goes through: 1, 1, 2, 3. */
int assay_probe_streams(enum assay_probe_kind kind);

/* Whole grains near so many bytes. Few of them are rounded up: what a small probe takes is mostly
 * its start, and one that moves less than the kernel would be scaled to more than that takes. */
size_t assay_probe_grains(double bytes, size_t grain);

struct assay_probe_spec {
    enum assay_probe_kind kind;
    int math;     /* of arithmetic: ASSAY_CEILING_F32, … */
    double bytes; /* of memory: what one call moves, all streams together */
    bool cold;    /* each call on memory that has been evicted from the caches since its last use */
};

/* Open until it is closed; plain data that may be moved meanwhile. */
struct assay_probe {
    struct assay_kernel kernel;
    void *state;
    struct assay_args *sets;
    int64_t n_sets;
    double amount; /* bytes that one call moves, or operations it makes */
};

#endif
