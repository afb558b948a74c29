/* test_process.c: programs are run with arguments as they are, heard, and ended. */
#include "base/clock.h"
#include "repo/process.h"
#include "temporary.h"

#include <sys/wait.h>

/* Runs a shell's script; what it prints is added to `out`. */
static enum assay_status run_script(const char *script, double limit_s, struct assay_text *out,
                                    struct assay_process_end *end, struct assay_error *err)
{
    struct assay_arguments words = {0};
    const struct assay_process process = {
        .arguments = &words, .limit_s = limit_s, .out = out, .err = out};
    assay_arguments_add(&words, "/bin/sh");
    assay_arguments_add(&words, "-c");
    assay_arguments_add(&words, script);
    enum assay_status status = assay_process_run(&process, end, err);
    assay_arguments_fini(&words);
    return status;
}

static void a_command_is_shown_as_one_would_type_it(void **state)
{
    (void)state;
    struct assay_arguments words = {0};
    struct assay_text text = {0};
    assay_arguments_split(&words, "  cc -O3\t-DX=1 \n");
    assert_int_equal(words.n, 3);
    assay_arguments_add(&words, "two words");
    assay_arguments_add(&words, "it's");
    assay_arguments_add(&words, "");
    assay_arguments_format(&words, "-I%s", "$HOME");
    assert_null(words.items[words.n]);
    assay_arguments_shown(&words, &text);
    assert_string_equal(text.data, "cc -O3 -DX=1 'two words' 'it'\\''s' '' '-I$HOME'");
    assay_text_fini(&text);
    assay_arguments_fini(&words);
}

static void how_a_program_ends_is_told(void **state)
{
    (void)state;
    struct assay_process_end end;
    struct assay_text text = {0};
    struct assay_error err = {0};
    assert_int_equal(run_script("echo out; echo err >&2", 20, &text, &end, &err), ASSAY_OK);
    assert_int_equal(end.exit_code, 0);
    assert_int_equal(end.signal, 0);
    assert_string_equal(text.data, "out\nerr\n");
    assert_int_equal(run_script("exit 7", 20, NULL, &end, &err), ASSAY_OK);
    assert_int_equal(end.exit_code, 7);
    assert_int_equal(run_script("kill -USR1 $$", 20, NULL, &end, &err), ASSAY_OK);
    assert_int_equal(end.signal, SIGUSR1);
    assert_int_equal(end.exit_code, 0);
    assay_text_fini(&text);
}

/* As some parents leave it to their children. */
static void ignored_children_are_heard_of_all_the_same(void **state)
{
    (void)state;
    struct assay_process_end end;
    struct sigaction after;
    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(run_script("exit 7", 20, NULL, &end, NULL), ASSAY_OK);
    assert_int_equal(end.exit_code, 7);
    sigaction(SIGCHLD, NULL, &after);
    assert_true(after.sa_handler == SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

/* Each argument on a line of its own, in brackets, with the bytes it has. */
static void arguments_arrive_as_they_are(void **state)
{
    (void)state;
    struct assay_arguments words = {0};
    struct assay_text out = {0}, err_text = {0};
    struct assay_process_end end;
    const struct assay_process process = {
        .arguments = &words, .limit_s = 20, .out = &out, .err = &err_text};
    assay_arguments_add(&words, put_script("a folder/it's a \"script\"",
                                           "#!/bin/sh\nfor a; do printf '[%s]\\n' \"$a\"; done\n"));
    assay_arguments_add(&words, "two words");
    assay_arguments_add(&words, "a\nnewline");
    assay_arguments_add(&words, "$(touch x);'\"*");
    assay_arguments_add(&words, "");
    assert_int_equal(assay_process_run(&process, &end, NULL), ASSAY_OK);
    assert_string_equal(out.data, "[two words]\n[a\nnewline]\n[$(touch x);'\"*]\n[]\n");
    assert_int_equal(err_text.length, 0);
    assay_arguments_fini(&words);
    assay_text_fini(&out);
    assay_text_fini(&err_text);
}

static void folder_and_environment_are_the_wanted_ones(void **state)
{
    (void)state;
    static const char *const changes[] = {"ASSAY_TEST_SET=new value", "ASSAY_TEST_GONE", NULL};
    struct assay_arguments words = {0};
    struct assay_text out = {0};
    struct assay_process_end end;
    const struct assay_process process = {.arguments = &words,
                                          .folder = temporary,
                                          .environment = changes,
                                          .limit_s = 20,
                                          .out = &out};
    setenv("ASSAY_TEST_SET", "old", 1);
    setenv("ASSAY_TEST_GONE", "here", 1);
    assay_arguments_add(&words, "/bin/sh");
    assay_arguments_add(&words, "-c");
    assay_arguments_add(&words, "pwd -P; echo \"$ASSAY_TEST_SET ${ASSAY_TEST_GONE-gone}\"; cat");
    assert_int_equal(assay_process_run(&process, &end, NULL),
                     ASSAY_OK); /* nothing to read: cat ends */
    char *newline = strchr(out.data, '\n');
    assert_non_null(newline);
    assert_string_equal(newline + 1, "new value gone\n");
    *newline = '\0';
    assert_string_equal(strrchr(out.data, '/'), strrchr(temporary, '/'));
    unsetenv("ASSAY_TEST_SET");
    unsetenv("ASSAY_TEST_GONE");
    assay_arguments_fini(&words);
    assay_text_fini(&out);
}

static void what_cannot_be_started_is_an_error(void **state)
{
    (void)state;
    struct assay_arguments words = {0};
    struct assay_process_end end;
    struct assay_error err = {0};
    struct assay_process process = {.arguments = &words, .limit_s = 20};
    assay_arguments_add(&words, in_temporary("none"));
    assert_int_equal(assay_process_run(&process, &end, &err), ASSAY_ERR_IO);
    assert_non_null(strstr(err.message, "No such file"));
    assay_arguments_fini(&words);
    err = (struct assay_error){0};
    assay_arguments_add(&words, "/bin/sh");
    process.folder = in_temporary("none");
    assert_int_equal(assay_process_run(&process, &end, &err), ASSAY_ERR_IO);
    assay_arguments_fini(&words);
}

static void a_program_is_found_in_path_and_only_if_it_can_run(void **state)
{
    (void)state;
    struct assay_text path = {0};
    char list[300];
    put_file("one/tool", "no program");
    put_script("two/tool", "#!/bin/sh\n");
    assert_int_equal(mkdir(in_temporary("one/folder"), 0755), 0);
    snprintf(list, sizeof list, ":%s:%s", in_temporary("one"), in_temporary("two"));
    setenv("PATH", list, 1);
    assert_true(assay_process_find("tool", &path));
    assert_string_equal(path.data, in_temporary("two/tool"));
    assay_text_clear(&path);
    assert_false(assay_process_find("folder", &path));
    assert_false(assay_process_find("nothing", &path));
    assert_false(assay_process_find("", &path));
    assert_false(assay_process_find(in_temporary("one/tool"), &path));
    assert_int_equal(path.length, 0);
    unsetenv("PATH");
    assert_false(assay_process_find("tool", &path));
    assay_text_fini(&path);
}

static void a_program_that_takes_too_long_is_ended_with_all_it_started(void **state)
{
    (void)state;
    struct assay_process_end end;
    struct assay_text text = {0};
    char script[600];
    int64_t start = assay_clock_ns();
    snprintf(script, sizeof script, "(sleep 2; touch '%s') & echo here; sleep 60",
             in_temporary("left"));
    assert_int_equal(run_script(script, 0.3, &text, &end, NULL), ASSAY_OK);
    assert_true(end.timed_out);
    assert_string_equal(text.data, "here\n");
    assert_true(assay_clock_ns() - start < 20000000000);
    sleep(3);
    assert_int_not_equal(access(in_temporary("left"), F_OK), 0);
    assay_text_fini(&text);
}

/* Something it left behind holds its output open: that is not waited for. */
static void what_a_program_leaves_behind_is_not_waited_for(void **state)
{
    (void)state;
    struct assay_process_end end;
    struct assay_text text = {0};
    int64_t start = assay_clock_ns();
    assert_int_equal(run_script("sleep 4 & echo done", 60, &text, &end, NULL), ASSAY_OK);
    assert_string_equal(text.data, "done\n");
    assert_true(assay_clock_ns() - start < 3500000000);
    assay_text_fini(&text);
}

static void of_endless_output_the_beginning_is_kept(void **state)
{
    (void)state;
    struct assay_process_end end;
    struct assay_text text = {0};
    assert_int_equal(run_script("head -c 3000000 /dev/zero | tr '\\0' x", 60, &text, &end, NULL),
                     ASSAY_OK);
    assert_int_equal(text.length, ASSAY_PROCESS_OUTPUT);
    assert_int_equal(end.exit_code, 0);
    assay_text_fini(&text);
}

/* In a separate process, which is sent the signal; its exit code is the status. */
static int interrupted_by(int signal_number, bool ignored)
{
    pid_t child = fork();
    if (child == 0) {
        struct assay_process_end end;
        signal(signal_number, ignored ? SIG_IGN : SIG_DFL);
        char script[600];
        snprintf(script, sizeof script, "touch '%s'; sleep %d", in_temporary("started"),
                 ignored ? 1 : 60);
        enum assay_status status = run_script(script, 100, NULL, &end, NULL);
        _exit(status == ASSAY_ERR_INTERRUPTED ? 11 : status == ASSAY_OK && !end.signal ? 22 : 33);
    }
    for (int i = 0; i < 1000 && access(in_temporary("started"), F_OK) != 0; i++)
        usleep(10000);
    kill(child, signal_number);
    int how = 0;
    waitpid(child, &how, 0);
    unlink(in_temporary("started"));
    return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void signals_end_the_program_unless_they_are_ignored(void **state)
{
    (void)state;
    assert_int_equal(interrupted_by(SIGINT, false), 11);
    assert_int_equal(interrupted_by(SIGTERM, false), 11);
    assert_int_equal(interrupted_by(SIGHUP, false), 11);
    assert_int_equal(interrupted_by(SIGHUP, true), 22);
}

/* A signal between two programs is heard by the second. */
static void a_signal_that_is_held_back_stops_the_next_program(void **state)
{
    (void)state;
    struct assay_process_hold hold;
    struct assay_process_end end;
    assay_process_hold(&hold);
    raise(SIGINT);
    assert_int_equal(run_script("sleep 30", 60, NULL, &end, NULL), ASSAY_ERR_INTERRUPTED);
    assay_process_release(&hold);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, temporary_make, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_is_shown_as_one_would_type_it),
        cmocka_unit_test(how_a_program_ends_is_told),
        cmocka_unit_test(ignored_children_are_heard_of_all_the_same),
        WITH_FOLDER(arguments_arrive_as_they_are),
        WITH_FOLDER(folder_and_environment_are_the_wanted_ones),
        WITH_FOLDER(what_cannot_be_started_is_an_error),
        WITH_FOLDER(a_program_is_found_in_path_and_only_if_it_can_run),
        WITH_FOLDER(a_program_that_takes_too_long_is_ended_with_all_it_started),
        cmocka_unit_test(what_a_program_leaves_behind_is_not_waited_for),
        cmocka_unit_test(of_endless_output_the_beginning_is_kept),
        WITH_FOLDER(signals_end_the_program_unless_they_are_ignored),
        cmocka_unit_test(a_signal_that_is_held_back_stops_the_next_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
