/* report_md.h: writing Markdown as GitHub reads it. */
#ifndef ASSAY_REPORT_MD_H
#define ASSAY_REPORT_MD_H

#include "report/report_line.h"

struct assay_md {
    struct assay_sink sink;
    struct assay_report_style style; /* without colours */
    struct assay_line line;
};

void assay_md_init(struct assay_md *md, const struct assay_sink *sink,
                   const struct assay_report_style *style);

/* Assay's own text, which may hold markup. */
void assay_md_plain(struct assay_md *md, const char *text);
/* Text from elsewhere, so that Markdown takes none of it as markup. */
void assay_md_text(struct assay_md *md, const char *text);
/* " TEXT |" */
void assay_md_cell(struct assay_md *md, const char *text);

/* "assay 0.1.0 on Intel(R) Xeon(R) Processor, 2 threads, memory ceiling 40.9 GB/s" */
void assay_md_machine(struct assay_md *md, const struct assay_run_info *run);

#endif
