/* test_counters.c: the processor's counters from a script: known counts in, known figures out, and
 * the right words where there is nothing to count with; then whatever this machine really has. */
#include "unit.h"

#include "base/alloc.h"
#include "device/cpu/cpu_counters.h"
#include "device/device.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_OPEN = 256 };

/* What the script does. */
struct script {
    int32_t threads[4], fresh; /* `fresh`: one more from the second listing on; 0: none */
    int64_t n_threads, listed;
    int error_of[2][10];        /* by type and number of the event: errno of opening it */
    uint64_t value_of[2][10];   /* what it counts, on each thread */
    uint64_t enabled[2], on[2]; /* by type */
    struct {
        uint32_t type;
        uint64_t config;
        int32_t thread;
        int leader;
        bool open;
    } fds[MOST_OPEN];
    int n_fds, running, open_now;
    int last_error; /* of reading; 0: none */
};

static int64_t list(void *user, int64_t process, int32_t *out, int64_t capacity)
{
    struct script *s = user;
    int64_t n = s->n_threads;
    assert_int_equal(process, 77);
    assert_true(capacity > n);
    memcpy(out, s->threads, (size_t)n * sizeof *out);
    if (s->fresh && s->listed > 0)
        out[n++] = s->fresh;
    s->listed++;
    return n;
}

static int open_one(void *user, struct perf_event_attr *what, int32_t thread, int leader)
{
    struct script *s = user;
    assert_int_equal(what->size, sizeof *what);
    assert_true(what->type < 2 && what->config < 10 && s->n_fds < MOST_OPEN);
    bool system =
        what->type == PERF_TYPE_SOFTWARE && what->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
    assert_int_equal(what->exclude_kernel, !system);
    assert_int_equal(what->disabled, leader < 0);
    if (s->error_of[what->type][what->config])
        return -s->error_of[what->type][what->config];
    if (leader >= 0) { /* a group is of one thread */
        assert_true(s->fds[leader].open);
        assert_int_equal(s->fds[leader].thread, thread);
        assert_int_equal(s->fds[leader].type, what->type);
    }
    s->fds[s->n_fds].type = what->type;
    s->fds[s->n_fds].config = what->config;
    s->fds[s->n_fds].thread = thread;
    s->fds[s->n_fds].leader = leader;
    s->fds[s->n_fds].open = true;
    s->open_now++;
    return s->n_fds++;
}

static int control(void *user, int fd, unsigned long request)
{
    struct script *s = user;
    assert_int_equal(s->fds[fd].leader, -1);
    s->running += request == PERF_EVENT_IOC_ENABLE;
    s->running -= request == PERF_EVENT_IOC_DISABLE;
    return 0;
}

static int64_t read_one(void *user, int fd, uint64_t *out, size_t bytes)
{
    struct script *s = user;
    uint32_t type = s->fds[fd].type;
    uint64_t n = 0;
    if (s->last_error)
        return -s->last_error;
    for (int i = fd; i < s->n_fds; i++)
        if (i == fd || s->fds[i].leader == fd)
            out[3 + n++] = s->value_of[type][s->fds[i].config];
    out[0] = n;
    out[1] = s->enabled[type];
    out[2] = s->on[type];
    assert_true(bytes >= (3 + n) * sizeof *out);
    return (int64_t)((3 + n) * sizeof *out);
}

static void close_one(void *user, int fd)
{
    struct script *s = user;
    assert_true(s->fds[fd].open);
    s->fds[fd].open = false;
    s->open_now--;
}

static struct script two_threads(void)
{
    struct script s = {
        .threads = {10, 11}, .n_threads = 2, .enabled = {100, 100}, .on = {100, 100}};
    s.value_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_CPU_CYCLES] = 1000;
    s.value_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_INSTRUCTIONS] = 3000;
    s.value_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_BRANCH_MISSES] = 7;
    s.value_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_CACHE_REFERENCES] = 50;
    s.value_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_CACHE_MISSES] = 5;
    s.value_of[PERF_TYPE_SOFTWARE][PERF_COUNT_SW_TASK_CLOCK] = 400;
    s.value_of[PERF_TYPE_SOFTWARE][PERF_COUNT_SW_PAGE_FAULTS] = 3;
    s.value_of[PERF_TYPE_SOFTWARE][PERF_COUNT_SW_CONTEXT_SWITCHES] = 1;
    return s;
}

static struct assay_counts count(struct script *s, int paranoid, bool virtual_machine, bool intel)
{
    const struct assay_counter_source source = {.user = s,
                                                .threads = list,
                                                .open = open_one,
                                                .control = control,
                                                .read = read_one,
                                                .close = close_one,
                                                .paranoid = paranoid,
                                                .virtual_ = virtual_machine,
                                                .misses_are_memory = intel};
    struct assay_counts counts;
    assay_counters *counters = assay_counters_open(&source, 77);
    assert_non_null(counters);
    assay_counters_start(counters);
    assay_counters_stop(counters);
    assert_int_equal(s->running, 0);
    assay_counters_read(counters, &counts);
    assay_counters_close(counters);
    assert_int_equal(s->open_now, 0);
    return counts;
}

static void sums_are_of_all_threads(void **state)
{
    (void)state;
    struct script s = two_threads();
    struct assay_counts c = count(&s, 2, false, true);
    assert_int_equal(s.n_fds, 16);
    assert_true(c.cycles == 2000 && c.instructions == 6000 && c.branch_misses == 14);
    assert_true(c.cache_references == 100 && c.cache_misses == 10 && c.memory_bytes == 640);
    assert_true(c.task_clock_ns == 800 && c.page_faults == 6 && c.context_switches == 2);
    assert_true(c.counted_frac == 1);
    assert_string_equal(c.missing, "");
    assay_counts_divide(&c, 4);
    assert_true(c.calls == 4 && c.cycles == 500 && c.memory_bytes == 160 && c.page_faults == 1.5);
    assert_true(c.counted_frac == 1);
}

static void a_share_of_the_time_is_scaled_to_all_of_it(void **state)
{
    (void)state;
    struct script s = two_threads();
    s.on[PERF_TYPE_HARDWARE] = 40; /* of 100 */
    struct assay_counts c = count(&s, 2, false, true);
    assert_true(c.cycles == 5000 && c.instructions == 15000 && c.cache_misses == 25);
    assert_true(c.task_clock_ns == 800); /* the kernel's own are always on */
    assert_true(fabs(c.counted_frac - 0.4) < 1e-12);
    s = two_threads();
    s.on[PERF_TYPE_HARDWARE] = 0;
    c = count(&s, 2, false, true);
    assert_true(isnan(c.cycles) && isnan(c.memory_bytes) && c.task_clock_ns == 800);
    assert_true(isnan(c.counted_frac));
    assert_string_equal(c.missing, "others used the counters all the time");
}

/* A thread that slept was enabled for no time: it counts nothing, and spoils nothing. */
static void a_thread_that_slept_adds_nothing(void **state)
{
    (void)state;
    struct script s = two_threads();
    memset(s.enabled, 0, sizeof s.enabled);
    memset(s.on, 0, sizeof s.on);
    memset(s.value_of, 0, sizeof s.value_of);
    struct assay_counts c = count(&s, 2, false, true);
    assert_true(c.cycles == 0 && c.instructions == 0 && c.task_clock_ns == 0);
    assert_string_equal(c.missing, "");
}

static void misses_are_memory_only_where_that_is_known(void **state)
{
    (void)state;
    struct script s = two_threads();
    struct assay_counts c = count(&s, 2, false, false);
    assert_true(c.cache_misses == 10 && isnan(c.memory_bytes));
}

static void fail_hardware(struct script *s, int error)
{
    for (int i = 0; i < 10; i++)
        s->error_of[PERF_TYPE_HARDWARE][i] = error;
}

static void what_is_missing_says_why(void **state)
{
    (void)state;
    static const struct {
        int error, paranoid;
        bool virtual_machine;
        const char *words;
    } rows[] = {
        {ENOENT, 2, true, "this machine has no hardware counters: a virtual machine"},
        {EOPNOTSUPP, 2, false,
         "this machine has no hardware counters, or its kernel does not know them"},
        {EACCES, 3, false,
         "not permitted: perf_event_paranoid is 3; sysctl kernel.perf_event_paranoid=1 or "
         "CAP_PERFMON permits it"},
        {EPERM, 2, true,
         "not permitted, though perf_event_paranoid is 2: a container or a sandbox forbids it; "
         "CAP_PERFMON permits it"},
        {ENOSYS, 99, false, "this kernel has no perf_event_open"},
        {EMFILE, 2, false, "too many open files: each thread takes 8 of them (ulimit -n)"},
        {EINVAL, 2, false, "Invalid argument"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct script s = two_threads();
        fail_hardware(&s, rows[i].error);
        struct assay_counts c = count(&s, rows[i].paranoid, rows[i].virtual_machine, true);
        assert_string_equal(c.missing, rows[i].words);
        assert_true(isnan(c.cycles) && isnan(c.instructions) && isnan(c.cache_misses));
        assert_true(isnan(c.memory_bytes) && isnan(c.counted_frac));
        assert_true(c.task_clock_ns == 800 && c.page_faults == 6 && c.context_switches == 2);
    }
}

static void one_event_can_be_missing(void **state)
{
    (void)state;
    struct script s = two_threads();
    s.error_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_BRANCH_MISSES] = ENOENT;
    struct assay_counts c = count(&s, 2, true, true);
    assert_true(c.cycles == 2000 && c.instructions == 6000 && isnan(c.branch_misses));
    assert_string_equal(c.missing, "branch misses: this machine does not count them");
    s = two_threads();
    s.error_of[PERF_TYPE_HARDWARE][PERF_COUNT_HW_INSTRUCTIONS] = ENOENT;
    c = count(&s, 2, true, true);
    assert_true(c.cycles == 2000 && isnan(c.instructions) && c.branch_misses == 14);
    s = two_threads();
    s.error_of[PERF_TYPE_SOFTWARE][PERF_COUNT_SW_CONTEXT_SWITCHES] = EACCES;
    c = count(&s, 2, false, true);
    assert_true(c.cycles == 2000 && isnan(c.context_switches));
    assert_string_equal(c.missing,
                        "context switches: not permitted: perf_event_paranoid is 2; sysctl "
                        "kernel.perf_event_paranoid=1 or CAP_PERFMON permits it");
}

static void what_begins_meanwhile_is_named(void **state)
{
    (void)state;
    struct script s = two_threads();
    s.fresh = 12;
    struct assay_counts c = count(&s, 2, false, true);
    assert_true(c.cycles == 2000);
    assert_string_equal(c.missing, "1 thread that began while it was counted");
}

static void a_read_that_fails_leaves_no_figure(void **state)
{
    (void)state;
    struct script s = two_threads();
    s.last_error = EBADF;
    struct assay_counts c = count(&s, 2, false, true);
    assert_true(isnan(c.cycles) && isnan(c.task_clock_ns) && isnan(c.page_faults));
    assert_non_null(strstr(c.missing, "Bad file descriptor"));
}

/* ---- this machine ---- */

static enum assay_status spin(void *state, const struct assay_work *work)
{
    volatile int64_t *sum = state;
    for (int64_t i = 0; i < 1000000 * work->iters; i++)
        *sum += i;
    return ASSAY_OK;
}

static void this_machine_counts_or_says_why_not(void **state)
{
    (void)state;
    const struct assay_device_driver *driver;
    const struct assay_kernel kernel = {.name = "spin", .run = spin};
    const struct assay_work work = {.iters = 20, .n_sets = 1};
    assay_device *device = NULL;
    struct assay_counts c;
    int32_t index;
    volatile int64_t sum = 0;
    assert_int_equal(assay_device_parse("cpu", &driver, &index, NULL), ASSAY_OK);
    assert_int_equal(assay_device_open(driver, index, 1, &device, NULL), ASSAY_OK);
    assert_int_equal(driver->counters(device, &kernel, (void *)(uintptr_t)&sum, &work, &c),
                     ASSAY_OK);
    assert_true(isnan(c.cycles) == isnan(c.instructions) || c.missing[0]);
    if (isnan(c.cycles))
        assert_true(c.missing[0] != '\0');
    else
        assert_true(c.instructions > 20e6 && c.cycles > 1e6);
    assert_true(isnan(c.task_clock_ns) ? c.missing[0] != '\0' : c.task_clock_ns > 1e6);
    assay_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_of_all_threads),
        cmocka_unit_test(a_share_of_the_time_is_scaled_to_all_of_it),
        cmocka_unit_test(a_thread_that_slept_adds_nothing),
        cmocka_unit_test(misses_are_memory_only_where_that_is_known),
        cmocka_unit_test(what_is_missing_says_why),
        cmocka_unit_test(one_event_can_be_missing),
        cmocka_unit_test(what_begins_meanwhile_is_named),
        cmocka_unit_test(a_read_that_fails_leaves_no_figure),
        cmocka_unit_test(this_machine_counts_or_says_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
