// wgmma_tiles.cuh: y = act(x_scale * w_scale * (x W^T) + bias) + residual with Hopper's warpgroup
// products, whoever brings x and W: linear_wgmma.cu and conv2d_wgmma.cu say how their rows come to
// shared memory (LOADS), the rest is here. Include types.cuh and kernel_math.cuh first.
//
// x has m rows and W n, both stored along k. The grid is persistent: one block for each SM walks
// over tiles of y. In a block, one warp has the copy engine (TMA) load 128 bytes of k of every row
// of a tile at a time (a step), STAGES steps ahead; two warpgroups multiply. A stage is handed over
// by two barriers: `full` counts the bytes that arrived, `empty` the warps that are done with it.
//
// Where there are fewer tiles than SMs, the SPLIT blocks of a cluster share one: each has a part of
// k, leaves its sums in its own shared memory, and finishes a part of the columns with what all have
// left there. Each cluster has one tile then.
//
// Compile with
//   INPUT       17 bf16, 16 f16, 43 e4m3, 8 s8: the type of x and W
//   ELEMENT     17, 16, 32 (types.cuh): the type of y, bias and residual; not defined: the sums as
//               they are
//   WAVES       1, 2: a warpgroup has 64 * WAVES rows of the tile, the block 128 * WAVES
//   BLOCK_N     64, 96, 128, 160, 192, 256: columns of the tile
//   STAGES      steps in shared memory: STAGES * (128 * WAVES + BLOCK_N) * 128 bytes
//   SPLIT       1, 2, 4: blocks that share a tile; BLOCK_N / SPLIT is a multiple of 32
//   PROMOTE     0, 1: the sums of each step are added up in f32 registers, because the tensor cores
//               add products of 8-bit floats with some 14 bits only
//   ORDER       0, 1: with PROMOTE, whether warpgroups take turns at issuing products, so that one
//               surely adds while the other multiplies
//   SCALES      0 none, 1 one for x and one for each column, 2 for each row and each column, 3 for
//               each row
//   CENTRE      0, 1: x W^T is taken of rows without their mean: mean * w_sums is subtracted
//   BIAS        0, 1
//   ACTIVATION  enum assay_linear_activation
//   RESIDUAL    0, 1
//
// LOADS has the maps `x` and `w`, a type `cursor`, a function at(row, column, step), which gives the
// cursor of a tile's first step, and step(cursor, x, w, full), which loads the step at a cursor,
// signals the barrier `full` at its end, and advances the cursor.
#ifndef ASSAY_WGMMA_TILES_CUH
#define ASSAY_WGMMA_TILES_CUH

#include "wgmma.cuh"

#ifndef GROUP
#define GROUP 8 // tiles along m that are worked on together
#endif
#ifndef ORDER
#define ORDER 0
#endif

enum {
    STEP = 128, // bytes of k: one swizzle atom
    CONSUMERS = 2,
    THREADS = GROUP_THREADS * (CONSUMERS + 1),
    OWN_ROWS = GROUP_ROWS * WAVES, // of a warpgroup
    BLOCK_M = CONSUMERS * OWN_ROWS,
    X_BYTES = BLOCK_M * STEP,
    W_BYTES = BLOCK_N * STEP,
    STAGE_BYTES = X_BYTES + W_BYTES,
    SUMS = BLOCK_N / 2,        // 64 x BLOCK_N sums among 128 threads
    OWN_N = BLOCK_N / SPLIT,   // columns this block finishes
    OWN_SUMS = SUMS / SPLIT,
    ELEMENT_K = INPUT == 16 || INPUT == 17 ? STEP / 2 : STEP, // elements of a step
};

#if INPUT == 8
typedef int sum_t;
#define SUM_OPERAND "+r"
#else
typedef float sum_t;
#define SUM_OPERAND "+f"
#endif

// ---- clusters -----------------------------------------------------------------------------------

DEVICE u32 cluster_rank(void)
{
    u32 rank = 0;
#if SPLIT > 1
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

// All threads of the cluster; of the block, where it is alone.
DEVICE void cluster_sync(void)
{
#if SPLIT > 1
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
#else
    __syncthreads();
#endif
}

// ---- the product --------------------------------------------------------------------------------

// 32 bytes of k. After the predicate come signs of both (floats) and "stored along k" (16 bits).
#if INPUT == 17
#define KIND "k16.f32.bf16.bf16"
#define MODIFIERS ", 1, 1, 0, 0"
#elif INPUT == 16
#define KIND "k16.f32.f16.f16"
#define MODIFIERS ", 1, 1, 0, 0"
#elif INPUT == 43
#define KIND "k32.f32.e4m3.e4m3"
#define MODIFIERS ", 1, 1"
#else
#define KIND "k32.s32.s8.s8"
#define MODIFIERS ""
#endif

// d = x W^T + (keep ? d : 0) for 64 rows of x, BLOCK_N rows of W and 32 bytes of k; it may still be
// running on return.
DEVICE void multiply(sum_t *d, u64 x, u64 w, u32 keep)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, " WGMMA_INPUT(BLOCK_N, 2) ", 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n" WGMMA_TEXT(BLOCK_N) KIND
                 " {" WGMMA_REGISTERS(BLOCK_N) "}, " WGMMA_INPUT(BLOCK_N, 0) ", "
                 WGMMA_INPUT(BLOCK_N, 1) ", p" MODIFIERS ";\n"
                 "}"
                 : WGMMA_SUMS(BLOCK_N, SUM_OPERAND, d)
                 : "l"(x), "l"(w), "r"(keep));
}

// One step of a wave: 128 bytes of k.
DEVICE void multiply_step(sum_t *d, u64 x, u64 w, u32 keep)
{
#pragma unroll
    for (int i = 0; i < STEP / 32; i++)
        multiply(d, x + matrix_further(32 * i), w + matrix_further(32 * i), i > 0 ? 1 : keep);
}

// ---- where things are ---------------------------------------------------------------------------

// Shared memory: the stages, each x then W, then `full` and `empty` of each stage.
DEVICE u32 x_of(u32 base, u32 stage) { return base + stage * STAGE_BYTES; }
DEVICE u32 w_of(u32 base, u32 stage) { return base + stage * STAGE_BYTES + X_BYTES; }
DEVICE u32 full_of(u32 base, u32 stage) { return base + STAGES * STAGE_BYTES + stage * 8; }
DEVICE u32 empty_of(u32 base, u32 stage) { return full_of(base, stage) + STAGES * 8; }

// The rows of x that a wave of a warpgroup multiplies, which has those from `rows` on.
DEVICE u32 wave_of(u32 base, u32 stage, u32 rows, u32 wave)
{
    return x_of(base, stage) + (rows + GROUP_ROWS * wave) * STEP;
}

// Tiles go down GROUP of them along m, then on along n: what runs at the same time is about as high
// as wide, and meets in L2.
DEVICE void place_tile(u32 tile, u32 tiles_m, u32 tiles_n, u32 *row, u32 *column)
{
    u32 group = tile / (GROUP * tiles_n), first = group * GROUP;
    u32 height = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    u32 within = tile - first * tiles_n;
    *row = (first + within % height) * BLOCK_M;
    *column = within / height * BLOCK_N;
}

// ---- sums to y ----------------------------------------------------------------------------------

#ifdef ELEMENT
typedef element y_t;

DEVICE float activate(float y)
{
#if ACTIVATION == 1
    return 1.0f / (1.0f + expf(-y));
#elif ACTIVATION == 2
    return y < 0 ? 0 : y;
#elif ACTIVATION == 3
    return y > 0 ? y : 0.01f * y;
#elif ACTIVATION == 4
    return y > 6 ? 6 : y < 0 ? 0 : y;
#elif ACTIVATION == 5
    return gelu(y);
#elif ACTIVATION == 6
    return y / (1.0f + expf(-y));
#elif ACTIVATION == 7
    return y <= -3 ? 0 : y >= 3 ? y : y * (y + 3) * (1.0f / 6);
#else
    return y;
#endif
}

// Two neighbours of a vector of n floats; 0 for what is not there. `at` is even.
DEVICE float2 floats_at(const float *vector, u32 at, u32 n)
{
    if (at + 1 < n)
        return __ldg((const float2 *)(vector + at));
    return make_float2(at < n ? __ldg(vector + at) : 0, 0);
}

DEVICE float2 elements_at(const element *vector, u32 at, u32 n)
{
    return make_float2(at < n ? element_get(__ldg(vector + at)) : 0,
                       at + 1 < n ? element_get(__ldg(vector + at + 1)) : 0);
}
#else
typedef sum_t y_t;
#endif

struct epilogue {
    y_t *y;
    const float *x_scales, *w_scales, *x_means, *w_sums;
    const void *bias;
    const y_t *residual;
    u32 m, n;
};

#if ELEMENT == 16 || ELEMENT == 17
DEVICE u32 pack(float low, float high)
{
#if ELEMENT == 16
    return f16x2_from_floats(low, high);
#else
    return bf16x2_from_floats(low, high);
#endif
}

// word[b]: columns column + 8 b + 2 q and the next, of the thread q of a quad. 16 bytes of each row
// go out at once where rows of y are a multiple of that.
DEVICE void store_row(const struct epilogue *e, u32 row, u32 column, u32 *word, u32 lane)
{
    u32 quad = lane & 3;
    element *y = e->y + (s64)row * e->n;
    if (e->n % 8 == 0) {
        quad_transpose(word, lane);
        u32 first = column + 8 * quad;
        if (row < e->m && first < e->n)
            asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(y + first),
                         "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]));
        return;
    }
#pragma unroll
    for (int b = 0; b < 4; b++) {
        u32 first = column + 8 * b + 2 * quad;
        if (row < e->m && first < e->n)
            y[first] = (u16)word[b];
        if (row < e->m && first + 1 < e->n)
            y[first + 1] = (u16)(word[b] >> 16);
    }
}
#else
// Pairs of 4 bytes: a quad writes 32 bytes, a whole sector.
DEVICE void store_pair(const struct epilogue *e, u32 row, u32 column, y_t low, y_t high)
{
    y_t *to = e->y + (s64)row * e->n + column;
    if (row >= e->m || column >= e->n)
        return;
    if (e->n % 2 == 0) {
        struct __align__(8) pair {
            y_t low, high;
        } both = {low, high};
        *(struct pair *)to = both;
        return;
    }
    to[0] = low;
    if (column + 1 < e->n)
        to[1] = high;
}
#endif

#if RESIDUAL
// The residual of 32 columns of two rows 8 apart, as the sums lie: pair b of row h is that of columns
// 8 b + 2 q and the next, of the thread q of a quad. It is loaded some 32 columns ahead.
#if ELEMENT == 32
struct residual {
    float2 pair[2][4];
};

DEVICE void residual_load(const struct epilogue *e, u32 row, u32 column, u32 lane,
                         struct residual *r)
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const u32 h = i / 4, b = i % 4, at = column + 8 * b + 2 * (lane & 3);
        const float *from = e->residual + (s64)(row + 8 * h) * e->n + at;
        const bool first = row + 8 * h < e->m && at < e->n, second = first && at + 1 < e->n;
        if (e->n % 2 == 0)
            r->pair[h][b] = first ? *(const float2 *)from : make_float2(0, 0);
        else
            r->pair[h][b] = make_float2(first ? from[0] : 0, second ? from[1] : 0);
    }
}

DEVICE void residual_sort(const struct epilogue *, u32, struct residual *) {}

DEVICE float2 residual_of(const struct residual *r, int h, int b) { return r->pair[h][b]; }
#else
struct residual {
    u32 word[2][4];
};

// 16 bytes of a row at once where store_row does so.
DEVICE void residual_load(const struct epilogue *e, u32 row, u32 column, u32 lane,
                         struct residual *r)
{
#pragma unroll
    for (int h = 0; h < 2; h++, row += 8) {
        const element *from = e->residual + (s64)row * e->n;
        if (e->n % 8 == 0) {
            const u32 first = column + 8 * (lane & 3);
            const bool wanted = row < e->m && first < e->n;
            const uint4 v = wanted ? *(const uint4 *)(from + first) : make_uint4(0, 0, 0, 0);
            r->word[h][0] = v.x, r->word[h][1] = v.y, r->word[h][2] = v.z, r->word[h][3] = v.w;
            continue;
        }
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const u32 first = column + 8 * b + 2 * (lane & 3);
            const u32 low = row < e->m && first < e->n ? from[first] : 0;
            const u32 high = row < e->m && first + 1 < e->n ? from[first + 1] : 0;
            r->word[h][b] = low | high << 16;
        }
    }
}

DEVICE void residual_sort(const struct epilogue *e, u32 lane, struct residual *r)
{
    if (e->n % 8 == 0) {
        quad_transpose(r->word[0], lane);
        quad_transpose(r->word[1], lane);
    }
}

DEVICE float2 residual_of(const struct residual *r, int h, int b)
{
    return make_float2(element_get((u16)r->word[h][b]), element_get((u16)(r->word[h][b] >> 16)));
}
#endif
#endif

// The residual of the first columns of 64 x N sums, which is loaded before they are multiplied: as
// much as there are registers for.
template <int N> struct ahead {
#if RESIDUAL
    enum { ROOM = ELEMENT == 32 ? 2 : 4, COUNT = N / 32 < ROOM ? N / 32 : ROOM };
    struct residual residual[COUNT];
#endif
};

template <int N>
DEVICE void ahead_load(const struct epilogue *e, u32 row, u32 column, struct ahead<N> *ahead)
{
#if RESIDUAL
    const u32 thread = threadIdx.x % GROUP_THREADS, lane = thread % 32;
#pragma unroll
    for (int i = 0; i < ahead->COUNT; i++)
        residual_load(e, row + thread / 32 * 16 + lane / 4, column + 32 * i, lane,
                     &ahead->residual[i]);
#endif
}

#ifdef ELEMENT
// What the thread of quad `from` with the same position in it holds.
DEVICE float2 passed_on(float2 own, u32 from, u32 position)
{
    return make_float2(__shfl_sync(~0u, own.x, from * 4 + position),
                       __shfl_sync(~0u, own.y, from * 4 + position));
}

// What the columns of a warp's sums have in common. The 8 threads of a warp with the same columns of
// every 8 share the loads: each has those of every eighth 8, all loaded at once, and passes them
// on.
template <int N> struct columns {
    float2 scales[(N + 63) / 64], sums[(N + 63) / 64], biases[(N + 63) / 64];
};

template <int N>
DEVICE void columns_load(const struct epilogue *e, u32 column, u32 lane, struct columns<N> *c)
{
#pragma unroll
    for (int i = 0; i < (N + 63) / 64; i++) {
        u32 at = column + 8 * (lane / 4 + 8 * i) + 2 * (lane % 4);
        c->scales[i] =
            SCALES == 1 || SCALES == 2 ? floats_at(e->w_scales, at, e->n) : make_float2(1, 1);
        c->sums[i] = CENTRE ? floats_at(e->w_sums, at, e->n) : make_float2(0, 0);
        c->biases[i] =
            BIAS ? elements_at((const element *)e->bias, at, e->n) : make_float2(0, 0);
    }
}

// Those of one pair of columns, of the 8 numbered `block`.
struct pair_columns {
    float2 scale, sum, bias;
};

template <int N>
DEVICE struct pair_columns columns_of(const struct columns<N> *c, int block, u32 quad)
{
    struct pair_columns p = {make_float2(1, 1), make_float2(0, 0), make_float2(0, 0)};
    if (SCALES == 1 || SCALES == 2)
        p.scale = passed_on(c->scales[block / 8], block % 8, quad);
    if (CENTRE)
        p.sum = passed_on(c->sums[block / 8], block % 8, quad);
    if (BIAS)
        p.bias = passed_on(c->biases[block / 8], block % 8, quad);
    return p;
}

DEVICE float output(float sum, float x_scale, float x_mean, float w_scale, float w_sum, float bias)
{
    if (CENTRE)
        sum = fmaf(-x_mean, w_sum, sum);
    return activate(sum * x_scale * w_scale + bias);
}

DEVICE float row_float(const float *rows, u32 row, u32 m)
{
    return row < m ? __ldg(rows + row) : 0;
}

// 64 x N sums of a warpgroup at (row, column). Thread t of it has, of every 8 columns, two in two
// rows: d[4 b + 2 h + i] is row t / 32 * 16 + t % 32 / 4 + 8 h, column 8 b + t % 4 * 2 + i.
template <int N>
DEVICE void finish(const struct epilogue *e, const sum_t *d, u32 row, u32 column,
                   struct ahead<N> *ahead)
{
    const u32 thread = threadIdx.x % GROUP_THREADS, lane = thread % 32, quad = lane % 4;
    row += thread / 32 * 16 + lane / 4;
    float x_scale[2] = {1, 1}, x_mean[2] = {0, 0};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (SCALES == 1)
            x_scale[h] = __ldg(e->x_scales);
        if (SCALES >= 2)
            x_scale[h] = row_float(e->x_scales, row + 8 * h, e->m);
        if (CENTRE)
            x_mean[h] = row_float(e->x_means, row + 8 * h, e->m);
    }
    struct columns<N> columns;
    columns_load<N>(e, column, lane, &columns);
#pragma unroll
    for (int block = 0; block < N / 8; block += 4) {
#if ELEMENT != 32
        u32 word[2][4];
#endif
#if RESIDUAL
        struct residual *r = &ahead->residual[block / 4 % ahead->COUNT];
        residual_sort(e, lane, r);
#endif
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const struct pair_columns c = columns_of<N>(&columns, block + b, quad);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const sum_t *sums = d + 4 * (block + b) + 2 * h;
                float low = output((float)sums[0], x_scale[h], x_mean[h], c.scale.x, c.sum.x,
                                   c.bias.x);
                float high = output((float)sums[1], x_scale[h], x_mean[h], c.scale.y, c.sum.y,
                                    c.bias.y);
#if RESIDUAL
                const float2 more = residual_of(r, h, b);
                low += more.x;
                high += more.y;
#endif
#if ELEMENT == 32
                store_pair(e, row + 8 * h, column + 8 * (block + b) + 2 * quad, low, high);
#else
                word[h][b] = pack(low, high);
#endif
            }
        }
#if RESIDUAL
        if (block / 4 + ahead->COUNT < N / 32)
            residual_load(e, row, column + 8 * block + 32 * ahead->COUNT, lane, r);
#endif
#if ELEMENT != 32
        store_row(e, row, column + 8 * block, word[0], lane);
        store_row(e, row + 8, column + 8 * block, word[1], lane);
#endif
    }
}
#else
template <int N>
DEVICE void finish(const struct epilogue *e, const sum_t *d, u32 row, u32 column, struct ahead<N> *)
{
    const u32 thread = threadIdx.x % GROUP_THREADS, lane = thread % 32;
    row += thread / 32 * 16 + lane / 4;
#pragma unroll
    for (int block = 0; block < N / 8; block++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            store_pair(e, row + 8 * h, column + 8 * block + 2 * (lane % 4), d[4 * block + 2 * h],
                       d[4 * block + 2 * h + 1]);
}
#endif

// ---- one tile shared by a cluster ---------------------------------------------------------------

#if SPLIT > 1
// The sums of a thread lie four by four, all threads' first fours first, where the stages were.
DEVICE u32 left_at(u32 base, u32 four)
{
    enum { BLOCK_THREADS = CONSUMERS * GROUP_THREADS };
    return base + 16 * (four * BLOCK_THREADS + threadIdx.x - GROUP_THREADS);
}

#if INPUT == 8
DEVICE u32 sum_bits(sum_t sum) { return (u32)sum; }
DEVICE sum_t sum_from(u32 bits) { return (int)bits; }
#else
DEVICE u32 sum_bits(sum_t sum) { return __float_as_uint(sum); }
DEVICE sum_t sum_from(u32 bits) { return __uint_as_float(bits); }
#endif

// Both warpgroups must be done with the stages, which named barrier 3 waits for.
DEVICE void leave_sums(const sum_t *sum, u32 base)
{
    asm volatile("bar.sync 3, 256;" ::: "memory");
#pragma unroll
    for (int i = 0; i < WAVES * SUMS; i += 4)
        asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(left_at(base, i / 4)),
                     "r"(sum_bits(sum[i])), "r"(sum_bits(sum[i + 1])), "r"(sum_bits(sum[i + 2])),
                     "r"(sum_bits(sum[i + 3]))
                     : "memory");
}

// What all blocks left of this block's columns of a wave, added up in the same order everywhere.
DEVICE void gather_sums(sum_t *own, u32 wave, u32 base)
{
    const u32 first = (wave * SUMS + cluster_rank() * OWN_SUMS) / 4;
#pragma unroll
    for (int i = 0; i < OWN_SUMS; i++)
        own[i] = 0;
#pragma unroll
    for (u32 block = 0; block < SPLIT; block++)
#pragma unroll
        for (int i = 0; i < OWN_SUMS; i += 4) {
            u32 there, v[4];
            asm("mapa.shared::cluster.u32 %0, %1, %2;"
                : "=r"(there)
                : "r"(left_at(base, first + i / 4)), "r"(block));
            asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                         : "r"(there)
                         : "memory");
#pragma unroll
            for (int j = 0; j < 4; j++)
                own[i + j] += sum_from(v[j]);
        }
}
#endif

// ---- the two roles ------------------------------------------------------------------------------

struct tiles {
    u32 first, stride, end; // those of this block, or cluster
    u32 along_m, along_n;
    u32 step_first, step_end; // this block's part of k
};

#if RESIDUAL
// Prefetches a tile's residual into L2 before the tile is multiplied, by all threads that multiply.
// Not by the copy engine: it is busy with operands.
DEVICE void prefetch_residual(const struct epilogue *e, u32 row, u32 column)
{
    enum { LINE = 128 / sizeof(y_t), LINES = (OWN_N + LINE - 1) / LINE };
    for (u32 i = threadIdx.x - GROUP_THREADS; i < BLOCK_M * LINES; i += CONSUMERS * GROUP_THREADS) {
        const u32 r = row + i / LINES, c = column + i % LINES * LINE;
        if (r < e->m && c < e->n)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(e->residual + (s64)r * e->n + c));
    }
}
#endif

// The producer: one thread keeps the ring full. `loads` has both operands of a step copied.
template <class LOADS>
DEVICE void produce(const struct tiles *tiles, const LOADS &loads, u32 base)
{
    struct ring ring = {0, 0};
    for (u32 tile = tiles->first; tile < tiles->end; tile += tiles->stride) {
        u32 row, column;
        place_tile(tile, tiles->along_m, tiles->along_n, &row, &column);
        typename LOADS::cursor cursor = loads.at(row, column, tiles->step_first);
        for (u32 step = tiles->step_first; step < tiles->step_end; step++) {
            u32 full = full_of(base, ring.stage);
            barrier_wait(empty_of(base, ring.stage), ring.parity ^ 1);
            barrier_expect(full, STAGE_BYTES);
            loads.step(&cursor, x_of(base, ring.stage), w_of(base, ring.stage), full);
            ring_next(&ring, STAGES);
        }
    }
}

#if PROMOTE
// Turns, as named barriers 1 and 2: a warpgroup waits at its own, and passes on by arriving at the
// other's. Warpgroup 1 passes once before all, and warpgroup 0 takes the turn once after all.
DEVICE void turn_take(u32 warpgroup)
{
    if (ORDER)
        asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory");
}

DEVICE void turn_pass(u32 warpgroup)
{
    if (ORDER)
        asm volatile("bar.arrive %0, 256;" ::"r"(2 - warpgroup) : "memory");
}

// The sums of one step at a time, then added up: one warpgroup adds while the other multiplies.
DEVICE void multiply_tile(sum_t (*sum)[SUMS], struct ring *ring, u32 steps, u32 base, u32 rows)
{
    const u32 lane = threadIdx.x % 32, warpgroup = threadIdx.x / GROUP_THREADS - 1;
    sum_t part[SUMS];
#pragma unroll
    for (int i = 0; i < WAVES * SUMS; i++)
        sum[i / SUMS][i % SUMS] = 0;
    for (u32 step = 0; step < steps; step++) {
        barrier_wait(full_of(base, ring->stage), ring->parity);
#pragma unroll
        for (int wave = 0; wave < WAVES; wave++) {
            turn_take(warpgroup);
            multiply_begin();
            multiply_step(part, matrix_at(wave_of(base, ring->stage, rows, wave)),
                          matrix_at(w_of(base, ring->stage)), 0);
            multiply_commit();
            turn_pass(warpgroup);
            multiply_wait<0>();
            registers_settle<SUMS>(part);
            if (wave == WAVES - 1)
                barrier_release(empty_of(base, ring->stage), lane);
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sum[wave][i] += part[i];
        }
        ring_next(ring, STAGES);
    }
}
#else
// All steps in one sum: while one step is multiplied the next is issued, and the one before is
// released.
DEVICE void multiply_tile(sum_t (*sum)[SUMS], struct ring *ring, u32 steps, u32 base, u32 rows)
{
    const u32 lane = threadIdx.x % 32;
    u32 before = 0;
    for (u32 step = 0; step < steps; step++) {
        barrier_wait(full_of(base, ring->stage), ring->parity);
        multiply_begin();
#pragma unroll
        for (int wave = 0; wave < WAVES; wave++)
            multiply_step(sum[wave], matrix_at(wave_of(base, ring->stage, rows, wave)),
                          matrix_at(w_of(base, ring->stage)), step > 0);
        multiply_commit();
        multiply_wait<1>();
        if (step > 0)
            barrier_release(empty_of(base, before), lane);
        before = ring->stage;
        ring_next(ring, STAGES);
    }
    multiply_wait<0>();
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++)
        registers_settle<SUMS>(sum[wave]);
    barrier_release(empty_of(base, before), lane);
}
#endif

DEVICE void consume(const struct tiles *tiles, const struct epilogue *e, u32 base)
{
    const u32 warpgroup = threadIdx.x / GROUP_THREADS - 1;
    const u32 rows = warpgroup * OWN_ROWS; // of the block's tile
    struct ring ring = {0, 0};
    sum_t sum[WAVES][SUMS];
#if PROMOTE
    if (warpgroup == 1)
        turn_pass(warpgroup);
#endif
    for (u32 tile = tiles->first; tile < tiles->end; tile += tiles->stride) {
        u32 row, column;
        place_tile(tile, tiles->along_m, tiles->along_n, &row, &column);
        const u32 own_column = column + cluster_rank() * OWN_N;
        struct ahead<OWN_N> ahead;
#if RESIDUAL
        prefetch_residual(e, row, own_column);
#endif
        if (!PROMOTE) // which has no registers left
            ahead_load(e, row + rows, own_column, &ahead);
        multiply_tile(sum, &ring, tiles->step_end - tiles->step_first, base, rows);
#if SPLIT > 1
        leave_sums(&sum[0][0], base);
        cluster_sync();
#endif
#pragma unroll
        for (int wave = 0; wave < WAVES; wave++) {
#if SPLIT > 1
            sum_t own[OWN_SUMS];
            gather_sums(own, wave, base);
#else
            const sum_t *own = sum[wave];
#endif
            if (PROMOTE || wave > 0)
                ahead_load(e, row + rows + GROUP_ROWS * wave, own_column, &ahead);
            finish(e, own, row + rows + GROUP_ROWS * wave, own_column, &ahead);
        }
    }
#if PROMOTE
    if (warpgroup == 0)
        turn_take(warpgroup);
#endif
}

// What a kernel does, with `steps` steps of k. Dynamic shared memory: 1024 + STAGES * (STAGE_BYTES
// + 16) bytes. With SPLIT the grid has as many clusters as there are tiles, and k at least SPLIT
// steps.
template <class LOADS>
DEVICE void multiply_tiles(const LOADS &loads, u32 steps, const struct epilogue &e)
{
    extern __shared__ u8 shared[];
    u32 base = ((u32)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const u32 tiles_m = (e.m + BLOCK_M - 1) / BLOCK_M, tiles_n = (e.n + BLOCK_N - 1) / BLOCK_N;
    const u32 rank = cluster_rank();
    const struct tiles tiles = {
        blockIdx.x / SPLIT,   gridDim.x / SPLIT,          tiles_m * tiles_n, tiles_m, tiles_n,
        rank * steps / SPLIT, (rank + 1) * steps / SPLIT,
    };
    if (threadIdx.x == 0) {
        map_prefetch(loads.x);
        map_prefetch(loads.w);
        for (u32 stage = 0; stage < STAGES; stage++) {
            barrier_init(full_of(base, stage), 1);
            barrier_init(empty_of(base, stage), CONSUMERS * GROUP_THREADS / 32);
        }
        barriers_ready();
    }
    __syncthreads();
    if (threadIdx.x < GROUP_THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            produce(&tiles, loads, base);
        __syncwarp();
        if (SPLIT > 1)
            cluster_sync(); // the one all consumers wait at
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(&tiles, &e, base);
    }
    if (SPLIT > 1)
        cluster_sync(); // the sums of a block that is gone could not be read
}

// How such a kernel is declared.
#if SPLIT > 1
#define TILES_KERNEL                                                                               \
    extern "C" __global__ void __cluster_dims__(SPLIT, 1, 1) __launch_bounds__(THREADS, 1)
#else
#define TILES_KERNEL extern "C" __global__ void __launch_bounds__(THREADS, 1)
#endif

#endif
