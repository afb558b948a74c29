// conv2d_mma.cu: conv2d in f16 and bf16 with matrix instructions of one warp: any channels, kernel
// and stride, on any GPU that has them.
//
// A block of 8 warps, 4 x 2, has a tile of BLOCK_M pixels by BLOCK_N channels of y. It goes along k
// 32 elements at a time, STAGES - 1 such steps ahead: rows of windows and filters are copied to
// shared memory, each thread in its own 16 bytes of a step.
//
// Compile with -DBLOCK_M=…, -DBLOCK_N=… (64 or 128) and what conv2d.cuh says.
#include "types.cuh"

#include "kernel_math.cuh"
#include "mma.cuh"

#include "conv2d.cuh"

enum {
    THREADS = 256,
    WARPS_M = 4,
    WARPS_N = 2,
    STEP = 32,
    STAGES = 4,
    PITCH = STEP + CHUNK, // an odd number of 16 bytes: 8 rows lie in different banks
    STEP_CHUNKS = STEP / CHUNK,
    AT_ONCE = THREADS / STEP_CHUNKS, // rows all threads copy together
    ROWS_X = BLOCK_M / AT_ONCE,      // rows of a thread
    ROWS_W = BLOCK_N / AT_ONCE,
    STAGE = (BLOCK_M + BLOCK_N) * PITCH,
    BANDS = BLOCK_M / WARPS_M / 16, // of 16 pixels of a warp,
    PAIRS = BLOCK_N / WARPS_N / 16, // and of 16 channels
};

// What a thread copies: its rows, and where it is along k.
struct copier {
    struct window windows[ROWS_X];
    struct tap tap;
    int column; // of its first row of W
};

DEVICE struct copier copier_at(const struct conv2d_args *a, int row, int column)
{
    struct copier c;
    const int mine = (int)threadIdx.x / STEP_CHUNKS;
    c.tap = tap_of(a, (int)threadIdx.x % STEP_CHUNKS * CHUNK);
    c.column = column + mine;
#pragma unroll
    for (int i = 0; i < ROWS_X; i++)
        c.windows[i] = window_of(a, row + mine + i * AT_ONCE);
    return c;
}

// Starts copying a step, and goes on to the next.
DEVICE void copy_step(const struct conv2d_args *a, struct copier *c, element *stage)
{
    const int k = tap_k(a, &c->tap);
    element *to = stage + threadIdx.x / STEP_CHUNKS * PITCH + threadIdx.x % STEP_CHUNKS * CHUNK;
#pragma unroll
    for (int i = 0; i < ROWS_X; i++, to += AT_ONCE * PITCH) {
#if VECTOR
        const bool inside = tap_inside(a, &c->windows[i], &c->tap);
        copy_16(to, inside ? tap_in(a, &c->windows[i], &c->tap) : a->x, inside);
#else
        *(uint4 *)to = window_chunk(a, &c->windows[i], c->tap);
#endif
    }
#pragma unroll
    for (int i = 0; i < ROWS_W; i++, to += AT_ONCE * PITCH) {
        const int column = c->column + i * AT_ONCE;
#if VECTOR
        const bool there = column < a->out && k < a->depth;
        copy_16(to, there ? a->w + (s64)column * a->depth + k : a->w, there);
#else
        *(uint4 *)to = filter_chunk(a, column, k);
#endif
    }
    tap_advance(a, &c->tap, STEP);
}

DEVICE void multiply_step(float sum[BANDS][2 * PAIRS][4], const element *stage)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const element *x = stage + (warp / WARPS_N * BANDS * 16 + lane % 16) * PITCH + lane / 16 * 8;
    const element *w = stage + (BLOCK_M + warp % WARPS_N * PAIRS * 16 + lane % 8 + lane / 16 * 8) * PITCH +
                       lane / 8 % 2 * 8;
#pragma unroll
    for (int k = 0; k < STEP; k += 16) {
        u32 a[BANDS][4], b[PAIRS][4];
#pragma unroll
        for (int i = 0; i < BANDS; i++)
            load_matrices(a[i], shared_address(x + i * 16 * PITCH + k));
#pragma unroll
        for (int j = 0; j < PAIRS; j++)
            load_matrices(b[j], shared_address(w + j * 16 * PITCH + k));
#pragma unroll
        for (int i = 0; i < BANDS; i++)
#pragma unroll
            for (int j = 0; j < 2 * PAIRS; j++)
                mma(sum[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b[j / 2][j % 2 * 2],
                    b[j / 2][j % 2 * 2 + 1]);
    }
}

// Dynamic shared memory: STAGES * STAGE elements.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    conv2d_mma(const __grid_constant__ struct conv2d_args a)
{
    extern __shared__ uint4 shared[];
    element *stages = (element *)shared;
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int row = (int)blockIdx.x * BLOCK_M, column = (int)blockIdx.y * BLOCK_N;
    const int steps = (a.depth + STEP - 1) / STEP;
    struct copier copier = copier_at(&a, row, column);
    float sum[BANDS][2 * PAIRS][4] = {};
#pragma unroll 1
    for (int step = 0; step < STAGES - 1; step++) {
        if (step < steps)
            copy_step(&a, &copier, stages + step * STAGE);
        copies_commit();
    }
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        const int next = step + STAGES - 1;
        copies_wait<STAGES - 2>();
        __syncthreads();
        if (next < steps)
            copy_step(&a, &copier, stages + next % STAGES * STAGE);
        copies_commit();
        multiply_step(sum, stages + step % STAGES * STAGE);
    }
    const int first = row + warp / WARPS_N * BANDS * 16 + lane / 4;
    const int left = column + warp % WARPS_N * PAIRS * 16 + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < BANDS; i++)
#pragma unroll
        for (int j = 0; j < 2 * PAIRS; j++) {
            store_two(&a, first + 16 * i, left + 8 * j, sum[i][j][0], sum[i][j][1]);
            store_two(&a, first + 16 * i + 8, left + 8 * j, sum[i][j][2], sum[i][j][3]);
        }
}
