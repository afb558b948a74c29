// probe.cu: what the GPU can do now: moving bytes (-DFLIGHT=n), and multiplying (-DKIND=n).

typedef unsigned int u32;
typedef unsigned long long u64;

// ---- bytes: 16 a thread at a time, FLIGHT of them before the first is used ----------------------
//
// n pieces of 16 bytes are gone through once.

#ifdef FLIGHT

#define EACH(i)                                                                                    \
    for (u64 i = (u64)blockIdx.x * blockDim.x * FLIGHT + threadIdx.x; i < n;                       \
         i += (u64)gridDim.x * blockDim.x * FLIGHT)
#define PIECE(i, j) ((i) + (u64)(j) * blockDim.x)
#define THERE(i, j) (PIECE(i, j) < n)

extern "C" __global__ void copy(uint4 *to, const uint4 *from, const uint4 *more, u64 n)
{
    EACH(i)
    {
        uint4 v[FLIGHT];
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                v[j] = __ldcs(from + PIECE(i, j));
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                __stcs(to + PIECE(i, j), v[j]);
    }
}

extern "C" __global__ void copy_cached(uint4 *to, const uint4 *from, const uint4 *more, u64 n)
{
    EACH(i)
    {
        uint4 v[FLIGHT];
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                v[j] = __ldcg(from + PIECE(i, j));
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                __stcg(to + PIECE(i, j), v[j]);
    }
}

static __device__ float triad(u32 a, u32 b)
{
    return fmaf(__uint_as_float(b), 3.0f, __uint_as_float(a));
}

static __device__ uint4 triad(uint4 a, uint4 b)
{
    return make_uint4(__float_as_uint(triad(a.x, b.x)), __float_as_uint(triad(a.y, b.y)),
                      __float_as_uint(triad(a.z, b.z)), __float_as_uint(triad(a.w, b.w)));
}

extern "C" __global__ void triad(uint4 *to, const uint4 *from, const uint4 *more, u64 n)
{
    EACH(i)
    {
        uint4 a[FLIGHT], b[FLIGHT];
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j)) {
                a[j] = __ldcs(from + PIECE(i, j));
                b[j] = __ldcs(more + PIECE(i, j));
            }
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                __stcs(to + PIECE(i, j), triad(a[j], b[j]));
    }
}

extern "C" __global__ void triad_cached(uint4 *to, const uint4 *from, const uint4 *more, u64 n)
{
    EACH(i)
    {
        uint4 a[FLIGHT], b[FLIGHT];
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j)) {
                a[j] = __ldcg(from + PIECE(i, j));
                b[j] = __ldcg(more + PIECE(i, j));
            }
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                __stcg(to + PIECE(i, j), triad(a[j], b[j]));
    }
}

extern "C" __global__ void read(uint4 *to, const uint4 *from, const uint4 *more, u64 n)
{
    uint4 sum = make_uint4(0, 0, 0, 0);
    EACH(i)
    {
        uint4 v[FLIGHT];
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            v[j] = THERE(i, j) ? __ldcg(from + PIECE(i, j)) : make_uint4(0, 0, 0, 0);
#pragma unroll
        for (int j = 0; j < FLIGHT; j++) {
            sum.x ^= v[j].x;
            sum.y ^= v[j].y;
            sum.z ^= v[j].z;
            sum.w ^= v[j].w;
        }
    }
    if ((sum.x | sum.y | sum.z | sum.w) == 0x12345679) // never, but the compiler cannot know
        to[threadIdx.x] = sum;
}

extern "C" __global__ void write(uint4 *to, const uint4 *from, const uint4 *more, u64 n)
{
    // Bits that are numbers near 1 as floats: what zeros cost is not what numbers cost.
    uint4 v = make_uint4(0x3f000000u | threadIdx.x * 7919u, 0x3f012345u, 0x3f000000u | (u32)n, 0x3f654321u);
    EACH(i)
    {
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            if (THERE(i, j))
                __stcg(to + PIECE(i, j), v);
    }
}

#endif

// ---- operations: REPEAT rounds on registers or shared memory, never zeros -----------------------

#ifndef FLIGHT

extern "C" __global__ void __launch_bounds__(256) fma_f32(float *out, int repeat)
{
    float a[8], x = 1.0f + threadIdx.x * 1e-6f, y = 1e-7f * (1 + blockIdx.x);
#pragma unroll
    for (int i = 0; i < 8; i++)
        a[i] = x * (i + 1);
    for (int r = 0; r < repeat; r++)
#pragma unroll
        for (int k = 0; k < 16; k++)
#pragma unroll
            for (int i = 0; i < 8; i++)
                a[i] = fmaf(a[i], x, y);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += a[i];
    if (sum == 12345.678f)
        out[0] = sum;
}

// Random bits that are ordinary numbers in every type: of a bf16 and f16 the top exponent bits are
// held, of e4m3 a pattern that is not a NaN.
static __device__ u32 noise(u32 i)
{
    i = i * 747796405u + 2891336453u;
    i = ((i >> ((i >> 28) + 4)) ^ i) * 277803737u;
    i = (i >> 22) ^ i;
    return (i & 0xbfbfbfbfu) | 0x30303030u;
}

#if KIND == 1 // f16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
#define WGMMA_TAIL ", p, 1, 1, 0, 0;"
#elif KIND == 2 // bf16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"
#define WGMMA_TAIL ", p, 1, 1, 0, 0;"
#elif KIND == 3 // s8
#define MMA "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8"
#define WGMMA_TAIL ", p;"
#elif KIND == 4 // e4m3
#define MMA "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
#define WGMMA "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3"
#define WGMMA_TAIL ", p, 1, 1;"
#endif

#ifdef KIND

#if KIND == 3
typedef u32 sum_type;
#define SUM "+r"
#else
typedef float sum_type;
#define SUM "+f"
#endif

// Eight independent products of one warp; 2 * 16 * 8 * k operations each.
extern "C" __global__ void __launch_bounds__(256) mma(sum_type *out, int repeat)
{
    sum_type c[8][4] = {};
    u32 a[4], b[2];
#pragma unroll
    for (int i = 0; i < 4; i++)
        a[i] = noise(threadIdx.x * 7 + i);
#pragma unroll
    for (int i = 0; i < 2; i++)
        b[i] = noise(threadIdx.x * 13 + blockIdx.x + i);
    for (int r = 0; r < repeat; r++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            asm volatile(MMA " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                         : SUM(c[i][0]), SUM(c[i][1]), SUM(c[i][2]), SUM(c[i][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    sum_type sum = 0;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += c[i][0] + c[i][1] + c[i][2] + c[i][3];
    if (sum == (sum_type)12345)
        out[0] = sum;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// 128 registers of sums, by their numbers in the asm statement.
#define LIST8(a, b, c, d, e, f, g, h)                                                              \
    "%" #a ",%" #b ",%" #c ",%" #d ",%" #e ",%" #f ",%" #g ",%" #h
#define SUMS8(i)                                                                                   \
    SUM(c[i]), SUM(c[i + 1]), SUM(c[i + 2]), SUM(c[i + 3]), SUM(c[i + 4]), SUM(c[i + 5]),          \
        SUM(c[i + 6]), SUM(c[i + 7])

// Two warpgroups, each 64 x 256 sums, both operands in shared memory (tiles of 128-byte rows).
extern "C" __global__ void __launch_bounds__(256) wgmma(sum_type *out, int repeat)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    u32 *words = (u32 *)shared;
    for (u32 i = threadIdx.x; i < (64 + 64 + 256) * 32; i += blockDim.x)
        words[i] = noise(i + blockIdx.x);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    u32 base = (u32)__cvta_generic_to_shared(shared);
    u32 a_at = base + (threadIdx.x / 128) * 64 * 128, b_at = base + 2 * 64 * 128;
    // Start address, (leading offset,) 1024 bytes between groups of 8 rows, 128-byte swizzle.
    u64 fixed = ((u64)1 << 16) | ((u64)64 << 32) | ((u64)1 << 62);
    u64 a = fixed | ((a_at & 0x3ffff) >> 4), b = fixed | ((b_at & 0x3ffff) >> 4);
    sum_type c[128] = {};
    for (int r = 0; r < repeat; r++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, 1, 0;\n" WGMMA " {"
                LIST8(0, 1, 2, 3, 4, 5, 6, 7) "," LIST8(8, 9, 10, 11, 12, 13, 14, 15) ","
                LIST8(16, 17, 18, 19, 20, 21, 22, 23) "," LIST8(24, 25, 26, 27, 28, 29, 30, 31) ","
                LIST8(32, 33, 34, 35, 36, 37, 38, 39) "," LIST8(40, 41, 42, 43, 44, 45, 46, 47) ","
                LIST8(48, 49, 50, 51, 52, 53, 54, 55) "," LIST8(56, 57, 58, 59, 60, 61, 62, 63) ","
                LIST8(64, 65, 66, 67, 68, 69, 70, 71) "," LIST8(72, 73, 74, 75, 76, 77, 78, 79) ","
                LIST8(80, 81, 82, 83, 84, 85, 86, 87) "," LIST8(88, 89, 90, 91, 92, 93, 94, 95) ","
                LIST8(96, 97, 98, 99, 100, 101, 102, 103) ","
                LIST8(104, 105, 106, 107, 108, 109, 110, 111) ","
                LIST8(112, 113, 114, 115, 116, 117, 118, 119) ","
                LIST8(120, 121, 122, 123, 124, 125, 126, 127)
                "}, %128, %129" WGMMA_TAIL " }"
                : SUMS8(0), SUMS8(8), SUMS8(16), SUMS8(24), SUMS8(32), SUMS8(40), SUMS8(48),
                  SUMS8(56), SUMS8(64), SUMS8(72), SUMS8(80), SUMS8(88), SUMS8(96), SUMS8(104),
                  SUMS8(112), SUMS8(120)
                : "l"(a + 2 * k), "l"(b + 2 * k));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    sum_type sum = 0;
#pragma unroll
    for (int i = 0; i < 128; i++)
        sum += c[i];
    if (sum == (sum_type)12345)
        out[0] = sum;
}

#endif
#endif

#endif
