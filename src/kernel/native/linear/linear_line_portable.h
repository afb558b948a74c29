/* linear_line_portable.h: a line of a packed panel (src/quant/quant.h) as 16 floats, in plain C
 * with the compiler's vectors of 16 bytes, and how its codes become floats.
 *
 * This file is also where the interface is written down; linear_line_avx2.h and
 * linear_line_avx512.h have the same functions. `code` and `j` are always constants. Include
 * vec_portable.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_LINE_PORTABLE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_LINE_PORTABLE_H

#include "kernel/native/linear/linear_code.h"

/* Tiles of outputs (linear_inner.h) whose sums stay in registers: T(rows, panels side by side) for
 * each. Of plain ones there is one for each number of rows up to LINE_TALL_ROWS, with one panel and
 * perhaps with more; up to LINE_PLAIN_ROWS they are used in numbers, and then prefetching what
 * comes next (LINE_NEXT_SIZES) is worth while; those of LINE_WINDOW_SIZES, which have one panel or
 * as many as the plain ones, can take windows from where they lie. Up to LINE_WIDE_ROWS, or
 * LINE_TALL_ROWS where weights are decoded, all rows are one tile. */
#define LINE_PLAIN_SIZES(T) T(1, 1) T(1, 2) T(2, 1)
#define LINE_NEXT_SIZES(T) T(2, 1)
#define LINE_WINDOW_SIZES(T) LINE_NEXT_SIZES(T)
#define LINE_STREAM_SIZES(T) T(1, 1) T(2, 1)
enum {
    LINE_PLAIN_ROWS = 2,
    LINE_WIDE_ROWS = 2,
    LINE_TALL_ROWS = 2,
    LINE_STREAM_ROWS = 2,
    LINE_AHEAD_LINES = 32 /* how many lines ahead to prefetch */
};

typedef float line_f4 __attribute__((vector_size(16)));
typedef int32_t line_i4 __attribute__((vector_size(16)));
typedef uint32_t line_u4 __attribute__((vector_size(16)));

/* 16 floats, and the 16 dwords of a line of codes. */
typedef struct {
    line_f4 v[4];
} line;
typedef struct {
    line_u4 v[4];
} line_bits;

#define LINE_EACH(i) LINEAR_UNROLL for (int i = 0; i < 4; i++)

VEC_INLINE line_f4 line_f4_all(float a) { return (line_f4){a, a, a, a}; }
VEC_INLINE line_u4 line_u4_all(uint32_t a) { return (line_u4){a, a, a, a}; }

VEC_INLINE line line_all(float a)
{
    line_f4 v = line_f4_all(a);
    return (line){{v, v, v, v}};
}
VEC_INLINE line line_zero(void) { return line_all(0); }
VEC_INLINE line_bits line_no_bits(void) { return (line_bits){{{0}}}; }
/* The dword at p in all 16 lanes. */
VEC_INLINE line line_spread(const float *p) { return line_all(*p); }
VEC_INLINE line line_get(const void *p)
{
    line a;
    memcpy(&a, p, sizeof a);
    return a;
}
VEC_INLINE void line_put(void *p, line a) { memcpy(p, &a, sizeof a); }
/* a * b + c */
VEC_INLINE line line_fma(line a, line b, line c)
{
    LINE_EACH(i) c.v[i] += a.v[i] * b.v[i];
    return c;
}
VEC_INLINE line line_add(line a, line b)
{
    LINE_EACH(i) a.v[i] += b.v[i];
    return a;
}
VEC_INLINE line line_mul(line a, line b)
{
    LINE_EACH(i) a.v[i] *= b.v[i];
    return a;
}

/* 16 elements of type `kind` as floats: scales and zeros. */
VEC_INLINE line line_from(enum native_kind kind, const void *data, int64_t at)
{
    float f[16];
    for (int i = 0; i < 16; i++)
        f[i] = vec_load(kind, data, at + i);
    return line_get(f);
}

/* A line of codes, made ready for line_code. */
VEC_INLINE line_bits line_codes(enum linear_code code, const void *p)
{
    line_bits bits;
    memcpy(&bits, p, sizeof bits);
    /* As two's complement, code - half is the code with its upper bit turned over. */
    if (code == LINEAR_U4)
        LINE_EACH(i) bits.v[i] ^= line_u4_all(0x88888888u);
    if (code == LINEAR_U8)
        LINE_EACH(i) bits.v[i] ^= line_u4_all(0x80808080u);
    return bits;
}

VEC_INLINE line_f4 line_lesser(line_f4 a, line_f4 b)
{
    line_u4 less = (line_u4)(a < b);
    return (line_f4)(((line_u4)a & less) | ((line_u4)b & ~less));
}

/* An f16 in the upper half. With its exponent e and fraction m, u = 2^(e - 15) (1 + m / 1024) is
 * the magnitude but for e = 0; there m / 1024 * 2^-14 = 2 u - 2^-14 is wanted, which is the lesser
 * of the two exactly there. e = 31 is infinity or NaN. */
VEC_INLINE line_f4 line_f16(line_u4 top)
{
    line_u4 magnitude = (top >> 3) & 0x0fffe000u;
    line_f4 u = (line_f4)(magnitude + 0x38000000u);
    line_u4 bits = (line_u4)line_lesser(u * 2.0f - 0x1p-14f, u);
    line_u4 beyond = (line_u4)((line_i4)magnitude >= (line_i4)line_u4_all(0x0f800000u));
    return (line_f4)(bits | (beyond & 0x7f800000u) | (top & 0x80000000u));
}

/* An e4m3 in the upper byte; the same with u = 2^(e - 15) (1 + m / 8), which is 2^-8 of it. */
VEC_INLINE line_f4 line_e4m3(line_u4 top)
{
    line_f4 u = (line_f4)(((top >> 4) & 0x07f00000u) | 0x38000000u);
    line_u4 bits = (line_u4)(line_lesser(u * 2.0f - 0x1p-14f, u) * 256.0f);
    line_u4 nan = (line_u4)(u == line_f4_all(1.875f));
    return (line_f4)(bits | (nan & 0x7fc00000u) | (top & 0x80000000u));
}

/* Code number j of each dword of `bits`, which came from p, as a float; U4 and U8 with half of
 * their range taken away. */
VEC_INLINE line line_code(enum linear_code code, const void *p, line_bits bits, int j)
{
    (void)p;
    line a;
    LINE_EACH(i)
    {
        line_u4 b = bits.v[i];
        if (code == LINEAR_F32)
            a.v[i] = (line_f4)b;
        else if (code == LINEAR_BF16)
            a.v[i] = (line_f4)(j ? b & 0xffff0000u : b << 16);
        else if (code == LINEAR_F16)
            a.v[i] = line_f16(j ? b : b << 16);
        else if (code == LINEAR_E4M3)
            a.v[i] = line_e4m3(b << (24 - 8 * j));
        else if (code == LINEAR_U4)
            a.v[i] = __builtin_convertvector((line_i4)(b << (28 - 4 * j)) >> 28, line_f4);
        else
            a.v[i] = __builtin_convertvector((line_i4)(b << (24 - 8 * j)) >> 24, line_f4);
    }
    return a;
}

/* Where line_code does not see a NaN: `watch` remembers it, and line_poison has it come out. */
VEC_INLINE line_bits line_watch(enum linear_code code, line_bits watch, line_bits bits)
{
    (void)code, (void)bits;
    return watch;
}
VEC_INLINE line line_poison(enum linear_code code, line a, line_bits watch)
{
    (void)code, (void)watch;
    return a;
}

/* What line_code's values are to be multiplied with: nothing here. */
VEC_INLINE float line_unit(enum linear_code code)
{
    (void)code;
    return 1;
}

/* Prefetches a line into the L1 cache, or into the L2. The memory need not exist. */
VEC_INLINE void line_prefetch(const void *p) { (void)p; }
VEC_INLINE void line_prefetch_far(const void *p) { (void)p; }

/* ---- elements of x, VEC_LANES at once; n <= VEC_LANES of them, the rest is 0 -------------------
 */

VEC_INLINE vec vec_load_s8(const int8_t *data, int64_t n)
{
    (void)n;
    return *data;
}
VEC_INLINE vec vec_load_s32(const int32_t *data) { return (float)*data; }
/* The one of greater magnitude, without its sign; NaN is greatest. a has no sign. */
VEC_INLINE vec vec_most(vec a, vec b)
{
    uint32_t p = assay_f32_bits(a), q = assay_f32_bits(b) & 0x7fffffffu;
    return assay_f32_from_bits(p > q ? p : q);
}
/* The power of two that is a's exponent. */
VEC_INLINE vec vec_exponent(vec a) { return assay_f32_from_bits(assay_f32_bits(a) & 0x7f800000u); }

#endif
