/* cheats_rivals.c: gelu kernels that compute as they should and make others slow, or wrong: by what
 * they leave behind in the process, on the machine, or in other processes of assay. Where each runs
 * in a process of its own much of it reaches nobody, and they may be `ok`: what counts is that
 * their rivals are. */
#include "cheat.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>

static bool is_time(const struct call *c) { return c->own->calls == 5; }

/* What it does once, and computes. */
#define LEAVES(ident, act)                                                                         \
    static void ident(struct call *c)                                                              \
    {                                                                                              \
        compute(c);                                                                                \
        if (is_time(c)) {                                                                          \
            act;                                                                                   \
        }                                                                                          \
    }                                                                                              \
    CHEAT(gelu, ident)

/* ---- in its own process ---- */

static void set_variables(void)
{
    static const char *const settings[][2] = {
        {"OMP_NUM_THREADS", "64"},        {"OMP_WAIT_POLICY", "active"},
        {"GOMP_SPINCOUNT", "1000000000"}, {"KMP_BLOCKTIME", "infinite"},
        {"OMP_PROC_BIND", "true"},        {"OPENBLAS_NUM_THREADS", "1"},
        {"DNNL_MAX_CPU_ISA", "SSE41"},    {"LD_PRELOAD", "/nonexistent.so"},
    };
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        setenv(settings[i][0], settings[i][1], 1);
}
LEAVES(sets_variables, set_variables())

static void set_threads(int n)
{
    void (*set)(int) = NULL;
    void *there = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    memcpy(&set, &there, sizeof set);
    if (set)
        set(n);
}
LEAVES(sets_threads, set_threads(64))

LEAVES(rounds_up, fesetround(FE_UPWARD))

static void flush_subnormals(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#else
    fesetround(FE_TOWARDZERO);
#endif
}
LEAVES(flushes_subnormals, flush_subnormals())

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (int i = 1; i < 32; i++)
        signal(i, SIG_IGN);
}
LEAVES(blocks_signals, block_signals())

/* No huge pages for whatever is allocated next; and none for its operands. */
static void split_pages(const struct call *c)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    uintptr_t start = (uintptr_t)c->in / PAGE * PAGE;
    madvise((void *)start, (size_t)c->n * sizeof(float), MADV_NOHUGEPAGE);
}
LEAVES(splits_pages, split_pages(c))

static void raise_priority(void)
{
    struct sched_param most = {.sched_priority = 1};
    setpriority(PRIO_PROCESS, 0, -20);
    sched_setscheduler(0, SCHED_RR, &most);
}
LEAVES(raises_priority, raise_priority())

static void pin(pid_t pid)
{
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(pid, sizeof first, &first);
}
LEAVES(pins_itself, pin(0))

/* ---- in others ---- */

/* Its parent, and those with the same parent, of assay. */
static void each_other(void (*act)(pid_t))
{
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && pid != getpid() && is_assay(pid) &&
            (pid == getppid() || status_of(pid, "PPid:") == getppid()))
            act(pid);
    }
    if (folder)
        closedir(folder);
}
LEAVES(pins_others, each_other(pin))

static void be_nice(pid_t pid) { setpriority(PRIO_PROCESS, (id_t)pid, 19); }
LEAVES(slows_others, each_other(be_nice))

static void limit(pid_t pid)
{
    struct rlimit few = {8, 8}, small = {64 << 20, 64 << 20};
    prlimit(pid, RLIMIT_NOFILE, &few, NULL);
    prlimit(pid, RLIMIT_AS, &small, NULL);
}
LEAVES(limits_others, each_other(limit))

/* A child attaches to them, and looks on while they stand still. */
static void attach(pid_t pid) { ptrace(PTRACE_ATTACH, pid, NULL, NULL); }

static void trace_others(void *argument)
{
    (void)argument;
    each_other(attach);
    sleep(20);
}

static void traces_others(struct call *c)
{
    compute(c);
    if (is_time(c))
        start_helper(c->own, trace_others, NULL);
}
CHEAT(gelu, traces_others)

/* Zeros into the memory of its parent. */
static void scribble_in(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    int memory = open(path, O_RDWR | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    static const char zeros[1 << 16];
    while (maps && memory >= 0 && fgets(line, sizeof line, maps)) {
        uintptr_t start, end;
        if (sscanf(line, "%zx-%zx", &start, &end) != 2 || !strstr(line, "rw-p"))
            continue;
        for (uintptr_t at = start; at < end && at < start + (64 << 20); at += sizeof zeros) {
            ssize_t written = pwrite(memory, zeros, sizeof zeros, (off_t)at);
            (void)written;
        }
    }
    if (maps)
        fclose(maps);
    if (memory >= 0)
        close(memory);
}
LEAVES(scribbles_in_others, each_other(scribble_in))

/* ---- on the machine ---- */

/* A process that computes while others are timed. */
static void spin(void *argument)
{
    (void)argument;
    for (volatile int forever = 1; forever;)
        ;
}

static void spins_in_child(struct call *c)
{
    compute(c);
    if (is_time(c))
        start_helper(c->own, spin, NULL);
}
CHEAT(gelu, spins_in_child)

/* A grandchild, that is nobody's. */
static void spins_in_daemon(struct call *c)
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
            spin(NULL);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
}
CHEAT(gelu, spins_in_daemon)

/* Goes through 128 MB over and over. */
static void stream(void *argument)
{
    (void)argument;
    size_t bytes = (size_t)128 << 20;
    char *memory = malloc(bytes);
    for (int i = 0;; i++)
        if (memory)
            memset(memory, i, bytes);
}

static void streams_in_child(struct call *c)
{
    compute(c);
    if (is_time(c))
        start_helper(c->own, stream, NULL);
}
CHEAT(gelu, streams_in_child)

/* Threads that wake up when the kernel is not being timed. */
static void *spin_between(void *state)
{
    struct cheat *own = state;
    int64_t end = now_ns() + 20000000000;
    while (!own->stop && now_ns() < end) {
        if (now_ns() - own->returned_ns < 200000)
            usleep(100);
        else
            wait_until(now_ns() + 1000000);
    }
    return NULL;
}

static void spins_between(struct call *c)
{
    compute(c);
    if (is_time(c) && !c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, spin_between, c->own) == 0;
}
CHEAT(gelu, spins_between)

/* The lock that keeps two runs from measuring at once: its path is in the environment of an
 * ancestor. A child waits for it, holds it, and outlives the run. */
static void hold_lock(void)
{
    char text[16384], path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)getppid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    const char *lock = NULL;
    text[n > 0 ? n : 0] = '\0';
    for (const char *at = text; at < text + n; at += strlen(at) + 1)
        if (strncmp(at, "ASSAY_LOCK=", 11) == 0)
            lock = at + 11;
    if (!lock || fork() != 0)
        return;
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    lasting(20);
    flock(open(lock, O_RDONLY), LOCK_EX);
    for (;;)
        pause();
}
LEAVES(holds_lock, hold_lock())

/* Whatever of assay's lies in the shared memory under a name. */
static void scribble_names(void)
{
    DIR *folder = opendir("/dev/shm");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (!strstr(entry->d_name, "assay"))
            continue;
        int fd = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
        static const char zeros[PAGE];
        ssize_t written = fd < 0 ? 0 : write(fd, zeros, sizeof zeros);
        (void)written;
        if (fd >= 0)
            close(fd);
    }
    if (folder)
        closedir(folder);
}
LEAVES(scribbles_names, scribble_names())

ASSAY_KERNELS(&kernel_sets_variables, &kernel_sets_threads, &kernel_rounds_up,
              &kernel_flushes_subnormals, &kernel_blocks_signals, &kernel_splits_pages,
              &kernel_raises_priority, &kernel_pins_itself, &kernel_pins_others,
              &kernel_slows_others, &kernel_limits_others, &kernel_traces_others,
              &kernel_scribbles_in_others, &kernel_spins_in_child, &kernel_spins_in_daemon,
              &kernel_streams_in_child, &kernel_spins_between, &kernel_holds_lock,
              &kernel_scribbles_names)
