/* wgmma_tiles.h: how the products of wgmma_tiles.cuh are cut: which tiles there are, and
 * which are likely the fastest. */
#ifndef ASSAY_KERNEL_CUDA_WGMMA_TILES_H
#define ASSAY_KERNEL_CUDA_WGMMA_TILES_H

#include "device/cuda/cuda.h"
#include "kernel/cuda/autotune.h"

enum { WGMMA_STEP_BYTES = 128, WGMMA_GROUP_ROWS = 64 };

/* How y is cut. */
struct wgmma_tile {
    int32_t waves, columns; /* 128 * waves rows */
    int32_t stages;
    int32_t order; /* with PROMOTE: do warpgroups take turns? */
    double cost;   /* of one output, relative to the best tile: smaller ones reread more */
    int32_t split; /* blocks that share a tile, each with a part of k */
};

struct wgmma_product {
    int64_t m, n, steps; /* rows of x, rows of W, steps of 128 bytes along k */
    int32_t sms;
    bool promoted; /* PROMOTE: sums are kept twice */
};

/* The tiles that can do it, the likely fastest first; returns how many. */
int assay_wgmma_tiles(const struct wgmma_product *product, struct wgmma_tile *out);
/* Rows of x in a tile. */
int32_t assay_wgmma_rows(const struct wgmma_tile *tile);
struct assay_cuda_launch assay_wgmma_launch(const struct wgmma_product *product,
                                            const struct wgmma_tile *tile);
/* The options of a tile: "-DWAVES=… -DBLOCK_N=… -DSTAGES=… -DSPLIT=… -DPROMOTE=… -DORDER=…". */
void assay_wgmma_options(const struct wgmma_product *product, const struct wgmma_tile *tile,
                         char *text, size_t size);

#endif
