/* landlock.c: which files and processes a runner reaches. Landlock is in Linux since 5.13 and takes
 * away more in each of its versions; the rights and numbers below are those of the kernel's
 * Documentation/userspace-api/landlock.rst, because the system's header may be older than the
 * kernel.
 *
 * A process in a Landlock domain cannot trace one outside, nor open its /proc/PID/mem, so there is
 * a domain without `sandbox` and `mute` too. It leaves all files alone. */
#include "runner/sandbox_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#endif

enum { GIVE_VERSION = 1, GIVE_ERRATA = 2, PATH_BENEATH = 1 }; /* flags, and a kind of rule */
enum { THREADS_MAY_SIGNAL = 1 << 1 };                         /* an erratum that is mended */

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REFER = 1 << 13, /* since version 2; before, links and renames to other folders are refused */
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    READING = EXECUTE | READ_FILE | READ_DIR,
    WRITING = WRITE_FILE | ((1 << 13) - (1 << 4)) | REFER | TRUNCATE, /* and making, removing */
    DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV | READ_DIR,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    ALL_NETWORK = 3, /* binding and connecting TCP */
    SCOPE_ABSTRACT_SOCKETS = 1,
    SCOPE_SIGNALS = 2
};

struct ruleset_attributes {
    uint64_t files, network, scoped;
};

struct rule {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

/* A ruleset that is being filled. */
struct rules {
    int fd;
    uint64_t handled;
};

/* ---- what there is --------------------------------------------------------------------------- */

/* All rights to files of a version: 13 at first, then REFER, TRUNCATE and IOCTL_DEV. */
static uint64_t rights_of(int abi)
{
    uint64_t rights = REFER - 1;
    if (abi >= 2)
        rights |= REFER;
    if (abi >= 3)
        rights |= TRUNCATE;
    if (abi >= 5)
        rights |= IOCTL_DEV;
    return rights;
}

/* Threads that join a domain one by one are in different ones: only kernels that let all threads of
 * a process signal each other can keep signals inside. */
static uint64_t signals_scope(void)
{
    long errata = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, GIVE_ERRATA);
    return errata > 0 && errata & THREADS_MAY_SIGNAL ? SCOPE_SIGNALS : 0;
}

static int create_ruleset(const struct assay_confinement *c, int abi, struct rules *rules)
{
    bool alone = c->sandbox || c->mute;
    uint64_t files = c->sandbox ? rights_of(abi) : c->mute ? WRITING & rights_of(abi) : REFER;
    struct ruleset_attributes attributes = {.files = files};
    size_t size = sizeof attributes.files;
    if (abi >= 4) {
        attributes.network = alone ? ALL_NETWORK : 0;
        size += sizeof attributes.network;
    }
    if (abi >= 6) {
        attributes.scoped = signals_scope() | (alone ? SCOPE_ABSTRACT_SOCKETS : 0);
        size += sizeof attributes.scoped;
    }
    rules->handled = attributes.files;
    rules->fd = (int)syscall(SYS_landlock_create_ruleset, &attributes, size, 0);
    return rules->fd < 0 ? errno : 0;
}

/* ---- what is allowed ------------------------------------------------------------------------- */

/* 0 or an errno. What does not exist needs no rule. */
static int allow(const struct rules *rules, const char *path, uint64_t rights)
{
    struct stat found = {0};
    struct rule rule = {.folder = open(path, O_PATH | O_CLOEXEC)};
    if (rule.folder < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : errno;
    int problem = fstat(rule.folder, &found) == 0 ? 0 : errno;
    rule.allowed = rights & rules->handled;
    if (!S_ISDIR(found.st_mode))
        rule.allowed &= OF_FILES;
    if (!problem && rule.allowed &&
        syscall(SYS_landlock_add_rule, rules->fd, PATH_BENEATH, &rule, 0) != 0)
        problem = errno;
    close(rule.folder);
    return problem;
}

static enum assay_status allow_given(const struct rules *rules, const char *const *paths,
                                     uint64_t rights, struct assay_error *err)
{
    for (; paths && *paths; paths++) {
        int problem = allow(rules, *paths, rights);
        if (problem)
            return assay_error_set(err, ASSAY_ERR_IO, *paths,
                                   "cannot be opened to a runner in a sandbox: %s",
                                   strerror(problem));
    }
    return ASSAY_OK;
}

/* The entries of LD_LIBRARY_PATH. */
static void allow_libraries(const struct rules *rules)
{
    char path[4096];
    for (const char *at = getenv("LD_LIBRARY_PATH"); at;) {
        size_t length = strcspn(at, ":");
        if (length > 0 && length < sizeof path) {
            snprintf(path, sizeof path, "%.*s", (int)length, at);
            allow(rules, path, READING);
        }
        at = at[length] ? at + length + 1 : NULL;
    }
}

/* The files of NVIDIA's drivers: on servers, on Jetson, below Windows. */
static void allow_gpus(const struct rules *rules)
{
    static const char *const names[] = {"nvidia", "nvhost", "nvmap", "nvgpu", "dxg"};
    DIR *folder = opendir("/dev");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strncmp(entry->d_name, names[i], strlen(names[i])) == 0) {
                char path[300];
                snprintf(path, sizeof path, "/dev/%s", entry->d_name);
                allow(rules, path, DEVICE);
            }
    if (folder)
        closedir(folder);
}

/* What is written by all: nothing that anybody else could read. Names of threads are written below
 * /proc/self; the CUDA driver opens them as a shell's > does. */
static void allow_own(const struct rules *rules)
{
    static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                          "/dev/urandom"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
        allow(rules, devices[i], DEVICE);
    allow(rules, "/proc/self", READING | WRITE_FILE | TRUNCATE);
}

/* The usual places of libraries and of what they read; /proc/self/exe is this program. */
static void allow_system(const struct rules *rules)
{
    static const char *const folders[] = {"/usr",
                                          "/lib",
                                          "/lib32",
                                          "/lib64",
                                          "/bin",
                                          "/sbin",
                                          "/etc",
                                          "/opt",
                                          "/nix/store",
                                          "/gnu/store",
                                          "/run/opengl-driver",
                                          "/proc",
                                          "/sys",
                                          "/proc/self/exe"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        allow(rules, folders[i], READING);
}

static enum assay_status fill(const struct assay_confinement *c, const struct rules *rules,
                              struct assay_error *err)
{
    if (!c->sandbox && !c->mute) {
        int problem = allow(rules, "/", rules->handled);
        return problem ? assay_error_set(err, ASSAY_ERR_IO, "/", "Landlock: %s", strerror(problem))
                       : ASSAY_OK;
    }
    allow_own(rules);
    if (c->gpu)
        allow_gpus(rules);
    if (!c->mute)
        allow(rules, "/dev/shm", rules->handled & ~(uint64_t)EXECUTE);
    if (!c->sandbox)
        return ASSAY_OK;
    allow_system(rules);
    allow_libraries(rules);
    enum assay_status status = allow_given(rules, c->readable, READING, err);
    if (status == ASSAY_OK)
        status = allow_given(rules, c->writable, rules->handled, err);
    return status;
}

enum assay_status assay_landlock_restrict(const struct assay_confinement *c,
                                          struct assay_landlock *got, struct assay_error *err)
{
    struct rules rules;
    *got = (struct assay_landlock){0};
    long abi = syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, GIVE_VERSION);
    if (abi < 1 ||
        (abi < 2 && !c->sandbox && !c->mute)) /* version 1 cannot leave all files alone */
        return ASSAY_OK;
    if (create_ruleset(c, (int)abi, &rules) != 0)
        return ASSAY_OK;
    enum assay_status status = fill(c, &rules, err);
    if (status == ASSAY_OK) {
        got->threads_missed = assay_landlock_restrict_threads(rules.fd);
        got->abi = got->threads_missed < 0 ? 0 : (int)abi;
    }
    close(rules.fd);
    return status;
}
