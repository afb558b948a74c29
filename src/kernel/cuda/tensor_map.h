/* tensor_map.h: what the copy engine of Hopper GPUs wants to know of a tensor; wgmma.cuh has the
 * device's side. */
#ifndef ASSAY_KERNEL_CUDA_TENSOR_MAP_H
#define ASSAY_KERNEL_CUDA_TENSOR_MAP_H

#include "device/cuda/cuda.h"

#include <stdalign.h>

/* What cuTensorMapEncodeTiled writes, and its arguments as CUtensorMap* enumerates them. */
struct cuda_tensor_map {
    uint64_t opaque[16];
};
enum {
    CUDA_MAP_ALIGN = 64,
    CUDA_MAP_UINT8 = 0,
    CUDA_MAP_UINT16 = 1,
    CUDA_MAP_SWIZZLE_128B = 3,
    CUDA_MAP_PROMOTE_256B = 3,
    CUDA_MAP_MOST_AXES = 5
};

/* For can_run: a GPU with warpgroup products and a copy engine, and a driver that makes maps. */
static inline enum assay_status cuda_can_wgmma(struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_compile(why);
    if (status != ASSAY_OK)
        return status;
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    if (gpu && gpu->major != 9)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "for GPUs of compute capability 9.0 (Hopper), not %d.%d", gpu->major,
                               gpu->minor);
    const struct cuda_driver_api *driver = assay_cuda_driver();
    if (!driver || !driver->cuTensorMapEncodeTiled)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL,
                               "this driver has no cuTensorMapEncodeTiled; 525 and newer have");
    return ASSAY_OK;
}

/* A tensor of elements of 1 or 2 bytes, the axis along which they lie first; `strides` are bytes
 * from one element of an axis to the next, from the second axis on. Boxes are swizzled as wgmma
 * wants them, with zeros beyond the edges. */
struct cuda_tensor {
    const void *address;
    size_t element; /* bytes */
    uint32_t rank;
    uint64_t sizes[CUDA_MAP_MOST_AXES], strides[CUDA_MAP_MOST_AXES - 1];
    uint32_t box[CUDA_MAP_MOST_AXES];
};

static inline enum assay_status cuda_tensor_map_make(const struct cuda_tensor *t,
                                                     struct cuda_tensor_map *out,
                                                     struct assay_error *err)
{
    alignas(CUDA_MAP_ALIGN) struct cuda_tensor_map map;
    const uint32_t ones[CUDA_MAP_MOST_AXES] = {1, 1, 1, 1, 1};
    enum assay_status status =
        assay_cuda_check(assay_cuda_driver()->cuTensorMapEncodeTiled(
                             &map, t->element == 1 ? CUDA_MAP_UINT8 : CUDA_MAP_UINT16, t->rank,
                             (void *)(uintptr_t)t->address, t->sizes, t->strides, t->box, ones, 0,
                             CUDA_MAP_SWIZZLE_128B, CUDA_MAP_PROMOTE_256B, 0),
                         "cuTensorMapEncodeTiled", err);
    if (status == ASSAY_OK)
        *out = map;
    return status;
}

#endif
