#include "trace/timeline.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Tracks of a variant, in the order in which they stand. */
enum {
    TRACK_NODES = 1,
    TRACK_PHASES,
    TRACK_CEILING,
    TRACK_CLOCK,
    TRACK_MEMORY,
    TRACK_HOT,
    TRACK_COLD,
    TRACK_HOST,
    TRACK_THREADS = 16,
    TRACK_STREAMS = 2048,
};
enum { MOST_STREAMS = 64 };

struct drawing {
    assay_trace_writer *writer;
    int32_t process;
    const struct assay_profile *profile;
    int64_t last_ghost_ns;                    /* where the ghost before ends */
    int32_t n_streams, streams[MOST_STREAMS]; /* of a GPU, by the number that it has there */
    int64_t last_end_ns[MOST_STREAMS];        /* of what is drawn of each */
};

static struct assay_trace_track at(const struct drawing *d, int32_t track)
{
    return (struct assay_trace_track){d->process, track};
}

/* ---- names ---- */

static bool has_phases(const struct assay_profile *p)
{
    return p->n_nodes > 0 && p->nodes[p->n_nodes - 1].phase[0] != '\0';
}

static void name_tracks(const struct drawing *d)
{
    static const char *const states[] = {"samples, hot", "samples, cold"};
    const struct assay_profile *p = d->profile;
    bool shared[1024] = {false};
    char name[32];
    assay_trace_process(d->writer, d->process, p->title);
    assay_trace_track(d->writer, at(d, TRACK_NODES), "nodes", TRACK_NODES);
    if (has_phases(p))
        assay_trace_track(d->writer, at(d, TRACK_PHASES), "phases", TRACK_PHASES);
    assay_trace_track(d->writer, at(d, TRACK_CEILING), "ceiling", TRACK_CEILING);
    for (int i = 0; i < ASSAY_PROFILE_STATES; i++)
        if (p->samples[i].n > 0)
            assay_trace_track(d->writer, at(d, TRACK_HOT + i), states[i], TRACK_HOT + i);
    if (p->n_readings > 0) {
        assay_trace_counter_track(d->writer, at(d, TRACK_CLOCK), "clock", "GHz");
        assay_trace_counter_track(d->writer, at(d, TRACK_MEMORY), "memory", "MB");
    }
    for (int64_t i = 0; i < p->n_spans; i++)
        if (p->spans[i].kind == ASSAY_SPAN_HOST) {
            assay_trace_track(d->writer, at(d, TRACK_HOST), "host", TRACK_HOST);
            break;
        }
    for (int64_t i = 0; i < p->n_spans; i++) {
        const struct assay_span *s = &p->spans[i];
        if (s->kind != ASSAY_SPAN_SHARE || s->track >= 1024 || shared[s->track])
            continue;
        shared[s->track] = true;
        snprintf(name, sizeof name, "thread %d", s->track);
        assay_trace_track(d->writer, at(d, TRACK_THREADS + s->track), name,
                          TRACK_THREADS + s->track);
    }
}

/* Which of the streams it is on; the last stands for all that are too many. */
static int32_t stream_of(struct drawing *d, int32_t stream)
{
    char name[32];
    for (int32_t i = 0; i < d->n_streams; i++)
        if (d->streams[i] == stream)
            return i;
    if (d->n_streams == MOST_STREAMS)
        return MOST_STREAMS - 1;
    int32_t next = d->n_streams++;
    d->streams[next] = stream;
    snprintf(name, sizeof name, "GPU stream %d", stream);
    assay_trace_track(d->writer, at(d, TRACK_STREAMS + next), name, TRACK_STREAMS + next);
    return next;
}

/* ---- calls and nodes ---- */

static void draw_call(const struct drawing *d, const struct assay_span *s)
{
    const struct assay_profile *p = d->profile;
    enum { OWN = 8 };
    struct assay_trace_arg args[OWN + ASSAY_PROFILE_FACTS] = {
        {"implementation", p->implementation, 0},
        {"kernel", p->kernel, 0},
        {"recipe", p->recipe, 0},
        {"operands", p->state, 0},
        {"threads", NULL, p->threads},
        {"timed_median_us", NULL, p->median_ns / 1e3},
    };
    int32_t n = OWN - 2;
    if (p->missing[0])
        args[n++] = (struct assay_trace_arg){"missing", p->missing, 0};
    if (p->gpu_source[0])
        args[n++] = (struct assay_trace_arg){"gpu_seen_by", p->gpu_source, 0};
    for (int32_t i = 0; i < p->n_facts; i++)
        args[n++] = (struct assay_trace_arg){p->facts[i].key, NULL, p->facts[i].value};
    assay_trace_slice(d->writer, at(d, TRACK_NODES), "call", "call", s->start_ns,
                      s->end_ns - s->start_ns, args, n);
}

/* As long as the ceiling allows, beside its node; cut where the next one begins, because slices of
 * a track must not overlap. */
static void draw_ghost(struct drawing *d, const struct assay_span *s,
                       const struct assay_profile_node *node, int64_t next_ns)
{
    int64_t length = (int64_t)node->ceiling_ns, start = s->start_ns;
    const struct assay_trace_arg args[] = {{"ceiling_us", NULL, node->ceiling_ns / 1e3},
                                           {"bound", node->bound, 0}};
    if (!(node->ceiling_ns > 0))
        return;
    if (start < d->last_ghost_ns)
        start = d->last_ghost_ns;
    if (next_ns > start && start + length > next_ns)
        length = next_ns - start;
    d->last_ghost_ns = start + length;
    assay_trace_slice(d->writer, at(d, TRACK_CEILING), node->op, "ceiling", start, length, args, 2);
}

static void draw_node(struct drawing *d, const struct assay_span *s, int64_t next_ns)
{
    const struct assay_profile_node *node = &d->profile->nodes[s->what];
    double ns = (double)(s->end_ns - s->start_ns), per_s = ns > 0 ? 1e9 / ns : 0;
    const struct assay_trace_arg all[] = {
        {"phase", node->phase, 0},
        {"node", NULL, (double)s->what},
        {"op", node->op, 0},
        {"shape", node->shape, 0},
        {"kernel", node->kernel, 0},
        {"bytes", NULL, node->bytes},
        {"flops", NULL, node->flops},
        {"GB_per_s", NULL, round(node->bytes * per_s / 1e6) / 1e3},
        {"GFLOP_per_s", NULL, round(node->flops * per_s / 1e6) / 1e3},
        {"bound", node->bound, 0},
        {"ceiling_us", NULL, node->ceiling_ns / 1e3},
        {"percent_of_ceiling", NULL, ns > 0 ? round(node->ceiling_ns / ns * 1e4) / 1e2 : 0},
    };
    int32_t skipped = node->phase[0] == '\0';
    int32_t n = (int32_t)(sizeof all / sizeof all[0]) - skipped - (node->ceiling_ns > 0 ? 0 : 3);
    assay_trace_slice(d->writer, at(d, TRACK_NODES), node->op, "node", s->start_ns,
                      s->end_ns - s->start_ns, all + skipped, n);
    draw_ghost(d, s, node, next_ns);
}

/* ---- a GPU's kernels and copies, and what the host did meanwhile ---- */

/* Slices of a track must not overlap; a kernel may begin before the one before it has ended. */
static void draw_activity(struct drawing *d, const struct assay_activity *a)
{
    static const char *const kinds[] = {"kernel", "copy", "fill", "node"};
    char grid[40], block[40];
    int32_t stream = stream_of(d, a->stream);
    int64_t start = a->start_ns > d->last_end_ns[stream] ? a->start_ns : d->last_end_ns[stream];
    int64_t end = a->end_ns > start ? a->end_ns : start;
    double ns = (double)(a->end_ns - a->start_ns);
    bool kernel = a->kind == ASSAY_ACTIVITY_KERNEL;
    snprintf(grid, sizeof grid, "%dx%dx%d", a->grid[0], a->grid[1], a->grid[2]);
    snprintf(block, sizeof block, "%dx%dx%d", a->block[0], a->block[1], a->block[2]);
    const struct assay_trace_arg args[] = {
        {"kind", kinds[a->kind], 0},
        {"call", NULL, a->call},
        {"node", NULL, a->node},
        {"duration_us", NULL, ns / 1e3},
        {kernel ? "grid" : "bytes", kernel ? grid : NULL, a->bytes},
        {"block", block, 0},
        {"registers", NULL, a->registers},
        {"shared_bytes", NULL, a->shared_bytes},
    };
    int32_t n = (int32_t)(sizeof args / sizeof args[0]) - (kernel ? 0 : 3);
    d->last_end_ns[stream] = end;
    assay_trace_slice(d->writer, at(d, TRACK_STREAMS + stream), a->name, "gpu", start, end - start,
                      args, n);
}

static void draw_host(const struct drawing *d, const struct assay_span *s)
{
    const char *name = s->what >= 0 ? d->profile->nodes[s->what].op : "call";
    const struct assay_trace_arg node = {"node", NULL, (double)s->what};
    assay_trace_slice(d->writer, at(d, TRACK_HOST), name, "host", s->start_ns,
                      s->end_ns - s->start_ns, &node, s->what >= 0);
}

/* ---- phases ---- */

/* Of training: from the first node of a phase to the end of its last, in each call. */
static void draw_phases(const struct drawing *d)
{
    const struct assay_profile *p = d->profile;
    const char *phase = "";
    int64_t from = 0, to = 0, nodes = 0;
    for (int64_t i = 0; i <= p->n_spans; i++) {
        const struct assay_span *s = i < p->n_spans ? &p->spans[i] : NULL;
        const char *next = s && s->kind == ASSAY_SPAN_NODE ? p->nodes[s->what].phase : "";
        bool ends = !s || s->kind == ASSAY_SPAN_CALL ||
                    (s->kind == ASSAY_SPAN_NODE && strcmp(next, phase) != 0);
        const struct assay_trace_arg count = {"nodes", NULL, (double)nodes};
        if (ends && phase[0])
            assay_trace_slice(d->writer, at(d, TRACK_PHASES), phase, "phase", from, to - from,
                              &count, 1);
        if (ends) {
            phase = next;
            from = s ? s->start_ns : 0;
            nodes = 0;
        }
        if (s && s->kind == ASSAY_SPAN_NODE) {
            to = s->end_ns;
            nodes++;
        }
    }
}

/* ---- threads ---- */

/* What a thread did in one node: its shares, and between them it waited: to be woken, for the
 * others at a barrier, or because there was no share for it. */
static void draw_thread(const struct drawing *d, const struct assay_span *node, int64_t from,
                        int64_t to, int32_t thread)
{
    const struct assay_profile *p = d->profile;
    const char *op = p->nodes[node->what].op;
    const struct assay_trace_arg number = {"node", NULL, (double)node->what};
    int64_t done = node->start_ns;
    for (int64_t i = from; i < to; i++) {
        const struct assay_span *s = &p->spans[i];
        const struct assay_trace_arg units = {"units", NULL, (double)s->what};
        if (s->kind != ASSAY_SPAN_SHARE || s->track != thread)
            continue;
        if (s->start_ns > done)
            assay_trace_slice(d->writer, at(d, TRACK_THREADS + thread), "waits", "wait", done,
                              s->start_ns - done, &number, 1);
        assay_trace_slice(d->writer, at(d, TRACK_THREADS + thread), op, "share", s->start_ns,
                          s->end_ns - s->start_ns, &units, s->what > 0);
        done = s->end_ns;
    }
    if (node->end_ns > done)
        assay_trace_slice(d->writer, at(d, TRACK_THREADS + thread), "waits", "wait", done,
                          node->end_ns - done, &number, 1);
}

/* Shares lie behind their node, and before the next one. */
static int64_t end_of_node(const struct assay_profile *p, int64_t node)
{
    int64_t to = node + 1;
    while (to < p->n_spans && p->spans[to].start_ns < p->spans[node].end_ns &&
           p->spans[to].kind == ASSAY_SPAN_SHARE)
        to++;
    return to;
}

static void draw_threads(const struct drawing *d, int64_t node)
{
    const struct assay_profile *p = d->profile;
    int64_t to = end_of_node(p, node);
    for (int32_t thread = 0; thread < p->threads && to > node + 1; thread++)
        draw_thread(d, &p->spans[node], node + 1, to, thread);
}

/* ---- samples, clock, memory ---- */

/* When each was taken is not known, only in which order: they lie one behind the other, before the
 * profiled pass. */
static void draw_samples(const struct drawing *d, int state)
{
    const struct assay_profile_samples *samples = &d->profile->samples[state];
    double all = 0;
    for (int32_t i = 0; i < samples->n; i++)
        all += (double)samples->ns[i];
    int64_t begin = d->profile->n_spans > 0 ? d->profile->spans[0].start_ns - (int64_t)all : 0;
    for (int32_t i = 0; i < samples->n; i++) {
        double ns = (double)samples->ns[i];
        const struct assay_trace_arg args[] = {
            {"sample", NULL, (double)i * (samples->every > 0 ? samples->every : 1)},
            {"call_us", NULL, ns / 1e3},
            {"disturbed", samples->disturbed[i] ? "yes" : "no", 0}};
        assay_trace_slice(d->writer, at(d, TRACK_HOT + state),
                          samples->disturbed[i] ? "disturbed sample" : "sample", "sample", begin,
                          (int64_t)ns, args, 3);
        begin += (int64_t)ns;
    }
}

static void draw_readings(const struct drawing *d)
{
    for (int64_t i = 0; i < d->profile->n_readings; i++) {
        const struct assay_profile_reading *r = &d->profile->readings[i];
        if (r->clock_hz > 0)
            assay_trace_counter(d->writer, at(d, TRACK_CLOCK), "clock (GHz)", r->at_ns,
                                round(r->clock_hz / 1e6) / 1e3);
        if (r->bytes_held > 0)
            assay_trace_counter(d->writer, at(d, TRACK_MEMORY), "memory (MB)", r->at_ns,
                                round(r->bytes_held / 1e3) / 1e3);
    }
}

/* A variant of which nothing was noted says why. */
static void draw_nothing(const struct drawing *d)
{
    const struct assay_profile *p = d->profile;
    const struct assay_trace_arg why = {"missing", p->missing, 0};
    int64_t at_ns = p->n_readings > 0 ? p->readings[0].at_ns : assay_clock_ns();
    assay_trace_slice(d->writer, at(d, TRACK_NODES), "not profiled", "missing", at_ns, 0, &why, 1);
}

static int64_t next_node_ns(const struct assay_profile *p, int64_t node)
{
    for (int64_t i = node + 1; i < p->n_spans; i++)
        if (p->spans[i].kind == ASSAY_SPAN_NODE)
            return p->spans[i].start_ns;
    return 0;
}

void assay_timeline_write(assay_trace_writer *writer, int32_t number,
                          const struct assay_profile *profile)
{
    struct drawing d = {.writer = writer, .process = number, .profile = profile};
    name_tracks(&d);
    for (int i = 0; i < ASSAY_PROFILE_STATES; i++)
        draw_samples(&d, i);
    for (int64_t i = 0; i < profile->n_spans; i++) {
        const struct assay_span *s = &profile->spans[i];
        if (s->kind == ASSAY_SPAN_CALL)
            draw_call(&d, s);
        if (s->kind == ASSAY_SPAN_HOST)
            draw_host(&d, s);
        if (s->kind != ASSAY_SPAN_NODE)
            continue;
        draw_node(&d, s, next_node_ns(profile, i));
        draw_threads(&d, i);
    }
    for (int64_t i = 0; i < profile->activities.n; i++)
        draw_activity(&d, &profile->activities.items[i]);
    if (has_phases(profile))
        draw_phases(&d);
    draw_readings(&d);
    if (profile->n_spans == 0)
        draw_nothing(&d);
}
