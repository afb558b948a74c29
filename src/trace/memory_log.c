#include "trace/memory_log.h"

#include "base/clock.h"

const char *assay_stage_name(enum assay_stage stage)
{
    static const char *const names[ASSAY_STAGES] = {"before", "set up", "prepare", "call",
                                                    "tear down"};
    return names[stage];
}

const char *assay_held_name(enum assay_held held)
{
    static const char *const names[ASSAY_HELDS] = {
        [ASSAY_HELD_INPUT] = "input",
        [ASSAY_HELD_WEIGHT] = "weights",
        [ASSAY_HELD_OUTPUT] = "output",
        [ASSAY_HELD_STATE] = "state and scratch",
        [ASSAY_HELD_PREPARED] = "prepared weights",
        [ASSAY_HELD_PLANNED] = "block of planned buffers",
        [ASSAY_HELD_SAVED] = "block of saved tensors",
        [ASSAY_HELD_CONSTANT] = "constants",
        [ASSAY_HELD_BOOKS] = "bookkeeping",
        [ASSAY_HELD_ELSEWHERE] = "malloc of libraries",
        [ASSAY_HELD_INNER] = "between nodes",
        [ASSAY_HELD_KEPT] = "saved for backward",
        [ASSAY_HELD_GRADIENT] = "gradient",
    };
    return names[held];
}

static void took(void *user, const void *at, size_t bytes, bool on_device)
{
    struct assay_memory_log *log = user;
    assay_memory_log_add(log, (struct assay_memory_event){.address = (uint64_t)(uintptr_t)at,
                                                          .bytes = (int64_t)bytes,
                                                          .node = log->node,
                                                          .what = ASSAY_MEMORY_TOOK,
                                                          .stage = log->stage,
                                                          .held = log->held,
                                                          .on_device = on_device});
}

static void gave(void *user, const void *at)
{
    struct assay_memory_log *log = user;
    assay_memory_log_add(log, (struct assay_memory_event){.address = (uint64_t)(uintptr_t)at,
                                                          .node = -1,
                                                          .what = ASSAY_MEMORY_GAVE,
                                                          .stage = log->stage});
}

enum assay_status assay_memory_log_init(struct assay_memory_log *log, int64_t capacity)
{
    *log = (struct assay_memory_log){.node = -1, .held = ASSAY_HELD_STATE};
    log->events = assay_calloc((size_t)capacity, sizeof *log->events);
    log->capacity = log->events ? capacity : 0;
    log->listener = (struct assay_alloc_listener){log, took, gave};
    return log->events ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

void assay_memory_log_fini(struct assay_memory_log *log)
{
    assay_free(log->events);
    log->events = NULL;
    log->capacity = log->n = 0;
}

void assay_memory_log_begin(struct assay_memory_log *log, enum assay_stage stage)
{
    log->stage = stage;
    assay_alloc_listen(&log->listener);
}

void assay_memory_log_end(struct assay_memory_log *log)
{
    assay_alloc_listen(NULL);
    assay_memory_log_owner(log, ASSAY_HELD_STATE, -1);
}

void assay_memory_log_add(struct assay_memory_log *log, struct assay_memory_event event)
{
    if (log->n == log->capacity) {
        log->lost++;
        return;
    }
    if (event.at_ns == 0)
        event.at_ns = assay_clock_ns();
    log->events[log->n++] = event;
}

void assay_memory_log_owner(struct assay_memory_log *log, enum assay_held held, int32_t node)
{
    if (!log)
        return;
    log->held = held;
    log->node = node;
}

void assay_memory_log_node(struct assay_memory_log *log, int32_t node)
{
    if (log)
        assay_memory_log_add(log, (struct assay_memory_event){.node = node,
                                                              .what = ASSAY_MEMORY_NODE,
                                                              .stage = log->stage});
}
