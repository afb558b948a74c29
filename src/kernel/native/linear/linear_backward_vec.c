/* linear_backward_vec.c: products and sums in f32 (linear_vec.c). */
#include "kernel/native/vec/vec.h"

#if VEC_BITS == 512
#include "kernel/native/linear/linear_line_avx512.h"
#elif VEC_BITS == 256
#include "kernel/native/linear/linear_line_avx2.h"
#else
#include "kernel/native/linear/linear_line_portable.h"
#endif
#include "kernel/native/linear/linear_backward_native.h"
#include "kernel/native/linear/linear_cast.h"

#define NATIVE_OP linear_backward
#define BODY NATIVE_PASTE(assay_linear, VEC_NAME)
LINEAR_PRODUCT_BODY(body, &BODY, &BODY, &BODY);
LINEAR_TRAINING_FUNCTIONS(linear_backward, VEC_NEED, 0, body)

extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);
const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {
    LINEAR_TRAINING_FIELDS(linear_backward, NATIVE_TEXT(NATIVE_NAME), VEC_PREFERENCE,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
                               ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)),
};
