#include "device/cuda/cuda_info.h"

#include "device/cuda/cuda_library.h"

#include <stdio.h>

static void add_library(struct assay_text *out, const char *name, const char *version,
                        const struct cuda_library_path *found, const struct assay_error *why)
{
    if (why->code == ASSAY_OK)
        assay_text_format(out, "%-13s%s, %s\n", name, version, found->path);
    else
        assay_text_format(out, "%-13snot here: %s\n", name, why->message);
    if (why->code == ASSAY_ERR_NOMEM)
        out->failed = true; /* it may well be here */
}

static void add_driver(struct assay_text *out, const struct cuda_driver_api *api,
                       const struct cuda_library_path *found, const struct cuda_nvml_api *nvml)
{
    int version = 0;
    char name[80] = "";
    api->cuDriverGetVersion(&version);
    if (nvml && nvml->nvmlSystemGetDriverVersion)
        nvml->nvmlSystemGetDriverVersion(name, sizeof name);
    assay_text_format(out, "%-13sdriver %s, CUDA %d.%d, %s\n", "cuda", name[0] ? name : "?",
                      version / 1000, version % 1000 / 10, found->path);
}

static void add_libraries(struct assay_text *out)
{
    const struct cuda_nvrtc_api *nvrtc;
    const struct cuda_cublaslt_api *cublaslt;
    const struct cuda_cudnn_api *cudnn;
    const struct cuda_cupti_api *cupti;
    struct cuda_library_path found;
    char version[48] = "";
    int major = 0, minor = 0;
    uint32_t number = 0;
    struct assay_error why = {0};
    if (assay_cuda_open_nvrtc(&nvrtc, &found, &why) == ASSAY_OK) {
        nvrtc->nvrtcVersion(&major, &minor);
        snprintf(version, sizeof version, "%d.%d", major, minor);
    }
    add_library(out, "nvrtc", version, &found, &why);
    why = (struct assay_error){0};
    if (assay_cuda_open_cublaslt(&cublaslt, &found, &why) == ASSAY_OK) {
        size_t whole = cublaslt->cublasLtGetVersion();
        snprintf(version, sizeof version, "%zu.%zu.%zu", whole / 10000, whole / 100 % 100,
                 whole % 100);
    }
    add_library(out, "cublaslt", version, &found, &why);
    why = (struct assay_error){0};
    if (assay_cuda_open_cudnn(&cudnn, &found, &why) == ASSAY_OK) {
        size_t whole = cudnn->cudnnGetVersion();
        snprintf(version, sizeof version, "%zu.%zu.%zu", whole / 10000, whole / 100 % 100,
                 whole % 100);
    }
    add_library(out, "cudnn", version, &found, &why);
    why = (struct assay_error){0};
    if (assay_cuda_open_cupti(&cupti, &found, &why) == ASSAY_OK) {
        cupti->cuptiGetVersion(&number);
        snprintf(version, sizeof version, "version %u", number);
    }
    add_library(out, "cupti", version, &found, &why);
}

/* What holds the clocks down, in words. */
static void add_throttle(struct assay_text *out, unsigned long long reasons)
{
    static const struct {
        unsigned bit;
        const char *words;
    } known[] = {{NVML_THROTTLE_POWER_CAP, "power limit"},
                 {NVML_THROTTLE_HARDWARE, "hardware slowdown"},
                 {NVML_THROTTLE_THERMAL_SOFTWARE, "heat"},
                 {NVML_THROTTLE_THERMAL_HARDWARE, "heat (hardware)"},
                 {NVML_THROTTLE_POWER_BRAKE, "power brake"}};
    bool any = false;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (reasons & known[i].bit) {
            assay_text_format(out, "%s%s", any ? ", " : ", throttled by: ", known[i].words);
            any = true;
        }
    if (!any)
        assay_text_add(out, ", not throttled");
}

static void add_health(struct assay_text *out, const struct cuda_nvml_api *nvml, nvml_device device)
{
    unsigned sm = 0, memory = 0, most = 0, celsius = 0, milliwatts = 0, limit = 0;
    unsigned long long reasons = 0;
    if (nvml->nvmlDeviceGetClockInfo) {
        nvml->nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &sm);
        nvml->nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEMORY, &memory);
    }
    if (nvml->nvmlDeviceGetMaxClockInfo)
        nvml->nvmlDeviceGetMaxClockInfo(device, NVML_CLOCK_SM, &most);
    if (nvml->nvmlDeviceGetTemperature)
        nvml->nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &celsius);
    if (nvml->nvmlDeviceGetPowerUsage)
        nvml->nvmlDeviceGetPowerUsage(device, &milliwatts);
    if (nvml->nvmlDeviceGetEnforcedPowerLimit)
        nvml->nvmlDeviceGetEnforcedPowerLimit(device, &limit);
    assay_text_format(out, "%-13sSM %u MHz of %u, memory %u MHz, %u W of %u, %u C", "", sm, most,
                      memory, milliwatts / 1000, limit / 1000, celsius);
    if (nvml->nvmlDeviceGetCurrentClocksThrottleReasons &&
        nvml->nvmlDeviceGetCurrentClocksThrottleReasons(device, &reasons) == 0)
        add_throttle(out, reasons);
    assay_text_add(out, "\n");
}

static int attribute(const struct cuda_driver_api *api, cu_device device, int which)
{
    int value = 0;
    api->cuDeviceGetAttribute(&value, which, device);
    return value;
}

static void add_gpu(struct assay_text *out, const struct cuda_driver_api *api,
                    const struct cuda_nvml_api *nvml, int index)
{
    cu_device device;
    char label[24], name[96] = "?", bus[32] = "", memory[32], l2[32];
    size_t bytes = 0;
    if (api->cuDeviceGet(&device, index) != CU_SUCCESS)
        return;
    api->cuDeviceGetName(name, sizeof name, device);
    api->cuDeviceTotalMem_v2(&bytes, device);
    assay_text_bytes((double)bytes, memory, sizeof memory);
    assay_text_bytes((double)attribute(api, device, CU_ATTRIBUTE_L2_BYTES), l2, sizeof l2);
    snprintf(label, sizeof label, "cuda:%d", index);
    assay_text_format(out, "%-13s%s, compute capability %d.%d, %d SMs, %s of memory, L2 %s\n",
                      label, name, attribute(api, device, CU_ATTRIBUTE_MAJOR),
                      attribute(api, device, CU_ATTRIBUTE_MINOR),
                      attribute(api, device, CU_ATTRIBUTE_SMS), memory, l2);
    nvml_device handle;
    if (nvml && api->cuDeviceGetPCIBusId &&
        api->cuDeviceGetPCIBusId(bus, sizeof bus, device) == CU_SUCCESS &&
        nvml->nvmlDeviceGetHandleByPciBusId_v2(bus, &handle) == 0)
        add_health(out, nvml, handle);
}

void assay_cuda_info(struct assay_text *out)
{
    const struct cuda_driver_api *api;
    const struct cuda_nvml_api *nvml;
    struct cuda_library_path found;
    struct assay_error why = {0}, no_nvml = {0};
    int count = 0;
    if (assay_cuda_open_driver(&api, &found, &why) != ASSAY_OK) {
        assay_text_format(out, "%-13sno driver: %s\n", "cuda", why.message);
        out->failed = out->failed || why.code == ASSAY_ERR_NOMEM; /* there may well be one */
        return;
    }
    assay_cuda_open_nvml(&nvml, NULL, &no_nvml);
    add_driver(out, api, &found, nvml);
    add_libraries(out);
    if (no_nvml.code != ASSAY_OK)
        assay_text_format(out, "%-13snot here: %s\n", "nvml", no_nvml.message);
    api->cuDeviceGetCount(&count);
    if (count == 0)
        assay_text_format(out, "%-13sthe driver sees no GPU\n", "");
    for (int i = 0; i < count; i++)
        add_gpu(out, api, nvml, i);
}
