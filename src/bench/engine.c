#include "bench/engine_internal.h"

#include "base/alloc.h"
#include "base/math.h"
#include "kernel/kernel.h"

#include <math.h>

/* A sample is long enough that two clock readings of 20 ns are 0.02 % of it, and short enough that
 * most samples see no interruption on a busy machine (gaps there come a few times a second). */
static const double SAMPLE_NS = 200e3;
/* Before each sample the lane runs untimed for so long, once at the least: the previous lane has
 * left its own data in the caches and may have changed the clock (wide vectors take 0.3 ms to ramp
 * up). */
static const double PRIME_NS = 100e3;
/* A call this long makes its own warmth; priming it would only double the cost. */
static const double NO_PRIME_NS = 5e6;
/* After a lane that has memory of its own, a probe or one in another process, and before one, a hot
 * lane is primed with so many calls: a large cache keeps what comes again only after some passes
 * (192 MB in one of 300 MB: 115 GB/s in the second pass, 180 in the third, 210 from the fifth on).
 */
static const int64_t PRIME_CALLS = 4;
/* Where all lanes are primed like that, a sample has so many calls at the least: priming takes most
 * of the time, and twice as many samples would be less certain than ones twice as long. */
static const int64_t PRIMED_LEAST = 2;
/* Cold, there is no warmth to make but the clock's and the code's. */
static const double NO_PRIME_COLD_NS = 500e3;
/* And one this long counts although it is the first. */
static const double FIRST_COUNTS_NS = 20e6;
/* Settling: so long at the least, and at the most. */
static const double SETTLE_LEAST_NS = 2e6, SETTLE_MOST_NS = 60e6;
/* The figure has settled when two medians of three samples agree to this. */
static const double SETTLED = 0.02;

/* A probe this much longer than the best one is one at the slow speed; one at full speed differs
 * from it by 1 % at the most, and is known from those between by this. */
static const double UNIT_SLOW = 1.35, UNIT_FULL = 1.05;
/* A sample whose threads waited for a core for more than this share of it was disturbed. */
static const double WAITED_FRAC = 0.01;
/* Probes run while their time is at most this share of the variants'. */
static const double PROBE_SHARE = 0.25;
/* Their samples take no longer than this. */
static const double PROBE_MOST_NS = 50e6;
/* Lanes whose calls differ by less than this factor are as good as alike. */
static const double ALIKE = 1.3;

enum {
    UNIT_TRIES = 3,
    CLOCK_EVERY_NS = 2000000,
    STEAL_EVERY_NS = 10000000,
};

enum assay_status assay_engine_create(assay_device *device,
                                      const struct assay_engine_options *options,
                                      const struct assay_engine_hooks *hooks,
                                      struct assay_lane *lanes, int64_t n_lanes, assay_engine **out,
                                      struct assay_error *err)
{
    assay_engine *e = assay_calloc(1, sizeof *e);
    if (!e)
        return assay_error_nomem(err);
    *e = (assay_engine){
        .device = device,
        .options = *options,
        .hooks = *hooks,
        .lanes = lanes,
        .n_lanes = n_lanes,
        .rng = {options->seed},
        .unit_best_ns = options->unit_full_ns,
        .next_check = ENGINE_ROUNDS_LEAST,
    };
    e->order = assay_calloc((size_t)n_lanes, sizeof *e->order);
    if (!e->order) {
        assay_engine_destroy(e);
        return assay_error_nomem(err);
    }
    for (int64_t i = 0; i < n_lanes; i++) {
        struct assay_lane fresh = {.kernel = lanes[i].kernel,
                                   .state = lanes[i].state,
                                   .device = lanes[i].device ? lanes[i].device : device,
                                   .sets = lanes[i].sets,
                                   .n_sets = lanes[i].n_sets,
                                   .places = lanes[i].places,
                                   .place_rounds = ENGINE_PLACE_ROUNDS,
                                   .probe = lanes[i].probe};
        lanes[i] = fresh;
        e->n_contenders += !fresh.probe;
        e->order[i] = i;
    }
    *out = e;
    return ASSAY_OK;
}

void assay_engine_destroy(assay_engine *engine)
{
    if (!engine)
        return;
    for (int64_t i = 0; i < engine->n_lanes; i++) {
        assay_free(engine->lanes[i].samples);
        assay_free(engine->lanes[i].fast);
        assay_free(engine->lanes[i].marks);
        engine->lanes[i].samples = engine->lanes[i].fast = NULL;
        engine->lanes[i].marks = NULL;
    }
    assay_free(engine->order);
    assay_free(engine->clocks);
    assay_free(engine->scratch);
    assay_free(engine);
}

int64_t assay_engine_rounds(const assay_engine *engine) { return engine->rounds; }
const double *assay_engine_clocks(const assay_engine *engine) { return engine->clocks; }

static bool stopped(const assay_engine *e) { return e->hooks.stop && e->hooks.stop(e->hooks.user); }

static double now(const assay_engine *e) { return (double)e->device->driver->now_ns(e->device); }

/* Of the lane's sets the one that a hot sample of this round is taken on. */
static int64_t place_of(const assay_engine *e, const struct assay_lane *lane)
{
    return lane->places > 1 ? e->rounds / lane->place_rounds % lane->places : 0;
}

/* One rotation for all lanes. With a position of its own a lane would trail through sets that
 * another has just brought into the cache. */
static struct assay_work next_work(const assay_engine *e, const struct assay_lane *lane,
                                   int64_t iters)
{
    return (struct assay_work){.iters = iters,
                               .first = e->calls % lane->n_sets,
                               .n_sets = lane->n_sets,
                               .sets = lane->sets + place_of(e, lane)};
}

/* Runs `iters` calls of a lane, timed; the lane's status tells whether it worked. */
static struct assay_timing time_lane(assay_engine *e, struct assay_lane *lane, int64_t iters)
{
    struct assay_work work = next_work(e, lane, iters);
    struct assay_timing timing = {0};
    assay_device *device = lane->device;
    if (e->hooks.step)
        e->hooks.step(e->hooks.user, lane - e->lanes);
    lane->status = device->driver->time(device, lane->kernel, lane->state, &work, &timing);
    e->calls += iters;
    lane->next_set = e->calls % lane->n_sets;
    lane->host_ns = timing.host_ns / (double)iters;
    lane->elsewhere = timing.elsewhere;
    return timing;
}

static double run_lane(assay_engine *e, struct assay_lane *lane, int64_t iters)
{
    return time_lane(e, lane, iters).device_ns;
}

static int64_t calls_within(double ns, double call_ns)
{
    double calls = ceil(ns / (call_ns > 0.01 ? call_ns : 0.01));
    return calls < 1 ? 1 : calls > 1e9 ? (int64_t)1e9 : (int64_t)calls;
}

/* A sample must also be 1000 times the clock's own cost: two readings. */
static double sample_length(const assay_engine *e)
{
    double least = 2000 * e->options.timer_ns;
    return least > SAMPLE_NS ? least : SAMPLE_NS;
}

/* Doubles the number of calls until they are long enough to time, and sets `iters` from it. The
 * first call pays for page faults and code, so it only counts where it is too long to repeat
 * lightly. */
static void choose_iters(assay_engine *e, struct assay_lane *lane)
{
    int64_t iters = 1;
    double ns = run_lane(e, lane, 1);
    bool enough = ns >= FIRST_COUNTS_NS;
    while (!enough && lane->status == ASSAY_OK && !stopped(e)) {
        ns = run_lane(e, lane, iters);
        enough = ns >= sample_length(e) / 2 || iters > (int64_t)5e8;
        if (!enough)
            iters *= 2;
    }
    lane->call_ns = ns / (double)iters;
    lane->iters = calls_within(sample_length(e), lane->call_ns);
}

static double median3(const double *v)
{
    double a = v[0], b = v[1], c = v[2];
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Samples until the figure has stopped moving: the median of the last three agrees with that of the
 * three before. */
static void settle(assay_engine *e, struct assay_lane *lane)
{
    double recent[6] = {0}, spent = 0;
    int64_t taken = 0;
    while (lane->status == ASSAY_OK && spent < SETTLE_MOST_NS && !stopped(e)) {
        double ns = run_lane(e, lane, lane->iters);
        spent += ns;
        recent[taken++ % 6] = ns / (double)lane->iters;
        if (taken < 6 || taken % 3 != 0)
            continue;
        double a = median3(recent), b = median3(recent + 3);
        lane->call_ns = taken % 6 == 0 ? b : a;
        if (fabs(a - b) <= SETTLED * b && spent >= SETTLE_LEAST_NS)
            break;
    }
    lane->iters = calls_within(sample_length(e), lane->call_ns);
}

static void warm_up(assay_engine *e, struct assay_lane *lane)
{
    if (e->options.calls > 0)
        lane->iters = e->options.calls;
    else
        choose_iters(e, lane);
    if (lane->probe) /* opening it has warmed it up */
        return;
    if (e->options.warmup > 0 || e->options.calls > 0) {
        double spent = 0, most = e->options.budget_ns / (double)(2 * e->n_contenders);
        for (int64_t i = 0; i < e->options.warmup && lane->status == ASSAY_OK && !stopped(e); i++)
            if (!e->options.within_budget || spent < most)
                spent += run_lane(e, lane, 1);
    } else if (lane->call_ns < SETTLE_MOST_NS) {
        settle(e, lane);
    }
}

/* A probe's sample is as long as the shortest of a variant's. Where the machine's speed changes
 * within milliseconds a long sample meets its mean and a short one what it is most of the time: of
 * calls of 20 ms beside probes of 6 ms some were at 130 % of the ceiling. */
static double probe_sample_length(const assay_engine *e)
{
    double shortest = PROBE_MOST_NS;
    for (int64_t i = 0; i < e->n_lanes; i++)
        if (!e->lanes[i].probe && e->lanes[i].status == ASSAY_OK)
            shortest = fmin(shortest, e->lanes[i].call_ns);
    return fmax(shortest, sample_length(e));
}

/* Is a hot lane sampled in turns with ones in other processes, so that it has to be primed well? */
static bool has_rival_elsewhere(const assay_engine *e, const struct assay_lane *lane)
{
    bool any = false;
    for (int64_t i = 0; i < e->n_lanes; i++)
        any = any || (!e->lanes[i].probe && e->lanes[i].device != lane->device);
    return any && !lane->probe && lane->n_sets == 1;
}

/* Lanes about as fast as each other take as many calls in a sample. What a call costs depends on
 * how many follow it: stores that are still on their way to memory when the clock stops are free,
 * and weigh less in a longer sample. Two equal lanes with 8 and 9 calls differed by 0.5 %. */
static void align_iters(assay_engine *e)
{
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[i], *leader = lane;
        for (int64_t k = 0; k < e->n_lanes; k++) {
            struct assay_lane *other = &e->lanes[k];
            bool alike = !other->probe && other->call_ns > 0 && other->call_ns <= lane->call_ns &&
                         lane->call_ns <= ALIKE * other->call_ns;
            if (alike && other->call_ns < leader->call_ns)
                leader = other;
        }
        lane->pace_ns = lane->probe ? lane->call_ns : leader->call_ns;
    }
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[i];
        if (lane->probe) /* the nearest number: rounded up, equals would be 2 calls beside 1 */
            lane->iters = calls_within(probe_sample_length(e) - lane->pace_ns / 2, lane->pace_ns);
        else
            lane->iters = calls_within(sample_length(e), lane->pace_ns);
        if (has_rival_elsewhere(e, lane) && lane->pace_ns < NO_PRIME_NS)
            lane->iters = assay_max(lane->iters, PRIMED_LEAST);
    }
}

/* With the calls before it that are not timed. */
static double turn_ns(const struct assay_lane *lane)
{
    double primed =
        lane->call_ns < NO_PRIME_NS ? fmax(PRIME_NS, (double)PRIME_CALLS * lane->call_ns) : 0;
    return fmax(primed + lane->call_ns * (double)lane->iters, 1);
}

/* So many that even the slowest lane gets to each place, and half of its time is left for other
 * things: luck differs more from place to place than samples do at one. Fixed numbers count as what
 * the budget leaves of them. */
static void choose_place_rounds(assay_engine *e)
{
    double rounds = (double)e->options.rounds, places = ASSAY_STATS_FEWEST_ROUNDS;
    bool timed = e->options.rounds == 0 || e->options.within_budget;
    for (int64_t i = 0; i < e->n_lanes; i++) {
        const struct assay_lane *lane = &e->lanes[i];
        if (lane->probe || lane->status != ASSAY_OK)
            continue;
        places = fmax(places, (double)lane->places);
        if (timed)
            rounds = fmin(rounds > 0 ? rounds : (double)INFINITY,
                          engine_share(e, lane) / turn_ns(lane) / 2);
    }
    double each = fmin(floor(rounds / places), ENGINE_PLACE_ROUNDS);
    for (int64_t i = 0; i < e->n_lanes; i++)
        e->lanes[i].place_rounds = (int64_t)fmax(1, each);
}

/* On shared hosts samples of such a lane stand between probes of the matrix unit. */
static bool is_probed(const assay_engine *e, const struct assay_lane *lane)
{
    return (lane->kernel->units & ASSAY_UNIT_MATRIX) && e->device->driver->matrix_probe;
}

/* The array with room for so many; as it was, and `ok` false, where there is no memory for it. */
static void *grown(void *array, int64_t capacity, size_t size, bool *ok)
{
    void *larger = assay_realloc(array, (size_t)capacity, size);
    *ok = *ok && larger;
    return larger ? larger : array;
}

static enum assay_status reserve_round(assay_engine *e, struct assay_error *err)
{
    if (e->rounds < e->capacity)
        return ASSAY_OK;
    int64_t capacity = e->capacity ? e->capacity * 2 : 256;
    if (e->options.calls > 0) /* all at once: what is counted is not disturbed later */
        capacity = e->options.rounds;
    bool ok = true;
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[i];
        lane->samples = grown(lane->samples, capacity, sizeof *lane->samples, &ok);
        lane->marks = grown(lane->marks, capacity, sizeof *lane->marks, &ok);
        if (is_probed(e, lane))
            lane->fast = grown(lane->fast, capacity, sizeof *lane->fast, &ok);
    }
    e->clocks = grown(e->clocks, capacity, sizeof *e->clocks, &ok);
    e->scratch = grown(e->scratch, capacity * 2, sizeof *e->scratch, &ok);
    if (!ok)
        return assay_error_nomem(err);
    e->capacity = capacity;
    return ASSAY_OK;
}

/* Fisher and Yates. */
static void shuffle(assay_engine *e)
{
    for (int64_t i = e->n_lanes - 1; i > 0; i--) {
        int64_t j = assay_rng_below(&e->rng, i + 1);
        int64_t held = e->order[i];
        e->order[i] = e->order[j];
        e->order[j] = held;
    }
}

static double spent_by(const assay_engine *e, bool probes)
{
    double ns = 0;
    for (int64_t i = 0; i < e->n_lanes; i++)
        ns += e->lanes[i].probe == probes ? e->lanes[i].spent_ns : 0;
    return ns;
}

/* Does the lane find the operands in the caches that the last one left there? */
static bool shares_operands(const assay_engine *e, const struct assay_lane *lane)
{
    return !lane->probe && (!e->last || (!e->last->probe && e->last->device == lane->device));
}

static void prime(assay_engine *e, struct assay_lane *lane)
{
    double no_prime_ns = lane->n_sets > 1 ? NO_PRIME_COLD_NS : NO_PRIME_NS;
    if (lane->call_ns >= no_prime_ns || e->options.calls > 0)
        return;
    int64_t calls = calls_within(PRIME_NS, lane->pace_ns);
    calls = calls < lane->iters ? calls : lane->iters;
    if (lane->n_sets == 1 && !shares_operands(e, lane) && calls < PRIME_CALLS)
        calls = PRIME_CALLS;
    if (!lane->device->driver->prime) {
        run_lane(e, lane, calls);
        return;
    }
    lane->device->driver->prime(lane->device, calls);
    e->calls += calls;
}

/* On shared hosts the matrix unit has two speeds, a factor of three or four apart, and stays at one
 * of them for anything from milliseconds to seconds. */
static double unit_slowness(assay_engine *e)
{
    double ns = e->device->driver->matrix_probe(e->device);
    if (ns <= 0)
        return 1;
    if (e->unit_best_ns <= 0 || ns < e->unit_best_ns)
        e->unit_best_ns = ns;
    return ns / e->unit_best_ns;
}

/* A sample of a kernel that uses the matrix unit stands between two probes of it. One that met the
 * slow speed is counted and taken again, a few times; then it is kept as it is. */
static double run_between_probes(assay_engine *e, struct assay_lane *lane)
{
    double ns = 0, slowness = (double)INFINITY;
    for (int tries = 0; tries < UNIT_TRIES && slowness > UNIT_SLOW && lane->status == ASSAY_OK;
         tries++) {
        slowness = unit_slowness(e);
        ns = run_lane(e, lane, lane->iters);
        slowness = fmax(slowness, unit_slowness(e));
        lane->slow_unit += slowness > UNIT_SLOW;
    }
    lane->unit_fast = slowness <= UNIT_FULL;
    return ns;
}

static uint8_t marks_of(const struct assay_disturbance *before,
                        const struct assay_disturbance *after, double sample_ns)
{
    bool waited = (double)(after->waited_ns - before->waited_ns) > WAITED_FRAC * sample_ns;
    /* A switch that hardly cost anything is none; where waits cannot be read, each may have. */
    bool switched =
        after->context_switches != before->context_switches && (waited || after->waited_ns <= 0);
    return (uint8_t)((switched ? ASSAY_MARK_SWITCHED : 0) | (waited ? ASSAY_MARK_WAITED : 0) |
                     (after->throttle ? ASSAY_MARK_THROTTLED : 0));
}

/* The timed calls alone, and what disturbed them. */
static double run_sample(assay_engine *e, struct assay_lane *lane, struct assay_disturbance *before,
                         struct assay_disturbance *after)
{
    const struct assay_device_driver *driver = e->device->driver;
    driver->disturbance(e->device, before);
    if (is_probed(e, lane)) {
        double ns = run_between_probes(e, lane);
        driver->disturbance(e->device, after);
        return ns;
    }
    struct assay_timing timing = time_lane(e, lane, lane->iters);
    driver->disturbance(e->device, after);
    if (timing.watched) {
        *before = timing.before;
        *after = timing.after;
    }
    return timing.device_ns;
}

/* To the kernel one is like the other: primed, and then timed. */
static double run_primed(assay_engine *e, struct assay_lane *lane, bool looked_at,
                         struct assay_disturbance *before, struct assay_disturbance *after)
{
    int64_t index = lane - e->lanes;
    prime(e, lane);
    if (lane->status != ASSAY_OK)
        return (double)NAN;
    struct assay_work work = next_work(e, lane, lane->iters);
    if (looked_at)
        e->hooks.before(e->hooks.user, index, &work);
    double ns = run_sample(e, lane, before, after);
    bool right = !looked_at || e->hooks.after(e->hooks.user, index, &work, ns);
    if (lane->status == ASSAY_OK && !right)
        lane->status = ASSAY_ERR_CORRUPT;
    return ns;
}

static double take_sample(assay_engine *e, struct assay_lane *lane)
{
    struct assay_disturbance before, after;
    double start = now(e);
    enum assay_look look =
        e->hooks.look ? e->hooks.look(e->hooks.user, lane - e->lanes) : ASSAY_LOOK_AWAY;
    if (look == ASSAY_LOOK_ASIDE)
        run_primed(e, lane, true, &before, &after);
    if (lane->status != ASSAY_OK)
        return (double)NAN;
    double ns = run_primed(e, lane, look == ASSAY_LOOK_COUNTED, &before, &after);
    lane->spent_ns += now(e) - start;
    e->last = lane;
    if (lane->status != ASSAY_OK)
        return (double)NAN;
    lane->taken++;
    lane->marks[e->rounds] = marks_of(&before, &after, ns);
    lane->context_switches += after.context_switches != before.context_switches;
    lane->throttled += after.throttle != 0;
    lane->near_floor += ns < 3 * e->options.floor_ns;
    return ns / (double)lane->iters;
}

/* Reading the clock takes some 20 us: often enough to see it move, seldom enough not to matter. */
static double read_clock(assay_engine *e)
{
    int64_t at = e->device->driver->now_ns(e->device);
    if (e->rounds == 0 || at - e->clock_read_at >= CLOCK_EVERY_NS) {
        e->clock_hz = e->device->driver->clock_hz(e->device);
        e->clock_read_at = at;
    }
    return e->clock_hz;
}

/* The system tells of stolen time in steps of 10 ms only: where it went up, any sample since the
 * last reading may be one that it was taken from. */
static void read_steal(assay_engine *e, bool last)
{
    const struct assay_device_driver *driver = e->device->driver;
    int64_t at = driver->now_ns(e->device);
    bool due = e->rounds == 0 || last || at - e->steal_read_at >= STEAL_EVERY_NS;
    if (!driver->stolen_ns || !due)
        return;
    int64_t stolen = driver->stolen_ns(e->device);
    for (int64_t i = 0; i < e->n_lanes && e->rounds > 0 && stolen > e->stolen_ns; i++)
        for (int64_t r = e->steal_read_round; r < e->rounds; r++)
            e->lanes[i].marks[r] |= ASSAY_MARK_STOLEN;
    e->stolen_ns = stolen;
    e->steal_read_at = at;
    e->steal_read_round = e->rounds;
}

static enum assay_status run_round(assay_engine *e, struct assay_error *err)
{
    enum assay_status status = reserve_round(e, err);
    if (status != ASSAY_OK)
        return status;
    read_steal(e, false);
    for (int64_t i = 0; i < e->n_lanes; i++) {
        e->lanes[i].samples[e->rounds] = (double)NAN;
        e->lanes[i].marks[e->rounds] = 0;
        if (e->lanes[i].fast)
            e->lanes[i].fast[e->rounds] = (double)NAN;
    }
    e->clocks[e->rounds] = read_clock(e);
    /* All probes in one round or none: the ceiling of a round may need several. */
    bool probing = spent_by(e, true) <= PROBE_SHARE * spent_by(e, false);
    shuffle(e);
    for (int64_t i = 0; i < e->n_lanes; i++) {
        struct assay_lane *lane = &e->lanes[e->order[i]];
        if (lane->probe ? probing && lane->status == ASSAY_OK
                        : !engine_rests(e, lane) && !engine_sits_out(e, lane))
            lane->samples[e->rounds] = take_sample(e, lane);
        if (lane->fast && lane->unit_fast)
            lane->fast[e->rounds] = lane->samples[e->rounds];
        if (stopped(e))
            break;
    }
    e->rounds++;
    return ASSAY_OK;
}

enum assay_status assay_engine_run(assay_engine *e, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < e->n_lanes && !stopped(e); i++)
        warm_up(e, &e->lanes[i]);
    if (e->options.calls == 0 && !stopped(e))
        align_iters(e);
    engine_find_slow_lanes(e);
    choose_place_rounds(e);
    while (status == ASSAY_OK && !stopped(e) && !engine_finished(e))
        status = run_round(e, err);
    if (e->rounds > 0)
        read_steal(e, true);
    if (status == ASSAY_OK && e->rounds > 0)
        engine_all_done(e);
    if (status == ASSAY_OK && stopped(e))
        status = assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    return status;
}
