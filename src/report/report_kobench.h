/* report_kobench.h: what KoBench's tables and its JSON have in common. */
#ifndef ASSAY_REPORT_KOBENCH_H
#define ASSAY_REPORT_KOBENCH_H

#include "report/report_cells.h"

/* A case's name: "mlp_gelu", "mlp_gelu/compiled"; of what is no preset's the op's or model's.
 * `variant`: the implementation, or assay_cell_variant(). */
struct assay_cell assay_kobench_name(const struct assay_record *record, const char *variant);
/* PyTorch's name of a type, without its prefix: "float16". */
const char *assay_kobench_dtype(enum assay_dtype dtype);
/* A parameter of a case as KoBench calls it: a number, a word, or true and false. */
struct assay_kobench_parameter {
    const char *key;
    double number;
    const char *text; /* NULL: it is the number */
    bool truth;       /* the number is 0 or 1 and means false or true */
};
enum { ASSAY_KOBENCH_PARAMETERS = ASSAY_MAX_AXES + 4 };
/* The record's axes, and of models of the built-in presets what KoBench's metadata has of them.
 * Gives their number. */
int32_t assay_kobench_parameters(const struct assay_record *record,
                                 struct assay_kobench_parameter out[ASSAY_KOBENCH_PARAMETERS]);
/* "40.0 MB", of 2^20 bytes; "25.77 G" with a unit behind it. "n/a" for NaN. */
struct assay_cell assay_kobench_memory(double bytes);
struct assay_cell assay_kobench_count(double count, const char *unit);
/* A count in a second; NaN where there is none. */
double assay_kobench_rate(double count, const struct assay_measurement *m);

#endif
