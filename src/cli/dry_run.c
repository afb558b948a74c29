/* dry_run.c: the groups of a plan as a table, with what bench/estimate.h knows of them. */
#include "cli/dry_run.h"

#include "bench/estimate.h"
#include "op/op_name.h"
#include "quant/quant.h"
#include "tensor/tensor.h"

#include <stdio.h>
#include <string.h>

struct dry_run {
    const struct assay_plan *plan;
    struct assay_text *out;
    int entry_width, model_width, label_width;
    bool all_timed; /* every group's time could be told */
    double total_s, most_bytes;
    int64_t variants, too_large;
};

/* "2.0 s", "4.1 min", "1.3 h" */
static void seconds_text(double seconds, char *buf, size_t size)
{
    if (seconds < 100)
        snprintf(buf, size, "%.1f s", seconds);
    else if (seconds < 6000)
        snprintf(buf, size, "%.1f min", seconds / 60);
    else
        snprintf(buf, size, "%.1f h", seconds / 3600);
}

static void measure_columns(struct dry_run *run)
{
    run->entry_width = run->model_width = run->label_width = 5;
    for (int64_t i = 0; i < run->plan->n_groups; i++) {
        const struct assay_group *group = &run->plan->groups[i];
        int entry = (int)strlen(group->entry), model = (int)strlen(assay_op_shown(group->op)),
            label = (int)strlen(group->label);
        run->entry_width = entry > run->entry_width ? entry : run->entry_width;
        run->model_width = model > run->model_width ? model : run->model_width;
        run->label_width = label > run->label_width ? label : run->label_width;
    }
}

static void write_head(const struct dry_run *run)
{
    assay_text_add(run->out, "recipes: ");
    for (int64_t i = 0; i < run->plan->settings.recipes.n; i++) {
        struct assay_recipe recipe;
        const char *name = run->plan->settings.recipes.items[i];
        bool missing = assay_recipe_parse(name, &recipe, NULL) == ASSAY_UNSUPPORTED;
        assay_text_format(run->out, "%s%s%s", i ? ", " : "", name, missing ? " (unsupported)" : "");
    }
    assay_text_format(
        run->out, "\n\n   #  %-*s  %-*s  %-*s %18s  %-5s %-8s %-12s %4s %9s %9s %9s\n",
        run->entry_width, "entry", run->model_width, "model", run->label_width, "shape",
        "m x k x n", "dtype", "device", "compile", "rows", "memory", "call >=", "time");
}

static void write_group(struct dry_run *run, int64_t number, const struct assay_group *group,
                        const struct assay_estimate *e)
{
    char shape[64], bytes[32], call[32] = "-", seconds[32] = "-";
    assay_tensor_shape_text(group->axes, group->n_axes, shape, sizeof shape);
    assay_text_bytes(e->bytes, bytes, sizeof bytes);
    if (e->call_ns > 0)
        assay_text_time(e->call_ns, call, sizeof call);
    if (!e->fits)
        snprintf(seconds, sizeof seconds, "skipped");
    else if (e->has_ceilings)
        seconds_text(e->timing_s, seconds, sizeof seconds);
    assay_text_format(
        run->out, "%4lld  %-*s  %-*s  %-*s %18s  %-5s %-8s %-12s %4lld %9s %9s %9s%s\n",
        (long long)number, run->entry_width, group->entry, run->model_width,
        assay_op_shown(group->op), run->label_width, group->label, shape,
        assay_dtype_name(group->dtype), group->device, group->compile, (long long)e->variants,
        bytes, call, seconds, e->fits ? "" : "  does not fit this memory");
}

static void count_group(struct dry_run *run, const struct assay_estimate *e, int64_t repeat)
{
    run->most_bytes = e->bytes > run->most_bytes ? e->bytes : run->most_bytes;
    run->variants += e->variants;
    if (!e->fits) {
        run->too_large++;
        return;
    }
    run->all_timed = run->all_timed && e->has_ceilings;
    run->total_s += e->timing_s * (double)repeat;
}

static void write_total(const struct dry_run *run, int64_t groups, int64_t repeat)
{
    char bytes[32], seconds[32];
    assay_text_bytes(run->most_bytes, bytes, sizeof bytes);
    seconds_text(run->total_s, seconds, sizeof seconds);
    assay_text_format(run->out, "\n%lld group%s, %lld rows", (long long)groups,
                      groups == 1 ? "" : "s", (long long)run->variants);
    if (repeat > 1)
        assay_text_format(run->out, ", each %lld times", (long long)repeat);
    assay_text_format(run->out, "; up to %s of memory", bytes);
    if (run->too_large)
        assay_text_format(run->out, ", which %lld group%s not fit", (long long)run->too_large,
                          run->too_large == 1 ? " does" : "s do");
    if (run->all_timed && run->total_s > 0)
        assay_text_format(run->out,
                          "; about %s of timing at the most, less where precision is reached; "
                          "storing weights and verifying come on top",
                          seconds);
    else if (!run->all_timed)
        assay_text_add(run->out, "; no times: ceilings are not known here (assay info "
                                 "--calibrate)");
    assay_text_add(run->out, "\n");
}

enum assay_status assay_dry_run(const struct assay_plan *plan, int64_t repeat,
                                struct assay_text *out, struct assay_error *err)
{
    struct dry_run run = {.plan = plan, .out = out, .all_timed = true};
    assay_estimator *estimator = NULL;
    enum assay_status status = assay_estimator_create(plan, true, &estimator, err);
    if (status != ASSAY_OK)
        return status;
    measure_columns(&run);
    write_head(&run);
    for (int64_t i = 0; i < plan->n_groups / repeat && status == ASSAY_OK; i++) {
        struct assay_estimate e;
        status = assay_estimate(estimator, &plan->groups[i], &e, err);
        if (status == ASSAY_OK && !e.known)
            status = assay_error_nomem(err); /* no other reason that a planned op is not there */
        if (status != ASSAY_OK)
            break;
        write_group(&run, i + 1, &plan->groups[i], &e);
        count_group(&run, &e, repeat);
    }
    assay_estimator_destroy(estimator);
    if (status != ASSAY_OK)
        return status;
    write_total(&run, plan->n_groups / repeat, repeat);
    return out->failed ? assay_error_nomem(err) : ASSAY_OK;
}
