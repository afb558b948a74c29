#include "device/cpu/cpu_counters.h"

#include "base/alloc.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every line of these machines. */
static const double LINE_BYTES = 64;

enum { MOST_THREADS = 1024, MOST_EVENTS = 3 };

/* ---- which ---- */

#define COUNT(member) offsetof(struct assay_counts, member)

struct event {
    const char *name;
    uint64_t config;
    size_t to; /* in struct assay_counts */
};

/* Events that are on together. The kernel's are software, and always there. */
static const struct group {
    uint32_t type;
    bool with_system; /* what happens in the operating system: that needs a right */
    int32_t n;
    struct event events[MOST_EVENTS];
} groups[] = {
    {PERF_TYPE_HARDWARE,
     false,
     3,
     {{"cycles", PERF_COUNT_HW_CPU_CYCLES, COUNT(cycles)},
      {"instructions", PERF_COUNT_HW_INSTRUCTIONS, COUNT(instructions)},
      {"branch misses", PERF_COUNT_HW_BRANCH_MISSES, COUNT(branch_misses)}}},
    {PERF_TYPE_HARDWARE,
     false,
     2,
     {{"cache references", PERF_COUNT_HW_CACHE_REFERENCES, COUNT(cache_references)},
      {"cache misses", PERF_COUNT_HW_CACHE_MISSES, COUNT(cache_misses)}}},
    {PERF_TYPE_SOFTWARE,
     false,
     2,
     {{"CPU time", PERF_COUNT_SW_TASK_CLOCK, COUNT(task_clock_ns)},
      {"page faults", PERF_COUNT_SW_PAGE_FAULTS, COUNT(page_faults)}}},
    {PERF_TYPE_SOFTWARE,
     true,
     1,
     {{"context switches", PERF_COUNT_SW_CONTEXT_SWITCHES, COUNT(context_switches)}}},
};
enum { GROUPS = sizeof groups / sizeof groups[0] };

/* ---- opening ---- */

/* A group of one thread; -1: not open. */
struct opened {
    int fds[MOST_EVENTS];
};

struct assay_counters {
    struct assay_counter_source source;
    int64_t process, n_threads;
    int32_t threads[MOST_THREADS];
    struct opened (*opened)[GROUPS];
    int errors[GROUPS][MOST_EVENTS]; /* 0, or why it is not counted; -1: it never was on */
};

static void attributes_of(const struct group *group, const struct event *event, bool leads,
                          struct perf_event_attr *out)
{
    memset(out, 0, sizeof *out);
    out->size = sizeof *out;
    out->type = group->type;
    out->config = event->config;
    out->disabled = leads;
    out->exclude_kernel = out->exclude_hv = !group->with_system;
    out->read_format =
        PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/* An event that one thread cannot have nobody has; what was opened of it stays, unread. */
static void open_group(assay_counters *c, int64_t thread, int32_t g)
{
    const struct assay_counter_source *source = &c->source;
    int *fds = c->opened[thread][g].fds;
    for (int32_t e = 0; e < groups[g].n; e++) {
        struct perf_event_attr what;
        if (c->errors[g][e] || (e > 0 && fds[0] < 0))
            continue;
        attributes_of(&groups[g], &groups[g].events[e], e == 0, &what);
        fds[e] = source->open(source->user, &what, c->threads[thread], e > 0 ? fds[0] : -1);
        bool ended = fds[e] == -ESRCH; /* the thread has, meanwhile */
        if (fds[e] < 0 && !ended)
            c->errors[g][e] = -fds[e];
        if (fds[e] < 0)
            fds[e] = -1;
    }
}

/* Events behind a leader that is not there have its reason. */
static void spread_errors(assay_counters *c)
{
    for (int32_t g = 0; g < GROUPS; g++)
        for (int32_t e = 1; e < groups[g].n; e++)
            if (c->errors[g][0])
                c->errors[g][e] = c->errors[g][0];
}

assay_counters *assay_counters_open(const struct assay_counter_source *source, int64_t process)
{
    assay_counters *c = assay_calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->source = *source;
    c->process = process;
    c->n_threads = source->threads(source->user, process, c->threads, MOST_THREADS);
    if (c->n_threads > MOST_THREADS)
        c->n_threads = MOST_THREADS;
    c->opened = assay_calloc((size_t)c->n_threads + 1, sizeof *c->opened);
    if (!c->opened) {
        assay_free(c);
        return NULL;
    }
    memset(c->opened, -1, ((size_t)c->n_threads + 1) * sizeof *c->opened);
    for (int64_t t = 0; t < c->n_threads; t++)
        for (int32_t g = 0; g < GROUPS; g++)
            open_group(c, t, g);
    spread_errors(c);
    return c;
}

void assay_counters_close(assay_counters *c)
{
    if (!c)
        return;
    for (int64_t t = 0; t < c->n_threads; t++)
        for (int32_t g = 0; g < GROUPS; g++)
            for (int32_t e = MOST_EVENTS - 1; e >= 0; e--)
                if (c->opened[t][g].fds[e] >= 0)
                    c->source.close(c->source.user, c->opened[t][g].fds[e]);
    assay_free(c->opened);
    assay_free(c);
}

/* ---- counting ---- */

static void control(assay_counters *c, unsigned long request)
{
    for (int64_t t = 0; t < c->n_threads; t++)
        for (int32_t g = 0; g < GROUPS; g++)
            if (c->opened[t][g].fds[0] >= 0)
                c->source.control(c->source.user, c->opened[t][g].fds[0], request);
}

void assay_counters_start(assay_counters *c)
{
    control(c, PERF_EVENT_IOC_RESET);
    control(c, PERF_EVENT_IOC_ENABLE);
}

void assay_counters_stop(assay_counters *c) { control(c, PERF_EVENT_IOC_DISABLE); }

/* ---- reading ---- */

static double *figure(struct assay_counts *out, const struct event *event)
{
    return (double *)(void *)((char *)out + event->to);
}

static void fail_group(assay_counters *c, int32_t g, int error)
{
    for (int32_t e = 0; e < groups[g].n; e++)
        if (!c->errors[g][e])
            c->errors[g][e] = error;
}

/* One thread's: how many, how long it was enabled, how long it was on, and the values. */
static void read_group(assay_counters *c, int64_t thread, int32_t g, struct assay_counts *out)
{
    enum { HEAD = 3 };
    uint64_t words[HEAD + MOST_EVENTS];
    const int *fds = c->opened[thread][g].fds;
    int64_t got = c->source.read(c->source.user, fds[0], words, sizeof words);
    if (got < HEAD * (int64_t)sizeof *words) {
        fail_group(c, g, got < 0 ? (int)-got : EIO);
        return;
    }
    double enabled = (double)words[1], on = (double)words[2];
    if (enabled > 0 && !(on > 0)) {
        fail_group(c, g, -1);
        return;
    }
    double scale = on > 0 ? enabled / on : 0;
    if (on > 0 && groups[g].type == PERF_TYPE_HARDWARE)
        out->counted_frac = fmin(out->counted_frac, on / enabled);
    for (int32_t e = 0, at = 0; e < groups[g].n; e++)
        if (fds[e] >= 0 && at < (int32_t)words[0])
            *figure(out, &groups[g].events[e]) += scale * (double)words[HEAD + at++];
}

/* Why something is not counted. */
static void explain(const assay_counters *c, int error, char *out, size_t size)
{
    if ((error == EACCES || error == EPERM) && c->source.paranoid <= 2)
        snprintf(out, size,
                 "not permitted, though perf_event_paranoid is %d: a container or a sandbox "
                 "forbids it; CAP_PERFMON permits it",
                 c->source.paranoid);
    else if (error == EACCES || error == EPERM)
        snprintf(out, size,
                 "not permitted: perf_event_paranoid is %d; sysctl kernel.perf_event_paranoid=1 or "
                 "CAP_PERFMON permits it",
                 c->source.paranoid);
    else if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        snprintf(out, size, "this machine has no hardware counters%s",
                 c->source.virtual_ ? ": a virtual machine" : ", or its kernel does not know them");
    else if (error == ENOSYS)
        snprintf(out, size, "this kernel has no perf_event_open");
    else if (error == EMFILE || error == ENFILE)
        snprintf(out, size, "too many open files: each thread takes 8 of them (ulimit -n)");
    else if (error < 0)
        snprintf(out, size, "others used the counters all the time");
    else
        snprintf(out, size, "%s", strerror(error));
}

/* The system's own events: what paranoid 2 keeps from who is no administrator. */
static void explain_system(const assay_counters *c, int error, char *out, size_t size)
{
    if ((error == EACCES || error == EPERM) && c->source.paranoid == 2)
        snprintf(out, size,
                 "not permitted: perf_event_paranoid is 2; sysctl kernel.perf_event_paranoid=1 or "
                 "CAP_PERFMON permits it");
    else
        explain(c, error, out, size);
}

/* The first thing that is missing, by its name where it is not all of the processor's. */
static void tell_missing(const assay_counters *c, struct assay_counts *out)
{
    char why[160];
    for (int32_t g = 0; g < GROUPS; g++)
        for (int32_t e = 0; e < groups[g].n; e++) {
            const struct group *group = &groups[g];
            int error = c->errors[g][e];
            if (!error || out->missing[0])
                continue;
            bool one = (error == ENOENT || error == EOPNOTSUPP) && (g > 0 || e > 0);
            (group->with_system ? explain_system : explain)(c, error, why, sizeof why);
            if (one)
                snprintf(out->missing, sizeof out->missing, "%s: this machine does not count them",
                         group->events[e].name);
            else if (g == 0 && e == 0)
                snprintf(out->missing, sizeof out->missing, "%s", why);
            else
                snprintf(out->missing, sizeof out->missing, "%s: %s", group->events[e].name, why);
        }
}

static void tell_new_threads(const assay_counters *c, struct assay_counts *out)
{
    int32_t now[MOST_THREADS];
    int64_t n = c->source.threads(c->source.user, c->process, now, MOST_THREADS), fresh = 0;
    for (int64_t i = 0; i < n && i < MOST_THREADS; i++) {
        bool known = false;
        for (int64_t t = 0; t < c->n_threads; t++)
            known |= c->threads[t] == now[i];
        fresh += !known;
    }
    if (fresh > 0 && !out->missing[0])
        snprintf(out->missing, sizeof out->missing, "%lld thread%s that began while it was counted",
                 (long long)fresh, fresh == 1 ? "" : "s");
}

void assay_counters_read(assay_counters *c, struct assay_counts *out)
{
    assay_counts_clear(out);
    for (int32_t g = 0; g < GROUPS; g++)
        for (int32_t e = 0; e < groups[g].n; e++)
            *figure(out, &groups[g].events[e]) = 0;
    out->counted_frac = 1;
    for (int64_t t = 0; t < c->n_threads; t++)
        for (int32_t g = 0; g < GROUPS; g++)
            if (c->opened[t][g].fds[0] >= 0)
                read_group(c, t, g, out);
    for (int32_t g = 0; g < GROUPS; g++)
        for (int32_t e = 0; e < groups[g].n; e++)
            if (c->errors[g][e] || c->n_threads == 0)
                *figure(out, &groups[g].events[e]) = (double)NAN;
    if (isnan(out->cycles) && isnan(out->cache_references))
        out->counted_frac = (double)NAN;
    if (c->source.misses_are_memory)
        out->memory_bytes = LINE_BYTES * out->cache_misses;
    tell_missing(c, out);
    tell_new_threads(c, out);
}
