/* report_breakeven.h: from which shape on a recipe pays.
 *
 * Along a sweep of shapes each recipe's speedup over the baseline has an interval. A recipe pays
 * from the first shape on from which all of its intervals lie wholly above 1, to the end of the
 * sweep; the break-even lies between that shape and the last one before it whose interval lies
 * wholly below
 * 1. What is neither is open, and belongs to the interval. Nothing is fitted to the points.
 *
 * A sweep is what differs in its sizes alone. Where all sizes that differ grow together they are
 * one sweep, m = k = n = 256, 512, …; else one size grows while the others stand still.
 *
 * Of ops that train, the products of a step are also taken together: sums of their medians, with
 * the sums of the ends of these medians' intervals, which is wider than it need be. */
#ifndef ASSAY_REPORT_BREAKEVEN_H
#define ASSAY_REPORT_BREAKEVEN_H

#include "report/report_book.h"
#include "report/report_cells.h"

/* One recipe at one shape in one cache state. */
struct assay_breakeven_point {
    struct assay_cell op, variant; /* "linear_backward dx", "float8dq-row native" */
    char recipe[64];
    enum assay_dtype dtype;
    enum assay_cache_state state;
    int32_t n_axes;
    int64_t axes[ASSAY_MAX_AXES];
    char axis_names[ASSAY_MAX_AXES][16];
    double ratio;
    struct assay_interval ci;        /* of the ratio */
    struct assay_interval base, own; /* of the medians; ns */
    double base_ns, own_ns;
    bool open;     /* the ratio says nothing: too few rounds, no figures, or no difference */
    bool same;     /* no difference, and one of 10 % would have been seen */
    int64_t order; /* of its op, among those that came */
    int64_t run;
    int32_t threads;
};

enum assay_breakeven_verdict {
    ASSAY_PAYS_EVERYWHERE,
    ASSAY_PAYS_BETWEEN, /* from `from` on; not at `below` and before */
    ASSAY_PAYS_FROM,    /* from `from` on; open before it */
    ASSAY_PAYS_NOWHERE, /* at no shape */
    ASSAY_PAYS_UNCLEAR, /* open at the end, or sometimes and not at the end */
    ASSAY_PAYS_VERDICTS
};
const char *assay_breakeven_word(enum assay_breakeven_verdict verdict); /* "between" */

/* A recipe along a sweep. */
struct assay_breakeven {
    struct assay_cell op, variant;
    char recipe[64];
    enum assay_dtype dtype;
    enum assay_cache_state state;
    struct assay_cell axis;  /* what grows: "m = k = n", "m"; "shape" where several do, otherwise */
    struct assay_cell fixed; /* what stands still: "k=4096 n=4096"; may be empty */
    struct assay_cell first, last, below, from; /* as their sizes are written; empty: none */
    enum assay_breakeven_verdict verdict;
    int64_t point, n; /* its points, in order, among those of all */
};

struct assay_breakevens {
    struct assay_breakeven_point *points;
    int64_t n_points, capacity;
    struct assay_breakeven *items;
    int64_t n, items_capacity;
    int64_t run; /* of what is added; different runs are different sweeps */
    bool failed; /* there was no memory for a part of it */
};

/* Start from zeroes. Add all groups, then find: points are then in the order of items. */
void assay_breakevens_add(struct assay_breakevens *all, const struct assay_record *records,
                          int64_t n);
void assay_breakevens_find(struct assay_breakevens *all);
void assay_breakevens_fini(struct assay_breakevens *all);

/* "pays from 1024 on: break-even between 512 and 1024", without a full stop. */
struct assay_cell assay_breakeven_text(const struct assay_breakeven *item);
/* "linear_backward dx f32 hot, k=4096": what it is of, without the variant. */
struct assay_cell assay_breakeven_heading(const struct assay_breakeven *item);
/* The size of a point as items write it: "1024", "16x4096x4096". */
struct assay_cell assay_breakeven_size(const struct assay_breakevens *all,
                                       const struct assay_breakeven *item, int64_t point);
/* Which way a point goes: 1 it pays, -1 it does not, 0 open. */
int assay_breakeven_direction(const struct assay_breakeven_point *point);

/* As JSON, an array; empty where there is none. */
assay_json *assay_breakevens_to_json(const struct assay_breakevens *all);

#endif
