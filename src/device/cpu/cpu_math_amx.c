/* cpu_math_amx.c: how fast the units for narrow types multiply and add: FP16, BF16 dot products,
 * VNNI, and the matrix unit. Everything stays in registers. What the unit does with zeros is not
 * what it does with data (all-zero tiles run 20 % faster), so they are filled with data.
 *
 * Only called where CPUID reports the instruction; written as inline assembly, so that the file
 * needs no further flags. */
#include "device/cpu/cpu_loops.h"
#include "device/cpu/cpu_tiles_amx.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Sixteen independent sums in registers 0 to 15, more than latency times throughput of any of
 * these; the operands are 16 and 17. One asm statement, so that the compiler keeps nothing in
 * memory. */
#define FOUR(text, a, b, c, d)                                                                     \
    text " %%zmm16, %%zmm17, %%zmm" #a "\n\t" text " %%zmm16, %%zmm17, %%zmm" #b "\n\t" text       \
         " %%zmm16, %%zmm17, %%zmm" #c "\n\t" text " %%zmm16, %%zmm17, %%zmm" #d "\n\t"
#define SIXTEEN(text)                                                                              \
    FOUR(text, 0, 1, 2, 3)                                                                         \
    FOUR(text, 4, 5, 6, 7) FOUR(text, 8, 9, 10, 11) FOUR(text, 12, 13, 14, 15)
#define SIXTEEN_SUMS                                                                               \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",       \
        "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17"

/* `text` is an instruction of three operands, `flops` what one of them does. */
#define DEFINE_VECTOR_LOOP(name, text, pattern, flops)                                             \
    static void name(void *dst, const void *src, const void *more, size_t amount)                  \
    {                                                                                              \
        (void)dst, (void)src, (void)more;                                                          \
        size_t turns = amount / ((size_t)16 * (flops));                                            \
        __asm__ volatile("vzeroall\n\tvpbroadcastd %1, %%zmm16\n\tvmovdqa64 %%zmm16, %%zmm17\n"    \
                         "1:\n\t" SIXTEEN(text) "dec %0\n\tjnz 1b"                                 \
                         : "+r"(turns)                                                             \
                         : "r"(pattern)                                                            \
                         : SIXTEEN_SUMS, "cc");                                                    \
    }

/* The patterns are small numbers that are not 0: 2^-3 as f16 twice, bf16 of about 0.7 twice, four
 * bytes. Sums of f16 grow to where adding changes nothing, which takes no longer. */
DEFINE_VECTOR_LOOP(fma_f16, "vfmadd231ph", 0x30a13055, 64)
DEFINE_VECTOR_LOOP(dot_bf16, "vdpbf16ps", 0x3f353f2d, 64)
DEFINE_VECTOR_LOOP(dot_s8, "vpdpbusd", 0x05030703, 128)

/* Opens the tiles; 4 to 7 hold data: any bytes whose bf16 exponents are tame. */
static void tiles_fill(void)
{
    uint16_t data[512];
    for (int i = 0; i < 512; i++)
        data[i] = (uint16_t)(0x3f00 + (i * 37 & 0xff) + (i & 1 ? 0x8000 : 0));
    assay_cpu_tiles_open();
    __asm__ volatile("" ::"r"(data) : "memory");
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, data, 64);
    _tile_loadd(5, data, 64);
    _tile_loadd(6, data, 64);
    _tile_loadd(7, data, 64);
}

#define DEFINE_TILE_LOOP(name, multiply, flops)                                                    \
    static void name(void *dst, const void *src, const void *more, size_t amount)                  \
    {                                                                                              \
        (void)dst, (void)src, (void)more;                                                          \
        tiles_fill();                                                                              \
        for (size_t done = 0; done < amount; done += (size_t)4 * (flops)) {                        \
            multiply(0, 4, 6);                                                                     \
            multiply(1, 4, 7);                                                                     \
            multiply(2, 5, 6);                                                                     \
            multiply(3, 5, 7);                                                                     \
        }                                                                                          \
        assay_cpu_tiles_close();                                                                   \
    }

DEFINE_TILE_LOOP(tile_bf16, _tile_dpbf16ps, 16384)
DEFINE_TILE_LOOP(tile_s8, _tile_dpbssd, 32768)

const struct assay_cpu_loop assay_cpu_loops_math[] = {
    {"fp16", ASSAY_CPU_LOOP_F16, false, fma_f16, ASSAY_CPU_AVX512_FP16},
    {"bf16 dot", ASSAY_CPU_LOOP_BF16, false, dot_bf16, ASSAY_CPU_AVX512_BF16},
    {"vnni", ASSAY_CPU_LOOP_S8, false, dot_s8, ASSAY_CPU_AVX512_VNNI},
    {"amx bf16", ASSAY_CPU_LOOP_BF16, false, tile_bf16, ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_BF16},
    {"amx s8", ASSAY_CPU_LOOP_S8, false, tile_s8, ASSAY_CPU_AMX_TILE | ASSAY_CPU_AMX_INT8},
    {NULL, ASSAY_CPU_LOOP_READ, false, NULL, 0},
};

/* 2.7 us where the unit is free. */
void assay_cpu_matrix_work(void) { tile_bf16(NULL, NULL, NULL, ASSAY_CPU_MATRIX_WORK); }
#endif
