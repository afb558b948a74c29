// columns.cuh: gradients of gamma and beta: sums of columns, in two steps. Blocks leave their sums,
// in f32, in memory, [parts][COLUMN_SUMS][dim]; `columns_finish` adds the parts up, always in the
// same order: no sum depends on which block is done first.
//
// Include row.cuh first, and define COLUMN_SUMS, how many sums a column has, 1 or 2.
#ifndef ASSAY_COLUMNS_CUH
#define ASSAY_COLUMNS_CUH

// Of one item of a row: the sums of each of its columns.
struct column_sums {
    float of[COLUMN_SUMS][UNIT];
};

DEVICE void columns_clear(struct column_sums *c)
{
#pragma unroll
    for (int k = 0; k < COLUMN_SUMS; k++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            c->of[k][j] = 0.0f;
}

DEVICE void columns_add(struct column_sums *to, const struct column_sums *c)
{
#pragma unroll
    for (int k = 0; k < COLUMN_SUMS; k++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            to->of[k][j] += c->of[k][j];
}

// Of the same item of the teams of a warp, which are `lanes` lanes each.
DEVICE void columns_add_teams(struct column_sums *c, u32 lanes)
{
#pragma unroll
    for (u32 mask = 1; mask < 32; mask *= 2)
        if (mask >= lanes)
#pragma unroll
            for (int k = 0; k < COLUMN_SUMS; k++)
#pragma unroll
                for (int j = 0; j < UNIT; j++)
                    c->of[k][j] += shuffle(c->of[k][j], mask);
}

DEVICE void columns_store(const struct column_sums *c, float *part, s64 dim, s64 at)
{
#pragma unroll
    for (int k = 0; k < COLUMN_SUMS; k++)
#pragma unroll
        for (int j = 0; j < UNIT; j++)
            part[k * dim + at * UNIT + j] = c->of[k][j];
}

enum { FINISH_COLUMNS = 32, FINISH_ROWS = 32 };

// A block has 32 columns of one of the sums, blockIdx.y; each of its 32 warps takes every 32nd part.
DEVICE void columns_finish(const float *parts, s64 n, s64 dim, element *out)
{
    __shared__ float sums[FINISH_ROWS][FINISH_COLUMNS];
    u32 lane = threadIdx.x % FINISH_COLUMNS, row = threadIdx.x / FINISH_COLUMNS;
    s64 column = (s64)blockIdx.x * FINISH_COLUMNS + lane;
    float sum = 0;
    if (column < dim)
#pragma unroll 8
        for (s64 part = row; part < n; part += FINISH_ROWS)
            sum += parts[(part * COLUMN_SUMS + blockIdx.y) * dim + column];
    sums[row][lane] = sum;
    __syncthreads();
    if (row > 0 || column >= dim)
        return;
#pragma unroll
    for (int i = 1; i < FINISH_ROWS; i++)
        sum += sums[i][lane];
    out[column] = element_from(sum);
}

#endif
