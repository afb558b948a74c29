/* profile_show.h: breakdowns of profiles as a table, as Markdown and as JSON; and two of them side
 * by side, node by node. */
#ifndef ASSAY_CLI_PROFILE_SHOW_H
#define ASSAY_CLI_PROFILE_SHOW_H

#include "report/report.h"
#include "trace/breakdown.h"

enum assay_profile_by {
    ASSAY_PROFILE_BY_ALL,
    ASSAY_PROFILE_BY_NODE,
    ASSAY_PROFILE_BY_KERNEL,
    ASSAY_PROFILE_BY_PHASE /* of models in training */
};

/* Each appends to `out`, whose `failed` says that there was no memory. */
void assay_profile_table(const struct assay_breakdowns *profiles, enum assay_profile_by by,
                         const struct assay_report_style *style, struct assay_text *out);
void assay_profile_md(const struct assay_breakdowns *profiles, enum assay_profile_by by,
                      struct assay_text *out);
void assay_profile_json(const struct assay_breakdowns *profiles, struct assay_text *out);

/* Variants with the same title, or the only ones of each. */
enum assay_status assay_profile_compare(const struct assay_breakdowns *a,
                                        const struct assay_breakdowns *b, bool json,
                                        const struct assay_report_style *style,
                                        struct assay_text *out, struct assay_error *err);

#endif
