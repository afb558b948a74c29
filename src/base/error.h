/* error.h: writing an assay_error. Every function here accepts err == NULL and returns the code, so
 * that `return assay_error_set(err, ASSAY_ERR_IO, path, "…")` reads as one thought. */
#ifndef ASSAY_BASE_ERROR_H
#define ASSAY_BASE_ERROR_H

#include <assay/assay_types.h>
#include <stdbool.h>

#if defined(__GNUC__)
#define ASSAY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ASSAY_PRINTF(fmt, args)
#endif

/* Writes code, place (may be NULL) and message unless `err` already holds an error; returns `code`.
 */
enum assay_status assay_error_set(struct assay_error *err, enum assay_status code,
                                  const char *where, const char *fmt, ...) ASSAY_PRINTF(4, 5);

/* ASSAY_ERR_NOMEM, "out of memory". */
enum assay_status assay_error_nomem(struct assay_error *err);

/* Tells an analyser, which does not see these functions, what they return. */
#ifdef __clang_analyzer__
#define assay_error_set(err, code, ...) ((void)assay_error_set(err, code, __VA_ARGS__), (code))
#define assay_error_nomem(err) ((void)assay_error_nomem(err), ASSAY_ERR_NOMEM)
#endif

/* "place: message", or the message alone when there is no place. */
void assay_error_format(const struct assay_error *err, char *buf, size_t size);

const char *assay_status_name(enum assay_status status);

static inline bool assay_failed(enum assay_status status) { return status < 0; }

#endif
