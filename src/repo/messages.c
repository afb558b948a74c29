#include "repo/messages.h"

#include "repo/inside.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- whose file is it? ----------------------------------------------------------------------- */

/* Is it in the folder, both written without links? */
static bool is_below(const char *folder, size_t length, const char *path)
{
    while (length > 0 && folder[length - 1] == '/')
        length--;
    return length > 0 && strncmp(path, folder, length) == 0 && path[length] == '/';
}

static bool is_in_folder(const char *folder, size_t length, const char *path)
{
    char copy[PATH_MAX], whole[PATH_MAX];
    if (length == 0 || folder[0] != '/' ||
        (size_t)snprintf(copy, sizeof copy, "%.*s", (int)length, folder) >= sizeof copy)
        return false;
    return realpath(copy, whole) && is_below(whole, strlen(whole), path);
}

/* Where systems and package managers install headers: nobody's secrets, if all may read them. */
static bool is_of_system(const char *path)
{
    static const char *const folders[] = {"/usr", "/opt", "/lib", "/lib64", "/nix", "/gnu"};
    struct stat found;
    if (stat(path, &found) != 0 || !(found.st_mode & S_IROTH))
        return false;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (is_below(folders[i], strlen(folders[i]), path))
            return true;
    return false;
}

/* Folders the user has named in variables that compilers read. */
static bool is_of_variables(const char *path)
{
    static const char *const variables[] = {"CPATH",        "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
                                            "LIBRARY_PATH", "CUDA_HOME",      "CUDA_PATH",
                                            "CONDA_PREFIX"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        for (const char *at = getenv(variables[i]); at && *at;) {
            size_t length = strcspn(at, ":");
            if (is_in_folder(at, length, path))
                return true;
            at += length + (at[length] == ':');
        }
    return false;
}

/* A compiler's own headers: PREFIX/include, PREFIX/lib/gcc/… and their like. */
static bool is_of_program(const char *program, const char *path)
{
    static const char *const parts[] = {"include", "lib", "lib64", "libexec", "targets", "nvvm"};
    char prefix[PATH_MAX], folder[PATH_MAX + 16];
    if (!realpath(program, prefix))
        return false;
    for (int i = 0; i < 2; i++)
        *strrchr(prefix, '/') = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(folder, sizeof folder, "%s/%s", prefix, parts[i]);
        if (is_in_folder(folder, strlen(folder), path))
            return true;
    }
    return false;
}

/* Folders and files among the user's own flags: "-I/home/me/include". */
static bool is_of_flags(const struct assay_arguments *words, const char *path)
{
    char whole[PATH_MAX];
    for (int64_t i = 1; i < words->n; i++) {
        const char *named = strchr(words->items[i], '/');
        if (named && (is_in_folder(named, strlen(named), path) ||
                      (realpath(named, whole) && strcmp(whole, path) == 0)))
            return true;
    }
    return false;
}

bool assay_territory_has(const struct assay_territory *t, const char *path)
{
    char whole[PATH_MAX], resolved[PATH_MAX];
    struct stat found;
    if (assay_inside_find(t->root, path) != ASSAY_INSIDE_NOT)
        return true;
    bool absolute = path[0] == '/';
    if ((size_t)snprintf(whole, sizeof whole, "%s%s%s", absolute ? "" : t->root,
                         absolute ? "" : "/", path) >= sizeof whole)
        return true; /* nothing can be there */
    if (assay_inside_leads_through_process(whole))
        return false;
    if (lstat(whole, &found) != 0 || S_ISDIR(found.st_mode))
        return true;
    if (!realpath(whole, resolved))
        return false;
    return is_of_system(resolved) || is_in_folder(t->headers, strlen(t->headers), resolved) ||
           is_of_variables(resolved) ||
           (t->compiler->n > 0 && is_of_program(t->compiler->items[0], resolved)) ||
           is_of_flags(t->compiler, resolved);
}

/* ---- what was printed ------------------------------------------------------------------------ */

/* ".. /usr/include/stdio.h", as -H says it, or "! x.h.gch": the path. NULL: it is another line. */
static const char *header_of(const char *line)
{
    size_t dots = strspn(line, "."), length = strlen(line);
    bool precompiled = (line[0] == '!' || line[0] == 'x') && line[1] == ' ' && length > 4 &&
                       strcmp(line + length - 4, ".gch") == 0;
    if (precompiled)
        return line + 2;
    return dots > 0 && line[dots] == ' ' && line[dots + 1] ? line + dots + 1 : NULL;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool may_start_before(char c) { return c == ' ' || strchr("`'\"([", c); }

/* The file of a place somewhere in the line, "FILE:12" or "FILE(12)", that is not ours to show;
 * left in `out`. Where in the line its name begins is not known, so that every beginning is tried.
 */
static bool names_foreign_file(const struct assay_territory *t, const char *line, char *out,
                               size_t size)
{
    for (const char *end = line; (end = strpbrk(end, ":(")); end++) {
        if (!is_digit(end[1]))
            continue;
        for (const char *start = line; start < end; start++) {
            if ((start > line && !may_start_before(start[-1])) ||
                (size_t)snprintf(out, size, "%.*s", (int)(end - start), start) >= size)
                continue;
            if (!assay_territory_has(t, out))
                return true;
        }
    }
    return false;
}

/* Removes the sequences that colour text. */
static void drop_colours(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        const char *end = from + 2;
        if (from[0] == '\033' && from[1] == '[')
            end += strspn(end, "0123456789;");
        if (from[0] == '\033' && from[1] == '[' && (*end == 'm' || *end == 'K'))
            from = end + 1;
        else
            *to++ = *from++;
    }
    *to = '\0';
}

/* A header's line, or a message, that is about a file which is not ours to show. */
static bool is_foreign(const struct assay_territory *t, const char *line, char *out, size_t size)
{
    const char *header = header_of(line);
    if (!header)
        return names_foreign_file(t, line, out, size);
    snprintf(out, size, "%s", header);
    return !assay_territory_has(t, header);
}

/* gcc ends -H with a list of files, each on a line. */
static bool is_advice(const char *line, bool *inside)
{
    if (strcmp(line, "Multiple include guards may be useful for:") == 0)
        return *inside = true;
    *inside = *inside && line[0] && !strstr(line, ": ");
    return *inside;
}

/* Keeps the lines that are messages. False: one is about `foreign`. Names may hold what looks like
 * a colour, so that lines are looked at with and without. */
static bool sift(const struct assay_territory *t, char *text, struct assay_text *out, char *foreign,
                 size_t size)
{
    bool advice = false;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        if (is_foreign(t, line, foreign, size))
            return false;
        drop_colours(line);
        if (is_foreign(t, line, foreign, size))
            return false;
        if (!header_of(line) && !is_advice(line, &advice) && (next || line[0]))
            assay_text_format(out, "%s\n", line);
    }
    return true;
}

static int has_newline(const char *path, const struct stat *found, int kind, struct FTW *where)
{
    (void)found;
    (void)kind;
    return strchr(path + where->base, '\n') != NULL;
}

/* With a newline in a file's name, the lines of a message cannot be told apart. */
static bool has_odd_names(const char *root)
{
    enum { OPEN_FOLDERS = 16 };
    return nftw(root, has_newline, OPEN_FOLDERS, FTW_PHYS) == 1;
}

static enum assay_status refuse(const char *file, struct assay_error *err)
{
    struct assay_text shown = {0};
    assay_text_add_shown(&shown, file);
    assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                    "reads \"%.160s\", which lies outside the repository, so that nothing the "
                    "compiler says is shown; if you trust this repository and it is a header, name "
                    "its folder in $CPATH",
                    shown.data ? shown.data : "");
    assay_text_fini(&shown);
    return ASSAY_ERR_INVALID;
}

enum assay_status assay_messages_check(const struct assay_territory *territory,
                                       const struct assay_arguments *files, struct assay_text *said,
                                       struct assay_error *err)
{
    struct assay_text kept = {0};
    char foreign[PATH_MAX] = "";
    bool good = true;
    for (int64_t i = 0; i < files->n && good; i++)
        if (!assay_territory_has(territory, files->items[i])) {
            snprintf(foreign, sizeof foreign, "%s", files->items[i]);
            good = false;
        }
    if (good && said->data) {
        good = sift(territory, said->data, &kept, foreign, sizeof foreign);
    }
    bool odd = good && kept.length && has_odd_names(territory->root);
    if (odd) {
        assay_text_clear(&kept);
        assay_text_add(&kept, "(Messages of the compiler are not shown: the repository has file "
                              "names with newlines in them.)\n");
    }
    if (!good)
        assay_text_clear(&kept);
    assay_text_fini(said);
    *said = kept;
    if (!good)
        return refuse(foreign, err);
    return kept.failed ? assay_error_nomem(err) : ASSAY_OK;
}
