// loss.cu: mse and cross_entropy: one number of many.
//
// Compile with -DELEMENT=… and, for cross_entropy, -DVECTOR=… and -DFORM=…, see row.cuh. As many
// blocks as fit, each with a loop: every block leaves one partial sum, in double, and the one that
// comes last adds them up, always in the same order. So the output is the same each time. `ticket`
// is 0 before and after.
#include "exp_sum.cuh"

DEVICE bool comes_last(u32 *ticket)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence(); // the partial sum before the ticket
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
        __threadfence(); // and the others' sums behind it
    }
    __syncthreads();
    return last;
}

// Every thread of the block calls it with its part of the sum.
DEVICE void finish(double mine, double *partials, u32 *ticket, double count, float *out)
{
    double sum = block_reduce<plus>(mine, 0.0);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0)
            partials[blockIdx.x] = sum;
        if (!comes_last(ticket))
            return;
        sum = 0;
        for (u32 i = threadIdx.x; i < gridDim.x; i += blockDim.x)
            sum += __ldcg(&partials[i]);
        sum = block_reduce<plus>(sum, 0.0);
    }
    if (threadIdx.x == 0) {
        out[0] = (float)(sum / count);
        *ticket = 0;
    }
}

// ---- mse ----------------------------------------------------------------------------------------

#ifndef FORM

enum { MSE_VECS = 2 };

DEVICE float square_of_difference(element x, element y)
{
    float d = element_get(x) - element_get(y);
    return d * d;
}

extern "C" __global__ void __launch_bounds__(512)
    mse(const element *x, const element *y, float *out, s64 count, double *partials, u32 *ticket)
{
    s64 vecs = count / VEC_ELEMENTS, step = (s64)MSE_VECS * blockDim.x;
    double sum = 0;
    for (s64 first = blockIdx.x * step; first < vecs; first += gridDim.x * step) {
        uint4 a[MSE_VECS], b[MSE_VECS];
        float part[4] = {0, 0, 0, 0}, p[VEC_ELEMENTS], q[VEC_ELEMENTS];
#pragma unroll
        for (int i = 0; i < MSE_VECS; i++) {
            s64 at = first + threadIdx.x + i * blockDim.x;
            a[i] = load_once(x + at * VEC_ELEMENTS, at < vecs, 0);
            b[i] = load_once(y + at * VEC_ELEMENTS, at < vecs, 0);
        }
#pragma unroll
        for (int i = 0; i < MSE_VECS; i++) {
            vec_unpack(a[i], p);
            vec_unpack(b[i], q);
#pragma unroll
            for (int j = 0; j < VEC_ELEMENTS; j++) {
                float d = p[j] - q[j];
                part[j % 4] = fmaf(d, d, part[j % 4]);
            }
        }
        sum += (double)((part[0] + part[1]) + (part[2] + part[3]));
    }
    s64 rest = vecs * VEC_ELEMENTS + threadIdx.x;
    if (blockIdx.x == 0 && rest < count)
        sum += (double)square_of_difference(x[rest], y[rest]);
    finish(sum, partials, ticket, (double)count, out);
}

// ---- cross_entropy ------------------------------------------------------------------------------

#else

// log(sum(exp(x - most))) + most - target; in this order, what is close to each other cancels
// first.
DEVICE double row_loss(struct exp_sum s, float target)
{
    return (double)s.most - (double)target + (double)logf(s.sum);
}

// The greatest of all items. Pairs of 16 bits are compared as such: they become floats only once.
template <int ITEMS> DEVICE float items_most(const item (&items)[ITEMS])
{
#if VECTOR && ELEMENT != 32
    u32 most = WORD_LEAST;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        most = pair_max(most, pair_max(items[i].x, items[i].y));
        most = pair_max(most, pair_max(items[i].z, items[i].w));
    }
    return fmaxf(element_get((u16)most), element_get((u16)(most >> 16)));
#else
    float most = -FLOAT_INFINITY;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        float v[UNIT];
        item_unpack(items[i], v);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            most = fmaxf(most, v[j]);
    }
    return most;
#endif
}

template <int ITEMS, bool BLOCK>
DEVICE struct exp_sum row_exp_sum(const item (&items)[ITEMS], struct team team)
{
    float most = team_reduce<BLOCK, greater>(team, items_most<ITEMS>(items), -FLOAT_INFINITY);
    float sum[4] = {0, 0, 0, 0};
#if ELEMENT != 32
    // exp(v - most) = 2^(v scale - shift - rest): one instruction less than with v - most. Next to
    // the greatest numbers of bf16, where most * scale would not be one, all that is not `most`
    // gives 0 with the other scale too.
    float scale = fabsf(most) < 1e38f ? 1.44269504f : 1e-33f, shift = most * scale;
    float rest = fmaf(most, scale, -shift);
#endif
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        float v[UNIT];
        item_unpack(items[i], v);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
#if ELEMENT != 32
            sum[(i * UNIT + j) % 4] += fast_exp2(fmaf(v[j], scale, -shift));
#else
            sum[(i * UNIT + j) % 4] += element_exp(v[j] - most);
#endif
    }
    float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    total = team_reduce<BLOCK, plus>(team, total, 0.0f);
#if ELEMENT != 32
    total *= fast_exp2(-rest);
#endif
    return {most, total};
}

template <int ITEMS>
DEVICE void items_get(const element *row, s64 count, struct team team, item (&items)[ITEMS])
{
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = team.index + i * team.size;
        items[i] = item_get(row, at, at < count, WORD_LEAST);
    }
}

// Is the next row loaded while this one is summed? In f32 memory is busy enough without, and single
// elements would take too many registers.
#define AHEAD (VECTOR && ELEMENT != 32)

// Issues the loads of a row and of its target, whose class is known, and of the class of the team's
// next row.
template <int ITEMS>
DEVICE void prefetch(const element *x, const int *classes, s64 rows, s64 dim, s64 row, s64 step,
                struct team team, item (&items)[ITEMS], int *chosen, float *target)
{
    const element *at = x + row * dim;
    items_get<ITEMS>(at, row < rows ? dim / UNIT : 0, team, items);
    if (team.index == 0 && row < rows)
        *target = element_get(at[*chosen]);
    if (team.index == 0 && row + step < rows)
        *chosen = classes[row + step];
}

// Teams of lanes take rows in turns.
template <int ITEMS>
DEVICE double losses_of_lanes(const element *x, const int *classes, s64 rows, s64 dim, u32 lanes)
{
    struct team team;
    double loss = 0;
    s64 row = row_of_lanes(blockIdx.x, lanes, &team);
    s64 step = row_of_lanes(gridDim.x, lanes, &team) - row_of_lanes(0, lanes, &team);
    s64 rounds = (rows + step - 1) / step; // the same for all: shuffles want whole warps
    int chosen = team.index == 0 && row < rows ? classes[row] : 0;
    item next[ITEMS];
    float target = 0.0f;
    if (AHEAD)
        prefetch<ITEMS>(x, classes, rows, dim, row, step, team, next, &chosen, &target);
    for (; rounds > 0; rounds--, row += step) {
        item items[ITEMS];
        if (!AHEAD)
            prefetch<ITEMS>(x, classes, rows, dim, row, step, team, next, &chosen, &target);
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            items[i] = next[i];
        float here = target;
        if (AHEAD)
            prefetch<ITEMS>(x, classes, rows, dim, row + step, step, team, next, &chosen, &target);
        struct exp_sum s = row_exp_sum<ITEMS, false>(items, team);
        if (team.index == 0 && row < rows)
            loss += row_loss(s, here);
    }
    return loss;
}

#if FORM == FORM_FEW
extern "C" __global__ void __launch_bounds__(256)
    cross_entropy_few(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                      u32 lanes, double *partials, u32 *ticket)
{
    double loss = losses_of_lanes<ITEMS_FEW>(x, classes, rows, dim, lanes);
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#if FORM == FORM_MANY
extern "C" __global__ void __launch_bounds__(256, AHEAD ? 4 : 3)
    cross_entropy_many(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                       u32 lanes, double *partials, u32 *ticket)
{
    double loss = losses_of_lanes<ITEMS_MANY>(x, classes, rows, dim, lanes);
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#if FORM == FORM_BLOCK
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_block(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                        u32 lanes, double *partials, u32 *ticket)
{
    struct team team = team_of_block();
    double loss = 0;
    for (s64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const element *at = x + row * dim;
        int chosen = team.index == 0 ? classes[row] : 0;
        item items[ITEMS_MANY];
        items_get<ITEMS_MANY>(at, dim / UNIT, team, items);
        struct exp_sum s = row_exp_sum<ITEMS_MANY, true>(items, team);
        if (team.index == 0)
            loss += row_loss(s, element_get(at[chosen]));
    }
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#if FORM == FORM_LONG
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_long(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                       u32 lanes, double *partials, u32 *ticket)
{
    struct team team = team_of_block();
    double loss = 0;
    for (s64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const element *at = x + row * dim;
        struct exp_sum mine = exp_sum_none();
        float v[ITEMS_FEW][UNIT];
        for (s64 first = 0; first < dim / UNIT; first += ITEMS_FEW * team.size) {
            row_load<ITEMS_FEW>(at, first, dim / UNIT, team, WORD_LEAST, v);
            exp_sum_add<ITEMS_FEW>(&mine, v);
        }
        struct exp_sum s = exp_sum_of_block(mine);
        if (team.index == 0)
            loss += row_loss(s, element_get(at[classes[row]]));
    }
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#endif
