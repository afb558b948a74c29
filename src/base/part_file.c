#include "base/part_file.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "base/io.h"
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whoever makes a file holds it locked. */
static bool is_abandoned(const char *part)
{
    int fd = open(part, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    bool abandoned = fd >= 0 && assay_lock_try(fd) == 0;
    if (fd >= 0)
        close(fd);
    return abandoned;
}

void assay_part_file_sweep(const char *path)
{
    struct assay_text pattern = {0};
    glob_t found = {0};
    for (const char *c = path; *c; c++) { /* the user's name is no pattern */
        assay_text_add(&pattern, strchr("*?[\\", *c) ? "\\" : "");
        assay_text_append(&pattern, c, 1);
    }
    assay_text_add(&pattern, ".*-*.part");
    if (!pattern.failed && glob(pattern.data, GLOB_NOSORT, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (is_abandoned(found.gl_pathv[i]))
                unlink(found.gl_pathv[i]);
    globfree(&found);
    assay_text_fini(&pattern);
}

static void open_beside(struct assay_part_file *file, const char *path)
{
    struct assay_text part = {0};
    assay_part_file_sweep(path);
    file->file = assay_folder_create_beside(path, "part", &part);
    file->part = file->file >= 0 ? assay_strdup(part.data) : NULL;
    if (file->file >= 0 && !file->part) {
        unlink(part.data);
        errno = ENOMEM;
    } else if (file->file >= 0) {
        assay_lock_try(file->file);
    }
    assay_text_fini(&part);
}

enum assay_status assay_part_file_open(struct assay_part_file *file, const char *path,
                                       struct assay_error *err)
{
    struct stat info;
    bool there = stat(path, &info) == 0, in_place = there && !S_ISREG(info.st_mode);
    *file = (struct assay_part_file){.file = -1, .path = assay_strdup(path)};
    errno = ENOMEM;
    if (file->path && in_place)
        file->file = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    else if (file->path)
        open_beside(file, path);
    if (file->file >= 0 && file->path && (in_place || file->part))
        return ASSAY_OK;
    int problem = errno;
    file->error = problem;
    assay_part_file_close(file, false, NULL);
    return assay_error_set(err, problem == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_INVALID, path,
                           "cannot be written: %s", strerror(problem));
}

int assay_part_file_write(struct assay_part_file *file, const char *bytes, size_t length)
{
    if (!file->error)
        file->error = assay_io_write(file->file, bytes, length);
    return file->error;
}

static void take_name(struct assay_part_file *file)
{
    if (!file->error && rename(file->part, file->path) != 0)
        file->error = errno;
    if (!file->error)
        file->error = assay_io_sync_folder_of(file->path);
    else
        unlink(file->part);
}

enum assay_status assay_part_file_close(struct assay_part_file *file, bool keep,
                                        struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    if (file->part && keep && !file->error)
        file->error = assay_io_sync(file->file);
    if (file->file >= 0 && close(file->file) != 0 && !file->error)
        file->error = errno;
    if (file->part && keep)
        take_name(file);
    else if (file->part)
        unlink(file->part);
    if (file->error && keep)
        status = assay_error_set(err, file->error == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_IO,
                                 file->path, "cannot be written: %s", strerror(file->error));
    assay_free(file->path);
    assay_free(file->part);
    *file = (struct assay_part_file){.file = -1};
    return status;
}
