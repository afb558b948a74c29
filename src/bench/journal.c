/* journal.c: journals written; journal_read.c reads them, journal_find.c finds them. */
#include "bench/journal.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "base/frame.h"
#include "base/io.h"
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct assay_journal {
    int file, version;
    int64_t size, next; /* what is written, and the number of the next line */
    struct assay_text path, line;
};

static enum assay_status lock(const assay_journal *journal, struct assay_error *err)
{
    const char *path = journal->path.data;
    int problem = assay_lock_try(journal->file);
    if (problem != EWOULDBLOCK) /* a file system without locks has none for anybody */
        return ASSAY_OK;
    long holder = assay_lock_holder(journal->file);
    if (holder > 0)
        return assay_error_set(err, ASSAY_UNSUPPORTED, path,
                               "process %ld is continuing this run; wait until it ends", holder);
    return assay_error_set(err, ASSAY_UNSUPPORTED, path,
                           "another process is continuing this run; wait until it ends");
}

/* A pipe or a device is opened without waiting, and refused. */
static enum assay_status open_file(const char *path, int flags, assay_journal **out,
                                   struct assay_error *err)
{
    struct stat found = {0};
    enum assay_status status = ASSAY_OK;
    assay_journal *journal = assay_calloc(1, sizeof *journal);
    if (!journal)
        return assay_error_nomem(err);
    assay_text_add(&journal->path, path);
    journal->file = -1; /* nothing is created that would then be left behind empty */
    if (!journal->path.failed)
        journal->file = open(path, flags | O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (journal->path.failed)
        status = assay_error_nomem(err);
    else if ((journal->file < 0 && errno == ENXIO) || /* a pipe without a reader */
             (journal->file >= 0 && fstat(journal->file, &found) == 0 && !S_ISREG(found.st_mode)))
        status = assay_error_set(err, ASSAY_ERR_INVALID, path, "is not a regular file");
    else if (journal->file < 0)
        status = assay_error_set(err, ASSAY_ERR_IO, path, "cannot be opened: %s", strerror(errno));
    else
        status = lock(journal, err);
    if (status == ASSAY_OK)
        *out = journal;
    else
        assay_journal_close(journal);
    return status;
}

/* All of the line, on the disk; or nothing of it, as far as that can be had. */
static enum assay_status write_line(assay_journal *journal, struct assay_error *err)
{
    if (journal->line.failed)
        return assay_error_nomem(err);
    int problem = assay_io_write(journal->file, journal->line.data, journal->line.length);
    if (!problem)
        problem = assay_io_sync(journal->file);
    if (!problem) {
        journal->size += (int64_t)journal->line.length;
        return ASSAY_OK;
    }
    assay_io_truncate(journal->file, journal->size);
    lseek(journal->file, journal->size, SEEK_SET);
    return assay_error_set(err, ASSAY_ERR_IO, journal->path.data,
                           "cannot be written: %s; make room and continue with --resume",
                           strerror(problem));
}

static void add_json(assay_journal *journal, assay_json *json)
{
    assay_json_write(json, 0, &journal->line);
    assay_json_free(json);
}

static void add_line(assay_journal *journal, assay_json *json)
{
    if (journal->version == 1) {
        assay_json_write(json, 0, &journal->line);
        assay_text_add(&journal->line, "\n");
    } else {
        assay_frame_write(json, journal->next++, &journal->line);
    }
    assay_json_free(json);
}

static enum assay_status write_piece(assay_journal *journal, struct assay_frame *frame,
                                     struct assay_error *err)
{
    assay_frame_add(frame, journal->line.data, journal->line.failed ? 0 : journal->line.length);
    enum assay_status status = write_line(journal, err);
    assay_text_clear(&journal->line);
    return status;
}

/* The head is one line, but a plan may have any number of groups: it is written piece by piece, so
 * that memory does not grow with them. */
static enum assay_status write_head(assay_journal *journal, const struct assay_run_info *run,
                                    const struct assay_plan *plan, struct assay_error *err)
{
    enum { PIECE = 1 << 16 };
    enum assay_status status = ASSAY_OK;
    struct assay_frame frame = {0};
    assay_text_format(&journal->line, "{\"assay_journal\":%d,\"run\":", ASSAY_JOURNAL_VERSION);
    add_json(journal, assay_run_info_to_json(run));
    assay_text_add(&journal->line, ",\"plan\":{\"settings\":");
    add_json(journal, assay_settings_to_json(&plan->settings));
    assay_text_format(&journal->line, ",\"max_elements\":%lld,\"groups\":[",
                      (long long)plan->max_elements);
    for (int64_t i = 0; i < plan->n_groups && status == ASSAY_OK; i++) {
        assay_text_add(&journal->line, i ? "," : "");
        add_json(journal, assay_group_to_json(&plan->groups[i]));
        if (journal->line.length >= PIECE)
            status = write_piece(journal, &frame, err);
    }
    assay_text_add(&journal->line, "]}");
    if (status == ASSAY_OK)
        status = write_piece(journal, &frame, err);
    assay_frame_end(&frame, journal->next++, &journal->line);
    return status == ASSAY_OK ? write_line(journal, err) : status;
}

enum assay_status assay_journal_create(const struct assay_run_info *run,
                                       const struct assay_plan *plan, assay_journal **out,
                                       struct assay_error *err)
{
    struct assay_text path = {0};
    assay_journal *journal = NULL;
    enum assay_status status = assay_journal_folder(&path, err);
    if (status == ASSAY_OK)
        status = assay_folder_make(path.data, err);
    assay_text_format(&path, "/%s.jsonl", run->id);
    if (status == ASSAY_OK && path.failed)
        status = assay_error_nomem(err);
    if (status == ASSAY_OK)
        status = open_file(path.data, O_CREAT | O_EXCL, &journal, err);
    if (status == ASSAY_OK) {
        journal->version = ASSAY_JOURNAL_VERSION;
        status = write_head(journal, run, plan, err);
        int problem = status == ASSAY_OK ? assay_io_sync_folder_of(path.data) : 0;
        if (problem)
            status = assay_error_set(err, problem == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_IO,
                                     path.data, "cannot be written: %s", strerror(problem));
        if (status != ASSAY_OK) { /* half a head is of no use, and would be "last" */
            unlink(path.data);
            assay_journal_close(journal);
            journal = NULL;
        }
    }
    *out = journal;
    assay_text_fini(&path);
    return status;
}

bool assay_journal_is_final(const struct assay_record *record)
{
    return !record->interrupted && record->outcome != ASSAY_OUTCOME_KILLED;
}

enum assay_status assay_journal_append(assay_journal *journal, int64_t group,
                                       const struct assay_record *records, int64_t n,
                                       struct assay_error *err)
{
    bool final = n > 0;
    int64_t next = journal->next;
    assay_text_clear(&journal->line);
    for (int64_t i = 0; i < n; i++) {
        assay_json *line = assay_json_object();
        assay_json_put(line, "record", assay_record_to_json(&records[i]));
        add_line(journal, line);
        final = final && assay_journal_is_final(&records[i]);
    }
    if (final) {
        assay_json *line = assay_json_object();
        assay_json_put_int(line, "done", group);
        if (journal->version > 1)
            assay_json_put_int(line, "records", n);
        add_line(journal, line);
    }
    enum assay_status status = write_line(journal, err);
    if (status != ASSAY_OK)
        journal->next = next;
    return status;
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

enum assay_status assay_journal_open(const char *path, assay_journal **out, struct assay_error *err)
{
    return open_file(path, 0, out, err);
}

enum assay_status assay_journal_go_on(assay_journal *journal, const struct assay_journal_end *end,
                                      struct assay_error *err)
{
    journal->version = end->version;
    journal->next = end->next;
    journal->size = end->size;
    int problem = assay_io_truncate(journal->file, end->size);
    if (!problem && lseek(journal->file, 0, SEEK_END) < 0)
        problem = errno;
    if (problem)
        return assay_error_set(err, ASSAY_ERR_IO, journal->path.data, "cannot be written: %s",
                               strerror(problem));
    return ASSAY_OK;
}
