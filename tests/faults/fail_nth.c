/* fail_nth.c: makes the Nth allocation or the Nth call of a function of the C library fail, in an
 * assay that is not built for it. Loaded before the C library (LD_PRELOAD); tools/sweep-failures
 * drives it. In the environment:
 *
 *   FAIL_WHAT      memory, or a name of the list below: open, read, write …
 *   FAIL_AT        which one fails; 0: none, they are only counted
 *   FAIL_ALWAYS    1: all that follow fail, too
 *   FAIL_ERRNO     the error, as a number
 *   FAIL_IN        program: the one that was started; worker: its children
 *   FAIL_COUNTER   a file of 8 bytes for the count. All workers of a run share it.
 *
 * Only calls of assay itself, and for memory those of jansson, libyaml and the C library, are
 * counted: OpenMP's runtime ends the process when it gets no memory, and that is not assay's to
 * mend. What the C library does behind its own functions, such as writing for fwrite, is not seen
 * here; strace sees it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    _Atomic int64_t *count; /* NULL: nothing is counted in this process */
    char what[16];
    int64_t at;
    int always, error;
    struct {
        uintptr_t first, last;
    } modules[4];
    int n_modules;
} fail;

/* ---- whose turn it is ------------------------------------------------------------------------ */

static int note_module(struct dl_phdr_info *info, size_t size, void *user)
{
    static const char *const libraries[] = {"/libjansson.", "/libyaml", "/libc.so"};
    int known = fail.n_modules == 0; /* the program is told of first */
    (void)size;
    for (int i = 0; i < 3; i++)
        known |= strstr(info->dlpi_name, libraries[i]) && strcmp(fail.what, "memory") == 0;
    (void)user;
    if (!known || fail.n_modules == 4)
        return 0;
    uintptr_t first = UINTPTR_MAX, last = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD)
            continue;
        first = begin < first ? begin : first;
        last = begin + part->p_memsz > last ? begin + part->p_memsz : last;
    }
    fail.modules[fail.n_modules].first = first;
    fail.modules[fail.n_modules++].last = last;
    return 0;
}

static const char *text_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? text : "";
}

__attribute__((constructor)) static void begin(int argc, char **argv)
{
    int worker = argc > 1 && strcmp(argv[1], "--worker") == 0;
    const char *name = argc > 0 ? strrchr(argv[0], '/') : NULL;
    name = name ? name + 1 : argc > 0 ? argv[0] : "";
    if (strncmp(name, "assay", 5) != 0 || worker != (strcmp(text_of("FAIL_IN"), "worker") == 0))
        return;
    snprintf(fail.what, sizeof fail.what, "%s", text_of("FAIL_WHAT"));
    fail.at = atoll(text_of("FAIL_AT"));
    fail.always = atoi(text_of("FAIL_ALWAYS"));
    fail.error = atoi(text_of("FAIL_ERRNO"));
    dl_iterate_phdr(note_module, NULL);
    int file = open(text_of("FAIL_COUNTER"), O_RDWR | O_CLOEXEC);
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (page != MAP_FAILED)
        fail.count = page;
}

static int fails(const char *what, const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    int ours = 0;
    if (!fail.count || strcmp(what, fail.what) != 0)
        return 0;
    for (int i = 0; i < fail.n_modules; i++)
        ours |= at >= fail.modules[i].first && at < fail.modules[i].last;
    if (!ours)
        return 0;
    int64_t nth = atomic_fetch_add(fail.count, 1) + 1;
    if (!fail.at || nth < fail.at || (nth > fail.at && !fail.always))
        return 0;
    errno = fail.error;
    return 1;
}

#define FAILS(what) fails(what, __builtin_return_address(0))

/* ---- memory ---------------------------------------------------------------------------------- */

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) { return FAILS("memory") ? NULL : __libc_malloc(bytes); }

void *calloc(size_t count, size_t size)
{
    return FAILS("memory") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t bytes)
{
    return FAILS("memory") ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return FAILS("memory") ? NULL : __libc_memalign(alignment, bytes);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

/* One function: its name in FAIL_WHAT, what it gives back when it fails, type and parameters. */
#define CALL(what, failed, type, name, parameters, arguments)                                      \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*next) parameters;                                                             \
        if (FAILS(what))                                                                           \
            return failed;                                                                         \
        if (!next)                                                                                 \
            *(void **)&next = real(#name);                                                         \
        return next arguments;                                                                     \
    }

/* clang-format off */
CALL("open", NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode))
CALL("open", NULL, FILE *, fdopen, (int fd, const char *mode), (fd, mode))
CALL("open", -1, int, memfd_create, (const char *name, unsigned flags), (name, flags))
CALL("read", -1, ssize_t, read, (int fd, void *bytes, size_t n), (fd, bytes, n))
CALL("read", -1, ssize_t, pread, (int fd, void *bytes, size_t n, off_t at), (fd, bytes, n, at))
CALL("write", -1, ssize_t, write, (int fd, const void *bytes, size_t n), (fd, bytes, n))
CALL("write", -1, ssize_t, pwrite, (int fd, const void *bytes, size_t n, off_t at), (fd, bytes, n, at))
CALL("write", 0, size_t, fwrite, (const void *bytes, size_t size, size_t n, FILE *file), (bytes, size, n, file))
CALL("write", EOF, int, fflush, (FILE *file), (file))
CALL("fsync", -1, int, fsync, (int fd), (fd))
CALL("fsync", -1, int, fdatasync, (int fd), (fd))
CALL("ftruncate", -1, int, ftruncate, (int fd, off_t length), (fd, length))
CALL("rename", -1, int, rename, (const char *from, const char *to), (from, to))
CALL("mkdir", -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
CALL("fork", -1, pid_t, fork, (void), ())
CALL("pipe", -1, int, pipe, (int fds[2]), (fds))
CALL("pipe", -1, int, pipe2, (int fds[2], int flags), (fds, flags))
CALL("mmap", MAP_FAILED, void *, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t offset), (at, n, protection, flags, fd, offset))
CALL("poll", -1, int, poll, (struct pollfd *fds, nfds_t n, int ms), (fds, n, ms))
CALL("wait", -1, pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))
CALL("wait", -1, pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
CALL("flock", -1, int, flock, (int fd, int operation), (fd, operation))
/* clang-format on */

int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (FAILS("open"))
        return -1;
    if (!next)
        *(void **)&next = real("open");
    return next(path, flags, mode);
}

int execl(const char *path, const char *argument, ...)
{
    enum { MOST = 16 };
    char *arguments[MOST + 1] = {(char *)(uintptr_t)argument};
    va_list more;
    va_start(more, argument);
    for (int i = 1; i < MOST && arguments[i - 1]; i++)
        arguments[i] = va_arg(more, char *);
    va_end(more);
    return FAILS("exec") ? -1 : execv(path, arguments);
}

/* Files that cannot be closed are closed: what fails is the writing that was put off. */
int close(int fd)
{
    static int (*next)(int);
    int bad = FAILS("close"), problem = errno;
    if (!next)
        *(void **)&next = real("close");
    int result = next(fd);
    if (bad)
        errno = problem;
    return bad ? -1 : result;
}

int fclose(FILE *file)
{
    static int (*next)(FILE *);
    int bad = FAILS("close"), problem = errno;
    if (!next)
        *(void **)&next = real("fclose");
    int result = next(file);
    if (bad)
        errno = problem;
    return bad ? EOF : result;
}
