/* namespaces.c: namespaces and capabilities, between fork and exec. Only system calls: no memory is
 * allocated and no lock taken. */
#include "runner/sandbox_parts.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT 47
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif

/* ---- namespaces ------------------------------------------------------------------------------ */

static bool put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t written = write(fd, text, strlen(text));
    close(fd);
    return written == (ssize_t)strlen(text);
}

/* Everybody keeps the number they have outside. */
static void map_ids(uid_t uid, gid_t gid)
{
    char map[64];
    put("/proc/self/setgroups", "deny"); /* else an ordinary user may not map groups */
    snprintf(map, sizeof map, "%u %u 1", (unsigned)uid, (unsigned)uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%u %u 1", (unsigned)gid, (unsigned)gid);
    put("/proc/self/gid_map", map);
}

/* OpenMP runtimes register themselves in shared memory; this one is nobody else's and small. */
static void mount_shared_memory(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=1777");
}

/* Root needs no user namespace, and without one it can still read files of other users. Others
 * get the rest only with one. Each call gives all it names or nothing. */
void assay_namespaces_enter(void)
{
    static const int steps[] = {
        CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS,
        CLONE_NEWNET | CLONE_NEWIPC,
        CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS,
        CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC,
        CLONE_NEWUSER | CLONE_NEWNET,
        CLONE_NEWNET,
    };
    uid_t uid = geteuid();
    gid_t gid = getegid();
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (unshare(steps[i]) != 0)
            continue;
        if (steps[i] & CLONE_NEWUSER)
            map_ids(uid, gid);
        if (steps[i] & CLONE_NEWNS)
            mount_shared_memory();
        return;
    }
}

/* ---- capabilities ---------------------------------------------------------------------------- */

#define BIT(capability) ((uint64_t)1 << (capability))

/* What root's kernels may need: files of others, locked memory. Less than a container has by
 * default, and so less than the judge: a process with more capabilities cannot be traced. */
static const uint64_t kept = BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) |
                             BIT(CAP_FOWNER) | BIT(CAP_FSETID) | BIT(CAP_IPC_LOCK);
static const uint64_t kept_in_sandbox =
    BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_IPC_LOCK);

/* The set that exec takes over as it is, unlike the others. */
static void clear_inheritable(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    if (syscall(SYS_capget, &header, data) != 0)
        return;
    data[0].inheritable = data[1].inheritable = 0;
    syscall(SYS_capset, &header, data);
}

void assay_capabilities_drop(const struct assay_confinement *c)
{
    uint64_t keep = c->sandbox ? kept_in_sandbox : kept;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    for (int capability = 0; capability < 64; capability++)
        if (!(keep & BIT(capability)))
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0); /* EINVAL beyond the last */
    clear_inheritable();
}
