/* test_plan.c: plans and jobs to JSON and back, and everything that must not be read. */
#include "unit.h"

#include "base/alloc.h"
#include "record/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Member by member: what lies between them is nobody's. */
static void assert_same_group(const struct assay_group *a, const struct assay_group *b)
{
    assert_string_equal(a->op, b->op);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->n_axes, b->n_axes);
    assert_memory_equal(a->axes, b->axes, sizeof a->axes);
    assert_string_equal(a->mode, b->mode);
    assert_string_equal(a->label, b->label);
    assert_int_equal(a->over_limit, b->over_limit);
    assert_near(a->macs, b->macs, 0);
    assert_near(a->counted_flops, b->counted_flops, 0);
}

static void fill_settings(struct assay_settings *s)
{
    *s = (struct assay_settings){
        .device = "cpu",
        .threads = 3,
        .hot = true,
        .precision = 0.5,
        .budget_s = 0.1, /* needs all 17 digits */
        .timeout_s = 61,
        .warmup = 5,
        .rounds = 7,
        .seed = UINT64_MAX,
        .memory_limit = INT64_MAX,
        .no_ceiling = true,
        .baseline = "ref",
    };
    assert_int_equal(assay_strings_split(&s->implementations, "native,ref"), ASSAY_OK);
    assert_int_equal(assay_strings_add(&s->kernels, "with \"quotes\" and \\"), ASSAY_OK);
    assert_int_equal(assay_strings_add(&s->plugins, "a,b.so"), ASSAY_OK);
    assert_int_equal(assay_strings_split(&s->recipes, "baseline,int4wo-128-hqq"), ASSAY_OK);
}

static struct assay_job full_job(void)
{
    struct assay_job job = {
        .group_index = 12,
        .group = {.op = "layernorm",
                  .dtype = ASSAY_DTYPE_BF16,
                  .n_axes = 3,
                  .axes = {1, INT64_MAX, 7},
                  .mode = "bias+gelu",
                  .label = "llama_attn.wqkv",
                  .over_limit = true,
                  .macs = 25769803776.0,
                  .counted_flops = 0.1},
    };
    fill_settings(&job.settings);
    assert_int_equal(assay_strings_add(&job.exclude, "layernorm_avx512"), ASSAY_OK);
    return job;
}

static char *job_text(const struct assay_job *job)
{
    struct assay_text text = {0};
    assay_json *json = assay_job_to_json(job);
    assay_json_write(json, 0, &text);
    assay_json_free(json);
    assert_false(text.failed);
    return text.data;
}

static enum assay_status read_job(const char *text, struct assay_job *out, struct assay_error *err)
{
    assay_json *json = assay_json_parse(text, strlen(text), "test", NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    enum assay_status status = assay_job_from_json(json, out, err);
    assay_json_free(json);
    return status;
}

static void test_a_job_survives_the_journey(void **state)
{
    (void)state;
    struct assay_job job = full_job(), back;
    char *text = job_text(&job);
    assert_null(strchr(text, '\n')); /* one line */
    assert_int_equal(read_job(text, &back, NULL), ASSAY_OK);
    assert_int_equal(back.group_index, 12);
    assert_same_group(&back.group, &job.group);
    const struct assay_settings *a = &job.settings, *b = &back.settings;
    assert_string_equal(a->device, b->device);
    assert_int_equal(a->threads, b->threads);
    assert_true(b->hot && !b->cold);
    assert_near(b->precision, 0.5, 0);
    assert_near(b->budget_s, 0.1, 0);
    assert_near(b->timeout_s, 61, 0);
    assert_int_equal(b->warmup, 5);
    assert_int_equal(b->rounds, 7);
    assert_true(b->seed == UINT64_MAX);
    assert_int_equal(b->memory_limit, INT64_MAX);
    assert_true(b->no_ceiling);
    assert_string_equal(b->baseline, "ref");
    assert_int_equal(b->implementations.n, 2);
    assert_string_equal(b->kernels.items[0], "with \"quotes\" and \\");
    assert_string_equal(b->plugins.items[0], "a,b.so");
    assert_int_equal(b->recipes.n, 2);
    assert_string_equal(b->recipes.items[1], "int4wo-128-hqq");
    assert_string_equal(back.exclude.items[0], "layernorm_avx512");
    char *again = job_text(&back);
    assert_string_equal(text, again);
    free(text);
    free(again);
    assay_job_fini(&job);
    assay_job_fini(&back);
}

/* `from` replaced by `to` in a good job must not be read. */
static void assert_refused(const char *from, const char *to, const char *message)
{
    struct assay_job job = full_job(), back;
    struct assay_error err = {0};
    char *text = job_text(&job), *at = strstr(text, from), changed[4096];
    if (!at)
        fail_msg("no %s in %s", from, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    if (read_job(changed, &back, &err) != ASSAY_ERR_CORRUPT && err.code != ASSAY_ERR_INVALID)
        fail_msg("accepted: %s", changed);
    if (!strstr(err.message, message))
        fail_msg("%s for %s", err.message, changed);
    free(text);
    assay_job_fini(&job);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    assert_refused("\"assay_job\":1", "\"assay_job\":2", "not a job of version 1 (it says 2)");
    assert_refused("\"assay_job\"", "\"assay_jib\"", "not a job of version 1 (it says 0)");
    assert_refused("\"op\":\"layernorm\"", "\"op\":7", "\"op\" is missing or not text");
    assert_refused("layernorm",
                   "a_name_that_is_far_too_long_for_any_op_and_also_for_any_model_there_is",
                   "\"op\" is too long");
    assert_refused("\"bf16\"", "\"bf17\"", "bf17");
    assert_refused("\"bf16\"", "null", "dtype");
    assert_refused("[1,9223372036854775807,7]", "[]", "\"axes\" is not a list of sizes");
    assert_refused("[1,9223372036854775807,7]", "[1,2,3,4,5,6,7,8,9]",
                   "\"axes\" is not a list of sizes");
    assert_refused("[1,9223372036854775807,7]", "{}", "\"axes\" is not a list of sizes");
    assert_refused("[1,9223372036854775807,7]", "[1,-1,7]", "a size below 0");
    assert_refused("[1,9223372036854775807,7]", "[1,1.5,7]", "a size below 0");
    assert_refused("\"threads\":3", "\"threads\":0", "out of range");
    assert_refused("\"threads\":3", "\"threads\":4294967297", "out of range");
    assert_refused("\"hot\":true", "\"hot\":false", "out of range");
    assert_refused("\"precision\":0.5", "\"precision\":null", "out of range");
    assert_refused("\"precision\":0.5", "\"precision\":-1", "out of range");
    assert_refused("\"timeout_s\":61.0", "\"timeout_s\":0", "out of range");
    assert_refused("\"rounds\":7", "\"rounds\":-7", "out of range");
    assert_refused("\"18446744073709551615\"", "12", "\"seed\" is not a number in text");
    assert_refused("\"18446744073709551615\"", "\"\"", "\"seed\" is not a number in text");
    assert_refused("\"18446744073709551615\"", "\"12x\"", "\"seed\" is not a number in text");
    assert_refused("\"18446744073709551615\"", "\"-12\"", "\"seed\" is not a number in text");
    assert_refused("\"18446744073709551615\"", "\"18446744073709551616\"",
                   "\"seed\" is not a number in text");
    assert_refused("\"device\":\"cpu\"", "\"devise\":\"cpu\"", "\"device\" is missing");
    assert_refused("\"ref\"]", "5]", "holds something that is not text");
    assert_refused("\"bias+gelu\"", "7", "\"mode\" is missing or not text");
    assert_refused("bias+gelu", "a_mode_that_is_far_too_long_for_any_op", "\"mode\" is too long");
    assert_refused(
        "llama_attn.wqkv",
        "a_label_that_is_far_too_long_to_keep_even_where_there_is_room_for_more_than_half_of_it",
        "\"label\" is too long");
    assert_refused("\"recipes\":[", "\"recipes\":{},\"x\":[", "\"recipes\" is not a list");
    assert_refused("\"int4wo-128-hqq\"", "4", "holds something that is not text");
    assert_refused("\"exclude\":[", "\"exclude\":\"\",\"x\":[", "\"exclude\" is not a list");
}

/* Any field that is taken away makes it unreadable, except those with a default. */
static void test_every_field_is_needed(void **state)
{
    (void)state;
    static const char *const needed[] = {
        "group",   "settings",  "op",       "dtype",     "axes", "device",   "threads",
        "hot",     "precision", "budget_s", "timeout_s", "seed", "baseline", "implementations",
        "kernels", "plugins",   "exclude"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        char from[40], to[40];
        snprintf(from, sizeof from, "\"%s\":", needed[i]);
        snprintf(to, sizeof to, "\"%s_\":", needed[i]);
        assert_refused(from, to, "");
    }
}

/* Plans made before recipes, modes and labels were known can be resumed. */
static void test_an_older_job_is_read(void **state)
{
    (void)state;
    static const char *const newer[] = {"\"mode\":", "\"label\":", "\"recipes\":"};
    struct assay_job job = full_job(), back;
    char *text = job_text(&job);
    for (int i = 0; i < 3; i++)
        strstr(text, newer[i])[1] = '_';
    assert_int_equal(read_job(text, &back, NULL), ASSAY_OK);
    assert_string_equal(back.group.mode, "");
    assert_string_equal(back.group.label, "");
    assert_int_equal(back.settings.recipes.n, 0);
    free(text);
    assay_job_fini(&job);
    assay_job_fini(&back);
}

static void test_a_plan_survives_the_journey(void **state)
{
    (void)state;
    struct assay_plan plan = {.max_elements = 50000000}, back;
    fill_settings(&plan.settings);
    for (int i = 1; i <= 100; i++) {
        struct assay_group group = {
            .op = "relu", .dtype = ASSAY_DTYPE_F32, .n_axes = 3, .axes = {i, 2, 3}};
        assert_int_equal(assay_plan_add(&plan, &group), ASSAY_OK);
    }
    assay_json *json = assay_plan_to_json(&plan);
    assert_int_equal(assay_plan_from_json(json, &back, NULL), ASSAY_OK);
    assert_int_equal(back.n_groups, 100);
    assert_int_equal(back.max_elements, 50000000);
    assert_int_equal(back.settings.kernels.n, 1);
    for (int i = 0; i < 100; i++)
        assert_same_group(&back.groups[i], &plan.groups[i]);
    assay_json_free(json);
    assay_plan_fini(&plan);
    assay_plan_fini(&back);
    assert_null(back.groups);
    struct assay_error err = {0};
    assert_int_equal(assay_plan_from_json(NULL, &back, &err), ASSAY_ERR_CORRUPT);
    assert_null(back.groups);
}

static void test_strings(void **state)
{
    (void)state;
    struct assay_strings list = {0}, copy;
    assert_int_equal(assay_strings_split(&list, "a,B,c"), ASSAY_OK);
    assert_int_equal(assay_strings_copy(&list, &copy), ASSAY_OK);
    assert_int_equal(copy.n, 3);
    assert_true(assay_strings_have(&copy, "b") && !assay_strings_have(&copy, "d"));
    assert_int_equal(assay_strings_split(&list, "d,,e"), ASSAY_ERR_INVALID);
    assay_strings_fini(&list);
    assay_strings_fini(&list);
    assert_int_equal(assay_strings_split(&list, ""), ASSAY_ERR_INVALID);
    assay_strings_fini(&list);
    assay_strings_fini(&copy);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    struct assay_job job = full_job();
    char *text = job_text(&job);
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct assay_job back;
        struct assay_settings copy;
        struct assay_error err = {0};
        assay_json *json = assay_json_parse(text, strlen(text), "test", NULL);
        assay_alloc_fail_after(nth);
        status = assay_job_from_json(json, &back, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        assay_json_free(json);
        assay_job_fini(&back);
        assay_alloc_fail_after(nth);
        enum assay_status copied = assay_settings_copy(&job.settings, &copy);
        assay_alloc_fail_after(0);
        assert_true(copied == ASSAY_OK || copied == ASSAY_ERR_NOMEM);
        assay_settings_fini(&copy);
        assert_true(nth < 100);
    }
    free(text);
    assay_job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_survives_the_journey),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_every_field_is_needed),
        cmocka_unit_test(test_an_older_job_is_read),
        cmocka_unit_test(test_a_plan_survives_the_journey),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
