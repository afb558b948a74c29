/* watch.h: a page shared by supervisor and worker: which variant is running, a beat that shows
 * life, and the wish to stop. Written with plain stores once a sample; what a dead worker last
 * wrote stays readable. */
#ifndef ASSAY_BENCH_WATCH_H
#define ASSAY_BENCH_WATCH_H

#include <stdatomic.h>
#include <stdint.h>

#define ASSAY_WATCH_VERSION 5

struct assay_watch {
    uint32_t version;
    _Atomic int32_t stop;      /* supervisor: finish the current sample and report */
    _Atomic int64_t beat;      /* worker: grows with every step */
    _Atomic int64_t variant;   /* worker: whose kernel runs; -1: the harness itself */
    _Atomic int32_t opening;   /* worker: 1 + the plug-in of the job that it waits for; 0: none */
    _Atomic int32_t no_memory; /* worker: it ended itself because it could get no memory */
    _Atomic int32_t counting;  /* worker: counters are on, and nothing is timed */
    char last_words[160];      /* worker: why it ended itself; empty where it did not */
};

/* The worker's sign of life: whose kernel runs from here on. */
static inline void assay_watch_step(struct assay_watch *watch, int64_t variant)
{
    atomic_store_explicit(&watch->variant, variant, memory_order_relaxed);
    atomic_fetch_add_explicit(&watch->beat, 1, memory_order_relaxed);
}

#endif
