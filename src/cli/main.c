/* main.c: finds the command and runs it. The same program is its own worker. */
#include "base/json.h"
#include "bench/child.h"
#include "cli/command.h"
#include "runner/runner.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A standard stream that came closed would give its number to the next file that is opened. Results
 * must still fail to be written there, so standard output is opened for reading. */
static void fill_closed_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 2 ? O_RDWR : O_RDONLY) < 0)
            return;
}

/* KoBench's users find its program under the name it has, with its defaults: preset attn, 8 calls
 * to warm up, 32 that are timed. */
static bool is_kobench(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, "kobench") == 0;
}

static int run_kobench(int argc, char **argv)
{
    static char command[] = "kobench"; /* without its folder; the command asks for it */
    argv[0] = command;
    return assay_command_find("preset")->run(argc, argv);
}

static int run_command(int argc, char **argv)
{
    bool kobench = argc > 0 && is_kobench(argv[0]);
    if (!kobench && (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return assay_print_help(assay_command_find("help"));
    if (argc > 1 && (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)) {
        puts("assay " ASSAY_VERSION);
        return ASSAY_EXIT_FINE;
    }
    if (kobench)
        return run_kobench(argc, argv);
    const struct assay_command *command = assay_command_find(argv[1]);
    if (command)
        return command->run(argc - 1, argv + 1);
    return assay_command_unknown(argv[1]);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error to report, not to die of */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow (ulimit -f) */
    signal(SIGCHLD, SIG_DFL); /* or, ignored by whoever started us, workers would end untold */
    fill_closed_streams();
    assay_json_count_memory();
    if (argc >= 2 && strcmp(argv[1], ASSAY_CHILD_COMMAND) == 0)
        return assay_child_main(argc, argv);
    if (argc == 2 && strcmp(argv[1], ASSAY_RUNNER_COMMAND) == 0)
        return assay_runner_main();
    int code = run_command(argc, argv);
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (!lost || code != ASSAY_EXIT_FINE)
        return code;
    if (errno != EPIPE) /* `assay list kernels | head` knows why it has not got everything */
        assay_warn("standard output: cannot be written");
    return ASSAY_EXIT_WRONG;
}
