#include "bench/time_left.h"

#include <math.h>

/* How much the first thoughts weigh against one finished group. */
static const double PRIOR = 0.03;
/* The same for the time beside the samples once these cannot be why groups take longer. */
static const double PRIOR_OF_SETUP = 0.003;
/* The budget ends the samples, more or less. */
static const double TIMING_MOST = 1.3;
static const double LEAST = 0.02;
/* A group is late from this share of its time on, and beyond all expectation from this one on. */
static const double LATE = 0.8, LOST = 4, LOST_S = 2;
/* More than this above what was said is a surprise, which is worth a larger number. */
static const double SURPRISE = 1.3, SURPRISE_S = 2;

void assay_time_left_init(struct assay_time_left *f, struct assay_time_left_group *groups,
                          int64_t n)
{
    *f = (struct assay_time_left){
        .groups = groups, .n = n, .current = -1, .timing_factor = 1, .setup_factor = 1};
}

static double expected(const struct assay_time_left *f, const struct assay_time_left_group *g)
{
    return f->timing_factor * g->timing_s + f->setup_factor * g->setup_s + g->extra_s;
}

void assay_time_left_start(struct assay_time_left *f, int64_t group, double now_s)
{
    f->current = group;
    f->began_s = now_s;
}

/* Least squares in both factors, each group's seconds as shares of what it was thought to take, and
 * both 1 before anything is known. */
static void learn(struct assay_time_left *f)
{
    double tt = f->tt + PRIOR, ss = f->ss + PRIOR, ty = f->ty + PRIOR, sy = f->sy + PRIOR;
    double determinant = tt * ss - f->ts * f->ts;
    double timing = (ty * ss - sy * f->ts) / determinant;
    double setup = (sy * tt - ty * f->ts) / determinant;
    if (timing > TIMING_MOST) {
        timing = TIMING_MOST;
        setup = (f->sy + PRIOR_OF_SETUP - timing * f->ts) / (f->ss + PRIOR_OF_SETUP);
    } else if (setup < LEAST) {
        setup = LEAST;
        timing = (ty - setup * f->ts) / tt;
    }
    f->timing_factor = fmax(timing, LEAST);
    f->setup_factor = fmax(setup, LEAST);
}

void assay_time_left_done(struct assay_time_left *f, double now_s)
{
    if (f->current < 0)
        return;
    struct assay_time_left_group *g = &f->groups[f->current];
    double thought = g->timing_s + g->setup_s;
    double took = fmax(now_s - f->began_s - g->extra_s, 0);
    g->done = true;
    f->current = -1;
    if (g->unlike || !(thought > 0))
        return;
    double t = g->timing_s / thought, s = g->setup_s / thought, y = took / thought;
    f->tt += t * t;
    f->ts += t * s;
    f->ss += s * s;
    f->ty += t * y;
    f->sy += s * y;
    learn(f);
}

/* Of the current group: what is missing, and, where it is late, less and less. */
static double current_left(const struct assay_time_left *f, double now_s)
{
    double whole = expected(f, &f->groups[f->current]), gone = fmax(now_s - f->began_s, 0);
    if (gone > LOST * whole + LOST_S)
        return (double)NAN;
    if (gone <= LATE * whole)
        return whole - gone;
    return (1 - LATE) * whole * LATE * whole / gone;
}

static double reckon(const struct assay_time_left *f, double now_s)
{
    double left = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (!f->groups[i].done && i != f->current)
            left += expected(f, &f->groups[i]);
    return f->current < 0 ? left : left + current_left(f, now_s);
}

/* Where the reckoning is somewhat above what was said, that falls more slowly, so that both end at
 * once. */
double assay_time_left_now(struct assay_time_left *f, double now_s)
{
    double reckoned = reckon(f, now_s), gone = fmax(now_s - f->left_at_s, 0);
    if (isnan(reckoned)) {
        f->said = false;
        return reckoned;
    }
    bool surprise = reckoned > SURPRISE * f->left_s + SURPRISE_S;
    if (!f->said || surprise || reckoned <= f->left_s)
        f->left_s = reckoned;
    else
        f->left_s = fmax(f->left_s - gone * f->left_s / reckoned, 0);
    f->left_at_s = now_s;
    f->said = true;
    return f->left_s;
}
