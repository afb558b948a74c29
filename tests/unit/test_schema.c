/* test_schema.c: what is written as JSON fits the schemas of share/schema: reports (the golden
 * files, which are what the program writes), records with every odd value, journals. And the
 * schemas refuse what is wrong, each requirement of a record once. tests/cli/schemas.sh has what
 * commands write. */
#include "json_schema.h"
#include "report_case.h"
#include "temporary.h"

#include "bench/journal.h"

static const char report_schema[] = "assay_report_v1.schema.json";
static const char line_schema[] = "assay_report_line_v1.schema.json";
static const char record_schema[] = "assay_record_v1.schema.json";
static const char journal_schema[] = "assay_journal_line_v2.schema.json";

static struct schema_files files = {.folder = ASSAY_SOURCE_DIR "/share/schema"};

/* Empty, or what is wrong with the value. */
static const char *problem_of(const char *schema, json_t *value)
{
    static struct schema_check check;
    check = (struct schema_check){.files = &files, .strict = true};
    bool fine = schema_check_file(&check, schema, value);
    assert_int_equal(fine, check.problem[0] == '\0');
    return check.problem;
}

static void assert_fits(const char *schema, json_t *value)
{
    const char *problem = problem_of(schema, value);
    if (problem[0])
        fail_msg("%s: %s", schema, problem);
}

static json_t *parse(const char *text, size_t length)
{
    json_error_t error;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json)
        fail_msg("line %d: %s in %.*s", error.line, error.text, (int)length, text);
    return json;
}

static json_t *golden(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/golden/report.%s", ASSAY_SOURCE_DIR, name);
    struct assay_text text = read_file(path);
    json_t *json = parse(text.data, text.length);
    assay_text_fini(&text);
    return json;
}

/* assay's own JSON as jansson's, by way of the text. */
static json_t *as_written(assay_json *json)
{
    struct assay_text text = {0};
    assay_json_write(json, 0, &text);
    assert_false(text.failed);
    json_t *parsed = parse(text.data, text.length);
    assay_text_fini(&text);
    assay_json_free(json);
    return parsed;
}

static void reports_fit(void **state)
{
    (void)state;
    json_t *report = golden("json");
    assert_fits(report_schema, report);
    assert_true(json_array_size(json_object_get(report, "records")) > 3);
    json_decref(report);
}

/* Each line of a file fits; how many there are. */
static int assert_lines_fit(const char *schema, const char *path)
{
    struct assay_text text = read_file(path);
    int n = 0;
    for (const char *line = text.data, *end; (end = strchr(line, '\n')); line = end + 1, n++) {
        json_t *value = parse(line, (size_t)(end - line));
        assert_fits(schema, value);
        json_decref(value);
    }
    assay_text_fini(&text);
    return n;
}

static void json_lines_fit(void **state)
{
    (void)state;
    static const char *const names[] = {"jsonl", "recipes_jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/tests/golden/report.%s", ASSAY_SOURCE_DIR, names[i]);
        assert_true(assert_lines_fit(line_schema, path) > 3);
    }
}

static void odd_records_fit(void **state)
{
    (void)state;
    struct assay_record records[3] = {plain_record(0, 0, "relu", "ReLU", "ref"),
                                      plain_record(1, 2, "linear", "Linear", "native"),
                                      {.op = "workload:A.b", .device = "cpu"}};
    struct assay_measurement *m = &records[1].states[ASSAY_CACHE_HOT];
    records[0].seed = UINT64_MAX;
    records[0].accuracy_db = (double)INFINITY;
    records[0].verification.max_abs = (double)INFINITY;
    records[0].verification.sqnr_db = -3;
    records[1].accuracy_db = -1.5;
    m->measured = m->has_ratio = true;
    m->time.n = 1;
    m->time.median_ci = (struct assay_interval){(double)NAN, (double)NAN};
    m->ratio.ratio = m->ratio.smallest_visible = (double)NAN;
    m->bytes_per_s = (double)INFINITY;
    for (int i = 0; i < 1000; i++)
        assay_samples_offer(&m->samples, 1000, i, i / 7.0, i % 3 == 0);
    for (int i = 0; i < 3; i++)
        for (int outcome = 0; outcome < ASSAY_OUTCOME_COUNT; outcome++) {
            records[i].outcome = (enum assay_outcome)outcome;
            json_t *record = as_written(assay_record_to_json(&records[i]));
            assert_fits(record_schema, record);
            assert_fits(line_schema, record);
            json_decref(record);
        }
}

/* ---- what a schema asks for is what is written ------------------------------------------------
 */

/* A report in which no part is null. */
static json_t *full_report(void)
{
    json_t *report = golden("json");
    json_t *record = json_array_get(json_object_get(report, "records"), 0);
    json_t *hot = json_object_get(record, "hot");
    json_object_set_new(record, "profilers", json_string("both")); /* of configurations alone */
    json_object_set_new(record, "profile", json_string("a.json")); /* likewise */
    json_object_set_new(record, "memory_profile", json_string("a.pickle"));
    json_object_set_new(record, "memory_visualization", json_string("a.html"));
    json_object_set_new(record, "memory_stats", json_string("{}"));
    json_object_set_new(record, "pass", json_string("backward"));  /* of gradients */
    json_object_set_new(record, "accuracy_1_db", json_real(25.5)); /* of recipes in training */
    json_object_set_new(record, "accuracy_2_db", json_string("inf"));
    json_object_set_new(record, "saved_bytes", json_real(1028));
    json_object_set_new(record, "planned_bytes", json_real(4096));
    json_object_set_new(record, "caller", json_string("python")); /* of a GPU's, these */
    json_object_set_new(record, "timed", json_string("graph"));
    json_object_set_new(record, "timed_why", json_string(""));
    json_object_set_new(record, "graph",
                        json_pack("{s:i,s:i,s:i,s:i,s:i,s:[s]}", "calls", 20, "kernels", 40,
                                  "copies", 0, "memsets", 1, "others", 0, "names", "add"));
    json_object_set(hot, "eager_ratio", json_object_get(hot, "ratio"));
    json_object_set_new(
        hot, "samples",
        json_pack("{s:i,s:[i,f],s:[i]}", "every", 2, "ns", 2310000, 99.5, "disturbed", 1));
    json_t *run = json_object_get(report, "run"); /* of configurations that train */
    json_object_set_new(run, "benchmark_mode", json_string("training"));
    json_object_set_new(run, "use_fast_accum", json_true());
    json_t *counters = json_pack("{s:i,s:s}", "calls", 1000, "missing", "");
    static const char *const counted[] = {
        "cycles",       "instructions",   "branch_misses", "cache_references", "cache_misses",
        "memory_bytes", "memory_frac",    "task_clock_ns", "page_faults",      "context_switches",
        "l2_bytes",     "occupancy_frac", "tensor_frac",   "counted_frac"};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        json_object_set_new(counters, counted[i], json_real(0.5));
    json_object_set_new(hot, "counters", counters); /* of --counters alone */
    assert_fits(report_schema, report);
    return report;
}

/* Whatever is required is missed, and whatever the schema names is written. */
static void check_keys(json_t *report, json_t *part, json_t *schema)
{
    size_t i;
    json_t *name;
    const char *key;
    assert_true(json_array_size(json_object_get(schema, "required")) > 5);
    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        char want[100];
        json_t *value = json_incref(json_object_get(part, json_string_value(name)));
        snprintf(want, sizeof want, "lacks %s", json_string_value(name));
        assert_int_equal(json_object_del(part, json_string_value(name)), 0);
        if (!strstr(problem_of(report_schema, report), want))
            fail_msg("\"%s\" does not say \"%s\"", problem_of(report_schema, report), want);
        json_object_set_new(part, json_string_value(name), value);
    }
    json_object_foreach(json_object_get(schema, "properties"), key, name)
    {
        if (!json_object_get(part, key))
            fail_msg("%s names %s, which nothing writes", record_schema, key);
    }
    assert_fits(report_schema, report);
}

static void schemas_ask_for_what_is_written(void **state)
{
    (void)state;
    json_t *report = full_report();
    json_t *record = json_array_get(json_object_get(report, "records"), 0);
    json_t *hot = json_object_get(record, "hot");
    json_t *schema = schema_in_file(&files, record_schema, strlen(record_schema));
    json_t *defs = json_object_get(schema, "$defs");
    check_keys(report, record, schema);
    check_keys(report, json_object_get(report, "run"), json_object_get(defs, "run"));
    check_keys(report, hot, json_object_get(defs, "measurement"));
    check_keys(report, json_object_get(hot, "ratio"), json_object_get(defs, "ratio"));
    check_keys(report, json_object_get(hot, "eager_ratio"), json_object_get(defs, "ratio"));
    check_keys(report, json_object_get(hot, "counters"), json_object_get(defs, "counters"));
    check_keys(report, json_object_get(record, "verification"),
               json_object_get(defs, "verification"));
    json_decref(report);
}

/* ---- mistakes ---------------------------------------------------------------------------------
 */

/* Puts a value at "records.0.hot.n"; NULL takes away what is there. */
static void put(json_t *root, const char *path, const char *text)
{
    char step[64];
    json_t *at = root;
    for (;; path += strlen(step) + 1) {
        snprintf(step, sizeof step, "%.*s", (int)strcspn(path, "."), path);
        if (!path[strlen(step)])
            break;
        at = json_is_array(at) ? json_array_get(at, (size_t)atoi(step)) : json_object_get(at, step);
        assert_non_null(at);
    }
    if (!text)
        assert_int_equal(json_object_del(at, step), 0);
    else if (json_is_array(at))
        json_array_set_new(at, (size_t)atoi(step), parse(text, strlen(text)));
    else
        json_object_set_new(at, step, parse(text, strlen(text)));
}

struct mistake {
    const char *path, *value, *complaint;
};

static void check_mistakes(const char *schema, json_t *(*make)(void),
                           const struct mistake *mistakes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = make();
        put(value, mistakes[i].path, mistakes[i].value);
        const char *problem = problem_of(schema, value);
        if (!strstr(problem, mistakes[i].complaint))
            fail_msg("%s = %s: \"%s\" does not say \"%s\"", mistakes[i].path, mistakes[i].value,
                     problem, mistakes[i].complaint);
        json_decref(value);
    }
}

static void mistakes_in_a_report_are_refused(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"format", NULL, "$: lacks format"},
        {"format", "2", "$.format: is none of the allowed values"},
        {"format", "\"1\"", "$.format: is none of the allowed values"},
        {"run", NULL, "$: lacks run"},
        {"run.threads", "-1", "$.run.threads: is below its minimum"},
        {"run.hot", "1", "$.run.hot: is not of type boolean"},
        {"run.colour", "\"red\"", "does not name: colour"},
        {"records", "{}", "$.records: is not of type array"},
        {"records.0", "null", "$.records[0]: is not of type object"},
        {"records.0.op", "\"\"", "$.records[0].op: is too short"},
        {"records.0.group", "0.5", "$.records[0].group: is not of type integer"},
        {"records.0.axes.dim", "\"768\"", "$.records[0].axes.dim: is not of type integer"},
        {"records.0.axis_order.0", "1", "$.records[0].axis_order[0]: is not of type string"},
        {"records.0.seed", "\"0x2a\"", "$.records[0].seed: does not match ^[0-9]+$"},
        {"records.0.seed", "1.5", "$.records[0].seed: is not of type integer or string"},
        {"records.0.status", "\"fine\"", "$.records[0].status: is none of the allowed values"},
        {"records.0.bytes_read", "-8.0", "$.records[0].bytes_read: is below its minimum"},
        {"records.0.macs", "\"inf\"", "$.records[0].macs: is not of type number or null"},
        {"records.0.accuracy_db", "\"much\"", "$.records[0].accuracy_db: is none of the allowed"},
        {"records.0.hot", "false", "$.records[0].hot: is not of type object"},
        {"records.0.hot.n", "null", "$.records[0].hot.n: is not of type integer"},
        {"records.0.hot.median_ci_ns", "[1.0]", "$.records[0].hot.median_ci_ns: has too few"},
        {"records.0.hot.median_ci_ns", "[1, 2, 3]", "$.records[0].hot.median_ci_ns: has too many"},
        {"records.0.hot.ratio.ci.1", "true", "$.records[0].hot.ratio.ci[1]: is not of type number"},
        {"records.0.hot.samples", "null", "$.records[0].hot.samples: is not of type object"},
        {"records.0.hot.samples.every", "0", "samples.every: is below its minimum"},
        {"records.0.hot.samples.ns", "[]", "samples.ns: has too few"},
        {"records.0.hot.samples.ns.1", "-1.0", "samples.ns[1]: is below its minimum"},
        {"records.0.hot.samples.ns.1", "null", "samples.ns[1]: is not of type number"},
        {"records.0.hot.samples.disturbed.0", "-1", "samples.disturbed[0]: is below its minimum"},
        {"records.0.hot.samples.disturbed", NULL, "samples: lacks disturbed"},
        {"records.0.hot.ratio.significant", "null", "significant: is not of type boolean"},
        {"records.0.hot.speedup", "2.0", "does not name: speedup"},
        {"records.0.verification", "null", "$.records[0].verification: is not of type object"},
    };
    check_mistakes(report_schema, full_report, mistakes, sizeof mistakes / sizeof mistakes[0]);
}

/* Readers ignore keys they do not know; that we know all of ours is this test's concern alone. */
static void unknown_keys_are_for_later_versions(void **state)
{
    (void)state;
    json_t *report = full_report();
    struct schema_check check = {.files = &files};
    put(report, "records.0.hot.novelty", "{}");
    put(report, "records.0.colour", "\"red\"");
    put(report, "later", "7");
    assert_true(schema_check_file(&check, report_schema, report));
    json_decref(report);
}

/* ---- journals ---------------------------------------------------------------------------------
 */

static void add_group(struct assay_plan *plan, struct assay_group group)
{
    assert_int_equal(assay_plan_add(plan, &group), ASSAY_OK);
}

/* A journal of two groups, the first of which is finished. */
static void write_journal(struct assay_text *path)
{
    struct assay_run_info run = {.id = "20261115-034711-a1b2", .threads = 2};
    struct assay_plan plan = {.settings = {.device = "cpu",
                                           .threads = 2,
                                           .hot = true,
                                           .precision = 0.01,
                                           .budget_s = 1,
                                           .overtime = true,
                                           .counters = true,
                                           .python = "/usr/bin/python3",
                                           .timeout_s = 1,
                                           .within_budget = true}};
    struct assay_record records[2] = {plain_record(0, 0, "relu", "ReLU", "ref"),
                                      plain_record(0, 1, "relu", "ReLU", "native")};
    assay_journal *journal = NULL;
    assay_strings_add(&plan.settings.recipes, "int8wo");
    add_group(&plan, (struct assay_group){
                         .op = "relu", .dtype = ASSAY_DTYPE_F32, .n_axes = 1, .axes = {0}});
    add_group(&plan, (struct assay_group){.op = "conv2d",
                                          .dtype = ASSAY_DTYPE_BF16,
                                          .mode = "bias",
                                          .label = "small",
                                          .device = "cpu",
                                          .entry = "one",
                                          .compile = "default",
                                          .profilers = "both",
                                          .baseline = "ref",
                                          .over_limit = true,
                                          .macs = 7,
                                          .counted_flops = 8});
    setenv("XDG_DATA_HOME", temporary, 1);
    assert_int_equal(assay_journal_create(&run, &plan, &journal, NULL), ASSAY_OK);
    assert_int_equal(assay_journal_append(journal, 0, records, 2, NULL), ASSAY_OK);
    assay_text_add(path, assay_journal_path(journal));
    assay_journal_close(journal);
    assay_plan_fini(&plan);
}

static json_t *journal_lines[4];

static void read_journal(void)
{
    struct assay_text path = {0};
    write_journal(&path);
    assert_int_equal(assert_lines_fit(journal_schema, path.data), 4);
    struct assay_text text = read_file(path.data);
    const char *line = text.data;
    for (int i = 0; i < 4; i++, line = strchr(line, '\n') + 1)
        journal_lines[i] = parse(line, strcspn(line, "\n"));
    assay_text_fini(&text);
    assay_text_fini(&path);
}

static json_t *head_line(void) { return json_deep_copy(journal_lines[0]); }
static json_t *record_line(void) { return json_deep_copy(journal_lines[1]); }
static json_t *done_line(void) { return json_deep_copy(journal_lines[3]); }

static void journals_fit(void **state)
{
    (void)state;
    static const struct mistake head[] = {
        {"assay_journal", "1", "$.assay_journal: is none of the allowed values"},
        {"crc", "\"5D3C0C0A\"", "$.crc: does not match"},
        {"crc", "\"5d3c0c0a0\"", "$.crc: does not match"},
        {"run.id", "7", "$.run.id: is not of type string"},
        {"plan.groups", NULL, "$.plan: lacks groups"},
        {"plan.groups.0.axes.0", "-1", "$.plan.groups[0].axes[0]: is below its minimum"},
        {"plan.groups.1.macs", "0", "$.plan.groups[1].macs: is not above its minimum"},
        {"plan.groups.1.mode", "\"\"", "$.plan.groups[1].mode: is too short"},
        {"plan.groups.1.colour", "\"red\"", "does not name: colour"},
        {"plan.settings.threads", "0", "$.plan.settings.threads: is below its minimum"},
        {"plan.settings.seed", "42", "$.plan.settings.seed: is not of type string"},
        {"plan.settings.recipes.0", "1", "$.plan.settings.recipes[0]: is not of type string"},
        {"plan.settings.sandbox", NULL, "$.plan.settings: lacks sandbox"},
    };
    static const struct mistake record[] = {
        {"record.status", "\"\"", "$.record.status: is none of the allowed values"},
        {"record.kernel", NULL, "$.record: lacks kernel"},
        {"record", "7", "$.record: is not of type object"},
        {"seq", NULL, "$: lacks seq"},
        {"length", "-1", "$.length: is below its minimum"},
    };
    static const struct mistake done[] = {
        {"records", "0", "$.records: is below its minimum"},
        {"done", "\"0\"", "$.done: is not of type integer"},
        {"crc", NULL, "$: lacks crc"},
    };
    read_journal();
    check_mistakes(journal_schema, head_line, head, sizeof head / sizeof head[0]);
    check_mistakes(journal_schema, record_line, record, sizeof record / sizeof record[0]);
    check_mistakes(journal_schema, done_line, done, sizeof done / sizeof done[0]);
    for (int i = 0; i < 4; i++)
        json_decref(journal_lines[i]);
}

/* Every key of a head's plan is in the schema and the other way round, as for records. */
static void journals_ask_for_what_is_written(void **state)
{
    (void)state;
    read_journal();
    json_t *schema = schema_in_file(&files, journal_schema, strlen(journal_schema)), *value;
    json_t *defs = json_object_get(schema, "$defs");
    json_t *plan = json_object_get(journal_lines[0], "plan");
    json_t *group = json_array_get(json_object_get(plan, "groups"), 1);
    const char *key;
    json_object_foreach(json_object_get(json_object_get(defs, "settings"), "properties"), key,
                        value)
        assert_non_null(json_object_get(json_object_get(plan, "settings"), key));
    json_object_foreach(json_object_get(json_object_get(defs, "group"), "properties"), key, value)
        assert_non_null(json_object_get(group, key));
    for (int i = 0; i < 4; i++)
        json_decref(journal_lines[i]);
}

static int forget_schemas(void **state)
{
    (void)state;
    schema_files_fini(&files);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_fit),
        cmocka_unit_test(json_lines_fit),
        cmocka_unit_test(odd_records_fit),
        cmocka_unit_test(schemas_ask_for_what_is_written),
        cmocka_unit_test(mistakes_in_a_report_are_refused),
        cmocka_unit_test(unknown_keys_are_for_later_versions),
        cmocka_unit_test_setup_teardown(journals_fit, temporary_make, temporary_remove),
        cmocka_unit_test_setup_teardown(journals_ask_for_what_is_written, temporary_make,
                                        temporary_remove),
    };
    return cmocka_run_group_tests(tests, NULL, forget_schemas);
}
