#include "repo/git.h"

#include <stdio.h>
#include <string.h>

enum { LIST_LIMIT_S = 120, FETCH_LIMIT_S = 3600, LOCAL_LIMIT_S = 60 };

/* No prompts, no LFS files (they are not sources), no translated errors, and no trace of a
 * repository that we happen to be started from, as in a hook. */
static const char *const environment[] = {
    "LC_ALL=C",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ASKPASS=",
    "SSH_ASKPASS_REQUIRE=never",
    "GCM_INTERACTIVE=never",
    "GIT_LFS_SKIP_SMUDGE=1",
    "GIT_OPTIONAL_LOCKS=0",
    "GIT_PAGER=cat",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    NULL,
};

/* Before every command: nothing stays behind in the background, a dead connection ends, and a
 * repository's own settings start no program. */
static const char *const settings[] = {
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "core.fsmonitor=false",
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
static enum assay_status run_git(const char *folder, const char *const *words, double limit_s,
                                 struct said *said, struct assay_error *err)
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
    enum assay_status status = run_git(NULL, words, LIST_LIMIT_S, &said, err);
    if (status == ASSAY_OK && !went_well(&said))
        status = git_failed(address, &said, err);
    if (status == ASSAY_OK)
        assay_text_append(out, said.out.data ? said.out.data : "", said.out.length);
    said_fini(&said);
    return status;
}

static enum assay_status run_or_fail(const char *address, const char *folder,
                                     const char *const *words, struct assay_error *err)
{
    struct said said;
    enum assay_status status = run_git(folder, words, FETCH_LIMIT_S, &said, err);
    if (status == ASSAY_OK && !went_well(&said))
        status = git_failed(address, &said, err);
    said_fini(&said);
    return status;
}

/* The commit a folder stands at; "" where git does not know one. */
static enum assay_status read_head(const char *folder, char commit[ASSAY_COMMIT_TEXT],
                                   struct assay_error *err)
{
    static const char *const words[] = {"rev-parse", "--quiet", "--verify", "HEAD^{commit}", NULL};
    struct said said;
    commit[0] = '\0';
    enum assay_status status = run_git(folder, words, LOCAL_LIMIT_S, &said, err);
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
    const char *const init[] = {"init", "--quiet", "--", folder, NULL};
    const char *const fetch[] = {
        "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules",
        "--",    address,   revision,    NULL};
    static const char *const checkout[] = {"checkout", "--quiet",    "--force",
                                           "--detach", "FETCH_HEAD", NULL};
    enum assay_status status = run_or_fail(address, NULL, init, err);
    if (status == ASSAY_OK)
        status = run_or_fail(address, folder, fetch, err);
    if (status == ASSAY_OK)
        status = run_or_fail(address, folder, checkout, err);
    if (status == ASSAY_OK)
        status = read_head(folder, commit, err);
    if (status == ASSAY_OK && !commit[0])
        status = assay_error_set(err, ASSAY_ERR_CORRUPT, address,
                                 "git checked out something that is not a commit");
    return status;
}

enum assay_status assay_git_describe(const char *folder, char commit[ASSAY_COMMIT_TEXT],
                                     bool *dirty, struct assay_error *err)
{
    static const char *const words[] = {
        "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules", "--",
        ".",      NULL};
    struct assay_error ignored = {0};
    struct said said = {0};
    commit[0] = '\0';
    *dirty = false;
    enum assay_status status = read_head(folder, commit, &ignored);
    if (status == ASSAY_OK && commit[0])
        status = run_git(folder, words, LOCAL_LIMIT_S, &said, &ignored);
    /* A folder that git cannot compare is not known to be at the commit. */
    *dirty = commit[0] && (!went_well(&said) || said.out.length > 0);
    said_fini(&said);
    if (status == ASSAY_ERR_INTERRUPTED)
        return assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
    return ASSAY_OK;
}
