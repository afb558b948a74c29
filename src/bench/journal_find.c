/* journal_find.c: the journals in the data folder, and which of them a user means. */
#include "bench/journal.h"

#include "base/alloc.h"
#include "base/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char ending[] = ".jsonl";
enum { STAMP = 15 }; /* of "20261115-034711-a1b2": what of a name tells the time */

enum assay_status assay_journal_folder(struct assay_text *out, struct assay_error *err)
{
    enum assay_status status = assay_folder_data(out, err);
    assay_text_add(out, "/runs");
    if (status == ASSAY_OK && out->failed)
        status = assay_error_nomem(err);
    return status;
}

/* ---- what there is -------------------------------------------------------------------------- */

struct found {
    char *id;
    struct timespec written;
};

struct finds {
    struct found *items;
    int64_t n, capacity;
};

/* "20261115-034711-…" */
static bool is_id(const char *name)
{
    for (int i = 0; i < STAMP; i++)
        if (i == 8 ? name[i] != '-' : !isdigit((unsigned char)name[i]))
            return false;
    return name[STAMP] == '-' && name[STAMP + 1];
}

/* Newest first: by the second they began in, and of one second by when they were last written. */
static int by_age(const void *a, const void *b)
{
    const struct found *one = a, *other = b;
    int order = strncmp(other->id, one->id, STAMP);
    if (order == 0)
        order = (one->written.tv_sec < other->written.tv_sec) -
                (one->written.tv_sec > other->written.tv_sec);
    if (order == 0)
        order = (one->written.tv_nsec < other->written.tv_nsec) -
                (one->written.tv_nsec > other->written.tv_nsec);
    return order ? order : strcmp(other->id, one->id);
}

static enum assay_status add_found(struct finds *finds, const char *id, struct timespec written)
{
    if (finds->n == finds->capacity) {
        int64_t capacity = finds->capacity ? 2 * finds->capacity : 64;
        struct found *items = assay_realloc(finds->items, (size_t)capacity, sizeof *items);
        if (!items)
            return ASSAY_ERR_NOMEM;
        finds->items = items;
        finds->capacity = capacity;
    }
    char *copy = assay_strdup(id);
    if (!copy)
        return ASSAY_ERR_NOMEM;
    finds->items[finds->n++] = (struct found){copy, written};
    return ASSAY_OK;
}

static enum assay_status add_entry(int folder, const char *name, struct finds *finds,
                                   struct assay_strings *foreign)
{
    struct stat info = {0};
    char id[256];
    size_t length = strlen(name), end = sizeof ending - 1;
    bool journal = length > end && strcmp(name + length - end, ending) == 0;
    if (name[0] == '.')
        return ASSAY_OK;
    snprintf(id, sizeof id, "%.*s", (int)(journal ? length - end : length), name);
    if (!journal || !is_id(id))
        return assay_strings_add(foreign, name);
    fstatat(folder, name, &info, 0);
    return add_found(finds, id, info.st_mtim);
}

/* A folder that is not there has nothing in it. */
static enum assay_status look(const char *path, struct finds *finds, struct assay_strings *foreign,
                              struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    struct dirent *entry;
    DIR *dir = opendir(path);
    if (!dir && errno == ENOENT)
        return ASSAY_OK;
    if (!dir)
        return assay_error_set(err, errno == ENOMEM ? ASSAY_ERR_NOMEM : ASSAY_ERR_IO, path,
                               "cannot be read: %s", strerror(errno));
    while (status == ASSAY_OK && (entry = readdir(dir)))
        status = add_entry(dirfd(dir), entry->d_name, finds, foreign);
    closedir(dir);
    return status == ASSAY_OK ? status : assay_error_nomem(err);
}

enum assay_status assay_journal_list(struct assay_journal_names *out, struct assay_error *err)
{
    struct assay_text folder = {0};
    struct finds finds = {0};
    *out = (struct assay_journal_names){0};
    enum assay_status status = assay_journal_folder(&folder, err);
    if (status == ASSAY_OK)
        status = look(folder.data, &finds, &out->foreign, err);
    if (finds.n)
        qsort(finds.items, (size_t)finds.n, sizeof *finds.items, by_age);
    for (int64_t i = 0; i < finds.n; i++) {
        if (status == ASSAY_OK && assay_strings_add(&out->ids, finds.items[i].id) != ASSAY_OK)
            status = assay_error_nomem(err);
        assay_free(finds.items[i].id);
    }
    assay_free(finds.items);
    assay_text_fini(&folder);
    if (status != ASSAY_OK)
        assay_journal_names_fini(out);
    return status;
}

void assay_journal_names_fini(struct assay_journal_names *names)
{
    assay_strings_fini(&names->ids);
    assay_strings_fini(&names->foreign);
}

/* ---- which is meant ------------------------------------------------------------------------- */

/* "last", "last~2": how many runs before the newest; -1: it is another name. */
static int64_t runs_back(const char *name)
{
    int64_t back = 0;
    if (strncmp(name, "last", 4) != 0)
        return -1;
    if (!name[4])
        return 0;
    return name[4] == '~' && assay_text_int64(name + 5, &back) == ASSAY_OK && back >= 0 ? back : -1;
}

static enum assay_status find_back(const struct assay_strings *ids, int64_t back,
                                   const char *folder, const char **id, struct assay_error *err)
{
    if (back >= ids->n)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "\"last~%lld\" is more than there are: %lld run%s in %s",
                               (long long)back, (long long)ids->n, ids->n == 1 ? "" : "s", folder);
    *id = ids->items[back];
    return ASSAY_OK;
}

static enum assay_status find_prefix(const struct assay_strings *ids, const char *name,
                                     const char *folder, const char **id, struct assay_error *err)
{
    int64_t n = 0;
    for (int64_t i = ids->n - 1; i >= 0; i--)
        if (strncmp(ids->items[i], name, strlen(name)) == 0) {
            *id = ids->items[i];
            n++;
        }
    if (n > 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "%lld runs begin with \"%s\", the newest is \"%s\"; "
                               "`assay list runs` shows them",
                               (long long)n, name, *id);
    if (n == 0)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "no run \"%s\" in %s; the newest of %lld is \"%s\"", name, folder,
                               (long long)ids->n, ids->items[0]);
    return ASSAY_OK;
}

static enum assay_status find_run(const char *name, struct assay_text *path,
                                  struct assay_error *err)
{
    struct assay_journal_names names;
    struct assay_text folder = {0};
    const char *id = NULL;
    int64_t back = runs_back(name);
    enum assay_status status = assay_journal_list(&names, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_journal_folder(&folder, err);
    if (status == ASSAY_OK && names.ids.n == 0)
        status =
            assay_error_set(err, ASSAY_ERR_INVALID, NULL, "there are no runs in %s", folder.data);
    else if (status == ASSAY_OK && back >= 0)
        status = find_back(&names.ids, back, folder.data, &id, err);
    else if (status == ASSAY_OK)
        status = find_prefix(&names.ids, name, folder.data, &id, err);
    if (status == ASSAY_OK)
        assay_text_format(path, "%s/%s%s", folder.data, id, ending);
    if (status == ASSAY_OK && path->failed)
        status = assay_error_nomem(err);
    assay_journal_names_fini(&names);
    assay_text_fini(&folder);
    return status;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* A file of that name comes first: an id in full, or whatever a user keeps in the folder. */
enum assay_status assay_journal_find(const char *name, struct assay_text *path,
                                     struct assay_error *err)
{
    if (strchr(name, '/') || is_file(name)) {
        assay_text_add(path, name);
        return path->failed ? assay_error_nomem(err) : ASSAY_OK;
    }
    enum assay_status status = assay_journal_folder(path, err);
    if (status != ASSAY_OK)
        return status;
    assay_text_format(path, "/%s%s", name, ending);
    if (path->failed)
        return assay_error_nomem(err);
    if (is_file(path->data))
        return ASSAY_OK;
    assay_text_clear(path);
    return find_run(name, path, err);
}
