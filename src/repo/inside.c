#include "repo/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_below(const char *folder, const char *path)
{
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || !path[length]);
}

static bool has_parent_part(const char *path)
{
    for (const char *at = strstr(path, ".."); at; at = strstr(at + 1, ".."))
        if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
            return true;
    return false;
}

bool assay_inside_leads_through_process(const char *path)
{
    static const uint64_t no_magic_links = 0x02; /* RESOLVE_NO_MAGICLINKS of linux/openat2.h */
    const struct {
        uint64_t flags, mode, resolve;
    } how = {O_PATH | O_CLOEXEC, 0, no_magic_links};
#ifdef SYS_openat2
    long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd >= 0)
        close((int)fd);
    return fd < 0 && errno == ELOOP;
#else
    (void)how;
    return strncmp(path, "/proc/", 6) == 0;
#endif
}

/* A link that leads nowhere now may lead somewhere for the compiler, or later. */
static bool has_link(const char *path)
{
    char part[PATH_MAX];
    struct stat found;
    for (const char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        if ((size_t)snprintf(part, sizeof part, "%.*s", (int)(end - path), path) >= sizeof part)
            return true;
        if (lstat(part, &found) != 0)
            return false;
        if (S_ISLNK(found.st_mode))
            return true;
    }
    return false;
}

static enum assay_inside judge_words(const char *root, const char *path)
{
    bool leaves = has_parent_part(path) || (path[0] == '/' && !(root && is_below(root, path)));
    return leaves ? ASSAY_INSIDE_NOT : ASSAY_INSIDE_NOTHING;
}

enum assay_inside assay_inside_find(const char *root, const char *path)
{
    char folder[PATH_MAX], whole[PATH_MAX], resolved[PATH_MAX];
    if (!root)
        return judge_words(NULL, path);
    if (!realpath(root, folder))
        return ASSAY_INSIDE_NOT;
    int length = path[0] == '/' ? snprintf(whole, sizeof whole, "%s", path)
                                : snprintf(whole, sizeof whole, "%s/%s", folder, path);
    if (length < 0 || (size_t)length >= sizeof whole || assay_inside_leads_through_process(whole))
        return ASSAY_INSIDE_NOT;
    if (realpath(whole, resolved))
        return is_below(folder, resolved) ? ASSAY_INSIDE : ASSAY_INSIDE_NOT;
    if (judge_words(root, path) == ASSAY_INSIDE_NOT &&
        judge_words(folder, path) == ASSAY_INSIDE_NOT)
        return ASSAY_INSIDE_NOT;
    /* The root may itself be reached through links; those behind it are the repository's. */
    const char *rest = path[0] == '/' && is_below(root, path) ? path + strlen(root) : path;
    rest += is_below(folder, rest) ? strlen(folder) : 0;
    snprintf(whole, sizeof whole, "%s/%s", folder, rest);
    return has_link(whole) ? ASSAY_INSIDE_NOT : ASSAY_INSIDE_NOTHING;
}

enum assay_status assay_inside_check(const char *root, const char *path, const char *shown,
                                     struct assay_error *err)
{
    if (assay_inside_find(root, path) != ASSAY_INSIDE_NOT)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_ERR_INVALID, shown,
                           "leads out of the repository, which may use only its own files; copy "
                           "it into the repository if you trust it");
}
