/* metrics.c: does CUPTI, where it is installed, know the metrics of cuda_counters.c, on every GPU
 * since Ampere? The host's part of it answers without a GPU. Ends with 77 where it is not here. */
#include "device/cuda/cuda_counters.h"
#include "device/cuda/cuda_library.h"

#include <stdio.h>
#include <string.h>

static const char *const chips[] = {"GA100", "AD102", "GH100", "GB100"};

static int ask(const struct cuda_cupti_api *api, const char *chip)
{
    const char *names[ASSAY_CUDA_METRICS];
    struct cupti_host host = {
        .size = CUPTI_PARAMS(cupti_host, object), .type = CUPTI_TYPE_RANGE, .chip = chip};
    memcpy(names, assay_cuda_metrics, sizeof names);
    if (api->cuptiProfilerHostInitialize(&host) != CUPTI_OK) {
        printf("%s is not known here\n", chip);
        return 0;
    }
    struct cupti_host_metrics wanted = {.size = CUPTI_PARAMS(cupti_host_metrics, n),
                                        .object = host.object,
                                        .names = names,
                                        .n = ASSAY_CUDA_METRICS};
    struct cupti_host_size size = {.size = CUPTI_PARAMS(cupti_host_size, bytes),
                                   .object = host.object};
    struct cupti_host_end end = {.size = CUPTI_PARAMS(cupti_host_end, object),
                                 .object = host.object};
    int failed = api->cuptiProfilerHostConfigAddMetrics(&wanted) != CUPTI_OK ||
                 api->cuptiProfilerHostGetConfigImageSize(&size) != CUPTI_OK || size.bytes == 0;
    const char *unknown = "sm__no_such_thing.sum";
    wanted.names = &unknown;
    wanted.n = 1;
    failed |= api->cuptiProfilerHostConfigAddMetrics(&wanted) == CUPTI_OK; /* it can tell */
    failed |= api->cuptiProfilerHostDeinitialize(&end) != CUPTI_OK;
    printf("%s: %s, %zu bytes of configuration\n", chip, failed ? "FAILED" : "ok", size.bytes);
    return failed;
}

int main(void)
{
    const struct cuda_cupti_api *api;
    struct assay_error why = {0};
    int failed = 0;
    if (assay_cuda_open_cupti(&api, NULL, &why) != ASSAY_OK || !api->cuptiProfilerHostInitialize) {
        printf("skipped: %s\n", why.message[0] ? why.message : "CUPTI is too old");
        return 77;
    }
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++)
        failed |= ask(api, chips[i]);
    return failed;
}
