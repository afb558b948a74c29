#include "repo/repository.h"

#include "base/alloc.h"
#include "base/folder.h"
#include "base/sha256.h"
#include "repo/git.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum assay_status no_memory(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a path");
}

static bool is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* A name that a user or a file system gave, fit for a message. */
struct shown {
    char text[128];
};

static struct shown show(const char *name)
{
    struct shown out;
    struct assay_text text = {0};
    assay_text_add_shown(&text, name);
    snprintf(out.text, sizeof out.text, "%s", text.data ? text.data : "");
    assay_text_fini(&text);
    return out;
}

/* ---- a path here ----------------------------------------------------------------------------- */

/* Written so that it can only be a path. */
static bool looks_like_path(const char *name)
{
    return name[0] == '/' || name[0] == '~' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
           strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0;
}

static bool exists(const char *name)
{
    struct stat found;
    return stat(name, &found) == 0;
}

/* "~" where no shell has replaced it: behind a '=', in quotes. */
static void expand_home(const char *name, struct assay_text *out)
{
    const char *home = getenv("HOME");
    bool ours = name[0] == '~' && (name[1] == '\0' || name[1] == '/') && home;
    assay_text_format(out, "%s%s", ours ? home : "", name + (ours ? 1 : 0));
}

/* A path that does not exist: perhaps because of a revision, which a folder here cannot have. */
static enum assay_status no_such_path(const char *name, int problem, struct assay_error *err)
{
    const char *at = strrchr(name, '@');
    char *before = at ? assay_strdup(name) : NULL;
    bool revision = false;
    if (before) {
        before[at - name] = '\0';
        revision = exists(before);
    }
    assay_free(before);
    if (revision)
        return assay_error_set(err, ASSAY_ERR_INVALID, show(name).text,
                               "%s is here, and is measured as it is; \"@%s\" is for remote "
                               "repositories: check it out with git first",
                               looks_like_path(name) ? "this path" : "it", show(at + 1).text);
    return assay_error_set(err, ASSAY_ERR_INVALID, show(name).text, "no such file or folder%s%s",
                           problem == ENOENT ? "" : ": ",
                           problem == ENOENT ? "" : strerror(problem));
}

/* The folder a single file belongs to: the one it lies in, or the one above where that is one of
 * the two that a repository keeps such files in. */
static void root_of_file(const char *file, struct assay_text *out)
{
    static const char *const parts[] = {"/benchmarks", "/kernels"};
    size_t length = (size_t)(strrchr(file, '/') - file);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t part = strlen(parts[i]);
        if (length > part && strncmp(file + length - part, parts[i], part) == 0) {
            length -= part;
            break;
        }
    }
    assay_text_append(out, file, length > 0 ? length : 1);
}

/* The whole path of a file: with its folder's links followed but not its own, because assay.yml
 * lies beside the link. False, with errno, where there is no such file. */
static bool whole_file(const char *path, char *out, size_t size)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX], above[PATH_MAX];
    struct stat found;
    snprintf(above, sizeof above, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".");
    if (stat(path, &found) != 0 || !realpath(above, folder))
        return false;
    size_t used = (size_t)snprintf(out, size, "%s%s%s", folder, folder[1] ? "/" : "",
                                   slash ? slash + 1 : path);
    errno = ENAMETOOLONG;
    return used < size;
}

static enum assay_status find_path(const struct assay_repository_wanted *wanted,
                                   struct assay_repository *out, struct assay_error *err)
{
    struct assay_text path = {0};
    char whole[PATH_MAX];
    if (wanted->version || wanted->branch)
        return assay_error_set(err, ASSAY_ERR_INVALID, wanted->version ? "--version" : "--branch",
                               "\"%s\" is a path, and is measured as it is; only a remote "
                               "repository has versions and branches to choose from",
                               show(wanted->name).text);
    expand_home(wanted->name, &path);
    if (path.failed)
        return no_memory(err);
    bool found = is_folder(path.data) ? realpath(path.data, whole) != NULL
                                      : whole_file(path.data, whole, sizeof whole);
    int problem = errno;
    assay_text_fini(&path);
    if (!found)
        return no_such_path(wanted->name, problem, err);
    if (is_folder(whole)) {
        assay_text_add(&out->root, whole);
    } else {
        assay_text_add(&out->file, whole);
        root_of_file(whole, &out->root);
    }
    snprintf(out->name, sizeof out->name, "%s", show(wanted->name).text);
    if (out->root.failed || out->file.failed)
        return no_memory(err);
    return assay_git_describe(out->root.data, out->commit, &out->dirty, err);
}

/* ---- which revision of which repository ------------------------------------------------------ */

struct remote {
    struct assay_text name, revision, address; /* "owner/name", "v1", "https://hub/owner/name" */
    bool branch;                               /* only a branch will do */
    char commit[ASSAY_COMMIT_TEXT];            /* once known */
    struct assay_text ref;                     /* what to fetch: "refs/heads/v1", or the commit */
};

static void remote_fini(struct remote *r)
{
    assay_text_fini(&r->name);
    assay_text_fini(&r->revision);
    assay_text_fini(&r->address);
    assay_text_fini(&r->ref);
}

static bool is_digits(const char *text) { return text[0] && !text[strspn(text, "0123456789")]; }

/* Parts of letters, digits, '.', '_' and '-', so that no name leads out of the hub. */
static bool is_name(const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    for (;;) {
        size_t length = strspn(name, letters);
        if (length == 0 || name[0] == '.' || name[0] == '-')
            return false;
        name += length;
        if (!*name)
            return true;
        if (*name++ != '/')
            return false;
    }
}

/* Could it be a branch or tag? As git-check-ref-format has it, nearly. */
static bool is_revision(const char *text)
{
    if (!text[0] || text[0] == '-' || text[0] == '/' || strstr(text, "..") || strstr(text, "@{"))
        return false;
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f || strchr("~^:?*[\\", *c))
            return false;
    return true;
}

static enum assay_status read_version(const char *version, struct remote *r,
                                      struct assay_error *err)
{
    const char *number = version[0] == 'v' || version[0] == 'V' ? version + 1 : version;
    if (number[0] < '0' || number[0] > '9' || number[strspn(number, "0123456789.")])
        return assay_error_set(err, ASSAY_ERR_INVALID, "--version",
                               "takes a number, 1 or v1, not \"%s\"; a branch is named with "
                               "--branch",
                               show(version).text);
    assay_text_format(&r->revision, "v%s", number);
    return ASSAY_OK;
}

/* The revision, from one of the three ways to give it. */
static enum assay_status read_revision(const struct assay_repository_wanted *wanted,
                                       struct remote *r, struct assay_error *err)
{
    const char *at = strrchr(wanted->name, '@');
    const char *name = r->name.data;
    if ((at != NULL) + (wanted->version != NULL) + (wanted->branch != NULL) > 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, show(wanted->name).text,
                               "give the revision once: by @, by --version or by --branch");
    if (wanted->version)
        return read_version(wanted->version, r, err);
    r->branch = wanted->branch != NULL;
    const char *revision = wanted->branch ? wanted->branch : at ? at + 1 : "";
    if (!at && !wanted->branch)
        return assay_error_set(err, ASSAY_ERR_INVALID, name,
                               "there is no such file or folder, and a remote repository needs a "
                               "revision: %s@v1, --version 1 or --branch main",
                               name);
    if (at && is_digits(revision) && !assay_git_is_commit(revision))
        return assay_error_set(err, ASSAY_ERR_INVALID, show(wanted->name).text,
                               "a version is written with a v: %s@v%s", name, revision);
    if (!is_revision(revision))
        return assay_error_set(err, ASSAY_ERR_INVALID, show(wanted->name).text,
                               "\"%s\" cannot be a branch, a tag or a commit", show(revision).text);
    assay_text_add(&r->revision, revision);
    if (at && assay_git_is_commit(revision)) {
        snprintf(r->commit, sizeof r->commit, "%s", revision);
        assay_text_add(&r->ref, revision);
    }
    return ASSAY_OK;
}

static enum assay_status read_name(const struct assay_repository_wanted *wanted, struct remote *r,
                                   struct assay_error *err)
{
    const char *at = strrchr(wanted->name, '@');
    assay_text_append(&r->name, wanted->name,
                      at ? (size_t)(at - wanted->name) : strlen(wanted->name));
    if (r->name.failed)
        return no_memory(err);
    if (strstr(r->name.data, "://"))
        return assay_error_set(
            err, ASSAY_ERR_INVALID, show(wanted->name).text,
            "an address is given in two parts: --hub https://host OWNER/NAME@v1");
    if (!is_name(r->name.data))
        return assay_error_set(err, ASSAY_ERR_INVALID, show(wanted->name).text,
                               "there is no such file or folder, and a remote repository is named "
                               "OWNER/NAME@REVISION, of letters, digits, '.', '_' and '-'");
    return ASSAY_OK;
}

/* The hub's address, without the last '/', and a folder's whole path: git runs elsewhere. */
static void read_address(const char *hub, struct remote *r)
{
    char whole[PATH_MAX];
    if (!hub || !hub[0])
        hub = ASSAY_REPOSITORY_HUB;
    if (!strstr(hub, "://") && is_folder(hub) && realpath(hub, whole))
        hub = whole;
    size_t length = strlen(hub);
    while (length > 1 && hub[length - 1] == '/' && hub[length - 2] != '/')
        length--;
    assay_text_append(&r->address, hub, length);
    assay_text_format(&r->address, "/%s", r->name.data);
}

static enum assay_status read_wanted(const struct assay_repository_wanted *wanted, struct remote *r,
                                     struct assay_error *err)
{
    enum assay_status status = read_name(wanted, r, err);
    if (status == ASSAY_OK)
        status = read_revision(wanted, r, err);
    if (status == ASSAY_OK)
        read_address(wanted->hub, r);
    if (status == ASSAY_OK && (r->revision.failed || r->address.failed || r->ref.failed))
        status = no_memory(err);
    return status;
}

/* ---- resolving a revision at the hub --------------------------------------------------------- */

/* The full names a revision may have, in the order they are tried. */
static const char *const kinds[] = {"refs/heads/", "refs/tags/"};

enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static bool may_be(const struct remote *r, int kind) { return kind == 0 || !r->branch; }

/* One line of `git ls-remote`: the commit, and the name behind a tab. False at the end. */
struct line {
    char commit[ASSAY_COMMIT_TEXT], name[256];
};

static bool next_line(const char **at, struct line *line)
{
    while (*at && **at) {
        size_t length = strcspn(*at, "\n");
        const char *tab = memchr(*at, '\t', length);
        const char *text = *at;
        *at += length + ((*at)[length] == '\n');
        if (!tab || tab - text != 40 || length - 41 >= sizeof line->name)
            continue;
        snprintf(line->commit, sizeof line->commit, "%.40s", text);
        snprintf(line->name, sizeof line->name, "%.*s", (int)(length - 41), tab + 1);
        if (assay_git_is_commit(line->commit))
            return true;
    }
    return false;
}

/* An annotated tag is a separate object; the line with ^{} has the commit it points to. */
static bool look_up(const char *list, const char *kind, struct remote *r)
{
    struct line line;
    char name[256], peeled[260];
    bool found = false;
    snprintf(name, sizeof name, "%s%s", kind, r->revision.data);
    snprintf(peeled, sizeof peeled, "%s^{}", name);
    while (next_line(&list, &line)) {
        if (strcmp(line.name, name) != 0 && strcmp(line.name, peeled) != 0)
            continue;
        memcpy(r->commit, line.commit, sizeof r->commit);
        found = true;
    }
    if (found) {
        assay_text_clear(&r->ref);
        assay_text_add(&r->ref, name);
    }
    return found;
}

/* The names a repository has instead of the requested one. */
struct offer {
    char *names[256];
    int64_t n;
    bool more; /* than fit */
    bool tag;  /* a branch was requested, and there is a tag of that name */
};

static void collect_offer(const char *list, const struct remote *r, struct offer *out)
{
    enum { MOST = sizeof out->names / sizeof out->names[0] };
    struct line line;
    while (next_line(&list, &line)) {
        int kind = strncmp(line.name, kinds[1], strlen(kinds[1])) == 0 ? 1 : 0;
        const char *name = line.name + strlen(kinds[kind]);
        if (strstr(name, "^{}"))
            continue;
        if (!may_be(r, kind))
            out->tag = out->tag || strcmp(name, r->revision.data) == 0;
        else if (out->n == MOST || !(out->names[out->n] = assay_strdup(show(name).text)))
            out->more = true;
        else
            out->n++;
    }
}

/* What the user may have meant; "" where that cannot be guessed. */
static void guess(const struct offer *offer, const struct remote *r, char *out, size_t size)
{
    const char *revision = r->revision.data;
    const char *nearest = assay_text_nearest(revision, (const char *const *)offer->names, offer->n);
    bool digits = strlen(revision) >= 7 && !revision[strspn(revision, "0123456789abcdef")];
    out[0] = '\0';
    if (offer->tag)
        snprintf(out, size, "; it is a tag: %.60s@%.60s", r->name.data, revision);
    else if (nearest)
        snprintf(out, size, "; did you mean \"%.100s\"?", nearest);
    else if (digits)
        snprintf(out, size, "; a commit is written with all its 40 digits");
}

static enum assay_status no_such_revision(const char *list, const struct remote *r,
                                          struct assay_error *err)
{
    enum { LISTED = 8 };
    struct offer offer = {0};
    char words[320] = "", hint[160];
    size_t used = 0;
    collect_offer(list, r, &offer);
    guess(&offer, r, hint, sizeof hint);
    for (int64_t i = 0; i < offer.n && i < LISTED; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%.32s", i ? ", " : "",
                                 offer.names[i]);
    enum assay_status status = assay_error_set(
        err, ASSAY_ERR_INVALID, show(r->address.data).text, "there is no %s \"%.80s\" here%s%s%s%s",
        r->branch ? "branch" : "branch or tag", show(r->revision.data).text, hint,
        offer.n ? "; there is " : "", words, offer.more || offer.n > LISTED ? ", …" : "");
    for (int64_t i = 0; i < offer.n; i++)
        assay_free(offer.names[i]);
    return status;
}

static enum assay_status resolve(struct remote *r, struct assay_error *err)
{
    struct assay_text list = {0};
    enum assay_status status = assay_git_list(r->address.data, &list, err);
    bool found = false;
    for (int i = 0; i < N_KINDS && may_be(r, i) && status == ASSAY_OK && !found; i++)
        found = look_up(list.data, kinds[i], r);
    if (status == ASSAY_OK && !found)
        status = no_such_revision(list.data, r, err);
    assay_text_fini(&list);
    return status;
}

/* ---- revisions resolved before --------------------------------------------------------------- */

/* CACHE/repositories/HASH.revision; "" where the cache's folder is not known. */
static void memory_path(const char *folder, const struct remote *r, const char *ref,
                        struct assay_text *out)
{
    struct assay_sha256 hash;
    char hex[ASSAY_SHA256_HEX];
    assay_sha256_init(&hash);
    assay_sha256_add_text(&hash, r->address.data);
    assay_sha256_add_text(&hash, ref);
    assay_sha256_hex(&hash, hex);
    assay_text_format(out, "%s/%s.revision", folder, hex);
}

/* The commit first; the rest is for people who look into the folder. */
static enum assay_status remember(const char *folder, const struct remote *r,
                                  struct assay_error *err)
{
    struct assay_text path = {0}, line = {0};
    memory_path(folder, r, r->ref.data, &path);
    assay_text_format(&line, "%s %s %s\n", r->commit, r->address.data, r->ref.data);
    enum assay_status status =
        path.failed || line.failed
            ? no_memory(err)
            : assay_folder_write_atomic(path.data, line.data, line.length, err);
    assay_text_fini(&path);
    assay_text_fini(&line);
    return status;
}

static bool recall(const char *folder, struct remote *r)
{
    bool found = r->commit[0] != '\0'; /* a commit is what it always was */
    for (int i = 0; i < N_KINDS && may_be(r, i) && !found; i++) {
        struct assay_text ref = {0}, path = {0}, line = {0};
        assay_text_format(&ref, "%s%s", kinds[i], r->revision.data);
        if (!ref.failed)
            memory_path(folder, r, ref.data, &path);
        if (!ref.failed && !path.failed &&
            assay_folder_read_file(path.data, 8192, &line, NULL) == ASSAY_OK && line.length > 40) {
            snprintf(r->commit, sizeof r->commit, "%.40s", line.data);
            found = assay_git_is_commit(r->commit);
        }
        assay_text_fini(&ref);
        assay_text_fini(&path);
        assay_text_fini(&line);
    }
    return found;
}

/* ---- clones ---------------------------------------------------------------------------------- */

static enum assay_status say_download(const struct assay_repository_wanted *wanted,
                                      const struct assay_repository *out, struct assay_error *err)
{
    struct assay_text text = {0};
    assay_text_format(&text, "Downloading %s...", out->name);
    enum assay_status status = text.failed ? no_memory(err) : ASSAY_OK;
    if (wanted->say && status == ASSAY_OK)
        wanted->say(text.data);
    assay_text_fini(&text);
    return status;
}

/* Clones into a folder beside the final one and renames it when it is complete. If another process
 * was faster, its folder holds the same. */
static enum assay_status download(const char *folder, struct remote *r, struct assay_error *err)
{
    struct assay_text place = {0}, part = {0};
    struct assay_process_hold hold;
    char commit[ASSAY_COMMIT_TEXT];
    assay_text_format(&place, "%s/%s", folder, r->commit);
    if (!place.failed)
        assay_folder_name_beside(place.data, &part);
    if (place.failed || part.failed)
        return no_memory(err);
    assay_process_hold(&hold);
    enum assay_status status =
        assay_git_fetch(r->address.data, r->ref.data, part.data, commit, err);
    if (status == ASSAY_OK &&
        strcmp(commit, r->commit) != 0) { /* it has moved since it was resolved */
        memcpy(r->commit, commit, sizeof commit);
        assay_text_clear(&place);
        assay_text_format(&place, "%s/%s", folder, r->commit);
    }
    if (status == ASSAY_OK && place.failed)
        status = no_memory(err);
    if (status == ASSAY_OK && rename(part.data, place.data) != 0 && !is_folder(place.data))
        status = assay_error_set(err, ASSAY_ERR_IO, place.data, "cannot make this folder: %s",
                                 strerror(errno));
    assay_folder_remove(part.data); /* where it has not been renamed */
    assay_process_release(&hold);
    assay_text_fini(&place);
    assay_text_fini(&part);
    return status;
}

/* Commits that are here, by their folder. */
static bool use_clone(const char *folder, const struct remote *r, struct assay_repository *out)
{
    assay_text_clear(&out->root);
    assay_text_format(&out->root, "%s/%s", folder, r->commit);
    snprintf(out->commit, sizeof out->commit, "%s", r->commit);
    return r->commit[0] && !out->root.failed && is_folder(out->root.data);
}

static enum assay_status not_in_cache(const struct remote *r, const struct assay_repository *out,
                                      struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_INVALID, out->name,
                           "%s, and --offline uses only what was; leave --offline out once",
                           r->commit[0] ? "this commit has not been downloaded"
                                        : "this revision has not been downloaded");
}

/* If the hub does not respond and there is a copy, the error suggests --offline. */
static void offer_copy(const char *folder, struct remote *r, struct assay_repository *out,
                       struct assay_error *err)
{
    char message[sizeof err->message];
    if (!err || (err->code != ASSAY_ERR_IO && err->code != ASSAY_ERR_INVALID) ||
        strstr(err->message, "--offline") || !recall(folder, r) || !use_clone(folder, r, out))
        return;
    snprintf(message, sizeof message, "%.400s; --offline uses the copy downloaded before",
             err->message);
    memcpy(err->message, message, sizeof message);
}

static enum assay_status find_clone(const struct assay_repository_wanted *wanted,
                                    const char *folder, struct remote *r,
                                    struct assay_repository *out, struct assay_error *err)
{
    if (wanted->offline)
        return recall(folder, r) && use_clone(folder, r, out) ? ASSAY_OK
                                                              : not_in_cache(r, out, err);
    bool settled = r->commit[0] != '\0';
    if (settled && use_clone(folder, r, out))
        return ASSAY_OK;
    enum assay_status status = assay_git_here(err);
    if (status == ASSAY_OK && !settled) {
        status = resolve(r, err);
        if (status != ASSAY_OK)
            offer_copy(folder, r, out, err);
    }
    if (status == ASSAY_OK && !use_clone(folder, r, out)) {
        status = say_download(wanted, out, err);
        if (status == ASSAY_OK)
            status = assay_folder_make(folder, err);
        if (status == ASSAY_OK)
            assay_folder_sweep(folder);
        if (status == ASSAY_OK)
            status = download(folder, r, err);
        if (status == ASSAY_OK && !use_clone(folder, r, out))
            status = no_memory(err);
    }
    if (status == ASSAY_OK && !settled)
        status = remember(folder, r, err);
    return status;
}

static enum assay_status find_remote(const struct assay_repository_wanted *wanted,
                                     struct assay_repository *out, struct assay_error *err)
{
    struct remote r = {0};
    struct assay_text folder = {0};
    char commit[ASSAY_COMMIT_TEXT];
    enum assay_status status = read_wanted(wanted, &r, err);
    if (status == ASSAY_OK)
        snprintf(out->name, sizeof out->name, "%.60s@%.60s", r.name.data,
                 show(r.revision.data).text);
    if (status == ASSAY_OK)
        status = assay_folder_cache(&folder, err);
    assay_text_add(&folder, "/repositories");
    if (status == ASSAY_OK && folder.failed)
        status = no_memory(err);
    if (status == ASSAY_OK)
        status = find_clone(wanted, folder.data, &r, out, err);
    out->cloned = true;
    if (status == ASSAY_OK) /* the clone may have been edited */
        status = assay_git_describe(out->root.data, commit, &out->dirty, err);
    assay_text_fini(&folder);
    remote_fini(&r);
    return status;
}

/* ---------------------------------------------------------------------------------------------- */

enum assay_status assay_repository_find(const struct assay_repository_wanted *wanted,
                                        struct assay_repository *out, struct assay_error *err)
{
    const char *name = wanted->name;
    *out = (struct assay_repository){0};
    if (!name || !name[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "name a folder, a file or a repository: ./my_kernel, OWNER/NAME@v1");
    bool revision = wanted->version || wanted->branch;
    if (looks_like_path(name) || (!revision && exists(name)))
        return find_path(wanted, out, err);
    return find_remote(wanted, out, err);
}

void assay_repository_fini(struct assay_repository *repository)
{
    assay_text_fini(&repository->root);
    assay_text_fini(&repository->file);
    *repository = (struct assay_repository){0};
}
