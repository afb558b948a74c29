/* session_preset.c: presets as cases of a session: the plan of `assay preset`, measured in this
 * process, its records turned into results. */
#include "api/case.h"

#include "config/preset_plan.h"
#include "report/report_kobench.h"
#include "report/report_pairs.h"
#include "tensor/dtype.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void ignore(const char *text) { (void)text; }

/* ---- results -------------------------------------------------------------------------------- */

static size_t bytes_of(double bytes) { return bytes > 0 ? (size_t)bytes : 0; }

/* Whose results they become, and how often the plan warms up. */
struct keeper {
    struct assay_open_session *session;
    int64_t warmup;
};

/* What case_result.c takes; records that are not ok, or have no times, say why. */
static void figures_of(const struct keeper *keeper, const struct assay_record *record,
                       struct assay_case_figures *out)
{
    const struct assay_measurement *m = assay_pair_figures(record);
    *out = (struct assay_case_figures){
        .outcome = record->outcome,
        .idle_bytes = bytes_of(record->idle_bytes),
        .workspace_bytes = bytes_of(record->peak_bytes - record->idle_bytes),
        .macs = record->macs,
        .flops = record->counted_flops,
    };
    snprintf(out->reason, sizeof out->reason, "%s", record->reason);
    if (record->outcome == ASSAY_OUTCOME_OK && !m)
        out->outcome = ASSAY_OUTCOME_FAILED;
    if (!m)
        return;
    out->samples = m->time.n;
    out->calls = m->iters;
    out->warmup = keeper->warmup;
    out->time = m->time;
}

static enum assay_status keep_record(const struct keeper *keeper, const struct assay_record *record,
                                     struct assay_error *err)
{
    struct assay_kobench_parameter known[ASSAY_KOBENCH_PARAMETERS];
    struct assay_metadata parameters[ASSAY_KOBENCH_PARAMETERS] = {0};
    struct assay_case_figures figures;
    int32_t n = assay_kobench_parameters(record, known);
    struct assay_cell name = assay_kobench_name(record, record->implementation);
    for (int32_t i = 0; i < n; i++)
        parameters[i] = (struct assay_metadata){
            .key = known[i].key, .number = known[i].number, .text = known[i].text};
    struct assay_case self = {.name = name.text, .metadata = parameters, .n_metadata = n};
    figures_of(keeper, record, &figures);
    struct assay_case_result *result = assay_case_result_from(keeper->session, &self, &figures);
    if (result &&
        figures.outcome == ASSAY_OUTCOME_OK) /* scratch memory alone, without the output */
        result->workspace_vram_mb = record->workspace_bytes / (1 << 20);
    return assay_session_keep_case(keeper->session, result, err);
}

static enum assay_status keep(void *user, const struct assay_record *records, int64_t n,
                              struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < n && status == ASSAY_OK; i++)
        status = keep_record(user, &records[i], err);
    return status;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* The case of this name, and its preset; NULL: there is none. */
static const struct assay_preset_case *case_named(const char *name,
                                                  const struct assay_preset **preset)
{
    for (int64_t i = 0; i < assay_preset_count(); i++)
        for (const struct assay_preset_case *c = assay_preset_at(i)->cases; c->name; c++)
            if (assay_text_same(c->name, name)) {
                *preset = assay_preset_at(i);
                return c;
            }
    return NULL;
}

/* Is this one of the names that the case has? */
static bool is_of_case(const struct assay_preset_case *c, const char *entry)
{
    int64_t choice = c->names ? assay_preset_case_parameter(c, c->choice) : 0;
    for (int64_t i = 0; c->names && c->words[choice][i]; i++)
        if (assay_text_same(c->names[i], entry))
            return true;
    return assay_text_same(c->name, entry);
}

/* The options of the command line that say what the session says. */
static enum assay_status make_options(const struct assay_open_session *session, const char *name,
                                      const char *const *settings, int32_t n,
                                      struct assay_preset_options *out)
{
    const struct assay_settings *s = &session->settings;
    assay_preset_options_init(out);
    out->measure.device = s->device;
    out->measure.strict_device = true;
    out->measure.cache = s->cold && !s->hot ? "cold" : "hot";
    out->measure.threads = s->threads;
    out->measure.warmup = s->warmup;
    out->measure.rounds = s->rounds;
    out->measure.precision = s->precision;
    out->measure.budget_s = s->budget_s;
    out->measure.seed = (int64_t)s->seed;
    enum assay_status status = assay_strings_add(&out->words, name);
    if (status == ASSAY_OK)
        status = assay_strings_add(&out->dtypes, assay_dtype_name(session->dtype));
    for (int32_t i = 0; i < n && status == ASSAY_OK; i++)
        status = assay_strings_add(&out->sets, settings[i] ? settings[i] : "");
    return status;
}

/* Leaves out the groups of other cases. */
static void keep_case_only(struct assay_plan *plan, const struct assay_preset_case *c)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < plan->n_groups; i++)
        if (is_of_case(c, plan->groups[i].entry))
            plan->groups[kept++] = plan->groups[i];
    plan->n_groups = kept;
}

static enum assay_status make_plan(const struct assay_open_session *session, const char *name,
                                   const char *const *settings, int32_t n, struct assay_plan *plan,
                                   struct assay_error *err)
{
    struct assay_preset_options options;
    struct assay_preset_choice choice = {0};
    const struct assay_preset *preset = NULL;
    const struct assay_preset_case *c = case_named(name, &preset);
    enum assay_status status =
        make_options(session, preset ? preset->name : name, settings, n, &options);
    if (status != ASSAY_OK)
        assay_error_set(err, status, NULL, "out of memory");
    if (status == ASSAY_OK)
        status = assay_preset_choose(&options, &choice, err);
    if (status == ASSAY_OK)
        status = assay_preset_plan(&options, &choice, plan, ignore, err);
    if (status == ASSAY_OK && c)
        keep_case_only(plan, c);
    assay_preset_choice_fini(&choice);
    assay_preset_options_fini(&options);
    return status;
}

/* What is unsupported or does not fit is a result like any other. */
static enum assay_status first_failure(const struct assay_open_session *session, int64_t from,
                                       struct assay_error *err)
{
    for (int64_t i = from; i < session->n_cases; i++) {
        const struct assay_case_result *r = session->cases[i];
        if (!assay_outcome_is_fine(assay_outcome_parse(r->status)))
            return assay_error_set(err, ASSAY_ERR_FAILED, r->name, "%s%s%s", r->status,
                                   r->reason[0] ? ": " : "", r->reason);
    }
    return ASSAY_OK;
}

enum assay_status assay_session_run_preset(assay_session *handle, const char *preset_or_case,
                                           const char *const *settings, int32_t n,
                                           struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    struct assay_plan plan = {0};
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!preset_or_case || n < 0 || (n > 0 && !settings) || session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               session->running ? "the session is measuring a case"
                                                : "no preset, or no settings: NULL");
    int64_t before = session->n_cases;
    enum assay_status status = make_plan(session, preset_or_case, settings, n, &plan, err);
    struct keeper keeper = {session, plan.settings.warmup};
    if (status == ASSAY_OK)
        status = assay_session_memory_rest(session, err);
    if (status == ASSAY_OK)
        status = assay_session_run_plan(session, &plan, keep, &keeper, err);
    assay_plan_fini(&plan);
    return status == ASSAY_OK ? first_failure(session, before, err) : status;
}
