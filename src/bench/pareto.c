#include "bench/pareto.h"

#include <math.h>

/* Accuracies this close are the same. */
static const double SAME_DB = 0.1;

static const struct assay_measurement *deciding(const struct assay_record *r)
{
    return &r->states[r->states[ASSAY_CACHE_COLD].measured ? ASSAY_CACHE_COLD : ASSAY_CACHE_HOT];
}

static bool takes_part(const struct assay_record *r)
{
    return r->recipe[0] && r->outcome == ASSAY_OUTCOME_OK && deciding(r)->measured;
}

/* Is `a` at least as good as `b` in all three, and better in one? Times within half of the wider
 * interval of each other are the same. */
static bool dominates(const struct assay_record *a, const struct assay_record *b)
{
    const struct assay_summary *ta = &deciding(a)->time, *tb = &deciding(b)->time;
    double width = fmax(ta->median_ci.hi - ta->median_ci.lo, tb->median_ci.hi - tb->median_ci.lo);
    double time = tb->median - ta->median, db = a->accuracy_db - b->accuracy_db;
    double bytes = b->weight_bytes - a->weight_bytes;
    if (fabs(time) <= width / 2)
        time = 0;
    if ((isinf(a->accuracy_db) && isinf(b->accuracy_db)) || fabs(db) < SAME_DB)
        db = 0;
    return time >= 0 && bytes >= 0 && db >= 0 && (time > 0 || bytes > 0 || db > 0);
}

void assay_pareto_mark(struct assay_record *const *records, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        records[i]->pareto = takes_part(records[i]);
        for (int64_t k = 0; k < n && records[i]->pareto; k++)
            if (k != i && takes_part(records[k]) && dominates(records[k], records[i]))
                records[i]->pareto = false;
    }
}
