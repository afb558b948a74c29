/* cuda_replay.c: launches that are captured once and replayed, and how each kernel was timed.
 *
 * The device captures by itself where launches are the driver's own. Those of a framework go
 * through a capturer (device.h): it has the framework capture, so that memory that is taken and
 * given back meanwhile is the graph's. Such a graph is looked through: one without a node, or with
 * fewer than calls, is of a kernel that does not compute. */
#include "device/cuda/cuda_gpu.h"

#include "base/clock.h"
#include "device/cuda/cuda_graph.h"

#include <stdio.h>
#include <string.h>

enum {
    CAPTURE_MOST = 4096, /* launches that a graph may hold; more are enqueued directly */
    HOST_COUNTED = 16,   /* launches whose enqueueing is timed */
    HOST_ROUNDS = 5,     /* of a guest, the median of them */
    HOST_LONG_COUNTED = 2,
};

static const int64_t HOST_LONG_NS = 2 * 1000 * 1000; /* for one call to its end */

static const int64_t HOST_MOST_NS = 10 * 1000 * 1000; /* for all rounds but the first */

static void drop(struct cuda_gpu *gpu, struct cuda_replay *replay)
{
    if (replay->exec && !replay->theirs)
        gpu->api->cuGraphExecDestroy(replay->exec);
    if (replay->capture)
        gpu->device.capturer->drop(gpu->device.capturer->user, replay->capture);
    *replay = (struct cuda_replay){0};
}

void assay_cuda_replays_close(struct cuda_gpu *gpu)
{
    for (int i = 0; i < CUDA_REPLAYS; i++)
        drop(gpu, &gpu->replays[i]);
}

/* ---- what is known of kernels ---------------------------------------------------------------- */

struct cuda_odd_one *assay_cuda_odd_one(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                        const void *state)
{
    for (int i = 0; i < CUDA_ODD_ONES; i++)
        if (gpu->odd_ones[i].run == kernel->run && gpu->odd_ones[i].state == state)
            return &gpu->odd_ones[i];
    return NULL;
}

struct cuda_odd_one *assay_cuda_note_odd_one(struct cuda_gpu *gpu,
                                             const struct assay_kernel *kernel, void *state)
{
    struct cuda_odd_one *one = assay_cuda_odd_one(gpu, kernel, state);
    if (!one) {
        one = &gpu->odd_ones[gpu->n_odd_ones++ % CUDA_ODD_ONES];
        *one = (struct cuda_odd_one){.run = kernel->run, .state = state};
    }
    return one;
}

static struct cuda_way *find_way(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                 const void *state)
{
    for (int i = 0; i < CUDA_WAYS; i++)
        if (gpu->ways[i].run == kernel->run && gpu->ways[i].state == state)
            return &gpu->ways[i];
    return NULL;
}

/* A new one takes the place of the one that was used longest ago. */
static struct cuda_way *way_of(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state)
{
    struct cuda_way *way = find_way(gpu, kernel, state);
    if (!way) {
        way = &gpu->ways[0];
        for (int i = 1; i < CUDA_WAYS; i++)
            if (gpu->ways[i].used < way->used)
                way = &gpu->ways[i];
        *way = (struct cuda_way){.run = kernel->run, .state = state};
    }
    way->used = ++gpu->ways_used;
    return way;
}

void assay_cuda_forget(assay_device *device, void *state)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    if (gpu->looks.state == state)
        gpu->looks.n = 0;
    if (gpu->lingers.state == state)
        gpu->lingers.in_a_row = 0;
    for (int i = 0; i < CUDA_ODD_ONES && state; i++) /* without a state there is none to change */
        if (gpu->odd_ones[i].state == state)
            gpu->odd_ones[i] = (struct cuda_odd_one){0};
    for (int i = 0; i < CUDA_WAYS && state; i++)
        if (gpu->ways[i].state == state)
            gpu->ways[i] = (struct cuda_way){0};
    for (int i = 0; i < CUDA_REPLAYS; i++)
        if (gpu->replays[i].state == state)
            drop(gpu, &gpu->replays[i]);
}

/* ---- the host's side ------------------------------------------------------------------------- */

static enum assay_status finish(struct cuda_gpu *gpu, const struct assay_work *work)
{
    return assay_cuda_check(gpu->api->cuStreamSynchronize(work->stream), "cuStreamSynchronize",
                            NULL);
}

/* What it costs the host to enqueue a launch: the usual way, a few of them. */
static enum assay_status time_host(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                   void *state, const struct assay_work *work, double *ns)
{
    struct assay_work few = *work;
    few.iters = work->iters < HOST_COUNTED ? work->iters : HOST_COUNTED;
    int64_t start = assay_clock_ns();
    enum assay_status status = kernel->run(state, &few);
    *ns = (double)(assay_clock_ns() - start) / (double)few.iters;
    return status == ASSAY_OK ? finish(gpu, work) : status;
}

static double middle(double *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
            double swapped = v[k];
            v[k] = v[k - 1];
            v[k - 1] = swapped;
        }
    return v[n / 2];
}

/* Of a guest it is a figure that people read. The first calls fill the framework's own caches; of
 * long ones there are few, for all have to end. */
static enum assay_status time_guest(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                    void *state, const struct assay_work *work, double *ns)
{
    struct assay_work round = *work;
    double rounds[HOST_ROUNDS];
    int n = 0;
    round.iters = 1;
    int64_t start = assay_clock_ns();
    enum assay_status status = time_host(gpu, kernel, state, &round, &rounds[0]);
    round.iters = assay_clock_ns() - start > HOST_LONG_NS ? HOST_LONG_COUNTED : HOST_COUNTED;
    if (status == ASSAY_OK)
        status = time_host(gpu, kernel, state, &round, &rounds[0]);
    start = assay_clock_ns();
    while (status == ASSAY_OK && n < HOST_ROUNDS &&
           (n == 0 || assay_clock_ns() - start < HOST_MOST_NS))
        status = time_host(gpu, kernel, state, &round, &rounds[n++]);
    *ns = middle(rounds, n ? n : 1);
    return status;
}

static enum assay_status host_of(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                 void *state, const struct assay_work *work, double *ns)
{
    if (!gpu->device.capturer)
        return time_host(gpu, kernel, state, work, ns);
    enum assay_status status = ASSAY_OK;
    struct cuda_way *way = way_of(gpu, kernel, state);
    if (way->host_ns == 0)
        status = time_guest(gpu, kernel, state, work, &way->host_ns);
    *ns = way->host_ns;
    return status;
}

/* ---- capturing ------------------------------------------------------------------------------- */

static bool matches(const struct cuda_replay *r, const struct assay_kernel *kernel, void *state,
                    const struct assay_work *work)
{
    return r->exec && r->run == kernel->run && r->state == state && r->iters == work->iters &&
           r->first == work->first && r->n_sets == work->n_sets && r->sets == work->sets;
}

/* The place for another one: the oldest, or that of the same state where it has many already. */
static struct cuda_replay *oldest(struct cuda_gpu *gpu, const void *state)
{
    struct cuda_replay *found = &gpu->replays[0], *own = NULL;
    int owned = 0;
    for (int i = 0; i < CUDA_REPLAYS; i++) {
        struct cuda_replay *r = &gpu->replays[i];
        if (r->used < found->used)
            found = r;
        if (!r->capture || r->state != state)
            continue;
        owned++;
        if (!own || r->used < own->used)
            own = r;
    }
    return owned >= CUDA_CAPTURES ? own : found;
}

enum assay_status assay_cuda_enqueue(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                     void *state, const struct assay_work *work, bool capturing)
{
    const struct cuda_driver_api *api = gpu->api;
    enum assay_status status = ASSAY_OK;
    if (work->n_sets > 1) {
        struct assay_work lead = assay_cuda_lead_in(work);
        status = kernel->run(state, &lead);
    }
    if (status == ASSAY_OK)
        status = assay_cuda_check(
            capturing ? api->cuEventRecordWithFlags(gpu->start, work->stream, CU_RECORD_EXTERNAL)
                      : api->cuEventRecord(gpu->start, work->stream),
            "cuEventRecord", NULL);
    if (!capturing)
        assay_cuda_watch_call(gpu, work->stream, true);
    if (status == ASSAY_OK)
        status = kernel->run(state, work);
    if (!capturing)
        assay_cuda_watch_call(gpu, work->stream, false);
    if (status == ASSAY_OK)
        status = assay_cuda_check(
            capturing ? api->cuEventRecordWithFlags(gpu->end, work->stream, CU_RECORD_EXTERNAL)
                      : api->cuEventRecord(gpu->end, work->stream),
            "cuEventRecord", NULL);
    return status;
}

/* A graph of the work; false where it cannot be captured: then the stream is as before. */
static bool capture_here(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                         const struct assay_work *work, struct assay_captured *out)
{
    const struct cuda_driver_api *api = gpu->api;
    cu_graph graph = NULL;
    out->error = api->cuStreamBeginCapture_v2(work->stream, CU_CAPTURE_RELAXED);
    if (out->error != CU_SUCCESS)
        return false;
    enum assay_status status = assay_cuda_enqueue(gpu, kernel, state, work, true);
    out->error = api->cuStreamEndCapture(work->stream, &graph);
    out->graph = graph;
    return status == ASSAY_OK && out->error == CU_SUCCESS && graph;
}

/* Whoever should have ended a capture that failed: the stream is used again. */
static void end_capture(const struct cuda_driver_api *api, cu_stream stream)
{
    cu_graph left = NULL;
    if (api->cuStreamEndCapture(stream, &left) == CU_SUCCESS && left)
        api->cuGraphDestroy(left);
}

/* The capturer is told of the end whoever captured. */
static bool capture_there(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                          const struct assay_work *work, struct assay_captured *out)
{
    const struct assay_capturer *capturer = gpu->device.capturer;
    enum assay_status began = capturer->begin(capturer->user, work->stream, out);
    bool worked = false;
    if (began == ASSAY_OK)
        worked = assay_cuda_enqueue(gpu, kernel, state, work, true) == ASSAY_OK;
    else if (began == ASSAY_UNSUPPORTED)
        worked = capture_here(gpu, kernel, state, work, out);
    if (began == ASSAY_OK || began == ASSAY_UNSUPPORTED)
        worked = capturer->end(capturer->user, state, worked, out) == ASSAY_OK && worked;
    if (worked && out->graph)
        return true;
    end_capture(gpu->api, work->stream);
    return false;
}

/* Why it could not be captured, in the words of a row. */
static void note_refusal(struct cuda_way *way, struct cuda_odd_one *odd,
                         const struct assay_captured *captured)
{
    const char *name = assay_cuda_capture_error(captured->error);
    odd->no_capture = true;
    odd->waits |= captured->waits;
    if (captured->why[0])
        snprintf(way->refused, sizeof way->refused, "%s", captured->why);
    else
        snprintf(way->refused, sizeof way->refused, "%s%s%s%s",
                 assay_cuda_capture_cause(captured->error), name ? " (" : "", name ? name : "",
                 name ? ")" : "");
    if (captured->error == CU_ERROR_CAPTURE_UNJOINED)
        way->timed.fault = ASSAY_TIMED_UNJOINED;
}

/* What is in the graph. Of a guest's, whether every call is. */
static void audit(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                  const struct assay_work *work, cu_graph graph)
{
    struct cuda_way *way = way_of(gpu, kernel, state);
    struct assay_graph_audit found;
    if (!assay_cuda_graph_audit(gpu->api, graph, &found))
        return;
    found.calls = work->iters;
    if (work->n_sets > 1)
        found.calls += assay_cuda_lead_in(work).iters;
    int64_t nodes = assay_cuda_graph_work(&found);
    if (found.calls >= way->timed.graph.calls) {
        way->timed.has_graph = true;
        way->timed.graph = found;
    }
    if (nodes == 0)
        assay_cuda_note_odd_one(gpu, kernel, state)->elsewhere = true;
    if (gpu->device.capturer && nodes < found.calls)
        way->timed.fault = nodes ? ASSAY_TIMED_PARTLY : ASSAY_TIMED_NOTHING;
}

/* Ready to be launched; NULL where there is nothing to launch. */
static cu_graph_exec make_exec(struct cuda_gpu *gpu, const struct assay_captured *captured,
                               const struct assay_work *work)
{
    enum { FREE_ON_LAUNCH = 1 }; /* what a launch allocated and nobody freed */
    const struct cuda_driver_api *api = gpu->api;
    cu_graph_exec exec = captured->exec;
    if (!exec && api->cuGraphInstantiateWithFlags(
                     &exec, captured->graph, captured->theirs ? FREE_ON_LAUNCH : 0) != CU_SUCCESS)
        return NULL;
    if (api->cuGraphUpload)
        api->cuGraphUpload(exec, work->stream);
    return exec;
}

/* Captures into `replay`; false: the work is to be enqueued directly. */
static bool capture(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                    const struct assay_work *work, struct cuda_replay *replay)
{
    struct assay_captured captured = {0};
    bool worked = gpu->device.capturer ? capture_there(gpu, kernel, state, work, &captured)
                                       : capture_here(gpu, kernel, state, work, &captured);
    if (worked)
        audit(gpu, kernel, state, work, captured.graph);
    const struct cuda_odd_one *odd = assay_cuda_odd_one(gpu, kernel, state);
    if (worked && !(odd && odd->elsewhere))
        replay->exec = make_exec(gpu, &captured, work);
    replay->capture = captured.capture;
    replay->theirs = captured.exec;
    if (captured.graph && !captured.theirs)
        gpu->api->cuGraphDestroy(captured.graph);
    if (!replay->exec && !(odd && odd->elsewhere))
        note_refusal(way_of(gpu, kernel, state), assay_cuda_note_odd_one(gpu, kernel, state),
                     &captured);
    if (!replay->exec)
        drop(gpu, replay);
    return replay->exec;
}

/* A guest's single call is captured, too: only then is it known what it launches. */
static bool may_capture(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                        const struct assay_work *work)
{
    const struct cuda_odd_one *odd = assay_cuda_odd_one(gpu, kernel, state);
    return !(odd && (odd->no_capture || odd->elsewhere)) &&
           !(kernel->flags & ASSAY_KERNEL_DIRECT) &&
           work->iters >= (gpu->device.capturer ? 1 : 2) && work->iters <= CAPTURE_MOST &&
           gpu->api->cuEventRecordWithFlags;
}

static bool is_refused(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state)
{
    const struct assay_capturer *capturer = gpu->device.capturer;
    const char *why = capturer ? capturer->refuses(capturer->user, state) : NULL;
    struct assay_captured none = {0};
    if (!why)
        return false;
    snprintf(none.why, sizeof none.why, "%s", why);
    note_refusal(way_of(gpu, kernel, state), assay_cuda_note_odd_one(gpu, kernel, state), &none);
    return true;
}

struct cuda_replay *assay_cuda_replay_of(struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                         void *state, const struct assay_work *work,
                                         enum assay_status *status)
{
    double host_ns = 0;
    if (!may_capture(gpu, kernel, state, work))
        return NULL;
    for (int i = 0; i < CUDA_REPLAYS; i++)
        if (matches(&gpu->replays[i], kernel, state, work)) {
            gpu->replays[i].used = ++gpu->replays_used;
            return &gpu->replays[i];
        }
    if (is_refused(gpu, kernel, state))
        return NULL;
    *status = host_of(gpu, kernel, state, work, &host_ns);
    if (*status != ASSAY_OK)
        return NULL;
    struct cuda_replay *replay = oldest(gpu, state), made = {0};
    if (!capture(gpu, kernel, state, work, &made))
        return NULL;
    drop(gpu, replay);
    made.run = kernel->run;
    made.state = state;
    made.iters = work->iters;
    made.first = work->first;
    made.n_sets = work->n_sets;
    made.sets = work->sets;
    made.host_ns = host_ns;
    made.used = ++gpu->replays_used;
    *replay = made;
    return replay;
}

void assay_cuda_replayed(struct cuda_gpu *gpu, const struct cuda_replay *replay)
{
    const struct assay_capturer *capturer = gpu->device.capturer;
    if (replay->capture)
        capturer->replayed(capturer->user, replay->state, replay->capture);
}

/* ---- how it was timed ------------------------------------------------------------------------ */

static const char *why_not_captured(const struct cuda_gpu *gpu, const struct assay_kernel *kernel,
                                    const struct assay_work *work, const struct cuda_way *way)
{
    if (way->refused[0])
        return way->refused;
    if (kernel->flags & ASSAY_KERNEL_DIRECT)
        return "the kernel asks not to be captured";
    if (!gpu->api->cuEventRecordWithFlags)
        return "the driver cannot time what it captures";
    return work->iters < 2 ? "one call is a whole sample" : "so many calls fill no graph";
}

enum { WAY_GRAPH, WAY_BLOCKED, WAY_EAGER };
static const char *const way_names[] = {ASSAY_TIMED_GRAPH, ASSAY_TIMED_BLOCKED, ASSAY_TIMED_EAGER};

/* Counts a sample; what most of them are is how the kernel is timed. Single calls are checks, and
 * count only where there is nothing else. */
static bool is_usual(struct cuda_way *way, int kind, bool several)
{
    bool shown = false;
    if (several && !way->several)
        memset(way->samples, 0, sizeof way->samples);
    way->several |= several;
    if (several != way->several)
        return false;
    way->samples[kind]++;
    for (int i = 0; i < 3; i++)
        shown |= i != kind && way->samples[i] > way->samples[kind];
    return !shown;
}

void assay_cuda_note_way(struct cuda_gpu *gpu, const struct assay_kernel *kernel, void *state,
                         const struct assay_work *work, bool replayed)
{
    const struct cuda_odd_one *odd = assay_cuda_odd_one(gpu, kernel, state);
    struct cuda_way *way = way_of(gpu, kernel, state);
    struct assay_timed *timed = &way->timed;
    bool elsewhere = odd && odd->elsewhere;
    const char *why = timed->fault == ASSAY_TIMED_NOTHING ? "nothing of it is on the stream"
                      : elsewhere                         ? "it works on streams of its own"
                      : odd && odd->waits                 ? "it waits for the GPU"
                      : !gpu->block                       ? "without NVRTC no stream can be blocked"
                                                          : "";
    int kind = replayed ? WAY_GRAPH : why[0] ? WAY_EAGER : WAY_BLOCKED;
    if (!is_usual(way, kind, work->iters > 1))
        return;
    snprintf(timed->way, sizeof timed->way, "%s", way_names[kind]);
    if (replayed || elsewhere)
        snprintf(timed->why, sizeof timed->why, "%s", replayed ? "" : why);
    else
        snprintf(timed->why, sizeof timed->why, "%s%s%.160s", why, why[0] ? "; not captured: " : "",
                 why_not_captured(gpu, kernel, work, way));
}

void assay_cuda_timed(assay_device *device, const struct assay_kernel *kernel, void *state,
                      struct assay_timed *out)
{
    const struct cuda_way *way = find_way((struct cuda_gpu *)device, kernel, state);
    *out = way ? way->timed : (struct assay_timed){0};
    if (out->fault == ASSAY_TIMED_FINE && strcmp(out->way, ASSAY_TIMED_GRAPH) != 0)
        out->has_graph = false; /* what was captured is not what was timed */
}
