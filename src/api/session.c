/* session.c: opening and closing sessions, and ops over the engine: a plan of one group after
 * another, in this process. case.c has the cases. */
#include "api/session.h"

#include "base/alloc.h"
#include "base/version.h"
#include "bench/run.h"
#include "config/bench_config.h"
#include "op/op.h"
#include "report/report.h"
#include "tensor/dtype.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Defaults of cases, as KoBench has them. */
enum { WARMUP = 8, ITERS = 32, TIMEOUT_S = 60 };

const char *assay_version(void) { return ASSAY_VERSION; }

uint32_t assay_abi_version(void) { return ASSAY_API_ABI; }

static void ignore(const char *text) { (void)text; }

struct assay_open_session *assay_session_find(const assay_session *handle, struct assay_error *err)
{
    struct assay_open_session *session = assay_handle_find(handle);
    if (!session)
        assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                        handle ? "the session is closed, or is not one" : "the session is NULL");
    return session;
}

enum assay_status assay_struct_read(void *to, size_t known, const void *from, const char *whose,
                                    struct assay_error *err)
{
    enum { LEAST = 16, MOST = 4096 }; /* of a size that somebody set */
    const unsigned char *bytes = from;
    uint32_t size;
    memcpy(&size, from, sizeof size);
    if (size < LEAST || size > MOST)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "%s struct_size is %u: set it to the struct's sizeof", whose, size);
    for (size_t i = known; i < size; i++)
        if (bytes[i] != 0)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "%s struct is of a newer assay than this library, %s, and asks "
                                   "for what this one does not know",
                                   whose, ASSAY_VERSION);
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    return ASSAY_OK;
}

/* The same checks and defaults as the command line's, by way of its own options. */
static enum assay_status settle(const struct assay_session_options *o,
                                struct assay_open_session *session, struct assay_error *err)
{
    struct assay_bench_config config;
    struct assay_plan plan = {0};
    assay_bench_config_init(&config);
    config.measure.strict_device = true;
    config.measure.cache = o->hot == o->cold ? "both" : o->hot ? "hot" : "cold";
    config.measure.device = o->device ? o->device : config.measure.device;
    config.measure.threads = o->threads;
    config.measure.warmup = o->warmup;
    config.measure.rounds = o->iters;
    config.measure.precision = o->precision;
    config.measure.budget_s = o->budget_s > 0 ? o->budget_s : 2;
    config.measure.seed = (int64_t)o->seed;
    config.baseline = o->baseline;
    enum assay_status status = ASSAY_OK;
    if (o->implementations)
        status = assay_strings_split(&config.implementations, o->implementations);
    if (status == ASSAY_OK && o->plugin)
        status = assay_strings_add(&config.measure.plugins, o->plugin);
    if (status != ASSAY_OK)
        assay_error_set(err, status, NULL, "the implementations are not a list of names");
    if (status == ASSAY_OK)
        status = assay_bench_plan(&config, &plan, ignore, err);
    if (status == ASSAY_OK && assay_settings_copy(&plan.settings, &session->settings) != ASSAY_OK)
        status = assay_error_nomem(err);
    assay_plan_fini(&plan);
    assay_bench_config_fini(&config);
    return status;
}

/* Where cases run, and their element type: float16 on a GPU, as the presets have it. */
static enum assay_status settle_device(const struct assay_session_options *o,
                                       struct assay_open_session *session, struct assay_error *err)
{
    enum assay_status status =
        assay_device_parse(session->settings.device, &session->driver, &session->index, err);
    if (status != ASSAY_OK)
        return status;
    bool numbered = session->driver->count;
    snprintf(session->device_name, sizeof session->device_name, numbered ? "%s:%d" : "%s",
             session->driver->name, session->index);
    const char *usual = numbered ? "f16" : "f32";
    return assay_dtype_parse(o->dtype ? o->dtype : usual, &session->dtype, err);
}

static enum assay_status settle_cases(const struct assay_session_options *o,
                                      struct assay_open_session *session, struct assay_error *err)
{
    if (o->isolate && session->driver->upload)
        return assay_error_set(err, ASSAY_ERR_INVALID, session->device_name,
                               "isolate is for the cpu: a GPU does not survive a fork");
    bool by_precision = o->iters == 0 && o->precision > 0;
    session->how = (struct assay_case_settings){
        .warmup = o->warmup ? o->warmup : WARMUP,
        .iters = by_precision ? 0
                 : o->iters   ? o->iters
                              : ITERS,
        .precision = o->precision,
        .budget_ns = (o->budget_s > 0 ? o->budget_s : 2) * 1e9,
        .seed = o->seed,
        .isolate = o->isolate != 0,
        .timeout_s = o->timeout_s > 0 ? o->timeout_s : TIMEOUT_S,
        .between = o->between,
        .user = o->user,
    };
    return ASSAY_OK;
}

static void describe(struct assay_open_session *session)
{
    const struct assay_plan plan = {.settings = session->settings};
    assay_run_describe(&plan, &(struct assay_run_origin){0}, &session->info);
}

static enum assay_status check_options(const struct assay_session_options *o,
                                       struct assay_error *err)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"warmup", (double)o->warmup}, {"iters", (double)o->iters}, {"precision", o->precision},
        {"budget_s", o->budget_s},     {"threads", o->threads},     {"timeout_s", o->timeout_s},
    };
    if (o->abi != 0 && o->abi != ASSAY_API_ABI)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "the program was built for ABI %u of assay.h and this library (%s) "
                               "has ABI %u: build the program with the library's own header",
                               o->abi, ASSAY_VERSION, ASSAY_API_ABI);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!(numbers[i].value >= 0))
            return assay_error_set(err, ASSAY_ERR_INVALID, numbers[i].name,
                                   "must be > 0, or 0 for its default, and is %g",
                                   numbers[i].value);
    return ASSAY_OK;
}

static void destroy(struct assay_open_session *session)
{
    assay_session_memory_close(session);
    for (int64_t i = 0; i < session->n_batches; i++) {
        assay_free(session->batches[i].records);
        assay_free(session->batches[i].results);
    }
    assay_free(session->batches);
    for (int64_t i = 0; i < session->n_cases; i++)
        assay_free(session->cases[i]);
    assay_free(session->cases);
    assay_settings_fini(&session->settings);
    assay_free(session);
}

enum assay_status assay_session_open(const struct assay_session_options *options,
                                     assay_session **out, struct assay_error *err)
{
    /* An older caller's struct is shorter: what it does not know keeps its default. */
    struct assay_session_options known = {0};
    enum assay_status status = ASSAY_OK;
    if (!out)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "nowhere to put the session: NULL");
    *out = NULL;
    if (options)
        status = assay_struct_read(&known, sizeof known, options, "the options'", err);
    if (status == ASSAY_OK)
        status = check_options(&known, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_open_session *session = assay_calloc(1, sizeof *session);
    if (!session)
        return assay_error_nomem(err);
    status = settle(&known, session, err);
    if (status == ASSAY_OK)
        status = settle_device(&known, session, err);
    if (status == ASSAY_OK)
        status = settle_cases(&known, session, err);
    if (status == ASSAY_OK)
        describe(session);
    if (status == ASSAY_OK && !(*out = assay_handle_add(session)))
        status =
            assay_error_set(err, ASSAY_ERR_INVALID, NULL, "too many sessions are open: close some");
    if (status != ASSAY_OK)
        destroy(session);
    return status;
}

void assay_session_close(assay_session *handle)
{
    struct assay_open_session *session = assay_handle_find(handle);
    if (!session || session->running)
        return;
    assay_handle_remove(handle);
    assay_session_end_trace(session, NULL);
    assay_session_end_memory(session, NULL);
    destroy(session);
}

static struct assay_timing_result timing_of(const struct assay_measurement *m)
{
    if (!m->measured)
        return (struct assay_timing_result){0};
    return (struct assay_timing_result){
        .n = m->time.n,
        .median_ns = m->time.median,
        .median_lo_ns = m->time.median_ci.lo,
        .median_hi_ns = m->time.median_ci.hi,
        .mean_ns = m->time.mean,
        .std_ns = m->time.std,
        .min_ns = m->time.min,
        .max_ns = m->time.max,
        .q1_ns = m->time.q1,
        .q3_ns = m->time.q3,
        .speedup = m->has_ratio ? m->ratio.ratio : 0,
        .speedup_lo = m->has_ratio ? m->ratio.ci.lo : 0,
        .speedup_hi = m->has_ratio ? m->ratio.ci.hi : 0,
        .significant = m->has_ratio && m->ratio.significant,
        .bytes_per_s = m->bytes_per_s,
        .flops_per_s = m->flops_per_s,
        .efficiency = m->efficiency,
    };
}

static struct assay_result result_of(const struct assay_record *r)
{
    return (struct assay_result){
        .op = r->op,
        .implementation = r->implementation,
        .kernel = r->kernel,
        .dtype = assay_dtype_name(r->dtype),
        .status = assay_outcome_name(r->outcome),
        .reason = r->reason,
        .max_abs_error = r->verification.max_abs,
        .max_rel_error = r->verification.max_rel,
        .hot = timing_of(&r->states[ASSAY_CACHE_HOT]),
        .cold = timing_of(&r->states[ASSAY_CACHE_COLD]),
    };
}

static enum assay_status keep(void *user, const struct assay_record *records, int64_t n,
                              struct assay_error *err)
{
    struct assay_open_session *session = user;
    struct assay_batch batch = {.n = n};
    struct assay_batch *batches =
        assay_realloc(session->batches, (size_t)session->n_batches + 1, sizeof *batches);
    if (!batches)
        return assay_error_nomem(err);
    session->batches = batches;
    batch.records = assay_calloc((size_t)n, sizeof *batch.records);
    batch.results = assay_calloc((size_t)n, sizeof *batch.results);
    if (!batch.records || !batch.results) {
        assay_free(batch.records);
        assay_free(batch.results);
        return assay_error_nomem(err);
    }
    for (int64_t i = 0; i < n; i++) {
        batch.records[i] = records[i];
        batch.records[i].group = session->n_batches;
        batch.results[i] = result_of(&batch.records[i]);
    }
    batches[session->n_batches++] = batch;
    session->n_results += n;
    return ASSAY_OK;
}

/* Measuring on the cpu pins threads and sets OpenMP's number of them; the caller gets both back. */
struct threads {
    cpu_set_t seats;
    bool known;
    int number, dynamic;
};

static struct threads threads_now(void)
{
    struct threads t = {.number = omp_get_max_threads(), .dynamic = omp_get_dynamic()};
    t.known = sched_getaffinity(0, sizeof t.seats, &t.seats) == 0;
    return t;
}

static void give_threads_back(const struct threads *t)
{
    if (t->known) {
#pragma omp parallel num_threads(omp_get_max_threads()) /* as many as were pinned */
        sched_setaffinity(0, sizeof t->seats, &t->seats);
    }
    omp_set_num_threads(t->number);
    omp_set_dynamic(t->dynamic);
}

/* Records and profiles go different ways. */
struct planned {
    struct assay_open_session *session;
    assay_keep_records *keep;
    void *user;
};

static enum assay_status keep_group(void *user, const struct assay_record *records, int64_t n,
                                    struct assay_error *err)
{
    const struct planned *planned = user;
    return planned->keep(planned->user, records, n, err);
}

static void draw_profile(void *user, const struct assay_group *group,
                         const struct assay_profile *profile, struct assay_profile_files *files)
{
    const struct planned *planned = user;
    (void)group;
    (void)files;
    assay_timeline_add(planned->session->timeline, profile);
}

static void draw_memory(void *user, const struct assay_group *group,
                        const struct assay_memory_profile *profile,
                        struct assay_profile_files *files)
{
    const struct planned *planned = user;
    (void)group;
    (void)files;
    assay_memory_file_add(planned->session->memory_file, profile);
}

enum assay_status assay_session_run_plan(struct assay_open_session *session,
                                         const struct assay_plan *plan,
                                         assay_keep_records *keep_them, void *user,
                                         struct assay_error *err)
{
    struct planned planned = {session, keep_them, user};
    bool profile = session->timeline != NULL, memory = session->memory_file != NULL;
    const struct assay_run_request request = {.profile = profile, .profile_memory = memory};
    const struct assay_run_hooks hooks = {.user = &planned,
                                          .group = keep_group,
                                          .profile = profile ? draw_profile : NULL,
                                          .memory = memory ? draw_memory : NULL};
    struct assay_run run = {.request = &request, .hooks = &hooks, .plan = plan};
    struct threads before = threads_now();
    enum assay_status status = assay_run_open(&run, err);
    if (status == ASSAY_OK)
        status = assay_run_measure(&run, err);
    assay_run_close(&run);
    give_threads_back(&before);
    return status;
}

enum assay_status assay_session_measure(assay_session *handle, const char *op, const int64_t *axes,
                                        int32_t n_axes, struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    const struct assay_op *found = NULL;
    int64_t n = 0;
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!op || !axes || session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               session->running ? "the session is measuring a case"
                                                : "no op, or no axes: NULL");
    enum assay_status status = assay_op_resolve(op, &found, 1, &n, err);
    if (status == ASSAY_OK)
        status = assay_session_memory_rest(session, err);
    if (status != ASSAY_OK)
        return status;
    if (n_axes != assay_op_axes(found))
        return assay_error_set(err, ASSAY_ERR_INVALID, found->name, "has %d axes, not %d",
                               assay_op_axes(found), n_axes);
    struct assay_problem problem;
    status = assay_op_problem(found, session->dtype, NULL, axes, 1, &problem, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_group group = {.dtype = session->dtype, .n_axes = n_axes};
    snprintf(group.op, sizeof group.op, "%s", found->name);
    memcpy(group.axes, axes, (size_t)n_axes * sizeof *axes);
    struct assay_plan plan = {.settings = session->settings, .groups = &group, .n_groups = 1};
    return assay_session_run_plan(session, &plan, keep, session, err);
}

int64_t assay_session_count(const assay_session *handle)
{
    const struct assay_open_session *session = assay_handle_find(handle);
    return session ? session->n_results : 0;
}

const struct assay_result *assay_session_result(const assay_session *handle, int64_t index)
{
    const struct assay_open_session *session = assay_handle_find(handle);
    for (int64_t i = 0; session && i < session->n_batches; i++) {
        if (index < session->batches[i].n)
            return index >= 0 ? &session->batches[i].results[index] : NULL;
        index -= session->batches[i].n;
    }
    return NULL;
}

enum assay_status assay_session_report(const assay_session *handle, const char *format,
                                       assay_write_fn write, void *user, struct assay_error *err)
{
    const struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!format || !write)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "no format, or nowhere to write");
    const struct assay_report_format *found;
    bool incomplete = false;
    struct assay_sink sink = {user, write, &incomplete};
    struct assay_report_style style = {.width = 100};
    struct assay_run_info info = session->info;
    info.groups = session->n_batches;
    enum assay_status status = assay_report_find(format, &found, err);
    if (status == ASSAY_OK)
        status = assay_run_load_ceiling(&info, err);
    if (status != ASSAY_OK)
        return status;
    assay_report *report = assay_report_create(found, &sink, &style);
    if (!report)
        return assay_error_nomem(err);
    assay_report_begin(report, &info);
    for (int64_t i = 0; i < session->n_batches; i++)
        assay_report_group(report, session->batches[i].records, session->batches[i].n);
    assay_report_end(report);
    assay_report_destroy(report);
    return incomplete ? assay_error_nomem(err) : ASSAY_OK;
}
