#include "trace/timeline.h"

#include "base/alloc.h"
#include "base/part_file.h"

#include <stdio.h>
#include <string.h>

/* The caller's own ranges are the first process of a trace, variants come after it. */
enum { PROCESS_CALLER = 1, MOST_DEPTH = 32 };

struct assay_timeline {
    struct assay_part_file file;
    assay_trace_writer *writer;
    int64_t n_profiles;
    int32_t depths; /* of ranges, whose tracks have names already */
};

static int write_bytes(void *user, const char *bytes, size_t length)
{
    return assay_part_file_write(user, bytes, length);
}

enum assay_status assay_timeline_open(const char *path, assay_timeline **out,
                                      struct assay_error *err)
{
    assay_timeline *t = assay_calloc(1, sizeof *t);
    *out = NULL;
    if (!t)
        return assay_error_nomem(err);
    enum assay_status status = assay_part_file_open(&t->file, path, err);
    if (status == ASSAY_OK) {
        t->writer = assay_trace_writer_create(assay_trace_form_of(path), assay_clock_ns(),
                                              write_bytes, &t->file);
        if (!t->writer)
            status = assay_error_nomem(err);
    }
    if (status != ASSAY_OK) {
        assay_timeline_cancel(t);
        return status;
    }
    *out = t;
    return ASSAY_OK;
}

const char *assay_timeline_path(const assay_timeline *t) { return t->file.path; }
int64_t assay_timeline_count(const assay_timeline *t) { return t->n_profiles; }

void assay_timeline_add(assay_timeline *t, const struct assay_profile *profile)
{
    t->n_profiles++;
    assay_timeline_write(t->writer, (int32_t)(PROCESS_CALLER + t->n_profiles), profile);
}

void assay_timeline_range(assay_timeline *t, const char *name, int32_t depth, int64_t start_ns,
                          int64_t end_ns)
{
    char title[32];
    depth = depth < MOST_DEPTH ? depth : MOST_DEPTH - 1;
    if (t->depths == 0)
        assay_trace_process(t->writer, PROCESS_CALLER, "the caller's ranges");
    for (; t->depths <= depth; t->depths++) {
        snprintf(title, sizeof title, "ranges, depth %d", t->depths);
        assay_trace_track(t->writer, (struct assay_trace_track){PROCESS_CALLER, 1 + t->depths},
                          title, t->depths);
    }
    assay_trace_slice(t->writer, (struct assay_trace_track){PROCESS_CALLER, 1 + depth}, name,
                      "range", start_ns, end_ns - start_ns, NULL, 0);
}

static enum assay_status finish(assay_timeline *t, bool keep, const struct assay_trace_arg *about,
                                int32_t n, struct assay_error *err)
{
    if (!t)
        return ASSAY_OK;
    assay_trace_writer_end(t->writer, about, n);
    enum assay_status status = assay_part_file_close(&t->file, keep, err);
    assay_free(t);
    return status;
}

enum assay_status assay_timeline_close(assay_timeline *t, const struct assay_trace_arg *about,
                                       int32_t n, struct assay_error *err)
{
    return finish(t, true, about, n, err);
}

void assay_timeline_cancel(assay_timeline *t) { finish(t, false, NULL, 0, NULL); }
