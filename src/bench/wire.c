#include "bench/wire.h"

#include "base/frame.h"
#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20 }; /* a job with a thousand models is some megabytes */

enum assay_status assay_wire_send(struct assay_wire *wire, assay_json *message, int *problem)
{
    struct assay_text line = {0};
    int failed = 0;
    assay_frame_write(message, wire->next, &line);
    assay_json_free(message);
    enum assay_status status = line.failed ? ASSAY_ERR_NOMEM : ASSAY_OK;
    if (status == ASSAY_OK)
        failed = assay_io_write(wire->fd, line.data, line.length);
    if (failed)
        status = ASSAY_ERR_IO;
    else if (status == ASSAY_OK)
        wire->next++;
    if (problem)
        *problem = failed;
    assay_text_fini(&line);
    return status;
}

bool assay_wire_fill(struct assay_wire *wire)
{
    char bytes[16384];
    size_t got = 0;
    wire->problem = assay_io_read(wire->fd, bytes, sizeof bytes, &got);
    if (wire->problem || got == 0)
        return false;
    assay_text_append(&wire->pending, bytes, got);
    wire->problem = wire->pending.failed                ? ENOMEM
                    : wire->pending.length > MOST_BYTES ? EMSGSIZE
                                                        : 0;
    return wire->problem == 0;
}

const char *assay_wire_line(struct assay_wire *wire, size_t *length)
{
    struct assay_text *text = &wire->pending;
    const char *start = text->data + wire->taken;
    const char *newline = text->data ? memchr(start, '\n', text->length - wire->taken) : NULL;
    if (newline) {
        *length = (size_t)(newline - start);
        wire->taken += *length + 1;
        return start;
    }
    if (text->data) {
        memmove(text->data, start, text->length - wire->taken);
        text->length -= wire->taken;
        wire->taken = 0;
    }
    return NULL;
}

/* The beginning of a line, as a terminal may show it. */
static void quote(const char *line, size_t length, char *out, size_t size)
{
    char begin[41] = "";
    struct assay_text shown = {0};
    snprintf(begin, sizeof begin, "%.*s", (int)(length < 40 ? length : 40), line);
    assay_text_add_shown(&shown, begin);
    snprintf(out, size, "\"%s%s\"", shown.data ? shown.data : "", length > 40 ? "…" : "");
    assay_text_fini(&shown);
}

/* Does it begin as all messages do? */
static bool is_beginning(const char *line, size_t length)
{
    static const char *const begins[] = {"{\"event\":", "{\"assay_job\":"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (length >= strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

enum assay_wire_kind assay_wire_read(struct assay_wire *wire, const char *line, size_t length,
                                     assay_json **out, char *why, size_t size)
{
    const char *what = "";
    char begin[200];
    int64_t seq = -1;
    *out = NULL;
    quote(line, length, begin, sizeof begin);
    if (!assay_frame_check(line, length, &seq, &what)) {
        bool stray = !assay_frame_is_ending(line, length) && !is_beginning(line, length);
        snprintf(why, size, "%s %s", begin, what);
        return stray ? ASSAY_WIRE_STRAY : ASSAY_WIRE_MISFIT;
    }
    if (seq != wire->next) {
        snprintf(why, size, "%s is message %lld, where %lld comes next", begin, (long long)seq,
                 (long long)wire->next);
        return ASSAY_WIRE_MISFIT;
    }
    struct assay_error err = {0};
    *out = assay_json_parse(line, length, "message", &err);
    if (!*out) {
        snprintf(why, size, "%s is %s", begin, err.message);
        return err.code == ASSAY_ERR_NOMEM ? ASSAY_WIRE_NO_MEMORY : ASSAY_WIRE_MISFIT;
    }
    wire->next++;
    return ASSAY_WIRE_MESSAGE;
}
