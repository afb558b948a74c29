/* cpu_loops.h: the loops that ceilings are measured with: reading, writing, copying, adding,
 * multiplying.
 *
 * No one loop is the fastest at every level of the memory of every CPU, so there are several of
 * each kind, and the calibration takes whichever wins. They exist in three widths (portable, AVX2,
 * AVX-512), all from one body. */
#ifndef ASSAY_DEVICE_CPU_LOOPS_H
#define ASSAY_DEVICE_CPU_LOOPS_H

#include "device/cpu/cpu_info.h"

enum assay_cpu_loop_kind {
    ASSAY_CPU_LOOP_READ,
    ASSAY_CPU_LOOP_WRITE,
    ASSAY_CPU_LOOP_COPY,
    ASSAY_CPU_LOOP_TRIAD, /* two reads and a write */
    ASSAY_CPU_LOOP_FMA,   /* from here on arithmetic: f32, and the narrow types */
    ASSAY_CPU_LOOP_F16,
    ASSAY_CPU_LOOP_BF16,
    ASSAY_CPU_LOOP_S8,
    ASSAY_CPU_LOOP_KINDS
};

/* Every amount of work is a multiple of this: 8 streams of blocks of 8 registers of 64 bytes. */
enum { ASSAY_CPU_LOOP_GRAIN = 4096 };

struct assay_cpu_loop {
    const char *name;
    enum assay_cpu_loop_kind kind;
    bool far; /* of use only where latency must be hidden: not in the caches of a core */
    /* Reads `amount` bytes of src, and of more for a triad, writes as many of dst, or both;
     * arithmetic makes that many operations and takes NULLs. Reading alone stores the XOR of all it
     * read in up to 64 bytes of dst. Pointers are aligned to 64 bytes. When it returns, all is read
     * and every write is in the caches or on its way to memory, in order. */
    void (*run)(void *dst, const void *src, const void *more, size_t amount);
    uint32_t isa; /* what the CPU must have beside the set's own */
};

/* The widest set this CPU runs, and those that need no instruction set. Each ends with name NULL;
 * the first is NULL where there are none. */
struct assay_cpu_loops {
    const struct assay_cpu_loop *wide, *any, *math;
};
struct assay_cpu_loops assay_cpu_loops(uint32_t isa);

/* Multiplications and additions of bf16 in assay_cpu_matrix_work: 400 products of tiles. */
enum { ASSAY_CPU_MATRIX_WORK = 400 * 16384 };

#if defined(__x86_64__)
extern const struct assay_cpu_loop assay_cpu_loops_avx2[], assay_cpu_loops_avx512[];
extern const struct assay_cpu_loop assay_cpu_loops_math[];
void assay_cpu_matrix_work(void); /* a few microseconds of the matrix unit; needs AMX */
#endif

#endif
