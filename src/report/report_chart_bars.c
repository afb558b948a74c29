#include "report/report_chart_bars.h"

#include "tensor/dtype.h"

#include <stdio.h>
#include <string.h>

/* "1.72x faster" and its interval; "same within 0.8%", "unclear (n=8)". */
static void say_ratio(struct assay_chart_bar *bar)
{
    enum { WIDE = 40 };
    const struct assay_ratio *r = &bar->ratio;
    int direction = assay_cell_ratio_direction(r);
    bar->compared = true;
    if (direction == 0) {
        bar->figure = assay_cell_interval(r, WIDE, false);
        return;
    }
    bar->figure = assay_cell_times(r, &bar->interval);
    assay_cell_add(&bar->figure, direction > 0 ? " faster" : " slower");
}

/* ---- kernels of a repository --------------------------------------------------------------- */

bool assay_chart_is_kernels(const struct assay_bouts *bouts)
{
    if (bouts->run.repository[0])
        return true;
    for (int64_t i = 0; i < bouts->n; i++)
        if (assay_cell_is_workload(&bouts->groups[i].records[0]))
            return true;
    return false;
}

/* "SiluWorkloads"; of an op each group has its own: "layernorm f32 4x512, this kernel 1.23 ms". */
static struct assay_cell bout_heading(const struct assay_bout *bout)
{
    struct assay_cell cell = assay_bout_benchmark(bout->kernel);
    if (assay_cell_is_workload(bout->kernel))
        return cell;
    assay_cell_add(&cell, " %s", assay_bout_workload(bout).text);
    if (bout->m)
        assay_cell_add(&cell, ": this kernel %s", assay_cell_time(bout->m->time.median).text);
    return cell;
}

static struct assay_cell bout_label(const struct assay_bout *bout, const struct assay_record *rival)
{
    struct assay_cell cell = {"this kernel"};
    if (assay_cell_is_workload(bout->kernel))
        return assay_bout_workload(bout);
    if (rival && bout->kernel->outcome == ASSAY_OUTCOME_OK)
        snprintf(cell.text, sizeof cell.text, "vs %s", assay_bout_rival_name(bout, rival));
    return cell;
}

/* "6.52 ms vs 11.2 ms"; of an op, where the heading has the kernel's, the rival's alone. */
static struct assay_cell bout_times(const struct assay_bout *bout, const struct assay_record *rival)
{
    const struct assay_measurement *its = assay_bout_figures(bout, rival);
    struct assay_cell cell = {""};
    if (bout->m && assay_cell_is_workload(bout->kernel))
        assay_cell_add(&cell, "%s", assay_cell_time(bout->m->time.median).text);
    if (its)
        assay_cell_add(&cell, "%s%s", cell.text[0] ? " vs " : "",
                       assay_cell_time(its->time.median).text);
    return cell;
}

static void say_alone(struct assay_chart_bar *bar, const struct assay_bout *bout,
                      const struct assay_record *rival)
{
    struct assay_cell times = bout_times(bout, rival);
    assay_cell_add(&bar->figure, "%s", bout->m ? times.text : "not timed");
    assay_cell_add(&bar->below, "%s", rival ? "not compared" : "no reference");
}

static struct assay_chart_bar bar_of_bout(const struct assay_bouts *bouts,
                                          const struct assay_bout *bout,
                                          const struct assay_record *rival)
{
    struct assay_chart_bar bar = {.heading = bout_heading(bout),
                                  .name = assay_bout_name(bouts, bout),
                                  .label = bout_label(bout, rival)};
    if (bout->kernel->outcome != ASSAY_OUTCOME_OK)
        bar.trouble = bout->kernel;
    else if (rival && rival->outcome != ASSAY_OUTCOME_OK)
        bar.trouble = rival;
    if (bar.trouble) {
        bool its = bar.trouble == rival && assay_cell_is_workload(bout->kernel);
        assay_cell_add(&bar.figure, "%s%s", its ? "reference " : "",
                       assay_cell_outcome(bar.trouble->outcome).text);
        bar.below = bout->m ? bout_times(bout, rival) : bar.below;
    } else if (rival && assay_bout_ratio(bout, rival, &bar.ratio)) {
        say_ratio(&bar);
        bar.below = bout_times(bout, rival);
    } else {
        say_alone(&bar, bout, rival);
    }
    return bar;
}

/* A workload, and a kernel without figures, has one bar; an op's has one for each rival. */
static bool next_bout(const struct assay_bouts *bouts, struct assay_chart_walk *walk,
                      struct assay_chart_bar *bar)
{
    const struct assay_bout *bout = &walk->bout;
    bool one = !walk->begun || bout->kernel->outcome != ASSAY_OUTCOME_OK ||
               assay_cell_is_workload(bout->kernel);
    if (walk->rival && !one)
        walk->rival = assay_bout_rival(bouts, bout, walk->rival);
    if (one || !walk->rival) {
        if (!assay_bouts_next(bouts, &walk->bout))
            return false;
        walk->rival = assay_bout_rival(bouts, bout, NULL);
    }
    walk->begun = true;
    *bar = bar_of_bout(bouts, bout, walk->rival);
    return true;
}

/* ---- variants of a problem ----------------------------------------------------------------- */

static bool is_timed(const struct assay_record *record, enum assay_cache_state state)
{
    return record->outcome == ASSAY_OUTCOME_OK && record->states[state].measured;
}

/* One without figures is shown once. */
static bool has_bar(const struct assay_record *record, enum assay_cache_state state)
{
    bool timed = is_timed(record, ASSAY_CACHE_HOT) || is_timed(record, ASSAY_CACHE_COLD);
    return timed ? is_timed(record, state) : state == ASSAY_CACHE_HOT;
}

static const struct assay_record *baseline_of(const struct assay_bout_group *group)
{
    for (int64_t i = 0; i < group->n; i++)
        if (group->records[i].is_baseline)
            return &group->records[i];
    return NULL;
}

/* "linear bias+gelu bf16 1x4096x4096 (cold), baseline onednn 85.5 us" */
static struct assay_cell group_heading(const struct assay_bouts *bouts,
                                       const struct assay_bout_group *group,
                                       enum assay_cache_state state)
{
    const struct assay_record *r = &group->records[0], *baseline = baseline_of(group);
    struct assay_cell cell = {""};
    assay_cell_add(&cell, "%s%s%s%s", assay_cell_subject(r), r->mode[0] ? " " : "", r->mode,
                   r->dtype == ASSAY_DTYPE_NONE ? "" : " ");
    if (r->dtype != ASSAY_DTYPE_NONE)
        assay_cell_add(&cell, "%s", assay_dtype_name(r->dtype));
    for (int32_t i = 0; i < r->n_axes && i < ASSAY_MAX_AXES; i++)
        assay_cell_add(&cell, "%s%lld", i ? "x" : " ", (long long)r->axes[i]);
    if (r->label[0])
        assay_cell_add(&cell, " %.40s", r->label);
    if (bouts->run.hot == bouts->run.cold)
        assay_cell_add(&cell, " (%s)", assay_cache_state_name(state));
    if (baseline && is_timed(baseline, state))
        assay_cell_add(&cell, ", baseline %s %s",
                       assay_cell_variant(baseline, group->records, group->n),
                       assay_cell_time(baseline->states[state].time.median).text);
    return cell;
}

static struct assay_chart_bar bar_of_variant(const struct assay_bouts *bouts,
                                             const struct assay_bout_group *group,
                                             const struct assay_record *record,
                                             enum assay_cache_state state)
{
    const struct assay_measurement *m = &record->states[state];
    const char *variant = assay_cell_variant(record, group->records, group->n);
    struct assay_chart_bar bar = {.heading = group_heading(bouts, group, state)};
    assay_cell_add(&bar.label, "%s%s%s", record->recipe, record->recipe[0] && variant[0] ? " " : "",
                   variant);
    if (!bar.label.text[0])
        assay_cell_add(&bar.label, "all variants");
    assay_cell_add(&bar.name, "%.70s: %s", bar.heading.text, bar.label.text);
    if (record->outcome != ASSAY_OUTCOME_OK) {
        bar.trouble = record;
        bar.figure = assay_cell_outcome(record->outcome);
        return bar;
    }
    assay_cell_add(&bar.below, "%s", m->measured ? assay_cell_time(m->time.median).text : "");
    bar.ratio = m->ratio;
    bar.baseline = m->measured && assay_cell_is_baseline(record);
    if (m->measured && !bar.baseline && m->has_ratio)
        say_ratio(&bar);
    else
        assay_cell_add(&bar.figure, "%s",
                       bar.baseline  ? "baseline"
                       : m->measured ? "not compared"
                                     : "not timed");
    return bar;
}

/* All of a group that are timed hot, then all that are timed cold. */
static bool next_variant(const struct assay_bouts *bouts, struct assay_chart_walk *walk,
                         struct assay_chart_bar *bar)
{
    while (walk->group < bouts->n) {
        const struct assay_bout_group *group = &bouts->groups[walk->group];
        for (; walk->record < group->n; walk->record++) {
            const struct assay_record *record = &group->records[walk->record];
            if (!has_bar(record, walk->state))
                continue;
            *bar = bar_of_variant(bouts, group, record, walk->state);
            walk->record++;
            return true;
        }
        walk->record = 0;
        walk->group += walk->state == ASSAY_CACHE_COLD;
        walk->state = walk->state == ASSAY_CACHE_COLD ? ASSAY_CACHE_HOT : ASSAY_CACHE_COLD;
    }
    return false;
}

bool assay_chart_next(const struct assay_bouts *bouts, struct assay_chart_walk *walk,
                      struct assay_chart_bar *bar)
{
    return assay_chart_is_kernels(bouts) ? next_bout(bouts, walk, bar)
                                         : next_variant(bouts, walk, bar);
}
