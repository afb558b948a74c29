/* cuda.h: what CUDA kernels use of the device: functions compiled from embedded text, launches,
 * memory and copies.
 *
 * One GPU is open in a process at a time; the functions below speak of that one. Texts are the .cu
 * files of src/device and src/kernel, compiled into the program as they are; they may include
 * .cuh files, of any folder, by bare name, and nothing else. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_H
#define ASSAY_DEVICE_CUDA_CUDA_H

#include "base/error.h"
#include "device/cuda/cuda_api.h"

/* What the open GPU is. */
struct assay_cuda_properties {
    char name[64];
    int32_t major, minor; /* compute capability */
    int32_t sms;
    size_t l2_bytes;
    int32_t shared_most; /* bytes of shared memory, the most a block may have */
    bool overlaps;       /* `early` below has an effect */
};

/* For can_run, before any device is open: is there a driver, and NVRTC to compile kernels with?
 * ASSAY_OK, or ASSAY_UNSUPPORTED with the reason. Makes no context. */
enum assay_status assay_cuda_can_compile(struct assay_error *why);
/* The same for cuBLASLt; afterwards assay_cuda_cublaslt gives its functions. */
enum assay_status assay_cuda_can_cublaslt(struct assay_error *why);

/* The same for cuDNN. */
enum assay_status assay_cuda_can_cudnn(struct assay_error *why);

/* NULL while no GPU is open. */
const struct assay_cuda_properties *assay_cuda_properties(void);

/* The libraries' functions; NULL where the library is not here. */
const struct cuda_driver_api *assay_cuda_driver(void);
const struct cuda_cublaslt_api *assay_cuda_cublaslt(void);
const struct cuda_cudnn_api *assay_cuda_cudnn(void);
/* One handle of each for all kernels of the open GPU, made at the first call. */
enum assay_status assay_cuda_cublaslt_handle(cublaslt_handle *out, struct assay_error *err);
enum assay_status assay_cuda_cudnn_handle(cudnn_handle *out, struct assay_error *err);

/* Function `name` (extern "C") of the embedded text `text` ("gelu.cu"), compiled with `options`:
 * words like "-DT=2 -DROWS=4" separated by single blanks, "" for none. Compiled once per process,
 * text and options, and remembered in the cache folder. Raises the function's limit of dynamic
 * shared memory to `shared_bytes` where that is above 48 KiB. Valid until the device is closed. */
enum assay_status assay_cuda_function(const char *text, const char *options, const char *name,
                                      size_t shared_bytes, cu_function *out,
                                      struct assay_error *err);

/* The same of a file on this machine, which may include files beside it and those of the toolkit,
 * if there is one. It is cached unless it includes files beside it. */
enum assay_status assay_cuda_function_of_file(const char *file, const char *name, cu_function *out,
                                              struct assay_error *err);

struct assay_cuda_launch {
    unsigned grid_x, grid_y, grid_z; /* 0 counts as 1 */
    unsigned threads;                /* of a block, in x */
    unsigned shared_bytes;
    bool early; /* may begin while the launch before it ends; the kernel waits where it must */
};

/* The stream on which the open GPU's work is timed where nobody brings one; NULL while none is. */
void *assay_cuda_stream(void);
/* Waits until the open GPU has done all of this process's work. */
enum assay_status assay_cuda_rest(struct assay_error *err);

/* Enqueues one launch. `parameters` point at the arguments, in order, as cuLaunchKernel wants. */
enum assay_status assay_cuda_launch(cu_function function, const struct assay_cuda_launch *launch,
                                    void *stream, void **parameters);

/* How many blocks of this launch one SM holds at once; at least 1. */
int32_t assay_cuda_blocks_per_sm(cu_function function, unsigned threads, size_t shared_bytes);

/* Memory of the open GPU, counted with the device's own. assay_cuda_free(NULL, …) is fine. */
enum assay_status assay_cuda_alloc(size_t bytes, void **out, struct assay_error *err);
void assay_cuda_free(void *pointer, size_t bytes);

/* Copies that are complete when they return. */
enum assay_status assay_cuda_upload(void *to, const void *from, size_t bytes,
                                    struct assay_error *err);
enum assay_status assay_cuda_download(void *to, const void *from, size_t bytes,
                                      struct assay_error *err);
enum assay_status assay_cuda_copy(void *to, const void *from, size_t bytes,
                                  struct assay_error *err);

/* The result of a call as a status; the error names call and reason. An error the GPU does not
 * recover from (an illegal address, …) ends the process, after last words: the supervisor reads
 * them and starts a new worker. */
enum assay_status assay_cuda_check(cu_result result, const char *call, struct assay_error *err);
/* The same, but such an error is a status like others: for a process that is not ours to end. */
void assay_cuda_outlive_errors(bool outlive);

/* ---- embedded texts, from the build ---------------------------------------------------------- */

struct assay_cuda_text {
    const char *name; /* "gelu.cu" */
    const char *text;
};
extern const struct assay_cuda_text assay_cuda_texts[];
extern const int assay_cuda_n_texts;

#endif
