/* test_report_trained.c: training's rows: which groups belong together, golden files of the table,
 * the CSV and the records, and what is left where a pass is missing. */
#include "json_schema.h"
#include "report_case.h"

#include "base/alloc.h"
#include "report/report_pairs.h"
#include "report/report_trained.h"

#include <locale.h>
#include <math.h>

static const char *const passes[] = {"forward", "backward", "both"};
enum { FORWARD, BACKWARD, BOTH };

static struct assay_record record_of(int64_t group, int64_t variant, int pass, const char *executor,
                                     const char *recipe)
{
    struct assay_record r = plain_record(group, variant, "model:linear", "Linear", executor);
    static const char *const axes[] = {"m", "k", "n"};
    for (int i = 0; i < 3; i++) {
        snprintf(r.axis_names[i], sizeof r.axis_names[i], "%s", axes[i]);
        r.axes[i] = 1024 << i;
    }
    snprintf(r.op, sizeof r.op, "model:linear_%s", passes[pass]);
    snprintf(r.pass, sizeof r.pass, "%s", passes[pass]);
    snprintf(r.kernel, sizeof r.kernel, "%s", executor);
    snprintf(r.baseline, sizeof r.baseline, "%s", executor);
    snprintf(r.recipe, sizeof r.recipe, "%s", recipe);
    snprintf(r.label, sizeof r.label, "custom");
    snprintf(r.entry, sizeof r.entry, "float8_linear_training");
    snprintf(r.compile, sizeof r.compile, "default");
    snprintf(r.profilers, sizeof r.profilers, "both");
    r.dtype = ASSAY_DTYPE_BF16;
    r.saved_bytes = 0;
    return r;
}

/* Recipes by executor: the baseline, a scale for each tensor, for each row, and one that is not for
 * training. */
static struct group pass_group(int64_t index, int pass)
{
    static const char *const recipes[] = {"baseline", "float8dq-tensor", "float8dq-row-gw-hp",
                                          "int8wo"};
    static const double ms[] = {4, 8.5, 12.6};
    struct group g = {.n = 8};
    for (int i = 0; i < 8; i++) {
        struct assay_record *r = &g.records[i];
        double factor = 1 - 0.1 * (i / 2) - 0.01 * (i % 2);
        *r = record_of(index, i, pass, i % 2 ? "compiled" : "eager", recipes[i / 2]);
        r->is_baseline = i < 1;
        r->states[HOT] = at_speed(around(ms[pass] * factor * 1e6, 0.004), 0.6);
        if (i > 1)
            r->states[HOT] = against(r->states[HOT], 1 / factor, 0.01, true);
        r->accuracy_db = i < 2 ? (double)INFINITY : 31.5 + i;
        r->more_accuracy_db[0] = pass == BACKWARD && i > 1 ? 28.25 : (double)NAN;
        if (i > 5)
            *r = failing(*r, ASSAY_OUTCOME_UNSUPPORTED,
                         "int8wo is not for training; float8dq-tensor is");
    }
    g.records[4].states[HOT].fastest = true;
    return g;
}

static struct group skipped_group(int64_t index, int pass)
{
    struct group g = {.n = 1};
    g.records[0] =
        failing(record_of(index, 0, pass, "", ""), ASSAY_OUTCOME_SKIPPED, "needs 300 GB");
    g.records[0].kernel[0] = '\0';
    return g;
}

static struct group other_name(struct group g, const char *entry)
{
    for (int64_t i = 0; i < g.n; i++)
        snprintf(g.records[i].entry, sizeof g.records[i].entry, "%s", entry);
    return g;
}

static const struct assay_run_info training_run = {
    .id = "20261115-034711-a1b2",
    .version = "0.1.0",
    .started = "2026-11-15T03:47:11Z",
    .host_os = "Linux 6.1",
    .device = "cpu",
    .device_name = "A Processor",
    .cpu_name = "A Processor",
    .isa = "avx2",
    .threads = 2,
    .rounds = 100,
    .hot = true,
    .output_dir = "results/training",
    .benchmark_mode = "training",
    .use_fast_accum = true,
};

static const struct assay_report_style cli_style = {.width = 100, .most = 130};

/* A whole model; one whose backward pass failed in one variant and whose both did not fit; and one
 * of which nothing else is there. */
static struct assay_text trained_report(const char *format, struct assay_report_style style)
{
    struct group groups[] = {pass_group(0, FORWARD),
                             pass_group(1, BACKWARD),
                             pass_group(2, BOTH),
                             other_name(pass_group(3, FORWARD), "second"),
                             other_name(pass_group(4, BACKWARD), "second"),
                             other_name(skipped_group(5, BOTH), "second"),
                             other_name(skipped_group(6, FORWARD), "third")};
    struct assay_record *wrong = &groups[4].records[2];
    *wrong = failing(*wrong, ASSAY_OUTCOME_MISMATCH, "output 1: 3 of 1048576 wrong, at [0,17]");
    struct assay_text out = {0};
    report_groups(format, &style, &training_run, groups, sizeof groups / sizeof groups[0], &out);
    return out;
}

static void training_is_as_before(void **state)
{
    (void)state;
    static const char *const formats[] = {"torchao", "torchao-csv", "pytorch"};
    struct assay_report_style narrow = {.width = 80}, ascii = cli_style, verbose = cli_style;
    ascii.ascii = verbose.verbose = true;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "trained_%s", formats[i]);
        check_golden(name, trained_report(formats[i], cli_style));
    }
    check_golden("trained_torchao_narrow", trained_report("torchao", narrow));
    check_golden("trained_torchao_ascii", trained_report("torchao", ascii));
    check_golden("trained_torchao_verbose", trained_report("torchao", verbose));
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    for (int width = 60; width < 140; width += 7) {
        struct assay_report_style style = {.width = width};
        struct assay_text text = trained_report("torchao", style);
        assert_no_wider(&text, width);
        assay_text_fini(&text);
    }
    setlocale(LC_CTYPE, "C");
}

/* The passes of a recipe are metrics of one case. Of the second model the whole step was not
 * measured, so there is none of it. */
static void records_fit_their_schema(void **state)
{
    (void)state;
    struct assay_text text = trained_report("pytorch", cli_style);
    json_t *schema =
        json_load_file(ASSAY_SOURCE_DIR "/share/schema/pytorch_benchmark_v3.schema.json", 0, NULL);
    json_t *records = json_loads(text.data, 0, NULL);
    struct schema_check check = {0};
    assert_non_null(schema);
    if (!schema_check_value(&check, schema, records))
        fail_msg("%s", check.problem);
    int64_t totals = 0;
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        const json_t *benchmark = json_object_get(record, "benchmark");
        const char *metric =
            json_string_value(json_object_get(json_object_get(record, "metric"), "name"));
        assert_string_equal(json_string_value(json_object_get(benchmark, "mode")), "training");
        totals += strcmp(metric, "Quantized Total Time (ms)") == 0;
    }
    assert_int_equal(totals, 2);
    json_decref(records);
    json_decref(schema);
    assay_text_fini(&text);
}

static void csv_rows_have_all_fields(void **state)
{
    (void)state;
    struct assay_text text = trained_report("torchao-csv", cli_style);
    const char *at = text.data;
    int header = csv_fields(&at), rows = 0;
    for (; *at; rows++)
        assert_int_equal(csv_fields(&at), header);
    assert_int_equal(rows, 8 + 8 + 1);
    assert_non_null(strstr(text.data, ",forward_time_ms,backward_time_ms,total_time_ms,"
                                      "reference_forward_time_ms,reference_backward_time_ms,"
                                      "reference_total_time_ms,speedup,scaling_repr,ref_tops_sec,"
                                      "ref_pct_top_peak,tops_sec,pct_top_peak,"));
    assay_text_fini(&text);
}

/* Runs of inference, and single passes of --pass, are shown as they were. */
static void other_runs_are_not_joined(void **state)
{
    (void)state;
    struct assay_run_info run = training_run;
    struct group group = pass_group(0, BACKWARD);
    struct assay_text out = {0};
    run.benchmark_mode[0] = '\0';
    report_groups("torchao", &cli_style, &run, &group, 1, &out);
    assert_non_null(strstr(out.data, "linear_backward"));
    assay_text_fini(&out);
}

/* ---- which belong together ------------------------------------------------------------------- */

struct seen {
    int64_t models, rows[8], whole;
};

static void count(void *user, const struct assay_trained *all)
{
    struct seen *seen = user;
    struct assay_trained_row row = {0};
    while (assay_trained_next(all, ASSAY_TRAINED_AS_LISTED, &row))
        seen->rows[seen->models]++;
    seen->whole += all->records[FORWARD] && all->records[BACKWARD] && all->records[BOTH];
    seen->models++;
}

static struct seen seen_of(struct group *groups, int64_t n)
{
    struct assay_trained all = {0};
    struct seen seen = {0};
    for (int64_t i = 0; i < n; i++)
        assert_true(assay_trained_add(&all, groups[i].records, groups[i].n, count, &seen));
    assay_trained_end(&all, count, &seen);
    assay_trained_fini(&all);
    return seen;
}

static void passes_of_one_model_are_one(void **state)
{
    (void)state;
    struct group repeats[] = {pass_group(0, FORWARD), pass_group(1, BACKWARD), pass_group(2, BOTH),
                              pass_group(3, FORWARD), pass_group(4, BACKWARD), pass_group(5, BOTH)};
    struct seen seen = seen_of(repeats, 6);
    assert_int_equal(seen.models, 2);
    assert_int_equal(seen.whole, 2);
    struct group missing[] = {pass_group(0, FORWARD), pass_group(2, BOTH), pass_group(3, FORWARD),
                              other_name(pass_group(4, BACKWARD), "other")};
    seen = seen_of(missing, 4);
    assert_int_equal(seen.models, 3);
    assert_int_equal(seen.whole, 0);
    assert_int_equal(seen.rows[0], 8);
    assert_int_equal(seen.rows[2], 8);
}

static void a_pass_without_figures_is_not_computed_from_others(void **state)
{
    (void)state;
    struct group groups[] = {pass_group(0, FORWARD), skipped_group(1, BACKWARD),
                             pass_group(2, BOTH)};
    struct assay_trained all = {0};
    struct assay_trained_row row = {0};
    for (int i = 0; i < 2; i++)
        assert_true(assay_trained_add(&all, groups[i].records, groups[i].n, count, NULL));
    assert_true(assay_trained_next(&all, ASSAY_TRAINED_AS_LISTED, &row));
    assert_non_null(assay_pair_figures(row.passes[FORWARD]));
    assert_null(assay_pair_figures(row.passes[BACKWARD]));
    assert_int_equal(assay_trained_trouble(&row)->outcome, ASSAY_OUTCOME_SKIPPED);
    assert_string_equal(assay_trained_row_any(&row)->implementation, "eager");
    assay_trained_fini(&all);
}

/* ---- words and figures ----------------------------------------------------------------------- */

static void scaling_reads_as_torchao_writes_it(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"float8dq-tensor", "i:dyn_ten_e4m3,w:dyn_ten_e4m3,go:dyn_ten_e5m2", "ten e4m3 e4m3 e5m2"},
        {"float8dq-row", "i:dyn_axs_e4m3,w:dyn_axs_e4m3,go:dyn_axs_e4m3", "axs e4m3 e4m3 e4m3"},
        {"float8dq-row-gw-hp", "i:dyn_axs_e4m3,w:dyn_axs_e4m3,go:dyn_axs_e4m3,gw:dis",
         "axs e4m3 e4m3 e4m3"},
        {"float8dq-tensor-i-go-hp", "i:dis,w:dyn_ten_e4m3,go:dis", "ten - e4m3 -"},
        {"baseline", "", "-"},
        {"int8wo", "", "-"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(assay_trained_scaling(cases[i][0]).text, cases[i][1]);
        assert_string_equal(assay_trained_scaling_short(cases[i][0]).text, cases[i][2]);
    }
}

static void operations_are_those_of_three_products(void **state)
{
    (void)state;
    struct group g = pass_group(0, BOTH);
    double ops = 3 * 2.0 * 1024 * 2048 * 4096;
    assert_near(assay_trained_ops_per_s(&g.records[0]) / (ops / 12.6e-3), 1, 1e-12);
    snprintf(g.records[0].op, sizeof g.records[0].op, "model:transformer_block_both");
    assert_near(assay_trained_ops_per_s(&g.records[0]) / (8e7 / 12.6e-3), 1, 1e-12);
    assert_true(isnan(assay_trained_ops_per_s(&g.records[6])));
    assert_true(isnan(assay_trained_ops_per_s(NULL)));
}

static void write_nowhere(void *user, const char *bytes, size_t length)
{
    *(size_t *)user += bytes ? length : 0;
}

static void running_out_of_memory_does_not_crash(void **state)
{
    (void)state;
    static const char *const formats[] = {"torchao", "torchao-csv", "pytorch"};
    struct group groups[] = {pass_group(0, FORWARD), pass_group(1, BACKWARD), pass_group(2, BOTH)};
    size_t written = 0;
    bool incomplete = false;
    struct assay_sink sink = {&written, write_nowhere, &incomplete};
    for (int f = 0; f < 3; f++)
        for (int64_t nth = 1; nth < 200; nth++) {
            assay_alloc_fail_after(nth);
            assay_report *report = assay_report_create(format_named(formats[f]), &sink, &cli_style);
            if (report)
                assay_report_begin(report, &training_run);
            for (int i = 0; i < 3 && report; i++)
                assay_report_group(report, groups[i].records, groups[i].n);
            if (report && nth % 2)
                assay_report_end(report);
            assay_report_destroy(report);
        }
    assay_alloc_fail_after(0);
    assert_true(incomplete && written > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_is_as_before),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(records_fit_their_schema),
        cmocka_unit_test(csv_rows_have_all_fields),
        cmocka_unit_test(other_runs_are_not_joined),
        cmocka_unit_test(passes_of_one_model_are_one),
        cmocka_unit_test(a_pass_without_figures_is_not_computed_from_others),
        cmocka_unit_test(scaling_reads_as_torchao_writes_it),
        cmocka_unit_test(operations_are_those_of_three_products),
        cmocka_unit_test(running_out_of_memory_does_not_crash),
    };
    return cmocka_run_group_tests_name("report_trained", tests, NULL, NULL);
}
