// loss_backward.cu: the gradient of cross_entropy, (exp(x - logsum) - onehot(class)) g / rows, from
// the saved logarithm of each row's sum. mse's is in eltwise.cu.
//
// Compile with -DELEMENT=…, and -DVECTOR=1 where a row is a multiple of 16 bytes, else 0; -DWIDE=1
// where the number of items does not fit in 31 bits. As in swiglu.cu a thread has one item and is
// done, and finds its row by a division. Classes and logarithms are the same for many threads, and
// come from L1.
#define FORM 0
#include "row.cuh"

#if WIDE
typedef s64 number;
#else
typedef u32 number;
#endif

extern "C" __global__ void __launch_bounds__(256)
    cross_entropy_backward(const float *loss, const element *x, const int *classes,
                           const float *logsums, element *out, s64 items, s64 row_items,
                           float inverse)
{
    number at = (number)blockIdx.x * blockDim.x + threadIdx.x, of_row = (number)row_items;
    bool wanted = at < items;
    number row = wanted ? at / of_row : 0;
    item from = item_get(x, at, wanted, 0);
    float v[UNIT], scale = *loss * inverse, logsum = logsums[row];
    s64 hot = classes[row] - ((s64)at - (s64)row * of_row) * UNIT;
    item_unpack(from, v);
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        v[j] = element_exp(v[j] - logsum) * scale - (hot == j ? scale : 0.0f);
    item_store(out, at, wanted, v);
}
