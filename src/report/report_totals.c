#include "report/report_totals.h"

#include "base/alloc.h"
#include "report/report_pairs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is(const char *text, const char *other) { return strcmp(text, other) == 0; }

/* Room for one more; what is there stays. */
static bool grow(void **items, int64_t *capacity, int64_t n, size_t size)
{
    if (n < *capacity)
        return true;
    int64_t more = *capacity ? 2 * *capacity : 8;
    void *moved = assay_realloc(*items, (size_t)more, size);
    if (!moved)
        return false;
    *items = moved;
    *capacity = more;
    return true;
}

/* ---- finding ------------------------------------------------------------------------------- */

/* FNV-1a: a book may have thousands of ops, and each group looks for its own. */
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

/* "layernorm", "linear bias+gelu"; of workloads their benchmark. */
static struct assay_cell op_name(const struct assay_record *record)
{
    struct assay_cell cell = {""};
    if (assay_cell_is_workload(record) && record->entry[0])
        assay_cell_add(&cell, "%s", record->entry);
    else
        assay_cell_add(&cell, "%s%s%s", assay_cell_subject(record), record->mode[0] ? " " : "",
                       record->mode);
    return cell;
}

/* The last one first: groups of an op mostly follow each other. */
static struct assay_total_op *find_op(struct assay_totals *totals,
                                      const struct assay_record *record)
{
    struct assay_cell name = op_name(record);
    uint64_t hash = hash_of(name.text);
    for (int64_t i = totals->n_ops - 1; i >= 0; i--)
        if (totals->ops[i].hash == hash && is(totals->ops[i].name.text, name.text))
            return &totals->ops[i];
    if (!grow((void **)&totals->ops, &totals->op_capacity, totals->n_ops, sizeof *totals->ops))
        return NULL;
    totals->ops[totals->n_ops] = (struct assay_total_op){.name = name, .hash = hash};
    return &totals->ops[totals->n_ops++];
}

static struct assay_total *find_total(struct assay_total_op *op, const struct assay_cell *variant,
                                      enum assay_cache_state state, bool versus)
{
    for (int64_t i = 0; i < op->n; i++) {
        struct assay_total *total = &op->totals[i];
        if (total->state == state && total->versus == versus &&
            is(total->variant.text, variant->text))
            return total;
    }
    if (!grow((void **)&op->totals, &op->capacity, op->n, sizeof *op->totals))
        return NULL;
    op->totals[op->n] = (struct assay_total){.variant = *variant, .state = state, .versus = versus};
    return &op->totals[op->n++];
}

static struct assay_total_winner *find_winner(struct assay_totals *totals,
                                              const struct assay_cell *variant)
{
    for (int64_t i = 0; i < totals->n_winners; i++)
        if (is(totals->winners[i].variant.text, variant->text))
            return &totals->winners[i];
    if (!grow((void **)&totals->winners, &totals->winner_capacity, totals->n_winners,
              sizeof *totals->winners))
        return NULL;
    totals->winners[totals->n_winners] = (struct assay_total_winner){.variant = *variant};
    return &totals->winners[totals->n_winners++];
}

/* ---- a group -------------------------------------------------------------------------------- */

/* A group and one of its records, in one state. */
struct place {
    const struct assay_record *records, *record;
    int64_t n;
    enum assay_cache_state state;
};

static const struct assay_measurement *figures(const struct assay_record *record,
                                               enum assay_cache_state state)
{
    bool timed = record->outcome == ASSAY_OUTCOME_OK && record->states[state].measured;
    return timed ? &record->states[state] : NULL;
}

static bool is_usable(const struct assay_ratio *ratio)
{
    return ratio->ratio > 0 && isfinite(ratio->ratio);
}

/* How it compares with the baseline; NULL where it does not, or is the baseline. */
static const struct assay_ratio *ratio_of(const struct assay_record *record,
                                          enum assay_cache_state state)
{
    const struct assay_measurement *m = figures(record, state);
    bool compared = m && m->has_ratio && !assay_cell_is_baseline(record) && is_usable(&m->ratio);
    return compared ? &m->ratio : NULL;
}

/* Of a stranger, which runs in a process of its own. */
static bool runs_apart(const struct assay_record *record)
{
    return record->confined[0] && !is(record->confined, ASSAY_NOT_ISOLATED);
}

/* What the places of two processes do to a ratio is the same in all groups. */
static double luck_of(const struct place *p)
{
    const struct assay_record *base = assay_pair_baseline(p->records, p->n, p->record);
    return base && runs_apart(base) != runs_apart(p->record) ? ASSAY_STATS_APART : 0;
}

static void note_ratio(struct assay_total *total, const struct place *p,
                       const struct assay_ratio *ratio, double luck)
{
    total->verdicts[assay_cell_verdict(ratio)]++;
    if (!assay_ratio_sum_add(&total->sum, ratio, luck))
        total->too_few++;
    if (!(ratio->ratio > total->best.ratio))
        return;
    total->best = *ratio;
    total->best_problem = assay_cell_problem(p->record);
    total->best_op = op_name(p->record);
}

static void note_record(struct assay_total *total, const struct place *p)
{
    const struct assay_record *record = p->record;
    const struct assay_measurement *m = figures(record, p->state);
    const struct assay_ratio *ratio = ratio_of(record, p->state);
    total->groups++;
    total->fastest += m && m->fastest;
    if (record->outcome != ASSAY_OUTCOME_OK)
        total->outcomes[(unsigned)record->outcome % ASSAY_OUTCOME_COUNT]++;
    else if (!m)
        total->untimed++;
    else if (ratio)
        note_ratio(total, p, ratio, luck_of(p));
    else if (assay_cell_is_baseline(record))
        total->baseline++;
    else
        total->uncompared++;
}

/* "int8wo compiled": against eager, too. */
static void note_versus(struct assay_totals *totals, struct assay_total_op *op,
                        const struct place *p)
{
    const struct assay_measurement *m = figures(p->record, p->state);
    if (!m || !m->has_eager_ratio || !is_usable(&m->eager_ratio))
        return;
    struct assay_cell name = assay_cell_name(p->record, p->records, p->n);
    struct assay_total *total = find_total(op, &name, p->state, true);
    if (total) {
        total->groups++;
        note_ratio(total, p, &m->eager_ratio, 0);
    }
    totals->failed |= !total;
}

static void add_to_op(struct assay_totals *totals, struct assay_total_op *op, struct place p)
{
    op->groups++;
    int64_t timed[ASSAY_CACHE_STATES] = {0};
    for (int64_t i = 0; i < p.n; i++) {
        p.record = &p.records[i];
        struct assay_cell name = assay_cell_name(p.record, p.records, p.n);
        for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
            p.state = (enum assay_cache_state)s;
            struct assay_total *total = find_total(op, &name, p.state, false);
            timed[s] += figures(p.record, p.state) != NULL;
            if (total)
                note_record(total, &p);
            totals->failed |= !total;
            note_versus(totals, op, &p);
        }
    }
    op->compared += timed[ASSAY_CACHE_HOT] > 1 || timed[ASSAY_CACHE_COLD] > 1;
}

/* ---- who is fastest ------------------------------------------------------------------------- */

/* Is the comparison of this one with the baseline called unclear, although there were rounds to
 * tell, and does either of the two have the mark ▸? */
static bool leaves_open(const struct place *p)
{
    const struct assay_ratio *ratio = ratio_of(p->record, p->state);
    if (!ratio || ratio->n < ASSAY_STATS_FEWEST_ROUNDS ||
        assay_cell_verdict(ratio) != ASSAY_VERDICT_UNCLEAR)
        return false;
    const struct assay_record *base = assay_pair_baseline(p->records, p->n, p->record);
    const struct assay_measurement *its = base ? figures(base, p->state) : NULL;
    return p->record->states[p->state].fastest || (its && its->fastest);
}

static void note_win(struct assay_totals *totals, const struct place *p)
{
    struct assay_cell name = assay_cell_name(p->record, p->records, p->n);
    struct assay_total_winner *winner = find_winner(totals, &name);
    if (winner)
        winner->wins[p->state]++;
    totals->failed |= !winner;
}

static void judge_group(struct assay_totals *totals, struct place p)
{
    struct assay_total_groups *groups = &totals->states[p.state];
    int64_t timed = 0, marked = 0;
    bool open = false;
    struct place winner = p;
    for (int64_t i = 0; i < p.n; i++) {
        p.record = &p.records[i];
        const struct assay_measurement *m = figures(p.record, p.state);
        timed += m != NULL;
        if (m && m->fastest) {
            marked++;
            winner = p;
        }
        open |= leaves_open(&p);
    }
    totals->measured[p.state] |= timed > 0;
    if (timed < 2) {
        (timed ? groups->alone++ : groups->empty++);
    } else if (marked == 0 || open) {
        groups->unclear++;
    } else if (marked > 1) {
        groups->tied++;
    } else {
        groups->won++;
        note_win(totals, &winner);
    }
}

void assay_totals_add(struct assay_totals *totals, const struct assay_record *records, int64_t n)
{
    if (n == 0)
        return;
    struct place place = {.records = records, .n = n};
    struct assay_total_op *op = find_op(totals, &records[0]);
    totals->groups++;
    for (int64_t i = 0; i < n; i++)
        totals->outcomes[(unsigned)records[i].outcome % ASSAY_OUTCOME_COUNT]++;
    totals->failed |= !op;
    if (op)
        add_to_op(totals, op, place);
    add_to_op(totals, &totals->all, place);
    for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
        place.state = (enum assay_cache_state)s;
        judge_group(totals, place);
    }
}

void assay_totals_add_book(struct assay_totals *totals, const struct assay_book *book, int64_t run)
{
    struct assay_book_view view = {0};
    for (int64_t g = 0; g < book->n_groups; g++) {
        if (run >= 0 && book->groups[g].run != run)
            continue;
        if (assay_book_open(book, g, &view))
            assay_totals_add(totals, view.records, view.n);
        else
            totals->failed = true;
    }
    assay_book_view_fini(&view);
}

void assay_totals_fini(struct assay_totals *totals)
{
    for (int64_t i = 0; i < totals->n_ops; i++)
        assay_free(totals->ops[i].totals);
    assay_free(totals->ops);
    assay_free(totals->all.totals);
    assay_free(totals->winners);
    *totals = (struct assay_totals){0};
}

/* ---- what is said --------------------------------------------------------------------------- */

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

bool assay_totals_op_worth(const struct assay_total_op *op) { return op->compared >= 2; }

bool assay_totals_worth(const struct assay_totals *totals)
{
    return assay_totals_op_worth(&totals->all);
}

struct assay_ratio assay_total_mean(const struct assay_total *total)
{
    struct assay_ratio mean;
    assay_ratio_sum_mean(&total->sum, &mean);
    return mean;
}

/* ", 2 not timed", with the state behind it where figures are of several. */
static void add_count(struct assay_cell *cell, int64_t count, const char *what, const char *state)
{
    if (count)
        assay_cell_add(cell, "%s%lld %s%s%s", cell->text[0] ? ", " : "", (long long)count, what,
                       state[0] ? " " : "", state);
}

/* What is not the same in both states. */
static void add_missing(struct assay_cell *cell, const struct assay_total *total, bool both)
{
    const char *state = both ? assay_cache_state_name(total->state) : "";
    add_count(cell, total->too_few, "with fewer than 10 rounds", state);
    add_count(cell, total->untimed, "not timed", state);
    add_count(cell, total->uncompared, "without a baseline", state);
}

struct assay_cell assay_total_missing(const struct assay_totals *totals,
                                      const struct assay_total_op *op, int64_t index)
{
    const struct assay_total *total = &op->totals[index];
    bool both = totals->measured[ASSAY_CACHE_HOT] && totals->measured[ASSAY_CACHE_COLD];
    struct assay_cell cell = {""}, named = assay_total_name(total);
    if (!named.text[0]) /* one record that says of all variants why they were not measured */
        assay_cell_add(&named, "whole groups");
    if (total->state != ASSAY_CACHE_HOT)
        return cell;
    for (int o = 0; o < ASSAY_OUTCOME_COUNT; o++)
        add_count(&cell, total->outcomes[o], assay_cell_outcome((enum assay_outcome)o).text, "");
    for (int64_t i = index; i < op->n; i++) {
        const struct assay_total *other = &op->totals[i];
        if (totals->measured[other->state] && other->versus == total->versus &&
            is(other->variant.text, total->variant.text))
            add_missing(&cell, other, both);
    }
    assay_cell_add(&named, ": %s", cell.text);
    return cell.text[0] ? named : cell;
}

static int64_t compared(const struct assay_total *total)
{
    int64_t sum = 0;
    for (int v = 0; v < ASSAY_VERDICTS; v++)
        sum += total->verdicts[v];
    return sum;
}

bool assay_total_shown(const struct assay_total *total)
{
    return total->baseline + total->uncompared + compared(total) > 0;
}

struct assay_cell assay_total_groups(const struct assay_total *total)
{
    struct assay_cell cell = {""};
    int64_t counted = total->sum.n > 0 ? total->sum.n : total->baseline;
    if (counted < total->groups)
        assay_cell_add(&cell, "%lld/", (long long)counted);
    assay_cell_add(&cell, "%lld", (long long)total->groups);
    return cell;
}

struct assay_cell assay_total_name(const struct assay_total *total)
{
    struct assay_cell cell = total->variant;
    if (total->versus)
        assay_cell_add(&cell, " vs eager");
    return cell;
}

struct assay_cell assay_total_speedup(const struct assay_total *total, int width, bool ascii)
{
    struct assay_ratio mean = assay_total_mean(total);
    if (mean.n > 0 && assay_cell_verdict(&mean) == ASSAY_VERDICT_UNCLEAR)
        return (struct assay_cell){
            "unclear"}; /* without the number of rounds, of which it has none */
    if (mean.n > 0)
        return assay_cell_interval(&mean, width, ascii);
    return total->baseline > 0 ? (struct assay_cell){"baseline"} : (struct assay_cell){"-"};
}

struct assay_cell assay_total_best(const struct assay_total *total)
{
    struct assay_cell interval;
    if (!(total->best.ratio > 0))
        return (struct assay_cell){"-"};
    struct assay_cell cell = assay_cell_times(&total->best, &interval);
    if (total->best.ratio < 1)
        assay_cell_add(&cell, " slower");
    return cell;
}

struct assay_cell assay_total_best_group(const struct assay_total_op *op,
                                         const struct assay_total *total)
{
    struct assay_cell cell = {""};
    bool all = !op->name.text[0];
    assay_cell_add(&cell, "%s%s%s", all ? total->best_op.text : "",
                   all && total->best_op.text[0] ? " " : "", total->best_problem.text);
    return cell;
}

struct assay_cell assay_total_heading(const struct assay_totals *totals,
                                      const struct assay_total_op *op)
{
    struct assay_cell cell = op->name;
    if (op == &totals->all)
        assay_cell_add(&cell, "all %lld ops", (long long)totals->n_ops);
    assay_cell_add(&cell, ", %lld group%s", (long long)op->groups, plural(op->groups));
    return cell;
}

static int64_t rows_of(const struct assay_total_op *op)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < op->n; i++)
        rows += assay_total_shown(&op->totals[i]);
    return rows;
}

const struct assay_total_op *assay_totals_section(const struct assay_totals *totals, int64_t number,
                                                  int64_t most)
{
    int64_t rows = totals->n_ops > 1 ? rows_of(&totals->all) : 0;
    for (int64_t i = 0; i < totals->n_ops; i++)
        if (assay_totals_op_worth(&totals->ops[i]))
            rows += rows_of(&totals->ops[i]);
    for (int64_t i = 0; i < totals->n_ops && (rows <= most || totals->n_ops == 1); i++)
        if (assay_totals_op_worth(&totals->ops[i]) && number-- == 0)
            return &totals->ops[i];
    bool together = totals->n_ops > 1 && assay_totals_op_worth(&totals->all);
    return together && number == 0 ? &totals->all : NULL;
}

/* The one with the most wins among those with fewer than `below`, or as many and later than
 * `after`; -1 where there is none. */
static int64_t next_winner(const struct assay_totals *totals, enum assay_cache_state state,
                           int64_t below, int64_t after)
{
    int64_t best = -1, most = 0;
    for (int64_t i = 0; i < totals->n_winners; i++) {
        int64_t wins = totals->winners[i].wins[state];
        bool due = wins < below || (wins == below && i > after);
        if (due && wins > most) {
            most = wins;
            best = i;
        }
    }
    return best;
}

/* "native is fastest in 14 of 20 groups, cublaslt in 4, others in 2". */
static void say_winners(const struct assay_totals *totals, enum assay_cache_state state,
                        struct assay_text *out)
{
    enum { NAMED = 4 };
    int64_t below = INT64_MAX, after = -1, left = totals->states[state].won, at;
    for (int i = 0; i < NAMED && (at = next_winner(totals, state, below, after)) >= 0; i++) {
        const struct assay_total_winner *w = &totals->winners[at];
        below = w->wins[state];
        after = at;
        left -= below;
        if (i > 0)
            assay_text_format(out, ", %s in %lld", w->variant.text, (long long)below);
        else if (totals->groups == 1)
            assay_text_format(out, "%s is fastest", w->variant.text);
        else if (below == totals->groups)
            assay_text_format(out, "%s is fastest in all %lld groups", w->variant.text,
                              (long long)below);
        else
            assay_text_format(out, "%s is fastest in %lld of %lld groups", w->variant.text,
                              (long long)below, (long long)totals->groups);
    }
    if (left > 0)
        assay_text_format(out, ", others in %lld", (long long)left);
}

static void say_count(struct assay_text *out, int64_t count, const char *what)
{
    if (count)
        assay_text_format(out, "; %lld %s", (long long)count, what);
}

static void say_state(const struct assay_totals *totals, enum assay_cache_state state,
                      struct assay_text *out)
{
    const struct assay_total_groups *g = &totals->states[state];
    if (g->won)
        say_winners(totals, state, out);
    else if (g->tied + g->unclear)
        assay_text_add(out, "none is fastest");
    else
        assay_text_add(out, "nothing to compare");
    if (!g->won && totals->groups > 1)
        assay_text_format(out, " in %lld groups", (long long)totals->groups);
    say_count(out, g->tied, "tied");
    say_count(out, g->unclear, "unclear");
    say_count(out, g->alone, "with one variant alone");
    say_count(out, g->empty, "without figures");
}

/* "; 1 row wrong, 2 crashed" */
static void say_failures(const struct assay_totals *totals, struct assay_text *out)
{
    bool first = true;
    for (int o = 0; o < ASSAY_OUTCOME_COUNT; o++) {
        int64_t count = totals->outcomes[o];
        if (!count || assay_outcome_is_fine((enum assay_outcome)o))
            continue;
        assay_text_format(out, "%s%lld", first ? "; " : ", ", (long long)count);
        if (first)
            assay_text_format(out, " row%s", plural(count));
        assay_text_format(
            out, " %s",
            o == ASSAY_OUTCOME_MISMATCH ? "wrong" : assay_cell_outcome((enum assay_outcome)o).text);
        first = false;
    }
}

void assay_totals_fastest(const struct assay_totals *totals, struct assay_text *out)
{
    bool hot = totals->measured[ASSAY_CACHE_HOT], cold = totals->measured[ASSAY_CACHE_COLD];
    if (totals->groups == 0)
        assay_text_add(out, "nothing was measured");
    else if (!hot && !cold)
        assay_text_format(out, "no figures in %lld group%s", (long long)totals->groups,
                          plural(totals->groups));
    assay_text_add(out, hot && cold ? "Hot: " : "");
    if (hot)
        say_state(totals, ASSAY_CACHE_HOT, out);
    assay_text_add(out, hot && cold ? ". Cold: " : "");
    if (cold)
        say_state(totals, ASSAY_CACHE_COLD, out);
}

void assay_totals_verdict(const struct assay_totals *totals, struct assay_text *out)
{
    assay_totals_fastest(totals, out);
    say_failures(totals, out);
}
