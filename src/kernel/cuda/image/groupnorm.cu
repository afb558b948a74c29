// groupnorm.cu: groups of channels normalised over a whole image; channels are last.
//
// Compile with -DELEMENT=… and -DVECTOR=…, see row.cuh, and
//   -DITEMS=…    items of x a thread holds in registers
//   -DSUB=…      sums a thread keeps: 1 where an item lies within one group, else UNIT
//   -DSILU=…     1: silu of the output
//   -DSAVE=…     1: the statistics of each image and group are left for the gradient, too
//   -DPASS=…     a PASS_… below
//   -DCLUSTER=…  of PASS_HELD: the blocks of a cluster
//
// A block has a chunk of pixels and a slice of the channels, whole groups: each thread has one
// column of items, and the same of every `rows`th pixel. HELD: the chunks of a slice are a
// cluster's blocks, which tell each other their sums; x stays in registers and is read once. Where
// it does not fit: SUMS leaves the sums in memory, and the block that comes last makes norms of
// them; APPLY then reads x once more.
//
// Variance: a block takes the mean of the pixels it holds, then sums x - mean and its square over
// its chunk, in floats; in SUMS the chunk is `turns` times what it holds. Because those pixels are
// part of the chunk, mean and true mean differ by at most sqrt(turns) deviations: next to nothing
// cancels, however far from 0 a group lies. Chunks are put together in double. Groups whose sums do
// not fit in a float are summed once more, scaled down by TINY.
#define FORM 0
#include "row.cuh"

#define PASS_HELD 1
#define PASS_SUMS 2
#define PASS_APPLY 3

#define GROUPS_MOST 256

#define TINY 0x1p-80f

// 512 threads of an SM where each has much to hold, else 1024.
#define BLOCKS ((HOLD > 8 || SUB > 1 || PASS == PASS_SUMS ? 512 : 1024) / THREADS)

struct shape {
    s64 pixels, row_items;      // of an image; items from one pixel to the next
    s64 chunk;                  // pixels of a block
    u32 chunks, slices;         // of a slice, of an image
    u32 columns, rows;          // items of a slice beside each other, pixels at a time
    u32 groups, of_group, span; // of a slice, channels of a group, sums of one pixel for a group
    u32 turns;                  // of SUMS
    double eps, inverse;        // inverse: of the elements of a group
};

struct moments {
    double mean, square; // the sum of (x - mean)^2
};

struct norm {
    float shift, scale, offset; // normalised: (x - shift) * scale + offset
};

struct block {
    u32 chunk, slice, column, row;
    s64 slice_number; // through all images
    s64 first, end;   // pixels
    s64 at;           // the first item of this thread's column in the image
    bool idle;
};

DEVICE struct block block_of(struct shape s)
{
    struct block b;
    u32 number = blockIdx.x / s.chunks;
    b.chunk = blockIdx.x % s.chunks;
    b.slice_number = number;
    b.slice = number % s.slices;
    b.column = threadIdx.x % s.columns;
    b.row = threadIdx.x / s.columns;
    b.idle = b.row >= s.rows;
    b.first = b.chunk * s.chunk;
    b.end = b.first + s.chunk < s.pixels ? b.first + s.chunk : s.pixels;
    b.at = (s64)(number / s.slices) * s.pixels * s.row_items + b.slice * s.columns + b.column;
    return b;
}

// Pixel number i of this thread; false: there is none.
DEVICE bool pixel_of(struct shape s, struct block b, int i, s64 *item_at)
{
    s64 pixel = b.first + b.row + (s64)i * s.rows;
    *item_at = b.at + pixel * s.row_items;
    return !b.idle && pixel < b.end;
}

// The group of sum number i of this thread, within the slice.
DEVICE u32 group_of(struct shape s, struct block b, int i)
{
    return (b.column * UNIT + (SUB == 1 ? 0 : i)) / s.of_group;
}

DEVICE void load_items(const element *x, struct shape s, struct block b, item (&u)[HOLD])
{
#pragma unroll
    for (int i = 0; i < HOLD; i++) {
        s64 at;
        bool wanted = pixel_of(s, b, i, &at);
        u[i] = item_get(x, at, wanted, 0);
    }
}

// ---- sums of a chunk ----------------------------------------------------------------------------

#if PASS != PASS_APPLY

__shared__ struct sums parts[THREADS * SUB];
__shared__ struct sums totals[GROUPS_MOST];
__shared__ float factors[GROUPS_MOST];

// Every thread's sums, added up for each group: a warp has a group at a time.
DEVICE void sum_groups(struct shape s, const struct sums (&mine)[SUB])
{
    u32 lane = threadIdx.x % 32, stride = s.columns * SUB;
    __syncthreads(); // nobody reads those of an earlier call any more
#pragma unroll
    for (int i = 0; i < SUB; i++)
        parts[threadIdx.x * SUB + i] = mine[i];
    __syncthreads();
    for (u32 group = threadIdx.x / 32; group < s.groups; group += blockDim.x / 32) {
        struct sums sums = {0, 0};
        for (u32 k = lane; k < s.span * s.rows; k += 32)
            sums = plus::of(sums, parts[k / s.span * stride + group * s.span + k % s.span]);
        sums = lanes_reduce<plus>(sums, 32);
        if (lane == 0)
            totals[group] = sums;
    }
    __syncthreads();
}

// Sums that a thread adds to in turn, so that one addition need not wait for the one before.
#define CHAINS (SUB == 1 ? 4 : SUB)

DEVICE void chains_sum(const struct sums (&chains)[CHAINS], struct sums (&mine)[SUB])
{
#pragma unroll
    for (int i = 0; i < SUB; i++)
        mine[i] = chains[i];
    if (SUB == 1)
        mine[0] = plus::of(plus::of(chains[0], chains[1]),
                           plus::of(chains[CHAINS - 2], chains[CHAINS - 1]));
}

// The items' x times factor, less mean, and the squares.
DEVICE void add_items(struct shape s, struct block b, const item (&u)[HOLD],
                      const float (&factor)[SUB], const float (&mean)[SUB],
                      struct sums (&chains)[CHAINS])
{
#pragma unroll
    for (int i = 0; i < HOLD; i++) {
        s64 at;
        float v[UNIT];
        bool wanted = pixel_of(s, b, i, &at);
        item_unpack(u[i], v);
#pragma unroll
        for (int j = 0; j < UNIT; j++) {
            struct sums *chain = &chains[(SUB == 1 ? i * UNIT + j : j) % CHAINS];
            float d = wanted ? fmaf(v[j], factor[j % SUB], -mean[j % SUB]) : 0.0f;
            chain->a += d;
            chain->b = fmaf(d, d, chain->b);
        }
    }
}

// Leaves the mean of what is held in `means`, and around it the sums over the chunk in `totals`;
// all times `factors`.
DEVICE void sum_chunk(const element *x, struct shape s, struct block b, const item (&u)[HOLD],
                      float *means)
{
    struct sums chains[CHAINS], mine[SUB];
    float v[UNIT], factor[SUB], mean[SUB];
    s64 held = b.end - b.first < HOLD * (s64)s.rows ? b.end - b.first : HOLD * (s64)s.rows;
    float inverse = 1.0f / (float)(held * s.of_group);
#pragma unroll
    for (int i = 0; i < SUB; i++)
        factor[i] = factors[group_of(s, b, i)];
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        chains[i] = {0, 0};
#pragma unroll
    for (int i = 0; i < HOLD; i++) {
        item_unpack(u[i], v);
#pragma unroll
        for (int j = 0; j < UNIT; j++) {
            struct sums *chain = &chains[(SUB == 1 ? i * UNIT + j : j) % CHAINS];
            chain->a = fmaf(v[j], factor[j % SUB], chain->a);
        }
    }
    chains_sum(chains, mine);
    sum_groups(s, mine);
#pragma unroll
    for (int i = 0; i < SUB; i++)
        mean[i] = totals[group_of(s, b, i)].a * inverse;
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        chains[i] = {0, 0};
    for (u32 group = threadIdx.x; group < s.groups; group += blockDim.x)
        means[group] = totals[group].a * inverse;
    add_items(s, b, u, factor, mean, chains);
#if PASS == PASS_SUMS
    for (u32 turn = 1; turn < s.turns; turn++) {
        item next[HOLD];
        b.first += HOLD * (s64)s.rows;
        load_items(x, s, b, next);
        add_items(s, b, next, factor, mean, chains);
    }
#endif
    chains_sum(chains, mine);
    sum_groups(s, mine);
}

DEVICE double chunk_count(struct shape s, u32 chunk)
{
    s64 first = chunk * s.chunk, left = s.pixels - first;
    return (double)((left < s.chunk ? left : s.chunk) * s.of_group);
}

// The moments of each group of this chunk.
DEVICE void chunk_moments(const element *x, struct shape s, struct block b, const item (&u)[HOLD],
                          struct moments *out)
{
    __shared__ float means[GROUPS_MOST];
    for (u32 group = threadIdx.x; group < s.groups; group += blockDim.x)
        factors[group] = 1.0f;
    __syncthreads();
    sum_chunk(x, s, b, u, means);
    bool odd = false;
    for (u32 group = threadIdx.x; group < s.groups; group += blockDim.x)
        if (!(totals[group].b <= FLOAT_MOST)) {
            factors[group] = TINY;
            odd = true;
        }
    if (__syncthreads_or(odd))
        sum_chunk(x, s, b, u, means);
    double count = chunk_count(s, b.chunk);
    float inverse = 1.0f / (float)count; // what it is multiplied by is small
    for (u32 group = threadIdx.x; group < s.groups; group += blockDim.x) {
        double rest = (double)(totals[group].a * inverse), mean = (double)means[group] + rest;
        double square = (double)totals[group].b - rest * rest * count;
        square = square < 0 ? 0 : square;
        if (factors[group] != 1.0f) {
            mean /= (double)TINY;
            square /= (double)TINY * (double)TINY;
        }
        out[group] = {mean, square};
    }
    __syncthreads();
}

// ---- chunks together ----------------------------------------------------------------------------

#if PASS == PASS_HELD
#if CLUSTER > 1
#define CLUSTER_DIMS __cluster_dims__(CLUSTER, 1, 1)
// Others see what was written to shared memory before; the relaxed one promises nothing, and does
// not hold back what comes behind it.
DEVICE void cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
DEVICE void cluster_arrive_relaxed(void)
{
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
DEVICE void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// `mine` is in shared memory, at the same address in every block of the cluster.
DEVICE struct moments moments_get(const struct moments *mine, u32 chunk, u32 group, u32 groups)
{
    u32 here = (u32)__cvta_generic_to_shared(mine + group), there;
    struct moments m;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(chunk));
    asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];"
                 : "=d"(m.mean), "=d"(m.square)
                 : "r"(there)
                 : "memory");
    return m;
}
#else
#define CLUSTER_DIMS
DEVICE void cluster_arrive(void) {}
DEVICE void cluster_arrive_relaxed(void) {}
DEVICE void cluster_wait(void) {}
DEVICE struct moments moments_get(const struct moments *mine, u32 chunk, u32 group, u32 groups)
{
    return mine[group];
}
#endif
#else
DEVICE struct moments moments_get(const struct moments *all, u32 chunk, u32 group, u32 groups)
{
    const struct moments *m = all + chunk * groups + group;
    return {__ldcg(&m->mean), __ldcg(&m->square)};
}
#endif

// 1 / sqrt(v), also where v is beyond the range of floats; NaN stays NaN.
DEVICE float root_reciprocal(double v)
{
    return v > (double)FLOAT_MOST ? (float)(1 / sqrt(v)) : rsqrtf((float)v);
}

// For the gradient, [images, groups]; NULL without SAVE.
struct saved {
    float *mean, *rstd;
};

DEVICE struct saved saved_none(void) { return {nullptr, nullptr}; }

// A warp has a group at a time, its lanes the chunks. `slice` is its number through all images.
DEVICE void make_norms(struct shape s, const struct moments *moments, struct norm *norms,
                       struct saved saved, s64 slice)
{
    u32 lane = threadIdx.x % 32;
    for (u32 group = threadIdx.x / 32; group < s.groups; group += blockDim.x / 32) {
        double mean = 0, square = 0;
#pragma unroll 4
        for (u32 chunk = lane; chunk < s.chunks; chunk += 32)
            mean += moments_get(moments, chunk, group, s.groups).mean * chunk_count(s, chunk);
        mean = lanes_reduce<plus>(mean, 32) * s.inverse;
#pragma unroll 4
        for (u32 chunk = lane; chunk < s.chunks; chunk += 32) {
            struct moments m = moments_get(moments, chunk, group, s.groups);
            square += m.square + (m.mean - mean) * (m.mean - mean) * chunk_count(s, chunk);
        }
        square = lanes_reduce<plus>(square, 32) * s.inverse;
        float shift = (float)mean, scale = root_reciprocal(square + s.eps);
        if (lane == 0)
            norms[group] = {shift, scale, (float)((double)shift - mean) * scale};
#if SAVE
        if (lane == 0 && saved.rstd) {
            saved.mean[slice * s.groups + group] = shift;
            saved.rstd[slice * s.groups + group] = scale;
        }
#endif
    }
}
#endif

// ---- outputs ------------------------------------------------------------------------------------

#if PASS != PASS_SUMS
DEVICE float output(float x, struct norm norm, float gamma, float beta)
{
    float y = fmaf((x - norm.shift) * norm.scale, gamma, beta);
#if SILU
    return y * fast_reciprocal(1.0f + element_exp(-y));
#else
    return y;
#endif
}

// `norms` are the slice's.
DEVICE void apply_items(const element *gamma, const element *beta, element *out, struct shape s,
                        struct block b, const struct norm *norms, const item (&u)[HOLD])
{
    float g[UNIT], a[UNIT], v[UNIT];
    struct norm norm[SUB];
    item_load_kept(gamma, b.slice * s.columns + b.column, true, g);
    item_load_kept(beta, b.slice * s.columns + b.column, true, a);
#pragma unroll
    for (int i = 0; i < SUB; i++)
        norm[i] = norms[b.idle ? 0 : group_of(s, b, i)];
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        a[j] = fmaf(norm[j % SUB].offset, g[j], a[j]);
#pragma unroll
    for (int i = 0; i < HOLD; i++) {
        s64 at;
        bool wanted = pixel_of(s, b, i, &at);
        item_unpack(u[i], v);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            v[j] = output(v[j], norm[j % SUB], g[j], a[j]);
        item_store(out, at, wanted, v);
    }
}
#endif

// ---- kernels ------------------------------------------------------------------------------------

#if PASS == PASS_HELD
// Keeps the compiler from holding the addresses of all items in registers until their next use.
DEVICE void forget_places(struct block *b) { asm volatile("" : "+l"(b->at), "+l"(b->first)); }

extern "C" __global__ void CLUSTER_DIMS __launch_bounds__(THREADS, BLOCKS)
    groupnorm_held(const element *x, const element *gamma, const element *beta, element *out,
                   struct shape s, struct saved saved)
{
    __shared__ __align__(16) struct moments moments[GROUPS_MOST];
    __shared__ struct norm norms[GROUPS_MOST];
    struct block b = block_of(s);
    item u[HOLD];
    load_items(x, s, b, u);
    forget_places(&b);
    chunk_moments(x, s, b, u, moments);
    forget_places(&b);
    cluster_arrive();
    cluster_wait();
    // The first block of a cluster saves for all.
    make_norms(s, moments, norms, b.chunk == 0 ? saved : saved_none(), b.slice_number);
    cluster_arrive_relaxed(); // the others' moments have been read
    __syncthreads();
    apply_items(gamma, beta, out, s, b, norms, u);
    cluster_wait();
}
#endif

#if PASS == PASS_SUMS
// Has every block of this slice left its moments? The ticket is 0 before and after.
DEVICE bool comes_last(u32 *ticket, u32 blocks)
{
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence(); // the moments before the ticket
        last = atomicAdd(ticket, 1) == blocks - 1;
        if (last)
            *ticket = 0;
        __threadfence(); // and the others' behind it
    }
    __syncthreads();
    return last;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    groupnorm_sums(const element *x, struct shape s, struct moments *moments, struct norm *norms,
                   u32 *tickets, struct saved saved)
{
    struct block b = block_of(s);
    item u[HOLD];
    load_items(x, s, b, u);
    moments += b.slice_number * s.chunks * s.groups;
    chunk_moments(x, s, b, u, moments + b.chunk * s.groups);
    if (comes_last(tickets + b.slice_number, s.chunks))
        make_norms(s, moments, norms + b.slice_number * s.groups, saved, b.slice_number);
}
#endif

#if PASS == PASS_APPLY
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    groupnorm_apply(const element *x, const element *gamma, const element *beta, element *out,
                    struct shape s, const struct norm *norms)
{
    struct block b = block_of(s);
    item u[HOLD];
    load_items(x, s, b, u);
    apply_items(gamma, beta, out, s, b, norms + b.slice_number * s.groups, u);
}
#endif
