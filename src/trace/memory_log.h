/* memory_log.h: what is noted in a variant's memory pass: what was allocated and released, for
 * whom, and which node was running.
 *
 * One thread's: a log hears of the allocations of the thread that listens. Those who allocate say
 * for whom before, by the log that their problem's host has (kernel/host.h) in such a pass alone.
 */
#ifndef ASSAY_TRACE_MEMORY_LOG_H
#define ASSAY_TRACE_MEMORY_LOG_H

#include "base/alloc.h"
#include "base/error.h"

/* What a variant is at. */
enum assay_stage {
    ASSAY_STAGE_BEFORE, /* its operands are there */
    ASSAY_STAGE_SETUP,
    ASSAY_STAGE_PREPARE,
    ASSAY_STAGE_CALL,
    ASSAY_STAGE_TEARDOWN,
    ASSAY_STAGES
};
const char *assay_stage_name(enum assay_stage stage); /* "set up", "prepare", … */

/* What memory is held for. */
enum assay_held {
    ASSAY_HELD_INPUT, /* operands */
    ASSAY_HELD_WEIGHT,
    ASSAY_HELD_OUTPUT,
    ASSAY_HELD_STATE,    /* a kernel's own, scratch buffers among it */
    ASSAY_HELD_PREPARED, /* weights as a kernel wants them */
    ASSAY_HELD_PLANNED,  /* the block of what lies between a model's nodes */
    ASSAY_HELD_SAVED,    /* the block of what a forward pass leaves to the backward pass */
    ASSAY_HELD_CONSTANT, /* ones and zeros that nodes read */
    ASSAY_HELD_BOOKS,    /* assay's own lists */
    ASSAY_HELD_ELSEWHERE /* what libraries took of malloc by themselves: a sum, not one allocation
                          */
    ,
    /* Of buffers in those blocks: */
    ASSAY_HELD_INNER,    /* a value between nodes */
    ASSAY_HELD_KEPT,     /* one that is saved for the backward pass */
    ASSAY_HELD_GRADIENT, /* one that the backward pass makes */
    ASSAY_HELDS
};
const char *assay_held_name(enum assay_held held); /* "input", "saved for backward", … */

enum assay_memory_what {
    ASSAY_MEMORY_TOOK,
    ASSAY_MEMORY_GAVE,
    ASSAY_MEMORY_NODE, /* a call has come to this node; -1: to its end */
    ASSAY_MEMORY_WHATS
};

struct assay_memory_event {
    int64_t at_ns; /* of the monotonic clock */
    uint64_t address;
    int64_t bytes;
    int32_t node; /* -1: none; of an operand, which */
    enum assay_memory_what what;
    enum assay_stage stage;
    enum assay_held held;
    bool on_device;
};

/* Events that do not fit are counted, and lost. */
struct assay_memory_log {
    struct assay_memory_event *events;
    int64_t capacity, n, lost;
    enum assay_stage stage;
    enum assay_held held; /* for whom the next is allocated */
    int32_t node;
    struct assay_alloc_listener listener;
};

enum assay_status assay_memory_log_init(struct assay_memory_log *log, int64_t capacity);
void assay_memory_log_fini(struct assay_memory_log *log);

/* From here on this thread's allocations are noted; and no more. The log stays where it is. */
void assay_memory_log_begin(struct assay_memory_log *log, enum assay_stage stage);
void assay_memory_log_end(struct assay_memory_log *log);

/* What nobody could hear of: operands, and sums. */
void assay_memory_log_add(struct assay_memory_log *log, struct assay_memory_event event);

/* For whom the next allocations are. NULL is fine. */
void assay_memory_log_owner(struct assay_memory_log *log, enum assay_held held, int32_t node);
/* A call comes to a node. NULL is fine. */
void assay_memory_log_node(struct assay_memory_log *log, int32_t node);

#endif
