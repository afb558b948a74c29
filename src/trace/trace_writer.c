/* trace_writer.c: what both forms share: a buffer of fixed size in front of the sink. */
#include "trace/trace_put.h"

#include "base/alloc.h"
#include "base/text.h"

#include <string.h>

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), wanted = strlen(ending);
    return length >= wanted && strcmp(path + length - wanted, ending) == 0;
}

enum assay_trace_form assay_trace_form_of(const char *path)
{
    return ends_in(path, ".perfetto-trace") || ends_in(path, ".pftrace") ? ASSAY_TRACE_PERFETTO
                                                                         : ASSAY_TRACE_CHROME;
}

static const struct assay_trace_writing *const forms[] = {
    [ASSAY_TRACE_CHROME] = &assay_trace_chrome,
    [ASSAY_TRACE_PERFETTO] = &assay_trace_perfetto,
};

assay_trace_writer *assay_trace_writer_create(enum assay_trace_form form, int64_t origin_ns,
                                              assay_trace_sink sink, void *user)
{
    assay_trace_writer *w = assay_calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->writing = forms[form];
    w->origin_ns = origin_ns;
    w->sink = sink;
    w->user = user;
    w->writing->begin(w);
    return w;
}

void assay_trace_flush(assay_trace_writer *w)
{
    if (!w->error && w->used > 0)
        w->error = w->sink(w->user, w->buffer, w->used);
    w->used = 0;
}

void assay_trace_put(assay_trace_writer *w, const void *bytes, size_t length)
{
    const char *from = bytes;
    w->bytes += (int64_t)length;
    while (length > 0) {
        size_t left = sizeof w->buffer - w->used, some = length < left ? length : left;
        memcpy(w->buffer + w->used, from, some);
        w->used += some;
        from += some;
        length -= some;
        if (w->used == sizeof w->buffer)
            assay_trace_flush(w);
    }
}

int64_t assay_trace_bytes(const assay_trace_writer *w) { return w->bytes; }

void assay_trace_process(assay_trace_writer *w, int32_t process, const char *name)
{
    w->writing->process(w, process, name);
}

void assay_trace_track(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                       int32_t order)
{
    w->writing->track(w, track, name, order);
}

void assay_trace_counter_track(assay_trace_writer *w, struct assay_trace_track track,
                               const char *name, const char *unit)
{
    w->writing->counter_track(w, track, name, unit);
}

void assay_trace_slice(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                       const char *category, int64_t start_ns, int64_t duration_ns,
                       const struct assay_trace_arg *args, int32_t n_args)
{
    const struct assay_trace_slice slice = {track,       name, category, start_ns - w->origin_ns,
                                            duration_ns, args, n_args};
    w->writing->slice(w, &slice);
}

void assay_trace_counter(assay_trace_writer *w, struct assay_trace_track track, const char *name,
                         int64_t at_ns, double value)
{
    w->writing->counter(w, track, name, at_ns - w->origin_ns, value);
}

int assay_trace_writer_end(assay_trace_writer *w, const struct assay_trace_arg *about, int32_t n)
{
    if (!w)
        return 0;
    w->writing->end(w, about, n);
    assay_trace_flush(w);
    int error = w->error;
    assay_free(w);
    return error;
}

size_t assay_trace_clean(const char *text, char *out, size_t size)
{
    size_t used = 0;
    for (const char *at = text; *at && used + 8 < size;) {
        size_t length = assay_text_utf8(at, strnlen(at, 4));
        if (length == 0)
            out[used++] = '?';
        else
            memcpy(out + used, at, length);
        used += length;
        at += length ? length : 1;
    }
    out[used] = '\0';
    return used;
}
