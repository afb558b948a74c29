#include "repo/process.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* Takes the word over. */
static void take(struct assay_arguments *arguments, char *word)
{
    char **items =
        word ? assay_realloc(arguments->items, (size_t)arguments->n + 2, sizeof *items) : NULL;
    if (!items) {
        assay_free(word);
        arguments->failed = true;
        return;
    }
    arguments->items = items;
    items[arguments->n++] = word;
    items[arguments->n] = NULL;
}

void assay_arguments_add(struct assay_arguments *arguments, const char *word)
{
    take(arguments, assay_strdup(word));
}

void assay_arguments_add_all(struct assay_arguments *arguments, const char *const *words)
{
    for (; words && *words; words++)
        assay_arguments_add(arguments, *words);
}

void assay_arguments_format(struct assay_arguments *arguments, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *word = length < 0 ? NULL : assay_calloc((size_t)length + 1, 1);
    if (word)
        vsnprintf(word, (size_t)length + 1, fmt, again);
    va_end(again);
    take(arguments, word);
}

void assay_arguments_split(struct assay_arguments *arguments, const char *text)
{
    static const char blanks[] = " \t\r\n";
    for (;;) {
        text += strspn(text, blanks);
        size_t length = strcspn(text, blanks);
        if (length == 0)
            return;
        assay_arguments_format(arguments, "%.*s", (int)length, text);
        text += length;
    }
}

void assay_arguments_fini(struct assay_arguments *arguments)
{
    for (int64_t i = 0; i < arguments->n; i++)
        assay_free(arguments->items[i]);
    assay_free(arguments->items);
    *arguments = (struct assay_arguments){0};
}

static bool needs_no_quotes(const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-_./=+,:@%";
    return word[0] && word[strspn(word, plain)] == '\0';
}

void assay_arguments_shown(const struct assay_arguments *arguments, struct assay_text *out)
{
    for (int64_t i = 0; i < arguments->n; i++) {
        const char *word = arguments->items[i];
        if (i > 0)
            assay_text_add(out, " ");
        if (needs_no_quotes(word)) {
            assay_text_add(out, word);
            continue;
        }
        assay_text_add(out, "'");
        for (; *word; word++)
            if (*word == '\'')
                assay_text_add(out, "'\\''");
            else
                assay_text_append(out, word, 1);
        assay_text_add(out, "'");
    }
}

/* ---- finding --------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode) && access(path, X_OK) == 0;
}

/* It is started from another folder, in which the same path may be somebody else's program. */
static void add_absolute(const char *path, struct assay_text *out)
{
    char here[PATH_MAX];
    if (path[0] != '/' && getcwd(here, sizeof here))
        assay_text_format(out, "%s/", here);
    assay_text_add(out, path);
}

bool assay_process_find(const char *name, struct assay_text *out)
{
    if (strchr(name, '/')) {
        if (!is_program(name))
            return false;
        add_absolute(name, out);
        return !out->failed;
    }
    const char *path = getenv("PATH");
    size_t before = out->length;
    for (const char *at = path && name[0] ? path : NULL; at;) {
        size_t length = strcspn(at, ":");
        if (at[0] == '/') { /* what lies in the current folder, nobody means */
            assay_text_format(out, "%.*s/%s", (int)length, at, name);
            if (out->failed || is_program(out->data + before))
                return !out->failed;
            out->length = before;
            out->data[before] = '\0';
        }
        at = at[length] ? at + length + 1 : NULL;
    }
    return false;
}

/* ---- the child ------------------------------------------------------------------------------- */

/* Signals that ask us to stop and are not ignored. */
static void stop_signals(sigset_t *set)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction action;
        if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
    }
}

/* Is this variable named in the list, to be set or taken away? */
static bool is_changed(const char *variable, const char *const *changes)
{
    size_t length = strcspn(variable, "=");
    for (; changes && *changes; changes++)
        if (strcspn(*changes, "=") == length && strncmp(*changes, variable, length) == 0)
            return true;
    return false;
}

/* Our environment with the changes, built before fork: afterwards memory must not be allocated. */
static void make_environment(const char *const *changes, struct assay_arguments *out)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (!is_changed(*variable, changes))
            assay_arguments_add(out, *variable);
    for (; changes && *changes; changes++)
        if (strchr(*changes, '='))
            assay_arguments_add(out, *changes);
}

/* After fork. Failures are reported through the pipe `told`, which a successful exec closes.
 */
static void become_program(const struct assay_process *process, char **environment,
                           const sigset_t *signals, int out, int err, int told, pid_t parent)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    dup2(nothing, STDIN_FILENO);
    dup2(out >= 0 ? out : nothing, STDOUT_FILENO);
    dup2(err >= 0 ? err : nothing, STDERR_FILENO);
    sigprocmask(SIG_UNBLOCK, signals, NULL);
    if (getppid() != parent) /* it died before we asked to be told */
        _exit(127);
    if (!process->folder || chdir(process->folder) == 0)
        execve(process->arguments->items[0], process->arguments->items, environment);
    int problem = errno;
    ssize_t written = write(told, &problem, sizeof problem);
    _exit(written < 0 ? 126 : 127);
}

/* A program that is running. */
struct running {
    pid_t pid;
    int signals;  /* a signalfd */
    int pipes[2]; /* what it prints: out, err; -1 once closed */
    struct assay_text *texts[2];
};

static void close_all(int *fds, int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
}

/* 0, or the errno of what the child could not do. */
static int hear_of_start(int told)
{
    int problem = 0;
    ssize_t got;
    while ((got = read(told, &problem, sizeof problem)) < 0 && errno == EINTR)
        ;
    return got == sizeof problem ? problem : 0;
}

static enum assay_status cannot_start(const struct assay_process *process, int problem,
                                      struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_IO, process->arguments->items[0], "cannot be started: %s",
                           strerror(problem));
}

static enum assay_status start(const struct assay_process *process, char **environment,
                               const sigset_t *signals, struct running *r, struct assay_error *err)
{
    bool together = process->out && process->out == process->err;
    int fds[6] = {-1, -1, -1, -1, -1, -1}; /* out, err, told: reading and writing ends */
    int problem = 0;
    pid_t self = getpid();
    r->signals = signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signals < 0 || pipe2(fds, O_CLOEXEC) != 0 ||
        (!together && pipe2(fds + 2, O_CLOEXEC) != 0) || pipe2(fds + 4, O_CLOEXEC) != 0 ||
        (r->pid = fork()) < 0)
        problem = errno;
    else if (r->pid == 0)
        become_program(process, environment, signals, fds[1], together ? fds[1] : fds[3], fds[5],
                       self);
    if (!problem) {
        close_all(fds + 1, 1);
        close_all(fds + 3, 1);
        close_all(fds + 5, 1);
        problem = hear_of_start(fds[4]);
        if (problem)
            while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
                ;
    }
    if (problem) {
        close_all(fds, 6);
        return cannot_start(process, problem, err);
    }
    close_all(fds + 4, 1);
    for (int i = 0; i < 2; i++) {
        r->pipes[i] = fds[2 * i];
        r->texts[i] = i == 0 ? process->out : process->err;
        if (r->pipes[i] >= 0)
            fcntl(r->pipes[i], F_SETFL, O_NONBLOCK);
    }
    return ASSAY_OK;
}

/* ---- listening ------------------------------------------------------------------------------- */

/* Reads what there is. */
static void drain(struct running *r)
{
    char bytes[16384];
    for (int i = 0; i < 2; i++) {
        ssize_t got = 0;
        while (r->pipes[i] >= 0 && (got = read(r->pipes[i], bytes, sizeof bytes)) > 0) {
            size_t room = r->texts[i] && r->texts[i]->length < ASSAY_PROCESS_OUTPUT
                              ? ASSAY_PROCESS_OUTPUT - r->texts[i]->length
                              : 0;
            if (room > 0)
                assay_text_append(r->texts[i], bytes, (size_t)got < room ? (size_t)got : room);
        }
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            close_all(&r->pipes[i], 1);
    }
}

/* Waits for something to happen, `ms` at the most. */
static bool wait_and_drain(struct running *r, int ms)
{
    struct pollfd fds[3] = {{.fd = r->pipes[0], .events = POLLIN},
                            {.fd = r->pipes[1], .events = POLLIN},
                            {.fd = r->signals, .events = POLLIN}};
    struct signalfd_siginfo signal;
    poll(fds, 3, ms);
    drain(r);
    return read(r->signals, &signal, sizeof signal) != sizeof signal;
}

/* True once it has ended. While it prints, its pipes tell of its end; once they are closed, or kept
 * open by something it left behind, its status is polled. */
static bool has_ended(const struct running *r, int *how)
{
    pid_t gone = waitpid(r->pid, how, WNOHANG);
    return gone == r->pid || (gone < 0 && errno != EINTR);
}

/* With all it started: it leads a session and a group of its own. */
static void end_it(const struct running *r)
{
    int how;
    kill(-r->pid, SIGKILL);
    kill(r->pid, SIGKILL); /* in case it has not got to setsid */
    while (waitpid(r->pid, &how, 0) < 0 && errno == EINTR)
        ;
}

static enum assay_status listen_to(struct running *r, double limit_s, struct assay_process_end *end,
                                   struct assay_error *err)
{
    enum { LONGEST_NAP_MS = 50 };
    int how = 0, nap = 1;
    int64_t last = assay_clock_ns() + (int64_t)(limit_s * 1e9);
    while (!has_ended(r, &how)) {
        bool printing = r->pipes[0] >= 0 || r->pipes[1] >= 0;
        if (!wait_and_drain(r, printing ? LONGEST_NAP_MS : nap)) {
            end_it(r);
            return assay_error_set(err, ASSAY_ERR_INTERRUPTED, NULL, "interrupted");
        }
        if (assay_clock_ns() > last) {
            end_it(r);
            *end = (struct assay_process_end){.timed_out = true, .signal = SIGKILL};
            return ASSAY_OK;
        }
        if (!printing && nap < LONGEST_NAP_MS)
            nap *= 2;
    }
    drain(r);
    end->signal = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    end->exit_code = WIFEXITED(how) ? WEXITSTATUS(how) : 0;
    return ASSAY_OK;
}

void assay_process_hold(struct assay_process_hold *hold)
{
    sigset_t signals;
    stop_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, &hold->before);
}

void assay_process_release(const struct assay_process_hold *hold)
{
    pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
}

enum assay_status assay_process_run(const struct assay_process *process,
                                    struct assay_process_end *end, struct assay_error *err)
{
    struct running r = {.signals = -1, .pipes = {-1, -1}};
    struct assay_arguments environment = {0};
    struct assay_process_hold hold;
    struct sigaction children, usual = {.sa_handler = SIG_DFL};
    sigset_t signals;
    enum assay_status status = ASSAY_OK;
    *end = (struct assay_process_end){0};
    make_environment(process->environment, &environment);
    if (process->arguments->failed || environment.failed) {
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for a command line");
        goto cleanup;
    }
    stop_signals(&signals);
    assay_process_hold(&hold);
    sigaction(SIGCHLD, NULL, &children);
    if (children.sa_handler == SIG_IGN) /* inherited: nobody would tell us how the program ended */
        sigaction(SIGCHLD, &usual, NULL);
    status = start(process, environment.items, &signals, &r, err);
    if (status == ASSAY_OK)
        status = listen_to(&r, process->limit_s, end, err);
    close_all(r.pipes, 2);
    close_all(&r.signals, 1);
    sigaction(SIGCHLD, &children, NULL);
    assay_process_release(&hold);
    if (status == ASSAY_OK &&
        ((process->out && process->out->failed) || (process->err && process->err->failed)))
        status = assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "no memory for what a program says");
cleanup:
    assay_arguments_fini(&environment);
    return status;
}
