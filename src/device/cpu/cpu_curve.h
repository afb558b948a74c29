/* cpu_curve.h: how fast this CPU moves bytes, over the size of what it works on. */
#ifndef ASSAY_DEVICE_CPU_CURVE_H
#define ASSAY_DEVICE_CPU_CURVE_H

#include "device/ceiling.h"

/* The levels and points of the ceilings, with so many threads. Takes one to three seconds and up
 * to 1 GiB of memory. */
enum assay_status assay_cpu_curve(int32_t threads, struct assay_ceilings *out,
                                  struct assay_error *err);

#endif
