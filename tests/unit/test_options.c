/* test_options.c: a command line read by a table, in every form and with every mistake. */
#include "unit.h"

#include "base/alloc.h"
#include "config/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct config {
    struct assay_strings words, list, repeat;
    bool flag, other;
    const char *text;
    int64_t number, size;
    double duration, fraction;
};

#define AT(field) offsetof(struct config, field)

static const struct assay_option rows[] = {
    {"flag", 'f', ASSAY_OPTION_FLAG, AT(flag), NULL, "a flag", 0, 0},
    {"other", 0, ASSAY_OPTION_FLAG, AT(other), NULL, "another", 0, 0},
    {"text", 't', ASSAY_OPTION_TEXT, AT(text), "TEXT", "some text", 0, 0},
    {"number", 'n', ASSAY_OPTION_INT, AT(number), "N", "a number", 1, 100},
    {"size", 0, ASSAY_OPTION_SIZE, AT(size), "SIZE", "a size", 0, 9e18},
    {"duration", 0, ASSAY_OPTION_DURATION, AT(duration), "TIME", "a time", 1e-3, 100},
    {"fraction", 0, ASSAY_OPTION_FRACTION, AT(fraction), "P", "a share", 1e-5, 0.5},
    {"list", 'l', ASSAY_OPTION_LIST, AT(list), "LIST", "a list", 0, 0},
    {"repeat", 'r', ASSAY_OPTION_REPEAT, AT(repeat), "FILE", "a file; repeatable", 0, 0},
    {0},
};
static const struct assay_option_table table = {
    .options = rows, .words_offset = AT(words), .words = "[WORD...]"};
static const struct assay_option_table no_words = {.options = rows, .words_offset = -1};

/* The words of a line, split at blanks; "_" stands for an empty word. */
static enum assay_status parse_with(const struct assay_option_table *with, const char *line,
                                    struct config *out, struct assay_error *err)
{
    static char buffer[512]; /* texts are borrowed from it */
    char *argv[32];
    int argc = 0;
    snprintf(buffer, sizeof buffer, "%s", line);
    for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
        argv[argc++] = strcmp(word, "_") == 0 ? word + 1 : word;
    *out = (struct config){0};
    return assay_options_parse(with, argc, argv, out, err);
}

static struct config parse(const char *line)
{
    struct config config;
    struct assay_error err = {0};
    if (parse_with(&table, line, &config, &err) != ASSAY_OK)
        fail_msg("\"%s\" was refused: %s", line, err.message);
    return config;
}

static void assert_refused(const char *line, const char *message)
{
    struct config config;
    struct assay_error err = {0};
    if (parse_with(&table, line, &config, &err) != ASSAY_ERR_INVALID)
        fail_msg("\"%s\" was accepted", line);
    assert_string_equal(err.message, message);
    assert_int_equal(err.code, ASSAY_ERR_INVALID);
    assay_options_fini(&table, &config);
}

static void test_every_form(void **state)
{
    (void)state;
    struct config c = parse("--flag one --text=a=b --number 7 two -n8 -t - --size 2GiB");
    assert_true(c.flag && !c.other);
    assert_string_equal(c.text, "-");
    assert_int_equal(c.number, 8); /* the last one counts */
    assert_int_equal(c.size, INT64_C(2) << 30);
    assert_int_equal(c.words.n, 2);
    assert_string_equal(c.words.items[1], "two");
    assay_options_fini(&table, &c);
    c = parse("-f -t x -l a,b --list c --list=d -r a,b -rc");
    assert_true(c.flag);
    assert_int_equal(c.list.n, 4);
    assert_string_equal(c.list.items[3], "d");
    assert_int_equal(c.repeat.n, 2);
    assert_string_equal(c.repeat.items[0], "a,b");
    assert_string_equal(c.repeat.items[1], "c");
    assay_options_fini(&table, &c);
    c = parse("--duration 500ms --fraction 1% --text= -- --flag -x -");
    assert_near(c.duration, 0.5, 1e-15);
    assert_near(c.fraction, 0.01, 1e-15);
    assert_string_equal(c.text, "");
    assert_false(c.flag);
    assert_int_equal(c.words.n, 3);
    assert_string_equal(c.words.items[0], "--flag");
    assay_options_fini(&table, &c);
    c = parse("");
    assert_int_equal(c.words.n, 0);
    assay_options_fini(&table, &c);
    c = parse("-"); /* a word */
    assert_int_equal(c.words.n, 1);
    assay_options_fini(&table, &c);
}

static void test_every_mistake(void **state)
{
    (void)state;
    assert_refused("--flog", "unknown option --flog; did you mean --flag?");
    assert_refused("--numbr=3", "unknown option --numbr=3; did you mean --number?");
    assert_refused("--qqqqqqqq", "unknown option --qqqqqqqq; --help shows them all");
    assert_refused("-x", "unknown option -x; --help shows them all");
    assert_refused("-ff", "unknown option -ff; --help shows them all");
    assert_refused("--flag=yes", "--flag takes no value");
    assert_refused("--text", "--text needs a value");
    assert_refused("-n", "--number needs a whole number");
    assert_refused("--number x", "--number takes a whole number, not \"x\"");
    assert_refused("--number 1.5", "--number takes a whole number, not \"1.5\"");
    assert_refused("--number=", "--number takes a whole number, not \"\"");
    assert_refused("--number 0", "--number must lie between 1 and 100, not 0");
    assert_refused("--number 101", "--number must lie between 1 and 100, not 101");
    assert_refused("--number 99999999999999999999",
                   "--number takes a whole number, not \"99999999999999999999\"");
    assert_refused("--size -1", "--size takes a size such as 512M or 2GiB, not \"-1\"");
    assert_refused("--size 2X", "--size takes a size such as 512M or 2GiB, not \"2X\"");
    assert_refused("--size 1e30", "--size takes a size such as 512M or 2GiB, not \"1e30\"");
    assert_refused("--duration nan",
                   "--duration takes a duration such as 2s or 500ms, not \"nan\"");
    assert_refused("--duration 1000h", "--duration must lie between 0.001 and 100, not 1000h");
    assert_refused("--fraction inf", "--fraction takes a fraction such as 1% or 0.01, not \"inf\"");
    assert_refused("--fraction 0", "--fraction must lie between 1e-05 and 0.5, not 0");
    assert_refused("--list a,", "--list takes a list such as a,b,c, not \"a,\"");
    assert_refused("--list ,a", "--list takes a list such as a,b,c, not \",a\"");
    assert_refused("--list a,,b", "--list takes a list such as a,b,c, not \"a,,b\"");
    assert_refused("--list _", "--list takes a list such as a,b,c, not \"\"");
    assert_refused("--list ,", "--list takes a list such as a,b,c, not \",\"");
}

static void test_a_command_without_words(void **state)
{
    (void)state;
    struct config config;
    struct assay_error err = {0};
    assert_int_equal(parse_with(&no_words, "--flag word", &config, &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.message, "unexpected \"word\"");
    assay_options_fini(&no_words, &config);
}

static void test_an_option_of_any_length_is_told(void **state)
{
    (void)state;
    char word[4000];
    struct config config = {0};
    struct assay_error err = {0};
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    word[0] = word[1] = '-';
    char *argv[] = {word};
    assert_int_equal(assay_options_parse(&table, 1, argv, &config, &err), ASSAY_ERR_INVALID);
    assert_int_equal(strncmp(err.message, "unknown option --aaa", 20), 0);
    memcpy(word, "--list=", 7);
    err = (struct assay_error){0};
    assert_int_equal(assay_options_parse(&table, 1, argv, &config, &err), ASSAY_ERR_INVALID);
    assay_options_fini(&table, &config);
}

static void test_help_names_all_within_100_columns(void **state)
{
    (void)state;
    struct assay_text text = {0};
    assay_options_help(&table, &text);
    for (const struct assay_option *o = rows; o->name; o++) {
        assert_non_null(strstr(text.data, o->name));
        assert_non_null(strstr(text.data, o->help));
    }
    for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 100);
    assay_text_fini(&text);
}

/* A failure always comes with an error, or the program would end with 0. */
static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    enum assay_status status = ASSAY_ERR_NOMEM;
    for (int64_t nth = 1; status != ASSAY_OK; nth++) {
        struct config config;
        struct assay_error err = {0};
        assay_alloc_fail_after(nth);
        status = parse_with(&table, "word -l a,b -r c word", &config, &err);
        assay_alloc_fail_after(0);
        assert_int_equal(err.code, status);
        if (status != ASSAY_OK)
            assert_int_equal(status, ASSAY_ERR_NOMEM);
        assay_options_fini(&table, &config);
        assert_true(nth < 50);
    }
}

static enum assay_status parse_words(const struct assay_option_table *with, const char *line,
                                     void *out, struct assay_error *err)
{
    static char buffer[256]; /* texts are borrowed from it */
    char *argv[16];
    int argc = 0;
    snprintf(buffer, sizeof buffer, "%s", line);
    for (char *word = strtok(buffer, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    return assay_options_parse(with, argc, argv, out, err);
}

/* Rows of a struct that this command's struct holds somewhere, and an option that may stand alone.
 */
static void test_shared_rows(void **state)
{
    (void)state;
    struct inner {
        int64_t depth;
        struct assay_strings files;
    };
    struct outer {
        const char *summary;
        bool flag;
        struct inner inner;
    } got = {0};
    static const struct assay_option inner_rows[] = {
        {"depth", 'd', ASSAY_OPTION_INT, offsetof(struct inner, depth), "N", "how deep", 1, 9},
        {"file", 0, ASSAY_OPTION_REPEAT, offsetof(struct inner, files), "FILE", "a file", 0, 0},
        {0},
    };
    static const struct assay_option outer_rows[] = {
        {"flag", 'f', ASSAY_OPTION_FLAG, offsetof(struct outer, flag), NULL, "a flag", 0, 0},
        {"summary", 0, ASSAY_OPTION_SPARE, offsetof(struct outer, summary), "FILE", "maybe", 0, 0},
        {0},
    };
    static const struct assay_option_table both = {.options = outer_rows,
                                                   .words_offset = -1,
                                                   .shared = inner_rows,
                                                   .shared_offset = offsetof(struct outer, inner)};
    struct assay_error err = {0};
    struct assay_text help = {0};
    assert_int_equal(parse_words(&both, "-d 3 --summary --file=a --file b -f", &got, &err),
                     ASSAY_OK);
    assert_int_equal(got.inner.depth, 3);
    assert_string_equal(got.summary, "");
    assert_int_equal(got.inner.files.n, 2);
    assert_true(got.flag);
    assert_int_equal(parse_words(&both, "--summary x.md", &got, &err), ASSAY_OK);
    assert_string_equal(got.summary, "x.md");
    assert_int_equal(parse_words(&both, "--summary=y", &got, &err), ASSAY_OK);
    assert_string_equal(got.summary, "y");
    assert_int_equal(parse_words(&both, "--summary", &got, &err), ASSAY_OK);
    assert_string_equal(got.summary, "");
    assert_int_equal(parse_words(&both, "--depht 3", &got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "did you mean --depth?"));
    assay_options_help(&both, &help);
    assert_true(strstr(help.data, "--flag") < strstr(help.data, "--depth"));
    assay_text_fini(&help);
    assay_options_fini(&both, &got);
    assert_int_equal(got.inner.files.n, 0);
}

/* A number that may be left out, before words that look like one or do not. */
static void test_a_number_that_can_be_spared(void **state)
{
    (void)state;
    struct {
        int64_t port;
        struct assay_strings words;
    } got = {.port = -1};
    static const struct assay_option spare_rows[] = {
        {"serve", 's', ASSAY_OPTION_SPARE_INT, 0, "[PORT]", "serve", 0, 65535}, {0}};
    const struct assay_option_table spare = {
        .options = spare_rows, .words_offset = (int64_t)((char *)&got.words - (char *)&got)};
    static const struct {
        const char *words;
        int64_t port, n;
    } cases[] = {{"--serve", 0, 0},        {"--serve 8080", 8080, 0},    {"--serve last", 0, 1},
                 {"--serve=9 last", 9, 1}, {"--serve 20261118 x", 0, 2}, {"a --serve 0 b", 0, 2},
                 {"-s 81", 81, 0},         {"-s81 last", 81, 1},         {"--serve -- 8080", 0, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct assay_error err = {0};
        got.port = -1;
        assert_int_equal(parse_words(&spare, cases[i].words, &got, &err), ASSAY_OK);
        assert_int_equal(got.port, cases[i].port);
        assert_int_equal(got.words.n, cases[i].n);
        assay_options_fini(&spare, &got);
    }
    struct assay_error err = {0};
    assert_int_equal(parse_words(&spare, "--serve=70000", &got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "between 0 and 65535"));
    err = (struct assay_error){0};
    assert_int_equal(parse_words(&spare, "--serve 99999", &got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "between 0 and 65535"));
    err = (struct assay_error){0};
    assert_int_equal(parse_words(&spare, "--serve=x", &got, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "--serve takes a whole number, not \"x\""));
    assay_options_fini(&spare, &got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_number_that_can_be_spared),
        cmocka_unit_test(test_shared_rows),
        cmocka_unit_test(test_every_form),
        cmocka_unit_test(test_every_mistake),
        cmocka_unit_test(test_a_command_without_words),
        cmocka_unit_test(test_an_option_of_any_length_is_told),
        cmocka_unit_test(test_help_names_all_within_100_columns),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
