/* fuzz_html.c: the input is a page, the data of one, or a record. What can be read is written as a
 * page and read again; from the second time on nothing changes any more. */
#include "report/html/html_page.h"
#include "report/html/html_put.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void append(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static void write_page(const struct assay_book *book, struct assay_text *page)
{
    struct assay_sink sink = {page, append, NULL};
    struct assay_html_options options = {.left = 0};
    assay_html_write(book, &options, &sink);
    if (page->failed)
        abort();
}

static bool read_page(const char *bytes, size_t size, struct assay_book *out)
{
    struct assay_error err = {0};
    enum assay_status status = assay_html_read(bytes, size, "fuzz", out, &err);
    if ((status != ASSAY_OK) != (err.message[0] != '\0'))
        abort();
    return status == ASSAY_OK;
}

/* The page of the book, and the book that it is read back as. */
static void pass(struct assay_book *book, struct assay_text *page)
{
    struct assay_book back;
    assay_text_clear(page);
    write_page(book, page);
    if (!read_page(page->data, page->length, &back) || back.n_records != book->n_records)
        abort();
    assay_book_fini(book);
    *book = back;
}

static void check(struct assay_book *book)
{
    struct assay_text once = {0}, twice = {0};
    for (int i = 0; i < 3; i++) /* figures are rounded, then samples by them */
        pass(book, &once);
    pass(book, &twice);
    if (strcmp(once.data, twice.data) != 0)
        abort();
    assay_text_fini(&once);
    assay_text_fini(&twice);
}

static bool read_data(const char *bytes, size_t size, struct assay_book *out)
{
    struct assay_text page = {0};
    assay_text_add(&page, ASSAY_HTML_DATA_BEGIN);
    assay_text_append(&page, bytes, size);
    assay_text_add(&page, ASSAY_HTML_DATA_END);
    bool read = read_page(page.data, page.length, out);
    assay_text_fini(&page);
    return read;
}

static bool read_record(const char *bytes, size_t size, struct assay_book *out)
{
    struct assay_record record;
    struct assay_run_info run = {.version = "0", .hot = true};
    assay_json *json = assay_json_parse(bytes, size, "fuzz", NULL);
    bool read = json && assay_record_from_json(json, &record, NULL) == ASSAY_OK;
    assay_json_free(json);
    *out = (struct assay_book){0};
    if (!read)
        return false;
    assay_book_begin(out, &run);
    assay_book_add(out, &record, 1);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct assay_book book;
    if (read_page(bytes, size, &book) || read_data(bytes, size, &book) ||
        read_record(bytes, size, &book))
        check(&book);
    assay_book_fini(&book);
    return 0;
}
