/* breakdown.c: what the figures of a trace come to. Reading it is in breakdown_read.c. */
#include "trace/breakdown_make.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Work that the machine could do in less than the first, that reaches less than half of its ceiling
 * and still takes less than the second, is bound by what surrounds it: a team of threads takes some
 * microseconds to wake and to meet again. */
static const double LEAST_NS = 10e3, SHORT_NS = 100e3;

const char *assay_binds_name(enum assay_binds binds)
{
    static const char *const names[] = {"", "memory", "arithmetic", "overhead"};
    return names[binds];
}

/* ---- one part ---- */

static enum assay_binds binds_of(const struct assay_part *p)
{
    if (!(p->ceiling_ns > 0))
        return ASSAY_BINDS_UNKNOWN;
    if (p->ceiling_ns < LEAST_NS && p->call_ns < SHORT_NS && p->ceiling_share < 0.5)
        return ASSAY_BINDS_OVERHEAD;
    return strcmp(p->bound, "compute") == 0 ? ASSAY_BINDS_ARITHMETIC : ASSAY_BINDS_MEMORY;
}

/* What follows from sums: rates, shares. */
static void settle(struct assay_part *p, double whole_ns)
{
    double each = p->call_ns;
    p->share = whole_ns > 0 ? each / whole_ns : 0;
    p->bytes_per_s = each > 0 ? p->bytes / each * 1e9 : 0;
    p->flops_per_s = each > 0 ? p->flops / each * 1e9 : 0;
    p->ceiling_share = p->ceiling_ns > 0 && each > 0 ? p->ceiling_ns / each : (double)NAN;
    p->binds = binds_of(p);
}

/* ---- nodes with the same kernel, of the same phase ---- */

static void begin_sum(struct assay_part *sum, const struct assay_part *node)
{
    *sum = *node;
    sum->node = -1;
    sum->nodes = sum->calls = 0;
    sum->total_ns = sum->call_ns = sum->waits_ns = 0;
    sum->bytes = sum->flops = sum->ceiling_ns = 0;
}

static struct assay_part *kernel_of(struct assay_breakdown *b, const struct assay_part *node)
{
    for (int64_t i = 0; i < b->n_kernels; i++)
        if (strcmp(b->kernels[i].kernel, node->kernel) == 0)
            return &b->kernels[i];
    struct assay_part *kernel = &b->kernels[b->n_kernels++];
    begin_sum(kernel, node);
    kernel->phase[0] = '\0';
    return kernel;
}

static struct assay_part *phase_of(struct assay_breakdown *b, const struct assay_part *node)
{
    for (int64_t i = 0; i < b->n_phases; i++)
        if (strcmp(b->phases[i].phase, node->phase) == 0)
            return &b->phases[i];
    struct assay_part *phase = &b->phases[b->n_phases++];
    begin_sum(phase, node);
    phase->op[0] = phase->shape[0] = phase->kernel[0] = phase->bound[0] = '\0';
    return phase;
}

static void add_to_sum(struct assay_part *sum, const struct assay_part *node)
{
    bool known = sum->nodes == 0 || sum->ceiling_ns > 0;
    sum->nodes++;
    sum->calls += node->calls;
    sum->total_ns += node->total_ns;
    sum->call_ns += node->call_ns;
    sum->waits_ns += node->waits_ns;
    sum->bytes += node->bytes;
    sum->flops += node->flops;
    sum->ceiling_ns = known && node->ceiling_ns > 0 ? sum->ceiling_ns + node->ceiling_ns : 0;
}

static int compare_calls(const void *a, const void *b)
{
    const struct assay_part *x = a, *y = b;
    if (x->call_ns != y->call_ns)
        return x->call_ns > y->call_ns ? -1 : 1;
    return strcmp(x->kernel, y->kernel);
}

static enum assay_status sum_kernels(struct assay_breakdown *b)
{
    b->kernels = assay_calloc((size_t)b->n_nodes + 1, sizeof *b->kernels);
    if (!b->kernels)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < b->n_nodes; i++)
        add_to_sum(kernel_of(b, &b->nodes[i]), &b->nodes[i]);
    for (int64_t i = 0; i < b->n_kernels; i++)
        settle(&b->kernels[i], b->nodes_ns);
    if (b->n_kernels > 1)
        qsort(b->kernels, (size_t)b->n_kernels, sizeof *b->kernels, compare_calls);
    return ASSAY_OK;
}

static int compare_totals(const void *a, const void *b)
{
    const struct assay_gpu_part *x = a, *y = b;
    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void settle_gpu(struct assay_breakdown *b)
{
    double all = 0;
    for (int64_t i = 0; i < b->n_gpu; i++)
        all += b->gpu[i].total_ns;
    for (int64_t i = 0; i < b->n_gpu; i++)
        b->gpu[i].share = all > 0 ? b->gpu[i].total_ns / all : 0;
    if (b->n_gpu > 1)
        qsort(b->gpu, (size_t)b->n_gpu, sizeof *b->gpu, compare_totals);
}

/* A phase has nodes that memory binds and others: what binds it is not said. */
static enum assay_status sum_phases(struct assay_breakdown *b)
{
    b->phases = assay_calloc((size_t)b->n_nodes + 1, sizeof *b->phases);
    if (!b->phases)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < b->n_nodes; i++)
        if (b->nodes[i].phase[0])
            add_to_sum(phase_of(b, &b->nodes[i]), &b->nodes[i]);
    for (int64_t i = 0; i < b->n_phases; i++) {
        settle(&b->phases[i], b->nodes_ns);
        b->phases[i].binds = ASSAY_BINDS_UNKNOWN;
    }
    return ASSAY_OK;
}

enum assay_status assay_breakdown_settle(struct assay_breakdown *b)
{
    double named = 0;
    bool known = true;
    b->ceiling_ns = b->nodes_ns = 0;
    for (int64_t i = 0; i < b->n_nodes; i++) {
        named += b->nodes[i].total_ns;
        b->nodes_ns += b->nodes[i].call_ns;
        b->ceiling_ns += b->nodes[i].ceiling_ns;
        known = known && b->nodes[i].ceiling_ns > 0;
    }
    b->named_share = b->wall_ns > 0 ? fmin(named / b->wall_ns, 1) : 0;
    b->ceiling_ns = known ? b->ceiling_ns : 0;
    for (int64_t i = 0; i < b->n_nodes; i++)
        settle(&b->nodes[i], b->nodes_ns);
    settle_gpu(b);
    enum assay_status status = sum_kernels(b);
    return status == ASSAY_OK ? sum_phases(b) : status;
}

/* ---- the sentence ---- */

/* What it would save of a call if it reached its ceiling; 0: not known, or nothing. */
static double gain_ns(const struct assay_part *p)
{
    return p->ceiling_ns > 0 ? fmax(p->call_ns - p->ceiling_ns, 0) : 0;
}

static const struct assay_part *largest(const struct assay_breakdown *b,
                                        double (*of)(const struct assay_part *))
{
    const struct assay_part *best = NULL;
    for (int64_t i = 0; i < b->n_kernels; i++)
        if (!best || of(&b->kernels[i]) > of(best))
            best = &b->kernels[i];
    return best;
}

static double call_ns(const struct assay_part *p) { return p->call_ns; }

/* Elementwise work: memory binds it, and it moves what its neighbours have just written. */
static bool could_be_fused(const struct assay_part *p)
{
    return p->binds != ASSAY_BINDS_ARITHMETIC && p->bytes > 0 && p->flops < 2 * p->bytes;
}

static void add_advice(const struct assay_breakdown *b, const struct assay_part *p,
                       struct assay_text *out)
{
    if (p->binds == ASSAY_BINDS_OVERHEAD)
        assay_text_add(out, ": it is too short for what a call costs");
    else if (could_be_fused(p) && b->n_nodes > 1)
        assay_text_add(out, ": fusing it into a neighbour saves its trips to memory");
    else if (p->binds == ASSAY_BINDS_MEMORY)
        assay_text_format(out, ", which %s binds", p->bound);
    else if (p->binds == ASSAY_BINDS_ARITHMETIC)
        assay_text_add(out, ", which arithmetic binds");
}

static void add_gain(const struct assay_breakdown *b, struct assay_text *out)
{
    static const double WORTH_NAMING = 0.01;
    const struct assay_part *p = largest(b, gain_ns);
    double gain = p && b->nodes_ns > 0 ? gain_ns(p) / b->nodes_ns : 0;
    if (gain < WORTH_NAMING)
        return;
    assay_text_format(out, "; the largest gain, up to %.0f %%, is in %s", gain * 100, p->kernel);
    add_advice(b, p, out);
}

/* Of several phases: "; forward 31 %, backward 62 %, optimizer 7 %". */
static void add_phases(const struct assay_breakdown *b, struct assay_text *out)
{
    for (int64_t i = 0; i < b->n_phases && b->n_phases > 1; i++)
        assay_text_format(out, "%s%s %.0f %%", i ? ", " : "; ", b->phases[i].phase,
                          b->phases[i].share * 100);
}

void assay_breakdown_sentence(const struct assay_breakdown *b, struct assay_text *out)
{
    const struct assay_part *most = largest(b, call_ns);
    if (!most || b->calls == 0) {
        assay_text_format(out, "nothing was recorded%s%s", b->missing[0] ? ": " : "", b->missing);
        return;
    }
    assay_text_format(out, "%.0f %% of a call is in %s", most->share * 100, most->op);
    if (most->nodes > 1)
        assay_text_format(out, ", %lld nodes", (long long)most->nodes);
    assay_text_format(out, " (%s)", most->kernel);
    add_phases(b, out);
    double each = b->nodes_ns;
    if (b->ceiling_ns > 0 && each >= b->ceiling_ns)
        assay_text_format(out, "; the whole is %.*fx from its ceiling",
                          each < 100 * b->ceiling_ns ? 1 : 0, each / b->ceiling_ns);
    else if (b->ceiling_ns > 0)
        assay_text_add(out, "; the whole is at its ceiling");
    add_gain(b, out);
    assay_text_add(out, ".");
}

void assay_breakdowns_fini(struct assay_breakdowns *breakdowns)
{
    for (int64_t i = 0; i < breakdowns->n; i++) {
        assay_free(breakdowns->items[i].nodes);
        assay_free(breakdowns->items[i].kernels);
        assay_free(breakdowns->items[i].gpu);
        assay_free(breakdowns->items[i].phases);
    }
    assay_free(breakdowns->items);
    *breakdowns = (struct assay_breakdowns){0};
}
