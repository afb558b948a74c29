#include "cli/repeats.h"

#include "base/alloc.h"
#include "record/merge.h"

#include <string.h>

/* One group, with the records of all its repeats so far. */
struct slot {
    struct assay_record *records;
    int64_t n, capacity;
    int64_t repeats; /* that are there */
    bool told;
};

struct assay_repeats {
    struct slot *slots;
    int64_t n, repeats;
    struct assay_record *merged; /* what was handed out last */
};

static bool is_same_group(const struct assay_group *a, const struct assay_group *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->mode, b->mode) == 0 &&
           strcmp(a->label, b->label) == 0 && strcmp(a->entry, b->entry) == 0 &&
           strcmp(a->compile, b->compile) == 0 && strcmp(a->device, b->device) == 0 &&
           a->dtype == b->dtype && a->n_axes == b->n_axes &&
           memcmp(a->axes, b->axes, (size_t)a->n_axes * sizeof *a->axes) == 0;
}

int64_t assay_repeats_count(const struct assay_plan *plan)
{
    int64_t distinct = 1;
    while (distinct < plan->n_groups && !is_same_group(&plan->groups[0], &plan->groups[distinct]))
        distinct++;
    for (int64_t i = distinct; i < plan->n_groups; i++)
        if (!is_same_group(&plan->groups[i], &plan->groups[i - distinct]))
            return 1;
    return plan->n_groups > 0 && plan->n_groups % distinct == 0 ? plan->n_groups / distinct : 1;
}

assay_repeats *assay_repeats_create(const struct assay_plan *plan)
{
    assay_repeats *r = assay_calloc(1, sizeof *r);
    int64_t repeats = assay_repeats_count(plan);
    if (!r)
        return NULL;
    r->repeats = repeats;
    r->n = plan->n_groups / repeats;
    r->slots = assay_calloc((size_t)r->n, sizeof *r->slots);
    if (r->slots)
        return r;
    assay_free(r);
    return NULL;
}

void assay_repeats_destroy(assay_repeats *r)
{
    for (int64_t i = 0; r && i < r->n; i++)
        assay_free(r->slots[i].records);
    if (r) {
        assay_free(r->slots);
        assay_free(r->merged);
    }
    assay_free(r);
}

bool assay_repeats_add(assay_repeats *r, const struct assay_record *records, int64_t n)
{
    struct slot *slot = &r->slots[records[0].group % r->n];
    if (slot->n + n > slot->capacity) {
        int64_t capacity = (slot->n + n) * (slot->capacity ? 2 : 1);
        struct assay_record *larger =
            assay_realloc(slot->records, (size_t)capacity, sizeof *larger);
        if (!larger)
            return false;
        slot->records = larger;
        slot->capacity = capacity;
    }
    memcpy(slot->records + slot->n, records, (size_t)n * sizeof *records);
    slot->n += n;
    slot->repeats++;
    return true;
}

/* Each variant once, with those of its repeats that there are. */
static int64_t merge(const struct slot *slot, struct assay_record *out)
{
    const struct assay_record *same[ASSAY_MERGE_MOST];
    int64_t rows = 0;
    for (int64_t i = 0; i < slot->n; i++) {
        const struct assay_record *record = &slot->records[i];
        int64_t n = 0;
        bool first = true;
        for (int64_t k = 0; k < slot->n && n < ASSAY_MERGE_MOST; k++)
            if (assay_record_is_repeat(&slot->records[k], record)) {
                first = first && k >= i;
                same[n++] = &slot->records[k];
            }
        if (first)
            assay_record_merge(same, n, &out[rows++]);
    }
    return rows;
}

int64_t assay_repeats_next(assay_repeats *r, bool all, const struct assay_record **out)
{
    for (int64_t i = 0; i < r->n; i++) {
        struct slot *slot = &r->slots[i];
        bool due = all ? slot->n > 0 : slot->repeats >= r->repeats;
        if (slot->told || !due)
            continue;
        assay_free(r->merged);
        r->merged = assay_calloc((size_t)slot->n, sizeof *r->merged);
        if (!r->merged)
            return -1;
        int64_t rows = merge(slot, r->merged);
        slot->told = true;
        assay_free(slot->records);
        slot->records = NULL;
        slot->n = slot->capacity = 0;
        *out = r->merged;
        return rows;
    }
    return 0;
}
