/* depthwise_conv2d_body.h: the body of depthwise_conv2d: vectors of channels, a few neighbouring
 * pixels of a line of the output at a time.
 *
 * Away from the left and right edge, DEPTHWISE_PIXELS pixels share the loads of x and W: in the
 * kernels that occur most (3 x 3, 5 x 5) a column of x is loaded once for all of them. The pixels
 * left over, the edges and other kernels go tap by tap. Taps that fall outside the image are left
 * out, not multiplied by 0: a NaN among W stays out of the output there. The lines of x that
 * neighbouring lines of the output share are found in the L2 cache.
 *
 * Each size of kernel that has constants of its own is compiled in a file of its own
 * (depthwise_conv2d_vec_*.c): all in one take the compiler half a minute. Include vec.h first. */
#ifndef ASSAY_KERNEL_NATIVE_DEPTHWISE_CONV2D_BODY_H
#define ASSAY_KERNEL_NATIVE_DEPTHWISE_CONV2D_BODY_H

#include "base/math.h"
#include "kernel/native/native.h"
#include "op/conv.h"

/* A block is a pair of vectors of channels. DEPTHWISE_WEIGHTS floats of W, half of an L1 cache of
 * 32 KB, are at hand at a time: for more channels, one part of them goes over the whole share
 * before the next. */
enum { DEPTHWISE_PIXELS = 4, DEPTHWISE_BLOCK = 2 * VEC_LANES, DEPTHWISE_WEIGHTS = 4096 };

struct depthwise {
    struct assay_conv conv;
    const void *x, *w, *bias; /* NULL where there is none */
    void *out;
    int64_t inner_begin, inner_end; /* the pixels of a line whose windows are all in the image */
};

/* One line of the output. */
struct depthwise_line {
    int64_t x;                /* element of x at the window's first line, column 0 */
    int64_t out;              /* element of the output at column 0 */
    int64_t ky_begin, ky_end; /* the window's lines that are in the image */
};

/* Channels [c, c + n); `whole`, a constant: n is DEPTHWISE_BLOCK. Otherwise the lanes beyond n are
 * 0. */
struct depthwise_channels {
    int64_t c, n;
};

VEC_INLINE struct vec_pair depthwise_load(enum native_kind kind, bool whole, const void *data,
                                          int64_t at, int64_t n)
{
    if (whole)
        return vec_load_pair(kind, data, at);
    struct vec_pair p = {vec_load_part(kind, data, at, assay_min(n, VEC_LANES)), vec_set(0.0f)};
    if (n > VEC_LANES)
        p.b = vec_load_part(kind, data, at + VEC_LANES, n - VEC_LANES);
    return p;
}

VEC_INLINE void depthwise_store(enum native_kind kind, bool stream, bool whole, void *data,
                                int64_t at, int64_t n, struct vec_pair p)
{
    if (whole) {
        vec_store_pair(kind, stream, data, at, p);
        return;
    }
    vec_store_part(kind, data, at, p.a, assay_min(n, VEC_LANES));
    if (n > VEC_LANES)
        vec_store_part(kind, data, at + VEC_LANES, p.b, n - VEC_LANES);
}

VEC_INLINE struct vec_pair depthwise_fma(struct vec_pair x, struct vec_pair w, struct vec_pair sum)
{
    return (struct vec_pair){vec_fma(x.a, w.a, sum.a), vec_fma(x.b, w.b, sum.b)};
}

VEC_INLINE struct vec_pair depthwise_bias(enum native_kind kind, bool whole,
                                          const struct depthwise *d, struct depthwise_channels ch)
{
    if (d->bias)
        return depthwise_load(kind, whole, d->bias, ch.c, ch.n);
    return (struct vec_pair){vec_set(0.0f), vec_set(0.0f)};
}

/* `pixels` (a constant) pixels from column `pixel` on, any kernel and stride, the window's columns
 * [kx_begin, kx_end). */
VEC_INLINE void depthwise_taps(enum native_kind kind, bool whole, int pixels,
                               const struct depthwise *d, const struct depthwise_line *line,
                               int64_t pixel, int64_t kx_begin, int64_t kx_end,
                               struct depthwise_channels ch)
{
    const struct assay_conv *conv = &d->conv;
    int64_t step = conv->stride * conv->in;
    struct vec_pair sum[DEPTHWISE_PIXELS];
    for (int o = 0; o < pixels; o++)
        sum[o] = depthwise_bias(kind, whole, d, ch);
    for (int64_t ky = line->ky_begin; ky < line->ky_end; ky++)
        for (int64_t kx = kx_begin; kx < kx_end; kx++) {
            int64_t column = pixel * conv->stride - conv->pad + kx;
            int64_t at = line->x + (ky * conv->width + column) * conv->in + ch.c;
            struct vec_pair w =
                depthwise_load(kind, whole, d->w, (ky * conv->kernel + kx) * conv->in + ch.c, ch.n);
            for (int o = 0; o < pixels; o++)
                sum[o] = depthwise_fma(depthwise_load(kind, whole, d->x, at + o * step, ch.n), w,
                                       sum[o]);
        }
    for (int o = 0; o < pixels; o++)
        depthwise_store(kind, false, whole, d->out, line->out + (pixel + o) * conv->in + ch.c, ch.n,
                        sum[o]);
}

/* DEPTHWISE_PIXELS pixels whose windows are all in the image, one whole block; kernel and stride
 * are constants. `w` are the taps of this block, one behind the other. */
VEC_INLINE void depthwise_columns(enum native_kind kind, bool stream, int kernel, int stride,
                                  const struct depthwise *d, const struct depthwise_line *line,
                                  int64_t pixel, const float *w, struct depthwise_channels ch)
{
    const struct assay_conv *conv = &d->conv;
    struct vec_pair sum[DEPTHWISE_PIXELS];
    for (int o = 0; o < DEPTHWISE_PIXELS; o++)
        sum[o] = depthwise_bias(kind, true, d, ch);
    for (int64_t ky = line->ky_begin; ky < line->ky_end; ky++) {
        int64_t column = pixel * stride - conv->pad;
        int64_t at = line->x + (ky * conv->width + column) * conv->in + ch.c;
        const float *taps = w + ky * kernel * DEPTHWISE_BLOCK;
        NATIVE_UNROLL
        for (int j = 0; j < (DEPTHWISE_PIXELS - 1) * stride + kernel; j++) {
            struct vec_pair x = vec_load_pair(kind, d->x, at + j * conv->in);
            NATIVE_UNROLL
            for (int o = 0; o < DEPTHWISE_PIXELS; o++) {
                int kx = j - o * stride;
                if (kx >= 0 && kx < kernel)
                    sum[o] = depthwise_fma(x, vec_load_pair(NATIVE_F32, taps, kx * DEPTHWISE_BLOCK),
                                           sum[o]);
            }
        }
    }
    for (int o = 0; o < DEPTHWISE_PIXELS; o++)
        vec_store_pair(kind, stream, d->out, line->out + (pixel + o) * conv->in + ch.c, sum[o]);
}

/* All channels [begin, end) of some pixels, tap by tap. */
VEC_INLINE void depthwise_some(enum native_kind kind, int pixels, const struct depthwise *d,
                               const struct depthwise_line *line, int64_t pixel, int64_t begin,
                               int64_t end)
{
    const struct assay_conv *conv = &d->conv;
    int64_t left = pixel * conv->stride - conv->pad, c = begin;
    int64_t kx_begin = assay_max(0, -left);
    int64_t kx_end = assay_min(conv->kernel, conv->width - left);
    for (; c + DEPTHWISE_BLOCK <= end; c += DEPTHWISE_BLOCK)
        depthwise_taps(kind, true, pixels, d, line, pixel, kx_begin, kx_end,
                       (struct depthwise_channels){c, DEPTHWISE_BLOCK});
    if (c < end)
        depthwise_taps(kind, false, pixels, d, line, pixel, kx_begin, kx_end,
                       (struct depthwise_channels){c, end - c});
}

/* DEPTHWISE_PIXELS pixels in the middle; kernel == 0 (a constant): any. */
VEC_INLINE void depthwise_middle(enum native_kind kind, bool stream, int kernel, int stride,
                                 const struct depthwise *d, const struct depthwise_line *line,
                                 int64_t pixel, const float *w, int64_t begin, int64_t end)
{
    int64_t c = begin;
    if (kernel)
        for (; c + DEPTHWISE_BLOCK <= end; c += DEPTHWISE_BLOCK)
            depthwise_columns(kind, stream, kernel, stride, d, line, pixel,
                              w + (c - begin) * kernel * kernel,
                              (struct depthwise_channels){c, DEPTHWISE_BLOCK});
    if (c < end)
        depthwise_some(kind, DEPTHWISE_PIXELS, d, line, pixel, c, end);
}

VEC_INLINE struct depthwise_line depthwise_line(const struct assay_conv *conv, int64_t number)
{
    int64_t image = number / conv->out_height, y = number % conv->out_height;
    int64_t top = y * conv->stride - conv->pad;
    return (struct depthwise_line){
        .x = (image * conv->height + top) * conv->width * conv->in,
        .out = number * conv->out_width * conv->in,
        .ky_begin = assay_max(0, -top),
        .ky_end = assay_min(conv->kernel, conv->height - top),
    };
}

/* Places [begin, end) of one line. */
VEC_INLINE void depthwise_pixels(enum native_kind kind, bool stream, int kernel, int stride,
                                 const struct depthwise *d, int64_t number, int64_t begin,
                                 int64_t end, const float *w, int64_t c_begin, int64_t c_end)
{
    struct depthwise_line line = depthwise_line(&d->conv, number);
    int64_t inner_end = assay_min(end, d->inner_end), pixel = begin;
    for (; pixel < assay_min(end, d->inner_begin); pixel++)
        depthwise_some(kind, 1, d, &line, pixel, c_begin, c_end);
    for (; pixel + DEPTHWISE_PIXELS <= inner_end; pixel += DEPTHWISE_PIXELS)
        depthwise_middle(kind, stream, kernel, stride, d, &line, pixel, w, c_begin, c_end);
    for (; pixel < end; pixel++)
        depthwise_some(kind, 1, d, &line, pixel, c_begin, c_end);
}

/* The whole blocks of channels [begin, end) of W as floats, in the order of pairs of this kind. */
VEC_INLINE void depthwise_widen(enum native_kind kind, int taps, const struct depthwise *d,
                                int64_t begin, int64_t end, float *w)
{
    for (int64_t c = begin; c + DEPTHWISE_BLOCK <= end; c += DEPTHWISE_BLOCK)
        for (int tap = 0; tap < taps; tap++, w += DEPTHWISE_BLOCK)
            vec_store_pair(NATIVE_F32, false, w, 0,
                           vec_load_pair(kind, d->w, tap * d->conv.in + c));
}

/* Places [begin, end) of all lines; kernel == 0 (a constant): any. */
VEC_INLINE void depthwise_share(enum native_kind kind, bool stream, int kernel, int stride,
                                const struct depthwise *d, int64_t begin, int64_t end)
{
    _Alignas(64) float w[DEPTHWISE_WEIGHTS];
    int64_t channels = d->conv.in, width = d->conv.out_width, at_once = channels;
    if (kernel) {
        int64_t most = DEPTHWISE_WEIGHTS / (kernel * kernel) / DEPTHWISE_BLOCK * DEPTHWISE_BLOCK;
        int64_t rounds = (channels + most - 1) / most, even = (channels + rounds - 1) / rounds;
        at_once = (even + DEPTHWISE_BLOCK - 1) / DEPTHWISE_BLOCK * DEPTHWISE_BLOCK;
    }
    for (int64_t c = 0; c < channels; c += at_once) {
        int64_t c_end = assay_min(channels, c + at_once);
        depthwise_widen(kind, kernel * kernel, d, c, c_end, w);
        for (int64_t i = begin; i < end;) {
            int64_t number = i / width, first = i % width;
            int64_t n = assay_min(width - first, end - i);
            depthwise_pixels(kind, stream, kernel, stride, d, number, first, first + n, w, c,
                             c_end);
            i += n;
        }
    }
}

/* Computes pixels [begin, end) of all lines. */
typedef void depthwise_share_fn(const struct depthwise *d, int64_t begin, int64_t end);

/* For each kind of element, without and with streaming stores. */
typedef depthwise_share_fn *const depthwise_shares[NATIVE_KINDS][2];

/* The shares of a size; "3x3" is assay_depthwise_3x3_avx512. */
#define DEPTHWISE_SIZE(size) NATIVE_PASTE(NATIVE_PASTE(assay_depthwise, size), VEC_NAME)
extern depthwise_shares DEPTHWISE_SIZE(3x3);
extern depthwise_shares DEPTHWISE_SIZE(3x3_stride2);
extern depthwise_shares DEPTHWISE_SIZE(5x5);
extern depthwise_shares DEPTHWISE_SIZE(any);

/* With a copy of the job: the compiler knows that no store of a vector changes it. */
#define DEPTHWISE_SHARE(kind, kernel, stride, suffix)                                              \
    static void NATIVE_PASTE(depthwise, suffix)(const struct depthwise *job, int64_t begin,        \
                                                int64_t end)                                       \
    {                                                                                              \
        struct depthwise d = *job;                                                                 \
        depthwise_share(kind, false, kernel, stride, &d, begin, end);                              \
    }                                                                                              \
    static void NATIVE_PASTE(depthwise_stream, suffix)(const struct depthwise *job, int64_t begin, \
                                                       int64_t end)                                \
    {                                                                                              \
        struct depthwise d = *job;                                                                 \
        depthwise_share(kind, true, kernel, stride, &d, begin, end);                               \
    }
#ifdef VEC_HAS_BF16_INSN
#define DEPTHWISE_SHARE_INSN(kernel, stride)                                                       \
    DEPTHWISE_SHARE(NATIVE_BF16_INSN, kernel, stride, bf16_insn)
#define DEPTHWISE_ENTRY_INSN [NATIVE_BF16_INSN] = {depthwise_bf16_insn, depthwise_stream_bf16_insn},
#else
#define DEPTHWISE_SHARE_INSN(kernel, stride)
#define DEPTHWISE_ENTRY_INSN
#endif

/* Defines the shares of a size; kernel == 0: of any. */
#define DEPTHWISE_SHARES(ident, kernel, stride)                                                    \
    DEPTHWISE_SHARE(NATIVE_F32, kernel, stride, f32)                                               \
    DEPTHWISE_SHARE(NATIVE_F16, kernel, stride, f16)                                               \
    DEPTHWISE_SHARE(NATIVE_BF16, kernel, stride, bf16)                                             \
    DEPTHWISE_SHARE_INSN(kernel, stride)                                                           \
    depthwise_shares ident = {[NATIVE_F32] = {depthwise_f32, depthwise_stream_f32},                \
                              [NATIVE_F16] = {depthwise_f16, depthwise_stream_f16},                \
                              [NATIVE_BF16] = {depthwise_bf16, depthwise_stream_bf16},             \
                              DEPTHWISE_ENTRY_INSN}

#endif
