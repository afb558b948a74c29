#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The process of a line of /proc/locks that is about this inode, or 0:
 * "1: FLOCK  ADVISORY  WRITE 4711 fe:00:262172 0 EOF". The device is that of the file system
 * underneath, which need not be the one stat tells; the inode is enough. */
static long holder_of(char *line, unsigned long long inode)
{
    enum { KIND = 1, PROCESS = 4, FILE_ID = 5, FIELDS };
    char *fields[FIELDS], *rest = NULL;
    int n = 0;
    for (char *field = strtok_r(line, " \n", &rest); field && n < FIELDS;
         field = strtok_r(NULL, " \n", &rest))
        fields[n++] = field;
    const char *number = n == FIELDS ? strrchr(fields[FILE_ID], ':') : NULL;
    if (!number || strcmp(fields[KIND], "FLOCK") != 0 || strtoull(number + 1, NULL, 10) != inode)
        return 0;
    return strtol(fields[PROCESS], NULL, 10);
}

long assay_lock_holder(int fd)
{
    char line[256];
    struct stat own;
    long holder = 0;
    FILE *locks = fstat(fd, &own) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (locks && holder <= 0 && fgets(line, sizeof line, locks))
        holder = holder_of(line, (unsigned long long)own.st_ino);
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
