/* draw.c: the image and its marks. */
#include "report/draw/draw_put.h"

#include <math.h>
#include <string.h>

#define FONTS                                                                                      \
    "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"

/* In `body`, which cannot have it from a text. */
#define ID "\x01"

void assay_draw_begin(struct assay_drawing *drawing, enum assay_draw_look look, double width)
{
    *drawing = (struct assay_drawing){.look = look, .width = width};
}

void assay_draw_fini(struct assay_drawing *drawing)
{
    assay_text_fini(&drawing->body);
    assay_text_fini(&drawing->title);
    assay_text_fini(&drawing->summary);
}

/* ---- numbers -------------------------------------------------------------------------------- */

void assay_draw_put_number(struct assay_text *out, double value)
{
    long long hundredths = isfinite(value) ? llround(fmax(-1e9, fmin(1e9, value)) * 100) : 0;
    long long size = hundredths < 0 ? -hundredths : hundredths;
    int part = (int)(size % 100);
    assay_text_format(out, "%s%lld", hundredths < 0 ? "-" : "", size / 100);
    if (part % 10)
        assay_text_format(out, ".%02d", part);
    else if (part)
        assay_text_format(out, ".%d", part / 10);
}

void assay_draw_put(struct assay_drawing *d, const char *attribute, double value)
{
    assay_text_format(&d->body, " %s=\"", attribute);
    assay_draw_put_number(&d->body, value);
    assay_text_add(&d->body, "\"");
}

bool assay_draw_reaches(const struct assay_drawing *d, double x, double y)
{
    double height = d->height > 0 ? d->height : 1e5;
    return x >= -d->width && x <= 2 * d->width && y >= -height && y <= 2 * height;
}

/* ---- boxes ---------------------------------------------------------------------------------- */

/* "<rect", where, and nothing that ends it; false where there is nothing to see. */
static bool put_box(struct assay_drawing *d, double x, double y, double width, double height)
{
    if (!assay_draw_reaches(d, x, y) || !assay_draw_reaches(d, x + width, y + height))
        return false;
    if (fabs(width) < 0.005 || fabs(height) < 0.005)
        return false;
    assay_text_add(&d->body, "<rect");
    assay_draw_put(d, "x", fmin(x, x + width));
    assay_draw_put(d, "y", fmin(y, y + height));
    assay_draw_put(d, "width", fabs(width));
    assay_draw_put(d, "height", fabs(height));
    return true;
}

void assay_draw_rect(struct assay_drawing *d, double x, double y, double width, double height,
                     enum assay_ink ink)
{
    if (!put_box(d, x, y, width, height))
        return;
    assay_draw_put_ink(d, "fill", ink);
    assay_text_add(&d->body, "/>\n");
}

void assay_draw_frame(struct assay_drawing *d, double x, double y, double width, double height,
                      enum assay_ink ink, double line)
{
    if (!put_box(d, x, y, width, height))
        return;
    assay_text_add(&d->body, " fill=\"none\"");
    assay_draw_put_ink(d, "stroke", ink);
    assay_draw_put(d, "stroke-width", line);
    assay_text_add(&d->body, "/>\n");
}

void assay_draw_striped(struct assay_drawing *d, double x, double y, double width, double height,
                        enum assay_ink ink)
{
    if (!put_box(d, x, y, width, height))
        return;
    d->hatched |= 1u << ink;
    assay_text_format(&d->body, " fill=\"url(#stripes-%s-" ID ")\"/>\n", assay_draw_ink_name(ink));
}

void assay_draw_hatched(struct assay_drawing *d, double x, double y, double width, double height,
                        enum assay_ink ink)
{
    assay_draw_rect(d, x, y, width, height, ASSAY_DRAW_BACKGROUND);
    assay_draw_striped(d, x, y, width, height, ink);
    double inset = fmin(0.5, fmin(fabs(width), fabs(height)) / 2); /* the frame is inside */
    double left = fmin(x, x + width), top = fmin(y, y + height);
    assay_draw_frame(d, left + inset, top + inset, fabs(width) - 2 * inset,
                     fabs(height) - 2 * inset, ink, 1);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void put_stroke(struct assay_drawing *d, enum assay_ink ink, double line,
                       enum assay_dash dash)
{
    assay_draw_put_ink(d, "stroke", ink);
    assay_draw_put(d, "stroke-width", line);
    static const double lengths[][4] = {
        [ASSAY_DRAW_SOLID] = {0},
        [ASSAY_DRAW_DASHED] = {4, 3},
        [ASSAY_DRAW_DOTTED] = {1, 2.5},
        [ASSAY_DRAW_DASH_DOT] = {5, 2.5, 1, 2.5},
    };
    if (dash == ASSAY_DRAW_SOLID)
        return;
    assay_text_add(&d->body, " stroke-dasharray=\"");
    for (int i = 0; i < 4 && lengths[dash][i] > 0; i++) {
        assay_text_add(&d->body, i ? " " : "");
        assay_draw_put_number(&d->body, lengths[dash][i] * fmax(1, line));
    }
    assay_text_add(&d->body, "\"");
}

void assay_draw_line(struct assay_drawing *d, double x1, double y1, double x2, double y2,
                     enum assay_ink ink, double line, enum assay_dash dash)
{
    if (!assay_draw_reaches(d, x1, y1) || !assay_draw_reaches(d, x2, y2))
        return;
    assay_text_add(&d->body, "<line");
    assay_draw_put(d, "x1", x1);
    assay_draw_put(d, "y1", y1);
    assay_draw_put(d, "x2", x2);
    assay_draw_put(d, "y2", y2);
    put_stroke(d, ink, line, dash);
    assay_text_add(&d->body, "/>\n");
}

static void put_point(struct assay_drawing *d, const char *verb, double x, double y)
{
    assay_text_add(&d->body, verb);
    assay_draw_put_number(&d->body, x);
    assay_text_add(&d->body, " ");
    assay_draw_put_number(&d->body, y);
}

void assay_draw_path(struct assay_drawing *d, const double *x, const double *y, int64_t n,
                     enum assay_ink ink, double line, enum assay_dash dash)
{
    int64_t drawn = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!assay_draw_reaches(d, x[i], y[i]))
            continue;
        bool goes_on = i > 0 && assay_draw_reaches(d, x[i - 1], y[i - 1]);
        bool ends = i + 1 >= n || !assay_draw_reaches(d, x[i + 1], y[i + 1]);
        put_point(d, drawn++ == 0 ? "<path d=\"M" : goes_on ? "L" : "M", x[i], y[i]);
        if (!goes_on && ends)
            assay_text_add(&d->body, "h0"); /* round ends make it a dot */
    }
    if (!drawn)
        return;
    assay_text_add(&d->body, "\" fill=\"none\" stroke-linejoin=\"round\" stroke-linecap=\"round\"");
    put_stroke(d, ink, line, dash);
    assay_text_add(&d->body, "/>\n");
}

/* From `first` up to `end`, where all points are. */
static void put_area(struct assay_drawing *d, const double *x, const double *lo, const double *hi,
                     int64_t first, int64_t end)
{
    for (int64_t i = first; i < end; i++)
        put_point(d, i == first ? "M" : "L", x[i], lo[i]);
    for (int64_t i = end - 1; i >= first; i--)
        put_point(d, "L", x[i], hi[i]);
    assay_text_add(&d->body, "Z");
}

static bool has_interval(const struct assay_drawing *d, double x, double lo, double hi)
{
    return assay_draw_reaches(d, x, lo) && assay_draw_reaches(d, x, hi);
}

void assay_draw_band(struct assay_drawing *d, const double *x, const double *lo, const double *hi,
                     int64_t n, enum assay_ink ink)
{
    bool drawn = false;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && has_interval(d, x[end], lo[end], hi[end]); end++)
            ;
        if (end - i >= 2) {
            assay_text_add(&d->body, drawn ? "" : "<path d=\"");
            drawn = true;
            put_area(d, x, lo, hi, i, end);
        }
        end += end == i;
    }
    if (!drawn)
        return;
    assay_text_add(&d->body, "\"");
    assay_draw_put_ink(d, "fill", ink);
    assay_text_add(&d->body, " fill-opacity=\"0.18\"/>\n");
}

/* ---- markers -------------------------------------------------------------------------------- */

/* Corners over half the size, beginning at the top; about the area of the disc. */
static void put_corners(struct assay_drawing *d, double x, double y, double half,
                        enum assay_marker marker)
{
    static const struct {
        int n;
        double at[4][2];
    } shapes[ASSAY_DRAW_MARKERS] = {
        [ASSAY_DRAW_SQUARE] = {4, {{-0.89, -0.89}, {0.89, -0.89}, {0.89, 0.89}, {-0.89, 0.89}}},
        [ASSAY_DRAW_DIAMOND] = {4, {{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}}},
        [ASSAY_DRAW_TRIANGLE] = {3, {{0, -1.25}, {1.2, 0.85}, {-1.2, 0.85}}},
        [ASSAY_DRAW_CROSS] = {4, {{-0.8, -0.8}, {0.8, 0.8}, {-0.8, 0.8}, {0.8, -0.8}}},
    };
    assay_text_add(&d->body, "<path d=\"");
    for (int i = 0; i < shapes[marker].n; i++) {
        bool moves = i == 0 || (marker == ASSAY_DRAW_CROSS && i == 2);
        put_point(d, moves ? "M" : "L", x + half * shapes[marker].at[i][0],
                  y + half * shapes[marker].at[i][1]);
    }
    assay_text_add(&d->body, marker == ASSAY_DRAW_CROSS ? "\"" : "Z\"");
}

void assay_draw_marker(struct assay_drawing *d, double x, double y, double size,
                       enum assay_marker marker, enum assay_ink ink, bool hollow)
{
    if (!assay_draw_reaches(d, x, y))
        return;
    bool lines = hollow || marker == ASSAY_DRAW_CROSS;
    if (marker == ASSAY_DRAW_DISC) {
        assay_text_add(&d->body, "<circle");
        assay_draw_put(d, "cx", x);
        assay_draw_put(d, "cy", y);
        assay_draw_put(d, "r", size / 2);
    } else {
        put_corners(d, x, y, size / 2, marker);
    }
    if (marker == ASSAY_DRAW_CROSS)
        assay_text_add(&d->body, " fill=\"none\"");
    else
        assay_draw_put_ink(d, "fill", hollow ? ASSAY_DRAW_BACKGROUND : ink);
    if (lines) {
        assay_draw_put_ink(d, "stroke", ink);
        assay_draw_put(d, "stroke-width", marker == ASSAY_DRAW_CROSS && !hollow ? 2 : 1.5);
    }
    assay_text_add(&d->body, "/>\n");
}

enum { WHISKER = 4 }; /* half an end's length */

static void put_whisker(struct assay_drawing *d, const double ends[6][2], enum assay_ink ink)
{
    for (int i = 0; i < 6; i++)
        put_point(d, i == 0 ? "<path d=\"M" : i % 2 ? "L" : "M", ends[i][0], ends[i][1]);
    assay_text_add(&d->body, "\" fill=\"none\"");
    put_stroke(d, ink, 1.5, ASSAY_DRAW_SOLID);
    assay_text_add(&d->body, "/>\n");
}

void assay_draw_whisker_x(struct assay_drawing *d, double lo, double hi, double y,
                          enum assay_ink ink)
{
    if (!assay_draw_reaches(d, lo, y) || !assay_draw_reaches(d, hi, y))
        return;
    put_whisker(d,
                (const double[6][2]){{lo, y},
                                     {hi, y},
                                     {lo, y - WHISKER},
                                     {lo, y + WHISKER},
                                     {hi, y - WHISKER},
                                     {hi, y + WHISKER}},
                ink);
}

void assay_draw_whisker_y(struct assay_drawing *d, double x, double lo, double hi,
                          enum assay_ink ink)
{
    if (!assay_draw_reaches(d, x, lo) || !assay_draw_reaches(d, x, hi))
        return;
    put_whisker(d,
                (const double[6][2]){{x, lo},
                                     {x, hi},
                                     {x - WHISKER, lo},
                                     {x + WHISKER, lo},
                                     {x - WHISKER, hi},
                                     {x + WHISKER, hi}},
                ink);
}

/* ---- groups --------------------------------------------------------------------------------- */

void assay_draw_group(struct assay_drawing *d, int64_t row, const char *tip)
{
    assay_text_add(&d->body, "<g");
    if (row > 0)
        assay_text_format(&d->body, " data-row=\"%lld\"", (long long)row);
    assay_text_add(&d->body, ">");
    if (tip && tip[0]) {
        assay_text_add(&d->body, "<title>");
        assay_draw_escape(&d->body, tip);
        assay_text_add(&d->body, "</title>");
    }
    assay_text_add(&d->body, "\n");
}

void assay_draw_group_end(struct assay_drawing *d) { assay_text_add(&d->body, "</g>\n"); }

/* ---- the image ------------------------------------------------------------------------------ */

static void put_paint(const struct assay_drawing *d, struct assay_text *out, enum assay_ink ink)
{
    if (d->look == ASSAY_DRAW_PAGE)
        assay_text_format(out, "var(--ink-%s)", assay_draw_ink_name(ink));
    else
        assay_text_add(out, assay_draw_colour(d->look, ink));
}

static void put_patterns(const struct assay_drawing *d, const char *id, struct assay_text *out)
{
    for (int ink = 0; ink < ASSAY_DRAW_INKS; ink++) {
        if (!(d->hatched >> ink & 1))
            continue;
        assay_text_format(out,
                          "<pattern id=\"stripes-%s-%s\" width=\"7\" height=\"7\" "
                          "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                          "<rect width=\"1.4\" height=\"7\" fill=\"",
                          assay_draw_ink_name((enum assay_ink)ink), id);
        put_paint(d, out, (enum assay_ink)ink);
        assay_text_add(out, "\"/></pattern>\n");
    }
}

static void put_said(struct assay_text *out, const char *tag, const char *id,
                     const struct assay_text *text)
{
    if (!text->length)
        return;
    assay_text_format(out, "<%s id=\"%s-%s\">", tag, tag, id);
    assay_draw_escape(out, text->data);
    assay_text_format(out, "</%s>\n", tag);
}

static void put_opening(const struct assay_drawing *d, const char *id, struct assay_text *out)
{
    struct assay_text width = {0}, height = {0};
    assay_draw_put_number(&width, d->width);
    assay_draw_put_number(&height, d->height);
    if (width.failed || height.failed) {
        out->failed = true;
    } else {
        assay_text_format(out,
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" "
                          "width=\"%s\" height=\"%s\" role=\"img\"",
                          width.data, height.data, width.data, height.data);
    }
    if (d->title.length)
        assay_text_format(out, " aria-labelledby=\"title-%s\"", id);
    if (d->summary.length)
        assay_text_format(out, " aria-describedby=\"desc-%s\"", id);
    assay_text_add(out, " text-rendering=\"geometricPrecision\" font-family=\"" FONTS "\">\n");
    assay_text_fini(&width);
    assay_text_fini(&height);
}

/* A page brings its own. */
static void put_background(const struct assay_drawing *d, struct assay_text *out)
{
    if (d->look == ASSAY_DRAW_PAGE)
        return;
    assay_text_add(out, "<rect x=\"0.5\" y=\"0.5\" rx=\"6\" width=\"");
    assay_draw_put_number(out, d->width - 1);
    assay_text_add(out, "\" height=\"");
    assay_draw_put_number(out, d->height - 1);
    assay_text_add(out, "\" fill=\"");
    put_paint(d, out, ASSAY_DRAW_BACKGROUND);
    assay_text_add(out, "\" stroke=\"");
    put_paint(d, out, ASSAY_DRAW_BORDER);
    assay_text_add(out, "\"/>\n");
}

static void put_body(const struct assay_drawing *d, const char *id, struct assay_text *out)
{
    const char *rest = d->body.length ? d->body.data : "";
    for (const char *mark; (mark = strchr(rest, ID[0])); rest = mark + 1) {
        assay_text_append(out, rest, (size_t)(mark - rest));
        assay_text_add(out, id);
    }
    assay_text_add(out, rest);
}

void assay_draw_svg(const struct assay_drawing *drawing, const char *id, struct assay_text *out)
{
    bool whole = !drawing->body.failed && !drawing->title.failed && !drawing->summary.failed;
    put_opening(drawing, id, out);
    put_said(out, "title", id, &drawing->title);
    put_said(out, "desc", id, &drawing->summary);
    if (drawing->hatched) {
        assay_text_add(out, "<defs>\n");
        put_patterns(drawing, id, out);
        assay_text_add(out, "</defs>\n");
    }
    put_background(drawing, out);
    if (whole)
        put_body(drawing, id, out);
    else
        assay_text_add(out, "<text x=\"20\" y=\"30\">no memory for the chart</text>\n");
    assay_text_add(out, "</svg>\n");
    out->failed |= !whole;
}
