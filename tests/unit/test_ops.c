/* test_ops.c: every op's reference on values worked out by hand, then names, sizes, fills, costs.
 * test_linear.c has more on `linear`. */
#include "op/op.h"
#include "unit.h"

#include <string.h>

/* ---- references ----------------------------------------------------------------------------- */

enum { MOST = 8 };
#define LN2 0.69314718055994530942
#define LN3 1.09861228866810969140
#define LEFT 0.6062341884573449 /* (1 - 2^-9)^256 */

/* One small problem, [1, rows, dim] in f64. The inputs follow the op's own order. */
struct worked {
    const char *op;
    int64_t rows, dim;
    double x[MOST], y[MOST], z[MOST];
    int32_t classes[MOST]; /* instead of y, for cross_entropy */
    double want[MOST];
};

/* layernorm 1 2 3: mean 2, variance 2/3, 1 / sqrt(2/3 + 1e-5) = 1.2247356859083902; with gamma
 *     2 1 1 and beta 0 10 -1. Its second row 5 5 5 has no variance: beta alone.
 * rmsnorm 1 2 3: mean square 14/3, 1 / sqrt(14/3 + 1e-5) = 0.46290955391201943; weight 1 2 -1.
 * gelu(1) = Phi(1), gelu(-1) = -(1 - Phi(1)); Phi(1) = 0.84134474606854293.
 * gelu_tanh(1) = 0.5 (1 + tanh(0.79788456 * 1.044715)).
 * layernorm_gelu: rows 1 3: mean 2, variance 1, scaled by 1 / sqrt(1.00001); gamma makes it 1.
 * fma: 1 stays, and what lies between x and 1 shrinks to (1 - 2^-9)^256 of it.
 * read: the words of 1.0 cancel; those of 2.0 are 0 and 0x40000000.
 * cross_entropy: log(1 + 3) - log 3 for class 1 of 0, ln 3; log 4 for class 0; their mean. */
static const struct worked table[] = {
    {.op = "layernorm",
     .rows = 2,
     .dim = 3,
     .x = {1, 2, 3, 5, 5, 5},
     .y = {2, 1, 1},
     .z = {0, 10, -1},
     .want = {-2 * 1.2247356859083902, 10, 0.2247356859083902, 0, 10, -1}},
    {.op = "rmsnorm",
     .rows = 1,
     .dim = 3,
     .x = {1, 2, 3},
     .y = {1, 2, -1},
     .want = {0.46290955391201943, 4 * 0.46290955391201943, -3 * 0.46290955391201943}},
    {.op = "layernorm_gelu",
     .rows = 1,
     .dim = 2,
     .x = {1, 3},
     .y = {1.0000049999875001, 1.0000049999875001}, /* sqrt(1.00001) */
     .want = {-0.15865525393145705, 0.84134474606854293}},
    {.op = "gelu",
     .rows = 1,
     .dim = 4,
     .x = {0, 1, -1, 40},
     .want = {0, 0.84134474606854293, -0.15865525393145705, 40}},
    {.op = "gelu_tanh",
     .rows = 1,
     .dim = 3,
     .x = {0, 1, -1},
     .want = {0, 0.84119199060827676, -0.15880800939172324}},
    {.op = "silu", .rows = 1, .dim = 3, .x = {0, LN3, -LN3}, .want = {0, 0.75 * LN3, -0.25 * LN3}},
    {.op = "relu", .rows = 1, .dim = 3, .x = {-2, 0, 3}, .want = {0, 0, 3}},
    {.op = "sigmoid", .rows = 1, .dim = 3, .x = {0, LN3, -LN3}, .want = {0.5, 0.75, 0.25}},
    {.op = "leakyrelu", .rows = 1, .dim = 3, .x = {-4, 0, 5}, .want = {-4 * (double)0.01f, 0, 5}},
    {.op = "relu6", .rows = 1, .dim = 4, .x = {-1, 3, 6, 7}, .want = {0, 3, 6, 6}},
    {.op = "hardswish",
     .rows = 1,
     .dim = 6,
     .x = {-4, -3, -1, 1, 3, 4},
     .want = {0, 0, -1.0 / 3, 2.0 / 3, 3, 4}},
    {.op = "add", .rows = 1, .dim = 2, .x = {1, 2}, .y = {10, -2}, .want = {11, 0}},
    {.op = "copy", .rows = 1, .dim = 3, .x = {1, -2, 0.1}, .want = {1, -2, 0.1}},
    {.op = "triad", .rows = 1, .dim = 2, .x = {1, 2}, .y = {10, -2}, .want = {31, -4}},
    {.op = "fma", .rows = 1, .dim = 3, .x = {1, 0, 2}, .want = {1, 1 - LEFT, 1 + LEFT}},
    {.op = "read", .rows = 1, .dim = 3, .x = {1, 2, 1}, .want = {0x40000000}},
    {.op = "swiglu", .rows = 1, .dim = 2, .x = {2, 3, 0, LN3}, .want = {0, 3 * 0.75 * LN3}},
    {.op = "softmax",
     .rows = 2,
     .dim = 2,
     .x = {0, LN2, 1000, 1000 + LN3}, /* the second overflows unless its maximum is subtracted */
     .want = {1.0 / 3, 2.0 / 3, 0.25, 0.75}},
    {.op = "mse", .rows = 1, .dim = 2, .x = {1, 2}, .y = {3, 5}, .want = {(4 + 9) / 2.0}},
    {.op = "cross_entropy",
     .rows = 2,
     .dim = 2,
     .x = {0, LN3, 0, LN3},
     .classes = {1, 0},
     .want = {(2 * (2 * LN2) - LN3) / 2}},
};
enum { WORKED = sizeof table / sizeof table[0] };

static struct assay_problem problem_of(const struct assay_op *op, enum assay_dtype dtype,
                                       int64_t batch, int64_t seq, int64_t dim)
{
    struct assay_problem problem;
    const int64_t axes[ASSAY_MAX_AXES] = {batch, seq, dim, 1};
    assert_int_equal(assay_op_problem(op, dtype, NULL, axes, 1, &problem, NULL), ASSAY_OK);
    return problem;
}

/* The widest float an op takes: `linear` has no f64. */
static enum assay_dtype widest(const struct assay_op *op)
{
    return assay_op_has_dtype(op, ASSAY_DTYPE_F64) ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
}

static const void *second_input(const struct worked *w)
{
    return strcmp(w->op, "cross_entropy") == 0 ? (const void *)w->classes : (const void *)w->y;
}

static void references_give_the_worked_values(void **state)
{
    (void)state;
    for (int i = 0; i < WORKED; i++) {
        const struct worked *w = &table[i];
        const struct assay_op *op = assay_op_find(w->op);
        assert_non_null(op);
        struct assay_problem p = problem_of(op, ASSAY_DTYPE_F64, 1, w->rows, w->dim);
        const void *in[] = {w->x, second_input(w), w->z};
        int64_t length = assay_op_row_length(&p);
        for (int64_t row = 0; row < assay_op_rows(&p); row++) {
            double got[MOST] = {0};
            op->reference(&p, in, row, 0, length, got);
            for (int64_t j = 0; j < length; j++)
                assert_near(got[j], w->want[row * length + j], 1e-12);
        }
    }
}

/* A row may be computed in parts, as the verifier does with long ones. */
static void references_give_any_part_of_a_row(void **state)
{
    (void)state;
    for (int i = 0; i < WORKED; i++) {
        const struct worked *w = &table[i];
        const struct assay_op *op = assay_op_find(w->op);
        struct assay_problem p = problem_of(op, ASSAY_DTYPE_F64, 1, w->rows, w->dim);
        const void *in[] = {w->x, second_input(w), w->z};
        int64_t length = assay_op_row_length(&p), last_row = assay_op_rows(&p) - 1;
        double got = 0;
        op->reference(&p, in, last_row, length - 1, 1, &got);
        assert_near(got, w->want[last_row * length + length - 1], 1e-12);
    }
}

/* Of [batch, seq, dim]; linear, quantize and dequantize are of matrices, attention is of heads, and
 * they have files of their own. */
static bool is_of_rows(const struct assay_op *op)
{
    return strcmp(op->axis_names[0], "batch") == 0 && assay_op_axes(op) == 3;
}

static void every_op_has_a_worked_example(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        bool found = !is_of_rows(assay_op_at(i));
        for (int k = 0; k < WORKED; k++)
            found = found || strcmp(table[k].op, assay_op_at(i)->name) == 0;
        if (!found)
            fail_msg("%s has none in test_ops.c", assay_op_at(i)->name);
    }
}

/* Rows longer than the blocks of 512 that references work in, checked by what must hold. */
static void references_hold_across_blocks(void **state)
{
    (void)state;
    enum { N = 1300 };
    double x[N], out[N], gamma[N], beta[N] = {0};
    for (int i = 0; i < N; i++) {
        x[i] = (double)(i % 37) / 7 + 100;
        gamma[i] = 1;
    }
    const void *in[] = {x, gamma, beta};
    const struct assay_op *softmax = assay_op_find("softmax"), *norm = assay_op_find("layernorm");
    const struct assay_op *add = assay_op_find("add");
    struct assay_problem p = problem_of(softmax, ASSAY_DTYPE_F64, 1, 1, N);
    double sum = 0, squares = 0, mean = 0;
    softmax->reference(&p, in, 0, 0, N, out);
    for (int i = 0; i < N; i++)
        sum += out[i];
    assert_near(sum, 1, 1e-12);
    p = problem_of(norm, ASSAY_DTYPE_F64, 1, 1, N);
    norm->reference(&p, in, 0, 0, N, out);
    for (int i = 0; i < N; i++) {
        mean += out[i] / N;
        squares += out[i] * out[i] / N;
    }
    assert_near(mean, 0, 1e-12);
    assert_near(squares, 1, 1e-5); /* less than 1 by eps over the variance */
    p = problem_of(add, ASSAY_DTYPE_F64, 1, 1, N);
    add->reference(&p, in, 0, 3, N - 3, out);
    assert_near(out[N - 4], x[N - 1] + 1, 0);
}

/* Bits are all that counts to it: a NaN is a number like any other. */
static bool is_of_bits(const struct assay_op *op) { return strcmp(op->name, "read") == 0; }

/* A reference that lost a NaN would fail every kernel that kept it. */
static void a_nan_reaches_the_answer(void **state)
{
    (void)state;
    const double x[] = {(double)NAN, 1, 2, 3, 4, 5, 6, 7}, ones[] = {1, 1, 1, 1};
    static const int32_t classes[] = {1};
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (!is_of_rows(op) || is_of_bits(op))
            continue;
        struct assay_problem p = problem_of(op, ASSAY_DTYPE_F64, 1, 1, 4);
        const bool indexed = strcmp(op->name, "cross_entropy") == 0;
        const void *in[] = {x, indexed ? (const void *)classes : (const void *)ones, ones};
        double out[4];
        op->reference(&p, in, 0, 0, assay_op_row_length(&p), out);
        if (!isnan(out[0]))
            fail_msg("%s turns NaN into %g", op->name, out[0]);
    }
}

/* The same values stored in f32, f16 and bf16 (all exact there) give the same output. */
static void references_read_every_float_dtype(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    static const double x[] = {1, 2, 3}, gamma[] = {2, 1, 1}, beta[] = {0, 10, -1};
    const struct assay_op *op = assay_op_find("layernorm");
    for (int d = 0; d < 3; d++) {
        float storage[3][3]; /* large enough for three of any of them */
        const void *in[] = {storage[0], storage[1], storage[2]};
        assay_dtype_store(dtypes[d], x, storage[0], 0, 3);
        assay_dtype_store(dtypes[d], gamma, storage[1], 0, 3);
        assay_dtype_store(dtypes[d], beta, storage[2], 0, 3);
        struct assay_problem p = problem_of(op, dtypes[d], 1, 1, 3);
        double out[3];
        op->reference(&p, in, 0, 0, 3, out);
        assert_near(out[0], -2 * 1.2247356859083902, 1e-12);
        assert_near(out[1], 10, 1e-12);
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

static void aliases_lead_to_their_ops(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *want[2];
    } names[] = {
        {"layernorm", {"layernorm"}},  {"LayerNorm", {"layernorm"}},
        {"swish", {"silu"}},           {"SWISH", {"silu"}},
        {"leaky_relu", {"leakyrelu"}}, {"cross_entropy_loss", {"cross_entropy"}},
        {"mse_loss", {"mse"}},         {"loss", {"mse", "cross_entropy"}},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct assay_op *ops[4];
        int64_t n = 0;
        struct assay_error err = {0};
        assert_int_equal(assay_op_resolve(names[i].name, ops, 4, &n, &err), ASSAY_OK);
        assert_int_equal(n, names[i].want[1] ? 2 : 1);
        for (int64_t k = 0; k < n; k++)
            assert_string_equal(ops[k]->name, names[i].want[k]);
    }
}

static void resolve_writes_no_more_than_asked(void **state)
{
    (void)state;
    const struct assay_op *ops[2] = {NULL, NULL};
    int64_t n;
    assert_int_equal(assay_op_resolve("loss", ops, 1, &n, NULL), ASSAY_OK);
    assert_int_equal(n, 1);
    assert_null(ops[1]);
}

static void an_unknown_op_suggests_the_nearest(void **state)
{
    (void)state;
    const struct assay_op *ops[1];
    int64_t n = 5;
    struct assay_error near_err = {0}, far_err = {0};
    assert_int_equal(assay_op_resolve("layrnorm", ops, 1, &n, &near_err), ASSAY_ERR_INVALID);
    assert_int_equal(n, 0);
    assert_string_equal(near_err.message, "unknown op \"layrnorm\"; did you mean \"layernorm\"?");
    assert_int_equal(assay_op_resolve("zzz", ops, 1, &n, &far_err), ASSAY_ERR_INVALID);
    assert_string_equal(far_err.message, "unknown op \"zzz\"; `assay list ops` shows them all");
}

static void find_wants_the_exact_name(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++)
        assert_ptr_equal(assay_op_find(assay_op_at(i)->name), assay_op_at(i));
    assert_null(assay_op_find("swish"));
    assert_null(assay_op_find("LayerNorm"));
    assert_null(assay_op_find(""));
}

/* No two ops share a name, and no alias is another op's name. */
static void names_are_unambiguous(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *ops[4];
        int64_t n;
        assert_int_equal(assay_op_resolve(assay_op_at(i)->name, ops, 4, &n, NULL), ASSAY_OK);
        assert_int_equal(n, 1);
        assert_ptr_equal(ops[0], assay_op_at(i));
    }
}

static void every_op_is_complete(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int32_t axes;
    } others[] = {{"quantize", 2}, {"dequantize", 2},       {"attention", 4},
                  {"conv2d", 7},   {"depthwise_conv2d", 6}, {"groupnorm", 5}};
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        assert_non_null(op->title);
        assert_non_null(op->summary);
        assert_non_null(op->shapes);
        assert_true(op->reference != NULL || op->reference_blocks != NULL);
        assert_int_equal(op->reference_blocks != NULL, op->row_block != NULL);
        assert_non_null(op->cost);
        assert_non_null(op->tolerance);
        int32_t axes = 3;
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
            axes = strcmp(others[k].op, op->name) == 0 ? others[k].axes : axes;
        assert_int_equal(assay_op_axes(op), axes);
        assert_int_equal(op->fill_exact != NULL, op->can_be_exact != NULL);
        assert_int_equal(op->reference_second != NULL, op->tolerance_second != NULL);
        assert_int_equal(op->modes != NULL, op->set_mode != NULL);
        if (op->takes_recipes)
            assert_non_null(op->dequantised);
    }
}

/* ---- problems ------------------------------------------------------------------------------- */

static void a_problem_has_its_shapes_and_parameters(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("layernorm");
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_BF16, 2, 3, 4);
    assert_string_equal(p.op, "layernorm");
    assert_int_equal(p.struct_size, sizeof p);
    assert_int_equal(p.n_axes, 3);
    assert_int_equal(p.n_inputs, 3);
    assert_int_equal(p.n_outputs, 1);
    assert_int_equal(p.n_params, 1);
    assert_near(p.params[0], 1e-5, 0);
    assert_int_equal(assay_tensor_count(&p.inputs[0]), 24);
    assert_int_equal(assay_tensor_count(&p.inputs[1]), 4);
    assert_int_equal(p.inputs[2].dtype, ASSAY_DTYPE_BF16);
    assert_int_equal(assay_op_rows(&p), 6);
    assert_int_equal(assay_op_row_length(&p), 4);
    assert_int_equal(assay_op_bytes(&p), 2 * (24 + 4 + 4 + 24));
}

static void a_loss_is_one_number_in_f32(void **state)
{
    (void)state;
    static const char *const losses[] = {"mse", "cross_entropy"};
    for (int i = 0; i < 2; i++) {
        struct assay_problem p = problem_of(assay_op_find(losses[i]), ASSAY_DTYPE_BF16, 2, 3, 4);
        assert_int_equal(p.outputs[0].dtype, ASSAY_DTYPE_F32);
        assert_int_equal(assay_op_rows(&p), 1);
        assert_int_equal(assay_op_row_length(&p), 1);
    }
}

static void threads_are_at_least_one(void **state)
{
    (void)state;
    static const int64_t axes[] = {1, 1, 1};
    struct assay_problem p;
    assert_int_equal(
        assay_op_problem(assay_op_find("relu"), ASSAY_DTYPE_F32, NULL, axes, 0, &p, NULL),
        ASSAY_OK);
    assert_int_equal(p.threads, 1);
}

static void a_dtype_an_op_lacks_is_an_error(void **state)
{
    (void)state;
    static const int64_t axes[] = {2, 3, 4};
    static const struct {
        const char *op;
        enum assay_dtype dtype;
        bool has;
    } rows[] = {
        {"relu", ASSAY_DTYPE_F64, true},    {"relu", ASSAY_DTYPE_BF16, true},
        {"relu", ASSAY_DTYPE_S8, false},    {"relu", ASSAY_DTYPE_S32, false},
        {"linear", ASSAY_DTYPE_F32, true},  {"linear", ASSAY_DTYPE_F16, true},
        {"linear", ASSAY_DTYPE_BF16, true}, {"linear", ASSAY_DTYPE_S8, true},
        {"linear", ASSAY_DTYPE_F64, false}, {"linear", ASSAY_DTYPE_U4, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct assay_op *op = assay_op_find(rows[i].op);
        struct assay_problem p;
        struct assay_error err = {0};
        assert_int_equal(assay_op_has_dtype(op, rows[i].dtype), rows[i].has);
        enum assay_status status = assay_op_problem(op, rows[i].dtype, NULL, axes, 1, &p, &err);
        assert_int_equal(status, rows[i].has ? ASSAY_OK : ASSAY_ERR_INVALID);
        if (!rows[i].has) {
            assert_string_equal(err.where, rows[i].op);
            assert_non_null(strstr(err.message, "does not compute in "));
        }
    }
}

static void an_op_without_modes_has_only_the_usual_one(void **state)
{
    (void)state;
    static const int64_t axes[] = {2, 3, 4};
    struct assay_problem p;
    struct assay_error err = {0};
    const struct assay_op *op = assay_op_find("relu");
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "", axes, 1, &p, NULL), ASSAY_OK);
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "bias", axes, 1, &p, &err),
                     ASSAY_ERR_INVALID);
    assert_string_equal(err.message, "has no modes, so no \"bias\"");
}

static void an_axis_of_zero_is_an_error_that_names_it(void **state)
{
    (void)state;
    static const int64_t zero[] = {2, 3, 0}, negative[] = {2, -1, 3};
    struct assay_problem p;
    struct assay_error err = {0}, other = {0};
    const struct assay_op *op = assay_op_find("gelu");
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, NULL, zero, 1, &p, &err),
                     ASSAY_ERR_INVALID);
    assert_string_equal(err.where, "gelu");
    assert_string_equal(err.message, "dim must be at least 1, not 0");
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, NULL, negative, 1, &p, &other),
                     ASSAY_ERR_INVALID);
    assert_string_equal(other.message, "seq must be at least 1, not -1");
}

/* 2^40 * 2^40 wraps to 0 in 64 bits; 2^59 f64 is 2^62 bytes (f32 2^61), which fits and is still
 * refused. */
static void sizes_that_overflow_are_an_error(void **state)
{
    (void)state;
    static const int64_t wraps[ASSAY_MAX_AXES] = {
        INT64_C(1) << 40, INT64_C(1) << 40, 1, 1, 1, 1, 1, 1};
    static const int64_t fits[ASSAY_MAX_AXES] = {INT64_C(1) << 59, 1, 1, 1, 1, 1, 1, 1};
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        struct assay_problem p;
        struct assay_error err = {0};
        assert_int_equal(assay_op_problem(op, widest(op), NULL, wraps, 1, &p, &err),
                         ASSAY_ERR_INVALID);
        assert_non_null(strstr(err.message, "too large"));
        assert_int_equal(assay_op_problem(op, widest(op), NULL, fits, 1, &p, NULL),
                         ASSAY_ERR_INVALID);
    }
}

/* ---- fills ---------------------------------------------------------------------------------- */

static void inputs_are_seeded_apart_and_repeatable(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("add");
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 1, 1000);
    float x[1000], y[1000], again[1000];
    assay_op_fill(op, &p, 0, x, 42);
    assay_op_fill(op, &p, 1, y, 42);
    assay_op_fill(op, &p, 0, again, 42);
    assert_memory_equal(x, again, sizeof x);
    int same = 0;
    for (int i = 1; i < 1000; i++)
        same += x[i] == y[i];
    assert_in_range(same, 0, 3);
    assay_op_fill(op, &p, 0, again, 43);
    assert_memory_not_equal(x, again, sizeof x);
}

static void classes_lie_within_the_logits(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("cross_entropy");
    struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 20, 50, 11);
    int32_t classes[1000];
    assay_op_fill(op, &p, 1, classes, 1);
    for (int i = 0; i < 1000; i++)
        assert_in_range(classes[i], 0, 10);
}

/* Inputs that never reach a bound would let a kernel without it pass. */
static void inputs_meet_the_bounds_of_clamped_ops(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        double lo, hi;
    } bounds[] = {{"relu", 0, 0}, {"leakyrelu", 0, 0}, {"relu6", 0, 6}, {"hardswish", -3, 3}};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        const struct assay_op *op = assay_op_find(bounds[b].op);
        struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 1, 1, 1000);
        float x[1000];
        int below = 0, above = 0;
        assay_op_fill(op, &p, 0, x, 1);
        for (int i = 0; i < 1000; i++) {
            below += (double)x[i] < bounds[b].lo;
            above += (double)x[i] > bounds[b].hi;
        }
        assert_true(below > 10);
        assert_true(above > 10);
    }
}

/* ---- costs and tolerances ------------------------------------------------------------------- */

/* [32, 512, 768] is 12,582,912 elements, 50,331,648 bytes in f32; 16,384 rows; a vector of dim is
 * 3,072 bytes. */
static void costs_are_every_tensor_once(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        double read, written, flops_per_element;
    } costs[] = {
        {"layernorm", 50331648 + 2 * 3072, 50331648, 6},
        {"rmsnorm", 50331648 + 3072, 50331648, 4},
        {"softmax", 50331648, 50331648, 4},
        {"relu", 50331648, 50331648, 1},
        {"add", 2 * 50331648.0, 50331648, 1},
        {"mse", 2 * 50331648.0, 4, 3},
        {"cross_entropy", 50331648 + 4 * 16384, 4, 4},
    };
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++) {
        const struct assay_op *op = assay_op_find(costs[i].op);
        struct assay_problem p = problem_of(op, ASSAY_DTYPE_F32, 32, 512, 768);
        struct assay_cost cost = op->cost(&p);
        assert_near(cost.bytes_read, costs[i].read, 0);
        assert_near(cost.bytes_written, costs[i].written, 0);
        assert_near(cost.flops, costs[i].flops_per_element * 12582912, 0);
    }
}

static void half_the_bytes_in_16_bits(void **state)
{
    (void)state;
    const struct assay_op *op = assay_op_find("layernorm");
    struct assay_problem wide = problem_of(op, ASSAY_DTYPE_F32, 32, 512, 768);
    struct assay_problem narrow = problem_of(op, ASSAY_DTYPE_BF16, 32, 512, 768);
    assert_near(op->cost(&narrow).bytes_read, op->cost(&wide).bytes_read / 2, 0);
    assert_near(op->cost(&narrow).flops, op->cost(&wide).flops, 0);
}

/* At least the rounding of the output itself, at most that and one more on the way to it; of a sum
 * as much as 768 terms round. What moves bits rounds nothing. */
static void tolerances_follow_the_dtype(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_F16, ASSAY_DTYPE_BF16};
    for (int64_t i = 0; i < assay_op_count(); i++)
        for (int d = 0; d < 3 && assay_op_axes(assay_op_at(i)) < 4; d++) {
            struct assay_problem p = problem_of(assay_op_at(i), dtypes[d], 8, 64, 768);
            struct assay_tolerance t = assay_op_at(i)->tolerance(&p);
            double unit = assay_dtype_info(p.outputs[0].dtype)->unit;
            bool moves = is_of_bits(assay_op_at(i)) || strcmp(assay_op_at(i)->name, "copy") == 0;
            assert_true(moves ? t.relative == 0 && t.absolute == 0 : t.relative >= unit);
            assert_true(t.relative <= 2.1 * unit + 1e-3);
            assert_true(t.absolute >= 0 && t.absolute <= 1e-3);
            assert_int_equal(t.summed > 0, assay_op_at(i)->reference_sums != NULL);
            assert_true(t.summed <= 1e-3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_give_the_worked_values),
        cmocka_unit_test(references_give_any_part_of_a_row),
        cmocka_unit_test(every_op_has_a_worked_example),
        cmocka_unit_test(references_hold_across_blocks),
        cmocka_unit_test(a_nan_reaches_the_answer),
        cmocka_unit_test(references_read_every_float_dtype),
        cmocka_unit_test(aliases_lead_to_their_ops),
        cmocka_unit_test(resolve_writes_no_more_than_asked),
        cmocka_unit_test(an_unknown_op_suggests_the_nearest),
        cmocka_unit_test(find_wants_the_exact_name),
        cmocka_unit_test(names_are_unambiguous),
        cmocka_unit_test(every_op_is_complete),
        cmocka_unit_test(a_problem_has_its_shapes_and_parameters),
        cmocka_unit_test(a_loss_is_one_number_in_f32),
        cmocka_unit_test(threads_are_at_least_one),
        cmocka_unit_test(a_dtype_an_op_lacks_is_an_error),
        cmocka_unit_test(an_op_without_modes_has_only_the_usual_one),
        cmocka_unit_test(an_axis_of_zero_is_an_error_that_names_it),
        cmocka_unit_test(sizes_that_overflow_are_an_error),
        cmocka_unit_test(inputs_are_seeded_apart_and_repeatable),
        cmocka_unit_test(classes_lie_within_the_logits),
        cmocka_unit_test(inputs_meet_the_bounds_of_clamped_ops),
        cmocka_unit_test(costs_are_every_tensor_once),
        cmocka_unit_test(half_the_bytes_in_16_bits),
        cmocka_unit_test(tolerances_follow_the_dtype),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
