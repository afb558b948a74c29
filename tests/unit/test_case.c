/* Cases through assay.h: results, counts of calls, memory, JSON and table; functions that fail,
 * crash, hang or end the process; handles and structs that make no sense. */
#include "unit.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include <assay/assay.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Sanitizers have stacks and a malloc of their own. */
#if HAVE_ASAN || HAVE_TSAN
#define SANITIZED 1
#endif

static struct assay_error err;

static assay_session *open_with(const struct assay_session_options *options)
{
    assay_session *session = NULL;
    err = (struct assay_error){0};
    if (assay_session_open(options, &session, &err) != ASSAY_OK)
        print_error("%s\n", err.message);
    assert_non_null(session);
    return session;
}

static struct assay_session_options some(int64_t warmup, int64_t iters)
{
    struct assay_session_options options;
    assay_session_options_init(&options);
    options.warmup = warmup;
    options.iters = iters;
    return options;
}

static assay_session *open_some(int64_t warmup, int64_t iters)
{
    struct assay_session_options options = some(warmup, iters);
    return open_with(&options);
}

static assay_session *open_isolated(double timeout_s)
{
    struct assay_session_options options = some(2, 5);
    options.isolate = 1;
    options.timeout_s = timeout_s;
    return open_with(&options);
}

static struct assay_case make(const char *name, int (*run)(void *), void *argument)
{
    struct assay_case c;
    assay_case_init(&c, name, run, argument);
    return c;
}

static void spin(int64_t ns)
{
    int64_t end = assay_clock_ns() + ns;
    while (assay_clock_ns() < end)
        ;
}

/* ---- functions to measure -------------------------------------------------------------------- */

static int count_call(void *argument)
{
    ++*(int *)argument;
    return 0;
}

static int spin_50us(void *argument)
{
    (void)argument;
    spin(50000);
    return 0;
}

static int spin_200us(void *argument)
{
    (void)argument;
    spin(200000);
    return 0;
}

/* Fails in the call that its argument counts down to. */
static int fail_later(void *argument) { return --*(int *)argument > 0 ? 0 : 42; }

/* A page that nobody may touch: a fault that no sanitizer sees coming. */
static volatile char *no_page;

static int touch_no_page(void *argument)
{
    (void)argument;
    *no_page = 1;
    return 0;
}

static int raise_it(void *argument) { return raise(*(int *)argument); }

static int trap(void *argument)
{
    (void)argument;
    __builtin_trap();
}

static int call_abort(void *argument)
{
    (void)argument;
    abort();
}

static volatile bool for_ever = true;

static int hang(void *argument)
{
    (void)argument;
    while (for_ever)
        usleep(1000);
    return 0;
}

static int leave(void *argument)
{
    (void)argument;
    _exit(7);
}

static void *touch_on_a_thread(void *argument)
{
    *no_page = 1;
    return argument;
}

/* Not on the measuring thread, so nothing but a process contains it. */
static int crash_elsewhere(void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch_on_a_thread, argument) == 0)
        pthread_join(thread, NULL);
    return 0;
}

static void *touch_later(void *argument)
{
    usleep(20000);
    return touch_on_a_thread(argument);
}

/* Well itself; its process dies in a turn of the others. */
static int crash_later(void *argument)
{
    static bool started;
    pthread_t thread;
    if (!started && pthread_create(&thread, NULL, touch_later, argument) == 0)
        pthread_detach(thread);
    started = true;
    return 0;
}

static void *burn(void *argument)
{
    (void)argument;
    for (;;)
        ;
    return NULL;
}

/* Leaves threads that would be in everybody's way. */
static int burn_cores(void *argument)
{
    static int started;
    pthread_t thread;
    for (; started < 8 && pthread_create(&thread, NULL, burn, argument) == 0; started++)
        pthread_detach(thread);
    return 0;
}

static int kill_itself(void *argument)
{
    (void)argument;
    kill(getpid(), SIGKILL);
    return 0;
}

/* ---- what is measured ------------------------------------------------------------------------ */

static void test_the_usual_counts(void **state)
{
    (void)state;
    int calls = 0;
    assay_session *session = open_with(NULL);
    struct assay_case c = make("count", count_call, &calls);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_int_equal(calls, 40);
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_string_equal(r->name, "count");
    assert_int_equal(r->iters, 32);
    assert_int_equal(r->warmup, 8);
    assert_int_equal(r->samples, 32);
    assert_string_equal(r->device, "cpu");
    assert_string_equal(r->dtype, "float32");
    assert_string_equal(r->status, "ok");
    assert_string_equal(r->reason, "");
    assert_true(isnan(r->macs) && isnan(r->flops_rate));
    assert_int_equal(assay_session_case_count(session), 1);
    assert_null(assay_session_case(session, 1));
    assert_null(assay_session_case(session, -1));
    assay_session_close(session);
}

static void test_every_number_of_calls_is_exact(void **state)
{
    (void)state;
    static const int64_t warmups[] = {1, 2, 3, 8}, iters[] = {1, 2, 7, 300};
    for (int w = 0; w < 4; w++)
        for (int i = 0; i < 4; i++) {
            int calls = 0;
            assay_session *session = open_some(warmups[w], iters[i]);
            struct assay_case c = make("count", count_call, &calls);
            assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
            assert_int_equal(calls, warmups[w] + iters[i]);
            assert_int_equal(assay_session_case(session, 0)->warmup, warmups[w]);
            assert_int_equal(assay_session_case(session, 0)->iters, iters[i]);
            assay_session_close(session);
        }
}

static void test_times_are_those_of_the_function(void **state)
{
    (void)state;
    assay_session *session = open_some(2, 50);
    struct assay_case c = make("spin", spin_50us, NULL);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_true(r->min_ms >= 0.05 && r->min_ms < 0.06);
    assert_true(r->min_ms <= r->q1_ms && r->q1_ms <= r->median_ms && r->median_ms <= r->q3_ms &&
                r->q3_ms <= r->max_ms);
    assert_true(r->median_lo_ms <= r->median_ms && r->median_ms <= r->median_hi_ms);
    assert_true(r->latency_ms >= r->min_ms && r->latency_ms <= r->max_ms);
    assert_true(r->latency_std_ms >= 0);
    assert_near(r->speedup, 0, 0);
    assay_session_close(session);
}

static void test_many_are_interleaved_and_compared(void **state)
{
    (void)state;
    assay_session *session = open_some(2, 40);
    struct assay_case cases[] = {make("slow", spin_200us, NULL), make("fast", spin_50us, NULL),
                                 make("same", spin_200us, NULL)};
    assert_int_equal(assay_session_run_many(session, cases, 3, &err), ASSAY_OK);
    assert_int_equal(assay_session_case_count(session), 3);
    const struct assay_case_result *fast = assay_session_case(session, 1);
    assert_string_equal(fast->name, "fast");
    assert_near(fast->speedup, 4, 0.5);
    assert_true(fast->speedup_lo <= fast->speedup && fast->speedup <= fast->speedup_hi);
    assert_true(fast->significant);
    assert_near(assay_session_case(session, 2)->speedup, 1, 0.1);
    assert_near(assay_session_case(session, 0)->speedup, 0, 0);
    assay_session_close(session);
}

/* The order of calls, written down by the cases themselves. */
static char order[4096];
static int order_length;

static int note_case(void *argument)
{
    order[order_length++ % (int)sizeof order] = *(char *)argument;
    return 0;
}

static void test_each_round_has_each_case_once(void **state)
{
    (void)state;
    char names[] = "abc";
    assay_session *session = open_some(2, 100);
    struct assay_case cases[] = {make("a", note_case, &names[0]), make("b", note_case, &names[1]),
                                 make("c", note_case, &names[2])};
    order_length = 0;
    assert_int_equal(assay_session_run_many(session, cases, 3, &err), ASSAY_OK);
    assert_int_equal(order_length, 306);
    int first_a = 0;
    for (int i = 6; i < 306; i += 3) {
        assert_int_equal(order[i] + order[i + 1] + order[i + 2], 'a' + 'b' + 'c');
        assert_true(order[i] != order[i + 1] && order[i + 1] != order[i + 2]);
        first_a += order[i] == 'a';
    }
    assert_true(first_a > 10 && first_a < 90);
    assay_session_close(session);
}

static void test_precision_decides_where_asked(void **state)
{
    (void)state;
    int calls = 0;
    struct assay_session_options options = some(0, 0);
    options.precision = 0.05;
    options.budget_s = 0.3;
    assay_session *session = open_with(&options);
    struct assay_case c = make("count", count_call, &calls);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_true(r->samples >= 8);
    assert_true(r->iters > 100 * r->samples); /* a nanosecond's work: many calls to a sample */
    assert_int_equal(r->iters + r->warmup, calls);
    assert_true(r->median_ms < 1e-3);
    assay_session_close(session);
}

/* ---- setup, counters, metadata --------------------------------------------------------------- */

static int steps[3];
static int answer_of_setup;

static int note_setup(void *argument)
{
    (void)argument;
    steps[0]++;
    return answer_of_setup;
}

static int note_run(void *argument)
{
    (void)argument;
    steps[1]++;
    return steps[0] == 1 && steps[2] == 0 ? 0 : 1;
}

static void note_teardown(void *argument)
{
    (void)argument;
    steps[2]++;
}

static struct assay_case noted(void)
{
    struct assay_case c = make("noted", note_run, NULL);
    memset(steps, 0, sizeof steps);
    answer_of_setup = 0;
    c.setup = note_setup;
    c.teardown = note_teardown;
    return c;
}

static void test_setup_and_teardown_surround_the_calls(void **state)
{
    (void)state;
    assay_session *session = open_some(2, 3);
    struct assay_case c = noted();
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_int_equal(steps[0], 1);
    assert_int_equal(steps[1], 5);
    assert_int_equal(steps[2], 1);
    c = noted();
    answer_of_setup = 5;
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_ERR_FAILED);
    assert_int_equal(steps[1] + steps[2], 0);
    assert_string_equal(assay_session_case(session, 1)->reason, "setup answered 5");
    assay_session_close(session);
}

static double product(const struct assay_case *self)
{
    return assay_case_number(self, "tokens", 0) * assay_case_number(self, "in", 0);
}

static double not_a_number(const struct assay_case *self)
{
    (void)self;
    return (double)NAN;
}

static double crash_counting(const struct assay_case *self)
{
    (void)self;
    return *no_page;
}

static void test_counters_read_the_metadata(void **state)
{
    (void)state;
    char key[] = "tokens";
    struct assay_metadata metadata[] = {{key, 2048, NULL}, {"in", 768, NULL}, {"mode", 7, "train"}};
    assay_session *session = open_some(1, 8);
    struct assay_case c = make("proj", spin_50us, NULL);
    c.metadata = metadata;
    c.n_metadata = 3;
    c.macs = product;
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    memset(key, 'x', 6); /* the result has its own copies */
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_near(r->macs, 2048 * 768, 0);
    assert_near(r->macs_rate * r->latency_ms / 1e3, r->macs, 1);
    assert_true(isnan(r->flops));
    assert_int_equal(r->n_metadata, 3);
    assert_string_equal(r->metadata[0].key, "tokens");
    assert_string_equal(r->metadata[2].text, "train");
    assert_string_equal(assay_case_text(&c, "mode", "?"), "train");
    assert_string_equal(assay_case_text(&c, "in", "?"), "?");
    assert_near(assay_case_number(&c, "mode", -1), -1, 0); /* a text is no number */
    assert_near(assay_case_number(NULL, "mode", -1), -1, 0);
    c.macs = not_a_number;
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_ERR_FAILED);
    assert_string_equal(assay_session_case(session, 1)->reason, "the MAC counter answered nan");
    c.macs = NULL;
    c.flops = crash_counting;
    assert_int_equal(assay_session_run(session, &c, NULL), ASSAY_ERR_FAILED);
    assert_string_equal(assay_session_case(session, 2)->status, "crashed");
    assay_session_close(session);
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { MIB = 1024 * 1024 };

struct allocating {
    assay_session *session;
    size_t bytes;
};

static int allocate_counted(void *argument)
{
    const struct allocating *a = argument;
    void *block;
    if (assay_session_alloc(a->session, a->bytes, &block, NULL) != ASSAY_OK)
        return 1;
    return assay_session_free(a->session, block, NULL) != ASSAY_OK;
}

static void test_memory_of_the_session_is_counted(void **state)
{
    (void)state;
    assay_session *session = open_some(2, 4);
    struct allocating a = {session, 3 * MIB};
    struct assay_case c = make("counted", allocate_counted, &a);
    void *held;
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_int_equal(assay_session_alloc(session, 16 * MIB, &held, &err), ASSAY_OK);
    assert_int_equal((uintptr_t)held % 64, 0);
    memset(held, 1, 16 * MIB);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    const struct assay_case_result *before = assay_session_case(session, 0);
    const struct assay_case_result *after = assay_session_case(session, 1);
    assert_near(after->idle_vram_mb - before->idle_vram_mb, 16, 0.1);
    assert_near(after->workspace_vram_mb, 3, 0);
    assert_near(after->peak_vram_mb, after->idle_vram_mb + 3, 1e-9);
    assay_session_close(session);
}

static int allocate_by_itself(void *argument)
{
    const struct allocating *a = argument;
    volatile char *block = malloc(a->bytes);
    for (size_t i = 0; block && i < a->bytes; i += 512)
        block[i] = 1;
    free((void *)(uintptr_t)block);
    return block ? 0 : 1;
}

static void test_memory_of_malloc_is_seen(void **state)
{
    (void)state;
    assay_session *session = open_some(3, 4);
    struct allocating a = {session, 24 * MIB}, none = {session, 64};
    struct assay_case c = make("malloc", allocate_by_itself, &a);
    /* Twice: malloc may have kept the memory that the first run freed. */
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    c.argument = &none;
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
#ifndef SANITIZED /* sanitizers keep freed memory, and have another malloc */
    assert_near(assay_session_case(session, 0)->workspace_vram_mb, 24, 1);
    assert_near(assay_session_case(session, 1)->workspace_vram_mb, 24, 1);
    assert_near(assay_session_case(session, 2)->workspace_vram_mb, 0, 0.01);
    void *held = malloc(8 * MIB);
    assert_non_null(held);
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_OK);
    assert_near(assay_session_case(session, 3)->idle_vram_mb -
                    assay_session_case(session, 2)->idle_vram_mb,
                8, 0.1);
    free(held);
#endif
    assay_session_close(session);
}

static void test_memory_that_is_not_the_sessions_is_refused(void **state)
{
    (void)state;
    assay_session *session = open_some(1, 1);
    void *block;
    assert_int_equal(assay_session_alloc(session, 100, &block, &err), ASSAY_OK);
    assert_int_equal(assay_session_free(session, NULL, &err), ASSAY_OK);
    assert_int_equal(assay_session_free(session, &err, &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "not memory of this session"));
    assert_int_equal(assay_session_free(session, block, NULL), ASSAY_OK);
    assert_int_equal(assay_session_free(session, block, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_alloc(session, 100, NULL, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_alloc(session, SIZE_MAX / 2, &block, NULL), ASSAY_ERR_NOMEM);
    assert_null(block);
    assert_int_equal(assay_session_alloc(session, 0, &block, NULL), ASSAY_OK);
    assay_session_close(session); /* frees what is left */
}

/* ---- functions that do not work -------------------------------------------------------------- */

static void test_a_failure_ends_the_case(void **state)
{
    (void)state;
    assay_session *session = open_some(4, 10);
    int until = 9;
    struct assay_case c = make("fails", fail_later, &until);
    err = (struct assay_error){0};
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_ERR_FAILED);
    assert_int_equal(until, 0);
    assert_string_equal(err.where, "fails");
    assert_string_equal(err.message, "failed: run answered 42, call 9");
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_string_equal(r->status, "failed");
    assert_true(isnan(r->latency_ms) && isnan(r->macs_rate));
    assay_session_close(session);
}

static void crash(assay_session *session, const char *name, int (*run)(void *), void *argument,
                  const char *reason)
{
    struct assay_case c = make(name, run, argument);
    err = (struct assay_error){0};
    assert_int_equal(assay_session_run(session, &c, &err), ASSAY_ERR_FAILED);
    const struct assay_case_result *r =
        assay_session_case(session, assay_session_case_count(session) - 1);
    assert_string_equal(r->status, "crashed");
    if (!strstr(r->reason, reason))
        print_error("%s\n", r->reason);
    assert_non_null(strstr(r->reason, reason));
}

static int block_and_crash(void *argument)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    sigdelset(&all, SIGSEGV);
    sigprocmask(SIG_SETMASK, &all, NULL);
    return touch_no_page(argument);
}

static void on_segv(int number) { (void)number; }

static void test_crashes_are_answers(void **state)
{
    (void)state;
    int fpe = SIGFPE, bus = SIGBUS;
    struct sigaction mine = {.sa_handler = on_segv}, now;
    sigaction(SIGSEGV, &mine, NULL);
    assay_session *session = open_some(2, 3);
    crash(session, "segv", touch_no_page, NULL, "SIGSEGV at address 0x");
    crash(session, "ill", trap, NULL, "SIGILL at address 0x");
    crash(session, "fpe", raise_it, &fpe, "SIGFPE in run");
    crash(session, "bus", raise_it, &bus, "SIGBUS in run");
    for (int i = 0; i < 3; i++) /* again and again */
        crash(session, "abort", call_abort, NULL, "SIGABRT in run");
    crash(session, "segv", block_and_crash, NULL, "SIGSEGV");
    /* The program's own handlers are back, and nothing is blocked. */
    sigaction(SIGSEGV, NULL, &now);
    assert_true(now.sa_handler == on_segv);
    signal(SIGSEGV, SIG_DFL);
    sigset_t mask;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    assert_false(sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGUSR1));
    int calls = 0;
    struct assay_case c = make("well", count_call, &calls);
    assert_int_equal(assay_session_run(session, &c, NULL), ASSAY_OK);
    assay_session_close(session);
}

static void test_blocked_signals_are_caught_and_stay_blocked(void **state)
{
    (void)state;
    sigset_t segv, now;
    sigemptyset(&segv);
    sigaddset(&segv, SIGSEGV);
    pthread_sigmask(SIG_BLOCK, &segv, NULL);
    assay_session *session = open_some(1, 2);
    crash(session, "segv", touch_no_page, NULL, "SIGSEGV at");
    pthread_sigmask(SIG_UNBLOCK, &segv, &now);
    assert_true(sigismember(&now, SIGSEGV));
    assay_session_close(session);
}

static void test_a_crash_leaves_the_others_alone(void **state)
{
    (void)state;
    int calls = 0, until = 4;
    assay_session *session = open_some(2, 20);
    struct assay_case cases[] = {make("bad", touch_no_page, NULL), make("good", count_call, &calls),
                                 make("late", fail_later, &until)};
    err = (struct assay_error){0};
    assert_int_equal(assay_session_run_many(session, cases, 3, &err), ASSAY_ERR_FAILED);
    assert_string_equal(err.where, "bad");
    assert_int_equal(assay_session_case_count(session), 3);
    assert_string_equal(assay_session_case(session, 0)->status, "crashed");
    assert_string_equal(assay_session_case(session, 1)->status, "ok");
    assert_string_equal(assay_session_case(session, 2)->status, "failed");
    assert_int_equal(assay_session_case(session, 1)->samples, 20);
    assert_int_equal(calls, 22);
    assert_near(assay_session_case(session, 1)->speedup, 0, 0); /* over what? */
    assay_session_close(session);
}

static void crash_tearing_down(void *argument)
{
    (void)argument;
    *no_page = 1;
}

static void test_teardown_may_crash_too(void **state)
{
    (void)state;
    int calls = 0;
    assay_session *session = open_some(1, 2);
    struct assay_case c = make("teardown", count_call, &calls);
    c.teardown = crash_tearing_down;
    assert_int_equal(assay_session_run(session, &c, NULL), ASSAY_ERR_FAILED);
    assert_non_null(strstr(assay_session_case(session, 0)->reason, "in teardown"));
    assay_session_close(session);
}

/* As another process would send it. */
static int send_segv(void *argument)
{
    (void)argument;
    return kill(getpid(), SIGSEGV);
}

static volatile sig_atomic_t handled;

static void count_signal(int number)
{
    (void)number;
    handled++;
}

static void test_a_signal_from_outside_is_the_programs(void **state)
{
    (void)state;
    struct sigaction mine = {.sa_handler = count_signal};
    sigaction(SIGSEGV, &mine, NULL);
    assay_session *session = open_some(1, 2);
    struct assay_case c = make("sent", send_segv, NULL);
    assert_int_equal(assay_session_run(session, &c, NULL), ASSAY_OK);
    assert_int_equal(handled, 3);
    assay_session_close(session);
    signal(SIGSEGV, SIG_DFL);
}

static int measure_inside(void *argument)
{
    assay_session *inner = NULL;
    int *calls = argument;
    if (assay_session_open(NULL, &inner, NULL) != ASSAY_OK)
        return 1;
    struct assay_case good = make("inner", count_call, calls);
    struct assay_case bad = make("inner bad", touch_no_page, NULL);
    int failed = assay_session_run(inner, &good, NULL) != ASSAY_OK ||
                 assay_session_run(inner, &bad, NULL) != ASSAY_ERR_FAILED;
    assay_session_close(inner);
    return failed;
}

static void test_a_case_may_measure_with_a_session_of_its_own(void **state)
{
    (void)state;
    int calls = 0;
    assay_session *session = open_some(1, 2);
    struct assay_case c = make("outer", measure_inside, &calls);
    assert_int_equal(assay_session_run(session, &c, NULL), ASSAY_OK);
    assert_int_equal(calls, 3 * 40);
    crash(session, "segv", touch_no_page, NULL, "SIGSEGV");
    assay_session_close(session);
}

static assay_session *own_session;

static int measure_with_own_session(void *argument)
{
    struct assay_case c = make("again", count_call, argument);
    bool refused = assay_session_run(own_session, &c, NULL) == ASSAY_ERR_INVALID;
    assay_session_close(own_session); /* passed over */
    return refused ? 0 : 1;
}

static void test_a_session_is_not_entered_twice(void **state)
{
    (void)state;
    int calls = 0;
    own_session = open_some(1, 2);
    struct assay_case c = make("outer", measure_with_own_session, &calls);
    assert_int_equal(assay_session_run(own_session, &c, NULL), ASSAY_OK);
    assert_int_equal(calls, 0);
    assert_int_equal(assay_session_case_count(own_session), 1);
    assay_session_close(own_session);
}

#ifndef SANITIZED
static int dig(volatile char *above, int depth)
{
    volatile char room[4096];
    room[0] = above[0];
    return depth == 0 ? room[0] : dig(room, depth - 1) + room[0];
}

static int use_up_the_stack(void *argument) { return dig(argument, 1 << 30); }

static void test_a_stack_may_overflow(void **state)
{
    (void)state;
    char zero = 0;
    assay_session *session = open_some(1, 2);
    for (int i = 0; i < 2; i++)
        crash(session, "deep", use_up_the_stack, &zero, "SIGSEGV at");
    assay_session_close(session);
}
#endif

/* Handlers are the process's, guards a thread's. */
static void *crash_on_a_thread(void *wrong)
{
    int calls = 0;
    assay_session *session = NULL;
    if (assay_session_open(NULL, &session, NULL) != ASSAY_OK)
        return wrong;
    struct assay_case good = make("good", count_call, &calls),
                      bad = make("bad", touch_no_page, NULL);
    for (int i = 0; i < 50; i++)
        if (assay_session_run(session, &good, NULL) != ASSAY_OK ||
            assay_session_run(session, &bad, NULL) != ASSAY_ERR_FAILED)
            return wrong;
    assay_session_close(session);
    return NULL;
}

static void test_sessions_on_several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    struct sigaction before, after;
    sigaction(SIGSEGV, NULL, &before);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crash_on_a_thread, &err), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    sigaction(SIGSEGV, NULL, &after);
    assert_ptr_equal((void *)(uintptr_t)before.sa_handler, (void *)(uintptr_t)after.sa_handler);
}

static double big(const struct assay_case *self);

/* ---- isolated -------------------------------------------------------------------------------- */

static void test_isolated_cases_leave_no_trace(void **state)
{
    (void)state;
    int calls = 0;
    assay_session *session = open_isolated(10);
    struct assay_case cases[] = {make("spin", spin_200us, NULL), make("count", count_call, &calls)};
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    assert_int_equal(calls, 0); /* that was in the child */
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_int_equal(r->iters, 5);
    assert_int_equal(r->warmup, 2);
    assert_true(r->min_ms >= 0.2);
    assert_true(assay_session_case(session, 1)->speedup > 10);
    assay_session_close(session);
}

static void test_isolation_contains_everything(void **state)
{
    (void)state;
    int calls = 0;
    static const char *const statuses[] = {"timeout", "ok",      "crashed",
                                           "crashed", "crashed", "crashed"};
    static const char *const reasons[] = {
        "a call did not end within 0.3 s", "",           "it ended the process with exit code 7",
        "SIGKILL ended its process",       "SIGSEGV at", "SIGSEGV ended its process"};
    signal(SIGSEGV, SIG_DFL); /* cmocka has a handler */
    assay_session *session = open_isolated(0.3);
    struct assay_case cases[] = {
        make("hang", hang, NULL),          make("good", count_call, &calls),
        make("leave", leave, NULL),        make("kill", kill_itself, NULL),
        make("segv", touch_no_page, NULL), make("elsewhere", crash_elsewhere, NULL)};
    err = (struct assay_error){0};
    assert_int_equal(assay_session_run_many(session, cases, 6, &err), ASSAY_ERR_FAILED);
    for (int i = 0; i < 6; i++) {
        const struct assay_case_result *r = assay_session_case(session, i);
        assert_string_equal(r->status, statuses[i]);
        assert_non_null(strstr(r->reason, reasons[i]));
    }
    assert_int_equal(assay_session_case(session, 1)->samples, 5);
    assay_session_close(session);
}

/* One process for each: a rival has neither the blame nor the harm. */
static void test_isolated_cases_do_not_meet(void **state)
{
    (void)state;
    signal(SIGSEGV, SIG_DFL);
    struct assay_session_options options = some(1, 60);
    options.isolate = 1;
    options.timeout_s = 5;
    assay_session *session = open_with(&options);
    struct assay_case cases[] = {make("spin", spin_200us, NULL), make("later", crash_later, NULL),
                                 make("burn", burn_cores, NULL), make("again", spin_200us, NULL)};
    assay_session_run_many(session, cases, 4, &err);
    const struct assay_case_result *spin = assay_session_case(session, 0);
    const struct assay_case_result *again = assay_session_case(session, 3);
    assert_string_equal(assay_session_case(session, 1)->status, "crashed");
    assert_string_equal(assay_session_case(session, 2)->status, "ok");
    assert_string_equal(spin->status, "ok");
    assert_string_equal(again->status, "ok");
    assert_int_equal(spin->samples, 60);
    assert_true(spin->median_ms >= 0.2 && spin->median_ms < 0.3);
    assert_true(again->median_ms >= 0.2 && again->median_ms < 0.3);
    assay_session_close(session);
}

/* Precision decides, operations and memory are counted, and a failure there is told as it is. */
static void test_isolated_cases_tell_the_same(void **state)
{
    (void)state;
    struct assay_session_options options = some(0, 0);
    options.isolate = 1;
    options.precision = 0.05;
    int left = 30;
    assay_session *session = open_with(&options);
    struct assay_case cases[] = {make("spin", spin_200us, NULL), make("no", fail_later, &left)};
    cases[0].flops = big;
    assay_session_run_many(session, cases, 2, &err);
    const struct assay_case_result *spin = assay_session_case(session, 0);
    assert_string_equal(spin->status, "ok");
    assert_true(spin->samples >= 40);
    assert_true(spin->median_ms >= 0.2 && spin->median_ms < 0.3);
    assert_near(spin->flops, big(&cases[0]), 0);
    assert_string_equal(assay_session_case(session, 1)->status, "failed");
    assert_string_equal(assay_session_case(session, 1)->reason, "run answered 42, call 30");
    assert_int_equal(left, 30);
    assay_session_close(session);
}

/* ---- what makes no sense --------------------------------------------------------------------- */

static void refused(const struct assay_session_options *options, const char *message)
{
    assay_session *session = (assay_session *)&err;
    err = (struct assay_error){0};
    assert_int_equal(assay_session_open(options, &session, &err), ASSAY_ERR_INVALID);
    assert_null(session);
    char text[700];
    snprintf(text, sizeof text, "%s %s", err.where, err.message);
    if (!strstr(text, message))
        print_error("%s\n", text);
    assert_non_null(strstr(text, message));
}

static void test_options_that_make_no_sense(void **state)
{
    (void)state;
    struct assay_session_options o = some(-1, 0);
    refused(&o, "warmup must be > 0");
    o = some(0, -5);
    refused(&o, "iters must be > 0, or 0 for its default, and is -5");
    o = some(0, 0);
    o.precision = (double)NAN;
    refused(&o, "precision must be > 0");
    o = some(0, 0);
    o.abi = ASSAY_API_ABI + 6;
    refused(&o, "built for ABI 7 of assay.h");
    o = some(0, 0);
    o.struct_size = 0;
    refused(&o, "the options' struct_size is 0");
    o.struct_size = 1u << 30;
    refused(&o, "struct_size is 1073741824");
    o = some(0, 0);
    o.device = "cpuu";
    refused(&o, "did you mean \"cpu\"");
    o = some(0, 0);
    o.dtype = "float17";
    refused(&o, "float16");
    assert_int_equal(assay_session_open(NULL, NULL, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_abi_version(), ASSAY_API_ABI);
}

static void test_structs_of_other_ages(void **state)
{
    (void)state;
    struct {
        struct assay_session_options known;
        char newer[16];
    } o = {.known = some(1, 2)};
    assay_session *session = NULL;
    o.known.struct_size = sizeof o;
    assert_int_equal(assay_session_open(&o.known, &session, NULL), ASSAY_OK);
    assay_session_close(session);
    o.newer[3] = 1;
    refused(&o.known, "newer assay");
    /* An older one ends before the field that would be wrong. */
    struct assay_session_options old = some(1, 2);
    old.timeout_s = -1;
    old.struct_size = offsetof(struct assay_session_options, timeout_s);
    assert_int_equal(assay_session_open(&old, &session, NULL), ASSAY_OK);
    /* An array of longer structs is walked at their length. */
    struct {
        struct assay_case known;
        void *newer;
    } cases[2];
    int calls[2] = {0};
    memset(cases, 0, sizeof cases);
    for (int i = 0; i < 2; i++) {
        cases[i].known = make(i ? "second" : "first", count_call, &calls[i]);
        cases[i].known.struct_size = sizeof cases[i];
    }
    assert_int_equal(assay_session_run_many(session, &cases[0].known, 2, &err), ASSAY_OK);
    assert_string_equal(assay_session_case(session, 1)->name, "second");
    assert_int_equal(calls[1], 3);
    assay_session_close(session);
}

static void refuse(assay_session *session, const struct assay_case *c, const char *message)
{
    err = (struct assay_error){0};
    assert_int_equal(assay_session_run(session, c, &err), ASSAY_ERR_INVALID);
    if (!strstr(err.message, message))
        print_error("%s\n", err.message);
    assert_non_null(strstr(err.message, message));
}

static void test_cases_that_make_no_sense(void **state)
{
    (void)state;
    int calls = 0;
    assay_session *session = open_some(1, 1);
    struct assay_metadata keyless = {NULL, 1, NULL};
    struct assay_case c = make(NULL, count_call, &calls);
    refuse(session, &c, "case 0 has no name");
    c = make("", count_call, &calls);
    refuse(session, &c, "has no name");
    c = make("x", NULL, &calls);
    refuse(session, &c, "no function");
    c = make("x", count_call, &calls);
    c.struct_size = 4;
    refuse(session, &c, "the case's struct_size is 4");
    c = make("x", count_call, &calls);
    c.n_metadata = 2;
    refuse(session, &c, "has 2 metadata, and no array");
    c.n_metadata = -1;
    refuse(session, &c, "has -1 metadata");
    c.n_metadata = 1;
    c.metadata = &keyless;
    refuse(session, &c, "metadata 0 has no key");
    c = make("x", count_call, &calls);
    c.flags = 0x80;
    refuse(session, &c, "unknown flags 0x80");
    refuse(session, NULL, "no cases");
    assert_int_equal(assay_session_run_many(session, &c, 0, NULL), ASSAY_ERR_INVALID);
    struct assay_case two[] = {make("a", count_call, &calls), make("b", count_call, &calls)};
    two[1].struct_size--;
    assert_int_equal(assay_session_run_many(session, two, 2, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(calls, 0);
    assert_int_equal(assay_session_case_count(session), 0);
    assay_session_close(session);
}

static void discard(void *user, const char *bytes, size_t length)
{
    (void)user, (void)bytes, (void)length;
}

static void test_a_closed_session_is_refused(void **state)
{
    (void)state;
    int calls = 0;
    int64_t axes[] = {1, 1, 1};
    void *block;
    struct assay_case c = make("x", count_call, &calls);
    assay_session *closed = open_some(1, 1);
    assay_session_close(closed);
    assay_session *other = open_some(1, 1); /* may lie where the first one lay */
    assay_session *const bad[] = {closed, NULL, (assay_session *)&calls, (assay_session *)1};
    for (int i = 0; i < 4; i++) {
        refuse(bad[i], &c, i == 1 ? "the session is NULL" : "the session is closed, or is not one");
        assert_int_equal(assay_session_alloc(bad[i], 1, &block, NULL), ASSAY_ERR_INVALID);
        assert_int_equal(assay_session_free(bad[i], &calls, NULL), ASSAY_ERR_INVALID);
        assert_int_equal(assay_session_measure(bad[i], "relu", axes, 3, NULL), ASSAY_ERR_INVALID);
        assert_int_equal(assay_session_report(bad[i], "table", discard, NULL, NULL),
                         ASSAY_ERR_INVALID);
        assert_int_equal(assay_session_cases_json(bad[i], discard, NULL, NULL), ASSAY_ERR_INVALID);
        assert_int_equal(assay_session_cases_table(bad[i], discard, NULL, NULL), ASSAY_ERR_INVALID);
        assert_int_equal(assay_session_count(bad[i]), 0);
        assert_int_equal(assay_session_case_count(bad[i]), 0);
        assert_null(assay_session_case(bad[i], 0));
        assert_null(assay_session_result(bad[i], 0));
        assay_session_close(bad[i]);
    }
    assert_int_equal(assay_session_run(other, &c, NULL), ASSAY_OK);
    assert_int_equal(assay_session_measure(other, NULL, axes, 3, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_measure(other, "relu", NULL, 3, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_cases_json(other, NULL, NULL, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_case_result_json(NULL, discard, NULL, NULL), ASSAY_ERR_INVALID);
    assay_session_close(other);
}

static void test_many_sessions(void **state)
{
    (void)state;
    static assay_session *all[1025];
    for (int i = 0; i < 1024; i++)
        all[i] = open_some(1, 1);
    err = (struct assay_error){0};
    assert_int_equal(assay_session_open(NULL, &all[1024], &err), ASSAY_ERR_INVALID);
    assert_string_equal(err.message, "too many sessions are open: close some");
    for (int i = 0; i < 1024; i++)
        assay_session_close(all[i]);
}

/* ---- out ------------------------------------------------------------------------------------- */

struct page {
    char text[16384];
    size_t length;
};

static void append(void *user, const char *bytes, size_t length)
{
    struct page *page = user;
    assert_true(page->length + length < sizeof page->text);
    memcpy(page->text + page->length, bytes, length);
    page->length += length;
    page->text[page->length] = 0;
}

static double big(const struct assay_case *self)
{
    (void)self;
    return 25769803776.0;
}

static assay_session *two_cases(void)
{
    static const struct assay_metadata metadata[] = {{"tokens", 2048, NULL}, {"mode", 0, "train"}};
    assay_session *session = open_some(1, 6);
    struct assay_case cases[] = {make("attn", spin_50us, NULL),
                                 make("bröken", touch_no_page, NULL)};
    cases[0].metadata = metadata;
    cases[0].n_metadata = 2;
    cases[0].macs = big;
    assert_int_equal(assay_session_run_many(session, cases, 2, NULL), ASSAY_ERR_FAILED);
    return session;
}

static void test_json_has_the_fields_in_order(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "name",   "iters",     "warmup",       "latency_ms",   "latency_std_ms",
        "device", "dtype",     "idle_vram_mb", "peak_vram_mb", "workspace_vram_mb",
        "macs",   "macs_rate", "flops",        "flops_rate",   "metadata"};
    static struct page page;
    page.length = 0;
    assay_session *session = two_cases();
    assert_int_equal(assay_case_result_json(assay_session_case(session, 0), append, &page, NULL),
                     ASSAY_OK);
    assert_int_equal(page.text[page.length - 1], '\n');
    assay_json *one = assay_json_parse(page.text, page.length, NULL, &err);
    assert_non_null(one);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_string_equal(assay_json_key_at(one, (int64_t)i), keys[i]);
    assert_non_null(strstr(page.text, "\"macs\":25769803776,"));
    assert_non_null(strstr(page.text, "\"flops\":null,\"flops_rate\":null"));
    assert_non_null(strstr(page.text, "\"metadata\":{\"tokens\":2048,\"mode\":\"train\"}"));
    assert_non_null(strstr(page.text, "\"status\":\"ok\""));
    assay_json_free(one);
    page.length = 0;
    assert_int_equal(assay_session_cases_json(session, append, &page, NULL), ASSAY_OK);
    assay_json *all = assay_json_parse(page.text, page.length, NULL, &err);
    assert_int_equal(assay_json_count(all), 2);
    const assay_json *broken = assay_json_at(all, 1);
    assert_string_equal(assay_json_string(assay_json_get(broken, "status"), ""), "crashed");
    assert_true(isnan(assay_json_double(assay_json_get(broken, "latency_ms"), 0)));
    assay_json_free(all);
    assay_session_close(session);
    session = open_some(1, 1);
    page.length = 0;
    assert_int_equal(assay_session_cases_json(session, append, &page, NULL), ASSAY_OK);
    assert_string_equal(page.text, "[]\n");
    assay_session_close(session);
}

static void test_the_table(void **state)
{
    (void)state;
    static struct page page;
    page.length = 0;
    assay_session *session = two_cases();
    assert_int_equal(assay_session_cases_table(session, append, &page, NULL), ASSAY_OK);
    char words[11][32], *lines[5] = {NULL};
    int n = 0;
    for (char *line = strtok(page.text, "\n"); line && n < 5; line = strtok(NULL, "\n"))
        lines[n++] = line;
    assert_int_equal(n, 4);
    assert_int_equal(sscanf(lines[0], "%31s%31s%31s%31s%31s%31s%31s%31s%31s%31s%31s", words[0],
                            words[1], words[2], words[3], words[4], words[5], words[6], words[7],
                            words[8], words[9], words[10]),
                     11);
    static const char *const headings[] = {"name",      "mean_ms",   "median_ms", "std_ms",
                                           "idle_vram", "peak_vram", "workspace", "MACs",
                                           "MACS",      "FLOPs",     "FLOPS"};
    for (int i = 0; i < 11; i++)
        assert_string_equal(words[i], headings[i]);
    assert_int_equal(strncmp(lines[1], "attn ", 5), 0);
    char *rest;
    assert_true(strtod(lines[1] + 5, &rest) >= 0.05);
    double median = strtod(rest, &rest);
    assert_near(median, assay_session_case(session, 0)->median_ms, 5.1e-5);
    assert_true(strtod(rest, &rest) >= 0);
#ifdef SANITIZED
    assert_non_null(strstr(rest, " 0 B "));
#else
    assert_non_null(strstr(rest, " MB "));
#endif
    assert_non_null(strstr(rest, "25.77 G "));
    assert_non_null(strstr(rest, "T/s"));
    assert_string_equal(rest + strlen(rest) - 3, "n/a");
    assert_int_equal(strncmp(lines[2], "br\303\266ken ", 8), 0);
    assert_null(strpbrk(lines[2] + 8, "0123456789"));
    assert_int_equal(strncmp(lines[3], "  crashed: SIGSEGV at", 21), 0);
    /* Every line of figures ends in the same column: the second has one byte more, for the ö. */
    assert_int_equal(strlen(lines[0]), strlen(lines[1]));
    assert_int_equal(strlen(lines[1]) + 1, strlen(lines[2]));
    assay_session_close(session);
}

/* Cases that were compared have one column more, with the interval as everywhere. */
static void test_the_table_has_speedups(void **state)
{
    (void)state;
    static struct page page;
    page.length = 0;
    assay_session *session = open_some(2, 40);
    struct assay_case cases[] = {make("slow", spin_200us, NULL), make("fast", spin_50us, NULL)};
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    assert_int_equal(assay_session_cases_table(session, append, &page, NULL), ASSAY_OK);
    char *heading = strtok(page.text, "\n"), *slow = strtok(NULL, "\n"), *fast = strtok(NULL, "\n");
    char *column = strstr(heading, "  speedup");
    assert_non_null(column);
    assert_true(strlen(slow) <= (size_t)(column - heading)); /* nothing to compare it with */
    double ratio, lo, hi;
    const struct assay_case_result *r = assay_session_case(session, 1);
    assert_int_equal(sscanf(fast + (column - heading), "%lfx [%lf %lf]", &ratio, &lo, &hi), 3);
    assert_near(ratio, r->speedup, 0.0051);
    assert_true(lo <= r->speedup_lo && hi >= r->speedup_hi); /* rounded outwards */
    assay_session_close(session);
    page.length = 0;
    session = open_some(1, 3); /* too few rounds to say anything */
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    assert_int_equal(assay_session_cases_table(session, append, &page, NULL), ASSAY_OK);
    assert_non_null(strstr(page.text, "unclear (n=3)"));
    assay_session_close(session);
}

/* ---- without memory -------------------------------------------------------------------------- */

/* Counts how often it was called, and ends the measuring at `most`. */
struct turns {
    int calls, most;
};

static int count_turn(void *user)
{
    struct turns *turns = user;
    return ++turns->calls >= turns->most;
}

static void test_between_samples_the_caller_is_heard(void **state)
{
    int calls = 0;
    struct turns turns = {0, 1 << 20};
    struct assay_session_options options = some(2, 10);
    options.between = count_turn;
    options.user = &turns;
    assay_session *session = open_with(&options);
    struct assay_case one = make("counted", count_call, &calls);
    (void)state;
    assert_int_equal(assay_session_run(session, &one, &err), ASSAY_OK);
    assert_int_equal(calls, 12);
    assert_true(turns.calls >= 10);
    turns = (struct turns){0, 3};
    assert_int_equal(assay_session_run(session, &one, &err), ASSAY_ERR_INTERRUPTED);
    assert_int_equal(assay_session_case_count(session), 1);
    assert_true(calls < 24);
    assay_session_close(session);
}

static int sum_line(void *argument)
{
    const volatile char *line = argument;
    return line[0] + line[64] + line[128] + line[192];
}

static void test_cold_cases_are_called_once_in_a_sample(void **state)
{
    static char line[4096];
    struct assay_session_options options = some(0, 0);
    options.precision = 0.01;
    options.budget_s = 0.3;
    assay_session *session = open_with(&options);
    struct assay_case cases[] = {make("cold", sum_line, line), make("colder", sum_line, line)};
    (void)state;
    cases[0].flags = cases[1].flags = ASSAY_CASE_COLD | ASSAY_CASE_UNGUARDED;
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    const struct assay_case_result *r = assay_session_case(session, 0);
    assert_true(r->samples > 0);
    assert_int_equal(r->iters, r->samples);
    assay_session_close(session);
}

static void test_samples_are_kept_and_the_verdict_is_the_tables(void **state)
{
    assay_session *session = open_some(2, 20);
    struct assay_case cases[] = {make("slow", spin_50us, NULL), make("slow too", spin_50us, NULL)};
    static struct page page;
    char verdict[128] = "x";
    page.length = 0;
    (void)state;
    assert_int_equal(assay_session_run_many(session, cases, 2, &err), ASSAY_OK);
    const struct assay_case_result *r = assay_session_case(session, 1);
    assert_int_equal(r->rounds, 20);
    double least = r->sample_ms[0];
    for (int64_t i = 0; i < r->rounds; i++)
        least = r->sample_ms[i] < least ? r->sample_ms[i] : least;
    assert_true(least == r->min_ms);
    assay_case_result_verdict(assay_session_case(session, 0), verdict, sizeof verdict);
    assert_string_equal(verdict, "");
    assay_case_result_verdict(r, verdict, sizeof verdict);
    assay_session_cases_table(session, append, &page, NULL);
    assert_true(verdict[0] && strstr(page.text, verdict));
    assay_case_result_verdict(NULL, verdict, sizeof verdict);
    assert_string_equal(verdict, "");
    assay_session_close(session);
}

static void test_no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    int calls = 0;
    struct assay_metadata metadata = {"key", 1, "text"};
    struct assay_case c = make("x", count_call, &calls);
    c.metadata = &metadata;
    c.n_metadata = 1;
    for (int isolate = 0; isolate < 2; isolate++) {
        struct assay_session_options options = some(1, 2);
        bool all_worked = false;
        options.isolate = isolate;
        for (int64_t nth = 1; !all_worked && nth < 2000; nth++) {
            assay_session *session = NULL;
            assay_alloc_fail_after(nth);
            enum assay_status ran = assay_session_open(&options, &session, NULL);
            if (ran == ASSAY_OK)
                ran = assay_session_run(session, &c, NULL);
            assay_alloc_fail_after(0);
            assert_true(ran == ASSAY_OK || ran == ASSAY_ERR_NOMEM);
            all_worked = ran == ASSAY_OK;
            assay_session_close(session);
        }
        assert_true(all_worked);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_usual_counts),
        cmocka_unit_test(test_every_number_of_calls_is_exact),
        cmocka_unit_test(test_times_are_those_of_the_function),
        cmocka_unit_test(test_many_are_interleaved_and_compared),
        cmocka_unit_test(test_each_round_has_each_case_once),
        cmocka_unit_test(test_precision_decides_where_asked),
        cmocka_unit_test(test_setup_and_teardown_surround_the_calls),
        cmocka_unit_test(test_counters_read_the_metadata),
        cmocka_unit_test(test_memory_of_the_session_is_counted),
        cmocka_unit_test(test_memory_of_malloc_is_seen),
        cmocka_unit_test(test_memory_that_is_not_the_sessions_is_refused),
        cmocka_unit_test(test_a_failure_ends_the_case),
        cmocka_unit_test(test_crashes_are_answers),
        cmocka_unit_test(test_blocked_signals_are_caught_and_stay_blocked),
        cmocka_unit_test(test_a_crash_leaves_the_others_alone),
        cmocka_unit_test(test_teardown_may_crash_too),
        cmocka_unit_test(test_a_signal_from_outside_is_the_programs),
        cmocka_unit_test(test_a_case_may_measure_with_a_session_of_its_own),
        cmocka_unit_test(test_a_session_is_not_entered_twice),
#ifndef SANITIZED
        cmocka_unit_test(test_a_stack_may_overflow),
#endif
        cmocka_unit_test(test_sessions_on_several_threads),
        cmocka_unit_test(test_isolated_cases_leave_no_trace),
        cmocka_unit_test(test_isolation_contains_everything),
        cmocka_unit_test(test_isolated_cases_do_not_meet),
        cmocka_unit_test(test_isolated_cases_tell_the_same),
        cmocka_unit_test(test_options_that_make_no_sense),
        cmocka_unit_test(test_structs_of_other_ages),
        cmocka_unit_test(test_cases_that_make_no_sense),
        cmocka_unit_test(test_a_closed_session_is_refused),
        cmocka_unit_test(test_many_sessions),
        cmocka_unit_test(test_json_has_the_fields_in_order),
        cmocka_unit_test(test_the_table),
        cmocka_unit_test(test_the_table_has_speedups),
        cmocka_unit_test(test_between_samples_the_caller_is_heard),
        cmocka_unit_test(test_cold_cases_are_called_once_in_a_sample),
        cmocka_unit_test(test_samples_are_kept_and_the_verdict_is_the_tables),
        cmocka_unit_test(test_no_allocation_is_taken_for_granted),
    };
    no_page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
