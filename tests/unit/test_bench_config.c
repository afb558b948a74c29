/* test_bench_config.c: from the options of `assay bench` to its plan. */
#include "unit.h"

#include "base/alloc.h"
#include "config/bench_config.h"
#include "device/cpu/cpu_info.h"
#include "quant/quant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char warning[1024];
static int warnings;

static void warn(const char *text)
{
    warnings++;
    snprintf(warning, sizeof warning, "%s", text);
}

/* The words of a line, split at blanks, as a plan. */
static enum assay_status plan_of(const char *line, struct assay_plan *plan, struct assay_error *err)
{
    char buffer[512], *argv[32];
    int argc = 0;
    struct assay_bench_config config;
    warnings = 0;
    snprintf(buffer, sizeof buffer, "%s", line);
    for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    assay_bench_config_init(&config);
    enum assay_status status = assay_options_parse(&assay_bench_options, argc, argv, &config, err);
    if (status == ASSAY_OK)
        status = assay_bench_plan(&config, plan, warn, err);
    else
        *plan = (struct assay_plan){0};
    assay_bench_config_fini(&config);
    return status;
}

static struct assay_plan good_plan(const char *line)
{
    struct assay_plan plan;
    struct assay_error err = {0};
    if (plan_of(line, &plan, &err) != ASSAY_OK)
        fail_msg("%s: %s", line, err.message);
    return plan;
}

static void assert_refused(const char *line, enum assay_status status, const char *message)
{
    struct assay_plan plan;
    struct assay_error err = {0};
    char text[700];
    if (plan_of(line, &plan, &err) != status)
        fail_msg("%s: wrong status; %s", line, err.message);
    assert_int_equal(err.code, status);
    assay_error_format(&err, text, sizeof text);
    if (!strstr(text, message))
        fail_msg("%s: %s", line, text);
    assert_null(plan.groups);
    assert_int_equal(plan.n_groups, 0);
}

static void test_the_defaults(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("");
    const struct assay_settings *s = &plan.settings;
    assert_true(s->hot && s->cold);
    assert_string_equal(s->device, "cpu");
    assert_int_equal(s->threads, assay_cpu_info()->cores);
    assert_near(s->precision, 0.05, 0);
    assert_near(s->timeout_s, 60, 0);
    assert_int_equal(s->warmup + s->rounds + s->memory_limit + (int64_t)s->seed, 0);
    assert_int_equal(plan.n_groups, 10); /* five ops, for loss is two, in two sizes */
    assay_plan_fini(&plan);
}

static void test_the_sweep(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("gelu --sweep");
    assert_int_equal(plan.n_groups, 4 * 4 * 7);
    int64_t over = 0;
    for (int64_t i = 0; i < plan.n_groups; i++) {
        const struct assay_group *g = &plan.groups[i];
        assert_string_equal(g->op, "gelu");
        assert_int_equal(g->over_limit, g->axes[0] * g->axes[1] * g->axes[2] > 50000000);
        over += g->over_limit;
    }
    assert_true(over > 0);
    assay_plan_fini(&plan);
}

/* An op without sizes is a minute's worth: all of them sizes of the sweep. */
static void test_an_op_without_sizes(void **state)
{
    (void)state;
    struct assay_plan usual = good_plan("gelu"), sweep = good_plan("gelu --sweep");
    assert_int_equal(usual.n_groups, 12);
    for (int64_t i = 0; i < usual.n_groups; i++) {
        bool found = false;
        for (int64_t k = 0; k < sweep.n_groups; k++)
            found = found ||
                    memcmp(usual.groups[i].axes, sweep.groups[k].axes, 3 * sizeof(int64_t)) == 0;
        assert_true(found);
        assert_false(usual.groups[i].over_limit);
    }
    assay_plan_fini(&usual);
    assay_plan_fini(&sweep);
    usual = good_plan("gelu --dim 8"); /* some sizes: the others are the sweep's */
    assert_int_equal(usual.n_groups, 4 * 4);
    assay_plan_fini(&usual);
    usual = good_plan("--sweep");
    assert_int_equal(usual.n_groups, 5 * 4 * 4 * 7);
    assay_plan_fini(&usual);
    assert_refused("gelu --sweep --shape 1x2x3", ASSAY_ERR_INVALID, "leave out --shape");
    assert_refused("linear --sweep", ASSAY_ERR_INVALID, "linear has other axes");
}

static void test_ops_behind_commas(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("gelu,silu layer_norm --shape 2x3x5");
    assert_int_equal(plan.n_groups, 3);
    assert_string_equal(plan.groups[0].op, "gelu");
    assert_string_equal(plan.groups[1].op, "silu");
    assert_string_equal(plan.groups[2].op, "layernorm");
    assay_plan_fini(&plan);
    assert_refused("gelu, --shape 2x3x5", ASSAY_ERR_INVALID, "write gelu,silu");
    assert_refused("gelu,sillu", ASSAY_ERR_INVALID, "did you mean \"silu\"?");
}

static void test_a_plan_is_a_product(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("relu loss --batch 2,3 --seq 5 --dim 7,11 --dtype f32,bf16");
    assert_int_equal(plan.n_groups, 3 * 2 * 4);
    assert_string_equal(plan.groups[0].op, "relu");
    assert_int_equal(plan.groups[0].dtype, ASSAY_DTYPE_F32);
    assert_int_equal(plan.groups[1].axes[2], 11);
    assert_int_equal(plan.groups[2].axes[0], 3);
    assert_int_equal(plan.groups[4].dtype, ASSAY_DTYPE_BF16);
    assay_plan_fini(&plan);
}

static void test_a_limit_only_where_it_was_meant(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("relu --batch 1000 --seq 1000 --dim 1000");
    assert_false(plan.groups[0].over_limit); /* every size was named */
    assay_plan_fini(&plan);
    plan = good_plan("relu --batch 100,1000 --seq 1000 --dim 500");
    assert_false(plan.groups[0].over_limit); /* 50 M */
    assert_true(plan.groups[1].over_limit);  /* every list was given, and it is a sweep */
    assay_plan_fini(&plan);
    plan = good_plan("relu --shape 1000x1000x1000,1x1x1");
    assert_false(plan.groups[0].over_limit);
    assay_plan_fini(&plan);
    plan = good_plan("relu --batch 1000 --seq 1000 --dim 1000 --max-elements 999999999");
    assert_true(plan.groups[0].over_limit);
    assay_plan_fini(&plan);
    plan = good_plan("relu --batch 100000 --max-elements 0");
    for (int64_t i = 0; i < plan.n_groups; i++)
        assert_false(plan.groups[i].over_limit);
    assay_plan_fini(&plan);
}

static void assert_axes(const struct assay_group *g, int64_t a, int64_t b, int64_t c)
{
    assert_int_equal(g->axes[0], a);
    assert_int_equal(g->axes[1], b);
    assert_int_equal(g->axes[2], c);
}

static void test_whole_shapes(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("relu --shape 2x3x5,7x11x13,2x3x5 --dtype bf16");
    assert_int_equal(plan.n_groups, 2);
    assert_axes(&plan.groups[0], 2, 3, 5);
    assert_axes(&plan.groups[1], 7, 11, 13);
    assay_plan_fini(&plan);
    plan = good_plan("linear --shape 16x64x32 --shapes pow2:3:4");
    assert_int_equal(plan.n_groups, 3);
    assert_string_equal(plan.groups[0].op, "linear");
    assert_string_equal(plan.groups[0].label, "");
    assert_axes(&plan.groups[0], 16, 64, 32);
    assert_string_equal(plan.groups[2].label, "pow2_1");
    assert_axes(&plan.groups[2], 16, 16, 16);
    assay_plan_fini(&plan);
    plan = good_plan("linear --shapes llama,llama");
    assert_int_equal(plan.n_groups, 4);
    assert_false(plan.groups[0].over_limit);
    assert_string_equal(plan.groups[0].label, "llama_attn.wqkv");
    assay_plan_fini(&plan);
    plan = good_plan("linear --shape 2x3x50 --max-elements 100"); /* the weights count too */
    assert_true(plan.groups[0].over_limit);
    assay_plan_fini(&plan);
}

static void test_the_usual_shapes(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("linear relu");
    assert_axes(&plan.groups[0], 1024, 1024, 1024);
    assert_axes(&plan.groups[1], 1, 4096, 4096);
    assert_string_equal(plan.groups[0].mode, "");
    assert_int_equal(plan.settings.recipes.n, 0);
    assert_string_equal(plan.groups[2].op, "relu");
    assert_int_equal(plan.n_groups, 2 + 12);
    assay_plan_fini(&plan);
    plan = good_plan("quantize dequantize");
    assert_int_equal(plan.n_groups, 2);
    assert_int_equal(plan.groups[0].n_axes, 2);
    assert_int_equal(plan.groups[0].axes[0], 1024);
    assert_int_equal(plan.groups[0].axes[1], 4096);
    assert_string_equal(plan.groups[0].mode, "s8-row");
    assert_string_equal(plan.groups[1].mode, "s8-row");
    assay_plan_fini(&plan);
}

static void test_each_mode_is_a_group(void **state)
{
    (void)state;
    struct assay_plan plan =
        good_plan("linear --shape 4x5x6 --mode none,bias,bias+gelu,bias --dtype f32,bf16");
    assert_int_equal(plan.n_groups, 6);
    assert_string_equal(plan.groups[0].mode, "");
    assert_string_equal(plan.groups[1].mode, "bias");
    assert_string_equal(plan.groups[2].mode, "bias+gelu");
    assert_int_equal(plan.groups[3].dtype, ASSAY_DTYPE_BF16);
    assay_plan_fini(&plan);
    assert_refused("linear --mode bias+gellu", ASSAY_ERR_INVALID, "gelu");
    assert_refused("relu --mode bias", ASSAY_ERR_INVALID, "has no modes");
    assert_refused("linear --mode a_mode_that_is_much_too_long_to_be_one_of_any_op",
                   ASSAY_ERR_INVALID, "a_mode_that_is_much");
}

static void test_recipes(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("linear --recipe INT4WO-32,int8wo,baseline,int8wo");
    const struct assay_strings *r = &plan.settings.recipes;
    assert_int_equal(r->n, 3);
    assert_string_equal(r->items[0], "baseline");
    assert_string_equal(r->items[1], "int4wo-32");
    assert_string_equal(r->items[2], "int8wo");
    assay_plan_fini(&plan);
    plan = good_plan("linear --shape 4x30x6 --recipe float8wo,all"); /* 30: no group fits */
    r = &plan.settings.recipes;
    assert_int_equal(r->n, assay_quant_count() - 1); /* one is for training alone */
    assert_string_equal(r->items[0], "baseline");
    assert_string_equal(r->items[1], "float8wo");
    assay_plan_fini(&plan);
    plan = good_plan("linear --recipe float8*");
    assert_int_equal(plan.settings.recipes.n, 4);
    assert_string_equal(plan.settings.recipes.items[1], "float8wo");
    assert_string_equal(plan.settings.recipes.items[3], "float8dq-row");
    assay_plan_fini(&plan);
    assert_refused("linear --recipe nf*", ASSAY_ERR_INVALID, "no recipe follows \"nf*\"");
    assert_refused("linear --recipe float8dq-row-gw-hp", ASSAY_ERR_INVALID, "it is for training");
    assert_refused("linear --recipe rowwise_with_gw_hp", ASSAY_ERR_INVALID, "float8dq-row-gw-hp");
    assert_refused("linear --recipe int8woo", ASSAY_ERR_INVALID, "int8wo");
    assert_refused("relu --recipe int8wo", ASSAY_ERR_INVALID, "relu has none");
    assert_refused("linear relu --recipe int8wo", ASSAY_ERR_INVALID, "relu has none");
    assert_refused("--recipe int8wo", ASSAY_ERR_INVALID, "layernorm has none");
}

/* How many groups of this op and mode, of these sizes. */
static int64_t count_groups(const struct assay_plan *plan, const char *op, const char *mode,
                            int64_t first, int64_t second)
{
    int64_t n = 0;
    for (int64_t i = 0; i < plan->n_groups; i++) {
        const struct assay_group *g = &plan->groups[i];
        n += strcmp(g->op, op) == 0 && strcmp(g->mode, mode) == 0 && g->axes[0] == first &&
             g->axes[1] == second;
    }
    return n;
}

/* With recipes, --pass is of a training step: its products one by one, and its casts, each once. */
static void test_training_steps(void **state)
{
    (void)state;
    struct assay_plan plan =
        good_plan("linear --pass both --recipe float8-* --shape 4x30x6,4x4x4 --dtype bf16");
    assert_int_equal(plan.settings.recipes.n, 4);
    assert_string_equal(plan.settings.recipes.items[3], "float8dq-row-gw-hp");
    assert_int_equal(count_groups(&plan, "linear", "", 4, 30), 0);
    assert_int_equal(count_groups(&plan, "linear_training", "", 4, 30), 1);
    assert_int_equal(count_groups(&plan, "linear_backward", "dx", 4, 30), 1);
    assert_int_equal(count_groups(&plan, "linear_backward", "dw", 4, 4), 1);
    assert_int_equal(count_groups(&plan, "quantize", "e4m3-tensor", 4, 30), 1); /* x */
    assert_int_equal(count_groups(&plan, "quantize", "e4m3-tensor", 6, 30), 1); /* W */
    assert_int_equal(count_groups(&plan, "quantize", "e5m2-tensor", 4, 6), 1);  /* dY */
    assert_int_equal(count_groups(&plan, "quantize", "e4m3-row", 4, 6), 1);
    assert_int_equal(count_groups(&plan, "quantize_turned", "e4m3-row", 4, 30), 1);
    assert_int_equal(count_groups(&plan, "quantize_turned", "e4m3-row", 6, 30), 1);
    assert_int_equal(count_groups(&plan, "quantize", "e4m3-row", 4, 4), 1);
    assay_plan_fini(&plan);
    plan = good_plan("linear --pass both --recipe float8dq-row-gw-hp --mode bias --shape 4x30x6");
    assert_int_equal(count_groups(&plan, "linear_backward", "bias", 4, 30), 1);
    assert_int_equal(count_groups(&plan, "linear_backward", "dw", 4, 30), 0);
    assert_int_equal(count_groups(&plan, "quantize_turned", "e4m3-row", 4, 30), 0); /* x stays */
    assay_plan_fini(&plan);
    plan = good_plan("linear --pass both --shape 4x30x6"); /* no recipes, no step */
    assert_int_equal(plan.n_groups, 2);
    assay_plan_fini(&plan);
    plan = good_plan("linear_backward --recipe int4wo-128 --shape 4x30x6"); /* a row says why not */
    assert_int_equal(plan.n_groups, 1);
    assay_plan_fini(&plan);
    assert_refused("linear --pass both --recipe int8* --shape 4x30x6", ASSAY_ERR_INVALID,
                   "no recipe for training follows");
}

static void test_a_named_recipe_must_fit(void **state)
{
    (void)state;
    assert_refused("linear --shape 4x256x6,4x96x6 --recipe all,int4wo-128", ASSAY_ERR_INVALID,
                   "linear 4x96x6 cannot take int4wo-128: ");
    assert_refused("linear --shape 4x7x128 --recipe int4wo-64", ASSAY_ERR_INVALID,
                   "the order is MxKxN, and n = 128 would do as k");
    struct assay_plan plan = good_plan("linear --shape 4x128x7 --recipe int4wo-64");
    assay_plan_fini(&plan);
}

static void test_options_of_other_ops(void **state)
{
    (void)state;
    assert_refused("linear --shape 4x5", ASSAY_ERR_INVALID,
                   "linear takes MxKxN: rows of x, elements summed over, outputs; got 2 sizes");
    assert_refused("quantize --shape 4x5x6", ASSAY_ERR_INVALID,
                   "quantize takes MxK: rows, elements of each; got 3 sizes");
    assert_refused("relu --shape 7", ASSAY_ERR_INVALID, "relu takes BATCHxSEQxDIM; got 1 size");
    assert_refused("linear --shape 1024,1024,512", ASSAY_ERR_INVALID, "write 1024x1024x512");
    assert_refused("linear --batch 4", ASSAY_ERR_INVALID, "give its sizes with --shape MxKxN");
    assert_refused("relu linear --dim 4", ASSAY_ERR_INVALID, "linear has no such axis as --dim");
    assert_refused("relu --shape 1x2x3 --seq 4", ASSAY_ERR_INVALID, "nothing left for --seq");
    assert_refused("relu --shapes llama", ASSAY_ERR_INVALID, "relu has other axes");
    assert_refused("quantize --shapes llama", ASSAY_ERR_INVALID, "quantize has other axes");
    assert_refused("linear --shapes lama", ASSAY_ERR_INVALID, "did you mean \"llama\"?");
    assert_refused("linear --shape 4x4x", ASSAY_ERR_INVALID, "is not a shape");
    assert_refused("linear --shape 4294967296x4294967296x4294967296", ASSAY_ERR_INVALID,
                   "too large for any machine");
    assert_refused("relu --dtype s8", ASSAY_ERR_INVALID,
                   "relu does not run in s8; try f32, bf16 or f16");
    struct assay_plan plan = good_plan("linear --dtype s8");
    assert_int_equal(plan.groups[0].dtype, ASSAY_DTYPE_S8);
    assay_plan_fini(&plan);
}

static void test_settings_are_passed_on(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan(
        "relu --cache cold --threads 1 --precision 2% --budget 500ms --timeout 7 "
        "--warmup 4 --iters 9 --seed 11 --memory-limit 1GiB --baseline ref --impl native,ref "
        "--kernel all");
    const struct assay_settings *s = &plan.settings;
    assert_true(!s->hot && s->cold);
    assert_int_equal(s->threads, 1);
    assert_near(s->precision, 0.02, 1e-15);
    assert_near(s->budget_s, 0.5, 1e-15);
    assert_near(s->timeout_s, 7, 0);
    assert_int_equal(s->warmup, 4);
    assert_int_equal(s->rounds, 9);
    assert_int_equal(s->seed, 11);
    assert_int_equal(s->memory_limit, 1 << 30);
    assert_string_equal(s->baseline, "ref");
    assert_string_equal(s->implementations.items[0], "native");
    assert_string_equal(s->kernels.items[0], "all");
    assay_plan_fini(&plan);
}

/* It has little time, so it asks for less, unless told. */
static void test_a_tour_asks_for_what_fits_its_time(void **state)
{
    static const struct {
        const char *line;
        double budget_s, precision;
    } cases[] = {{"", 0.4, 0.05},
                 {"--precision 1%", 0.4, 0.01},
                 {"--budget 2s", 2, 0.05},
                 {"relu", 2, 0.01},
                 {"--dim 8", 2, 0.01}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_plan plan = good_plan(cases[i].line);
        assert_near(plan.settings.budget_s, cases[i].budget_s, 1e-15);
        assert_near(plan.settings.precision, cases[i].precision, 1e-15);
        assay_plan_fini(&plan);
    }
}

static void test_a_device_that_is_not_here(void **state)
{
    (void)state;
    struct assay_plan plan = good_plan("relu --device cuda");
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(warning, "using the cpu instead"));
    assert_string_equal(plan.settings.device, "cpu");
    assay_plan_fini(&plan);
    plan = good_plan("relu --device CPU:0");
    assert_int_equal(warnings, 0);
    assert_string_equal(plan.settings.device, "cpu");
    assay_plan_fini(&plan);
    assert_refused("relu --device cuda --strict-device", ASSAY_UNSUPPORTED, "cuda");
    assert_refused("relu --device gpu", ASSAY_ERR_INVALID, "did you mean \"cuda\"?");
    assert_refused("relu --device cpu:1", ASSAY_ERR_INVALID, "there is no device \"cpu:1\"");
    assert_refused("relu --device cpu:x", ASSAY_ERR_INVALID, "has no valid number");
}

/* Never silently another one. */
static void test_a_baseline_takes_part(void **state)
{
    (void)state;
    assert_refused("relu --impl ref --baseline native", ASSAY_ERR_INVALID,
                   "--baseline native: it does not take part in relu on cpu; these do: ref");
    assert_refused("relu --kernel relu_portable,relu_avx2 --baseline ref", ASSAY_ERR_INVALID,
                   "these do: native");
    assert_refused("linear relu --baseline openblas", ASSAY_ERR_INVALID,
                   "does not take part in relu on cpu; these do: ");
    assert_refused("linear --impl cuda --baseline native", ASSAY_ERR_INVALID,
                   "nor does anything else");
    struct assay_plan plan = good_plan("relu --kernel relu_portable,relu_ref --baseline REF");
    assay_plan_fini(&plan);
    plan = good_plan("linear --baseline openblas");
    assay_plan_fini(&plan);
}

static void test_every_unknown_name_has_a_nearest(void **state)
{
    (void)state;
    assert_refused("rellu", ASSAY_ERR_INVALID, "did you mean \"relu\"?");
    assert_refused("relu --dtype f33", ASSAY_ERR_INVALID, "did you mean \"f32\"?");
    assert_refused("relu --dtype f64", ASSAY_ERR_INVALID, "no op runs in f64");
    assert_refused("relu --impl nativ", ASSAY_ERR_INVALID, "did you mean \"native\"?");
    assert_refused("relu --baseline reff", ASSAY_ERR_INVALID, "did you mean \"ref\"?");
    assert_refused("relu --kernel relu_avx3", ASSAY_ERR_INVALID, "did you mean \"relu_avx2\"?");
    assert_refused("relu --cache hott", ASSAY_ERR_INVALID, "did you mean \"hot\"?");
    assert_refused("relu --plugin /nowhere.so", ASSAY_ERR_INVALID, "/nowhere.so: this plug-in");
}

static void test_sizes_beyond_reason(void **state)
{
    (void)state;
    const char *huge = "relu --batch 1099511627776 --seq 1099511627776 --dim 1099511627776";
    assert_refused(huge, ASSAY_ERR_INVALID, "too large for any machine");
    assert_refused("relu --dim 9223372036854775807", ASSAY_ERR_INVALID,
                   "too large for any machine");
    assert_refused("relu --batch 0", ASSAY_ERR_INVALID, "at least 1");
    assert_refused("relu --seq 16,", ASSAY_ERR_INVALID, "--seq");
}

/* 4096 to the third: more groups than could be listed, let alone measured. */
static void test_more_groups_than_reason(void **state)
{
    (void)state;
    assert_refused("relu --batch 1:4096:+1 --seq 1:4096:+1 --dim 1:4096:+1", ASSAY_ERR_INVALID,
                   "groups");
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_plan plan;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status = plan_of("relu loss --impl native,ref --kernel all --batch 1:64:+1 --seq 3 --dim 4",
                         &plan, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        if (status != ASSAY_OK)
            assert_int_equal(status, ASSAY_ERR_NOMEM);
        assay_plan_fini(&plan);
        assert_true(nth < 200);
    }
    status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_plan plan;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status = plan_of("linear --recipe all --mode none,bias --shapes sweep:3:5", &plan, &err);
        if (status == ASSAY_OK) {
            assay_plan_fini(&plan);
            status = plan_of("linear --recipe all", &plan, &err);
        }
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        if (status != ASSAY_OK)
            assert_int_equal(status, ASSAY_ERR_NOMEM);
        assay_plan_fini(&plan);
        assert_true(nth < 200);
    }
}

int main(void)
{
    setenv("ASSAY_CUDA_DRIVER", "/no_driver", 1); /* whatever this machine has */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_defaults),
        cmocka_unit_test(test_the_sweep),
        cmocka_unit_test(test_a_plan_is_a_product),
        cmocka_unit_test(test_a_limit_only_where_it_was_meant),
        cmocka_unit_test(test_whole_shapes),
        cmocka_unit_test(test_the_usual_shapes),
        cmocka_unit_test(test_each_mode_is_a_group),
        cmocka_unit_test(test_recipes),
        cmocka_unit_test(test_training_steps),
        cmocka_unit_test(test_a_named_recipe_must_fit),
        cmocka_unit_test(test_options_of_other_ops),
        cmocka_unit_test(test_settings_are_passed_on),
        cmocka_unit_test(test_a_tour_asks_for_what_fits_its_time),
        cmocka_unit_test(test_a_device_that_is_not_here),
        cmocka_unit_test(test_an_op_without_sizes),
        cmocka_unit_test(test_ops_behind_commas),
        cmocka_unit_test(test_a_baseline_takes_part),
        cmocka_unit_test(test_every_unknown_name_has_a_nearest),
        cmocka_unit_test(test_sizes_beyond_reason),
        cmocka_unit_test(test_more_groups_than_reason),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
