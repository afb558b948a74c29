// conv2d_wgmma.cu: conv2d with Hopper's warpgroup products (wgmma_tiles.cuh, which says what to
// compile with): y [m, out] = x W^T + bias + residual, where row m of x is the window of one pixel
// of y, kernel * kernel * in elements.
//
// Those rows are nowhere in memory. The copy engine gathers them as it goes (im2col mode): for one
// tap (ky, kx) of the kernel and 64 channels, it walks over the images from the first pixel of a
// tile on, each time one stride to the right, at the end of a line to the next, and brings zeros
// where it is outside of an image, which is the padding. Channels behind the last are zeros too, in
// x and in W [out][kernel * kernel][in], so `in` need not be a multiple of 64.
#include "types.cuh"

#include "kernel_math.cuh"
#include "wgmma_tiles.cuh"

// What conv2d_wgmma_cuda.c knows of the images.
struct images {
    u32 out_height, out_width, in, kernel, stride, pad;
};

// BLOCK_M pixels from (image, top, left) on, moved by (ky, kx), ELEMENT_K channels of each.
DEVICE void load_pixels(u32 to, const struct tensor_map *map, int channel, int left, int top,
                        int image, u32 kx, u32 ky, u32 full)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
        " [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(to),
        "l"(map), "r"(channel), "r"(left), "r"(top), "r"(image), "r"(full), "h"((u16)kx),
        "h"((u16)ky)
        : "memory");
}

struct loads {
    const struct tensor_map *x, *w;
    const struct images *images;

    struct cursor {
        int image, top, left, column;
        u32 channel, kx, ky;
    };

    __device__ __forceinline__ struct cursor at(u32 row, u32 column, u32 step) const
    {
        const u32 line = row / images->out_width, left = row % images->out_width;
        const u32 image = line / images->out_height, top = line % images->out_height;
        const u32 chunks = (images->in + ELEMENT_K - 1) / ELEMENT_K, tap = step / chunks;
        return {(int)image,
                (int)(top * images->stride) - (int)images->pad,
                (int)(left * images->stride) - (int)images->pad,
                (int)column,
                step % chunks * ELEMENT_K,
                tap % images->kernel,
                tap / images->kernel};
    }

    __device__ __forceinline__ void step(struct cursor *p, u32 to_x, u32 to_w, u32 full) const
    {
        load_pixels(to_x, x, (int)p->channel, p->left, p->top, p->image, p->kx, p->ky, full);
        // the filters from `column` on, ELEMENT_K channels at one tap of the kernel
        load_box(to_w, w, (int)p->channel, (int)(p->ky * images->kernel + p->kx), p->column, full);
        p->channel += ELEMENT_K;
        if (p->channel < images->in)
            return;
        p->channel = 0;
        if (++p->kx == images->kernel) {
            p->kx = 0;
            p->ky++;
        }
    }
};

TILES_KERNEL conv2d_wgmma(const __grid_constant__ struct tensor_map x,
                        const __grid_constant__ struct tensor_map w, y_t *y, const void *bias,
                        const y_t *residual, const struct images images, u32 m, u32 n)
{
    const struct loads loads = {&x, &w, &images};
    const struct epilogue e = {y, 0, 0, 0, 0, bias, residual, m, n};
    const u32 chunks = (images.in + ELEMENT_K - 1) / ELEMENT_K;
    multiply_tiles(loads, images.kernel * images.kernel * chunks, e);
}
