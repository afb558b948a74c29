/* fake_cupti.c: a stand-in for CUPTI, which hears from fake_cuda.c what the driver does and hands
 * it over in buffers, in records of the size and layout of CUDA 13's, on a thread of its own, and
 * by another clock than the host's. FAKE_CUPTI_FAIL=NAME:CODE  function NAME answers CODE
 *   FAKE_CUPTI_DROP=N          so many records are dropped with the first buffer
 *   FAKE_CUPTI_STRANGE=1       identifiers are lost: no record of them
 *   FAKE_CUPTI_LOG=FILE        a line when it is finalised and one when the process ends: how many
 *                              launches it heard, and whether it is still attached */
#define _GNU_SOURCE
#include "device/cuda/cuda_api.h"
#include "fake.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DECLARE(result, name, arguments) result name arguments;
CUDA_CUPTI_REQUIRED(DECLARE)
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
    const char *text = getenv("FAKE_CUPTI_FAIL");
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

static void listen(bool on)
{
    const char *driver = getenv("ASSAY_CUDA_DRIVER");
    void *object = driver ? dlopen(driver, RTLD_NOW | RTLD_NOLOAD) : NULL;
    void (*to)(void (*heard_by)(const struct fake_activity *)) = NULL;
    void *symbol = object ? dlsym(object, "fake_cuda_listen") : NULL;
    memcpy(&to, &symbol, sizeof to);
    if (to)
        to(on ? hear : NULL);
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
    listen(true);
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
    listen(false);
    subscribed = false;
    memset(enabled, 0, sizeof enabled);
    buffer = NULL;
    used = 0;
    depth = 0;
    note("finalised");
    return CUPTI_OK;
}
