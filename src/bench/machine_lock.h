/* machine_lock.h: one measuring run at a time on a machine, whoever starts it and whatever folders
 * it uses. Two would disturb each other.
 *
 * Held as a name in the abstract namespace of Unix sockets, which needs no file and ends with the
 * process, and as a lock on a file in /tmp: processes that share either exclude each other.
 * Containers that share neither the network nor /tmp do not see each other. ASSAY_LOCK names a file
 * to lock instead, for runs that have cores or a device of their own. */
#ifndef ASSAY_BENCH_MACHINE_LOCK_H
#define ASSAY_BENCH_MACHINE_LOCK_H

#include "base/error.h"

struct assay_machine_lock {
    int name, file; /* descriptors; -1: none */
};

/* ASSAY_UNSUPPORTED where another run is measuring, unless `wait`: then returns when it has ended.
 * `warn` hears whom it waits for, and where there can be no lock, that there is none. */
enum assay_status assay_machine_lock_take(struct assay_machine_lock *lock, bool wait,
                                          void (*warn)(void *user, const char *text), void *user,
                                          struct assay_error *err);
void assay_machine_lock_release(struct assay_machine_lock *lock);

#endif
