// linear_norm.cu: a norm of x that is not part of another kernel, for linear_norm_cuda.c. Options:
// see linear_norm.cuh.
//
// A product of 16-bit floats need not see normalised rows: with h = (x - mean) scale weight,
//   h W^T = scale (x W'^T - mean sums), W' = W weight, sums = the rows of W' summed up,
// so row_scales reads x once and writes two floats a row, and the product's epilogue does the rest.
// fold_weights makes W' and its sums, once.
#include "linear_norm.cuh"

// The row of this group, which may be beyond the last one; those go along with the last and write
// nothing.
struct owned {
    int row, lane;
    bool wanted;
};

DEVICE struct owned owned_by(int rows)
{
    const int row = blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP;
    return {row < rows ? row : rows - 1, (int)threadIdx.x % GROUP, row < rows};
}

DEVICE void hold(const element *__restrict__ row, int lane, int k, uint4 *held)
{
#pragma unroll
    for (int i = 0; i < HELD; i++)
        held[i] = load_vec(row, (i * GROUP + lane) * VEC_ELEMENTS, k);
}

DEVICE void store_vec(element *row, int at, int k, uint4 bits)
{
#if ALIGNED
    if (at < k)
        *(uint4 *)(row + at) = bits;
#else
    float v[VEC_ELEMENTS];
    vec_unpack(bits, v); // and back: exact
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS; i++)
        if (at + i < k)
            row[at + i] = element_from(v[i]);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS)
    normalise_rows(const element *__restrict__ x, const element *__restrict__ weight,
                   element *__restrict__ out, int m, int k)
{
    const struct owned p = owned_by(m);
    const int step = GROUP * VEC_ELEMENTS, first = p.lane * VEC_ELEMENTS;
    const element *from = x + (s64)p.row * k;
    element *to = out + (s64)p.row * k;
    uint4 held[HELD];
    hold(from, p.lane, k, held);
    const struct row_norm norm = row_norm_of(from, held, p.lane, k);
    if (!p.wanted)
        return;
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        const int at = i * step + first;
        store_vec(to, at, k, normalise_vec(held[i], at, k, norm, weight));
    }
#pragma unroll 4
    for (int at = HELD * step + first; REST && at < k; at += step)
        store_vec(to, at, k, normalise_vec(load_vec(from, at, k), at, k, norm, weight));
}

extern "C" __global__ void __launch_bounds__(THREADS)
    row_scales(const element *__restrict__ x, float *__restrict__ scales,
               float *__restrict__ means, int m, int k)
{
    const struct owned p = owned_by(m);
    const element *from = x + (s64)p.row * k;
    uint4 held[HELD];
    hold(from, p.lane, k, held);
    const struct row_norm norm = row_norm_of(from, held, p.lane, k);
    if (p.wanted && p.lane == 0) {
        scales[p.row] = (float)norm.scale;
        if (NORM == 1)
            means[p.row] = (float)norm.mean;
    }
}

// LN: the sums of W's rows. RMS: `folded` is W times the norm's weight.
extern "C" __global__ void __launch_bounds__(THREADS)
    fold_weights(const element *__restrict__ w, const element *__restrict__ weight,
                 element *__restrict__ folded, float *__restrict__ sums, int n, int k)
{
    const struct owned p = owned_by(n);
    const int step = GROUP * VEC_ELEMENTS, first = p.lane * VEC_ELEMENTS;
    const element *row = w + (s64)p.row * k;
#if NORM == 1
    double sum = 0;
    for (int at = first; at < k; at += step)
        sum = vec_sum(load_vec(row, at, k), sum);
    sum = group_sum(sum);
    if (p.wanted && p.lane == 0)
        sums[p.row] = (float)sum;
#else
    for (int at = first; p.wanted && at < k; at += step)
        store_vec(folded + (s64)p.row * k, at, k,
                  normalise_vec(load_vec(row, at, k), at, k, {0, 1}, weight));
#endif
}
