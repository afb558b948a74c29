// linear_wgmma.cu: y = act(x_scale * w_scale * (x W^T) + bias) + residual with Hopper's warpgroup
// products (wgmma_tiles.cuh, which says what to compile with). x [m, k] and W [n, k].
#include "types.cuh"

#include "kernel_math.cuh"
#include "wgmma_tiles.cuh"

struct loads {
    const struct tensor_map *x, *w;

    struct cursor {
        int row, column, k;
    };

    __device__ __forceinline__ struct cursor at(u32 row, u32 column, u32 step) const
    {
        return {(int)row, (int)column, (int)(step * ELEMENT_K)};
    }

    __device__ __forceinline__ void step(struct cursor *p, u32 to_x, u32 to_w, u32 full) const
    {
        load_box(to_x, x, p->k, p->row, full);
        load_box(to_w, w, p->k, p->column, full);
        p->k += ELEMENT_K;
    }
};

TILES_KERNEL linear_wgmma(const __grid_constant__ struct tensor_map x,
                          const __grid_constant__ struct tensor_map w, y_t *y,
                          const float *x_scales, const float *w_scales, const float *x_means,
                          const float *w_sums, const void *bias, const y_t *residual, u32 m, u32 n,
                          u32 k)
{
    const struct loads loads = {&x, &w};
    const struct epilogue e = {y, x_scales, w_scales, x_means, w_sums, bias, residual, m, n};
    multiply_tiles(loads, (k + ELEMENT_K - 1) / ELEMENT_K, e);
}
