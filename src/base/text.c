#include "base/text.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void assay_text_fini(struct assay_text *text)
{
    assay_free(text->data);
    *text = (struct assay_text){0};
}

void assay_text_clear(struct assay_text *text)
{
    text->length = 0;
    if (text->data)
        text->data[0] = '\0';
}

static bool reserve(struct assay_text *text, size_t extra)
{
    if (text->failed)
        return false;
    size_t need = text->length + extra + 1;
    if (need <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity * 2 : 128;
    if (capacity < need)
        capacity = need;
    char *data = assay_realloc(text->data, capacity, 1);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void assay_text_append(struct assay_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void assay_text_add(struct assay_text *text, const char *string)
{
    assay_text_append(text, string, strlen(string));
}

void assay_text_format(struct assay_text *text, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0)
        text->failed = true;
    else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, fmt, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

size_t assay_text_utf8(const char *bytes, size_t length)
{
    const unsigned char *c = (const unsigned char *)bytes;
    if (length == 0 || (c[0] >= 0x80 && c[0] < 0xc2) || c[0] > 0xf4)
        return 0;
    size_t n = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if (i >= length || (c[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool surrogate = c[0] == 0xed && c[1] >= 0xa0, too_large = c[0] == 0xf4 && c[1] >= 0x90;
    return overlong || surrogate || too_large ? 0 : n;
}

bool assay_text_is_utf8(const char *string)
{
    size_t left = strlen(string), n = 1;
    for (; left > 0 && (n = assay_text_utf8(string, left)) > 0; left -= n)
        string += n;
    return left == 0;
}

/* C0, DEL, C1; marks, embeddings and isolates that turn the direction of writing; separators of
 * lines and paragraphs. Of `n` bytes. */
static bool is_control(const unsigned char *c, size_t n)
{
    if (n == 1)
        return *c < ' ' || *c == 0x7f;
    if (n == 2)
        return (c[0] == 0xc2 && c[1] < 0xa0) || (c[0] == 0xd8 && c[1] == 0x9c);
    if (n != 3 || c[0] != 0xe2)
        return false;
    return (c[1] == 0x80 && ((c[2] >= 0x8e && c[2] <= 0x8f) || (c[2] >= 0xa8 && c[2] <= 0xae))) ||
           (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9);
}

static void add_shown(struct assay_text *text, const char *string, bool lines)
{
    const unsigned char *c = (const unsigned char *)string, *end = c + strlen(string);
    while (*c) {
        size_t n = assay_text_utf8((const char *)c, (size_t)(end - c));
        bool blank = *c == '\n' || *c == '\t';
        if (blank && !lines)
            assay_text_add(text, *c == '\n' ? "\\n" : "\\t");
        else if (n == 0 || (is_control(c, n) && !blank))
            for (size_t i = 0; i < (n ? n : 1); i++)
                assay_text_format(text, "\\x%02x", c[i]);
        else
            assay_text_append(text, (const char *)c, n);
        c += n ? n : 1;
    }
}

void assay_text_add_shown(struct assay_text *text, const char *string)
{
    add_shown(text, string, false);
}

void assay_text_add_shown_lines(struct assay_text *text, const char *string)
{
    add_shown(text, string, true);
}

bool assay_text_same(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    return *a == *b;
}

enum { NEAREST_MAX_LENGTH = 64 };

/* Levenshtein distance with one row of memory; words longer than the row are not near anything. */
static int64_t edit_distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > NEAREST_MAX_LENGTH || lb > NEAREST_MAX_LENGTH)
        return INT64_MAX;
    int64_t row[NEAREST_MAX_LENGTH + 1];
    for (size_t j = 0; j <= lb; j++)
        row[j] = (int64_t)j;
    for (size_t i = 1; i <= la; i++) {
        int64_t diagonal = row[0];
        row[0] = (int64_t)i;
        for (size_t j = 1; j <= lb; j++) {
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            int64_t best = diagonal + (same ? 0 : 1);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[lb];
}

const char *assay_text_nearest(const char *word, const char *const *candidates, int64_t n)
{
    const char *nearest = NULL;
    /* Half the word and one more, so that "mes" finds "mse", which is two edits; but never all of
     * it: two words of two letters with nothing in common are two edits apart. */
    int64_t length = (int64_t)strlen(word);
    int64_t least = length < 3 ? length - 1 : length / 2 + 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t distance = edit_distance(word, candidates[i]);
        if (distance <= least && (!nearest || distance < least)) {
            nearest = candidates[i];
            least = distance;
        }
    }
    return nearest;
}

/* Three significant digits without an exponent. */
static void three_digits(double value, const char *unit, char *buf, size_t size)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(buf, size, "%.*f %s", decimals, value, unit);
}

void assay_text_time(double ns, char *buf, size_t size)
{
    static const struct {
        double scale;
        const char *unit;
    } units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};
    int i = 0;
    while (i < 3 && ns / units[i].scale >= 999.5)
        i++;
    three_digits(ns / units[i].scale, units[i].unit, buf, size);
}

void assay_text_bytes(double bytes, char *buf, size_t size)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int i = 0;
    while (i < 4 && bytes >= (i ? 999.95 : 999.5)) {
        bytes /= 1000;
        i++;
    }
    snprintf(buf, size, "%.*f %s", i ? 1 : 0, bytes, units[i]);
}

void assay_text_count(double count, char *buf, size_t size)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    int i = 0;
    while (i < 6 && count >= (i ? 999.995 : 999.5)) {
        count /= 1000;
        i++;
    }
    snprintf(buf, size, "%.*f %s", i || count != (double)(int)count ? 2 : 0, count, prefixes[i]);
}

/* At most four decimals and 15 digits, as most numbers have: printf of whole numbers takes a third
 * of the time that trying takes. The product may be rounded; that the quotient is the value again
 * says that this decimal is meant. */
static bool has_few_decimals(double value, char *buf, size_t size)
{
    double scaled = value * 1e4;
    if (!(fabs(scaled) < 1e15) || scaled == 0 || scaled != floor(scaled) || scaled / 1e4 != value)
        return false;
    long long digits = (long long)fabs(scaled);
    int length =
        snprintf(buf, size, "%s%lld.%04lld", value < 0 ? "-" : "", digits / 10000, digits % 10000);
    while (buf[length - 1] == '0')
        buf[--length] = '\0';
    if (buf[length - 1] == '.')
        buf[length - 1] = '\0';
    return true;
}

void assay_text_real(double value, char *buf, size_t size)
{
    if (has_few_decimals(value, buf, size))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buf, size, "%.*g", digits, value);
        if (strtod(buf, NULL) == value)
            break;
    }
    char *point = strchr(buf, localeconv()->decimal_point[0]);
    if (point)
        *point = '.';
}

enum assay_status assay_text_int64(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || isspace((unsigned char)text[0]))
        return ASSAY_ERR_INVALID;
    *out = value;
    return ASSAY_OK;
}

enum assay_status assay_text_double(const char *text, double *out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || isspace((unsigned char)text[0]))
        return ASSAY_ERR_INVALID;
    *out = value;
    return ASSAY_OK;
}

struct suffix {
    const char *name;
    double scale;
};

/* A number followed by one of the suffixes; an empty suffix must be in the list to be allowed. */
static enum assay_status number_with_suffix(const char *text, const struct suffix *suffixes,
                                            double *out)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || !isfinite(value) || value < 0 || isspace((unsigned char)text[0]))
        return ASSAY_ERR_INVALID;
    for (const struct suffix *s = suffixes; s->name; s++)
        if (strcmp(end, s->name) == 0) {
            *out = value * s->scale;
            return ASSAY_OK;
        }
    return ASSAY_ERR_INVALID;
}

enum assay_status assay_text_size(const char *text, int64_t *out)
{
    static const struct suffix suffixes[] = {
        {"", 1},         {"B", 1},       {"k", 1e3},     {"K", 1e3},      {"M", 1e6},
        {"G", 1e9},      {"T", 1e12},    {"kB", 1e3},    {"MB", 1e6},     {"GB", 1e9},
        {"Ki", 0x1p10},  {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"KiB", 0x1p10}, {"MiB", 0x1p20},
        {"GiB", 0x1p30}, {NULL, 0},
    };
    double value;
    enum assay_status status = number_with_suffix(text, suffixes, &value);
    if (status != ASSAY_OK || value > 9e18)
        return ASSAY_ERR_INVALID;
    double whole = round(value); /* "1.005k" is 1004.9999999999999 in binary */
    if (!(fabs(value - whole) <= 1e-9 * value))
        return ASSAY_ERR_INVALID;
    *out = (int64_t)whole;
    return ASSAY_OK;
}

enum assay_status assay_text_duration(const char *text, double *out_s)
{
    static const struct suffix suffixes[] = {
        {"", 1},   {"s", 1},    {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
        {"m", 60}, {"min", 60}, {"h", 3600},  {NULL, 0},
    };
    return number_with_suffix(text, suffixes, out_s);
}

enum assay_status assay_text_fraction(const char *text, double *out)
{
    static const struct suffix suffixes[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};
    return number_with_suffix(text, suffixes, out);
}
