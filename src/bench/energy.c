#include "bench/energy.h"

#include <math.h>

/* Counters of GPUs move some 10 to 50 times a second. */
static const double EDGE_MOST_NS = 300e6, SPAN_LEAST_NS = 200e6, SPAN_MOST_NS = 800e6;
static const double BURST_NS = 3e6;

struct burner {
    assay_device *device;
    const struct assay_kernel *kernel;
    void *state;
    struct assay_work work;
    int64_t calls;
    bool failed;
};

static double now(const struct burner *b) { return (double)b->device->driver->now_ns(b->device); }

static double counter(const struct burner *b) { return b->device->driver->energy_j(b->device); }

static void burn(struct burner *b)
{
    struct assay_timing timing;
    if (b->device->driver->time(b->device, b->kernel, b->state, &b->work, &timing) != ASSAY_OK)
        b->failed = true;
    b->calls += b->work.iters;
}

/* Burns until the counter has moved, but not before `least_ns` are over. Its new value, or NaN. */
static double burn_to_edge(struct burner *b, double least_ns, double most_ns,
                           bool (*beat)(void *user), void *user)
{
    double start = now(b), before = counter(b);
    while (!b->failed && now(b) - start < most_ns && !beat(user)) {
        burn(b);
        double value = counter(b);
        if (now(b) - start < least_ns)
            before = value;
        else if (value != before)
            return value;
    }
    return (double)NAN;
}

double assay_energy_of_call(assay_device *device, const struct assay_kernel *kernel, void *state,
                            const struct assay_args *args, double call_ns, bool (*beat)(void *user),
                            void *user)
{
    if (!device->driver->energy_j || !(call_ns > 0))
        return (double)NAN;
    double iters = ceil(BURST_NS / call_ns);
    struct burner b = {.device = device, .kernel = kernel, .state = state};
    b.work = (struct assay_work){
        .iters = iters > 4096 ? 4096 : (int64_t)iters, .n_sets = 1, .sets = args};
    double first = burn_to_edge(&b, 0, EDGE_MOST_NS, beat, user);
    b.calls = 0;
    double last = burn_to_edge(&b, SPAN_LEAST_NS, SPAN_MOST_NS, beat, user);
    return b.calls > 0 ? (last - first) / (double)b.calls : (double)NAN; /* NaN stays NaN */
}
