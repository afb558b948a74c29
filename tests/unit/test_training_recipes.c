/* test_training_recipes.c: a linear layer trained with the operands of its products cast: graphs,
 * references with another recipe's figures planted, and executors measured by a whole group. */
#include "model_bed.h"
#include "unit.h"

#include "base/alloc.h"
#include "model/model_op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const recipes[] = {"float8dq-tensor", "float8dq-row", "float8dq-row-gw-hp",
                                      "float8dq-tensor-go-hp"};
enum { RECIPES = sizeof recipes / sizeof recipes[0] };

static struct assay_problem problem_of(const char *op, const char *recipe)
{
    struct assay_problem problem;
    struct assay_error err = {0};
    assay_op_problem(assay_model_op(op), ASSAY_DTYPE_BF16, NULL, (int64_t[]){48, 40, 56}, 2,
                     &problem, &err);
    assert_string_equal(err.message, "");
    problem.recipe = recipe;
    return problem;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void assert_ops(const char *op, const char *recipe, const char *expected)
{
    struct assay_problem problem = problem_of(op, recipe);
    struct assay_graph *g = NULL;
    char text[256] = "";
    assert_int_equal(assay_model_graph(&problem, &g, NULL), ASSAY_OK);
    for (int32_t i = 0; i < g->n_nodes; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "", g->nodes[i].op->name);
    }
    assert_string_equal(text, expected);
    assay_free(g);
}

static void layers_cast_where_a_recipe_is_for_training(void **state)
{
    (void)state;
    assert_ops("model:linear_both", "baseline", "linear sum linear_backward");
    assert_ops("model:linear_both", "float8dq-row", "linear_training sum linear_backward");
    assert_ops("model:linear_forward", "float8dq-tensor", "linear_training");
    assert_ops("model:linear_backward", "float8dq-tensor", "linear_backward");
    assert_ops("model:linear", "float8dq-tensor", "linear");
}

/* ---- references ------------------------------------------------------------------------------ */

struct check {
    struct assay_problem problem;
    void *in[ASSAY_MAX_INPUTS];
    struct assay_expected expected[ASSAY_MAX_OUTPUTS];
};

static void make_check(struct check *c, const char *op, const char *recipe)
{
    struct assay_error err = {0};
    *c = (struct check){.problem = problem_of(op, recipe)};
    for (int32_t i = 0; i < c->problem.n_inputs; i++) {
        c->in[i] = assay_calloc(1, assay_tensor_bytes(&c->problem.inputs[i]));
        assay_op_fill(assay_model_op(op), &c->problem, i, c->in[i], 42);
    }
    assay_model_op(op)->reference_all(&c->problem, (const void *const *)c->in, c->expected, &err);
    assert_string_equal(err.message, "");
}

static void clear_check(struct check *c)
{
    for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++) {
        assay_free(c->expected[i].values);
        assay_free(c->expected[i].sizes);
    }
    for (int32_t i = 0; i < ASSAY_MAX_INPUTS; i++)
        assay_free(c->in[i]);
}

/* The other's values, judged by this one. */
static int64_t mismatches(const struct check *c, const struct check *other, int32_t output)
{
    const struct assay_expected *e = &c->expected[output];
    struct assay_comparison found;
    assay_comparison_init(&found, e->tolerance);
    assay_comparison_add_sums(&found, ASSAY_DTYPE_F64, other->expected[output].values, 0, e->values,
                              e->sizes, assay_tensor_count(&c->problem.outputs[output]));
    return found.mismatches;
}

/* dX and dW of one recipe are not those of another, nor of the baseline, but for what both leave
 * alone. */
static void another_recipes_gradients_are_caught(void **state)
{
    (void)state;
    enum { DX, DW };
    struct check c[3];
    make_check(&c[0], "model:linear_backward", "baseline");
    make_check(&c[1], "model:linear_backward", "float8dq-row");
    make_check(&c[2], "model:linear_backward", "float8dq-row-gw-hp");
    assert_int_equal(mismatches(&c[1], &c[1], DX), 0);
    assert_true(mismatches(&c[0], &c[1], DX) > 0);
    assert_true(mismatches(&c[1], &c[0], DX) > 0);
    assert_true(mismatches(&c[1], &c[0], DW) > 0);
    assert_int_equal(mismatches(&c[2], &c[1], DX), 0);
    assert_true(mismatches(&c[2], &c[1], DW) > 0);
    assert_int_equal(mismatches(&c[2], &c[0], DW), 0);
    for (int i = 0; i < 3; i++)
        clear_check(&c[i]);
}

/* ---- executors ------------------------------------------------------------------------------- */

static void measure_pass(struct bed *bed, const char *model, enum assay_pass pass,
                         enum assay_dtype dtype, const char *asked)
{
    char name[48];
    snprintf(name, sizeof name, "%s_%s", model, assay_pass_name(pass));
    make_bed(bed, name, dtype, 33, 65, 31);
    bed->job.settings.budget_s = 0.01;
    measure(bed, asked);
}

/* 4 bits of mantissa: some 30 dB, in y as in dX and dW. */
static void assert_level(double db) { assert_true(db > 20 && db < 60); }

static void assert_right(const struct assay_record *r, enum assay_pass pass)
{
    if (r->outcome != ASSAY_OUTCOME_OK)
        fail_msg("%s %s %s: %s", r->op, r->implementation, r->recipe, r->reason);
    assert_true(r->verification.done);
    if (strcmp(r->recipe, "baseline") == 0)
        return;
    if (pass == ASSAY_PASS_FORWARD || pass == ASSAY_PASS_BACKWARD)
        assert_level(r->accuracy_db);
    if (pass == ASSAY_PASS_BACKWARD && strcmp(r->recipe, "float8dq-row-gw-hp") != 0)
        assert_level(r->more_accuracy_db[0]);
}

static void every_recipe_is_trained_rightly(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};
    char asked[256] = "baseline";
    for (int i = 0; i < RECIPES; i++)
        snprintf(asked + strlen(asked), sizeof asked - strlen(asked), ",%s", recipes[i]);
    for (int pass = 0; pass < ASSAY_PASSES; pass++)
        for (int t = 0; t < 3; t++) {
            struct bed *bed = assay_calloc(1, sizeof *bed);
            measure_pass(bed, "linear", (enum assay_pass)pass, dtypes[t], asked);
            assert_int_equal(bed->n, 2 * (1 + RECIPES));
            for (int64_t i = 0; i < bed->n; i++)
                assert_right(&bed->records[i], (enum assay_pass)pass);
            clear_bed(bed);
            assay_free(bed);
        }
}

static void refused(const char *model, const char *recipe, const char *reason)
{
    struct bed *bed = assay_calloc(1, sizeof *bed);
    char asked[96];
    snprintf(asked, sizeof asked, "baseline,%s", recipe);
    measure_pass(bed, model, ASSAY_PASS_BACKWARD, ASSAY_DTYPE_F32, asked);
    assert_int_equal(bed->n, 4);
    for (int64_t i = 0; i < bed->n; i++) {
        const struct assay_record *r = &bed->records[i];
        bool own = strcmp(r->recipe, recipe) == 0;
        assert_int_equal(r->outcome, own ? ASSAY_OUTCOME_UNSUPPORTED : ASSAY_OUTCOME_OK);
        if (own && !strstr(r->reason, reason))
            fail_msg("%s", r->reason);
    }
    clear_bed(bed);
    assay_free(bed);
}

static void what_is_not_trained_says_so(void **state)
{
    (void)state;
    refused("linear", "int8wo", "int8wo is not for training; float8dq-tensor");
    refused("ln_linear_gelu", "float8dq-row", "float8dq-row is for a linear layer alone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_cast_where_a_recipe_is_for_training),
        cmocka_unit_test(another_recipes_gradients_are_caught),
        cmocka_unit_test(every_recipe_is_trained_rightly),
        cmocka_unit_test(what_is_not_trained_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
