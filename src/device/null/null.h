/* null.h: a device that computes nothing and whose clock is a script: for testing the measuring
 * engine exactly. Known durations in, known statistics out. Not in the list of devices. */
#ifndef ASSAY_DEVICE_NULL_H
#define ASSAY_DEVICE_NULL_H

#include "device/device.h"

struct assay_null_script {
    void *user;
    /* How long this call takes, in ns; the clock advances by that. Negative: the kernel fails.
     */
    double (*duration)(void *user, const struct assay_kernel *kernel, void *state,
                       const struct assay_work *work);
    double (*clock_hz)(void *user);          /* optional */
    int64_t (*context_switches)(void *user); /* optional */
    int64_t (*waited_ns)(void *user);        /* optional */
    int64_t (*stolen_ns)(void *user);        /* optional */
    uint64_t (*throttle)(void *user);        /* optional */
    double (*matrix_probe)(void *user);      /* optional: 0, no matrix unit */
    /* What this work costs; optional. */
    void (*count)(void *user, const struct assay_work *work, struct assay_counts *out);
};

/* The script is copied. */
enum assay_status assay_null_open(const struct assay_null_script *script, assay_device **out,
                                  struct assay_error *err);

#endif
