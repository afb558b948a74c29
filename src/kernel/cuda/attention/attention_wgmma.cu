// attention_wgmma.cu: softmax(q k^T / sqrt(dim)) v for f16 and bf16 with Hopper's warpgroup products,
// in one pass. Scores never leave registers, and are f32 there; exponentials are rounded to the
// input's type and are, as registers, the first operand of the second product.
//
// The grid is persistent: one block for each SM walks over pieces, each QUERIES queries of a head.
// In a block, one thread has the copy engine (TMA) load q and, KEYS positions at a time, k and v,
// which go through a ring of STAGES tiles in the order k0 k1 v0 k2 v1 … k(n-1) v(n-2) v(n-1).
// CONSUMERS warpgroups have 64 queries each. While a warpgroup takes exponentials, the tensor cores
// have its product of those before and v to do, and the products of the other warpgroups.
//
// Compile with -DELEMENT=16, 17, -DVECTOR=1, -DDIM=64, 128: dim itself; and
//   KEYS       64, 96, 128, 192, 256 as far as registers go
//   CONSUMERS  2, 4
//   STAGES     at least 3: 1024 + (64 * CONSUMERS + STAGES * KEYS) * DIM * 2 + 16 * (STAGES + 1)
//              bytes of shared memory
#include "attention_mma.cuh"
#include "wgmma.cuh"

enum {
    THREADS = GROUP_THREADS * (CONSUMERS + 1),
    QUERIES = GROUP_ROWS * CONSUMERS,
    ROW_BYTES = 128, // one swizzle atom: 64 columns, a slab
    SLABS = DIM / 64,
    Q_SLAB = QUERIES * ROW_BYTES,
    TILE_SLAB = KEYS * ROW_BYTES,
    Q_BYTES = SLABS * Q_SLAB,
    TILE_BYTES = SLABS * TILE_SLAB, // of k or v
    SCORES = KEYS / 2,              // of a thread: 64 x KEYS among 128
    SUMS = DIM / 2,
    OPERANDS = KEYS / 4, // registers with two exponentials each
};

// ---- products -----------------------------------------------------------------------------------

#if ELEMENT == 17
#define KIND "k16.f32.bf16.bf16"
#else
#define KIND "k16.f32.f16.f16"
#endif

// q in registers: less is read from shared memory, and q of the next piece can come at once.
#define KEEP_Q (CONSUMERS == 2)

// Operands: N / 2 sums, four registers with 64 x 16 of the first matrix, the second matrix, keep.
// The second lies along what is summed over, or, TRANSPOSED "1", across.
#define MULTIPLY_REGISTERS(N, TRANSPOSED)                                                          \
    "{\n"                                                                                          \
    ".reg .pred p;\n"                                                                              \
    "setp.ne.u32 p, " WGMMA_INPUT(N, 5) ", 0;\n"                                                   \
    "wgmma.mma_async.sync.aligned.m64n" WGMMA_TEXT(N) KIND " {" WGMMA_REGISTERS(N) "}, {"          \
    WGMMA_INPUT(N, 0) ", " WGMMA_INPUT(N, 1) ", " WGMMA_INPUT(N, 2) ", " WGMMA_INPUT(N, 3) "}, "   \
    WGMMA_INPUT(N, 4) ", p, 1, 1, " TRANSPOSED ";\n"                                               \
    "}"

// s = q k^T + (keep ? s : 0) of 16 columns. Products may still be running on return.
#if KEEP_Q
DEVICE void multiply_keys(float *s, const u32 *q, u64 k, u32 keep)
{
    asm volatile(MULTIPLY_REGISTERS(KEYS, "0")
                 : WGMMA_SUMS(KEYS, "+f", s)
                 : "r"(q[0]), "r"(q[1]), "r"(q[2]), "r"(q[3]), "l"(k), "r"(keep));
}
#else
DEVICE void multiply_keys(float *s, u64 q, u64 k, u32 keep)
{
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, " WGMMA_INPUT(KEYS, 2) ", 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n" WGMMA_TEXT(KEYS) KIND
                 " {" WGMMA_REGISTERS(KEYS) "}, " WGMMA_INPUT(KEYS, 0) ", " WGMMA_INPUT(KEYS, 1)
                 ", p, 1, 1, 0, 0;\n"
                 "}"
                 : WGMMA_SUMS(KEYS, "+f", s)
                 : "l"(q), "l"(k), "r"(keep));
}
#endif

// o = p v + (keep ? o : 0) of 16 keys.
DEVICE void multiply_values(float *o, const u32 *p, u64 v, u32 keep)
{
    asm volatile(MULTIPLY_REGISTERS(DIM, "1")
                 : WGMMA_SUMS(DIM, "+f", o)
                 : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(v), "r"(keep));
}

// 64 rows of q, for all tiles of keys.
struct queries {
#if KEEP_Q
    u32 kept[DIM / 16][4];
#else
    u32 at; // in shared memory
#endif
};

// From `at` in shared memory, where they are not needed any longer if they are kept.
DEVICE void queries_init(struct queries *q, u32 at)
{
#if KEEP_Q
    const u32 row = threadIdx.x % GROUP_THREADS / 32 * 16 + threadIdx.x % 16;
#pragma unroll
    for (int step = 0; step < DIM / 16; step++) {
        const u32 chunk = step % 4 * 2 + threadIdx.x % 32 / 16;
        load_matrices(q->kept[step], at + step / 4 * Q_SLAB + row * ROW_BYTES +
                                         (chunk ^ row % 8) * 16); // see matrix_across
    }
    registers_settle<DIM / 4>(q->kept[0]);
    __syncwarp(); // one lane says for all that q has been read
#else
    q->at = at;
#endif
}

// Their scores with a tile of keys.
DEVICE void ask_scores(float *s, const struct queries *q, u32 tile)
{
#pragma unroll
    for (int step = 0; step < DIM / 16; step++) {
        const u32 slab = step / 4, column = step % 4 * 32;
        const u64 k = matrix_at(tile) + matrix_further(slab * TILE_SLAB + column);
#if KEEP_Q
        multiply_keys(s, q->kept[step], k, step > 0);
#else
        multiply_keys(s, matrix_at(q->at) + matrix_further(slab * Q_SLAB + column), k, step > 0);
#endif
    }
    multiply_commit();
}

// Their exponentials times a tile of values, added to o if `keep`.
DEVICE void ask_answers(float *o, const u32 *p, u32 tile, u32 keep)
{
#pragma unroll
    for (int step = 0; step < KEYS / 16; step++)
        multiply_values(o, p + 4 * step,
                        matrix_across(tile, TILE_SLAB) + matrix_further(step * 16 * ROW_BYTES),
                        step > 0 ? 1 : keep);
    multiply_commit();
}

// ---- where things are ---------------------------------------------------------------------------

// Shared memory: q, the tiles, `full` and `empty` of each, then those of q.
DEVICE u32 tile_of(u32 base, u32 stage) { return base + Q_BYTES + stage * TILE_BYTES; }
DEVICE u32 full_of(u32 base, u32 stage) { return tile_of(base, STAGES) + stage * 16; }
DEVICE u32 empty_of(u32 base, u32 stage) { return full_of(base, stage) + 8; }
DEVICE u32 q_full_of(u32 base) { return full_of(base, STAGES); }
DEVICE u32 q_empty_of(u32 base) { return empty_of(base, STAGES); }

// What a block does at a time.
struct piece {
    int head; // of all batches
    int first, tiles;
};

// The pieces of a block. Where it is causal they come in pairs, the last queries of a head with the
// first, the last but one with the second: each pair has about as many keys to go through.
struct pieces {
    const struct attention_args *a;
    int of_head; // pairs, or pieces that are alone
    int at;      // the one in hand
    bool second; // of its pieces the first is done
};

DEVICE struct pieces pieces_of(const struct attention_args *a)
{
    const bool paired = a->causal && (int)gridDim.x < a->batch_heads * a->blocks;
    return {a, paired ? (a->blocks + 1) / 2 : a->blocks, (int)blockIdx.x, false};
}

// Pieces of a head are worked on at about the same time, so that its keys meet in L2.
DEVICE bool pieces_next(struct pieces *p, struct piece *out)
{
    const struct attention_args *a = p->a;
    if (p->at >= p->of_head * a->batch_heads)
        return false;
    const int near = p->at % p->of_head, far = a->blocks - 1 - near;
    const bool first = p->of_head < a->blocks && far != near && !p->second;
    out->head = p->at / p->of_head;
    out->first = (first ? far : near) * QUERIES;
    out->tiles = (keys_of(a, out->first + QUERIES - 1) + KEYS - 1) / KEYS;
    p->second = first;
    if (!first)
        p->at += (int)gridDim.x;
    return true;
}

// ---- the two roles ------------------------------------------------------------------------------

struct maps {
    const struct tensor_map *q, *k, *v;
};

// Rows of a head from `row` on, slab by slab.
DEVICE void load_rows(const struct attention_args *a, const struct tensor_map *map, u32 to,
                      u32 slab_bytes, int head, int row, u32 full)
{
    barrier_expect(full, SLABS * slab_bytes);
#pragma unroll
    for (int slab = 0; slab < SLABS; slab++)
        load_box(to + slab * slab_bytes, map, slab * 64, head % a->heads, row, head / a->heads,
                 full);
}

DEVICE void load_tile(const struct attention_args *a, const struct tensor_map *map, int head,
                      int tile, struct ring *ring, u32 base)
{
    barrier_wait(empty_of(base, ring->stage), ring->parity ^ 1);
    load_rows(a, map, tile_of(base, ring->stage), TILE_SLAB, head, tile * KEYS,
              full_of(base, ring->stage));
    ring_next(ring, STAGES);
}

// The producer: one thread keeps the ring full.
DEVICE void produce(const struct maps *maps, struct pieces pieces, u32 base)
{
    struct ring ring = {0, 0};
    struct piece piece;
    u32 parity = 1;
    while (pieces_next(&pieces, &piece)) {
        barrier_wait(q_empty_of(base), parity);
        parity ^= 1;
        load_rows(pieces.a, maps->q, base, Q_SLAB, piece.head, piece.first, q_full_of(base));
        for (int tile = 0; tile < piece.tiles; tile++) {
            load_tile(pieces.a, maps->k, piece.head, tile, &ring, base);
            if (tile > 0)
                load_tile(pieces.a, maps->v, piece.head, tile - 1, &ring, base);
        }
        load_tile(pieces.a, maps->v, piece.head, piece.tiles - 1, &ring, base);
    }
}

// Of the thread's two rows, those from `row` on of the head, 32 columns at a time.
DEVICE void store_answers(const struct attention_args *a, int head, int row,
                          const struct online state[2], const float o[DIM / 8][4])
{
    const struct head h = head_of(a, head);
    const u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float sum = lanes_reduce<plus>(state[half].sum, 4), factor = 1.0f / sum;
        save_lse(a, head, row + 8 * half, state[half].shift, sum, lane % 4 == 0);
        element *out = h.out + (row + 8 * half) * a->out_pitch + lane % 4 * 8;
#pragma unroll
        for (int j = 0; j < DIM / 8; j += 4) {
            u32 word[4];
#pragma unroll
            for (int i = 0; i < 4; i++)
                word[i] = mma_pair(o[j + i][2 * half] * factor, o[j + i][2 * half + 1] * factor);
            quad_transpose(word, lane);
            store_once(out + j * 8, make_uint4(word[0], word[1], word[2], word[3]),
                       row + 8 * half < a->seq);
        }
    }
}

// Scores to exponentials in place. Whether what was summed up before, but for state, is to be
// multiplied by factor. `row` is the thread's first, `key` the tile's.
DEVICE bool soften(const struct attention_args *a, struct online state[2], float s[SCORE_TILES][4],
                   int row, int key, float factor[2])
{
    const int first = row / GROUP_ROWS * GROUP_ROWS; // of the warpgroup
    if (key + KEYS > keys_of(a, first))
        hide(a, s, row, key);
    const bool grown = take_greatest(state, a->scale, s, factor);
#pragma unroll
    for (int half = 0; half < 2; half++)
        state[half].sum += exponentials(s, half, a->scale, state[half].shift);
    return grown;
}

DEVICE void pack(const float s[SCORE_TILES][4], u32 *p)
{
#pragma unroll
    for (int step = 0; step < KEYS / 16; step++)
        exponentials_pack(s, step, p + 4 * step);
}

// The next tile of the ring, when it is there.
DEVICE u32 take_tile(struct ring *ring, u32 base)
{
    const u32 stage = ring->stage;
    barrier_wait(full_of(base, stage), ring->parity);
    ring_next(ring, STAGES);
    return stage;
}

// One piece. The product with a tile of values is issued after that with the next tile of keys, and
// runs while exponentials of those are taken.
DEVICE void attend(const struct attention_args *a, const struct piece *piece, struct ring *ring,
                   u32 base)
{
    const u32 thread = threadIdx.x % GROUP_THREADS, lane = thread % 32;
    const u32 group = threadIdx.x / GROUP_THREADS - 1;
    const int row = piece->first + (int)(group * GROUP_ROWS + thread / 32 * 16 + lane / 4);
    struct queries q;
    struct online state[2] = {online_none(), online_none()};
    float s[SCORE_TILES][4], o[DIM / 8][4], factor[2];
    u32 p[OPERANDS];

    queries_init(&q, base + group * GROUP_ROWS * ROW_BYTES);
    if (KEEP_Q)
        barrier_release(q_empty_of(base), lane);
    u32 keys = take_tile(ring, base), values;
    multiply_begin();
    ask_scores(&s[0][0], &q, tile_of(base, keys));
    multiply_wait<0>();
    registers_settle<SCORES>(&s[0][0]);
    barrier_release(empty_of(base, keys), lane);
    soften(a, state, s, row, 0, factor);
    pack(s, p);
#pragma unroll 1
    for (int tile = 1; tile < piece->tiles; tile++) {
        keys = take_tile(ring, base);
        values = take_tile(ring, base);
        registers_settle<OPERANDS>(p);
        registers_settle<SUMS>(&o[0][0]);
        multiply_begin();
        ask_scores(&s[0][0], &q, tile_of(base, keys));
        ask_answers(&o[0][0], p, tile_of(base, values), tile > 1);
        multiply_wait<1>(); // scores
        registers_settle<SCORES>(&s[0][0]);
        barrier_release(empty_of(base, keys), lane);
        const bool grown = soften(a, state, s, row, tile * KEYS, factor);
        multiply_wait<0>();
        registers_settle<SUMS>(&o[0][0]);
        barrier_release(empty_of(base, values), lane);
        if (grown)
            scale_sums(o, factor);
        pack(s, p);
    }
    if (!KEEP_Q)
        barrier_release(q_empty_of(base), lane);
    values = take_tile(ring, base);
    registers_settle<OPERANDS>(p);
    registers_settle<SUMS>(&o[0][0]);
    multiply_begin();
    ask_answers(&o[0][0], p, tile_of(base, values), piece->tiles > 1);
    multiply_wait<0>();
    registers_settle<SUMS>(&o[0][0]);
    barrier_release(empty_of(base, values), lane);
    store_answers(a, piece->head, row, state, o);
}

DEVICE void consume(struct pieces pieces, u32 base)
{
    struct ring ring = {0, 0};
    struct piece piece;
    u32 parity = 0;
    while (pieces_next(&pieces, &piece)) {
        barrier_wait(q_full_of(base), parity);
        parity ^= 1;
        attend(pieces.a, &piece, &ring, base);
    }
}

// Registers are split evenly between warpgroups at the start; the one that issues copies gives most
// of its own to the others.
#define PRODUCER_REGISTERS "24"
#if CONSUMERS == 2
#define CONSUMER_REGISTERS "240"
#else
#define CONSUMER_REGISTERS "112"
#endif

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    attention_wgmma(const __grid_constant__ struct tensor_map q,
                    const __grid_constant__ struct tensor_map k,
                    const __grid_constant__ struct tensor_map v,
                    const __grid_constant__ struct attention_args a)
{
    extern __shared__ u8 shared[];
    const u32 base = ((u32)__cvta_generic_to_shared(shared) + 1023) & ~1023u;
    const struct maps maps = {&q, &k, &v};
    const struct pieces pieces = pieces_of(&a);
    if (threadIdx.x == 0) {
        for (u32 stage = 0; stage <= STAGES; stage++) { // the last is q
            barrier_init(full_of(base, stage), 1);
            barrier_init(empty_of(base, stage), CONSUMERS * GROUP_THREADS / 32);
        }
        barriers_ready();
        map_prefetch(&q);
        map_prefetch(&k);
        map_prefetch(&v);
    }
    __syncthreads();
    if (threadIdx.x < GROUP_THREADS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 " PRODUCER_REGISTERS ";");
        if (threadIdx.x == 0)
            produce(&maps, pieces, base);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 " CONSUMER_REGISTERS ";");
        consume(pieces, base);
    }
}
