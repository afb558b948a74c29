/* draw_put.h: what the files of this folder write SVG with. */
#ifndef ASSAY_REPORT_DRAW_PUT_H
#define ASSAY_REPORT_DRAW_PUT_H

#include "report/draw/draw.h"

/* With two decimals at the most, a point in any locale, and no sign before a zero. */
void assay_draw_put_number(struct assay_text *out, double value);
/* ` x="12.5"` */
void assay_draw_put(struct assay_drawing *d, const char *attribute, double value);
/* ` fill="#1f2328"`, or ` fill="var(--ink-text)"` */
void assay_draw_put_ink(struct assay_drawing *d, const char *attribute, enum assay_ink ink);
/* Finite, and not farther outside the drawing than its size. */
bool assay_draw_reaches(const struct assay_drawing *d, double x, double y);

#endif
