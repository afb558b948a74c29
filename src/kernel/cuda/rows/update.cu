// update.cu: one step of an optimizer, adamw or sgd: new weights and state, element by element.
//
// Compile with -DELEMENT=… and -DOP=…, an OP_… below. As in eltwise.cu a thread has 16 bytes of
// each tensor and is done. Arithmetic is f32, and new weights come from the new state before it is
// rounded.
#include "types.cuh"

#include "kernel_math.cuh"

#define OP_ADAMW 0
#define OP_SGD 1
#define OP_SGD_MOMENTUM 2

#define INPUTS (OP == OP_ADAMW ? 4 : OP == OP_SGD ? 2 : 3)
#define OUTPUTS (OP == OP_ADAMW ? 3 : OP == OP_SGD ? 1 : 2)

struct tensors {
    const element *in[4]; // weights, gradient, state
    element *out[3];      // new weights and state
};

// What stays the same for all elements.
struct constants {
    float keep; // of a weight: adamw 1 - lr decay
    float rate; // adamw lr / (1 - beta1^t), sgd lr
    float beta1, rest1, beta2, rest2; // adamw, with 1 - beta
    float root;                       // adamw 1 / sqrt(1 - beta2^t)
    float eps, decay, momentum;
};

// v: weight, gradient and state of one element; becomes the new weight and state.
DEVICE void update(struct constants c, float *v)
{
#if OP == OP_ADAMW
    float m = fmaf(c.beta1, v[2], c.rest1 * v[1]), s = fmaf(c.beta2, v[3], c.rest2 * v[1] * v[1]);
    v[0] = fmaf(v[0], c.keep, -c.rate * (m / fmaf(sqrtf(s), c.root, c.eps)));
    v[1] = m;
    v[2] = s;
#else
    float step = fmaf(c.decay, v[0], v[1]);
    if (OP == OP_SGD_MOMENTUM)
        step = fmaf(c.momentum, v[2], step);
    v[0] = fmaf(-c.rate, step, v[0]);
    v[1] = step;
#endif
}

// The tail after the last whole vector, by the first threads of the last block.
DEVICE void finish(struct tensors t, s64 count, struct constants c)
{
    s64 i = count / VEC_ELEMENTS * VEC_ELEMENTS + threadIdx.x;
    float v[4];
    if (blockIdx.x != gridDim.x - 1 || i >= count)
        return;
#pragma unroll
    for (int k = 0; k < INPUTS; k++)
        v[k] = element_get(t.in[k][i]);
    update(c, v);
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
        t.out[k][i] = element_from(v[k]);
}

extern "C" __global__ void __launch_bounds__(256)
    update_step(struct tensors t, s64 count, struct constants c)
{
    s64 vecs = count / VEC_ELEMENTS, at = (s64)blockIdx.x * blockDim.x + threadIdx.x;
    uint4 in[INPUTS];
    float v[INPUTS][VEC_ELEMENTS];
#pragma unroll
    for (int k = 0; k < INPUTS; k++)
        in[k] = load_once(t.in[k] + at * VEC_ELEMENTS, at < vecs, 0);
#pragma unroll
    for (int k = 0; k < INPUTS; k++)
        vec_unpack(in[k], v[k]);
#pragma unroll
    for (int j = 0; j < VEC_ELEMENTS; j++) {
        float one[4];
#pragma unroll
        for (int k = 0; k < INPUTS; k++)
            one[k] = v[k][j];
        update(c, one);
#pragma unroll
        for (int k = 0; k < OUTPUTS; k++)
            v[k][j] = one[k];
    }
#pragma unroll
    for (int k = 0; k < OUTPUTS; k++)
        store_once(t.out[k] + at * VEC_ELEMENTS, vec_pack(v[k]), at < vecs);
    finish(t, count, c);
}
