/* cheats_looked_at.c: gelu kernels that return before the work is done, and do it when somebody
 * looks, when the clock has stopped, or never; and kernels that exchange the memory under the
 * operands. */
#include "cheat.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

/* What is left to do of the last call. */
static struct {
    const float *in;
    float *out;
    int64_t n;
    char *pages;
    size_t bytes;
} left;

static void leave(const struct call *c)
{
    left.in = c->in;
    left.out = c->out;
    left.n = c->n;
}

static void finish_now(void)
{
    if (left.in)
        gelu(left.in, left.out, left.n);
    left.in = NULL;
}

/* All but whole pages of the output, now; the first and the last elements. */
static void compute_edges(struct call *c)
{
    leave(c);
    left.pages = whole_pages(c, &left.bytes);
    int64_t before = (float *)left.pages - c->out, behind = before + (int64_t)(left.bytes / 4);
    gelu(c->in, c->out, before);
    gelu(c->in + behind, c->out + behind, c->n - behind);
}

/* ---- on a fault ---- */

static void open_pages(int number, siginfo_t *info, void *context)
{
    (void)context;
    char *at = info->si_addr;
    if (!left.pages || at < left.pages || at >= left.pages + left.bytes) {
        signal(number, SIG_DFL);
        return;
    }
    mprotect(left.pages, left.bytes, PROT_READ | PROT_WRITE);
    finish_now();
}

static void handle_faults(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
}

/* The pages of the output cannot be read: whoever tries has the answer made. */
static void lazy_protected(struct call *c)
{
    if (c->own->calls == 1)
        handle_faults(open_pages);
    if (left.pages)
        mprotect(left.pages, left.bytes, PROT_READ | PROT_WRITE);
    compute_edges(c);
    if (left.bytes)
        mprotect(left.pages, left.bytes, PROT_NONE);
}
CHEAT(gelu, lazy_protected)

/* The same for one page in the middle: 4 KB less to do in each call. */
static void lazy_page(struct call *c)
{
    if (c->own->calls == 1)
        handle_faults(open_pages);
    if (left.pages)
        mprotect(left.pages, left.bytes, PROT_READ | PROT_WRITE);
    compute_edges(c);
    left.pages += left.bytes / 2 / PAGE * PAGE;
    left.bytes = left.bytes ? PAGE : 0;
    int64_t before = (float *)left.pages - c->out, behind = before + (int64_t)(left.bytes / 4);
    gelu(c->in, c->out, before);
    gelu(c->in + behind, c->out + behind, c->n - behind);
    if (left.bytes)
        mprotect(left.pages, left.bytes, PROT_NONE);
}
CHEAT(gelu, lazy_page)

/* By a protection key, which the map of the process does not show. */
static int key = -1;

static void open_key(int number, siginfo_t *info, void *context)
{
    (void)context;
    char *at = info->si_addr;
    if (!left.pages || at < left.pages || at >= left.pages + left.bytes) {
        signal(number, SIG_DFL);
        return;
    }
    pkey_mprotect(left.pages, left.bytes, PROT_READ | PROT_WRITE, 0);
    finish_now();
}

static enum assay_status needs_keys(const struct assay_problem *problem, struct assay_error *why)
{
    (void)problem;
    if (key < 0)
        key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
    return key < 0 ? not_here(why, "no protection keys") : ASSAY_OK;
}

static void lazy_key(struct call *c)
{
    if (c->own->calls == 1)
        handle_faults(open_key);
    if (left.pages)
        pkey_mprotect(left.pages, left.bytes, PROT_READ | PROT_WRITE, 0);
    compute_edges(c);
    if (left.bytes)
        pkey_mprotect(left.pages, left.bytes, PROT_READ | PROT_WRITE, key);
}
CHEAT_WITH(gelu, lazy_key, .can_run = needs_keys)

/* ---- on a missing page ---- */

static int faults = -1; /* the descriptor */

static enum assay_status needs_userfaultfd(const struct assay_problem *problem,
                                           struct assay_error *why)
{
    (void)problem;
    if (faults < 0)
        faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    struct uffdio_api api = {.api = UFFD_API};
    static bool greeted;
    if (faults >= 0 && !greeted)
        greeted = ioctl(faults, UFFDIO_API, &api) == 0;
    return greeted ? ASSAY_OK : not_here(why, "no userfaultfd");
}

/* Gives each page of the output when somebody misses it. */
static void *serve_faults(void *state)
{
    struct cheat *own = state;
    float *answer = aligned_alloc(PAGE, PAGE);
    struct uffd_msg message;
    struct pollfd ready = {.fd = faults, .events = POLLIN};
    while (answer && !own->stop) {
        if (poll(&ready, 1, 20) <= 0 ||
            read(faults, &message, sizeof message) != (ssize_t)sizeof message ||
            message.event != UFFD_EVENT_PAGEFAULT)
            continue;
        uintptr_t page = (uintptr_t)message.arg.pagefault.address / PAGE * PAGE;
        gelu(left.in + ((float *)page - left.out), answer, PAGE / 4);
        struct uffdio_copy copy = {.dst = page, .src = (uintptr_t)answer, .len = PAGE};
        ioctl(faults, UFFDIO_COPY, &copy);
    }
    free(answer);
    return NULL;
}

static void lazy_userfaultfd(struct call *c)
{
    compute_edges(c);
    struct uffdio_register range = {.range = {(uintptr_t)left.pages, left.bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (!c->own->has_thread)
        c->own->has_thread = pthread_create(&c->own->thread, NULL, serve_faults, c->own) == 0;
    ioctl(faults, UFFDIO_REGISTER, &range);
    madvise(left.pages, left.bytes, MADV_DONTNEED);
    madvise(left.pages, left.bytes, MADV_REMOVE); /* where it is shared memory */
}
CHEAT_WITH(gelu, lazy_userfaultfd, .can_run = needs_userfaultfd)

/* ---- other memory under the operands ---- */

/* The answer is mapped over the output: nothing is copied. */
static void remaps_output(struct call *c)
{
    size_t bytes;
    char *pages = whole_pages(c, &bytes);
    int *file = c->own->own;
    if (!file && bytes) {
        compute(c);
        file = c->own->own = malloc(sizeof *file);
        if (!file)
            return;
        *file = memfd_create("answer", MFD_CLOEXEC);
        ssize_t written = pwrite(*file, pages, bytes, 0);
        keep(c->own, 0, c->out);
        (void)written;
        return;
    }
    give(c, find(c->own, 0)); /* the edges */
    mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, *file, 0);
}

/* Only for the same output as the first time. */
static void remaps_same_output(struct call *c)
{
    if (c->own->calls > 1 && c->own->kept[1].key && c->own->kept[1].key != (uintptr_t)c->out) {
        compute(c);
        return;
    }
    c->own->kept[1].key = (uintptr_t)c->out;
    remaps_output(c);
}
CHEAT(gelu, remaps_same_output)

/* All sets hold the same values: it maps one copy of the input under all of them, so that a cold
 * measurement is a hot one. Private: whoever writes has his own again. */
static void aliases_sets(struct call *c)
{
    enum { MOST = 4096 };
    struct aliases {
        int file, n;
        const float *done[MOST];
    } *a = c->own->own;
    if (!a) {
        a = c->own->own = calloc(1, sizeof *a);
        if (!a)
            return;
        a->file = memfd_create("one", MFD_CLOEXEC);
    }
    const struct call source = {.out = (float *)(uintptr_t)c->in, .n = c->n};
    size_t bytes;
    char *pages = whole_pages(&source, &bytes);
    bool done = c->work->n_sets < 8 || a->n == MOST;
    for (int i = 0; i < a->n && !done; i++)
        done = a->done[i] == c->in;
    compute(c);
    if (done)
        return;
    ssize_t written = a->n ? 0 : pwrite(a->file, pages, bytes, 0);
    (void)written;
    a->done[a->n++] = c->in;
    mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, a->file, 0);
}
CHEAT(gelu, aliases_sets)

/* ---- later ---- */

static void *finish_rows(void *state)
{
    (void)state;
    gelu(left.in + left.n / 4, left.out + left.n / 4, left.n - left.n / 4);
    return NULL;
}

/* A thread does most of it, and is not waited for until the next call. */
static void late_thread(struct call *c)
{
    if (c->own->has_thread)
        pthread_join(c->own->thread, NULL);
    leave(c);
    c->own->has_thread = pthread_create(&c->own->thread, NULL, finish_rows, NULL) == 0;
    gelu(c->in, c->out, c->n / 4);
}
CHEAT(gelu, late_thread)

static void finish_in_handler(int number)
{
    (void)number;
    finish_now();
}

/* A timer rings 2 ms after the last call of a sample. */
static void late_timer(struct call *c)
{
    struct itimerval soon = {.it_value = {.tv_usec = 2000}};
    signal(SIGALRM, finish_in_handler);
    leave(c);
    setitimer(ITIMER_REAL, &soon, NULL);
}
CHEAT(gelu, late_timer)

static void finish_in_thread(union sigval value)
{
    (void)value;
    finish_now();
}

/* The same by a timer that starts a thread. */
static void late_timer_thread(struct call *c)
{
    timer_t *timer = c->own->own;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD,
                             .sigev_notify_function = finish_in_thread};
    struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    if (!timer) {
        timer = c->own->own = malloc(sizeof *timer);
        if (!timer || timer_create(CLOCK_MONOTONIC, &event, timer) != 0)
            return;
    }
    leave(c);
    timer_settime(*timer, 0, &soon, NULL);
}
CHEAT(gelu, late_timer_thread)

/* When it is let go on after it was stopped, the clock does not run. */
static void late_continue(struct call *c)
{
    signal(SIGCONT, finish_in_handler);
    leave(c);
}
CHEAT(gelu, late_continue)

/* At the end, when the state is taken down or the process exits. */
static void teardown_finishes(void *state)
{
    finish_now();
    cheat_teardown(state);
}

static void late_end(struct call *c)
{
    if (c->own->calls == 1) {
        atexit(finish_now);
        compute(c);
    } else {
        leave(c);
    }
}
RUN(late_end)
KERNEL(gelu, late_end, cheat_setup, run_late_end, teardown_finishes, )

/* A child writes the answer into the memory of its parent, also while that is stopped. */
struct order {
    _Atomic int64_t placed, done;
    pid_t from;
    const float *in;
    float *out;
    int64_t n;
};

static void serve_orders(void *argument)
{
    struct order *o = argument;
    size_t bytes = (size_t)o->n * sizeof(float);
    float *in = malloc(2 * bytes), *out = in + o->n;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (in) {
        if (o->done == o->placed) {
            usleep(20);
            continue;
        }
        o->done = o->placed;
        struct iovec here = {in, bytes}, there = {(void *)(uintptr_t)o->in, bytes};
        process_vm_readv(o->from, &here, 1, &there, 1, 0);
        gelu(in, out, o->n);
        here.iov_base = out;
        there.iov_base = o->out;
        process_vm_writev(o->from, &here, 1, &there, 1, 0);
    }
}

static void late_helper(struct call *c)
{
    struct order *o = (struct order *)(uintptr_t)c->own->kept[0].key;
    if (!o) {
        o = shared_memory(sizeof *o);
        if (!o)
            return;
        o->n = c->n;
        c->own->kept[0].key = (uint64_t)(uintptr_t)o;
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        start_helper(c->own, serve_orders, o);
    }
    o->from = getpid();
    o->in = c->in;
    o->out = c->out;
    if (c->own->calls < 4)
        compute(c);
    else
        o->placed++;
}
CHEAT(gelu, late_helper)

ASSAY_KERNELS(&kernel_lazy_protected, &kernel_lazy_page, &kernel_lazy_key, &kernel_lazy_userfaultfd,
              &kernel_remaps_same_output, &kernel_aliases_sets, &kernel_late_thread,
              &kernel_late_timer, &kernel_late_timer_thread, &kernel_late_continue,
              &kernel_late_end, &kernel_late_helper)
