// norm_backward.cu: the gradients of layernorm, rmsnorm and layernorm_gelu over rows, from the saved
// statistics of each.
//
// Compile with -DELEMENT=…, -DVECTOR=… and -DFORM=…, see row.cuh, -DOP=…, an OP_… below, and where
// a block has a row with -DTHREADS=…, the most it may have. Rows of more than 256 elements have a
// block: a warp with 32 elements in each lane would need 170 registers for them and their columns.
//
// With xhat = (x - mean) rstd, g = dz gamma, dz = dy, or dy gelu'(xhat gamma + beta):
//     dx = rstd (g - mean(g) - xhat mean(g xhat))
//     dgamma = sum of dz xhat over rows, dbeta = sum of dz
// rmsnorm has no mean, no mean(g) and no dbeta.
//
// As many blocks as the GPU holds, each with a loop over rows. A row's dy and x stay in registers,
// as they are stored, so that memory is read once; and so do the sums of the columns, because a
// thread has the same columns of every row. They leave once, at the end: columns.cuh. gamma comes
// from L1, twice for each row.
//
// Rows beyond 8192 elements take two kernels: `long` reads each row twice, the second time from L2,
// and `columns` reads everything once more, a block some columns of some rows.
#include "row.cuh"

#define OP_LAYERNORM 0
#define OP_RMSNORM 1
#define OP_LAYERNORM_GELU 2

#define CENTRE (OP != OP_RMSNORM)
#define GELU (OP == OP_LAYERNORM_GELU)

#define COLUMN_SUMS (CENTRE ? 2 : 1)
#include "columns.cuh"

struct tensors {
    const element *dy, *x, *gamma, *beta; // beta with GELU
    const float *mean, *rstd;             // mean with CENTRE
    element *dx;
    float *parts;
    s64 rows, dim;
    float inverse; // 1 / dim
};

struct statistics {
    float mean, rstd;
};

DEVICE struct statistics statistics_of(const struct tensors *t, s64 row)
{
    if (row >= t->rows)
        return {0.0f, 0.0f};
    return {CENTRE ? t->mean[row] : 0.0f, t->rstd[row]};
}

// dz of an item, and xhat in place of x.
DEVICE void slopes(const struct tensors *t, struct statistics s, s64 at, bool wanted, float *dy,
                   float *x, const float *gamma)
{
    float beta[UNIT];
    if (GELU)
        item_load_kept(t->beta, at, wanted, beta);
#pragma unroll
    for (int j = 0; j < UNIT; j++) {
        x[j] = (x[j] - s.mean) * s.rstd;
        if (GELU)
            dy[j] *= gelu_slope(fmaf(x[j], gamma[j], beta[j]));
    }
}

// An item's part of both sums over its row, and of the sums of its columns.
DEVICE void add_item(const float *dz, const float *xhat, const float *gamma, struct sums *sums,
                     struct column_sums *columns)
{
#pragma unroll
    for (int j = 0; j < UNIT; j++) {
        float g = dz[j] * gamma[j];
        if (CENTRE)
            sums->a += g;
        sums->b = fmaf(g, xhat[j], sums->b);
        columns->of[0][j] = fmaf(dz[j], xhat[j], columns->of[0][j]);
        if (CENTRE)
            columns->of[COLUMN_SUMS - 1][j] += dz[j];
    }
}

// dx of an item; `sums` are the row's means.
DEVICE void put_item(const struct tensors *t, struct statistics s, struct sums sums, s64 at,
                     bool wanted, const float *dz, const float *xhat, element *dx)
{
    float gamma[UNIT], v[UNIT];
    item_load_kept(t->gamma, at, wanted, gamma);
#pragma unroll
    for (int j = 0; j < UNIT; j++) {
        float g = fmaf(dz[j], gamma[j], -sums.a);
        v[j] = s.rstd * fmaf(-xhat[j], sums.b, g);
    }
    item_store(dx, at, wanted, v);
}

template <bool BLOCK>
DEVICE struct sums means_of(struct sums sums, struct team team, float inverse)
{
    if (CENTRE)
        sums = team_reduce<BLOCK, plus>(team, sums, {0.0f, 0.0f});
    else
        sums.b = team_reduce<BLOCK, plus>(team, sums.b, 0.0f);
    return {sums.a * inverse, sums.b * inverse};
}

// ---- rows in registers --------------------------------------------------------------------------

#if FORM != FORM_LONG
// Keeps the compiler from holding what is loaded from there twice in registers.
DEVICE void forget(const element **p) { asm volatile("" : "+l"(*p)); }

// What a thread holds of a row.
template <int ITEMS> struct held_row {
    item dy[ITEMS], x[ITEMS];
};

template <int ITEMS>
DEVICE void get_row(const struct tensors *t, s64 row, struct team team, struct held_row<ITEMS> *h)
{
    s64 items = row < t->rows ? t->dim / UNIT : 0;
    row_get<ITEMS>(t->dy + row * t->dim, 0, items, team, 0, h->dy);
    row_get<ITEMS>(t->x + row * t->dim, 0, items, team, 0, h->x);
}

template <int ITEMS, bool BLOCK>
DEVICE void gradient_row(struct tensors *t, s64 row, struct team team,
                         const struct held_row<ITEMS> *h, struct column_sums (&columns)[ITEMS])
{
    s64 items = row < t->rows ? t->dim / UNIT : 0, at = team.index;
    struct statistics s = statistics_of(t, row);
    struct sums sums = {0.0f, 0.0f};
    float dz[GELU ? ITEMS : 1][UNIT], xhat[UNIT], gamma[UNIT];
#pragma unroll
    for (int i = 0; i < ITEMS; i++, at += team.size) {
        float *d = dz[GELU ? i : 0];
        item_load_kept(t->gamma, at, at < items, gamma);
        item_unpack(h->dy[i], d);
        item_unpack(h->x[i], xhat);
        slopes(t, s, at, at < items, d, xhat, gamma);
        add_item(d, xhat, gamma, &sums, &columns[i]);
    }
    sums = means_of<BLOCK>(sums, team, t->inverse);
    forget(&t->gamma);
    at = team.index;
#pragma unroll
    for (int i = 0; i < ITEMS; i++, at += team.size) {
        float *d = dz[GELU ? i : 0];
        if (!GELU)
            item_unpack(h->dy[i], d);
        item_unpack(h->x[i], xhat);
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            xhat[j] = (xhat[j] - s.mean) * s.rstd;
        put_item(t, s, sums, at, at < items, d, xhat, t->dx + row * t->dim);
    }
}

#endif

#if FORM == FORM_FEW
enum { COLUMNS_MOST = 256 };

// Of the teams of this block, whose columns are the same; the first warp begins, the others add.
DEVICE void leave_columns(const struct tensors *t, struct team team, u32 lanes,
                          struct column_sums (&columns)[ITEMS_FEW])
{
    __shared__ float sums[COLUMN_SUMS * COLUMNS_MOST];
    float *part = t->parts + (s64)blockIdx.x * COLUMN_SUMS * t->dim;
#pragma unroll
    for (int i = 0; i < ITEMS_FEW; i++)
        columns_add_teams(&columns[i], lanes);
    for (u32 warp = 0; warp < blockDim.x / 32; warp++) {
        __syncthreads();
        if (threadIdx.x / 32 != warp || threadIdx.x % 32 >= lanes)
            continue;
#pragma unroll
        for (int i = 0; i < ITEMS_FEW; i++) {
            s64 at = team.index + i * team.size;
            if (at >= t->dim / UNIT)
                continue;
#pragma unroll
            for (int k = 0; k < COLUMN_SUMS; k++)
#pragma unroll
                for (int j = 0; j < UNIT; j++) {
                    float *to = &sums[k * t->dim + at * UNIT + j];
                    *to = (warp > 0 ? *to : 0.0f) + columns[i].of[k][j];
                }
        }
    }
    __syncthreads();
    for (s64 i = threadIdx.x; i < COLUMN_SUMS * t->dim; i += blockDim.x)
        part[i] = sums[i];
}

DEVICE void gradient_lanes(struct tensors t, u32 lanes)
{
    struct team team;
    struct column_sums columns[ITEMS_FEW];
    s64 row = row_of_lanes(blockIdx.x, lanes, &team);
    s64 step = row_of_lanes(gridDim.x, lanes, &team) - row_of_lanes(0, lanes, &team);
#pragma unroll
    for (int i = 0; i < ITEMS_FEW; i++)
        columns_clear(&columns[i]);
    // The same number of rounds for all: shuffles want whole warps.
    for (s64 rounds = (t.rows + step - 1) / step; rounds > 0; rounds--, row += step) {
        struct held_row<ITEMS_FEW> h;
        get_row<ITEMS_FEW>(&t, row, team, &h);
        gradient_row<ITEMS_FEW, false>(&t, row, team, &h, columns);
    }
    leave_columns(&t, team, lanes, columns);
}

extern "C" __global__ void __launch_bounds__(128, 6)
    norm_backward_few(struct tensors t, u32 lanes)
{
    gradient_lanes(t, lanes);
}
#endif

#if FORM == FORM_BLOCK || FORM == FORM_SPREAD
// The next row is loaded while this one is computed: 64 registers, and 80 behind gelu.
#define BLOCKS (THREADS == 1024 ? 1 : (GELU ? 768 : 1024) / THREADS)
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    norm_backward_block(struct tensors t, u32 lanes)
{
    struct team team = team_of_block();
    struct column_sums columns[ITEMS_FEW];
    struct held_row<ITEMS_FEW> next;
#pragma unroll
    for (int i = 0; i < ITEMS_FEW; i++)
        columns_clear(&columns[i]);
    get_row<ITEMS_FEW>(&t, blockIdx.x, team, &next);
    for (s64 row = blockIdx.x; row < t.rows; row += gridDim.x) {
        struct held_row<ITEMS_FEW> h = next;
        get_row<ITEMS_FEW>(&t, row + gridDim.x, team, &next);
        gradient_row<ITEMS_FEW, true>(&t, row, team, &h, columns);
    }
#pragma unroll
    for (int i = 0; i < ITEMS_FEW; i++) {
        s64 at = team.index + i * team.size;
        if (at < t.dim / UNIT)
            columns_store(&columns[i], t.parts + (s64)blockIdx.x * COLUMN_SUMS * t.dim, t.dim, at);
    }
}
#endif

// ---- long rows ----------------------------------------------------------------------------------

#if FORM == FORM_LONG
// One item of a row: dz and xhat.
DEVICE void load_slopes(const struct tensors *t, s64 row, struct statistics s, s64 at, bool wanted,
                        float *dz, float *xhat, float *gamma)
{
    item_load(t->dy + row * t->dim, at, wanted, 0, dz);
    item_load(t->x + row * t->dim, at, wanted, 0, xhat);
    item_load_kept(t->gamma, at, wanted, gamma);
    slopes(t, s, at, wanted, dz, xhat, gamma);
}

extern "C" __global__ void __launch_bounds__(1024) norm_backward_long(struct tensors t, u32 lanes)
{
    struct team team = team_of_block();
    s64 row = blockIdx.x, items = t.dim / UNIT;
    struct statistics s = statistics_of(&t, row);
    struct sums sums = {0.0f, 0.0f};
    struct column_sums unused;
    float dz[UNIT], xhat[UNIT], gamma[UNIT];
    columns_clear(&unused);
#pragma unroll 4
    for (s64 at = team.index; at < items; at += team.size) {
        load_slopes(&t, row, s, at, true, dz, xhat, gamma);
        add_item(dz, xhat, gamma, &sums, &unused);
    }
    sums = means_of<true>(sums, team, t.inverse);
#pragma unroll 2
    for (s64 at = team.index; at < items; at += team.size) {
        load_slopes(&t, row, s, at, true, dz, xhat, gamma);
        put_item(&t, s, sums, at, true, dz, xhat, t.dx + row * t.dim);
    }
}

// A thread has an item's columns of every gridDim.y-th row.
extern "C" __global__ void __launch_bounds__(256) norm_backward_columns(struct tensors t, u32 lanes)
{
    s64 at = (s64)blockIdx.x * blockDim.x + threadIdx.x;
    struct column_sums columns;
    struct sums unused = {0.0f, 0.0f};
    float dz[UNIT], xhat[UNIT], gamma[UNIT];
    columns_clear(&columns);
    if (at >= t.dim / UNIT)
        return;
#pragma unroll 4
    for (s64 row = blockIdx.y; row < t.rows; row += gridDim.y) {
        struct statistics s = statistics_of(&t, row);
        load_slopes(&t, row, s, at, true, dz, xhat, gamma);
        add_item(dz, xhat, gamma, &unused, &columns);
    }
    columns_store(&columns, t.parts + (s64)blockIdx.y * COLUMN_SUMS * t.dim, t.dim, at);
}
#endif

// ---- columns ------------------------------------------------------------------------------------

extern "C" __global__ void __launch_bounds__(1024)
    norm_backward_finish(const float *parts, s64 n, s64 dim, element *dgamma, element *dbeta)
{
    columns_finish(parts, n, dim, blockIdx.y == 0 ? dgamma : dbeta);
}
