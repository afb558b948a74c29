// activations.cu: x [m, k] to 8-bit codes and their scales, for activations_cuda.c.
//
// Both kernels keep what they have read in registers until the scale is known, so that x comes from
// memory once: a row of up to THREADS * HELD * 16 bytes, or a tensor of up to that for each
// resident block. What lies beyond is read a second time.
//
// With a norm each row is first normalised and rounded, in registers too. One scale for the whole of
// it then takes two launches: measure_rows leaves each row's statistics and the greatest magnitude
// of all, encode_rows reads x again.
//
// Options of linear_norm.cuh, where GROUP is not defined for quantise_tensor, and
//   -DE4M3=       1: e4m3 codes, 0: s8
//   -DFLAT=       1: x and codes are one long row each (quantise_tensor)
#include "linear_norm.cuh"

#if E4M3
#define MOST 448.0f
#else
#define MOST 127.5f
#endif

#define INFINITY_BITS 0x7f800000u

// ---- greatest magnitudes -----------------------------------------------------------------------

// Floats without their signs are ordered as their bits are, NaN last; so are f16 and bf16, two of
// which are compared in one word. `most` starts at 0.
DEVICE u32 vec_most(uint4 bits, u32 most)
{
#if ELEMENT == 32
    most = max(most, bits.x & 0x7fffffffu);
    most = max(most, bits.y & 0x7fffffffu);
    most = max(most, bits.z & 0x7fffffffu);
    return max(most, bits.w & 0x7fffffffu);
#else
    most = __vmaxu2(most, bits.x & 0x7fff7fffu);
    most = __vmaxu2(most, bits.y & 0x7fff7fffu);
    most = __vmaxu2(most, bits.z & 0x7fff7fffu);
    return __vmaxu2(most, bits.w & 0x7fff7fffu);
#endif
}

// What vec_most collected, as the bits of one f32.
DEVICE u32 most_bits(u32 most)
{
#if ELEMENT == 32
    return most;
#else
    return __float_as_uint(element_get((u16)max(most & 0xffffu, most >> 16)));
#endif
}

DEVICE u32 warp_most(u32 most)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        most = max(most, __shfl_xor_sync(0xffffffffu, most, step));
    return most;
}

// All threads of the block get it.
DEVICE u32 block_most(u32 most)
{
    __shared__ u32 warps[32];
    most = warp_most(most);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = most;
    __syncthreads();
    return warp_most(threadIdx.x % 32 < THREADS / 32 ? warps[threadIdx.x % 32] : 0);
}

// ---- scales and codes, as quant_solve.c and quant_loops_body.h define them ---------------------

struct scaling {
    float scale, inverse;
    u32 keep; // of s8: 0 where all codes are 0
};

// Both divisions are IEEE's whatever the compiler was told. The inverse of a scale that is too
// small, or 0, is infinite: the scale is 1 then. With an infinity or NaN among the values the
// products are 0 or NaN, of which s8 makes 0; e4m3 keeps the NaN.
DEVICE struct scaling scaling_of(u32 most)
{
    struct scaling s;
    s.scale = __fdiv_rn(__uint_as_float(most), MOST);
    s.inverse = __fdiv_rn(1.0f, s.scale);
    if (__float_as_uint(s.inverse) == INFINITY_BITS)
        s.scale = s.inverse = 1.0f;
    s.keep = most < INFINITY_BITS ? 0xffffffffu : 0;
    return s;
}

#if E4M3
// Two codes, `low` in the lower byte: nearest even, at most 448, NaN stays NaN.
DEVICE u32 e4m3x2(float low, float high)
{
#if __CUDA_ARCH__ >= 890
    u16 codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
#else
    u32 codes = 0;
    const float values[2] = {low, high};
#pragma unroll
    for (int i = 0; i < 2; i++) { // assay_e4m3_from_f32 of tensor/dtype.h
        u32 bits = __float_as_uint(values[i]), magnitude = bits & 0x7fffffffu;
        u32 code = (magnitude + 0x7ffffu + ((magnitude >> 20) & 1u) - (120u << 23)) >> 20;
        if (magnitude < 0x3c800000u)
            code = __float_as_uint(__fadd_rn(__uint_as_float(magnitude), 16384.0f)) - 0x46800000u;
        if (magnitude >= 0x43e00000u)
            code = magnitude > INFINITY_BITS ? 0x7fu : 0x7eu;
        codes |= (((bits >> 24) & 0x80u) | code) << (8 * i);
    }
    return codes;
#endif
}
#else
// In the low byte: adding 1.5 * 2^23 rounds to a whole number, ties to even.
DEVICE u32 nearest_s8(float value)
{
    value = fminf(fmaxf(value, -128.0f), 127.0f);
    return __float_as_uint(__fadd_rn(value, 12582912.0f));
}
#endif

// Four codes, the first in the low byte. The product is rounded before anything else happens to
// it: __fmul_rn is never fused.
DEVICE u32 encode4(const float *values, struct scaling s)
{
    const float a = __fmul_rn(values[0], s.inverse), b = __fmul_rn(values[1], s.inverse);
    const float c = __fmul_rn(values[2], s.inverse), d = __fmul_rn(values[3], s.inverse);
#if E4M3
    return e4m3x2(a, b) | e4m3x2(c, d) << 16;
#else
    u32 low = __byte_perm(nearest_s8(a), nearest_s8(b), 0x0040);
    u32 high = __byte_perm(nearest_s8(c), nearest_s8(d), 0x0040);
    return __byte_perm(low, high, 0x5410) & s.keep;
#endif
}

// ---- vectors in memory -------------------------------------------------------------------------

DEVICE void store_aligned(u8 *to, const u32 *words)
{
#if VEC_ELEMENTS == 8
    *(uint2 *)to = make_uint2(words[0], words[1]);
#else
    *(u32 *)to = words[0];
#endif
}

DEVICE void encode_vec(uint4 bits, struct scaling s, u32 *words)
{
    float values[VEC_ELEMENTS];
    vec_unpack(bits, values);
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS / 4; i++)
        words[i] = encode4(values + 4 * i, s);
}

DEVICE void store_codes(u8 *__restrict__ row, int at, int k, uint4 bits, struct scaling s)
{
    u32 words[VEC_ELEMENTS / 4];
    if (at >= k)
        return;
    encode_vec(bits, s, words);
#if ALIGNED
    store_aligned(row + at, words);
#else
#pragma unroll
    for (int i = 0; i < VEC_ELEMENTS; i++)
        if (at + i < k)
            row[at + i] = (u8)(words[i / 4] >> (8 * (i % 4)));
#endif
}

// ---- a scale for each row ----------------------------------------------------------------------

#ifdef GROUP
// Elements from `at` on as they are quantised, for what is not held.
DEVICE uint4 load_normalised(const element *__restrict__ row, int at, int k, struct row_norm norm,
                             const element *__restrict__ weight)
{
    return normalise_vec(load_vec(row, at, k), at, k, norm, weight);
}

// Reads a row into `held`, normalised, and gives the greatest magnitude of this thread's share.
DEVICE u32 take_row(const element *__restrict__ row, const element *__restrict__ weight, int lane,
                    int k, uint4 *held, struct row_norm *norm)
{
    const int step = GROUP * VEC_ELEMENTS, first = lane * VEC_ELEMENTS;
    u32 most = 0;
#pragma unroll
    for (int i = 0; i < HELD; i++)
        held[i] = load_vec(row, i * step + first, k);
    *norm = row_norm_of(row, held, lane, k);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        held[i] = normalise_vec(held[i], i * step + first, k, *norm, weight);
        most = vec_most(held[i], most);
    }
#pragma unroll 4
    for (int at = HELD * step + first; REST && at < k; at += step)
        most = vec_most(load_normalised(row, at, k, *norm, weight), most);
    return most_bits(most);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    quantise_rows(const element *__restrict__ x, const element *__restrict__ weight,
                  u8 *__restrict__ codes, float *__restrict__ scales, int m, int k, int k_padded)
{
    const int lane = threadIdx.x % GROUP, step = GROUP * VEC_ELEMENTS, first = lane * VEC_ELEMENTS;
    const int row = blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP;
    if (row >= m) // whole warps, and only where a row is a warp's
        return;
    const element *from = x + (s64)row * k;
    u8 *to = codes + (s64)row * k_padded;
    uint4 held[HELD];
    struct row_norm norm;
    const u32 most = take_row(from, weight, lane, k, held, &norm);
    const struct scaling s = scaling_of(GROUP == 32 ? warp_most(most) : block_most(most));
    if (lane == 0)
        scales[row] = s.scale;
#pragma unroll
    for (int i = 0; i < HELD; i++)
        store_codes(to, i * step + first, k, held[i], s);
#pragma unroll 4
    for (int at = HELD * step + first; REST && at < k; at += step)
        store_codes(to, at, k, load_normalised(from, at, k, norm, weight), s);
}
#endif

// ---- one scale for all normalised rows ----------------------------------------------------------

#if NORM
// All 0 in the beginning, and `most` and `told` again after each launch.
struct tally {
    u32 most, told; // so far, by so many blocks
    u32 all;        // the greatest magnitude of the whole
};

// One thread of each block. The last one to tell sees all there is.
DEVICE void tell(struct tally *tally, u32 most, float *scales)
{
    atomicMax(&tally->most, most);
    __threadfence();
    if (atomicInc(&tally->told, gridDim.x - 1) == gridDim.x - 1) { // and is 0 again
        __threadfence();
        tally->all = atomicExch(&tally->most, 0);
        scales[0] = scaling_of(tally->all).scale;
    }
}

// Groups beyond the last row go along with it: block_most wants all threads.
extern "C" __global__ void __launch_bounds__(THREADS)
    measure_rows(const element *__restrict__ x, const element *__restrict__ weight,
                 struct row_norm *__restrict__ norms, float *__restrict__ scales,
                 struct tally *tally, int m, int k)
{
    const int lane = threadIdx.x % GROUP;
    const int wanted = blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP;
    const int row = wanted < m ? wanted : m - 1;
    uint4 held[HELD];
    struct row_norm norm;
    const u32 most = block_most(take_row(x + (s64)row * k, weight, lane, k, held, &norm));
    if (lane == 0 && wanted < m)
        norms[row] = norm;
    if (threadIdx.x == 0)
        tell(tally, most, scales);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    encode_rows(const element *__restrict__ x, const element *__restrict__ weight,
                u8 *__restrict__ codes, const struct row_norm *__restrict__ norms,
                const struct tally *__restrict__ tally, int m, int k, int k_padded)
{
    const int lane = threadIdx.x % GROUP, step = GROUP * VEC_ELEMENTS, first = lane * VEC_ELEMENTS;
    const int row = blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP;
    if (row >= m)
        return;
    const element *from = x + (s64)row * k;
    u8 *to = codes + (s64)row * k_padded;
    uint4 held[HELD];
#pragma unroll
    for (int i = 0; i < HELD; i++)
        held[i] = load_vec(from, i * step + first, k);
    const struct row_norm norm = norms[row];
    const struct scaling s = scaling_of(tally->all);
#pragma unroll
    for (int i = 0; i < HELD; i++) {
        const int at = i * step + first;
        store_codes(to, at, k, normalise_vec(held[i], at, k, norm, weight), s);
    }
#pragma unroll 4
    for (int at = HELD * step + first; REST && at < k; at += step)
        store_codes(to, at, k, load_normalised(from, at, k, norm, weight), s);
}
#endif

// ---- one scale for all -------------------------------------------------------------------------

#ifdef FLAT
// What blocks of a launch, and launches, tell each other. All 0 in the beginning.
struct meeting {
    u64 arrived; // blocks of all launches so far
    u32 most[2]; // launches take turns: the one that is not in use is cleared for the next
};

struct shape {
    u32 vectors, per_row; // all there are; of a row
    int k, k_padded;
};

DEVICE uint4 tensor_load(const element *__restrict__ x, u32 v, struct shape s)
{
    if (v >= s.vectors)
        return make_uint4(0, 0, 0, 0);
#if FLAT
    return __ldg((const uint4 *)x + v);
#else
    const u32 row = v / s.per_row, column = v % s.per_row;
    return load_vec(x + (s64)row * s.k, (int)column * VEC_ELEMENTS, s.k);
#endif
}

DEVICE void tensor_store(u8 *__restrict__ codes, u32 v, struct shape s, uint4 bits,
                         struct scaling scaling)
{
    if (v >= s.vectors)
        return;
#if FLAT
    u32 words[VEC_ELEMENTS / 4];
    encode_vec(bits, scaling, words);
    store_aligned(codes + (s64)v * VEC_ELEMENTS, words);
#else
    const u32 row = v / s.per_row, column = v % s.per_row;
    store_codes(codes + (s64)row * s.k_padded, (int)column * VEC_ELEMENTS, s.k, bits, scaling);
#endif
}

DEVICE u64 arrived_so_far(const struct meeting *meeting)
{
    u64 value;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                 : "=l"(value)
                 : "l"(&meeting->arrived)
                 : "memory");
    return value;
}

// One thread of each block: its block's greatest magnitude in, that of all blocks out. The number
// of this launch is that of blocks arrived before, divided by the blocks of a launch: as long as
// this block has not arrived itself, the quotient is the same whoever else has.
DEVICE u32 meet(struct meeting *meeting, u32 most)
{
    const u64 launch = arrived_so_far(meeting) / gridDim.x;
    u32 *word = &meeting->most[launch % 2];
    atomicMax(word, most);
    __threadfence();
    atomicAdd(&meeting->arrived, 1ull);
    while (arrived_so_far(meeting) < (launch + 1) * gridDim.x)
        ;
    if (blockIdx.x == 0)
        meeting->most[(launch + 1) % 2] = 0; // nobody in this launch looks at it
    return *(volatile u32 *)word;
}

// All blocks must be resident at once. x is [m, k]; `vectors` counts those of all rows.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    quantise_tensor(const element *__restrict__ x, u8 *__restrict__ codes,
                    float *__restrict__ scales, struct meeting *meeting, u32 vectors, u32 per_row,
                    int k, int k_padded)
{
    __shared__ u32 all;
    const struct shape shape = {vectors, per_row, k, k_padded};
    const u32 threads = gridDim.x * THREADS, first = blockIdx.x * THREADS + threadIdx.x;
    const u32 rest = first + HELD * threads; // the first vector that is not held
    const u32 n_rest = REST && rest < vectors ? (vectors - rest - 1) / threads + 1 : 0;
    uint4 held[HELD];
    u32 most = 0;
#pragma unroll
    for (int i = 0; i < HELD; i++)
        held[i] = tensor_load(x, first + i * threads, shape);
#pragma unroll
    for (int i = 0; i < HELD; i++)
        most = vec_most(held[i], most);
#pragma unroll 4
    for (u32 i = 0; i < n_rest; i++)
        most = vec_most(tensor_load(x, rest + i * threads, shape), most);
    most = block_most(most_bits(most));
    if (threadIdx.x == 0)
        all = meet(meeting, most);
    __syncthreads();
    const struct scaling s = scaling_of(all);
    if (first == 0)
        scales[0] = s.scale;
    // The other way round: what was read last is still in the second-level cache.
#pragma unroll 4
    for (u32 i = 0; i < n_rest; i++) {
        const u32 v = rest + (n_rest - 1 - i) * threads;
        tensor_store(codes, v, shape, tensor_load(x, v, shape), s);
    }
#pragma unroll
    for (int i = 0; i < HELD; i++)
        tensor_store(codes, first + i * threads, shape, held[i], s);
}
#endif
