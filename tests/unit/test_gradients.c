/* Gradients against finite differences of their forward ops' references, in double.
 *
 * With weights w on the forward output, L = sum(w y); the gradient's op, given w as the gradient of
 * y, must give dL/dx for each input x that it has an output for. */
#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "op/op.h"

#include <math.h>
#include <string.h>

/* A problem with its tensors in double, or in integers where they are indices. */
struct bed {
    const struct assay_op *op;
    struct assay_problem problem;
    void *in[ASSAY_MAX_INPUTS];
    double *out[ASSAY_MAX_OUTPUTS];
};

static void make(struct bed *bed, const struct assay_op *op, const char *mode, const int64_t *axes)
{
    struct assay_error err = {0};
    bed->op = op;
    enum assay_status status =
        assay_op_problem(op, ASSAY_DTYPE_F64, mode, axes, 1, &bed->problem, &err);
    if (status != ASSAY_OK)
        fail_msg("%s: %s", op->name, err.message);
    for (int32_t i = 0; i < bed->problem.n_inputs; i++) {
        bed->in[i] = assay_calloc(1, assay_tensor_bytes(&bed->problem.inputs[i]));
        assay_op_fill(op, &bed->problem, i, bed->in[i], 7);
    }
    for (int32_t i = 0; i < bed->problem.n_outputs; i++)
        bed->out[i] =
            assay_calloc((size_t)assay_tensor_count(&bed->problem.outputs[i]), sizeof *bed->out[i]);
}

static void destroy(struct bed *bed)
{
    for (int32_t i = 0; i < bed->problem.n_inputs; i++)
        assay_free(bed->in[i]);
    for (int32_t i = 0; i < bed->problem.n_outputs; i++)
        assay_free(bed->out[i]);
}

/* Output `output`, whole, by whichever reference the op has. */
static void compute(struct bed *bed, int32_t output)
{
    const struct assay_problem *p = &bed->problem;
    const void *const *in = (const void *const *)bed->in;
    const struct assay_tensor *t = &p->outputs[output];
    int64_t length = t->dims[t->rank - 1], rows = assay_tensor_count(t) / length;
    if (bed->op->reference_whole) {
        assert_int_equal(bed->op->reference_whole(p, in, output, bed->out[output], NULL), ASSAY_OK);
        return;
    }
    if (output == 0 && bed->op->reference_blocks) {
        int64_t block = bed->op->row_block(p);
        for (int64_t b = 0; b < rows / block; b++)
            assert_int_equal(bed->op->reference_blocks(
                                 p, in, &b, 1, bed->out[0] + b * block * length, NULL, NULL),
                             ASSAY_OK);
        return;
    }
    for (int64_t row = 0; row < rows; row++)
        assay_op_reference(bed->op, p, output, in, row, 0, length, bed->out[output] + row * length,
                           NULL);
}

static const struct assay_gradient *gradient_of(const struct bed *backward)
{
    return assay_op_gradient(backward->op, &backward->problem);
}

/* The input that is the gradient of the output; -1: there is none, it is 1. */
static int32_t weights_of(const struct bed *backward)
{
    for (int32_t i = 0; i < backward->problem.n_inputs; i++)
        if (gradient_of(backward)->in[i].source == ASSAY_FROM_GRADIENT)
            return i;
    return -1;
}

/* sum(w y) of the forward op; w has the type of the gradient's input. */
static double weighted(struct bed *forward, const struct bed *backward)
{
    const struct assay_tensor *t = &forward->problem.outputs[0];
    int32_t weights = weights_of(backward);
    double sum = 0;
    compute(forward, 0);
    for (int64_t i = 0; i < assay_tensor_count(t); i++) {
        double w = 1;
        if (weights >= 0)
            assay_dtype_load(backward->problem.inputs[weights].dtype, backward->in[weights], i, 1,
                             &w);
        sum += w * forward->out[0][i];
    }
    return sum;
}

/* The forward op's inputs are the gradient's where that has them, so that what it saved belongs to
 * them; its output is given to the gradient. */
static void join(struct bed *forward, struct bed *backward)
{
    const struct assay_gradient *g = gradient_of(backward);
    for (int32_t i = 0; i < backward->problem.n_inputs; i++)
        if (g->in[i].source == ASSAY_FROM_INPUT)
            memcpy(forward->in[g->in[i].index], backward->in[i],
                   assay_tensor_bytes(&backward->problem.inputs[i]));
    for (int32_t i = 0; i < backward->problem.n_inputs; i++)
        if (g->in[i].source == ASSAY_FROM_OUTPUT) {
            compute(forward, g->in[i].index);
            assay_dtype_store(backward->problem.inputs[i].dtype, forward->out[g->in[i].index],
                              backward->in[i], 0, assay_tensor_count(&backward->problem.inputs[i]));
        }
}

/* By central differences; near a kink (of relu at 0) they mean nothing: the two sides differ. */
static void check_element(struct bed *forward, struct bed *backward, int32_t output, int64_t i)
{
    const double STEP = 1e-5;
    int32_t of = gradient_of(backward)->of[output];
    double *x = (double *)forward->in[of] + i, was = *x, middle = weighted(forward, backward);
    *x = was + STEP;
    double above = weighted(forward, backward);
    *x = was - STEP;
    double below = weighted(forward, backward);
    *x = was;
    double slope = (above - below) / (2 * STEP), kink = (above - 2 * middle + below) / STEP;
    double got = backward->out[output][i];
    if (fabs(kink) < 1e-3 && !(fabs(slope - got) <= 1e-6 * fmax(1, fabs(slope))))
        fail_msg("%s: output %d, element %lld: %.9g, by differences %.9g", backward->op->name,
                 output, (long long)i, got, slope);
}

/* What the forward pass of training saves becomes an input of the gradient; the output is that of
 * the forward op. */
static void save(struct bed *forward, struct bed *backward, const char *mode, const int64_t *axes)
{
    const struct assay_gradient *g = gradient_of(backward);
    struct bed training = {0};
    if (!g->training)
        return;
    make(&training, assay_op_find(g->training), mode, axes);
    assert_int_equal(training.problem.n_inputs, forward->problem.n_inputs);
    for (int32_t i = 0; i < training.problem.n_inputs; i++)
        memcpy(training.in[i], forward->in[i], assay_tensor_bytes(&forward->problem.inputs[i]));
    for (int32_t i = 0; i < backward->problem.n_inputs; i++)
        if (g->in[i].source == ASSAY_FROM_SAVED) {
            const struct assay_tensor *t = &backward->problem.inputs[i];
            int32_t output = g->in[i].index + 1;
            assert_memory_equal(&training.problem.outputs[output], t, sizeof *t);
            compute(&training, output);
            assay_dtype_store(t->dtype, training.out[output], backward->in[i], 0,
                              assay_tensor_count(t));
        }
    compute(&training, 0);
    compute(forward, 0);
    assert_memory_equal(training.out[0], forward->out[0],
                        (size_t)assay_tensor_count(&forward->problem.outputs[0]) * sizeof(double));
    destroy(&training);
}

static void check(const struct assay_op *op, const char *mode, const int64_t *axes)
{
    enum { ELEMENTS = 24 }; /* of each output, spread over it */
    struct bed forward = {0}, backward = {0};
    const struct assay_op *other = assay_op_find(op->gradient->forward);
    assert_non_null(other);
    make(&forward, other, mode, axes);
    make(&backward, op, mode, axes);
    join(&forward, &backward);
    save(&forward, &backward, mode, axes);
    for (int32_t k = 0; k < backward.problem.n_outputs; k++) {
        int64_t count = assay_tensor_count(&backward.problem.outputs[k]);
        int64_t step = count > ELEMENTS ? count / ELEMENTS : 1;
        compute(&backward, k);
        for (int64_t i = 0; i < count && gradient_of(&backward)->of[k] >= 0; i += step)
            check_element(&forward, &backward, k, i);
    }
    destroy(&forward);
    destroy(&backward);
}

static void gradients_of_rows_are_slopes(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {2, 3, 5}, {1, 2, 600}};
    int64_t n = 0;
    for (int64_t i = 0; i < assay_op_count(); i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++)
            if (assay_op_pass(assay_op_at(i)) != ASSAY_PASS_FORWARD &&
                assay_op_is_of_rows(assay_op_at(i))) {
                check(assay_op_at(i), NULL, shapes[k]);
                n++;
            }
    assert_true(n >= 3 * 16);
}

/* Groups of one channel, of several, and all in one; one pixel. */
static void gradients_of_groupnorm_are_slopes(void **state)
{
    (void)state;
    static const int64_t shapes[][5] = {
        {2, 3, 2, 6, 3}, {1, 5, 4, 3, 3}, {3, 2, 1, 4, 1}, {1, 1, 1, 4, 2}};
    const struct assay_op *op = assay_op_find("groupnorm_backward");
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        check(op, NULL, shapes[k]);
        check(op, "silu", shapes[k]);
    }
}

static void gradients_of_attention_are_slopes(void **state)
{
    (void)state;
    static const int64_t axes[][4] = {{1, 1, 1, 1}, {2, 5, 3, 4}, {1, 9, 2, 8}};
    for (size_t k = 0; k < sizeof axes / sizeof axes[0]; k++) {
        check(assay_op_find("attention_backward"), "none", axes[k]);
        check(assay_op_find("attention_backward"), "causal", axes[k]);
        check(assay_op_find("attention_backward"), "qkv", axes[k]);
        check(assay_op_find("attention_backward"), "qkv+causal", axes[k]);
    }
}

/* Strides, paddings, images smaller than the kernel, rows and columns that no window meets. */
static void gradients_of_convolutions_are_slopes(void **state)
{
    (void)state;
    static const struct {
        int64_t axes[7]; /* the fifth is left out where there is one channel each */
        const char *mode;
    } cases[] = {{{1, 1, 1, 1, 1, 1, 1}, "none"},  {{2, 5, 4, 3, 2, 3, 1}, "bias"},
                 {{1, 7, 6, 2, 3, 3, 2}, "pad0"},  {{2, 6, 7, 1, 4, 3, 2}, "bias"},
                 {{1, 8, 5, 3, 2, 2, 3}, "pad1"},  {{2, 4, 5, 5, 1, 1, 2}, "pad0+bias"},
                 {{1, 2, 3, 2, 2, 5, 1}, "pad4"},  {{1, 9, 8, 2, 3, 4, 3}, "pad2+bias"},
                 {{1, 3, 11, 17, 5, 3, 4}, "none"}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        int64_t depthwise[6];
        memcpy(depthwise, cases[k].axes, sizeof depthwise);
        memcpy(depthwise + 4, cases[k].axes + 5, 2 * sizeof depthwise[0]);
        check(assay_op_find("conv2d_backward"), cases[k].mode, cases[k].axes);
        check(assay_op_find("depthwise_conv2d_backward"), cases[k].mode, depthwise);
    }
}

/* A product has as many rows as it likes: awkward ones, and a bias where there is one. */
static void gradients_of_linear_are_slopes(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 2}, {17, 1, 13}, {1, 31, 7}, {8, 600, 3}};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        check(assay_op_find("linear_backward"), NULL, shapes[k]);
        check(assay_op_find("linear_backward"), "bias", shapes[k]);
    }
}

/* A mode with one product alone gives what the usual one gives, to the bit. */
static void linear_products_alone_are_the_same(void **state)
{
    (void)state;
    static const char *const modes[] = {"dx", "dw", "bias+dw"};
    static const int32_t firsts[] = {0, 1, 1};
    const int64_t axes[] = {5, 7, 3};
    const struct assay_op *op = assay_op_find("linear_backward");
    for (int i = 0; i < 3; i++) {
        struct bed whole = {0}, part = {0};
        make(&whole, op, "bias", axes);
        make(&part, op, modes[i], axes);
        assert_int_equal(part.problem.n_inputs, 2);
        memcpy(part.in[0], whole.in[0], assay_tensor_bytes(&whole.problem.inputs[0]));
        memcpy(part.in[1], whole.in[i == 0 ? 2 : 1], assay_tensor_bytes(&part.problem.inputs[1]));
        for (int32_t k = 0; k < part.problem.n_outputs; k++) {
            const struct assay_tensor *t = &whole.problem.outputs[firsts[i] + k];
            compute(&part, k);
            compute(&whole, firsts[i] + k);
            assert_int_equal(assay_tensor_count(&part.problem.outputs[k]), assay_tensor_count(t));
            assert_memory_equal(part.out[k], whole.out[firsts[i] + k],
                                (size_t)assay_tensor_count(t) * sizeof(double));
        }
        destroy(&whole);
        destroy(&part);
    }
}

/* What linear can have around its product has its gradient elsewhere, and a mode says so. */
static void linear_backward_refuses_what_it_has_not(void **state)
{
    (void)state;
    static const char *const modes[][2] = {
        {"gelu", "gelu_backward"},  {"bias+relu", "relu_backward"},     {"ln", "a norm"},
        {"bias+add", "a residual"}, {"dx+bias", "gradient of x alone"}, {"dx+dw", "unknown mode"},
        {"dy", "unknown mode"}};
    const int64_t axes[] = {2, 2, 2};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct assay_problem p;
        struct assay_error err = {0};
        assert_int_equal(assay_op_problem(assay_op_find("linear_backward"), ASSAY_DTYPE_F32,
                                          modes[i][0], axes, 1, &p, &err),
                         ASSAY_ERR_INVALID);
        assert_non_null(strstr(err.message, modes[i][1]));
    }
}

/* Every gradient that takes something saved says who saves it, and that one has it. */
static void what_is_saved_has_a_source(void **state)
{
    (void)state;
    int64_t n = 0;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_gradient *g = assay_op_at(i)->gradient;
        for (int k = 0; g && g->training && k < ASSAY_MAX_INPUTS; k++)
            if (g->in[k].source == ASSAY_FROM_SAVED) {
                const struct assay_op *training = assay_op_find(g->training);
                assert_non_null(training);
                assert_int_equal(assay_op_pass(training), ASSAY_PASS_FORWARD);
                assert_non_null(training->more[g->in[k].index].tolerance);
                n++;
            }
    }
    assert_int_equal(n, 8); /* mean and rstd of three norms, rstd of one, lse */
}

static void passes_are_found(void **state)
{
    (void)state;
    const struct assay_op *norm = assay_op_find("layernorm");
    assert_ptr_equal(assay_op_of_pass(norm, ASSAY_PASS_FORWARD), norm);
    assert_string_equal(assay_op_of_pass(norm, ASSAY_PASS_BACKWARD)->name, "layernorm_backward");
    assert_null(assay_op_of_pass(assay_op_find("copy"), ASSAY_PASS_BACKWARD));
    assert_int_equal(assay_op_pass(assay_op_find("gelu_backward")), ASSAY_PASS_BACKWARD);
    assert_string_equal(assay_pass_name(ASSAY_PASS_BOTH), "both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_rows_are_slopes),
        cmocka_unit_test(gradients_of_attention_are_slopes),
        cmocka_unit_test(gradients_of_convolutions_are_slopes),
        cmocka_unit_test(gradients_of_groupnorm_are_slopes),
        cmocka_unit_test(gradients_of_linear_are_slopes),
        cmocka_unit_test(linear_products_alone_are_the_same),
        cmocka_unit_test(linear_backward_refuses_what_it_has_not),
        cmocka_unit_test(what_is_saved_has_a_source),
        cmocka_unit_test(passes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
