/* test_expression.c: what expressions mean, and where they are wrong. */
#include "unit.h"

#include "base/expression.h"

#include <stdio.h>
#include <string.h>

static const struct assay_variable variables[] = {
    {"batch", 4}, {"seq_len", 1024}, {"embed_dim", 2048}, {"zero", 0}, {"_x1", 7}};
enum { VARIABLES = sizeof variables / sizeof variables[0] };

static void assert_value(const char *text, double want)
{
    double got;
    struct assay_error err = {0};
    if (assay_expression_value(text, variables, VARIABLES, &got, &err) != ASSAY_OK)
        fail_msg("\"%s\" was refused: %s", text, err.message);
    assert_near(got, want, 0);
}

static void assert_refused(const char *text, int column, const char *part)
{
    double got;
    struct assay_error err = {0};
    char at[32];
    snprintf(at, sizeof at, "column %d: ", column);
    if (assay_expression_value(text, variables, VARIABLES, &got, &err) != ASSAY_ERR_INVALID)
        fail_msg("\"%s\" was accepted", text);
    if (!strstr(err.message, part) || (column && strncmp(err.message, at, strlen(at)) != 0))
        fail_msg("\"%s\": %s, not %s%s", text, err.message, at, part);
}

static void test_values(void **state)
{
    (void)state;
    assert_value("1", 1);
    assert_value(" 2 + 3*4 ", 14);
    assert_value("(2 + 3)*4", 20);
    assert_value("2*3 - 4 - 5", -3);
    assert_value("100/10/5", 2);
    assert_value("7 % 4", 3);
    assert_value("7 % 4 * 2", 6);
    assert_value("3/2", 1.5);
    assert_value("-2*-3", 6);
    assert_value("- -4", 4);
    assert_value("1e9", 1e9);
    assert_value("2.5E-1", 0.25);
    assert_value(".5", 0.5);
    assert_value("batch", 4);
    assert_value("_x1", 7);
    assert_value("4*batch*seq_len*embed_dim*embed_dim + 2*batch", 68719476744.0);
    assert_value("min(batch, 3, 9)", 3);
    assert_value("max(1, batch*2) + 1", 9);
    assert_value("min(5)", 5);
    assert_value("max(min(1, 2), -3)", 1);
    assert_value("9007199254740992", 9007199254740992.0);
}

static void test_mistakes(void **state)
{
    (void)state;
    assert_refused("", 1, "is missing here");
    assert_refused("  ", 3, "is missing here");
    assert_refused("1 +", 4, "is missing here");
    assert_refused("(1", 3, "\")\" is missing");
    assert_refused("1)", 2, "an operator is missing");
    assert_refused("4k", 2, "an operator is missing");
    assert_refused("batch seq_len", 7, "an operator is missing");
    assert_refused("2*bach", 3, "did you mean \"batch\"");
    assert_refused("2*bach", 3, "seq_len");
    assert_refused("qqqqqqqqqqqqq", 1, "unknown name \"qqqqqqqqqqqqq\"; there are batch");
    assert_refused("1/zero", 2, "divides by zero");
    assert_refused("1 + 5%(1-1)", 6, "divides by zero");
    assert_refused("sqrt(4)", 1, "min and max");
    assert_refused("min(", 5, "is missing here");
    assert_refused("min(1,", 7, "is missing here");
    assert_refused("max(1", 6, "\")\" is missing");
    assert_refused("min", 1, "unknown name");
    assert_refused("1.2.3", 1, "not a number");
    assert_refused("1e999", 1, "not a number");
    assert_refused("1e300*1e300", 1, "too large");
    assert_refused("1 & 2", 3, "an operator is missing");
    assert_refused("2**3", 3, "is missing here");
    assert_refused("\xc3\xa9", 1, "is missing here");
}

static void test_depth_and_length(void **state)
{
    (void)state;
    char text[ASSAY_EXPRESSION_LENGTH + 2];
    memset(text, '(', 40);
    strcpy(text + 40, "1");
    assert_refused(text, ASSAY_EXPRESSION_DEPTH + 1, "too deep");
    memset(text, '-', 40);
    assert_refused(text, ASSAY_EXPRESSION_DEPTH + 1, "too deep");
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_refused(text, 0, "more than 512");
    memset(text, ' ', sizeof text - 2);
    strcpy(text + sizeof text - 3, "1");
    assert_value(text, 1);
}

static void test_sizes(void **state)
{
    (void)state;
    int64_t size;
    struct assay_error err = {0};
    assert_int_equal(assay_expression_size("batch*2", variables, VARIABLES, 1, &size, &err), 0);
    assert_int_equal(size, 8);
    assert_int_equal(assay_expression_size("zero", variables, VARIABLES, 0, &size, &err), 0);
    assert_int_equal(size, 0);
    static const char *const wrong[] = {"zero", "batch/3", "-1", "1e30", "bach"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        err = (struct assay_error){0};
        assert_int_equal(assay_expression_size(wrong[i], variables, VARIABLES, 1, &size, &err),
                         ASSAY_ERR_INVALID);
        assert_int_equal(size, 1);
        assert_true(err.message[0] != '\0');
    }
}

static void test_names(void **state)
{
    (void)state;
    assert_true(assay_expression_names("2*batch + 1", "batch"));
    assert_true(assay_expression_names("batch", "batch"));
    assert_false(assay_expression_names("batches", "batch"));
    assert_false(assay_expression_names("my_batch", "batch"));
    assert_false(assay_expression_names("1e9", "e9"));
    assert_false(assay_expression_names("", "batch"));
    assert_true(assay_expression_is_name("num_heads"));
    assert_true(assay_expression_is_name("_2"));
    assert_false(assay_expression_is_name("2x"));
    assert_false(assay_expression_is_name("a b"));
    assert_false(assay_expression_is_name(""));
    assert_false(assay_expression_is_name("max"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_depth_and_length),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
