#include "bench/estimate.h"

#include "base/alloc.h"
#include "base/text.h"
#include "device/cpu/cpu_info.h"
#include "device/device.h"
#include "kernel/implementation.h"
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
/* Beside the samples, on one core of a server of 2020: what filling and comparing takes for a byte
 * of the operands, a reference for an operation (of no more than so many), and every variant for
 * its process and its checks. */
static const double FILL_S = 1.3e-9, REFERENCE_S = 0.6e-9, REFERENCE_MOST = 2.5e8, VARIANT_S = 0.02;

/* The worker leaves a tenth. */
static const double MEMORY_SHARE = 0.9;

enum { MOST_DEVICES = 16, MOST_RECIPES = 64, MOST_FOUND = 64 };

/* A device of the plan, looked at once. */
struct seen {
    char name[32];
    double limit_bytes; /* bytes a group may take; 0: unknown */
    double cache_bytes;
    struct assay_ceilings ceilings;
    bool has_ceilings;
};

struct assay_estimator {
    const struct assay_plan *plan;
    bool thorough;
    struct seen seen[MOST_DEVICES];
    int64_t n_seen;
    struct assay_recipe recipes[MOST_RECIPES];
    int64_t n_recipes;
    assay_kernel_registry *registry;
};

enum assay_status assay_estimator_create(const struct assay_plan *plan, bool thorough,
                                         assay_estimator **out, struct assay_error *err)
{
    const struct assay_strings *recipes = &plan->settings.recipes;
    assay_estimator *e = assay_calloc(1, sizeof *e);
    if (!e)
        return assay_error_nomem(err);
    e->plan = plan;
    e->thorough = thorough;
    e->registry = assay_kernel_registry_create();
    enum assay_status status = e->registry ? ASSAY_OK : assay_error_nomem(err);
    for (int64_t i = 0; i < recipes->n && i < MOST_RECIPES && status == ASSAY_OK; i++) {
        struct assay_error why = {0};
        status = assay_recipe_parse(recipes->items[i], &e->recipes[e->n_recipes++], &why);
        if (status == ASSAY_UNSUPPORTED) /* it has rows, and takes nothing */
            status = ASSAY_OK;
        else if (status != ASSAY_OK)
            assay_error_set(err, status, why.where[0] ? why.where : NULL, "%s", why.message);
    }
    if (status != ASSAY_OK) {
        assay_estimator_destroy(e);
        return status;
    }
    *out = e;
    return ASSAY_OK;
}

void assay_estimator_destroy(assay_estimator *estimator)
{
    if (!estimator)
        return;
    assay_kernel_registry_destroy(estimator->registry);
    assay_free(estimator);
}

/* ---- devices ---- */

/* What the device has; one that does not open keeps its secrets, and the run will say why. */
static enum assay_status look_inside(const struct assay_device_driver *driver, int32_t index,
                                     int32_t threads, struct seen *seen)
{
    assay_device *device = NULL;
    struct assay_device_info info;
    enum assay_status status = assay_device_open(driver, index, threads, &device, NULL);
    if (status != ASSAY_OK)
        return status;
    driver->describe(device, &info);
    seen->limit_bytes = (double)info.memory_available * MEMORY_SHARE;
    seen->cache_bytes = (double)info.llc_bytes;
    status = assay_ceilings_load(info.name, device->threads, &seen->ceilings, NULL);
    seen->has_ceilings = status == ASSAY_OK;
    assay_device_close(device);
    return status;
}

/* The same without opening it. A GPU has its ceilings whatever the host does. */
static enum assay_status look_from_outside(const struct assay_device_driver *driver, int32_t index,
                                           int32_t threads, struct seen *seen)
{
    bool host = assay_device_is_host(seen->name);
    char name[96] = "";
    if (host)
        snprintf(name, sizeof name, "%s",
                 assay_cpu_info()->model[0] ? assay_cpu_info()->model : "cpu");
    else if (driver->name_of)
        driver->name_of(index, name, sizeof name);
    if (host) {
        seen->cache_bytes = (double)assay_cpu_llc_bytes(threads);
        seen->limit_bytes = (double)assay_cpu_memory_available() * MEMORY_SHARE;
    }
    enum assay_status status = assay_ceilings_load(name, host ? threads : 1, &seen->ceilings, NULL);
    seen->has_ceilings = status == ASSAY_OK;
    return status;
}

static enum assay_status look_at(const assay_estimator *e, struct seen *seen)
{
    const struct assay_device_driver *driver;
    int32_t index, threads = e->plan->settings.threads;
    enum assay_status status = assay_device_parse(seen->name, &driver, &index, NULL);
    if (status != ASSAY_OK)
        return status;
    return e->thorough ? look_inside(driver, index, threads, seen)
                       : look_from_outside(driver, index, threads, seen);
}

static enum assay_status device_of(assay_estimator *e, const struct assay_group *group,
                                   const struct seen **out, struct assay_error *err)
{
    static const struct seen unknown = {0};
    const struct assay_settings *settings = &e->plan->settings;
    const char *name = group->device[0] ? group->device : settings->device;
    *out = &unknown;
    for (int64_t i = 0; i < e->n_seen; i++)
        if (strcmp(e->seen[i].name, name) == 0) {
            *out = &e->seen[i];
            return ASSAY_OK;
        }
    if (e->n_seen == MOST_DEVICES)
        return ASSAY_OK;
    struct seen *seen = &e->seen[e->n_seen++];
    snprintf(seen->name, sizeof seen->name, "%s", name);
    if (look_at(e, seen) == ASSAY_ERR_NOMEM)
        return assay_error_nomem(err);
    double limit = (double)settings->memory_limit;
    if (limit > 0 && (seen->limit_bytes == 0 || limit < seen->limit_bytes))
        seen->limit_bytes = limit;
    *out = seen;
    return ASSAY_OK;
}

/* ---- variants and memory ---- */

static bool is_model(const struct assay_group *group)
{
    return strncmp(group->op, ASSAY_MODEL_PREFIX, sizeof ASSAY_MODEL_PREFIX - 1) == 0;
}

static bool is_chosen(const struct assay_settings *s, const struct assay_kernel *kernel)
{
    if (s->kernels.n && !assay_strings_have(&s->kernels, "all"))
        return assay_strings_have(&s->kernels, kernel->name);
    return !s->implementations.n || assay_strings_have(&s->implementations, kernel->implementation);
}

/* Does an earlier kernel of the op stand for the same row? */
static bool is_again(const assay_estimator *e, int64_t index)
{
    const struct assay_kernel *kernel = assay_kernel_at(e->registry, index);
    for (int64_t i = 0; i < index && !e->plan->settings.kernels.n; i++) {
        const struct assay_kernel *other = assay_kernel_at(e->registry, i);
        if (strcmp(other->op, kernel->op) == 0 && strcmp(other->device, kernel->device) == 0 &&
            strcmp(other->implementation, kernel->implementation) == 0)
            return true;
    }
    return false;
}

/* Kernels that may run, without asking them. */
static int64_t count_listed(const assay_estimator *e, const struct assay_group *group)
{
    const struct assay_settings *s = &e->plan->settings;
    const char *device = group->device[0] ? group->device : s->device;
    int64_t n = s->plugins.n;
    for (int64_t i = 0; i < assay_kernel_count(e->registry); i++) {
        const struct assay_kernel *kernel = assay_kernel_at(e->registry, i);
        n += strcmp(kernel->op, group->op) == 0 && is_chosen(s, kernel) && !is_again(e, i) &&
             strncmp(kernel->device, device, strcspn(device, ":")) == 0;
    }
    return n ? n : 1;
}

/* Kernels that can. */
static int64_t count_able(const assay_estimator *e, const struct assay_group *group,
                          const struct assay_problem *problem)
{
    const struct assay_settings *s = &e->plan->settings;
    struct assay_contender found[MOST_FOUND];
    const char *device = group->device[0] ? group->device : s->device;
    char kind[32]; /* "cuda" of "cuda:1" */
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(device, ":"), device);
    struct assay_kernel_choice choice = {
        .device = kind,
        .implementations = (const char *const *)s->implementations.items,
        .n_implementations = s->implementations.n,
        .kernels = (const char *const *)s->kernels.items,
        .n_kernels = s->kernels.n,
        .baseline = s->baseline,
    };
    int64_t able = 0, n = assay_kernel_choose(e->registry, problem, &choice, found, MOST_FOUND);
    for (int64_t i = 0; i < n; i++)
        able += found[i].status == ASSAY_OK;
    return able;
}

/* Ways to run a model: assay's own executors and, where they are named, PyTorch's. */
static int64_t count_executors(const struct assay_settings *s, const struct assay_group *group)
{
    bool eager_only = strcmp(group->compile, "false") == 0;
    int64_t own = 0, others = 0;
    for (int64_t i = 0; i < s->implementations.n; i++) {
        const char *name = s->implementations.items[i];
        const char *compiled = assay_implementation_compiled(name);
        if (assay_implementation_runs_models(name))
            own++;
        else
            others +=
                1 + (!eager_only && compiled && !assay_strings_have(&s->implementations, compiled));
    }
    return (own ? own : eager_only ? 1 : 2) + others;
}

static int64_t count_variants(const assay_estimator *e, const struct assay_group *group,
                              const struct assay_op *op, const struct assay_problem *problem)
{
    int64_t recipes = op->takes_recipes && e->n_recipes ? e->n_recipes : 1, n = 0;
    if (is_model(group))
        return recipes * count_executors(&e->plan->settings, group);
    if (!e->thorough)
        return recipes * count_listed(e, group);
    for (int64_t r = 0; r < recipes; r++) {
        struct assay_problem stored = *problem;
        stored.recipe = op->takes_recipes && e->n_recipes ? e->recipes[r].name : NULL;
        n += count_able(e, group, &stored);
    }
    return n;
}

/* Operands of a call, and the weights once more as each recipe stores them. */
static double bytes_of(const assay_estimator *e, const struct assay_op *op,
                       const struct assay_problem *problem, const struct assay_cost *cost)
{
    double bytes = (double)assay_op_bytes(problem);
    if (op->in_training)
        return bytes + assay_model_scratch_bytes(problem) + assay_model_kept_bytes(problem);
    if (!op->takes_recipes || e->n_recipes == 0)
        return bytes;
    int64_t k = problem->axes[1], n = problem->axes[2];
    struct assay_recipe baseline;
    if (assay_recipe_parse(NULL, &baseline, NULL) != ASSAY_OK)
        return bytes;
    double plain = assay_recipe_bytes(&baseline, problem->dtype, n, k);
    for (int64_t i = 0; i < e->n_recipes && plain > 0; i++)
        if (e->recipes[i].quant)
            bytes += cost->weight_bytes / plain *
                     assay_recipe_bytes(&e->recipes[i], problem->dtype, n, k);
    return bytes;
}

/* ---- time ---- */

static double call_of(const struct seen *device, const struct assay_problem *problem,
                      const struct assay_cost *cost)
{
    if (!device->has_ceilings)
        return 0;
    struct assay_ceiling_time least =
        assay_ceiling_time(&device->ceilings, cost->bytes_read, cost->bytes_written, cost->flops,
                           (int)cost->math, (double)assay_op_bytes(problem), false);
    double call_ns = fmax(least.transfer_ns, least.compute_ns); /* of one that is known, that */
    return isnan(call_ns) ? 0 : call_ns;
}

static double timing_of(const struct assay_settings *s, int64_t variants, double call_ns)
{
    double rounds = s->rounds ? (double)s->rounds : FEWEST_ROUNDS;
    double rounds_s = rounds * (double)variants * fmax(call_ns, SAMPLE_NS) * 1e-9;
    double state_s = s->rounds || rounds_s > s->budget_s ? rounds_s : s->budget_s;
    return state_s * (double)(s->hot + s->cold);
}

/* Cold operands are as many as outgrow the last-level cache twice. */
static double setup_of(const struct assay_settings *s, const struct seen *device,
                       const struct assay_problem *problem, const struct assay_cost *cost,
                       int64_t variants)
{
    double bytes = (double)assay_op_bytes(problem), checks = 4 * (double)variants;
    double filled = s->cold ? fmax(2 * device->cache_bytes, bytes) + bytes : bytes;
    return VARIANT_S * (double)(variants + 1) + FILL_S * (filled + checks * bytes) +
           REFERENCE_S * 2 * fmin(cost->flops, REFERENCE_MOST);
}

/* What nobody knows but its author, or its plug-in. */
static void estimate_unknown(const struct assay_settings *s, struct assay_estimate *out)
{
    out->variants = 2;
    out->timing_s = timing_of(s, out->variants, 0);
    out->setup_s = 15 * VARIANT_S;
    out->fits = true;
}

enum assay_status assay_estimate(assay_estimator *e, const struct assay_group *group,
                                 struct assay_estimate *out, struct assay_error *err)
{
    const struct assay_settings *s = &e->plan->settings;
    const struct assay_op *op = assay_model_op(group->op);
    const struct seen *device;
    struct assay_problem problem;
    *out = (struct assay_estimate){.known = op != NULL};
    enum assay_status status = device_of(e, group, &device, err);
    if (status == ASSAY_OK)
        out->has_ceilings = device->has_ceilings;
    if (status != ASSAY_OK || !op) {
        estimate_unknown(s, out);
        return status;
    }
    status =
        assay_op_problem(op, group->dtype, group->mode, group->axes, s->threads, &problem, err);
    if (status != ASSAY_OK)
        return status;
    struct assay_cost cost = op->cost(&problem);
    out->variants = count_variants(e, group, op, &problem);
    out->bytes = bytes_of(e, op, &problem, &cost);
    out->fits = device->limit_bytes == 0 || out->bytes <= device->limit_bytes;
    out->call_ns = call_of(device, &problem, &cost);
    out->timing_s = timing_of(s, out->variants, out->call_ns);
    out->setup_s = setup_of(s, device, &problem, &cost, out->variants);
    return ASSAY_OK;
}
