#include "report/report_bouts.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

/* ---- keeping ------------------------------------------------------------------------------- */

void assay_bouts_begin(struct assay_bouts *bouts, const struct assay_run_info *run)
{
    bouts->run = *run;
}

static bool make_room(struct assay_bouts *bouts)
{
    if (bouts->n < bouts->capacity)
        return true;
    int64_t capacity = bouts->capacity ? 2 * bouts->capacity : 16;
    struct assay_bout_group *groups =
        assay_realloc(bouts->groups, (size_t)capacity, sizeof *groups);
    if (!groups)
        return false;
    bouts->groups = groups;
    bouts->capacity = capacity;
    return true;
}

void assay_bouts_add(struct assay_bouts *bouts, const struct assay_record *records, int64_t n)
{
    struct assay_record *copy = assay_calloc((size_t)n, sizeof *copy);
    if (!copy || !make_room(bouts)) {
        assay_free(copy);
        bouts->failed = true;
        return;
    }
    memcpy(copy, records, (size_t)n * sizeof *copy);
    bouts->groups[bouts->n++] = (struct assay_bout_group){copy, n};
}

void assay_bouts_fini(struct assay_bouts *bouts)
{
    for (int64_t i = 0; i < bouts->n; i++)
        assay_free(bouts->groups[i].records);
    assay_free(bouts->groups);
    *bouts = (struct assay_bouts){0};
}

/* ---- whose kernel it is -------------------------------------------------------------------- */

/* Is `name` one of a list with ", " between them? */
static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; length && *at; at += *at ? 1 : 0) {
        at += strspn(at, " ");
        size_t item = strcspn(at, ",");
        if (item == length && memcmp(at, name, length) == 0)
            return true;
        at += item;
    }
    return false;
}

/* A kernel of the repository's. Where the run does not say which those are it is the baseline. */
static bool is_own(const struct assay_bouts *bouts, const struct assay_record *record)
{
    if (assay_cell_is_workload(record))
        return !is(record->implementation, "reference");
    const char *listed = bouts->run.implementations;
    return listed[0] ? is_listed(listed, record->implementation) : record->is_baseline;
}

/* Of several own kernels with the same recipe, the baseline represents them, else the first. */
static bool speaks(const struct assay_bouts *bouts, const struct assay_bout_group *group,
                   const struct assay_record *record)
{
    if (!is_own(bouts, record))
        return false;
    for (int64_t i = 0; i < group->n; i++) {
        const struct assay_record *other = &group->records[i];
        bool before = other < record ? !record->is_baseline : other->is_baseline;
        if (other != record && before && is_own(bouts, other) && is(other->recipe, record->recipe))
            return false;
    }
    return true;
}

static bool has_speaker(const struct assay_bouts *bouts, const struct assay_bout_group *group)
{
    for (int64_t i = 0; i < group->n; i++)
        if (speaks(bouts, group, &group->records[i]))
            return true;
    return false;
}

/* ---- walking ------------------------------------------------------------------------------- */

static const struct assay_measurement *figures(const struct assay_record *record,
                                               enum assay_cache_state state)
{
    bool timed = record && record->outcome == ASSAY_OUTCOME_OK && record->states[state].measured;
    return timed ? &record->states[state] : NULL;
}

static struct assay_bout first_bout(const struct assay_bout_group *group,
                                    const struct assay_record *kernel)
{
    enum assay_cache_state state =
        figures(kernel, ASSAY_CACHE_HOT) ? ASSAY_CACHE_HOT : ASSAY_CACHE_COLD;
    return (struct assay_bout){group, kernel, state, figures(kernel, state)};
}

/* The first own kernel of the group from this record on. A single record that stands for a group
 * that was not measured belongs to no kernel, and is shown too. */
static const struct assay_record *next_kernel(const struct assay_bouts *bouts,
                                              const struct assay_bout_group *group, int64_t from)
{
    if (!has_speaker(bouts, group))
        return from == 0 ? &group->records[0] : NULL;
    for (int64_t i = from; i < group->n; i++)
        if (speaks(bouts, group, &group->records[i]))
            return &group->records[i];
    return NULL;
}

bool assay_bouts_next(const struct assay_bouts *bouts, struct assay_bout *bout)
{
    const struct assay_bout_group *group = bout->group;
    int64_t from = 0;
    if (group && bout->state == ASSAY_CACHE_HOT && figures(bout->kernel, ASSAY_CACHE_COLD)) {
        bout->state = ASSAY_CACHE_COLD;
        bout->m = figures(bout->kernel, ASSAY_CACHE_COLD);
        return true;
    }
    if (group)
        from = bout->kernel - group->records + 1;
    else
        group = bouts->groups;
    for (; group && group < bouts->groups + bouts->n; group++, from = 0) {
        const struct assay_record *kernel = next_kernel(bouts, group, from);
        if (kernel) {
            *bout = first_bout(group, kernel);
            return true;
        }
    }
    return false;
}

/* ---- rivals -------------------------------------------------------------------------------- */

const struct assay_measurement *assay_bout_figures(const struct assay_bout *bout,
                                                   const struct assay_record *rival)
{
    return figures(rival, bout->state);
}

/* By time, then in the order of the group. */
static bool precedes(const struct assay_bout *bout, const struct assay_record *a,
                     const struct assay_record *b)
{
    const struct assay_measurement *ma = figures(a, bout->state), *mb = figures(b, bout->state);
    double ta = ma ? ma->time.median : (double)INFINITY;
    double tb = mb ? mb->time.median : (double)INFINITY;
    return ta < tb || (!(tb < ta) && a < b);
}

const struct assay_record *assay_bout_rival(const struct assay_bouts *bouts,
                                            const struct assay_bout *bout,
                                            const struct assay_record *previous)
{
    const struct assay_record *next = NULL;
    bool alone = !has_speaker(bouts, bout->group);
    for (int64_t i = 0; !alone && i < bout->group->n; i++) {
        const struct assay_record *r = &bout->group->records[i];
        if (r == bout->kernel || !is(r->recipe, bout->kernel->recipe) ||
            (previous && !precedes(bout, previous, r)) || (next && !precedes(bout, r, next)))
            continue;
        next = r;
    }
    return next;
}

const struct assay_record *assay_bout_reference(const struct assay_bouts *bouts,
                                                const struct assay_bout *bout)
{
    const struct assay_record *rival = assay_bout_rival(bouts, bout, NULL);
    while (rival && is_own(bouts, rival))
        rival = assay_bout_rival(bouts, bout, rival);
    return bout->m && figures(rival, bout->state) ? rival : NULL;
}

/* The median and its interval are inverted with the ratio. The smallest visible effect stays: for
 * small effects it is the same in both directions. */
static struct assay_ratio inverse(const struct assay_ratio *r)
{
    struct assay_ratio out = *r;
    out.ratio = 1 / r->ratio;
    out.ci = (struct assay_interval){1 / r->ci.hi, 1 / r->ci.lo};
    out.ci_frac = (out.ci.hi - out.ci.lo) / (2 * out.ratio);
    return out;
}

bool assay_bout_ratio(const struct assay_bout *bout, const struct assay_record *rival,
                      struct assay_ratio *out)
{
    const struct assay_measurement *mine = bout->m, *its = figures(rival, bout->state);
    if (!mine || !its)
        return false;
    if (rival->is_baseline && mine->has_ratio)
        *out = mine->ratio;
    else if (bout->kernel->is_baseline && its->has_ratio)
        *out = inverse(&its->ratio);
    else
        return false;
    return out->ratio > 0 && isfinite(out->ratio);
}

/* ---- names and figures --------------------------------------------------------------------- */

struct assay_cell assay_bout_benchmark(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    if (record->entry[0]) {
        assay_cell_add(&cell, "%s", record->entry);
        return cell;
    }
    assay_cell_add(&cell, "%s", assay_cell_subject(record));
    if (record->mode[0])
        assay_cell_add(&cell, " %s", record->mode);
    if (record->recipe[0] && !is(record->recipe, "baseline"))
        assay_cell_add(&cell, " %s", record->recipe);
    return cell;
}

static struct assay_cell workload(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    if (!assay_cell_is_workload(record))
        return assay_cell_problem(record);
    assay_cell_add(&cell, "%s", record->label);
    return cell;
}

struct assay_cell assay_bout_workload(const struct assay_bout *bout)
{
    struct assay_cell cell = workload(bout->kernel);
    if (bout->state == ASSAY_CACHE_COLD && figures(bout->kernel, ASSAY_CACHE_HOT))
        assay_cell_add(&cell, " (cold)");
    return cell;
}

/* Does another benchmark have a workload of this name? */
static bool is_ambiguous(const struct assay_bouts *bouts, const struct assay_record *record)
{
    struct assay_cell mine = workload(record), benchmark = assay_bout_benchmark(record);
    struct assay_bout other = {0};
    while (assay_bouts_next(bouts, &other))
        if (is(workload(other.kernel).text, mine.text) &&
            !is(assay_bout_benchmark(other.kernel).text, benchmark.text))
            return true;
    return false;
}

struct assay_cell assay_bout_name(const struct assay_bouts *bouts, const struct assay_bout *bout)
{
    struct assay_cell cell = assay_bout_workload(bout);
    if (!is_ambiguous(bouts, bout->kernel))
        return cell;
    struct assay_cell longer = assay_bout_benchmark(bout->kernel);
    assay_cell_add(&longer, "%s%s", assay_cell_is_workload(bout->kernel) ? "." : " ", cell.text);
    return longer;
}

const char *assay_bout_rival_name(const struct assay_bout *bout, const struct assay_record *rival)
{
    return assay_cell_variant(rival, bout->group->records, bout->group->n);
}

int assay_bout_decimals(double ns)
{
    static const double least_ns[] = {1e5, 1e4, 1e3, 1e2};
    int decimals = 4;
    while (decimals < 8 && ns < least_ns[decimals - 4])
        decimals++;
    return decimals;
}

struct assay_cell assay_bout_ms(double ns, int decimals)
{
    struct assay_cell cell = {"-"};
    double ms = ns / 1e6;
    if (ms >= 0 && isfinite(ms))
        snprintf(cell.text, sizeof cell.text, ms < 1e9 ? "%.*f" : "%.*e", decimals, ms);
    return cell;
}

struct assay_cell assay_bout_short_sha(const char *sha)
{
    struct assay_cell cell = {"-"};
    size_t length = strlen(sha);
    if (length)
        snprintf(cell.text, sizeof cell.text, "%.7s%s", sha,
                 length > 7 && sha[length - 1] == '+' ? "+" : "");
    return cell;
}
