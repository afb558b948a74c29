/* test_draw_scale.c: whatever was measured, a scale has two ends that differ and hold it, ticks
 * that grow within them, and labels that tell them apart. */
#include "unit.h"

#include "report/draw/draw_axis.h"

#include <stdio.h>

static const double INF = (double)INFINITY;

static struct assay_scale scale_of(enum assay_scale_kind kind, double a, double b)
{
    struct assay_scale scale;
    assay_scale_init(&scale, kind);
    assay_scale_see(&scale, a);
    assay_scale_see(&scale, b);
    assay_scale_round(&scale);
    scale.from = 10;
    scale.to = 510;
    return scale;
}

static void assert_ends(struct assay_scale scale, double lo, double hi)
{
    assert_near(scale.lo, lo, 1e-9 * fabs(lo));
    assert_near(scale.hi, hi, 1e-9 * fabs(hi));
}

/* Labels of the major ticks, with blanks between them. */
static void assert_ticks(const struct assay_scale *scale, int wanted, const char *want)
{
    struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
    char got[512] = "", text[64];
    int n = assay_scale_ticks(scale, wanted, ticks);
    for (int i = 0; i < n; i++) {
        if (!ticks[i].major)
            continue;
        assay_axis_number(NULL, ticks[i].value, text, sizeof text);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", got[0] ? " " : "", text);
    }
    assert_string_equal(got, want);
}

/* ---- ends and ticks that are known ---------------------------------------------------------- */

static void ends_are_round(void **state)
{
    (void)state;
    assert_ends(scale_of(ASSAY_SCALE_LINEAR, 0, 97), 0, 100);
    assert_ends(scale_of(ASSAY_SCALE_LINEAR, -3, 12), -5, 15);
    assert_ends(scale_of(ASSAY_SCALE_LINEAR, 5, 5), 4.4, 5.6);
    assert_ends(scale_of(ASSAY_SCALE_LINEAR, 0, 0), 0, 1);
    assert_ends(scale_of(ASSAY_SCALE_LOG, 3, 700), 2, 1000);
    assert_ends(scale_of(ASSAY_SCALE_LOG, 7, 7), 5, 10);
    assert_ends(scale_of(ASSAY_SCALE_LOG, 64, 8192), 64, 8192); /* powers of two */
    assert_ends(scale_of(ASSAY_SCALE_LOG, 64, 64), 32, 128);
    assert_near(assay_scale_step(0.3), 0.5, 1e-12);
    assert_near(assay_scale_step(5), 5, 1e-12);
    assert_near(assay_scale_step(5.1), 10, 1e-12);
}

static void ticks_are_round(void **state)
{
    (void)state;
    struct assay_scale linear = scale_of(ASSAY_SCALE_LINEAR, -1, 1);
    assert_ticks(&linear, 5, "-1 -0.5 0 0.5 1");
    struct assay_scale nine = scale_of(ASSAY_SCALE_LOG, 1, 1e9);
    assert_ticks(&nine, 12, "1 10 100 1000 10000 100000 1M 10M 100M 1G");
    assert_ticks(&nine, 5, "1 100 10000 1M 100M");
    struct assay_scale one = scale_of(ASSAY_SCALE_LOG, 1, 10);
    one.twos = false;
    assert_ticks(&one, 5, "1 2 5 10");
    struct assay_scale near = scale_of(ASSAY_SCALE_LOG, 5, 9.9);
    assert_ticks(&near, 6, "5 6 7 8 9 10");
    struct assay_scale twos = scale_of(ASSAY_SCALE_LOG, 0x1p10, 0x1p22);
    assert_ticks(&twos, 7, "1024 4096 16384 65536 262144 1Mi 4Mi");
    struct assay_scale huge = scale_of(ASSAY_SCALE_LOG, 1e-300, 1e300);
    assert_ticks(&huge, 5, "1e-220 1e-110 1 1e+95P 1e+205P");
}

static void nothing_seen_is_a_scale_too(void **state)
{
    (void)state;
    for (int kind = ASSAY_SCALE_LINEAR; kind <= ASSAY_SCALE_LOG; kind++) {
        struct assay_scale scale;
        assay_scale_init(&scale, (enum assay_scale_kind)kind);
        assert_true(assay_scale_is_empty(&scale));
        assert_true(isnan(assay_scale_clamped(&scale, 1)));
        assay_scale_see(&scale, (double)NAN);
        assay_scale_see(&scale, INF);
        if (kind == ASSAY_SCALE_LOG) {
            assay_scale_see(&scale, 0);
            assay_scale_see(&scale, -1);
        }
        assert_true(assay_scale_is_empty(&scale));
        struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
        assert_int_equal(assay_scale_ticks(&scale, 5, ticks), 0);
        assay_scale_round(&scale);
        assert_false(assay_scale_is_empty(&scale));
        assert_ends(scale, kind == ASSAY_SCALE_LOG, kind == ASSAY_SCALE_LOG ? 10 : 1);
    }
}

static void bands_stand_side_by_side(void **state)
{
    (void)state;
    struct assay_scale four = assay_scale_bands(4, 100, 300), none = assay_scale_bands(0, 100, 300);
    struct assay_scale many = assay_scale_bands(1000, 0, 1000);
    struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
    assert_near(assay_scale_band_width(&four), 50, 1e-9);
    assert_near(assay_scale_at(&four, 0), 125, 1e-9);
    assert_near(assay_scale_at(&four, 3), 275, 1e-9);
    assert_int_equal(assay_scale_ticks(&four, 2, ticks), 4); /* which fit is the axis's business */
    assert_near(ticks[3].value, 3, 0);
    assert_int_equal(assay_scale_ticks(&none, 2, ticks), 0);
    assert_near(assay_scale_band_width(&none), 0, 0);
    assert_true(isnan(assay_scale_at(&none, 0)));
    assert_in_range(assay_scale_ticks(&many, 2, ticks), 64, ASSAY_SCALE_MOST_TICKS);
}

static void values_have_places(void **state)
{
    (void)state;
    struct assay_scale linear = scale_of(ASSAY_SCALE_LINEAR, 0, 10);
    struct assay_scale log = scale_of(ASSAY_SCALE_LOG, 1, 100);
    assert_near(assay_scale_at(&linear, 5), 260, 1e-9);
    assert_near(assay_scale_at(&linear, 20), 1010, 1e-9);
    assert_near(assay_scale_clamped(&linear, 20), 510, 1e-9);
    assert_near(assay_scale_clamped(&linear, -INF), 10, 1e-9);
    assert_near(assay_scale_at(&log, 10), 260, 1e-9);
    assert_near(assay_scale_clamped(&log, INF), 510, 1e-9);
    assert_near(assay_scale_clamped(&log, 0), 10, 1e-9);
    assert_true(isnan(assay_scale_at(&log, 0)));
    assert_true(isnan(assay_scale_at(&linear, INF)));
    assert_true(isnan(assay_scale_clamped(&log, (double)NAN)));
}

/* ---- any values ----------------------------------------------------------------------------- */

static void check_ticks(const struct assay_scale *s, int wanted)
{
    struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS];
    char text[64], before[64] = "";
    int n = assay_scale_ticks(s, wanted, ticks), majors = 0;
    assert_in_range(n, 1, ASSAY_SCALE_MOST_TICKS);
    for (int i = 0; i < n; i++) {
        double at = assay_scale_at(s, ticks[i].value);
        assert_true(at >= s->from - 1e-5 && at <= s->to + 1e-5);
        assert_true(i == 0 || ticks[i].value > ticks[i - 1].value);
        if (!ticks[i].major)
            continue;
        assay_axis_number(NULL, ticks[i].value, text, sizeof text);
        assert_true(text[0] && strcmp(text, before) != 0);
        strcpy(before, text);
        majors++;
    }
    assert_true(assay_scale_at(s, ticks[n - 1].value) >= s->from + 0.3 * (s->to - s->from));
    if (majors < (wanted >= 5 ? 2 : 1) || majors > wanted)
        fail_msg("%d of %d labels from %g to %g", majors, wanted, s->lo, s->hi);
}

static void check_scale(enum assay_scale_kind kind, double a, double b)
{
    struct assay_scale s = scale_of(kind, a, b);
    assert_true(s.lo < s.hi && isfinite(s.lo) && isfinite(s.hi));
    assert_near(assay_scale_at(&s, s.lo), s.from, 1e-6);
    assert_near(assay_scale_at(&s, s.hi), s.to, 1e-6);
    for (int i = 0; i < 2; i++) {
        double at = assay_scale_clamped(&s, i ? a : b);
        assert_true(at >= s.from - 1e-6 && at <= s.to + 1e-6);
    }
    for (int wanted = 2; wanted <= 12; wanted++)
        check_ticks(&s, wanted);
    check_ticks(&s, ASSAY_SCALE_MOST_TICKS);
    assert_true(assay_scale_clamped(&s, -INF) < assay_scale_clamped(&s, INF));
}

static void any_two_values_make_a_scale(void **state)
{
    (void)state;
    static const double values[] = {0,      1,      -1,     3,     64,     97,     100,   1000,
                                    1001,   1024,   8192,   1e-9,  0.1,    0.3,    2.5,   -250,
                                    1e6,    1e9,    1e12,   1e18,  1e24,   1e299,  1e300, -1e300,
                                    1e-300, 1e-308, 5e-324, 1e308, 0x1p53, 0x1p-40};
    enum { VALUES = sizeof values / sizeof *values };
    for (int i = 0; i < VALUES; i++)
        for (int j = 0; j <= i; j++) {
            check_scale(ASSAY_SCALE_LINEAR, values[i], values[j]);
            check_scale(ASSAY_SCALE_LOG, values[i], values[j]);
        }
}

static void decades_make_a_scale(void **state)
{
    (void)state;
    for (int from = -300; from < 300; from += 7)
        for (int to = from; to <= 300; to += 1 + (to - from) / 3) {
            check_scale(ASSAY_SCALE_LOG, pow(10, from), 3 * pow(10, to));
            check_scale(ASSAY_SCALE_LOG, ldexp(1, from), ldexp(1, to));
            check_scale(ASSAY_SCALE_LINEAR, pow(10, from), -3 * pow(10, to));
        }
}

/* ---- labels --------------------------------------------------------------------------------- */

typedef void label_fn(const void *user, double value, char *text, size_t size);

static void assert_label(label_fn *label, double value, const char *want)
{
    char text[64];
    label(NULL, value, text, sizeof text);
    assert_string_equal(text, want);
}

static void labels_are_short(void **state)
{
    (void)state;
    assert_label(assay_axis_number, 1000, "1000");
    assert_label(assay_axis_number, -0.0, "0");
    assert_label(assay_axis_number, 2.5e6, "2.5M");
    assert_label(assay_axis_number, 0x1p23, "8Mi");
    assert_label(assay_axis_number, 1e300, "1e+285P");
    assert_label(assay_axis_number, (double)NAN, "");
    assert_label(assay_axis_number, INF, "");
    assert_label(assay_axis_time, 999, "999 ns");
    assert_label(assay_axis_time, 1000, "1 us");
    assert_label(assay_axis_time, 2.5e9, "2.5 s");
    assert_label(assay_axis_bandwidth, 1e10, "10 GB/s");
    assert_label(assay_axis_memory, 1e8, "100 MB");
    assert_label(assay_axis_rate, 1e12, "1 TFLOP/s");
    assert_label(assay_axis_ratio, 2, "2x");
    assert_label(assay_axis_share, 0.5, "50%");
    assert_label(assay_axis_decibel, -40, "-40 dB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_round),
        cmocka_unit_test(ticks_are_round),
        cmocka_unit_test(nothing_seen_is_a_scale_too),
        cmocka_unit_test(bands_stand_side_by_side),
        cmocka_unit_test(values_have_places),
        cmocka_unit_test(any_two_values_make_a_scale),
        cmocka_unit_test(decades_make_a_scale),
        cmocka_unit_test(labels_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
