/* test_folder.c: reading files, removing folders, sweeping up; texts fit for a terminal. */
#include "base/alloc.h"
#include "temporary.h"

#include <fcntl.h>
#include <time.h>

static void a_file_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    struct assay_text text = {0};
    struct assay_error err = {0};
    put_file("x", "four");
    assert_int_equal(assay_folder_read_file(in_temporary("x"), 4, &text, &err), ASSAY_OK);
    assert_string_equal(text.data, "four");
    assert_int_equal(assay_folder_read_file(in_temporary("x"), 3, &text, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "too large"));
    assay_text_fini(&text);
    err = (struct assay_error){0};
    assert_int_equal(assay_folder_read_file(temporary, 9, &text, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "directory"));
    assert_int_equal(mkfifo(in_temporary("pipe"), 0600), 0); /* does not wait for its other end */
    err = (struct assay_error){0};
    assert_int_equal(assay_folder_read_file(in_temporary("pipe"), 9, &text, &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "regular file"));
    assay_alloc_fail_after(1);
    assert_int_equal(assay_folder_read_file(in_temporary("x"), 9, &text, NULL), ASSAY_ERR_NOMEM);
    assay_alloc_fail_after(0);
    assay_text_fini(&text);
}

static void a_folder_goes_with_all_in_it_but_not_what_links_point_to(void **state)
{
    (void)state;
    put_file("a/b/c/file", "x");
    put_file("kept/file", "x");
    assert_int_equal(symlink(in_temporary("kept"), in_temporary("a/b/link")), 0);
    assert_int_equal(chmod(in_temporary("a/b/c/file"), 0400), 0);
    assay_folder_remove(in_temporary("a"));
    assert_int_not_equal(access(in_temporary("a"), F_OK), 0);
    assert_int_equal(access(in_temporary("kept/file"), F_OK), 0);
    assay_folder_remove(in_temporary("none")); /* nothing to do */
}

static void litter_is_swept_up_after_a_day(void **state)
{
    (void)state;
    static const char *const names[] = {"f/old.1-2.tmp", "f/new.1-2.tmp", "f/old.c"};
    const struct timespec two_days_ago[2] = {{.tv_sec = time(NULL) - 172800},
                                             {.tv_sec = time(NULL) - 172800}};
    for (int i = 0; i < 3; i++)
        put_file(names[i], "x");
    assert_int_equal(utimensat(AT_FDCWD, in_temporary(names[0]), two_days_ago, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, in_temporary(names[2]), two_days_ago, 0), 0);
    assay_folder_sweep(in_temporary("f"));
    assert_int_not_equal(access(in_temporary(names[0]), F_OK), 0);
    assert_int_equal(access(in_temporary(names[1]), F_OK), 0);
    assert_int_equal(access(in_temporary(names[2]), F_OK), 0);
    assay_folder_sweep(in_temporary("none"));
}

static void names_are_shown_without_what_moves_the_cursor(void **state)
{
    (void)state;
    static const struct {
        const char *name, *want;
    } table[] = {
        {"benchmark_silu.c", "benchmark_silu.c"},
        {"zwei Wörter – ß.c", "zwei Wörter – ß.c"},
        {"a\nb\tc", "a\\nb\\tc"},
        {"\x1b[31mred\x7f", "\\x1b[31mred\\x7f"},
        {"\xc2\x9b"
         "1m",
         "\\xc2\\x9b1m"}, /* the one-byte form of ESC [ */
        {"caf\xe9.c", "caf\\xe9.c"},
        {"\xff\xfe", "\\xff\\xfe"},
        {"cut\xe2\x82", "cut\\xe2\\x82"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct assay_text text = {0};
        assay_text_add_shown(&text, table[i].name);
        assert_string_equal(text.data ? text.data : "", table[i].want);
        assay_text_fini(&text);
    }
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_file_is_read_whole_or_not_at_all),
        WITH_FOLDER(a_folder_goes_with_all_in_it_but_not_what_links_point_to),
        WITH_FOLDER(litter_is_swept_up_after_a_day),
        cmocka_unit_test(names_are_shown_without_what_moves_the_cursor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
