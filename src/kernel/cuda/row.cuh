// row.cuh: rows held in registers: how threads share a row, load it and agree on sums over it.
//
// Compile with -DELEMENT=…, -DVECTOR=1 where rows are a multiple of 16 bytes, else 0, and -DFORM=…,
// a FORM_… below. An item is what a thread loads at once: 16 bytes, or UNIT elements, one by one.
// The threads of one row are a team: some lanes of a warp (a power of two), or a whole block.
// Member i has items i, i + size, ….
#ifndef ASSAY_ROW_CUH
#define ASSAY_ROW_CUH

#include "types.cuh"

#include "kernel_math.cuh"

#if VECTOR
#define UNIT VEC_ELEMENTS
#elif !defined UNIT
#define UNIT 1
#endif

// Which function is compiled: all at once would take seconds. See cuda_op.h.
#define FORM_FEW 1
#define FORM_MANY 2
#define FORM_BLOCK 3
#define FORM_LONG 4
#define FORM_WHOLE 5
#define FORM_DECODE 6
#define FORM_SPREAD 7

// Elements of a row that one thread holds: 32, or 8 in rows too short for that.
#define ITEMS_MANY (32 / UNIT)
#define ITEMS_FEW (8 / UNIT)
// Where a block has a row: where rows are few, more threads with less each are done sooner.
#define ITEMS_BLOCK (FORM == FORM_SPREAD ? ITEMS_FEW : ITEMS_MANY)

// Bits of -infinity, as often as fits in a word.
#if ELEMENT == 32
#define WORD_LEAST 0xff800000u
#elif ELEMENT == 16
#define WORD_LEAST 0xfc00fc00u
#else
#define WORD_LEAST 0xff80ff80u
#endif

// The constants of floats, without headers.
#define FLOAT_MOST 3.402823466e38f
#define FLOAT_INFINITY __int_as_float(0x7f800000)
#define FLOAT_NAN __int_as_float(0x7fc00000)

#define DEVICE_MEMBER __device__ __forceinline__

struct team {
    u32 index, size;
};

// ---- positions ----------------------------------------------------------------------------------

// The row of this thread's team where teams are `lanes` lanes; may be beyond the last one, whose
// threads go along (shuffles want whole warps) and have no items.
DEVICE s64 row_of_lanes(s64 block, u32 lanes, struct team *team)
{
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, rows = 32 / lanes;
    *team = {lane % lanes, lanes};
    return (block * (blockDim.x / 32) + warp) * rows + lane / lanes;
}

DEVICE struct team team_of_block(void) { return {threadIdx.x, blockDim.x}; }

// ---- agreeing -----------------------------------------------------------------------------------

struct sums {
    float a, b;
};

struct sums_double {
    double a, b;
};

DEVICE float shuffle(float v, u32 mask) { return __shfl_xor_sync(~0u, v, (int)mask); }
DEVICE double shuffle(double v, u32 mask) { return __shfl_xor_sync(~0u, v, (int)mask); }
DEVICE struct sums shuffle(struct sums v, u32 mask)
{
    return {shuffle(v.a, mask), shuffle(v.b, mask)};
}
DEVICE struct sums_double shuffle(struct sums_double v, u32 mask)
{
    return {shuffle(v.a, mask), shuffle(v.b, mask)};
}

struct plus {
    static DEVICE_MEMBER float of(float a, float b) { return a + b; }
    static DEVICE_MEMBER double of(double a, double b) { return a + b; }
    static DEVICE_MEMBER struct sums of(struct sums a, struct sums b)
    {
        return {a.a + b.a, a.b + b.b};
    }
    static DEVICE_MEMBER struct sums_double of(struct sums_double a, struct sums_double b)
    {
        return {a.a + b.a, a.b + b.b};
    }
};

// The greater; NaN only if both are.
struct greater {
    static DEVICE_MEMBER float of(float a, float b) { return fmaxf(a, b); }
};

// Each pair is combined in both of its lanes alike, so all lanes end with the same bits.
template <class F, class T> DEVICE T lanes_reduce(T v, u32 lanes)
{
#pragma unroll
    for (u32 mask = 16; mask > 0; mask /= 2)
        if (mask < lanes)
            v = F::of(v, shuffle(v, mask));
    return v;
}

// `none` changes nothing. Every thread of the block calls it.
template <class F, class T> DEVICE T block_reduce(T v, T none)
{
    __shared__ T parts[32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = lanes_reduce<F>(v, 32);
    __syncthreads(); // nobody reads `parts` of an earlier call any more
    if (lane == 0)
        parts[warp] = v;
    __syncthreads();
    return lanes_reduce<F>(lane < (blockDim.x + 31) / 32 ? parts[lane] : none, 32);
}

template <bool BLOCK, class F, class T> DEVICE T team_reduce(struct team team, T v, T none)
{
    if (BLOCK)
        return block_reduce<F>(v, none);
    return lanes_reduce<F>(v, team.size);
}

// Is it so for any team of this warp or block? For branches that threads take together.
template <bool BLOCK> DEVICE bool any_team(bool mine)
{
    return BLOCK ? mine : __any_sync(~0u, mine); // a block is one team
}

// ---- items --------------------------------------------------------------------------------------

#if VECTOR
typedef uint4 item;
#else
struct item {
    element elements[UNIT];
};
#endif

// Item number `at`; `fill` where it is not wanted.
DEVICE item item_get(const element *row, s64 at, bool wanted, u32 fill)
{
#if VECTOR
    return load_once(row + at * UNIT, wanted, fill);
#else
    item v;
#pragma unroll
    for (int j = 0; j < UNIT; j++)
#if ELEMENT == 32
        v.elements[j] = wanted ? row[at * UNIT + j] : __uint_as_float(fill);
#else
        v.elements[j] = wanted ? row[at * UNIT + j] : (u16)fill;
#endif
    return v;
#endif
}

DEVICE void item_unpack(item from, float *v)
{
#if VECTOR
    vec_unpack(from, v);
#else
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        v[j] = element_get(from.elements[j]);
#endif
}

DEVICE void item_load(const element *row, s64 at, bool wanted, u32 fill, float *v)
{
    item_unpack(item_get(row, at, wanted, fill), v);
}

// The same of what all rows share.
DEVICE void item_load_kept(const element *row, s64 at, bool wanted, float *v)
{
#if VECTOR
    vec_unpack(load_kept(row + at * UNIT, wanted), v);
#else
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        v[j] = wanted ? element_get(row[at * UNIT + j]) : 0.0f;
#endif
}

DEVICE void item_store(element *row, s64 at, bool wanted, const float *v)
{
#if VECTOR
    store_once(row + at * UNIT, vec_pack(v), wanted);
#else
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        if (wanted)
            row[at * UNIT + j] = element_from(v[j]);
#endif
}

// This member's items of a row of `items` as they are stored, from item `first` on.
template <int ITEMS>
DEVICE void row_get(const element *row, s64 first, s64 items, struct team team, u32 fill,
                    item (&v)[ITEMS])
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = first + team.index + i * team.size;
        v[i] = item_get(row, at, at < items, fill);
    }
}

// The same as floats.
template <int ITEMS>
DEVICE void row_load(const element *row, s64 first, s64 items, struct team team, u32 fill,
                     float (&v)[ITEMS][UNIT])
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = first + team.index + i * team.size;
        item_load(row, at, at < items, fill, v[i]);
    }
}

#endif
