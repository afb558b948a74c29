/* draw_colour.c: what inks look like. Blue and orange for faster and slower, and the eight of
 * series, keep apart in normal sight and in protanopia, deuteranopia and tritanopia, as simulated
 * with the matrices of Machado, Oliveira and Fernandes (2009): by 0.075 or more in OKLab, which
 * test_draw_colour.c measures, with the contrasts. */
#include "report/draw/draw_put.h"

#include <math.h>
#include <stdio.h>

static const char *const names[ASSAY_DRAW_INKS] = {
    [ASSAY_DRAW_BACKGROUND] = "background",
    [ASSAY_DRAW_BORDER] = "border",
    [ASSAY_DRAW_GRID] = "grid",
    [ASSAY_DRAW_TEXT] = "text",
    [ASSAY_DRAW_MUTED] = "muted",
    [ASSAY_DRAW_FASTER] = "faster",
    [ASSAY_DRAW_SLOWER] = "slower",
    [ASSAY_DRAW_EVEN] = "even",
    [ASSAY_DRAW_FAILED] = "failed",
    [ASSAY_DRAW_SERIES] = "series-1",
    [ASSAY_DRAW_SERIES + 1] = "series-2",
    [ASSAY_DRAW_SERIES + 2] = "series-3",
    [ASSAY_DRAW_SERIES + 3] = "series-4",
    [ASSAY_DRAW_SERIES + 4] = "series-5",
    [ASSAY_DRAW_SERIES + 5] = "series-6",
    [ASSAY_DRAW_SERIES + 6] = "series-7",
    [ASSAY_DRAW_SERIES + 7] = "series-8",
};

static const char *const light[ASSAY_DRAW_INKS] = {
    [ASSAY_DRAW_BACKGROUND] = "#ffffff", [ASSAY_DRAW_BORDER] = "#d1d9e0",
    [ASSAY_DRAW_GRID] = "#e6eaef",       [ASSAY_DRAW_TEXT] = "#1f2328",
    [ASSAY_DRAW_MUTED] = "#59636e",      [ASSAY_DRAW_FASTER] = "#0a6fb8",
    [ASSAY_DRAW_SLOWER] = "#b84a00",     [ASSAY_DRAW_EVEN] = "#818b98",
    [ASSAY_DRAW_FAILED] = "#a40e26",     [ASSAY_DRAW_SERIES] = "#0072b2",
    [ASSAY_DRAW_SERIES + 1] = "#ed4700", [ASSAY_DRAW_SERIES + 2] = "#009b6d",
    [ASSAY_DRAW_SERIES + 3] = "#a03f6e", [ASSAY_DRAW_SERIES + 4] = "#735400",
    [ASSAY_DRAW_SERIES + 5] = "#0293ff", [ASSAY_DRAW_SERIES + 6] = "#212b72",
    [ASSAY_DRAW_SERIES + 7] = "#5a2235",
};

static const char *const dark[ASSAY_DRAW_INKS] = {
    [ASSAY_DRAW_BACKGROUND] = "#0d1117", [ASSAY_DRAW_BORDER] = "#3d444d",
    [ASSAY_DRAW_GRID] = "#212830",       [ASSAY_DRAW_TEXT] = "#f0f6fc",
    [ASSAY_DRAW_MUTED] = "#9198a1",      [ASSAY_DRAW_FASTER] = "#58a6ff",
    [ASSAY_DRAW_SLOWER] = "#f0883e",     [ASSAY_DRAW_EVEN] = "#7d8590",
    [ASSAY_DRAW_FAILED] = "#ff8fa3",     [ASSAY_DRAW_SERIES] = "#41c5ff",
    [ASSAY_DRAW_SERIES + 1] = "#f6651d", [ASSAY_DRAW_SERIES + 2] = "#28a570",
    [ASSAY_DRAW_SERIES + 3] = "#d58db6", [ASSAY_DRAW_SERIES + 4] = "#f2d331",
    [ASSAY_DRAW_SERIES + 5] = "#8753d7", [ASSAY_DRAW_SERIES + 6] = "#c6f6df",
    [ASSAY_DRAW_SERIES + 7] = "#a4582e",
};

/* Cells hold text in the ink of text, so their strongest colours leave it 4.5 to 1. */
struct blends {
    unsigned even, slower, faster, none, much; /* 0xrrggbb */
};
static const struct blends blends[] = {
    [ASSAY_DRAW_LIGHT] = {0xf1f3f5, 0xf08a3c, 0x58a2e0, 0xf1f5f9, 0x4ba3d6},
    [ASSAY_DRAW_DARK] = {0x1e242c, 0x9a4a0c, 0x1d62a8, 0x1b222b, 0x1a6a98},
};

const char *assay_draw_ink_name(enum assay_ink ink) { return names[ink]; }

const char *assay_draw_colour(enum assay_draw_look look, enum assay_ink ink)
{
    return look == ASSAY_DRAW_DARK ? dark[ink] : light[ink];
}

void assay_draw_put_ink(struct assay_drawing *d, const char *attribute, enum assay_ink ink)
{
    if (d->look == ASSAY_DRAW_PAGE)
        assay_text_format(&d->body, " %s=\"var(--ink-%s)\"", attribute, assay_draw_ink_name(ink));
    else
        assay_text_format(&d->body, " %s=\"%s\"", attribute, assay_draw_colour(d->look, ink));
}

/* Each of 40 series has another combination of colour and marker, and of colour, marker and dash
 * where there are more. */
enum assay_ink assay_draw_series_ink(int64_t series)
{
    return (enum assay_ink)(ASSAY_DRAW_SERIES + series % ASSAY_DRAW_SERIES_COUNT);
}

enum assay_dash assay_draw_series_dash(int64_t series)
{
    return (enum assay_dash)(series / ASSAY_DRAW_SERIES_COUNT % (ASSAY_DRAW_DASH_DOT + 1));
}

enum assay_marker assay_draw_series_marker(int64_t series)
{
    return (enum assay_marker)((series + series / ASSAY_DRAW_SERIES_COUNT) % ASSAY_DRAW_MARKERS);
}

/* ---- heat maps ------------------------------------------------------------------------------ */

static unsigned channel(unsigned from, unsigned to, int shift, int step)
{
    int a = (int)(from >> shift & 0xff), b = (int)(to >> shift & 0xff);
    int sum = a * (ASSAY_DRAW_STEPS - step) + b * step;
    return (unsigned)(sum + ASSAY_DRAW_STEPS / 2) / ASSAY_DRAW_STEPS << shift;
}

static unsigned blend(unsigned from, unsigned to, int step)
{
    return channel(from, to, 16, step) | channel(from, to, 8, step) | channel(from, to, 0, step);
}

static unsigned heat_colour(enum assay_draw_look look, int step) /* 0 to 16 */
{
    const struct blends *b = &blends[look];
    int from_even = step - ASSAY_DRAW_STEPS;
    return from_even < 0 ? blend(b->even, b->slower, -from_even)
                         : blend(b->even, b->faster, from_even);
}

static unsigned ramp_colour(enum assay_draw_look look, int step)
{
    return blend(blends[look].none, blends[look].much, step);
}

/* All cells leave it enough contrast. */
enum assay_ink assay_draw_heat_text(double part)
{
    (void)part;
    return ASSAY_DRAW_TEXT;
}

enum assay_ink assay_draw_ramp_text(double part)
{
    (void)part;
    return ASSAY_DRAW_TEXT;
}

/* In steps; what is not a number is 0. */
static int step_of(double part, double least)
{
    return (int)lround(fmax(least, fmin(1, isnan(part) ? 0 : part)) * ASSAY_DRAW_STEPS);
}

static void put_cell(struct assay_drawing *d, const double box[4], const char *kind, int step,
                     unsigned colour)
{
    if (!assay_draw_reaches(d, box[0], box[1]) ||
        !assay_draw_reaches(d, box[0] + box[2], box[1] + box[3]))
        return;
    assay_text_add(&d->body, "<rect");
    assay_draw_put(d, "x", box[0]);
    assay_draw_put(d, "y", box[1]);
    assay_draw_put(d, "width", fmax(0, box[2]));
    assay_draw_put(d, "height", fmax(0, box[3]));
    if (d->look == ASSAY_DRAW_PAGE)
        assay_text_format(&d->body, " fill=\"var(--%s-%d)\"/>\n", kind, step);
    else
        assay_text_format(&d->body, " fill=\"#%06x\"/>\n", colour);
}

void assay_draw_heat(struct assay_drawing *d, double x, double y, double width, double height,
                     double part)
{
    int step = ASSAY_DRAW_STEPS + step_of(part, -1);
    enum assay_draw_look look = d->look == ASSAY_DRAW_DARK ? ASSAY_DRAW_DARK : ASSAY_DRAW_LIGHT;
    put_cell(d, (double[]){x, y, width, height}, "heat", step, heat_colour(look, step));
}

void assay_draw_ramp(struct assay_drawing *d, double x, double y, double width, double height,
                     double part)
{
    int step = step_of(part, 0);
    enum assay_draw_look look = d->look == ASSAY_DRAW_DARK ? ASSAY_DRAW_DARK : ASSAY_DRAW_LIGHT;
    put_cell(d, (double[]){x, y, width, height}, "ramp", step, ramp_colour(look, step));
}

void assay_draw_style(enum assay_draw_look look, struct assay_text *out)
{
    for (int ink = 0; ink < ASSAY_DRAW_INKS; ink++)
        assay_text_format(out, "--ink-%s:%s;", names[ink],
                          assay_draw_colour(look, (enum assay_ink)ink));
    for (int step = 0; step <= 2 * ASSAY_DRAW_STEPS; step++)
        assay_text_format(out, "--heat-%d:#%06x;", step, heat_colour(look, step));
    for (int step = 0; step <= ASSAY_DRAW_STEPS; step++)
        assay_text_format(out, "--ramp-%d:#%06x;", step, ramp_colour(look, step));
}
