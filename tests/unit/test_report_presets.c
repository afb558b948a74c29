/* test_report_presets.c: KoBench's table and JSON on cases of presets: golden files, widths, and
 * what is not known. ASSAY_UPDATE_GOLDEN=1 rewrites the golden files; look at the diff. */
#include "report_case.h"

#include "base/json.h"
#include "report/report_kobench.h"

#include <locale.h>

enum { GROUPS = 5 };

static struct assay_record case_record(int64_t group, const char *name, const char *executor)
{
    static const char *const axes[] = {"batch", "seq_len", "embed_dim", "num_heads"};
    static const int64_t sizes[] = {4, 1024, 1024, 16};
    struct assay_record r = plain_record(group, 0, "model:multi_head_attention", "Attention", "x");
    snprintf(r.implementation, sizeof r.implementation, "%s", executor);
    snprintf(r.kernel, sizeof r.kernel, "%s", executor);
    snprintf(r.baseline, sizeof r.baseline, "%s", executor);
    snprintf(r.entry, sizeof r.entry, "%s", name);
    snprintf(r.recipe, sizeof r.recipe, "baseline");
    snprintf(r.device, sizeof r.device, "cuda");
    r.dtype = ASSAY_DTYPE_F16;
    r.n_axes = 4;
    for (int i = 0; i < 4; i++) {
        snprintf(r.axis_names[i], sizeof r.axis_names[i], "%s", axes[i]);
        r.axes[i] = sizes[i];
    }
    r.macs = 25769803776.0;
    r.counted_flops = 402653184;
    r.idle_bytes = 16 << 20;
    r.peak_bytes = 56.5 * (1 << 20);
    r.workspace_bytes = 32 << 20;
    r.states[HOT] = around(215e3, 0.004);
    return r;
}

/* Eager and compiled; one without counters and memory; a swept one, cold too; what went wrong; and
 * another type. */
static void make_groups(struct group *g)
{
    for (int i = 0; i < GROUPS; i++)
        g[i] = (struct group){.n = 1};
    g[0].n = 2;
    g[0].records[0] = case_record(0, "multi_head_attention", "eager");
    g[0].records[1] = case_record(0, "multi_head_attention", "compiled");
    struct assay_measurement *m = &g[0].records[1].states[HOT];
    *m = fastest(against(around(140e3, 0.021), 1.54, 0.01, true));
    m->precise = false;
    m->has_ratio = false;
    m->has_eager_ratio = true;
    m->eager_ratio = m->ratio;
    g[1].records[0] = case_record(1, "conv2d", "eager");
    g[1].records[0].counted_flops = (double)NAN;
    g[1].records[0].states[HOT] = at_speed(disturbed(around(215e3, 0.004), 40, 0, 41), 0.72);
    g[1].records[0].idle_bytes = g[1].records[0].peak_bytes = (double)NAN;
    g[1].records[0].workspace_bytes = 0;
    g[2].records[0] = case_record(2, "layer_norm", "eager");
    snprintf(g[2].records[0].label, sizeof g[2].records[0].label, "seq_len=2048 batch=16");
    g[2].records[0].macs = (double)NAN;
    g[2].records[0].peak_bytes = 5e12;
    g[2].records[0].states[COLD] = around(12.5e9, 0.3);
    g[3].records[0] = failing(
        case_record(3, "sd_resblock", "eager"), ASSAY_OUTCOME_MISMATCH,
        "12 of 1000 wrong, first at [0,17]: got 0, expected 1.5 (within 0.02), greatest error 1.5");
    g[4].records[0] = case_record(4, "mlp_gelu", "eager");
    g[4].records[0].dtype = ASSAY_DTYPE_BF16;
    g[4].records[0].verification.done = false;
}

static struct assay_text report(const char *format, struct assay_report_style style, int64_t warmup)
{
    struct group groups[GROUPS];
    struct assay_text text = {0};
    struct assay_run_info run = a_run;
    run.warmup = warmup;
    make_groups(groups);
    report_groups(format, &style, &run, groups, GROUPS, &text);
    return text;
}

static const struct assay_report_style cli_style = {.width = 100, .most = 130};

static void golden_files(void **state)
{
    (void)state;
    struct assay_report_style ascii = cli_style, narrow = {.width = 60}, verbose = cli_style;
    ascii.ascii = true;
    verbose.verbose = true;
    check_golden("presets_kobench", report("kobench", cli_style, 0));
    check_golden("presets_kobench_ascii", report("kobench", ascii, 0));
    check_golden("presets_kobench_narrow", report("kobench", narrow, 0));
    check_golden("presets_kobench_100", report("kobench", usual_style, 0));
    check_golden("presets_kobench_verbose", report("kobench", verbose, 0));
    check_golden("presets_kobench-json", report("kobench-json", cli_style, 8));
    check_golden("presets_table", report("table", cli_style, 0));
    check_golden("presets_csv", report("csv", cli_style, 0));
}

static void no_line_is_wider(void **state)
{
    (void)state;
    for (int width = 60; width <= 140; width += 5) {
        struct assay_report_style style = {.width = width};
        struct assay_text text = report("kobench", style, 0);
        assert_no_wider(&text, width);
        assay_text_fini(&text);
    }
}

static void the_json_says_what_is_known(void **state)
{
    (void)state;
    struct assay_text text = report("kobench-json", cli_style, 0);
    struct assay_error err = {0};
    assay_json *list = assay_json_parse(text.data, text.length, "report", &err);
    assert_non_null(list);
    assert_int_equal(assay_json_count(list), 5); /* what is wrong has none */
    const assay_json *first = assay_json_at(list, 0), *second = assay_json_at(list, 1);
    assert_int_equal(assay_json_count_keys(first), 15);
    assert_true(isnan(assay_json_double(assay_json_get(first, "warmup"), 1)));
    assert_near(assay_json_double(assay_json_get(first, "latency_ms"), 0), 0.21715, 1e-12);
    assert_near(assay_json_double(assay_json_get(first, "peak_vram_mb"), 0), 56.5, 0);
    assert_near(assay_json_double(assay_json_get(first, "macs_rate"), 0), 25769803776 / 217.15e-6,
                1e5);
    assert_int_equal(
        assay_json_int(assay_json_get(assay_json_get(first, "metadata"), "num_heads"), 0), 16);
    assert_string_equal(assay_json_string(assay_json_get(second, "name"), ""),
                        "multi_head_attention/compiled");
    assert_true(isnan(assay_json_double(assay_json_get(assay_json_at(list, 2), "flops"), 1)));
    assert_true(
        isnan(assay_json_double(assay_json_get(assay_json_at(list, 2), "idle_vram_mb"), 1)));
    assay_json_free(list);
    assay_text_fini(&text);
}

static void names_of_cases(void **state)
{
    (void)state;
    struct assay_record r = case_record(0, "attn", "compiled");
    assert_string_equal(assay_kobench_name(&r, r.implementation).text, "attn/compiled");
    snprintf(r.recipe, sizeof r.recipe, "int8wo");
    assert_string_equal(assay_kobench_name(&r, r.implementation).text, "attn/compiled/int8wo");
    r = case_record(0, "", "eager");
    assert_string_equal(assay_kobench_name(&r, r.implementation).text, "multi_head_attention");
    r = plain_record(0, 0, "gelu", "GELU", "native");
    assert_string_equal(assay_kobench_name(&r, r.implementation).text, "gelu/native");
    assert_string_equal(assay_kobench_dtype(ASSAY_DTYPE_BF16), "bfloat16");
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files),
        cmocka_unit_test(no_line_is_wider),
        cmocka_unit_test(the_json_says_what_is_known),
        cmocka_unit_test(names_of_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
