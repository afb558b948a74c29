/* test_supervisor.c: what a supervisor makes of a worker that ends at a chosen moment. The worker
 * is this program itself, which sends messages as one does. */
#include "bench/child.h"
#include "bench/supervisor.h"
#include "bench/wire.h"
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the worker ---- */

static void send(struct assay_wire *events, assay_json *message)
{
    if (assay_wire_send(events, message, NULL) != ASSAY_OK)
        _exit(3);
}

static bool next_job(struct assay_wire *jobs, struct assay_job *out)
{
    size_t length;
    const char *line;
    char why[400];
    assay_json *json = NULL;
    while (!(line = assay_wire_line(jobs, &length)))
        if (!assay_wire_fill(jobs))
            return false;
    if (assay_wire_read(jobs, line, length, &json, why, sizeof why) != ASSAY_WIRE_MESSAGE ||
        assay_job_from_json(json, out, NULL) != ASSAY_OK)
        _exit(3);
    assay_json_free(json);
    return true;
}

static void send_record(struct assay_wire *events, const struct assay_job *job,
                        const struct assay_kernel *kernel)
{
    struct assay_record record;
    assay_group_record(job, NULL, 0, kernel->name, kernel->implementation, "", &record);
    send(events, assay_event_of_record(&record));
}

static void send_profile(struct assay_wire *events, int64_t group)
{
    struct assay_profile profile = {.group = group};
    snprintf(profile.title, sizeof profile.title, "a profile");
    send(events, assay_event_of_profile(&profile));
}

static void send_memory(struct assay_wire *events, int64_t group)
{
    struct assay_memory_profile profile = {.group = group};
    snprintf(profile.title, sizeof profile.title, "what it holds");
    send(events, assay_event_of_memory(&profile));
}

/* One job: measured, and then what $MOMENT says. */
static void answer(const struct assay_job *job, struct assay_wire *events,
                   struct assay_watch *watch)
{
    const char *moment = getenv("MOMENT");
    assay_kernel_registry *registry = assay_kernel_registry_create();
    struct assay_contender contender = {.kernel = assay_kernel_at(registry, 0)};
    bool again = job->exclude.n > 0;
    send(events, assay_event_contenders(&contender, again ? 0 : 1));
    assay_watch_step(watch, 0);
    if (!again) {
        send_record(events, job, contender.kernel);
        if (strcmp(moment, "before") == 0)
            raise(SIGSEGV);
        send(events, assay_event_measured(job->group_index, 1));
        if (strcmp(moment, "profiled") == 0)
            raise(SIGSEGV);
        if (job->profile)
            send_profile(events, job->group_index);
        if (strcmp(moment, "remembered") == 0)
            raise(SIGSEGV);
        if (job->profile_memory)
            send_memory(events, job->group_index);
    }
    send(events, assay_event_done(job->group_index, again ? 0 : 1));
    assay_kernel_registry_destroy(registry);
}

static int be_worker(char **argv)
{
    struct assay_wire jobs = {.fd = atoi(argv[2])}, events = {.fd = atoi(argv[3])};
    struct assay_watch *watch =
        mmap(NULL, sizeof *watch, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[4]), 0);
    struct assay_job job;
    signal(SIGSEGV, SIG_DFL);
    while (watch != MAP_FAILED && next_job(&jobs, &job)) {
        answer(&job, &events, watch);
        assay_job_fini(&job);
    }
    return 0;
}

/* ---- the supervisor ---- */

struct heard {
    int64_t records, profiles, memories;
    enum assay_outcome outcome;
    char note[600], path[ASSAY_PROFILE_PATH], stats[256];
};

static void on_note(void *user, const char *text)
{
    struct heard *heard = user;
    snprintf(heard->note, sizeof heard->note, "%s", text);
}

static enum assay_status on_group(void *user, int64_t group, const struct assay_record *records,
                                  int64_t n, struct assay_error *err)
{
    (void)group;
    (void)err;
    struct heard *heard = user;
    heard->records += n;
    heard->outcome = records[0].outcome;
    snprintf(heard->path, sizeof heard->path, "%s", records[0].files.trace);
    snprintf(heard->stats, sizeof heard->stats, "%s", records[0].files.memory_stats);
    return ASSAY_OK;
}

static void on_profile(void *user, const struct assay_group *group,
                       const struct assay_profile *profile, struct assay_profile_files *files)
{
    struct heard *heard = user;
    assert_string_equal(group->op, "relu");
    assert_string_equal(profile->title, "a profile");
    heard->profiles++;
    snprintf(files->trace, sizeof files->trace, "trace.json");
}

static void on_memory(void *user, const struct assay_group *group,
                      const struct assay_memory_profile *profile, struct assay_profile_files *files)
{
    struct heard *heard = user;
    assert_string_equal(group->op, "relu");
    assert_string_equal(profile->title, "what it holds");
    heard->memories++;
    snprintf(files->memory_stats, sizeof files->memory_stats, "much");
}

static struct heard supervise(const char *moment, bool all, const char *profilers)
{
    struct heard heard = {0};
    struct assay_error err = {0};
    struct assay_group group = {.dtype = ASSAY_DTYPE_F32, .n_axes = 3, .axes = {1, 2, 3}};
    struct assay_supervisor_options options = {.program = "/proc/self/exe",
                                               .user = &heard,
                                               .note = on_note,
                                               .group = on_group,
                                               .profile = on_profile,
                                               .profile_all = all,
                                               .memory = on_memory,
                                               .memory_all = all};
    snprintf(group.op, sizeof group.op, "relu");
    snprintf(group.profilers, sizeof group.profilers, "%s", profilers);
    struct assay_plan plan = {.settings = {.threads = 1,
                                           .hot = true,
                                           .precision = 0.01,
                                           .budget_s = 1,
                                           .timeout_s = 30,
                                           .device = "cpu"},
                              .groups = &group,
                              .n_groups = 1};
    setenv("MOMENT", moment, 1);
    enum assay_status status = assay_supervise(&plan, &options, &err);
    if (status != ASSAY_OK)
        print_message("%s\n", err.message);
    assert_int_equal(status, ASSAY_OK);
    return heard;
}

/* Its records had all come: they stay as they are, and the profile is what is missing. */
static void a_crash_while_profiled_costs_no_figure(void **state)
{
    (void)state;
    struct heard heard = supervise("profiled", true, "");
    assert_int_equal(heard.records, 1);
    assert_int_equal(heard.outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(heard.profiles, 0);
    assert_non_null(strstr(heard.note, "SIGSEGV while it was profiled"));
    assert_non_null(strstr(heard.note, "figures stay"));
}

/* Nor does one in the memory pass, and what came before it is there. */
static void a_crash_in_the_memory_pass_costs_no_figure(void **state)
{
    (void)state;
    struct heard heard = supervise("remembered", true, "");
    assert_int_equal(heard.outcome, ASSAY_OUTCOME_OK);
    assert_int_equal(heard.profiles, 1);
    assert_string_equal(heard.path, "trace.json");
    assert_int_equal(heard.memories, 0);
    assert_string_equal(heard.stats, "");
    assert_non_null(strstr(heard.note, "figures stay"));
}

/* The same a moment earlier is the variant's own end. */
static void a_crash_before_that_is_the_variants(void **state)
{
    (void)state;
    struct heard heard = supervise("before", true, "");
    assert_int_equal(heard.records, 1);
    assert_int_equal(heard.outcome, ASSAY_OUTCOME_CRASHED);
}

static void profiles_are_handed_over_with_their_path(void **state)
{
    (void)state;
    struct heard heard = supervise("never", true, "");
    assert_int_equal(heard.profiles, 1);
    assert_string_equal(heard.path, "trace.json");
    assert_int_equal(heard.memories, 1);
    assert_string_equal(heard.stats, "much");
    assert_string_equal(heard.note, "");
}

static void a_group_may_ask_for_its_own(void **state)
{
    (void)state;
    assert_int_equal(supervise("never", false, "").profiles, 0);
    assert_int_equal(supervise("never", false, "memory").profiles, 0);
    assert_int_equal(supervise("never", false, "profiler").profiles, 1);
    assert_int_equal(supervise("never", false, "both").profiles, 1);
    assert_int_equal(supervise("never", false, "").memories, 0);
    assert_int_equal(supervise("never", false, "memory").memories, 1);
    assert_int_equal(supervise("never", false, "profiler").memories, 0);
    assert_int_equal(supervise("never", false, "both").memories, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_while_profiled_costs_no_figure),
        cmocka_unit_test(a_crash_in_the_memory_pass_costs_no_figure),
        cmocka_unit_test(a_crash_before_that_is_the_variants),
        cmocka_unit_test(profiles_are_handed_over_with_their_path),
        cmocka_unit_test(a_group_may_ask_for_its_own),
    };
    if (argc > 4 && strcmp(argv[1], ASSAY_CHILD_COMMAND) == 0)
        return be_worker(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
