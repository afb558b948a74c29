// epilogue.cu: what a library's product leaves to do: y = act(sum * x_scale * w_scale + bias) +
// residual, in f32, rounded once. Sums are [m, n] in f32 or s32; for y in f32 they may be y itself.
//
//   -DELEMENT=    the type of y, bias and residual, see types.cuh
//   -DS32=        1: sums are s32, 0: f32
//   -DX_SCALES=   0: none, 1: one for each row, 2: one
//   -DW_SCALES=   1: one for each column, 0: none
//   -DBIAS=       1: there is one
//   -DACTIVATION= as enum assay_linear_activation counts them
//   -DRESIDUAL=   1: there is one, [m, n]
//   -DALIGNED=    1: n is a multiple of VEC_ELEMENTS, 0: one element at a time
//   -DROWS=       rows one thread works at together
#include "types.cuh"

#include "kernel_math.cuh"

#if ACTIVATION == 1 || ACTIVATION == 6
DEVICE float sigmoid(float y) { return 1.0f / (1.0f + expf(-y)); }
#endif

DEVICE float activate(float y)
{
#if ACTIVATION == 1
    return sigmoid(y);
#elif ACTIVATION == 2
    return y < 0 ? 0 : y; // NaN stays NaN
#elif ACTIVATION == 3
    return y > 0 ? y : 0.01f * y;
#elif ACTIVATION == 4
    return y > 6 ? 6 : y < 0 ? 0 : y;
#elif ACTIVATION == 5
    return gelu(y);
#elif ACTIVATION == 6
    return y * sigmoid(y);
#elif ACTIVATION == 7
    return y <= -3 ? 0 : y >= 3 ? y : y * (y + 3) * (1.0f / 6.0f);
#else
    return y;
#endif
}

#if S32
typedef int sum_t;
#else
typedef float sum_t;
#endif

// What the columns of a thread have in common, for all rows.
struct columns {
    float scale, bias;
};

DEVICE struct columns column_of(const float *w_scales, const element *bias, int column)
{
    struct columns c = {1, 0};
#if W_SCALES
    c.scale = __ldg(w_scales + column);
#endif
#if BIAS
    c.bias = element_get(bias[column]);
#endif
    return c;
}

DEVICE float finish(sum_t sum, float x_scale, struct columns c)
{
    return activate(fmaf((float)sum * x_scale, c.scale, c.bias));
}

DEVICE float x_scale_of(const float *x_scales, int row)
{
#if X_SCALES == 1
    return __ldg(x_scales + row);
#elif X_SCALES == 2
    return __ldg(x_scales);
#else
    return 1;
#endif
}

#if ALIGNED
#define WIDTH VEC_ELEMENTS
#else
#define WIDTH 1
#endif

DEVICE void load_sums(const sum_t *from, sum_t *out)
{
#if ALIGNED
#pragma unroll
    for (int i = 0; i < WIDTH / 4; i++) {
        const uint4 bits = *(const uint4 *)(from + 4 * i);
        const u32 words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int j = 0; j < 4; j++)
#if S32
            out[4 * i + j] = (int)words[j];
#else
            out[4 * i + j] = __uint_as_float(words[j]);
#endif
    }
#else
    out[0] = from[0];
#endif
}

#if RESIDUAL
#if ALIGNED
typedef uint4 residual_t;
DEVICE void residual_unpack(residual_t bits, float *out) { vec_unpack(bits, out); }
#else
typedef element residual_t;
DEVICE void residual_unpack(residual_t value, float *out) { out[0] = element_get(value); }
#endif
#endif

// Block x counts rows, block y columns: there may be more than 65535 times ROWS of the former.
extern "C" __global__ void __launch_bounds__(256)
    epilogue(const sum_t *sums, element *y, const element *bias, const element *residual,
             const float *x_scales, const float *w_scales, int m, int n)
{
    const int column = (blockIdx.y * blockDim.x + threadIdx.x) * WIDTH;
    const int first = blockIdx.x * ROWS;
    if (column >= n)
        return;
    struct columns columns[WIDTH];
    sum_t held[ROWS][WIDTH];
#if RESIDUAL
    residual_t more[ROWS];
#endif
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        if (first + r < m) {
            load_sums(sums + (s64)(first + r) * n + column, held[r]);
#if RESIDUAL
            more[r] = *(const residual_t *)(residual + (s64)(first + r) * n + column);
#endif
        }
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
        columns[i] = column_of(w_scales, bias, column + i);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        if (first + r >= m)
            return;
        const float x_scale = x_scale_of(x_scales, first + r);
        element *to = y + (s64)(first + r) * n + column;
        float values[WIDTH];
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            values[i] = finish(held[r][i], x_scale, columns[i]);
#if RESIDUAL
        float added[WIDTH];
        residual_unpack(more[r], added);
#pragma unroll
        for (int i = 0; i < WIDTH; i++)
            values[i] += added[i];
#endif
#if ALIGNED
        *(uint4 *)to = vec_pack(values);
#else
        *to = element_from(values[0]);
#endif
    }
}
