/* case_result.c: what callers read of a case. */
#include "api/case.h"

#include "base/alloc.h"
#include "tensor/dtype.h"

#include <math.h>
#include <string.h>

static const double MB = 1024.0 * 1024;

static size_t length_of(const char *text) { return text ? strlen(text) + 1 : 0; }

static const char *copy_text(const char *text, char **rest)
{
    if (!text)
        return NULL;
    char *copy = *rest;
    size_t bytes = length_of(text);
    memcpy(copy, text, bytes);
    *rest += bytes;
    return copy;
}

static void know_nothing(struct assay_case_result *r)
{
    double *const figures[] = {
        &r->latency_ms, &r->latency_std_ms, &r->idle_vram_mb, &r->peak_vram_mb,
        &r->median_ms,  &r->median_lo_ms,   &r->median_hi_ms, &r->workspace_vram_mb,
        &r->q1_ms,      &r->q3_ms,          &r->min_ms,       &r->max_ms,
        &r->macs,       &r->macs_rate,      &r->flops,        &r->flops_rate,
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        *figures[i] = (double)NAN;
}

/* One allocation: the result, its metadata, `rounds` samples, then the texts. */
static struct assay_case_result *create(const char *name, const struct assay_metadata *metadata,
                                        int32_t n_metadata, const char *reason, int64_t rounds)
{
    size_t texts = length_of(name) + length_of(reason);
    for (int32_t i = 0; i < n_metadata; i++)
        texts += length_of(metadata[i].key) + length_of(metadata[i].text);
    size_t rows = (size_t)n_metadata * sizeof *metadata;
    size_t samples = (size_t)rounds * sizeof(double);
    char *block = assay_calloc(1, sizeof(struct assay_case_result) + rows + samples + texts);
    if (!block)
        return NULL;
    struct assay_case_result *r = (struct assay_case_result *)block;
    struct assay_metadata *copies =
        (struct assay_metadata *)(block + sizeof(struct assay_case_result));
    char *rest = (char *)copies + rows + samples;
    r->rounds = rounds;
    r->sample_ms = rounds ? (const double *)((char *)copies + rows) : NULL;
    know_nothing(r);
    r->name = copy_text(name, &rest);
    r->reason = copy_text(reason, &rest);
    r->metadata = n_metadata ? copies : NULL;
    r->n_metadata = n_metadata;
    for (int32_t i = 0; i < n_metadata; i++)
        copies[i] = (struct assay_metadata){.key = copy_text(metadata[i].key, &rest),
                                            .number = metadata[i].number,
                                            .text = copy_text(metadata[i].text, &rest)};
    return r;
}

struct assay_case_result *assay_case_result_create(const char *name,
                                                   const struct assay_metadata *metadata,
                                                   int32_t n_metadata, const char *reason)
{
    return create(name, metadata, n_metadata, reason, 0);
}

static void set_samples(struct assay_case_result *r, const struct assay_case_figures *a)
{
    double *samples = (double *)((char *)(r + 1) + (size_t)r->n_metadata * sizeof *r->metadata);
    for (int64_t i = 0; i < a->rounds; i++)
        samples[i] = a->sample_ns[i] / 1e6;
}

static void set_times(struct assay_case_result *r, const struct assay_case_figures *a)
{
    const struct assay_summary *t = &a->time;
    double per_s = t->mean > 0 ? 1e9 / t->mean : (double)NAN;
    r->samples = a->samples;
    r->iters = a->samples * a->calls;
    r->warmup = a->warmup;
    r->latency_ms = t->mean / 1e6;
    r->latency_std_ms = t->std / 1e6;
    r->median_ms = t->median / 1e6;
    r->median_lo_ms = t->median_ci.lo / 1e6;
    r->median_hi_ms = t->median_ci.hi / 1e6;
    r->q1_ms = t->q1 / 1e6;
    r->q3_ms = t->q3 / 1e6;
    r->min_ms = t->min / 1e6;
    r->max_ms = t->max / 1e6;
    r->macs_rate = r->macs * per_s;
    r->flops_rate = r->flops * per_s;
    if (!a->has_ratio || a->ratio.n == 0)
        return;
    r->speedup = a->ratio.ratio;
    r->speedup_lo = a->ratio.ci.lo;
    r->speedup_hi = a->ratio.ci.hi;
    r->significant = a->ratio.significant;
}

struct assay_case_result *assay_case_result_from(const struct assay_open_session *session,
                                                 const struct assay_case *self,
                                                 const struct assay_case_figures *a)
{
    struct assay_case_result *r =
        create(self->name, self->metadata, self->n_metadata, a->reason, a->rounds);
    if (!r)
        return NULL;
    r->status = assay_outcome_name(a->outcome);
    r->device = session->device_name;
    r->dtype = assay_dtype_info(session->dtype)->aliases[1]; /* "float32", as PyTorch has it */
    if (a->outcome != ASSAY_OUTCOME_OK)
        return r;
    r->macs = a->macs;
    r->flops = a->flops;
    r->idle_vram_mb = (double)a->idle_bytes / MB;
    r->workspace_vram_mb = (double)a->workspace_bytes / MB;
    r->peak_vram_mb = (double)(a->idle_bytes + a->workspace_bytes) / MB;
    set_times(r, a);
    set_samples(r, a);
    return r;
}

enum assay_status assay_session_keep_case(struct assay_open_session *session,
                                          struct assay_case_result *result, struct assay_error *err)
{
    struct assay_case_result **cases = NULL;
    if (result)
        cases = assay_realloc(session->cases, (size_t)session->n_cases + 1, sizeof(void *));
    if (!cases) {
        assay_free(result);
        return assay_error_nomem(err);
    }
    session->cases = cases;
    cases[session->n_cases++] = result;
    return ASSAY_OK;
}

int64_t assay_session_case_count(const assay_session *handle)
{
    const struct assay_open_session *session = assay_session_find(handle, NULL);
    return session ? session->n_cases : 0;
}

const struct assay_case_result *assay_session_case(const assay_session *handle, int64_t index)
{
    const struct assay_open_session *session = assay_session_find(handle, NULL);
    return session && index >= 0 && index < session->n_cases ? session->cases[index] : NULL;
}
