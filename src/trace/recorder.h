/* recorder.h: what is noted while a kernel is profiled: who worked from when to when.
 *
 * Kernels of assay's own reach it by their problem's host (kernel/host.h), where it is only in a
 * profiled pass: never while anything is timed. They ask once for each call of their `run`. */
#ifndef ASSAY_TRACE_RECORDER_H
#define ASSAY_TRACE_RECORDER_H

#include "base/clock.h"
#include "base/error.h"

#include <stdatomic.h>
#include <stdbool.h>

enum assay_span_kind {
    ASSAY_SPAN_CALL,  /* one call of the variant */
    ASSAY_SPAN_NODE,  /* one node of a model in it; a kernel of an op is its only node */
    ASSAY_SPAN_SHARE, /* what one thread computed of a node */
    ASSAY_SPAN_HOST,  /* the host at work for a GPU: on a node's launches, or on a whole call */
    ASSAY_SPAN_KINDS
};

struct assay_span {
    int64_t start_ns, end_ns; /* of the monotonic clock */
    enum assay_span_kind kind;
    int32_t track; /* of a share: the thread's number */
    int64_t what;  /* of a node: which; of a share: how much it is, in the kernel's own unit, 0: it
                      does not say; of the host: which node, -1: a call */
};

/* Spans that do not fit are counted, and lost. */
struct assay_recorder {
    struct assay_span *spans;
    int64_t capacity;
    _Atomic int64_t n; /* that were offered */
    /* Of a GPU, whose nodes run later than the host passes by them: hears of each that begins, by
     * its number, and of its end by -1. NULL: they run where they are called. */
    void (*mark)(void *user, int32_t node);
    void *mark_user;
};

enum assay_status assay_recorder_init(struct assay_recorder *recorder, int64_t capacity);
void assay_recorder_fini(struct assay_recorder *recorder);
int64_t assay_recorder_kept(const struct assay_recorder *recorder);
int64_t assay_recorder_lost(const struct assay_recorder *recorder);

/* From any thread. */
static inline void assay_recorder_add(struct assay_recorder *recorder, struct assay_span span)
{
    int64_t at = atomic_fetch_add_explicit(&recorder->n, 1, memory_order_relaxed);
    if (at < recorder->capacity)
        recorder->spans[at] = span;
}

/* A thread's share, that began at `began`: assay_recorder_now, which reads the clock only where
 * there is a recorder. */
static inline int64_t assay_recorder_now(const struct assay_recorder *recorder)
{
    return recorder ? assay_clock_ns() : 0;
}

static inline void assay_recorder_share(struct assay_recorder *recorder, int32_t thread,
                                        int64_t began, int64_t units)
{
    if (recorder)
        assay_recorder_add(recorder, (struct assay_span){.start_ns = began,
                                                         .end_ns = assay_clock_ns(),
                                                         .kind = ASSAY_SPAN_SHARE,
                                                         .track = thread,
                                                         .what = units});
}

/* A node of a model begins; to be handed to assay_recorder_node. */
static inline int64_t assay_recorder_enter(const struct assay_recorder *recorder, int32_t node)
{
    if (recorder && recorder->mark)
        recorder->mark(recorder->mark_user, node);
    return assay_recorder_now(recorder);
}

/* A node, by its number in the model, that ends now. */
static inline void assay_recorder_node(struct assay_recorder *recorder, int64_t node, int64_t began)
{
    if (!recorder)
        return;
    assay_recorder_add(
        recorder, (struct assay_span){.start_ns = began,
                                      .end_ns = assay_clock_ns(),
                                      .kind = recorder->mark ? ASSAY_SPAN_HOST : ASSAY_SPAN_NODE,
                                      .what = node});
    if (recorder->mark)
        recorder->mark(recorder->mark_user, -1);
}

#endif
