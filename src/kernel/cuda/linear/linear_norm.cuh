// linear_norm.cuh: rows of x on their way to a product: read as vectors of 16 bytes, kept in
// registers, and normalised there where `linear` has a norm.
//
//   -DELEMENT=    the type of x, see types.cuh
//   -DTHREADS=    of a block
//   -DGROUP=      threads that share a row: 32, or THREADS
//   -DHELD=       16-byte vectors a thread keeps
//   -DREST=       1: rows may have more than that; what lies beyond is read again
//   -DALIGNED=    1: rows begin at multiples of a vector, and k is one
//   -DNORM=       as enum assay_linear_norm counts them: 0 none, 1 LN, 2 RMS
//   -DEPS=        ASSAY_LINEAR_EPS, where there is a norm
#ifndef ASSAY_LINEAR_NORM_CUH
#define ASSAY_LINEAR_NORM_CUH

#include "types.cuh"

// Elements [at, at + VEC_ELEMENTS) of a row of k; what lies beyond its end is 0.
DEVICE uint4 load_vec(const element *__restrict__ row, int at, int k)
{
#if ALIGNED
    return at < k ? __ldg((const uint4 *)(row + at)) : make_uint4(0, 0, 0, 0);
#else
    u32 words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS; i++) {
#if ELEMENT == 32
        if (at + i < k)
            words[i] = __float_as_uint(row[at + i]);
#else
        if (at + i < k)
            words[i / 2] |= (u32)row[at + i] << (16 * (i % 2));
#endif
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
#endif
}

#ifdef GROUP
// The sum over the threads of a row; all of them get the same bits.
template <class T> DEVICE T group_sum(T sum)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    if (GROUP == 32)
        return sum;
    __shared__ T warps[32];
    __syncthreads(); // nobody reads those of an earlier call any more
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x % 32 < THREADS / 32 ? warps[threadIdx.x % 32] : (T)0;
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_xor_sync(~0u, sum, step);
    return sum;
}
#endif

#if NORM
// An f32 that rounds the other way than the reference's may become another code, and f32's
// tolerance does not allow for that: those rows are normalised in double.
#if ELEMENT == 32
typedef double real;
#else
typedef float real;
#endif

// Normalised: (x - mean) * scale, times the weight.
struct row_norm {
    real mean, scale;
};

// Is element `at + i` one of the row's? Those of a vector of aligned rows all are, or none.
DEVICE bool in_row(int at, int i, int k) { return ALIGNED ? at < k : at + i < k; }

// Two and two: short chains of additions, and small errors.
template <class T> DEVICE T tree_sum(T *v)
{
#pragma unroll
    for (int half = VEC_ELEMENTS / 2; half > 0; half /= 2)
#pragma unroll
        for (int i = 0; i < half; i++)
            v[i] += v[i + half];
    return v[0];
}

template <class T> DEVICE T vec_sum(uint4 bits, T sum)
{
    float v[VEC_ELEMENTS];
    T wide[VEC_ELEMENTS];
    vec_unpack(bits, v);
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS; i++)
        wide[i] = (T)v[i];
    return sum + tree_sum(wide);
}

// Adds up x - mean and its square. Without a mean what lies beyond the end is 0 anyway.
DEVICE void vec_deviations(uint4 bits, int at, int k, real mean, real *rest, real *square)
{
    float v[VEC_ELEMENTS];
    real d[VEC_ELEMENTS], squares[VEC_ELEMENTS];
    vec_unpack(bits, v);
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS; i++) {
        d[i] = NORM == 2 ? (real)v[i] : in_row(at, i, k) ? (real)v[i] - mean : (real)0;
        squares[i] = d[i] * d[i];
    }
    *square += tree_sum(squares);
    if (NORM == 1)
        *rest += tree_sum(d);
}

DEVICE float inverse_root(float v) { return rsqrtf(v); }
DEVICE double inverse_root(double v) { return 1 / sqrt(v); }

// From the sums over the row of x - mean and of its square. `rest` tells how the mean was rounded.
template <class T> DEVICE struct row_norm norm_from(T mean, T rest, T square, int k)
{
    rest /= (T)k;
    square = square / (T)k - rest * rest;
    return {(real)(mean + rest), (real)inverse_root(square + (T)EPS)};
}

#if ELEMENT != 32
// All of it once more from memory, in double: for few rows, which should cost the others nothing.
DEVICE struct row_norm row_norm_wide(const element *__restrict__ row, int lane, int k)
{
    double mean = 0, rest = 0, square = 0;
#pragma unroll 1
    for (int at = lane; NORM == 1 && at < k; at += GROUP)
        mean += (double)element_get(row[at]);
    if (NORM == 1)
        mean = group_sum(mean) / k;
#pragma unroll 1
    for (int at = lane; at < k; at += GROUP) {
        const double d = (double)element_get(row[at]) - mean;
        rest += NORM == 1 ? d : 0;
        square += d * d;
    }
    rest = group_sum(rest);
    return norm_from(mean, rest, group_sum(square), k);
}
#endif

// The deviations are taken from the mean: nothing cancels, however far from 0 a row lies. Rows whose
// squares do not fit in a float are summed in double; so are those with NaN or infinity.
DEVICE struct row_norm row_norm_of(const element *__restrict__ row, const uint4 *held, int lane,
                                   int k)
{
    const int step = GROUP * VEC_ELEMENTS, first = lane * VEC_ELEMENTS;
    real mean = 0, rest = 0, square = 0;
    if (NORM == 1) {
#pragma unroll
        for (int i = 0; i < HELD; i++)
            mean = vec_sum(held[i], mean);
#pragma unroll 4
        for (int at = HELD * step + first; REST && at < k; at += step)
            mean = vec_sum(load_vec(row, at, k), mean);
        mean = group_sum(mean) / (real)k;
    }
#pragma unroll
    for (int i = 0; i < HELD; i++)
        vec_deviations(held[i], i * step + first, k, mean, &rest, &square);
#pragma unroll 4
    for (int at = HELD * step + first; REST && at < k; at += step)
        vec_deviations(load_vec(row, at, k), at, k, mean, &rest, &square);
    square = group_sum(square);
    if (NORM == 1)
        rest = group_sum(rest);
#if ELEMENT != 32
    if (!(square <= 3.402823466e38f)) // all threads of the row agree
        return row_norm_wide(row, lane, k);
#endif
    return norm_from(mean, rest, square, k);
}

// Rounded to x's type, as between two ops; 0 beyond the end. `weight` is [k], of RMS only.
DEVICE uint4 normalise_vec(uint4 bits, int at, int k, struct row_norm norm,
                           const element *__restrict__ weight)
{
    float v[VEC_ELEMENTS], w[VEC_ELEMENTS];
    vec_unpack(bits, v);
    if (NORM == 2)
        vec_unpack(load_vec(weight, at, k), w);
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS; i++) {
        const real h = NORM == 2 ? (real)v[i] * norm.scale * (real)w[i]
                                 : ((real)v[i] - norm.mean) * norm.scale;
        v[i] = in_row(at, i, k) ? (float)h : 0.0f;
    }
    return vec_pack(v);
}
#else
struct row_norm {
    char nothing;
};

DEVICE struct row_norm row_norm_of(const element *, const uint4 *, int, int) { return {0}; }

DEVICE uint4 normalise_vec(uint4 bits, int, int, struct row_norm, const element *) { return bits; }
#endif

#endif
