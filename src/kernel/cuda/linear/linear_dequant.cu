// linear_dequant.cu: what surrounds a library's product: dequantising the weights before it, and
// scales, bias and activation after it.
//
// linear_dequant: codes [n][k] to weights [n][k] of type element. Weights of groups are rounded
// once. Weights with a scale of their row stay codes, which are exact in every type: linear_finish
// multiplies the sums.
// linear_finish: sums [m][n] in f32 to y.
//
// -DCODE, -DELEMENT: linear_decode.cuh. Both take a grid of any size.
#include "linear_decode.cuh"

#define THREADS 256

#if CODE != CODE_NONE

// Codes come OUT at a time, which make the 16 bytes one thread writes.
#define OUT VEC_ELEMENTS

// What OUT codes from number i on are, as floats; i is a multiple of OUT.
DEVICE void decode_some(const u8 *codes, s64 i, float *out)
{
#if CODE == CODE_U4 && OUT == 8
    decode_word(((const u32 *)codes)[i / 8], out);
#elif CODE == CODE_U4
    const u32 word = ((const u16 *)codes)[i / 4];
#pragma unroll
    for (int j = 0; j < 4; j++)
        out[j] = float_from_code(word >> (4 * j) & 15u, 8);
#elif OUT == 8
    const uint2 words = ((const uint2 *)codes)[i / 8];
    decode_word(words.x, out);
    decode_word(words.y, out + 4);
#else
    decode_word(((const u32 *)codes)[i / 4], out);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
    linear_dequant(const u8 *codes, const element *scales, const element *zeros, element *out,
                   s64 count, int group_shift)
{
    const s64 whole = count / OUT, step = (s64)gridDim.x * THREADS;
    const s64 first = (s64)blockIdx.x * THREADS + threadIdx.x;
#pragma unroll 4
    for (s64 v = first; v < whole; v += step) {
        float w[OUT];
        decode_some(codes, v * OUT, w);
#if GROUPED
        // Rows are whole groups, so groups follow each other as codes do.
        const s64 group = v * OUT >> group_shift;
        const float s = element_get(scales[group]), z = element_get(zeros[group]);
#pragma unroll
        for (int i = 0; i < OUT; i++)
            w[i] = __fadd_rn(__fmul_rn(w[i], s), z); // as assay_packed_decode does
#endif
        ((uint4 *)out)[v] = vec_pack(w);
    }
#if !GROUPED // those are always whole
    for (s64 i = whole * OUT + first; i < count; i += step)
        out[i] = element_from(float_from_byte(codes[i]));
#endif
}

#endif

extern "C" __global__ void __launch_bounds__(THREADS)
    linear_finish(const float *sums, const float *row_scales, const element *bias, element *y,
                  s64 count, int n, int activation)
{
    const s64 step = (s64)gridDim.x * THREADS;
#pragma unroll 4
    for (s64 i = (s64)blockIdx.x * THREADS + threadIdx.x; i < count; i += step)
        y[i] = finish(sums[i], row_scales, bias, i % n, activation);
}
