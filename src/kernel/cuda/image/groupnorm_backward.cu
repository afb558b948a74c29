// groupnorm_backward.cu: the gradients of groupnorm, from the saved statistics of each image and
// group; channels are last.
//
// Compile with -DELEMENT=… and -DVECTOR=…, see row.cuh, and -DSILU=1 where silu is behind the norm;
// -DWIDE=1 where the number of items does not fit in 31 bits.
//
// With xhat = (x - mean) rstd, g = dz gamma, dz = dy, or dy silu'(xhat gamma + beta):
//     dx = rstd (g - mean(g) - xhat mean(g xhat)), means over an image's group
//     dgamma = sum of dz xhat over all images and pixels, dbeta = sum of dz
//
// All sums are sums of those of a channel over some pixels, which `sums` leaves in parts
// (columns.cuh): `means` makes the means of each group of them, and `finish` dgamma and dbeta. `put`
// then reads dy and x once more.
#define FORM 0
#include "row.cuh"

#define COLUMN_SUMS 2
#include "columns.cuh"

#if WIDE
typedef s64 number;
#else
typedef u32 number;
#endif

struct tensors {
    const element *dy, *x, *gamma, *beta; // beta with SILU
    const float *mean, *rstd;
    element *dx;
    float *parts;        // [images, chunks, 2, channels]
    struct sums *means;  // [images, groups]
    s64 pixels, channels;
    u32 groups, of_group; // of an image, channels of a group
    u32 chunks;           // of the pixels of an image
    float inverse;        // 1 / elements of a group
};

// dz and xhat of one item of an image, from channel `channel` on.
DEVICE void slopes(const struct tensors *t, s64 image, s64 channel, bool wanted, item dy, item x,
                   float *dz, float *xhat, float *rstd, float *gamma)
{
    float beta[UNIT];
    item_load_kept(t->gamma, channel / UNIT, wanted, gamma);
    if (SILU)
        item_load_kept(t->beta, channel / UNIT, wanted, beta);
    item_unpack(dy, dz);
    item_unpack(x, xhat);
#pragma unroll
    for (int j = 0; j < UNIT; j++) {
        s64 group = image * t->groups + (wanted ? (u32)(channel + j) / t->of_group : 0);
        rstd[j] = t->rstd[group];
        xhat[j] = (xhat[j] - t->mean[group]) * rstd[j];
        if (SILU)
            dz[j] *= silu_slope(fmaf(xhat[j], gamma[j], beta[j]));
    }
}

// A block has 32 items side by side, a lane each, of one chunk of the pixels of an image, of which
// its 8 warps take every 8th: blockIdx.x items, .y chunks, .z images.
enum { WARPS = 8 };

extern "C" __global__ void __launch_bounds__(32 * WARPS) groupnorm_backward_sums(struct tensors t)
{
    __shared__ struct column_sums warps[WARPS][32];
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    s64 row_items = t.channels / UNIT, column = (s64)blockIdx.x * 32 + lane, image = blockIdx.z;
    s64 chunk = (t.pixels + t.chunks - 1) / t.chunks, first = blockIdx.y * chunk;
    s64 end = first + chunk < t.pixels ? first + chunk : t.pixels;
    bool wanted = column < row_items;
    struct column_sums sums;
    float dz[UNIT], xhat[UNIT], rstd[UNIT], gamma[UNIT];
    columns_clear(&sums);
#pragma unroll 4
    for (s64 pixel = first + warp; pixel < end; pixel += WARPS) {
        s64 at = (image * t.pixels + pixel) * row_items + column;
        item dy = item_get(t.dy, at, wanted, 0), x = item_get(t.x, at, wanted, 0);
        slopes(&t, image, column * UNIT, wanted, dy, x, dz, xhat, rstd, gamma);
#pragma unroll
        for (int j = 0; j < UNIT; j++) {
            sums.of[0][j] = fmaf(dz[j], xhat[j], sums.of[0][j]);
            sums.of[1][j] += dz[j];
        }
    }
    warps[warp][lane] = sums;
    __syncthreads();
    if (warp > 0 || !wanted)
        return;
#pragma unroll
    for (int i = 1; i < WARPS; i++)
        columns_add(&sums, &warps[i][lane]);
    columns_store(&sums, t.parts + (image * t.chunks + blockIdx.y) * 2 * t.channels, t.channels,
                  column);
}

// A warp for each image and group: its lanes take channels of the parts in turns.
extern "C" __global__ void __launch_bounds__(128) groupnorm_backward_means(struct tensors t, s64 n)
{
    u32 lane = threadIdx.x % 32;
    s64 number = (s64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    s64 image = number / t.groups, channel = number % t.groups * t.of_group;
    const float *parts = t.parts + image * t.chunks * 2 * t.channels + channel;
    struct sums sums = {0.0f, 0.0f};
    if (number < n)
        for (u32 i = lane; i < t.chunks * t.of_group; i += 32) {
            const float *part = parts + i / t.of_group * 2 * t.channels + i % t.of_group;
            float gamma = element_get(t.gamma[channel + i % t.of_group]);
            sums.a = fmaf(gamma, part[t.channels], sums.a);
            sums.b = fmaf(gamma, part[0], sums.b);
        }
    sums = lanes_reduce<plus>(sums, 32);
    if (lane == 0 && number < n)
        t.means[number] = {sums.a * t.inverse, sums.b * t.inverse};
}

// As in eltwise.cu a thread has one item and is done.
extern "C" __global__ void __launch_bounds__(256) groupnorm_backward_put(struct tensors t, s64 items)
{
    number at = (number)blockIdx.x * blockDim.x + threadIdx.x;
    number of_row = (number)(t.channels / UNIT), of_image = (number)t.pixels * of_row;
    bool wanted = at < items;
    number image = wanted ? at / of_image : 0;
    u32 channel = (u32)(at % of_row) * UNIT;
    item dy = item_get(t.dy, at, wanted, 0), x = item_get(t.x, at, wanted, 0);
    float dz[UNIT], xhat[UNIT], rstd[UNIT], gamma[UNIT];
    slopes(&t, image, channel, wanted, dy, x, dz, xhat, rstd, gamma);
#pragma unroll
    for (int j = 0; j < UNIT; j++) {
        u32 group = wanted ? (channel + j) / t.of_group : 0;
        struct sums means = t.means[image * t.groups + group];
        float g = fmaf(dz[j], gamma[j], -means.a);
        dz[j] = rstd[j] * fmaf(-xhat[j], means.b, g);
    }
    item_store(t.dx, at, wanted, dz);
}

extern "C" __global__ void __launch_bounds__(1024)
    groupnorm_backward_finish(const float *parts, s64 n, s64 dim, element *dgamma, element *dbeta)
{
    columns_finish(parts, n, dim, blockIdx.y == 0 ? dgamma : dbeta);
}
