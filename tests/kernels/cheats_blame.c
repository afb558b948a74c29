/* cheats_blame.c: kernels that do not come back, in each of their functions; that have their
 * process, or others, die later, in somebody else's turn; and that use up what all have to share.
 * Each must cost its own row and nobody else's. */
#include "cheat.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>

static bool is_time(const struct call *c) { return c->own->calls == 10; }

/* ---- in each function: hanging, crashing, exiting ---- */

static void hang(void)
{
    for (volatile int forever = 1; forever;)
        ;
}

static void crash(void)
{
    volatile int *volatile nowhere = NULL;
    *nowhere = 1; /* NOLINT(clang-analyzer-core.NullDereference): what it is here for */
}

static void leave(void) { exit(0); }

static void honest(struct call *c) { compute(c); }
RUN(honest)

static enum assay_status prepare_nothing(void *state, int64_t set, const struct assay_args *args,
                                         struct assay_error *err)
{
    return (void)state, (void)set, (void)args, (void)err, ASSAY_OK;
}

static size_t prepared_nothing(void *state) { return (void)state, 64; }

/* The six functions that are not run, each in this way. */
#define IN_EACH(way, act)                                                                          \
    static enum assay_status can_run_##way(const struct assay_problem *problem,                    \
                                           struct assay_error *why)                                \
    {                                                                                              \
        (void)why;                                                                                 \
        if (problem)                                                                               \
            act();                                                                                 \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static enum assay_status setup_##way(const struct assay_problem *problem, void **state,        \
                                         struct assay_error *err)                                  \
    {                                                                                              \
        act();                                                                                     \
        return cheat_setup(problem, state, err);                                                   \
    }                                                                                              \
    static enum assay_status prepare_##way(void *state, int64_t set,                               \
                                           const struct assay_args *args, struct assay_error *err) \
    {                                                                                              \
        (void)state, (void)set, (void)args, (void)err;                                             \
        act();                                                                                     \
        return ASSAY_OK;                                                                           \
    }                                                                                              \
    static size_t prepared_bytes_##way(void *state)                                                \
    {                                                                                              \
        (void)state;                                                                               \
        act();                                                                                     \
        return 64;                                                                                 \
    }                                                                                              \
    static void teardown_##way(void *state)                                                        \
    {                                                                                              \
        act();                                                                                     \
        cheat_teardown(state);                                                                     \
    }                                                                                              \
    static void note_##way(const struct assay_problem *problem, char *text, size_t size)           \
    {                                                                                              \
        (void)problem, (void)text, (void)size;                                                     \
        act();                                                                                     \
    }                                                                                              \
    KERNEL(gelu, way##_in_can_run, cheat_setup, run_honest, cheat_teardown,                        \
           .can_run = can_run_##way)                                                               \
    KERNEL(gelu, way##_in_setup, setup_##way, run_honest, cheat_teardown, )                        \
    KERNEL(gelu, way##_in_prepare, cheat_setup, run_honest, cheat_teardown,                        \
           .prepare = prepare_##way, .prepared_bytes = prepared_nothing)                           \
    KERNEL(gelu, way##_in_prepared_bytes, cheat_setup, run_honest, cheat_teardown,                 \
           .prepare = prepare_nothing, .prepared_bytes = prepared_bytes_##way)                     \
    KERNEL(gelu, way##_in_teardown, cheat_setup, run_honest, teardown_##way, )                     \
    KERNEL(gelu, way##_in_note, cheat_setup, run_honest, cheat_teardown, .note = note_##way)

IN_EACH(hangs, hang)
IN_EACH(crashes, crash)
IN_EACH(exits, leave)

#define EACH(way)                                                                                  \
    &kernel_##way##_in_can_run, &kernel_##way##_in_setup, &kernel_##way##_in_prepare,              \
        &kernel_##way##_in_prepared_bytes, &kernel_##way##_in_teardown, &kernel_##way##_in_note

static void hangs_later(struct call *c)
{
    compute(c);
    if (is_time(c))
        hang();
}
CHEAT(gelu, hangs_later)

/* ---- later, in a rival's turn ---- */

static void *kill_later(void *state)
{
    (void)state;
    usleep(60000);
    raise(SIGKILL);
    return NULL;
}

static void kills_in_thread(struct call *c)
{
    compute(c);
    if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, kill_later, NULL) == 0;
}
CHEAT(gelu, kills_in_thread)

static void rings_later(struct call *c)
{
    struct itimerval soon = {.it_value = {.tv_usec = 60000}};
    compute(c);
    if (c->own->calls == 1) {
        signal(SIGALRM, SIG_DFL);
        setitimer(ITIMER_REAL, &soon, NULL);
    }
}
CHEAT(gelu, rings_later)

/* A timer whose signal looks like a rival's crash. */
static void faults_later(struct call *c)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGSEGV};
    struct itimerspec soon = {.it_value = {.tv_nsec = 60000000}};
    timer_t timer;
    compute(c);
    if (c->own->calls == 1 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &soon, NULL);
}
CHEAT(gelu, faults_later)

/* A child does it, after its parent has been stopped or is gone. */
static void end_parent(void *argument)
{
    pid_t parent = *(pid_t *)argument;
    usleep(60000);
    if (is_assay(parent))
        kill(parent, SIGKILL);
}

static void killed_by_child(struct call *c)
{
    pid_t self = getpid();
    compute(c);
    if (c->own->calls == 1)
        start_helper(c->own, end_parent, &self);
}
CHEAT(gelu, killed_by_child)

/* ---- others' processes ---- */

static void kills_parent(struct call *c)
{
    compute(c);
    if (is_time(c) && is_assay(getppid()))
        kill(getppid(), SIGKILL);
}
CHEAT(gelu, kills_parent)

static void stops_parent(struct call *c)
{
    compute(c);
    if (is_time(c) && is_assay(getppid()))
        kill(getppid(), SIGSTOP);
}
CHEAT(gelu, stops_parent)

/* Only where the group is led by assay: a shell's would be the user's. */
static void kill_group(pid_t group)
{
    if (is_assay(group))
        kill(-group, SIGKILL);
}

static void kills_own_group(struct call *c)
{
    compute(c);
    if (is_time(c))
        kill_group(getpgrp());
}
CHEAT(gelu, kills_own_group)

static void kills_parents_group(struct call *c)
{
    compute(c);
    if (is_time(c))
        kill_group(getpgid(getppid()));
}
CHEAT(gelu, kills_parents_group)

/* Those with the same parent: its rivals. */
static void signal_siblings(int number)
{
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != getpid() && status_of(pid, "PPid:") == getppid() && is_assay(pid))
            kill(pid, number);
    }
    if (folder)
        closedir(folder);
}

static void kills_siblings(struct call *c)
{
    compute(c);
    if (is_time(c))
        signal_siblings(SIGKILL);
}
CHEAT(gelu, kills_siblings)

static void stops_siblings(struct call *c)
{
    compute(c);
    if (is_time(c))
        signal_siblings(SIGSTOP);
}
CHEAT(gelu, stops_siblings)

/* ---- more processes ---- */

/* Two hundred that wait, and would wait for long. */
static void forks_many(struct call *c)
{
    compute(c);
    for (int i = 0; i < 200 && is_time(c); i++)
        if (fork() == 0) {
            lasting(20);
            for (;;)
                pause();
        }
}
CHEAT(gelu, forks_many)

/* From here on there are two that answer. */
static void forks_and_returns(struct call *c)
{
    compute(c);
    if (is_time(c) && fork() == 0)
        lasting(20);
}
CHEAT(gelu, forks_and_returns)

/* Nobody's child, in a session of its own. */
static void leaves_daemon(struct call *c)
{
    compute(c);
    if (!is_time(c))
        return;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            lasting(20);
            for (;;)
                pause();
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
CHEAT(gelu, leaves_daemon)

/* It goes by another name and has closed what it had open. */
static void leaves_disguised(struct call *c)
{
    compute(c);
    if (!is_time(c))
        return;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            setsid();
            prctl(PR_SET_PDEATHSIG, 0);
            for (int fd = 0; fd < 256; fd++)
                close(fd);
            alarm(20);
            execl("/bin/sleep", "sleep", "20.0625", (char *)NULL); /* judge.sh looks for it */
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
CHEAT(gelu, leaves_disguised)

static void *spin(void *state)
{
    struct cheat *own = state;
    int64_t end = now_ns() + 20000000000;
    while (!own->stop && now_ns() < end)
        ;
    return NULL;
}

static void leaves_threads(struct call *c)
{
    pthread_t thread;
    compute(c);
    for (int i = 0; i < 8 && c->own->calls == 1; i++)
        if (pthread_create(&thread, NULL, spin, c->own) == 0)
            pthread_detach(thread);
}
CHEAT(gelu, leaves_threads)

/* ---- what is scarce ---- */

enum { HOG_STEPS = 3072 }; /* megabytes: more than the limit of the row, less than the machine */

static void hogs_memory(struct call *c)
{
    compute(c);
    for (int i = 0; i < HOG_STEPS && is_time(c); i++) {
        char *taken = malloc(1 << 20);
        for (size_t k = 0; k < 1 << 20; k += PAGE)
            ((volatile char *)taken)[k] = 1;
    }
}
CHEAT(gelu, hogs_memory)

static void hogs_shared_memory(struct call *c)
{
    compute(c);
    for (int i = 0; i < HOG_STEPS && is_time(c); i++) {
        char *taken = shared_memory(1 << 20);
        if (!taken)
            abort();
        memset(taken, 1, 1 << 20);
    }
}
CHEAT(gelu, hogs_shared_memory)

/* A file in memory, which is not part of any address space. */
static void hogs_memory_file(struct call *c)
{
    compute(c);
    if (!is_time(c))
        return;
    char *block = calloc(1, 1 << 20);
    int fd = memfd_create("hog", MFD_CLOEXEC);
    for (int i = 0; i < HOG_STEPS && block; i++)
        if (write(fd, block, 1 << 20) < 0)
            abort();
    free(block);
}
CHEAT(gelu, hogs_memory_file)

/* Children have limits of their own. */
static void hogs_in_children(struct call *c)
{
    compute(c);
    for (int i = 0; i < 6 && is_time(c); i++)
        if (fork() == 0) {
            lasting(20);
            char *taken = malloc((size_t)500 << 20);
            if (taken)
                memset(taken, 1, (size_t)500 << 20);
            for (;;)
                pause();
        }
}
CHEAT(gelu, hogs_in_children)

static void takes_descriptors(struct call *c)
{
    compute(c);
    while (is_time(c) && open("/dev/null", O_RDONLY) >= 0)
        ;
}
CHEAT(gelu, takes_descriptors)

/* A gigabyte on the disk; it is gone with the process. */
static void fills_disk(struct call *c)
{
    compute(c);
    if (!is_time(c))
        return;
    char *block = calloc(1, 1 << 20);
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    for (int i = 0; i < 1024 && block; i++)
        if (write(fd, block, 1 << 20) < 0)
            abort();
    free(block);
}
CHEAT(gelu, fills_disk)

/* 64 MB on each of the two. */
static void prints_endlessly(struct call *c)
{
    static const char line[] = "a kernel that has something to say, again and again and again\n";
    compute(c);
    for (int i = 0; i < 1 << 20 && is_time(c); i++)
        for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
            ssize_t written = write(fd, line, sizeof line - 1);
            (void)written;
        }
}
CHEAT(gelu, prints_endlessly)

/* Clears the screen, renames the window, and writes a row of its own. */
static void prints_escapes(struct call *c)
{
    compute(c);
    if (is_time(c)) {
        printf("\033[2J\033]0;mine\007\033[31m prints_escapes 1 ns 1000x faster\033[0m\r\n");
        fprintf(stderr, "\033[2J\033[1A\033[K prints_escapes: ok\b\b\n");
        fflush(stdout);
    }
}
CHEAT(gelu, prints_escapes)

/* Input that is not its own. */
static void closes_standard(struct call *c)
{
    compute(c);
    for (int fd = 0; fd < 3 && is_time(c); fd++)
        close(fd);
}
CHEAT(gelu, closes_standard)

/* What the script put there for it. */
static void removes_files(struct call *c)
{
    compute(c);
    if (is_time(c)) {
        unlink("precious");
        int fd = open("rows.jsonl", O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (fd >= 0)
            close(fd);
    }
}
CHEAT(gelu, removes_files)

/* Zeros over all that its process may write, but for what it stands on. */
static void scribbles(struct call *c)
{
    compute(c);
    if (!is_time(c))
        return;
    char line[256];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        if (sscanf(line, "%zx-%zx rw-p", &start, &end) == 2 && strstr(line, "rw-p") &&
            strstr(line, "/assay"))
            memset((void *)start, 0, end - start);
    }
}
CHEAT(gelu, scribbles)

ASSAY_KERNELS(EACH(hangs), EACH(crashes), EACH(exits), &kernel_hangs_later, &kernel_kills_in_thread,
              &kernel_rings_later, &kernel_faults_later, &kernel_killed_by_child,
              &kernel_kills_parent, &kernel_stops_parent, &kernel_kills_own_group,
              &kernel_kills_parents_group, &kernel_kills_siblings, &kernel_stops_siblings,
              &kernel_forks_many, &kernel_forks_and_returns, &kernel_leaves_daemon,
              &kernel_leaves_disguised, &kernel_leaves_threads, &kernel_hogs_memory,
              &kernel_hogs_shared_memory, &kernel_hogs_memory_file, &kernel_hogs_in_children,
              &kernel_takes_descriptors, &kernel_fills_disk, &kernel_prints_endlessly,
              &kernel_prints_escapes, &kernel_closes_standard, &kernel_removes_files,
              &kernel_scribbles)
