/* depthwise_conv2d_backward_driver.c: sums of the threads, and the split of lines over them. */
#include "kernel/native/image/depthwise_conv2d_backward_native.h"

#include "base/alloc.h"
#include "base/math.h"

#include <string.h>

/* Lines at a time, of x or of dY, whichever has more: with those above and below, of usual widths
 * and channels, they stay in an L2 cache. */
enum { LINES = 4 };

/* A thread is worth waking for this many elements (native.c). */
enum { SHARE_MIN = 16384 };

struct state {
    const struct depthwise_backward_body *body;
    struct depthwise_backward call; /* of each call, what stays the same */
    size_t element;
    bool bias;
    int32_t threads, busy; /* of the team; those that have lines */
    int64_t taps, apart;   /* with dbias; floats from one thread's sums to the next */
    float *sums;
    unsigned char *turned;
};

enum assay_status depthwise_backward_setup(const struct assay_problem *problem,
                                           const struct depthwise_backward_body *body, void **state,
                                           struct assay_error *err)
{
    struct assay_conv c = assay_conv_of(problem);
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    int64_t elements = assay_tensor_count(&problem->outputs[ASSAY_CONV_DX]);
    *s = (struct state){
        .body = body,
        .call = {.conv = c,
                 .kind = assay_native_kind(problem->dtype, assay_cpu_has(ASSAY_CPU_AVX512_BF16)),
                 .padded = assay_round_up(c.in, body->block)},
        .element = assay_dtype_bytes(problem->dtype),
        .bias = problem->n_outputs > ASSAY_CONV_DBIAS,
        .threads = problem->threads,
        .busy = (int32_t)assay_min(problem->threads, assay_max(elements / SHARE_MIN, 1)),
        .taps = c.kernel * c.kernel + 1,
    };
    s->call.stream = assay_native_wants_stream((size_t)(elements / s->busy) * s->element);
    s->apart = assay_round_up(s->taps * s->call.padded, 16) + 16; /* no line is shared */
    s->sums = assay_calloc((size_t)(s->busy * s->apart), sizeof *s->sums);
    s->turned = assay_calloc((size_t)(c.kernel * c.kernel * c.in), s->element);
    if (!s->sums || !s->turned) {
        depthwise_backward_teardown(s);
        return assay_error_nomem(err);
    }
    *state = s;
    return ASSAY_OK;
}

void depthwise_backward_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->sums);
    assay_free(s->turned);
    assay_free(s);
}

static void turn(const struct state *s, const unsigned char *w)
{
    int64_t taps = s->taps - 1;
    size_t bytes = (size_t)s->call.conv.in * s->element;
    for (int64_t tap = 0; tap < taps; tap++)
        memcpy(s->turned + (size_t)tap * bytes, w + (size_t)(taps - 1 - tap) * bytes, bytes);
}

/* A thread's lines of x and of dY, side by side. */
static void run_share(const struct state *s, const struct depthwise_backward *d, int64_t thread)
{
    const struct assay_conv *c = &d->conv;
    int64_t x = c->batch * c->height, y = c->batch * c->out_height;
    int64_t x_begin = x * thread / s->busy, x_lines = x * (thread + 1) / s->busy - x_begin;
    int64_t y_begin = y * thread / s->busy, y_lines = y * (thread + 1) / s->busy - y_begin;
    int64_t steps = assay_ceil_div(assay_max(x_lines, y_lines), LINES);
    float *sums = s->sums + thread * s->apart;
    memset(sums, 0, (size_t)(s->taps * d->padded) * sizeof *sums);
    for (int64_t i = 0; i < steps; i++) {
        s->body->data(d, x_begin + x_lines * i / steps, x_begin + x_lines * (i + 1) / steps);
        s->body->weights(d, y_begin + y_lines * i / steps, y_begin + y_lines * (i + 1) / steps,
                         sums);
    }
}

static void finish_share(const struct state *s, const struct depthwise_backward *d, int64_t thread)
{
    int64_t blocks = d->padded / s->body->block;
    int64_t begin = blocks * thread / s->busy * s->body->block;
    int64_t end = assay_min(blocks * (thread + 1) / s->busy * s->body->block, d->conv.in);
    if (begin < end)
        s->body->finish(d, s->sums, s->busy, s->apart, begin, end);
}

enum assay_status depthwise_backward_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        struct depthwise_backward d = s->call;
        d.dy = args->in[ASSAY_CONV_BACKWARD_DY];
        d.x = args->in[ASSAY_CONV_BACKWARD_X];
        d.w = args->in[ASSAY_CONV_BACKWARD_W];
        d.turned = s->turned;
        d.dx = args->out[ASSAY_CONV_DX];
        d.dw = args->out[ASSAY_CONV_DW];
        d.dbias = s->bias ? args->out[ASSAY_CONV_DBIAS] : NULL;
        turn(s, d.w);
#pragma omp parallel num_threads(s->threads)
        {
#pragma omp for schedule(static, 1)
            for (int32_t t = 0; t < s->busy; t++)
                run_share(s, &d, t);
#pragma omp for schedule(static, 1)
            for (int32_t t = 0; t < s->busy; t++)
                finish_share(s, &d, t);
        }
    }
    return ASSAY_OK;
}
