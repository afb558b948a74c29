/* cublaslt_product.c: a product for cuBLASLt; cublaslt_product.h. */
#include "kernel/cuda/linear/cublaslt_product.h"

/* cublasLtMatmulPreferenceAttributes_t that cuda_api.h lacks. */
enum { PREFERENCE_REDUCTION_MASK = 3, PREFERENCE_ALIGN_A = 5 /* then B, C and D */ };

/* cublasLtReductionScheme_t: how the parts of a sum that was cut along k come together. The others
 * (in place 1, output type 4) round each part to the output's type. */
enum { REDUCTION_COMPUTE_TYPE = 2, REDUCTION_ANY = 7 };

int assay_cublaslt_type(enum assay_dtype dtype)
{
    switch (dtype) {
    case ASSAY_DTYPE_F16:
        return CUDA_R_16F_;
    case ASSAY_DTYPE_BF16:
        return CUDA_R_16BF_;
    case ASSAY_DTYPE_S8:
        return CUDA_R_8I_;
    case ASSAY_DTYPE_E4M3:
        return CUDA_R_8F_E4M3_;
    default:
        return CUDA_R_32F_;
    }
}

/* ---- the description ------------------------------------------------------------------------- */

cublas_status assay_cublaslt_set(const struct cublaslt_product *p, int attribute, const void *value,
                                 size_t bytes)
{
    return p->lt->cublasLtMatmulDescSetAttribute(p->desc, attribute, value, bytes);
}

cublas_status assay_cublaslt_set_int(const struct cublaslt_product *p, int attribute, int32_t value)
{
    return assay_cublaslt_set(p, attribute, &value, sizeof value);
}

cublas_status assay_cublaslt_set_pointer(const struct cublaslt_product *p, int attribute,
                                         const void *value)
{
    return assay_cublaslt_set(p, attribute, &value, sizeof value);
}

/* f32 is multiplied as f32 is, not as TF32. 8-bit floats are summed without the fast mode, which
 * would leave the tensor cores' short sums as they are for all of k. */
cublas_status assay_cublaslt_describe(struct cublaslt_product *p, const struct cublaslt_shape *s)
{
    const struct cuda_cublaslt_api *lt = p->lt;
    bool integers = s->type == CUDA_R_8I_;
    int8_t slow = 0;
    uint64_t m = (uint64_t)s->m, k = (uint64_t)s->k, n = (uint64_t)s->n;
    cublas_status code =
        lt->cublasLtMatmulDescCreate(&p->desc, integers ? CUBLAS_COMPUTE_S32 : CUBLAS_COMPUTE_F32,
                                     integers ? CUDA_R_32I_ : CUDA_R_32F_);
    if (code == 0)
        code = assay_cublaslt_set_int(p, CUBLASLT_DESC_TRANSA, CUBLAS_OP_T_);
    if (code == 0)
        code = assay_cublaslt_set_int(p, CUBLASLT_DESC_TRANSB, CUBLAS_OP_N_);
    if (code == 0 && s->type == CUDA_R_8F_E4M3_)
        code = assay_cublaslt_set(p, CUBLASLT_DESC_FAST_ACCUM, &slow, sizeof slow);
    if (code == 0)
        code = lt->cublasLtMatrixLayoutCreate(&p->a, s->type, k, n, s->k);
    if (code == 0)
        code = lt->cublasLtMatrixLayoutCreate(&p->b, s->type, k, m, s->x_pitch);
    if (code == 0)
        code = lt->cublasLtMatrixLayoutCreate(&p->d, s->d_type, n, m, s->n);
    return code;
}

void assay_cublaslt_forget(struct cublaslt_product *p)
{
    if (p->desc)
        p->lt->cublasLtMatmulDescDestroy(p->desc);
    if (p->a)
        p->lt->cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        p->lt->cublasLtMatrixLayoutDestroy(p->b);
    if (p->d)
        p->lt->cublasLtMatrixLayoutDestroy(p->d);
    p->desc = NULL;
    p->a = p->b = p->d = NULL;
}

/* ---- algorithms ------------------------------------------------------------------------------ */

/* The library takes pointers to be aligned to 256 bytes unless told otherwise. */
static cublas_status prefer(const struct cublaslt_product *p, const struct cublaslt_needs *needs,
                            cublaslt_preference preference)
{
    const struct cuda_cublaslt_api *lt = p->lt;
    uint64_t workspace = p->workspace_bytes;
    uint32_t reduction = needs->exact ? REDUCTION_COMPUTE_TYPE : REDUCTION_ANY;
    uint32_t align[4] = {CUBLASLT_OWN_ALIGN, needs->x_align, needs->d_align, needs->d_align};
    cublas_status code = lt->cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
    if (code == 0)
        code = lt->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_REDUCTION_MASK,
                                                        &reduction, sizeof reduction);
    for (int i = 0; i < 4 && code == 0; i++)
        code = lt->cublasLtMatmulPreferenceSetAttribute(preference, PREFERENCE_ALIGN_A + i,
                                                        &align[i], sizeof align[i]);
    return code;
}

cublas_status assay_cublaslt_ask(const struct cublaslt_product *p,
                                 const struct cublaslt_needs *needs, cublaslt_heuristic *out,
                                 int *n)
{
    const struct cuda_cublaslt_api *lt = p->lt;
    cublaslt_preference preference = NULL;
    cublaslt_heuristic found[CUBLASLT_MOST_ALGOS];
    int count = 0;
    cublas_status code = lt->cublasLtMatmulPreferenceCreate(&preference);
    if (code == 0)
        code = prefer(p, needs, preference);
    if (code == 0)
        code = lt->cublasLtMatmulAlgoGetHeuristic(p->handle, p->desc, p->a, p->b, p->d, p->d,
                                                  preference, CUBLASLT_MOST_ALGOS, found, &count);
    if (preference)
        lt->cublasLtMatmulPreferenceDestroy(preference);
    *n = 0;
    for (int i = 0; i < count && code == 0; i++)
        if (found[i].state == 0 && found[i].workspace <= p->workspace_bytes)
            out[(*n)++] = found[i];
    return code;
}
