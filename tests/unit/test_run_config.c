/* test_run_config.c: from a configuration to its plan: TorchAO's own files, every key, every
 * mistake.
 */
#include "unit.h"

#include "base/alloc.h"
#include "config/run_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char warnings[4096];
static int n_warnings;

static void warn(const char *text)
{
    n_warnings++;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof warnings - used, "%s\n", text);
}

/* The words of a line, split at blanks, as options of `assay run`. */
static enum assay_status plan_with(const char *text, size_t length, const char *line,
                                   struct assay_plan *plan, struct assay_error *err)
{
    char buffer[512], *argv[32];
    int argc = 0;
    struct assay_run_options options;
    struct assay_run_config config = {0};
    n_warnings = 0;
    warnings[0] = '\0';
    *plan = (struct assay_plan){0};
    snprintf(buffer, sizeof buffer, "%s", line);
    for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    assay_run_options_init(&options);
    enum assay_status status =
        assay_options_parse(&assay_run_options_table, argc, argv, &options, err);
    if (status == ASSAY_OK)
        status = assay_run_config_parse(text, length, "c.yml", options.lenient, &config, err);
    if (status == ASSAY_OK)
        status = assay_run_plan(&options, &config, plan, warn, err);
    assay_run_config_fini(&config);
    assay_run_options_fini(&options);
    return status;
}

static struct assay_plan good(const char *text, const char *line)
{
    struct assay_plan plan;
    struct assay_error err = {0};
    if (plan_with(text, strlen(text), line, &plan, &err) != ASSAY_OK)
        fail_msg("%s\n%s: %s", text, err.where, err.message);
    return plan;
}

/* Fails at this position, with these words, and says nothing else. */
static void refused(const char *text, const char *place, const char *message)
{
    struct assay_plan plan;
    struct assay_error err = {0};
    char where[64];
    snprintf(where, sizeof where, "c.yml%s", place);
    if (plan_with(text, strlen(text), "", &plan, &err) != ASSAY_ERR_INVALID)
        fail_msg("%s\nis accepted, or fails otherwise: %s", text, err.message);
    assert_int_equal(err.code, ASSAY_ERR_INVALID);
    if (strcmp(err.where, where) != 0 || !strstr(err.message, message))
        fail_msg("%s\n%s: %s", text, err.where, err.message);
    assert_int_equal(n_warnings, 0);
    assert_int_equal(plan.n_groups, 0);
}

static void refused_option(const char *line, const char *message)
{
    struct assay_plan plan;
    struct assay_error err = {0};
    static const char text[] = "device: cpu\n";
    assert_int_equal(plan_with(text, sizeof text - 1, line, &plan, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, message))
        fail_msg("%s: %s", line, err.message);
    assert_string_equal(err.where, "");
}

/* One of the files that TorchAO's own pages print. */
static void read_printed(const char *name, char *text, size_t size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/config/%s", ASSAY_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
}

static struct assay_plan printed(const char *name)
{
    char text[4096];
    read_printed(name, text, sizeof text);
    return good(text, "");
}

static void assert_group(const struct assay_plan *plan, int64_t index, const char *entry,
                         const char *op, const char *label, int64_t m, int64_t k, int64_t n)
{
    const struct assay_group *group = &plan->groups[index];
    assert_true(index < plan->n_groups);
    assert_string_equal(group->entry, entry);
    assert_string_equal(group->op, op);
    assert_string_equal(group->label, label);
    assert_int_equal(group->n_axes, 3);
    assert_int_equal(group->axes[0], m);
    assert_int_equal(group->axes[1], k);
    assert_int_equal(group->axes[2], n);
}

static void test_the_readme_s_configuration(void **state)
{
    (void)state;
    struct assay_plan plan = printed("readme_inference");
    const struct assay_settings *s = &plan.settings;
    assert_int_equal(plan.n_groups, 3);
    assert_group(&plan, 0, "linear", "model:linear", "custom", 1024, 1024, 1024);
    assert_group(&plan, 1, "linear", "model:linear", "custom", 2048, 4096, 1024);
    assert_int_equal(plan.groups[0].dtype, ASSAY_DTYPE_BF16);
    assert_string_equal(plan.groups[0].compile, "max-autotune");
    assert_int_equal(s->recipes.n, 4);
    assert_string_equal(s->recipes.items[0], "baseline");
    assert_string_equal(s->recipes.items[3], "float8dq-tensor");
    assert_string_equal(s->baseline, "eager");
    assert_true(s->hot && !s->cold);
    assert_string_equal(plan.groups[0].profilers, "both");
    assert_null(strstr(warnings, "memory"));
    assay_plan_fini(&plan);
}

static void test_the_readme_s_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *file, *label;
        int64_t groups;
    } files[] = {{"readme_shapes_custom", "custom", 2},
                 {"readme_shapes_llama", "llama_attn.wqkv", 4},
                 {"readme_shapes_pow2", "pow2_0", 3},
                 {"readme_shapes_pow2_extended", "pow2_extended_0", 4},
                 {"readme_shapes_sweep", "sweep_0", 8},
                 {"tutorial_custom", "custom", 2},
                 {"tutorial_llama", "llama_attn.wqkv", 4},
                 {"tutorial_pow2", "pow2_0", 3},
                 {"tutorial_pow2_extended", "pow2_extended_0", 4},
                 {"tutorial_small_sweep", "small_sweep_0", 56},
                 {"tutorial_sweep", "sweep_0", 8}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct assay_plan plan = printed(files[i].file);
        assert_int_equal(plan.n_groups, files[i].groups);
        assert_string_equal(plan.groups[0].label, files[i].label);
        assert_string_equal(plan.groups[0].compile, "default");
        assert_int_equal(plan.settings.recipes.n, 1);
        assert_int_equal(n_warnings, 0);
        assay_plan_fini(&plan);
    }
}

static void test_the_tutorial_s_fragments(void **state)
{
    (void)state;
    struct assay_plan plan = printed("tutorial_local_test");
    assert_int_equal(plan.n_groups, 1);
    assert_string_equal(plan.groups[0].entry, "quick_test");
    assert_string_equal(plan.groups[0].compile, "false"); /* use_torch_compile: false */
    assay_plan_fini(&plan);
    plan = printed("tutorial_compile");
    assert_string_equal(plan.groups[0].compile, "max-autotune");
    assert_non_null(strstr(warnings, "linear has no matrix_shapes"));
    assay_plan_fini(&plan);
    plan = printed("tutorial_profiling");
    assert_string_equal(plan.groups[0].entry, "debug_model");
    assay_plan_fini(&plan);
    plan = printed("tutorial_device");
    assert_int_equal(plan.n_groups, 1);
    assay_plan_fini(&plan);
    plan = printed("tutorial_several_models");
    assert_int_equal(plan.n_groups, 3 + 4 + 1);
    assert_group(&plan, 3, "transformer_models", "model:transformer_block", "llama_attn.wqkv",
                 16384, 8192, 1280);
    assert_group(&plan, 7, "cpu_models", "model:linear", "custom", 512, 512, 512);
    assert_string_equal(plan.groups[7].device, "cpu");
    assay_plan_fini(&plan);
}

/* Names that a user of TorchAO would have added, files that are not configurations, and
 * training. */
static void test_printed_files_that_are_refused(void **state)
{
    (void)state;
    char text[4096];
    read_printed("tutorial_new_recipe", text, sizeof text);
    refused(text, ":5:5", "unknown recipe \"my_new_quantization\"");
    refused(text, ":5:5", "baseline, int8wo");
    read_printed("tutorial_ci", text, sizeof text);
    refused(text, ":9:5", "unknown recipe \"my_new_quantization\"");
    read_printed("tutorial_new_model", text, sizeof text);
    refused(text, ":17:17", "unknown model \"my_custom_model\"");
    refused(text, ":17:17", "linear");
    read_printed("tutorial_github_steps", text, sizeof text);
    refused(text, ":2:1", "steps of a GitHub workflow, not a configuration");
}

/* The recipes of a plan, joined by blanks. */
static void assert_recipes(const struct assay_plan *plan, const char *names);

static void test_training_of_the_page(void **state)
{
    (void)state;
    static const char *const ops[] = {"model:linear_forward", "model:linear_backward",
                                      "model:linear_both"};
    struct assay_plan plan = printed("readme_training");
    assert_int_equal(plan.n_groups, 9);
    for (int i = 0; i < 3; i++) {
        assert_group(&plan, i, "float8_linear_training", ops[i], "custom", 1024, 1024, 1024);
        assert_group(&plan, 6 + i, "float8_linear_training", ops[i], "custom", 4096, 4096, 1024);
        assert_string_equal(plan.groups[i].profilers, "both");
    }
    assert_recipes(&plan, "baseline float8dq-tensor float8dq-row");
    assert_int_equal(plan.settings.rounds, 100);
    assert_true(plan.settings.within_budget);
    assay_plan_fini(&plan);
}

#define TRAINING                                                                                   \
    "benchmark_mode: training\ndevice: cpu\nmatrix_shapes: {name: custom, shapes: [[4, 8, 8]]}\n"

static void train_with(const char *lines, const char *options, const char *recipes, int warned)
{
    char text[1024];
    snprintf(text, sizeof text, TRAINING "%s", lines);
    struct assay_plan plan = good(text, options);
    assert_recipes(&plan, recipes);
    if (n_warnings != warned)
        fail_msg("%s\n%d warnings: %s", text, n_warnings, warnings);
    assay_plan_fini(&plan);
}

/* What shares a scale, and what is not cast, is in the recipes that are measured. */
static void test_training_recipes(void **state)
{
    (void)state;
    train_with("quantization: float8dq\n", "", "baseline float8dq-tensor", 0);
    train_with("scaling_granularity: columnwise\nquantization: float8dq\n", "",
               "baseline float8dq-row", 0);
    train_with("quantization: float8dq\nmodel_params: {scaling_granularity: axiswise}\n", "",
               "baseline float8dq-row", 0);
    train_with("scaling_granularity: rowwise\n", "--recipe float8dq,float8dq-tensor",
               "baseline float8dq-row float8dq-tensor", 0);
    train_with("quantization: all\n", "",
               "baseline float8dq-tensor float8dq-row float8dq-row-gw-hp", 0);
    train_with("scaling_type_grad_output: disabled\nquantization: [float8dq-row, int8wo, "
               "float8dq-row-gw-hp]\n",
               "", "baseline float8dq-row-go-hp int8wo float8dq-row-go-gw-hp", 0);
    train_with("scaling_type_input: disabled\nscaling_type_weight: disabled\n"
               "quantization: float8dq-tensor\n",
               "", "baseline float8dq-tensor-i-w-hp", 0);
    train_with("scaling_granularity: rowwise\nquantization: float8dq-tensor\n", "",
               "baseline float8dq-tensor", 1);
    assert_non_null(strstr(warnings, "c.yml:4:22: scaling_granularity is rowwise"));
    refused(TRAINING "quantization: float8dq\nscaling_type_input: disabled\n"
                     "scaling_type_weight: disabled\nscaling_type_grad_output: disabled\n",
            ":7:27", "that is the baseline");
    refused(TRAINING "quantization: float8dq-rwo\n", ":4:15", "did you mean \"float8dq-row\"?");
}

static void test_training_passes_over_sparsity(void **state)
{
    (void)state;
    train_with("sparsity: [semi-sparse, block]\nquantization: [int8wo, float8dq-row]\n", "",
               "baseline int8wo float8dq-row", 1);
    assert_non_null(strstr(warnings, "c.yml:4:12: training has no sparsity"));
    train_with("sparsity: null\n", "", "baseline", 0);
    refused(TRAINING "sparsity: blok\n", ":4:11", "did you mean \"block\"?");
}

static void test_training_of_several_entries(void **state)
{
    (void)state;
    struct assay_plan plan = good("benchmark_mode: training\nrepeat_n: 7\nmodel_params:\n"
                                  "  - {model_type: linear, high_precision_dtype: [bf16, f32]}\n"
                                  "  - {model_type: transformer_block, device: cpu}\n",
                                  "--shapes custom=4x64x64");
    assert_int_equal(plan.n_groups, 3 * 3);
    assert_group(&plan, 8, "transformer_block", "model:transformer_block_both", "custom", 4, 64,
                 64);
    assert_int_equal(plan.settings.rounds, 7);
    assay_plan_fini(&plan);
    plan = good(TRAINING "repeat_n: 7\n", "--iters 3 --limit 1");
    assert_int_equal(plan.n_groups, 3);
    assert_int_equal(plan.settings.rounds, 3);
    assert_false(plan.settings.within_budget);
    assay_plan_fini(&plan);
    plan = good(TRAINING, "");
    assert_int_equal(plan.settings.rounds, 0);
    assay_plan_fini(&plan);
    refused("benchmark_mode: training\nmodel_params:\n  - {matrix_shapes: {name: llama}}\n"
            "  - {matrix_shapes: {name: llama}, scaling_type_weight: disabled}\n",
            ":4:57", "two entries differ");
    refused("benchmark_mode: training\nmodel_params:\n"
            "  - {matrix_shapes: {name: llama}, repeat_n: 5}\n  - {matrix_shapes: {name: llama}}\n",
            ":3:46", "two entries differ");
    refused(TRAINING "scaling_type_input: dinamic\n", ":4:21", "did you mean \"dynamic\"?");
    refused(TRAINING "scaling_granularity: sideways\n", ":4:22", "unknown scaling");
    refused(TRAINING "repeat_n: none\n", ":4:11", "a whole number");
    refused(TRAINING "use_fast_accum: perhaps\n", ":4:17", "true or false");
}

static void test_defaults_and_entries(void **state)
{
    (void)state;
    struct assay_plan plan = good("device: cpu\nhigh_precision_dtype: [torch.float32, f16]\n"
                                  "matrix_shapes: {name: pow2, min_power: 3, max_power: 4}\n"
                                  "compile: max-autotune\n"
                                  "model_params:\n"
                                  "  - model_type: linear\n"
                                  "  - {compile: false, high_precision_dtype: bf16}\n"
                                  "  - {name: mine, model_type: ln_linear, matrix_shapes: [{name: "
                                  "custom, shapes: [[1, 2, 3], [1, 2, 3]]}]}\n",
                                  "");
    assert_int_equal(plan.n_groups, 4 + 2 + 2);
    assert_group(&plan, 0, "linear", "model:linear", "pow2_0", 8, 8, 8);
    assert_int_equal(plan.groups[0].dtype, ASSAY_DTYPE_F32);
    assert_int_equal(plan.groups[1].dtype, ASSAY_DTYPE_F16);
    assert_group(&plan, 4, "linear_2", "model:linear", "pow2_0", 8, 8, 8);
    assert_string_equal(plan.groups[4].compile, "false");
    assert_group(&plan, 6, "mine", "model:ln_linear_relu", "custom", 1, 2, 3);
    assert_string_equal(plan.groups[6].compile, "max-autotune");
    assert_int_equal(n_warnings, 0);
    assay_plan_fini(&plan);
}

static const char *compile_of(const char *text)
{
    static char mode[32];
    struct assay_plan plan = good(text, "");
    snprintf(mode, sizeof mode, "%s", plan.groups[0].compile);
    assay_plan_fini(&plan);
    return mode;
}

static void test_compiling(void **state)
{
    (void)state;
    assert_string_equal(compile_of("device: cpu\n"), "default");
    assert_string_equal(compile_of("compile: \"false\"\n"), "false");
    assert_string_equal(compile_of("compile: no\n"), "false");
    assert_string_equal(compile_of("compile: true\n"), "default");
    assert_string_equal(compile_of("torch_compile_mode: \"false\"\nuse_torch_compile: true\n"),
                        "false");
    assert_string_equal(compile_of("use_torch_compile: \"false\"\ncompile: max-autotune\n"),
                        "false");
    assert_string_equal(compile_of("compile: default\ntorch_compile_mode: default\n"), "default");
    assert_string_equal(
        compile_of("torch_compile_mode: max-autotune\nmodel_params: {compile: default}\n"),
        "default");
    assert_string_equal(compile_of("torch_compile_mode: reduce-overhead\n"), "reduce-overhead");
    assert_string_equal(compile_of("torch_compile_mode: max-autotune-no-cudagraphs\n"),
                        "max-autotune-no-cudagraphs");
    refused("compile: false\ntorch_compile_mode: default\n", ":2:21",
            "contradicts compile in line 1");
    refused("compile: fast\n", ":1:10", "unknown compile \"fast\"");
    refused("compile: [default]\n", ":1:10", "not a list");
}

static void test_recipes(void **state)
{
    (void)state;
    struct assay_plan plan =
        good("quantization_config_recipe_names: [int8wo, baseline, INT8WO]\n", "");
    assert_int_equal(plan.settings.recipes.n, 2);
    assert_string_equal(plan.settings.recipes.items[0], "baseline");
    assay_plan_fini(&plan);
    plan = good("quantization_config_recipe_names: int8dq\n", "");
    assert_int_equal(plan.settings.recipes.n, 2);
    assay_plan_fini(&plan);
    /* What `all` stands for need not fit. */
    plan = good("quantization_config_recipe_names: [all]\n"
                "matrix_shapes: {name: custom, shapes: [[8, 96, 8]]}\n",
                "");
    assert_true(plan.settings.recipes.n >= 9);
    assay_plan_fini(&plan);
    refused("sparsity_config_recipe_names: [blok]\n", ":1:32", "did you mean \"block\"?");
    refused("quantization_config_recipe_names: [int8w]\n", ":1:36", "did you mean \"int8wo\"?");
    refused("quantization_config_recipe_names: []\n", ":1:35", "empty list");
    refused("quantization_config_recipe_names:\n", ":1:34", "has no value");
    refused("quantization_config_recipe_names: {a: b}\n", ":1:35", "a list of names");
    refused("quantization_config_recipe_names: [[int8wo]]\n", ":1:36", "names, not a list");
    refused("quantization_config_recipe_names: [int4wo-128]\nmatrix_shapes:\n"
            "  - name: custom\n    shapes: [[1, 128, 8], [8, 96, 8]]\n",
            ":4:27",
            "linear 8x96x8 cannot take int4wo-128: group 128 does not divide k = 96; "
            "int4wo-32 does");
    refused("quantization_config_recipe_names: [int4wo-256]\nmatrix_shapes:\n"
            "  - {name: pow2, min_power: 7}\n",
            ":3:12", "cannot take int4wo-256");
}

static void assert_recipes(const struct assay_plan *plan, const char *names)
{
    char joined[512] = "";
    for (int64_t i = 0; i < plan->settings.recipes.n; i++) {
        size_t used = strlen(joined);
        snprintf(joined + used, sizeof joined - used, "%s%s", i ? " " : "",
                 plan->settings.recipes.items[i]);
    }
    assert_string_equal(joined, names);
}

/* What TorchAO has and assay has not is part of the plan: it becomes rows that say so. */
static void test_recipes_that_are_elsewhere(void **state)
{
    (void)state;
    struct assay_plan plan = good("quantization_config_recipe_names: [float8dq, marlin, fp6, "
                                  "uintx-4-64-hqq, int8dq_prefill_wo_decode, "
                                  "int8_dynamic_activation_intx_weight-4-128-asym, null]\n",
                                  "");
    assert_recipes(&plan,
                   "baseline float8dq-tensor marlin fp6 uintx-4-64-hqq "
                   "int8dq_prefill_wo_decode int8_dynamic_activation_intx_weight-4-128-asym");
    assert_int_equal(n_warnings, 1); /* of the shapes */
    assay_plan_fini(&plan);
    plan = good("sparsity_config_recipe_names: [null, none, \"2:4\", semi, semi-sparse, block]\n"
                "quantization_config_recipe_names: [int8wo, int8dq, float8dq, marlin]\n",
                "");
    assert_recipes(&plan, "baseline int8wo int8dq float8dq-tensor marlin baseline+semi-sparse "
                          "int8dq+semi-sparse float8dq-tensor+semi-sparse marlin+semi-sparse "
                          "baseline+block");
    assay_plan_fini(&plan);
    plan = good("sparsity_config_recipe_names:\nmatrix_shapes: [{name: llama}]\n", "");
    assert_recipes(&plan, "baseline");
    assert_int_equal(n_warnings, 0);
    assay_plan_fini(&plan);
    refused_option("--recipe marlin", "marlin");
}

static void test_older_spellings(void **state)
{
    (void)state;
    struct assay_plan plan = good("quantizations: [int8wo]\nmodel_params:\n  sparsity: block\n"
                                  "  precision: torch.float32\n  compile_mode: max-autotune\n"
                                  "  enable_memory_profile: true\n"
                                  "  matrix_shapes: [{name: custom, shapes: [[4, 8, 16]]}]\n",
                                  "");
    assert_recipes(&plan, "baseline int8wo baseline+block");
    assert_int_equal(plan.groups[0].dtype, ASSAY_DTYPE_F32);
    assert_string_equal(plan.groups[0].compile, "max-autotune");
    assert_string_equal(plan.groups[0].profilers, "memory");
    assay_plan_fini(&plan);
}

static void test_names_may_be_the_same(void **state)
{
    (void)state;
    struct assay_plan plan = good("matrix_shapes: [{name: pow2, max_power: 10}]\n"
                                  "model_params: [{name: a, enable_profiler: true}, {name: a, "
                                  "high_precision_dtype: float16}]\n"
                                  "enable_memory_profiler: true\n",
                                  "");
    assert_int_equal(plan.n_groups, 2);
    assert_string_equal(plan.groups[0].entry, "a");
    assert_string_equal(plan.groups[0].profilers, "both");
    assert_string_equal(plan.groups[1].entry, "a");
    assert_string_equal(plan.groups[1].profilers, "memory");
    assay_plan_fini(&plan);
}

/* What nobody knows: an error that names --lenient, or a warning. */
static void test_leniency(void **state)
{
    (void)state;
    static const char text[] = "my_notes: [1, {a: b}]\n"
                               "quantization_config_recipe_names: [int8w, my_new_quantization]\n"
                               "sparsity_config_recipe_names: [blok]\n"
                               "model_params:\n"
                               "  - name: a\n"
                               "    output_dir: x\n"
                               "    eval_accuracy: true\n"
                               "    torch_compile_mode:\n"
                               "    device: npu\n"
                               "    matrix_shapes: [{name: pow2, power: 3, max_power: 10}]\n";
    static const char *const said[] = {
        "c.yml:1:1: unknown key \"my_notes\"; did you mean \"model\"? (passed over)",
        "c.yml:2:36: unknown recipe \"int8w\"; did you mean \"int8wo\"? (passed over)",
        "c.yml:2:43: unknown recipe \"my_new_quantization\"; known are baseline, int8wo",
        "c.yml:3:32: unknown sparsity recipe \"blok\"; did you mean \"block\"?",
        "c.yml:6:5: output_dir stands at the top of the file",
        "c.yml:7:5: unknown key \"eval_accuracy\"",
        "c.yml:8:24: torch_compile_mode has no value",
        "c.yml:9:13: unknown device \"npu\"",
        "c.yml:10:34: unknown key \"power\"",
    };
    struct assay_plan plan = good(text, "--lenient");
    assert_int_equal(plan.n_groups, 1);
    assert_recipes(&plan, "baseline");
    assert_string_equal(plan.groups[0].device, "cpu");
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++)
        if (!strstr(warnings, said[i]))
            fail_msg("not said: %s\n%s", said[i], warnings);
    assert_int_equal(n_warnings, sizeof said / sizeof said[0]);
    assay_plan_fini(&plan);
    refused(text, ":1:1", "(--lenient passes it over)");
    refused("quantization_config_recipe_names: [int8w]\n", ":1:36",
            "did you mean \"int8wo\"? (--lenient passes it over)");
    refused("device: npu\n", ":1:9", "npu");
    struct assay_error err = {0}; /* what an option says is no part of the file */
    assert_int_equal(plan_with("device: cpu\n", 12, "--lenient --device npu", &plan, &err),
                     ASSAY_ERR_INVALID);
    assert_int_equal(plan_with("matrix_shapes: [{name: lama}]\n", 30, "--lenient", &plan, &err),
                     ASSAY_ERR_INVALID);
}

static void test_shapes(void **state)
{
    (void)state;
    refused("matrix_shapes: []\n", ":1:16", "empty list");
    refused("matrix_shapes: [[1, 2, 3], {name: llama}]\n", ":1:28", "a shape is [m, k, n]");
    struct assay_plan plan = good("matrix_shapes: [[1, 2, 3], [4, 5, 6]]\n", "");
    assert_group(&plan, 1, "linear", "model:linear", "custom", 4, 5, 6);
    assay_plan_fini(&plan);
    refused("matrix_shapes: llama\n", ":1:16", "a list of shapes");
    refused("matrix_shapes: [llama]\n", ":1:17", "write `name: llama`");
    refused("matrix_shapes: [{shapes: [[1, 2, 3]]}]\n", ":1:17", "have no name");
    refused("matrix_shapes: [{name: lama}]\n", ":1:24", "did you mean \"llama\"?");
    refused("matrix_shapes: [{name: [llama]}]\n", ":1:24", "the name of a set");
    refused("matrix_shapes: [{name: custom}]\n", ":1:17", "custom needs shapes");
    refused("matrix_shapes: [{name: custom, shapes: []}]\n", ":1:40", "empty list");
    refused("matrix_shapes: [{name: custom, shapes: [1, 2, 3]}]\n", ":1:40", "write [[m, k, n]]");
    refused("matrix_shapes: [{name: custom, shapes: [[1, 2]]}]\n", ":1:41", "here are two");
    refused("matrix_shapes: [{name: custom, shapes: [[1, 2, 3, 4]]}]\n", ":1:41", "three sizes");
    refused("matrix_shapes: [{name: custom, shapes: [[1, x, 3]]}]\n", ":1:45", "k takes a whole");
    refused("matrix_shapes: [{name: custom, shapes: [[1, \"2\", 3]]}]\n", ":1:45",
            "k takes a whole");
    refused("matrix_shapes: [{name: custom, shapes: [[0, 2, 3]]}]\n", ":1:42",
            "m must lie between");
    refused("matrix_shapes: [{name: custom, shapes: [[1, 2, -3]]}]\n", ":1:48", "n must lie");
    refused("matrix_shapes: [{name: custom, shapes: [[1, 2, 9999999999]]}]\n", ":1:48",
            "n must lie");
    refused("matrix_shapes: [{name: custom, min_power: 3}]\n", ":1:43", "custom has no range");
    refused("matrix_shapes: [{name: llama, max_power: 3}]\n", ":1:31", "llama has no range");
    refused("matrix_shapes: [{name: llama, shapes: [[1, 2, 3]]}]\n", ":1:31", "own shapes");
    refused("matrix_shapes: [{name: pow2, min_power: 3, max_power: 2}]\n", ":1:41",
            "runs backwards");
    refused("matrix_shapes: [{name: pow2, max_power: 31}]\n", ":1:41", "between 0 and 30");
    refused("matrix_shapes: [{name: pow2_extended, min_power: 0}]\n", ":1:50", "between 1 and 30");
    refused("matrix_shapes: [{name: pow2, power: 3}]\n", ":1:30", "unknown key \"power\"");
    refused("matrix_shapes: {name: custom, shapes: [[1073741824, 1073741824, 1073741824]]}\n",
            ":1:40", "too large");
    refused("matrix_shapes: [{name: sweep, min_power: 0, max_power: 30}, {name: sweep, min_power: "
            "0, max_power: 30}, {name: sweep, min_power: 0, max_power: 30}, {name: sweep, "
            "min_power: 0, max_power: 30}]\n",
            ":1:149", "more than 100000 shapes");
}

static void test_devices(void **state)
{
    (void)state;
    setenv("ASSAY_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
    struct assay_plan plan =
        good("matrix_shapes: {name: pow2, max_power: 10}\ndevice: cuda\nmodel_params:\n"
             "  - {name: a}\n  - {name: b, device: CUDA}\n  - {name: c, device: cpu}\n",
             "");
    assert_int_equal(n_warnings, 1);
    assert_non_null(strstr(warnings, "using the cpu instead"));
    for (int i = 0; i < 3; i++)
        assert_string_equal(plan.groups[i].device, "cpu");
    assert_string_equal(plan.settings.device, "cpu");
    assay_plan_fini(&plan);
    plan = good("device: mps\n", "");
    assert_non_null(strstr(warnings, "no mps devices"));
    assay_plan_fini(&plan);
    struct assay_error err = {0};
    static const char text[] = "device: cuda\n";
    assert_int_equal(plan_with(text, sizeof text - 1, "--strict-device", &plan, &err),
                     ASSAY_UNSUPPORTED);
    assert_string_equal(err.where, "c.yml:1:9");
    refused("device: cqu\n", ":1:9", "did you mean \"cpu\"?");
    refused("device: cpu:9\n", ":1:9", "there is no device \"cpu:9\"");
    refused("device: [cpu]\n", ":1:9", "not a list");
}

static void test_models(void **state)
{
    (void)state;
    struct assay_plan plan = good("matrix_shapes: {name: pow2, max_power: 10}\n"
                                  "model_type: linear\n"
                                  "model_params:\n"
                                  "  name: own\n"
                                  "  model:\n"
                                  "    name: two_linears\n"
                                  "    inputs: {x: [m, k]}\n"
                                  "    nodes:\n"
                                  "      - {op: linear, input: x, features: 64}\n"
                                  "      - {op: relu}\n"
                                  "      - {op: linear, features: n}\n",
                                  "");
    assert_group(&plan, 0, "own", "model:two_linears", "pow2_0", 1024, 1024, 1024);
    assert_int_equal(plan.settings.models.n, 1);
    assert_non_null(strstr(plan.settings.models.items[0], "\"features\":64"));
    assay_plan_fini(&plan);
    refused("model:\n  name: bad\n  inputs: {x: [m, k]}\n  nodes:\n"
            "    - {op: linear, features: bogus}\n",
            ":5:30", "nodes[0].features: ");
    refused("model: linear\n", ":1:8", "write model_type: linear");
    refused("model: [linear]\n", ":1:8", "a mapping with name");
    refused("model_type: linear\nmodel: {name: q}\n", ":2:1", "write one");
    refused("model_type: ln_linear_gelo\n", ":1:13", "did you mean \"ln_linear_gelu\"?");
}

static void test_names_and_types(void **state)
{
    (void)state;
    refused("", "", "this file is empty");
    refused("word\n", ":1:1", "a mapping of keys");
    refused("- word\n", ":1:1", "a mapping of keys");
    refused("- {name: a, matrix_shapes: [{name: llama}]}\n", ":1:1", "put `model_params:` before");
    refused("on: push\njobs: {}\n", ":1:1", "a GitHub workflow");
    refused("devise: cpu\n", ":1:1", "did you mean \"device\"?");
    refused("qqqqqqqqqqqq: cpu\n", ":1:1", "`assay help config` shows them all");
    refused("min_power: 3\n", ":1:1", "belongs to an entry of matrix_shapes");
    refused("model_params: {output_dir: x}\n", ":1:16", "stands at the top");
    refused("benchmark_mode: inferense\n", ":1:17", "did you mean \"inference\"?");
    refused("benchmark_mode: [inference]\n", ":1:17", "not a list");
    refused("output_dir: []\n", ":1:13", "the name of a folder");
    refused("high_precision_dtype: int8\n", ":1:23", "no model runs in s8");
    refused("high_precision_dtype: torch.floot32\n", ":1:23", "unknown dtype");
    refused("enable_profiler: 3\n", ":1:18", "true or false, not \"3\"");
    refused("model_params: []\n", ":1:15", "empty list");
    refused("model_params: {}\n", ":1:15", "is empty");
    refused("model_params: [a]\n", ":1:16", "a mapping, or a list of them");
    refused("device: cpu\ndevice: cuda\n", ":2:1", "given twice, first in line 1");
    refused("a: [\n", ":2:1", "not YAML");
}

static void test_an_output_dir_that_is_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/assay-test-XXXXXX", text[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(text, sizeof text, "output_dir: %s\n", path);
    refused(text, ":1:13", "is a file, not a folder");
    snprintf(text, sizeof text, "output_dir: %s/below\n", path);
    refused(text, ":1:13", "is a file, not a folder");
    struct assay_plan plan = good(text, "--output-dir /tmp");
    assay_plan_fini(&plan);
    unlink(path);
}

static void test_options_replace(void **state)
{
    (void)state;
    static const char text[] = "quantization_config_recipe_names: [int8wo]\n"
                               "matrix_shapes: [{name: llama}]\n"
                               "use_torch_compile: false\n";
    struct assay_plan plan = good(
        text, "--dtype f32,f16,f32 --recipe int4wo-32 --shapes custom=8x64x2,16x32x4,pow2:5:6 "
              "--model transformer_block --compile max-autotune --limit 7 --cache both --seed 9");
    assert_int_equal(plan.n_groups, 7);
    assert_group(&plan, 0, "linear", "model:transformer_block", "custom", 8, 64, 2);
    assert_group(&plan, 2, "linear", "model:transformer_block", "custom", 16, 32, 4);
    assert_group(&plan, 4, "linear", "model:transformer_block", "pow2_0", 32, 32, 32);
    assert_int_equal(plan.groups[1].dtype, ASSAY_DTYPE_F16);
    assert_string_equal(plan.groups[0].compile, "max-autotune");
    assert_string_equal(plan.settings.recipes.items[1], "int4wo-32");
    assert_true(plan.settings.hot && plan.settings.cold);
    assert_int_equal(plan.settings.seed, 9);
    assay_plan_fini(&plan);
    refused_option("--dtype s8", "no model runs in s8");
    refused_option("--dtype f33", "unknown dtype");
    refused_option("--recipe nothing", "unknown recipe");
    refused_option("--shapes custom=8x64", "three sizes");
    refused_option("--shapes 8x0x3", "at least 1");
    refused_option("--shapes lama", "did you mean \"llama\"?");
    refused_option("--model linar", "did you mean \"linear\"?");
    refused_option("--compile fast", "max-autotune-no-cudagraphs or false");
    refused_option("--device cqu", "did you mean \"cpu\"?");
    refused_option("--recipe int4wo-128 --shapes custom=8x96x8", "does not divide k = 96");
}

static void test_repeats(void **state)
{
    (void)state;
    struct assay_run_options options;
    struct assay_run_config config;
    struct assay_plan plan;
    static const char text[] = "matrix_shapes: {name: pow2, min_power: 3, max_power: 5}\n";
    assay_run_options_init(&options);
    options.repeat = 3;
    options.limit = 2;
    assert_int_equal(assay_run_config_parse(text, sizeof text - 1, "c", false, &config, NULL),
                     ASSAY_OK);
    assert_int_equal(assay_run_plan(&options, &config, &plan, warn, NULL), ASSAY_OK);
    assert_int_equal(plan.n_groups, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(plan.groups[i].axes[0], i % 2 ? 16 : 8); /* all, then all again */
    assay_plan_fini(&plan);
    assay_run_config_fini(&config);
    assay_run_options_fini(&options);
}

/* The page holds exactly what the program prints, between two lines that say so. */
static void test_the_reference_is_in_the_docs(void **state)
{
    (void)state;
    static char page[65536];
    struct assay_text reference = {0};
    FILE *file = fopen(ASSAY_SOURCE_DIR "/docs/configuration.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    assay_run_config_reference(&reference);
    static const char begin[] = "<!-- assay help config -->\n", end[] = "<!-- end -->";
    char *from = strstr(page, begin);
    assert_non_null(from);
    from += sizeof begin - 1;
    char *to = strstr(from, end);
    assert_non_null(to);
    *to = '\0';
    assert_string_equal(from, reference.data);
    assay_text_fini(&reference);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    static const char text[] =
        "output_dir: x\nquantization_config_recipe_names: [int8wo]\nenable_profiler: true\n"
        "matrix_shapes: [{name: pow2}, {name: custom, shapes: [[8, 8, 8]]}]\n"
        "model_params: [{name: a}, {name: b, device: cpu}]\n";
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_plan plan;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status = plan_with(text, sizeof text - 1, "", &plan, &err);
        assay_alloc_fail_after(0);
        if (status != ASSAY_OK && status != ASSAY_ERR_NOMEM)
            fail_msg("allocation %d: %s", (int)nth, err.message);
        assert_int_equal(err.code, status);
        assay_plan_fini(&plan);
        assert_true(nth < 300);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_readme_s_configuration),
        cmocka_unit_test(test_the_readme_s_shapes),
        cmocka_unit_test(test_the_tutorial_s_fragments),
        cmocka_unit_test(test_printed_files_that_are_refused),
        cmocka_unit_test(test_training_of_the_page),
        cmocka_unit_test(test_training_recipes),
        cmocka_unit_test(test_training_passes_over_sparsity),
        cmocka_unit_test(test_training_of_several_entries),
        cmocka_unit_test(test_defaults_and_entries),
        cmocka_unit_test(test_compiling),
        cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_recipes_that_are_elsewhere),
        cmocka_unit_test(test_older_spellings),
        cmocka_unit_test(test_names_may_be_the_same),
        cmocka_unit_test(test_leniency),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_names_and_types),
        cmocka_unit_test(test_an_output_dir_that_is_a_file),
        cmocka_unit_test(test_options_replace),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_the_reference_is_in_the_docs),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
