/* quantize_driver.c: the driver of the native quantize kernels.
 *
 * Many runs: a thread takes a batch of them that fits in its L1 cache, finds the bounds of each,
 * turns them into scales, and makes the codes while the batch is still there. One run, of any
 * length: the threads find the bounds of their shares, wait for each other, and make the codes.
 *
 * Runs with NaN or infinity in them, or whose range does not fit in a float, go through the op's
 * own definition, element by element: kernels need not think of them. */
#include "kernel/native/quantize/quantize_native.h"

#include "base/alloc.h"

#include <float.h>

/* Elements at hand at once, and the runs they may be cut into (the shortest run is one element). */
enum { BATCH = 4096, BATCH_RUNS = 128 };

/* Bounds of one thread's share of the only run; a cache line each. */
struct bounds {
    int32_t low, high;
    int32_t padding[14];
};

struct state {
    const struct quantize_body *body;
    struct quantize_split split;
    enum assay_dtype dtype, format;
    quantize_measure *measure;
    quantize_encode *encode;
    bool ranged, stream;
    float most;         /* what the greatest magnitude becomes, see assay_quant_scale */
    int64_t run, batch; /* elements of a run, runs of a batch */
    int64_t element_bytes;
    struct bounds *bounds;
};

/* What is known of the runs at hand. */
struct batch {
    int32_t low[BATCH_RUNS], high[BATCH_RUNS];
    float scale[BATCH_RUNS], zero[BATCH_RUNS], inverse[BATCH_RUNS], lowest[BATCH_RUNS];
    int32_t odd[BATCH_RUNS]; /* runs that the definition must do; 0 or not */
    bool any_odd;
};

enum assay_status assay_quantize_native_setup(const struct assay_problem *problem,
                                              const struct quantize_body *body, void **state,
                                              struct assay_error *err)
{
    struct quantize_split split = quantize_split_of(problem);
    struct state *s = assay_calloc(1, sizeof *s);
    struct bounds *bounds = assay_calloc((size_t)split.threads, sizeof *bounds);
    if (!s || !bounds) {
        assay_free(s);
        assay_free(bounds);
        return assay_error_nomem(err);
    }
    enum native_kind kind = quantize_kind_of(problem->dtype);
    enum quantize_format format = quantize_format_of(problem);
    int64_t run = assay_quantize_run(problem), batch = BATCH / run;
    *s = (struct state){
        .body = body,
        .split = split,
        .dtype = problem->dtype,
        .format = assay_quantize_format(problem),
        .measure = body->measure[kind][format == QUANTIZE_U4],
        .encode = body->encode[kind][format],
        .ranged = format == QUANTIZE_U4,
        .most = format == QUANTIZE_S8     ? 127.5f
                : format == QUANTIZE_E4M3 ? 448.0f
                                          : 57344.0f,
        .stream = body->stream && quantize_wants_stream(&problem->outputs[0], split.threads),
        .run = run,
        .batch = batch < 1            ? 1
                 : batch < BATCH_RUNS ? batch
                                      : BATCH_RUNS,
        .element_bytes = (int64_t)assay_dtype_bytes(problem->dtype),
        .bounds = bounds,
    };
    *state = s;
    return ASSAY_OK;
}

void assay_quantize_native_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->bounds);
    assay_free(s);
}

/* ---- from bounds to scales ------------------------------------------------------------------- */

static inline float from_bits(enum assay_dtype dtype, uint32_t bits)
{
    return dtype == ASSAY_DTYPE_F32   ? assay_f32_from_bits(bits)
           : dtype == ASSAY_DTYPE_F16 ? assay_f16_to_f32((uint16_t)bits)
                                      : assay_bf16_to_f32((uint16_t)bits);
}

/* The bits that have this key. */
static inline uint32_t from_key(enum assay_dtype dtype, int32_t key)
{
    int32_t others = dtype == ASSAY_DTYPE_F32 ? 0x7fffffff : 0x7fff;
    return (uint32_t)(key ^ ((key >> 31) & others));
}

static inline int32_t not_finite(float value)
{
    return (assay_f32_bits(value) & 0x7f800000u) == 0x7f800000u;
}

/* Loops go over SIXTEEN runs at a time, filled up with whatever lies there: compilers then make
 * vectors of them. */
enum { SIXTEEN = 16 };
#define INLINE static inline __attribute__((always_inline)) /* dtype is then a constant */

INLINE void solve_ranges(enum assay_dtype dtype, struct batch *b, int64_t first)
{
    for (int64_t i = first; i < first + SIXTEEN; i++) {
        float least = from_bits(dtype, from_key(dtype, b->low[i]));
        float most = from_bits(dtype, from_key(dtype, b->high[i]));
        struct assay_quantize_step step = assay_quantize_range(least, most);
        b->scale[i] = step.scale;
        b->zero[i] = step.zero;
        b->inverse[i] = 1.0f / step.scale;
        b->lowest[i] = assay_quantize_low(step);
        b->odd[i] = not_finite(least) | not_finite(most) | not_finite(step.scale);
    }
}

/* assay_quant_scale, of many. */
INLINE void solve_symmetric(enum assay_dtype dtype, float most, struct batch *b, int64_t first)
{
    for (int64_t i = first; i < first + SIXTEEN; i++) {
        float amax = from_bits(dtype, (uint32_t)b->high[i]);
        float scale = amax / most, inverse = 1.0f / scale;
        bool too_small = inverse > FLT_MAX;
        b->scale[i] = too_small ? 1.0f : scale;
        b->inverse[i] = too_small ? 1.0f : inverse;
        b->odd[i] = not_finite(amax);
    }
}

static void solve_all(const struct state *s, int64_t n, struct batch *b)
{
    const enum assay_dtype f32 = ASSAY_DTYPE_F32, f16 = ASSAY_DTYPE_F16, bf16 = ASSAY_DTYPE_BF16;
    for (int64_t i = 0; i < n; i += SIXTEEN) {
        if (s->ranged && s->dtype == f32)
            solve_ranges(f32, b, i);
        else if (s->ranged && s->dtype == f16)
            solve_ranges(f16, b, i);
        else if (s->ranged)
            solve_ranges(bf16, b, i);
        else if (s->dtype == f32)
            solve_symmetric(f32, s->most, b, i);
        else if (s->dtype == f16)
            solve_symmetric(f16, s->most, b, i);
        else
            solve_symmetric(bf16, s->most, b, i);
    }
}

/* The scales of the runs at hand, from their bounds; where there is NaN or the like, from all of
 * their elements. */
static void solve(const struct state *s, const void *x, struct quantize_runs runs, float *scales,
                  struct batch *b)
{
    solve_all(s, runs.n, b);
    int32_t odd = 0;
    for (int64_t i = 0; i < runs.n; i++)
        odd |= b->odd[i];
    b->any_odd = odd != 0;
    for (int64_t i = 0; i < runs.n && b->any_odd; i++) {
        if (!b->odd[i])
            continue;
        struct assay_quantize_step step =
            assay_quantize_step_of(s->format, s->dtype, x, runs.at + i * runs.run, runs.run);
        b->scale[i] = step.scale;
        b->zero[i] = step.zero;
    }
    if (!s->ranged)
        memcpy(scales, b->scale, (size_t)runs.n * sizeof *scales);
    for (int64_t i = 0; i < runs.n && s->ranged; i++) {
        scales[2 * i] = b->scale[i];
        scales[2 * i + 1] = b->zero[i];
    }
}

/* ---- codes ----------------------------------------------------------------------------------- */

static int64_t code_bytes(const struct state *s, int64_t elements)
{
    return s->ranged ? elements / 2 : elements;
}

static void encode_odd(const struct state *s, const void *x, int64_t at, int64_t n,
                       struct assay_quantize_step step, uint8_t *to)
{
    enum { BLOCK = 256 };
    uint8_t codes[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t count = n - i < BLOCK ? n - i : BLOCK;
        assay_quantize_codes(s->format, step, s->dtype, x, at + i, count, codes);
        for (int64_t j = 0; j < count && s->ranged; j += 2)
            to[(i + j) / 2] = (uint8_t)(codes[j] | codes[j + 1] << 4);
        if (!s->ranged)
            memcpy(to + i, codes, (size_t)count);
    }
}

/* At most BATCH elements. */
static void encode_batch(const struct state *s, const void *x, struct quantize_runs runs,
                         const struct batch *b, int64_t ahead, uint8_t *codes)
{
    _Alignas(64) uint8_t buffer[BATCH];
    uint8_t *to = codes + code_bytes(s, runs.at), *made = s->stream ? buffer : to;
    struct quantize_factors factors = {b->scale, b->inverse, b->lowest};
    s->encode(x, runs, factors, ahead * s->element_bytes, made);
    for (int64_t i = 0; i < runs.n && b->any_odd; i++)
        if (b->odd[i])
            encode_odd(s, x, runs.at + i * runs.run, runs.run,
                       (struct assay_quantize_step){b->scale[i], b->zero[i]},
                       made + code_bytes(s, i * runs.run));
    if (s->stream)
        s->body->stream(to, made, code_bytes(s, runs.n * runs.run));
}

/* A piece of one run, of any length. Backwards, so that what was read last comes first: it may
 * still be in a cache. */
static void encode_piece(const struct state *s, const void *x, int64_t begin, int64_t end,
                         const struct batch *b, uint8_t *codes)
{
    int64_t chunks = (end - begin + BATCH - 1) / BATCH;
    for (int64_t i = chunks - 1; i >= 0; i--) {
        int64_t at = begin + i * BATCH, n = end - at < BATCH ? end - at : BATCH;
        encode_batch(s, x, (struct quantize_runs){at, n, 1}, b, -BATCH, codes);
    }
}

static void share_of_runs(const struct state *s, const struct assay_args *args, int64_t begin,
                          int64_t end)
{
    const void *x = args->in[0];
    struct batch b = {0};
    for (int64_t r = begin; r < end; r += s->batch) {
        struct quantize_runs runs = {r * s->run, s->run, end - r < s->batch ? end - r : s->batch};
        float *scales = (float *)args->out[1] + (s->ranged ? 2 * r : r);
        s->measure(x, runs, b.low, b.high);
        solve(s, x, runs, scales, &b);
        if (runs.run * runs.n <= BATCH)
            encode_batch(s, x, runs, &b, runs.run * runs.n, args->out[0]);
        else
            encode_piece(s, x, runs.at, runs.at + runs.run, &b, args->out[0]);
    }
    if (s->stream)
        s->body->stream_end();
}

/* ---- one run, all threads -------------------------------------------------------------------- */

static void measure_share(const struct state *s, const struct assay_args *args, int32_t index)
{
    int64_t begin = quantize_share_begin(&s->split, index);
    int64_t end = quantize_share_begin(&s->split, index + 1);
    struct bounds *b = &s->bounds[index];
    *b = (struct bounds){.low = INT32_MAX, .high = INT32_MIN};
    if (begin < end)
        s->measure(args->in[0], (struct quantize_runs){begin, end - begin, 1}, &b->low, &b->high);
}

/* Every thread works out the scale for itself. */
static void encode_share(const struct state *s, const struct assay_args *args, int32_t index)
{
    struct batch b = {.low = {INT32_MAX}, .high = {INT32_MIN}};
    struct quantize_runs all = {0, s->run, 1};
    float own[2];
    for (int32_t i = 0; i < s->split.threads; i++) {
        b.low[0] = s->bounds[i].low < b.low[0] ? s->bounds[i].low : b.low[0];
        b.high[0] = s->bounds[i].high > b.high[0] ? s->bounds[i].high : b.high[0];
    }
    float *scales = index == 0 ? args->out[1] : own;
    solve(s, args->in[0], all, scales, &b);
    encode_piece(s, args->in[0], quantize_share_begin(&s->split, index),
                 quantize_share_begin(&s->split, index + 1), &b, args->out[0]);
    if (s->stream)
        s->body->stream_end();
}

static void compute(const struct state *s, const struct assay_args *args)
{
    int32_t threads = s->split.threads;
    if (threads == 1 && !s->split.whole) {
        share_of_runs(s, args, 0, s->split.units);
    } else if (threads == 1) {
        measure_share(s, args, 0);
        encode_share(s, args, 0);
    } else if (!s->split.whole) {
        /* The whole team, whatever the number of shares: a smaller one would cost the others their
         * core (native.h). */
#pragma omp parallel for schedule(static, 1)
        for (int32_t i = 0; i < threads; i++)
            share_of_runs(s, args, quantize_share_begin(&s->split, i),
                          quantize_share_begin(&s->split, i + 1));
    } else {
#pragma omp parallel
        {
#pragma omp for schedule(static, 1)
            for (int32_t i = 0; i < threads; i++)
                measure_share(s, args, i);
#pragma omp for schedule(static, 1)
            for (int32_t i = 0; i < threads; i++)
                encode_share(s, args, i);
        }
    }
}

enum assay_status assay_quantize_native_run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        compute(state, assay_work_args(work, i));
    return ASSAY_OK;
}
