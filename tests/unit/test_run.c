/* test_run.c: a plan as one run: what its hooks hear and when, going on with an earlier run, the
 * lock of the machine, and that the library describes a run as the command line does. Groups are
 * over a limit, so that nothing is measured. */
#include "temporary.h"

#include "api/session.h"
#include "bench/run.h"

#include <assay/assay.h>

static struct assay_error err;

static int set_up(void **state)
{
    err = (struct assay_error){0};
    if (temporary_make(state) != 0)
        return -1;
    return setenv("XDG_DATA_HOME", in_temporary("data"), 1) == 0 &&
                   setenv("ASSAY_LOCK", in_temporary("lock"), 1) == 0
               ? 0
               : -1;
}

/* What a run said, one letter a call, and what it shall be told. */
struct listener {
    char heard[64];
    int64_t stop_after; /* so many groups; 0: never */
    int64_t fail_after; /* the same, with a failure */
    int64_t n_groups;   /* handed over */
    char warning[256];
    struct assay_run_info info;
};

static void hear(void *user, const char *letter)
{
    struct listener *listener = user;
    assert_true(strlen(listener->heard) + 1 < sizeof listener->heard);
    strcat(listener->heard, letter);
}

static enum assay_status on_open(void *user, struct assay_error *error)
{
    (void)error;
    hear(user, "o");
    return ASSAY_OK;
}

static void on_begin(void *user, const struct assay_run_info *info)
{
    hear(user, "b");
    ((struct listener *)user)->info = *info;
}

static enum assay_status on_group(void *user, const struct assay_record *records, int64_t n,
                                  struct assay_error *error)
{
    struct listener *listener = user;
    hear(user, "g");
    assert_int_equal(n, 1);
    assert_int_equal(records[0].outcome, ASSAY_OUTCOME_SKIPPED);
    if (++listener->n_groups == listener->fail_after)
        return assay_error_set(error, ASSAY_ERR_IO, NULL, "no more");
    return ASSAY_OK;
}

static void on_start(void *user, const struct assay_group *group)
{
    assert_string_equal(group->op, "relu");
    hear(user, "s");
}

static void on_warn(void *user, const char *text)
{
    struct listener *listener = user;
    snprintf(listener->warning, sizeof listener->warning, "%s", text);
}

static int on_stop(void *user)
{
    const struct listener *listener = user;
    return listener->stop_after && listener->n_groups >= listener->stop_after;
}

static struct assay_run_hooks hooks_of(struct listener *listener)
{
    return (struct assay_run_hooks){.user = listener,
                                    .open = on_open,
                                    .begin = on_begin,
                                    .group = on_group,
                                    .start = on_start,
                                    .warn = on_warn,
                                    .stop = on_stop};
}

static struct assay_plan make_plan(int64_t n_groups)
{
    struct assay_plan plan = {.settings = {.device = "cpu",
                                           .threads = 1,
                                           .hot = true,
                                           .precision = 0.01,
                                           .budget_s = 1,
                                           .timeout_s = 1}};
    for (int64_t i = 0; i < n_groups; i++) {
        struct assay_group group = {.op = "relu",
                                    .dtype = ASSAY_DTYPE_F32,
                                    .n_axes = 3,
                                    .axes = {1, 1, i + 1},
                                    .over_limit = true};
        assert_int_equal(assay_plan_add(&plan, &group), ASSAY_OK);
    }
    return plan;
}

/* From opening to measuring; the caller closes. */
static enum assay_status go(struct assay_run *run)
{
    enum assay_status status = assay_run_open(run, &err);
    return status == ASSAY_OK ? assay_run_measure(run, &err) : status;
}

static void hooks_hear_a_run_in_its_order(void **state)
{
    (void)state;
    struct listener listener = {0};
    struct assay_run_hooks hooks = hooks_of(&listener);
    struct assay_run_request request = {.origin = {.command = "assay bench relu"}};
    struct assay_plan plan = make_plan(3);
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &plan};
    assert_int_equal(assay_run_left(&run), 3);
    assert_int_equal(go(&run), ASSAY_OK);
    assert_string_equal(listener.heard, "osbgsgsg");
    assert_string_equal(listener.info.command, "assay bench relu");
    assert_int_equal(listener.info.groups, 3);
    assert_int_equal(assay_run_left(&run), 0);
    assert_true(run.begun && !run.something_wrong && !run.journal);
    assert_int_equal(assay_run_begin(&run, &err), ASSAY_OK);
    assert_string_equal(listener.heard, "osbgsgsg"); /* once */
    assay_run_close(&run);
    assay_plan_fini(&plan);
    assert_int_equal(count_entries("data"), 0);
}

static void only_the_group_hook_is_needed(void **state)
{
    (void)state;
    struct listener listener = {0};
    struct assay_run_hooks hooks = {.user = &listener, .group = on_group};
    struct assay_run_request request = {0};
    struct assay_plan plan = make_plan(2);
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &plan};
    assert_int_equal(go(&run), ASSAY_OK);
    assert_string_equal(listener.heard, "gg");
    assay_run_close(&run);
    assay_plan_fini(&plan);
}

static void a_failing_hook_ends_the_run(void **state)
{
    (void)state;
    struct listener listener = {.fail_after = 2};
    struct assay_run_hooks hooks = hooks_of(&listener);
    struct assay_run_request request = {.journal = true};
    struct assay_plan plan = make_plan(3);
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &plan};
    assert_int_equal(go(&run), ASSAY_ERR_IO);
    assert_string_equal(err.message, "no more");
    assert_string_equal(listener.heard, "osbgsg");
    assert_int_equal(assay_run_left(&run), 1); /* the second is in the journal */
    assay_run_close(&run);
    assay_plan_fini(&plan);
}

/* Stopped after the first of three groups; its id goes to `id`. */
static void begin_run(char *id, size_t size)
{
    struct listener listener = {.stop_after = 1};
    struct assay_run_hooks hooks = hooks_of(&listener);
    struct assay_run_request request = {.journal = true};
    struct assay_plan plan = make_plan(3);
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &plan};
    assert_int_equal(go(&run), ASSAY_ERR_INTERRUPTED);
    assert_int_equal(assay_run_left(&run), 2);
    snprintf(id, size, "%s", run.info.id);
    assay_run_close(&run);
    assay_plan_fini(&plan);
    err = (struct assay_error){0};
}

static void a_run_is_gone_on_with(void **state)
{
    (void)state;
    char id[32];
    begin_run(id, sizeof id);
    for (int round = 0; round < 2; round++) {
        struct listener listener = {0};
        struct assay_run_hooks hooks = hooks_of(&listener);
        struct assay_run_request request = {.resume = round ? id : "last"};
        struct assay_plan none = {0};
        struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &none};
        assert_int_equal(assay_run_open(&run, &err), ASSAY_OK);
        assert_string_equal(listener.heard, round ? "obggg" : "obg");
        assert_string_equal(run.info.id, id);
        assert_int_equal(run.plan->n_groups, 3);
        assert_int_equal(assay_run_left(&run), round ? 0 : 2);
        assert_int_equal(assay_run_measure(&run, &err), ASSAY_OK);
        assert_string_equal(listener.heard, round ? "obggg" : "obgsgsg");
        assay_run_close(&run);
    }
}

static void a_run_of_ops_is_none_of_models(void **state)
{
    (void)state;
    char id[32];
    begin_run(id, sizeof id);
    struct listener listener = {0};
    struct assay_run_hooks hooks = hooks_of(&listener);
    struct assay_run_request request = {.resume = id, .models = true};
    struct assay_plan none = {0};
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &none};
    assert_int_equal(assay_run_open(&run, &err), ASSAY_ERR_INVALID);
    assert_string_equal(listener.heard, "");
    assay_run_close(&run);
}

static void two_runs_do_not_measure_at_once(void **state)
{
    (void)state;
    struct listener listener = {0};
    struct assay_run_hooks hooks = hooks_of(&listener);
    struct assay_run_request request = {.lock = true};
    struct assay_plan plan = make_plan(1);
    struct assay_run first = {.request = &request, .hooks = &hooks, .plan = &plan}, second = first;
    assert_int_equal(assay_run_open(&first, &err), ASSAY_OK);
    assert_int_equal(assay_run_open(&second, &err), ASSAY_UNSUPPORTED);
    assert_non_null(strstr(err.message, "another run"));
    assay_run_close(&second);
    assay_run_close(&first);
    second = (struct assay_run){.request = &request, .hooks = &hooks, .plan = &plan};
    assert_int_equal(assay_run_open(&second, NULL), ASSAY_OK);
    assay_run_close(&second);
    assert_string_equal(listener.warning, "");
    assay_plan_fini(&plan);
}

static void a_run_without_a_journal_is_warned_of(void **state)
{
    (void)state;
    struct listener listener = {0};
    struct assay_run_hooks hooks = hooks_of(&listener);
    struct assay_run_request request = {.journal = true};
    struct assay_plan plan = make_plan(1);
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = &plan};
    setenv("XDG_DATA_HOME", put_file("file", "in the way"), 1);
    assert_int_equal(go(&run), ASSAY_OK);
    assert_null(run.journal);
    assert_non_null(strstr(listener.warning, "no journal, so this run cannot be resumed: "));
    assay_run_close(&run);
    assay_plan_fini(&plan);
}

static void add_bytes(void *user, const char *bytes, size_t length)
{
    assay_text_append(user, bytes, length);
}

/* The first line of a session's report in JSON lines: the run. */
static assay_json *reported_run(const assay_session *session)
{
    struct assay_text text = {0};
    assert_int_equal(assay_session_report(session, "jsonl", add_bytes, &text, &err), ASSAY_OK);
    const char *end = strchr(text.data, '\n');
    assert_non_null(end);
    assay_json *line = assay_json_parse(text.data, (size_t)(end - text.data), "line", &err);
    assert_non_null(line);
    assay_text_fini(&text);
    return line;
}

static void write_value(const assay_json *object, const char *key, struct assay_text *out)
{
    const assay_json *value = assay_json_get(object, key);
    if (!value)
        fail_msg("%s is missing", key);
    assay_text_format(out, "%s|%.17g|%d", assay_json_string(value, ""),
                      assay_json_double(value, -1), assay_json_bool(value, false));
}

static void a_session_describes_its_run_as_the_command_line_does(void **state)
{
    (void)state;
    static const char *const full[] = {"id",     "version",     "started", "host_os",
                                       "device", "device_name", "isa",     "cpu_name"};
    struct assay_session_options options;
    assay_session *session = NULL;
    assay_session_options_init(&options);
    options.threads = 1;
    options.iters = 7;
    setenv("GITHUB_SHA", "0123abc", 1);
    assert_int_equal(assay_session_open(&options, &session, &err), ASSAY_OK);
    struct assay_plan plan = {.settings = assay_session_find(session, NULL)->settings};
    struct assay_run_info info;
    assay_run_describe(&plan, &(struct assay_run_origin){0}, &info);
    assert_int_equal(assay_run_load_ceiling(&info, &err), ASSAY_OK);
    unsetenv("GITHUB_SHA");
    assay_json *line = reported_run(session), *expected = assay_run_info_to_json(&info);
    const assay_json *run = assay_json_get(line, "run");
    for (size_t i = 0; i < sizeof full / sizeof full[0]; i++)
        assert_true(assay_json_string(assay_json_get(run, full[i]), "")[0]);
    assert_string_equal(assay_json_string(assay_json_get(run, "project_sha"), ""), "0123abc");
    assert_int_equal(assay_json_int(assay_json_get(run, "rounds"), 0), 7);
    assert_int_equal(assay_json_count_keys(run), assay_json_count_keys(expected));
    for (int64_t i = 0; i < assay_json_count_keys(expected); i++) {
        const char *key = assay_json_key_at(expected, i);
        struct assay_text got = {0}, wanted = {0};
        write_value(run, key, &got);
        write_value(expected, key, &wanted);
        if (strcmp(key, "id") != 0 && strcmp(key, "started") != 0)
            assert_string_equal(got.data, wanted.data);
        assay_text_fini(&got);
        assay_text_fini(&wanted);
    }
    assay_json_free(line);
    assay_json_free(expected);
    assay_session_close(session);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, temporary_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hooks_hear_a_run_in_its_order),
        TEST(only_the_group_hook_is_needed),
        TEST(a_failing_hook_ends_the_run),
        TEST(a_run_is_gone_on_with),
        TEST(a_run_of_ops_is_none_of_models),
        TEST(two_runs_do_not_measure_at_once),
        TEST(a_run_without_a_journal_is_warned_of),
        TEST(a_session_describes_its_run_as_the_command_line_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
