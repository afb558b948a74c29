/* text.h: small string helpers: growing buffers, fitting units, the nearest known name. */
#ifndef ASSAY_BASE_TEXT_H
#define ASSAY_BASE_TEXT_H

#include "base/error.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* A string that grows. Start from {0}; release with assay_text_fini. After a failed allocation
 * `failed` is set and further appends do nothing, so one check at the end is enough. */
struct assay_text {
    char *data; /* always terminated once anything was appended; NULL before */
    size_t length, capacity;
    bool failed;
};
void assay_text_fini(struct assay_text *text);
void assay_text_clear(struct assay_text *text);
void assay_text_append(struct assay_text *text, const char *bytes, size_t length);
void assay_text_add(struct assay_text *text, const char *string);
void assay_text_format(struct assay_text *text, const char *fmt, ...) ASSAY_PRINTF(2, 3);

/* How many bytes the UTF-8 character at the start has; 0: there is none. */
size_t assay_text_utf8(const char *bytes, size_t length);
bool assay_text_is_utf8(const char *string);

/* As a terminal may show it: control characters, those that turn the direction of writing, and
 * invalid UTF-8 as \n, \x1b and so on. For names from outside. */
void assay_text_add_shown(struct assay_text *text, const char *string);
/* The same for text of several lines: newlines and tabs stay. */
void assay_text_add_shown_lines(struct assay_text *text, const char *string);

/* Equal up to ASCII case. */
bool assay_text_same(const char *a, const char *b);

/* The candidate that is the fewest edits from `word`, or NULL when none is near enough to be meant.
 */
const char *assay_text_nearest(const char *word, const char *const *candidates, int64_t n);

/* "2.31 ms", "850 ns": three significant digits in the fitting unit. */
void assay_text_time(double ns, char *buf, size_t size);
/* "100.7 MB" (10^6), "1.2 GB". */
void assay_text_bytes(double bytes, char *buf, size_t size);
/* "25.77 G", "402.65 M": two decimals and a prefix, which a unit can follow. */
void assay_text_count(double count, char *buf, size_t size);

/* "46754.4": with 15, 16 or 17 digits, as few as read back as the same double; with a point in any
 * locale. */
enum { ASSAY_TEXT_REAL = 32 }; /* bytes that it takes at the most */
void assay_text_real(double value, char *buf, size_t size);

/* Numbers with nothing after them. Sizes take k, M, G (powers of 1000) and Ki, Mi, Gi; durations
 * ns, us, ms, s, m, h (a bare number is seconds); fractions "1%" or "0.01". */
enum assay_status assay_text_int64(const char *text, int64_t *out);
enum assay_status assay_text_double(const char *text, double *out);
enum assay_status assay_text_size(const char *text, int64_t *out);
enum assay_status assay_text_duration(const char *text, double *out_s);
enum assay_status assay_text_fraction(const char *text, double *out);

#endif
