/* main.c: finds the command and runs it. The same program is its own worker. */
#include "bench/child.h"
#include "cli/command.h"
#include "base/version.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a reader that goes away is an error to report, not to die of */
    if (argc >= 2 && strcmp(argv[1], ASSAY_CHILD_COMMAND) == 0)
        return assay_child_main(argc, argv);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return assay_print_help(assay_command_find("help"));
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("assay " ASSAY_VERSION);
        return ASSAY_EXIT_FINE;
    }
    const struct assay_command *command = assay_command_find(argv[1]);
    if (command)
        return command->run(argc - 1, argv + 1);
    return assay_command_find("help")->run(argc, argv);
}
