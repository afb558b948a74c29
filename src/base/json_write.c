/* json_write.c: JSON values as text, in the layout of the library that keeps them, but for numbers:
 * these have no more digits than it takes to read the same number back. */
#include "base/json.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct writer {
    struct assay_text *out;
    int indent; /* 0: all on one line */
};

static void write_char(struct writer *w, unsigned char c)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *special = c ? strchr(escaped, c) : NULL;
    if (special)
        assay_text_format(w->out, "\\%c", letters[special - escaped]);
    else if (c < 0x20)
        assay_text_format(w->out, "\\u%04X", c);
    else
        assay_text_append(w->out, (const char *)&c, 1);
}

static void write_string(struct writer *w, const char *text, size_t length)
{
    assay_text_add(w->out, "\"");
    for (size_t i = 0; i < length; i++) {
        size_t plain = i;
        while (plain < length && (unsigned char)text[plain] >= 0x20 && text[plain] != '"' &&
               text[plain] != '\\')
            plain++;
        assay_text_append(w->out, text + i, plain - i);
        if (plain < length)
            write_char(w, (unsigned char)text[plain]);
        i = plain;
    }
    assay_text_add(w->out, "\"");
}

/* "1.5", "2.0", "1e22", "1e-7": a real stays one when it is read back. */
static void write_real(struct writer *w, double value)
{
    char digits[ASSAY_TEXT_REAL];
    assay_text_real(value, digits, sizeof digits);
    char *exponent = strchr(digits, 'e');
    if (!exponent) {
        assay_text_add(w->out, digits);
        assay_text_add(w->out, strchr(digits, '.') ? "" : ".0");
        return;
    }
    bool negative = exponent[1] == '-';
    const char *power = exponent + 1 + strspn(exponent + 1, "+-");
    power += strspn(power, "0");
    assay_text_append(w->out, digits, (size_t)(exponent - digits));
    assay_text_add(w->out, negative ? "e-" : "e");
    assay_text_add(w->out, power);
}

static void new_line(struct writer *w, int depth)
{
    if (w->indent > 0)
        assay_text_format(w->out, "\n%*s", w->indent * depth, "");
}

static void write_value(struct writer *w, const json_t *value, int depth);

static void write_array(struct writer *w, const json_t *array, int depth)
{
    size_t n = json_array_size(array);
    assay_text_add(w->out, "[");
    for (size_t i = 0; i < n; i++) {
        assay_text_add(w->out, i ? "," : "");
        new_line(w, depth + 1);
        write_value(w, json_array_get(array, i), depth + 1);
    }
    if (n)
        new_line(w, depth);
    assay_text_add(w->out, "]");
}

static void write_object(struct writer *w, json_t *object, int depth)
{
    const char *separator = "";
    assay_text_add(w->out, "{");
    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at)) {
        const char *key = json_object_iter_key(at);
        assay_text_add(w->out, separator);
        new_line(w, depth + 1);
        write_string(w, key, strlen(key));
        assay_text_add(w->out, w->indent > 0 ? ": " : ":");
        write_value(w, json_object_iter_value(at), depth + 1);
        separator = ",";
    }
    if (separator[0])
        new_line(w, depth);
    assay_text_add(w->out, "}");
}

static void write_value(struct writer *w, const json_t *value, int depth)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        write_object(w, (json_t *)(uintptr_t)value, depth); /* iterating changes nothing */
        break;
    case JSON_ARRAY:
        write_array(w, value, depth);
        break;
    case JSON_STRING:
        write_string(w, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        assay_text_format(w->out, "%lld", (long long)json_integer_value(value));
        break;
    case JSON_REAL:
        write_real(w, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        assay_text_add(w->out, json_is_true(value) ? "true" : "false");
        break;
    case JSON_NULL:
        assay_text_add(w->out, "null");
        break;
    }
}

void assay_json_write(const assay_json *value, int indent, struct assay_text *out)
{
    struct writer w = {out, indent};
    if (assay_json_is_complete(value))
        write_value(&w, value, 0);
    else
        out->failed = true;
}
