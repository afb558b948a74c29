/* test_draw_colour.c: inks stand out from the background and cells' texts from their cells (WCAG
 * 2.1), and what a colour must tell apart is apart for those who do not see all of them: distances
 * in OKLab (Ottosson 2020) between colours as the matrices of Machado, Oliveira and Fernandes
 * (2009), severity 1, show them. */
#include "unit.h"

#include "report/draw/draw.h"

#include <stdio.h>
#include <stdlib.h>

enum { HEATS = 2 * ASSAY_DRAW_STEPS + 1, RAMPS = ASSAY_DRAW_STEPS + 1 };

/* About 0.02 can just be seen side by side; thin lines and small marks need several times that. */
static const double APART = 0.075;

static const char *const looks[] = {"light", "dark"};

/* Linear light, 0 to 1. */
struct rgb {
    double c[3];
};

/* ---- colours -------------------------------------------------------------------------------- */

static struct rgb from_hex(const char *hex)
{
    struct rgb colour;
    unsigned long value = strtoul(hex + 1, NULL, 16);
    assert_int_equal(hex[0], '#');
    for (int i = 0; i < 3; i++) {
        double part = (double)(value >> (16 - 8 * i) & 0xff) / 255;
        colour.c[i] = part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
    }
    return colour;
}

static struct rgb of_ink(int look, enum assay_ink ink)
{
    return from_hex(assay_draw_colour((enum assay_draw_look)look, ink));
}

static struct rgb times(const double m[3][3], struct rgb in)
{
    struct rgb out;
    for (int i = 0; i < 3; i++)
        out.c[i] = m[i][0] * in.c[0] + m[i][1] * in.c[1] + m[i][2] * in.c[2];
    return out;
}

static double contrast(struct rgb a, struct rgb b)
{
    static const double luminance[3][3] = {{0.2126, 0.7152, 0.0722}};
    double x = times(luminance, a).c[0], y = times(luminance, b).c[0];
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

/* Lightness, green to red, blue to yellow. */
static struct rgb oklab(struct rgb colour)
{
    static const double cones[3][3] = {{0.4122214708, 0.5363325363, 0.0514459929},
                                       {0.2119034982, 0.6806995451, 0.1073969566},
                                       {0.0883024619, 0.2817188376, 0.6299787005}};
    static const double axes[3][3] = {{0.2104542553, 0.7936177850, -0.0040720468},
                                      {1.9779984951, -2.4285922050, 0.4505937099},
                                      {0.0259040371, 0.7827717662, -0.8086757660}};
    struct rgb lms = times(cones, colour);
    for (int i = 0; i < 3; i++)
        lms.c[i] = cbrt(lms.c[i]);
    return times(axes, lms);
}

static const struct sight {
    const char *name;
    double m[3][3];
} sights[] = {
    {"all colours", {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {"protanopia",
     {{0.152286, 1.052583, -0.204868},
      {0.114503, 0.786281, 0.099216},
      {-0.003882, -0.048116, 1.051998}}},
    {"deuteranopia",
     {{0.367322, 0.860646, -0.227968},
      {0.280085, 0.672501, 0.047413},
      {-0.011820, 0.042940, 0.968881}}},
    {"tritanopia",
     {{1.255528, -0.076749, -0.178779},
      {-0.078411, 0.930809, 0.147602},
      {0.004733, 0.691367, 0.303900}}},
};

static double distance(const struct sight *sight, struct rgb a, struct rgb b)
{
    struct rgb x = times(sight->m, a), y = times(sight->m, b);
    for (int i = 0; i < 3; i++) { /* what a screen can show */
        x.c[i] = fmax(0, fmin(1, x.c[i]));
        y.c[i] = fmax(0, fmin(1, y.c[i]));
    }
    x = oklab(x);
    y = oklab(y);
    return sqrt(pow(x.c[0] - y.c[0], 2) + pow(x.c[1] - y.c[1], 2) + pow(x.c[2] - y.c[2], 2));
}

/* From the page's style sheet, which has them all. */
static void read_steps(int look, const char *kind, int n, struct rgb *steps)
{
    struct assay_text style = {0};
    assay_draw_style((enum assay_draw_look)look, &style);
    assert_false(style.failed);
    for (int i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "--%s-%d:", kind, i);
        const char *at = strstr(style.data, name);
        assert_non_null(at);
        steps[i] = from_hex(at + strlen(name));
    }
    assay_text_fini(&style);
}

/* ---- contrast ------------------------------------------------------------------------------- */

static void inks_stand_out(void **state)
{
    (void)state;
    static const enum assay_ink of_text[] = {ASSAY_DRAW_TEXT, ASSAY_DRAW_MUTED, ASSAY_DRAW_FASTER,
                                             ASSAY_DRAW_SLOWER, ASSAY_DRAW_FAILED};
    for (int look = ASSAY_DRAW_LIGHT; look <= ASSAY_DRAW_DARK; look++) {
        struct rgb background = of_ink(look, ASSAY_DRAW_BACKGROUND);
        for (size_t i = 0; i < sizeof of_text / sizeof *of_text; i++)
            if (!(contrast(of_ink(look, of_text[i]), background) >= 4.5))
                fail_msg("%s text, %s", assay_draw_ink_name(of_text[i]), looks[look]);
        for (int ink = ASSAY_DRAW_TEXT; ink < ASSAY_DRAW_INKS; ink++) /* borders, grids recede */
            if (!(contrast(of_ink(look, (enum assay_ink)ink), background) >= 3))
                fail_msg("%s, %s", assay_draw_ink_name((enum assay_ink)ink), looks[look]);
    }
}

static void text_stands_out_from_cells(void **state)
{
    (void)state;
    struct rgb heat[HEATS], ramp[RAMPS];
    for (int look = ASSAY_DRAW_LIGHT; look <= ASSAY_DRAW_DARK; look++) {
        read_steps(look, "heat", HEATS, heat);
        read_steps(look, "ramp", RAMPS, ramp);
        for (int i = 0; i < HEATS; i++) {
            double part = (double)(i - ASSAY_DRAW_STEPS) / ASSAY_DRAW_STEPS;
            if (!(contrast(of_ink(look, assay_draw_heat_text(part)), heat[i]) >= 4.5))
                fail_msg("heat-%d, %s", i, looks[look]);
        }
        for (int i = 0; i < RAMPS; i++) {
            double part = (double)i / ASSAY_DRAW_STEPS;
            if (!(contrast(of_ink(look, assay_draw_ramp_text(part)), ramp[i]) >= 4.5))
                fail_msg("ramp-%d, %s", i, looks[look]);
        }
    }
}

/* ---- apart in every sight ------------------------------------------------------------------- */

static void check_apart(const enum assay_ink *inks, int n)
{
    for (int look = ASSAY_DRAW_LIGHT; look <= ASSAY_DRAW_DARK; look++)
        for (size_t s = 0; s < sizeof sights / sizeof *sights; s++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < i; j++) {
                    double apart =
                        distance(&sights[s], of_ink(look, inks[i]), of_ink(look, inks[j]));
                    if (!(apart >= APART))
                        fail_msg("%s and %s, %s, %s: %.3f", assay_draw_ink_name(inks[j]),
                                 assay_draw_ink_name(inks[i]), looks[look], sights[s].name, apart);
                }
}

static void series_are_apart(void **state)
{
    (void)state;
    enum assay_ink inks[ASSAY_DRAW_SERIES_COUNT];
    for (int i = 0; i < ASSAY_DRAW_SERIES_COUNT; i++)
        inks[i] = assay_draw_series_ink(i);
    check_apart(inks, ASSAY_DRAW_SERIES_COUNT);
}

static void verdicts_are_apart(void **state)
{
    (void)state;
    check_apart((enum assay_ink[]){ASSAY_DRAW_FASTER, ASSAY_DRAW_SLOWER, ASSAY_DRAW_EVEN}, 3);
}

/* Colours repeat, but with another marker or dash. */
static void forty_series_differ(void **state)
{
    (void)state;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < i; j++)
            assert_true(assay_draw_series_ink(i) != assay_draw_series_ink(j) ||
                        assay_draw_series_marker(i) != assay_draw_series_marker(j));
    assert_int_equal(assay_draw_series_dash(7), ASSAY_DRAW_SOLID);
    assert_int_not_equal(assay_draw_series_dash(8), ASSAY_DRAW_SOLID);
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* From `from` on, each is further from it in lightness than the one before. */
static void check_lightness(const struct rgb *steps, int from, int by)
{
    double before = 0, even = oklab(steps[from]).c[0];
    for (int i = 1; i <= ASSAY_DRAW_STEPS; i++) {
        double away = fabs(oklab(steps[from + i * by]).c[0] - even);
        assert_true(away > before);
        before = away;
    }
}

static void stronger_cells_are_further_from_even(void **state)
{
    (void)state;
    struct rgb heat[HEATS], ramp[RAMPS];
    for (int look = ASSAY_DRAW_LIGHT; look <= ASSAY_DRAW_DARK; look++) {
        read_steps(look, "heat", HEATS, heat);
        read_steps(look, "ramp", RAMPS, ramp);
        check_lightness(heat, ASSAY_DRAW_STEPS, -1);
        check_lightness(heat, ASSAY_DRAW_STEPS, 1);
        check_lightness(ramp, 0, 1);
        for (size_t s = 0; s < sizeof sights / sizeof *sights; s++)
            assert_true(distance(&sights[s], heat[0], heat[HEATS - 1]) >= APART);
    }
}

static void assert_drawn(enum assay_draw_look look, double part, const char *heat, const char *ramp)
{
    struct assay_drawing d;
    assay_draw_begin(&d, look, 100);
    assay_draw_heat(&d, 1, 2, 3, 4, part);
    assay_draw_ramp(&d, 1, 2, 3, 4, part);
    char want[256];
    snprintf(want, sizeof want,
             "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"%s\"/>\n"
             "<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\" fill=\"%s\"/>\n",
             heat, ramp);
    assert_string_equal(d.body.data, want);
    assay_draw_fini(&d);
}

static void cells_have_steps(void **state)
{
    (void)state;
    assert_drawn(ASSAY_DRAW_PAGE, 1, "var(--heat-16)", "var(--ramp-8)");
    assert_drawn(ASSAY_DRAW_PAGE, 0.51, "var(--heat-12)", "var(--ramp-4)");
    assert_drawn(ASSAY_DRAW_PAGE, 0, "var(--heat-8)", "var(--ramp-0)");
    assert_drawn(ASSAY_DRAW_PAGE, -0.49, "var(--heat-4)", "var(--ramp-0)");
    assert_drawn(ASSAY_DRAW_PAGE, -(double)INFINITY, "var(--heat-0)", "var(--ramp-0)");
    assert_drawn(ASSAY_DRAW_PAGE, 1e300, "var(--heat-16)", "var(--ramp-8)");
    assert_drawn(ASSAY_DRAW_PAGE, (double)NAN, "var(--heat-8)", "var(--ramp-0)");
    assert_drawn(ASSAY_DRAW_LIGHT, 1, "#58a2e0", "#4ba3d6");
    assert_drawn(ASSAY_DRAW_DARK, 1, "#1d62a8", "#1a6a98");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inks_stand_out),
        cmocka_unit_test(text_stands_out_from_cells),
        cmocka_unit_test(series_are_apart),
        cmocka_unit_test(verdicts_are_apart),
        cmocka_unit_test(forty_series_differ),
        cmocka_unit_test(stronger_cells_are_further_from_even),
        cmocka_unit_test(cells_have_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
