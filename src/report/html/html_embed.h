/* html_embed.h: page.css and page.js, which travel in the program (cmake/embed.cmake). */
#ifndef ASSAY_REPORT_HTML_EMBED_H
#define ASSAY_REPORT_HTML_EMBED_H

struct assay_html_text_file {
    const char *name, *text;
};
extern const struct assay_html_text_file assay_html_texts_embedded[];
extern const int assay_html_n_texts;

#endif
