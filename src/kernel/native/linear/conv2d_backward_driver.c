/* conv2d_backward_driver.c: assay's own kernels of conv2d_backward: one gradient after the other.
 * Every element is summed by one thread in one order, so that the same number of threads always
 * gives the same bits. */
#include "kernel/native/linear/conv2d_backward_native.h"

#include "base/alloc.h"

struct state {
    struct conv2d_data *data;
    struct conv2d_weights *weights;
    bool bias;
};

enum assay_status assay_conv2d_backward_can_run(const struct assay_problem *problem, uint32_t isa,
                                                int64_t least_rows, struct assay_error *why)
{
    enum assay_status status = assay_cpu_need(isa, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_conv c = assay_conv_of(problem);
    if (c.batch * c.height * c.width < least_rows || c.out < least_rows)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for products of %lld rows and more",
                               (long long)least_rows);
    return ASSAY_OK;
}

enum assay_status assay_conv2d_backward_setup(const struct assay_problem *problem,
                                              const struct conv2d_backward_body *body, void **state,
                                              struct assay_error *err)
{
    struct conv2d_backward_job job = {.body = body,
                                      .conv = assay_conv_of(problem),
                                      .dtype = problem->dtype,
                                      .threads = problem->threads};
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->bias = problem->n_outputs > ASSAY_CONV_DBIAS;
    enum assay_status status = conv2d_data_create(&job, &s->data, err);
    if (status == ASSAY_OK)
        status = conv2d_weights_create(&job, &s->weights, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        assay_conv2d_backward_teardown(s);
    return status;
}

enum assay_status assay_conv2d_backward_run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    for (int64_t i = 0; i < work->iters; i++) {
        const struct assay_args *args = assay_work_args(work, i);
        conv2d_data_run(s->data, args);
        conv2d_weights_run(s->weights, args, s->bias);
    }
    return ASSAY_OK;
}

void assay_conv2d_backward_teardown(void *state)
{
    struct state *s = state;
    conv2d_data_destroy(s->data);
    conv2d_weights_destroy(s->weights);
    assay_free(s);
}
