#include "bench/journal.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "bench/group.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOURNAL_VERSION = 1 };

struct assay_journal {
    int file;
    struct assay_text path, line;
};

static enum assay_status runs_folder(struct assay_text *out, struct assay_error *err)
{
    enum assay_status status = assay_folder_data(out, err);
    assay_text_add(out, "/runs");
    if (status == ASSAY_OK && out->failed)
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    return status;
}

static enum assay_status open_file(const char *path, int flags, assay_journal **out,
                                   struct assay_error *err)
{
    assay_journal *journal = assay_calloc(1, sizeof *journal);
    if (!journal)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    assay_text_add(&journal->path, path);
    journal->file = open(path, flags | O_WRONLY | O_CLOEXEC, 0600);
    if (journal->file < 0 || journal->path.failed) {
        enum assay_status status =
            assay_error_set(err, ASSAY_ERR_IO, path, "cannot be opened: %s", strerror(errno));
        assay_journal_close(journal);
        return status;
    }
    *out = journal;
    return ASSAY_OK;
}

static enum assay_status write_all(assay_journal *journal, struct assay_error *err)
{
    size_t done = 0;
    if (journal->line.failed)
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    while (done < journal->line.length) {
        ssize_t n = write(journal->file, journal->line.data + done, journal->line.length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return assay_error_set(err, ASSAY_ERR_IO, journal->path.data,
                                   "cannot be written: %s; make room and go on with --resume",
                                   strerror(errno));
        done += (size_t)n;
    }
    if (fdatasync(journal->file) != 0 && errno != EINVAL)
        return assay_error_set(err, ASSAY_ERR_IO, journal->path.data, "cannot be written: %s",
                               strerror(errno));
    return ASSAY_OK;
}

static void add_json(assay_journal *journal, assay_json *json)
{
    assay_json_write(json, 0, &journal->line);
    assay_json_free(json);
}

static void add_line(assay_journal *journal, assay_json *json)
{
    add_json(journal, json);
    assay_text_add(&journal->line, "\n");
}

/* The head is one line, but a plan may have any number of groups: it is written piece by piece, so
 * that memory does not grow with them. */
static enum assay_status write_head(assay_journal *journal, const struct assay_run_info *run,
                                    const struct assay_plan *plan, struct assay_error *err)
{
    enum { PIECE = 1 << 16 };
    enum assay_status status = ASSAY_OK;
    assay_text_format(&journal->line, "{\"assay_journal\":%d,\"run\":", JOURNAL_VERSION);
    add_json(journal, assay_run_info_to_json(run));
    assay_text_add(&journal->line, ",\"plan\":{\"settings\":");
    add_json(journal, assay_settings_to_json(&plan->settings));
    assay_text_format(&journal->line, ",\"max_elements\":%lld,\"groups\":[",
                      (long long)plan->max_elements);
    for (int64_t i = 0; i < plan->n_groups && status == ASSAY_OK; i++) {
        assay_text_add(&journal->line, i ? "," : "");
        add_json(journal, assay_group_to_json(&plan->groups[i]));
        if (journal->line.length >= PIECE) {
            status = write_all(journal, err);
            assay_text_clear(&journal->line);
        }
    }
    assay_text_add(&journal->line, "]}}\n");
    return status == ASSAY_OK ? write_all(journal, err) : status;
}

enum assay_status assay_journal_create(const struct assay_run_info *run,
                                       const struct assay_plan *plan, assay_journal **out,
                                       struct assay_error *err)
{
    struct assay_text path = {0};
    enum assay_status status = runs_folder(&path, err);
    if (status == ASSAY_OK)
        status = assay_folder_make(path.data, err);
    assay_text_format(&path, "/%s.jsonl", run->id);
    if (status == ASSAY_OK && !path.failed)
        status = open_file(path.data, O_CREAT | O_EXCL, out, err);
    if (status == ASSAY_OK) {
        status = write_head(*out, run, plan, err);
        if (status != ASSAY_OK) {
            assay_journal_close(*out);
            *out = NULL;
        }
    }
    assay_text_fini(&path);
    return status;
}

enum assay_status assay_journal_append(assay_journal *journal, int64_t group,
                                       const struct assay_record *records, int64_t n,
                                       struct assay_error *err)
{
    bool interrupted = false;
    assay_text_clear(&journal->line);
    for (int64_t i = 0; i < n; i++) {
        assay_json *line = assay_json_object();
        assay_json_put(line, "record", assay_record_to_json(&records[i]));
        add_line(journal, line);
        interrupted = interrupted || records[i].interrupted;
    }
    if (!interrupted) {
        assay_json *line = assay_json_object();
        assay_json_put_int(line, "done", group);
        add_line(journal, line);
    }
    return write_all(journal, err);
}

const char *assay_journal_path(const assay_journal *journal) { return journal->path.data; }

void assay_journal_close(assay_journal *journal)
{
    if (!journal)
        return;
    if (journal->file >= 0)
        close(journal->file);
    assay_text_fini(&journal->path);
    assay_text_fini(&journal->line);
    assay_free(journal);
}

enum assay_status assay_journal_reopen(const char *path, int64_t size_good, assay_journal **out,
                                       struct assay_error *err)
{
    enum assay_status status = open_file(path, 0, out, err);
    if (status != ASSAY_OK)
        return status;
    if (ftruncate((*out)->file, size_good) != 0 || lseek((*out)->file, 0, SEEK_END) < 0) {
        status = assay_error_set(err, ASSAY_ERR_IO, path, "cannot be written: %s", strerror(errno));
        assay_journal_close(*out);
        *out = NULL;
    }
    return status;
}

/* The reader's state: the records of the group being read, until its `done`. */
struct reader {
    const char *path;
    const struct assay_journal_visitor *visitor;
    int64_t line, n_groups;
    struct assay_record *records;
    int64_t n_records;
};

static enum assay_status damaged(const struct reader *r, const char *what, struct assay_error *err)
{
    char place[160];
    snprintf(place, sizeof place, "%s:%lld", r->path, (long long)r->line);
    return assay_error_set(err, ASSAY_ERR_CORRUPT, place,
                           "%s; delete the lines from here on to resume from what is before", what);
}

static enum assay_status read_head(struct reader *r, const assay_json *json,
                                   struct assay_error *err)
{
    struct assay_run_info run;
    struct assay_plan plan;
    struct assay_error why = {0};
    int64_t version = assay_json_int(assay_json_get(json, "assay_journal"), 0);
    if (version != JOURNAL_VERSION)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, r->path,
                               "is not a journal of a run that this version can read");
    if (assay_plan_from_json(assay_json_get(json, "plan"), &plan, &why) != ASSAY_OK)
        return assay_error_set(err, ASSAY_ERR_CORRUPT, r->path,
                               "its plan is damaged: %s; measure anew", why.message);
    assay_run_info_from_json(assay_json_get(json, "run"), &run);
    r->n_groups = plan.n_groups;
    enum assay_status status =
        r->visitor->head ? r->visitor->head(r->visitor->user, &run, &plan, err) : ASSAY_OK;
    assay_plan_fini(&plan);
    return status;
}

static enum assay_status read_record(struct reader *r, const assay_json *json,
                                     struct assay_error *err)
{
    struct assay_error why = {0};
    if (r->n_records == ASSAY_MAX_VARIANTS)
        return damaged(r, "more records than a group can have", err);
    struct assay_record *record = &r->records[r->n_records];
    if (assay_record_from_json(json, record, &why) != ASSAY_OK)
        return damaged(r, why.message, err);
    if (!record->interrupted)
        r->n_records++;
    return ASSAY_OK;
}

static enum assay_status read_done(struct reader *r, int64_t group, struct assay_error *err)
{
    if (group < 0 || group >= r->n_groups)
        return damaged(r, "names a group that the plan does not have", err);
    for (int64_t i = 0; i < r->n_records; i++)
        if (r->records[i].group != group)
            return damaged(r, "holds records of another group", err);
    if (r->visitor->group)
        r->visitor->group(r->visitor->user, group, r->records, r->n_records);
    r->n_records = 0;
    return ASSAY_OK;
}

static enum assay_status read_line(struct reader *r, const char *text, size_t length,
                                   bool *group_done, struct assay_error *err)
{
    struct assay_error why = {0};
    assay_json *json = assay_json_parse(text, length, r->path, &why);
    enum assay_status status = ASSAY_OK;
    *group_done = r->line == 1;
    if (!json) {
        status = damaged(r, "is not valid JSON", err);
    } else if (r->line == 1) {
        status = read_head(r, json, err);
    } else if (assay_json_get(json, "record")) {
        status = read_record(r, assay_json_get(json, "record"), err);
    } else {
        *group_done = true;
        status = read_done(r, assay_json_int(assay_json_get(json, "done"), -1), err);
    }
    assay_json_free(json);
    return status;
}

enum assay_status assay_journal_read(const char *path, const struct assay_journal_visitor *visitor,
                                     int64_t *size_good, struct assay_error *err)
{
    struct reader r = {.path = path, .visitor = visitor};
    enum assay_status status = ASSAY_OK;
    char *line = NULL;
    size_t capacity = 0;
    int64_t offset = 0, good = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return assay_error_set(err, ASSAY_ERR_IO, path, "cannot be read: %s", strerror(errno));
    r.records = assay_calloc(ASSAY_MAX_VARIANTS, sizeof *r.records);
    if (!r.records) {
        fclose(file);
        return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    }
    ssize_t length;
    while (status == ASSAY_OK && (length = getline(&line, &capacity, file)) > 0) {
        bool group_done;
        r.line++;
        offset += length;
        if (line[length - 1] != '\n' && r.line > 1)
            break; /* the run was killed while it wrote this line */
        status = read_line(&r, line, (size_t)length, &group_done, err);
        if (status == ASSAY_OK && group_done)
            good = offset;
    }
    if (status == ASSAY_OK && r.line == 0)
        status =
            assay_error_set(err, ASSAY_ERR_CORRUPT, path, "is empty; there is nothing to resume");
    if (size_good)
        *size_good = good;
    free(line);
    assay_free(r.records);
    fclose(file);
    return status;
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/* The journals in the data folder: the newest, and how many. */
static int64_t newest_run(const char *folder, char *newest, size_t size)
{
    enum { STAMP = 15 }; /* of "20261115-034711-a1b2": what of a name tells the time */
    int64_t n = 0;
    struct timespec written = {0};
    newest[0] = '\0';
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".jsonl") != 0)
            continue;
        n++;
        struct stat info = {0};
        fstatat(dirfd(dir), entry->d_name, &info, 0);
        int order = strncmp(entry->d_name, newest, STAMP);
        bool newer = order > 0 || (order == 0 && is_later(&info.st_mtim, &written));
        if (!newer && n > 1)
            continue;
        written = info.st_mtim;
        snprintf(newest, size, "%.*s", (int)(dot - entry->d_name), entry->d_name);
    }
    if (dir)
        closedir(dir);
    return n;
}

enum assay_status assay_journal_find(const char *name, struct assay_text *path,
                                     struct assay_error *err)
{
    struct stat info;
    if (strchr(name, '/') || (stat(name, &info) == 0 && S_ISREG(info.st_mode))) {
        assay_text_add(path, name);
        return path->failed ? ASSAY_ERR_NOMEM : ASSAY_OK;
    }
    enum assay_status status = runs_folder(path, err);
    if (status != ASSAY_OK)
        return status;
    char newest[256];
    int64_t n = newest_run(path->data, newest, sizeof newest);
    struct assay_text folder = {0};
    assay_text_add(&folder, path->data);
    assay_text_format(path, "/%s.jsonl", strcmp(name, "last") == 0 ? newest : name);
    if (path->failed || folder.failed)
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
    else if (n == 0)
        status = assay_error_set(err, ASSAY_ERR_INVALID, NULL, "there are no runs to resume in %s",
                                 folder.data);
    else if (stat(path->data, &info) != 0)
        status = assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                 "no run \"%s\" in %s; the newest of %lld is \"%s\"", name,
                                 folder.data, (long long)n, newest);
    assay_text_fini(&folder);
    return status;
}
