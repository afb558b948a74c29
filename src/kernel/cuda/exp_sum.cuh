// exp_sum.cuh: the greatest of many values and the sum of exp(value - greatest), as they come; for
// long rows of softmax and cross_entropy.
#ifndef ASSAY_EXP_SUM_CUH
#define ASSAY_EXP_SUM_CUH

#include "row.cuh"

struct exp_sum {
    float most, sum;
};

DEVICE struct exp_sum exp_sum_none(void) { return {-FLOAT_INFINITY, 0.0f}; }

// What exp is taken relative to: -infinity - -infinity would be NaN, also where greater values are
// still to come.
DEVICE float exp_sum_shift(float most) { return most == -FLOAT_INFINITY ? 0.0f : most; }

template <int ITEMS> DEVICE void exp_sum_add(struct exp_sum *s, const float (&v)[ITEMS][UNIT])
{
    float most = s->most, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            most = fmaxf(most, v[i][j]);
    float shift = exp_sum_shift(most);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            sum += element_exp(v[i][j] - shift);
    *s = {most, fmaf(s->sum, element_exp(s->most - shift), sum)};
}

// Of the whole block. A row of nothing but -infinity has no sum: NaN, as the ops have it.
DEVICE struct exp_sum exp_sum_of_block(struct exp_sum mine)
{
    float most = block_reduce<greater>(mine.most, -FLOAT_INFINITY);
    float sum = mine.sum * element_exp(mine.most - exp_sum_shift(most));
    sum = block_reduce<plus>(sum, 0.0f);
    return {most, most == -FLOAT_INFINITY ? FLOAT_NAN : sum};
}

#endif
