/* fake_nvml.c: a stand-in for NVML.
 *   FAKE_NVML_THROTTLE=N  the reasons it gives for held clocks (default 0)
 *   FAKE_NVML_MHZ=N       the clock (default 1500)
 *   FAKE_NVML_FAIL=1      it does not start */
#include "device/cuda/cuda_api.h"

#include <stdio.h>
#include <stdlib.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_NVML_REQUIRED(DECLARE)
CUDA_NVML_OPTIONAL(DECLARE)
#undef DECLARE

struct nvmlDevice_st {
    int unused;
};

static struct nvmlDevice_st device_0;

static unsigned long long number(const char *variable, unsigned long long other)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 0) : other;
}

nvml_result nvmlInit_v2(void) { return getenv("FAKE_NVML_FAIL") ? 9 : 0; }

nvml_result nvmlDeviceGetHandleByPciBusId_v2(const char *text, nvml_device *device)
{
    *device = &device_0;
    return text[0] ? 0 : 2;
}

nvml_result nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    snprintf(text, size, "999.01");
    return 0;
}

nvml_result nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == NVML_CLOCK_SM ? (unsigned)number("FAKE_NVML_MHZ", 1500) : 2600;
    return 0;
}

nvml_result nvmlDeviceGetMaxClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    (void)device;
    *mhz = clock == NVML_CLOCK_SM ? 1980 : 2600;
    return 0;
}

nvml_result nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius)
{
    (void)device, (void)sensor;
    *celsius = 41;
    return 0;
}

nvml_result nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 123456;
    return 0;
}

nvml_result nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *milliwatts)
{
    (void)device;
    *milliwatts = 700000;
    return 0;
}

nvml_result nvmlDeviceGetTotalEnergyConsumption(nvml_device device, unsigned long long *millijoules)
{
    (void)device;
    *millijoules = 5;
    return 0;
}

nvml_result nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device,
                                                      unsigned long long *reasons)
{
    (void)device;
    *reasons = number("FAKE_NVML_THROTTLE", 0);
    return 0;
}
