/* memory_page.h: memory profiles as a page for a browser: one file without scripts, that loads
 * nothing. Of each variant what is held moment by moment, what holds the peak, how much is in use
 * at each node, and the plan of what lies between nodes. Tips have owner and size. */
#ifndef ASSAY_REPORT_MEMORY_PAGE_H
#define ASSAY_REPORT_MEMORY_PAGE_H

#include "report/draw/draw.h"
#include "trace/memory_items.h"

/* Parts of a page, one behind the other, appended to `out`: head, each variant, end. `about` is any
 * text; `number` is the variant's in the page. */
void assay_memory_page_begin(const char *about, struct assay_text *out);
void assay_memory_page_add(int64_t number, const struct assay_memory_profile *profile,
                           const struct assay_memory_items *items, struct assay_text *out);
void assay_memory_page_end(struct assay_text *out);

/* The charts alone (report/memory_chart.c): what is in use over the moments of the pass, and the
 * plan of a block, by node and offset. */
void assay_memory_draw_timeline(const struct assay_memory_profile *profile,
                                const struct assay_memory_items *items, const char *id,
                                struct assay_text *out);
void assay_memory_draw_plan(const struct assay_memory_profile *profile,
                            const struct assay_memory_items *items, bool apart, const char *id,
                            struct assay_text *out);

#endif
