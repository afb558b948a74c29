/* results_read.c: results found, their format told by how they begin, and read. */
#include "compare/results.h"

#include "base/alloc.h"
#include "bench/journal.h"
#include "compare/records_read.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char readable[] =
    "a journal, or a file of the formats json, jsonl, html, csv, torchao-csv, comprehensive, "
    "kobench-json, kernel-json or pytorch";
static const char with_records[] =
    "a run, a journal, or a file of the formats json, jsonl and html";

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
    static const char page[] = "<!doctype html";
    size_t at = lead(bytes, length);
    bytes += at;
    length -= at;
    if (length == 0)
        return NULL;
    if (bytes[0] == '{')
        return object_format(bytes, length);
    if (bytes[0] == '[')
        return array_format(bytes, length);
    if (length >= sizeof page - 1 && strncasecmp(bytes, page, sizeof page - 1) == 0)
        return "html";
    size_t line = first_line(bytes, length);
    if (holds(bytes, line, "quantized_model_eager_inference_time_in_ms") ||
        holds(bytes, line, "reference_total_time_ms"))
        return "torchao-csv";
    return holds(bytes, line, "median_ns") ? "csv" : NULL;
}

/* ---- finding -------------------------------------------------------------------------------- */

/* Somebody may give us the empty array that a format writes where nothing was right. */
static enum assay_status not_readable(const char *path, const char *bytes, size_t length,
                                      bool records, struct assay_error *err)
{
    size_t at = lead(bytes, length);
    if (at == length)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "is empty");
    if (bytes[at] == '[' && length - at < 8)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "holds no results");
    return assay_error_set(err, ASSAY_ERR_INVALID, path,
                           "holds no results that can be read back: that takes %s",
                           records ? with_records : readable);
}

static enum assay_status find_format(struct assay_results_source *source, bool records,
                                     struct assay_error *err)
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
        status = not_readable(source->path.data, bytes, length, records, err);
    if (file)
        fclose(file);
    assay_free(bytes);
    return status;
}

static enum assay_status find(const char *name, bool records, struct assay_results_source *out,
                              struct assay_error *err)
{
    *out = (struct assay_results_source){0};
    enum assay_status status = ASSAY_OK;
    if (!strchr(name, '/') && strchr(name, '.') && access(name, F_OK) != 0)
        status = assay_error_set(err, ASSAY_ERR_INVALID, name, "there is no such file");
    else
        status = assay_journal_find(name, &out->path, err);
    if (status == ASSAY_OK)
        status = find_format(out, records, err);
    if (status == ASSAY_OK)
        out->has_records = assay_records_in(out->format);
    if (status == ASSAY_OK && records && !out->has_records)
        status = assay_error_set(err, ASSAY_ERR_INVALID, out->path.data,
                                 "is of the format %s, which does not hold whole records: that "
                                 "takes %s",
                                 out->format, with_records);
    if (status != ASSAY_OK)
        assay_results_source_fini(out);
    return status;
}

enum assay_status assay_results_find(const char *name, struct assay_results_source *out,
                                     struct assay_error *err)
{
    return find(name, false, out, err);
}

enum assay_status assay_results_find_records(const char *name, struct assay_results_source *out,
                                             struct assay_error *err)
{
    return find(name, true, out, err);
}

void assay_results_source_fini(struct assay_results_source *source)
{
    assay_text_fini(&source->path);
    *source = (struct assay_results_source){0};
}

/* ---- records: as rows, or as another format has them ----------------------------------------- */

/* Takes records, group by group. */
struct taker {
    struct assay_results *results;
    const char *where;
    bool page; /* a format that has several runs, which are no repeats of one */
    int64_t runs;
    const struct assay_report_format *as; /* NULL: rows of the records themselves */
    assay_report *report;
    struct assay_text text; /* of the report */
    bool incomplete;
    void (*warn)(const char *text);
};

static void write_text(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

static enum assay_status take_run(void *user, const struct assay_run_info *run,
                                  const struct assay_plan *plan, struct assay_error *err)
{
    struct taker *t = user;
    struct assay_sink sink = {&t->text, write_text, &t->incomplete};
    struct assay_report_style style = {.width = 100, .most = 100};
    if (t->runs++ > 0 && t->page)
        return assay_error_set(err, ASSAY_ERR_INVALID, t->where,
                               "holds several runs, and one is compared at a time; name the run "
                               "instead (`assay list runs`)");
    t->results->run = *run;
    if (plan) {
        t->results->groups = t->results->groups_missing = plan->n_groups;
        t->results->budget_s = plan->settings.rounds ? 0 : plan->settings.budget_s;
    }
    if (!t->as || t->report)
        return ASSAY_OK;
    t->report = assay_report_create(t->as, &sink, &style);
    if (!t->report)
        return assay_error_nomem(err);
    assay_report_begin(t->report, run);
    return ASSAY_OK;
}

static enum assay_status take_group(void *user, const struct assay_record *records, int64_t n,
                                    struct assay_error *err)
{
    struct taker *t = user;
    enum assay_status status = ASSAY_OK;
    t->results->groups_missing -= t->results->groups > 0;
    if (t->report)
        assay_report_group(t->report, records, n);
    for (int64_t i = 0; i < n && !t->as && status == ASSAY_OK; i++)
        status = assay_results_add_record(t->results, &records[i]);
    return status == ASSAY_ERR_NOMEM ? assay_error_nomem(err) : status;
}

static void on_damage(void *user, const char *where, const char *what)
{
    struct taker *t = user;
    char text[700];
    snprintf(text, sizeof text, "%s: %s", where, what);
    if (++t->results->damaged <= 5 && t->warn)
        t->warn(text);
}

static struct assay_records_visitor visitor_of(struct taker *t)
{
    return (struct assay_records_visitor){
        .user = t, .run = take_run, .group = take_group, .damaged = on_damage};
}

/* What was written as another format is read as that. */
static enum assay_status read_as(struct taker *t, const char *where, struct assay_error *err)
{
    struct assay_run_info run = t->results->run;
    if (t->report)
        assay_report_end(t->report);
    if (t->incomplete || t->text.failed)
        return assay_error_nomem(err);
    enum assay_status status = assay_results_parse(t->as->name, t->text.data ? t->text.data : "",
                                                   t->text.length, where, t->results, err);
    t->results->run = run;
    return status;
}

static enum assay_status read_records(struct taker *t, const struct assay_results_source *source,
                                      struct assay_error *err)
{
    struct assay_records_visitor visitor = visitor_of(t);
    enum assay_status status = assay_records_read(source->format, source->path.data, &visitor, err);
    if (status == ASSAY_OK && t->as)
        status = read_as(t, source->path.data, err);
    assay_report_destroy(t->report);
    assay_text_fini(&t->text);
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

enum assay_status assay_results_parse(const char *format, const char *bytes, size_t length,
                                      const char *where, struct assay_results *out,
                                      struct assay_error *err)
{
    struct taker t = {.results = out, .where = where, .page = strcmp(format, "html") == 0};
    struct assay_records_visitor visitor = visitor_of(&t);
    size_t at = lead(bytes, length);
    out->format = format;
    if (assay_records_in(format))
        return assay_records_parse(format, bytes, length, where, &visitor, err);
    return parse_other(format, bytes + at, length - at, where, out, err);
}

static enum assay_status read_other(const struct assay_results_source *source,
                                    struct assay_results *out, struct assay_error *err)
{
    const char *path = source->path.data;
    struct assay_text bytes = {0};
    enum assay_status status = assay_records_load(path, &bytes, err);
    if (status == ASSAY_OK)
        status = assay_results_parse(source->format, bytes.data ? bytes.data : "", bytes.length,
                                     path, out, err);
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
    struct taker t = {.results = out,
                      .where = source->path.data,
                      .page = strcmp(source->format, "html") == 0,
                      .warn = warn};
    *out = (struct assay_results){0};
    enum assay_status status = ASSAY_OK;
    if (as && source->has_records)
        status = assay_report_find(as, &t.as, err);
    if (status == ASSAY_OK)
        status = source->has_records ? read_records(&t, source, err) : read_other(source, out, err);
    out->format = t.as ? as : source->format;
    if (status == ASSAY_OK)
        status = assay_results_join(out, err);
    if (status != ASSAY_OK)
        assay_results_fini(out);
    else
        name_source(source, out);
    return status;
}
