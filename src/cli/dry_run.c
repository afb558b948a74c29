/* dry_run.c: memory from the model's tensors and the recipes' bytes, time from the ceilings as far
 * as they are known: a call cannot take less, and a group takes its budget or, where calls are
 * long, the fewest rounds that tell anything. */
#include "cli/dry_run.h"

#include "cli/command.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"
#include "kernel/kernel.h"
#include "model/model.h"
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A group's rounds where its calls are longer than the budget, warming up included. */
static const double FEWEST_ROUNDS = 10;
/* A sample and the priming before it, where calls are shorter. */
static const double SAMPLE_NS = 300e3;

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
    struct assay_text *out; /* NULL: only the sum is wanted */
    struct seen seen[MOST_DEVICES];
    int64_t n_seen;
    struct assay_recipe recipes[64];
    int64_t n_recipes;
    assay_kernel_registry *registry; /* of the kernels of ops */
    /* Of the columns; 0: it is left out. */
    int entry_width, subject_width, label_width, compile_width;
    struct assay_forecast sum;
    bool no_memory;
};

/* One group, worked out. */
struct estimate {
    double bytes, call_ns, seconds; /* NaN would print as such: 0 is unknown */
    int64_t variants;
    const char *why_not; /* NULL: it is measured */
    bool knows_calls;
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

static const char *device_name(const struct dry_run *run, const struct assay_group *group)
{
    return group->device[0] ? group->device : run->plan->settings.device;
}

static const struct seen *device_of(struct dry_run *run, const struct assay_group *group)
{
    static const struct seen unknown = {0};
    const struct assay_settings *settings = &run->plan->settings;
    const char *name = device_name(run, group);
    for (int64_t i = 0; i < run->n_seen; i++)
        if (strcmp(run->seen[i].name, name) == 0)
            return &run->seen[i];
    if (run->n_seen == MOST_DEVICES)
        return &unknown;
    struct seen *seen = &run->seen[run->n_seen++];
    snprintf(seen->name, sizeof seen->name, "%s", name);
    /* A sum is not worth starting a GPU's driver for. */
    bool looks = run->out || assay_device_is_host(name);
    if (looks && look_at(settings, seen) == ASSAY_ERR_NOMEM)
        run->no_memory = true;
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
    if (!run->n_recipes)
        return bytes;
    int64_t k = problem->axes[1], n = problem->axes[2];
    double plain = assay_recipe_bytes(&run->recipes[0], problem->dtype, n, k);
    for (int64_t i = 0; i < run->n_recipes; i++)
        bytes +=
            cost->weight_bytes / plain * assay_recipe_bytes(&run->recipes[i], problem->dtype, n, k);
    return bytes;
}

static bool is_model(const struct assay_group *group)
{
    return strncmp(group->op, ASSAY_MODEL_PREFIX, strlen(ASSAY_MODEL_PREFIX)) == 0;
}

/* The kernels that take this problem; those of plug-ins are not known here. */
static int64_t count_kernels(const struct dry_run *run, const struct assay_group *group,
                             struct assay_problem *problem)
{
    enum { MOST = 64 };
    const struct assay_settings *s = &run->plan->settings;
    struct assay_contender found[MOST];
    char kind[32]; /* "cuda" of "cuda:1" */
    const char *device = device_name(run, group);
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(device, ":"), device);
    struct assay_kernel_choice choice = {
        .device = kind,
        .implementations = (const char *const *)s->implementations.items,
        .n_implementations = s->implementations.n,
        .kernels = (const char *const *)s->kernels.items,
        .n_kernels = s->kernels.n,
        .baseline = s->baseline,
    };
    int64_t count = 0;
    for (int64_t r = 0; r < (run->n_recipes ? run->n_recipes : 1); r++) {
        problem->recipe = run->n_recipes ? run->recipes[r].name : NULL;
        int64_t n = assay_kernel_choose(run->registry, problem, &choice, found, MOST);
        for (int64_t i = 0; i < n; i++)
            count += found[i].status == ASSAY_OK;
    }
    return count;
}

static int64_t count_variants(const struct dry_run *run, const struct assay_group *group,
                              struct assay_problem *problem)
{
    bool eager_only = strcmp(group->compile, "false") == 0;
    return is_model(group) ? run->n_recipes * (eager_only ? 1 : 2)
                           : count_kernels(run, group, problem);
}

/* A state takes its budget, or where calls are long or counted, what those take. */
static double seconds_of(const struct assay_settings *s, const struct estimate *e)
{
    double rounds = s->rounds ? (double)s->rounds : FEWEST_ROUNDS;
    double rounds_s = rounds * (double)e->variants * fmax(e->call_ns, SAMPLE_NS) * 1e-9;
    double state_s = s->rounds || rounds_s > s->budget_s ? rounds_s : s->budget_s;
    return state_s * (double)(s->hot + s->cold);
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
    *out = (struct estimate){.bytes = bytes_of(run, &problem, &cost),
                             .variants = count_variants(run, group, &problem),
                             .knows_calls = device->has_ceilings};
    if (group->over_limit)
        out->why_not = "over --max-elements";
    else if (device->limit_bytes > 0 && out->bytes > device->limit_bytes)
        out->why_not = "does not fit this memory";
    if (device->has_ceilings) {
        struct assay_ceiling_time least =
            assay_ceiling_time(&device->ceilings, cost.bytes_read, cost.bytes_written, cost.flops,
                               (int)cost.math, (double)assay_op_bytes(&problem), false);
        double call_ns = fmax(least.transfer_ns, least.compute_ns); /* of one that is known, that */
        out->call_ns = isnan(call_ns) ? 0 : call_ns;
    }
    out->seconds = seconds_of(s, out);
    return ASSAY_OK;
}

void assay_dry_run_seconds(double seconds, char *buf, size_t size)
{
    if (seconds < 100)
        snprintf(buf, size, "%.*f s", seconds < 10 ? 1 : 0, seconds);
    else if (seconds < 6000)
        snprintf(buf, size, "%.1f min", seconds / 60);
    else
        snprintf(buf, size, "%.1f h", seconds / 3600);
}

/* "linear", "linear bias+gelu" */
static const char *subject_of(const struct assay_group *group, char *buf, size_t size)
{
    const char *name = is_model(group) ? group->op + strlen(ASSAY_MODEL_PREFIX) : group->op;
    snprintf(buf, size, "%s%s%s", name, group->mode[0] ? " " : "", group->mode);
    return buf;
}

/* As wide as the heading and the longest text; 0 where every text is empty. */
static void widen(int *width, const char *heading, const char *text)
{
    int needed = (int)strlen(text);
    if (needed && *width < (int)strlen(heading))
        *width = (int)strlen(heading);
    if (*width < needed)
        *width = needed;
}

static void measure_columns(struct dry_run *run)
{
    char subject[128];
    for (int64_t i = 0; i < run->plan->n_groups; i++) {
        const struct assay_group *group = &run->plan->groups[i];
        widen(&run->entry_width, "entry", group->entry);
        widen(&run->subject_width, "model", subject_of(group, subject, sizeof subject));
        widen(&run->label_width, "shape", group->label);
        widen(&run->compile_width, "max-autotune", group->compile);
    }
}

static void put_column(struct dry_run *run, int width, const char *text)
{
    if (width)
        assay_text_format(run->out, "  %-*s", width, text);
}

static bool has_models(const struct assay_plan *plan)
{
    return plan->n_groups > 0 && is_model(&plan->groups[0]);
}

static void write_head(struct dry_run *run)
{
    bool models = has_models(run->plan);
    for (int64_t i = 0; i < run->n_recipes; i++)
        assay_text_format(run->out, "%s%s", i ? ", " : "recipes: ", run->recipes[i].name);
    assay_text_add(run->out, run->n_recipes ? "\n\n   #" : "   #");
    put_column(run, run->entry_width, "entry");
    put_column(run, run->subject_width, models ? "model" : "op");
    put_column(run, run->label_width, "shape");
    assay_text_format(run->out, " %18s  %-5s %-8s", models ? "m x k x n" : "sizes", "dtype",
                      "device");
    if (run->compile_width)
        assay_text_format(run->out, " %-*s", run->compile_width, "compile");
    assay_text_format(run->out, " %4s %9s %9s %9s\n", "rows", "memory", "call >=", "time");
}

static void write_group(struct dry_run *run, int64_t number, const struct assay_group *group,
                        const struct estimate *e)
{
    char shape[64], bytes[32], call[32] = "-", seconds[32] = "-", subject[128], count[24];
    assay_tensor_shape_text(group->axes, group->n_axes, shape, sizeof shape);
    assay_text_bytes(e->bytes, bytes, sizeof bytes);
    if (e->call_ns > 0)
        assay_text_time(e->call_ns, call, sizeof call);
    if (e->why_not)
        snprintf(seconds, sizeof seconds, "skipped");
    else if (e->knows_calls)
        assay_dry_run_seconds(e->seconds, seconds, sizeof seconds);
    snprintf(count, sizeof count, "%lld", (long long)number);
    assay_text_format(run->out, "%4s", count);
    put_column(run, run->entry_width, group->entry);
    put_column(run, run->subject_width, subject_of(group, subject, sizeof subject));
    put_column(run, run->label_width, group->label);
    assay_text_format(run->out, " %18s  %-5s %-8s", shape, assay_dtype_name(group->dtype),
                      device_name(run, group));
    if (run->compile_width)
        assay_text_format(run->out, " %-*s", run->compile_width, group->compile);
    assay_text_format(run->out, " %4lld %9s %9s %9s%s%s\n", (long long)e->variants, bytes, call,
                      seconds, e->why_not ? "  " : "", e->why_not ? e->why_not : "");
}

static void count_group(struct assay_forecast *sum, const struct estimate *e, int64_t repeat)
{
    sum->groups++;
    sum->most_bytes = e->bytes > sum->most_bytes ? e->bytes : sum->most_bytes;
    sum->variants += e->variants;
    if (e->why_not) {
        sum->too_large++;
        return;
    }
    sum->knows_calls = sum->knows_calls && e->knows_calls;
    sum->total_s += e->seconds * (double)repeat;
}

static void write_total(const struct dry_run *run, int64_t repeat)
{
    char bytes[32], seconds[32];
    const struct assay_forecast *sum = &run->sum;
    assay_text_bytes(sum->most_bytes, bytes, sizeof bytes);
    assay_dry_run_seconds(sum->total_s, seconds, sizeof seconds);
    assay_text_format(run->out, "\n%lld group%s, %lld rows", (long long)sum->groups,
                      sum->groups == 1 ? "" : "s", (long long)sum->variants);
    if (repeat > 1)
        assay_text_format(run->out, ", each %lld times", (long long)repeat);
    assay_text_format(run->out, "; up to %s of memory", bytes);
    if (sum->too_large)
        assay_text_format(run->out, ", %lld group%s skipped", (long long)sum->too_large,
                          sum->too_large == 1 ? "" : "s");
    if (sum->knows_calls && sum->total_s > 0)
        assay_text_format(run->out,
                          "; about %s of timing at the most, less where precision is reached; "
                          "preparing and verifying come on top",
                          seconds);
    else if (!sum->knows_calls)
        assay_text_add(run->out, "; no times: ceilings are not known here (assay info "
                                 "--calibrate)");
    assay_text_add(run->out, "\n");
}

/* Goes through the groups, each once; writes them where there is an output. */
static enum assay_status walk(struct dry_run *run, int64_t repeat, struct assay_error *err)
{
    const struct assay_plan *plan = run->plan;
    enum assay_status status = ASSAY_OK;
    run->sum = (struct assay_forecast){.knows_calls = true};
    run->registry = assay_kernel_registry_create();
    if (!run->registry)
        return assay_error_nomem(err);
    for (int64_t i = 0; i < plan->settings.recipes.n && i < 64 && status == ASSAY_OK; i++)
        status = assay_recipe_parse(plan->settings.recipes.items[i],
                                    &run->recipes[run->n_recipes++], err);
    if (status == ASSAY_OK && run->out) {
        measure_columns(run);
        write_head(run);
    }
    for (int64_t i = 0; i < plan->n_groups / repeat && status == ASSAY_OK; i++) {
        struct estimate e = {0};
        status = estimate(run, &plan->groups[i], &e, err);
        if (status == ASSAY_OK && run->out)
            write_group(run, i + 1, &plan->groups[i], &e);
        count_group(&run->sum, &e, repeat);
    }
    assay_kernel_registry_destroy(run->registry);
    return status;
}

enum assay_status assay_dry_run(const struct assay_plan *plan, int64_t repeat,
                                struct assay_text *out, struct assay_error *err)
{
    struct dry_run run = {.plan = plan, .out = out};
    enum assay_status status = walk(&run, repeat, err);
    if (status == ASSAY_OK && run.no_memory)
        status = assay_error_nomem(err);
    if (status != ASSAY_OK)
        return status;
    write_total(&run, repeat);
    return out->failed ? assay_error_nomem(err) : ASSAY_OK;
}

enum assay_status assay_dry_run_forecast(const struct assay_plan *plan, int64_t repeat,
                                         struct assay_forecast *out, struct assay_error *err)
{
    struct dry_run run = {.plan = plan};
    enum assay_status status = walk(&run, repeat, err);
    *out = run.sum;
    return status == ASSAY_OK && run.no_memory ? assay_error_nomem(err) : status;
}

int assay_dry_run_print(const struct assay_plan *plan, int64_t repeat)
{
    struct assay_text text = {0};
    struct assay_error err = {0};
    if (assay_dry_run(plan, repeat, &text, &err) == ASSAY_OK)
        return assay_print_text(&text);
    assay_text_fini(&text);
    return assay_complain(&err);
}

void assay_dry_run_announce(const struct assay_plan *plan, int64_t repeat, const char *how)
{
    char seconds[32];
    struct assay_forecast sum;
    const double worth_saying_s = 20;
    if (assay_dry_run_forecast(plan, repeat, &sum, NULL) != ASSAY_OK ||
        sum.total_s < worth_saying_s)
        return;
    assay_dry_run_seconds(sum.total_s, seconds, sizeof seconds);
    fprintf(stderr, "assay: %lld group%s, about %s of timing%s; %s\n", (long long)plan->n_groups,
            plan->n_groups == 1 ? "" : "s", seconds, sum.knows_calls ? "" : " at the least", how);
}

void assay_dry_run_warn(const struct assay_plan *plan, int64_t repeat)
{
    char seconds[32], text[256];
    struct assay_forecast sum;
    const double hour_s = 3600;
    if (assay_dry_run_forecast(plan, repeat, &sum, NULL) != ASSAY_OK || sum.total_s < hour_s)
        return;
    assay_dry_run_seconds(sum.total_s, seconds, sizeof seconds);
    snprintf(
        text, sizeof text,
        "on the cpu this takes about %s%s; --dry-run shows where, --limit N measures the first "
        "N groups, --strict-device ends it instead",
        seconds, sum.knows_calls ? "" : " at the least");
    assay_warn(text);
}
