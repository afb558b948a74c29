/* dequantize_driver.c: the driver of the native dequantize kernels: choice of variant, split over
 * threads, loop. */
#include "kernel/native/quantize/quantize_native.h"

#include "base/alloc.h"

struct state {
    const struct dequantize_body *body;
    struct quantize_split split;
    dequantize_decode *decode;
    bool ranged, stream;
    int64_t run;
};

enum assay_status assay_dequantize_native_setup(const struct assay_problem *problem,
                                                const struct dequantize_body *body, void **state,
                                                struct assay_error *err)
{
    enum native_kind kind = quantize_kind_of(problem->dtype);
    enum quantize_format format = quantize_format_of(problem);
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    if (kind == NATIVE_BF16 && body->decode[NATIVE_BF16_INSN][format] &&
        assay_cpu_has(ASSAY_CPU_AVX512_BF16))
        kind = NATIVE_BF16_INSN;
    *s = (struct state){
        .body = body,
        .split = quantize_split_of(problem),
        .decode = body->decode[kind][format],
        .ranged = format == QUANTIZE_U4,
        .run = assay_quantize_run(problem),
    };
    bool lines = s->run * (int64_t)assay_dtype_bytes(problem->dtype) % 64 == 0;
    s->stream =
        (lines || s->split.whole) && quantize_wants_stream(&problem->outputs[0], s->split.threads);
    *state = s;
    return ASSAY_OK;
}

void assay_dequantize_native_teardown(void *state) { assay_free(state); }

static void run_share(const struct state *s, const struct assay_args *args, int32_t index)
{
    int64_t begin = quantize_share_begin(&s->split, index);
    int64_t end = quantize_share_begin(&s->split, index + 1);
    int64_t first = s->split.whole ? 0 : begin;
    struct quantize_runs runs = s->split.whole
                                    ? (struct quantize_runs){begin, end - begin, 1}
                                    : (struct quantize_runs){begin * s->run, s->run, end - begin};
    if (begin >= end)
        return;
    s->decode(args->in[0], runs, (const float *)args->in[1] + (s->ranged ? 2 * first : first),
              s->stream, args->out[0]);
    if (s->stream && s->body->stream_end)
        s->body->stream_end();
}

static void compute(const struct state *s, const struct assay_args *args)
{
    int32_t threads = s->split.threads;
    if (threads == 1) {
        run_share(s, args, 0);
        return;
    }
    /* The whole team, whatever the number of shares: a smaller one would cost the others their core
     * (native.h). */
#pragma omp parallel for schedule(static, 1)
    for (int32_t i = 0; i < threads; i++)
        run_share(s, args, i);
}

enum assay_status assay_dequantize_native_run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        compute(state, assay_work_args(work, i));
    return ASSAY_OK;
}
