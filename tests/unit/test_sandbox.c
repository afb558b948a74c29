/* test_sandbox.c: a confined process cannot do what only a cheat needs, can do what kernels do, and
 * is still within the judge's reach.
 *
 * The test is the judge. A runner is this program again, started with the name of a deed, which it
 * does once it is confined. */
#include "base/alloc.h"
#include "base/clock.h"
#include "runner/sandbox.h"
#include "temporary.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>

enum { JUDGE_FD = 3, SKIPPED = 77, NOBODY = 65534 };
enum { GIB = 1 << 30, MIB = 1 << 20 };

/* In processes that cmocka does not know. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));   \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)
#define CHECK_REFUSED(call, with)                                                                  \
    do {                                                                                           \
        errno = 0;                                                                                 \
        long refused = (long)(call);                                                               \
        CHECK(refused < 0 && errno == (with));                                                     \
    } while (0)

static bool has_landlock(int version) { return syscall(444, NULL, (size_t)0, 1) >= version; }

static bool has_seccomp(void)
{
    uint32_t answer_errno = 0x00050000;
    return syscall(SYS_seccomp, 2, 0, &answer_errno) == 0; /* SECCOMP_GET_ACTION_AVAIL */
}

static void skip_with(const char *reason)
{
    print_message("skipped: %s\n", reason);
    skip();
}

/* ---- the judge's side ------------------------------------------------------------------------ */

struct runner {
    pid_t pid;
    int socket;
};

/* Starts this program to do the deed. */
static int start(struct runner *r, const char *deed, const struct assay_confinement *c)
{
    int pair[2];
    char flags[8], memory[32], program[] = "test_sandbox", runner[] = "--runner", name[64];
    char readable[512] = "", writable[512] = "";
    snprintf(name, sizeof name, "%s", deed);
    snprintf(flags, sizeof flags, "%d", c->sandbox + 2 * c->gpu + 4 * c->mute);
    snprintf(memory, sizeof memory, "%lld", (long long)c->memory_bytes);
    if (c->readable)
        snprintf(readable, sizeof readable, "%s", c->readable[0]);
    if (c->writable)
        snprintf(writable, sizeof writable, "%s", c->writable[0]);
    char *const words[] = {program, runner, name, flags, memory, readable, writable, NULL};
    const char *const extra[] = {"OMP_NUM_THREADS=3", "SOME=thing", NULL};
    char **environment = assay_confine_environment(extra);
    pid_t judge = getpid();
    if (!environment || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    r->pid = fork();
    if (r->pid == 0) {
        dup2(pair[1], JUDGE_FD);
        assay_confine_before_exec(c, judge);
        execve("/proc/self/exe", words, environment);
        _exit(126);
    }
    assay_free(environment);
    close(pair[1]);
    r->socket = pair[0];
    return r->pid > 0 ? 0 : -1;
}

/* Its exit code, or -signal. */
static int finish(struct runner *r)
{
    int how = 0;
    close(r->socket);
    while (waitpid(r->pid, &how, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static int run(const char *deed, const struct assay_confinement *c)
{
    struct runner r;
    return start(&r, deed, c) == 0 ? finish(&r) : -1;
}

/* The same as a user who is nobody, where we are root. */
static int run_as_nobody(int (*judge)(const char *deed, const struct assay_confinement *c),
                         const char *deed, const struct assay_confinement *c)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) != 0)
            _exit(SKIPPED);
        _exit(judge(deed, c));
    }
    int how = 0;
    waitpid(pid, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

static const struct assay_confinement usual = {0}, sandboxed = {.sandbox = true};

/* As whoever we are and, if that is root, as somebody else too. */
static void both_users(int (*judge)(const char *deed, const struct assay_confinement *c),
                       const char *deed, const struct assay_confinement *c)
{
    int code = judge(deed, c);
    if (code == SKIPPED)
        skip();
    assert_int_equal(code, 0);
    if (geteuid() != 0)
        return;
    code = run_as_nobody(judge, deed, c);
    if (code != SKIPPED)
        assert_int_equal(code, 0);
}

/* ---- deeds ----------------------------------------------------------------------------------- */

static long open_userfaultfd(void) { return syscall(SYS_userfaultfd, 0); }

static int try_to_cheat(void)
{
    char byte = 0;
    struct iovec here = {&byte, 1};
    struct timex time = {0};
    struct sched_param first = {.sched_priority = 1}, none = {0};
    char path[64];
    pid_t judge = getppid();
    CHECK_REFUSED(open_userfaultfd(), EPERM);
    CHECK_REFUSED(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), EPERM);
    CHECK(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1);
    if (!HAVE_ASAN && !HAVE_TSAN)
        CHECK_REFUSED(ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM);
    CHECK_REFUSED(process_vm_readv(getpid(), &here, 1, &here, 1, 0), EPERM);
    CHECK_REFUSED(process_vm_writev(judge, &here, 1, &here, 1, 0), EPERM);
    CHECK_REFUSED(syscall(447, 0), EPERM); /* memfd_secret */
    CHECK_REFUSED(kill(judge, SIGSTOP), EPERM);
    CHECK_REFUSED(kill(-1, 0), EPERM);
    CHECK_REFUSED(syscall(SYS_tgkill, judge, judge, SIGSTOP), EPERM);
    CHECK_REFUSED(sched_setscheduler(0, SCHED_FIFO, &first), EPERM);
    CHECK_REFUSED(sched_setscheduler(0, SCHED_RR | 0x40000000, &first), EPERM);
    CHECK(sched_setscheduler(0, SCHED_BATCH, &none) == 0);
    CHECK_REFUSED(setpriority(PRIO_PROCESS, 0, -1), EPERM);
    CHECK_REFUSED(setpriority(PRIO_USER, 0, 5), EPERM);
    CHECK(setpriority(PRIO_PROCESS, 0, 19) == 0);
    CHECK_REFUSED(adjtimex(&time), EPERM);
    CHECK_REFUSED(unshare(CLONE_NEWUSER), EPERM);
    CHECK_REFUSED(syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L), EPERM);
    CHECK_REFUSED(syscall(435, NULL, (size_t)0), ENOSYS); /* clone3 */
    CHECK_REFUSED(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0), EPERM);
#ifdef __x86_64__
    CHECK_REFUSED(syscall(0x40000000 + SYS_getpid), ENOSYS); /* x32 */
#endif
    if (has_landlock(2) || geteuid() == 0) {
        snprintf(path, sizeof path, "/proc/%d/mem", (int)judge);
        CHECK(open(path, O_RDWR | O_CLOEXEC) < 0);
    }
    return 0;
}

static int start_program(short flags)
{
    char program[] = "/bin/sh", option[] = "-c", script[] = "exit 7";
    char *const words[] = {program, option, script, NULL};
    posix_spawnattr_t attributes;
    pid_t pid;
    int how;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, flags);
    int problem = posix_spawn(&pid, program, NULL, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    CHECK(problem == 0);
    CHECK(waitpid(pid, &how, 0) == pid && WIFEXITED(how) && WEXITSTATUS(how) == 7);
    return 0;
}

/* Code that returns at once. */
static int run_made_code(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
#if defined(__x86_64__)
    memcpy(page, "\xc3", 1);
#elif defined(__aarch64__)
    memcpy(page, "\xc0\x03\x5f\xd6", 4);
    __builtin___clear_cache(page, (char *)page + 4);
#endif
    CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
#if defined(__x86_64__) || defined(__aarch64__)
    void (*code)(void);
    memcpy(&code, &page, sizeof code);
    code();
#endif
    CHECK(munmap(page, 4096) == 0);
    return 0;
}

static volatile sig_atomic_t heard;
static void hear(int number) { heard = number; }

static int sum_with_threads(void)
{
    int sum = 0;
#pragma omp parallel for num_threads(3) reduction(+ : sum)
    for (int i = 0; i < 100; i++)
        sum += i;
    CHECK(sum == 4950);
    return 0;
}

static int work(void)
{
    cpu_set_t cpus;
    static char locked[4096];
    CHECK(sum_with_threads() == 0);
    CHECK(run_made_code() == 0);
    CHECK(start_program(0) == 0);
    CHECK(start_program(POSIX_SPAWN_SETPGROUP) == 0);
    CHECK(signal(SIGUSR1, hear) != SIG_ERR && raise(SIGUSR1) == 0 && heard == SIGUSR1);
    CHECK(sched_getaffinity(0, sizeof cpus, &cpus) == 0);
    CHECK(sched_setaffinity(0, sizeof cpus, &cpus) == 0);
    CHECK(mlock(locked, sizeof locked) == 0);
    CHECK(madvise(NULL, 0, MADV_NORMAL) == 0);
    CHECK(usleep(1) == 0);
    CHECK(eventfd(0, EFD_CLOEXEC) >= 0);
    CHECK(kill(getpid(), 0) == 0);
    CHECK(prctl(PR_SET_PDEATHSIG, 0) == 0); /* in vain */
    int signal_of_death = 0;
    CHECK(prctl(PR_GET_PDEATHSIG, &signal_of_death) == 0 && signal_of_death == SIGKILL);
    return 0;
}

/* Files, without a sandbox, are as ever. */
static int work_on_files(void)
{
    CHECK(mkdir("a", 0755) == 0 && mkdir("b", 0755) == 0);
    int fd = open("a/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
    CHECK(rename("a/file", "b/file") == 0);
    CHECK(chmod("b/file", 0644) == 0);
    CHECK(unlink("b/file") == 0 && rmdir("a") == 0 && rmdir("b") == 0);
    CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 || errno == EAFNOSUPPORT);
    return 0;
}

static int look_around(void)
{
    CHECK(getenv("SOME_TOKEN") == NULL && getenv("NVIDIA_API_KEY") == NULL);
    CHECK(getenv("NVIDIA_VISIBLE_THINGS") != NULL && getenv("PATH") != NULL);
    CHECK(strcmp(getenv("OMP_NUM_THREADS"), "3") == 0);
    CHECK(strcmp(getenv("SOME"), "thing") == 0);
    CHECK(fcntl(JUDGE_FD, F_GETFD) >= 0);
    for (int fd = JUDGE_FD + 2; fd < 1024; fd++)
        CHECK(fcntl(fd, F_GETFD) < 0);
    CHECK(getpgrp() == getpid());
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    sigset_t blocked;
    struct sigaction action;
    CHECK(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGUSR2));
    CHECK(sigaction(SIGUSR2, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0);
    limit.rlim_cur = limit.rlim_max = 1;
    CHECK_REFUSED(setrlimit(RLIMIT_CORE, &limit), EPERM);
    CHECK(getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
    return 0;
}

static void *try_map(size_t bytes, int flags, int fd)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    return memory;
}

/* With a limit of 256 MiB. What a machine's threads may reserve is on top of shared memory. */
static int take_memory(void)
{
    size_t too_much = (size_t)1 << 42;
    CHECK(try_map(128 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1) != MAP_FAILED);
    CHECK(try_map(300 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1) == MAP_FAILED);
    CHECK(try_map(128 * MIB, MAP_SHARED | MAP_ANONYMOUS, -1) != MAP_FAILED);
    CHECK(try_map(too_much, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1) == MAP_FAILED);
    int fd = memfd_create("much", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, GIB) == 0);
    CHECK(try_map(too_much, MAP_SHARED | MAP_NORESERVE, fd) == MAP_FAILED);
    void *all[4096];
    int n = 0;
    while (n < 4096 && (all[n] = mmap(NULL, GIB, PROT_READ, MAP_SHARED, fd, 0)) != MAP_FAILED)
        n++;
    CHECK(n < 4096);
    CHECK(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    CHECK_REFUSED(ftruncate(fd, (off_t)8 * GIB), EFBIG);
    return 0;
}

static int reach_out(void)
{
    CHECK_REFUSED(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    CHECK_REFUSED(socket(AF_INET6, SOCK_DGRAM, 0), EPERM);
    CHECK_REFUSED(socket(AF_NETLINK, SOCK_RAW, 0), EPERM);
    CHECK_REFUSED(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
    CHECK_REFUSED(syscall(425, 1, NULL), EPERM); /* io_uring_setup */
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    return 0;
}

/* For a GPU's driver. */
static int reach_out_with_gpu(void)
{
    CHECK_REFUSED(socket(AF_INET, SOCK_STREAM, 0), EPERM);
    CHECK(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
    return 0;
}

/* The driver starts, and memory on the device is filled and read. */
static int use_gpu(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*init)(unsigned) = NULL, (*retain)(void **, int) = NULL, (*set)(void *) = NULL;
    int (*allocate)(uint64_t *, size_t) = NULL, (*fill)(uint64_t, unsigned char, size_t) = NULL;
    int (*copy)(void *, uint64_t, size_t) = NULL;
    const struct {
        const char *name;
        void *function;
    } functions[] = {{"cuInit", &init},         {"cuDevicePrimaryCtxRetain", &retain},
                     {"cuCtxSetCurrent", &set}, {"cuMemAlloc_v2", &allocate},
                     {"cuMemsetD8_v2", &fill},  {"cuMemcpyDtoH_v2", &copy}};
    void *context;
    uint64_t memory;
    unsigned char bytes[64] = {0};
    CHECK(driver);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *found = dlsym(driver, functions[i].name);
        CHECK(found);
        memcpy(functions[i].function, &found, sizeof found);
    }
    CHECK(init(0) == 0);
    CHECK(retain(&context, 0) == 0 && set(context) == 0);
    CHECK(allocate(&memory, sizeof bytes) == 0 && fill(memory, 7, sizeof bytes) == 0);
    CHECK(copy(bytes, memory, sizeof bytes) == 0 && bytes[0] == 7 && bytes[63] == 7);
    return 0;
}

static int open_file(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd;
}

static const char *given_readable, *given_writable;

/* It reads what it likes, and leaves nothing that another process could find. */
static int tell_others(void)
{
    char path[600];
    CHECK(reach_out() == 0);
    CHECK_REFUSED(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), EPERM);
    CHECK_REFUSED(msgget(IPC_PRIVATE, IPC_CREAT | 0600), EPERM);
    CHECK_REFUSED(semget(IPC_PRIVATE, 1, IPC_CREAT | 0600), EPERM);
    CHECK_REFUSED(shm_open("/assay-test-mute", O_CREAT | O_RDWR, 0600), EACCES);
    CHECK_REFUSED(open_file("/tmp/assay-test-mute", O_CREAT | O_WRONLY), EACCES);
    CHECK_REFUSED(mkfifo("/tmp/assay-test-mute", 0600), EACCES);
    snprintf(path, sizeof path, "%s/file", given_readable);
    CHECK(open_file(path, O_RDONLY) >= 0);
    CHECK_REFUSED(open_file(path, O_RDWR), EACCES);
    CHECK_REFUSED(unlink(path), EACCES);
    CHECK(open_file("/dev/null", O_WRONLY) >= 0);
    return 0;
}

/* `readable` is a folder "may_read" beside "secret", both with a file "file". */
static int touch_files(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/file", given_readable);
    CHECK(open_file(path, O_RDONLY) >= 0);
    CHECK_REFUSED(open_file(path, O_WRONLY), EACCES);
    CHECK_REFUSED(unlink(path), EACCES);
    CHECK_REFUSED(chmod(path, 0777), EPERM);
    snprintf(path, sizeof path, "%s/new", given_readable);
    CHECK_REFUSED(open_file(path, O_CREAT | O_WRONLY), EACCES);
    CHECK_REFUSED(mkdir(path, 0700), EACCES);
    snprintf(path, sizeof path, "%s/../secret/file", given_readable);
    CHECK_REFUSED(open_file(path, O_RDONLY), EACCES);
    snprintf(path, sizeof path, "%s/new", given_writable);
    CHECK(open_file(path, O_CREAT | O_WRONLY) >= 0);
    CHECK(open_file(path, O_RDONLY) >= 0);
    CHECK(unlink(path) == 0);
    CHECK_REFUSED(open_file("/tmp/assay-test-sandbox", O_CREAT | O_WRONLY), EACCES);
    CHECK_REFUSED(open_file("/etc/passwd", O_RDWR), EACCES);
    CHECK(open_file("/etc/passwd", O_RDONLY) >= 0);
    CHECK(open_file("/dev/null", O_RDWR) >= 0);
    CHECK(open_file("/proc/self/maps", O_RDONLY) >= 0);
    CHECK(open_file("/proc/self/exe", O_RDONLY) >= 0);
    if (access("/dev/shm", W_OK) == 0) {
        int fd = shm_open("/assay-test-sandbox", O_CREAT | O_RDWR, 0600);
        CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
        CHECK(shm_unlink("/assay-test-sandbox") == 0);
    }
    return 0;
}

static int count_network(void)
{
    char line[256];
    int n = 0;
    FILE *devices = fopen("/proc/self/net/dev", "re");
    CHECK(devices);
    while (fgets(line, sizeof line, devices))
        n += strchr(line, ':') != NULL;
    fclose(devices);
    CHECK(n <= 1);
    return 0;
}

/* Waits for the judge to change a number. */
static int wait_for_judge(void)
{
    static volatile int64_t number = 41;
    volatile int64_t *at = &number;
    char word;
    CHECK(send(JUDGE_FD, &at, sizeof at, 0) == sizeof at);
    CHECK(recv(JUDGE_FD, &word, 1, 0) == 1);
    CHECK(number == 42);
    return 0;
}

/* A daemon as in the books, but one that cannot leave its group. */
static int leave_daemon(void)
{
    char word = 0;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        send(JUDGE_FD, &word, 1, 0);
        for (;;)
            pause();
    }
    CHECK(waitpid(child, NULL, 0) == child);
    return 0;
}

/* Each process forks once and exits: there is only ever one. */
static int leave_comet(void)
{
    char word = 0;
    send(JUDGE_FD, &word, 1, 0);
    for (;;)
        if (fork() > 0)
            _exit(0);
}

static int fork_some(void)
{
    char word = 0;
    for (int i = 0; i < 20; i++)
        if (fork() == 0)
            for (;;)
                pause();
    CHECK(send(JUDGE_FD, &word, 1, 0) == 1);
    for (;;)
        pause();
}

static int wait_forever(void)
{
    char word = 0;
    CHECK(send(JUDGE_FD, &word, 1, 0) == 1);
    for (;;)
        pause();
}

/* A thread that exists before the process is confined. */
static atomic_int go;

static void *cheat_in_thread(void *secret)
{
    while (!atomic_load(&go))
        usleep(100);
    bool ok = open_userfaultfd() < 0 && errno == EPERM;
    ok = ok && open_file(secret, O_RDONLY) < 0;
    return ok ? NULL : secret;
}

static int confine_threads(const struct assay_confinement *c)
{
    char path[600];
    pthread_t threads[4];
    struct assay_confined got;
    struct assay_error err = {0};
    snprintf(path, sizeof path, "%s/../secret/file", given_readable);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, cheat_in_thread, path) == 0);
    CHECK(assay_confine_before_load(c, &got, &err) == ASSAY_OK);
    CHECK(got.seccomp);
    CHECK(got.landlock || HAVE_ASAN || HAVE_TSAN); /* whose own thread blocks all signals */
    atomic_store(&go, 1);
    for (int i = 0; i < 4; i++) {
        void *opened;
        CHECK(pthread_join(threads[i], &opened) == 0 && opened == NULL);
    }
    return 0;
}

static const struct deed {
    const char *name;
    int (*act)(void);
} deeds[] = {
    {"try_to_cheat", try_to_cheat},
    {"work", work},
    {"work_on_files", work_on_files},
    {"look_around", look_around},
    {"take_memory", take_memory},
    {"reach_out", reach_out},
    {"reach_out_with_gpu", reach_out_with_gpu},
    {"tell_others", tell_others},
    {"use_gpu", use_gpu},
    {"touch_files", touch_files},
    {"count_network", count_network},
    {"wait_for_judge", wait_for_judge},
    {"leave_daemon", leave_daemon},
    {"leave_comet", leave_comet},
    {"fork_some", fork_some},
    {"wait_forever", wait_forever},
};

/* --runner DEED FLAGS MEMORY READABLE WRITABLE */
static int runner_main(char **words)
{
    const char *const readable[] = {given_readable = words[5], NULL};
    const char *const writable[] = {given_writable = words[6], NULL};
    int flags = words[3][0] - '0';
    const struct assay_confinement c = {.sandbox = flags & 1,
                                        .gpu = flags & 2,
                                        .mute = flags & 4,
                                        .memory_bytes = atoll(words[4]), // NOLINT(cert-err34-c)
                                        .readable = readable[0][0] ? readable : NULL,
                                        .writable = writable[0][0] ? writable : NULL};
    struct assay_confined got;
    struct assay_error err = {0};
    if (strcmp(words[2], "look_around") == 0) /* before anything opens a file */
        CHECK(look_around() == 0);
    if (strcmp(words[2], "confine_threads") == 0)
        return confine_threads(&c);
    CHECK(assay_confine_before_load(&c, &got, &err) == ASSAY_OK);
    if (getenv("ASSAY_SHOW"))
        fprintf(stderr, "uid %d, %s: %s\n", (int)getuid(), words[2], got.text);
    if (strcmp(words[2], "count_network") == 0 && !got.namespaces)
        return SKIPPED;
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0]; i++)
        if (strcmp(deeds[i].name, words[2]) == 0)
            return deeds[i].act();
    return 125;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void cheats_are_refused(void **state)
{
    (void)state;
    if (!has_seccomp())
        skip_with("the kernel has no seccomp");
    both_users(run, "try_to_cheat", &usual);
    both_users(run, "try_to_cheat", &sandboxed);
}

static void innocents_can_work(void **state)
{
    (void)state;
    if (!has_seccomp())
        skip_with("the kernel has no seccomp");
    both_users(run, "work", &usual);
    both_users(run, "work", &sandboxed);
    assert_int_equal(chdir(temporary), 0);
    assert_int_equal(run("work_on_files", &usual), 0);
    assert_int_equal(chdir("/"), 0);
}

static void a_runner_starts_with_little(void **state)
{
    (void)state;
    int pipes[2];
    sigset_t set, before;
    assert_int_equal(pipe(pipes), 0); // NOLINT(android-cloexec-pipe)
    setenv("SOME_TOKEN", "x", 1);
    setenv("NVIDIA_API_KEY", "x", 1);
    setenv("NVIDIA_VISIBLE_THINGS", "x", 1);
    setenv("OMP_NUM_THREADS", "5", 1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &before);
    signal(SIGUSR2, SIG_IGN);
    both_users(run, "look_around", &usual);
    both_users(run, "look_around", &sandboxed);
    signal(SIGUSR2, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(pipes[0]);
    close(pipes[1]);
}

static void memory_has_a_limit(void **state)
{
    (void)state;
    const struct assay_confinement limited = {.memory_bytes = 256 * MIB};
    if (HAVE_ASAN || HAVE_TSAN)
        skip_with("sanitizers need all of the address space");
    both_users(run, "take_memory", &limited);
}

static void a_sandbox_has_no_network(void **state)
{
    (void)state;
    const struct assay_confinement with_gpu = {.sandbox = true, .gpu = true};
    if (!has_seccomp())
        skip_with("the kernel has no seccomp");
    both_users(run, "reach_out", &sandboxed);
    both_users(run, "reach_out_with_gpu", &with_gpu);
    if (run("count_network", &sandboxed) == SKIPPED)
        skip_with("network namespaces are not allowed here");
    both_users(run, "count_network", &sandboxed);
}

static void a_sandbox_may_have_a_gpu(void **state)
{
    (void)state;
    const struct assay_confinement with_gpu = {
        .sandbox = true, .gpu = true, .memory_bytes = (int64_t)8 * GIB};
    struct assay_confinement mute = with_gpu;
    mute.mute = true;
    if (access("/dev/nvidiactl", F_OK) != 0)
        skip_with("there is no GPU of NVIDIA");
    if (HAVE_ASAN || HAVE_TSAN)
        skip_with("sanitizers and NVIDIA's driver want the same addresses");
    both_users(run, "use_gpu", &with_gpu);
    both_users(run, "use_gpu", &mute);
}

static void make_folders(void)
{
    put_file("may_read/file", "x");
    put_file("may_write/file", "x");
    put_file("secret/file", "x");
    assert_int_equal(chmod(temporary, 0755), 0);
    assert_int_equal(chmod(in_temporary("may_read"), 0777), 0);
    assert_int_equal(chmod(in_temporary("may_read/file"), 0644), 0);
    assert_int_equal(chmod(in_temporary("may_write"), 0777), 0);
    assert_int_equal(chmod(in_temporary("secret"), 0755), 0);
    assert_int_equal(chmod(in_temporary("secret/file"), 0644), 0);
}

static void a_sandbox_has_only_its_files(void **state)
{
    (void)state;
    make_folders();
    const char *const readable[] = {in_temporary("may_read"), NULL};
    const char *const writable[] = {in_temporary("may_write"), NULL};
    const struct assay_confinement c = {
        .sandbox = true, .readable = readable, .writable = writable};
    if (!has_landlock(1) || !has_seccomp())
        skip_with("the kernel has no Landlock");
    both_users(run, "touch_files", &c);
}

static void a_mute_process_tells_nobody(void **state)
{
    (void)state;
    make_folders();
    const char *const readable[] = {in_temporary("may_read"), NULL};
    const struct assay_confinement mute = {.mute = true, .readable = readable};
    const struct assay_confinement both = {.mute = true, .sandbox = true, .readable = readable};
    if (!has_landlock(3) || !has_seccomp())
        skip_with("the kernel has no Landlock");
    both_users(run, "tell_others", &mute);
    both_users(run, "tell_others", &both);
}

static void threads_that_exist_are_confined(void **state)
{
    (void)state;
    make_folders();
    const char *const readable[] = {in_temporary("may_read"), NULL};
    const struct assay_confinement c = {.sandbox = true, .readable = readable};
    if (!has_landlock(1) || !has_seccomp())
        skip_with("the kernel has no Landlock");
    both_users(run, "confine_threads", &c);
}

static int reach_into(const char *deed, const struct assay_confinement *c)
{
    struct runner r;
    int64_t *there, value = 0;
    int how;
    CHECK(start(&r, deed, c) == 0);
    CHECK(recv(r.socket, &there, sizeof there, 0) == sizeof there);
    struct iovec ours = {&value, sizeof value}, theirs = {there, sizeof value};
    CHECK(process_vm_readv(r.pid, &ours, 1, &theirs, 1, 0) == sizeof value && value == 41);
    CHECK(kill(r.pid, SIGSTOP) == 0);
    CHECK(waitpid(r.pid, &how, WUNTRACED) == r.pid && WIFSTOPPED(how));
    value = 42;
    CHECK(process_vm_writev(r.pid, &ours, 1, &theirs, 1, 0) == sizeof value);
    CHECK(kill(r.pid, SIGCONT) == 0);
    CHECK(send(r.socket, "", 1, 0) == 1);
    CHECK(finish(&r) == 0);
    return 0;
}

static void the_judge_reaches_into_a_runner(void **state)
{
    (void)state;
    both_users(reach_into, "wait_for_judge", &usual);
    both_users(reach_into, "wait_for_judge", &sandboxed);
}

/* A judge that is not dumpable cannot be traced; its runners can. */
static int reach_into_from_hiding(const char *deed, const struct assay_confinement *c)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int code = reach_into(deed, c);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return code;
}

static void a_hidden_judge_does_too(void **state)
{
    (void)state;
    both_users(reach_into_from_hiding, "wait_for_judge", &usual);
    both_users(reach_into_from_hiding, "wait_for_judge", &sandboxed);
}

/* Waits until the runner says something. */
static void await_word(struct runner *r)
{
    char word;
    assert_int_equal(recv(r->socket, &word, 1, 0), 1);
}

static void a_runner_dies_with_its_judge(void **state)
{
    (void)state;
    int told[2], how = 0;
    pid_t pid = 0;
    assay_descendants_adopt();
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t judge = fork();
    if (judge == 0) {
        struct runner r;
        char word;
        bool ok = start(&r, "wait_forever", &sandboxed) == 0 && recv(r.socket, &word, 1, 0) == 1 &&
                  write(told[1], &r.pid, sizeof r.pid) == sizeof r.pid;
        _exit(!ok);
    }
    assert_int_equal(waitpid(judge, &how, 0), judge);
    assert_int_equal(how, 0);
    assert_int_equal(read(told[0], &pid, sizeof pid), sizeof pid);
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    close(told[0]);
    close(told[1]);
}

static void daemons_are_ended(void **state)
{
    (void)state;
    struct runner r;
    assay_descendants_adopt();
    assert_int_equal(start(&r, "leave_daemon", &usual), 0);
    await_word(&r);
    assert_int_equal(finish(&r), 0);
    if (has_seccomp())
        assert_int_equal(assay_descendants_count(r.pid), 1); /* by its group */
    assert_int_equal(assay_descendants_count(getpid()), 1);
    assert_true(assay_descendants_end(NULL, 0));
    assert_int_equal(assay_descendants_count(getpid()), 0);
}

/* Without a filter, in a session of its own. */
static void free_daemons_are_ended(void **state)
{
    (void)state;
    int told[2];
    char word;
    assay_descendants_adopt();
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        for (int i = 0; i < 8; i++)
            if (fork() == 0) {
                setsid();
                if (write(told[1], "", 1) == 1)
                    for (;;)
                        pause();
            }
        _exit(0);
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(read(told[0], &word, 1), 1);
    waitpid(child, NULL, 0);
    assert_int_equal(assay_descendants_count(getpid()), 8);
    assert_true(assay_descendants_end(NULL, 0));
    assert_int_equal(assay_descendants_count(getpid()), 0);
    close(told[0]);
    close(told[1]);
}

static void comets_are_ended(void **state)
{
    (void)state;
    struct runner r;
    if (!has_seccomp())
        skip_with("the kernel has no seccomp: a group can be left");
    assay_descendants_adopt();
    assert_int_equal(start(&r, "leave_comet", &usual), 0);
    await_word(&r);
    assert_int_equal(finish(&r), 0);
    assert_true(assay_descendants_end(NULL, 0));
    usleep(20000);
    assert_int_equal(assay_descendants_count(getpid()), 0);
}

static void the_spared_live_on(void **state)
{
    (void)state;
    struct runner one, other;
    assay_descendants_adopt();
    assert_int_equal(start(&one, "fork_some", &usual), 0);
    assert_int_equal(start(&other, "fork_some", &usual), 0);
    await_word(&one);
    await_word(&other);
    assert_int_equal(assay_descendants_count(one.pid), 20);
    assert_int_equal(assay_descendants_count(getpid()), 42);
    assert_true(assay_descendants_end(&other.pid, 1));
    assert_int_equal(assay_descendants_count(one.pid), 0);
    assert_int_equal(assay_descendants_count(other.pid), 20);
    assert_int_equal(kill(other.pid, 0), 0);
    assert_int_equal(waitpid(one.pid, NULL, 0), -1); /* reaped */
    assert_true(assay_descendants_end(NULL, 0));
    assert_int_equal(assay_descendants_count(getpid()), 0);
    close(one.socket);
    close(other.socket);
}

static void what_it_got_is_told(void **state)
{
    (void)state;
    struct assay_confined got;
    struct assay_error err = {0};
    pid_t pid = fork();
    if (pid == 0) {
        bool ok = assay_confine_before_load(&usual, &got, &err) == ASSAY_OK &&
                  got.seccomp == has_seccomp() && strstr(got.text, "seccomp") &&
                  strstr(got.text, "Landlock") && !strstr(got.text, "network");
        _exit(!ok);
    }
    int how = 0;
    assert_int_equal(waitpid(pid, &how, 0), pid);
    assert_int_equal(how, 0);
}

static void an_environment_needs_memory(void **state)
{
    (void)state;
    assay_alloc_fail_after(1);
    char **environment = assay_confine_environment(NULL);
    assay_alloc_fail_after(0);
    assert_null(environment);
}

int main(int argc, char **argv)
{
    if (argc == 7 && strcmp(argv[1], "--runner") == 0)
        _exit(runner_main(argv)); /* no leak checker: it may not read its list in a sandbox */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cheats_are_refused),
        cmocka_unit_test_setup_teardown(innocents_can_work, temporary_make, temporary_remove),
        cmocka_unit_test(a_runner_starts_with_little),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(a_sandbox_has_no_network),
        cmocka_unit_test(a_sandbox_may_have_a_gpu),
        cmocka_unit_test_setup_teardown(a_sandbox_has_only_its_files, temporary_make,
                                        temporary_remove),
        cmocka_unit_test_setup_teardown(a_mute_process_tells_nobody, temporary_make,
                                        temporary_remove),
        cmocka_unit_test_setup_teardown(threads_that_exist_are_confined, temporary_make,
                                        temporary_remove),
        cmocka_unit_test(the_judge_reaches_into_a_runner),
        cmocka_unit_test(a_hidden_judge_does_too),
        cmocka_unit_test(a_runner_dies_with_its_judge),
        cmocka_unit_test(daemons_are_ended),
        cmocka_unit_test(free_daemons_are_ended),
        cmocka_unit_test(comets_are_ended),
        cmocka_unit_test(the_spared_live_on),
        cmocka_unit_test(what_it_got_is_told),
        cmocka_unit_test(an_environment_needs_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
