/* cuda.c: NVIDIA GPUs as a device: opening one, its memory, and what kernels use of it. */
#include "device/cuda/cuda_gpu.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/last_words.h"
#include "base/text.h"
#include "device/wash.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct assay_device_driver assay_device_cuda;

static struct cuda_gpu *the_gpu;

struct cuda_gpu *assay_cuda_gpu(void) { return the_gpu; }

const struct assay_cuda_properties *assay_cuda_properties(void)
{
    return the_gpu ? &the_gpu->properties : NULL;
}

const struct cuda_driver_api *assay_cuda_driver(void)
{
    const struct cuda_driver_api *api;
    assay_cuda_open_driver(&api, NULL, NULL);
    return api;
}

const struct cuda_cublaslt_api *assay_cuda_cublaslt(void)
{
    const struct cuda_cublaslt_api *api;
    assay_cuda_open_cublaslt(&api, NULL, NULL);
    return api;
}

const struct cuda_cudnn_api *assay_cuda_cudnn(void)
{
    const struct cuda_cudnn_api *api;
    assay_cuda_open_cudnn(&api, NULL, NULL);
    return api;
}

enum assay_status assay_cuda_can_compile(struct assay_error *why)
{
    const struct cuda_driver_api *driver;
    const struct cuda_nvrtc_api *nvrtc;
    enum assay_status status = assay_cuda_open_driver(&driver, NULL, why);
    return status == ASSAY_OK ? assay_cuda_open_nvrtc(&nvrtc, NULL, why) : status;
}

enum assay_status assay_cuda_can_cublaslt(struct assay_error *why)
{
    const struct cuda_driver_api *driver;
    const struct cuda_cublaslt_api *cublaslt;
    enum assay_status status = assay_cuda_open_driver(&driver, NULL, why);
    return status == ASSAY_OK ? assay_cuda_open_cublaslt(&cublaslt, NULL, why) : status;
}

enum assay_status assay_cuda_can_cudnn(struct assay_error *why)
{
    const struct cuda_driver_api *driver;
    const struct cuda_cudnn_api *cudnn;
    enum assay_status status = assay_cuda_open_driver(&driver, NULL, why);
    return status == ASSAY_OK ? assay_cuda_open_cudnn(&cudnn, NULL, why) : status;
}

enum assay_status assay_cuda_cublaslt_handle(cublaslt_handle *out, struct assay_error *err)
{
    const struct cuda_cublaslt_api *api = assay_cuda_cublaslt();
    if (!api || !the_gpu)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "cuBLASLt is not here");
    if (!the_gpu->cublaslt) {
        cublas_status status = api->cublasLtCreate(&the_gpu->cublaslt);
        if (status != 0)
            return assay_error_set(err, ASSAY_ERR_DEVICE, "cublasLtCreate", "status %d", status);
    }
    *out = the_gpu->cublaslt;
    return ASSAY_OK;
}

enum assay_status assay_cuda_cudnn_handle(cudnn_handle *out, struct assay_error *err)
{
    const struct cuda_cudnn_api *api = assay_cuda_cudnn();
    if (!api || !the_gpu)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "cuDNN is not here");
    if (!the_gpu->cudnn) {
        cudnn_status status = api->cudnnCreate(&the_gpu->cudnn);
        if (status != 0)
            return assay_error_set(err, ASSAY_ERR_DEVICE, "cudnnCreate", "%s",
                                   api->cudnnGetErrorString(status));
    }
    *out = the_gpu->cudnn;
    return ASSAY_OK;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* After these the context is dead and every later call fails. */
static bool is_fatal(cu_result result)
{
    return result == CU_ERROR_ECC_UNCORRECTABLE || result == CU_ERROR_ILLEGAL_ADDRESS ||
           result == CU_ERROR_LAUNCH_TIMEOUT || result == CU_ERROR_ASSERT ||
           (result >= CU_ERROR_HARDWARE_STACK_ERROR && result <= CU_ERROR_LAUNCH_FAILED);
}

static bool outlive_errors;

void assay_cuda_outlive_errors(bool outlive) { outlive_errors = outlive; }

enum assay_status assay_cuda_check(cu_result result, const char *call, struct assay_error *err)
{
    if (result == CU_SUCCESS)
        return ASSAY_OK;
    const struct cuda_driver_api *api = assay_cuda_driver();
    const char *text = NULL;
    if (!api || api->cuGetErrorString(result, &text) != CU_SUCCESS || !text)
        text = "unknown error";
    if (is_fatal(result) && !outlive_errors) {
        char words[160];
        snprintf(words, sizeof words, "CUDA error %d: %s", result, text);
        assay_last_words(words);
    }
    if (result == CU_ERROR_OUT_OF_MEMORY)
        return assay_error_set(err, ASSAY_ERR_NOMEM, call, "out of GPU memory");
    return assay_error_set(err, ASSAY_ERR_DEVICE, call, "CUDA error %d: %s", result, text);
}

/* ---- for kernels ----------------------------------------------------------------------------- */

/* Programmatic dependent launch. */
static cu_result launch_early(cu_function function, const cu_launch_config *config,
                              void **parameters)
{
    cu_launch_attribute early = {.id = CU_LAUNCH_PROGRAMMATIC, .value.programmatic = 1};
    cu_launch_config with = *config;
    with.attributes = &early;
    with.n_attributes = 1;
    return the_gpu->api->cuLaunchKernelEx(&with, function, parameters, NULL);
}

enum assay_status assay_cuda_launch(cu_function function, const struct assay_cuda_launch *launch,
                                    void *stream, void **parameters)
{
    cu_launch_config c = {
        .grid_x = launch->grid_x ? launch->grid_x : 1,
        .grid_y = launch->grid_y ? launch->grid_y : 1,
        .grid_z = launch->grid_z ? launch->grid_z : 1,
        .block_x = launch->threads,
        .block_y = 1,
        .block_z = 1,
        .shared_bytes = launch->shared_bytes,
        .stream = stream,
    };
    if (launch->early && the_gpu->properties.overlaps)
        return assay_cuda_check(launch_early(function, &c, parameters), "cuLaunchKernelEx", NULL);
    cu_result result =
        the_gpu->api->cuLaunchKernel(function, c.grid_x, c.grid_y, c.grid_z, c.block_x, 1, 1,
                                     c.shared_bytes, stream, parameters, NULL);
    return assay_cuda_check(result, "cuLaunchKernel", NULL);
}

int32_t assay_cuda_blocks_per_sm(cu_function function, unsigned threads, size_t shared_bytes)
{
    int blocks = 0;
    the_gpu->api->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, (int)threads,
                                                              shared_bytes);
    return blocks < 1 ? 1 : blocks;
}

enum assay_status assay_cuda_alloc(size_t bytes, void **out, struct assay_error *err)
{
    if (!the_gpu)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no GPU is open");
    return assay_device_alloc(&the_gpu->device, bytes, out, err);
}

void assay_cuda_free(void *pointer, size_t bytes)
{
    if (the_gpu)
        assay_device_free(&the_gpu->device, pointer, bytes);
}

void *assay_cuda_stream(void) { return the_gpu ? the_gpu->stream : NULL; }

enum assay_status assay_cuda_rest(struct assay_error *err)
{
    return the_gpu ? assay_cuda_check(the_gpu->api->cuCtxSynchronize(), "cuCtxSynchronize", err)
                   : assay_error_set(err, ASSAY_UNSUPPORTED, NULL, "no GPU is open");
}

static cu_deviceptr address(const void *pointer) { return (cu_deviceptr)(uintptr_t)pointer; }

enum assay_status assay_cuda_upload(void *to, const void *from, size_t bytes,
                                    struct assay_error *err)
{
    enum assay_status status = assay_cuda_check(
        the_gpu->api->cuMemcpyHtoD_v2(address(to), from, bytes), "cuMemcpyHtoD", err);
    /* From ordinary memory it returns when the bytes are on their way, not when they are there; and
     * streams that do not block do not wait for it. */
    if (status == ASSAY_OK)
        status = assay_cuda_check(the_gpu->api->cuCtxSynchronize(), "cuCtxSynchronize", err);
    return status;
}

enum assay_status assay_cuda_download(void *to, const void *from, size_t bytes,
                                      struct assay_error *err)
{
    return assay_cuda_check(the_gpu->api->cuMemcpyDtoH_v2(to, address(from), bytes), "cuMemcpyDtoH",
                            err);
}

enum assay_status assay_cuda_copy(void *to, const void *from, size_t bytes, struct assay_error *err)
{
    enum assay_status status = assay_cuda_check(
        the_gpu->api->cuMemcpyDtoD_v2(address(to), address(from), bytes), "cuMemcpyDtoD", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(the_gpu->api->cuCtxSynchronize(), "cuCtxSynchronize", err);
    return status;
}

/* ---- the device ------------------------------------------------------------------------------ */

static enum assay_status probe(struct assay_error *why)
{
    const struct cuda_driver_api *api;
    enum assay_status status = assay_cuda_open_driver(&api, NULL, why);
    int count = 0;
    if (status == ASSAY_OK && (api->cuDeviceGetCount(&count) != CU_SUCCESS || count == 0))
        status = assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "no NVIDIA GPU is here");
    return status;
}

static int32_t count(void)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    int n = 0;
    if (api)
        api->cuDeviceGetCount(&n);
    return n;
}

static void name_of(int32_t index, char *out, size_t size)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    cu_device device;
    if (api && api->cuDeviceGet(&device, index) == CU_SUCCESS)
        api->cuDeviceGetName(out, (int)size, device);
}

static size_t memory_of(int32_t index)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    cu_device device;
    size_t bytes = 0;
    if (api && api->cuDeviceGet(&device, index) == CU_SUCCESS)
        api->cuDeviceTotalMem_v2(&bytes, device);
    return bytes;
}

static int32_t cores_of(int32_t index)
{
    const struct cuda_driver_api *api = assay_cuda_driver();
    cu_device device;
    int cores = 0;
    if (api && api->cuDeviceGet(&device, index) == CU_SUCCESS)
        api->cuDeviceGetAttribute(&cores, CU_ATTRIBUTE_SMS, device);
    return cores;
}

static int32_t attribute(const struct cuda_gpu *gpu, int which)
{
    int value = 0;
    gpu->api->cuDeviceGetAttribute(&value, which, gpu->ordinal);
    return value;
}

static enum assay_status find_device(struct cuda_gpu *gpu, int32_t index, struct assay_error *err)
{
    return assay_cuda_check(gpu->api->cuDeviceGet(&gpu->ordinal, index), "cuDeviceGet", err);
}

static void read_properties(struct cuda_gpu *gpu)
{
    enum { CAPTURES_EARLY = 12030 }; /* from this driver on graphs know of early launches */
    struct assay_cuda_properties *p = &gpu->properties;
    int version = 0;
    gpu->api->cuDeviceGetName(p->name, sizeof p->name, gpu->ordinal);
    p->major = attribute(gpu, CU_ATTRIBUTE_MAJOR);
    p->minor = attribute(gpu, CU_ATTRIBUTE_MINOR);
    p->sms = attribute(gpu, CU_ATTRIBUTE_SMS);
    p->l2_bytes = (size_t)attribute(gpu, CU_ATTRIBUTE_L2_BYTES);
    p->shared_most = attribute(gpu, CU_ATTRIBUTE_SHARED_OPTIN);
    gpu->api->cuDriverGetVersion(&version);
    p->overlaps = p->major >= 9 && gpu->api->cuLaunchKernelEx && version >= CAPTURES_EARLY;
}

static bool is_active(const struct cuda_gpu *gpu)
{
    unsigned flags = 0;
    int active = 0;
    if (gpu->api->cuDevicePrimaryCtxGetState)
        gpu->api->cuDevicePrimaryCtxGetState(gpu->ordinal, &flags, &active);
    return active;
}

/* A context of this GPU that is current already belongs to whoever called us, and so do streams and
 * memory in it: we work there. Otherwise the primary one, which the CUDA runtime uses too. In a
 * context of our own no part of the L2 cache is set aside for persisting lines, unless a kernel
 * does so: see `flush` in cuda_time.c. */
static enum assay_status enter_context(struct cuda_gpu *gpu, struct assay_error *err)
{
    const struct cuda_driver_api *api = gpu->api;
    cu_device of = -1;
    if (api->cuCtxGetCurrent && api->cuCtxGetDevice &&
        api->cuCtxGetCurrent(&gpu->context) == CU_SUCCESS && gpu->context &&
        api->cuCtxGetDevice(&of) == CU_SUCCESS && of == gpu->ordinal) {
        gpu->borrowed = true;
        return ASSAY_OK;
    }
    gpu->context = NULL;
    bool ours = !is_active(gpu);
    enum assay_status status =
        assay_cuda_check(api->cuDevicePrimaryCtxRetain(&gpu->context, gpu->ordinal),
                         "cuDevicePrimaryCtxRetain", err);
    if (status == ASSAY_OK)
        status = assay_cuda_check(api->cuCtxSetCurrent(gpu->context), "cuCtxSetCurrent", err);
    if (status == ASSAY_OK && ours && api->cuCtxSetLimit)
        api->cuCtxSetLimit(CU_LIMIT_PERSISTING_L2, 0);
    return status;
}

/* A context that ended must not stay current: who opens the GPU next would borrow it. One that the
 * CUDA runtime holds too goes on, and stays. */
static void leave_context(struct cuda_gpu *gpu)
{
    if (gpu->borrowed)
        return;
    gpu->api->cuDevicePrimaryCtxRelease_v2(gpu->ordinal);
    if (!is_active(gpu))
        gpu->api->cuCtxSetCurrent(NULL);
}

static void close_gpu(assay_device *device)
{
    struct cuda_gpu *gpu = (struct cuda_gpu *)device;
    if (gpu->context) {
        if (gpu->watch.on)
            assay_cuda_unwatch(&gpu->device);
        assay_cuda_time_close(gpu);
        if (gpu->cublaslt)
            assay_cuda_cublaslt()->cublasLtDestroy(gpu->cublaslt);
        if (gpu->cudnn)
            assay_cuda_cudnn()->cudnnDestroy(gpu->cudnn);
        assay_cuda_programs_close();
        leave_context(gpu);
    }
    the_gpu = NULL;
    assay_free(gpu);
}

static enum assay_status open_gpu(int32_t index, int32_t threads, assay_device **out,
                                  struct assay_error *err)
{
    if (the_gpu)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "one GPU at a time: another one is open in this process");
    (void)threads;
    struct cuda_gpu *gpu = assay_calloc(1, sizeof *gpu);
    if (!gpu)
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cuda", "out of memory");
    gpu->device.driver = &assay_device_cuda;
    gpu->device.index = index;
    gpu->device.threads = 1; /* ceilings are the GPU's, whatever the host does */
    enum assay_status status = assay_cuda_open_driver(&gpu->api, NULL, err);
    if (status == ASSAY_OK)
        status = find_device(gpu, index, err);
    if (status == ASSAY_OK)
        status = enter_context(gpu, err);
    if (status == ASSAY_OK) {
        the_gpu = gpu;
        read_properties(gpu);
        assay_cuda_health_open(gpu);
        status = assay_cuda_time_open(gpu, err);
    }
    if (status != ASSAY_OK) {
        close_gpu(&gpu->device);
        return status;
    }
    *out = &gpu->device;
    return ASSAY_OK;
}

static void describe(assay_device *device, struct assay_device_info *out)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    *out = (struct assay_device_info){.llc_bytes = gpu->properties.l2_bytes,
                                      .cores = gpu->properties.sms};
    gpu->api->cuMemGetInfo_v2(&out->memory_available, &out->memory_bytes);
    snprintf(out->name, sizeof out->name, "%s", gpu->properties.name);
}

static enum assay_status alloc_gpu(assay_device *device, size_t bytes, void **out,
                                   struct assay_error *err)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    cu_deviceptr pointer = 0;
    char text[32];
    cu_result result = gpu->api->cuMemAlloc_v2(&pointer, bytes ? bytes : 1);
    if (result == CU_ERROR_OUT_OF_MEMORY) {
        assay_text_bytes((double)bytes, text, sizeof text);
        return assay_error_set(err, ASSAY_ERR_NOMEM, "cuda", "cannot allocate %s on the GPU", text);
    }
    *out = (void *)(uintptr_t)pointer;
    return assay_cuda_check(result, "cuMemAlloc", err);
}

static void free_gpu(assay_device *device, void *ptr, size_t bytes)
{
    (void)bytes;
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    gpu->api->cuMemFree_v2(address(ptr));
}

static double system_bytes(assay_device *device)
{
    const struct cuda_gpu *gpu = (const struct cuda_gpu *)device;
    size_t available = 0, total = 0;
    return gpu->api->cuMemGetInfo_v2(&available, &total) == CU_SUCCESS ? (double)(total - available)
                                                                       : (double)NAN;
}

static enum assay_status upload(assay_device *device, void *to, const void *from, size_t bytes,
                                struct assay_error *err)
{
    (void)device;
    return assay_cuda_upload(to, from, bytes, err);
}

static enum assay_status download(assay_device *device, void *to, const void *from, size_t bytes,
                                  struct assay_error *err)
{
    (void)device;
    return assay_cuda_download(to, from, bytes, err);
}

static enum assay_status copy(assay_device *device, void *to, const void *from, size_t bytes,
                              struct assay_error *err)
{
    (void)device;
    return assay_cuda_copy(to, from, bytes, err);
}

/* ---- memory that another process sees -------------------------------------------------------- */

/* The driver puts smaller allocations into one block, and a handle is the whole block's. */
enum { BLOCK_BYTES = 2 << 20 };

static enum assay_status can_share(const struct cuda_driver_api *api, struct assay_error *err)
{
    if (api->cuIpcGetMemHandle && api->cuIpcOpenMemHandle_v2 && api->cuIpcCloseMemHandle)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                           "needs --in-process: this driver cannot share the GPU's memory "
                           "with another process");
}

/* The allocation that an address is in. False: the driver does not tell. */
static bool range_of(const struct cuda_driver_api *api, const void *memory, cu_deviceptr *base,
                     size_t *bytes)
{
    return api->cuMemGetAddressRange_v2 &&
           api->cuMemGetAddressRange_v2(base, bytes, address(memory)) == CU_SUCCESS;
}

static enum assay_status share(assay_device *device, void *memory, unsigned char *out,
                               struct assay_error *err)
{
    const struct cuda_driver_api *api = ((const struct cuda_gpu *)device)->api;
    cu_ipc_handle handle;
    cu_deviceptr base = 0;
    size_t bytes = 0;
    enum assay_status status = can_share(api, err);
    if (status == ASSAY_OK && range_of(api, memory, &base, &bytes) &&
        (base != address(memory) || bytes % BLOCK_BYTES != 0))
        status = assay_error_set(err, ASSAY_ERR_INTERNAL, NULL,
                                 "only whole blocks of the GPU's memory can be shared");
    if (status == ASSAY_OK)
        status = assay_cuda_check(api->cuIpcGetMemHandle(&handle, address(memory)),
                                  "cuIpcGetMemHandle", err);
    if (status == ASSAY_OK)
        memcpy(out, &handle, sizeof handle);
    return status;
}

static void unshare(assay_device *device, void *memory)
{
    const struct cuda_driver_api *api = ((const struct cuda_gpu *)device)->api;
    api->cuIpcCloseMemHandle(address(memory));
}

/* The handle comes from a process that is not trusted: what it opens may be too small. */
static enum assay_status shared(assay_device *device, const unsigned char *from, size_t bytes,
                                void **out, struct assay_error *err)
{
    const struct cuda_driver_api *api = ((const struct cuda_gpu *)device)->api;
    cu_ipc_handle handle;
    cu_deviceptr pointer = 0, base = 0;
    size_t there = 0;
    enum assay_status status = can_share(api, err);
    memcpy(&handle, from, sizeof handle);
    if (status == ASSAY_OK)
        status =
            assay_cuda_check(api->cuIpcOpenMemHandle_v2(&pointer, handle, CU_IPC_LAZY_PEER_ACCESS),
                             "cuIpcOpenMemHandle", err);
    if (status != ASSAY_OK)
        return status;
    *out = (void *)(uintptr_t)pointer;
    if (range_of(api, *out, &base, &there) && base + there - pointer < bytes) {
        unshare(device, *out);
        *out = NULL;
        return assay_error_set(err, ASSAY_ERR_CORRUPT, NULL,
                               "the runner shares less of the GPU's memory than was asked for");
    }
    return ASSAY_OK;
}

static int64_t now_ns(assay_device *device)
{
    (void)device;
    return assay_clock_ns();
}

/* Whoever launches finds its code and data out of the core's own caches, whatever was written last.
 */
static void wash(assay_device *device, uint64_t seed)
{
    (void)device;
    assay_wash(seed, true);
}

const struct assay_device_driver assay_device_cuda = {
    .name = "cuda",
    .summary = "an NVIDIA GPU",
    .probe = probe,
    .count = count,
    .name_of = name_of,
    .memory_of = memory_of,
    .cores_of = cores_of,
    .open = open_gpu,
    .close = close_gpu,
    .describe = describe,
    .alloc = alloc_gpu,
    .free = free_gpu,
    .system_bytes = system_bytes,
    .upload = upload,
    .download = download,
    .copy = copy,
    .share_unit = BLOCK_BYTES,
    .share = share,
    .shared = shared,
    .unshare = unshare,
    .time = assay_cuda_time,
    .forget = assay_cuda_forget,
    .timed = assay_cuda_timed,
    .counters = assay_cuda_counters,
    .watch = assay_cuda_watch,
    .mark = assay_cuda_mark,
    .watched = assay_cuda_watched,
    .unwatch = assay_cuda_unwatch,
    .now_ns = now_ns,
    .clock_hz = assay_cuda_clock_hz,
    .disturbance = assay_cuda_disturbance,
    .energy_j = assay_cuda_energy_j,
    .wash = wash,
    .probe_open = assay_cuda_probe_open,
    .probe_close = assay_cuda_probe_close,
    .calibrate = assay_cuda_calibrate,
};
