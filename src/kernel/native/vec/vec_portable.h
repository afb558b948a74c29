/* vec_portable.h: the vector type of the portable kernels: one float, in plain C.
 *
 * This file is also where the vector interface is written down; vec_avx2.h and vec_avx512.h have
 * the same functions for 8 and 16 lanes. `kind` is always a constant, so that the branches on it
 * vanish. */
#ifndef ASSAY_KERNEL_NATIVE_VEC_PORTABLE_H
#define ASSAY_KERNEL_NATIVE_VEC_PORTABLE_H

#define VEC_NAME portable
#define VEC_NEED 0
#define VEC_PREFERENCE 10

#include "kernel/native/native.h"

enum { VEC_LANES = 1 };

typedef float vec;
typedef bool vec_mask;

VEC_INLINE vec vec_set(float a) { return a; }
VEC_INLINE vec vec_add(vec a, vec b) { return a + b; }
VEC_INLINE vec vec_sub(vec a, vec b) { return a - b; }
VEC_INLINE vec vec_mul(vec a, vec b) { return a * b; }
VEC_INLINE vec vec_div(vec a, vec b) { return a / b; }
VEC_INLINE vec vec_sqrt(vec a) { return sqrtf(a); }
/* a * b + c, in one rounding where the CPU can; nothing here relies on that. */
VEC_INLINE vec vec_fma(vec a, vec b, vec c) { return a * b + c; }
/* c - a * b */
VEC_INLINE vec vec_fnma(vec a, vec b, vec c) { return c - a * b; }
VEC_INLINE vec vec_abs(vec a) { return fabsf(a); }
/* The greater or smaller one; b if either is NaN, as the x86 instructions have it. */
VEC_INLINE vec vec_max(vec a, vec b) { return a > b ? a : b; }
VEC_INLINE vec vec_min(vec a, vec b) { return a < b ? a : b; }
VEC_INLINE vec_mask vec_less(vec a, vec b) { return a < b; } /* false for NaN */
VEC_INLINE vec vec_select(vec_mask mask, vec yes, vec no) { return mask ? yes : no; }
/* The first n lanes of a, the others of rest; 0 < n <= VEC_LANES. */
VEC_INLINE vec vec_first(vec a, int64_t n, vec rest)
{
    (void)n, (void)rest;
    return a;
}

/* a * 2^n for an integral n within ±250, with infinity or a subnormal where it does not fit. n may
 * be anything where a is NaN. In two steps, because 2^n alone may not be a float. Adding 1.5 * 2^23
 * to n leaves it in the low bits of the sum. */
VEC_INLINE vec vec_ldexp(vec a, vec n)
{
    uint32_t k = assay_f32_bits(n + 0x1.8p23f) - 0x4b400000u;
    uint32_t half = (k >> 1) | (k & 0x80000000u);
    return a * assay_f32_from_bits((half + 127) << 23) *
           assay_f32_from_bits((k - half + 127) << 23);
}

/* x - sign * n * ln 2 for an integral n, as exactly as |x| < 110 needs it. Without fma ln 2 is
 * split: its first 15 bits times n, 8 bits, is exact. */
VEC_INLINE vec vec_minus_ln2(vec x, vec n, float sign)
{
    return x - n * (sign * 0x1.62e4p-1f) - n * (sign * 0x1.7f7d1cp-20f);
}

VEC_INLINE float vec_sum(vec a) { return a; }      /* of all lanes */
VEC_INLINE float vec_greatest(vec a) { return a; } /* of all lanes, none of them NaN */

/* Lane i of vector j becomes lane j of vector i. */
VEC_INLINE void vec_transpose(vec rows[VEC_LANES]) { (void)rows; }

/* VEC_LANES elements from element `at`, as floats. */
VEC_INLINE vec vec_load(enum native_kind kind, const void *data, int64_t at)
{
    if (kind == NATIVE_F32)
        return ((const float *)data)[at];
    uint16_t bits = ((const uint16_t *)data)[at];
    return kind == NATIVE_F16 ? assay_f16_to_f32(bits) : assay_bf16_to_f32(bits);
}

/* The first n of them, zeros in the other lanes; touches no other memory. 0 < n <= VEC_LANES. */
VEC_INLINE vec vec_load_part(enum native_kind kind, const void *data, int64_t at, int64_t n)
{
    (void)n;
    return vec_load(kind, data, at);
}

VEC_INLINE void vec_store(enum native_kind kind, void *data, int64_t at, vec a)
{
    if (kind == NATIVE_F32)
        ((float *)data)[at] = a;
    else
        ((uint16_t *)data)[at] =
            kind == NATIVE_F16 ? assay_f16_from_f32(a) : assay_bf16_from_f32(a);
}

VEC_INLINE void vec_store_part(enum native_kind kind, void *data, int64_t at, vec a, int64_t n)
{
    (void)n;
    vec_store(kind, data, at, a);
}

/* The fast loops work on pairs of vectors, which hold 2 * VEC_LANES elements in an order of the
 * instruction set's choosing: for bf16 the even ones and the odd ones, because that takes one
 * instruction each way. Loading and storing pairs of one kind use the same order. */
struct vec_pair {
    vec a, b;
};

VEC_INLINE struct vec_pair vec_load_pair(enum native_kind kind, const void *data, int64_t at)
{
    return (struct vec_pair){vec_load(kind, data, at), vec_load(kind, data, at + 1)};
}

/* With `stream` a streaming store, where there is one; the address is then a
 * multiple of 64 bytes or of the pair's size. */
VEC_INLINE void vec_store_pair(enum native_kind kind, bool stream, void *data, int64_t at,
                               struct vec_pair p)
{
    (void)stream;
    vec_store(kind, data, at, p.a);
    vec_store(kind, data, at + 1, p.b);
}

/* After the last of a thread's streaming stores: makes them visible to the others. */
VEC_INLINE void vec_stream_end(void) {}

/* Prefetch in two steps: the pair `bytes` after that of element `at`
 * into the L2 cache, and what is there, 512 bytes ahead, into the L1. A request to the L1 that has
 * to wait for memory holds one of the few line buffers that streaming stores need too: with two
 * steps relu runs 20 % faster from memory than with one. The memory need not exist. */
VEC_INLINE void vec_prefetch_far(enum native_kind kind, const void *data, int64_t at, int64_t bytes)
{
    (void)kind, (void)data, (void)at, (void)bytes;
}

VEC_INLINE void vec_prefetch_near(enum native_kind kind, const void *data, int64_t at)
{
    (void)kind, (void)data, (void)at;
}

#endif
