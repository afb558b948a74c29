/* engine.h: rounds of samples. Knows lanes (a kernel ready to run) and a device's clock, and
 * nothing of ops, processes or reports.
 *
 * In each round every lane is sampled once, in a random order, so that drift of the clock and noise
 * from neighbours hit all lanes alike and the ratio within a round is fair. Rounds go on until the
 * interval of every lane's median, and of every ratio to the baseline, is within the goal and the
 * ratio is decided (clearly not 1, or 1 within the goal), or the budget is spent.
 * docs/measuring.md gives the reasons for each number here. */
#ifndef ASSAY_BENCH_ENGINE_H
#define ASSAY_BENCH_ENGINE_H

#include "device/device.h"
#include "stats/stats.h"

struct assay_engine_options {
    double precision;       /* goal: half of the 95 % interval over the median */
    double budget_ns;       /* for all lanes together */
    bool overtime;          /* up to four times that while a difference is open: see is_open */
    int64_t warmup, rounds; /* fixed numbers; 0: settle, and stop by precision or budget */
    bool within_budget;     /* the fixed numbers are the most: the budget ends a lane too */
    uint64_t seed;          /* of the order within the rounds */
    double timer_ns;        /* cost of one clock reading */
    double floor_ns;        /* samples below three times this are counted */
    double unit_full_ns;    /* of a probe of the matrix unit at full speed; 0: not known */
    int64_t baseline;       /* a lane, or -1 */
    /* Calls in a sample, where the caller counts them: then a lane is called `warmup` times and
     * `rounds` times so many, and at no other time. 0: as many as a sample needs to be long enough.
     */
    int64_t calls;
};

/* What disturbed a sample, as bits. */
enum {
    ASSAY_MARK_SWITCHED = 1, /* the process lost its core, and waited for it or may have */
    ASSAY_MARK_WAITED = 2,   /* a thread waited for a core, for more than 1 % of the sample */
    ASSAY_MARK_STOLEN = 4,   /* the host took a core away, within a few hundredths of a second */
    ASSAY_MARK_THROTTLED = 8 /* something held the device's clock down */
};

/* One variant, or a probe. The caller sets the first block, the engine the second. */
struct assay_lane {
    const struct assay_kernel *kernel;
    void *state;
    assay_device *device;          /* that runs it; NULL: the engine's */
    const struct assay_args *sets; /* as in struct assay_work; they outlive the engine */
    int64_t n_sets;
    /* Of a hot lane: how many of `sets` it takes in turns, a few rounds with each; 0: the first
     * alone. Lanes on different devices are then compared by places, see assay_engine_compare. */
    int64_t places;
    /* Not a variant: what the machine can do. All probes together take at most a fifth of the
     * time, in rounds spread over the run; a run that could stop waits for ten of them. */
    bool probe;

    int64_t place_rounds; /* in a row at one place: fewer where there are few rounds */
    int64_t next_set;     /* the set behind the last one it ran on */
    enum assay_status
        status;      /* what run last returned; a lane that fails is left out from then on */
    int64_t iters;   /* calls in a sample */
    double call_ns;  /* the estimate from warming up */
    double pace_ns;  /* of the fastest lane that is about as fast: it sets the calls in a sample */
    double *samples; /* one a round, ns per call; NaN where the lane sat out */
    uint8_t *marks;  /* one a round: what disturbed it */
    int64_t taken;   /* samples that are numbers */
    double spent_ns;
    int64_t context_switches, near_floor;
    double *fast;      /* the samples between fast probes of the matrix unit, NaN for others */
    bool unit_fast;    /* the last sample was such a one */
    int64_t slow_unit; /* samples beside a slow probe of the matrix unit, taken again or kept */
    int64_t throttled; /* samples while something held the device's clock down */
    double host_ns;    /* the host's side of one call, in the last sample */
    bool elsewhere;    /* it was timed by the host's clock: see struct assay_timing */
    bool slow;         /* much slower than the baseline: few samples say so */
    bool reviewed;     /* they did say so, or it is not slow any more */
    bool overtime;     /* it goes on although its share of the budget is spent */
    bool precise;
    bool satisfied; /* all that is asked of it is known: few rounds more */
};

/* Is the next sample one that is looked at: an extra one, which is not counted, or this one? */
enum assay_look { ASSAY_LOOK_AWAY, ASSAY_LOOK_ASIDE, ASSAY_LOOK_COUNTED };

/* What the caller wants to hear of. All optional. */
struct assay_engine_hooks {
    void *user;
    void (*step)(void *user, int64_t lane); /* before every call into a kernel */
    bool (*stop)(void *user);               /* true: finish this sample and return */
    /* Samples that the caller looks at: `before` comes right before one (after the priming) and
     * `after` right behind it, both with the work that is timed. `after` is false where the lane is
     * to be left out from then on; its status is then ASSAY_ERR_CORRUPT. All three or none. */
    enum assay_look (*look)(void *user, int64_t lane);
    void (*before)(void *user, int64_t lane, const struct assay_work *work);
    bool (*after)(void *user, int64_t lane, const struct assay_work *work, double ns);
};

typedef struct assay_engine assay_engine;

/* `lanes` stay the caller's and must outlive the engine. */
enum assay_status assay_engine_create(assay_device *device,
                                      const struct assay_engine_options *options,
                                      const struct assay_engine_hooks *hooks,
                                      struct assay_lane *lanes, int64_t n_lanes, assay_engine **out,
                                      struct assay_error *err);
void assay_engine_destroy(assay_engine *engine);

/* Warms up, then measures. ASSAY_ERR_INTERRUPTED when stop() said so: what was sampled stays. */
enum assay_status assay_engine_run(assay_engine *engine, struct assay_error *err);

/* How `mine` compares with `base` after so many rounds. In two processes operands that nearly fill
 * a cache lie in it by luck, as their pages do in memory: where both took several places in turns,
 * that luck is part of what the interval allows for. Between the judge and a runner a part of it
 * is the same in every round, ASSAY_STATS_APART. `scratch` holds twice the rounds. */
void assay_engine_compare(const struct assay_lane *base, const struct assay_lane *mine,
                          int64_t rounds, double *scratch, struct assay_ratio *out);

int64_t assay_engine_rounds(const assay_engine *engine);
/* The clock in each round's middle, Hz; zeros where it cannot be read. */
const double *assay_engine_clocks(const assay_engine *engine);

#endif
