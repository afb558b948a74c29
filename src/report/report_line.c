#include "report/report_line.h"

#include <stdio.h>
#include <string.h>

/* What one character of the input becomes: its bytes and its columns. */
struct glyph {
    const char *bytes;
    size_t length;
    int columns;
};

/* Reads one UTF-8 character and steps over it; -1 for a byte that does not begin a valid one. */
static int32_t decode(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    int32_t code = length == 1 ? s[0] : s[0] & (0xff >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            length = 0; /* also stops at the terminator */
        else
            code = code << 6 | (s[i] & 0x3f);
    }
    bool valid = length && s[0] < 0xf5 && code >= least[length] && code <= 0x10ffff &&
                 (code < 0xd800 || code > 0xdfff) &&
                 (code & 0xfffe) != 0xfffe; /* no characters, and XML allows some of them nowhere */
    *text += valid ? length : 1;
    return valid ? code : -1;
}

static bool within(int32_t code, const int32_t (*ranges)[2], int n)
{
    for (int i = 0; i < n; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

/* Roughly what terminals do, from Unicode's East Asian Width and the combining blocks. */
static int columns_of_code(int32_t code)
{
    static const int32_t none[][2] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},
                                      {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064},
                                      {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}};
    static const int32_t two[][2] = {{0x1100, 0x115f},   {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                                     {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                     {0xffe0, 0xffe6},   {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
                                     {0x1f900, 0x1faff}, {0x20000, 0x3fffd}};
    if (within(code, none, sizeof none / sizeof none[0]))
        return 0;
    return within(code, two, sizeof two / sizeof two[0]) ? 2 : 1;
}

static struct glyph plain(const char *ascii)
{
    return (struct glyph){ascii, strlen(ascii), (int)strlen(ascii)};
}

/* How the characters that assay itself writes look where there is only ASCII. */
static struct glyph spelt_out(int32_t code)
{
    static const struct {
        int32_t code;
        const char *ascii;
    } spellings[] = {
        {0xb1, "+/-"},   /* ± */
        {0xb7, "|"},     /* · */
        {0xd7, "x"},     /* × */
        {0x2013, "-"},   /* – */
        {0x2026, "..."}, /* … */
        {0x2500, "-"},   /* ─ */
        {0x2502, "|"},   /* │ */
        {0x250c, "+"},   /* ┌ */
        {0x2510, "+"},   /* ┐ */
        {0x2514, "+"},   /* └ */
        {0x2518, "+"},   /* ┘ */
        {0x251c, "+"},   /* ├ */
        {0x2524, "+"},   /* ┤ */
        {0x252c, "+"},   /* ┬ */
        {0x2534, "+"},   /* ┴ */
        {0x253c, "+"},   /* ┼ */
        {0x2581, "_"},   /* ▁ */
        {0x2582, "_"},   /* ▂ */
        {0x2583, "."},   /* ▃ */
        {0x2584, "."},   /* ▄ */
        {0x2585, ":"},   /* ▅ */
        {0x2586, ":"},   /* ▆ */
        {0x2587, "|"},   /* ▇ */
        {0x2588, "#"},   /* █ */
        {0x2591, "."},   /* ░ */
        {0x2592, "="},   /* ▒ */
        {0x25b8, ">"},   /* ▸ */
        {0x25cb, "o"},   /* ○ */
        {0x2713, "ok"},  /* ✓ */
        {0x2717, "x"},   /* ✗ */
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
        if (spellings[i].code == code)
            return plain(spellings[i].ascii);
    return plain("?");
}

/* Separators of lines, and what shows a name in another order than it has. */
static bool turns_writing(int32_t code)
{
    static const int32_t ranges[][2] = {
        {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    return within(code, ranges, sizeof ranges / sizeof ranges[0]);
}

static struct glyph next_glyph(const char **text, bool ascii)
{
    const char *start = *text;
    if (*start >= ' ' && *start <= '~') { /* nearly all of them */
        ++*text;
        return (struct glyph){start, 1, 1};
    }
    int32_t code = decode(text);
    if (code < 0)
        return plain("?");
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || turns_writing(code))
        return plain(" ");
    if (ascii && code >= 0x7f)
        return spelt_out(code);
    return (struct glyph){start, (size_t)(*text - start), columns_of_code(code)};
}

int assay_line_columns_of(const char *text, bool ascii)
{
    int columns = 0;
    while (*text)
        columns += next_glyph(&text, ascii).columns;
    return columns;
}

void assay_line_init(struct assay_line *line, const struct assay_report_style *style)
{
    line->ascii = style->ascii;
    line->colour = style->colour;
    line->columns = 0;
    line->length = 0;
}

static void append(struct assay_line *line, const char *bytes, size_t length)
{
    if (length > sizeof line->bytes - line->length)
        return;
    memcpy(line->bytes + line->length, bytes, length);
    line->length += length;
}

static void append_glyph(struct assay_line *line, struct glyph glyph)
{
    append(line, glyph.bytes, glyph.length);
    line->columns += glyph.columns;
}

static const char *ink_code(enum assay_line_ink ink)
{
    static const char *const codes[] = {
        [ASSAY_INK_PLAIN] = "",
        [ASSAY_INK_BOLD] = "\033[1m",
        [ASSAY_INK_DIM] = "\033[2m",
        [ASSAY_INK_GOOD] = "\033[32m",
        [ASSAY_INK_BEST] = "\033[1;32m",
        [ASSAY_INK_WARN] = "\033[33m",
        [ASSAY_INK_BAD] = "\033[31m",
        [ASSAY_INK_SERIES] = "\033[36m",
        "\033[33m",
        "\033[35m",
        "\033[32m",
        "\033[34m",
        "\033[31m",
    };
    return codes[ink];
}

static void set_ink(struct assay_line *line, const char *code)
{
    if (line->colour)
        append(line, code, strlen(code));
}

static void reset_ink(struct assay_line *line, enum assay_line_ink ink)
{
    if (ink != ASSAY_INK_PLAIN)
        set_ink(line, "\033[0m");
}

/* Glyphs while they fit into `width`. */
static void put_glyphs(struct assay_line *line, const char *text, int width)
{
    while (*text) {
        struct glyph glyph = next_glyph(&text, line->ascii);
        if (glyph.columns > width)
            return;
        append_glyph(line, glyph);
        width -= glyph.columns;
    }
}

void assay_line_put(struct assay_line *line, const char *text, int width, enum assay_line_ink ink)
{
    if (width <= 0 || !*text)
        return;
    set_ink(line, ink_code(ink));
    if (assay_line_columns_of(text, line->ascii) <= width) {
        put_glyphs(line, text, width);
    } else {
        int ellipsis = line->ascii ? 3 : 1;
        put_glyphs(line, text, width - ellipsis);
        put_glyphs(line, "…", width);
    }
    reset_ink(line, ink);
}

void assay_line_rule(struct assay_line *line, int column, enum assay_line_ink ink)
{
    set_ink(line, ink_code(ink));
    while (line->columns < column)
        put_glyphs(line, "─", 1);
    reset_ink(line, ink);
}

void assay_line_to(struct assay_line *line, int column)
{
    while (line->columns < column)
        append_glyph(line, plain(" "));
}

void assay_line_left(struct assay_line *line, const char *text, int width, enum assay_line_ink ink)
{
    int start = line->columns;
    assay_line_put(line, text, width, ink);
    assay_line_to(line, start + width);
}

void assay_line_right(struct assay_line *line, const char *text, int width, enum assay_line_ink ink)
{
    assay_line_to(line, line->columns + width - assay_line_columns_of(text, line->ascii));
    assay_line_put(line, text, width, ink);
}

void assay_line_flush(struct assay_line *line, const struct assay_sink *sink)
{
    while (line->length && line->bytes[line->length - 1] == ' ')
        line->length--;
    if (line->length)
        sink->write(sink->user, line->bytes, line->length);
    sink->write(sink->user, "\n", 1);
    line->length = 0;
    line->columns = 0;
}

int assay_line_wrap(struct assay_line *line, const struct assay_sink *sink, const char *text,
                    int indent, int width, enum assay_line_ink ink)
{
    char word[512];
    bool follows = false; /* another word of the text on this line */
    int lines = 0;
    if (line->columns + assay_line_columns_of(text, line->ascii) <= width) {
        assay_line_put(line, text, width - line->columns, ink);
        return 0;
    }
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if ((follows || line->columns > indent) &&
            line->columns + follows + assay_line_columns_of(word, line->ascii) > width) {
            assay_line_flush(line, sink);
            assay_line_to(line, indent);
            follows = false;
            lines++;
        }
        if (follows)
            assay_line_put(line, " ", 1, ASSAY_INK_PLAIN);
        assay_line_put(line, word, width - line->columns, ink);
        follows = true;
        text += length;
    }
    return lines;
}

void assay_flow_item(struct assay_flow *flow, const char *fmt, ...)
{
    char item[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(item, sizeof item, fmt, args);
    va_end(args);
    struct assay_line *line = flow->line;
    if (flow->started &&
        line->columns + 3 + assay_line_columns_of(item, line->ascii) > flow->width) {
        assay_line_flush(line, flow->sink);
        flow->started = false;
    }
    if (flow->started)
        assay_line_put(line, " · ", 3, ASSAY_INK_DIM);
    assay_line_to(line, flow->indent);
    assay_line_wrap(line, flow->sink, item, flow->indent, flow->width, flow->ink);
    flow->started = true;
}
