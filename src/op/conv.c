/* conv.c: what conv2d, depthwise_conv2d and their gradients share: sizes, modes, fills and
 * tolerance. */
#include "op/conv_common.h"

#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"

#include <stdio.h>
#include <stdlib.h>

static bool has(const struct assay_problem *p, int param) { return p->params[param] != 0; }

bool assay_conv_is_depthwise(const struct assay_problem *p)
{
    return strncmp(p->op, "depthwise", 9) == 0;
}

static bool is_backward(const struct assay_problem *p)
{
    return strstr(p->op, "_backward") != NULL;
}

struct assay_conv assay_conv_of(const struct assay_problem *p)
{
    bool depthwise = assay_conv_is_depthwise(p), forward = !is_backward(p);
    int64_t kernel = p->axes[depthwise ? ASSAY_DEPTHWISE_KERNEL : ASSAY_CONV2D_KERNEL];
    int64_t stride = p->axes[depthwise ? ASSAY_DEPTHWISE_STRIDE : ASSAY_CONV2D_STRIDE];
    bool bias = forward && has(p, ASSAY_CONV_BIAS);
    bool residual = forward && !depthwise && has(p, ASSAY_CONV_ADD);
    struct assay_conv c = {
        .batch = p->axes[ASSAY_CONV2D_BATCH],
        .height = p->axes[ASSAY_CONV2D_HEIGHT],
        .width = p->axes[ASSAY_CONV2D_WIDTH],
        .in = p->axes[ASSAY_CONV2D_IN],
        .out = p->axes[depthwise ? ASSAY_DEPTHWISE_CHANNELS : ASSAY_CONV2D_OUT],
        .kernel = kernel,
        .stride = stride,
        .pad =
            p->params[ASSAY_CONV_PAD] < 0 ? (kernel - 1) / 2 : (int64_t)p->params[ASSAY_CONV_PAD],
        .bias = bias ? ASSAY_CONV_W + 1 : -1,
        .residual = residual ? ASSAY_CONV_W + 1 + bias : -1,
    };
    c.out_height = (c.height + 2 * c.pad - kernel) / stride + 1;
    c.out_width = (c.width + 2 * c.pad - kernel) / stride + 1;
    return c;
}

enum assay_status assay_conv_check(const struct assay_problem *p, struct assay_error *err)
{
    static const int64_t most = INT64_C(1) << 30;
    for (int32_t i = 0; i < p->n_axes; i++)
        if (p->axes[i] > most)
            return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                                   "a size of %lld is too large: %lld at the most",
                                   (long long)p->axes[i], (long long)most);
    struct assay_conv c = assay_conv_of(p);
    if (c.pad >= c.kernel)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                               "padding of %lld with a kernel of %lld makes windows of nothing "
                               "but padding; padding must be less than the kernel",
                               (long long)c.pad, (long long)c.kernel);
    if (c.height + 2 * c.pad < c.kernel || c.width + 2 * c.pad < c.kernel)
        return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                               "a kernel of %lld does not fit into an image of %lld x %lld with "
                               "padding of %lld",
                               (long long)c.kernel, (long long)c.height, (long long)c.width,
                               (long long)c.pad);
    return ASSAY_OK;
}

static struct assay_tensor tensor_x(const struct assay_problem *p, const struct assay_conv *c)
{
    return (struct assay_tensor){
        .dtype = p->dtype, .rank = 4, .dims = {c->batch, c->height, c->width, c->in}};
}

static struct assay_tensor tensor_w(const struct assay_problem *p, const struct assay_conv *c)
{
    if (assay_conv_is_depthwise(p))
        return (struct assay_tensor){
            .dtype = p->dtype, .rank = 3, .dims = {c->kernel, c->kernel, c->out}};
    return (struct assay_tensor){
        .dtype = p->dtype, .rank = 4, .dims = {c->out, c->kernel, c->kernel, c->in}};
}

static struct assay_tensor tensor_y(const struct assay_problem *p, const struct assay_conv *c)
{
    return (struct assay_tensor){
        .dtype = p->dtype, .rank = 4, .dims = {c->batch, c->out_height, c->out_width, c->out}};
}

void assay_conv_backward_shapes(struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    p->n_inputs = 3;
    p->n_outputs = 2 + has(p, ASSAY_CONV_BIAS);
    p->inputs[ASSAY_CONV_BACKWARD_DY] = tensor_y(p, &c);
    p->inputs[ASSAY_CONV_BACKWARD_X] = p->outputs[ASSAY_CONV_DX] = tensor_x(p, &c);
    p->inputs[ASSAY_CONV_BACKWARD_W] = p->outputs[ASSAY_CONV_DW] = tensor_w(p, &c);
    if (has(p, ASSAY_CONV_BIAS))
        p->outputs[ASSAY_CONV_DBIAS] = assay_op_vector(p, c.out);
}

void assay_conv_shapes(struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    p->n_inputs = 2 + (c.bias >= 0) + (c.residual >= 0);
    p->n_outputs = 1;
    p->inputs[ASSAY_CONV_X] = tensor_x(p, &c);
    p->inputs[ASSAY_CONV_W] = tensor_w(p, &c);
    p->outputs[0] = tensor_y(p, &c);
    if (c.bias >= 0)
        p->inputs[c.bias] = assay_op_vector(p, c.out);
    if (c.residual >= 0)
        p->inputs[c.residual] = p->outputs[0];
}

/* ---- modes ------------------------------------------------------------------------------------
 */

static bool takes_residual(const struct assay_problem *p)
{
    return !assay_conv_is_depthwise(p) && !is_backward(p);
}

static enum assay_status refuse(const struct assay_problem *p, const char *mode, const char *word,
                                struct assay_error *err)
{
    if (is_backward(p) && assay_text_same(word, "add"))
        return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                               "has no gradient of a residual (\"%s\"), which is dY itself; a mode "
                               "is padN, bias, or both",
                               word);
    return assay_error_set(err, ASSAY_ERR_INVALID, p->op,
                           "unknown mode \"%.100s\"; a mode is padN (N zeros around the image; "
                           "without it half "
                           "the kernel), bias%s, each at most once, or several: pad0+bias",
                           mode, takes_residual(p) ? ", add (a residual behind)" : "");
}

/* One word of a mode; false where there is none such, or where it came before. */
static bool set_word(struct assay_problem *p, const char *word)
{
    if (assay_text_same(word, "none"))
        return true;
    if (strncmp(word, "pad", 3) == 0 && word[3] >= '0' && word[3] <= '9') {
        char *end;
        long pad = strtol(word + 3, &end, 10);
        bool fine = !*end && pad <= 1 << 20 && p->params[ASSAY_CONV_PAD] < 0;
        if (fine)
            p->params[ASSAY_CONV_PAD] = (double)pad;
        return fine;
    }
    int param = assay_text_same(word, "bias")                       ? ASSAY_CONV_BIAS
                : assay_text_same(word, "add") && takes_residual(p) ? ASSAY_CONV_ADD
                                                                    : -1;
    if (param < 0 || has(p, param))
        return false;
    p->params[param] = 1;
    return true;
}

enum assay_status assay_conv_set_mode(struct assay_problem *p, const char *mode,
                                      struct assay_error *err)
{
    char word[32];
    p->params[ASSAY_CONV_PAD] = -1;
    p->params[ASSAY_CONV_BIAS] = p->params[ASSAY_CONV_ADD] = 0;
    for (const char *rest = mode[0] ? mode : NULL; rest;) {
        size_t length = strcspn(rest, "+");
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), rest);
        if (!set_word(p, word))
            return refuse(p, mode, word, err);
        rest = rest[length] ? rest + length + 1 : NULL;
    }
    return ASSAY_OK;
}

/* ---- fills, exactness, tolerance --------------------------------------------------------------
 */

bool assay_conv_is_weight(const struct assay_problem *p, int32_t input)
{
    (void)p;
    return input == ASSAY_CONV_W;
}

/* Products summed for one element of y, or of a gradient. */
static int64_t depth(const struct assay_conv *c, const struct assay_problem *p)
{
    return c->kernel * c->kernel * (assay_conv_is_depthwise(p) ? 1 : c->in);
}

static int64_t gradient_depth(const struct assay_conv *c, const struct assay_problem *p,
                              int32_t output)
{
    if (output != ASSAY_CONV_DX)
        return c->batch * c->out_height * c->out_width;
    return c->kernel * c->kernel * (assay_conv_is_depthwise(p) ? 1 : c->out);
}

static int32_t weight_of(const struct assay_problem *p)
{
    return is_backward(p) ? ASSAY_CONV_BACKWARD_W : ASSAY_CONV_W;
}

void assay_conv_fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    struct assay_conv c = assay_conv_of(p);
    double deviation = index == weight_of(p) ? 1 / sqrt((double)depth(&c, p)) : 1;
    double first = 1.5 * deviation; /* never all zeros */
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, deviation, 0);
    assay_dtype_store(p->inputs[index].dtype, &first, data, 0, 1);
}

/* Integers so small that no sum leaves those that f32 holds, nor f16's range. */
void assay_conv_fill_exact(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    enum { BLOCK = 512 };
    const struct assay_tensor *t = &p->inputs[index];
    int64_t count = assay_tensor_count(t), limit = index == weight_of(p) ? 7 : 3;
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < count; first += BLOCK) {
        double values[BLOCK];
        int64_t n = count - first < BLOCK ? count - first : BLOCK;
        for (int64_t i = 0; i < n; i++)
            values[i] = (double)((int64_t)(assay_rng_at(seed, (uint64_t)(first + i)) %
                                           (uint64_t)(2 * limit + 1)) -
                                 limit);
        assay_dtype_store(t->dtype, values, data, first, n);
    }
}

bool assay_conv_can_be_exact(const struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    return depth(&c, p) <= 1 << 18;
}

/* dW and dbias have no factor above 3. */
bool assay_conv_backward_can_be_exact(const struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    return gradient_depth(&c, p, ASSAY_CONV_DX) <= 1 << 18 &&
           gradient_depth(&c, p, ASSAY_CONV_DW) <= 1 << 20;
}

void assay_conv_sizes(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, const double *out, double *squares)
{
    struct assay_conv c = assay_conv_of(p);
    for (int64_t i = 0; i < n; i++) {
        double bias = assay_conv_optional(p, in, c.bias, first + i);
        double residual = assay_conv_optional(p, in, c.residual, row * c.out + first + i);
        squares[i] =
            assay_op_sum_size(out[i] - bias - residual, squares[i]) + fabs(bias) + fabs(residual);
    }
}

/* As of `linear` with as many products; 128 units of f32 more, because convolutions of 3 x 3 may be
 * computed by transforms (Winograd's) whose intermediate values are larger than the terms. */
static struct assay_tolerance tolerance_of_sums(const struct assay_problem *p, int64_t products)
{
    const struct assay_dtype_info *info = assay_dtype_info(p->dtype);
    return (struct assay_tolerance){.relative = info->unit + 4 * 0x1p-24,
                                    .absolute = info->tiny,
                                    .summed =
                                        assay_op_sum_error(p->dtype, products) + 128 * 0x1p-24};
}

struct assay_tolerance assay_conv_tolerance(const struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    return tolerance_of_sums(p, depth(&c, p));
}

/* dX is a sum over taps and output channels, the others over all pixels of y. Both gradients of
 * 3 x 3 can be computed by the same transforms; dbias can be taken for products with ones. */
struct assay_tolerance assay_conv_backward_tolerance(const struct assay_problem *p, int32_t output)
{
    struct assay_conv c = assay_conv_of(p);
    return tolerance_of_sums(p, gradient_depth(&c, p, output));
}

struct assay_cost assay_conv_cost(const struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    struct assay_cost cost = assay_op_cost_streaming(p, 0);
    cost.flops = 2.0 * (double)assay_tensor_count(&p->outputs[0]) * (double)depth(&c, p);
    cost.weight_bytes = (double)assay_tensor_bytes(&p->inputs[ASSAY_CONV_W]);
    return cost;
}

/* Two products of the forward pass's size; both sum over what it sums over, or produces. */
struct assay_cost assay_conv_backward_cost(const struct assay_problem *p)
{
    struct assay_conv c = assay_conv_of(p);
    struct assay_cost cost = assay_op_cost_streaming(p, 0);
    double pixels = (double)assay_tensor_count(&p->inputs[ASSAY_CONV_BACKWARD_DY]);
    cost.flops = 2 * 2.0 * pixels * (double)depth(&c, p);
    return cost;
}

const char *assay_conv_node_refuse(const struct assay_problem *p)
{
    return assay_conv_of(p).residual < 0 ? NULL
                                         : "a residual is a node of its own; `compiled` fuses it";
}
