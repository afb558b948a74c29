// linear_gemv.cu: y = act(x W^T + bias) for few tokens on the ordinary units: f32, and what
// linear_small.cu does not take (rows that are not whole pieces of 16 bytes).
//
// A block takes ROWS rows of W and TOKENS of x; its threads take turns along k, a piece of each row
// at a time, with x as f32 from the caches. Sums of codes over a piece, which never leaves a group,
// meet the group's scale and zero once: s * sum(code * x) + z * sum(x). Then shuffles and shared
// memory, always in the same order.
//
// -DCODE, -DELEMENT: linear_decode.cuh. -DTOKENS 1, 2, 4 or 8. -DVECTOR=1: rows are whole pieces;
// 0: one weight at a time, any k, not for codes in groups.
#include "linear_decode.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)
#define ROWS (TOKENS > 4 ? 2 : 4)

#if !VECTOR && GROUPED
#error "groups are whole pieces"
#endif

struct gemv_args {
    const u8 *codes;
    const float *row_scales;
    const element *scales, *zeros;
    const element *x, *bias;
    element *y;
    int m, k, n, group_shift, activation;
};

#if VECTOR

// Adds what piece number `piece` of each row gives; rows beyond n are the last one again.
DEVICE void add_piece(const struct gemv_args *a, const u8 *const *rows, int row, int token,
                      int piece, float sums[ROWS][TOKENS])
{
    uint4 codes[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        codes[r] = load_codes(rows[r] + (s64)piece * 16);
    float part[ROWS][TOKENS] = {}, x_sum[TOKENS] = {};
#pragma unroll
    for (int q = 0; q < PIECE_UNITS; q++) {
        float w[ROWS][UNIT];
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const u32 words[4] = {codes[r].x, codes[r].y, codes[r].z, codes[r].w};
            decode_unit(words + q * UNIT_WORDS, w[r]);
        }
#pragma unroll
        for (int t = 0; t < TOKENS; t++) {
            const element *from =
                a->x + (s64)min(token + t, a->m - 1) * a->k + (s64)piece * PIECE + q * UNIT;
            float x[UNIT];
#pragma unroll
            for (int i = 0; i < UNIT; i += VEC_ELEMENTS)
                vec_unpack(__ldg((const uint4 *)(from + i)), x + i);
#pragma unroll
            for (int i = 0; i < UNIT; i++) {
                x_sum[t] += GROUPED ? x[i] : 0.0f;
#pragma unroll
                for (int r = 0; r < ROWS; r++)
                    part[r][t] = fmaf(w[r][i], x[i], part[r][t]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#if GROUPED
        const s64 at = (s64)min(row + r, a->n - 1) * (a->k >> a->group_shift) +
                       (piece * PIECE >> a->group_shift);
        const float s = element_get(a->scales[at]), z = element_get(a->zeros[at]);
#pragma unroll
        for (int t = 0; t < TOKENS; t++)
            sums[r][t] = fmaf(s, part[r][t], fmaf(z, x_sum[t], sums[r][t]));
#else
        (void)row;
#pragma unroll
        for (int t = 0; t < TOKENS; t++)
            sums[r][t] += part[r][t];
#endif
    }
}

#else

DEVICE void add_element(const struct gemv_args *a, const u8 *const *rows, int token, int i,
                        float sums[ROWS][TOKENS])
{
    float w[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#if CODE == CODE_NONE
        w[r] = element_get(((const element *)rows[r])[i]);
#else
        w[r] = float_from_byte(rows[r][i]);
#endif
#pragma unroll
    for (int t = 0; t < TOKENS; t++) {
        const float x = element_get(a->x[(s64)min(token + t, a->m - 1) * a->k + i]);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            sums[r][t] = fmaf(w[r], x, sums[r][t]);
    }
}

#endif

// Sums of all threads, in the lowest ROWS * TOKENS of them, and from there to y.
DEVICE void finish_block(const struct gemv_args *a, float sums[ROWS][TOKENS], int row, int token)
{
    __shared__ float all[WARPS][ROWS][TOKENS];
    const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int t = 0; t < TOKENS; t++) {
            float sum = sums[r][t];
#pragma unroll
            for (int distance = 16; distance > 0; distance /= 2)
                sum += __shfl_xor_sync(0xffffffffu, sum, distance);
            if (lane == 0)
                all[warp][r][t] = sum;
        }
    __syncthreads();
    const int r = (int)threadIdx.x % ROWS, t = (int)threadIdx.x / ROWS;
    if (t < TOKENS && row + r < a->n && token + t < a->m) {
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < WARPS; w++)
            sum += all[w][r][t];
        a->y[(s64)(token + t) * a->n + row + r] =
            finish(sum, a->row_scales, a->bias, row + r, a->activation);
    }
    __syncthreads(); // before the next tokens' sums
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) linear_gemv(const struct gemv_args args)
{
    const struct gemv_args *a = &args;
    const int row = (int)blockIdx.x * ROWS;
#if CODE == CODE_NONE
    const s64 row_bytes = (s64)a->k * (s64)sizeof(element);
#else
    const s64 row_bytes = (s64)a->k * 16 / PIECE;
#endif
    const u8 *rows[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        rows[r] = a->codes + (s64)min(row + r, a->n - 1) * row_bytes;
    for (int token = (int)blockIdx.y * TOKENS; token < a->m; token += (int)gridDim.y * TOKENS) {
        float sums[ROWS][TOKENS] = {};
#if VECTOR
        const int pieces = a->k / PIECE;
        for (int piece = (int)threadIdx.x; piece < pieces; piece += THREADS)
            add_piece(a, rows, row, token, piece, sums);
#else
        for (int i = (int)threadIdx.x; i < a->k; i += THREADS)
            add_element(a, rows, token, i, sums);
#endif
        finish_block(a, sums, row, token);
    }
}
