/* cuda_counters.c: what calls move and how busy they keep the GPU, by CUPTI's range profiler: one
 * range around all of them. The four metrics need one pass on every GPU since Ampere; where they
 * need more, the calls are made again for each.
 *
 * CUPTI is attached for this alone, when everything of a group is timed, and gone afterwards. */
#include "device/cuda/cuda_counters.h"
#include "device/cuda/cuda_gpu.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const assay_cuda_metrics[ASSAY_CUDA_METRICS] = {
    "dram__bytes.sum",
    "lts__t_bytes.sum",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
};
enum { METRICS = ASSAY_CUDA_METRICS, MOST_PASSES = 16 };

/* One count, from attaching to detaching. */
struct counting {
    struct cuda_gpu *gpu;
    const struct cuda_cupti_api *api;
    const char *chip, *names[METRICS];
    uint8_t *availability, *config, *image;
    size_t config_bytes, image_bytes;
    struct CUpti_Profiler_Host_Object *host;
    struct CUpti_RangeProfiler_Object *range;
    cupti_result result; /* the first that was no success, and */
    const char *what;    /* of which function */
};

static bool worked(struct counting *c, cupti_result result, const char *what)
{
    if (c->result == CUPTI_OK && result != CUPTI_OK) {
        c->result = result;
        c->what = what;
    }
    return c->result == CUPTI_OK;
}

#define CALL(c, name, params)                                                                      \
    ((c)->result == CUPTI_OK && worked((c), (c)->api->name(params), #name))

static bool out_of_memory(struct counting *c)
{
    enum { CUPTI_OUT_OF_MEMORY = 8 };
    return worked(c, CUPTI_OUT_OF_MEMORY, "memory");
}

/* ---- what is to be counted ------------------------------------------------------------------- */

/* Which counters this process may read: without the right to, all that follows fails. */
static bool ask_availability(struct counting *c)
{
    struct cupti_availability p = {.size = CUPTI_PARAMS(cupti_availability, image),
                                   .context = c->gpu->context};
    if (!CALL(c, cuptiProfilerGetCounterAvailability, &p))
        return false;
    p.image = c->availability = assay_calloc(1, p.bytes ? p.bytes : 1);
    return p.image ? CALL(c, cuptiProfilerGetCounterAvailability, &p) : out_of_memory(c);
}

static bool make_config(struct counting *c)
{
    struct cupti_host host = {.size = CUPTI_PARAMS(cupti_host, object),
                              .type = CUPTI_TYPE_RANGE,
                              .chip = c->chip,
                              .availability = c->availability};
    if (!CALL(c, cuptiProfilerHostInitialize, &host))
        return false;
    c->host = host.object;
    struct cupti_host_metrics wanted = {.size = CUPTI_PARAMS(cupti_host_metrics, n),
                                        .object = c->host,
                                        .names = c->names,
                                        .n = METRICS};
    struct cupti_host_size size = {.size = CUPTI_PARAMS(cupti_host_size, bytes), .object = c->host};
    if (!CALL(c, cuptiProfilerHostConfigAddMetrics, &wanted) ||
        !CALL(c, cuptiProfilerHostGetConfigImageSize, &size))
        return false;
    c->config_bytes = size.bytes;
    c->config = assay_calloc(1, size.bytes ? size.bytes : 1);
    struct cupti_host_config config = {.size = CUPTI_PARAMS(cupti_host_config, image),
                                       .object = c->host,
                                       .bytes = size.bytes,
                                       .image = c->config};
    return c->config ? CALL(c, cuptiProfilerHostGetConfigImage, &config) : out_of_memory(c);
}

static bool make_image(struct counting *c)
{
    struct cupti_range_size size = {.size = CUPTI_PARAMS(cupti_range_size, bytes),
                                    .object = c->range,
                                    .names = c->names,
                                    .n = METRICS,
                                    .ranges = 1,
                                    .nodes = 1};
    if (!CALL(c, cuptiRangeProfilerGetCounterDataSize, &size))
        return false;
    c->image_bytes = size.bytes;
    c->image = assay_calloc(1, size.bytes ? size.bytes : 1);
    struct cupti_range_image image = {.size = CUPTI_PARAMS(cupti_range_image, image),
                                      .object = c->range,
                                      .bytes = size.bytes,
                                      .image = c->image};
    return c->image ? CALL(c, cuptiRangeProfilerCounterDataImageInitialize, &image)
                    : out_of_memory(c);
}

static bool begin(struct counting *c)
{
    struct cupti_plain plain = {.size = CUPTI_PARAMS(cupti_plain, priv)};
    struct cupti_chip chip = {.size = CUPTI_PARAMS(cupti_chip, name),
                              .device = (size_t)c->gpu->ordinal};
    struct cupti_range_enable enable = {.size = CUPTI_PARAMS(cupti_range_enable, object),
                                        .context = c->gpu->context};
    if (!CALL(c, cuptiProfilerInitialize, &plain) || !CALL(c, cuptiDeviceGetChipName, &chip))
        return false;
    c->chip = chip.name;
    if (!ask_availability(c) || !make_config(c) || !CALL(c, cuptiRangeProfilerEnable, &enable))
        return false;
    c->range = enable.object;
    if (!make_image(c))
        return false;
    struct cupti_range_config config = {.size = CUPTI_PARAMS(cupti_range_config, target_level),
                                        .object = c->range,
                                        .config_bytes = c->config_bytes,
                                        .config = c->config,
                                        .image_bytes = c->image_bytes,
                                        .image = c->image,
                                        .range = CUPTI_USER_RANGE,
                                        .replay = CUPTI_USER_REPLAY,
                                        .ranges = 1,
                                        .levels = 1,
                                        .least_level = 1,
                                        .target_level = 1};
    return CALL(c, cuptiRangeProfilerSetConfig, &config);
}

/* Whatever was opened, whether it worked or not: calls are as before. */
static void end(struct counting *c)
{
    struct cupti_range range = {.size = CUPTI_PARAMS(cupti_range, object), .object = c->range};
    struct cupti_host_end host = {.size = CUPTI_PARAMS(cupti_host_end, object), .object = c->host};
    struct cupti_plain plain = {.size = CUPTI_PARAMS(cupti_plain, priv)};
    c->gpu->api->cuCtxSynchronize();
    if (c->range)
        c->api->cuptiRangeProfilerDisable(&range);
    if (c->host)
        c->api->cuptiProfilerHostDeinitialize(&host);
    c->api->cuptiProfilerDeInitialize(&plain);
    c->api->cuptiFinalize();
    assay_free(c->availability);
    assay_free(c->config);
    assay_free(c->image);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* The calls once, in a range; *all_done: no further pass is needed. */
static enum assay_status make_pass(struct counting *c, const struct assay_kernel *kernel,
                                   void *state, const struct assay_work *work, bool *all_done)
{
    struct cupti_range range = {.size = CUPTI_PARAMS(cupti_range, object), .object = c->range};
    struct cupti_range_push push = {
        .size = CUPTI_PARAMS(cupti_range_push, name), .object = c->range, .name = "calls"};
    struct cupti_range_stop stop = {.size = CUPTI_PARAMS(cupti_range_stop, all_done),
                                    .object = c->range};
    *all_done = true;
    if (!CALL(c, cuptiRangeProfilerStart, &range) || !CALL(c, cuptiRangeProfilerPushRange, &push))
        return ASSAY_OK;
    enum assay_status status = kernel->run(state, work);
    enum assay_status waited =
        assay_cuda_check(c->gpu->api->cuCtxSynchronize(), "cuCtxSynchronize", NULL);
    (void)CALL(c, cuptiRangeProfilerPopRange, &range);
    if (CALL(c, cuptiRangeProfilerStop, &stop))
        *all_done = stop.all_done;
    return status == ASSAY_OK ? waited : status;
}

static void take_values(struct counting *c, struct assay_counts *out)
{
    double values[METRICS] = {0};
    struct cupti_range_decode decode = {.size = CUPTI_PARAMS(cupti_range_decode, dropped),
                                        .object = c->range};
    struct cupti_range_info info = {
        .size = CUPTI_PARAMS(cupti_range_info, ranges), .image = c->image, .bytes = c->image_bytes};
    struct cupti_host_values wanted = {.size = CUPTI_PARAMS(cupti_host_values, values),
                                       .object = c->host,
                                       .image = c->image,
                                       .bytes = c->image_bytes,
                                       .names = c->names,
                                       .n = METRICS,
                                       .values = values};
    if (!CALL(c, cuptiRangeProfilerDecodeData, &decode) ||
        !CALL(c, cuptiRangeProfilerGetCounterDataInfo, &info))
        return;
    if (info.ranges != 1 || decode.dropped > 0) {
        snprintf(out->missing, sizeof out->missing, "CUPTI lost the range of calls");
        return;
    }
    if (!CALL(c, cuptiProfilerHostEvaluateToGpuValues, &wanted))
        return;
    out->memory_bytes = values[0];
    out->l2_bytes = values[1];
    out->occupancy_frac = values[2] / 100;
    out->tensor_frac = values[3] / 100;
}

static void explain(const struct counting *c, struct assay_counts *out)
{
    const char *name = NULL;
    if (c->result == CUPTI_PRIVILEGES || c->result == CUPTI_PRIVILEGES_OF_GUESTS)
        snprintf(out->missing, sizeof out->missing,
                 "not permitted: the driver lets administrators alone read its counters; "
                 "NVreg_RestrictProfilingToAdminUsers=0 or CAP_SYS_ADMIN permits it");
    else if (c->result == CUPTI_OTHER_SUBSCRIBER)
        snprintf(out->missing, sizeof out->missing, "another profiler is attached to this process");
    else if (c->api->cuptiGetResultString(c->result, &name) == CUPTI_OK && name)
        snprintf(out->missing, sizeof out->missing, "%.60s: %.100s", c->what, name);
    else
        snprintf(out->missing, sizeof out->missing, "%.60s: error %d", c->what, c->result);
}

static enum assay_status count(struct counting *c, const struct assay_kernel *kernel, void *state,
                               const struct assay_work *work, struct assay_counts *out)
{
    enum assay_status status = ASSAY_OK;
    bool all_done = !begin(c);
    for (int i = 0; i < MOST_PASSES && !all_done && status == ASSAY_OK; i++)
        status = make_pass(c, kernel, state, work, &all_done);
    if (status == ASSAY_OK && c->result == CUPTI_OK && !all_done)
        snprintf(out->missing, sizeof out->missing, "CUPTI needs more than %d passes", MOST_PASSES);
    else if (status == ASSAY_OK && c->result == CUPTI_OK)
        take_values(c, out);
    if (c->result != CUPTI_OK)
        explain(c, out);
    end(c);
    return status;
}

static bool can_count(const struct cuda_cupti_api *api)
{
#define HERE(result, name, arguments) api->name &&
    return CUDA_CUPTI_COUNTING(HERE) true;
#undef HERE
}

enum assay_status assay_cuda_counters(assay_device *device, const struct assay_kernel *kernel,
                                      void *state, const struct assay_work *given,
                                      struct assay_counts *out)
{
    struct counting c = {.gpu = (struct cuda_gpu *)device};
    struct assay_work work = *given;
    struct assay_error why = {0};
    assay_counts_clear(out);
    memcpy(c.names, assay_cuda_metrics, sizeof c.names);
    if (!work.stream)
        work.stream = c.gpu->stream;
    if (assay_cuda_open_cupti(&c.api, NULL, &why) != ASSAY_OK)
        snprintf(out->missing, sizeof out->missing, "%.190s", why.message);
    else if (!can_count(c.api))
        snprintf(out->missing, sizeof out->missing,
                 "CUPTI is too old: counting takes that of CUDA 12.6 or newer");
    else
        return count(&c, kernel, state, &work, out);
    return ASSAY_OK;
}
