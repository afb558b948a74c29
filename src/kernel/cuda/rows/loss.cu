// loss.cu: mse, sum and cross_entropy: one number of many.
//
// Compile with -DELEMENT=… and, for cross_entropy, -DVECTOR=… and -DFORM=…, see row.cuh, and
// -DGRADIENT=1 for cross_entropy_both, which also writes the gradient of each row while it holds
// it, of a gradient of 1 of the loss. As many blocks as fit, each with a loop: every block leaves
// one partial sum, in double, and the one that comes last adds them up, always in the same order. So
// the output is the same each time. `ticket` is 0 before and after.
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

// What is summed of one element; y only where it is mse.
template <bool MSE> DEVICE float term_of(float sum, float x, float y)
{
    return MSE ? fmaf(x - y, x - y, sum) : sum + x;
}

// This thread's part of the sum over all elements.
template <bool MSE> DEVICE double part_of(const element *x, const element *y, s64 count)
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
            b[i] = MSE ? load_once(y + at * VEC_ELEMENTS, at < vecs, 0) : a[i];
        }
#pragma unroll
        for (int i = 0; i < MSE_VECS; i++) {
            vec_unpack(a[i], p);
            vec_unpack(b[i], q);
#pragma unroll
            for (int j = 0; j < VEC_ELEMENTS; j++)
                part[j % 4] = term_of<MSE>(part[j % 4], p[j], q[j]);
        }
        sum += (double)((part[0] + part[1]) + (part[2] + part[3]));
    }
    s64 rest = vecs * VEC_ELEMENTS + threadIdx.x;
    if (blockIdx.x == 0 && rest < count)
        sum += (double)term_of<MSE>(0.0f, element_get(x[rest]), element_get(y[rest]));
    return sum;
}

extern "C" __global__ void __launch_bounds__(512)
    mse(const element *x, const element *y, float *out, s64 count, double *partials, u32 *ticket)
{
    finish(part_of<true>(x, y, count), partials, ticket, (double)count, out);
}

// y is x.
extern "C" __global__ void __launch_bounds__(512)
    sum(const element *x, const element *y, float *out, s64 count, double *partials, u32 *ticket)
{
    finish(part_of<false>(x, y, count), partials, ticket, 1, out);
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

// (exp(x) / sum - onehot(chosen)) scale.
template <int ITEMS>
DEVICE void row_gradient(const item (&items)[ITEMS], s64 first, struct exp_sum s, int chosen,
                         float scale, struct team team, element *out, s64 count)
{
    float inverse = scale / s.sum;
    int hot = chosen - (int)(first + team.index) * UNIT; // from this member's first element on
    s64 at = first + team.index;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        float v[UNIT];
        item_unpack(items[i], v);
#pragma unroll
        for (int j = 0; j < UNIT; j++) {
            v[j] = element_exp(v[j] - s.most) * inverse;
            v[j] -= hot == j ? scale : 0.0f;
        }
        item_store(out, at, at < count, v);
        at += team.size;
        hot -= (int)team.size * UNIT;
    }
}

// Who needs to know the class of a row?
DEVICE bool wants_class(struct team team) { return GRADIENT || team.index == 0; }

// Is the next row loaded while this one is summed? In f32 memory is busy enough without, and single
// elements would take too many registers. Where a block has a row, only if it also writes one.
#define AHEAD (VECTOR && ELEMENT != 32)
#define AHEAD_OF_BLOCK (AHEAD && GRADIENT)

// Issues the loads of a row and of its target, whose class is known, and of the class of the team's
// next row.
template <int ITEMS>
DEVICE void prefetch(const element *x, const int *classes, s64 rows, s64 dim, s64 row, s64 step,
                     struct team team, item (&items)[ITEMS], int *taken, int *chosen,
                     float *target)
{
    const element *at = x + row * dim;
    *taken = *chosen;
    row_get<ITEMS>(at, 0, row < rows ? dim / UNIT : 0, team, WORD_LEAST, items);
    if (team.index == 0 && row < rows)
        *target = element_get(at[*chosen]);
    if (wants_class(team) && row + step < rows)
        *chosen = classes[row + step];
}

// Teams of lanes take rows in turns.
template <int ITEMS>
DEVICE double losses_of_lanes(const element *x, const int *classes, element *dx, s64 rows, s64 dim,
                              u32 lanes)
{
    struct team team;
    double loss = 0;
    s64 row = row_of_lanes(blockIdx.x, lanes, &team);
    s64 step = row_of_lanes(gridDim.x, lanes, &team) - row_of_lanes(0, lanes, &team);
    s64 rounds = (rows + step - 1) / step; // the same for all: shuffles want whole warps
    int chosen = wants_class(team) && row < rows ? classes[row] : 0, taken = 0;
    item next[ITEMS];
    float target = 0.0f;
    if (AHEAD)
        prefetch<ITEMS>(x, classes, rows, dim, row, step, team, next, &taken, &chosen, &target);
    for (; rounds > 0; rounds--, row += step) {
        item items[ITEMS];
        if (!AHEAD)
            prefetch<ITEMS>(x, classes, rows, dim, row, step, team, next, &taken, &chosen, &target);
#pragma unroll
        for (int i = 0; i < ITEMS; i++)
            items[i] = next[i];
        float here = target;
        int its_class = taken;
        if (AHEAD)
            prefetch<ITEMS>(x, classes, rows, dim, row + step, step, team, next, &taken, &chosen, &target);
        struct exp_sum s = row_exp_sum<ITEMS, false>(items, team);
        if (team.index == 0 && row < rows)
            loss += row_loss(s, here);
        if (GRADIENT)
            row_gradient<ITEMS>(items, 0, s, its_class, 1.0f / (float)rows, team, dx + row * dim,
                                row < rows ? dim / UNIT : 0);
    }
    return loss;
}

#if FORM == FORM_FEW
extern "C" __global__ void __launch_bounds__(256)
    cross_entropy_few(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                      u32 lanes, double *partials, u32 *ticket, element *dx)
{
    double loss = losses_of_lanes<ITEMS_FEW>(x, classes, dx, rows, dim, lanes);
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#if FORM == FORM_MANY
#define BLOCKS_MANY (GRADIENT ? AHEAD ? 3 : 2 : AHEAD ? 4 : 3)
extern "C" __global__ void __launch_bounds__(256, BLOCKS_MANY)
    cross_entropy_many(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                       u32 lanes, double *partials, u32 *ticket, element *dx)
{
    double loss = losses_of_lanes<ITEMS_MANY>(x, classes, dx, rows, dim, lanes);
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#if FORM == FORM_BLOCK
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_block(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                        u32 lanes, double *partials, u32 *ticket, element *dx)
{
    struct team team = team_of_block();
    double loss = 0;
    item next[ITEMS_MANY];
    s64 row = blockIdx.x;
    if (AHEAD_OF_BLOCK)
        row_get<ITEMS_MANY>(x + row * dim, 0, row < rows ? dim / UNIT : 0, team, WORD_LEAST, next);
    for (; row < rows; row += gridDim.x) {
        s64 then = AHEAD_OF_BLOCK ? row + gridDim.x : row;
        int chosen = wants_class(team) ? classes[row] : 0;
        item items[ITEMS_MANY];
#pragma unroll
        for (int i = 0; AHEAD_OF_BLOCK && i < ITEMS_MANY; i++)
            items[i] = next[i];
        row_get<ITEMS_MANY>(x + then * dim, 0, then < rows ? dim / UNIT : 0, team, WORD_LEAST,
                            AHEAD_OF_BLOCK ? next : items);
        struct exp_sum s = row_exp_sum<ITEMS_MANY, true>(items, team);
        if (team.index == 0)
            loss += row_loss(s, element_get(x[row * dim + chosen]));
        if (GRADIENT)
            row_gradient<ITEMS_MANY>(items, 0, s, chosen, 1.0f / (float)rows, team, dx + row * dim,
                                     dim / UNIT);
    }
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#if FORM == FORM_LONG
extern "C" __global__ void __launch_bounds__(1024)
    cross_entropy_long(const element *x, const int *classes, float *out, s64 rows, s64 dim,
                       u32 lanes, double *partials, u32 *ticket, element *dx)
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
        for (s64 first = 0; GRADIENT && first < dim / UNIT; first += ITEMS_FEW * team.size) {
            item items[ITEMS_FEW];
            row_get<ITEMS_FEW>(at, first, dim / UNIT, team, WORD_LEAST, items);
            row_gradient<ITEMS_FEW>(items, first, s, classes[row], 1.0f / (float)rows, team,
                                    dx + row * dim, dim / UNIT);
        }
    }
    finish(loss, partials, ticket, (double)rows, out);
}
#endif

#endif
