/* engine_internal.h: the engine as its two files know it: engine.c takes samples, engine_stop.c
 * says who is sampled in a round and when the rounds end. */
#ifndef ASSAY_BENCH_ENGINE_INTERNAL_H
#define ASSAY_BENCH_ENGINE_INTERNAL_H

#include "base/rng.h"
#include "bench/engine.h"

enum {
    ENGINE_ROUNDS_LEAST = 40, /* before precision may end the run */
    ENGINE_PLACE_ROUNDS = 4,  /* in a row at one place: ten places within those */
};

struct assay_engine {
    assay_device *device;
    struct assay_engine_options options;
    struct assay_engine_hooks hooks;
    struct assay_lane *lanes;
    int64_t n_lanes, n_contenders;
    struct assay_rng rng;
    int64_t *order;
    const struct assay_lane *last; /* whose sample was the last */
    int64_t rounds, capacity;
    double *clocks, *scratch;
    double unit_best_ns; /* the fastest probe of the matrix unit so far, or what is known of it */
    double clock_hz;     /* the last one read */
    int64_t clock_read_at;
    int64_t stolen_ns, steal_read_at, steal_read_round; /* as of the last reading */
    int64_t next_check;
    bool overtime; /* the budget is spent */
    int64_t calls; /* of all lanes so far: where the rotation through the sets stands */
};

/* What the lane may spend, by who needs little and what those spent: never less than an even share
 * but for a slow one. */
double engine_share(const assay_engine *e, const struct assay_lane *lane);
/* A lane much slower than the others would eat the whole budget: once it has had its share, it
 * rests. */
bool engine_rests(const assay_engine *e, const struct assay_lane *lane);
/* All that is asked of it is known: it leaves this round to the others. */
bool engine_sits_out(const assay_engine *e, const struct assay_lane *lane);
/* Right after warming up. */
void engine_find_slow_lanes(assay_engine *e);
/* After each round: was it the last? */
bool engine_finished(assay_engine *e);
/* Is everything known? Also brings `precise` and `satisfied` up to date. */
bool engine_all_done(assay_engine *e);

#endif
