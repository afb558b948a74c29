/* group_runner.c: variants that are a stranger's: a process for each, with operands of its own.
 * What becomes of it is the variant's outcome, and nobody else's. */
#include "bench/group_internal.h"

#include "base/alloc.h"
#include "base/clock.h"

enum assay_outcome assay_group_outcome_of(enum assay_runner_end end)
{
    switch (end) {
    case ASSAY_RUNNER_TIMEOUT:
        return ASSAY_OUTCOME_TIMEOUT;
    case ASSAY_RUNNER_NO_MEMORY:
        return ASSAY_OUTCOME_OUT_OF_MEMORY;
    case ASSAY_RUNNER_KILLED:
        return ASSAY_OUTCOME_KILLED;
    case ASSAY_RUNNER_CHEATED:
        return ASSAY_OUTCOME_MISMATCH;
    case ASSAY_RUNNER_ALIVE:
    case ASSAY_RUNNER_CRASHED:
        break;
    }
    return ASSAY_OUTCOME_CRASHED;
}

/* Those that live, and all they started, are spared. */
static void sweep(const struct group *g)
{
    assay_runner *runners[ASSAY_MAX_VARIANTS];
    for (int64_t i = 0; i < g->n_variants; i++)
        runners[i] = g->variants[i].runner;
    assay_strangers_sweep(g->bench->strangers, runners, g->n_variants);
}

bool assay_group_blame_runner(struct group *g, struct variant *v, const char *when)
{
    char reason[256];
    if (!v->runner || assay_runner_end_of(v->runner) == ASSAY_RUNNER_ALIVE)
        return false;
    if (v->ready || v->record.outcome == ASSAY_OUTCOME_OK) {
        snprintf(reason, sizeof reason, "%s%s", assay_runner_reason(v->runner), when);
        group_give_up(v, assay_group_outcome_of(assay_runner_end_of(v->runner)), reason);
        sweep(g);
    }
    return true;
}

static bool beat(void *user)
{
    const struct group *g = user;
    group_step(g, -1);
    return group_stopped(g);
}

/* An author's verify that is timed beside the kernel it verifies. */
static bool is_reference(const struct variant *v)
{
    return strcmp(v->kernel->implementation, ASSAY_WORKLOAD_REFERENCE) == 0;
}

enum assay_status assay_group_launch(struct group *g, struct variant *v, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    struct assay_runner_options options = {.timeout_s = s->timeout_s,
                                           .memory_bytes = s->memory_limit,
                                           .sandbox = s->sandbox,
                                           .mute = is_reference(v),
                                           .beat = beat,
                                           .user = g};
    const char *path = assay_strangers_path(g->bench->strangers, v->kernel);
    return assay_strangers_hire(g->bench->strangers, path ? path : "", &options, &v->runner,
                                &v->opened, err);
}

static enum assay_status open_object(struct group *g, struct variant *v, struct assay_error *err)
{
    const struct assay_settings *s = &g->job->settings;
    const char *path = assay_strangers_path(g->bench->strangers, v->kernel);
    return assay_runner_open(v->runner, path, s->device, s->threads, err);
}

static size_t output_bytes(const struct assay_problem *problem)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < problem->n_outputs; i++)
        bytes += assay_tensor_bytes(&problem->outputs[i]);
    return bytes;
}

static enum assay_status make_operands(struct group *g, struct variant *v, struct assay_error *err)
{
    v->device = NULL;
    v->operands = NULL;
    enum assay_status status =
        assay_remote_device_create(v->runner, g->bench->host.device, &v->device, err);
    if (status == ASSAY_OK)
        status =
            assay_operands_create_like(v->device, g->operands, g->sets_there, &v->operands, err);
    if (status == ASSAY_OK)
        status =
            assay_remote_device_bind(v->device, assay_operands_sets(v->operands), g->sets_there,
                                     g->problem.n_inputs, g->problem.n_outputs, err);
    if (status == ASSAY_OK)
        assay_remote_device_expect(v->device, output_bytes(&g->problem),
                                   assay_workload_is(v->kernel->op));
    return status;
}

/* Of one that did not get as far as to be set up. */
static enum assay_outcome outcome_of_start(enum assay_status status)
{
    return status == ASSAY_ERR_NOMEM     ? ASSAY_OUTCOME_OUT_OF_MEMORY
           : status == ASSAY_UNSUPPORTED ? ASSAY_OUTCOME_UNSUPPORTED
                                         : ASSAY_OUTCOME_FAILED;
}

void assay_group_hire(struct group *g, struct variant *v)
{
    struct assay_error err = {0};
    char reason[256];
    group_step(g, -1);
    enum assay_status status = v->opened ? ASSAY_OK : open_object(g, v, &err);
    if (status != ASSAY_OK) {
        enum assay_runner_end end = assay_runner_end_of(v->runner);
        if (end == ASSAY_RUNNER_TIMEOUT && assay_runner_has_guest(v->runner))
            snprintf(reason, sizeof reason,
                     "importing it took longer than %g s: allow more with --timeout",
                     g->job->settings.timeout_s);
        else
            snprintf(reason, sizeof reason, "%.200s while it was opened", err.message);
        group_give_up(
            v, end == ASSAY_RUNNER_ALIVE ? outcome_of_start(status) : assay_group_outcome_of(end),
            reason);
        return;
    }
    snprintf(v->record.confined, sizeof v->record.confined, "%s", assay_runner_confined(v->runner));
    status = make_operands(g, v, &err);
    group_step(g, -1);
    if (status == ASSAY_OK || assay_group_blame_runner(g, v, ""))
        return;
    group_give_up(v, outcome_of_start(status), err.message);
}

/* What it printed is kept, bounded. */
static void note_printed(struct variant *v)
{
    struct assay_text shown = {0};
    if (v->runner)
        assay_text_add_shown(&shown, assay_runner_printed(v->runner));
    if (shown.data)
        snprintf(v->record.printed, sizeof v->record.printed, "%s", shown.data);
    assay_text_fini(&shown);
}

void assay_group_dismiss(struct group *g)
{
    bool any = false;
    for (int64_t i = 0; i < g->n_variants; i++) {
        struct variant *v = &g->variants[i];
        if (!v->runner)
            continue;
        any = true;
        note_printed(v);
        if (v->device && v->device != g->bench->host.device)
            assay_remote_device_let_go(v->device);
        const char *path = assay_strangers_path(g->bench->strangers, v->kernel);
        if (v->record.outcome == ASSAY_OUTCOME_OK)
            assay_strangers_dismiss(g->bench->strangers, path ? path : "", v->runner);
        else
            assay_runner_stop(v->runner);
        v->runner = NULL;
    }
    if (any)
        sweep(g);
}

/* ---- a kernel's functions, called there ---- */

static void take_down_memory(struct variant *v, const struct assay_runner_reply *reply)
{
    v->memory = reply->memory;
}

/* Only the process that has it set up knows what an interpreter's kernel took to compile. */
static void take_guests_note(struct variant *v)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_NOTE};
    struct assay_runner_reply reply;
    assay_runner_put_problem(&c, v->kernel, &v->problem);
    if (assay_runner_ask(v->runner, &c, &reply, NULL) == ASSAY_OK && reply.text[0])
        snprintf(v->record.note, sizeof v->record.note, "%.127s", reply.text);
}

enum assay_status assay_group_set_up_there(struct group *g, struct variant *v,
                                           struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_SETUP};
    struct assay_runner_reply reply;
    assay_runner_put_problem(&c, v->kernel, &v->problem);
    int64_t start_ns = assay_clock_ns();
    enum assay_status status = assay_runner_ask(v->runner, &c, &reply, err);
    v->record.setup_ns = (double)(assay_clock_ns() - start_ns);
    take_down_memory(v, &reply);
    v->others_threads = reply.threads;
    if (status == ASSAY_OK && assay_runner_has_guest(v->runner))
        take_guests_note(v);
    (void)g;
    return status;
}

enum assay_status assay_group_prepare_there(struct group *g, struct variant *v, int64_t set,
                                            struct assay_error *err)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_PREPARE, .set = set};
    struct assay_runner_reply reply;
    (void)g;
    enum assay_status status = assay_runner_ask(v->runner, &c, &reply, err);
    if (status == ASSAY_OK)
        v->prepared_bytes = (double)reply.bytes;
    if (set == 0)
        take_down_memory(v, &reply);
    return status;
}

void assay_group_tear_down_there(struct group *g, struct variant *v)
{
    struct assay_runner_command c = {.verb = ASSAY_RUNNER_TEARDOWN};
    struct assay_runner_reply reply;
    if (!v->runner || !v->set_up)
        return;
    v->set_up = false;
    assay_runner_ask(v->runner, &c, &reply, NULL);
    assay_group_blame_runner(g, v, " in teardown");
}

void assay_group_refill_there(struct group *g, const struct assay_problem *problem, bool exact)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].runner)
            assay_operands_refill(g->variants[i].operands, problem, exact);
}

void assay_group_change_there(struct group *g, const struct assay_change *changes, int64_t n)
{
    for (int64_t i = 0; i < g->n_variants; i++)
        if (g->variants[i].ready && g->variants[i].runner)
            assay_operands_change(g->variants[i].operands, changes, n);
}
