/* html_put.h: what the files of this folder write a page with. */
#ifndef ASSAY_REPORT_HTML_PUT_H
#define ASSAY_REPORT_HTML_PUT_H

#include "report/html/html_page.h"

/* Text on its way to the sink, in pieces of a size that suits both. */
struct assay_html_out {
    const struct assay_sink *sink;
    struct assay_text text;
    size_t written; /* passed on */
};

/* Passes on what is there; without memory for it the sink is told. */
void assay_html_flush(struct assay_html_out *out);
/* The same where it is much. */
void assay_html_flush_much(struct assay_html_out *out);

static inline void assay_html_put(struct assay_html_out *out, const char *markup)
{
    assay_text_add(&out->text, markup);
}
/* <name>text</name>, the text escaped; nothing where that is empty. `name` may have attributes. */
void assay_html_element(struct assay_html_out *out, const char *name, const char *text);

/* ---- data: html_data.c ---------------------------------------------------------------------- */

enum {
    ASSAY_HTML_FORMAT = 1, /* of the data; grows when an older reader would be misled */
    ASSAY_HTML_COLUMNS = 224
};
/* What begins and ends the data in a page, each on a line of its own. */
#define ASSAY_HTML_DATA_BEGIN "<script type=\"application/json\" id=\"assay-data\">\n"
#define ASSAY_HTML_DATA_END "</script>\n"

/* How many samples of a figure a page has space for. */
struct assay_html_samples {
    int64_t figures; /* that have samples */
    int64_t most;    /* kept of each */
    bool thinned;    /* some had more */
};
/* Where `written` bytes of the page are there already. */
struct assay_html_samples assay_html_samples_of(const struct assay_book *book, size_t written);

void assay_html_put_data(struct assay_html_out *out, const struct assay_book *book, int64_t left,
                         const struct assay_html_samples *samples);

#endif
