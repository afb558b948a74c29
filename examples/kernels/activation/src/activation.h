/* activation.h: activations over dense tensors. f16 is there where the compiler has _Float16. */
#ifndef ACTIVATION_H
#define ACTIVATION_H

#include <stdint.h>

#ifdef __FLT16_MAX__
#define ACTIVATION_F16 1
#else
#define ACTIVATION_F16 0
#endif

/* x is [rows, 2 d], gates and values side by side: out [rows, d] = silu(gate) * value. */
void silu_and_mul_f32(float *out, const float *x, int64_t rows, int64_t d, int threads);

/* The exact form, with erf. */
void gelu_f32(float *out, const float *x, int64_t count, int threads);

#if ACTIVATION_F16
void silu_and_mul_f16(_Float16 *out, const _Float16 *x, int64_t rows, int64_t d, int threads);
void gelu_f16(_Float16 *out, const _Float16 *x, int64_t count, int threads);
#endif

#endif
