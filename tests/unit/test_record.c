/* test_record.c: records and run infos to JSON and back, and everything that must not be read. */
#include "unit.h"

#include "base/alloc.h"
#include "record/record.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* No two members are alike, and every string is as long as it can be. */
static struct assay_record full_record(void)
{
    struct assay_record r;
    memset(&r, 'A', sizeof r); /* any double or integer of these bytes is a finite value */
    r.dtype = ASSAY_DTYPE_BF16;
    r.n_axes = ASSAY_MAX_AXES;
    r.outcome = ASSAY_OUTCOME_OUT_OF_MEMORY;
    r.interrupted = r.is_baseline = r.pareto = r.not_asked = true;
    r.verification.done = r.verification.exact = true;
    r.verification.author_reference = r.verification.author_tolerance = true;
    char *strings[] = {r.implementation, r.device, r.baseline, r.mode, r.compile};
    for (int i = 0; i < 5; i++)
        strings[i][31] = '\0';
    r.files.trace[ASSAY_PROFILE_PATH - 1] = r.files.snapshot[ASSAY_PROFILE_PATH - 1] =
        r.files.memory_page[ASSAY_PROFILE_PATH - 1] =
            r.files.memory_stats[sizeof r.files.memory_stats - 1] = '\0';
    r.recipe[63] = r.profilers[15] = r.pass[11] = r.caller[15] = r.timed.way[15] = '\0';
    r.timed.why[sizeof r.timed.why - 1] = '\0';
    r.timed.has_graph = true;
    r.timed.fault = 0; /* for the judge alone */
    r.timed.graph.n_names = ASSAY_GRAPH_NAMES;
    for (int i = 0; i < ASSAY_GRAPH_NAMES; i++)
        r.timed.graph.names[i][ASSAY_GRAPH_NAME - 1] = '\0';
    r.op[63] = r.title[63] = r.entry[63] = r.label[63] = r.kernel[63] = r.note[127] =
        r.confined[159] = r.printed[511] = r.reason[255] = '\0';
    for (int i = 0; i < ASSAY_MAX_AXES; i++) {
        r.axis_names[i][15] = '\0';
        r.axis_names[i][0] = (char)('a' + i);
        r.axes[i] = INT64_MAX - i;
    }
    r.seed = UINT64_MAX;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        struct assay_measurement *m = &r.states[s];
        m->measured = m->precise = m->has_ratio = m->fastest = m->ratio.significant = true;
        m->has_eager_ratio = m->eager_ratio.significant = true;
        m->bound[15] = '\0';
        m->has_counts = true;
        m->counts.missing[sizeof m->counts.missing - 1] = '\0';
        m->time.median = 0.1 + s; /* needs all 17 digits */
        m->time.n = INT64_MIN;
        m->repeats = 0; /* these two are not in JSON, which has each repeat */
        m->repeats_frac = 0;
        m->samples.n = ASSAY_SAMPLES_KEPT;
        for (int i = 0; i < ASSAY_SAMPLES_KEPT; i++) /* of five digits */
            m->samples.ns[i] = (float)(0.012345 * pow(10, i % 20) + i % 20 * 0.01);
    }
    return r;
}

static struct assay_text json_text(const struct assay_record *record)
{
    struct assay_text text = {0};
    assay_json *json = assay_record_to_json(record);
    assay_json_write(json, 0, &text);
    assay_json_free(json);
    assert_false(text.failed);
    return text;
}

static enum assay_status read_text(const char *text, struct assay_record *out,
                                   struct assay_error *err)
{
    assay_json *json = assay_json_parse(text, strlen(text), "test", err);
    assert_non_null(json);
    enum assay_status status = assay_record_from_json(json, out, err);
    assay_json_free(json);
    return status;
}

static struct assay_record round_trip(const struct assay_record *record)
{
    struct assay_text text = json_text(record);
    struct assay_record back;
    struct assay_error err = {0};
    enum assay_status status = read_text(text.data, &back, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, ASSAY_OK);
    assay_text_fini(&text);
    return back;
}

/* Only padding may differ, and no gap of padding is as long as a double: 8 bytes in a row that do
 * not come back are a member that the tables of record_json.c forgot. */
static void assert_same_but_padding(const void *a, const void *b, size_t size)
{
    const char *x = a, *y = b;
    int run = 0;
    for (size_t i = 0; i < size; i++) {
        run = x[i] == y[i] ? 0 : run + 1;
        if (run == 8)
            fail_msg("bytes %zu to %zu do not come back", i - 7, i);
    }
}

static void every_member_comes_back(void **state)
{
    (void)state;
    struct assay_record r = full_record();
    struct assay_record back = round_trip(&r);
    assert_same_but_padding(&r, &back, sizeof r);
    assert_int_equal(back.dtype, r.dtype);
    assert_int_equal(back.outcome, r.outcome);
    assert_int_equal(back.threads, r.threads);
    assert_int_equal(back.n_axes, r.n_axes);
    assert_int_equal(back.verification.times, r.verification.times);
    assert_true(back.interrupted && back.is_baseline && back.pareto);
    assert_true(back.verification.done && back.verification.exact);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &back.states[s];
        assert_true(m->measured && m->precise && m->has_ratio && m->fastest &&
                    m->ratio.significant);
    }
}

static void flags_also_come_back_false(void **state)
{
    (void)state;
    struct assay_record r = full_record();
    r.interrupted = r.is_baseline = r.pareto = false;
    r.verification.done = r.verification.exact = false;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        r.states[s].precise = r.states[s].fastest = r.states[s].ratio.significant = false;
    struct assay_record back = round_trip(&r);
    assert_false(back.interrupted || back.is_baseline || back.pareto);
    assert_false(back.verification.done || back.verification.exact);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        const struct assay_measurement *m = &back.states[s];
        assert_false(m->precise || m->fastest || m->ratio.significant);
    }
}

static void an_empty_record_comes_back(void **state)
{
    (void)state;
    struct assay_record r, back;
    memset(&r, 0, sizeof r);
    back = round_trip(&r);
    assert_memory_equal(&back, &r, sizeof r);
}

static void what_was_not_measured_is_null(void **state)
{
    (void)state;
    struct assay_record r = full_record();
    memset(&r.states[ASSAY_CACHE_COLD], 0, sizeof r.states[0]);
    r.states[ASSAY_CACHE_HOT].has_ratio = false;
    struct assay_text text = json_text(&r);
    assert_non_null(strstr(text.data, "\"cold\":null"));
    assert_non_null(strstr(text.data, "\"ratio\":null"));
    assay_text_fini(&text);
    struct assay_record back = round_trip(&r);
    assert_false(back.states[ASSAY_CACHE_COLD].measured);
    assert_false(back.states[ASSAY_CACHE_HOT].has_ratio);
    assert_true(back.states[ASSAY_CACHE_HOT].measured);
}

static void doubles_are_exact(void **state)
{
    (void)state;
    static const double values[] = {
        0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456789012345680.0};
    struct assay_record r = full_record();
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        r.verification.rms = values[i];
        struct assay_record back = round_trip(&r);
        assert_memory_equal(&back.verification.rms, &values[i], sizeof values[i]);
    }
}

static void what_json_cannot_write_reads_as_nan(void **state)
{
    (void)state;
    struct assay_record r = full_record();
    r.verification.sqnr_db = (double)INFINITY;
    r.verification.max_rel = (double)NAN;
    r.states[ASSAY_CACHE_HOT].time.median_ci.lo = (double)-INFINITY;
    struct assay_record back = round_trip(&r);
    assert_true(isnan(back.verification.sqnr_db));
    assert_true(isnan(back.verification.max_rel));
    assert_true(isnan(back.states[ASSAY_CACHE_HOT].time.median_ci.lo));
}

/* A product can be exact, and that is not the same as not known. */
static void an_infinite_accuracy_comes_back(void **state)
{
    (void)state;
    struct assay_record r = full_record();
    r.accuracy_db = (double)INFINITY;
    r.activation_share = (double)NAN;
    struct assay_text text = json_text(&r);
    assert_non_null(strstr(text.data, "\"accuracy_db\":\"inf\""));
    assert_non_null(strstr(text.data, "\"activation_share\":null"));
    assay_text_fini(&text);
    struct assay_record back = round_trip(&r);
    assert_true(isinf(back.accuracy_db) && back.accuracy_db > 0);
    assert_true(isnan(back.activation_share));
    r.accuracy_db = (double)NAN;
    assert_true(isnan(round_trip(&r).accuracy_db));
    r.accuracy_db = 31.5;
    assert_near(round_trip(&r).accuracy_db, 31.5, 0);
}

/* Journals written before recipes were known can be resumed. */
static void an_older_record_is_read(void **state)
{
    (void)state;
    static const char *const newer[] = {"mode",
                                        "label",
                                        "recipe",
                                        "note",
                                        "entry",
                                        "compile",
                                        "weight_bytes",
                                        "prepare_ns",
                                        "accuracy_db",
                                        "activation_share",
                                        "pareto",
                                        "slow_unit",
                                        "efficiency_ci",
                                        "ceiling_rounds",
                                        "machine_frac",
                                        "disturbed",
                                        "waited",
                                        "stolen",
                                        "samples",
                                        "exact",
                                        "macs",
                                        "counted_flops",
                                        "idle_bytes",
                                        "peak_bytes",
                                        "workspace_bytes",
                                        "system_peak_bytes"};
    struct assay_record r = full_record(), back;
    struct assay_text text = json_text(&r);
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++) {
        char key[32];
        snprintf(key, sizeof key, "\"%s\":", newer[i]);
        int found = 0;
        for (char *at = text.data; (at = strstr(at, key)); found++)
            at[1] = '_';
        assert_true(found > 0);
    }
    assert_int_equal(read_text(text.data, &back, NULL), ASSAY_OK);
    assay_text_fini(&text);
    assert_string_equal(back.recipe, "");
    assert_false(back.pareto || back.verification.exact);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) { /* reports say nothing of what is not known */
        const struct assay_measurement *m = &back.states[s];
        assert_int_equal(m->ceiling_rounds + m->disturbed + m->waited + m->stolen, 0);
        assert_false(m->machine_frac > 0);
        assert_int_equal(m->samples.n, 0);
    }
    assert_true(isnan(back.accuracy_db) && isnan(back.activation_share));
    assert_true(isnan(back.idle_bytes) && isnan(back.peak_bytes));
    assert_true(isnan(back.workspace_bytes) && isnan(back.system_peak_bytes));
}

static void seeds_of_any_size_come_back(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0, 42, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    struct assay_record r = full_record();
    for (int i = 0; i < 5; i++) {
        r.seed = seeds[i];
        assert_true(round_trip(&r).seed == seeds[i]);
    }
}

static void keys_read_as_documented(void **state)
{
    (void)state;
    struct assay_record r = full_record();
    strcpy(r.op, "layernorm");
    strcpy(r.axis_names[0], "batch");
    r.axes[0] = 32;
    r.n_axes = 1;
    r.states[0].time.median_ci = (struct assay_interval){1, 2};
    struct assay_text text = json_text(&r);
    static const char *const parts[] = {
        "\"op\":\"layernorm\"",         "\"axes\":{\"batch\":32}", "\"axis_order\":[\"batch\"]",
        "\"status\":\"out_of_memory\"", "\"dtype\":\"bf16\"",      "\"median_ci_ns\":[1.0,2.0]",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_non_null(strstr(text.data, parts[i]));
    assay_text_fini(&text);
}

/* ---- what must not be read ---------------------------------------------------------------- */

/* Replaces the first `old` in the JSON of a good record, which must then fail and name the field.
 */
static void assert_refused(const char *old, const char *new, const char *field)
{
    struct assay_record r = full_record(), out;
    strcpy(r.axis_names[0], "batch");
    r.threads = 7;
    struct assay_text good = json_text(&r), bad = {0};
    const char *at = strstr(good.data, old);
    assert_non_null(at);
    assay_text_append(&bad, good.data, (size_t)(at - good.data));
    assay_text_add(&bad, new);
    assay_text_add(&bad, at + strlen(old));
    struct assay_error err = {0};
    assert_int_equal(read_text(bad.data, &out, &err), ASSAY_ERR_CORRUPT);
    if (!strstr(err.message, field))
        fail_msg("\"%s\" does not name %s", err.message, field);
    assay_text_fini(&good);
    assay_text_fini(&bad);
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    assert_refused("\"group\":", "\"group\":\"x\",\"_\":", "\"group\"");
    assert_refused("\"group\":", "\"group\":1.5,\"_\":", "\"group\"");
    assert_refused("\"group\":", "\"group\":null,\"_\":", "\"group\"");
    assert_refused("\"op\":", "\"op\":3,\"_\":", "\"op\"");
    assert_refused("\"threads\":7", "\"threads\":2147483648", "\"threads\"");
    assert_refused("\"seed\":", "\"seed\":-1,\"_\":", "\"seed\"");
    assert_refused("\"seed\":", "\"seed\":\"-1\",\"_\":", "\"seed\"");
    assert_refused("\"seed\":", "\"seed\":\"18446744073709551616\",\"_\":", "\"seed\"");
    assert_refused("\"dtype\":\"bf16\"", "\"dtype\":\"bf17\"", "\"dtype\"");
    assert_refused("\"status\":\"out_of_memory\"", "\"status\":\"fine\"", "\"status\"");
    assert_refused("\"is_baseline\":true", "\"is_baseline\":1", "\"is_baseline\"");
    assert_refused("\"flops\":", "\"flops\":true,\"_\":", "\"flops\"");
    assert_refused("\"accuracy_db\":", "\"accuracy_db\":\"-inf\",\"_\":", "\"accuracy_db\"");
    assert_refused("\"hot\":{", "\"hot\":[],\"_\":{", "\"hot\"");
    assert_refused("\"samples\":{", "\"samples\":null,\"_\":{", "\"hot.samples\" is not an object");
    assert_refused("\"samples\":{\"every\":", "\"samples\":{\"every\":0,\"_\":",
                   "\"hot.samples.every\" is not a whole number");
    assert_refused("\"verification\":{", "\"verification\":null,\"_\":{", "\"verification\"");
    assert_refused("\"median_ns\":", "\"median_ns\":\"1\",\"_\":", "\"hot.median_ns\"");
    assert_refused("\"median_ci_ns\":[", "\"median_ci_ns\":[1,", "\"hot.median_ci_ns\"");
    assert_refused("\"significant\":true", "\"significant\":null", "\"hot.ratio.significant\"");
}

static void missing_fields_are_refused(void **state)
{
    (void)state;
    assert_refused("\"variant\":", "\"_\":", "\"variant\" is missing");
    assert_refused("\"status\":", "\"_\":", "\"status\" is missing");
    assert_refused("\"hot\":", "\"_\":", "\"hot\" is missing");
    assert_refused("\"efficiency\":", "\"_\":", "\"hot.efficiency\" is missing");
    assert_refused("\"rounds\":", "\"_\":", "\"hot.ratio.rounds\" is missing");
    assert_refused("\"sqnr_db\":", "\"_\":", "\"verification.sqnr_db\" is missing");
    assert_refused("\"axis_order\":", "\"_\":", "\"axis_order\"");
}

static void long_strings_are_refused(void **state)
{
    (void)state;
    assert_refused("\"op\":\"", "\"op\":\"x", "\"op\"");
    assert_refused("\"reason\":\"", "\"reason\":\"x", "\"reason\"");
    assert_refused("\"bound\":\"", "\"bound\":\"x", "\"hot.bound\"");
}

static void bad_axes_are_refused(void **state)
{
    (void)state;
    assert_refused("\"axes\":{", "\"axes\":[],\"_\":{", "\"axes\"");
    assert_refused("\"axes\":{\"batch\"", "\"axes\":{\"other\"", "\"axes\"");
    assert_refused("\"axes\":{\"batch\":", "\"axes\":{\"batch\":\"1\",\"_\":", "\"axes\"");
    assert_refused("\"axis_order\":[\"batch\"", "\"axis_order\":[1", "\"axis_order\"");
    assert_refused("\"axis_order\":[\"batch\"", "\"axis_order\":[\"batch\",\"batch\"",
                   "\"axis_order\"");
}

static void what_is_no_object_is_refused(void **state)
{
    (void)state;
    struct assay_record r;
    struct assay_error err = {0};
    assert_int_equal(read_text("[]", &r, &err), ASSAY_ERR_CORRUPT);
    assert_int_equal(assay_record_from_json(NULL, &r, NULL), ASSAY_ERR_CORRUPT);
}

static void keys_of_newer_programs_are_passed_over(void **state)
{
    (void)state;
    struct assay_record r = full_record(), out;
    assay_json *json = assay_record_to_json(&r);
    assay_json_put_string(json, "from_the_future", "yes");
    assert_int_equal(assay_record_from_json(json, &out, NULL), ASSAY_OK);
    assay_json_free(json);
}

/* ---- run info and names ------------------------------------------------------------------- */

static void a_run_info_comes_back(void **state)
{
    (void)state;
    struct assay_run_info info, back;
    memset(&info, 'A', sizeof info);
    info.id[31] = info.version[31] = info.command[511] = info.started[31] = info.device[31] = '\0';
    info.host_os[127] = info.isa[127] = info.device_name[63] = '\0';
    info.cpu_name[63] = info.gpu_name[63] = info.commit[47] = info.project[95] = '\0';
    info.project_branch[63] = info.project_sha[47] = info.output_dir[255] =
        info.benchmark_mode[15] = '\0';
    info.repository[127] = info.kernel_commit[47] = info.benchmark_path[255] = '\0';
    info.benchmark_sha[71] = info.implementations[159] = '\0';
    info.pytorch[31] = info.pytorch_cuda[15] = '\0';
    info.hot = info.use_fast_accum = true;
    info.cold = false;
    assay_json *json = assay_run_info_to_json(&info);
    assay_run_info_from_json(json, &back);
    assay_json_free(json);
    assert_same_but_padding(&info, &back, sizeof info);
    assert_int_equal(back.threads, info.threads);
    assert_true(back.hot && !back.cold);
}

static void a_broken_run_info_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    static const char text[] = "{\"id\":7,\"version\":\"1.2\",\"threads\":\"many\",\"groups\":4}";
    assay_json *json = assay_json_parse(text, sizeof text - 1, "test", NULL);
    struct assay_run_info info;
    assay_run_info_from_json(json, &info);
    assay_json_free(json);
    assert_string_equal(info.version, "1.2");
    assert_string_equal(info.id, "");
    assert_int_equal(info.threads, 0);
    assert_int_equal(info.groups, 4);
    assay_run_info_from_json(NULL, &info);
    assert_string_equal(info.version, "");
}

static void outcomes_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < ASSAY_OUTCOME_COUNT; i++) {
        const char *name = assay_outcome_name((enum assay_outcome)i);
        assert_non_null(name);
        assert_int_equal(assay_outcome_parse(name), i);
    }
    assert_int_equal(assay_outcome_parse("OK"), ASSAY_OUTCOME_COUNT);
    assert_string_equal(assay_outcome_name(ASSAY_OUTCOME_COUNT), "unknown");
    assert_true(assay_outcome_is_fine(ASSAY_OUTCOME_SKIPPED));
    assert_false(assay_outcome_is_fine(ASSAY_OUTCOME_MISTRUSTED));
    assert_string_equal(assay_cache_state_name(ASSAY_CACHE_HOT), "hot");
    assert_string_equal(assay_cache_state_name(ASSAY_CACHE_COLD), "cold");
}

static void running_out_of_memory_does_not_crash(void **state)
{
    (void)state;
    struct assay_record r = full_record(), out;
    strcpy(r.reason, "not UTF-8: \xff"); /* makes the JSON writer allocate through base/ */
    for (int64_t nth = 1; nth < 20; nth++) {
        struct assay_text text = {0};
        assay_alloc_fail_after(nth);
        assay_json *json = assay_record_to_json(&r);
        assay_record_from_json(json, &out, NULL);
        assay_json_write(json, 0, &text);
        assay_json_free(json);
        assay_text_fini(&text);
    }
    assay_alloc_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_comes_back),
        cmocka_unit_test(flags_also_come_back_false),
        cmocka_unit_test(an_empty_record_comes_back),
        cmocka_unit_test(what_was_not_measured_is_null),
        cmocka_unit_test(doubles_are_exact),
        cmocka_unit_test(what_json_cannot_write_reads_as_nan),
        cmocka_unit_test(an_infinite_accuracy_comes_back),
        cmocka_unit_test(an_older_record_is_read),
        cmocka_unit_test(seeds_of_any_size_come_back),
        cmocka_unit_test(keys_read_as_documented),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(missing_fields_are_refused),
        cmocka_unit_test(long_strings_are_refused),
        cmocka_unit_test(bad_axes_are_refused),
        cmocka_unit_test(what_is_no_object_is_refused),
        cmocka_unit_test(keys_of_newer_programs_are_passed_over),
        cmocka_unit_test(a_run_info_comes_back),
        cmocka_unit_test(a_broken_run_info_is_read_as_far_as_it_goes),
        cmocka_unit_test(outcomes_have_names),
        cmocka_unit_test(running_out_of_memory_does_not_crash),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
