#include "runner/traces.h"

#include "base/clock.h"
#include "base/folder.h"

#include <dirent.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Waiting threads spin for a while before they sleep: libgomp some 50 us in a worker and 7 ms
 * elsewhere, others up to 200 ms; longer where they have to share their cores. */
static const int64_t SETTLE_NS = 4000000, LOOK_NS = 1000000, PATIENCE_NS = 1000000000;
enum { LOOKS = 10 };

/* Of MXCSR the control bits: denormals are zeros, masks, rounding, flush to zero. */
static const uint64_t CONTROL_BITS = 0xffc0;

static uint64_t floating_now(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & CONTROL_BITS;
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
#else
    return 0;
#endif
}

static void set_floating(uint64_t control)
{
#if defined(__x86_64__)
    uint64_t flags = __builtin_ia32_stmxcsr() & ~CONTROL_BITS;
    __builtin_ia32_ldmxcsr((unsigned)(control | flags));
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
#else
    (void)control;
#endif
}

struct assay_traces assay_traces_now(void)
{
    struct assay_traces now = {.floating = floating_now(), .threads = omp_get_max_threads()};
    now.has_cores = sched_getaffinity(0, sizeof now.cores, &now.cores) == 0;
    return now;
}

enum assay_trace assay_traces_undo(const struct assay_traces *before, struct assay_error *why)
{
    struct assay_traces now = assay_traces_now();
    enum assay_trace found = ASSAY_TRACE_NONE;
    if (now.threads != before->threads) /* a matter of its own loops: no harm once it is undone */
        omp_set_num_threads(before->threads);
    if (now.has_cores && before->has_cores && !CPU_EQUAL(&now.cores, &before->cores)) {
        sched_setaffinity(0, sizeof before->cores, &before->cores);
        assay_error_set(why, ASSAY_ERR_CORRUPT, NULL,
                        "left its thread on other cores than it was called on");
        found = ASSAY_TRACE_CORES;
    }
    if (now.floating != before->floating) {
        set_floating(before->floating);
        assay_error_set(why, ASSAY_ERR_CORRUPT, NULL,
                        "left the floating-point unit changed (flush to zero, rounding)");
        found = ASSAY_TRACE_FLOATING;
    }
    return found;
}

static void sleep_ns(int64_t ns)
{
    struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

/* Is this thread running, or would it if it had a core? Its line: "1234 (name) R …". */
static bool is_running(pid_t process, const char *tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)process, tid);
    const char *name_ends =
        assay_folder_peek(path, line, sizeof line) == 0 ? strrchr(line, ')') : NULL;
    return name_ends && name_ends[1] == ' ' && name_ends[2] == 'R';
}

/* Threads of a process besides this one: all, or those that are running. */
static int64_t count_threads(pid_t process, bool running)
{
    char own[24], path[48];
    int64_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *tasks = opendir(path);
    snprintf(own, sizeof own, "%ld", (long)gettid());
    for (struct dirent *task; tasks && (task = readdir(tasks));)
        if (task->d_name[0] != '.' && strcmp(task->d_name, own) != 0)
            n += !running || is_running(process, task->d_name);
    if (tasks)
        closedir(tasks);
    return n;
}

int64_t assay_traces_threads(void) { return count_threads(getpid(), false); }

double assay_traces_busy_threads(void) { return assay_traces_busy_threads_of(getpid()); }

double assay_traces_busy_threads_of(pid_t process)
{
    int64_t start = assay_clock_ns(), running = count_threads(process, true);
    if (running == 0)
        return 0;
    sleep_ns(SETTLE_NS);
    do {
        running = 0;
        for (int i = 0; i < LOOKS; i++) {
            sleep_ns(LOOK_NS);
            running += count_threads(process, true);
        }
    } while ((double)running > ASSAY_BUSY_THREADS / 2 * LOOKS &&
             assay_clock_ns() - start < PATIENCE_NS);
    return (double)running / LOOKS;
}
