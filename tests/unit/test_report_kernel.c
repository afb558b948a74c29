/* test_report_kernel.c: the reports of `assay kernel`: table, JSON and charts: golden files,
 * widths, whose kernel is compared with whom, names from anywhere. ASSAY_UPDATE_GOLDEN=1 rewrites
 * the golden files; look at the diff. */
#include "report_case.h"
#include "svg_check.h"

#include "base/alloc.h"
#include "base/json.h"
#include "report/chart/chart_rows.h"
#include "report/report_bouts.h"

#include <locale.h>

enum { MS = 1000000, GROUPS = 9 };

static struct assay_record workload(int64_t group, const char *benchmark, const char *name,
                                    const char *implementation)
{
    struct assay_record r = plain_record(group, 0, "workload", "Workload", implementation);
    snprintf(r.op, sizeof r.op, "workload:%s.%s", benchmark, name);
    snprintf(r.title, sizeof r.title, "%s.%s", benchmark, name);
    snprintf(r.kernel, sizeof r.kernel, "%s", implementation);
    snprintf(r.entry, sizeof r.entry, "%s", benchmark);
    snprintf(r.label, sizeof r.label, "%s", name);
    snprintf(r.baseline, sizeof r.baseline, "reference");
    r.n_axes = 0;
    r.is_baseline = strcmp(implementation, "reference") == 0;
    r.variant = r.is_baseline;
    return r;
}

/* A workload with a reference that was timed. */
static struct group compared(int64_t group, const char *benchmark, const char *name, double ns,
                             double reference_ns, bool significant)
{
    struct group g = {.n = 2};
    g.records[0] = workload(group, benchmark, name, "kernel");
    g.records[1] = workload(group, benchmark, name, "reference");
    g.records[0].states[HOT] = no_ceiling(
        against(around(ns, 0.012), reference_ns / ns, significant ? 0.01 : 0.03, significant));
    g.records[1].states[HOT] = no_ceiling(around(reference_ns, 0.01));
    return g;
}

static struct assay_record rival(int64_t variant, const char *implementation, double ns,
                                 double ratio)
{
    struct assay_record r = plain_record(5, variant, "layernorm", "LayerNorm", implementation);
    snprintf(r.baseline, sizeof r.baseline, "mine");
    r.axes[0] = 4;
    r.axes[1] = 512;
    r.axes[2] = 1024;
    r.states[HOT] = no_ceiling(against(around(ns, 0.008), ratio, 0.006, true));
    return r;
}

/* Three that are right, one that is not there, and the repository's own, which all are compared
 * with. */
static struct group rivals(void)
{
    struct group g = {.n = 5};
    g.records[0] = rival(0, "ref", 18.5 * MS, 2.31 / 18.5);
    g.records[1] = rival(1, "native", 1.76 * MS, 1.31);
    g.records[2] = rival(2, "onednn", 2.31 * MS, 1.002);
    g.records[2].states[HOT].ratio.significant = false;
    g.records[3] =
        failing(rival(3, "openblas", 1, 1), ASSAY_OUTCOME_UNSUPPORTED, "OpenBLAS has no layernorm");
    g.records[3].states[HOT].measured = false;
    g.records[4] = rival(4, "mine", 2.31 * MS, 1);
    g.records[4].is_baseline = true;
    g.records[4].states[HOT].has_ratio = false;
    g.records[4].states[HOT].ceiling_ns = 1.64 * MS;
    snprintf(g.records[4].states[HOT].bound, 16, "memory");
    g.records[4].states[HOT].efficiency = 0.71;
    snprintf(g.records[4].note, sizeof g.records[4].note, "two rows at a time");
    return g;
}

/* The repository's own is wrong: another is the baseline. */
static struct group rivals_of_a_wrong_one(void)
{
    struct group g = rivals();
    for (int64_t i = 0; i < g.n; i++) {
        g.records[i].group = 6;
        g.records[i].axes[2] = 1000;
        snprintf(g.records[i].mode, sizeof g.records[i].mode, "training");
        snprintf(g.records[i].baseline, sizeof g.records[i].baseline, "onednn");
        g.records[i].is_baseline = i == 2;
    }
    g.records[4] = failing(g.records[4], ASSAY_OUTCOME_MISMATCH,
                           "37 of 2048000 elements wrong, first at [0,3,999]: got nan, expected "
                           "0.0173; the last elements of each row are never written");
    g.records[4].states[HOT].measured = false;
    return g;
}

static void make_groups(struct group *g)
{
    g[0] = compared(0, "SiluWorkloads", "large", 6.5 * MS, 11.2 * MS, true);
    g[0].records[0].states[HOT].ceiling_ns = 4.6 * MS;
    g[0].records[0].states[HOT].efficiency = 4.6 / 6.5;
    snprintf(g[0].records[0].states[HOT].bound, 16, "memory");
    g[1] = compared(1, "SiluWorkloads", "tiny", 0.00123 * MS, 0.00125 * MS, false);
    g[1].records[0].states[COLD] = no_ceiling(against(around(15100, 0.03), 0.76, 0.02, true));
    g[1].records[1].states[COLD] = no_ceiling(around(11480, 0.03));
    g[2] = (struct group){.n = 1};
    g[2].records[0] = workload(2, "GeluWorkloads", "small", "kernel");
    g[2].records[0].states[HOT] = around(2.2 * MS, 0.01);
    g[2].records[0].verification = (struct assay_verification){0};
    g[2].records[0].interrupted = true;
    g[3] = (struct group){.n = 2};
    g[3].records[0] = failing(
        workload(3, "GeluWorkloads", "large", "kernel"), ASSAY_OUTCOME_MISMATCH,
        "12 of 1000 wrong, first at [0,17]: got 0, expected 1.5 (within 0.02), greatest error 1.5");
    g[3].records[1] = workload(3, "GeluWorkloads", "large", "reference");
    g[4] = (struct group){.n = 1};
    g[4].records[0] = failing(workload(4, "GeluWorkloads", "odd", "kernel"), ASSAY_OUTCOME_CRASHED,
                              "SIGSEGV at address 0x0");
    g[5] = rivals();
    g[6] = rivals_of_a_wrong_one();
    g[7] = compared(7, "GeluWorkloads", "broken reference", 3 * MS, 4 * MS, true);
    g[7].records[1] = failing(g[7].records[1], ASSAY_OUTCOME_TIMEOUT, "no answer in 10 s");
    g[7].records[0].states[HOT].has_ratio = false;
    g[7].records[0].verification = (struct assay_verification){0};
    g[8] = (struct group){.n = 1}; /* one record for all of a group */
    g[8].records[0] = failing(plain_record(8, 0, "softmax", "Softmax", ""), ASSAY_OUTCOME_SKIPPED,
                              "needs 96.0 GB");
    g[8].records[0].kernel[0] = '\0';
}

static struct assay_run_info cpu_run(void)
{
    struct assay_run_info run = a_run;
    snprintf(run.command, sizeof run.command, "assay kernel ./activation");
    snprintf(run.repository, sizeof run.repository, "kernels-community/activation@v1");
    snprintf(run.kernel_commit, sizeof run.kernel_commit,
             "2385e44aa0110d6cd2b0b9b1f40c9c1d5a7e99f0");
    snprintf(run.benchmark_path, sizeof run.benchmark_path, "benchmarks/benchmark_silu.c");
    snprintf(run.benchmark_sha, sizeof run.benchmark_sha,
             "5b535163b0f1c0d8d34b1f7f9a65c2ad0e7d3f9e5c7a1e1b2d3c4b5a69788796");
    snprintf(run.implementations, sizeof run.implementations, "other, mine");
    return run;
}

static struct assay_run_info cuda_run(void)
{
    struct assay_run_info run = cpu_run();
    snprintf(run.device, sizeof run.device, "cuda:1");
    snprintf(run.device_name, sizeof run.device_name, "NVIDIA H200");
    snprintf(run.gpu_name, sizeof run.gpu_name, "NVIDIA H200");
    snprintf(run.kernel_commit, sizeof run.kernel_commit,
             "2385e44aa0110d6cd2b0b9b1f40c9c1d5a7e99f0+");
    run.gpu_cores = 132;
    return run;
}

static struct assay_text report(const char *format, struct assay_report_style style)
{
    struct group groups[GROUPS];
    struct assay_text text = {0};
    struct assay_run_info run = cpu_run();
    make_groups(groups);
    report_groups(format, &style, &run, groups, GROUPS, &text);
    return text;
}

/* The run the format is modelled on: these figures, these lines. */
static void make_model(struct group *g)
{
    static const struct {
        const char *name;
        double ratio, mean, std, min, max, iqr, reference, lo, hi;
        int outliers;
    } rows[] = {
        {"large", 1.72, 6.5153, 0.4343, 6.2883, 8.4699, 0.1701, 11.2048, 6.4302, 6.6004, 8},
        {"medium", 2.48, 1.1813, 0.3976, 1.04, 4.2146, 0.0698, 2.9332, 1.1034, 1.2592, 5},
        {"small", 1.96, 0.4909, 0.2175, 0.4407, 2.6438, 0.0085, 0.9622, 0.4483, 0.5335, 16},
    };
    for (int i = 0; i < 3; i++) {
        g[i] = compared(i, "SiluWorkloads", rows[i].name, MS, MS, true);
        struct assay_measurement *m = &g[i].records[0].states[HOT];
        m->time.n = 100;
        m->time.mean = rows[i].mean * MS;
        m->time.median = (rows[i].mean - 0.01) * MS;
        m->time.std = rows[i].std * MS;
        m->time.min = rows[i].min * MS;
        m->time.max = rows[i].max * MS;
        m->time.iqr = rows[i].iqr * MS;
        m->time.outliers = rows[i].outliers;
        m->time.median_ci = (struct assay_interval){rows[i].lo * MS, rows[i].hi * MS};
        m->ratio.ratio = rows[i].ratio;
        m->ratio.ci = (struct assay_interval){rows[i].ratio * 0.97, rows[i].ratio * 1.04};
        m = &g[i].records[1].states[HOT];
        m->time.mean = m->time.median = rows[i].reference * MS;
    }
}

static struct assay_text report_model(const char *format, int64_t n,
                                      struct assay_report_style style)
{
    struct group groups[3];
    struct assay_text text = {0};
    struct assay_run_info run = cuda_run();
    make_model(groups);
    for (int i = 0; i < 3; i++)
        groups[i].n = n;
    report_groups(format, &style, &run, groups, 3, &text);
    return text;
}

static const struct assay_report_style cli_style = {.width = 100, .most = 130};
static const struct assay_report_style wide_style = {.width = 100, .most = 150};

static void golden_tables(void **state)
{
    (void)state;
    struct assay_report_style ascii = cli_style, colour = cli_style, verbose = cli_style;
    struct assay_report_style narrow = {.width = 60};
    ascii.ascii = colour.colour = verbose.verbose = true;
    check_golden("kernels_kernel", report("kernel", cli_style));
    check_golden("kernels_kernel_ascii", report("kernel", ascii));
    check_golden("kernels_kernel_colour", report("kernel", colour));
    check_golden("kernels_kernel_narrow", report("kernel", narrow));
    check_golden("kernels_kernel_verbose", report("kernel", verbose));
    check_golden("kernels_kernel_model", report_model("kernel", 2, wide_style));
    check_golden("kernels_kernel_alone", report_model("kernel", 1, cli_style));
}

static void golden_files(void **state)
{
    (void)state;
    check_golden("kernels_kernel-json", report("kernel-json", cli_style));
    check_golden("kernels_kernel-json_cuda", report_model("kernel-json", 2, cli_style));
    check_golden("kernels_kernel-svg-light", report("kernel-svg-light", cli_style));
    check_golden("kernels_kernel-svg-dark", report("kernel-svg-dark", cli_style));
    check_golden("kernels_kernel-svg-light_model", report_model("kernel-svg-light", 2, cli_style));
}

static void no_line_is_wider(void **state)
{
    (void)state;
    for (int width = 60; width <= 160; width += 5) {
        struct assay_report_style style = {.width = width, .verbose = width % 2};
        struct assay_text text = report("kernel", style);
        assert_no_wider(&text, width);
        assay_text_fini(&text);
        style.ascii = true;
        text = report("kernel", style);
        assert_no_wider(&text, width);
        for (size_t i = 0; i < text.length; i++)
            assert_true((unsigned char)text.data[i] < 0x80);
        assay_text_fini(&text);
    }
}

static void assert_has(const struct assay_text *text, const char *part)
{
    if (!strstr(text->data, part))
        fail_msg("\"%s\" is not in:\n%s", part, text->data);
}

static void assert_lacks(const struct assay_text *text, const char *part)
{
    if (strstr(text->data, part))
        fail_msg("\"%s\" is in:\n%s", part, text->data);
}

static void the_table_looks_as_known(void **state)
{
    (void)state;
    struct assay_text text =
        report_model("kernel", 2, (struct assay_report_style){.width = 100, .most = 180});
    /* The known columns in their order, medians behind the means. */
    assert_has(&text,
               "│ Benchmark     │ Workload │   N │ Speedup           │ Mean(ms) │ Median(ms) "
               "│ Std(ms) │ Min(ms) │ Max(ms) │ IQR(ms) │ Outliers │ Ref(ms) │ Ref median │ "
               "Match │\n");
    assert_has(&text,
               "│ SiluWorkloads │ medium   │ 100 │ 2.48x [2.40 2.58] │   1.1813 │     1.1713 "
               "│  0.3976 │  1.0400 │  4.2146 │  0.0698 │        5 │  2.9332 │     2.9332 │ "
               "✓     │\n");
    assert_has(&text, "\n  large: 1.72x faster [1.66 1.79] (95% CI: 6.4302-6.6004ms vs ref "
                      "11.2048ms) ✓ significant\n");

    assert_has(&text, "  GPU      NVIDIA H200 (132 cores)\n");
    assert_has(&text, "\nKernel: 2385e44+  Benchmark: 5b53516\n");
    assay_text_fini(&text);
    text = report_model("kernel", 1, wide_style);
    assert_lacks(&text, "Speedup");
    assert_lacks(&text, "Ref(ms)");
    assay_text_fini(&text);
}

/* A rival's ratio is against the kernel; the kernel's against the rival is its inverse. */
static void rivals_are_turned_round(void **state)
{
    (void)state;
    static const char *const by_time[] = {"native", "onednn", "ref", "openblas"};
    struct group g = rivals();
    struct assay_bouts bouts = {0};
    struct assay_run_info run = cpu_run();
    assay_bouts_begin(&bouts, &run);
    assay_bouts_add(&bouts, g.records, g.n);
    struct assay_bout bout = {0};
    assert_true(assay_bouts_next(&bouts, &bout));
    assert_string_equal(bout.kernel->implementation, "mine");
    const struct assay_record *r = NULL;
    for (int i = 0; i < 4; i++) {
        r = assay_bout_rival(&bouts, &bout, r);
        assert_string_equal(r->implementation, by_time[i]);
    }
    assert_null(assay_bout_rival(&bouts, &bout, r));
    r = assay_bout_reference(&bouts, &bout);
    assert_string_equal(r->implementation, "native");
    struct assay_ratio ratio;
    assert_true(assay_bout_ratio(&bout, r, &ratio));
    assert_near(ratio.ratio, 1 / 1.31, 1e-12);
    assert_near(ratio.ci.lo, 1 / (1.31 * 1.006), 1e-12);
    assert_near(ratio.ci.hi, 1 / (1.31 * 0.994), 1e-12);
    assert_true(ratio.significant);
    assert_false(assay_bouts_next(&bouts, &bout));
    assay_bouts_fini(&bouts);
}

/* Each recipe of the repository's own kernel is one comparison; another kernel of the repository is
 * not a reference. */
static void whose_kernel_it_is(void **state)
{
    (void)state;
    struct group g = rivals();
    snprintf(g.records[0].implementation, 32, "other"); /* of the repository too */
    snprintf(g.records[1].recipe, 32, "int8wo");
    snprintf(g.records[2].recipe, 32, "int8wo");
    snprintf(g.records[2].implementation, 32, "mine");
    struct assay_bouts bouts = {0};
    struct assay_run_info run = cpu_run();
    assay_bouts_begin(&bouts, &run);
    assay_bouts_add(&bouts, g.records, g.n);
    struct assay_bout bout = {0};
    assert_true(assay_bouts_next(&bouts, &bout));
    assert_int_equal(bout.kernel->variant, 2);
    assert_string_equal(assay_bout_benchmark(bout.kernel).text, "layernorm int8wo");
    assert_int_equal(assay_bout_reference(&bouts, &bout)->variant, 1);
    struct assay_ratio ratio; /* neither is the baseline */
    assert_false(assay_bout_ratio(&bout, assay_bout_reference(&bouts, &bout), &ratio));
    assert_true(assay_bouts_next(&bouts, &bout)); /* the baseline, not "other" before it */
    assert_int_equal(bout.kernel->variant, 4);
    assert_null(assay_bout_reference(&bouts, &bout));
    assert_non_null(assay_bout_rival(&bouts, &bout, NULL));
    assert_false(assay_bouts_next(&bouts, &bout));
    assay_bouts_fini(&bouts);
}

static void figures_read_well(void **state)
{
    (void)state;
    assert_int_equal(assay_bout_decimals(6.5 * MS), 4);
    assert_int_equal(assay_bout_decimals(0.0263 * MS), 5);
    assert_int_equal(assay_bout_decimals(5), 8);
    assert_string_equal(assay_bout_ms(1230, 6).text, "0.001230");
    assert_string_equal(assay_bout_ms((double)NAN, 4).text, "-");
    assert_string_equal(assay_bout_short_sha("").text, "-");
    assert_string_equal(assay_bout_short_sha("2385e44aa").text, "2385e44");
    assert_string_equal(assay_bout_short_sha("2385e44aa+").text, "2385e44+");
}

static assay_json *parse_report(const char *format, struct assay_text (*make)(const char *))
{
    struct assay_text text = make(format);
    struct assay_error err = {0};
    assay_json *value = assay_json_parse(text.data, text.length, "report", &err);
    assert_non_null(value);
    assay_text_fini(&text);
    return value;
}

static struct assay_text usual_report(const char *format) { return report(format, cli_style); }

static const assay_json *at(const assay_json *value, const char *path)
{
    char key[64];
    while (value && *path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        value = key[0] >= '0' && key[0] <= '9' ? assay_json_at(value, atoi(key))
                                               : assay_json_get(value, key);
        path += length + (path[length] == '.');
    }
    if (!value)
        fail_msg("no %s", path);
    return value;
}

static double number(const assay_json *value, const char *path)
{
    return assay_json_double(at(value, path), -1);
}

static const char *string(const assay_json *value, const char *path)
{
    return assay_json_string(at(value, path), "?");
}

static void the_json_says_what_is_known(void **state)
{
    (void)state;
    static const char *const nine[] = {"mean_ms", "std_ms", "min_ms",   "max_ms",    "q1_ms",
                                       "q3_ms",   "iqr_ms", "outliers", "iterations"};
    assay_json *j = parse_report("kernel-json", usual_report);
    assert_int_equal(assay_json_count(at(j, "results")), GROUPS);
    assert_string_equal(string(j, "results.4.workload"), "SiluWorkloads.large");
    assert_string_equal(string(j, "results.4.benchmark"), "SiluWorkloads");
    for (int i = 0; i < 9; i++)
        assert_non_null(assay_json_get(at(j, "results.4.timingResults"), nine[i]));
    assert_near(number(j, "results.4.timingResults.mean_ms"), 6.5 * 1.01, 1e-12);
    assert_near(number(j, "results.4.timingResults.median_ms"), 6.5, 1e-12);
    assert_near(number(j, "results.4.refTimingResults.mean_ms"), 11.2 * 1.01, 1e-12);
    assert_near(number(j, "results.4.speedup.ratio"), 11.2 / 6.5, 1e-12);
    assert_true(assay_json_bool(at(j, "results.4.verified"), false));
    assert_near(number(j, "results.4.ceilingPercent"), 460 / 6.5, 1e-9);
    assert_near(number(j, "results.5.cold.speedup.ratio"), 0.76, 1e-12);
    assert_true(isnan(number(j, "results.3.verified")));
    assert_true(isnan(number(j, "results.3.speedup")));
    assert_null(assay_json_get(at(j, "results.3"), "refTimingResults"));
    assert_false(assay_json_bool(at(j, "results.1.verified"), true));
    assert_true(isnan(number(j, "results.1.timingResults")));
    assert_string_equal(string(j, "results.2.outcome"), "crashed");
    assert_true(isnan(number(j, "results.2.verified")));
    assert_string_equal(string(j, "results.7.reference"), "native");
    assert_near(number(j, "results.7.speedup.ratio"), 1 / 1.31, 1e-12);
    assert_int_equal(assay_json_count(at(j, "results.7.rivals")), 4);
    assert_string_equal(string(j, "results.6.outcome"), "mismatch");
    assert_string_equal(string(j, "machineInfo.backend"), "CPU");
    assert_string_equal(string(j, "machineInfo.gpu"), "N/A");
    assert_string_equal(string(j, "machineInfo.gpuCores"), "N/A");
    assert_string_equal(string(j, "machineInfo.pytorchVersion"), "N/A");
    assert_string_equal(string(j, "benchmarkScriptPath"), "benchmarks");
    assert_string_equal(string(j, "benchmarkFiles"), "benchmarks/benchmark_silu.c");
    for (int i = 1; i < GROUPS; i++) { /* by name */
        char before[32], here[32];
        snprintf(before, sizeof before, "results.%d.workload", i - 1);
        snprintf(here, sizeof here, "results.%d.workload", i);
        assert_true(strcmp(string(j, before), string(j, here)) < 0);
    }
    assert_near(number(j, "results.5.timingResults.mean_ms"), 0.001242, 0); /* four digits */
    assert_near(number(j, "results.7.timingResults.mean_ms"), 2.3331, 0);
    assert_int_equal(assay_json_count_keys(at(j, "machineInfo")), 6);
    assert_string_equal(string(j, "kernelCommitSha"), "2385e44aa0110d6cd2b0b9b1f40c9c1d5a7e99f0");
    assay_json_free(j);
}

static struct assay_text cuda_report(const char *format)
{
    return report_model(format, 2, cli_style);
}

static void the_json_knows_the_gpu(void **state)
{
    (void)state;
    assay_json *j = parse_report("kernel-json", cuda_report);
    assert_string_equal(string(j, "machineInfo.gpu"), "NVIDIA H200");
    assert_string_equal(string(j, "machineInfo.backend"), "CUDA");
    assert_string_equal(string(j, "machineInfo.gpuCores"), "132");
    assert_string_equal(string(j, "device"), "cuda:1");
    assert_string_equal(string(j, "kernelCommitSha"), "2385e44aa0110d6cd2b0b9b1f40c9c1d5a7e99f0");
    assert_true(assay_json_bool(at(j, "kernelChanged"), false));
    assay_json_free(j);
}

/* ---- the charts ---------------------------------------------------------------------------- */

static void charts_are_xml(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *format = i ? "kernel-svg-dark" : "kernel-svg-light";
        struct assay_text text = report(format, cli_style);
        assert_true(check_xml(&text) > 50);
        assert_int_equal(count_of(&text, "<svg "), 1);
        assert_has(&text, "viewBox=\"0 0 830 ");
        assert_has(&text, ">1.72x faster<");
        assert_has(&text, ">[1.70 1.75]<");
        assert_has(&text, ">mismatch<");
        assert_has(&text, "url(#stripes-");
        assert_lacks(&text, "href");
        assert_lacks(&text, "script");
        assert_lacks(&text, "=\"nan");
        assay_text_fini(&text);
    }
}

static double channel(const char *hex)
{
    char pair[3] = {hex[0], hex[1], '\0'};
    double c = (double)strtol(pair, NULL, 16) / 255;
    return c <= 0.03928 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

/* As WCAG has it, of "#rrggbb". */
static double luminance(const char *colour)
{
    return 0.2126 * channel(colour + 1) + 0.7152 * channel(colour + 3) +
           0.0722 * channel(colour + 5);
}

static double contrast(const char *a, const char *b)
{
    double la = luminance(a), lb = luminance(b);
    return (fmax(la, lb) + 0.05) / (fmin(la, lb) + 0.05);
}

/* Every text in the image, whatever its colour, and none below 11 pixels. */
static void charts_can_be_read(void **state)
{
    (void)state;
    assert_near(contrast("#000000", "#ffffff"), 21, 1e-9);
    for (int i = 0; i < 2; i++) {
        struct assay_text text = report(i ? "kernel-svg-dark" : "kernel-svg-light", cli_style);
        const char *background = i ? "#0d1117" : "#ffffff";
        assert_has(&text, background);
        int seen = 0;
        for (const char *s = text.data; (s = strstr(s, "<text ")); s++, seen++) {
            const char *fill = strstr(s, "fill=\"") + 6, *size = strstr(s, "font-size=\"") + 11;
            if (contrast(fill, background) < 4.5)
                fail_msg("%.7s on %s: %.2f", fill, background, contrast(fill, background));
            assert_true(atoi(size) >= ASSAY_DRAW_SMALL_SIZE);
        }
        assert_true(seen > 30);
        assay_text_fini(&text);
    }
}

/* Names come from anywhere. */
static void odd_names_stay_text(void **state)
{
    (void)state;
    static const char *const formats[] = {"kernel-svg-light", "kernel-json", "kernel"};
    for (int i = 0; i < 3; i++) {
        struct group g =
            compared(0, "<b>&\"A\"", "x\x01\x1b[31m\xff\xef\xbf\xbf\n\"é漢字", 2 * MS, MS, true);
        struct assay_run_info run = cpu_run();
        struct assay_text text = {0};
        snprintf(run.repository, sizeof run.repository, "a/<script>&amp;'\"</svg>@v1");
        report_groups(formats[i], &cli_style, &run, &g, 1, &text);
        if (i == 0) {
            check_xml(&text);
            assert_has(&text, "&lt;script&gt;&amp;amp;");
            assert_has(&text, "é漢字");
            assert_lacks(&text, "\xef\xbf\xbf");
        } else if (i == 1) {
            struct assay_error err = {0};
            assay_json *j = assay_json_parse(text.data, text.length, "report", &err);
            assert_non_null(j);
            assay_json_free(j);
        } else {
            assert_no_wider(&text, 130);
            assert_lacks(&text, "\x1b");
        }
        assay_text_fini(&text);
    }
}

static void a_long_chart_says_what_is_missing(void **state)
{
    (void)state;
    struct assay_text text = {0};
    struct group *groups = assay_calloc(70, sizeof *groups);
    struct assay_run_info run = cpu_run();
    assert_non_null(groups);
    for (int i = 0; i < 70; i++) {
        char name[32];
        snprintf(name, sizeof name, "w%d", i);
        groups[i] = compared(i, "Many", name, MS, 3 * MS, true);
    }
    report_groups("kernel-svg-light", &cli_style, &run, groups, 70, &text);
    check_xml(&text);
    assert_has(&text, ">10 of 70 rows are left out: the first 60 of 70 groups are shown.<");
    assert_int_equal(count_of(&text, ">3.00x faster<"), ASSAY_CHART_MOST_ROWS);
    assay_text_fini(&text);
    assay_free(groups);
}

static void an_empty_run_is_valid(void **state)
{
    (void)state;
    struct assay_run_info run = {.device = "cpu"};
    for (int64_t f = 0; f < 4; f++) {
        static const char *const formats[] = {"kernel", "kernel-json", "kernel-svg-light",
                                              "kernel-svg-dark"};
        struct assay_text text = {0};
        report_groups(formats[f], &cli_style, &run, NULL, 0, &text);
        if (f == 0)
            assert_has(&text, "Kernel: -  Benchmark: -\n");
        else if (f > 1)
            check_xml(&text);
        else
            assert_has(&text, "\"results\": [],");
        assay_text_fini(&text);
    }
}

static void write_to_text(void *user, const char *bytes, size_t length)
{
    struct assay_text *text = user;
    assay_alloc_fail_after(0); /* what is tested is the format's memory, not the test's */
    assay_text_append(text, bytes, length);
}

static void without_memory_a_chart_is_still_one(void **state)
{
    (void)state;
    struct group groups[GROUPS];
    make_groups(groups);
    struct assay_run_info run = cpu_run();
    for (int64_t nth = 3; nth < 60; nth++) {
        struct assay_text text = {0};
        struct assay_sink sink = {&text, write_to_text, NULL};
        assay_report *report =
            assay_report_create(format_named("kernel-svg-light"), &sink, &cli_style);
        assay_report_begin(report, &run);
        assay_alloc_fail_after(nth);
        for (int i = 0; i < GROUPS; i++)
            assay_report_group(report, groups[i].records, groups[i].n);
        assay_report_end(report);
        assay_alloc_fail_after(0);
        assay_report_destroy(report);
        check_xml(&text);
        assay_text_fini(&text);
    }
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_tables),
        cmocka_unit_test(golden_files),
        cmocka_unit_test(no_line_is_wider),
        cmocka_unit_test(the_table_looks_as_known),
        cmocka_unit_test(rivals_are_turned_round),
        cmocka_unit_test(whose_kernel_it_is),
        cmocka_unit_test(figures_read_well),
        cmocka_unit_test(the_json_says_what_is_known),
        cmocka_unit_test(the_json_knows_the_gpu),
        cmocka_unit_test(charts_are_xml),
        cmocka_unit_test(charts_can_be_read),
        cmocka_unit_test(odd_names_stay_text),
        cmocka_unit_test(a_long_chart_says_what_is_missing),
        cmocka_unit_test(an_empty_run_is_valid),
        cmocka_unit_test(without_memory_a_chart_is_still_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
