#include "report/report_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void assay_sink_put(const struct assay_sink *sink, const char *text)
{
    size_t length = strlen(text);
    if (length)
        sink->write(sink->user, text, length);
}

void assay_sink_fail(const struct assay_sink *sink)
{
    if (sink->incomplete)
        *sink->incomplete = true;
}

void assay_sink_format(const struct assay_sink *sink, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    assay_sink_put(sink, text);
}

static void put_lines(const struct assay_sink *sink, const char *text, int indent)
{
    for (const char *end = strchr(text, '\n'); end; end = strchr(text, '\n')) {
        sink->write(sink->user, text, (size_t)(end + 1 - text));
        assay_sink_format(sink, "%*s", indent, "");
        text = end + 1;
    }
    assay_sink_put(sink, text);
}

void assay_sink_json(const struct assay_sink *sink, assay_json *value, int indent)
{
    struct assay_text text = {0};
    assay_json_write(value, indent > 0 ? 2 : 0, &text);
    if (text.failed || !text.data) {
        assay_sink_put(sink, "null");
        assay_sink_fail(sink);
    } else {
        put_lines(sink, text.data, indent);
    }
    assay_text_fini(&text);
    assay_json_free(value);
}

/* A number may begin with a sign, and a dash alone stands for nothing. */
static bool looks_like_formula(const char *text)
{
    static const char *const beginnings[] = {"=",  "+",  "-",  "@",  "\t", "\r",
                                             "\n", "＝", "＋", "－", "＠"};
    double number;
    if (!text[0] || !text[1] || assay_text_double(text, &number) == ASSAY_OK)
        return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static void put_field(const struct assay_sink *sink, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        assay_sink_put(sink, text);
        return;
    }
    assay_sink_put(sink, "\"");
    for (const char *quote = strchr(text, '"'); quote; quote = strchr(text, '"')) {
        sink->write(sink->user, text, (size_t)(quote + 1 - text));
        assay_sink_put(sink, "\"");
        text = quote + 1;
    }
    assay_sink_put(sink, text);
    assay_sink_put(sink, "\"");
}

void assay_sink_csv(const struct assay_sink *sink, const char *text)
{
    struct assay_text shown = {0};
    if (looks_like_formula(text))
        assay_text_add(&shown, "'");
    assay_text_add_shown_lines(&shown, text);
    if (shown.failed)
        assay_sink_fail(sink);
    else if (shown.data)
        put_field(sink, shown.data);
    assay_text_fini(&shown);
}

void assay_sink_csv_real(const struct assay_sink *sink, double value)
{
    char text[ASSAY_TEXT_REAL];
    assay_text_real(value, text, sizeof text);
    if (isfinite(value))
        assay_sink_put(sink, text);
}

void assay_sink_csv_level(const struct assay_sink *sink, double db)
{
    if (isinf(db) && db > 0)
        assay_sink_put(sink, "inf");
    else
        assay_sink_csv_real(sink, db);
}
