/* cpu_resident.h: the peak resident memory of this process, as the kernel counts it: everything,
 * the harness and its operands included. */
#ifndef ASSAY_DEVICE_CPU_RESIDENT_H
#define ASSAY_DEVICE_CPU_RESIDENT_H

#include "device/device.h"

/* In bytes, since the last reset; NaN where /proc does not tell. */
double assay_cpu_resident_peak(assay_device *device);

/* Where this is not permitted the peak stays that of the whole process so far. */
void assay_cpu_resident_reset(assay_device *device);

#endif
