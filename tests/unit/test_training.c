/* test_training.c: models in training: their graphs, gradients against finite differences, planted
 * faults, and executors measured by a whole group on the CPU. */
#include "model_bed.h"
#include "unit.h"

#include "base/alloc.h"
#include "model/fuse.h"
#include "model/memory.h"
#include "model/model_op.h"
#include "model/training_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct problem {
    struct assay_problem p;
    void *in[ASSAY_MAX_INPUTS];
    struct assay_graph *graph;
};

/* A value with two users, h, an input with two, x, and a bias. */
static void describe_forked(void)
{
    struct assay_error err = {0};
    assay_model_add("{\"name\": \"forked\", \"inputs\": {\"x\": [\"m\", \"k\"]}, \"nodes\": ["
                    "{\"op\": \"linear\", \"input\": \"x\", \"name\": \"h\", \"features\": \"k\","
                    " \"mode\": \"bias\"}, {\"op\": \"gelu\"},"
                    "{\"op\": \"linear\", \"name\": \"r\", \"features\": \"k\"},"
                    "{\"op\": \"add\", \"name\": \"s\", \"inputs\": [\"h\", \"r\"]},"
                    "{\"op\": \"add\", \"inputs\": [\"s\", \"x\"]}]}",
                    &err);
    assert_string_equal(err.message, "");
}

static void make_problem(struct problem *out, const char *op, enum assay_dtype dtype, int64_t m,
                         int64_t k)
{
    struct assay_error err = {0};
    describe_forked();
    *out = (struct problem){0};
    const struct assay_op *found = assay_model_op(op);
    assert_non_null(found);
    assay_op_problem(found, dtype, NULL, (int64_t[]){m, k, 1}, 2, &out->p, &err);
    assert_string_equal(err.message, "");
    for (int32_t i = 0; i < out->p.n_inputs; i++) {
        out->in[i] = assay_calloc(1, assay_tensor_bytes(&out->p.inputs[i]));
        assay_op_fill(found, &out->p, i, out->in[i], 42);
    }
    assert_int_equal(assay_model_graph(&out->p, &out->graph, NULL), ASSAY_OK);
}

static void clear_problem(struct problem *problem)
{
    for (int32_t i = 0; i < problem->p.n_inputs; i++)
        assay_free(problem->in[i]);
    assay_free(problem->graph);
}

static struct assay_training_run *run_graph(const struct problem *problem,
                                            const struct assay_graph *graph)
{
    struct assay_training_run *run = assay_calloc(1, sizeof *run);
    *run = (struct assay_training_run){
        .graph = graph, .problem = &problem->p, .in = (const void *const *)problem->in};
    assert_int_equal(assay_training_run(run, NULL), ASSAY_OK);
    return run;
}

static void drop_run(struct assay_training_run *run)
{
    assay_training_run_fini(run);
    assay_free(run);
}

static double loss_of(const struct problem *problem)
{
    struct assay_training_run *run = run_graph(problem, problem->graph);
    double loss = run->outputs[0][0];
    drop_run(run);
    return loss;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static void assert_ops(const struct assay_graph *g, const char *expected)
{
    char text[1024] = "";
    for (int32_t i = 0; i < g->n_nodes; i++) {
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s%s", i ? " " : "", i == g->n_forward ? "| " : "",
                 g->nodes[i].op->name);
    }
    assert_string_equal(text, expected);
}

static void graphs_are_those_of_the_chain_rule(void **state)
{
    (void)state;
    static const struct {
        const char *op, *nodes;
    } passes[] = {
        {"model:forked_forward", "linear gelu linear add add"},
        {"model:forked_backward",
         "linear gelu | linear_backward gelu_backward add linear_backward add"},
        {"model:forked_both", "linear gelu linear add add sum | linear_backward gelu_backward add "
                              "linear_backward add"},
    };
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        struct problem problem;
        make_problem(&problem, passes[i].op, ASSAY_DTYPE_F32, 3, 5);
        assert_ops(problem.graph, passes[i].nodes);
        clear_problem(&problem);
    }
}

static struct assay_graph *recomputed_graph(const struct problem *problem)
{
    struct assay_graph *g = NULL;
    struct assay_error err = {0};
    assert_int_equal(assay_model_forward_graph(&problem->p, &g, NULL), ASSAY_OK);
    assay_model_train(&problem->p, true, &g, &err);
    assert_string_equal(err.message, "");
    return g;
}

/* gelu's output is made of h, which its gradient reads in any case. */
static void what_is_cheap_is_computed_again(void **state)
{
    (void)state;
    static const struct {
        const char *op, *nodes;
    } passes[] = {
        {"model:forked_forward", "linear gelu linear add add"},
        {"model:forked_backward",
         "linear gelu | gelu linear_backward gelu_backward add linear_backward add"},
        {"model:forked_both", "linear gelu linear add add sum | gelu linear_backward gelu_backward "
                              "add linear_backward add"},
    };
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        struct problem problem;
        make_problem(&problem, passes[i].op, ASSAY_DTYPE_F32, 3, 5);
        struct assay_graph *g = recomputed_graph(&problem);
        assert_ops(g, passes[i].nodes);
        assert_int_equal(assay_graph_kept_bytes(g), 3 * 5 * 4);
        assay_free(g);
        clear_problem(&problem);
    }
}

/* Both norms are made of what their gradients read; statistics come with them, and the forward
 * pass has none. Attention is as it was: it takes too long. */
static void norms_save_no_statistics_where_they_are_computed_again(void **state)
{
    (void)state;
    struct problem problem;
    make_problem(&problem, "model:transformer_block_both", ASSAY_DTYPE_F32, 3, 64);
    struct assay_graph *g = recomputed_graph(&problem);
    int plain = 0, again = 0;
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const char *name = g->nodes[i].op->name;
        bool forward = i < g->n_forward;
        plain += forward && strcmp(name, "rmsnorm") == 0;
        again += !forward && strcmp(name, "rmsnorm_training") == 0;
        assert_false(!forward && strncmp(name, "attention_training", 18) == 0);
        assert_false(forward && strcmp(name, "rmsnorm_training") == 0);
    }
    assert_int_equal(plain, 2);
    assert_int_equal(again, 2);
    assert_true(assay_graph_kept_bytes(g) < assay_graph_kept_bytes(problem.graph));
    assay_free(g);
    clear_problem(&problem);
}

/* The same values come out, to the bit: the copies are the same ops on the same values. */
static void computing_again_changes_no_gradient(void **state)
{
    (void)state;
    struct problem problem;
    make_problem(&problem, "model:transformer_block_both", ASSAY_DTYPE_F32, 3, 64);
    struct assay_graph *g = recomputed_graph(&problem);
    struct assay_training_run *as_usual = run_graph(&problem, problem.graph);
    struct assay_training_run *again = run_graph(&problem, g);
    for (int32_t i = 0; i < problem.p.n_outputs; i++) {
        size_t n = (size_t)assay_tensor_count(&problem.p.outputs[i]);
        assert_memory_equal(as_usual->outputs[i], again->outputs[i], n * sizeof(double));
    }
    drop_run(as_usual);
    drop_run(again);
    assay_free(g);
    clear_problem(&problem);
}

/* h and gelu's output are what the backward pass needs of the forward pass. */
static void what_is_kept_is_counted(void **state)
{
    (void)state;
    static const char *const ops[] = {"model:forked_forward", "model:forked_backward",
                                      "model:forked_both"};
    for (int i = 0; i < 3; i++) {
        struct problem problem;
        make_problem(&problem, ops[i], ASSAY_DTYPE_F32, 3, 5);
        assert_int_equal(assay_graph_kept_bytes(problem.graph), 2 * 3 * 5 * 4);
        clear_problem(&problem);
    }
}

static bool always(void *user, const struct assay_problem *problem)
{
    (void)user, (void)problem;
    return true;
}

/* Fused as far as the gradients' inputs allow: gelu stays out of the layer, a residual goes in. */
static void fusing_leaves_what_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *op, *nodes;
    } passes[] = {
        {"model:forked_forward", "linear gelu linear add"},
        {"model:forked_both",
         "linear gelu linear add sum | linear_backward gelu_backward add linear_backward add"},
    };
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        struct problem problem;
        make_problem(&problem, passes[i].op, ASSAY_DTYPE_F32, 3, 5);
        assay_graph_fuse(problem.graph, always, NULL);
        assert_ops(problem.graph, passes[i].nodes);
        assert_int_equal(assay_graph_kept_bytes(problem.graph), 2 * 3 * 5 * 4);
        clear_problem(&problem);
    }
}

/* ---- finite differences ---------------------------------------------------------------------- */

static void gradients_are_differences_of_the_loss(void **state)
{
    (void)state;
    static const double step = 1e-4;
    struct problem problem;
    make_problem(&problem, "model:forked_both", ASSAY_DTYPE_F64, 3, 5);
    struct assay_training_run *run = run_graph(&problem, problem.graph);
    assert_int_equal(problem.p.n_outputs, 1 + problem.p.n_inputs);
    for (int32_t i = 0; i < problem.p.n_inputs; i++)
        for (int64_t at = 0; at < assay_tensor_count(&problem.p.inputs[i]); at++) {
            double *x = (double *)problem.in[i] + at, was = *x;
            *x = was + step;
            double above = loss_of(&problem);
            *x = was - step;
            double below = loss_of(&problem);
            *x = was;
            assert_near(run->outputs[1 + i][at], (above - below) / (2 * step), 1e-6);
        }
    drop_run(run);
    clear_problem(&problem);
}

/* ---- planted faults -------------------------------------------------------------------------- */

struct check {
    struct problem problem;
    struct assay_expected expected[ASSAY_MAX_OUTPUTS];
};

static void make_check(struct check *c, const char *op, enum assay_dtype dtype)
{
    struct assay_error err = {0};
    *c = (struct check){0};
    make_problem(&c->problem, op, dtype, 32, 16);
    assay_model_op(op)->reference_all(&c->problem.p, (const void *const *)c->problem.in,
                                      c->expected, &err);
    assert_string_equal(err.message, "");
}

static void clear_check(struct check *c)
{
    for (int32_t i = 0; i < ASSAY_MAX_OUTPUTS; i++) {
        assay_free(c->expected[i].values);
        assay_free(c->expected[i].sizes);
    }
    clear_problem(&c->problem);
}

static int64_t mismatches(const struct check *c, int32_t output, const double *got)
{
    const struct assay_expected *e = &c->expected[output];
    struct assay_comparison found;
    assay_comparison_init(&found, e->tolerance);
    assay_comparison_add_sums(&found, ASSAY_DTYPE_F64, got, 0, e->values, e->sizes,
                              assay_tensor_count(&c->problem.p.outputs[output]));
    return found.mismatches;
}

/* What this graph, or the right one, gives is compared; the number of the first output that is
 * wrong, -1: none is. */
static int32_t first_wrong(const struct check *c, const struct assay_graph *graph)
{
    struct assay_training_run *run = run_graph(&c->problem, graph);
    int32_t wrong = -1;
    for (int32_t i = c->problem.p.n_outputs - 1; i >= 0; i--)
        if (mismatches(c, i, run->outputs[i]))
            wrong = i;
    drop_run(run);
    return wrong;
}

static int32_t node_of(const struct assay_graph *g, const char *op, int32_t skip)
{
    for (int32_t i = 0; i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].op->name, op) == 0 && skip-- == 0)
            return i;
    fail_msg("no %s", op);
    return -1;
}

/* The outputs of the backward pass: of x, W1, b1, W2. */
enum { DX, DW1, DB1, DW2 };

static void faults_in_gradients_are_caught(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16};
    for (int t = 0; t < 2; t++) {
        struct check c;
        make_check(&c, "model:forked_backward", dtypes[t]);
        struct assay_graph *g = c.problem.graph;
        assert_int_equal(first_wrong(&c, g), -1);
        int32_t sum_h = node_of(g, "add", 0), sum_x = node_of(g, "add", 1);
        struct assay_node was = g->nodes[sum_h];
        g->nodes[sum_h].in[1] = was.in[0]; /* one part twice, the other not at all */
        assert_int_equal(first_wrong(&c, g), DX);
        g->nodes[sum_h].in[0] = g->nodes[sum_h].in[1] = was.in[1];
        assert_int_equal(first_wrong(&c, g), DX);
        g->nodes[sum_h] = was;
        was = g->nodes[sum_x];
        g->nodes[sum_x].in[1] = was.in[0];
        assert_int_equal(first_wrong(&c, g), DX);
        g->nodes[sum_x] = was;
        clear_check(&c);
    }
}

static void transpose(double *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n * n; i++)
        to[i] = from[i % n * n + i / n];
}

static void faults_in_outputs_are_caught(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16};
    for (int t = 0; t < 2; t++) {
        struct check c;
        double wrong[32 * 16];
        make_check(&c, "model:forked_both", dtypes[t]);
        for (int32_t i = 0; i < c.problem.p.n_outputs; i++) {
            const double *right = c.expected[i].values;
            int64_t n = assay_tensor_count(&c.problem.p.outputs[i]);
            assert_int_equal(mismatches(&c, i, right), 0);
            for (int64_t k = 0; k < n; k++) /* the wrong sign */
                wrong[k] = -right[k];
            assert_true(mismatches(&c, i, wrong) > n / 2);
            for (int64_t k = 0; k < n; k++) /* added to what was there, or to itself */
                wrong[k] = 2 * right[k];
            assert_true(mismatches(&c, i, wrong) > n / 2);
            memset(wrong, 0, sizeof wrong); /* left out */
            assert_true(mismatches(&c, i, wrong) > n / 2);
        }
        transpose(wrong, c.expected[1 + DW2].values, 16);
        assert_true(mismatches(&c, 1 + DW2, wrong) > 16 * 16 / 2);
        clear_check(&c);
    }
}

/* The statistics of the block's second norm in place of the first's. */
static void a_wrong_saved_statistic_is_caught(void **state)
{
    (void)state;
    struct check c;
    make_check(&c, "model:transformer_block_backward", ASSAY_DTYPE_F32);
    struct assay_graph *g = c.problem.graph;
    int32_t second = node_of(g, "rmsnorm_backward", 0), first = node_of(g, "rmsnorm_backward", 1);
    assert_int_equal(first_wrong(&c, g), -1);
    g->nodes[first].in[3] = g->nodes[second].in[3];
    assert_int_equal(first_wrong(&c, g), 0);
    clear_check(&c);
}

/* Parameters that stay as they are. */
static void skipped_updates_are_caught(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16};
    for (int t = 0; t < 2; t++) {
        struct check c;
        make_check(&c, "model:transformer_block_step", dtypes[t]);
        for (int32_t i = 1; i < c.problem.p.n_outputs; i++) { /* behind the loss; input 0 is x */
            const struct assay_tensor *w = &c.problem.p.inputs[i];
            int64_t n = assay_tensor_count(w);
            double *was = assay_malloc((size_t)n * sizeof *was);
            assay_dtype_load(w->dtype, c.problem.in[i], 0, n, was);
            assert_int_equal(mismatches(&c, i, c.expected[i].values), 0);
            assert_true(mismatches(&c, i, was) > n / 4);
            assay_free(was);
        }
        clear_check(&c);
    }
}

/* ---- executors ------------------------------------------------------------------------------- */

/* Sizes none of which is round. */
static const struct {
    const char *model;
    int64_t axes[ASSAY_MAX_AXES];
    int32_t n_axes;
} models[] = {
    {"linear", {5, 37, 19}, 3},
    {"ln_linear_sigmoid", {5, 37, 19}, 3},
    {"ln_linear_relu", {33, 65, 31}, 3},
    {"ln_linear_leakyrelu", {5, 37, 19}, 3},
    {"ln_linear_relu6", {5, 37, 19}, 3},
    {"ln_linear_gelu", {33, 65, 31}, 3},
    {"ln_linear_silu", {5, 37, 19}, 3},
    {"ln_linear_hardswish", {5, 37, 19}, 3},
    {"transformer_block", {3, 64, 1}, 3},
    {"multi_head_attention", {3, 10, 48, 3}, 4},
    {"mlp_gelu", {2, 7, 33, 65}, 4},
    {"mlp_relu", {2, 7, 33, 65}, 4},
    {"mlp_swiglu", {2, 7, 33, 31}, 4},
    {"layer_norm", {2, 5, 37}, 3},
    {"rms_norm", {2, 5, 37}, 3},
    {"rms_norm_1e_5", {2, 5, 37}, 3},
    {"rms_norm_1e_8", {2, 5, 37}, 3},
    {"group_norm", {3, 12, 5, 7, 4}, 5},
    {"conv2d", {3, 17, 8, 5, 4, 5, 1, 2}, 8},
    {"depthwise_separable", {3, 19, 6, 5, 3, 1, 1}, 7},
    {"depthwise", {2, 19, 6, 5, 2, 1, 2}, 7},
    {"preset_transformer", {2, 9, 32, 4, 3}, 5},
    {"sd_resblock", {2, 12, 5, 7, 4}, 5},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void every_model_is_listed(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_model_count(); i++) {
        bool listed = strcmp(assay_model_at(i)->name, "forked") == 0;
        for (int k = 0; k < MODELS; k++)
            listed = listed || strcmp(assay_model_at(i)->name, models[k].model) == 0;
        if (!listed)
            fail_msg("%s is trained by no test", assay_model_at(i)->name);
    }
}

/* How many variants are wrong; each is told. */
static int count_wrong(int model, enum assay_pass pass, enum assay_dtype dtype)
{
    struct bed *bed = assay_calloc(1, sizeof *bed);
    char name[48];
    snprintf(name, sizeof name, "%s_%s", models[model].model, assay_pass_name(pass));
    make_bed(bed, name, dtype, 1, 1, 1);
    memcpy(bed->job.group.axes, models[model].axes, sizeof models[model].axes);
    bed->job.group.n_axes = models[model].n_axes;
    bed->job.settings.budget_s = 0.01;
    assay_strings_add(&bed->job.settings.implementations, "recomputed");
    measure(bed, "baseline");
    assert_int_equal(bed->n, 3);
    int wrong = 0;
    for (int64_t i = 0; i < bed->n; i++) {
        const struct assay_record *r = &bed->records[i];
        if (r->outcome != ASSAY_OUTCOME_OK) {
            print_error("%s %s %s: %s\n", name, r->implementation, assay_dtype_name(dtype),
                        r->reason);
            wrong++;
            continue;
        }
        assert_true(r->verification.done);
        assert_string_equal(r->pass, assay_pass_name(pass));
        if (pass == ASSAY_PASS_FORWARD) /* the output may be what is saved */
            assert_true(r->saved_bytes >= 0);
        else
            assert_true(r->saved_bytes >= 0 && r->planned_bytes >= r->saved_bytes);
        if (getenv("ASSAY_SHOW_ERRORS"))
            printf("%s %s %s: max %.4g of %.4g, %s\n", name, assay_dtype_name(dtype),
                   r->implementation, r->verification.max_abs, r->verification.tolerance_absolute,
                   r->note);
    }
    clear_bed(bed);
    assay_free(bed);
    return wrong;
}

static void every_model_is_trained_rightly(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16};
    int wrong = 0;
    for (int i = 0; i < MODELS; i++)
        for (int pass = 0; pass < ASSAY_PASSES; pass++)
            for (int t = 0; t < 2; t++)
                wrong += count_wrong(i, (enum assay_pass)pass, dtypes[t]);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_are_those_of_the_chain_rule),
        cmocka_unit_test(what_is_kept_is_counted),
        cmocka_unit_test(what_is_cheap_is_computed_again),
        cmocka_unit_test(norms_save_no_statistics_where_they_are_computed_again),
        cmocka_unit_test(computing_again_changes_no_gradient),
        cmocka_unit_test(fusing_leaves_what_is_kept),
        cmocka_unit_test(gradients_are_differences_of_the_loss),
        cmocka_unit_test(faults_in_gradients_are_caught),
        cmocka_unit_test(faults_in_outputs_are_caught),
        cmocka_unit_test(a_wrong_saved_statistic_is_caught),
        cmocka_unit_test(skipped_updates_are_caught),
        cmocka_unit_test(every_model_is_listed),
        cmocka_unit_test(every_model_is_trained_rightly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
