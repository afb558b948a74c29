#include "report/report_row.h"

#include "report/report_cells.h"

#include <stdio.h>

const char *assay_row_mark(const struct assay_measurement *m, struct assay_legend *legend)
{
    bool disturbed = assay_cell_disturbed(m);
    legend->imprecise |= !m->precise;
    legend->disturbed |= m->precise && disturbed;
    return !m->precise ? "!" : disturbed ? "~" : "";
}

enum assay_ink assay_row_speedup_ink(const struct assay_record *record,
                                     const struct assay_measurement *m)
{
    int direction = assay_cell_direction(m);
    if (record->is_baseline || direction == 0)
        return ASSAY_INK_DIM;
    return direction > 0 ? ASSAY_INK_GOOD : ASSAY_INK_WARN;
}

void assay_row_reason(struct assay_line *line, const struct assay_record *record, int mark,
                      int width)
{
    bool fine = assay_outcome_is_fine(record->outcome);
    enum assay_ink ink = fine ? ASSAY_INK_DIM : ASSAY_INK_BAD;
    assay_line_left(line, fine ? "" : "✗", mark, ink);
    char text[sizeof(struct assay_cell) + sizeof record->reason + 2];
    snprintf(text, sizeof text, "%s%s%s", assay_cell_outcome(record->outcome).text,
             record->reason[0] ? ": " : "", record->reason);
    assay_line_put(line, text, width - line->columns, ink);
}

void assay_row_check(struct assay_line *line, const struct assay_record *record, int mark,
                     int width)
{
    const struct assay_verification *v = &record->verification;
    assay_line_left(line, "✓", mark, ASSAY_INK_GOOD);
    char text[160];
    snprintf(text, sizeof text, "right: max abs %.2g, max rel %.2g, %lld of %lld elements compared",
             v->max_abs, v->max_rel, (long long)v->compared, (long long)v->of);
    assay_line_put(line, text, width - line->columns, ASSAY_INK_PLAIN);
}
