/* report_kobench.h: what KoBench's table and its JSON have in common. */
#ifndef ASSAY_REPORT_KOBENCH_H
#define ASSAY_REPORT_KOBENCH_H

#include "report/report_cells.h"

/* A case's name: "mlp_gelu", "mlp_gelu/compiled"; of what is no preset's the op's or model's. */
struct assay_cell assay_kobench_name(const struct assay_record *record);
/* PyTorch's name of a type, without its prefix: "float16". */
const char *assay_kobench_dtype(enum assay_dtype dtype);
/* A count in a second; NaN where there is none. */
double assay_kobench_rate(double count, const struct assay_measurement *m);

#endif
