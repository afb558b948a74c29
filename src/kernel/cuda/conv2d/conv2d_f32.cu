// conv2d_f32.cu: conv2d in f32 with ordinary multiply-adds.
//
// A block of 16 x 16 threads has a tile of BLOCK_M pixels by BLOCK_N channels of y, a thread
// BLOCK_M / 16 by BLOCK_N / 16 of it, in fours that lie 64 apart. It goes along k 16 elements at a
// time: a step is loaded to registers while the one before is multiplied, then stored to shared
// memory, along k there, so that fours of pixels are read at once.
//
// Compile with -DBLOCK_M=…, -DBLOCK_N=… (64 or 128) and what conv2d.cuh says.
#include "types.cuh"

#include "kernel_math.cuh"

#include "conv2d.cuh"

enum {
    SIDE = 16,
    THREADS = SIDE * SIDE,
    STEP = 16,
    STEP_CHUNKS = STEP / CHUNK,
    AT_ONCE = THREADS / STEP_CHUNKS, // rows all threads load together
    ROWS_X = BLOCK_M / AT_ONCE,      // rows of a thread
    ROWS_W = BLOCK_N / AT_ONCE,
    PITCH_X = BLOCK_M + 4,
    PITCH_W = BLOCK_N + 4,
    FOURS_M = BLOCK_M / 4 / SIDE,
    FOURS_N = BLOCK_N / 4 / SIDE,
};

struct stage {
    float x[STEP][PITCH_X], w[STEP][PITCH_W];
};

// A thread's rows, where it is along k, and what it has loaded there.
struct loader {
    struct window windows[ROWS_X];
    struct tap tap;
    int column; // of its first row of W
    uint4 x[ROWS_X], w[ROWS_W];
};

DEVICE void loader_begin(const struct conv2d_args *a, struct loader *l, int row, int column)
{
    const int mine = (int)threadIdx.x / STEP_CHUNKS;
    l->tap = tap_of(a, (int)threadIdx.x % STEP_CHUNKS * CHUNK);
    l->column = column + mine;
#pragma unroll
    for (int i = 0; i < ROWS_X; i++)
        l->windows[i] = window_of(a, row + mine + i * AT_ONCE);
}

DEVICE void load_step(const struct conv2d_args *a, struct loader *l)
{
    const int k = tap_k(a, &l->tap);
#pragma unroll
    for (int i = 0; i < ROWS_X; i++) {
#if VECTOR
        const bool inside = tap_inside(a, &l->windows[i], &l->tap);
        l->x[i] = load_kept(tap_in(a, &l->windows[i], &l->tap), inside);
#else
        l->x[i] = window_chunk(a, &l->windows[i], l->tap);
#endif
    }
#pragma unroll
    for (int i = 0; i < ROWS_W; i++) {
        const int column = l->column + i * AT_ONCE;
#if VECTOR
        l->w[i] = load_kept(a->w + (s64)column * a->depth + k,
                            column < a->out && k < a->depth);
#else
        l->w[i] = filter_chunk(a, column, k);
#endif
    }
    tap_advance(a, &l->tap, STEP);
}

template <int PITCH> DEVICE void store_column(float (*to)[PITCH], int row, uint4 chunk)
{
    const int k = (int)threadIdx.x % STEP_CHUNKS * CHUNK;
    float v[CHUNK];
    vec_unpack(chunk, v);
#pragma unroll
    for (int i = 0; i < CHUNK; i++)
        to[k + i][row] = v[i];
}

DEVICE void store_step(const struct loader *l, struct stage *stage)
{
    const int mine = (int)threadIdx.x / STEP_CHUNKS;
#pragma unroll
    for (int i = 0; i < ROWS_X; i++)
        store_column<PITCH_X>(stage->x, mine + i * AT_ONCE, l->x[i]);
#pragma unroll
    for (int i = 0; i < ROWS_W; i++)
        store_column<PITCH_W>(stage->w, mine + i * AT_ONCE, l->w[i]);
}

DEVICE void multiply_step(float sum[4 * FOURS_M][4 * FOURS_N], const struct stage *stage)
{
    const int x = (int)threadIdx.x % SIDE, y = (int)threadIdx.x / SIDE;
#pragma unroll 2 // more, and registers run out
    for (int k = 0; k < STEP; k++) {
        float a[4 * FOURS_M], b[4 * FOURS_N];
#pragma unroll
        for (int i = 0; i < FOURS_M; i++)
            vec_unpack(*(const uint4 *)&stage->x[k][4 * (y + SIDE * i)], a + 4 * i);
#pragma unroll
        for (int j = 0; j < FOURS_N; j++)
            vec_unpack(*(const uint4 *)&stage->w[k][4 * (x + SIDE * j)], b + 4 * j);
#pragma unroll
        for (int i = 0; i < 4 * FOURS_M; i++)
#pragma unroll
            for (int j = 0; j < 4 * FOURS_N; j++)
                sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    conv2d_f32(const __grid_constant__ struct conv2d_args a)
{
    __shared__ __align__(16) struct stage stages[2];
    const int x = (int)threadIdx.x % SIDE, y = (int)threadIdx.x / SIDE;
    const int row = (int)blockIdx.x * BLOCK_M, column = (int)blockIdx.y * BLOCK_N;
    const int steps = (a.depth + STEP - 1) / STEP;
    struct loader loader;
    float sum[4 * FOURS_M][4 * FOURS_N] = {};
    loader_begin(&a, &loader, row, column);
    load_step(&a, &loader);
    store_step(&loader, &stages[0]);
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        const bool more = step + 1 < steps;
        if (more)
            load_step(&a, &loader);
        multiply_step(sum, &stages[step % 2]);
        if (more)
            store_step(&loader, &stages[(step + 1) % 2]);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4 * FOURS_M; i++)
#pragma unroll
        for (int j = 0; j < 4 * FOURS_N; j += 2)
            store_two(&a, row + 4 * (y + SIDE * (i / 4)) + i % 4,
                      column + 4 * (x + SIDE * (j / 4)) + j % 4, sum[i][j], sum[i][j + 1]);
}
