/* test_report_book.c: records come out of a book as they went in. */
#include "report_case.h"

#include "base/alloc.h"
#include "report/report_book.h"

#include <string.h>

/* Bytes that are zero, and not, in runs of every length. */
static void scramble(struct assay_record *record, uint32_t seed)
{
    unsigned char *bytes = (unsigned char *)record;
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < sizeof *record;) {
        state = state * 1664525u + 1013904223u;
        size_t length = (state >> 16) % (seed % 2 ? 20 : 700);
        for (size_t k = 0; k < length && i < sizeof *record; k++, i++)
            bytes[i] = state & 0x8000 ? 0 : (unsigned char)(state >> (k % 24));
    }
}

static void test_records_come_back(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_book_view view = {0};
    enum { GROUPS = 60, LARGEST = 5 };
    for (int64_t g = 0; g < GROUPS; g++) {
        struct assay_record records[LARGEST];
        for (uint32_t i = 0; i < LARGEST; i++)
            scramble(&records[i], (uint32_t)g * LARGEST + i);
        if (g % 20 == 0) {
            struct assay_run_info run = {.groups = g};
            assay_book_begin(&book, &run);
        }
        assay_book_add(&book, records, g % LARGEST + 1);
    }
    assert_false(book.failed);
    assert_int_equal(book.n_groups, GROUPS);
    assert_int_equal(book.n_runs, 3);
    for (int64_t g = GROUPS - 1; g >= 0; g--) {
        assert_true(assay_book_open(&book, g, &view));
        assert_int_equal(view.n, g % LARGEST + 1);
        assert_int_equal(view.run->info.groups, g / 20 * 20);
        for (uint32_t i = 0; i < view.n; i++) {
            struct assay_record record;
            scramble(&record, (uint32_t)g * LARGEST + i);
            assert_memory_equal(&record, &view.records[i], sizeof record);
        }
    }
    assay_book_view_fini(&view);
    assay_book_fini(&book);
}

/* A row of a usual run takes a fraction of a record. */
static void test_books_are_small(void **state)
{
    (void)state;
    struct assay_book book = {0};
    struct assay_run_info run = {0};
    struct assay_record record = plain_record(0, 0, "layernorm", "LayerNorm", "native");
    record.states[HOT] = around(2.31e6, 0.004);
    record.states[COLD] = around(2.71e6, 0.005);
    assay_book_begin(&book, &run);
    for (int i = 0; i < 100; i++)
        assay_book_add(&book, &record, 1);
    assert_true(book.packed_bytes / 100 < sizeof record / 3);
    assert_int_equal(book.n_records, 100);
    assay_book_fini(&book);
}

static void test_no_memory(void **state)
{
    (void)state;
    struct assay_run_info run = {0};
    struct assay_record record = plain_record(0, 0, "layernorm", "LayerNorm", "native");
    bool whole = false;
    for (int64_t n = 1; !whole; n++) {
        struct assay_book book = {0};
        struct assay_book_view view = {0};
        assay_alloc_fail_after(n);
        assay_book_begin(&book, &run);
        assay_book_add(&book, &record, 1);
        bool opened = book.n_groups == 1 && assay_book_open(&book, 0, &view);
        assay_alloc_fail_after(0);
        whole = opened && !book.failed;
        assert_true(whole || book.failed || view.n == 0);
        assay_book_view_fini(&view);
        assay_book_fini(&book);
        assert_true(n < 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_come_back),
        cmocka_unit_test(test_books_are_small),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
