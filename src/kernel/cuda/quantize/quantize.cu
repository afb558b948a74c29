// quantize.cu: quantize and dequantize, to the bit as src/op/quantize.h defines them.
//
// Compile with -DELEMENT=…, -DVECTOR=… and -DFORM=…, see row.cuh, where a row is a run, what shares
// a scale; and -DFORMAT=…, a FORMAT_… below. The definition is a few single operations in f32:
// the __f…_rn functions are never fused.
#pragma nv_diag_suppress 177 // what one form does not use, another does

#define FORMAT_S8 0
#define FORMAT_E4M3 1
#define FORMAT_E5M2 2
#define FORMAT_U4 3

#define RANGED (FORMAT == FORMAT_U4)

// Codes of u4 lie two to a byte, and a thread writes whole bytes; runs of u4 are even.
#if RANGED && !VECTOR
#define UNIT 2
#endif

#include "row.cuh"

// ---- formats ------------------------------------------------------------------------------------

#if FORMAT == FORMAT_E4M3
// Saturates, infinities too; NaN stays NaN. `low` in the lower byte.
DEVICE u32 e4m3x2_from_floats(float low, float high)
{
    u16 codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
}

DEVICE void floats_from_e4m3x2(u32 codes, float &low, float &high)
{
    u32 halves; // every e4m3 is an f16
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"((u16)codes));
    low = float_from_f16((u16)halves);
    high = float_from_f16((u16)(halves >> 16));
}
#elif FORMAT == FORMAT_E5M2
DEVICE u32 e5m2x2_from_floats(float low, float high)
{
    u16 codes;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(high), "f"(low));
    return codes;
}

DEVICE void floats_from_e5m2x2(u32 codes, float &low, float &high)
{
    low = float_from_f16((u16)(codes << 8)); // the upper half of an f16
    high = float_from_f16((u16)(codes & 0xff00));
}
#endif

// ---- scales -------------------------------------------------------------------------------------

// The greatest magnitude in `most`, or the least and the greatest value. `most` is NaN if one is;
// `least` does not see NaN.
struct bounds {
    float least, most;
};

struct step {
    float scale, zero;
    float inverse, low; // 1 / scale; what the code 0 of u4 stands for
};

DEVICE struct bounds bounds_none(void) { return {FLOAT_INFINITY, RANGED ? -FLOAT_INFINITY : 0.0f}; }

DEVICE struct bounds bounds_add(struct bounds b, float x)
{
    return {RANGED ? fminf(b.least, x) : b.least, max_nan(b.most, RANGED ? x : fabsf(x))};
}

struct wider {
    static DEVICE_MEMBER struct bounds of(struct bounds a, struct bounds b)
    {
        return {RANGED ? fminf(a.least, b.least) : a.least, max_nan(a.most, b.most)};
    }
};

DEVICE struct bounds shuffle(struct bounds v, u32 mask)
{
    return {RANGED ? shuffle(v.least, mask) : v.least, shuffle(v.most, mask)};
}

DEVICE struct step step_of(struct bounds b)
{
    struct step s = {0.0f, 0.0f, 0.0f, 0.0f};
    if (RANGED) {
        const float least_scale = 1e-6f;
        float width = __fdiv_rn(__fsub_rn(b.most, b.least), 15.0f);
        float scale = width >= least_scale ? width : least_scale; // NaN too becomes the least
        bool same = b.least == b.most;
        s.scale = same ? 1.0f : scale;
        s.zero = __fadd_rn(b.least, same ? 0.0f : __fmul_rn(8.0f, scale));
        s.inverse = __fdiv_rn(1.0f, s.scale);
        s.low = __fsub_rn(s.zero, __fmul_rn(8.0f, s.scale));
    } else {
        const float most = FORMAT == FORMAT_S8 ? 127.5f : FORMAT == FORMAT_E4M3 ? 448.0f : 57344.0f;
        s.scale = __fdiv_rn(b.most, most);
        s.inverse = __fdiv_rn(1.0f, s.scale);
        if (fabsf(s.inverse) == FLOAT_INFINITY)
            s.scale = s.inverse = 1.0f;
    }
    return s;
}

DEVICE void step_store(struct step s, float *scales, s64 run)
{
    if (RANGED) {
        scales[2 * run] = s.scale;
        scales[2 * run + 1] = s.zero;
    } else {
        scales[run] = s.scale;
    }
}

// ---- codes --------------------------------------------------------------------------------------

#if FORMAT == FORMAT_U4
// a / b, correctly rounded, y being 1 / b, correctly rounded: a product and two corrections
// (Markstein). Only where it matters: what is far outside of u4 (or infinite) stays as it is.
DEVICE float quotient(float a, float b, float y)
{
    float rough = __fmul_rn(a, y);
    float q = __fmaf_rn(__fmaf_rn(-rough, b, a), y, rough);
    q = __fmaf_rn(__fmaf_rn(-q, b, a), y, q);
    return fabsf(rough) < 1024.0f ? q : rough;
}
#endif

#if FORMAT == FORMAT_U4 || FORMAT == FORMAT_S8
// The nearest integer, ties to even, in the low bits: above 2^23 floats are whole. NaN becomes 0.
DEVICE u32 nearest(float value, float least, float most)
{
    value = value == value ? value : 0.0f;
    value = fminf(fmaxf(value, least), most);
    return __float_as_uint(__fadd_rn(value, 12582912.0f));
}
#endif

// The codes of two neighbours: 16 bits, or 8 of u4.
DEVICE u32 encode_pair(struct step s, float a, float b)
{
#if FORMAT == FORMAT_U4
    u32 low = nearest(quotient(__fsub_rn(a, s.low), s.scale, s.inverse), 0.0f, 15.0f);
    u32 high = nearest(quotient(__fsub_rn(b, s.low), s.scale, s.inverse), 0.0f, 15.0f);
    return (low & 15u) | (high & 15u) << 4;
#else
    a = __fmul_rn(a, s.inverse);
    b = __fmul_rn(b, s.inverse);
#if FORMAT == FORMAT_S8
    return (nearest(a, -128.0f, 127.0f) & 255u) | (nearest(b, -128.0f, 127.0f) & 255u) << 8;
#elif FORMAT == FORMAT_E4M3
    return e4m3x2_from_floats(a, b);
#else
    return e5m2x2_from_floats(a, b);
#endif
#endif
}

// The codes of an item, number `at` of the whole tensor.
DEVICE void encode_item(struct step s, const float *v, u8 *codes, s64 at)
{
#if UNIT == 1 || UNIT == 2
    u32 pair = encode_pair(s, v[0], v[UNIT - 1]);
    codes[at] = (u8)pair; // one 8-bit code, or two of 4
#else
    enum { PAIR_BITS = RANGED ? 8 : 16 };
    u32 word[2] = {0, 0};
#pragma unroll
    for (int j = 0; j < UNIT; j += 2)
        word[j / 2 * PAIR_BITS / 32] |= encode_pair(s, v[j], v[j + 1]) << j / 2 * PAIR_BITS % 32;
    if (UNIT * PAIR_BITS / 2 == 64)
        __stcs((uint2 *)codes + at, make_uint2(word[0], word[1]));
    else if (UNIT * PAIR_BITS / 2 == 32)
        __stcs((u32 *)codes + at, word[0]);
    else
        __stcs((u16 *)codes + at, (u16)word[0]);
#endif
}

// ---- runs in registers --------------------------------------------------------------------------

template <int ITEMS>
DEVICE struct bounds bounds_of(const float (&v)[ITEMS][UNIT], s64 first, s64 items,
                               struct team team, struct bounds b)
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        bool wanted = first + team.index + i * team.size < items;
        if (RANGED && !wanted) // to magnitudes, the 0 that is there does nothing
            continue;
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            b = bounds_add(b, v[i][j]);
    }
    return b;
}

template <int ITEMS>
DEVICE void encode_items(const float (&v)[ITEMS][UNIT], s64 first, s64 items, struct team team,
                         struct step s, u8 *codes, s64 run)
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = first + team.index + i * team.size;
        if (at < items)
            encode_item(s, v[i], codes, run * items + at);
    }
}

template <int ITEMS, bool BLOCK>
DEVICE void quantize_run(const element *x, u8 *codes, float *scales, s64 run, s64 length, bool mine,
                         struct team team)
{
    s64 items = mine ? length / UNIT : 0;
    float v[ITEMS][UNIT];
    row_load<ITEMS>(x + run * length, 0, items, team, 0, v);
    struct bounds b = bounds_of<ITEMS>(v, 0, items, team, bounds_none());
    struct step s = step_of(team_reduce<BLOCK, wider>(team, b, bounds_none()));
    encode_items<ITEMS>(v, 0, items, team, s, codes, run);
    if (mine && team.index == 0)
        step_store(s, scales, run);
}

#if FORM == FORM_FEW
extern "C" __global__ void __launch_bounds__(128)
    quantize_few(const element *x, u8 *codes, float *scales, s64 runs, s64 length, u32 lanes)
{
    struct team team;
    s64 run = row_of_lanes(blockIdx.x, lanes, &team);
    quantize_run<ITEMS_FEW, false>(x, codes, scales, run, length, run < runs, team);
}
#endif

#if FORM == FORM_MANY
extern "C" __global__ void __launch_bounds__(128)
    quantize_many(const element *x, u8 *codes, float *scales, s64 runs, s64 length, u32 lanes)
{
    struct team team;
    s64 run = row_of_lanes(blockIdx.x, lanes, &team);
    quantize_run<ITEMS_MANY, false>(x, codes, scales, run, length, run < runs, team);
}
#endif

#if FORM == FORM_BLOCK || FORM == FORM_SPREAD
extern "C" __global__ void __launch_bounds__(1024)
    quantize_block(const element *x, u8 *codes, float *scales, s64 runs, s64 length, u32 lanes)
{
    quantize_run<ITEMS_BLOCK, true>(x, codes, scales, blockIdx.x, length, true, team_of_block());
}
#endif

#if FORM == FORM_LONG
extern "C" __global__ void __launch_bounds__(1024)
    quantize_long(const element *x, u8 *codes, float *scales, s64 runs, s64 length, u32 lanes)
{
    struct team team = team_of_block();
    s64 items = length / UNIT, run = blockIdx.x;
    struct bounds b = bounds_none();
    float v[ITEMS_FEW][UNIT];
    x += run * length;
    for (s64 first = 0; first < items; first += ITEMS_FEW * team.size) {
        row_load<ITEMS_FEW>(x, first, items, team, 0, v);
        b = bounds_of<ITEMS_FEW>(v, first, items, team, b);
    }
    struct step s = step_of(block_reduce<wider>(b, bounds_none()));
    for (s64 first = 0; first < items; first += ITEMS_FEW * team.size) {
        row_load<ITEMS_FEW>(x, first, items, team, 0, v);
        encode_items<ITEMS_FEW>(v, first, items, team, s, codes, run);
    }
    if (team.index == 0)
        step_store(s, scales, run);
}
#endif

// ---- one run: the whole tensor ------------------------------------------------------------------

#if FORM == FORM_WHOLE
// Bounds of each block's share; the second kernel puts them together. No order matters to them.
extern "C" __global__ void __launch_bounds__(512)
    quantize_bounds(const element *x, struct bounds *parts, s64 length)
{
    s64 items = length / UNIT;
    struct team grid = {blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x};
    struct bounds b = bounds_none();
    float v[2 * ITEMS_FEW][UNIT];
    for (s64 first = 0; first < items; first += (s64)2 * ITEMS_FEW * grid.size) {
        row_load<2 * ITEMS_FEW>(x, first, items, grid, 0, v);
        b = bounds_of<2 * ITEMS_FEW>(v, first, items, grid, b);
    }
    b = block_reduce<wider>(b, bounds_none());
    if (threadIdx.x == 0)
        parts[blockIdx.x] = b;
}

// Goes backwards: what was read last is still in L2.
extern "C" __global__ void __launch_bounds__(512)
    quantize_whole(const element *x, const struct bounds *parts, u8 *codes, float *scales,
                   u32 n_parts, s64 length)
{
    s64 items = length / UNIT;
    struct team grid = {blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x};
    struct bounds b = bounds_none();
    for (u32 i = threadIdx.x; i < n_parts; i += blockDim.x)
        b = wider::of(b, parts[i]);
    struct step s = step_of(block_reduce<wider>(b, bounds_none()));
    s64 step = (s64)2 * ITEMS_FEW * grid.size;
    float v[2 * ITEMS_FEW][UNIT];
    for (s64 first = (items - 1) / step * step; first >= 0; first -= step) {
        row_load<2 * ITEMS_FEW>(x, first, items, grid, 0, v);
        encode_items<2 * ITEMS_FEW>(v, first, items, grid, s, codes, 0);
    }
    if (grid.index == 0)
        step_store(s, scales, 0);
}

#endif

// ---- dequantize ---------------------------------------------------------------------------------

#if FORM == FORM_DECODE

DEVICE float decode_one(float code, float scale, float zero)
{
    return RANGED ? fmaf(code, scale, zero) : code * scale;
}

// The values that two neighbours' codes stand for, without scale.
DEVICE void decode_pair(u32 codes, float &a, float &b)
{
#if FORMAT == FORMAT_S8
    a = (float)(s8)codes;
    b = (float)(s8)(codes >> 8);
#elif FORMAT == FORMAT_E4M3
    floats_from_e4m3x2(codes, a, b);
#elif FORMAT == FORMAT_E5M2
    floats_from_e5m2x2(codes, a, b);
#else
    a = (float)((int)(codes & 15u) - 8);
    b = (float)((int)(codes >> 4 & 15u) - 8);
#endif
}

// The codes of item `at`, in words.
DEVICE void codes_load(const u8 *codes, s64 at, bool wanted, u32 *word)
{
    word[0] = word[1] = 0;
    if (!wanted)
        return;
#if UNIT == 1 || UNIT == 2
    word[0] = codes[at];
#else
    enum { BITS = UNIT * (RANGED ? 4 : 8) };
    if (BITS == 64) {
        uint2 both = __ldcs((const uint2 *)codes + at);
        word[0] = both.x;
        word[1] = both.y;
    } else if (BITS == 32) {
        word[0] = __ldcs((const u32 *)codes + at);
    } else {
        word[0] = __ldcs((const u16 *)codes + at);
    }
#endif
}

// A division in 32 bits where it can be: one for each item.
DEVICE s64 run_of(s64 item, s64 items, bool small)
{
    return small ? (s64)((u32)item / (u32)items) : item / items;
}

template <int ITEMS>
DEVICE void dequantize_block(const u8 *codes, const float *scales, element *out, s64 count,
                             s64 length)
{
    enum { PAIR_BITS = RANGED ? 8 : 16 };
    s64 items = count / UNIT, run_items = length / UNIT;
    s64 first = (s64)blockIdx.x * ITEMS * blockDim.x + threadIdx.x;
    bool small = items <= 0xffffffffll;
    u32 word[ITEMS][2];
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = first + (s64)i * blockDim.x;
        codes_load(codes, at, at < items, word[i]);
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = first + (s64)i * blockDim.x;
        if (at >= items)
            return;
        s64 run = run_of(at, run_items, small);
        float scale = RANGED ? __ldg(scales + 2 * run) : __ldg(scales + run);
        float zero = RANGED ? __ldg(scales + 2 * run + 1) : 0.0f;
        float v[UNIT + 1];
#pragma unroll
        for (int j = 0; j < UNIT; j += 2) {
            u32 pair = word[i][j / 2 * PAIR_BITS / 32] >> j / 2 * PAIR_BITS % 32;
            decode_pair(pair, v[j], v[j + 1]);
            v[j] = decode_one(v[j], scale, zero);
            v[j + 1] = decode_one(v[j + 1], scale, zero);
        }
        item_store(out, at, true, v);
    }
}

// Blocks as in eltwise.cu: many and short.
extern "C" __global__ void __launch_bounds__(256)
    dequantize(const u8 *codes, const float *scales, element *out, s64 count, s64 length)
{
    dequantize_block<4>(codes, scales, out, count, length);
}

extern "C" __global__ void __launch_bounds__(256)
    dequantize_short(const u8 *codes, const float *scales, element *out, s64 count, s64 length)
{
    dequantize_block<1>(codes, scales, out, count, length);
}

#endif
