/* test_linear.c: the op `linear`: its reference on products worked out by hand, modes, costs,
 * tolerances, and the integer-valued inputs on which every kernel must be exact. */
#include "op/linear.h"
#include "op/common.h"
#include "quant/quant.h"
#include "unit.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LN3 1.09861228866810969140
#define PHI1 0.84134474606854293 /* the normal distribution at 1 */

static const struct assay_op *linear(void)
{
    const struct assay_op *op = assay_op_find("linear");
    assert_non_null(op);
    return op;
}

static struct assay_problem problem_of(enum assay_dtype dtype, const char *mode, int64_t m,
                                       int64_t k, int64_t n)
{
    struct assay_problem p;
    struct assay_error err = {0};
    const int64_t axes[] = {m, k, n};
    if (assay_op_problem(linear(), dtype, mode, axes, 1, &p, &err) != ASSAY_OK)
        fail_msg("%s: %s", mode, err.message);
    return p;
}

static const enum assay_dtype floats[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};
enum { FLOATS = 3 };

/* ---- the reference --------------------------------------------------------------------------- */

static void shapes_follow_the_axes(void **state)
{
    (void)state;
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, NULL, 2, 3, 4);
    assert_int_equal(p.n_inputs, 2);
    assert_int_equal(p.n_outputs, 1);
    assert_int_equal(p.inputs[ASSAY_LINEAR_X].dims[0], 2);
    assert_int_equal(p.inputs[ASSAY_LINEAR_X].dims[1], 3);
    assert_int_equal(p.inputs[ASSAY_LINEAR_W].dims[0], 4);
    assert_int_equal(p.inputs[ASSAY_LINEAR_W].dims[1], 3);
    assert_int_equal(p.outputs[0].dims[0], 2);
    assert_int_equal(p.outputs[0].dims[1], 4);
    assert_int_equal(p.outputs[0].dtype, ASSAY_DTYPE_BF16);
    assert_int_equal(assay_op_rows(&p), 2);
    assert_int_equal(assay_op_row_length(&p), 4);
    assert_null(p.recipe);
    p = problem_of(ASSAY_DTYPE_F16, "bias", 2, 3, 4);
    assert_int_equal(p.n_inputs, 3);
    assert_int_equal(p.inputs[ASSAY_LINEAR_BIAS_INPUT].rank, 1);
    assert_int_equal(p.inputs[ASSAY_LINEAR_BIAS_INPUT].dims[0], 4);
    assert_int_equal(p.inputs[ASSAY_LINEAR_BIAS_INPUT].dtype, ASSAY_DTYPE_F16);
    p = problem_of(ASSAY_DTYPE_S8, NULL, 2, 3, 4);
    assert_int_equal(p.outputs[0].dtype, ASSAY_DTYPE_S32);
}

/* x = 1 2 3 / -1 0 2, W = 1 0 -1 / 2 1 1, bias 0.5 -1. All of it is exact in every type. */
static void a_product_by_hand(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, -1, 0, 2}, w[] = {1, 0, -1, 2, 1, 1}, b[] = {0.5, -1};
    static const double want[2][4] = {{-2, 7, -3, 0}, {-1.5, 6, -2.5, -1}};
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16,
                                              ASSAY_DTYPE_S8};
    for (int d = 0; d < 4; d++)
        for (int bias = 0; bias < (dtypes[d] == ASSAY_DTYPE_S8 ? 1 : 2); bias++) {
            double storage[3][6], out[4]; /* large enough for any type */
            const void *in[] = {storage[0], storage[1], storage[2]};
            struct assay_problem p = problem_of(dtypes[d], bias ? "bias" : "", 2, 3, 2);
            assay_dtype_store(dtypes[d], x, storage[0], 0, 6);
            assay_dtype_store(dtypes[d], w, storage[1], 0, 6);
            if (bias)
                assay_dtype_store(dtypes[d], b, storage[2], 0, 2);
            for (int64_t row = 0; row < 2; row++)
                linear()->reference(&p, in, row, 0, 2, out + 2 * row);
            for (int i = 0; i < 4; i++)
                assert_near(out[i], want[bias][i], 0);
            linear()->reference(&p, in, 1, 1, 1, out); /* a part of a row */
            assert_near(out[0], want[bias][3], 0);
        }
}

/* k across the blocks of both ways to sum: 1 + 2 + … + k, every other one with a minus. */
static void sums_hold_across_blocks(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 7, 8, 9, 255, 256, 257, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int d = 0; d < 2; d++) {
            enum assay_dtype dtype = d ? ASSAY_DTYPE_F16 : ASSAY_DTYPE_F32;
            int64_t k = lengths[i];
            double values[2][1000], storage[2][1000], got;
            const void *in[] = {storage[0], storage[1]};
            for (int64_t j = 0; j < k; j++) {
                values[0][j] = (double)(j + 1);
                values[1][j] = j % 2 ? -1 : 1;
            }
            assay_dtype_store(dtype, values[0], storage[0], 0, k);
            assay_dtype_store(dtype, values[1], storage[1], 0, k);
            struct assay_problem p = problem_of(dtype, NULL, 1, k, 1);
            linear()->reference(&p, in, 0, 0, 1, &got);
            assert_near(got, (double)(k % 2 ? (k + 1) / 2 : -k / 2), 0);
        }
}

/* y = 1 x w + bias: w holds the argument. */
static void every_activation_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        double x[4], want[4];
    } rows[] = {
        {"", {-2, 0, 3, 7}, {-2, 0, 3, 7}},
        {"none", {-2, 0, 3, 7}, {-2, 0, 3, 7}},
        {"sigmoid", {0, LN3, -LN3, 800}, {0.5, 0.75, 0.25, 1}},
        {"relu", {-2, 0, 3, 7}, {0, 0, 3, 7}},
        {"leakyrelu", {-4, 0, 5, -100}, {-0.04, 0, 5, -1}},
        {"relu6", {-1, 3, 6, 7}, {0, 3, 6, 6}},
        {"gelu", {0, 1, -1, 40}, {0, PHI1, PHI1 - 1, 40}},
        {"silu", {0, LN3, -LN3, 800}, {0, 0.75 * LN3, -0.25 * LN3, 800}},
        {"hardswish", {-4, -1, 1, 4}, {0, -1.0 / 3, 2.0 / 3, 4}},
    };
    static const double one[] = {1};
    bool seen[ASSAY_LINEAR_ACTIVATIONS] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int bias = 0; bias < 2; bias++) {
            char mode[32];
            double w[4], b[4] = {0.25, -0.5, 1, 2}, out[4];
            const void *in[] = {one, w, b};
            snprintf(mode, sizeof mode, "%s%s%s", bias ? "bias" : "",
                     bias && rows[i].mode[0] ? "+" : "", rows[i].mode);
            struct assay_problem p = problem_of(ASSAY_DTYPE_F32, mode, 1, 1, 4);
            for (int32_t t = 0; t < p.n_inputs; t++) /* in double, so that ln 3 is what it is */
                p.inputs[t].dtype = ASSAY_DTYPE_F64;
            seen[(int)p.params[ASSAY_LINEAR_ACTIVATION]] = true;
            assert_near(p.params[ASSAY_LINEAR_BIAS], bias, 0);
            for (int j = 0; j < 4; j++)
                w[j] = rows[i].x[j] - (bias ? b[j] : 0);
            linear()->reference(&p, in, 0, 0, 4, out);
            for (int j = 0; j < 4; j++)
                assert_near(out[j], rows[i].want[j], 1e-12);
        }
    for (int i = 0; i < ASSAY_LINEAR_ACTIVATIONS; i++)
        assert_true(seen[i]);
}

/* The outputs of a problem in double, a norm and a recipe first. */
static void answers_of(const struct assay_problem *p, const void *const *in, double *out)
{
    struct assay_problem plain;
    void *made[ASSAY_MAX_INPUTS] = {0};
    assert_int_equal(linear()->dequantised(p, in, 0, &plain, made, NULL), ASSAY_OK);
    for (int64_t row = 0, n = assay_op_row_length(p); row < assay_op_rows(p); row++)
        linear()->reference(&plain, (const void *const *)made, row, 0, n, out + row * n);
    for (int32_t i = 0; i < p->n_inputs; i++)
        assay_free(made[i]);
}

/* Two rows of x, 2 4 and 7 -1, and weights 1 0 / 1 1. Deviations are 1 and 4, mean squares 10 and
 * 25; eps is in neither case negligible in double. Inputs stand in the order of the op. */
static void norms_and_residuals_by_hand(void **state)
{
    (void)state;
    const double one = 1 / sqrt(1 + 1e-5), four = 4 / sqrt(16 + 1e-5);
    const double r10 = 1 / sqrt(10 + 1e-5), r25 = 1 / sqrt(25 + 1e-5);
    static const float x[] = {2, 4, 7, -1}, w[] = {1, 0, 1, 1}, bias[] = {1, -1},
                       norm[] = {0.5f, 2}, residual[] = {10, 20, 30, 40};
    const double silu[] = {2 * 0.5 * r10, (2 * 0.5 + 4 * 2) * r10, 7 * 0.5 * r25,
                           (7 * 0.5 - 2) * r25};
    const struct {
        const char *mode;
        const void *in[3];
        double want[4];
    } rows[] = {
        {"ln", {NULL}, {-one, 0, four, 0}},
        {"rms", {norm}, {r10, 9 * r10, 3.5 * r25, 1.5 * r25}},
        {"add", {residual}, {12, 26, 37, 46}},
        {"bias+gelu+add",
         {bias, residual},
         {10 + assay_scalar_gelu(3), 20 + assay_scalar_gelu(5), 30 + assay_scalar_gelu(8),
          40 + assay_scalar_gelu(5)}},
        {"rms+silu",
         {norm},
         {silu[0] * assay_scalar_sigmoid(silu[0]), silu[1] * assay_scalar_sigmoid(silu[1]),
          silu[2] * assay_scalar_sigmoid(silu[2]), silu[3] * assay_scalar_sigmoid(silu[3])}},
        {"bias+rms+add",
         {bias, norm, residual},
         {11 + r10, 19 + 9 * r10, 31 + 3.5 * r25, 39 + 1.5 * r25}},
        {"ln+relu+add", {residual}, {10, 20, 30 + four, 40}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct assay_problem p = problem_of(ASSAY_DTYPE_F32, rows[i].mode, 2, 2, 2);
        const void *in[] = {x, w, rows[i].in[0], rows[i].in[1], rows[i].in[2]};
        double out[4];
        answers_of(&p, in, out);
        for (int j = 0; j < 4; j++)
            assert_near(out[j], rows[i].want[j], 1e-6); /* the norm's output is rounded to f32 */
    }
}

/* Between a norm and the product values have the dtype: the root of 3 in bf16 is 1.734375. */
static void a_norm_is_rounded_to_the_dtype(void **state)
{
    (void)state;
    static const double ones[] = {1, 0, 0}, w[] = {1, 1, 1}, root = 1.7320508;
    double storage[3][3], out;
    const void *in[] = {storage[0], storage[1], storage[2]};
    struct assay_problem p = problem_of(ASSAY_DTYPE_BF16, "rms", 1, 3, 1);
    assay_dtype_store(ASSAY_DTYPE_BF16, ones, storage[0], 0, 3);
    assay_dtype_store(ASSAY_DTYPE_BF16, w, storage[1], 0, 3);
    assay_dtype_store(ASSAY_DTYPE_BF16, w, storage[2], 0, 3);
    answers_of(&p, in, &out);
    assert_near(out, 1.734375, 0);
    assert_true(fabs(out - root) > 1e-3);
}

/* The output of a wrong kernel is outside the tolerance on the usual inputs: with the residual of
 * the next row, with a norm that forgets the mean, with one that forgets its weight. */
static void mistakes_are_seen(void **state)
{
    (void)state;
    enum { M = 24, K = 160, N = 40, ROWS = 3 };
    static const char *const modes[] = {"add", "ln", "rms"};
    for (int i = 0; i < ROWS; i++)
        for (size_t r = 0; r < 8; r++)
            for (int d = 0; d < FLOATS; d++) {
                static const char *const some[] = {
                    "baseline",  "int8wo",          "int8dq",       "float8wo",
                    "int4wo-32", "float8dq-tensor", "float8dq-row", "gemlitewo-8-32"};
                struct assay_problem p = problem_of(floats[d], modes[i], M, K, N), wrong = p;
                static double in[3][M * K], changed[M * K], right[M * N], mistaken[M * N];
                const void *inputs[] = {in[0], in[1], in[2]};
                size_t bytes = assay_dtype_bytes(floats[d]);
                p.recipe = wrong.recipe = some[r];
                for (int32_t t = 0; t < p.n_inputs; t++)
                    assay_op_fill(linear(), &p, t, in[t], 9);
                answers_of(&p, inputs, right);
                if (i == 0) {
                    memcpy(changed, (char *)in[2] + N * bytes, (M - 1) * N * bytes);
                    memcpy((char *)changed + (M - 1) * N * bytes, in[2], N * bytes);
                } else { /* both forget: rms with a weight of 1 */
                    double one = 1;
                    wrong = problem_of(floats[d], "rms", M, K, N);
                    wrong.recipe = some[r];
                    for (int64_t j = 0; j < K; j++)
                        assay_dtype_store(floats[d], &one, changed, j, 1);
                }
                inputs[2] = changed;
                answers_of(&wrong, inputs, mistaken);
                struct assay_tolerance tolerance = linear()->tolerance(&p);
                int64_t far = 0;
                for (int64_t j = 0; j < M * N; j++)
                    far += !(fabs(mistaken[j] - right[j]) <=
                             tolerance.absolute + tolerance.relative * fabs(right[j]) +
                                 4 * tolerance.summed);
                if (far < M * N / 50)
                    fail_msg("%s %s %s: a mistake shows in %lld answers of %d", modes[i], some[r],
                             assay_dtype_name(floats[d]), (long long)far, M * N);
            }
}

static void nan_and_infinity_reach_the_answer(void **state)
{
    (void)state;
    static const char *const modes[] = {"",      "sigmoid", "relu", "leakyrelu",
                                        "relu6", "gelu",    "silu", "hardswish"};
    for (int i = 0; i < 8; i++) {
        static const float x[] = {NAN, 1}, w[] = {1, 1};
        const void *in[] = {x, w};
        double out;
        struct assay_problem p = problem_of(ASSAY_DTYPE_F32, modes[i], 1, 2, 1);
        linear()->reference(&p, in, 0, 0, 1, &out);
        if (!isnan(out))
            fail_msg("%s turns NaN into %g", modes[i], out);
    }
}

/* ---- modes ----------------------------------------------------------------------------------- */

static void modes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int bias, activation, norm, add;
    } good[] = {
        {NULL, 0, ASSAY_LINEAR_NONE, 0, 0},
        {"", 0, ASSAY_LINEAR_NONE, 0, 0},
        {"bias", 1, ASSAY_LINEAR_NONE, 0, 0},
        {"gelu", 0, ASSAY_LINEAR_GELU, 0, 0},
        {"bias+gelu", 1, ASSAY_LINEAR_GELU, 0, 0},
        {"bias+none", 1, ASSAY_LINEAR_NONE, 0, 0},
        {"ReLU6", 0, ASSAY_LINEAR_RELU6, 0, 0},
        {"bias+SiLU", 1, ASSAY_LINEAR_SILU, 0, 0},
        {"hardswish", 0, ASSAY_LINEAR_HARDSWISH, 0, 0},
        {"ln+gelu", 0, ASSAY_LINEAR_GELU, ASSAY_LINEAR_LN, 0},
        {"rms", 0, ASSAY_LINEAR_NONE, ASSAY_LINEAR_RMS, 0},
        {"add", 0, ASSAY_LINEAR_NONE, 0, 1},
        {"add+RMS+silu+bias", 1, ASSAY_LINEAR_SILU, ASSAY_LINEAR_RMS, 1},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct assay_problem p = problem_of(ASSAY_DTYPE_F32, good[i].mode, 1, 1, 1);
        assert_near(p.params[ASSAY_LINEAR_BIAS], good[i].bias, 0);
        assert_near(p.params[ASSAY_LINEAR_ACTIVATION], good[i].activation, 0);
        assert_near(p.params[ASSAY_LINEAR_NORM], good[i].norm, 0);
        assert_near(p.params[ASSAY_LINEAR_ADD], good[i].add, 0);
        int weighted = good[i].norm == ASSAY_LINEAR_RMS;
        assert_int_equal(p.n_inputs, 2 + good[i].bias + weighted + good[i].add);
        assert_int_equal(assay_linear_norm_input(&p), weighted ? 2 + good[i].bias : -1);
        assert_int_equal(assay_linear_residual_input(&p), good[i].add ? p.n_inputs - 1 : -1);
    }
}

static void other_modes_are_errors_that_help(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *message;
    } bad[] = {
        {"gelo", "unknown mode \"gelo\"; did you mean \"gelu\"?"},
        {"bias+sigmoyd", "unknown mode \"bias+sigmoyd\"; did you mean \"sigmoid\"?"},
        {"bias+", "unknown mode \"bias+\""},
        {"+bias", "unknown mode \"+bias\""},
        {"gelu+relu", "unknown mode \"gelu+relu\""},
        {"bias+bias", "unknown mode \"bias+bias\""},
        {"bias gelu", "unknown mode \"bias gelu\""},
        {"biased", "unknown mode \"biased\""},
        {"ln+rms", "unknown mode \"ln+rms\""},
        {"add+add", "unknown mode \"add+add\""},
        {" ", "unknown mode \" \""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct assay_problem p;
        struct assay_error err = {0};
        const int64_t axes[] = {1, 1, 1};
        enum assay_status status =
            assay_op_problem(linear(), ASSAY_DTYPE_F32, bad[i].mode, axes, 1, &p, &err);
        if (status != ASSAY_ERR_INVALID ||
            strncmp(err.message, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("\"%s\": %s", bad[i].mode, err.message);
        assert_non_null(strstr(err.message, "bias+gelu")); /* what a mode looks like */
    }
}

static void integers_have_no_modes(void **state)
{
    (void)state;
    static const char *const modes[] = {"bias", "relu", "none", "bias+gelu"};
    for (int i = 0; i < 4; i++) {
        struct assay_problem p;
        struct assay_error err = {0};
        const int64_t axes[] = {1, 1, 1};
        assert_int_equal(assay_op_problem(linear(), ASSAY_DTYPE_S8, modes[i], axes, 1, &p, &err),
                         ASSAY_ERR_INVALID);
        assert_non_null(strstr(err.message, "no mode"));
    }
}

/* ---- cost and tolerance ---------------------------------------------------------------------- */

/* m 8, k 128, n 32: 4096 weights, 1024 of x, 256 of y. */
static void costs_follow_the_recipe(void **state)
{
    (void)state;
    static const struct {
        enum assay_dtype dtype;
        const char *recipe;
        double weights;
        enum assay_math math;
    } rows[] = {
        {ASSAY_DTYPE_F32, NULL, 16384, ASSAY_MATH_F32},
        {ASSAY_DTYPE_F32, "baseline", 16384, ASSAY_MATH_F32},
        {ASSAY_DTYPE_BF16, "baseline", 8192, ASSAY_MATH_BF16},
        {ASSAY_DTYPE_F16, "baseline", 8192, ASSAY_MATH_F16},
        {ASSAY_DTYPE_S8, "baseline", 4096, ASSAY_MATH_S8},
        {ASSAY_DTYPE_F32, "int8wo", 4096 + 32 * 4, ASSAY_MATH_F32},
        {ASSAY_DTYPE_BF16, "int8wo", 4096 + 32 * 4, ASSAY_MATH_BF16},
        {ASSAY_DTYPE_BF16, "int8dq", 4096 + 32 * 4, ASSAY_MATH_S8},
        {ASSAY_DTYPE_F32, "int8dq", 4096 + 32 * 4, ASSAY_MATH_S8},
        {ASSAY_DTYPE_F16, "float8wo", 4096 + 32 * 4, ASSAY_MATH_BF16},
        {ASSAY_DTYPE_F16, "float8dq-row", 4096 + 32 * 4, ASSAY_MATH_F8},
        {ASSAY_DTYPE_F32, "float8dq-tensor", 4096 + 4, ASSAY_MATH_F8},
        /* a scale and a zero for each group, in the dtype */
        {ASSAY_DTYPE_BF16, "int4wo-32", 2048 + 32 * 4 * 2 * 2, ASSAY_MATH_BF16},
        {ASSAY_DTYPE_F32, "int4wo-32", 2048 + 32 * 4 * 2 * 4, ASSAY_MATH_F32},
        {ASSAY_DTYPE_BF16, "int4wo-128-hqq", 2048 + 32 * 2 * 2, ASSAY_MATH_BF16},
        {ASSAY_DTYPE_F16, "gemlitewo-8-64", 4096 + 32 * 2 * 2 * 2, ASSAY_MATH_F16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int bias = 0; bias < (rows[i].dtype == ASSAY_DTYPE_S8 ? 1 : 2); bias++) {
            struct assay_problem p = problem_of(rows[i].dtype, bias ? "bias" : "", 8, 128, 32);
            double size = (double)assay_dtype_bytes(rows[i].dtype);
            p.recipe = rows[i].recipe;
            struct assay_cost cost = linear()->cost(&p);
            assert_near(cost.weight_bytes, rows[i].weights, 0);
            assert_near(cost.bytes_read, rows[i].weights + (1024 + (bias ? 32 : 0)) * size, 0);
            assert_near(cost.bytes_written, 256 * (size == 1 ? 4 : size), 0);
            assert_near(cost.flops, 2.0 * 8 * 128 * 32, 0);
            assert_int_equal(cost.math, rows[i].math);
        }
}

static void tolerances_follow_dtype_and_recipe(void **state)
{
    (void)state;
    for (int d = 0; d < FLOATS; d++) {
        struct assay_problem p = problem_of(floats[d], NULL, 4, 1024, 4);
        double unit = assay_dtype_info(floats[d])->unit;
        struct assay_tolerance plain = linear()->tolerance(&p);
        assert_true(plain.relative >= unit && plain.relative <= unit + 1e-6);
        assert_true(plain.absolute > 0 && plain.absolute < 1e-7);
        assert_true(plain.summed > 0 && plain.summed < 1e-4);
        p.recipe = "int8wo"; /* the scale comes behind the sum: as exact as without */
        assert_near(linear()->tolerance(&p).summed, plain.summed, 0);
        p.recipe = "int4wo-32"; /* weights are rounded to the dtype on the way */
        assert_near(linear()->tolerance(&p).summed, plain.summed + 3 * unit, 1e-12);
        p.axes[ASSAY_LINEAR_K] = 1 << 17;
        assert_true(linear()->tolerance(&p).summed < 4 * unit + 4e-3);
    }
    struct assay_problem p = problem_of(ASSAY_DTYPE_S8, NULL, 4, 1024, 4);
    assert_near(linear()->tolerance(&p).relative, 0, 0);
    assert_near(linear()->tolerance(&p).absolute, 0, 0);
    assert_near(linear()->tolerance(&p).summed, 0, 0);
}

/* ---- fills ----------------------------------------------------------------------------------- */

/* The tolerance assumes outputs of the order of 1, whatever k. */
static void answers_are_of_the_order_of_one(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 30, 4096};
    for (int i = 0; i < 3; i++) {
        struct assay_problem p = problem_of(ASSAY_DTYPE_F32, NULL, 64, lengths[i], 64);
        float *x = calloc(64, (size_t)lengths[i] * sizeof *x);
        float *w = calloc(64, (size_t)lengths[i] * sizeof *w);
        const void *in[] = {x, w};
        double squares = 0;
        assay_op_fill(linear(), &p, ASSAY_LINEAR_X, x, 1);
        assay_op_fill(linear(), &p, ASSAY_LINEAR_W, w, 1);
        for (int64_t row = 0; row < 64; row++) {
            double y[64];
            linear()->reference(&p, in, row, 0, 64, y);
            for (int j = 0; j < 64; j++)
                squares += y[j] * y[j] / (64 * 64);
        }
        assert_true(squares > 0.5 && squares < 2);
        free(x);
        free(w);
    }
}

static void integers_span_their_range(void **state)
{
    (void)state;
    enum { COUNT = 100 * 100 };
    struct assay_problem p = problem_of(ASSAY_DTYPE_S8, NULL, 100, 100, 1);
    static int8_t x[COUNT];
    int seen[256] = {0}, distinct = 0;
    assay_op_fill(linear(), &p, ASSAY_LINEAR_X, x, 1);
    for (int i = 0; i < COUNT; i++)
        seen[x[i] + 128]++;
    for (int i = 0; i < 256; i++)
        distinct += seen[i] > 0;
    assert_int_equal(seen[0], 0); /* -128, which not every instruction can negate */
    assert_int_equal(distinct, 255);
}

/* ---- integer-valued inputs ------------------------------------------------------------------- */

enum { EXACT_M = 5, EXACT_N = 7, MOST_K = 4096 };

static const char *const recipes[] = {
    "baseline",       "int8wo",         "int8dq",         "int4wo-32",
    "int4wo-64",      "int4wo-128",     "int4wo-256",     "int4wo-32-hqq",
    "int4wo-128-hqq", "float8wo",       "float8dq-row",   "float8dq-tensor",
    "gemlitewo-4-32", "gemlitewo-4-64", "gemlitewo-8-32", "gemlitewo-8-128"};

/* The inputs of one problem, as they are and as the recipe makes them. */
struct exact {
    struct assay_problem p;
    struct assay_recipe recipe;
    void *in[ASSAY_MAX_INPUTS], *made[ASSAY_MAX_INPUTS];
    const float *x, *w;
};

static void exact_create(struct exact *e, enum assay_dtype dtype, const char *recipe, int64_t k)
{
    struct assay_problem plain;
    *e = (struct exact){.p = problem_of(dtype, NULL, EXACT_M, k, EXACT_N)};
    e->p.recipe = recipe;
    assert_int_equal(assay_recipe_parse(recipe, &e->recipe, NULL), ASSAY_OK);
    for (int32_t i = 0; i < e->p.n_inputs; i++) {
        e->in[i] = calloc(1, assay_tensor_bytes(&e->p.inputs[i]));
        assert_non_null(e->in[i]);
        linear()->fill_exact(&e->p, i, e->in[i], (uint64_t)i + 77);
    }
    assert_int_equal(
        linear()->dequantised(&e->p, (const void *const *)e->in, 0, &plain, e->made, NULL),
        ASSAY_OK);
    assert_null(plain.recipe);
    e->x = e->made[ASSAY_LINEAR_X];
    e->w = e->made[ASSAY_LINEAR_W];
}

static void exact_destroy(struct exact *e)
{
    for (int32_t i = 0; i < e->p.n_inputs; i++) {
        free(e->in[i]);
        assay_free(e->made[i]);
    }
}

static void fail_exact(const struct exact *e, const char *what)
{
    fail_msg("%s %s k=%lld: %s", e->p.recipe, assay_dtype_name(e->p.dtype),
             (long long)e->p.axes[ASSAY_LINEAR_K], what);
}

/* Both operands are whole numbers: then so are all products and sums. Codes of 8 bits and scales
 * that are powers of two give them back as they were, but for the 127.5 that make a scale. */
static void check_whole(const struct exact *e)
{
    int64_t k = e->p.axes[ASSAY_LINEAR_K];
    for (int which = 0; which < 2; which++) {
        const float *made = which ? e->w : e->x;
        for (int64_t i = 0; i < (which ? EXACT_N : EXACT_M) * k; i++) {
            double was;
            assay_dtype_load(e->p.dtype, e->in[which], i, 1, &was);
            if (made[i] != rintf(made[i]))
                fail_exact(e, "not a whole number");
            bool peak = fabs(was) >= 127.5; /* 127.5 2^e becomes 127 2^e */
            if ((double)made[i] != was && !(peak && fabs(was - (double)made[i]) * 255 <= was))
                fail_exact(e, "not what it was");
        }
    }
}

/* The sum of magnitudes bounds every partial sum in any order; below 2^24 f32 holds them all. Some
 * orders are tried all the same. */
static void check_sums(const struct exact *e)
{
    int64_t k = e->p.axes[ASSAY_LINEAR_K];
    for (int64_t m = 0; m < EXACT_M; m++)
        for (int64_t n = 0; n < EXACT_N; n++) {
            const float *x = e->x + m * k, *w = e->w + n * k;
            float forward = 0, backward = 0, lanes[16] = {0}, of_lanes = 0, got;
            double exact, magnitude = 0;
            for (int64_t i = 0; i < k; i++) {
                forward += x[i] * w[i];
                backward += x[k - 1 - i] * w[k - 1 - i];
                lanes[i % 16] += x[i] * w[i];
                magnitude += fabs((double)x[i] * (double)w[i]);
            }
            for (int i = 0; i < 16; i++)
                of_lanes += lanes[i];
            struct assay_problem plain = e->p;
            plain.inputs[0].dtype = plain.inputs[1].dtype = ASSAY_DTYPE_F32;
            linear()->reference(&plain, (const void *const *)e->made, m, n, 1, &exact);
            got = (float)exact;
            if (magnitude >= 0x1p24)
                fail_exact(e, "a sum can leave the whole numbers of f32");
            if ((double)got != exact || forward != got || backward != got || of_lanes != got)
                fail_exact(e, "the order of additions shows");
        }
}

static float scale_of(const struct assay_packed *packed, int64_t row, int64_t group)
{
    double scale;
    if (packed->row_scales)
        return packed->row_scales[row];
    int64_t groups = packed->k / packed->group;
    int64_t at =
        (row / ASSAY_PANEL_ROWS * groups + group) * ASSAY_PANEL_ROWS + row % ASSAY_PANEL_ROWS;
    assay_dtype_load(packed->dtype, packed->scales, at, 1, &scale);
    return (float)scale;
}

/* Neighbours (rows, groups of a row) have scales that differ: one taken for the other shows. */
static void check_scales(const struct exact *e)
{
    struct assay_packed packed;
    if (e->recipe.scope == ASSAY_SCOPE_NONE || e->recipe.scope == ASSAY_SCOPE_TENSOR)
        return;
    assert_int_equal(assay_packed_create(&e->recipe, e->p.dtype, e->in[ASSAY_LINEAR_W], EXACT_N,
                                         e->p.axes[ASSAY_LINEAR_K], 1, &packed, NULL),
                     ASSAY_OK);
    int64_t groups = e->recipe.group ? packed.k / packed.group : 1;
    for (int64_t row = 0; row < EXACT_N; row++)
        for (int64_t g = 0; g < groups; g++) {
            float scale = scale_of(&packed, row, g);
            int exponent;
            if (frexpf(scale, &exponent) != 0.5f)
                fail_exact(e, "a scale is no power of two");
            if (row > 0 && scale == scale_of(&packed, row - 1, g))
                fail_exact(e, "two rows in succession share a scale");
            if (g > 0 && scale == scale_of(&packed, row, g - 1))
                fail_exact(e, "two groups in succession share a scale");
        }
    assay_packed_fini(&packed);
}

/* Activations that are quantised have the same: rows of x of different scales. */
static void check_activation_scales(const struct exact *e)
{
    int64_t k = e->p.axes[ASSAY_LINEAR_K];
    float before = 0;
    if (e->recipe.activation_scope != ASSAY_SCOPE_ROW)
        return;
    for (int64_t row = 0; row < EXACT_M; row++) {
        float amax = 0;
        for (int64_t i = 0; i < k; i++)
            amax = fmaxf(amax, fabsf(e->x[row * k + i]));
        if (amax == before)
            fail_exact(e, "two rows of x in succession share a scale");
        before = amax;
    }
}

/* Those listed above, and whatever `--recipe all` stands for. */
static void integers_are_exact_with_every_recipe(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 32, 128, 300, MOST_K};
    enum { LISTED = sizeof recipes / sizeof recipes[0] };
    for (int64_t r = 0; r < LISTED + assay_quant_count(); r++) {
        const char *name = r < LISTED ? recipes[r] : assay_quant_at(r - LISTED)->usual;
        for (int d = 0; d < FLOATS; d++)
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                struct assay_recipe recipe;
                struct exact e;
                assert_int_equal(assay_recipe_parse(name, &recipe, NULL), ASSAY_OK);
                if (assay_recipe_fits(&recipe, floats[d], lengths[i], NULL) != ASSAY_OK)
                    continue;
                exact_create(&e, floats[d], name, lengths[i]);
                check_whole(&e);
                check_sums(&e);
                check_scales(&e);
                check_activation_scales(&e);
                exact_destroy(&e);
            }
    }
}

/* Integers differ from element to element and follow the seed; the bias has them too. */
static void integers_follow_the_seed(void **state)
{
    (void)state;
    struct assay_problem p = problem_of(ASSAY_DTYPE_F32, "bias", 4, 100, 50);
    float a[5000], b[5000], bias[50];
    p.recipe = "baseline";
    linear()->fill_exact(&p, ASSAY_LINEAR_W, a, 1);
    linear()->fill_exact(&p, ASSAY_LINEAR_W, b, 1);
    assert_memory_equal(a, b, sizeof a);
    linear()->fill_exact(&p, ASSAY_LINEAR_W, b, 2);
    assert_memory_not_equal(a, b, sizeof a);
    linear()->fill_exact(&p, ASSAY_LINEAR_BIAS_INPUT, bias, 1);
    int zeros = 0;
    for (int i = 0; i < 50; i++) {
        assert_true(bias[i] == rintf(bias[i]) && fabsf(bias[i]) <= 7);
        zeros += bias[i] == 0;
    }
    assert_true(zeros < 25);
}

static void only_what_stays_exact_is_compared_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *mode;
        int64_t k;
        bool exact;
    } rows[] = {
        {"", 64, true},
        {"bias", 64, true},
        {"relu", 64, true},
        {"bias+relu", 64, true},
        {"gelu", 64, false},
        {"silu", 64, false},
        {"sigmoid", 64, false},
        {"hardswish", 64, false},
        {"leakyrelu", 64, false},
        {"", 1 << 18, true},
        {"", (1 << 18) + 1, false},
        {"add", 64, true},
        {"bias+relu+add", 64, true},
        {"ln", 64, false},
        {"rms+add", 64, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct assay_problem p = problem_of(ASSAY_DTYPE_F32, rows[i].mode, 2, rows[i].k, 2);
        assert_int_equal(linear()->can_be_exact(&p), rows[i].exact);
        /* In 16 bits a library may round the product before it adds to it. */
        bool adds = strstr(rows[i].mode, "bias") || strstr(rows[i].mode, "add");
        p = problem_of(ASSAY_DTYPE_BF16, rows[i].mode, 2, rows[i].k, 2);
        assert_int_equal(linear()->can_be_exact(&p), rows[i].exact && !adds);
    }
}

/* ---- dequantised ----------------------------------------------------------------------------- */

static void without_a_recipe_the_weights_are_what_they_are(void **state)
{
    (void)state;
    for (int d = 0; d < FLOATS; d++) {
        struct assay_problem p = problem_of(floats[d], "bias", 3, 50, 4), plain;
        double in[3][200];
        void *made[ASSAY_MAX_INPUTS];
        const void *inputs[] = {in[0], in[1], in[2]};
        for (int32_t i = 0; i < 3; i++)
            assay_op_fill(linear(), &p, i, in[i], 1);
        assert_int_equal(linear()->dequantised(&p, inputs, 0, &plain, made, NULL), ASSAY_OK);
        assert_int_equal(plain.dtype, ASSAY_DTYPE_F32);
        assert_int_equal(plain.outputs[0].dtype, floats[d]);
        for (int32_t i = 0; i < 3; i++) {
            assert_int_equal(plain.inputs[i].dtype, ASSAY_DTYPE_F32);
            for (int64_t j = 0; j < assay_tensor_count(&p.inputs[i]); j++) {
                double was;
                assay_dtype_load(floats[d], in[i], j, 1, &was);
                assert_near((double)((const float *)made[i])[j], was, 0);
            }
            assay_free(made[i]);
        }
    }
}

static void weights_that_do_not_fit_are_an_error(void **state)
{
    (void)state;
    struct assay_problem p = problem_of(ASSAY_DTYPE_F32, NULL, 2, 50, 2), plain;
    float x[100] = {0}, w[100] = {0};
    const void *in[] = {x, w};
    void *made[ASSAY_MAX_INPUTS];
    struct assay_error err = {0};
    p.recipe = "int4wo-32";
    assert_int_equal(linear()->dequantised(&p, in, 0, &plain, made, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "does not divide k = 50"));
    assert_null(made[0]);
    assert_null(made[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_follow_the_axes),
        cmocka_unit_test(a_product_by_hand),
        cmocka_unit_test(sums_hold_across_blocks),
        cmocka_unit_test(every_activation_by_hand),
        cmocka_unit_test(norms_and_residuals_by_hand),
        cmocka_unit_test(a_norm_is_rounded_to_the_dtype),
        cmocka_unit_test(mistakes_are_seen),
        cmocka_unit_test(nan_and_infinity_reach_the_answer),
        cmocka_unit_test(modes_are_read),
        cmocka_unit_test(other_modes_are_errors_that_help),
        cmocka_unit_test(integers_have_no_modes),
        cmocka_unit_test(costs_follow_the_recipe),
        cmocka_unit_test(tolerances_follow_dtype_and_recipe),
        cmocka_unit_test(answers_are_of_the_order_of_one),
        cmocka_unit_test(integers_span_their_range),
        cmocka_unit_test(integers_are_exact_with_every_recipe),
        cmocka_unit_test(integers_follow_the_seed),
        cmocka_unit_test(only_what_stays_exact_is_compared_exactly),
        cmocka_unit_test(without_a_recipe_the_weights_are_what_they_are),
        cmocka_unit_test(weights_that_do_not_fit_are_an_error),
    };
    return cmocka_run_group_tests_name("linear", tests, NULL, NULL);
}
