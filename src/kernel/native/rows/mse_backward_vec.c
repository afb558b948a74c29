/* mse_backward_vec.c: 2 (x - y) g / n, where g is the gradient of the loss. */
#include "kernel/native/vec/vec.h"

VEC_INLINE float mse_scale(const struct native_job *job, const float *g)
{
    return (float)(2 * (double)g[0] / (double)(job->rows * job->dim));
}

#define NATIVE_OP mse_backward
#define NATIVE_INPUTS 2
#define ELTWISE_FIRST 1
#define ELTWISE_PARAM(job, args) mse_scale(job, (args)->in[0])
#define ELTWISE(x, y, param) vec_mul(vec_sub(x, y), param)
#include "kernel/native/rows/eltwise_body.h"
