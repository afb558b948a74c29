/* seccomp.c: which system calls a runner may make: all but those of the table. The table is a
 * deny-list, because a stranger's libraries and compilers may call nearly anything.
 *
 * The filter is classic BPF, made from the table row by row: the number, where needed one argument,
 * the answer. The kernel remembers for each number whether it is always allowed (since 5.11), so
 * that the length of the table costs nothing where time is taken. */
#include "runner/sandbox_parts.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef OUR_ARCH

/* Calls that the C library's header may be too old for. Their numbers are the same everywhere. */
#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#define SYS_fspick 433
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

enum {
    X32_BIT = 0x40000000, /* in the number of a call, on x86-64 */
    NEW_NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                     CLONE_NEWPID | CLONE_NEWNET,
    RESET_ON_FORK = 0x40000000,  /* a flag in a scheduling policy */
    MAKE_USERFAULTFD = 0xaa00,   /* ioctl of /dev/userfaultfd */
    TYPE_INTO_TERMINAL = 0x5412, /* TIOCSTI */
    ALL_ONES = -1
};

/* ---- the table ------------------------------------------------------------------------------- */

enum when { ALWAYS, SANDBOX, MUTE, ALONE, ALONE_CPU, ALONE_GPU }; /* alone: either of the two */
enum test { ANY, IS, IS_NOT, IS_JUDGE, IS_JUDGES_GROUP };
enum result { REFUSE, MISSING, PRETEND }; /* EPERM, ENOSYS, 0 without doing anything */

struct row {
    int number;
    enum when when;
    enum result result;
    enum test test; /* of (argument & mask); the upper 32 bits are not looked at */
    int argument;
    int64_t mask, value;
};

#define CALL(name, ...)                                                                            \
    {                                                                                              \
        .number = SYS_##name, __VA_ARGS__                                                          \
    }
#define ARGUMENT(n, m, how, v) .argument = (n), .mask = (m), .test = (how), .value = (v)
#define FIRST_IS(v) ARGUMENT(0, ALL_ONES, IS, v)
#define FIRST_IS_JUDGE ARGUMENT(0, ALL_ONES, IS_JUDGE, 0)
#define SECOND_IS_JUDGE ARGUMENT(1, ALL_ONES, IS_JUDGE, 0)

static const struct row rows[] = {
    /* To learn when the judge looks at memory, or to hide memory from it. */
    CALL(userfaultfd, ALWAYS),
    CALL(ioctl, ALWAYS, ARGUMENT(1, ALL_ONES, IS, MAKE_USERFAULTFD)),
    CALL(memfd_secret, ALWAYS),
    CALL(prctl, ALWAYS, FIRST_IS(PR_SET_DUMPABLE)),
/* To reach into other processes. */
#if !ASSAY_UNDER_SANITIZER
    CALL(ptrace, ALWAYS),
#endif
    CALL(process_vm_readv, ALWAYS),
    CALL(process_vm_writev, ALWAYS),
    CALL(process_madvise, ALWAYS),
    CALL(pidfd_getfd, ALWAYS),
    CALL(kcmp, ALWAYS),
    CALL(perf_event_open, ALWAYS),
    CALL(bpf, ALWAYS),
    CALL(keyctl, ALWAYS),
    CALL(add_key, ALWAYS),
    CALL(request_key, ALWAYS),
    CALL(ioctl, ALWAYS, ARGUMENT(1, ALL_ONES, IS, TYPE_INTO_TERMINAL)),
    /* To stop or slow the judge, or whoever has the same user. */
    CALL(kill, ALWAYS, FIRST_IS_JUDGE),
    CALL(kill, ALWAYS, FIRST_IS(-1)),
    CALL(kill, ALWAYS, ARGUMENT(0, ALL_ONES, IS_JUDGES_GROUP, 0)),
    CALL(tkill, ALWAYS, FIRST_IS_JUDGE),
    CALL(tgkill, ALWAYS, FIRST_IS_JUDGE),
    CALL(rt_sigqueueinfo, ALWAYS, FIRST_IS_JUDGE),
    CALL(rt_tgsigqueueinfo, ALWAYS, FIRST_IS_JUDGE),
    CALL(pidfd_open, ALWAYS, FIRST_IS_JUDGE),
    CALL(sched_setaffinity, ALWAYS, FIRST_IS_JUDGE),
    CALL(sched_setparam, ALWAYS, FIRST_IS_JUDGE),
    CALL(sched_setscheduler, ALWAYS, FIRST_IS_JUDGE),
    CALL(setpriority, ALWAYS, SECOND_IS_JUDGE),
    CALL(setpriority, ALWAYS, FIRST_IS(PRIO_USER)),
    CALL(ioprio_set, ALWAYS, SECOND_IS_JUDGE),
    CALL(migrate_pages, ALWAYS, FIRST_IS_JUDGE),
    CALL(move_pages, ALWAYS, FIRST_IS_JUDGE),
    CALL(prlimit64, ALWAYS, FIRST_IS_JUDGE),
    /* To run before others. SCHED_FIFO is 1, SCHED_RR 2; sched_setattr has its policy in memory,
     * where a filter does not see it. */
    CALL(sched_setscheduler, ALWAYS, ARGUMENT(1, ~RESET_ON_FORK, IS, 1)),
    CALL(sched_setscheduler, ALWAYS, ARGUMENT(1, ~RESET_ON_FORK, IS, 2)),
    CALL(sched_setattr, ALWAYS),
    CALL(setpriority, ALWAYS, ARGUMENT(2, INT32_MIN, IS_NOT, 0)),
    /* To change time itself: adjtimex moves the monotonic clock by up to a tenth. */
    CALL(adjtimex, ALWAYS),
    CALL(clock_adjtime, ALWAYS),
    CALL(clock_settime, ALWAYS),
    CALL(settimeofday, ALWAYS),
    /* To leave the namespaces, or to make some where these rules do not hold (a clock with another
     * offset is one). The flags of clone3 lie in memory; C libraries then take clone. */
    CALL(unshare, ALWAYS),
    CALL(setns, ALWAYS),
    CALL(clone, ALWAYS, ARGUMENT(0, NEW_NAMESPACES, IS_NOT, 0)),
    CALL(clone3, ALWAYS, MISSING),
    CALL(mount, ALWAYS),
    CALL(umount2, ALWAYS),
    CALL(pivot_root, ALWAYS),
    CALL(open_tree, ALWAYS),
    CALL(open_tree_attr, ALWAYS),
    CALL(move_mount, ALWAYS),
    CALL(fsopen, ALWAYS),
    CALL(fsconfig, ALWAYS),
    CALL(fsmount, ALWAYS),
    CALL(fspick, ALWAYS),
    CALL(mount_setattr, ALWAYS),
    /* To outlive the runner. All it starts stays in its group, which one signal ends. Ninja starts
     * each command in a new group and takes a refusal for an error, hence the pretence. */
    CALL(setsid, ALWAYS, PRETEND),
    CALL(setpgid, ALWAYS, PRETEND),
    CALL(prctl, ALWAYS, PRETEND, FIRST_IS(PR_SET_PDEATHSIG)),

    /* The network. Sockets in the file system would reach services that have one; a GPU's driver
     * may have such a service. socketpair remains. io_uring would pass by this filter. */
    CALL(socket, ALONE_CPU),
    CALL(socket, ALONE_GPU, ARGUMENT(0, ALL_ONES, IS_NOT, AF_UNIX)),
    CALL(io_uring_setup, ALONE),
    CALL(io_uring_enter, ALONE),
    CALL(io_uring_register, ALONE),
    /* Memory and messages that have no file. */
    CALL(shmget, MUTE),
    CALL(msgget, MUTE),
    CALL(semget, MUTE),
    CALL(mq_open, MUTE),
/* What is known of files, which Landlock does not protect. */
#ifdef SYS_chmod
    CALL(chmod, SANDBOX),
    CALL(chown, SANDBOX),
    CALL(lchown, SANDBOX),
    CALL(utime, SANDBOX),
    CALL(utimes, SANDBOX),
    CALL(futimesat, SANDBOX),
#endif
    CALL(fchmod, SANDBOX),
    CALL(fchmodat, SANDBOX),
    CALL(fchmodat2, SANDBOX),
    CALL(fchown, SANDBOX),
    CALL(fchownat, SANDBOX),
    CALL(utimensat, SANDBOX),
    CALL(setxattr, SANDBOX),
    CALL(lsetxattr, SANDBOX),
    CALL(fsetxattr, SANDBOX),
    CALL(setxattrat, SANDBOX),
    CALL(removexattr, SANDBOX),
    CALL(lremovexattr, SANDBOX),
    CALL(fremovexattr, SANDBOX),
    CALL(removexattrat, SANDBOX),
    CALL(file_setattr, SANDBOX),
    CALL(open_by_handle_at, SANDBOX),
    CALL(fanotify_init, SANDBOX),
    /* The machine. */
    CALL(kexec_load, SANDBOX),
    CALL(kexec_file_load, SANDBOX),
    CALL(init_module, SANDBOX),
    CALL(finit_module, SANDBOX),
    CALL(delete_module, SANDBOX),
    CALL(reboot, SANDBOX),
    CALL(swapon, SANDBOX),
    CALL(swapoff, SANDBOX),
    CALL(acct, SANDBOX),
    CALL(quotactl, SANDBOX),
    CALL(syslog, SANDBOX),
    CALL(chroot, SANDBOX),
    CALL(sethostname, SANDBOX),
    CALL(setdomainname, SANDBOX),
    CALL(vhangup, SANDBOX),
#ifdef SYS_iopl
    CALL(iopl, SANDBOX),
    CALL(ioperm, SANDBOX),
    CALL(modify_ldt, SANDBOX),
#endif
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

/* ---- the program ----------------------------------------------------------------------------- */

/* A row takes at most six instructions, the beginning and the end seven. */
struct program {
    struct sock_filter code[N_ROWS * 6 + 7];
    unsigned short n;
};

static void add(struct program *p, unsigned code, uint32_t k, unsigned if_true, unsigned if_false)
{
    p->code[p->n++] = (struct sock_filter){(unsigned short)code, (unsigned char)if_true,
                                           (unsigned char)if_false, k};
}

static void add_load(struct program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void add_answer(struct program *p, enum result result)
{
    static const uint32_t errors[] = {[REFUSE] = EPERM, [MISSING] = ENOSYS, [PRETEND] = 0};
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errors[result], 0, 0);
}

/* Falls through with the call's number if the row does not answer. */
static void add_row(struct program *p, const struct row *row, pid_t judge, pid_t judges_group)
{
    const unsigned equals = BPF_JMP | BPF_JEQ | BPF_K;
    int64_t value = row->test == IS_JUDGE          ? judge
                    : row->test == IS_JUDGES_GROUP ? -(int64_t)judges_group
                                                   : row->value;
    add(p, equals, (uint32_t)row->number, 0, row->test == ANY ? 1 : 5);
    if (row->test != ANY) {
        add_load(p, offsetof(struct seccomp_data, args) + 8 * (size_t)row->argument);
        add(p, BPF_ALU | BPF_AND | BPF_K, (uint32_t)row->mask, 0, 0);
        add(p, equals, (uint32_t)value, row->test == IS_NOT, row->test != IS_NOT);
    }
    add_answer(p, row->result);
    if (row->test != ANY)
        add_load(p, offsetof(struct seccomp_data, nr));
}

static bool applies(const struct row *row, const struct assay_confinement *c)
{
    bool alone = c->sandbox || c->mute;
    switch (row->when) {
    case ALWAYS:
        return true;
    case SANDBOX:
        return c->sandbox;
    case MUTE:
        return c->mute;
    case ALONE:
        return alone;
    case ALONE_CPU:
        return alone && !c->gpu;
    case ALONE_GPU:
        return alone && c->gpu;
    }
    return false;
}

/* Calls of another architecture (32 bits, x32) have other numbers: there are none. */
static void make_program(struct program *p, const struct assay_confinement *c, pid_t judge)
{
    pid_t group = getpgid(judge);
    p->n = 0;
    add_load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
    add_answer(p, MISSING);
    add_load(p, offsetof(struct seccomp_data, nr));
    add(p, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
    add_answer(p, MISSING);
    for (size_t i = 0; i < N_ROWS; i++)
        if (applies(&rows[i], c))
            add_row(p, &rows[i], judge, group > 0 ? group : judge);
    add(p, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* For all threads, some of which may exist already. Before Linux 5.16 a filter also switches off
 * speculative loads past stores, which would slow what is measured, unless SPEC_ALLOW is given. */
int assay_seccomp_filter(const struct assay_confinement *c, pid_t judge)
{
    struct program p;
    make_program(&p, c, judge);
    const struct sock_fprog filter = {.len = p.n, .filter = p.code};
    static const unsigned flags[] = {SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                                     SECCOMP_FILTER_FLAG_TSYNC};
    int problem = ENOSYS;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        long missed = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &filter);
        if (missed == 0)
            return 0;
        problem = missed > 0 ? EBUSY : errno; /* a thread has a filter of its own */
    }
    return problem;
}

#else

int assay_seccomp_filter(const struct assay_confinement *c, pid_t judge)
{
    (void)c, (void)judge;
    return ENOSYS;
}

#endif
