// linear_small.cu: y = act(x W^T + bias) for few tokens on the matrix units, the weights brought
// back in registers on their way from memory. f16 and bf16.
//
// Weights lie in *records*, in the order in which they are read (linear_small_pack makes them): a
// *band* is 16 RP rows of W, the m16 side of RP mma.m16n8k16; a *step* is STEP elements along k. A
// record is one step of one band, bands one after the other, and holds
//     [RP][PIECES][2][32] pieces of 16 bytes: what lane 4 g + t multiplies of rows g and g + 8
//     [FOLDS][RP][16] scales (low half) and zeros (high half), for codes in groups
// Unit q of a step (q < 4) has 8 elements for each t, number 32 q + 8 t and on. Which of them an
// mma takes for which of its k does not matter as long as x has the same order, so decoding may
// choose, and x lies in shared memory as the 16 bytes each lane wants.
//
// Every warp copies records into its own ring of DEPTH, well ahead, and is the only one to wait for
// them. The first start right behind the first loads of x. WK warps share a band's steps, WR bands
// are taken at a time, one group of bands after the other; then the warps' sums are added in shared
// memory. The SPLIT blocks of a cluster share k, and add each other's results at the end. All of
// this in a fixed order. Where x of a block's share of k is too long for shared memory, it is taken
// in stages.
//
// Codes in groups: sum(w x) = s sum(code x) + z sum(x) over each group, so scales meet sums, FOLDS
// times in a step. Sums of x come from the matrix units too, as the product with ones.
//
// -DCODE, -DELEMENT: linear_decode.cuh. -DTOKENS rows of x in a block: 1, 2, 4, 8, 16, 32 or 64.
// -DRP 1, 2. -DWK 1, 2, 4, 8, 16. -DDEPTH 1 and up. -DFOLDS 1 (groups of 128 and more), 2 (64) or 4
// (32). -DSPLIT 1 (any GPU), 2, 4, 8 (from compute capability 9 on). -DBULK=1: bulk copies, from 9
// on; 0: copies of 16 bytes. k must make rows of whole pieces: CODE's bits * k % 128 == 0.
#include "linear_decode.cuh"
#include "mma.cuh"

#define WARPS (TOKENS > 16 ? 8 : 16)
#define THREADS (32 * WARPS)
#define WR (WARPS / WK)
#define BAND (16 * RP) // rows of W
#define STEP 128       // elements along k
#define PIECES (4 / PIECE_UNITS)
#define CODES_BYTES (RP * PIECES * 1024)
#define RECORD (CODES_BYTES + (GROUPED ? FOLDS * RP * 64 : 0))
#define TILES ((TOKENS + 7) / 8)
#define COLUMNS (8 * TILES)  // of the tiles; those from TOKENS on are not there
#define X_STEP (16 * TOKENS) // uint4's of x in a step: [4 units][TOKENS][4 lanes]
#define X_BATCH 8
#define CHAINS (RP * TILES == 1 ? 2 : 1) // mma's that do not wait for each other
#define BAND_SUMS (BAND * TOKENS)

#if TOKENS > 8 && TOKENS % 8
#error "TOKENS above 8 are whole tiles"
#endif
#if THREADS % (4 * TOKENS)
#error "a batch is of one token"
#endif

// What stays the same in a launch.
struct small_args {
    const u8 *records;       // [bands][steps]
    const float *row_scales; // or NULL
    const element *x, *bias; // bias or NULL
    element *y;
    int m, k, n, activation;
    int bands, steps;
    int cluster_bands; // of a cluster
    int stage_steps;   // of x in shared memory at a time
    int sums_at;       // where in shared memory the warps' sums are, and from one's to the next's:
    int sums_pitch;    // bytes
};

// What a block is to do.
struct small_share {
    int token;
    int band, bands;         // of W; the first, and how many
    int step, steps, stages; // along k
};

struct small_room {
    u8 *ring;       // of this warp, [DEPTH] records
    u32 barriers;   // [DEPTH], addresses of shared memory
    uint4 *x;       // [stage_steps][X_STEP]
    float *x_sums;  // [stage_steps][FOLDS][COLUMNS]
    float *results; // [cluster_bands][TOKENS][BAND]
};

// ---- copies -------------------------------------------------------------------------------------

DEVICE void barrier_init(u32 barrier)
{
#if BULK
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
#endif
}

// What was initialised is there for the copy engine too.
DEVICE void barriers_ready()
{
#if BULK
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// Starts the copy of one record; all lanes come here.
DEVICE void copy_start(u8 *to, const u8 *from, u32 barrier, int lane)
{
#if BULK
    if (lane == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "n"(RECORD)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                     "l"(from), "n"(RECORD), "r"(barrier)
                     : "memory");
    }
#else
#pragma unroll
    for (int at = 0; at < RECORD; at += 512)
        if (at + lane * 16 < RECORD)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                             shared_address(to + at + lane * 16)),
                         "l"(from + at + lane * 16)
                         : "memory");
#endif
}

// After each start, or instead of it where nothing is left to copy.
DEVICE void copy_commit()
{
#if !BULK
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Until the oldest copy is there, for the whole warp.
DEVICE void copy_wait(u32 barrier, u32 parity)
{
#if BULK
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
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(DEPTH - 1) : "memory");
    __syncwarp();
#endif
}

// ---- a warp's records, in order -----------------------------------------------------------------

// The warp's steps [first, end) of a stage.
DEVICE void share_of_stage(const struct small_args *a, const struct small_share *s, int stage,
                           int wk, int *first, int *end)
{
    const int here = max(min(s->steps - stage * a->stage_steps, a->stage_steps), 0);
    *first = here * wk / WK;
    *end = here * (wk + 1) / WK;
}

// The next record to be copied: stage by stage, in each band by band, in each step by step.
struct feed {
    int stage, band, step, end;
    const u8 *from;
};

DEVICE void feed_seek(struct feed *f, const struct small_args *a, const struct small_share *s,
                      int wr, int wk)
{
    while (f->stage < s->stages) {
        share_of_stage(a, s, f->stage, wk, &f->step, &f->end);
        if (f->band < s->bands && f->step < f->end) {
            const s64 step = s->step + f->stage * a->stage_steps + f->step;
            f->from = a->records + ((s64)(s->band + f->band) * a->steps + step) * RECORD;
            return;
        }
        f->band = wr;
        f->stage = wr < s->bands ? f->stage + 1 : s->stages;
    }
}

DEVICE void feed_next(struct feed *f, const struct small_args *a, const struct small_share *s,
                      int wr, int wk)
{
    f->from += RECORD;
    if (++f->step < f->end)
        return;
    f->band += WR;
    feed_seek(f, a, s, wr, wk);
}

// ---- a stage of x -------------------------------------------------------------------------------

// Lanes whose column is not there take another's, which gives sums nobody asks for.
DEVICE int lane_column(int lane) { return TOKENS < 8 ? min(lane / 4, TOKENS - 1) : lane / 4; }

#if GROUPED
// Sums of x over the units of each fold. Every row of the product is the same; one is kept.
DEVICE void sum_x(const struct small_room *room, int steps)
{
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const uint4 *from = room->x + lane_column(lane) * 4 + lane % 4;
#pragma unroll 2
    for (int i = warp; i < steps * FOLDS * TILES; i += WARPS) {
        const int fold = i / TILES, tile = i % TILES;
        float c[2][4] = {};
#pragma unroll
        for (int q = 0; q < 4 / FOLDS; q++) {
            const uint4 b = from[(fold * (4 / FOLDS) + q) * 4 * TOKENS + tile * 32];
            mma(c[0], PAIR_ONE, PAIR_ONE, PAIR_ONE, PAIR_ONE, b.x, b.y);
            mma(c[1], PAIR_ONE, PAIR_ONE, PAIR_ONE, PAIR_ONE, b.z, b.w);
        }
        if (lane < 4)
            *(float2 *)(room->x_sums + fold * COLUMNS + tile * 8 + lane * 2) =
                make_float2(c[0][0] + c[1][0], c[0][1] + c[1][1]);
    }
}
#endif

// 8 elements of x. Volatile, so that the first loads stay ahead of the copies of weights, behind
// which they would have to queue.
DEVICE uint4 load_x(const element *p)
{
    uint4 v;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

// uint4's of x that a stage has.
DEVICE int stage_units(const struct small_args *a, const struct small_share *s, int stage)
{
    return max(min(s->steps - stage * a->stage_steps, a->stage_steps), 0) * X_STEP;
}

// X_BATCH of a thread, number `base` and every THREADS-th from there, on their way together; zeros
// where the stage or x ends. They are all of one token, at equal distances.
DEVICE void load_batch(const struct small_args *a, const struct small_share *s, int stage, int base,
                       uint4 *v)
{
    const int token = s->token + base / 4 % TOKENS, units = stage_units(a, s, stage);
    const int at =
        (s->step + stage * a->stage_steps) * STEP + (base / (4 * TOKENS) * 4 + base % 4) * 8;
    const int pitch = THREADS / (4 * TOKENS) * 32;
    const element *from = a->x + (s64)token * a->k + at;
#pragma unroll
    for (int b = 0; b < X_BATCH; b++) {
        v[b] = make_uint4(0, 0, 0, 0);
        if (base + b * THREADS < units && token < a->m && at + b * pitch < a->k)
            v[b] = load_x(from + b * pitch);
    }
}

// All of a stage's x; the thread's first batch is in `v` already.
DEVICE void stage_x(const struct small_args *a, const struct small_share *s,
                    const struct small_room *room, int stage, uint4 *v)
{
    const int units = stage_units(a, s, stage);
    int base = (int)threadIdx.x;
#pragma unroll 1
    while (base < units) {
#pragma unroll
        for (int b = 0; b < X_BATCH; b++)
            if (base + b * THREADS < units)
                room->x[base + b * THREADS] = pairs_of_x(v[b]);
        base += X_BATCH * THREADS;
        load_batch(a, s, stage, base, v);
    }
    __syncthreads();
#if GROUPED
    sum_x(room, units / X_STEP);
    __syncthreads();
#endif
}

// ---- a record -----------------------------------------------------------------------------------

// Adds the sums of a fold to those in ordinary units, and starts them anew.
DEVICE void fold_in(const u8 *record, const float *x_sums, int fold, int rp,
                    float part[CHAINS][TILES][4], float sums[TILES][4])
{
#if GROUPED
    const int lane = (int)threadIdx.x % 32;
    const u32 *scales = (const u32 *)(record + CODES_BYTES) + (fold * RP + rp) * 16 + lane / 4;
    const u32 low = scales[0], high = scales[8];
    const float ls = element_get((u16)low), hs = element_get((u16)high);
    const float lz = fmaf(-PAIR_OFFSET, ls, element_get((u16)(low >> 16)));
    const float hz = fmaf(-PAIR_OFFSET, hs, element_get((u16)(high >> 16)));
#else
    (void)record, (void)x_sums, (void)fold, (void)rp;
#endif
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
        float *c = part[0][tile];
        if (CHAINS == 2)
#pragma unroll
            for (int i = 0; i < 4; i++)
                c[i] += part[CHAINS - 1][tile][i];
#if GROUPED
        const float2 x = *(const float2 *)(x_sums + fold * COLUMNS + tile * 8 + lane % 4 * 2);
        sums[tile][0] = fmaf(ls, c[0], fmaf(lz, x.x, sums[tile][0]));
        sums[tile][1] = fmaf(ls, c[1], fmaf(lz, x.y, sums[tile][1]));
        sums[tile][2] = fmaf(hs, c[2], fmaf(hz, x.x, sums[tile][2]));
        sums[tile][3] = fmaf(hs, c[3], fmaf(hz, x.y, sums[tile][3]));
#else
#pragma unroll
        for (int i = 0; i < 4; i++)
            sums[tile][i] += c[i];
#endif
#pragma unroll
        for (int i = 0; i < 4; i++)
            part[0][tile][i] = part[CHAINS - 1][tile][i] = 0.0f;
    }
}

// `x` is that of the step, at the lane's column and t; `x_sums` those of its folds.
DEVICE void use_record(const u8 *record, const uint4 *x, const float *x_sums,
                       float sums[RP][TILES][4])
{
    const int lane = (int)threadIdx.x % 32;
    const uint4 *pieces = (const uint4 *)record + lane;
    const int units = GROUPED ? 4 / FOLDS : 4; // between two folds
    uint4 low[RP], high[RP];
    float part[RP][CHAINS][TILES][4] = {};
#pragma unroll
    for (int q = 0; q < 4; q++) {
        u32 l[RP][4], h[RP][4];
#pragma unroll
        for (int rp = 0; rp < RP; rp++) {
            if (q % PIECE_UNITS == 0) {
                low[rp] = pieces[(rp * PIECES + q / PIECE_UNITS) * 64];
                high[rp] = pieces[(rp * PIECES + q / PIECE_UNITS) * 64 + 32];
            }
            const u32 lw[4] = {low[rp].x, low[rp].y, low[rp].z, low[rp].w};
            const u32 hw[4] = {high[rp].x, high[rp].y, high[rp].z, high[rp].w};
            decode_offset_pairs(lw + q % PIECE_UNITS * UNIT_WORDS, l[rp]);
            decode_offset_pairs(hw + q % PIECE_UNITS * UNIT_WORDS, h[rp]);
        }
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const uint4 b = x[q * 4 * TOKENS + tile * 32];
#pragma unroll
            for (int rp = 0; rp < RP; rp++) {
                mma(part[rp][0][tile], l[rp][0], h[rp][0], l[rp][1], h[rp][1], b.x, b.y);
                mma(part[rp][CHAINS - 1][tile], l[rp][2], h[rp][2], l[rp][3], h[rp][3], b.z, b.w);
            }
        }
        if ((q + 1) % units == 0)
#pragma unroll
            for (int rp = 0; rp < RP; rp++)
                fold_in(record, x_sums, q / units, rp, part[rp], sums[rp]);
    }
}

// ---- sums of other warps and blocks -------------------------------------------------------------

DEVICE void cluster_sync()
{
#if SPLIT > 1
    asm volatile(
        "barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
            : "memory");
#else
    __syncthreads();
#endif
}

// The float at `p` of this block's shared memory, in that of block `rank` of the cluster.
DEVICE float load_from_rank(const float *p, int rank)
{
#if SPLIT > 1
    u32 at = shared_address(p), there;
    float v;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
    return v;
#else
    (void)rank;
    return *p;
#endif
}

// A warp's sums as [TOKENS][BAND].
DEVICE void store_sums(float *to, float sums[RP][TILES][4], int lane)
{
#pragma unroll
    for (int rp = 0; rp < RP; rp++)
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int column = tile * 8 + lane % 4 * 2 + i % 2;
                if (TOKENS >= 8 || column < TOKENS)
                    to[column * BAND + rp * 16 + i / 2 * 8 + lane / 4] = sums[rp][tile][i];
            }
}

// Adds up the sums of WK warps for each of the WR bands from `band` on; before the second stage
// there is nothing to add to.
DEVICE void add_warps(const struct small_args *a, const struct small_share *s,
                      const struct small_room *room, const u8 *all, int band, bool first)
{
    const int count = min(WR, s->bands - band) * BAND_SUMS;
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < count; i += THREADS) {
        const u8 *from = all + i / BAND_SUMS * a->sums_pitch + i % BAND_SUMS * 4;
        float sum = first ? 0.0f : room->results[band * BAND_SUMS + i];
#pragma unroll
        for (int w = 0; w < WK; w++)
            sum += *(const float *)(from + w * WR * a->sums_pitch);
        room->results[band * BAND_SUMS + i] = sum;
    }
}

// Each block of the cluster finishes its share of the results.
DEVICE void finish_block(const struct small_args *a, const struct small_share *s,
                         const struct small_room *room, int rank)
{
#pragma unroll 1
    for (int i = rank * THREADS + (int)threadIdx.x; i < s->bands * BAND_SUMS;
         i += SPLIT * THREADS) {
        const int row = (s->band + i / BAND_SUMS) * BAND + i % BAND;
        const int token = s->token + i % BAND_SUMS / BAND;
        if (row >= a->n || token >= a->m)
            continue;
        float sum = 0.0f;
#pragma unroll
        for (int block = 0; block < SPLIT; block++)
            sum += load_from_rank(room->results + i, block);
        a->y[(s64)token * a->n + row] = finish(sum, a->row_scales, a->bias, row, a->activation);
    }
}

// ---- the whole ----------------------------------------------------------------------------------

DEVICE struct small_share share_of_block(const struct small_args *a, int rank)
{
    const int token_blocks = (a->m + TOKENS - 1) / TOKENS, cluster = (int)blockIdx.x / SPLIT;
    const int share = (a->steps + SPLIT - 1) / SPLIT;
    struct small_share s;
    s.token = cluster % token_blocks * TOKENS;
    s.band = cluster / token_blocks * a->cluster_bands;
    s.bands = min(a->bands - s.band, a->cluster_bands);
    s.step = min(rank * share, a->steps);
    s.steps = min(share, a->steps - s.step);
    s.stages = (share + a->stage_steps - 1) / a->stage_steps; // the same in all blocks
    return s;
}

// Shared memory, in this order: rings, barriers, x, sums of x, results, and the warps' sums (which
// may also lie in the rings). linear_wo.c counts the same.
DEVICE struct small_room room_of(const struct small_args *a, u8 *memory, int warp)
{
    struct small_room r;
    r.ring = memory + warp * DEPTH * RECORD;
    u8 *barriers = memory + WARPS * DEPTH * RECORD;
    r.barriers = shared_address(barriers) + warp * DEPTH * 8;
    r.x = (uint4 *)(barriers + WARPS * DEPTH * 8);
    r.x_sums = (float *)(r.x + a->stage_steps * X_STEP);
    r.results = r.x_sums + (GROUPED ? a->stage_steps * FOLDS * COLUMNS : 0);
    return r;
}

// Blocks of the grid: those of a cluster, then those of all tokens, then those of all bands.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if SPLIT > 1
    __cluster_dims__(SPLIT, 1, 1)
#endif
        linear_small(const struct small_args args)
{
    extern __shared__ uint4 memory[];
    const struct small_args *a = &args;
    const int rank = (int)blockIdx.x % SPLIT;
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
    const int wr = warp % WR, wk = warp / WR;
    const struct small_share s = share_of_block(a, rank);
    const struct small_room room = room_of(a, (u8 *)memory, warp);
    u8 *all = (u8 *)memory + a->sums_at;

    if (lane == 0) {
        for (int d = 0; d < DEPTH; d++)
            barrier_init(room.barriers + d * 8);
        barriers_ready();
    }
    uint4 v[X_BATCH];
    load_batch(a, &s, 0, (int)threadIdx.x, v);
    struct feed f;
    f.stage = 0;
    f.band = wr;
    feed_seek(&f, a, &s, wr, wk);
#pragma unroll 1
    for (int d = 0; d < DEPTH; d++) {
        if (f.stage < s.stages) {
            copy_start(room.ring + d * RECORD, f.from, room.barriers + d * 8, lane);
            feed_next(&f, a, &s, wr, wk);
        }
        copy_commit();
    }

    stage_x(a, &s, &room, 0, v);
    int slot = 0;
    u32 parity = 0;
    for (int stage = 0; stage < s.stages; stage++) {
        if (stage > 0) {
            __syncthreads(); // x of the stage before is done with
            uint4 w[X_BATCH];
            load_batch(a, &s, stage, (int)threadIdx.x, w);
            stage_x(a, &s, &room, stage, w);
        }
        int first, end;
        share_of_stage(a, &s, stage, wk, &first, &end);
        for (int band = 0; band < s.bands; band += WR) {
            float sums[RP][TILES][4] = {};
            const int own_end = band + wr < s.bands ? end : first;
#pragma unroll 1
            for (int step = first; step < own_end; step++) {
                u8 *record = room.ring + slot * RECORD;
                copy_wait(room.barriers + slot * 8, parity);
                use_record(record, room.x + step * X_STEP + lane_column(lane) * 4 + lane % 4,
                           room.x_sums + step * FOLDS * COLUMNS, sums);
                __syncwarp(); // all have read what is now copied over
                if (f.stage < s.stages) {
                    copy_start(record, f.from, room.barriers + slot * 8, lane);
                    feed_next(&f, a, &s, wr, wk);
                }
                copy_commit();
                if (++slot == DEPTH) {
                    slot = 0;
                    parity ^= 1;
                }
            }
            if (stage + band > 0)
                __syncthreads(); // the sums before these are taken
            store_sums((float *)(all + warp * a->sums_pitch), sums, lane);
            __syncthreads();
            add_warps(a, &s, &room, all, band, stage == 0);
        }
    }
    cluster_sync();
    finish_block(a, &s, &room, rank);
    cluster_sync(); // nobody leaves while others may still read here
}

// ---- making records -----------------------------------------------------------------------------

struct pack_args {
    const u8 *codes;               // [n] rows
    const element *scales, *zeros; // [n][k >> group_shift], or NULL
    u8 *records;
    int k, n, group_shift, bands, steps;
};

// Piece i of all records; zeros where W ends.
DEVICE void pack_piece(const struct pack_args *a, s64 i)
{
    const int pieces = CODES_BYTES / 16;
    const s64 record = i / pieces;
    const int p = (int)(i % pieces), lane = p % 32;
    const int rp = p / (64 * PIECES), unit = p / 64 % PIECES * PIECE_UNITS;
    const s64 row = record / a->steps * BAND + rp * 16 + p / 32 % 2 * 8 + lane / 4;
    const s64 at = record % a->steps * STEP + lane % 4 * 8;
    u32 words[4] = {};
#pragma unroll
    for (int q = 0; q < PIECE_UNITS; q++) {
        const s64 element_at = at + (unit + q) * 32;
        if (row < a->n && element_at < a->k) {
            const u32 *from = (const u32 *)a->codes + (row * a->k + element_at) / 8 * UNIT_WORDS;
#pragma unroll
            for (int w = 0; w < UNIT_WORDS; w++)
                words[q * UNIT_WORDS + w] = from[w];
        }
    }
    *(uint4 *)(a->records + record * RECORD + (s64)p * 16) =
        make_uint4(words[0], words[1], words[2], words[3]);
}

#if GROUPED
DEVICE void pack_scale(const struct pack_args *a, s64 i)
{
    const int scales = FOLDS * BAND;
    const s64 record = i / scales;
    const int p = (int)(i % scales);
    const s64 row = record / a->steps * BAND + p % BAND;
    const s64 at = record % a->steps * STEP + p / BAND * (STEP / FOLDS);
    u32 both = 0;
    if (row < a->n && at < a->k) {
        const s64 from = row * (a->k >> a->group_shift) + (at >> a->group_shift);
        both = a->scales[from] | (u32)a->zeros[from] << 16;
    }
    *(u32 *)(a->records + record * RECORD + CODES_BYTES + p * 4) = both;
}
#endif

extern "C" __global__ void linear_small_pack(const struct pack_args args)
{
    const struct pack_args *a = &args;
    const s64 records = (s64)a->bands * a->steps, threads = (s64)gridDim.x * blockDim.x;
    const s64 start = (s64)blockIdx.x * blockDim.x + threadIdx.x;
    for (s64 i = start; i < records * (CODES_BYTES / 16); i += threads)
        pack_piece(a, i);
#if GROUPED
    for (s64 i = start; i < records * FOLDS * BAND; i += threads)
        pack_scale(a, i);
#endif
}
