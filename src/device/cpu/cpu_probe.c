/* cpu_probe.c: probes of the CPU. Memory is kept from one probe to the next, because making half a
 * gigabyte resident takes longer than probing it. */
#include "device/cpu/cpu_probe.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/cpu/cpu_device.h"
#include "device/cpu/cpu_stream.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* What a set holds at the most: by then memory streams steadily, and more would only take more of
 * it; at least four times the last-level cache, so that little of it is found there. A call that
 * moves more goes through several sets: with calls a third as long as the kernel's, and threads
 * that wait for each other three times as often, the probe of `add` was 2 to 4 % too slow. */
static const size_t MOST_BYTES = (size_t)256 << 20;
static const int64_t PASSES_MOST = 64;
/* Streams whose sizes differ by less than this have the same loop, for so long. */
static const double SAME_SIZE = 1.2;
static const int64_t TUNED_FOR_NS = 30000000000;
/* Looking for it takes no longer than this where three turns do not. */
static const double TUNE_MOST_NS = 500e6;
/* A call of arithmetic is so long that starting the threads does not count. */
static const double MATH_CALL_NS = 200e3;

struct cpu_probe {
    struct assay_cpu_stream stream; /* of memory */
    int64_t passes, n_sets;         /* sets that a call goes through, of so many */
    const struct assay_cpu_loop *math;
    size_t operations; /* of one thread */
    int32_t threads;
    struct cpu_block *block;
    struct assay_args *sets;
    void *(*pointers)[3];
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* Numbers of every size near 1: what zeros cost is not what numbers cost. */
static void fill(const struct cpu_device *device, char *memory, size_t bytes)
{
    size_t words = bytes / sizeof(uint32_t);
#pragma omp parallel for schedule(static) num_threads(device->base.threads)
    for (size_t i = 0; i < words; i++)
        ((uint32_t *)(void *)memory)[i] = 0x3f000000u | (uint32_t)((i * 2654435761u) & 0x7fffffu);
}

static size_t held_bytes(const struct cpu_device *device)
{
    size_t bytes = 0;
    for (int i = 0; i < ASSAY_CPU_MAX_BLOCKS; i++)
        bytes += device->blocks[i].bytes;
    return bytes;
}

static void release_block(struct cpu_device *device, struct cpu_block *block)
{
    if (block->memory)
        device->base.driver->free(&device->base, block->memory, block->bytes);
    *block = (struct cpu_block){0};
}

void assay_cpu_release_blocks(struct cpu_device *device)
{
    for (int i = 0; i < ASSAY_CPU_MAX_BLOCKS; i++)
        release_block(device, &device->blocks[i]);
}

double assay_cpu_block_bytes(const struct cpu_device *device) { return (double)held_bytes(device); }

/* The smallest block that is free and large enough; NULL: there is none. */
static struct cpu_block *free_block(struct cpu_device *device, size_t bytes)
{
    struct cpu_block *best = NULL;
    for (int i = 0; i < ASSAY_CPU_MAX_BLOCKS; i++) {
        struct cpu_block *block = &device->blocks[i];
        if (!block->busy && block->bytes >= bytes && (!best || block->bytes < best->bytes))
            best = block;
    }
    return best;
}

/* A place for a new one: an empty entry, or that of the smallest block nobody uses. */
static struct cpu_block *spare_entry(struct cpu_device *device)
{
    struct cpu_block *spare = NULL;
    for (int i = 0; i < ASSAY_CPU_MAX_BLOCKS; i++) {
        struct cpu_block *block = &device->blocks[i];
        if (!block->busy && (!spare || block->bytes < spare->bytes))
            spare = block;
    }
    if (spare)
        release_block(device, spare);
    return spare;
}

/* Probes take no more than a quarter of what is free. */
static bool may_take(const struct cpu_device *device, size_t bytes)
{
    size_t available = assay_cpu_memory_available();
    return available == 0 || bytes <= (available + held_bytes(device)) / 4;
}

static struct cpu_block *take_block(struct cpu_device *device, size_t bytes)
{
    struct cpu_block *block = free_block(device, bytes);
    void *memory = NULL;
    if (!block && may_take(device, bytes) && (block = spare_entry(device))) {
        if (device->base.driver->alloc(&device->base, bytes, &memory, NULL) != ASSAY_OK)
            return NULL;
        *block = (struct cpu_block){.memory = memory, .bytes = bytes};
        fill(device, memory, bytes);
    }
    if (block)
        block->busy = true;
    return block;
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

static enum assay_status run_stream(void *state, const struct assay_work *work)
{
    const struct cpu_probe *p = state;
    for (int64_t i = 0; i < work->iters; i++) {
        int64_t first = assay_work_args(work, i) - p->sets;
        assay_cpu_stream_run_sets(&p->stream, p->sets, p->n_sets, first * p->passes, p->passes);
    }
    return ASSAY_OK;
}

/* Whole grains of each tensor. */
static size_t bytes_of_tensor(const struct cpu_device *device, const struct assay_probe_spec *spec)
{
    size_t llc = assay_cpu_llc_bytes(device->base.threads);
    double most = fmax((double)MOST_BYTES, 4 * (double)llc);
    double each = fmin(spec->bytes, most) / assay_probe_streams(spec->kind);
    return assay_probe_grains(each, ASSAY_CPU_LOOP_GRAIN) * ASSAY_CPU_LOOP_GRAIN;
}

/* The loop found for much the same a few seconds ago will do: looking for it takes longer than many
 * a group does. */
static const struct cpu_tuned *tuned_lately(const struct cpu_device *device,
                                            const struct assay_cpu_stream *stream, bool cold)
{
    int64_t now = assay_clock_ns();
    for (int i = 0; i < ASSAY_CPU_MAX_TUNED; i++) {
        const struct cpu_tuned *t = &device->tuned[i];
        double ratio = (double)t->stream.bytes / (double)stream->bytes;
        if (t->stream.loop && t->stream.kind == stream->kind && t->cold == cold &&
            ratio > 1 / SAME_SIZE && ratio < SAME_SIZE && now - t->at_ns < TUNED_FOR_NS)
            return t;
    }
    return NULL;
}

static void tune(struct cpu_device *device, struct cpu_probe *p, bool cold, int64_t n_sets)
{
    const struct cpu_tuned *known = tuned_lately(device, &p->stream, cold);
    if (known) {
        p->stream.loop = known->stream.loop;
        p->stream.threads = known->stream.threads;
        return;
    }
    assay_cpu_stream_tune(&p->stream, p->threads, p->sets, n_sets, TUNE_MOST_NS);
    struct cpu_tuned *oldest = &device->tuned[0];
    for (int i = 1; i < ASSAY_CPU_MAX_TUNED; i++)
        if (device->tuned[i].at_ns < oldest->at_ns)
            oldest = &device->tuned[i];
    *oldest = (struct cpu_tuned){p->stream, cold, assay_clock_ns()};
}

static enum assay_status open_stream(struct cpu_device *device, const struct assay_probe_spec *spec,
                                     struct cpu_probe *p, struct assay_probe *out)
{
    enum assay_cpu_loop_kind kind = (enum assay_cpu_loop_kind)spec->kind;
    size_t bytes = bytes_of_tensor(device, spec), set = assay_cpu_stream_set_bytes(kind, bytes);
    size_t llc = assay_cpu_llc_bytes(device->base.threads);
    out->n_sets = spec->cold ? (int64_t)(2 * llc / set) + 2 : 1;
    p->stream = (struct assay_cpu_stream){.kind = kind, .bytes = bytes};
    p->block = take_block(device, set * (size_t)out->n_sets);
    if (!p->block)
        return ASSAY_UNSUPPORTED;
    p->sets = assay_calloc((size_t)out->n_sets, sizeof *p->sets);
    p->pointers = assay_calloc((size_t)out->n_sets, sizeof *p->pointers);
    if (!p->sets || !p->pointers)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < out->n_sets; i++)
        assay_cpu_stream_bind(kind, bytes, p->block->memory + (size_t)i * set, p->pointers[i],
                              &p->sets[i]);
    tune(device, p, spec->cold, out->n_sets);
    double each = (double)bytes * assay_probe_streams(spec->kind);
    p->n_sets = out->n_sets;
    p->passes = (int64_t)fmin(fmax(spec->bytes / each + 0.5, 1), (double)PASSES_MOST);
    out->sets = p->sets;
    out->amount = each * (double)p->passes;
    out->kernel.run = run_stream;
    return ASSAY_OK;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static enum assay_status run_math(void *state, const struct assay_work *work)
{
    const struct cpu_probe *p = state;
    for (int64_t i = 0; i < work->iters; i++) {
#pragma omp parallel num_threads(p->threads)
        p->math->run(NULL, NULL, NULL, p->operations);
    }
    return ASSAY_OK;
}

/* Operations of a kind of arithmetic that one operation of a loop is worth; 0: it does not apply.
 * Whatever f32 can do, others can; 8-bit floats are exact in bf16; an f16 is the sum of two bf16,
 * and four products of theirs are one of its. */
static double worth(enum assay_cpu_loop_kind loop, int math)
{
    if (loop == ASSAY_CPU_LOOP_FMA)
        return 1;
    if (loop == ASSAY_CPU_LOOP_BF16)
        return math == ASSAY_CEILING_BF16 || math == ASSAY_CEILING_F8 ? 1
               : math == ASSAY_CEILING_F16                            ? 0.25
                                                                      : 0;
    bool own = (loop == ASSAY_CPU_LOOP_F16 && math == ASSAY_CEILING_F16) ||
               (loop == ASSAY_CPU_LOOP_S8 && math == ASSAY_CEILING_S8);
    return own ? 1 : 0;
}

/* Operations per ns of one thread while all of them run, the best of a few tries. */
static double math_rate(struct cpu_probe *p)
{
    enum { TRIES = 3 };
    struct assay_work work = {.iters = 1};
    double least = (double)INFINITY;
    for (int i = 0; i < TRIES; i++) {
        int64_t start = assay_clock_ns();
        run_math(p, &work);
        least = fmin(least, (double)(assay_clock_ns() - start));
    }
    return (double)p->operations / fmax(least, 1);
}

static void try_loops(struct cpu_probe *p, const struct assay_cpu_loop *loops, int math,
                      const struct assay_cpu_loop **best, double *best_rate, double *raw)
{
    for (const struct assay_cpu_loop *loop = loops; loop && loop->name; loop++) {
        double value = loop->kind >= ASSAY_CPU_LOOP_FMA ? worth(loop->kind, math) : 0;
        if (!(value > 0) || (loop->isa & ~assay_cpu_info()->isa))
            continue;
        p->math = loop;
        p->operations = loop->kind == ASSAY_CPU_LOOP_FMA ? 1 << 20 : 1 << 24;
        double rate = math_rate(p);
        if (value * rate > *best_rate) {
            *best = loop;
            *best_rate = value * rate;
            *raw = rate;
        }
    }
}

static enum assay_status open_math(const struct assay_probe_spec *spec, struct cpu_probe *p,
                                   struct assay_probe *out)
{
    struct assay_cpu_loops loops = assay_cpu_loops(assay_cpu_info()->isa);
    const struct assay_cpu_loop *best = NULL;
    double rate = 0, raw = 0;
    try_loops(p, loops.wide, spec->math, &best, &rate, &raw);
    try_loops(p, loops.any, spec->math, &best, &rate, &raw);
    try_loops(p, loops.math, spec->math, &best, &rate, &raw);
    if (!best)
        return ASSAY_UNSUPPORTED;
    enum { GRAIN = 1 << 20 }; /* whole turns of every loop */
    p->math = best;
    p->operations = ((size_t)(raw * MATH_CALL_NS) / GRAIN + 1) * GRAIN;
    p->sets = assay_calloc(1, sizeof *p->sets);
    if (!p->sets)
        return ASSAY_ERR_NOMEM;
    out->sets = p->sets;
    out->n_sets = 1;
    out->amount = (double)p->operations * p->threads * worth(best->kind, spec->math);
    out->kernel.run = run_math;
    out->kernel.units = best->isa & ASSAY_CPU_AMX_TILE ? ASSAY_UNIT_MATRIX : 0;
    return ASSAY_OK;
}

/* ---- both ------------------------------------------------------------------------------------ */

enum assay_status assay_cpu_probe_open(assay_device *device, const struct assay_probe_spec *spec,
                                       struct assay_probe *out, struct assay_error *err)
{
    struct cpu_device *cpu = (struct cpu_device *)device;
    struct cpu_probe *p = assay_calloc(1, sizeof *p);
    *out = (struct assay_probe){.state = p};
    if (!p)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cpu", "out of memory");
    p->threads = device->threads;
    out->kernel = (struct assay_kernel){.struct_size = sizeof out->kernel,
                                        .abi = ASSAY_KERNEL_ABI,
                                        .name = "probe",
                                        .device = "cpu"};
    enum assay_status status =
        spec->kind == ASSAY_PROBE_MATH ? open_math(spec, p, out) : open_stream(cpu, spec, p, out);
    if (status != ASSAY_OK) {
        assay_cpu_probe_close(device, out);
        return assay_error_set(err, status, "cpu",
                               status == ASSAY_ERR_NOMEM ? "out of memory"
                                                         : "no memory, or no loop, for a probe");
    }
    return ASSAY_OK;
}

void assay_cpu_probe_close(assay_device *device, struct assay_probe *probe)
{
    (void)device;
    struct cpu_probe *p = probe->state;
    if (!p)
        return;
    if (p->block)
        p->block->busy = false;
    assay_free(p->sets);
    assay_free(p->pointers);
    assay_free(p);
    *probe = (struct assay_probe){0};
}
