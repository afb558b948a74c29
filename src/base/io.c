#include "base/io.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Someone else, a plug-in or a shell, may have made the descriptor non-blocking. */
static bool would_block(int problem) { return problem == EAGAIN || problem == EWOULDBLOCK; }

static void await(int fd, short events)
{
    struct pollfd ready = {.fd = fd, .events = events};
    poll(&ready, 1, -1);
}

int assay_io_write(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && would_block(errno))
            await(fd, POLLOUT);
        else if (written < 0 && errno != EINTR)
            return errno;
        else if (written == 0)
            return EIO; /* no file system writes 0 bytes; this would loop forever */
        else if (written > 0) {
            at += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

int assay_io_read(int fd, void *bytes, size_t size, size_t *got)
{
    for (;;) {
        ssize_t n = read(fd, bytes, size);
        *got = n > 0 ? (size_t)n : 0;
        if (n >= 0)
            return 0;
        if (would_block(errno))
            await(fd, POLLIN);
        else if (errno != EINTR)
            return errno;
    }
}

static int sync_by(int (*call)(int), int fd)
{
    while (call(fd) != 0)
        if (errno != EINTR)
            return errno == EINVAL || errno == ENOTSUP || errno == EROFS ? 0 : errno;
    return 0;
}

/* Contents and size; times need not wait for the disk. */
int assay_io_sync(int fd) { return sync_by(fdatasync, fd); }

int assay_io_sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = assay_strdup(slash ? path : ".");
    if (!folder)
        return ENOMEM;
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A folder one may write into but not read cannot be synced. */
    int problem = fd >= 0 ? sync_by(fsync, fd) : errno == EACCES ? 0 : errno;
    if (fd >= 0)
        close(fd);
    assay_free(folder);
    return problem;
}

int assay_io_truncate(int fd, int64_t size)
{
    while (ftruncate(fd, size) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}
