// column_sums.cu: the sums of a matrix's columns, in f32: the gradient of a bias.
//
// Compile with -DELEMENT=… and -DVECTOR=…, see row.cuh. A block has 32 items side by side, a lane
// each, of one chunk of the rows, of which its 8 warps take every 8th: blockIdx.x items, .y chunks.
// The sums leave in parts: columns.cuh.
#define FORM 0
#include "row.cuh"

#define COLUMN_SUMS 1
#include "columns.cuh"

enum { WARPS = 8 };

extern "C" __global__ void __launch_bounds__(32 * WARPS)
    column_sums(const element *x, float *parts, s64 rows, s64 dim)
{
    __shared__ struct column_sums warps[WARPS][32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    s64 items = dim / UNIT, column = (s64)blockIdx.x * 32 + lane;
    s64 chunk = (rows + gridDim.y - 1) / gridDim.y, first = blockIdx.y * chunk;
    s64 end = first + chunk < rows ? first + chunk : rows;
    bool wanted = column < items;
    struct column_sums sums;
    columns_clear(&sums);
#pragma unroll 4
    for (s64 row = first + warp; row < end; row += WARPS) {
        float v[UNIT];
        item_load(x, row * items + column, wanted, 0, v);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            sums.of[0][j] += v[j];
    }
    warps[warp][lane] = sums;
    __syncthreads();
    if (warp > 0 || !wanted)
        return;
#pragma unroll
    for (int i = 1; i < WARPS; i++)
        columns_add(&sums, &warps[i][lane]);
    columns_store(&sums, parts + blockIdx.y * dim, dim, column);
}

extern "C" __global__ void __launch_bounds__(1024)
    column_sums_finish(const float *parts, s64 n, s64 dim, element *out, element *unused)
{
    columns_finish(parts, n, dim, out);
}
