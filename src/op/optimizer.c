/* optimizer.c: one step of adamw and of sgd: from weights and their gradient new weights, and new
 * moments or a new buffer, element by element, in tensors of their own.
 *
 * adamw, step t, as Loshchilov and Hutter and PyTorch have it:
 *     m' = beta1 m + (1 - beta1) g,  v' = beta2 v + (1 - beta2) g^2
 *     w' = w (1 - lr decay) - lr / (1 - beta1^t) m' / (sqrt(v' / (1 - beta2^t)) + eps)
 * sgd:
 *     b' = momentum b + g + decay w,  w' = w - lr b', without momentum b' = g + decay w
 *
 * Arithmetic is f32 or better, and w' comes from m' and v' before these are rounded. */
#include "op/optimizer.h"

#include "base/rng.h"
#include "base/text.h"
#include "op/common.h"

enum { BLOCK = 512 };

/* w is small, as trained weights are, so that a step of lr shows in bf16; gradients are about 1,
 * so that none is below the range of f16. */
static const double W_SCALE = 0.02;

/* Elements without a gradient so far, as rows of an embedding have them: eps alone keeps 0 / 0
 * away. */
enum { NONE_AT = 60, NONE_EVERY = 61 };

static void clear_some(const struct assay_tensor *t, void *data)
{
    const double none = 0;
    for (int64_t i = NONE_AT; i < assay_tensor_count(t); i += NONE_EVERY)
        assay_dtype_store(t->dtype, &none, data, i, 1);
}

/* ---- adamw ----------------------------------------------------------------------------------- */

static void shapes_adamw(struct assay_problem *p)
{
    p->n_inputs = 4;
    p->n_outputs = 3;
    for (int32_t i = 0; i < p->n_inputs; i++)
        p->inputs[i] = assay_op_bsd(p);
    for (int32_t i = 0; i < p->n_outputs; i++)
        p->outputs[i] = assay_op_bsd(p);
}

/* 1 - beta^t: what the sum of the weights of all gradients so far lacks of 1 is divided out. */
static double correction(const struct assay_problem *p, int beta)
{
    return 1 - pow(p->params[beta], p->params[ASSAY_ADAMW_STEP]);
}

/* v as it is after gradients like g: their squares times what is known of it. */
static void fill_v(const struct assay_problem *p, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[ASSAY_ADAMW_V];
    int64_t n = assay_tensor_count(t);
    double known = correction(p, ASSAY_ADAMW_BETA2);
#pragma omp parallel for schedule(static)
    for (int64_t at = 0; at < n; at += ASSAY_FILL_BLOCK) {
        double values[ASSAY_FILL_BLOCK];
        int64_t count = n - at < ASSAY_FILL_BLOCK ? n - at : ASSAY_FILL_BLOCK;
        assay_tensor_fill_values(t->dtype, seed, 1, 0, at, count, values);
        for (int64_t i = 0; i < count; i++)
            values[i] = known * (0.25 + values[i] * values[i]);
        assay_dtype_store(t->dtype, values, data, at, count);
    }
}

static void fill_adamw(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    double known = correction(p, ASSAY_ADAMW_BETA1);
    if (index == ASSAY_ADAMW_V)
        fill_v(p, data, seed);
    else
        assay_tensor_fill_scaled(t, data, seed,
                                 index == ASSAY_ADAMW_W   ? W_SCALE
                                 : index == ASSAY_ADAMW_M ? known
                                                          : 1,
                                 0);
    if (index != ASSAY_ADAMW_W)
        clear_some(t, data);
}

/* One element: all outputs, and how large what they are computed from is. */
struct adamw {
    double w, m, v;
    double w_size, m_size;
};

static struct adamw adamw_of(const struct assay_problem *p, double w, double g, double m, double v)
{
    const double *params = p->params;
    double lr = params[ASSAY_ADAMW_LR], beta1 = params[ASSAY_ADAMW_BETA1];
    double beta2 = params[ASSAY_ADAMW_BETA2];
    struct adamw out = {.m = beta1 * m + (1 - beta1) * g, .v = beta2 * v + (1 - beta2) * g * g};
    double root = sqrt(out.v / correction(p, ASSAY_ADAMW_BETA2)) + params[ASSAY_ADAMW_EPS];
    double rate = lr / correction(p, ASSAY_ADAMW_BETA1) / root;
    out.m_size = fabs(beta1 * m) + fabs((1 - beta1) * g);
    out.w = w * (1 - lr * params[ASSAY_ADAMW_WEIGHT_DECAY]) - rate * out.m;
    out.w_size = fabs(w) + rate * out.m_size;
    return out;
}

/* Output `output`, n elements; sizes may be NULL. */
static void adamw_rows(const struct assay_problem *p, const void *const *in, int output,
                       int64_t row, int64_t first, int64_t n, double *out, double *sizes)
{
    double w[BLOCK], g[BLOCK], m[BLOCK], v[BLOCK];
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        assay_op_load_row(p, in, ASSAY_ADAMW_W, row, first + at, count, w);
        assay_op_load_row(p, in, ASSAY_ADAMW_G, row, first + at, count, g);
        assay_op_load_row(p, in, ASSAY_ADAMW_M, row, first + at, count, m);
        assay_op_load_row(p, in, ASSAY_ADAMW_V, row, first + at, count, v);
        for (int64_t i = 0; i < count; i++) {
            struct adamw one = adamw_of(p, w[i], g[i], m[i], v[i]);
            double size = output == 0 ? one.w_size : output == 1 ? one.m_size : fabs(one.v);
            out[at + i] = output == 0 ? one.w : output == 1 ? one.m : one.v;
            if (sizes)
                sizes[at + i] = isfinite(size) ? size : 0;
        }
    }
}

static void adamw_w(const struct assay_problem *p, const void *const *in, int64_t row,
                    int64_t first, int64_t n, double *out, double *sizes)
{
    adamw_rows(p, in, 0, row, first, n, out, sizes);
}

static void adamw_m(const struct assay_problem *p, const void *const *in, int64_t row,
                    int64_t first, int64_t n, double *out, double *sizes)
{
    adamw_rows(p, in, 1, row, first, n, out, sizes);
}

static void adamw_v(const struct assay_problem *p, const void *const *in, int64_t row,
                    int64_t first, int64_t n, double *out, double *sizes)
{
    adamw_rows(p, in, 2, row, first, n, out, sizes);
}

static void adamw(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                  int64_t n, double *out)
{
    adamw_rows(p, in, 0, row, first, n, out, NULL);
}

static struct assay_cost cost_adamw(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 14);
}

static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(p, ASSAY_OP_UNITS);
}

/* v' is nothing but beta2 v, so that the root of v' / (1 - beta2^10) is 1, and m' is 0.9. */
#define CORRECTION1 (1 - 0.9 * 0.9 * 0.9 * 0.9 * 0.9 * 0.9 * 0.9 * 0.9 * 0.9 * 0.9)
#define CORRECTION2 0.009955119790251765 /* 1 - 0.999^10 */
static const struct assay_op_example example_adamw = {
    .rows = 1,
    .dim = 2,
    .in = {{1, 0}, {0, 0}, {1, 0}, {CORRECTION2 / 0.999, 0}},
    .want = {1 - 1e-5 - 1e-3 * 0.9 / CORRECTION1 / (1 + 1e-8), 0}};

const struct assay_op assay_op_adamw = {
    .name = "adamw",
    .title = "AdamW",
    .summary = "one step of the optimizer: new weights and moments from weights, gradient and "
               "moments",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"lr", "beta1", "beta2", "eps", "weight_decay", "step"},
    .params = {1e-3, 0.9, 0.999, 1e-8, 1e-2, 10},
    .shapes = shapes_adamw,
    .fill = fill_adamw,
    .reference = adamw,
    .reference_sums = adamw_w,
    .more = {{.reference_sums = adamw_m, .tolerance = tolerance},
             {.reference_sums = adamw_v, .tolerance = tolerance}},
    .cost = cost_adamw,
    .tolerance = tolerance,
    .example = &example_adamw,
};

/* ---- sgd ------------------------------------------------------------------------------------- */

static void shapes_sgd(struct assay_problem *p)
{
    bool momentum = p->params[ASSAY_SGD_MOMENTUM] != 0;
    p->n_inputs = momentum ? 3 : 2;
    p->n_outputs = momentum ? 2 : 1;
    for (int32_t i = 0; i < p->n_inputs; i++)
        p->inputs[i] = assay_op_bsd(p);
    for (int32_t i = 0; i < p->n_outputs; i++)
        p->outputs[i] = assay_op_bsd(p);
}

static enum assay_status set_mode(struct assay_problem *p, const char *mode,
                                  struct assay_error *err)
{
    bool momentum = assay_text_same(mode, "momentum");
    if (mode[0] && !momentum && !assay_text_same(mode, "none"))
        return assay_error_set(err, ASSAY_ERR_INVALID, "sgd",
                               "unknown mode \"%.100s\"; the modes are none and momentum", mode);
    p->params[ASSAY_SGD_MOMENTUM] = momentum ? 0.9 : 0;
    return ASSAY_OK;
}

static void fill_sgd(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    assay_tensor_fill_scaled(&p->inputs[index], data, seed, index == ASSAY_SGD_W ? W_SCALE : 1, 0);
}

static void sgd_rows(const struct assay_problem *p, const void *const *in, int output, int64_t row,
                     int64_t first, int64_t n, double *out, double *sizes)
{
    double lr = p->params[ASSAY_SGD_LR], decay = p->params[ASSAY_SGD_WEIGHT_DECAY];
    double momentum = p->params[ASSAY_SGD_MOMENTUM], w[BLOCK], g[BLOCK], b[BLOCK] = {0};
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t count = n - at < BLOCK ? n - at : BLOCK;
        assay_op_load_row(p, in, ASSAY_SGD_W, row, first + at, count, w);
        assay_op_load_row(p, in, ASSAY_SGD_G, row, first + at, count, g);
        if (momentum != 0)
            assay_op_load_row(p, in, ASSAY_SGD_B, row, first + at, count, b);
        for (int64_t i = 0; i < count; i++) {
            double step = momentum * b[i] + g[i] + decay * w[i];
            double size = fabs(momentum * b[i]) + fabs(g[i]) + fabs(decay * w[i]);
            out[at + i] = output == 0 ? w[i] - lr * step : step;
            size = output == 0 ? fabs(w[i]) + lr * size : size;
            if (sizes)
                sizes[at + i] = isfinite(size) ? size : 0;
        }
    }
}

static void sgd_w(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                  int64_t n, double *out, double *sizes)
{
    sgd_rows(p, in, 0, row, first, n, out, sizes);
}

static void sgd_b(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                  int64_t n, double *out, double *sizes)
{
    sgd_rows(p, in, 1, row, first, n, out, sizes);
}

static void sgd(const struct assay_problem *p, const void *const *in, int64_t row, int64_t first,
                int64_t n, double *out)
{
    sgd_rows(p, in, 0, row, first, n, out, NULL);
}

static struct assay_cost cost_sgd(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, p->params[ASSAY_SGD_MOMENTUM] != 0 ? 6 : 4);
}

const struct assay_op assay_op_sgd = {
    .name = "sgd",
    .title = "SGD",
    .summary = "one step of the optimizer: new weights from weights and gradient",
    .axis_names = ASSAY_BSD_AXES,
    .param_names = {"lr", "weight_decay", "momentum"},
    .params = {1e-3, 1e-2, 0},
    .shapes = shapes_sgd,
    .fill = fill_sgd,
    .reference = sgd,
    .reference_sums = sgd_w,
    .more = {{.reference_sums = sgd_b, .tolerance = tolerance}},
    .cost = cost_sgd,
    .tolerance = tolerance,
    .modes = "momentum (of 0.9, with a buffer)",
    .set_mode = set_mode,
    .example =
        ASSAY_EXAMPLE(1, 2, .in = {{1, -2}, {3, 0.5}}, .want = {1 - 1e-3 * 3.01, -2 - 1e-3 * 0.48}),
};
