/* test_samples.c: which samples a record keeps, and how they are written and read. */
#include "unit.h"

#include "record/samples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Samples 0, 1, 2, …; each third one is disturbed. */
static struct assay_samples take(int64_t total)
{
    struct assay_samples s = {0};
    for (int64_t i = 0; i < total; i++)
        assay_samples_offer(&s, total, i, (double)i, i % 3 == 0);
    return s;
}

static void few_are_all_kept(void **state)
{
    (void)state;
    static const int64_t totals[] = {1, 2, 40, ASSAY_SAMPLES_KEPT};
    for (int t = 0; t < 4; t++) {
        struct assay_samples s = take(totals[t]);
        assert_int_equal(s.n, totals[t]);
        assert_int_equal(s.every, 1);
        for (int64_t i = 0; i < s.n; i++) {
            assert_near(s.ns[i], (double)i, 0);
            assert_int_equal(assay_samples_is_disturbed(&s, i), i % 3 == 0);
        }
        assert_int_equal(assay_samples_count_disturbed(&s), (s.n + 2) / 3);
    }
}

static void of_many_one_in_each_row_is_kept(void **state)
{
    (void)state;
    static const int64_t totals[] = {129, 255, 256, 257, 1000, 1000000};
    for (int t = 0; t < 6; t++) {
        struct assay_samples s = take(totals[t]);
        int64_t every = (totals[t] + 127) / 128;
        assert_int_equal(s.every, every);
        assert_int_equal(s.n, (totals[t] + every - 1) / every);
        assert_true(s.n <= ASSAY_SAMPLES_KEPT && s.n > ASSAY_SAMPLES_KEPT / 2);
        for (int64_t i = 0; i < s.n; i++) {
            int64_t taken = (int64_t)s.ns[i];
            assert_int_equal(taken / every, i);
            assert_int_equal(assay_samples_is_disturbed(&s, i), taken % 3 == 0);
        }
    }
}

/* Hot samples are taken four at a time on one set of operands: none of the four is preferred. */
static void no_step_is_preferred(void **state)
{
    (void)state;
    struct assay_samples s = take(4 * ASSAY_SAMPLES_KEPT);
    int counts[4] = {0};
    for (int64_t i = 0; i < s.n; i++)
        counts[(int64_t)s.ns[i] % 4]++;
    for (int i = 0; i < 4; i++)
        assert_in_range(counts[i], 20, 44);
}

static struct assay_text text_of(const struct assay_samples *samples)
{
    struct assay_text text = {0};
    assay_json *json = assay_samples_to_json(samples);
    assay_json_write(json, 0, &text);
    assay_json_free(json);
    assert_false(text.failed);
    return text;
}

static const char *read_text(const char *text, struct assay_samples *out, char place[64])
{
    struct assay_error err = {0};
    assay_json *json = assay_json_parse(text, strlen(text), "test", &err);
    assert_string_equal(err.message, "");
    const char *problem = assay_samples_from_json(json, out, place, 64);
    assay_json_free(json);
    return problem;
}

static void five_digits_are_written(void **state)
{
    (void)state;
    static const double times[] = {0,       1,       0.123456,  99.99949, 99.9996, 12345.6,
                                   1234567, 1e9 / 3, 1e-30 / 3, 3.4e38,   128};
    struct assay_samples s = {0};
    for (int i = 0; i < 11; i++)
        assay_samples_offer(&s, 11, i, times[i], i == 2 || i == 10);
    struct assay_text text = text_of(&s);
    assert_string_equal(text.data, "{\"every\":1,\"ns\":[0,1,0.12346,99.999,100,12346,1234600,"
                                   "333330000,3.3333e-31,3.4e38,128],\"disturbed\":[2,10]}");
    assay_text_fini(&text);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    char place[64];
    struct assay_samples s = {0}, back;
    for (int i = 0; i < 100; i++)
        assay_samples_offer(&s, 100, i, 0.1 * pow(1.3, i), i % 7 == 0);
    struct assay_text once = text_of(&s);
    assert_null(read_text(once.data, &back, place));
    assert_int_equal(back.n, s.n);
    assert_int_equal(back.every, s.every);
    assert_memory_equal(back.disturbed, s.disturbed, sizeof s.disturbed);
    for (int i = 0; i < s.n; i++)
        assert_near(back.ns[i] / s.ns[i], 1, 6e-5);
    struct assay_text twice = text_of(&back);
    assert_string_equal(twice.data, once.data);
    assay_text_fini(&once);
    assay_text_fini(&twice);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *problem;
    } mistakes[] = {
        {"[]", "", "is not an object"},
        {"{\"ns\":[1],\"disturbed\":[]}", ".every", "is not a whole number from 1 on"},
        {"{\"every\":1.5,\"ns\":[1],\"disturbed\":[]}", ".every", "is not a whole number"},
        {"{\"every\":0,\"ns\":[1],\"disturbed\":[]}", ".every", "is not a whole number"},
        {"{\"every\":2147483648,\"ns\":[1],\"disturbed\":[]}", ".every", "is not a whole number"},
        {"{\"every\":1,\"disturbed\":[]}", ".ns", "is not an array of times"},
        {"{\"every\":1,\"ns\":[],\"disturbed\":[]}", ".ns", "is not an array of times"},
        {"{\"every\":1,\"ns\":{\"0\":1},\"disturbed\":[]}", ".ns", "is not an array of times"},
        {"{\"every\":1,\"ns\":[1,null],\"disturbed\":[]}", ".ns[1]", "is not a time"},
        {"{\"every\":1,\"ns\":[\"1\"],\"disturbed\":[]}", ".ns[0]", "is not a time"},
        {"{\"every\":1,\"ns\":[1,2,-1],\"disturbed\":[]}", ".ns[2]", "is not a time"},
        {"{\"every\":1,\"ns\":[1e39],\"disturbed\":[]}", ".ns[0]", "is not a time"},
        {"{\"every\":1,\"ns\":[1]}", ".disturbed", "is not an array of indices"},
        {"{\"every\":1,\"ns\":[1],\"disturbed\":[1]}", ".disturbed[0]", "is not the index"},
        {"{\"every\":1,\"ns\":[1],\"disturbed\":[-1]}", ".disturbed[0]", "is not the index"},
        {"{\"every\":1,\"ns\":[1,2],\"disturbed\":[1,0]}", ".disturbed[1]", "is not the index"},
        {"{\"every\":1,\"ns\":[1,2],\"disturbed\":[1,1]}", ".disturbed[1]", "is not the index"},
        {"{\"every\":1,\"ns\":[1,2],\"disturbed\":[0.5]}", ".disturbed[0]", "is not the index"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char place[64] = "?";
        struct assay_samples out;
        const char *problem = read_text(mistakes[i].text, &out, place);
        assert_non_null(problem);
        assert_string_equal(place, mistakes[i].place);
        assert_ptr_equal(strstr(problem, mistakes[i].problem), problem);
    }
}

static void too_many_are_refused(void **state)
{
    (void)state;
    char place[64];
    struct assay_samples out;
    struct assay_text text = {0};
    assay_text_add(&text, "{\"every\":1,\"ns\":[");
    for (int i = 0; i <= ASSAY_SAMPLES_KEPT; i++)
        assay_text_add(&text, i ? ",1" : "1");
    assay_text_add(&text, "],\"disturbed\":[]}");
    assert_string_equal(read_text(text.data, &out, place), "holds more times than are kept");
    assert_string_equal(place, ".ns");
    assay_text_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_are_all_kept),
        cmocka_unit_test(of_many_one_in_each_row_is_kept),
        cmocka_unit_test(no_step_is_preferred),
        cmocka_unit_test(five_digits_are_written),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(too_many_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
