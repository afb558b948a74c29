/* The loops with 32-byte registers. */
#include "device/cpu/cpu_loops.h"

#if defined(__AVX2__)
#include <immintrin.h>

#define LOOP_VECTOR __m256
#define LOOP_WIDTH 32
#define LOOP_LOAD(p) _mm256_load_ps((const void *)(p))
#define LOOP_STORE(p, v) _mm256_store_ps((void *)(p), v)
#define LOOP_STREAM(p, v) _mm256_stream_ps((void *)(p), v)
#define LOOP_FENCE() _mm_sfence()
#define LOOP_MULADD(a, b, c) _mm256_fmadd_ps(a, b, c)
#define LOOP_SPLAT(x) _mm256_set1_ps(x)
#define LOOP_XOR(a, b) _mm256_xor_ps(a, b)
#define LOOP_KEEP(v) __asm__ volatile("" : : "x"(v))
#define LOOP_NAME(text) "avx2 " text
#include "device/cpu/cpu_loops_body.h"

const struct assay_cpu_loop assay_cpu_loops_avx2[] = {LOOP_TABLE};
#endif
