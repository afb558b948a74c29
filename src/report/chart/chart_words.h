/* chart_words.h: what the heads of charts say: what was measured, and where. */
#ifndef ASSAY_REPORT_CHART_WORDS_H
#define ASSAY_REPORT_CHART_WORDS_H

#include "report/report_book.h"
#include "report/report_cells.h"

/* "layernorm f32"; of several types "layernorm"; of several ops the command up to its first option,
 * "assay run nightly.yml"; of a kernel repository its name. */
struct assay_cell assay_chart_subject(const struct assay_book *book);

/* "Intel Xeon 8480C · 2 threads · hot and cold · assay 0.1.0"; of several runs how many there are,
 * and on how many machines. */
struct assay_cell assay_chart_place(const struct assay_book *book);

/* "linear bias+gelu bf16 1x4096x4096"; of several runs with the run's id. */
struct assay_cell assay_chart_group_name(const struct assay_book *book,
                                         const struct assay_book_view *view);

#endif
