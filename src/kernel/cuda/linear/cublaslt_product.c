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

static cublas_status make_layout(const struct cublaslt_product *p, cublaslt_matrix_layout *out,
                                 int type, bool transposed, int64_t rows, int64_t columns,
                                 int64_t pitch)
{
    int64_t stored_rows = transposed ? columns : rows, stored_columns = transposed ? rows : columns;
    return p->lt->cublasLtMatrixLayoutCreate(out, type, (uint64_t)stored_rows,
                                             (uint64_t)stored_columns, pitch ? pitch : stored_rows);
}

/* f32 is multiplied as f32 is, not as TF32. 8-bit floats are summed without the fast mode, which
 * would leave the tensor cores' short sums as they are for all of k. */
cublas_status assay_cublaslt_describe_matrices(struct cublaslt_product *p, int type, int d_type,
                                               const struct cublaslt_matrices *m)
{
    bool integers = type == CUDA_R_8I_;
    int8_t slow = 0;
    cublas_status code = p->lt->cublasLtMatmulDescCreate(
        &p->desc, integers ? CUBLAS_COMPUTE_S32 : CUBLAS_COMPUTE_F32,
        integers ? CUDA_R_32I_ : CUDA_R_32F_);
    if (code == 0)
        code = assay_cublaslt_set_int(p, CUBLASLT_DESC_TRANSA,
                                      m->a_transposed ? CUBLAS_OP_T_ : CUBLAS_OP_N_);
    if (code == 0)
        code = assay_cublaslt_set_int(p, CUBLASLT_DESC_TRANSB,
                                      m->b_transposed ? CUBLAS_OP_T_ : CUBLAS_OP_N_);
    if (code == 0 && type == CUDA_R_8F_E4M3_)
        code = assay_cublaslt_set(p, CUBLASLT_DESC_FAST_ACCUM, &slow, sizeof slow);
    if (code == 0)
        code = make_layout(p, &p->a, type, m->a_transposed, m->d_rows, m->depth, 0);
    if (code == 0)
        code = make_layout(p, &p->b, type, m->b_transposed, m->depth, m->d_columns, m->b_pitch);
    if (code == 0)
        code = make_layout(p, &p->d, d_type, false, m->d_rows, m->d_columns, 0);
    return code;
}

cublas_status assay_cublaslt_describe(struct cublaslt_product *p, const struct cublaslt_shape *s)
{
    const struct cublaslt_matrices matrices = {.d_rows = s->n,
                                               .d_columns = s->m,
                                               .depth = s->k,
                                               .a_transposed = true,
                                               .b_pitch = s->x_pitch};
    return assay_cublaslt_describe_matrices(p, s->type, s->d_type, &matrices);
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

size_t assay_cublaslt_workspace_bytes(void)
{
    return (size_t)(assay_cuda_properties()->major >= 9 ? 64 : 32) << 20;
}

int assay_cublaslt_version(char *text, size_t size)
{
    const struct cuda_cublaslt_api *lt = assay_cuda_cublaslt();
    if (!lt)
        return 0;
    int version = (int)lt->cublasLtGetVersion();
    return snprintf(text, size, "cuBLASLt %d.%d.%d", version / 10000, version / 100 % 100,
                    version % 100);
}

/* ---- algorithms ------------------------------------------------------------------------------ */

/* The library takes pointers to be aligned to 256 bytes unless told otherwise. */
static cublas_status prefer(const struct cublaslt_product *p, const struct cublaslt_needs *needs,
                            cublaslt_preference preference)
{
    const struct cuda_cublaslt_api *lt = p->lt;
    uint64_t workspace = p->workspace_bytes;
    uint32_t reduction = needs->exact ? REDUCTION_COMPUTE_TYPE : REDUCTION_ANY;
    uint32_t w_align = needs->w_align ? needs->w_align : CUBLASLT_OWN_ALIGN;
    uint32_t align[4] = {w_align, needs->x_align, needs->d_align, needs->d_align};
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
