/* energy.h: what one call of a kernel costs in energy, where the device has a counter. */
#ifndef ASSAY_BENCH_ENERGY_H
#define ASSAY_BENCH_ENERGY_H

#include "device/device.h"

/* Joules of one call of about `call_ns`: the work is repeated between two moves of the device's
 * counter that are 0.2 s apart or more. It is the whole device's, idle draw included. NaN where
 * there is no counter, or it does not move. `beat` is called every few ms; it returns true to stop.
 */
double assay_energy_of_call(assay_device *device, const struct assay_kernel *kernel, void *state,
                            const struct assay_args *args, double call_ns, bool (*beat)(void *user),
                            void *user);

#endif
