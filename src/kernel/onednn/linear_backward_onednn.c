/* linear_backward_onednn.c: the backward passes of the library's inner product, two primitives, on
 * operands as they lie: dY, x and W change with every training step, so the library, too, packs
 * them in every call. The second gives the gradient of the bias with that of W. Its matmul is no
 * better at dX: in f32 up to 12 % slower, in bf16 within 2 % either way (Zen 5). */
#include "base/alloc.h"
#include "kernel/onednn/onednn_isa.h"
#include "op/linear.h"

#include <string.h>

/* The states of the two primitives; NULL where the mode leaves one out. */
struct state {
    void *data, *weights;
    int32_t dx, dw; /* outputs; the gradient of the bias comes behind dw */
};

struct layout {
    struct assay_dnnl_memory_desc dy, x, w, bias;
};

static int describe(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                    struct layout *l)
{
    int64_t m = p->axes[ASSAY_LINEAR_M], k = p->axes[ASSAY_LINEAR_K], n = p->axes[ASSAY_LINEAR_N];
    int64_t y[2] = {m, n}, x[2] = {m, k}, w[2] = {n, k};
    int code = assay_onednn_describe(dnnl, p->dtype, 2, y, &l->dy);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 2, x, &l->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 2, w, &l->w);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 1, &n, &l->bias);
    return code;
}

static enum assay_status make_data(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                                   const struct layout *l, void **state, struct assay_error *err)
{
    struct assay_dnnl_op_desc desc;
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_DIFF_DST, ASSAY_LINEAR_OPERAND_DY, &l->dy, 0},
        {ASSAY_DNNL_ARG_WEIGHTS, assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_W), &l->w, 0},
        {ASSAY_DNNL_ARG_DIFF_SRC, ASSAY_ONEDNN_OUTPUT, &l->x, 0},
    };
    int code = dnnl->inner_product_backward_data_desc_init(&desc, &l->x, &l->w, &l->dy);
    return assay_onednn_create(p, code, &desc, operands, 3, state, err);
}

static enum assay_status make_weights(const struct assay_dnnl_api *dnnl,
                                      const struct assay_problem *p, const struct layout *l,
                                      void **state, struct assay_error *err)
{
    struct assay_dnnl_op_desc desc;
    bool bias = assay_linear_backward_output(p, ASSAY_LINEAR_DBIAS) >= 0;
    const struct assay_onednn_operand operands[] = {
        {ASSAY_DNNL_ARG_DIFF_DST, ASSAY_LINEAR_OPERAND_DY, &l->dy, 0},
        {ASSAY_DNNL_ARG_SRC_0, assay_linear_backward_input(p, ASSAY_LINEAR_OPERAND_X), &l->x, 0},
        {ASSAY_DNNL_ARG_DIFF_WEIGHTS, ASSAY_ONEDNN_OUTPUT, &l->w, 0},
        {ASSAY_DNNL_ARG_DIFF_BIAS, ASSAY_ONEDNN_OUTPUT - 1, &l->bias, 0},
    };
    int code = dnnl->inner_product_backward_weights_desc_init(&desc, &l->x, &l->w,
                                                              bias ? &l->bias : NULL, &l->dy);
    return assay_onednn_create(p, code, &desc, operands, bias ? 4 : 3, state, err);
}

static void teardown(void *state)
{
    struct state *s = state;
    if (s->data)
        assay_onednn_teardown(s->data);
    if (s->weights)
        assay_onednn_teardown(s->weights);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    struct layout layout;
    int code = describe(dnnl, problem, &layout);
    s->dx = assay_linear_backward_output(problem, ASSAY_LINEAR_DX);
    s->dw = assay_linear_backward_output(problem, ASSAY_LINEAR_DW);
    if (code != ASSAY_DNNL_SUCCESS)
        status = assay_onednn_failed(problem, "describing the operation", code, err);
    if (status == ASSAY_OK && s->dx >= 0)
        status = make_data(dnnl, problem, &layout, &s->data, err);
    if (status == ASSAY_OK && s->dw >= 0)
        status = make_weights(dnnl, problem, &layout, &s->weights, err);
    if (status == ASSAY_OK)
        *state = s;
    else
        teardown(s);
    return status;
}

static enum assay_status setup_avx512(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    enum assay_status status = assay_onednn_leave_out_amx(err);
    return status == ASSAY_OK ? setup(problem, state, err) : status;
}

/* One call of a primitive whose outputs are those of the op from `output` on. */
static enum assay_status execute(void *primitive, const struct assay_args *args, int32_t output)
{
    struct assay_args own = {.in = args->in, .out = args->out + output};
    return assay_onednn_run(primitive, &(struct assay_work){.iters = 1, .n_sets = 1, .sets = &own});
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    const struct state *s = state;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < work->iters && status == ASSAY_OK; i++) {
        if (s->data)
            status = execute(s->data, assay_work_args(work, i), s->dx);
        if (s->weights && status == ASSAY_OK)
            status = execute(s->weights, assay_work_args(work, i), s->dw);
    }
    return status;
}

static enum assay_status takes_recipe(const struct assay_problem *problem, struct assay_error *why)
{
    if (!problem || !problem->recipe || strcmp(problem->recipe, "baseline") == 0)
        return ASSAY_OK;
    return assay_error_set(why, ASSAY_UNSUPPORTED, NULL, "only the baseline, no %s",
                           problem->recipe);
}

/* With all that the library has for this CPU, and without AMX, for machines where it dies of it:
 * f32 uses none. 2.x computes in f16 on no CPU. */
#define KERNEL(ident, suffix, dtypes_, preference_)                                                \
    static enum assay_status can_run##suffix(const struct assay_problem *problem,                  \
                                             struct assay_error *why)                              \
    {                                                                                              \
        enum assay_status status = assay_onednn_isa_can_run##suffix(problem, why);                 \
        return status == ASSAY_OK ? takes_recipe(problem, why) : status;                           \
    }                                                                                              \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {                                             \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = "linear_backward",                                                                   \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = preference_,                                                                 \
        .can_run = can_run##suffix,                                                                \
        .setup = setup##suffix,                                                                    \
        .run = run,                                                                                \
        .teardown = teardown,                                                                      \
        .note = assay_onednn_isa_note##suffix,                                                     \
    }
KERNEL(linear_backward_onednn, ,
       ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 1);
KERNEL(linear_backward_onednn_avx512, _avx512, ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 0);
