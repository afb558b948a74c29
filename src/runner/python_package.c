/* python_package.c: the Python package that the program carries, in the cache folder: written where
 * it is missing, and taken away again once nobody has used that version for a month. */
#include "runner/python.h"

#include "base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static enum assay_status write_part(const char *folder, const struct assay_python_part *part,
                                    struct assay_error *err)
{
    struct assay_text path = {0};
    assay_text_format(&path, "%s/%s", folder, part->name);
    if (path.failed) {
        assay_text_fini(&path);
        return assay_error_nomem(err);
    }
    char *slash = strrchr(path.data, '/');
    *slash = '\0';
    enum assay_status status = assay_folder_make(path.data, err);
    *slash = '/';
    if (status == ASSAY_OK)
        status = assay_folder_write_quickly(path.data, part->bytes,
                                            (size_t)(part->end - part->bytes), err);
    assay_text_fini(&path);
    return status;
}

/* Beside its place, and then there as a whole: another assay may be doing the same. */
static enum assay_status write_package(const char *folder, struct assay_error *err)
{
    struct assay_text beside = {0};
    assay_folder_name_beside(folder, &beside);
    enum assay_status status = beside.failed ? assay_error_nomem(err) : ASSAY_OK;
    for (int i = 0; i < assay_python_parts.n && status == ASSAY_OK; i++)
        status = write_part(beside.data, &assay_python_parts.all[i], err);
    if (status == ASSAY_OK && rename(beside.data, folder) != 0 && access(folder, F_OK) != 0)
        status = assay_error_set(err, ASSAY_ERR_IO, folder, "cannot be made");
    if (beside.data)
        assay_folder_remove(beside.data);
    assay_text_fini(&beside);
    return status;
}

/* ---- is it still what was written? ---- */

static bool is_part(const char *folder, const struct assay_python_part *part)
{
    struct assay_text path = {0}, bytes = {0};
    size_t length = (size_t)(part->end - part->bytes);
    assay_text_format(&path, "%s/%s", folder, part->name);
    bool same = !path.failed &&
                assay_folder_read_file(path.data, length, &bytes, NULL) == ASSAY_OK &&
                bytes.length == length && memcmp(bytes.data, part->bytes, length) == 0;
    assay_text_fini(&path);
    assay_text_fini(&bytes);
    return same;
}

/* A part, or a folder of one. */
static bool is_ours(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; i < assay_python_parts.n; i++) {
        const char *part = assay_python_parts.all[i].name;
        if (strncmp(part, name, length) == 0 && (part[length] == '\0' || part[length] == '/'))
            return true;
    }
    return false;
}

/* Nothing lies there but ours: an interpreter imports whatever it finds, compiled files before
 * others. `below` is "" or "assay/". */
static bool holds_only_ours(const char *folder, const char *below)
{
    struct assay_text path = {0}, name = {0};
    assay_text_format(&path, "%s/%s", folder, below);
    DIR *entries = path.failed ? NULL : opendir(path.data);
    bool fine = entries;
    for (struct dirent *entry; fine && (entry = readdir(entries));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        name.length = 0;
        assay_text_format(&name, "%s%s", below, entry->d_name);
        fine = !name.failed && entry->d_type != DT_LNK && is_ours(name.data);
        if (fine && entry->d_type == DT_DIR) {
            assay_text_add(&name, "/");
            fine = !name.failed && holds_only_ours(folder, name.data);
        }
    }
    if (entries)
        closedir(entries);
    assay_text_fini(&path);
    assay_text_fini(&name);
    return fine;
}

static bool is_intact(const char *folder)
{
    bool intact = holds_only_ours(folder, "");
    for (int i = 0; i < assay_python_parts.n && intact; i++)
        intact = is_part(folder, &assay_python_parts.all[i]);
    return intact;
}

/* ---- what other versions left ---- */

static const char PREFIX[] = "python-";
static const double DAY_S = 86400, KEPT_S = 30 * DAY_S;

/* Since it was last used; negative where that cannot be told. */
static double unused_s(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISDIR(info.st_mode) ? difftime(time(NULL), info.st_mtime)
                                                            : -1;
}

/* An interpreter may begin to import from it at this very moment: it is first put aside, and back
 * again where somebody has marked it as used since it was looked at. */
static void remove_unused(const char *path)
{
    struct assay_text aside = {0};
    bool half_written = strstr(path, ".tmp") != NULL; /* by a process that was killed */
    double limit_s = half_written ? DAY_S : KEPT_S;
    if (unused_s(path) < limit_s)
        return;
    assay_folder_name_beside(path, &aside);
    if (!aside.failed && rename(path, aside.data) == 0) {
        if (unused_s(aside.data) >= limit_s || rename(aside.data, path) != 0)
            assay_folder_remove(aside.data);
    }
    assay_text_fini(&aside);
}

/* Versions beside `own`, of programs that were replaced by newer ones. */
static void sweep(const char *own)
{
    const char *slash = strrchr(own, '/');
    struct assay_text folder = {0}, path = {0};
    assay_text_append(&folder, own, (size_t)(slash - own));
    DIR *entries = folder.failed ? NULL : opendir(folder.data);
    for (const struct dirent *e; entries && (e = readdir(entries));) {
        if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0 || strcmp(e->d_name, slash + 1) == 0)
            continue;
        assay_text_clear(&path);
        assay_text_format(&path, "%s/%s", folder.data, e->d_name);
        if (!path.failed)
            remove_unused(path.data);
    }
    if (entries)
        closedir(entries);
    assay_text_fini(&folder);
    assay_text_fini(&path);
}

/* ---- this one ---- */

enum assay_status assay_python_restore(const char *folder, struct assay_error *err)
{
    /* Its time says when it was last used. */
    if (is_intact(folder)) {
        (void)utimensat(AT_FDCWD, folder, NULL, 0);
        return ASSAY_OK;
    }
    assay_folder_remove(folder);
    enum assay_status status = write_package(folder, err);
    if (status != ASSAY_OK)
        return status;
    sweep(folder);
    return is_intact(folder)
               ? ASSAY_OK
               : assay_error_set(err, ASSAY_ERR_IO, folder, "somebody else writes to it");
}

enum assay_status assay_python_absent(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                           "this assay was built without Python's headers: install python3-dev and "
                           "build it again");
}

enum assay_status assay_python_package(struct assay_text *out, struct assay_error *err)
{
    size_t start = out->length;
    if (!&assay_python_parts || assay_python_parts.n == 0)
        return assay_python_absent(err);
    enum assay_status status = assay_folder_cache(out, err);
    assay_text_format(out, "/%s%.16s", PREFIX, assay_python_parts.hash);
    if (status == ASSAY_OK && out->failed)
        status = assay_error_nomem(err);
    if (status == ASSAY_OK)
        status = assay_python_restore(out->data + start, err);
    return status;
}
