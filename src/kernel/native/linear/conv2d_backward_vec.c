/* conv2d_backward_vec.c: products and sums in f32 (linear_vec.c). */
#include "kernel/native/vec/vec.h"

#include "kernel/native/linear/conv2d_backward_pack.h"

#define NATIVE_OP conv2d_backward
CONV2D_BACKWARD_FUNCTIONS(VEC_NEED, 0, NATIVE_PASTE(assay_linear, VEC_NAME))

extern const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME);
const struct assay_kernel NATIVE_PASTE(assay_kernel, NATIVE_NAME) = {
    CONV2D_BACKWARD_FIELDS(NATIVE_TEXT(NATIVE_NAME), VEC_PREFERENCE,
                           ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_F16) |
                               ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16)),
};
