/* ceiling.h: the best rates a device was seen to reach, as a curve over the working set, and the
 * least time they allow for given work.
 *
 * They are kept in a file between runs. They tell which resource bounds given work, and whether the
 * machine runs at its best now; the ceiling a kernel is compared with is measured beside it
 * (device/probe.h). */
#ifndef ASSAY_DEVICE_CEILING_H
#define ASSAY_DEVICE_CEILING_H

#include "base/error.h"
#include "device/probe.h"
#include <stddef.h>
#include <stdint.h>

enum { ASSAY_MAX_LEVELS = 4, ASSAY_MAX_POINTS = 24 };

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
    char name[16]; /* "L1", "L2", "L3", "memory" */
    size_t bytes;  /* what all threads together can hold in it; SIZE_MAX for memory */
};

/* Bytes per second, of all threads and all directions, by enum assay_probe_kind; 0: not known. */
struct assay_ceiling_point {
    size_t bytes; /* the working set: of all threads and all tensors */
    double rates[ASSAY_PROBE_STREAMS];
};

struct assay_ceilings {
    char device[64]; /* whose they are: the device's own name */
    int32_t threads;
    int32_t n_levels; /* fastest and smallest first; the last one is memory */
    struct assay_ceiling_level levels[ASSAY_MAX_LEVELS];
    int32_t n_points; /* smallest first */
    struct assay_ceiling_point points[ASSAY_MAX_POINTS];
    double flops[ASSAY_CEILING_MATHS]; /* multiply-adds count two, per second, all threads */
    double clock_hz;                   /* of one core while this was measured */
    double timer_ns;                   /* one reading of the clock */
    double floor_ns;                   /* the least a sample around an empty kernel takes */
    int64_t measured_at;               /* seconds since 1970 */
};

/* Reading and writing as streams: bytes of each kind. Two reads for each write are a triad, one is
 * a copy, the remainder is read or written alone. */
struct assay_ceiling_mix {
    double bytes[ASSAY_PROBE_STREAMS];
};
struct assay_ceiling_mix assay_ceiling_mix(double bytes_read, double bytes_written);

/* The best rate seen at a working set; cold work goes at memory's. 0: not known. */
double assay_ceiling_rate(const struct assay_ceilings *ceilings, enum assay_probe_kind kind,
                          double working_set, bool cold);

/* The cache level that holds a working set; cold work is in memory whatever its size. "" where
 * nothing is known. */
const char *assay_ceiling_level(const struct assay_ceilings *ceilings, double working_set,
                                bool cold);

/* The least time of the work in ns, by the best rates seen: for its bytes and for its operations.
 * NaN: not known. */
struct assay_ceiling_time {
    double transfer_ns, compute_ns;
};
struct assay_ceiling_time assay_ceiling_time(const struct assay_ceilings *ceilings,
                                             double bytes_read, double bytes_written, double flops,
                                             int math, double working_set, bool cold);

/* Raises the rate seen at a working set within a quarter of a point's, or of a kind of arithmetic;
 * true where it was more than 2 % better than before. */
bool assay_ceilings_raise(struct assay_ceilings *ceilings, enum assay_probe_kind kind, int math,
                          double working_set, bool cold, double rate);

/* The file in which a device's ceilings are kept, and reading and writing it. Loading returns
 * ASSAY_UNSUPPORTED when there is no file for this device and thread count, or it is damaged. A
 * file that cannot be read now (ASSAY_ERR_IO, ASSAY_ERR_NOMEM) is not a reason to measure again. */
enum assay_status assay_ceilings_load(const char *device, int32_t threads,
                                      struct assay_ceilings *out, struct assay_error *why);
enum assay_status assay_ceilings_save(const struct assay_ceilings *ceilings,
                                      struct assay_error *err);

#endif
