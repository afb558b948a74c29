/* depthwise_conv2d_backward_vec.c: the gradients of depthwise_conv2d, a pair of vectors of channels
 * at a time. Taps that fall outside the image are left out, not multiplied by 0. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/depthwise_conv2d_backward_native.h"
#include "kernel/native/image/depthwise_conv2d_body.h"

/* As this body has it. */
#ifdef VEC_HAS_BF16_INSN
#define INSN NATIVE_BF16_INSN
#else
#define INSN NATIVE_BF16
#endif

/* ---- dX -------------------------------------------------------------------------------------- */

/* Turned filters over dY: the forward pass of another convolution. */
static void data_stride1(const struct depthwise_backward *b, int64_t begin, int64_t end)
{
    struct assay_conv conv = b->conv;
    conv.height = b->conv.out_height;
    conv.width = b->conv.out_width;
    conv.out_height = b->conv.height;
    conv.out_width = b->conv.width;
    conv.pad = conv.kernel - 1 - b->conv.pad;
    struct depthwise d = {.conv = conv, .x = b->dy, .w = b->turned, .out = b->dx};
    d.inner_begin = conv.pad;
    if (conv.width + conv.pad >= conv.kernel)
        d.inner_end = conv.width + conv.pad - conv.kernel + 1;
    bool stream = b->stream && native_head(b->kind, conv.in, 64) == 0;
    depthwise_shares *shares = conv.kernel == 3   ? &DEPTHWISE_SIZE(3x3)
                               : conv.kernel == 5 ? &DEPTHWISE_SIZE(5x5)
                                                  : &DEPTHWISE_SIZE(any);
    enum native_kind kind = b->kind == NATIVE_BF16_INSN ? INSN : b->kind;
    (*shares)[kind][stream](&d, begin * conv.out_width, end * conv.out_width);
    if (stream)
        vec_stream_end();
}

/* The taps that one pixel of x meets along an axis: from `first` on, a stride apart, the pixel of
 * dY one less each time; `n` of them. */
struct taps {
    int64_t first, pixel, n;
};

static inline struct taps taps_of(const struct assay_conv *c, int64_t at, int64_t pixels)
{
    struct taps t = {.first = (at + c->pad) % c->stride};
    t.pixel = (at + c->pad - t.first) / c->stride;
    int64_t beyond = assay_max(t.pixel - (pixels - 1), 0); /* dY ends before */
    t.first += beyond * c->stride;
    t.pixel -= beyond;
    int64_t taps = t.first < c->kernel ? (c->kernel - t.first + c->stride - 1) / c->stride : 0;
    t.n = assay_max(assay_min(taps, t.pixel + 1), 0);
    return t;
}

/* `pixels` (a constant) pixels, a stride apart, that meet the same taps; `to` is the first one's.
 */
VEC_INLINE void data_pixels(enum native_kind kind, bool whole, int pixels,
                            const struct depthwise_backward *b, int64_t line, const struct taps *y,
                            const struct taps *x, int64_t to, int64_t c, int64_t n)
{
    const struct assay_conv *conv = &b->conv;
    struct vec_pair sum[DEPTHWISE_PIXELS];
    for (int o = 0; o < pixels; o++)
        sum[o] = (struct vec_pair){vec_set(0.0f), vec_set(0.0f)};
    for (int64_t i = 0; i < y->n; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t tap =
                (y->first + i * conv->stride) * conv->kernel + x->first + j * conv->stride;
            int64_t dy = ((line + y->pixel - i) * conv->out_width + x->pixel - j) * conv->in + c;
            struct vec_pair w = depthwise_load(kind, whole, b->w, tap * conv->in + c, n);
            for (int o = 0; o < pixels; o++)
                sum[o] = depthwise_fma(depthwise_load(kind, whole, b->dy, dy + o * conv->in, n), w,
                                       sum[o]);
        }
    for (int o = 0; o < pixels; o++)
        depthwise_store(kind, false, whole, b->dx, to + o * conv->stride * conv->in + c, n, sum[o]);
}

VEC_INLINE void data_channels(enum native_kind kind, int pixels, const struct depthwise_backward *b,
                              int64_t line, const struct taps *y, const struct taps *x, int64_t to)
{
    int64_t c = 0, channels = b->conv.in;
    for (; c + DEPTHWISE_BLOCK <= channels; c += DEPTHWISE_BLOCK)
        data_pixels(kind, true, pixels, b, line, y, x, to, c, DEPTHWISE_BLOCK);
    if (c < channels)
        data_pixels(kind, false, pixels, b, line, y, x, to, c, channels - c);
}

/* The pixels of a line from `at` on, a stride apart. Those away from the edges meet the same taps:
 * they share what they load of W. */
VEC_INLINE void data_phase(enum native_kind kind, const struct depthwise_backward *b,
                           int64_t number, int64_t at)
{
    const struct assay_conv *conv = &b->conv;
    int64_t line = number / conv->height * conv->out_height, width = conv->width;
    int64_t ahead = (DEPTHWISE_PIXELS - 1) * conv->stride;
    struct taps y = taps_of(conv, number % conv->height, conv->out_height);
    while (at < width) {
        struct taps x = taps_of(conv, at, conv->out_width);
        struct taps last = taps_of(conv, assay_min(at + ahead, width - 1), conv->out_width);
        int64_t to = (number * width + at) * conv->in;
        bool same = at + ahead < width && x.first == last.first && x.n == last.n;
        if (same)
            data_channels(kind, DEPTHWISE_PIXELS, b, line, &y, &x, to);
        else
            data_channels(kind, 1, b, line, &y, &x, to);
        at += (same ? DEPTHWISE_PIXELS : 1) * conv->stride;
    }
}

VEC_INLINE void data_any(enum native_kind kind, const struct depthwise_backward *b, int64_t begin,
                         int64_t end)
{
    for (int64_t number = begin; number < end; number++)
        for (int64_t at = 0; at < assay_min(b->conv.stride, b->conv.width); at++)
            data_phase(kind, b, number, at);
}

/* ---- dW -------------------------------------------------------------------------------------- */

/* A line of dY, and the line of x that a row of taps meets: elements of column 0, which for x may
 * be in the padding. */
struct pair_of_lines {
    int64_t dy, x;
    int64_t inner_begin, inner_end; /* pixels all of whose taps are in the image */
};

/* Adds `pixels` (a constant) pixels whose taps are all in the image: each column of x is loaded
 * once. */
VEC_INLINE void weights_columns(enum native_kind kind, bool whole, int kernel, int stride,
                                int pixels, const struct depthwise_backward *b,
                                const struct pair_of_lines *line, int64_t pixel, int64_t c,
                                int64_t n, struct vec_pair *sum)
{
    const struct assay_conv *conv = &b->conv;
    struct vec_pair dy[DEPTHWISE_PIXELS];
    for (int o = 0; o < pixels; o++)
        dy[o] = depthwise_load(kind, whole, b->dy, line->dy + (pixel + o) * conv->in + c, n);
    int64_t at = line->x + pixel * stride * conv->in + c;
    NATIVE_UNROLL
    for (int j = 0; j < (pixels - 1) * stride + kernel; j++) {
        struct vec_pair x = depthwise_load(kind, whole, b->x, at + j * conv->in, n);
        NATIVE_UNROLL
        for (int o = 0; o < pixels; o++) {
            int kx = j - o * stride;
            if (kx >= 0 && kx < kernel)
                sum[kx] = depthwise_fma(x, dy[o], sum[kx]);
        }
    }
}

/* Adds one pixel at an edge. */
VEC_INLINE void weights_edge(enum native_kind kind, bool whole, int kernel,
                             const struct depthwise_backward *b, const struct pair_of_lines *line,
                             int64_t pixel, int64_t c, int64_t n, struct vec_pair *sum)
{
    const struct assay_conv *conv = &b->conv;
    int64_t left = pixel * conv->stride - conv->pad;
    struct vec_pair dy = depthwise_load(kind, whole, b->dy, line->dy + pixel * conv->in + c, n);
    NATIVE_UNROLL
    for (int kx = 0; kx < kernel; kx++)
        if (left + kx >= 0 && left + kx < conv->width)
            sum[kx] = depthwise_fma(
                depthwise_load(kind, whole, b->x,
                               line->x + (pixel * conv->stride + kx) * conv->in + c, n),
                dy, sum[kx]);
}

/* A row of taps. */
VEC_INLINE void weights_row(enum native_kind kind, bool whole, int kernel, int stride,
                            const struct depthwise_backward *b, const struct pair_of_lines *line,
                            int64_t c, int64_t n, float *to)
{
    struct vec_pair sum[5];
    int64_t pixel = 0, end = b->conv.out_width;
    NATIVE_UNROLL
    for (int kx = 0; kx < kernel; kx++)
        sum[kx] = (struct vec_pair){vec_set(0.0f), vec_set(0.0f)};
    for (; pixel < assay_min(line->inner_begin, end); pixel++)
        weights_edge(kind, whole, kernel, b, line, pixel, c, n, sum);
    for (; pixel + DEPTHWISE_PIXELS <= line->inner_end; pixel += DEPTHWISE_PIXELS)
        weights_columns(kind, whole, kernel, stride, DEPTHWISE_PIXELS, b, line, pixel, c, n, sum);
    for (; pixel < line->inner_end; pixel++)
        weights_columns(kind, whole, kernel, stride, 1, b, line, pixel, c, n, sum);
    for (; pixel < end; pixel++)
        weights_edge(kind, whole, kernel, b, line, pixel, c, n, sum);
    NATIVE_UNROLL
    for (int kx = 0; kx < kernel; kx++, to += b->padded) {
        vec_store(NATIVE_F32, to, 0, vec_add(vec_load(NATIVE_F32, to, 0), sum[kx].a));
        vec_store(NATIVE_F32, to, VEC_LANES,
                  vec_add(vec_load(NATIVE_F32, to, VEC_LANES), sum[kx].b));
    }
}

/* Kernels without constants: one tap at a time. */
VEC_INLINE void weights_taps(enum native_kind kind, bool whole, const struct depthwise_backward *b,
                             const struct pair_of_lines *line, int64_t c, int64_t n, float *to)
{
    const struct assay_conv *conv = &b->conv;
    for (int64_t kx = 0; kx < conv->kernel; kx++, to += b->padded) {
        struct vec_pair sum = {vec_load(NATIVE_F32, to, 0), vec_load(NATIVE_F32, to, VEC_LANES)};
        int64_t begin = assay_max(conv->pad - kx, 0) + conv->stride - 1;
        int64_t last = conv->width - 1 + conv->pad - kx;
        int64_t end = last < 0 ? 0 : assay_min(last / conv->stride + 1, conv->out_width);
        for (int64_t pixel = begin / conv->stride; pixel < end; pixel++)
            sum = depthwise_fma(
                depthwise_load(kind, whole, b->dy, line->dy + pixel * conv->in + c, n),
                depthwise_load(kind, whole, b->x,
                               line->x + (pixel * conv->stride + kx) * conv->in + c, n),
                sum);
        vec_store(NATIVE_F32, to, 0, sum.a);
        vec_store(NATIVE_F32, to, VEC_LANES, sum.b);
    }
}

VEC_INLINE void weights_bias(enum native_kind kind, bool whole, const struct depthwise_backward *b,
                             const struct pair_of_lines *line, int64_t c, int64_t n, float *to)
{
    struct vec_pair sum = {vec_set(0.0f), vec_set(0.0f)};
    for (int64_t pixel = 0; pixel < b->conv.out_width; pixel++) {
        struct vec_pair dy =
            depthwise_load(kind, whole, b->dy, line->dy + pixel * b->conv.in + c, n);
        sum = (struct vec_pair){vec_add(sum.a, dy.a), vec_add(sum.b, dy.b)};
    }
    vec_store(NATIVE_F32, to, 0, vec_add(vec_load(NATIVE_F32, to, 0), sum.a));
    vec_store(NATIVE_F32, to, VEC_LANES, vec_add(vec_load(NATIVE_F32, to, VEC_LANES), sum.b));
}

/* All rows of taps of one line of dY, for one block of channels; kernel == 0 (a constant): any. */
VEC_INLINE void weights_block(enum native_kind kind, bool whole, int kernel, int stride,
                              const struct depthwise_backward *b, int64_t number, int64_t c,
                              int64_t n, float *sums)
{
    const struct assay_conv *conv = &b->conv;
    struct depthwise_line at = depthwise_line(conv, number);
    struct pair_of_lines line = {.dy = at.out,
                                 .inner_begin = (conv->pad + conv->stride - 1) / conv->stride};
    if (conv->width + conv->pad >= conv->kernel)
        line.inner_end = (conv->width + conv->pad - conv->kernel) / conv->stride + 1;
    for (int64_t ky = at.ky_begin; ky < at.ky_end; ky++) {
        float *to = sums + ky * conv->kernel * b->padded + c;
        line.x = at.x + (ky * conv->width - conv->pad) * conv->in;
        if (kernel)
            weights_row(kind, whole, kernel, stride, b, &line, c, n, to);
        else
            weights_taps(kind, whole, b, &line, c, n, to);
    }
    if (b->dbias)
        weights_bias(kind, whole, b, &line, c, n,
                     sums + conv->kernel * conv->kernel * b->padded + c);
}

VEC_INLINE void weights_lines(enum native_kind kind, int kernel, int stride,
                              const struct depthwise_backward *b, int64_t begin, int64_t end,
                              float *sums)
{
    int64_t c = 0, channels = b->conv.in;
    for (; c + DEPTHWISE_BLOCK <= channels; c += DEPTHWISE_BLOCK)
        for (int64_t i = begin; i < end; i++)
            weights_block(kind, true, kernel, stride, b, i, c, DEPTHWISE_BLOCK, sums);
    for (int64_t i = begin; i < end && c < channels; i++)
        weights_block(kind, false, kernel, stride, b, i, c, channels - c, sums);
}

/* A size's constants, in a function of its own: all sizes of all kinds in one took gcc four times
 * as long. */
#define WEIGHTS(kind, kernel, stride)                                                              \
    static __attribute__((noinline)) void weights_##kind##_##kernel##_##stride(                    \
        const struct depthwise_backward *call, int64_t begin, int64_t end, float *sums)            \
    {                                                                                              \
        struct depthwise_backward b = *call; /* the compiler knows that no store changes it */     \
        weights_lines(kind, kernel, stride, &b, begin, end, sums);                                 \
    }
#define WEIGHTS_OF(kind)                                                                           \
    WEIGHTS(kind, 3, 1)                                                                            \
    WEIGHTS(kind, 3, 2)                                                                            \
    WEIGHTS(kind, 5, 1)                                                                            \
    WEIGHTS(kind, 0, 0)                                                                            \
    static void weights_##kind(const struct depthwise_backward *b, int64_t begin, int64_t end,     \
                               float *sums)                                                        \
    {                                                                                              \
        if (b->conv.kernel == 3 && b->conv.stride == 1)                                            \
            weights_##kind##_3_1(b, begin, end, sums);                                             \
        else if (b->conv.kernel == 3 && b->conv.stride == 2)                                       \
            weights_##kind##_3_2(b, begin, end, sums);                                             \
        else if (b->conv.kernel == 5 && b->conv.stride == 1)                                       \
            weights_##kind##_5_1(b, begin, end, sums);                                             \
        else                                                                                       \
            weights_##kind##_0_0(b, begin, end, sums);                                             \
    }
WEIGHTS_OF(NATIVE_F32)
WEIGHTS_OF(NATIVE_F16)
WEIGHTS_OF(NATIVE_BF16)
#ifdef VEC_HAS_BF16_INSN
WEIGHTS_OF(NATIVE_BF16_INSN)
#endif

/* ---- the sums of all threads ----------------------------------------------------------------- */

VEC_INLINE void finish_block(enum native_kind kind, bool whole, const float *sums, int64_t threads,
                             int64_t apart, void *to, int64_t at, int64_t n)
{
    struct vec_pair sum = {vec_load(NATIVE_F32, sums, 0), vec_load(NATIVE_F32, sums, VEC_LANES)};
    for (int64_t t = 1; t < threads; t++) {
        sums += apart;
        sum.a = vec_add(sum.a, vec_load(NATIVE_F32, sums, 0));
        sum.b = vec_add(sum.b, vec_load(NATIVE_F32, sums, VEC_LANES));
    }
    depthwise_store(kind, false, whole, to, at, n, sum);
}

VEC_INLINE void finish_kind(enum native_kind kind, const struct depthwise_backward *b,
                            const float *sums, int64_t threads, int64_t apart, int64_t begin,
                            int64_t end)
{
    int64_t taps = b->conv.kernel * b->conv.kernel;
    for (int64_t tap = 0; tap < taps + (b->dbias != NULL); tap++) {
        void *to = tap < taps ? b->dw : b->dbias;
        int64_t row = tap < taps ? tap * b->conv.in : 0, c = begin;
        const float *from = sums + tap * b->padded;
        for (; c + DEPTHWISE_BLOCK <= end; c += DEPTHWISE_BLOCK)
            finish_block(kind, true, from + c, threads, apart, to, row + c, DEPTHWISE_BLOCK);
        if (c < end)
            finish_block(kind, false, from + c, threads, apart, to, row + c, end - c);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* A function for the kind at hand, which is a constant in it. Without the instructions for bf16
 * both of its kinds are one. */
#ifdef VEC_HAS_BF16_INSN
#define CASE_INSN(function, ...)                                                                   \
    case NATIVE_BF16_INSN:                                                                         \
        function(NATIVE_BF16_INSN, __VA_ARGS__);                                                   \
        break;
#else
#define CASE_INSN(function, ...)
#endif
#define EACH_KIND(kind, function, ...)                                                             \
    switch (kind) {                                                                                \
    case NATIVE_F32:                                                                               \
        function(NATIVE_F32, __VA_ARGS__);                                                         \
        break;                                                                                     \
    case NATIVE_F16:                                                                               \
        function(NATIVE_F16, __VA_ARGS__);                                                         \
        break;                                                                                     \
        CASE_INSN(function, __VA_ARGS__)                                                           \
    default:                                                                                       \
        function(NATIVE_BF16, __VA_ARGS__);                                                        \
    }

static void data(const struct depthwise_backward *call, int64_t begin, int64_t end)
{
    struct depthwise_backward b = *call; /* the compiler knows that no store changes it */
    if (b.conv.stride == 1)
        data_stride1(&b, begin, end);
    else
        EACH_KIND(b.kind, data_any, &b, begin, end)
}

#define CALL_WEIGHTS(kind, ...) weights_##kind(__VA_ARGS__)
static void weights(const struct depthwise_backward *b, int64_t begin, int64_t end, float *sums)
{
    EACH_KIND(b->kind, CALL_WEIGHTS, b, begin, end, sums)
}

static void finish(const struct depthwise_backward *call, const float *sums, int64_t threads,
                   int64_t apart, int64_t begin, int64_t end)
{
    EACH_KIND(call->kind, finish_kind, call, sums, threads, apart, begin, end)
}

static const struct depthwise_backward_body body = {DEPTHWISE_BLOCK, data, weights, finish};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return depthwise_backward_setup(problem, &body, state, err);
}

#define NATIVE_OP depthwise_conv2d_backward
NATIVE_KERNEL_STRUCT(setup, depthwise_backward_run, depthwise_backward_teardown);
