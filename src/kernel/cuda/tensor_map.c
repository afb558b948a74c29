/* tensor_map.c: maps for the copy engine of Hopper GPUs, made by the driver. */
#include "kernel/cuda/tensor_map.h"

#include "base/alloc.h"

#include <stdalign.h>
#include <string.h>

/* Arguments as CUtensorMap* enumerates them. */
enum {
    MAP_ALIGN = 64,
    MAP_UINT8 = 0,
    MAP_UINT16 = 1,
    MAP_SWIZZLE_128B = 3,
    MAP_PROMOTE_256B = 3,
};

enum assay_status assay_cuda_maps_grow(struct cuda_set_maps **maps, int64_t *n, int64_t sets,
                                       struct assay_error *err)
{
    if (sets <= *n)
        return ASSAY_OK;
    int64_t count = sets > 2 * *n ? sets : 2 * *n;
    struct cuda_set_maps *grown = assay_realloc(*maps, (size_t)count, sizeof *grown);
    if (!grown)
        return assay_error_nomem(err);
    memset(grown + *n, 0, (size_t)(count - *n) * sizeof *grown);
    *maps = grown;
    *n = count;
    return ASSAY_OK;
}

enum assay_status assay_cuda_can_wgmma(struct assay_error *why)
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
    if (!driver || !driver->cuTensorMapEncodeTiled || !driver->cuTensorMapEncodeIm2col)
        return assay_error_set(
            why, ASSAY_UNSUPPORTED, NULL,
            "this driver has no cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col; "
            "525 and newer have both");
    return ASSAY_OK;
}

static int type_of(size_t element) { return element == 1 ? MAP_UINT8 : MAP_UINT16; }

/* The driver wants maps aligned; those of `out` need not be. */
enum assay_status assay_cuda_tensor_map(const struct cuda_tensor *t, struct cuda_tensor_map *out,
                                        struct assay_error *err)
{
    alignas(MAP_ALIGN) struct cuda_tensor_map map;
    const uint32_t ones[CUDA_MAP_MOST_AXES] = {1, 1, 1, 1, 1};
    enum assay_status status = assay_cuda_check(
        assay_cuda_driver()->cuTensorMapEncodeTiled(
            &map, type_of(t->element), t->rank, (void *)(uintptr_t)t->address, t->sizes, t->strides,
            t->box, ones, 0, MAP_SWIZZLE_128B, MAP_PROMOTE_256B, 0),
        "cuTensorMapEncodeTiled", err);
    if (status == ASSAY_OK)
        *out = map;
    return status;
}

/* The first pixel of a window lies between two corners: -pad from the first pixel of an image, and
 * from its last one where a whole window still fits into the image and its padding. */
enum assay_status assay_cuda_windows_map(const struct cuda_windows *w, struct cuda_tensor_map *out,
                                         struct assay_error *err)
{
    alignas(MAP_ALIGN) struct cuda_tensor_map map;
    const uint64_t sizes[4] = {(uint64_t)w->channels, (uint64_t)w->width, (uint64_t)w->height,
                               (uint64_t)w->batch};
    const uint64_t pixel = w->element * sizes[0], line = pixel * sizes[1];
    const uint64_t strides[3] = {pixel, line, line * sizes[2]};
    const int lower = -(int)w->pad, upper = (int)(w->pad - (w->kernel - 1));
    const int lowest[2] = {lower, lower}, highest[2] = {upper, upper};
    const uint32_t steps[4] = {1, (uint32_t)w->stride, (uint32_t)w->stride, 1};
    enum assay_status status = assay_cuda_check(
        assay_cuda_driver()->cuTensorMapEncodeIm2col(
            &map, type_of(w->element), 4, (void *)(uintptr_t)w->address, sizes, strides, lowest,
            highest, (uint32_t)w->box_channels, (uint32_t)w->box_windows, steps, 0,
            MAP_SWIZZLE_128B, MAP_PROMOTE_256B, 0),
        "cuTensorMapEncodeIm2col", err);
    if (status == ASSAY_OK)
        *out = map;
    return status;
}
