#include "report/report_kobench.h"

#include "base/text.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct assay_cell assay_kobench_name(const struct assay_record *record, const char *variant)
{
    struct assay_cell cell = {""};
    bool eager = strcmp(record->implementation, "eager") == 0;
    bool plain = !record->recipe[0] || strcmp(record->recipe, "baseline") == 0;
    assay_cell_add(&cell, "%s", record->entry[0] ? record->entry : assay_cell_subject(record));
    if (variant[0] && !(eager && plain))
        assay_cell_add(&cell, "/%s", variant);
    if (!plain)
        assay_cell_add(&cell, "/%s", record->recipe);
    return cell;
}

const char *assay_kobench_dtype(enum assay_dtype dtype)
{
    const struct assay_dtype_info *info = assay_dtype_info(dtype);
    return !info ? "none" : info->aliases[1] ? info->aliases[1] : info->name;
}

struct assay_cell assay_kobench_memory(double bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    struct assay_cell cell = {"n/a"};
    int i = 0;
    if (!(bytes >= 0) || isinf(bytes))
        return cell;
    for (; i < 4 && (bytes >= 999.5 || (i < 2 && bytes > 0)); i++)
        bytes /= 1024; /* at least MB, except for 0 */
    snprintf(cell.text, sizeof cell.text, "%.*f %s",
             i == 0          ? 0
             : bytes < 9.995 ? 2
             : bytes < 99.95 ? 1
                             : 0,
             bytes, units[i]);
    return cell;
}

struct assay_cell assay_kobench_count(double count, const char *unit)
{
    struct assay_cell cell = {"n/a"};
    if (!(count >= 0) || isinf(count))
        return cell;
    assay_text_count(count, cell.text, sizeof cell.text);
    assay_cell_add(&cell, "%s", unit);
    return cell;
}

double assay_kobench_rate(double count, const struct assay_measurement *m)
{
    return m->time.mean > 0 ? count / (m->time.mean * 1e-9) : (double)NAN;
}
