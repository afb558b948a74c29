/* frame.h: lines of JSON that tell when they were damaged, cut, joined, repeated or lost.
 *
 * A framed line is an object whose last three keys are its frame:
 *
 *     {"done":3,"records":2,"seq":17,"length":21,"crc":"5d3c0c0a"}
 *
 * `seq` counts the lines of a stream; `length` is the number of bytes before `,"seq"`; `crc` is the
 * CRC-32C of all bytes before `,"crc"`, in small hexadecimal digits. Every byte of the line is
 * covered by one of them or compared as it is, so no single error of up to 32 bits in a row passes.
 * The journal and both directions of the worker's pipe consist of such lines. */
#ifndef ASSAY_BASE_FRAME_H
#define ASSAY_BASE_FRAME_H

#include "base/json.h"

/* CRC-32C (Castagnoli). `crc` is 0 to begin with, or the result for the bytes before. */
uint32_t assay_crc32c(uint32_t crc, const void *bytes, size_t length);

/* For a line that is written in parts. Initialise to {0}. */
struct assay_frame {
    uint32_t crc;
    size_t length;
};
void assay_frame_add(struct assay_frame *frame, const void *bytes, size_t length);
/* Appends the frame, the closing brace and a newline to `out`. What was added is the object without
 * its closing brace. */
void assay_frame_end(const struct assay_frame *frame, int64_t seq, struct assay_text *out);

/* Appends an object as one framed line. NULL (no memory) fails `out`. */
void assay_frame_write(const assay_json *object, int64_t seq, struct assay_text *out);

/* Is this line (without its newline) intact? Gives its number; else `what` says what is wrong, as
 * the end of a sentence that begins with the line's position. */
bool assay_frame_check(const char *line, size_t length, int64_t *seq, const char **what);

/* Does the line end as framed lines do, whatever the rest holds? */
bool assay_frame_is_ending(const char *line, size_t length);

#endif
