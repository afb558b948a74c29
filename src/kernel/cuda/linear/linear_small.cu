// linear_small.cu: y = act(x W^T + bias) for few tokens on the matrix units, with weights that are
// dequantised in registers on their way from memory. f16 and bf16.
//
// Weights lie in *records*, in the order in which they are read (linear_small_pack makes them): a
// *band* is 16 rows of W, the m16 side of mma.m16n8k16; a *step* is STEP elements along k. A record
// is one step of one band; BANDS bands lie together, in them steps one after the other, in those
// bands. It holds
//     [PIECES][2][32] pieces of 16 bytes: what lane 4 g + t multiplies of rows g and g + 8
//     [FOLDS][16] scales (low half) and zeros (high half), for codes in groups
// Unit q of a step (q < 4) has 8 elements for each t, number 32 q + 8 t and on. Codes of a unit are
// stored so that decoding gives pairs in the order of k: x is used as it lies in memory.
//
// A warp keeps to its share of k. Either its sums of BANDS bands stay in registers while x comes
// step by step, one ahead of its use (STEPS is 0); or x stays, of up to STEPS steps, while the warp
// goes through the bands one by one, and where k is longer than the shares of all warps, it is gone
// through in STAGES. Records come by copies of up to CHUNK of them into a ring of DEPTH of the
// warp's own, ahead of their use; nobody but the warp waits for them. The warps of a block leave
// their sums of a round of bands in shared memory, where they are added; the SPLIT blocks of a
// cluster share k, and send their sums to the one that finishes the band. All of this in a fixed
// order.
//
// A launch may begin while the one before it in the stream ends (programmatic dependent launch;
// `early` in linear_small_cuda.c). Copies of records start at once: weights were prepared before.
// What the kernel before may have written or may still read (x, bias, y) waits for its end.
//
// Codes in groups: sum(w x) = s sum(code x) + z sum(x) over each group, so scales meet sums, FOLDS
// times in a step. Sums of x come from the matrix units too, as the product with ones.
//
// -DCODE, -DELEMENT: linear_decode.cuh. -DTOKENS rows of x in a block: 1, 2, 4, or a multiple of 8
// up to 64. -DWARPS of a block. -DSTEPS: 0 and up; -DBANDS: 1 with STEPS. -DCHUNK: with STEPS of 0
// a divisor of BANDS. -DDEPTH, -DSTAGES: 1 and up. -DEVEN=1: steps are whole, and with STEPS every
// warp has so many. -DFOLDS 1 (groups of 128 and more), 2 (64) or 4 (32). -DSPLIT 1 (any GPU), 2,
// 4, 8 (from compute capability 9 on). -DBULK=1: bulk copies, from 9 on; 0: copies of 16 bytes. k
// must make rows of whole pieces: CODE's bits * k % 128 == 0.
#include "linear_decode.cuh"
#include "mma.cuh"

#define THREADS (32 * WARPS)
#define BAND 16  // rows of W
#define STEP 128 // elements along k
#define PIECES (4 / PIECE_UNITS)
#define CODES_BYTES (PIECES * 1024)
#define RECORD (CODES_BYTES + (GROUPED ? FOLDS * 64 : 0))
#define SLOT (CHUNK * RECORD)
#define TILES ((TOKENS + 7) / 8)
#define CHAINS (TILES == 1 ? 2 : 1) // mma's that do not wait for each other
#define HELD (STEPS ? STEPS : 1)    // steps of x in registers
#define BAND_SUMS (BAND * TOKENS)
#define PITCH 20 // floats from a token's sums in a warp's part to the next's: no bank twice
#define PART (TOKENS * PITCH)
#define AHEAD ((DEPTH + 1) / 2) // copies started before x is loaded: x queues behind them

#if TOKENS > 8 && TOKENS % 8
#error "TOKENS above 8 are whole tiles"
#endif
#if STEPS ? BANDS > 1 : (BANDS % CHUNK || STAGES > 1)
#error "either sums stay or x, and copies are parts of BANDS"
#endif

// What stays the same in a launch.
struct small_args {
    const u8 *records;       // [bands][steps]
    const float *row_scales; // or NULL
    const element *x, *bias; // bias or NULL
    element *y;
    int m, k, n, activation;
    int bands, steps;
    int cluster_bands; // of a cluster; all three are whole BANDS
    int round_bands;   // whose sums are added at a time
};

// What a block is to do.
struct small_share {
    int rank, token;
    int band, bands; // of W; the first, and how many
};

// Shared memory, in this order; linear_small_cuda.c counts the same.
struct small_memory {
    u8 *ring;          // of this warp, [DEPTH] slots
    u32 barriers;      // [DEPTH], addresses of shared memory
    u32 arrived;       // a barrier: all of `results` are there
    float *parts;      // [WARPS][round_bands][PART], and again where there are more rounds
    float *results;    // [bands finished here][SPLIT][BAND_SUMS]; with SPLIT
    float *totals;     // [cluster_bands][BAND_SUMS], of the stages before; with STAGES
    float *row_scales; // [cluster_bands][BAND]
    element *bias;     // the same
};

// ---- the launches before and after --------------------------------------------------------------

// The next in the stream may begin as soon as all blocks of this one have.
DEVICE void next_may_begin()
{
#if BULK
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the one before has ended, and what it wrote can be seen.
DEVICE void await_previous()
{
#if BULK
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

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

// Starts the copy of some records; all lanes come here.
DEVICE void copy_start(u8 *to, const u8 *from, int bytes, u32 barrier, int lane)
{
#if BULK
    if (lane == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                     "r"(bytes)
                     : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(shared_address(to)),
                     "l"(from), "r"(bytes), "r"(barrier)
                     : "memory");
    }
#else
#pragma unroll
    for (int at = 0; at < SLOT; at += 512)
        if (at + lane * 16 < bytes)
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

#if BULK
DEVICE void barrier_wait(u32 barrier, u32 parity)
{
    u32 done;
    do {
        asm volatile("{\n\t.reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    } while (!done);
}
#endif

// Until the oldest copy is there, for the whole warp.
DEVICE void copy_wait(u32 barrier, u32 parity)
{
#if BULK
    barrier_wait(barrier, parity);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(DEPTH - 1) : "memory");
    __syncwarp();
#endif
}

// ---- a warp's records, in order -----------------------------------------------------------------

// The number of this warp, such that the compiler sees that all lanes have the same: the copy engine
// takes addresses from registers of the whole warp only.
DEVICE int warp_number() { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0); }

// A warp's steps [first, first + count) of a stage.
struct steps {
    int first, count;
};

DEVICE struct steps steps_of(const struct small_args *a, const struct small_share *s, int stage)
{
    // Blocks begin at different offsets, so that they do not all load the same part of x at once.
    const int own = (warp_number() + (int)blockIdx.x / SPLIT) % WARPS;
    const int warp = (stage * SPLIT + s->rank) * WARPS + own;
#if EVEN && STEPS
    return {warp * STEPS, STEPS};
#else
    const s64 warps = (s64)STAGES * SPLIT * WARPS;
    const int first = (int)((s64)a->steps * warp / warps);
    return {first, (int)((s64)a->steps * (warp + 1) / warps) - first};
#endif
}

// What is next to be copied, and where to: stage by stage, in each BANDS by BANDS, of each the
// warp's steps, which are `count` records.
struct feed {
    const u8 *from;
    int stage, bands, records, count; // bands and records yet to come
    int slot;
};

DEVICE void feed_seek(struct feed *f, const struct small_args *a, const struct small_share *s,
                      int stage)
{
    f->bands = 0;
    for (f->stage = stage; f->stage < STAGES && f->bands == 0; f->stage++) {
        const struct steps steps = steps_of(a, s, f->stage);
        f->from = a->records + ((s64)s->band * a->steps + (s64)steps.first * BANDS) * RECORD;
        f->records = f->count = steps.count * BANDS;
        f->bands = steps.count > 0 ? s->bands : 0;
    }
}

DEVICE void feed_copy(struct feed *f, const struct small_args *a, const struct small_share *s,
                      const struct small_memory *mem, int lane)
{
    if (f->bands > 0) {
        const int count = min(f->records, CHUNK);
        copy_start(mem->ring + f->slot * SLOT, f->from, count * RECORD,
                   mem->barriers + f->slot * 8, lane);
        f->from += count * RECORD;
        f->records -= count;
        if (f->records == 0) {
            f->from += ((s64)a->steps * BANDS - f->count) * RECORD;
            f->records = f->count;
            f->bands -= BANDS;
            if (f->bands == 0)
                feed_seek(f, a, s, f->stage);
        }
    }
    f->slot = f->slot + 1 == DEPTH ? 0 : f->slot + 1;
    copy_commit();
}

// ---- x ------------------------------------------------------------------------------------------

// A warp's part of x: of each step, unit and tile the 16 bytes its lane multiplies.
struct part_of_x {
    uint4 units[HELD][4][TILES];
#if GROUPED
    float sums[HELD][FOLDS][TILES][2]; // of the lane's two columns of the product
#endif
};

// 8 elements of x, or zeros. Not by way of the read-only cache: x may have been written after this
// launch began.
DEVICE uint4 load_x(const element *p, bool wanted)
{
    uint4 v;
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %5, 0;\n\t"
                 "mov.b32 %0, 0;\n\tmov.b32 %1, 0;\n\tmov.b32 %2, 0;\n\tmov.b32 %3, 0;\n\t"
                 "@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t}"
                 : "=&r"(v.x), "=&r"(v.y), "=&r"(v.z), "=&r"(v.w)
                 : "l"(p), "r"((u32)wanted));
    return v;
}

DEVICE void load_part(const struct small_args *a, const struct small_share *s, struct steps steps,
                      int lane, struct part_of_x *x)
{
    const int at = steps.first * STEP + lane % 4 * 8, token = s->token + lane / 4;
    const element *from = a->x + (s64)token * a->k + at;
#pragma unroll
    for (int i = 0; i < HELD; i++)
#pragma unroll
        for (int q = 0; q < 4; q++)
#pragma unroll
            for (int tile = 0; tile < TILES; tile++) {
                const int beyond = i * STEP + q * 32;
                x->units[i][q][tile] = load_x(
                    from + (s64)tile * 8 * a->k + beyond,
                    token + tile * 8 < a->m && (EVEN || (i < steps.count && at + beyond < a->k)));
            }
}

// Adds it up, as the product with ones.
DEVICE void sum_part(struct part_of_x *x)
{
#if GROUPED
#pragma unroll
    for (int i = 0; i < HELD; i++)
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
#pragma unroll
            for (int fold = 0; fold < FOLDS; fold++) {
                float c[4] = {};
#pragma unroll
                for (int q = fold * (4 / FOLDS); q < (fold + 1) * (4 / FOLDS); q++) {
                    const uint4 b = x->units[i][q][tile];
                    mma(c, PAIR_ONE, PAIR_ONE, PAIR_ONE, PAIR_ONE, b.x, b.y);
                    mma(c, PAIR_ONE, PAIR_ONE, PAIR_ONE, PAIR_ONE, b.z, b.w);
                }
                x->sums[i][fold][tile][0] = c[0];
                x->sums[i][fold][tile][1] = c[1];
            }
#else
    (void)x;
#endif
}

// ---- a record -----------------------------------------------------------------------------------

// Adds the sums of a fold to those in ordinary units, and starts them anew.
DEVICE void fold_in(const u8 *record, const struct part_of_x *x, int i, int fold,
                    float part[CHAINS][TILES][4], float sums[TILES][4])
{
#if GROUPED
    const int lane = (int)threadIdx.x % 32;
    const uint2 both = ((const uint2 *)(record + CODES_BYTES))[fold * 8 + lane / 4];
    const u32 low = both.x, high = both.y;
    const float ls = element_get((u16)low), hs = element_get((u16)high);
    const float lz = fmaf(-PAIR_OFFSET, ls, element_get((u16)(low >> 16)));
    const float hz = fmaf(-PAIR_OFFSET, hs, element_get((u16)(high >> 16)));
#else
    (void)record, (void)x, (void)i, (void)fold;
#endif
#pragma unroll
    for (int tile = 0; tile < TILES; tile++) {
        float *c = part[0][tile];
#pragma unroll
        for (int j = 0; j < 4; j += TOKENS == 1 ? 2 : 1) { // of one token every other is wanted
            const float sum = CHAINS == 2 ? c[j] + part[CHAINS - 1][tile][j] : c[j];
#if GROUPED
            sums[tile][j] = fmaf(j < 2 ? lz : hz, x->sums[i][fold][tile][j % 2], sums[tile][j]);
            sums[tile][j] = fmaf(j < 2 ? ls : hs, sum, sums[tile][j]);
#else
            sums[tile][j] += sum;
#endif
        }
#pragma unroll
        for (int j = 0; j < 4; j++)
            part[0][tile][j] = part[CHAINS - 1][tile][j] = 0.0f;
    }
}

// That of the warp's step number i.
DEVICE void use_record(const u8 *record, const struct part_of_x *x, int i, float sums[TILES][4])
{
    const uint4 *pieces = (const uint4 *)record + threadIdx.x % 32;
    const int units = GROUPED ? 4 / FOLDS : 4; // between two folds
    uint4 low, high;
    float part[CHAINS][TILES][4] = {};
#pragma unroll
    for (int q = 0; q < 4; q++) {
        u32 l[4], h[4];
        if (q % PIECE_UNITS == 0) {
            low = pieces[q / PIECE_UNITS * 64];
            high = pieces[q / PIECE_UNITS * 64 + 32];
        }
        const u32 lw[4] = {low.x, low.y, low.z, low.w};
        const u32 hw[4] = {high.x, high.y, high.z, high.w};
        decode_offset_pairs(lw + q % PIECE_UNITS * UNIT_WORDS, l);
        decode_offset_pairs(hw + q % PIECE_UNITS * UNIT_WORDS, h);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
            const uint4 b = x->units[i][q][tile];
            mma(part[0][tile], l[0], h[0], l[1], h[1], b.x, b.y);
            mma(part[CHAINS - 1][tile], l[2], h[2], l[3], h[3], b.z, b.w);
        }
        if ((q + 1) % units == 0)
            fold_in(record, x, i, q / units, part, sums);
    }
}

// ---- sums of other warps and blocks -------------------------------------------------------------

// All blocks of the cluster are there; what they have done is not waited for.
DEVICE void cluster_arrive()
{
#if SPLIT > 1
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

DEVICE void cluster_wait()
{
#if SPLIT > 1
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

DEVICE void store_part(float *to, float sums[TILES][4], int lane)
{
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int column = tile * 8 + lane % 4 * 2 + j % 2;
            if (TOKENS >= 8 || column < TOKENS)
                to[column * PITCH + j / 2 * 8 + lane / 4] = sums[tile][j];
        }
}

// Sum number i of the cluster's bands, which are [bands][TOKENS][BAND].
DEVICE void store_y(const struct small_args *a, const struct small_share *s,
                    const struct small_memory *mem, int i, float sum)
{
    const int at = i / BAND_SUMS * BAND + i % BAND, row = s->band * BAND + at;
    const int token = s->token + i % BAND_SUMS / BAND;
    if (row < a->n && token < a->m)
        a->y[(s64)token * a->n + row] = finish(sum, a->row_scales ? mem->row_scales : nullptr,
                                               a->bias ? mem->bias : nullptr, at, a->activation);
}

#if SPLIT == 1

// Adds up the warps' sums of `bands` bands from `band` on.
DEVICE void add_parts(const struct small_args *a, const struct small_share *s,
                      const struct small_memory *mem, const float *parts, int band, int bands,
                      int stage)
{
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < bands * BAND_SUMS; i += THREADS) {
        const float *from = parts + i / BAND * PITCH + i % BAND;
        const int at = band * BAND_SUMS + i;
        float sum = STAGES > 1 && stage > 0 ? mem->totals[at] : 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            sum += from[w * a->round_bands * PART];
        if (STAGES > 1 && stage < STAGES - 1)
            mem->totals[at] = sum;
        else
            store_y(a, s, mem, at, sum);
    }
}

#else

// Where an address of this block's shared memory is in that of block `rank` of the cluster.
DEVICE u32 address_in(u32 address, int rank)
{
    u32 there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

// Puts four sums into `results` of block `rank`, which waits for them at `arrived`.
DEVICE void send(const struct small_memory *mem, float4 *to, int rank, float4 v)
{
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], {%1, %2, %3, "
                 "%4}, [%5];" ::"r"(address_in(shared_address(to), rank)),
                 "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w), "r"(address_in(mem->arrived, rank))
                 : "memory");
}

// How many bands this block finishes: number rank, rank + SPLIT … of the cluster's.
DEVICE int own_bands(const struct small_share *s)
{
    return (s->bands + SPLIT - 1 - s->rank) / SPLIT;
}

// Before anything is sent here.
DEVICE void expect_results(const struct small_share *s, const struct small_memory *mem)
{
    barrier_init(mem->arrived);
    barriers_ready();
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(mem->arrived),
                 "r"(own_bands(s) * SPLIT * BAND_SUMS * 4)
                 : "memory");
}

// Adds up the warps' sums of `bands` bands from `band` on, four at a time.
DEVICE void add_parts(const struct small_args *a, const struct small_share *s,
                      const struct small_memory *mem, const float *parts, int band, int bands,
                      int stage)
{
    float4 *totals = (float4 *)mem->totals, *results = (float4 *)mem->results;
    const int quads = BAND_SUMS / 4; // of a band
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < bands * quads; i += THREADS) {
        const float4 *from = (const float4 *)(parts + i / 4 * PITCH) + i % 4;
        const int at = band * quads + i, own = at / quads;
        float4 sum = make_float4(0, 0, 0, 0);
        if (STAGES > 1 && stage > 0)
            sum = totals[at];
#pragma unroll 4
        for (int w = 0; w < WARPS; w++) {
            const float4 v = from[w * a->round_bands * (PART / 4)];
            sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
        }
        if (STAGES > 1 && stage < STAGES - 1)
            totals[at] = sum;
        else
            send(mem, results + (own / SPLIT * SPLIT + s->rank) * quads + at % quads, own % SPLIT,
                 sum);
    }
}

DEVICE void finish_bands(const struct small_args *a, const struct small_share *s,
                         const struct small_memory *mem)
{
    barrier_wait(mem->arrived, 0);
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < own_bands(s) * BAND_SUMS; i += THREADS) {
        const int own = i / BAND_SUMS * SPLIT;
        float sum = 0.0f;
#pragma unroll
        for (int rank = 0; rank < SPLIT; rank++)
            sum += mem->results[(own + rank) * BAND_SUMS + i % BAND_SUMS];
        store_y(a, s, mem, (own + s->rank) * BAND_SUMS + i % BAND_SUMS, sum);
    }
}

#endif

// ---- a block's share and memory -----------------------------------------------------------------

DEVICE struct small_share share_of_block(const struct small_args *a)
{
    const int cluster = (int)blockIdx.x / SPLIT;
    struct small_share s;
    s.rank = (int)blockIdx.x % SPLIT;
    s.token = 0;
    s.band = cluster * a->cluster_bands;
    if (a->m > TOKENS) {
        const int token_blocks = (a->m + TOKENS - 1) / TOKENS;
        s.token = cluster % token_blocks * TOKENS;
        s.band = cluster / token_blocks * a->cluster_bands;
    }
    s.bands = min(a->bands - s.band, a->cluster_bands);
    return s;
}

DEVICE struct small_memory memory_of(const struct small_args *a, u8 *memory, int warp)
{
    const int rounds = STAGES > 1 ? 2 : (a->cluster_bands + a->round_bands - 1) / a->round_bands;
    struct small_memory r;
    r.ring = memory + warp * DEPTH * SLOT;
    u8 *barriers = memory + WARPS * DEPTH * SLOT;
    r.barriers = shared_address(barriers) + warp * DEPTH * 8;
    r.arrived = shared_address(barriers) + WARPS * DEPTH * 8;
    r.parts = (float *)(barriers + WARPS * DEPTH * 8 + 16);
    r.results = r.parts + (rounds > 1 ? 2 : 1) * WARPS * a->round_bands * PART;
    r.totals =
        r.results + (SPLIT > 1 ? (a->cluster_bands + SPLIT - 1) / SPLIT * SPLIT * BAND_SUMS : 0);
    r.row_scales = r.totals + (STAGES > 1 ? a->cluster_bands * BAND_SUMS : 0);
    r.bias = (element *)(r.row_scales + a->cluster_bands * BAND);
    return r;
}

// What y is finished with, before it is waited for: at the end that would take as long as the rest.
DEVICE void load_finish(const struct small_args *a, const struct small_share *s,
                        const struct small_memory *mem)
{
#pragma unroll 1
    for (int i = (int)threadIdx.x; i < s->bands * BAND; i += THREADS) {
        const int row = min(s->band * BAND + i, a->n - 1);
        if (a->row_scales)
            mem->row_scales[i] = a->row_scales[row];
        if (a->bias)
            mem->bias[i] = a->bias[row];
    }
}

// ---- the whole ----------------------------------------------------------------------------------

// Where a warp is in its ring.
struct ring {
    struct feed feed;
    u32 parity;
};

// Waits for the next slot, and says where it is.
DEVICE const u8 *ring_wait(const struct ring *r, const struct small_memory *mem)
{
    copy_wait(mem->barriers + r->feed.slot * 8, r->parity);
    return mem->ring + r->feed.slot * SLOT;
}

// The slot is done with.
DEVICE void ring_next(struct ring *r, const struct small_args *a, const struct small_share *s,
                      const struct small_memory *mem, int lane)
{
    __syncwarp(); // all have read what is now copied over
    r->parity ^= r->feed.slot + 1 == DEPTH;
    feed_copy(&r->feed, a, s, mem, lane);
}

#if STEPS

// Adds up a band, of which x is there.
DEVICE void sum_bands(const struct small_args *a, const struct small_share *s,
                      const struct small_memory *mem, struct ring *r, struct steps steps, int lane,
                      bool more, struct part_of_x *x, float sums[BANDS][TILES][4])
{
    const u8 *slot = nullptr;
    (void)more;
#pragma unroll
    for (int i = 0; i < STEPS; i++) {
        if (i >= steps.count)
            break;
        if (i % CHUNK == 0)
            slot = ring_wait(r, mem);
        use_record(slot + i % CHUNK * RECORD, x, i, sums[0]);
        if (i % CHUNK == CHUNK - 1 || i + 1 == steps.count)
            ring_next(r, a, s, mem, lane);
    }
}

#else

// Adds up BANDS bands. On entry the loads of x's first step are in flight; if `more` bands follow,
// those of the next one are issued during the last step.
DEVICE void sum_bands(const struct small_args *a, const struct small_share *s,
                      const struct small_memory *mem, struct ring *r, struct steps steps, int lane,
                      bool more, struct part_of_x *next, float sums[BANDS][TILES][4])
{
#pragma unroll 1
    for (int i = 0; i < steps.count; i++) {
        struct part_of_x x = *next;
        const u8 *slot = nullptr;
        if (i + 1 < steps.count || more)
            load_part(a, s, {steps.first + (i + 1 < steps.count ? i + 1 : 0), 1}, lane, next);
        sum_part(&x);
#pragma unroll
        for (int band = 0; band < BANDS; band++) {
            if (band % CHUNK == 0)
                slot = ring_wait(r, mem);
            use_record(slot + band % CHUNK * RECORD, &x, 0, sums[band]);
            if (band % CHUNK == CHUNK - 1)
                ring_next(r, a, s, mem, lane);
        }
    }
}

#endif

// Blocks of the grid: those of a cluster, then those of all tokens, then those of all bands.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
#if SPLIT > 1
    __cluster_dims__(SPLIT, 1, 1)
#endif
        linear_small(const __grid_constant__ struct small_args args)
{
    extern __shared__ uint4 memory[];
    const struct small_args *a = &args;
    const int warp = warp_number(), lane = (int)threadIdx.x % 32;
    const struct small_share s = share_of_block(a);
    const struct small_memory mem = memory_of(a, (u8 *)memory, warp);

    next_may_begin();
    if (lane < DEPTH) {
        barrier_init(mem.barriers + lane * 8);
        barriers_ready();
    }
    __syncwarp();
    struct ring r;
    r.parity = 0;
    r.feed.slot = 0;
    feed_seek(&r.feed, a, &s, 0);
#pragma unroll 1
    for (int d = 0; d < AHEAD; d++)
        feed_copy(&r.feed, a, &s, &mem, lane);
#if SPLIT > 1
    if (threadIdx.x == 0)
        expect_results(&s, &mem);
#endif
    cluster_arrive();
    await_previous();
    struct part_of_x x;
    load_part(a, &s, steps_of(a, &s, 0), lane, &x);
#pragma unroll 1
    for (int d = AHEAD; d < DEPTH; d++)
        feed_copy(&r.feed, a, &s, &mem, lane);
    load_finish(a, &s, &mem);

    int turn = 0;
#pragma unroll 1
    for (int stage = 0; stage < STAGES; stage++) {
        const struct steps steps = steps_of(a, &s, stage);
        if (stage > 0)
            load_part(a, &s, steps, lane, &x);
        if (STEPS)
            sum_part(&x);
#pragma unroll 1
        for (int round = 0; round < s.bands; round += a->round_bands, turn ^= 1) {
            const int bands = min(a->round_bands, s.bands - round);
            float *parts = mem.parts + turn * WARPS * a->round_bands * PART;
#pragma unroll 1
            for (int band = 0; band < bands; band += BANDS) {
                float sums[BANDS][TILES][4] = {};
                sum_bands(a, &s, &mem, &r, steps, lane, round + band + BANDS < s.bands, &x, sums);
#pragma unroll
                for (int i = 0; i < BANDS; i++)
                    store_part(parts + (warp * a->round_bands + band + i) * PART, sums[i], lane);
            }
            __syncthreads();
            if (stage + round == 0)
                cluster_wait(); // all blocks can be sent to
            add_parts(a, &s, &mem, parts, round, bands, stage);
        }
    }
#if SPLIT > 1
    finish_bands(a, &s, &mem);
#endif
}

// ---- making records -----------------------------------------------------------------------------

struct pack_args {
    const u8 *codes;               // [n] rows
    const element *scales, *zeros; // [n][k >> group_shift], or NULL
    u8 *records;
    int k, n, group_shift, bands, steps;
};

// The band and step of a record.
struct position {
    s64 band, step;
};

DEVICE struct position position_of(const struct pack_args *a, s64 record)
{
    const s64 step = record / BANDS; // counted on through all bands
    return {step / a->steps * BANDS + record % BANDS, step % a->steps};
}

// Piece i of all records; zeros where W ends.
DEVICE void pack_piece(const struct pack_args *a, s64 i)
{
    const int pieces = CODES_BYTES / 16;
    const s64 record = i / pieces;
    const int p = (int)(i % pieces), lane = p % 32, unit = p / 64 * PIECE_UNITS;
    const struct position position = position_of(a, record);
    const s64 row = position.band * BAND + p / 32 % 2 * 8 + lane / 4;
    const s64 at = position.step * STEP + lane % 4 * 8;
    u32 words[4] = {};
#pragma unroll
    for (int q = 0; q < PIECE_UNITS; q++) {
        const s64 element_at = at + (unit + q) * 32;
        if (row < a->n && element_at < a->k) {
            const u32 *from = (const u32 *)a->codes + (row * a->k + element_at) / 8 * UNIT_WORDS;
#pragma unroll
            for (int w = 0; w < UNIT_WORDS; w++)
                words[q * UNIT_WORDS + w] = order_for_pairs(from[w]);
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
    const struct position position = position_of(a, record);
    const s64 row = position.band * BAND + p % 2 * 8 + p / 2 % 8; // g, then g + 8
    const s64 at = position.step * STEP + p / BAND * (STEP / FOLDS);
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
