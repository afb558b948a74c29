/* session.c: assay.h over the engine: a plan of one group after another, in this process. */
#include <assay/assay.h>

#include "base/alloc.h"
#include "base/version.h"
#include "bench/supervisor.h"
#include "config/bench_config.h"
#include "report/report.h"
#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

/* One measured group. */
struct batch {
    struct assay_record *records;
    struct assay_result *results;
    int64_t n;
};

struct assay_session {
    struct assay_settings settings;
    enum assay_dtype dtype;
    struct batch *batches;
    int64_t n_batches, n_results;
};

const char *assay_version(void) { return ASSAY_VERSION; }

static enum assay_status no_memory(struct assay_error *err)
{
    return assay_error_set(err, ASSAY_ERR_NOMEM, NULL, "out of memory");
}

static void ignore(const char *text) { (void)text; }

/* The same checks and defaults as the command line's, by way of its own options. */
static enum assay_status settle(const struct assay_session_options *o, assay_session *session,
                                struct assay_error *err)
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
        status = assay_dtype_parse(o->dtype ? o->dtype : "f32", &session->dtype, err);
    if (status == ASSAY_OK)
        status = assay_bench_plan(&config, &plan, ignore, err);
    if (status == ASSAY_OK && assay_settings_copy(&plan.settings, &session->settings) != ASSAY_OK)
        status = no_memory(err);
    assay_plan_fini(&plan);
    assay_bench_config_fini(&config);
    return status;
}

enum assay_status assay_session_open(const struct assay_session_options *options,
                                     assay_session **out, struct assay_error *err)
{
    /* An older caller's struct is shorter: what it does not know keeps its default. */
    struct assay_session_options known = {0};
    if (options && options->struct_size < sizeof options->struct_size)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "the options' struct_size is not set");
    if (options)
        memcpy(&known, options,
               options->struct_size < sizeof known ? options->struct_size : sizeof known);
    *out = NULL;
    assay_session *session = assay_calloc(1, sizeof *session);
    if (!session)
        return no_memory(err);
    enum assay_status status = settle(&known, session, err);
    if (status != ASSAY_OK) {
        assay_session_close(session);
        return status;
    }
    *out = session;
    return ASSAY_OK;
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

static enum assay_status keep(void *user, int64_t group, const struct assay_record *records,
                              int64_t n, struct assay_error *err)
{
    (void)group;
    assay_session *session = user;
    struct batch batch = {.n = n};
    struct batch *batches =
        assay_realloc(session->batches, (size_t)session->n_batches + 1, sizeof *batches);
    if (!batches)
        return no_memory(err);
    session->batches = batches;
    batch.records = assay_calloc((size_t)n, sizeof *batch.records);
    batch.results = assay_calloc((size_t)n, sizeof *batch.results);
    if (!batch.records || !batch.results) {
        assay_free(batch.records);
        assay_free(batch.results);
        return no_memory(err);
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

static void note(void *user, const char *text) { (void)user, (void)text; }

enum assay_status assay_session_measure(assay_session *session, const char *op, const int64_t *axes,
                                        int32_t n_axes, struct assay_error *err)
{
    const struct assay_op *found = NULL;
    int64_t n = 0;
    enum assay_status status = assay_op_resolve(op, &found, 1, &n, err);
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
    struct assay_supervisor_options options = {.user = session, .note = note, .group = keep};
    return assay_supervise(&plan, &options, err);
}

int64_t assay_session_count(const assay_session *session) { return session->n_results; }

const struct assay_result *assay_session_result(const assay_session *session, int64_t index)
{
    for (int64_t i = 0; i < session->n_batches; i++) {
        if (index < session->batches[i].n)
            return index >= 0 ? &session->batches[i].results[index] : NULL;
        index -= session->batches[i].n;
    }
    return NULL;
}

enum assay_status assay_session_report(const assay_session *session, const char *format,
                                       void (*write)(void *user, const char *bytes, size_t length),
                                       void *user, struct assay_error *err)
{
    const struct assay_report_format *found;
    struct assay_sink sink = {user, write};
    struct assay_report_style style = {.width = 100};
    struct assay_run_info info = {.threads = session->settings.threads,
                                  .hot = session->settings.hot,
                                  .cold = session->settings.cold,
                                  .precision = session->settings.precision,
                                  .groups = session->n_batches};
    enum assay_status status = assay_report_find(format, &found, err);
    if (status != ASSAY_OK)
        return status;
    assay_report *report = assay_report_create(found, &sink, &style);
    if (!report)
        return no_memory(err);
    snprintf(info.version, sizeof info.version, "%s", ASSAY_VERSION);
    snprintf(info.device, sizeof info.device, "%s", session->settings.device);
    assay_report_begin(report, &info);
    for (int64_t i = 0; i < session->n_batches; i++)
        assay_report_group(report, session->batches[i].records, session->batches[i].n);
    assay_report_end(report);
    assay_report_destroy(report);
    return ASSAY_OK;
}

void assay_session_close(assay_session *session)
{
    if (!session)
        return;
    for (int64_t i = 0; i < session->n_batches; i++) {
        assay_free(session->batches[i].records);
        assay_free(session->batches[i].results);
    }
    assay_free(session->batches);
    assay_settings_fini(&session->settings);
    assay_free(session);
}
