// read.cu: the XOR of all of x as 32-bit words.
//
// As many blocks as fit, each with a loop. Every block adds its part to a sum in scratch[1]; the one
// that comes last, by the ticket in scratch[0], writes the output. Both are 0 before and after.
#include "types.cuh"

enum { FLIGHT = 4 };

DEVICE u32 of_warp(u32 v)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        v ^= __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

// The tail after the last 16 bytes; an incomplete word is filled with 0.
DEVICE u32 of_rest(const unsigned char *x, s64 bytes)
{
    u32 v = 0;
    for (s64 i = bytes / 16 * 16; i < bytes; i++)
        v ^= (u32)x[i] << (i % 4 * 8);
    return v;
}

extern "C" __global__ void __launch_bounds__(512)
    read(const unsigned char *x, u32 *out, s64 bytes, u32 *scratch)
{
    __shared__ u32 parts[16];
    const uint4 *pieces = (const uint4 *)x;
    s64 n = bytes / 16, step = (s64)FLIGHT * blockDim.x;
    u32 v = blockIdx.x == 0 && threadIdx.x == 0 ? of_rest(x, bytes) : 0;
    for (s64 first = blockIdx.x * step + threadIdx.x; first < n; first += gridDim.x * step) {
        uint4 a[FLIGHT];
#pragma unroll
        for (int j = 0; j < FLIGHT; j++) {
            s64 at = first + (s64)j * blockDim.x;
            a[j] = at < n ? __ldcs(pieces + at) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int j = 0; j < FLIGHT; j++)
            v ^= a[j].x ^ a[j].y ^ a[j].z ^ a[j].w;
    }
    v = of_warp(v);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (u32 w = 1; w < blockDim.x / 32; w++)
        v ^= parts[w];
    atomicXor(&scratch[1], v);
    __threadfence(); // the part before the ticket
    if (atomicAdd(&scratch[0], 1) == gridDim.x - 1) {
        out[0] = atomicExch(&scratch[1], 0);
        atomicExch(&scratch[0], 0);
    }
}
