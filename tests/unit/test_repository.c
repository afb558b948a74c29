/* test_repository.c: repositories are found here, or cloned from a hub: a folder of this test's
 * own, by its file:// address. */
#include "repo/repository.h"

#include "base/alloc.h"
#include "repo/git.h"
#include "temporary.h"

#include <signal.h>
#include <sys/wait.h>

static char hub[128], said[200];

static void hear(const char *text) { snprintf(said, sizeof said, "%s", text); }

static void sh(const char *script)
{
    char line[2000];
    snprintf(line, sizeof line, "cd '%s' && set -e; %s", temporary, script);
    if (system(line) != 0) // NOLINT(cert-env33-c)
        fail_msg("failed: %s", script);
}

/* hub/owner/act: one commit with a tag v1 that has a message, one more on the branches v2 and main,
 * with the tag light. There is also a tag v2, at the first: the branch goes before it. */
static int make_hub(void **state)
{
    static const char *const variables[] = {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                                            "GIT_AUTHOR_NAME=a",     "GIT_AUTHOR_EMAIL=a@b.c",
                                            "GIT_COMMITTER_NAME=a",  "GIT_COMMITTER_EMAIL=a@b.c"};
    if (temporary_make(state) != 0)
        return -1;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        putenv((char *)(uintptr_t)variables[i]);
    snprintf(hub, sizeof hub, "file://%s/hub", temporary);
    said[0] = '\0';
    if (assay_git_here(NULL) != ASSAY_OK)
        return 0; /* each test skips itself */
    sh("mkdir -p hub/owner/act && cd hub/owner/act && git init -q -b main . && "
       "mkdir benchmarks && echo one > benchmarks/benchmark.c && git add . && git commit -qm 1 && "
       "git tag -m 'a message' v1 && git tag v2 && "
       "echo two > benchmarks/benchmark.c && git commit -qam 2 && git branch v2 && git tag light");
    return 0;
}

#define NEED_GIT()                                                                                 \
    do {                                                                                           \
        if (assay_git_here(NULL) != ASSAY_OK) {                                                    \
            print_message("git is not installed\n");                                               \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static enum assay_status find(struct assay_repository_wanted wanted, struct assay_repository *out,
                              struct assay_error *err)
{
    wanted.hub = wanted.hub ? wanted.hub : hub;
    wanted.say = hear;
    said[0] = '\0';
    *err = (struct assay_error){0};
    return assay_repository_find(&wanted, out, err);
}

#define FIND(out, err, ...) find((struct assay_repository_wanted){__VA_ARGS__}, out, err)

/* Finds it; the benchmark in it must read so. */
#define assert_found(contents, ...)                                                                \
    assert_found_at(contents, (struct assay_repository_wanted){__VA_ARGS__}, __LINE__)

static void assert_found_at(const char *contents, struct assay_repository_wanted wanted, int line)
{
    struct assay_repository repository;
    struct assay_error err;
    struct assay_text path = {0}, text = {0};
    if (find(wanted, &repository, &err) != ASSAY_OK)
        fail_msg("line %d: %s: %s", line, err.where, err.message);
    assay_text_format(&path, "%s/benchmarks/benchmark.c", repository.root.data);
    assert_int_equal(assay_folder_read_file(path.data, 100, &text, NULL), ASSAY_OK);
    assert_string_equal(text.data, contents);
    assert_int_equal(strlen(repository.commit), 40);
    assert_non_null(strstr(repository.root.data, repository.commit));
    assert_false(repository.dirty);
    assay_text_fini(&path);
    assay_text_fini(&text);
    assay_repository_fini(&repository);
}

/* An error of this kind, whose place and message speak of both. */
#define assert_error(status, a, b, ...)                                                            \
    assert_error_at(status, a, b, (struct assay_repository_wanted){__VA_ARGS__}, __LINE__)

static void assert_error_at(enum assay_status status, const char *a, const char *b,
                            struct assay_repository_wanted wanted, int line)
{
    struct assay_repository repository;
    struct assay_error err;
    char text[700];
    enum assay_status got = find(wanted, &repository, &err);
    assay_error_format(&err, text, sizeof text);
    if (got != status || !strstr(text, a) || !strstr(text, b))
        fail_msg("line %d: status %d: %s", line, got, text);
    assay_repository_fini(&repository);
}

/* ---- remote ones ----------------------------------------------------------------------------- */

static void every_kind_of_revision_is_found(void **state)
{
    (void)state;
    NEED_GIT();
    assert_found("one\n", .name = "owner/act@v1");
    assert_string_equal(said, "Downloading owner/act@v1...");
    assert_found("one\n", .name = "owner/act", .version = "1");
    assert_string_equal(said, ""); /* the same commit, which is here */
    assert_found("one\n", .name = "owner/act", .version = "v1");
    assert_found("two\n", .name = "owner/act", .branch = "main");
    assert_found("two\n", .name = "owner/act@main");
    assert_found("two\n", .name = "owner/act@light");
    assert_found("two\n", .name = "owner/act", .version = "2"); /* the branch, not the tag */
    char slash[160];
    snprintf(slash, sizeof slash, "%s//", hub);
    assert_found("two\n", .name = "owner/act@main", .hub = slash);
    assert_found("two\n", .name = "owner/act@main", .hub = in_temporary("hub")); /* a plain path */
}

static void a_commit_in_full_is_found_and_then_needs_no_git(void **state)
{
    (void)state;
    NEED_GIT();
    struct assay_repository repository;
    struct assay_error err;
    assert_int_equal(FIND(&repository, &err, .name = "owner/act@v1"), ASSAY_OK);
    char name[80];
    snprintf(name, sizeof name, "owner/act@%s", repository.commit);
    assay_repository_fini(&repository);
    assay_folder_remove(in_temporary("cache"));
    assert_found("one\n", .name = name);
    setenv("PATH", "/nowhere", 1);
    assert_found("one\n", .name = name);
    assert_found("one\n", .name = name, .offline = true);
}

static void a_clone_is_shallow_and_whole(void **state)
{
    (void)state;
    NEED_GIT();
    assert_found("two\n", .name = "owner/act@main");
    sh("cd cache/assay/repositories/*/ && test \"$(git rev-list --count HEAD)\" = 1 && "
       "test -z \"$(git status --porcelain)\"");
    sh("! ls cache/assay/repositories | grep tmp");
}

static void a_branch_that_moves_is_followed(void **state)
{
    (void)state;
    NEED_GIT();
    assert_found("two\n", .name = "owner/act@main");
    sh("cd hub/owner/act && echo three > benchmarks/benchmark.c && git commit -qam 3");
    assert_found("three\n", .name = "owner/act@main");
    assert_string_equal(said, "Downloading owner/act@main...");
    assert_found("three\n", .name = "owner/act@main", .offline = true);
}

static void offline_takes_what_was_downloaded(void **state)
{
    (void)state;
    NEED_GIT();
    assert_error(ASSAY_ERR_INVALID, "owner/act@v1", "not been downloaded", .name = "owner/act@v1",
                 .offline = true);
    assert_found("one\n", .name = "owner/act@v1");
    assert_found("two\n", .name = "owner/act", .branch = "main");
    sh("mv hub gone");
    assert_error(ASSAY_ERR_INVALID, "owner/act", "--offline uses the copy", .name = "owner/act@v1");
    setenv("PATH", "/nowhere", 1); /* nor is git needed */
    assert_found("one\n", .name = "owner/act@v1", .offline = true);
    assert_found("one\n", .name = "owner/act", .version = "1", .offline = true);
    assert_found("two\n", .name = "owner/act@main", .offline = true);
    assert_error(ASSAY_ERR_INVALID, "owner/act@v2", "not been downloaded", .name = "owner/act@v2",
                 .offline = true);
    assert_error(ASSAY_ERR_INVALID, "other/act@v1", "not been downloaded", .name = "other/act@v1",
                 .offline = true);
}

static void revisions_that_make_no_sense_are_told(void **state)
{
    (void)state;
    assert_error(ASSAY_ERR_INVALID, "owner/act@1", "written with a v: owner/act@v1",
                 .name = "owner/act@1");
    assert_error(ASSAY_ERR_INVALID, "owner/act", "needs a revision: owner/act@v1",
                 .name = "owner/act");
    assert_error(ASSAY_ERR_INVALID, "the revision once", "", .name = "owner/act@v1",
                 .version = "1");
    assert_error(ASSAY_ERR_INVALID, "the revision once", "", .name = "owner/act", .version = "1",
                 .branch = "main");
    assert_error(ASSAY_ERR_INVALID, "--version", "a branch is named with --branch",
                 .name = "owner/act", .version = "main");
    assert_error(ASSAY_ERR_INVALID, "--version", "takes a number", .name = "owner/act",
                 .version = "");
    static const char *const bad[] = {"owner/act@",     "owner/act@-x",  "owner/act@a b",
                                      "owner/act@a..b", "owner/act@a:b", "owner/act@x\n",
                                      "owner/act@a~1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_error(ASSAY_ERR_INVALID, "owner/act", "cannot be a branch", .name = bad[i]);
    assert_error(ASSAY_ERR_INVALID, "owner/act", "cannot be a branch", .name = "owner/act",
                 .branch = "--upload-pack=x");
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a/../../b@v1", "-x@v1", "a//b@v1", "a/@v1",
                                      "a b@v1",       "@v1",   ".git@v1", "a/\x1b@v1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_error(ASSAY_ERR_INVALID, "OWNER/NAME@REVISION", "", .name = bad[i]);
    assert_error(ASSAY_ERR_INVALID, "--hub https://host", "", .name = "https://x.y/a/b@v1");
    assert_error(ASSAY_ERR_INVALID, "name a folder", "", .name = "");
}

static void what_the_hub_does_not_have_is_told(void **state)
{
    (void)state;
    NEED_GIT();
    assert_error(ASSAY_ERR_INVALID, "no branch or tag \"v9\"", "there is main, v2, light, v1",
                 .name = "owner/act@v9");
    assert_error(ASSAY_ERR_INVALID, "did you mean \"main\"", "", .name = "owner/act@mian");
    assert_error(ASSAY_ERR_INVALID, "no branch \"v1\"", "it is a tag: owner/act@v1",
                 .name = "owner/act", .branch = "v1");
    assert_error(ASSAY_ERR_INVALID, "all its 40 digits", "", .name = "owner/act@abcdef0");
    assert_error(ASSAY_ERR_INVALID, "no such repository", "git says", .name = "owner/none@v1");
    sh("mkdir hub/owner/plain"); /* a folder that is not under git */
    assert_error(ASSAY_ERR_INVALID, "not appear to be a git repository", "check its name and --hub",
                 .name = "owner/plain@v1");
    assert_error(ASSAY_ERR_INVALID, "git says", "",
                 .name = "owner/act@0123456789012345678901234567890123456789");
    assert_int_equal(count_entries("cache/assay/repositories"), 0);
    assert_error(ASSAY_ERR_IO, "git says", "", .name = "owner/act@v1", .hub = "http://127.0.0.1:1");
    sh("rm -rf hub/owner/act && git init -q hub/owner/act");
    assert_error(ASSAY_ERR_INVALID, "no branch or tag \"v1\"", "", .name = "owner/act@v1");
}

static void without_git_there_is_a_way_out(void **state)
{
    (void)state;
    setenv("PATH", "/nowhere", 1);
    assert_error(ASSAY_UNSUPPORTED, "git is not installed", "install it", .name = "owner/act@v1");
}

static void a_cache_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    NEED_GIT();
    put_file("nofolder", "");
    setenv("XDG_CACHE_HOME", in_temporary("nofolder"), 1);
    assert_error(ASSAY_ERR_IO, "cannot make this folder", "nofolder", .name = "owner/act@v1");
}

static void a_changed_clone_is_dirty(void **state)
{
    (void)state;
    NEED_GIT();
    struct assay_repository repository;
    struct assay_error err;
    assert_found("one\n", .name = "owner/act@v1");
    sh("cd cache/assay/repositories/*/ && echo x >> benchmarks/benchmark.c");
    assert_int_equal(FIND(&repository, &err, .name = "owner/act@v1"), ASSAY_OK);
    assert_true(repository.dirty);
    assay_repository_fini(&repository);
}

static void several_at_once_all_succeed(void **state)
{
    (void)state;
    NEED_GIT();
    enum { N = 4 };
    pid_t children[N];
    for (int i = 0; i < N; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct assay_repository repository;
            struct assay_error err;
            _exit(FIND(&repository, &err, .name = "owner/act@v1") == ASSAY_OK ? 0 : 1);
        }
    }
    for (int i = 0; i < N; i++) {
        int how;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_int_equal(how, 0);
    }
    assert_found("one\n", .name = "owner/act@v1", .offline = true);
    assert_int_equal(count_entries("cache/assay/repositories"), 2); /* the clone, the revision */
}

/* A git that hangs while it fetches, as over a bad network. */
static void ctrl_c_leaves_nothing_behind(void **state)
{
    (void)state;
    NEED_GIT();
    char script[400], path[8192];
    snprintf(script, sizeof script,
             "#!/bin/sh\ncase \"$*\" in *' fetch '*) touch '%s'; sleep 60;; esac\n"
             "PATH=${PATH#*:} exec git \"$@\"\n",
             in_temporary("started"));
    put_script("bin/git", script);
    snprintf(path, sizeof path, "%s:%s", in_temporary("bin"), getenv("PATH"));
    pid_t child = fork();
    if (child == 0) {
        struct assay_repository repository;
        struct assay_error err;
        setenv("PATH", path, 1);
        _exit(FIND(&repository, &err, .name = "owner/act@v1") == ASSAY_ERR_INTERRUPTED ? 0 : 1);
    }
    for (int i = 0; i < 2000 && access(in_temporary("started"), F_OK) != 0; i++)
        usleep(10000);
    kill(child, SIGINT);
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(count_entries("cache/assay/repositories"), 0);
    assert_found("one\n", .name = "owner/act@v1"); /* and then it works */
}

/* ---- here ------------------------------------------------------------------------------------ */

static void a_folder_or_file_here_is_taken_as_it_is(void **state)
{
    (void)state;
    struct assay_repository repository;
    struct assay_error err;
    put_file("my kernel/benchmarks/benchmark.c", "");
    put_file("my kernel/other.c", "");
    const char *folder = in_temporary("my kernel");
    assert_int_equal(FIND(&repository, &err, .name = folder), ASSAY_OK);
    assert_string_equal(repository.root.data, folder);
    assert_string_equal(repository.name, folder);
    assert_int_equal(repository.file.length, 0);
    assert_string_equal(repository.commit, "");
    assay_repository_fini(&repository);
    assert_int_equal(FIND(&repository, &err, .name = in_temporary("my kernel/other.c")), ASSAY_OK);
    assert_string_equal(repository.root.data, folder);
    assert_string_equal(repository.file.data, in_temporary("my kernel/other.c"));
    assay_repository_fini(&repository);
    assert_int_equal(
        FIND(&repository, &err, .name = in_temporary("my kernel/benchmarks/benchmark.c")),
        ASSAY_OK);
    assert_string_equal(repository.root.data, folder); /* where assay.yml lies */
    assay_repository_fini(&repository);
    assert_int_equal(FIND(&repository, &err, .name = "~/my kernel"), ASSAY_OK); /* $HOME is ours */
    assert_string_equal(repository.root.data, folder);
    assay_repository_fini(&repository);
    put_file("elsewhere.c", "");
    assert_int_equal(symlink("../elsewhere.c", in_temporary("my kernel/link.c")), 0);
    assert_int_equal(FIND(&repository, &err, .name = in_temporary("my kernel/link.c")), ASSAY_OK);
    assert_string_equal(repository.root.data, folder);
    assert_string_equal(repository.file.data, in_temporary("my kernel/link.c"));
    assay_repository_fini(&repository);
    assert_int_equal(chdir(temporary), 0);
    assert_int_equal(FIND(&repository, &err, .name = "elsewhere.c"), ASSAY_OK);
    assert_string_equal(repository.root.data, temporary);
    assay_repository_fini(&repository);
    assert_int_equal(FIND(&repository, &err, .name = "my kernel"), ASSAY_OK); /* for it exists */
    assert_string_equal(repository.root.data, folder);
    assay_repository_fini(&repository);
    assert_int_equal(chdir("/"), 0);
}

static void its_commit_and_changes_are_known(void **state)
{
    (void)state;
    NEED_GIT();
    struct assay_repository repository;
    struct assay_error err;
    const char *folder = in_temporary("hub/owner/act");
    assert_int_equal(FIND(&repository, &err, .name = folder), ASSAY_OK);
    assert_int_equal(strlen(repository.commit), 40);
    assert_false(repository.dirty);
    assay_repository_fini(&repository);
    put_file("hub/owner/act/benchmarks/benchmark_new.c", "");
    setenv("GIT_DIR", "/nowhere", 1); /* as in a hook: not ours */
    assert_int_equal(FIND(&repository, &err, .name = folder), ASSAY_OK);
    unsetenv("GIT_DIR");
    assert_int_equal(strlen(repository.commit), 40);
    assert_true(repository.dirty);
    assay_repository_fini(&repository);
    setenv("PATH", "/nowhere", 1); /* without git nothing is known of it, and that is all */
    assert_int_equal(FIND(&repository, &err, .name = folder), ASSAY_OK);
    assert_string_equal(repository.commit, "");
    assay_repository_fini(&repository);
}

static void paths_that_make_no_sense_are_told(void **state)
{
    (void)state;
    put_file("repo/x.c", "");
    char name[200];
    assert_error(ASSAY_ERR_INVALID, "no such file or folder", "none", .name = in_temporary("none"));
    assert_error(ASSAY_ERR_INVALID, "no such file or folder", "./none", .name = "./none");
    assert_error(ASSAY_ERR_INVALID, "--version", "is a path", .name = in_temporary("repo"),
                 .version = "1");
    assert_error(ASSAY_ERR_INVALID, "--branch", "is a path", .name = in_temporary("repo"),
                 .branch = "main");
    snprintf(name, sizeof name, "%s@v1", in_temporary("repo"));
    assert_error(ASSAY_ERR_INVALID, "@v1", "check it out", .name = name);
    snprintf(name, sizeof name, "%s/more", in_temporary("repo/x.c"));
    assert_error(ASSAY_ERR_INVALID, "no such file or folder: Not a directory", "", .name = name);
}

/* Whichever allocation fails: an error, and nothing is lost (the sanitizer looks). */
static void without_memory_there_is_an_error(void **state)
{
    (void)state;
    NEED_GIT();
    static const char *const names[] = {"owner/act@v1", "owner/act@v9"};
    assert_found("one\n", .name = names[0]);
    for (int i = 0; i < 2; i++)
        for (int64_t nth = 1; nth < 400; nth += 1 + nth / 4) {
            struct assay_repository repository;
            struct assay_error err;
            assay_alloc_fail_after(nth);
            enum assay_status status = FIND(&repository, &err, .name = names[i], .offline = i == 0);
            assay_alloc_fail_after(0);
            assert_true(status != ASSAY_OK || i == 0);
            assert_true(status == ASSAY_OK || err.message[0]);
            assay_repository_fini(&repository);
        }
}

#define WITH_HUB(test) cmocka_unit_test_setup_teardown(test, make_hub, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HUB(every_kind_of_revision_is_found),
        WITH_HUB(a_commit_in_full_is_found_and_then_needs_no_git),
        WITH_HUB(a_clone_is_shallow_and_whole),
        WITH_HUB(a_branch_that_moves_is_followed),
        WITH_HUB(offline_takes_what_was_downloaded),
        WITH_HUB(revisions_that_make_no_sense_are_told),
        WITH_HUB(names_that_lead_elsewhere_are_refused),
        WITH_HUB(what_the_hub_does_not_have_is_told),
        WITH_HUB(without_git_there_is_a_way_out),
        WITH_HUB(a_cache_that_cannot_be_written_is_told),
        WITH_HUB(a_changed_clone_is_dirty),
        WITH_HUB(several_at_once_all_succeed),
        WITH_HUB(ctrl_c_leaves_nothing_behind),
        WITH_HUB(a_folder_or_file_here_is_taken_as_it_is),
        WITH_HUB(its_commit_and_changes_are_known),
        WITH_HUB(paths_that_make_no_sense_are_told),
        WITH_HUB(without_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
