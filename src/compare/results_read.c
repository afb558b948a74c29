/* results_read.c: results found, their format told by how they begin, and read. */
#include "compare/results.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "bench/journal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run of 100,000 rows has some 400 MB of JSON. */
static const size_t MOST_BYTES = (size_t)1 << 30;

static const char readable[] =
    "a journal, or a file of the formats json, jsonl, csv, torchao-csv, comprehensive, "
    "kobench-json, kernel-json or pytorch";

/* ---- which format --------------------------------------------------------------------------- */

static bool begins(const char *bytes, size_t length, const char *with)
{
    size_t n = strlen(with);
    return length >= n && memcmp(bytes, with, n) == 0;
}

static bool holds(const char *bytes, size_t length, const char *what)
{
    return memmem(bytes, length, what, strlen(what)) != NULL;
}

static size_t first_line(const char *bytes, size_t length)
{
    const char *newline = memchr(bytes, '\n', length);
    return newline ? (size_t)(newline - bytes) : length;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/* What stands before the first character that counts: blanks, and the mark some editors write. */
static size_t lead(const char *bytes, size_t length)
{
    size_t at = begins(bytes, length, "\xef\xbb\xbf") ? 3 : 0;
    while (at < length && is_blank(bytes[at]))
        at++;
    return at;
}

/* Of the first element of an array, by keys that no other format has. */
static const char *array_format(const char *bytes, size_t length)
{
    enum { ENOUGH = 4096 };
    size_t n = length < ENOUGH ? length : ENOUGH;
    if (holds(bytes, n, "\"time_ms\""))
        return "comprehensive";
    if (holds(bytes, n, "\"latency_ms\""))
        return "kobench-json";
    return holds(bytes, n, "\"benchmark\"") ? "pytorch" : NULL;
}

static const char *object_format(const char *bytes, size_t length)
{
    enum { ENOUGH = 256 };
    size_t line = first_line(bytes, length), rest = line;
    while (rest > 0 && is_blank(bytes[rest - 1]))
        rest--;
    if (begins(bytes, length, "{\"assay_journal\":"))
        return "journal";
    if (rest > 0 && bytes[rest - 1] == '}' && holds(bytes, rest, "\"run\":") &&
        !holds(bytes, rest, "\"records\":"))
        return "jsonl";
    line = length < ENOUGH ? length : ENOUGH; /* a version may stand before them */
    if (holds(bytes, line, "\"results\""))
        return "kernel-json";
    return holds(bytes, line, "\"run\"") ? "json" : NULL;
}

const char *assay_results_format_of(const char *bytes, size_t length)
{
    size_t at = lead(bytes, length);
    bytes += at;
    length -= at;
    if (length == 0)
        return NULL;
    if (bytes[0] == '{')
        return object_format(bytes, length);
    if (bytes[0] == '[')
        return array_format(bytes, length);
    size_t line = first_line(bytes, length);
    if (holds(bytes, line, "quantized_model_eager_inference_time_in_ms"))
        return "torchao-csv";
    return holds(bytes, line, "median_ns") ? "csv" : NULL;
}

/* ---- finding -------------------------------------------------------------------------------- */

/* Somebody may give us the empty array that a format writes where nothing was right. */
static enum assay_status not_readable(const char *path, const char *bytes, size_t length,
                                      struct assay_error *err)
{
    size_t at = lead(bytes, length);
    if (at == length)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "is empty");
    if (bytes[at] == '[' && length - at < 8)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "holds no results");
    return assay_error_set(err, ASSAY_ERR_INVALID, path,
                           "holds no results that can be read back: that takes %s", readable);
}

static enum assay_status find_format(struct assay_results_source *source, struct assay_error *err)
{
    enum { ENOUGH = 1 << 20 }; /* a head of JSON lines is one line */
    char *bytes = assay_calloc(1, ENOUGH);
    enum assay_status status = ASSAY_OK;
    struct stat info;
    size_t length = 0;
    FILE *file = NULL;
    if (!bytes)
        return assay_error_nomem(err);
    if (stat(source->path.data, &info) == 0 && !S_ISREG(info.st_mode))
        status = assay_error_set(err, ASSAY_ERR_INVALID, source->path.data, "is not a file");
    else if (!(file = fopen(source->path.data, "re")))
        status = assay_error_set(err, ASSAY_ERR_INVALID, source->path.data,
                                 "cannot be opened: no such file, or it may not be read");
    else
        length = fread(bytes, 1, ENOUGH, file);
    if (status == ASSAY_OK)
        source->format = assay_results_format_of(bytes, length);
    if (status == ASSAY_OK && !source->format)
        status = not_readable(source->path.data, bytes, length, err);
    if (file)
        fclose(file);
    assay_free(bytes);
    return status;
}

enum assay_status assay_results_find(const char *name, struct assay_results_source *out,
                                     struct assay_error *err)
{
    *out = (struct assay_results_source){0};
    enum assay_status status = ASSAY_OK;
    if (!strchr(name, '/') && strchr(name, '.') && access(name, F_OK) != 0)
        status = assay_error_set(err, ASSAY_ERR_INVALID, name, "there is no such file");
    else
        status = assay_journal_find(name, &out->path, err);
    if (status == ASSAY_OK)
        status = find_format(out, err);
    if (status != ASSAY_OK) {
        assay_results_source_fini(out);
        return status;
    }
    out->has_records = strcmp(out->format, "journal") == 0 || strcmp(out->format, "json") == 0 ||
                       strcmp(out->format, "jsonl") == 0;
    return ASSAY_OK;
}

void assay_results_source_fini(struct assay_results_source *source)
{
    assay_text_fini(&source->path);
    *source = (struct assay_results_source){0};
}

/* ---- records: as rows, or as another format has them ------------------------------------------
 */

/* Takes records one after the other. */
struct taker {
    struct assay_results *results;
    const struct assay_report_format *as; /* NULL: rows of the records themselves */
    assay_report *report;
    struct assay_text text; /* of the report */
    bool incomplete;
    struct assay_record *pending; /* of one group, for the report */
    int64_t n_pending, capacity;
    enum assay_status status; /* the first that failed */
    void (*warn)(const char *text);
};

static void write_text(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static void begin(struct taker *t, const struct assay_run_info *run)
{
    struct assay_sink sink = {&t->text, write_text, &t->incomplete};
    struct assay_report_style style = {.width = 100, .most = 100};
    t->results->run = *run;
    if (!t->as || t->report)
        return;
    t->report = assay_report_create(t->as, &sink, &style);
    if (t->report)
        assay_report_begin(t->report, run);
    else
        t->status = ASSAY_ERR_NOMEM;
}

static void end_group(struct taker *t)
{
    if (t->report && t->n_pending)
        assay_report_group(t->report, t->pending, t->n_pending);
    t->n_pending = 0;
}

static void hold(struct taker *t, const struct assay_record *record)
{
    if (t->n_pending && t->pending[0].group != record->group)
        end_group(t);
    if (t->n_pending == t->capacity) {
        int64_t capacity = t->capacity ? 2 * t->capacity : 8;
        struct assay_record *more = assay_realloc(t->pending, (size_t)capacity, sizeof *more);
        if (!more) {
            t->status = ASSAY_ERR_NOMEM;
            return;
        }
        t->pending = more;
        t->capacity = capacity;
    }
    t->pending[t->n_pending++] = *record;
}

static void take(struct taker *t, const struct assay_record *record)
{
    if (t->status != ASSAY_OK)
        return;
    if (t->as)
        hold(t, record);
    else
        t->status = assay_results_add_record(t->results, record);
}

/* What was written as another format is read as that. */
static enum assay_status end(struct taker *t, const char *where, struct assay_error *err)
{
    if (t->status == ASSAY_OK && t->report) {
        end_group(t);
        assay_report_end(t->report);
        if (t->incomplete || t->text.failed)
            t->status = ASSAY_ERR_NOMEM;
    }
    if (t->status == ASSAY_OK && t->as) {
        struct assay_run_info run = t->results->run;
        t->status = assay_results_parse(t->as->name, t->text.data ? t->text.data : "",
                                        t->text.length, where, t->results, err);
        t->results->run = run;
    }
    assay_report_destroy(t->report);
    assay_text_fini(&t->text);
    assay_free(t->pending);
    return t->status == ASSAY_ERR_NOMEM ? assay_error_nomem(err) : t->status;
}

/* ---- a journal ------------------------------------------------------------------------------ */

static enum assay_status on_head(void *user, const struct assay_run_info *run,
                                 struct assay_plan *plan, struct assay_error *err)
{
    struct taker *t = user;
    t->results->groups = t->results->groups_missing = plan->n_groups;
    t->results->budget_s = plan->settings.rounds ? 0 : plan->settings.budget_s;
    begin(t, run);
    return t->status == ASSAY_OK ? ASSAY_OK : assay_error_nomem(err);
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct taker *t = user;
    (void)group;
    t->results->groups_missing--;
    for (int64_t i = 0; i < n; i++)
        take(t, &records[i]);
    end_group(t);
}

static void on_damage(void *user, const char *where, const char *what)
{
    struct taker *t = user;
    char text[700];
    snprintf(text, sizeof text, "%s: %s", where, what);
    if (++t->results->damaged <= 5 && t->warn)
        t->warn(text);
}

static enum assay_status read_journal(struct taker *t, const char *path, struct assay_error *err)
{
    struct assay_journal_visitor visitor = {
        .user = t, .head = on_head, .group = on_group, .damaged = on_damage};
    return assay_journal_read(path, &visitor, NULL, err);
}

/* ---- JSON and JSON lines -------------------------------------------------------------------- */

static enum assay_status take_json(struct taker *t, const assay_json *json, const char *where,
                                   struct assay_error *err)
{
    struct assay_error why = {0};
    struct assay_record *record = assay_calloc(1, sizeof *record);
    if (!record)
        return assay_error_nomem(err);
    enum assay_status status = assay_record_from_json(json, record, &why);
    if (status != ASSAY_OK)
        assay_error_set(err, status, where, "%s", why.message);
    else
        take(t, record);
    assay_free(record);
    return status;
}

/* Files of before there was a version have none. */
static enum assay_status check_version(const assay_json *head, const char *where,
                                       struct assay_error *err)
{
    int64_t version = assay_json_int(assay_json_get(head, "format"), ASSAY_RECORD_FORMAT);
    if (version <= ASSAY_RECORD_FORMAT)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_CORRUPT, where,
                           "is of format %lld, which this version of assay cannot read",
                           (long long)version);
}

static void take_run(struct taker *t, const assay_json *json)
{
    struct assay_run_info *run = assay_calloc(1, sizeof *run);
    if (!run) {
        t->status = ASSAY_ERR_NOMEM;
        return;
    }
    assay_run_info_from_json(json, run);
    begin(t, run);
    assay_free(run);
}

static enum assay_status read_json(struct taker *t, const char *bytes, size_t length,
                                   const char *where, struct assay_error *err)
{
    assay_json *json = assay_json_parse(bytes, length, where, err);
    const assay_json *records = assay_json_get(json, "records");
    enum assay_status status = ASSAY_OK;
    if (!json)
        return err && err->code != ASSAY_OK ? err->code : ASSAY_ERR_CORRUPT;
    if (!assay_json_is_array(records) || !assay_json_is_object(assay_json_get(json, "run")))
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, where, "lacks \"run\" or \"records\"");
    else
        status = check_version(json, where, err);
    if (status == ASSAY_OK)
        take_run(t, assay_json_get(json, "run"));
    for (int64_t i = 0; status == ASSAY_OK && i < assay_json_count(records); i++) {
        char place[300];
        snprintf(place, sizeof place, "%.250s: records[%lld]", where, (long long)i);
        status = take_json(t, assay_json_at(records, i), place, err);
    }
    assay_json_free(json);
    return status;
}

static enum assay_status read_json_line(struct taker *t, const char *line, size_t length,
                                        const char *place, struct assay_error *err)
{
    struct assay_error why = {0};
    assay_json *json = assay_json_parse(line, length, place, &why);
    const assay_json *run = assay_json_get(json, "run");
    enum assay_status status = ASSAY_OK;
    if (!json && why.code == ASSAY_ERR_NOMEM)
        status = assay_error_nomem(err);
    else if (!json)
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, place, "is not JSON: %s", why.message);
    else if (assay_json_is_object(run))
        status = check_version(json, place, err);
    else
        status = take_json(t, json, place, err);
    if (status == ASSAY_OK && assay_json_is_object(run))
        take_run(t, run);
    assay_json_free(json);
    return status;
}

static enum assay_status read_json_lines(struct taker *t, const char *bytes, size_t length,
                                         const char *where, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    int64_t number = 1;
    for (size_t at = 0; status == ASSAY_OK && at < length; number++) {
        char place[300];
        size_t line = first_line(bytes + at, length - at);
        snprintf(place, sizeof place, "%.250s:%lld", where, (long long)number);
        if (lead(bytes + at, line) < line)
            status = read_json_line(t, bytes + at, line, place, err);
        at += line + 1;
    }
    return status;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Everything but journals and what has records. */
static enum assay_status parse_other(const char *format, const char *bytes, size_t length,
                                     const char *where, struct assay_results *out,
                                     struct assay_error *err)
{
    if (strcmp(format, "csv") == 0)
        return assay_results_read_csv(bytes, length, where, out, err);
    if (strcmp(format, "torchao-csv") == 0)
        return assay_results_read_torchao_csv(bytes, length, where, out, err);
    assay_json *json = assay_json_parse(bytes, length, where, err);
    if (!json)
        return err && err->code != ASSAY_OK ? err->code : ASSAY_ERR_CORRUPT;
    enum assay_status status = strcmp(format, "kernel-json") == 0
                                   ? assay_results_read_kernel_json(json, where, out, err)
                                   : assay_results_read_array(format, json, where, out, err);
    assay_json_free(json);
    return status;
}

static enum assay_status parse(struct taker *t, const char *format, const char *bytes,
                               size_t length, const char *where, struct assay_error *err)
{
    size_t at = lead(bytes, length);
    bytes += at;
    length -= at;
    if (strcmp(format, "json") == 0)
        return read_json(t, bytes, length, where, err);
    if (strcmp(format, "jsonl") == 0)
        return read_json_lines(t, bytes, length, where, err);
    return parse_other(format, bytes, length, where, t->results, err);
}

enum assay_status assay_results_parse(const char *format, const char *bytes, size_t length,
                                      const char *where, struct assay_results *out,
                                      struct assay_error *err)
{
    struct taker t = {.results = out};
    enum assay_status status = parse(&t, format, bytes, length, where, err);
    enum assay_status ended = end(&t, where, err);
    out->format = format;
    return status == ASSAY_OK ? ended : status;
}

static enum assay_status read_source(struct taker *t, const struct assay_results_source *source,
                                     struct assay_error *err)
{
    const char *path = source->path.data;
    struct assay_text bytes = {0};
    if (strcmp(source->format, "journal") == 0)
        return read_journal(t, path, err);
    enum assay_status status = assay_folder_read_file(path, MOST_BYTES, &bytes, err);
    if (status == ASSAY_OK)
        status = parse(t, source->format, bytes.data ? bytes.data : "", bytes.length, path, err);
    assay_text_fini(&bytes);
    return status;
}

/* The run's id for one in the data folder, or the path. */
static void name_source(const struct assay_results_source *source, struct assay_results *out)
{
    bool run = strcmp(source->format, "journal") == 0 && out->run.id[0];
    snprintf(out->source, sizeof out->source, "%s", run ? out->run.id : source->path.data);
}

enum assay_status assay_results_read(const struct assay_results_source *source, const char *as,
                                     void (*warn)(const char *text), struct assay_results *out,
                                     struct assay_error *err)
{
    struct taker t = {.results = out, .warn = warn};
    *out = (struct assay_results){0};
    enum assay_status status = ASSAY_OK;
    if (as && source->has_records)
        status = assay_report_find(as, &t.as, err);
    if (status == ASSAY_OK)
        status = read_source(&t, source, err);
    if (status != ASSAY_OK)
        t.status = status;
    enum assay_status ended = end(&t, source->path.data, err);
    status = status == ASSAY_OK ? ended : status;
    out->format = t.as ? as : source->format;
    if (status == ASSAY_OK)
        status = assay_results_join(out, err);
    if (status != ASSAY_OK)
        assay_results_fini(out);
    else
        name_source(source, out);
    return status;
}
