/* test_html.c: the page of a book: what is in it, that it is well-formed whatever is in the
 * records, that they can be read back, and how large it gets. test_browser has the rest: what a
 * browser makes of it. */
#include "book_case.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "report/html/html_page.h"

static void write_page(const struct assay_book *book, const struct assay_html_options *options,
                       struct assay_text *page)
{
    static const struct assay_html_options usual = {.left = 0};
    struct assay_sink sink = {page, write_text, NULL};
    assay_text_clear(page);
    assay_html_write(book, options ? options : &usual, &sink);
    assert_false(page->failed);
}

static void read_page(const struct assay_text *page, struct assay_book *out)
{
    struct assay_error err = {0};
    if (assay_html_read(page->data, page->length, "page", out, &err) != ASSAY_OK)
        fail_msg("%s: %s", err.where, err.message);
}

static void ten_thousand(void **state)
{
    (void)state;
    struct book_case c = {.sizes = 40, .variants = 4, .dtypes = 3, .samples = 128, .bad = true};
    struct assay_book book = {0};
    struct assay_text page = {0};
    for (int i = 0; i < 21; i++)
        book_case_add(&c, &book);
    print_message("%lld records\n", (long long)book.n_records);
    assay_alloc_reset_peak();
    int64_t start = assay_clock_ns();
    write_page(&book, NULL, &page);
    print_message("%zu bytes, %.3f s, peak %zu of %zu\n", page.length,
                  (double)(assay_clock_ns() - start) * 1e-9, assay_alloc_peak(), assay_alloc_held());
    FILE *f = fopen("/tmp/big.html", "w");
    fwrite(page.data, 1, page.length, f);
    fclose(f);
    struct assay_book back;
    start = assay_clock_ns();
    read_page(&page, &back);
    print_message("read %.3f s\n", (double)(assay_clock_ns() - start) * 1e-9);
    assert_int_equal(back.n_records, book.n_records);
    assay_book_fini(&back);
    assay_book_fini(&book);
    assay_text_fini(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
