#include "trace/activity.h"

#include "base/alloc.h"

#include <stdlib.h>

void assay_activities_add(struct assay_activities *a, const struct assay_activity *one)
{
    if (a->n == a->capacity) {
        int64_t wanted = a->capacity > 0 ? 2 * a->capacity : 64;
        struct assay_activity *grown = wanted <= ASSAY_ACTIVITIES_MOST
                                           ? assay_realloc(a->items, (size_t)wanted, sizeof *grown)
                                           : NULL;
        if (!grown) {
            a->lost++;
            return;
        }
        a->items = grown;
        a->capacity = wanted;
    }
    a->items[a->n++] = *one;
}

static int compare_starts(const void *a, const void *b)
{
    const struct assay_activity *x = a, *y = b;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

void assay_activities_sort(struct assay_activities *a)
{
    if (a->n > 1)
        qsort(a->items, (size_t)a->n, sizeof *a->items, compare_starts);
}

void assay_activities_fini(struct assay_activities *a)
{
    assay_free(a->items);
    *a = (struct assay_activities){0};
}
