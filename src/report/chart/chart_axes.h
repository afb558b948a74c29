/* chart_axes.h: what varies over a book: the axes that a chart of it can have.
 *
 * An axis is a size of the problem ("seq", "m"), or something else that tells records apart: the
 * dtype, the recipe, the implementation. Everything comes from the records and the runs they are
 * of, so a file that was read back has the same axes as the run it was written by. */
#ifndef ASSAY_REPORT_CHART_AXES_H
#define ASSAY_REPORT_CHART_AXES_H

#include "base/text.h"
#include "report/report_book.h"

enum assay_chart_axis_kind {
    ASSAY_CHART_AXIS_RUN,
    ASSAY_CHART_AXIS_MACHINE,
    ASSAY_CHART_AXIS_DEVICE,
    ASSAY_CHART_AXIS_OP,
    ASSAY_CHART_AXIS_MODE,
    ASSAY_CHART_AXIS_ENTRY,
    ASSAY_CHART_AXIS_COMPILE,
    ASSAY_CHART_AXIS_LABEL,
    ASSAY_CHART_AXIS_SHAPE,  /* all sizes: "1x4096x4096" */
    ASSAY_CHART_AXIS_MEMORY, /* bytes of the operands of one call */
    ASSAY_CHART_AXIS_DTYPE,
    ASSAY_CHART_AXIS_THREADS,
    ASSAY_CHART_AXIS_RECIPE,
    ASSAY_CHART_AXIS_IMPLEMENTATION, /* the kernel where it has several for one problem */
    ASSAY_CHART_AXIS_SIZE,           /* from here on one for each name of a size */
    ASSAY_CHART_AXES_MOST = ASSAY_CHART_AXIS_SIZE + 18 /* further sizes are left out */
};

struct assay_chart_value {
    char text[96]; /* "512", "native" */
    double number; /* of a numeric axis; else what named values are sorted by */
    int64_t seen;  /* how many values came before it */
};

struct assay_chart_axis {
    enum assay_chart_axis_kind kind;
    char name[20]; /* "seq", "dtype", "implementation": as a request has it */
    bool numeric;
    bool of_variants; /* differs within a group: recipe, implementation */
    bool partial;     /* some records have no value */
    int64_t n, capacity;
    struct assay_chart_value *values; /* numbers in growing order, shapes by the product of their
                                         sizes, names as they came */
};

struct assay_chart_axes {
    struct assay_chart_axis axes[ASSAY_CHART_AXES_MOST];
    int64_t n;
    int32_t *at; /* of each record and axis which of the values; see assay_chart_axes_at */
    int64_t n_records;
    bool failed; /* without memory */
};

/* Start from zeroes. Axes without any value are there too; sizes only where a record has them. */
void assay_chart_axes_find(const struct assay_book *book, struct assay_chart_axes *axes);
void assay_chart_axes_fini(struct assay_chart_axes *axes);

/* Which of the axis's values record `record` of the book (from 0) has; -1: none. */
int64_t assay_chart_axes_at(const struct assay_chart_axes *axes, int64_t axis, int64_t record);

/* By name; -1 where the book has none with a value. */
int64_t assay_chart_axes_named(const struct assay_chart_axes *axes, const char *name);
/* Do records differ in it? */
bool assay_chart_axis_varies(const struct assay_chart_axis *axis);
/* Have all records of the same value of `leader` the same of `axis` too? */
bool assay_chart_axes_follows(const struct assay_chart_axes *axes, int64_t axis, int64_t leader);
/* "seq, dtype, implementation": those that vary, or the numeric ones among them. */
void assay_chart_axes_names(const struct assay_chart_axes *axes, bool numeric, char *text,
                            size_t size);

#endif
