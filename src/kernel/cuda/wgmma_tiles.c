/* wgmma_tiles.c: the choice of tiles for wgmma_tiles.cuh. */
#include "kernel/cuda/wgmma_tiles.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 384, CONSUMERS = 2 };

/* The largest first. The sums of 8-bit floats are kept twice (PROMOTE), so a warpgroup has
 * registers for 64 x 128 of them at a time. Measured but for the tiles of 96, 160 and 192 columns:
 * a block's loads arrive at some 64 bytes a cycle, which explains what the other tiles cost and
 * gives theirs.
 */
static const struct wgmma_tile plain_tiles[] = {{1, 256, 4, 0, 1, 1},    {1, 192, 5, 0, 1.01, 1},
                                                {1, 160, 6, 0, 1.02, 1}, {1, 128, 6, 0, 1.03, 1},
                                                {1, 96, 7, 0, 1.2, 1},   {1, 64, 8, 0, 1.6, 1}};
static const struct wgmma_tile promoted_tiles[] = {
    {2, 128, 4, 0, 1, 1}, {1, 128, 6, 0, 1.12, 1}, {1, 96, 7, 0, 1.2, 1}, {1, 64, 8, 0, 1.33, 1}};
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

int32_t assay_wgmma_rows(const struct wgmma_tile *t)
{
    return CONSUMERS * WGMMA_GROUP_ROWS * t->waves;
}

static int64_t count_tiles(const struct wgmma_product *p, const struct wgmma_tile *t)
{
    return assay_ceil_div(p->m, assay_wgmma_rows(t)) * assay_ceil_div(p->n, t->columns);
}

/* How many clusters the GPU holds at once. They do not cross the parts it is made of: of 4 blocks,
 * 30 fit into an H200's 132 SMs and not 33. */
static int64_t clusters_at_once(const struct wgmma_product *p, int32_t blocks)
{
    return blocks < 4 ? p->sms / blocks : assay_ceil_div((int64_t)p->sms * 30, 132);
}

/* Sharing pays only where all blocks fit the GPU at once, and not for few rows: then weights are
 * all there is to load, once with any tile. The epilogue takes 32 columns at a time; tiles of 256
 * would run out of registers. */
static bool can_split(const struct wgmma_product *p, const struct wgmma_tile *t)
{
    if (t->split == 1)
        return true;
    return p->m > WGMMA_GROUP_ROWS && t->columns <= 128 && t->columns % (32 * t->split) == 0 &&
           count_tiles(p, t) <= clusters_at_once(p, t->split) && p->steps >= t->split;
}

/* In steps of the best tile's outputs: how often the GPU is filled, times a tile's work. A shared
 * tile's sums are written, waited for and read from the neighbours: some 1500 cycles, and 32 bytes
 * a cycle, of which a step of 128 x 256 has 982. */
static double time_of(const struct wgmma_product *p, const struct wgmma_tile *t)
{
    const double cycle = 128 * 256 / 982.0, meeting = 1500;
    double outputs = (double)assay_wgmma_rows(t) * t->columns;
    double others = 4 * outputs * (t->split - 1) / t->split;
    double sharing = t->split == 1 ? 0 : (meeting + others / 32) * cycle;
    int64_t rounds = assay_ceil_div(count_tiles(p, t) * t->split, p->sms);
    return (double)rounds *
           ((double)assay_ceil_div(p->steps, t->split) * outputs * t->cost + sharing);
}

/* Adds a tile where it belongs, the fastest first; the slowest falls off a full list. */
static int add_tile(const struct wgmma_product *p, const struct wgmma_tile *t,
                    struct wgmma_tile *list, int n)
{
    int at = n;
    while (at > 0 && time_of(p, t) < time_of(p, &list[at - 1]))
        at--;
    if (at == CUDA_CANDIDATES)
        return n;
    if (n < CUDA_CANDIDATES)
        n++;
    memmove(&list[at + 1], &list[at], (size_t)(n - 1 - at) * sizeof *list);
    list[at] = *t;
    return n;
}

int assay_wgmma_tiles(const struct wgmma_product *p, struct wgmma_tile *out)
{
    enum { MOST_BLOCKS = 4 }; /* of a cluster */
    const struct wgmma_tile *tiles = p->promoted ? promoted_tiles : plain_tiles;
    size_t count = p->promoted ? COUNT(promoted_tiles) : COUNT(plain_tiles);
    int n = 0;
    for (size_t i = 0; i < count; i++)
        for (int32_t split = 1; split <= MOST_BLOCKS; split *= 2) {
            struct wgmma_tile t = tiles[i];
            t.split = split;
            if (can_split(p, &t))
                n = add_tile(p, &t, out, n);
        }
    return n;
}

static size_t shared_bytes(const struct wgmma_tile *t)
{
    enum { BARRIERS = 16, ALIGNMENT = 1024 };
    size_t stage = (size_t)(assay_wgmma_rows(t) + t->columns) * WGMMA_STEP_BYTES + BARRIERS;
    return ALIGNMENT + (size_t)t->stages * stage;
}

/* One block for each SM, or for each tile where there are fewer; of shared tiles all their blocks.
 */
struct assay_cuda_launch assay_wgmma_launch(const struct wgmma_product *p,
                                            const struct wgmma_tile *t)
{
    int64_t tiles = count_tiles(p, t);
    return (struct assay_cuda_launch){
        .grid_x = (unsigned)(t->split > 1 || tiles < p->sms ? tiles * t->split : p->sms),
        .threads = THREADS,
        .shared_bytes = (unsigned)shared_bytes(t),
    };
}

void assay_wgmma_options(const struct wgmma_product *p, const struct wgmma_tile *t, char *text,
                         size_t size)
{
    snprintf(text, size, "-DWAVES=%d -DBLOCK_N=%d -DSTAGES=%d -DSPLIT=%d -DPROMOTE=%d -DORDER=%d",
             t->waves, t->columns, t->stages, t->split, p->promoted, t->order);
}
