#include "bench/child.h"

#include "base/io.h"
#include "base/sanitizer.h"
#include "runner/oom.h"
#include "runner/sandbox.h"
#include "bench/worker.h"
#include "device/cpu/cpu_info.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long a worker without jobs may take to tidy up: a gigabyte to give back, libraries to close.
 */
enum { STOP_PATIENCE_MS = 3000 };

bool assay_child_alive(const struct assay_child *child) { return child->pid > 0; }

static void release(struct assay_child *child)
{
    if (child->jobs.fd > 0)
        close(child->jobs.fd);
    if (child->events.fd > 0)
        close(child->events.fd);
    if (child->watch)
        munmap(child->watch, sizeof *child->watch);
    assay_text_fini(&child->events.pending);
    *child = (struct assay_child){0};
}

/* The descriptor of a new page, which is mapped; or -1 and errno. */
static int open_watch(struct assay_child *child)
{
    int fd = memfd_create("assay-watch", 0);
    if (fd < 0)
        return -1;
    int problem = assay_io_truncate(fd, sizeof *child->watch);
    void *page = mmap(NULL, sizeof *child->watch, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED || problem) {
        problem = problem ? problem : errno;
        close(fd);
        errno = problem;
        return -1;
    }
    child->watch = page;
    child->watch->version = ASSAY_WATCH_VERSION;
    atomic_store(&child->watch->variant, -1);
    atomic_store(&child->watch->counting, 0);
    return fd;
}

/* After fork, in the child. Its standard output goes to standard error: whatever a kernel prints
 * must not land among the results. Ctrl-C, and what else may be sent to all of a session or a
 * service, is for the supervisor, which then asks us to stop. */
static void become_worker(const char *program, int job_fd, int event_fd, int watch_fd,
                          struct assay_child *child)
{
    char job[16], event[16], watch[16], limit[32];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    snprintf(job, sizeof job, "%d", job_fd);
    snprintf(event, sizeof event, "%d", event_fd);
    snprintf(watch, sizeof watch, "%d", watch_fd);
    snprintf(limit, sizeof limit, "%lld", (long long)child->memory_limit);
    /* The threads of one variant must not spin on the cores that the next one is measured on:
     * libgomp's would, for some 7 ms after each call. This is about 50 us. Those of a plug-in's
     * libomp would for 200 ms; it counts in milliseconds. */
    setenv("GOMP_SPINCOUNT", "2000", 0);
    setenv("KMP_BLOCKTIME", "1", 0);
    execl(program, "assay", ASSAY_CHILD_COMMAND, job, event, watch, limit, (char *)NULL);
    if (errno == ENOMEM)
        atomic_store(&child->watch->no_memory, 1);
    else
        snprintf(child->watch->last_words, sizeof child->watch->last_words,
                 "the worker cannot be started: %s", strerror(errno));
    _exit(127);
}

enum assay_status assay_child_start(struct assay_child *child, const char *program,
                                    int64_t memory_limit, struct assay_error *err)
{
    int jobs[2] = {-1, -1}, events[2] = {-1, -1};
    *child = (struct assay_child){.memory_limit = memory_limit};
    if (memory_limit <= 0)
        child->memory_limit = (int64_t)(assay_cpu_memory_available() / 20 * 19);
    int watch_fd = open_watch(child);
    if (watch_fd < 0 || pipe2(jobs, O_CLOEXEC) != 0 || pipe2(events, O_CLOEXEC) != 0)
        goto failed;
    fcntl(jobs[0], F_SETFD, 0);
    fcntl(events[1], F_SETFD, 0);
    assay_descendants_adopt();
    child->pid = fork();
    if (child->pid < 0)
        goto failed;
    if (child->pid == 0)
        become_worker(program, jobs[0], events[1], watch_fd, child);
    close(watch_fd);
    close(jobs[0]);
    close(events[1]);
    child->jobs.fd = jobs[1];
    child->events.fd = events[0];
    return ASSAY_OK;
failed:
    assay_error_set(err, ASSAY_ERR_IO, NULL, "cannot start a worker: %s%s", strerror(errno),
                    errno == EMFILE ? " (ulimit -n)" : "");
    for (int i = 0; i < 2; i++) {
        if (jobs[i] >= 0)
            close(jobs[i]);
        if (events[i] >= 0)
            close(events[i]);
    }
    if (watch_fd >= 0)
        close(watch_fd);
    child->pid = 0;
    release(child);
    return ASSAY_ERR_IO;
}

enum assay_status assay_child_send(struct assay_child *child, const struct assay_job *job,
                                   struct assay_error *err)
{
    int problem = 0;
    child->oom_kills = assay_oom_kills("");
    enum assay_status status = assay_wire_send(&child->jobs, assay_job_to_json(job), &problem);
    if (status == ASSAY_ERR_NOMEM)
        return assay_error_set(err, status, NULL, "out of memory");
    if (status != ASSAY_OK && problem != EPIPE)
        return assay_error_set(err, status, NULL, "the job cannot be sent: %s", strerror(problem));
    return ASSAY_OK; /* or it died; reading its events will tell how */
}

bool assay_child_read(struct assay_child *child, int timeout_ms,
                      void (*on_line)(void *user, const char *line, size_t length), void *user)
{
    struct pollfd ready = {.fd = child->events.fd, .events = POLLIN};
    int n = poll(&ready, 1, timeout_ms);
    if (n < 0 && errno != EINTR && errno != EAGAIN)
        child->events.problem = errno;
    if (n <= 0)
        return child->events.problem == 0;
    if (!assay_wire_fill(&child->events))
        return false;
    size_t length;
    for (const char *line; (line = assay_wire_line(&child->events, &length));)
        on_line(user, line, length);
    return true;
}

int64_t assay_child_beat(const struct assay_child *child)
{
    return atomic_load(&child->watch->beat);
}

int64_t assay_child_variant(const struct assay_child *child)
{
    return atomic_load(&child->watch->variant);
}

int64_t assay_child_opening(const struct assay_child *child)
{
    return (int64_t)atomic_load(&child->watch->opening) - 1;
}

void assay_child_ask_stop(struct assay_child *child) { atomic_store(&child->watch->stop, 1); }

/* SIGKILL alone is no evidence: users, batch systems and watchdogs send it, too. Any other end is
 * one near the limit: what a kernel does without the memory it asked for is up to the kernel. */
static bool ran_out_of_memory(const struct assay_child *child, const struct assay_child_end *end)
{
    bool begun = atomic_load(&child->watch->beat) > 0;
    if (atomic_load(&child->watch->no_memory) || (!begun && end->exit_code == ASSAY_WORKER_NO_PAGE))
        return true;
    if (end->signal == SIGKILL)
        return child->oom_kills >= 0 && assay_oom_kills("") > child->oom_kills;
    return child->memory_limit > 0 && (double)end->peak_bytes >= 0.8 * (double)child->memory_limit;
}

/* Its end, if it comes within the patience; 0: it lives. */
static pid_t await_end(pid_t pid, int tries, int *status, struct rusage *usage)
{
    pid_t gone = 0;
    for (int i = 0; i < tries && gone == 0; i++) {
        gone = wait4(pid, status, WNOHANG, usage);
        if (gone < 0 && errno == EINTR)
            gone = 0;
        if (gone == 0)
            usleep(5000);
    }
    return gone;
}

void assay_child_kill(struct assay_child *child, struct assay_child_end *end)
{
    int status = 0;
    struct rusage usage = {0};
    *end = (struct assay_child_end){.variant = atomic_load(&child->watch->variant),
                                    .counting = atomic_load(&child->watch->counting) != 0,
                                    .problem = child->events.problem};
    bool killed_by_us = false;
    if (await_end(child->pid, 20, &status, &usage) == 0) { /* it may be dying already */
        killed_by_us = true;
        kill(child->pid, SIGKILL);
        while (wait4(child->pid, &status, 0, &usage) < 0 && errno == EINTR)
            ;
    }
    end->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    end->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    end->peak_bytes = (size_t)usage.ru_maxrss * 1024;
    end->out_of_memory = !killed_by_us && ran_out_of_memory(child, end);
    end->killed = !killed_by_us && end->signal == SIGKILL && !end->out_of_memory;
    snprintf(end->last_words, sizeof end->last_words, "%s", child->watch->last_words);
    release(child);
    assay_descendants_end(NULL, 0); /* what its runners left behind */
}

void assay_child_stop(struct assay_child *child)
{
    if (!assay_child_alive(child))
        return;
    close(child->jobs.fd);
    child->jobs.fd = 0;
    struct pollfd gone = {.fd = child->events.fd}; /* its end hangs up */
    poll(&gone, 1, STOP_PATIENCE_MS);
    struct assay_child_end end;
    assay_child_kill(child, &end);
}

static void limit_memory(int64_t bytes)
{
    if (bytes <= 0 || ASSAY_UNDER_SANITIZER)
        return;
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    setrlimit(RLIMIT_DATA, &limit);
    limit = (struct rlimit){0, 0};
    setrlimit(RLIMIT_CORE, &limit); /* a crash is a row in a table, not a file to clean up */
}

int assay_child_main(int argc, char **argv)
{
    int64_t numbers[4] = {0};
    bool ok = argc == 6;
    for (int i = 0; i < 4 && ok; i++)
        ok = assay_text_int64(argv[2 + i], &numbers[i]) == ASSAY_OK;
    if (!ok) {
        fputs("assay: a worker is started by assay itself, not by hand\n", stderr);
        return 2;
    }
    limit_memory(numbers[3]);
    return assay_worker_main((int)numbers[0], (int)numbers[1], (int)numbers[2]);
}
