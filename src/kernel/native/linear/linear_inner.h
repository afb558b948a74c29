/* linear_inner.h: the innermost loops of `linear`: R rows of x times P panels of weights along k,
 * their sums in registers.
 *
 * Two kinds of such blocks. A plain one multiplies lines as they lie: f32, or what LINEAR_DOT
 * takes. A stream decodes the codes between the products; it has few rows, and so uses what it
 * decodes only once. R and P are constants of always-inlined functions, of which there is a table.
 * Include a linear_line_*.h first. */
#ifndef ASSAY_KERNEL_NATIVE_LINEAR_INNER_H
#define ASSAY_KERNEL_NATIVE_LINEAR_INNER_H

#include "kernel/native/linear/linear_code.h"

/* x * w + sum, of dwords, and the sum of two sums. */
#ifndef LINEAR_DOT
#define LINEAR_DOT(x, w, sum) line_fma(x, w, sum)
#define LINEAR_ADD(a, b) line_add(a, b)
#endif

/* After INNER_CHUNK blocks sums start anew, to be added up later: rounding errors grow with the
 * length of a sum. */
enum { INNER_MAX_PANELS = 4, INNER_CHUNK = 64 };

struct linear_inner {
    const float *x;         /* [blocks][R][16] dwords, see linear_pack.h; or see below */
    const unsigned char *w; /* the first panel's first line */
    size_t stride;          /* bytes from a panel to the next */
    int64_t blocks;         /* of 16 dwords of x along k */
    float *sums;            /* [R][P][16] */
    bool add;               /* to what is there, instead of setting it; plain ones only */
    bool prefetch;          /* lines before they are needed */
    /* What is needed next after these panels does not lie right behind each: in the last
     * LINE_AHEAD_LINES lines, what is prefetched lies this many bytes further on. */
    size_t jump;
    /* Weights of the panels that come after these, to be prefetched on the way: `next_step` bytes
     * of each panel for every line. NULL: none. Plain ones only. */
    const unsigned char *next;
    size_t next_stride, next_step;
    /* Windows where they lie (linear_window.h): x is the first one's block, the next begins
     * `window_step` bytes further on. After `line_left` blocks, and then always after
     * `line_blocks`, their next line lies `line_jump` bytes further on than the next block. */
    size_t window_step, line_jump;
    int64_t line_left, line_blocks;
    /* Codes in groups: scales and zeros [panel][groups][16], and the sums of x over each group,
     * [group][R]. */
    enum native_kind scale_kind;
    const void *scales, *zeros;
    const float *x_sums;
    int64_t group_blocks, groups;
};

typedef void linear_inner_fn(const struct linear_inner *t);

/* Bytes ahead to prefetch, in block b; a panel has `lines` lines for each block. */
VEC_INLINE size_t inner_ahead(const struct linear_inner *t, int64_t b, int lines)
{
    return LINE_AHEAD_LINES * 64 + (b < t->blocks - LINE_AHEAD_LINES / lines ? 0 : t->jump);
}

/* The hardware prefetcher cannot guess where the next panels begin, so their first lines are
 * prefetched in the block where inner_ahead moves on to them. */
VEC_INLINE bool inner_turns(const struct linear_inner *t, int64_t b, int lines)
{
    return b == t->blocks - LINE_AHEAD_LINES / lines;
}

VEC_INLINE void inner_prefetch(const unsigned char *p, size_t ahead)
{
    line_prefetch((const void *)((uintptr_t)p + ahead));
}

/* Row r of x: packed rows lie side by side. Of windows, one step and two from either of two
 * addresses are addressing modes of a load. */
VEC_INLINE const float *inner_row(const float *x, const bool windows, size_t step, int r)
{
    if (!windows)
        return x + r * 16;
    const char *from = (const char *)x + (r < 3 ? 0 : 3 * step);
    return (const float *)(const void *)(from + (size_t)(r % 3) * step);
}

#define INNER_ROWS LINEAR_UNROLL for (int r = 0; r < R; r++)
#define INNER_PANELS LINEAR_UNROLL for (int p = 0; p < P; p++)

/* Prefetches its own lines, those that come next, or both, as measured: one pass over weights from
 * memory needs its own soon, and in one of several passes they are in the L2 cache already. Then a
 * pass prefetches its share of what comes next once in four lines, to save instructions. */
VEC_INLINE void inner_plain(const struct linear_inner *t, const int R, const int P, const bool own,
                            const bool others, const bool windows)
{
    const float *x = t->x;
    size_t step = t->window_step;
    int64_t left = t->line_left;
    const unsigned char *w = t->w;
    uintptr_t next = (uintptr_t)(t->next ? t->next : t->w);
    size_t stride = t->stride, next_stride = t->next_stride, next_step = t->next_step;
    bool add = t->add;
    for (int64_t b = 0, end = 0; b < t->blocks; add = true) {
        line sum[LINE_TALL_ROWS][INNER_MAX_PANELS];
        INNER_ROWS INNER_PANELS sum[r][p] = line_zero();
        end = t->blocks - end < INNER_CHUNK ? t->blocks : end + INNER_CHUNK;
        for (; b < end; b++, x += windows ? 16 : R * 16, w += 16 * 64) {
            if (windows && left-- == 0) {
                x = (const float *)(const void *)((const char *)x + t->line_jump);
                left = t->line_blocks - 1;
            }
            size_t ahead = inner_ahead(t, b, 16);
            const bool prefetch = own && (t->prefetch || inner_turns(t, b, 16));
            for (int u = 0; u < 16; u += 4) {
                if (others && !own) {
                    INNER_PANELS line_prefetch_far((const void *)(next + (size_t)p * next_stride));
                    if (next_step > 16) /* few passes: a line and a part of one */
                        INNER_PANELS line_prefetch_far(
                            (const void *)(next + (size_t)p * next_stride + 64));
                    next += 4 * next_step;
                }
                LINEAR_UNROLL for (int l = u; l < u + 4; l++)
                {
                    line v[INNER_MAX_PANELS];
                    INNER_PANELS
                    {
                        const unsigned char *at = w + (size_t)p * stride + (size_t)l * 64;
                        v[p] = line_get(at);
                        if (prefetch)
                            inner_prefetch(at, ahead);
                        if (own && others)
                            line_prefetch_far((const void *)(next + (size_t)p * next_stride));
                    }
                    if (own && others)
                        next += next_step;
                    INNER_ROWS
                    {
                        line xs = line_spread(inner_row(x, windows, step, r) + l);
                        INNER_PANELS sum[r][p] = LINEAR_DOT(xs, v[p], sum[r][p]);
                    }
                }
            }
        }
        INNER_ROWS INNER_PANELS
        {
            float *to = t->sums + (r * P + p) * 16;
            line_put(to, add ? LINEAR_ADD(line_get(to), sum[r][p]) : sum[r][p]);
        }
    }
}

#define INNER_PLAIN(R, P)                                                                          \
    static void plain_##R##x##P(const struct linear_inner *t)                                      \
    {                                                                                              \
        inner_plain(t, R, P, true, R > LINE_WIDE_ROWS, false);                                     \
    }
#define INNER_NEXT(R, P)                                                                           \
    static void next_##R##x##P(const struct linear_inner *t)                                       \
    {                                                                                              \
        inner_plain(t, R, P, false, true, false);                                                  \
    }
#define INNER_WINDOW(R, P)                                                                         \
    static void window_##R##x##P(const struct linear_inner *t)                                     \
    {                                                                                              \
        inner_plain(t, R, P, false, false, true);                                                  \
    }                                                                                              \
    static void window_next_##R##x##P(const struct linear_inner *t)                                \
    {                                                                                              \
        inner_plain(t, R, P, false, true, true);                                                   \
    }
#define INNER_WINDOW_ENTRY(R, P) [R][P] = {window_##R##x##P, window_next_##R##x##P},
#define INNER_PLAIN_ENTRY(R, P) [R][P] = plain_##R##x##P,
#define INNER_NEXT_ENTRY(R, P) [R][P] = next_##R##x##P,

/* [R][P]. next_inner has some, for when t->next is there. */
LINE_PLAIN_SIZES(INNER_PLAIN)
LINE_NEXT_SIZES(INNER_NEXT)
static linear_inner_fn *const plain_inner[LINE_TALL_ROWS + 1][INNER_MAX_PANELS + 1] = {
    LINE_PLAIN_SIZES(INNER_PLAIN_ENTRY)};
static linear_inner_fn *const next_inner[LINE_TALL_ROWS + 1][INNER_MAX_PANELS + 1] = {
    LINE_NEXT_SIZES(INNER_NEXT_ENTRY)};

#ifdef LINEAR_STREAM

/* [R][P][prefetches what comes next]: without, it is 3 % faster where all weights stay in the L2
 * cache, and 8 % slower where they do not. */
LINE_WINDOW_SIZES(INNER_WINDOW)
static linear_inner_fn *const window_inner[LINE_TALL_ROWS + 1][INNER_MAX_PANELS + 1][2] = {
    LINE_WINDOW_SIZES(INNER_WINDOW_ENTRY)};

typedef line inner_sums[LINE_STREAM_ROWS][INNER_MAX_PANELS];

/* `count` blocks from block b on, added to sum. */
VEC_INLINE void stream_blocks(const struct linear_inner *t, enum linear_code code, const int R,
                              const int P, int64_t b, int64_t count, inner_sums sum,
                              line_bits watch[INNER_MAX_PANELS])
{
    const int per = linear_code_per(code), lines = 16 / per;
    const float *x = t->x + b * R * 16;
    const unsigned char *w = t->w + b * lines * 64;
    size_t stride = t->stride;
    const bool prefetch = t->prefetch;
    for (int64_t end = b + count; b < end; b++, x += R * 16, w += lines * 64) {
        size_t ahead = inner_ahead(t, b, lines);
        for (int u = 0; u < lines; u++) {
            line_bits bits[INNER_MAX_PANELS];
            INNER_PANELS
            {
                const unsigned char *at = w + (size_t)p * stride + (size_t)u * 64;
                bits[p] = line_codes(code, at);
                watch[p] = line_watch(code, watch[p], bits[p]);
                if (prefetch)
                    inner_prefetch(at, ahead);
            }
            LINEAR_UNROLL for (int j = 0; j < per; j++)
            {
                line v[INNER_MAX_PANELS];
                INNER_PANELS v[p] =
                    line_code(code, w + (size_t)p * stride + (size_t)u * 64, bits[p], j);
                INNER_ROWS
                {
                    line xs = line_spread(x + r * 16 + u * per + j);
                    INNER_PANELS sum[r][p] = line_fma(xs, v[p], sum[r][p]);
                }
            }
        }
    }
}

/* The sums of one group, which are of codes, become sums of weights: scale * sum + zero * (sum of
 * x), added to those of the groups before. */
VEC_INLINE void stream_fold(const struct linear_inner *t, const int R, const int P, int64_t g,
                            inner_sums part, inner_sums sum)
{
    INNER_PANELS
    {
        int64_t at = (p * t->groups + g) * 16;
        line scale = line_from(t->scale_kind, t->scales, at);
        line zero = line_from(t->scale_kind, t->zeros, at);
        int64_t later = (at + 4 * 16) * (t->scale_kind == NATIVE_F32 ? 4 : 2); /* 4 groups ahead */
        line_prefetch((const void *)((uintptr_t)t->scales + (uintptr_t)later));
        line_prefetch((const void *)((uintptr_t)t->zeros + (uintptr_t)later));
        INNER_ROWS
        {
            sum[r][p] = line_fma(scale, part[r][p], sum[r][p]);
            sum[r][p] = line_fma(zero, line_spread(t->x_sums + g * R + r), sum[r][p]);
        }
    }
}

VEC_INLINE void inner_stream(const struct linear_inner *t, enum linear_code code, const int R,
                             const int P)
{
    inner_sums sum;
    line_bits watch[INNER_MAX_PANELS];
    INNER_PANELS watch[p] = line_no_bits();
    INNER_ROWS INNER_PANELS sum[r][p] = line_zero();
    if (code == LINEAR_U4 || code == LINEAR_U8) {
        for (int64_t g = 0; g < t->groups; g++) {
            inner_sums part;
            INNER_ROWS INNER_PANELS part[r][p] = line_zero();
            stream_blocks(t, code, R, P, g * t->group_blocks, t->group_blocks, part, watch);
            stream_fold(t, R, P, g, part, sum);
        }
    } else {
        for (int64_t b = 0; b < t->blocks; b += INNER_CHUNK) {
            inner_sums part;
            INNER_ROWS INNER_PANELS part[r][p] = line_zero();
            int64_t left = t->blocks - b, count = left < INNER_CHUNK ? left : INNER_CHUNK;
            stream_blocks(t, code, R, P, b, count, part, watch);
            INNER_ROWS INNER_PANELS sum[r][p] = line_add(sum[r][p], part[r][p]);
        }
    }
    line unit = line_all(line_unit(code));
    INNER_ROWS INNER_PANELS
    {
        line a = line_poison(code, line_mul(sum[r][p], unit), watch[p]);
        line_put(t->sums + (r * P + p) * 16, a);
    }
}

#define INNER_STREAM(R, P)                                                                         \
    static void bf16_##R##x##P(const struct linear_inner *t)                                       \
    {                                                                                              \
        inner_stream(t, LINEAR_BF16, R, P);                                                        \
    }                                                                                              \
    static void f16_##R##x##P(const struct linear_inner *t) { inner_stream(t, LINEAR_F16, R, P); } \
    static void s8_##R##x##P(const struct linear_inner *t) { inner_stream(t, LINEAR_S8, R, P); }   \
    static void u8_##R##x##P(const struct linear_inner *t) { inner_stream(t, LINEAR_U8, R, P); }   \
    static void e4m3_##R##x##P(const struct linear_inner *t)                                       \
    {                                                                                              \
        inner_stream(t, LINEAR_E4M3, R, P);                                                        \
    }                                                                                              \
    static void u4_##R##x##P(const struct linear_inner *t) { inner_stream(t, LINEAR_U4, R, P); }
#define INNER_STREAM_ENTRY(code, name, R, P) [code][R][P] = name##_##R##x##P,
#define INNER_STREAM_ENTRIES(R, P)                                                                 \
    INNER_STREAM_ENTRY(LINEAR_BF16, bf16, R, P)                                                    \
    INNER_STREAM_ENTRY(LINEAR_F16, f16, R, P)                                                      \
    INNER_STREAM_ENTRY(LINEAR_S8, s8, R, P)                                                        \
    INNER_STREAM_ENTRY(LINEAR_U8, u8, R, P)                                                        \
    INNER_STREAM_ENTRY(LINEAR_E4M3, e4m3, R, P)                                                    \
    INNER_STREAM_ENTRY(LINEAR_U4, u4, R, P)

LINE_STREAM_SIZES(INNER_STREAM)
static linear_inner_fn
    *const stream_inner[LINEAR_CODES][LINE_STREAM_ROWS + 1][INNER_MAX_PANELS + 1] = {
        LINE_STREAM_SIZES(INNER_STREAM_ENTRIES)};

/* The sums of packed x over each group, [group][rows]. */
static void linear_pack_stream(const struct linear_inner *t, enum linear_code code, float *x,
                               int64_t rows, float *sums)
{
    (void)code;
    for (int64_t g = 0; g < t->groups; g++)
        for (int64_t r = 0; r < rows; r++) {
            vec sum = vec_set(0);
            const float *from = x + (g * t->group_blocks * rows + r) * 16;
            for (int64_t b = 0; b < t->group_blocks; b++, from += 16 * rows)
                for (int j = 0; j < 16; j += VEC_LANES)
                    sum = vec_add(sum, vec_load(NATIVE_F32, from, j));
            sums[g * rows + r] = vec_sum(sum);
        }
}

/* ---- what plain blocks need of codes: a slice in f32 ------------------------------------------
 */

/* Blocks [b, b + count) of the first panel's codes as lines of f32, scales and zeros of groups
 * applied. */
VEC_INLINE void slice_code(enum linear_code code, const struct linear_inner *t, int64_t b,
                           int64_t count, float *to)
{
    const int per = linear_code_per(code), lines = 16 / per;
    const bool grouped = code == LINEAR_U4 || code == LINEAR_U8;
    const unsigned char *w = t->w + b * lines * 64;
    line scale = line_all(line_unit(code)), zero = line_zero();
    line_bits watch = line_no_bits();
    float *first = to;
    for (int64_t end = b + count; b < end; b++) {
        if (grouped) {
            int64_t at = b / t->group_blocks * 16;
            scale = line_from(t->scale_kind, t->scales, at);
            zero = line_from(t->scale_kind, t->zeros, at);
        }
        for (int u = 0; u < lines; u++, w += 64) {
            line_bits bits = line_codes(code, w);
            watch = line_watch(code, watch, bits);
            inner_prefetch(w, LINE_AHEAD_LINES * 64);
            LINEAR_UNROLL for (int j = 0; j < per; j++, to += 16)
            {
                line v = line_code(code, w, bits, j);
                if (grouped)
                    v = line_fma(v, scale, zero);
                else if (code == LINEAR_E4M3)
                    v = line_mul(v, scale);
                line_put(to, v);
            }
        }
    }
    if (code == LINEAR_E4M3) /* any product with NaN is NaN: one is enough */
        line_put(first, line_poison(code, line_get(first), watch));
}

#define SLICE_CASE(code)                                                                           \
    case code:                                                                                     \
        slice_code(code, t, b, count, to);                                                         \
        return;

static void slice_decode(enum linear_code code, const struct linear_inner *t, int64_t b,
                         int64_t count, float *to)
{
    switch (code) {
        SLICE_CASE(LINEAR_BF16)
        SLICE_CASE(LINEAR_F16)
        SLICE_CASE(LINEAR_S8)
        SLICE_CASE(LINEAR_U8)
        SLICE_CASE(LINEAR_E4M3)
        SLICE_CASE(LINEAR_U4)
    default:
        return;
    }
}
#endif

#endif
