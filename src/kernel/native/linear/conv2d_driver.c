/* conv2d_driver.c: a problem of conv2d as a job of `linear`. */
#include "kernel/native/linear/conv2d_native.h"

static int64_t rows_of(const struct assay_conv *c)
{
    return c->batch * c->out_height * c->out_width;
}

/* Windows of one pixel need not know where a row of the image ends. */
static struct assay_conv one_row(const struct assay_conv *c, int64_t pixels)
{
    struct assay_conv row = *c;
    row.batch = row.height = row.out_height = 1;
    row.width = row.out_width = pixels;
    return row;
}

enum assay_status assay_conv2d_can_run(const struct assay_problem *problem, uint32_t isa,
                                       int64_t least_rows, struct assay_error *why)
{
    enum assay_status status = assay_cpu_need(isa, why);
    if (status != ASSAY_OK || !problem)
        return status;
    struct assay_conv c = assay_conv_of(problem);
    if (rows_of(&c) < least_rows)
        return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "for %lld windows and more",
                               (long long)least_rows);
    return ASSAY_OK;
}

struct linear_job assay_conv2d_job(const struct assay_conv *c, enum assay_dtype dtype)
{
    struct linear_job job = {
        .m = rows_of(c),
        .k = c->kernel * c->kernel * c->in,
        .n = c->out,
        .dtype = dtype,
        .activation = ASSAY_LINEAR_NONE,
        .norm = ASSAY_LINEAR_NO_NORM,
    };
    if (c->kernel > 1 || c->stride > 1)
        job.windows = *c;
    else if (dtype == ASSAY_DTYPE_F32) /* tiles take such windows where they lie */
        job.windows = one_row(c, job.m);
    return job;
}

enum assay_status assay_conv2d_setup(const struct assay_problem *problem,
                                     const struct linear_body *body, void **state,
                                     struct assay_error *err)
{
    struct assay_conv c = assay_conv_of(problem);
    struct linear_job job = assay_conv2d_job(&c, problem->dtype);
    struct linear_inputs inputs = {.bias = c.bias, .norm = -1, .residual = c.residual};
    enum assay_status status = assay_recipe_parse(NULL, &job.recipe, err);
    return status == ASSAY_OK
               ? assay_linear_create(&job, &inputs, problem->threads, body, state, err)
               : status;
}
