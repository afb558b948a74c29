/* activations_cuda.h: x of `linear` quantised at run time on the GPU, for recipes float8dq-* and
 * int8dq: codes and scales in as few passes as possible, of rows that are normalised on the way
 * where there is a norm. Without one, to the bit what assay_quant_activations does: scale =
 * assay_quant_scale(code, amax), code = to_code(x * (1.0f / scale)), rounded to nearest even and
 * saturated. */
#ifndef ASSAY_KERNEL_CUDA_ACTIVATIONS_CUDA_H
#define ASSAY_KERNEL_CUDA_ACTIVATIONS_CUDA_H

#include "device/cuda/cuda.h"
#include "quant/quant.h"

struct cuda_activations {
    enum assay_dtype dtype, code; /* of x; S8 or E4M3 */
    enum assay_quant_scope scope; /* ROW or TENSOR */
    int norm;                     /* enum assay_linear_norm */
    int64_t m, k;
    int64_t m_padded, k_padded; /* codes are [m_padded][k_padded]; what is added is zero */
    unsigned char *codes;       /* device */
    float *scales;              /* device: [m_padded] for ROW (1 where padded), one for TENSOR */
    size_t block_bytes;
    void *block;
    cu_function functions[2];
    void *own; /* what the implementation keeps */
};

/* Codes have rows of k filled up to a multiple of `k_multiple` and rows up to one of `m_multiple`
 * (1: as they are). */
enum assay_status assay_cuda_activations_create(const struct assay_recipe *recipe,
                                                enum assay_dtype dtype, int norm, int64_t m,
                                                int64_t k, int64_t m_multiple, int64_t k_multiple,
                                                struct cuda_activations *out,
                                                struct assay_error *err);
/* Enqueues the quantising of x [m, k]; `weight` [k] of a norm that has one. */
enum assay_status assay_cuda_activations_run(const struct cuda_activations *a, const void *x,
                                             const void *weight, void *stream);
void assay_cuda_activations_fini(struct cuda_activations *a);

#endif
