/* report_totals_md.h: what a run says as a whole, in Markdown. */
#ifndef ASSAY_REPORT_TOTALS_MD_H
#define ASSAY_REPORT_TOTALS_MD_H

#include "report/report_md.h"
#include "report/report_totals.h"

/* A paragraph with who is fastest in how many groups. Nothing where there is nothing to sum up. */
void assay_md_verdict(struct assay_md *md, const struct assay_totals *totals);
/* A heading, a table of the means, and what is not in them; nothing likewise. */
void assay_md_totals(struct assay_md *md, const struct assay_totals *totals);

#endif
