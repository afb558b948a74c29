/* gelu_tanh_vec.c: the approximation of gelu with tanh. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/vec/vec_math.h"

/* x sigmoid(2u) = x / (1 + exp(-2u)), u = sqrt(2 / pi) (x + 0.044715 x^3). */
VEC_INLINE vec gelu_tanh(vec x)
{
    vec w = vec_fma(vec_mul(x, x), vec_set(0.0713548163f), vec_set(1.59576912f));
    return vec_div(x, vec_add(vec_set(1.0f), vec_exp_minus(vec_mul(x, w))));
}

#define NATIVE_OP gelu_tanh
#define ELTWISE(x, y, param) gelu_tanh(x)
#include "kernel/native/rows/eltwise_body.h"
