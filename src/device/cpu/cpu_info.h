/* cpu_info.h: what this CPU is: instruction sets, caches, cores.
 *
 * Detection reads CPUID through a function and /sys and /proc under a root, so that tests can feed
 * it recorded machines. An instruction set counts only when the operating system saves its
 * registers. */
#ifndef ASSAY_DEVICE_CPU_INFO_H
#define ASSAY_DEVICE_CPU_INFO_H

#include "base/error.h"
#include <stdint.h>

enum assay_cpu_isa {
    ASSAY_CPU_SSE42 = 1 << 0,
    ASSAY_CPU_AVX2 = 1 << 1,   /* with FMA and F16C, which every AVX2 kernel uses */
    ASSAY_CPU_AVX512 = 1 << 2, /* F, BW, DQ, VL, CD */
    ASSAY_CPU_AVX512_VNNI = 1 << 3,
    ASSAY_CPU_AVX512_BF16 = 1 << 4,
    ASSAY_CPU_AVX512_FP16 = 1 << 5,
    ASSAY_CPU_AMX_TILE = 1 << 6,
    ASSAY_CPU_AMX_BF16 = 1 << 7,
    ASSAY_CPU_AMX_INT8 = 1 << 8,
    ASSAY_CPU_AVX512_VBMI = 1 << 9,
};

struct assay_cpu_info {
    char vendor[16], model[64];
    int32_t family, model_number, stepping;
    uint32_t isa;               /* of enum assay_cpu_isa */
    int32_t cores;              /* that this process may use */
    size_t l1d_bytes, l2_bytes; /* of one core */
    size_t llc_bytes;           /* the last level, shared by some cores or all */
    int32_t llcs;               /* how many of them there are, or may be: see llcs_hidden */
    size_t memory_bytes;        /* physical */
    bool hypervisor;
    bool fast_bf16_dot;   /* vdpbf16ps does more in a cycle than FMAs in f32 */
    bool reads_ahead;     /* of streams, so well that software prefetches of their lines hurt */
    bool llcs_hidden;     /* a hypervisor tells of one, but cores may have several between them */
    bool amx_leaf_hidden; /* AMX is advertised but CPUID leaf 0x1D is not there */
    bool amx_refused;     /* AMX is there but the kernel did not let this process use it */
    int problem;          /* errno of what kept us from looking at the caches; 0: nothing did */
};

struct assay_cpuid_regs {
    uint32_t eax, ebx, ecx, edx;
};

/* Where detection looks. */
struct assay_cpu_source {
    void *user;
    void (*cpuid)(void *user, uint32_t leaf, uint32_t subleaf, struct assay_cpuid_regs *out);
    uint64_t (*xgetbv0)(void *user); /* XCR0; called only when OSXSAVE is set */
    const char *root;                /* "" for this machine */
};

/* This machine's, detected once. */
const struct assay_cpu_info *assay_cpu_info(void);
bool assay_cpu_has(uint32_t isa);

/* The last-level cache bytes that this many threads may use, if each runs beside a different
 * cache. */
size_t assay_cpu_llc_bytes(int32_t threads);

void assay_cpu_detect(const struct assay_cpu_source *source, struct assay_cpu_info *out);

/* The names of instruction sets, lowest bit first, separated by blanks. */
void assay_cpu_isa_text(uint32_t isa, char *buf, size_t size);

/* ASSAY_OK, or ASSAY_UNSUPPORTED with "needs avx512 …" naming what is missing. */
enum assay_status assay_cpu_need(uint32_t isa, struct assay_error *why);

/* Bytes that can still be had without swapping; 0 where unknown. Honours the cgroup's limit. */
size_t assay_cpu_memory_available(void);

#endif
