/* test_axis.c: lists of sizes as people write them, and what must be refused. */
#include "unit.h"

#include "base/alloc.h"
#include "config/axis.h"

#include <stdio.h>
#include <string.h>

static void assert_values(const char *text, const char *expected)
{
    struct assay_axis axis;
    struct assay_error err = {0};
    char got[512] = "";
    if (assay_axis_parse("dim", text, &axis, &err) != ASSAY_OK)
        fail_msg("\"%s\" was refused: %s", text, err.message);
    for (int64_t i = 0; i < axis.n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%lld", i ? " " : "",
                 (long long)axis.values[i]);
    assert_string_equal(got, expected);
    assay_axis_fini(&axis);
    assert_null(axis.values);
}

static void assert_refused(const char *text, const char *part)
{
    struct assay_axis axis;
    struct assay_error err = {0};
    if (assay_axis_parse("dim", text, &axis, &err) != ASSAY_ERR_INVALID)
        fail_msg("\"%s\" was accepted", text);
    if (!strstr(err.message, part) || !strstr(err.message, "--dim"))
        fail_msg("\"%s\": %s", text, err.message);
    assert_null(axis.values);
    assert_int_equal(axis.n, 0);
}

static void test_what_is_read(void **state)
{
    (void)state;
    assert_values("1", "1");
    assert_values("16,32", "16 32");
    assert_values("32,16,32", "32 16");
    assert_values("16:128:x2", "16 32 64 128");
    assert_values("256:1024:+256", "256 512 768 1024");
    assert_values("16:127:x2", "16 32 64");
    assert_values("5:5:x2", "5");
    assert_values("1:10:x3,7,1:3:+1", "1 3 9 7 2");
    assert_values("9223372036854775807", "9223372036854775807");
    assert_values("4611686018427387904:9223372036854775807:x2", "4611686018427387904");
    assert_values("9223372036854775806:9223372036854775807:+1",
                  "9223372036854775806 9223372036854775807");
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "",
        ",",
        "16,",
        ",16",
        "16,,32",
        "a",
        "16a",
        "1.5",
        "16:128",
        "16:",
        ":",
        "::",
        ":::",
        "16:128:",
        "16:128:2",
        "16:128:x",
        "16:128:+",
        "16:128:*2",
        "16:128:x2:",
        "16:8:x2x",
        " 16",
        "16 ",
        "16:128:x2.5",
        "0x10",
        "1e3",
        "99999999999999999999",
        "16:128:x2,",
        "1:9999999999999999999999999999999999999999:x2",
        "16:128:x99999999999999999999999999999999",
        "\xff",
        "--",
    };
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        assert_refused(malformed[i], "is not a list of sizes");
    assert_refused("0", "at least 1, not 0");
    assert_refused("-4", "at least 1, not -4");
    assert_refused("-4:4:+1", "at least 1, not -4");
    assert_refused("0:4:x2", "at least 1, not 0");
    assert_refused("16:128:x1", "would never end");
    assert_refused("16:128:x0", "would never end");
    assert_refused("16:128:x-2", "would never end");
    assert_refused("16:128:+0", "would never end");
    assert_refused("16:8:x2", "runs backwards");
    assert_refused("1:100000:+1", "more than 4096 values");
    assert_refused("1:9223372036854775807:+1", "more than 4096 values");
}

static void test_zero_where_it_may_be(void **state)
{
    (void)state;
    struct assay_axis axis;
    struct assay_error err = {0};
    assert_int_equal(assay_axis_parse_from("set padding", "0,1,0:4:+2", 0, &axis, &err), ASSAY_OK);
    assert_int_equal(axis.n, 4);
    assert_int_equal(axis.values[0], 0);
    assay_axis_fini(&axis);
    assert_int_equal(assay_axis_parse_from("set padding", "0:8:x2", 0, &axis, &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "would never end"));
    err = (struct assay_error){0};
    assert_int_equal(assay_axis_parse_from("set padding", "-1", 0, &axis, &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.message, "--set padding must be at least 0, not -1");
}

static void test_a_very_long_item(void **state)
{
    (void)state;
    char text[1000];
    memset(text, '1', sizeof text);
    text[999] = '\0';
    assert_refused(text, "is not a list of sizes");
    text[500] = ',';
    assert_refused(text, "is not a list of sizes");
}

static void test_as_many_as_there_may_be(void **state)
{
    (void)state;
    struct assay_axis axis;
    assert_int_equal(assay_axis_parse("dim", "1:4096:+1", &axis, NULL), ASSAY_OK);
    assert_int_equal(axis.n, ASSAY_AXIS_MOST);
    assay_axis_fini(&axis);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct assay_axis axis;
    struct assay_error err = {0};
    assay_alloc_fail_after(1);
    assert_int_equal(assay_axis_parse("dim", "16", &axis, &err), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
    assert_int_equal(err.code, ASSAY_ERR_NOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_read),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_very_long_item),
        cmocka_unit_test(test_zero_where_it_may_be),
        cmocka_unit_test(test_as_many_as_there_may_be),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
