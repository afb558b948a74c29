/* cpu_calibrate.h: measuring the ceilings of this CPU. */
#ifndef ASSAY_DEVICE_CPU_CALIBRATE_H
#define ASSAY_DEVICE_CPU_CALIBRATE_H

#include "device/device.h"

/* Measures the ceilings with device->threads threads: the calibrate entry of the cpu driver. Takes
 * some seconds and, for that time, 1 GiB of memory, or a third of what is available where that is
 * less. */
enum assay_status assay_cpu_calibrate(assay_device *device, struct assay_ceilings *out,
                                      struct assay_error *err);

/* The clock this core runs at now, in Hz; 0 where that cannot be told (not x86-64). Takes some 20
 * us; an interruption during them does not change the result. */
double assay_cpu_clock_hz(void);

#endif
