/* html_read.c: a page's data as a book again. html_data.c has the form.
 *
 * Lines are read one at a time, so that a page of 10,000 records takes no more memory than its
 * book. Keys that are not known are passed over, as in other files of records. */
#include "report/html/html_columns.h"
#include "report/html/html_texts.h"

#include "base/alloc.h"
#include "tensor/dtype.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KEYS = 400 };

/* What stands in the lists of keys. */
struct key {
    char name[64];
    int column; /* -1: not known */
    int part;   /* the key of the part that it is in, among those of all lists; -1: none */
};

enum level { PAGE, GROUP, ROW, LEVELS };

struct reader {
    const char *where;
    struct assay_error *err;
    const struct assay_html_columns *columns;
    struct key keys[MOST_KEYS];
    int n_keys, first[LEVELS + 1]; /* of a level from where to where */
    struct assay_text texts;       /* one behind the other, with their ends */
    size_t *starts;
    int64_t n_texts, text_capacity;
    assay_json *head; /* its values are those of the level "page" */
    const assay_json *values[MOST_KEYS];
    struct assay_book *book;
    struct assay_record *records;
    int64_t capacity;
};

static enum assay_status corrupt(const struct reader *r, const char *key, const char *what)
{
    return assay_error_set(r->err, ASSAY_ERR_CORRUPT, r->where, "the page's data: \"%s\" %s", key,
                           what);
}

static enum assay_status no_memory(const struct reader *r)
{
    return assay_error_set(r->err, ASSAY_ERR_NOMEM, r->where, "out of memory");
}

/* ---- texts ---------------------------------------------------------------------------------- */

static bool keep_text(struct reader *r, const char *text)
{
    if (r->n_texts == r->text_capacity) {
        int64_t capacity = r->text_capacity ? 2 * r->text_capacity : 64;
        size_t *moved = assay_realloc(r->starts, (size_t)capacity, sizeof *moved);
        if (!moved)
            return false;
        r->starts = moved;
        r->text_capacity = capacity;
    }
    r->starts[r->n_texts++] = r->texts.length;
    assay_text_append(&r->texts, text, strlen(text) + 1);
    return !r->texts.failed;
}

/* Every text is numbered, also of a key that is not known. */
static bool keep_texts(struct reader *r, const assay_json *value)
{
    const char *text = assay_json_string(value, NULL);
    if (text)
        return keep_text(r, text);
    bool kept = true;
    for (int64_t i = 0; kept && assay_json_is_array(value) && i < assay_json_count(value); i++)
        kept = keep_texts(r, assay_json_at(value, i));
    return kept;
}

/* NULL where it is no text, nor the number of one. */
static const char *text_of(const struct reader *r, const assay_json *value)
{
    const char *text = assay_json_string(value, NULL);
    int64_t number = assay_json_int(value, -1);
    if (text)
        return text;
    return number >= 0 && number < r->n_texts ? r->texts.data + r->starts[number] : NULL;
}

/* ---- values: what is wrong with one, or NULL ------------------------------------------------ */

static const char *read_text(const struct reader *r, const assay_json *value, char *out,
                             size_t size)
{
    const char *text = text_of(r, value);
    if (!text)
        return "is not a text";
    if (strlen(text) >= size)
        return "is longer than assay can hold";
    memcpy(out, text, strlen(text) + 1);
    return NULL;
}

/* The getters give a default for a wrong type; two different defaults tell it from a value. */
static const char *read_int(const assay_json *value, int64_t least, int64_t most, int64_t *out)
{
    *out = assay_json_int(value, 0);
    if (*out != assay_json_int(value, 1))
        return "is not a whole number";
    return *out < least || *out > most ? "is out of range" : NULL;
}

static const char *read_flag(const assay_json *value, bool *out)
{
    int64_t number;
    const char *problem = read_int(value, 0, 1, &number);
    *out = !problem && number == 1;
    return problem;
}

static const char *read_real(const assay_json *value, double *out)
{
    *out = assay_json_double(value, 0);
    return isnan(*out) || *out == assay_json_double(value, 1) ? NULL : "is not a number";
}

static const char *read_level(const assay_json *value, double *out)
{
    if (!assay_json_bool(value, false))
        return read_real(value, out);
    *out = (double)INFINITY;
    return NULL;
}

static const char *read_near(const assay_json *value, double expected, double *out)
{
    int64_t millionths;
    if (assay_json_is_array(value))
        return assay_json_count(value) == 1 ? read_real(assay_json_at(value, 0), out)
                                            : "is not one figure";
    if (isnan(assay_json_double(value, 0))) {
        *out = (double)NAN;
        return NULL;
    }
    const char *problem = read_int(value, INT64_MIN, INT64_MAX, &millionths);
    *out = problem ? 0 : assay_html_from_millionths(millionths, expected);
    return problem;
}

static const char *read_range(const assay_json *value, double expected, struct assay_interval *out)
{
    if (!assay_json_is_array(value) || assay_json_count(value) != 2)
        return "is not a pair";
    const char *problem = read_near(assay_json_at(value, 0), expected, &out->lo);
    return problem ? problem : read_near(assay_json_at(value, 1), expected, &out->hi);
}

static const char *read_seed(const assay_json *value, uint64_t *out)
{
    int64_t upper, lower;
    const char *problem;
    if (!assay_json_is_array(value)) {
        problem = read_int(value, 0, INT64_MAX, &lower);
        *out = (uint64_t)lower;
        return problem;
    }
    problem = read_int(assay_json_at(value, 0), 0, UINT32_MAX, &upper);
    if (!problem)
        problem = read_int(assay_json_at(value, 1), 0, UINT32_MAX, &lower);
    *out = problem ? 0 : (uint64_t)upper << 32 | (uint64_t)lower;
    return problem;
}

static const char *read_dtype(const struct reader *r, const assay_json *value,
                              enum assay_dtype *out)
{
    const char *name = text_of(r, value);
    for (int i = ASSAY_DTYPE_NONE; name && i < ASSAY_DTYPE_COUNT; i++)
        if (strcmp(assay_dtype_name((enum assay_dtype)i), name) == 0) {
            *out = (enum assay_dtype)i;
            return NULL;
        }
    return "is not a dtype";
}

static const char *read_outcome(const struct reader *r, const assay_json *value,
                                enum assay_outcome *out)
{
    const char *name = text_of(r, value);
    enum assay_outcome outcome = name ? assay_outcome_parse(name) : ASSAY_OUTCOME_COUNT;
    if (outcome == ASSAY_OUTCOME_COUNT)
        return "is not a status";
    *out = outcome;
    return NULL;
}

static const char *read_axes(const struct reader *r, const assay_json *value,
                             struct assay_record *out)
{
    int64_t n = assay_json_count(value);
    if (!assay_json_is_array(value) || n % 2 || n > 2 * ASSAY_MAX_AXES)
        return "are not a few names and sizes";
    out->n_axes = (int32_t)(n / 2);
    for (int32_t i = 0; i < out->n_axes; i++)
        if (read_text(r, assay_json_at(value, 2 * i), out->axis_names[i],
                      sizeof out->axis_names[i]) ||
            read_int(assay_json_at(value, 2 * i + 1), INT64_MIN, INT64_MAX, &out->axes[i]))
            return "hold something that is not a name or a size";
    return NULL;
}

static const char *read_names(const struct reader *r, const assay_json *value,
                              struct assay_graph_audit *out)
{
    if (!assay_json_is_array(value) || assay_json_count(value) > ASSAY_GRAPH_NAMES)
        return "is not a short array of names";
    out->n_names = (int32_t)assay_json_count(value);
    for (int32_t i = 0; i < out->n_names; i++)
        if (read_text(r, assay_json_at(value, i), out->names[i], ASSAY_GRAPH_NAME))
            return "holds something that is not a short name";
    return NULL;
}

static const char *read_disturbed(const assay_json *indices, struct assay_samples *out)
{
    int64_t index, before = -1;
    if (!assay_json_is_array(indices))
        return "has no array of indices";
    for (int64_t i = 0; i < assay_json_count(indices); i++, before = index) {
        if (read_int(assay_json_at(indices, i), before + 1, out->n - 1, &index))
            return "has an index that is not of a sample, behind the one before it";
        out->disturbed[index / 8] |= (uint8_t)(1 << index % 8);
    }
    return NULL;
}

static const char *read_samples(const assay_json *value, struct assay_measurement *m)
{
    struct assay_samples *out = &m->samples;
    const assay_json *times = assay_json_at(value, 2);
    int64_t every, unit, number;
    if (assay_json_int(value, 1) == 0)
        return NULL;
    if (!assay_json_is_array(value) || assay_json_count(value) != 4 ||
        read_int(assay_json_at(value, 0), 1, INT32_MAX, &every) ||
        read_int(assay_json_at(value, 1), 1, 1000000, &unit) || !assay_json_is_array(times) ||
        assay_json_count(times) < 1 || assay_json_count(times) > ASSAY_SAMPLES_KEPT)
        return "are not samples";
    double median = m->time.median > 0 && isfinite(m->time.median) ? m->time.median : 1;
    out->every = (int32_t)every;
    out->n = (int32_t)assay_json_count(times);
    for (int32_t i = 0; i < out->n; i++) {
        if (read_int(assay_json_at(times, i), INT64_MIN, INT64_MAX, &number))
            return "hold something that is not a time";
        double ns = median + (double)number * (double)unit * 1e-6 * median;
        out->ns[i] = (float)fmin(fmax(ns, 0), (double)FLT_MAX);
    }
    return read_disturbed(assay_json_at(value, 3), out);
}

static const char *read_value(const struct reader *r, int column, const assay_json *value,
                              struct assay_record *record)
{
    const struct assay_html_column *c = &r->columns->at[column];
    char *at = (char *)record + c->offset, *outer = at - c->field->offset;
    double expected = assay_html_columns_expected(r->columns, column, record);
    int64_t wide = 0;
    const char *problem;
    switch (c->kind) {
    case ASSAY_FIELD_TEXT:
        return read_text(r, value, at, c->field->size);
    case ASSAY_FIELD_INT32:
        problem = read_int(value, INT32_MIN, INT32_MAX, &wide);
        *(int32_t *)(void *)at = (int32_t)wide;
        return problem;
    case ASSAY_FIELD_INT64:
        return read_int(value, INT64_MIN, INT64_MAX, (int64_t *)(void *)at);
    case ASSAY_FIELD_SEED:
        return read_seed(value, (uint64_t *)(void *)at);
    case ASSAY_FIELD_REAL:
        return c->expected != ASSAY_HTML_ANYTHING ? read_near(value, expected, (double *)(void *)at)
                                                  : read_real(value, (double *)(void *)at);
    case ASSAY_FIELD_LEVEL:
        return read_level(value, (double *)(void *)at);
    case ASSAY_FIELD_FLAG:
    case ASSAY_FIELD_PART:
        return read_flag(value, (bool *)(void *)at);
    case ASSAY_FIELD_DTYPE:
        return read_dtype(r, value, (enum assay_dtype *)(void *)at);
    case ASSAY_FIELD_OUTCOME:
        return read_outcome(r, value, (enum assay_outcome *)(void *)at);
    case ASSAY_FIELD_RANGE:
        return read_range(value, expected, (struct assay_interval *)(void *)at);
    case ASSAY_FIELD_AXES:
        return read_axes(r, value, record);
    case ASSAY_FIELD_NAMES:
        return read_names(r, value, (struct assay_graph_audit *)(void *)outer);
    case ASSAY_FIELD_SAMPLES:
        return read_samples(value, (struct assay_measurement *)(void *)outer);
    }
    return "is of no known kind";
}

/* ---- records -------------------------------------------------------------------------------- */

/* What is not written: is it what is expected, or may it be missing? */
static bool fill_in(const struct reader *r, int column, struct assay_record *record)
{
    const struct assay_html_column *c = &r->columns->at[column];
    bool expected = c->expected > ASSAY_HTML_NEAR;
    if (expected)
        *(double *)(void *)((char *)record + c->offset) =
            assay_html_columns_expected(r->columns, column, record);
    return expected || c->field->need != ASSAY_FIELD_ESSENTIAL;
}

static enum assay_status read_record(struct reader *r, struct assay_record *record)
{
    const assay_json *of_column[ASSAY_HTML_COLUMNS] = {NULL};
    for (int k = 0; k < r->n_keys; k++)
        if (r->keys[k].column >= 0)
            of_column[r->keys[k].column] = r->values[k];
    assay_record_clear(record);
    for (int c = 0; c < r->columns->n; c++) {
        const struct assay_html_column *column = &r->columns->at[c];
        if (!assay_html_columns_has(r->columns, c, record))
            continue;
        const char *problem = of_column[c] ? read_value(r, c, of_column[c], record) : NULL;
        if (problem)
            return corrupt(r, column->key, problem);
        if (!of_column[c] && !fill_in(r, c, record))
            return corrupt(r, column->key, "is missing");
    }
    return ASSAY_OK;
}

/* Does a row leave the key out, because its part is not there? */
static bool is_left_out(const struct reader *r, int key)
{
    for (int part = r->keys[key].part; part >= 0; part = r->keys[part].part)
        if (!r->values[part] || assay_json_int(r->values[part], 0) == 0)
            return true;
    return false;
}

/* The values of a level from an array. */
static enum assay_status take_values(struct reader *r, enum level level, const assay_json *array)
{
    int64_t at = 0;
    if (!assay_json_is_array(array))
        return corrupt(r, "values", "is not an array");
    for (int k = r->first[level]; k < r->first[level + 1]; k++) {
        r->values[k] = NULL;
        if (level == ROW && is_left_out(r, k))
            continue;
        r->values[k] = assay_json_at(array, at++);
        if (!r->values[k])
            return corrupt(r, r->keys[k].name, "is missing");
        if (!keep_texts(r, r->values[k]))
            return no_memory(r);
    }
    return at == assay_json_count(array) ? ASSAY_OK
                                         : corrupt(r, "values", "has more than there are keys");
}

static bool make_room(struct reader *r, int64_t n)
{
    if (n <= r->capacity)
        return true;
    struct assay_record *moved = assay_realloc(r->records, (size_t)n, sizeof *moved);
    if (!moved)
        return false;
    r->records = moved;
    r->capacity = n;
    return true;
}

/* "[RUN,[…],[[…],…]]". Groups are in the order of their runs, which are begun here. */
static enum assay_status read_group(struct reader *r, const assay_json *group)
{
    const assay_json *runs = assay_json_get(r->head, "runs"), *rows = assay_json_at(group, 2);
    int64_t run, n = assay_json_count(rows);
    if (read_int(assay_json_at(group, 0), r->book->n_runs ? r->book->n_runs - 1 : 0,
                 assay_json_count(runs) - 1, &run))
        return corrupt(r, "run", "is not one of the runs, in their order");
    if (!assay_json_is_array(rows) || n < 1)
        return corrupt(r, "rows", "is not an array of rows");
    while (r->book->n_runs <= run) {
        struct assay_run_info info;
        assay_run_info_from_json(assay_json_at(runs, r->book->n_runs), &info);
        int64_t before = r->book->n_runs;
        assay_book_begin(r->book, &info);
        if (r->book->n_runs == before)
            return no_memory(r);
    }
    enum assay_status status = take_values(r, GROUP, assay_json_at(group, 1));
    if (status == ASSAY_OK && !make_room(r, n))
        return no_memory(r);
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++) {
        status = take_values(r, ROW, assay_json_at(rows, i));
        if (status == ASSAY_OK)
            status = read_record(r, &r->records[i]);
    }
    if (status == ASSAY_OK)
        assay_book_add(r->book, r->records, n);
    return status == ASSAY_OK && r->book->failed ? no_memory(r) : status;
}

/* ---- the head ------------------------------------------------------------------------------- */

static int key_named(const struct reader *r, const char *name, size_t length)
{
    for (int k = 0; k < r->n_keys; k++)
        if (strncmp(r->keys[k].name, name, length) == 0 && !r->keys[k].name[length])
            return k;
    return -1;
}

/* "hot.q1_ns@median_ns": the column, if it is relative to what this program thinks, too. */
static bool take_key(struct reader *r, const char *text)
{
    size_t length = strcspn(text, "@");
    struct key *key = &r->keys[r->n_keys];
    if (length == 0 || length >= sizeof key->name || r->n_keys == MOST_KEYS ||
        key_named(r, text, length) >= 0)
        return false;
    *key = (struct key){.column = assay_html_columns_named(r->columns, text, length)};
    memcpy(key->name, text, length);
    r->n_keys++;
    if (key->column < 0)
        return true;
    const struct assay_html_column *c = &r->columns->at[key->column];
    const char *near = c->expected == ASSAY_HTML_NEAR ? r->columns->at[c->near].field->key : "";
    bool relative = text[length] == '@';
    return relative == (c->expected != ASSAY_HTML_ANYTHING) &&
           (!relative || strcmp(text + length + 1, near) == 0);
}

static enum assay_status take_keys(struct reader *r)
{
    static const char *const lists[] = {"page", "group", "row"};
    for (int level = 0; level < LEVELS; level++) {
        const assay_json *list = assay_json_get(r->head, lists[level]);
        r->first[level] = r->n_keys;
        if (!assay_json_is_array(list))
            return corrupt(r, lists[level], "is not an array of keys");
        for (int64_t i = 0; i < assay_json_count(list); i++)
            if (!take_key(r, assay_json_string(assay_json_at(list, i), "")))
                return corrupt(r, lists[level], "holds a key that cannot be read");
    }
    r->first[LEVELS] = r->n_keys;
    for (int k = 0; k < r->n_keys; k++) {
        const char *name = r->keys[k].name, *dot = strrchr(name, '.');
        r->keys[k].part = -1;
        for (; dot && r->keys[k].part < 0; dot = memrchr(name, '.', (size_t)(dot - name)))
            r->keys[k].part = key_named(r, name, (size_t)(dot - name));
    }
    return ASSAY_OK;
}

static enum assay_status read_head(struct reader *r)
{
    int64_t format = assay_json_int(assay_json_get(r->head, "format"), 0);
    if (format > ASSAY_HTML_FORMAT)
        return assay_error_set(r->err, ASSAY_ERR_INVALID, r->where,
                               "a page of a later version of assay (%s)",
                               assay_json_string(assay_json_get(r->head, "version"), "unknown"));
    if (format != ASSAY_HTML_FORMAT || !assay_json_is_array(assay_json_get(r->head, "runs")))
        return corrupt(r, "format", "is not known");
    enum assay_status status = take_keys(r);
    return status == ASSAY_OK ? take_values(r, PAGE, assay_json_get(r->head, "values")) : status;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* The next line of `*at`, without its end. */
static bool next_line(const char **at, const char *end, const char **line, size_t *length)
{
    const char *newline = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;
    if (!newline)
        return false;
    *line = *at;
    *length = (size_t)(newline - *at);
    *at = newline + 1;
    return true;
}

/* Two lines that want their end. */
static enum assay_status parse_head(struct reader *r, const char **at, const char *end)
{
    struct assay_text text = {0};
    const char *line;
    size_t length;
    for (int i = 0; i < 2 && next_line(at, end, &line, &length); i++)
        assay_text_append(&text, line, length);
    assay_text_add(&text, "]}");
    if (!text.failed)
        r->head = assay_json_parse(text.data, text.length, r->where, r->err);
    bool failed = text.failed;
    assay_text_fini(&text);
    return failed ? no_memory(r) : r->head ? ASSAY_OK : ASSAY_ERR_CORRUPT;
}

static enum assay_status parse_group(struct reader *r, const char *line, size_t length)
{
    assay_json *group = assay_json_parse(line, length, r->where, r->err);
    enum assay_status status = group ? read_group(r, group) : ASSAY_ERR_CORRUPT;
    assay_json_free(group);
    return status;
}

static enum assay_status parse_all(struct reader *r, const char *at, const char *end)
{
    const char *line;
    size_t length;
    enum assay_status status = parse_head(r, &at, end);
    if (status == ASSAY_OK)
        status = read_head(r);
    while (status == ASSAY_OK) {
        if (!next_line(&at, end, &line, &length))
            return corrupt(r, "groups", "ends too early");
        if (length == 2 && memcmp(line, "]}", 2) == 0)
            return ASSAY_OK;
        if (length == 0)
            continue;
        status = parse_group(r, line, length - (line[length - 1] == ','));
    }
    return status;
}

/* Runs without a group. */
static enum assay_status begin_rest(struct reader *r)
{
    const assay_json *runs = assay_json_get(r->head, "runs");
    for (int64_t i = r->book->n_runs; i < assay_json_count(runs); i++) {
        struct assay_run_info info;
        assay_run_info_from_json(assay_json_at(runs, i), &info);
        assay_book_begin(r->book, &info);
        if (r->book->failed)
            return no_memory(r);
    }
    return ASSAY_OK;
}

static void fini(struct reader *r, struct assay_html_columns *columns)
{
    assay_json_free(r->head);
    assay_text_fini(&r->texts);
    assay_free(r->starts);
    assay_free(r->records);
    assay_free(columns);
    assay_free(r);
}

enum assay_status assay_html_read(const char *bytes, size_t length, const char *where,
                                  struct assay_book *out, struct assay_error *err)
{
    static const char begin[] = ASSAY_HTML_DATA_BEGIN, finish[] = ASSAY_HTML_DATA_END;
    const char *at = memmem(bytes, length, begin, sizeof begin - 1);
    const char *end =
        at ? memmem(at, length - (size_t)(at - bytes), finish, sizeof finish - 1) : NULL;
    *out = (struct assay_book){0};
    if (!end)
        return assay_error_set(err, ASSAY_ERR_INVALID, where,
                               at ? "is cut off: its records have no end"
                                  : "not a page that assay wrote, or one that is cut off");
    struct assay_html_columns *columns = assay_html_columns_create();
    struct reader *r = columns ? assay_calloc(1, sizeof *r) : NULL;
    if (!r) {
        assay_free(columns);
        return assay_error_set(err, ASSAY_ERR_NOMEM, where, "out of memory");
    }
    *r = (struct reader){.where = where, .err = err, .columns = columns, .book = out};
    enum assay_status status = parse_all(r, at + sizeof begin - 1, end);
    if (status == ASSAY_OK)
        status = begin_rest(r);
    fini(r, columns);
    if (status != ASSAY_OK)
        assay_book_fini(out);
    return status;
}
