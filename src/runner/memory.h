/* memory.h: what one variant takes of memory, from what its functions allocate.
 *
 * Only what happens between begin and end is the variant's: the calls of its own functions. What
 * they allocate through assay is counted where it is allocated, with its peak. What they and their
 * libraries take of malloc directly is what malloc has given out more when they return. */
#ifndef ASSAY_RUNNER_MEMORY_H
#define ASSAY_RUNNER_MEMORY_H

#include "device/device.h"

/* One variant's. Start from {0}. */
struct assay_memory {
    double counted;   /* held by the variant now, through assay */
    double elsewhere; /* and of malloc, by itself */
    double peak;      /* the most it ever held, within a call too */
    double weights;   /* of what it holds: what its first prepare left */
    double running;   /* the most it held in a run */
    bool prepared, ran;
    double used, used_peak; /* as the system says, now and at the most; NaN: it does not */
};

/* Which of the variant's functions is called. */
enum assay_memory_call { ASSAY_MEMORY_SETUP, ASSAY_MEMORY_PREPARE, ASSAY_MEMORY_RUN };

/* How it was before the call. */
struct assay_memory_mark {
    size_t held, on_device, of_malloc;
    double used;
};

struct assay_memory_mark assay_memory_begin(assay_device *device);
void assay_memory_end(assay_device *device, const struct assay_memory_mark *mark,
                      enum assay_memory_call call, struct assay_memory *memory);

#endif
