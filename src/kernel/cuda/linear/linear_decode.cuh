// linear_decode.cuh: decodes stored weights of `linear`, and takes sums to y.
//
// Compile with -DELEMENT (types.cuh) and -DCODE, the number of the code's type in enum assay_dtype.
// A *piece* is the 16 bytes of codes one thread loads at a time, PIECE weights of one row; a *unit*
// is UNIT of them in UNIT_WORDS dwords. Every code is decoded exactly: what a code is
// multiplied with (its row's scale, its group's scale and zero) comes later.
//
// The NaN of e4m3 is not known here: weights that have one have a row scale of NaN instead
// (linear_weights_cuda.c).
#ifndef ASSAY_LINEAR_DECODE_CUH
#define ASSAY_LINEAR_DECODE_CUH

#include "types.cuh"

#define CODE_NONE 0
#define CODE_S8 6
#define CODE_U8 7
#define CODE_U4 8
#define CODE_E4M3 9

#define GROUPED (CODE == CODE_U4 || CODE == CODE_U8) // scale and zero of groups, else of rows

#if CODE == CODE_U4
#define PIECE 32
#define UNIT 8
#define UNIT_WORDS 1
#elif CODE == CODE_NONE
#define PIECE VEC_ELEMENTS
#define UNIT VEC_ELEMENTS
#define UNIT_WORDS 4
#else
#define PIECE 16
#define UNIT 8
#define UNIT_WORDS 2
#endif
#define PIECE_UNITS (4 / UNIT_WORDS)

// ---- as floats ---------------------------------------------------------------------------------

// 2^23 + code is a float whose last bits are the code.
DEVICE float float_from_code(u32 code, u32 half)
{
    return __uint_as_float(0x4b000000u | code) - (float)(0x800000u + half);
}

// As if e4m3's exponent had the bias of f32: too small by 2^120, subnormals too.
DEVICE float float_from_e4m3(u32 code)
{
    u32 bits = (code & 0x80u) << 24 | (code & 0x7fu) << 20;
    return __uint_as_float(bits) * __uint_as_float(0x7b800000u);
}

DEVICE float float_from_byte(u32 byte)
{
#if CODE == CODE_S8
    return float_from_code(byte ^ 0x80u, 128);
#elif CODE == CODE_U8
    return float_from_code(byte, 128);
#else
    return float_from_e4m3(byte);
#endif
}

// The weights of one dword, in their order along k.
DEVICE void decode_word(u32 word, float *out)
{
#if CODE == CODE_U4
#pragma unroll
    for (int i = 0; i < 8; i++)
        out[i] = float_from_code(word >> (4 * i) & 15u, 8);
#elif CODE != CODE_NONE
#pragma unroll
    for (int i = 0; i < 4; i++)
        out[i] = float_from_byte(word >> (8 * i) & 255u);
#elif ELEMENT == 32
    out[0] = __uint_as_float(word);
#else
    out[0] = element_get((u16)word);
    out[1] = element_get((u16)(word >> 16));
#endif
}

DEVICE void decode_unit(const u32 *words, float *out)
{
#pragma unroll
    for (int i = 0; i < UNIT_WORDS; i++)
        decode_word(words[i], out + i * (UNIT / UNIT_WORDS));
}

// ---- as pairs of 16 bits, for the matrix units -------------------------------------------------

#if ELEMENT != 32

// a * b + c, of two halves, each rounded once.
DEVICE u32 pair_fma(u32 a, u32 b, u32 c)
{
    u32 d;
#if ELEMENT == 17
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
#else
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
#endif
    return d;
}

#if ELEMENT == 17
#define PAIR_ONE 0x3f803f80u
#else
#define PAIR_ONE 0x3c003c00u
#endif

// (a & b) | c and (a & b) ^ c as one instruction each: of two constants compilers make two.
DEVICE u32 and_or(u32 a, u32 b, u32 c)
{
    u32 d;
    asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

DEVICE u32 and_xor(u32 a, u32 b, u32 c)
{
    u32 d;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    return d;
}

// The low byte of each half is a code, whatever the high one is: bits in the fraction of 128 (bf16,
// whose fraction has 7 of them, so that the eighth chooses what is taken away) or 1024 (f16).
DEVICE u32 pair_from_bytes(u32 word)
{
#if CODE == CODE_S8 && ELEMENT == 17
    return pair_fma(and_or(word, 0x007f007fu, 0x43004300u), PAIR_ONE,
                    and_or(word, 0x00800080u, 0xc300c300u)); // -128, or -256 of negative ones
#elif CODE == CODE_U8 && ELEMENT == 17
    return pair_fma(and_or(word, 0x007f007fu, 0x43004300u), PAIR_ONE,
                    and_xor(word, 0x00800080u, 0xc380c380u)); // -256, or -128 from code 128 on
#elif CODE == CODE_S8
    return pair_fma(and_xor(word, 0x00ff00ffu, 0x64806480u), PAIR_ONE, 0xe480e480u); // -1152
#elif CODE == CODE_U8
    return pair_fma(and_or(word, 0x00ff00ffu, 0x64006400u), PAIR_ONE, 0xe480e480u);
#else
    return word;
#endif
}

// Bytes of `word` as `selector` says; 8 added to a byte's number means its sign, eight times.
DEVICE u32 permute_signs(u32 word, u32 selector)
{
    u32 d;
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(d) : "r"(word), "r"(selector));
    return d;
}

// The low byte of each half is a code, the high one its sign, eight times. Moved to where exponent
// and fraction meet, it is too small by 2^120 in bf16, 2^8 in f16.
DEVICE u32 pair_from_e4m3(u32 signs_and_codes)
{
#if ELEMENT == 17
    return pair_fma((signs_and_codes << 4) & 0x87f087f0u, 0x7b807b80u, 0x80008000u);
#else
    return pair_fma((signs_and_codes << 7) & 0xbf80bf80u, 0x5c005c00u, 0x80008000u);
#endif
}

// The 8 weights of a unit as 4 pairs, as they come cheapest: in their order along k once each dword
// has been through order_for_pairs.
DEVICE void decode_pairs(const u32 *words, u32 *pairs)
{
#if CODE == CODE_U4
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u32 word = words[0] >> (4 * i), mask = 0x000f000fu;
#if ELEMENT == 17
        pairs[i] = pair_fma(and_or(word, mask, 0x43004300u), PAIR_ONE, 0xc308c308u); // 128 - 136
#else
        pairs[i] = pair_fma(and_or(word, mask, 0x64006400u), PAIR_ONE, 0xe408e408u); // 1024 - 1032
#endif
    }
#elif CODE == CODE_E4M3
#pragma unroll
    for (int i = 0; i < 2; i++) {
        pairs[2 * i] = pair_from_e4m3(permute_signs(words[i], 0xa280u));
        pairs[2 * i + 1] = pair_from_e4m3(permute_signs(words[i], 0xb391u));
    }
#elif CODE == CODE_NONE
#pragma unroll
    for (int i = 0; i < 4; i++)
        pairs[i] = words[i];
#else
#pragma unroll
    for (int i = 0; i < 2; i++) {
        pairs[2 * i] = pair_from_bytes(words[i]);
        pairs[2 * i + 1] = pair_from_bytes(words[i] >> 8);
    }
#endif
}

// The same, cheaper where that is so: PAIR_OFFSET is still to be taken away from each, times the
// sum of what they are multiplied with. 128 + code in bf16, 64 + code in f16: no more than needed,
// as what is taken away costs the sum its last bits.
#if CODE == CODE_U4
#define PAIR_OFFSET (ELEMENT == 17 ? 136.0f : 72.0f)
DEVICE void decode_offset_pairs(const u32 *words, u32 *pairs)
{
    const u32 word = words[0];
#if ELEMENT == 17
    const u32 mask = 0x000f000fu, base = 0x43004300u;
    pairs[0] = and_or(word, mask, base);
    pairs[1] = and_or(word >> 4, mask, base);
    pairs[2] = and_or(word >> 8, mask, base);
    pairs[3] = and_or(word >> 12, mask, base);
#else
    const u32 mask = 0x00f000f0u, base = 0x54005400u;
    pairs[0] = and_or(word << 4, mask, base);
    pairs[1] = and_or(word, mask, base);
    pairs[2] = and_or(word >> 4, mask, base);
    pairs[3] = and_or(word >> 8, mask, base);
#endif
}
#else
#define PAIR_OFFSET 0.0f
DEVICE void decode_offset_pairs(const u32 *words, u32 *pairs) { decode_pairs(words, pairs); }
#endif

// Codes of a dword 0 1 2 3 … as 0 2 4 6 1 3 5 7 (4 bits) or 0 2 1 3 (8 bits).
DEVICE u32 order_for_pairs(u32 word)
{
#if CODE == CODE_U4
    u32 ordered = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        ordered |= (word >> (8 * i) & 15u) << (4 * i);
        ordered |= (word >> (8 * i + 4) & 15u) << (4 * i + 16);
    }
    return ordered;
#elif CODE == CODE_NONE
    return word;
#else
    return __byte_perm(word, 0, 0x3120);
#endif
}

#endif

// ---- memory ------------------------------------------------------------------------------------

// Weights are read once: they need not stay in L1. Volatile, so that a load stays where it is
// written, ahead of the work it is to overlap with.
DEVICE uint4 load_codes(const u8 *p)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// ---- from sums to y ----------------------------------------------------------------------------

// In the order of enum assay_linear_activation.
DEVICE float activate(float y, int activation)
{
    switch (activation) {
    case 1:
        return 1.0f / (1.0f + expf(-y));
    case 2:
        return y < 0.0f ? 0.0f : y; // NaN stays
    case 3:
        return y > 0.0f ? y : 0.01f * y;
    case 4:
        return y > 6.0f ? 6.0f : y < 0.0f ? 0.0f : y;
    case 5:
        return 0.5f * y * erfcf(y * -0.70710678118654752f);
    case 6:
        return y / (1.0f + expf(-y));
    case 7:
        return y <= -3.0f ? 0.0f : y >= 3.0f ? y : y * (y + 3.0f) / 6.0f;
    default:
        return y;
    }
}

// One output: row_scales and bias may be NULL.
DEVICE element finish(float sum, const float *row_scales, const element *bias, s64 column,
                      int activation)
{
    if (row_scales)
        sum *= row_scales[column];
    if (bias)
        sum += element_get(bias[column]);
    return element_from(activate(sum, activation));
}

#endif
