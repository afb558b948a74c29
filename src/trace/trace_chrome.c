/* trace_chrome.c: Chrome's trace JSON, in the object form: one event on each line. Times are in
 * microseconds with three digits behind the point, which are the nanoseconds. */
#include "trace/trace_put.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put_text(assay_trace_writer *w, const char *text)
{
    assay_trace_put(w, text, strlen(text));
}

/* Digits by hand: a million events have ten million of these. */
static void put_int(assay_trace_writer *w, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        digits[--at] = '-';
    assay_trace_put(w, digits + at, sizeof digits - at);
}

static void put_us(assay_trace_writer *w, int64_t ns)
{
    char behind[5] = ".000";
    if (ns < 0) { /* before the origin */
        put_text(w, "-");
        ns = -ns;
    }
    int64_t whole = ns / 1000, part = ns % 1000;
    put_int(w, whole);
    for (int i = 3; i > 0; i--, part /= 10)
        behind[i] = (char)('0' + part % 10);
    if (memcmp(behind, ".000", 4) != 0)
        assay_trace_put(w, behind, 4);
}

static void put_number(assay_trace_writer *w, double value)
{
    static const double EXACT = 9007199254740992.0; /* 2^53 */
    char digits[ASSAY_TEXT_REAL];
    if (!isfinite(value)) {
        put_text(w, "null");
    } else if (value == floor(value) && fabs(value) < EXACT) {
        put_int(w, (int64_t)value);
    } else {
        assay_text_real(value, digits, sizeof digits);
        put_text(w, digits);
    }
}

static void put_string(assay_trace_writer *w, const char *text)
{
    char clean[ASSAY_TRACE_NAME], escaped[8];
    size_t length = assay_trace_clean(text, clean, sizeof clean), from = 0;
    assay_trace_put(w, "\"", 1);
    for (size_t i = 0; i <= length; i++) {
        unsigned char c = (unsigned char)clean[i];
        if (i < length && c >= 0x20 && c != '"' && c != '\\')
            continue;
        assay_trace_put(w, clean + from, i - from);
        from = i + 1;
        if (i == length)
            break;
        snprintf(escaped, sizeof escaped, c < 0x20 ? "\\u%04x" : "\\%c", c);
        put_text(w, escaped);
    }
    assay_trace_put(w, "\"", 1);
}

static void put_args(assay_trace_writer *w, const struct assay_trace_arg *args, int32_t n)
{
    put_text(w, "{");
    for (int32_t i = 0; i < n; i++) {
        put_text(w, i ? "," : "");
        put_string(w, args[i].key);
        put_text(w, ":");
        if (args[i].text)
            put_string(w, args[i].text);
        else
            put_number(w, args[i].number);
    }
    put_text(w, "}");
}

/* What every event begins with: `{"ph":"X","pid":1,"tid":2,"name":"gelu"`. */
static void begin_event(assay_trace_writer *w, const char *phase, struct assay_trace_track track,
                        const char *name)
{
    put_text(w, w->started ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    w->started = true;
    put_text(w, phase);
    put_text(w, "\",\"pid\":");
    put_int(w, track.process);
    put_text(w, ",\"tid\":");
    put_int(w, track.track);
    put_text(w, ",\"name\":");
    put_string(w, name);
}

static void begin(assay_trace_writer *w)
{
    put_text(w, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

static void describe(assay_trace_writer *w, struct assay_trace_track track, const char *what,
                     struct assay_trace_arg arg)
{
    begin_event(w, "M", track, what);
    put_text(w, ",\"args\":");
    put_args(w, &arg, 1);
    put_text(w, "}");
}

static void process(assay_trace_writer *w, int32_t number, const char *name)
{
    const struct assay_trace_track track = {number, 0};
    describe(w, track, "process_name", (struct assay_trace_arg){"name", name, 0});
    describe(w, track, "process_sort_index", (struct assay_trace_arg){"sort_index", NULL, number});
}

static void track(assay_trace_writer *w, struct assay_trace_track t, const char *name,
                  int32_t order)
{
    describe(w, t, "thread_name", (struct assay_trace_arg){"name", name, 0});
    describe(w, t, "thread_sort_index", (struct assay_trace_arg){"sort_index", NULL, order});
}

/* A counter's track is made by its first event. */
static void counter_track(assay_trace_writer *w, struct assay_trace_track t, const char *name,
                          const char *unit)
{
    (void)w;
    (void)t;
    (void)name;
    (void)unit;
}

static void slice(assay_trace_writer *w, const struct assay_trace_slice *s)
{
    begin_event(w, "X", s->track, s->name);
    put_text(w, ",\"cat\":");
    put_string(w, s->category);
    put_text(w, ",\"ts\":");
    put_us(w, s->start_ns);
    put_text(w, ",\"dur\":");
    put_us(w, s->duration_ns);
    if (s->n_args > 0) {
        put_text(w, ",\"args\":");
        put_args(w, s->args, s->n_args);
    }
    put_text(w, "}");
}

static void counter(assay_trace_writer *w, struct assay_trace_track t, const char *name,
                    int64_t at_ns, double value)
{
    const struct assay_trace_arg arg = {"value", NULL, value};
    begin_event(w, "C", t, name);
    put_text(w, ",\"ts\":");
    put_us(w, at_ns);
    put_text(w, ",\"args\":");
    put_args(w, &arg, 1);
    put_text(w, "}");
}

static void end(assay_trace_writer *w, const struct assay_trace_arg *about, int32_t n)
{
    put_text(w, "\n],\"otherData\":");
    put_args(w, about, n);
    put_text(w, "}\n");
}

const struct assay_trace_writing assay_trace_chrome = {begin, process, track, counter_track,
                                                       slice, counter, end};
