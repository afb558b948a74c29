/* wire.h: messages between supervisor and worker: framed JSON lines (base/frame.h) on a pipe, in
 * both directions, each numbered from 0. What a kernel prints on the descriptor, a message that was
 * cut, joined, repeated or lost does not pass. */
#ifndef ASSAY_BENCH_WIRE_H
#define ASSAY_BENCH_WIRE_H

#include "base/json.h"
#include "kernel/kernel.h"
#include "record/record.h"
#include "trace/memory_profile.h"
#include "trace/profile.h"

/* One direction. */
struct assay_wire {
    int fd;
    int64_t next;              /* the number of the next message */
    struct assay_text pending; /* read, and not yet taken */
    size_t taken;              /* of it */
    int problem;               /* why nothing more can be read: errno */
};

/* Takes `message` over and writes it. ASSAY_ERR_NOMEM, or ASSAY_ERR_IO with the errno in `problem`
 * (may be NULL). */
enum assay_status assay_wire_send(struct assay_wire *wire, assay_json *message, int *problem);

/* Reads what there is, waiting for the first byte. False at the end, with `problem` 0; and with an
 * errno in it on an error, ENOMEM among them, or where one message would be longer than any is
 * (EMSGSIZE). */
bool assay_wire_fill(struct assay_wire *wire);
/* The next complete line of what was read, without its newline; NULL: there is none. It lives until
 * the next call. */
const char *assay_wire_line(struct assay_wire *wire, size_t *length);

enum assay_wire_kind {
    ASSAY_WIRE_MESSAGE,
    ASSAY_WIRE_STRAY,    /* no message, nor a part of one: somebody else's line */
    ASSAY_WIRE_MISFIT,   /* a message that is damaged or not the next one: others may be lost */
    ASSAY_WIRE_NO_MEMORY /* what it is cannot be said */
};

/* What a line is. A message comes out as JSON to be freed; else `why` says what is wrong, with the
 * line's beginning. */
enum assay_wire_kind assay_wire_read(struct assay_wire *wire, const char *line, size_t length,
                                     assay_json **out, char *why, size_t size);

/* ---- events: what a worker's messages say (docs/protocol.md). A job is written and read by
 * record/plan.h. ---- */

enum assay_event_kind {
    ASSAY_EVENT_NOTE,       /* text */
    ASSAY_EVENT_CONTENDERS, /* assay_event_names */
    ASSAY_EVENT_RECORD,     /* assay_event_record */
    ASSAY_EVENT_MEASURED,   /* group, n_records: all are there, what follows are profiles */
    ASSAY_EVENT_PROFILE,    /* assay_event_profile */
    ASSAY_EVENT_MEMORY,     /* assay_event_memory */
    ASSAY_EVENT_DONE,       /* group, n_records */
    ASSAY_EVENT_WORN,       /* the worker asks to be replaced */
    ASSAY_EVENT_ERROR,      /* status, text */
    ASSAY_EVENT_COUNT
};

/* Each as a message for assay_wire_send, which takes it over. */
assay_json *assay_event_note(const char *text);
assay_json *assay_event_contenders(const struct assay_contender *contenders, int64_t n);
assay_json *assay_event_of_record(const struct assay_record *record);
assay_json *assay_event_measured(int64_t group, int64_t n_records);
assay_json *assay_event_of_profile(const struct assay_profile *profile);
assay_json *assay_event_of_memory(const struct assay_memory_profile *profile);
assay_json *assay_event_done(int64_t group, int64_t n_records);
assay_json *assay_event_worn(void);
assay_json *assay_event_error(enum assay_status status, const struct assay_error *err);

/* One that was read. The text is the message's. */
struct assay_event {
    enum assay_event_kind kind;
    const assay_json *message;
    const char *text;
    enum assay_status status;
    int64_t group, n_records; /* -1: it does not say */
};

/* One variant as the supervisor knows it. */
struct assay_event_name {
    char kernel[64], implementation[64], recipe[64];
};

/* False: no event of these; `why` says so. */
bool assay_event_read(const assay_json *message, struct assay_event *out, char *why, size_t size);
/* The variants of ASSAY_EVENT_CONTENDERS, up to `max`; how many. */
int64_t assay_event_names(const struct assay_event *event, struct assay_event_name *out,
                          int64_t max);
enum assay_status assay_event_record(const struct assay_event *event, struct assay_record *out,
                                     struct assay_error *err);
/* To be released by assay_profile_fini. */
enum assay_status assay_event_profile(const struct assay_event *event, struct assay_profile *out,
                                      struct assay_error *err);
/* … by assay_memory_profile_fini. */
enum assay_status assay_event_memory(const struct assay_event *event,
                                     struct assay_memory_profile *out, struct assay_error *err);

#endif
