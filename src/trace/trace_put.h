/* trace_put.h: for the files of this room: a writer's insides, and what a form of traces is. */
#ifndef ASSAY_TRACE_TRACE_PUT_H
#define ASSAY_TRACE_TRACE_PUT_H

#include "trace/trace_writer.h"

struct assay_trace_slice {
    struct assay_trace_track track;
    const char *name, *category;
    int64_t start_ns, duration_ns; /* from the trace's origin */
    const struct assay_trace_arg *args;
    int32_t n_args;
};

/* A form: how each kind of event is written. */
struct assay_trace_writing {
    void (*begin)(assay_trace_writer *w);
    void (*process)(assay_trace_writer *w, int32_t process, const char *name);
    void (*track)(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                  int32_t order);
    void (*counter_track)(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                          const char *unit);
    void (*slice)(assay_trace_writer *w, const struct assay_trace_slice *slice);
    void (*counter)(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                    int64_t at_ns, double value);
    void (*end)(assay_trace_writer *w, const struct assay_trace_arg *about, int32_t n);
};
extern const struct assay_trace_writing assay_trace_chrome, assay_trace_perfetto;

struct assay_trace_writer {
    const struct assay_trace_writing *writing;
    int64_t origin_ns, bytes;
    assay_trace_sink sink;
    void *user;
    int error;    /* errno of the first failed write; nothing is written after it */
    bool started; /* something stands in the list of events */
    size_t used;
    char buffer[1 << 16];
};

void assay_trace_put(assay_trace_writer *w, const void *bytes, size_t length);
void assay_trace_flush(assay_trace_writer *w);

/* A name as valid UTF-8 that fits, '?' for what is none; its length. */
enum { ASSAY_TRACE_NAME = 512 };
size_t assay_trace_clean(const char *text, char *out, size_t size);

#endif
