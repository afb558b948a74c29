/* groupnorm_vec.c: the two passes of groupnorm over a unit (groupnorm_native.h): sums over its
 * pixels for each channel, in float lanes that are emptied into doubles now and then; and the
 * outputs. Some neighbouring pixels go at a time, so that what belongs to a channel is loaded once
 * for all of them. */
#include "kernel/native/vec/vec.h"

#include "kernel/native/image/groupnorm_native.h"
#include "kernel/native/rows/norm_row.h"
#include "kernel/native/vec/vec_math.h"

/* A float lane sums GROUPNORM_FLOATS pixels at the most. */
enum { GROUPNORM_BLOCK = 2 * VEC_LANES, GROUPNORM_PIXELS = 8, GROUPNORM_FLOATS = 256 };

VEC_INLINE int64_t groupnorm_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A pair of a kind may hold its elements in any order: numbers, loaded as a pair, tell. */
VEC_INLINE void groupnorm_lanes_of(enum native_kind kind, int32_t *lane_of)
{
    float numbers[GROUPNORM_BLOCK], lanes[GROUPNORM_BLOCK];
    for (int i = 0; i < GROUPNORM_BLOCK; i += VEC_LANES) {
        for (int k = 0; k < VEC_LANES; k++)
            lanes[i + k] = (float)(i + k);
        vec_store(kind, numbers, i, vec_load(NATIVE_F32, lanes, i));
    }
    vec_store_pair(NATIVE_F32, false, lanes, 0, vec_load_pair(kind, numbers, 0));
    for (int i = 0; i < GROUPNORM_BLOCK; i++)
        lane_of[(int)lanes[i]] = i;
}

static void groupnorm_lanes(enum native_kind kind, int32_t *lane_of)
{
    if (kind == NATIVE_F32)
        groupnorm_lanes_of(NATIVE_F32, lane_of);
    else if (kind == NATIVE_F16)
        groupnorm_lanes_of(NATIVE_F16, lane_of);
    else
        groupnorm_lanes_of(NATIVE_BF16, lane_of);
}

/* A block of channels, of which n count; `whole`, a constant: all of them. Otherwise the order is
 * that of memory, and the lanes beyond n are 0. */
VEC_INLINE struct vec_pair groupnorm_load(enum native_kind kind, bool whole, const void *x,
                                          int64_t at, int64_t n)
{
    if (whole)
        return vec_load_pair(kind, x, at);
    struct vec_pair p = {vec_load_part(kind, x, at, groupnorm_least(n, VEC_LANES)), vec_set(0.0f)};
    if (n > VEC_LANES)
        p.b = vec_load_part(kind, x, at + VEC_LANES, n - VEC_LANES);
    return p;
}

VEC_INLINE void groupnorm_store(enum native_kind kind, bool stream, bool whole, void *out,
                                int64_t at, int64_t n, struct vec_pair p)
{
    if (whole) {
        vec_store_pair(kind, stream, out, at, p);
        return;
    }
    vec_store_part(kind, out, at, p.a, groupnorm_least(n, VEC_LANES));
    if (n > VEC_LANES)
        vec_store_part(kind, out, at + VEC_LANES, p.b, n - VEC_LANES);
}

/* Floats of the scratch memory, a block from lane `c` on. */
VEC_INLINE struct vec_pair groupnorm_get(const float *floats, int64_t c)
{
    return vec_load_pair(NATIVE_F32, floats, c);
}

VEC_INLINE void groupnorm_put(float *floats, int64_t c, struct vec_pair p)
{
    vec_store_pair(NATIVE_F32, false, floats, c, p);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* What a thread's scratch memory holds in this pass. */
struct groupnorm_lanes_sums {
    float *sum, *square;
    const float *shift;
};

/* Adds block `c` of `pixels` (a constant) pixels from element `at` of x on. `shifted` is a
 * constant. */
VEC_INLINE void groupnorm_add(enum native_kind kind, bool whole, bool shifted, int pixels,
                              const struct groupnorm_job *job, const void *x, int64_t at, int64_t c,
                              struct groupnorm_lanes_sums lanes)
{
    struct vec_pair sum = groupnorm_get(lanes.sum, c), square = groupnorm_get(lanes.square, c);
    struct vec_pair shift = shifted ? groupnorm_get(lanes.shift, c) : sum;
    int64_t ahead = GROUPNORM_PIXELS * job->channels * (kind == NATIVE_F32 ? 4 : 2);
    for (int r = 0; r < pixels; r++, at += job->channels) {
        if (whole)
            vec_prefetch_far(kind, x, at, ahead);
        struct vec_pair p = groupnorm_load(kind, whole, x, at, job->width - c);
        if (shifted)
            p = (struct vec_pair){vec_sub(p.a, shift.a), vec_sub(p.b, shift.b)};
        norm_add(true, p.a, &sum.a, &square.a);
        norm_add(true, p.b, &sum.b, &square.b);
    }
    groupnorm_put(lanes.sum, c, sum);
    groupnorm_put(lanes.square, c, square);
}

VEC_INLINE void groupnorm_add_pixels(enum native_kind kind, bool shifted, int pixels,
                                     const struct groupnorm_job *job, const void *x, int64_t at,
                                     struct groupnorm_lanes_sums lanes)
{
    int64_t c = 0;
    for (; c + GROUPNORM_BLOCK <= job->width; c += GROUPNORM_BLOCK)
        groupnorm_add(kind, true, shifted, pixels, job, x, at + c, c, lanes);
    if (c < job->width)
        groupnorm_add(kind, false, shifted, pixels, job, x, at + c, c, lanes);
}

/* Moves the lanes' sums to their groups. */
static inline void groupnorm_empty(const struct groupnorm_job *job,
                                   struct groupnorm_lanes_sums lanes, struct groupnorm_sums *out)
{
    for (int64_t i = 0; i < job->padded; i++) {
        if (job->group[i] >= 0) {
            out[job->group[i]].sum += (double)lanes.sum[i];
            out[job->group[i]].square += (double)lanes.square[i];
        }
        lanes.sum[i] = lanes.square[i] = 0;
    }
}

/* Where the element of pixel 0, the unit's first channel is. */
VEC_INLINE int64_t groupnorm_start(const struct groupnorm_job *job,
                                   const struct groupnorm_unit *unit)
{
    return unit->image * job->pixels * job->channels + unit->slice * job->width;
}

/* The way out for groups whose sums do not fit in a float, and those with NaN or infinity. */
static __attribute__((noinline)) struct groupnorm_sums
groupnorm_sums_double(enum native_kind kind, const struct groupnorm_job *job, const void *x,
                      const struct groupnorm_unit *unit, int64_t group, double shift)
{
    struct groupnorm_sums sums = {0};
    int64_t n = job->width / job->groups, at = groupnorm_start(job, unit) + group * n;
    for (int64_t pixel = unit->begin; pixel < unit->end; pixel++)
        for (int64_t c = 0; c < n; c++) {
            double d = norm_element(kind, x, at + pixel * job->channels + c) - shift;
            sums.sum += d;
            sums.square += d * d;
        }
    return sums;
}

VEC_INLINE void groupnorm_sums_of(enum native_kind kind, bool shifted,
                                  const struct groupnorm_job *job, const void *x,
                                  const struct groupnorm_unit *unit, const float *shift,
                                  float *scratch, struct groupnorm_sums *out)
{
    float *lane_shift = scratch + 2 * job->padded;
    struct groupnorm_lanes_sums lanes = {scratch, scratch + job->padded, lane_shift};
    for (int64_t i = 0; i < job->padded; i++) {
        lanes.sum[i] = lanes.square[i] = 0;
        lane_shift[i] = shifted && job->group[i] >= 0 ? shift[job->group[i]] : 0;
    }
    for (int64_t g = 0; g < job->groups; g++)
        out[g] = (struct groupnorm_sums){0};
    int64_t at = groupnorm_start(job, unit), pixel = unit->begin;
    while (pixel < unit->end) {
        int64_t stop = groupnorm_least(unit->end, pixel + GROUPNORM_FLOATS);
        for (; pixel + GROUPNORM_PIXELS <= stop; pixel += GROUPNORM_PIXELS)
            groupnorm_add_pixels(kind, shifted, GROUPNORM_PIXELS, job, x,
                                 at + pixel * job->channels, lanes);
        for (; pixel < stop; pixel++)
            groupnorm_add_pixels(kind, shifted, 1, job, x, at + pixel * job->channels, lanes);
        groupnorm_empty(job, lanes, out);
    }
    for (int64_t g = 0; g < job->groups; g++)
        if (!(fabs(out[g].sum) + out[g].square <= DBL_MAX))
            out[g] = groupnorm_sums_double(kind, job, x, unit, g, shifted ? (double)shift[g] : 0);
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* What a thread's scratch memory holds in this pass. */
struct groupnorm_lanes_norms {
    float *shift, *scale, *gamma, *beta; /* (x - shift) * scale * gamma + beta */
};

VEC_INLINE void groupnorm_weights(enum native_kind kind, bool whole, const struct assay_args *args,
                                  int64_t at, int64_t c, int64_t n,
                                  struct groupnorm_lanes_norms lanes)
{
    struct vec_pair gamma = groupnorm_load(kind, whole, args->in[1], at, n);
    struct vec_pair beta = groupnorm_load(kind, whole, args->in[2], at, n);
    struct vec_pair offset = groupnorm_get(lanes.beta, c);
    beta =
        (struct vec_pair){vec_fma(offset.a, gamma.a, beta.a), vec_fma(offset.b, gamma.b, beta.b)};
    groupnorm_put(lanes.gamma, c, gamma);
    groupnorm_put(lanes.beta, c, beta);
}

VEC_INLINE void groupnorm_lanes_fill(enum native_kind kind, const struct groupnorm_job *job,
                                     const struct assay_args *args,
                                     const struct groupnorm_unit *unit,
                                     const struct groupnorm_norm *norms,
                                     struct groupnorm_lanes_norms lanes)
{
    for (int64_t i = 0; i < job->padded; i++) {
        struct groupnorm_norm norm = {0};
        if (job->group[i] >= 0)
            norm = norms[job->group[i]];
        lanes.shift[i] = norm.shift;
        lanes.scale[i] = norm.scale;
        lanes.beta[i] = norm.offset;
    }
    int64_t first = unit->slice * job->width, c = 0;
    for (; c + GROUPNORM_BLOCK <= job->width; c += GROUPNORM_BLOCK)
        groupnorm_weights(kind, true, args, first + c, c, GROUPNORM_BLOCK, lanes);
    if (c < job->width)
        groupnorm_weights(kind, false, args, first + c, c, job->width - c, lanes);
}

VEC_INLINE vec groupnorm_apply_vec(bool silu, vec x, vec shift, vec scale, vec gamma, vec beta)
{
    vec y = vec_fma(vec_mul(vec_sub(x, shift), scale), gamma, beta);
    return silu ? vec_silu(y) : y;
}

VEC_INLINE void groupnorm_apply_block(enum native_kind kind, bool stream, bool silu, bool whole,
                                      int pixels, const struct groupnorm_job *job, const void *x,
                                      void *out, int64_t at, int64_t c,
                                      struct groupnorm_lanes_norms lanes)
{
    struct vec_pair shift = groupnorm_get(lanes.shift, c), scale = groupnorm_get(lanes.scale, c);
    struct vec_pair gamma = groupnorm_get(lanes.gamma, c), beta = groupnorm_get(lanes.beta, c);
    for (int r = 0; r < pixels; r++, at += job->channels) {
        struct vec_pair p = groupnorm_load(kind, whole, x, at, job->width - c);
        p.a = groupnorm_apply_vec(silu, p.a, shift.a, scale.a, gamma.a, beta.a);
        p.b = groupnorm_apply_vec(silu, p.b, shift.b, scale.b, gamma.b, beta.b);
        groupnorm_store(kind, stream, whole, out, at, job->width - c, p);
    }
}

VEC_INLINE void groupnorm_apply_pixels(enum native_kind kind, bool stream, bool silu, int pixels,
                                       const struct groupnorm_job *job, const void *x, void *out,
                                       int64_t at, struct groupnorm_lanes_norms lanes)
{
    int64_t c = 0;
    for (; c + GROUPNORM_BLOCK <= job->width; c += GROUPNORM_BLOCK)
        groupnorm_apply_block(kind, stream, silu, true, pixels, job, x, out, at + c, c, lanes);
    if (c < job->width)
        groupnorm_apply_block(kind, false, silu, false, pixels, job, x, out, at + c, c, lanes);
}

/* The last pixels first: they are what the caches still have. */
VEC_INLINE void groupnorm_apply_mode(enum native_kind kind, bool stream, bool silu,
                                     const struct groupnorm_job *job, const struct assay_args *args,
                                     const struct groupnorm_unit *unit,
                                     struct groupnorm_lanes_norms lanes)
{
    const void *x = args->in[0];
    void *out = args->out[0];
    int64_t at = groupnorm_start(job, unit), pixel = unit->end;
    for (; pixel - GROUPNORM_PIXELS >= unit->begin; pixel -= GROUPNORM_PIXELS)
        groupnorm_apply_pixels(kind, stream, silu, GROUPNORM_PIXELS, job, x, out,
                               at + (pixel - GROUPNORM_PIXELS) * job->channels, lanes);
    for (; pixel > unit->begin; pixel--)
        groupnorm_apply_pixels(kind, stream, silu, 1, job, x, out, at + (pixel - 1) * job->channels,
                               lanes);
}

VEC_INLINE void groupnorm_apply(enum native_kind kind, bool stream, const struct groupnorm_job *job,
                                const struct assay_args *args, const struct groupnorm_unit *unit,
                                const struct groupnorm_norm *norms, float *scratch)
{
    struct groupnorm_lanes_norms lanes = {scratch, scratch + job->padded, scratch + 2 * job->padded,
                                          scratch + 3 * job->padded};
    groupnorm_lanes_fill(kind, job, args, unit, norms, lanes);
    if (job->silu)
        groupnorm_apply_mode(kind, stream, true, job, args, unit, lanes);
    else
        groupnorm_apply_mode(kind, stream, false, job, args, unit, lanes);
    if (stream)
        vec_stream_end();
}

/* ---- the kernel ------------------------------------------------------------------------------ */

#define GROUPNORM_VARIANT(kind, suffix)                                                            \
    static void NATIVE_PASTE(sums, suffix)(const struct groupnorm_job *job, const void *x,         \
                                           const struct groupnorm_unit *unit, const float *shift,  \
                                           float *scratch, struct groupnorm_sums *out)             \
    {                                                                                              \
        if (shift)                                                                                 \
            groupnorm_sums_of(kind, true, job, x, unit, shift, scratch, out);                      \
        else                                                                                       \
            groupnorm_sums_of(kind, false, job, x, unit, shift, scratch, out);                     \
    }                                                                                              \
    static void NATIVE_PASTE(apply, suffix)(                                                       \
        const struct groupnorm_job *job, const struct assay_args *args,                            \
        const struct groupnorm_unit *unit, const struct groupnorm_norm *norms, float *scratch)     \
    {                                                                                              \
        groupnorm_apply(kind, false, job, args, unit, norms, scratch);                             \
    }                                                                                              \
    static void NATIVE_PASTE(apply_stream, suffix)(                                                \
        const struct groupnorm_job *job, const struct assay_args *args,                            \
        const struct groupnorm_unit *unit, const struct groupnorm_norm *norms, float *scratch)     \
    {                                                                                              \
        groupnorm_apply(kind, true, job, args, unit, norms, scratch);                              \
    }

GROUPNORM_VARIANT(NATIVE_F32, f32)
GROUPNORM_VARIANT(NATIVE_F16, f16)
GROUPNORM_VARIANT(NATIVE_BF16, bf16)
#ifdef VEC_HAS_BF16_INSN
GROUPNORM_VARIANT(NATIVE_BF16_INSN, bf16_insn)
#endif

static const struct groupnorm_body groupnorm_body = {
    .block = GROUPNORM_BLOCK,
    .lanes = groupnorm_lanes,
    .sums = {[NATIVE_F32] = sums_f32,
             [NATIVE_F16] = sums_f16,
             [NATIVE_BF16] = sums_bf16,
#ifdef VEC_HAS_BF16_INSN
             [NATIVE_BF16_INSN] = sums_bf16_insn
#endif
    },
    .apply = {[NATIVE_F32] = {apply_f32, apply_stream_f32},
              [NATIVE_F16] = {apply_f16, apply_stream_f16},
              [NATIVE_BF16] = {apply_bf16, apply_stream_bf16},
#ifdef VEC_HAS_BF16_INSN
              [NATIVE_BF16_INSN] = {apply_bf16_insn, apply_stream_bf16_insn}
#endif
    },
};

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    return assay_groupnorm_setup(problem, &groupnorm_body, state, err);
}

#define NATIVE_OP groupnorm
NATIVE_KERNEL_STRUCT(setup, assay_groupnorm_run, assay_groupnorm_teardown);

#undef NATIVE_OP
#define NATIVE_OP groupnorm_training
NATIVE_KERNEL_STRUCT_MORE(setup, assay_groupnorm_run, assay_groupnorm_teardown);
