// linear_wgmma.cu: y = act(x_scale * w_scale * (x W^T) + bias) with Hopper's warpgroup products.
//
// x [m, k] and W [n, k] are both stored along k. The grid stays: one block for each SM, or one
// cluster of two blocks for each pair, walks over tiles of y. In a block, one warp asks the copy
// engine for 128 bytes of k of every row of a tile at a time (a step), STAGES steps ahead; two
// warpgroups multiply. A stage is handed over by two barriers: `full` counts the bytes that
// arrived, `empty` the warps that are done with it.
//
// In a cluster, two blocks share what both need: neighbours along m share W (WAVES 1), neighbours
// along n share x (WAVES 2). Each asks for one half and the engine writes it to both, so a stage
// may only be filled again once the warps of both blocks are done with it.
//
// Compile with
//   INPUT       17 bf16, 16 f16, 43 e4m3, 8 s8: the type of x and W
//   ELEMENT     17, 16, 32 (types.cuh): the type of y and bias; not defined: the sums as they are
//   WAVES       1, 2: a warpgroup has 64 * WAVES rows of the tile, the block 128 * WAVES
//   BLOCK_N     64, 128, 192, 256: columns of the tile
//   STAGES      steps in shared memory: STAGES * (128 * WAVES + BLOCK_N) * 128 bytes
//   CLUSTER     1, 2: blocks that share a half of their loads
//   PROMOTE     0, 1: the sums of each step are added up in f32 registers, because the tensor cores
//               add products of 8-bit floats with some 14 bits only
//   ORDER       0, 1: with PROMOTE, whether warpgroups take turns at asking for products, so that one
//               surely adds while the other multiplies
//   SCALES      0 none, 1 one for x and one for each column, 2 for each row and each column
//   BIAS        0, 1
//   ACTIVATION  enum assay_linear_activation
#include "types.cuh"

#ifndef GROUP
#define GROUP 8 // tiles along m that are worked on together
#endif
#ifndef ORDER
#define ORDER 0
#endif

enum {
    STEP = 128, // bytes of k: one swizzle atom
    GROUP_THREADS = 128,
    CONSUMERS = 2,
    THREADS = GROUP_THREADS * (CONSUMERS + 1),
    GROUP_ROWS = 64 * WAVES,
    BLOCK_M = CONSUMERS * GROUP_ROWS,
    X_BYTES = BLOCK_M * STEP,
    W_BYTES = BLOCK_N * STEP,
    STAGE_BYTES = X_BYTES + W_BYTES,
    SHARE_X = CLUSTER == 2 && WAVES == 2,
    SHARE_W = CLUSTER == 2 && WAVES == 1,
    X_PARTS = SHARE_X ? 2 : 1, // of which a block loads one
    W_PARTS = SHARE_W ? 2 : 1,
    TILE_M = BLOCK_M * W_PARTS, // of a cluster
    TILE_N = BLOCK_N * X_PARTS,
    SUMS = BLOCK_N / 2, // 64 x BLOCK_N sums among 128 threads
    ELEMENT_K = INPUT == 16 || INPUT == 17 ? STEP / 2 : STEP, // elements of a step
};

// Made by cuTensorMapEncodeTiled; the copy engine reads it where the parameters lie.
struct __align__(64) tensor_map {
    u64 opaque[16];
};

#if INPUT == 8
typedef int sum_t;
#define SUM_OPERAND "+r"
#else
typedef float sum_t;
#define SUM_OPERAND "+f"
#endif

// ---- barriers and the copy engine ---------------------------------------------------------------

DEVICE void barrier_init(u32 barrier, u32 arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals)
                 : "memory");
}

// Waits for the end of the phase of this parity; of a new barrier, parity 1 counts as ended.
DEVICE void barrier_wait(u32 barrier, u32 parity)
{
    u32 done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}

DEVICE void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                 "r"(bytes)
                 : "memory");
}

// One arrival for this warp, at the barrier of every block of the cluster.
DEVICE void barrier_release(u32 barrier, u32 lane)
{
#if CLUSTER == 2
    if (lane < CLUSTER) {
        u32 there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(barrier), "r"(lane));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there)
                     : "memory");
    }
#else
    if (lane == 0)
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
#endif
}

DEVICE u32 cluster_rank(void)
{
    u32 rank = 0;
#if CLUSTER == 2
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}

// All threads of the cluster; of the block, where it is alone.
DEVICE void cluster_sync(void)
{
#if CLUSTER == 2
    asm volatile("barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;" ::
                     : "memory");
#else
    __syncthreads();
#endif
}

// The box of `map` at (k, row) to `to`, or to the same place in both blocks. What is outside of the
// matrix arrives as zeros, and counts as bytes too. Its end is told to the barrier `full` of each
// block written to.
DEVICE void load_box(u32 to, const struct tensor_map *map, int k, int row, u32 full, bool both)
{
    if (both) {
        const u16 blocks = 3;
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
                     "l"(map), "r"(k), "r"(row), "r"(full), "h"(blocks)
                     : "memory");
    } else {
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                     " [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                     "l"(map), "r"(k), "r"(row), "r"(full)
                     : "memory");
    }
}

// ---- the product --------------------------------------------------------------------------------

// Where a matrix lies in shared memory, for wgmma. Rows are 128 bytes along k, 8 rows are one
// swizzle atom of 1024 bytes, aligned to 1024 (so "base offset", bits 49 to 51, is 0):
//   bits  0..13  address / 16
//   bits 16..29  leading dimension offset / 16: not used where rows along k are one atom wide
//   bits 32..45  stride dimension offset / 16: 1024 bytes from 8 rows to the next 8
//   bits 62..63  1: 128-byte swizzle
// The 16-byte unit at address a is found at a ^ (a / 128 % 8 * 16): the hardware applies this to
// the sum of start and offset, as the copy engine does, so the next 32 bytes of k are 32 bytes on.
DEVICE u64 matrix_at(u32 address)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)1 << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}

enum { DESCRIPTOR_32_BYTES = 32 >> 4 };

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define TEN(t)                                                                                     \
    "%" #t "0,%" #t "1,%" #t "2,%" #t "3,%" #t "4,%" #t "5,%" #t "6,%" #t "7,%" #t "8,%" #t "9,"
#define REGISTERS_30 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," TEN(1) TEN(2)
#define REGISTERS_60 REGISTERS_30 TEN(3) TEN(4) TEN(5)
#define REGISTERS_90 REGISTERS_60 TEN(6) TEN(7) TEN(8)
#define REGISTERS_120 REGISTERS_90 TEN(9) TEN(10) TEN(11)

#define D1(i) SUM_OPERAND(d[i])
#define D8(i)                                                                                      \
    D1(i), D1(i + 1), D1(i + 2), D1(i + 3), D1(i + 4), D1(i + 5), D1(i + 6), D1(i + 7)
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)

#if BLOCK_N == 64
#define REGISTERS REGISTERS_30 "%30,%31"
#define OPERANDS D32(0)
#define MATRIX_X "%32"
#define MATRIX_W "%33"
#define KEEP "%34"
#elif BLOCK_N == 128
#define REGISTERS REGISTERS_60 "%60,%61,%62,%63"
#define OPERANDS D32(0), D32(32)
#define MATRIX_X "%64"
#define MATRIX_W "%65"
#define KEEP "%66"
#elif BLOCK_N == 192
#define REGISTERS REGISTERS_90 "%90,%91,%92,%93,%94,%95"
#define OPERANDS D32(0), D32(32), D32(64)
#define MATRIX_X "%96"
#define MATRIX_W "%97"
#define KEEP "%98"
#else
#define REGISTERS REGISTERS_120 "%120,%121,%122,%123,%124,%125,%126,%127"
#define OPERANDS D32(0), D32(32), D32(64), D32(96)
#define MATRIX_X "%128"
#define MATRIX_W "%129"
#define KEEP "%130"
#endif

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
                 "setp.ne.u32 p, " KEEP ", 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n" TEXT(BLOCK_N) KIND " {" REGISTERS "}, "
                 MATRIX_X ", " MATRIX_W ", p" MODIFIERS ";\n"
                 "}"
                 : OPERANDS
                 : "l"(x), "l"(w), "r"(keep));
}

DEVICE void multiply_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void multiply_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int PENDING> DEVICE void multiply_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// Sums are read only after this: without it the compiler could read them before the wait.
DEVICE void multiply_done(sum_t *d)
{
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        asm volatile("" : SUM_OPERAND(d[i])::"memory");
}

// One step of a wave: 128 bytes of k.
DEVICE void multiply_step(sum_t *d, u64 x, u64 w, u32 keep)
{
#pragma unroll
    for (int i = 0; i < STEP / 32; i++)
        multiply(d, x + i * DESCRIPTOR_32_BYTES, w + i * DESCRIPTOR_32_BYTES, i > 0 ? 1 : keep);
}

// ---- where things are ---------------------------------------------------------------------------

// Shared memory: the stages, each x then W, then `full` and `empty` of each stage.
DEVICE u32 x_of(u32 base, u32 stage) { return base + stage * STAGE_BYTES; }
DEVICE u32 w_of(u32 base, u32 stage) { return base + stage * STAGE_BYTES + X_BYTES; }
DEVICE u32 full_of(u32 base, u32 stage) { return base + STAGES * STAGE_BYTES + stage * 8; }
DEVICE u32 empty_of(u32 base, u32 stage) { return full_of(base, stage) + STAGES * 8; }

// Walks around the ring; the parity changes each time around.
struct ring {
    u32 stage, parity;
};

DEVICE void ring_next(struct ring *ring)
{
    if (++ring->stage == STAGES) {
        ring->stage = 0;
        ring->parity ^= 1;
    }
}

// Tiles go down GROUP of them along m, then on along n: what runs at the same time is about as high
// as wide, and meets in L2.
DEVICE void place_tile(u32 tile, u32 tiles_m, u32 tiles_n, u32 *row, u32 *column)
{
    u32 group = tile / (GROUP * tiles_n), first = group * GROUP;
    u32 height = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    u32 within = tile - first * tiles_n;
    *row = (first + within % height) * TILE_M + (SHARE_W ? cluster_rank() * BLOCK_M : 0);
    *column = within / height * TILE_N + (SHARE_X ? cluster_rank() * BLOCK_N : 0);
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
    return 0.5f * y * (1.0f + erff(y * 0.70710678118654752f));
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
    const float *x_scales, *w_scales;
    const void *bias;
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

// Four threads side by side hold four words each; thread t gets word t of all four.
DEVICE void transpose(u32 *word, u32 lane)
{
    bool odd = lane & 1, upper = lane & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        u32 got = __shfl_xor_sync(~0u, odd ? word[i] : word[i + 1], 1);
        word[i] = odd ? got : word[i];
        word[i + 1] = odd ? word[i + 1] : got;
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u32 got = __shfl_xor_sync(~0u, upper ? word[i] : word[i + 2], 2);
        word[i] = upper ? got : word[i];
        word[i + 2] = upper ? word[i + 2] : got;
    }
}

// word[b]: columns column + 8 b + 2 q and the next, of the thread q of a quad. 16 bytes of each row
// go out at once where rows of y are a multiple of that.
DEVICE void store_row(const struct epilogue *e, u32 row, u32 column, u32 *word, u32 lane)
{
    u32 quad = lane & 3;
    element *y = e->y + (s64)row * e->n;
    if (e->n % 8 == 0) {
        transpose(word, lane);
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

// What the thread of quad `from` with the same place in it holds.
DEVICE float2 passed_on(float2 own, u32 from, u32 place)
{
    return make_float2(__shfl_sync(~0u, own.x, from * 4 + place),
                       __shfl_sync(~0u, own.y, from * 4 + place));
}

// The 64 x BLOCK_N sums of a warpgroup at (row, column). Thread t of it has, of every 8 columns, two
// in two rows: d[4 b + 2 h + i] is row t / 32 * 16 + t % 32 / 4 + 8 h, column 8 b + t % 4 * 2 + i.
DEVICE void finish(const struct epilogue *e, const sum_t *d, u32 row, u32 column)
{
    const u32 thread = threadIdx.x % GROUP_THREADS, lane = thread % 32, quad = lane % 4;
    row += thread / 32 * 16 + lane / 4;
#ifdef ELEMENT
    float x_scale[2] = {1, 1};
    if (SCALES == 1)
        x_scale[0] = x_scale[1] = __ldg(e->x_scales);
    if (SCALES == 2) {
        x_scale[0] = row < e->m ? __ldg(e->x_scales + row) : 0;
        x_scale[1] = row + 8 < e->m ? __ldg(e->x_scales + row + 8) : 0;
    }
    // The 8 threads of a warp with the same columns of every 8 share the loads: each has those of
    // every eighth 8, all asked for at once, and passes them on.
    float2 w_scales[BLOCK_N / 64], biases[BLOCK_N / 64];
#pragma unroll
    for (int i = 0; i < BLOCK_N / 64; i++) {
        u32 at = column + 8 * (lane / 4 + 8 * i) + 2 * quad;
        w_scales[i] = SCALES > 0 ? floats_at(e->w_scales, at, e->n) : make_float2(1, 1);
        biases[i] = BIAS ? elements_at((const element *)e->bias, at, e->n) : make_float2(0, 0);
    }
#endif
#pragma unroll
    for (int block = 0; block < BLOCK_N / 8; block += 4) {
#if ELEMENT == 16 || ELEMENT == 17
        u32 word[2][4];
#endif
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const u32 at = column + 8 * (block + b) + 2 * quad; // 16-bit ones are stored by rows
            const sum_t *sums = d + 4 * (block + b);
            (void)at;
#ifdef ELEMENT
            float2 w_scale = make_float2(1, 1), bias = make_float2(0, 0);
            if (SCALES > 0)
                w_scale = passed_on(w_scales[(block + b) / 8], (block + b) % 8, quad);
            if (BIAS)
                bias = passed_on(biases[(block + b) / 8], (block + b) % 8, quad);
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float low = (float)sums[2 * h], high = (float)sums[2 * h + 1];
                low = activate(low * x_scale[h] * w_scale.x + bias.x);
                high = activate(high * x_scale[h] * w_scale.y + bias.y);
#if ELEMENT == 32
                store_pair(e, row + 8 * h, at, low, high);
#else
                word[h][b] = pack(low, high);
#endif
            }
#else
            store_pair(e, row, at, sums[0], sums[1]);
            store_pair(e, row + 8, at, sums[2], sums[3]);
#endif
        }
#if ELEMENT == 16 || ELEMENT == 17
        store_row(e, row, column + 8 * block, word[0], lane);
        store_row(e, row + 8, column + 8 * block, word[1], lane);
#endif
    }
}

// ---- the two roles ------------------------------------------------------------------------------

struct tiles {
    u32 first, stride, end; // those of this cluster
    u32 along_m, along_n;
    u32 steps; // of k
};

// One thread keeps the ring full.
DEVICE void produce(const struct tiles *tiles, const struct tensor_map *x,
                    const struct tensor_map *w, u32 base)
{
    const u32 rank = cluster_rank();
    const u32 x_part = SHARE_X ? rank : 0, w_part = SHARE_W ? rank : 0;
    struct ring ring = {0, 0};
    for (u32 tile = tiles->first; tile < tiles->end; tile += tiles->stride) {
        u32 row, column;
        place_tile(tile, tiles->along_m, tiles->along_n, &row, &column);
        row += x_part * (BLOCK_M / X_PARTS);
        column += w_part * (BLOCK_N / W_PARTS);
        for (u32 step = 0; step < tiles->steps; step++) {
            u32 full = full_of(base, ring.stage);
            barrier_wait(empty_of(base, ring.stage), ring.parity ^ 1);
            barrier_expect(full, STAGE_BYTES);
            load_box(x_of(base, ring.stage) + x_part * (X_BYTES / X_PARTS), x,
                     (int)(step * ELEMENT_K), (int)row, full, SHARE_X);
            load_box(w_of(base, ring.stage) + w_part * (W_BYTES / W_PARTS), w,
                     (int)(step * ELEMENT_K), (int)column, full, SHARE_W);
            ring_next(&ring);
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
            multiply_step(part, matrix_at(x_of(base, ring->stage) + (rows + 64 * wave) * STEP),
                          matrix_at(w_of(base, ring->stage)), 0);
            multiply_commit();
            turn_pass(warpgroup);
            multiply_wait<0>();
            multiply_done(part);
            if (wave == WAVES - 1)
                barrier_release(empty_of(base, ring->stage), lane);
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sum[wave][i] += part[i];
        }
        ring_next(ring);
    }
}
#else
// All steps in one sum: while one step is multiplied the next is asked for, and the one before is
// given back.
DEVICE void multiply_tile(sum_t (*sum)[SUMS], struct ring *ring, u32 steps, u32 base, u32 rows)
{
    const u32 lane = threadIdx.x % 32;
    u32 before = 0;
    for (u32 step = 0; step < steps; step++) {
        barrier_wait(full_of(base, ring->stage), ring->parity);
        multiply_begin();
#pragma unroll
        for (int wave = 0; wave < WAVES; wave++)
            multiply_step(sum[wave], matrix_at(x_of(base, ring->stage) + (rows + 64 * wave) * STEP),
                          matrix_at(w_of(base, ring->stage)), step > 0);
        multiply_commit();
        multiply_wait<1>();
        if (step > 0)
            barrier_release(empty_of(base, before), lane);
        before = ring->stage;
        ring_next(ring);
    }
    multiply_wait<0>();
#pragma unroll
    for (int wave = 0; wave < WAVES; wave++)
        multiply_done(sum[wave]);
    barrier_release(empty_of(base, before), lane);
}
#endif

DEVICE void consume(const struct tiles *tiles, const struct epilogue *e, u32 base)
{
    const u32 warpgroup = threadIdx.x / GROUP_THREADS - 1;
    const u32 rows = warpgroup * GROUP_ROWS; // of the block's tile
    struct ring ring = {0, 0};
    sum_t sum[WAVES][SUMS];
#if PROMOTE
    if (warpgroup == 1)
        turn_pass(warpgroup);
#endif
    for (u32 tile = tiles->first; tile < tiles->end; tile += tiles->stride) {
        u32 row, column;
        place_tile(tile, tiles->along_m, tiles->along_n, &row, &column);
        multiply_tile(sum, &ring, tiles->steps, base, rows);
#pragma unroll
        for (int wave = 0; wave < WAVES; wave++)
            finish(e, sum[wave], row + rows + 64 * wave, column);
    }
#if PROMOTE
    if (warpgroup == 0)
        turn_take(warpgroup);
#endif
}

// Dynamic shared memory: 1024 + STAGES * (STAGE_BYTES + 16) bytes.
extern "C" __global__ void
#if CLUSTER == 2
    __cluster_dims__(2, 1, 1)
#endif
    __launch_bounds__(THREADS, 1)
        linear_wgmma(const __grid_constant__ struct tensor_map x,
                     const __grid_constant__ struct tensor_map w, y_t *y, const float *x_scales,
                     const float *w_scales, const void *bias, u32 m, u32 n, u32 k)
{
    extern __shared__ u8 shared[];
    u32 base = ((u32)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const u32 tiles_m = (m + TILE_M - 1) / TILE_M, tiles_n = (n + TILE_N - 1) / TILE_N;
    const struct tiles tiles = {
        blockIdx.x / CLUSTER, gridDim.x / CLUSTER, tiles_m * tiles_n, tiles_m, tiles_n,
        (k + ELEMENT_K - 1) / ELEMENT_K,
    };
    if (threadIdx.x == 0) {
        for (u32 stage = 0; stage < STAGES; stage++) {
            barrier_init(full_of(base, stage), 1);
            barrier_init(empty_of(base, stage), CLUSTER * CONSUMERS * GROUP_THREADS / 32);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    cluster_sync();
    if (threadIdx.x < GROUP_THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0)
            produce(&tiles, &x, &w, base);
        __syncwarp();
    } else {
        const struct epilogue e = {y, x_scales, w_scales, bias, m, n};
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        consume(&tiles, &e, base);
    }
    cluster_sync(); // a block that is gone could not take what its neighbour still sends
}
