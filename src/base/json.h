/* json.h: JSON values, read and written. Only this file's sources know which library keeps them.
 *
 * Getters never fail: a missing or wrong-typed value gives the default, so that readers say what
 * they need and check it once. Numbers that JSON cannot write (NaN, infinities) become null, and
 * null reads back as NaN.
 *
 * Building never fails either, at first: a container that could not take a value, for lack of
 * memory, is marked as incomplete, and so is any container it is put into. Such a value cannot be
 * written: assay_json_write sets `failed`. One check there is enough. */
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H

#include "base/text.h"

typedef struct json_t assay_json;

/* Reads one object or array that fills the text. ASSAY_ERR_CORRUPT where it is not JSON, has a key
 * twice or a number out of range: the error's place is `where` with line and column.
 * ASSAY_ERR_NOMEM. */
assay_json *assay_json_parse(const char *text, size_t length, const char *where,
                             struct assay_error *err);
void assay_json_free(assay_json *value);

/* Appends the value on one line, or indented by `indent` blanks when that is > 0. A number reads
 * back as the same double, with as few digits as that takes (assay_text_real). Sets `failed`, and
 * appends nothing of use, when the value is NULL or incomplete, or there is no memory. */
void assay_json_write(const assay_json *value, int indent, struct assay_text *out);

assay_json *assay_json_object(void);
assay_json *assay_json_array(void);
assay_json *assay_json_from_string(const char *text); /* bytes that are not UTF-8 become '?' */
assay_json *assay_json_from_int(int64_t value);
assay_json *assay_json_from_double(double value);
assay_json *assay_json_from_number(double value); /* a whole number as one: 4, not 4.0 */
assay_json *assay_json_from_bool(bool value);

/* Each takes ownership of `value`, even when it fails: fill a container before putting it into
 * another. A NULL value (no memory) makes the container incomplete; a NULL container is ignored,
 * and makes its own container incomplete later. */
void assay_json_put(assay_json *object, const char *key, assay_json *value);
void assay_json_append(assay_json *array, assay_json *value);

/* Is the value complete? For code that reads a value it has built, instead of writing it. */
bool assay_json_is_complete(const assay_json *value);

static inline void assay_json_put_string(assay_json *o, const char *key, const char *text)
{
    assay_json_put(o, key, assay_json_from_string(text));
}
static inline void assay_json_put_int(assay_json *o, const char *key, int64_t value)
{
    assay_json_put(o, key, assay_json_from_int(value));
}
static inline void assay_json_put_double(assay_json *o, const char *key, double value)
{
    assay_json_put(o, key, assay_json_from_double(value));
}
static inline void assay_json_put_bool(assay_json *o, const char *key, bool value)
{
    assay_json_put(o, key, assay_json_from_bool(value));
}

/* Borrowed from their container; NULL where there is none, and NULL containers are fine. */
const assay_json *assay_json_get(const assay_json *object, const char *key);
int64_t assay_json_count(const assay_json *array);
int64_t assay_json_count_keys(const assay_json *object);
const char *assay_json_key_at(const assay_json *object, int64_t index); /* in their order */
const assay_json *assay_json_at(const assay_json *array, int64_t index);

/* From now on jansson takes its memory from alloc.h, where it is counted and a test can make it
 * fail. For our own programs, before the first JSON value: the setting is global to the process.
 * The library does not use it, because its caller may have set allocators, too. A plug-in that uses
 * jansson is not disturbed: memory is malloc's either way, and may be freed by either. */
void assay_json_count_memory(void);

bool assay_json_is_object(const assay_json *value);
bool assay_json_is_array(const assay_json *value);
const char *assay_json_string(const assay_json *value, const char *otherwise);
int64_t assay_json_int(const assay_json *value, int64_t otherwise);
double assay_json_double(const assay_json *value, double otherwise);
bool assay_json_bool(const assay_json *value, bool otherwise);

#endif
