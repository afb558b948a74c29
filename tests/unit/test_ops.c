/* test_ops.c: every op's reference on its own worked example, then names, sizes, fills, costs, and
 * what else an op says of itself. test_linear.c has more on `linear`. */
#include "op/op.h"
#include "op/op_name.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

/* ---- references ----------------------------------------------------------------------------- */

static struct assay_problem problem_of(const struct assay_op *op, enum assay_dtype dtype,
                                       int64_t batch, int64_t seq, int64_t dim)
{
    struct assay_problem problem;
    const int64_t axes[ASSAY_MAX_AXES] = {batch, seq, dim, 1};
    assert_int_equal(assay_op_problem(op, dtype, NULL, axes, 1, &problem, NULL), ASSAY_OK);
    return problem;
}

/* The widest float an op takes: `conv2d` has no f64. */
static enum assay_dtype widest(const struct assay_op *op)
{
    return assay_op_has_dtype(op, ASSAY_DTYPE_F64) ? ASSAY_DTYPE_F64 : ASSAY_DTYPE_F32;
}

/* The problem and the inputs of an op's example, as the op stores them. */
struct worked {
    struct assay_problem problem;
    double storage[6][8];
    const void *in[6];
};

static struct worked *example_of(const struct assay_op *op)
{
    static struct worked w;
    const struct assay_op_example *e = op->example;
    w.problem = problem_of(op, widest(op), 1, e->rows, e->dim);
    for (int32_t i = 0; i < 6; i++) {
        w.in[i] = w.storage[i];
        if (i < w.problem.n_inputs)
            assay_dtype_store(w.problem.inputs[i].dtype, e->in[i], w.storage[i], 0, 8);
    }
    return &w;
}

static void references_give_the_worked_values(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (!op->example)
            continue;
        const struct worked *w = example_of(op);
        int64_t length = assay_op_row_length(&w->problem);
        for (int64_t row = 0; row < assay_op_rows(&w->problem); row++) {
            double got[8] = {0};
            op->reference(&w->problem, w->in, row, 0, length, got);
            for (int64_t j = 0; j < length; j++)
                assert_near(got[j], op->example->want[row * length + j], 1e-12);
        }
    }
}

/* A row may be computed in parts, as the verifier does with long ones. */
static void references_give_any_part_of_a_row(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (!op->example)
            continue;
        const struct worked *w = example_of(op);
        int64_t length = assay_op_row_length(&w->problem);
        int64_t last_row = assay_op_rows(&w->problem) - 1;
        double got = 0;
        op->reference(&w->problem, w->in, last_row, length - 1, 1, &got);
        assert_near(got, op->example->want[last_row * length + length - 1], 1e-12);
    }
}

/* Other ops than those of [batch, seq, dim] have theirs in test files of their own. */
static void every_op_has_a_worked_example(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++)
        if (assay_op_is_of_rows(assay_op_at(i)) && !assay_op_at(i)->example)
            fail_msg("%s has no .example", assay_op_at(i)->name);
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
    const double x[] = {(double)NAN, 1, 2, 3, 4, 5, 6, 7}, ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    static const int32_t classes[] = {1};
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (!assay_op_is_of_rows(op) || is_of_bits(op))
            continue;
        struct assay_problem p = problem_of(op, ASSAY_DTYPE_F64, 1, 1, 4);
        const bool indexed = p.n_inputs > 1 && p.inputs[1].dtype == ASSAY_DTYPE_S32;
        double out[8], first[8]; /* a loss's gradient is in f32 */
        assay_dtype_store(p.inputs[0].dtype, x, first, 0, 8);
        const void *in[] = {
            first, indexed ? (const void *)classes : (const void *)ones, ones, ones, ones, ones};
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
    } known[] = {{"layernorm", 3}, {"linear", 3}, {"quantize", 2},         {"dequantize", 2},
                 {"attention", 4}, {"conv2d", 7}, {"depthwise_conv2d", 6}, {"groupnorm", 5}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        assert_int_equal(assay_op_axes(assay_op_find(known[k].op)), known[k].axes);
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        assert_non_null(op->title);
        assert_non_null(op->summary);
        assert_non_null(op->shapes);
        assert_true(op->reference != NULL || op->reference_blocks != NULL);
        assert_int_equal(op->reference_blocks != NULL, op->row_block != NULL);
        assert_non_null(op->cost);
        assert_non_null(op->tolerance);
        assert_true(assay_op_axes(op) >= 1);
        assert_int_equal(op->fill_exact != NULL, op->can_be_exact != NULL);
        for (int k = 0; k < ASSAY_OP_OUTPUTS - 1; k++)
            assert_int_equal(op->more[k].reference || op->more[k].reference_sums,
                             op->more[k].tolerance != NULL);
        assert_int_equal(op->modes != NULL, op->set_mode != NULL);
        if (op->takes_recipes)
            assert_non_null(op->dequantised);
    }
}

/* Shapes, separated by commas and blanks: each makes a problem of this op. */
static int64_t shapes_make_problems(const struct assay_op *op, const char *shapes)
{
    int64_t n = 0;
    for (const char *at = shapes; *at; at += strspn(at, ", "), n++) {
        int64_t axes[ASSAY_MAX_AXES] = {0};
        int32_t count = 0;
        struct assay_problem p;
        while (count < ASSAY_MAX_AXES) {
            char *end;
            axes[count++] = strtoll(at, &end, 10);
            at = end + (*end == 'x');
            if (end[0] != 'x')
                break;
        }
        assert_int_equal(count, assay_op_axes(op));
        assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, op->usual_mode, axes, 1, &p, NULL),
                         ASSAY_OK);
    }
    return n;
}

static void shapes_of_ops_are_shapes_of_theirs(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_op_count(); i++) {
        const struct assay_op *op = assay_op_at(i);
        if (op->usual_shapes)
            assert_true(shapes_make_problems(op, op->usual_shapes) >= 1);
        if (assay_op_sample_shapes(op))
            assert_true(shapes_make_problems(op, assay_op_sample_shapes(op)) >= 1);
        if (op->skeleton.body)
            assert_int_equal(shapes_make_problems(op, assay_op_skeleton_shapes(op)), 2);
    }
    const struct assay_op *relu = assay_op_find("relu"), *linear = assay_op_find("linear");
    char order[16];
    assert_string_equal(assay_op_order(linear, order, sizeof order), "MxKxN");
    assert_string_equal(assay_op_order(relu, order, sizeof order), "BATCHxSEQxDIM");
    assert_true(assay_op_is_of_rows(relu) && !assay_op_is_of_rows(linear));
    assert_string_equal(assay_op_skeleton_shapes(relu), "8x128x512, 3x5x77");
}

/* An op whose shapes are not of rows and that says nothing of them is fine: users must then. */
static void an_op_need_not_have_usual_shapes(void **state)
{
    (void)state;
    const struct assay_op bare = {.name = "bare", .axis_names = {"m", "n"}};
    const struct assay_op usual = {
        .name = "usual", .axis_names = {"m", "n"}, .usual_shapes = "3x4"};
    assert_null(assay_op_sample_shapes(&bare));
    assert_null(assay_op_skeleton_shapes(&bare));
    assert_string_equal(assay_op_sample_shapes(&usual), "3x4");
    assert_string_equal(assay_op_skeleton_shapes(&usual), "3x4");
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
        {"linear", ASSAY_DTYPE_F64, true},  {"linear", ASSAY_DTYPE_U4, false},
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
            bool codes = strncmp(assay_op_at(i)->name, "quantize", 8) == 0; /* one right one */
            bool moves =
                is_of_bits(assay_op_at(i)) || strcmp(assay_op_at(i)->name, "copy") == 0 || codes;
            assert_true(moves ? t.relative == 0 && t.absolute == 0 : t.relative >= unit);
            assert_true(t.relative <= 2.1 * unit + 1e-3);
            assert_true(t.absolute >= 0 && t.absolute <= 1e-3);
            assert_int_equal(t.summed > 0, assay_op_at(i)->reference_sums != NULL);
            assert_true(t.summed <= 1e-3);
        }
}

static void prefixes_are_for_the_harness_alone(void **state)
{
    (void)state;
    assert_string_equal(assay_op_shown("softmax"), "softmax");
    assert_string_equal(assay_op_shown("model:linear"), "linear");
    assert_string_equal(assay_op_shown("workload:Silu.large"), "Silu.large");
    assert_string_equal(assay_op_shown("model"), "model");
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
        cmocka_unit_test(prefixes_are_for_the_harness_alone),
        cmocka_unit_test(every_op_is_complete),
        cmocka_unit_test(shapes_of_ops_are_shapes_of_theirs),
        cmocka_unit_test(an_op_need_not_have_usual_shapes),
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
