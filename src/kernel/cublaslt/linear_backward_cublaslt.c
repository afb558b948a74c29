/* linear_backward_cublaslt.c: `linear_backward` by NVIDIA's cuBLASLt: dX = dY W and dW = dY^T x,
 * from the operands as they lie; dbias, the sums of dY's columns, by column_sums.cu.
 *
 * Nothing is packed and nothing transposed: that is the library's matter. Sums are f32 and rounded
 * once; f32 is multiplied as f32 is. The library's sums are the same each time, and so are ours.
 * The heuristic's first choice is taken, with or without --autotune.
 *
 * Not here: recipes. */
#include "kernel/cuda/columns_cuda.h"
#include "kernel/cuda/linear/cublaslt_product.h"
#include "op/linear.h"

#include <string.h>

enum { SUMS_THREADS = 256, SUMS_ITEMS = 32, CHUNK_LEAST = 32, CHUNKS_MOST = 65535 };

/* One of the two products; without a description where the mode leaves it out. */
struct product {
    struct cublaslt_product product;
    cublaslt_heuristic algo;
    int32_t a, b, d; /* inputs, and an output */
};

struct state {
    struct product products[2]; /* dX, dW */
    void *workspace;
    size_t workspace_bytes;
    cu_function sums; /* of dbias; NULL: there is none */
    struct assay_cuda_launch sums_launch;
    struct cuda_columns columns;
    int32_t dbias;
    int64_t m, n;
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    enum assay_status status = assay_cuda_can_cublaslt(why);
    if (status != ASSAY_OK || !problem)
        return status;
    if (problem->recipe && strcmp(problem->recipe, "baseline") != 0)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "only the baseline, no %s",
                               problem->recipe);
    return assay_linear_backward_output(problem, ASSAY_LINEAR_DBIAS) >= 0
               ? assay_cuda_can_compile(why)
               : ASSAY_OK;
}

static void release(void *state)
{
    struct state *s = state;
    for (int i = 0; i < 2; i++)
        if (s->products[i].product.lt)
            assay_cublaslt_forget(&s->products[i].product);
    assay_cuda_columns_fini(&s->columns);
    assay_cuda_free(s->workspace, s->workspace_bytes);
}

static enum assay_status describe(struct state *s, struct product *p,
                                  const struct assay_problem *problem,
                                  const struct cublaslt_matrices *matrices, struct assay_error *err)
{
    const struct cublaslt_needs needs = {
        .exact = problem->dtype != ASSAY_DTYPE_F32,
        .w_align = CUBLASLT_OPERAND_ALIGN,
        .x_align = CUBLASLT_OPERAND_ALIGN,
        .d_align = CUBLASLT_OPERAND_ALIGN,
    };
    cublaslt_heuristic found[CUBLASLT_MOST_ALGOS];
    int n = 0, type = assay_cublaslt_type(problem->dtype);
    p->product.lt = assay_cuda_cublaslt();
    p->product.workspace = s->workspace;
    p->product.workspace_bytes = s->workspace_bytes;
    enum assay_status status = assay_cuda_cublaslt_handle(&p->product.handle, err);
    if (status != ASSAY_OK)
        return status;
    cublas_status code = assay_cublaslt_describe_matrices(&p->product, type, type, matrices);
    if (code == 0)
        code = assay_cublaslt_ask(&p->product, &needs, found, &n);
    if (code != 0 || n == 0)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                               "cuBLASLt has no algorithm for %lldx%lldx%lld in %s (it says %d)",
                               (long long)matrices->d_rows, (long long)matrices->depth,
                               (long long)matrices->d_columns, assay_dtype_name(problem->dtype),
                               code);
    p->algo = found[0];
    return ASSAY_OK;
}

/* The library's matrices are stored by columns: W [n, k] is k x n there, x k x m and dY n x m. So
 * dX, k x m, is W dY, and dW, k x n, is x dY^T. */
static enum assay_status plan_products(struct state *s, const struct assay_problem *problem,
                                       struct assay_error *err)
{
    int64_t m = s->m, k = problem->axes[ASSAY_LINEAR_K], n = s->n;
    const struct cublaslt_matrices dx = {.d_rows = k, .d_columns = m, .depth = n};
    const struct cublaslt_matrices dw = {
        .d_rows = k, .d_columns = n, .depth = m, .b_transposed = true};
    enum assay_status status = ASSAY_OK;
    s->products[0].a = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_W);
    s->products[0].d = assay_linear_backward_output(problem, ASSAY_LINEAR_DX);
    s->products[1].a = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_X);
    s->products[1].d = assay_linear_backward_output(problem, ASSAY_LINEAR_DW);
    if (s->products[0].d >= 0)
        status = describe(s, &s->products[0], problem, &dx, err);
    if (status == ASSAY_OK && s->products[1].d >= 0)
        status = describe(s, &s->products[1], problem, &dw, err);
    return status;
}

/* Enough chunks of the rows for eight blocks on each SM, but none of a few rows only. */
static enum assay_status plan_sums(struct state *s, const struct assay_problem *problem,
                                   struct assay_error *err)
{
    int64_t vec = cuda_op_vec(problem->dtype);
    bool vector = s->n % vec == 0;
    int64_t across = assay_ceil_div(vector ? s->n / vec : s->n, SUMS_ITEMS);
    int64_t wanted = assay_ceil_div(8 * (int64_t)assay_cuda_properties()->sms, across);
    int64_t most = assay_min(assay_ceil_div(s->m, CHUNK_LEAST), CHUNKS_MOST);
    int64_t chunks = assay_min(wanted, most);
    s->sums_launch = (struct assay_cuda_launch){
        .grid_x = (unsigned)across, .grid_y = (unsigned)chunks, .threads = SUMS_THREADS};
    enum assay_status status =
        assay_cuda_op_compile(&s->sums, err, "column_sums.cu", "column_sums", 0,
                              "-DELEMENT=%d -DVECTOR=%d", cuda_op_element(problem->dtype), vector);
    if (status == ASSAY_OK)
        status = assay_cuda_op_compile(&s->columns.finish, err, "column_sums.cu",
                                       "column_sums_finish", 0, "-DELEMENT=%d -DVECTOR=%d",
                                       cuda_op_element(problem->dtype), vector);
    return status == ASSAY_OK ? assay_cuda_columns_init(&s->columns, chunks, 1, s->n, err) : status;
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    s->m = problem->axes[ASSAY_LINEAR_M];
    s->n = problem->axes[ASSAY_LINEAR_N];
    s->dbias = assay_linear_backward_output(problem, ASSAY_LINEAR_DBIAS);
    s->workspace_bytes = assay_cublaslt_workspace_bytes();
    enum assay_status status = assay_cuda_alloc(s->workspace_bytes, &s->workspace, err);
    if (status == ASSAY_OK)
        status = plan_products(s, problem, err);
    return status == ASSAY_OK && s->dbias >= 0 ? plan_sums(s, problem, err) : status;
}

static enum assay_status multiply(const struct state *s, const struct product *p,
                                  const struct assay_args *args, void *stream)
{
    static const float one = 1, zero = 0;
    const struct cublaslt_product *l = &p->product;
    void *d = args->out[p->d];
    cublas_status code = l->lt->cublasLtMatmul(
        l->handle, l->desc, &one, args->in[p->a], l->a, args->in[p->b], l->b, &zero, d, l->d, d,
        l->d, &p->algo.algo, s->workspace, s->workspace_bytes, stream);
    return code == 0 ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

static enum assay_status sum_columns(const struct state *s, const struct assay_args *args,
                                     void *stream)
{
    const void *dy = args->in[0];
    void *parts = s->columns.parts;
    int64_t rows = s->m, dim = s->n;
    void *parameters[] = {&dy, &parts, &rows, &dim};
    enum assay_status status = assay_cuda_launch(s->sums, &s->sums_launch, stream, parameters);
    return status == ASSAY_OK
               ? assay_cuda_columns_finish(&s->columns, args->out[s->dbias], NULL, stream)
               : status;
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    const struct state *s = state;
    enum assay_status status = ASSAY_OK;
    (void)set;
    for (int i = 0; i < 2 && status == ASSAY_OK; i++)
        if (s->products[i].d >= 0)
            status = multiply(s, &s->products[i], args, stream);
    return status == ASSAY_OK && s->dbias >= 0 ? sum_columns(s, args, stream) : status;
}

static void note(const struct assay_problem *problem, char *text, size_t size)
{
    (void)problem;
    assay_cublaslt_version(text, size);
}

static const struct cuda_op linear_backward = {
    .state_bytes = sizeof(struct state), .plan = plan, .call = call, .release = release};

CUDA_KERNEL(linear_backward_cublaslt, "linear_backward", "cublaslt", linear_backward,
            .dtypes = CUDA_FLOATS, .preference = 1, .can_run = can_run, .note = note);
