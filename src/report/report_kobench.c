#include "report/report_kobench.h"

#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

struct assay_cell assay_kobench_name(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    bool eager = strcmp(record->implementation, "eager") == 0;
    bool plain = !record->recipe[0] || strcmp(record->recipe, "baseline") == 0;
    assay_cell_add(&cell, "%s", record->entry[0] ? record->entry : assay_cell_subject(record));
    if (record->implementation[0] && !(eager && plain))
        assay_cell_add(&cell, "/%s", record->implementation);
    if (!plain)
        assay_cell_add(&cell, "/%s", record->recipe);
    return cell;
}

const char *assay_kobench_dtype(enum assay_dtype dtype)
{
    const struct assay_dtype_info *info = assay_dtype_info(dtype);
    return !info ? "none" : info->aliases[1] ? info->aliases[1] : info->name;
}

double assay_kobench_rate(double count, const struct assay_measurement *m)
{
    return m->time.mean > 0 ? count / (m->time.mean * 1e-9) : (double)NAN;
}
