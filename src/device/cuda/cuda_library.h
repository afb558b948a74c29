/* cuda_library.h: NVIDIA's libraries, found and opened at run time, each at most once. Only the
 * driver is needed; the others add to it. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_LIBRARY_H
#define ASSAY_DEVICE_CUDA_CUDA_LIBRARY_H

#include "base/error.h"
#include "device/cuda/cuda_api.h"

/* Where a library was found ("/usr/lib/…/libnvrtc.so.13"); empty where it was not. */
struct cuda_library_path {
    char path[512];
};

/* Each returns ASSAY_OK, or ASSAY_UNSUPPORTED with the reason; *api is NULL then. The driver is
 * also initialised. `found` may be NULL. */
enum assay_status assay_cuda_open_driver(const struct cuda_driver_api **api,
                                         struct cuda_library_path *found, struct assay_error *why);
enum assay_status assay_cuda_open_nvrtc(const struct cuda_nvrtc_api **api,
                                        struct cuda_library_path *found, struct assay_error *why);
enum assay_status assay_cuda_open_nvml(const struct cuda_nvml_api **api,
                                       struct cuda_library_path *found, struct assay_error *why);
enum assay_status assay_cuda_open_cublaslt(const struct cuda_cublaslt_api **api,
                                           struct cuda_library_path *found,
                                           struct assay_error *why);
enum assay_status assay_cuda_open_cudnn(const struct cuda_cudnn_api **api,
                                        struct cuda_library_path *found, struct assay_error *why);
/* Opening it attaches nothing: what it does to calls begins with a subscriber. */
enum assay_status assay_cuda_open_cupti(const struct cuda_cupti_api **api,
                                        struct cuda_library_path *found, struct assay_error *why);

#endif
