/* draw_ticks.c: which values of a scale deserve a tick. */
#include "report/draw/draw_scale.h"

#include <math.h>

struct ticks {
    const struct assay_scale *scale;
    struct assay_tick *list;
    int n;
};

static void add(struct ticks *t, double value, bool major)
{
    const struct assay_scale *s = t->scale;
    double slack = s->kind == ASSAY_SCALE_LOG ? 1e-9 * value : 1e-9 * (s->hi / 2 - s->lo / 2);
    if (t->n < ASSAY_SCALE_MOST_TICKS && value >= s->lo - slack && value <= s->hi + slack)
        t->list[t->n++] = (struct assay_tick){value, major};
}

/* ---- linear --------------------------------------------------------------------------------- */

static void add_linear(struct ticks *t, int wanted)
{
    const struct assay_scale *s = t->scale;
    double step = assay_scale_step(s->hi / wanted - s->lo / wanted);
    double first = ceil(s->lo / step - 1e-9), last = floor(s->hi / step + 1e-9);
    if (last - first + 1 > wanted) { /* both ends have one */
        step = assay_scale_step(1.5 * step);
        first = ceil(s->lo / step - 1e-9);
        last = floor(s->hi / step + 1e-9);
    }
    if (!(last - first < ASSAY_SCALE_MOST_TICKS) || !(fabs(first) < 1e12))
        return;
    for (double i = first; i <= last; i++)
        add(t, i == 0 ? 0 : i * step, true);
}

/* ---- logarithmic ---------------------------------------------------------------------------- */

/* Powers of two, every `stride`th of which has a label. */
static void add_twos(struct ticks *t, int wanted)
{
    int first = (int)ceil(log2(t->scale->lo) - 1e-9), last = (int)floor(log2(t->scale->hi) + 1e-9);
    int stride = 1;
    while ((last - first) / stride + 1 > wanted)
        stride++;
    bool few = last - first < ASSAY_SCALE_MOST_TICKS; /* enough room for those without a label */
    for (int i = first; i <= last; i += few ? 1 : stride)
        add(t, ldexp(1, i), (i - first) % stride == 0);
}

/* How the powers of ten and what is between them are labelled. */
enum density { TENS, ONE_TWO_FIVE };

static bool is_labelled(int digit, enum density density)
{
    return digit == 1 || (density == ONE_TWO_FIVE && (digit == 2 || digit == 5));
}

static void add_tens(struct ticks *t, enum density density, int stride)
{
    int first = (int)floor(log10(t->scale->lo) + 1e-9);
    int last = (int)floor(log10(t->scale->hi) + 1e-9);
    bool between = stride == 1 && last - first < 14;
    bool few = last - first < ASSAY_SCALE_MOST_TICKS;
    first -= (first % stride + stride) % stride; /* what has a label is a multiple */
    for (int i = first; i <= last; i += few ? 1 : stride)
        for (int digit = 1; digit <= (between ? 9 : 1); digit++)
            add(t, digit * pow(10, i), i % stride == 0 && is_labelled(digit, density));
}

static int count_majors(const struct ticks *t)
{
    int n = 0;
    for (int i = 0; i < t->n; i++)
        n += t->list[i].major;
    return n;
}

/* The most labels that are not too many; as on a linear scale where 1, 2 and 5 are too far apart.
 */
static void add_log(struct ticks *t, int wanted)
{
    add_tens(t, ONE_TWO_FIVE, 1);
    if (count_majors(t) < 3 && t->scale->hi < 10 * t->scale->lo) {
        t->n = 0;
        add_linear(t, wanted);
    }
    for (int stride = 1; count_majors(t) > wanted; stride += stride < 10 ? 1 : 10) {
        t->n = 0;
        add_tens(t, TENS, stride);
    }
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void add_bands(struct ticks *t)
{
    int64_t n = t->scale->n;
    int64_t stride = (n + ASSAY_SCALE_MOST_TICKS - 1) / ASSAY_SCALE_MOST_TICKS;
    for (int64_t i = 0; i < n; i += stride)
        t->list[t->n++] = (struct assay_tick){(double)i, true};
}

int assay_scale_ticks(const struct assay_scale *scale, int wanted,
                      struct assay_tick ticks[ASSAY_SCALE_MOST_TICKS])
{
    struct ticks t = {.scale = scale, .list = ticks};
    const int most = ASSAY_SCALE_MOST_TICKS - 1; /* a full list is one too many */
    wanted = wanted < 2 ? 2 : wanted > most ? most : wanted;
    bool is_log = scale->kind == ASSAY_SCALE_LOG;
    if (scale->kind == ASSAY_SCALE_BAND)
        add_bands(&t);
    else if (!isfinite(scale->lo) || !isfinite(scale->hi) || !(scale->lo < scale->hi) ||
             (is_log && !(scale->lo > 0)))
        return 0;
    else if (is_log && scale->twos)
        add_twos(&t, wanted);
    else if (is_log)
        add_log(&t, wanted);
    else
        add_linear(&t, wanted);
    return t.n;
}
