/* The loops of any CPU: 16-byte registers, the C library, and x86's string instructions. */
#include "device/cpu/cpu_loops.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h> /* SSE2: every x86-64 has it */
#define LOOP_VECTOR __m128
#define LOOP_LOAD(p) _mm_load_ps((const float *)(const void *)(p))
#define LOOP_STORE(p, v) _mm_store_ps((float *)(void *)(p), v)
#define LOOP_STREAM(p, v) _mm_stream_ps((float *)(void *)(p), v)
#define LOOP_FENCE() _mm_sfence()
#define LOOP_MULADD(a, b, c) _mm_add_ps(_mm_mul_ps(a, b), c)
#define LOOP_SPLAT(x) _mm_set1_ps(x)
#define LOOP_XOR(a, b) _mm_xor_ps(a, b)
#define LOOP_KEEP(v) __asm__ volatile("" : : "x"(v))
#else
typedef float vector4 __attribute__((vector_size(16), may_alias));
typedef uint32_t bits4 __attribute__((vector_size(16), may_alias));
static const vector4 vector4_zero = {0};
#define LOOP_VECTOR vector4
#define LOOP_LOAD(p) (*(const vector4 *)(const void *)(p))
#define LOOP_STORE(p, v) (*(vector4 *)(void *)(p) = (v))
#define LOOP_MULADD(a, b, c) ((a) * (b) + (c))
#define LOOP_SPLAT(x) (vector4_zero + (x))
#define LOOP_XOR(a, b) ((vector4)((bits4)(a) ^ (bits4)(b)))
#if defined(__aarch64__)
#define LOOP_KEEP(v) __asm__ volatile("" : : "w"(v))
#else
#define LOOP_KEEP(v) __asm__ volatile("" : : "m"(v))
#endif
#endif
#define LOOP_WIDTH 16
#define LOOP_NAME(text) text
#include "device/cpu/cpu_loops_body.h"

static const struct assay_cpu_loop narrow_loops[] = {LOOP_TABLE};

/* ---- loops of the C library and of microcode ------------------------------------------------- */

/* Called through a volatile pointer, or the compiler would remove a memcpy whose result is not
 * used. */
static void *(*const volatile library_memset)(void *, int, size_t) = memset;
static void *(*const volatile library_memcpy)(void *, const void *, size_t) = memcpy;

static void write_memset(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)src, (void)more;
    library_memset(dst, 1, bytes);
}

static void copy_memcpy(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)more;
    library_memcpy(dst, src, bytes);
}

#if defined(__x86_64__)
/* Microcode that may claim lines without reading them first. */
static void write_stosb(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)src, (void)more;
    __asm__ volatile("rep stosb" : "+D"(dst), "+c"(bytes) : "a"(1) : "memory");
}

static void copy_movsb(void *dst, const void *src, const void *more, size_t bytes)
{
    (void)more;
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
}
#endif

static const struct assay_cpu_loop any_loops[] = {
    {"memset", ASSAY_CPU_LOOP_WRITE, false, write_memset, 0},
    {"memcpy", ASSAY_CPU_LOOP_COPY, false, copy_memcpy, 0},
#if defined(__x86_64__)
    {"rep stosb", ASSAY_CPU_LOOP_WRITE, false, write_stosb, 0},
    {"rep movsb", ASSAY_CPU_LOOP_COPY, false, copy_movsb, 0},
#endif
    {NULL, ASSAY_CPU_LOOP_READ, false, NULL, 0},
};

struct assay_cpu_loops assay_cpu_loops(uint32_t isa)
{
    struct assay_cpu_loops loops = {narrow_loops, any_loops, NULL};
#if defined(__x86_64__)
    if (isa & ASSAY_CPU_AVX512)
        loops.math = assay_cpu_loops_math;
    if (isa & ASSAY_CPU_AVX512)
        loops.wide = assay_cpu_loops_avx512;
    else if (isa & ASSAY_CPU_AVX2)
        loops.wide = assay_cpu_loops_avx2;
#else
    (void)isa;
#endif
    return loops;
}
