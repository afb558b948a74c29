/* The loops with 64-byte registers. */
#include "device/cpu/cpu_loops.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#define LOOP_VECTOR __m512
#define LOOP_WIDTH 64
#define LOOP_LOAD(p) _mm512_load_ps((const void *)(p))
#define LOOP_STORE(p, v) _mm512_store_ps((void *)(p), v)
#define LOOP_STREAM(p, v) _mm512_stream_ps((void *)(p), v)
#define LOOP_FENCE() _mm_sfence()
#define LOOP_MULADD(a, b, c) _mm512_fmadd_ps(a, b, c)
#define LOOP_SPLAT(x) _mm512_set1_ps(x)
#define LOOP_XOR(a, b)                                                                             \
    _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(a), _mm512_castps_si512(b)))
#define LOOP_KEEP(v) __asm__ volatile("" : : "v"(v))
#define LOOP_NAME(text) "avx512 " text
#include "device/cpu/cpu_loops_body.h"

const struct assay_cpu_loop assay_cpu_loops_avx512[] = {LOOP_TABLE};
#endif
