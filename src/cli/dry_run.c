/* dry_run.c: memory from the model's tensors and the recipes' bytes, time from the ceilings as far
 * as they are known: a call cannot take less, and a group takes its budget or, where calls are
 * long, the fewest rounds that tell anything. */
#include "cli/dry_run.h"

#include "device/cpu/cpu_info.h"
#include "device/device.h"
#include "model/model.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A group's rounds where its calls are longer than the budget, warming up included. */
static const double FEWEST_ROUNDS = 10;

/* Devices of a plan, each opened once. */
enum { MOST_DEVICES = 16 };
struct seen {
    char name[32];
    double limit_bytes; /* bytes a group may take; 0: unknown */
    struct assay_ceilings ceilings;
    bool has_ceilings;
};

struct dry_run {
    const struct assay_plan *plan;
    struct assay_text *out;
    struct seen seen[MOST_DEVICES];
    int64_t n_seen;
    struct assay_recipe recipes[64];
    int64_t n_recipes;
    int entry_width, model_width, label_width;
    bool all_timed; /* every group's time could be told */
    double total_s, most_bytes;
    int64_t variants, too_large;
};

/* One group, worked out. */
struct estimate {
    double bytes, call_ns, seconds; /* NaN would print as such: 0 is unknown */
    int64_t variants;
    bool fits;
};

/* What the device has; one that does not open keeps its secrets, and the run will say why. */
static enum assay_status look_at(const struct assay_settings *settings, struct seen *seen)
{
    const struct assay_device_driver *driver;
    int32_t index;
    assay_device *device = NULL;
    struct assay_device_info info;
    enum assay_status status = assay_device_parse(seen->name, &driver, &index, NULL);
    if (status == ASSAY_OK)
        status = assay_device_open(driver, index, settings->threads, &device, NULL);
    if (status != ASSAY_OK)
        return status;
    driver->describe(device, &info);
    seen->limit_bytes = (double)info.memory_available * 0.9; /* as the worker leaves a tenth */
    status = assay_ceilings_load(info.name, device->threads, &seen->ceilings, NULL);
    seen->has_ceilings = status == ASSAY_OK;
    assay_device_close(device);
    return status;
}

static const struct seen *device_of(struct dry_run *run, const struct assay_group *group)
{
    static const struct seen unknown = {0};
    const struct assay_settings *settings = &run->plan->settings;
    const char *name = group->device[0] ? group->device : settings->device;
    for (int64_t i = 0; i < run->n_seen; i++)
        if (strcmp(run->seen[i].name, name) == 0)
            return &run->seen[i];
    if (run->n_seen == MOST_DEVICES)
        return &unknown;
    struct seen *seen = &run->seen[run->n_seen++];
    snprintf(seen->name, sizeof seen->name, "%s", name);
    if (look_at(settings, seen) == ASSAY_ERR_NOMEM)
        run->out->failed = true;
    double limit = (double)settings->memory_limit;
    if (limit > 0 && (seen->limit_bytes == 0 || limit < seen->limit_bytes))
        seen->limit_bytes = limit;
    return seen;
}

/* Operands of a call, and the weights once more as each recipe stores them. */
static double bytes_of(const struct dry_run *run, const struct assay_problem *problem,
                       const struct assay_cost *cost)
{
    double bytes = (double)assay_op_bytes(problem);
    int64_t k = problem->axes[1], n = problem->axes[2];
    double plain = assay_recipe_bytes(&run->recipes[0], problem->dtype, n, k);
    for (int64_t i = 0; i < run->n_recipes; i++)
        if (run->recipes[i].quant)
            bytes += cost->weight_bytes / plain *
                     assay_recipe_bytes(&run->recipes[i], problem->dtype, n, k);
    return bytes;
}

static enum assay_status estimate(struct dry_run *run, const struct assay_group *group,
                                  struct estimate *out, struct assay_error *err)
{
    const struct assay_settings *s = &run->plan->settings;
    const struct assay_op *op = assay_model_op(group->op);
    struct assay_problem problem;
    if (!op)
        return assay_error_nomem(err);
    enum assay_status status =
        assay_op_problem(op, group->dtype, group->mode, group->axes, s->threads, &problem, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_cost cost = op->cost(&problem);
    const struct seen *device = device_of(run, group);
    bool eager_only = strcmp(group->compile, "false") == 0;
    *out = (struct estimate){
        .bytes = bytes_of(run, &problem, &cost),
        .variants = run->n_recipes * (eager_only ? 1 : 2),
    };
    out->fits = device->limit_bytes == 0 || out->bytes <= device->limit_bytes;
    if (!device->has_ceilings)
        return ASSAY_OK;
    struct assay_ceiling_time least =
        assay_ceiling_time(&device->ceilings, cost.bytes_read, cost.bytes_written, cost.flops,
                           (int)cost.math, (double)assay_op_bytes(&problem), false);
    double call_ns = fmax(least.transfer_ns, least.compute_ns); /* of one that is known, that */
    out->call_ns = isnan(call_ns) ? 0 : call_ns;
    double rounds_s = (s->rounds ? (double)s->rounds : FEWEST_ROUNDS) * (double)out->variants *
                      out->call_ns * 1e-9;
    double state_s = s->rounds || rounds_s > s->budget_s ? rounds_s : s->budget_s;
    out->seconds = state_s * (double)(s->hot + s->cold);
    return ASSAY_OK;
}

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

static const char *model_of(const struct assay_group *group)
{
    return group->op + strlen(ASSAY_MODEL_PREFIX);
}

static void measure_columns(struct dry_run *run)
{
    run->entry_width = run->model_width = run->label_width = 5;
    for (int64_t i = 0; i < run->plan->n_groups; i++) {
        const struct assay_group *group = &run->plan->groups[i];
        int entry = (int)strlen(group->entry), model = (int)strlen(model_of(group)),
            label = (int)strlen(group->label);
        run->entry_width = entry > run->entry_width ? entry : run->entry_width;
        run->model_width = model > run->model_width ? model : run->model_width;
        run->label_width = label > run->label_width ? label : run->label_width;
    }
}

static void write_head(const struct dry_run *run)
{
    assay_text_add(run->out, "recipes: ");
    for (int64_t i = 0; i < run->n_recipes; i++)
        assay_text_format(run->out, "%s%s%s", i ? ", " : "", run->recipes[i].name,
                          run->recipes[i].quant ? "" : " (unsupported)");
    assay_text_format(
        run->out, "\n\n   #  %-*s  %-*s  %-*s %18s  %-5s %-8s %-12s %4s %9s %9s %9s\n",
        run->entry_width, "entry", run->model_width, "model", run->label_width, "shape",
        "m x k x n", "dtype", "device", "compile", "rows", "memory", "call >=", "time");
}

static void write_group(struct dry_run *run, int64_t number, const struct assay_group *group,
                        const struct estimate *e)
{
    char shape[64], bytes[32], call[32] = "-", seconds[32] = "-";
    assay_tensor_shape_text(group->axes, group->n_axes, shape, sizeof shape);
    assay_text_bytes(e->bytes, bytes, sizeof bytes);
    if (e->call_ns > 0)
        assay_text_time(e->call_ns, call, sizeof call);
    if (!e->fits)
        snprintf(seconds, sizeof seconds, "skipped");
    else if (e->seconds > 0)
        seconds_text(e->seconds, seconds, sizeof seconds);
    assay_text_format(
        run->out, "%4lld  %-*s  %-*s  %-*s %18s  %-5s %-8s %-12s %4lld %9s %9s %9s%s\n",
        (long long)number, run->entry_width, group->entry, run->model_width, model_of(group),
        run->label_width, group->label, shape, assay_dtype_name(group->dtype), group->device,
        group->compile, (long long)e->variants, bytes, call, seconds,
        e->fits ? "" : "  does not fit this memory");
}

static void count_group(struct dry_run *run, const struct estimate *e, int64_t repeat)
{
    run->most_bytes = e->bytes > run->most_bytes ? e->bytes : run->most_bytes;
    run->variants += e->variants;
    if (!e->fits) {
        run->too_large++;
        return;
    }
    run->all_timed = run->all_timed && e->seconds > 0;
    run->total_s += e->seconds * (double)repeat;
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
    enum assay_status status = ASSAY_OK;
    for (int64_t i = 0; i < plan->settings.recipes.n && i < 64 && status == ASSAY_OK; i++) {
        struct assay_error why = {0};
        const char *name = plan->settings.recipes.items[i];
        status = assay_recipe_parse(name, &run.recipes[run.n_recipes++], &why);
        if (status == ASSAY_UNSUPPORTED) /* it has rows, and takes nothing */
            status = ASSAY_OK;
        else if (status != ASSAY_OK)
            return assay_error_set(err, status, NULL, "%s", why.message);
    }
    measure_columns(&run);
    write_head(&run);
    for (int64_t i = 0; i < plan->n_groups / repeat; i++) {
        struct estimate e = {0};
        status = estimate(&run, &plan->groups[i], &e, err);
        if (status != ASSAY_OK)
            return status;
        write_group(&run, i + 1, &plan->groups[i], &e);
        count_group(&run, &e, repeat);
    }
    write_total(&run, plan->n_groups / repeat, repeat);
    return out->failed ? assay_error_nomem(err) : ASSAY_OK;
}
