/* cpu_curve.h: the bandwidth of this CPU over the working set. */
#ifndef ASSAY_DEVICE_CPU_CURVE_H
#define ASSAY_DEVICE_CPU_CURVE_H

#include "device/ceiling.h"

/* The levels and points of the ceilings, with `threads` threads. Takes one to three seconds and up
 * to 1 GiB of memory. */
enum assay_status assay_cpu_curve(int32_t threads, struct assay_ceilings *out,
                                  struct assay_error *err);

#endif
