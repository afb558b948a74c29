/* case_isolate.c: cases in a child process, which may hang, scribble over its memory or end. It is
 * a copy of this one, so that the caller's functions and data are there; what the cases do to their
 * data stays there too. Figures come back through a shared page. */
#include "api/case.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_EVERY_MS = 20 };

struct shared {
    _Atomic int64_t beat;    /* counts steps */
    _Atomic int64_t running; /* the case that is; -1: none */
    _Atomic int complete;
    enum assay_status status;
    struct assay_error err;
    struct assay_case_figures figures[];
};

static void step(void *user, int64_t index)
{
    struct shared *shared = user;
    atomic_store_explicit(&shared->running, index, memory_order_relaxed);
    atomic_fetch_add_explicit(&shared->beat, 1, memory_order_relaxed);
}

static _Noreturn void be_child(struct assay_open_session *session, const struct assay_case *cases,
                               int64_t n, struct shared *shared)
{
    struct assay_case_watch watch = {.user = shared, .step = step};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    shared->status = assay_cases_measure(session, cases, n, &watch, shared->figures, &shared->err);
    atomic_store(&shared->complete, 1);
    _exit(0); /* the caller's exit handlers and buffers are the caller's */
}

/* Waits for the end of the child, as long as it moves. True: it had to be ended. */
static bool await(pid_t child, int fd, struct shared *shared, double timeout_s, int *status)
{
    int64_t beat = -1, moved_at = 0;
    bool late = false;
    for (;;) {
        struct pollfd hang_up = {.fd = fd};
        poll(&hang_up, 1, LOOK_EVERY_MS);
        pid_t gone = waitpid(child, status, late ? 0 : WNOHANG);
        if (gone == child || (gone < 0 && errno != EINTR))
            return late;
        int64_t now = assay_clock_ns(), seen = atomic_load(&shared->beat);
        if (seen != beat) {
            beat = seen;
            moved_at = now;
        } else if (!late && (double)(now - moved_at) > timeout_s * 1e9) {
            kill(child, SIGKILL);
            late = true;
        }
    }
}

/* What became of the case that was running when the child ended. */
static void tell(struct assay_case_figures *figures, bool late, int status, double timeout_s)
{
    figures->outcome = late ? ASSAY_OUTCOME_TIMEOUT : ASSAY_OUTCOME_CRASHED;
    if (late)
        snprintf(figures->reason, sizeof figures->reason, "a call did not end within %g s",
                 timeout_s);
    else if (WIFSIGNALED(status))
        snprintf(figures->reason, sizeof figures->reason, "%s ended its process",
                 assay_signal_name(WTERMSIG(status)));
    else
        snprintf(figures->reason, sizeof figures->reason, "it ended its process, with status %d",
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* One child. True: all that were left are done. */
static bool attempt(struct assay_open_session *session, const struct assay_case *cases, int64_t n,
                    struct shared *shared, struct assay_error *err)
{
    int ends[2], status = 0;
    atomic_store(&shared->running, -1);
    if (pipe(ends) != 0) {
        shared->status = assay_error_set(err, ASSAY_ERR_IO, NULL, "no pipe: %s", strerror(errno));
        return true;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(session, cases, n, shared);
    }
    close(ends[1]);
    if (child < 0)
        shared->status =
            assay_error_set(err, ASSAY_ERR_IO, NULL, "cannot start a process: %s", strerror(errno));
    bool late = child > 0 && await(child, ends[0], shared, session->how.timeout_s, &status);
    close(ends[0]);
    if (child < 0 || atomic_load(&shared->complete))
        return true;
    int64_t at = atomic_load(&shared->running);
    if (at >= 0 && at < n) {
        tell(&shared->figures[at], late, status, session->how.timeout_s);
        return false;
    }
    shared->status = assay_error_set(err, ASSAY_ERR_INTERNAL, NULL,
                                     "the process of the cases ended, and not by one of them");
    return true;
}

enum assay_status assay_cases_isolate(struct assay_open_session *session,
                                      const struct assay_case *cases, int64_t n,
                                      struct assay_case_figures *figures, struct assay_error *err)
{
    size_t bytes = sizeof(struct shared) + (size_t)n * sizeof *figures;
    struct shared *shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return assay_error_nomem(err);
    /* At most one case is given up in each attempt; the others start afresh in the next. */
    while (!attempt(session, cases, n, shared, err))
        ;
    memcpy(figures, shared->figures, (size_t)n * sizeof *figures);
    enum assay_status status = shared->status;
    if (status != ASSAY_OK)
        assay_error_set(err, status, shared->err.where, "%s", shared->err.message);
    munmap(shared, bytes);
    return status;
}
