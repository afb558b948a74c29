/* tensor_map.h: tensor maps for the copy engine (TMA) of Hopper GPUs; wgmma.cuh has the device's
 * side. */
#ifndef ASSAY_KERNEL_CUDA_TENSOR_MAP_H
#define ASSAY_KERNEL_CUDA_TENSOR_MAP_H

#include "device/cuda/cuda.h"

/* What the driver writes, for a kernel's parameters. */
struct cuda_tensor_map {
    uint64_t opaque[16];
};

/* Maps of one set of operands, and the addresses they were made for (NULL: not made); weights that
 * a kernel keeps itself need no w_of. */
struct cuda_set_maps {
    const void *x_of, *w_of;
    struct cuda_tensor_map x, w;
};
/* Grows the array to `sets` elements; new ones are zero. */
enum assay_status assay_cuda_maps_grow(struct cuda_set_maps **maps, int64_t *n, int64_t sets,
                                       struct assay_error *err);

/* For can_run: a GPU with warpgroup products and a copy engine, and a driver that makes maps. */
enum assay_status assay_cuda_can_wgmma(struct assay_error *why);

/* Elements are 1 or 2 bytes. Boxes of both maps are swizzled as wgmma wants them, with zeros beyond
 * the edges. */

/* A tensor, the axis along which elements lie first; `strides` are bytes from one element of an
 * axis to the next, from the second axis on. */
enum { CUDA_MAP_MOST_AXES = 5 };
struct cuda_tensor {
    const void *address;
    size_t element; /* bytes */
    uint32_t rank;
    uint64_t sizes[CUDA_MAP_MOST_AXES], strides[CUDA_MAP_MOST_AXES - 1];
    uint32_t box[CUDA_MAP_MOST_AXES];
};

enum assay_status assay_cuda_tensor_map(const struct cuda_tensor *tensor,
                                        struct cuda_tensor_map *out, struct assay_error *err);

/* Images [batch][height][width][channels] for im2col mode: a box is one pixel of each of
 * box_windows windows, which are kernel x kernel, `stride` apart, and reach over the edges by
 * `pad`. */
struct cuda_windows {
    const void *address;
    size_t element; /* bytes */
    int64_t batch, height, width, channels;
    int64_t kernel, stride, pad;
    int32_t box_windows, box_channels;
};

enum assay_status assay_cuda_windows_map(const struct cuda_windows *windows,
                                         struct cuda_tensor_map *out, struct assay_error *err);

#endif
