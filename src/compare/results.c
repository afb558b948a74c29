/* results.c: rows of results in memory, and which of them are the same thing. */
#include "compare/results.h"

#include "base/alloc.h"
#include "report/report_cells.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const field_names[ASSAY_RESULT_FIELDS] = {
    [ASSAY_RESULT_OP] = "op",           [ASSAY_RESULT_SIZES] = "sizes",
    [ASSAY_RESULT_DTYPE] = "dtype",     [ASSAY_RESULT_MODE] = "mode",
    [ASSAY_RESULT_RECIPE] = "recipe",   [ASSAY_RESULT_IMPLEMENTATION] = "implementation",
    [ASSAY_RESULT_COMPILE] = "compile", [ASSAY_RESULT_DEVICE] = "device",
    [ASSAY_RESULT_THREADS] = "threads", [ASSAY_RESULT_KERNEL] = "kernel",
    [ASSAY_RESULT_LABEL] = "label",     [ASSAY_RESULT_ENTRY] = "entry",
};

const char *assay_result_field_name(enum assay_result_field field) { return field_names[field]; }

const char *assay_result_time_name(int time)
{
    return time < ASSAY_CACHE_STATES ? assay_cache_state_name((enum assay_cache_state)time) : "";
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void row_fini(struct assay_result *row)
{
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        assay_free(row->fields[i]);
    assay_free(row->reason);
}

void assay_results_fini(struct assay_results *results)
{
    for (int64_t i = 0; i < results->n; i++)
        row_fini(&results->rows[i]);
    assay_free(results->rows);
    *results = (struct assay_results){0};
}

struct assay_result *assay_results_add(struct assay_results *results)
{
    if (results->n == results->capacity) {
        int64_t capacity = results->capacity ? 2 * results->capacity : 64;
        struct assay_result *rows = assay_realloc(results->rows, (size_t)capacity, sizeof *rows);
        if (!rows)
            return NULL;
        results->rows = rows;
        results->capacity = capacity;
    }
    struct assay_result *row = &results->rows[results->n];
    *row = (struct assay_result){.repeats = 1};
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        if (!(row->fields[i] = assay_strdup(""))) {
            row_fini(row);
            return NULL;
        }
    results->n++;
    return row;
}

static bool replace(char **text, const char *by)
{
    char *copy = assay_strdup(by ? by : "");
    if (!copy)
        return false;
    assay_free(*text);
    *text = copy;
    return true;
}

bool assay_result_set(struct assay_result *row, enum assay_result_field field, const char *text)
{
    return replace(&row->fields[field], text);
}

bool assay_result_set_reason(struct assay_result *row, const char *text)
{
    return replace(&row->reason, text);
}

/* Below 6 samples no pair of ranks reaches 95 %: what stands there is the whole range. */
enum { FEWEST_SAMPLES = 6 };

void assay_result_set_time(struct assay_result *row, int time, double ns, double lo, double hi,
                           int64_t n)
{
    struct assay_result_time *t = &row->times[time];
    *t = (struct assay_result_time){.time = {.median = ns, .ci = {lo, hi}, .n = n > 0 ? n : 0}};
    t->there = ns > 0 && isfinite(ns);
    t->has_interval = t->there && n >= FEWEST_SAMPLES && assay_stats_median_is_sound(&t->time);
}

/* Samples and ceiling are of the same rounds: the interval of their ratio, less what is known of
 * the sample, would be the ceiling's own. As it is, it is wider, which errs on the side of no
 * drift. */
void assay_result_set_ceiling(struct assay_result_time *time, double ns, double efficiency,
                              struct assay_interval efficiency_ci, int64_t n, const char *bound)
{
    struct assay_median ceiling = {
        .median = ns,
        .ci = {ns * (efficiency_ci.lo / efficiency), ns * (efficiency_ci.hi / efficiency)},
        .n = n,
    };
    bool known = n >= ASSAY_STATS_FEWEST_ROUNDS && assay_stats_median_is_sound(&ceiling);
    time->ceiling = known ? ceiling : (struct assay_median){0};
    snprintf(time->bound, sizeof time->bound, "%s", bound);
}

/* ---- of a record ---------------------------------------------------------------------------- */

static void axes_text(const struct assay_record *record, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%.15s=%lld", i ? " " : "",
                                 record->axis_names[i], (long long)record->axes[i]);
}

static bool set_fields(struct assay_result *row, const struct assay_record *record)
{
    char axes[ASSAY_MAX_AXES * 40], threads[16] = "";
    axes_text(record, axes, sizeof axes);
    if (assay_record_on_host(record))
        snprintf(threads, sizeof threads, "%d", record->threads);
    const char *const texts[ASSAY_RESULT_FIELDS] = {
        [ASSAY_RESULT_OP] = record->op,
        [ASSAY_RESULT_SIZES] = axes,
        [ASSAY_RESULT_DTYPE] =
            record->dtype == ASSAY_DTYPE_NONE ? "" : assay_dtype_name(record->dtype),
        [ASSAY_RESULT_MODE] = record->mode,
        [ASSAY_RESULT_RECIPE] = record->recipe,
        [ASSAY_RESULT_IMPLEMENTATION] = record->implementation,
        [ASSAY_RESULT_COMPILE] = record->compile,
        [ASSAY_RESULT_DEVICE] = record->device,
        [ASSAY_RESULT_THREADS] = threads,
        [ASSAY_RESULT_KERNEL] = record->kernel,
        [ASSAY_RESULT_LABEL] = record->label,
        [ASSAY_RESULT_ENTRY] = record->entry,
    };
    for (int i = 0; i < ASSAY_RESULT_FIELDS; i++)
        if (!assay_result_set(row, (enum assay_result_field)i, texts[i]))
            return false;
    return assay_result_set_reason(row, record->reason);
}

enum assay_status assay_results_add_record(struct assay_results *results,
                                           const struct assay_record *record)
{
    struct assay_result *row = assay_results_add(results);
    if (!row || !set_fields(row, record))
        return ASSAY_ERR_NOMEM;
    row->outcome = record->outcome;
    row->interrupted = record->interrupted;
    for (int i = 0; i < ASSAY_CACHE_STATES; i++) {
        const struct assay_measurement *m = &record->states[i];
        if (!m->measured)
            continue;
        assay_result_set_time(row, i, m->time.median, m->time.median_ci.lo, m->time.median_ci.hi,
                              m->time.n);
        assay_result_set_ceiling(&row->times[i], m->ceiling_ns, m->efficiency, m->efficiency_ci,
                                 m->ceiling_rounds, m->bound);
        row->times[i].disturbed = assay_cell_disturbed(m);
    }
    return ASSAY_OK;
}

/* ---- rows of the same ----------------------------------------------------------------------- */

static int by_fields(const void *a, const void *b)
{
    const struct assay_result *one = a, *other = b;
    int order = 0;
    for (int i = 0; i < ASSAY_RESULT_FIELDS && order == 0; i++)
        order = strcmp(one->fields[i], other->fields[i]);
    return order;
}

struct place {
    const struct assay_result *row;
    int64_t at;
};

static int by_fields_and_place(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    int order = by_fields(one->row, other->row);
    return order ? order : (one->at > other->at) - (one->at < other->at);
}

/* The median of the repeats' medians: how far repeats lie apart says more of a figure than what one
 * of them says of itself. From six on they have an interval of their own; fewer lie somewhere
 * within all of theirs. */
static void join_times(struct assay_results *results, const struct place *places, int64_t n,
                       int time, double *scratch)
{
    struct assay_result_time joined = {.has_interval = true, .time.ci = {(double)INFINITY, 0}};
    int64_t have = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct assay_result_time *t = &results->rows[places[i].at].times[time];
        if (!t->there)
            continue;
        if (have == 0) {
            joined.ceiling = t->ceiling;
            memcpy(joined.bound, t->bound, sizeof joined.bound);
        }
        scratch[have++] = t->time.median;
        joined.there = true;
        joined.has_interval &= t->has_interval;
        joined.disturbed |= t->disturbed;
        joined.time.ci.lo = fmin(joined.time.ci.lo, t->time.ci.lo);
        joined.time.ci.hi = fmax(joined.time.ci.hi, t->time.ci.hi);
        joined.time.n += t->time.n;
    }
    if (have == 0)
        return;
    assay_stats_sort(scratch, have);
    if (have >= FEWEST_SAMPLES)
        joined.time.ci = assay_stats_median_interval(scratch, have, 0.95);
    joined.time.median = assay_stats_quantile(scratch, have, 0.5);
    results->rows[places[0].at].times[time] = joined;
}

static void join_repeats(struct assay_results *results, const struct place *places, int64_t n,
                         double *scratch)
{
    struct assay_result *first = &results->rows[places[0].at];
    for (int time = 0; time < ASSAY_RESULT_TIMES; time++)
        join_times(results, places, n, time, scratch);
    for (int64_t i = 1; i < n; i++) {
        struct assay_result *other = &results->rows[places[i].at];
        if (assay_outcome_is_fine(first->outcome) && !assay_outcome_is_fine(other->outcome)) {
            char *reason = first->reason;
            first->outcome = other->outcome;
            first->reason = other->reason;
            other->reason = reason;
        }
        first->interrupted |= other->interrupted;
        other->repeats = 0; /* to be removed */
    }
    first->repeats = n;
}

static void remove_joined(struct assay_results *results)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < results->n; i++) {
        if (results->rows[i].repeats)
            results->rows[kept++] = results->rows[i];
        else
            row_fini(&results->rows[i]);
    }
    results->n = kept;
}

/* Formats whose rows say all there is to say of a row. */
static bool tells_apart(const char *format)
{
    static const char *const whole[] = {"journal", "json",        "jsonl",  "html",
                                        "csv",     "torchao-csv", "pytorch"};
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (strcmp(format, whole[i]) == 0)
            return true;
    return false;
}

enum assay_status assay_results_join(struct assay_results *results, struct assay_error *err)
{
    bool repeats = tells_apart(results->format);
    struct place *places = assay_calloc((size_t)results->n + 1, sizeof *places);
    double *scratch = assay_calloc((size_t)results->n + 1, sizeof *scratch);
    if (!places || !scratch) {
        assay_free(places);
        assay_free(scratch);
        return assay_error_nomem(err);
    }
    for (int64_t i = 0; i < results->n; i++)
        places[i] = (struct place){&results->rows[i], i};
    qsort(places, (size_t)results->n, sizeof *places, by_fields_and_place);
    for (int64_t i = 0, end; i < results->n; i = end) {
        for (end = i + 1; end < results->n && by_fields(places[i].row, places[end].row) == 0;)
            end++;
        if (end - i > 1 && repeats)
            join_repeats(results, places + i, end - i, scratch);
        for (int64_t k = i; k < end && end - i > 1 && !repeats; k++)
            results->rows[places[k].at].ambiguous = true;
    }
    remove_joined(results);
    assay_free(places);
    assay_free(scratch);
    return ASSAY_OK;
}
