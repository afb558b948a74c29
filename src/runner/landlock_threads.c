/* landlock_threads.c: one Landlock ruleset for all threads. landlock_restrict_self is about the
 * calling thread, unless the kernel is recent (version 8). Before, a signal makes every other
 * thread call it, one after the other, as the C library does for setuid. */
#include "runner/sandbox_parts.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

enum { ALL_THREADS = 1 << 3 };            /* a flag of landlock_restrict_self */
enum { PATIENCE_NS = 100 * 1000 * 1000 }; /* for a thread that may have blocked the signal */

/* What travels with the signal. */
struct order {
    int ruleset;
    atomic_int obeyed, refused;
};

struct others {
    pid_t *known;
    int64_t n;
    int missed;
    struct order *order;
};

static int the_signal(void) { return SIGRTMAX - 3; }

static void obey(int number, siginfo_t *info, void *context)
{
    int before = errno;
    (void)number, (void)context;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid()) {
        struct order *order = info->si_value.sival_ptr;
        if (syscall(SYS_landlock_restrict_self, order->ruleset, 0) != 0)
            atomic_fetch_add(&order->refused, 1);
        atomic_fetch_add(&order->obeyed, 1);
    }
    errno = before;
}

static bool is_known(const struct others *others, pid_t tid)
{
    for (int64_t i = 0; i < others->n; i++)
        if (others->known[i] == tid)
            return true;
    return false;
}

/* Sends it to one thread and waits. One that is gone needs nothing. */
static void order_one(struct others *others, pid_t tid)
{
    int obeyed = atomic_load(&others->order->obeyed);
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = others->order;
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, the_signal(), &info) != 0) {
        others->missed += errno != ESRCH;
        return;
    }
    int64_t last = assay_clock_ns() + PATIENCE_NS;
    while (atomic_load(&others->order->obeyed) == obeyed) {
        if (syscall(SYS_tgkill, getpid(), tid, 0) != 0)
            return;
        if (assay_clock_ns() > last) {
            others->missed++;
            return;
        }
        usleep(50);
    }
}

/* One pass over the threads: true if there was a new one. */
static bool order_new_ones(struct others *others)
{
    bool found = false;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || is_known(others, tid))
            continue;
        pid_t *known = assay_realloc(others->known, (size_t)others->n + 1, sizeof *known);
        if (!known) {
            others->missed++;
            break;
        }
        others->known = known;
        known[others->n++] = tid;
        order_one(others, tid);
        found = true;
    }
    if (!tasks)
        others->missed++;
    else
        closedir(tasks);
    return found;
}

/* Threads that a restricted one starts are restricted: the passes end. */
static int restrict_others(int ruleset)
{
    struct others others = {.order = assay_calloc(1, sizeof *others.order),
                            .known = assay_calloc(1, sizeof *others.known)};
    struct sigaction before, action = {.sa_sigaction = obey, .sa_flags = SA_SIGINFO | SA_RESTART};
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    if (others.order && others.known) {
        others.order->ruleset = ruleset;
        others.known[others.n++] = (pid_t)syscall(SYS_gettid);
        sigaction(the_signal(), &action, &before);
        while (order_new_ones(&others))
            ;
        sigaction(the_signal(), &ignored, NULL); /* drops what is still pending */
        sigaction(the_signal(), &before, NULL);
        others.missed += atomic_load(&others.order->refused);
    } else
        others.missed = 1;
    if (others.missed > 0)
        usleep(10000); /* one may have taken the signal just before, and needs the order */
    assay_free(others.order);
    assay_free(others.known);
    return others.missed;
}

int assay_landlock_restrict_threads(int ruleset)
{
    if (syscall(SYS_landlock_restrict_self, ruleset, ALL_THREADS) == 0)
        return 0;
    if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        return -1;
    return restrict_others(ruleset);
}
