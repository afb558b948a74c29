#include "runner/runner.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "device/cpu/cpu_info.h"
#include "kernel/host.h"
#include "runner/oom.h"
#include "runner/python.h"
#include "runner/sandbox.h"
#include "runner/traces.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_MS = 100,
    KEPT = 4096,          /* bytes of what it printed */
    WORDS = 160,          /* its last ones */
    PROCESSES_MOST = 256, /* that it may start */
    LOOKS = 10,
};
static const int64_t LOOK_NS = 2000000;
static const int64_t RETURN_NS = 300000; /* its first thread goes back to waiting for a command */

struct assay_runner {
    pid_t pid;
    int fd, output; /* the socket, and the pipe it prints into; -1: closed */
    int waits[2];   /* of its first thread and of ours: how long they were ready without a core */
    int64_t oom_kills;
    char *words; /* shared: why it ended itself */
    struct assay_runner_options options;
    uint64_t number;
    double wall_ns, worked_ns, idle_ns;
    bool resting;
    enum assay_runner_end end;
    char reason[192];
    char printed[KEPT];
    size_t n_printed;
    char confined[160];
};

/* ---- the end ---- */

static void let_go(assay_runner *r)
{
    if (r->fd >= 0)
        close(r->fd);
    if (r->output >= 0)
        close(r->output);
    for (int i = 0; i < 2; i++)
        if (r->waits[i] >= 0)
            close(r->waits[i]);
    r->fd = r->output = r->waits[0] = r->waits[1] = -1;
    r->pid = 0;
}

static void read_output(assay_runner *r)
{
    char bytes[4096];
    ssize_t n;
    while (r->output >= 0 && (n = read(r->output, bytes, sizeof bytes)) > 0) {
        size_t room = sizeof r->printed - 1 - r->n_printed;
        size_t kept = (size_t)n < room ? (size_t)n : room;
        memcpy(r->printed + r->n_printed, bytes, kept);
        r->n_printed += kept;
    }
}

static void end_process(assay_runner *r, int *how)
{
    *how = 0;
    kill(-r->pid, SIGKILL);
    kill(r->pid, SIGKILL);
    while (waitpid(r->pid, how, 0) < 0 && errno == EINTR)
        ;
    read_output(r);
    let_go(r);
}

static void note_end(assay_runner *r, enum assay_runner_end end, const char *reason)
{
    r->end = end;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
}

/* A dying process closes its files before it is gone. 0: it lives. */
static pid_t await_end(const assay_runner *r, int *how, struct rusage *usage)
{
    pid_t ended = 0;
    for (int i = 0; i < 600 && ended == 0; i++) {
        ended = wait4(r->pid, how, WNOHANG, usage);
        if (ended == 0)
            usleep(5000);
    }
    return ended;
}

/* It held about all it was allowed to, or the system counts one more process that it killed for
 * memory: what a kernel does without the memory it asked for is up to the kernel. */
static bool ran_out_of_memory(const assay_runner *r, int how, const struct rusage *usage)
{
    if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL)
        return r->oom_kills >= 0 && assay_oom_kills("") > r->oom_kills;
    return (double)usage->ru_maxrss * 1024 >= 0.8 * (double)r->options.memory_bytes;
}

static void tell_end(assay_runner *r, int how, const struct rusage *usage)
{
    char text[WORDS + 1], held[32];
    bool killed = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
    if (r->words[0]) {
        snprintf(text, sizeof text, "%.*s", WORDS, r->words); /* whoever wrote them */
        note_end(r, ASSAY_RUNNER_CRASHED, text);
    } else if (ran_out_of_memory(r, how, usage)) {
        assay_text_bytes((double)usage->ru_maxrss * 1024, held, sizeof held);
        snprintf(text, sizeof text, "its process ended holding %s", held);
        note_end(r, ASSAY_RUNNER_NO_MEMORY, text);
    } else if (killed) {
        note_end(r, ASSAY_RUNNER_KILLED, "SIGKILL from outside; --resume measures it again");
    } else if (WIFSIGNALED(how)) {
        snprintf(text, sizeof text, "SIG%s",
                 sigabbrev_np(WTERMSIG(how)) ? sigabbrev_np(WTERMSIG(how)) : "?");
        note_end(r, ASSAY_RUNNER_CRASHED, text);
    } else {
        snprintf(text, sizeof text, "it ended the process with exit code %d", WEXITSTATUS(how));
        note_end(r, ASSAY_RUNNER_CRASHED, text);
    }
}

/* It is gone, or hung up. */
static void take_end(assay_runner *r)
{
    struct rusage usage = {0};
    int how = 0;
    if (await_end(r, &how, &usage) == 0) {
        note_end(r, ASSAY_RUNNER_CHEATED, "it closed the line on which it is asked to run");
        end_process(r, &how);
        return;
    }
    tell_end(r, how, &usage);
    read_output(r);
    kill(-r->pid, SIGKILL);
    let_go(r);
}

void assay_runner_condemn(assay_runner *r, const char *reason)
{
    int how;
    if (r->end != ASSAY_RUNNER_ALIVE)
        return;
    note_end(r, ASSAY_RUNNER_CHEATED, reason);
    end_process(r, &how);
}

static void end_as(assay_runner *r, enum assay_runner_end end, const char *reason)
{
    int how;
    note_end(r, end, reason);
    end_process(r, &how);
}

void assay_runner_stop(assay_runner *r)
{
    int how;
    if (!r)
        return;
    if (r->pid > 0)
        end_process(r, &how);
    if (r->words)
        munmap(r->words, WORDS);
    assay_free(r);
}

/* ---- the beginning ---- */

struct ends {
    int socket[2], output[2], words;
};

static void close_ends(struct ends *e)
{
    int *all[] = {&e->socket[0], &e->socket[1], &e->output[0], &e->output[1], &e->words};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (*all[i] >= 0)
            close(*all[i]);
}

static bool open_ends(struct ends *e, char **words)
{
    *e = (struct ends){{-1, -1}, {-1, -1}, -1};
    void *page = MAP_FAILED;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, e->socket) == 0 &&
        pipe2(e->output, O_CLOEXEC) == 0 &&
        (e->words = memfd_create("assay-words", MFD_CLOEXEC)) >= 0 &&
        ftruncate(e->words, WORDS) == 0)
        page = mmap(NULL, WORDS, PROT_READ | PROT_WRITE, MAP_SHARED, e->words, 0);
    *words = page == MAP_FAILED ? NULL : page;
    return *words;
}

/* What the child becomes. */
struct runner_program {
    const char *path;
    char *arguments[6], **environment;
};

static struct runner_program program_of(const struct assay_runner_options *o, char **environment)
{
    /* An interpreter learns of its virtual environment by its first argument. -B: it leaves no
     * compiled files, neither beside a user's nor where the next one would take them for ours. */
    const char *const python[] = {o->python, "-B", "-c", assay_python_program, o->package};
    const char *const ours[] = {"assay", ASSAY_RUNNER_COMMAND};
    struct runner_program p = {.path = o->python ? o->python : "/proc/self/exe",
                               .environment = environment};
    if (o->python) /* exec changes none of them */
        memcpy(p.arguments, python, sizeof python);
    else
        memcpy(p.arguments, ours, sizeof ours);
    return p;
}

/* After fork, in the child. Each end is first moved out of the way of the others' new numbers. */
static _Noreturn void become_runner(const struct ends *e, const struct assay_confinement *c,
                                    const struct runner_program *program, pid_t judge,
                                    const cpu_set_t *cores)
{
    enum { ASIDE = 64 };
    int line = fcntl(e->socket[1], F_DUPFD, ASIDE), output = fcntl(e->output[1], F_DUPFD, ASIDE);
    int words = fcntl(e->words, F_DUPFD, ASIDE), nothing = open("/dev/null", O_RDONLY);
    if (nothing != 0)
        dup2(nothing, 0);
    dup2(output, 1);
    dup2(output, 2);
    dup2(line, ASSAY_RUNNER_FD);
    dup2(words, ASSAY_RUNNER_WORDS_FD);
    sched_setaffinity(0, sizeof *cores, cores);
    assay_confine_before_exec(c, judge);
    execve(program->path, program->arguments, program->environment);
    _exit(127);
}

static void open_waits(assay_runner *r)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)r->pid);
    r->waits[0] = open(path, O_RDONLY | O_CLOEXEC);
    r->waits[1] = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    r->oom_kills = assay_oom_kills("");
}

/* The judge's side, once there is a process; the other ends are closed here. */
static void take_ends(assay_runner *r, struct ends *ends)
{
    r->fd = ends->socket[0];
    r->output = ends->output[0];
    ends->socket[0] = ends->output[0] = -1;
    fcntl(r->output, F_SETFL, O_NONBLOCK);
    open_waits(r);
}

static enum assay_status not_started(int problem, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_IO, NULL, "cannot start a runner: %s%s",
                           strerror(problem), problem == EMFILE ? " (ulimit -n)" : "");
}

static enum assay_status spawn(assay_runner *r, const struct assay_confinement *confinement,
                               struct assay_error *err)
{
    /* The threads of one variant must not spin on the cores that the next one is measured on:
     * libgomp's would, for some 7 ms after each call. This is about 50 us. Those of a stranger's
     * libomp would for 200 ms; it counts in milliseconds. And torch.compile would start a pool of
     * processes, busy for seconds after it has compiled by itself. */
    static const char *const passive[] = {"GOMP_SPINCOUNT=2000", "KMP_BLOCKTIME=1",
                                          "TORCHINDUCTOR_COMPILE_THREADS=1", NULL};
    struct ends ends;
    char **environment = assay_confine_environment(passive);
    pid_t judge = getpid();
    cpu_set_t cores;
    if (sched_getaffinity(getppid(), sizeof cores, &cores) != 0) /* nobody pinned that one */
        sched_getaffinity(0, sizeof cores, &cores);
    assay_descendants_adopt();
    struct runner_program program = program_of(&r->options, environment);
    bool opened = environment && open_ends(&ends, &r->words);
    r->pid = opened ? fork() : -1;
    if (opened && r->pid == 0)
        become_runner(&ends, confinement, &program, judge, &cores);
    int problem = errno;
    assay_free(environment);
    if (r->pid > 0)
        take_ends(r, &ends);
    if (environment)
        close_ends(&ends);
    if (r->pid > 0)
        return ASSAY_OK;
    r->pid = 0;
    return environment ? not_started(problem, err) : assay_error_nomem(err);
}

/* After fork, in the child. What it prints is the caller's own. */
static _Noreturn void become_copy(struct ends *e, pid_t judge, void (*live)(void *, int),
                                  void *user, assay_runner *const *others, int64_t n_others)
{
    int line = e->socket[1];
    e->socket[1] = -1;
    close_ends(e);
    for (int64_t i = 0; i < n_others; i++)
        if (others[i])
            let_go(others[i]);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == judge) /* it did not die before we asked to be told */
        live(user, line);
    _exit(0); /* the caller's exit handlers and buffers are the caller's */
}

static enum assay_status open_device(assay_runner *r, const char *device, int32_t threads,
                                     struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_DEVICE};
    struct assay_runner_reply reply;
    snprintf(c.device.name, sizeof c.device.name, "%s", device);
    c.device.threads = threads;
    return device[0] ? assay_runner_ask(r, &c, &reply, err) : ASSAY_OK;
}

/* The longest of a few, so that it is an upper bound in quiet times. */
static enum assay_status measure_idle(assay_runner *r, struct assay_error *err)
{
    enum { PINGS = 5 };
    enum assay_status status = ASSAY_OK;
    for (int i = 0; i < PINGS && status == ASSAY_OK; i++) {
        struct assay_runner_command c = {.verb = ASSAY_RUNNER_PING};
        struct assay_runner_reply reply;
        status = assay_runner_ask(r, &c, &reply, err);
        if (i > 0 && r->worked_ns > r->idle_ns)
            r->idle_ns = r->worked_ns;
    }
    return status;
}

/* The two commands that name the object. */
static enum assay_status ask_of_object(assay_runner *r, enum assay_runner_verb verb,
                                       const char *path, bool gpu, struct assay_runner_reply *reply,
                                       struct assay_error *err)
{
    struct assay_runner_command c = {.verb = verb};
    if (snprintf(c.load.path, sizeof c.load.path, "%s", path) >= (int)sizeof c.load.path)
        return assay_error_set(err, ASSAY_ERR_INVALID, path, "the path is too long");
    c.load.memory_bytes = r->options.memory_bytes;
    c.load.sandbox = r->options.sandbox;
    c.load.mute = r->options.mute;
    c.load.gpu = gpu;
    return assay_runner_ask(r, &c, reply, err);
}

static bool is_gpu(const char *device) { return device[0] && !assay_device_is_host(device); }

enum assay_status assay_runner_open(assay_runner *r, const char *path, const char *device,
                                    int32_t threads, struct assay_error *err)
{
    struct assay_runner_reply reply;
    bool gpu = is_gpu(device);
    enum assay_status status = ask_of_object(r, ASSAY_RUNNER_CONFINE, path, gpu, &reply, err);
    snprintf(r->confined, sizeof r->confined, "%s", reply.text);
    if (status == ASSAY_OK)
        status = open_device(r, device, threads, err);
    if (status == ASSAY_OK)
        status = measure_idle(r, err);
    return status == ASSAY_OK ? ask_of_object(r, ASSAY_RUNNER_LOAD, path, gpu, &reply, err)
                              : status;
}

bool assay_runner_has_guest(const assay_runner *r) { return r->options.python != NULL; }

void assay_runner_reuse(assay_runner *r, const struct assay_runner_options *options)
{
    r->options.timeout_s = options->timeout_s;
    r->options.beat = options->beat;
    r->options.user = options->user;
    r->n_printed = 0;
    memset(r->printed, 0, sizeof r->printed);
}

static assay_runner *create(const struct assay_runner_options *options)
{
    assay_runner *r = assay_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->options = *options;
    if (r->options.memory_bytes <= 0)
        r->options.memory_bytes = (int64_t)(assay_cpu_memory_available() / 20 * 19);
    r->fd = r->output = r->waits[0] = r->waits[1] = -1;
    return r;
}

enum assay_status assay_runner_fork(const struct assay_runner_options *options,
                                    void (*live)(void *user, int line), void *user,
                                    assay_runner *const *others, int64_t n_others,
                                    assay_runner **out, struct assay_error *err)
{
    struct ends ends;
    pid_t judge = getpid();
    assay_runner *r = create(options);
    *out = NULL;
    if (!r)
        return assay_error_nomem(err);
    r->pid = open_ends(&ends, &r->words) ? fork() : -1;
    if (r->pid == 0)
        become_copy(&ends, judge, live, user, others, n_others);
    int problem = errno;
    if (r->pid > 0) {
        setpgid(r->pid, r->pid); /* whoever of the two is first */
        take_ends(r, &ends);
    }
    close_ends(&ends);
    r->pid = r->pid > 0 ? r->pid : 0;
    enum assay_status status = r->pid > 0 ? measure_idle(r, err) : not_started(problem, err);
    if (status == ASSAY_OK)
        *out = r;
    else
        assay_runner_stop(r);
    return status;
}

enum assay_status assay_runner_launch(const struct assay_runner_options *options,
                                      const char *device, assay_runner **out,
                                      struct assay_error *err)
{
    assay_runner *r = create(options);
    *out = NULL;
    if (!r)
        return assay_error_nomem(err);
    struct assay_confinement confinement = {.sandbox = options->sandbox,
                                            .mute = options->mute,
                                            .gpu = is_gpu(device),
                                            .memory_bytes = r->options.memory_bytes};
    enum assay_status status = spawn(r, &confinement, err);
    if (status == ASSAY_OK)
        *out = r;
    else
        assay_runner_stop(r);
    return status;
}

enum assay_status assay_runner_start(const struct assay_runner_options *options, const char *path,
                                     const char *device, int32_t threads, assay_runner **out,
                                     enum assay_runner_end *end, struct assay_error *err)
{
    *end = ASSAY_RUNNER_ALIVE;
    enum assay_status status = assay_runner_launch(options, device, out, err);
    if (status == ASSAY_OK)
        status = assay_runner_open(*out, path, device, threads, err);
    if (status != ASSAY_OK && *out) {
        *end = assay_runner_end_of(*out);
        assay_runner_stop(*out);
        *out = NULL;
    }
    return status;
}

/* ---- turns ---- */

/* Stopped means that all of its threads are: the system tells when the last one is. */
static void put_to_rest(assay_runner *r)
{
    siginfo_t info = {0};
    if (kill(-r->pid, SIGSTOP) != 0 && kill(r->pid, SIGSTOP) != 0)
        return;
    while (waitid(P_PID, (id_t)r->pid, &info, WSTOPPED | WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    if (info.si_code == CLD_STOPPED)
        waitid(P_PID, (id_t)r->pid, &info, WSTOPPED | WNOHANG);
    r->resting = info.si_code == CLD_STOPPED;
}

static void wake(assay_runner *r)
{
    if (r->resting && kill(-r->pid, SIGCONT) != 0)
        kill(r->pid, SIGCONT);
    r->resting = false;
}

/* Nothing may be on the line that was not asked for. */
static bool line_is_clear(assay_runner *r)
{
    char byte;
    ssize_t n = recv(r->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC);
    return n <= 0;
}

/* One message; false: there is none that could be the reply. */
static bool take_reply(assay_runner *r, struct assay_runner_reply *reply)
{
    struct iovec place = {.iov_base = reply, .iov_len = sizeof *reply};
    struct msghdr message = {.msg_iov = &place, .msg_iovlen = 1};
    ssize_t n = recvmsg(r->fd, &message, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        take_end(r);
        return false;
    }
    bool right = n == (ssize_t)sizeof *reply && !(message.msg_flags & MSG_TRUNC) &&
                 reply->version == ASSAY_RUNNER_VERSION && reply->number == r->number;
    if (n > 0 && !right)
        end_as(r, ASSAY_RUNNER_CHEATED, "it wrote on the line that only its runner may answer on");
    if (right) {
        reply->err.where[sizeof reply->err.where - 1] = '\0';
        reply->err.message[sizeof reply->err.message - 1] = '\0';
        reply->text[sizeof reply->text - 1] = '\0';
    }
    return right;
}

static bool send_command(assay_runner *r, const struct assay_runner_command *command)
{
    ssize_t n;
    do
        n = send(r->fd, command, sizeof *command, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        take_end(r);
    return n == (ssize_t)sizeof *command;
}

/* Some times a second, while a command runs. False: it is to be no longer. */
static bool look_after(assay_runner *r, int64_t began_ns)
{
    char text[96];
    if (r->options.beat && r->options.beat(r->options.user)) {
        end_as(r, ASSAY_RUNNER_KILLED, "interrupted");
        return false;
    }
    if ((double)(assay_clock_ns() - began_ns) > r->options.timeout_s * 1e9) {
        snprintf(text, sizeof text, "no answer within %g s (--timeout)", r->options.timeout_s);
        end_as(r, ASSAY_RUNNER_TIMEOUT, text);
        return false;
    }
    if (assay_descendants_count(r->pid) > PROCESSES_MOST) {
        snprintf(text, sizeof text, "it started more than %d processes", PROCESSES_MOST);
        end_as(r, ASSAY_RUNNER_CRASHED, text);
        return false;
    }
    return true;
}

/* "ran waited slices", in ns. */
static int64_t waited_ns(const assay_runner *r)
{
    int64_t sum = 0;
    for (int i = 0; i < 2; i++) {
        char line[96];
        ssize_t n = r->waits[i] >= 0 ? pread(r->waits[i], line, sizeof line - 1, 0) : -1;
        const char *second = n > 0 ? memchr(line, ' ', (size_t)n) : NULL;
        if (!second)
            return 0;
        line[n] = '\0';
        sum += strtoll(second, NULL, 10);
    }
    return sum;
}

static bool await_reply(assay_runner *r, struct assay_runner_reply *reply, int64_t began_ns)
{
    int64_t looked_ns = began_ns;
    for (;;) {
        struct pollfd ready[] = {{.fd = r->fd, .events = POLLIN},
                                 {.fd = r->output, .events = POLLIN}};
        int n = poll(ready, 2, TICK_MS);
        if (n > 0 && ready[0].revents && take_reply(r, reply)) {
            r->wall_ns = (double)(assay_clock_ns() - began_ns);
            return true;
        }
        if (r->end != ASSAY_RUNNER_ALIVE)
            return false;
        if (n > 0 && ready[1].revents & POLLIN)
            read_output(r);
        else if (n > 0 && ready[1].revents) { /* it closed its standard streams */
            close(r->output);
            r->output = -1;
        }
        int64_t now = assay_clock_ns();
        if (now - looked_ns < TICK_MS * 1000000)
            continue;
        looked_ns = now;
        if (!look_after(r, began_ns))
            return false;
    }
}

static enum assay_status gone(const assay_runner *r, struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_FAILED, NULL, "%s", r->reason);
}

enum assay_status assay_runner_ask(assay_runner *r, struct assay_runner_command *command,
                                   struct assay_runner_reply *reply, struct assay_error *err)
{
    *reply = (struct assay_runner_reply){0};
    if (r->end != ASSAY_RUNNER_ALIVE)
        return gone(r, err);
    if (!line_is_clear(r)) {
        end_as(r, ASSAY_RUNNER_CHEATED, "it wrote on the line that only its runner may answer on");
        return gone(r, err);
    }
    command->version = ASSAY_RUNNER_VERSION;
    command->number = ++r->number;
    int64_t waited = waited_ns(r);
    wake(r);
    int64_t began_ns = assay_clock_ns();
    if (!send_command(r, command) || !await_reply(r, reply, began_ns))
        return gone(r, err);
    r->worked_ns = r->wall_ns - (double)(waited_ns(r) - waited);
    put_to_rest(r);
    read_output(r);
    enum assay_status status = (enum assay_status)reply->status;
    if (status != ASSAY_OK)
        assay_error_set(err, status, reply->err.where[0] ? reply->err.where : NULL, "%s",
                        reply->err.message);
    return status;
}

pid_t assay_runner_pid(const assay_runner *r) { return r->pid; }
double assay_runner_wall_ns(const assay_runner *r) { return r->wall_ns; }
double assay_runner_worked_ns(const assay_runner *r) { return r->worked_ns; }
enum assay_runner_end assay_runner_end_of(const assay_runner *r) { return r->end; }
const char *assay_runner_reason(const assay_runner *r) { return r->reason; }
const char *assay_runner_printed(const assay_runner *r) { return r->printed; }
const char *assay_runner_confined(const assay_runner *r) { return r->confined; }

/* ---- what is asked ---- */

void assay_runner_put_problem(struct assay_runner_command *c, const struct assay_kernel *kernel,
                              const struct assay_problem *problem)
{
    snprintf(c->kernel, sizeof c->kernel, "%s", kernel->name);
    c->problem.has_problem = problem;
    if (!problem)
        return;
    c->problem.problem = *problem;
    c->problem.problem.op = c->problem.problem.recipe = NULL;
    c->problem.problem.host = NULL;
    c->problem.autotune = problem->host && problem->host->autotune;
    snprintf(c->problem.op, sizeof c->problem.op, "%s", problem->op);
    c->problem.has_recipe = problem->recipe;
    if (problem->recipe)
        snprintf(c->problem.recipe, sizeof c->problem.recipe, "%s", problem->recipe);
}

/* ---- is it at work? ---- */

static void sleep_ns(int64_t ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

void assay_runner_wake(assay_runner *r)
{
    if (r->end == ASSAY_RUNNER_ALIVE)
        wake(r);
}

void assay_runner_rest(assay_runner *r)
{
    if (r->end == ASSAY_RUNNER_ALIVE)
        put_to_rest(r);
}

void assay_runner_let_run(assay_runner *r, int64_t ns)
{
    if (r->end != ASSAY_RUNNER_ALIVE)
        return;
    wake(r);
    sleep_ns(ns);
    put_to_rest(r);
}

double assay_runner_idle_ns(const assay_runner *r) { return r->idle_ns; }

double assay_runner_busy_cores(assay_runner *r)
{
    if (r->end != ASSAY_RUNNER_ALIVE)
        return 0;
    wake(r);
    sleep_ns(RETURN_NS);
    double busy = assay_traces_busy_threads_of(r->pid);
    int64_t others = busy > 0 ? 0 : assay_descendants_running(r->pid);
    for (int i = 0; i < LOOKS && others > 0; i++) { /* at work all the time, or just now? */
        sleep_ns(LOOK_NS);
        int64_t now = assay_descendants_running(r->pid);
        others = now < others ? now : others;
    }
    busy += (double)others;
    put_to_rest(r);
    return busy;
}
