/* runner.h: a process of its own for a stranger's code, as the judge sees it: start it, ask it one
 * thing at a time, keep time meanwhile, look into its memory, stop it between its turns, end it.
 *
 * A runner that crashes, hangs, lies or runs out of memory ends alone: every later command fails,
 * and `assay_runner_end_of` says what became of it. */
#ifndef ASSAY_RUNNER_RUNNER_H
#define ASSAY_RUNNER_RUNNER_H

#include "runner/message.h"
#include <sys/types.h>

typedef struct assay_runner assay_runner;

struct assay_runner_options {
    double timeout_s;     /* a command that takes longer ends it */
    int64_t memory_bytes; /* 0: no limit */
    bool sandbox, mute;   /* sandbox.h */
    /* A Python interpreter, and the folder of the package it serves the line with (python.h). NULL:
     * this program. */
    const char *python, *package;
    /* While a command runs, some times a second: the judge's sign of life. True: give up. */
    bool (*beat)(void *user);
    void *user;
};

/* What became of it. */
enum assay_runner_end {
    ASSAY_RUNNER_ALIVE,
    ASSAY_RUNNER_CRASHED,
    ASSAY_RUNNER_TIMEOUT,
    ASSAY_RUNNER_NO_MEMORY,
    ASSAY_RUNNER_KILLED, /* from outside */
    ASSAY_RUNNER_CHEATED /* it spoke out of turn, or hid its memory */
};

/* Only its process, which gets ready while others do other things; `device` as below. */
enum assay_status assay_runner_launch(const struct assay_runner_options *options,
                                      const char *device, assay_runner **out,
                                      struct assay_error *err);
/* Opens `device` there for so many threads and then the shared object at `path`. With an empty
 * device none is opened: enough to be asked what the object holds. Failure: the object cannot be
 * used; where it took the process with it, assay_runner_end_of and the message say how. */
enum assay_status assay_runner_open(assay_runner *runner, const char *path, const char *device,
                                    int32_t threads, struct assay_error *err);
/* One that was another variant's serves a new one: whom it tells that it lives, and how long it
 * may take. */
void assay_runner_reuse(assay_runner *runner, const struct assay_runner_options *options);
/* Launched and opened. Where this fails there is no runner, and *end says what became of it. */
enum assay_status assay_runner_start(const struct assay_runner_options *options, const char *path,
                                     const char *device, int32_t threads, assay_runner **out,
                                     enum assay_runner_end *end, struct assay_error *err);
/* One that is a copy of this process, so that the caller's functions and data are there. It is in a
 * group of its own and ends with this process, but is not confined. `live` is its whole life, with
 * its end of the line; to PING it answers. What this process has of the `others`, runners that were
 * started before, is closed there. */
enum assay_status assay_runner_fork(const struct assay_runner_options *options,
                                    void (*live)(void *user, int line), void *user,
                                    assay_runner *const *others, int64_t n_others,
                                    assay_runner **out, struct assay_error *err);
/* With everything that it started. NULL is fine. */
void assay_runner_stop(assay_runner *runner);

/* One command. The version and number are filled in. ASSAY_ERR_FAILED with a sentence where the
 * process did not live to answer, or does not live; otherwise the reply's status, with its message
 * in `err`. The process is at rest afterwards: stopped, until the next command. */
enum assay_status assay_runner_ask(assay_runner *runner, struct assay_runner_command *command,
                                   struct assay_runner_reply *reply, struct assay_error *err);
/* Of the last command: from before it was sent until the reply was there, by the judge's clock. */
double assay_runner_wall_ns(const assay_runner *runner);
/* Less the time that it or the judge was ready and had no core. */
double assay_runner_worked_ns(const assay_runner *runner);

/* Is it an interpreter, whose kernels are its own (guest.h)? */
bool assay_runner_has_guest(const assay_runner *runner);
pid_t assay_runner_pid(const assay_runner *runner); /* 0: it has ended */
enum assay_runner_end assay_runner_end_of(const assay_runner *runner);
const char *assay_runner_reason(const assay_runner *runner);
/* Found guilty by others: it is ended, with this reason. */
void assay_runner_condemn(assay_runner *runner, const char *reason);

/* Which kernel, and which problem (NULL: none), a command is about. */
void assay_runner_put_problem(struct assay_runner_command *command,
                              const struct assay_kernel *kernel,
                              const struct assay_problem *problem);

/* Its memory, from outside: ASSAY_ERR_CORRUPT where it cannot be reached, which ends it. */
enum assay_status assay_runner_read(assay_runner *runner, void *to, uint64_t from, size_t bytes,
                                    struct assay_error *err);
enum assay_status assay_runner_write(assay_runner *runner, uint64_t to, const void *from,
                                     size_t bytes, struct assay_error *err);
/* Is this span ordinary memory, as it was reserved? False with a sentence where it was protected,
 * mapped anew, or is filled by somebody when it is read. */
bool assay_runner_intact(assay_runner *runner, uint64_t start, size_t bytes,
                         struct assay_error *why);

/* Cores that it keeps busy after it has answered, once those of its threads that only wait have had
 * time to fall asleep. Some 15 ms where there are none, up to a second else. */
double assay_runner_busy_cores(assay_runner *runner);

/* Between the two it runs without being asked anything. */
void assay_runner_wake(assay_runner *runner);
void assay_runner_rest(assay_runner *runner);
/* Lets it run for so long without asking it anything: what it does late shows. */
void assay_runner_let_run(assay_runner *runner, int64_t ns);
/* What a command that does nothing took before the stranger's code was there. */
double assay_runner_idle_ns(const assay_runner *runner);

/* What it printed, control characters made visible; bounded, may be empty. */
const char *assay_runner_printed(const assay_runner *runner);
/* How it is confined: "seccomp, no network, …". */
const char *assay_runner_confined(const assay_runner *runner);

/* The runner's end of the line. False: it was closed. */
bool assay_runner_hear(int line, struct assay_runner_command *command);
bool assay_runner_answer(int line, const struct assay_runner_reply *reply);

/* The whole life of a runner; the program's exit code. */
int assay_runner_main(void);
#define ASSAY_RUNNER_COMMAND "--runner"

#endif
