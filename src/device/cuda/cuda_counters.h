/* cuda_counters.h: what is asked of a GPU's counters. */
#ifndef ASSAY_DEVICE_CUDA_CUDA_COUNTERS_H
#define ASSAY_DEVICE_CUDA_CUDA_COUNTERS_H

/* Bytes that memory and the L2 cache moved; active warps of the most there can be, and cycles in
 * which the units for matrices were busy, in percent. */
enum { ASSAY_CUDA_METRICS = 4 };
extern const char *const assay_cuda_metrics[ASSAY_CUDA_METRICS];

#endif
