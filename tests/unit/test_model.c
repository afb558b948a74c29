/* test_model.c: models: graphs, fusing, memory layout, descriptions, references, and executors
 * measured by a whole group on the CPU. */
#include "model_bed.h"
#include "unit.h"

#include "base/alloc.h"
#include "base/sealed.h"
#include "device/cpu/cpu_info.h"
#include "model/fuse.h"
#include "model/memory.h"
#include "model/model.h"
#include "op/linear.h"
#include "op/reference/product.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct assay_graph graph_of(const char *model, int64_t m, int64_t k, int64_t n)
{
    const struct assay_model *found = NULL;
    assert_int_equal(assay_model_find(model, &found, NULL), ASSAY_OK);
    struct assay_graph g = {.dtype = ASSAY_DTYPE_F32, .threads = 1, .output = -1};
    if (found->build)
        found->build(&g, m, k, n);
    else
        found->build_from(&g, found, (const int64_t[]){m, k, n});
    assert_string_equal(g.error.message, "");
    return g;
}

static bool always(void *user, const struct assay_problem *problem)
{
    (void)user, (void)problem;
    return true;
}

static bool never(void *user, const struct assay_problem *problem)
{
    (void)user, (void)problem;
    return false;
}

static void assert_ops(const struct assay_graph *g, const char *expected)
{
    char text[512] = "";
    for (int32_t i = 0; i < g->n_nodes; i++) {
        const struct assay_problem *p = &g->nodes[i].problem;
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", i ? " " : "", g->nodes[i].op->name);
        at = strlen(text);
        if (g->nodes[i].op->takes_recipes)
            snprintf(text + at, sizeof text - at, "(%g,%g,%g)", p->params[ASSAY_LINEAR_NORM],
                     p->params[ASSAY_LINEAR_ACTIVATION], p->params[ASSAY_LINEAR_ADD]);
    }
    assert_string_equal(text, expected);
}

static void names_are_found(void **state)
{
    (void)state;
    const struct assay_model *model;
    struct assay_error err = {0};
    assert_int_equal(assay_model_find("model:linear", &model, NULL), ASSAY_OK);
    assert_string_equal(model->name, "linear");
    assert_int_equal(assay_model_find("LN_Linear", &model, NULL), ASSAY_OK);
    assert_string_equal(model->name, "ln_linear_relu");
    assert_int_equal(assay_model_find("ln_linear_gelo", &model, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"ln_linear_gelu\"?"));
    assert_ptr_equal(assay_model_op("relu"), assay_op_find("relu"));
    assert_null(assay_model_op("model:nothing"));
    assert_string_equal(assay_model_op("model:ln_linear_gelu")->name, "model:ln_linear_gelu");
    assert_ptr_equal(assay_model_op("model:linear"), assay_model_op("model:linear"));
}

static void neighbours_are_fused(void **state)
{
    (void)state;
    struct assay_graph g = graph_of("ln_linear_gelu", 4, 8, 16);
    assert_ops(&g, "layernorm linear(0,0,0) gelu");
    assay_graph_fuse(&g, never, NULL);
    assert_ops(&g, "layernorm linear(0,0,0) gelu");
    assay_graph_fuse(&g, always, NULL);
    assert_ops(&g, "linear(1,5,0)");
    assert_int_equal(g.nodes[0].out[0], g.output);
    assert_int_equal(g.values[g.nodes[0].in[ASSAY_LINEAR_X]].kind, ASSAY_VALUE_INPUT);
    assert_int_equal(g.values[g.nodes[0].in[ASSAY_LINEAR_W]].kind, ASSAY_VALUE_WEIGHT);
}

static void a_block_is_five_nodes(void **state)
{
    (void)state;
    struct assay_graph g = graph_of("transformer_block", 2, 64, 1);
    assert_ops(&g, "rmsnorm linear(0,0,0) attention linear(0,0,0) add rmsnorm linear(0,0,0) gelu "
                   "linear(0,0,0) add");
    assert_int_equal(g.parts, 2);
    assay_graph_fuse(&g, always, NULL);
    assert_ops(&g, "linear(2,0,0) attention linear(0,0,1) linear(2,5,0) linear(0,0,1)");
    const struct assay_node *qkv = &g.nodes[0], *proj = &g.nodes[2], *last = &g.nodes[4];
    assert_int_equal(g.values[qkv->in[assay_linear_norm_input(&qkv->problem)]].around_one, true);
    assert_int_equal(proj->in[assay_linear_residual_input(&proj->problem)],
                     qkv->in[ASSAY_LINEAR_X]); /* x */
    assert_int_equal(last->in[assay_linear_residual_input(&last->problem)], proj->out[0]);
    assert_int_equal(last->out[0], g.output);
}

/* x is needed behind the norm too, h by two: neither is fused away. */
static void a_value_with_two_users_stays(void **state)
{
    (void)state;
    struct assay_graph g = {.dtype = ASSAY_DTYPE_F32, .threads = 1, .output = -1};
    int32_t x = assay_graph_input(&g, 4, 8), h = assay_graph_rmsnorm(&g, x);
    int32_t y = assay_graph_linear(&g, h, 8, "");
    assay_graph_output(&g, assay_graph_binary(&g, "add", assay_graph_unary(&g, "gelu", y), h));
    assert_string_equal(g.error.message, "");
    assay_graph_fuse(&g, always, NULL);
    assert_ops(&g, "rmsnorm linear(0,5,1)");
    struct assay_graph again = {.dtype = ASSAY_DTYPE_F32, .threads = 1, .output = -1};
    x = assay_graph_input(&again, 4, 8);
    y = assay_graph_linear(&again, x, 8, "");
    assay_graph_output(&again,
                       assay_graph_binary(&again, "add", assay_graph_unary(&again, "gelu", y), y));
    assay_graph_fuse(&again, always, NULL);
    assert_ops(&again, "linear(0,0,0) gelu add");
}

/* No two values that live at once may share a byte; with reuse there is less of it. */
static void places_do_not_overlap(void **state)
{
    (void)state;
    struct assay_graph g = graph_of("transformer_block", 2, 64, 1);
    struct assay_memory_plan apart, plan;
    assay_graph_plan_memory(&g, false, false, &apart);
    assay_graph_plan_memory(&g, true, false, &plan);
    const int64_t *shared = plan.offsets, least = plan.bytes;
    assert_true(least < apart.bytes);
    int32_t last[ASSAY_GRAPH_VALUES] = {0};
    for (int32_t i = 0; i < g.n_nodes; i++)
        for (int32_t j = 0; j < g.nodes[i].problem.n_inputs; j++)
            last[g.nodes[i].in[j]] = i;
    for (int32_t a = 0; a < g.n_nodes; a++)
        for (int32_t b = 0; b < a; b++) {
            int32_t u = g.nodes[a].out[0], v = g.nodes[b].out[0];
            if (u == g.output || v == g.output || last[v] < a)
                continue;
            int64_t bytes_u = (int64_t)assay_tensor_bytes(&g.values[u].tensor);
            int64_t bytes_v = (int64_t)assay_tensor_bytes(&g.values[v].tensor);
            assert_true(shared[u] + bytes_u <= shared[v] || shared[v] + bytes_v <= shared[u]);
            assert_true(shared[u] >= 0 && shared[u] + bytes_u <= least);
        }
}

static void sizes_are_checked(void **state)
{
    (void)state;
    struct assay_problem p;
    struct assay_error err = {0};
    const struct assay_op *block = assay_model_op("model:transformer_block");
    assert_int_equal(
        assay_op_problem(block, ASSAY_DTYPE_BF16, NULL, (const int64_t[]){2, 60, 1}, 1, &p, &err),
        ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "attention over sequences of 16 with 8 heads"));
    err = (struct assay_error){0};
    assert_int_equal(assay_op_problem(block, ASSAY_DTYPE_BF16, NULL,
                                      (const int64_t[]){INT64_MAX / 8, 64, 1}, 1, &p, &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "too large"));
}

/* ---- descriptions -----------------------------------------------------------------------------
 */

static void a_model_can_be_described(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\": \"mlp\", \"inputs\": {\"x\": [\"m\", \"k\"]}, \"nodes\": ["
        "{\"op\": \"rmsnorm\"}, {\"op\": \"linear\", \"features\": \"4*k\", \"mode\": \"bias\"}, "
        "{\"op\": \"gelu\"}, {\"op\": \"linear\", \"features\": \"k\", \"name\": \"y\"}, "
        "{\"op\": \"add\", \"inputs\": [\"y\", \"x\"]}]}";
    struct assay_error err = {0};
    assert_int_equal(assay_model_add(text, &err), ASSAY_OK);
    assert_int_equal(assay_model_add(text, &err), ASSAY_OK); /* the same again */
    struct assay_graph g = graph_of("mlp", 4, 8, 1);
    assert_ops(&g, "rmsnorm linear(0,0,0) gelu linear(0,0,0) add");
    assert_int_equal(g.values[g.nodes[1].out[0]].tensor.dims[1], 32);
    assay_graph_fuse(&g, always, NULL);
    assert_ops(&g, "linear(2,5,0) linear(0,0,1)");
    assert_int_equal(assay_model_add("{\"name\": \"mlp\", \"nodes\": [{\"op\": \"gelu\"}]}", &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "already"));
}

static void bad_descriptions_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"[]", "", "must be a mapping"},
        {"{\"nodes\": [{\"op\": \"gelu\"}]}", "name", "must be a word"},
        {"{\"name\": \"b\"}", "nodes", "must be a list"},
        {"{\"name\": \"b\", \"nodes\": []}", "nodes", "must be a list"},
        {"{\"name\": \"b\", \"node\": []}", "node", "is not a key of a model"},
        {"{\"name\": \"b\", \"nodes\": [1]}", "nodes[0]", "must be a mapping"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"geli\"}]}", "nodes[0].op", "\"gelu\""},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"mse\"}]}", "nodes[0].op",
         "is not an op that a model can have"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"layernorm_training\"}]}", "nodes[0].op",
         "is not an op that a model can have; did you mean \"layernorm\"?"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"gelu\", \"seq\": 3}]}", "nodes[0].seq",
         "is not a key of this op"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"linear\"}]}", "nodes[0].features", "is missing"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"linear\", \"features\": \"4*z\"}]}",
         "nodes[0].features", "column 3: unknown name \"z\""},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"linear\", \"features\": 0}]}",
         "nodes[0].features", "at least 1"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"linear\", \"features\": \"k/7\"}]}",
         "nodes[0].features", "whole number"},
        {"{\"name\": \"b\", \"parameters\": [\"a\"], \"nodes\": [{\"op\": \"gelu\"}]}",
         "parameters", "a mapping"},
        {"{\"name\": \"b\", \"parameters\": {\"a b\": 3}, \"nodes\": [{\"op\": \"gelu\"}]}",
         "parameters", "not a short name"},
        {"{\"name\": \"b\", \"parameters\": {\"a\": \"x\"}, \"nodes\": [{\"op\": \"gelu\"}]}",
         "parameters", "not a size"},
        {"{\"name\": \"b\", \"parameters\": {\"a\": 3}, \"nodes\": [{\"op\": \"gelu\"}]}", "inputs",
         "are missing"},
        {"{\"name\": \"b\", \"parameters\": {\"a\": 3}, \"inputs\": {\"x\": [\"a\", \"m\"]}, "
         "\"nodes\": [{\"op\": \"gelu\"}]}",
         "inputs.x", "unknown name \"m\""},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"gelu\"}, {\"op\": \"add\"}]}", "nodes[1].inputs",
         "two names"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"gelu\", \"input\": \"q\"}]}", "nodes[0].input",
         "nothing before this is named \"q\""},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"gelu\", \"name\": \"x\"}]}", "nodes[0].name",
         "taken"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"linear\", \"features\": 7, \"mode\": "
         "\"biased\"}]}",
         "nodes[0]", "unknown mode"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"linear\", \"features\": 7, \"mode\": \"ln\"}]}",
         "nodes[0]", "nodes of their own"},
        {"{\"name\": \"b\", \"nodes\": [{\"op\": \"attention\", \"heads\": 2}]}", "nodes[0].seq",
         "is missing"},
        {"{\"name\": \"b\", \"inputs\": {\"x\": [\"m\"]}, \"nodes\": [{\"op\": \"gelu\"}]}",
         "inputs.x", "[rows, columns]"},
        {"{\"name\": \"b\", \"inputs\": {\"x\": [\"m\", \"k\"], \"y\": [\"m\", \"n\"], \"z\": "
         "[\"k\", \"n\"]}, \"nodes\": [{\"op\": \"gelu\"}]}",
         "inputs", "the same number of rows"},
        {"{\"name\": \"linear\", \"nodes\": [{\"op\": \"gelu\"}]}", "name", "already"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct assay_error err = {0};
        if (assay_model_add(bad[i].text, &err) != ASSAY_ERR_INVALID ||
            strcmp(err.where, bad[i].where) != 0 || !strstr(err.message, bad[i].message))
            fail_msg("%s\n  gave %s: %s", bad[i].text, err.where, err.message);
    }
    const struct assay_model *model;
    assert_int_not_equal(assay_model_find("b", &model, NULL), ASSAY_OK);
}

/* Its parameters are the axes, in their order; sizes are expressions of them. */
static void a_description_may_have_parameters(void **state)
{
    (void)state;
    static const char text[] =
        "{\"name\": \"gated\", \"parameters\": {\"batch\": 2, \"seq_len\": 8, \"dim\": 12, "
        "\"spare\": 0}, \"inputs\": {\"x\": [\"batch*seq_len\", \"dim\"]}, \"nodes\": ["
        "{\"op\": \"linear\", \"features\": \"3*dim + spare\"}, "
        "{\"op\": \"attention\", \"seq\": \"seq_len\", \"heads\": \"max(1, dim/6)\"}]}";
    struct assay_error err = {0};
    struct assay_problem problem;
    assert_int_equal(assay_model_add(text, &err), ASSAY_OK);
    assert_int_equal(assay_model_add(text, &err), ASSAY_OK);
    const struct assay_op *op = assay_model_op(ASSAY_MODEL_PREFIX "gated");
    assert_non_null(op);
    assert_int_equal(assay_op_axes(op), 4);
    const struct assay_model *model;
    assert_int_equal(assay_model_find_mkn("gated", &model, NULL), ASSAY_ERR_INVALID);
    assert_string_equal(op->axis_names[1], "seq_len");
    int64_t axes[] = {3, 4, 24, 0};
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "", axes, 1, &problem, &err), ASSAY_OK);
    assert_int_equal(problem.inputs[0].dims[0], 12);
    assert_int_equal(problem.inputs[0].dims[1], 24);
    assert_int_equal(problem.inputs[1].dims[0], 72);
    assert_int_equal(problem.outputs[0].dims[1], 24);
    axes[2] = 25; /* 75 columns are not three of 25/6 heads */
    assert_int_equal(assay_op_problem(op, ASSAY_DTYPE_F32, "", axes, 1, &problem, &err),
                     ASSAY_ERR_INVALID);
}

/* ---- a whole group ----------------------------------------------------------------------------
 */

static const char all_recipes[] =
    "baseline,int8wo,int8dq,int4wo-32,int4wo-64-hqq,float8wo,float8dq-tensor,float8dq-row,"
    "gemlitewo-8-32";

/* Every executor and recipe agrees with the reference, to a fraction of the tolerance. */
static void assert_all_right(const char *model, enum assay_dtype dtype, int64_t m, int64_t k,
                             int64_t n)
{
    struct bed *bed = assay_calloc(1, sizeof *bed);
    make_bed(bed, model, dtype, m, k, n);
    measure(bed, all_recipes);
    assert_int_equal(bed->n, 18);
    for (int64_t i = 0; i < bed->n; i++) {
        const struct assay_record *r = &bed->records[i];
        if (r->outcome != ASSAY_OUTCOME_OK)
            fail_msg("%s %s %s: %s", model, r->implementation, r->recipe, r->reason);
        assert_true(r->verification.done && r->states[ASSAY_CACHE_HOT].measured);
        bool compiled = strcmp(r->implementation, "compiled") == 0;
        bool baseline = strcmp(r->recipe, "baseline") == 0;
        assert_int_equal(r->states[ASSAY_CACHE_HOT].has_eager_ratio, compiled);
        assert_int_equal(r->states[ASSAY_CACHE_HOT].has_ratio, !baseline);
        assert_int_equal(r->is_baseline, baseline);
        assert_string_equal(r->baseline, r->implementation);
        assert_true(baseline || r->accuracy_db > 10);
        if (getenv("ASSAY_SHOW_ERRORS"))
            printf("%s %s %s %s: max %.4g of %.4g, %.1f dB, %s\n", model,
                   assay_dtype_name(r->dtype), r->implementation, r->recipe,
                   r->verification.max_abs, r->verification.tolerance_absolute, r->accuracy_db,
                   r->note);
    }
    clear_bed(bed);
    assay_free(bed);
}

/* What a model holds shrinks with its weights, and what it needs to run with what it need not keep
 * between its nodes. */
static void memory_is_what_is_held(void **state)
{
    (void)state;
    struct bed *bed = assay_calloc(1, sizeof *bed);
    make_bed(bed, "ln_linear_gelu", ASSAY_DTYPE_BF16, 16, 256, 128);
    measure(bed, "int8wo");
    assert_int_equal(bed->n, 4); /* eager, compiled; each with baseline, then int8wo */
    const struct assay_record *r = bed->records;
    for (int i = 0; i < 4; i++) { /* x, and weights as stored; then all, and y */
        double weights = i < 2 ? 2 * 256 * 128 : 256 * 128;
        assert_true(r[i].idle_bytes >= weights + 2 * 16 * 256);
        assert_true(r[i].idle_bytes <= weights + 2 * 16 * 256 + 8192);
        assert_true(r[i].peak_bytes >= r[i].idle_bytes + r[i].workspace_bytes + 2 * 16 * 128);
        assert_near(r[i].memory_bytes, r[0].memory_bytes, 0); /* the operands of all are the same */
    }
    /* the normalised rows are nowhere */
    assert_true(r[1].workspace_bytes <= r[0].workspace_bytes - 2 * 16 * 256);
    clear_bed(bed);
    assay_free(bed);
}

static void ln_linear_is_right(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};
    for (int i = 0; i < 3; i++) {
        assert_all_right("ln_linear_gelu", dtypes[i], 37, 192, 100);
        assert_all_right("ln_linear_hardswish", dtypes[i], 3, 64, 17);
    }
}

static void linear_is_right(void **state)
{
    (void)state;
    assert_all_right("linear", ASSAY_DTYPE_BF16, 65, 128, 48);
    assert_all_right("linear", ASSAY_DTYPE_F32, 1, 64, 33);
}

static void a_block_is_right(void **state)
{
    (void)state;
    assert_all_right("transformer_block", ASSAY_DTYPE_F32, 3, 64, 1);
    assert_all_right("transformer_block", ASSAY_DTYPE_BF16, 5, 128, 1);
    assert_all_right("transformer_block", ASSAY_DTYPE_F16, 2, 128, 1);
}

/* The models of the presets, with sizes none of which is round. */
static const struct {
    const char *model;
    int64_t axes[ASSAY_MAX_AXES];
    int32_t n_axes;
    const char *fused; /* what `compiled` makes of it where it can */
} of_presets[] = {
    {"multi_head_attention", {3, 10, 48, 3}, 4, "linear(0,0,0) attention linear(0,0,0)"},
    {"mlp_gelu", {2, 7, 33, 65}, 4, "linear(0,5,0) linear(0,0,0)"},
    {"mlp_swiglu", {2, 7, 33, 31}, 4, "linear(0,0,0) swiglu linear(0,0,0)"},
    {"conv2d", {2, 5, 7, 9, 6, 3, 0, 1}, 8, "conv2d"},
    {"conv2d", {3, 17, 8, 5, 4, 5, 1, 2}, 8, "conv2d"},
    {"depthwise_separable", {3, 19, 6, 5, 3, 1, 1}, 7, "depthwise_conv2d linear(0,0,0)"},
    {"depthwise", {2, 19, 6, 5, 2, 1, 2}, 7, "depthwise_conv2d"},
    {"layer_norm", {2, 5, 37}, 3, "layernorm"},
    {"rms_norm", {2, 5, 37}, 3, "rmsnorm"},
    {"group_norm", {3, 12, 5, 7, 4}, 5, "groupnorm"},
    {"preset_transformer",
     {2, 9, 32, 4, 3},
     5,
     "layernorm linear(0,0,0) attention linear(0,0,1) layernorm linear(0,5,0) linear(0,0,1)"},
    {"sd_resblock", {2, 12, 5, 7, 4}, 5, "groupnorm conv2d groupnorm conv2d"},
};
enum { OF_PRESETS = sizeof of_presets / sizeof of_presets[0] };

static void models_of_presets_are_fused(void **state)
{
    (void)state;
    for (int i = 0; i < OF_PRESETS; i++) {
        const struct assay_model *found = NULL;
        assert_int_equal(assay_model_find(of_presets[i].model, &found, NULL), ASSAY_OK);
        struct assay_graph g = {.dtype = ASSAY_DTYPE_F32, .threads = 1, .output = -1};
        found->build_from(&g, found, of_presets[i].axes);
        assert_string_equal(g.error.message, "");
        assay_graph_fuse(&g, always, NULL);
        assert_ops(&g, of_presets[i].fused);
    }
}

static void models_of_presets_are_right(void **state)
{
    (void)state;
    static const enum assay_dtype dtypes[] = {ASSAY_DTYPE_F32, ASSAY_DTYPE_BF16, ASSAY_DTYPE_F16};
    for (int i = 0; i < OF_PRESETS * 3; i++) {
        const char *model = of_presets[i / 3].model;
        struct bed *bed = assay_calloc(1, sizeof *bed);
        make_bed(bed, model, dtypes[i % 3], 1, 1, 1);
        memcpy(bed->job.group.axes, of_presets[i / 3].axes, sizeof of_presets[0].axes);
        bed->job.group.n_axes = of_presets[i / 3].n_axes;
        measure(bed, "baseline");
        assert_int_equal(bed->n, 2);
        for (int64_t k = 0; k < bed->n; k++) {
            const struct assay_record *r = &bed->records[k];
            if (r->outcome != ASSAY_OUTCOME_OK)
                fail_msg("%s %s %s: %s", model, r->implementation, assay_dtype_name(r->dtype),
                         r->reason);
            assert_true(r->verification.done);
            if (getenv("ASSAY_SHOW_ERRORS"))
                printf("%s %s %s: max %.4g of %.4g, %s\n", model, assay_dtype_name(r->dtype),
                       r->implementation, r->verification.max_abs,
                       r->verification.tolerance_absolute, r->note);
        }
        clear_bed(bed);
        assay_free(bed);
    }
}

static void models_of_presets_say_what_they_cannot(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int64_t axes[ASSAY_MAX_AXES];
        const char *message;
    } bad[] = {
        {"multi_head_attention", {3, 10, 48, 5}, "attention over sequences of 10 with 5 heads"},
        {"group_norm", {3, 12, 5, 7, 5}, "12 channels cannot be divided into 5 groups"},
        {"sd_resblock", {3, 320, 5, 7, 33}, "320 channels cannot be divided into 33 groups"},
        {"conv2d", {2, 5, 7, 2, 6, 4, 0, 1}, "a kernel of 4 does not fit into an image of 2 x 6"},
        {"conv2d", {2, 5, 7, 9, 6, 3, 3, 1}, "padding of 3 with a kernel of 3"},
        {"mlp_gelu", {2, 0, 33, 65}, "seq_len must be at least 1, not 0"},
        {"mlp_gelu", {1 << 20, 1 << 20, 1 << 20, 65}, "too large for any machine"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char name[64];
        struct assay_problem p;
        struct assay_error err = {0};
        snprintf(name, sizeof name, "model:%s", bad[i].model);
        assert_int_equal(
            assay_op_problem(assay_model_op(name), ASSAY_DTYPE_F32, NULL, bad[i].axes, 1, &p, &err),
            ASSAY_ERR_INVALID);
        if (!strstr(err.message, bad[i].message))
            fail_msg("%s: %s", bad[i].model, err.message);
    }
    const struct assay_model *model;
    struct assay_error err = {0};
    assert_int_equal(assay_model_find_mkn("sd_resblock", &model, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "batch, channels, height, width, groups, not m, k and n"));
    assert_int_equal(assay_model_find_mkn("linear", &model, NULL), ASSAY_OK);
}

/* Products of integers are exact, whatever the order of the sums. */
static void products_are_right(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 7, 5}, {65, 17, 513}, {4, 8, 1024}};
    static const assay_product_part parts[] = {assay_product_part_plain, assay_product_part_avx2,
                                               assay_product_part_avx512};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        float *a = assay_calloc((size_t)(m * k + 1), sizeof *a);
        float *b = assay_calloc((size_t)(n * k + 1), sizeof *b);
        double *out = assay_calloc((size_t)(m * n), sizeof *out);
        for (int64_t i = 0; i < m * k; i++)
            a[i] = (float)(i * 7 % 31 - 15);
        for (int64_t i = 0; i < n * k; i++)
            b[i] = (float)(i * 5 % 23 - 11);
        assay_product(a, b, m, n, k, out);
        for (int64_t i = 0; i < m * n; i++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += (double)a[i / n * k + l] * (double)b[i % n * k + l];
            assert_true(sum == out[i]);
        }
        assay_free(a);
        assay_free(b);
        assay_free(out);
    }
    for (int p = 0; p < 3; p++) {
        bool here = p == 0 || (p == 1 && assay_cpu_has(ASSAY_CPU_AVX2)) ||
                    (p == 2 && assay_cpu_has(ASSAY_CPU_AVX512));
        float a[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
        double b[2 * ASSAY_PRODUCT_COLUMNS] = {0}, out[5 * ASSAY_PRODUCT_COLUMNS] = {0};
        b[0] = 1;
        b[ASSAY_PRODUCT_COLUMNS] = 10;
        b[ASSAY_PRODUCT_COLUMNS - 1] = 2;
        if (!here)
            continue;
        parts[p](a, 5, 2, b, 2, out, ASSAY_PRODUCT_COLUMNS);
        for (int r = 0; r < 5; r++) {
            assert_true(out[r * ASSAY_PRODUCT_COLUMNS] == (double)(a[2 * r] + 10 * a[2 * r + 1]));
            assert_true(out[(r + 1) * ASSAY_PRODUCT_COLUMNS - 1] == (double)(2 * a[2 * r]));
        }
    }
}

/* The output of one executor on the op's own fills, in double. */
static double *answer_of(const struct assay_problem *p, const struct assay_op *op,
                         const struct assay_kernel *kernel)
{
    int64_t count = assay_tensor_count(&p->outputs[0]);
    double *values = assay_calloc((size_t)count, sizeof *values);
    void *in[ASSAY_MAX_INPUTS], *out = NULL, *state = NULL;
    struct assay_error err = {0};
    assert_int_equal(posix_memalign(&out, 64, assay_tensor_bytes(&p->outputs[0])), 0);
    for (int32_t i = 0; i < p->n_inputs; i++) {
        assert_int_equal(posix_memalign(&in[i], 64, assay_tensor_bytes(&p->inputs[i])), 0);
        assay_op_fill(op, p, i, in[i], 7);
    }
    struct assay_args args = {.in = (const void *const *)in, .out = &out};
    struct assay_work work = {.iters = 2, .n_sets = 1, .sets = &args};
    assert_int_equal(kernel->setup(p, &state, &err), ASSAY_OK);
    assert_int_equal(kernel->prepare(state, 0, &args, &err), ASSAY_OK);
    assert_true(kernel->prepared_bytes(state) > 0);
    assert_int_equal(kernel->run(state, &work), ASSAY_OK);
    assay_dtype_load(p->outputs[0].dtype, out, 0, count, values);
    kernel->teardown(state);
    for (int32_t i = 0; i < p->n_inputs; i++)
        free(in[i]);
    free(out);
    return values;
}

/* Without the reference: the same model, fused and not, gives the same output. */
static void the_executors_agree(void **state)
{
    (void)state;
    static const char *const recipes[] = {"baseline", "int8wo", "int4wo-32"};
    struct bed *bed = assay_calloc(1, sizeof *bed);
    make_bed(bed, "transformer_block", ASSAY_DTYPE_F32, 3, 64, 1);
    const struct assay_op *op = assay_model_op(bed->job.group.op);
    struct assay_kernel_choice choice = {.device = "cpu"};
    for (int r = 0; r < 3; r++) {
        struct assay_problem p;
        struct assay_contender found[2];
        assert_int_equal(
            assay_op_problem(op, ASSAY_DTYPE_F32, NULL, bed->job.group.axes, 2, &p, NULL),
            ASSAY_OK);
        p.recipe = recipes[r];
        p.host = &bed->bench.host;
        assert_int_equal(assay_model_choose(&p, true, &choice, found, 2), 2);
        double *eager = answer_of(&p, op, found[0].kernel);
        double *compiled = answer_of(&p, op, found[1].kernel);
        struct assay_tolerance tolerance = op->tolerance(&p);
        for (int64_t i = 0; i < assay_tensor_count(&p.outputs[0]); i++)
            assert_true(fabs(eager[i] - compiled[i]) <= tolerance.absolute);
        assay_free(eager);
        assay_free(compiled);
    }
    clear_bed(bed);
    assay_free(bed);
}

static void eager_alone_where_asked(void **state)
{
    (void)state;
    struct bed *bed = assay_calloc(1, sizeof *bed);
    make_bed(bed, "ln_linear_relu", ASSAY_DTYPE_F32, 4, 64, 8);
    snprintf(bed->job.group.compile, sizeof bed->job.group.compile, "false");
    snprintf(bed->job.group.entry, sizeof bed->job.group.entry, "mine");
    measure(bed, "int8wo,int4wo-128");
    assert_int_equal(bed->n, 3);
    assert_string_equal(bed->records[0].entry, "mine");
    assert_string_equal(bed->records[2].implementation, "eager");
    assert_int_equal(bed->records[2].outcome, ASSAY_OUTCOME_UNSUPPORTED);
    assert_non_null(strstr(bed->records[2].reason, "group 128 does not divide k = 64"));
    clear_bed(bed);
    assay_free(bed);
}

/* One line each. */
static int64_t tuned_steps(const char *text)
{
    int64_t n = 0;
    for (const char *at = text; (at = strstr(at, "x64x48|")); at++)
        n++;
    return n;
}

/* The choice of max-autotune is remembered, and found again; the file stays sealed as it grows. */
static void tuning_is_remembered(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-model-XXXXXX", path[64], text[4096] = "";
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    struct bed *bed = assay_calloc(1, sizeof *bed);
    make_bed(bed, "ln_linear_gelu", ASSAY_DTYPE_BF16, 33, 64, 48);
    bed->bench.host.autotune = true;
    measure(bed, "baseline");
    for (int64_t i = 0; i < bed->n; i++)
        assert_int_equal(bed->records[i].outcome, ASSAY_OUTCOME_OK);
    snprintf(path, sizeof path, "%s/assay/autotune.json", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "|linear|bf16|baseline|33x64x48|"));
    bed->n = 0;
    measure(bed, "baseline");
    assert_int_equal(bed->records[1].outcome, ASSAY_OUTCOME_OK);
    assay_json *json = assay_sealed_read(path, sizeof text, NULL);
    assert_non_null(json);
    assert_int_equal(assay_json_count_keys(json), tuned_steps(text));
    assay_json_free(json);
    clear_bed(bed);
    assay_free(bed);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(neighbours_are_fused),
        cmocka_unit_test(a_block_is_five_nodes),
        cmocka_unit_test(a_value_with_two_users_stays),
        cmocka_unit_test(places_do_not_overlap),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(a_model_can_be_described),
        cmocka_unit_test(bad_descriptions_name_the_place),
        cmocka_unit_test(a_description_may_have_parameters),
        cmocka_unit_test(linear_is_right),
        cmocka_unit_test(memory_is_what_is_held),
        cmocka_unit_test(ln_linear_is_right),
        cmocka_unit_test(a_block_is_right),
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(models_of_presets_are_fused),
        cmocka_unit_test(models_of_presets_say_what_they_cannot),
        cmocka_unit_test(models_of_presets_are_right),
        cmocka_unit_test(the_executors_agree),
        cmocka_unit_test(eager_alone_where_asked),
        cmocka_unit_test(tuning_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
