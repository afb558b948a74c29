/* process.h: running another program (git, a compiler) and reading its output.
 *
 * Arguments are passed unchanged, never through a shell: blanks, quotes and newlines in a path are
 * part of the path. The program has no terminal and nothing to read, so that it cannot prompt, and
 * runs in a new session, so that killing it also kills what it started. */
#ifndef ASSAY_REPO_PROCESS_H
#define ASSAY_REPO_PROCESS_H

#include "base/text.h"
#include <signal.h>

/* Words of a command line, with a NULL after the last. Start from {0}; after a failed allocation
 * `failed` is set, so one check at the end is enough. */
struct assay_arguments {
    char **items;
    int64_t n;
    bool failed;
};
void assay_arguments_add(struct assay_arguments *arguments, const char *word);
void assay_arguments_add_all(struct assay_arguments *arguments, const char *const *words);
void assay_arguments_format(struct assay_arguments *arguments, const char *fmt, ...)
    ASSAY_PRINTF(2, 3);
/* Adds the words of a text, separated by blanks. */
void assay_arguments_split(struct assay_arguments *arguments, const char *text);
void assay_arguments_fini(struct assay_arguments *arguments);
/* Quoted as for a shell. */
void assay_arguments_shown(const struct assay_arguments *arguments, struct assay_text *out);

/* A program by its name, in the absolute folders of $PATH, or by its path: its absolute path,
 * appended to `out`. False: not here. */
bool assay_process_find(const char *name, struct assay_text *out);

struct assay_process {
    const struct assay_arguments *arguments; /* the first is the program's path */
    const char *folder;                      /* where it runs; NULL: here */
    const char *const
        *environment; /* "NAME=value" adds, "NAME" takes away; NULL-terminated or NULL */
    double limit_s;   /* it is killed after this time */
    struct assay_text *out, *err; /* what it prints; the same one for both is fine, NULL: dropped */
};

/* How many bytes of a program's output are kept; the rest is read and dropped. */
enum { ASSAY_PROCESS_OUTPUT = 1 << 20 };

struct assay_process_end {
    int exit_code, signal; /* one of them is 0; both: it went well */
    bool timed_out;
};

/* Runs it to its end. ASSAY_OK: it ran, whatever its exit status. ASSAY_ERR_IO: it cannot be
 * started. ASSAY_ERR_INTERRUPTED: we received SIGINT, SIGTERM or SIGHUP; the program has been
 * killed, and the signal is consumed. Requires that SIGCHLD is not ignored. */
enum assay_status assay_process_run(const struct assay_process *process,
                                    struct assay_process_end *end, struct assay_error *err);

/* Between these two, a signal that asks us to stop is held until the next program runs, which is
 * then not waited for: partial files can be removed undisturbed. */
struct assay_process_hold {
    sigset_t before;
};
void assay_process_hold(struct assay_process_hold *hold);
void assay_process_release(const struct assay_process_hold *hold);

#endif
