/* cuda_graph.h: what a captured graph holds. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_GRAPH_H
#define ASSAY_DEVICE_CUDA_CUDA_GRAPH_H

#include "device/cuda/cuda_api.h"
#include "device/timed.h"

/* Counts the nodes of a graph and of the graphs within it, and names its kernels. False: the driver
 * does not tell. */
bool assay_cuda_graph_audit(const struct cuda_driver_api *api, cu_graph graph,
                            struct assay_graph_audit *out);

/* All that does something. */
int64_t assay_cuda_graph_work(const struct assay_graph_audit *graph);

/* A kernel's name as people say it: of "_ZN2at6native6kernelILi4EEEvi" "at::native::kernel". */
void assay_cuda_graph_plain_name(const char *name, char *out, size_t size);

/* What CUDA calls an error of a capture, "cudaErrorStreamCaptureUnjoined"; NULL for others. */
const char *assay_cuda_capture_error(cu_result result);
/* What a kernel did that led to it. */
const char *assay_cuda_capture_cause(cu_result result);

#endif
