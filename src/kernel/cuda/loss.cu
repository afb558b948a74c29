// loss.cu: mse and cross_entropy: one number of many.
//
// Compile with -DELEMENT=… and, for cross_entropy, -DVECTOR=… and -DFORM=…, see row.cuh. As many
// blocks as fit, each with a loop: every block leaves one partial sum, in double, and the one that
// comes last adds them up, always in the same order. So the answer is the same each time. `ticket`
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

template <int ITEMS, bool BLOCK>
DEVICE struct exp_sum row_exp_sum(const float (&v)[ITEMS][UNIT], struct team team)
{
    float most = -FLOAT_INFINITY, sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            most = fmaxf(most, v[i][j]);
    most = team_reduce<BLOCK, greater>(team, most, -FLOAT_INFINITY);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            sum[(i * UNIT + j) % 4] += element_exp(v[i][j] - most);
    float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return {most, team_reduce<BLOCK, plus>(team, total, 0.0f)};
}

// Teams of lanes take rows in turns. The class of the next row is asked for early: the target's
// logit then comes while the row is summed.
template <int ITEMS>
DEVICE double losses_of_lanes(const element *x, const int *classes, s64 rows, s64 dim, u32 lanes)
{
    struct team team;
    double loss = 0;
    s64 first = row_of_lanes(blockIdx.x, lanes, &team);
    s64 step = row_of_lanes(gridDim.x, lanes, &team) - row_of_lanes(0, lanes, &team);
    s64 rounds = (rows + step - 1) / step; // the same for all: shuffles want whole warps
    int chosen = team.index == 0 && first < rows ? classes[first] : 0;
    for (s64 row = first; rounds > 0; rounds--, row += step) {
        const element *at = x + row * dim;
        bool mine = row < rows, head = mine && team.index == 0;
        float v[ITEMS][UNIT], target = 0.0f;
        row_load<ITEMS>(at, 0, mine ? dim / UNIT : 0, team, WORD_LEAST, v);
        if (head)
            target = element_get(at[chosen]);
        if (team.index == 0 && row + step < rows)
            chosen = classes[row + step];
        struct exp_sum s = row_exp_sum<ITEMS, false>(v, team);
        if (head)
            loss += row_loss(s, target);
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
extern "C" __global__ void __launch_bounds__(256)
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
        float v[ITEMS_MANY][UNIT];
        row_load<ITEMS_MANY>(at, 0, dim / UNIT, team, WORD_LEAST, v);
        struct exp_sum s = row_exp_sum<ITEMS_MANY, true>(v, team);
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
