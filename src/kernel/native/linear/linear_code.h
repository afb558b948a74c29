/* linear_code.h: what the lines of a packed panel hold, for the kernels of `linear`. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_CODE_H
#define ASSAY_KERNEL_NATIVE_LINEAR_CODE_H

#include "kernel/native/linear/linear_native.h"
#include "kernel/native/native.h"

/* Codes that follow each other along k share a dword: `per` of linear_code_per. */
enum linear_code {
    LINEAR_F32,
    LINEAR_BF16,
    LINEAR_F16,
    LINEAR_S8,
    LINEAR_U8,
    LINEAR_E4M3,
    LINEAR_U4,
    LINEAR_CODES
};

static inline int linear_code_per(enum linear_code code)
{
    return code == LINEAR_F32                          ? 1
           : code == LINEAR_BF16 || code == LINEAR_F16 ? 2
           : code == LINEAR_U4                         ? 8
                                                       : 4;
}

static inline enum linear_code linear_code_of(const struct linear_job *job)
{
    enum assay_dtype type = job->recipe.code == ASSAY_DTYPE_NONE ? job->dtype : job->recipe.code;
    switch (type) {
    case ASSAY_DTYPE_BF16:
        return LINEAR_BF16;
    case ASSAY_DTYPE_F16:
        return LINEAR_F16;
    case ASSAY_DTYPE_S8:
        return LINEAR_S8;
    case ASSAY_DTYPE_U8:
        return LINEAR_U8;
    case ASSAY_DTYPE_E4M3:
        return LINEAR_E4M3;
    case ASSAY_DTYPE_U4:
        return LINEAR_U4;
    default:
        return LINEAR_F32;
    }
}

/* How the elements of x and y lie in memory; not for S8. */
static inline enum native_kind linear_kind_of(enum assay_dtype dtype)
{
    return dtype == ASSAY_DTYPE_F16    ? NATIVE_F16
           : dtype == ASSAY_DTYPE_BF16 ? NATIVE_BF16
                                       : NATIVE_F32;
}

/* The type of y, bias and residual. */
static inline enum assay_dtype linear_y_dtype(const struct linear_job *job)
{
    return job->y_dtype == ASSAY_DTYPE_NONE ? job->dtype : job->y_dtype;
}

#define LINEAR_UNROLL NATIVE_UNROLL

#endif
