/* case.c: what a caller says of its cases, checked; then measured, and kept. */
#include "api/case.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static const uint32_t KNOWN_FLAGS = ASSAY_CASE_GRAPH | ASSAY_CASE_UNGUARDED | ASSAY_CASE_COLD;

double assay_case_number(const struct assay_case *self, const char *key, double otherwise)
{
    for (int32_t i = 0; self && key && i < self->n_metadata; i++)
        if (strcmp(self->metadata[i].key, key) == 0 && !self->metadata[i].text)
            return self->metadata[i].number;
    return otherwise;
}

const char *assay_case_text(const struct assay_case *self, const char *key, const char *otherwise)
{
    for (int32_t i = 0; self && key && i < self->n_metadata; i++)
        if (strcmp(self->metadata[i].key, key) == 0 && self->metadata[i].text)
            return self->metadata[i].text;
    return otherwise;
}

static enum assay_status check_metadata(const struct assay_case *c, struct assay_error *err)
{
    if (c->n_metadata < 0 || (c->n_metadata > 0 && !c->metadata))
        return assay_error_set(err, ASSAY_ERR_INVALID, c->name,
                               "has %d metadata, and %s array of them", c->n_metadata,
                               c->metadata ? "an" : "no");
    for (int32_t i = 0; i < c->n_metadata; i++)
        if (!c->metadata[i].key)
            return assay_error_set(err, ASSAY_ERR_INVALID, c->name, "metadata %d has no key", i);
    return ASSAY_OK;
}

static enum assay_status check(const struct assay_case *c, int32_t index, struct assay_error *err)
{
    if (!c->name || !c->name[0])
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "case %d has no name", index);
    if (!c->run)
        return assay_error_set(err, ASSAY_ERR_INVALID, c->name, "the case has no function to run");
    if (c->flags & ~KNOWN_FLAGS)
        return assay_error_set(err, ASSAY_ERR_INVALID, c->name, "unknown flags 0x%x",
                               (unsigned)(c->flags & ~KNOWN_FLAGS));
    return check_metadata(c, err);
}

/* The caller's array has structs of the size its header knew. */
static enum assay_status read_cases(const struct assay_case *given, int32_t n,
                                    struct assay_case *out, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    const char *at = (const char *)given;
    for (int32_t i = 0; i < n && status == ASSAY_OK; i++) {
        uint32_t size; /* which may be nonsense, and the next one's address with it */
        memcpy(&size, at, sizeof size);
        if (size != given->struct_size)
            return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                                   "case %d: struct_size is %u, the first one's is %u", i, size,
                                   given->struct_size);
        status = assay_struct_read(&out[i], sizeof *out, at, "the case's", err);
        if (status == ASSAY_OK)
            status = check(&out[i], i, err);
        at += given->struct_size;
    }
    return status;
}

static enum assay_status keep_all(struct assay_open_session *session,
                                  const struct assay_case *cases, int32_t n,
                                  const struct assay_case_figures *figures, struct assay_error *err)
{
    enum assay_status status = ASSAY_OK;
    for (int32_t i = 0; i < n && status == ASSAY_OK; i++)
        status = assay_session_keep_case(
            session, assay_case_result_from(session, &cases[i], &figures[i]), err);
    for (int32_t i = 0; i < n && status == ASSAY_OK; i++)
        if (figures[i].outcome != ASSAY_OUTCOME_OK)
            status = assay_error_set(err, ASSAY_ERR_FAILED, cases[i].name, "%s: %s",
                                     assay_outcome_name(figures[i].outcome), figures[i].reason);
    return status;
}

static enum assay_status measure_all(struct assay_open_session *session,
                                     const struct assay_case *given, int32_t n,
                                     struct assay_case *cases, struct assay_case_figures *figures,
                                     struct assay_error *err)
{
    enum assay_status status = read_cases(given, n, cases, err);
    if (status != ASSAY_OK)
        return status;
    session->running = true;
    status = assay_cases_measure(session, cases, n, figures, err);
    session->running = false;
    return status == ASSAY_OK ? keep_all(session, cases, n, figures, err) : status;
}

static enum assay_status run_all(struct assay_open_session *session, const struct assay_case *given,
                                 int32_t n, struct assay_error *err)
{
    struct assay_case *cases = assay_calloc((size_t)n, sizeof *cases);
    struct assay_case_figures *figures = assay_calloc((size_t)n, sizeof *figures);
    enum assay_status status = cases && figures
                                   ? measure_all(session, given, n, cases, figures, err)
                                   : assay_error_nomem(err);
    for (int32_t i = 0; figures && i < n; i++)
        assay_free(figures[i].sample_ns);
    assay_free(cases);
    assay_free(figures);
    return status;
}

enum assay_status assay_session_run_many(assay_session *handle, const struct assay_case *cases,
                                         int32_t n, struct assay_error *err)
{
    struct assay_open_session *session = assay_session_find(handle, err);
    if (!session)
        return ASSAY_ERR_INVALID;
    if (!cases || n < 1)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL, "no cases to run");
    if (session->running)
        return assay_error_set(err, ASSAY_ERR_INVALID, NULL,
                               "the session is measuring: a case needs another session");
    return run_all(session, cases, n, err);
}

enum assay_status assay_session_run(assay_session *session, const struct assay_case *one,
                                    struct assay_error *err)
{
    return assay_session_run_many(session, one, 1, err);
}
