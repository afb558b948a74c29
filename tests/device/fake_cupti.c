/* fake_cupti.c: a stand-in for CUPTI, which hears from fake_cuda.c what the driver does and hands
 * it over in buffers, in records of the size and layout of CUDA 13's, on a thread of its own, and
 * by another clock than the host's.
 *
 *   FAKE_CUPTI_FAIL=NAME:CODE  function NAME answers CODE
 *   FAKE_CUPTI_CRASH=NAME      function NAME crashes
 *   FAKE_CUPTI_DROP=N          so many records are dropped with the first buffer
 *   FAKE_CUPTI_STRANGE=1       identifiers are lost: no record of them
 *   FAKE_CUPTI_PASSES=N        counting needs N passes over the calls (default 1)
 *   FAKE_CUPTI_LOG=FILE        a line when it is finalised and one when the process ends: how many
 *                              launches it heard, and whether it is still attached
 *
 * Counted are the launches between a range's push and its pop: for each the memory moves 84 bytes
 * and the L2 cache 8400, half of the warps are active, and the units for matrices never.
 *
 * Built twice: FAKE_LEAN is older than counting. */
#define _GNU_SOURCE
#include "device/cuda/cuda_api.h"
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_CUPTI_REQUIRED(DECLARE)
#ifndef FAKE_LEAN
CUDA_CUPTI_COUNTING(DECLARE)
#endif
#undef DECLARE

struct CUpti_Subscriber_st {
    int unused;
};

/* Sizes of the records of CUDA 13.0. */
enum { KERNEL_BYTES = 216, COPY_BYTES = 96, SET_BYTES = 88, EXTERNAL_BYTES = 24, API_BYTES = 40 };
enum { KINDS = 64, DEEPEST = 16, STREAM = 7 };
static const uint64_t CLOCK_AHEAD_NS = 1000000000000000;

static struct CUpti_Subscriber_st the_subscriber;
static bool subscribed, enabled[KINDS];
static cupti_buffer_wanted wanted;
static cupti_buffer_done done;
static uint8_t *buffer;
static size_t buffer_bytes, used;
static uint64_t stack[DEEPEST];
static int depth;
static uint32_t correlation;
static long heard;

static cupti_result scripted(const char *name)
{
    const char *text = getenv("FAKE_CUPTI_FAIL"), *crash = getenv("FAKE_CUPTI_CRASH");
    if (crash && strcmp(crash, name) == 0)
        raise(SIGSEGV);
    size_t length = strlen(name);
    if (!text || strncmp(text, name, length) != 0 || text[length] != ':')
        return CUPTI_OK;
    return (cupti_result)strtol(text + length + 1, NULL, 10);
}

#define SCRIPTED(name)                                                                             \
    do {                                                                                           \
        cupti_result scripted_ = scripted(#name);                                                  \
        if (scripted_ != CUPTI_OK)                                                                 \
            return scripted_;                                                                      \
    } while (0)

static void note(const char *what)
{
    const char *path = getenv("FAKE_CUPTI_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%s: heard %ld launches, %s\n", what, heard,
            subscribed ? "attached" : "not attached");
    fclose(file);
}

__attribute__((destructor)) static void at_the_end(void) { note("end"); }

/* ---- buffers --------------------------------------------------------------------------------- */

static void *complete(void *unused)
{
    (void)unused;
    done(NULL, 0, buffer, buffer_bytes, used);
    return NULL;
}

static void hand_over(void)
{
    pthread_t thread;
    if (!buffer)
        return;
    if (pthread_create(&thread, NULL, complete, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
    buffer = NULL;
    used = 0;
}

static void add(const void *record, size_t own_bytes, size_t bytes)
{
    size_t most = 0;
    if (buffer && used + bytes > buffer_bytes)
        hand_over();
    if (!buffer)
        wanted(&buffer, &buffer_bytes, &most);
    if (!buffer || buffer_bytes < bytes)
        return;                         /* dropped */
    memset(buffer + used, 0xee, bytes); /* what is behind the parts that are read */
    memcpy(buffer + used, record, own_bytes);
    used += bytes;
}

static size_t bytes_of(uint32_t kind)
{
    return kind == CUPTI_KIND_KERNEL     ? KERNEL_BYTES
           : kind == CUPTI_KIND_COPY     ? COPY_BYTES
           : kind == CUPTI_KIND_SET      ? SET_BYTES
           : kind == CUPTI_KIND_EXTERNAL ? EXTERNAL_BYTES
                                         : API_BYTES;
}

/* ---- what is recorded ------------------------------------------------------------------------ */

static void add_work(const struct fake_activity *a)
{
    uint64_t start = (uint64_t)a->start_ns + CLOCK_AHEAD_NS;
    uint64_t end = (uint64_t)a->end_ns + CLOCK_AHEAD_NS;
    if (a->kind == FAKE_KERNEL && enabled[CUPTI_KIND_KERNEL]) {
        cupti_kernel k = {.kind = CUPTI_KIND_KERNEL,
                          .registers = 42,
                          .start = start,
                          .end = end,
                          .stream = STREAM,
                          .grid_x = (int32_t)a->grid[0],
                          .grid_y = (int32_t)a->grid[1],
                          .grid_z = (int32_t)a->grid[2],
                          .block_x = (int32_t)a->block[0],
                          .block_y = (int32_t)a->block[1],
                          .block_z = (int32_t)a->block[2],
                          .static_shared = 16,
                          .dynamic_shared = (int32_t)a->shared_bytes,
                          .correlation = correlation,
                          .name = a->name};
        add(&k, sizeof k, KERNEL_BYTES);
    }
    if (a->kind == FAKE_COPY && enabled[CUPTI_KIND_COPY]) {
        cupti_copy c = {.kind = CUPTI_KIND_COPY,
                        .bytes = a->bytes,
                        .start = start,
                        .end = end,
                        .stream = STREAM,
                        .correlation = correlation};
        add(&c, sizeof c, COPY_BYTES);
    }
    if (a->kind == FAKE_FILL && enabled[CUPTI_KIND_SET]) {
        cupti_set s = {.kind = CUPTI_KIND_SET,
                       .value = a->value,
                       .bytes = a->bytes,
                       .start = start,
                       .end = end,
                       .stream = STREAM,
                       .correlation = correlation};
        add(&s, sizeof s, SET_BYTES);
    }
}

/* The work's record before its call's, as a GPU that is fast: the order says nothing. */
static void hear(const struct fake_activity *a)
{
    correlation++;
    heard++;
    add_work(a);
    if (enabled[CUPTI_KIND_EXTERNAL] && enabled[CUPTI_KIND_DRIVER] && depth > 0 &&
        !getenv("FAKE_CUPTI_STRANGE")) {
        cupti_external e = {.kind = CUPTI_KIND_EXTERNAL,
                            .external_kind = CUPTI_EXTERNAL_CUSTOM,
                            .id = stack[depth - 1],
                            .correlation = correlation};
        add(&e, sizeof e, EXTERNAL_BYTES);
    }
    if (enabled[CUPTI_KIND_DRIVER])
        add(&(cupti_record){CUPTI_KIND_DRIVER}, sizeof(cupti_record), API_BYTES);
}

static void listen_to(void (*hearer)(const struct fake_activity *))
{
    const char *driver = getenv("ASSAY_CUDA_DRIVER");
    void *object = driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void (*to)(void (*heard_by)(const struct fake_activity *)) = NULL;
    void *symbol = object ? dlsym(object, "fake_cuda_listen") : NULL;
    memcpy(&to, &symbol, sizeof to);
    if (to)
        to(hearer);
    if (object)
        dlclose(object);
}

/* ---- the library's functions ----------------------------------------------------------------- */

cupti_result cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return CUPTI_OK;
}

cupti_result cuptiGetResultString(cupti_result result, const char **text)
{
    *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_OK;
}

cupti_result cuptiGetTimestamp(uint64_t *ns)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec + CLOCK_AHEAD_NS;
    return CUPTI_OK;
}

cupti_result cuptiSubscribe(cupti_subscriber *subscriber, cupti_callback callback, void *user)
{
    SCRIPTED(cuptiSubscribe);
    (void)user;
    if (subscribed)
        return CUPTI_OTHER_SUBSCRIBER;
    if (!callback)
        return 1;
    subscribed = true;
    *subscriber = &the_subscriber;
    listen_to(hear);
    return CUPTI_OK;
}

cupti_result cuptiUnsubscribe(cupti_subscriber subscriber)
{
    return subscriber == &the_subscriber ? CUPTI_OK : 1;
}

cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_wanted w, cupti_buffer_done d)
{
    SCRIPTED(cuptiActivityRegisterCallbacks);
    wanted = w;
    done = d;
    return CUPTI_OK;
}

cupti_result cuptiActivityEnable(int kind)
{
    SCRIPTED(cuptiActivityEnable);
    if (!wanted || kind < 0 || kind >= KINDS)
        return 1;
    enabled[kind] = true;
    return CUPTI_OK;
}

cupti_result cuptiActivityDisable(int kind)
{
    enabled[kind] = false;
    return CUPTI_OK;
}

cupti_result cuptiActivityFlushAll(uint32_t flag)
{
    SCRIPTED(cuptiActivityFlushAll);
    (void)flag;
    hand_over();
    return CUPTI_OK;
}

cupti_result cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid_bytes, cupti_record **record)
{
    SCRIPTED(cuptiActivityGetNextRecord);
    uint8_t *next = *record ? (uint8_t *)*record + bytes_of((*record)->kind) : bytes;
    if (next >= bytes + valid_bytes)
        return CUPTI_MAX_LIMIT;
    *record = (cupti_record *)(void *)next;
    return CUPTI_OK;
}

cupti_result cuptiActivityGetNumDroppedRecords(cu_context context, uint32_t stream, size_t *dropped)
{
    static bool told;
    const char *text = getenv("FAKE_CUPTI_DROP");
    (void)context, (void)stream;
    *dropped = text && !told ? strtoul(text, NULL, 10) : 0;
    told = true;
    return CUPTI_OK;
}

cupti_result cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
    if (kind != CUPTI_EXTERNAL_CUSTOM || depth == DEEPEST)
        return 1;
    stack[depth++] = id;
    return CUPTI_OK;
}

cupti_result cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last)
{
    if (kind != CUPTI_EXTERNAL_CUSTOM || depth == 0)
        return 18; /* CUPTI_ERROR_QUEUE_EMPTY */
    *last = stack[--depth];
    return CUPTI_OK;
}

/* What was not flushed is lost. */
cupti_result cuptiFinalize(void)
{
    listen_to(NULL);
    subscribed = false;
    memset(enabled, 0, sizeof enabled);
    buffer = NULL;
    used = 0;
    depth = 0;
    note("finalised");
    return CUPTI_OK;
}

/* ---- counting -------------------------------------------------------------------------------- */

#ifndef FAKE_LEAN

struct CUpti_Profiler_Host_Object {
    size_t metrics;
};
struct CUpti_RangeProfiler_Object {
    bool configured, started, in_range, decoded;
    long launches; /* of the pass that goes on, in the range */
    long passes;
    double counted;
};

static struct CUpti_Profiler_Host_Object host;
static struct CUpti_RangeProfiler_Object range;
static bool initialised, host_there, range_there;
enum { CONFIG_BYTES = 40, IMAGE_BYTES = 80, INVALID = 1, INVALID_OPERATION = 7 };

/* Every struct says its own length. */
#define CHECKED(name, type, last)                                                                  \
    do {                                                                                           \
        SCRIPTED(name);                                                                            \
        if (p->size != CUPTI_PARAMS(type, last) || p->priv || !initialised)                        \
            return INVALID;                                                                        \
    } while (0)

static void hear_counted(const struct fake_activity *a)
{
    (void)a;
    heard++;
    range.launches += range.in_range;
}

cupti_result cuptiProfilerInitialize(struct cupti_plain *p)
{
    initialised = true;
    CHECKED(cuptiProfilerInitialize, cupti_plain, priv);
    return CUPTI_OK;
}

cupti_result cuptiProfilerDeInitialize(struct cupti_plain *p)
{
    CHECKED(cuptiProfilerDeInitialize, cupti_plain, priv);
    initialised = false;
    return host_there || range_there ? INVALID_OPERATION : CUPTI_OK;
}

cupti_result cuptiDeviceGetChipName(struct cupti_chip *p)
{
    CHECKED(cuptiDeviceGetChipName, cupti_chip, name);
    p->name = "GH100";
    return p->device == 0 ? CUPTI_OK : INVALID;
}

cupti_result cuptiProfilerGetCounterAvailability(struct cupti_availability *p)
{
    CHECKED(cuptiProfilerGetCounterAvailability, cupti_availability, image);
    if (!p->context)
        return INVALID;
    if (p->image)
        memset(p->image, 1, p->bytes);
    p->bytes = 24;
    return CUPTI_OK;
}

cupti_result cuptiProfilerHostInitialize(struct cupti_host *p)
{
    CHECKED(cuptiProfilerHostInitialize, cupti_host, object);
    if (p->type != CUPTI_TYPE_RANGE || strcmp(p->chip, "GH100") != 0 || p->availability[0] != 1)
        return INVALID;
    host = (struct CUpti_Profiler_Host_Object){0};
    host_there = true;
    p->object = &host;
    return CUPTI_OK;
}

cupti_result cuptiProfilerHostDeinitialize(struct cupti_host_end *p)
{
    CHECKED(cuptiProfilerHostDeinitialize, cupti_host_end, object);
    host_there = false;
    return p->object == &host ? CUPTI_OK : INVALID;
}

cupti_result cuptiProfilerHostConfigAddMetrics(struct cupti_host_metrics *p)
{
    CHECKED(cuptiProfilerHostConfigAddMetrics, cupti_host_metrics, n);
    for (size_t i = 0; i < p->n; i++)
        if (!strstr(p->names[i], "__"))
            return INVALID;
    host.metrics = p->n;
    return CUPTI_OK;
}

cupti_result cuptiProfilerHostGetConfigImageSize(struct cupti_host_size *p)
{
    CHECKED(cuptiProfilerHostGetConfigImageSize, cupti_host_size, bytes);
    p->bytes = CONFIG_BYTES;
    return CUPTI_OK;
}

cupti_result cuptiProfilerHostGetConfigImage(struct cupti_host_config *p)
{
    CHECKED(cuptiProfilerHostGetConfigImage, cupti_host_config, image);
    if (p->bytes != CONFIG_BYTES || host.metrics == 0)
        return INVALID;
    memset(p->image, 2, CONFIG_BYTES);
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerEnable(struct cupti_range_enable *p)
{
    CHECKED(cuptiRangeProfilerEnable, cupti_range_enable, object);
    if (!p->context || subscribed)
        return CUPTI_OTHER_SUBSCRIBER;
    range = (struct CUpti_RangeProfiler_Object){0};
    range_there = true;
    p->object = &range;
    listen_to(hear_counted);
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerDisable(struct cupti_range *p)
{
    CHECKED(cuptiRangeProfilerDisable, cupti_range, object);
    range_there = false;
    listen_to(NULL);
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerGetCounterDataSize(struct cupti_range_size *p)
{
    CHECKED(cuptiRangeProfilerGetCounterDataSize, cupti_range_size, bytes);
    p->bytes = IMAGE_BYTES;
    return p->object == &range && p->n == host.metrics && p->ranges == 1 && p->nodes >= p->ranges
               ? CUPTI_OK
               : INVALID;
}

cupti_result cuptiRangeProfilerCounterDataImageInitialize(struct cupti_range_image *p)
{
    CHECKED(cuptiRangeProfilerCounterDataImageInitialize, cupti_range_image, image);
    memset(p->image, 3, p->bytes);
    return p->bytes == IMAGE_BYTES ? CUPTI_OK : INVALID;
}

cupti_result cuptiRangeProfilerSetConfig(struct cupti_range_config *p)
{
    CHECKED(cuptiRangeProfilerSetConfig, cupti_range_config, target_level);
    range.configured = p->config_bytes == CONFIG_BYTES && p->config[0] == 2 &&
                       p->image_bytes == IMAGE_BYTES && p->image[0] == 3 &&
                       p->range == CUPTI_USER_RANGE && p->replay == CUPTI_USER_REPLAY &&
                       p->ranges == 1 && p->levels == 1 && p->least_level == 1 && p->pass == 0 &&
                       p->target_level == 1;
    return range.configured ? CUPTI_OK : INVALID;
}

cupti_result cuptiRangeProfilerStart(struct cupti_range *p)
{
    CHECKED(cuptiRangeProfilerStart, cupti_range, object);
    range.started = range.configured;
    range.launches = 0;
    return range.started ? CUPTI_OK : INVALID_OPERATION;
}

cupti_result cuptiRangeProfilerPushRange(struct cupti_range_push *p)
{
    CHECKED(cuptiRangeProfilerPushRange, cupti_range_push, name);
    range.in_range = range.started && p->name;
    return range.in_range ? CUPTI_OK : INVALID_OPERATION;
}

cupti_result cuptiRangeProfilerPopRange(struct cupti_range *p)
{
    CHECKED(cuptiRangeProfilerPopRange, cupti_range, object);
    bool was = range.in_range;
    range.in_range = false;
    return was ? CUPTI_OK : INVALID_OPERATION;
}

cupti_result cuptiRangeProfilerStop(struct cupti_range_stop *p)
{
    CHECKED(cuptiRangeProfilerStop, cupti_range_stop, all_done);
    const char *text = getenv("FAKE_CUPTI_PASSES");
    long passes = text ? strtol(text, NULL, 10) : 1;
    p->all_done = ++range.passes >= passes;
    range.counted = (double)range.launches; /* each pass is of the same calls */
    range.started = false;
    return CUPTI_OK;
}

cupti_result cuptiRangeProfilerDecodeData(struct cupti_range_decode *p)
{
    CHECKED(cuptiRangeProfilerDecodeData, cupti_range_decode, dropped);
    p->dropped = 0;
    range.decoded = range.passes > 0 && !range.started;
    return range.decoded ? CUPTI_OK : INVALID_OPERATION;
}

cupti_result cuptiRangeProfilerGetCounterDataInfo(struct cupti_range_info *p)
{
    CHECKED(cuptiRangeProfilerGetCounterDataInfo, cupti_range_info, ranges);
    p->ranges = range.decoded;
    return p->bytes == IMAGE_BYTES ? CUPTI_OK : INVALID;
}

cupti_result cuptiProfilerHostEvaluateToGpuValues(struct cupti_host_values *p)
{
    CHECKED(cuptiProfilerHostEvaluateToGpuValues, cupti_host_values, values);
    if (p->object != &host || p->range != 0 || p->n != host.metrics || p->bytes != IMAGE_BYTES)
        return INVALID;
    for (size_t i = 0; i < p->n; i++)
        p->values[i] = strncmp(p->names[i], "dram", 4) == 0        ? 84 * range.counted
                       : strncmp(p->names[i], "lts", 3) == 0       ? 8400 * range.counted
                       : strncmp(p->names[i], "sm__warps", 9) == 0 ? 50
                                                                   : 0;
    return CUPTI_OK;
}

#endif
