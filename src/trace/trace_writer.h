/* trace_writer.h: events in, bytes out: a timeline as Chrome's trace JSON (chrome://tracing,
 * Perfetto, Speedscope) or as Perfetto's own track events (protobuf).
 *
 * Events are written as they come and nothing is kept of them: the memory is constant however many
 * there are. */
#ifndef ASSAY_TRACE_TRACE_WRITER_H
#define ASSAY_TRACE_TRACE_WRITER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum assay_trace_form { ASSAY_TRACE_CHROME, ASSAY_TRACE_PERFETTO };

/* By the name of a file: .perfetto-trace and .pftrace are Perfetto's, all else is JSON. */
enum assay_trace_form assay_trace_form_of(const char *path);

/* Something to know about a slice: a text, or a number where `text` is NULL. */
struct assay_trace_arg {
    const char *key, *text;
    double number;
};

/* A row of the timeline. Tracks with the same process stand together. */
struct assay_trace_track {
    int32_t process, track; /* both from 1 */
};

typedef struct assay_trace_writer assay_trace_writer;
/* Takes all of it, or says why not: an errno. */
typedef int (*assay_trace_sink)(void *user, const char *bytes, size_t length);

/* Times are written relative to `origin_ns`. `about` becomes the trace's own description: which
 * program and run it is of. NULL: no memory. */
assay_trace_writer *assay_trace_writer_create(enum assay_trace_form form, int64_t origin_ns,
                                              assay_trace_sink sink, void *user);

/* Names, before the events of what they name. Tracks stand in the order of `order`. */
void assay_trace_process(assay_trace_writer *w, int32_t process, const char *name);
void assay_trace_track(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                       int32_t order);
/* A track of numbers. Its unit is Perfetto's to show. */
void assay_trace_counter_track(assay_trace_writer *w, struct assay_trace_track track,
                               const char *name, const char *unit);

/* Slices of one track lie side by side or within each other. */
void assay_trace_slice(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                       const char *category, int64_t start_ns, int64_t duration_ns,
                       const struct assay_trace_arg *args, int32_t n_args);
/* `name` as its track has it. */
void assay_trace_counter(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                         int64_t at_ns, double value);

/* How many bytes there are so far. */
int64_t assay_trace_bytes(const assay_trace_writer *w);

/* Ends the trace; 0, or the errno of the first write that failed. Frees the writer; NULL is fine.
 * `about`: keys and texts on the trace as a whole. */
int assay_trace_writer_end(assay_trace_writer *w, const struct assay_trace_arg *about, int32_t n);

#endif
