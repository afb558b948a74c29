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

/* The same loops for each type. */
#define ACTIVATIONS(TYPE, SUFFIX)                                                                  \
    void silu_and_mul_##SUFFIX(TYPE *restrict out, const TYPE *restrict x, int64_t rows,           \
                               int64_t d, int threads)                                             \
    {                                                                                              \
        _Pragma("omp parallel for schedule(static) num_threads(threads)") for (int64_t row = 0;    \
                                                                               row < rows; row++)  \
        {                                                                                          \
            const TYPE *gate = x + row * 2 * d, *value = gate + d;                                 \
            TYPE *y = out + row * d;                                                               \
            _Pragma("omp simd") for (int64_t i = 0; i < d; i++) y[i] =                             \
                (TYPE)(silu_of((float)gate[i]) * (float)value[i]);                                 \
        }                                                                                          \
    }                                                                                              \
    void gelu_##SUFFIX(TYPE *restrict out, const TYPE *restrict x, int64_t count, int threads)     \
    {                                                                                              \
        _Pragma("omp parallel for simd schedule(static) num_threads(threads)") for (int64_t i = 0; \
                                                                                    i < count;     \
                                                                                    i++) out[i] =  \
            (TYPE)gelu_of((float)x[i]);                                                            \
    }

ACTIVATIONS(float, f32)
#if ACTIVATION_F16
ACTIVATIONS(_Float16, f16)
#endif
