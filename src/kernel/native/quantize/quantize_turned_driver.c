/* quantize_turned_driver.c: threads share the columns of x, in both passes alike: what a thread
 * read for its scales is still in its cache where it fits. */
#include "kernel/native/quantize/quantize_turned_native.h"

#include "base/alloc.h"
#include "base/math.h"
#include "op/quantize.h"

enum { TOGETHER = 64 /* columns: whole cache lines of x in any type */ };

struct state {
    const struct quantize_turned_body *body;
    struct linear_matrix x; /* its data comes with each call */
    enum assay_dtype format;
    bool tensor;
    int32_t threads;
    float *amax, *inverses; /* one block */
};

enum assay_status assay_quantize_turned_setup(const struct assay_problem *problem,
                                              const struct quantize_turned_body *body, void **state,
                                              struct assay_error *err)
{
    int64_t columns = problem->axes[ASSAY_QUANTIZE_K], room = assay_round_up(columns, TOGETHER);
    struct state *s = assay_calloc(1, sizeof *s);
    float *floats = assay_calloc(2 * (size_t)room, sizeof *floats);
    if (!s || !floats) {
        assay_free(s);
        assay_free(floats);
        return assay_error_nomem(err);
    }
    *s = (struct state){
        .body = body,
        .x = {NULL, problem->axes[ASSAY_QUANTIZE_M], columns, problem->dtype},
        .format = assay_quantize_format(problem),
        .tensor = problem->params[ASSAY_QUANTIZE_GROUP] == ASSAY_QUANTIZE_TENSOR,
        .threads = problem->threads,
        .amax = floats,
        .inverses = floats + room,
    };
    *state = s;
    return ASSAY_OK;
}

void assay_quantize_turned_teardown(void *state)
{
    struct state *s = state;
    assay_free(s->amax);
    assay_free(s);
}

static int64_t share(const struct state *s, int64_t t)
{
    int64_t start = assay_ceil_div(s->x.columns, TOGETHER) * t / s->threads * TOGETHER;
    return start < s->x.columns ? start : s->x.columns;
}

static float greatest(const float *amax, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n && !isnan(most); i++)
        most = amax[i] <= most ? most : amax[i];
    return most;
}

/* Scales go out; their inverses stay. */
static void find_scales(const struct state *s, float *scales)
{
    float whole = s->tensor ? assay_quant_scale(s->format, greatest(s->amax, s->x.columns)) : 0;
    for (int64_t i = 0; i < s->x.columns; i++) {
        float scale = s->tensor ? whole : assay_quant_scale(s->format, s->amax[i]);
        s->inverses[i] = 1.0f / scale;
        if (i == 0 || !s->tensor)
            scales[i] = scale;
    }
}

static void call(const struct state *s, const struct assay_args *args)
{
    struct linear_matrix x = s->x;
    x.data = args->in[0];
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t t = 0; t < s->threads; t++)
        s->body->amax(&x, share(s, t), share(s, t + 1), s->amax);
    find_scales(s, args->out[1]);
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t t = 0; t < s->threads; t++)
        s->body->encode(&x, s->format, s->inverses, share(s, t), share(s, t + 1), args->out[0]);
}

enum assay_status assay_quantize_turned_run(void *state, const struct assay_work *work)
{
    for (int64_t i = 0; i < work->iters; i++)
        call(state, assay_work_args(work, i));
    return ASSAY_OK;
}
