/* test_memory.c: what a variant takes of memory, from allocations of known size: counted, in the
 * calls that make them, and as the system sees it. */
#include "unit.h"

#include "base/alloc.h"
#include "runner/memory.h"
#include "device/null/null.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, SLACK = 8192 }; /* malloc rounds up */

static double no_time(void *user, const struct assay_kernel *kernel, void *state,
                      const struct assay_work *work)
{
    (void)user, (void)kernel, (void)state, (void)work;
    return 1;
}

static assay_device *open_null(void)
{
    assay_device *device = NULL;
    struct assay_null_script script = {.duration = no_time};
    assert_int_equal(assay_null_open(&script, &device, NULL), ASSAY_OK);
    return device;
}

static assay_device *open_cpu(void)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    assert_int_equal(assay_device_parse("cpu", &driver, &index, NULL), ASSAY_OK);
    assert_int_equal(assay_device_open(driver, index, 1, &device, NULL), ASSAY_OK);
    return device;
}

static void assert_about(double bytes, double expected)
{
    if (!(bytes >= expected && bytes <= expected + SLACK))
        fail_msg("%.0f bytes, expected %.0f and a little", bytes, expected);
}

/* ---- the counter ------------------------------------------------------------------------------
 */

static void what_is_held_is_counted(void **state)
{
    (void)state;
    size_t before = assay_alloc_held();
    assay_alloc_reset_peak();
    char *a = assay_calloc(3, MIB), *b = assay_calloc(1, MIB);
    assert_about((double)(assay_alloc_held() - before), 4 * MIB);
    a = assay_realloc(a, 1, MIB);
    assert_about((double)(assay_alloc_held() - before), 2 * MIB);
    char *c = assay_strdup("text");
    assay_free(a);
    assay_free(b);
    assay_free(c);
    assay_free(NULL);
    assert_int_equal(assay_alloc_held(), before);
    assert_true(assay_alloc_peak() - before >= 4 * MIB);
    assay_alloc_reset_peak();
    assert_int_equal(assay_alloc_peak(), before);
}

static void a_failed_allocation_is_not_counted(void **state)
{
    (void)state;
    char *text = assay_strdup("stays");
    size_t before = assay_alloc_held();
    assert_null(assay_calloc(SIZE_MAX / 4, 2));
    assay_alloc_fail_after(1);
    assert_null(assay_calloc(1, MIB));
    assert_null(assay_realloc(text, 1, MIB));
    assay_alloc_fail_after(0);
    assert_int_equal(assay_alloc_held(), before);
    assay_free(text);
}

static void threads_count_together(void **state)
{
    (void)state;
    size_t before = assay_alloc_held();
#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 4000; i++) {
        void *one = assay_calloc(1, (size_t)(i % 97) + 1);
        one = assay_realloc(one, (size_t)(i % 31) + 1, 8);
        assay_free(one);
    }
    assert_int_equal(assay_alloc_held(), before);
}

/* The host's memory is counted once, whichever function allocates it. */
static void a_cpus_operands_are_counted_too(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    size_t before = assay_alloc_held();
    void *block = NULL;
    assert_int_equal(assay_device_alloc(device, 5 * MIB, &block, NULL), ASSAY_OK);
    assert_int_equal(assay_alloc_held() - before, 5 * MIB);
    assay_device_free(device, block, 5 * MIB);
    assert_int_equal(assay_alloc_held(), before);
    assay_device_close(device);
}

/* ---- a variant's life -------------------------------------------------------------------------
 */

static void *kept, *scratch;

static void sets_up(void) { scratch = assay_calloc(2, MIB); }

static void prepares(void)
{
    void *sorted = assay_calloc(8, MIB); /* only while it is at work */
    void *fresh = assay_calloc(4, MIB);
    assay_free(kept);
    kept = fresh;
    assay_free(sorted);
}

static void runs(void) {}

static void runs_allocating(void) { assay_free(assay_calloc(3, MIB)); }

static void call(assay_device *device, struct assay_memory *memory, enum assay_memory_call which,
                 void (*function)(void))
{
    struct assay_memory_mark mark = assay_memory_begin(device);
    function();
    assay_memory_end(device, &mark, which, memory);
}

static void end_life(void)
{
    assay_free(kept);
    assay_free(scratch);
    kept = scratch = NULL;
}

static void scratch_of_setup_is_there_in_every_run(void **state)
{
    (void)state;
    assay_device *device = open_null();
    struct assay_memory m = {0};
    call(device, &m, ASSAY_MEMORY_SETUP, sets_up);
    assert_false(m.ran);
    call(device, &m, ASSAY_MEMORY_RUN, runs);
    assert_true(m.ran);
    assert_about(m.running, 2 * MIB);
    assert_about(m.peak, 2 * MIB);
    assert_near(m.weights, 0, 0);
    assert_true(isnan(m.used_peak)); /* the null device has no system to ask */
    end_life();
    assay_device_close(device);
}

static void scratch_of_a_run_is_seen_though_it_is_given_back(void **state)
{
    (void)state;
    assay_device *device = open_null();
    struct assay_memory m = {0};
    call(device, &m, ASSAY_MEMORY_SETUP, sets_up);
    call(device, &m, ASSAY_MEMORY_RUN, runs);
    call(device, &m, ASSAY_MEMORY_RUN, runs_allocating);
    call(device, &m, ASSAY_MEMORY_RUN, runs);
    assert_about(m.running, 5 * MIB);
    assert_about(m.peak, 5 * MIB);
    assert_about(m.counted, 2 * MIB);
    end_life();
    assay_device_close(device);
}

/* The second prepare makes its copy before it drops the first: that is the harness's doing. */
static void weights_are_what_prepare_leaves(void **state)
{
    (void)state;
    assay_device *device = open_null();
    struct assay_memory m = {0};
    call(device, &m, ASSAY_MEMORY_SETUP, sets_up);
    call(device, &m, ASSAY_MEMORY_PREPARE, prepares);
    call(device, &m, ASSAY_MEMORY_RUN, runs_allocating);
    call(device, &m, ASSAY_MEMORY_PREPARE, prepares);
    call(device, &m, ASSAY_MEMORY_RUN, runs_allocating);
    assert_about(m.weights, 4 * MIB);
    assert_about(m.counted, 6 * MIB);
    assert_about(m.running, 9 * MIB);
    assert_about(m.peak, 14 * MIB); /* scratch, what was sorted, and the weights */
    end_life();
    assay_device_close(device);
}

/* What happens between the calls is somebody else's. */
static void others_are_not_charged(void **state)
{
    (void)state;
    assay_device *device = open_null();
    struct assay_memory m = {0};
    void *before = assay_calloc(7, MIB);
    call(device, &m, ASSAY_MEMORY_SETUP, sets_up);
    assay_free(before);
    void *between = assay_calloc(9, MIB);
    call(device, &m, ASSAY_MEMORY_RUN, runs);
    assay_free(between);
    assert_about(m.peak, 2 * MIB);
    end_life();
    assay_device_close(device);
}

/* A library or a user's kernel calls malloc by itself. */
static void takes_by_itself(void)
{
    scratch = malloc(6 * MIB);
    assert_non_null(scratch);
    memset(scratch, 1, 6 * MIB);
}

static void gives_back_by_itself(void)
{
    free(scratch);
    scratch = NULL;
}

static void what_is_kept_of_malloc_is_seen(void **state)
{
    (void)state;
    struct assay_memory m = {0};
    takes_by_itself();
    bool told = assay_alloc_malloc_held() >= MIB; /* sanitizers have a malloc of their own */
    gives_back_by_itself();
    if (!told)
        skip();
    assay_device *device = open_null();
    call(device, &m, ASSAY_MEMORY_SETUP, takes_by_itself);
    call(device, &m, ASSAY_MEMORY_RUN, runs);
    assert_about(m.running, 6 * MIB);
    assert_near(m.counted, 0, 0);
    call(device, &m, ASSAY_MEMORY_RUN, gives_back_by_itself);
    assert_near(m.elsewhere, 0, SLACK);
    assert_about(m.peak, 6 * MIB);
    assay_device_close(device);
}

/* ---- what the system says ---------------------------------------------------------------------
 */

static void touches_much(void)
{
    char *room = assay_calloc(48, MIB);
    memset(room, 1, (size_t)48 * MIB);
    assay_free(room);
}

static void the_resident_peak_is_that_of_the_calls(void **state)
{
    (void)state;
    assay_device *device = open_cpu();
    struct assay_memory small = {0}, large = {0}, after = {0};
    call(device, &small, ASSAY_MEMORY_RUN, runs);
    call(device, &large, ASSAY_MEMORY_RUN, touches_much);
    call(device, &after, ASSAY_MEMORY_RUN, runs);
    assert_true(small.used_peak > 0);
    assert_true(large.used_peak >= small.used_peak + 40 * MIB);
    device->driver->system_reset(device);
    double now = device->driver->system_bytes(device);
    assay_device_close(device);
    if (now > large.used_peak - 40 * MIB)
        skip(); /* no reset is permitted here, or malloc keeps what is freed */
    assert_true(after.used_peak < large.used_peak - 40 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_is_counted),
        cmocka_unit_test(a_failed_allocation_is_not_counted),
        cmocka_unit_test(threads_count_together),
        cmocka_unit_test(a_cpus_operands_are_counted_too),
        cmocka_unit_test(scratch_of_setup_is_there_in_every_run),
        cmocka_unit_test(scratch_of_a_run_is_seen_though_it_is_given_back),
        cmocka_unit_test(weights_are_what_prepare_leaves),
        cmocka_unit_test(others_are_not_charged),
        cmocka_unit_test(what_is_kept_of_malloc_is_seen),
        cmocka_unit_test(the_resident_peak_is_that_of_the_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
