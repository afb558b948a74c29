/* guard.h: code of the caller's that may crash, and a way back when it does.
 *
 * Between assay_guard_begin and assay_guard_end a signal that says "crashed" (SIGSEGV, SIGBUS,
 * SIGFPE, SIGILL, SIGABRT), raised on this thread while the guard is armed, jumps back to
 * sigsetjmp. Everything else goes to the handlers there were before: signals of other threads, and
 * those that another process sent.
 *
 *     if (sigsetjmp(guard->back, 0) != 0)
 *         return after(assay_guard_recover(guard));
 *     guard->armed = 1;
 *     …
 *     guard->armed = 0;
 *
 * What the code held when it crashed, a lock or memory, it holds for ever. */
#ifndef ASSAY_API_GUARD_H
#define ASSAY_API_GUARD_H

#include "base/error.h"

#include <setjmp.h>
#include <signal.h>

struct assay_guard {
    sigjmp_buf back;
    volatile sig_atomic_t armed;
    int signal; /* what came */
    bool has_address;
    const void *address; /* of the access that failed */

    struct assay_guard *outer; /* a case may measure with a session of its own */
    sigset_t mask, outer_mask;
    void *stack; /* for the handler: the code may have used up its own */
    stack_t outer_stack;
};

enum assay_status assay_guard_begin(struct assay_guard *guard, struct assay_error *err);
void assay_guard_end(struct assay_guard *guard);

/* After a crash: puts the signal mask back, and tells the signal. */
int assay_guard_recover(struct assay_guard *guard);

/* Calls f(user), which may crash. False: it did. */
bool assay_guard_call(struct assay_guard *guard, void (*f)(void *user), void *user);

/* "SIGSEGV at address 0x0". */
void assay_guard_describe(const struct assay_guard *guard, char *out, size_t size);
/* "SIGSEGV". */
const char *assay_signal_name(int signal);

#endif
