/* quant_loops.c: the loops over weights for any CPU, and the choice between them and the others. */
#define QUANT_ISA plain
#include "quant/quant_loops_body.h"

const struct assay_quant_loops *assay_quant_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        return &assay_quant_loops_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &assay_quant_loops_avx2;
#endif
    return &assay_quant_loops_plain;
}
