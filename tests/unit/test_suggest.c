/* test_suggest.c: what is suggested for words of other tools. */
#include "unit.h"

#include "base/suggest.h"

#include <string.h>

static const char *const ops[] = {"linear", "gelu", "add"};

static const char *text_for(enum assay_topic topic, const char *word)
{
    static char text[160];
    return assay_suggest_text(topic, word, ops, 3, "nothing", text, sizeof text);
}

static void test_a_word_of_the_table(void **state)
{
    (void)state;
    assert_string_equal(text_for(ASSAY_TOPIC_OP, "gemm"), "did you mean \"linear\"?");
    assert_string_equal(text_for(ASSAY_TOPIC_OP, "MatMul"), "did you mean \"linear\"?");
    assert_string_equal(text_for(ASSAY_TOPIC_OP, "all"),
                        "name the ops (`assay list ops`), or none for a tour");
}

/* The table's name counts only where the command has it. */
static void test_a_name_that_is_no_candidate(void **state)
{
    (void)state;
    assert_null(assay_suggest(ASSAY_TOPIC_OP, "swish_norm_thing", ops, 3).name);
    assert_string_equal(text_for(ASSAY_TOPIC_OP, "ln"), "nothing");
    assert_null(assay_suggest(ASSAY_TOPIC_OP, "ln", ops, 3).hint);
}

static void test_topics_are_apart(void **state)
{
    (void)state;
    assert_null(assay_suggest(ASSAY_TOPIC_DEVICE, "gemm", ops, 1).name);
    struct assay_suggestion found = assay_suggest(ASSAY_TOPIC_OPTION, "json", ops, 3);
    assert_null(found.name);
    assert_non_null(strstr(found.hint, "-o FILE.json"));
}

static void test_the_nearest_is_what_is_left(void **state)
{
    (void)state;
    assert_string_equal(text_for(ASSAY_TOPIC_OP, "gellu"), "did you mean \"gelu\"?");
    assert_string_equal(text_for(ASSAY_TOPIC_OP, "qqqqqqq"), "nothing");
    assert_string_equal(text_for(ASSAY_TOPIC_OP, ""), "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_word_of_the_table),
        cmocka_unit_test(test_a_name_that_is_no_candidate),
        cmocka_unit_test(test_topics_are_apart),
        cmocka_unit_test(test_the_nearest_is_what_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
