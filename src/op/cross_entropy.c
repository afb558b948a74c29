/* cross_entropy: over rows of logits [batch, seq, dim] and one class index (s32) a row, the mean of
 * log(sum(exp(x))) - x[class], one number in f32. */
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

static int64_t class_of(const void *const *in, int64_t row)
{
    return ((const int32_t *)in[1])[row];
}

/* With one of the row's logits changed, where `change` is not NULL. */
static double row_loss(const struct assay_problem *p, const void *const *in, int64_t row,
                       const struct assay_change *change)
{
    enum { BLOCK = 512 };
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
    double target;
    assay_op_load_row(p, in, 0, row, class_of(in, row), 1, &target);
    if (change && change->at == row * length + class_of(in, row))
        target = change->value;
    return log(sum) + max - target;
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
