/* cpu_probe.h: the CPU's probes (device/probe.h), and the memory they keep. */
#ifndef ASSAY_DEVICE_CPU_PROBE_H
#define ASSAY_DEVICE_CPU_PROBE_H

#include "device/device.h"

struct cpu_device;

enum assay_status assay_cpu_probe_open(assay_device *device, const struct assay_probe_spec *spec,
                                       struct assay_probe *out, struct assay_error *err);
void assay_cpu_probe_close(assay_device *device, struct assay_probe *probe);

/* What is kept between probes, and is no variant's; and giving it back. */
double assay_cpu_block_bytes(const struct cpu_device *device);
void assay_cpu_release_blocks(struct cpu_device *device);

#endif
