/* draw_text.c: how wide text becomes, cutting it, and escaping it.
 *
 * Widths are the widest of DejaVu Sans, Liberation Sans (Arial, Helvetica), Noto Sans, Roboto,
 * Cantarell, Inter and Open Sans; Segoe UI and San Francisco are narrower than the first two. What
 * is not in their table counts as wide as such characters come, so only letters that join to
 * uncommon ligatures could be wider. */
#include "report/draw/draw_put.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Of ' ' to '~', per mille of the font's size. */
static const int16_t regular_widths[] = {
    318,  401, 460, 838, 638, 987, 780, 275, 391, 391, 552, 838, 318, 461, 318, 413, /*  !"#$%&' */
    637,  637, 637, 637, 643, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 557, /* 01234567 */
    1016, 685, 687, 728, 771, 667, 611, 778, 752, 339, 552, 667, 563, 907, 760, 788, /* @ABCDEFG */
    667,  788, 723, 667, 643, 742, 685, 989, 686, 667, 686, 391, 411, 391, 838, 557, /* PQRSTUVW */
    578,  613, 635, 559, 635, 616, 361, 635, 634, 278, 278, 580, 278, 975, 634, 612, /* `abcdefg */
    635,  635, 413, 523, 393, 634, 592, 818, 592, 592, 542, 637, 551, 637, 838,      /* pqrstuvw */
};
static const int16_t bold_widths[] = {
    349,  457, 521, 838, 696, 1013, 873, 307,  458, 458, 565, 838, 380, 469,  380, 414,
    696,  696, 696, 696, 696, 696,  696, 696,  696, 696, 400, 400, 838, 838,  838, 611,
    1031, 774, 763, 753, 831, 684,  684, 821,  837, 389, 570, 775, 638, 996,  837, 851,
    733,  851, 771, 721, 683, 813,  774, 1104, 771, 725, 726, 458, 423, 458,  838, 557,
    607,  675, 716, 593, 716, 679,  436, 716,  712, 343, 343, 666, 343, 1042, 712, 688,
    716,  716, 494, 596, 479, 712,  652, 924,  646, 652, 583, 712, 551, 712,  838,
};

/* Ranges of others, the first that fits. */
static const struct {
    uint32_t first, last;
    int width;
} others[] = {
    {0x300, 0x341, 0},   /* combining, in every font */
    {0x342, 0x36f, 700}, /* … a box of its own where the font has none */
    {0x483, 0x489, 700},      {0x591, 0x5bd, 700},    {0x20d0, 0x20f0, 700},
    {0xfe20, 0xfe2f, 700},    {0x200b, 0x200d, 0}, /* never shown */
    {0x2060, 0x2064, 0},      {0xfe00, 0xfe0f, 0},    {0xfeff, 0xfeff, 0},
    {0xe0100, 0xe01ef, 0},    {0xb0, 0xb0, 500}, /* degree */
    {0xb1, 0xb1, 838},                           /* plus-minus */
    {0xb2, 0xb3, 440},                           /* squared, cubed */
    {0xb5, 0xb5, 740},                           /* micro */
    {0xb7, 0xb7, 380},                           /* middle dot */
    {0xd7, 0xd7, 838},                           /* times */
    {0xdf, 0xf6, 800},                           /* small letters; ae is the widest of Latin-1 */
    {0xe6, 0xe6, 1050},       {0xf8, 0xff, 800},      {0xa0, 0x24f, 1100},
    {0x3b1, 0x3c9, 900},                             /* small Greek letters */
    {0x430, 0x45f, 1000},                            /* small Cyrillic letters */
    {0x2013, 0x2013, 660},                           /* dashes */
    {0x2014, 0x2014, 1010},   {0x2018, 0x201f, 520}, /* quotation marks */
    {0x2026, 0x2026, 1010},                          /* ellipsis */
    {0x2260, 0x2265, 840},                           /* comparisons */
    {0x1100, 0x115f, 1100},                          /* wide: Hangul, Han, Kana, full width */
    {0x2e80, 0xa4cf, 1100},   {0xac00, 0xd7a3, 1100}, {0xf900, 0xfaff, 1100},
    {0xfe30, 0xfe6f, 1100},   {0xff00, 0xff60, 1100}, {0xffe0, 0xffe6, 1100},
    {0x20000, 0x3fffd, 1100},
};
enum { WIDEST = 1500 }; /* of what is in none of them: symbols, emoji, other scripts */

/* ---- one character -------------------------------------------------------------------------- */

/* As it is drawn: itself, or spelt out. */
struct glyph {
    char bytes[20]; /* four times \xff at the most */
    size_t length;
    int width; /* per mille of the size */
};

static uint32_t code_of(const char *bytes, size_t n)
{
    const unsigned char *c = (const unsigned char *)bytes;
    uint32_t code = n == 1 ? c[0] : c[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        code = code << 6 | (c[i] & 0x3f);
    return code;
}

/* Controls, what turns the direction of writing, and what XML has no place for. */
static bool is_spelt_out(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
           (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || (code & 0xfffe) == 0xfffe;
}

static int width_of_code(uint32_t code, bool bold)
{
    if (code >= ' ' && code <= '~')
        return (bold ? bold_widths : regular_widths)[code - ' '];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (code >= others[i].first && code <= others[i].last)
            return bold ? others[i].width * 11 / 10 : others[i].width;
    return bold ? WIDEST * 11 / 10 : WIDEST;
}

static void spell_out(struct glyph *glyph, const char *bytes, size_t n)
{
    char *at = glyph->bytes;
    size_t left = sizeof glyph->bytes;
    if (*bytes == '\n' || *bytes == '\t') {
        snprintf(at, left, "\\%c", *bytes == '\n' ? 'n' : 't');
        return;
    }
    for (size_t i = 0; i < n; i++, at += 4, left -= 4)
        snprintf(at, left, "\\x%02x", (unsigned char)bytes[i]);
}

/* The next of a text, which is stepped over; false at its end. */
static bool next_glyph(const char **text, bool bold, struct glyph *glyph)
{
    size_t rest = strnlen(*text, 4), n = assay_text_utf8(*text, rest);
    if (rest == 0)
        return false;
    *glyph = (struct glyph){.length = n};
    if (n > 0 && !is_spelt_out(code_of(*text, n))) {
        memcpy(glyph->bytes, *text, n);
        glyph->width = width_of_code(code_of(*text, n), bold);
    } else {
        spell_out(glyph, *text, n ? n : 1);
        glyph->length = strlen(glyph->bytes);
        for (size_t i = 0; i < glyph->length; i++)
            glyph->width += width_of_code((unsigned char)glyph->bytes[i], bold);
    }
    *text += n ? n : 1;
    return true;
}

/* ---- texts ---------------------------------------------------------------------------------- */

static int64_t width_in_mille(const char *text, bool bold)
{
    int64_t width = 0;
    struct glyph glyph;
    while (next_glyph(&text, bold, &glyph))
        width += glyph.width;
    return width;
}

double assay_draw_text_width(const char *text, int size, bool bold)
{
    return (double)width_in_mille(text, bold) * size / 1000;
}

static void add_escaped(struct assay_text *out, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char *special = bytes[i] == '<'    ? "&lt;"
                              : bytes[i] == '>'  ? "&gt;"
                              : bytes[i] == '&'  ? "&amp;"
                              : bytes[i] == '"'  ? "&quot;"
                              : bytes[i] == '\'' ? "&#39;"
                                                 : NULL;
        if (special)
            assay_text_add(out, special);
        else
            assay_text_append(out, bytes + i, 1);
    }
}

/* Lines stay lines. */
void assay_draw_escape(struct assay_text *out, const char *text)
{
    struct glyph glyph;
    for (const char *at = text; next_glyph(&text, false, &glyph); at = text)
        if (*at == '\n' || *at == '\t')
            assay_text_append(out, at, 1);
        else
            add_escaped(out, glyph.bytes, glyph.length);
}

/* What is drawn of a text where there are `most` pixels; gives its width. */
static double put_fitting(struct assay_text *out, const char *text, int size, bool bold,
                          double most, void (*put)(struct assay_text *, const char *, size_t))
{
    static const char ellipsis[] = "…";
    int64_t limit = most > 0 && most < 1e9 ? (int64_t)floor(most * 1000 / size) : INT64_MAX;
    int64_t width = width_in_mille(text, bold), used = 0;
    bool cut = width > limit;
    struct glyph glyph;
    if (cut)
        limit -= width_in_mille(ellipsis, bold);
    if (limit < 0 || most < 0)
        return 0;
    while (next_glyph(&text, bold, &glyph) && used + glyph.width <= limit) {
        put(out, glyph.bytes, glyph.length);
        used += glyph.width;
    }
    if (cut) {
        put(out, ellipsis, strlen(ellipsis));
        used += width_in_mille(ellipsis, bold);
    }
    return (double)used * size / 1000;
}

void assay_draw_cut(const char *text, int size, bool bold, double most, struct assay_text *out)
{
    put_fitting(out, text, size, bold, most, assay_text_append);
}

static void put_font(struct assay_drawing *d, double x, double y, struct assay_draw_font font)
{
    static const char *const anchors[] = {
        [ASSAY_DRAW_MIDDLE] = " text-anchor=\"middle\"",
        [ASSAY_DRAW_RIGHT] = " text-anchor=\"end\"",
        [ASSAY_DRAW_LEFT] = "",
    };
    assay_draw_put(d, "x", x);
    assay_draw_put(d, "y", y);
    assay_draw_put(d, "font-size", font.size);
    if (font.bold)
        assay_text_add(&d->body, " font-weight=\"600\"");
    assay_text_add(&d->body, anchors[font.anchor]);
    assay_draw_put_ink(d, "fill", font.ink);
    if (font.halo) {
        assay_draw_put_ink(d, "stroke", ASSAY_DRAW_BACKGROUND);
        assay_text_add(&d->body, " stroke-width=\"3\" stroke-linejoin=\"round\" "
                                 "paint-order=\"stroke\"");
    }
    if (!font.upwards)
        return;
    assay_text_add(&d->body, " transform=\"rotate(-90 ");
    assay_draw_put_number(&d->body, x);
    assay_text_add(&d->body, " ");
    assay_draw_put_number(&d->body, y);
    assay_text_add(&d->body, ")\"");
}

double assay_draw_text(struct assay_drawing *d, double x, double y, double most,
                       struct assay_draw_font font, const char *text)
{
    struct assay_text escaped = {0};
    double width = put_fitting(&escaped, text, font.size, font.bold, most, add_escaped);
    d->body.failed |= escaped.failed;
    if (escaped.length && assay_draw_reaches(d, x, y)) {
        assay_text_add(&d->body, "<text");
        put_font(d, x, y, font);
        assay_text_add(&d->body, ">");
        assay_text_append(&d->body, escaped.data, escaped.length);
        assay_text_add(&d->body, "</text>\n");
    }
    assay_text_fini(&escaped);
    return width;
}
