/* linear_cuda.c: what the kernels of `linear` on the GPU share; linear_cuda.h. */
#include "kernel/cuda/linear/linear_cuda.h"

enum assay_status assay_cuda_linear_read(const struct assay_problem *problem,
                                         struct cuda_linear *out, struct assay_error *err)
{
    *out = (struct cuda_linear){
        .m = problem->axes[ASSAY_LINEAR_M],
        .k = problem->axes[ASSAY_LINEAR_K],
        .n = problem->axes[ASSAY_LINEAR_N],
        .dtype = problem->dtype,
        .activation = (enum assay_linear_activation)problem->params[ASSAY_LINEAR_ACTIVATION],
        .norm = (int)problem->params[ASSAY_LINEAR_NORM],
        .bias_input = problem->params[ASSAY_LINEAR_BIAS] != 0 ? ASSAY_LINEAR_BIAS_INPUT : -1,
        .norm_input = assay_linear_norm_input(problem),
        .residual_input = assay_linear_residual_input(problem),
        .threads = problem->threads,
    };
    enum assay_status status = assay_recipe_parse(problem->recipe, &out->recipe, err);
    if (status != ASSAY_OK)
        return status;
    enum assay_dtype code = out->recipe.code;
    out->bits = assay_dtype_info(code ? code : out->dtype)->bits;
    out->group_shift = out->recipe.group ? __builtin_ctz((unsigned)out->recipe.group) : 0;
    out->quantises = out->recipe.activation != ASSAY_DTYPE_NONE;
    return ASSAY_OK;
}

enum assay_status assay_cuda_linear_recipe(const struct assay_problem *problem,
                                           struct assay_recipe *out, struct assay_error *why)
{
    if (assay_recipe_parse(problem->recipe, out, why) != ASSAY_OK)
        return ASSAY_UNSUPPORTED;
    return assay_recipe_fits(out, problem->dtype, problem->axes[ASSAY_LINEAR_K], why);
}

enum assay_status assay_cuda_linear_ready(const struct cuda_linear *p,
                                          const struct cuda_activations *activations,
                                          const struct cuda_linear_norm *norm,
                                          const struct assay_args *args, void *stream)
{
    const void *x = args->in[ASSAY_LINEAR_X], *weight = cuda_op_input(args, p->norm_input);
    if (p->quantises)
        return assay_cuda_activations_run(activations, x, weight, stream);
    return p->norm ? assay_cuda_linear_norm_run(norm, x, weight, stream) : ASSAY_OK;
}

enum assay_status assay_cuda_linear_store(const struct cuda_linear *p,
                                          struct cuda_weight_sets *sets, int64_t set,
                                          const struct assay_args *args, struct assay_error *err)
{
    return assay_cuda_weights_prepare(sets, set, &p->recipe, p->dtype, args->in[ASSAY_LINEAR_W],
                                      p->n, p->k, p->threads, err);
}
