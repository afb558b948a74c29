/* compare.c: rows of two runs matched, and what became of each.
 *
 * Rows that agree in everything come first. What is left may have another kernel (a better one was
 * written), another label or entry (a configuration was tidied up), and then another device or
 * number of threads (said above the table): where exactly one row of each run is left that agrees
 * in the rest, they are the same. */
#include "compare/compare.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this cannot have been overlooked where a row is called the same: as in a run's table.
 */
static const double MOST_UNSEEN = 0.10;

static const char *const verdict_names[ASSAY_COMPARE_VERDICTS] = {
    [ASSAY_COMPARE_FASTER] = "faster",     [ASSAY_COMPARE_SLOWER] = "slower",
    [ASSAY_COMPARE_SAME] = "same",         [ASSAY_COMPARE_UNCLEAR] = "unclear",
    [ASSAY_COMPARE_BROKEN] = "now wrong",  [ASSAY_COMPARE_MENDED] = "mended",
    [ASSAY_COMPARE_BAD] = "wrong in both", [ASSAY_COMPARE_GONE] = "only in old",
    [ASSAY_COMPARE_ADDED] = "only in new",
};

const char *assay_compare_verdict_name(enum assay_compare_verdict verdict)
{
    return verdict_names[verdict];
}

/* ---- one figure ----------------------------------------------------------------------------- */

static struct assay_interval luck_with(double drift)
{
    return (struct assay_interval){fmin(1, drift) * (1 - ASSAY_COMPARE_LUCK),
                                   fmax(1, drift) * (1 + ASSAY_COMPARE_LUCK)};
}

/* How the machine itself went by the probes beside the two figures; 0: not known, or not at all. */
static double drift_between(const struct assay_result_time *old_time,
                            const struct assay_result_time *new_time, bool same_machine)
{
    struct assay_ratio ratio;
    if (!same_machine || !old_time->ceiling.n || !new_time->ceiling.n || !old_time->bound[0] ||
        strcmp(old_time->bound, new_time->bound) != 0)
        return 0;
    assay_stats_ratio_of_runs(&old_time->ceiling, &new_time->ceiling, luck_with(1), &ratio);
    return ratio.significant ? ratio.ratio : 0;
}

/* Nothing hints at a difference. */
static bool is_near_one(const struct assay_ratio *r)
{
    return fabs(r->ratio - 1) <= ASSAY_COMPARE_LUCK || (r->ci.lo <= 1 && r->ci.hi >= 1);
}

/* Both have intervals. */
static void judge(const struct assay_median *a, const struct assay_median *b,
                  struct assay_compare_row *row)
{
    assay_stats_ratio_of_runs(a, b, luck_with(1), &row->ratio);
    row->has_interval = true;
    row->verdict = ASSAY_COMPARE_UNCLEAR;
    if (row->ratio.n < ASSAY_STATS_FEWEST_ROUNDS)
        snprintf(row->note, sizeof row->note, "%lld samples are too few", (long long)row->ratio.n);
    else if (row->ratio.significant)
        row->verdict = row->ratio.ratio > 1 ? ASSAY_COMPARE_FASTER : ASSAY_COMPARE_SLOWER;
    else if (is_near_one(&row->ratio) && row->ratio.smallest_visible <= MOST_UNSEEN)
        row->verdict = ASSAY_COMPARE_SAME;
}

/* A difference may be of the moments the two were measured at: where others took the machine's
 * cores meanwhile, or where its own ceilings differ as much. */
static void doubt(const struct assay_result_time *old_time,
                  const struct assay_result_time *new_time, struct assay_compare_row *row)
{
    struct assay_ratio beside;
    if (row->verdict != ASSAY_COMPARE_FASTER && row->verdict != ASSAY_COMPARE_SLOWER)
        return;
    assay_stats_ratio_of_runs(&old_time->time, &new_time->time,
                              luck_with(row->drift > 0 ? row->drift : 1), &beside);
    if (beside.significant && !old_time->disturbed && !new_time->disturbed)
        return;
    row->verdict = ASSAY_COMPARE_UNCLEAR;
    if (!beside.significant)
        snprintf(row->note, sizeof row->note, "the machine's ceiling went along: %.2fx",
                 row->drift);
    else
        snprintf(row->note, sizeof row->note, "disturbed in the %s run",
                 !new_time->disturbed  ? "old"
                 : old_time->disturbed ? "old and the new"
                                       : "new");
}

/* One measurement, read twice. */
static bool is_one(const struct assay_result_time *a, const struct assay_result_time *b)
{
    bool interval = a->has_interval && b->has_interval && a->time.ci.lo == b->time.ci.lo &&
                    a->time.ci.hi == b->time.ci.hi;
    return a->time.median == b->time.median && a->time.n == b->time.n &&
           (interval || (!a->has_interval && !b->has_interval));
}

static void say_no_interval(const struct assay_median *a, const struct assay_median *b,
                            struct assay_compare_row *out)
{
    enum { FEWEST = 6 };
    int64_t n = a->n < b->n ? a->n : b->n;
    if (n > 0 && n < FEWEST)
        snprintf(out->note, sizeof out->note, "%lld sample%s too few", (long long)n,
                 n == 1 ? " is" : "s are");
    else
        snprintf(out->note, sizeof out->note, "no interval");
}

void assay_compare_times(const struct assay_result_time *old_time,
                         const struct assay_result_time *new_time,
                         struct assay_compare_relation relation, struct assay_compare_row *out)
{
    const struct assay_median *a = &old_time->time, *b = &new_time->time;
    out->has_ratio = true;
    out->has_interval = false;
    out->drift = drift_between(old_time, new_time, relation.same_machine);
    out->ratio = (struct assay_ratio){.ratio = a->median / b->median};
    out->verdict = ASSAY_COMPARE_UNCLEAR;
    if (old_time->has_interval && new_time->has_interval)
        judge(a, b, out);
    else
        say_no_interval(a, b, out);
    if (!relation.is_one)
        doubt(old_time, new_time, out);
    if (!relation.may_be_one || !is_one(old_time, new_time))
        return;
    out->verdict = ASSAY_COMPARE_SAME;
    out->note[0] = '\0';
}

/* ---- rows ----------------------------------------------------------------------------------- */

struct matching {
    struct assay_comparison *out;
    struct assay_compare_relation relation;
    int64_t *partner; /* of each old row: the new one, or -1 */
    bool *taken;      /* of each new row */
};

static bool fails_gate(const struct assay_comparison *c, const struct assay_compare_row *row)
{
    if (c->allowed < 0)
        return false;
    if (row->verdict == ASSAY_COMPARE_BROKEN || row->verdict == ASSAY_COMPARE_GONE)
        return true;
    return row->verdict == ASSAY_COMPARE_SLOWER && 1 / row->ratio.ci.hi > 1 + c->allowed;
}

static enum assay_status add_row(struct assay_comparison *c, const struct assay_compare_row *row)
{
    if (c->n == c->capacity) {
        int64_t capacity = c->capacity ? 2 * c->capacity : 64;
        struct assay_compare_row *rows = assay_realloc(c->rows, (size_t)capacity, sizeof *rows);
        if (!rows)
            return ASSAY_ERR_NOMEM;
        c->rows = rows;
        c->capacity = capacity;
    }
    struct assay_compare_row *kept = &c->rows[c->n++];
    *kept = *row;
    kept->fails = fails_gate(c, kept);
    c->counts[kept->verdict]++;
    c->failing += kept->fails;
    c->without_interval += kept->has_ratio && !kept->has_interval;
    return ASSAY_OK;
}

/* What is wrong with it; of a row that was not measured, why. */
static void say_outcome(struct assay_compare_row *row, const struct assay_result *result)
{
    bool reason = result->reason && result->reason[0];
    if (result->outcome != ASSAY_OUTCOME_OK)
        snprintf(row->note, sizeof row->note, "%s%s%.120s", assay_outcome_name(result->outcome),
                 reason ? ": " : "", reason ? result->reason : "");
}

static enum assay_status add_without_figures(struct assay_comparison *c,
                                             struct assay_compare_row row)
{
    const struct assay_result *was = row.old_row, *is = row.new_row;
    bool was_bad = !assay_outcome_is_fine(was->outcome),
         is_bad = !assay_outcome_is_fine(is->outcome);
    say_outcome(&row, is->outcome == ASSAY_OUTCOME_OK ? was : is);
    if (is_bad)
        row.verdict = was_bad ? ASSAY_COMPARE_BAD : ASSAY_COMPARE_BROKEN;
    else if (is->outcome == ASSAY_OUTCOME_OK)
        row.verdict = was_bad ? ASSAY_COMPARE_MENDED : ASSAY_COMPARE_ADDED;
    else if (was->outcome == ASSAY_OUTCOME_OK)
        row.verdict = ASSAY_COMPARE_GONE;
    else
        return c->unmeasured++, ASSAY_OK;
    return add_row(c, &row);
}

static void say_other_kernel(struct assay_compare_row *row)
{
    const char *was = row->old_row->fields[ASSAY_RESULT_KERNEL];
    const char *is = row->new_row->fields[ASSAY_RESULT_KERNEL];
    if (strcmp(was, is) != 0 && was[0] && is[0] && !row->note[0])
        snprintf(row->note, sizeof row->note, "was %.60s, is %.60s", was, is);
}

static void say_interrupted(struct assay_compare_row *row)
{
    if ((row->old_row->interrupted || row->new_row->interrupted) && !row->note[0])
        snprintf(row->note, sizeof row->note, "interrupted in the %s run",
                 !row->new_row->interrupted  ? "old"
                 : row->old_row->interrupted ? "old and the new"
                                             : "new");
}

static enum assay_status add_pair(const struct matching *m, const struct assay_result *was,
                                  const struct assay_result *is)
{
    struct assay_compare_row row = {.old_row = was, .new_row = is, .time = ASSAY_RESULT_EITHER};
    enum assay_status status = ASSAY_OK;
    bool any = false;
    m->out->matched++;
    if (was->outcome != ASSAY_OUTCOME_OK || is->outcome != ASSAY_OUTCOME_OK)
        return add_without_figures(m->out, row);
    for (int time = 0; time < ASSAY_RESULT_TIMES && status == ASSAY_OK; time++) {
        const struct assay_result_time *a = &was->times[time], *b = &is->times[time];
        struct assay_compare_row figure = row;
        figure.time = time;
        if (!a->there && !b->there)
            continue;
        any = true;
        if (a->there && b->there)
            assay_compare_times(a, b, m->relation, &figure);
        else
            figure.verdict = a->there ? ASSAY_COMPARE_GONE : ASSAY_COMPARE_ADDED;
        say_interrupted(&figure);
        say_other_kernel(&figure);
        status = add_row(m->out, &figure);
    }
    m->out->unmeasured += !any;
    return status;
}

static enum assay_status add_single(struct assay_comparison *c, const struct assay_result *was,
                                    const struct assay_result *is)
{
    const struct assay_result *only = was ? was : is;
    struct assay_compare_row row = {.old_row = was,
                                    .new_row = is,
                                    .time = ASSAY_RESULT_EITHER,
                                    .verdict = was ? ASSAY_COMPARE_GONE : ASSAY_COMPARE_ADDED};
    if (only->outcome == ASSAY_OUTCOME_UNSUPPORTED || only->outcome == ASSAY_OUTCOME_SKIPPED)
        return c->unmeasured++, ASSAY_OK;
    say_outcome(&row, only);
    return add_row(c, &row);
}

/* ---- matching ------------------------------------------------------------------------------- */

#define FIELD(name) (1u << ASSAY_RESULT_##name)

/* What may differ, from pass to pass. */
static const unsigned passes[] = {
    0,
    FIELD(KERNEL) | FIELD(LABEL) | FIELD(ENTRY),
    FIELD(KERNEL) | FIELD(LABEL) | FIELD(ENTRY) | FIELD(THREADS) | FIELD(DEVICE),
};

struct item {
    const struct assay_result *row;
    int64_t at;
    bool is_new;
    unsigned free; /* the fields that may differ; the same in all items */
};

static int by_fields(const void *a, const void *b)
{
    const struct item *one = a, *other = b;
    int order = 0;
    for (unsigned i = 0; i < ASSAY_RESULT_FIELDS && order == 0; i++)
        if (!(one->free & 1u << i))
            order = strcmp(one->row->fields[i], other->row->fields[i]);
    return order;
}

static int64_t collect(const struct matching *m, unsigned free, struct item *items)
{
    const struct assay_results *was = m->out->old_run, *is = m->out->new_run;
    int64_t n = 0;
    for (int64_t i = 0; i < was->n; i++)
        if (m->partner[i] < 0 && !was->rows[i].ambiguous)
            items[n++] = (struct item){&was->rows[i], i, false, free};
    for (int64_t i = 0; i < is->n; i++)
        if (!m->taken[i] && !is->rows[i].ambiguous)
            items[n++] = (struct item){&is->rows[i], i, true, free};
    return n;
}

static void match_pass(const struct matching *m, unsigned free, struct item *items)
{
    int64_t n = collect(m, free, items);
    qsort(items, (size_t)n, sizeof *items, by_fields);
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && by_fields(&items[i], &items[end]) == 0;)
            end++;
        if (end - i != 2 || items[i].is_new == items[i + 1].is_new)
            continue;
        const struct item *was = &items[items[i].is_new ? i + 1 : i];
        const struct item *is = &items[items[i].is_new ? i : i + 1];
        m->partner[was->at] = is->at;
        m->taken[is->at] = true;
    }
}

static enum assay_status add_all(const struct matching *m)
{
    struct assay_comparison *c = m->out;
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < c->old_run->n && status == ASSAY_OK; i++) {
        const struct assay_result *was = &c->old_run->rows[i];
        if (was->ambiguous)
            c->ambiguous_old++;
        else if (m->partner[i] >= 0)
            status = add_pair(m, was, &c->new_run->rows[m->partner[i]]);
        else
            status = add_single(c, was, NULL);
    }
    for (int64_t i = 0; i < c->new_run->n && status == ASSAY_OK; i++) {
        const struct assay_result *is = &c->new_run->rows[i];
        if (is->ambiguous)
            c->ambiguous_new++;
        else if (!m->taken[i])
            status = add_single(c, NULL, is);
    }
    return status;
}

/* The median of all ratios: where many rows moved together, the machine did. */
static enum assay_status find_typical(struct assay_comparison *c)
{
    double *ratios = assay_calloc((size_t)c->n + 1, sizeof *ratios);
    if (!ratios)
        return ASSAY_ERR_NOMEM;
    for (int64_t i = 0; i < c->n; i++)
        if (c->rows[i].has_ratio)
            ratios[c->n_ratios++] = c->rows[i].ratio.ratio;
    if (c->n_ratios) {
        assay_stats_sort(ratios, c->n_ratios);
        c->typical = assay_stats_quantile(ratios, c->n_ratios, 0.5);
    }
    assay_free(ratios);
    return ASSAY_OK;
}

static bool is_same_machine(const struct assay_run_info *a, const struct assay_run_info *b)
{
    return a->device_name[0] && strcmp(a->device_name, b->device_name) == 0 &&
           strcmp(a->device, b->device) == 0 && a->threads == b->threads;
}

static struct assay_compare_relation relate(const struct assay_run_info *a,
                                            const struct assay_run_info *b)
{
    return (struct assay_compare_relation){
        .same_machine = is_same_machine(a, b),
        .may_be_one = !a->id[0] || !b->id[0] || strcmp(a->id, b->id) == 0,
        .is_one = a->id[0] && strcmp(a->id, b->id) == 0,
    };
}

enum assay_status assay_compare(const struct assay_results *old_run,
                                const struct assay_results *new_run, double allowed,
                                struct assay_comparison *out, struct assay_error *err)
{
    *out = (struct assay_comparison){.old_run = old_run, .new_run = new_run, .allowed = allowed};
    struct matching m = {.out = out, .relation = relate(&old_run->run, &new_run->run)};
    enum assay_status status = ASSAY_ERR_NOMEM;
    struct item *items = assay_calloc((size_t)(old_run->n + new_run->n) + 1, sizeof *items);
    m.partner = assay_calloc((size_t)old_run->n + 1, sizeof *m.partner);
    m.taken = assay_calloc((size_t)new_run->n + 1, sizeof *m.taken);
    if (!items || !m.partner || !m.taken)
        goto cleanup;
    for (int64_t i = 0; i < old_run->n; i++)
        m.partner[i] = -1;
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
        match_pass(&m, passes[i], items);
    status = add_all(&m);
    if (status == ASSAY_OK)
        status = find_typical(out);
cleanup:
    assay_free(items);
    assay_free(m.partner);
    assay_free(m.taken);
    if (status != ASSAY_OK)
        assay_comparison_fini(out);
    return status == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
}

void assay_comparison_fini(struct assay_comparison *comparison)
{
    assay_free(comparison->rows);
    *comparison = (struct assay_comparison){0};
}
