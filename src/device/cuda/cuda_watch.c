/* cuda_watch.c: what the GPU does in a profiled pass.
 *
 * By CUPTI, which sees every kernel, copy and fill of anybody in the process. It is attached for
 * the pass alone: what is merely subscribed costs each call 8 to 15 %, so it is finalised before
 * anything is timed again. Around each call, and each node of a model, an identifier is pushed, by
 * which its launches are known.
 *
 * Without CUPTI, by events around each node: when it began and ended, not what was in it. They take
 * a microsecond or two of their own. */
#include "device/cuda/cuda_activity.h"
#include "device/cuda/cuda_gpu.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { BUFFER_BYTES = 1 << 20, MOST_PAIRS = 4096 };

static const int kinds[] = {CUPTI_KIND_EXTERNAL, CUPTI_KIND_DRIVER, CUPTI_KIND_RUNTIME,
                            CUPTI_KIND_KERNEL,   CUPTI_KIND_COPY,   CUPTI_KIND_SET};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* A pair of events, around a node or a whole call. */
struct cuda_pair {
    cu_event begin, end;
    int32_t call, node;
    bool ended;
};

/* CUPTI hands over buffers on threads of its own, to functions without a pointer of ours. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cuda_activities collected;
static const struct cuda_cupti_api *cupti; /* attached; NULL: it is not */

/* ---- CUPTI ----------------------------------------------------------------------------------- */

static void give_buffer(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = assay_calloc(1, BUFFER_BYTES);
    *bytes = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0; /* as many as fit */
}

static void take_buffer(cu_context context, uint32_t stream, uint8_t *buffer, size_t bytes,
                        size_t valid_bytes)
{
    size_t dropped = 0;
    (void)bytes;
    pthread_mutex_lock(&lock);
    if (cupti && buffer && !assay_cuda_activities_read(cupti, buffer, valid_bytes, &collected))
        collected.lost++;
    if (cupti && cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK)
        collected.lost += (int64_t)dropped;
    pthread_mutex_unlock(&lock);
    assay_free(buffer);
}

static void hear_nothing(void *user, int domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static void explain(const struct cuda_cupti_api *api, cupti_result result, const char *what,
                    char *out, size_t size)
{
    const char *name = NULL;
    if (result == CUPTI_OTHER_SUBSCRIBER || (result == CUPTI_MAX_LIMIT && !what))
        snprintf(out, size, "another profiler is attached to this process");
    else if (api->cuptiGetResultString(result, &name) == CUPTI_OK && name)
        snprintf(out, size, "CUPTI does not start: %.100s", name);
    else
        snprintf(out, size, "CUPTI does not start: error %d", result);
}

/* Everything it holds of the process goes: calls are as before. */
static void detach(struct cuda_gpu *gpu, const struct cuda_cupti_api *api, int enabled)
{
    gpu->api->cuCtxSynchronize();
    api->cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
    for (int i = 0; i < enabled; i++)
        api->cuptiActivityDisable(kinds[i]);
    if (gpu->watch.subscriber)
        api->cuptiUnsubscribe(gpu->watch.subscriber);
    api->cuptiFinalize();
    gpu->watch.subscriber = NULL;
    pthread_mutex_lock(&lock);
    cupti = NULL;
    assay_cuda_activities_fini(&collected);
    pthread_mutex_unlock(&lock);
}

static bool attach(struct cuda_gpu *gpu, const struct cuda_cupti_api *api, char *why, size_t size)
{
    int enabled = 0;
    cupti_result result = api->cuptiSubscribe(&gpu->watch.subscriber, hear_nothing, NULL);
    if (result != CUPTI_OK) {
        gpu->watch.subscriber = NULL;
        explain(api, result, NULL, why, size);
        if (result != CUPTI_OTHER_SUBSCRIBER && result != CUPTI_MAX_LIMIT)
            api->cuptiFinalize(); /* and nothing of another profiler's */
        return false;
    }
    pthread_mutex_lock(&lock);
    cupti = api;
    pthread_mutex_unlock(&lock);
    result = api->cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    while (result == CUPTI_OK && enabled < KINDS) {
        result = api->cuptiActivityEnable(kinds[enabled]);
        enabled += result == CUPTI_OK;
    }
    if (result == CUPTI_OK)
        return true;
    explain(api, result, "a kind of records", why, size);
    detach(gpu, api, enabled);
    return false;
}

/* CUPTI's clock against the host's: the closest of a few looks at both. */
static int64_t clock_offset(const struct cuda_cupti_api *api)
{
    enum { LOOKS = 8 };
    int64_t closest = INT64_MAX, offset = 0;
    for (int i = 0; i < LOOKS; i++) {
        uint64_t theirs = 0;
        int64_t before = assay_clock_ns();
        if (api->cuptiGetTimestamp(&theirs) != CUPTI_OK)
            continue;
        int64_t after = assay_clock_ns();
        if (after - before < closest) {
            closest = after - before;
            offset = before + (after - before) / 2 - (int64_t)theirs;
        }
    }
    return offset;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The next pair, begun; NULL: there are too many, or no event can be had. */
static struct cuda_pair *begin_pair(struct cuda_gpu *gpu, int32_t node)
{
    struct cuda_watch *w = &gpu->watch;
    if (w->n_pairs == MOST_PAIRS) {
        w->lost++;
        return NULL;
    }
    struct cuda_pair *pair = &w->pairs[w->n_pairs];
    if ((!pair->begin && gpu->api->cuEventCreate(&pair->begin, 0) != CU_SUCCESS) ||
        (!pair->end && gpu->api->cuEventCreate(&pair->end, 0) != CU_SUCCESS) ||
        gpu->api->cuEventRecord(pair->begin, w->stream) != CU_SUCCESS) {
        w->lost++;
        return NULL;
    }
    pair->call = w->call;
    pair->node = node;
    pair->ended = false;
    w->n_pairs++;
    return pair;
}

static void end_pair(struct cuda_gpu *gpu, struct cuda_pair *pair)
{
    if (pair)
        pair->ended = gpu->api->cuEventRecord(pair->end, gpu->watch.stream) == CU_SUCCESS;
}

static bool between(const struct cuda_gpu *gpu, cu_event from, cu_event to, int64_t *ns)
{
    float ms = 0;
    cu_result result = gpu->api->cuEventElapsedTime_v2
                           ? gpu->api->cuEventElapsedTime_v2(&ms, from, to)
                           : gpu->api->cuEventElapsedTime(&ms, from, to);
    *ns = (int64_t)((double)ms * 1e6);
    return result == CU_SUCCESS;
}

/* From the first event of its call. */
static void take_pairs(struct cuda_gpu *gpu, struct assay_activities *out)
{
    struct cuda_watch *w = &gpu->watch;
    const struct cuda_pair *first = NULL;
    for (int64_t i = 0; i < w->n_pairs; i++) {
        const struct cuda_pair *pair = &w->pairs[i];
        struct assay_activity one = {.kind = ASSAY_ACTIVITY_NODE,
                                     .call = pair->call,
                                     .node = pair->node,
                                     .name = "between events"};
        if (!first || first->call != pair->call)
            first = pair;
        if (!pair->ended || !between(gpu, first->begin, pair->begin, &one.start_ns) ||
            !between(gpu, first->begin, pair->end, &one.end_ns) || one.end_ns < one.start_ns)
            out->lost++;
        else
            assay_activities_add(out, &one);
    }
    out->lost += w->lost;
    w->n_pairs = w->lost = 0;
}

static void close_pairs(struct cuda_gpu *gpu)
{
    struct cuda_watch *w = &gpu->watch;
    for (int64_t i = 0; i < MOST_PAIRS && w->pairs; i++) {
        if (w->pairs[i].begin)
            gpu->api->cuEventDestroy_v2(w->pairs[i].begin);
        if (w->pairs[i].end)
            gpu->api->cuEventDestroy_v2(w->pairs[i].end);
    }
    assay_free(w->pairs);
}

/* ---- what the device does of it -------------------------------------------------------------- */

enum assay_status assay_cuda_watch(assay_device *device, char *how, size_t size,
                                   struct assay_error *err)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    struct cuda_library_path found = {""};
    struct assay_error why = {0};
    const struct cuda_cupti_api *api = NULL;
    char refused[200] = "";
    uint32_t version = 0;
    gpu->watch = (struct cuda_watch){.call = -1, .node = -1};
    if (assay_cuda_open_cupti(&api, &found, &why) != ASSAY_OK)
        snprintf(refused, sizeof refused, "%.190s", why.message);
    else if (attach(gpu, api, refused, sizeof refused)) {
        api->cuptiGetVersion(&version);
        snprintf(how, size, "CUPTI (version %u)", version);
        gpu->watch.cupti = api;
        gpu->watch.on = true;
        return ASSAY_OK;
    }
    gpu->watch.pairs = assay_calloc(MOST_PAIRS, sizeof *gpu->watch.pairs);
    if (!gpu->watch.pairs)
        return assay_error_nomem(err);
    snprintf(how, size, "single kernels, only events around nodes: %s", refused);
    gpu->watch.on = true;
    return ASSAY_OK;
}

void assay_cuda_unwatch(assay_device *device)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    if (gpu->watch.cupti)
        detach(gpu, gpu->watch.cupti, KINDS);
    close_pairs(gpu);
    gpu->watch = (struct cuda_watch){0};
}

static void push(const struct cuda_watch *w, int32_t node)
{
    w->cupti->cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CUSTOM,
                                                     assay_cuda_activity_id(w->call, node));
}

static void pop(const struct cuda_watch *w)
{
    uint64_t last = 0;
    w->cupti->cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CUSTOM, &last);
}

void assay_cuda_watch_call(struct cuda_gpu *gpu, cu_stream stream, bool begins)
{
    struct cuda_watch *w = &gpu->watch;
    if (!w->on)
        return;
    if (begins) {
        w->call++;
        w->stream = stream;
    }
    w->in_call = begins;
    if (w->cupti && begins)
        push(w, -1);
    else if (w->cupti)
        pop(w);
    else if (begins)
        w->whole = begin_pair(gpu, -1);
    else
        end_pair(gpu, w->whole);
}

void assay_cuda_mark(assay_device *device, int32_t node)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    struct cuda_watch *w = &gpu->watch;
    if (!w->on || !w->in_call)
        return;
    bool inside = w->node >= 0;
    w->node = node;
    if (w->cupti && inside)
        pop(w);
    if (w->cupti && node >= 0)
        push(w, node);
    if (!w->cupti && inside)
        end_pair(gpu, w->part);
    if (!w->cupti && node >= 0)
        w->part = begin_pair(gpu, node);
}

enum assay_status assay_cuda_watched(assay_device *device, struct assay_activities *out,
                                     struct assay_error *err)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    struct cuda_watch *w = &gpu->watch;
    enum assay_status status =
        assay_cuda_check(gpu->api->cuCtxSynchronize(), "cuCtxSynchronize", err);
    if (status == ASSAY_OK && w->cupti) {
        w->cupti->cuptiActivityFlushAll(CUPTI_FLUSH_FORCED);
        int64_t offset = clock_offset(w->cupti);
        pthread_mutex_lock(&lock);
        assay_cuda_activities_settle(&collected, offset, out);
        pthread_mutex_unlock(&lock);
    } else if (status == ASSAY_OK && w->on) {
        take_pairs(gpu, out);
    }
    w->call = -1;
    assay_activities_sort(out);
    return status;
}
