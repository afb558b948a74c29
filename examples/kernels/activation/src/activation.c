/* activation.c: loops that compilers turn into vector code, shared out to threads by OpenMP. */
#include "activation.h"

#include <string.h>

/* exp(x) for x <= 88, to 2 units of f32: x = n ln 2 + r, and a series for exp(r). Unlike expf it
 * has no branches and no calls, so that loops over it become vector code. */
static inline float exp_of(float x)
{
    const float round = 0x1.8p23f; /* added to a small float it leaves the nearest integer */
    x = x < -87.0f ? -87.0f : x;
    float shifted = x * 1.44269504f + round, n = shifted - round;
    float r = x - n * 0x1.62e4p-1f - n * 0x1.7f7d1cp-20f; /* ln 2 in two parts */
    float p = 1 / 5040.0f;
    p = p * r + 1 / 720.0f;
    p = p * r + 1 / 120.0f;
    p = p * r + 1 / 24.0f;
    p = p * r + 1 / 6.0f;
    p = p * r + 0.5f;
    p = p * r + 1;
    p = p * r + 1;
    int32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000 + 127) << 23; /* 2^n */
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static inline float silu_of(float x)
{
    float e = exp_of(x < 0 ? x : -x); /* never beyond 1 */
    return (x < 0 ? x * e : x) / (1 + e);
}

/* x times the normal distribution function. Its tail beyond |x| is exp(-x^2 / 2) times a polynomial
 * in t = 1 / (1 + 0.23 |x|), fitted to 5e-8 of the tail. */
static inline float gelu_of(float x)
{
    float a = x < 0 ? -x : x, t = 1 / (1 + 0.23f * a);
    float p = -0.077455825f;
    p = p * t + 0.28484825f;
    p = p * t - 0.26497453f;
    p = p * t + 0.28406433f;
    p = p * t - 0.018826182f;
    p = p * t + 0.11237799f;
    p = p * t + 0.087966422f;
    p = p * t + 0.091999524f;
    float tail = p * t * exp_of(-0.5f * x * x);
    return x * (x < 0 ? tail : 1 - tail);
}

static inline void silu_and_mul(float *restrict y, const float *restrict gate,
                                const float *restrict value, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = silu_of(gate[i]) * value[i];
}

static inline void gelu(float *restrict y, const float *restrict x, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        y[i] = gelu_of(x[i]);
}

enum { BLOCK = 1024 }; /* elements a thread has at a time: they stay in its nearest cache */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

void silu_and_mul_f32(float *out, const float *x, int64_t rows, int64_t d, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < rows; row++)
        silu_and_mul(out + row * d, x + row * 2 * d, x + row * 2 * d + d, d);
}

void gelu_f32(float *out, const float *x, int64_t count, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < count; first += BLOCK)
        gelu(out + first, x + first, least(BLOCK, count - first));
}

#if ACTIVATION_F16

#include <immintrin.h>

static inline void widen(float *to, const uint16_t *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
    for (; i < n; i++)
        to[i] = _cvtsh_ss(from[i]);
}

static inline void narrow(uint16_t *to, const float *from, int64_t n)
{
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++)
        to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

void silu_and_mul_f16(uint16_t *out, const uint16_t *x, int64_t rows, int64_t d, int threads)
{
    int64_t blocks = (d + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < rows * blocks; i++) {
        float gate[BLOCK], value[BLOCK], y[BLOCK];
        int64_t row = i / blocks, first = i % blocks * BLOCK, n = least(BLOCK, d - first);
        widen(gate, x + row * 2 * d + first, n);
        widen(value, x + row * 2 * d + d + first, n);
        silu_and_mul(y, gate, value, n);
        narrow(out + row * d + first, y, n);
    }
}

void gelu_f16(uint16_t *out, const uint16_t *x, int64_t count, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < count; first += BLOCK) {
        float wide[BLOCK], y[BLOCK];
        int64_t n = least(BLOCK, count - first);
        widen(wide, x + first, n);
        gelu(y, wide, n);
        narrow(out + first, y, n);
    }
}

#endif
