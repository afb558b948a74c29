/* cpu_curve.c: bandwidth over the working set: reading, writing, copying, two reads with a write,
 * from 16 KiB to 1 GiB in steps of two.
 *
 * Every sample is made of whole passes over the working set, by the loop that is fastest at its
 * size, so the rate found is sustained, not that of the best part of a pass. All points are sampled
 * in several sweeps, so that a neighbour who is busy for half a second does not own one. A point is
 * the 90th percentile of its samples: the best this machine was seen to do. */
#include "device/cpu/cpu_curve.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/cpu_info.h"
#include "device/cpu/cpu_stream.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SMALLEST = 14, /* log2 of the smallest and largest working set */
    LARGEST = 30,
    SWEEPS = 4,
    SAMPLES = 4, /* of a point in a sweep, less where passes are long */
};
static const double SAMPLE_NS = 100e3, LONG_PASS_NS = 4e6;
/* From this size on, the loop that was fastest at the previous size is used: trying all would take
 * long.
 */
static const size_t TUNED_BYTES = (size_t)64 << 20;
/* There are over a hundred of these: what is chosen need not be the last percent. */
static const double TUNE_MOST_NS = 50e6;

struct stretch {
    struct assay_cpu_stream stream;
    struct assay_args args;
    void *pointers[3];
    int64_t n;
    double rates[SWEEPS * SAMPLES];
};

struct curve {
    int32_t threads;
    int n_sizes;
    char *pool;
    size_t pool_bytes;
    struct stretch stretches[LARGEST - SMALLEST + 1][ASSAY_PROBE_STREAMS];
};

static size_t working_set(int size) { return (size_t)1 << (SMALLEST + size); }

/* ---- the pool -------------------------------------------------------------------------------- */

static void fill_pool(struct curve *c)
{
    const size_t step = (size_t)2 << 20;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (size_t i = 0; i < c->pool_bytes; i += step)
        memset(c->pool + i, 0x3f, c->pool_bytes - i < step ? c->pool_bytes - i : step);
}

/* Up to 1 GiB and a bit, no more than a third of what is free. */
static enum assay_status open_pool(struct curve *c, struct assay_error *err)
{
    const size_t slack = (size_t)1 << 20;
    size_t available = assay_cpu_memory_available();
    c->n_sizes = LARGEST - SMALLEST + 1;
    while (c->n_sizes > 1 && available && working_set(c->n_sizes - 1) > available / 3)
        c->n_sizes--;
    for (; c->n_sizes > 1; c->n_sizes--) {
        c->pool_bytes = working_set(c->n_sizes - 1) + slack;
        c->pool =
            mmap(NULL, c->pool_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (c->pool != MAP_FAILED)
            break;
        c->pool = NULL;
    }
    if (!c->pool)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "no memory to measure the ceilings in");
#if defined(MADV_HUGEPAGE)
    madvise(c->pool, c->pool_bytes, MADV_HUGEPAGE);
#endif
    fill_pool(c);
    return ASSAY_OK;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double pass_ns(struct stretch *s, int64_t passes)
{
    int64_t start = assay_clock_ns();
    for (int64_t i = 0; i < passes; i++)
        assay_cpu_stream_run(&s->stream, s->args.out[0], s->args.in[0], s->args.in[1]);
    return fmax((double)(assay_clock_ns() - start), 1) / (double)passes;
}

static void prepare(struct curve *c, int size, int kind)
{
    struct stretch *s = &c->stretches[size][kind];
    size_t each = working_set(size) / (size_t)assay_probe_streams((enum assay_probe_kind)kind);
    s->stream.kind = (enum assay_cpu_loop_kind)kind;
    s->stream.bytes = each / ASSAY_CPU_LOOP_GRAIN * ASSAY_CPU_LOOP_GRAIN;
    assay_cpu_stream_bind(s->stream.kind, s->stream.bytes, c->pool, s->pointers, &s->args);
    const struct stretch *before = size > 0 ? &c->stretches[size - 1][kind] : NULL;
    if (before && working_set(size) > TUNED_BYTES &&
        working_set(size) > 4 * assay_cpu_llc_bytes(c->threads)) {
        s->stream.loop = before->stream.loop;
        s->stream.threads = before->stream.threads;
    } else {
        assay_cpu_stream_tune(&s->stream, c->threads, &s->args, 1, TUNE_MOST_NS);
    }
}

static void sample(struct stretch *s)
{
    double once = pass_ns(s, 1); /* fills the caches */
    int64_t passes = (int64_t)ceil(SAMPLE_NS / once);
    int64_t samples = once > LONG_PASS_NS ? 1 : SAMPLES;
    double bytes =
        (double)s->stream.bytes * assay_probe_streams((enum assay_probe_kind)s->stream.kind);
    for (int64_t i = 0; i < samples; i++)
        s->rates[s->n++] = bytes / pass_ns(s, passes) * 1e9;
}

static void measure(struct curve *c)
{
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int size = 0; size < c->n_sizes; size++)
            for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++) {
                if (sweep == 0)
                    prepare(c, size, kind);
                sample(&c->stretches[size][kind]);
            }
}

/* ---- the result ------------------------------------------------------------------------------ */

static void add_level(struct assay_ceilings *out, const char *name, size_t bytes)
{
    struct assay_ceiling_level *level = &out->levels[out->n_levels++];
    snprintf(level->name, sizeof level->name, "%s", name);
    level->bytes = bytes;
}

static void name_levels(int32_t threads, struct assay_ceilings *out)
{
    const struct assay_cpu_info *cpu = assay_cpu_info();
    size_t l1 = cpu->l1d_bytes, l2 = cpu->l2_bytes, cores = (size_t)threads;
    size_t llc = assay_cpu_llc_bytes(threads), near = (l2 > l1 ? l2 : l1) * cores;
    add_level(out, "L1", l1 * cores);
    if (l2 > l1)
        add_level(out, "L2", l2 * cores);
    if (cpu->llc_bytes > l2)
        add_level(out, "L3", llc > 2 * near ? llc : 2 * near);
    add_level(out, "memory", SIZE_MAX);
}

static void conclude(struct curve *c, struct assay_ceilings *out)
{
    name_levels(c->threads, out);
    out->n_points = c->n_sizes;
    for (int size = 0; size < c->n_sizes; size++) {
        out->points[size].bytes = working_set(size);
        for (int kind = 0; kind < ASSAY_PROBE_STREAMS; kind++) {
            struct stretch *s = &c->stretches[size][kind];
            assay_stats_sort(s->rates, s->n);
            out->points[size].rates[kind] = assay_stats_quantile(s->rates, s->n, 0.9);
        }
    }
}

enum assay_status assay_cpu_curve(int32_t threads, struct assay_ceilings *out,
                                  struct assay_error *err)
{
    struct curve *c = assay_calloc(1, sizeof *c);
    if (!c)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "no memory to measure the ceilings");
    c->threads = threads;
    enum assay_status status = open_pool(c, err);
    if (status == ASSAY_OK) {
        measure(c);
        conclude(c, out);
        munmap(c->pool, c->pool_bytes);
    }
    assay_free(c);
    return status;
}
