// swiglu.cu: rows of two halves, x and its gates, make rows of x silu(gate); and the gradient.
//
// Compile with -DELEMENT=…, and -DVECTOR=1 where an output row is a multiple of 16 bytes,
// else 0. As in eltwise.cu a thread has one item of the forward op's output and is done. Items are counted
// through all rows; -DWIDE=1 where their number does not fit in 31 bits, because dividing by the
// length of a row then takes four times as many instructions.
#define FORM 0
#include "row.cuh"

#if WIDE
typedef s64 number;
#else
typedef u32 number;
#endif

DEVICE float swiglu_of(float x, float gate)
{
    return x * (gate * fast_reciprocal(1.0f + element_exp(-gate)));
}

extern "C" __global__ void __launch_bounds__(256)
    swiglu(const element *x, element *out, s64 items, s64 row_items)
{
    number at = (number)blockIdx.x * blockDim.x + threadIdx.x, of_row = (number)row_items;
    number row = at / of_row;
    s64 from = (s64)row * 2 * of_row + (at - row * of_row);
    bool wanted = at < items;
    item a = item_get(x, from, wanted, 0), b = item_get(x, from + of_row, wanted, 0);
    float v[UNIT], gate[UNIT];
    item_unpack(a, v);
    item_unpack(b, gate);
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        v[j] = swiglu_of(v[j], gate[j]);
    item_store(out, at, wanted, v);
}

// silu(gate) = gate s and its slope s + gate s (1 - s), from one s = sigmoid(gate).
extern "C" __global__ void __launch_bounds__(256)
    swiglu_backward(const element *dy, const element *x, element *out, s64 items, s64 row_items)
{
    number at = (number)blockIdx.x * blockDim.x + threadIdx.x, of_row = (number)row_items;
    number row = at / of_row;
    s64 from = (s64)row * 2 * of_row + (at - row * of_row);
    bool wanted = at < items;
    item c = item_get(dy, at, wanted, 0), a = item_get(x, from, wanted, 0);
    item b = item_get(x, from + of_row, wanted, 0);
    float d[UNIT], v[UNIT], gate[UNIT];
    item_unpack(c, d);
    item_unpack(a, v);
    item_unpack(b, gate);
#pragma unroll
    for (int j = 0; j < UNIT; j++) {
        float near = held(gate[j], 87.0f);
        struct gate g = gate_of(near);
        float slope = d[j] * v[j] * fmaf(near, g.slope, g.s);
        v[j] = d[j] * (gate[j] * g.s);
        gate[j] = slope;
    }
    item_store(out, from, wanted, v);
    item_store(out, from + of_row, wanted, gate);
}
