/* cross_entropy: over rows of logits [batch, seq, dim] and one class index (s32) a row, the mean of
 * log(sum(exp(x))) - x[class], one number in f32. */
#include "base/rng.h"
#include "op/common.h"

static void shapes(struct assay_problem *p)
{
    p->n_inputs = 2;
    p->n_outputs = 1;
    p->inputs[0] = assay_op_bsd(p);
    p->inputs[1] = (struct assay_tensor){
        .dtype = ASSAY_DTYPE_S32, .rank = 2, .dims = {p->axes[0], p->axes[1]}};
    p->outputs[0] = assay_op_scalar();
}

static void fill(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    if (index == 1)
        assay_tensor_fill_index(&p->inputs[1], data, seed, p->axes[2]);
    else
        assay_tensor_fill_normal(&p->inputs[0], data, seed);
}

enum { BLOCK = 512 };

static int64_t class_of(const void *const *in, int64_t row)
{
    return ((const int32_t *)in[1])[row];
}

/* log(sum(exp(x))), with one of the row's logits changed, where `change` is not NULL. */
static double row_logsum(const struct assay_problem *p, const void *const *in, int64_t row,
                         const struct assay_change *change)
{
    int64_t length = p->axes[2];
    double values[BLOCK], max = -(double)INFINITY, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t at = 0; at < length; at += BLOCK) {
            int64_t count = length - at < BLOCK ? length - at : BLOCK;
            assay_op_load_row(p, in, 0, row, at, count, values);
            int64_t changed = change ? change->at - row * length - at : -1;
            if (changed >= 0 && changed < count)
                values[changed] = change->value;
            for (int64_t i = 0; i < count; i++)
                if (pass == 0)
                    max = values[i] > max || isnan(values[i]) ? values[i] : max;
                else
                    sum += exp(values[i] - max);
        }
    return log(sum) + max;
}

static double row_loss(const struct assay_problem *p, const void *const *in, int64_t row,
                       const struct assay_change *change)
{
    double target;
    assay_op_load_row(p, in, 0, row, class_of(in, row), 1, &target);
    if (change && change->at == row * p->axes[2] + class_of(in, row))
        target = change->value;
    return row_logsum(p, in, row, change) - target;
}

static void reference(const struct assay_problem *p, const void *const *in, int64_t row,
                      int64_t first, int64_t n, double *out)
{
    (void)row, (void)first, (void)n;
    int64_t rows = p->axes[0] * p->axes[1];
    double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
    for (int64_t r = 0; r < rows; r++)
        sum += row_loss(p, in, r, NULL);
    out[0] = sum / (double)rows;
}

static struct assay_cost cost(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 4);
}

/* ---- its terms: rows ---- */

static int64_t terms(const struct assay_problem *p) { return p->axes[0] * p->axes[1]; }

static int64_t terms_of_row(const struct assay_problem *p)
{
    (void)p;
    return 1;
}

/* The logit of the right class far below all others: nothing overflows, with or without a shift by
 * the maximum. -30,000 is within f16. */
static struct assay_change raise_term(const struct assay_problem *p, const void *const *in,
                                      int64_t row, double value)
{
    double lowest = p->dtype == ASSAY_DTYPE_F16 ? -3e4 : -1e6;
    struct assay_change change = {
        .input = 0, .at = row * p->axes[2] + class_of(in, row), .value = fmax(-value, lowest)};
    return change;
}

static const struct assay_mean mean = {terms, terms_of_row, row_loss, raise_term};

/* The mean of the rows' losses, which are of one sign. A row's is off by what its sum of dim
 * exponentials is off by, relative to that sum: the logarithm makes it absolute. */
static struct assay_tolerance tolerance(const struct assay_problem *p)
{
    struct assay_tolerance rows = assay_op_tolerance_reduction(p, terms(p), 0);
    struct assay_tolerance one = assay_op_tolerance_reduction(p, p->axes[2], 1);
    rows.absolute = one.absolute;
    return rows;
}

static const char *const aliases[] = {"cross_entropy_loss", "crossentropy", "ce", "loss", NULL};

const struct assay_op assay_op_cross_entropy = {
    .name = "cross_entropy",
    .title = "Cross Entropy Loss",
    .summary = "mean over rows of log(sum(exp(x))) - x[class], one number in f32",
    .aliases = aliases,
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes,
    .fill = fill,
    .reference = reference,
    .cost = cost,
    .tolerance = tolerance,
    .mean = &mean,
    .skeleton = {"cross_entropy", NULL, NULL},
    /* log(1 + 3) - log 3 for class 1 of 0, ln 3; log 4 for class 0; their mean. */
    .example = ASSAY_EXAMPLE(2, 2, .in = {{0, ASSAY_LN3, 0, ASSAY_LN3}, {1, 0}},
                             .want = {(2 * (2 * ASSAY_LN2) - ASSAY_LN3) / 2}),
};

/* ---- backward: dx = (softmax(x) - onehot(class)) g / rows, from log(sum(exp(x))) of each row --
 */

enum { G, LOGITS, CLASSES, LOGSUMS };

static void shapes_backward(struct assay_problem *p)
{
    shapes(p);
    struct assay_tensor classes = p->inputs[1];
    p->n_inputs = 4;
    p->inputs[G] = assay_op_scalar();
    p->inputs[LOGITS] = p->outputs[0] = assay_op_bsd(p);
    p->inputs[CLASSES] = classes;
    p->inputs[LOGSUMS] = assay_op_saved(p, assay_op_times(p->axes[0], p->axes[1]));
}

/* Of the logits that seed gives. */
static double filled_logsum(const struct assay_problem *p, uint64_t seed, int64_t row)
{
    double values[BLOCK], sum = 0;
    for (int64_t at = 0; at < p->axes[2]; at += BLOCK) {
        int64_t n = p->axes[2] - at < BLOCK ? p->axes[2] - at : BLOCK;
        assay_tensor_fill_values(p->dtype, seed, 1, 0, row * p->axes[2] + at, n, values);
        for (int64_t i = 0; i < n; i++)
            sum += exp(values[i]); /* they are within 3.5 */
    }
    return log(sum);
}

static void fill_backward(const struct assay_problem *p, int32_t index, void *data, uint64_t seed)
{
    const struct assay_tensor *t = &p->inputs[index];
    uint64_t own = assay_rng_at(seed, (uint64_t)index), of_logits = assay_rng_at(seed, LOGITS);
    if (index == G)
        assay_op_fill_loss_gradient(data, own, terms(p));
    else if (index == LOGITS)
        assay_tensor_fill_normal(t, data, own);
    else if (index == CLASSES)
        assay_tensor_fill_index(t, data, own, p->axes[2]);
    else {
#pragma omp parallel for schedule(static)
        for (int64_t row = 0; row < t->dims[0]; row++) {
            double logsum = filled_logsum(p, of_logits, row);
            assay_dtype_store(t->dtype, &logsum, data, row, 1);
        }
    }
}

/* Gradients of a row's logits, which are input `logits`, from their values in `out`. An error of
 * x - log(sum) is a part of exp of it; 1 is subtracted at the class. */
static void row_gradient(double logsum, double scale, int64_t target, int64_t n, double *out,
                         double *sizes)
{
    for (int64_t i = 0; i < n; i++) {
        double share = exp(out[i] - logsum), hot = i == target;
        double size = share > 0 ? share * (1 + fabs(out[i]) + fabs(logsum)) : 0;
        if (sizes)
            sizes[i] = fabs(scale) * (size + hot);
        out[i] = (share - hot) * scale;
    }
}

static void backward_sums(const struct assay_problem *p, const void *const *in, int64_t row,
                          int64_t first, int64_t n, double *out, double *sizes)
{
    double g, logsum;
    assay_dtype_load(ASSAY_DTYPE_F32, in[G], 0, 1, &g);
    assay_dtype_load(p->inputs[LOGSUMS].dtype, in[LOGSUMS], row, 1, &logsum);
    assay_op_load_row(p, in, LOGITS, row, first, n, out);
    row_gradient(logsum, g / (double)terms(p), class_of(in + LOGITS, row) - first, n, out, sizes);
}

static void backward(const struct assay_problem *p, const void *const *in, int64_t row,
                     int64_t first, int64_t n, double *out)
{
    backward_sums(p, in, row, first, n, out, NULL);
}

static struct assay_cost cost_backward(const struct assay_problem *p)
{
    struct assay_cost c = assay_op_cost_streaming(p, 0);
    c.flops = 4 * (double)assay_tensor_count(&p->inputs[LOGITS]);
    return c;
}

static struct assay_tolerance tolerance_backward(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(p, ASSAY_OP_UNITS);
}

static const struct assay_gradient gradient_backward = {.pass = ASSAY_PASS_BACKWARD,
                                                        .forward = "cross_entropy",
                                                        .in = {{ASSAY_FROM_GRADIENT, 0},
                                                               {ASSAY_FROM_INPUT, 0},
                                                               {ASSAY_FROM_INPUT, 1},
                                                               {ASSAY_FROM_SAVED, 0}}};

const struct assay_op assay_op_cross_entropy_backward = {
    .name = "cross_entropy_backward",
    .title = "Cross Entropy Loss backward",
    .summary = "dx = (softmax(x) - onehot(class)) g / rows, from the saved log(sum(exp(x))) of "
               "each row and the gradient g of the loss, in f32",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes_backward,
    .fill = fill_backward,
    .fills_together = true,
    .reference = backward,
    .reference_sums = backward_sums,
    .cost = cost_backward,
    .tolerance = tolerance_backward,
    .gradient = &gradient_backward,
    /* softmax is 1/4, 3/4 in both rows. */
    .example = ASSAY_EXAMPLE(
        2, 2, .in = {{8}, {0, ASSAY_LN3, 0, ASSAY_LN3}, {1, 0}, {2 * ASSAY_LN2, 2 * ASSAY_LN2}},
        .want = {1, -1, -3, 3}),
};

/* ---- both: the loss and, of a gradient of 1, dx, in one pass ----------------------------------
 */

static void shapes_both(struct assay_problem *p)
{
    shapes(p);
    p->n_outputs = 2;
    p->outputs[1] = p->inputs[0];
}

static void both_gradient(const struct assay_problem *p, const void *const *in, int64_t row,
                          int64_t first, int64_t n, double *out, double *sizes)
{
    assay_op_load_row(p, in, 0, row, first, n, out);
    row_gradient(row_logsum(p, in, row, NULL), 1 / (double)terms(p), class_of(in, row) - first, n,
                 out, sizes);
}

static struct assay_cost cost_both(const struct assay_problem *p)
{
    return assay_op_cost_streaming(p, 7);
}

/* The sum of exponentials, which is not saved here, has an error of its own. */
static struct assay_tolerance tolerance_both_gradient(const struct assay_problem *p)
{
    return assay_op_tolerance_summed(
        p, ASSAY_OP_UNITS + assay_op_tolerance_reduction(p, p->axes[2], 0).relative);
}

static const struct assay_gradient gradient_both = {
    .pass = ASSAY_PASS_BOTH,
    .forward = "cross_entropy",
    .in = {{ASSAY_FROM_INPUT, 0}, {ASSAY_FROM_INPUT, 1}},
    .of = {-1, 0}};

const struct assay_op assay_op_cross_entropy_both = {
    .name = "cross_entropy_both",
    .title = "Cross Entropy Loss and gradient",
    .summary = "the loss and dx = (softmax(x) - onehot(class)) / rows, in one op",
    .axis_names = ASSAY_BSD_AXES,
    .shapes = shapes_both,
    .fill = fill,
    .reference = reference,
    .more = {{.reference_sums = both_gradient, .tolerance = tolerance_both_gradient}},
    .cost = cost_both,
    .tolerance = tolerance,
    .mean = &mean,
    .gradient = &gradient_both,
    .example = ASSAY_EXAMPLE(2, 2, .in = {{0, ASSAY_LN3, 0, ASSAY_LN3}, {1, 0}},
                             .want = {(2 * (2 * ASSAY_LN2) - ASSAY_LN3) / 2}),
};
