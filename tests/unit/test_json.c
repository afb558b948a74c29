/* JSON values: what is read and what is refused, and that a value which lost something for lack of
 * memory is never written as if it were complete. */
#include "unit.h"

#include "base/alloc.h"
#include "base/json.h"
#include "base/rng.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static assay_json *parse(const char *text, struct assay_error *err)
{
    return assay_json_parse(text, strlen(text), "text", err);
}

/* The text it is written back as; {"": …} around the value, so that any value can be tried. */
static void assert_reads_as(const char *value, const char *want)
{
    struct assay_text in = {0}, out = {0}, expected = {0};
    assay_text_format(&in, " {\"v\" :\t%s\r\n}\n", value);
    assay_text_format(&expected, "{\"v\":%s}", want);
    struct assay_error err = {0};
    assay_json *json = parse(in.data, &err);
    if (!json)
        fail_msg("%s: %s: %s", value, err.where, err.message);
    assay_json_write(json, 0, &out);
    assert_false(out.failed);
    assert_string_equal(out.data, expected.data);
    assay_json_free(json);
    assay_text_fini(&in);
    assay_text_fini(&out);
    assay_text_fini(&expected);
}

static void values_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const same[] = {"0",
                                       "-1",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "0.5",
                                       "1e-300",
                                       "true",
                                       "null",
                                       "[]",
                                       "{}",
                                       "[1,[2,{\"a\":[]}]]",
                                       "\"\"",
                                       "\"é\"",
                                       "\"\\n\\\"\"",
                                       "-0.0",
                                       "[false,null,\"\"]",
                                       "123456789012345678",
                                       "1.7976931348623157e308"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_reads_as(same[i], same[i]);
    assert_reads_as("1E2", "100.0");
    assert_reads_as("\"\\u00e9\\/\\b\"", "\"é/\\b\"");
    assert_reads_as("\"\\ud83d\\ude00\"", "\"😀\"");
    assert_reads_as("[ 1 , 2 ]", "[1,2]");
    assert_reads_as("1e-400", "0.0");
}

static void numbers_have_no_more_digits_than_they_need(void **state)
{
    (void)state;
    static const char *const as_typed[] = {"46754.4", "0.1",     "1.19",  "0.0074", "1e22",
                                           "1e-7",    "2.5e-10", "100.0", "-0.3",   "5e-324"};
    for (size_t i = 0; i < sizeof as_typed / sizeof as_typed[0] - 1; i++)
        assert_reads_as(as_typed[i], as_typed[i]);
    assert_reads_as("46754.400000000001", "46754.4");
    assert_reads_as("0.30000000000000004", "0.30000000000000004"); /* 0.1 + 0.2 is not 0.3 */
    assert_reads_as("0.3333333333333333", "0.3333333333333333");
    assert_reads_as("9007199254740993.0", "9007199254740992.0");
    assert_reads_as("5e-324", "4.94065645841247e-324");
}

/* Those of few decimals are not written by printf. */
static void few_decimals_are_as_printf_has_them(void **state)
{
    (void)state;
    struct assay_rng rng = {7};
    for (int i = 0; i < 20000; i++) {
        char quick[ASSAY_TEXT_REAL], usual[ASSAY_TEXT_REAL];
        double value = (double)(int64_t)(assay_rng_next(&rng) >> (14 + i % 50)) / pow(10, i % 7);
        value = i % 3 ? value : -value;
        assay_text_real(value, quick, sizeof quick);
        snprintf(usual, sizeof usual, "%.15g", value);
        if (strtod(usual, NULL) == value)
            assert_string_equal(quick, usual);
        assert_true(strtod(quick, NULL) == value);
    }
}

/* Each bit of a double comes back, whatever it is. */
static void every_number_reads_back_exactly(void **state)
{
    (void)state;
    struct assay_rng rng = {42};
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = assay_rng_next(&rng);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        assay_json *object = assay_json_object();
        struct assay_text text = {0};
        struct assay_error err = {0};
        assay_json_put_double(object, "v", i % 2 ? value : (double)(bits >> 40) / 1000);
        double put = assay_json_double(assay_json_get(object, "v"), 0);
        assay_json_write(object, 0, &text);
        assay_json *read = assay_json_parse(text.data, text.length, "text", &err);
        assert_non_null(read);
        back = assay_json_double(assay_json_get(read, "v"), 0);
        assert_memory_equal(&back, &put, sizeof back);
        assay_json_free(object);
        assay_json_free(read);
        assay_text_fini(&text);
    }
}

/* Indented, and with all that must be escaped. */
static void the_layout_is_the_usual_one(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,{\"b\":\"\\u0001\\t\\\\\"}],\"c\":{},\"d\":[]}";
    struct assay_error err = {0};
    struct assay_text out = {0};
    assay_json *json = parse(text, &err);
    assert_non_null(json);
    assay_json_write(json, 2, &out);
    assert_string_equal(out.data, "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"\\u0001\\t\\\\\"\n"
                                  "    }\n  ],\n  \"c\": {},\n  \"d\": []\n}");
    assay_json_free(json);
    assay_text_fini(&out);
}

static void what_is_not_json_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *where, *what;
    } table[] = {
        {"", "text:1:1", "expected"},
        {"12", "text:1:1", "expected"},
        {"{\"a\":1", "text:1:7", "'}' expected"},
        {"[1,]", "text:1:4", "a value expected"},
        {"{\"a\" 1}", "text:1:6", "':' expected"},
        {"{a:1}", "text:1:2", "a key in quotes"},
        {"[1] x", "text:1:5", "follows"},
        {"[01]", "text:1:3", "begins with 0"},
        {"[1.]", "text:1:4", "not complete"},
        {"[-]", "text:1:3", "not complete"},
        {"[1e+]", "text:1:5", "not complete"},
        {"[9223372036854775808]", "text:1:21", "64 bits"},
        {"[1e999]", "text:1:7", "too large"},
        {"[\"a", "text:1:4", "without its end"},
        {"[\"\\x\"]", "text:1:5", "unknown escape"},
        {"[\"\\u12\"]", "text:1:7", "hexadecimal"},
        {"[\"\\ud800\"]", "text:1:9", "surrogate"},
        {"[\"\\u0000\"]", "text:1:9", "not allowed"},
        {"[\"\t\"]", "text:1:3", "control character"},
        {"[\"\xff\"]", "text:1:3", "not UTF-8"},
        {"[\"\xc0\x80\"]", "text:1:3", "not UTF-8"},
        {"[\"\xed\xa0\x80\"]", "text:1:3", "not UTF-8"},
        {"{\"a\":1,\n \"é\":2, \"a\":3}", "text:2:12", "twice"},
        {"[tru]", "text:1:2", "a value expected"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_error err = {0};
        if (parse(table[i].text, &err) || err.code != ASSAY_ERR_CORRUPT ||
            !strstr(err.message, table[i].what) || strcmp(err.where, table[i].where) != 0)
            fail_msg("%s gives %s: %s", table[i].text, err.where, err.message);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    struct assay_text text = {0};
    for (int levels = 1000; levels <= 1001; levels++) {
        assay_text_clear(&text);
        for (int i = 0; i < levels; i++)
            assay_text_add(&text, "[");
        for (int i = 0; i < levels; i++)
            assay_text_add(&text, "]");
        assay_json *json = parse(text.data, NULL);
        assert_int_equal(json != NULL, levels == 1000);
        assay_json_free(json);
    }
    assay_text_fini(&text);
}

static void bytes_beyond_the_length_are_not_looked_at(void **state)
{
    (void)state;
    char text[] = {'[', '1', '2', ']', '3'};
    assay_json *json = assay_json_parse(text, 4, "text", NULL);
    assert_int_equal(assay_json_int(assay_json_at(json, 0), 0), 12);
    assay_json_free(json);
    assert_null(assay_json_parse(text, 3, "text", NULL));
}

/* An object with every kind of value. */
static assay_json *build(void)
{
    assay_json *root = assay_json_object(), *list = assay_json_array(), *late = assay_json_object();
    for (int i = 0; i < 20; i++)
        assay_json_append(list, i % 2 ? assay_json_from_int(i) : assay_json_from_double(i + 0.5));
    assay_json_put(root, "list", list);
    assay_json_put_string(late, "text", "a string that is longer than sixteen bytes: é");
    assay_json_put_string(late, "bytes", "caf\xe9");
    assay_json_put(late, "caf\xe9", assay_json_from_bool(true));
    assay_json_put(root, "late", late);
    for (int i = 0; i < 20; i++) {
        char key[32];
        snprintf(key, sizeof key, "key %d", i);
        assay_json_put_double(root, key, 1.0 / (i + 3));
    }
    return root;
}

/* Whichever allocation fails, and whether those after it do: all of it is written, or `failed`. */
static void nothing_incomplete_is_written(void **state)
{
    (void)state;
    struct assay_text whole = {0};
    assay_json *json = build();
    assay_json_write(json, 2, &whole);
    assay_json_free(json);
    assert_non_null(strstr(whole.data, "\"caf?\": true"));
    size_t held = assay_alloc_held();
    int64_t failures = 0;
    for (int once = 0; once < 2; once++) {
        bool failed = true;
        for (int64_t nth = 1; failed; nth++) {
            struct assay_text text = {0};
            (once ? assay_alloc_fail_once : assay_alloc_fail_after)(nth);
            json = build();
            assay_json_write(json, 2, &text);
            failed = assay_alloc_has_failed();
            assay_alloc_fail_after(0);
            if (!text.failed)
                assert_string_equal(text.data, whole.data);
            else
                assert_true(failed);
            failures += text.failed;
            assay_json_free(json);
            assay_text_fini(&text);
            assert_int_equal(assay_alloc_held(), held);
        }
    }
    assert_true(failures > 100);
    assay_text_fini(&whole);
}

/* jansson's own reader, in the same place, reads other numbers or beyond its buffer. */
static void reading_survives_every_failed_allocation(void **state)
{
    (void)state;
    struct assay_text text = {0};
    assay_json *json = build();
    assay_json_write(json, 0, &text);
    assay_json_free(json);
    size_t held = assay_alloc_held();
    for (int once = 0; once < 2; once++) {
        bool failed = true;
        for (int64_t nth = 1; failed; nth++) {
            struct assay_error err = {0};
            struct assay_text again = {0};
            (once ? assay_alloc_fail_once : assay_alloc_fail_after)(nth);
            json = parse(text.data, &err);
            failed = assay_alloc_has_failed();
            assay_alloc_fail_after(0);
            assert_int_equal(err.code, failed ? ASSAY_ERR_NOMEM : ASSAY_OK);
            assert_int_equal(json == NULL, failed);
            if (json) {
                assay_json_write(json, 0, &again);
                assert_string_equal(again.data, text.data);
            }
            assay_json_free(json);
            assay_text_fini(&again);
            assert_int_equal(assay_alloc_held(), held);
        }
    }
    assay_text_fini(&text);
}

static void a_null_container_makes_its_own_incomplete(void **state)
{
    (void)state;
    struct assay_text text = {0};
    assay_json *root = assay_json_object();
    assay_json_put_int(NULL, "a", 1);
    assay_json_append(NULL, assay_json_from_int(1));
    assert_true(assay_json_is_complete(root));
    assay_json_put(root, "list", NULL);
    assert_false(assay_json_is_complete(root));
    assay_json_write(root, 0, &text);
    assert_true(text.failed);
    assay_json_free(root);
    assay_text_fini(&text);
}

int main(void)
{
    assay_json_count_memory();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read_as_they_are_written),
        cmocka_unit_test(numbers_have_no_more_digits_than_they_need),
        cmocka_unit_test(few_decimals_are_as_printf_has_them),
        cmocka_unit_test(every_number_reads_back_exactly),
        cmocka_unit_test(the_layout_is_the_usual_one),
        cmocka_unit_test(what_is_not_json_is_refused_with_its_place),
        cmocka_unit_test(depth_is_limited),
        cmocka_unit_test(bytes_beyond_the_length_are_not_looked_at),
        cmocka_unit_test(nothing_incomplete_is_written),
        cmocka_unit_test(reading_survives_every_failed_allocation),
        cmocka_unit_test(a_null_container_makes_its_own_incomplete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
