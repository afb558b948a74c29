/* conv_backward_onednn.c: the gradients of conv2d and depthwise_conv2d as the library's two
 * backward convolutions, of data and of weights, one after the other. dY, x and dX have channels
 * last, as the op has them; the library chooses the layouts of W and dW. W changes with every
 * training step, so its reorder into the one layout, and that of dW out of the other, are in every
 * call; where the library likes them as they lie there is none. The second primitive gives dbias,
 * too. */
#include "base/alloc.h"
#include "kernel/onednn/onednn_isa.h"
#include "op/conv.h"

enum { MOST_ARGS = 4, MOST_STEPS = 4 };

/* What an argument of a primitive is: an input, an output, or W and dW as the library has them. */
enum operand { DY, X, W, DX, DW, DBIAS, OWN_W, OWN_DW };

/* One primitive and its arguments. */
struct step {
    struct assay_dnnl_primitive *primitive;
    struct assay_dnnl_exec_arg args[MOST_ARGS];
    enum operand operands[MOST_ARGS];
    const void *bound[MOST_ARGS];
    int32_t n;
};

struct state {
    const struct assay_dnnl_api *dnnl;
    const struct assay_problem *problem;
    struct assay_dnnl_engine *engine;
    struct assay_dnnl_stream *stream;
    struct step steps[MOST_STEPS];
    int32_t n_steps;
    struct assay_onednn_buffer own[2]; /* OWN_W, OWN_DW */
};

/* The op's tensors, and W in any layout. */
struct layout {
    struct assay_dnnl_memory_desc x, w, any_w, y, bias;
};

/* Images in memory: [batch, height, width, channels]. The library names dimensions in the order of
 * batch, channels, height, width, whatever their order in memory. */
static int describe_images(const struct assay_dnnl_api *dnnl, int type, int64_t batch,
                           int64_t height, int64_t width, int64_t channels,
                           struct assay_dnnl_memory_desc *out)
{
    int64_t dims[4] = {batch, channels, height, width};
    int64_t strides[4] = {height * width * channels, 1, width * channels, channels};
    return dnnl->memory_desc_init_by_strides(out, 4, dims, type, strides);
}

/* Groups come first, where every channel is one. */
static int describe_filters(const struct assay_dnnl_api *dnnl, int type, const struct assay_conv *c,
                            bool depthwise, struct layout *l)
{
    int64_t k = c->kernel, all = k * k * c->in;
    int64_t dims[5] = {c->in, 1, 1, k, k}, strides[5] = {1, all, all, k * c->in, c->in};
    if (!depthwise) {
        dims[1] = c->out;
        dims[2] = c->in;
        strides[2] = 1;
    }
    int first = !depthwise;
    int code =
        dnnl->memory_desc_init_by_strides(&l->w, 5 - first, dims + first, type, strides + first);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->memory_desc_init_by_tag(&l->any_w, 5 - first, dims + first, type,
                                             ASSAY_DNNL_FORMAT_ANY);
    return code;
}

static int describe(const struct assay_dnnl_api *dnnl, const struct assay_problem *p,
                    struct layout *l)
{
    struct assay_conv c = assay_conv_of(p);
    int type = assay_onednn_dtype(p->dtype);
    bool depthwise = p->inputs[ASSAY_CONV_BACKWARD_W].rank == 3;
    int code = describe_images(dnnl, type, c.batch, c.height, c.width, c.in, &l->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_images(dnnl, type, c.batch, c.out_height, c.out_width, c.out, &l->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = describe_filters(dnnl, type, &c, depthwise, l);
    if (code == ASSAY_DNNL_SUCCESS)
        code = assay_onednn_describe(dnnl, p->dtype, 1, &c.out, &l->bias);
    return code;
}

static bool has_bias(const struct state *s) { return s->problem->n_outputs > ASSAY_CONV_DBIAS; }

/* ---- setup ----------------------------------------------------------------------------------- */

static int add_arg(struct state *s, int arg, enum operand operand,
                   const struct assay_dnnl_memory_desc *desc)
{
    struct step *step = &s->steps[s->n_steps - 1];
    step->operands[step->n] = operand;
    step->args[step->n].arg = arg;
    void *data = operand >= OWN_W ? s->own[operand - OWN_W].data : NULL;
    step->bound[step->n] = data;
    return s->dnnl->memory_create(&step->args[step->n++].memory, desc, s->engine, data);
}

static int add_step(struct state *s, const struct assay_dnnl_primitive_desc *choice)
{
    return s->dnnl->primitive_create(&s->steps[s->n_steps++].primitive, choice);
}

static int add_reorder(struct state *s, enum operand from,
                       const struct assay_dnnl_memory_desc *from_desc, enum operand to,
                       const struct assay_dnnl_memory_desc *to_desc)
{
    struct assay_dnnl_primitive_desc *choice = NULL;
    int code = s->dnnl->reorder_primitive_desc_create(&choice, from_desc, s->engine, to_desc,
                                                      s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_step(s, choice);
    s->dnnl->primitive_desc_destroy(choice);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_SRC_0, from, from_desc);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_DST, to, to_desc);
    return code;
}

/* The layout that the library chose, which lives in its choice, and which operand has it: the op's
 * own, or one of ours. */
struct chosen {
    const struct assay_dnnl_memory_desc *desc;
    enum operand operand;
};

static int choose(struct state *s, const struct assay_dnnl_primitive_desc *choice, int what,
                  const struct layout *l, enum operand theirs, struct chosen *out)
{
    enum operand own = theirs == W ? OWN_W : OWN_DW;
    out->desc = s->dnnl->primitive_desc_query_md(choice, what, 0);
    out->operand = theirs;
    if (s->dnnl->memory_desc_equal(out->desc, &l->w))
        return ASSAY_DNNL_SUCCESS;
    out->operand = own;
    return assay_onednn_buffer_init(&s->own[own - OWN_W], s->dnnl->memory_desc_get_size(out->desc))
               ? ASSAY_DNNL_SUCCESS
               : ASSAY_DNNL_OUT_OF_MEMORY;
}

static int add_data(struct state *s, const struct layout *l,
                    const struct assay_dnnl_primitive_desc *choice)
{
    struct chosen w;
    int code = choose(s, choice, ASSAY_DNNL_QUERY_WEIGHTS, l, W, &w);
    if (code == ASSAY_DNNL_SUCCESS && w.operand == OWN_W)
        code = add_reorder(s, W, &l->w, OWN_W, w.desc);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_step(s, choice);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_DIFF_DST, DY, &l->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_WEIGHTS, w.operand, w.desc);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_DIFF_SRC, DX, &l->x);
    return code;
}

static int add_weights(struct state *s, const struct layout *l,
                       const struct assay_dnnl_primitive_desc *choice)
{
    struct chosen dw;
    int code = choose(s, choice, ASSAY_DNNL_QUERY_DIFF_WEIGHTS, l, DW, &dw);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_step(s, choice);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_DIFF_DST, DY, &l->y);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_SRC_0, X, &l->x);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_arg(s, ASSAY_DNNL_ARG_DIFF_WEIGHTS, dw.operand, dw.desc);
    if (code == ASSAY_DNNL_SUCCESS && has_bias(s))
        code = add_arg(s, ASSAY_DNNL_ARG_DIFF_BIAS, DBIAS, &l->bias);
    if (code == ASSAY_DNNL_SUCCESS && dw.operand == OWN_DW)
        code = add_reorder(s, OWN_DW, dw.desc, DW, &l->w);
    return code;
}

static int make_data(struct state *s, const struct layout *l, const int64_t *strides,
                     const int64_t *padding)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_op_desc desc;
    struct assay_dnnl_primitive_desc *choice = NULL;
    int code = dnnl->convolution_backward_data_desc_init(
        &desc, ASSAY_DNNL_CONVOLUTION_DIRECT, &l->x, &l->any_w, &l->y, strides, padding, padding);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_desc_create(&choice, &desc, NULL, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_data(s, l, choice);
    dnnl->primitive_desc_destroy(choice);
    return code;
}

static int make_weights(struct state *s, const struct layout *l, const int64_t *strides,
                        const int64_t *padding)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_dnnl_op_desc desc;
    struct assay_dnnl_primitive_desc *choice = NULL;
    int code = dnnl->convolution_backward_weights_desc_init(
        &desc, ASSAY_DNNL_CONVOLUTION_DIRECT, &l->x, &l->any_w, has_bias(s) ? &l->bias : NULL,
        &l->y, strides, padding, padding);
    if (code == ASSAY_DNNL_SUCCESS)
        code = dnnl->primitive_desc_create(&choice, &desc, NULL, s->engine, NULL);
    if (code == ASSAY_DNNL_SUCCESS)
        code = add_weights(s, l, choice);
    dnnl->primitive_desc_destroy(choice);
    return code;
}

static int create_all(struct state *s, const char **what)
{
    const struct assay_dnnl_api *dnnl = s->dnnl;
    struct assay_conv c = assay_conv_of(s->problem);
    int64_t strides[2] = {c.stride, c.stride}, padding[2] = {c.pad, c.pad};
    struct layout layout;
    *what = "making an engine";
    int code = dnnl->engine_create(&s->engine, ASSAY_DNNL_ENGINE_CPU, 0);
    if (code == ASSAY_DNNL_SUCCESS) {
        *what = "making a stream";
        code = dnnl->stream_create(&s->stream, s->engine, ASSAY_DNNL_STREAM_DEFAULT);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        *what = "describing the operation";
        code = describe(dnnl, s->problem, &layout);
    }
    int before = dnnl->omp_get_max_threads(); /* the library plans for as many threads as it sees */
    dnnl->omp_set_num_threads(s->problem->threads);
    if (code == ASSAY_DNNL_SUCCESS) {
        *what = "making the gradient of data";
        code = make_data(s, &layout, strides, padding);
    }
    if (code == ASSAY_DNNL_SUCCESS) {
        *what = "making the gradient of weights";
        code = make_weights(s, &layout, strides, padding);
    }
    dnnl->omp_set_num_threads(before);
    return code;
}

static void teardown(void *state)
{
    struct state *s = state;
    for (int32_t i = 0; i < s->n_steps; i++) { /* NULL is fine everywhere */
        for (int32_t k = 0; k < s->steps[i].n; k++)
            s->dnnl->memory_destroy(s->steps[i].args[k].memory);
        s->dnnl->primitive_destroy(s->steps[i].primitive);
    }
    s->dnnl->stream_destroy(s->stream);
    s->dnnl->engine_destroy(s->engine);
    for (int i = 0; i < 2; i++)
        assay_onednn_buffer_fini(&s->own[i]);
    assay_free(s);
}

static enum assay_status setup(const struct assay_problem *problem, void **state,
                               struct assay_error *err)
{
    const struct assay_dnnl_api *dnnl;
    const char *what;
    enum assay_status status = assay_onednn_api(&dnnl, err);
    if (status != ASSAY_OK)
        return status;
    struct state *s = assay_calloc(1, sizeof *s);
    if (!s)
        return assay_error_nomem(err);
    s->dnnl = dnnl;
    s->problem = problem;
    int code = create_all(s, &what);
    if (code == ASSAY_DNNL_SUCCESS) {
        *state = s;
        return ASSAY_OK;
    }
    teardown(s);
    return assay_onednn_failed(problem, what, code, err);
}

static enum assay_status setup_avx512(const struct assay_problem *problem, void **state,
                                      struct assay_error *err)
{
    enum assay_status status = assay_onednn_leave_out_amx(err);
    return status == ASSAY_OK ? setup(problem, state, err) : status;
}

/* ---- run ------------------------------------------------------------------------------------- */

/* Points a step at this call's data; a hot measurement pays only the comparison. */
static int bind(struct state *s, struct step *step, const struct assay_args *args)
{
    for (int32_t i = 0; i < step->n; i++) {
        enum operand operand = step->operands[i];
        if (operand >= OWN_W)
            continue;
        const void *data = operand < DX ? args->in[operand] : args->out[operand - DX];
        if (data == step->bound[i])
            continue;
        int code =
            s->dnnl->memory_set_data_handle(step->args[i].memory, assay_onednn_writable(data));
        if (code != ASSAY_DNNL_SUCCESS)
            return code;
        step->bound[i] = data;
    }
    return ASSAY_DNNL_SUCCESS;
}

static int execute(struct state *s, const struct assay_args *args)
{
    int code = ASSAY_DNNL_SUCCESS;
    for (int32_t i = 0; i < s->n_steps && code == ASSAY_DNNL_SUCCESS; i++) {
        struct step *step = &s->steps[i];
        code = bind(s, step, args);
        if (code == ASSAY_DNNL_SUCCESS)
            code = s->dnnl->primitive_execute(step->primitive, s->stream, step->n, step->args);
    }
    return code == ASSAY_DNNL_SUCCESS ? s->dnnl->stream_wait(s->stream) : code;
}

static enum assay_status run(void *state, const struct assay_work *work)
{
    struct state *s = state;
    const struct assay_dnnl_api *dnnl = s->dnnl;
    int before = dnnl->omp_get_max_threads(), code = ASSAY_DNNL_SUCCESS;
    dnnl->omp_set_num_threads(s->problem->threads); /* a thread's own variable: costs nothing */
    for (int64_t i = 0; i < work->iters && code == ASSAY_DNNL_SUCCESS; i++)
        code = execute(s, assay_work_args(work, i));
    dnnl->omp_set_num_threads(before);
    return code == ASSAY_DNNL_SUCCESS ? ASSAY_OK : ASSAY_ERR_DEVICE;
}

/* conv2d with all that the library has for this CPU, and without AMX, for machines where it dies of
 * it: f32 uses none, nor does the depthwise one. 2.x computes in f16 on no CPU. */
#define KERNEL(ident, op_, suffix, dtypes_, preference_)                                           \
    extern const struct assay_kernel assay_kernel_##ident;                                         \
    const struct assay_kernel assay_kernel_##ident = {                                             \
        .struct_size = sizeof(struct assay_kernel),                                                \
        .abi = ASSAY_KERNEL_ABI,                                                                   \
        .name = #ident,                                                                            \
        .op = op_,                                                                                 \
        .implementation = "onednn",                                                                \
        .device = "cpu",                                                                           \
        .dtypes = dtypes_,                                                                         \
        .preference = preference_,                                                                 \
        .can_run = assay_onednn_isa_can_run##suffix,                                               \
        .setup = setup##suffix,                                                                    \
        .run = run,                                                                                \
        .teardown = teardown,                                                                      \
        .note = assay_onednn_isa_note##suffix,                                                     \
    }
KERNEL(conv2d_backward_onednn, "conv2d_backward", ,
       ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 1);
KERNEL(conv2d_backward_onednn_avx512, "conv2d_backward", _avx512, ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16),
       0);
KERNEL(depthwise_conv2d_backward_onednn, "depthwise_conv2d_backward", ,
       ASSAY_DTYPE_BIT(ASSAY_DTYPE_F32) | ASSAY_DTYPE_BIT(ASSAY_DTYPE_BF16), 1);
