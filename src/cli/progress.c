#include "cli/progress.h"

#include "base/clock.h"
#include "cli/command.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <unistd.h>

void assay_progress_init(struct assay_progress *progress, int64_t total, bool quiet)
{
    *progress = (struct assay_progress){
        .shown = !quiet && isatty(STDERR_FILENO) == 1,
        .total = total,
        .started_ns = assay_clock_ns(),
    };
}

/* What is left, judged by what the groups so far have taken; nothing before the first is done. */
static void eta(const struct assay_progress *p, char *buf, size_t size)
{
    buf[0] = '\0';
    if (p->done == 0)
        return;
    double elapsed_s = (double)(assay_clock_ns() - p->started_ns) * 1e-9;
    double left_s = elapsed_s / (double)p->done * (double)(p->total - p->done);
    if (left_s < 100)
        snprintf(buf, size, ", about %.0f s left", left_s);
    else
        snprintf(buf, size, ", about %.0f min left", left_s / 60);
}

static void draw(struct assay_progress *p)
{
    char left[48];
    eta(p, left, sizeof left);
    fprintf(stderr, "\r\033[K[%lld/%lld] ", (long long)p->done + 1, (long long)p->total);
    assay_put(stderr, p->label);
    fputs(left, stderr);
    (void)fflush(stderr);
    p->visible = true;
    p->drawn_ns = assay_clock_ns();
}

void assay_progress_start(struct assay_progress *p, const struct assay_group *group)
{
    char shape[64];
    assay_tensor_shape_text(group->axes, group->n_axes, shape, sizeof shape);
    snprintf(p->label, sizeof p->label, "%.31s%s%.31s %s %s", group->op, group->mode[0] ? " " : "",
             group->mode, shape, assay_dtype_name(group->dtype));
    if (p->shown)
        draw(p);
}

void assay_progress_tick(struct assay_progress *p)
{
    if (p->shown && assay_clock_ns() - p->drawn_ns > 500000000)
        draw(p);
}

void assay_progress_done(struct assay_progress *p) { p->done++; }

void assay_progress_clear(struct assay_progress *p)
{
    if (p->visible)
        fputs("\r\033[K", stderr);
    p->visible = false;
}
