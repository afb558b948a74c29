/* sandbox.h: what a runner, the process that a stranger's code runs in, may do.
 *
 * A runner is confined in two steps. Before exec it loses descriptors, privileges, memory beyond a
 * limit and, with `sandbox`, the network. Before it opens the stranger's file, Landlock and seccomp
 * take away what that file could use against the judge or, with `sandbox`, against the user. Each
 * step does what the kernel allows, as root, as an ordinary user and in a container, and goes on
 * where it allows less; `struct assay_confined` says what came of it.
 *
 * Always refused: reading, writing, signalling or slowing the judge; hiding memory from it;
 * real-time priority; setting the clock; new namespaces. An author's process is `mute`: what it
 * computes must not reach the kernel that is judged by it. Always possible: threads and their
 * affinity, executable memory, fork and exec of a compiler, signal handlers, locked memory.
 *
 * Not covered: the affinity and priority of the judge's other threads, which any process of the
 * same user may change; memory in files that are not mapped. Where there is no Landlock, an
 * ordinary user's runner can open the judge's /proc/PID/mem unless the judge is not dumpable
 * (PR_SET_DUMPABLE); its runners are dumpable all the same. */
#ifndef ASSAY_RUNNER_SANDBOX_H
#define ASSAY_RUNNER_SANDBOX_H

#include "base/error.h"
#include <stdint.h>
#include <sys/types.h>

struct assay_confinement {
    bool sandbox;         /* no network, no writes, and only the files below and the system's */
    bool mute;            /* no network, no writes, no shared memory: it can tell nobody anything
                             but the judge; it reads what it likes */
    bool gpu;             /* the files of NVIDIA's driver are needed; address space is unlimited;
                             no namespaces, only filters */
    int64_t memory_bytes; /* 0: no limit */
    /* Files and folders, NULL-terminated; NULL: none. One that does not exist is passed over.
     * The system's folders, this program and the folders of LD_LIBRARY_PATH are readable anyway. */
    const char *const *readable, *const *writable;
};

struct assay_confined {
    bool seccomp;    /* system calls are filtered, in all threads */
    bool landlock;   /* with `sandbox` files are, else only the reach to other processes */
    bool namespaces; /* with `sandbox`: no network interface has an address */
    char text[160];  /* all of this in a line: "seccomp, Landlock 7, no network" */
};

/* In the child, between fork and exec. A group of its own, death with the judge, no descriptors
 * but 0 to 4, default signals, limits, fewer capabilities and, with `sandbox`, namespaces. Only
 * makes system calls, so that the judge may have threads. Ends the child if the judge is gone. */
void assay_confine_before_exec(const struct assay_confinement *c, pid_t judge);

/* In the runner, before it opens the stranger's file; `got` may be NULL. Its parent is the judge.
 * Threads that exist are confined too, unless they block all signals, as those of drivers and
 * sanitizers may: then `landlock` is false. So call this before there are any; the GPU's driver can
 * be opened afterwards. */
enum assay_status assay_confine_before_load(const struct assay_confinement *c,
                                            struct assay_confined *got, struct assay_error *err);

/* The environment for exec: the variables of ours that a kernel, a compiler or a library may need,
 * without those that look like secrets, then `extra` ("NAME=value", NULL-terminated or NULL), which
 * win. NULL: no memory. Release with assay_free; the strings are borrowed. */
char **assay_confine_environment(const char *const *extra);

/* In the judge, once: what a runner leaves behind becomes the judge's child. */
void assay_descendants_adopt(void);

/* The processes that descend from this one or are in its group, itself not counted; zombies
 * neither. Reads all of /proc: some 10 us for each process of the machine. -1: /proc cannot be
 * read. */
int64_t assay_descendants_count(pid_t of);

/* Those of them that run, or would if they had a core. */
int64_t assay_descendants_running(pid_t of);

/* Kills and reaps all descendants of this process but `spared`, the descendants of those and their
 * groups, until none is left. False: some were, after five seconds. A runner whose exit status
 * matters is waited for before. */
bool assay_descendants_end(const pid_t *spared, int64_t n);

#endif
