/* child.h: a worker process as the supervisor sees it: start it, send jobs, read messages, watch,
 * end. */
#ifndef ASSAY_BENCH_CHILD_H
#define ASSAY_BENCH_CHILD_H

#include "bench/watch.h"
#include "bench/wire.h"
#include "record/plan.h"
#include <sys/types.h>

/* Start from {0}. */
struct assay_child {
    pid_t pid; /* 0: none */
    struct assay_wire jobs, events;
    struct assay_watch *watch;
    int64_t memory_limit;
    int64_t oom_kills; /* by the system, when the last job was sent; -1: not known */
};

/* How it ended. */
struct assay_child_end {
    int signal, exit_code; /* one of them */
    size_t peak_bytes;
    /* It held about all it was allowed to, or said so, or the system counts one more process that
     * it killed for memory. */
    bool out_of_memory;
    bool killed;          /* by SIGKILL, not from here, and nothing says that memory was short */
    int64_t variant;      /* what it was running; -1: the harness itself */
    bool counting;        /* what calls cost, by counters: everything was timed already */
    char last_words[160]; /* why it ended itself, where it did */
    int problem;          /* errno: its messages could not be read, whatever it was doing */
};

/* Starts `program` as a worker that may use `memory_limit` bytes (0: what the machine has). */
enum assay_status assay_child_start(struct assay_child *child, const char *program,
                                    int64_t memory_limit, struct assay_error *err);
bool assay_child_alive(const struct assay_child *child);
/* ASSAY_ERR_IO: it lives and does not have the job. That it is dead is no error here. */
enum assay_status assay_child_send(struct assay_child *child, const struct assay_job *job,
                                   struct assay_error *err);

/* Waits up to so many ms for bytes and calls on_line for each complete line; assay_wire_read takes
 * it from there. False once the worker is gone. */
bool assay_child_read(struct assay_child *child, int timeout_ms,
                      void (*on_line)(void *user, const char *line, size_t length), void *user);

int64_t assay_child_beat(const struct assay_child *child);
int64_t assay_child_variant(const struct assay_child *child); /* as in struct assay_watch */
int64_t assay_child_opening(const struct assay_child *child); /* a plug-in's index, or -1 */
void assay_child_ask_stop(struct assay_child *child);

/* Ends it by force if need be, and tells how it ended. */
void assay_child_kill(struct assay_child *child, struct assay_child_end *end);
/* Ends it in peace: no more jobs. */
void assay_child_stop(struct assay_child *child);

/* In the child: reads the arguments that assay_child_start passed, limits memory, and runs the
 * worker. Returns the exit code. */
int assay_child_main(int argc, char **argv);
#define ASSAY_CHILD_COMMAND "--worker"

#endif
