#include "device/counts.h"

#include <math.h>
#include <stddef.h>

void assay_counts_clear(struct assay_counts *counts)
{
    const double none = (double)NAN;
    *counts = (struct assay_counts){.cycles = none,
                                    .instructions = none,
                                    .branch_misses = none,
                                    .cache_references = none,
                                    .cache_misses = none,
                                    .memory_bytes = none,
                                    .task_clock_ns = none,
                                    .page_faults = none,
                                    .context_switches = none,
                                    .l2_bytes = none,
                                    .occupancy_frac = none,
                                    .tensor_frac = none,
                                    .counted_frac = none};
}

void assay_counts_divide(struct assay_counts *c, int64_t calls)
{
    double *const figures[] = {&c->cycles,           &c->instructions, &c->branch_misses,
                               &c->cache_references, &c->cache_misses, &c->memory_bytes,
                               &c->task_clock_ns,    &c->page_faults,  &c->context_switches,
                               &c->l2_bytes};
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        *figures[i] /= (double)calls;
    c->calls = calls;
}
