/* test_traces.c: what is left behind in a process is seen, and put back. */
#include "unit.h"

#include "runner/traces.h"

#include <fenv.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static void test_nothing_changed(void **state)
{
    (void)state;
    struct assay_traces before = assay_traces_now();
    struct assay_error why = {0};
    assert_int_equal(assay_traces_undo(&before, &why), ASSAY_TRACE_NONE);
    feraiseexcept(FE_INEXACT); /* what happened is not how it is set */
    assert_int_equal(assay_traces_undo(&before, &why), ASSAY_TRACE_NONE);
    assert_string_equal(why.message, "");
}

static void test_rounding_is_put_back(void **state)
{
    (void)state;
    struct assay_traces before = assay_traces_now();
    struct assay_error why = {0};
    fesetround(FE_UPWARD);
    assert_int_equal(assay_traces_undo(&before, &why), ASSAY_TRACE_FLOATING);
    assert_non_null(strstr(why.message, "floating-point"));
    volatile double one = 1, three = 3, up = one / three;
    assert_true(up == 1.0 / 3.0);
    assert_int_equal(assay_traces_undo(&before, NULL), ASSAY_TRACE_NONE);
    fesetround(FE_TONEAREST);
}

static void test_threads_of_openmp_are_put_back(void **state)
{
    (void)state;
    struct assay_traces before = assay_traces_now();
    omp_set_num_threads(before.threads + 3);
    assert_int_equal(assay_traces_undo(&before, NULL), ASSAY_TRACE_NONE);
    assert_int_equal(omp_get_max_threads(), before.threads);
}

static void test_cores_are_put_back(void **state)
{
    (void)state;
    struct assay_traces before = assay_traces_now();
    struct assay_error why = {0};
    cpu_set_t one, now;
    if (!before.has_cores || CPU_COUNT(&before.cores) < 2)
        skip();
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before.cores))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    assert_int_equal(assay_traces_undo(&before, &why), ASSAY_TRACE_CORES);
    assert_non_null(strstr(why.message, "cores"));
    sched_getaffinity(0, sizeof now, &now);
    assert_true(CPU_EQUAL(&now, &before.cores));
}

static atomic_bool stop;

static void *burn(void *unused)
{
    while (!stop)
        ;
    return unused;
}

static void *sleep_long(void *unused)
{
    while (!stop)
        usleep(1000);
    return unused;
}

static void test_threads_that_compute_are_counted(void **state)
{
    (void)state;
    pthread_t threads[2];
    int64_t before = assay_traces_threads();
    assert_true(assay_traces_busy_threads() < ASSAY_BUSY_THREADS);
    stop = false;
    assert_int_equal(pthread_create(&threads[0], NULL, sleep_long, NULL), 0);
    assert_int_equal(assay_traces_threads(), before + 1);
    assert_true(assay_traces_busy_threads() < ASSAY_BUSY_THREADS);
    assert_int_equal(pthread_create(&threads[1], NULL, burn, NULL), 0);
    assert_true(assay_traces_busy_threads() > ASSAY_BUSY_THREADS);
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_changed),
        cmocka_unit_test(test_rounding_is_put_back),
        cmocka_unit_test(test_threads_of_openmp_are_put_back),
        cmocka_unit_test(test_cores_are_put_back),
        cmocka_unit_test(test_threads_that_compute_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
