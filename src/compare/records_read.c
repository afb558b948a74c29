/* records_read.c: one function for each format that has records. */
#include "compare/records_read.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "bench/journal.h"
#include "report/html/html_page.h"

#include <stdio.h>
#include <string.h>

/* A run of 100,000 rows has some 400 MB of JSON. */
static const size_t MOST_BYTES = (size_t)1 << 30;

enum assay_status assay_records_load(const char *path, struct assay_text *out,
                                     struct assay_error *err)
{
    return assay_folder_read_file(path, MOST_BYTES, out, err);
}

/* ---- a journal ------------------------------------------------------------------------------ */

struct listener {
    const struct assay_records_visitor *visitor;
    struct assay_error *err;
    enum assay_status status; /* the first that was not OK */
};

static enum assay_status on_head(void *user, const struct assay_run_info *run,
                                 struct assay_plan *plan, struct assay_error *err)
{
    const struct assay_records_visitor *visitor = ((struct listener *)user)->visitor;
    return visitor->run(visitor->user, run, plan, err);
}

static void on_group(void *user, int64_t group, const struct assay_record *records, int64_t n)
{
    struct listener *l = user;
    (void)group;
    if (l->status == ASSAY_OK)
        l->status = l->visitor->group(l->visitor->user, records, n, l->err);
}

static void on_damage(void *user, const char *where, const char *what)
{
    const struct assay_records_visitor *visitor = ((struct listener *)user)->visitor;
    if (visitor->damaged)
        visitor->damaged(visitor->user, where, what);
}

static enum assay_status read_journal(const char *path, const struct assay_records_visitor *visitor,
                                      struct assay_error *err)
{
    struct listener listener = {.visitor = visitor, .err = err};
    struct assay_journal_visitor of_journal = {
        .user = &listener, .head = on_head, .group = on_group, .damaged = on_damage};
    enum assay_status status = assay_journal_read(path, &of_journal, NULL, err);
    return status == ASSAY_OK ? listener.status : status;
}

/* ---- JSON and JSON lines -------------------------------------------------------------------- */

/* Records come one by one, and leave as groups. */
struct gathered {
    const struct assay_records_visitor *visitor;
    struct assay_record *records;
    int64_t n, capacity;
    bool begun; /* the run is known */
};

static enum assay_status end_group(struct gathered *g, struct assay_error *err)
{
    int64_t n = g->n;
    g->n = 0;
    return n ? g->visitor->group(g->visitor->user, g->records, n, err) : ASSAY_OK;
}

static enum assay_status gather(struct gathered *g, const struct assay_record *record,
                                struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (g->n && g->records[0].group != record->group)
        status = end_group(g, err);
    if (status == ASSAY_OK && g->n == g->capacity) {
        int64_t capacity = g->capacity ? 2 * g->capacity : 8;
        struct assay_record *more = assay_realloc(g->records, (size_t)capacity, sizeof *more);
        if (!more)
            return assay_error_nomem(err);
        g->records = more;
        g->capacity = capacity;
    }
    if (status == ASSAY_OK)
        g->records[g->n++] = *record;
    return status;
}

static enum assay_status take_record(struct gathered *g, const assay_json *json, const char *where,
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
        status = gather(g, record, err);
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

/* `json` has the run under "run", and the version beside it. */
static enum assay_status take_run(struct gathered *g, const assay_json *json, const char *where,
                                  struct assay_error *err)
{
    enum assay_status status = check_version(json, where, err);
    if (status == ASSAY_OK)
        status = end_group(g, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_run_info *run = assay_calloc(1, sizeof *run);
    if (!run)
        return assay_error_nomem(err);
    assay_run_info_from_json(assay_json_get(json, "run"), run);
    g->begun = true;
    status = g->visitor->run(g->visitor->user, run, NULL, err);
    assay_free(run);
    return status;
}

static enum assay_status parse_json(struct gathered *g, const char *bytes, size_t length,
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
        status = take_run(g, json, where, err);
    for (int64_t i = 0; status == ASSAY_OK && i < assay_json_count(records); i++) {
        char place[300];
        snprintf(place, sizeof place, "%.250s: records[%lld]", where, (long long)i);
        status = take_record(g, assay_json_at(records, i), place, err);
    }
    assay_json_free(json);
    return status;
}

/* Lines without the head that says of which run they are: of an unknown one. */
static enum assay_status begin_unknown(struct gathered *g, struct assay_error *err)
{
    struct assay_run_info *run = g->begun ? NULL : assay_calloc(1, sizeof *run);
    if (g->begun)
        return ASSAY_OK;
    if (!run)
        return assay_error_nomem(err);
    g->begun = true;
    enum assay_status status = g->visitor->run(g->visitor->user, run, NULL, err);
    assay_free(run);
    return status;
}

static enum assay_status parse_line(struct gathered *g, const char *line, size_t length,
                                    const char *place, struct assay_error *err)
{
    struct assay_error why = {0};
    assay_json *json = assay_json_parse(line, length, place, &why);
    enum assay_status status = ASSAY_OK;
    if (!json && why.code == ASSAY_ERR_NOMEM)
        status = assay_error_nomem(err);
    else if (!json)
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, place, "is not JSON: %s", why.message);
    else if (assay_json_is_object(assay_json_get(json, "run")))
        status = take_run(g, json, place, err);
    else if ((status = begin_unknown(g, err)) == ASSAY_OK)
        status = take_record(g, json, place, err);
    assay_json_free(json);
    return status;
}

static bool is_blank(const char *line, size_t length)
{
    size_t at = 0;
    while (at < length && strchr(" \t\r", line[at]))
        at++;
    return at == length;
}

static enum assay_status parse_lines(struct gathered *g, const char *bytes, size_t length,
                                     const char *where, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    int64_t number = 1;
    for (size_t at = 0; status == ASSAY_OK && at < length; number++) {
        char place[300];
        const char *newline = memchr(bytes + at, '\n', length - at);
        size_t line = newline ? (size_t)(newline - bytes) - at : length - at;
        snprintf(place, sizeof place, "%.250s:%lld", where, (long long)number);
        if (!is_blank(bytes + at, line))
            status = parse_line(g, bytes + at, line, place, err);
        at += line + 1;
    }
    return status;
}

/* ---- a page --------------------------------------------------------------------------------- */

static enum assay_status visit_run(const struct assay_book *book, const struct assay_book_run *run,
                                   const struct assay_records_visitor *visitor,
                                   struct assay_error *err)
{
    struct assay_book_view view = {0};
    enum assay_status status = visitor->run(visitor->user, &run->info, NULL, err);
    for (int64_t i = 0; i < run->n && status == ASSAY_OK; i++)
        status = assay_book_open(book, run->first + i, &view)
                     ? visitor->group(visitor->user, view.records, view.n, err)
                     : assay_error_nomem(err);
    assay_book_view_fini(&view);
    return status;
}

static enum assay_status parse_page(const char *bytes, size_t length, const char *where,
                                    const struct assay_records_visitor *visitor,
                                    struct assay_error *err)
{
    struct assay_book book = {0};
    enum assay_status status = assay_html_read(bytes, length, where, &book, err);
    for (int64_t i = 0; i < book.n_runs && status == ASSAY_OK; i++)
        status = visit_run(&book, &book.runs[i], visitor, err);
    assay_book_fini(&book);
    return status;
}

/* ---- all of them ---------------------------------------------------------------------------- */

bool assay_records_in(const char *format)
{
    static const char *const formats[] = {"journal", "json", "jsonl", "html"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (strcmp(format, formats[i]) == 0)
            return true;
    return false;
}

enum assay_status assay_records_parse(const char *format, const char *bytes, size_t length,
                                      const char *where,
                                      const struct assay_records_visitor *visitor,
                                      struct assay_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors write it */
    struct gathered g = {.visitor = visitor};
    if (strcmp(format, "html") == 0)
        return parse_page(bytes, length, where, visitor, err);
    if (length >= sizeof mark - 1 && memcmp(bytes, mark, sizeof mark - 1) == 0) {
        bytes += sizeof mark - 1;
        length -= sizeof mark - 1;
    }
    enum assay_status status = strcmp(format, "json") == 0
                                   ? parse_json(&g, bytes, length, where, err)
                                   : parse_lines(&g, bytes, length, where, err);
    if (status == ASSAY_OK)
        status = end_group(&g, err);
    assay_free(g.records);
    return status;
}

enum assay_status assay_records_read(const char *format, const char *path,
                                     const struct assay_records_visitor *visitor,
                                     struct assay_error *err)
{
    struct assay_text bytes = {0};
    if (strcmp(format, "journal") == 0)
        return read_journal(path, visitor, err);
    enum assay_status status = assay_records_load(path, &bytes, err);
    if (status == ASSAY_OK)
        status = assay_records_parse(format, bytes.data ? bytes.data : "", bytes.length, path,
                                     visitor, err);
    assay_text_fini(&bytes);
    return status;
}
