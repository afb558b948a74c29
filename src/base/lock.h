/* lock.h: locks on files that end with the process that holds them (flock), and who that is. */
#ifndef ASSAY_BASE_LOCK_H
#define ASSAY_BASE_LOCK_H

#include <stdbool.h>

/* Takes the lock of an open file without waiting. 0; EWOULDBLOCK where another has it; or an errno.
 * Closing the descriptor gives it back. */
int assay_lock_try(int fd);

/* The process that holds it, as this one would name it; 0 where that cannot be told: it is in
 * another container, or /proc is not there. */
long assay_lock_holder(int fd);

/* Opens a file that is nothing but a lock, and creates it if need be. Nothing is ever written to
 * it, so it may lie where others may write: no link is followed, and anything but a regular file is
 * refused (ENOTSUP). With `shared` every user may take it. The descriptor, or -1 and errno. */
int assay_lock_open(const char *path, bool shared);

#endif
