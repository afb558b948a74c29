#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int assay_lock_try(int fd)
{
    while (flock(fd, LOCK_EX | LOCK_NB) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

/* /proc/locks, a line each: "1: FLOCK  ADVISORY  WRITE 4711 fe:00:262172 0 EOF". The device is that
 * of the file system underneath, which need not be the one stat tells; the inode is enough. */
long assay_lock_holder(int fd)
{
    char line[256];
    struct stat own;
    long holder = 0;
    FILE *locks = fstat(fd, &own) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && holder <= 0 && fgets(line, sizeof line, locks)) {
        unsigned long long inode;
        long pid;
        if (sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%llu", &pid, &inode) == 2 &&
            inode == (unsigned long long)own.st_ino)
            holder = pid;
    }
    if (locks)
        fclose(locks);
    return holder > 0 ? holder : 0;
}

int assay_lock_open(const char *path, bool shared)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    struct stat found;
    int fd = -1;
    /* Where it is not there, somebody else may be faster in creating it. */
    for (int attempt = 0; attempt < 8 && fd < 0; attempt++) {
        fd = open(path, flags);
        if (fd < 0 && errno == ENOENT) {
            fd = open(path, flags | O_CREAT | O_EXCL, 0600);
            if (fd >= 0 && shared && fchmod(fd, 0444) != 0)
                errno = 0; /* then it is this user's alone */
        }
        if (fd < 0 && errno != EEXIST && errno != ENOENT && errno != EINTR)
            return -1;
    }
    if (fd >= 0 && (fstat(fd, &found) != 0 || !S_ISREG(found.st_mode))) {
        close(fd);
        errno = ENOTSUP;
        return -1;
    }
    return fd;
}
