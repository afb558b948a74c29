#include "base/folder.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- which folder ---------------------------------------------------------------------------- */

/* The home folder: $HOME, or what the user database says. "" when neither knows. */
static void home_folder(struct assay_text *out)
{
    const char *home = getenv("HOME");
    if (home && home[0] == '/') {
        assay_text_add(out, home);
        return;
    }
    struct passwd entry, *found = NULL;
    char strings[4096];
    if (getpwuid_r(getuid(), &entry, strings, sizeof strings, &found) == 0 && found &&
        found->pw_dir && found->pw_dir[0] == '/')
        assay_text_add(out, found->pw_dir);
}

static enum assay_status xdg_folder(const char *variable, const char *below_home,
                                    struct assay_text *out, struct assay_error *err)
{
    struct assay_text base = {0};
    const char *given = getenv(variable);
    if (given && given[0] == '/') {
        assay_text_add(&base, given);
    } else {
        home_folder(&base);
        if (base.length)
            assay_text_add(&base, below_home);
    }
    enum assay_status status = ASSAY_OK;
    if (base.length)
        assay_text_format(out, "%s/assay", base.data);
    else if (!base.failed)
        status = assay_error_set(err, ASSAY_ERR_IO, NULL,
                                 "no home folder is known; set %s to an absolute path", variable);
    if (base.failed || out->failed)
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a path");
    assay_text_fini(&base);
    return status;
}

enum assay_status assay_folder_cache(struct assay_text *out, struct assay_error *err)
{
    return xdg_folder("XDG_CACHE_HOME", "/.cache", out, err);
}

enum assay_status assay_folder_data(struct assay_text *out, struct assay_error *err)
{
    return xdg_folder("XDG_DATA_HOME", "/.local/share", out, err);
}

/* ---- making it ------------------------------------------------------------------------------- */

static enum assay_status make_one(const char *path, mode_t mode, struct assay_error *err)
{
    if (mkdir(path, mode) == 0)
        return ASSAY_OK;
    /* It may exist already even if errno says otherwise: a read-only or automounted file system may
     * refuse before it looks. */
    int problem = errno;
    struct stat found;
    bool exists = stat(path, &found) == 0;
    if (exists && S_ISDIR(found.st_mode))
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_IO, path, "cannot make this folder: %s",
                           exists ? "it exists and is not a folder" : strerror(problem));
}

static enum assay_status make_all(const char *path, mode_t mode, struct assay_error *err)
{
    char *part = assay_strdup(path);
    if (!part)
        return assay_error_set(err, ASSAY_ERR_NOMEM, path, "no memory for a path");
    enum assay_status status = ASSAY_OK;
    /* Each '/' that ends a name, from the left; the first character may be the root. */
    for (char *c = part + (part[0] != '\0'); *c && status == ASSAY_OK; c++)
        if (*c == '/' && c[-1] != '/') {
            *c = '\0';
            status = make_one(part, mode, err);
            *c = '/';
        }
    if (status == ASSAY_OK)
        status = make_one(part, mode, err);
    assay_free(part);
    return status;
}

enum assay_status assay_folder_make(const char *path, struct assay_error *err)
{
    return make_all(path, 0700, err);
}

enum assay_status assay_folder_make_open(const char *path, struct assay_error *err)
{
    return make_all(path, 0777, err);
}

/* ---- writing a file -------------------------------------------------------------------------- */

static enum assay_status write_failed(const char *path, int problem, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_IO, path, "cannot write this file: %s",
                           strerror(problem));
}

static enum assay_status write_in_place(const char *path, const void *bytes, size_t length,
                                        struct assay_error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return write_failed(path, errno, err);
    int problem = assay_io_write(fd, bytes, length);
    if (close(fd) != 0 && !problem)
        problem = errno;
    return problem ? write_failed(path, problem, err) : ASSAY_OK;
}

static void name_beside(const char *path, const char *ending, struct assay_text *out)
{
    assay_text_format(out, "%s.%ld-%llx.%s", path, (long)getpid(),
                      (unsigned long long)assay_clock_ns(), ending);
}

void assay_folder_name_beside(const char *path, struct assay_text *out)
{
    name_beside(path, "tmp", out);
}

/* Not mkstemp, whose mode 0600 would ignore the umask. */
int assay_folder_create_beside(const char *path, const char *ending, struct assay_text *name)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        assay_text_clear(name);
        name_beside(path, ending, name);
        if (name->failed) {
            errno = ENOMEM;
            return -1;
        }
        int fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static enum assay_status write_file(const char *path, const void *bytes, size_t length,
                                    bool durable, struct assay_error *err)
{
    struct stat found;
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
        return write_in_place(path, bytes, length, err);

    struct assay_text name = {0};
    enum assay_status status = ASSAY_OK;
    int fd = assay_folder_create_beside(path, "tmp", &name);
    if (fd < 0) {
        status = write_failed(path, errno, err);
        goto cleanup;
    }
    int problem = assay_io_write(fd, bytes, length);
    if (!problem && durable) /* or a crash could leave the new name on empty contents */
        problem = assay_io_sync(fd);
    if (close(fd) != 0 && !problem) /* a network file system may only now say that it is full */
        problem = errno;
    if (!problem && rename(name.data, path) != 0)
        problem = errno;
    if (problem) {
        unlink(name.data);
        status = write_failed(path, problem, err);
    } else if (durable && (problem = assay_io_sync_folder_of(path)) != 0) {
        status = write_failed(path, problem, err);
    }
cleanup:
    assay_text_fini(&name);
    return status;
}

enum assay_status assay_folder_write_atomic(const char *path, const void *bytes, size_t length,
                                            struct assay_error *err)
{
    return write_file(path, bytes, length, true, err);
}

enum assay_status assay_folder_write_quickly(const char *path, const void *bytes, size_t length,
                                             struct assay_error *err)
{
    return write_file(path, bytes, length, false, err);
}

/* ---- reading and removing -------------------------------------------------------------------- */

/* Opened before it is inspected, so that the file inspected is the file read; does not wait for a
 * pipe's other end. 0, or the errno of what went wrong. */
static int read_bytes(int fd, size_t most, struct assay_text *out)
{
    struct stat found;
    char bytes[16384];
    size_t total = 0;
    if (fd < 0 || fstat(fd, &found) != 0)
        return errno;
    if (!S_ISREG(found.st_mode))
        return S_ISDIR(found.st_mode) ? EISDIR : EINVAL;
    for (;;) {
        size_t got;
        int problem = assay_io_read(fd, bytes, sizeof bytes, &got);
        if (problem || got == 0)
            return problem;
        total += got;
        if (total > most)
            return EFBIG;
        assay_text_append(out, bytes, got);
    }
}

enum assay_status assay_folder_read_file(const char *path, size_t most, struct assay_text *out,
                                         struct assay_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int problem = read_bytes(fd, most, out);
    if (fd >= 0)
        close(fd);
    if (out->failed)
        return assay_error_set(err, ASSAY_ERR_NOMEM, path, "no memory for this file");
    bool other = problem == EINVAL || problem == EISDIR || problem == EFBIG;
    if (problem)
        return assay_error_set(err, other ? ASSAY_ERR_INVALID : ASSAY_ERR_IO, path,
                               "cannot be read: %s",
                               problem == EINVAL ? "it is not a regular file" : strerror(problem));
    return ASSAY_OK;
}

int assay_folder_peek(const char *path, char *buf, size_t size)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    ssize_t got = fd < 0 ? -1 : 0;
    size_t length = 0;
    while (fd >= 0 && length + 1 < size) {
        got = read(fd, buf + length, size - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    int problem = got < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    buf[length] = '\0';
    return problem;
}

static int remove_entry(const char *path, const struct stat *found, int kind, struct FTW *depth)
{
    (void)found;
    (void)depth;
    (void)(kind == FTW_DP || kind == FTW_DNR ? rmdir(path) : unlink(path));
    return 0; /* whatever it was, go on with the rest */
}

void assay_folder_remove(const char *path)
{
    enum { OPEN_FOLDERS = 16 };
    nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static bool is_litter(int folder, const char *name, time_t now)
{
    enum { A_DAY = 24 * 60 * 60 };
    size_t length = strlen(name);
    struct stat found;
    return length > 4 && strcmp(name + length - 4, ".tmp") == 0 &&
           fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && now - found.st_mtime > A_DAY;
}

void assay_folder_sweep(const char *folder)
{
    DIR *entries = opendir(folder);
    time_t now = time(NULL);
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        struct assay_text path = {0};
        if (!is_litter(dirfd(entries), entry->d_name, now))
            continue;
        assay_text_format(&path, "%s/%s", folder, entry->d_name);
        if (!path.failed)
            assay_folder_remove(path.data);
        assay_text_fini(&path);
    }
    if (entries)
        closedir(entries);
}
