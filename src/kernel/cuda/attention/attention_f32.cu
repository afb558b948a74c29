// attention_f32.cu: softmax(q k^T / sqrt(dim)) v in f32 with ordinary multiply-adds, in one pass.
//
// A block of 16 x 16 threads has 16 BANDS queries of a head and goes through the keys, 16 GROUPS at
// a time. Thread (x, y) multiplies queries y + 16 i by keys x + 16 j; the exponentials go through
// shared memory, within the 16 threads that have a query; then it has queries y + 16 i of the
// output, WIDE columns at a time. Keys of the next tile are copied while values are multiplied, and
// the other way round.
//
// Compile with -DELEMENT=32, -DVECTOR=…, -DDIM=… (attention.cuh; a multiple of 16 below 64, of 64
// from there on), -DBANDS=… and -DGROUPS=….
#include "attention.cuh"

#define SIDE 16
#define THREADS (SIDE * SIDE)
#define QUERIES (SIDE * BANDS)
#define KEYS (SIDE * GROUPS)
#define WIDE (DIM % 64 == 0 ? 4 : 1)
#define COLUMNS (DIM / SIDE)   // of a thread's outputs
#define WEIGHTS_ROW (KEYS + 4) // of the exponentials in shared memory

struct tiles {
    float *q, *k, *v, *weights;
};

DEVICE float4 four(const float *at) { return *(const float4 *)at; }

// The thread's output column `c`.
DEVICE int column_of(int c)
{
    return (c / WIDE * SIDE + (int)threadIdx.x % SIDE) * WIDE + c % WIDE;
}

DEVICE void multiply_keys(const struct tiles *tiles, float s[BANDS][GROUPS])
{
    const int x = (int)threadIdx.x % SIDE, y = (int)threadIdx.x / SIDE;
#pragma unroll 4
    for (int column = 0; column < DIM; column += 4) {
        float4 q[BANDS];
#pragma unroll
        for (int i = 0; i < BANDS; i++)
            q[i] = four(tiles->q + (y + i * SIDE) * ROW + column);
#pragma unroll
        for (int j = 0; j < GROUPS; j++) {
            const float4 k = four(tiles->k + (x + j * SIDE) * ROW + column);
#pragma unroll
            for (int i = 0; i < BANDS; i++) {
                s[i][j] = fmaf(q[i].x, k.x, s[i][j]);
                s[i][j] = fmaf(q[i].y, k.y, s[i][j]);
                s[i][j] = fmaf(q[i].z, k.z, s[i][j]);
                s[i][j] = fmaf(q[i].w, k.w, s[i][j]);
            }
        }
    }
}

// Scores to exponentials, in shared memory; what is summed up already is scaled where it must be.
DEVICE void soften(const struct attention_args *a, const struct tiles *tiles, int first, int key,
                   float s[BANDS][GROUPS], struct online state[BANDS], float o[BANDS][COLUMNS])
{
    const int x = (int)threadIdx.x % SIDE, y = (int)threadIdx.x / SIDE;
#pragma unroll
    for (int i = 0; i < BANDS; i++) {
        const int seen = keys_of(a, first + y + i * SIDE) - key;
        float most = -FLOAT_INFINITY;
#pragma unroll
        for (int j = 0; j < GROUPS; j++) {
            if (x + j * SIDE >= seen)
                s[i][j] = -FLOAT_INFINITY;
            most = fmaxf(most, s[i][j]);
        }
        most = lanes_reduce<greater>(most, SIDE) * a->scale;
        if (online_grows(state[i], most)) {
            const float factor = online_shift(&state[i], most);
#pragma unroll
            for (int c = 0; c < COLUMNS; c++)
                o[i][c] *= factor;
        }
        const float shift = exp_sum_shift(state[i].shift);
#pragma unroll
        for (int j = 0; j < GROUPS; j++) {
            const float weight = fast_exp2(fmaf(s[i][j], a->scale, -shift));
            state[i].sum += weight;
            tiles->weights[(y + i * SIDE) * WEIGHTS_ROW + x + j * SIDE] = weight;
        }
    }
    __syncwarp();
}

DEVICE void multiply_values(const struct tiles *tiles, float o[BANDS][COLUMNS])
{
    const int y = (int)threadIdx.x / SIDE;
#pragma unroll 1
    for (int key = 0; key < KEYS; key += 4) {
        float weights[BANDS][4];
#pragma unroll
        for (int i = 0; i < BANDS; i++) {
            const float4 w = four(tiles->weights + (y + i * SIDE) * WEIGHTS_ROW + key);
            weights[i][0] = w.x;
            weights[i][1] = w.y;
            weights[i][2] = w.z;
            weights[i][3] = w.w;
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float *row = tiles->v + (key + j) * ROW;
#pragma unroll
            for (int c = 0; c < COLUMNS; c += WIDE) {
                float v[WIDE];
#if DIM % 64 == 0
                vec_unpack(*(const uint4 *)(row + column_of(c)), v);
#else
                v[0] = row[column_of(c)];
#endif
#pragma unroll
                for (int i = 0; i < BANDS; i++)
#pragma unroll
                    for (int w = 0; w < WIDE; w++)
                        o[i][c + w] = fmaf(weights[i][j], v[w], o[i][c + w]);
            }
        }
    }
}

DEVICE void store_answers(const struct attention_args *a, int head, int first, element *out,
                          const struct online state[BANDS], float o[BANDS][COLUMNS])
{
    const int y = (int)threadIdx.x / SIDE;
#pragma unroll
    for (int i = 0; i < BANDS; i++) {
        const float sum = lanes_reduce<plus>(state[i].sum, SIDE), factor = 1.0f / sum;
        const bool there = first + y + i * SIDE < a->seq;
        save_lse(a, head, first + y + i * SIDE, state[i].shift, sum, threadIdx.x % SIDE == 0);
        element *row = out + (y + i * SIDE) * a->out_pitch;
#pragma unroll
        for (int c = 0; c < COLUMNS; c++)
            o[i][c] *= factor;
#pragma unroll
        for (int c = 0; c < COLUMNS; c += WIDE)
#if DIM % 64 == 0
            chunk_store(row, column_of(c), a->dim, there, vec_pack(o[i] + c));
#else
            if (there && column_of(c) < a->dim)
                row[column_of(c)] = o[i][c];
#endif
    }
}

// KEYS rows of k or v, from `key` on; nothing behind the last one seen.
DEVICE void copy_tile(const struct attention_args *a, const element *from, float *to, int key,
                      int seen)
{
    if (key < seen)
        copy_rows<KEYS, THREADS>(to, from + key * a->pitch, a->pitch, a->seq - key, a->dim);
    copies_commit();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    attention_f32(const __grid_constant__ struct attention_args a)
{
    extern __shared__ uint4 shared[];
    struct tiles tiles;
    tiles.q = (float *)shared;
    tiles.k = tiles.q + QUERIES * ROW;
    tiles.v = tiles.k + KEYS * ROW;
    tiles.weights = tiles.v + KEYS * ROW;
    // Of causal ones the last queries of a head, which see most keys, are begun first.
    const int index = (int)blockIdx.x / a.blocks, turn = (int)blockIdx.x % a.blocks;
    const int first = (a.causal ? a.blocks - 1 - turn : turn) * QUERIES;
    const int seen = keys_of(&a, first + QUERIES - 1);
    const struct head h = head_of(&a, index);
    struct online state[BANDS];
    float o[BANDS][COLUMNS] = {};
#pragma unroll
    for (int i = 0; i < BANDS; i++)
        state[i] = online_none();
    copy_rows<QUERIES, THREADS>(tiles.q, h.q + first * a.pitch, a.pitch, a.seq - first, a.dim);
    copy_tile(&a, h.k, tiles.k, 0, seen);
    copy_tile(&a, h.v, tiles.v, 0, seen);
#pragma unroll 1
    for (int key = 0; key < seen; key += KEYS) {
        float s[BANDS][GROUPS] = {};
        copies_wait<1>(); // all but the values
        __syncthreads();
        multiply_keys(&tiles, s);
        __syncthreads();
        copy_tile(&a, h.k, tiles.k, key + KEYS, seen);
        soften(&a, &tiles, first, key, s, state, o);
        copies_wait<1>(); // all but the next keys
        __syncthreads();
        multiply_values(&tiles, o);
        __syncthreads();
        copy_tile(&a, h.v, tiles.v, key + KEYS, seen);
    }
    store_answers(&a, index, first, h.out + first * a.out_pitch, state, o);
}
