/* test_session_profile.c: traces of a session: cases and ops, the caller's own ranges, and what is
 * said where there can be none. */
#include "device/ceiling.h"
#include "device/cpu/cpu_info.h"
#include "temporary.h"
#include "trace/breakdown.h"
#include <assay/assay.h>

#include <signal.h>
#include <time.h>

/* ---- what is measured ---- */

struct work {
    assay_session *session;
    int calls, crash_at;
};

static int work(void *argument)
{
    struct work *w = argument;
    const struct timespec nap = {0, 200000};
    if (++w->calls == w->crash_at)
        raise(SIGSEGV);
    assay_range_push(w->session, "all of it");
    assay_range_push(w->session, "the \"nap\"");
    nanosleep(&nap, NULL);
    assay_range_pop(w->session);
    assay_range_pop(w->session);
    return 0;
}

static assay_session *open_session(void)
{
    struct assay_session_options options;
    struct assay_error err = {0};
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.warmup = 1;
    options.iters = 5;
    options.threads = 1;
    assert_int_equal(assay_session_open(&options, &session, &err), ASSAY_OK);
    return session;
}

/* One case, recorded into a file. How many calls it had comes back. */
static int measure(const char *path, int crash_at, bool isolate)
{
    struct assay_session_options options;
    struct assay_case one;
    struct assay_error err = {0};
    struct work w = {.crash_at = crash_at};
    assay_session_options_init(&options);
    options.warmup = 1;
    options.iters = 5;
    options.isolate = isolate;
    assert_int_equal(assay_session_open(&options, &w.session, &err), ASSAY_OK);
    assay_case_init(&one, "napping", work, &w);
    if (path)
        assert_int_equal(assay_session_profile(w.session, path, &err), ASSAY_OK);
    assay_range_push(w.session, "outside");
    assert_int_equal(assay_session_run(w.session, &one, &err), ASSAY_OK);
    assay_range_pop(w.session);
    assert_string_equal(assay_session_case(w.session, 0)->status, "ok");
    assert_int_equal(assay_session_case(w.session, 0)->samples, 5);
    if (path)
        assert_int_equal(assay_session_profile_end(w.session, &err), ASSAY_OK);
    assay_session_close(w.session);
    return w.calls;
}

static assay_json *read_json(const char *path)
{
    struct assay_text text = {0};
    assert_int_equal(assay_folder_read_file(path, 1 << 22, &text, NULL), ASSAY_OK);
    assay_json *json = assay_json_parse(text.data, text.length, path, NULL);
    assert_non_null(json);
    assay_text_fini(&text);
    return json;
}

static int64_t count(const assay_json *trace, const char *category, const char *name)
{
    const assay_json *events = assay_json_get(trace, "traceEvents");
    int64_t n = 0;
    for (int64_t i = 0; i < assay_json_count(events); i++) {
        const assay_json *e = assay_json_at(events, i);
        n += strcmp(assay_json_string(assay_json_get(e, "cat"), ""), category) == 0 &&
             strcmp(assay_json_string(assay_json_get(e, "name"), ""), name) == 0;
    }
    return n;
}

/* ---- the tests ---- */

static void a_case_is_called_again_with_its_ranges(void **state)
{
    (void)state;
    const char *path = in_temporary("case.json");
    struct assay_breakdowns all;
    int plain = measure(NULL, 0, false), recorded = measure(path, 0, false);
    assert_int_equal(assay_breakdowns_read(path, &all, NULL), ASSAY_OK);
    assert_int_equal(all.n, 1);
    const struct assay_breakdown *b = &all.items[0];
    assert_string_equal(b->title, "napping");
    assert_true(b->calls >= 3);
    assert_int_equal(recorded, plain + b->calls); /* none beside those of the pass */
    assay_json *trace = read_json(path);
    assert_int_equal(count(trace, "range", "all of it"), b->calls); /* not while it was timed */
    assert_int_equal(count(trace, "range", "the \"nap\""), b->calls);
    assert_int_equal(count(trace, "range", "outside"), 1);
    assert_int_equal(count(trace, "sample", "sample"), 5);
    assay_json_free(trace);
    assay_breakdowns_fini(&all);
}

static void a_crash_in_the_pass_costs_no_figure(void **state)
{
    (void)state;
    const char *path = in_temporary("crash.json");
    struct assay_breakdowns all;
    measure(path, measure(NULL, 0, false) + 2, false);
    assert_int_equal(assay_breakdowns_read(path, &all, NULL), ASSAY_OK);
    assert_int_equal(all.items[0].calls, 1);
    assert_non_null(strstr(all.items[0].missing, "SIGSEGV"));
    assert_non_null(strstr(all.items[0].missing, "while it was profiled"));
    assay_breakdowns_fini(&all);
}

static void an_isolated_case_says_what_is_missing(void **state)
{
    (void)state;
    const char *path = in_temporary("isolated.json");
    struct assay_breakdowns all;
    measure(path, 0, true);
    assert_int_equal(assay_breakdowns_read(path, &all, NULL), ASSAY_OK);
    assert_int_equal(all.items[0].calls, 0);
    assert_non_null(strstr(all.items[0].missing, "a process of its own"));
    assay_breakdowns_fini(&all);
}

static void an_op_is_recorded_too(void **state)
{
    (void)state;
    const char *path = in_temporary("op.json");
    const int64_t axes[] = {2, 3, 64};
    struct assay_breakdowns all;
    struct assay_error err = {0};
    struct assay_session_options options;
    assay_session *session;
    assay_session_options_init(&options);
    options.iters = 10;
    options.hot = 1;
    options.threads = 1;
    options.implementations = "native,ref";
    assert_int_equal(assay_session_open(&options, &session, &err), ASSAY_OK);
    assert_int_equal(assay_session_profile(session, path, &err), ASSAY_OK);
    assert_int_equal(assay_session_measure(session, "relu", axes, 3, &err), ASSAY_OK);
    assay_session_close(session); /* which completes it */
    assert_int_equal(assay_breakdowns_read(path, &all, NULL), ASSAY_OK);
    assert_int_equal(all.n, 2);
    assert_string_equal(all.items[0].nodes[0].op, "relu");
    assay_breakdowns_fini(&all);
}

/* ---- memory ---- */

/* A page, or what a file has instead; for assay_text_fini. */
static struct assay_text read_text(const char *path)
{
    struct assay_text text = {0};
    assert_int_equal(assay_folder_read_file(path, 1 << 22, &text, NULL), ASSAY_OK);
    return text;
}

static void an_ops_memory_is_recorded(void **state)
{
    (void)state;
    const char *path = in_temporary("op.html");
    const int64_t axes[] = {2, 3, 64};
    struct assay_error err = {0};
    struct assay_session_options options;
    assay_session *session;
    assay_session_options_init(&options);
    options.iters = 10;
    options.hot = 1;
    options.threads = 1;
    options.implementations = "native,ref";
    assert_int_equal(assay_session_open(&options, &session, &err), ASSAY_OK);
    assert_int_equal(assay_session_profile_memory(session, path, &err), ASSAY_OK);
    assert_int_equal(assay_session_measure(session, "relu", axes, 3, &err), ASSAY_OK);
    assert_int_equal(assay_session_profile_memory_end(session, &err), ASSAY_OK);
    struct assay_text page = read_text(path);
    assert_non_null(strstr(page.data, "relu 2x3x64 f32 native"));
    assert_non_null(strstr(page.data, "relu 2x3x64 f32 ref"));
    assert_non_null(strstr(page.data, "<th scope=\"row\">input 0</th><td>1.5 kB</td>"));
    assert_non_null(strstr(page.data, "</html>"));
    assay_text_fini(&page);
    assay_session_close(session);
}

/* Takes and gives back some of the session's memory. */
static int take_some(void *argument)
{
    struct work *w = argument;
    void *memory = NULL;
    if (++w->calls == w->crash_at)
        raise(SIGSEGV);
    if (assay_session_alloc(w->session, 123456, &memory, NULL) != ASSAY_OK)
        return 1;
    return assay_session_free(w->session, memory, NULL) != ASSAY_OK;
}

static int measure_memory(const char *path, int crash_at)
{
    struct work w = {.session = open_session(), .crash_at = crash_at};
    struct assay_case one;
    struct assay_error err = {0};
    assay_case_init(&one, "taking", take_some, &w);
    if (path)
        assert_int_equal(assay_session_profile_memory(w.session, path, &err), ASSAY_OK);
    assert_int_equal(assay_session_run(w.session, &one, &err), ASSAY_OK);
    assert_string_equal(assay_session_case(w.session, 0)->status, "ok");
    assert_int_equal(assay_session_case(w.session, 0)->samples, 5);
    assay_session_close(w.session); /* which completes it */
    return w.calls;
}

static void a_case_is_called_again_for_its_memory(void **state)
{
    (void)state;
    const char *path = in_temporary("case.html");
    int plain = measure_memory(NULL, 0);
    assert_int_equal(measure_memory(path, 0), plain + 2);
    struct assay_text page = read_text(path);
    assert_non_null(strstr(page.data, "<th scope=\"row\">state and scratch"));
    assert_non_null(strstr(page.data, "Missing: what it had before the call"));
    assay_text_fini(&page);
    measure_memory(path, plain + 2);
    page = read_text(path);
    assert_non_null(strstr(page.data, "SIGSEGV"));
    assert_non_null(strstr(page.data, "while its memory was profiled"));
    assay_text_fini(&page);
}

static void misuse_of_the_memory_profile_is_refused(void **state)
{
    (void)state;
    assay_session *session = open_session();
    struct assay_error err = {0};
    assert_int_equal(assay_session_profile_memory(session, "", NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile_memory(session, "/nosuch/m.html", &err),
                     ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "cannot be written"));
    assert_int_equal(assay_session_profile_memory_end(session, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile_memory(session, "/dev/full", NULL), ASSAY_OK);
    assert_int_equal(assay_session_profile_memory(session, "/dev/null", NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile_memory_end(session, NULL), ASSAY_ERR_IO);
    assay_session_close(session);
    assert_int_equal(assay_session_profile_memory(session, "x.html", NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile_memory_end(NULL, NULL), ASSAY_ERR_INVALID);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    assay_session *session = open_session();
    struct assay_error err = {0};
    assert_int_equal(assay_session_profile(session, NULL, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile(session, "/nosuch/t.json", &err), ASSAY_ERR_INVALID);
    assert_non_null(strstr(err.message, "cannot be written"));
    assert_int_equal(assay_session_profile_end(session, NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile(session, "/dev/full", NULL), ASSAY_OK);
    assert_int_equal(assay_session_profile(session, "/dev/null", NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile_end(session, NULL), ASSAY_ERR_IO);
    for (int i = 0; i < 40; i++) /* deeper than is drawn; unbalanced */
        assay_range_push(session, i % 2 ? NULL : "deep");
    for (int i = 0; i < 60; i++)
        assay_range_pop(session);
    assay_session_close(session);
    assay_range_push(session, "closed");
    assay_range_pop(NULL);
    assert_int_equal(assay_session_profile(session, "x.json", NULL), ASSAY_ERR_INVALID);
    assert_int_equal(assay_session_profile_end(NULL, NULL), ASSAY_ERR_INVALID);
}

/* Ceilings of this machine that nothing reaches: measuring them would take most of the time. */
static int make_folder(void **state)
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

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_case_is_called_again_with_its_ranges),
        WITH_FOLDER(a_crash_in_the_pass_costs_no_figure),
        WITH_FOLDER(an_isolated_case_says_what_is_missing),
        WITH_FOLDER(an_op_is_recorded_too),
        WITH_FOLDER(misuse_is_refused),
        WITH_FOLDER(an_ops_memory_is_recorded),
        WITH_FOLDER(a_case_is_called_again_for_its_memory),
        WITH_FOLDER(misuse_of_the_memory_profile_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
