/* html_texts.h: texts that are written once: from then on the number of the text stands for it. */
#ifndef ASSAY_REPORT_HTML_TEXTS_H
#define ASSAY_REPORT_HTML_TEXTS_H

#include "base/text.h"

/* Start from zeroes. */
struct assay_html_texts {
    struct assay_text bytes; /* all of them, one behind the other with their ends */
    struct assay_html_text {
        size_t at;
        uint64_t hash;
    } * texts;      /* in the order in which they came */
    int32_t *slots; /* a hash table: numbers from 1; 0: free */
    int64_t n, capacity, n_slots;
};

/* The number of the text, or -1: it is new, and has the next number now. Without memory every text
 * is new, and has none: `failed` of bytes. */
int64_t assay_html_texts_number(struct assay_html_texts *texts, const char *text);
const char *assay_html_texts_at(const struct assay_html_texts *texts, int64_t number);
void assay_html_texts_fini(struct assay_html_texts *texts);

#endif
