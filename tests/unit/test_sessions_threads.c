/* Sessions on several threads at once know nothing of each other: presets (which are models), ops
 * and the caller's own functions. The thread sanitizer runs this too. */
#include "temporary.h"
#include "unit.h"

#include "device/ceiling.h"
#include "device/cpu/cpu_info.h"
#include <assay/assay.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 8, JOBS = 5 };

struct player {
    pthread_t thread;
    int number, rounds;
    enum assay_status status;
    struct assay_error err;
};

static int add_up(void *argument)
{
    volatile int *sum = argument;
    for (int i = 0; i < 100; i++)
        *sum = *sum + i;
    return 0;
}

static enum assay_status run_own(assay_session *session, struct assay_error *err)
{
    int sum = 0;
    struct assay_case one;
    assay_case_init(&one, "add_up", add_up, &sum);
    return assay_session_run(session, &one, err);
}

static enum assay_status do_job(int job, assay_session *session, struct assay_error *err)
{
    static const char *const presets[] = {"mlp_gelu", "layer_norm", "multi_head_attention"};
    static const char *const settings[] = {"seq_len=16", "embed_dim=64", "batch=1"};
    static const int64_t axes[] = {1, 3, 40};
    if (job < 3)
        return assay_session_run_preset(session, presets[job], settings, 3, err);
    return job == 3 ? run_own(session, err)
                    : assay_session_measure(session, "softmax", axes, 3, err);
}

/* Each thread begins with another job, so that different ones meet. */
static void *play(void *argument)
{
    struct player *p = argument;
    struct assay_session_options options;
    assay_session_options_init(&options);
    options.warmup = 1;
    options.iters = 3;
    options.threads = 1;
    options.hot = 1;
    for (int i = 0; i < p->rounds && p->status == ASSAY_OK; i++) {
        assay_session *session = NULL;
        p->status = assay_session_open(&options, &session, &p->err);
        if (p->status == ASSAY_OK)
            p->status = do_job((i + p->number) % JOBS, session, &p->err);
        assay_session_close(session);
    }
    return NULL;
}

static void play_together(int threads, int rounds)
{
    struct player players[MOST_THREADS] = {0};
    for (int i = 0; i < threads; i++) {
        players[i].number = i;
        players[i].rounds = rounds;
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(players[i].thread, NULL);
    for (int i = 0; i < threads; i++)
        if (players[i].status != ASSAY_OK)
            fail_msg("thread %d of %d: %s", i, threads, players[i].err.message);
}

static int rounds_of(int usual)
{
    const char *asked = getenv("SESSION_ROUNDS");
    return asked ? atoi(asked) : usual;
}

static void test_two_sessions(void **state)
{
    (void)state;
    play_together(2, rounds_of(10));
}

static void test_eight_sessions(void **state)
{
    (void)state;
    play_together(MOST_THREADS, rounds_of(5));
}

/* Ceilings of this machine that nothing reaches: measuring them would take most of the time. */
static int make_ceilings(void **state)
{
    struct assay_ceilings ceilings = {.threads = 1,
                                      .n_levels = 2,
                                      .levels = {{"L1", 100000}, {"memory", SIZE_MAX}},
                                      .n_points = 1,
                                      .points = {{1, {1e15, 1e15, 1e15, 1e15}}},
                                      .flops = {1e18, 1e18, 1e18, 1e18, 1e18},
                                      .clock_hz = 3e9,
                                      .timer_ns = 20,
                                      .floor_ns = 20,
                                      .measured_at = 1700000000};
    snprintf(ceilings.device, sizeof ceilings.device, "%s", assay_cpu_info()->model);
    return temporary_make(state) == 0 && assay_ceilings_save(&ceilings, NULL) == ASSAY_OK ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_sessions),
        cmocka_unit_test(test_eight_sessions),
    };
    return cmocka_run_group_tests(tests, make_ceilings, temporary_remove);
}
