/* activation.h: activations over dense tensors. f16, as bits, is there where the CPU that is
 * compiled for can convert it. */
#ifndef ACTIVATION_H
#define ACTIVATION_H

#include <stdint.h>

#ifdef __F16C__
#define ACTIVATION_F16 1
#else
#define ACTIVATION_F16 0
#endif

/* x is [rows, 2 d], gates and values side by side: out [rows, d] = silu(gate) * value. */
void silu_and_mul_f32(float *out, const float *x, int64_t rows, int64_t d, int threads);

/* The exact form, with erf. */
void gelu_f32(float *out, const float *x, int64_t count, int threads);

#if ACTIVATION_F16
void silu_and_mul_f16(uint16_t *out, const uint16_t *x, int64_t rows, int64_t d, int threads);
void gelu_f16(uint16_t *out, const uint16_t *x, int64_t count, int threads);
#endif

#endif
