// types.cuh: elements of f32, f16 and bf16 in device code, without CUDA's own headers, which not
// every machine with a driver has.
//
// Compile with -DELEMENT=32 (f32), 16 (f16) or 17 (bf16): `element` is the stored type, and
// VEC_ELEMENTS of them are the 16 bytes one thread moves at a time.
#ifndef ASSAY_TYPES_CUH
#define ASSAY_TYPES_CUH

typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

#define DEVICE static __device__ __forceinline__

DEVICE float float_from_bf16(u16 bits) { return __uint_as_float((u32)bits << 16); }

DEVICE u16 bf16_from_float(float value)
{
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// `low` in the lower half.
DEVICE u32 bf16x2_from_floats(float low, float high)
{
    u32 bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

DEVICE float float_from_f16(u16 bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE u16 f16_from_float(float value)
{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

DEVICE u32 f16x2_from_floats(float low, float high)
{
    u32 bits;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
}

#if ELEMENT == 32
typedef float element;
#define VEC_ELEMENTS 4
DEVICE float element_get(element e) { return e; }
DEVICE element element_from(float value) { return value; }
#elif ELEMENT == 16
typedef u16 element;
#define VEC_ELEMENTS 8
DEVICE float element_get(element e) { return float_from_f16(e); }
DEVICE element element_from(float value) { return f16_from_float(value); }
#elif ELEMENT == 17
typedef u16 element;
#define VEC_ELEMENTS 8
DEVICE float element_get(element e) { return float_from_bf16(e); }
DEVICE element element_from(float value) { return bf16_from_float(value); }
#endif

#ifdef ELEMENT
// 16 bytes as floats, and back.
DEVICE void vec_unpack(uint4 bits, float *out)
{
#if ELEMENT == 32
    out[0] = __uint_as_float(bits.x);
    out[1] = __uint_as_float(bits.y);
    out[2] = __uint_as_float(bits.z);
    out[3] = __uint_as_float(bits.w);
#else
    const u32 word[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        out[2 * i] = element_get((u16)word[i]);
        out[2 * i + 1] = element_get((u16)(word[i] >> 16));
    }
#endif
}

DEVICE uint4 vec_pack(const float *in)
{
#if ELEMENT == 32
    return make_uint4(__float_as_uint(in[0]), __float_as_uint(in[1]), __float_as_uint(in[2]),
                      __float_as_uint(in[3]));
#elif ELEMENT == 16
    return make_uint4(f16x2_from_floats(in[0], in[1]), f16x2_from_floats(in[2], in[3]),
                      f16x2_from_floats(in[4], in[5]), f16x2_from_floats(in[6], in[7]));
#else
    return make_uint4(bf16x2_from_floats(in[0], in[1]), bf16x2_from_floats(in[2], in[3]),
                      bf16x2_from_floats(in[4], in[5]), bf16x2_from_floats(in[6], in[7]));
#endif
}
#endif

#endif
