// softmax.cu: exp(x - max) / sum over rows.
//
// Compile with -DELEMENT=…, -DVECTOR=… and -DFORM=…, see row.cuh. Rows up to 32 elements for each
// thread of a block stay in registers: one pass over memory. Longer ones are read twice, and the
// second time found in L2.
#include "exp_sum.cuh"

template <int ITEMS, bool BLOCK>
DEVICE void softmax_row(const element *x, element *out, s64 items, struct team team)
{
    float v[ITEMS][UNIT], most = -FLOAT_INFINITY, sum[4] = {0, 0, 0, 0};
    row_load<ITEMS>(x, 0, items, team, WORD_LEAST, v);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            most = fmaxf(most, v[i][j]);
    most = team_reduce<BLOCK, greater>(team, most, -FLOAT_INFINITY);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++) {
            v[i][j] = element_exp(v[i][j] - most);
            sum[(i * UNIT + j) % 4] += v[i][j];
        }
    float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    float scale = 1.0f / team_reduce<BLOCK, plus>(team, total, 0.0f);
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = team.index + i * team.size;
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            v[i][j] *= scale;
        item_store(out, at, at < items, v[i]);
    }
}

template <int ITEMS>
DEVICE void softmax_lanes(const element *x, element *out, s64 rows, s64 dim, u32 lanes)
{
    struct team team;
    s64 row = row_of_lanes(blockIdx.x, lanes, &team);
    softmax_row<ITEMS, false>(x + row * dim, out + row * dim, row < rows ? dim / UNIT : 0, team);
}

#if FORM == FORM_FEW
extern "C" __global__ void __launch_bounds__(128)
    softmax_few(const element *x, element *out, s64 rows, s64 dim, u32 lanes)
{
    softmax_lanes<ITEMS_FEW>(x, out, rows, dim, lanes);
}
#endif

#if FORM == FORM_MANY
extern "C" __global__ void __launch_bounds__(128)
    softmax_many(const element *x, element *out, s64 rows, s64 dim, u32 lanes)
{
    softmax_lanes<ITEMS_MANY>(x, out, rows, dim, lanes);
}
#endif

#if FORM == FORM_BLOCK || FORM == FORM_SPREAD
extern "C" __global__ void __launch_bounds__(1024)
    softmax_block(const element *x, element *out, s64 rows, s64 dim, u32 lanes)
{
    s64 at = blockIdx.x * dim;
    softmax_row<ITEMS_BLOCK, true>(x + at, out + at, dim / UNIT, team_of_block());
}
#endif

// A thread keeps the greatest value it has seen and the sum of exp(x - that), scaled down whenever
// a greater one comes.
#if FORM == FORM_LONG
extern "C" __global__ void __launch_bounds__(1024)
    softmax_long(const element *x, element *out, s64 rows, s64 dim, u32 lanes)
{
    struct team team = team_of_block();
    s64 items = dim / UNIT, step = (s64)ITEMS_FEW * team.size;
    float v[ITEMS_FEW][UNIT];
    struct exp_sum mine = exp_sum_none();
    x += blockIdx.x * dim;
    out += blockIdx.x * dim;
    for (s64 first = 0; first < items; first += step) {
        row_load<ITEMS_FEW>(x, first, items, team, WORD_LEAST, v);
        exp_sum_add<ITEMS_FEW>(&mine, v);
    }
    struct exp_sum all = exp_sum_of_block(mine);
    float scale = 1.0f / all.sum;
    for (s64 first = 0; first < items; first += step) {
        row_load<ITEMS_FEW>(x, first, items, team, WORD_LEAST, v);
#pragma unroll
        for (int i = 0; i < ITEMS_FEW; i++) {
            s64 at = first + team.index + i * team.size;
#pragma unroll
            for (int j = 0; j < UNIT; j++)
                v[i][j] = element_exp(v[i][j] - all.most) * scale;
            item_store(out, at, at < items, v[i]);
        }
    }
}
#endif
