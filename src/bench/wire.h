/* wire.h: messages between supervisor and worker: framed JSON lines (base/frame.h) on a pipe, in
 * both directions, each numbered from 0. What a kernel prints on the descriptor, a message that was
 * cut, joined, repeated or lost does not pass. */
#ifndef ASSAY_BENCH_WIRE_H
#define ASSAY_BENCH_WIRE_H

#include "base/json.h"
#include <sys/types.h>

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

#endif
