/* json_parse.c: JSON text to a value.
 *
 * jansson keeps the values but does not read the text: its reader (2.14) ignores a failed growth of
 * the buffer in which it collects a string or a number, and then reads a different number:
 * 1234567890123457 for 12345678901234567. */
#include "base/json.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 1000 }; /* each level is one call deeper here, and in jansson */

struct parser {
    const char *start, *at, *end;
    const char *where;
    struct assay_error *err;
    struct assay_text string; /* the one being read */
    int depth;
};

static json_t *parse_value(struct parser *p);

/* ---- what can go wrong ----------------------------------------------------------------------- */

static json_t *fail(const struct parser *p, const char *problem)
{
    char place[160];
    int64_t line = 1, column = 1;
    for (const char *c = p->start; c < p->at && c < p->end; c++) {
        bool inside = ((unsigned char)*c & 0xc0) == 0x80; /* of a character of several bytes */
        column = *c == '\n' ? 1 : column + !inside;
        line += *c == '\n';
    }
    snprintf(place, sizeof place, "%s:%lld:%lld", p->where, (long long)line, (long long)column);
    assay_error_set(p->err, ASSAY_ERR_CORRUPT, place, "not valid JSON: %s", problem);
    return NULL;
}

static json_t *no_memory(const struct parser *p)
{
    assay_error_set(p->err, ASSAY_ERR_NOMEM, p->where, "out of memory");
    return NULL;
}

/* A value just made, or the error. */
static json_t *made(const struct parser *p, json_t *value) { return value ? value : no_memory(p); }

/* Of a container that is not finished. */
static json_t *drop(json_t *container)
{
    json_decref(container);
    return NULL;
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && memchr(" \t\r\n", *p->at, 4))
        p->at++;
}

/* Consumes the character if it is the next one. */
static bool take(struct parser *p, char wanted)
{
    skip_blanks(p);
    if (p->at >= p->end || *p->at != wanted)
        return false;
    p->at++;
    return true;
}

static bool is_digit(const struct parser *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Four hexadecimal digits; -1 where there are none. */
static int32_t parse_hex(struct parser *p)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++, p->at++) {
        char c = p->at < p->end ? *p->at : '\0';
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

static void add_utf8(struct assay_text *out, int32_t code)
{
    char bytes[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const int first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(first[n] | code);
    assay_text_append(out, bytes, n);
}

/* What follows \u. Characters beyond the first 65,536 are two of them. */
static const char *parse_code(struct parser *p)
{
    int32_t code = parse_hex(p);
    if (code < 0)
        return "an escape without four hexadecimal digits";
    if (code == 0)
        return "\\u0000 is not allowed";
    if (code >= 0xd800 && code < 0xe000) {
        bool second = p->end - p->at >= 2 && p->at[0] == '\\' && p->at[1] == 'u';
        p->at += second ? 2 : 0;
        int32_t low = second ? parse_hex(p) : -1;
        if (code >= 0xdc00 || low < 0xdc00 || low > 0xdfff)
            return "half of a surrogate pair";
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    add_utf8(&p->string, code);
    return NULL;
}

static const char *parse_escape(struct parser *p)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char c = p->at < p->end ? *p->at++ : '\0';
    if (c == 'u')
        return parse_code(p);
    const char *found = c ? strchr(names, c) : NULL;
    if (!found)
        return "an unknown escape";
    assay_text_append(&p->string, &meanings[found - names], 1);
    return NULL;
}

/* After the first quote. Its characters are left in p->string. */
static bool parse_characters(struct parser *p)
{
    const char *problem = NULL;
    assay_text_clear(&p->string);
    assay_text_append(&p->string, "", 0); /* an empty string is one, too */
    while (!problem && p->at < p->end && *p->at != '"') {
        size_t n = assay_text_utf8(p->at, (size_t)(p->end - p->at));
        if (*p->at == '\\') {
            p->at++;
            problem = parse_escape(p);
        } else if (n == 0) {
            problem = "a byte that is not UTF-8";
        } else if ((unsigned char)*p->at < 0x20) {
            problem = "a control character in a string";
        } else {
            assay_text_append(&p->string, p->at, n);
            p->at += n;
        }
    }
    if (!problem && p->at >= p->end)
        problem = "a string without its end";
    if (problem)
        fail(p, problem);
    else if (p->string.failed)
        no_memory(p);
    p->at++;
    return !problem && !p->string.failed;
}

static json_t *parse_string(struct parser *p)
{
    if (!parse_characters(p))
        return NULL;
    return made(p, json_stringn_nocheck(p->string.data, p->string.length));
}

/* ---- numbers and words ----------------------------------------------------------------------- */

static bool skip_digits(struct parser *p)
{
    bool any = is_digit(p);
    while (is_digit(p))
        p->at++;
    return any;
}

static bool skip_exponent(struct parser *p)
{
    p->at++;
    if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
        p->at++;
    return skip_digits(p);
}

static bool is_next(const struct parser *p, char c) { return p->at < p->end && *p->at == c; }

/* Passes over a number as JSON writes it: nothing follows a leading 0. */
static bool skip_number(struct parser *p, bool *whole)
{
    p->at += is_next(p, '-');
    bool zero = is_next(p, '0');
    p->at += zero;
    bool fine = zero ? !is_digit(p) : skip_digits(p);
    *whole = true;
    if (fine && is_next(p, '.')) {
        p->at++;
        *whole = false;
        fine = skip_digits(p);
    }
    if (fine && (is_next(p, 'e') || is_next(p, 'E'))) {
        *whole = false;
        fine = skip_exponent(p);
    }
    return fine;
}

/* strtod reads the point that the caller's locale has. */
static void use_locale_point(struct assay_text *number)
{
    char *point = number->data ? strchr(number->data, '.') : NULL;
    if (point)
        *point = localeconv()->decimal_point[0];
}

static json_t *parse_number(struct parser *p)
{
    const char *first = p->at;
    bool whole;
    if (!skip_number(p, &whole))
        return fail(p, "a number is not complete, or begins with 0");
    assay_text_clear(&p->string);
    assay_text_append(&p->string, first, (size_t)(p->at - first));
    if (p->string.failed)
        return no_memory(p);
    errno = 0;
    if (whole) {
        long long value = strtoll(p->string.data, NULL, 10);
        return errno == ERANGE ? fail(p, "a whole number beyond 64 bits")
                               : made(p, json_integer(value));
    }
    use_locale_point(&p->string);
    double value = strtod(p->string.data, NULL);
    return isinf(value) ? fail(p, "a number that is too large") : made(p, json_real(value));
}

static bool take_word(struct parser *p, const char *word)
{
    size_t length = strlen(word);
    bool found = (size_t)(p->end - p->at) >= length && memcmp(p->at, word, length) == 0;
    p->at += found ? length : 0;
    return found;
}

/* ---- containers ------------------------------------------------------------------------------ */

static json_t *parse_array(struct parser *p)
{
    json_t *array = json_array();
    if (!array)
        return no_memory(p);
    if (take(p, ']'))
        return array;
    do {
        json_t *value = parse_value(p);
        if (!value)
            return drop(array);
        if (json_array_append_new(array, value) != 0) {
            no_memory(p);
            return drop(array);
        }
    } while (take(p, ','));
    if (take(p, ']'))
        return array;
    fail(p, "',' or ']' expected");
    return drop(array);
}

/* One key with its value. The key is copied, because reading the value overwrites p->string. */
static bool parse_member(struct parser *p, json_t *object)
{
    if (!take(p, '"')) {
        fail(p, "a key in quotes expected");
        return false;
    }
    json_t *key = parse_string(p), *value = NULL;
    const char *name = json_string_value(key);
    if (key && json_object_get(object, name))
        fail(p, "a key that occurs twice");
    else if (key && !take(p, ':'))
        fail(p, "':' expected");
    else if (key)
        value = parse_value(p);
    bool fine = value && json_object_set_new_nocheck(object, name, value) == 0;
    if (value && !fine)
        no_memory(p);
    json_decref(key);
    return fine;
}

static json_t *parse_object(struct parser *p)
{
    json_t *object = json_object();
    if (!object)
        return no_memory(p);
    if (take(p, '}'))
        return object;
    do {
        if (!parse_member(p, object))
            return drop(object);
    } while (take(p, ','));
    if (take(p, '}'))
        return object;
    fail(p, "',' or '}' expected");
    return drop(object);
}

static json_t *parse_container(struct parser *p)
{
    if (p->depth >= MAX_DEPTH)
        return fail(p, "too many levels");
    p->depth++;
    json_t *value = take(p, '{')   ? parse_object(p)
                    : take(p, '[') ? parse_array(p)
                                   : fail(p, "'{' or '[' expected");
    p->depth--;
    return value;
}

static json_t *parse_value(struct parser *p)
{
    skip_blanks(p);
    if (take(p, '"'))
        return parse_string(p);
    if (is_next(p, '-') || is_digit(p))
        return parse_number(p);
    if (take_word(p, "true"))
        return json_true();
    if (take_word(p, "false"))
        return json_false();
    if (take_word(p, "null"))
        return json_null();
    if (is_next(p, '{') || is_next(p, '['))
        return parse_container(p);
    return fail(p, p->at < p->end ? "a value expected" : "it ends too early");
}

assay_json *assay_json_parse(const char *text, size_t length, const char *where,
                             struct assay_error *err)
{
    struct parser p = {.start = text, .at = text, .end = text + length, .where = where, .err = err};
    json_t *value = parse_container(&p);
    skip_blanks(&p);
    if (value && p.at < p.end) {
        fail(&p, "something follows its end");
        value = drop(value);
    }
    assay_text_fini(&p.string);
    return value;
}
