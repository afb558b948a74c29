/* cheats_pipe.c: gelu kernels that speak for the harness, listen to what is meant for it, or end
 * its process in ways that look like success. */
#include "cheat.h"

#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <ucontext.h>

enum { FIRST = 3, LAST = 256 };

/* Is it a pipe or a socket, and open this way? */
static bool is_channel(int fd, bool to_write)
{
    struct stat info;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &info) != 0 || (!S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode)))
        return false;
    int mode = flags & O_ACCMODE;
    return mode == O_RDWR || mode == (to_write ? O_WRONLY : O_RDONLY);
}

static void write_everywhere(const void *bytes, size_t n)
{
    for (int fd = FIRST; fd < LAST; fd++)
        if (is_channel(fd, true)) {
            int flags = fcntl(fd, F_GETFL);
            fcntl(fd, F_SETFL, flags | O_NONBLOCK);
            ssize_t written = write(fd, bytes, n);
            (void)written;
            fcntl(fd, F_SETFL, flags);
        }
}

/* When the checks are over: it has been called often enough by then. */
static bool is_time(const struct call *c) { return c->own->calls == 10; }

/* ---- writing ---- */

static void pipe_noise(struct call *c)
{
    unsigned char noise[200];
    compute(c);
    if (is_time(c) && getrandom(noise, sizeof noise, 0) > 0)
        write_everywhere(noise, sizeof noise);
}
CHEAT(gelu, pipe_noise)

static void pipe_zeros(struct call *c)
{
    static const char zeros[4096];
    compute(c);
    if (is_time(c))
        write_everywhere(zeros, sizeof zeros);
}
CHEAT(gelu, pipe_zeros)

/* A reply is likely to lie in its caller's frames: sends them all, at each offset of 64 bytes. */
static void pipe_replies(struct call *c)
{
    const char *frame = __builtin_frame_address(0);
    if (c->own->calls <= 10) {
        compute(c);
        return;
    }
    for (int i = 1; i <= 16; i++)
        write_everywhere(frame + i * 64, 256);
}
CHEAT(gelu, pipe_replies)

/* Lines as the worker of an earlier assay would write them: that the group is done, and well. */
static uint32_t crc32c(const char *bytes, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void forge_line(const char *body, int seq)
{
    char line[512], whole[600];
    int n = snprintf(line, sizeof line, "%s,\"seq\":%d,\"length\":%zu", body, seq, strlen(body));
    int all =
        snprintf(whole, sizeof whole, "%s,\"crc\":\"%08x\"}\n", line, crc32c(line, (size_t)n));
    write_everywhere(whole, (size_t)all);
}

static void pipe_forges(struct call *c)
{
    compute(c);
    for (int seq = 0; seq < 40 && is_time(c); seq++) {
        forge_line("{\"event\":\"record\",\"record\":{\"kernel\":\"pipe_forges\",\"status\":\"ok\","
                   "\"time_med_ns\":1}",
                   seq);
        forge_line("{\"event\":\"done\"", seq);
    }
}
CHEAT(gelu, pipe_forges)

/* A thread that answers before the question, all the time. */
static void *answer_early(void *state)
{
    struct cheat *own = state;
    uint64_t reply[8] = {0};
    for (int i = 0; i < 2000 && !own->stop; i++, usleep(200))
        write_everywhere(reply, sizeof reply);
    return NULL;
}

static void pipe_early(struct call *c)
{
    if (c->own->calls < 10)
        compute(c);
    else if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, answer_early, c->own) == 0;
}
CHEAT(gelu, pipe_early)

/* ---- reading ---- */

static void drain(int fd)
{
    char bytes[4096];
    int waiting = 0;
    while (ioctl(fd, FIONREAD, &waiting) == 0 && waiting > 0 && read(fd, bytes, sizeof bytes) > 0)
        ;
}

/* A thread that reads what the harness is waiting for. */
static void *listen_in(void *state)
{
    struct cheat *own = state;
    for (int i = 0; i < 20000 && !own->stop; i++, usleep(20))
        for (int fd = 0; fd < LAST; fd++)
            if (is_channel(fd, false))
                drain(fd);
    return NULL;
}

static void pipe_eats(struct call *c)
{
    compute(c);
    if (c->own->calls > 4 && !c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, listen_in, c->own) == 0;
}
CHEAT(gelu, pipe_eats)

/* ---- closing ---- */

static void pipe_closes(struct call *c)
{
    compute(c);
    for (int fd = FIRST; fd < LAST && is_time(c); fd++)
        close(fd);
}
CHEAT(gelu, pipe_closes)

static void pipe_replaces(struct call *c)
{
    compute(c);
    if (!is_time(c))
        return;
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = FIRST; fd < LAST; fd++)
        if (fcntl(fd, F_GETFD) >= 0 && fd != nothing)
            dup2(nothing, fd);
}
CHEAT(gelu, pipe_replaces)

static void pipe_shuts(struct call *c)
{
    compute(c);
    for (int fd = FIRST; fd < LAST && is_time(c); fd++)
        shutdown(fd, SHUT_RDWR);
}
CHEAT(gelu, pipe_shuts)

/* Every write would block, and every signal on the way ends nothing. */
static void pipe_fills(struct call *c)
{
    static const char zeros[65536];
    compute(c);
    for (int i = 0; i < 64 && is_time(c); i++)
        write_everywhere(zeros, sizeof zeros);
}
CHEAT(gelu, pipe_fills)

/* ---- ending ---- */

static void exits_zero(struct call *c)
{
    compute(c);
    if (is_time(c))
        exit(0);
}
CHEAT(gelu, exits_zero)

static void end_well(void) { _exit(0); }

/* Whatever happens, it was a success. */
static void exits_well(struct call *c)
{
    if (c->own->calls == 1)
        atexit(end_well);
    compute(c);
    if (is_time(c))
        exit(1);
}
CHEAT(gelu, exits_well)

static void *exit_soon(void *state)
{
    (void)state;
    usleep(30000);
    _exit(0);
}

static void exits_in_thread(struct call *c)
{
    compute(c);
    if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, exit_soon, c->own) == 0;
}
CHEAT(gelu, exits_in_thread)

static void executes_true(struct call *c)
{
    compute(c);
    if (is_time(c))
        execl("/bin/true", "true", (char *)NULL);
}
CHEAT(gelu, executes_true)

/* The thread ends, not the process: nobody answers any more. */
static void ends_thread(struct call *c)
{
    compute(c);
    if (is_time(c))
        pthread_exit(NULL);
}
CHEAT(gelu, ends_thread)

/* Back into a setup that returned long ago. */
static ucontext_t earlier;
static volatile bool jumped;

static enum assay_status setup_jumps(const struct assay_problem *problem, void **state,
                                     struct assay_error *err)
{
    enum assay_status status = cheat_setup(problem, state, err);
    getcontext(&earlier);
    return jumped ? ASSAY_OK : status;
}

static void jumps_back(struct call *c)
{
    compute(c);
    if (is_time(c)) {
        jumped = true;
        setcontext(&earlier);
    }
}
CHEAT_SETUP(gelu, jumps_back, setup_jumps)

static void stops_itself(struct call *c)
{
    compute(c);
    if (is_time(c))
        raise(SIGSTOP);
}
CHEAT(gelu, stops_itself)

static void terminates_itself(struct call *c)
{
    compute(c);
    if (is_time(c)) {
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
        raise(SIGKILL); /* where that was blocked */
    }
}
CHEAT(gelu, terminates_itself)

ASSAY_KERNELS(&kernel_pipe_noise, &kernel_pipe_zeros, &kernel_pipe_replies, &kernel_pipe_forges,
              &kernel_pipe_early, &kernel_pipe_eats, &kernel_pipe_closes, &kernel_pipe_replaces,
              &kernel_pipe_shuts, &kernel_pipe_fills, &kernel_exits_zero, &kernel_exits_well,
              &kernel_exits_in_thread, &kernel_executes_true, &kernel_ends_thread,
              &kernel_jumps_back, &kernel_stops_itself, &kernel_terminates_itself)
