/* attention_parts.h: what the bodies over vectors share: loads, a function for each kind of
 * element, and the product of a few rows and columns. Include a vec_*.h first. ATTENTION_DOT, where
 * it is not defined, is an FMA. */
#ifndef ASSAY_KERNEL_NATIVE_ATTENTION_PARTS_H
#define ASSAY_KERNEL_NATIVE_ATTENTION_PARTS_H

#include "base/math.h"
#include "kernel/native/native.h"

#ifndef ATTENTION_DOT
#define ATTENTION_DOT(x, column, sum) vec_fma(x, column, sum)
#endif

/* Rows and vectors of columns whose sums stay in registers: wide where there are enough columns,
 * else tall. */
enum {
    ATTENTION_WIDE_ROWS = 4,
    ATTENTION_WIDE = VEC_LANES == 8 ? 2 : 4,
    ATTENTION_TALL_ROWS = 8,
};

static inline int64_t attention_padded(int64_t dim) { return assay_round_up(dim, VEC_LANES); }

VEC_INLINE vec attention_load(enum native_kind kind, const void *data, int64_t at, int64_t n)
{
    return n >= VEC_LANES ? vec_load(kind, data, at) : vec_load_part(kind, data, at, n);
}

/* A function for the kind at hand, which is a constant in it. */
#ifdef VEC_HAS_BF16_INSN
#define ATTENTION_INSN NATIVE_BF16_INSN
#else
#define ATTENTION_INSN NATIVE_BF16
#endif
#define ATTENTION_EACH_KIND(kind, function, ...)                                                   \
    switch (kind) {                                                                                \
    case NATIVE_F32:                                                                               \
        function(NATIVE_F32, __VA_ARGS__);                                                         \
        break;                                                                                     \
    case NATIVE_F16:                                                                               \
        function(NATIVE_F16, __VA_ARGS__);                                                         \
        break;                                                                                     \
    case NATIVE_BF16_INSN:                                                                         \
        function(ATTENTION_INSN, __VA_ARGS__);                                                     \
        break;                                                                                     \
    default:                                                                                       \
        function(NATIVE_BF16, __VA_ARGS__);                                                        \
    }

/* ---- products -------------------------------------------------------------------------------- */

/* c[r][j] = sum over i < n of a[r][i] b[i][j], added to what is there where `add`. */
struct attention_product {
    const float *a, *b;
    float *c;
    int64_t a_row, b_step, b_vec, c_row; /* floats to the next row, i, vector of columns, row */
    int64_t n;
    bool add;
};

#define TILE_ROWS NATIVE_UNROLL for (int r = 0; r < R; r++)
#define TILE_VECS NATIVE_UNROLL for (int j = 0; j < N; j++)

/* R rows and N vectors of columns, constants. */
VEC_INLINE void attention_tile(const struct attention_product *p, const int R, const int N)
{
    vec sum[ATTENTION_TALL_ROWS][ATTENTION_WIDE];
    const float *a = p->a, *b = p->b;
    TILE_ROWS TILE_VECS
    {
        int64_t at = r * p->c_row + j * VEC_LANES;
        sum[r][j] = p->add ? vec_load(NATIVE_F32, p->c, at) : vec_set(0);
    }
    for (int64_t i = 0; i < p->n; i++, b += p->b_step) {
        vec column[ATTENTION_WIDE];
        TILE_VECS column[j] = vec_load(NATIVE_F32, b, j * p->b_vec);
        TILE_ROWS
        {
            vec x = vec_set(a[r * p->a_row + i]);
            TILE_VECS sum[r][j] = ATTENTION_DOT(x, column[j], sum[r][j]);
        }
    }
    TILE_ROWS TILE_VECS vec_store(NATIVE_F32, p->c, r * p->c_row + j * VEC_LANES, sum[r][j]);
}

/* `rows` is rounded up to whole tiles; there are `vecs` vectors of columns. */
static void attention_multiply(struct attention_product p, int64_t rows, int64_t vecs)
{
    const struct attention_product whole = p;
    int64_t j = 0;
    for (; j + ATTENTION_WIDE <= vecs; j += ATTENTION_WIDE)
        for (int64_t r = 0; r < rows; r += ATTENTION_WIDE_ROWS) {
            p.a = whole.a + r * whole.a_row;
            p.b = whole.b + j * whole.b_vec;
            p.c = whole.c + r * whole.c_row + j * VEC_LANES;
            attention_tile(&p, ATTENTION_WIDE_ROWS, ATTENTION_WIDE);
        }
    for (; j < vecs; j++)
        for (int64_t r = 0; r < rows; r += ATTENTION_TALL_ROWS) {
            p.a = whole.a + r * whole.a_row;
            p.b = whole.b + j * whole.b_vec;
            p.c = whole.c + r * whole.c_row + j * VEC_LANES;
            attention_tile(&p, ATTENTION_TALL_ROWS, 1);
        }
}

#endif
