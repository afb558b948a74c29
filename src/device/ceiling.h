/* ceiling.h: the most a device can do, measured, and what that means for a piece of work.
 *
 * Bandwidths are those of the fastest loop known for the level (plain, non-temporal, prefetched),
 * in the quietest tenth of many short samples: a ceiling, not an average. */
#ifndef ASSAY_DEVICE_CEILING_H
#define ASSAY_DEVICE_CEILING_H

#include "base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_MAX_LEVELS = 4 };

/* Kinds of arithmetic, in the order of enum assay_math: each has the rate of the fastest unit the
 * device has for it (AMX, VNNI, FP16, FMA). 0: not known. */
enum {
    ASSAY_CEILING_F32,
    ASSAY_CEILING_F16,
    ASSAY_CEILING_BF16,
    ASSAY_CEILING_S8,
    ASSAY_CEILING_F8, /* 8-bit floats; where a CPU has no unit for them, bf16's */
    ASSAY_CEILING_MATHS
};
const char *assay_ceiling_math_name(int math); /* "f32", "f16", "bf16", "s8", "f8" */

struct assay_ceiling_level {
    char name[16];            /* "L1", "L2", "L3", "memory" */
    size_t bytes;             /* what all threads together can hold in it; SIZE_MAX for memory */
    double read, write, copy; /* bytes per second of all threads; copy counts both directions */
};

struct assay_ceilings {
    char device[64]; /* whose they are: the device's own name */
    int32_t threads;
    int32_t n_levels; /* fastest and smallest first; the last one is memory */
    struct assay_ceiling_level levels[ASSAY_MAX_LEVELS];
    double flops[ASSAY_CEILING_MATHS]; /* multiply-adds count two, per second, all threads */
    double clock_hz;                   /* of one core while this was measured */
    double timer_ns;                   /* one reading of the clock */
    double floor_ns;                   /* the least a sample around an empty kernel takes */
    int64_t measured_at;               /* seconds since 1970 */
};

/* What work must cost at the least. */
struct assay_ceiling_time {
    double ns;
    const char *bound; /* what binds: a level's name, or "compute"; borrowed from the ceilings */
};

/* `working_set` is what is touched again and again; cold work comes from memory whatever its size.
 * Reading and writing at once goes at the copy rate, what is left over at its own. */
struct assay_ceiling_time assay_ceiling_time(const struct assay_ceilings *ceilings,
                                             double bytes_read, double bytes_written, double flops,
                                             int math, double working_set, bool cold);

/* The file a device's ceilings are remembered in, and reading and writing it. Loading answers
 * ASSAY_UNSUPPORTED when there is none for this device and thread count, or it is damaged. One that
 * cannot be read now (ASSAY_ERR_IO, ASSAY_ERR_NOMEM) is no reason to measure them again. */
enum assay_status assay_ceilings_load(const char *device, int32_t threads,
                                      struct assay_ceilings *out, struct assay_error *why);
enum assay_status assay_ceilings_save(const struct assay_ceilings *ceilings,
                                      struct assay_error *err);

#endif
