/* test_preset.c: the presets' table and counters, --set, plans, and presets from YAML. */
#include "unit.h"

#include "base/alloc.h"
#include "config/preset_plan.h"
#include "config/preset_set.h"
#include "model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct assay_preset_case *case_named(const char *name)
{
    for (int64_t i = 0; i < assay_preset_count(); i++)
        for (const struct assay_preset_case *c = assay_preset_at(i)->cases; c->name; c++)
            if (strcmp(c->name, name) == 0)
                return c;
    fail_msg("there is no case %s", name);
    return NULL;
}

static void defaults_of(const struct assay_preset_case *c, int64_t *values)
{
    for (int64_t i = 0; i < assay_preset_case_parameters(c); i++)
        values[i] = c->parameters[i].value;
}

/* ---- the table ------------------------------------------------------------------------------ */

static void the_presets_are_all_there(void **state)
{
    (void)state;
    static const char *const names[] = {"attn", "mlp", "conv", "norm", "transformer", "sdres"};
    assert_int_equal(assay_preset_count(), 6);
    for (int64_t i = 0; i < 6; i++)
        assert_string_equal(assay_preset_at(i)->name, names[i]);
    const struct assay_preset *preset;
    struct assay_error err = {0};
    assert_int_equal(assay_preset_find("ATTN", &preset, &err), ASSAY_OK);
    assert_string_equal(preset->name, "attn");
    assert_int_equal(assay_preset_find("atn", &preset, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"attn\"?"));
    assert_non_null(strstr(err.message, "sdres"));
    err = (struct assay_error){0};
    assert_int_equal(assay_preset_find("zzzzzzzzz", &preset, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, ".yml"));
}

/* KoBench's numbers at the defaults, in G MACs and M FLOPs; negative: no counter. */
static void counters_are_kobenchs(void **state)
{
    (void)state;
    static const struct {
        const char *name, *model;
        double gmacs, mflops;
    } cases[] = {
        {"multi_head_attention", "multi_head_attention", 25.77, 402.65},
        {"mlp_gelu", "mlp_gelu", 68.72, 100.66},
        {"mlp_swiglu", "mlp_swiglu", 103.08, 100.66},
        {"conv2d", "conv2d", 4.83, -1},
        {"depthwise_conv2d", "depthwise_separable", 1.11, 4.19},
        {"layer_norm", "layer_norm", -1, 25.17},
        {"group_norm", "group_norm", -1, 25.17},
        {"rms_norm", "rms_norm", -1, 16.78},
        {"transformer_block", "preset_transformer", 13.96, 75.50},
        {"sd_resblock", "sd_resblock", 15.10, 60.29},
    };
    int64_t found = 0;
    for (int64_t i = 0; i < assay_preset_count(); i++)
        for (const struct assay_preset_case *c = assay_preset_at(i)->cases; c->name; c++)
            found++;
    assert_int_equal(found, sizeof cases / sizeof cases[0]);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct assay_preset_case *c = case_named(cases[i].name);
        int64_t values[ASSAY_PRESET_PARAMETERS];
        struct assay_preset_problem problem;
        struct assay_error err = {0};
        assert_string_equal(c->model, cases[i].model);
        defaults_of(c, values);
        if (assay_preset_case_problem(c, values, ASSAY_DTYPE_F32, &problem, &err) != ASSAY_OK)
            fail_msg("%s: %s", c->name, err.message);
        if (cases[i].gmacs < 0)
            assert_true(isnan(problem.macs));
        else
            assert_near(problem.macs / 1e9, cases[i].gmacs, 0.005);
        if (cases[i].mflops < 0)
            assert_true(isnan(problem.flops));
        else
            assert_near(problem.flops / 1e6, cases[i].mflops, 0.005);
    }
}

/* A case's parameters are its model's axes, in their order. */
static void parameters_are_axes(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_preset_count(); i++)
        for (const struct assay_preset_case *c = assay_preset_at(i)->cases; c->name; c++) {
            char name[64];
            int64_t n = assay_preset_case_parameters(c) - (c->choice != NULL);
            for (int64_t word = 0; word == 0 || (c->choice && c->words[n][word]); word++) {
                snprintf(name, sizeof name, ASSAY_MODEL_PREFIX "%s",
                         c->models ? c->models[word] : c->model);
                const struct assay_op *op = assay_model_op(name);
                assert_non_null(op);
                assert_int_equal(assay_op_axes(op), n);
                for (int32_t k = 0; k < assay_op_axes(op); k++) {
                    assert_string_equal(op->axis_names[k], c->parameters[k].name);
                    assert_int_equal(op->zero_axes >> k & 1, c->zeros >> k & 1);
                }
            }
        }
}

/* At sizes where no two of them are the same, worked out by hand. */
static void counters_at_other_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t values[8];
        double macs, flops;
    } cases[] = {
        {"multi_head_attention", {2, 8, 12, 3}, 4 * 16 * 144 + 2 * 2 * 64 * 12, 6 * 2 * 3 * 64},
        {"mlp_swiglu", {1, 2, 3, 5}, 3 * 2 * 15, 6 * 2 * 5},
        {"conv2d", {2, 3, 5, 7, 6, 3, 0, 1}, 2 * 5 * (5 * 4) * 9 * 3, -1},
        {"conv2d", {2, 3, 5, 7, 6, 3, 2, 1}, 2 * 5 * (9 * 8) * 9 * 3, -1},
        {"conv2d", {2, 3, 5, 7, 6, 3, 1, 2}, 2 * 5 * (4 * 3) * 9 * 3, -1},
        {"depthwise_conv2d", {2, 3, 5, 7, 3, 1, 1, 1}, 2 * 35 * (3 * 9 + 9), 2 * 35 * 3},
        {"depthwise_conv2d", {2, 3, 5, 7, 3, 1, 1, 0}, 2 * 35 * 3 * 9, 2 * 35 * 3},
        {"depthwise_conv2d", {1, 3, 5, 7, 2, 1, 1, 1}, 48 * (3 * 4 + 9), 48 * 3},
        {"depthwise_conv2d", {1, 3, 5, 7, 3, 1, 3, 1}, 2 * 3 * (3 * 9 + 9), 2 * 3 * 3},
        {"mlp_gelu", {1, 2, 3, 4, 0}, 2 * 2 * 3 * 4, 6 * 2 * 4},
        {"mlp_gelu", {1, 2, 3, 4, 1}, 2 * 2 * 3 * 4, 2 * 4},
        {"rms_norm", {2, 3, 4, 1}, -1, 4 * 2 * 3 * 4},
        {"transformer_block", {1, 4, 6, 2, 3}, 10 * 4 * 36 + 2 * 16 * 6, 6 * 2 * 16 + 6 * 4 * 18},
        {"sd_resblock", {1, 4, 3, 5, 2}, 2 * 15 * 16 * 9, 23 * 4 * 15},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_preset_problem problem;
        struct assay_error err = {0};
        const struct assay_preset_case *c = case_named(cases[i].name);
        if (assay_preset_case_problem(c, cases[i].values, ASSAY_DTYPE_F32, &problem, &err))
            fail_msg("%s: %s", c->name, err.message);
        if (cases[i].macs >= 0)
            assert_near(problem.macs, cases[i].macs, 0);
        if (cases[i].flops >= 0)
            assert_near(problem.flops, cases[i].flops, 0);
    }
}

static void bad_values_name_the_parameter(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t values[8];
        const char *message;
    } bad[] = {
        {"multi_head_attention", {4, 8, 100, 16}, "embed_dim = 100 is not a multiple of num_heads"},
        {"multi_head_attention", {0, 8, 16, 16}, "batch must be at least 1, not 0"},
        {"multi_head_attention", {4, 8, 16, 0}, "num_heads must be at least 1"},
        {"group_norm", {4, 100, 8, 8, 32}, "channels = 100 is not a multiple of groups = 32"},
        {"sd_resblock", {4, 100, 8, 8, 32}, "channels = 100 is not a multiple of groups = 32"},
        {"transformer_block", {1, 8, 30, 4, 4}, "embed_dim = 30 is not a multiple of num_heads"},
        {"conv2d", {1, 1, 1, 4, 4, 3, -1, 1}, "padding must be at least 0"},
        {"mlp_gelu", {1, 1, INT64_C(1) << 40, 1}, "embed_dim"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct assay_preset_problem problem;
        struct assay_error err = {0};
        const struct assay_preset_case *c = case_named(bad[i].name);
        assert_int_equal(
            assay_preset_case_problem(c, bad[i].values, ASSAY_DTYPE_F32, &problem, &err),
            ASSAY_ERR_INVALID);
        if (!strstr(err.message, bad[i].message) || strcmp(err.where, c->name) != 0)
            fail_msg("%s: %s: %s", bad[i].name, err.where, err.message);
    }
}

/* ---- plans ---------------------------------------------------------------------------------- */

static char warning[256];
static void warn(const char *text) { snprintf(warning, sizeof warning, "%s", text); }

/* The plan that words make; the words are cut at blanks. */
static enum assay_status plan_of(const char *words, struct assay_plan *plan,
                                 struct assay_error *err)
{
    struct assay_preset_options options;
    struct assay_preset_choice choice = {0};
    char text[512], *argv[32];
    int argc = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok(text, " "); word && argc < 32; word = strtok(NULL, " "))
        argv[argc++] = word;
    *plan = (struct assay_plan){0};
    assay_preset_options_init(&options);
    enum assay_status status =
        assay_options_parse(&assay_preset_options_table, argc, argv, &options, err);
    if (status == ASSAY_OK)
        status = assay_preset_choose(&options, &choice, err);
    if (status == ASSAY_OK)
        status = assay_preset_plan(&options, &choice, plan, warn, err);
    assay_preset_choice_fini(&choice);
    assay_preset_options_fini(&options);
    return status;
}

static void plan(const char *words, struct assay_plan *out)
{
    struct assay_error err = {0};
    if (plan_of(words, out, &err) != ASSAY_OK)
        fail_msg("%s: %s", words, err.message);
}

static void assert_refused(const char *words, const char *part)
{
    struct assay_plan out;
    struct assay_error err = {0};
    if (plan_of(words, &out, &err) != ASSAY_ERR_INVALID)
        fail_msg("\"%s\" was accepted", words);
    if (!strstr(err.message, part))
        fail_msg("\"%s\": %s", words, err.message);
    assert_int_equal(out.n_groups, 0);
}

static void a_plan_of_defaults(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("attn --device cpu", &p);
    assert_int_equal(p.n_groups, 1);
    const struct assay_group *g = &p.groups[0];
    assert_string_equal(g->op, "model:multi_head_attention");
    assert_string_equal(g->entry, "multi_head_attention");
    assert_string_equal(g->compile, "false");
    assert_string_equal(g->label, "");
    assert_int_equal(g->dtype, ASSAY_DTYPE_F32);
    assert_int_equal(g->n_axes, 4);
    assert_int_equal(g->axes[1], 1024);
    assert_near(g->macs, 25769803776.0, 0);
    assert_near(g->counted_flops, 402653184, 0);
    assert_true(p.settings.hot && !p.settings.cold);
    assert_int_equal(p.settings.rounds, 0);
    assert_near(p.settings.precision, 0.01, 0);
    assay_plan_fini(&p);
    plan("all --device cpu", &p);
    assert_int_equal(p.n_groups, 10);
    assay_plan_fini(&p);
    plan("mlp --preset attn,mlp norm --device cpu", &p);
    assert_int_equal(p.n_groups, 6);
    assert_string_equal(p.groups[0].entry, "mlp_gelu");
    assert_string_equal(p.groups[5].entry, "multi_head_attention");
    assay_plan_fini(&p);
}

static void fixed_counts(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("attn --device cpu --warmup 3", &p);
    assert_int_equal(p.settings.warmup, 3);
    assert_int_equal(p.settings.rounds, 32);
    assay_plan_fini(&p);
    plan("attn --device cpu --iters 5", &p);
    assert_int_equal(p.settings.warmup, 8);
    assert_int_equal(p.settings.rounds, 5);
    assay_plan_fini(&p);
    assert_refused("attn --iters 0", "--iters must lie between 1");
    assert_refused("attn --warmup 0", "--warmup must lie between 1");
    assert_refused("attn --warmup -1", "--warmup must lie between 1");
}

static void dtypes_and_executors(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("norm --device cpu --dtype torch.float16,bf16,half --compile", &p);
    assert_int_equal(p.n_groups, 6);
    assert_int_equal(p.groups[0].dtype, ASSAY_DTYPE_F16);
    assert_int_equal(p.groups[3].dtype, ASSAY_DTYPE_BF16);
    assert_string_equal(p.groups[0].compile, "default");
    assay_plan_fini(&p);
    assert_refused("norm --dtype int8", "no preset runs in s8");
    assert_refused("norm --dtype float33", "did you mean");
    assert_refused("", "which preset?");
}

static void parameters_are_set(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("attn --device cpu --set seq_len=64 --set embed_dim=48 --set num_heads=4,8", &p);
    assert_int_equal(p.n_groups, 2);
    assert_int_equal(p.groups[0].axes[1], 64);
    assert_int_equal(p.groups[1].axes[3], 8);
    assert_string_equal(p.groups[1].label, "num_heads=8");
    assay_plan_fini(&p);
    plan("attn --device cpu --set batch=1,2 --set seq_len=16:64:x2", &p);
    assert_int_equal(p.n_groups, 6);
    assert_string_equal(p.groups[0].label, "batch=1 seq_len=16");
    assert_string_equal(p.groups[5].label, "batch=2 seq_len=64");
    assay_plan_fini(&p);
}

/* A parameter is that of all cases that have it, unless one of them is named. */
static void parameters_are_shared(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("norm --device cpu --set batch=7 --set group_norm.batch=2 --set rms_norm.seq_len=3", &p);
    assert_int_equal(p.groups[0].axes[0], 7);
    assert_int_equal(p.groups[1].axes[0], 2);
    assert_int_equal(p.groups[2].axes[0], 7);
    assert_int_equal(p.groups[0].axes[1], 512);
    assert_int_equal(p.groups[2].axes[1], 3);
    assay_plan_fini(&p);
    plan("attn mlp --device cpu --set attn.seq_len=8 --set batch=1,2", &p);
    assert_int_equal(p.n_groups, 6);
    assert_int_equal(p.groups[0].axes[1], 8);
    assert_int_equal(p.groups[2].axes[1], 512);
    assay_plan_fini(&p);
    plan("norm --device cpu --set groups=16,32", &p); /* the others have no such parameter */
    assert_int_equal(p.n_groups, 4);
    assay_plan_fini(&p);
    plan("conv --device cpu --set padding=0", &p);
    assert_int_equal(p.groups[0].axes[6], 0);
    assay_plan_fini(&p);
}

/* KoBench's names: two are ours by another name, and an image is square. */
static void sets_as_kobench_names_them(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("attn --device cpu --set batch_size=3", &p);
    assert_int_equal(p.groups[0].axes[0], 3);
    assay_plan_fini(&p);
    plan("conv --device cpu --set image_size=8,16 --set kernel_size=5 --set stride=2", &p);
    assert_int_equal(p.n_groups, 4); /* height and width change together */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p.groups[i].axes[3], 8 << i);
        assert_int_equal(p.groups[i].axes[4], 8 << i);
        assert_int_equal(p.groups[i].axes[5], 5);
        assert_int_equal(p.groups[i].axes[6], 2); /* padding follows the kernel */
        assert_int_equal(p.groups[i].axes[7], 2);
    }
    assert_string_equal(p.groups[1].label, "image_size=16");
    assert_int_equal(p.groups[3].axes[2], 16);
    assert_int_equal(p.groups[3].axes[3], 16);
    assay_plan_fini(&p);
    plan("conv --device cpu --set image_size=8,16 --set conv2d.width=5 --set padding=0", &p);
    assert_int_equal(p.groups[1].axes[3], 16); /* the last that applies counts */
    assert_int_equal(p.groups[1].axes[4], 5);
    assert_int_equal(p.groups[1].axes[6], 0);
    assay_plan_fini(&p);
}

/* Parameters whose values are words choose a model. */
static void sets_that_are_words(void **state)
{
    (void)state;
    struct assay_plan p;
    plan("mlp --device cpu --set activation=relu,GELU,relu", &p);
    assert_int_equal(p.n_groups, 3);
    assert_string_equal(p.groups[0].op, "model:mlp_relu");
    assert_string_equal(p.groups[0].entry, "mlp_relu");
    assert_string_equal(p.groups[0].label, "activation=relu");
    assert_string_equal(p.groups[1].entry, "mlp_gelu");
    assert_int_equal(p.groups[0].n_axes, 4);
    assert_near(p.groups[0].counted_flops * 6, p.groups[1].counted_flops, 0);
    assay_plan_fini(&p);
    plan("norm --device cpu --set eps=1e-05", &p);
    assert_string_equal(p.groups[2].op, "model:rms_norm_1e_5");
    assert_string_equal(p.groups[2].entry, "rms_norm");
    assay_plan_fini(&p);
    plan("conv --device cpu --set depthwise_conv2d.pointwise=False", &p);
    assert_string_equal(p.groups[1].op, "model:depthwise");
    assert_string_equal(p.groups[1].entry, "depthwise_conv2d");
    assay_plan_fini(&p);
    assert_refused("mlp --set activation=tanh", "--set activation is one of gelu, relu, not");
    assert_refused("norm --set eps=1", "one of 1e-6, 1e-5, 1e-8");
    assert_refused("conv --set pointwise=2", "one of false, true");
    assert_refused("conv --set pointwise=", "pointwise");
    assert_refused("conv --set stride=0", "--set stride must be at least 1");
    assert_refused("attn --set image_size=8", "unknown parameter \"image_size\"");
    assert_refused("attn --set batch_size=0", "--set batch_size must be at least 1");
}

static void bad_sets(void **state)
{
    (void)state;
    assert_refused("attn --set seq_lne=3", "did you mean \"seq_len\"?");
    assert_refused("attn --set seq_lne=3", "batch, seq_len, embed_dim, num_heads");
    assert_refused("attn --set groups=3", "unknown parameter \"groups\"");
    assert_refused("attn --set mlp.batch=3", "unknown preset or case \"mlp\"");
    assert_refused("norm --set layer_nrm.batch=3", "did you mean \"layer_norm\"?");
    assert_refused("attn --set seq_len", "PARAMETER=VALUES");
    assert_refused("attn --set =3", "PARAMETER=VALUES");
    assert_refused("attn --set attn.=3", "PARAMETER=VALUES");
    assert_refused("attn --set seq_len=", "--set seq_len");
    assert_refused("attn --set seq_len=many", "--set seq_len \"many\" is not a list of sizes");
    assert_refused("attn --set seq_len=0", "--set seq_len must be at least 1, not 0");
    assert_refused("attn --set seq_len=-5", "--set seq_len must be at least 1, not -5");
    assert_refused("conv --set padding=-1", "--set padding must be at least 0");
    assert_refused("conv --set padding=0:4:x2", "would never end");
    assert_refused("attn --set embed_dim=100", "is not a multiple of num_heads = 16");
    assert_refused("norm --set channels=100", "is not a multiple of groups = 32");
}

/* ---- files ---------------------------------------------------------------------------------- */

static const char own[] = "name: own\n"
                          "summary: two cases\n"
                          "parameters: {batch: 2, dim: 8}\n"
                          "cases:\n"
                          "  - name: proj\n"
                          "    model: linear\n"
                          "    sizes: {m: batch*16, k: dim, n: 4*dim}\n"
                          "    macs: 16*batch*dim*4*dim\n"
                          "  - name: gated\n"
                          "    parameters: {hidden: 32, dim: 16}\n"
                          "    model:\n"
                          "      inputs: {x: [batch, dim]}\n"
                          "      nodes:\n"
                          "        - {op: linear, features: hidden}\n"
                          "        - {op: gelu}\n"
                          "        - {op: linear, features: dim, name: y}\n"
                          "        - {op: add, inputs: [y, x]}\n"
                          "    macs: 2*batch*dim*hidden\n"
                          "    flops: 6*batch*hidden + batch*dim\n";

static void a_preset_from_a_file(void **state)
{
    (void)state;
    struct assay_preset_file file;
    struct assay_error err = {0};
    if (assay_preset_file_parse(own, strlen(own), "own.yml", &file, &err) != ASSAY_OK)
        fail_msg("%s: %s", err.where, err.message);
    const struct assay_preset_case *c = file.preset.cases;
    assert_string_equal(file.preset.name, "own");
    assert_string_equal(c[0].name, "proj");
    assert_string_equal(c[0].model, "linear");
    assert_int_equal(assay_preset_case_parameters(&c[0]), 2);
    assert_string_equal(c[1].model, "own.gated");
    assert_int_equal(assay_preset_case_parameters(&c[1]), 3);
    assert_int_equal(c[1].parameters[1].value, 16);
    assert_null(c[2].name);
    assert_int_equal(file.models.n, 1);
    struct assay_preset_problem problem;
    int64_t values[] = {3, 10, 20};
    assert_int_equal(assay_preset_case_problem(&c[0], values, ASSAY_DTYPE_F32, &problem, &err), 0);
    assert_int_equal(problem.axes[0], 48);
    assert_int_equal(problem.axes[2], 40);
    assert_true(isnan(problem.flops));
    assert_int_equal(assay_preset_case_problem(&c[1], values, ASSAY_DTYPE_F32, &problem, &err), 0);
    assert_string_equal(problem.op, "model:own.gated");
    assert_int_equal(problem.axes[2], 20);
    assert_near(problem.macs, 2 * 3 * 10 * 20, 0);
    assert_near(problem.flops, 6 * 3 * 20 + 30, 0);
    assay_preset_file_fini(&file);
}

static void bad_files_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *message;
    } bad[] = {
        {"", "f.yml", "a mapping with a name and cases"},
        {"- a\n", "f.yml:1:1", "a mapping with a name and cases"},
        {"name: a\n", "f.yml:1:1", "no cases"},
        {"cases: []\n", "f.yml:1:1", "no name"},
        {"name: a b\ncases: []\n", "f.yml:1:7", "no blank"},
        {"name: a\ncase: []\n", "f.yml:2:1", "did you mean \"cases\"?"},
        {"name: a\ncases: []\n", "f.yml:2:8", "empty list"},
        {"name: a\ncases: 3\n", "f.yml:2:8", "a mapping, or a list"},
        {"name: a\ncases: {name: c}\n", "f.yml:2:8", "no model"},
        {"name: a\ncases: {modle: linear}\n", "f.yml:2:9", "did you mean \"model\"?"},
        {"name: a\ncases: {model: linaer}\n", "f.yml:2:16", "did you mean \"linear\"?"},
        {"name: a\ncases: {model: linear}\n", "f.yml:2:16", "needs a size m"},
        {"name: a\nparameters: [m]\ncases: {model: linear}\n", "f.yml:2:13", "a mapping of names"},
        {"name: a\nparameters: {2m: 3}\ncases: {model: linear}\n", "f.yml:2:14", "the name of"},
        {"name: a\nparameters: {m: x}\ncases: {model: linear}\n", "f.yml:2:17", "its default"},
        {"name: a\nparameters: {m: 1, k: 1, n: 1, q: 2}\ncases: {model: linear}\n", "f.yml:2:32",
         "no case uses the parameter \"q\""},
        {"name: a\nparameters: {m: 1, k: 1, n: 1}\ncases: {model: linear, parameters: {q: 2}}\n",
         "f.yml:3:37", "nothing in this case uses"},
        {"name: a\nparameters: {m: 1, k: 1, n: 1}\ncases: {model: linear, macs: 2*mm*k}\n",
         "f.yml:3:30", "macs: column 3: unknown name \"mm\"; did you mean \"m\"?"},
        {"name: a\nparameters: {m: 1, k: 1}\ncases: {model: linear, sizes: {n: 4*}}\n", "f.yml:3:8",
         "size n of model linear: column 3"},
        {"name: a\nparameters: {m: 1, k: 1}\ncases: {model: linear, sizes: {w: 4}}\n", "f.yml:3:32",
         "this model has m, k or n"},
        {"name: a\nparameters: {m: 1, k: 1}\ncases: {model: linear, sizes: {n: k/2}}\n",
         "f.yml:3:8", "whole number"},
        {"name: a\nparameters: {b: 2}\ncases:\n  model:\n    inputs: {x: [b, 4]}\n    nodes:\n"
         "      - {op: gelu}\n      - {op: linear, features: 2*c}\n",
         "f.yml:8:32", "nodes[1].features: column 3: unknown name \"c\""},
        {"name: a\nparameters: {b: 2}\ncases:\n  model:\n    inputs: {x: [b, 4]}\n    nodes:\n"
         "      - {op: gelo}\n",
         "f.yml:7:14", "did you mean \"gelu\"?"},
        {"name: a\nparameters: {b: 2}\ncases:\n  model:\n    name: mine\n    nodes: []\n",
         "f.yml:5:5", "none of its own"},
        {"name: a\nparameters: {m: 1, k: 1, n: 1}\ncases:\n  - {model: linear}\n  - {model: "
         "linear}\n",
         "f.yml:5:5", "two cases are named \"a\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct assay_preset_file file;
        struct assay_error err = {0};
        enum assay_status status =
            assay_preset_file_parse(bad[i].text, strlen(bad[i].text), "f.yml", &file, &err);
        if (status != ASSAY_ERR_INVALID || strcmp(err.where, bad[i].where) != 0 ||
            !strstr(err.message, bad[i].message))
            fail_msg("%s\n  gave %s: %s", bad[i].text, err.where, err.message);
        assay_preset_file_fini(&file);
    }
}

/* Every allocation that fails ends in an error, and nothing is lost. */
static void no_memory(void **state)
{
    (void)state;
    for (int64_t nth = 1; nth < 400; nth++) {
        struct assay_preset_file file;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        enum assay_status status =
            assay_preset_file_parse(own, strlen(own), "own.yml", &file, &err);
        assay_alloc_fail_after(0);
        assay_preset_file_fini(&file);
        if (status == ASSAY_OK)
            return;
    }
    fail_msg("it never succeeds");
}

static void lists_describe(void **state)
{
    (void)state;
    struct assay_text text = {0};
    for (int64_t i = 0; i < assay_preset_count(); i++)
        assay_preset_describe(assay_preset_at(i), &text);
    const char *list = text.data ? text.data : "";
    assert_non_null(strstr(list, "batch=4 seq_len=1024 embed_dim=1024 num_heads=16"));
    assert_non_null(strstr(list, "25.77 GMACs, 402.65 MFLOPs"));
    assert_non_null(strstr(list, "4.83 GMACs\n"));
    assert_non_null(strstr(list, " 16.78 MFLOPs\n"));
    assay_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_presets_are_all_there),
        cmocka_unit_test(counters_are_kobenchs),
        cmocka_unit_test(parameters_are_axes),
        cmocka_unit_test(counters_at_other_sizes),
        cmocka_unit_test(bad_values_name_the_parameter),
        cmocka_unit_test(a_plan_of_defaults),
        cmocka_unit_test(fixed_counts),
        cmocka_unit_test(dtypes_and_executors),
        cmocka_unit_test(parameters_are_set),
        cmocka_unit_test(parameters_are_shared),
        cmocka_unit_test(sets_as_kobench_names_them),
        cmocka_unit_test(sets_that_are_words),
        cmocka_unit_test(bad_sets),
        cmocka_unit_test(a_preset_from_a_file),
        cmocka_unit_test(bad_files_name_the_place),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(lists_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
