// attention.cu: softmax(q k^T / sqrt(dim)) v for f16 and bf16 on the matrix units, in one pass:
// scores never leave registers, and are f32 there; exponentials are rounded to the input's type for
// the second product.
//
// Compile with -DELEMENT=…, -DVECTOR=…, -DDIM=… (attention.cuh), -DKEYS=… and -DFORM=…:
// FORM_TILES  any length. A block of 4 warps has 64 BANDS queries of a head, each warp 16 BANDS of
//             them, and goes through the keys KEYS at a time: tiles of k and v are copied to shared
//             memory while those before are used. DIM is a multiple of 16, KEYS of 16;
//             -DBANDS=1, 2.
// FORM_WARP   up to 32 positions. A warp has 16 queries of a head and all KEYS keys, 16 or 32, in
//             registers, loaded at once and 16 bytes at a time. DIM is a multiple of 32.
#include "attention_mma.cuh"

#define FORM_TILES 1
#define FORM_WARP 2

#if FORM == FORM_TILES
#define WARPS 4
#define THREADS (32 * WARPS)
#define QUERIES (16 * BANDS * WARPS)
#define KEEP_Q (DIM * BANDS <= 128) // q in registers for all tiles; 1/4 of DIM * BANDS of them

// ---- products of a warp -------------------------------------------------------------------------

// 16 columns of q, from `step` on, of this warp's bands; `q` is the lane's row of the first.
DEVICE void load_q(u32 out[BANDS][4], const element *q, int step)
{
#pragma unroll
    for (int band = 0; band < BANDS; band++)
        load_matrices(out[band], shared_address(q + band * 16 * ROW + step * 16));
}

struct queries {
    const element *shared; // at the lane's row and column
#if KEEP_Q
    u32 kept[DIM / 16][BANDS][4];
#endif
};

DEVICE void queries_init(struct queries *q)
{
#if KEEP_Q
#pragma unroll
    for (int step = 0; step < DIM / 16; step++)
        load_q(q->kept[step], q->shared, step);
#endif
}

// s = q k^T. Rows of k are columns of the second operand, with what it wants as pairs side by side.
DEVICE void multiply_keys(const struct queries *q, const element *k, float s[BANDS][SCORE_TILES][4])
{
    const int lane = (int)threadIdx.x % 32;
    const element *from = k + (lane / 16 * 8 + lane % 8) * ROW + lane / 8 % 2 * 8;
#pragma unroll
    for (int step = 0; step < DIM / 16; step++) {
        u32 loaded[BANDS][4];
#if KEEP_Q
        const u32(*a)[4] = q->kept[step];
#else
        const u32(*a)[4] = loaded;
        load_q(loaded, q->shared, step);
#endif
        (void)loaded;
#pragma unroll
        for (int j = 0; j < SCORE_TILES; j += 2) {
            u32 b[4];
            load_matrices(b, shared_address(from + j * 8 * ROW + step * 16));
#pragma unroll
            for (int band = 0; band < BANDS; band++) {
                mma(s[band][j], a[band][0], a[band][1], a[band][2], a[band][3], b[0], b[1]);
                mma(s[band][j + 1], a[band][0], a[band][1], a[band][2], a[band][3], b[2], b[3]);
            }
        }
    }
}

// o += p v. Rows of v are rows of the second operand, so its pairs lie across: transposed.
DEVICE void multiply_values(const float p[BANDS][SCORE_TILES][4], const element *v,
                            float o[BANDS][DIM / 8][4])
{
    const int lane = (int)threadIdx.x % 32;
    const element *from = v + lane % 16 * ROW + lane / 16 * 8;
#pragma unroll
    for (int step = 0; step < KEYS / 16; step++) {
        u32 a[BANDS][4];
#pragma unroll
        for (int band = 0; band < BANDS; band++)
            exponentials_pack(p[band], step, a[band]);
#pragma unroll
        for (int j = 0; j < DIM / 8; j += 2) {
            u32 b[4];
            load_transposed(b, shared_address(from + step * 16 * ROW + j * 8));
#pragma unroll
            for (int band = 0; band < BANDS; band++) {
                mma(o[band][j], a[band][0], a[band][1], a[band][2], a[band][3], b[0], b[1]);
                mma(o[band][j + 1], a[band][0], a[band][1], a[band][2], a[band][3], b[2], b[3]);
            }
        }
    }
}

// Scores of a band to exponentials; what is summed up already is scaled where it must be.
DEVICE void soften(struct online state[2], float scale, float s[SCORE_TILES][4],
                   float o[DIM / 8][4])
{
    float factor[2];
    if (take_greatest(state, scale, s, factor))
        scale_sums(o, factor);
#pragma unroll
    for (int half = 0; half < 2; half++)
        state[half].sum += exponentials(s, half, scale, state[half].shift);
}

// ---- a block ------------------------------------------------------------------------------------

// Stores the outputs of this warp, from query `first` on, through its rows of q in shared memory, 16
// bytes at a time.
DEVICE void store_outputs(const struct attention_args *a, int head, int first, element *out,
                          element *staged, const struct online state[BANDS][2],
                          const float o[BANDS][DIM / 8][4])
{
    const int lane = (int)threadIdx.x % 32, rows = a->seq - first;
    __syncwarp(); // q has been read
#pragma unroll
    for (int band = 0; band < BANDS; band++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float sum = lanes_reduce<plus>(state[band][half].sum, 4), factor = 1.0f / sum;
            const int query = band * 16 + half * 8 + lane / 4;
            element *row = staged + query * ROW + lane % 4 * 2;
            save_lse(a, head, first + query, state[band][half].shift, sum, lane % 4 == 0);
#pragma unroll
            for (int j = 0; j < DIM / 8; j++)
                *(u32 *)(row + j * 8) =
                    mma_pair(o[band][j][2 * half] * factor, o[band][j][2 * half + 1] * factor);
        }
    __syncwarp();
#pragma unroll 4
    for (int at = lane; at < 16 * BANDS * ROW_CHUNKS; at += 32) {
        const int row = at / ROW_CHUNKS, column = at % ROW_CHUNKS * CHUNK;
        chunk_store(out + row * a->out_pitch, column, a->dim, row < rows,
                    *(const uint4 *)(staged + row * ROW + column));
    }
}

// Keys and values of a tile, one after the other.
DEVICE void copy_tile(const struct attention_args *a, const struct head *h, element *to, int tile)
{
    const int first = tile * KEYS, rows = a->seq - first;
    copy_rows<KEYS, THREADS>(to, h->k + first * a->pitch, a->pitch, rows, a->dim);
    copy_rows<KEYS, THREADS>(to + KEYS * ROW, h->v + first * a->pitch, a->pitch, rows, a->dim);
    copies_commit();
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    attention_tiles(const __grid_constant__ struct attention_args a)
{
    extern __shared__ uint4 shared[]; // q, then two tiles
    element *queries = (element *)shared, *tiles = queries + QUERIES * ROW;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    // Of causal ones the last queries of a head, which see most keys, are begun first.
    const int index = (int)blockIdx.x / a.blocks, turn = (int)blockIdx.x % a.blocks;
    const int block = a.causal ? a.blocks - 1 - turn : turn;
    const struct head h = head_of(&a, index);
    const int first = block * QUERIES, mine = warp * 16 * BANDS; // queries
    const int seen = keys_of(&a, first + QUERIES - 1), n_tiles = (seen + KEYS - 1) / KEYS;

    copy_rows<QUERIES, THREADS>(queries, h.q + first * a.pitch, a.pitch, a.seq - first, a.dim);
    copy_tile(&a, &h, tiles, 0);

    struct queries q;
    struct online state[BANDS][2];
    float o[BANDS][DIM / 8][4] = {};
    q.shared = queries + (mine + lane % 16) * ROW + lane / 16 * 8;
#pragma unroll
    for (int band = 0; band < BANDS; band++)
        state[band][0] = state[band][1] = online_none();
#pragma unroll 1
    for (int tile = 0; tile < n_tiles; tile++) {
        const element *k = tiles + tile % 2 * (2 * KEYS * ROW);
        const int key = tile * KEYS;
        copies_wait<0>();
        __syncthreads(); // this tile is there for all, and nobody uses the one before any more
        if (tile == 0)
            queries_init(&q);
        if (tile + 1 < n_tiles)
            copy_tile(&a, &h, tiles + (tile + 1) % 2 * (2 * KEYS * ROW), tile + 1);
        if (key >= keys_of(&a, first + mine + 16 * BANDS - 1))
            continue; // none of this warp's queries sees any of it
        float s[BANDS][SCORE_TILES][4] = {};
        multiply_keys(&q, k, s);
#pragma unroll
        for (int band = 0; band < BANDS; band++) {
            const int row = first + mine + band * 16;
            if (key + KEYS > keys_of(&a, row))
                hide(&a, s[band], row + lane / 4, key);
            soften(state[band], a.scale, s[band], o[band]);
        }
        multiply_values(s, k + KEYS * ROW, o);
    }
    store_outputs(&a, index, first + mine, h.out + (first + mine) * a.out_pitch,
                  queries + mine * ROW, state, o);
}
#endif

#if FORM == FORM_WARP
// Which columns an mma takes for which of its own does not matter as long as both operands have the
// same order. So lane (g, t) loads 16 bytes of row g at columns 8 t of every 32, and each 4 of them
// are one register of an operand. The same with v: output columns 2t, 2t + 1 of four mma's are
// 8 columns that lie side by side.
#define STEPS (DIM / 32)

struct chunks {
    u32 word[STEPS][4];
};

// Of row `row`. Keys and values of 32 positions are used by two warps of a block.
DEVICE void load_row(struct chunks *out, const struct attention_args *a, const element *from,
                     int row, bool shared)
{
    const element *at = from + row * a->pitch;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        const int column = step * 32 + (int)threadIdx.x % 4 * 8;
        const uint4 chunk = VECTOR && shared
                                ? load_kept(at + column, row < a->seq && column < a->dim)
                                : chunk_load(at, column, a->dim, row < a->seq);
        out->word[step][0] = chunk.x;
        out->word[step][1] = chunk.y;
        out->word[step][2] = chunk.z;
        out->word[step][3] = chunk.w;
    }
}

DEVICE void scores(const struct chunks q[2], const struct chunks k[SCORE_TILES],
                   float s[SCORE_TILES][4])
{
#pragma unroll
    for (int step = 0; step < STEPS; step++)
#pragma unroll
        for (int w = 0; w < 4; w += 2)
#pragma unroll
            for (int j = 0; j < SCORE_TILES; j++)
                mma(s[j], q[0].word[step][w], q[1].word[step][w], q[0].word[step][w + 1],
                    q[1].word[step][w + 1], k[j].word[step][w], k[j].word[step][w + 1]);
}

// 32 columns of the output, of which this lane has 8 in each of two rows.
DEVICE void values(const u32 p[KEYS / 16][4], const struct chunks v[SCORE_TILES], int step,
                   float o[4][4])
{
#pragma unroll
    for (int w = 0; w < 4; w++)
#pragma unroll
        for (int keys = 0; keys < KEYS / 16; keys++)
            mma(o[w], p[keys][0], p[keys][1], p[keys][2], p[keys][3],
                transpose(v[2 * keys].word[step][w]), transpose(v[2 * keys + 1].word[step][w]));
}

extern "C" __global__ void __launch_bounds__(128)
    attention_warp(const __grid_constant__ struct attention_args a)
{
    const s64 warp = (s64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int index = (int)(warp / a.blocks), lane = (int)threadIdx.x % 32;
    const int row = (int)(warp % a.blocks) * 16 + lane / 4;
    if (index >= a.batch_heads)
        return;
    const struct head h = head_of(&a, index);
    struct chunks q[2], k[SCORE_TILES], v[SCORE_TILES];
    load_row(&q[0], &a, h.q, row, false);
    load_row(&q[1], &a, h.q, row + 8, false);
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++)
        load_row(&k[j], &a, h.k, j * 8 + lane / 4, KEYS > 16);
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++)
        load_row(&v[j], &a, h.v, j * 8 + lane / 4, KEYS > 16);

    float s[SCORE_TILES][4] = {}, factor[2];
    u32 p[KEYS / 16][4];
    scores(q, k, s);
    hide(&a, s, row, 0);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float most = greatest(s, half) * a.scale;
        const float sum = lanes_reduce<plus>(exponentials(s, half, a.scale, most), 4);
        save_lse(&a, index, row + 8 * half, most, sum, lane % 4 == 0);
        factor[half] = 1.0f / sum;
    }
#pragma unroll
    for (int keys = 0; keys < KEYS / 16; keys++)
        exponentials_pack(s, keys, p[keys]);
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        float o[4][4] = {};
        values(p, v, step, o);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const float f = factor[half];
            const uint4 chunk = make_uint4(mma_pair(o[0][2 * half] * f, o[0][2 * half + 1] * f),
                                           mma_pair(o[1][2 * half] * f, o[1][2 * half + 1] * f),
                                           mma_pair(o[2][2 * half] * f, o[2][2 * half + 1] * f),
                                           mma_pair(o[3][2 * half] * f, o[3][2 * half + 1] * f));
            chunk_store(h.out + (row + half * 8) * a.out_pitch, step * 32 + lane % 4 * 8, a.dim,
                        row + half * 8 < a.seq, chunk);
        }
    }
}
#endif
