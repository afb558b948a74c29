/* journal_read.c: journals read back, whatever state they are in.
 *
 * Format 2: a group counts when its `done` line is whole and the records it closes stand right
 * before it: so many, of that group, numbered without a gap. Format 1 has neither checksums nor
 * counts: there the group of a damaged line is the one whose `done` comes next. */
#include "bench/journal.h"

#include "base/alloc.h"
#include "base/frame.h"
#include "base/io.h"
#include "bench/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest lines that are read: a record has some 5 kB, the head of a run of a million groups
 * some 200 MB. */
enum { MOST_LINE = 4 << 20, MOST_HEAD = 512 << 20, CHUNK = 1 << 16 };
static const char head_begins[] = "{\"assay_journal\":";

/* ---- lines of a file ------------------------------------------------------------------------- */

struct lines {
    int file;
    struct assay_text line;
    char chunk[CHUNK];
    size_t at, filled;
    int64_t offset; /* behind the line that was read last */
    bool ended;     /* that line has its newline */
    bool too_long;  /* it was passed over; `line` holds its beginning */
    int problem;    /* errno */
};

/* The next line without its newline; false at the end of the file. */
static bool next_line(struct lines *l, size_t most)
{
    assay_text_clear(&l->line);
    l->ended = l->too_long = false;
    size_t length = 0;
    while (!l->ended) {
        if (l->at == l->filled) {
            l->problem = assay_io_read(l->file, l->chunk, CHUNK, &l->filled);
            l->at = 0;
            if (l->problem || l->filled == 0)
                break;
        }
        const char *start = l->chunk + l->at;
        const char *newline = memchr(start, '\n', l->filled - l->at);
        size_t part = newline ? (size_t)(newline - start) : l->filled - l->at;
        l->too_long = l->too_long || length + part > most;
        if (!l->too_long)
            assay_text_append(&l->line, start, part);
        length += part;
        l->at += part + (newline != NULL);
        l->offset += (int64_t)part + (newline != NULL);
        l->ended = newline != NULL;
        if (most == MOST_HEAD && l->line.length >= sizeof head_begins - 1 &&
            memcmp(l->line.data, head_begins, sizeof head_begins - 1) != 0)
            return true; /* no journal: the rest of it is of no interest */
    }
    if (l->line.failed)
        l->problem = ENOMEM;
    return !l->problem && (length > 0 || l->ended);
}

/* ---- what the lines say ---------------------------------------------------------------------- */

struct reader {
    const char *path;
    const struct assay_journal_visitor *visitor;
    int version;
    int64_t line, n_groups, next, damaged;
    bool *seen;                   /* groups that were told of */
    bool hole;                    /* a line was lost since the last one that counted */
    struct assay_record *records; /* the last ones, of one group, numbered without a gap */
    int64_t n_records;
    bool group_ended; /* the line just read finished a group */
};

static void say_damaged(struct reader *r, const char *fmt, ...) ASSAY_PRINTF(2, 3);
static void say_damaged(struct reader *r, const char *fmt, ...)
{
    char place[300], what[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    snprintf(place, sizeof place, "%s:%lld", r->path, (long long)r->line);
    r->damaged++;
    if (r->visitor->damaged)
        r->visitor->damaged(r->visitor->user, place, what);
}

static enum assay_status bad_head(const struct reader *r, const char *what, struct assay_error *err)
{
    char place[160];
    snprintf(place, sizeof place, "%s:1", r->path);
    return assay_error_set(err, ASSAY_ERR_CORRUPT, place,
                           "the head of this journal is damaged: %s; without it the run cannot be "
                           "resumed: measure anew",
                           what);
}

static enum assay_status take_head(struct reader *r, const assay_json *json,
                                   struct assay_error *err)
{
    struct assay_run_info run;
    struct assay_plan plan;
    struct assay_error why = {0};
    enum assay_status status = assay_plan_from_json(assay_json_get(json, "plan"), &plan, &why);
    if (status != ASSAY_OK)
        return status == ASSAY_ERR_NOMEM ? assay_error_set(err, status, NULL, "out of memory")
                                         : bad_head(r, why.message, err);
    assay_run_info_from_json(assay_json_get(json, "run"), &run);
    r->n_groups = plan.n_groups;
    r->seen = assay_calloc((size_t)plan.n_groups + 1, sizeof *r->seen);
    if (!r->seen)
        status = assay_error_nomem(err);
    else if (r->visitor->head)
        status = r->visitor->head(r->visitor->user, &run, &plan, err);
    assay_plan_fini(&plan);
    return status;
}

static enum assay_status read_head(struct reader *r, const struct lines *l, struct assay_error *err)
{
    const char *what = NULL;
    int64_t seq = -1;
    size_t begins = sizeof head_begins - 1;
    if (l->line.length < begins || memcmp(l->line.data, head_begins, begins) != 0)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, r->path, "is not a journal of a run");
    if (l->too_long)
        return bad_head(r, "it is longer than any that assay writes", err);
    if (!l->ended)
        return bad_head(r, "it is cut short", err);
    bool framed = assay_frame_check(l->line.data, l->line.length, &seq, &what);
    bool first = strncmp(l->line.data + begins, "1,", 2) == 0;
    if (!framed && !first)
        return bad_head(r, what, err);
    struct assay_error why = {0};
    assay_json *json = assay_json_parse(l->line.data, l->line.length, r->path, &why);
    int64_t version = assay_json_int(assay_json_get(json, "assay_journal"), 0);
    enum assay_status status;
    if (!json && why.code == ASSAY_ERR_NOMEM)
        status = assay_error_nomem(err);
    else if (!json)
        status = bad_head(r, why.message, err);
    else if (version != ASSAY_JOURNAL_VERSION && version != 1)
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, r->path,
                                 "is a journal of version %lld, which this version of assay cannot "
                                 "read",
                                 (long long)version);
    else
        status = take_head(r, json, err);
    r->version = (int)version;
    r->next = seq + 1;
    assay_json_free(json);
    return status;
}

static void read_record(struct reader *r, const assay_json *json)
{
    struct assay_error why = {0};
    if (r->n_records ==
        ASSAY_MAX_VARIANTS) { /* those before belong to no group that was finished */
        memmove(r->records, r->records + 1, (ASSAY_MAX_VARIANTS - 1) * sizeof *r->records);
        r->n_records--;
    }
    struct assay_record *record = &r->records[r->n_records];
    if (assay_record_from_json(json, record, &why) != ASSAY_OK) {
        say_damaged(r, "%s", why.message);
        r->hole = true;
        r->n_records = 0;
        return;
    }
    if (r->n_records > 0 && r->records[0].group != record->group) {
        r->records[0] = *record;
        r->n_records = 0;
    }
    r->n_records++;
}

/* The records that this group consists of are the last ones that were read; how many, or -1. */
static int64_t records_of(struct reader *r, int64_t group, const assay_json *json)
{
    int64_t n = r->version > 1 ? assay_json_int(assay_json_get(json, "records"), 0) : r->n_records;
    int64_t have = r->n_records > 0 && r->records[0].group == group ? r->n_records : 0;
    if (have >= n && n > 0 && (r->version > 1 || !r->hole))
        return n;
    if (r->version > 1)
        say_damaged(r, "of the %lld records of group %lld %lld can be read; it is measured again",
                    (long long)n, (long long)group, (long long)(have < n ? have : n));
    else
        say_damaged(r, "not all records of group %lld can be read; it is measured again",
                    (long long)group);
    return -1;
}

static void read_done(struct reader *r, const assay_json *json)
{
    int64_t group = assay_json_int(assay_json_get(json, "done"), -1), n = -1;
    if (group < 0 || group >= r->n_groups)
        say_damaged(r, "names a group that the plan does not have");
    else if (r->seen[group])
        say_damaged(r, "group %lld is there already; the first one counts", (long long)group);
    else
        n = records_of(r, group, json);
    if (n > 0) {
        struct assay_record *records = r->records + (r->n_records - n);
        for (int64_t i = 0; i < n; i++)
            if (!assay_journal_is_final(&records[i]))
                n = -1;
        if (n < 0)
            say_damaged(r, "closes group %lld, which was not finished", (long long)group);
        else if (r->visitor->group)
            r->visitor->group(r->visitor->user, group, records, n);
    }
    if (n > 0)
        r->seen[group] = r->group_ended = true;
    r->n_records = 0;
    r->hole = false;
}

/* The line's number tells whether one before it is lost. False: it does not belong here. */
static bool in_order(struct reader *r, int64_t seq)
{
    if (seq < r->next) {
        say_damaged(r, "is line %lld, which was there already", (long long)seq);
        return false;
    }
    if (seq > r->next) {
        if (!r->hole)
            say_damaged(r, "%lld lines before this one are missing", (long long)(seq - r->next));
        r->n_records = 0;
    }
    r->next = seq + 1;
    r->hole = false;
    return true;
}

static enum assay_status read_line(struct reader *r, const struct lines *l, struct assay_error *err)
{
    struct assay_error why = {0};
    const char *what = "is longer than any line that assay writes";
    int64_t seq = 0;
    if (l->too_long ||
        (r->version > 1 && !assay_frame_check(l->line.data, l->line.length, &seq, &what))) {
        say_damaged(r, "%s", what);
        r->hole = true;
        return ASSAY_OK;
    }
    if (r->version > 1 && !in_order(r, seq))
        return ASSAY_OK;
    assay_json *json =
        assay_json_parse(l->line.data ? l->line.data : "", l->line.length, r->path, &why);
    if (!json && why.code == ASSAY_ERR_NOMEM)
        return assay_error_nomem(err);
    if (!json) {
        say_damaged(r, "is not valid JSON");
        r->hole = true;
    } else if (assay_json_get(json, "record")) {
        read_record(r, assay_json_get(json, "record"));
    } else {
        read_done(r, json);
    }
    assay_json_free(json);
    return ASSAY_OK;
}

/* ---- the whole file -------------------------------------------------------------------------- */

/* Opened without waiting for the other end of a pipe; then only a regular file is good enough: a
 * device may have no end. */
static enum assay_status open_regular(const char *path, int *file, struct assay_error *err)
{
    struct stat found;
    *file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*file < 0 || fstat(*file, &found) != 0)
        return assay_error_set(err, ASSAY_ERR_IO, path, "cannot be read: %s", strerror(errno));
    if (S_ISREG(found.st_mode))
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, path, "is %s, not a journal",
                           S_ISDIR(found.st_mode)    ? "a folder"
                           : S_ISFIFO(found.st_mode) ? "a pipe"
                                                     : "a device");
}

/* All lines but the last one, where that is cut short: the run was killed while it wrote it. */
static enum assay_status read_all(struct reader *r, struct lines *l, struct assay_journal_end *end,
                                  struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    int64_t damaged = 0; /* before the last finished group */
    *end = (struct assay_journal_end){0};
    while (status == ASSAY_OK && next_line(l, r->line == 0 ? MOST_HEAD : MOST_LINE)) {
        r->line++;
        r->group_ended = r->line == 1;
        if (r->line == 1)
            status = read_head(r, l, err);
        else if (l->ended)
            status = read_line(r, l, err);
        if (status != ASSAY_OK || !l->ended)
            break;
        if (r->group_ended)
            damaged = r->damaged;
        /* What was not finished is cut off when the run goes on, unless it is damaged: that stays,
         * for whoever wants to see what happened. */
        if (r->group_ended || r->damaged > damaged) {
            end->size = l->offset;
            end->next = r->next;
        }
    }
    if (status == ASSAY_OK && l->problem == ENOMEM)
        status = assay_error_nomem(err);
    else if (status == ASSAY_OK && l->problem)
        status =
            assay_error_set(err, ASSAY_ERR_IO, r->path, "cannot be read: %s", strerror(l->problem));
    else if (status == ASSAY_OK && r->line == 0)
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, r->path,
                                 "is empty; there is nothing to resume");
    return status;
}

enum assay_status assay_journal_read(const char *path, const struct assay_journal_visitor *visitor,
                                     struct assay_journal_end *end, struct assay_error *err)
{
    struct reader r = {.path = path, .visitor = visitor};
    struct assay_journal_end found = {0};
    struct lines *l = NULL;
    int file;
    enum assay_status status = open_regular(path, &file, err);
    if (status != ASSAY_OK)
        goto cleanup;
    status = ASSAY_ERR_NOMEM;
    l = assay_calloc(1, sizeof *l);
    r.records = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *r.records);
    if (!l || !r.records) {
        assay_error_set(err, status, NULL, "out of memory");
        goto cleanup;
    }
    l->file = file;
    status = read_all(&r, l, &found, err);
cleanup:
    found.version = r.version;
    found.damaged = r.damaged;
    if (end)
        *end = found;
    if (l)
        assay_text_fini(&l->line);
    assay_free(l);
    assay_free(r.seen);
    assay_free(r.records);
    if (file >= 0)
        close(file);
    return status;
}
