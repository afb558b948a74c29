#include "repo/object_cache.h"

#include "base/alloc.h"
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_FILES = 20000,     /* that one command read */
    MOST_BYTES = 16 << 20,  /* of a list of them */
    COMPILE_LIMIT_S = 3600, /* templates can take long, but not for ever */
    DAY_S = 24 * 3600,
    UNUSED_S = 90 * DAY_S, /* what has not been used for this long is removed */
};

static enum assay_status no_memory(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a list of files");
}

/* ---- stamps: what a file was ----------------------------------------------------------------- */

struct stamp {
    char hash[ASSAY_SHA256_HEX];
    long long size,
        changed_ns; /* changed_ns 0: so recent that the next change might look the same */
    unsigned long long inode;
};

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static long long changed_ns(const struct stat *found)
{
    return (long long)found->st_ctim.tv_sec * 1000000000 + found->st_ctim.tv_nsec;
}

/* Reads the file. False: it cannot be read, or it changed meanwhile. */
static bool take_stamp(const char *path, struct stamp *out)
{
    const long long coarse_ns = 2000000000; /* some file systems count seconds, FAT every second */
    struct stat before, after;
    if (stat(path, &before) != 0 || !S_ISREG(before.st_mode) ||
        assay_sha256_file(path, out->hash, NULL) != ASSAY_OK || stat(path, &after) != 0 ||
        before.st_size != after.st_size || changed_ns(&before) != changed_ns(&after))
        return false;
    out->size = after.st_size;
    out->inode = after.st_ino;
    out->changed_ns = changed_ns(&after);
    if (out->changed_ns + coarse_ns > now_ns())
        out->changed_ns = 0;
    return true;
}

/* The stamp as it is now; *better is set where remembering it spares reading the file again. */
static bool renew_stamp(const char *path, struct stamp *stamp, bool *better)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return false;
    if (stamp->changed_ns && found.st_size == stamp->size && found.st_ino == stamp->inode &&
        changed_ns(&found) == stamp->changed_ns)
        return true;
    bool good = take_stamp(path, stamp);
    *better = *better || (good && stamp->changed_ns);
    return good;
}

static void write_stamp(const struct stamp *stamp, const char *path, struct assay_text *out)
{
    assay_text_format(out, "%s %lld %lld %llu %s\n", stamp->hash, stamp->size, stamp->changed_ns,
                      stamp->inode, path);
}

/* A line of such a file. NULL: it is none. Otherwise the path, which ends where the line does. */
static char *read_stamp(char *line, struct stamp *out)
{
    char *end = line + 64;
    if (strspn(line, "0123456789abcdef") != 64 || *end != ' ')
        return NULL;
    memcpy(out->hash, line, 64);
    out->hash[64] = '\0';
    out->size = strtoll(end, &end, 10);
    out->changed_ns = strtoll(end, &end, 10);
    out->inode = strtoull(end, &end, 10);
    return end[0] == ' ' && end[1] == '/' ? end + 1 : NULL;
}

/* ---- lists of files -------------------------------------------------------------------------- */

struct files {
    struct stamp *stamps;
    struct assay_arguments paths; /* of the same number */
};

static void files_fini(struct files *files)
{
    assay_free(files->stamps);
    assay_arguments_fini(&files->paths);
    *files = (struct files){0};
}

static bool add_file(struct files *files, const char *path, const struct stamp *stamp)
{
    struct stamp *stamps = assay_realloc(files->stamps, (size_t)files->paths.n + 1, sizeof *stamps);
    if (!stamps || files->paths.n == MOST_FILES)
        return false;
    files->stamps = stamps;
    stamps[files->paths.n] = *stamp;
    assay_arguments_add(&files->paths, path);
    return !files->paths.failed;
}

static bool read_files(const char *path, struct files *out)
{
    struct assay_text text = {0};
    bool good = assay_folder_read_file(path, MOST_BYTES, &text, NULL) == ASSAY_OK && text.length;
    for (char *line = text.data; good && *line;) {
        char *end = strchr(line, '\n');
        struct stamp stamp = {0};
        if (end)
            *end = '\0';
        const char *file =
            end ? read_stamp(line, &stamp) : NULL; /* a last line cut short is none */
        good = file && add_file(out, file, &stamp);
        line = good ? end + 1 : line;
    }
    assay_text_fini(&text);
    return good;
}

/* A cache that cannot be written costs time at the next run, nothing else: unless the object itself
 * cannot be, which is told. */
static void write_files(const char *path, const struct files *files)
{
    struct assay_text text = {0};
    for (int64_t i = 0; i < files->paths.n; i++)
        write_stamp(&files->stamps[i], files->paths.items[i], &text);
    if (!text.failed && text.length)
        assay_folder_write_quickly(path, text.data, text.length, NULL);
    assay_text_fini(&text);
}

/* The file names in a rule for make, "object: a.c b\ c.h \<newline> d.h": blanks and '#' have a
 * backslash before them, '$' is doubled. False: it is something else. */
static bool parse_rule(const char *text, struct assay_arguments *out)
{
    static const char target[] = "object";
    struct assay_text word = {0};
    bool good = text && strncmp(text, target, strlen(target)) == 0;
    const char *c = good ? text + strlen(target) : "";
    c += strspn(c, " "); /* nvcc's way */
    good = good && *c == ':';
    c += good;
    for (;; c++) {
        bool escaped = c[0] == '\\' && (c[1] == ' ' || c[1] == '#' || c[1] == '\\');
        bool folded = c[0] == '\\' && c[1] == '\n';
        bool blank = c[0] == ' ' || c[0] == '\t' || c[0] == '\n' || c[0] == '\0' || folded;
        if (!blank) {
            c += escaped || (c[0] == '$' && c[1] == '$');
            assay_text_append(&word, c, 1);
            continue;
        }
        if (word.length)
            assay_arguments_add(out, word.data);
        assay_text_clear(&word);
        if (c[0] == '\0' || c[0] == '\n') /* the rule ends; what follows are others */
            break;
        c += folded;
    }
    good = good && !word.failed && !out->failed;
    assay_text_fini(&word);
    return good;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void command_key(const struct assay_making *making, char out[ASSAY_SHA256_HEX])
{
    struct assay_sha256 hash = making->key;
    assay_sha256_add_text(&hash, making->folder);
    for (int64_t i = 0; i < making->command->n; i++)
        assay_sha256_add_text(&hash, making->command->items[i]);
    assay_sha256_add_text(&hash, making->ending);
    assay_sha256_hex(&hash, out);
}

static void object_key(const char *command, const struct files *files, char out[ASSAY_SHA256_HEX])
{
    struct assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add_text(&hash, command);
    for (int64_t i = 0; i < files->paths.n; i++) {
        assay_sha256_add_text(&hash, files->stamps[i].hash);
        assay_sha256_add_text(&hash, files->paths.items[i]);
    }
    assay_sha256_hex(&hash, out);
}

/* ---- what is no longer used ------------------------------------------------------------------ */

/* Lists and stamps are as old as their last use, to the day. */
static void note_use(const char *path)
{
    struct stat found;
    if (stat(path, &found) == 0 && found.st_mtime + DAY_S < time(NULL))
        utimensat(AT_FDCWD, path, NULL, 0);
}

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

/* A list, or a stamp and its object. */
static void forget(const char *folder, const char *name)
{
    struct assay_text path = {0};
    struct stat found;
    assay_text_format(&path, "%s/%s", folder, name);
    if (!path.failed && stat(path.data, &found) == 0 && found.st_mtime + UNUSED_S < time(NULL)) {
        unlink(path.data);
        if (ends_in(path.data, ".stamp")) {
            path.data[path.length - strlen(".stamp")] = '\0';
            unlink(path.data);
        }
    }
    assay_text_fini(&path);
}

static void forget_unused(const char *folder)
{
    DIR *entries = opendir(folder);
    for (const struct dirent *entry; entries && (entry = readdir(entries));)
        if (ends_in(entry->d_name, ".stamp") || ends_in(entry->d_name, ".files"))
            forget(folder, entry->d_name);
    if (entries)
        closedir(entries);
}

/* ---- finding --------------------------------------------------------------------------------- */

struct place {
    struct assay_text folder, list, object, stamp;
    char key[ASSAY_SHA256_HEX]; /* of the command */
};

static void place_fini(struct place *place)
{
    assay_text_fini(&place->folder);
    assay_text_fini(&place->list);
    assay_text_fini(&place->object);
    assay_text_fini(&place->stamp);
}

static void place_object(struct place *place, const char *key, const char *ending)
{
    assay_text_clear(&place->object);
    assay_text_clear(&place->stamp);
    assay_text_format(&place->object, "%s/%s%s", place->folder.data, key, ending);
    assay_text_format(&place->stamp, "%s.stamp", place->object.data ? place->object.data : "");
}

/* Does the object exist, unchanged? */
static bool is_whole(const struct place *place)
{
    struct assay_text line = {0};
    struct stamp made = {0}, now;
    bool better = false;
    bool good = assay_folder_read_file(place->stamp.data, 8192, &line, NULL) == ASSAY_OK &&
                line.length && read_stamp(line.data, &made);
    now = made;
    good =
        good && renew_stamp(place->object.data, &now, &better) && strcmp(now.hash, made.hash) == 0;
    if (good && better) {
        assay_text_clear(&line);
        write_stamp(&now, place->object.data, &line);
        if (!line.failed)
            assay_folder_write_quickly(place->stamp.data, line.data, line.length, NULL);
    }
    assay_text_fini(&line);
    return good;
}

static bool find_object(const struct assay_making *making, struct place *place)
{
    struct files files = {0};
    char key[ASSAY_SHA256_HEX];
    bool better = false;
    bool good = read_files(place->list.data, &files);
    for (int64_t i = 0; i < files.paths.n && good; i++)
        good = renew_stamp(files.paths.items[i], &files.stamps[i], &better);
    if (good) {
        object_key(place->key, &files, key);
        place_object(place, key, making->ending);
        good = !place->object.failed && !place->stamp.failed && is_whole(place);
    }
    if (good && better)
        write_files(place->list.data, &files);
    if (good) {
        note_use(place->list.data);
        note_use(place->stamp.data);
    }
    files_fini(&files);
    return good;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Runs the command in a new folder: FOLDER/object, and FOLDER/rule with the files it read. */
static enum assay_status run_command(const struct assay_making *making, const char *folder,
                                     struct assay_made *out, struct assay_error *err)
{
    struct assay_arguments words = {0};
    const struct assay_process process = {.arguments = &words,
                                          .folder = making->folder,
                                          .limit_s = COMPILE_LIMIT_S,
                                          .out = &out->output,
                                          .err = &out->output};
    assay_arguments_add_all(&words, (const char *const *)making->command->items);
    if (making->lists_inputs) {
        static const char *const listing[] = {"-MD", "-MT", "object", "-MF", NULL};
        assay_arguments_add_all(&words, listing);
        assay_arguments_format(&words, "%s/rule", folder);
    }
    assay_arguments_add(&words, "-o");
    assay_arguments_format(&words, "%s/object", folder);
    assay_text_clear(&out->command);
    assay_arguments_shown(&words, &out->command);
    enum assay_status status =
        words.failed || out->command.failed || !words.n ? no_memory(err) : ASSAY_OK;
    if (status == ASSAY_OK && making->say)
        making->say(out->command.data);
    if (status == ASSAY_OK)
        status = assay_process_run(&process, &out->end, err);
    out->ran = true;
    if (status == ASSAY_OK && (out->end.exit_code || out->end.signal))
        status = ASSAY_ERR_FAILED;
    assay_arguments_fini(&words);
    return status;
}

/* All it read, from its own list and from ours. False: its own cannot be known. */
static bool list_inputs(const struct assay_making *making, const char *folder,
                        struct assay_arguments *out)
{
    struct assay_text path = {0}, rule = {0};
    bool good = true;
    assay_arguments_add_all(out, (const char *const *)making->inputs->items);
    if (making->lists_inputs) {
        assay_text_format(&path, "%s/rule", folder);
        good = !path.failed &&
               assay_folder_read_file(path.data, MOST_BYTES, &rule, NULL) == ASSAY_OK &&
               parse_rule(rule.data, out);
    }
    assay_text_fini(&path);
    assay_text_fini(&rule);
    return good;
}

/* False: one cannot be read, or has changed since `start`. */
static bool stamp_inputs(const struct assay_making *making, const struct assay_arguments *paths,
                         long long start, struct files *out)
{
    struct stat found;
    bool good = !paths->failed;
    for (int64_t i = 0; i < paths->n && good; i++) {
        struct stamp stamp = {0};
        struct assay_text whole = {0};
        if (paths->items[i][0] != '/') /* relative to where the command ran */
            assay_text_format(&whole, "%s/", making->folder);
        assay_text_add(&whole, paths->items[i]);
        good = !whole.failed && !strchr(whole.data, '\n') && take_stamp(whole.data, &stamp) &&
               stat(whole.data, &found) == 0 && changed_ns(&found) <= start &&
               add_file(out, whole.data, &stamp);
        assay_text_fini(&whole);
    }
    return good;
}

/* Moves it from the folder it was made in to its final path. */
static enum assay_status settle(const char *folder, struct place *place, struct assay_error *err)
{
    struct assay_text made = {0}, line = {0};
    struct stamp stamp = {0};
    enum assay_status status = ASSAY_OK;
    assay_text_format(&made, "%s/object", folder);
    if (made.failed || place->object.failed || place->stamp.failed)
        status = no_memory(err);
    else if (rename(made.data, place->object.data) != 0)
        status = assay_error_set(err, ASSAY_ERR_IO, place->object.data,
                                 "cannot write this file: %s", strerror(errno));
    else if (!take_stamp(place->object.data, &stamp))
        status = assay_error_set(err, ASSAY_ERR_IO, place->object.data, "cannot be read again");
    if (status == ASSAY_OK)
        write_stamp(&stamp, place->object.data, &line);
    if (status == ASSAY_OK && !line.failed)
        status = assay_folder_write_quickly(place->stamp.data, line.data, line.length, err);
    assay_text_fini(&made);
    assay_text_fini(&line);
    return status;
}

static enum assay_status inspect(const struct assay_making *making,
                                 const struct assay_arguments *files, struct assay_made *out,
                                 struct assay_error *err)
{
    if (files->failed)
        return no_memory(err);
    return making->inspect ? making->inspect(making->user, files, &out->output, err) : ASSAY_OK;
}

static enum assay_status make_object(const struct assay_making *making, struct place *place,
                                     const char *folder, struct assay_made *out,
                                     struct assay_error *err)
{
    struct files files = {0};
    struct assay_arguments read = {0};
    char key[ASSAY_SHA256_HEX];
    struct stat begun = {0}; /* by the file system's clock, which may differ from ours */
    enum assay_status status = assay_folder_make(folder, err);
    bool known = status == ASSAY_OK && stat(folder, &begun) == 0;
    if (status == ASSAY_OK)
        status = run_command(making, folder, out, err);
    if (status == ASSAY_OK || status == ASSAY_ERR_FAILED) {
        known = list_inputs(making, folder, &read) && known;
        enum assay_status fine = inspect(making, &read, out, err);
        status = fine == ASSAY_OK ? status : fine;
    }
    known = status == ASSAY_OK && known && stamp_inputs(making, &read, changed_ns(&begun), &files);
    assay_arguments_fini(&read);
    if (status != ASSAY_OK)
        goto cleanup;
    object_key(known ? place->key : folder, &files, key); /* a name that will not be used again */
    place_object(place, key, making->ending);
    status = settle(folder, place, err);
    if (status == ASSAY_OK && known)
        write_files(place->list.data, &files);
cleanup:
    files_fini(&files);
    return status;
}

enum assay_status assay_object_cache_make(const struct assay_making *making, struct assay_made *out,
                                          struct assay_error *err)
{
    struct place place = {0};
    struct assay_text part = {0};
    struct assay_process_hold hold;
    *out = (struct assay_made){0};
    enum assay_status status = assay_folder_cache(&place.folder, err);
    assay_text_add(&place.folder, "/objects");
    command_key(making, place.key);
    assay_text_format(&place.list, "%s/%s.files", place.folder.data ? place.folder.data : "",
                      place.key);
    if (status == ASSAY_OK && (place.folder.failed || place.list.failed ||
                               making->command->failed || making->inputs->failed))
        status = no_memory(err);
    if (status == ASSAY_OK && !find_object(making, &place)) {
        assay_folder_sweep(place.folder.data);
        forget_unused(place.folder.data);
        assay_folder_name_beside(place.list.data, &part);
        assay_process_hold(&hold);
        status = part.failed ? no_memory(err) : make_object(making, &place, part.data, out, err);
        if (!part.failed)
            assay_folder_remove(part.data);
        assay_process_release(&hold);
    }
    if (status == ASSAY_OK) {
        out->path = place.object;
        place.object = (struct assay_text){0};
    }
    assay_text_fini(&part);
    place_fini(&place);
    return status;
}

void assay_made_fini(struct assay_made *made)
{
    assay_text_fini(&made->path);
    assay_text_fini(&made->output);
    assay_text_fini(&made->command);
    *made = (struct assay_made){0};
}
