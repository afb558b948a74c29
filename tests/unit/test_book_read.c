/* test_book_read.c: runs read back into a book: journals and files with records, what is missing
 * of them, and what is refused. */
#include "bench/journal.h"
#include "compare/book_read.h"
#include "compare/results.h"
#include "report_case.h"
#include "temporary.h"

static int make_groups(struct group *groups)
{
    memset(groups, 0, 2 * sizeof *groups);
    for (int i = 0; i < 2; i++) {
        groups[i].records[0] = plain_record(i, 0, "gelu", "gelu", "onednn");
        groups[i].records[1] = plain_record(i, 1, "gelu", "gelu", "native");
        groups[i].records[1].states[HOT] = around(2e6 * (i + 1), 0.01);
        groups[i].n = 2;
    }
    return 2;
}

static const char *file_of(const char *name, const char *format)
{
    struct group groups[2];
    struct assay_text text = {0};
    report_groups(format, &usual_style, &a_run, groups, make_groups(groups), &text);
    const char *path = put_file(name, text.data);
    assay_text_fini(&text);
    return path;
}

static void assert_book(const struct assay_book *book, int64_t run, int64_t first)
{
    struct assay_book_view view = {0};
    assert_string_equal(book->runs[run].info.id, a_run.id);
    assert_int_equal(book->runs[run].n, 2);
    assert_true(assay_book_open(book, first + 1, &view));
    assert_int_equal(view.n, 2);
    assert_string_equal(view.records[1].implementation, "native");
    assert_true(view.records[1].states[HOT].time.median == 4e6);
    assay_book_view_fini(&view);
}

static void test_files(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_book_gaps gaps = {0};
    assert_int_equal(assay_book_read(file_of("a.json", "json"), &book, NULL, &gaps, NULL),
                     ASSAY_OK);
    assert_int_equal(assay_book_read(file_of("b", "jsonl"), &book, NULL, &gaps, NULL), ASSAY_OK);
    assert_int_equal(assay_book_read(file_of("c.html", "html"), &book, NULL, NULL, NULL), ASSAY_OK);
    assert_int_equal(book.n_runs, 3);
    assert_int_equal(book.n_groups, 6);
    assert_book(&book, 2, 4);
    assert_book(&book, 0, 0);
    assert_book(&book, 1, 2);
    int64_t planned = a_run.groups > 2 ? a_run.groups - 2 : 0;
    assert_int_equal(gaps.missing, 2 * planned);
    assert_int_equal(gaps.lost, 0);
    assay_book_fini(&book);
}

/* Two files behind each other are two runs; lines without a head are of an unknown one. */
static void test_lines(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_text text = {0};
    struct assay_book book = {0};
    int n = make_groups(groups);
    for (int i = 0; i < 2; i++)
        report_groups("jsonl", &usual_style, &a_run, groups, n, &text);
    assert_int_equal(assay_book_read(put_file("two.jsonl", text.data), &book, NULL, NULL, NULL),
                     ASSAY_OK);
    assert_int_equal(book.n_runs, 2);
    assert_book(&book, 1, 2);
    assay_book_fini(&book);
    assay_text_fini(&text);
}

static void heed(const char *text) { assert_non_null(strstr(text, ".jsonl:")); }

/* A journal of three groups, of which two are there; then one with a damaged line. */
static void test_journal(void **state)
{
    (void)state;
    struct group groups[2];
    struct assay_book book = {0};
    struct assay_book_gaps gaps = {0};
    struct assay_plan plan = {.settings = {.device = "cpu",
                                           .threads = 1,
                                           .hot = true,
                                           .precision = 0.01,
                                           .budget_s = 1,
                                           .timeout_s = 1}};
    struct assay_run_info run = a_run;
    assay_journal *journal;
    char path[512];
    setenv("XDG_DATA_HOME", in_temporary("data"), 1);
    for (int i = 0; i < 3; i++)
        assay_plan_add(&plan,
                       &(struct assay_group){
                           .op = "gelu", .dtype = ASSAY_DTYPE_F32, .n_axes = 1, .axes = {8}});
    run.groups = 3;
    make_groups(groups);
    assert_int_equal(assay_journal_create(&run, &plan, &journal, NULL), ASSAY_OK);
    snprintf(path, sizeof path, "%s", assay_journal_path(journal));
    for (int i = 0; i < 2; i++)
        assert_int_equal(assay_journal_append(journal, i, groups[i].records, 2, NULL), ASSAY_OK);
    assay_journal_close(journal);
    assay_plan_fini(&plan);

    assert_int_equal(assay_book_read("last", &book, heed, &gaps, NULL), ASSAY_OK);
    assert_book(&book, 0, 0);
    assert_int_equal(gaps.missing, 1);
    assert_int_equal(gaps.lost, 0);
    assay_book_fini(&book);

    struct assay_text text = {0};
    assert_int_equal(assay_folder_read_file(path, 1 << 20, &text, NULL), ASSAY_OK);
    char *second = strstr(strchr(text.data, '\n') + 1, "native");
    assert_non_null(second);
    second[0] = 'N';
    assert_int_equal(assay_folder_write_atomic(path, text.data, text.length, NULL), ASSAY_OK);
    assert_int_equal(assay_book_read(path, &book, heed, &gaps, NULL), ASSAY_OK);
    assert_int_equal(book.n_groups, 1);
    assert_int_equal(gaps.missing, 1 + 2);
    assert_int_equal(gaps.lost, 2);
    assay_book_fini(&book);
    assay_text_fini(&text);
}

static void refuse(const char *name, const char *message)
{
    struct assay_book book = {0};
    struct assay_error err = {0};
    assert_int_equal(assay_book_read(name, &book, NULL, NULL, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, message))
        fail_msg("%s: \"%s\" lacks \"%s\"", name, err.message, message);
    assay_book_fini(&book);
}

static void test_refused(void **state)
{
    (void)state;
    setenv("XDG_DATA_HOME", in_temporary("nothing"), 1);
    refuse("last", "there are no runs");
    refuse("gone.html", "no such file");
    refuse(put_file("empty", ""), "is empty");
    refuse(file_of("a.md", "md"), "holds no results that can be read back: that takes a run");
    refuse(file_of("a.csv", "csv"), "is of the format csv, which does not hold whole records");
    refuse(file_of("k.json", "kernel-json"), "is of the format kernel-json");
    refuse(put_file("other.html", "<!DOCTYPE html>\n<p>3 < 4"), "not a page that assay wrote");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_journal),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, temporary_make, temporary_remove);
}
