/* html_data.c: a book as JSON, as small as it gets while a script can still read it.
 *
 * One line for what all records have in common, then one line for each group:
 *
 *   {"format":1,"version":"0.1.0","left":0,"samples":{…},"runs":[{…}],
 *    "page":[KEY, …],"group":[KEY, …],"row":[KEY, …],"values":[VALUE, …],"groups":[
 *   [RUN,[VALUE, …],[[VALUE, …], …]],
 *   …
 *   ]}
 *
 * "values" has a value for each key of "page", which is the same in all records; a group has those
 * of "group", and its rows those of "row". Keys and what is left out are in html_columns.h; a key
 * "hot.q1_ns@median_ns" holds millionths of hot.median_ns, "hot.iqr_ns@" of what html_columns.c
 * expects. What is as expected in all records is not there at all.
 *
 * A text is written where it occurs first; a number stands for the text with this number, in the
 * order of the document. Flags are 0 and 1, NaN is null. A figure that millionths cannot say is
 * [FIGURE], an infinite level true, a seed beyond 63 bits [its upper 32, its lower 32]; axes are
 * [NAME, SIZE, NAME, SIZE]. Samples are [EVERY, UNIT, [N, …], [INDEX, …]]: each is 1 + N UNIT /
 * 10^6 times the median of its state (or 1 ns, where that is not above 0), and those at the indices
 * were disturbed; 0: there are none. */
#include "report/html/html_columns.h"
#include "report/html/html_texts.h"

#include "base/alloc.h"
#include "base/math.h"
#include "record/samples.h"
#include "report/report_sink.h"
#include "tensor/dtype.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* In bytes: what a page is to have at the most, and what records take without samples; a sample
 * takes some three. */
enum {
    PAGE_BYTES = 7500000,
    RECORD_BYTES = 110,
    FIGURE_BYTES = 165,
    SAMPLE_BYTES = 4,
    FEWEST_SAMPLES = 8, /* fewer say nothing */
};

/* Where a column is written. */
enum level { NOWHERE, PAGE, GROUP, ROW };

struct data {
    struct assay_html_out *out;
    const struct assay_html_columns *columns;
    const struct assay_html_samples *samples;
    struct assay_html_texts texts;
    enum level levels[ASSAY_HTML_COLUMNS];
    /* The first value of each column that was seen, in the book and in the group. */
    bool in_book[ASSAY_HTML_COLUMNS], in_group[ASSAY_HTML_COLUMNS];
    struct assay_record of_book, of_group;
};

/* ---- values --------------------------------------------------------------------------------- */

static void put_string(struct assay_text *out, const char *text)
{
    size_t left = strlen(text);
    assay_text_add(out, "\"");
    for (size_t n; left > 0; text += n, left -= n) {
        n = assay_text_utf8(text, left);
        unsigned char c = (unsigned char)*text;
        if (n == 0)
            assay_text_add(out, "?");
        else if (c < ' ' || c == '<') /* no tag can begin in a script element */
            assay_text_format(out, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            assay_text_format(out, "\\%c", c);
        else
            assay_text_append(out, text, n);
        n += n == 0;
    }
    assay_text_add(out, "\"");
}

static void put_text(struct data *d, const char *text)
{
    int64_t number = assay_html_texts_number(&d->texts, text);
    if (number < 0)
        put_string(&d->out->text, text);
    else
        assay_text_format(&d->out->text, "%lld", (long long)number);
}

/* "1.5e+07" without what it can do without, and with a point in any locale. */
static void put_digits(struct assay_text *out, char *digits)
{
    char *point = strchr(digits, localeconv()->decimal_point[0]), *e = strchr(digits, 'e');
    if (point)
        *point = '.';
    if (!e) {
        assay_text_add(out, digits);
        return;
    }
    const char *power = e + 1 + (e[1] == '+' || e[1] == '-');
    assay_text_append(out, digits, (size_t)(e - digits));
    assay_text_format(out, "e%s%s", e[1] == '-' ? "-" : "", power + (power[0] == '0'));
}

static void put_real(struct assay_text *out, double value, int digits)
{
    char text[40];
    if (!isfinite(value)) {
        assay_text_add(out, "null");
    } else if (value == floor(value) && fabs(value) < 1e15) {
        assay_text_format(out, "%lld", (long long)value);
    } else {
        snprintf(text, sizeof text, "%.*g", digits, value);
        put_digits(out, text);
    }
}

static void put_near(struct assay_text *out, double value, double expected)
{
    int64_t millionths;
    if (isnan(value) || isinf(value)) {
        assay_text_add(out, "null");
    } else if (assay_html_millionths(value, expected, &millionths)) {
        assay_text_format(out, "%lld", (long long)millionths);
    } else {
        assay_text_add(out, "[");
        put_real(out, value, 7);
        assay_text_add(out, "]");
    }
}

static void put_range(struct data *d, int column, const struct assay_record *record,
                      const struct assay_interval *range)
{
    double expected = assay_html_columns_expected(d->columns, column, record);
    assay_text_add(&d->out->text, "[");
    put_near(&d->out->text, range->lo, expected);
    assay_text_add(&d->out->text, ",");
    put_near(&d->out->text, range->hi, expected);
    assay_text_add(&d->out->text, "]");
}

static void put_seed(struct assay_text *out, uint64_t seed)
{
    if (seed <= INT64_MAX)
        assay_text_format(out, "%lld", (long long)seed);
    else
        assay_text_format(out, "[%llu,%llu]", (unsigned long long)seed >> 32,
                          (unsigned long long)seed & 0xffffffff);
}

static void put_axes(struct data *d, const struct assay_record *record)
{
    assay_text_add(&d->out->text, "[");
    for (int32_t i = 0; i < record->n_axes && i < ASSAY_MAX_AXES; i++) {
        assay_text_add(&d->out->text, i ? "," : "");
        put_text(d, record->axis_names[i]);
        assay_text_format(&d->out->text, ",%lld", (long long)record->axes[i]);
    }
    assay_text_add(&d->out->text, "]");
}

static void put_names(struct data *d, const struct assay_graph_audit *graph)
{
    assay_text_add(&d->out->text, "[");
    for (int32_t i = 0; i < graph->n_names && i < ASSAY_GRAPH_NAMES; i++) {
        assay_text_add(&d->out->text, i ? "," : "");
        put_text(d, graph->names[i]);
    }
    assay_text_add(&d->out->text, "]");
}

/* A sixtieth of what the quartiles are apart: finer than it can be drawn. */
static int64_t unit_of(const struct assay_measurement *m)
{
    double millionths = m->time.iqr / m->time.median * 1e6 / 60;
    return millionths > 1 && millionths < 1e6 ? (int64_t)millionths : 1;
}

static void put_disturbed(struct assay_text *out, const struct assay_samples *samples, int64_t step)
{
    const char *comma = "";
    for (int64_t i = 0; i * step < samples->n; i++)
        if (assay_samples_is_disturbed(samples, i * step)) {
            assay_text_format(out, "%s%lld", comma, (long long)i);
            comma = ",";
        }
}

static void put_samples(struct data *d, const struct assay_measurement *m)
{
    const struct assay_samples *samples = &m->samples;
    struct assay_text *out = &d->out->text;
    int64_t most = d->samples->most, step = most ? assay_ceil_div(samples->n, most) : 1;
    int64_t unit = unit_of(m);
    double median = m->time.median > 0 && isfinite(m->time.median) ? m->time.median : 1;
    if (samples->n == 0 || most == 0) {
        assay_text_add(out, "0");
        return;
    }
    assay_text_format(out, "[%lld,%lld,[", (long long)samples->every * step, (long long)unit);
    for (int64_t i = 0; i < samples->n; i += step) {
        double apart = ((double)samples->ns[i] - median) / median * 1e6 / (double)unit;
        assay_text_format(out, "%s%.0f", i ? "," : "", round(apart) + 0.0);
    }
    assay_text_add(out, "],[");
    put_disturbed(out, samples, step);
    assay_text_add(out, "]]");
}

static void put_value(struct data *d, int column, const struct assay_record *record)
{
    const struct assay_html_column *c = &d->columns->at[column];
    const void *at = (const char *)record + c->offset;
    struct assay_text *out = &d->out->text;
    switch (c->kind) {
    case ASSAY_FIELD_TEXT:
        put_text(d, at);
        break;
    case ASSAY_FIELD_INT32:
        assay_text_format(out, "%d", (int)*(const int32_t *)at);
        break;
    case ASSAY_FIELD_INT64:
        assay_text_format(out, "%lld", (long long)*(const int64_t *)at);
        break;
    case ASSAY_FIELD_SEED:
        put_seed(out, *(const uint64_t *)at);
        break;
    case ASSAY_FIELD_REAL:
        if (c->expected != ASSAY_HTML_ANYTHING)
            put_near(out, *(const double *)at,
                     assay_html_columns_expected(d->columns, column, record));
        else
            put_real(out, *(const double *)at, c->digits);
        break;
    case ASSAY_FIELD_LEVEL:
        if (isinf(*(const double *)at) && *(const double *)at > 0)
            assay_text_add(out, "true");
        else
            put_real(out, *(const double *)at, c->digits);
        break;
    case ASSAY_FIELD_FLAG:
    case ASSAY_FIELD_PART:
        assay_text_add(out, *(const bool *)at ? "1" : "0");
        break;
    case ASSAY_FIELD_DTYPE:
        put_text(d, assay_dtype_name(*(const enum assay_dtype *)at));
        break;
    case ASSAY_FIELD_OUTCOME:
        put_text(d, assay_outcome_name(*(const enum assay_outcome *)at));
        break;
    case ASSAY_FIELD_RANGE:
        put_range(d, column, record, at);
        break;
    case ASSAY_FIELD_AXES:
        put_axes(d, record);
        break;
    case ASSAY_FIELD_NAMES:
        put_names(d,
                  (const struct assay_graph_audit *)(const void *)((const char *)record +
                                                                   c->offset - c->field->offset));
        break;
    case ASSAY_FIELD_SAMPLES:
        put_samples(d,
                    (const struct assay_measurement *)(const void *)((const char *)record +
                                                                     c->offset - c->field->offset));
        break;
    }
}

/* All columns of a level; of a row those that it has. */
static void put_values(struct data *d, enum level level, const struct assay_record *record)
{
    const char *comma = "";
    assay_html_put(d->out, "[");
    for (int c = 0; c < d->columns->n; c++) {
        if (d->levels[c] != level ||
            (level == ROW && !assay_html_columns_has(d->columns, c, record)))
            continue;
        assay_html_put(d->out, comma);
        put_value(d, c, record);
        comma = ",";
    }
    assay_html_put(d->out, "]");
}

/* ---- where columns are written -------------------------------------------------------------- */

static size_t size_of(const struct assay_html_column *column)
{
    return column->kind == ASSAY_FIELD_PART ? sizeof(bool) : column->field->size;
}

/* Is the value what was seen first? If it is the first, it is kept. */
static bool is_first(struct assay_record *first, bool *seen, const struct assay_html_column *column,
                     const struct assay_record *record)
{
    char *kept = (char *)first + column->offset;
    const char *value = (const char *)record + column->offset;
    if (*seen)
        return memcmp(kept, value, size_of(column)) == 0;
    memcpy(kept, value, size_of(column));
    *seen = true;
    return true;
}

static bool is_as_expected(const struct data *d, int column, const struct assay_record *record)
{
    const struct assay_html_column *c = &d->columns->at[column];
    int64_t millionths;
    return c->expected > ASSAY_HTML_NEAR && c->kind == ASSAY_FIELD_REAL &&
           assay_html_millionths(*(const double *)(const void *)((const char *)record + c->offset),
                                 assay_html_columns_expected(d->columns, column, record),
                                 &millionths) &&
           millionths == 0;
}

static void see(struct data *d, int column, const struct assay_record *record)
{
    const struct assay_html_column *c = &d->columns->at[column];
    enum level *level = &d->levels[column];
    bool as_in_book = is_first(&d->of_book, &d->in_book[column], c, record);
    bool as_in_group = is_first(&d->of_group, &d->in_group[column], c, record);
    if (c->expected != ASSAY_HTML_ANYTHING)
        *level = is_as_expected(d, column, record) ? *level : ROW;
    else if (c->kind == ASSAY_FIELD_SAMPLES)
        *level = ((const struct assay_samples *)(const void *)((const char *)record + c->offset))->n
                     ? ROW
                     : *level;
    else if (!as_in_group)
        *level = ROW;
    else if (*level != ROW)
        *level = as_in_book && *level != GROUP ? PAGE : GROUP;
}

static bool scan(struct data *d, const struct assay_book *book, struct assay_book_view *view)
{
    for (int64_t g = 0; g < book->n_groups; g++) {
        if (!assay_book_open(book, g, view))
            return false;
        memset(d->in_group, 0, sizeof d->in_group);
        for (int64_t i = 0; i < view->n; i++)
            for (int c = 0; c < d->columns->n; c++)
                if (assay_html_columns_has(d->columns, c, &view->records[i]))
                    see(d, c, &view->records[i]);
    }
    return true;
}

/* ---- all ------------------------------------------------------------------------------------ */

static void put_keys(struct data *d, enum level level)
{
    const char *comma = "";
    assay_html_put(d->out, "[");
    for (int i = 0; i < d->columns->n; i++) {
        const struct assay_html_column *c = &d->columns->at[i];
        if (d->levels[i] != level)
            continue;
        const char *near = c->expected == ASSAY_HTML_NEAR ? d->columns->at[c->near].field->key : "";
        assay_text_format(&d->out->text, "%s\"%s%s%s\"", comma, c->key,
                          c->expected == ASSAY_HTML_ANYTHING ? "" : "@", near);
        comma = ",";
    }
    assay_html_put(d->out, "]");
}

/* JSON that may hold any text. */
static void put_json(struct assay_html_out *out, assay_json *value)
{
    struct assay_text text = {0};
    assay_json_write(value, 0, &text);
    out->text.failed |= text.failed;
    for (const char *at = text.data; at && *at; at++) {
        size_t plain = strcspn(at, "<");
        assay_text_append(&out->text, at, plain);
        at += plain;
        if (!*at)
            break;
        assay_html_put(out, "\\u003c");
    }
    assay_text_fini(&text);
    assay_json_free(value);
}

static void put_runs(struct assay_html_out *out, const struct assay_book *book)
{
    for (int64_t i = 0; i < book->n_runs; i++) {
        assay_html_put(out, i ? "," : "");
        put_json(out, assay_run_info_to_json(&book->runs[i].info));
    }
}

static void put_head(struct data *d, const struct assay_book *book, int64_t left)
{
    const struct assay_html_samples *s = d->samples;
    assay_text_format(&d->out->text, "{\"format\":%d,\"version\":\"%s\",\"left\":%lld,",
                      ASSAY_HTML_FORMAT, ASSAY_VERSION, (long long)left);
    assay_text_format(&d->out->text,
                      "\"samples\":{\"figures\":%lld,\"most\":%lld,\"thinned\":%s},\"runs\":[",
                      (long long)s->figures, (long long)s->most, s->thinned ? "true" : "false");
    put_runs(d->out, book);
    assay_html_put(d->out, "],\n\"page\":");
    put_keys(d, PAGE);
    assay_html_put(d->out, ",\"group\":");
    put_keys(d, GROUP);
    assay_html_put(d->out, ",\"row\":");
    put_keys(d, ROW);
    assay_html_put(d->out, ",\"values\":");
    put_values(d, PAGE, &d->of_book);
    assay_html_put(d->out, ",\"groups\":[\n");
}

/* What all rows have that have the column at all. */
static void find_of_group(struct data *d, const struct assay_book_view *view)
{
    memset(d->in_group, 0, sizeof d->in_group);
    assay_record_clear(&d->of_group);
    for (int64_t i = 0; i < view->n; i++)
        for (int c = 0; c < d->columns->n; c++)
            if (d->levels[c] == GROUP && assay_html_columns_has(d->columns, c, &view->records[i]))
                is_first(&d->of_group, &d->in_group[c], &d->columns->at[c], &view->records[i]);
}

static void put_group(struct data *d, int64_t run, const struct assay_book_view *view)
{
    find_of_group(d, view);
    assay_text_format(&d->out->text, "[%lld,", (long long)run);
    put_values(d, GROUP, &d->of_group);
    assay_html_put(d->out, ",[");
    for (int64_t i = 0; i < view->n; i++) {
        assay_html_put(d->out, i ? "," : "");
        put_values(d, ROW, &view->records[i]);
    }
    assay_html_put(d->out, "]]");
}

static bool put_all(struct data *d, const struct assay_book *book, int64_t left,
                    struct assay_book_view *view)
{
    if (!scan(d, book, view))
        return false;
    put_head(d, book, left);
    for (int64_t g = 0; g < book->n_groups; g++) {
        if (!assay_book_open(book, g, view))
            return false;
        assay_html_put(d->out, g ? ",\n" : "");
        put_group(d, book->groups[g].run, view);
        assay_html_flush_much(d->out);
    }
    assay_html_put(d->out, "\n]}\n");
    return true;
}

struct assay_html_samples assay_html_samples_of(const struct assay_book *book, size_t written)
{
    struct assay_html_samples samples = {.figures = 0};
    struct assay_book_view view = {0};
    int64_t greatest = 0, space = PAGE_BYTES - (int64_t)written - RECORD_BYTES * book->n_records;
    for (int64_t g = 0; g < book->n_groups && assay_book_open(book, g, &view); g++)
        for (int64_t i = 0; i < view.n; i++)
            for (int s = 0; s < ASSAY_CACHE_STATES; s++) {
                const struct assay_measurement *m = &view.records[i].states[s];
                samples.figures += m->measured && m->samples.n > 0;
                greatest = assay_max(greatest, m->measured ? m->samples.n : 0);
                space -= m->measured ? FIGURE_BYTES : 0;
            }
    assay_book_view_fini(&view);
    if (samples.figures && space > 0)
        samples.most = assay_min(ASSAY_SAMPLES_KEPT, space / SAMPLE_BYTES / samples.figures);
    if (samples.most < FEWEST_SAMPLES)
        samples.most = 0;
    samples.thinned = greatest > samples.most;
    return samples;
}

void assay_html_put_data(struct assay_html_out *out, const struct assay_book *book, int64_t left,
                         const struct assay_html_samples *samples)
{
    struct assay_book_view view = {0};
    struct assay_html_columns *columns = assay_html_columns_create();
    struct data *d = columns ? assay_calloc(1, sizeof *d) : NULL;
    assay_html_put(out, ASSAY_HTML_DATA_BEGIN);
    if (d) {
        *d = (struct data){.out = out, .columns = columns, .samples = samples};
        if (!put_all(d, book, left, &view) || d->texts.bytes.failed)
            out->text.failed = true;
        assay_html_texts_fini(&d->texts);
    } else {
        out->text.failed = true;
    }
    assay_html_put(out, ASSAY_HTML_DATA_END);
    assay_book_view_fini(&view);
    assay_free(columns);
    assay_free(d);
}
