// softmax_backward.cu: y (dy - sum(dy y)) over rows, from the output y.
//
// Compile with -DELEMENT=…, -DVECTOR=… and -DFORM=…, see row.cuh, and where a block has a row with
// -DHELD=…, the elements of it that a thread holds. Both rows stay in registers, as they are
// stored, so that memory is read once. Rows beyond a block are read twice, and the second time found
// in L2.
#include "row.cuh"

// dy and y, as floats, of one item.
struct pair_of_items {
    float dy[UNIT], y[UNIT];
};

DEVICE struct pair_of_items unpack(item dy, item y)
{
    struct pair_of_items p;
    item_unpack(dy, p.dy);
    item_unpack(y, p.y);
    return p;
}

template <int ITEMS>
DEVICE float product(const item (&dy)[ITEMS], const item (&y)[ITEMS], float (&sum)[4])
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        struct pair_of_items p = unpack(dy[i], y[i]);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            sum[(i * UNIT + j) % 4] = fmaf(p.dy[j], p.y[j], sum[(i * UNIT + j) % 4]);
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

template <int ITEMS>
DEVICE void finish(const item (&dy)[ITEMS], const item (&y)[ITEMS], float sum, s64 first,
                   s64 items, struct team team, element *out)
{
    s64 at = first + team.index;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        struct pair_of_items p = unpack(dy[i], y[i]);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            p.dy[j] = p.y[j] * (p.dy[j] - sum);
        item_store(out, at, at < items, p.dy);
        at += team.size;
    }
}

template <int ITEMS, bool BLOCK>
DEVICE void gradient_row(const element *from_dy, const element *from_y, element *out, s64 items,
                         struct team team)
{
    item dy[ITEMS], y[ITEMS];
    float sums[4] = {0, 0, 0, 0};
    row_get<ITEMS>(from_dy, 0, items, team, 0, dy);
    row_get<ITEMS>(from_y, 0, items, team, 0, y);
    float sum = team_reduce<BLOCK, plus>(team, product<ITEMS>(dy, y, sums), 0.0f);
    finish<ITEMS>(dy, y, sum, 0, items, team, out);
}

template <int ITEMS>
DEVICE void gradient_lanes(const element *dy, const element *y, element *out, s64 rows, s64 dim,
                           u32 lanes)
{
    struct team team;
    s64 row = row_of_lanes(blockIdx.x, lanes, &team), at = row * dim;
    gradient_row<ITEMS, false>(dy + at, y + at, out + at, row < rows ? dim / UNIT : 0, team);
}

#if FORM == FORM_FEW
extern "C" __global__ void __launch_bounds__(128)
    softmax_backward_few(const element *dy, const element *y, element *out, s64 rows, s64 dim,
                         u32 lanes)
{
    gradient_lanes<ITEMS_FEW>(dy, y, out, rows, dim, lanes);
}
#endif

#if FORM == FORM_MANY
extern "C" __global__ void __launch_bounds__(128)
    softmax_backward_many(const element *dy, const element *y, element *out, s64 rows, s64 dim,
                          u32 lanes)
{
    gradient_lanes<ITEMS_MANY>(dy, y, out, rows, dim, lanes);
}
#endif

#if FORM == FORM_BLOCK || FORM == FORM_SPREAD
extern "C" __global__ void __launch_bounds__(1024)
    softmax_backward_block(const element *dy, const element *y, element *out, s64 rows, s64 dim,
                           u32 lanes)
{
    s64 at = blockIdx.x * dim;
    gradient_row<HELD / UNIT, true>(dy + at, y + at, out + at, dim / UNIT, team_of_block());
}
#endif

#if FORM == FORM_LONG
extern "C" __global__ void __launch_bounds__(1024)
    softmax_backward_long(const element *dy, const element *y, element *out, s64 rows, s64 dim,
                          u32 lanes)
{
    struct team team = team_of_block();
    s64 items = dim / UNIT, step = (s64)ITEMS_FEW * team.size;
    item d[ITEMS_FEW], v[ITEMS_FEW];
    float sums[4] = {0, 0, 0, 0}, sum = 0;
    dy += blockIdx.x * dim;
    y += blockIdx.x * dim;
    out += blockIdx.x * dim;
    for (s64 first = 0; first < items; first += step) {
        row_get<ITEMS_FEW>(dy, first, items, team, 0, d);
        row_get<ITEMS_FEW>(y, first, items, team, 0, v);
        sum = product<ITEMS_FEW>(d, v, sums);
    }
    sum = block_reduce<plus>(sum, 0.0f);
    for (s64 first = 0; first < items; first += step) {
        row_get<ITEMS_FEW>(dy, first, items, team, 0, d);
        row_get<ITEMS_FEW>(y, first, items, team, 0, v);
        finish<ITEMS_FEW>(d, v, sum, first, items, team, out);
    }
}
#endif
