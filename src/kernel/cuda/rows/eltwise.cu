// eltwise.cu: the element-wise ops and their gradients, over one flat array, whatever its shape.
//
// Compile with -DELEMENT=… and -DOP=…, an OP_… below. A thread has 16 bytes of each input and is
// done: 8 blocks of 256 on an SM have 32 KB on their way, and the hardware hands the next block out
// the moment one ends. Measured: four such vectors a thread are 10 % slower, blocks that stay and
// loop 14 %.
//
// Of a gradient x is dy, and y the forward op's input, or its output where that is what is saved.
#include "types.cuh"

#include "kernel_math.cuh"

#define OP_GELU 0
#define OP_GELU_TANH 1
#define OP_SILU 2
#define OP_RELU 3
#define OP_SIGMOID 4
#define OP_LEAKYRELU 5
#define OP_RELU6 6
#define OP_HARDSWISH 7
#define OP_ADD 8
#define OP_COPY 9
#define OP_TRIAD 10
#define OP_FMA 11
#define OP_GELU_BACKWARD 12
#define OP_GELU_TANH_BACKWARD 13
#define OP_SILU_BACKWARD 14
#define OP_RELU_BACKWARD 15
#define OP_SIGMOID_BACKWARD 16
#define OP_LEAKYRELU_BACKWARD 17
#define OP_RELU6_BACKWARD 18
#define OP_HARDSWISH_BACKWARD 19
#define OP_ADD_BACKWARD 20
#define OP_MSE_BACKWARD 21

#define BACKWARD (OP >= OP_GELU_BACKWARD)
#if OP == OP_ADD || OP == OP_TRIAD || (BACKWARD && OP != OP_ADD_BACKWARD)
#define INPUTS 2
#else
#define INPUTS 1
#endif

#if BACKWARD
// dy times the slope at y.
DEVICE float compute(float x, float y, float param)
{
#if OP == OP_GELU_BACKWARD
    return x * gelu_slope(y);
#elif OP == OP_GELU_TANH_BACKWARD
    return x * gelu_tanh_slope(y);
#elif OP == OP_SILU_BACKWARD
    return x * silu_slope(y);
#elif OP == OP_RELU_BACKWARD
    return y > 0.0f ? x : 0.0f;
#elif OP == OP_SIGMOID_BACKWARD
    return x * y * (1.0f - y);
#elif OP == OP_LEAKYRELU_BACKWARD
    return y > 0.0f ? x : param * x;
#elif OP == OP_RELU6_BACKWARD
    return y > 0.0f && y < 6.0f ? x : 0.0f;
#elif OP == OP_HARDSWISH_BACKWARD
    // (2 y + 3) / 6 in the middle: 0 for -1.5, as y / 3 + 1 / 2 is.
    return y >= 3.0f ? x : y <= -3.0f ? 0.0f : x * (fmaf(y, 2.0f, 3.0f) * (1 / 6.0f));
#elif OP == OP_ADD_BACKWARD
    return x;
#elif OP == OP_MSE_BACKWARD
    return (x - y) * param;
#endif
}

#else

// NaN stays NaN in each.
DEVICE float compute(float x, float y, float param)
{
#if OP == OP_GELU
    return gelu(x);
#elif OP == OP_GELU_TANH
    // x sigmoid(2u) = x / (1 + exp(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3)
    return x * fast_reciprocal(1.0f + element_exp(-x * fmaf(x * x, 0.0713548163f, 1.59576912f)));
#elif OP == OP_SILU
    return x * fast_reciprocal(1.0f + element_exp(-x));
#elif OP == OP_RELU
    return x < 0.0f ? 0.0f : x;
#elif OP == OP_SIGMOID
    return fast_reciprocal(1.0f + element_exp(-x));
#elif OP == OP_LEAKYRELU
    return x < 0.0f ? param * x : x;
#elif OP == OP_RELU6
    return x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x;
#elif OP == OP_HARDSWISH
    // Divided by 6 before the product, which could overflow; 6 * (1 / 6.0f) is 1.
    return x * (fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) * (1 / 6.0f));
#elif OP == OP_ADD
    return x + y;
#elif OP == OP_COPY
    return x;
#elif OP == OP_TRIAD
    return fmaf(y, 3.0f, x);
#elif OP == OP_FMA
#pragma unroll 16
    for (int step = 0; step < 256; step++) // op/fma.h
        x = fmaf(x, 1 - 0x1p-9f, 0x1p-9f);
    return x;
#endif
}
#endif

DEVICE uint4 compute_vec(uint4 x, uint4 y, float param)
{
#if OP == OP_COPY || OP == OP_ADD_BACKWARD
    return x;
#endif
    float a[VEC_ELEMENTS], b[VEC_ELEMENTS];
    vec_unpack(x, a);
    vec_unpack(y, b);
#pragma unroll
    for (int j = 0; j < VEC_ELEMENTS; j++)
        a[j] = compute(a[j], b[j], param);
    return vec_pack(a);
}

// The tail after the last whole vector, by the first threads of the last block.
DEVICE void finish(const element *x, const element *y, element *out, element *second, s64 count,
                   float param)
{
    s64 i = count / VEC_ELEMENTS * VEC_ELEMENTS + threadIdx.x;
    if (blockIdx.x != gridDim.x - 1 || i >= count)
        return;
    out[i] = element_from(compute(element_get(x[i]), element_get(y[i]), param));
    if (OP == OP_ADD_BACKWARD)
        second[i] = out[i];
}

// `loss` is the gradient of mse's loss, `second` add_backward's other output; NULL for other ops.
extern "C" __global__ void __launch_bounds__(256)
    eltwise(const element *x, const element *y, element *out, s64 count, float param,
            const float *loss, element *second)
{
    s64 vecs = count / VEC_ELEMENTS, at = (s64)blockIdx.x * blockDim.x + threadIdx.x;
    uint4 a = load_once(x + at * VEC_ELEMENTS, at < vecs, 0);
    uint4 b = INPUTS == 2 ? load_once(y + at * VEC_ELEMENTS, at < vecs, 0) : a;
    if (OP == OP_MSE_BACKWARD)
        param *= *loss;
    uint4 v = compute_vec(a, b, param);
    store_once(out + at * VEC_ELEMENTS, v, at < vecs);
    if (OP == OP_ADD_BACKWARD)
        store_once(second + at * VEC_ELEMENTS, v, at < vecs);
    finish(x, y, out, second, count, param);
}
