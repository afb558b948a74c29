#include "cli/progress.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "bench/estimate.h"
#include "cli/terminal.h"
#include "op/op_name.h"
#include "report/report_line.h"
#include "tensor/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    BAR = 20,   /* columns of the bar */
    ROOMY = 72, /* columns a terminal has where there is a bar */
    LEAST_LABEL = 16,
};

/* A line is drawn again after so long; on a terminal that keeps them all, and there the first one
 * comes after a while. */
static const double AGAIN_S = 0.5, AGAIN_PLAIN_S = 15, FIRST_PLAIN_S = 3;
/* A run this long has a bar. */
static const double LONG_S = 10;
/* The first group waits for the worker to start, and, where nobody has done it, for it to measure
 * what this machine can do. */
static const double START_S = 0.3, CALIBRATION_S = 8;

static double seconds_since(int64_t ns) { return (double)(assay_clock_ns() - ns) * 1e-9; }

/* ---- what is known beforehand ---- */

/* The first group that takes any time waits for the ceilings. */
static void expect_group(assay_estimator *estimator, const struct assay_plan *plan, int64_t i,
                         bool *first, struct assay_time_left_group *out)
{
    const struct assay_group *group = &plan->groups[i];
    struct assay_estimate e;
    bool asked = !group->over_limit && assay_estimate(estimator, group, &e, NULL) == ASSAY_OK;
    if (!asked || (e.known && !e.fits))
        return; /* it takes no time */
    out->timing_s = e.timing_s;
    out->setup_s = e.setup_s;
    bool calibrates = *first && !e.has_ceilings && !plan->settings.no_ceiling;
    out->unlike = calibrates;
    out->extra_s = (*first ? START_S : 0) + (calibrates ? CALIBRATION_S : 0);
    *first = false;
}

/* Without memory for it there is no time left to tell, and that is all. */
static void expect_groups(struct assay_progress *p, const struct assay_plan *plan, const bool *done)
{
    assay_estimator *estimator = NULL;
    if (assay_estimator_create(plan, false, &estimator, NULL) != ASSAY_OK)
        return;
    p->groups = assay_calloc((size_t)plan->n_groups + 1, sizeof *p->groups);
    bool first = true;
    for (int64_t i = 0; i < plan->n_groups && p->groups; i++) {
        p->groups[i].done = done && done[i];
        if (!p->groups[i].done)
            expect_group(estimator, plan, i, &first, &p->groups[i]);
    }
    assay_estimator_destroy(estimator);
    if (p->groups)
        assay_time_left_init(&p->time_left, p->groups, plan->n_groups);
}

void assay_progress_init(struct assay_progress *p, const struct assay_plan *plan, const bool *done,
                         bool quiet, bool ascii)
{
    struct assay_terminal terminal;
    assay_terminal_look(STDERR_FILENO, &terminal);
    *p = (struct assay_progress){
        .shown = !quiet && terminal.is_terminal,
        .plain = !terminal.escapes,
        .ascii = ascii || terminal.ascii,
        .plan = plan,
        .started_ns = assay_clock_ns(),
    };
    for (int64_t i = 0; i < plan->n_groups; i++)
        p->total += !done || !done[i];
    if (p->shown)
        expect_groups(p, plan, done);
}

void assay_progress_fini(struct assay_progress *p)
{
    assay_free(p->groups);
    p->groups = NULL;
}

/* ---- the line ---- */

/* ", about 40 s left" */
static void left_text(double left_s, char *buf, size_t size)
{
    buf[0] = '\0';
    if (isnan(left_s))
        return;
    if (left_s < 99.5)
        snprintf(buf, size, ", about %.0f s left", fmax(left_s, 1));
    else if (left_s < 5970)
        snprintf(buf, size, ", about %.0f min left", left_s / 60);
    else
        snprintf(buf, size, ", about %.1f h left", left_s / 3600);
}

/* Seconds; NaN where nothing is known. */
static double look_ahead(struct assay_progress *p)
{
    if (!p->groups)
        return (double)NAN;
    double gone_s = seconds_since(p->started_ns);
    double left_s = assay_time_left_now(&p->time_left, gone_s);
    if (isnan(left_s))
        return left_s;
    p->long_run |= gone_s + left_s >= LONG_S;
    p->share = fmax(p->share, gone_s / fmax(gone_s + left_s, 1e-3));
    return left_s;
}

/* "[=====>    ] " */
static void put_bar(struct assay_line *line, double share, bool ascii)
{
    int filled = (int)(fmin(share, 1) * BAR);
    assay_line_put(line, "[", 1, ASSAY_INK_PLAIN);
    for (int i = 0; i < BAR; i++)
        assay_line_put(line,
                       i < filled    ? ascii ? "=" : "━"
                       : i == filled ? ascii ? ">" : "╸"
                                     : " ",
                       1, ASSAY_INK_PLAIN);
    assay_line_put(line, "] ", 2, ASSAY_INK_PLAIN);
}

/* The last column stays free: text there would wrap on some terminals. */
static void compose(struct assay_progress *p, struct assay_line *line)
{
    char count[48], left[48];
    int width = assay_terminal_columns(STDERR_FILENO) - 1;
    struct assay_report_style style = {.ascii = p->ascii};
    int64_t number = p->done < p->total ? p->done + 1 : p->total;
    left_text(look_ahead(p), left, sizeof left);
    bool bar = p->long_run && !p->plain && width >= ROOMY;
    snprintf(count, sizeof count, bar ? "%lld/%lld " : "[%lld/%lld] ", (long long)number,
             (long long)p->total);
    assay_line_init(line, &style);
    if (bar)
        put_bar(line, p->share, p->ascii);
    assay_line_put(line, count, width, ASSAY_INK_PLAIN);
    int room = width - line->columns - (int)strlen(left);
    if (room < LEAST_LABEL)
        left[0] = '\0';
    assay_line_put(line, p->doing[0] ? p->doing : p->label, left[0] ? room : width - line->columns,
                   ASSAY_INK_PLAIN);
    assay_line_put(line, left, (int)sizeof left, ASSAY_INK_PLAIN);
}

static void draw(struct assay_progress *p)
{
    static const char clear[] = "\r\033[K";
    struct assay_line line;
    char out[sizeof line.bytes + sizeof clear];
    compose(p, &line);
    int length = snprintf(out, sizeof out, "%s%.*s%s", p->plain ? "" : clear, (int)line.length,
                          line.bytes, p->plain ? "\n" : "");
    fwrite(out, 1, (size_t)length, stderr); /* at once: half a line would flicker */
    (void)fflush(stderr);
    p->visible = !p->plain;
    p->drawn_ns = assay_clock_ns();
}

/* Where lines stay, few are written. */
static bool is_due(const struct assay_progress *p)
{
    if (p->plain)
        return p->drawn_ns ? seconds_since(p->drawn_ns) > AGAIN_PLAIN_S
                           : seconds_since(p->started_ns) > FIRST_PLAIN_S;
    return seconds_since(p->drawn_ns) > AGAIN_S;
}

/* ---- a run's course ---- */

static void make_label(struct assay_progress *p, const struct assay_group *group)
{
    char shape[64];
    size_t used = (size_t)snprintf(p->label, sizeof p->label, "%s", assay_op_shown(group->op));
    assay_tensor_shape_text(group->axes, group->n_axes, shape, sizeof shape);
    const char *const parts[] = {
        group->mode, shape, group->dtype == ASSAY_DTYPE_NONE ? "" : assay_dtype_name(group->dtype)};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i][0] && used < sizeof p->label)
            used += (size_t)snprintf(p->label + used, sizeof p->label - used, " %s", parts[i]);
}

void assay_progress_start(struct assay_progress *p, const struct assay_group *group)
{
    make_label(p, group);
    if (p->groups)
        assay_time_left_start(&p->time_left, group - p->plan->groups, seconds_since(p->started_ns));
    if (p->shown && (!p->plain || is_due(p)))
        draw(p);
}

void assay_progress_tick(struct assay_progress *p, const char *doing)
{
    snprintf(p->doing, sizeof p->doing, "%s%s", doing ? doing : "",
             !doing     ? ""
             : p->ascii ? " ..."
                        : " …");
    if (p->shown && p->label[0] && is_due(p))
        draw(p);
}

void assay_progress_done(struct assay_progress *p)
{
    p->done++;
    if (p->groups)
        assay_time_left_done(&p->time_left, seconds_since(p->started_ns));
}

void assay_progress_clear(struct assay_progress *p)
{
    if (p->visible)
        fputs("\r\033[K", stderr);
    p->visible = false;
}
