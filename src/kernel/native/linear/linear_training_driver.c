/* linear_training_driver.c: assay's own kernels of `linear_training`: one product whose W is
 * packed, and by a recipe cast, in every call. */
#include "kernel/native/linear/linear_backward_native.h"

#include "base/alloc.h"

struct state {
    struct linear_product product;
    bool bias;
    void *memory;
};

enum assay_status assay_linear_training_can_run(const struct assay_problem *problem, uint32_t isa,
                                                const struct linear_product_body *body,
                                                int64_t least_rows, struct assay_error *why)
{
    static const enum assay_training_product product = ASSAY_PRODUCT_OUTPUT;
    enum assay_status status = assay_cpu_need(isa, why);
    return status == ASSAY_OK && problem
               ? linear_products_can_run(problem, body, &product, 1, least_rows, why)
               : status;
}

enum assay_status assay_linear_training_setup(const struct assay_problem *problem,
                                              const struct linear_product_body *body, void **state,
                                              struct assay_error *err)
{
    struct assay_recipe recipe;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->bias = problem->params[ASSAY_LINEAR_BIAS] != 0;
    enum assay_status status = assay_recipe_parse(problem->recipe, &recipe, err);
    if (status == ASSAY_OK) {
        struct linear_product_job job =
            linear_product_job_of(problem, &recipe, ASSAY_PRODUCT_OUTPUT);
        status = linear_product_create(&job, body, &s->product, err);
    }
    if (status == ASSAY_OK) {
        unsigned char *memory = assay_linear_memory(linear_product_bytes(&s->product), &s->memory);
        linear_product_place(&s->product, memory);
        status = memory ? ASSAY_OK : assay_error_nomem(err);
    }
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_linear_training_teardown(s);
    return status;
}

void assay_linear_training_teardown(void *state)
{
    struct state *s = state;
    linear_product_fini(&s->product);
    assay_free(s->memory);
    assay_free(s);
}

enum assay_status assay_linear_training_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        linear_product_run(&s->product, args->in[ASSAY_LINEAR_X], args->in[ASSAY_LINEAR_W],
                           s->bias ? args->in[ASSAY_LINEAR_BIAS_INPUT] : NULL, args->out[0], NULL);
    }
    return ASSAY_OK;
}

enum assay_status assay_linear_training_casts(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        linear_product_cast(&s->product, args->in[ASSAY_LINEAR_X], args->in[ASSAY_LINEAR_W], NULL);
    }
    return ASSAY_OK;
}
