// norm.cu: layernorm, rmsnorm and layernorm_gelu over rows.
//
// Compile with -DELEMENT=…, -DVECTOR=… and -DFORM=…, see row.cuh, and -DOP=…, an OP_… below.
// -DFULL: the lanes of a row where each has as many elements as it can hold, so that none need be
// looked after, else 0. -DSAVE=1: the statistics of each row are left for the gradient, too.
//
// Rows up to 32 elements for each thread of a block stay in registers: one pass over memory. Longer
// ones are read twice, and the second time found in L2. gamma and beta stay in L1, because loads
// of x bypass it.
//
// Variance: the sum of (x - shift)^2, shift being the mean as a float. The sum of x - shift says
// how far the true mean is from it: nothing cancels, however far from 0 a row lies. Rows whose
// squares do not fit in a float, and rows with NaN or infinity in them, are summed in double.
#include "row.cuh"

#define OP_LAYERNORM 0
#define OP_RMSNORM 1
#define OP_LAYERNORM_GELU 2

#define CENTRE (OP != OP_RMSNORM)

struct norm {
    float shift, scale, offset; // normalised: (x - shift) * scale + offset
    float mean;                 // shift is near it
};

struct norm_args {
    s64 dim;
    float inverse; // 1 / dim
    double eps;
    float *mean, *rstd; // of all rows, with SAVE; rmsnorm has no mean
};

// One thread of those that have the row leaves its statistics.
DEVICE void norm_save(struct norm_args args, struct norm norm, s64 row, bool mine)
{
#if SAVE
    if (mine && CENTRE)
        args.mean[row] = norm.mean;
    if (mine)
        args.rstd[row] = norm.scale;
#endif
}

DEVICE float norm_apply(struct norm norm, float x, float gamma, float beta)
{
#if OP == OP_RMSNORM
    return x * norm.scale * gamma;
#else
    float y = fmaf(fmaf(x - norm.shift, norm.scale, norm.offset), gamma, beta);
    return OP == OP_LAYERNORM_GELU ? gelu(y) : y;
#endif
}

DEVICE void norm_apply_item(struct norm norm, float *v, const element *gamma, const element *beta,
                            element *out, s64 at, bool wanted)
{
    float g[UNIT], b[UNIT];
    item_load_kept(gamma, at, wanted, g);
    if (CENTRE)
        item_load_kept(beta, at, wanted, b);
#pragma unroll
    for (int j = 0; j < UNIT; j++)
        v[j] = norm_apply(norm, v[j], g[j], CENTRE ? b[j] : 0.0f);
    item_store(out, at, wanted, v);
}

// From the mean of x - shift and that of its square, or only of x^2 without a mean.
DEVICE struct norm norm_of(struct norm_args args, float shift, float rest, float square)
{
    float variance = fmaxf(square - rest * rest, 0.0f), scale = rsqrtf(variance + (float)args.eps);
    return {shift, scale, -rest * scale, shift + rest};
}

// From the sums in double: what the op's reference does.
DEVICE struct norm norm_of_double(struct norm_args args, double mean, double square)
{
    double scale = 1 / sqrt(square + args.eps);
    if (!CENTRE) // an infinity among x makes all of the row NaN
        return {0.0f, square - square == 0 ? (float)scale : FLOAT_NAN, 0.0f, 0.0f};
    float shift = (float)mean;
    return {shift, (float)scale, (float)(((double)shift - mean) * scale), shift};
}

// ---- rows in registers --------------------------------------------------------------------------

// The sum of (x - shift)^power over a row, once more from memory: the way out for few rows, which
// should cost the others no registers.
template <bool BLOCK>
DEVICE double sum_double(const element *x, s64 n, struct team team, double shift, int power)
{
    double sum = 0;
#pragma unroll 1
    for (s64 i = team.index; i < n; i += team.size) {
        double d = (double)element_get(x[i]) - shift;
        sum += power == 2 ? d * d : d;
    }
    return team_reduce<BLOCK, plus>(team, sum, 0.0);
}

template <bool BLOCK>
DEVICE struct norm norm_double(const element *x, s64 items, struct team team, struct norm_args args)
{
    double mean = 0, n = (double)args.dim;
    if (CENTRE)
        mean = sum_double<BLOCK>(x, items * UNIT, team, 0.0, 1) / n;
    double square = sum_double<BLOCK>(x, items * UNIT, team, mean, 2) / n;
    return norm_of_double(args, mean, square);
}

template <int ITEMS, bool BLOCK>
DEVICE float norm_mean(const float (&v)[ITEMS][UNIT], struct team team, struct norm_args args)
{
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            sum[(i * UNIT + j) % 4] += v[i][j];
    float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return team_reduce<BLOCK, plus>(team, total, 0.0f) * args.inverse;
}

template <int ITEMS, bool BLOCK>
DEVICE struct norm norm_row(const element *x, const element *gamma, const element *beta,
                            element *out, s64 items, struct team team, struct norm_args args)
{
    float v[ITEMS][UNIT], rest[2] = {0, 0}, square[4] = {0, 0, 0, 0};
    row_load<ITEMS>(x, 0, items, team, 0, v);
    float shift = CENTRE ? norm_mean<ITEMS, BLOCK>(v, team, args) : 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        bool wanted = team.index + i * team.size < items;
#pragma unroll
        for (int j = 0; j < UNIT; j++) {
            float d = CENTRE ? (wanted ? v[i][j] - shift : 0.0f) : v[i][j];
            if (CENTRE)
                rest[(i * UNIT + j) % 2] += d;
            square[(i * UNIT + j) % 4] = fmaf(d, d, square[(i * UNIT + j) % 4]);
        }
    }
    struct sums sums = {rest[0] + rest[1], (square[0] + square[1]) + (square[2] + square[3])};
    if (CENTRE)
        sums = team_reduce<BLOCK, plus>(team, sums, {0.0f, 0.0f});
    else
        sums.b = team_reduce<BLOCK, plus>(team, sums.b, 0.0f);
    struct norm norm = norm_of(args, shift, sums.a * args.inverse, sums.b * args.inverse);
    bool odd = !(sums.b <= FLOAT_MOST);
    if (any_team<BLOCK>(odd)) {
        struct norm exact = norm_double<BLOCK>(x, items, team, args);
        norm = odd ? exact : norm;
    }
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        s64 at = team.index + i * team.size;
        norm_apply_item(norm, v[i], gamma, beta, out, at, at < items);
    }
    return norm;
}

template <int ITEMS>
DEVICE void norm_lanes(const element *x, const element *gamma, const element *beta, element *out,
                       s64 rows, struct norm_args args, u32 lanes)
{
    struct team team;
#if FULL // teams beyond the last row do it once more
    (void)lanes;
    s64 row = row_of_lanes(blockIdx.x, FULL, &team), at = (row < rows ? row : rows - 1) * args.dim;
    struct norm norm =
        norm_row<ITEMS, false>(x + at, gamma, beta, out + at, ITEMS * FULL, team, args);
#else
    s64 row = row_of_lanes(blockIdx.x, lanes, &team), at = row * args.dim;
    struct norm norm = norm_row<ITEMS, false>(x + at, gamma, beta, out + at,
                                              row < rows ? args.dim / UNIT : 0, team, args);
#endif
    norm_save(args, norm, row, team.index == 0 && row < rows);
}

#if FORM == FORM_FEW
extern "C" __global__ void __launch_bounds__(128)
    norm_few(const element *x, const element *gamma, const element *beta, element *out, s64 rows,
             s64 dim, u32 lanes, float inverse, double eps, float *mean, float *rstd)
{
    norm_lanes<ITEMS_FEW>(x, gamma, beta, out, rows, {dim, inverse, eps, mean, rstd}, lanes);
}
#endif

#if FORM == FORM_MANY
extern "C" __global__ void __launch_bounds__(128)
    norm_many(const element *x, const element *gamma, const element *beta, element *out, s64 rows,
              s64 dim, u32 lanes, float inverse, double eps, float *mean, float *rstd)
{
    norm_lanes<ITEMS_MANY>(x, gamma, beta, out, rows, {dim, inverse, eps, mean, rstd}, lanes);
}
#endif

#if FORM == FORM_BLOCK || FORM == FORM_SPREAD
extern "C" __global__ void __launch_bounds__(1024)
    norm_block(const element *x, const element *gamma, const element *beta, element *out, s64 rows,
               s64 dim, u32 lanes, float inverse, double eps, float *mean, float *rstd)
{
    s64 at = blockIdx.x * dim;
    struct norm_args args = {dim, inverse, eps, mean, rstd};
    struct norm norm = norm_row<ITEMS_BLOCK, true>(x + at, gamma, beta, out + at, dim / UNIT,
                                                   team_of_block(), args);
    norm_save(args, norm, blockIdx.x, threadIdx.x == 0);
}
#endif

// ---- long rows ----------------------------------------------------------------------------------

#if FORM == FORM_LONG

// The sums of x - shift and of its square over the whole row, in double where T is.
template <class S, class T> DEVICE S long_sums(const element *x, s64 items, T shift)
{
    struct team team = team_of_block();
    float v[ITEMS_FEW][UNIT];
    S sums = {0, 0};
    for (s64 first = 0; first < items; first += ITEMS_FEW * team.size) {
        row_load<ITEMS_FEW>(x, first, items, team, 0, v);
#pragma unroll
        for (int i = 0; i < ITEMS_FEW; i++) {
            bool wanted = first + team.index + i * team.size < items;
#pragma unroll
            for (int j = 0; j < UNIT; j++) {
                T d = wanted ? (T)v[i][j] - shift : (T)0;
                sums.a += d;
                sums.b += d * d;
            }
        }
    }
    return block_reduce<plus>(sums, S{0, 0});
}

DEVICE struct norm long_norm_double(const element *x, s64 items, struct norm_args args)
{
    double mean = 0, n = (double)args.dim;
    if (CENTRE)
        mean = long_sums<struct sums_double>(x, items, 0.0).a / n;
    return norm_of_double(args, mean, long_sums<struct sums_double>(x, items, mean).b / n);
}

// The first sums are relative to the row's first element, which is most likely near the others. If
// it is not (mean^2 > 4 variance costs more than a factor of 5 in accuracy), then once more,
// relative to the mean.
DEVICE struct norm long_norm(const element *x, s64 items, struct norm_args args)
{
    float shift = CENTRE ? element_get(x[0]) : 0.0f;
    struct sums sums = long_sums<struct sums>(x, items, shift);
    float rest = sums.a * args.inverse, square = sums.b * args.inverse;
    if (CENTRE && !(rest * rest <= 0.8f * square)) {
        shift += rest;
        sums = long_sums<struct sums>(x, items, shift);
        rest = sums.a * args.inverse, square = sums.b * args.inverse;
    }
    if (!(sums.b <= FLOAT_MOST))
        return long_norm_double(x, items, args);
    return norm_of(args, shift, CENTRE ? rest : 0.0f, square);
}

extern "C" __global__ void __launch_bounds__(1024)
    norm_long(const element *x, const element *gamma, const element *beta, element *out, s64 rows,
              s64 dim, u32 lanes, float inverse, double eps, float *mean, float *rstd)
{
    struct team team = team_of_block();
    s64 items = dim / UNIT;
    float v[ITEMS_FEW][UNIT];
    x += blockIdx.x * dim;
    out += blockIdx.x * dim;
    struct norm_args args = {dim, inverse, eps, mean, rstd};
    struct norm norm = long_norm(x, items, args);
    norm_save(args, norm, blockIdx.x, threadIdx.x == 0);
    for (s64 first = 0; first < items; first += ITEMS_FEW * team.size) {
        row_load<ITEMS_FEW>(x, first, items, team, 0, v);
#pragma unroll
        for (int i = 0; i < ITEMS_FEW; i++) {
            s64 at = first + team.index + i * team.size;
            norm_apply_item(norm, v[i], gamma, beta, out, at, at < items);
        }
    }
}
#endif
