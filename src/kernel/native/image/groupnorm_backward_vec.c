/* groupnorm_backward_vec.c: the two passes of groupnorm_backward over a unit
 * (groupnorm_backward_native.h). Some neighbouring pixels go at a time, so that what belongs to a
 * channel is loaded once for all of them. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/groupnorm_backward_native.h"
#include "kernel/native/vec/vec_math.h"

/* A float lane sums GROUPGRAD_FLOATS pixels at the most. */
enum { GROUPGRAD_PIXELS = 4, GROUPGRAD_FLOATS = 256 };

/* `whole`, a constant: all lanes. */
VEC_INLINE vec groupgrad_load(enum native_kind kind, bool whole, const void *x, int64_t at,
                              int64_t n)
{
    return whole ? vec_load(kind, x, at) : vec_load_part(kind, x, at, n);
}

VEC_INLINE void groupgrad_store(enum native_kind kind, bool whole, void *x, int64_t at, vec y,
                                int64_t n)
{
    if (whole)
        vec_store(kind, x, at, y);
    else
        vec_store_part(kind, x, at, y, n);
}

/* What belongs to the channels of a vector. */
struct groupgrad_lanes {
    vec mean, scale, beta, slope, offset;
};

VEC_INLINE struct groupgrad_lanes groupgrad_lanes(bool silu, bool whole, bool apply,
                                                  const struct groupgrad_channels *from, int64_t c,
                                                  int64_t n)
{
    struct groupgrad_lanes l;
    l.mean = l.scale = l.beta = groupgrad_load(NATIVE_F32, whole, from->mean, c, n);
    l.slope = l.offset = l.mean;
    if (silu || apply)
        l.scale = groupgrad_load(NATIVE_F32, whole, from->scale, c, n);
    if (silu)
        l.beta = groupgrad_load(NATIVE_F32, whole, from->beta, c, n);
    if (apply) {
        l.slope = groupgrad_load(NATIVE_F32, whole, from->slope, c, n);
        l.offset = groupgrad_load(NATIVE_F32, whole, from->offset, c, n);
    }
    return l;
}

struct groupgrad_element {
    vec dz, off; /* x - mean */
};

VEC_INLINE struct groupgrad_element groupgrad_element(enum native_kind kind, bool silu, bool whole,
                                                      const struct assay_args *args, int64_t at,
                                                      int64_t n, const struct groupgrad_lanes *l)
{
    vec dy = groupgrad_load(kind, whole, args->in[ASSAY_GROUPNORM_DY], at, n);
    vec x = groupgrad_load(kind, whole, args->in[ASSAY_GROUPNORM_OF_X], at, n);
    struct groupgrad_element e = {dy, vec_sub(x, l->mean)};
    if (silu)
        e.dz = vec_mul(dy, vec_silu_slope(vec_fma(e.off, l->scale, l->beta)));
    return e;
}

/* ---- sums ------------------------------------------------------------------------------------ */

VEC_INLINE void groupgrad_sum_step(enum native_kind kind, bool silu, bool whole, int pixels,
                                   const struct assay_args *args, int64_t channels, int64_t pixel,
                                   int64_t c, int64_t n, const struct groupgrad_channels *from,
                                   float *scratch)
{
    struct groupgrad_lanes l = groupgrad_lanes(silu, whole, false, from, c, n);
    vec sum = groupgrad_load(NATIVE_F32, whole, scratch, c, n);
    vec off = groupgrad_load(NATIVE_F32, whole, scratch, channels + c, n);
    for (int r = 0; r < pixels; r++) {
        struct groupgrad_element e =
            groupgrad_element(kind, silu, whole, args, (pixel + r) * channels + c, n, &l);
        sum = vec_add(sum, e.dz);
        off = vec_fma(e.dz, e.off, off);
    }
    groupgrad_store(NATIVE_F32, whole, scratch, c, sum, n);
    groupgrad_store(NATIVE_F32, whole, scratch, channels + c, off, n);
}

VEC_INLINE void groupgrad_sum_pixels(enum native_kind kind, bool silu, int pixels,
                                     const struct assay_args *args, int64_t channels, int64_t pixel,
                                     const struct groupgrad_channels *from, float *scratch)
{
    int64_t c = 0;
    for (; c + VEC_LANES <= channels; c += VEC_LANES)
        groupgrad_sum_step(kind, silu, true, pixels, args, channels, pixel, c, VEC_LANES, from,
                           scratch);
    if (c < channels)
        groupgrad_sum_step(kind, silu, false, pixels, args, channels, pixel, c, channels - c, from,
                           scratch);
}

VEC_INLINE void groupgrad_sums(enum native_kind kind, bool silu, const struct assay_args *args,
                               int64_t channels, struct groupgrad_unit unit,
                               const struct groupgrad_channels *from, float *scratch, double *out)
{
    for (int64_t pixel = unit.begin; pixel < unit.end;) {
        int64_t stop = unit.end - pixel < GROUPGRAD_FLOATS ? unit.end : pixel + GROUPGRAD_FLOATS;
        for (int64_t i = 0; i < 2 * channels; i++)
            scratch[i] = 0;
        for (; pixel + GROUPGRAD_PIXELS <= stop; pixel += GROUPGRAD_PIXELS)
            groupgrad_sum_pixels(kind, silu, GROUPGRAD_PIXELS, args, channels, pixel, from,
                                 scratch);
        for (; pixel < stop; pixel++)
            groupgrad_sum_pixels(kind, silu, 1, args, channels, pixel, from, scratch);
        for (int64_t i = 0; i < 2 * channels; i++)
            out[i] += (double)scratch[i];
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

VEC_INLINE void groupgrad_apply_step(enum native_kind kind, bool silu, bool whole, int pixels,
                                     const struct assay_args *args, int64_t channels, int64_t pixel,
                                     int64_t c, int64_t n, const struct groupgrad_channels *from)
{
    struct groupgrad_lanes l = groupgrad_lanes(silu, whole, true, from, c, n);
    for (int r = 0; r < pixels; r++) {
        int64_t at = (pixel + r) * channels + c;
        struct groupgrad_element e = groupgrad_element(kind, silu, whole, args, at, n, &l);
        vec dx = vec_fma(e.dz, l.scale, vec_fma(e.off, l.slope, l.offset));
        groupgrad_store(kind, whole, args->out[0], at, dx, n);
    }
}

VEC_INLINE void groupgrad_apply_pixels(enum native_kind kind, bool silu, int pixels,
                                       const struct assay_args *args, int64_t channels,
                                       int64_t pixel, const struct groupgrad_channels *from)
{
    int64_t c = 0;
    for (; c + VEC_LANES <= channels; c += VEC_LANES)
        groupgrad_apply_step(kind, silu, true, pixels, args, channels, pixel, c, VEC_LANES, from);
    if (c < channels)
        groupgrad_apply_step(kind, silu, false, pixels, args, channels, pixel, c, channels - c,
                             from);
}

/* The last pixels first: they are what the caches still have. */
VEC_INLINE void groupgrad_apply(enum native_kind kind, bool silu, const struct assay_args *args,
                                int64_t channels, struct groupgrad_unit unit,
                                const struct groupgrad_channels *from)
{
    int64_t pixel = unit.end;
    for (; pixel - GROUPGRAD_PIXELS >= unit.begin; pixel -= GROUPGRAD_PIXELS)
        groupgrad_apply_pixels(kind, silu, GROUPGRAD_PIXELS, args, channels,
                               pixel - GROUPGRAD_PIXELS, from);
    for (; pixel > unit.begin; pixel--)
        groupgrad_apply_pixels(kind, silu, 1, args, channels, pixel - 1, from);
}

/* ---- vectors --------------------------------------------------------------------------------- */

VEC_INLINE void groupgrad_convert(enum native_kind from_kind, const void *from, int64_t n,
                                  enum native_kind to_kind, void *to)
{
    for (int64_t i = 0; i < n; i += VEC_LANES) {
        int64_t count = n - i < VEC_LANES ? n - i : VEC_LANES;
        vec_store_part(to_kind, to, i, vec_load_part(from_kind, from, i, count), count);
    }
}

/* ---- the kernel ------------------------------------------------------------------------------ */

#define GROUPGRAD_PASSES(kind, silu, suffix)                                                       \
    static void NATIVE_PASTE(sums, suffix)(                                                        \
        const struct assay_args *args, int64_t channels, struct groupgrad_unit unit,               \
        const struct groupgrad_channels *from, float *scratch, double *out)                        \
    {                                                                                              \
        groupgrad_sums(kind, silu, args, channels, unit, from, scratch, out);                      \
    }                                                                                              \
    static void NATIVE_PASTE(apply, suffix)(const struct assay_args *args, int64_t channels,       \
                                            struct groupgrad_unit unit,                            \
                                            const struct groupgrad_channels *from)                 \
    {                                                                                              \
        groupgrad_apply(kind, silu, args, channels, unit, from);                                   \
    }

#define GROUPGRAD_VARIANT(kind, suffix)                                                            \
    GROUPGRAD_PASSES(kind, false, suffix)                                                          \
    GROUPGRAD_PASSES(kind, true, NATIVE_PASTE(silu, suffix))                                       \
    static void NATIVE_PASTE(load, suffix)(const void *from, int64_t n, float *to)                 \
    {                                                                                              \
        groupgrad_convert(kind, from, n, NATIVE_F32, to);                                          \
    }                                                                                              \
    static void NATIVE_PASTE(store, suffix)(const float *from, int64_t n, void *to)                \
    {                                                                                              \
        groupgrad_convert(NATIVE_F32, from, n, kind, to);                                          \
    }

GROUPGRAD_VARIANT(NATIVE_F32, f32)
GROUPGRAD_VARIANT(NATIVE_F16, f16)
GROUPGRAD_VARIANT(NATIVE_BF16, bf16)
#ifdef VEC_HAS_BF16_INSN
GROUPGRAD_VARIANT(NATIVE_BF16_INSN, bf16_insn)
#endif

static const struct groupgrad_body groupgrad_body = {
    .sums = {[NATIVE_F32] = {sums_f32, sums_silu_f32},
             [NATIVE_F16] = {sums_f16, sums_silu_f16},
             [NATIVE_BF16] = {sums_bf16, sums_silu_bf16},
#ifdef VEC_HAS_BF16_INSN
             [NATIVE_BF16_INSN] = {sums_bf16_insn, sums_silu_bf16_insn}
#endif
    },
    .apply = {[NATIVE_F32] = {apply_f32, apply_silu_f32},
              [NATIVE_F16] = {apply_f16, apply_silu_f16},
              [NATIVE_BF16] = {apply_bf16, apply_silu_bf16},
#ifdef VEC_HAS_BF16_INSN
              [NATIVE_BF16_INSN] = {apply_bf16_insn, apply_silu_bf16_insn}
#endif
    },
    .load = {[NATIVE_F32] = load_f32,
             [NATIVE_F16] = load_f16,
             [NATIVE_BF16] = load_bf16,
#ifdef VEC_HAS_BF16_INSN
             [NATIVE_BF16_INSN] = load_bf16_insn
#endif
    },
    .store = {[NATIVE_F32] = store_f32,
              [NATIVE_F16] = store_f16,
              [NATIVE_BF16] = store_bf16,
#ifdef VEC_HAS_BF16_INSN
              [NATIVE_BF16_INSN] = store_bf16_insn
#endif
    },
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_groupgrad_setup(problem, &groupgrad_body, state, err);
}

#define NATIVE_OP groupnorm_backward
NATIVE_KERNEL_STRUCT(setup, assay_groupgrad_run, assay_groupgrad_teardown);
