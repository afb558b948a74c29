#include "bench/machine_lock.h"

#include "base/lock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char lock_name[] = "assay-measuring", lock_file[] = "/tmp/assay-measuring.lock";

/* One try. */
struct attempt {
    bool held;   /* by another */
    long holder; /* its process; 0: not known */
    int problem; /* errno of what kept us from having a lock at all */
};

static socklen_t fill_address(struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(address->sun_path + 1, lock_name, sizeof lock_name - 1); /* behind a 0: no file */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof lock_name);
}

/* Whoever listens tells its process by listening. */
static long name_holder(void)
{
    struct sockaddr_un address;
    struct ucred peer = {0};
    socklen_t length = fill_address(&address), size = sizeof peer;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&address, length) != 0 ||
                    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0))
        peer.pid = 0;
    if (fd >= 0)
        close(fd);
    return peer.pid;
}

static int take_name(struct attempt *attempt)
{
    enum { WAITING = 4096 }; /* each asks once a try, and nobody is ever let in */
    struct sockaddr_un address;
    socklen_t length = fill_address(&address);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, WAITING) == 0)
        return fd;
    attempt->problem = errno;
    attempt->held = attempt->problem == EADDRINUSE;
    if (attempt->held)
        attempt->holder = name_holder();
    if (fd >= 0)
        close(fd);
    return -1;
}

static int take_file(const char *path, bool shared, struct attempt *attempt)
{
    int fd = assay_lock_open(path, shared);
    if (fd < 0) {
        attempt->problem = errno;
        return -1;
    }
    int problem = assay_lock_try(fd);
    if (!problem)
        return fd;
    attempt->problem = problem;
    attempt->held = problem == EWOULDBLOCK;
    if (attempt->held && attempt->holder == 0)
        attempt->holder = assay_lock_holder(fd);
    close(fd);
    return -1;
}

static struct attempt try_once(struct assay_machine_lock *lock)
{
    struct attempt attempt = {0};
    const char *own = getenv("ASSAY_LOCK");
    if (own && own[0]) {
        lock->file = take_file(own, false, &attempt);
        return attempt;
    }
    lock->name = take_name(&attempt);
    if (!attempt.held || attempt.holder == 0) { /* or for the holder's name alone */
        int fd = take_file(lock_file, true, &attempt);
        if (attempt.held && fd >= 0)
            close(fd);
        else
            lock->file = fd;
    }
    if (attempt.held)
        assay_machine_lock_release(lock);
    return attempt;
}

static const char *describe(const struct attempt *attempt, char *buf, size_t size)
{
    if (attempt->holder > 0)
        snprintf(buf, size, "process %ld", attempt->holder);
    else
        snprintf(buf, size, "a process that cannot be seen from here");
    return buf;
}

enum assay_status assay_machine_lock_take(struct assay_machine_lock *lock, bool wait,
                                          void (*warn)(void *user, const char *text), void *user,
                                          struct assay_error *err)
{
    enum { RETRY_US = 50000 };
    char who[64], text[256];
    *lock = (struct assay_machine_lock){-1, -1};
    struct attempt attempt = try_once(lock);
    if (attempt.held && !wait)
        return assay_error_set(err, ASSAY_UNSUPPORTED, NULL,
                               "another run (%s) is measuring, and two at once would disturb each "
                               "other; wait for it with --wait",
                               describe(&attempt, who, sizeof who));
    if (attempt.held) {
        snprintf(text, sizeof text, "waiting for another run to end (%s)",
                 describe(&attempt, who, sizeof who));
        warn(user, text);
    }
    while (attempt.held) {
        usleep(RETRY_US);
        attempt = try_once(lock);
    }
    if (lock->name < 0 && lock->file < 0) {
        snprintf(text, sizeof text,
                 "nothing keeps another run from measuring at the same time: no lock can be had: "
                 "%s",
                 strerror(attempt.problem));
        warn(user, text);
    }
    return ASSAY_OK;
}

void assay_machine_lock_release(struct assay_machine_lock *lock)
{
    if (lock->name >= 0)
        close(lock->name);
    if (lock->file >= 0)
        close(lock->file);
    *lock = (struct assay_machine_lock){-1, -1};
}
