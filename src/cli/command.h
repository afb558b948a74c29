/* command.h: what a command is. To add one: src/cli/cmd_NAME.c defines `const struct assay_command
 * assay_command_NAME`, and the line ASSAY_COMMAND(NAME) goes into command_list.h. */
#ifndef ASSAY_CLI_COMMAND_H
#define ASSAY_CLI_COMMAND_H

#include "base/text.h"
#include <stdio.h>

enum assay_exit {
    ASSAY_EXIT_FINE = 0,
    ASSAY_EXIT_WRONG = 1,   /* some variant wrong, impossible, crashed, killed or timed out */
    ASSAY_EXIT_USAGE = 2,   /* bad usage or configuration */
    ASSAY_EXIT_MACHINE = 3, /* this machine cannot */
    ASSAY_EXIT_SLOWER = 4,  /* compare: a row is slower than --fail-slower allows, wrong or gone */
    ASSAY_EXIT_INTERRUPTED = 130,
};

struct assay_option_table;

struct assay_command {
    const char *name, *summary;
    const struct assay_option_table
        *options;                      /* for completions and the man page; config/options.h */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns an exit code */
    void (*help)(struct assay_text *out);
};

int64_t assay_command_count(void);
const struct assay_command *assay_command_at(int64_t index);
const struct assay_command *assay_command_find(const char *name);
/* Says that there is no such command, and which is the nearest; gives the exit code. */
int assay_command_unknown(const char *name);

/* What `assay list` can list; NULL after the last. */
const char *assay_list_name(int64_t index);

/* Says "assay: …" on standard error, and gives the exit code that fits the error. */
int assay_complain(const struct assay_error *err);
void assay_warn(const char *text);

/* Texts that may come from a repository, a plug-in or a file, without control characters: a name or
 * a sentence, and text of several lines. */
void assay_put(FILE *to, const char *text);
void assay_put_lines(FILE *to, const char *text);

/* Prints the text on standard output and frees it; where it is not all there, says so. Returns the
 * exit code. */
int assay_print_text(struct assay_text *text);
/* Prints a command's help on standard output. */
int assay_print_help(const struct assay_command *command);

#endif
