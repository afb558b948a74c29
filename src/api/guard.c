#include "api/guard.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The handler's stack, with the registers the system saves on it: some 11 kB where there are tiles.
 */
enum { STACK_BYTES = 64 * 1024 };

static const struct {
    int signal;
    const char *name;
} watched[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},
    {SIGILL, "SIGILL"},   {SIGABRT, "SIGABRT"},
};

enum { WATCHED = sizeof watched / sizeof watched[0] };

/* Handlers are the process's, so all guards of all threads share one set of them. The thread's own
 * guard must be found without a call that allocates: a handler asks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int guards;
static struct sigaction previous[WATCHED];
static _Thread_local __attribute__((tls_model("initial-exec"))) struct assay_guard *innermost;

static int place_of(int number)
{
    int i = 0;
    while (i < WATCHED - 1 && watched[i].signal != number)
        i++;
    return i;
}

const char *assay_signal_name(int number)
{
    int i = place_of(number);
    return watched[i].signal == number ? watched[i].name : strsignal(number);
}

/* As if there were no guard. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &previous[place_of(number)];
    if (before->sa_flags & SA_SIGINFO) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct assay_guard *guard = innermost;
    bool from_outside = info->si_code == SI_USER || info->si_code == SI_QUEUE;
    if (!guard || !guard->armed || from_outside) {
        pass_on(number, info, context);
        return;
    }
    guard->armed = 0;
    guard->signal = number;
    guard->has_address = info->si_code > 0 && number != SIGABRT;
    guard->address = info->si_addr;
    siglongjmp(guard->back, 1);
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < WATCHED; i++)
        sigaction(watched[i].signal, &action, &previous[i]);
}

/* A handler that the caller's code put in place of ours stays. */
static void uninstall(void)
{
    struct sigaction now;
    for (int i = 0; i < WATCHED; i++)
        if (sigaction(watched[i].signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_signal)
            sigaction(watched[i].signal, &previous[i], NULL);
}

/* A fault whose signal is blocked ends the process, whatever handler there is. */
static void unblock(struct assay_guard *guard)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (int i = 0; i < WATCHED; i++)
        sigaddset(&signals, watched[i].signal);
    pthread_sigmask(SIG_UNBLOCK, &signals, &guard->outer_mask);
    pthread_sigmask(SIG_SETMASK, NULL, &guard->mask);
}

enum assay_status assay_guard_begin(struct assay_guard *guard, struct assay_error *err)
{
    *guard = (struct assay_guard){.outer = innermost};
    guard->stack = assay_calloc(1, STACK_BYTES);
    if (!guard->stack)
        return assay_error_nomem(err);
    stack_t stack = {.ss_sp = guard->stack, .ss_size = STACK_BYTES};
    sigaltstack(&stack, &guard->outer_stack);
    pthread_mutex_lock(&lock);
    if (guards++ == 0)
        install();
    pthread_mutex_unlock(&lock);
    innermost = guard;
    unblock(guard);
    return ASSAY_OK;
}

void assay_guard_end(struct assay_guard *guard)
{
    if (!guard->stack)
        return;
    pthread_sigmask(SIG_SETMASK, &guard->outer_mask, NULL);
    innermost = guard->outer;
    pthread_mutex_lock(&lock);
    if (--guards == 0)
        uninstall();
    pthread_mutex_unlock(&lock);
    sigaltstack(&guard->outer_stack, NULL);
    assay_free(guard->stack);
    guard->stack = NULL;
}

int assay_guard_recover(struct assay_guard *guard)
{
    pthread_sigmask(SIG_SETMASK, &guard->mask, NULL);
    return guard->signal;
}

bool assay_guard_call(struct assay_guard *guard, void (*f)(void *user), void *user)
{
    if (sigsetjmp(guard->back, 0) != 0) {
        assay_guard_recover(guard);
        return false;
    }
    guard->armed = 1;
    f(user);
    guard->armed = 0;
    return true;
}

void assay_guard_describe(const struct assay_guard *guard, char *out, size_t size)
{
    const char *name = assay_signal_name(guard->signal);
    if (guard->has_address)
        snprintf(out, size, "%s at address %p", name, guard->address);
    else
        snprintf(out, size, "%s", name);
}
