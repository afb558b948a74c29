/* json_stream.h: is what comes piece by piece one JSON value? A parser that keeps nothing but how
 * deep it is, so that a trace of any length can be looked at as it is written. */
#ifndef ASSAY_TESTS_JSON_STREAM_H
#define ASSAY_TESTS_JSON_STREAM_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum json_expects { JSON_VALUE, JSON_FIRST, JSON_KEY, JSON_FIRST_KEY, JSON_COLON, JSON_NEXT };
enum json_inside { JSON_NOTHING, JSON_STRING, JSON_ESCAPE, JSON_WORD };

struct json_stream {
    enum json_expects expects;
    enum json_inside inside;
    bool is_key, wrong;
    int depth;
    char open[64]; /* the brackets that are open */
    char word[40]; /* of a number, true, false or null */
    size_t length;
    long values; /* objects that were closed at the depth of the list of events */
};

static bool json_is_word(const char *w)
{
    const char *digits = w + (*w == '-');
    size_t n = strspn(digits, "0123456789");
    if (strcmp(w, "null") == 0 || strcmp(w, "true") == 0 || strcmp(w, "false") == 0)
        return true;
    if (n == 0 || (digits[0] == '0' && n > 1))
        return false;
    digits += n;
    if (*digits == '.') {
        n = strspn(digits + 1, "0123456789");
        if (n == 0)
            return false;
        digits += 1 + n;
    }
    if (*digits == 'e' || *digits == 'E') {
        digits += 1 + (digits[1] == '+' || digits[1] == '-');
        n = strspn(digits, "0123456789");
        digits += n;
        return n > 0 && *digits == '\0';
    }
    return *digits == '\0';
}

static void json_close(struct json_stream *j, char c)
{
    bool empty = j->expects == JSON_FIRST || j->expects == JSON_FIRST_KEY;
    char opened = c == '}' ? '{' : '[';
    if (j->depth == 0 || j->open[j->depth - 1] != opened || !(empty || j->expects == JSON_NEXT))
        j->wrong = true;
    else
        j->depth--;
    j->values += c == '}' && j->depth == 2;
    j->expects = JSON_NEXT;
}

static void json_structure(struct json_stream *j, char c)
{
    bool value = j->expects == JSON_VALUE || j->expects == JSON_FIRST;
    if (isspace((unsigned char)c))
        return;
    if (c == '"' && (value || j->expects == JSON_KEY || j->expects == JSON_FIRST_KEY)) {
        j->is_key = !value;
        j->inside = JSON_STRING;
    } else if ((c == '{' || c == '[') && value && j->depth < 63) {
        j->open[j->depth++] = c;
        j->expects = c == '{' ? JSON_FIRST_KEY : JSON_FIRST;
    } else if (c == '}' || c == ']') {
        json_close(j, c);
    } else if (c == ':' && j->expects == JSON_COLON) {
        j->expects = JSON_VALUE;
    } else if (c == ',' && j->expects == JSON_NEXT && j->depth > 0) {
        j->expects = j->open[j->depth - 1] == '{' ? JSON_KEY : JSON_VALUE;
    } else if (value) {
        j->inside = JSON_WORD;
        j->word[0] = c;
        j->length = 1;
    } else {
        j->wrong = true;
    }
}

static void json_char(struct json_stream *j, char c)
{
    if (j->inside == JSON_ESCAPE) {
        j->wrong |= !strchr("\"\\/bfnrtu", c);
        j->inside = JSON_STRING;
    } else if (j->inside == JSON_STRING) {
        j->wrong |= (unsigned char)c < 0x20;
        j->inside = c == '\\' ? JSON_ESCAPE : c == '"' ? JSON_NOTHING : JSON_STRING;
        if (c == '"')
            j->expects = j->is_key ? JSON_COLON : JSON_NEXT;
    } else if (j->inside == JSON_WORD && (isalnum((unsigned char)c) || strchr("+-.", c))) {
        j->wrong |= j->length + 1 >= sizeof j->word;
        j->word[j->length < 38 ? j->length++ : 38] = c;
    } else {
        if (j->inside == JSON_WORD) {
            j->word[j->length] = '\0';
            j->wrong |= !json_is_word(j->word);
            j->expects = JSON_NEXT;
            j->inside = JSON_NOTHING;
        }
        json_structure(j, c);
    }
}

static inline void json_feed(struct json_stream *j, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length && !j->wrong; i++)
        json_char(j, bytes[i]);
}

/* One whole value and nothing open. */
static inline bool json_is_whole(const struct json_stream *j)
{
    return !j->wrong && j->depth == 0 && j->expects == JSON_NEXT && j->inside == JSON_NOTHING;
}

#endif
