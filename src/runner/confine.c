#include "runner/sandbox_parts.h"

#include "base/load.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* ---- before exec ----------------------------------------------------------------------------- */

static void close_descriptors(void)
{
    enum { FIRST = 5 }; /* 3 and 4 are the line and its last words */
    struct rlimit limit = {1024, 1024};
    if (syscall(SYS_close_range, FIRST, ~0u, 0) == 0)
        return;
    getrlimit(RLIMIT_NOFILE, &limit); /* before Linux 5.9 */
    for (int fd = FIRST; (rlim_t)fd < limit.rlim_cur && fd < 1 << 16; fd++)
        close(fd);
}

static void reset_signals(void)
{
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Lowers a limit for good; one that is lower already stays. */
static void limit(int resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return;
    now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
    now.rlim_cur = now.rlim_cur < now.rlim_max ? now.rlim_cur : now.rlim_max;
    setrlimit(resource, &now);
}

/* Address space beyond the memory itself: the program with its libraries and, for each thread, a
 * stack of 8 MiB and an arena of malloc, which reserves 64. */
static rlim_t address_space_overhead(void)
{
    cpu_set_t cpus;
    int n = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1024;
    return ((rlim_t)1 << 30) + (rlim_t)n * (72 << 20);
}

/* Private memory counts exactly. Shared memory counts as address space, which a GPU's driver takes
 * by the terabyte. */
static void limit_memory(const struct assay_confinement *c)
{
    if (c->memory_bytes <= 0 || ASSAY_UNDER_SANITIZER)
        return;
    limit(RLIMIT_DATA, (rlim_t)c->memory_bytes);
    if (!c->gpu)
        limit(RLIMIT_AS, (rlim_t)c->memory_bytes + address_space_overhead());
}

/* How many threads the machine has now: RLIMIT_NPROC counts all of a user's. */
static rlim_t threads_of_all(void)
{
    long running, all;
    return (rlim_t)(assay_load_threads(&running, &all) ? all : 1 << 15);
}

/* A file of 4 GiB is more than a compiler writes, and 4096 threads more than a kernel starts. */
static void limit_resources(void)
{
    limit(RLIMIT_CORE, 0); /* a crash is a row in a table, not a file to clean up */
    limit(RLIMIT_FSIZE, (rlim_t)4 << 30);
    limit(RLIMIT_NOFILE, 4096);
    limit(RLIMIT_NPROC, threads_of_all() + 4096);
    limit(RLIMIT_RTPRIO, 0);
    limit(RLIMIT_NICE, 0);
}

void assay_confine_before_exec(const struct assay_confinement *c, pid_t judge)
{
    setpgid(0, 0);
    reset_signals();
    close_descriptors();
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* the judge may not be; then /proc/self is root's */
    limit_resources();
    if (c->sandbox && !c->gpu) /* the judge reaches a GPU's memory through the driver's sockets */
        assay_namespaces_enter();
    assay_capabilities_drop(c);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* after all that changes credentials, which clears it */
    if (getppid() != judge)           /* it died before we asked to be told */
        _exit(127);
    limit_memory(c);
}

/* ---- before the stranger's file is opened ---------------------------------------------------- */

/* Asks for addresses rather than for the namespace: that is what matters. */
static bool has_no_network(void)
{
    struct ifreq found[1];
    struct ifconf list = {.ifc_len = sizeof found, .ifc_req = found};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno == EAFNOSUPPORT;
    bool none = ioctl(fd, SIOCGIFCONF, &list) == 0 && list.ifc_len == 0;
    close(fd);
    return none;
}

/* Adds "WORDS" to the list in `text`. */
static void say(struct assay_confined *got, const char *words)
{
    size_t length = strlen(got->text);
    snprintf(got->text + length, sizeof got->text - length, "%s%s", length ? ", " : "", words);
}

static void describe_files(const struct assay_confinement *c, const struct assay_landlock *landlock,
                           struct assay_confined *got)
{
    char words[96];
    if (landlock->abi == 0)
        snprintf(words, sizeof words, "no Landlock%s", c->sandbox ? ": all files are open" : "");
    else if (landlock->threads_missed > 0)
        snprintf(words, sizeof words, "Landlock %d except in %d threads", landlock->abi,
                 landlock->threads_missed);
    else
        snprintf(words, sizeof words, "Landlock %d", landlock->abi);
    say(got, words);
}

static void describe(const struct assay_confinement *c, const struct assay_landlock *landlock,
                     int seccomp_problem, struct assay_confined *got)
{
    char words[96] = "seccomp";
    if (seccomp_problem)
        snprintf(words, sizeof words, "no seccomp: %.60s", strerror(seccomp_problem));
    say(got, words);
    describe_files(c, landlock, got);
    if (c->mute && got->landlock && got->seccomp)
        say(got, "tells nobody else");
    if (c->sandbox)
        say(got, got->namespaces || (got->seccomp && c->gpu) ? "no network"
                 : got->seccomp                              ? "no sockets"
                                                             : "the network is open");
}

enum assay_status assay_confine_before_load(const struct assay_confinement *c,
                                            struct assay_confined *got, struct assay_error *err)
{
    struct assay_confined unused;
    struct assay_landlock landlock = {0};
    got = got ? got : &unused;
    *got = (struct assay_confined){0};
    got->namespaces = c->sandbox && has_no_network();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return assay_error_set(err, ASSAY_ERR_IO, NULL, "privileges cannot be given up: %s",
                               strerror(errno));
    enum assay_status status = assay_landlock_restrict(c, &landlock, err);
    if (status != ASSAY_OK)
        return status;
    int problem = assay_seccomp_filter(c, getppid());
    got->landlock = landlock.abi > 0 && landlock.threads_missed == 0;
    got->seccomp = problem == 0;
    describe(c, &landlock, problem, got);
    return ASSAY_OK;
}
