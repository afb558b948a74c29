/* test_report.c: every format against its golden file, the table's width against anything, and what
 * the registry promises. ASSAY_UPDATE_GOLDEN=1 rewrites the golden files; look at the diff. */
#include "report_case.h"

#include "report/report_sink.h"

#include "base/alloc.h"
#include "report/report.h"
#include "report/report_cells.h"
#include "report/report_line.h"

#include <dirent.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- records ------------------------------------------------------------------------------ */

/* Faster, baseline, the same, slower, far slower, not possible. Cold, the machine was not at its
 * best for all of them, and one was disturbed. */
static struct group usual_group(void)
{
    struct group g = {.n = 6};
    const char *names[] = {"native",   "onednn", "my_own_layernorm_with_a_name_th",
                           "openblas", "ref",    "triton"};
    for (int i = 0; i < 6; i++)
        g.records[i] = plain_record(0, i, "layernorm", "LayerNorm", names[i]);
    struct assay_record *r = g.records;
    r[0].states[HOT] = fastest(against(around(2.31e6, 0.004), 1.62, 0.012, true));
    r[0].states[COLD] = fastest(against(around(2.71e6, 0.005), 1.414, 0.009, true));
    r[1].is_baseline = true;
    r[1].states[HOT] = around(3.742e6, 0.006);
    r[1].states[COLD] = at_speed(around(3.83e6, 0.0004), 0.91);
    r[2].states[HOT] = against(around(3.75e6, 0.008), 0.998, 0.006, false);
    r[2].states[COLD] =
        at_speed(disturbed(against(around(3.80e6, 0.012), 1.004, 0.001, true), 31, 0, 31), 0.84);
    r[3].states[HOT] = against(around(4.04e6, 0.003), 0.926, 0.005, true);
    r[3].states[COLD] =
        at_speed(disturbed(against(around(4.1e6, 0.003), 0.934, 0.005, true), 20, 12, 30), 0.899);
    r[4].states[HOT] = against(around(163e6, 0.001), 0.02296, 0.002, true);
    r[4].states[COLD] = against(around(162e6, 0.001), 0.02364, 0.002, true);
    r[4].verification.max_abs = 0;
    r[4].verification.max_rel = 0;
    r[4].verification.sqnr_db = (double)INFINITY;
    r[5] = failing(r[5], ASSAY_OUTCOME_UNSUPPORTED, "no CUDA driver");
    return g;
}

/* Everything that can go wrong, with reasons that try to break each format. */
static struct group failing_group(void)
{
    struct group g = {.n = 8};
    static const struct {
        const char *name;
        enum assay_outcome outcome;
        const char *reason;
    } rows[] = {
        {"native", ASSAY_OUTCOME_MISMATCH,
         "12 of 1000 wrong, first at [0,1,7]: got 0, expected 1.5 (within 0.016), greatest error "
         "1.5"},
        {"onednn", ASSAY_OUTCOME_CRASHED, "SIGSEGV in \"gelu_onednn\", at 0x0"},
        {"ref", ASSAY_OUTCOME_TIMEOUT, "no answer in 60 s"},
        {"openblas", ASSAY_OUTCOME_OUT_OF_MEMORY, ""},
        {"mine|yours", ASSAY_OUTCOME_FAILED,
         "said:\n\t\"Größe, 形状 <b>*not*</b> _ok_\"; and then went on, and on, and on, to say so "
         "much more than one line of any table could ever hold without being cut"},
        {"too_good", ASSAY_OUTCOME_IMPOSSIBLE, "moves 120 GB/s where 41 GB/s is the most"},
        {"lucky", ASSAY_OUTCOME_MISTRUSTED, "the check also accepts zeros"},
        {"huge", ASSAY_OUTCOME_SKIPPED, "needs 300 GB, this machine has 64"},
    };
    for (int i = 0; i < 8; i++) {
        g.records[i] = plain_record(1, i, "gelu", "GELU", rows[i].name);
        g.records[i] = failing(g.records[i], rows[i].outcome, rows[i].reason);
        g.records[i].dtype = ASSAY_DTYPE_BF16;
        g.records[i].seed = UINT64_MAX;
    }
    struct assay_record *wrong = &g.records[0];
    wrong->verification = (struct assay_verification){.done = true,
                                                      .compared = 1000,
                                                      .of = 1000,
                                                      .mismatches = 12,
                                                      .max_abs = 1.5,
                                                      .max_rel = 1,
                                                      .rms = 0.1,
                                                      .sqnr_db = 3.5,
                                                      .tolerance_relative = 0.01,
                                                      .tolerance_absolute = 0.001,
                                                      .times = 1};
    g.records[5].states[HOT] = around(1.1e6, 0.001);
    g.records[6].verification.tolerance_relative = (double)NAN;
    return g;
}

/* Compute bound, not precise, disturbed, one state only, no ceiling, checked only, interrupted. */
static struct group odd_group(void)
{
    struct group g = {.n = 5};
    const char *names[] = {"native", "onednn", "openblas", "ref", "checked"};
    for (int i = 0; i < 5; i++) {
        g.records[i] = plain_record(2, i, "linear", "Linear", names[i]);
        g.records[i].interrupted = true;
        g.records[i].n_axes = 2;
        g.records[i].axes[0] = 50000000;
    }
    struct assay_record *r = g.records;
    r[0].states[HOT] = fastest(against(around(850, 0.021), 12.34, 0.03, true));
    r[0].states[HOT].precise = false;
    r[0].states[HOT].flops_per_s = 1.624e12;
    strcpy(r[0].states[HOT].bound, "compute");
    r[1].is_baseline = true;
    r[1].states[HOT] = around(10.5e3, 0.3);
    r[1].states[HOT].near_floor = 60;
    r[1].states[HOT].clock_changes = 2;
    r[1].states[HOT].disturbed = 3;
    strcpy(r[1].states[HOT].bound, "L2");
    r[2].states[COLD] = fastest(around(95.2e9, 12));
    r[2].states[COLD].precise = false;
    r[3].states[HOT] = no_ceiling(against(around(9.9e3, 0), 1.06, 0.001, true));
    r[3].states[HOT] = disturbed(r[3].states[HOT], 1, 101, 102);
    r[3].verification.done = false;
    return g;
}

enum { KERNELS = 3 };

static struct assay_record linear_record(int64_t group, int64_t variant, const char *recipe,
                                         int kernel)
{
    static const char *const implementations[KERNELS] = {"native", "onednn", "ref"};
    static const char *const kernels[KERNELS] = {"linear_amx", "linear_onednn", "linear_ref"};
    struct assay_record r =
        plain_record(group, variant, "linear", "Linear", implementations[kernel]);
    static const char *const axes[] = {"m", "k", "n"};
    for (int i = 0; i < 3; i++) {
        snprintf(r.axis_names[i], sizeof r.axis_names[i], "%s", axes[i]);
        r.axes[i] = 1024;
    }
    r.dtype = ASSAY_DTYPE_BF16;
    snprintf(r.kernel, sizeof r.kernel, "%s", kernels[kernel]);
    snprintf(r.recipe, sizeof r.recipe, "%s", recipe);
    snprintf(r.label, sizeof r.label, "pow2_0");
    r.weight_bytes = 2 << 20;
    r.accuracy_db = 54.25;
    r.prepare_ns = 1.23e6;
    r.verification.exact = true;
    return r;
}

static struct assay_measurement bound_by(struct assay_measurement m, const char *bound)
{
    snprintf(m.bound, sizeof m.bound, "%s", bound);
    m.flops_per_s = 2.147e9 / (m.time.median * 1e-9);
    return m;
}

/* Compute bound: every kind of recipe, one that is not possible, one that is wrong. */
static struct group recipes_group(void)
{
    struct group g = {.n = 8};
    static const char *const recipes[] = {"baseline",        "baseline",       "int8wo",
                                          "int8dq",          "int4wo-128-hqq", "float8dq-tensor",
                                          "gemlitewo-4-256", "baseline"};
    static const int kernels[] = {1, 0, 0, 0, 0, 0, 0, 2};
    for (int i = 0; i < 8; i++)
        g.records[i] = linear_record(3, i, recipes[i], kernels[i]);
    struct assay_record *r = g.records;
    r[0].is_baseline = r[0].pareto = true;
    r[0].states[HOT] = bound_by(around(1.21e6, 0.004), "compute");
    r[0].states[COLD] = bound_by(around(1.35e6, 0.005), "compute");
    snprintf(r[0].note, sizeof r[0].note, "oneDNN 3.5.3, threads from OMP_NUM_THREADS");
    r[1].states[HOT] = bound_by(against(around(1.19e6, 0.004), 1.017, 0.012, false), "compute");
    r[1].states[COLD] = bound_by(against(around(1.37e6, 0.03), 0.985, 0.009, true), "compute");
    r[1].states[COLD].precise = false;
    r[2].states[HOT] = bound_by(against(around(1.585e6, 0.004), 0.763, 0.005, true), "compute");
    r[2].states[COLD] = bound_by(against(around(1.6e6, 0.004), 0.84, 0.005, true), "compute");
    r[2].states[COLD].slow_unit = 12;
    r[2].states[COLD] = at_speed(r[2].states[COLD], 0.31);
    r[2].weight_bytes = (1 << 20) + 4096;
    r[2].accuracy_db = 43.96;
    r[3].states[HOT] =
        bound_by(fastest(against(around(0.68e6, 0.004), 1.779, 0.006, true)), "compute");
    r[3].states[COLD] =
        bound_by(fastest(against(around(0.75e6, 0.004), 1.8, 0.005, true)), "compute");
    r[3].weight_bytes = (1 << 20) + 4096;
    r[3].accuracy_db = 39.5;
    r[3].activation_share = 0.043;
    r[3].pareto = true;
    r[4].states[HOT] = bound_by(against(around(1.7e6, 0.004), 0.711, 0.006, true), "compute");
    r[4].states[COLD] = bound_by(against(around(1.7e6, 0.004), 0.79, 0.005, true), "compute");
    r[4].states[HOT] = disturbed(r[4].states[HOT], 0, 60, 61);
    r[4].weight_bytes = (1 << 19) + 32768;
    r[4].accuracy_db = 21.9;
    r[4].prepare_ns = 1.4e9;
    r[4].pareto = true;
    r[5] = failing(
        r[5], ASSAY_OUTCOME_MISMATCH,
        "3 of 1048576 wrong, first at [0,17]: got 0, expected 1 (within 0.02), greatest error 1.1");
    r[6] = failing(r[6], ASSAY_OUTCOME_UNSUPPORTED, "group 256 does not divide k = 1000");
    r[7].accuracy_db = (double)INFINITY;
    r[7].prepare_ns = 0;
    r[7].states[HOT] = bound_by(against(around(163e6, 0.001), 0.0074, 0.002, true), "compute");
    return g;
}

/* Memory bound, with a mode, one state only, no ceiling known, checked and not timed. */
static struct group decode_group(void)
{
    struct group g = {.n = 4};
    for (int i = 0; i < 4; i++) {
        g.records[i] = linear_record(4, i, i ? "int4wo-32" : "baseline", i == 3 ? 2 : 0);
        g.records[i].axes[0] = 1;
        g.records[i].interrupted = true;
        g.records[i].label[0] = '\0';
        snprintf(g.records[i].mode, sizeof g.records[i].mode, "bias+gelu");
    }
    struct assay_record *r = g.records;
    r[0].is_baseline = true;
    r[0].states[COLD] = bound_by(around(51.2e3, 0.004), "memory");
    r[1].states[COLD] =
        bound_by(fastest(against(around(17.1e3, 0.004), 2.994, 0.006, true)), "memory");
    r[1].weight_bytes = 655360;
    r[1].pareto = true;
    r[2].states[COLD] = no_ceiling(against(around(60e3, 0.004), 0.85, 0.006, true));
    r[2].states[COLD] = bound_by(r[2].states[COLD], "");
    snprintf(r[1].note, sizeof r[1].note, "AMX, 2 tiles of 16 rows");
    snprintf(r[2].note, sizeof r[2].note, "AMX, 2 tiles of 16 rows");
    return g;
}

/* An op with a mode and no recipe has the usual table. */
static struct group quantize_group(void)
{
    struct group g = {.n = 2};
    for (int i = 0; i < 2; i++) {
        g.records[i] = plain_record(5, i, "quantize", "Quantize", i ? "ref" : "native");
        snprintf(g.records[i].mode, sizeof g.records[i].mode, "s8-row");
        g.records[i].n_axes = 2;
    }
    g.records[0].states[HOT] = fastest(against(around(1.2e6, 0.004), 9.1, 0.006, true));
    g.records[1].states[HOT] = around(10.9e6, 0.004);
    g.records[1].is_baseline = true;
    return g;
}

/* ---- running a report --------------------------------------------------------------------- */

static struct assay_text usual_report(const char *format, struct assay_report_style style,
                                      const struct assay_run_info *run)
{
    struct group groups[] = {usual_group(), failing_group(), odd_group()};
    struct assay_text out = {0};
    report_groups(format, &style, run, groups, 3, &out);
    return out;
}

static struct assay_text recipes_report(const char *format, struct assay_report_style style,
                                        const struct assay_run_info *run)
{
    struct group groups[] = {recipes_group(), decode_group(), quantize_group()};
    struct assay_text out = {0};
    report_groups(format, &style, run, groups, 3, &out);
    return out;
}

/* ---- golden files ------------------------------------------------------------------------- */

static void formats_are_as_before(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_report_count(); i++) {
        const char *name = assay_report_at(i)->name;
        if (strcmp(name, "html") != 0) /* test_html.c has what of a page should stay as it is */
            check_golden(name, usual_report(name, usual_style, &a_run));
    }
}

static void table_variants_are_as_before(void **state)
{
    (void)state;
    struct assay_run_info hot = a_run, cold = a_run, unknown = {0};
    hot.cold = cold.hot = false;
    static const struct assay_report_style ascii = {.width = 100, .ascii = true},
                                           colour = {.width = 100, .colour = true},
                                           verbose = {.width = 100, .verbose = true},
                                           narrow = {.width = 80}, wide = {.width = 140};
    check_golden("table_ascii", usual_report("table", ascii, &a_run));
    check_golden("table_colour", usual_report("table", colour, &a_run));
    check_golden("table_verbose", usual_report("table", verbose, &a_run));
    check_golden("table_narrow", usual_report("table", narrow, &a_run));
    check_golden("table_wide", usual_report("table", wide, &a_run));
    check_golden("table_hot", usual_report("table", usual_style, &hot));
    check_golden("table_hot_ascii", usual_report("table", ascii, &hot));
    check_golden("table_cold", usual_report("table", usual_style, &cold));
    check_golden("table_unknown_run", usual_report("table", usual_style, &unknown));
    check_golden("md_ascii", usual_report("md", ascii, &hot));
}

/* ---- the table's width -------------------------------------------------------------------- */

/* One row of every extreme: times from 0.9 ns to 90 s and beyond, ratios, rates, shapes. */
static struct group extreme_group(double extreme, bool slower)
{
    struct group g = {.n = MOST};
    for (int i = 0; i < MOST; i++) {
        struct assay_record *r = &g.records[i];
        *r = plain_record(INT64_MAX, i, "an_op_with_a_very_long_name_ind", "An Op",
                          "形状形状形状形状形状");
        for (int a = 0; a < 3; a++)
            r->axes[a] = 50000000;
        for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
            struct assay_measurement m = around(0.9 * extreme, extreme);
            m = against(m, slower ? 0.1 / extreme : extreme, i % 2 ? 0.5 : extreme, i != 3);
            m.bytes_per_s = 1e6 * extreme;
            m.flops_per_s = 1e6 * extreme;
            m.efficiency = extreme / 1e3;
            m.efficiency_ci = (struct assay_interval){-extreme, extreme};
            m.machine_frac = slower ? extreme : 0.5;
            m.time.n = m.iters = m.context_switches = m.near_floor = INT64_MAX / 4;
            m.disturbed = m.waited = m.stolen = INT64_MAX / 4;
            m.precise = i % 2;
            m.fastest = true;
            snprintf(m.bound, sizeof m.bound, "%s", i < 4 ? "compute" : "fifteen letters");
            r->states[s] = m;
        }
        r->memory_bytes = extreme;
        r->threads = INT32_MAX;
        r->interrupted = true;
        r->verification.max_abs = r->verification.sqnr_db = extreme;
    }
    g.records[7].axes[0] = g.records[7].axes[1] = INT64_MIN;
    return g;
}

/* The same with a recipe, and everything about it as extreme. */
static struct group with_recipes(struct group g, double extreme)
{
    for (int i = 0; i < MOST; i++) {
        struct assay_record *r = &g.records[i];
        memset(r->recipe, 'r', sizeof r->recipe - 1);
        memset(r->mode, 'm', sizeof r->mode - 1);
        memset(r->label, 'l', sizeof r->label - 1);
        memset(r->note, 'n', sizeof r->note - 1);
        memset(r->kernel, 'k', sizeof r->kernel - 1);
        r->weight_bytes = r->prepare_ns = r->accuracy_db = r->activation_share = extreme;
        r->pareto = i % 2;
        if (i == 5)
            r->accuracy_db = -extreme;
    }
    return g;
}

/* The same as a model's: four recipes, each eager and compiled. */
static struct group with_executors(struct group g)
{
    for (int i = 0; i < MOST; i++) {
        struct assay_record *r = &g.records[i];
        snprintf(r->implementation, sizeof r->implementation, i % 2 ? "compiled" : "eager");
        memset(r->op, 'o', sizeof r->op - 1);
        memcpy(r->op, "model:", 6);
        memset(r->entry, 'e', sizeof r->entry - 1);
        memset(r->compile, 'c', sizeof r->compile - 1);
        r->recipe[0] = (char)('0' + i / 2);
        for (int s = 0; i % 2 && s < ASSAY_CACHE_STATES; s++) {
            r->states[s].has_eager_ratio = true;
            r->states[s].eager_ratio = r->states[s].ratio;
        }
    }
    g.records[7] = failing(g.records[7], ASSAY_OUTCOME_CRASHED,
                           "SIGSEGV, and then so much more than one line of any table can hold: it "
                           "goes on and on and on, to the end of the line and behind it");
    return g;
}

static const struct assay_report_style cli_style = {.width = 100, .most = 130};

static void recipes_are_as_before(void **state)
{
    (void)state;
    struct assay_report_style ascii = cli_style, colour = cli_style, verbose = cli_style,
                              narrow = {.width = 80}, least = {.width = 60};
    struct assay_run_info cold = a_run;
    cold.hot = false;
    ascii.ascii = colour.colour = verbose.verbose = true;
    check_golden("recipes_table", recipes_report("table", cli_style, &a_run));
    check_golden("recipes_table_ascii", recipes_report("table", ascii, &a_run));
    check_golden("recipes_table_colour", recipes_report("table", colour, &a_run));
    check_golden("recipes_table_verbose", recipes_report("table", verbose, &a_run));
    check_golden("recipes_table_narrow", recipes_report("table", narrow, &a_run));
    check_golden("recipes_table_least", recipes_report("table", least, &a_run));
    check_golden("recipes_table_cold", recipes_report("table", cli_style, &cold));
    check_golden("recipes_md", recipes_report("md", cli_style, &a_run));
    check_golden("recipes_csv", recipes_report("csv", cli_style, &a_run));
    check_golden("recipes_jsonl", recipes_report("jsonl", cli_style, &a_run));
    check_golden("recipes_comprehensive", recipes_report("comprehensive", cli_style, &a_run));
    check_golden("recipes_torchao", recipes_report("torchao", cli_style, &a_run));
    check_golden("recipes_torchao-csv", recipes_report("torchao-csv", cli_style, &a_run));
    check_golden("recipes_pytorch", recipes_report("pytorch", cli_style, &a_run));
    check_golden("recipes_github", recipes_report("github", cli_style, &a_run));
}

/* A group that was skipped as a whole goes on in the table of the groups before it. */
static void a_skipped_group_follows_the_others(void **state)
{
    (void)state;
    struct group groups[] = {recipes_group(), {.n = 1}};
    groups[1].records[0] =
        failing(linear_record(4, 0, "", 0), ASSAY_OUTCOME_SKIPPED, "needs 300 GB of memory");
    groups[1].records[0].kernel[0] = groups[1].records[0].implementation[0] = '\0';
    struct assay_text out = {0};
    report_groups("table", &cli_style, &a_run, groups, 2, &out);
    assert_non_null(strstr(out.data, "skipped: needs 300 GB of memory"));
    assert_null(strstr(out.data, "hot ─"));
    assay_text_fini(&out);
}

static void no_line_is_wider_than_asked(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    static const int widths[] = {60, 80, 100, 137};
    static const double extremes[] = {1e-300, 1e-3, 1, 9999, 99999, 1e8, 1e11, 1e300, (double)NAN};
    struct group usual[] = {usual_group(),   failing_group(), odd_group(),
                            recipes_group(), decode_group(),  quantize_group()};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
        for (int bits = 0; bits < 16; bits++) {
            struct assay_report_style style = {
                .colour = bits & 1, .ascii = !(bits & 1), .verbose = bits & 2, .width = widths[w]};
            struct assay_run_info run = a_run;
            run.hot = !(bits & 4);
            run.cold = !(bits & 8);
            memset(run.device_name, 'W', sizeof run.device_name - 1);
            struct assay_text out = {0};
            report_groups("table", &style, &run, usual, 6, &out);
            report_groups("torchao", &style, &run, usual, 6, &out);
            report_groups("detail", &style, &run, usual, 6, &out);
            for (size_t e = 0; e < sizeof extremes / sizeof extremes[0]; e++) {
                struct group groups[] = {
                    extreme_group(extremes[e], false), extreme_group(extremes[e], true),
                    with_recipes(extreme_group(extremes[e], false), extremes[e]),
                    with_recipes(extreme_group(extremes[e], true), extremes[e])};
                report_groups("table", &style, &run, groups, 4, &out);
                report_groups("torchao", &style, &run, groups, 4, &out);
                report_groups("detail", &style, &run, groups, 4, &out);
                for (int g = 2; g < 4; g++)
                    groups[g] = with_executors(groups[g]);
                report_groups("torchao", &style, &run, groups + 2, 2, &out);
            }
            assert_no_wider(&out, widths[w]);
            assay_text_fini(&out);
        }
    setlocale(LC_CTYPE, "C");
}

static void ascii_has_nothing_but_ascii(void **state)
{
    (void)state;
    static const char *const names[] = {"table", "md", "torchao", "github"};
    for (int i = 0; i < 4; i++) {
        struct assay_report_style style = {.ascii = true, .verbose = true, .width = 100};
        struct assay_text out = usual_report(names[i], style, &a_run);
        struct assay_text more = recipes_report(names[i], style, &a_run);
        assay_text_append(&out, more.data, more.length);
        for (size_t b = 0; b < out.length; b++)
            assert_true(out.data[b] == '\n' || (out.data[b] >= ' ' && out.data[b] < 0x7f));
        assay_text_fini(&out);
        assay_text_fini(&more);
    }
}

static void headings_come_again_on_a_long_run(void **state)
{
    (void)state;
    struct group groups[30];
    for (int i = 0; i < 30; i++)
        groups[i] = usual_group();
    struct assay_text out = {0};
    report_groups("table", &usual_style, &a_run, groups, 30, &out);
    int headings = 0;
    for (const char *at = out.data; (at = strstr(at, "hot ─")); at++)
        headings++;
    assert_in_range(headings, 6, 8); /* 30 groups of 10 lines, every 40 lines */
    assay_text_fini(&out);
}

/* ---- cells -------------------------------------------------------------------------------- */

static void assert_speedup(double ratio, double frac, bool significant, int room, bool ascii,
                           const char *want)
{
    struct assay_record r = plain_record(0, 0, "gelu", "GELU", "native");
    struct assay_measurement m = against(around(1e6, 0.01), ratio, frac, significant);
    assert_string_equal(assay_cell_speedup(&r, &m, room, ascii).text, want);
}

static void speedups_read_well(void **state)
{
    (void)state;
    assert_speedup(1.62, 0.0123, true, 24, false, "1.62x [1.60 1.64]");
    assert_speedup(1.62, 0.0001, true, 24, false, "1.62x [1.61 1.63]"); /* outwards */
    assert_speedup(1.62, 0, true, 24, false, "1.62x [1.62 1.62]");
    assert_speedup(12.34, 0.03, true, 24, false, "12.3x [11.9 12.8]");
    assert_speedup(123.4, 0.03, true, 24, false, "123x [119 128]");
    assert_speedup(9999, 0.03, true, 24, false, "9999x [9699 10299]");
    assert_speedup(1.004, 0.001, true, 24, false, "1.004x [1.002 1.006]");
    assert_speedup(1.62, 0.0123, true, 17, true, "1.62x [1.60 1.64]");
    assert_speedup(1.62, 0.0123, true, 16, false, "1.62x"); /* it does not fit */
    assert_speedup(0.926, 0.005, true, 24, false, "1.08x slower [1.07 1.09]");
    assert_speedup(0.926, 0.005, true, 23, false, "1.08x slower");
    assert_speedup(0.001, 0.005, true, 24, false, "1000x slower [995 1006]");
    assert_speedup(0.998, 0.005, true, 12, false, "1.002x slower");
    assert_speedup(1.5, 0.5, false, 24, false, "unclear (n=120)");
    assert_speedup(1.5, 0.5, false, 14, false, "unclear");
    assert_speedup(1.01, 0.02, false, 13, false, "same");
    assert_speedup(1.001, 0.005, false, 24, false, "same within 0.7%");
    assert_speedup(0, 0, true, 24, false, "-");
    assert_speedup((double)NAN, 0, true, 24, false, "-");
}

static void assert_ratio(double ratio, double lo, double hi, const char *want)
{
    struct assay_ratio r = {
        .n = 120, .ratio = ratio, .ci = {lo, hi}, .significant = true, .smallest_visible = 0.1};
    assert_string_equal(assay_cell_interval(&r, 30, false).text, want);
}

/* Half of a lopsided interval says nothing: "2.56x +-1034.47". */
static void lopsided_intervals_read_well(void **state)
{
    (void)state;
    assert_ratio(2.56, 1.7, 2034.1, "2.56x [1.70 2035]");
    assert_ratio(1.78, 1.65, 12.53, "1.78x [1.65 12.6]");
    assert_ratio(0.009, 0.0005, 0.8, "111x slower [1 2000]");
    assert_ratio(0.0625, 0.05, 0.5, "16.0x slower [2.0 20.0]");
    assert_ratio(2.56, 1.7, 2e6, "2.56x [1.70 >99999]");
    assert_ratio(2.56, 1.7, (double)INFINITY, "2.56x [1.70 >99999]");
    assert_ratio(0.5, 0, 0.8, "2.00x slower [1.25 >99999]");
    assert_ratio(0.5, 0.1, (double)NAN, "2.00x slower"); /* not known */
}

/* Too few rounds to claim anything. */
static void few_rounds_are_unclear(void **state)
{
    (void)state;
    struct assay_ratio r = {.n = 8,
                            .ratio = 0.0418,
                            .ci = {0.03, 0.05},
                            .ci_frac = 0.2,
                            .smallest_visible = (double)INFINITY};
    assert_string_equal(assay_cell_interval(&r, 24, false).text, "unclear (n=8)");
    struct assay_measurement m = around(1e6, 0.01);
    assert_string_equal(assay_cell_spread(&m).text, "1.0%");
    m.time.n = ASSAY_STATS_FEWEST_SAMPLES - 1; /* no 95 % interval */
    assert_string_equal(assay_cell_spread(&m).text, "-");
    m.time.n = 1;
    m.time.median_ci_frac = 0;
    assert_string_equal(assay_cell_spread(&m).text, "-");
}

/* Of several kernels of one implementation the kernel's name says which. */
static void rows_of_one_implementation_have_names(void **state)
{
    (void)state;
    struct assay_record r[4];
    static const char *const names[4][3] = {{"native", "gelu_avx2", ""},
                                            {"native", "gelu_avx512", ""},
                                            {"ref", "gelu_ref", ""},
                                            {"native", "gelu_avx2", "int8wo"}};
    for (int i = 0; i < 4; i++) {
        r[i] = plain_record(0, i, "gelu", "GELU", names[i][0]);
        snprintf(r[i].kernel, sizeof r[i].kernel, "%s", names[i][1]);
        snprintf(r[i].recipe, sizeof r[i].recipe, "%s", names[i][2]);
    }
    assert_string_equal(assay_cell_variant(&r[0], r, 4), "gelu_avx2");
    assert_string_equal(assay_cell_variant(&r[1], r, 4), "gelu_avx512");
    assert_string_equal(assay_cell_variant(&r[2], r, 4), "ref");
    assert_string_equal(assay_cell_variant(&r[3], r, 4), "native"); /* its recipe tells */
    r[1].kernel[0] = '\0';                                          /* not known */
    assert_string_equal(assay_cell_variant(&r[0], r, 4), "native");
    assert_string_equal(assay_cell_variant(&r[1], r, 4), "native");
}

/* Three kernels of one implementation and one of another, with long names; `recipe` may be "". */
static struct group kernels_group(const char *recipe)
{
    static const char *const kernels[] = {
        "gelu_avx2", "gelu_avx512", "gelu_with_a_name_longer_than_any_column_has", "gelu_ref"};
    struct group g = {.n = 4};
    for (int i = 0; i < 4; i++) {
        g.records[i] = plain_record(0, i, "gelu", "GELU", i == 3 ? "ref" : "native");
        struct assay_record *r = &g.records[i];
        snprintf(r->kernel, sizeof r->kernel, "%s", kernels[i]);
        snprintf(r->recipe, sizeof r->recipe, "%s", recipe);
        r->is_baseline = i == 3;
        for (int c = 0; c < ASSAY_CACHE_STATES; c++)
            r->states[c] = i == 3 ? around(2e6, 0.01) : against(around(1e6, 0.01), 2, 0.1, true);
    }
    return g;
}

/* `--kernel all`: at any width each row says which kernel it is. */
static void several_kernels_have_names(void **state)
{
    (void)state;
    static const char *const formats[] = {"table",  "md",      "torchao",
                                          "github", "kobench", "kernel-svg-light"};
    for (int i = 0; i < 6; i++)
        for (int width = 60; width <= 140; width += 20)
            for (int recipes = 0; recipes < 2; recipes++) {
                struct group g = kernels_group(recipes ? "int8wo" : "");
                struct assay_report_style style = {.width = width};
                struct assay_text out = {0};
                report_groups(formats[i], &style, &a_run, &g, 1, &out);
                bool md = i == 1 || i == 3;
                bool cut = i == 2 && width < 100; /* the name is in a column of its own */
                const char *const names[] = {
                    md ? "gelu\\_avx2" : "gelu_avx2", md ? "gelu\\_avx512" : "gelu_avx512",
                    cut  ? "gelu_with"
                    : md ? "gelu\\_with\\_a\\_name\\_longer\\_than\\_any\\_column\\_has"
                         : g.records[2].kernel};
                for (int k = 0; k < 3; k++)
                    if (!strstr(out.data, names[k]))
                        fail_msg("%s, %d columns: no %s in\n%s", formats[i], width, names[k],
                                 out.data);
                assay_text_fini(&out);
            }
}

/* A chart of `assay bench` speaks of variants and their baseline, not of "this kernel". */
static void charts_of_variants_have_their_own_words(void **state)
{
    (void)state;
    struct assay_text usual = usual_report("kernel-svg-light", usual_style, &a_run);
    struct assay_text recipes = recipes_report("kernel-svg-light", usual_style, &a_run);
    const struct assay_text *const both[] = {&usual, &recipes};
    for (int i = 0; i < 2; i++) {
        assert_null(strstr(both[i]->data, "this kernel"));
        assert_null(strstr(both[i]->data, "assay kernel"));
        assert_null(strstr(both[i]->data, "kernel faster"));
        assert_non_null(strstr(both[i]->data, ">baseline<"));
        assert_non_null(strstr(both[i]->data, "the baseline&#39;s time over a variant&#39;s"));
    }
    assert_non_null(strstr(usual.data, ">assay bench: speedup<"));
    assert_non_null(strstr(recipes.data, ">assay bench: speedup<"));
    assert_non_null(strstr(usual.data, ">1.62x faster<"));
    assert_non_null(strstr(usual.data, ">1.08x slower<"));
    assert_non_null(strstr(usual.data, ">[1.07 1.09]<"));
    assert_non_null(strstr(usual.data, "layernorm f32 32x512x768 (hot), baseline onednn 3.74 ms"));
    assert_non_null(strstr(usual.data, "layernorm f32 32x512x768 (cold), baseline onednn 3.83 ms"));
    assert_non_null(strstr(recipes.data, ">int8wo native<"));
    assert_non_null(strstr(recipes.data, ">int4wo-128-hqq native<"));
    assay_text_fini(&usual);
    assay_text_fini(&recipes);
}

static void recipes_cells_read_well(void **state)
{
    (void)state;
    assert_string_equal(assay_cell_level(31.46).text, "31.5");
    assert_string_equal(assay_cell_level(-3).text, "-3.0");
    assert_string_equal(assay_cell_level((double)INFINITY).text, "exact");
    assert_string_equal(assay_cell_level((double)NAN).text, "-");
    assert_string_equal(assay_cell_share(0.043).text, "4%");
    assert_string_equal(assay_cell_share(0.001).text, "<1%");
    assert_string_equal(assay_cell_share(0).text, "0%");
    assert_string_equal(assay_cell_share((double)NAN).text, "-");
    assert_string_equal(assay_cell_megabytes(33554432).text, "33.6");
    assert_string_equal(assay_cell_megabytes(0).text, "-");
    struct assay_record r = linear_record(0, 0, "int8wo", 0);
    struct assay_measurement m = bound_by(around(1e6, 0.01), "compute");
    assert_string_equal(assay_cell_axes(&r).text, "m=1024 k=1024 n=1024");
    assert_string_equal(assay_cell_weight_rate(&r, &m).text, "2.15 TF/s");
    m = bound_by(m, "L2");
    assert_string_equal(assay_cell_weight_rate(&r, &m).text, "2.10 GB/s");
    m = bound_by(m, ""); /* no ceiling known: FLOP/s need none */
    assert_string_equal(assay_cell_weight_rate(&r, &m).text, "2.15 TF/s");
    m.slow_unit = 7;
    assert_true(assay_cell_disturbed(&m));
}

static void columns_are_counted_as_terminals_do(void **state)
{
    (void)state;
    assert_int_equal(assay_line_columns_of("a±b", false), 3);
    assert_int_equal(assay_line_columns_of("a±b", true), 5);
    assert_int_equal(assay_line_columns_of("形状", false), 4);
    assert_int_equal(assay_line_columns_of("e\xcc\x81", false), 1);    /* combining accent */
    assert_int_equal(assay_line_columns_of("\xff\xc3", false), 2);     /* not UTF-8: ?? */
    assert_int_equal(assay_line_columns_of("\xe2\x82", false), 2);     /* cut short */
    assert_int_equal(assay_line_columns_of("\xed\xa0\x80", false), 3); /* a surrogate */
    assert_int_equal(assay_line_columns_of("\xf4\x90\x80\x80", false), 4);
    assert_int_equal(assay_line_columns_of("a\nb\033c", false), 5);
}

static void long_text_is_cut(void **state)
{
    (void)state;
    struct assay_line line;
    assay_line_init(&line, &usual_style);
    assay_line_put(&line, "形状形状", 6, ASSAY_INK_PLAIN);
    assert_int_equal(line.columns, 5); /* two wide ones and the ellipsis; a third does not fit */
    assert_memory_equal(line.bytes, "形状…", line.length);
    assay_line_init(&line, &(struct assay_report_style){.ascii = true});
    assay_line_put(&line, "abcdefgh", 6, ASSAY_INK_PLAIN);
    assert_memory_equal(line.bytes, "abc...", line.length);
}

/* ---- formats that programs read ----------------------------------------------------------- */

static void json_reads_back(void **state)
{
    (void)state;
    struct assay_text text = usual_report("json", usual_style, &a_run);
    struct assay_error err = {0};
    assay_json *json = assay_json_parse(text.data, text.length, "report.json", &err);
    assert_non_null(json);
    const assay_json *records = assay_json_get(json, "records");
    assert_int_equal(assay_json_count(records), 19);
    for (int64_t i = 0; i < 19; i++) {
        struct assay_record record;
        assert_int_equal(assay_record_from_json(assay_json_at(records, i), &record, &err),
                         ASSAY_OK);
    }
    struct assay_run_info run;
    assay_run_info_from_json(assay_json_get(json, "run"), &run);
    assert_memory_equal(&run, &a_run, sizeof run);
    assay_json_free(json);
    assay_text_fini(&text);
}

static void every_jsonl_line_is_json(void **state)
{
    (void)state;
    struct assay_text text = usual_report("jsonl", usual_style, &a_run);
    int lines = 0;
    for (const char *line = text.data; *line; lines++) {
        size_t length = strcspn(line, "\n");
        assay_json *json = assay_json_parse(line, length, "report.jsonl", NULL);
        assert_non_null(json);
        assert_int_equal(assay_json_is_object(assay_json_get(json, "run")), lines == 0);
        assay_json_free(json);
        line += length + 1;
    }
    assert_int_equal(lines, 20);
    assay_text_fini(&text);
}

static void comprehensive_has_the_right_ones_only(void **state)
{
    (void)state;
    struct assay_text text = usual_report("comprehensive", usual_style, &a_run);
    assay_json *json = assay_json_parse(text.data, text.length, "report.json", NULL);
    assert_int_equal(assay_json_count(json), 9); /* of 19: the right ones that were timed */
    const assay_json *first = assay_json_at(json, 0);
    assert_string_equal(assay_json_string(assay_json_get(first, "operation"), ""), "LayerNorm");
    assert_near(assay_json_double(assay_json_get(first, "time_ms"), 0), 2.31, 1e-12);
    assert_near(assay_json_double(assay_json_get(first, "inference_speed"), 0), 1000 / 2.31, 1e-9);
    assay_json_free(json);
    assay_text_fini(&text);
    text = recipes_report("comprehensive", usual_style, &a_run);
    assert_non_null(strstr(text.data, "\"native/int8wo\""));
    assay_text_fini(&text);
}

static void an_empty_report_is_valid(void **state)
{
    (void)state;
    static const char *const names[] = {"json", "comprehensive", "pytorch"};
    for (int64_t i = 0; i < assay_report_count(); i++) {
        struct assay_text text = {0};
        report_groups(assay_report_at(i)->name, &usual_style, &a_run, NULL, 0, &text);
        assay_text_fini(&text);
    }
    for (int i = 0; i < 3; i++) {
        struct assay_text text = {0};
        report_groups(names[i], &usual_style, &a_run, NULL, 0, &text);
        assay_json *json = assay_json_parse(text.data, text.length, names[i], NULL);
        assert_non_null(json);
        assay_json_free(json);
        assay_text_fini(&text);
    }
}

static void csv_rows_have_all_columns(void **state)
{
    (void)state;
    struct assay_text text = usual_report("csv", usual_style, &a_run);
    const char *at = text.data;
    int columns = csv_fields(&at), rows = 0;
    for (; *at; rows++)
        assert_int_equal(csv_fields(&at), columns);
    assert_int_equal(rows, 5 * 2 + 1 + 8 + 5); /* two states, then one row each */
    assay_text_fini(&text);
    text = recipes_report("csv", usual_style, &a_run);
    for (at = text.data; *at;)
        assert_int_equal(csv_fields(&at), columns);
    assert_non_null(strstr(text.data, ",inf,"));
    assay_text_fini(&text);
}

/* A spreadsheet computes what begins like a formula; a number stays a number. */
static void csv_texts_are_no_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *text, *field;
    } cells[] = {
        {"=1+1", "'=1+1"},
        {"+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"},
        {"-2+3", "'-2+3"},
        {"@SUM(A1)", "'@SUM(A1)"},
        {"\t=1", "'\t=1"},
        {"\r=1", "'\\x0d=1"},
        {"=1,2", "\"'=1,2\""},
        {"＝1", "'＝1"},
        {"-1.5", "-1.5"},
        {"-1e-9", "-1e-9"},
        {"+3", "+3"},
        {"-", "-"},
        {"a=b", "a=b"},
        {"", ""},
        {"a\033[2Jb", "a\\x1b[2Jb"},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct assay_text text = {0};
        const struct assay_sink sink = {&text, write_text, NULL};
        assay_sink_csv(&sink, cells[i].text);
        assert_string_equal(text.data ? text.data : "", cells[i].field);
        assay_text_fini(&text);
    }
    struct assay_text text = {0};
    const struct assay_sink sink = {&text, write_text, NULL};
    assay_sink_csv_real(&sink, -1.5);
    assert_string_equal(text.data, "-1.5");
    assay_text_fini(&text);
}

/* ---- registry ----------------------------------------------------------------------------- */

static void names_are_unique_and_found(void **state)
{
    (void)state;
    for (int64_t i = 0; i < assay_report_count(); i++) {
        const struct assay_report_format *format = assay_report_at(i), *found = NULL;
        assert_int_equal(assay_report_find(format->name, &found, NULL), ASSAY_OK);
        assert_ptr_equal(found, format);
        assert_true(format->begin && format->group && format->end && format->summary[0]);
        for (int64_t j = 0; j < i; j++) {
            const char *mine = format->extension, *other = assay_report_at(j)->extension;
            assert_false(mine && other && assay_text_same(mine, other));
        }
    }
}

static void an_unknown_name_is_told_the_nearest(void **state)
{
    (void)state;
    const struct assay_report_format *found = NULL;
    struct assay_error err = {0}, other = {0};
    assert_int_equal(assay_report_find("jsno", &found, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean \"json\"?"));
    assert_int_equal(assay_report_find("hypertext", &found, &other), ASSAY_ERR_INVALID);
    assert_null(found);
}

static void files_choose_their_format(void **state)
{
    (void)state;
    assert_ptr_equal(assay_report_for_file("out/run.json"), format_named("json"));
    assert_ptr_equal(assay_report_for_file("a.b/RUN.CSV"), format_named("csv"));
    assert_ptr_equal(assay_report_for_file("notes.md"), format_named("md"));
    assert_ptr_equal(assay_report_for_file("run.txt"), format_named("table"));
    assert_ptr_equal(assay_report_for_file("run.svg"), format_named("svg"));
    assert_null(assay_report_for_file("run"));
    assert_null(assay_report_for_file("run.d/file"));
    assert_null(assay_report_for_file("run."));
    assert_null(assay_report_for_file("run.parquet"));
}

/* A file may define several formats, each with its name before it: kernel-svg-light of kernel-svg.
 */
static bool some_format_begins_with(const char *name)
{
    size_t length = strlen(name);
    for (int64_t i = 0; i < assay_report_count(); i++) {
        const char *format = assay_report_at(i)->name;
        if (strncmp(format, name, length) == 0 && (!format[length] || format[length] == '-'))
            return true;
    }
    return false;
}

/* STYLE 3.7: a file without a line in the list is a mistake. */
static void every_format_file_is_listed(void **state)
{
    (void)state;
    DIR *folder = opendir(ASSAY_SOURCE_DIR "/src/report/format");
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char name[64];
        size_t length = strlen(entry->d_name);
        if (length < 3 || length >= sizeof name || strcmp(entry->d_name + length - 2, ".c") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length - 2, entry->d_name);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        if (!some_format_begins_with(name))
            fail_msg("%s defines no format of report_list.h", entry->d_name);
    }
    closedir(folder);
}

static void write_nowhere(void *user, const char *bytes, size_t length)
{
    *(size_t *)user += bytes ? length : 0;
}

static void running_out_of_memory_does_not_crash(void **state)
{
    (void)state;
    struct group group = usual_group();
    size_t written = 0;
    struct assay_sink sink = {&written, write_nowhere, NULL};
    for (int64_t f = 0; f < assay_report_count(); f++)
        for (int64_t nth = 1; nth < 40; nth++) {
            assay_alloc_fail_after(nth);
            assay_report *report = assay_report_create(assay_report_at(f), &sink, &usual_style);
            if (report) {
                assay_report_begin(report, &a_run);
                assay_report_group(report, group.records, group.n);
                assay_report_end(report);
            }
            assay_report_destroy(report);
        }
    assay_alloc_fail_after(0);
    assert_true(written > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_as_before),
        cmocka_unit_test(table_variants_are_as_before),
        cmocka_unit_test(recipes_are_as_before),
        cmocka_unit_test(a_skipped_group_follows_the_others),
        cmocka_unit_test(no_line_is_wider_than_asked),
        cmocka_unit_test(ascii_has_nothing_but_ascii),
        cmocka_unit_test(headings_come_again_on_a_long_run),
        cmocka_unit_test(speedups_read_well),
        cmocka_unit_test(lopsided_intervals_read_well),
        cmocka_unit_test(few_rounds_are_unclear),
        cmocka_unit_test(rows_of_one_implementation_have_names),
        cmocka_unit_test(several_kernels_have_names),
        cmocka_unit_test(charts_of_variants_have_their_own_words),
        cmocka_unit_test(recipes_cells_read_well),
        cmocka_unit_test(columns_are_counted_as_terminals_do),
        cmocka_unit_test(long_text_is_cut),
        cmocka_unit_test(json_reads_back),
        cmocka_unit_test(every_jsonl_line_is_json),
        cmocka_unit_test(comprehensive_has_the_right_ones_only),
        cmocka_unit_test(an_empty_report_is_valid),
        cmocka_unit_test(csv_rows_have_all_columns),
        cmocka_unit_test(csv_texts_are_no_formulas),
        cmocka_unit_test(names_are_unique_and_found),
        cmocka_unit_test(an_unknown_name_is_told_the_nearest),
        cmocka_unit_test(files_choose_their_format),
        cmocka_unit_test(every_format_file_is_listed),
        cmocka_unit_test(running_out_of_memory_does_not_crash),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
