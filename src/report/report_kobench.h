/* report_kobench.h: what KoBench's tables and its JSON have in common. */
#ifndef ASSAY_REPORT_KOBENCH_H
#define ASSAY_REPORT_KOBENCH_H

#include "report/report_cells.h"

/* A case's name: "mlp_gelu", "mlp_gelu/compiled"; of what is no preset's the op's or model's.
 * `variant`: the implementation, or assay_cell_variant(). */
struct assay_cell assay_kobench_name(const struct assay_record *record, const char *variant);
/* PyTorch's name of a type, without its prefix: "float16". */
const char *assay_kobench_dtype(enum assay_dtype dtype);
/* "40.0 MB", of 2^20 bytes; "25.77 G" with a unit behind it. "n/a" for NaN. */
struct assay_cell assay_kobench_memory(double bytes);
struct assay_cell assay_kobench_count(double count, const char *unit);
/* A count in a second; NaN where there is none. */
double assay_kobench_rate(double count, const struct assay_measurement *m);

#endif
