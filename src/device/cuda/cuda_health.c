/* cuda_health.c: the GPU's clock, and what holds it down, from NVML. Without NVML nothing is known.
 */
#include "device/cuda/cuda_gpu.h"

#include "base/clock.h"

#include <math.h>

/* A query takes some 10 to 100 us, and its values change some 50 times a second. */
enum { HEALTH_EVERY_NS = 10 * 1000 * 1000 };

static const uint64_t disturbing = NVML_THROTTLE_POWER_CAP | NVML_THROTTLE_HARDWARE |
                                   NVML_THROTTLE_THERMAL_SOFTWARE | NVML_THROTTLE_THERMAL_HARDWARE |
                                   NVML_THROTTLE_POWER_BRAKE;

void assay_cuda_health_open(struct cuda_gpu *gpu)
{
    char bus[32] = "";
    if (assay_cuda_open_nvml(&gpu->nvml, NULL, NULL) != ASSAY_OK ||
        !gpu->api->cuDeviceGetPCIBusId ||
        gpu->api->cuDeviceGetPCIBusId(bus, sizeof bus, gpu->ordinal) != CU_SUCCESS ||
        gpu->nvml->nvmlDeviceGetHandleByPciBusId_v2(bus, &gpu->nvml_device) != 0)
        gpu->nvml = NULL;
}

static void query(struct cuda_gpu *gpu)
{
    int64_t now = assay_clock_ns();
    if (!gpu->nvml || (gpu->health_at && now - gpu->health_at < HEALTH_EVERY_NS))
        return;
    unsigned mhz = 0;
    unsigned long long reasons = 0;
    gpu->health_at = now;
    if (gpu->nvml->nvmlDeviceGetClockInfo &&
        gpu->nvml->nvmlDeviceGetClockInfo(gpu->nvml_device, NVML_CLOCK_SM, &mhz) == 0)
        gpu->clock_hz = mhz * 1e6;
    if (gpu->nvml->nvmlDeviceGetCurrentClocksThrottleReasons &&
        gpu->nvml->nvmlDeviceGetCurrentClocksThrottleReasons(gpu->nvml_device, &reasons) == 0)
        gpu->throttle = reasons & disturbing;
}

double assay_cuda_clock_hz(assay_device *device)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    query(gpu);
    return gpu->clock_hz;
}

double assay_cuda_energy_j(assay_device *device)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    unsigned long long millijoules = 0;
    if (!gpu->nvml || !gpu->nvml->nvmlDeviceGetTotalEnergyConsumption ||
        gpu->nvml->nvmlDeviceGetTotalEnergyConsumption(gpu->nvml_device, &millijoules) != 0)
        return (double)NAN;
    return (double)millijoules * 1e-3;
}

void assay_cuda_disturbance(assay_device *device, struct assay_disturbance *out)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    query(gpu);
    *out = (struct assay_disturbance){.throttle = gpu->throttle};
}
