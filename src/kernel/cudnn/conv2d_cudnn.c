/* conv2d_cudnn.c: conv2d by NVIDIA's cuDNN, bias and residual fused behind it. In f32 without TF32;
 * Winograd and FFT engines are skipped: their error is larger than the op allows. */
#include "kernel/cudnn/cudnn_graph.h"
#include "op/conv.h"

enum { RANK = 4 };

struct state {
    struct cudnn_graph graph; /* first */
    struct assay_conv conv;
    size_t element_bytes;
};

static enum assay_status can_run(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    return assay_cudnn_can_run(why);
}

/* The library counts axes as [batch, channels, height, width]; channels lie last in memory. */
struct image {
    int64_t sizes[RANK], strides[RANK];
};

static struct image image_of(int64_t batch, int64_t channels, int64_t height, int64_t width)
{
    return (struct image){{batch, channels, height, width},
                          {height * width * channels, 1, width * channels, channels}};
}

static cudnn_tensor operand(struct cudnn_graph *g, int type, struct image image)
{
    return assay_cudnn_operand(g, type, image.sizes, image.strides);
}

/* y, or what comes before it. */
static cudnn_tensor output(struct cudnn_graph *g, int type, const struct assay_conv *c, bool last)
{
    struct image y = image_of(c->batch, c->out, c->out_height, c->out_width);
    return last ? operand(g, type, y) : assay_cudnn_between(g, DNN_FLOAT, y.sizes, y.strides);
}

/* Adds `more`, of which there may be one for each channel or for each element. */
static cudnn_tensor added(struct cudnn_graph *g, int type, const struct assay_conv *c,
                          cudnn_tensor x, cudnn_tensor more, bool last)
{
    const struct cudnn_pointwise add = {.mode = DNN_ADD, .math = DNN_FLOAT, .x = x, .b = more};
    cudnn_tensor y = output(g, type, c, last);
    assay_cudnn_pointwise(g, &add, y);
    return y;
}

/* Operands in this order: x, W, bias, residual, y. */
static void describe(struct state *s, int type)
{
    struct cudnn_graph *g = &s->graph;
    const struct assay_conv *c = &s->conv;
    bool bias = c->bias >= 0, residual = c->residual >= 0;
    cudnn_tensor x = operand(g, type, image_of(c->batch, c->in, c->height, c->width));
    cudnn_tensor w = operand(g, type, image_of(c->out, c->in, c->kernel, c->kernel));
    cudnn_tensor b = bias ? operand(g, type, image_of(1, c->out, 1, 1)) : NULL;
    cudnn_tensor r =
        residual ? operand(g, type, image_of(c->batch, c->out, c->out_height, c->out_width)) : NULL;
    cudnn_tensor y = output(g, type, c, !bias && !residual);
    assay_cudnn_convolution(g, x, w, y, c->stride, c->pad);
    if (bias)
        y = added(g, type, c, y, b, !residual);
    if (residual)
        added(g, type, c, y, r, true);
}

static enum assay_status plan(void *state, const struct assay_problem *problem,
                              struct assay_error *err)
{
    struct state *s = state;
    s->conv = assay_conv_of(problem);
    s->element_bytes = assay_dtype_bytes(problem->dtype);
    enum assay_status status = assay_cudnn_begin(&s->graph, err);
    if (status != ASSAY_OK)
        return status;
    describe(s, assay_cudnn_type(problem->dtype));
    return assay_cudnn_compile(&s->graph, problem, problem->dtype != ASSAY_DTYPE_F32, err);
}

static enum assay_status call(void *state, int64_t set, const struct assay_args *args, void *stream)
{
    struct state *s = state;
    (void)set;
    const void *operands[ASSAY_MAX_INPUTS + 1];
    int n = 0;
    operands[n++] = args->in[ASSAY_CONV_X];
    operands[n++] = args->in[ASSAY_CONV_W];
    if (s->conv.bias >= 0)
        operands[n++] = args->in[s->conv.bias];
    if (s->conv.residual >= 0)
        operands[n++] = args->in[s->conv.residual];
    operands[n] = args->out[0];
    return assay_cudnn_run(&s->graph, operands, stream);
}

/* Each set has its own filters, which are not repacked. */
static size_t prepared_bytes(void *state)
{
    const struct state *s = state;
    const struct assay_conv *c = &s->conv;
    return (size_t)(c->out * c->kernel * c->kernel * c->in) * s->element_bytes;
}

static const struct cuda_op conv2d = {.state_bytes = sizeof(struct state),
                                      .plan = plan,
                                      .call = call,
                                      .release = assay_cudnn_release};

CUDA_KERNEL(conv2d_cudnn, "conv2d", "cudnn", conv2d, .dtypes = CUDA_FLOATS, .preference = 1,
            .can_run = can_run, .prepare = assay_cudnn_prepare, .prepared_bytes = prepared_bytes,
            .note = assay_cudnn_note);
