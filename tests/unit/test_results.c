/* test_results.c: results read back. What each format writes is read as rows that say what the
 * records said, as far as the format holds it; damaged, cut, foreign and empty files end in an
 * error that names the place. */
#include "compare/csv.h"
#include "compare/results.h"
#include "report_case.h"
#include "temporary.h"

static struct assay_measurement at(double ns, double frac, int64_t n)
{
    struct assay_measurement m = around(ns, frac);
    m.time.n = n;
    return m;
}

/* Two ops, three variants each but one: right, right, wrong. */
static int make_groups(struct group *groups)
{
    static const char *const ops[] = {"layernorm", "gelu"};
    memset(groups, 0, 2 * sizeof *groups);
    for (int i = 0; i < 2; i++) {
        struct assay_record *r = groups[i].records;
        r[0] = plain_record(i, 0, ops[i], ops[i], "native");
        r[0].states[HOT] = at(1e6 * (i + 1), 0.01, 120);
        r[0].states[COLD] = at(2e6 * (i + 1), 0.02, 80);
        r[1] = plain_record(i, 1, ops[i], ops[i], "onednn");
        r[1].states[HOT] = at(3e6, 0.01, 120);
        r[2] = failing(plain_record(i, 2, ops[i], ops[i], "mine"), ASSAY_OUTCOME_MISMATCH,
                       "3 of 9 differ, \"all\", of\nthem");
        groups[i].n = 3;
    }
    return 2;
}

/* A model, eager and compiled, in two recipes. */
static int make_models(struct group *groups)
{
    static const char *const executors[] = {"eager", "compiled"};
    static const char *const recipes[] = {"baseline", "int8wo"};
    memset(groups, 0, sizeof *groups);
    for (int i = 0; i < 4; i++) {
        struct assay_record *r = &groups[0].records[i];
        *r = plain_record(0, i, "model:linear", "linear", executors[i % 2]);
        const int64_t axes[] = {1, 4096, 14336};
        for (int a = 0; a < 3; a++) {
            r->axes[a] = axes[a];
            snprintf(r->axis_names[a], sizeof r->axis_names[a], "%c", "mkn"[a]);
        }
        snprintf(r->recipe, sizeof r->recipe, "%s", recipes[i / 2]);
        snprintf(r->compile, sizeof r->compile, "default");
        snprintf(r->entry, sizeof r->entry, "bf16_linear");
        snprintf(r->label, sizeof r->label, "custom_1");
        r->states[HOT] = at(1e6 + 1e5 * i, 0.01, 50);
    }
    groups[0].n = 4;
    return 1;
}

static void write_as(const char *format, const struct group *groups, int n, struct assay_text *out)
{
    report_groups(format, &usual_style, &a_run, groups, n, out);
}

static void read_as(const char *format, const struct group *groups, int n,
                    struct assay_results *out)
{
    struct assay_text text = {0};
    struct assay_error err = {0};
    write_as(format, groups, n, &text);
    assert_string_equal(assay_results_format_of(text.data, text.length), format);
    *out = (struct assay_results){0};
    if (assay_results_parse(format, text.data, text.length, "x", out, &err) != ASSAY_OK)
        fail_msg("%s: %s: %s", format, err.where, err.message);
    assert_int_equal(assay_results_join(out, &err), ASSAY_OK);
    assert_string_equal(out->format, format);
    assay_text_fini(&text);
}

static const struct assay_result *find(const struct assay_results *results, const char *op,
                                       const char *implementation)
{
    for (int64_t i = 0; i < results->n; i++)
        if (strcmp(results->rows[i].fields[ASSAY_RESULT_OP], op) == 0 &&
            strcmp(results->rows[i].fields[ASSAY_RESULT_IMPLEMENTATION], implementation) == 0)
            return &results->rows[i];
    fail_msg("no row of %s %s", op, implementation);
    return NULL;
}

static void assert_time(const struct assay_result_time *t, double ns, double frac, int64_t n)
{
    assert_true(t->there && t->has_interval);
    assert_near(t->time.median, ns, ns * 1e-9);
    assert_near(t->time.ci.lo, ns * (1 - frac), ns * 1e-9);
    assert_near(t->time.ci.hi, ns * (1 + frac), ns * 1e-9);
    assert_int_equal(t->time.n, n);
}

/* ---- formats that hold records, and csv --------------------------------------------------------
 */

static void whole_formats(void **state)
{
    (void)state;
    static const char *const formats[] = {"json", "jsonl", "csv"};
    struct group groups[2];
    int n = make_groups(groups);
    groups[0].records[1].states[HOT].waited = groups[0].records[1].states[HOT].disturbed = 7;
    for (size_t f = 0; f < 3; f++) {
        struct assay_results got;
        read_as(formats[f], groups, n, &got);
        assert_int_equal(got.n, 6);
        const struct assay_result *row = find(&got, "gelu", "native");
        assert_time(&row->times[HOT], 2e6, 0.01, 120);
        assert_time(&row->times[COLD], 4e6, 0.02, 80);
        assert_near(row->times[HOT].ceiling.median, 1.64e6, 1);
        assert_near(row->times[HOT].ceiling.ci.hi, 1.64e6 * 1.01, 1);
        assert_string_equal(row->times[HOT].bound, "memory");
        assert_string_equal(row->fields[ASSAY_RESULT_SIZES], "batch=32 seq=512 dim=768");
        assert_string_equal(row->fields[ASSAY_RESULT_DTYPE], "f32");
        assert_string_equal(row->fields[ASSAY_RESULT_THREADS], "2");
        assert_string_equal(row->fields[ASSAY_RESULT_KERNEL], "gelu_native");
        assert_false(row->times[HOT].disturbed); /* 1 of 120 */
        assert_true(find(&got, "layernorm", "onednn")->times[HOT].disturbed);
        row = find(&got, "layernorm", "mine");
        assert_int_equal(row->outcome, ASSAY_OUTCOME_MISMATCH);
        assert_non_null(strstr(row->reason, "3 of 9 differ, \"all\", of\nthem"));
        assert_false(row->times[HOT].there || row->times[COLD].there);
        assert_string_equal(got.run.device, "cpu");
        assert_int_equal(got.run.threads, 2);
        assert_string_equal(got.run.id, f < 2 ? a_run.id : "");
        assay_results_fini(&got);
    }
}

/* Few samples have a range and no interval. */
static void five_samples_have_no_interval(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_results got;
    int n = make_groups(groups);
    groups[0].records[0].states[HOT].time.n = 5;
    read_as("json", groups, n, &got);
    const struct assay_result_time *t = &find(&got, "layernorm", "native")->times[HOT];
    assert_true(t->there);
    assert_false(t->has_interval);
    assay_results_fini(&got);
}

/* ---- formats that hold less --------------------------------------------------------------------
 */

static void comprehensive_and_kobench(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_results got;
    int n = make_groups(groups);
    read_as("comprehensive", groups, n, &got);
    assert_int_equal(got.n, 4);
    const struct assay_result *row = find(&got, "gelu", "native");
    assert_true(got.no_intervals && !got.means);
    assert_near(row->times[ASSAY_RESULT_EITHER].time.median, 2e6, 1e-3);
    assert_false(row->times[ASSAY_RESULT_EITHER].has_interval);
    assert_string_equal(row->fields[ASSAY_RESULT_SIZES], "batch=32 seq=512 dim=768");
    assay_results_fini(&got);

    read_as("kobench-json", groups, n, &got);
    assert_int_equal(got.n, 4);
    assert_true(got.no_intervals && got.means);
    row = find(&got, "gelu/native", "");
    assert_near(row->times[ASSAY_RESULT_EITHER].time.median, 2e6 * 1.01, 1e-3);
    assert_int_equal(row->times[ASSAY_RESULT_EITHER].time.n, 120);
    assert_string_equal(row->fields[ASSAY_RESULT_DTYPE], "float32");
    assay_results_fini(&got);
}

/* f32 and f64 look alike there: neither may be taken for the other, nor for a repeat. */
static void rows_that_a_format_cannot_tell_apart(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_results got;
    make_groups(groups);
    groups[1] = groups[0];
    for (int i = 0; i < 3; i++) {
        groups[1].records[i].group = 1;
        groups[1].records[i].dtype = ASSAY_DTYPE_BF16;
    }
    read_as("comprehensive", groups, 2, &got);
    assert_int_equal(got.n, 4);
    for (int64_t i = 0; i < got.n; i++)
        assert_true(got.rows[i].ambiguous);
    assay_results_fini(&got);
    read_as("csv", groups, 2, &got);
    assert_int_equal(got.n, 6);
    assert_false(got.rows[0].ambiguous);
    assay_results_fini(&got);
}

static void torchao_csv(void **state)
{
    (void)state;
    struct group groups[1];
    struct assay_results got;
    int n = make_models(groups);
    read_as("torchao-csv", groups, n, &got);
    assert_int_equal(got.n, 4);
    for (int i = 0; i < 4; i++) {
        const struct assay_result *row = &got.rows[i];
        assert_time(&row->times[HOT], 1e6 + 1e5 * i, 0.01, 50);
        assert_string_equal(row->fields[ASSAY_RESULT_IMPLEMENTATION], i % 2 ? "compiled" : "eager");
        assert_string_equal(row->fields[ASSAY_RESULT_RECIPE], i / 2 ? "int8wo" : "baseline");
        assert_string_equal(row->fields[ASSAY_RESULT_SIZES], "m=1 k=4096 n=14336");
    }
    assay_results_fini(&got);
}

/* As TorchAO writes it: no columns of assay's. */
static void torchao_csv_of_torchao(void **state)
{
    (void)state;
    static const char text[] =
        "name,quantization,sparsity,m,k,n,high_precision_dtype,torch_compile_mode,device,"
        "model_type,quantized_model_eager_inference_time_in_ms,"
        "quantized_model_compiled_inference_time_in_ms\r\n"
        "custom_1,int8wo,,1,2,3,torch.bfloat16,default,cuda,linear,0.5,0.25\r\n";
    struct assay_results got = {0};
    assert_string_equal(assay_results_format_of(text, sizeof text - 1), "torchao-csv");
    assert_int_equal(assay_results_parse("torchao-csv", text, sizeof text - 1, "x", &got, NULL),
                     ASSAY_OK);
    assert_int_equal(got.n, 2);
    assert_near(got.rows[1].times[ASSAY_RESULT_EITHER].time.median, 0.25e6, 1e-6);
    assert_false(got.rows[1].times[ASSAY_RESULT_EITHER].has_interval);
    assay_results_fini(&got);
}

/* Three times in a row of a file; each is a result. */
static void torchao_csv_of_training(void **state)
{
    (void)state;
    static const char text[] =
        "name,quantization,sparsity,m,k,n,high_precision_dtype,torch_compile_mode,device,"
        "model_type,forward_time_ms,backward_time_ms,total_time_ms,reference_total_time_ms,"
        "implementation,total_status,total_median_lo_ms,total_median_hi_ms,total_samples,cache\n"
        "one,float8dq-row,,1,2,3,torch.bfloat16,default,cpu,linear,0.5,1.25,1.5,2,compiled,ok,"
        "1.35,1.65,50,hot\n";
    struct assay_results got = {0};
    assert_string_equal(assay_results_format_of(text, sizeof text - 1), "torchao-csv");
    assert_int_equal(assay_results_parse("torchao-csv", text, sizeof text - 1, "x", &got, NULL),
                     ASSAY_OK);
    assert_int_equal(got.n, 3);
    assert_string_equal(got.rows[1].fields[ASSAY_RESULT_OP], "linear_backward");
    assert_string_equal(got.rows[1].fields[ASSAY_RESULT_IMPLEMENTATION], "compiled");
    assert_near(got.rows[1].times[HOT].time.median, 1.25e6, 1e-6);
    assert_false(got.rows[1].times[HOT].has_interval);
    assert_string_equal(got.rows[2].fields[ASSAY_RESULT_OP], "linear_both");
    assert_time(&got.rows[2].times[HOT], 1.5e6, 0.1, 50);
    assay_results_fini(&got);
}

static void pytorch_of_training(void **state)
{
    (void)state;
#define SUBJECT                                                                                    \
    "\"benchmark\": {\"mode\": \"training\", \"dtype\": \"float8dq-row\", \"extra_info\": "        \
    "{\"model_type\": \"linear\"}}, \"model\": {\"name\": \"float8dq-row-1-2-3\"}"
    static const char text[] =
        "[{" SUBJECT ", \"metric\": {\"name\": \"Quantized Bwd Time (ms)\", "
        "\"benchmark_values\": [2, 4]}},\n"
        "{" SUBJECT ", \"metric\": {\"name\": \"Total Speedup (x)\", \"benchmark_values\": [2]}},\n"
        "{" SUBJECT ", \"metric\": {\"name\": \"Quantized Total Time (ms)\", "
        "\"benchmark_values\": [5]}}]";
    struct assay_results got = {0};
    assert_int_equal(assay_results_parse("pytorch", text, sizeof text - 1, "x", &got, NULL),
                     ASSAY_OK);
    assert_int_equal(got.n, 2);
    assert_string_equal(got.rows[0].fields[ASSAY_RESULT_OP], "linear_backward");
    assert_near(got.rows[0].times[ASSAY_RESULT_EITHER].time.median, 3e6, 1e-6);
    assert_string_equal(got.rows[1].fields[ASSAY_RESULT_OP], "linear_both");
    assay_results_fini(&got);
}

static void pytorch_repeats(void **state)
{
    (void)state;
    struct group groups[7];
    struct assay_results got;
    for (int i = 0; i < 7; i++) {
        make_models(&groups[i]);
        for (int k = 0; k < 4; k++) {
            groups[i].records[k].group = i;
            groups[i].records[k].states[HOT].time.median = 1e6 * (10 + i);
        }
    }
    read_as("pytorch", groups, 7, &got);
    assert_int_equal(got.n, 2); /* of each recipe the compiled model */
    const struct assay_result_time *t = &find(&got, "linear", "compiled")->times[2];
    assert_near(t->time.median, 13e6, 1);
    assert_true(t->has_interval); /* of 7 the whole range: 98.4 % */
    assert_near(t->time.ci.lo, 10e6, 1);
    assert_near(t->time.ci.hi, 16e6, 1);
    assert_string_equal(got.run.device_name, a_run.device_name);
    assert_string_equal(got.run.version, "0.1.0");
    assert_int_equal(got.run.threads, 2);
    assay_results_fini(&got);
}

static void kernel_json(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_results got;
    int n = make_groups(groups);
    struct assay_run_info run = a_run;
    struct assay_text text = {0};
    snprintf(run.implementations, sizeof run.implementations, "native");
    report_groups("kernel-json", &usual_style, &run, groups, n, &text);
    assert_string_equal(assay_results_format_of(text.data, text.length), "kernel-json");
    got = (struct assay_results){0};
    assert_int_equal(assay_results_parse("kernel-json", text.data, text.length, "x", &got, NULL),
                     ASSAY_OK);
    assert_int_equal(got.n, 6);
    const struct assay_result *row = &got.rows[0];
    while (strncmp(row->fields[ASSAY_RESULT_OP], groups[0].records[0].op,
                   strlen(groups[0].records[0].op)) != 0)
        row++;
    assert_string_equal(row->fields[ASSAY_RESULT_IMPLEMENTATION], "native");
    assert_time(&row->times[HOT], 1e6, 0.01, 120);
    assert_time(&row->times[COLD], 2e6, 0.02, 80);
    assert_string_equal(got.run.id, a_run.id);
    assay_results_fini(&got);
    assay_text_fini(&text);
}

/* ---- repeats -----------------------------------------------------------------------------------
 */

/* 1.0, 1.1 and 1.3 ms, each ± 1 %: 1.1, from 0.99 to 1.313. */
static void repeats_are_one_row(void **state)
{
    (void)state;
    struct group groups[3];
    struct assay_results got;
    static const double times[] = {1.0e6, 1.3e6, 1.1e6};
    memset(groups, 0, sizeof groups);
    for (int i = 0; i < 3; i++) {
        groups[i].n = 1;
        groups[i].records[0] = plain_record(i, 0, "gelu", "gelu", "native");
        groups[i].records[0].states[HOT] = at(times[i], 0.01, 40);
    }
    read_as("json", groups, 3, &got);
    assert_int_equal(got.n, 1);
    assert_int_equal(got.rows[0].repeats, 3);
    const struct assay_result_time *t = &got.rows[0].times[HOT];
    assert_near(t->time.median, 1.1e6, 1);
    assert_near(t->time.ci.lo, 0.99e6, 1);
    assert_near(t->time.ci.hi, 1.313e6, 1);
    assert_int_equal(t->time.n, 120);
    assay_results_fini(&got);
    struct group six[6] = {groups[0], groups[1], groups[2], groups[0], groups[1], groups[2]};
    for (int i = 0; i < 6; i++)
        six[i].records[0].group = i;
    read_as("json", six, 6, &got); /* of six medians the whole range has 97 % */
    assert_near(got.rows[0].times[HOT].time.ci.lo, 1.0e6, 1);
    assert_near(got.rows[0].times[HOT].time.ci.hi, 1.3e6, 1);
    assay_results_fini(&got);
    groups[1].records[0] = failing(groups[1].records[0], ASSAY_OUTCOME_CRASHED, "signal 11");
    read_as("json", groups, 3, &got);
    assert_int_equal(got.rows[0].outcome, ASSAY_OUTCOME_CRASHED);
    assert_string_equal(got.rows[0].reason, "signal 11");
    assay_results_fini(&got);
}

/* ---- what cannot be read -----------------------------------------------------------------------
 */

static void assert_damaged(const char *format, const char *text, const char *where,
                           const char *what)
{
    struct assay_results got = {0};
    struct assay_error err = {0};
    assert_int_equal(assay_results_parse(format, text, strlen(text), "f", &got, &err),
                     ASSAY_ERR_CORRUPT);
    if (!strstr(err.where, where) || !strstr(err.message, what))
        fail_msg("%s: %s", err.where, err.message);
    assay_results_fini(&got);
}

static void damaged_files(void **state)
{
    (void)state;
    assert_damaged("json", "{\"run\": {}, \"records\": [{}]}", "f: records[0]", "is missing");
    assert_damaged("json", "{\"format\": 2, \"run\": {}, \"records\": []}", "f", "of format 2");
    assert_damaged("jsonl", "{\"format\":3,\"run\":{}}\n", "f:1", "of format 3");
    assert_damaged("json", "{\"run\": {}, \"records\": 3}", "f", "lacks");
    assert_damaged("json", "{\"run\": {}, \"records\": [", "f:1", "");
    assert_damaged("jsonl", "{\"run\":{}}\n\n{\"op\":1}\n", "f:3", "is missing");
    assert_damaged("jsonl", "{\"run\":{}}\n{\"op\":\n", "f:2", "is not JSON");
    assert_damaged("csv", "op,status,median_ns\nadd,ok\n", "f:2",
                   "2 fields where the header has 3");
    assert_damaged("csv", "op,status,median_ns\n\nadd,\"ok", "f:3", "quote is not closed");
    assert_damaged("csv", "op,status,median_ns\nadd,maybe,1\n", "f:2", "\"maybe\" is no status");
    assert_damaged("comprehensive", "[{\"time_ms\": 1}, 7]", "f: [1]", "no \"time_ms\"");
    assert_damaged("pytorch", "{\"metric\": 1}", "f", "is no array");
    assert_damaged("kernel-json", "{\"results\": [1]}", "f: results[0]", "timingResults");
}

/* However a file is cut, it is read as a shorter one or refused; nothing else. */
static void files_cut_anywhere(void **state)
{
    (void)state;
    static const char *const formats[] = {"json", "jsonl", "csv", "comprehensive", "kobench-json"};
    struct group groups[2];
    int n = make_groups(groups);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        struct assay_text text = {0};
        write_as(formats[f], groups, n, &text);
        for (size_t length = 0; length < text.length; length += 7) {
            struct assay_results got = {0};
            struct assay_error err = {0};
            enum assay_status status =
                assay_results_parse(formats[f], text.data, length, "cut", &got, &err);
            assert_true(status == ASSAY_OK || status == ASSAY_ERR_CORRUPT);
            assert_true(status == ASSAY_OK || err.message[0]);
            assert_true(got.n <= 6);
            assay_results_fini(&got);
        }
        assay_text_fini(&text);
    }
}

static void assert_not_found(const char *name, const char *what)
{
    struct assay_results_source source;
    struct assay_error err = {0};
    assert_int_equal(assay_results_find(name, &source, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, what))
        fail_msg("%s: %s", err.where, err.message);
}

static void files_that_hold_no_results(void **state)
{
    (void)state;
    assert_not_found(put_file("empty.json", ""), "is empty");
    assert_not_found(put_file("blank.json", " \n\t\n"), "is empty");
    assert_not_found(put_file("none.json", "[]\n"), "holds no results");
    assert_not_found(put_file("page.md", "# Results\n| a | b |\n"), "can be read back: that takes");
    assert_not_found(put_file("other.csv", "a,b\n1,2\n"), "can be read back");
    assert_not_found(put_file("other.json", "{\"a\": 1}\n"), "can be read back");
    assert_not_found("no_such_file.json", "no such file");
    assert_not_found(in_temporary("missing"), "cannot be opened");
    assert_not_found(temporary, "is not a file");
}

/* A file with records is read as the other side has it. */
static void records_as_another_format(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_text text = {0};
    struct assay_results_source source;
    struct assay_results got;
    int n = make_groups(groups);
    write_as("json", groups, n, &text);
    assert_int_equal(assay_results_find(put_file("a.txt", text.data), &source, NULL), ASSAY_OK);
    assert_string_equal(source.format, "json");
    assert_true(source.has_records);
    assert_int_equal(assay_results_read(&source, "comprehensive", NULL, &got, NULL), ASSAY_OK);
    assert_string_equal(got.format, "comprehensive");
    assert_int_equal(got.n, 4);
    assert_string_equal(got.run.id, a_run.id); /* the head is still known */
    assert_string_equal(got.source, source.path.data);
    assay_results_fini(&got);
    assay_results_source_fini(&source);
    assay_text_fini(&text);
}

/* ---- CSV
 * ----------------------------------------------------------------------------------------*/

static void csv_as_rfc_4180_has_it(void **state)
{
    (void)state;
    static const char text[] = "a,b,c\r\n1,\"x, \"\"y\"\"\nz\",\r\n\r\n2.5,,true";
    struct assay_csv *csv = test_malloc(sizeof *csv);
    bool more = false;
    assert_int_equal(assay_csv_init(csv, text, sizeof text - 1, "t", NULL), ASSAY_OK);
    assert_int_equal(csv->n, 3);
    assert_int_equal(assay_csv_next(csv, &more, NULL), ASSAY_OK);
    assert_true(more);
    assert_int_equal(csv->line, 2);
    assert_string_equal(assay_csv_value(csv, "b"), "x, \"y\"\nz");
    assert_int_equal(assay_csv_int(csv, "a"), 1);
    assert_true(isnan(assay_csv_real(csv, "c")));
    assert_int_equal(assay_csv_int(csv, "c"), -1);
    assert_null(assay_csv_value(csv, "d"));
    assert_int_equal(assay_csv_next(csv, &more, NULL), ASSAY_OK);
    assert_true(more && assay_csv_flag(csv, "c") && !assay_csv_flag(csv, "b"));
    assert_near(assay_csv_real(csv, "a"), 2.5, 0);
    assert_int_equal(csv->line, 5);
    assert_int_equal(assay_csv_next(csv, &more, NULL), ASSAY_OK);
    assert_false(more);
    assay_csv_fini(csv);
    test_free(csv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_formats),
        cmocka_unit_test(five_samples_have_no_interval),
        cmocka_unit_test(comprehensive_and_kobench),
        cmocka_unit_test(rows_that_a_format_cannot_tell_apart),
        cmocka_unit_test(torchao_csv),
        cmocka_unit_test(torchao_csv_of_torchao),
        cmocka_unit_test(torchao_csv_of_training),
        cmocka_unit_test(pytorch_of_training),
        cmocka_unit_test(pytorch_repeats),
        cmocka_unit_test(kernel_json),
        cmocka_unit_test(repeats_are_one_row),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(files_cut_anywhere),
        cmocka_unit_test_setup_teardown(files_that_hold_no_results, temporary_make,
                                        temporary_remove),
        cmocka_unit_test_setup_teardown(records_as_another_format, temporary_make,
                                        temporary_remove),
        cmocka_unit_test(csv_as_rfc_4180_has_it),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
