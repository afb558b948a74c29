#include "repo/git.h"

#include "base/folder.h"
#include "repo/inside.h"

#include <stdio.h>
#include <string.h>

enum { LIST_LIMIT_S = 120, FETCH_LIMIT_S = 3600, LOCAL_LIMIT_S = 60 };

/* No prompts, no LFS files (they are not sources), no translated errors, and no trace of a
 * repository that we happen to be started from, as in a hook. */
#define ALWAYS                                                                                     \
    "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",              \
        "GCM_INTERACTIVE=never", "GIT_LFS_SKIP_SMUDGE=1", "GIT_OPTIONAL_LOCKS=0", "GIT_PAGER=cat", \
        "GIT_ATTR_NOSYSTEM=1", "GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY",                 \
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX",       \
        "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF", "GIT_TEMPLATE_DIR"

/* What a command needs of the user's settings. */
enum trust {
    TO_DOWNLOAD, /* all: logins, keys, proxies */
    TO_LOOK,     /* which folders are the user's; it reaches no other machine */
    TO_COMPARE,  /* none; nor does it reach another machine */
};

static const char *const environments[][40] = {
    [TO_DOWNLOAD] = {ALWAYS, NULL},
    [TO_LOOK] = {ALWAYS, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", NULL},
    [TO_COMPARE] = {ALWAYS, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                    "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_NO_LAZY_FETCH=1",
                    "GIT_ALLOW_PROTOCOL=none", NULL},
};

/* Before every command: nothing stays behind in the background, a dead connection ends, and nothing
 * starts a program. */
static const char *const settings[] = {
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "submodule.recurse=false",
    "-c", "fetch.recurseSubmodules=false",
    "-c", "protocol.ext.allow=never",
    "-c", "safe.bareRepository=explicit",
    "-c", "http.lowSpeedLimit=1",
    "-c", "http.lowSpeedTime=60",
    "-c", "advice.detachedHead=false",
    NULL,
};

bool assay_git_is_commit(const char *text)
{
    return strlen(text) == 40 && strspn(text, "0123456789abcdef") == 40;
}

enum assay_status assay_git_here(struct assay_error *err)
{
    struct assay_text path = {0};
    bool here = assay_process_find("git", &path);
    assay_text_fini(&path);
    if (here)
        return ASSAY_OK;
    return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                           "git is not installed, and remote repositories are downloaded with it; "
                           "install it (Debian: apt-get install git), or name a folder");
}

/* ---- one command ----------------------------------------------------------------------------- */

struct said {
    struct assay_text out, err;
    struct assay_process_end end;
};

static void said_fini(struct said *said)
{
    assay_text_fini(&said->out);
    assay_text_fini(&said->err);
}

static bool went_well(const struct said *said)
{
    return said->end.exit_code == 0 && said->end.signal == 0;
}

/* git WORDS, in a folder. ASSAY_OK: it ran; see how it ended. */
static enum assay_status run_git_with(const char *const *environment, const char *folder,
                                      const char *const *words, double limit_s, struct said *said,
                                      struct assay_error *err)
{
    struct assay_text program = {0};
    struct assay_arguments arguments = {0};
    const struct assay_process process = {.arguments = &arguments,
                                          .folder = folder,
                                          .environment = environment,
                                          .limit_s = limit_s,
                                          .out = &said->out,
                                          .err = &said->err};
    *said = (struct said){0};
    enum assay_status status = assay_git_here(err);
    if (status != ASSAY_OK)
        return status;
    if (assay_process_find("git", &program))
        assay_arguments_add(&arguments, program.data);
    else
        arguments.failed = true;
    assay_arguments_add_all(&arguments, settings);
    assay_arguments_add_all(&arguments, words);
    status = assay_process_run(&process, &said->end, err);
    assay_arguments_fini(&arguments);
    assay_text_fini(&program);
    return status;
}

static enum assay_status run_git(enum trust trust, const char *folder, const char *const *words,
                                 double limit_s, struct said *said, struct assay_error *err)
{
    return run_git_with(environments[trust], folder, words, limit_s, said, err);
}

/* ---- its errors ------------------------------------------------------------------------------ */

/* The line that says most: the first that begins with "fatal:" or "error:", else the last. */
static void short_reason(const char *text, char *out, size_t size)
{
    struct assay_text shown = {0};
    char line[200] = "";
    for (const char *at = text; at && *at;) {
        size_t length = strcspn(at, "\n");
        if (length > 0)
            snprintf(line, sizeof line, "%.*s", (int)length, at);
        if (strncmp(line, "fatal:", 6) == 0 || strncmp(line, "error:", 6) == 0)
            break;
        at += length + (at[length] == '\n');
    }
    assay_text_add_shown(&shown, line);
    snprintf(out, size, "%s", shown.data ? shown.data : "it gave no reason");
    assay_text_fini(&shown);
}

/* What to try, from words that git has said for many years, and whether it is the name that is
 * wrong (ASSAY_ERR_INVALID) or this machine's lot (ASSAY_ERR_IO). */
static const char *advice(const char *text, enum assay_status *status)
{
    static const struct {
        const char *words, *advice;
        enum assay_status status;
    } known[] = {
        {"could not read Username", "there is no such repository, or it asks for a login",
         ASSAY_ERR_INVALID},
        {"terminal prompts disabled", "there is no such repository, or it asks for a login",
         ASSAY_ERR_INVALID},
        {"Authentication failed", "there is no such repository, or it asks for a login",
         ASSAY_ERR_INVALID},
        {"Permission denied (", "there is no such repository, or it asks for a login",
         ASSAY_ERR_INVALID},
        {"not found", "there is no such repository; check its name and --hub", ASSAY_ERR_INVALID},
        {"does not exist", "there is no such repository; check its name and --hub",
         ASSAY_ERR_INVALID},
        {"does not appear to be a git repository",
         "there is no such repository; check its name and --hub", ASSAY_ERR_INVALID},
        {"No space left", "the disk of the cache folder is full", ASSAY_ERR_IO},
        {"unsafe repository", "git does not trust the folder's owner", ASSAY_ERR_IO},
        {"dubious ownership", "git does not trust the folder's owner", ASSAY_ERR_IO},
        {"not our ref",
         "it has no such commit, or does not give out single ones: name a branch or "
         "a tag",
         ASSAY_ERR_INVALID},
        {"unadvertised object",
         "it has no such commit, or does not give out single ones: name a "
         "branch or a tag",
         ASSAY_ERR_INVALID},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (text && strstr(text, known[i].words)) {
            *status = known[i].status;
            return known[i].advice;
        }
    *status = ASSAY_ERR_IO;
    return "check the network; --offline takes what was downloaded before";
}

static enum assay_status git_failed(const char *address, const struct said *said,
                                    struct assay_error *err)
{
    struct assay_text shown = {0};
    char reason[256];
    assay_text_add_shown(&shown, address);
    short_reason(said->err.data, reason, sizeof reason);
    if (said->end.timed_out)
        snprintf(reason, sizeof reason, "it took too long");
    enum assay_status status;
    const char *what_to_do = advice(said->end.timed_out ? NULL : said->err.data, &status);
    assay_error_set(err, status, shown.data, "git says: %s; %s", reason, what_to_do);
    assay_text_fini(&shown);
    return status;
}

/* ---- what is asked --------------------------------------------------------------------------- */

enum assay_status assay_git_list(const char *address, struct assay_text *out,
                                 struct assay_error *err)
{
    const char *const words[] = {"ls-remote", "--quiet", "--heads", "--tags", "--", address, NULL};
    struct said said;
    enum assay_status status = run_git(TO_DOWNLOAD, NULL, words, LIST_LIMIT_S, &said, err);
    if (status == ASSAY_OK && !went_well(&said))
        status = git_failed(address, &said, err);
    if (status == ASSAY_OK)
        assay_text_append(out, said.out.data ? said.out.data : "", said.out.length);
    said_fini(&said);
    return status;
}

static enum assay_status run_or_fail(enum trust trust, const char *address, const char *folder,
                                     const char *const *words, struct assay_error *err)
{
    struct said said;
    enum assay_status status = run_git(trust, folder, words, FETCH_LIMIT_S, &said, err);
    if (status == ASSAY_OK && !went_well(&said))
        status = git_failed(address, &said, err);
    said_fini(&said);
    return status;
}

/* The commit a clone of ours stands at; "" where git does not know one. */
static enum assay_status read_head(const char *folder, char commit[ASSAY_COMMIT_TEXT],
                                   struct assay_error *err)
{
    static const char *const words[] = {"rev-parse", "--quiet", "--verify", "HEAD^{commit}", NULL};
    struct said said;
    commit[0] = '\0';
    enum assay_status status = run_git(TO_COMPARE, folder, words, LOCAL_LIMIT_S, &said, err);
    if (status == ASSAY_OK && went_well(&said) && said.out.length == 41) {
        said.out.data[40] = '\0';
        if (assay_git_is_commit(said.out.data))
            memcpy(commit, said.out.data, 41);
    }
    said_fini(&said);
    return status;
}

enum assay_status assay_git_fetch(const char *address, const char *revision, const char *folder,
                                  char commit[ASSAY_COMMIT_TEXT], struct assay_error *err)
{
    const char *const init[] = {"init", "--quiet", "--template=", "--", folder, NULL};
    const char *const fetch[] = {
        "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
        "--",    address,   revision,    NULL};
    static const char *const checkout[] = {"checkout", "--quiet",    "--force",
                                           "--detach", "FETCH_HEAD", NULL};
    enum assay_status status = run_or_fail(TO_COMPARE, address, NULL, init, err);
    if (status == ASSAY_OK)
        status = run_or_fail(TO_DOWNLOAD, address, folder, fetch, err);
    if (status == ASSAY_OK)
        status = run_or_fail(TO_COMPARE, address, folder, checkout, err);
    if (status == ASSAY_OK)
        status = read_head(folder, commit, err);
    if (status == ASSAY_OK && !commit[0])
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, address,
                                 "git checked out something that is not a commit");
    return status;
}

/* ---- a folder that is here ------------------------------------------------------------------- */

/* What git knows of a folder, without having looked at any file or object: paths, absolute, and the
 * commit. */
enum { TOP, OBJECTS, INDEX, CONFIG, EXCLUDE, COMMIT, N_PARTS };
struct tree {
    struct assay_text parts[N_PARTS];
};

static void tree_fini(struct tree *tree)
{
    for (int i = 0; i < N_PARTS; i++)
        assay_text_fini(&tree->parts[i]);
}

/* Lines, each of which is one of these. A path with a newline in it is none. */
static bool read_tree(const char *folder, const char *line, struct tree *tree)
{
    for (int i = 0; i < N_PARTS; i++) {
        const char *end = line ? strchr(line, '\n') : NULL;
        struct assay_text *part = &tree->parts[i];
        if (!end)
            return false;
        if (i != COMMIT && line[0] != '/')
            assay_text_format(part, "%s/", folder);
        assay_text_append(part, line, (size_t)(end - line));
        if (part->failed)
            return false;
        line = end + 1;
    }
    return !*line && assay_git_is_commit(tree->parts[COMMIT].data);
}

/* False: the folder is not under git. A folder's configuration may call another folder its top. */
static enum assay_status find_tree(const char *folder, struct tree *tree, bool *found,
                                   struct assay_error *err)
{
    static const char *const words[] = {"rev-parse",  "--show-toplevel", "--git-path", "objects",
                                        "--git-path", "index",           "--git-path", "config",
                                        "--git-path", "info/exclude",    "HEAD",       NULL};
    struct said said;
    *found = false;
    enum assay_status status = run_git(TO_LOOK, folder, words, LOCAL_LIMIT_S, &said, err);
    if (status == ASSAY_OK && went_well(&said))
        *found = read_tree(folder, said.out.data, tree) &&
                 assay_inside_find(tree->parts[TOP].data, folder) == ASSAY_INSIDE;
    said_fini(&said);
    return status;
}

static void add_quoted(struct assay_text *out, const char *value)
{
    assay_text_add(out, "\"");
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            assay_text_add(out, "\\");
        assay_text_append(out, value, 1);
    }
    assay_text_add(out, "\"\n");
}

/* Settings that say how files are compared and start nothing, "core.filemode false" on a line each:
 * into the text of a configuration. */
static void copy_settings(char *lines, struct assay_text *out)
{
    for (char *line = lines, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        char *value = strchr(line, ' ');
        if (!value || strncmp(line, "core.", 5) != 0)
            continue;
        *value++ = '\0';
        assay_text_format(out, "\t%s = ", line + 5);
        add_quoted(out, value);
    }
}

/* The user's ignored files, and how this folder's files are stored. */
static enum assay_status write_settings(const struct tree *tree, struct assay_text *out,
                                        struct assay_error *err)
{
    static const char own[] = "^core\\.(autocrlf|eol|excludesfile)$";
    static const char theirs[] = "^core\\.(autocrlf|eol|filemode|ignorecase|symlinks)$";
    const char *const global[] = {"config", "--global", "--get-regexp", own, NULL};
    const char *const local[] = {
        "config", "--file", tree->parts[CONFIG].data, "--no-includes", "--get-regexp",
        theirs,   NULL};
    const char *const *const queries[] = {global, local};
    enum assay_status status = ASSAY_OK;
    assay_text_add(out, "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    for (int i = 0; i < 2 && status == ASSAY_OK; i++) {
        struct said said;
        status = run_git(TO_LOOK, "/", queries[i], LOCAL_LIMIT_S, &said, err);
        if (status == ASSAY_OK && went_well(&said))
            copy_settings(said.out.data, out);
        said_fini(&said);
    }
    return status;
}

static enum assay_status write_part(const char *folder, const char *name, const char *text,
                                    struct assay_error *err)
{
    struct assay_text path = {0};
    assay_text_format(&path, "%s/%s", folder, name);
    enum assay_status status = path.failed
                                   ? assay_error_nomem(err)
                                   : assay_folder_write_quickly(path.data, text, strlen(text), err);
    assay_text_fini(&path);
    return status;
}

/* A git folder of ours that stands at the same commit and borrows the objects. */
static enum assay_status make_stand_in(const char *folder, const struct tree *tree,
                                       struct assay_error *err)
{
    enum { MOST_PATTERNS = 1 << 20 };
    static const char *const folders[] = {"objects/info", "refs", "info"};
    struct assay_text text = {0}, exclude = {0};
    enum assay_status status = ASSAY_OK;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && status == ASSAY_OK; i++) {
        assay_text_clear(&text);
        assay_text_format(&text, "%s/%s", folder, folders[i]);
        status = text.failed ? assay_error_nomem(err) : assay_folder_make(text.data, err);
    }
    assay_text_clear(&text);
    if (status == ASSAY_OK)
        status = write_settings(tree, &text, err);
    if (status == ASSAY_OK)
        status =
            text.failed ? assay_error_nomem(err) : write_part(folder, "config", text.data, err);
    if (status == ASSAY_OK)
        status = write_part(folder, "objects/info/alternates", tree->parts[OBJECTS].data, err);
    if (status == ASSAY_OK &&
        assay_folder_read_file(tree->parts[EXCLUDE].data, MOST_PATTERNS, &exclude, NULL) ==
            ASSAY_OK &&
        exclude.length)
        status = write_part(folder, "info/exclude", exclude.data, err);
    if (status == ASSAY_OK)
        status = write_part(folder, "HEAD", tree->parts[COMMIT].data, err);
    assay_text_fini(&text);
    assay_text_fini(&exclude);
    return status;
}

/* Has the folder changes? Also where that cannot be found out. */
static enum assay_status compare(const char *git, const char *folder, const struct tree *tree,
                                 bool *dirty, struct assay_error *err)
{
    struct assay_text index = {0};
    const char *changes[41] = {0};
    const char *const words[] = {"--git-dir",
                                 git,
                                 "--work-tree",
                                 tree->parts[TOP].data,
                                 "status",
                                 "--porcelain",
                                 "--no-renames",
                                 "--untracked-files=normal",
                                 "--ignore-submodules=all",
                                 "--",
                                 folder,
                                 NULL};
    struct said said = {0};
    assay_text_format(&index, "GIT_INDEX_FILE=%s", tree->parts[INDEX].data);
    if (index.failed)
        return assay_error_nomem(err);
    int n = 0;
    for (; environments[TO_COMPARE][n]; n++)
        changes[n] = environments[TO_COMPARE][n];
    changes[n] = index.data;
    enum assay_status status =
        run_git_with(changes, tree->parts[TOP].data, words, LOCAL_LIMIT_S, &said, err);
    *dirty = status != ASSAY_OK || !went_well(&said) || said.out.length > 0;
    said_fini(&said);
    assay_text_fini(&index);
    return status;
}

static enum assay_status compare_apart(const char *folder, const struct tree *tree, bool *dirty,
                                       struct assay_error *err)
{
    struct assay_text beside = {0}, git = {0};
    struct assay_process_hold hold;
    *dirty = true;
    enum assay_status status = assay_folder_cache(&beside, err);
    if (status == ASSAY_OK)
        status = beside.failed ? assay_error_nomem(err) : assay_folder_make(beside.data, err);
    if (status == ASSAY_OK)
        assay_folder_sweep(beside.data);
    assay_text_add(&beside, "/git");
    if (status == ASSAY_OK && !beside.failed)
        assay_folder_name_beside(beside.data, &git);
    if (status == ASSAY_OK && (beside.failed || git.failed))
        status = assay_error_nomem(err);
    assay_process_hold(&hold);
    if (status == ASSAY_OK)
        status = make_stand_in(git.data, tree, err);
    if (status == ASSAY_OK)
        status = compare(git.data, folder, tree, dirty, err);
    if (git.data)
        assay_folder_remove(git.data);
    assay_process_release(&hold);
    assay_text_fini(&beside);
    assay_text_fini(&git);
    return status;
}

enum assay_status assay_git_describe(const char *folder, char commit[ASSAY_COMMIT_TEXT],
                                     bool *dirty, struct assay_error *err)
{
    struct assay_error ignored = {0};
    struct tree tree = {0};
    bool found = false;
    commit[0] = '\0';
    *dirty = false;
    enum assay_status status = find_tree(folder, &tree, &found, &ignored);
    if (found) {
        memcpy(commit, tree.parts[COMMIT].data, 41);
        status = compare_apart(folder, &tree, dirty, &ignored);
    }
    tree_fini(&tree);
    if (status == ASSAY_ERR_INTERRUPTED)
        return assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    return ASSAY_OK;
}
