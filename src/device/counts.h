/* counts.h: what calls of a kernel cost by the processor's own counters, as plain data. */
#ifndef ASSAY_DEVICE_COUNTS_H
#define ASSAY_DEVICE_COUNTS_H

#include <stdint.h>

/* Sums over all threads of the process; NaN where nobody counted. */
struct assay_counts {
    int64_t calls; /* that the figures are for; 0: nothing was counted */
    double cycles, instructions, branch_misses; /* outside the operating system */
    double cache_references, cache_misses;      /* of the last level, as the processor names them */
    double memory_bytes;  /* lines that the last level missed: an estimate, see cpu_counters.h; of a
                             GPU, what its memory moved */
    double task_clock_ns; /* the CPU time of all threads */
    double page_faults, context_switches;
    double l2_bytes;                    /* of a GPU: what its L2 cache moved; */
    double occupancy_frac, tensor_frac; /* how many of the most warps were active, on average; how
                                           busy the units for matrices were */
    double counted_frac; /* the least share of the time in which a hardware counter was on; what it
                            saw is scaled up to all of it */
    char missing[200];   /* what of this is NaN, and why; empty: nothing */
};

/* Nothing counted: NaN in all figures. */
void assay_counts_clear(struct assay_counts *counts);
/* Sums of so many calls, as those of one. */
void assay_counts_divide(struct assay_counts *counts, int64_t calls);

#endif
