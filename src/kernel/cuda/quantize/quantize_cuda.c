/* quantize_cuda.c: quantize and dequantize on the GPU; the work is in quantize.cu. */
#include "kernel/cuda/cuda_rows.h"
#include "op/quantize.h"

enum { WARPS = 4, WHOLE_THREADS = 512, WHOLE_ELEMENTS = 16, BOUNDS_BYTES = 2 * sizeof(float) };
enum { DECODE_THREADS = 256, DECODE_ITEMS = 4, SM_THREADS = 2048 };

/* In the order of quantize.cu's FORMAT_…. */
static int format_number(const struct assay_problem *problem)
{
    enum assay_dtype format = assay_quantize_format(problem);
    return format == ASSAY_DTYPE_S8     ? 0
           : format == ASSAY_DTYPE_E4M3 ? 1
           : format == ASSAY_DTYPE_E5M2 ? 2
                                        : 3;
}

/* 8-bit floats are converted by instructions that came with compute capability 8.9. */
static enum assay_status check_format(const struct assay_problem *problem, struct assay_error *err)
{
    const struct assay_cuda_properties *gpu = assay_cuda_properties();
    enum assay_dtype format = assay_quantize_format(problem);
    bool float8 = format == ASSAY_DTYPE_E4M3 || format == ASSAY_DTYPE_E5M2;
    if (!float8 || gpu->major * 10 + gpu->minor >= 89)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                           "%s needs a GPU of compute capability 8.9 or more, not %d.%d",
                           assay_dtype_name(format), gpu->major, gpu->minor);
}

/* ---- quantize -------------------------------------------------------------------------------- */

struct encoder {
    struct cuda_rows runs;
    cu_function function, bounds; /* bounds: NULL but for one long run, which all blocks share */
    struct assay_cuda_launch launch, bounds_launch;
    uint32_t n_parts;
    size_t parts_bytes;
    void *parts;
};

static void release_encoder(void *state)
{
    struct encoder *e = state;
    assay_cuda_free(e->parts, e->parts_bytes);
}

static enum assay_status plan_runs(const struct assay_problem *problem, const char *option,
                                   struct encoder *e, struct assay_error *err)
{
    e->launch = assay_cuda_rows_launch(&e->runs);
    return assay_cuda_rows_function(&e->runs, "quantize.cu", "quantize", problem->dtype, option,
                                    &e->function, err);
}

static enum assay_status plan_whole(const struct assay_problem *problem, const char *option,
                                    struct encoder *e, struct assay_error *err)
{
    int64_t pieces = assay_ceil_div(e->runs.dim, WHOLE_THREADS * WHOLE_ELEMENTS);
    e->runs.form = FORM_WHOLE;
    enum assay_status status = assay_cuda_rows_named(&e->runs, "quantize.cu", "quantize_bounds",
                                                     problem->dtype, option, &e->bounds, err);
    if (status == ASSAY_OK)
        status = assay_cuda_rows_named(&e->runs, "quantize.cu", "quantize_whole", problem->dtype,
                                       option, &e->function, err);
    if (status != ASSAY_OK)
        return status;
    e->launch.threads = e->bounds_launch.threads = WHOLE_THREADS;
    e->launch.grid_x = cuda_op_grid(e->function, WHOLE_THREADS, pieces);
    e->n_parts = e->bounds_launch.grid_x = cuda_op_grid(e->bounds, WHOLE_THREADS, pieces);
    size_t bytes = (size_t)e->n_parts * BOUNDS_BYTES;
    status = assay_cuda_alloc(bytes, &e->parts, err);
    if (status == ASSAY_OK)
        e->parts_bytes = bytes;
    return status;
}

static enum assay_status plan_quantize(void *state, const struct assay_problem *problem,
                                       struct assay_error *err)
{
    struct encoder *e = state;
    char option[32];
    if (check_format(problem, err) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    e->runs = assay_cuda_few_rows(problem->dtype, assay_quantize_runs(problem),
                                  assay_quantize_run(problem), WARPS);
    snprintf(option, sizeof option, "-DFORMAT=%d", format_number(problem));
    bool whole = e->runs.rows == 1 && e->runs.dim > CUDA_ROW_MANY_MOST;
    return (whole ? plan_whole : plan_runs)(problem, option, e, err);
}

static enum assay_status encode_runs(struct encoder *e, const struct assay_args *args, void *stream)
{
    const void *x = args->in[0];
    void *codes = args->out[0], *scales = args->out[1];
    void *parameters[] = {&x, &codes, &scales, &e->runs.rows, &e->runs.dim, &e->runs.lanes};
    return assay_cuda_launch(e->function, &e->launch, stream, parameters);
}

static enum assay_status encode_whole(struct encoder *e, const struct assay_args *args,
                                      void *stream)
{
    const void *x = args->in[0];
    void *codes = args->out[0], *scales = args->out[1];
    void *first[] = {&x, &e->parts, &e->runs.dim};
    void *second[] = {&x, &e->parts, &codes, &scales, &e->n_parts, &e->runs.dim};
    enum assay_status status = assay_cuda_launch(e->bounds, &e->bounds_launch, stream, first);
    return status == ASSAY_OK ? assay_cuda_launch(e->function, &e->launch, stream, second) : status;
}

static enum assay_status call_quantize(void *state, int64_t set, const struct assay_args *args,
                                       void *stream)
{
    struct encoder *e = state;
    (void)set;
    return (e->bounds ? encode_whole : encode_runs)(e, args, stream);
}

static const struct cuda_op quantize = {.state_bytes = sizeof(struct encoder),
                                        .plan = plan_quantize,
                                        .call = call_quantize,
                                        .release = release_encoder};

CUDA_OP_KERNEL(quantize_cuda, "quantize", quantize);

/* ---- dequantize ------------------------------------------------------------------------------ */

struct decoder {
    cu_function function;
    struct assay_cuda_launch launch;
    int64_t count, run;
};

static enum assay_status plan_dequantize(void *state, const struct assay_problem *problem,
                                         struct assay_error *err)
{
    struct decoder *d = state;
    char option[32];
    if (check_format(problem, err) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    d->count = assay_tensor_count(&problem->outputs[0]);
    d->run = assay_quantize_run(problem);
    int64_t vec = cuda_op_vec(problem->dtype);
    struct cuda_rows runs = {.form = FORM_DECODE, .vector = d->run % vec == 0};
    bool ranged = assay_quantize_format(problem) == ASSAY_DTYPE_U4;
    int64_t items = d->count / (runs.vector ? vec : ranged ? 2 : 1), each = DECODE_ITEMS;
    if (items < (int64_t)assay_cuda_properties()->sms * SM_THREADS * each)
        each = 1;
    d->launch.threads = cuda_op_threads(items, DECODE_THREADS);
    d->launch.grid_x = (unsigned)assay_ceil_div(items, each * d->launch.threads);
    snprintf(option, sizeof option, "-DFORMAT=%d", format_number(problem));
    return assay_cuda_rows_named(&runs, "quantize.cu",
                                 each == 1 ? "dequantize_short" : "dequantize", problem->dtype,
                                 option, &d->function, err);
}

static enum assay_status call_dequantize(void *state, int64_t set, const struct assay_args *args,
                                         void *stream)
{
    struct decoder *d = state;
    (void)set;
    const void *codes = args->in[0], *scales = args->in[1];
    void *out = args->out[0];
    void *parameters[] = {&codes, &scales, &out, &d->count, &d->run};
    return assay_cuda_launch(d->function, &d->launch, stream, parameters);
}

static const struct cuda_op dequantize = {
    .state_bytes = sizeof(struct decoder), .plan = plan_dequantize, .call = call_dequantize};

CUDA_OP_KERNEL(dequantize_cuda, "dequantize", dequantize);
