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

/* ---- events ---- */

static const char *const event_names[ASSAY_EVENT_COUNT] = {
    [ASSAY_EVENT_NOTE] = "note",       [ASSAY_EVENT_CONTENDERS] = "contenders",
    [ASSAY_EVENT_RECORD] = "record",   [ASSAY_EVENT_MEASURED] = "measured",
    [ASSAY_EVENT_PROFILE] = "profile", [ASSAY_EVENT_MEMORY] = "memory",
    [ASSAY_EVENT_DONE] = "done",       [ASSAY_EVENT_WORN] = "worn",
    [ASSAY_EVENT_ERROR] = "error",
};

static assay_json *new_event(enum assay_event_kind kind)
{
    assay_json *json = assay_json_object();
    assay_json_put_string(json, "event", event_names[kind]);
    return json;
}

assay_json *assay_event_note(const char *text)
{
    assay_json *json = new_event(ASSAY_EVENT_NOTE);
    assay_json_put_string(json, "text", text);
    return json;
}

assay_json *assay_event_contenders(const struct assay_contender *contenders, int64_t n)
{
    assay_json *json = new_event(ASSAY_EVENT_CONTENDERS), *list = assay_json_array();
    for (int64_t i = 0; i < n; i++) {
        assay_json *one = assay_json_object();
        assay_json_put_string(one, "kernel", contenders[i].kernel->name);
        assay_json_put_string(one, "implementation", contenders[i].kernel->implementation);
        assay_json_put_string(one, "recipe", contenders[i].recipe ? contenders[i].recipe : "");
        assay_json_append(list, one);
    }
    assay_json_put(json, "contenders", list);
    return json;
}

int64_t assay_event_names(const struct assay_event *event, struct assay_event_name *out,
                          int64_t max)
{
    const assay_json *list = assay_json_get(event->message, "contenders");
    int64_t n = assay_json_count(list) < max ? assay_json_count(list) : max;
    for (int64_t i = 0; i < n; i++) {
        const assay_json *one = assay_json_at(list, i);
        struct assay_event_name *name = &out[i];
        snprintf(name->kernel, sizeof name->kernel, "%s",
                 assay_json_string(assay_json_get(one, "kernel"), "?"));
        snprintf(name->implementation, sizeof name->implementation, "%s",
                 assay_json_string(assay_json_get(one, "implementation"), "?"));
        snprintf(name->recipe, sizeof name->recipe, "%s",
                 assay_json_string(assay_json_get(one, "recipe"), ""));
    }
    return n;
}

assay_json *assay_event_of_record(const struct assay_record *record)
{
    assay_json *json = new_event(ASSAY_EVENT_RECORD);
    assay_json_put(json, "record", assay_record_to_json(record));
    return json;
}

enum assay_status assay_event_record(const struct assay_event *event, struct assay_record *out,
                                     struct assay_error *err)
{
    return assay_record_from_json(assay_json_get(event->message, "record"), out, err);
}

assay_json *assay_event_of_profile(const struct assay_profile *profile)
{
    assay_json *json = new_event(ASSAY_EVENT_PROFILE);
    assay_json_put(json, "profile", assay_profile_to_json(profile));
    return json;
}

enum assay_status assay_event_profile(const struct assay_event *event, struct assay_profile *out,
                                      struct assay_error *err)
{
    return assay_profile_from_json(assay_json_get(event->message, "profile"), out, err);
}

assay_json *assay_event_of_memory(const struct assay_memory_profile *profile)
{
    assay_json *json = new_event(ASSAY_EVENT_MEMORY);
    assay_json_put(json, "memory", assay_memory_profile_to_json(profile));
    return json;
}

enum assay_status assay_event_memory(const struct assay_event *event,
                                     struct assay_memory_profile *out, struct assay_error *err)
{
    return assay_memory_profile_from_json(assay_json_get(event->message, "memory"), out, err);
}

static assay_json *new_count(enum assay_event_kind kind, int64_t group, int64_t n_records)
{
    assay_json *json = new_event(kind);
    assay_json_put_int(json, "group", group);
    assay_json_put_int(json, "records", n_records);
    return json;
}

assay_json *assay_event_measured(int64_t group, int64_t n_records)
{
    return new_count(ASSAY_EVENT_MEASURED, group, n_records);
}

assay_json *assay_event_done(int64_t group, int64_t n_records)
{
    return new_count(ASSAY_EVENT_DONE, group, n_records);
}

assay_json *assay_event_worn(void) { return new_event(ASSAY_EVENT_WORN); }

assay_json *assay_event_error(enum assay_status status, const struct assay_error *err)
{
    char text[700];
    assay_json *json = new_event(ASSAY_EVENT_ERROR);
    assay_error_format(err, text, sizeof text);
    assay_json_put_int(json, "status", status);
    assay_json_put_string(json, "text", text[0] ? text : assay_status_name(status));
    return json;
}

bool assay_event_read(const assay_json *message, struct assay_event *out, char *why, size_t size)
{
    const char *name = assay_json_string(assay_json_get(message, "event"), "");
    int kind = 0;
    while (kind < ASSAY_EVENT_COUNT && strcmp(name, event_names[kind]) != 0)
        kind++;
    if (kind == ASSAY_EVENT_COUNT) {
        snprintf(why, size, "the event \"%.40s\" is not known", name);
        return false;
    }
    *out = (struct assay_event){
        .kind = (enum assay_event_kind)kind,
        .message = message,
        .text = assay_json_string(assay_json_get(message, "text"),
                                  kind == ASSAY_EVENT_ERROR ? "it did not say why" : ""),
        .status = (enum assay_status)assay_json_int(assay_json_get(message, "status"), 0),
        .group = assay_json_int(assay_json_get(message, "group"), -1),
        .n_records = assay_json_int(assay_json_get(message, "records"), -1),
    };
    return true;
}
