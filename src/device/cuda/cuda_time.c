/* cuda_time.c: how long work takes on the GPU, without the host in it.
 *
 * A sample is captured as a graph once and replayed: [lead-in] start event, the launches, end
 * event. It is enqueued behind a gate, a kernel that waits for the host, so that the GPU finds all
 * of it ready when it begins. What the host needs to enqueue the same launches one by one is the
 * second figure.
 *
 * The events themselves take some time, however many launches are between them. It is measured
 * once, around launches of nothing, and taken off.
 *
 * Cold work (more than one set of operands) comes after a flush: a fill of twice the L2 cache, and
 * a reset of persisting lines. Because the fill leaves the cache full of lines that have yet to be
 * written back, which the first launches would pay for, some launches on other sets lead in
 * untimed: what the timed ones find in the cache is what their like left there.
 *
 * A kernel that cannot be captured (it waits, it allocates) is enqueued directly; one that waits
 * for the GPU inside run finds the gate closed, which gives up after a while. Both are remembered
 * for that kernel, and not tried again.
 *
 * What is captured, by whom, and what the graph holds: cuda_replay.c.
 *
 * A kernel that uses its own streams escapes gate, events and capture. It is recognised: nothing of
 * it is in the graph, the device is still busy when the stream is done, or a run takes longer by
 * the host's clock than both its events and its launches. It is timed by the host's clock, from
 * before its launches until the whole device is at rest, and others are not. */
#include "device/cuda/cuda_gpu.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

static const uint64_t GATE_PATIENCE_NS = 400 * 1000 * 1000;
/* Waiting for a device that is at rest takes a few microseconds; the host may be held up, but not
 * so often one time after the other. */
static const int64_t LINGER_NS = 50 * 1000;

enum {
    LEAD_MOST = 32, /* launches that lead in */
    LINGER_TIMES = 5,
    HIDDEN_TIMES = 3,
    LOOKS = 2,        /* at the first runs of a kernel that are not replayed */
    LOOK_ONE_IN = 16, /* of the later ones */
};

/* A run with nothing before it takes so much longer than what is seen of it; launching and waiting
 * take some 20 us. */
static const double HIDDEN = 1.25, HIDDEN_NS = 40e3;

enum assay_status assay_cuda_time_open(struct cuda_gpu *gpu, struct assay_error *err)
{
    const struct cuda_driver_api *api = gpu->api;
    void *gate = NULL;
    if (!api->cuEventElapsedTime && !api->cuEventElapsedTime_v2)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                               "the driver has no cuEventElapsedTime, so nothing can be timed");
    enum assay_status status = assay_cuda_check(
        api->cuStreamCreate(&gpu->stream, CU_STREAM_FLAG_NON_BLOCKING), "cuStreamCreate", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(api->cuEventCreate(&gpu->start, 0), "cuEventCreate", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(api->cuEventCreate(&gpu->end, 0), "cuEventCreate", err);
    if (status == ASSAY_OK)
        status =
            assay_cuda_check(api->cuMemHostAlloc(&gate, 64, CU_HOST_PORTABLE | CU_HOST_DEVICEMAP),
                             "cuMemHostAlloc", err);
    if (status != ASSAY_OK)
        return status;
    gpu->gate = gate;
    gpu->looks.secret.state = (uint64_t)assay_clock_ns();
    gpu->gate[0] = gpu->gate[1] = 0;
    status = assay_cuda_check(api->cuMemHostGetDevicePointer_v2(&gpu->gate_seen, gate, 0),
                              "cuMemHostGetDevicePointer", err);
    if (status == ASSAY_OK && assay_cuda_can_compile(NULL) == ASSAY_OK)
        status = assay_cuda_function("gate.cu", "", "gate", 0, &gpu->block, err);
    return status;
}

void assay_cuda_time_close(struct cuda_gpu *gpu)
{
    const struct cuda_driver_api *api = gpu->api;
    assay_cuda_replays_close(gpu);
    if (gpu->flush)
        api->cuMemFree_v2(gpu->flush);
    if (gpu->gate)
        api->cuMemFreeHost((void *)(uintptr_t)gpu->gate);
    if (gpu->start)
        api->cuEventDestroy_v2(gpu->start);
    if (gpu->end)
        api->cuEventDestroy_v2(gpu->end);
    if (gpu->stream)
        api->cuStreamDestroy_v2(gpu->stream);
}

/* ---- the gate -------------------------------------------------------------------------------- */

static enum assay_status close_gate(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                    const void *state, cu_stream stream)
{
    const struct cuda_odd_one *odd = assay_cuda_odd_one(gpu, kernel, state);
    if (!gpu->block || (odd && odd->waits))
        return ASSAY_OK;
    gpu->ticket++;
    uint64_t patience = GATE_PATIENCE_NS;
    void *parameters[] = {&gpu->gate_seen, &gpu->ticket, &patience};
    struct assay_cuda_launch launch = {.threads = 1};
    return assay_cuda_launch(gpu->block, &launch, stream, parameters);
}

static void open_gate(struct cuda_gpu *gpu)
{
    __atomic_store_n(&gpu->gate[0], gpu->ticket, __ATOMIC_RELEASE);
}

/* ---- cold ------------------------------------------------------------------------------------ */

/* Before the gate is closed: allocating may wait for the GPU. */
static enum assay_status make_flush(struct cuda_gpu *gpu)
{
    size_t bytes = 2 * gpu->properties.l2_bytes;
    if (!gpu->flush && gpu->api->cuMemAlloc_v2(&gpu->flush, bytes) != CU_SUCCESS)
        return ASSAY_ERR_NOMEM;
    gpu->flush_bytes = bytes;
    return ASSAY_OK;
}

/* Lines persist only where somebody set a part of the cache aside for them. */
static bool lines_persist(const struct cuda_driver_api *api)
{
    size_t bytes = 0;
    return !api->cuCtxGetLimit ||
           api->cuCtxGetLimit(&bytes, CU_LIMIT_PERSISTING_L2) != CU_SUCCESS || bytes > 0;
}

/* Persisting lines are reset only where there can be any: after a reset the launches of a graph
 * take 0.18 us longer each, for as long as the process lives. */
static enum assay_status flush(struct cuda_gpu *gpu, cu_stream stream)
{
    if (gpu->api->cuCtxResetPersistingL2Cache && lines_persist(gpu->api))
        gpu->api->cuCtxResetPersistingL2Cache();
    return assay_cuda_check(gpu->api->cuMemsetD8Async(gpu->flush, 0x5a, gpu->flush_bytes, stream),
                            "cuMemsetD8Async", NULL);
}

/* The launches before the timed ones, on the sets before theirs. */
struct assay_work assay_cuda_lead_in(const struct assay_work *work)
{
    struct assay_work lead = *work;
    lead.iters = work->n_sets / 2 < LEAD_MOST ? work->n_sets / 2 : LEAD_MOST;
    lead.iters = lead.iters < 1 ? 1 : lead.iters;
    lead.first = ((work->first - lead.iters) % work->n_sets + work->n_sets) % work->n_sets;
    return lead;
}

/* ---- timing ---------------------------------------------------------------------------------- */

static enum assay_status elapsed(struct cuda_gpu *gpu, double *ns)
{
    const struct cuda_driver_api *api = gpu->api;
    float ms = 0;
    cu_result result = api->cuEventElapsedTime_v2
                           ? api->cuEventElapsedTime_v2(&ms, gpu->start, gpu->end)
                           : api->cuEventElapsedTime(&ms, gpu->start, gpu->end);
    *ns = (double)ms * 1e6;
    return assay_cuda_check(result, "cuEventElapsedTime", NULL);
}

/* Work left on other streams counts too: waits for the whole device. */
static enum assay_status rest(struct cuda_gpu *gpu)
{
    return assay_cuda_check(gpu->api->cuCtxSynchronize(), "cuCtxSynchronize", NULL);
}

/* The same after a stream is done: is there still something, time after time? */
static enum assay_status rest_and_look(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                       void *state)
{
    int64_t start = assay_clock_ns();
    enum assay_status status = rest(gpu);
    bool lingers = assay_clock_ns() - start > LINGER_NS;
    if (lingers && gpu->lingers.state != state)
        gpu->lingers.in_a_row = 0;
    if (lingers)
        gpu->lingers.state = state;
    if (gpu->lingers.state == state)
        gpu->lingers.in_a_row = lingers ? gpu->lingers.in_a_row + 1 : 0;
    if (lingers && gpu->lingers.in_a_row >= LINGER_TIMES)
        assay_cuda_note_odd_one(gpu, kernel, state)->elsewhere = true;
    return status;
}

/* By the host's clock, whatever streams are used. */
static enum assay_status time_whole_device(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                           void *state, const struct assay_work *work,
                                           struct assay_timing *out)
{
    enum assay_status status = ASSAY_OK;
    if (work->n_sets > 1) {
        struct assay_work lead = assay_cuda_lead_in(work);
        status = make_flush(gpu);
        if (status == ASSAY_OK)
            status = flush(gpu, work->stream);
        if (status == ASSAY_OK)
            status = kernel->run(state, &lead);
    }
    if (status == ASSAY_OK)
        status = rest(gpu);
    assay_cuda_watch_call(gpu, work->stream, true);
    int64_t start = assay_clock_ns();
    if (status == ASSAY_OK)
        status = kernel->run(state, work);
    out->host_ns = (double)(assay_clock_ns() - start);
    assay_cuda_watch_call(gpu, work->stream, false);
    enum assay_status ended = rest(gpu);
    out->device_ns = (double)(assay_clock_ns() - start);
    out->elsewhere = true;
    return status == ASSAY_OK ? ended : status;
}

/* All of it is one call to who watches. */
static enum assay_status launch_replay(struct cuda_gpu *gpu, const struct cuda_replay *replay,
                                       cu_stream stream)
{
    assay_cuda_watch_call(gpu, stream, true);
    cu_result result = gpu->api->cuGraphLaunch(replay->exec, stream);
    assay_cuda_watch_call(gpu, stream, false);
    return assay_cuda_check(result, "cuGraphLaunch", NULL);
}

/* By events. `replayed` where a graph was. */
static enum assay_status time_stream(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                     void *state, const struct assay_work *work,
                                     struct assay_timing *out, bool *replayed)
{
    enum assay_status status = ASSAY_OK;
    struct cuda_replay *replay = assay_cuda_replay_of(gpu, kernel, state, work, &status);
    const struct cuda_odd_one *odd = assay_cuda_odd_one(gpu, kernel, state);
    *replayed = replay;
    out->elsewhere = false;
    if (status == ASSAY_OK && odd && odd->elsewhere)
        return time_whole_device(gpu, kernel, state, work, out);
    if (status == ASSAY_OK && work->n_sets > 1)
        status = make_flush(gpu);
    if (status == ASSAY_OK)
        status = close_gate(gpu, kernel, state, work->stream);
    if (status == ASSAY_OK && work->n_sets > 1)
        status = flush(gpu, work->stream);
    int64_t start = assay_clock_ns();
    if (status == ASSAY_OK)
        status = replay ? launch_replay(gpu, replay, work->stream)
                        : assay_cuda_enqueue(gpu, kernel, state, work, false);
    out->host_ns =
        replay ? replay->host_ns * (double)work->iters : (double)(assay_clock_ns() - start);
    open_gate(gpu);
    enum assay_status ended =
        assay_cuda_check(gpu->api->cuStreamSynchronize(work->stream), "cuStreamSynchronize", NULL);
    if (status == ASSAY_OK)
        status = ended;
    if (status == ASSAY_OK && replay)
        assay_cuda_replayed(gpu, replay);
    if (gpu->gate[1] == gpu->ticket && gpu->ticket)
        assay_cuda_note_odd_one(gpu, kernel, state)->waits = true;
    if (status == ASSAY_OK)
        status = rest_and_look(gpu, kernel, state);
    return status == ASSAY_OK ? elapsed(gpu, &out->device_ns) : status;
}

/* Work on another stream, which begins while the gate is closed and is waited for behind it, shows
 * in no event. Where it is not captured, some runs of strangers are therefore made once more
 * without a gate: honest ones take what the GPU or the launches need. Too short ones say nothing.
 */
static bool has_hidden(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                       const struct assay_work *work, struct assay_timing *seen)
{
    struct assay_timing wall = *seen;
    for (int i = 0; i < HIDDEN_TIMES; i++) {
        if (time_whole_device(gpu, kernel, state, work, &wall) != ASSAY_OK ||
            wall.device_ns <= HIDDEN * fmax(seen->device_ns, wall.host_ns) + HIDDEN_NS)
            break;
        if (i == HIDDEN_TIMES - 1) {
            *seen = wall;
            return true;
        }
    }
    gpu->looks.n += wall.device_ns > 4 * HIDDEN_NS;
    return false;
}

static void look_elsewhere(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                           const struct assay_work *work, struct assay_timing *seen)
{
    if (gpu->looks.state != state)
        gpu->looks.n = 0;
    gpu->looks.state = state;
    bool look = gpu->looks.n < LOOKS || assay_rng_below(&gpu->looks.secret, LOOK_ONE_IN) == 0;
    bool telling = work->iters > 1 || seen->device_ns > 4 * HIDDEN_NS;
    if (look && telling && has_hidden(gpu, kernel, state, work, seen))
        assay_cuda_note_odd_one(gpu, kernel, state)->elsewhere = true;
}

/* ---- what the events add --------------------------------------------------------------------- */

enum assay_status assay_cuda_run_nothing(void *nothing, const struct assay_work *work)
{
    struct assay_cuda_launch launch = {.threads = 1};
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++)
        status = assay_cuda_launch(nothing, &launch, work->stream, NULL);
    return status;
}

/* The least of several samples of `iters` launches of nothing, in ns; 0 where one fails. */
static double time_nothing(struct cuda_gpu *gpu, cu_function nothing, int64_t iters)
{
    enum { WARM = 2, COUNTED = 8 };
    struct assay_kernel kernel = {.run = assay_cuda_run_nothing};
    struct assay_args args = {0};
    struct assay_work work = {.iters = iters, .n_sets = 1, .sets = &args, .stream = gpu->stream};
    struct assay_timing timing = {0};
    double least = 0;
    bool replayed = false;
    for (int i = 0; i < WARM + COUNTED; i++) {
        if (time_stream(gpu, &kernel, nothing, &work, &timing, &replayed) != ASSAY_OK ||
            timing.elsewhere)
            return 0;
        if (i == WARM || (i > WARM && timing.device_ns < least))
            least = timing.device_ns;
    }
    return least;
}

/* More than an event ever took is something else. */
static double sane_events(double ns) { return ns > 0 && ns < 10000 ? ns : 0; }

static void measure_events(struct cuda_gpu *gpu)
{
    enum { FEW = 2, MANY = 20 };
    const struct assay_capturer *capturer = gpu->device.capturer; /* knows nothing of this kernel */
    cu_function nothing = NULL;
    gpu->events.known = true; /* also where they cannot be measured */
    if (!gpu->block || assay_cuda_function("gate.cu", "", "nothing", 0, &nothing, NULL) != ASSAY_OK)
        return;
    gpu->device.capturer = NULL;
    double one = time_nothing(gpu, nothing, 1);
    double few = time_nothing(gpu, nothing, FEW), many = time_nothing(gpu, nothing, MANY);
    double launch = (many - few) / (MANY - FEW);
    if (one > 0 && few > 0 && launch > 0) {
        gpu->events.direct = sane_events(one - launch);
        gpu->events.replayed = sane_events(few - FEW * launch);
    }
    assay_cuda_forget(&gpu->device, nothing);
    gpu->device.capturer = capturer;
}

enum assay_status assay_cuda_time(assay_device *device, const struct assay_kernel *kernel,
                                  void *state, const struct assay_work *given,
                                  struct assay_timing *out)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    struct assay_work work = *given;
    bool replayed = false;
    if (!work.stream) /* who brings a stream is timed on it */
        work.stream = gpu->stream;
    if (!gpu->events.known)
        measure_events(gpu);
    enum assay_status status = time_stream(gpu, kernel, state, &work, out, &replayed);
    if (status == ASSAY_OK && device->strangers && !replayed && !out->elsewhere && !gpu->watch.on)
        look_elsewhere(gpu, kernel, state, &work, out);
    if (status == ASSAY_OK)
        assay_cuda_note_way(gpu, kernel, state, &work, replayed);
    if (status == ASSAY_OK && !out->elsewhere)
        out->device_ns -=
            fmin(replayed ? gpu->events.replayed : gpu->events.direct, out->device_ns / 2);
    return status;
}
