/* linear_backward_driver.c: assay's own kernels of `linear_backward`: two products and the sums of
 * columns, one after the other in the same memory. */
#include "kernel/native/linear/linear_backward_native.h"

#include "base/alloc.h"

struct state {
    const struct linear_product_body *body;
    int64_t m, n;
    enum assay_dtype dtype;
    int32_t threads, x, w, dx, dw, dbias; /* inputs and outputs; -1: there is none */
    struct linear_product data, weights;  /* of dX, of dW */
    void *memory;
};

enum assay_status assay_linear_backward_can_run(const struct assay_problem *problem, uint32_t isa,
                                                const struct linear_product_body *body,
                                                int64_t least_rows, struct assay_error *why)
{
    enum assay_training_product products[2];
    int n = 0;
    enum assay_status status = assay_cpu_need(isa, why);
    if (status != ASSAY_OK || !problem)
        return status;
    if (assay_linear_backward_output(problem, ASSAY_LINEAR_DX) >= 0)
        products[n++] = ASSAY_PRODUCT_INPUT_GRADIENT;
    if (assay_linear_backward_output(problem, ASSAY_LINEAR_DW) >= 0)
        products[n++] = ASSAY_PRODUCT_WEIGHT_GRADIENT;
    return linear_products_can_run(problem, body, products, n, least_rows, why);
}

static enum assay_status make_product(const struct state *s, const struct assay_problem *problem,
                                      enum assay_training_product product,
                                      struct linear_product *out, struct assay_error *err)
{
    struct assay_recipe recipe;
    enum assay_status status = assay_recipe_parse(problem->recipe, &recipe, err);
    if (status != ASSAY_OK)
        return status;
    struct linear_product_job job = linear_product_job_of(problem, &recipe, product);
    return linear_product_create(&job, s->body, out, err);
}

static enum assay_status make_memory(struct state *s, struct assay_error *err)
{
    size_t data = linear_product_bytes(&s->data), weights = linear_product_bytes(&s->weights);
    unsigned char *memory = assay_linear_memory(data > weights ? data : weights, &s->memory);
    if (!memory)
        return assay_error_nomem(err);
    linear_product_place(&s->data, memory);
    linear_product_place(&s->weights, memory);
    return ASSAY_OK;
}

enum assay_status assay_linear_backward_setup(const struct assay_problem *problem,
                                              const struct linear_product_body *body, void **state,
                                              struct assay_error *err)
{
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    *s = (struct state){
        .body = body,
        .m = problem->axes[ASSAY_LINEAR_M],
        .n = problem->axes[ASSAY_LINEAR_N],
        .dtype = problem->dtype,
        .threads = problem->threads,
        .x = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_X),
        .w = assay_linear_backward_input(problem, ASSAY_LINEAR_OPERAND_W),
        .dx = assay_linear_backward_output(problem, ASSAY_LINEAR_DX),
        .dw = assay_linear_backward_output(problem, ASSAY_LINEAR_DW),
        .dbias = assay_linear_backward_output(problem, ASSAY_LINEAR_DBIAS),
    };
    enum assay_status status = ASSAY_OK;
    if (s->dx >= 0)
        status = make_product(s, problem, ASSAY_PRODUCT_INPUT_GRADIENT, &s->data, err);
    if (status == ASSAY_OK && s->dw >= 0)
        status = make_product(s, problem, ASSAY_PRODUCT_WEIGHT_GRADIENT, &s->weights, err);
    if (status == ASSAY_OK)
        status = make_memory(s, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_linear_backward_teardown(s);
    return status;
}

void assay_linear_backward_teardown(void *state)
{
    struct state *s = state;
    linear_product_fini(&s->data);
    linear_product_fini(&s->weights);
    assay_free(s->memory);
    assay_free(s);
}

static void sum(const struct state *s, const void *dy, void *dbias)
{
    struct linear_matrix from = {dy, s->m, s->n, s->dtype};
#pragma omp parallel for schedule(static) num_threads(s->threads)
    for (int64_t t = 0; t < s->threads; t++)
        s->body->sums(&from, dbias, linear_panel_share(s->n, s->threads, t),
                      linear_panel_share(s->n, s->threads, t + 1));
}

enum assay_status assay_linear_backward_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *dy = args->in[ASSAY_LINEAR_OPERAND_DY];
        if (s->dx >= 0)
            linear_product_run(&s->data, dy, args->in[s->w], NULL, args->out[s->dx], NULL);
        if (s->dw >= 0)
            linear_product_run(&s->weights, dy, args->in[s->x], NULL, args->out[s->dw],
                               s->dx >= 0 ? &s->data : NULL);
        if (s->dbias >= 0)
            sum(s, dy, args->out[s->dbias]);
    }
    return ASSAY_OK;
}

enum assay_status assay_linear_backward_casts(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        const void *dy = args->in[ASSAY_LINEAR_OPERAND_DY];
        if (s->dx >= 0)
            linear_product_cast(&s->data, dy, args->in[s->w], NULL);
        if (s->dw >= 0)
            linear_product_cast(&s->weights, dy, args->in[s->x], s->dx >= 0 ? &s->data : NULL);
    }
    return ASSAY_OK;
}
