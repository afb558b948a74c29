/* test_report_models.c: the formats of `assay run` and `assay ci` on groups of models: golden
 * files, what scripts rely on, and the records of the PyTorch database against their schema. */
#include "json_schema.h"
#include "report_case.h"

#include "base/alloc.h"
#include "report/report_cells.h"
#include "report/report_pairs.h"

#include <inttypes.h>
#include <locale.h>

/* ---- records ------------------------------------------------------------------------------- */

static struct assay_record model_record(int64_t group, int64_t variant, const char *executor,
                                        const char *recipe)
{
    struct assay_record r =
        plain_record(group, variant, "model:ln_linear_gelu", "LayerNorm, linear, GELU", executor);
    static const char *const axes[] = {"m", "k", "n"};
    for (int i = 0; i < 3; i++) {
        snprintf(r.axis_names[i], sizeof r.axis_names[i], "%s", axes[i]);
        r.axes[i] = 1024 << i;
    }
    r.dtype = ASSAY_DTYPE_BF16;
    snprintf(r.kernel, sizeof r.kernel, "model_%s", executor);
    snprintf(r.baseline, sizeof r.baseline, "%s", executor);
    snprintf(r.recipe, sizeof r.recipe, "%s", recipe);
    snprintf(r.label, sizeof r.label, "llama_attn.wqkv");
    snprintf(r.entry, sizeof r.entry, "small_models");
    snprintf(r.compile, sizeof r.compile, "max-autotune");
    r.weight_bytes = 8 << 20;
    r.accuracy_db = 54.25;
    r.prepare_ns = 1.23e6;
    return r;
}

static struct assay_measurement versus_eager(struct assay_measurement m, double ratio, double frac,
                                             bool significant)
{
    struct assay_measurement other = against(m, ratio, frac, significant);
    m.has_eager_ratio = true;
    m.eager_ratio = other.ratio;
    return m;
}

/* Eager and compiled; one recipe cannot, one crashes compiled, one is not clearly faster. */
static struct group model_group(void)
{
    static const char *const recipes[] = {"baseline", "int8wo", "int8dq", "int4wo-128-hqq"};
    struct group g = {.n = 8};
    for (int i = 0; i < 8; i++)
        g.records[i] = model_record(0, i, i % 2 ? "compiled" : "eager", recipes[i / 2]);
    struct assay_record *r = g.records;
    r[0].is_baseline = true;
    r[0].states[HOT] = around(1.234e6, 0.004);
    r[0].states[COLD] = at_speed(around(1.9e6, 0.004), 0.66);
    r[1].states[HOT] = versus_eager(around(0.95e6, 0.004), 1.3, 0.012, true);
    r[1].pareto = true;
    r[2].states[HOT] = disturbed(against(around(1.6e6, 0.004), 0.771, 0.005, true), 2, 48, 50);
    r[3].states[HOT] =
        versus_eager(against(around(0.94e6, 0.004), 1.011, 0.006, false), 1.702, 0.008, true);
    r[2].weight_bytes = r[3].weight_bytes = (4 << 20) + 4096;
    r[2].accuracy_db = r[3].accuracy_db = 43.96;
    r[3].pareto = true;
    r[4].states[HOT] = against(around(0.7e6, 0.004), 1.763, 0.01, true);
    r[4].weight_bytes = (4 << 20) + 4096;
    r[4].accuracy_db = 39.5;
    r[4].states[HOT].fastest = r[4].pareto = true;
    r[4].states[HOT].precise = false;
    r[5] = failing(r[5], ASSAY_OUTCOME_CRASHED, "SIGSEGV in \"model_compiled\", at 0x0 | or so");
    r[6] = failing(r[6], ASSAY_OUTCOME_UNSUPPORTED, "group 128 does not divide k = 1000");
    r[7] = failing(r[7], ASSAY_OUTCOME_UNSUPPORTED, "group 128 does not divide k = 1000");
    return g;
}

/* Eager only, in the cold state only, on a GPU, with names that try to break each format. */
static struct group eager_group(void)
{
    static const char *const recipes[] = {"baseline", "float8dq-row", "float8wo"};
    struct group g = {.n = 3};
    for (int i = 0; i < 3; i++) {
        struct assay_record *r = &g.records[i];
        *r = model_record(1, i, "eager", recipes[i]);
        snprintf(r->op, sizeof r->op, "model:transformer_block");
        snprintf(r->entry, sizeof r->entry, "größe, \"形状\" | <b>*x*</b>");
        snprintf(r->label, sizeof r->label, "my,\"shape\"|ü");
        snprintf(r->compile, sizeof r->compile, "false");
        snprintf(r->device, sizeof r->device, "cuda:0");
        r->threads = 0;
    }
    struct assay_record *r = g.records;
    r[0].is_baseline = true;
    r[0].states[COLD] = around(53e3, 0.004);
    r[0].accuracy_db = (double)INFINITY;
    r[1].states[COLD] = fastest(against(around(26.3e3, 0.004), 2.015, 0.006, true));
    r[1].pareto = r[1].interrupted = r[0].interrupted = r[2].interrupted = true;
    r[2] = failing(r[2], ASSAY_OUTCOME_MISMATCH, "3 of 1048576 wrong, first at [0,17]: got 0");
    return g;
}

/* The whole group was not measured. */
static struct group skipped_group(void)
{
    struct group g = {.n = 1};
    g.records[0] = failing(model_record(2, 0, "", ""), ASSAY_OUTCOME_SKIPPED, "needs 300 GB");
    g.records[0].kernel[0] = '\0';
    return g;
}

/* The first group once more, a little slower. */
static struct group repeated_group(int64_t group, double factor)
{
    struct group g = model_group();
    for (int i = 0; i < 8; i++) {
        g.records[i].group = group;
        for (int s = 0; s < ASSAY_CACHE_STATES; s++)
            g.records[i].states[s].time.median *= factor;
        struct assay_ratio *ratio = &g.records[i].states[HOT].ratio;
        ratio->ratio *= factor;
        ratio->ci = (struct assay_interval){ratio->ci.lo * factor, ratio->ci.hi * factor};
    }
    return g;
}

static const struct assay_run_info gpu_run = {
    .id = "20261115-034711-a1b2",
    .version = "0.1.0",
    .started = "2026-11-15T03:47:11Z",
    .host_os = "Linux 6.1",
    .device = "cuda:0",
    .device_name = "NVIDIA H200",
    .isa = "avx2 avx512f",
    .threads = 16,
    .hot = true,
    .cold = true,
    .cpu_name = "Intel(R) Xeon(R) Processor",
    .gpu_name = "NVIDIA H200",
    .gpu_count = 2,
    .gpu_memory_bytes = 150.7e9,
};

static const struct assay_report_style cli_style = {.width = 100, .most = 130};

static struct assay_text models_report(const char *format, struct assay_report_style style)
{
    struct group groups[] = {model_group(), eager_group(), skipped_group(),
                             repeated_group(3, 1.25)};
    struct assay_text out = {0};
    report_groups(format, &style, &gpu_run, groups, 4, &out);
    return out;
}

/* ---- golden files -------------------------------------------------------------------------- */

static void models_are_as_before(void **state)
{
    (void)state;
    static const char *const formats[] = {"torchao", "torchao-csv", "pytorch", "github",
                                          "table",   "md",          "csv"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "models_%s", formats[i]);
        check_golden(name, models_report(formats[i], cli_style));
    }
}

static void styles_are_as_before(void **state)
{
    (void)state;
    struct assay_report_style ascii = cli_style, colour = cli_style, verbose = cli_style,
                              narrow = {.width = 80}, plain = {.width = 100};
    ascii.ascii = colour.colour = verbose.verbose = true;
    check_golden("models_torchao_ascii", models_report("torchao", ascii));
    check_golden("models_torchao_colour", models_report("torchao", colour));
    check_golden("models_torchao_verbose", models_report("torchao", verbose));
    check_golden("models_torchao_narrow", models_report("torchao", narrow));
    check_golden("models_torchao_100", models_report("torchao", plain));
    check_golden("models_github_ascii", models_report("github", ascii));
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    for (int width = 60; width <= 140; width += 10) {
        struct assay_text out =
            models_report("torchao", (struct assay_report_style){.width = width, .verbose = true});
        assert_no_wider(&out, width);
        assay_text_fini(&out);
    }
    setlocale(LC_CTYPE, "C");
}

/* ---- pairs --------------------------------------------------------------------------------- */

static void pairs_come_fastest_first(void **state)
{
    (void)state;
    struct group g = model_group();
    static const char *const order[] = {"int8dq", "int8wo", "baseline", "int4wo-128-hqq"};
    struct assay_pair pair = {0};
    for (int i = 0; i < 4; i++) {
        assert_true(assay_pair_next(g.records, g.n, ASSAY_PAIRS_BY_TIME, &pair));
        assert_string_equal(assay_pair_any(&pair)->recipe, order[i]);
        assert_string_equal(pair.eager->recipe, pair.compiled->recipe);
    }
    assert_false(assay_pair_next(g.records, g.n, ASSAY_PAIRS_BY_TIME, &pair));
}

/* Kernels of an op with the same recipe are no pair, and equal times lose none of them. */
static void what_is_no_executor_stands_alone(void **state)
{
    (void)state;
    struct group g = {.n = 3};
    for (int i = 0; i < 3; i++) {
        g.records[i] = model_record(0, i, i == 1 ? "onednn" : "native", "int8wo");
        g.records[i].states[HOT] = around(1e6, 0.01);
    }
    struct assay_pair pair = {0};
    for (int i = 0; i < 3; i++) {
        assert_true(assay_pair_next(g.records, g.n, ASSAY_PAIRS_BY_TIME, &pair));
        assert_ptr_equal(pair.eager, &g.records[i]);
        assert_null(pair.compiled);
    }
    assert_false(assay_pair_next(g.records, g.n, ASSAY_PAIRS_BY_TIME, &pair));
}

static void ratios_refer_to_their_own_executor(void **state)
{
    (void)state;
    struct group g = model_group();
    assert_ptr_equal(assay_pair_baseline(g.records, g.n, &g.records[2]), &g.records[0]);
    assert_ptr_equal(assay_pair_baseline(g.records, g.n, &g.records[3]), &g.records[1]);
    assert_true(assay_cell_is_baseline(&g.records[1]));
    assert_false(assay_cell_is_baseline(&g.records[3]));
}

/* PyTorch's two are a pair of their own, and assay's rows refer to the form that is theirs. */
static void torch_is_a_pair_and_a_baseline(void **state)
{
    (void)state;
    static const char *const names[] = {"eager", "compiled", "torch", "torch-compile"};
    struct group g = {.n = 4};
    for (int i = 0; i < 4; i++) {
        struct assay_record *r = &g.records[i];
        *r = model_record(0, i, names[i], "baseline");
        snprintf(r->baseline, sizeof r->baseline, "%s", i % 2 ? "torch-compile" : "torch");
        r->is_baseline = i >= 2;
        r->states[HOT] = around(1e6 * (1 + i), 0.01);
    }
    struct assay_pair pair = {0};
    for (int i = 0; i < 4; i += 2) {
        assert_true(assay_pair_next(g.records, g.n, ASSAY_PAIRS_AS_LISTED, &pair));
        assert_ptr_equal(pair.eager, &g.records[i]);
        assert_ptr_equal(pair.compiled, &g.records[i + 1]);
        assert_string_equal(assay_pair_label(&pair).text, i ? "baseline torch" : "baseline");
    }
    assert_false(assay_pair_next(g.records, g.n, ASSAY_PAIRS_AS_LISTED, &pair));
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(assay_pair_baseline(g.records, g.n, &g.records[i]), &g.records[2 + i % 2]);
        assert_int_equal(assay_cell_is_baseline(&g.records[i]), i >= 2);
    }
}

/* ---- cells --------------------------------------------------------------------------------- */

static void assert_interval(double ratio, double lo, double hi, bool significant, int room,
                            const char *want)
{
    struct assay_ratio r = {.n = 100,
                            .ratio = ratio,
                            .ci = {lo, hi},
                            .ci_frac = (hi - lo) / 2 / ratio,
                            .significant = significant,
                            .smallest_visible = 0.01};
    assert_string_equal(assay_cell_interval(&r, room, false).text, want);
}

static void intervals_read_well(void **state)
{
    (void)state;
    assert_interval(1.83, 1.80, 1.85, true, 30, "1.83x [1.80 1.85]");
    assert_interval(1.83, 1.8049, 1.8451, true, 30, "1.83x [1.80 1.85]"); /* outwards */
    assert_interval(1.83, 1.80, 1.85, true, 17, "1.83x [1.80 1.85]");
    assert_interval(1.83, 1.80, 1.85, true, 16, "1.83x");
    assert_interval(1.83, 1.80, 1.85, true, 8, "1.83x");
    assert_interval(0.5, 0.4, 0.625, true, 30, "2.00x slower [1.60 2.50]");
    assert_interval(1.01, 0.99, 1.03, false, 30, "same within 1.0%");
    assert_interval((double)NAN, 1, 2, true, 30, "-");
    assert_interval(2, 0, 4, true, 30, "2.00x"); /* half of it is not known */
}

static void milliseconds_fit(void **state)
{
    (void)state;
    static const struct {
        double ns;
        const char *want;
    } cases[] = {{26.3e3, "0.0263"}, {1.2345e6, "1.234"}, {123.44e6, "123.4"}, {0, "0.00000"},
                 {850, "8.5e-04"},   {4321, "0.00432"},   {95.2e9, "95200"},   {1e14, "1.0e+08"},
                 {999.6e6, "999.6"}, {99.996e6, "100.0"}, {1e300, "1e+294"},   {(double)NAN, "-"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(assay_cell_milliseconds(cases[i].ns).text, cases[i].want);
        assert_true(strlen(cases[i].want) <= 7);
    }
}

/* ---- CSV ----------------------------------------------------------------------------------- */

static void csv_begins_as_torchao_does(void **state)
{
    (void)state;
    static const char header[] =
        "name,quantization,sparsity,m,k,n,high_precision_dtype,torch_compile_mode,device,"
        "model_type,output_dir,enable_profiler,enable_memory_profiler,"
        "baseline_model_eager_inference_time_in_ms,quantized_model_eager_inference_time_in_ms,"
        "baseline_model_compiled_inference_time_in_ms,"
        "quantized_model_compiled_inference_time_in_ms,eager speedup on baseline,"
        "compile speedup on baseline,eager vs compile speedup,profiler_json_path,"
        "memory_profile_path,memory_visualization_path,memory_stats,";
    struct assay_text text = models_report("torchao-csv", cli_style);
    assert_memory_equal(text.data, header, sizeof header - 1);
    const char *at = text.data;
    int columns = csv_fields(&at), rows = 0;
    for (; *at; rows++)
        assert_int_equal(csv_fields(&at), columns);
    assert_int_equal(rows, 4 + 3 + 1 + 4); /* one for each recipe, one for what was skipped */
    assert_non_null(strstr(text.data, "\nsmall_models,int8wo,,1024,2048,4096,torch.bfloat16,"
                                      "max-autotune,cpu,ln_linear_gelu,,False,False,"));
    assay_text_fini(&text);
}

/* ---- the PyTorch database ------------------------------------------------------------------- */

static json_t *parse(const char *text, size_t length)
{
    json_error_t error;
    json_t *json = json_loadb(text, length, 0, &error);
    if (!json)
        fail_msg("line %d: %s", error.line, error.text);
    return json;
}

static json_t *read_schema(void)
{
    struct assay_text text =
        read_file(ASSAY_SOURCE_DIR "/share/schema/pytorch_benchmark_v3.schema.json");
    json_t *schema = parse(text.data, text.length);
    assay_text_fini(&text);
    return schema;
}

static json_t *pytorch_records(void)
{
    struct assay_text text = models_report("pytorch", cli_style);
    json_t *records = parse(text.data, text.length);
    assay_text_fini(&text);
    return records;
}

static void pytorch_records_fit_their_schema(void **state)
{
    (void)state;
    json_t *schema = read_schema(), *records = pytorch_records();
    struct schema_check check = {0};
    if (!schema_check_value(&check, schema, records))
        fail_msg("%s", check.problem);
    assert_true(json_array_size(records) > 0);
    json_decref(records);
    json_decref(schema);
}

/* Where a value is, in the first record: "metric", "benchmark_values", "0". */
struct spot {
    const char *steps[4];
};

static json_t *at_spot(json_t *record, const struct spot *spot, int steps)
{
    json_t *value = record;
    for (int i = 0; i < steps; i++)
        value = json_is_array(value) ? json_array_get(value, (size_t)atoi(spot->steps[i]))
                                     : json_object_get(value, spot->steps[i]);
    return value;
}

/* The checker must see each mistake: the value put at the spot, or taken away where it is NULL. */
static void mistakes_do_not_fit_the_schema(void **state)
{
    (void)state;
    static const struct {
        struct spot spot;
        const char *value;
        const char *complaint;
    } mistakes[] = {
        {{{"benchmark"}}, NULL, "lacks benchmark"},
        {{{"metric", "benchmark_values"}}, "[]", "too few"},
        {{{"metric", "benchmark_values"}}, "[0.0]", "not above"},
        {{{"metric", "benchmark_values"}}, "[\"1.5\"]", "not of type number"},
        {{{"metric", "benchmark_values"}}, "1.5", "not of type array"},
        {{{"metric", "target_value"}}, "-1", "below its minimum"},
        {{{"metric", "name"}}, "\"Speed\"", "allowed values"},
        {{{"metric", "extra_info", "unit"}}, NULL, "lacks unit"},
        {{{"model", "name"}}, "\"\"", "too short"},
        {{{"model", "size"}}, "7", "must not have size"},
        {{{"model", "origins", "0"}}, "null", "not of type string"},
        {{{"runners"}}, "[]", "too few"},
        {{{"runners", "0", "gpu_count"}}, "1.5", "not of type integer"},
        {{{"benchmark", "extra_info", "threads"}}, "2", "not of type string"},
        {{{"dependencies", "torch"}}, "{}", "lacks repo"},
    };
    json_t *schema = read_schema();
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        json_t *records = pytorch_records();
        const struct spot *spot = &mistakes[i].spot;
        int steps = 0;
        while (steps < 4 && spot->steps[steps])
            steps++;
        json_t *parent = at_spot(json_array_get(records, 0), spot, steps - 1);
        json_t *value =
            mistakes[i].value ? json_loads(mistakes[i].value, JSON_DECODE_ANY, NULL) : NULL;
        const char *last = spot->steps[steps - 1];
        if (!value)
            assert_int_equal(json_object_del(parent, last), 0);
        else if (json_is_array(parent))
            assert_int_equal(json_array_set_new(parent, (size_t)atoi(last), value), 0);
        else
            assert_int_equal(json_object_set_new(parent, last, value), 0);
        struct schema_check check = {0};
        assert_false(schema_check_value(&check, schema, records));
        if (!strstr(check.problem, mistakes[i].complaint))
            fail_msg("\"%s\" does not say \"%s\"", check.problem, mistakes[i].complaint);
        json_decref(records);
    }
    json_decref(schema);
}

static void an_unknown_keyword_is_no_schema(void **state)
{
    (void)state;
    json_t *schema = json_loads("{\"type\": \"string\", \"maxLength\": 0}", 0, NULL);
    json_t *value = json_string("b");
    struct schema_check check = {0};
    assert_false(schema_check_value(&check, schema, value));
    json_decref(value);
    json_decref(schema);
}

static const char *text_at(json_t *record, const char *part, const char *key)
{
    return json_string_value(json_object_get(json_object_get(record, part), key));
}

/* The values of this metric of this recipe in the database; NULL where it has no record. */
static json_t *values_of(json_t *records, const char *recipe, const char *metric)
{
    size_t i;
    json_t *record, *found = NULL;
    json_array_foreach(records, i, record)
    {
        if (strcmp(text_at(record, "benchmark", "dtype"), recipe) != 0 ||
            strcmp(text_at(record, "metric", "name"), metric) != 0)
            continue;
        const char *model = text_at(record, "model", "name");
        assert_true(strncmp(model, recipe, strlen(recipe)) == 0);
        assert_string_equal(model + strlen(recipe), "-1024-2048-4096");
        json_t *extra = json_object_get(json_object_get(record, "benchmark"), "extra_info");
        if (strcmp(json_string_value(json_object_get(extra, "model_type")), "ln_linear_gelu") ==
            0) {
            assert_null(found); /* repeats are in one record */
            found = json_object_get(json_object_get(record, "metric"), "benchmark_values");
        }
    }
    return found;
}

static void assert_values(json_t *values, double first, double second)
{
    assert_int_equal(json_array_size(values), 2);
    assert_near(json_number_value(json_array_get(values, 0)), first, 1e-9);
    assert_near(json_number_value(json_array_get(values, 1)), second, 1e-9);
}

static void repeats_are_values_of_one_record(void **state)
{
    (void)state;
    json_t *records = pytorch_records();
    assert_values(values_of(records, "int8wo", "Fwd Speedup (x)"), 1.011, 1.25 * 1.011);
    assert_values(values_of(records, "int8wo", "speedup(wrt bf16)"), 1.011, 1.25 * 1.011);
    assert_values(values_of(records, "int8wo", "Bfloat16 Fwd Time (ms)"), 0.95, 1.25 * 0.95);
    assert_values(values_of(records, "int8wo", "Quantized Fwd Time (ms)"), 0.94, 1.25 * 0.94);
    assert_values(values_of(records, "int8wo", "Allocated Memory (MB)"), 109.058048, 109.058048);
    assert_values(values_of(records, "baseline", "Bfloat16 Fwd Time (ms)"), 0.95, 1.25 * 0.95);
    assert_null(values_of(records, "baseline", "Fwd Speedup (x)"));
    assert_null(values_of(records, "baseline", "Quantized Fwd Time (ms)"));
    json_decref(records);
}

/* The compiled model crashed: the eager one is another case, and does not stand in for it. */
static void what_failed_has_no_record(void **state)
{
    (void)state;
    static const char *const failed[] = {"int8dq", "int4wo-128-hqq", "float8wo", ""};
    json_t *records = pytorch_records(), *record;
    size_t i;
    json_array_foreach(records, i, record) for (int f = 0; f < 4; f++)
        assert_string_not_equal(text_at(record, "benchmark", "dtype"), failed[f]);
    assert_int_equal(json_array_size(records),
                     2 + 5 + 2 + 5); /* two of each baseline, two recipes */
    json_decref(records);
}

/* ---- GitHub --------------------------------------------------------------------------------- */

static void the_headline_counts(void **state)
{
    (void)state;
    struct assay_text text = models_report("github", cli_style);
    static const char headline[] = "## ✗ assay: 20 cases, 3 failed, 5 not measured\n";
    assert_memory_equal(text.data, headline, sizeof headline - 1);
    assay_text_fini(&text);
    struct group eager = eager_group();
    eager.n = 2;
    report_groups("github", &cli_style, &gpu_run, &eager, 1, &text);
    assert_non_null(strstr(text.data, "## ✓ assay: 2 cases, 0 failed\n"));
    assert_null(strstr(text.data, "### Failed"));
    assay_text_fini(&text);
}

/* Every row of a table has as many cells as its head: no name can open another one. */
static void github_rows_have_all_cells(void **state)
{
    (void)state;
    struct assay_text text = models_report("github", cli_style);
    int rows = 0, head = 0; /* bars of a table's first row */
    for (const char *line = text.data; *line;) {
        size_t length = strcspn(line, "\n");
        int bars = 0;
        for (size_t i = 0; i < length; i++)
            bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
        if (line[0] == '|') {
            head = head ? head : bars;
            assert_int_equal(bars, head);
            rows++;
        } else {
            assert_int_equal(bars, 0);
            head = 0;
        }
        line += length + (line[length] == '\n');
    }
    assert_int_equal(rows,
                     3 * 2 + 4 + 3 + 1 + 4 + 2 * 2 + 8 + 9); /* three tables, and two of means */
    assay_text_fini(&text);
}

/* GitHub takes 1 MiB; what is left out is counted. */
static void a_page_is_not_too_long(void **state)
{
    (void)state;
    struct group group = model_group();
    struct assay_text text = {0};
    struct assay_sink sink = {&text, write_text, NULL};
    assay_report *report = assay_report_create(format_named("github"), &sink, &cli_style);
    assay_report_begin(report, &gpu_run);
    for (int i = 0; i < 3000; i++)
        assay_report_group(report, group.records, group.n);
    assay_report_end(report);
    assay_report_destroy(report);
    assert_in_range(text.length, 800000, 1 << 20);
    assert_non_null(strstr(text.data, "24000 cases, 3000 failed, 6000 not measured"));
    int64_t rows = 0, reasons = 0, seen = 0, listed = 0;
    const char *note = strstr(text.data, " more rows and ");
    assert_non_null(note);
    while (note[-1] != '\n')
        note--;
    assert_int_equal(sscanf(note, "%" SCNd64 " more rows and %" SCNd64, &rows, &reasons), 2);
    const char *means = strstr(text.data, "### Across groups");
    assert_non_null(means);
    for (const char *line = text.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (line < means)
            seen += line[0] == '|';
        listed += line[0] == '-';
    }
    assert_int_equal(seen - 2 + rows, 4 * 3000); /* two lines are the head */
    assert_int_equal(listed + reasons, 3 * 3000);
    assay_text_fini(&text);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void write_nowhere(void *user, const char *bytes, size_t length)
{
    *(size_t *)user += bytes ? length : 0;
}

/* Also where the run is cancelled and the end never comes. */
static void running_out_of_memory_does_not_crash(void **state)
{
    (void)state;
    static const char *const formats[] = {"torchao", "torchao-csv", "pytorch", "github"};
    struct group group = model_group();
    size_t written = 0;
    struct assay_sink sink = {&written, write_nowhere, NULL};
    for (int f = 0; f < 4; f++)
        for (int64_t nth = 1; nth < 400; nth++) {
            assay_alloc_fail_after(nth);
            assay_report *report = assay_report_create(format_named(formats[f]), &sink, &cli_style);
            if (report) {
                assay_report_begin(report, &gpu_run);
                assay_report_group(report, group.records, group.n);
                if (nth % 2)
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
        cmocka_unit_test(models_are_as_before),
        cmocka_unit_test(styles_are_as_before),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(pairs_come_fastest_first),
        cmocka_unit_test(what_is_no_executor_stands_alone),
        cmocka_unit_test(ratios_refer_to_their_own_executor),
        cmocka_unit_test(torch_is_a_pair_and_a_baseline),
        cmocka_unit_test(intervals_read_well),
        cmocka_unit_test(milliseconds_fit),
        cmocka_unit_test(csv_begins_as_torchao_does),
        cmocka_unit_test(pytorch_records_fit_their_schema),
        cmocka_unit_test(mistakes_do_not_fit_the_schema),
        cmocka_unit_test(an_unknown_keyword_is_no_schema),
        cmocka_unit_test(repeats_are_values_of_one_record),
        cmocka_unit_test(what_failed_has_no_record),
        cmocka_unit_test(the_headline_counts),
        cmocka_unit_test(github_rows_have_all_cells),
        cmocka_unit_test(a_page_is_not_too_long),
        cmocka_unit_test(running_out_of_memory_does_not_crash),
    };
    return cmocka_run_group_tests_name("report_models", tests, NULL, NULL);
}
