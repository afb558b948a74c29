#include "report/report_pairs.h"

#include "kernel/implementation.h"

#include <math.h>
#include <string.h>

static bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

static bool is_compiled(const struct assay_record *r)
{
    return assay_cell_is_model(r) && assay_implementation_compiles(r->implementation);
}

/* Compiled, of an eager model, or the reverse, with the same recipe; NULL where there is none. */
static const struct assay_record *partner(const struct assay_record *records, int64_t n,
                                          const struct assay_record *record)
{
    const char *other = is_compiled(record)
                            ? assay_implementation_uncompiled(record->implementation)
                            : assay_implementation_compiled(record->implementation);
    for (int64_t i = 0; i < n && other && assay_cell_is_model(record); i++)
        if (is(records[i].implementation, other) && is(records[i].recipe, record->recipe))
            return &records[i];
    return NULL;
}

static struct assay_pair pair_of(const struct assay_record *records, int64_t n,
                                 const struct assay_record *record)
{
    const struct assay_record *other = partner(records, n, record);
    return is_compiled(record) ? (struct assay_pair){other, record, records, n}
                               : (struct assay_pair){record, other, records, n};
}

/* The first of the pair in the group: the pair stands where it does. */
static const struct assay_record *leader(const struct assay_pair *pair)
{
    if (!pair->eager || !pair->compiled)
        return assay_pair_any(pair);
    return pair->eager < pair->compiled ? pair->eager : pair->compiled;
}

static double time_of(const struct assay_pair *pair, enum assay_pair_order order)
{
    if (order == ASSAY_PAIRS_AS_LISTED)
        return 0;
    const struct assay_measurement *m = assay_pair_figures(assay_pair_shown(pair));
    return m && m->time.median >= 0 ? m->time.median : (double)INFINITY;
}

/* Does a come before b? By time, then in the order of the group. */
static bool precedes(const struct assay_pair *a, const struct assay_pair *b,
                     enum assay_pair_order order)
{
    double ta = time_of(a, order), tb = time_of(b, order);
    return ta < tb || (ta == tb && leader(a) < leader(b));
}

bool assay_pair_next(const struct assay_record *records, int64_t n, enum assay_pair_order order,
                     struct assay_pair *pair)
{
    bool first = !pair->eager && !pair->compiled, found = false;
    struct assay_pair next = {0};
    for (int64_t i = 0; i < n; i++) {
        struct assay_pair candidate = pair_of(records, n, &records[i]);
        if (leader(&candidate) != &records[i] || (!first && !precedes(pair, &candidate, order)) ||
            (found && !precedes(&candidate, &next, order)))
            continue;
        next = candidate;
        found = true;
    }
    *pair = next;
    return found;
}

const struct assay_record *assay_pair_any(const struct assay_pair *pair)
{
    return pair->eager ? pair->eager : pair->compiled;
}

const struct assay_record *assay_pair_main(const struct assay_pair *pair)
{
    return pair->compiled ? pair->compiled : pair->eager;
}

const struct assay_record *assay_pair_shown(const struct assay_pair *pair)
{
    const struct assay_record *best = assay_pair_main(pair);
    return assay_pair_figures(best) ? best : assay_pair_any(pair);
}

const struct assay_record *assay_pair_trouble(const struct assay_pair *pair)
{
    const struct assay_record *both[] = {pair->eager, pair->compiled}, *found = NULL;
    for (int i = 0; i < 2; i++)
        if (both[i] && both[i]->outcome != ASSAY_OUTCOME_OK &&
            (!found ||
             (assay_outcome_is_fine(found->outcome) && !assay_outcome_is_fine(both[i]->outcome))))
            found = both[i];
    return found;
}

bool assay_pair_is_pareto(const struct assay_pair *pair)
{
    return (pair->eager && pair->eager->pareto) || (pair->compiled && pair->compiled->pareto);
}

struct assay_cell assay_pair_label(const struct assay_pair *pair)
{
    const struct assay_record *record = assay_pair_any(pair);
    struct assay_cell cell = {""};
    assay_cell_add(&cell, "%s", record->recipe);
    if (!assay_implementation_runs_models(record->implementation) && record->implementation[0])
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " " : "",
                       assay_cell_variant(record, pair->group, pair->n));
    return cell;
}

const struct assay_measurement *assay_pair_figures(const struct assay_record *record)
{
    if (!record || record->outcome != ASSAY_OUTCOME_OK)
        return NULL;
    for (int s = 0; s < ASSAY_CACHE_STATES; s++)
        if (record->states[s].measured)
            return &record->states[s];
    return NULL;
}

static const struct assay_record *unquantised(const struct assay_record *records, int64_t n,
                                              const char *implementation)
{
    for (int64_t i = 0; i < n; i++)
        if (is(records[i].implementation, implementation) && is(records[i].recipe, "baseline"))
            return &records[i];
    return NULL;
}

/* Of a model, records of older versions name an op's baseline: then it is its own form's. */
const struct assay_record *assay_pair_baseline(const struct assay_record *records, int64_t n,
                                               const struct assay_record *record)
{
    if (assay_cell_is_model(record)) {
        const struct assay_record *named = unquantised(records, n, record->baseline);
        return named ? named : unquantised(records, n, record->implementation);
    }
    for (int64_t i = 0; i < n; i++)
        if (records[i].is_baseline)
            return &records[i];
    return NULL;
}

bool assay_pair_has_compiled(const struct assay_record *records, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (is_compiled(&records[i]))
            return true;
    return false;
}
