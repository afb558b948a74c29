/* norm_backward_cuda.c: the gradients of layernorm, rmsnorm and layernorm_gelu on the GPU; the work
 * is in norm_backward.cu. */
#include "kernel/cuda/columns_cuda.h"
#include "kernel/cuda/cuda_rows.h"

enum { WARPS = 4, COLUMN_THREADS = 256, BLOCK_MOST = 1024 * CUDA_ROW_FEW };

/* In the order of norm_backward.cu's OP_…. */
static const char *const ops[] = {"layernorm_backward", "rmsnorm_backward",
                                  "layernorm_gelu_backward"};
enum { OPS = sizeof ops / sizeof ops[0], RMSNORM = 1, LAYERNORM_GELU = 2 };

/* As in norm_backward.cu. */
struct tensors {
    const void *dy, *x, *gamma, *beta, *mean, *rstd;
    void *dx, *parts;
    int64_t rows, dim;
    float inverse;
};

struct state {
    struct cuda_rows rows;
    cu_function function, columns; /* the second of long rows */
    struct assay_cuda_launch launch, columns_launch;
    struct cuda_columns sums;
    int op;
};

static void release(void *state)
{
    struct state *s = state;
    assay_cuda_columns_fini(&s->sums);
}

/* A block has a row where lanes would have more than 8 elements of it each: the sums of their
 * columns are in registers, too. */
static struct cuda_rows rows_of(const struct assay_problem *problem)
{
    struct cuda_rows r = assay_cuda_rows(problem->dtype, problem->axes[0] * problem->axes[1],
                                         problem->axes[2], WARPS);
    if (r.form == FORM_FEW)
        return r;
    r.form = r.dim > BLOCK_MOST ? FORM_LONG : FORM_BLOCK;
    r.lanes = 32;
    r.at_once = 1;
    r.threads = cuda_op_threads(assay_ceil_div(r.dim, CUDA_ROW_FEW), 1024);
    return r;
}

/* The launch bounds: a power of two, so that a text is compiled few times. */
static unsigned threads_most(const struct cuda_rows *rows)
{
    unsigned most = 64;
    while (most < rows->threads)
        most *= 2;
    return most;
}

static enum assay_status compile(const struct state *s, const struct assay_problem *problem,
                                 const char *name, cu_function *out, struct assay_error *err)
{
    char options[48];
    snprintf(options, sizeof options, "-DOP=%d -DTHREADS=%u", s->op, threads_most(&s->rows));
    return assay_cuda_rows_named(&s->rows, "norm_backward.cu", name, problem->dtype, options, out,
                                 err);
}

/* Long rows: a block for each, and of their columns enough parts for four blocks on each SM. */
static enum assay_status plan_long(struct state *s, const struct assay_problem *problem,
                                   int64_t *parts, struct assay_error *err)
{
    int64_t vec = s->rows.vector ? cuda_op_vec(problem->dtype) : 1;
    int64_t across = assay_ceil_div(s->rows.dim / vec, COLUMN_THREADS);
    *parts = assay_ceil_div(4 * (int64_t)assay_cuda_properties()->sms, across);
    *parts = assay_min(*parts, s->rows.rows);
    s->launch.grid_x = (unsigned)s->rows.rows;
    s->columns_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)across,
        .grid_y = (unsigned)*parts,
        .threads = COLUMN_THREADS,
    };
    enum assay_status status = compile(s, problem, "norm_backward_long", &s->function, err);
    return status == ASSAY_OK ? compile(s, problem, "norm_backward_columns", &s->columns, err)
                              : status;
}

/* Each block leaves a part. */
static enum assay_status plan_held(struct state *s, const struct assay_problem *problem,
                                   int64_t *parts, struct assay_error *err)
{
    enum assay_status status =
        compile(s, problem, s->rows.form == FORM_FEW ? "norm_backward_few" : "norm_backward_block",
                &s->function, err);
    if (status != ASSAY_OK)
        return status;
    s->launch.grid_x = cuda_op_even_grid(s->function, s->rows.threads,
                                         assay_ceil_div(s->rows.rows, s->rows.at_once));
    *parts = s->launch.grid_x;
    return ASSAY_OK;
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    int64_t parts = 0;
    s->op = assay_cuda_op_number(problem, ops, OPS);
    s->rows = rows_of(problem);
    s->launch.threads = s->rows.threads;
    enum assay_status status = s->rows.form == FORM_LONG ? plan_long(s, problem, &parts, err)
                                                         : plan_held(s, problem, &parts, err);
    if (status == ASSAY_OK)
        status = compile(s, problem, "norm_backward_finish", &s->sums.finish, err);
    return status == ASSAY_OK ? assay_cuda_columns_init(&s->sums, parts, s->op == RMSNORM ? 1 : 2,
                                                        s->rows.dim, err)
                              : status;
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    bool mean = s->op != RMSNORM;
    struct tensors t = {
        .dy = args->in[0],
        .x = args->in[1],
        .gamma = args->in[2],
        .beta = s->op == LAYERNORM_GELU ? args->in[5] : NULL,
        .mean = mean ? args->in[3] : NULL,
        .rstd = args->in[mean ? 4 : 3],
        .dx = args->out[0],
        .parts = s->sums.parts,
        .rows = s->rows.rows,
        .dim = s->rows.dim,
        .inverse = (float)(1 / (double)s->rows.dim),
    };
    void *parameters[] = {&t, &s->rows.lanes};
    enum assay_status status = assay_cuda_launch(s->function, &s->launch, stream, parameters);
    if (status == ASSAY_OK && s->columns)
        status = assay_cuda_launch(s->columns, &s->columns_launch, stream, parameters);
    return status == ASSAY_OK ? assay_cuda_columns_finish(&s->sums, args->out[1],
                                                          mean ? args->out[2] : NULL, stream)
                              : status;
}

static const struct cuda_op norm_backward = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_OP_KERNEL(layernorm_backward_cuda, "layernorm_backward", norm_backward);
CUDA_OP_KERNEL(rmsnorm_backward_cuda, "rmsnorm_backward", norm_backward);
CUDA_OP_KERNEL(layernorm_gelu_backward_cuda, "layernorm_gelu_backward", norm_backward);
