// attention_mma.cuh: softmax of scores as matrix instructions leave them, for attention in f16 and
// bf16. Compile with -DKEYS=…, beside what attention.cuh wants.
#ifndef ASSAY_ATTENTION_MMA_CUH
#define ASSAY_ATTENTION_MMA_CUH

#include "attention.cuh"

// Scores of queries g and g + 8 of a band of 16 and KEYS keys, as mma leaves them; then, in place,
// their exponentials.
#define SCORE_TILES (KEYS / 8)

// Masks keys that a query does not see, and those beyond the last. `row` is
// query g, `key` the first key.
DEVICE void hide(const struct attention_args *a, float s[SCORE_TILES][4], int row, int key)
{
    const int column = key + (int)threadIdx.x % 4 * 2;
    const int seen[2] = {keys_of(a, row) - column, keys_of(a, row + 8) - column};
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (j * 8 + i % 2 >= seen[i / 2])
                s[j][i] = -FLOAT_INFINITY;
}

// The greatest score of query g (half 0) or g + 8 (half 1).
DEVICE float greatest(const float s[SCORE_TILES][4], int half)
{
    float most = -FLOAT_INFINITY;
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++)
        most = fmaxf(most, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
    return lanes_reduce<greater>(most, 4);
}

// Scores to exponentials, and what they sum up to in this lane.
DEVICE float exponentials(float s[SCORE_TILES][4], int half, float scale, float shift)
{
    const float from = exp_sum_shift(shift);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++)
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; i++) {
            s[j][i] = fast_exp2(fmaf(s[j][i], scale, -from));
            sum += s[j][i];
        }
    return sum;
}

// Exponentials of 16 keys as the first operand of the second product: two accumulators of
// 16 x 8 are, rounded, one operand of 16 x 16.
DEVICE void exponentials_pack(const float s[SCORE_TILES][4], int step, u32 *out)
{
#pragma unroll
    for (int i = 0; i < 4; i++)
        out[i] = mma_pair(s[2 * step + i / 2][i % 2 * 2], s[2 * step + i / 2][i % 2 * 2 + 1]);
}

// Whether the greatest of these scores, of any query of the warp, is too great for what the sums are
// relative to. If so, it is taken, and the sums so far are to be multiplied by factor[half].
DEVICE bool take_greatest(struct online state[2], float scale, const float s[SCORE_TILES][4],
                          float factor[2])
{
    const float most[2] = {greatest(s, 0) * scale, greatest(s, 1) * scale};
    const bool grows = online_grows(state[0], most[0]) || online_grows(state[1], most[1]);
    if (!__any_sync(~0u, grows))
        return false;
    factor[0] = online_shift(&state[0], most[0]);
    factor[1] = online_shift(&state[1], most[1]);
    return true;
}

DEVICE void scale_sums(float o[DIM / 8][4], const float factor[2])
{
#pragma unroll
    for (int j = 0; j < DIM / 8; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            o[j][i] *= factor[i / 2];
}

#endif
